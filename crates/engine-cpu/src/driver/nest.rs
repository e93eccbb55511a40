//! The loop nest of one launch: extents and strides, simplified.
//!
//! In: a kernel and its geometry. Out: a [`Nest`], in which neighbouring loops are merged if every argument allows it,
//! so that a contiguous kernel of any rank becomes one long loop. Simplification never changes the order of a
//! floating-point sum.

use numelt_ir::{Error, Result};
use numelt_opt::{ArgKind, Geometry, Kernel, StrideClass};
use smallvec::SmallVec;
use std::ops::Range;

/// The most loops of a nest.
pub const MAX_LOOPS: usize = 64;

/// Checks that the geometry fits its kernel, and that its points can be counted.
fn check(kernel: &Kernel, geometry: &Geometry) -> Result<()> {
    let (rank, args) = (kernel.rank(), kernel.args.len());
    let fits = geometry.extents.len() == rank
        && geometry.args.len() == args
        && geometry.args.iter().all(|a| a.strides.len() == rank && [0, rank].contains(&a.wraps.len()))
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
    /// The number of arguments. Behind them there is a counter for each loop that wraps, whose address is the loop's
    /// index.
    pub args: usize,
    /// Where arguments wrap.
    pub wraps: Vec<Wrap>,
}

/// An argument that continues, from some index of a loop on, with elements before those at the loop's start.
#[derive(Debug, Clone, Copy)]
pub struct Wrap {
    pub arg: usize,
    /// The argument that counts the loop's steps.
    counter: usize,
    /// The first index at which it has wrapped.
    at: i64,
    /// The distance by which it goes back, in bytes.
    back: i64,
}

impl Wrap {
    /// Corrects addresses that were computed without the wrap.
    pub fn apply(&self, pointers: &mut [*mut u8]) {
        if pointers[self.counter].addr() as i64 >= self.at {
            pointers[self.arg] = pointers[self.arg].wrapping_offset(-self.back as isize);
        }
    }

    /// The byte offsets of its argument's first and last element along the loop, from the loop's first.
    pub fn reach(&self, stride: i64) -> Range<i64> {
        let [first, last] = [self.at * stride - self.back, (self.at - 1) * stride];
        first.min(last)..first.max(last)
    }
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
        let wrapping = |l: &usize| geometry.args.iter().any(|arg| arg.wrap(*l) != 0);
        let counted: SmallVec<[usize; 4]> = (0..kernel.rank()).filter(wrapping).collect();
        let args = kernel.args.len() + counted.len();
        let (extents, reduced, strides) = (SmallVec::new(), SmallVec::new(), SmallVec::new());
        let mut nest = Nest { extents, reduced, strides, args, wraps: Vec::new() };
        nest.extents.extend_from_slice(&geometry.extents);
        nest.reduced.extend_from_slice(&kernel.reduced);
        for l in 0..kernel.rank() {
            for arg in &geometry.args {
                nest.strides.push(arg.strides[l]);
            }
            nest.strides.extend(counted.iter().map(|&counted| i64::from(counted == l)));
        }
        for (counter, &l) in (kernel.args.len()..).zip(&counted) {
            for (arg, place) in geometry.args.iter().enumerate().filter(|(_, place)| place.wrap(l) != 0) {
                let back = place.strides[l].wrapping_mul(geometry.extents[l]);
                nest.wraps.push(Wrap { arg, counter, at: place.wrap(l), back });
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

    /// The wraps along a loop.
    pub fn wraps_along(&self, l: usize) -> impl Iterator<Item = &Wrap> {
        self.wraps.iter().filter(move |wrap| self.strides(l)[wrap.counter] == 1)
    }

    /// Divides steps `0..len` of a loop, from the current counters on, into stretches in which nothing wraps, and
    /// returns their ends.
    pub fn stretches(&self, pointers: &[*mut u8], l: usize, len: usize) -> SmallVec<[usize; 4]> {
        let end = |wrap: &Wrap| usize::try_from(wrap.at - pointers[wrap.counter].addr() as i64).ok();
        let mut ends: SmallVec<[usize; 4]> =
            self.wraps_along(l).filter_map(end).filter(|end| (1..len).contains(end)).collect();
        ends.push(len);
        ends.sort_unstable();
        ends.dedup();
        ends
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

    /// Whether a loop of extent one may be removed. It may not if that would join two runs of reduced loops, or change
    /// whether the innermost loop is reduced (both determine the order of sums), or if the next loop's strides did not
    /// match what the tiers compiled for the innermost one.
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
            && self.wraps.is_empty()
            && self
                .strides(outer)
                .iter()
                .zip(self.strides(inner))
                .all(|(&o, &i)| i.checked_mul(self.extents[inner]) == Some(o))
    }
}
