//! The functions of the C library that compiled functions call: those that CPython's `math` calls.

use numelt_func::CFunction;

macro_rules! library {
    ($($variant:ident $name:ident($($arg:ident),*);)*) => {
        // SAFETY: these are the C library's own signatures; only their addresses are taken here.
        unsafe extern "C" { $(fn $name($($arg: f64),*) -> f64;)* }

        fn of(function: CFunction) -> usize {
            match function { $(CFunction::$variant => $name as *const () as usize,)* }
        }
    };
}

library! {
    Sin sin(x);
    Cos cos(x);
    Tan tan(x);
    Asin asin(x);
    Acos acos(x);
    Atan atan(x);
    Atan2 atan2(x, y);
    Sinh sinh(x);
    Cosh cosh(x);
    Tanh tanh(x);
    Asinh asinh(x);
    Acosh acosh(x);
    Atanh atanh(x);
    Exp exp(x);
    Exp2 exp2(x);
    Expm1 expm1(x);
    Log log(x);
    Log2 log2(x);
    Log10 log10(x);
    Log1p log1p(x);
    Pow pow(x, y);
    Fmod fmod(x, y);
    Hypot hypot(x, y);
    Cbrt cbrt(x);
    Erf erf(x);
    Erfc erfc(x);
}

/// The symbol of a function. It is not C's own name, by which LLVM would take it for a function that it knows and may
/// replace.
pub(super) fn symbol(function: CFunction) -> String {
    format!("numelt_c_{}", function.name())
}

/// Where the function of this symbol is.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let name = symbol.strip_prefix("numelt_c_")?;
    CFunction::ALL.iter().find(|function| function.name() == name).map(|function| of(*function))
}
