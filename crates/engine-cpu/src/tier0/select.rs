//! The choice of a loop: the function for an operation on an element type with an instruction set.
//!
//! In: an operation, its loop dtype, the instruction set. Out: a function. Most operations have a row in `ops`. The
//! others, whose loop is chosen in another way, are in this file.

use crate::isa::Isa;
use crate::tier0::divide::Divide;
use crate::tier0::func::Func;
use crate::tier0::loops::{Versions, pick_cast, pick_divide, pick_divide_one, pick_scale, pick_where};
use crate::tier0::math::{self, Func1, Func2};
use crate::tier0::ops;
use crate::tier0::with::with;
use numelt_ir::{DType, Error, Op, Result, Scalar};

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
