//! From a node of a kernel's body to IR: one match over the op table.
//!
//! In: an operation, its loop dtype, operand values. Out: the value in vector registers (or scalars
//! for one lane). Not here: memory, loops. The meaning is that of the reference interpreter: no
//! re-association, no contraction, no fast-math flag anywhere.

pub(crate) mod calls;
pub(crate) mod math;
pub(crate) mod memory;
pub(crate) mod power;
pub(crate) mod quotient;

mod arith;
mod cast;
mod compare;
mod complex;
mod divmod;
mod exponential;
mod half;

use crate::builder::{Builder, Int, Real, Ty, Val};
use calls::ElementLoops;
use math::MathTable;
use numelt_ir::parts::FloatFunctions;
use numelt_ir::{DType, DTypeKind as Kind, Error, Op, Result, not_elementwise, transcendental, warn};
use quotient::Divisor;

/// A value of a node for `lanes` points.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// Everything but complex; bool is a vector of i1.
    Plain(Val),
    /// Real and imaginary parts.
    Complex(Val, Val),
}

impl Value {
    /// The value of a dtype that is not complex.
    pub(crate) fn plain(self) -> Val {
        match self {
            Value::Plain(v) => v,
            Value::Complex(..) => unreachable!("the kernel's verifier checks operand dtypes"),
        }
    }

    /// Real and imaginary part.
    pub(crate) fn parts(self) -> (Val, Val) {
        match self {
            Value::Complex(re, im) => (re, im),
            Value::Plain(_) => unreachable!("the kernel's verifier checks operand dtypes"),
        }
    }

    /// The same function on each component.
    pub(crate) fn map(self, f: impl Fn(Val) -> Val) -> Value {
        match self {
            Value::Plain(v) => Value::Plain(f(v)),
            Value::Complex(re, im) => Value::Complex(f(re), f(im)),
        }
    }

    /// The same function on components of two values of one dtype.
    pub(crate) fn zip(self, other: Value, f: impl Fn(Val, Val) -> Val) -> Value {
        match (self, other) {
            (Value::Plain(a), Value::Plain(b)) => Value::Plain(f(a, b)),
            (Value::Complex(a, b), Value::Complex(c, d)) => Value::Complex(f(a, c), f(b, d)),
            _ => unreachable!("the kernel's verifier checks operand dtypes"),
        }
    }
}

/// What code may call.
#[derive(Clone, Copy)]
pub(crate) struct Callees<'a> {
    pub(crate) math: &'a MathTable,
    pub(crate) loops: &'a ElementLoops,
}

/// Lowering at one vector width.
pub(crate) struct Lower<'a> {
    pub(crate) b: &'a Builder,
    /// Points per value; one means scalar types.
    pub(crate) lanes: u32,
    pub(crate) math: &'a MathTable,
    pub(crate) loops: &'a ElementLoops,
    /// If the second operand is a divisor and the same number for all points: the factor that replaces the division.
    pub(crate) divisor: Option<Divisor>,
}

/// The error for operations for which no code can be generated.
pub(crate) fn unsupported<T>(op: Op, ty: DType) -> Result<T> {
    Err(Error::Unsupported(format!("{} of {ty} in compiled code", op.name())))
}

impl Lower<'_> {
    /// Register type of one component of `dtype` for one point.
    pub(crate) fn scalar(&self, dtype: DType) -> Ty {
        match dtype.kind() {
            Kind::Bool => self.b.int(1),
            // bits: arithmetic on halves is in f32
            _ if dtype == DType::F16 => self.b.int(16),
            Kind::Unsigned | Kind::Signed => self.b.int(8 * dtype.size() as u32),
            Kind::Float | Kind::Complex => self.b.float(8 * dtype.real().size() as u32),
        }
    }

    /// Register type of one component of `dtype` for all points.
    pub(crate) fn reg(&self, dtype: DType) -> Ty {
        self.b.vector(self.scalar(dtype), self.lanes)
    }

    /// The same number in every lane.
    pub(crate) fn number(&self, dtype: DType, value: f64) -> Val {
        match dtype.kind() {
            Kind::Float | Kind::Complex => self.b.const_float(self.reg(dtype), value),
            Kind::Bool | Kind::Unsigned | Kind::Signed => self.b.const_int(self.reg(dtype), value as i64 as u64),
        }
    }

    /// An operation of the body.
    pub(crate) fn op(&self, op: Op, ty: DType, args: &[Value]) -> Result<Value> {
        let plain = |v: Val| Ok(Value::Plain(v));
        match op {
            Op::Copy | Op::Positive => Ok(args[0]),
            Op::Add => Ok(self.add(ty, args[0], args[1])),
            Op::Subtract => Ok(self.subtract(ty, args[0], args[1])),
            Op::Multiply => Ok(self.multiply(ty, args[0], args[1])),
            Op::Divide => Ok(self.divide(ty, args[0], args[1])),
            Op::FloorDivide => self.floor_divide(ty, args[0].plain(), args[1].plain()),
            Op::Remainder => self.remainder(ty, args[0].plain(), args[1].plain()),
            Op::Fmod => self.fmod(ty, args[0].plain(), args[1].plain()),
            Op::Negative if ty == DType::F16 => plain(self.b.xor(args[0].plain(), self.half_bits(0x8000))),
            Op::Absolute if ty == DType::F16 => plain(self.b.and(args[0].plain(), self.half_bits(0x7FFF))),
            Op::Negative => Ok(args[0].map(|v| if ty.is_integer() { self.b.neg(v) } else { self.b.fneg(v) })),
            Op::Absolute | Op::Fabs => self.absolute(ty, args[0]),
            Op::Sign => self.sign(ty, args[0]),
            Op::Square => Ok(self.square(ty, args[0])),
            Op::Reciprocal => self.reciprocal(ty, args[0]),
            Op::Maximum | Op::Minimum | Op::Fmax | Op::Fmin => Ok(self.extreme(op, ty, args[0], args[1])),
            Op::Copysign => plain(self.float_intrinsic("llvm.copysign", ty, &[args[0].plain(), args[1].plain()])),
            Op::Sqrt if ty.is_float() => plain(self.float_intrinsic("llvm.sqrt", ty, &[args[0].plain()])),
            Op::Floor => plain(self.float_intrinsic("llvm.floor", ty, &[args[0].plain()])),
            Op::Ceil => plain(self.float_intrinsic("llvm.ceil", ty, &[args[0].plain()])),
            Op::Trunc | Op::ModfIntegral => plain(self.float_intrinsic("llvm.trunc", ty, &[args[0].plain()])),
            Op::Rint => Ok(args[0].map(|v| self.float_intrinsic("llvm.rint", ty.real(), &[v]))),
            Op::Power if ty.is_integer() => plain(self.integer_power(ty, args[0].plain(), args[1].plain())),
            transcendental!() | Op::Sqrt => {
                if !ty.is_float() {
                    return self.by_loop(op, ty, args);
                }
                let args: Vec<Val> = args.iter().map(|a| a.plain()).collect();
                plain(self.math(op, ty, &args)?)
            }
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                plain(self.compare(op, ty, args[0], args[1]))
            }
            Op::EqualMixed | Op::NotEqualMixed | Op::LessMixed => plain(self.compare_mixed(op, ty, args)),
            Op::LessEqualMixed | Op::GreaterMixed | Op::GreaterEqualMixed => plain(self.compare_mixed(op, ty, args)),
            Op::Deg2rad | Op::Rad2deg => {
                let factor = match (op, ty) {
                    (Op::Deg2rad, DType::F32) => f64::from(f32::DEGREE),
                    (Op::Deg2rad, _) => f64::DEGREE,
                    (_, DType::F32) => f64::from(f32::RADIAN),
                    _ => f64::RADIAN,
                };
                plain(self.b.fmul(args[0].plain(), self.number(ty, factor)))
            }
            Op::Heaviside => {
                let (x, zero, one) = (args[0].plain(), self.number(ty, 0.0), self.number(ty, 1.0));
                let step = self.b.select(self.b.fcmp(Real::LLVMRealOLT, x, zero), zero, one);
                let step = self.b.select(self.b.fcmp(Real::LLVMRealOEQ, x, zero), args[1].plain(), step);
                plain(self.b.select(self.b.fcmp(Real::LLVMRealUNO, x, x), x, step))
            }
            Op::ModfFraction => {
                let x = args[0].plain();
                let rest = self.b.fsub(x, self.float_intrinsic("llvm.trunc", ty, &[x]));
                let size = self.float_intrinsic("llvm.fabs", ty, &[x]);
                let infinite = self.b.fcmp(Real::LLVMRealOEQ, size, self.number(ty, f64::INFINITY));
                let rest = self.b.select(infinite, self.number(ty, 0.0), rest);
                plain(self.float_intrinsic("llvm.copysign", ty, &[rest, x]))
            }
            Op::BitwiseCount => {
                let v = self.absolute(ty, args[0])?.plain();
                let count = self.b.intrinsic("llvm.ctpop", &[self.reg(ty)], &[v]);
                plain(if ty.size() == 1 { count } else { self.b.trunc(count, self.reg(DType::U8)) })
            }
            Op::FrexpMantissa => plain(self.split_exponent(ty, args[0].plain()).0),
            Op::FrexpExponent => plain(self.split_exponent(ty, args[0].plain()).1),
            Op::LogicalAnd => plain(self.b.and(self.truth(ty, args[0]), self.truth(ty, args[1]))),
            Op::LogicalOr => plain(self.b.or(self.truth(ty, args[0]), self.truth(ty, args[1]))),
            Op::LogicalXor => plain(self.b.xor(self.truth(ty, args[0]), self.truth(ty, args[1]))),
            Op::LogicalNot => plain(self.b.not(self.truth(ty, args[0]))),
            Op::BitwiseAnd => plain(self.b.and(args[0].plain(), args[1].plain())),
            Op::BitwiseOr => plain(self.b.or(args[0].plain(), args[1].plain())),
            Op::BitwiseXor => plain(self.b.xor(args[0].plain(), args[1].plain())),
            Op::Invert => plain(self.b.not(args[0].plain())),
            Op::LeftShift | Op::RightShift => plain(self.shift(op, ty, args[0].plain(), args[1].plain())),
            Op::Isnan | Op::Isinf | Op::Isfinite => plain(self.classify(op, ty, args[0])),
            Op::Signbit => plain(self.signbit(ty, args[0].plain())),
            Op::Spacing if ty != DType::F16 => plain(self.spacing(ty, args[0].plain())),
            Op::Conjugate => Ok(match args[0] {
                Value::Plain(v) => Value::Plain(v),
                Value::Complex(re, im) => Value::Complex(re, self.b.fneg(im)),
            }),
            Op::RealPart => plain(args[0].parts().0),
            Op::ImagPart => plain(args[0].parts().1),
            Op::Where => {
                let condition = args[0].plain();
                Ok(args[1].zip(args[2], |a, b| self.b.select(condition, a, b)))
            }
            not_elementwise!() => unsupported(op, ty),
            // Operations without code of their own call tier 0's loop on a few elements at a time.
            _ => self.by_loop(op, ty, args),
        }
    }

    /// Raises a floating-point flag if the condition holds in some lane: rare, so in a block of its own.
    pub(crate) fn raise_where(&self, condition: Val, flag: u8) {
        let (raise, done) = (self.b.block(c"raise"), self.b.block(c"raised"));
        self.b.branch(self.any(condition), raise, done);
        self.b.enter(raise);
        let number = |value| self.b.const_float(self.b.float(64), value);
        match flag {
            warn::OVER => self.b.flagged("fmul", number(f64::MAX), number(f64::MAX)),
            warn::DIVIDE => self.b.flagged("fdiv", number(1.0), number(0.0)),
            _ => self.b.flagged("fdiv", number(0.0), number(0.0)),
        }
        self.b.jump(done);
        self.b.enter(done);
    }

    /// A float intrinsic overloaded on its operand type.
    pub(crate) fn float_intrinsic(&self, name: &str, ty: DType, args: &[Val]) -> Val {
        self.b.intrinsic(name, &[self.reg(ty)], args)
    }

    /// Truth value as NumPy's `bool(x)`: not zero (NaN is true).
    pub(crate) fn truth(&self, ty: DType, value: Value) -> Val {
        let part = |v: Val| match ty.kind() {
            Kind::Bool => v,
            Kind::Unsigned | Kind::Signed => self.b.icmp(Int::LLVMIntNE, v, self.number(ty, 0.0)),
            Kind::Float | Kind::Complex => self.b.fcmp(Real::LLVMRealUNE, v, self.number(ty, 0.0)),
        };
        match value {
            Value::Plain(v) => part(v),
            Value::Complex(re, im) => self.b.or(part(re), part(im)),
        }
    }
}
