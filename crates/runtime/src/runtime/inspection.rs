//! Explanations, totals and reports of a runtime.
//!
//! Nothing here runs pending work.

use super::{Runtime, State, WATCHED};
use crate::exec;
use crate::heap::base::ArrayView;
use crate::heap::copies::{Device, Moved};
use crate::placement::Rule;
use crate::progress::ProgressSnapshot;
use crate::stats::{FlushReport, Stats};
use numelt_ir::{Program, Result, View};
use numelt_opt::{Explanation, Plan, Step};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

impl Runtime {
    /// Explains what would run now (bytecode, passes, partition, kernels), or the part of it that the elements of
    /// some arrays need.
    ///
    /// # Errors
    /// The planner's.
    pub fn explain(&self, of: Option<&[&ArrayView]>) -> Result<Explanation> {
        self.explain_placed(of).map(|(explanation, _)| explanation)
    }

    /// Like [`Runtime::explain`], with the front end's number of the position at which each instruction was recorded.
    ///
    /// # Errors
    /// The planner's.
    pub fn explain_placed(&self, of: Option<&[&ArrayView]>) -> Result<(Explanation, Vec<u32>)> {
        let mut state = self.lock();
        state.explained = WATCHED;
        self.note_at_once(&state);
        state.batch.update_base_flags();
        let options = state.options(state.batch.home);
        let epoch = state.batch.epoch;
        // before the program is requested, because that ends the following of a plan and its positions
        let all = state.batch.known_positions();
        let (explained, places) = match of {
            None => (numelt_opt::explain(&state.stored()?, &options), all),
            Some(views) => {
                let pending = |view: &&ArrayView| Some(view.to_ir(view.base.0.slot_in(epoch)?));
                let views: Vec<View> = views.iter().filter_map(pending).collect();
                let (program, kept) = state.batch.program().needed(&views);
                (numelt_opt::explain(&program, &options), kept.into_iter().map(|at| all[at]).collect())
            }
        };
        let mut explanation = explained?;
        explanation.engines = state.expected_engines(&explanation.plan);
        explanation.sources = state.sources(&explanation.plan);
        Ok((explanation, places))
    }

    /// How far the running plan has come. This takes no lock, so it can be called while another thread flushes.
    pub fn progress(&self) -> ProgressSnapshot {
        self.progress.snapshot()
    }

    /// The pending program, with the present flags of its bases.
    pub fn pending_program(&self) -> Program {
        let mut state = self.lock();
        state.explained = WATCHED;
        self.note_at_once(&state);
        state.batch.update_base_flags();
        state.batch.program().clone()
    }

    /// The totals.
    pub fn stats(&self) -> Stats {
        let state = self.lock();
        let [compiled, launched] = state.engine.variants();
        let before = state.variants;
        Stats {
            pool: self.heap.pool.stats(),
            variants_compiled: compiled - before[0],
            variants_launched: launched - before[1],
            ..state.with_devices()
        }
    }

    /// How often steps that were placed on a device ran on the host, by operations. With `forget`, the counts start
    /// again at zero.
    pub fn declined(&self, forget: bool) -> BTreeMap<String, u64> {
        self.lock().journal.declines(forget)
    }

    /// Sets the totals to zero.
    pub fn reset_stats(&self) {
        let mut state = self.lock();
        state.stats = Stats::default();
        state.variants = state.engine.variants();
        state.placed = state.placement.counts();
        state.devices.iter().for_each(|device| device.moved.reset());
    }

    /// Starts collecting a report of each flush.
    pub fn inspect_start(&self) {
        let mut state = self.lock();
        state.inspector = Some(Vec::new());
        self.note_at_once(&state);
    }

    /// Stops collecting, and returns the reports.
    pub fn inspect_stop(&self) -> Vec<FlushReport> {
        let mut state = self.lock();
        let reports = state.inspector.take().unwrap_or_default();
        self.note_at_once(&state);
        reports
    }
}

impl State {
    fn moved(&self, total: fn(&Moved) -> &AtomicU64) -> u64 {
        self.devices.iter().map(|device| total(&device.moved).load(Ordering::Relaxed)).sum()
    }

    /// The bytes that were moved to the present devices, and back.
    pub(super) fn bytes_moved(&self) -> [u64; 2] {
        [self.moved(|moved| &moved.there), self.moved(|moved| &moved.back)]
    }

    /// The totals, including those of the present devices.
    pub(super) fn with_devices(&self) -> Stats {
        let [done, declined] = self.placement.counts();
        let [there, back] = self.bytes_moved();
        Stats {
            on_devices: self.stats.on_devices + done - self.placed[0],
            declined: self.stats.declined + declined - self.placed[1],
            bytes_there: self.stats.bytes_there + there,
            bytes_back: self.stats.bytes_back + back,
            evicted: self.stats.evicted + self.moved(|moved| &moved.evicted),
            ..self.stats
        }
    }

    /// Where each step of a plan would run, as text; empty without a device to choose.
    fn expected_engines(&self, plan: &Plan) -> Vec<String> {
        let home = self.device_at(self.batch.home);
        if home.is_none() && self.placement.chosen(&self.devices).is_empty() {
            return Vec::new();
        }
        let rule = home.map_or(self.placement.rule, Rule::Always);
        plan.steps.iter().map(|step| self.expected_engine(rule, plan, step)).collect()
    }

    /// What the first device that can do a step compiles for it.
    fn sources(&self, plan: &Plan) -> Vec<Option<String>> {
        let source = |step: &Step| {
            let able = self.devices.iter().find(|device| exec::supports(device, plan, step))?;
            let texts: Vec<String> = step.kernels().filter_map(|own| able.engine.source(&own.kernel)).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        };
        if self.placement.rule == Rule::Host && self.batch.home == 0 {
            Vec::new()
        } else {
            plan.steps.iter().map(source).collect()
        }
    }

    fn expected_engine(&self, rule: Rule, plan: &Plan, step: &Step) -> String {
        let host = self.engine.name();
        let device = match rule {
            Rule::Host => return host.into(),
            Rule::Always(number) => &self.devices[number..=number],
            Rule::Cost | Rule::Random(_) => self.placement.chosen(&self.devices),
        };
        let names = |able: bool| {
            let found = device.iter().filter(|device| exec::supports(device, plan, step) == able);
            found.map(|device| named(device, plan, step)).collect::<Vec<_>>().join(" or ")
        };
        match (rule, names(true), names(false)) {
            (_, able, unable) if able.is_empty() => format!("{host} ({unable} cannot do it)"),
            (Rule::Random(_), able, _) => format!("{host} or {able}, by chance"),
            (Rule::Cost, able, _) => format!("{host} or {able}, wherever it takes less time then"),
            (Rule::Host | Rule::Always(_), able, _) => able,
        }
    }
}

/// The name of a device and, if it does a step with a library whose bits may differ from NumPy's, that of the library.
fn named(device: &Device, plan: &Plan, step: &Step) -> String {
    let library = match step {
        Step::Call(at) => {
            let instr = &plan.program.instrs[*at];
            device.engine.library(instr.op, instr.ty)
        }
        Step::Kernel(_) | Step::Nest(_) => None,
    };
    let name = device.engine.name();
    match library {
        Some(library) => {
            format!("{name}, by {library}, whose last bits may differ from NumPy's (exact_products = 1 uses the host)")
        }
        None => name.into(),
    }
}
