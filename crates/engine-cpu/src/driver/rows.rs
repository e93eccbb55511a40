//! Reductions whose innermost loops are reduced: row sums, full sums.
//!
//! In: a task. Out: results stored. A *run* is the flattened range of the innermost reduced loops. NumPy's iterator
//! cuts it into *pieces*, usually one. Many short runs are evaluated in one tile. Long pieces are cut at the nodes of
//! NumPy's summation tree, and threads share the parts; partial sums are joined in the tree's order.

use super::accs::{Accs, scratch};
use super::delayed::Writer;
use super::pairwise::Unit;
use super::values::Step;
use super::{Task, advance, element};
use crate::fold::Order;
use crate::lines::Lines;
use crate::tier0::Rect;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most points that are evaluated into scratch memory at a time.
const LEAF: usize = 2048;
/// The bytes of scratch memory for the values of all reductions of a leaf. They leave space for operands in the
/// first-level cache.
const SCRATCH: usize = 24 << 10;
/// The bytes of scratch memory that a leaf may fill if the order is free.
const LEAF_BYTES: usize = 16 << 10;
/// A kept loop of at most this many steps is too short to provide the rows of a tile, if there is a longer one.
const FEW: i64 = 16;
/// The points of a tree node that a thread takes as one unit.
const NODE: usize = 1 << 15;

/// The loops of a task, by their roles in the reduction.
struct RowLoops<'a> {
    task: &'a Task<'a>,
    /// First of the innermost reduced loops.
    first: usize,
    /// Points of a run.
    len: usize,
    /// First point and length of each piece of a run.
    pieces: Vec<(usize, usize)>,
    /// Loops outside the run that are kept, and those that are reduced.
    kept: SmallVec<[usize; 8]>,
    outer: SmallVec<[usize; 8]>,
    /// Combinations of the outer reduced loops.
    repeats: usize,
    /// The arguments to fold directly from memory.
    direct: Option<&'a [usize]>,
    unit: Unit,
    /// Whether there are sums of real and of complex values, whose trees differ.
    mixed: bool,
    /// The most points of a run that are evaluated at once.
    leaf: usize,
}

/// Folds every run.
///
/// # Safety
/// The launch's contract; the innermost loop is reduced and no extent is zero.
pub unsafe fn run(task: &Task<'_>) {
    let rows = RowLoops::new(task);
    let results = rows.kept.iter().map(|&l| task.nest.extents[l]).product::<i64>() as usize;
    let work = task.work();
    let shares = task.threads.shares(work);
    // SAFETY: the caller's contract.
    unsafe {
        if rows.len <= LEAF
            && rows.pieces.len() == 1
            && rows.first + 1 == task.nest.rank()
            && !rows.kept.is_empty()
            && rows.packs()
        {
            rows.short(results, work, shares);
        } else if shares > 1 && results < shares * 4 && rows.len > NODE && rows.splits() {
            rows.shared(results, work);
        } else {
            rows.whole(results, work);
        }
    }
}

impl<'a> RowLoops<'a> {
    fn new(task: &'a Task<'a>) -> RowLoops<'a> {
        let nest = task.nest;
        let rank = nest.rank();
        let first = (0..rank).rev().take_while(|&l| nest.reduced[l]).last().unwrap_or(rank - 1);
        let len = nest.extents[first..].iter().product::<i64>() as usize;
        let (outer, kept): (SmallVec<_>, SmallVec<_>) = (0..first).partition(|&l| nest.reduced[l]);
        let repeats = outer.iter().map(|&l: &usize| nest.extents[l]).product::<i64>() as usize;
        let units: SmallVec<[Unit; 4]> = task
            .schedule
            .targets
            .iter()
            .filter_map(|t| if let Order::Tree(unit) = t.fold.order { Some(unit) } else { None })
            .collect();
        let unit = units.first().copied().unwrap_or(Unit::Real);
        // sums of real and of complex values cut a run differently, so the whole run is one leaf
        let mixed = units.iter().any(|&u| u != unit);
        let direct = if first + 1 == rank { task.direct() } else { None };
        let whole = task.schedule.targets.iter().any(|t| t.fold.order == Order::Runs);
        let leaf = if mixed || whole || (direct.is_some() && task.schedule.steps.len() == 1) {
            len
        } else {
            let values = task
                .schedule
                .targets
                .iter()
                .enumerate()
                .filter(|(f, t)| task.schedule.targets[..*f].iter().all(|earlier| earlier.value != t.value));
            let point: usize = values.map(|(_, t)| element(t.fold.ty)).sum();
            (SCRATCH / point).clamp(LEAF / 8, LEAF)
        };
        let free = task.schedule.targets.iter().all(|t| t.fold.order == Order::Free);
        let widest = task.schedule.targets.iter().map(|t| element(t.fold.ty)).max().unwrap_or(8);
        let leaf = if free { leaf.max(LEAF_BYTES / widest) } else { leaf };
        let pieces = task.pieces.cut(len).collect();
        RowLoops { task, first, len, pieces, kept, outer, repeats, direct, unit, mixed, leaf: leaf.max(1) }
    }

    /// Whether the loop outside the run is kept, so that neighbouring runs form a tile.
    fn packs(&self) -> bool {
        self.first > 0 && !self.task.nest.reduced[self.first - 1]
    }

    /// May a run be cut between threads?
    fn splits(&self) -> bool {
        !self.task.sequential() && !self.mixed
    }

    /// The location of `count` results of fold `f` along loop `row_loop`.
    fn target(&self, f: usize, pointers: &[*mut u8], row_loop: usize, count: usize) -> Rect {
        let arg = self.task.schedule.targets[f].arg;
        let stride = if count > 1 { self.task.nest.strides(row_loop)[arg] as isize } else { 0 };
        Rect { base: pointers[arg], inner_stride: stride, outer_stride: 0, inner: count, rows: 1 }
    }

    /// The loop that provides the rows of a tile, and a loop of few steps inside it through which a unit of work goes.
    fn row_loops(&self) -> (usize, Option<usize>) {
        let (inner, extents) = (self.first - 1, &self.task.nest.extents);
        let longer = inner > 0 && !self.task.nest.reduced[inner - 1] && extents[inner - 1] > extents[inner];
        if extents[inner] <= FEW && longer { (inner - 1, Some(inner)) } else { (inner, None) }
    }

    /// Short runs: tiles of many rows.
    ///
    /// # Safety
    /// The task's memory is valid for every point of its nest, and nobody else works on its results meanwhile.
    unsafe fn short(&self, results: usize, work: u64, shares: usize) {
        let (row_loop, few) = self.row_loops();
        let turns = few.map_or(1, |l| self.task.nest.extents[l]);
        let row_extent = self.task.nest.extents[row_loop] as usize;
        let groups = results / (row_extent * turns as usize);
        let most = (2 * LEAF / self.len).max(1);
        let fair = row_extent.div_ceil((shares * 4).div_ceil(groups).max(1));
        let step = if self.direct.is_some() { fair.min(4096) } else { fair.min(most) }.clamp(1, row_extent);
        let cuts = row_extent.div_ceil(step);
        let others = &self.kept[..self.kept.len() - 1 - usize::from(few.is_some())];
        self.task.parallel(groups * cuts, work, &|range| {
            let mut accs = Accs::new(&self.task.schedule.targets, step);
            let mut worker = RowScratch::new(self, step * self.len);
            for unit in range {
                let (group, row) = (unit / cuts, unit % cuts * step);
                let mut index = self.task.decode(group, others);
                index[row_loop] = row as i64;
                let count = step.min(row_extent - row);
                for turn in 0..turns {
                    if let Some(few) = few {
                        index[few] = turn;
                    }
                    accs.reset(count);
                    for repeat in 0..self.repeats {
                        let at = self.combine(&index, repeat);
                        // SAFETY: the rows lie inside the iteration space, and are this unit's own.
                        unsafe { worker.rows(&at, row_loop, count, (repeat * self.len) as i64, &mut accs) };
                    }
                    let pointers = self.task.origin(&index);
                    for f in 0..self.task.schedule.targets.len() {
                        // SAFETY: these results are this unit's own.
                        unsafe { accs.finish(f, 0, self.target(f, &pointers, row_loop, count)) };
                    }
                }
            }
        });
    }

    /// A kept index with the `repeat`-th combination of the outer reduced loops.
    fn combine(&self, kept: &[i64], repeat: usize) -> SmallVec<[i64; 8]> {
        let mut index = self.task.decode(repeat, &self.outer);
        for &l in &self.kept {
            index[l] = kept[l];
        }
        index
    }

    /// Computes each result on one thread.
    ///
    /// # Safety
    /// As for `short`.
    unsafe fn whole(&self, results: usize, work: u64) {
        self.task.parallel(results, work, &|range| {
            let mut accs = Accs::new(&self.task.schedule.targets, 64);
            let mut worker = RowScratch::new(self, self.leaf.min(self.len));
            worker.writer = Writer::new(self.task, 0..self.len);
            for unit in range {
                let index = self.task.decode(unit, &self.kept);
                accs.reset_levels(1);
                for repeat in 0..self.repeats {
                    let origin = self.task.origin(&self.combine(&index, repeat));
                    for &(start, n) in &self.pieces {
                        accs.reset_level(1);
                        // SAFETY: the run is this unit's own.
                        unsafe { worker.tree(&origin, 1, start, n, (repeat * self.len) as i64, &mut accs) };
                        accs.join_trees(0, 1);
                    }
                }
                let pointers = self.task.origin(&index);
                for f in 0..self.task.schedule.targets.len() {
                    // SAFETY: this result is this unit's own.
                    unsafe { accs.finish(f, 0, self.target(f, &pointers, 0, 1)) };
                }
            }
        });
    }

    /// Computes few results of long runs: threads take nodes of the tree, and the caller joins them.
    ///
    /// # Safety
    /// As for `short`.
    unsafe fn shared(&self, results: usize, work: u64) {
        let nodes: Vec<(usize, usize)> = self.pieces.iter().flat_map(|&piece| self.nodes(piece)).collect();
        let runs = results * self.repeats;
        let mut partials = Accs::new(&self.task.schedule.targets, runs * nodes.len());
        let room = partials.room();
        // whether a part of the only run has made the results final
        let is_final = AtomicBool::new(false);
        let least = self.task.delayed.map_or(1, |delayed| delayed.chunk() / NODE + 1);
        self.task.parallel_chunks(runs * nodes.len(), least, work, &|range| {
            let mut accs = Accs::new(&self.task.schedule.targets, 64);
            let mut worker = RowScratch::new(self, self.leaf.min(NODE));
            // if a store is delayed, there is only one run
            let end = nodes.get(range.end).map_or(self.len, |node| node.0);
            worker.writer = nodes.get(range.start).and_then(|node| Writer::new(self.task, node.0..end));
            for unit in range {
                if is_final.load(Ordering::Relaxed) {
                    // the accumulators stay those of the empty range
                    continue;
                }
                let (run, node) = (unit / nodes.len(), unit % nodes.len());
                let (result, repeat) = (run / self.repeats, run % self.repeats);
                let index = self.task.decode(result, &self.kept);
                let origin = self.task.origin(&self.combine(&index, repeat));
                let (start, n) = nodes[node];
                accs.reset_levels(2);
                // SAFETY: the node's points are this unit's own.
                unsafe { worker.tree(&origin, 1, start, n, (repeat * self.len) as i64, &mut accs) };
                accs.join_trees(0, 1);
                if runs == 1 && worker.is_final(&mut accs) {
                    is_final.store(true, Ordering::Relaxed);
                }
                // SAFETY: each unit copies into an accumulator of its own.
                unsafe { accs.copy_to(&room, unit) };
            }
        });
        let mut accs = Accs::new(&self.task.schedule.targets, 64);
        for result in 0..results {
            accs.reset_levels(1);
            for repeat in 0..self.repeats {
                let mut next = (result * self.repeats + repeat) * nodes.len();
                for &(_, n) in &self.pieces {
                    accs.reset_level(1);
                    self.join_nodes(1, n, &mut next, &mut partials, &mut accs);
                    accs.join_all_levels(0, 1);
                }
            }
            let pointers = self.task.origin(&self.task.decode(result, &self.kept));
            for f in 0..self.task.schedule.targets.len() {
                // SAFETY: the results are the caller's.
                unsafe { accs.finish(f, 0, self.target(f, &pointers, 0, 1)) };
            }
        }
    }

    /// The nodes of a piece, each of which is a unit for the threads.
    fn nodes(&self, (start, n): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
        self.unit.nodes(n, NODE).into_iter().map(move |(at, len)| (start + at, len))
    }

    /// Joins the partial results of a piece in the tree's order into level `level`.
    fn join_nodes(&self, level: usize, n: usize, next: &mut usize, partials: &mut Accs<'_>, accs: &mut Accs<'_>) {
        if n <= NODE {
            accs.join_from(level, partials, *next);
            *next += 1;
            return;
        }
        let left = self.unit.split(n);
        self.join_nodes(level, left, next, partials, accs);
        accs.reset_level(level + 1);
        self.join_nodes(level + 1, n - left, next, partials, accs);
        accs.join_all_levels(level, level + 1);
    }
}

/// One thread's scratch memory.
struct RowScratch<'a> {
    rows: &'a RowLoops<'a>,
    scratch: Vec<Lines>,
    /// Writes delayed results.
    writer: Option<Writer<'a>>,
}

impl<'a> RowScratch<'a> {
    /// Scratch for `points` values of each reduction, unless they are folded from memory.
    fn new(rows: &'a RowLoops<'a>, points: usize) -> RowScratch<'a> {
        let targets = &rows.task.schedule.targets;
        let scratch = if rows.direct.is_some() { Vec::new() } else { scratch(targets, points) };
        RowScratch { rows, scratch, writer: None }
    }

    /// Whether further points cannot change the results.
    fn is_final(&self, accs: &mut Accs<'_>) -> bool {
        self.rows.task.schedule.settles.as_ref().is_some_and(|truths| accs.hold(truths))
    }

    /// Evaluates `count` rows along loop `o` that start at `index` and absorbs each into its accumulator.
    ///
    /// # Safety
    /// The rows lie in the nest, whose memory is valid, and there is an accumulator for each.
    unsafe fn rows(&mut self, index: &[i64], o: usize, count: usize, position: i64, accs: &mut Accs<'_>) {
        let (task, rows) = (self.rows.task, self.rows);
        let mut pointers = task.origin(index);
        let l = rows.first;
        if rows.direct.is_none() {
            for t in &task.schedule.targets {
                pointers[t.arg] = self.scratch[t.value].as_ptr();
            }
            // SAFETY: the caller's rows; scratch has room for them.
            unsafe { task.tile(&pointers, l, rows.len, o, count) };
        }
        for (f, t) in task.schedule.targets.iter().enumerate() {
            let (src, stride) = match rows.direct {
                Some(args) => (pointers[args[f]], task.nest.strides(o)[args[f]] as isize),
                None => (pointers[t.arg], (rows.len * element(t.fold.ty)) as isize),
            };
            let (value, at) = accs.at(f, 0);
            // SAFETY: there is an accumulator per row, and the values are there.
            unsafe { (t.fold.rows)(value, at, src, stride, count, rows.len, position) };
        }
    }

    /// Folds points `start..start + n` of the run at `origin`: trees into level `level`, other folds into
    /// level zero.
    ///
    /// # Safety
    /// `origin` are the addresses of a run of the nest of at least `start + n` points, and the accumulators reach level
    /// `level` and as many more as halvings of `n` take.
    unsafe fn tree(
        &mut self,
        origin: &[*mut u8],
        level: usize,
        start: usize,
        n: usize,
        position: i64,
        accs: &mut Accs<'_>,
    ) {
        if self.is_final(accs) {
            return;
        }
        // SAFETY: the caller's points.
        unsafe {
            if n <= self.rows.leaf {
                self.leaf(origin, level, start, n, position, accs);
                return;
            }
            let left = self.rows.unit.split(n);
            self.tree(origin, level, start, left, position, accs);
            accs.reset_level(level + 1);
            self.tree(origin, level + 1, start + left, n - left, position, accs);
            accs.join_trees(level, level + 1);
        }
    }

    /// Folds points `start..start + n` of the run at `origin` at once: a leaf of the tree.
    ///
    /// # Safety
    /// As for `tree`.
    unsafe fn leaf(
        &mut self,
        origin: &[*mut u8],
        level: usize,
        start: usize,
        n: usize,
        position: i64,
        accs: &mut Accs<'_>,
    ) {
        let task = self.rows.task;
        if self.rows.direct.is_none() {
            // SAFETY: the caller's points; scratch holds a leaf.
            unsafe { self.evaluate(origin, start, n) };
        }
        for step in &task.schedule.steps {
            match step {
                Step::One(f) => {
                    let t = &task.schedule.targets[*f];
                    let into = if matches!(t.fold.order, Order::Tree(_)) { level } else { 0 };
                    let (src, (value, at)) = (self.values(origin, *f, start), accs.at(*f, into));
                    // SAFETY: the accumulator exists and the values are there.
                    unsafe { (t.fold.rows)(value, at, src, 0, 1, n, position + start as i64) };
                }
                Step::Together(together) => {
                    let levels = [level, 0, 0];
                    let one = together.places.iter().flatten().next().map_or(0, |f| *f);
                    let src = self.values(origin, one, start);
                    let [sum, min, max] = std::array::from_fn(|k| {
                        together.places[k].map_or(std::ptr::null_mut(), |f| accs.at(f, levels[k]).0)
                    });
                    // SAFETY: the accumulators exist and the values are there.
                    unsafe { (together.absorb)(sum, min, max, src, n) };
                }
            }
        }
    }

    /// The address of the values of fold `f` from point `start` of the run at `origin` on.
    fn values(&self, origin: &[*mut u8], f: usize, start: usize) -> *const u8 {
        let t = &self.rows.task.schedule.targets[f];
        match self.rows.direct {
            Some(args) => origin[args[f]].wrapping_add(start * element(t.fold.ty)),
            None => self.scratch[t.value].start(),
        }
    }

    /// Evaluates points `start..start + n` of the run at `origin` into scratch.
    ///
    /// # Safety
    /// `origin` are the addresses of a run of the nest of at least `start + n` points, and `n` fits the scratch.
    unsafe fn evaluate(&mut self, origin: &[*mut u8], start: usize, n: usize) {
        let task = self.rows.task;
        let nest = task.nest;
        let last = nest.rank() - 1;
        let inner = nest.extents[last] as usize;
        let room = self.writer.as_mut().map(|writer| writer.room(start..start + n));
        let mut done = 0;
        while done < n {
            let at = start + done;
            let column = at % inner;
            let (mut width, mut height) = ((inner - column).min(n - done), 1);
            let mut pointers: SmallVec<[*mut u8; 8]> = SmallVec::from_slice(origin);
            let mut rest = (at / inner) as i64;
            if last > self.rows.first {
                let rows = nest.extents[last - 1] as usize;
                if width == inner {
                    height = ((n - done) / inner).min(rows - rest as usize % rows);
                }
                for l in (self.rows.first..last).rev() {
                    advance(&mut pointers, nest.strides(l), rest % nest.extents[l]);
                    rest /= nest.extents[l];
                }
            } else {
                width = width.min(n - done);
            }
            advance(&mut pointers, nest.strides(last), column as i64);
            for t in &task.schedule.targets {
                pointers[t.arg] = self.scratch[t.value].as_ptr().wrapping_add(done * element(t.fold.ty));
            }
            if let (Some(delayed), Some((arg, room))) = (task.delayed, room) {
                pointers[arg] = room.wrapping_add(done * delayed.size);
            }
            // SAFETY: the rectangle lies inside the run, and its values inside scratch.
            unsafe { task.tile(&pointers, last, width, last.saturating_sub(1), height) };
            done += width * height;
        }
        if let Some(writer) = &mut self.writer {
            // SAFETY: the leaves of a chunk are evaluated in order.
            unsafe { writer.evaluated(start + n) };
        }
    }
}

impl Accs<'_> {
    /// Resets the first `levels` accumulators of every fold.
    fn reset_levels(&mut self, levels: usize) {
        self.reset(levels);
    }

    /// Resets one level of every fold.
    fn reset_level(&mut self, level: usize) {
        for f in 0..self.folds() {
            self.reset_one(f, level);
        }
    }

    /// Joins level `from` into level `into` for folds whose order is a tree; other folds stay in level zero.
    fn join_trees(&mut self, into: usize, from: usize) {
        for f in 0..self.folds() {
            if self.is_tree(f) {
                self.join(f, into, from);
            }
        }
    }

    /// Joins level `from` into level `into` for every fold.
    fn join_all_levels(&mut self, into: usize, from: usize) {
        for f in 0..self.folds() {
            self.join(f, into, from);
        }
    }
}
