//! The iterables of `for` statements: ranges, arrays, tuples, `enumerate` and `zip`.

use crate::outside::ObjectKind;
use crate::tree::Expr;
use crate::types::{Type, Val};
use crate::walk::{Res, Source, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

impl Walk<'_> {
    /// Evaluates the iterable of a `for` statement. Returns its kind and its numbers.
    pub fn source(&mut self, expr: &Expr) -> Res<(Source, Vec<Value>)> {
        if let Expr::Call(function, args, keywords) = expr
            && let Some(name) = self.builtin(function)?
        {
            match (name, &args[..], &keywords[..]) {
                ("enumerate", [items], []) => {
                    let (source, mut parts) = self.source(items)?;
                    parts.push(self.e.int(0));
                    return Ok((Source::Enumerate(Box::new(source)), parts));
                }
                ("enumerate", [items, start], []) => {
                    let (source, mut parts) = self.source(items)?;
                    let start = self.expr(start)?;
                    if start.ty != Type::Int {
                        return unsupported("enumerate from something else than an int");
                    }
                    parts.extend(start.parts);
                    return Ok((Source::Enumerate(Box::new(source)), parts));
                }
                ("zip", [_, ..], []) => {
                    let (mut sources, mut parts) = (Vec::new(), Vec::new());
                    for arg in args {
                        let (source, more) = self.source(arg)?;
                        sources.push(source);
                        parts.extend(more);
                    }
                    return Ok((Source::Zip(sources), parts));
                }
                _ => {}
            }
        }
        let val = match expr {
            Expr::List(items) => self.tuple(items)?,
            _ => self.expr(expr)?,
        };
        let val = self.in_memory_if_virtual(&val)?;
        match &val.ty {
            Type::Range | Type::Array { .. } | Type::List { .. } => {}
            Type::Tuple(_) => {}
            other => return unsupported(format!("iterating over {other}")),
        }
        if matches!(val.ty, Type::Array { ndim: 0, .. }) {
            return unsupported("iterating over an array without axes");
        }
        Ok((Source::Items(val.ty.clone()), val.parts))
    }

    /// The name of the builtin function to which an expression refers, if any.
    pub fn builtin(&mut self, function: &Expr) -> Res<Option<&'static str>> {
        if !matches!(function, Expr::Input(_)) {
            return Ok(None);
        }
        let val = self.expr(function)?;
        Ok(match self.object_kind(&val) {
            ObjectKind::Builtin(name) => Some(name),
            _ => None,
        })
    }

    /// The number of iterations over an iterable.
    pub fn source_length(&mut self, source: &Source, parts: &[Value]) -> Res<Value> {
        match source {
            Source::Items(ty) => self.length(&Val::new(ty.clone(), parts.to_vec())),
            Source::Enumerate(inner) => self.source_length(inner, &parts[..parts.len() - 1]),
            Source::Zip(sources) => {
                let mut least = None;
                for (source, parts) in split(sources, parts) {
                    let length = self.source_length(source, parts)?;
                    least = Some(match least {
                        None => length,
                        Some(least) if least == length => least,
                        Some(least) => self.e.ints(Op::Minimum, &[least, length]),
                    });
                }
                Ok(least.expect("zip has arguments"))
            }
        }
    }

    /// The item of an iterable at a position.
    pub fn item(&mut self, source: &Source, parts: &[Value], position: Value) -> Res<Val> {
        match source {
            Source::Items(Type::Range) => Ok(self.range_item(parts, position)),
            Source::Items(Type::Tuple(types)) => {
                let items = Val::new(Type::Tuple(types.clone()), parts.to_vec()).items().expect("a tuple");
                if items.iter().all(|item| item.ty == items[0].ty) {
                    return Ok(self.chosen(&items, position));
                }
                self.item_at(&items, position, 0)
            }
            Source::Items(ty) => {
                let items = Val::new(ty.clone(), parts.to_vec());
                // the shortest iterable ends the loop, so the position is within bounds
                self.inside.insert((position, parts[2]));
                match ty {
                    Type::List { .. } => self.list_item_at(&items, position),
                    _ => self.row(&items, position),
                }
            }
            Source::Enumerate(inner) => {
                let (start, parts) = parts.split_last().expect("the start");
                let item = self.item(inner, parts, position)?;
                let number = if self.e.known(*start) == Some(0) {
                    position
                } else {
                    let (number, overflow) = self.e.checked(Op::Add, *start, position);
                    self.exit_if(overflow, "an integer beyond 64 bits");
                    number
                };
                let mut all = vec![number];
                all.extend(&item.parts);
                Ok(Val::new(Type::Tuple(vec![Type::Int, item.ty]), all))
            }
            Source::Zip(sources) => {
                let (mut types, mut all) = (Vec::new(), Vec::new());
                for (source, parts) in split(sources, parts) {
                    let item = self.item(source, parts, position)?;
                    types.push(item.ty);
                    all.extend(item.parts);
                }
                Ok(Val::new(Type::Tuple(types), all))
            }
        }
    }

    fn range_item(&mut self, parts: &[Value], position: Value) -> Val {
        let [start, _, step] = parts else { unreachable!("a range has three numbers") };
        let moved = self.e.times(position, *step);
        let item = if self.e.known(*start) == Some(0) { moved } else { self.e.ints(Op::Add, &[*start, moved]) };
        let is_up = self.e.known(*step).is_some_and(|step| step as i64 > 0);
        if is_up && self.e.is_natural(*start) {
            self.e.set_natural(item);
        }
        Val::new(Type::Int, vec![item])
    }

    /// Selects one of several values of one type by a position.
    fn chosen(&mut self, items: &[Val], position: Value) -> Val {
        let mut chosen = items[0].clone();
        for (k, item) in items.iter().enumerate().skip(1) {
            let k = self.e.int(k as i64);
            let is = self.e.ints(Op::Equal, &[position, k]);
            let parts = item.parts.iter().zip(&chosen.parts).map(|(a, b)| self.e.select(is, *a, *b));
            chosen = Val::new(item.ty.clone(), parts.collect());
        }
        chosen
    }

    /// The result of `len`.
    pub fn length(&mut self, val: &Val) -> Res<Value> {
        match &val.ty {
            Type::Tuple(items) => Ok(self.e.int(items.len() as i64)),
            Type::Array { ndim: 1.., .. } | Type::List { .. } => Ok(val.parts[2]),
            Type::Range => Ok(self.range_length(&val.parts)),
            Type::Object(_) => self.length_of_object(val),
            other => unsupported(format!("len of {other}")),
        }
    }

    /// The length of a range. Its step is not zero, and `range` has checked that its extent fits 64 bits.
    fn range_length(&mut self, parts: &[Value]) -> Value {
        let [start, stop, step] = parts else { unreachable!("a range has three numbers") };
        let zero = self.e.int(0);
        if self.e.known(*step) == Some(1) {
            // for example `range(i - 1, i + 2)`
            if let Some(span) = self.e.sum_of(Op::Subtract, *stop, *start).and_then(|span| span.known()) {
                return self.e.int(span.max(0));
            }
            let span =
                if self.e.known(*start) == Some(0) { *stop } else { self.e.ints(Op::Subtract, &[*stop, *start]) };
            if span == *stop && self.e.is_natural(span) {
                return span;
            }
            let length = self.e.ints(Op::Maximum, &[span, zero]);
            self.e.set_natural(length);
            return length;
        }
        // the distance in the direction of the step, over the step's size, rounded up
        let is_up = self.e.ints(Op::Greater, &[*step, zero]);
        let (up, down) = (self.e.ints(Op::Subtract, &[*stop, *start]), self.e.ints(Op::Subtract, &[*start, *stop]));
        let distance = self.e.select(is_up, up, down);
        let size = self.e.ints(Op::Absolute, &[*step]);
        let one = self.e.int(1);
        let less = self.e.ints(Op::Subtract, &[distance, one]);
        let whole = self.e.ints(Op::FloorDivide, &[less, size]);
        let count = self.e.ints(Op::Add, &[whole, one]);
        let any = self.e.ints(Op::Greater, &[distance, zero]);
        let length = self.e.select(any, count, zero);
        self.e.set_natural(length);
        length
    }

    /// `range(…)` of these integers.
    pub fn range(&mut self, bounds: &[Value]) -> Res<Val> {
        let (zero, one) = (self.e.int(0), self.e.int(1));
        let parts = match *bounds {
            [stop] => vec![zero, stop, one],
            [start, stop] => vec![start, stop, one],
            [start, stop, step] => {
                let none = self.e.ints(Op::Equal, &[step, zero]);
                self.exit_if(none, "a step of zero");
                vec![start, stop, step]
            }
            _ => return unsupported("range of so many arguments"),
        };
        // numbers so far from zero that distances would not fit
        let far = self.e.int(1 << 61);
        for part in &parts {
            let sum = self.e.facts.sum(*part);
            if self.is_small(&sum) {
                continue;
            }
            if self.e.known(*part).is_none() && !matches!(bounds, [_]) || bounds.len() == 3 {
                let size = self.e.ints(Op::Absolute, &[*part]);
                let size = self.e.convert(size, DType::U64);
                let limit = self.e.convert(far, DType::U64);
                let beyond = self.e.apply(Op::Greater, DType::U64, &[size, limit]);
                self.exit_if(beyond, "a huge range");
            }
        }
        Ok(Val::new(Type::Range, parts))
    }
}

/// The numbers of each source.
fn split<'s>(sources: &'s [Source], parts: &'s [Value]) -> Vec<(&'s Source, &'s [Value])> {
    let mut rest = parts;
    let mut all = Vec::new();
    for source in sources {
        let (own, others) = rest.split_at(count(source));
        all.push((source, own));
        rest = others;
    }
    all
}

/// How many numbers a source has.
pub fn count(source: &Source) -> usize {
    match source {
        Source::Items(ty) => ty.parts().len(),
        Source::Enumerate(inner) => count(inner) + 1,
        Source::Zip(sources) => sources.iter().map(count).sum(),
    }
}
