//! Draws of single random numbers: `rng.normal()`, `np.random.rand()`, `random.random()`.
//!
//! A run has a copy of the state of each generator from which it draws, and the state is written back when the code has
//! stopped, so the generators are where CPython would have left them. A draw is an effect, which an exit of the
//! statement undoes: see `undo`. Not here: how numbers are made of a state.

use crate::outside::{Draw, GeneratorKind, Param};
use crate::tree::{Expr, Operator};
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use crate::watch::is_nan;
use numelt_func::{CFunction, Value};
use numelt_ir::{DType, Op};

/// The methods that are compiled, and the names of their parameters.
const METHODS: &[(GeneratorKind, &str, &[&str])] = &[
    (GeneratorKind::Numpy, "random", &[]),
    (GeneratorKind::Numpy, "uniform", &["low", "high"]),
    (GeneratorKind::Numpy, "integers", &["low", "high"]),
    (GeneratorKind::Numpy, "standard_normal", &[]),
    (GeneratorKind::Numpy, "normal", &["loc", "scale"]),
    (GeneratorKind::Numpy, "standard_exponential", &[]),
    (GeneratorKind::Numpy, "exponential", &["scale"]),
    (GeneratorKind::Legacy, "rand", &[]),
    (GeneratorKind::Legacy, "random", &[]),
    (GeneratorKind::Legacy, "random_sample", &[]),
    (GeneratorKind::Legacy, "uniform", &["low", "high"]),
    (GeneratorKind::Legacy, "randint", &["low", "high"]),
    (GeneratorKind::Legacy, "randn", &[]),
    (GeneratorKind::Legacy, "standard_normal", &[]),
    (GeneratorKind::Legacy, "normal", &["loc", "scale"]),
    (GeneratorKind::Python, "random", &[]),
    (GeneratorKind::Python, "uniform", &["a", "b"]),
    (GeneratorKind::Python, "randrange", &["start", "stop"]),
    (GeneratorKind::Python, "randint", &["a", "b"]),
    (GeneratorKind::Python, "choice", &["seq"]),
    (GeneratorKind::Python, "gauss", &["mu", "sigma"]),
    (GeneratorKind::Python, "normalvariate", &["mu", "sigma"]),
    (GeneratorKind::Python, "expovariate", &["lambd"]),
    (GeneratorKind::Python, "getrandbits", &["k"]),
];

/// The name of a method of this class, if its calls are compiled.
pub fn drawing_method(kind: GeneratorKind, name: &str) -> Option<&'static str> {
    METHODS.iter().find(|(own, method, _)| *own == kind && *method == name).map(|found| found.1)
}

impl Walk<'_> {
    /// A call of a method of a generator, which is an argument, or of a function that draws from its own generator.
    pub fn draw(
        &mut self,
        generator: u32,
        kind: GeneratorKind,
        name: &str,
        args: &[Expr],
        keywords: &[(String, Expr)],
    ) -> Res<Val> {
        let Some((_, name, parameters)) = METHODS.iter().find(|found| found.0 == kind && found.1 == name) else {
            return unsupported(format!("the method {name} of a random generator"));
        };
        let mut given = self.positional(args)?.into_iter().map(Some).collect::<Vec<_>>();
        if given.len() > parameters.len() {
            return unsupported("a draw of several random numbers");
        }
        given.resize(parameters.len(), None);
        for (name, value) in keywords {
            match parameters.iter().position(|parameter| parameter == name) {
                Some(place) if given[place].is_none() => given[place] = Some(self.expr(value)?),
                _ => return unsupported(format!("the argument {name} of a draw")),
            }
        }
        self.check_effect()?;
        self.fail_region("it draws random numbers");
        self.findings.draws(self.place.statement, &self.loops_around);
        match kind {
            GeneratorKind::Python => self.python_draw(generator, name, &given),
            _ => self.numpy_draw(generator, kind, name, &given),
        }
    }

    fn drawn(&mut self, generator: u32, draw: Draw, operands: &[Value], dtype: DType) -> Value {
        let context = self.outside(Param::Draw(generator, draw));
        self.e.call_loop(context, operands, dtype)
    }

    fn drawn_float(&mut self, generator: u32, draw: Draw) -> Val {
        let drawn = self.drawn(generator, draw, &[], DType::F64);
        Val::new(Type::Float, vec![drawn])
    }

    fn numpy_draw(&mut self, generator: u32, kind: GeneratorKind, name: &str, given: &[Option<Val>]) -> Res<Val> {
        let normal = if kind == GeneratorKind::Legacy { Draw::Polar } else { Draw::Normal };
        match (name, given) {
            ("random" | "rand" | "random_sample", []) => Ok(self.drawn_float(generator, Draw::Uniform)),
            ("standard_normal" | "randn", []) => Ok(self.drawn_float(generator, normal)),
            ("standard_exponential", []) => Ok(self.drawn_float(generator, Draw::Exponential)),
            ("normal", [loc, scale]) => {
                let (loc, scale) = (self.double(loc.as_ref(), 0.0)?, self.double(scale.as_ref(), 1.0)?);
                self.exit_if_negative(scale);
                let number = self.drawn_float(generator, normal).parts[0];
                Ok(self.plus_product(loc, scale, number))
            }
            ("exponential", [scale]) => {
                let scale = self.double(scale.as_ref(), 1.0)?;
                self.exit_if_negative(scale);
                let number = self.drawn_float(generator, Draw::Exponential).parts[0];
                Ok(Val::new(Type::Float, vec![self.e.apply(Op::Multiply, DType::F64, &[scale, number])]))
            }
            ("uniform", [low, high]) => {
                let (low, high) = (self.double(low.as_ref(), 0.0)?, self.double(high.as_ref(), 1.0)?);
                let range = self.e.apply(Op::Subtract, DType::F64, &[high, low]);
                let is_finite = self.e.apply(Op::Isfinite, DType::F64, &[range]);
                self.exit_unless(is_finite, "a range that is not finite");
                self.exit_if_negative(range);
                let number = self.drawn_float(generator, Draw::Uniform).parts[0];
                Ok(self.plus_product(low, range, number))
            }
            ("integers" | "randint", [Some(low), high]) => {
                let low = self.integer(low)?;
                let (low, end) = match high {
                    Some(high) => (low, self.integer(high)?),
                    None => (self.e.int(0), low),
                };
                let draw = if kind == GeneratorKind::Legacy { Draw::MaskedBetween } else { Draw::Between };
                let drawn = self.between(generator, draw, low, end);
                let ty = if kind == GeneratorKind::Legacy { Type::Int } else { Type::Scalar(DType::I64) };
                Ok(Val::new(ty, vec![drawn]))
            }
            _ => unsupported("a draw with such arguments"),
        }
    }

    fn python_draw(&mut self, generator: u32, name: &str, given: &[Option<Val>]) -> Res<Val> {
        match (name, given) {
            ("random", []) => Ok(self.drawn_float(generator, Draw::Uniform)),
            ("uniform", [Some(a), Some(b)]) => {
                let span = self.binary(Operator::Sub, b, a)?;
                let number = self.drawn_float(generator, Draw::Uniform);
                let product = self.binary(Operator::Mult, &span, &number)?;
                self.binary(Operator::Add, a, &product)
            }
            ("randrange", [Some(start), stop]) => {
                let start = self.python_int(start)?;
                let (low, end) = match stop {
                    Some(stop) => (start, self.python_int(stop)?),
                    None => (self.e.int(0), start),
                };
                let drawn = self.between(generator, Draw::BitsBetween, low, end);
                Ok(Val::new(Type::Int, vec![drawn]))
            }
            ("randint", [Some(a), Some(b)]) => {
                let (low, last) = (self.python_int(a)?, self.python_int(b)?);
                let is_empty = self.e.ints(Op::Greater, &[low, last]);
                self.exit_if(is_empty, "an empty range");
                let (span, all) = (self.e.ints(Op::Subtract, &[last, low]), self.e.int(-1));
                let is_whole = self.e.ints(Op::Equal, &[span, all]);
                self.exit_if(is_whole, "an integer beyond 64 bits");
                let drawn = self.drawn(generator, Draw::BitsBetween, &[low, last], DType::I64);
                Ok(Val::new(Type::Int, vec![drawn]))
            }
            ("choice", [Some(items)]) => {
                if !matches!(items.ty, Type::List { depth: 1, .. } | Type::Tuple(_)) {
                    return unsupported(format!("a choice of {}", items.ty));
                }
                let count = self.length(items)?;
                let zero = self.e.int(0);
                let index = self.between(generator, Draw::BitsBetween, zero, count);
                match items.items() {
                    Some(items) => self.item_at(&items, index, 0),
                    None => self.list_item_at(items, index),
                }
            }
            ("gauss" | "normalvariate", [mu, sigma]) => {
                let draw = if name == "gauss" { Draw::Gauss } else { Draw::Ratio };
                let or = |walk: &mut Self, given: &Option<Val>, other| {
                    given.clone().unwrap_or_else(|| Val::new(Type::Float, vec![walk.e.float(other)]))
                };
                let (mu, sigma) = (or(self, mu, 0.0), or(self, sigma, 1.0));
                let number = self.drawn_float(generator, draw);
                let product = self.binary(Operator::Mult, &number, &sigma)?;
                self.binary(Operator::Add, &mu, &product)
            }
            ("expovariate", [Some(rate)]) => {
                let number = self.drawn_float(generator, Draw::Uniform).parts[0];
                let one = self.e.float(1.0);
                let rest = self.e.apply(Op::Subtract, DType::F64, &[one, number]);
                let log = self.e.call(CFunction::Log, &[rest]);
                let minus = self.e.apply(Op::Negative, DType::F64, &[log]);
                self.binary(Operator::Div, &Val::new(Type::Float, vec![minus]), rate)
            }
            ("getrandbits", [Some(bits)]) => {
                let bits = self.python_int(bits)?;
                // more than 63 bits may not fit
                let (zero, most) = (self.e.int(0), self.e.int(63));
                let is_negative = self.e.ints(Op::Less, &[bits, zero]);
                self.exit_if(is_negative, "a negative number of bits");
                let is_large = self.e.ints(Op::Greater, &[bits, most]);
                self.exit_if(is_large, "an integer beyond 64 bits");
                let drawn = self.drawn(generator, Draw::Bits, &[bits], DType::I64);
                self.e.set_natural(drawn);
                Ok(Val::new(Type::Int, vec![drawn]))
            }
            _ => unsupported("a draw with such arguments"),
        }
    }

    /// An integer from `low` to below `end`.
    fn between(&mut self, generator: u32, draw: Draw, low: Value, end: Value) -> Value {
        let is_some = self.e.ints(Op::Less, &[low, end]);
        self.exit_unless(is_some, "an empty range");
        let one = self.e.int(1);
        let last = self.e.ints(Op::Subtract, &[end, one]);
        let drawn = self.drawn(generator, draw, &[low, last], DType::I64);
        if self.e.is_natural(low) || self.e.known(low) == Some(0) {
            self.e.set_natural(drawn);
        }
        drawn
    }

    /// `start + factor * number`, in which C does not check for floating-point conditions.
    fn plus_product(&mut self, start: Value, factor: Value, number: Value) -> Val {
        let product = self.e.apply(Op::Multiply, DType::F64, &[factor, number]);
        Val::new(Type::Float, vec![self.e.apply(Op::Add, DType::F64, &[start, product])])
    }

    /// A parameter of a distribution.
    fn double(&mut self, given: Option<&Val>, other: f64) -> Res<Value> {
        match given {
            None => Ok(self.e.float(other)),
            Some(val) => match val.ty {
                Type::Int | Type::Float | Type::Scalar(DType::F64 | DType::I64) => Ok(self.float_from(val)?.parts[0]),
                _ if Self::is_either_float(&val.ty) => Ok(Self::as_float(val).parts[0]),
                ref other => unsupported(format!("a parameter that is {other}")),
            },
        }
    }

    /// Exits if a number is negative, the negative zero, or not a number.
    fn exit_if_negative(&mut self, number: Value) {
        let is_negative = self.e.apply(Op::Signbit, DType::F64, &[number]);
        self.exit_if(is_negative, "a negative parameter");
        let is_nan = is_nan(&mut self.e, number);
        self.exit_if(is_nan, "a parameter that is not a number");
    }

    fn python_int(&mut self, val: &Val) -> Res<Value> {
        if val.ty == Type::Int { Ok(val.parts[0]) } else { unsupported(format!("a bound that is {}", val.ty)) }
    }

    fn integer(&mut self, val: &Val) -> Res<Value> {
        match val.ty {
            Type::Int | Type::Scalar(DType::I64) => Ok(val.parts[0]),
            ref other => unsupported(format!("a bound that is {other}")),
        }
    }
}
