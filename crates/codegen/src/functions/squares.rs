//! Squares of iterations ahead, as the C library's `pow` computes them, for many iterations at a time.
//!
//! `x ** 2` of a float is `pow(x, 2.0)`. This is the exact square rounded, unless the exact square is so close to the
//! middle of two numbers that the error of `pow` decides ([`Emit::square`]). This is so for three numbers in a hundred,
//! and a branch that no processor foresees then calls `pow`. In a loop that cannot be vectorized, checks and branches
//! take several times as long as the rest.
//!
//! Therefore iterations ahead are divided into *strips*. Before a strip, a loop of its own, which LLVM vectorizes,
//! computes the numbers to be squared in all iterations of the strip. Then the host squares them
//! ([`numelt_vecmath::squares`]). The elements that the next strip reads are requested from memory meanwhile.
//!
//! Squares of numbers that are the same in all iterations are computed once, before the first one.
//!
//! In: iterations ahead, for strips without inner loops. Out: their squares that depend on the number of the iteration,
//! on loop-invariant values and on arrays that the iterations do not write; and the code that is described above.

use super::emit::Emit;
use crate::builder::{Int, Val};
use numelt_func::{Ahead, CFunction, Instr, Value, uses};
use numelt_ir::{DType, Op, Result};
use numelt_vecmath::squares::{MOST_ROWS, ROW};
use std::collections::{BTreeSet, HashMap};

/// Numbers that take more operations are not computed twice.
const MOST: usize = 24;

/// So many floats lie in a cache line.
const PER_LINE: u64 = 8;

/// What the code of a strip calls.
pub(super) const SQUARES: &str = "numelt_squares";

/// A number that each iteration computes before a strip.
struct Early<'a> {
    number: Value,
    /// The instructions that compute it, with their results.
    slice: Vec<(Value, &'a Instr)>,
}

/// What is computed before a strip, or before all iterations.
#[derive(Default)]
pub(super) struct Before<'a> {
    /// The squares that are the same in all iterations, with the instructions that compute them.
    constant: Vec<(Value, Vec<&'a Instr>)>,
    /// The squares of a strip, with the numbers to be squared.
    squares: Vec<(Value, Early<'a>)>,
    /// The addresses of elements that are read, one of each array.
    elements: Vec<Early<'a>>,
}

impl Before<'_> {
    /// Is nothing computed before a strip?
    pub(super) fn has_no_strips(&self) -> bool {
        self.squares.is_empty()
    }
}

/// The squares of iterations ahead that can be computed before the other instructions. `is_two` tells which values
/// from outside are 2.0.
pub(super) fn of<'a>(ahead: &'a Ahead, is_two: &dyn Fn(Value) -> bool) -> Before<'a> {
    let inside = uses(&ahead.body).0;
    let search = || Search { ahead, inside: inside.clone(), makers: HashMap::new(), order: vec![], is_guarded: false };
    let (mut constant, mut all) = (Vec::new(), search());
    all.constant(&ahead.body, is_two, false, &mut constant);
    let (squares, elements) = search().of_strips(&constant, is_two);
    Before { constant, squares, elements }
}

fn has_loops(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::Block { .. } | Instr::Loop { .. } => true,
        Instr::If { then, otherwise, .. } => has_loops(then) || has_loops(otherwise),
        _ => false,
    })
}

fn has_jumps(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::Again { .. } | Instr::Leave { .. } => true,
        Instr::If { then, otherwise, .. } => has_jumps(then) || has_jumps(otherwise),
        _ => false,
    })
}

struct Search<'a> {
    ahead: &'a Ahead,
    /// The values that iterations define.
    inside: BTreeSet<Value>,
    /// The instructions that can run before all others, by their results, and in the order of the code.
    makers: HashMap<Value, &'a Instr>,
    order: Vec<(Value, &'a Instr)>,
    /// May iterations have been given up before? What gives them up may be the check of an index, so elements must not
    /// be read before it.
    is_guarded: bool,
}

impl<'a> Search<'a> {
    /// Finds the squares of numbers that are the same in all iterations. `is_inner`: may iterations not run the body?
    fn constant(
        &mut self,
        body: &'a [Instr],
        is_two: &dyn Fn(Value) -> bool,
        mut is_inner: bool,
        found: &mut Vec<(Value, Vec<&'a Instr>)>,
    ) {
        let is_same = |search: &Self, value: Value| value != search.ahead.params[0] && search.is_known(value);
        for instr in body {
            match instr {
                Instr::If { then, otherwise, .. } => {
                    self.constant(then, is_two, true, found);
                    self.constant(otherwise, is_two, true, found);
                    is_inner |= has_jumps(then) || has_jumps(otherwise);
                }
                Instr::Block { body, .. } | Instr::Loop { body, .. } => self.constant(body, is_two, true, found),
                Instr::Call { out, function: CFunction::Pow, args }
                    if (is_two(args[1]) || self.is_two(args[1])) && is_same(self, args[0]) =>
                {
                    let slice = self.slice(args).into_iter().map(|(_, instr)| instr);
                    found.push((*out, slice.chain([instr]).collect()));
                    self.add(*out, instr);
                }
                // a quotient that no iteration computes may meet a condition
                Instr::Apply { op: Op::Divide, .. } if is_inner => {}
                Instr::Apply { args, .. } if args.iter().all(|arg| is_same(self, *arg)) => self.look(instr),
                Instr::Convert { from, .. } | Instr::Bits { from, .. } if is_same(self, *from) => self.look(instr),
                Instr::Const { .. } => self.look(instr),
                _ => {}
            }
        }
    }

    /// Finds the squares that are computed before a strip, and the elements that they are computed from.
    fn of_strips(
        mut self,
        constant: &[(Value, Vec<&'a Instr>)],
        is_two: &dyn Fn(Value) -> bool,
    ) -> (Vec<(Value, Early<'a>)>, Vec<Early<'a>>) {
        let (mut squares, mut polls) = (Vec::new(), BTreeSet::new());
        for instr in &self.ahead.body {
            match instr {
                Instr::Poll { out, .. } => {
                    polls.insert(*out);
                }
                // in some iterations, what follows does not run
                Instr::If { then, otherwise, .. } if has_jumps(then) || has_jumps(otherwise) => break,
                Instr::If { condition, .. } => self.is_guarded |= !polls.contains(condition),
                Instr::Call { out, .. } if constant.iter().any(|(square, _)| square == out) => self.add(*out, instr),
                Instr::Call { out, function: CFunction::Pow, args } => {
                    if (is_two(args[1]) || self.is_two(args[1])) && self.is_known(args[0]) {
                        let slice = self.slice(&args[..1]);
                        if slice.len() <= MOST {
                            squares.push((*out, Early { number: args[0], slice }));
                            self.add(*out, instr);
                        }
                    }
                }
                _ => self.look(instr),
            }
        }
        if has_loops(&self.ahead.body) || squares.len() > MOST_ROWS {
            return (Vec::new(), Vec::new());
        }
        let all = squares.iter().flat_map(|(_, early)| &early.slice);
        let elements = self.elements(all.map(|(_, instr)| *instr));
        (squares, elements)
    }

    fn add(&mut self, out: Value, instr: &'a Instr) {
        self.makers.insert(out, instr);
        self.order.push((out, instr));
    }

    /// Is a value the same in all iterations, or made by instructions that can run before all others?
    fn is_known(&self, value: Value) -> bool {
        let params = &self.ahead.params;
        let is_outer = !self.inside.contains(&value) && !params[1..].contains(&value);
        is_outer || value == params[0] || self.makers.contains_key(&value)
    }

    /// Is it the constant 2.0?
    fn is_two(&self, value: Value) -> bool {
        match self.makers.get(&value) {
            Some(Instr::Const { bits, .. }) => *bits == 2.0f64.to_bits(),
            Some(Instr::Convert { from, .. }) => {
                matches!(self.makers.get(from), Some(Instr::Const { bits: 2, .. }))
            }
            _ => false,
        }
    }

    /// Adds an instruction if it can run before all others.
    fn look(&mut self, instr: &'a Instr) {
        let (out, is_known) = match instr {
            Instr::Const { out, .. } => (*out, true),
            Instr::Convert { out, from } | Instr::Bits { out, from } => (*out, self.is_known(*from)),
            Instr::Apply { out, op, on, args } => {
                (*out, is_simple(*op, *on) && args.iter().all(|arg| self.is_known(*arg)))
            }
            Instr::Load { out, address } => (*out, !self.is_guarded && self.is_unwritten(*address)),
            _ => return,
        };
        if is_known {
            self.add(out, instr);
        }
    }

    /// Is an address known, and that of an element of an array that the iterations do not write?
    fn is_unwritten(&self, address: Value) -> bool {
        let is_written = |found| self.ahead.written.iter().any(|written| written.array == found);
        self.is_known(address) && self.array_of(address).is_some_and(|found| !is_written(found))
    }

    /// The array to which an address belongs.
    fn array_of(&self, address: Value) -> Option<usize> {
        let mut start = address;
        loop {
            let found = self.ahead.arrays.iter().position(|array| array.address == start);
            if found.is_some() {
                return found;
            }
            match self.makers.get(&start) {
                Some(Instr::Apply { op: Op::Add, on: DType::I64, args, .. }) => start = args[0],
                _ => return None,
            }
        }
    }

    /// The addresses of elements that instructions read, one of each array, unless they depend on other elements.
    fn elements<'b>(&self, instrs: impl Iterator<Item = &'b Instr>) -> Vec<Early<'a>> {
        let mut found: Vec<(usize, Early<'a>)> = Vec::new();
        for instr in instrs {
            let Instr::Load { address, .. } = instr else { continue };
            let slice = self.slice(&[*address]);
            if let Some(array) = self.array_of(*address)
                && !found.iter().any(|(other, _)| *other == array)
                && !slice.iter().any(|(_, instr)| matches!(instr, Instr::Load { .. }))
            {
                found.push((array, Early { number: *address, slice }));
            }
        }
        found.into_iter().map(|(_, early)| early).collect()
    }

    /// The instructions that compute some values, in order, up to the squares that are computed before.
    fn slice(&self, values: &[Value]) -> Vec<(Value, &'a Instr)> {
        let (mut needed, mut open) = (BTreeSet::new(), values.to_vec());
        while let Some(value) = open.pop() {
            if !needed.insert(value) {
                continue;
            }
            match self.makers.get(&value) {
                Some(Instr::Convert { from, .. } | Instr::Bits { from, .. }) => open.push(*from),
                Some(Instr::Apply { args, .. }) => open.extend(args),
                Some(Instr::Load { address, .. }) => open.push(*address),
                _ => {}
            }
        }
        self.order.iter().filter(|(out, _)| needed.contains(out)).copied().collect()
    }
}

/// Does an operation take an instruction or two, and has a result for all operands?
fn is_simple(op: Op, on: DType) -> bool {
    let is_exact = matches!(op, Op::Add | Op::Subtract | Op::Multiply);
    match on {
        DType::F64 => is_exact || matches!(op, Op::Divide | Op::Negative | Op::Absolute),
        DType::I64 => is_exact || matches!(op, Op::Maximum | Op::Minimum | Op::Negative),
        _ => false,
    }
}

/// The numbers that have been computed for the current strip.
pub(super) struct Strip {
    /// The row of each, and its piece of memory.
    memory: HashMap<Value, (Val, usize)>,
    /// The number of the first iteration.
    first: Val,
    /// How many iterations there are.
    count: Val,
}

/// Writes the code that computes the squares that are the same in all iterations.
pub(super) fn compute_constant<'a>(emit: &mut Emit<'a>, before: &Before<'a>) -> Result<()> {
    for (square, slice) in &before.constant {
        for instr in slice {
            emit.instr(instr)?;
        }
        let val = emit.get(*square);
        emit.iterations.as_mut().expect("set by the caller").constant.insert(*square, val);
    }
    Ok(())
}

/// Writes the loops that compute the squares of the iterations from `first` to the returned number.
pub(super) fn prepare<'a>(emit: &mut Emit<'a>, before: &Before<'a>, first: Val, to: Val) -> Result<Val> {
    let b = emit.b;
    let Before { squares, elements, .. } = before;
    let word = b.int(64);
    let iterations = emit.iterations.as_mut().expect("squares are those of iterations ahead");
    let pieces = 2 * iterations.ahead.arrays.len();
    let count = b.intrinsic("llvm.smin", &[word], &[b.sub(to, first), b.const_int(word, ROW as u64)]);
    iterations.strip = Some(Strip { memory: HashMap::new(), first, count });
    request(emit, elements)?;
    let rows = |count: usize| b.scratch(b.array(b.float(64), (count * ROW) as u64));
    let (numbers, results) = (rows(squares.len()), rows(squares.len()));
    let mut done = 0;
    while done < squares.len() {
        // those that no square among them is needed for
        let is_apart = |(_, early): &&(Value, Early<'_>)| {
            !early.slice.iter().any(|(out, _)| squares[done..].iter().any(|(square, _)| square == out))
        };
        let group = &squares[done..done + squares[done..].iter().take_while(is_apart).count()];
        let early: Vec<&Early<'a>> = group.iter().map(|(_, early)| early).collect();
        write_rows(emit, &early, numbers, pieces)?;
        b.call_memory(SQUARES, &[numbers, row(emit, results, done), count, b.const_int(word, group.len() as u64)]);
        for (k, (square, _)) in group.iter().enumerate() {
            keep(emit, *square, row(emit, results, done + k), pieces + 1);
        }
        done += group.len();
    }
    Ok(b.add(first, count))
}

/// Writes a loop that requests the elements of the next strip from memory, while this one is computed: a strip reads
/// them faster than they come.
fn request<'a>(emit: &mut Emit<'a>, elements: &[Early<'a>]) -> Result<()> {
    let b = emit.b;
    if elements.is_empty() {
        return Ok(());
    }
    let word = b.int(64);
    let strip = emit.iterations.as_ref().and_then(|iterations| iterations.strip.as_ref());
    let first = strip.expect("set by the caller").first;
    let (ahead, number) = (emit.iterations.as_ref().expect("see above").ahead, |number| b.const_int(word, number));
    let (before, turn, after) = (b.current(), b.block(c"request"), b.block(c"requested"));
    b.jump(turn);
    b.enter(turn);
    let at = b.phi(word);
    b.incoming(at, number(ROW as u64), before);
    emit.set(ahead.params[0], b.add(first, at));
    for early in elements {
        for (_, instr) in &early.slice {
            emit.instr(instr)?;
        }
        b.prefetch(super::ahead::pointer(emit, early.number).0);
    }
    let next = b.add(at, number(PER_LINE));
    b.incoming(at, next, b.current());
    b.branch(b.icmp(Int::LLVMIntSLT, next, number(2 * ROW as u64)), turn, after);
    b.enter(after);
    Ok(())
}

/// The address of a row.
fn row(emit: &Emit<'_>, memory: Val, number: usize) -> Val {
    emit.b.element(emit.b.float(64), memory, emit.b.const_int(emit.b.int(64), (number * ROW) as u64))
}

/// Records where a number has been computed.
fn keep(emit: &mut Emit<'_>, number: Value, row: Val, piece: usize) {
    let strip = emit.iterations.as_mut().and_then(|iterations| iterations.strip.as_mut());
    strip.expect("set before").memory.insert(number, (row, piece));
}

/// Writes a loop that computes a row of each of these numbers.
fn write_rows<'a>(emit: &mut Emit<'a>, early: &[&Early<'a>], memory: Val, piece: usize) -> Result<()> {
    let b = emit.b;
    let word = b.int(64);
    let iterations = emit.iterations.as_ref().expect("set by the caller");
    let strip = iterations.strip.as_ref().expect("set by the caller");
    let (ahead, first, count) = (iterations.ahead, strip.first, strip.count);
    let (before, turn, after) = (b.current(), b.block(c"early"), b.block(c"computed"));
    b.jump(turn);
    b.enter(turn);
    let at = b.phi(word);
    b.incoming(at, b.const_int(word, 0), before);
    emit.set(ahead.params[0], b.add(first, at));
    let mut written = BTreeSet::new();
    for (out, instr) in early.iter().flat_map(|early| &early.slice) {
        if written.insert(*out) {
            emit.instr(instr)?;
        }
    }
    for (k, early) in early.iter().enumerate() {
        let place = b.element(b.float(64), row(emit, memory, k), at);
        let store = b.store_instruction(emit.get(early.number), place, 8);
        b.set_piece(store, piece, &(0..2 * ahead.arrays.len()).collect::<Vec<_>>());
    }
    let next = b.add(at, b.const_int(word, 1));
    b.incoming(at, next, b.current());
    b.branch(b.icmp(Int::LLVMIntSLT, next, count), turn, after);
    b.enter(after);
    Ok(())
}

/// A number, if it has been computed before the strip, or before all iterations.
pub(super) fn computed(emit: &Emit<'_>, out: Value) -> Option<Val> {
    let iterations = emit.iterations.as_ref()?;
    if let Some(val) = iterations.constant.get(&out) {
        return Some(*val);
    }
    let strip = iterations.strip.as_ref()?;
    let (memory, piece) = strip.memory.get(&out)?;
    let b = emit.b;
    let at = b.sub(emit.get(iterations.ahead.params[0]), strip.first);
    let load = b.load(b.float(64), b.element(b.float(64), *memory, at), 8);
    b.set_piece(load, *piece, &(0..2 * iterations.ahead.arrays.len()).collect::<Vec<_>>());
    super::ahead::note_independent(emit, load, |_| true);
    Some(load)
}
