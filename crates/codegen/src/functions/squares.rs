//! Squares of iterations ahead, as the C library's `pow` computes them, for many iterations at a time.
//!
//! `x ** 2` of a float is `pow(x, 2.0)`. This is the exact square rounded, unless the exact square is so close to the
//! middle of two numbers that the error of `pow` decides ([`Emit::square`]). This is so for three numbers in a hundred,
//! and a branch that no processor foresees then calls `pow`. In a loop that cannot be vectorized, checks and branches
//! take several times as long as the rest.
//!
//! Therefore iterations ahead are divided into *strips*. Before a strip, a loop of its own, which LLVM vectorizes,
//! computes the numbers to be squared in all iterations of the strip. Then the host squares them
//! ([`numelt_vecmath::squares`]).
//!
//! In: iterations ahead without inner loops. Out: their squares that depend on the number of the iteration, on
//! loop-invariant values and on arrays that the iterations do not write; and the code that is described above.

use super::emit::Emit;
use crate::builder::Val;
use numelt_func::{Ahead, CFunction, Instr, Value, uses};
use numelt_ir::{DType, Op, Result};
use numelt_vecmath::squares::{MOST_ROWS, ROW};
use std::collections::{BTreeSet, HashMap};

/// Numbers that take more operations are not computed twice.
const MOST: usize = 24;

/// What the code of a strip calls.
pub(super) const SQUARES: &str = "numelt_squares";

/// A square, and the instructions that compute the number to be squared, with their results.
pub(super) struct Square<'a> {
    out: Value,
    number: Value,
    slice: Vec<(Value, &'a Instr)>,
}

/// The squares of iterations ahead that can be computed before the other instructions. `is_two` tells which values
/// from outside are 2.0.
pub(super) fn of<'a>(ahead: &'a Ahead, is_two: &dyn Fn(Value) -> bool) -> Vec<Square<'a>> {
    let inside = uses(&ahead.body).0;
    let mut search = Search { ahead, inside, makers: HashMap::new(), order: Vec::new(), is_guarded: false };
    let (mut squares, mut polls) = (Vec::new(), BTreeSet::new());
    for instr in &ahead.body {
        match instr {
            Instr::Block { .. } | Instr::Loop { .. } => return Vec::new(),
            Instr::Poll { out, .. } => {
                polls.insert(*out);
            }
            // in some iterations, what follows does not run
            Instr::If { then, otherwise, .. } if has_jumps(then) || has_jumps(otherwise) => break,
            Instr::If { condition, .. } => search.is_guarded |= !polls.contains(condition),
            Instr::Call { out, function: CFunction::Pow, args } => {
                if (is_two(args[1]) || search.is_two(args[1])) && search.is_known(args[0]) {
                    let slice = search.slice(args[0]);
                    if slice.len() <= MOST {
                        squares.push(Square { out: *out, number: args[0], slice });
                        search.add(*out, instr);
                    }
                }
            }
            _ => search.look(instr),
        }
    }
    if has_loops(&ahead.body) || squares.len() > MOST_ROWS { Vec::new() } else { squares }
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
        let arrays = &self.ahead.arrays;
        let mut start = address;
        loop {
            if let Some(found) = arrays.iter().position(|array| array.address == start) {
                return self.is_known(address) && self.ahead.written.iter().all(|written| written.array != found);
            }
            match self.makers.get(&start) {
                Some(Instr::Apply { op: Op::Add, on: DType::I64, args, .. }) => start = args[0],
                _ => return false,
            }
        }
    }

    /// The instructions that compute a value, in order, up to the squares that are computed before.
    fn slice(&self, value: Value) -> Vec<(Value, &'a Instr)> {
        let (mut needed, mut open) = (BTreeSet::new(), vec![value]);
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

/// The squares of the current strip.
pub(super) struct Strip {
    /// The row of each square, and its piece of memory.
    memory: HashMap<Value, (Val, usize)>,
    /// The number of the first iteration.
    first: Val,
}

/// Writes the loops that compute the squares of the iterations from `first` to the returned number.
pub(super) fn prepare<'a>(emit: &mut Emit<'a>, squares: &[Square<'a>], first: Val, to: Val) -> Result<Val> {
    let b = emit.b;
    let (word, f64t) = (b.int(64), b.float(64));
    let iterations = emit.iterations.as_mut().expect("squares are those of iterations ahead");
    let (ahead, pieces) = (iterations.ahead, 2 * iterations.ahead.arrays.len());
    iterations.strip = Some(Strip { memory: HashMap::new(), first });
    let count = b.intrinsic("llvm.smin", &[word], &[b.sub(to, first), b.const_int(word, ROW as u64)]);
    let memory = || b.scratch(b.array(f64t, (squares.len() * ROW) as u64));
    let (numbers, results) = (memory(), memory());
    let at_row = |start: Val, row: usize| b.element(f64t, start, b.const_int(word, (row * ROW) as u64));
    let arrays = (0..pieces).collect::<Vec<_>>();
    let mut done = 0;
    while done < squares.len() {
        // those that no square among them is needed for
        let is_apart = |other: &&Square<'_>| {
            !other.slice.iter().any(|(out, _)| squares[done..].iter().any(|square| square.out == *out))
        };
        let group = &squares[done..done + squares[done..].iter().take_while(is_apart).count()];
        let (before, turn, after) = (b.current(), b.block(c"square"), b.block(c"squared"));
        b.jump(turn);
        b.enter(turn);
        let at = b.phi(word);
        b.incoming(at, b.const_int(word, 0), before);
        emit.set(ahead.params[0], b.add(first, at));
        let mut written = BTreeSet::new();
        for (row, square) in group.iter().enumerate() {
            for (out, instr) in &square.slice {
                if written.insert(*out) {
                    emit.instr(instr)?;
                }
            }
            let place = b.element(f64t, at_row(numbers, row), at);
            let store = b.store_instruction(emit.get(square.number), place, 8);
            b.set_piece(store, pieces, &arrays);
        }
        let next = b.add(at, b.const_int(word, 1));
        b.incoming(at, next, b.current());
        b.branch(b.icmp(crate::builder::Int::LLVMIntSLT, next, count), turn, after);
        b.enter(after);
        b.call_memory(SQUARES, &[numbers, at_row(results, done), count, b.const_int(word, group.len() as u64)]);
        let strip = emit.iterations.as_mut().and_then(|iterations| iterations.strip.as_mut());
        let strip = strip.expect("set above");
        for (row, square) in group.iter().enumerate() {
            strip.memory.insert(square.out, (at_row(results, done + row), pieces + 1));
        }
        done += group.len();
    }
    Ok(b.add(first, count))
}

/// The square that a call of `pow` stands for, if it has been computed before the strip.
pub(super) fn computed(emit: &Emit<'_>, out: Value) -> Option<Val> {
    let iterations = emit.iterations.as_ref()?;
    let strip = iterations.strip.as_ref()?;
    let (memory, piece) = strip.memory.get(&out)?;
    let b = emit.b;
    let at = b.sub(emit.get(iterations.ahead.params[0]), strip.first);
    let load = b.load(b.float(64), b.element(b.float(64), *memory, at), 8);
    b.set_piece(load, *piece, &(0..2 * iterations.ahead.arrays.len()).collect::<Vec<_>>());
    Some(load)
}
