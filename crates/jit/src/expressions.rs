//! Expressions: names, literals, truth values, attributes, tuples. Operators are in `numbers` and `comparisons`,
//! indexing in `arrays`, calls in `calls`.

use crate::outside::{Argument, ObjectKind};
use crate::tree::{Comparison, Expr, Unary};
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

impl Walk<'_> {
    /// The value of an expression.
    pub fn expr(&mut self, expr: &Expr) -> Res<Val> {
        match expr {
            Expr::Int(digits) => match digits.parse::<i64>() {
                Ok(value) => Ok(Val::new(Type::Int, vec![self.e.int(value)])),
                Err(_) => unsupported("an integer beyond 64 bits"),
            },
            Expr::Float(value) => Ok(Val::new(Type::Float, vec![self.e.float(*value)])),
            Expr::Imaginary(value) => {
                let parts = vec![self.e.float(0.0), self.e.float(*value)];
                Ok(Val::new(Type::Complex, parts))
            }
            Expr::Bool(value) => Ok(Val::new(Type::Bool, vec![self.e.truth(*value)])),
            Expr::None => Ok(Val::empty(Type::None)),
            Expr::Str(_) => unsupported("a string"),
            Expr::Slot(slot) => self.slot(*slot),
            Expr::Input(input) => self.input(*input),
            Expr::Binary(op, a, b) => {
                let a = self.expr(a)?;
                let b = self.expr(b)?;
                self.binary(*op, &a, &b)
            }
            Expr::Unary(Unary::Not, a) => {
                let truth = self.test(a)?;
                let not = self.not(truth);
                Ok(Val::new(Type::Bool, vec![not]))
            }
            Expr::Unary(op, a) => {
                let a = self.expr(a)?;
                self.unary(*op, &a)
            }
            Expr::Compare(first, rest) => self.comparison(first, rest),
            Expr::And(items) => self.and_or(items, true),
            Expr::Or(items) => self.and_or(items, false),
            Expr::IfExp(test, a, b) => {
                let condition = self.test(test)?;
                self.either(condition, &mut |walk| walk.expr(a), &mut |walk| walk.expr(b))
            }
            Expr::Tuple(items) => self.tuple(items),
            Expr::List(_) => unsupported("a list"),
            Expr::Index(base, indices) => self.indexed(base, indices),
            Expr::Attr(base, name) => {
                let base = self.expr(base)?;
                self.attribute(&base, name)
            }
            Expr::Call(function, args, keywords) => self.call(function, args, keywords),
            Expr::Starred(_) => unsupported("a star"),
            Expr::Unsupported(what) => unsupported(what.clone()),
        }
    }

    /// A tuple display.
    pub fn tuple(&mut self, items: &[Expr]) -> Res<Val> {
        let mut items = items.iter().map(|item| self.expr(item)).collect::<Res<Vec<_>>>()?;
        for item in &mut items {
            *item = self.in_memory_if_virtual(item)?;
        }
        Ok(Val::new(
            Type::Tuple(items.iter().map(|item| item.ty.clone()).collect()),
            items.into_iter().flat_map(|item| item.parts).collect(),
        ))
    }

    /// The value of a local variable.
    pub fn slot(&mut self, slot: usize) -> Res<Val> {
        let val = self.env[slot].clone();
        if !val.ty.alternatives().contains(&Type::Unbound) {
            return Ok(val);
        }
        self.each(&val, &mut |_, val| {
            if val.ty == Type::Unbound { unsupported("a variable without value") } else { Ok(val) }
        })
    }

    fn input(&mut self, input: usize) -> Res<Val> {
        let number = match self.inlined.last() {
            None => self.unit.slots.len() as u32 + input as u32,
            Some(inlined) => inlined.inputs[input],
        };
        let val = self.argument_vals[number as usize].clone();
        if val.ty == Type::Unbound { unsupported("a name without value") } else { Ok(val) }
    }

    /// The kind of the object, if the value is an argument.
    pub fn object_kind(&self, val: &Val) -> ObjectKind {
        match val.ty {
            Type::Object(number) => self.findings.arguments[number as usize].kind.clone(),
            _ => ObjectKind::Value,
        }
    }

    /// An attribute of an argument. It is looked up once, before the code runs.
    pub fn found(&mut self, of: u32, name: &str) -> Option<Val> {
        let key = (of, name.to_owned());
        if let Some(number) = self.findings.found.get(&key) {
            return Some(self.argument_vals[*number as usize].clone());
        }
        let argument: Argument = self.world.attribute(of, name)?;
        let number = self.add_argument(argument);
        self.findings.found.insert(key, number);
        Some(self.argument_vals[number as usize].clone())
    }

    fn attribute(&mut self, base: &Val, name: &str) -> Res<Val> {
        match (&base.ty, name) {
            (Type::Object(number), _) => match self.field(*number, name) {
                Some(slot) => self.value_of_field(slot),
                None => match self.found(*number, name) {
                    Some(val) => Ok(val),
                    None => match self.property(base, name)? {
                        Some(val) => Ok(val),
                        None => unsupported(format!("the attribute {name} of an object")),
                    },
                },
            },
            (Type::Array { ndim, .. }, "shape") => {
                let count = usize::from(*ndim);
                Ok(Val::new(Type::Tuple(vec![Type::Int; count]), base.parts[2..2 + count].to_vec()))
            }
            (Type::Array { ndim, .. }, "size") => {
                let mut size = self.e.int(1);
                for k in 0..usize::from(*ndim) {
                    size = self.e.times(size, base.parts[2 + k]);
                    self.e.set_natural(size);
                }
                Ok(Val::new(Type::Int, vec![size]))
            }
            (Type::Array { ndim, .. }, "ndim") => Ok(Val::new(Type::Int, vec![self.e.int((*ndim).into())])),
            (Type::Array { dtype, ndim, writeable, foreign, .. }, "T") => {
                let count = usize::from(*ndim);
                let mut parts = base.parts.clone();
                parts[0] = self.view_of(parts[0]);
                parts[2..2 + count].reverse();
                parts[2 + count..].reverse();
                let (writeable, foreign) = (*writeable, *foreign);
                let ty = Type::Array { dtype: *dtype, ndim: *ndim, writeable, foreign };
                Ok(Val::new(ty, parts))
            }
            (Type::Complex, "real" | "imag") => {
                Ok(Val::new(Type::Float, vec![base.parts[usize::from(name == "imag")]]))
            }
            (Type::Scalar(dtype), "real" | "imag") if dtype.is_complex() => {
                let part = base.parts[usize::from(name == "imag")];
                Ok(Val::new(Type::Scalar(self.e.type_of(part)), vec![part]))
            }
            (Type::Choice(_), _) => self.each(base, &mut |walk, base| walk.attribute(&base, name)),
            (other, _) => unsupported(format!("the attribute {name} of {other}")),
        }
    }

    /// `not` of a truth value.
    pub fn not(&mut self, truth: Value) -> Value {
        match self.e.known(truth) {
            Some(known) => self.e.truth(known == 0),
            None => self.e.logic(Op::LogicalNot, &[truth]),
        }
    }

    /// The truth of an expression. Of the operands of `and`, `or` and `not`, only the truth is computed.
    pub fn test(&mut self, expr: &Expr) -> Res<Value> {
        match expr {
            Expr::Unary(Unary::Not, a) => {
                let truth = self.test(a)?;
                Ok(self.not(truth))
            }
            Expr::And(items) | Expr::Or(items) => {
                let is_and = matches!(expr, Expr::And(_));
                let (first, rest) = items.split_first().expect("it has operands");
                let first = self.test(first)?;
                self.test_rest(first, rest, is_and)
            }
            _ => {
                let val = self.expr(expr)?;
                self.is_true(&val)
            }
        }
    }

    fn test_rest(&mut self, first: Value, rest: &[Expr], is_and: bool) -> Res<Value> {
        let Some((next, rest)) = rest.split_first() else { return Ok(first) };
        let truth = |value| Ok(Val::new(Type::Bool, vec![value]));
        let mut go_on = |walk: &mut Self| {
            let next = walk.test(next)?;
            truth(walk.test_rest(next, rest, is_and)?)
        };
        let mut stay = |walk: &mut Self| truth(walk.e.truth(!is_and));
        let val = if is_and {
            self.either(first, &mut go_on, &mut stay)?
        } else {
            self.either(first, &mut stay, &mut go_on)?
        };
        Ok(val.parts[0])
    }

    /// The truth of a value.
    pub fn is_true(&mut self, val: &Val) -> Res<Value> {
        match &val.ty {
            Type::None => Ok(self.e.truth(false)),
            Type::Bool | Type::Scalar(DType::Bool) => Ok(val.parts[0]),
            Type::Int | Type::Float | Type::Complex | Type::Scalar(_) => {
                let mut any = None;
                for part in &val.parts {
                    let ty = self.e.type_of(*part);
                    let zero = self.e.constant(ty, 0);
                    let is = self.e.apply(Op::NotEqual, ty, &[*part, zero]);
                    any = Some(any.map_or(is, |any| self.e.logic(Op::LogicalOr, &[any, is])));
                }
                Ok(any.expect("a number has parts"))
            }
            Type::Tuple(items) => Ok(self.e.truth(!items.is_empty())),
            Type::List { fixed: false, .. } | Type::Range => {
                let length = self.length(val)?;
                let zero = self.e.int(0);
                Ok(self.e.ints(Op::NotEqual, &[length, zero]))
            }
            Type::Choice(types) if types[..] == [Type::Bool, Type::Scalar(DType::Bool)] => Ok(val.parts[1]),
            Type::Choice(_) => {
                let truth = self.each(val, &mut |walk, val| Ok(Val::new(Type::Bool, vec![walk.is_true(&val)?])))?;
                Ok(truth.parts[0])
            }
            other => unsupported(format!("the truth of {other}")),
        }
    }

    fn and_or(&mut self, items: &[Expr], is_and: bool) -> Res<Val> {
        let (first, rest) = items.split_first().expect("it has operands");
        let first = self.expr(first)?;
        if rest.is_empty() {
            return Ok(first);
        }
        let condition = self.is_true(&first)?;
        let mut go_on = |walk: &mut Self| walk.and_or(rest, is_and);
        let mut stay = |_: &mut Self| Ok(first.clone());
        if is_and {
            self.either(condition, &mut go_on, &mut stay)
        } else {
            self.either(condition, &mut stay, &mut go_on)
        }
    }

    fn comparison(&mut self, first: &Expr, rest: &[(Comparison, Expr)]) -> Res<Val> {
        if let Some(answer) = self.class_comparison(first, rest)? {
            return Ok(answer);
        }
        let first = self.expr(first)?;
        self.chain(&first, rest)
    }

    /// A chain such as `first < a < b`. Later operands are evaluated only if the earlier comparisons hold.
    fn chain(&mut self, first: &Val, rest: &[(Comparison, Expr)]) -> Res<Val> {
        let ((op, next), rest) = rest.split_first().expect("a comparison has an operator");
        let next = self.expr(next)?;
        let result = self.compare(*op, first, &next)?;
        if rest.is_empty() {
            return Ok(result);
        }
        let holds = self.is_true(&result)?;
        self.either(holds, &mut |walk| walk.chain(&next, rest), &mut |_| Ok(result.clone()))
    }
}
