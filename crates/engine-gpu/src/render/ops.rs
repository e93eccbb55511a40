//! Operations in C: the expression of one elementwise operation, and the expression of the conditions that it may have
//! met.

use super::types::{cast, name, number, wrapping};
use super::{functions, streams};
use numelt_ir::warn::{ALL, DIVIDE, INVALID, OVER, UNDER};
use numelt_ir::{DType, DTypeKind, Op};
use std::f64::consts::PI;

/// The expression of an operation in its loop dtype, with operands of the dtypes that it needs; `None` if it is not
/// rendered. Operands are names or in parentheses.
pub fn expression(op: Op, ty: DType, operands: &[&str]) -> Option<String> {
    let wide = op.computes_in(ty);
    if wide != ty {
        let widened = operands.iter().enumerate().map(|(i, v)| cast(v, op.input_dtype(ty, i), op.input_dtype(wide, i)));
        let mut widened: Vec<String> = widened.collect();
        if op.swaps_halves(ty) {
            widened.swap(0, 1);
        }
        let widened: Vec<&str> = widened.iter().map(String::as_str).collect();
        let result = expression(op, wide, &widened)?;
        return Some(cast(&format!("({result})"), op.output_dtype(wide), op.output_dtype(ty)));
    }
    let (a, b) = (operands.first()?, operands.last()?);
    match op {
        Op::Copy | Op::Positive => return Some((*a).to_owned()),
        Op::Where => return Some(format!("{a} ? {} : {b}", operands[1])),
        Op::Pcg64 | Op::Pcg64Dxsm | Op::Philox => return Some(streams::call(op, ty, operands)),
        _ => {}
    }
    match ty.kind() {
        DTypeKind::Bool => boolean(op, a, b),
        DTypeKind::Signed | DTypeKind::Unsigned => integer(op, ty, a, b),
        DTypeKind::Float => float(op, ty, operands),
        DTypeKind::Complex => complex(op, ty, a, b),
    }
}

fn boolean(op: Op, a: &str, b: &str) -> Option<String> {
    Some(match op {
        Op::Absolute => a.to_owned(),
        Op::Add | Op::Maximum | Op::Fmax | Op::LogicalOr | Op::BitwiseOr => format!("{a} || {b}"),
        Op::Multiply | Op::Minimum | Op::Fmin | Op::LogicalAnd | Op::BitwiseAnd => format!("{a} && {b}"),
        Op::NotEqual | Op::LogicalXor | Op::BitwiseXor => format!("{a} != {b}"),
        Op::Equal => format!("{a} == {b}"),
        Op::Less => format!("!{a} && {b}"),
        Op::LessEqual => format!("!{a} || {b}"),
        Op::Greater => format!("{a} && !{b}"),
        Op::GreaterEqual => format!("{a} || !{b}"),
        Op::LogicalNot | Op::Invert => format!("!{a}"),
        Op::Isnan | Op::Isinf => "false".to_owned(),
        Op::Isfinite => "true".to_owned(),
        _ => return None,
    })
}

/// The comparisons and the like that integers and floats have in common.
fn compared(op: Op, a: &str, b: &str) -> Option<String> {
    Some(match op {
        Op::Equal => format!("{a} == {b}"),
        Op::NotEqual => format!("{a} != {b}"),
        Op::Less => format!("{a} < {b}"),
        Op::LessEqual => format!("{a} <= {b}"),
        Op::Greater => format!("{a} > {b}"),
        Op::GreaterEqual => format!("{a} >= {b}"),
        Op::LogicalAnd => format!("{a} != 0 && {b} != 0"),
        Op::LogicalOr => format!("{a} != 0 || {b} != 0"),
        Op::LogicalXor => format!("({a} != 0) != ({b} != 0)"),
        Op::LogicalNot => format!("{a} == 0"),
        _ => return None,
    })
}

/// The comparison with zero that the order of a signed and an unsigned number must pass.
fn mixed(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::EqualMixed => "==",
        Op::NotEqualMixed => "!=",
        Op::LessMixed => "<",
        Op::LessEqualMixed => "<=",
        Op::GreaterMixed => ">",
        Op::GreaterEqualMixed => ">=",
        _ => return None,
    })
}

fn integer(op: Op, ty: DType, a: &str, b: &str) -> Option<String> {
    let (own, wide) = (name(ty), name(wrapping(ty)));
    let wraps = |sign: &str| Some(format!("({own})(({wide}){a} {sign} ({wide}){b})"));
    let call1 = || Some(format!("{}_{own}({a})", op.name()));
    let call2 = || Some(format!("{}_{own}({a}, {b})", op.name()));
    if let Some(sign) = mixed(op) {
        // the signed number is the first operand of the function, so the order is negated if it is the second one here
        let order = if ty == DType::I64 { format!("order_i64({a}, {b})") } else { format!("-order_i64({b}, {a})") };
        return Some(format!("{order} {sign} 0"));
    }
    match op {
        Op::Conjugate => Some(a.to_owned()),
        Op::Add => wraps("+"),
        Op::Subtract => wraps("-"),
        Op::Multiply => wraps("*"),
        Op::Square => Some(format!("({own})(({wide}){a} * ({wide}){a})")),
        Op::Negative => Some(format!("({own})(0 - ({wide}){a})")),
        Op::Absolute | Op::Sign | Op::Reciprocal | Op::BitwiseCount => call1(),
        Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Power | Op::LeftShift | Op::RightShift | Op::Gcd | Op::Lcm => {
            call2()
        }
        Op::Maximum | Op::Fmax => Some(format!("{a} > {b} ? {a} : {b}")),
        Op::Minimum | Op::Fmin => Some(format!("{a} < {b} ? {a} : {b}")),
        Op::BitwiseAnd => Some(format!("({own})({a} & {b})")),
        Op::BitwiseOr => Some(format!("({own})({a} | {b})")),
        Op::BitwiseXor => Some(format!("({own})({a} ^ {b})")),
        Op::Invert => Some(format!("({own})~{a}")),
        Op::Isnan | Op::Isinf => Some("false".to_owned()),
        Op::Isfinite => Some("true".to_owned()),
        _ => compared(op, a, b),
    }
}

fn float(op: Op, ty: DType, operands: &[&str]) -> Option<String> {
    let own = name(ty);
    let (a, b) = (operands[0], operands[operands.len() - 1]);
    let call = || Some(format!("{}_{own}({})", op.name(), operands.join(", ")));
    let built_in = |name: &str| Some(format!("{name}({})", operands.join(", ")));
    match op {
        Op::Conjugate => Some(a.to_owned()),
        Op::Add => Some(format!("{a} + {b}")),
        Op::Subtract => Some(format!("{a} - {b}")),
        Op::Multiply => Some(format!("{a} * {b}")),
        Op::Divide => Some(format!("QUOTIENT_{own}({a}, {b})")),
        Op::Square => Some(format!("{a} * {a}")),
        Op::Reciprocal => Some(format!("QUOTIENT_{own}(1, {a})")),
        Op::Negative if ty == DType::F16 => Some(format!("(f16)({a} ^ 0x8000)")),
        Op::Absolute if ty == DType::F16 => Some(format!("(f16)({a} & 0x7fff)")),
        Op::Negative => Some(format!("-{a}")),
        Op::Deg2rad => Some(format!("{a} * {}", degree(ty))),
        Op::Rad2deg => Some(format!("{a} * {}", radian(ty))),
        Op::Absolute | Op::Fabs => built_in("fabs"),
        Op::Copysign => built_in("copysign"),
        Op::Sqrt => Some(format!("ROOT_{own}({a})")),
        Op::Floor => built_in("floor"),
        Op::Ceil => built_in("ceil"),
        Op::Trunc | Op::ModfIntegral => built_in("trunc"),
        Op::Rint => built_in("rint"),
        Op::Isnan => built_in("isnan"),
        Op::Isinf => built_in("isinf"),
        Op::Isfinite => built_in("isfinite"),
        Op::Signbit => Some(format!("(BITS_{own}({a}) >> {}) != 0", 8 * ty.size() - 1)),
        Op::FloorDivide
        | Op::Remainder
        | Op::Fmod
        | Op::Maximum
        | Op::Minimum
        | Op::Fmax
        | Op::Fmin
        | Op::Sign
        | Op::Heaviside
        | Op::Nextafter
        | Op::Spacing
        | Op::Ldexp
        | Op::FrexpMantissa
        | Op::FrexpExponent
        | Op::ModfFraction => call(),
        _ => compared(op, a, b).or_else(|| Some(format!("{}({})", functions::name(op, ty)?, operands.join(", ")))),
    }
}

/// One degree in radians, rounded as the type's own constants are.
fn degree(ty: DType) -> String {
    if ty == DType::F32 { number((std::f32::consts::PI / 180.0).into(), ty) } else { number(PI / 180.0, ty) }
}

/// One radian in degrees.
fn radian(ty: DType) -> String {
    if ty == DType::F32 { number((180.0 / std::f32::consts::PI).into(), ty) } else { number(180.0 / PI, ty) }
}

fn complex(op: Op, ty: DType, a: &str, b: &str) -> Option<String> {
    let own = name(ty);
    let call1 = |name: &str, a: &str| Some(format!("{name}_{own}({a})"));
    let call2 = |name: &str, a: &str, b: &str| Some(format!("{name}_{own}({a}, {b})"));
    let truth = |a: &str| cast(a, ty, DType::Bool);
    match op {
        Op::Add
        | Op::Subtract
        | Op::Multiply
        | Op::Divide
        | Op::Maximum
        | Op::Minimum
        | Op::Fmax
        | Op::Fmin
        | Op::Less
        | Op::LessEqual => call2(op.name(), a, b),
        Op::Greater => call2("less", b, a),
        Op::GreaterEqual => call2("less_equal", b, a),
        Op::Negative | Op::Conjugate | Op::Reciprocal | Op::Rint | Op::Absolute => call1(op.name(), a),
        Op::Square => call2("multiply", a, a),
        Op::RealPart => Some(format!("{a}.re")),
        Op::ImagPart => Some(format!("{a}.im")),
        Op::Equal => Some(format!("{a}.re == {b}.re && {a}.im == {b}.im")),
        Op::NotEqual => Some(format!("{a}.re != {b}.re || {a}.im != {b}.im")),
        Op::LogicalAnd => Some(format!("{} && {}", truth(a), truth(b))),
        Op::LogicalOr => Some(format!("{} || {}", truth(a), truth(b))),
        Op::LogicalXor => Some(format!("{} != {}", truth(a), truth(b))),
        Op::LogicalNot => Some(format!("!{}", truth(a))),
        Op::Isnan => call1("any_nan", a),
        Op::Isinf => Some(format!("isinf({a}.re) || isinf({a}.im)")),
        Op::Isfinite => call1("all_finite", a),
        _ => None,
    }
}

/// The conditions that an operation may have met, determined from its result and operands: at least those that it did
/// meet. `None` if it meets none.
pub fn conditions(op: Op, ty: DType, result: &str, operands: &[&str]) -> Option<String> {
    if op.raises(ty) == 0 {
        return None;
    }
    let own = name(ty);
    let (a, b) = (operands.first()?, operands.last()?);
    match ty.kind() {
        DTypeKind::Bool => None,
        DTypeKind::Signed | DTypeKind::Unsigned if op == Op::Reciprocal => Some(format!("({a} == 0 ? 9 : 0)")),
        DTypeKind::Signed | DTypeKind::Unsigned => Some(format!("met_divide_{own}({a}, {b})")),
        DTypeKind::Complex if op.output_dtype(ty) == DType::Bool => Some(format!("met_order_{own}({a}, {b})")),
        DTypeKind::Complex if op.output_dtype(ty) != ty => {
            let real = name(ty.real());
            Some(format!("met2_{real}({result}, {a}.re, {a}.im)"))
        }
        DTypeKind::Float | DTypeKind::Complex => {
            let met = match op.arity() {
                1 => format!("met1_{own}({result}, {a})"),
                _ if op == Op::Ldexp => format!("met1_{own}({result}, {a})"),
                _ if ty.is_complex() && matches!(op, Op::Add | Op::Subtract) => {
                    format!("met_sum_{own}({result}, {a}, {b})")
                }
                _ => format!("met2_{own}({result}, {a}, {b})"),
            };
            let met = match possible(op, ty, a, b) {
                Some(possible) => format!("({met} & {possible})"),
                None => met,
            };
            Some(match besides(op, ty, result, b) {
                Some(besides) => format!("({met} | ({besides} ? {INVALID} : 0))"),
                None => met,
            })
        }
    }
}

/// Where an operation on real numbers is invalid though no rule of IEEE 754 says so, because of the steps by which NumPy
/// computes it.
fn besides(op: Op, ty: DType, result: &str, b: &str) -> Option<String> {
    let result = real(result, ty);
    match op {
        // an infinite quotient is subtracted from itself
        Op::FloorDivide if !ty.is_complex() => Some(format!("isinf({result}) && {} != 0", real(b, ty))),
        // NaN is compared with
        Op::Logaddexp | Op::Logaddexp2 | Op::Spacing => Some(format!("isnan({result})")),
        _ => None,
    }
}

/// A value as a number with which C computes.
pub fn real(value: &str, ty: DType) -> String {
    match ty {
        DType::F16 => format!("f32_of_f16({value})"),
        _ => value.to_owned(),
    }
}

/// The conditions of an operation that an infinite result may tell of, if that is not both a division by zero and an
/// overflow: if a launch has overwritten its operands, nobody can find out afterwards which it was.
fn possible(op: Op, ty: DType, a: &str, b: &str) -> Option<String> {
    let by = |zero: &str| format!("({} == 0 ? {} : {})", real(zero, ty), ALL & !OVER, ALL & !DIVIDE);
    match op {
        Op::Add | Op::Subtract => Some((op.raises(ty) | UNDER).to_string()),
        _ if ty.is_complex() => None,
        Op::Divide | Op::FloorDivide => Some(by(b)),
        Op::Reciprocal | Op::Power => Some(by(a)),
        Op::Log | Op::Log2 | Op::Log10 | Op::Log1p | Op::Arctanh => Some((ALL & !OVER).to_string()),
        Op::Exp | Op::Exp2 | Op::Expm1 | Op::Sinh | Op::Cosh => Some((ALL & !DIVIDE).to_string()),
        _ => (op.raises(ty) & DIVIDE == 0).then(|| (op.raises(ty) | UNDER).to_string()),
    }
}

/// The conditions that a conversion may have met.
pub fn cast_conditions(from: DType, to: DType, result: &str, value: &str) -> Option<String> {
    if numelt_ir::warn::cast_raises(from, to) == 0 {
        return None;
    }
    if to.is_integer() {
        let (low, high) = limits(to);
        let (value, real) = match from {
            DType::F16 => (format!("f32_of_f16({value})"), DType::F32),
            DType::C64 | DType::C128 => (format!("{value}.re"), from.real()),
            _ => (value.to_owned(), from),
        };
        return Some(format!("met_to_{}({value}, {}, {})", name(real), number(low, real), number(high, real)));
    }
    let part = |result: &str, value: &str, from: DType| {
        let finite = match from {
            DType::F32 | DType::F64 => format!("isfinite({value})"),
            _ => "true".to_owned(),
        };
        format!("met_cast_{}({result}, {finite})", name(to.real()))
    };
    Some(match (from.is_complex(), to.is_complex()) {
        (true, true) => {
            let both = ["re", "im"].map(|p| part(&format!("{result}.{p}"), &format!("{value}.{p}"), from.real()));
            both.join(" | ")
        }
        (true, false) => part(result, &format!("{value}.re"), from.real()),
        (false, true) => part(&format!("{result}.re"), value, from),
        (false, false) => part(result, value, from),
    })
}

/// The numbers next to an integer type's range on both sides, or values at its ends if a float may not have those
/// numbers. Converting one of the latter may then count as invalid, which the host checks.
fn limits(to: DType) -> (f64, f64) {
    let bits = 8 * to.size() as i32;
    match to.kind() {
        DTypeKind::Signed => (-2f64.powi(bits - 1) - if bits < 32 { 1.0 } else { 0.0 }, 2f64.powi(bits - 1)),
        _ => (-1.0, 2f64.powi(bits)),
    }
}
