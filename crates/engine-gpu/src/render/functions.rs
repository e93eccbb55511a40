//! Functions of the vector math crate, in C.
//!
//! In: the steps of an algorithm (`numelt_vecmath::trace`). Out: a function that does the same steps, so that it has
//! the same bits. Only the range reduction of large arguments, which is integer arithmetic on words, is written by
//! hand.

use super::types::number;
use numelt_ir::{DType, Op};
use numelt_vecmath::trace::{Does, REDUCTION, Step, Trace, Type, trace};
use std::fmt::Write;

/// The name of the function that an operation calls.
pub fn name(op: Op, ty: DType) -> Option<String> {
    let name = match op {
        Op::Power | Op::FloatPower => "pow",
        numelt_ir::transcendental!() => op.name(),
        _ => return None,
    };
    matches!(ty, DType::F32 | DType::F64).then(|| format!("{name}_{ty}"))
}

/// The definition of a function.
pub fn definition(full: &str) -> Option<String> {
    let (base, ty) = full.rsplit_once('_')?;
    let ty = match ty {
        "f64" => Type::F64,
        "f32" => Type::F32,
        _ => return None,
    };
    match base.strip_suffix("_far") {
        Some(rare) => far(rare, ty),
        None => Some(text(full, &trace(base, ty)?)),
    }
}

fn c_type(ty: Type) -> &'static str {
    match ty {
        Type::F64 => "f64",
        Type::F32 => "f32",
        Type::U64 => "u64",
        Type::U32 => "u32",
        Type::Truth => "bool",
    }
}

/// An algorithm as a function.
fn text(full: &str, trace: &Trace) -> String {
    let mut uses = vec![0; trace.steps.len()];
    trace.steps.iter().flat_map(|step| step.operands.iter().flatten()).for_each(|&at| uses[at as usize] += 1);
    let mut values: Vec<String> = Vec::new();
    let (mut body, mut tables) = (String::new(), String::new());
    for (at, step) in trace.steps.iter().enumerate() {
        let operands: Vec<&str> = step.operands.iter().flatten().map(|&o| values[o as usize].as_str()).collect();
        let value = expression(full, at, step, &operands, trace);
        if let Does::Lookup(table) = step.does {
            let entries = table.map(|bits| constant(step.ty, bits)).join(", ");
            let _ = writeln!(tables, "TABLE {} {full}_t{at}[16] = {{{entries}}};", c_type(step.ty));
        }
        // values that only few arguments need are written where they are selected, so that other arguments skip them
        let stays = match step.does {
            Does::Argument(_) | Does::Constant(_) => true,
            Does::Call(_) | Does::CallWide(_) => uses[at] == 1,
            _ => false,
        };
        if stays {
            values.push(value);
        } else {
            let _ = writeln!(body, "    const {} t{at} = {value};", c_type(step.ty));
            values.push(format!("t{at}"));
        }
    }
    let arguments = trace.arguments.iter().enumerate().map(|(at, &ty)| format!("{} x{at}", c_type(ty)));
    let arguments: Vec<String> = arguments.collect();
    let result = trace.steps.last().map_or("f64", |step| c_type(step.ty));
    let (arguments, last) = (arguments.join(", "), values.last().cloned().unwrap_or_default());
    format!(
        "// Within one unit in the last place; steps and bits are those of numelt's own function on processors.\n\
         {tables}FUNCTION {result} {full}({arguments})\n{{\n{body}    return {last};\n}}\n"
    )
}

fn expression(full: &str, at: usize, step: &Step, operands: &[&str], trace: &Trace) -> String {
    let (a, b) = (operands.first().copied().unwrap_or_default(), operands.get(1).copied().unwrap_or_default());
    let truth = step.ty == Type::Truth;
    match step.does {
        Does::Argument(at) => format!("x{at}"),
        Does::Constant(bits) => constant(step.ty, bits),
        Does::Add => format!("{a} + {b}"),
        Does::Sub => format!("{a} - {b}"),
        Does::Mul => format!("{a} * {b}"),
        Does::Div => format!("QUOTIENT_{}({a}, {b})", c_type(step.ty)),
        Does::Neg => format!("-{a}"),
        Does::Fma => format!("fma({})", operands.join(", ")),
        Does::Sqrt => format!("ROOT_{}({a})", c_type(step.ty)),
        Does::Round => format!("rint({a})"),
        Does::Abs => format!("fabs({a})"),
        Does::Copysign => format!("copysign({a}, {b})"),
        Does::Less => format!("{a} < {b}"),
        Does::LessEqual => format!("{a} <= {b}"),
        Does::Equal => format!("{a} == {b}"),
        Does::And => format!("{a} {} {b}", if truth { "&&" } else { "&" }),
        Does::Or => format!("{a} {} {b}", if truth { "||" } else { "|" }),
        Does::Xor => format!("{a} ^ {b}"),
        Does::Not => format!("!{a}"),
        Does::Select => format!("{a} ? {b} : {}", operands[2]),
        Does::Shl(places) => format!("{a} << {places}"),
        Does::Shr(places) => format!("{a} >> {places}"),
        Does::Lookup(_) => format!("{full}_t{at}[{a} & 15]"),
        Does::Reinterpret => {
            let from = step.operands[0].map_or(step.ty, |at| trace.steps[at as usize].ty);
            match (from, step.ty) {
                (Type::F64 | Type::F32, _) => format!("BITS_{}({a})", c_type(from)),
                _ => format!("FROM_BITS_{}({a})", c_type(step.ty)),
            }
        }
        Does::Call(name) => format!("{name}_{}({})", c_type(step.ty), operands.join(", ")),
        Does::CallWide(name) => {
            let wide: Vec<String> = operands.iter().map(|operand| format!("(f64){operand}")).collect();
            format!("(f32){name}_f64({})", wide.join(", "))
        }
    }
}

fn constant(ty: Type, bits: u64) -> String {
    let value = match ty {
        Type::F64 => number(f64::from_bits(bits), DType::F64),
        Type::F32 => number(f32::from_bits(bits as u32).into(), DType::F32),
        Type::U64 | Type::U32 => format!("({})0x{bits:x}", c_type(ty)),
        Type::Truth => bits.to_string(),
    };
    if value.starts_with('-') { format!("({value})") } else { value }
}

/// A circular function of an argument that is too large, or too close to a zero, for the short reduction.
fn far(name: &str, ty: Type) -> Option<String> {
    if ty != Type::F64 {
        return None;
    }
    let odd = |call: &str| format!("    const f64 y = {call};\n    return x < 0 ? -y : y;\n");
    let end = match name {
        "sin" => odd("quadrant_f64(r, rl, q)"),
        "tan" => odd("tan_quadrant_f64(r, rl, q)"),
        "cos" => "    return quadrant_f64(r, rl, q + 1);\n".to_owned(),
        "reduce" => return Some(reduce()),
        _ => return None,
    };
    Some(format!(
        "// For arguments that are large, or near to a zero.\n\
         FUNCTION f64 {name}_far_f64(f64 x)\n{{\n    f64 r, rl;\n    if (!isfinite(x)) return NAN;\n    \
         const u64 q = reduce_far_f64(fabs(x), &r, &rl);\n{end}}}\n"
    ))
}

/// The exact reduction modulo pi / 2, by integers.
fn reduce() -> String {
    let (words, half_pi, rest) = REDUCTION;
    let table: Vec<String> = words.iter().map(|word| format!("0x{word:x}")).collect();
    let table: Vec<String> = table.chunks(4).map(|line| line.join(", ")).collect();
    REDUCE
        .replace("$COUNT", &words.len().to_string())
        .replace("$TABLE", &table.join(",\n    "))
        .replace("$HALF_PI_REST", &number(rest, DType::F64))
        .replace("$HALF_PI", &number(half_pi, DType::F64))
}

const REDUCE: &str = "\
// 2 / pi, its bits after the point.
TABLE u64 two_over_pi[$COUNT] = {
    $TABLE,
};

// Word i of 2 / pi from some bit on.
FUNCTION u64 word_of_two_over_pi(i64 i, i64 skip)
{
    const i64 at = skip / 64 + i;
    const i32 shift = (i32)(skip % 64);
    const u64 first = at < $COUNT ? two_over_pi[at] : 0, second = at + 1 < $COUNT ? two_over_pi[at + 1] : 0;
    return shift == 0 ? first : first << shift | second >> (64 - shift);
}

// x = (4 n + q) pi / 2 + r + rl with |r| <= pi / 4; the result is q.
FUNCTION u64 reduce_far_f64(f64 x, f64 *r, f64 *rl)
{
    const i64 power = (i64)(BITS_f64(x) >> 52) - 1075;
    const u64 mantissa = (BITS_f64(x) & 0xfffffffffffff) | 0x10000000000000;
    // bits of 2 / pi that only add multiples of 4 are skipped
    const i64 skip = power > 2 ? power - 2 : 0;
    const i32 right = (i32)(2 - (power - skip));
    u64 product[5], turn[5], carry = 0;
    for (i32 i = 3; i >= 0; i--) {
        const u64 word = word_of_two_over_pi(i, skip);
        const u64 low = word * mantissa + carry;
        carry = HIGH_PRODUCT(word, mantissa) + (low < carry ? 1 : 0);
        product[i + 1] = low;
    }
    product[0] = carry;
    for (i32 i = 0; i < 4; i++) {
        turn[i] = right == 0 ? product[i + 1]
            : right >= 64 ? product[i]
            : product[i] << (64 - right) | product[i + 1] >> right;
    }
    turn[4] = 0;
    const u64 q = ((turn[0] >> 61) + 1) >> 1 & 3;
    // what is left after the nearest integer of turn * 4, signed
    u64 f[4];
    for (i32 i = 0; i < 4; i++) f[i] = turn[i] << 2 | turn[i + 1] >> 62;
    const bool negative = f[0] >> 63 == 1;
    for (i32 i = 0; i < 4; i++) f[i] = negative ? ~f[i] : f[i];
    i64 exponent = -64;
    while (f[0] == 0 && exponent > -256) {
        f[0] = f[1];
        f[1] = f[2];
        f[2] = f[3];
        f[3] = 0;
        exponent -= 64;
    }
    i32 lead = 0;
    while (f[0] != 0 && (f[0] << lead) >> 63 == 0) lead++;
    const u64 top = lead == 0 ? f[0] : f[0] << lead | f[1] >> (64 - lead);
    const u64 next = lead == 0 ? f[1] : f[1] << lead | f[2] >> (64 - lead);
    const f64 scale = FROM_BITS_f64((u64)(1023 + exponent - lead) << 52);
    const f64 high = (f64)(top >> 11) * 2048.0 * scale;
    const f64 low = (f64)(top << 53 | next >> 11) * 1.1102230246251565e-16 * scale;
    const f64 whole = high * $HALF_PI;
    const f64 rest = fma(high, $HALF_PI, -whole) + fma(high, $HALF_PI_REST, low * $HALF_PI);
    const f64 sum = whole + rest, error = (whole - sum) + rest;
    *r = negative ? -sum : sum;
    *rl = negative ? -error : error;
    return q;
}
";
