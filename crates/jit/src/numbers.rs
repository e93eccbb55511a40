//! Arithmetic and bitwise operators on numbers, by Python's rules for its own numbers and by NumPy's for scalars (NEP
//! 50).

use crate::tree::{Operator, Unary};
use crate::types::{Type, Val};
use crate::virtuals::is_array;
use crate::walk::{Res, Walk, unsupported};
use crate::watch::is_finite;
use numelt_func::{CFunction, Value};
use numelt_ir::{DType, Op};

/// Integers up to this magnitude convert to floats without rounding.
const EXACT: i64 = 1 << 53;

/// The rules that an operation follows, and the type in which it is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rules {
    /// Python's rules. `Bool` means that all operands are `bool`; the result is an `int`.
    Python(DType),
    /// NumPy's rules, in this loop dtype.
    NumPy(DType),
}

impl Walk<'_> {
    /// A binary operation.
    pub fn binary(&mut self, op: Operator, a: &Val, b: &Val) -> Res<Val> {
        let (a, b) = (&Self::beside_numpys(a, b), &Self::beside_numpys(b, a));
        if let Some(val) = self.floats_of_either(op, a, b) {
            return Ok(val);
        }
        if matches!(a.ty, Type::Choice(_)) {
            return self.each(a, &mut |walk, a| walk.binary(op, &a, b));
        }
        if matches!(b.ty, Type::Choice(_)) {
            return self.each(b, &mut |walk, b| walk.binary(op, a, &b));
        }
        if let (Operator::Add, Type::Tuple(left), Type::Tuple(right)) = (op, &a.ty, &b.ty) {
            let types = left.iter().chain(right).cloned().collect();
            return Ok(Val::new(Type::Tuple(types), [&a.parts[..], &b.parts[..]].concat()));
        }
        if is_array(&a.ty) || is_array(&b.ty) {
            return self.virtual_binary(op, a, b);
        }
        match self.rules(a, b)? {
            Rules::Python(DType::F64) => self.python_floats(op, a, b),
            Rules::Python(DType::C128) => self.complexes(op, a, b, None),
            Rules::Python(_) => self.python_ints(op, a, b),
            Rules::NumPy(dtype) if dtype.is_float() => self.numpy_floats(op, dtype, a, b),
            Rules::NumPy(dtype) if dtype.is_complex() => self.complexes(op, a, b, Some(dtype)),
            Rules::NumPy(dtype) => self.numpy_ints(op, dtype, a, b),
        }
    }

    /// The rules for an operation on two numbers.
    pub fn rules(&mut self, a: &Val, b: &Val) -> Res<Rules> {
        let dtype = |ty: &Type| match ty {
            Type::Bool => Some(DType::Bool),
            Type::Int => Some(DType::I64),
            Type::Float => Some(DType::F64),
            Type::Complex => Some(DType::C128),
            _ => None,
        };
        match (&a.ty, &b.ty) {
            (Type::Scalar(a), Type::Scalar(b)) => Ok(Rules::NumPy(a.promote(*b))),
            (Type::Scalar(strong), weak) | (weak, Type::Scalar(strong)) => match weak {
                Type::Bool => Ok(Rules::NumPy(*strong)),
                Type::Int if *strong == DType::Bool => Ok(Rules::NumPy(DType::I64)),
                Type::Int => Ok(Rules::NumPy(*strong)),
                Type::Float if strong.is_float() || strong.is_complex() => Ok(Rules::NumPy(*strong)),
                Type::Float => Ok(Rules::NumPy(DType::F64)),
                Type::Complex if matches!(strong, DType::F32 | DType::C64) => Ok(Rules::NumPy(DType::C64)),
                Type::Complex if *strong != DType::F16 => Ok(Rules::NumPy(DType::C128)),
                other => unsupported(format!("an operation on {strong} and {other}")),
            },
            (x, y) => match (dtype(x), dtype(y)) {
                (Some(x), Some(y)) => Ok(Rules::Python(x.max(y))),
                _ => unsupported(format!("an operation on {x} and {y}")),
            },
        }
    }

    /// Converts a Python number to float. Exits if an int is beyond 2^53, because it may not convert exactly.
    pub fn python_float(&mut self, val: &Val) -> Value {
        match val.ty {
            Type::Float => val.parts[0],
            _ => {
                let int = self.int_of(val);
                self.exit_unless_exact(int);
                self.e.convert(int, DType::F64)
            }
        }
    }

    /// Exits if an I64 may not convert to a float without rounding.
    pub fn exit_unless_exact(&mut self, int: Value) {
        if let Some(bits) = self.e.known(int)
            && (bits as i64).unsigned_abs() <= EXACT as u64
        {
            return;
        }
        let sum = self.e.facts.sum(int);
        if self.is_small(&sum) {
            return;
        }
        let limit = self.e.int(EXACT);
        let moved = self.e.ints(Op::Add, &[int, limit]);
        let (moved, span) = (self.e.convert(moved, DType::U64), self.e.constant(DType::U64, 2 * EXACT as u64));
        let beyond = self.e.apply(Op::Greater, DType::U64, &[moved, span]);
        self.exit_if(beyond, "an integer that floats cannot hold");
    }

    /// Converts a bool or an int to I64.
    pub fn int_of(&mut self, val: &Val) -> Value {
        self.e.convert(val.parts[0], DType::I64)
    }

    fn python_floats(&mut self, op: Operator, a: &Val, b: &Val) -> Res<Val> {
        let (x, y) = (self.python_float(a), self.python_float(b));
        let result = match op {
            Operator::Add => self.e.apply(Op::Add, DType::F64, &[x, y]),
            Operator::Sub => self.e.apply(Op::Subtract, DType::F64, &[x, y]),
            Operator::Mult => self.e.apply(Op::Multiply, DType::F64, &[x, y]),
            Operator::Div | Operator::FloorDiv | Operator::Mod => {
                self.exit_if_zero(y);
                self.float_quotient(op, DType::F64, x, y)
            }
            Operator::Pow => {
                let power = self.e.call(CFunction::Pow, &[x, y]);
                self.watch(power, &[x, y], self.e.is_two(y));
                power
            }
            _ => return unsupported("a bitwise operator on floats"),
        };
        Ok(Val::new(Type::Float, vec![result]))
    }

    pub fn float_quotient(&mut self, op: Operator, dtype: DType, x: Value, y: Value) -> Value {
        let op = match op {
            Operator::Div => Op::Divide,
            Operator::FloorDiv => Op::FloorDivide,
            _ => Op::Remainder,
        };
        self.e.apply(op, dtype, &[x, y])
    }

    /// Exits before a division by zero. In iterations ahead, a float division by zero makes the iteration suspect: the
    /// processor's flags tell of a division of a finite number by zero, but not of one of infinity.
    pub fn exit_if_zero(&mut self, value: Value) {
        let ty = self.e.type_of(value);
        if self.e.known(value).is_some_and(|bits| bits << 1 != 0) {
            return;
        }
        let zero = self.e.constant(ty, 0);
        let is_zero = self.e.apply(Op::Equal, ty, &[value, zero]);
        if self.region.is_some() && ty.is_float() {
            return self.e.suspect(is_zero, None);
        }
        self.exit_if(is_zero, "a division by zero");
    }

    fn python_ints(&mut self, op: Operator, a: &Val, b: &Val) -> Res<Val> {
        if a.ty == Type::Bool && b.ty == Type::Bool {
            let bits = match op {
                Operator::BitAnd => Some(Op::LogicalAnd),
                Operator::BitOr => Some(Op::LogicalOr),
                Operator::BitXor => Some(Op::LogicalXor),
                _ => None,
            };
            if let Some(op) = bits {
                let result = self.e.logic(op, &[a.parts[0], b.parts[0]]);
                return Ok(Val::new(Type::Bool, vec![result]));
            }
        }
        let (x, y) = (self.int_of(a), self.int_of(b));
        if op == Operator::Div {
            self.exit_if_zero(y);
            self.exit_unless_exact(x);
            self.exit_unless_exact(y);
            let (x, y) = (self.e.convert(x, DType::F64), self.e.convert(y, DType::F64));
            let quotient = self.e.apply(Op::Divide, DType::F64, &[x, y]);
            return Ok(Val::new(Type::Float, vec![quotient]));
        }
        let result = self.wide_ints(op, x, y)?;
        Ok(Val::new(Type::Int, vec![result]))
    }

    /// An operation on I64. Exits if the result does not fit.
    fn wide_ints(&mut self, op: Operator, x: Value, y: Value) -> Res<Value> {
        if let (Some(a), Some(b)) = (self.e.known(x), self.e.known(y)) {
            let folded = match op {
                Operator::Add => (a as i64).checked_add(b as i64),
                Operator::Sub => (a as i64).checked_sub(b as i64),
                Operator::Mult => (a as i64).checked_mul(b as i64),
                _ => None,
            };
            if let Some(folded) = folded {
                return Ok(self.e.int(folded));
            }
        }
        match op {
            Operator::Add | Operator::Sub | Operator::Mult => {
                let op = match op {
                    Operator::Add => Op::Add,
                    Operator::Sub => Op::Subtract,
                    _ => Op::Multiply,
                };
                if let Some(sum) = self.e.sum_of(op, x, y)
                    && self.is_small(&sum)
                {
                    let result = self.e.ints(op, &[x, y]);
                    if op != Op::Subtract && self.e.is_natural(x) && self.e.is_natural(y) {
                        self.e.set_natural(result);
                    }
                    return Ok(result);
                }
                let (result, overflow) = self.e.checked(op, x, y);
                self.exit_if(overflow, "an integer beyond 64 bits");
                Ok(result)
            }
            Operator::FloorDiv | Operator::Mod => Ok(self.int_quotient(op, DType::I64, x, y)),
            Operator::Pow => self.int_power(x, y),
            Operator::LShift => {
                self.exit_unless_shift(y, 62);
                let moved = self.e.ints(Op::LeftShift, &[x, y]);
                let back = self.e.ints(Op::RightShift, &[moved, y]);
                let lost = self.e.ints(Op::NotEqual, &[back, x]);
                self.exit_if(lost, "an integer beyond 64 bits");
                Ok(moved)
            }
            Operator::RShift => {
                self.exit_unless_shift(y, 63);
                let moved = self.e.ints(Op::RightShift, &[x, y]);
                if self.e.is_natural(x) {
                    self.e.set_natural(moved);
                }
                Ok(moved)
            }
            _ => self.bits(op, DType::I64, x, y),
        }
    }

    fn exit_unless_shift(&mut self, by: Value, most: u64) {
        if self.e.known(by).is_some_and(|by| by <= most) {
            return;
        }
        let (bits, most) = (self.e.convert(by, DType::U64), self.e.constant(DType::U64, most));
        let beyond = self.e.apply(Op::Greater, DType::U64, &[bits, most]);
        self.exit_if(beyond, "a shift by a negative or large number");
    }

    fn bits(&mut self, op: Operator, dtype: DType, x: Value, y: Value) -> Res<Value> {
        let op = match op {
            Operator::BitAnd => Op::BitwiseAnd,
            Operator::BitOr => Op::BitwiseOr,
            Operator::BitXor => Op::BitwiseXor,
            _ => return unsupported("this operator on integers"),
        };
        let result = self.e.apply(op, dtype, &[x, y]);
        let natural = [x, y].map(|value| self.e.is_natural(value));
        if dtype == DType::I64 && (natural == [true; 2] || op == Op::BitwiseAnd && natural.contains(&true)) {
            self.e.set_natural(result);
        }
        Ok(result)
    }

    /// Converts a number to the loop dtype of a NumPy operation, which is not complex.
    pub fn operand(&mut self, val: &Val, dtype: DType) -> Value {
        let part = val.parts[0];
        if val.ty == Type::Int && dtype.is_integer() {
            self.exit_unless_fits(part, dtype);
        }
        let converted = self.e.convert(part, dtype);
        if val.ty == Type::Float && dtype == DType::F32 {
            let (wide, narrow) = (is_finite(&mut self.e, part), is_finite(&mut self.e, converted));
            let lost = self.e.logic(Op::NotEqual, &[wide, narrow]);
            self.exit_if(lost, "a float that float32 cannot hold");
        }
        converted
    }

    /// Exits if an integer dtype cannot hold an I64.
    pub fn exit_unless_fits(&mut self, int: Value, dtype: DType) {
        if dtype == DType::I64 {
            return;
        }
        if dtype == DType::U64 {
            if !self.e.is_natural(int) {
                let zero = self.e.int(0);
                let is_negative = self.e.ints(Op::Less, &[int, zero]);
                self.exit_if(is_negative, "an integer that the type cannot hold");
            }
            return;
        }
        let narrow = self.e.convert(int, dtype);
        let back = self.e.convert(narrow, DType::I64);
        let differs = self.e.ints(Op::NotEqual, &[back, int]);
        self.exit_if(differs, "an integer that the type cannot hold");
    }

    fn numpy_floats(&mut self, op: Operator, dtype: DType, a: &Val, b: &Val) -> Res<Val> {
        if dtype == DType::F16 {
            return unsupported("float16");
        }
        let (x, y) = (self.operand(a, dtype), self.operand(b, dtype));
        if op == Operator::Div && self.region.is_some() && self.e.type_of(b.parts[0]) == DType::Bool {
            // LLVM computes the quotients by False and True beforehand, which raises no flags
            let is_zero = self.not(b.parts[0]);
            self.e.suspect(is_zero, None);
        }
        let (result, keeps) = match op {
            Operator::Add => (self.e.apply(Op::Add, dtype, &[x, y]), true),
            Operator::Sub => (self.e.apply(Op::Subtract, dtype, &[x, y]), true),
            Operator::Mult => (self.e.apply(Op::Multiply, dtype, &[x, y]), true),
            Operator::Div | Operator::FloorDiv | Operator::Mod => {
                // NumPy uses the processor's flags, too, so that infinity divided by zero is no condition for it
                if self.region.is_none() || op != Operator::Div {
                    self.exit_if_zero(y);
                }
                (self.float_quotient(op, dtype, x, y), false)
            }
            Operator::Pow if dtype == DType::F64 => (self.e.call(CFunction::Pow, &[x, y]), self.e.is_two(y)),
            _ => return unsupported(format!("this operator on {dtype}")),
        };
        self.watch(result, &[x, y], keeps);
        Ok(Val::new(Type::Scalar(dtype), vec![result]))
    }

    fn numpy_ints(&mut self, op: Operator, dtype: DType, a: &Val, b: &Val) -> Res<Val> {
        if dtype == DType::Bool {
            let op = match op {
                Operator::BitAnd | Operator::Mult => Op::LogicalAnd,
                Operator::BitOr | Operator::Add => Op::LogicalOr,
                Operator::BitXor => Op::LogicalXor,
                _ => return unsupported("this operator on NumPy's bool"),
            };
            let result = self.e.logic(op, &[a.parts[0], b.parts[0]]);
            return Ok(Val::new(Type::Scalar(DType::Bool), vec![result]));
        }
        let (x, y) = (self.operand(a, dtype), self.operand(b, dtype));
        if op == Operator::Div {
            self.exit_if_zero(y);
            let (x, y) = (self.e.convert(x, DType::F64), self.e.convert(y, DType::F64));
            let quotient = self.e.apply(Op::Divide, DType::F64, &[x, y]);
            return Ok(Val::new(Type::Scalar(DType::F64), vec![quotient]));
        }
        let result = match op {
            Operator::Add | Operator::Sub | Operator::Mult if dtype == DType::I64 => self.wide_ints(op, x, y)?,
            Operator::Add | Operator::Sub | Operator::Mult if dtype == DType::U64 => self.unsigned(op, x, y)?,
            Operator::Add | Operator::Sub | Operator::Mult => {
                let (wide_x, wide_y) = (self.e.convert(x, DType::I64), self.e.convert(y, DType::I64));
                let wide = self.wide_ints(op, wide_x, wide_y)?;
                self.exit_unless_fits(wide, dtype);
                self.e.convert(wide, dtype)
            }
            Operator::FloorDiv | Operator::Mod => self.int_quotient(op, dtype, x, y),
            Operator::LShift | Operator::RShift => {
                let by = self.e.convert(y, DType::I64);
                self.exit_unless_shift(by, 8 * dtype.size() as u64 - 1);
                let op = if op == Operator::LShift { Op::LeftShift } else { Op::RightShift };
                self.e.apply(op, dtype, &[x, y])
            }
            Operator::Pow if dtype == DType::I64 => self.int_power(x, y)?,
            _ => self.bits(op, dtype, x, y)?,
        };
        Ok(Val::new(Type::Scalar(dtype), vec![result]))
    }

    /// An operation on U64. Exits if the result does not fit.
    fn unsigned(&mut self, op: Operator, x: Value, y: Value) -> Res<Value> {
        let u64t = DType::U64;
        let (result, lost) = match op {
            Operator::Add => {
                let sum = self.e.apply(Op::Add, u64t, &[x, y]);
                (sum, self.e.apply(Op::Less, u64t, &[sum, x]))
            }
            Operator::Sub => (self.e.apply(Op::Subtract, u64t, &[x, y]), self.e.apply(Op::Less, u64t, &[x, y])),
            _ => {
                // the product of factors below 2^32 fits; larger factors always exit
                let half = self.e.constant(u64t, 32);
                let high = self.e.apply(Op::BitwiseOr, u64t, &[x, y]);
                let high = self.e.apply(Op::RightShift, u64t, &[high, half]);
                let zero = self.e.constant(u64t, 0);
                (self.e.apply(Op::Multiply, u64t, &[x, y]), self.e.apply(Op::NotEqual, u64t, &[high, zero]))
            }
        };
        self.exit_if(lost, "an integer beyond 64 bits");
        Ok(result)
    }

    /// `-a`, `+a`, `~a`
    pub fn unary(&mut self, op: Unary, a: &Val) -> Res<Val> {
        match (&a.ty, op) {
            (Type::Choice(_), _) => self.each(a, &mut |walk, a| walk.unary(op, &a)),
            (ty, _) if is_array(ty) => self.virtual_unary(op, a),
            (Type::Bool, _) => {
                let int = self.int_of(a);
                self.unary(op, &Val::new(Type::Int, vec![int]))
            }
            (Type::Scalar(DType::Bool), Unary::Invert) => {
                let not = self.not(a.parts[0]);
                Ok(Val::new(a.ty.clone(), vec![not]))
            }
            (Type::Scalar(DType::Bool | DType::F16), _) => unsupported(format!("this operator on {}", a.ty)),
            (Type::Int | Type::Float | Type::Complex | Type::Scalar(_), Unary::Pos) => Ok(a.clone()),
            (Type::Int | Type::Scalar(_), Unary::Neg | Unary::Invert) if self.is_int(a) => {
                let dtype = self.e.type_of(a.parts[0]);
                if op == Unary::Invert {
                    return Ok(Val::new(a.ty.clone(), vec![self.e.apply(Op::Invert, dtype, &a.parts)]));
                }
                let zero = self.e.constant(dtype, 0);
                if let (Some(known), DType::I64) = (self.e.known(a.parts[0]), dtype)
                    && known as i64 != i64::MIN
                {
                    return Ok(Val::new(a.ty.clone(), vec![self.e.int(-(known as i64))]));
                }
                let minus = self.binary(Operator::Sub, &Val::new(a.ty.clone(), vec![zero]), a)?;
                Ok(minus)
            }
            (Type::Float | Type::Complex | Type::Scalar(_), Unary::Neg) => {
                let parts = a.parts.iter().map(|part| {
                    let ty = self.e.type_of(*part);
                    if let (Some(bits), DType::F64) = (self.e.known(*part), ty) {
                        return self.e.float(-f64::from_bits(bits));
                    }
                    self.e.apply(Op::Negative, ty, &[*part])
                });
                let parts = parts.collect();
                Ok(Val::new(a.ty.clone(), parts))
            }
            (other, _) => unsupported(format!("this operator on {other}")),
        }
    }

    /// Is it an `int` or an integer scalar of NumPy?
    pub fn is_int(&self, val: &Val) -> bool {
        match val.ty {
            Type::Int => true,
            Type::Scalar(dtype) => dtype.is_integer(),
            _ => false,
        }
    }
}
