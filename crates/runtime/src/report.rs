//! From floating-point flags to warnings with NumPy's wording.
//!
//! The flags that a launch has raised do not say which of its operations raised them. So the engine evaluates the
//! kernel once more, value by value (an audit). If the launch has overwritten operands of which no copy was kept, some
//! values cannot be evaluated again; then the most likely operation is named.

use crate::engine::{Buffer, Executable, Launch, NestLaunch, WholeScratch, Work, run};
use crate::host::Host;
use crate::overwritten::Overwritten;
use numelt_ir::{BaseId, DType, Instr, Op, warn};
use numelt_opt::{ArgKind, KernelStep, NestStep, Node};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A condition that a recorded operation has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// One bit of [`numelt_ir::warn`].
    pub condition: u8,
    /// The operation.
    pub op: Op,
    /// The instruction's byte of conditions.
    pub watch: u8,
    /// The number of the base that it wrote, in the plan; in the end the front end's number of the position at which
    /// it was recorded, or [`Warning::NOWHERE`].
    pub place: u32,
}

impl Warning {
    /// The position at which the operation was recorded is not known.
    pub const NOWHERE: u32 = u32::MAX;
    /// The front end will be asked for the position.
    pub(crate) const AWAITED: u32 = u32::MAX - 1;
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", warn::words(self.condition), self.op.report_name(self.watch))
    }
}

/// The most warnings that are kept until somebody takes them: a program that never does must not grow.
const MOST: usize = 1000;

/// Appends the conditions of one operation that wrote base `out`, in NumPy's order.
fn push(warnings: &mut Vec<Warning>, (op, out): (Op, BaseId), watch: u8, met: u8) {
    for condition in [warn::DIVIDE, warn::OVER, warn::UNDER, warn::INVALID] {
        if met & watch & condition == 0 || warnings.len() >= MOST {
            continue;
        }
        // the parts of one operation report a condition only once
        let reported = |w: &Warning| w.condition == condition && w.watch & warn::PART != 0 && w.op != op;
        if watch & warn::PART == 0 || !warnings.iter().any(reported) {
            warnings.push(Warning { condition, op, watch, place: out });
        }
    }
}

/// The conditions that a library call or scan may report.
pub(crate) fn watched_call(instr: &Instr) -> u8 {
    instr.watch & instr.op.raises(instr.ty)
}

/// The report of a library call or scan.
pub(crate) fn call(instr: &Instr, met: u8, warnings: &mut Vec<Warning>) {
    push(warnings, (instr.op, instr.out.base), instr.watch, met & watched_call(instr));
}

/// The report of a kernel whose launch may have met the conditions `met`.
pub(crate) fn kernel(
    engine: &dyn Host,
    executable: &dyn Executable,
    launch: &Launch<'_>,
    (step, before): (&KernelStep, &Overwritten),
    met: u8,
    memory: &Mutex<AuditCache>,
    warnings: &mut Vec<Warning>,
) {
    let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
    if !memory.serves(met) {
        let gone = Gone { bases: &written_bases(step), before };
        let Some(found) = audited(engine, executable, launch, step, met, &gone) else { return };
        memory.keep(met, found, launch.geometry.extents.iter().product());
    }
    push_found(step, &memory.found, warnings);
}

/// Adds warnings of the conditions that each value was found to meet.
fn push_found(step: &KernelStep, found: &[u8], warnings: &mut Vec<Warning>) {
    let found_at = |value: u32| found[value as usize] & step.watch[value as usize].bits;
    for (at, (watch, found)) in step.watch.iter().zip(found).enumerate() {
        // f16 is computed as f32 and converted: this is one operation, which reports a condition only once
        let reported = match step.kernel.body.get(at) {
            Some(Node::Cast(DType::F16, v)) if watch.op != Op::Copy && step.watch[*v as usize].op == watch.op => {
                found_at(*v)
            }
            _ => 0,
        };
        push(warnings, (watch.op, watch.out), watch.bits, *found & !reported);
    }
}

/// The report of a nest. Its scratch memory is gone, so the stages run again, and each is evaluated again after it
/// has run. If that would change results, because the nest overwrites what it reads, the values in scratch memory are
/// lost.
pub(crate) fn nest(engine: &dyn Host, launch: &NestLaunch<'_>, nest: &NestStep, met: u8, warnings: &mut Vec<Warning>) {
    let mut scratch = WholeScratch::new(launch);
    let again = repeats(nest);
    let everywhere: Vec<BaseId> = nest.stages.iter().flat_map(|s| written_bases(&s.step)).collect();
    for (stage, part) in nest.stages.iter().zip(launch.stages) {
        let buffers = scratch.buffers(part);
        let (executable, part) = (part.executable, Launch { buffers: &buffers, ..part.launch });
        let lost = if again { written_bases(&stage.step) } else { everywhere.clone() };
        let own = if again { run(engine, &Work::Kernel(executable, &part, None)) } else { Ok(met) };
        let Ok(own) = own else { return };
        let gone = Gone { bases: &lost, before: &Overwritten::default() };
        if let Some(found) = audited(engine, executable, &part, &stage.step, met & own, &gone) {
            push_found(&stage.step, &found, warnings);
        }
    }
}

/// Whether a nest gives the same results when it runs again. It does not if a stage reads memory that this or a later
/// stage writes and that no earlier stage has written completely.
fn repeats(nest: &NestStep) -> bool {
    let touches = |base: BaseId| {
        nest.stages.iter().enumerate().flat_map(move |(at, stage)| {
            let args = stage.step.kernel.args.iter().zip(&stage.step.bases).enumerate();
            let own = args.filter(move |(_, (arg, b))| arg.kind != ArgKind::Index && **b == base);
            own.map(move |(arg, _)| (at, &stage.step, arg))
        })
    };
    let reads = |step: &KernelStep, arg: usize| matches!(step.kernel.args[arg].kind, ArgKind::Load | ArgKind::Gather);
    // the bytes from the first to the last element, and whether the argument covers all of them
    let reach = |step: &KernelStep, arg: usize| {
        let (place, size) = (&step.geometry.args[arg], step.kernel.args[arg].dtype.size() as i64);
        let (low, high) = place.reach(&step.geometry.extents);
        let own = step.geometry.extents.iter().zip(&place.strides).filter(|(_, stride)| **stride != 0);
        let whole = own.map(|(&n, _)| n).product::<i64>() * size == high + size - low;
        (low..high + size, whole)
    };
    // whether the first stage that uses a base writes all of it that is used
    let made_anew = |base: BaseId| {
        let Some((first, step, arg)) = touches(base).next() else { return true };
        let (made, whole) = reach(step, arg);
        let mut later = touches(base).skip(1);
        whole
            && !reads(step, arg)
            && later.all(|(at, step, arg)| {
                let (used, _) = reach(step, arg);
                at > first
                    && step.kernel.args[arg].kind != ArgKind::Gather
                    && made.start <= used.start
                    && used.end <= made.end
            })
    };
    // scratch memory holds nothing at the beginning
    let fresh = |base: BaseId| nest.scratch.iter().any(|s| s.base == base);
    nest.stages.iter().enumerate().all(|(at, stage)| {
        let written = written_bases(&stage.step);
        let read = |base: BaseId| touches(base).any(|(reader, step, arg)| reader <= at && reads(step, arg));
        written.iter().all(|&base| fresh(base) || !read(base) || made_anew(base))
    })
}

/// The bases that a kernel writes.
fn written_bases(step: &KernelStep) -> Vec<BaseId> {
    let writes = |kind| matches!(kind, ArgKind::Store | ArgKind::Reduced);
    let args = step.kernel.args.iter().zip(&step.bases);
    let own = args.filter(|(arg, _)| writes(arg.kind)).map(|(_, &base)| base);
    own.chain(step.puts.iter().map(|put| put.target)).collect()
}

/// The bases whose values at the launch cannot be read any more, and the copies that exist of some.
struct Gone<'a> {
    bases: &'a [BaseId],
    before: &'a Overwritten,
}

/// The conditions that the values of a kernel meet.
fn audited(
    engine: &dyn Host,
    executable: &dyn Executable,
    launch: &Launch<'_>,
    step: &KernelStep,
    met: u8,
    gone: &Gone<'_>,
) -> Option<Vec<u8>> {
    let wanted: Vec<u8> = step.watch.iter().map(|w| w.bits & met).collect();
    // if the evaluation fails, the launch itself has still succeeded
    let audit = |buffers: &[Buffer]| engine.audit(executable, &Launch { buffers, ..*launch }, &wanted);
    let mut found = gone.before.with(engine, launch.buffers, audit).flatten().ok()?;
    let lost = lost_values(step, gone);
    if lost.contains(&true) {
        guess(step, &wanted, &lost, &mut found);
    }
    Some(found)
}

/// The results of earlier evaluations of a step. A loop that meets the same conditions in every iteration would pay
/// for a second evaluation in each; after several equal results, only some iterations do.
#[derive(Default)]
pub(crate) struct AuditCache {
    /// The conditions of the launch that was evaluated last, and the result.
    met: u8,
    found: Vec<u8>,
    /// How many evaluations in a row had this result.
    equal: u32,
    /// How many launches may still use it.
    uses_left: u32,
}

impl AuditCache {
    /// A result is used again after this many equal ones.
    const TRUSTED: u32 = 3;
    /// With fewer points, an evaluation is so fast that it is always done.
    const SMALL: i64 = 1 << 14;

    /// Whether the last result may be used for a launch that met `met`. Counts this use.
    fn serves(&mut self, met: u8) -> bool {
        let serves = self.uses_left > 0 && self.met == met;
        self.uses_left = if serves { self.uses_left - 1 } else { 0 };
        serves
    }

    /// Keeps the result of an evaluation.
    fn keep(&mut self, met: u8, found: Vec<u8>, points: i64) {
        let again = self.met == met && self.found == found && found.iter().any(|f| *f != 0);
        self.equal = if again { self.equal + 1 } else { 0 };
        (self.met, self.found) = (met, found);
        let trusted = points >= AuditCache::SMALL && self.equal >= AuditCache::TRUSTED;
        self.uses_left = if trusted { 1 << (self.equal - AuditCache::TRUSTED).min(6) } else { 0 };
    }
}

/// The values that cannot be evaluated again, because the launch has overwritten the operands that they come from.
fn lost_values(step: &KernelStep, gone: &Gone<'_>) -> Vec<bool> {
    let kernel = &step.kernel;
    let written = |arg: u32| gone.bases.contains(&step.bases[arg as usize]) && !gone.before.has(arg);
    let mut lost = Vec::with_capacity(step.watch.len());
    for node in &kernel.body {
        lost.push(match node {
            Node::Load(arg) => written(*arg),
            Node::Gather { arg, index, .. } => written(*arg) || lost[*index as usize],
            Node::Param(_) | Node::Index(_) => false,
            Node::Cast(_, v) => lost[*v as usize],
            Node::Op(_, _, ins) => ins.iter().any(|&v| lost[v as usize]),
        });
    }
    kernel.reductions.iter().for_each(|r| lost.push(lost[r.value as usize]));
    lost
}

/// Names the most likely of the lost values for each condition that no other value explains. Names none if an
/// operation that does not report the condition is more likely.
fn guess(step: &KernelStep, wanted: &[u8], lost: &[bool], found: &mut [u8]) {
    for condition in [warn::DIVIDE, warn::OVER, warn::UNDER, warn::INVALID] {
        let explained = found.iter().zip(lost).any(|(f, lost)| f & condition != 0 && !lost);
        found.iter_mut().zip(lost).filter(|(_, lost)| **lost).for_each(|(f, _)| *f &= !condition);
        // a maximum raises the flag for a NaN that was there before
        let extreme = |n: &Node| matches!(n, Node::Op(Op::Maximum | Op::Minimum | Op::Fmax | Op::Fmin, ..));
        if explained || condition == warn::INVALID && step.kernel.body.iter().any(extreme) {
            continue;
        }
        let likely = |v: usize| likelihood(step.watch[v].op, condition);
        let raises =
            |v: &usize| matches!(&step.kernel.body[*v], Node::Op(op, ty, _) if op.raises(*ty) & condition != 0);
        let silent = (0..step.kernel.body.len()).filter(|&v| step.watch[v].bits & condition == 0).filter(raises);
        let silent = silent.map(likely).max();
        let candidates = (0..wanted.len()).filter(|&v| lost[v] && wanted[v] & condition != 0);
        if let Some(v) = candidates.max_by_key(|&v| (likely(v), std::cmp::Reverse(v)))
            && silent <= Some(likely(v))
        {
            found[v] |= condition;
        }
    }
}

/// How likely an operation is to meet a condition, compared with others.
fn likelihood(op: Op, condition: u8) -> u8 {
    match op {
        Op::Add | Op::Subtract | Op::Sum => 0,
        Op::Multiply | Op::Square | Op::Prod => 1,
        Op::Divide | Op::Reciprocal | Op::FloorDivide | Op::Remainder | Op::Fmod if condition == warn::OVER => 1,
        Op::Divide | Op::Reciprocal | Op::FloorDivide | Op::Remainder | Op::Fmod => 2,
        // functions that have a domain or grow fast
        _ => 3,
    }
}
