//! The accumulators of a kernel's folds, and writing their results.
//!
//! In: folds and a count. Out: packed accumulators for each fold; results converted and stored with strides.

use crate::fold::{Fold, Order};
use crate::lines::Lines;
use crate::tier0::{Func, Rect, splat, unpack};
use numelt_ir::DType;

/// Scratch memory for this many points of each value that is folded.
pub fn scratch(targets: &[FoldOutput], points: usize) -> Vec<Lines> {
    let mut scratch: Vec<Lines> = Vec::with_capacity(targets.len());
    for target in targets {
        if target.value == scratch.len() {
            scratch.push(Lines::new(points * target.fold.ty.size()));
        }
    }
    scratch
}

/// A fold and the argument for its result.
#[derive(Clone, Copy)]
pub struct FoldOutput {
    /// The fold.
    pub fold: Fold,
    /// Index of the kernel's `Reduced` argument.
    pub arg: usize,
    /// The number of the value that it folds. Folds of the same value share scratch memory.
    pub value: usize,
    /// dtype of the result in memory.
    pub dtype: DType,
    /// The conversion from the fold's result, if the dtypes differ.
    pub cast: Option<Func>,
}

/// `count` accumulators for each fold.
pub struct Accs<'a> {
    targets: &'a [FoldOutput],
    memory: Lines,
    count: usize,
}

/// The bytes of the accumulators of one fold: values first, positions behind them.
fn bytes(count: usize) -> usize {
    (count * 16).next_multiple_of(64) + (count * 8).next_multiple_of(64)
}

impl<'a> Accs<'a> {
    /// Accumulators of the empty range.
    pub fn new(targets: &'a [FoldOutput], count: usize) -> Accs<'a> {
        let mut accs = Accs { targets, memory: Lines::new(bytes(count) * targets.len()), count };
        accs.reset(count);
        accs
    }

    /// Resets the first `count` accumulators to those of the empty range.
    pub fn reset(&mut self, count: usize) {
        let count = count.min(self.count);
        for f in 0..self.targets.len() {
            let fold = self.targets[f].fold;
            let (values, positions) = self.at(f, 0);
            // SAFETY: there is room for `count` accumulators and positions; values start on a cache line.
            unsafe {
                splat(fold.init.as_ptr(), fold.acc.size(), count, values);
                if fold.arg {
                    std::slice::from_raw_parts_mut(positions, count).fill(-1);
                }
            }
        }
    }

    /// Resets one accumulator to that of the empty range.
    pub fn reset_one(&mut self, f: usize, i: usize) {
        let fold = &self.targets[f].fold;
        let size = fold.acc.size();
        let (value, position) = self.at(f, i);
        // SAFETY: `at` points at room for one accumulator.
        unsafe {
            std::ptr::copy_nonoverlapping(fold.init.as_ptr(), value, size);
            if fold.arg {
                *position = -1;
            }
        }
    }

    /// The addresses of accumulator `i` of fold `f` and of its position.
    pub fn at(&mut self, f: usize, i: usize) -> (*mut u8, *mut i64) {
        debug_assert!(f < self.targets.len() && i < self.count);
        self.room().at(self.targets, f, i)
    }

    /// Joins accumulator `from` of fold `f` into accumulator `into`.
    pub fn join(&mut self, f: usize, into: usize, from: usize) {
        let (value, position) = self.at(f, into);
        let (other, at) = self.at(f, from);
        // SAFETY: both are accumulators of this fold.
        unsafe { (self.targets[f].fold.join)(value, position, other, at, 1) }
    }

    /// Whether the first accumulators of all folds are these truth values.
    pub fn hold(&mut self, truths: &[bool]) -> bool {
        truths.iter().enumerate().all(|(f, &truth)| {
            debug_assert_eq!(self.targets[f].fold.acc, DType::Bool);
            // SAFETY: the accumulator exists, and is a byte.
            unsafe { (*self.at(f, 0).0 != 0) == truth }
        })
    }

    /// Number of folds.
    pub fn folds(&self) -> usize {
        self.targets.len()
    }

    /// Is fold `f` a pairwise sum?
    pub fn is_tree(&self, f: usize) -> bool {
        matches!(self.targets[f].fold.order, Order::Tree(_))
    }

    /// Joins accumulator `from` of every fold of `other` into accumulator `into`.
    pub fn join_from(&mut self, into: usize, other: &mut Accs<'_>, from: usize) {
        for f in 0..self.targets.len() {
            let (value, position) = self.at(f, into);
            let (theirs, at) = other.at(f, from);
            // SAFETY: both are accumulators of this fold.
            unsafe { (self.targets[f].fold.join)(value, position, theirs, at, 1) }
        }
    }

    /// Copies accumulator zero of every fold to accumulator `slot` of `other`.
    ///
    /// # Safety
    /// `other` lives and has the same folds; nobody else uses its accumulator `slot` meanwhile.
    pub unsafe fn copy_to(&mut self, other: &Room, slot: usize) {
        for f in 0..self.targets.len() {
            let (value, position) = self.at(f, 0);
            let (theirs, at) = other.at(self.targets, f, slot);
            // SAFETY: the caller's contract.
            unsafe {
                std::ptr::copy_nonoverlapping(value, theirs, self.targets[f].fold.acc.size());
                if self.targets[f].fold.arg {
                    *at = *position;
                }
            }
        }
    }

    /// The memory, for writing by several threads.
    pub fn room(&mut self) -> Room {
        Room { base: self.memory.as_ptr(), count: self.count }
    }

    /// Joins all of `other`'s first `n` accumulators into this one's.
    pub fn join_all(&mut self, other: &mut Accs<'_>, n: usize) {
        for f in 0..self.targets.len() {
            let (value, position) = self.at(f, 0);
            let (theirs, at) = other.at(f, 0);
            // SAFETY: both hold `n` accumulators of this fold.
            unsafe { (self.targets[f].fold.join)(value, position, theirs, at, n) }
        }
    }

    /// Stores the results of fold `f`: from accumulator `first` on, as many as `rect` has elements.
    ///
    /// # Safety
    /// The rectangle is writable memory of the target's dtype, and no other thread accesses it.
    pub unsafe fn finish(&mut self, f: usize, first: usize, rect: Rect) {
        let target = self.targets[f];
        let n = rect.inner * rect.rows;
        let (value, position) = self.at(f, first);
        let result = if target.fold.arg { position.cast::<u8>() } else { value };
        // SAFETY: there are `n` accumulators; the rectangle is the caller's.
        unsafe {
            match target.cast {
                None => unpack(rect, target.dtype.size(), result),
                Some(cast) => {
                    let mut room = Lines::new(n * target.dtype.size());
                    cast.call([result.cast_const(); 3], room.as_ptr(), n);
                    unpack(rect, target.dtype.size(), room.as_ptr());
                }
            }
        }
    }
}

/// The memory of accumulators, shared between threads that use different ones.
#[derive(Clone, Copy)]
pub struct Room {
    base: *mut u8,
    count: usize,
}

// SAFETY: only addresses are shared; `copy_to` asks for different accumulators.
unsafe impl Sync for Room {}

impl Room {
    fn at(&self, targets: &[FoldOutput], f: usize, i: usize) -> (*mut u8, *mut i64) {
        let base = self.base.wrapping_add(f * bytes(self.count));
        let positions = base.wrapping_add((self.count * 16).next_multiple_of(64));
        (base.wrapping_add(i * targets[f].fold.acc.size()), positions.cast::<i64>().wrapping_add(i))
    }
}
