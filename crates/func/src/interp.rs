//! The interpreter: what each instruction means, slowly.

use crate::program::{Body, CFunction, Function, Instr, Label, Value};
use numelt_ir::interp::{apply, cast};
use numelt_ir::{DType, Op, Scalar};

/// The memory and the surroundings of a function.
pub trait Memory {
    /// The number at an address.
    fn load(&mut self, address: i64, ty: DType) -> Scalar;
    /// Writes a number.
    fn store(&mut self, address: i64, value: Scalar);
    /// What a loop of a ufunc of NumPy's makes of these operands.
    fn call_loop(&mut self, context: i64, args: &[Scalar], ty: DType) -> Scalar;
    /// Shall the function stop?
    fn poll(&mut self) -> bool;
}

/// How a function ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The number of the exit.
    pub number: u32,
    /// Its values.
    pub values: Vec<Scalar>,
}

/// Where control goes after a body.
enum Flow {
    Yield(Vec<Scalar>),
    Leave(Label, Vec<Scalar>),
    Again(Label, Vec<Scalar>),
    Exit(Outcome),
}

/// Runs a function that has been verified.
///
/// # Panics
/// If it does not verify, or if the arguments are not those that it takes.
pub fn interpret(function: &Function, args: &[Scalar], memory: &mut dyn Memory) -> Outcome {
    let mut run = Run { function, values: vec![None; function.values.len()], memory };
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
}

/// The number of a type in the low bytes of a word.
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
                let result = apply(*op, *on, &self.all(args)).expect("the function verifies");
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
                self.set(*out, Scalar::F64(call(*function, &args)));
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
            Instr::Store { address, value } => self.memory.store(self.int(*address), self.get(*value)),
            Instr::Poll { out } => {
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
            Instr::Yield(values) => return Some(Flow::Yield(self.all(values))),
            Instr::Leave { label, values } => return Some(Flow::Leave(*label, self.all(values))),
            Instr::Again { label, values } => return Some(Flow::Again(*label, self.all(values))),
            Instr::Exit { number, values } => {
                return Some(Flow::Exit(Outcome { number: *number, values: self.all(values) }));
            }
        }
        None
    }
}

/// A function of the C library, by the standard library's, which calls it: but `asinh`, `acosh`, `atanh`, `erf` and
/// `erfc`, which Rust code computes, so that their last bits may differ from C's.
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
