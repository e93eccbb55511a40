//! Templates: the text of a function for several element types, of which the text for one type is made.
//!
//! `$T` is the type, `$U` the unsigned one of its width, `$W` the one in which its arithmetic wraps, `$R` the real one.

use super::types;
use numelt_ir::DType;

/// A function for several element types, which are `$T` in its text.
pub struct Template {
    /// Its name without the type.
    pub name: &'static str,
    /// Types.
    pub types: &'static [DType],
    /// The comment and the definition.
    pub text: &'static str,
}

/// A template for one type.
pub fn of(text: &str, ty: DType) -> String {
    let (mantissa, bias, least) = match ty {
        DType::F16 => (11, 15, "6.103515625e-05f"),
        DType::F32 => (24, 127, "1.17549435e-38f"),
        _ => (53, 1023, "2.2250738585072014e-308"),
    };
    let value = |text: &str| if ty == DType::F16 { format!("f32_of_f16({text})") } else { text.to_owned() };
    let text =
        ["r", "a", "b"].iter().fold(text.to_owned(), |text, name| text.replace(&format!("$({name})"), &value(name)));
    let bits = 8 * ty.size();
    // NumPy's reciprocal of zero
    let inverse = match ty {
        DType::I32 => "(-2147483647 - 1)",
        DType::I64 => "(-9223372036854775807 - 1)",
        _ => "0",
    };
    text.replace("$TOP", &format!("{}", mantissa + bias))
        .replace("$TWICE", &format!("{}", 4 * bias))
        .replace("$LEAST_EXPONENT", &format!("({})", 1 - bias))
        .replace("$LEAST", least)
        .replace("$INVERSE", inverse)
        .replace("$MANTISSA", &format!("{mantissa}"))
        .replace("$BIAS", &format!("{bias}"))
        .replace("$CHUNK", &format!("{}", 64 - mantissa))
        .replace("$BITS", &format!("{bits}"))
        .replace("$ROUND", if ty == DType::F32 { "(f32)" } else { "" })
        .replace("$U", types::name(types::unsigned(ty)))
        .replace("$W", types::name(types::wrapping(ty)))
        .replace("$R", types::name(ty.real()))
        .replace("$T", types::name(ty))
}
