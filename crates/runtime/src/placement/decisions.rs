//! What has been decided for one plan.
//!
//! A decision holds for as long as the plan's arrays are at the same places before it runs, and the rates are the same: a plan that
//! comes again pays for a comparison.

use super::choose::{Array, EngineMask, HOST, Problem, StepNeeds};
use super::rates::Rates;
use crate::exec::{Memory, ReadyPlan};
use crate::heap::copies::Device;
use numelt_ir::Base;
use numelt_opt::Cost;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Decisions that are kept for a plan; the oldest is forgotten first.
const KEPT: usize = 4;

/// Bytes and units of work of a whole plan below which engines are not measured because of it: the host needs less time for
/// that than any device for a launch and two copies.
const WORTH_MEASURING: u64 = 1 << 16;

/// How likely it is that a result is read on the host by whoever comes next, so that its way home counts. Nobody can know. Half is
/// between those who go on computing with it and those who look at it, and costs neither more than twice what was best.
const READ_NEXT: f64 = 0.5;

/// In a key: somebody outside can see the array.
const SEEN: EngineMask = 1 << 31;
/// Devices that a mask has room for.
const DEVICES: usize = 30;

/// Where the arrays of a plan are, by number.
pub(super) type Key = SmallVec<[EngineMask; 16]>;

/// The engine of each step, the host being zero.
pub(super) type Engines = Arc<[u8]>;

/// The decisions for one plan.
#[derive(Default)]
pub(crate) struct Decisions(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The rates that the decisions were made by.
    rates: Option<Arc<[Option<Rates>]>>,
    made: Vec<(Key, Engines)>,
    /// Steps that a device did not take, because it had no room for them or could not do them: they are not sent there again.
    refused: Vec<(usize, usize)>,
}

impl Decisions {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a device did not take a step.
    pub fn refuse(&self, step: usize, device: usize) {
        let mut known = self.lock();
        if !known.refused.contains(&(step, device)) {
            known.refused.push((step, device));
        }
        known.made.clear();
    }

    /// The engine of each step of the plan, if its arrays are where the key says.
    pub(super) fn find(
        &self,
        plan: &ReadyPlan,
        key: Key,
        rates: &Arc<[Option<Rates>]>,
        devices: &[Arc<Device>],
        memory: &Memory<'_>,
    ) -> Engines {
        let mut known = self.lock();
        if !known.rates.as_ref().is_some_and(|own| Arc::ptr_eq(own, rates)) {
            known.made.clear();
            known.rates = Some(Arc::clone(rates));
        }
        if let Some((_, engines)) = known.made.iter().find(|(other, _)| *other == key) {
            return Arc::clone(engines);
        }
        let able = |step| engines_for(plan, step, rates, devices, &known.refused);
        let problem = Problem { steps: needs(plan, able), arrays: arrays(plan, &key, memory), rates };
        let engines: Engines = problem.choose().into();
        if known.made.len() >= KEPT {
            known.made.remove(0);
        }
        known.made.push((key, Arc::clone(&engines)));
        engines
    }
}

/// Where the arrays of a plan are, and whether some of them have copies on devices.
pub(super) fn key(memory: &Memory<'_>) -> (Key, bool) {
    let seen = |is_seen| if is_seen { SEEN } else { 0 };
    let key: Key = memory.recorded().map(|cell| cell.located() | seen(cell.is_seen_outside())).collect();
    let is_away = key.iter().any(|at| at & !(SEEN | HOST) != 0);
    (key, is_away)
}

/// Could a device gain anything on a plan whose arrays are all on the host? Where the host takes less time than a launch, none
/// can.
pub(super) fn may_gain(plan: &ReadyPlan, rates: Option<&[Option<Rates>]>) -> bool {
    let costs = &plan.plan.costs;
    match rates {
        Some([Some(host), devices @ ..]) => {
            let launches = devices.iter().flatten().map(|rates| rates.launch);
            costs.iter().map(|cost| host.step(cost)).sum::<f64>() > launches.fold(f64::INFINITY, f64::min)
        }
        Some(_) => false,
        None => {
            let load = |sum: u64, cost: &Cost| sum.saturating_add(cost.bytes()).saturating_add(cost.work);
            costs.iter().fold(0, load) >= WORTH_MEASURING
        }
    }
}

/// The engines that can do a step.
fn engines_for(
    plan: &ReadyPlan,
    step: usize,
    rates: &[Option<Rates>],
    devices: &[Arc<Device>],
    refused: &[(usize, usize)],
) -> EngineMask {
    let able = |device: &Device| {
        let number = device.number;
        let is_known = number < DEVICES && rates.get(number + 1).copied().flatten().is_some();
        is_known && !device.is_lost() && !refused.contains(&(step, number)) && plan.may_run_on(step, device)
    };
    devices.iter().filter(|device| able(device)).fold(HOST, |all, device| all | HOST << (device.number + 1))
}

fn needs(plan: &ReadyPlan, able: impl Fn(usize) -> EngineMask) -> Vec<StepNeeds> {
    let steps = plan.plan.costs.iter().enumerate();
    let needs = |(at, cost): (usize, &Cost)| StepNeeds { cost: *cost, uses: plan.uses(at), engines: able(at) };
    steps.map(needs).collect()
}

fn arrays(plan: &ReadyPlan, key: &Key, memory: &Memory<'_>) -> Vec<Array> {
    let array = |(number, base): (usize, &Base)| {
        let at = key.get(number).copied().unwrap_or(0);
        // what others see goes home when the plan has run; what nobody needs afterwards does not
        let wanted_home = if at & SEEN != 0 {
            1.0
        } else if base.output && key.len() > number {
            READ_NEXT
        } else {
            0.0
        };
        Array { nbytes: memory.cell(number as u32).nbytes as u64, at: at & !SEEN, wanted_home }
    };
    plan.plan.program.bases.iter().enumerate().map(array).collect()
}
