//! Compares scans, scatters and positions of masks with the reference interpreter: lines of all lengths along each
//! axis, strides of both signs, operands of other dtypes; equal positions, positions beyond the end, with and without
//! rows; masks of all sizes and dtypes, with more and with fewer rows than true elements.

mod support;

use numelt_ir::{DType, Op, OpKind, Program};
use numelt_opt::{Fuse, Options};
use numelt_runtime::Task;
use numelt_testing::engine::{Tested, check_engine};
use support::device;

fn list(numbers: &[i64]) -> String {
    numbers.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

/// Runs a program on the device, which must support its only call.
fn check(device: &dyn numelt_runtime::Engine, text: &str, seed: u64) {
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    let options = Options { target: *device.target(), ..Options::default() };
    numelt_opt::plan(&program, &options).unwrap();
    check_engine(Tested::device(device), &program, seed, Fuse::Greedy).unwrap_or_else(|why| panic!("{why}\n{text}"));
}

/// Shape and axis.
const LINES: &[(&[i64], usize)] = &[
    (&[1], 0),
    (&[70], 0),
    (&[5000], 0),
    (&[200_001], 0),
    (&[3, 3000], 1),
    (&[3000, 3], 0),
    (&[300, 40], 1),
    (&[4, 1, 5, 6], 2),
];

/// Scans of few long lines whose order matters run on the host.
fn in_any_order(op: Op, ty: DType) -> bool {
    match op {
        Op::Cumsubtract | Op::Cumdivide => false,
        Op::Cumsum | Op::Cumprod => ty.is_integer(),
        _ => !ty.is_complex(),
    }
}

#[test]
fn scans() {
    let Some(device) = device() else { return };
    let (mut done, mut seed) = (0, 0);
    for &op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Scan) {
        for ty in op.info().dtypes.iter().filter(|&ty| device.supports(&Task::Call(op, ty))) {
            for (at, &(shape, axis)) in LINES.iter().enumerate() {
                seed += 1;
                // each shape is tested with a few operations and types only, because a driver takes more than a tenth
                // of a second to compile each
                let few = shape.iter().product::<i64>() / shape[axis] < 256 && shape[axis] > 1024;
                if (seed + at) % 31 != 0 && (op, ty) != (Op::Cumsum, DType::I64) || few && !in_any_order(op, ty) {
                    continue;
                }
                // the input is reversed and uses every other element of its memory; sometimes the output has another
                // dtype
                let size = ty.size() as i64;
                let mut strides = vec![-2 * size; shape.len()];
                for axis in (0..shape.len() - 1).rev() {
                    strides[axis] = strides[axis + 1] * shape[axis + 1];
                }
                let points: i64 = shape.iter().product();
                let to = if seed % 3 == 0 && ty == DType::I64 { DType::I32 } else { ty };
                let text = format!(
                    "base %0 {} in\nbase %1 {} out\n%1[{to} ({})] = {}.{ty} %0[{ty} +{} ({}):({})] axes=({axis})\n",
                    2 * points * size,
                    points * to.size() as i64,
                    list(shape),
                    op.name(),
                    (2 * points - 2) * size,
                    list(shape),
                    list(&strides),
                );
                check(&*device, &text, seed as u64);
                done += 1;
            }
        }
    }
    println!("{done} scans");
    assert!(done > 30, "{done}");
}

#[test]
fn scatters() {
    let Some(device) = device() else { return };
    let (mut done, mut seed) = (0, 0);
    for &op in Op::ALL.iter().filter(|op| op.scatter_step().is_some()) {
        for ty in op.info().dtypes.iter().filter(|&ty| device.supports(&Task::Call(op, ty))) {
            for (rows, count, rest) in [(1, 1, 1), (50, 400, 1), (4000, 3000, 1), (30, 100, 7)] {
                seed += 1;
                if seed % 3 != 0 && ty != DType::C128 && ty != DType::I64 {
                    continue;
                }
                let size = ty.size() as i64;
                let (row, value) =
                    if rest == 1 { (String::new(), String::new()) } else { (format!(", {rest}"), format!(", {rest}")) };
                let text = format!(
                    "base %0 {} in out\nbase %1 {} in\nbase %2 {} in\nbase %3 {}\nconst $0 = u64 {}\n\
                     %3[u64 ({count})] = remainder.u64 %2[u64 ({count})], $0\n\
                     %0[{ty} ({rows}{row})] = {}.{ty} %0[{ty} ({rows}{row})], %1[{ty} ({count}{value})], %3[u64 ({count})]\n",
                    rows * rest * size,
                    count * rest * size,
                    count * 8,
                    count * 8,
                    // some positions lie beyond the end
                    rows + 2,
                    op.name(),
                );
                check(&*device, &text, seed as u64);
                done += 1;
            }
        }
    }
    println!("{done} scatters");
    assert!(done > 20, "{done}");
}

#[test]
fn positions_of_masks() {
    let Some(device) = device() else { return };
    assert!(device.supports(&Task::Call(Op::Nonzero, DType::Bool)));
    // shape, rows of the result, and whether the mask is reversed
    let masks: &[(&[i64], i64, bool)] = &[
        (&[1], 1, false),
        (&[0], 3, false),
        (&[70], 40, true),
        (&[64], 64, false),
        (&[5000], 2400, false),
        (&[5000], 5000, true),
        (&[300_001], 150_000, false),
        (&[40, 50], 900, true),
        (&[7, 1, 30, 11], 1300, false),
        (&[3, 0, 4], 2, false),
    ];
    let dtypes = [DType::Bool, DType::I8, DType::F16, DType::F64, DType::C64];
    for (at, &(shape, rows, reversed)) in masks.iter().enumerate() {
        // each of the first ones has one dtype only, because a driver compiles each text
        for ty in if at == 2 { &dtypes[..] } else { &dtypes[at % 2..=at % 2] } {
            let (size, points) = (ty.size() as i64, shape.iter().product::<i64>());
            let mut strides = vec![if reversed { -size } else { size }; shape.len()];
            for axis in (0..shape.len() - 1).rev() {
                strides[axis] = strides[axis + 1] * shape[axis + 1];
            }
            // the columns of the result come first
            let text = format!(
                "base %0 {} in\nbase %1 {} out\n%1[i64 ({rows}, {rank}):(8, {})] = nonzero.bool %0[{ty} +{} ({}):({})]\n",
                points * size,
                rows * shape.len() as i64 * 8,
                rows * 8,
                if reversed { (points - 1) * size } else { 0 },
                list(shape),
                list(&strides),
                rank = shape.len(),
            );
            check(&*device, &text, at as u64);
        }
    }
}
