//! The choice of a loop: the function for an operation on an element type with an instruction set.
//!
//! In: an operation, its loop dtype, the instruction set. Out: a function. Most operations have a row in `ops`. The
//! others, whose loop is chosen in another way, are in this file.

use crate::isa::Isa;
use crate::tier0::divide::Divide;
use crate::tier0::loops::{Loop, Versions, pick_cast, pick_divide, pick_divide_one, pick_scale, pick_where};
use crate::tier0::math::{self, Func1, Func2};
use crate::tier0::ops;
use numelt_ir::{DType, Error, Op, Result, Scalar};
use numelt_vecmath::{Slice1, Slice2};

/// The function that the interpreter calls for an instruction.
#[derive(Clone, Copy)]
pub enum Func {
    /// A loop of this crate.
    Loop(Loop),
    /// Vector math of one operand.
    Unary64(Slice1<f64>),
    /// The same on f32.
    Unary32(Slice1<f32>),
    /// Vector math of two operands.
    Binary64(Slice2<f64>),
    /// The same on f32.
    Binary32(Slice2<f32>),
}

impl Func {
    /// Computes `n` results.
    ///
    /// # Safety
    /// The contract of [`Loop`], for as many operands as the function has.
    #[inline]
    pub unsafe fn call(self, ins: [*const u8; 3], out: *mut u8, n: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Func::Loop(f) => f(ins.as_ptr(), out, n),
                Func::Unary64(f) => f(ins[0].cast(), out.cast(), n),
                Func::Unary32(f) => f(ins[0].cast(), out.cast(), n),
                Func::Binary64(f) => f(ins[0].cast(), ins[1].cast(), out.cast(), n),
                Func::Binary32(f) => f(ins[0].cast(), ins[1].cast(), out.cast(), n),
            }
        }
    }
}

/// `with!(ty, set, T => expression)` evaluates the expression, with `T` the Rust type of `ty`; or returns `None` if
/// `ty` is not in the set.
macro_rules! with {
    (@arms $ty:expr, $t:ident => $e:expr; $($d:ident $r:ty),*) => {
        match $ty {
            $(DType::$d => { type $t = $r; Some($e) })*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
    ($ty:expr, all, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; Bool $crate::tier0::B8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F16 numelt_ir::F16, F32 f32, F64 f64, C64 numelt_ir::C32, C128 numelt_ir::C64)
    };
    ($ty:expr, number, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F16 numelt_ir::F16, F32 f32, F64 f64, C64 numelt_ir::C32, C128 numelt_ir::C64)
    };
    ($ty:expr, real, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
    };
    ($ty:expr, bits, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; Bool $crate::tier0::B8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64)
    };
    ($ty:expr, integer, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64)
    };
    ($ty:expr, inexact, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; F32 f32, F64 f64, C64 numelt_ir::C32, C128 numelt_ir::C64)
    };
    ($ty:expr, float, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; F32 f32, F64 f64)
    };
    ($ty:expr, halves, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; F16 numelt_ir::F16, F32 f32, F64 f64)
    };
    ($ty:expr, wide, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I64 i64, U64 u64)
    };
    ($ty:expr, complex, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; C64 numelt_ir::C32, C128 numelt_ir::C64)
    };
}
pub(crate) use with;

/// The function for an elementwise operation.
pub fn select(op: Op, ty: DType, isa: Isa) -> Result<Func> {
    let found = arithmetic(op, ty, isa);
    found.ok_or_else(|| Error::Unsupported(format!("{} of {ty}", op.name())))
}

fn arithmetic(op: Op, ty: DType, isa: Isa) -> Option<Func> {
    macro_rules! one {
        ($set:ident, $o:ident) => {
            with!(ty, $set, T => Func::Loop(<T as Versions>::one::<ops::$o>(isa)))
        };
    }
    macro_rules! two {
        ($set:ident, $o:ident) => {
            with!(ty, $set, T => Func::Loop(<T as Versions>::two::<ops::$o>(isa)))
        };
    }
    macro_rules! division {
        ($o:ident) => {
            with!(ty, integer, T => Func::Loop(pick_divide::<T, ops::$o>(isa)))
        };
    }
    macro_rules! math {
        ($f:ident) => {
            math::unary(Func1::$f, ty, isa)
        };
        ($f:ident, $complex:ident) => {
            if ty.is_complex() { one!(complex, $complex) } else { math::unary(Func1::$f, ty, isa) }
        };
    }
    match op {
        Op::FloorDivide if ty.is_integer() => division!(FloorDivide),
        Op::Remainder if ty.is_integer() => division!(Remainder),
        Op::Fmod if ty.is_integer() => division!(Fmod),
        Op::Power | Op::FloatPower if ty.is_float() => math::binary(Func2::Pow, ty, isa),
        Op::Power | Op::FloatPower => two!(number, Power),
        Op::Absolute | Op::Fabs => one!(all, Absolute),
        Op::Cbrt => math!(Cbrt),
        Op::Exp => math!(Exp, CExp),
        Op::Exp2 => math!(Exp2, CExp2),
        Op::Expm1 => math!(Expm1, CExpm1),
        Op::Log => math!(Log, CLog),
        Op::Log2 => math!(Log2, CLog2),
        Op::Log10 => math!(Log10, CLog10),
        Op::Log1p => math!(Log1p, CLog1p),
        Op::Sin => math!(Sin, CSin),
        Op::Cos => math!(Cos, CCos),
        Op::Tan => math!(Tan, CTan),
        Op::Arcsin => math!(Arcsin, CArcsin),
        Op::Arccos => math!(Arccos, CArccos),
        Op::Arctan => math!(Arctan, CArctan),
        Op::Arctan2 => math::binary(Func2::Arctan2, ty, isa),
        Op::Sinh => math!(Sinh, CSinh),
        Op::Cosh => math!(Cosh, CCosh),
        Op::Tanh => math!(Tanh, CTanh),
        Op::Arcsinh => math!(Arcsinh, CArcsinh),
        Op::Arccosh => math!(Arccosh, CArccosh),
        Op::Arctanh => math!(Arctanh, CArctanh),
        Op::Hypot => math::binary(Func2::Hypot, ty, isa),
        Op::Logaddexp => math::binary(Func2::Logaddexp, ty, isa),
        Op::Logaddexp2 => math::binary(Func2::Logaddexp2, ty, isa),
        Op::Erf => math!(Erf),
        Op::Trunc | Op::ModfIntegral => one!(float, Trunc),
        Op::Ldexp => with!(ty, float, T => Func::Loop(pick_scale::<T>(isa))),
        Op::Where => with!(ty, all, T => Func::Loop(pick_where::<T>(isa))),
        // operations in the table of loops; copies have been renamed before, and the others are not elementwise
        _ => ops::one(op, ty, isa).or_else(|| ops::two(op, ty, isa)).map(Func::Loop),
    }
}

/// The loop that divides integers by this number, if there is one. The second operand then points to the number.
pub fn select_divide_by(op: Op, by: Scalar, isa: Isa) -> Option<Func> {
    macro_rules! of {
        ($($d:ident)*) => {
            match by {
                $(Scalar::$d(by) if by.inverts() => one(op, by, isa),)*
                _ => None,
            }
        };
    }
    fn one<T: Divide>(op: Op, _: T, isa: Isa) -> Option<Func> {
        match op {
            Op::FloorDivide => Some(Func::Loop(pick_divide_one::<T, ops::FloorDivide>(isa))),
            Op::Remainder => Some(Func::Loop(pick_divide_one::<T, ops::Remainder>(isa))),
            Op::Fmod => Some(Func::Loop(pick_divide_one::<T, ops::Fmod>(isa))),
            _ => None,
        }
    }
    of!(I8 U8 I16 U16 I32 U32 I64 U64)
}

/// The loop that converts `from` to `to`.
pub fn select_cast(from: DType, to: DType, isa: Isa) -> Result<Func> {
    let found = with!(from, all, T => with!(to, all, U => Func::Loop(pick_cast::<T, U>(isa))));
    found.flatten().ok_or_else(|| Error::Unsupported(format!("conversion of {from} to {to}")))
}
