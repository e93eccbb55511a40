//! What can be seen of a runtime: explanations, totals, reports of flushes.

use super::{Runtime, WATCHED};
use crate::heap::base::ArrayView;
use crate::heap::copies::Moved;
use crate::stats::{FlushReport, Stats};
use numelt_ir::{Program, Result, View};
use numelt_opt::Explanation;
use std::sync::atomic::{AtomicU64, Ordering};

impl Runtime {
    /// What would be run now, or what of it the elements of some arrays need: bytecode, passes, partition, kernels.
    ///
    /// # Errors
    /// The planner's.
    pub fn explain(&self, of: Option<&[&ArrayView]>) -> Result<Explanation> {
        let mut state = self.lock();
        state.explained = WATCHED;
        self.note_at_once(&state);
        state.batch.look_at_bases();
        let options = state.options();
        let epoch = state.batch.epoch;
        match of {
            None => numelt_opt::explain(&state.stored()?, &options),
            Some(views) => {
                let pending = |view: &&ArrayView| Some(view.to_ir(view.base.0.slot_in(epoch)?));
                let views: Vec<View> = views.iter().filter_map(pending).collect();
                numelt_opt::explain(&state.batch.program().needed_for(&views), &options)
            }
        }
    }

    /// The pending program, with its bases as they are now.
    pub fn pending_program(&self) -> Program {
        let mut state = self.lock();
        state.explained = WATCHED;
        self.note_at_once(&state);
        state.batch.look_at_bases();
        state.batch.program().clone()
    }

    /// Totals.
    pub fn stats(&self) -> Stats {
        let state = self.lock();
        let [compiled, launched] = state.engine.variants();
        let before = state.variants;
        let [done, declined] = state.placement.counts();
        let moved = |total: fn(&Moved) -> &AtomicU64| {
            state.devices.iter().map(|device| total(&device.moved).load(Ordering::Relaxed)).sum()
        };
        Stats {
            pool: self.heap.pool.stats(),
            variants_compiled: compiled - before[0],
            variants_launched: launched - before[1],
            on_devices: done - state.placed[0],
            declined: declined - state.placed[1],
            bytes_there: moved(|moved| &moved.there),
            bytes_back: moved(|moved| &moved.back),
            evicted: moved(|moved| &moved.evicted),
            ..state.stats
        }
    }

    /// Sets the totals to zero.
    pub fn reset_stats(&self) {
        let mut state = self.lock();
        state.stats = Stats::default();
        state.variants = state.engine.variants();
        state.placed = state.placement.counts();
        state.devices.iter().for_each(|device| device.moved.reset());
    }

    /// Starts collecting a report per flush.
    pub fn inspect_start(&self) {
        let mut state = self.lock();
        state.inspector = Some(Vec::new());
        self.note_at_once(&state);
    }

    /// Stops collecting; the reports.
    pub fn inspect_stop(&self) -> Vec<FlushReport> {
        let mut state = self.lock();
        let reports = state.inspector.take().unwrap_or_default();
        self.note_at_once(&state);
        reports
    }
}
