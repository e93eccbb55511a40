//! Where the steps of a plan are to run: what `placement` has to know about the plan and its arrays.

use super::memory::Memory;
use super::{ExecutionContext, ReadyPlan};
use crate::heap::copies::Device;
use crate::placement::choose::{Array, EngineMask, HOST, Problem, StepNeeds};
use crate::placement::decisions::{DEVICES, Key, READ_NEXT, SEEN, may_gain};
use crate::placement::{Rates, Rule, StepEngines};
use numelt_ir::Base;
use numelt_opt::Cost;
use std::sync::Arc;

/// Where the steps of a plan that is about to run are to run.
pub(super) fn choose_engines(plan: &ReadyPlan, context: &ExecutionContext<'_>, memory: &Memory<'_>) -> StepEngines {
    let placement = context.placement;
    if let Some(number) = context.home {
        return StepEngines::On(number);
    }
    if placement.rule != Rule::Cost {
        return StepEngines::ByRule;
    }
    // the rule does not choose devices that are there as the home of arrays only
    let devices = placement.chosen(context.devices);
    if devices.is_empty() {
        return StepEngines::Host;
    }
    let (key, is_away) = key(memory);
    if !is_away && !may_gain(&plan.plan.costs, placement.known().as_deref()) {
        return StepEngines::Host;
    }
    let rates = placement.rates(context.host, devices);
    if let Some(engines) = plan.decisions.made(&key, &rates) {
        return StepEngines::Decided(engines);
    }
    let able = |step| engines_for(plan, step, &rates, devices);
    let problem = Problem { steps: needs(plan, able), arrays: arrays(plan, &key, memory), rates: &rates };
    StepEngines::Decided(plan.decisions.decide(key, problem))
}

/// Where the arrays of a plan are, and whether some of them have copies on devices.
fn key(memory: &Memory<'_>) -> (Key, bool) {
    let seen = |is_seen| if is_seen { SEEN } else { 0 };
    let key: Key = memory.recorded().map(|cell| cell.located() | seen(cell.is_visible())).collect();
    let is_away = key.iter().any(|at| at & !(SEEN | HOST) != 0);
    (key, is_away)
}

/// The engines that can do a step.
fn engines_for(plan: &ReadyPlan, step: usize, rates: &[Option<Rates>], devices: &[Arc<Device>]) -> EngineMask {
    let able = |device: &Device| {
        let number = device.number();
        let is_known = number < DEVICES && rates.get(number + 1).copied().flatten().is_some();
        is_known && !device.is_lost() && !plan.decisions.is_refused(step, number) && plan.may_run_on(step, device)
    };
    devices.iter().filter(|device| able(device)).fold(HOST, |all, device| all | HOST << (device.number() + 1))
}

fn needs(plan: &ReadyPlan, able: impl Fn(usize) -> EngineMask) -> Vec<StepNeeds> {
    let steps = plan.plan.costs.iter().enumerate();
    let needs = |(at, cost): (usize, &Cost)| StepNeeds { cost: *cost, uses: plan.uses(at), engines: able(at) };
    steps.map(needs).collect()
}

fn arrays(plan: &ReadyPlan, key: &Key, memory: &Memory<'_>) -> Vec<Array> {
    let array = |(number, base): (usize, &Base)| {
        let at = key.get(number).copied().unwrap_or(0);
        // arrays that are seen from outside are copied to the host after the plan; those that nobody needs afterwards
        // are not
        let wanted_on_host = if at & SEEN != 0 {
            1.0
        } else if base.output && key.len() > number {
            READ_NEXT
        } else {
            0.0
        };
        Array { nbytes: memory.cell(number as u32).nbytes as u64, at: at & !SEEN, wanted_on_host }
    };
    plan.plan.program.bases.iter().enumerate().map(array).collect()
}
