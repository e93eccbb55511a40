//! One operation on one element, written from NumPy's documentation, to compare compiled code with.

use numelt_ir::{C32, C64, DType, DTypeKind as Kind, Op, Scalar};

/// An operation whose result is exactly determined; `None` for library functions.
pub fn apply(op: Op, ty: DType, args: &[Scalar]) -> Option<Scalar> {
    if op == Op::Where {
        return Some(if truth(args[0]) { args[1] } else { args[2] });
    }
    match ty.kind() {
        Kind::Bool => boolean(op, truth(args[0]), args.get(1).map(|a| truth(*a)).unwrap_or(false)),
        Kind::Unsigned | Kind::Signed => integer(op, ty, int(args[0]), args.get(1).map(|a| int(*a)).unwrap_or(0)),
        Kind::Float if ty == DType::F32 => float32(op, args),
        Kind::Float => float64(op, args),
        Kind::Complex if ty == DType::C64 => complex64(op, args),
        Kind::Complex => complex128(op, args),
    }
}

fn boolean(op: Op, a: bool, b: bool) -> Option<Scalar> {
    Some(Scalar::Bool(match op {
        Op::Copy | Op::Absolute => a,
        Op::Add | Op::Maximum | Op::Fmax | Op::LogicalOr | Op::BitwiseOr => a || b,
        Op::Multiply | Op::Minimum | Op::Fmin | Op::LogicalAnd | Op::BitwiseAnd => a && b,
        Op::LogicalXor | Op::BitwiseXor | Op::NotEqual => a != b,
        Op::LogicalNot | Op::Invert => !a,
        Op::Equal => a == b,
        Op::Less => !a && b,
        Op::LessEqual => !a || b,
        Op::Greater => a && !b,
        Op::GreaterEqual => a || !b,
        Op::Isnan | Op::Isinf => false,
        Op::Isfinite => true,
        _ => return None,
    }))
}

/// The low bits of a wide integer as a value of `ty`.
pub fn narrow(ty: DType, v: i128) -> Scalar {
    Scalar::from_bytes(ty, &(v as i64 as u64).to_ne_bytes())
}

fn int(v: Scalar) -> i128 {
    match v {
        Scalar::Bool(v) => v.into(),
        Scalar::I8(v) => v.into(),
        Scalar::U8(v) => v.into(),
        Scalar::I16(v) => v.into(),
        Scalar::U16(v) => v.into(),
        Scalar::I32(v) => v.into(),
        Scalar::U32(v) => v.into(),
        Scalar::I64(v) => v.into(),
        Scalar::U64(v) => v.into(),
        _ => panic!("not an integer"),
    }
}

fn integer(op: Op, ty: DType, a: i128, b: i128) -> Option<Scalar> {
    let width = 8 * ty.size() as i128;
    let value = match op {
        Op::Copy | Op::Positive | Op::Conjugate => a,
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply | Op::Square => ((a as u128).wrapping_mul(if op == Op::Square { a } else { b } as u128)) as i128,
        Op::FloorDivide if b == 0 => 0,
        Op::FloorDivide => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        Op::Remainder | Op::Fmod if b == 0 => 0,
        Op::Remainder => {
            let r = a % b;
            if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
        }
        Op::Fmod => a % b,
        Op::Negative => -a,
        Op::Absolute => a.abs(),
        Op::Sign => a.signum(),
        Op::Reciprocal if a == 0 => match ty {
            DType::I32 => i32::MIN.into(),
            DType::I64 => i64::MIN.into(),
            _ => 0,
        },
        Op::Reciprocal => 1 / a,
        Op::Maximum | Op::Fmax => a.max(b),
        Op::Minimum | Op::Fmin => a.min(b),
        Op::BitwiseAnd => a & b,
        Op::BitwiseOr => a | b,
        Op::BitwiseXor => a ^ b,
        Op::Invert => !a,
        Op::LeftShift if (0..width).contains(&b) => ((a as u128) << b) as i128,
        Op::LeftShift => 0,
        Op::RightShift if (0..width).contains(&b) => a >> b,
        Op::RightShift => -i128::from(a < 0),
        _ => return predicate(op, &a, &b, a != 0, b != 0, [false, false, true]),
    };
    Some(narrow(ty, value))
}

/// Comparisons, logic, and the classes (isnan, isinf, isfinite) given as `class`.
fn predicate<T: PartialOrd>(op: Op, a: &T, b: &T, ta: bool, tb: bool, class: [bool; 3]) -> Option<Scalar> {
    Some(Scalar::Bool(match op {
        Op::Equal => a == b,
        Op::NotEqual => a != b,
        Op::Less => a < b,
        Op::LessEqual => a <= b,
        Op::Greater => a > b,
        Op::GreaterEqual => a >= b,
        Op::LogicalAnd => ta && tb,
        Op::LogicalOr => ta || tb,
        Op::LogicalXor => ta != tb,
        Op::LogicalNot => !ta,
        Op::Isnan => class[0],
        Op::Isinf => class[1],
        Op::Isfinite => class[2],
        _ => return None,
    }))
}

macro_rules! float {
    ($name:ident, $t:ident, $variant:ident) => {
        fn $name(op: Op, args: &[Scalar]) -> Option<Scalar> {
            let get = |i: usize| match args.get(i) {
                Some(Scalar::$variant(v)) => *v,
                _ => 0.0,
            };
            let (a, b) = (get(0), get(1));
            let divmod = || {
                let mut rest = a % b;
                if b == 0.0 {
                    return (a / b, rest);
                }
                let mut quotient = (a - rest) / b;
                if rest != 0.0 {
                    if (b < 0.0) != (rest < 0.0) {
                        rest += b;
                        quotient -= 1.0;
                    }
                } else {
                    rest = $t::copysign(0.0, b);
                }
                let floor = if quotient != 0.0 {
                    let f = quotient.floor();
                    if quotient - f > 0.5 { f + 1.0 } else { f }
                } else {
                    $t::copysign(0.0, a / b)
                };
                (floor, rest)
            };
            Some(Scalar::$variant(match op {
                Op::Copy | Op::Positive | Op::Conjugate => a,
                Op::Add => a + b,
                Op::Subtract => a - b,
                Op::Multiply => a * b,
                Op::Divide => a / b,
                Op::FloorDivide => divmod().0,
                Op::Remainder => divmod().1,
                Op::Fmod => a % b,
                Op::Negative => -a,
                Op::Absolute => a.abs(),
                Op::Sign => {
                    if a > 0.0 {
                        1.0
                    } else if a < 0.0 {
                        -1.0
                    } else if a == 0.0 {
                        0.0
                    } else {
                        a
                    }
                }
                Op::Square => a * a,
                Op::Reciprocal => 1.0 / a,
                Op::Maximum => if a >= b || a.is_nan() { a } else { b },
                Op::Minimum => if a <= b || a.is_nan() { a } else { b },
                Op::Fmax => if a >= b || b.is_nan() { a } else { b },
                Op::Fmin => if a <= b || b.is_nan() { a } else { b },
                Op::Copysign => a.copysign(b),
                Op::Sqrt => a.sqrt(),
                Op::Floor => a.floor(),
                Op::Ceil => a.ceil(),
                Op::Trunc => a.trunc(),
                Op::Rint => a.round_ties_even(),
                Op::Signbit => return Some(Scalar::Bool(a.is_sign_negative())),
                _ => {
                    let class = [a.is_nan(), a.is_infinite(), a.is_finite()];
                    return predicate(op, &a, &b, a != 0.0, b != 0.0, class);
                }
            }))
        }
    };
}
float!(float32, f32, F32);
float!(float64, f64, F64);

macro_rules! complex {
    ($name:ident, $t:ident, $pair:ident, $variant:ident, $real:ident) => {
        fn $name(op: Op, args: &[Scalar]) -> Option<Scalar> {
            let get = |i: usize| match args.get(i) {
                Some(Scalar::$variant(v)) => *v,
                _ => $pair { re: 0.0, im: 0.0 },
            };
            let (a, b) = (get(0), get(1));
            let nan = |v: $pair| v.re.is_nan() || v.im.is_nan();
            let greater = |a: $pair, b: $pair, ties: bool| {
                (a.re > b.re && !a.im.is_nan() && !b.im.is_nan())
                    || (a.re == b.re && (a.im > b.im || (ties && a.im == b.im)))
            };
            let multiply = |a: $pair, b: $pair| $pair {
                re: a.re * b.re - a.im * b.im,
                im: a.re * b.im + a.im * b.re,
            };
            let truth = |v: $pair| v.re != 0.0 || v.im != 0.0;
            let value = match op {
                Op::Copy | Op::Positive => a,
                Op::Add => $pair { re: a.re + b.re, im: a.im + b.im },
                Op::Subtract => $pair { re: a.re - b.re, im: a.im - b.im },
                Op::Multiply => multiply(a, b),
                Op::Square => multiply(a, a),
                Op::Divide if b.re.abs() >= b.im.abs() => {
                    if b.re == 0.0 && b.im == 0.0 {
                        $pair { re: a.re / b.re.abs(), im: a.im / b.re.abs() }
                    } else {
                        let ratio = b.im / b.re;
                        let scale = 1.0 / (b.re + b.im * ratio);
                        $pair { re: (a.re + a.im * ratio) * scale, im: (a.im - a.re * ratio) * scale }
                    }
                }
                Op::Divide => {
                    let ratio = b.re / b.im;
                    let scale = 1.0 / (b.im + b.re * ratio);
                    $pair { re: (a.re * ratio + a.im) * scale, im: (a.im * ratio - a.re) * scale }
                }
                Op::Reciprocal if a.im.abs() <= a.re.abs() => {
                    let r = a.im / a.re;
                    let d = a.re + a.im * r;
                    $pair { re: 1.0 / d, im: -r / d }
                }
                Op::Reciprocal => {
                    let r = a.re / a.im;
                    let d = a.re * r + a.im;
                    $pair { re: r / d, im: -1.0 / d }
                }
                Op::Negative => $pair { re: -a.re, im: -a.im },
                Op::Conjugate => $pair { re: a.re, im: -a.im },
                Op::Rint => $pair { re: a.re.round_ties_even(), im: a.im.round_ties_even() },
                Op::Maximum => if nan(a) || greater(a, b, true) { a } else { b },
                Op::Minimum => if nan(a) || greater(b, a, true) { a } else { b },
                Op::Fmax => if nan(b) || greater(a, b, true) { a } else { b },
                Op::Fmin => if nan(b) || greater(b, a, true) { a } else { b },
                Op::RealPart => return Some(Scalar::$real(a.re)),
                Op::ImagPart => return Some(Scalar::$real(a.im)),
                _ => {
                    return Some(Scalar::Bool(match op {
                        Op::Equal => a.re == b.re && a.im == b.im,
                        Op::NotEqual => a.re != b.re || a.im != b.im,
                        Op::Less => greater(b, a, false),
                        Op::LessEqual => greater(b, a, true),
                        Op::Greater => greater(a, b, false),
                        Op::GreaterEqual => greater(a, b, true),
                        Op::LogicalAnd => truth(a) && truth(b),
                        Op::LogicalOr => truth(a) || truth(b),
                        Op::LogicalXor => truth(a) != truth(b),
                        Op::LogicalNot => !truth(a),
                        Op::Isnan => nan(a),
                        Op::Isinf => a.re.is_infinite() || a.im.is_infinite(),
                        Op::Isfinite => a.re.is_finite() && a.im.is_finite(),
                        _ => return None,
                    }));
                }
            };
            Some(Scalar::$variant(value))
        }
    };
}
complex!(complex64, f32, C32, C64, F32);
complex!(complex128, f64, C64, C128, F64);

/// Truth value.
pub fn truth(v: Scalar) -> bool {
    match v {
        Scalar::F32(v) => v != 0.0,
        Scalar::F64(v) => v != 0.0,
        Scalar::C64(v) => v.re != 0.0 || v.im != 0.0,
        Scalar::C128(v) => v.re != 0.0 || v.im != 0.0,
        other => int(other) != 0,
    }
}

/// Conversion as C on x86 does it.
pub fn cast(to: DType, v: Scalar) -> Scalar {
    match (v, to) {
        (_, DType::Bool) => Scalar::Bool(truth(v)),
        (_, DType::C64) => {
            let (re, im) = parts32(v);
            Scalar::C64(C32 { re, im })
        }
        (_, DType::C128) => {
            let (re, im) = parts64(v);
            Scalar::C128(C64 { re, im })
        }
        (_, DType::F32) => Scalar::F32(parts32(v).0),
        (_, DType::F64) => Scalar::F64(parts64(v).0),
        (Scalar::F32(_) | Scalar::F64(_) | Scalar::C64(_) | Scalar::C128(_), _) => from_float(to, parts64(v).0),
        _ => narrow(to, int(v)),
    }
}

fn parts32(v: Scalar) -> (f32, f32) {
    match v {
        Scalar::F32(v) => (v, 0.0),
        Scalar::F64(v) => (v as f32, 0.0),
        Scalar::C64(v) => (v.re, v.im),
        Scalar::C128(v) => (v.re as f32, v.im as f32),
        other => (int(other) as f32, 0.0),
    }
}

fn parts64(v: Scalar) -> (f64, f64) {
    match v {
        Scalar::F32(v) => (v.into(), 0.0),
        Scalar::F64(v) => (v, 0.0),
        Scalar::C64(v) => (v.re.into(), v.im.into()),
        Scalar::C128(v) => (v.re, v.im),
        other => (int(other) as f64, 0.0),
    }
}

fn from_float(to: DType, v: f64) -> Scalar {
    let to32 = |v: f64| if v > -2147483649.0 && v < 2147483648.0 { v as i32 } else { i32::MIN };
    let to64 = |v: f64| if (-(2f64.powi(63))..2f64.powi(63)).contains(&v) { v as i64 } else { i64::MIN };
    match to {
        DType::I64 => Scalar::I64(to64(v)),
        DType::U32 => Scalar::U32(to64(v) as u32),
        DType::U64 if v >= 2f64.powi(63) => Scalar::U64(to64(v - 2f64.powi(63)) as u64 ^ 1 << 63),
        DType::U64 => Scalar::U64(to64(v) as u64),
        _ => narrow(to, to32(v).into()),
    }
}
