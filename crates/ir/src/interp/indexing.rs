//! Gather, roll, scatter, nonzero: elements by position.

use super::scalar::{apply, truth};
use crate::{Instr, Result, Scalar};

/// A position on an axis of `n` elements. Positions beyond the end count as the last one.
fn clamp(position: Scalar, n: i64) -> usize {
    match position {
        Scalar::U64(p) => p.min(n as u64 - 1) as usize,
        other => unreachable!("positions are converted to u64, not {}", other.dtype()),
    }
}

/// `out[p] = source[position[p], p]`
pub(super) fn gather(instr: &Instr, source: &[Scalar], positions: &[Scalar]) -> Vec<Scalar> {
    let size = instr.out.size() as usize;
    let n = instr.reads().next().map_or(1, |v| v.shape[0]);
    (0..size).map(|p| source[clamp(positions[p], n) * size + p]).collect()
}

/// The source, rotated along each axis by the corner's extent, so that its last elements come first.
pub(super) fn roll(instr: &Instr, source: &[Scalar]) -> Vec<Scalar> {
    let corner = instr.reads().nth(1).map(|v| v.shape.clone()).unwrap_or_default();
    let from = |p: usize| {
        let (mut rest, mut at, mut step) = (p as i64, 0, 1);
        for (n, s) in instr.out.shape.iter().zip(&corner).rev() {
            at += (rest % n + n - s) % n * step;
            (rest, step) = (rest / n, step * n);
        }
        source[at as usize]
    };
    (0..source.len()).map(from).collect()
}

/// `target[position[q], p] = values[q, p]`, in order of `q`: of equal positions the last wins. Or, with a step,
/// `target[position[q], p] = step(target[position[q], p], values[q, p])`.
pub(super) fn scatter(
    instr: &Instr,
    mut target: Vec<Scalar>,
    values: &[Scalar],
    positions: &[Scalar],
) -> Result<Vec<Scalar>> {
    let step = instr.op.scatter_step().flatten();
    let n = instr.out.shape[0];
    let inner = instr.out.shape[1..].iter().product::<i64>() as usize;
    for (q, position) in positions.iter().enumerate() {
        let at = if inner == 0 { 0 } else { clamp(*position, n) * inner };
        for (old, value) in target[at..at + inner].iter_mut().zip(&values[q * inner..]) {
            *old = match step {
                Some(step) => apply(step, instr.ty, &[*old, *value])?,
                None => *value,
            };
        }
    }
    Ok(target)
}

/// The multi-indices of the true elements, one per row; if there are more rows, the others are zero.
pub(super) fn nonzero(instr: &Instr, input: &[Scalar]) -> Vec<Scalar> {
    let shape = instr.reads().next().map(|v| v.shape.clone()).unwrap_or_default();
    let rows = instr.out.shape[0] as usize;
    let mut results = Vec::with_capacity(rows * shape.len());
    for at in (0..input.len()).filter(|&i| truth(input[i])).take(rows) {
        let first = results.len();
        let mut rest = at as i64;
        for &n in shape.iter().rev() {
            results.insert(first, Scalar::I64(rest % n));
            rest /= n;
        }
    }
    results.resize(rows * shape.len(), Scalar::I64(0));
    results
}
