//! Answers the calls of the Rust API that `scripts/rust_conformance.py` requests, one per line, so that the script can
//! compare them with NumPy.
//!
//! A line is a function's name and its arguments, separated by `|`. The answer is the results, separated by `;`, or
//! `refused` and the error's message. Arrays are written as dtype, shape and bytes in C order.

use numelt::{AnyArray, Argument, Complex128, DType, Error, Over, Part, Scalar};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut answers = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = || answer(&line)?.iter().map(written).collect::<Result<Vec<_>, Error>>();
        let text = match catch_unwind(AssertUnwindSafe(answer)) {
            Ok(answer) => answer.map(|all| all.join(";")),
            Err(panic) => Err(Error::Value(panic.downcast_ref::<String>().cloned().unwrap_or_default())),
        };
        let text = text.unwrap_or_else(|error| format!("refused {error}").replace('\n', " "));
        if writeln!(answers, "{text}").is_err() {
            break;
        }
    }
}

/// An array as it is written in answers.
fn written(array: &AnyArray) -> Result<String, Error> {
    let shape: Vec<String> = array.shape().iter().map(i64::to_string).collect();
    let mut text = format!("{} {} ", numelt::rules::names::numpy_name(array.dtype()), shape.join(","));
    for value in array.to_scalars()? {
        value.to_bytes()[..array.dtype().size()].iter().for_each(|byte| text += &format!("{byte:02x}"));
    }
    Ok(text)
}

/// An argument of a call.
enum Value {
    Array(AnyArray),
    Scalar(Scalar),
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(Complex128),
    Ints(Vec<i64>),
    None,
}

/// The arguments of a call, by their positions.
struct Values(Vec<Value>);

impl Argument for Value {
    fn operand(&self) -> numelt::Operand<'_> {
        match self {
            Value::Array(array) => array.operand(),
            Value::Scalar(value) => value.operand(),
            Value::Bool(value) => value.operand(),
            Value::Int(value) => value.operand(),
            Value::Float(value) => value.operand(),
            Value::Complex(value) => value.operand(),
            Value::Ints(_) | Value::None => panic!("no operand"),
        }
    }
}

impl Values {
    fn array(&self, at: usize) -> &AnyArray {
        match &self.0[at] {
            Value::Array(array) => array,
            _ => panic!("argument {at} is no array"),
        }
    }

    fn int(&self, at: usize) -> i64 {
        match self.0[at] {
            Value::Int(value) => value,
            _ => panic!("argument {at} is no integer"),
        }
    }

    fn float(&self, at: usize) -> f64 {
        match self.0[at] {
            Value::Float(value) => value,
            Value::Int(value) => value as f64,
            _ => panic!("argument {at} is no number"),
        }
    }

    fn truth(&self, at: usize) -> bool {
        matches!(self.0[at], Value::Bool(true))
    }

    fn ints(&self, at: usize) -> &[i64] {
        match &self.0[at] {
            Value::Ints(ints) => ints,
            _ => panic!("argument {at} is no list"),
        }
    }

    fn extents(&self, at: usize) -> Vec<usize> {
        self.ints(at).iter().map(|&n| n as usize).collect()
    }

    fn arrays(&self) -> Vec<&AnyArray> {
        self.0.iter().filter_map(|value| if let Value::Array(array) = value { Some(array) } else { None }).collect()
    }

    fn optional(&self, at: usize) -> Option<&Value> {
        Some(&self.0[at]).filter(|value| !matches!(value, Value::None))
    }

    fn axis(&self, at: usize) -> Option<i64> {
        self.optional(at).map(|_| self.int(at))
    }

    /// Axes and `keepdims` from two arguments.
    fn over(&self, at: usize) -> Over {
        let over = match &self.0[at] {
            Value::None => Over::all(),
            Value::Int(axis) => Over::from(*axis),
            _ => Over::from(self.ints(at)),
        };
        if self.truth(at + 1) { over.keepdims() } else { over }
    }
}

fn dtype(name: &str) -> DType {
    let known = DType::ALL.into_iter().find(|&dtype| numelt::rules::names::numpy_name(dtype) == name);
    known.unwrap_or_else(|| panic!("{name} is no dtype"))
}

fn ints(text: &str) -> Vec<i64> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().expect("an integer")).collect()
}

fn scalars(dtype: DType, hex: &str) -> Vec<Scalar> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("a byte");
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    bytes.chunks(dtype.size()).map(|bytes| Scalar::from_bytes(dtype, bytes)).collect()
}

/// `dtype:shape:bytes:layout`: an array in C order, of which the layout selects a window. The steps of a layout are `t`
/// (the axes in the opposite order), `f` (the first axis reversed), `l` (the last axis reversed), `s` (every second
/// element along the first axis), `b` with a number (broadcast along a new first axis of that extent).
fn array(text: &str) -> AnyArray {
    let parts: Vec<&str> = text.split(':').collect();
    let [name, shape, hex, layout] = parts[..] else { panic!("{text}") };
    let shape: Vec<usize> = ints(shape).into_iter().map(|n| n as usize).collect();
    let values = scalars(dtype(name), hex);
    let flat = numelt::zeros_of(dtype(name), &[values.len()]);
    for (at, &value) in values.iter().enumerate() {
        flat.set(&[at as i64], value).expect("an element of its dtype");
    }
    let extents: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    let mut array = flat.reshape(&extents).expect("as many elements");
    let mut steps = layout.chars();
    while let Some(step) = steps.next() {
        array = match step {
            't' => array.transpose(),
            'f' => array.flip(0).expect("an axis"),
            'l' => array.flip(-1).expect("an axis"),
            's' => array.slice([Part::Slice(0, i64::MAX, 2)]),
            'b' => {
                let n = steps.next().and_then(|digit| digit.to_digit(10)).expect("an extent") as usize;
                let shape: Vec<usize> = [n].into_iter().chain(array.shape().iter().map(|&n| n as usize)).collect();
                array.broadcast_to(&shape).expect("a shape to stretch to")
            }
            other => panic!("{other} is no step of a layout"),
        };
    }
    array
}

fn value(text: &str) -> Value {
    let (kind, rest) = text.split_at(1);
    match kind {
        "a" => Value::Array(array(rest)),
        "s" => {
            let (name, hex) = rest.split_once(':').expect("dtype and bytes");
            Value::Scalar(scalars(dtype(name), hex)[0])
        }
        "?" => Value::Bool(rest == "1"),
        "i" => Value::Int(rest.parse().expect("an integer")),
        "f" => Value::Float(rest.parse().expect("a float")),
        "c" => {
            let (re, im) = rest.split_once(',').expect("two parts");
            Value::Complex(Complex128 { re: re.parse().expect("a float"), im: im.parse().expect("a float") })
        }
        "l" => Value::Ints(ints(rest)),
        _ => Value::None,
    }
}

fn answer(line: &str) -> Result<Vec<AnyArray>, Error> {
    let mut parts = line.split('|');
    let name = parts.next().unwrap_or_default();
    let args = Values(parts.map(value).collect());
    if let Some(made) = elementwise(name, &args).or_else(|| reduced(name, &args)) {
        return made.map(|made| vec![made]);
    }
    if let Some(made) = moved(name, &args).or_else(|| picked(name, &args)).or_else(|| created(name, &args)) {
        return made;
    }
    panic!("{name} is no function")
}

type Answered = Option<Result<AnyArray, Error>>;

fn elementwise(name: &str, args: &Values) -> Answered {
    macro_rules! unary {
        ($($name:literal $method:ident)*) => {
            match name {
                $($name => return Some(args.array(0).$method()),)*
                _ => {}
            }
        };
    }
    macro_rules! binary {
        ($($name:literal $method:ident $function:ident)*) => {
            match name {
                $($name => return Some(match &args.0[0] {
                    Value::Array(array) => array.$method(&args.0[1]),
                    number => Ok(numelt::$function(number, &args.0[1])),
                }),)*
                _ => {}
            }
        };
    }
    unary! {
        "abs" try_abs "arccos" try_arccos "arccosh" try_arccosh "arcsin" try_arcsin "arcsinh" try_arcsinh
        "arctan" try_arctan "arctanh" try_arctanh "bitwise_count" try_bitwise_count
        "bitwise_invert" try_bitwise_invert "cbrt" try_cbrt "ceil" try_ceil "conj" try_conj "cos" try_cos
        "cosh" try_cosh "exp" try_exp "exp2" try_exp2 "expm1" try_expm1 "floor" try_floor
        "isfinite" try_isfinite "isinf" try_isinf "isnan" try_isnan "log" try_log "log1p" try_log1p
        "log2" try_log2 "log10" try_log10 "logical_not" try_logical_not "negative" try_negative
        "positive" try_positive "reciprocal" try_reciprocal "rint" try_rint "sign" try_sign
        "signbit" try_signbit "sin" try_sin "sinh" try_sinh "sqrt" try_sqrt "square" try_square
        "tan" try_tan "tanh" try_tanh "trunc" try_trunc
    }
    binary! {
        "add" try_add add "subtract" try_subtract subtract "multiply" try_multiply multiply
        "divide" try_divide divide "floor_divide" try_floor_divide floor_divide
        "remainder" try_remainder remainder "fmod" try_fmod fmod "pow" try_pow pow
        "maximum" try_maximum maximum "minimum" try_minimum minimum "fmax" try_fmax fmax "fmin" try_fmin fmin
        "copysign" try_copysign copysign "atan2" try_atan2 atan2 "hypot" try_hypot hypot
        "logaddexp" try_logaddexp logaddexp "nextafter" try_nextafter nextafter "gcd" try_gcd gcd
        "lcm" try_lcm lcm "equal" try_equal equal "not_equal" try_not_equal not_equal "less" try_less less
        "less_equal" try_less_equal less_equal "greater" try_greater greater
        "greater_equal" try_greater_equal greater_equal "logical_and" try_logical_and logical_and
        "logical_or" try_logical_or logical_or "logical_xor" try_logical_xor logical_xor
        "bitwise_and" try_bitwise_and bitwise_and "bitwise_or" try_bitwise_or bitwise_or
        "bitwise_xor" try_bitwise_xor bitwise_xor "bitwise_left_shift" try_bitwise_left_shift bitwise_left_shift
        "bitwise_right_shift" try_bitwise_right_shift bitwise_right_shift
    }
    Some(match name {
        "round" => Ok(args.array(0).round()),
        "real" => Ok(args.array(0).real()),
        "imag" => Ok(args.array(0).imag()),
        "select" => numelt::try_select(&args.0[0], &args.0[1], &args.0[2]),
        "clip" => args.array(0).try_clip(args.optional(1), args.optional(2)),
        _ => return None,
    })
}

fn reduced(name: &str, args: &Values) -> Answered {
    macro_rules! folds {
        ($($name:literal $method:ident)*) => {
            match name {
                $($name => return Some(args.array(0).$method(args.over(1))),)*
                _ => {}
            }
        };
    }
    folds! {
        "sum" try_sum_over "prod" try_prod_over "min" try_min_over "max" try_max_over "any" try_any_over
        "all" try_all_over "argmin" try_argmin_over "argmax" try_argmax_over "mean" try_mean_over
        "count_nonzero" try_count_nonzero_over
    }
    Some(match name {
        "var" => args.array(0).try_var_over(args.over(1).correction(args.float(3))),
        "std" => args.array(0).try_std_over(args.over(1).correction(args.float(3))),
        "cumulative_sum" => args.array(0).cumulative_sum(args.axis(1)),
        "cumulative_prod" => args.array(0).cumulative_prod(args.axis(1)),
        "matmul" => args.array(0).try_matmul(args.array(1)),
        "vecdot" => args.array(0).vecdot(args.array(1)),
        "tensordot" => args.array(0).tensordot(args.array(1), args.int(2) as usize),
        _ => return None,
    })
}

type All = Option<Result<Vec<AnyArray>, Error>>;

fn moved(name: &str, args: &Values) -> All {
    let array = || args.array(0);
    let one = match name {
        "reshape" => array().reshape(args.ints(1)),
        "ravel" => Ok(array().ravel()),
        "transpose" => Ok(array().transpose()),
        "permute_dims" => array().permute_dims(args.ints(1)),
        "matrix_transpose" => array().matrix_transpose(),
        "moveaxis" => array().moveaxis(args.ints(1), args.ints(2)),
        "expand_dims" => array().expand_dims(args.int(1)),
        "squeeze" => array().squeeze(args.optional(1).map(|_| args.ints(1))),
        "flip" => array().flip(args.int(1)),
        "broadcast_to" => array().broadcast_to(&args.extents(1)),
        "roll" => array().roll(args.int(1), args.axis(2)),
        "repeat" => array().repeat(args.int(1) as usize, args.int(2)),
        "tile" => array().tile(&args.extents(1)),
        "diff" => array().diff(args.int(1)),
        "concat" => numelt::concat(&args.arrays(), args.int(0)),
        "stack" => numelt::stack(&args.arrays(), args.int(0)),
        "astype" => array().try_astype(args.array(1).dtype()),
        "diagonal" => array().diagonal(args.int(1)),
        "tril" => array().tril(args.int(1)),
        "triu" => array().triu(args.int(1)),
        "unstack" => return Some(array().unstack(args.int(1))),
        "broadcast_arrays" => return Some(numelt::broadcast_arrays(&args.arrays())),
        "meshgrid" => return Some(numelt::meshgrid(&args.arrays())),
        _ => return None,
    };
    Some(one.map(|one| vec![one]))
}

fn picked(name: &str, args: &Values) -> All {
    let array = || args.array(0);
    // functions that change an array return the changed copy
    let changed = |change: &dyn Fn(&AnyArray) -> Result<(), Error>| {
        let copy = array().copy();
        change(&copy).map(|()| copy)
    };
    let one = match name {
        "take" => array().take(&args.0[1], args.int(2)),
        "take_along_axis" => array().take_along_axis(args.array(1), args.int(2)),
        "compress" => array().compress(args.array(1)),
        "put" => changed(&|copy| copy.put(&args.0[1], &args.0[2])),
        "put_mask" => changed(&|copy| copy.put_mask(args.array(1), &args.0[2])),
        "add_at" => changed(&|copy| copy.add_at(&args.0[1], &args.0[2])),
        "assign" => changed(&|copy| copy.assign(&args.0[1])),
        "slice" => {
            let part = |three: &[i64]| Part::Slice(three[0], three[1], three[2]);
            array().try_slice(args.ints(1).chunks(3).map(part).collect::<Vec<_>>())
        }
        "sort" => array().sort(args.int(1)),
        "argsort" => array().argsort(args.int(1)).map(|order| order.as_any().clone()),
        "searchsorted" => array().searchsorted(args.array(1), args.truth(2)).map(|places| places.as_any().clone()),
        "unique_values" => array().unique_values(),
        "bincount" => array().bincount().map(|counts| counts.as_any().clone()),
        "unique_all" => {
            return Some(array().unique_all().map(|all| {
                let [indices, inverse, counts] = [all.indices, all.inverse, all.counts].map(|a| a.as_any().clone());
                vec![all.values, indices, inverse, counts]
            }));
        }
        "nonzero" => return Some(array().nonzero().map(|all| all.iter().map(|a| a.as_any().clone()).collect())),
        _ => return None,
    };
    Some(one.map(|one| vec![one]))
}

fn created(name: &str, args: &Values) -> All {
    let one = match name {
        "zeros" => Ok(numelt::zeros_of(args.array(1).dtype(), &args.extents(0))),
        "ones" => Ok(numelt::ones(&args.extents(0))),
        "full" => Ok(numelt::full(&args.extents(0), &args.0[1])),
        "zeros_like" => Ok(numelt::zeros_like(args.array(0))),
        "ones_like" => Ok(numelt::ones_like(args.array(0))),
        "full_like" => Ok(numelt::full_like(args.array(0), &args.0[1])),
        "arange" => numelt::arange_in(&args.0[0], &args.0[1], &args.0[2]),
        "eye" => Ok(numelt::eye_of(args.array(3).dtype(), args.int(0) as usize, args.int(1) as usize, args.int(2))),
        "linspace" => numelt::try_linspace(args.float(0), args.float(1), args.int(2) as usize, args.truth(3))
            .map(|(made, _)| made),
        _ => return None,
    };
    Some(one.map(|one| vec![one]))
}
