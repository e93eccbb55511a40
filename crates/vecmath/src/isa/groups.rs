//! Functions of groups of AVX-512's registers.
//!
//! In: the algorithms. Out: C functions that compute the four registers of each argument side by side (`lanes::pair`).
//! A group with lanes that need rare code is computed register by register, flags included.

use super::{GROUP, Register};
use crate::lanes::avx512::{D8, S16};
use crate::lanes::pair::Pair;
use crate::vector::{Binary, Unary, Vector};
use std::arch::x86_64::{__m512, __m512d};

/// Writes the functions of groups of AVX-512's registers, one for one argument and one for two.
macro_rules! groups {
    ($group1:ident, $group2:ident, $reg:ty, $v:ident, $t:ident, $quick:ident, $f:ident) => {
        #[target_feature(enable = "avx512f,avx2,fma")]
        #[allow(improper_ctypes_definitions)] // C has these registers, too
        pub(super) unsafe extern "C" fn $group1<O: Unary>(a: $reg, b: $reg, c: $reg, d: $reg, out: *mut [$reg; GROUP]) {
            let x = Pair(Pair($v(a), $v(b)), Pair($v(c), $v(d)));
            let y = match O::$quick(x) {
                Some(y) => [y.0.0.0, y.0.1.0, y.1.0.0, y.1.1.0],
                None => [a.map1::<O>(), b.map1::<O>(), c.map1::<O>(), d.map1::<O>()],
            };
            // SAFETY: the caller's promise: aligned room for all of them.
            unsafe { out.write(y) };
        }

        #[target_feature(enable = "avx512f,avx2,fma")]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)] // they are the registers of two operands
        pub(super) unsafe extern "C" fn $group2<O: Binary>(
            a: $reg,
            b: $reg,
            c: $reg,
            d: $reg,
            e: $reg,
            f: $reg,
            g: $reg,
            h: $reg,
            out: *mut [$reg; GROUP],
        ) {
            let x = Pair(Pair($v(a), $v(b)), Pair($v(c), $v(d)));
            let y = Pair(Pair($v(e), $v(f)), Pair($v(g), $v(h)));
            let z = O::$f(x, y);
            let z = if <Pair<Pair<$v>>>::any(z.abs().not_lt(Vector::of($t::INFINITY))) {
                [a.map2::<O>(e), b.map2::<O>(f), c.map2::<O>(g), d.map2::<O>(h)]
            } else {
                [z.0.0.0, z.0.1.0, z.1.0.0, z.1.1.0]
            };
            // SAFETY: the caller's promise: aligned room for all of them.
            unsafe { out.write(z) };
        }
    };
}
groups!(group1_f64, group2_f64, __m512d, D8, f64, quick_f64, f64);
groups!(group1_f32, group2_f32, __m512, S16, f32, quick_f32, f32);
