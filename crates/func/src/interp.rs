//! The reference interpreter, which defines the meaning of each instruction. It is simple and slow.

use crate::program::{Ahead, Body, CFunction, Function, Instr, Label, Value};
use numelt_ir::interp::{apply, cast};
use numelt_ir::{DType, Op, Scalar};

/// The memory and the host of a function.
pub trait Memory {
    /// The number at an address.
    fn load(&mut self, address: i64, ty: DType) -> Scalar;
    /// Writes a number.
    fn store(&mut self, address: i64, value: Scalar);
    /// The result of [`Instr::CallLoop`] for these operands.
    fn call_loop(&mut self, context: i64, args: &[Scalar], ty: DType) -> Scalar;
    /// Shall the function stop?
    fn poll(&mut self) -> bool;
}

/// How a function ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The number of the exit.
    pub number: u32,
    /// The values of the exit.
    pub values: Vec<Scalar>,
}

/// How a body has ended, and the values that it passes on.
enum Flow {
    Yield(Vec<Scalar>),
    Leave(Label, Vec<Scalar>),
    Again(Label, Vec<Scalar>),
    Exit(Outcome),
    GiveUp,
}

/// Runs a function that has been verified.
///
/// # Panics
/// If the function does not verify, or if the arguments do not fit its parameters.
pub fn interpret(function: &Function, args: &[Scalar], memory: &mut dyn Memory) -> Outcome {
    let mut run = Run { function, values: vec![None; function.values.len()], memory, iteration: None };
    for (param, arg) in function.params.iter().zip(args) {
        run.set(*param, *arg);
    }
    match run.body(&function.body) {
        Flow::Exit(outcome) => outcome,
        _ => panic!("a function ends with an exit"),
    }
}

struct Run<'a> {
    function: &'a Function,
    values: Vec<Option<Scalar>>,
    memory: &'a mut dyn Memory,
    /// The iteration that is running ahead, if any.
    iteration: Option<Iteration>,
}

/// The state of an iteration that runs ahead.
#[derive(Default)]
struct Iteration {
    /// The addresses that it has written, each with the number that was there before.
    before: Vec<(i64, Scalar)>,
    /// Must it be undone?
    is_suspect: bool,
}

/// Reads a number of this type from the low bytes of a word.
fn number(ty: DType, bits: u64) -> Scalar {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&bits.to_le_bytes());
    Scalar::from_bytes(ty, &bytes)
}

fn bits(value: Scalar) -> u64 {
    u64::from_le_bytes(value.to_bytes()[..8].try_into().expect("eight bytes"))
}

impl Run<'_> {
    fn get(&self, value: Value) -> Scalar {
        self.values[value.0 as usize].expect("values are defined before they are used")
    }

    fn all(&self, values: &[Value]) -> Vec<Scalar> {
        values.iter().map(|value| self.get(*value)).collect()
    }

    fn set(&mut self, value: Value, scalar: Scalar) {
        self.values[value.0 as usize] = Some(scalar);
    }

    fn set_all(&mut self, values: &[Value], scalars: Vec<Scalar>) {
        values.iter().zip(scalars).for_each(|(value, scalar)| self.set(*value, scalar));
    }

    fn int(&self, value: Value) -> i64 {
        bits(self.get(value)) as i64
    }

    fn body(&mut self, body: &Body) -> Flow {
        for instr in body {
            if let Some(flow) = self.instr(instr) {
                return flow;
            }
        }
        panic!("a body ends with an instruction that hands control elsewhere")
    }

    fn instr(&mut self, instr: &Instr) -> Option<Flow> {
        match instr {
            Instr::Const { out, bits } => self.set(*out, number(self.function.type_of(*out), *bits)),
            Instr::Apply { out, op, on, args } => {
                let args = self.all(args);
                let result = apply(*op, *on, &args).expect("the function verifies");
                self.check_conditions(result, &args);
                self.set(*out, result);
            }
            Instr::Checked { out, overflow, op, args } => {
                let [a, b] = args.map(|arg| self.int(arg));
                let (result, lost) = match op {
                    Op::Add => a.overflowing_add(b),
                    Op::Subtract => a.overflowing_sub(b),
                    _ => a.overflowing_mul(b),
                };
                self.set(*out, Scalar::I64(result));
                self.set(*overflow, Scalar::Bool(lost));
            }
            Instr::Convert { out, from } => {
                let converted = cast(self.get(*from), self.function.type_of(*out));
                self.set(*out, converted);
            }
            Instr::Bits { out, from } => {
                let same = number(self.function.type_of(*out), bits(self.get(*from)));
                self.set(*out, same);
            }
            Instr::Call { out, function, args } => {
                let args: Vec<f64> = args.iter().map(|arg| f64::from_bits(bits(self.get(*arg)))).collect();
                let result = Scalar::F64(call(*function, &args));
                self.check_conditions(result, &args.into_iter().map(Scalar::F64).collect::<Vec<_>>());
                self.set(*out, result);
            }
            Instr::CallLoop { out, context, args } => {
                let (context, args) = (self.int(*context), self.all(args));
                let result = self.memory.call_loop(context, &args, self.function.type_of(*out));
                self.set(*out, result);
            }
            Instr::Load { out, address } => {
                let loaded = self.memory.load(self.int(*address), self.function.type_of(*out));
                self.set(*out, loaded);
            }
            Instr::Store { address, value } => {
                let address = self.int(*address);
                if let Some(iteration) = &mut self.iteration {
                    iteration.before.push((address, self.memory.load(address, self.function.type_of(*value))));
                }
                self.memory.store(address, self.get(*value));
            }
            Instr::Poll { out, .. } => {
                let stop = self.memory.poll();
                self.set(*out, Scalar::Bool(stop));
            }
            Instr::If { condition, then, otherwise, outs, .. } => {
                let body = if self.get(*condition) == Scalar::Bool(true) { then } else { otherwise };
                match self.body(body) {
                    Flow::Yield(values) => self.set_all(outs, values),
                    flow => return Some(flow),
                }
            }
            Instr::Block { label, body, outs } => match self.body(body) {
                Flow::Leave(left, values) if left == *label => self.set_all(outs, values),
                flow => return Some(flow),
            },
            Instr::Loop { label, params, starts, body } => {
                let mut values = self.all(starts);
                loop {
                    self.set_all(params, values);
                    match self.body(body) {
                        Flow::Again(again, next) if again == *label => values = next,
                        flow => return Some(flow),
                    }
                }
            }
            Instr::Ahead(ahead) => self.ahead(ahead),
            Instr::Suspect { condition } => {
                let holds = self.get(*condition) == Scalar::Bool(true);
                self.iteration.as_mut().expect("the function verifies").is_suspect |= holds;
            }
            Instr::GiveUp => return Some(Flow::GiveUp),
            Instr::Yield(values) => return Some(Flow::Yield(self.all(values))),
            Instr::Leave { label, values } => return Some(Flow::Leave(*label, self.all(values))),
            Instr::Again { label, values } => return Some(Flow::Again(*label, self.all(values))),
            Instr::Exit { number, values } => {
                return Some(Flow::Exit(Outcome { number: *number, values: self.all(values) }));
            }
        }
        None
    }

    /// Runs iterations ahead, one by one, until one of them gives up.
    fn ahead(&mut self, ahead: &Ahead) {
        let mut values = self.all(&ahead.starts);
        while (bits(values[0]) as i64) < self.int(ahead.count) {
            self.set_all(&ahead.params, values.clone());
            self.iteration = Some(Iteration::default());
            let flow = self.body(&ahead.body);
            let iteration = self.iteration.take().expect("set above");
            match flow {
                Flow::Again(_, next) if !iteration.is_suspect => values = next,
                _ => {
                    iteration.before.into_iter().rev().for_each(|(address, value)| self.memory.store(address, value));
                    break;
                }
            }
        }
        self.set_all(&ahead.outs, values);
    }

    /// Marks the iteration that runs ahead as suspect if an operation has met a floating-point condition: its result is
    /// a NaN and no operand is one, or its result is infinite and all operands are finite.
    fn check_conditions(&mut self, result: Scalar, args: &[Scalar]) {
        let float = |value: &Scalar| match value {
            Scalar::F64(x) => *x,
            Scalar::F32(x) => f64::from(*x),
            _ => 0.0,
        };
        let (result, mut args) = (float(&result), args.iter().map(float));
        let is_met =
            if result.is_nan() { !args.any(f64::is_nan) } else { result.is_infinite() && args.all(f64::is_finite) };
        if let Some(iteration) = &mut self.iteration {
            iteration.is_suspect |= is_met;
        }
    }
}

/// Calls a function of the C library through Rust's standard library. `asinh`, `acosh`, `atanh`, `erf` and `erfc` are
/// computed by Rust code instead, so that their last bits may differ from C's.
fn call(function: CFunction, args: &[f64]) -> f64 {
    let x = args[0];
    let y = args.get(1).copied().unwrap_or(0.0);
    match function {
        CFunction::Sin => x.sin(),
        CFunction::Cos => x.cos(),
        CFunction::Tan => x.tan(),
        CFunction::Asin => x.asin(),
        CFunction::Acos => x.acos(),
        CFunction::Atan => x.atan(),
        CFunction::Atan2 => x.atan2(y),
        CFunction::Sinh => x.sinh(),
        CFunction::Cosh => x.cosh(),
        CFunction::Tanh => x.tanh(),
        CFunction::Asinh => x.asinh(),
        CFunction::Acosh => x.acosh(),
        CFunction::Atanh => x.atanh(),
        CFunction::Exp => x.exp(),
        CFunction::Exp2 => x.exp2(),
        CFunction::Expm1 => x.exp_m1(),
        CFunction::Log => x.ln(),
        CFunction::Log2 => x.log2(),
        CFunction::Log10 => x.log10(),
        CFunction::Log1p => x.ln_1p(),
        CFunction::Pow => x.powf(y),
        CFunction::Fmod => x % y,
        CFunction::Hypot => x.hypot(y),
        CFunction::Cbrt => x.cbrt(),
        CFunction::Erf => libm::erf(x),
        CFunction::Erfc => libm::erfc(x),
    }
}
