//! Quotients, remainders and whole powers of integers.

use crate::affine::Affine;
use crate::tree::Operator;
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

impl Walk<'_> {
    /// `x // y` or `x % y` in an integer dtype.
    pub fn int_quotient(&mut self, op: Operator, dtype: DType, x: Value, y: Value) -> Value {
        if dtype == DType::I64
            && let Some(known) = self.e.known(y).filter(|y| (*y as i64) > 0 && y.is_power_of_two())
        {
            return self.power_of_two_quotient(op, x, known);
        }
        let is_positive = dtype == DType::I64 && self.is_positive(y);
        if is_positive
            && op == Operator::Mod
            && let Some((is_negative, is_beyond)) = self.wraps_once(x, y)
        {
            return self.wrapped(x, y, is_negative, is_beyond);
        }
        if !is_positive {
            self.exit_if_zero(y);
        }
        let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
        if is_signed && !is_positive && self.e.known(y).is_none() {
            // dividing the smallest integer by -1 overflows
            let minus = self.e.constant(dtype, u64::MAX);
            let is_minus = self.e.apply(Op::Equal, dtype, &[y, minus]);
            self.exit_if(is_minus, "a division by -1");
        }
        let natural = self.e.is_natural(x) && self.e.is_natural(y) || op == Operator::Mod && self.e.is_natural(y);
        let result = self.float_quotient(op, dtype, x, y);
        if natural && dtype == DType::I64 {
            self.e.set_natural(result);
            if op == Operator::Mod {
                self.note_remainder(result, y);
            }
        }
        result
    }

    /// Records that `result` is less than `y`.
    fn note_remainder(&mut self, result: Value, y: Value) {
        if let Some(most) = self.e.facts.sum(y).plus(&Affine::of(1), -1) {
            self.e.facts.set_limit(result, 1, most);
        }
    }

    /// `x % y` for `-y <= x < 2*y`, as in `(i + 1) % n`, without a division, which takes ten times as long.
    fn wrapped(&mut self, x: Value, y: Value, is_negative: bool, is_beyond: bool) -> Value {
        let mut result = x;
        if is_negative {
            let zero = self.e.int(0);
            let (is, moved) = (self.e.ints(Op::Less, &[x, zero]), self.e.ints(Op::Add, &[x, y]));
            result = self.e.select(is, moved, result);
        }
        if is_beyond {
            let (is, moved) = (self.e.ints(Op::GreaterEqual, &[x, y]), self.e.ints(Op::Subtract, &[x, y]));
            result = self.e.select(is, moved, result);
        }
        if result != x {
            self.e.set_natural(result);
            self.note_remainder(result, y);
        }
        result
    }

    /// `x // y` or `x % y` for a power of two.
    fn power_of_two_quotient(&mut self, op: Operator, x: Value, y: u64) -> Value {
        let is_natural = self.e.is_natural(x);
        let (op, by) = match op {
            Operator::FloorDiv => (Op::RightShift, y.trailing_zeros().into()),
            _ => (Op::BitwiseAnd, y as i64 - 1),
        };
        let by = self.e.int(by);
        let result = self.e.ints(op, &[x, by]);
        if is_natural || op == Op::BitwiseAnd {
            self.e.set_natural(result);
        }
        if op == Op::BitwiseAnd {
            self.e.facts.set_limit(result, 1, Affine::of(y as i64 - 1));
        }
        result
    }

    /// `x ** y` for a known exponent, as a chain of multiplications.
    pub fn int_power(&mut self, x: Value, y: Value) -> Res<Value> {
        let Some(power) = self.e.known(y) else {
            return unsupported("a power of integers whose exponent is not a constant");
        };
        if power > 64 {
            return unsupported("a power of an integer with a negative or large exponent");
        }
        let mut result = self.e.int(1);
        for _ in 0..power {
            result = if self.e.known(result) == Some(1) {
                x
            } else {
                let (product, overflow) = self.e.checked(Op::Multiply, result, x);
                self.exit_if(overflow, "an integer beyond 64 bits");
                product
            };
        }
        Ok(result)
    }
}
