//! Floating-point conditions, which operations report besides their values.
//!
//! The bits are those that NumPy passes to the handlers of `errstate(call=...)`. Each instruction has a byte that
//! states which conditions it reports. Values never depend on it.

use crate::{DType, DTypeKind, Instr, Op, OpKind, Operand, Signature};

/// An operation on finite numbers has an infinite result: `1 / 0`, `log(0)`.
pub const DIVIDE: u8 = 1;
/// A result too large for its type.
pub const OVER: u8 = 2;
/// A result too small for its type.
pub const UNDER: u8 = 4;
/// The result is undefined: `0 / 0`, `sqrt(-1)`.
pub const INVALID: u8 = 8;
/// Not a condition. This bit says that the operation is part of another one, whose name is reported (see
/// [`Op::report_name`]).
pub const PART: u8 = 32;
/// The conditions of which NumPy warns by default.
pub const DEFAULT: u8 = DIVIDE | OVER | INVALID;
/// All conditions.
pub const ALL: u8 = DEFAULT | UNDER;

impl Op {
    /// The conditions that the operation may report if it is computed in loop dtype `ty`.
    pub const fn raises(self, ty: DType) -> u8 {
        let info = self.info();
        match info.signature {
            // comparing with NaN is invalid; NumPy hides this for floats, but not for complex numbers
            Signature::Predicate if matches!(ty.kind(), DTypeKind::Complex) && self.orders() => return INVALID,
            Signature::Predicate
            | Signature::Select
            | Signature::Position
            | Signature::Exponent
            | Signature::Count
            | Signature::Mixed
            | Signature::Gather
            | Signature::Stream => return 0,
            Signature::Scatter => {
                let inexact = matches!(ty.kind(), DTypeKind::Float | DTypeKind::Complex);
                let adds = matches!(self, Op::ScatterAdd | Op::ScatterMultiply);
                return if adds && inexact { OVER | INVALID } else { 0 };
            }
            Signature::Same | Signature::Real | Signature::Scale => {}
        }
        if !matches!(ty.kind(), DTypeKind::Float | DTypeKind::Complex) {
            return self.raises_integer(ty);
        }
        match self {
            Op::Spacing if matches!(ty, DType::F16) => OVER | INVALID,
            Op::Copy
            | Op::Positive
            | Op::Negative
            | Op::Conjugate
            | Op::RealPart
            | Op::ImagPart
            | Op::Sign
            | Op::Maximum
            | Op::Minimum
            | Op::Fmax
            | Op::Fmin
            | Op::Copysign
            | Op::Floor
            | Op::Ceil
            | Op::Trunc
            | Op::Rint
            | Op::Fabs
            | Op::Heaviside
            | Op::Nextafter
            | Op::Spacing
            | Op::FrexpMantissa
            | Op::ModfFraction
            | Op::ModfIntegral
            | Op::Min
            | Op::Max
            | Op::ReduceFmax
            | Op::ReduceFmin
            | Op::Vdot
            | Op::Cummax
            | Op::Cummin
            | Op::Cumfmax
            | Op::Cumfmin => 0,
            Op::Absolute if matches!(ty.kind(), DTypeKind::Float) => 0,
            Op::Add | Op::Subtract | Op::Multiply | Op::Square | Op::Hypot | Op::Sum | Op::Prod => OVER | INVALID,
            Op::Deg2rad | Op::Rad2deg | Op::Ldexp => OVER,
            Op::Sqrt | Op::Sin | Op::Cos | Op::Tan | Op::Arcsin | Op::Arccos
                if matches!(ty.kind(), DTypeKind::Float) =>
            {
                INVALID
            }
            Op::Cbrt | Op::Arctan | Op::Tanh | Op::Arctan2 if matches!(ty.kind(), DTypeKind::Float) => 0,
            // for all others the default is assumed, so that no condition of a new operation is missed
            _ => DEFAULT,
        }
    }

    /// Whether it is an ordering comparison.
    const fn orders(self) -> bool {
        matches!(self, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
    }

    const fn raises_integer(self, ty: DType) -> u8 {
        match self {
            Op::FloorDivide | Op::Remainder | Op::Fmod if matches!(ty.kind(), DTypeKind::Signed) => DIVIDE | OVER,
            Op::FloorDivide | Op::Remainder | Op::Fmod => DIVIDE,
            Op::Reciprocal => DIVIDE | INVALID,
            // integers wrap silently
            _ => 0,
        }
    }

    /// NumPy's name of the operation in the report of an instruction with this byte.
    pub const fn report_name(self, watch: u8) -> &'static str {
        match self.kind() {
            OpKind::Reduction => "reduce",
            OpKind::Scan => "accumulate",
            OpKind::Elementwise | OpKind::Generator | OpKind::Library | OpKind::Gather | OpKind::Roll => match self {
                Op::Copy => "cast",
                Op::FloorDivide | Op::Remainder if watch & PART != 0 => "divmod",
                Op::Power if watch & PART != 0 => "float_power",
                Op::Sqrt if watch & PART != 0 => "power",
                Op::Add | Op::Subtract if watch & PART != 0 => "multiply",
                Op::Hypot if watch & PART != 0 => "absolute",
                Op::ScatterAdd if watch & PART != 0 => "subtract",
                Op::ScatterAdd => "add",
                Op::ScatterMultiply => "multiply",
                _ => self.name(),
            },
        }
    }
}

impl Instr {
    /// Whether running it could give a warning that its recorder wants.
    pub fn may_warn(&self) -> bool {
        if self.watch & ALL == 0 {
            return false;
        }
        let input = |(position, operand): (usize, &Operand)| match operand {
            Operand::View(view) => cast_raises(view.dtype, self.op.input_dtype(self.ty, position)),
            Operand::Const(_) => 0,
        };
        let inputs = self.ins.iter().enumerate().map(input).fold(0, |all, conditions| all | conditions);
        let output = cast_raises(self.op.output_dtype(self.ty), self.out.dtype);
        self.watch & (self.op.raises(self.ty) | inputs | output) != 0
    }
}

/// The conditions that a conversion may report.
pub const fn cast_raises(from: DType, to: DType) -> u8 {
    match (from.kind(), to.kind()) {
        (DTypeKind::Float | DTypeKind::Complex, DTypeKind::Signed | DTypeKind::Unsigned) => INVALID,
        (DTypeKind::Float | DTypeKind::Complex, DTypeKind::Float | DTypeKind::Complex)
            if to.real().size() < from.real().size() =>
        {
            OVER
        }
        // the largest half is 65504
        (DTypeKind::Signed, DTypeKind::Float) if matches!(to, DType::F16) && from.size() > 2 => OVER,
        (DTypeKind::Unsigned, DTypeKind::Float) if matches!(to, DType::F16) && from.size() >= 2 => OVER,
        _ => 0,
    }
}

/// NumPy's wording for one condition.
pub const fn words(condition: u8) -> &'static str {
    match condition {
        DIVIDE => "divide by zero encountered in",
        OVER => "overflow encountered in",
        UNDER => "underflow encountered in",
        _ => "invalid value encountered in",
    }
}
