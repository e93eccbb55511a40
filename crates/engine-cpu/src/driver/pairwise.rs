//! NumPy's pairwise summation tree: where a run of `n` elements is cut in two.
//!
//! In: a length. Out: lengths. The sums of blocks of at most 128 numbers are in `fold/`; this file knows only the shape
//! of the tree above them, which threads share.

/// How many numbers an element counts in the tree: NumPy measures complex runs in floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// One number per element.
    Real,
    /// Two numbers per element.
    Complex,
}

/// Numbers in a block that is summed without being cut.
pub const BLOCK: usize = 128;

impl Unit {
    /// Elements of the largest block that is not cut.
    pub fn block(self) -> usize {
        match self {
            Unit::Real => BLOCK,
            Unit::Complex => BLOCK / 2,
        }
    }

    /// The elements that a block's running sums absorb at a time.
    pub fn step(self) -> usize {
        match self {
            Unit::Real => 8,
            Unit::Complex => 4,
        }
    }

    /// Elements in the left part of a run of `n` (more than a block).
    pub fn split(self, n: usize) -> usize {
        match self {
            Unit::Real => n / 2 / 8 * 8,
            // 2n numbers: half of them, rounded down to a multiple of eight
            Unit::Complex => n / 8 * 8 / 2,
        }
    }

    /// Cuts `n` elements at the tree's nodes until no part has more than `limit`; the parts in order.
    pub fn nodes(self, n: usize, limit: usize) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        self.descend(0, n, limit.max(self.block()), &mut out);
        out
    }

    fn descend(self, start: usize, n: usize, limit: usize, out: &mut Vec<(usize, usize)>) {
        if n <= limit {
            out.push((start, n));
        } else {
            let left = self.split(n);
            self.descend(start, left, limit, out);
            self.descend(start + left, n - left, limit, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_cover_the_run_in_order() {
        for unit in [Unit::Real, Unit::Complex] {
            for n in [0, 1, 128, 129, 1000, 4097, 100_003] {
                let nodes = unit.nodes(n, 1024);
                let mut next = 0;
                for (start, len) in nodes {
                    assert_eq!(start, next);
                    next += len;
                }
                assert_eq!(next, n);
            }
        }
    }
}
