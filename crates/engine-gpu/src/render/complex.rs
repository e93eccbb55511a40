//! Functions on complex numbers in C, with NumPy's formulas in NumPy's order of operations. `$R` is the type of the
//! parts.

use super::template::Template;
use numelt_ir::DType;

const COMPLEX: &[DType] = &[DType::C64, DType::C128];

macro_rules! templates {
    ($($name:literal $text:literal;)*) => {
        /// All of them.
        pub const ALL: &[Template] = &[$(Template { name: $name, types: COMPLEX, text: $text },)*];
    };
}

templates! {
    "make" "\
// A number of its parts.
FUNCTION $T make_$T($R re, $R im)
{
    $T r;
    r.re = re;
    r.im = im;
    return r;
}
";
    "any_nan" "\
// Is a part NaN?
FUNCTION bool any_nan_$T($T a)
{
    return isnan(a.re) || isnan(a.im);
}
";
    "all_finite" "\
// Are both parts finite?
FUNCTION bool all_finite_$T($T a)
{
    return isfinite(a.re) && isfinite(a.im);
}
";
    "near_zero" "\
// Is a part near zero, where underflow may be?
FUNCTION bool near_zero_$T($T a)
{
    return met1_$R(a.re, a.re) == 4 || met1_$R(a.im, a.im) == 4;
}
";
    "met1" "\
// Conditions that a result may tell of. Steps on the way may have met some that it does not show where operands are not
// finite.
FUNCTION u32 met1_$T($T r, $T a)
{
    return (all_finite_$T(r) && all_finite_$T(a) ? 0 : 11) | (near_zero_$T(r) ? 4 : 0);
}
";
    "met2" "\
// Conditions that a result may tell of. Steps on the way may have met some that it does not show where operands are not
// finite.
FUNCTION u32 met2_$T($T r, $T a, $T b)
{
    return (all_finite_$T(r) && all_finite_$T(a) && all_finite_$T(b) ? 0 : 11) | (near_zero_$T(r) ? 4 : 0);
}
";
    "met_sum" "\
// Conditions of a sum or a difference, in which the parts do not meet.
FUNCTION u32 met_sum_$T($T r, $T a, $T b)
{
    return met2_$R(r.re, a.re, b.re) | met2_$R(r.im, a.im, b.im);
}
";
    "met_order" "\
// Comparing with NaN is invalid.
FUNCTION u32 met_order_$T($T a, $T b)
{
    return any_nan_$T(a) || any_nan_$T(b) ? 8 : 0;
}
";
    "add" "\
FUNCTION $T add_$T($T a, $T b)
{
    return make_$T(a.re + b.re, a.im + b.im);
}
";
    "subtract" "\
FUNCTION $T subtract_$T($T a, $T b)
{
    return make_$T(a.re - b.re, a.im - b.im);
}
";
    "multiply" "\
// One of two products in each part is not rounded before they are added.
FUNCTION $T multiply_$T($T a, $T b)
{
    return make_$T(fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re));
}
";
    "divide" "\
// Smith's division; a divisor of zero counts as positive.
FUNCTION $T divide_$T($T a, $T b)
{
    const $R c = fabs(b.re), d = fabs(b.im);
    if (c >= d) {
        if (c == 0 && d == 0) return make_$T(QUOTIENT_$R(a.re, c), QUOTIENT_$R(a.im, c));
        const $R ratio = QUOTIENT_$R(b.im, b.re);
        const $R scale = QUOTIENT_$R(1, b.re + b.im * ratio);
        return make_$T((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    const $R ratio = QUOTIENT_$R(b.re, b.im);
    const $R scale = QUOTIENT_$R(1, b.im + b.re * ratio);
    return make_$T((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
";
    "reciprocal" "\
FUNCTION $T reciprocal_$T($T a)
{
    if (fabs(a.im) <= fabs(a.re)) {
        const $R ratio = QUOTIENT_$R(a.im, a.re);
        const $R scale = a.re + a.im * ratio;
        return make_$T(QUOTIENT_$R(1, scale), QUOTIENT_$R(-ratio, scale));
    }
    const $R ratio = QUOTIENT_$R(a.re, a.im);
    const $R scale = a.re * ratio + a.im;
    return make_$T(QUOTIENT_$R(ratio, scale), QUOTIENT_$R(-1, scale));
}
";
    "negative" "\
FUNCTION $T negative_$T($T a)
{
    return make_$T(-a.re, -a.im);
}
";
    "conjugate" "\
FUNCTION $T conjugate_$T($T a)
{
    return make_$T(a.re, -a.im);
}
";
    "rint" "\
FUNCTION $T rint_$T($T a)
{
    return make_$T(rint(a.re), rint(a.im));
}
";
    "absolute" "\
// The larger part times sqrt(1 + ratio * ratio).
FUNCTION $R absolute_$T($T a)
{
    const $R re = fabs(a.re), im = fabs(a.im);
    if (isinf(re) || isinf(im)) return ($R)INFINITY;
    if (isnan(re) || isnan(im)) return ($R)NAN;
    const $R large = re < im ? im : re, small = re < im ? re : im;
    const $R ratio = large == 0 ? large : QUOTIENT_$R(small, large);
    return large * ROOT_$R(fma(ratio, ratio, ($R)1));
}
";
    "less" "\
// By real part, then by imaginary part.
FUNCTION bool less_$T($T a, $T b)
{
    return (a.re < b.re && !isnan(a.im) && !isnan(b.im)) || (a.re == b.re && a.im < b.im);
}
";
    "less_equal" "\
// By real part, then by imaginary part.
FUNCTION bool less_equal_$T($T a, $T b)
{
    return (a.re < b.re && !isnan(a.im) && !isnan(b.im)) || (a.re == b.re && a.im <= b.im);
}
";
    "maximum" "\
// The larger; the first of equal ones, and the first with a NaN.
FUNCTION $T maximum_$T($T a, $T b)
{
    return any_nan_$T(a) || less_equal_$T(b, a) ? a : b;
}
";
    "minimum" "\
// The smaller; the first of equal ones, and the first with a NaN.
FUNCTION $T minimum_$T($T a, $T b)
{
    return any_nan_$T(a) || less_equal_$T(a, b) ? a : b;
}
";
    "fmax" "\
// The larger; the other where one has a NaN.
FUNCTION $T fmax_$T($T a, $T b)
{
    return any_nan_$T(b) || less_equal_$T(b, a) ? a : b;
}
";
    "fmin" "\
// The smaller; the other where one has a NaN.
FUNCTION $T fmin_$T($T a, $T b)
{
    return any_nan_$T(b) || less_equal_$T(a, b) ? a : b;
}
";
}
