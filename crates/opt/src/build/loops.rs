//! The loops of a kernel: their order, direction and number.
//!
//! A [`LoopNest`] starts with one loop for each axis of the domain, with the strides of every operand. Then its loops
//! are ordered, reversed and collapsed; at least one remains. The order affects bits only if a reduction rounds or
//! counts positions ([`crate::demands`]).

use crate::ArgGeometry;
use numelt_ir::Dims;
use smallvec::SmallVec;

/// The loops of one kernel under construction.
pub(crate) struct LoopNest {
    pub extents: Dims,
    pub reduced: SmallVec<[bool; 4]>,
    pub operands: Vec<ArgGeometry>,
    /// The index of a loop that other kernels share, so that it must not change. It is not reduced.
    pub shared: Option<usize>,
}

impl LoopNest {
    /// Puts the loops in `order`.
    pub fn permute(&mut self, order: &[u8]) {
        let pick = |old: &Dims| -> Dims { order.iter().map(|&a| old[a as usize]).collect() };
        self.extents = pick(&self.extents);
        self.reduced = order.iter().map(|&a| self.reduced[a as usize]).collect();
        self.shared = self.shared.and_then(|s| order.iter().position(|&a| a as usize == s));
        for walk in &mut self.operands {
            walk.strides = pick(&walk.strides);
            if !walk.wraps.is_empty() {
                walk.wraps = pick(&walk.wraps);
            }
        }
    }

    /// Reverses the loops along which more operands have negative strides than positive ones. Reduced loops are not
    /// reversed, because NumPy does not reverse them either, and their order affects rounding.
    pub fn flip(&mut self) {
        for axis in 0..self.extents.len() {
            if self.reduced[axis] || self.shared == Some(axis) {
                continue;
            }
            let balance: i64 = self.operands.iter().map(|w| w.strides[axis].signum()).sum();
            if balance < 0 {
                let n = self.extents[axis];
                for walk in &mut self.operands {
                    let wrap = walk.wrap(axis);
                    let last = if wrap == 0 { n - 1 } else { -1 };
                    walk.offset += walk.strides[axis] * last;
                    walk.strides[axis] = -walk.strides[axis];
                    if wrap != 0 {
                        walk.wraps[axis] = n - wrap;
                    }
                }
            }
        }
    }

    /// Joins neighbouring loops if for every operand they are equivalent to one loop.
    pub fn collapse(&mut self) {
        let mut axis = 1;
        while axis < self.extents.len() {
            let inner = self.extents[axis];
            let joined = self.shared.is_none_or(|s| s != axis && s + 1 != axis)
                && self.reduced[axis - 1] == self.reduced[axis]
                && self.operands.iter().all(|w| w.strides[axis - 1] == w.strides[axis] * inner && w.wrap(axis) == 0);
            if joined {
                self.extents[axis] *= self.extents[axis - 1];
                self.extents.remove(axis - 1);
                self.reduced.remove(axis - 1);
                self.shared = self.shared.map(|s| if s > axis { s - 1 } else { s });
                for walk in &mut self.operands {
                    walk.strides.remove(axis - 1);
                    if !walk.wraps.is_empty() {
                        walk.wraps[axis] = walk.wraps[axis - 1] * inner;
                        walk.wraps.remove(axis - 1);
                    }
                }
            } else {
                axis += 1;
            }
        }
    }

    /// Adds the loop of extent one that is needed by kernels without loops, and by reductions without a reduced loop.
    /// It is outermost, so that it does not get between the innermost loop and vector code.
    pub fn ensure_loop(&mut self, reduces: bool) {
        if self.extents.is_empty() || (reduces && !self.reduced.contains(&true)) {
            self.extents.insert(0, 1);
            self.reduced.insert(0, reduces);
            self.shared = self.shared.map(|s| s + 1);
            for walk in &mut self.operands {
                walk.strides.insert(0, 0);
                if !walk.wraps.is_empty() {
                    walk.wraps.insert(0, 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest(extents: &[i64], rows: &[(i64, &[i64])]) -> LoopNest {
        LoopNest {
            extents: Dims::from_slice(extents),
            reduced: extents.iter().map(|_| false).collect(),
            operands: rows.iter().map(|&(offset, s)| ArgGeometry::new(offset, Dims::from_slice(s))).collect(),
            shared: None,
        }
    }

    #[test]
    fn contiguous_loops_collapse() {
        let mut n = nest(&[3, 4, 5], &[(0, &[160, 40, 8]), (0, &[0, 40, 8])]);
        n.collapse();
        assert_eq!(n.extents.to_vec(), [3, 20]);
        assert_eq!(n.operands[0].strides.to_vec(), [160, 8]);
        let mut n = nest(&[3, 4, 5], &[(0, &[160, 40, 8])]);
        n.collapse();
        assert_eq!(n.extents.to_vec(), [60]);
        assert_eq!(n.operands[0].strides.to_vec(), [8]);
    }

    #[test]
    fn reduced_and_kept_loops_stay_apart() {
        let mut n = nest(&[3, 4], &[(0, &[32, 8]), (0, &[0, 0])]);
        n.reduced = SmallVec::from_slice(&[false, true]);
        n.collapse();
        assert_eq!(n.extents.to_vec(), [3, 4]);
    }

    #[test]
    fn backward_loops_turn() {
        let mut n = nest(&[10], &[(72, &[-8]), (0, &[-16]), (0, &[8])]);
        n.flip();
        assert_eq!(n.operands[0].offset, 0);
        assert_eq!(n.operands[0].strides[0], 8);
        assert_eq!(n.operands[2].offset, 72);
        assert_eq!(n.operands[2].strides[0], -8);
    }

    #[test]
    fn there_is_always_a_loop() {
        let mut n = nest(&[], &[(0, &[])]);
        n.ensure_loop(true);
        assert_eq!((n.extents.to_vec(), n.reduced.to_vec()), (vec![1], vec![true]));
        let mut n = nest(&[7], &[(0, &[8])]);
        n.ensure_loop(true);
        assert_eq!((n.extents.to_vec(), n.reduced.to_vec()), (vec![1, 7], vec![true, false]));
    }
}
