//! Transcendental functions for the interpreter: the choice among the vector math crate's slice functions.
//!
//! In: a function, an element type, an instruction set. Out: a slice function, if the type has one.

use crate::isa::Isa;
use crate::tier0::func::Func;
use numelt_ir::DType;
pub use numelt_vecmath::{Func1, Func2};
use numelt_vecmath::{binary_f32, binary_f64, unary_f32, unary_f64};

/// The slice function of one argument.
pub fn unary(f: Func1, ty: DType, isa: Isa) -> Option<Func> {
    match ty {
        DType::F64 => Some(Func::Unary64(unary_f64(f, isa))),
        DType::F32 => Some(Func::Unary32(unary_f32(f, isa))),
        _ => None,
    }
}

/// The slice function of two arguments.
pub fn binary(f: Func2, ty: DType, isa: Isa) -> Option<Func> {
    match ty {
        DType::F64 => Some(Func::Binary64(binary_f64(f, isa))),
        DType::F32 => Some(Func::Binary32(binary_f32(f, isa))),
        _ => None,
    }
}
