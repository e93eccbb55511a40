//! What the bits of a reduction's result require of the loops that compute it: their order, and where runs are cut.
//!
//! Both matter only if the reduction rounds or counts positions. Then the loops must be in the memory order of the
//! reduced array.

use numelt_ir::{DType, Dims, Instr, Op, OpKind, Operand, Pieces};
use smallvec::SmallVec;

/// The order of loops that a reduction's rounding or counting requires.
pub(crate) type LoopOrder = SmallVec<[u8; 4]>;

/// Whether the result of the reduction depends on the order of the fold.
fn is_order_sensitive(instr: &Instr) -> bool {
    match instr.op {
        Op::Sum | Op::Prod => instr.ty.is_float() || instr.ty.is_complex(),
        Op::Argmin | Op::Argmax => true,
        _ => false,
    }
}

/// The loop order (axes of the canonical domain, outermost first) that the instruction requires: for float sums and
/// products the memory order of its input, as NumPy traverses it; for arg-reductions over several axes, the logical
/// order. `None` if any order gives the same bits.
pub(crate) fn demanded_order(instr: &Instr) -> Option<LoopOrder> {
    if instr.op.kind() != OpKind::Reduction || !is_order_sensitive(instr) {
        return None;
    }
    let Some(Operand::View(view)) = instr.ins.first() else { return None };
    let axes: SmallVec<[usize; 4]> = (0..view.rank()).filter(|&a| view.shape[a] != 1).collect();
    let reduced = axes.iter().filter(|&&a| instr.axes.contains(a)).count();
    if axes.len() < 2 || reduced == 0 {
        return None;
    }
    match instr.op {
        Op::Argmin | Op::Argmax if reduced == 1 => None,
        Op::Argmin | Op::Argmax => Some((0..axes.len() as u8).collect()),
        _ => {
            let strides: Dims = axes.iter().map(|&a| view.strides[a]).collect();
            Some(memory_order(axes.len(), &[&strides]))
        }
    }
}

/// How the instruction's runs must be cut for its bits to be right; `None` if that does not matter.
pub(crate) fn demanded_pieces(instr: &Instr) -> Option<Pieces> {
    // products of halves are rounded after each piece
    let pieces_matter = instr.op == Op::Sum || (instr.op == Op::Prod && instr.ty == DType::F16);
    if !pieces_matter || !is_order_sensitive(instr) {
        return None;
    }
    let Some(Operand::View(view)) = instr.ins.first() else { return None };
    Some(Pieces::of(view, instr.axes, view.dtype != instr.ty))
}

/// The axes by descending absolute stride, outermost first. The order of a pair is determined by the first operand that
/// moves along both axes. Pairs that no operand determines, and ties, keep their logical order. For one operand this is
/// the order in which NumPy's iterator traverses it: an insertion sort from the innermost axis outwards, which steps
/// over undetermined pairs.
pub(crate) fn memory_order(rank: usize, operands: &[&[i64]]) -> LoopOrder {
    let mut inner_first: LoopOrder = (0..rank as u8).rev().collect();
    for at in 1..rank {
        let axis = inner_first[at] as usize;
        let mut target = at;
        for below in (0..at).rev() {
            match belongs_inside(axis, inner_first[below] as usize, operands) {
                Some(true) => target = below,
                Some(false) => break,
                None => {}
            }
        }
        inner_first[target..=at].rotate_right(1);
    }
    inner_first.reverse();
    inner_first
}

fn belongs_inside(axis: usize, other: usize, operands: &[&[i64]]) -> Option<bool> {
    operands
        .iter()
        .map(|strides| (strides[axis].abs(), strides[other].abs()))
        .find(|&(s, t)| s != 0 && t != 0)
        .map(|(s, t)| s < t)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(strides: &[i64]) -> Vec<u8> {
        memory_order(strides.len(), &[strides]).to_vec()
    }

    #[test]
    fn memory_order_sorts_by_stride() {
        assert_eq!(order(&[80, 8]), [0, 1]);
        assert_eq!(order(&[8, 80]), [1, 0]);
        assert_eq!(order(&[8, -80, 800]), [2, 1, 0]);
        assert_eq!(order(&[8, 0, 800]), [1, 2, 0]);
        assert_eq!(order(&[8, 8]), [0, 1]);
        assert_eq!(memory_order(2, &[&[0, 8], &[8, 80]]).to_vec(), [1, 0]);
    }
}
