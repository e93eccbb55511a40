//! Steps that devices have been given, and of which it is not known yet which floating-point conditions they met.
//!
//! Waiting after each step would leave a device idle until the host submits the next one. So the conditions of several
//! steps are asked for together: at the end of a plan, before something that they read is overwritten, or when too much
//! memory is held for them. If a step did meet a condition, the host evaluates it once more (`device.rs`), for which
//! what it read must still be there.

use super::memory::Memory;
use super::{Run, step_bases, written_bases};
use crate::engine::Ticket;
use crate::heap::copies::Device;
use crate::heap::lost;
use crate::host::Host;
use crate::report::Warning;
use numelt_ir::{Error, Result};
use numelt_opt::{ArgKind, Plan, Step};
use smallvec::SmallVec;
use std::sync::Arc;

/// The most steps that are unsettled at a time.
const MOST: usize = 64;

/// The most bytes of bases that nobody else needs and that are held for these steps. A device takes as long for so
/// many as a wait costs.
const HELD: usize = 32 << 20;

/// A step that a device has been given.
struct Given<'a> {
    run: Run<'a>,
    device: Arc<Device>,
    ticket: Ticket,
    /// The bases that it uses.
    uses: SmallVec<[u32; 16]>,
    /// Those that it reads.
    reads: SmallVec<[u32; 16]>,
    /// Whether the host can do it again, if it fails: it is the last step so far, and has overwritten no values.
    repeats: bool,
}

/// The steps, in order, and the bases that are freed when they are settled.
#[derive(Default)]
pub(super) struct Unsettled<'a> {
    steps: SmallVec<[Given<'a>; 4]>,
    held: SmallVec<[u32; 8]>,
    bytes: usize,
}

impl<'a> Unsettled<'a> {
    /// Adds a step, whose conditions will be asked for. `keeps` says whether it has overwritten no values.
    pub fn add(&mut self, run: Run<'a>, device: &Arc<Device>, ticket: Ticket, keeps: bool) {
        let plan = &run.plan.plan;
        let (uses, reads) = (step_bases(plan, run.step), read_bases(plan, run.step));
        self.steps.push(Given { run, device: Arc::clone(device), ticket, uses, reads, repeats: keeps });
    }

    /// Notes that another step begins, which may use the results of these.
    pub fn go_on(&mut self) {
        self.steps.iter_mut().for_each(|given| given.repeats = false);
    }

    /// Whether these steps have to be settled before a step, because it overwrites what they read, or because they are
    /// many, or hold much memory.
    pub fn precede(&self, run: Run<'_>) -> bool {
        if self.steps.is_empty() {
            return false;
        }
        let overwrites = || {
            let written = written_bases(&run.plan.plan, run.step);
            self.steps.iter().any(|given| written.iter().any(|base| given.reads.contains(base)))
        };
        self.steps.len() >= MOST || self.bytes > HELD || overwrites()
    }

    /// Frees a base that nobody needs after a step, or holds it until the steps that use it are settled.
    pub fn free(&mut self, base: u32, memory: &Memory<'_>) {
        if self.steps.iter().any(|given| given.uses.contains(&base)) {
            self.held.push(base);
            self.bytes += memory.cell(base).nbytes;
        } else {
            memory.free(base);
        }
    }

    /// Waits for the steps, adds warnings of the conditions that they met, and frees what was held for them.
    ///
    /// # Errors
    /// The first error of a step, or of the host, if values have to move there. The results of that step and of those
    /// after it are lost then.
    pub fn settle(&mut self, host: &dyn Host, memory: &mut Memory<'_>, warnings: &mut Vec<Warning>) -> Result<()> {
        let mut outcome = Ok(());
        for given in std::mem::take(&mut self.steps) {
            outcome = outcome.and_then(|()| given.settle(host, memory, warnings));
            // if the device itself is lost, it has reported its values as lost
            if outcome.as_ref().is_err_and(|error| !matches!(error, Error::Lost(_))) {
                let instrs = given.run.plan.recorded.unpack();
                let written = written_bases(&given.run.plan.plan, given.run.step);
                written.iter().for_each(|&base| lost::mark(memory.cell(base), &instrs, base));
            }
        }
        std::mem::take(&mut self.held).into_iter().for_each(|base| memory.free(base));
        self.bytes = 0;
        outcome
    }
}

impl Given<'_> {
    /// Waits for the step, and adds its warnings.
    fn settle(&self, host: &dyn Host, memory: &mut Memory<'_>, warnings: &mut Vec<Warning>) -> Result<()> {
        let Given { run, device, ticket, repeats, .. } = self;
        match device.wait(*ticket).map(|met| met & run.ready.watch) {
            Ok(0) => Ok(()),
            Ok(met) => run.report(host, met, memory, warnings),
            Err(_) if *repeats => {
                let plan = &run.plan.plan;
                written_bases(plan, run.step).iter().for_each(|&base| memory.cell(base).release());
                memory.move_to_host(plan, run.step)?;
                run.on_host(host, memory, warnings)
            }
            Err(error) => Err(error),
        }
    }
}

/// The bases that a step reads.
fn read_bases(plan: &Plan, step: &Step) -> SmallVec<[u32; 16]> {
    match step {
        Step::Kernel(_) | Step::Nest(_) => {
            super::kernel_bases(step, |kind| matches!(kind, ArgKind::Load | ArgKind::Gather))
        }
        Step::Call(at) => plan.program.instrs[*at].reads().map(|view| view.base).collect(),
    }
}
