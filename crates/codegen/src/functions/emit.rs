//! From the function IR to LLVM's: blocks and phis for structured code, one instruction after the other.

use super::{CALL_LOOP, POLL, SYMBOL, library};
use crate::builder::{Block, Builder, Int, Real, Val};
use crate::lower::calls::ElementLoops;
use crate::lower::math::MathTable;
use crate::lower::{Lower, Value as Lowered};
use numelt_func::{Function, Instr, Label, Value};
use numelt_ir::{DType, Op, Result};
use std::collections::{BTreeMap, HashMap};

/// Every so many turns of loops, somebody is asked whether the code shall stop: some hundred microseconds' worth.
const PATIENCE: u64 = 1 << 16;

/// A place that code jumps to with values.
struct Place {
    block: Block,
    phis: Vec<Val>,
}

struct Emit<'a> {
    b: &'a Builder,
    lower: Lower<'a>,
    function: &'a Function,
    frame: Val,
    /// How many turns there are until the next question; on the stack.
    patience: Val,
    values: Vec<Option<Val>>,
    places: HashMap<Label, Place>,
    /// Where the branch of an `If` ends, innermost last.
    yields: Vec<Place>,
    /// Blocks that write an exit, which equal exits share.
    exits: BTreeMap<(u32, Vec<Value>), Block>,
}

/// Writes the function into a module.
pub(super) fn generate(
    function: &Function,
    b: &Builder,
    math: &MathTable,
    loops: &ElementLoops,
    vector_bits: u32,
) -> Result<()> {
    let frame = b.begin_function(SYMBOL, vector_bits);
    b.enter(b.block(c"entry"));
    let i32t = b.int(32);
    let patience = b.allot(i32t);
    b.store(b.const_int(i32t, PATIENCE), patience, 4);
    let lower = Lower { b, lanes: 1, math, loops, divisor: None };
    let values = vec![None; function.values.len()];
    let (places, exits) = (HashMap::new(), BTreeMap::new());
    let mut emit = Emit { b, lower, function, frame, patience, values, places, yields: Vec::new(), exits };
    for (number, param) in function.params.iter().enumerate() {
        let word = emit.word(number);
        let value = emit.load(word, function.type_of(*param), 8);
        emit.set(*param, value);
    }
    emit.body(&function.body)?;
    emit.write_exits();
    Ok(())
}

impl Emit<'_> {
    fn get(&self, value: Value) -> Val {
        self.values[value.0 as usize].expect("values are defined before they are used")
    }

    fn set(&mut self, value: Value, val: Val) {
        self.values[value.0 as usize] = Some(val);
    }

    fn ty(&self, value: Value) -> DType {
        self.function.type_of(value)
    }

    /// The address of a word of the frame.
    fn word(&self, number: usize) -> Val {
        self.b.offset(self.frame, self.b.const_int(self.b.int(64), 8 * number as u64))
    }

    /// A number in memory. Bool takes a byte there and a bit here.
    fn load(&self, address: Val, ty: DType, align: u32) -> Val {
        if ty == DType::Bool {
            let byte = self.b.load(self.b.int(8), address, 1);
            return self.b.icmp(Int::LLVMIntNE, byte, self.b.const_int(self.b.int(8), 0));
        }
        self.b.load(self.lower.scalar(ty), address, align)
    }

    fn body(&mut self, body: &[Instr]) -> Result<()> {
        let mut rest = body;
        while let Some((instr, after)) = rest.split_first() {
            rest = match (instr, after) {
                (Instr::Poll { out }, [Instr::If { condition, then, otherwise, outs, .. }, after @ ..])
                    if condition == out && outs.is_empty() =>
                {
                    self.poll_and_leave(then, otherwise)?;
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

    fn instr(&mut self, instr: &Instr) -> Result<()> {
        match instr {
            Instr::Const { out, bits } => {
                let val = self.constant(self.ty(*out), *bits);
                self.set(*out, val);
            }
            Instr::Apply { out, op, on, args } => {
                let args: Vec<Val> = args.iter().map(|arg| self.get(*arg)).collect();
                let val = self.apply(*op, *on, &args)?;
                self.set(*out, val);
            }
            Instr::Checked { out, overflow, op, args } => {
                let name = match op {
                    Op::Add => "llvm.sadd.with.overflow",
                    Op::Subtract => "llvm.ssub.with.overflow",
                    _ => "llvm.smul.with.overflow",
                };
                let args = args.map(|arg| self.get(arg));
                let both = self.b.intrinsic(name, &[self.b.int(64)], &args);
                let (result, lost) = (self.b.extract_value(both, 0), self.b.extract_value(both, 1));
                self.set(*out, result);
                self.set(*overflow, lost);
            }
            Instr::Convert { out, from } => {
                let val = self.convert(self.get(*from), self.ty(*from), self.ty(*out));
                self.set(*out, val);
            }
            Instr::Bits { out, from } => {
                let val = self.b.bitcast(self.get(*from), self.lower.scalar(self.ty(*out)));
                self.set(*out, val);
            }
            Instr::Call { out, function, args } => {
                let args: Vec<Val> = args.iter().map(|arg| self.get(*arg)).collect();
                let val = self.b.call_pure(&library::symbol(*function), self.b.float(64), &args);
                self.set(*out, val);
            }
            Instr::CallLoop { out, context, args } => self.call_loop(*out, *context, args),
            Instr::Load { out, address } => {
                let ty = self.ty(*out);
                let address = self.b.pointer_to(self.get(*address));
                let val = self.load(address, ty, ty.size() as u32);
                self.set(*out, val);
            }
            Instr::Store { address, value } => {
                let ty = self.ty(*value);
                let address = self.b.pointer_to(self.get(*address));
                let val = self.get(*value);
                let val = if ty == DType::Bool { self.b.zext(val, self.b.int(8)) } else { val };
                self.b.store(val, address, ty.size() as u32);
            }
            Instr::Poll { out } => {
                let val = self.poll();
                self.set(*out, val);
            }
            Instr::If { condition, then, otherwise, outs, is_rare } => {
                self.choice(*condition, then, otherwise, outs, *is_rare)?;
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
                self.body(body)?;
            }
            Instr::Yield(values) => {
                let place = self.yields.pop().expect("a yield ends a branch");
                self.go_to(&place, values);
                self.yields.push(place);
            }
            Instr::Leave { label, values } | Instr::Again { label, values } => {
                let place = self.places.remove(label).expect("labels are in scope");
                self.go_to(&place, values);
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

    fn constant(&self, ty: DType, bits: u64) -> Val {
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

    /// Counts down, and asks when it is at zero.
    fn poll(&mut self) -> Val {
        let b = self.b;
        let i32t = b.int(32);
        let left = b.sub(b.load(i32t, self.patience, 4), b.const_int(i32t, 1));
        b.store(left, self.patience, 4);
        let (ask, done) = (b.block(c"ask"), b.block(c"go"));
        let before = b.current();
        b.branch_rarely(b.icmp(Int::LLVMIntEQ, left, b.const_int(i32t, 0)), ask, done);
        b.enter(ask);
        b.store(b.const_int(i32t, PATIENCE), self.patience, 4);
        let answer = b.call_function(POLL, b.int(8), &[]);
        let stop = b.icmp(Int::LLVMIntNE, answer, b.const_int(b.int(8), 0));
        b.jump(done);
        b.enter(done);
        let phi = b.phi(b.int(1));
        b.incoming(phi, b.const_int(b.int(1), 0), before);
        b.incoming(phi, stop, ask);
        phi
    }

    /// A poll whose answer decides at once: nearly every turn of a loop has one, so this is one branch in the usual case.
    fn poll_and_leave(&mut self, then: &[Instr], otherwise: &[Instr]) -> Result<()> {
        let b = self.b;
        let i32t = b.int(32);
        let left = b.sub(b.load(i32t, self.patience, 4), b.const_int(i32t, 1));
        b.store(left, self.patience, 4);
        let place = self.place(&[]);
        let end = place.block;
        let (ask, yes, no) = (b.block(c"ask"), b.block(c"yes"), b.block(c"no"));
        b.branch_rarely(b.icmp(Int::LLVMIntEQ, left, b.const_int(i32t, 0)), ask, no);
        b.enter(ask);
        b.store(b.const_int(i32t, PATIENCE), self.patience, 4);
        let answer = b.call_function(POLL, b.int(8), &[]);
        b.branch_rarely(b.icmp(Int::LLVMIntNE, answer, b.const_int(b.int(8), 0)), yes, no);
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
    fn place(&self, values: &[Value]) -> Place {
        let (before, block) = (self.b.current(), self.b.block(c"place"));
        self.b.enter(block);
        let phis = values.iter().map(|value| self.b.phi(self.lower.scalar(self.ty(*value)))).collect();
        self.b.enter(before);
        Place { block, phis }
    }

    fn go_to(&self, place: &Place, values: &[Value]) {
        let from = self.b.current();
        for (phi, value) in place.phis.iter().zip(values) {
            self.b.incoming(*phi, self.get(*value), from);
        }
        self.b.jump(place.block);
    }

    /// Goes on in a place, whose phis are these values.
    fn finish_place(&mut self, block: Block, values: &[Value], phis: &[Val]) {
        self.b.enter(block);
        for (value, phi) in values.iter().zip(phis) {
            self.set(*value, *phi);
        }
    }

    fn choice(
        &mut self,
        condition: Value,
        then: &[Instr],
        otherwise: &[Instr],
        outs: &[Value],
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
            for (k, value) in values.iter().enumerate() {
                let val = self.get(*value);
                let val = match self.ty(*value) {
                    DType::F64 => b.bitcast(val, word),
                    DType::F32 => b.zext(b.bitcast(val, b.int(32)), word),
                    DType::I64 | DType::U64 => val,
                    _ => b.zext(val, word),
                };
                b.store(val, self.word(1 + k), 8);
            }
            b.ret();
        }
    }
}
