//! Operators on values whose type is either `float` or NumPy's `float64`, which is known only when the code runs.
//!
//! A sum that begins with `0.0` and adds elements of an array has such a type. Both types are computed alike, so the
//! code of an operator needs no branch: it computes the number, and the tag of the result's type beside it.

use crate::comparisons::comparing;
use crate::tree::{Comparison, Operator};
use crate::types::{Type, Val};
use crate::walk::Walk;
use numelt_func::Value;
use numelt_ir::{DType, Op};

impl Walk<'_> {
    /// Is it the type of a value that is a `float` or a NumPy `float64`, which is known only when the code runs?
    pub fn is_either_float(ty: &Type) -> bool {
        matches!(ty, Type::Choice(types) if types[..] == [Type::Float, Type::Scalar(DType::F64)])
    }

    /// Treats a number that is a `float` or a NumPy `float64` as a `float`, where the two behave alike.
    pub fn as_float(val: &Val) -> Val {
        if Self::is_either_float(&val.ty) { Val::new(Type::Float, vec![val.parts[1]]) } else { val.clone() }
    }

    /// Arithmetic on two numbers of which one is a `float` or a NumPy `float64`, and the other is the same or a number
    /// of Python's. The result is a NumPy scalar if an operand is one. Floating-point conditions are checked in either
    /// case.
    pub fn floats_of_either(&mut self, op: Operator, a: &Val, b: &Val) -> Option<Val> {
        if !Self::is_of_either(a, b) || !matches!(op, Operator::Add | Operator::Sub | Operator::Mult | Operator::Div) {
            return None;
        }
        let (x, y) = (self.float_of_either(a), self.float_of_either(b));
        let op = match op {
            Operator::Add => Op::Add,
            Operator::Sub => Op::Subtract,
            Operator::Mult => Op::Multiply,
            Operator::Div => {
                self.exit_if_zero(y);
                Op::Divide
            }
            _ => return None,
        };
        let result = self.e.apply(op, DType::F64, &[x, y]);
        self.watch(result, &[x, y], op != Op::Divide);
        let ty = if Self::is_either_float(&a.ty) { a.ty.clone() } else { b.ty.clone() };
        let tag = self.tag_of_either(a, b);
        Some(Val::new(ty, vec![tag, result]))
    }

    /// Is one operand a `float` or a NumPy `float64`, and the other the same or a number of Python's?
    fn is_of_either(a: &Val, b: &Val) -> bool {
        let is_either = [a, b].map(|val| Self::is_either_float(&val.ty));
        let is_python = [a, b].map(|val| matches!(val.ty, Type::Float | Type::Int | Type::Bool));
        is_either.contains(&true) && (0..2).all(|k| is_either[k] || is_python[k])
    }

    /// Converts such an operand to F64.
    fn float_of_either(&mut self, val: &Val) -> Value {
        self.python_float(&Self::as_float(val))
    }

    /// The tag of the result's type: that of a NumPy scalar if an operand is one.
    fn tag_of_either(&mut self, a: &Val, b: &Val) -> Value {
        match (a.parts.len(), b.parts.len()) {
            (1, _) => b.parts[0],
            (_, 1) => a.parts[0],
            _ => self.e.apply(Op::Maximum, DType::I8, &[a.parts[0], b.parts[0]]),
        }
    }

    /// A comparison of such operands. The result is NumPy's `bool` if an operand is a NumPy scalar.
    pub fn compare_either(&mut self, op: Comparison, a: &Val, b: &Val) -> Option<Val> {
        if !Self::is_of_either(a, b) {
            return None;
        }
        let op = comparing(op)?;
        let (x, y) = (self.float_of_either(a), self.float_of_either(b));
        let result = self.e.apply(op, DType::F64, &[x, y]);
        let tag = self.tag_of_either(a, b);
        Some(Val::new(Type::Choice(vec![Type::Bool, Type::Scalar(DType::Bool)]), vec![tag, result]))
    }

    /// Treats a number that is a `float` or a NumPy `float64` as the latter if the other operand is a NumPy `float64`.
    /// The result is the same.
    pub fn beside_numpys(val: &Val, other: &Val) -> Val {
        match (&val.ty, &other.ty) {
            (ty, Type::Scalar(DType::F64)) if Self::is_either_float(ty) => {
                Val::new(other.ty.clone(), vec![val.parts[1]])
            }
            _ => val.clone(),
        }
    }
}
