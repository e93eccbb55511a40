//! Counters and reports of everything that the runtime does.

use crate::exec::ReadyPlan;
use crate::heap::pool::PoolStats;
use crate::journal::operations;
use numelt_ir::{Instr, Operand};
use numelt_opt::{Cost, Step};
use std::collections::BTreeMap;
use std::fmt;

/// Why pending work was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A value was read: print, `float`, comparison in an `if`, export, iteration.
    Read,
    /// The memory is visible outside, so work on it runs at once.
    Visible,
    /// A fallback needs the values.
    Fallback,
    /// Too many instructions pending.
    Instructions,
    /// Pending work keeps too many bytes alive.
    Bytes,
    /// `numelt.flush()`.
    Explicit,
    /// The process ends.
    Exit,
    /// An operation that ran at once met a condition: nothing needs to run, but there are warnings to deliver.
    Warned,
}

impl Reason {
    /// Every reason, in the order of [`Stats::flushes`].
    pub const ALL: [Reason; 8] = [
        Reason::Read,
        Reason::Visible,
        Reason::Fallback,
        Reason::Instructions,
        Reason::Bytes,
        Reason::Explicit,
        Reason::Exit,
        Reason::Warned,
    ];

    /// Short lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Read => "read",
            Reason::Visible => "visible",
            Reason::Fallback => "fallback",
            Reason::Instructions => "instructions",
            Reason::Bytes => "bytes",
            Reason::Explicit => "explicit",
            Reason::Exit => "exit",
            Reason::Warned => "warned",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Totals since the start or the last reset.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stats {
    /// Flushes that had work, for each reason, in the order of [`Reason::ALL`].
    pub flushes: [u64; 8],
    /// Instructions recorded, including operations that ran at once.
    pub instructions: u64,
    /// Operations on few elements that ran at once instead of being recorded.
    pub at_once: u64,
    /// Kernels launched.
    pub kernels: u64,
    /// Library calls and scans run.
    pub calls: u64,
    /// Bytes that kernels and calls read and wrote, each operand once.
    pub bytes_moved: u64,
    /// Batches whose finished plan was found.
    pub plan_hits: u64,
    /// Batches that had to be planned.
    pub plan_misses: u64,
    /// Batches that ran operation by operation, without a plan.
    pub piecemeal: u64,
    /// Kernel structures prepared by the engine.
    pub kernels_compiled: u64,
    /// Kernels compiled for one geometry.
    pub variants_compiled: u64,
    /// Launches that ran such code.
    pub variants_launched: u64,
    /// Values that are held and were put off instead of being stored; those that were computed later are in `made`.
    pub put_off: u64,
    /// See `put_off`.
    pub made: u64,
    /// Buffers that steps allocated from the pool.
    pub buffers: u64,
    /// Bases that never got memory.
    pub contracted: u64,
    /// Steps that ran on a device, and steps placed there that had to run on the host because the device could not do
    /// them or had no memory for them.
    pub on_devices: u64,
    /// See `on_devices`.
    pub declined: u64,
    /// Bytes that were copied from the host to devices, and back.
    pub bytes_there: u64,
    /// See `bytes_there`.
    pub bytes_back: u64,
    /// Arrays that were moved from a device to the host to make room.
    pub evicted: u64,
    /// Nanoseconds spent planning.
    pub plan_ns: u64,
    /// Nanoseconds spent in kernels and calls, allocation included.
    pub run_ns: u64,
    /// The memory pool.
    pub pool: PoolStats,
}

/// What one flush did, for inspectors in tests and for profiles.
#[derive(Debug, Clone)]
pub struct FlushReport {
    /// The reason for the flush.
    pub reason: Reason,
    /// Instructions of the batch.
    pub instructions: usize,
    /// The elements that each recorded operation was applied to; for matrix products, the multiplications.
    pub elements: BTreeMap<&'static str, u64>,
    /// Text of each kernel launched, in order.
    pub kernels: Vec<String>,
    /// Tier that each kernel ran on.
    pub tiers: Vec<&'static str>,
    /// Names of the library calls and scans.
    pub calls: Vec<String>,
    /// Operations of each step, kernels and calls in their order (`add+sqrt+sum`).
    pub steps: Vec<String>,
    /// Bytes that each step reads and writes.
    pub step_bytes: Vec<u64>,
    /// The nanoseconds that each step took; empty if plans were not inspected when this one began, and shorter if it
    /// was stopped.
    pub step_ns: Vec<u64>,
    /// The size in bytes of each buffer that was allocated.
    pub buffers: Vec<usize>,
    /// Bases that needed no memory.
    pub contracted: usize,
    /// Values that are held and were put off instead of being stored.
    pub put_off: usize,
    /// Bytes read and written.
    pub bytes_moved: u64,
    /// Name of the engine that ran each step, kernels and calls in their order; empty in a runtime without devices.
    pub engines: Vec<&'static str>,
    /// Bytes that were copied from the host to devices for the flush, and back. Values that are read afterwards are
    /// copied back later.
    pub bytes_there: u64,
    /// See `bytes_there`.
    pub bytes_back: u64,
    /// Whether the plan was found in the cache.
    pub cache_hit: bool,
    /// Nanoseconds from trigger to finish.
    pub total_ns: u64,
}

impl FlushReport {
    /// The report of a run of `plan`.
    pub(crate) fn of(reason: Reason, plan: &ReadyPlan, cache_hit: bool, total_ns: u64) -> FlushReport {
        let mut kernels = Vec::new();
        let mut calls = Vec::new();
        for step in &plan.plan.steps {
            match step {
                Step::Kernel(step) => kernels.push(step.kernel.to_string()),
                Step::Nest(nest) => kernels.push(nest.to_string()),
                Step::Call(at) => calls.push(plan.plan.program.instrs[*at].op.name().to_string()),
            }
        }
        let mut elements = BTreeMap::new();
        for instr in &plan.recorded.unpack() {
            *elements.entry(instr.op.name()).or_default() += applications(instr);
        }
        FlushReport {
            reason,
            instructions: plan.recorded.len(),
            elements,
            kernels,
            tiers: plan.tiers(),
            calls,
            steps: plan.plan.steps.iter().map(|step| operations(&plan.plan, step)).collect(),
            step_bytes: plan.plan.costs.iter().map(Cost::bytes).collect(),
            step_ns: Vec::new(),
            buffers: plan.buffer_bytes.clone(),
            contracted: plan.contracted,
            put_off: plan.recipes.list.len(),
            bytes_moved: plan.plan.bytes_moved,
            engines: Vec::new(),
            bytes_there: 0,
            bytes_back: 0,
            cache_hit,
            total_ns,
        }
    }

    /// What running a call of an extension method did: one library call, of its name.
    pub(crate) fn of_call(reason: Reason, name: &str, bytes: u64, total_ns: u64) -> FlushReport {
        FlushReport {
            reason,
            instructions: 0,
            elements: BTreeMap::new(),
            kernels: Vec::new(),
            tiers: Vec::new(),
            calls: vec![name.to_string()],
            steps: vec![name.to_string()],
            step_bytes: vec![bytes],
            step_ns: vec![total_ns],
            buffers: Vec::new(),
            contracted: 0,
            put_off: 0,
            bytes_moved: bytes,
            engines: Vec::new(),
            bytes_there: 0,
            bytes_back: 0,
            cache_hit: false,
            total_ns,
        }
    }

    /// Where the steps ran and how much was copied, as in `steps: 2 on far, 1 on cpu; 800 bytes there, 8 back`.
    fn whereabouts(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for &engine in &self.engines {
            match counts.iter_mut().find(|(name, _)| *name == engine) {
                Some((_, count)) => *count += 1,
                None => counts.push((engine, 1)),
            }
        }
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} on {name}")).collect();
        format!("steps: {}; {} bytes there, {} back", counts.join(", "), self.bytes_there, self.bytes_back)
    }

    /// Prints the report as a line.
    pub(crate) fn trace(&self) {
        let devices = if self.engines.is_empty() { String::new() } else { format!("; {}", self.whereabouts()) };
        eprintln!(
            "numelt: flush ({}): {} instructions, {} kernels {:?}, {} calls, {} buffers, {} contracted, {} bytes, plan {}, {:.3} ms{devices}",
            self.reason,
            self.instructions,
            self.kernels.len(),
            self.tiers,
            self.calls.len(),
            self.buffers.len(),
            self.contracted,
            self.bytes_moved,
            if self.cache_hit { "cached" } else { "made" },
            self.total_ns as f64 / 1e6,
        );
    }
}

/// How often an instruction's operation is applied to an element.
fn applications(instr: &Instr) -> u64 {
    let elements = |shape: &[i64]| shape.iter().product::<i64>() as u64;
    match (instr.op, instr.ins.first()) {
        (op, Some(Operand::View(a))) if op.is_product() => {
            elements(&instr.out.shape) * a.shape.last().map_or(1, |&k| k as u64)
        }
        _ => elements(instr.domain()),
    }
}
