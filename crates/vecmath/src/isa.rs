//! Instances of every function for every instruction set.
//!
//! In: the algorithms and the lane types. Out: function pointers and addresses. With `groups`, this is
//! the only file that enables target features and that loops over memory.

use crate::flags;
use crate::func::unary;
use crate::set::{GROUP, Set, Slice1, Slice2};
use crate::vector::{Binary, Cold, F32s, F64s, Unary};
use std::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
mod groups;

/// Most lanes of any register.
const MAX_LANES: usize = 16;

/// Elements of an operand that are put aside where the result goes on top of it.
const ASIDE: usize = 128;

/// Writes one loop over contiguous memory per argument count and element type. Whether some result is not
/// finite is one more multiply-add per register; only then are the block's results looked at one by one, for
/// the flags that they call for. Flags that the algorithms raise on their way are forgotten.
macro_rules! loops {
    ($each1:ident, $each2:ident, $raised1:ident, $raised2:ident, $quick:ident, $has_quick:ident, $plain:ident, $t:ident, $bound:ident, $f:ident) => {
        /// The function itself, for where the shorter algorithm will not do.
        struct $plain<O>(PhantomData<O>);
        impl<O: Unary, V: $bound> Cold<V> for $plain<O> {
            #[inline(always)]
            fn run(x: V, _: V) -> V {
                O::$f(x)
            }
        }

        /// Applies `O` to `n` elements, groups of registers `G` first; what is missing from the last register is filled
        /// with copies of an element.
        ///
        /// # Safety
        /// `src` readable and `dst` writable for `n` elements, equal or not overlapping.
        #[inline(always)]
        unsafe fn $each1<O: Unary, V: $bound, G: $bound>(src: *const $t, dst: *mut $t, n: usize) {
            let before = flags::save();
            let (zero, mut odd, mut i) = (V::of(0.0), V::of(0.0), 0);
            // SAFETY: every access is at i..i + LANES within n, or in the padded buffer.
            unsafe {
                // where the shorter algorithm does for all lanes of a group, no result calls for a flag
                while O::$has_quick && G::LANES > V::LANES && i + G::LANES <= n {
                    if let Some(y) = O::$quick(G::load(src.add(i))) {
                        y.store(dst.add(i));
                        i += G::LANES;
                        continue;
                    }
                    let end = i + G::LANES;
                    while i < end {
                        let x = V::load(src.add(i));
                        let y = x.cold::<$plain<O>>(x);
                        odd = y.fma(zero, odd);
                        y.store(dst.add(i));
                        i += V::LANES;
                    }
                }
                while i + V::LANES <= n {
                    let x = V::load(src.add(i));
                    // a closure would not be inlined, and would be code for no instruction set
                    let y = match O::$quick(x) {
                        Some(y) => y,
                        None if O::$has_quick => x.cold::<$plain<O>>(x),
                        None => O::$f(x),
                    };
                    odd = y.fma(zero, odd);
                    y.store(dst.add(i));
                    i += V::LANES;
                }
                if i < n {
                    let mut buffer = [*src.add(i); MAX_LANES];
                    std::ptr::copy_nonoverlapping(src.add(i), buffer.as_mut_ptr(), n - i);
                    let y = O::$f(V::load(buffer.as_ptr()));
                    odd = y.fma(zero, odd);
                    y.store(buffer.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(buffer.as_ptr(), dst.add(i), n - i);
                }
                // not a number once any result was not finite
                let raised = if V::any(V::not(V::eq(odd, zero))) {
                    (0..n).fold(0, |all, i| all | $raised1::<O, $t>(*src.add(i), *dst.add(i)))
                } else {
                    0
                };
                before.restore_with(raised);
            }
        }

        /// The same for two sources.
        ///
        /// # Safety
        /// Sources readable and `dst` writable for `n` elements; `dst` equal to a source
        /// or not overlapping it.
        #[inline(always)]
        unsafe fn $each2<O: Binary, V: $bound>(a: *const $t, b: *const $t, dst: *mut $t, n: usize) {
            let before = flags::save();
            let (zero, mut odd, mut i) = (V::of(0.0), V::of(0.0), 0);
            // SAFETY: every access is at i..i + LANES within n, or in the padded buffers.
            unsafe {
                while i + V::LANES <= n {
                    let z = O::$f(V::load(a.add(i)), V::load(b.add(i)));
                    odd = z.fma(zero, odd);
                    z.store(dst.add(i));
                    i += V::LANES;
                }
                if i < n {
                    let mut left = [*a.add(i); MAX_LANES];
                    let mut right = [*b.add(i); MAX_LANES];
                    std::ptr::copy_nonoverlapping(a.add(i), left.as_mut_ptr(), n - i);
                    std::ptr::copy_nonoverlapping(b.add(i), right.as_mut_ptr(), n - i);
                    let z = O::$f(V::load(left.as_ptr()), V::load(right.as_ptr()));
                    odd = z.fma(zero, odd);
                    z.store(left.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(left.as_ptr(), dst.add(i), n - i);
                }
                let raised = if V::any(V::not(V::eq(odd, zero))) {
                    (0..n).fold(0, |all, i| all | $raised2::<O, $t>(*a.add(i), *b.add(i), *dst.add(i)))
                } else {
                    0
                };
                before.restore_with(raised);
            }
        }
    };
}

/// Runs `f` on copies of chunks of `src`, for results that go on top of it.
///
/// # Safety
/// `src` is readable and `dst` writable for `n` elements; what `f` asks for holds for the chunks.
unsafe fn aside<T: Copy + Default>(src: *const T, dst: *mut T, n: usize, mut f: impl FnMut(*const T, *mut T, usize)) {
    let mut buffer = [T::default(); ASIDE];
    for start in (0..n).step_by(ASIDE) {
        let count = ASIDE.min(n - start);
        // SAFETY: the chunk lies within the caller's `n` elements.
        unsafe {
            std::ptr::copy_nonoverlapping(src.add(start), buffer.as_mut_ptr(), count);
            f(buffer.as_ptr(), dst.add(start), count);
        }
    }
}

loops!(each1_f64, each2_f64, raised1_f64, raised2_f64, quick_f64, QUICK_F64, PlainF64, f64, F64s, f64);
loops!(each1_f32, each2_f32, raised1_f32, raised2_f32, quick_f32, QUICK_F32, PlainF32, f32, F32s, f32);

/// Writes, per element type, the flags that results call for. The common case costs a comparison: all
/// results are finite.
macro_rules! reports {
    ($raised1:ident, $raised2:ident, $with1:ident, $with2:ident, $sincos:ident, $quick:ident, $has_quick:ident, $reported1:ident, $reported2:ident, $t:ident, $bound:ident, $f:ident, $all:ident) => {
        /// The function once more, with its flags: hardly any register needs them.
        struct $reported1<O>(PhantomData<O>);
        impl<O: Unary, V: $bound> Cold<V> for $reported1<O> {
            #[inline(always)]
            fn run(x: V, _: V) -> V {
                let y = O::$f(x);
                let raised = $raised1::<O, V>(x, y);
                if raised != 0 {
                    flags::raise(raised);
                }
                y
            }
        }

        /// The same of two arguments.
        struct $reported2<O>(PhantomData<O>);
        impl<O: Binary, V: $bound> Cold<V> for $reported2<O> {
            #[inline(always)]
            fn run(x: V, y: V) -> V {
                let z = O::$f(x, y);
                let raised = $raised2::<O, V>(x, y, z);
                if raised != 0 {
                    flags::raise(raised);
                }
                z
            }
        }

        #[inline(always)]
        fn $raised1<O: Unary, V: $bound>(x: V, y: V) -> u8 {
            let inf = V::of($t::INFINITY);
            let odd = V::not_lt(y.abs(), inf);
            if !V::any(odd) {
                return 0;
            }
            let number = V::eq(y, y);
            let invalid = V::both(V::eq(x, x), V::not(number));
            let endless = V::both(V::both(odd, number), V::lt(x.abs(), inf));
            let pole = if O::POLE { flags::DIVIDE } else { flags::OVER };
            (if V::any(invalid) { flags::INVALID } else { 0 }) | (if V::any(endless) { pole } else { 0 })
        }

        #[inline(always)]
        fn $raised2<O: Binary, V: $bound>(x: V, y: V, z: V) -> u8 {
            let inf = V::of($t::INFINITY);
            let odd = V::not_lt(z.abs(), inf);
            if !V::any(odd) {
                return 0;
            }
            let number = V::eq(z, z);
            let ordered = V::both(V::eq(x, x), V::eq(y, y));
            let invalid = if O::COMPARES { V::not(number) } else { V::both(ordered, V::not(number)) };
            let finite = V::both(V::lt(x.abs(), inf), V::lt(y.abs(), inf));
            let endless = V::both(V::both(odd, number), finite);
            let zero = V::eq(x, V::of(0.0));
            let pole = O::POLE && V::any(V::both(endless, zero));
            let over = if O::POLE { V::both(endless, V::not(zero)) } else { endless };
            (if V::any(invalid) { flags::INVALID } else { 0 })
                | (if pole { flags::DIVIDE } else { 0 })
                | (if V::any(over) { flags::OVER } else { 0 })
        }

        /// The function, with the flags that its results call for.
        #[inline(always)]
        fn $with1<O: Unary, V: $bound>(x: V) -> V {
            if let Some(y) = O::$quick(x) {
                return y;
            }
            if O::$has_quick {
                return x.cold::<$reported1<O>>(x);
            }
            let y = O::$f(x);
            if V::any(V::not_lt(y.abs(), V::of($t::INFINITY))) { x.cold::<$reported1<O>>(x) } else { y }
        }

        /// Sine and cosine, which raise the same flags.
        #[inline(always)]
        fn $sincos<V: $bound>(x: V) -> (V, V) {
            let (s, c) = crate::math::$all::sincos(x);
            let raised = $raised1::<unary::Sin, V>(x, s);
            if raised != 0 {
                flags::raise(raised);
            }
            (s, c)
        }

        /// The same of two arguments.
        #[inline(always)]
        fn $with2<O: Binary, V: $bound>(x: V, y: V) -> V {
            let z = O::$f(x, y);
            if V::any(V::not_lt(z.abs(), V::of($t::INFINITY))) { x.cold::<$reported2<O>>(y) } else { z }
        }
    };
}

reports!(
    raised1_f64,
    raised2_f64,
    with1_f64,
    with2_f64,
    sincos_f64,
    quick_f64,
    QUICK_F64,
    Reported1F64,
    Reported2F64,
    f64,
    F64s,
    f64,
    f64s
);
reports!(
    raised1_f32,
    raised2_f32,
    with1_f32,
    with2_f32,
    sincos_f32,
    quick_f32,
    QUICK_F32,
    Reported1F32,
    Reported2F32,
    f32,
    F32s,
    f32,
    f32s
);

/// A C-ABI vector register.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
trait Register: Copy {
    fn map1<O: Unary>(self) -> Self;
    fn map2<O: Binary>(self, y: Self) -> Self;
    fn sincos(self) -> [Self; 2];
}

/// Registers that are the lanes of a [`Vector`].
#[cfg(target_arch = "x86_64")]
macro_rules! whole_register {
    ($reg:ty, $v:path, $with1:ident, $with2:ident, $sincos:ident) => {
        impl Register for $reg {
            #[inline(always)]
            fn map1<O: Unary>(self) -> Self {
                $with1::<O, _>($v(self)).0
            }
            #[inline(always)]
            fn map2<O: Binary>(self, y: Self) -> Self {
                $with2::<O, _>($v(self), $v(y)).0
            }
            #[inline(always)]
            fn sincos(self) -> [Self; 2] {
                let (s, c) = $sincos($v(self));
                [s.0, c.0]
            }
        }
    };
}

/// 128-bit registers, computed lane by lane.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! lane_register {
    ($reg:ty, $t:ident, $lanes:literal, $with1:ident, $with2:ident, $sincos:ident) => {
        impl Register for $reg {
            #[inline(always)]
            fn map1<O: Unary>(self) -> Self {
                // SAFETY: a register and an array of its lanes have the same bytes.
                let x = unsafe { std::mem::transmute::<$reg, [$t; $lanes]>(self) };
                let r = x.map(|x| $with1::<O, $t>(x));
                // SAFETY: as above.
                unsafe { std::mem::transmute::<[$t; $lanes], $reg>(r) }
            }
            #[inline(always)]
            fn map2<O: Binary>(self, y: Self) -> Self {
                // SAFETY: a register and an array of its lanes have the same bytes.
                let x = unsafe { std::mem::transmute::<$reg, [$t; $lanes]>(self) };
                // SAFETY: as above.
                let y = unsafe { std::mem::transmute::<$reg, [$t; $lanes]>(y) };
                let r = std::array::from_fn(|i| $with2::<O, $t>(x[i], y[i]));
                // SAFETY: as above.
                unsafe { std::mem::transmute::<[$t; $lanes], $reg>(r) }
            }
            #[inline(always)]
            fn sincos(self) -> [Self; 2] {
                // SAFETY: a register and an array of its lanes have the same bytes.
                let both = unsafe { std::mem::transmute::<$reg, [$t; $lanes]>(self) }.map($sincos::<$t>);
                // SAFETY: as above.
                [both.map(|b| b.0), both.map(|b| b.1)].map(|r| unsafe { std::mem::transmute::<[$t; $lanes], $reg>(r) })
            }
        }
    };
}

/// The instances of one instruction set under one list of target features.
macro_rules! instances {
    ($set:ident, $module:ident, [$(#[$feature:meta])?], $d:ty, $s:ty, $gd:ty, $gs:ty, $lanes:expr, [$($reg:ty),*],
     [$($group1:ident, $group2:ident),*]) => {
        /// Marker of an instruction set.
        pub(crate) struct $set;

        /// The instances: each has the contract of [`Slice1`](crate::func::Slice1) or of
        /// [`Slice2`](crate::func::Slice2) where it takes addresses, and runs on machines that have the features.
        mod $module {
            use super::*;

            $(#[$feature])?
            // SAFETY: the contract is the module's.
            pub(super) unsafe fn unary_f64<O: Unary>(src: *const f64, dst: *mut f64, n: usize) {
                if std::ptr::eq(src, dst) {
                    // SAFETY: the same promise, chunk by chunk.
                    return unsafe { aside(src, dst, n, |x, y, n| unary_f64::<O>(x, y, n)) };
                }
                // SAFETY: the caller's promise.
                unsafe { each1_f64::<O, $d, $gd>(src, dst, n) }
            }
            $(#[$feature])?
            // SAFETY: the contract is the module's.
            pub(super) unsafe fn unary_f32<O: Unary>(src: *const f32, dst: *mut f32, n: usize) {
                if std::ptr::eq(src, dst) {
                    // SAFETY: the same promise, chunk by chunk.
                    return unsafe { aside(src, dst, n, |x, y, n| unary_f32::<O>(x, y, n)) };
                }
                // SAFETY: the caller's promise.
                unsafe { each1_f32::<O, $s, $gs>(src, dst, n) }
            }
            $(#[$feature])?
            // SAFETY: the contract is the module's.
            pub(super) unsafe fn binary_f64<O: Binary>(a: *const f64, b: *const f64, dst: *mut f64, n: usize) {
                if std::ptr::eq(a, dst) || std::ptr::eq(b, dst) {
                    let mut at = 0;
                    // SAFETY: the same promise, chunk by chunk; one source at a time is put aside.
                    return unsafe {
                        if std::ptr::eq(a, dst) {
                            aside(a, dst, n, |a, y, n| {
                                let b = if std::ptr::eq(b, dst.cast_const()) { a } else { b.add(at) };
                                at += n;
                                binary_f64::<O>(a, b, y, n);
                            })
                        } else {
                            aside(b, dst, n, |b, y, n| {
                                at += n;
                                binary_f64::<O>(a.add(at - n), b, y, n);
                            })
                        }
                    };
                }
                // SAFETY: the caller's promise.
                unsafe { each2_f64::<O, $d>(a, b, dst, n) }
            }
            $(#[$feature])?
            // SAFETY: the contract is the module's.
            pub(super) unsafe fn binary_f32<O: Binary>(a: *const f32, b: *const f32, dst: *mut f32, n: usize) {
                if std::ptr::eq(a, dst) || std::ptr::eq(b, dst) {
                    let mut at = 0;
                    // SAFETY: the same promise, chunk by chunk; one source at a time is put aside.
                    return unsafe {
                        if std::ptr::eq(a, dst) {
                            aside(a, dst, n, |a, y, n| {
                                let b = if std::ptr::eq(b, dst.cast_const()) { a } else { b.add(at) };
                                at += n;
                                binary_f32::<O>(a, b, y, n);
                            })
                        } else {
                            aside(b, dst, n, |b, y, n| {
                                at += n;
                                binary_f32::<O>(a.add(at - n), b, y, n);
                            })
                        }
                    };
                }
                // SAFETY: the caller's promise.
                unsafe { each2_f32::<O, $s>(a, b, dst, n) }
            }
            $(#[$feature])?
            pub(super) unsafe extern "C" fn scalar1_f64<O: Unary>(x: f64) -> f64 {
                with1_f64::<O, f64>(x)
            }
            $(#[$feature])?
            pub(super) unsafe extern "C" fn scalar1_f32<O: Unary>(x: f32) -> f32 {
                with1_f32::<O, f32>(x)
            }
            $(#[$feature])?
            pub(super) unsafe extern "C" fn scalar2_f64<O: Binary>(x: f64, y: f64) -> f64 {
                with2_f64::<O, f64>(x, y)
            }
            $(#[$feature])?
            pub(super) unsafe extern "C" fn scalar2_f32<O: Binary>(x: f32, y: f32) -> f32 {
                with2_f32::<O, f32>(x, y)
            }
            $(#[$feature])?
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            pub(super) unsafe extern "C" fn reg1<O: Unary, R: Register>(x: R) -> R {
                x.map1::<O>()
            }
            $(#[$feature])?
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            pub(super) unsafe extern "C" fn reg2<O: Binary, R: Register>(x: R, y: R) -> R {
                x.map2::<O>(y)
            }
            $(#[$feature])?
            pub(super) unsafe extern "C" fn scalar_sincos_f64(x: f64, out: *mut [f64; 2]) {
                let (s, c) = sincos_f64(x);
                // SAFETY: the caller's promise: room for both.
                unsafe { out.write([s, c]) };
            }
            $(#[$feature])?
            pub(super) unsafe extern "C" fn scalar_sincos_f32(x: f32, out: *mut [f32; 2]) {
                let (s, c) = sincos_f32(x);
                // SAFETY: the caller's promise: room for both.
                unsafe { out.write([s, c]) };
            }
            $(#[$feature])?
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            pub(super) unsafe extern "C" fn reg_sincos<R: Register>(x: R, out: *mut [R; 2]) {
                // SAFETY: the caller's promise: aligned room for both.
                unsafe { out.write(x.sincos()) };
            }
        }

        impl Set for $set {
            const LANES: [usize; 2] = $lanes;
            fn unary_f64<O: Unary>() -> Slice1<f64> {
                $module::unary_f64::<O>
            }
            fn unary_f32<O: Unary>() -> Slice1<f32> {
                $module::unary_f32::<O>
            }
            fn binary_f64<O: Binary>() -> Slice2<f64> {
                $module::binary_f64::<O>
            }
            fn binary_f32<O: Binary>() -> Slice2<f32> {
                $module::binary_f32::<O>
            }
            fn registers1<O: Unary>() -> Vec<usize> {
                vec![$($module::reg1::<O, $reg> as *const () as usize),*]
            }
            fn registers2<O: Binary>() -> Vec<usize> {
                vec![$($module::reg2::<O, $reg> as *const () as usize),*]
            }
            fn groups1<O: Unary>() -> [Option<usize>; 2] {
                let groups: &[usize] = &[$($group1::<O> as *const () as usize),*];
                let quick = [O::QUICK_F64, O::QUICK_F32];
                [0, 1].map(|at| groups.get(at).copied().filter(|_| quick[at]))
            }
            fn groups2<O: Binary>() -> [Option<usize>; 2] {
                let groups: &[usize] = &[$($group2::<O> as *const () as usize),*];
                [0, 1].map(|at| groups.get(at).copied())
            }
            fn scalars1<O: Unary>() -> [usize; 2] {
                [$module::scalar1_f64::<O> as *const () as usize, $module::scalar1_f32::<O> as *const () as usize]
            }
            fn scalars2<O: Binary>() -> [usize; 2] {
                [$module::scalar2_f64::<O> as *const () as usize, $module::scalar2_f32::<O> as *const () as usize]
            }
            fn sincos() -> Vec<usize> {
                vec![
                    $module::scalar_sincos_f64 as *const () as usize,
                    $module::scalar_sincos_f32 as *const () as usize,
                    $($module::reg_sincos::<$reg> as *const () as usize),*
                ]
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::lanes::avx2::{D4, S8};
    use crate::lanes::avx512::{D8, S16};
    use crate::lanes::pair::Pair;
    use groups::{group1_f32, group1_f64, group2_f32, group2_f64};
    use std::arch::x86_64::{__m128, __m128d, __m256, __m256d, __m512, __m512d};

    whole_register!(__m512d, D8, with1_f64, with2_f64, sincos_f64);
    whole_register!(__m512, S16, with1_f32, with2_f32, sincos_f32);
    whole_register!(__m256d, D4, with1_f64, with2_f64, sincos_f64);
    whole_register!(__m256, S8, with1_f32, with2_f32, sincos_f32);
    lane_register!(__m128d, f64, 2, with1_f64, with2_f64, sincos_f64);
    lane_register!(__m128, f32, 4, with1_f32, with2_f32, sincos_f32);

    instances!(Avx512, avx512, [#[target_feature(enable = "avx512f,avx2,fma")]], D8, S16, Pair<Pair<D8>>, Pair<Pair<S16>>,
        [8, 16], [__m512d, __m512], [group1_f64, group2_f64, group1_f32, group2_f32]);
    instances!(Avx2, avx2, [#[target_feature(enable = "avx2,fma")]], D4, S8, D4, S8, [4, 8], [__m256d, __m256], []);
    instances!(Portable, portable, [], f64, f32, f64, f32, [2, 4], [__m128d, __m128], []);
}
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512, Portable};

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::*;
    use std::arch::aarch64::{float32x4_t, float64x2_t};

    lane_register!(float64x2_t, f64, 2, with1_f64, with2_f64, sincos_f64);
    lane_register!(float32x4_t, f32, 4, with1_f32, with2_f32, sincos_f32);

    instances!(Portable, portable, [], f64, f32, f64, f32, [2, 4], [float64x2_t, float32x4_t], []);
}
#[cfg(target_arch = "aarch64")]
pub(crate) use arm::Portable;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    use super::*;

    instances!(Portable, portable, [], f64, f32, f64, f32, [1, 1], [], []);
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use other::Portable;
