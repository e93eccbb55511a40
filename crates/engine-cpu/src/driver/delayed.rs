//! Delayed stores, in kernels that overwrite what they read.
//!
//! In: a launch whose results overwrite values that other points still need, and the distance of those points. Out: the
//! results in memory, each written when nobody reads its position any more. Points are evaluated in loop order. The
//! results of a tile stay in scratch memory, in cache, until the points that need the old values have been evaluated.
//! At both ends of a thread's chunk are points that other threads evaluate at the same time: the tiles there wait until
//! all threads have finished. If the outermost loop wraps, so do the first and last tiles of all.

use super::{Task, advance};
use crate::lines::Lines;
use crate::tier0::{Rect, unpack};
use numelt_opt::{Delay, Kernel};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The most points of a tile. The delayed results should stay in the core's own cache, beside what is read. If all
/// results fit into [`CACHED`] bytes, larger tiles are used, because they cost less.
const TILE: usize = 4096;
const TILE_CACHED: usize = 8192;
/// The size of results that stay in cache.
const CACHED: usize = 2 << 20;
/// A chunk is at least this many times as long as the part of it that waits for other threads, if there are enough
/// points.
const TIMES: usize = 4;
/// The nanoseconds for moving a KB from scratch memory to its destination.
const MOVE: usize = 100;

/// The delayed store of a launch.
pub struct Delayed {
    /// The `Store` argument, and the bytes of its elements.
    pub(super) arg: usize,
    pub(super) size: usize,
    behind: usize,
    ahead: usize,
    /// Whether the first points load what the last ones store, or the other way round.
    cyclic: bool,
    /// The points of a tile if a test demands a number, otherwise zero.
    block: usize,
    /// The results that wait until all threads have finished.
    ends: Mutex<Vec<DelayedResults>>,
}

/// The results of the points from `first` on, one after the other.
struct DelayedResults {
    room: Lines,
    first: usize,
    len: usize,
}

impl Delayed {
    /// The delay of a kernel's launch. A test may demand tiles of `block` points, and then gets short chunks, too.
    pub fn new(kernel: &Kernel, delay: &Delay, block: usize) -> Delayed {
        let (arg, behind, ahead) = (delay.arg as usize, delay.behind as usize, delay.ahead as usize);
        let (size, cyclic) = (kernel.args[arg].dtype.size(), delay.cyclic);
        Delayed { arg, size, behind, ahead, cyclic, block, ends: Mutex::default() }
    }

    /// The number of points of a tile of a launch with `points` points, for which other launches would use `target`.
    pub(super) fn tile(&self, points: usize, target: usize) -> usize {
        match self.block {
            0 if points * self.size > CACHED => target.min(TILE),
            0 => target.min(TILE_CACHED),
            block => block,
        }
    }

    /// The fewest points of a chunk.
    pub(super) fn chunk(&self) -> usize {
        if self.block > 0 { 1 } else { TIMES * (self.behind + self.ahead) }
    }

    /// Writes the results that have waited for all threads.
    ///
    /// # Safety
    /// The task's launch keeps its promises, and all its points have been evaluated.
    pub(super) unsafe fn finish(&self, task: &Task<'_>) {
        let ends = std::mem::take(&mut *self.ends.lock().unwrap_or_else(PoisonError::into_inner));
        let points: usize = ends.iter().map(|part| part.len).sum();
        let work = (points * self.size / 1024 * MOVE) as u64;
        task.threads.parallel(ends.len(), work, &|range| {
            for part in &ends[range] {
                // SAFETY: the caller's contract; each part has points of its own.
                unsafe { self.write(task, part) };
            }
        });
    }

    /// Writes results to their destinations.
    ///
    /// # Safety
    /// The task's launch keeps its promises, and nobody reads the destinations of these points any more.
    unsafe fn write(&self, task: &Task<'_>, part: &DelayedResults) {
        let (nest, last) = (task.nest, task.nest.rank() - 1);
        let inner = nest.extents[last] as usize;
        let mut done = 0;
        while done < part.len {
            let (left, at) = (part.len - done, part.first + done);
            let (column, row) = (at % inner, at / inner);
            let (columns, mut rows) = ((inner - column).min(left), 1);
            let outer = last.saturating_sub(1);
            if last > 0 && columns == inner {
                let extent = nest.extents[outer] as usize;
                rows = (left / inner).min(extent - row % extent);
            }
            let mut place: SmallVec<[*mut u8; 1]> = SmallVec::from_slice(&task.pointers[self.arg..=self.arg]);
            let mut rest = row as i64;
            for l in (0..last).rev() {
                let extent = nest.extents[l];
                advance(&mut place, &nest.strides(l)[self.arg..], rest % extent);
                rest /= extent;
            }
            advance(&mut place, &nest.strides(last)[self.arg..], column as i64);
            let rect = Rect {
                base: place[0],
                inner_stride: nest.strides(last)[self.arg] as isize,
                outer_stride: nest.strides(outer)[self.arg] as isize,
                inner: columns,
                rows,
            };
            // SAFETY: the caller's contract; the room holds the part's results.
            unsafe { unpack(rect, self.size, part.room.start().wrapping_add(done * self.size)) };
            done += columns * rows;
        }
    }
}

/// One thread's results of a chunk of points.
pub(super) struct Writer<'a> {
    task: &'a Task<'a>,
    delayed: &'a Delayed,
    chunk: Range<usize>,
    waiting: VecDeque<DelayedResults>,
}

impl<'a> Writer<'a> {
    /// The writer for the points `chunk`, if a store is delayed.
    pub fn new(task: &'a Task<'a>, chunk: Range<usize>) -> Option<Writer<'a>> {
        task.delayed.map(|delayed| Writer { task, delayed, chunk, waiting: VecDeque::new() })
    }

    /// The delayed argument, and scratch memory for its results at these points.
    pub fn room(&mut self, points: Range<usize>) -> (usize, *mut u8) {
        let mut room = Lines::new(points.len() * self.delayed.size);
        let start = room.as_ptr();
        self.waiting.push_back(DelayedResults { room, first: points.start, len: points.len() });
        (self.delayed.arg, start)
    }

    /// Writes the results that nobody reads any more, given that all points of the chunk before `end` have been
    /// evaluated.
    ///
    /// # Safety
    /// All of these points have been evaluated, and the task's launch keeps its promises.
    pub unsafe fn evaluated(&mut self, end: usize) {
        let (first, total) = (self.chunk.start, self.task.nest.points() as usize);
        while let Some(part) = self.waiting.front() {
            let read_before = (first > 0 || self.delayed.cyclic) && part.first < first + self.delayed.ahead;
            let read_after = end < total || self.delayed.cyclic;
            if !read_before && read_after && part.first + part.len + self.delayed.behind > end {
                return;
            }
            let Some(part) = self.waiting.pop_front() else { return };
            if read_before {
                self.delayed.ends.lock().unwrap_or_else(PoisonError::into_inner).push(part);
            } else {
                // SAFETY: the points that read these places have been evaluated: none of them lies before the chunk
                // or from `end` on.
                unsafe { self.delayed.write(self.task, &part) };
            }
        }
    }
}

impl Drop for Writer<'_> {
    /// The results that still wait are left to [`Delayed::finish`], because other threads may read their destinations.
    fn drop(&mut self) {
        self.delayed.ends.lock().unwrap_or_else(PoisonError::into_inner).extend(self.waiting.drain(..));
    }
}
