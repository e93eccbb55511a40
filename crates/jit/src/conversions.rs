//! Conversions of numbers: to elements of arrays, and by `int`, `float` and the classes of NumPy scalars.

use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use crate::watch::is_finite;
use numelt_func::Value;
use numelt_ir::{DType, Op};

impl Walk<'_> {
    /// Converts a value to an element of an array, as an assignment does in NumPy.
    pub fn as_element(&mut self, val: &Val, dtype: DType) -> Res<Val> {
        let ty = Type::Scalar(dtype);
        if dtype == DType::F16 {
            return unsupported("float16");
        }
        if !val.ty.is_number() {
            return unsupported(format!("{} as an element of an array", val.ty));
        }
        if dtype.is_complex() {
            let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
            if part == DType::F32 && val.ty != ty {
                return unsupported("a conversion to complex64");
            }
            let parts = self.complex_parts(val, part);
            return Ok(Val::new(ty, parts.to_vec()));
        }
        if val.parts.len() == 2 {
            return unsupported("a complex number as an element of a real array");
        }
        let from = val.parts[0];
        let result = match self.e.type_of(from) {
            own if own == dtype => from,
            DType::Bool => self.e.convert(from, dtype),
            own if own.is_float() && dtype.is_integer() => self.truncated(from, dtype),
            own if own.is_float() && dtype == DType::F32 => {
                let narrow = self.e.convert(from, dtype);
                let (wide_is, narrow_is) = (is_finite(&mut self.e, from), is_finite(&mut self.e, narrow));
                let lost = self.e.logic(Op::NotEqual, &[wide_is, narrow_is]);
                self.exit_if(lost, "a float that float32 cannot hold");
                narrow
            }
            _ => {
                let own = self.e.type_of(from);
                if own.is_integer() && dtype.is_integer() && own.promote(dtype) != dtype {
                    // an int that does not fit raises an error in NumPy; a scalar that does not fit exits, too
                    let wide = self.e.convert(from, DType::I64);
                    if own == DType::U64 {
                        let zero = self.e.int(0);
                        let beyond = self.e.ints(Op::Less, &[wide, zero]);
                        self.exit_if(beyond, "an integer that the type cannot hold");
                    }
                    self.exit_unless_fits(wide, dtype);
                }
                self.e.convert(from, dtype)
            }
        };
        Ok(Val::new(ty, vec![result]))
    }

    /// Truncates a float to an integer. Exits if it does not fit.
    pub fn truncated(&mut self, float: Value, dtype: DType) -> Value {
        let float = self.e.convert(float, DType::F64);
        let whole = self.e.apply(Op::Trunc, DType::F64, &[float]);
        let bits = match dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => 8 * dtype.size() as i32 - 1,
            _ => 8 * dtype.size() as i32,
        };
        let is_signed = bits % 8 != 0;
        let (low, high) = (if is_signed { -2f64.powi(bits) } else { 0.0 }, 2f64.powi(bits));
        let (low, high) = (self.e.float(low), self.e.float(high));
        let above = self.e.apply(Op::GreaterEqual, DType::F64, &[whole, low]);
        let below = self.e.apply(Op::Less, DType::F64, &[whole, high]);
        let fits = self.e.logic(Op::LogicalAnd, &[above, below]);
        self.exit_unless(fits, "a float that the integer type cannot hold");
        self.e.convert(whole, dtype)
    }

    /// `int(x)`
    pub fn int_from(&mut self, val: &Val) -> Res<Val> {
        let int = match val.ty {
            Type::Choice(_) => return self.each(val, &mut |walk, val| walk.int_from(&val)),
            Type::Int | Type::Bool => self.int_of(val),
            Type::Float | Type::Scalar(DType::F64 | DType::F32) => self.truncated(val.parts[0], DType::I64),
            Type::Scalar(dtype) if dtype.is_integer() || dtype == DType::Bool => {
                let wide = self.int_of(val);
                if dtype == DType::U64 {
                    let zero = self.e.int(0);
                    let beyond = self.e.ints(Op::Less, &[wide, zero]);
                    self.exit_if(beyond, "an integer beyond 64 bits");
                }
                wide
            }
            ref other => return unsupported(format!("int of {other}")),
        };
        Ok(Val::new(Type::Int, vec![int]))
    }

    /// `float(x)`
    pub fn float_from(&mut self, val: &Val) -> Res<Val> {
        match val.ty {
            Type::Choice(_) => self.each(val, &mut |walk, val| walk.float_from(&val)),
            Type::Float | Type::Int | Type::Bool => {
                let part = self.e.convert(val.parts[0], DType::F64);
                Ok(Val::new(Type::Float, vec![part]))
            }
            Type::Scalar(dtype) if !dtype.is_complex() && dtype != DType::F16 => {
                let part = self.e.convert(val.parts[0], DType::F64);
                Ok(Val::new(Type::Float, vec![part]))
            }
            ref other => unsupported(format!("float of {other}")),
        }
    }

    /// `np.float64(x)` and the like.
    pub fn scalar_from(&mut self, val: &Val, dtype: DType) -> Res<Val> {
        match val.ty {
            Type::Choice(_) => self.each(val, &mut |walk, val| walk.scalar_from(&val, dtype)),
            _ if dtype == DType::Bool => {
                let truth = self.is_true(val)?;
                Ok(Val::new(Type::Scalar(dtype), vec![truth]))
            }
            Type::Scalar(from) if from.is_integer() && dtype.is_integer() => {
                // NumPy scalars wrap around
                let part = self.e.convert(val.parts[0], dtype);
                Ok(Val::new(Type::Scalar(dtype), vec![part]))
            }
            _ => self.as_element(val, dtype),
        }
    }
}
