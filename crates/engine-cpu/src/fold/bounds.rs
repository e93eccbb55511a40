//! The least and the greatest value of each element type.

use crate::tier0::{self, B8};
use numelt_ir::{Complex64, Complex128, F16};

/// The least and the greatest value of a type, as extremes of the empty range.
pub trait Bounds: tier0::Any {
    /// No value is less.
    const LEAST: Self;
    /// No value is greater.
    const GREATEST: Self;
    /// The value that every other replaces in a maximum that ignores NaN.
    const NO_MAXIMUM: Self;
    /// The same for a minimum.
    const NO_MINIMUM: Self;
    /// Whether the extreme is the first of several equivalent values with different bits, as NumPy's is for halves and
    /// complex numbers. (For other floats it is the last in most of NumPy's loops.)
    const FIRST: bool = false;

    /// The first of `acc` and `x` that is equivalent to `result`, if its bits may differ.
    #[inline(always)]
    fn first(acc: Self, x: &[Self], result: Self) -> Self {
        if !Self::FIRST || !(result.nan() | result.has_zero()) {
            return result;
        }
        let same = |&value: &Self| if result.nan() { value.nan() } else { value.eq(result) };
        std::iter::once(acc).chain(x.iter().copied()).find(same).unwrap_or(result)
    }

    /// Whether it, or a part of it, is zero.
    #[inline(always)]
    fn has_zero(self) -> bool {
        !self.truth()
    }
}
macro_rules! bounds {
    ($($t:ty: $lo:expr, $hi:expr $(, nan $nan:expr)? $(=> { $($also:tt)* })?;)*) => {$(
        impl Bounds for $t {
            $($($also)*)?
            const LEAST: $t = $lo;
            const GREATEST: $t = $hi;
            const NO_MAXIMUM: $t = bounds!(@first $($nan,)? $lo);
            const NO_MINIMUM: $t = bounds!(@first $($nan,)? $hi);
        }
    )*};
    (@first $value:expr $(, $rest:expr)*) => { $value };
}
macro_rules! complex_bounds {
    () => {
        const FIRST: bool = true;
        #[inline(always)]
        fn has_zero(self) -> bool {
            (self.re == 0.0) | (self.im == 0.0)
        }
    };
}
bounds! {
    B8: B8(0), B8(1);
    i8: i8::MIN, i8::MAX; i16: i16::MIN, i16::MAX; i32: i32::MIN, i32::MAX; i64: i64::MIN, i64::MAX;
    u8: 0, u8::MAX; u16: 0, u16::MAX; u32: 0, u32::MAX; u64: 0, u64::MAX;
    F16: F16(0xFC00), F16::INFINITY, nan F16(0x7E00) => { const FIRST: bool = true; };
    f32: f32::NEG_INFINITY, f32::INFINITY, nan f32::NAN;
    f64: f64::NEG_INFINITY, f64::INFINITY, nan f64::NAN;
    Complex64: Complex64 { re: f32::NEG_INFINITY, im: f32::NEG_INFINITY }, Complex64 { re: f32::INFINITY, im: f32::INFINITY },
        nan Complex64 { re: f32::NAN, im: f32::NAN } => { complex_bounds!(); };
    Complex128: Complex128 { re: f64::NEG_INFINITY, im: f64::NEG_INFINITY }, Complex128 { re: f64::INFINITY, im: f64::INFINITY },
        nan Complex128 { re: f64::NAN, im: f64::NAN } => { complex_bounds!(); };
}
