//! Compares reductions of all kinds with the reference interpreter: along each axis and several axes, in both memory
//! orders, with runs that NumPy divides into pieces, and without elements.

mod support;

use numelt_ir::{DType, Op, OpKind, Program};
use numelt_opt::{Fuse, Options};
use numelt_testing::engine::{Tested, check_engine, supports};
use support::device;

/// A reduction of an array over some axes, whose elements are `stretched` times as far apart as necessary; with
/// `fused`, of its square.
fn program(op: Op, ty: DType, shape: &[i64], axes: &[usize], stretched: i64, fused: bool) -> String {
    let size = ty.size() as i64;
    let list = |numbers: &[i64]| numbers.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let mut strides = vec![size * stretched; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1].max(1);
    }
    let points: i64 = shape.iter().product();
    let kept: Vec<i64> = (0..shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect();
    let to = op.output_dtype(ty);
    let nbytes = |points: i64, ty: DType| points.max(1) * ty.size() as i64;
    let mut text = format!("base %0 {} in\n", nbytes(points * stretched, ty));
    text += &format!("base %1 {}\nbase %2 {} out\n", nbytes(points, ty), nbytes(kept.iter().product(), to));
    let source = format!("%0[{ty} ({}):({})]", list(shape), list(&strides));
    let folded = if fused { format!("%1[{ty} ({})]", list(shape)) } else { source.clone() };
    if fused {
        text += &format!("{folded} = square.{ty} {source}\n");
    }
    let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
    text + &format!("%2[{to} ({})] = {}.{ty} {folded} axes=({})\n", list(&kept), op.name(), list(&axes))
}

const SHAPES: &[(&[i64], &[usize])] = &[
    (&[1], &[0]),
    (&[7], &[0]),
    (&[129], &[0]),
    (&[5000], &[0]),
    (&[300_001], &[0]),
    (&[40, 30], &[0]),
    (&[40, 30], &[1]),
    (&[40, 300], &[0, 1]),
    (&[5, 1000], &[1]),
    (&[1000, 5], &[0]),
    (&[40, 3], &[1]),
    (&[40, 7], &[1]),
    (&[40, 8], &[1]),
    (&[30, 2, 3], &[1, 2]),
    (&[6, 7, 8], &[1]),
    (&[6, 7, 8], &[0, 2]),
    (&[3, 4, 5, 6], &[1, 3]),
    (&[3, 4, 5, 6], &[0, 1, 2, 3]),
];

#[test]
fn reductions() {
    let Some(device) = device() else { return };
    let (mut done, mut left) = (0, Vec::new());
    let mut seed = 0;
    for &op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Reduction) {
        for ty in op.info().dtypes.iter() {
            for (at, (shape, axes)) in SHAPES.iter().enumerate() {
                seed += 1;
                // each shape is tested with a few operations and types only, because a driver takes more than a tenth
                // of a second to compile each
                if (seed + at) % 23 != 0 && !(op == Op::Sum && ty == DType::F64) {
                    continue;
                }
                let fused = seed % 2 == 0 && op != Op::Prod && Op::Square.info().dtypes.contains(ty);
                let text = program(op, ty, shape, axes, 1 + seed as i64 % 2, fused);
                let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
                let options = Options { target: *device.target(), ..Options::default() };
                if !supports(&*device, &numelt_opt::plan(&program, &options).unwrap()) {
                    left.push(format!("{}.{ty} of {shape:?} over {axes:?}", op.name()));
                    continue;
                }
                check_engine(Tested::device(&*device), &program, seed as u64, Fuse::Greedy)
                    .unwrap_or_else(|why| panic!("{why}\n{text}"));
                done += 1;
            }
        }
    }
    println!("{done} reductions; left to the host: {left:?}");
    let allowed = |what: &String| what.starts_with("prod");
    assert!(done > 70 && left.iter().all(allowed), "{done}, {left:?}");
}
