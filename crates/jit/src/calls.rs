//! Calls of builtins, of functions of `math`, and of NumPy's functions on scalars. Those of Python functions are in
//! `functions`.

use crate::outside::{Form, ObjectKind, Param};
use crate::tree::{Comparison, Expr, Operator};
use crate::types::{Type, Val};
use crate::virtuals::is_array;
use crate::walk::{Res, Walk, unsupported};
use crate::watch::is_nan;
use numelt_func::{CFunction, Value};
use numelt_ir::{DType, Op};

/// The functions of NumPy that return integers (or truth values) for integers. All others return floats.
const KEEP_INTEGERS: &[&str] = &[
    "abs",
    "absolute",
    "minimum",
    "maximum",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "around",
    "square",
    "power",
    "fmod",
    "isnan",
    "isinf",
    "isfinite",
    "sign",
    "reciprocal",
    "fmax",
    "fmin",
];

impl Walk<'_> {
    /// A call.
    pub fn call(&mut self, function: &Expr, args: &[Expr], keywords: &[(String, Expr)]) -> Res<Val> {
        if let Expr::Attr(base, name) = function {
            let base = self.expr(base)?;
            if !matches!(base.ty, Type::Object(_)) {
                return self.method(&base, name, args, keywords);
            }
            if let (ObjectKind::Generator(kind), Type::Object(number)) = (self.object_kind(&base), &base.ty) {
                return match self.world.draws(*number, name) {
                    true => self.draw(*number, kind, name, args, keywords),
                    false => unsupported(format!("the method {name} of a random generator")),
                };
            }
            if let Some((number, object)) = self.bound_function(&base, name) {
                return self.call_function(number, object, args, keywords);
            }
        }
        let function = self.expr(function)?;
        let kind = self.object_kind(&function);
        if kind == ObjectKind::Function {
            let Type::Object(number) = function.ty else { unreachable!("functions are objects") };
            return self.call_function(number, None, args, keywords);
        }
        if kind == ObjectKind::Other
            && let Some((number, object)) = self.bound_function(&function, "__call__")
        {
            return self.call_function(number, object, args, keywords);
        }
        if let (ObjectKind::Drawing(kind, name), Type::Object(number)) = (&kind, &function.ty) {
            return self.draw(*number, *kind, name, args, keywords);
        }
        if let ObjectKind::Maker(name) = kind {
            return self.make_array(name, args, keywords);
        }
        if !keywords.is_empty() {
            return unsupported("a keyword argument");
        }
        if let (ObjectKind::Builtin("isinstance"), [arg, classes]) = (&kind, args) {
            return self.is_instance(arg, classes);
        }
        let args = self.positional(args)?;
        match kind {
            ObjectKind::Builtin(name) => self.call_builtin(name, &args),
            ObjectKind::Math(name) => self.call_math(name, &args),
            ObjectKind::Numpy(name) => self.call_numpy(name, &args),
            ObjectKind::Class(dtype) => match &args[..] {
                [arg] => self.scalar_from(arg, dtype),
                _ => unsupported("the class of a scalar called with several arguments"),
            },
            _ => unsupported(format!("a call of {}", function.ty)),
        }
    }

    fn method(&mut self, base: &Val, name: &str, args: &[Expr], keywords: &[(String, Expr)]) -> Res<Val> {
        if !keywords.is_empty() {
            return unsupported("a keyword argument");
        }
        match (&base.ty, name, args) {
            (Type::Array { ndim: 1, .. }, "item", [index]) => {
                let element = self.indexed_val(base, index)?;
                self.as_python(&element)
            }
            (Type::Array { .. } | Type::Virtual(_), "copy", []) => self.array_copy(base),
            (Type::Array { .. } | Type::Virtual(_), _, _) => {
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Res<Vec<_>>>()?;
                match self.reduction(name, &[std::slice::from_ref(base), &args[..]].concat()) {
                    Some(result) => result,
                    None => unsupported(format!("the method {name} of {}", base.ty)),
                }
            }
            (Type::Scalar(_), "item", []) => self.as_python(base),
            (Type::Complex | Type::Scalar(DType::C128), "conjugate", []) => {
                let im = self.e.apply(Op::Negative, DType::F64, &[base.parts[1]]);
                Ok(Val::new(base.ty.clone(), vec![base.parts[0], im]))
            }
            _ => unsupported(format!("the method {name} of {}", base.ty)),
        }
    }

    fn indexed_val(&mut self, array: &Val, index: &Expr) -> Res<Val> {
        let index = self.expr(index)?;
        if index.ty != Type::Int {
            return unsupported("an index of item that is not an int");
        }
        let index = self.inside_of(index.parts[0], array.parts[2]);
        self.row(array, index)
    }

    /// Converts a NumPy scalar to a number of Python, as `item()` does.
    fn as_python(&mut self, val: &Val) -> Res<Val> {
        match val.ty {
            Type::Scalar(DType::Bool) => Ok(Val::new(Type::Bool, val.parts.clone())),
            Type::Scalar(DType::C128) => Ok(Val::new(Type::Complex, val.parts.clone())),
            Type::Scalar(dtype) if dtype.is_integer() => self.int_from(val),
            Type::Scalar(DType::F32 | DType::F64) => self.float_from(val),
            ref other => unsupported(format!("item of {other}")),
        }
    }

    fn call_builtin(&mut self, name: &str, args: &[Val]) -> Res<Val> {
        match (name, args) {
            ("len", [arg]) => {
                let length = self.length(arg)?;
                Ok(Val::new(Type::Int, vec![length]))
            }
            ("range", _) => {
                let mut bounds = Vec::new();
                for arg in args {
                    match arg.ty {
                        Type::Int | Type::Bool => bounds.push(self.int_of(arg)),
                        Type::Scalar(dtype) if dtype.is_integer() => {
                            bounds.push(self.int_from(arg)?.parts[0]);
                        }
                        ref other => return unsupported(format!("range of {other}")),
                    }
                }
                self.range(&bounds)
            }
            ("int", [arg]) => self.int_from(arg),
            ("float", [arg]) => self.float_from(arg),
            ("bool", [arg]) => {
                let truth = self.is_true(arg)?;
                Ok(Val::new(Type::Bool, vec![truth]))
            }
            ("complex", [re, im]) => {
                let (re, im) = (self.float_from(re)?, self.float_from(im)?);
                match (&re.ty, &im.ty) {
                    (Type::Float, Type::Float) => Ok(Val::new(Type::Complex, vec![re.parts[0], im.parts[0]])),
                    _ => unsupported("complex of arguments that are not real"),
                }
            }
            ("abs", [arg]) if is_array(&arg.ty) => self.virtual_call("absolute", args),
            ("abs", [arg]) => self.absolute(arg),
            ("min" | "max", [_, _, ..]) => self.extreme(name == "max", args),
            ("min" | "max" | "sum", [array]) if is_array(&array.ty) => self.fold(name, array),
            ("divmod", [a, b]) => {
                let (quotient, rest) = (self.binary(Operator::FloorDiv, a, b)?, self.binary(Operator::Mod, a, b)?);
                Ok(Val::new(Type::Tuple(vec![quotient.ty, rest.ty]), [quotient.parts, rest.parts].concat()))
            }
            ("pow", [a, b]) => self.binary(Operator::Pow, a, b),
            ("round", [arg]) => self.rounded(arg),
            _ => unsupported(format!("the builtin function {name}")),
        }
    }

    fn rounded(&mut self, arg: &Val) -> Res<Val> {
        match arg.ty {
            Type::Choice(_) => self.each(arg, &mut |walk, arg| walk.rounded(&arg)),
            Type::Int => Ok(arg.clone()),
            Type::Float | Type::Scalar(DType::F64) => {
                let whole = self.e.apply(Op::Rint, DType::F64, &arg.parts);
                let int = self.truncated(whole, DType::I64);
                Ok(Val::new(Type::Int, vec![int]))
            }
            ref other => unsupported(format!("round of {other}")),
        }
    }

    fn absolute(&mut self, arg: &Val) -> Res<Val> {
        match &arg.ty {
            Type::Choice(_) => self.each(arg, &mut |walk, arg| walk.absolute(&arg)),
            Type::Bool => Ok(Val::new(Type::Int, vec![self.int_of(arg)])),
            Type::Int | Type::Scalar(DType::I64) => {
                let least = self.e.int(i64::MIN);
                let is_least = self.e.ints(Op::Equal, &[arg.parts[0], least]);
                self.exit_if(is_least, "an integer beyond 64 bits");
                let size = self.e.ints(Op::Absolute, &arg.parts);
                self.e.set_natural(size);
                Ok(Val::new(arg.ty.clone(), vec![size]))
            }
            Type::Float | Type::Scalar(DType::F64 | DType::F32) => {
                let ty = self.e.type_of(arg.parts[0]);
                Ok(Val::new(arg.ty.clone(), vec![self.e.apply(Op::Absolute, ty, &arg.parts)]))
            }
            Type::Complex | Type::Scalar(DType::C128) => {
                let size = self.e.call(CFunction::Hypot, &arg.parts);
                self.watch(size, &arg.parts, false);
                let ty = if arg.ty == Type::Complex { Type::Float } else { Type::Scalar(DType::F64) };
                Ok(Val::new(ty, vec![size]))
            }
            other => unsupported(format!("abs of {other}")),
        }
    }

    /// `min` and `max` of several arguments: the first one that no later one beats.
    pub fn extreme(&mut self, is_max: bool, args: &[Val]) -> Res<Val> {
        let op = if is_max { Comparison::Gt } else { Comparison::Lt };
        let mut best = args[0].clone();
        for arg in &args[1..] {
            let beats = self.compare(op, arg, &best)?;
            let beats = self.is_true(&beats)?;
            best = if arg.ty == best.ty && best.parts.len() == 1 {
                let both = [arg.parts[0], best.parts[0]];
                let chosen = self.e.select(beats, both[0], both[1]);
                if self.e.type_of(chosen) == DType::I64 {
                    self.e.facts.set_extreme(chosen, is_max, both);
                    let natural = both.map(|value| self.e.is_natural(value));
                    if natural == [true; 2] || is_max && natural.contains(&true) {
                        self.e.set_natural(chosen);
                    }
                }
                Val::new(arg.ty.clone(), vec![chosen])
            } else {
                let old = best.clone();
                self.either(beats, &mut |_| Ok(arg.clone()), &mut |_| Ok(old.clone()))?
            };
        }
        Ok(best)
    }

    /// A call of a function of `math`. The result is a number of Python.
    fn call_math(&mut self, name: &str, args: &[Val]) -> Res<Val> {
        let args = &args.iter().map(Self::as_float).collect::<Vec<_>>()[..];
        if let Some(arg) = args.iter().position(|arg| matches!(arg.ty, Type::Choice(_))) {
            return self.each(&args[arg], &mut |walk, val| {
                let mut args = args.to_vec();
                args[arg] = val;
                walk.call_math(name, &args)
            });
        }
        if let ("floor" | "ceil" | "trunc", [arg]) = (name, args) {
            match &arg.ty {
                Type::Int | Type::Bool => return self.int_from(arg),
                // NumPy's integers are converted to `float` first; only `float64` knows how to be truncated
                Type::Scalar(dtype) if name == "trunc" && *dtype != DType::F64 => {
                    return unsupported(format!("math.trunc of numpy.{}", dtype.name()));
                }
                _ => {}
            }
        }
        let floats = args.iter().map(|arg| self.float_from(arg)).collect::<Res<Vec<_>>>()?;
        let x: Vec<Value> = floats.iter().map(|val| val.parts[0]).collect();
        let f64t = DType::F64;
        let (result, is_checked) = match (name, &x[..]) {
            ("sqrt", [x]) => (self.e.apply(Op::Sqrt, f64t, &[*x]), true),
            ("fabs", [_]) => (self.e.apply(Op::Absolute, f64t, &x), false),
            ("floor" | "ceil" | "trunc", [_]) => {
                let op = match name {
                    "floor" => Op::Floor,
                    "ceil" => Op::Ceil,
                    _ => Op::Trunc,
                };
                let whole = self.e.apply(op, f64t, &x);
                let int = self.truncated(whole, DType::I64);
                return Ok(Val::new(Type::Int, vec![int]));
            }
            ("isnan", [x]) => return Ok(Val::new(Type::Bool, vec![is_nan(&mut self.e, *x)])),
            ("isinf", [_]) => return Ok(Val::new(Type::Bool, vec![self.e.apply(Op::Isinf, f64t, &x)])),
            ("isfinite", [_]) => return Ok(Val::new(Type::Bool, vec![self.e.apply(Op::Isfinite, f64t, &x)])),
            // CPython multiplies, and does not look at the result
            ("radians", [_]) => (self.scaled(x[0], std::f64::consts::PI / 180.0), false),
            ("degrees", [_]) => (self.scaled(x[0], 180.0 / std::f64::consts::PI), false),
            ("copysign", [_, _]) => (self.e.apply(Op::Copysign, f64t, &x), false),
            ("fmod", [_, _]) => (self.e.call(CFunction::Fmod, &x), true),
            ("log", [value, base]) => {
                let (value, base) = (*value, *base);
                let (over, under) = (self.e.call(CFunction::Log, &[value]), self.e.call(CFunction::Log, &[base]));
                self.watch(over, &[value], false);
                self.watch(under, &[base], false);
                let zero = self.e.float(0.0);
                let is_zero = self.e.apply(Op::Equal, f64t, &[under, zero]);
                self.exit_if(is_zero, "a logarithm to base 1");
                (self.e.apply(Op::Divide, f64t, &[over, under]), true)
            }
            _ => match library(name).filter(|function| function.arity() == x.len()) {
                Some(function) => (self.e.call(function, &x), true),
                None => return unsupported(format!("math.{name}")),
            },
        };
        if is_checked {
            self.watch(result, &x, name == "sqrt");
        }
        Ok(Val::new(Type::Float, vec![result]))
    }

    fn scaled(&mut self, x: Value, factor: f64) -> Value {
        let factor = self.e.float(factor);
        self.e.apply(Op::Multiply, DType::F64, &[x, factor])
    }

    /// A function of NumPy's of scalars: the operations that have exactly one right result are done here, others by
    /// NumPy's own loops.
    pub fn call_numpy(&mut self, name: &str, args: &[Val]) -> Res<Val> {
        if args.iter().any(|arg| is_array(&arg.ty)) {
            return self.reduction(name, args).unwrap_or_else(|| self.virtual_call(name, args));
        }
        let args = &args.iter().map(Self::as_float).collect::<Vec<_>>()[..];
        if let Some(arg) = args.iter().position(|arg| matches!(arg.ty, Type::Choice(_))) {
            return self.each(&args[arg], &mut |walk, val| {
                let mut args = args.to_vec();
                args[arg] = val;
                walk.call_numpy(name, &args)
            });
        }
        if args.iter().any(|arg| !arg.ty.is_number() || arg.parts.len() != 1) {
            return unsupported(format!("np.{name} of arguments of these types"));
        }
        let dtype = match args {
            [arg] if matches!(arg.ty, Type::Scalar(_)) => self.e.type_of(arg.parts[0]),
            [arg] => self.e.type_of(arg.parts[0]),
            [a, b] if self.e.type_of(a.parts[0]) == self.e.type_of(b.parts[0]) => self.e.type_of(a.parts[0]),
            _ => return unsupported(format!("np.{name} of arguments of several types")),
        };
        let x: Vec<Value> = args.iter().map(|arg| arg.parts[0]).collect();
        let op = match (name, x.len()) {
            _ if dtype == DType::Bool || dtype.size() < 4 => {
                // the result is a float16 or float32
                return unsupported(format!("np.{name} of arguments of these types"));
            }
            ("abs" | "absolute", 1) if dtype == DType::I64 || dtype.is_float() => {
                let scalar = Val::new(Type::Scalar(dtype), x);
                return self.absolute(&scalar);
            }
            ("minimum", 2) if dtype != DType::Bool => Op::Minimum,
            ("maximum", 2) if dtype != DType::Bool => Op::Maximum,
            ("isnan", 1) if dtype.is_float() => Op::Isnan,
            ("isinf", 1) if dtype.is_float() => Op::Isinf,
            ("isfinite", 1) if dtype.is_float() => Op::Isfinite,
            ("floor", 1) if dtype.is_float() => Op::Floor,
            ("ceil", 1) if dtype.is_float() => Op::Ceil,
            ("trunc", 1) if dtype.is_float() => Op::Trunc,
            ("rint" | "round" | "around", 1) if dtype.is_float() => Op::Rint,
            ("sqrt", 1) => Op::Sqrt,
            ("square", 1) if dtype.is_float() => Op::Multiply,
            _ if dtype.is_integer() && KEEP_INTEGERS.contains(&name) => {
                return unsupported(format!("np.{name} of integers"));
            }
            _ => return self.call_ufunc(name, dtype, &x),
        };
        let dtype = if op == Op::Sqrt && dtype != DType::F32 { DType::F64 } else { dtype };
        let mut x: Vec<Value> = x.into_iter().map(|value| self.e.convert(value, dtype)).collect();
        if op == Op::Multiply {
            x.push(x[0]);
        }
        let result = self.e.apply(op, dtype, &x);
        if matches!(op, Op::Sqrt | Op::Multiply) {
            self.watch(result, &x, true);
        }
        Ok(Val::new(Type::Scalar(op.output_dtype(dtype)), vec![result]))
    }

    fn call_ufunc(&mut self, name: &str, dtype: DType, args: &[Value]) -> Res<Val> {
        let dtype = if dtype.is_float() { dtype } else { DType::F64 };
        let inputs = vec![dtype; args.len()];
        if !self.world.has_loop(name, &inputs, dtype) {
            return unsupported(format!("np.{name}"));
        }
        let args: Vec<Value> = args.iter().map(|arg| self.e.convert(*arg, dtype)).collect();
        let wanted = Param::Loop { name: name.to_owned(), inputs, output: dtype, form: Form::Element };
        let context = self.outside(wanted);
        let result = self.e.call_loop(context, &args, dtype);
        self.watch(result, &args, false);
        Ok(Val::new(Type::Scalar(dtype), vec![result]))
    }
}

/// The function of the C library that computes a function of `math`.
fn library(name: &str) -> Option<CFunction> {
    // CPython has its own algorithm for `hypot`, and for the others it checks more than the result
    let own = ["hypot", "cbrt", "exp2", "fmod"];
    CFunction::ALL.iter().copied().find(|function| function.name() == name && !own.contains(&name))
}
