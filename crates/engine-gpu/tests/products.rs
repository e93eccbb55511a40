//! Compares matrix products with the reference interpreter: all dtypes, vectors, matrices and stacks of them;
//! transposed, strided, reversed and repeated operands; results with gaps between them. Factors are small integers,
//! whose sums are the same in any order.

mod support;

use numelt_ir::{DType, Op, Program};
use numelt_opt::Fuse;
use numelt_runtime::{Engine, Task};
use numelt_testing::engine::{Tested, check_engine};
use support::device;

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::C64, DType::C128];

/// A device that multiplies matrices, if there is one with a library for that.
fn multiplier() -> Option<Box<dyn Engine>> {
    let device = device()?;
    if device.library(Op::Matmul, DType::F32).is_none() {
        eprintln!("not tested: there is no library of matrix products");
        return None;
    }
    Some(device)
}

fn list(numbers: &[i64]) -> String {
    numbers.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

/// How an operand lies in its memory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// In C order.
    Rows,
    /// Its last two axes are exchanged.
    Transposed,
    /// Every other element along each axis.
    Spread,
    /// Every axis backwards.
    Reversed,
    /// Its rows begin some elements apart.
    Apart,
    /// All matrices of a stack are the same.
    Repeated,
}

const FORMS: [Form; 6] = [Form::Rows, Form::Transposed, Form::Spread, Form::Reversed, Form::Apart, Form::Repeated];

/// Offset and strides in elements, and the number of elements of the memory.
fn layout(form: Form, shape: &[i64]) -> (i64, Vec<i64>, i64) {
    let rank = shape.len();
    let mut order: Vec<usize> = (0..rank).collect();
    if form == Form::Transposed {
        order.swap(rank - 1, rank - 2);
    }
    let mut strides = vec![0; rank];
    let mut elements = if form == Form::Spread { 2 } else { 1 };
    for &axis in order.iter().rev() {
        if form == Form::Repeated && axis < rank - 2 {
            continue;
        }
        strides[axis] = elements;
        elements *= shape[axis].max(1) * if form == Form::Spread { 2 } else { 1 };
        if form == Form::Apart && axis == rank - 1 {
            elements += 3;
        }
    }
    if form != Form::Reversed {
        return (0, strides, elements);
    }
    strides.iter_mut().for_each(|stride| *stride *= -1);
    (elements - 1, strides, elements)
}

fn view(ty: DType, form: Form, shape: &[i64]) -> String {
    let (offset, strides, _) = layout(form, shape);
    let size = ty.size() as i64;
    let strides: Vec<i64> = strides.iter().map(|stride| stride * size).collect();
    format!("{ty} +{} ({}):({})", offset * size, list(shape), list(&strides))
}

/// A program that multiplies operands of these forms, which it converts from small integers; those are the parts of
/// complex numbers.
fn program(op: Op, ty: DType, batch: &[i64], [m, k, n]: [i64; 3], forms: [Form; 3]) -> String {
    let shape = |rows, columns| [batch, &[rows, columns][..]].concat();
    let shapes = [shape(m, k), shape(k, n), shape(m, n)];
    let counts: Vec<i64> = shapes.iter().zip(forms).map(|(shape, form)| layout(form, shape).2).collect();
    let size = ty.size() as i64;
    let (real, parts) = (ty.real(), size / ty.real().size() as i64);
    format!(
        "base %0 {} in\nbase %1 {} in\nbase %2 {}\nbase %3 {}\nbase %4 {} in out\n\
         %2[{real} ({})] = copy.{real} %0[i8 ({})]\n%3[{real} ({})] = copy.{real} %1[i8 ({})]\n\
         %4[{}] = {}.{ty} %2[{}], %3[{}]\n",
        counts[0] * parts,
        counts[1] * parts,
        counts[0] * size,
        counts[1] * size,
        counts[2] * size,
        counts[0] * parts,
        counts[0] * parts,
        counts[1] * parts,
        counts[1] * parts,
        view(ty, forms[2], &shapes[2]),
        op.name(),
        view(ty, forms[0], &shapes[0]),
        view(ty, forms[1], &shapes[1]),
    )
}

fn check(device: &dyn Engine, text: &str, seed: u64) {
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    check_engine(Tested::device(device), &program, seed, Fuse::Greedy).unwrap_or_else(|why| panic!("{why}\n{text}"));
}

fn products_of_all_forms(device: &dyn Engine) {
    let extents = [[1, 1, 1], [5, 7, 3], [1, 9, 4], [6, 8, 1], [1, 70, 1], [33, 1, 2], [40, 65, 36], [3, 0, 2]];
    let mut seed = 0;
    for ty in DTYPES {
        assert!(device.supports(&Task::Call(Op::Matmul, ty)) && !device.supports(&Task::Call(Op::Matmul, DType::I64)));
        for (at, extents) in extents.into_iter().enumerate() {
            for (which, form) in FORMS.into_iter().enumerate() {
                let other = FORMS[(which * 5 + at) % FORMS.len()];
                let to = [Form::Rows, Form::Transposed, Form::Spread, Form::Apart][(which + at) % 4];
                let batch: &[i64] = [&[][..], &[3], &[2, 2]][(which + at) % 3];
                check(device, &program(Op::Matmul, ty, batch, extents, [form, other, to]), seed);
                seed += 1;
            }
        }
    }
}

fn products_that_conjugate_their_first_factor(device: &dyn Engine) {
    let all = [(Op::Vdot, [1, 9, 1]), (Op::Vecdot, [1, 4, 1]), (Op::Vecmat, [1, 6, 5]), (Op::Matvec, [5, 6, 1])];
    for (seed, (op, extents)) in (0..).zip(all) {
        for ty in DTYPES {
            let batch: &[i64] = if op == Op::Vdot { &[] } else { &[7] };
            check(device, &program(op, ty, batch, extents, [Form::Rows, Form::Reversed, Form::Rows]), seed);
        }
    }
}

fn long_stacks_are_cut(device: &dyn Engine) {
    let forms = [Form::Rows, Form::Apart, Form::Rows];
    check(device, &program(Op::Matmul, DType::F32, &[70_000], [1, 2, 1], forms), 3);
    // the axes of these stacks are not one
    let forms = [Form::Spread, Form::Rows, Form::Rows];
    check(device, &program(Op::Matmul, DType::F32, &[2, 65_540], [1, 1, 1], forms), 4);
}

fn factors_of_other_dtypes_are_converted(device: &dyn Engine) {
    for (from, ty) in [(DType::I8, DType::F32), (DType::I8, DType::C128), (DType::Bool, DType::F64)] {
        let text = format!(
            "base %0 35 in\nbase %1 {} in out\n%1[{ty} (5, 5)] = matmul.{ty} %0[{from} (5, 7)], %0[{from} (7, 5)]\n",
            25 * ty.size()
        );
        check(device, &text, 7);
    }
}

/// All parts are one test: tests run in processes of their own, and in each of those that begin together the driver
/// would compile the library's functions again.
#[test]
fn products() {
    let Some(device) = multiplier() else { return };
    products_of_all_forms(&*device);
    products_that_conjugate_their_first_factor(&*device);
    long_stacks_are_cut(&*device);
    factors_of_other_dtypes_are_converted(&*device);
}
