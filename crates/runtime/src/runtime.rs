//! [`Runtime`]: one queue, one lock, one host engine and its devices.
//!
//! Recording appends to the batch under the lock. A flush takes the batch, finds or makes its plan, and runs it, still
//! under the lock: other threads that record meanwhile wait, so every thread sees the results of one serial order. The
//! runtime never calls back into a front end.

mod aside;
mod engines;
mod extending;
mod filtering;
mod flushing;
pub mod fork;
mod gate;
mod homes;
mod hosting;
mod inspection;
mod planning;
mod reading;
mod recording;
mod repeat;
mod routines;
mod sharing;

use self::aside::ALONE;
use self::engines::{Held, configure_pool, numbered, physical_memory};
pub use self::filtering::Filtering;
use self::filtering::Filters;
use self::flushing::Taken;
pub use self::gate::Away;
use self::gate::{Gate, Inside};
use self::hosting::Hosting;
pub use self::routines::Solved;
pub use self::sharing::SharedDevice;
use crate::at_once::Chains;
use crate::batch::{Batch, Retry};
use crate::cache::Caches;
use crate::config::Config;
use crate::engine::Task;
use crate::engine_set::EngineSet;
use crate::exec::{ExecutionContext, ReadyPlan, Stopped};
use crate::heap::base::{ArrayView, BaseRef};
use crate::heap::cell::BaseCell;
use crate::heap::copies::Device;
use crate::heap::shared::Shared;
use crate::heap::{Heap, IDLE, lost};
use crate::host::Host;
use crate::journal::Journal;
use crate::piecemeal::{Piecemeal, Sightings};
use crate::placement::{Placement, Rates, Rule};
use crate::progress::Progress;
use crate::put_off::PutOff;
use crate::report::Warning;
use crate::sequels::Sequels;
use crate::siblings;
use crate::stats::{FlushReport, Reason, Stats};
use numelt_ir::{DType, Dims, Instr, Op, Result, Scalar, new_strides};
use numelt_opt::{Options, Target};
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::Instant;

/// Records, plans and runs operations; see the module's documentation.
pub struct Runtime {
    heap: Arc<Heap>,
    state: Arc<Inner>,
    host: Hosting,
    /// How far the running plan has come; readable without the lock.
    progress: Arc<Progress>,
    /// The element-operations in the batch; readable without the lock.
    work: AtomicU64,
    /// Whether there are warnings to take; readable without the lock.
    warned: AtomicBool,
    /// Whether operations on few elements run at once; readable without the lock.
    at_once: AtomicBool,
    /// Whether there are filters; readable without the lock.
    filtered: AtomicBool,
    /// How many calls of extension methods have not run; readable without the lock.
    calls: AtomicUsize,
    /// Whether there are devices whose memory others can use; readable without the lock.
    sharing: AtomicBool,
    /// Whether a device has numerical routines.
    routines: AtomicBool,
}

/// The state of a runtime that one thread at a time uses.
pub(crate) type Inner = Gate<State>;

pub(crate) struct State {
    heap: Arc<Heap>,
    /// The engine that computes in host memory.
    engine: Arc<dyn Host>,
    /// Engines with memory of their own.
    devices: Vec<Arc<Device>>,
    placement: Placement,
    config: Config,
    /// Boxed, like `spare`, so that exchanging the two moves only pointers.
    batch: Box<Batch>,
    /// The batch that ran last, emptied, so that its memory is used again. `None` while it runs.
    spare: Option<Box<Batch>>,
    /// Unused cells, for the bases of new arrays.
    cells: Vec<Shared<BaseCell>>,
    caches: Caches,
    sequels: Sequels,
    sightings: Sightings,
    put_off: PutOff,
    /// The plan that ran last.
    last: Option<Arc<ReadyPlan>>,
    stats: Stats,
    /// The engine's counts of variants when the totals were last reset.
    variants: [u64; 2],
    /// How many steps had been placed on devices when the totals were last reset.
    placed: [u64; 2],
    journal: Journal,
    progress: Arc<Progress>,
    /// The bytes moved to devices and back when the latest plan began to run.
    moved: [u64; 2],
    inspector: Option<Vec<FlushReport>>,
    warnings: Vec<Warning>,
    filters: Filters,
    /// The thread that runs a call of an extension method.
    caller: Option<ThreadId>,
    chains: Chains,
    /// How many more batches are recorded as a whole, because somebody has requested an explanation.
    explained: u32,
    /// Pending work runs when it alone keeps more than this many bytes alive.
    held_budget: u64,
}

/// After an explanation, everything is recorded for this many batches, because another explanation is likely to be
/// requested.
const WATCHED: u32 = 256;

static GLOBAL: OnceLock<Runtime> = OnceLock::new();

impl Runtime {
    /// A runtime with its own queue, memory and engines. Bases belong to the runtime that made them.
    pub fn new(engines: impl Into<EngineSet>, config: Config) -> Runtime {
        let EngineSet { host: engine, devices, rule } = engines.into();
        let host = Hosting::new(Arc::clone(&engine));
        let heap = Heap::new();
        configure_pool(&heap, &config);
        let epoch = heap.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        let Target { at_once, planning, .. } = *engine.target();
        let progress = Arc::new(Progress::default());
        let state = State {
            heap: Arc::clone(&heap),
            engine,
            placement: Placement::new(rule, devices.len(), &config),
            devices: numbered(devices),
            batch: Box::new(Batch::new(&heap, epoch)),
            spare: None,
            cells: Vec::new(),
            caches: Caches::default(),
            sequels: Sequels::default(),
            sightings: Sightings::new(planning),
            put_off: PutOff::default(),
            last: None,
            stats: Stats::default(),
            variants: [0; 2],
            placed: [0; 2],
            journal: Journal::default(),
            progress: Arc::clone(&progress),
            moved: [0; 2],
            inspector: None,
            warnings: Vec::new(),
            filters: Filters::default(),
            caller: None,
            chains: Chains::new(at_once),
            explained: 0,
            held_budget: (physical_memory() / 16) as u64,
            config,
        };
        let [warned, filtered, sharing, routines] = [false; 4].map(AtomicBool::new);
        let (calls, work) = (AtomicUsize::new(0), AtomicU64::new(0));
        let at_once = AtomicBool::new(state.runs_at_once());
        let state = Arc::new(Gate::new(state));
        fork::enter(&state, &heap);
        let runtime =
            Runtime { heap, state, host, progress, work, warned, at_once, filtered, calls, sharing, routines };
        runtime.note_devices(&runtime.lock());
        runtime
    }

    /// Makes the process's runtime; false if there is one already.
    pub fn init(engines: EngineSet, config: Config) -> bool {
        let mut made = false;
        GLOBAL.get_or_init(|| {
            made = true;
            Runtime::new(engines, config)
        });
        made
    }

    /// The process's runtime.
    ///
    /// # Panics
    /// Before [`Runtime::init`].
    pub fn global() -> &'static Runtime {
        GLOBAL.get().expect("the runtime is initialised when the front end loads")
    }

    fn lock(&self) -> Inside<'_, State> {
        self.state.lock()
    }

    /// A base of `nbytes` bytes. It gets memory when something is written to it or read from it.
    pub fn new_base(&self, nbytes: usize) -> BaseRef {
        BaseRef::new(&self.heap, nbytes)
    }

    /// Memory of another owner as a base. With `shared`, that owner can still use it, and work on it runs at once.
    ///
    /// # Safety
    /// `ptr..ptr + nbytes` stays valid for reads (and for writes, if anything is recorded that writes)
    /// until `owner` is dropped, which may happen on any thread.
    pub unsafe fn adopt(
        &self,
        ptr: *mut u8,
        nbytes: usize,
        owner: Box<dyn Any + Send + Sync>,
        shared: bool,
    ) -> BaseRef {
        BaseRef::foreign(&self.heap, ptr, nbytes, owner, shared)
    }

    /// A base that already holds these bytes.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    pub fn filled(&self, bytes: &[u8]) -> Result<BaseRef> {
        BaseRef::filled(&self.heap, bytes)
    }

    /// Whether the engine supports this operation.
    pub fn supports(&self, op: Op, ty: DType) -> bool {
        self.lock().engine.supports(&Task::Call(op, ty))
    }

    /// The value of a full reduction of a view in its present state, if an earlier batch has computed it too. It is
    /// to be requested before the reduction is recorded. A value answers one request for a scalar, and one for an
    /// array. No value is kept whose computation could warn.
    pub fn kept(&self, op: Op, view: &ArrayView, array: bool) -> Option<Scalar> {
        if self.has_filters() { None } else { siblings::take(op, view, array) }
    }

    /// States, until it is dropped, that this thread calls the runtime without the front end's lock; see
    /// [`Runtime::record_past`]. It must be made and dropped while that lock is held.
    pub fn away(&self) -> Away<'_> {
        self.state.away()
    }

    /// Whether operations on few elements run at once, which includes that nobody inspects recorded operations.
    #[inline]
    pub fn runs_at_once(&self) -> bool {
        self.at_once.load(Ordering::Relaxed)
    }

    /// Updates [`Runtime::runs_at_once`]; called when its answer may have changed.
    fn note_at_once(&self, state: &State) {
        self.at_once.store(state.runs_at_once(), Ordering::Relaxed);
    }

    /// The pending element-operations.
    pub fn pending_work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// Whether the next call may have to wait for another thread: for its flush, or for a guard that it has or could
    /// get without the front end's lock. A front end then releases that lock before it calls, because the other
    /// thread may need it to end its guard.
    pub fn may_wait(&self) -> bool {
        self.heap.running.load(Ordering::Relaxed) != IDLE || self.state.is_anybody_away() || self.heap.guards.any()
    }

    /// Runs everything pending.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`] if a buffer could not be allocated even after cached ones have been freed.
    /// Arrays that could not be computed then raise an error when they are read. [`numelt_ir::Error::Busy`] if this
    /// thread has a guard of a base that the work would write, or a [`WriteGuard`](crate::WriteGuard) of one that it
    /// reads: everything stays pending then. For guards of other threads, the flush waits.
    pub fn flush(&self, reason: Reason) -> Result<()> {
        let retry = match reason {
            Reason::Explicit | Reason::Exit => Retry::All,
            _ => Retry::No,
        };
        self.flush_with_retry(reason, retry)
    }

    fn flush_with_retry(&self, reason: Reason, retry: Retry<'_>) -> Result<()> {
        if reason == Reason::Warned {
            return Ok(());
        }
        if self.calls.load(Ordering::Relaxed) > 0 {
            return self.flush_with_calls(reason, retry);
        }
        let mut state = self.lock_unblocked()?;
        let result = state.flush(reason, retry);
        self.note_flush(&state);
        result
    }

    /// Updates what is readable without the lock; called after a flush.
    fn note_flush(&self, state: &State) {
        self.note_at_once(state);
        self.work.store(state.batch.work, Ordering::Relaxed);
        self.warned.store(!state.warnings.is_empty(), Ordering::Release);
    }

    /// Takes the warnings of past flushes, oldest first.
    pub fn take_warnings(&self) -> Vec<Warning> {
        if !self.warned.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.warned.store(false, Ordering::Release);
        std::mem::take(&mut self.lock().warnings)
    }

    /// Tells the runtime, by a number of the front end, the position at which the program recorded the instruction
    /// that [`Runtime::requested_position`] asks for. Warnings return this number.
    pub fn set_position(&self, requested: u32, position: u32) {
        let mut state = self.lock();
        if requested == ALONE {
            let awaited = state.warnings.iter_mut().filter(|warning| warning.place == Warning::AWAITED);
            awaited.for_each(|warning| warning.place = position);
        } else if requested as usize <= state.batch.len() {
            state.batch.set_position(requested, position);
        }
    }

    /// The conditions that operations recorded from now on report (see [`numelt_ir::warn`]). A front end whose
    /// settings differ between threads sets them before it records.
    #[inline]
    pub fn watch(&self) -> &AtomicU8 {
        &self.heap.watch
    }

    /// One more than the number of the instruction recorded last, if the front end must tell its position by
    /// [`Runtime::set_position`]; zero otherwise.
    #[inline]
    pub fn requested_position(&self) -> &AtomicU32 {
        &self.heap.requested_position
    }

    /// Whether running what is pending could cause a warning.
    pub fn may_warn(&self) -> bool {
        self.pending_work() > 0 && self.lock().batch.program().instrs.iter().any(Instr::may_warn)
    }

    /// The settings in force.
    pub fn config(&self) -> Config {
        self.lock().config.clone()
    }

    /// Makes [`Rule::Cost`] use these rates, the host's first and then the devices', instead of measured ones.
    pub fn use_rates(&self, rates: &[Rates]) {
        self.lock().placement.use_rates(rates);
    }

    /// Returns cached buffers to the system.
    pub fn trim(&self) {
        self.heap.pool.trim(0);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.heap.end();
    }
}

impl State {
    /// The options of plans for batches with this home, zero for none.
    fn options(&self, home: u8) -> Options {
        let Config { fuse, passes, .. } = self.config;
        let target_of = |device: &Arc<Device>| *device.engine.target();
        let target = match (self.device_at(home), self.placement.rule) {
            (Some(number), _) => self.devices.get(number).map(target_of),
            (None, Rule::Always(_) | Rule::Random(_)) => self.devices.first().map(target_of),
            (None, Rule::Host | Rule::Cost) => None,
        };
        let target = target.unwrap_or_else(|| *self.engine.target());
        Options { fuse, passes, target, ..Options::default() }
    }

    /// Whether somebody inspects recorded operations, or is likely to.
    fn is_watched(&self) -> bool {
        self.inspector.is_some() || self.config.trace || self.explained > 0 || self.filters.any()
    }

    /// Whether operations on few elements run at once.
    #[inline]
    fn runs_at_once(&self) -> bool {
        self.config.at_once > 0 && self.placement.allows_shortcuts() && !self.is_watched()
    }

    /// Whether a batch has as many instructions as it may have.
    fn is_too_long(&self, batch: &Batch) -> bool {
        batch.len() - batch.remaining() >= self.config.max_pending || batch.is_full()
    }

    fn flush(&mut self, reason: Reason, retry: Retry<'_>) -> Result<()> {
        self.flush_as(reason, retry, None)
    }

    /// Computes the values that may not be put off beyond this batch.
    fn make_due(&mut self) {
        for cell in self.put_off.due(self.batch.epoch) {
            if !self.joins(&cell) {
                self.make_or_record(&cell);
            }
        }
    }

    /// Runs the batch, or the program that a front end's filters have made of it.
    fn flush_as(&mut self, reason: Reason, retry: Retry<'_>, given: Option<Filtering>) -> Result<()> {
        let call = self.batch.first_call();
        if self.batch.is_empty() || call == Some(0) || matches!(retry, Retry::No) && !self.batch.has_new() {
            return Ok(());
        }
        let start = Instant::now();
        if reason == Reason::Read {
            self.explained = self.explained.saturating_sub(1);
        }
        self.make_due();
        let _running = self.heap.runs(self.batch.epoch);
        let mut taken = self.take_batch(reason, retry, call);
        // the batch as it was recorded, if another one runs in its place
        let mut recorded = None;
        if self.filters.any()
            && let Some(filtered) = self.filtered(&mut taken.batch, given)
        {
            recorded = Some(std::mem::replace(&mut taken.batch, filtered));
        }
        let before = self.warnings.len();
        let anchored = self.heap.refresh(&taken.batch.slots);
        let result = self.run_taken(&mut taken, reason, start);
        let result = anchored.iter().fold(result, |result, cell| result.and(cell.settle()));
        let Taken { mut batch, given_up, companions, .. } = taken;
        if let (Ok(()), Some(companions)) = (&result, companions) {
            companions.keep(&batch);
        }
        if self.warnings.len() > before {
            recorded.as_deref().unwrap_or(&batch).locate(&mut self.warnings[before..]);
        }
        self.batch.lose(&given_up);
        // dead bases free their memory here
        batch.restart(0, &mut self.cells);
        self.heap.held.store(self.batch.held(), Ordering::Relaxed);
        self.spare = Some(batch);
        result
    }

    /// Runs a batch operation by operation. Operations that get no memory are put at the head of the queue.
    fn run_piecemeal(&mut self, batch: &mut Batch) -> Result<()> {
        let (result, left) = self.piecemeal(batch);
        if !left.is_empty() {
            let (program, slots) = batch.program_and_slots();
            let instrs = left.iter().map(|&at| program.instrs[at as usize].clone()).collect();
            self.batch.put_first(instrs, &program.consts, slots, true);
        }
        result
    }

    /// Runs a batch operation by operation; also returns the numbers of those that got no memory.
    fn piecemeal(&mut self, batch: &mut Batch) -> (Result<()>, Vec<u32>) {
        self.stats.piecemeal += 1;
        let (program, slots) = batch.program_and_slots();
        let (engine, caches, stats) = (&*self.engine, &mut self.caches, &mut self.stats);
        let (warnings, temporary, left) = (&mut self.warnings, None, Vec::new());
        let mut piecemeal = Piecemeal { engine, caches, stats, warnings, program, slots, temporary, left };
        (piecemeal.run(), piecemeal.left)
    }

    /// Prepares for the batches that are likely to follow this plan's.
    fn expect_successors(&mut self, plan: Arc<ReadyPlan>) {
        // a batch that follows a plan does not look at the homes of its arrays
        if !self.config.plan_cache || self.heap.homes.any() {
            return;
        }
        self.caches.used(&plan);
        if let Some(last) = &self.last {
            last.followed_by(&plan);
        }
        // the rest that a cut has left is not a new batch
        if self.batch.is_empty() {
            self.batch.expect(plan.successors());
        }
        self.last = Some(plan);
    }

    fn run(&mut self, plan: &ReadyPlan, batch: &Batch) -> std::result::Result<(), Stopped> {
        let looked_at = self.inspector.is_some();
        if looked_at || self.journal.times_steps() || !self.devices.is_empty() {
            self.journal.begin(looked_at);
            self.moved = self.bytes_moved();
        }
        let home = self.device_at(batch.home);
        let Self { engine, devices, placement, journal, progress, .. } = self;
        let context = ExecutionContext { host: &**engine, devices, placement, home, journal, progress };
        plan.run(&context, batch.consts(), &batch.slots, &mut self.warnings)
    }

    fn account(&mut self, reason: Reason, plan: &ReadyPlan, cache_hit: bool, start: Instant) {
        let kernels = plan.kernels;
        let stats = &mut self.stats;
        stats.flushes[reason as usize] += 1;
        stats.kernels += kernels as u64;
        stats.calls += (plan.plan.steps.len() - kernels) as u64;
        stats.bytes_moved += plan.plan.bytes_moved;
        stats.buffers += plan.buffer_bytes.len() as u64;
        stats.contracted += plan.contracted as u64;
        if self.inspector.is_none() && !self.config.trace {
            return;
        }
        let mut report = FlushReport::of(reason, plan, cache_hit, start.elapsed().as_nanos() as u64);
        report.step_ns = self.journal.step_ns();
        if !self.devices.is_empty() {
            let [there, back] = self.bytes_moved();
            // without a device to choose, all of it has run on the host
            if plan.home != 0 || !self.placement.chosen(&self.devices).is_empty() {
                report.engines = self.journal.engines();
            }
            (report.bytes_there, report.bytes_back) = (there - self.moved[0], back - self.moved[1]);
        }
        if self.config.trace {
            report.trace();
        }
        if let Some(reports) = &mut self.inspector {
            reports.push(report);
        }
    }
}

/// Marks the bases of a batch that could not be planned as lost.
fn mark_failed(batch: &mut Batch) {
    let (program, slots) = batch.program_and_slots();
    for instr in &program.instrs {
        let base = instr.out.base;
        lost::mark(&slots[base as usize], &program.instrs, base);
    }
}

impl ArrayView {
    /// A C-contiguous array on a new base without memory.
    pub fn fresh(runtime: &Runtime, dtype: DType, shape: &[i64]) -> ArrayView {
        let size: i64 = shape.iter().product();
        ArrayView {
            base: runtime.new_base(size as usize * dtype.size()),
            dtype,
            offset: 0,
            shape: Dims::from_slice(shape),
            strides: new_strides(shape, dtype.size() as i64),
        }
    }
}
