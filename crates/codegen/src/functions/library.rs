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

/// Does a function meet no floating-point condition that NumPy reports, whatever finite numbers it gets? A call of it
/// that does not change in a loop can be moved in front of the loop, past the checks of other results.
pub(super) fn is_total(function: CFunction) -> bool {
    use CFunction::{Asinh, Atan, Atan2, Cbrt, Cos, Erf, Erfc, Sin, Tanh};
    matches!(function, Asinh | Atan | Atan2 | Cbrt | Cos | Erf | Erfc | Sin | Tanh)
}

/// The sine and the cosine of a number.
#[repr(C)]
struct SineAndCosine {
    sine: f64,
    cosine: f64,
}

// SAFETY: this is the C library's own signature.
#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn sincos(x: f64, sine: *mut f64, cosine: *mut f64);
}

/// Calls `sin` and `cos`.
extern "C" fn one_by_one(x: f64) -> SineAndCosine {
    // SAFETY: functions of numbers.
    unsafe { SineAndCosine { sine: sin(x), cosine: cos(x) } }
}

/// Calls `sincos`, which computes both by the steps of `sin` and `cos` and takes two thirds of their time. For numbers
/// near a quarter of a turn, glibc's `sin` divides the distance from there into two parts in another way than its
/// `sincos`, which may change the last bit.
#[cfg(target_os = "linux")]
extern "C" fn at_once(x: f64) -> SineAndCosine {
    if (0.85..2.45).contains(&x.abs()) {
        return one_by_one(x);
    }
    let mut both = SineAndCosine { sine: 0.0, cosine: 0.0 };
    // SAFETY: both addresses are those of numbers.
    unsafe { sincos(x, &raw mut both.sine, &raw mut both.cosine) };
    both
}

/// The function that computes both: `sincos`, unless its results differ from those of `sin` and `cos` for some of a
/// number of arguments. This guards against C libraries that compute them in other ways than glibc and musl.
#[cfg(target_os = "linux")]
fn sine_and_cosine() -> usize {
    static FOUND: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *FOUND.get_or_init(|| {
        let saved = numelt_vecmath::flags::save();
        let is_same = (0..10_000).all(|k: i32| {
            // from 1e-9 to 1e9, with all quadrants and signs
            let x = 1e-9 * 1.0042f64.powi(k) * if k % 3 == 0 { -1.0 } else { 1.0 };
            let (one, two) = (one_by_one(x), at_once(x));
            one.sine.to_bits() == two.sine.to_bits() && one.cosine.to_bits() == two.cosine.to_bits()
        });
        saved.restore_with(0);
        if is_same { at_once as *const () as usize } else { one_by_one as *const () as usize }
    })
}

#[cfg(not(target_os = "linux"))]
fn sine_and_cosine() -> usize {
    one_by_one as *const () as usize
}

/// Where the function of this symbol is.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let name = symbol.strip_prefix("numelt_c_")?;
    if name == "sincos" {
        return Some(sine_and_cosine());
    }
    CFunction::ALL.iter().find(|function| function.name() == name).map(|function| of(*function))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A generator of bits: xorshift.
    fn next(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn both_functions_at_once_have_the_bits_of_each() {
        let mut state = 88_172_645_463_325_252;
        let mut unit = || next(&mut state) as f64 / 2f64.powi(64);
        let special = [0.0, -0.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, 1e300, 0.85, 2.45, 105_414_350.0];
        let bounds = [0.126, 0.855_469, 2.426_265, std::f64::consts::FRAC_PI_2, std::f64::consts::PI];
        let near = bounds
            .into_iter()
            .flat_map(|bound: f64| (-2000..2000).map(move |k| f64::from_bits(bound.to_bits().wrapping_add_signed(k))));
        let drawn = (0..300_000).map(|k| match k % 4 {
            0 => 8.0 * unit() - 4.0,
            1 => 200.0 * unit() - 100.0,
            2 => 1e9 * unit() - 5e8,
            _ => (200.0 * unit() - 100.0).exp2(),
        });
        let numbers: Vec<f64> = special.into_iter().chain(near).chain(drawn).collect();
        for x in numbers {
            let (one, two) = (one_by_one(x), at_once(x));
            assert_eq!((one.sine.to_bits(), one.cosine.to_bits()), (two.sine.to_bits(), two.cosine.to_bits()), "{x:e}");
        }
        assert_eq!(sine_and_cosine(), at_once as *const () as usize);
    }
}
