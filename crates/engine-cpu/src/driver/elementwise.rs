//! Kernels without reductions.
//!
//! In: a task. Out: every point evaluated once. The two innermost loops are cut into tiles, which threads share in
//! order.

use super::delayed::Writer;
use super::{Task, advance};
use smallvec::SmallVec;
use std::ops::Range;

/// Points of the largest tile.
const TILE: usize = 1 << 16;

/// How the two innermost loops are cut.
pub(super) struct Cut {
    /// The loops: innermost and the one outside it (the same when there is only one).
    inner_loop: usize,
    outer_loop: usize,
    /// Points per tile along each.
    inner: usize,
    outer: usize,
    /// Tiles along each.
    inner_tiles: usize,
    outer_tiles: usize,
}

/// Evaluates every point.
///
/// # Safety
/// The launch's contract.
pub unsafe fn run(task: &Task<'_>) {
    let points = task.nest.points() as usize;
    let work = task.work();
    let cut = cut(task, points, work);
    let units = cut.units(task);
    let least = task.delayed.map_or(1, |delayed| delayed.chunk() / (cut.inner * cut.outer) + 1);
    task.parallel_chunks(units, least, work, &|range| {
        let mut writer = Writer::new(task, cut.first(task, range.start)..cut.first(task, range.end));
        for unit in range {
            // SAFETY: each unit is a tile of its own.
            unsafe { tile(task, &cut, unit, writer.as_mut()) };
        }
    });
}

/// The position of a tile.
pub(super) struct Spot {
    /// Address of each argument at its first point.
    pub pointers: SmallVec<[*mut u8; 8]>,
    /// Points along the two loops.
    inner: usize,
    outer: usize,
    /// The numbers of its points, if tiles are whole rows or parts of one row.
    pub points: Range<usize>,
}

impl Cut {
    /// Number of tiles.
    pub fn units(&self, task: &Task<'_>) -> usize {
        let rest = task.nest.extents[..self.outer_loop.min(self.inner_loop)].iter().product::<i64>() as usize;
        rest * self.outer_tiles * self.inner_tiles
    }

    /// Points of the largest tile.
    pub fn points(&self) -> usize {
        self.inner * self.outer
    }

    /// The position of a unit's tile.
    pub fn spot(&self, task: &Task<'_>, unit: usize) -> Spot {
        let (rest, row, column) = self.place(unit);
        let mut pointers = SmallVec::<[*mut u8; 8]>::from_slice(task.pointers);
        let mut left = rest as i64;
        for l in (0..self.outer_loop).rev() {
            let extent = task.nest.extents[l];
            advance(&mut pointers, task.nest.strides(l), left % extent);
            left /= extent;
        }
        let outer_extent = if self.inner_loop == 0 { 1 } else { task.nest.extents[self.outer_loop] as usize };
        advance(&mut pointers, task.nest.strides(self.outer_loop), row as i64);
        advance(&mut pointers, task.nest.strides(self.inner_loop), column as i64);
        let inner = self.inner.min(task.nest.extents[self.inner_loop] as usize - column);
        let outer = self.outer.min(outer_extent - row);
        let first = self.first(task, unit);
        Spot { pointers, inner, outer, points: first..first + inner * outer }
    }

    /// Evaluates a tile.
    ///
    /// # Safety
    /// The launch's contract; no other thread touches the results meanwhile.
    pub unsafe fn evaluate(&self, task: &Task<'_>, spot: &Spot) {
        // SAFETY: the tile lies inside the iteration space; there are no reductions.
        unsafe { task.tile(&spot.pointers, self.inner_loop, spot.inner, self.outer_loop, spot.outer) };
    }

    /// The number of a unit's first point, if tiles are whole rows or parts of one row.
    fn first(&self, task: &Task<'_>, unit: usize) -> usize {
        let (rest, row, column) = self.place(unit);
        let inner = task.nest.extents[self.inner_loop] as usize;
        let rows = if self.inner_loop == 0 { 1 } else { task.nest.extents[self.outer_loop] as usize };
        (rest * rows + row) * inner + column
    }

    /// The start of a unit: the combination of the loops outside the tile, the row and the column.
    fn place(&self, unit: usize) -> (usize, usize, usize) {
        let (rest, within) =
            (unit / (self.outer_tiles * self.inner_tiles), unit % (self.outer_tiles * self.inner_tiles));
        (rest, within / self.inner_tiles * self.outer, within % self.inner_tiles * self.inner)
    }
}

pub(super) fn cut(task: &Task<'_>, points: usize, work: u64) -> Cut {
    let nest = task.nest;
    let inner_loop = nest.rank() - 1;
    let outer_loop = inner_loop.saturating_sub(1);
    let inner_extent = nest.extents[inner_loop] as usize;
    let outer_extent = if inner_loop == 0 { 1 } else { nest.extents[outer_loop] as usize };
    let shares = task.threads.shares(work);
    let target = (points / (shares * 8).max(1)).clamp(4096, TILE);
    let target = if shares <= 1 { TILE } else { target };
    let target = task.delayed.map_or(target, |delayed| delayed.tile(points, target));
    let target = task.scattered.map_or(target, |scattered| scattered.tile());
    let (mut inner, mut outer);
    if task.schedule.strided && task.delayed.is_none() && task.scattered.is_none() && transposed(task) {
        // some argument has its neighbours along the outer loop: square tiles reuse its cache lines
        inner = inner_extent.min(256);
        outer = outer_extent.min(64);
    } else {
        inner = inner_extent.min(target);
        outer = (target / inner).clamp(1, outer_extent);
    }
    if inner < inner_extent {
        // tiles end at cache lines for every element size
        inner = inner.next_multiple_of(64).min(inner_extent);
        outer = if inner_extent <= target { outer } else { outer.min((target / inner).max(1)) };
    }
    Cut {
        inner_loop,
        outer_loop,
        inner,
        outer,
        inner_tiles: inner_extent.div_ceil(inner),
        outer_tiles: outer_extent.div_ceil(outer),
    }
}

/// Whether some argument has a large stride along the innermost loop and a small one along the loop outside it.
fn transposed(task: &Task<'_>) -> bool {
    let rank = task.nest.rank();
    rank >= 2
        && task
            .nest
            .strides(rank - 1)
            .iter()
            .zip(task.nest.strides(rank - 2))
            .any(|(&inner, &outer)| inner.unsigned_abs() >= 128 && outer != 0 && outer.unsigned_abs() < 64)
}

/// Runs one tile of a cut.
///
/// # Safety
/// The launch keeps the promises of [`numelt_runtime::Launch`], and no other thread touches the results meanwhile.
unsafe fn tile(task: &Task<'_>, cut: &Cut, unit: usize, writer: Option<&mut Writer<'_>>) {
    let mut spot = cut.spot(task, unit);
    let end = spot.points.end;
    if let Some(writer) = writer {
        let (arg, room) = writer.room(spot.points.clone());
        spot.pointers[arg] = room;
        // SAFETY: the tile lies inside the iteration space, and its results in their room; units come in order.
        unsafe {
            cut.evaluate(task, &spot);
            writer.evaluated(end);
        }
        return;
    }
    // SAFETY: the caller's contract.
    unsafe { cut.evaluate(task, &spot) };
}
