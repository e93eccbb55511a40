//! From the function IR to LLVM's: blocks and phis for structured code, one instruction after the other.

use super::ahead::{self, AheadFunction, Outlined};
use super::{CALL_LOOP, POLL, POLL_AHEAD, Part, SYMBOL, library, select, squares};
use crate::builder::{Block, Builder, Int, Real, Val};
use crate::lower::calls::ElementLoops;
use crate::lower::math::MathTable;
use crate::lower::{Lower, Value as Lowered};
use numelt_func::{CFunction, Function, Instr, Label, Value};
use numelt_ir::{DType, Op, Result};
use std::collections::{BTreeMap, HashMap};

/// Every so many iterations of loops, somebody is asked whether the code shall stop: some hundred microseconds' worth.
const PATIENCE: u64 = 1 << 16;

/// The bits of 2.0.
const TWO: u64 = 0x4000_0000_0000_0000;

/// The error of `pow` in units of the last place, and for which powers of two in the result: see [`Emit::square`].
const USUAL: (f64, u64) = (0.514, 64);
const RARE: (f64, u64) = (0.52, 256);

/// A place that code jumps to with values.
pub(super) struct Place {
    pub(super) block: Block,
    pub(super) phis: Vec<Val>,
}

pub(super) struct Emit<'a> {
    pub(super) b: &'a Builder,
    lower: Lower<'a>,
    pub(super) function: &'a Function,
    frame: Val,
    /// How many iterations there are until the next question; on the stack.
    patience: Val,
    values: Vec<Option<Val>>,
    pub(super) places: HashMap<Label, Place>,
    /// Where the branch of an `If` ends, innermost last.
    yields: Vec<Place>,
    /// Blocks that write an exit, which equal exits share.
    exits: BTreeMap<(u32, Vec<Value>), Block>,
    /// The numbers that constants are.
    pub(super) constants: HashMap<Value, u64>,
    /// Sums of I64, with their operands.
    pub(super) sums: HashMap<Value, [Value; 2]>,
    /// Iterations done ahead, which become functions of their own, those first that are called first.
    outlined: std::vec::IntoIter<Outlined<'a>>,
    calls: usize,
    /// The iterations done ahead that this is.
    pub(super) iterations: Option<AheadFunction<'a>>,
}

/// Writes a part of the function into a module.
pub(super) fn generate(
    function: &Function,
    part: Part,
    b: &Builder,
    math: &MathTable,
    loops: &ElementLoops,
    vector_bits: u32,
) -> Result<()> {
    let lower = Lower { b, lanes: 1, math, loops, divisor: None };
    let mut emit = Emit::begin(b, lower, function, vector_bits);
    let outlined = ahead::outlined(function);
    if let Part::Ahead { number, polls } = part {
        return ahead::generate(&mut emit, &outlined[number], polls);
    }
    emit.outlined = outlined.into_iter();
    for (number, param) in function.params.iter().enumerate() {
        emit.set_from_word(*param, number);
    }
    emit.body(&function.body)?;
    emit.write_exits();
    Ok(())
}

impl<'a> Emit<'a> {
    /// Begins a function of the module.
    fn begin(b: &'a Builder, lower: Lower<'a>, function: &'a Function, vector_bits: u32) -> Emit<'a> {
        let frame = b.begin_function(SYMBOL, vector_bits);
        b.enter(b.block(c"entry"));
        let i32t = b.int(32);
        let patience = b.allot(i32t);
        b.store(b.const_int(i32t, PATIENCE), patience, 4);
        Emit {
            b,
            lower,
            function,
            frame,
            patience,
            values: vec![None; function.values.len()],
            places: HashMap::new(),
            yields: Vec::new(),
            exits: BTreeMap::new(),
            constants: HashMap::new(),
            sums: HashMap::new(),
            outlined: Vec::new().into_iter(),
            calls: 0,
            iterations: None,
        }
    }

    /// Gives a value what a word of the frame holds.
    pub(super) fn set_from_word(&mut self, value: Value, number: usize) {
        let word = self.word(number);
        let val = self.load(word, self.ty(value), 8);
        self.set(value, val);
    }

    /// Puts a value into a word of the frame.
    pub(super) fn set_word(&self, number: usize, value: Value) {
        let val = self.as_word(value);
        self.b.store(val, self.word(number), 8);
    }

    pub(super) fn get(&self, value: Value) -> Val {
        self.values[value.0 as usize].expect("values are defined before they are used")
    }

    pub(super) fn set(&mut self, value: Value, val: Val) {
        self.values[value.0 as usize] = Some(val);
    }

    pub(super) fn ty(&self, value: Value) -> DType {
        self.function.type_of(value)
    }

    /// The address of a word of the frame.
    pub(super) fn word(&self, number: usize) -> Val {
        self.b.offset(self.frame, self.b.const_int(self.b.int(64), 8 * number as u64))
    }

    /// A number in memory. Bool takes a byte there and a bit here.
    pub(super) fn load(&self, address: Val, ty: DType, align: u32) -> Val {
        self.load_by(address, ty, align, &|_| {})
    }

    /// The same; `note` says something about the instruction.
    fn load_by(&self, address: Val, ty: DType, align: u32, note: &dyn Fn(Val)) -> Val {
        if ty == DType::Bool {
            let byte = self.b.load(self.b.int(8), address, 1);
            note(byte);
            return self.b.icmp(Int::LLVMIntNE, byte, self.b.const_int(self.b.int(8), 0));
        }
        let val = self.b.load(self.lower.scalar(ty), address, align);
        note(val);
        val
    }

    pub(super) fn body(&mut self, body: &'a [Instr]) -> Result<()> {
        let mut rest = body;
        while let Some((instr, after)) = rest.split_first() {
            rest = match (instr, after) {
                (Instr::Poll { out, iterations }, [Instr::If { condition, then, otherwise, outs, .. }, after @ ..])
                    if condition == out && outs.is_empty() =>
                {
                    self.poll_and_leave(*iterations, then, otherwise)?;
                    after
                }
                _ => {
                    self.instr(instr)?;
                    after
                }
            };
        }
        Ok(())
    }

    pub(super) fn instr(&mut self, instr: &'a Instr) -> Result<()> {
        match instr {
            Instr::Const { out, bits } => {
                self.constants.insert(*out, *bits);
                let val = self.constant(self.ty(*out), *bits);
                self.set(*out, val);
            }
            Instr::Apply { out, op, on, args } => {
                if let (Op::Add, DType::I64, [a, b]) = (op, on, &args[..]) {
                    self.sums.insert(*out, [*a, *b]);
                }
                let args: Vec<Val> = args.iter().map(|arg| self.get(*arg)).collect();
                let val = self.apply(*op, *on, &args)?;
                self.set(*out, val);
            }
            Instr::Checked { out, overflow, op, args } => {
                let (result, lost) = self.checked(*op, *args);
                self.set(*out, result);
                self.set(*overflow, lost);
            }
            Instr::Convert { out, from } => {
                if let (Some(bits), DType::I64, DType::F64) = (self.constants.get(from), self.ty(*from), self.ty(*out))
                {
                    self.constants.insert(*out, (*bits as i64 as f64).to_bits());
                }
                let val = self.convert(self.get(*from), self.ty(*from), self.ty(*out));
                self.set(*out, val);
            }
            Instr::Bits { out, from } => {
                let val = self.b.bitcast(self.get(*from), self.lower.scalar(self.ty(*out)));
                self.set(*out, val);
            }
            Instr::Call { out, function, args } => {
                let val = match squares::computed(self, *out) {
                    Some(val) => val,
                    None => self.call(*function, args),
                };
                self.set(*out, val);
            }
            Instr::CallLoop { out, context, args } => self.call_loop(*out, *context, args),
            Instr::Load { out, address } => {
                let ty = self.ty(*out);
                let (pointer, piece) = ahead::pointer(self, *address);
                let val = self.load_by(pointer, ty, ty.size() as u32, &|load| ahead::note(self, load, piece, false));
                self.set(*out, val);
            }
            Instr::Store { address, value } => {
                let ty = self.ty(*value);
                let in_memory = if ty == DType::Bool { self.b.int(8) } else { self.lower.scalar(ty) };
                ahead::keep(self, *address, in_memory, ty.size() as u32);
                let (pointer, piece) = ahead::pointer(self, *address);
                let val = self.get(*value);
                let val = if ty == DType::Bool { self.b.zext(val, self.b.int(8)) } else { val };
                let store = self.b.store_instruction(val, pointer, ty.size() as u32);
                ahead::note(self, store, piece, true);
            }
            Instr::Poll { out, iterations } => {
                let val = if self.polls() { self.poll(*iterations) } else { self.b.const_int(self.b.int(1), 0) };
                self.set(*out, val);
            }
            Instr::If { condition, then, otherwise, outs, is_rare } => {
                if !select::choice(self, *condition, [then, otherwise], outs)? {
                    self.choice(*condition, then, otherwise, outs, *is_rare)?;
                }
            }
            Instr::Block { label, body, outs } => {
                let place = self.place(outs);
                let end = place.block;
                self.places.insert(*label, place);
                self.body(body)?;
                self.finish_place(end, outs, &self.places[label].phis.clone());
            }
            Instr::Loop { label, params, starts, body } => {
                let place = self.place(params);
                let (block, phis) = (place.block, place.phis.clone());
                self.go_to(&place, starts);
                self.places.insert(*label, place);
                self.finish_place(block, params, &phis);
                let around = ahead::begin_loop(self, *label, params);
                self.body(body)?;
                ahead::end_loop(self, around);
            }
            Instr::Ahead(_) => {
                let outlined = self.outlined.next().expect("the same iterations in the same order");
                ahead::call(self, &outlined, self.calls)?;
                self.calls += 1;
            }
            Instr::Suspect { condition } => ahead::suspect(self, *condition),
            Instr::GiveUp => ahead::give_up(self),
            Instr::Yield(values) => {
                let place = self.yields.pop().expect("a yield ends a branch");
                self.go_to(&place, values);
                self.yields.push(place);
            }
            Instr::Leave { label, values } | Instr::Again { label, values } => {
                let place = self.places.remove(label).expect("labels are in scope");
                let jump = self.go_to(&place, values);
                if matches!(instr, Instr::Again { .. }) {
                    ahead::note_next(self, jump, *label);
                }
                self.places.insert(*label, place);
            }
            Instr::Exit { number, values } => {
                let key = (*number, values.clone());
                let block = *self.exits.entry(key).or_insert_with(|| self.b.block(c"exit"));
                self.b.jump(block);
            }
        }
        Ok(())
    }

    /// A sum, difference or product of two I64, and whether it overflows.
    fn checked(&self, op: Op, args: [Value; 2]) -> (Val, Val) {
        let (b, word) = (self.b, self.b.int(64));
        let factors = args.map(|arg| self.constants.get(&arg).map(|bits| *bits as i64));
        let scale = match (op, factors) {
            (Op::Multiply, [Some(factor), None]) => Some((args[1], factor)),
            (Op::Multiply, [None, Some(factor)]) => Some((args[0], factor)),
            _ => None,
        };
        if let Some((value, factor)) = scale.filter(|(_, factor)| (2..=9).contains(factor)) {
            // the product is one addition or shift, which need not wait for the check
            let value = self.get(value);
            let (least, most) = (i64::MIN / factor, i64::MAX / factor);
            let from_least = b.sub(value, b.const_int(word, least as u64));
            let lost = b.icmp(Int::LLVMIntUGT, from_least, b.const_int(word, most.wrapping_sub(least) as u64));
            return (b.mul(value, b.const_int(word, factor as u64)), lost);
        }
        let name = match op {
            Op::Add => "llvm.sadd.with.overflow",
            Op::Subtract => "llvm.ssub.with.overflow",
            _ => "llvm.smul.with.overflow",
        };
        let both = b.intrinsic(name, &[word], &args.map(|arg| self.get(arg)));
        (b.extract_value(both, 0), b.extract_value(both, 1))
    }

    pub(super) fn constant(&self, ty: DType, bits: u64) -> Val {
        let scalar = self.lower.scalar(ty);
        match ty {
            DType::F32 => self.b.bitcast(self.b.const_int(self.b.int(32), bits & 0xFFFF_FFFF), scalar),
            DType::F64 => self.b.bitcast(self.b.const_int(self.b.int(64), bits), scalar),
            _ => self.b.const_int(scalar, bits),
        }
    }

    /// An operation. Plain instructions where kernels take care of flags, which functions do not report.
    fn apply(&self, op: Op, on: DType, args: &[Val]) -> Result<Val> {
        let b = self.b;
        if on.is_float() {
            let compared = match op {
                Op::Equal => Some(Real::LLVMRealOEQ),
                Op::NotEqual => Some(Real::LLVMRealUNE),
                Op::Less => Some(Real::LLVMRealOLT),
                Op::LessEqual => Some(Real::LLVMRealOLE),
                Op::Greater => Some(Real::LLVMRealOGT),
                Op::GreaterEqual => Some(Real::LLVMRealOGE),
                _ => None,
            };
            if let Some(how) = compared {
                return Ok(b.fcmp(how, args[0], args[1]));
            }
            match op {
                Op::Add => return Ok(b.fadd(args[0], args[1])),
                Op::Subtract => return Ok(b.fsub(args[0], args[1])),
                Op::Multiply => return Ok(b.fmul(args[0], args[1])),
                Op::Divide => return Ok(b.fdiv(args[0], args[1])),
                Op::Absolute => return Ok(self.lower.float_intrinsic("llvm.fabs", on, args)),
                _ => {}
            }
        }
        let args: Vec<Lowered> = args.iter().map(|arg| Lowered::Plain(*arg)).collect();
        Ok(self.lower.op(op, on, &args)?.plain())
    }

    /// A conversion. Floats become integers by one instruction where the processor has it; kernels have a sequence that
    /// raises the flags that NumPy reports.
    fn convert(&self, val: Val, from: DType, to: DType) -> Val {
        let (b, lower) = (self.b, &self.lower);
        if !cfg!(target_arch = "x86_64") || !from.is_float() || !to.is_integer() || to == DType::U64 {
            return lower.cast(from, to, Lowered::Plain(val)).plain();
        }
        let is_long = matches!(to, DType::U32 | DType::I64);
        let (instruction, lanes) = match (from, is_long) {
            (DType::F32, false) => ("llvm.x86.sse.cvttss2si", 4),
            (DType::F32, true) => ("llvm.x86.sse.cvttss2si64", 4),
            (_, false) => ("llvm.x86.sse2.cvttsd2si", 2),
            (_, true) => ("llvm.x86.sse2.cvttsd2si64", 2),
        };
        let register = b.insert(b.poison(b.vector(lower.scalar(from), lanes)), 0, val);
        let whole = b.intrinsic(instruction, &[], &[register]);
        if to.size() < if is_long { 8 } else { 4 } { b.trunc(whole, lower.scalar(to)) } else { whole }
    }

    /// A call of a function of the C library.
    fn call(&mut self, function: CFunction, args: &[Value]) -> Val {
        let is_square = function == CFunction::Pow && self.constants.get(&args[1]) == Some(&TWO);
        let args: Vec<Val> = args.iter().map(|arg| self.get(*arg)).collect();
        let (name, f64t) = (library::symbol(function), self.b.float(64));
        match is_square {
            true => self.square(args[0], args[1]),
            false if library::is_total(function) => self.b.call_anywhere(&name, f64t, &args),
            false => self.b.call_pure(&name, f64t, &args),
        }
    }

    /// What the C library's `pow` makes of a number and two. It is the exact square rounded, or, where this is nearly
    /// as far from the next number, that one. By glibc's source the error of `pow` is less than 0.511 of the last
    /// place, and for each unit of the result's natural logarithm 1.5 * 2^-15 more. That makes 0.514 for results
    /// between 2^-64 and 2^64, which nearly all are, and 0.52 between 2^-256 and 2^256.
    fn square(&mut self, x: Val, two: Val) -> Val {
        let b = self.b;
        let f64t = b.float(64);
        let (square, error) = self.product_with_error(x);
        let (looks, calls, done) = (b.block(c"far"), b.block(c"pow"), b.block(c"squared"));
        let phi_of = [(USUAL, looks), (RARE, calls)].map(|((most, range), otherwise)| {
            let is_sure = self.is_sure(square, error, most, range);
            let before = b.current();
            b.branch_rarely(b.not(is_sure), otherwise, done);
            b.enter(otherwise);
            before
        });
        let power = b.call_pure(&library::symbol(CFunction::Pow), f64t, &[x, two]);
        b.jump(done);
        b.enter(done);
        let phi = b.phi(f64t);
        phi_of.into_iter().for_each(|before| b.incoming(phi, square, before));
        b.incoming(phi, power, calls);
        phi
    }

    /// The rounded square of a number, and its error.
    fn product_with_error(&self, x: Val) -> (Val, Val) {
        let b = self.b;
        let square = b.fmul(x, x);
        (square, b.intrinsic("llvm.fma", &[b.float(64)], &[x, x, b.fneg(square)]))
    }

    /// Is a rounded square, which has this error, what a function returns whose error is less than `most` of the last
    /// place for results between 2^-range and 2^range? It is if the exact square is not that close to the middle of two
    /// numbers: if an error that is a little larger is rounded away as well. That holds also below a power of two,
    /// where numbers lie closer together.
    fn is_sure(&self, square: Val, error: Val, most: f64, range: u64) -> Val {
        let b = self.b;
        let (f64t, word) = (b.float(64), b.int(64));
        let larger = b.const_float(f64t, 0.5 / (1.0 - most));
        let moved = b.intrinsic("llvm.fma", &[f64t], &[error, larger, square]);
        let stays = b.fcmp(Real::LLVMRealUEQ, moved, square);
        // this is false for NaN, too
        let from_least = b.sub(b.bitcast(square, word), b.const_int(word, (1023 - range) << 52));
        let is_usual = b.icmp(Int::LLVMIntULT, from_least, b.const_int(word, (2 * range) << 52));
        b.and(stays, is_usual)
    }

    fn call_loop(&mut self, out: Value, context: Value, args: &[Value]) {
        let b = self.b;
        let word = b.int(64);
        let addresses = b.scratch(b.vector(word, args.len() as u32 + 1));
        let cells: Vec<Val> = (0..=args.len()).map(|_| b.scratch(word)).collect();
        for (k, cell) in cells.iter().enumerate() {
            if let Some(arg) = args.get(k) {
                let val = self.get(*arg);
                let val = if self.ty(*arg) == DType::Bool { b.zext(val, b.int(8)) } else { val };
                b.store(val, *cell, 8);
            }
            b.store(*cell, b.element(word, addresses, b.const_int(word, k as u64)), 8);
        }
        b.call_memory(CALL_LOOP, &[self.get(context), addresses]);
        let val = self.load(cells[args.len()], self.ty(out), 8);
        self.set(out, val);
    }

    /// Does the code ask whether it shall stop?
    fn polls(&self) -> bool {
        self.iterations.as_ref().is_none_or(|iterations| iterations.polls)
    }

    /// What is asked whether the code shall stop.
    fn question(&self) -> &'static str {
        if self.iterations.is_some() { POLL_AHEAD } else { POLL }
    }

    /// Counts down; is it time to ask?
    fn count_down(&mut self, iterations: Option<Value>) -> Val {
        let b = self.b;
        let (i32t, i64t, is_one) = (b.int(32), b.int(64), iterations.is_none());
        let iterations = match iterations {
            None => b.const_int(i32t, 1),
            Some(iterations) => {
                let most = [self.get(iterations), b.const_int(i64t, PATIENCE)];
                b.trunc(b.intrinsic("llvm.smin", &[i64t], &most), i32t)
            }
        };
        let left = b.sub(b.load(i32t, self.patience, 4), iterations);
        b.store(left, self.patience, 4);
        // it was greater than zero before
        let how = if is_one { Int::LLVMIntEQ } else { Int::LLVMIntSLE };
        b.icmp(how, left, b.const_int(i32t, 0))
    }

    /// Asks, and counts anew.
    fn ask(&mut self) -> Val {
        let b = self.b;
        b.store(b.const_int(b.int(32), PATIENCE), self.patience, 4);
        let answer = b.call_function(self.question(), b.int(8), &[]);
        b.icmp(Int::LLVMIntNE, answer, b.const_int(b.int(8), 0))
    }

    fn poll(&mut self, iterations: Option<Value>) -> Val {
        let b = self.b;
        let is_time = self.count_down(iterations);
        let (ask, done) = (b.block(c"ask"), b.block(c"go"));
        let before = b.current();
        b.branch_rarely(is_time, ask, done);
        b.enter(ask);
        let stop = self.ask();
        b.jump(done);
        b.enter(done);
        let phi = b.phi(b.int(1));
        b.incoming(phi, b.const_int(b.int(1), 0), before);
        b.incoming(phi, stop, ask);
        phi
    }

    /// A poll whose answer decides at once: nearly every iteration of a loop has one, so this is one branch in the
    /// usual case.
    fn poll_and_leave(&mut self, iterations: Option<Value>, then: &'a [Instr], otherwise: &'a [Instr]) -> Result<()> {
        let b = self.b;
        let place = self.place(&[]);
        let end = place.block;
        if !self.polls() {
            self.yields.push(place);
            self.body(otherwise)?;
            self.yields.pop();
            self.finish_place(end, &[], &[]);
            return Ok(());
        }
        let is_time = self.count_down(iterations);
        let (ask, yes, no) = (b.block(c"ask"), b.block(c"yes"), b.block(c"no"));
        b.branch_rarely(is_time, ask, no);
        b.enter(ask);
        let stop = self.ask();
        b.branch_rarely(stop, yes, no);
        self.yields.push(place);
        b.enter(yes);
        self.body(then)?;
        b.enter(no);
        self.body(otherwise)?;
        self.yields.pop();
        self.finish_place(end, &[], &[]);
        Ok(())
    }

    /// A block with a phi per value, which is not entered yet.
    pub(super) fn place(&self, values: &[Value]) -> Place {
        let (before, block) = (self.b.current(), self.b.block(c"place"));
        self.b.enter(block);
        let phis = values.iter().map(|value| self.b.phi(self.lower.scalar(self.ty(*value)))).collect();
        self.b.enter(before);
        Place { block, phis }
    }

    pub(super) fn go_to(&self, place: &Place, values: &[Value]) -> Val {
        let from = self.b.current();
        for (phi, value) in place.phis.iter().zip(values) {
            self.b.incoming(*phi, self.get(*value), from);
        }
        self.b.jump(place.block)
    }

    /// Goes on in a place, whose phis are these values.
    pub(super) fn finish_place(&mut self, block: Block, values: &[Value], phis: &[Val]) {
        self.b.enter(block);
        for (value, phi) in values.iter().zip(phis) {
            self.set(*value, *phi);
        }
    }

    fn choice(
        &mut self,
        condition: Value,
        then: &'a [Instr],
        otherwise: &'a [Instr],
        outs: &'a [Value],
        is_rare: bool,
    ) -> Result<()> {
        let b = self.b;
        let place = self.place(outs);
        let (end, phis) = (place.block, place.phis.clone());
        let (yes, no) = (b.block(c"yes"), b.block(c"no"));
        if is_rare {
            b.branch_rarely(self.get(condition), yes, no);
        } else {
            b.branch(self.get(condition), yes, no);
        }
        self.yields.push(place);
        b.enter(yes);
        self.body(then)?;
        b.enter(no);
        self.body(otherwise)?;
        self.yields.pop();
        self.finish_place(end, outs, &phis);
        Ok(())
    }

    /// The blocks of the exits: the number and the values go into the frame.
    fn write_exits(&mut self) {
        let b = self.b;
        let word = b.int(64);
        for ((number, values), block) in std::mem::take(&mut self.exits) {
            b.enter(block);
            b.store(b.const_int(word, number.into()), self.word(0), 8);
            values.iter().enumerate().for_each(|(k, value)| self.set_word(1 + k, *value));
            b.ret();
        }
    }

    /// A value as the word that holds it.
    pub(super) fn as_word(&self, value: Value) -> Val {
        let (b, val, word) = (self.b, self.get(value), self.b.int(64));
        match self.ty(value) {
            DType::F64 => b.bitcast(val, word),
            DType::F32 => b.zext(b.bitcast(val, b.int(32)), word),
            DType::I64 | DType::U64 => val,
            _ => b.zext(val, word),
        }
    }
}
