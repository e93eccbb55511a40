//! The CPU engine: compile, launch, library calls, and the choice of a tier.
//!
//! In: kernels, launches and calls from the runtime. Out: memory written. A kernel starts on the blocked interpreter.
//! Depending on [`Jit`], it moves to compiled code when that is ready and the work is worth it.

use crate::background;
use crate::counts;
use crate::driver::delayed::Delayed;
use crate::driver::scattered::{self, Scattered};
use crate::driver::stages::{Loop, Stage};
use crate::driver::{self, Launched, Price, Schedule};
use crate::isa::Isa;
use crate::library;
use crate::promote::{Promoter, Slot};
use crate::small;
use crate::streams;
use crate::threads::{self, GATE, Threads};
use crate::tier0::{Audit, Interpreter, met_by_half_folds, met_by_results};
use numelt_codegen::{Body, Tile};
use numelt_ir::{DType, Error, Op, Result};
use numelt_opt::{Kernel, Target};
use numelt_runtime::fork::Handlers;
use numelt_runtime::{
    Engine, Executable, HostMemory, Jit, Launch, LibraryCall, NestLaunch, PutCall, SmallCall, StageLaunch, Task,
    Ticket, Variants, Work,
};
use numelt_vecmath::flags;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// The settings of the engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads, the caller included; zero for all that this process may use.
    pub threads: usize,
    /// When kernels are compiled.
    pub jit: Jit,
    /// Which compiled code runs.
    pub variants: Variants,
    /// Points per block of the interpreter and steps per stretch of a nest; zero to let the caches decide.
    pub block: usize,
    /// Estimated nanoseconds of work below which a launch stays on one thread.
    pub serial_below: u64,
    /// Instruction set, at most what the machine has; `None` for the best.
    pub isa: Option<Isa>,
}

impl Default for Options {
    fn default() -> Options {
        Options { threads: 0, jit: Jit::On, variants: Variants::Selected, block: 0, serial_below: GATE, isa: None }
    }
}

/// The CPU engine.
pub struct CpuEngine {
    options: Options,
    target: Target,
    isa: Isa,
    threads: Threads,
    promoter: Promoter,
}

/// Before a fork, the compiler's thread is stopped between two tasks. A child has neither that thread nor workers.
const FORK: Handlers = Handlers {
    prepare: background::fork::prepare,
    parent: background::fork::parent,
    child: || {
        background::fork::child();
        threads::forked();
    },
};

impl CpuEngine {
    /// An engine with its own threads, which start when first needed.
    pub fn new(options: Options) -> CpuEngine {
        numelt_runtime::fork::set_engine(FORK);
        let isa = options.isa.map_or_else(crate::isa::detect, crate::isa::clamp);
        let threads = Threads::new(options.threads, options.serial_below);
        let promoter = Promoter::new(options.jit, options.variants, isa);
        CpuEngine { options, target: Target::cpu(), isa, threads, promoter }
    }

    /// Number of threads, the caller included.
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Calls `f` on ranges that together are `0..units`, on several threads if the work, in nanoseconds, is worth it.
    pub fn share(&self, units: usize, work: u64, f: threads::Work<'_>) {
        self.threads.parallel(units, work, f);
    }

    /// Is code compiled while the program runs?
    pub fn compiles_in_background(&self) -> bool {
        self.options.jit == Jit::On
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }
}

/// A kernel ready to run.
struct Compiled {
    kernel: Arc<Kernel>,
    /// The kernel that the tiers evaluate. Random streams are loads in it, and sums that count truth values fold these
    /// directly.
    lowered: Arc<Kernel>,
    /// The mapping between its values and the original kernel's.
    numbering: streams::Numbering,
    schedule: Schedule,
    interpreter: Interpreter,
    slot: Arc<Slot>,
    /// The price of a point on the interpreter, and as compiled code.
    prices: [Price; 2],
}

impl Compiled {
    /// The body that evaluates the next launch, and its price.
    fn current(&self) -> (&dyn Body, &Price) {
        match self.slot.compiled() {
            Some(body) => (body, &self.prices[1]),
            None => (&self.interpreter, &self.prices[0]),
        }
    }

    /// The kernel as a stage of a nest.
    fn stage<'a>(&'a self, stage: &StageLaunch<'a>, promoter: &Promoter) -> Stage<'a> {
        let (body, price) = self.current();
        Stage {
            kernel: &self.kernel,
            schedule: &self.schedule,
            body,
            price,
            launch: stage.launch,
            shared: stage.shared,
            places: stage.places,
            watch: promoter.watches(&self.slot),
        }
    }
}

impl CpuEngine {
    /// Runs a kernel on the tier that it has reached.
    fn run(&self, compiled: &Compiled, launch: &Launch<'_>, delayed: Option<&Delayed>) -> Result<u8> {
        flags::clear();
        let (tier, watch) = (compiled.current(), self.promoter.watches(&compiled.slot));
        // SAFETY: the runtime promises the launch's addresses; both bodies evaluate this kernel.
        let launched = unsafe {
            driver::launch(&compiled.kernel, &compiled.schedule, tier, launch, delayed, &self.threads, watch)?
        };
        self.worked(compiled, &launched);
        Ok(flags::get() | met_by_folds(&compiled.kernel, launch))
    }

    /// Reports a kernel's work to the promoter.
    fn worked(&self, compiled: &Compiled, launched: &Launched) {
        let points = launched.points;
        if let Some(numbers) = &launched.numbers {
            let estimate = compiled.prices[1].of(points);
            self.promoter.recurs(&compiled.lowered, &compiled.slot, numbers, (launched.nanoseconds, estimate));
        }
        // even with hardly any points, a launch of the interpreter takes some time
        let start = 60 * compiled.lowered.body.len() as u64;
        let nanoseconds = start + points.saturating_mul(compiled.schedule.cost) / 1000;
        self.promoter.worked(&compiled.lowered, &compiled.slot, nanoseconds);
    }
}

impl Executable for Compiled {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn tier(&self) -> &'static str {
        match self.slot.compiled() {
            Some(_) if self.slot.specialized() => "fixed",
            Some(_) => "llvm",
            None => "interp",
        }
    }
}

/// A body that looks for conditions instead of storing.
struct Auditor<'a> {
    interpreter: &'a Interpreter,
    audit: Audit,
}

impl Body for Auditor<'_> {
    // SAFETY: the contract is the trait's.
    unsafe fn run(&self, tile: &Tile) {
        if !self.audit.is_done() {
            // SAFETY: the caller's contract.
            unsafe { self.interpreter.audit(tile, &self.audit) }
        }
    }
}

/// The kernel behind an executable of this engine.
fn own(executable: &dyn Executable) -> Result<&Compiled> {
    let compiled = executable.as_any().downcast_ref::<Compiled>();
    compiled.ok_or_else(|| Error::Engine("a kernel compiled by another engine".into()))
}

/// The conditions that sums and products of halves met. They are rounded by integer arithmetic, which raises no flags.
fn met_by_folds(kernel: &Kernel, launch: &Launch<'_>) -> u8 {
    let halves = kernel.reductions.iter().filter(|r| r.ty == DType::F16 && matches!(r.op, Op::Sum | Op::Prod));
    halves.fold(0, |met, reduction| {
        let arg = reduction.arg as usize;
        let strides = &launch.geometry.args[arg].strides;
        if kernel.args[arg].dtype != DType::F16 {
            return met;
        }
        // SAFETY: the launch has written the result there.
        met | unsafe { met_by_half_folds(launch.buffers[arg].address(), &launch.geometry.extents, strides) }
    })
}

impl CpuEngine {
    /// Runs kernels that take turns along a loop, and returns the conditions that they may have met.
    fn nest(&self, nest: &NestLaunch<'_>) -> Result<u8> {
        let all = nest.stages.iter().map(|s| own(s.executable)).collect::<Result<SmallVec<[&Compiled; 8]>>>()?;
        let stages: SmallVec<[Stage<'_>; 8]> =
            nest.stages.iter().zip(&all).map(|(s, c)| c.stage(s, &self.promoter)).collect();
        let shared = Loop { extent: nest.extent, grain: nest.grain, pitches: nest.pitches, block: self.options.block };
        flags::clear();
        // SAFETY: the runtime promises the addresses; the bodies evaluate these kernels.
        let done = unsafe { driver::stages::launch(&stages, &shared, &self.threads)? };
        for (compiled, launched) in all.iter().zip(&done) {
            self.worked(compiled, launched);
        }
        Ok(flags::get())
    }

    fn call(&self, call: &LibraryCall<'_>) -> Result<u8> {
        flags::clear();
        library::call(call, &self.threads, self.isa)?;
        Ok(flags::get())
    }
}

impl HostMemory for CpuEngine {}

/// All work is done when it is submitted, so a ticket holds the conditions that the work met.
impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn supports(&self, task: &Task<'_>) -> bool {
        task.all(|op, ty| op.info().dtypes.contains(ty))
    }

    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        let streams::Split { kernel: lowered, streams, numbering } = streams::split(kernel, self.isa)?;
        let lowered = counts::of_truths(lowered);
        let schedule = Schedule::new(kernel, &lowered, streams, self.isa)?;
        let interpreter = Interpreter::new(&lowered, self.isa, self.options.block)?;
        let slot = self.promoter.slot(&lowered);
        let prices = [Price::new(schedule.cost), Price::new(schedule.cost)];
        Ok(Arc::new(Compiled { kernel: kernel.clone(), lowered, numbering, schedule, interpreter, slot, prices }))
    }

    fn submit(&self, work: &Work<'_>) -> Result<Ticket> {
        let met = match *work {
            Work::Kernel(executable, launch, None) => self.run(own(executable)?, launch, None)?,
            Work::Kernel(executable, launch, Some(delay)) => {
                let compiled = own(executable)?;
                self.run(compiled, launch, Some(&Delayed::new(&compiled.kernel, delay, self.options.block)))?
            }
            Work::Nest(nest) => self.nest(nest)?,
            Work::Call(call) => self.call(call)?,
        };
        Ok(Ticket(u64::from(met)))
    }

    fn wait(&self, ticket: Ticket) -> Result<u8> {
        Ok(ticket.0 as u8)
    }
}

/// Functions of [`Host`](numelt_runtime::Host); `host.rs` has the rest.
impl CpuEngine {
    pub(crate) fn puts_now(
        &self,
        executable: &dyn Executable,
        launch: &Launch<'_>,
        puts: &[PutCall<'_>],
    ) -> Result<Option<[u8; 2]>> {
        let compiled = own(executable)?;
        let scatters = Scattered::new(&compiled.kernel, puts, self.options.block)?;
        flags::clear();
        // SAFETY: the runtime promises the launch's and the puts' addresses; both bodies evaluate this kernel.
        let launched = unsafe {
            let tier = compiled.current();
            scattered::launch(&compiled.kernel, &compiled.schedule, tier, launch, &scatters, &self.threads)?
        };
        Ok(launched.map(|launched| {
            self.worked(compiled, &launched);
            scatters.met()
        }))
    }

    pub(crate) fn small_now(&self, call: &SmallCall<'_>, watch: u8) -> bool {
        // SAFETY: the runtime promises the views.
        unsafe { small::run(call, watch, self.isa) }
    }

    pub(crate) fn audited(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        let compiled = own(executable)?;
        let (lowered, values) = (&compiled.lowered, compiled.lowered.body.len());
        let wanted = compiled.numbering.inward(wanted, values);
        let auditor = Auditor { interpreter: &compiled.interpreter, audit: Audit::new(lowered, &wanted) };
        // SAFETY: the runtime promises the launch's addresses; the auditor stores nothing.
        unsafe {
            driver::visit(&compiled.kernel, &compiled.schedule, (&auditor, &compiled.prices[0]), launch, &self.threads)?
        };
        let mut found = compiled.numbering.outward(&auditor.audit.found(), values);
        for (reduction, met) in compiled.kernel.reductions.iter().zip(&mut found[compiled.kernel.body.len()..]) {
            let (arg, place) = (reduction.arg as usize, &launch.geometry.args[reduction.arg as usize]);
            let dtype = compiled.kernel.args[arg].dtype;
            // SAFETY: the launch has written the result there.
            *met &= unsafe {
                met_by_results(dtype, launch.buffers[arg].address(), &launch.geometry.extents, &place.strides)
            };
        }
        Ok(found)
    }

    pub(crate) fn variant_counts(&self) -> [u64; 2] {
        self.promoter.variants()
    }
}
