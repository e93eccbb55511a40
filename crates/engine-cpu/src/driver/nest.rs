//! The loop nest of one launch: extents and strides, simplified.
//!
//! In: a kernel and its geometry. Out: a [`Nest`] with neighbouring loops merged where every argument
//! allows it, so that a contiguous kernel of any rank becomes one long loop. Simplification never
//! changes the order of a floating-point sum.

use numelt_ir::{Error, Result};
use numelt_opt::{ArgKind, Geometry, Kernel, StrideClass};
use smallvec::SmallVec;

/// Most loops that a nest may have.
pub const MAX_LOOPS: usize = 64;

/// Does the geometry fit its kernel, and can its points be counted?
fn check(kernel: &Kernel, geometry: &Geometry) -> Result<()> {
    let (rank, args) = (kernel.rank(), kernel.args.len());
    let fits = geometry.extents.len() == rank
        && geometry.args.len() == args
        && geometry.args.iter().all(|a| a.strides.len() == rank)
        && (1..=MAX_LOOPS).contains(&rank);
    if !fits {
        return Err(Error::Invalid("a launch whose geometry does not fit its kernel".into()));
    }
    let points = geometry.extents.iter().try_fold(1i64, |n, &e| n.checked_mul(e.max(1)));
    if points.is_none() || geometry.extents.iter().any(|&e| e < 0) {
        return Err(Error::Invalid("a launch whose extents are negative or overflow".into()));
    }
    Ok(())
}

/// Extents, flags and strides of the loops of one launch, outermost first.
pub struct Nest {
    /// Points per loop.
    pub extents: SmallVec<[i64; 8]>,
    /// Is the loop reduced?
    pub reduced: SmallVec<[bool; 8]>,
    /// Byte strides: `args` per loop, loop after loop.
    strides: SmallVec<[i64; 32]>,
    /// Number of arguments.
    pub args: usize,
}

impl Nest {
    /// Checks a geometry against its kernel and merges its loops.
    #[inline]
    pub fn new(kernel: &Kernel, geometry: &Geometry) -> Result<Nest> {
        check(kernel, geometry)?;
        Ok(Nest::merged(kernel, geometry))
    }

    /// The merged loops of a checked geometry.
    fn merged(kernel: &Kernel, geometry: &Geometry) -> Nest {
        let args = kernel.args.len();
        let mut nest = Nest { extents: SmallVec::new(), reduced: SmallVec::new(), strides: SmallVec::new(), args };
        nest.extents.extend_from_slice(&geometry.extents);
        nest.reduced.extend_from_slice(&kernel.reduced);
        for l in 0..kernel.rank() {
            for arg in &geometry.args {
                nest.strides.push(arg.strides[l]);
            }
        }
        nest.simplify(kernel);
        nest
    }

    /// Number of loops.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }

    /// Strides of all arguments along a loop.
    pub fn strides(&self, l: usize) -> &[i64] {
        &self.strides[l * self.args..(l + 1) * self.args]
    }

    /// Number of points.
    pub fn points(&self) -> i64 {
        self.extents.iter().product()
    }

    /// Product of the extents of the loops that are kept, or of those that are reduced.
    pub fn count(&self, reduced: bool) -> i64 {
        self.extents.iter().zip(&self.reduced).filter(|(_, r)| **r == reduced).map(|(e, _)| e).product()
    }

    fn remove(&mut self, l: usize) {
        self.extents.remove(l);
        self.reduced.remove(l);
        self.strides.drain(l * self.args..(l + 1) * self.args);
    }

    fn simplify(&mut self, kernel: &Kernel) {
        let mut l = self.rank();
        while l > 0 {
            l -= 1;
            if self.extents[l] == 1 && self.droppable(l, kernel) {
                self.remove(l);
            }
        }
        let mut l = self.rank() - 1;
        while l > 0 {
            if self.mergeable(l - 1, l) {
                self.extents[l] *= self.extents[l - 1];
                self.remove(l - 1);
            }
            l -= 1;
        }
    }

    /// May a loop of extent one go? Not if that would join two runs of reduced loops or change whether
    /// the innermost loop is reduced (both decide the order of sums), nor if the next loop's strides
    /// would break what the tiers compiled for the innermost one.
    fn droppable(&self, l: usize, kernel: &Kernel) -> bool {
        let last = self.rank() - 1;
        if last == 0 {
            return false;
        }
        let flag = self.reduced[l];
        let same_neighbour = (l > 0 && self.reduced[l - 1] == flag) || (l < last && self.reduced[l + 1] == flag);
        if l == last {
            return self.reduced[l - 1] == flag && self.fits_innermost(l - 1, kernel);
        }
        same_neighbour || (l == 0 && !flag)
    }

    /// Do the strides of loop `l` agree with the classes of the kernel's innermost loop?
    fn fits_innermost(&self, l: usize, kernel: &Kernel) -> bool {
        self.strides(l).iter().zip(&kernel.args).all(|(&stride, arg)| {
            arg.kind == ArgKind::Reduced
                || match arg.strides.last() {
                    Some(StrideClass::Zero) => stride == 0,
                    Some(StrideClass::Unit) if arg.kind == ArgKind::Index => stride == 1,
                    Some(StrideClass::Unit) => stride == arg.dtype.size() as i64,
                    Some(StrideClass::Any) | None => true,
                }
        })
    }

    fn mergeable(&self, outer: usize, inner: usize) -> bool {
        self.reduced[outer] == self.reduced[inner]
            && self
                .strides(outer)
                .iter()
                .zip(self.strides(inner))
                .all(|(&o, &i)| i.checked_mul(self.extents[inner]) == Some(o))
    }
}
