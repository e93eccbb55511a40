//! Complex arithmetic, computed from real and imaginary parts as Python and NumPy do.
//!
//! Sources: `_Py_c_prod`, `_Py_c_quot` and `c_powu` in CPython's `Objects/complexobject.c`; the loops of `multiply`,
//! `divide` and `npy_cpow` for complex numbers in NumPy. Newer versions of Python correct products and quotients that
//! are not finite; compiled code exits at these.

use crate::tree::Operator;
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

/// Real and imaginary part.
type Parts = [Value; 2];

/// The largest exponent of a power that is written as multiplications.
const LARGEST_POWER: u64 = 64;

impl Walk<'_> {
    /// The real and imaginary parts of a number, converted to this type.
    pub fn complex_parts(&mut self, val: &Val, part: DType) -> Parts {
        match val.parts[..] {
            [re, im] => [self.e.convert(re, part), self.e.convert(im, part)],
            _ => {
                let re = self.e.convert(val.parts[0], part);
                [re, self.e.constant(part, 0)]
            }
        }
    }

    fn part(&mut self, op: Op, x: Value, y: Value) -> Value {
        self.e.apply(op, DType::F64, &[x, y])
    }

    /// An operation on two numbers of which at least one is complex. `numpy` is the dtype if the operation follows
    /// NumPy's rules.
    pub fn complexes(&mut self, op: Operator, a: &Val, b: &Val, numpy: Option<DType>) -> Res<Val> {
        if numpy == Some(DType::C64) {
            return unsupported("arithmetic of complex64");
        }
        if numpy.is_none() {
            for val in [a, b] {
                if val.ty == Type::Int {
                    self.exit_unless_exact(val.parts[0]);
                }
            }
        }
        let is_python = numpy.is_none();
        let is_mixed = is_python && self.world.mixes_complex() && (a.parts.len() == 1 || b.parts.len() == 1);
        let (x, y) = (self.complex_parts(a, DType::F64), self.complex_parts(b, DType::F64));
        let parts = match op {
            Operator::Pow => self.complex_power(x, y, is_python)?,
            _ if is_mixed => self.mixed(op, x, y, a.parts.len() == 1)?,
            Operator::Add => [self.part(Op::Add, x[0], y[0]), self.part(Op::Add, x[1], y[1])],
            Operator::Sub => [self.part(Op::Subtract, x[0], y[0]), self.part(Op::Subtract, x[1], y[1])],
            Operator::Mult => self.complex_product(x, y),
            Operator::Div => self.complex_quotient(x, y, is_python)?,
            _ => return unsupported("this operator on complex numbers"),
        };
        for part in parts {
            self.watch(part, &[x, y].concat(), matches!(op, Operator::Add | Operator::Sub | Operator::Mult));
        }
        let ty = numpy.map_or(Type::Complex, Type::Scalar);
        Ok(Val::new(ty, parts.to_vec()))
    }

    /// An operation on a complex number and a real one, in versions of Python that do not convert the real one to
    /// complex.
    fn mixed(&mut self, op: Operator, x: Parts, y: Parts, first_is_real: bool) -> Res<Parts> {
        Ok(match (op, first_is_real) {
            (Operator::Add, true) => [self.part(Op::Add, x[0], y[0]), y[1]],
            (Operator::Add, false) => [self.part(Op::Add, x[0], y[0]), x[1]],
            (Operator::Sub, true) => {
                let minus = self.e.apply(Op::Negative, DType::F64, &[y[1]]);
                [self.part(Op::Subtract, x[0], y[0]), minus]
            }
            (Operator::Sub, false) => [self.part(Op::Subtract, x[0], y[0]), x[1]],
            (Operator::Mult, true) => [self.part(Op::Multiply, x[0], y[0]), self.part(Op::Multiply, x[0], y[1])],
            (Operator::Mult, false) => [self.part(Op::Multiply, x[0], y[0]), self.part(Op::Multiply, x[1], y[0])],
            _ => return unsupported("this operator on a complex number and a real one"),
        })
    }

    fn complex_product(&mut self, x: Parts, y: Parts) -> Parts {
        let (rr, ii) = (self.part(Op::Multiply, x[0], y[0]), self.part(Op::Multiply, x[1], y[1]));
        let (ri, ir) = (self.part(Op::Multiply, x[0], y[1]), self.part(Op::Multiply, x[1], y[0]));
        [self.part(Op::Subtract, rr, ii), self.part(Op::Add, ri, ir)]
    }

    /// Smith's algorithm, which scales by the larger part of the divisor. Where Python divides, NumPy multiplies by the
    /// reciprocal.
    fn complex_quotient(&mut self, x: Parts, y: Parts, is_python: bool) -> Res<Parts> {
        let zero = self.e.float(0.0);
        let zeros = y.map(|part| self.e.apply(Op::Equal, DType::F64, &[part, zero]));
        let is_zero = self.e.logic(Op::LogicalAnd, &zeros);
        self.exit_if(is_zero, "a division by zero");
        let sizes = y.map(|part| self.e.apply(Op::Absolute, DType::F64, &[part]));
        let by_real = self.e.apply(Op::GreaterEqual, DType::F64, &sizes);
        let choose = |walk: &mut Self, real, imaginary| walk.e.select(by_real, real, imaginary);
        let (large, small) = (choose(self, y[0], y[1]), choose(self, y[1], y[0]));
        let ratio = self.part(Op::Divide, small, large);
        let scaled = self.part(Op::Multiply, small, ratio);
        // floating-point addition commutes, so the order of the terms does not matter
        let below = self.part(Op::Add, large, scaled);
        let (re_ratio, im_ratio) = (self.part(Op::Multiply, x[0], ratio), self.part(Op::Multiply, x[1], ratio));
        let re = [self.part(Op::Add, x[0], im_ratio), self.part(Op::Add, re_ratio, x[1])];
        let im = [self.part(Op::Subtract, x[1], re_ratio), self.part(Op::Subtract, im_ratio, x[0])];
        let above = [choose(self, re[0], re[1]), choose(self, im[0], im[1])];
        if is_python {
            return Ok(above.map(|part| self.part(Op::Divide, part, below)));
        }
        let one = self.e.float(1.0);
        let scale = self.part(Op::Divide, one, below);
        Ok(above.map(|part| self.part(Op::Multiply, part, scale)))
    }

    /// A power with a known integer exponent, as multiplications in the order in which Python and NumPy do them.
    fn complex_power(&mut self, x: Parts, y: Parts, is_python: bool) -> Res<Parts> {
        let (Some(exponent), Some(0)) = (self.e.known(y[0]).map(f64::from_bits), self.e.known(y[1])) else {
            return unsupported("a power of complex numbers");
        };
        if exponent.fract() != 0.0 || exponent < 1.0 || exponent > LARGEST_POWER as f64 {
            return unsupported("a power of a complex number with an exponent that is not a small positive integer");
        }
        let exponent = exponent as u64;
        if !is_python {
            let square = self.complex_product(x, x);
            let power = match exponent {
                1 => x,
                2 => square,
                3 => self.complex_product(x, square),
                _ => return unsupported("a power of a NumPy complex number with an exponent above 3"),
            };
            // all powers of zero are positive zeros
            let zero = self.e.float(0.0);
            let zeros = x.map(|part| self.e.apply(Op::Equal, DType::F64, &[part, zero]));
            let is_zero = self.e.logic(Op::LogicalAnd, &zeros);
            return Ok(power.map(|part| self.e.select(is_zero, zero, part)));
        }
        let mut result = [self.e.float(1.0), self.e.float(0.0)];
        let (mut square, mut bit) = (x, 1);
        while bit <= exponent {
            if exponent & bit != 0 {
                result = self.complex_product(result, square);
            }
            bit <<= 1;
            if bit <= exponent {
                square = self.complex_product(square, square);
            }
        }
        Ok(result)
    }
}
