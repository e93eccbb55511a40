//! Comparison operators on numbers, `None` and tuples of numbers.

use crate::numbers::Rules;
use crate::tree::Comparison;
use crate::types::{Type, Val};
use crate::virtuals::is_array;
use crate::walk::{Res, Walk, unsupported};
use numelt_ir::{DType, Op};

/// The operation of a comparison of numbers; `None` for tests of identity and membership.
pub fn comparing(op: Comparison) -> Option<Op> {
    Some(match op {
        Comparison::Eq => Op::Equal,
        Comparison::Ne => Op::NotEqual,
        Comparison::Lt => Op::Less,
        Comparison::Le => Op::LessEqual,
        Comparison::Gt => Op::Greater,
        Comparison::Ge => Op::GreaterEqual,
        _ => return None,
    })
}

impl Walk<'_> {
    /// A comparison.
    pub fn compare(&mut self, op: Comparison, a: &Val, b: &Val) -> Res<Val> {
        let (a, b) = (&Self::beside_numpys(a, b), &Self::beside_numpys(b, a));
        if let Some(val) = self.compare_either(op, a, b) {
            return Ok(val);
        }
        if matches!(a.ty, Type::Choice(_)) {
            return self.each(a, &mut |walk, a| walk.compare(op, &a, b));
        }
        if matches!(b.ty, Type::Choice(_)) {
            return self.each(b, &mut |walk, b| walk.compare(op, a, &b));
        }
        if let Comparison::Is | Comparison::IsNot = op {
            let same = match (&a.ty, &b.ty) {
                (Type::None, Type::None) => true,
                (Type::None, _) | (_, Type::None) => false,
                _ => return unsupported("the identity of objects"),
            };
            let truth = self.e.truth(same == (op == Comparison::Is));
            return Ok(Val::new(Type::Bool, vec![truth]));
        }
        if is_array(&a.ty) || is_array(&b.ty) {
            return self.virtual_compare(op, a, b);
        }
        if let (Type::Tuple(_), Type::Tuple(_), Comparison::Eq | Comparison::Ne) = (&a.ty, &b.ty, op) {
            return unsupported("comparing tuples");
        }
        if let (Comparison::In | Comparison::NotIn, Type::Tuple(_)) = (op, &b.ty) {
            return self.contains(a, b, op == Comparison::In);
        }
        let Some(op) = comparing(op) else {
            return unsupported("a membership test of something else than a tuple");
        };
        let (ty, result) = match self.rules(a, b)? {
            Rules::Python(DType::F64) => {
                let (x, y) = (self.python_float(a), self.python_float(b));
                (Type::Bool, self.e.apply(op, DType::F64, &[x, y]))
            }
            Rules::Python(DType::C128) | Rules::NumPy(DType::C128) if matches!(op, Op::Equal | Op::NotEqual) => {
                let numpy = [a, b].iter().any(|val| matches!(val.ty, Type::Scalar(_)));
                let ([ar, ai], [br, bi]) = (self.complex_parts(a, DType::F64), self.complex_parts(b, DType::F64));
                let (re, im) = (self.e.apply(op, DType::F64, &[ar, br]), self.e.apply(op, DType::F64, &[ai, bi]));
                let join = if op == Op::Equal { Op::LogicalAnd } else { Op::LogicalOr };
                (if numpy { Type::Scalar(DType::Bool) } else { Type::Bool }, self.e.logic(join, &[re, im]))
            }
            Rules::Python(DType::C128) => return unsupported("ordering complex numbers"),
            Rules::Python(_) => {
                let (x, y) = (self.int_of(a), self.int_of(b));
                if let (Some(x), Some(y)) = (self.e.known(x), self.e.known(y)) {
                    let (x, y) = (x as i64, y as i64);
                    let holds = match op {
                        Op::Equal => x == y,
                        Op::NotEqual => x != y,
                        Op::Less => x < y,
                        Op::LessEqual => x <= y,
                        Op::Greater => x > y,
                        _ => x >= y,
                    };
                    (Type::Bool, self.e.truth(holds))
                } else {
                    (Type::Bool, self.e.ints(op, &[x, y]))
                }
            }
            Rules::NumPy(dtype) => {
                if dtype.is_complex() || dtype == DType::F16 {
                    return unsupported(format!("comparing {dtype}"));
                }
                let mixed = |val: &Val| matches!(val.ty, Type::Scalar(DType::I64));
                let unsigned = |val: &Val| matches!(val.ty, Type::Scalar(DType::U64));
                if mixed(a) && unsigned(b) || mixed(b) && unsigned(a) {
                    return unsupported("comparing int64 and uint64");
                }
                let (x, y) = (self.operand(a, dtype), self.operand(b, dtype));
                (Type::Scalar(DType::Bool), self.e.apply(op, dtype, &[x, y]))
            }
        };
        Ok(Val::new(ty, vec![result]))
    }

    /// `a in (b, …)`, or `not in`, for numbers.
    fn contains(&mut self, a: &Val, tuple: &Val, wanted: bool) -> Res<Val> {
        let mut any = self.e.truth(false);
        for item in tuple.items().expect("a tuple") {
            let equal = self.compare(Comparison::Eq, a, &item)?;
            let equal = self.is_true(&equal)?;
            any = self.e.logic(Op::LogicalOr, &[any, equal]);
        }
        let truth = if wanted { any } else { self.not(any) };
        Ok(Val::new(Type::Bool, vec![truth]))
    }
}
