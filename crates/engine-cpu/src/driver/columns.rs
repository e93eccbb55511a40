//! Reductions whose innermost loop is not reduced: column sums.
//!
//! In: a task. Out: results stored. Elements are added one after the other, in loop order, to a block of accumulators
//! that stays in the cache. Threads share the blocks of results. If there are few results and the order is free,
//! threads share the reduced loop instead.

use super::accs::{Accs, scratch};
use super::{Task, element};
use crate::fold::Order;
use crate::lines::Lines;
use crate::tier0::Rect;
use smallvec::SmallVec;

/// The number of points that are evaluated into scratch memory at a time.
const TILE: usize = 4096;
/// Most accumulators in a block.
const WIDTH: usize = 1024;
/// If there are enough columns, threads take blocks of at least this many.
const FAIR: usize = 64;
/// If there are few columns, the bytes of a row that are worth a thread, and the size of a cache line.
const PART: usize = 128;
const LINE: usize = 64;

/// The layout of results and steps.
struct ColumnLayout<'a> {
    task: &'a Task<'a>,
    /// Kept loops outside the block of results, and the reduced loops outside the tile.
    kept: SmallVec<[usize; 8]>,
    outer: SmallVec<[usize; 8]>,
    /// Innermost loop, the loop outside it, and whether that one is reduced.
    inner_loop: usize,
    outer_loop: usize,
    steps_in_tile: bool,
    /// Results along the innermost loop in a block, and blocks.
    width: usize,
    blocks: usize,
    /// Results along the outer loop in a block (one if that loop is reduced), and blocks.
    height: usize,
    bands: usize,
    /// Combinations of the outer reduced loops.
    repeats: usize,
    direct: Option<&'a [usize]>,
}

/// Folds every column.
///
/// # Safety
/// The launch's contract; the innermost loop is kept and no extent is zero.
pub unsafe fn run(task: &Task<'_>) {
    let work = task.work();
    let shares = task.threads.shares(work);
    let columns = ColumnLayout::new(task, shares);
    let groups = columns.kept.iter().map(|&l| task.nest.extents[l]).product::<i64>() as usize;
    let units = groups * columns.bands * columns.blocks;
    let steps = columns.steps();
    let free = task.schedule.targets.iter().all(|t| t.fold.order == Order::Free);
    // SAFETY: the caller's contract.
    unsafe {
        if free && shares > 1 && units < shares * 2 && steps >= shares * 2 {
            columns.split_steps(units, steps, work, shares);
        } else {
            columns.split_results(units, steps, work);
        }
    }
}

/// The number of columns in a block if threads share `groups` of `extent` columns.
fn fair(task: &Task<'_>, extent: usize, shares: usize, groups: usize, steps_in_tile: bool) -> usize {
    let targets = &task.schedule.targets;
    let bound = steps_in_tile && targets.iter().any(|t| t.fold.order != Order::Free);
    let fair = extent.div_ceil(shares * 2).next_multiple_of(FAIR);
    if !bound || extent.div_ceil(fair) * groups >= shares {
        return fair.min(WIDTH);
    }
    // few columns, whose rows must be added in order: each thread takes a part of every row
    let size = targets.iter().map(|t| element(t.fold.ty)).min().unwrap_or(1);
    let line = (LINE / size).max(1);
    extent.div_ceil(shares).max(PART / size).next_multiple_of(line).min(WIDTH)
}

impl<'a> ColumnLayout<'a> {
    fn new(task: &'a Task<'a>, shares: usize) -> ColumnLayout<'a> {
        let nest = task.nest;
        let inner_loop = nest.rank() - 1;
        let outer_loop = inner_loop - 1; // some loop is reduced, and it is not the innermost
        let steps_in_tile = nest.reduced[outer_loop];
        let (outer, kept): (SmallVec<_>, SmallVec<_>) = (0..outer_loop).partition(|&l| nest.reduced[l]);
        let extent = nest.extents[inner_loop] as usize;
        let groups = kept.iter().map(|&l: &usize| nest.extents[l]).product::<i64>() as usize;
        let width = if shares > 1 { fair(task, extent, shares, groups, steps_in_tile) } else { WIDTH }.min(extent);
        let rows = nest.extents[outer_loop] as usize;
        let height = if steps_in_tile { 1 } else { (WIDTH / width).clamp(1, rows) };
        let repeats = outer.iter().map(|&l: &usize| nest.extents[l]).product::<i64>() as usize;
        // only in scratch memory is a band of several rows contiguous
        let direct = if height == 1 { task.direct() } else { None };
        ColumnLayout {
            task,
            kept,
            outer,
            inner_loop,
            outer_loop,
            steps_in_tile,
            width,
            blocks: extent.div_ceil(width),
            height,
            bands: if steps_in_tile { 1 } else { rows.div_ceil(height) },
            repeats,
            direct,
        }
    }

    /// Reduced points per result.
    fn steps(&self) -> usize {
        self.repeats * if self.steps_in_tile { self.task.nest.extents[self.outer_loop] as usize } else { 1 }
    }

    /// The index of a unit's first point, and its extent along both loops.
    fn unit(&self, unit: usize) -> (SmallVec<[i64; 8]>, usize, usize) {
        let (block, rest) = (unit % self.blocks, unit / self.blocks);
        let (band, group) = (rest % self.bands, rest / self.bands);
        let mut index = self.task.decode(group, &self.kept);
        index[self.inner_loop] = (block * self.width) as i64;
        let width = self.width.min(self.task.nest.extents[self.inner_loop] as usize - block * self.width);
        let mut height = 1;
        if !self.steps_in_tile {
            index[self.outer_loop] = (band * self.height) as i64;
            height = self.height.min(self.task.nest.extents[self.outer_loop] as usize - band * self.height);
        }
        (index, width, height)
    }

    /// Folds each block of results on one thread.
    ///
    /// # Safety
    /// The launch keeps the promises of [`numelt_runtime::Launch`], and no other thread touches the results meanwhile.
    unsafe fn split_results(&self, units: usize, steps: usize, work: u64) {
        self.task.parallel(units, work, &|range| {
            let mut accs = Accs::new(&self.task.schedule.targets, self.width * self.height);
            let mut worker = ColumnScratch::new(self);
            for unit in range {
                let (index, width, height) = self.unit(unit);
                accs.reset(width * height);
                // SAFETY: the points are this unit's own.
                unsafe {
                    worker.fold(&index, width, height, 0, steps, &mut accs);
                    self.finish(&index, width, height, 0, &mut accs);
                }
            }
        });
    }

    /// Folds each stretch of steps on one thread; the caller joins the stretches in order.
    ///
    /// # Safety
    /// The launch keeps the promises of [`numelt_runtime::Launch`], and no other thread touches the results meanwhile.
    unsafe fn split_steps(&self, units: usize, steps: usize, work: u64, shares: usize) {
        let stretches = (shares * 4).min(steps);
        let size = self.width * self.height;
        for unit in 0..units {
            let (index, width, height) = self.unit(unit);
            let mut partials: Vec<Accs<'_>> =
                (0..stretches).map(|_| Accs::new(&self.task.schedule.targets, size)).collect();
            let rooms: Vec<_> = partials.iter_mut().map(Some).map(std::sync::Mutex::new).collect();
            self.task.parallel(stretches, work / units as u64, &|range| {
                let mut worker = ColumnScratch::new(self);
                for s in range {
                    let Some(accs) = rooms[s].lock().unwrap_or_else(|e| e.into_inner()).take() else { continue };
                    let (from, to) = (steps * s / stretches, steps * (s + 1) / stretches);
                    // SAFETY: the points are this stretch's own.
                    unsafe { worker.fold(&index, width, height, from, to, accs) };
                }
            });
            drop(rooms);
            let (total, later) = partials.split_at_mut(1);
            for part in later {
                total[0].join_all(part, width * height);
            }
            // SAFETY: the results are the caller's.
            unsafe { self.finish(&index, width, height, 0, &mut total[0]) };
        }
    }

    /// Stores the results of a block that begins at `index`.
    ///
    /// # Safety
    /// The block lies inside the launch, and no other thread touches its results.
    unsafe fn finish(&self, index: &[i64], width: usize, height: usize, first: usize, accs: &mut Accs<'_>) {
        let nest = self.task.nest;
        let pointers = self.task.origin(index);
        for (f, t) in self.task.schedule.targets.iter().enumerate() {
            let rect = Rect {
                base: pointers[t.arg],
                inner_stride: nest.strides(self.inner_loop)[t.arg] as isize,
                outer_stride: if height > 1 { nest.strides(self.outer_loop)[t.arg] as isize } else { 0 },
                inner: width,
                rows: height,
            };
            // SAFETY: the caller's results.
            unsafe { accs.finish(f, first, rect) };
        }
    }
}

/// One thread's scratch memory.
struct ColumnScratch<'a> {
    columns: &'a ColumnLayout<'a>,
    scratch: Vec<Lines>,
    rows: usize,
}

impl<'a> ColumnScratch<'a> {
    fn new(columns: &'a ColumnLayout<'a>) -> ColumnScratch<'a> {
        let block = columns.width * columns.height;
        let rows = (TILE / block).max(1);
        let targets = &columns.task.schedule.targets;
        let scratch = if columns.direct.is_some() { Vec::new() } else { scratch(targets, rows * block) };
        ColumnScratch { columns, scratch, rows }
    }

    /// Absorbs steps `from..to` of a block of results.
    ///
    /// # Safety
    /// The block lies inside the launch, which keeps the promises of [`numelt_runtime::Launch`].
    unsafe fn fold(&mut self, index: &[i64], width: usize, height: usize, from: usize, to: usize, accs: &mut Accs<'_>) {
        let c = self.columns;
        let extent = if c.steps_in_tile { c.task.nest.extents[c.outer_loop] as usize } else { 1 };
        let mut step = from;
        while step < to {
            let (repeat, row) = (step / extent, step % extent);
            let count = if c.direct.is_some() { usize::MAX } else { self.rows }.min(extent - row).min(to - step);
            let mut at = c.task.decode(repeat, &c.outer);
            for l in c.kept.iter().copied().chain([c.inner_loop]) {
                at[l] = index[l];
            }
            at[c.outer_loop] = if c.steps_in_tile { row as i64 } else { index[c.outer_loop] };
            // SAFETY: the caller's points.
            unsafe { self.absorb(&at, width, height, count, step as i64, accs) };
            step += count;
        }
    }

    /// Evaluates a tile and absorbs it, row after row, into one accumulator per column.
    ///
    /// # Safety
    /// The points lie in the nest, the accumulators are this worker's own, and the task's memory is valid for the nest.
    unsafe fn absorb(
        &mut self,
        at: &[i64],
        width: usize,
        height: usize,
        count: usize,
        position: i64,
        accs: &mut Accs<'_>,
    ) {
        let c = self.columns;
        let task = c.task;
        let mut pointers = task.origin(at);
        if c.direct.is_none() {
            for t in &task.schedule.targets {
                pointers[t.arg] = self.scratch[t.value].as_ptr();
            }
            // SAFETY: the caller's points; scratch holds `rows` blocks.
            unsafe { task.tile(&pointers, c.inner_loop, width, c.outer_loop, count * height) };
        }
        for (f, t) in task.schedule.targets.iter().enumerate() {
            let (src, stride) = match c.direct {
                Some(args) => (pointers[args[f]], task.nest.strides(c.outer_loop)[args[f]] as isize),
                None => (pointers[t.arg], (width * height * element(t.fold.ty)) as isize),
            };
            let (value, positions) = accs.at(f, 0);
            // SAFETY: there is an accumulator per result, and the values are there.
            unsafe { (t.fold.columns)(value, positions, src, stride, count, width * height, position) };
        }
    }
}
