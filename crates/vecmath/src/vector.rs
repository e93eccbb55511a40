//! The SIMD trait that every algorithm of this crate is written against.
//!
//! In: nothing. Out: [`Vector`], what a function's algorithms over it are ([`Unary`], [`Binary`]), and the few helpers
//! built on it (polynomials, error-free sums and products). Each instruction set implements the trait once;
//! every method must give the same bits on all of them, lane by lane, save for the
//! sign and payload of a NaN. No algorithm and no intrinsic may live here.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A table of sixteen entries. Loading it into registers takes twice as long where it crosses a cache line.
#[repr(align(64))]
pub(crate) struct Table<T>(pub(crate) [T; 16]);

/// A function of one lane that is needed for few arguments only.
pub(crate) trait Rare<T> {
    /// Its name.
    const NAME: &'static str;
    /// Its value.
    fn of(x: T) -> T;
}

/// Code that is needed for few arguments only. It is not inlined, so that the common code keeps its values in
/// registers.
pub(crate) trait Cold<V> {
    /// What it makes of two registers, mostly arguments and the results so far.
    fn run(x: V, y: V) -> V;
}

/// A register of floating-point lanes.
///
/// Values exist only inside functions that run with the instruction set enabled.
pub(crate) trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Type of one lane.
    type Elem: Copy;
    /// Unsigned integer as wide as one lane.
    type Bits: Copy;
    /// One truth value per lane.
    type Mask: Copy;
    /// The lanes seen as integers.
    type Int: Copy;
    /// Number of lanes.
    const LANES: usize;

    /// Reads `LANES` elements from `p`, which needs no alignment.
    ///
    /// # Safety
    /// `p` must be readable for `LANES` elements.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// Writes `LANES` elements to `p`, which needs no alignment.
    ///
    /// # Safety
    /// `p` must be writable for `LANES` elements.
    unsafe fn store(self, p: *mut Self::Elem);
    /// `x` in every lane.
    fn of(x: Self::Elem) -> Self;
    /// The same of a number that the type holds, for what is written for both types.
    fn number(x: f64) -> Self;
    /// The first lane.
    fn first(self) -> Self::Elem;

    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Nearest integer, ties to even.
    fn round(self) -> Self;
    /// `self < b ? self : b`; `b` if either is NaN.
    fn min(self, b: Self) -> Self;
    /// `self > b ? self : b`; `b` if either is NaN.
    fn max(self, b: Self) -> Self;
    /// `self * 2^k` for whole `k`, for |self| of 2^-60 to 2^60 or zero and |k| < 2000;
    /// one rounding, also where the result is subnormal.
    fn ldexp(self, k: Self) -> Self;
    /// `self * 2^k` for whole `k`, where 2^k is a normal number.
    fn scale(self, k: Self) -> Self;

    /// The exponent of a positive normal number, as a number: that of 2^k m with 1 <= m < 2 is k.
    fn exponent(self) -> Self;

    /// Ordered, quiet `<`.
    fn lt(self, b: Self) -> Self::Mask;
    /// The lanes where `<` does not hold, NaN among them; quiet.
    fn not_lt(self, b: Self) -> Self::Mask;
    /// Ordered, quiet `<=`.
    fn le(self, b: Self) -> Self::Mask;
    /// Ordered, quiet `==`.
    fn eq(self, b: Self) -> Self::Mask;
    /// `m ? a : b`.
    fn select(m: Self::Mask, a: Self, b: Self) -> Self;
    /// Both masks.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either mask.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The other lanes.
    fn not(a: Self::Mask) -> Self::Mask;
    /// Whether any lane is set.
    fn any(a: Self::Mask) -> bool;

    /// Bit pattern of each lane.
    fn bits(self) -> Self::Int;
    /// Lanes from bit patterns.
    fn from_bits(i: Self::Int) -> Self;
    /// `x` in every integer lane.
    fn int(x: Self::Bits) -> Self::Int;
    /// Wrapping sum.
    fn iadd(a: Self::Int, b: Self::Int) -> Self::Int;
    /// Wrapping difference.
    fn isub(a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bitwise and.
    fn iand(a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bitwise or.
    fn ior(a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bitwise exclusive or.
    fn ixor(a: Self::Int, b: Self::Int) -> Self::Int;
    /// Shift left.
    fn shl<const K: u32>(a: Self::Int) -> Self::Int;
    /// Logical shift right.
    fn shr<const K: u32>(a: Self::Int) -> Self::Int;
    /// The lanes whose lowest bit is set.
    fn is_odd(a: Self::Int) -> Self::Mask;
    /// The lanes whose bits, as an unsigned number, are less than `limit`.
    fn is_below(a: Self::Int, limit: Self::Bits) -> Self::Mask;
    /// The entries of `table` that the lowest four bits of each lane number.
    fn lookup(table: &'static Table<Self::Elem>, index: Self::Int) -> Self;
    /// Lanes of `m`: `R` of `x`; the others: `self`. For rare lanes only.
    fn patch<R: Rare<Self::Elem>>(self, m: Self::Mask, x: Self) -> Self;

    /// `C` of `self` and `y`, out of line.
    fn cold<C: Cold<Self>>(self, y: Self) -> Self;

    /// The bit pattern of the sign bit alone.
    fn sign_bit() -> Self::Int;
    /// All bits but the sign.
    fn abs_bits() -> Self::Int;

    /// Absolute value.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::from_bits(Self::iand(self.bits(), Self::abs_bits()))
    }
    /// The sign bit of each lane, other bits clear.
    #[inline(always)]
    fn sign(self) -> Self::Int {
        Self::iand(self.bits(), Self::sign_bit())
    }
    /// Flips the bits of `mask` (used to flip signs).
    #[inline(always)]
    fn flip(self, mask: Self::Int) -> Self {
        Self::from_bits(Self::ixor(self.bits(), mask))
    }
    /// `self` with its sign replaced by that of `s`.
    #[inline(always)]
    fn copysign(self, s: Self) -> Self {
        Self::from_bits(Self::ior(self.abs().bits(), s.sign()))
    }
}

/// A vector of f64 lanes.
pub(crate) trait F64s: Vector<Elem = f64, Bits = u64> {}
impl<V: Vector<Elem = f64, Bits = u64>> F64s for V {}

/// A vector of f32 lanes, and the way to compute through f64 lanes.
pub(crate) trait F32s: Vector<Elem = f32, Bits = u32> {
    /// f64 vector used for the detour.
    type Wide: F64s;
    /// `O`'s f64 algorithm on each lane, rounded to f32.
    fn via64<O: Unary>(self) -> Self;
    /// `O`'s f64 algorithm on each pair of lanes, rounded to f32.
    fn via64x2<O: Binary>(self, b: Self) -> Self;
}

/// The algorithms of a function of one argument.
pub(crate) trait Unary {
    /// NumPy's name.
    const NAME: &'static str;
    /// Are infinite results of finite arguments poles (divide by zero) rather than overflow?
    const POLE: bool = false;
    fn f64<V: F64s>(x: V) -> V;
    fn f32<V: F32s>(x: V) -> V;
    /// The same bits by a shorter algorithm, where all lanes are far from the ends of the domain and all results
    /// finite.
    #[inline(always)]
    fn quick_f64<V: F64s>(_: V) -> Option<V> {
        None
    }
    /// Whether this algorithm exists, for f64 and for f32.
    const QUICK_F64: bool = false;
    const QUICK_F32: bool = false;
    /// The same for f32.
    #[inline(always)]
    fn quick_f32<V: F32s>(_: V) -> Option<V> {
        None
    }
}

/// The algorithms of a function of two arguments.
pub(crate) trait Binary {
    /// NumPy's name.
    const NAME: &'static str;
    /// Are infinite results of a first argument of zero poles (divide by zero) rather than overflow?
    const POLE: bool = false;
    /// Are arguments compared, so that NaN is invalid?
    const COMPARES: bool = false;
    fn f64<V: F64s>(x: V, y: V) -> V;
    fn f32<V: F32s>(x: V, y: V) -> V;
}

/// `c[0] + c[1] x + ...`, even and odd terms apart (shorter chain than Horner's).
#[inline(always)]
pub(crate) fn poly<V: Vector, const N: usize>(x: V, c: [V::Elem; N]) -> V {
    let x2 = x * x;
    let mut high = V::of(c[N - 1]);
    let mut low = V::of(c[N - 2]);
    let mut i = N - 2;
    while i >= 2 {
        high = high.fma(x2, V::of(c[i - 1]));
        low = low.fma(x2, V::of(c[i - 2]));
        i -= 2;
    }
    if i == 0 {
        return high.fma(x, low);
    }
    // one coefficient is left: `high` holds the even terms above it
    let even = high.fma(x2, V::of(c[0]));
    low.fma(x, even)
}

/// `c[0] + c[1] x + ...` by Horner's rule: a longer chain than that of [`poly`], but only the last steps' rounding
/// errors count where terms cancel.
#[inline(always)]
pub(crate) fn horner<V: Vector, const N: usize>(x: V, c: [V::Elem; N]) -> V {
    let mut sum = V::of(c[N - 1]);
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.fma(x, V::of(c[i]));
    }
    sum
}

/// `c[0] + c[1] x + ...` for an even number of coefficients, as a polynomial in x^2 whose coefficients are `c[i] + c[i
/// + 1] x`: for four coefficients the shortest chain that there is.
#[inline(always)]
pub(crate) fn pairs<V: Vector, const N: usize>(x: V, c: [V::Elem; N]) -> V {
    let x2 = x * x;
    let mut i = N - 2;
    let mut sum = V::of(c[i + 1]).fma(x, V::of(c[i]));
    while i > 0 {
        i -= 2;
        sum = sum.fma(x2, V::of(c[i + 1]).fma(x, V::of(c[i])));
    }
    sum
}

/// `a + b` as a rounded sum and its exact error.
#[inline(always)]
pub(crate) fn two_sum<V: Vector>(a: V, b: V) -> (V, V) {
    let s = a + b;
    let bb = s - a;
    (s, (a - (s - bb)) + (b - bb))
}

/// As [`two_sum`], for |a| >= |b| or a = 0.
#[inline(always)]
pub(crate) fn fast_two_sum<V: Vector>(a: V, b: V) -> (V, V) {
    let s = a + b;
    (s, (a - s) + b)
}

/// `a * b` as a rounded product and its exact error.
#[inline(always)]
pub(crate) fn two_prod<V: Vector>(a: V, b: V) -> (V, V) {
    let p = a * b;
    (p, a.fma(b, -p))
}
