//! Scans and library calls: cumsum, cumprod, matrix products.

use super::{Fold, apply, cast};
use crate::{DType, Error, Instr, Op, Operand, Result, Scalar, View};

/// A running fold along the one axis, element after element; the first element is the first result.
pub(super) fn scan(instr: &Instr, input: &[Scalar]) -> Result<Vec<Scalar>> {
    let Some(step_op) = instr.op.scan_step() else {
        return Err(Error::Invalid(format!("{} is not a scan", instr.op.name())));
    };
    let axis = instr.axes.iter().next().ok_or_else(|| Error::Invalid("a scan has an axis".to_string()))?;
    let dense = View::contiguous(0, DType::Bool, &instr.out.shape);
    // from the second product on, NumPy's loop has its output among its inputs
    let rounded = instr.op == Op::Cumprod && instr.ty.is_complex() && dense.shape[axis] > 2;
    let mut results = input.to_vec();
    for at in dense.offsets() {
        let step = dense.strides[axis];
        if at / step % dense.shape[axis] > 0 {
            let pair = [results[(at - step) as usize], input[at as usize]];
            results[at as usize] = if rounded {
                super::scalar::multiply_rounded(pair[0], pair[1])
            } else {
                apply(step_op, instr.ty, &pair)?
            };
        }
    }
    Ok(results)
}

/// `(…, m, k) x (…, k, n)`, with the first operand conjugated if the operation does so: products are added to zero in
/// ascending k.
pub(super) fn product(instr: &Instr, a: &[Scalar], b: &[Scalar]) -> Result<Vec<Scalar>> {
    let (Some(Operand::View(left)), Some(Operand::View(right))) = (instr.ins.first(), instr.ins.get(1)) else {
        return Err(Error::Invalid("a matrix product reads two views".to_string()));
    };
    let extent = |view: &View, from_end: usize| view.shape[view.rank() - from_end] as usize;
    let (m, k, n) = (extent(left, 2), extent(left, 1), extent(right, 1));
    let cell = |i: usize| {
        let (batch, row, column) = (i / (m * n), i / n % m, i % n);
        // f16 is summed in f32 and rounded once
        let ty = Op::Multiply.computes_in(instr.ty);
        let mut fold = Fold::new(Op::Sum, ty);
        for j in 0..k {
            let mut pair = [a[(batch * m + row) * k + j], b[(batch * k + j) * n + column]].map(|v| cast(v, ty));
            if instr.op.is_conjugating() && ty.is_complex() {
                pair[0] = apply(Op::Conjugate, ty, &pair[..1])?;
            }
            fold.push(apply(Op::Multiply, ty, &pair)?)?;
        }
        fold.finish().map(|sum| cast(sum, instr.ty))
    };
    (0..instr.out.size() as usize).map(cell).collect()
}
