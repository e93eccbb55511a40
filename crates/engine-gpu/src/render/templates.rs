//! Functions on real numbers and integers, in C, as templates over element types.
//!
//! Their results are those of the reference interpreter (`numelt_ir::interp`), bit for bit but for the sign and payload
//! of a NaN. `template.rs` says what the names with a dollar sign stand for.

use super::template::Template;
use numelt_ir::DType;

const FLOATS: &[DType] = &[DType::F32, DType::F64];
const HALVES: &[DType] = &[DType::F16, DType::F32, DType::F64];
const SIGNED: &[DType] = &[DType::I8, DType::I16, DType::I32, DType::I64];
const UNSIGNED: &[DType] = &[DType::U8, DType::U16, DType::U32, DType::U64];
const INTEGERS: &[DType] =
    &[DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];

macro_rules! templates {
    ($($name:literal $types:expr, $text:literal;)*) => {
        /// All of them.
        pub const ALL: &[Template] = &[$(Template { name: $name, types: $types, text: $text },)*];
    };
}

templates! {
    // --- conversions -----------------------------------------------------------------------
    "f32_of" &[DType::F16], "\
// The same number.
FUNCTION f32 f32_of_f16(f16 a)
{
    const u32 size = (u32)(a & 0x7fff) << 13;
    const u32 exponent = size & 0x0f800000u;
    const u32 normal = size + 0x38000000u;
    // a subnormal is its mantissa above the least normal number, less that number
    const f32 above = FROM_BITS_f32(normal + 0x00800000u) - FROM_BITS_f32(0x38800000u);
    const u32 finite = exponent == 0 ? BITS_f32(above) : normal;
    const u32 bits = exponent == 0x0f800000u ? normal + 0x38000000u : finite;
    return FROM_BITS_f32(bits | (u32)(a & 0x8000) << 16);
}
";
    "f16_of" &[DType::F32], "\
// The nearest half, ties to even.
FUNCTION f16 f16_of_f32(f32 a)
{
    const u32 bits = BITS_f32(a);
    const u32 size = bits & 0x7fffffffu;
    // the addition shifts a subnormal's mantissa into place, rounded
    const u32 held = size < 0x38800000u ? size : 0x38800000u;
    const f32 moved = FROM_BITS_f32(held) + FROM_BITS_f32(0x3f000000u);
    const u32 subnormal = BITS_f32(moved) - 0x3f000000u;
    const u32 normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    const u32 payload = size >> 13 & 0x3ffu;
    const u32 large = size > 0x7f800000u ? 0x7c00u | (payload == 0 ? 1u : payload) : 0x7c00u;
    const u32 finite = size < 0x38800000u ? subnormal : normal;
    const u32 rounded = size >= 0x47800000u ? large : finite;
    return (f16)(rounded | (bits >> 16 & 0x8000u));
}
";
    "f16_of" &[DType::F64], "\
// The nearest half, ties to even, rounded once: the step through f32 rounds to odd.
FUNCTION f16 f16_of_f64(f64 a)
{
    const f32 single = (f32)a;
    const f64 back = (f64)single;
    const u32 away = fabs(back) > fabs(a) ? 1u : 0u;
    const u32 odd = (BITS_f32(single) - away) | 1u;
    return f16_of_f32(back == a || isnan(a) ? single : FROM_BITS_f32(odd));
}
";
    "i32_of" &[DType::F64], "\
// Cut off; the least integer for what does not fit.
FUNCTION i32 i32_of_f64(f64 a)
{
    return a > -2147483649.0 && a < 2147483648.0 ? (i32)a : (i32)(-2147483647 - 1);
}
";
    "i32_of" &[DType::F32], "\
// Cut off; the least integer for what does not fit.
FUNCTION i32 i32_of_f32(f32 a)
{
    return a >= -2147483648.0f && a < 2147483648.0f ? (i32)a : (i32)(-2147483647 - 1);
}
";
    "i64_of" FLOATS, "\
// Cut off; the least integer for what does not fit.
FUNCTION i64 i64_of_$T($T a)
{
    const $T limit = ($T)9223372036854775808.0f;
    return a >= -limit && a < limit ? (i64)a : (i64)(-9223372036854775807 - 1);
}
";
    "u64_of" FLOATS, "\
// Cut off; from two to the 63 on the rest with the top bit flipped.
FUNCTION u64 u64_of_$T($T a)
{
    const $T limit = ($T)9223372036854775808.0f;
    return a >= limit ? (u64)i64_of_$T(a - limit) ^ (u64)1 << 63 : (u64)i64_of_$T(a);
}
";
    // --- floating-point conditions: divide 1, overflow 2, underflow 4, invalid 8 -------------
    "met1" HALVES, "\
// Conditions that a result may tell of: an infinity of a finite number, NaN of a number, a result near zero.
FUNCTION u32 met1_$T($T r, $T a)
{
    if (isnan($(r))) return isnan($(a)) ? 0 : 8;
    if (isinf($(r))) return isfinite($(a)) ? 3 : 0;
    return fabs($(r)) < $LEAST ? 4 : 0;
}
";
    "met2" HALVES, "\
// Conditions that a result may tell of: an infinity of finite numbers, NaN of numbers, a result near zero.
FUNCTION u32 met2_$T($T r, $T a, $T b)
{
    if (isnan($(r))) return isnan($(a)) || isnan($(b)) ? 0 : 8;
    if (isinf($(r))) return isfinite($(a)) && isfinite($(b)) ? 3 : 0;
    return fabs($(r)) < $LEAST ? 4 : 0;
}
";
    "met_cast" HALVES, "\
// Conditions that rounding to a narrower type may have met.
FUNCTION u32 met_cast_$T($T r, bool finite)
{
    return isinf($(r)) && finite ? 2 : fabs($(r)) < $LEAST ? 4 : 0;
}
";
    "met_to" FLOATS, "\
// Is a number not between two limits, so that converting it to an integer is invalid?
FUNCTION u32 met_to_$T($T a, $T low, $T high)
{
    return a > low && a < high ? 0 : 8;
}
";
    "met_divide" SIGNED, "\
// Conditions of an integer division: by zero, or a quotient that does not fit.
FUNCTION u32 met_divide_$T($T a, $T b)
{
    return b == 0 ? 1 : b == -1 && a < 0 && a == ($T)(0 - ($W)a) ? 2 : 0;
}
";
    "met_divide" UNSIGNED, "\
// Conditions of an integer division.
FUNCTION u32 met_divide_$T($T a, $T b)
{
    return b == 0 ? 1 : 0;
}
";
    // --- integers --------------------------------------------------------------------------
    "floor_divide" SIGNED, "\
// The quotient rounded down; zero for a divisor of zero.
FUNCTION $T floor_divide_$T($T a, $T b)
{
    if (b == 0) return 0;
    if (b == -1) return ($T)(0 - ($W)a);
    const $T quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
";
    "floor_divide" UNSIGNED, "\
// The quotient; zero for a divisor of zero.
FUNCTION $T floor_divide_$T($T a, $T b)
{
    return b == 0 ? 0 : a / b;
}
";
    "remainder" SIGNED, "\
// What the quotient rounded down leaves; zero for a divisor of zero.
FUNCTION $T remainder_$T($T a, $T b)
{
    if (b == 0 || b == -1) return 0;
    const $T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
";
    "remainder" UNSIGNED, "\
// The rest of a division; zero for a divisor of zero.
FUNCTION $T remainder_$T($T a, $T b)
{
    return b == 0 ? 0 : a % b;
}
";
    "fmod" SIGNED, "\
// The rest of a division, with the dividend's sign; zero for a divisor of zero.
FUNCTION $T fmod_$T($T a, $T b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}
";
    "fmod" UNSIGNED, "\
// The rest of a division; zero for a divisor of zero.
FUNCTION $T fmod_$T($T a, $T b)
{
    return b == 0 ? 0 : a % b;
}
";
    "power" INTEGERS, "\
// Repeated squaring, wrapping; zero for negative exponents.
FUNCTION $T power_$T($T a, $T b)
{
    if (b < 0) return 0;
    $W result = 1, square = ($W)a;
    for ($U left = ($U)b; left != 0; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
    }
    return ($T)result;
}
";
    "absolute" SIGNED, "\
// The size, wrapping.
FUNCTION $T absolute_$T($T a)
{
    return a < 0 ? ($T)(0 - ($W)a) : a;
}
";
    "absolute" UNSIGNED, "\
// The number itself.
FUNCTION $T absolute_$T($T a)
{
    return a;
}
";
    "sign" INTEGERS, "\
// Minus one, zero or one.
FUNCTION $T sign_$T($T a)
{
    return ($T)((a > 0) - (a < 0));
}
";
    "reciprocal" INTEGERS, "\
// Zero but for one and minus one, and for zero what converting infinity gives.
FUNCTION $T reciprocal_$T($T a)
{
    return a == 0 ? ($T)$INVERSE : a == 1 || (a < 0 && a == ($T)-1) ? a : 0;
}
";
    "left_shift" INTEGERS, "\
// Zero for a count that is negative or not below the width.
FUNCTION $T left_shift_$T($T a, $T b)
{
    return ($U)b >= $BITS ? 0 : ($T)(($W)a << b);
}
";
    "right_shift" INTEGERS, "\
// Filled with the sign; for a count that is negative or not below the width nothing else is left.
FUNCTION $T right_shift_$T($T a, $T b)
{
    return ($U)b >= $BITS ? ($T)(a < 0 ? -1 : 0) : ($T)(a >> b);
}
";
    "bitwise_count" INTEGERS, "\
// Ones among the bits of the size.
FUNCTION u8 bitwise_count_$T($T a)
{
    u64 bits = ($U)absolute_$T(a);
    bits = bits - (bits >> 1 & 0x5555555555555555);
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (u8)(bits * 0x0101010101010101 >> 56);
}
";
    "gcd" INTEGERS, "\
// The greatest common divisor of the sizes.
FUNCTION $T gcd_$T($T a, $T b)
{
    $U x = ($U)absolute_$T(a), y = ($U)absolute_$T(b);
    while (y != 0) {
        const $U rest = x % y;
        x = y;
        y = rest;
    }
    return ($T)x;
}
";
    "lcm" INTEGERS, "\
// The least common multiple of the sizes, wrapping.
FUNCTION $T lcm_$T($T a, $T b)
{
    const $U x = ($U)absolute_$T(a), y = ($U)absolute_$T(b);
    const $U divisor = ($U)absolute_$T(gcd_$T(a, b));
    return divisor == 0 ? 0 : ($T)(($W)(x / divisor) * ($W)y);
}
";
    "order" &[DType::I64], "\
// The order of a signed and an unsigned number: minus one, zero or one.
FUNCTION i32 order_i64(i64 a, u64 b)
{
    return a < 0 || (u64)a < b ? -1 : (u64)a > b ? 1 : 0;
}
";
    // --- trees of reductions ---------------------------------------------------------------
    "piece" &[DType::I32, DType::I64], "\
// Where a piece of a run starts, and its size: stretches are cut into pieces, the last of which may be shorter.
FUNCTION void piece_$T($T number, $T run, $T stretch, $T piece, $T *start, $T *size)
{
    const $T each = (stretch - 1) / piece + 1;
    const $T first = number / each * stretch;
    const $T end = run - first < stretch ? run : first + stretch;
    *start = first + number % each * piece;
    *size = end - *start < piece ? end - *start : piece;
}
";
    "descend" &[DType::I32, DType::I64], "\
// The part of a piece that a node of its tree stands for, by the turns on the way there; false if a leaf lies above.
FUNCTION bool descend_$T($T path, $T depth, $T lanes, $T *start, $T *size)
{
    for ($T level = depth - 1; level >= 0; level--) {
        if (*size <= 16 * lanes) return (path & ((($T)1 << (level + 1)) - 1)) == 0;
        const $T first = *size / 2 / lanes * lanes;
        if (path >> level & 1) {
            *start += first;
            *size -= first;
        } else {
            *size = first;
        }
    }
    return true;
}
";
    // --- floats ----------------------------------------------------------------------------
    "fmod" FLOATS, "\
// The exact rest of a division, with the dividend's sign: mantissas are divided as integers, some bits at a time.
FUNCTION $T fmod_$T($T a, $T b)
{
    const $U top = ($U)1 << ($MANTISSA - 1);
    const $U sign = BITS_$T(a) & (($U)1 << ($BITS - 1));
    const $U x = BITS_$T(a) ^ sign;
    const $U y = BITS_$T(fabs(b));
    if (isnan(a) || isnan(b) || isinf(a) || y == 0) return ($T)NAN;
    if (x < y) return a;
    // mantissas and exponents; those of subnormals are as large as the least normal one's
    i32 ex = (i32)(x >> ($MANTISSA - 1)), ey = (i32)(y >> ($MANTISSA - 1));
    u64 mx = (x & (top - 1)) | (ex == 0 ? 0 : top);
    const u64 my = (y & (top - 1)) | (ey == 0 ? 0 : top);
    if (isinf(b)) return a;
    ex = ex == 0 ? 1 : ex;
    ey = ey == 0 ? 1 : ey;
    mx %= my;
    for (i32 left = ex - ey; left > 0 && mx != 0;) {
        const i32 step = left < $CHUNK ? left : $CHUNK;
        mx = (mx << step) % my;
        left -= step;
    }
    // the rest in units of the divisor's last place
    while (mx != 0 && mx < top && ey > 1) {
        mx <<= 1;
        ey -= 1;
    }
    const $U size = mx < top ? ($U)mx : (($U)mx - top) | (($U)ey << ($MANTISSA - 1));
    return FROM_BITS_$T(size | sign);
}
";
    "floor_divide" FLOATS, "\
// Python's quotient rounded down, as NumPy computes it.
FUNCTION $T floor_divide_$T($T a, $T b)
{
    if (b == 0) return QUOTIENT_$T(a, b);
    const $T rest = fmod_$T(a, b);
    $T quotient = QUOTIENT_$T(a - rest, b);
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(($T)0, QUOTIENT_$T(a, b));
    const $T below = floor(quotient);
    // the division may have rounded down past an integer
    return quotient - below > ($T)0.5f ? below + 1 : below;
}
";
    "remainder" FLOATS, "\
// Python's remainder, with the divisor's sign.
FUNCTION $T remainder_$T($T a, $T b)
{
    const $T rest = fmod_$T(a, b);
    if (b == 0) return rest;
    if (rest == 0) return copysign(($T)0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
";
    "maximum" FLOATS, "\
// The larger; NaN if one is, the second of equal ones.
FUNCTION $T maximum_$T($T a, $T b)
{
    return isnan(a) || a > b ? a : b;
}
";
    "minimum" FLOATS, "\
// The smaller; NaN if one is, the second of equal ones.
FUNCTION $T minimum_$T($T a, $T b)
{
    return isnan(a) || a < b ? a : b;
}
";
    "fmax" FLOATS, "\
// The larger; the other where one is NaN.
FUNCTION $T fmax_$T($T a, $T b)
{
    return isnan(b) || a > b ? a : b;
}
";
    "fmin" FLOATS, "\
// The smaller; the other where one is NaN.
FUNCTION $T fmin_$T($T a, $T b)
{
    return isnan(b) || a < b ? a : b;
}
";
    "sign" FLOATS, "\
// Minus one, zero, one or NaN.
FUNCTION $T sign_$T($T a)
{
    return a > 0 ? ($T)1 : a < 0 ? ($T)-1 : a == 0 ? ($T)0 : a;
}
";
    "heaviside" FLOATS, "\
// Zero below zero, one above, the second operand at zero.
FUNCTION $T heaviside_$T($T a, $T b)
{
    return isnan(a) ? a : a == 0 ? b : a < 0 ? ($T)0 : ($T)1;
}
";
    "nextafter" FLOATS, "\
// The next number from the first towards the second.
FUNCTION $T nextafter_$T($T a, $T b)
{
    const $U top = ($U)1 << ($BITS - 1);
    if (isnan(a) || isnan(b)) return ($T)NAN;
    if (a == b) return b;
    const $U bits = BITS_$T(a);
    if (a == 0) return FROM_BITS_$T((BITS_$T(b) & top) | 1);
    return FROM_BITS_$T((a < b) == ((bits & top) == 0) ? bits + 1 : bits - 1);
}
";
    "spacing" FLOATS, "\
// The distance to the next number away from zero.
FUNCTION $T spacing_$T($T a)
{
    if (isinf(a)) return ($T)NAN;
    if (a == 0) return FROM_BITS_$T(1);
    return nextafter_$T(a, copysign(($T)INFINITY, a)) - a;
}
";
    "nextafter" &[DType::F16], "\
// The next half from the first towards the second; the first of equal ones.
FUNCTION f16 nextafter_f16(f16 a, f16 b)
{
    const f32 x = f32_of_f16(a), y = f32_of_f16(b);
    if (isnan(x) || isnan(y)) return 0x7e00;
    if (x == y) return a;
    if ((a & 0x7fff) == 0) return (f16)((b & 0x8000) | 1);
    return (f16)((x < y) == ((a & 0x8000) == 0) ? a + 1 : a - 1);
}
";
    "spacing" &[DType::F16], "\
// The distance to the next larger half.
FUNCTION f16 spacing_f16(f16 a)
{
    const i32 bits = a >> 10 & 31;
    if (bits == 31) return 0x7e00;
    if (a == 0x7bff) return 0x7c00;
    // upwards from a negative power of two the numbers are twice as dense
    const i32 exponent = bits - ((a & 0x8000) != 0 && (a & 0x3ff) == 0 ? 1 : 0);
    return (f16)(exponent >= 11 ? (exponent - 10) << 10 : exponent >= 2 ? 1 << (exponent - 1) : 1);
}
";
    "power_of_two" FLOATS, "\
// Two to an exponent of a normal number.
FUNCTION $T power_of_two_$T(i64 n)
{
    return FROM_BITS_$T(($U)(n + $BIAS) << ($MANTISSA - 1));
}
";
    "ldexp" FLOATS, "\
// A number times a power of two, rounded once: steps down keep the mantissa clear of subnormals.
FUNCTION $T ldexp_$T($T a, i64 n)
{
    i64 left = n < -$TWICE ? -$TWICE : n > $TWICE ? $TWICE : n;
    for (i32 i = 0; i < 2; i++) {
        const i64 part = left > $BIAS ? $BIAS : left < $LEAST_EXPONENT ? $LEAST_EXPONENT + $MANTISSA : 0;
        a *= power_of_two_$T(part);
        left -= part;
    }
    return a * power_of_two_$T(left < $LEAST_EXPONENT ? $LEAST_EXPONENT : left > $BIAS ? $BIAS : left);
}
";
    "frexp_mantissa" FLOATS, "\
// The mantissa in [0.5, 1).
FUNCTION $T frexp_mantissa_$T($T a)
{
    const $U fraction = (($U)1 << ($MANTISSA - 1)) - 1, top = ($U)1 << ($BITS - 1);
    if (a == 0 || !isfinite(a)) return a;
    const $U bits = BITS_$T(fabs(a) < $LEAST ? a * ($T)((u64)1 << $MANTISSA) : a);
    return FROM_BITS_$T((bits & (fraction | top)) | ($U)($BIAS - 1) << ($MANTISSA - 1));
}
";
    "frexp_exponent" FLOATS, "\
// The exponent for a mantissa in [0.5, 1).
FUNCTION i32 frexp_exponent_$T($T a)
{
    if (a == 0 || !isfinite(a)) return 0;
    const bool small = fabs(a) < $LEAST;
    const $U bits = BITS_$T(fabs(small ? a * ($T)((u64)1 << $MANTISSA) : a));
    return (i32)(bits >> ($MANTISSA - 1)) - ($BIAS - 1) - (small ? $MANTISSA : 0);
}
";
    "modf_fraction" FLOATS, "\
// The part after the point, with the number's sign.
FUNCTION $T modf_fraction_$T($T a)
{
    return isnan(a) ? a : copysign(isinf(a) ? ($T)0 : a - trunc(a), a);
}
";
}
