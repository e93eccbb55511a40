//! The driver: what happens between a launch and the tiers.
//!
//! In: a kernel, a body that evaluates it, and the numbers of a launch. Out: memory written. The driver splits the
//! iteration space into tiles, shares them among threads, and folds reductions in NumPy's order, so that results do not
//! depend on threads, tiers or tile sizes. Not here: arithmetic.

mod accs;
mod bypass;
mod columns;
pub(crate) mod delayed;
mod elementwise;
mod nest;
pub(crate) mod pairwise;
pub(crate) mod price;
mod rows;
pub(crate) mod scattered;
pub(crate) mod stages;
pub(crate) mod values;

pub use price::Price;
use price::cost;

use crate::fold::{self, Order};
use crate::isa::Isa;
use crate::streams::{self, Stream};
use crate::threads::{Threads, Work};
use crate::tier0::{Rect, select_cast};
use crate::variants::LONGEST;
use accs::{Accs, FoldOutput};
use delayed::Delayed;
use nest::{MAX_LOOPS, Nest};
use numelt_codegen::Constants;
use numelt_codegen::{Body, Tile};
use numelt_ir::{DType, Error, Op, OpKind, Pieces, Result};
use numelt_opt::{ArgKind, Kernel, Near, Node, StrideClass};
use numelt_runtime::Launch;
use scattered::Scattered;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the driver knows about a kernel at compile time.
pub struct Schedule {
    targets: Vec<FoldOutput>,
    /// The random streams. The body loads their values from arguments behind the kernel's own.
    streams: Vec<Stream>,
    /// For each reduction, the argument whose elements are folded directly from memory, if all can be.
    direct: Option<Vec<usize>>,
    /// The folds of a run. Folds of one value are combined if possible.
    steps: Vec<values::Step>,
    /// Estimated picoseconds per point on one thread.
    pub cost: u64,
    /// If all results are those of `any` or `all`, and nothing is stored or could warn: for each of them, the truth
    /// value that further points do not change.
    settles: Option<Vec<bool>>,
    /// Whether the loads and stores include one whose innermost stride is not one element.
    strided: bool,
}

impl Schedule {
    /// Checks a kernel, and prepares the folds of the values that the tiers compute.
    pub fn new(kernel: &Kernel, lowered: &Kernel, streams: Vec<Stream>, isa: Isa) -> Result<Schedule> {
        check(kernel)?;
        check(lowered)?;
        let mut targets = Vec::with_capacity(kernel.reductions.len());
        let numbers = values::number(lowered);
        for ((r, low), &value) in kernel.reductions.iter().zip(&lowered.reductions).zip(&numbers) {
            let fold = if low.ty == r.ty { fold::select(r.op, r.ty, isa)? } else { fold::count(isa) };
            let dtype = kernel.args[r.arg as usize].dtype;
            let cast = if fold.out == dtype { None } else { Some(select_cast(fold.out, dtype, isa)?) };
            targets.push(FoldOutput { fold, arg: r.arg as usize, value, dtype, cast });
        }
        let loads = lowered.reductions.iter().map(|r| match lowered.body[r.value as usize] {
            // the loads behind the kernel's own are those of random streams
            Node::Load(arg) => Some(arg as usize).filter(|&arg| arg < kernel.args.len()),
            Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) | Node::Op(..) => None,
        });
        let direct = if kernel.stores.is_empty() { loads.collect::<Option<Vec<_>>>() } else { None };
        let strided = kernel.args.iter().any(|a| a.strides.last() == Some(&numelt_opt::StrideClass::Any));
        let (direct, settles) = (direct.filter(|d| !d.is_empty()), settles(lowered));
        let alike = |r: usize| kernel.reductions[r].ty == lowered.reductions[r].ty;
        let steps = values::steps(lowered, &targets, alike, isa);
        Ok(Schedule { targets, streams, direct, steps, cost: cost(kernel), settles, strided })
    }
}

/// The truth values that settle the results of `any` and `all`, if the kernel has no other results and skipping points
/// has no visible effect.
fn settles(kernel: &Kernel) -> Option<Vec<bool>> {
    let quiet = |node: &Node| match node {
        Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } => true,
        Node::Cast(_, value) => {
            let from = kernel.dtype_of(*value);
            !from.is_float() && !from.is_complex()
        }
        Node::Op(op, ty, _) => op.raises(*ty) == 0,
    };
    if !kernel.stores.is_empty() || kernel.reductions.is_empty() || !kernel.body.iter().all(quiet) {
        return None;
    }
    kernel
        .reductions
        .iter()
        .map(|r| match r.op {
            Op::Any => Some(true),
            Op::All => Some(false),
            _ => None,
        })
        .collect()
}

/// Checks those invariants of the kernel form on which memory safety depends.
fn check(kernel: &Kernel) -> Result<()> {
    let rank = kernel.rank();
    let bad = |what: &str| Err(Error::Invalid(format!("kernel: {what}")));
    if rank == 0 || kernel.args.iter().any(|a| a.strides.len() != rank) {
        return bad("arguments and loops differ in rank");
    }
    let kind = |arg: u32, kind: ArgKind| kernel.args.get(arg as usize).is_some_and(|a| a.kind == kind);
    for (i, arg) in kernel.args.iter().enumerate() {
        let first =
            |n: Near| (n.arg as usize) < i && kind(n.arg, ArgKind::Load) && kernel.args[n.arg as usize].near.is_none();
        if arg.near.is_some_and(|n| arg.kind != ArgKind::Load || !first(n)) {
            return bad("a neighbour of something that is no load");
        }
    }
    for (i, node) in kernel.body.iter().enumerate() {
        let earlier = |v: &u32| (*v as usize) < i;
        let good = match node {
            Node::Load(arg) => kind(*arg, ArgKind::Load),
            Node::Index(arg) => kind(*arg, ArgKind::Index),
            Node::Param(p) => (*p as usize) < kernel.params.len(),
            Node::Gather { arg, last, step, index } => {
                let fixed = |a: &u32| {
                    kind(*a, ArgKind::Index) && kernel.args[*a as usize].strides.iter().all(|s| *s == StrideClass::Zero)
                };
                kind(*arg, ArgKind::Gather)
                    && fixed(last)
                    && fixed(step)
                    && earlier(index)
                    && kernel.dtype_of(*index) == DType::U64
            }
            Node::Cast(_, v) => earlier(v),
            Node::Op(op, ty, ins) => {
                ins.len() == op.arity()
                    && ins.iter().all(earlier)
                    && ins.iter().enumerate().all(|(k, v)| kernel.dtype_of(*v) == op.input_dtype(*ty, k))
            }
        };
        if !good {
            return bad("a value with a wrong operand");
        }
    }
    let value = |v: u32| (v as usize) < kernel.body.len();
    for s in &kernel.stores {
        if !value(s.value)
            || !kind(s.arg, ArgKind::Store)
            || kernel.dtype_of(s.value) != kernel.args[s.arg as usize].dtype
        {
            return bad("a store of a wrong value");
        }
    }
    for r in &kernel.reductions {
        if !value(r.value)
            || !kind(r.arg, ArgKind::Reduced)
            || kernel.dtype_of(r.value) != r.ty
            || r.op.kind() != OpKind::Reduction
        {
            return bad("a reduction of a wrong value");
        }
    }
    if kernel.reductions.is_empty() == kernel.reduced.contains(&true) {
        return bad("reductions and reduced loops disagree");
    }
    Ok(())
}

/// A launch in progress, shared by its threads.
struct Task<'a> {
    schedule: &'a Schedule,
    body: &'a dyn Body,
    price: &'a Price,
    /// The measured nanoseconds on one thread.
    spent: AtomicU64,
    /// Whether results bypass the caches.
    bypass: bool,
    nest: &'a Nest,
    pointers: &'a [*mut u8],
    params: &'a [[u8; 16]],
    threads: &'a Threads,
    /// The loops of the tiles, innermost last. They are known after the first tile.
    loops: &'a Loops,
    /// The element size of each argument as the tiles see it.
    sizes: SmallVec<[usize; 8]>,
    /// How runs of floating-point sums are cut.
    pieces: Pieces,
    /// The delayed store, whose old values other points load.
    delayed: Option<&'a Delayed>,
    /// The stores whose values are scattered.
    scattered: Option<&'a Scattered>,
}

// SAFETY: the addresses are only used for elements that no other thread of the launch touches in conflict
// (each point is evaluated once), and the body is `Sync`.
unsafe impl Sync for Task<'_> {}

/// The loops of which tiles consist, known after the first tile: the innermost and the one outside it.
#[derive(Default)]
struct Loops(AtomicU32);

impl Loops {
    fn set(&self, inner: usize, outer: usize) {
        if self.0.load(Ordering::Relaxed) == 0 {
            self.0.store(1 + (inner as u32) * MAX_LOOPS as u32 + outer as u32, Ordering::Relaxed);
        }
    }

    fn get(&self) -> Option<(usize, usize)> {
        let found = self.0.load(Ordering::Relaxed).checked_sub(1)? as usize;
        Some((found / MAX_LOOPS, found % MAX_LOOPS))
    }
}

/// Launches that take fewer nanoseconds do not report the numbers of their tiles, because that would cost more than a
/// variant gains.
const WATCHED: u64 = 4000;

/// What a launch did.
pub struct Launched {
    /// Points evaluated.
    pub points: u64,
    /// The nanoseconds on one thread, or zero if they were not measured.
    pub nanoseconds: u64,
    /// The numbers of its tiles, if a variant for them could gain.
    pub numbers: Option<Constants>,
}

impl Schedule {
    /// The numbers of tiles along two loops of a nest, if their rows are short.
    fn numbers(&self, nest: &Nest, loops: &Loops) -> Option<Constants> {
        let (inner, outer) = loops.get()?;
        let points = nest.extents[inner];
        if inner == outer || !(2..=LONGEST).contains(&points) || !self.streams.is_empty() {
            return None;
        }
        let strides = |l: usize| SmallVec::from_slice(nest.strides(l));
        let mut numbers = Constants { inner: points, inner_strides: strides(inner), outer_strides: strides(outer) };
        for t in &self.targets {
            let size = t.fold.ty.size() as i64;
            numbers.inner_strides[t.arg] = size;
            numbers.outer_strides[t.arg] = size * points;
        }
        Some(numbers)
    }
}

/// Parameters in the form in which the tiles read them.
#[repr(align(16))]
struct Aligned<const N: usize>([[u8; 16]; N]);

/// Runs a kernel. If `watch` is set, the result has the numbers of its tiles.
///
/// # Safety
/// The launch's addresses are as [`Launch`] promises, and `body` evaluates `kernel`. No other point loads what a store
/// overwrites, except for the delayed store within its delay.
pub unsafe fn launch(
    kernel: &Kernel,
    schedule: &Schedule,
    (body, price): (&dyn Body, &Price),
    launch: &Launch<'_>,
    delayed: Option<&Delayed>,
    threads: &Threads,
    watch: bool,
) -> Result<Launched> {
    let nest = Nest::new(kernel, launch.geometry)?;
    let inputs = Inputs::new(kernel, launch, &nest)?;
    let mut task = inputs.task(schedule, (body, price), &nest, threads);
    task.delayed = delayed;
    task.bypass = delayed.is_none() && bypass::pays(kernel, &nest, task.pointers);
    // SAFETY: the caller's contract.
    unsafe { task.run() };
    if let Some(delayed) = delayed {
        // SAFETY: the caller's contract; every point has been evaluated.
        unsafe { delayed.finish(&task) };
    }
    let (points, nanoseconds) = (nest.points() as u64, task.spent.into_inner());
    price.learn(points, nanoseconds);
    let numbers = if watch && delayed.is_none() && nest.wraps.is_empty() && price.of(points) >= WATCHED {
        schedule.numbers(&nest, &inputs.loops)
    } else {
        None
    };
    Ok(Launched { points, nanoseconds, numbers })
}

/// Evaluates every point of a kernel once on a body that stores nothing.
///
/// # Safety
/// As for [`launch`], except that `Store` and `Reduced` arguments are not touched.
pub unsafe fn visit(
    kernel: &Kernel,
    schedule: &Schedule,
    tier: (&dyn Body, &Price),
    launch: &Launch<'_>,
    threads: &Threads,
) -> Result<()> {
    let nest = Nest::new(kernel, launch.geometry)?;
    let inputs = Inputs::new(kernel, launch, &nest)?;
    if nest.points() > 0 {
        // SAFETY: the caller's contract; an elementwise run reaches every point, and scratch is not used.
        unsafe { elementwise::run(&inputs.task(schedule, tier, &nest, threads)) };
    }
    Ok(())
}

/// The operands of a launch in the form that tasks use.
struct Inputs {
    /// The address of each argument, including counters; for an index argument, its first value.
    pointers: SmallVec<[*mut u8; 8]>,
    sizes: SmallVec<[usize; 8]>,
    few: Aligned<8>,
    many: Vec<Aligned<1>>,
    count: usize,
    pieces: Pieces,
    loops: Loops,
}

// SAFETY: the addresses are only used as `Task` uses them.
unsafe impl Sync for Inputs {}

impl Inputs {
    fn new(kernel: &Kernel, launch: &Launch<'_>, nest: &Nest) -> Result<Inputs> {
        if launch.buffers.len() != kernel.args.len()
            || launch.geometry.args.len() != kernel.args.len()
            || launch.params.len() != kernel.params.len()
        {
            return Err(Error::Invalid("a launch with a wrong number of operands".into()));
        }
        if launch.params.iter().zip(&kernel.params).any(|(p, d)| p.dtype() != *d) {
            return Err(Error::Invalid("a launch with a parameter of a wrong dtype".into()));
        }
        let mut pointers: SmallVec<[*mut u8; 8]> = launch.buffers.iter().map(|buffer| buffer.address()).collect();
        for (i, arg) in kernel.args.iter().enumerate() {
            if arg.kind == ArgKind::Index {
                pointers[i] = launch.geometry.args[i].offset as usize as *mut u8;
            }
        }
        for (i, arg) in kernel.args.iter().enumerate() {
            // compiled code addresses a neighbour relative to the other argument
            let there = |n: Near| {
                let bytes = i64::from(n.elements) * arg.dtype.size() as i64;
                pointers[n.arg as usize].addr() as i64 + bytes == pointers[i].addr() as i64
                    && launch.geometry.args[n.arg as usize].strides == launch.geometry.args[i].strides
            };
            if arg.near.is_some_and(|n| !there(n)) {
                return Err(Error::Invalid("a launch with a neighbour that lies elsewhere".into()));
            }
        }
        pointers.resize(nest.args, std::ptr::null_mut());
        let sizes = kernel.args.iter().map(|a| a.dtype.size()).collect();
        let mut inputs = Inputs {
            pointers,
            sizes,
            few: Aligned([[0; 16]; 8]),
            many: Vec::new(),
            count: launch.params.len(),
            pieces: launch.geometry.pieces,
            loops: Loops::default(),
        };
        if inputs.count <= inputs.few.0.len() {
            for (slot, p) in inputs.few.0.iter_mut().zip(launch.params) {
                *slot = p.to_bytes();
            }
        } else {
            inputs.many.extend(launch.params.iter().map(|p| Aligned([p.to_bytes()])));
        }
        Ok(inputs)
    }

    /// The task of evaluating `nest` with these operands.
    fn task<'a>(
        &'a self,
        schedule: &'a Schedule,
        (body, price): (&'a dyn Body, &'a Price),
        nest: &'a Nest,
        threads: &'a Threads,
    ) -> Task<'a> {
        let (pointers, params, sizes) = (&self.pointers[..], self.params(), self.sizes.clone());
        let (spent, bypass, pieces, loops) = (AtomicU64::new(0), false, self.pieces, &self.loops);
        let (delayed, scattered) = (None, None);
        Task {
            schedule,
            body,
            price,
            spent,
            bypass,
            nest,
            pointers,
            params,
            threads,
            loops,
            sizes,
            pieces,
            delayed,
            scattered,
        }
    }

    /// The literals, 16 bytes each.
    fn params(&self) -> &[[u8; 16]] {
        if self.many.is_empty() {
            return &self.few.0;
        }
        // SAFETY: `Aligned<1>` is exactly 16 bytes, so its vector is a slice of 16-byte arrays.
        unsafe { std::slice::from_raw_parts(self.many.as_ptr().cast(), self.count) }
    }
}

impl Task<'_> {
    /// Evaluates every point and stores every result.
    ///
    /// # Safety
    /// The contract of [`launch`].
    unsafe fn run(&self) {
        let (nest, points) = (self.nest, self.nest.points());
        // SAFETY: the caller's contract.
        unsafe {
            if self.schedule.targets.is_empty() {
                if points > 0 {
                    elementwise::run(self);
                }
            } else if nest.count(false) > 0 {
                if points == 0 {
                    self.store_identities();
                } else if *nest.reduced.last().unwrap_or(&true) {
                    rows::run(self);
                } else {
                    columns::run(self);
                }
            }
        }
    }
}

impl Task<'_> {
    /// Address of every argument at a multi-index.
    fn origin(&self, index: &[i64]) -> SmallVec<[*mut u8; 8]> {
        let mut out: SmallVec<[*mut u8; 8]> = SmallVec::from_slice(self.pointers);
        for (l, &i) in index.iter().enumerate() {
            if i != 0 {
                advance(&mut out, self.nest.strides(l), i);
            }
        }
        out
    }

    /// Evaluates a tile whose first point is at `pointers`: `inner` points along loop `l`, and `outer` rows along loop
    /// `o`.
    ///
    /// # Safety
    /// The tile lies inside the iteration space. The pointers of `Reduced`, delayed and scattered arguments are scratch
    /// memory of sufficient size.
    unsafe fn tile(&self, pointers: &[*mut u8], l: usize, inner: usize, o: usize, outer: usize) {
        self.loops.set(l, o);
        let mut inner_strides: SmallVec<[i64; 8]> = SmallVec::from_slice(self.nest.strides(l));
        let mut outer_strides: SmallVec<[i64; 8]> = SmallVec::from_slice(self.nest.strides(o));
        for t in &self.schedule.targets {
            let size = t.fold.ty.size() as i64;
            inner_strides[t.arg] = size;
            outer_strides[t.arg] = size * inner as i64;
        }
        if let Some(delayed) = self.delayed {
            inner_strides[delayed.arg] = delayed.size as i64;
            outer_strides[delayed.arg] = (delayed.size * inner) as i64;
        }
        for &(arg, size) in self.scattered.iter().flat_map(|scattered| &scattered.rooms) {
            inner_strides[arg] = size as i64;
            outer_strides[arg] = (size * inner) as i64;
        }
        let strides = (&inner_strides[..], &outer_strides[..]);
        if self.nest.wraps.is_empty() {
            // SAFETY: the caller's contract.
            return unsafe { self.rectangle(pointers, strides, inner, outer) };
        }
        let rows = if o == l { SmallVec::from_elem(outer, 1) } else { self.nest.stretches(pointers, o, outer) };
        let columns = self.nest.stretches(pointers, l, inner);
        let mut row = 0;
        for &bottom in &rows {
            let mut column = 0;
            for &right in &columns {
                let mut own: SmallVec<[*mut u8; 8]> = SmallVec::from_slice(pointers);
                advance(&mut own, strides.1, row as i64);
                advance(&mut own, strides.0, column as i64);
                self.nest.wraps.iter().for_each(|wrap| wrap.apply(&mut own));
                // SAFETY: a part of the tile, in which the addresses of all arguments move by their strides.
                unsafe { self.rectangle(&own, strides, right - column, bottom - row) };
                column = right;
            }
            row = bottom;
        }
    }

    /// Evaluates a rectangle of points with these strides.
    ///
    /// # Safety
    /// As for [`Task::tile`]; no argument wraps inside the rectangle.
    unsafe fn rectangle(&self, pointers: &[*mut u8], strides: (&[i64], &[i64]), inner: usize, outer: usize) {
        let args = self.sizes.len();
        let (inner_strides, outer_strides) = (&strides.0[..args], &strides.1[..args]);
        let pointers = &pointers[..args];
        if !self.schedule.streams.is_empty() {
            let operands = streams::Operands { pointers, inner_strides, outer_strides, params: self.params };
            // SAFETY: the caller's contract.
            unsafe { streams::run(&self.schedule.streams, self.body, &operands, inner, outer) };
            return;
        }
        let tile = Tile {
            pointers: pointers.as_ptr(),
            inner_strides: inner_strides.as_ptr(),
            outer_strides: outer_strides.as_ptr(),
            params: self.params.as_ptr(),
            inner: inner as i64,
            outer: outer as i64,
            bypass: i64::from(self.bypass),
        };
        // SAFETY: the caller's contract.
        unsafe { self.body.run(&tile) }
    }

    /// Estimated nanoseconds of the launch on one thread.
    fn work(&self) -> u64 {
        self.price.of(self.nest.points() as u64)
    }

    /// Shares `units`, which take `work` nanoseconds, among threads.
    fn parallel(&self, units: usize, work: u64, f: Work<'_>) {
        self.parallel_chunks(units, 1, work, f);
    }

    /// The same, in chunks of at least `least` units if that leaves a chunk for each thread.
    fn parallel_chunks(&self, units: usize, least: usize, work: u64, f: Work<'_>) {
        let nanoseconds = self.threads.parallel_chunks(units, least, work, f);
        if nanoseconds > 0 {
            self.spent.fetch_add(nanoseconds, Ordering::Relaxed);
        }
    }

    /// The arguments that are folded directly from memory, if the innermost loop's strides allow it.
    fn direct(&self) -> Option<&[usize]> {
        let last = self.nest.rank() - 1;
        let direct = self.schedule.direct.as_deref().filter(|_| self.nest.wraps.is_empty())?;
        direct.iter().all(|&a| self.nest.strides(last)[a] == self.sizes[a] as i64).then_some(direct)
    }

    /// Stores the value of an empty reduction into every kept element.
    ///
    /// # Safety
    /// The launch's contract.
    unsafe fn store_identities(&self) {
        let kept: SmallVec<[usize; 8]> = (0..self.nest.rank()).filter(|&l| !self.nest.reduced[l]).collect();
        let mut accs = Accs::new(&self.schedule.targets, 1);
        for unit in 0..self.nest.count(false) as usize {
            let pointers = self.origin(&self.decode(unit, &kept));
            for (f, t) in self.schedule.targets.iter().enumerate() {
                let rect = Rect { base: pointers[t.arg], inner_stride: 0, outer_stride: 0, inner: 1, rows: 1 };
                // SAFETY: a kept element of the result.
                unsafe { accs.finish(f, 0, rect) };
            }
        }
    }

    /// The multi-index of the `n`-th combination of some loops (ascending; the last runs fastest); the
    /// others are zero.
    fn decode(&self, n: usize, loops: &[usize]) -> SmallVec<[i64; 8]> {
        let mut index = SmallVec::from_elem(0, self.nest.rank());
        let mut rest = n as i64;
        for &l in loops.iter().rev() {
            let extent = self.nest.extents[l];
            index[l] = rest % extent;
            rest /= extent;
        }
        index
    }

    /// Whether some reduction must be computed element by element.
    fn sequential(&self) -> bool {
        self.schedule.targets.iter().any(|t| matches!(t.fold.order, Order::Sequential | Order::Runs))
    }
}

/// Moves every address by `n` steps.
fn advance(pointers: &mut [*mut u8], strides: &[i64], n: i64) {
    for (p, s) in pointers.iter_mut().zip(strides) {
        *p = p.wrapping_offset(s.wrapping_mul(n) as isize);
    }
}

/// The bytes of the elements that a reduction folds.
fn element(dtype: DType) -> usize {
    dtype.size()
}
