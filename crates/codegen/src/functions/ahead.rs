//! Iterations that are done ahead: each such loop becomes a function of its own, which does some iterations at a time.
//!
//! In: [`Ahead`]. Out: the function, which is compiled when it is first needed ([`Outlined`]), and the call of the host
//! ([`Host::run_ahead`](super::Host)) that runs it. Not here: how many iterations at a time, undoing them, threads.
//!
//! The function gets the address of words: the first iteration and the one to stop before, the values that change from
//! iteration to iteration, the values of the code around that it uses, and, if stores keep what they overwrite, for
//! each written part of an array how far behind its elements they keep them. It replaces the first word by zero if all
//! iterations have been done, otherwise by one, and the values by those after the last iteration.
//!
//! Its loops have no exits as a rule, so that LLVM can vectorize them. It knows which array each access goes to, and
//! that what is written is not part of another array: the host looks at that before.

use super::covering::Covering;
use super::emit::{Emit, Place as CodePlace};
use super::squares::Before;
use super::{Machine, RUN_AHEAD, Table, squares};
use crate::builder::{Block, Int, Ty, Val};
use numelt_func::{
    Ahead, Carried, Function, Indices, Instr, Label, Linear, Value, has_polls, iterations_ahead, only_polls_stop, uses,
    writes_in_branches,
};
use numelt_ir::Result;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;

/// Iterations with fewer instructions than this are not worth a call of the host.
const LEAST: u64 = 12_000;
/// The same for iterations that write under conditions. They are not vectorized, and gain a third, not a multiple.
const LEAST_IN_BRANCHES: u64 = 60_000;

/// What stands for [`Carried::Added`] where otherwise a size in bytes is passed.
const ADDED: usize = 64;

/// Words before the values that change from iteration to iteration.
const HEAD: usize = 2;

/// Iterations ahead that become a function of their own.
pub(super) struct Outlined<'a> {
    pub(super) ahead: &'a Ahead,
    /// The values of the code around that it uses.
    captured: Vec<Value>,
    /// Constants among these values.
    constants: Vec<(Value, u64)>,
    /// Are polls the only reason for which an iteration is given up?
    only_polls_stop: bool,
    /// What is known if stores keep what they overwrite.
    covering: Option<Covering<'a>>,
}

/// The iterations that a function does ahead, in the order in which they stand there.
pub(super) fn outlined(function: &Function) -> Vec<Outlined<'_>> {
    let mut constants = HashMap::new();
    collect(&function.body, &mut constants);
    let outline = |ahead: &'_ Ahead| {
        let (defined, used) = uses(&ahead.body);
        let outer = used.into_iter().filter(|value| !defined.contains(value) && !ahead.params.contains(value));
        let (known, captured) = outer.partition::<Vec<Value>, _>(|value| constants.contains_key(value));
        (captured, known.into_iter().map(|value| (value, constants[&value])).collect())
    };
    iterations_ahead(&function.body)
        .into_iter()
        .map(|ahead| {
            let (captured, constants) = outline(ahead);
            let only_polls_stop = only_polls_stop(function, &ahead.body) && !ahead.carried.contains(&Carried::Added);
            let covering = if only_polls_stop { None } else { Covering::of(ahead) };
            Outlined { ahead, captured, constants, only_polls_stop, covering }
        })
        .collect()
}

/// The constants outside of iterations done ahead.
fn collect(body: &[Instr], constants: &mut HashMap<Value, u64>) {
    for instr in body {
        match instr {
            Instr::Const { out, bits } => {
                constants.insert(*out, *bits);
            }
            Instr::If { then, otherwise, .. } => {
                collect(then, constants);
                collect(otherwise, constants);
            }
            Instr::Block { body, .. } | Instr::Loop { body, .. } => collect(body, constants),
            _ => {}
        }
    }
}

/// What is known while the function is being written.
pub(super) struct AheadFunction<'a> {
    pub(super) ahead: &'a Ahead,
    /// Whether a condition has been met for which the iterations have to be given up; on the stack.
    is_suspect: Val,
    given_up: Block,
    /// Does it poll?
    pub(super) polls: bool,
    /// For each array: where the element that would be the first one is kept, if stores keep what they overwrite.
    kept: Vec<Option<Val>>,
    /// The squares that have been computed before the other instructions, if there are any.
    pub(super) strip: Option<squares::Strip>,
    /// The squares that are the same in all iterations.
    pub(super) constant: HashMap<Value, Val>,
    /// The loop around, if its iterations are independent.
    independent: Option<Label>,
}

/// Iterations that are to be done ahead, as the host sees them.
#[derive(Debug)]
pub struct Job {
    /// The code that does iterations, on the words below.
    pub code: IterationsCode,
    /// What the function reads: the first iteration and the one to stop before, the values that change, and others.
    /// Into the first word it writes whether it has given up, and then nothing else has changed but memory.
    pub words: *mut u64,
    /// The number of words.
    pub count: usize,
    /// How many values change from iteration to iteration; they come after the first two words.
    pub changing: usize,
    /// The iterations to run.
    pub iterations: Range<i64>,
    /// About how many instructions each iteration has.
    pub work: i64,
    /// Does no iteration depend on what another one does?
    pub is_free: bool,
    /// Are polls the only reason for which an iteration is given up? If they are ignored, nothing has to be undone.
    pub only_polls_stop: bool,
    /// Does the code rely on it that no two elements of a written array share memory?
    pub needs_plain: bool,
    /// What iterations make of each value that changes from iteration to iteration.
    pub carried: SmallVec<[Change; 16]>,
    /// The arrays that iterations use.
    pub arrays: SmallVec<[ArrayMemory; 8]>,
    /// What iterations write.
    pub written: SmallVec<[Place; 4]>,
}

/// What iterations make of a value: [`Carried`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Each iteration makes a new one.
    Assigned,
    /// An iteration makes a new one, or hands on the one that it got, which has so many bytes.
    Kept(usize),
    /// An iteration adds to it.
    Added,
}

/// The code of iterations that are done ahead, which may still have to be compiled.
#[derive(Debug)]
pub struct IterationsCode(Option<(*const Table, usize)>);

impl IterationsCode {
    /// No code.
    pub fn none() -> IterationsCode {
        IterationsCode(None)
    }

    /// Has the code been compiled, or fetched?
    pub fn is_ready(&self) -> bool {
        // SAFETY: as in `get`.
        self.0.is_some_and(|(table, number)| unsafe { &*table }.is_ready(number))
    }

    /// The code, for which there are so many instructions to run now. `None` if there have not been enough of them for
    /// the code to be compiled, or if that has failed.
    pub fn get(&self, work: u64) -> Option<Machine> {
        let (table, number) = self.0?;
        // SAFETY: `Compiled::run` has put the address there, of a table that lives as long as the code that runs, and
        // `Job::read` is called by that code.
        unsafe { &*table }.function(number, work)
    }
}

/// An array that iterations use.
#[derive(Debug, Clone)]
pub struct ArrayMemory {
    /// Where it is.
    pub address: u64,
    /// The size of an element in bytes.
    pub size: usize,
    /// Of each axis the extent, and the distance of elements in bytes.
    pub axes: SmallVec<[(i64, i64); 4]>,
}

/// The part of an array that iterations write.
#[derive(Debug, Clone)]
pub struct Place {
    /// Which array.
    pub array: usize,
    /// Of each axis: which indices.
    pub indices: SmallVec<[Span; 4]>,
    /// If stores keep what they overwrite: how many elements an iteration writes, each of them once.
    pub elements: Option<i64>,
}

/// Indices along an axis. A number that depends on the iteration is that of iteration zero, and how much greater it is
/// in each next iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// One.
    At((i64, i64)),
    /// All from the first one to the second one. `None`: the first or the last element of the axis.
    Within([Option<(i64, i64)>; 2]),
}

impl Job {
    /// Reads what compiled code passes to [`Host::run_ahead`](super::Host).
    ///
    /// # Safety
    /// These are the words that compiled code has passed, during that call.
    pub unsafe fn read(mut words: *const u64) -> Job {
        // SAFETY: the caller's promise; `call` writes the words in this order.
        let mut next = || unsafe {
            let word = *words;
            words = words.add(1);
            word as i64
        };
        let table = next() as *const Table;
        let code = IterationsCode(Some((table, next() as usize)));
        let pointer = next() as *mut u64;
        let (count, changing) = (next() as usize, next() as usize);
        let iterations = next()..next();
        let (work, is_free, only_polls_stop, needs_plain) = (next(), next() != 0, next() != 0, next() != 0);
        let (arrays, written) = (next(), next());
        let carried = (0..changing).map(|_| match next() as usize {
            0 => Change::Assigned,
            ADDED => Change::Added,
            size => Change::Kept(size),
        });
        let carried = carried.collect();
        let arrays = (0..arrays).map(|_| {
            let (address, size, axes) = (next() as u64, next() as usize, next());
            ArrayMemory { address, size, axes: (0..axes).map(|_| (next(), next())).collect() }
        });
        let arrays: SmallVec<[ArrayMemory; 8]> = arrays.collect();
        let written = (0..written).map(|_| {
            let array = next() as usize;
            let elements = Some(next()).filter(|elements| *elements >= 0);
            let indices = arrays[array].axes.iter().map(|_| {
                let is_one = next() != 0;
                let bounds = [(); 2].map(|()| {
                    let (is_known, first, step) = (next() != 0, next(), next());
                    is_known.then_some((first, step))
                });
                match bounds {
                    [Some(index), _] if is_one => Span::At(index),
                    bounds => Span::Within(bounds),
                }
            });
            Place { array, indices: indices.collect(), elements }
        });
        let written = written.collect();
        let words = pointer;
        Job {
            code,
            words,
            count,
            changing,
            iterations,
            work,
            is_free,
            only_polls_stop,
            needs_plain,
            carried,
            arrays,
            written,
        }
    }
}

/// Writes the call, which gives the values after the iterations done ahead.
pub(super) fn call<'a>(emit: &mut Emit<'a>, outlined: &Outlined<'a>, number: usize) -> Result<()> {
    let b = emit.b;
    let word = b.int(64);
    let Outlined { ahead, captured, covering, .. } = outlined;
    let place = emit.place(&ahead.outs);
    let (end, phis) = (place.block, place.phis.clone());
    let (calls, skips) = (b.block(c"ahead"), b.block(c"skip"));
    let iterations = b.sub(emit.get(ahead.count), emit.get(ahead.starts[0]));
    let work = b.mul(iterations, emit.get(ahead.work));
    let least = if writes_in_branches(&ahead.body) { LEAST_IN_BRANCHES } else { LEAST };
    b.branch(b.icmp(Int::LLVMIntSGE, work, b.const_int(word, least)), calls, skips);
    b.enter(skips);
    emit.go_to(&place, &ahead.starts);
    b.enter(calls);
    // the words of the function
    let count = outlined.first_distance() + if covering.is_some() { ahead.written.len() } else { 0 };
    let words = b.scratch(b.array(word, count as u64));
    let at = |words: Val, number: usize| b.element(word, words, b.const_int(word, number as u64));
    for (k, value) in ahead.starts[1..].iter().chain(captured).enumerate() {
        b.store(emit.as_word(*value), at(words, HEAD + k), 8);
    }
    for instr in covering.iter().flat_map(|covering| &covering.slice) {
        emit.instr(instr)?;
    }
    // the words of the call
    let which = number;
    let number = |number: usize| b.const_int(word, number as u64);
    let which = match ahead.is_brief.filter(|_| has_polls(&ahead.body)) {
        Some(is_brief) => b.select(emit.get(is_brief), number(2 * which + 1), number(2 * which)),
        None => number(2 * which),
    };
    let mut job = vec![
        b.load(word, emit.word(emit.function.params.len()), 8),
        which,
        b.address(words),
        number(count),
        number(ahead.params.len() - 1),
        emit.get(ahead.starts[0]),
        emit.get(ahead.count),
        emit.get(ahead.work),
        number(ahead.is_free.into()),
        number(outlined.only_polls_stop.into()),
        number((!ahead.independent.is_empty()).into()),
        number(ahead.arrays.len()),
        number(ahead.written.len()),
    ];
    let size = |param: &Value| emit.ty(*param).size();
    let carried = ahead.params[1..].iter().zip(&ahead.carried);
    job.extend(carried.map(|(param, carried)| {
        number(match carried {
            Carried::Assigned => 0,
            Carried::Kept => size(param),
            Carried::Added => ADDED,
        })
    }));
    for array in &ahead.arrays {
        job.extend([emit.get(array.address), number(array.size as usize), number(array.axes.len())]);
        job.extend(array.axes.as_flattened().iter().map(|value| emit.get(*value)));
    }
    for (k, written) in ahead.written.iter().enumerate() {
        job.push(number(written.array));
        job.push(match covering {
            Some(covering) => covering.counts[k].iter().fold(number(1), |all, count| b.mul(all, emit.get(*count))),
            None => b.const_int(word, u64::MAX),
        });
        for indices in &written.indices {
            let (is_one, bounds) = match *indices {
                Indices::At(index) => (true, [Some(index), None]),
                Indices::Within(bounds) => (false, bounds),
            };
            job.push(number(is_one.into()));
            for bound in bounds {
                let (first, step) = bound.map_or((number(0), 0), |(first, step): Linear| (emit.get(first), step));
                job.extend([number(bound.is_some().into()), first, b.const_int(word, step as u64)]);
            }
        }
    }
    let call = b.scratch(b.array(word, job.len() as u64));
    for (k, val) in job.into_iter().enumerate() {
        b.store(val, at(call, k), 8);
    }
    let done = b.call_host(RUN_AHEAD, word, &[call]);
    b.incoming(phis[0], done, b.current());
    for (k, (phi, out)) in phis.iter().zip(&ahead.outs).enumerate().skip(1) {
        let val = emit.load(at(words, HEAD + k - 1), emit.ty(*out), 8);
        b.incoming(*phi, val, b.current());
    }
    b.jump(end);
    emit.finish_place(end, &ahead.outs, &phis);
    Ok(())
}

impl Outlined<'_> {
    /// The first of the words that say where stores keep what they overwrite.
    fn first_distance(&self) -> usize {
        HEAD + self.ahead.params.len() - 1 + self.captured.len()
    }
}

/// Writes the function.
pub(super) fn generate<'a>(emit: &mut Emit<'a>, outlined: &Outlined<'a>, polls: bool) -> Result<()> {
    let b = emit.b;
    let (word, byte, ahead) = (b.int(64), b.int(8), outlined.ahead);
    let is_suspect = b.allot(byte);
    b.store(b.const_int(byte, 0), is_suspect, 1);
    let (from, to) = (b.load(word, emit.word(0), 8), b.load(word, emit.word(1), 8));
    for (k, value) in ahead.params[1..].iter().chain(&outlined.captured).enumerate() {
        emit.set_from_word(*value, HEAD + k);
    }
    for (value, bits) in &outlined.constants {
        let val = emit.constant(emit.ty(*value), *bits);
        emit.set(*value, val);
    }
    let mut kept = vec![None; ahead.arrays.len()];
    if outlined.covering.is_some() {
        for (k, written) in ahead.written.iter().enumerate() {
            let distance = b.load(word, emit.word(outlined.first_distance() + k), 8);
            let address = emit.get(ahead.arrays[written.array].address);
            kept[written.array] = Some(b.pointer_to(b.add(address, distance)));
        }
    }
    let (iteration, done, given_up) = (b.block(c"iteration"), b.block(c"done"), b.block(c"give_up"));
    let (strip, constant, independent) = (None, HashMap::new(), None);
    emit.iterations = Some(AheadFunction { ahead, is_suspect, given_up, polls, kept, strip, constant, independent });
    emit.set(ahead.params[0], from);
    let before = squares::of(ahead, &|value| emit.constants.get(&value) == Some(&2.0f64.to_bits()));
    squares::compute_constant(emit, &before)?;
    let outer = if before.has_no_strips() { None } else { Some(strips(emit, &before, to, done)?) };
    let (to, end) = outer.as_ref().map_or((to, done), |strips| (strips.to, strips.next));
    let place = emit.place(&ahead.params);
    let (head, phis) = (place.block, place.phis.clone());
    emit.go_to(&place, &ahead.params);
    emit.places.insert(ahead.label, place);
    emit.finish_place(head, &ahead.params, &phis);
    b.branch(b.icmp(Int::LLVMIntSLT, phis[0], to), iteration, end);
    b.enter(iteration);
    let around = begin_loop(emit, ahead.label, &ahead.params);
    emit.body(&ahead.body)?;
    end_loop(emit, around);
    if let Some(strips) = outer {
        b.enter(strips.next);
        emit.go_to(&strips.place, &ahead.params);
        let phis = strips.place.phis;
        ahead.params.iter().zip(&phis).for_each(|(param, phi)| emit.set(*param, *phi));
    }
    b.enter(done);
    for (k, param) in ahead.params[1..].iter().enumerate() {
        emit.set_word(HEAD + k, *param);
    }
    b.store(b.zext(b.load(byte, is_suspect, 1), word), emit.word(0), 8);
    b.ret();
    b.enter(given_up);
    b.store(b.const_int(word, 1), emit.word(0), 8);
    b.ret();
    Ok(())
}

/// The loop over the strips into which iterations are divided.
struct Strips {
    place: CodePlace,
    /// The iteration to stop before.
    to: Val,
    /// Where the next strip begins.
    next: Block,
}

/// Begins a loop over strips, and computes what is computed before one.
fn strips<'a>(emit: &mut Emit<'a>, before: &Before<'a>, to: Val, done: Block) -> Result<Strips> {
    let b = emit.b;
    let params = &emit.iterations.as_ref().expect("set by the caller").ahead.params;
    let place = emit.place(params);
    let (head, phis) = (place.block, place.phis.clone());
    emit.go_to(&place, params);
    emit.finish_place(head, params, &phis);
    let (strip, next) = (b.block(c"strip"), b.block(c"next"));
    b.branch(b.icmp(Int::LLVMIntSLT, phis[0], to), strip, done);
    b.enter(strip);
    let to = squares::prepare(emit, before, phis[0], to)?;
    emit.set(params[0], phis[0]);
    Ok(Strips { place, to, next })
}

/// Notes a suspicion.
pub(super) fn suspect(emit: &Emit<'_>, condition: Value) {
    let (b, byte) = (emit.b, emit.b.int(8));
    let iterations = emit.iterations.as_ref().expect("suspicions stand in iterations done ahead");
    let before = b.load(byte, iterations.is_suspect, 1);
    // LLVM vectorizes loops with this, but not with a choice
    let now = b.or(before, b.zext(emit.get(condition), byte));
    b.store(now, iterations.is_suspect, 1);
}

/// Ends the function without having done its iterations.
pub(super) fn give_up(emit: &Emit<'_>) {
    emit.b.jump(given_up(emit));
}

/// Where the function ends without having done its iterations.
pub(super) fn given_up(emit: &Emit<'_>) -> Block {
    emit.iterations.as_ref().expect("only iterations done ahead are given up").given_up
}

/// Notes that a loop begins. Returns the one around, if its iterations are independent.
pub(super) fn begin_loop(emit: &mut Emit<'_>, label: Label, params: &[Value]) -> Option<Label> {
    let iterations = emit.iterations.as_mut()?;
    let is_independent = params.first().is_some_and(|position| iterations.ahead.independent.contains(position));
    std::mem::replace(&mut iterations.independent, is_independent.then_some(label))
}

/// Notes that a loop has ended. `around` is what [`begin_loop`] has returned.
pub(super) fn end_loop(emit: &mut Emit<'_>, around: Option<Label>) {
    if let Some(iterations) = &mut emit.iterations {
        iterations.independent = around;
    }
}

/// Says of a jump to the next iteration of a loop whether its iterations are independent.
pub(super) fn note_next(emit: &Emit<'_>, jump: Val, label: Label) {
    note_independent(emit, jump, |around| around == label);
}

/// Says of an instruction that it is part of a loop with independent iterations, if it is, and of the loop in question.
pub(super) fn note_independent(emit: &Emit<'_>, instruction: Val, is_it: impl Fn(Label) -> bool) {
    let around = emit.iterations.as_ref().and_then(|iterations| iterations.independent);
    if let Some(Label(number)) = around.filter(|around| is_it(*around)) {
        emit.b.set_independent(instruction, number);
    }
}

/// The array to which an address belongs, and the distances of which it is made, in the order in which they were added.
fn path(emit: &Emit<'_>, address: Value) -> Option<(usize, Vec<Value>)> {
    let iterations = emit.iterations.as_ref()?;
    let mut distances = Vec::new();
    let mut start = address;
    loop {
        let found = iterations.ahead.arrays.iter().position(|array| array.address == start);
        match (found, emit.sums.get(&start)) {
            (None, Some([before, distance])) => {
                distances.push(*distance);
                start = *before;
            }
            (found, _) => break found.map(|piece| (piece, distances.into_iter().rev().collect())),
        }
    }
}

/// The pointer that an address is, and to which array it belongs. In iterations done ahead it is written as what it was
/// made from: the address of the array and distances, which is what LLVM's analyses understand.
pub(super) fn pointer(emit: &Emit<'_>, address: Value) -> (Val, Option<usize>) {
    let (Some(iterations), Some((piece, distances))) = (&emit.iterations, path(emit, address)) else {
        return (emit.b.pointer_to(emit.get(address)), None);
    };
    let start = emit.b.pointer_to(emit.get(iterations.ahead.arrays[piece].address));
    let inside = |pointer, distance| emit.b.offset_inside(pointer, emit.get(distance));
    (distances.into_iter().fold(start, inside), Some(piece))
}

/// Keeps the element that is about to be overwritten, if stores do that. `ty` is its type in memory.
pub(super) fn keep(emit: &Emit<'_>, address: Value, ty: Ty, align: u32) {
    let (Some(iterations), Some((piece, distances))) = (&emit.iterations, path(emit, address)) else { return };
    let Some(start) = iterations.kept[piece] else { return };
    let b = emit.b;
    let old = b.load(ty, pointer(emit, address).0, align);
    note(emit, old, Some(piece), false);
    let place = distances.into_iter().fold(start, |place, distance| b.offset(place, emit.get(distance)));
    let store = b.store_instruction(old, place, align);
    let arrays = iterations.ahead.arrays.len();
    b.set_piece(store, arrays + piece, &(0..arrays).collect::<Vec<_>>());
    note_independent(emit, store, |_| true);
}

/// Says of a load or store which array it goes to.
pub(super) fn note(emit: &Emit<'_>, access: Val, piece: Option<usize>, is_store: bool) {
    let (Some(iterations), Some(piece)) = (&emit.iterations, piece) else { return };
    let arrays = iterations.ahead.arrays.len();
    let is_written = |array: &usize| iterations.ahead.written.iter().any(|written| written.array == *array);
    let others = (0..arrays).filter(|other| *other != piece && (is_store || is_written(other)));
    let kept = (0..arrays).filter(|array| iterations.kept[*array].is_some()).map(|array| arrays + array);
    emit.b.set_piece(access, piece, &others.chain(kept).collect::<Vec<_>>());
    note_independent(emit, access, |_| true);
}
