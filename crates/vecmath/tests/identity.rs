//! The same bits from every instruction set, from every place in an array, from the
//! register symbols and from the scalar symbols. (A NaN's sign and payload are free.)

mod common;

use common::{Real, Rng, arguments1, arguments2};
use numelt_vecmath::{Func1, Func2, Isa, symbols};

/// Equal bits, or both NaN.
fn same<T: Real>(a: &[T], b: &[T]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.bits() == b.bits() || (a.wide().is_nan() && b.wide().is_nan()))
}

/// Where two results first differ, for messages.
fn first_difference<T: Real>(a: &[T], b: &[T]) -> Option<usize> {
    (0..a.len()).find(|&i| !same(&a[i..=i], &b[i..=i]))
}

fn supported() -> Vec<Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_supported()).collect()
}

/// Arguments of all kinds: in the domain, random bit patterns, special values.
fn mixed1<T: Real>(f: Func1, n: usize) -> Vec<T> {
    let mut rng = Rng(f as u64 + 7);
    let mut x = arguments1::<T>(f, n, &mut rng);
    x.extend((0..n).map(|_| T::from_random(rng.bits())));
    x.extend(common::specials::<T>());
    x
}

fn mixed2<T: Real>(f: Func2, n: usize) -> (Vec<T>, Vec<T>) {
    let mut rng = Rng(f as u64 + 7);
    let (mut a, mut b) = arguments2::<T>(f, n, &mut rng);
    for _ in 0..n {
        a.push(T::from_random(rng.bits()));
        b.push(T::from_random(rng.bits()));
    }
    for x in common::specials::<T>() {
        for y in common::specials::<T>() {
            a.push(x);
            b.push(y);
        }
    }
    (a, b)
}

fn isas_agree<T: Real>() {
    for &f in Func1::ALL {
        let x = mixed1::<T>(f, 4000);
        let mut want = x.clone();
        T::unary(f, Isa::Portable, &x, &mut want);
        for isa in supported() {
            let mut got = x.clone();
            T::unary(f, isa, &x, &mut got);
            if let Some(i) = first_difference(&got, &want) {
                panic!("{} {isa:?} at {:?}: {:?} not {:?}", f.name(), x[i], got[i], want[i]);
            }
        }
    }
    for &f in Func2::ALL {
        let (a, b) = mixed2::<T>(f, 4000);
        let mut want = a.clone();
        T::binary(f, Isa::Portable, &a, &b, &mut want);
        for isa in supported() {
            let mut got = a.clone();
            T::binary(f, isa, &a, &b, &mut got);
            if let Some(i) = first_difference(&got, &want) {
                panic!("{} {isa:?} at {:?} {:?}: {:?} not {:?}", f.name(), a[i], b[i], got[i], want[i]);
            }
        }
    }
}

#[test]
fn instruction_sets_agree_f64() {
    isas_agree::<f64>();
}

#[test]
fn instruction_sets_agree_f32() {
    isas_agree::<f32>();
}

/// Any length and offset gives the elements of the whole, and writes nothing else.
fn places_agree<T: Real>() {
    let guard = T::narrow(-7.5);
    for isa in supported() {
        for &f in Func1::ALL {
            let x = mixed1::<T>(f, 40);
            let mut whole = x.clone();
            T::unary(f, isa, &x, &mut whole);
            for start in 0..3 {
                for n in 0..40 {
                    let mut part = vec![guard; n + 1];
                    T::unary(f, isa, &x[start..start + n], &mut part[..n]);
                    assert!(same(&part[..n], &whole[start..start + n]), "{} {isa:?} {start} {n}", f.name());
                    assert!(part[n] == guard, "{} wrote past the end", f.name());
                }
            }
        }
        for &f in Func2::ALL {
            let (a, b) = mixed2::<T>(f, 40);
            let mut whole = a.clone();
            T::binary(f, isa, &a, &b, &mut whole);
            for n in 0..40 {
                let mut part = vec![guard; n + 1];
                T::binary(f, isa, &a[1..=n], &b[1..=n], &mut part[..n]);
                assert!(same(&part[..n], &whole[1..=n]), "{} {isa:?} {n}", f.name());
                assert!(part[n] == guard, "{} wrote past the end", f.name());
            }
        }
    }
}

#[test]
fn places_agree_f64() {
    places_agree::<f64>();
}

#[test]
fn places_agree_f32() {
    places_agree::<f32>();
}

#[test]
fn in_place_is_the_same() {
    for isa in supported() {
        for &f in Func1::ALL {
            let x = mixed1::<f64>(f, 50);
            let mut want = x.clone();
            f64::unary(f, isa, &x, &mut want);
            let mut y = x.clone();
            // SAFETY: source and destination are the same slice, as the kernel allows.
            unsafe { numelt_vecmath::unary_f64(f, isa)(y.as_ptr(), y.as_mut_ptr(), y.len()) };
            assert!(same(&y, &want), "{} {isa:?}", f.name());
        }
        for &f in Func2::ALL {
            let (a, b) = mixed2::<f64>(f, 50);
            let mut want = a.clone();
            f64::binary(f, isa, &a, &b, &mut want);
            let kernel = numelt_vecmath::binary_f64(f, isa);
            let (mut left, mut right) = (a.clone(), b.clone());
            // SAFETY: the destination is one of the sources, as the kernel allows.
            unsafe {
                kernel(left.as_ptr(), b.as_ptr(), left.as_mut_ptr(), a.len());
                kernel(a.as_ptr(), right.as_ptr(), right.as_mut_ptr(), a.len());
            }
            assert!(same(&left, &want) && same(&right, &want), "{} {isa:?}", f.name());
        }
    }
}

/// Address of a symbol.
fn address(isa: Isa, name: &str) -> usize {
    let found = symbols(isa).iter().find(|s| s.name == name);
    found.unwrap_or_else(|| panic!("{isa:?} lacks {name}")).addr
}

macro_rules! scalar_symbols {
    ($test:ident, $t:ident, $suffix:literal) => {
        #[test]
        fn $test() {
            for isa in supported() {
                for &f in Func1::ALL {
                    let x = mixed1::<$t>(f, 200);
                    let mut want = x.clone();
                    <$t>::unary(f, isa, &x, &mut want);
                    let addr = address(isa, &format!("numelt_{}_{}", f.name(), $suffix));
                    // SAFETY: scalar symbols of one argument have this type.
                    let call: unsafe extern "C" fn($t) -> $t = unsafe { std::mem::transmute(addr) };
                    // SAFETY: the instruction set is supported.
                    let got: Vec<$t> = x.iter().map(|x| unsafe { call(*x) }).collect();
                    assert!(same(&got, &want), "{} {isa:?}", f.name());
                }
                for &f in Func2::ALL {
                    let (a, b) = mixed2::<$t>(f, 200);
                    let mut want = a.clone();
                    <$t>::binary(f, isa, &a, &b, &mut want);
                    let addr = address(isa, &format!("numelt_{}_{}", f.name(), $suffix));
                    // SAFETY: scalar symbols of two arguments have this type.
                    let call: unsafe extern "C" fn($t, $t) -> $t = unsafe { std::mem::transmute(addr) };
                    let pairs = a.iter().zip(&b);
                    // SAFETY: the instruction set is supported.
                    let got: Vec<$t> = pairs.map(|(a, b)| unsafe { call(*a, *b) }).collect();
                    assert!(same(&got, &want), "{} {isa:?}", f.name());
                }
            }
        }
    };
}

macro_rules! sine_and_cosine {
    ($test:ident, $t:ident, $suffix:literal) => {
        #[test]
        fn $test() {
            for isa in supported() {
                let addr = address(isa, concat!("numelt_sincos_", $suffix));
                // SAFETY: the scalar symbols of sine and cosine together have this type.
                let call: unsafe extern "C" fn($t, *mut [$t; 2]) = unsafe { std::mem::transmute(addr) };
                let x = mixed1::<$t>(Func1::Sin, 2000);
                let (mut sines, mut cosines) = (x.clone(), x.clone());
                <$t>::unary(Func1::Sin, isa, &x, &mut sines);
                <$t>::unary(Func1::Cos, isa, &x, &mut cosines);
                for (i, x) in x.iter().enumerate() {
                    let mut got = [0.0; 2];
                    // SAFETY: the instruction set is supported; there is room for both.
                    unsafe { call(*x, &mut got) };
                    assert!(same(&got, &[sines[i], cosines[i]]), "{x:?} {isa:?}: {got:?}");
                }
            }
        }
    };
}

sine_and_cosine!(sine_and_cosine_together_f64, f64, "f64");
sine_and_cosine!(sine_and_cosine_together_f32, f32, "f32");

scalar_symbols!(scalar_symbols_agree_f64, f64, "f64");
scalar_symbols!(scalar_symbols_agree_f32, f32, "f32");

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::*;
    use std::arch::x86_64::*;

    macro_rules! register_symbols {
        ($test:ident, $call:ident, $isa:ident, $t:ident, $reg:ty, $lanes:literal, $suffix:literal
         $(, #[$feature:meta])?) => {
            /// Calls a register symbol of one or two arguments on arrays of lanes.
            ///
            /// # Safety
            /// `addr` must be such a symbol, for a supported instruction set.
            $(#[$feature])?
            unsafe fn $call(addr: usize, args: &[[$t; $lanes]]) -> [$t; $lanes] {
                // SAFETY: registers and arrays of their lanes have the same bytes, and the
                // symbol takes and returns registers.
                unsafe {
                    let x: $reg = std::mem::transmute(args[0]);
                    let r = if args.len() == 1 {
                        let f: unsafe extern "C" fn($reg) -> $reg = std::mem::transmute(addr);
                        f(x)
                    } else {
                        let f: unsafe extern "C" fn($reg, $reg) -> $reg = std::mem::transmute(addr);
                        f(x, std::mem::transmute::<[$t; $lanes], $reg>(args[1]))
                    };
                    std::mem::transmute::<$reg, [$t; $lanes]>(r)
                }
            }

            #[test]
            fn $test() {
                let isa = Isa::$isa;
                if !isa.is_supported() {
                    return;
                }
                for &f in Func1::ALL {
                    let x = mixed1::<$t>(f, 200);
                    let mut want = x.clone();
                    <$t>::unary(f, isa, &x, &mut want);
                    let addr = address(isa, &format!("numelt_{}_{}", f.name(), $suffix));
                    for (x, want) in x.chunks_exact($lanes).zip(want.chunks_exact($lanes)) {
                        // SAFETY: the symbol takes one register; the set is supported.
                        let got = unsafe { $call(addr, &[x.try_into().unwrap()]) };
                        assert!(same(&got, want), "{} {x:?}: {got:?} not {want:?}", f.name());
                    }
                }
                for &f in Func2::ALL {
                    let (a, b) = mixed2::<$t>(f, 200);
                    let mut want = a.clone();
                    <$t>::binary(f, isa, &a, &b, &mut want);
                    let addr = address(isa, &format!("numelt_{}_{}", f.name(), $suffix));
                    let pairs = a.chunks_exact($lanes).zip(b.chunks_exact($lanes));
                    for ((a, b), want) in pairs.zip(want.chunks_exact($lanes)) {
                        let args = [a.try_into().unwrap(), b.try_into().unwrap()];
                        // SAFETY: the symbol takes two registers; the set is supported.
                        let got = unsafe { $call(addr, &args) };
                        assert!(same(&got, want), "{} {a:?} {b:?}", f.name());
                    }
                }
            }
        };
    }

    register_symbols!(avx512_f64, call_f64x8, Avx512, f64, __m512d, 8, "f64x8", #[target_feature(enable = "avx512f")]);
    register_symbols!(avx512_f32, call_f32x16, Avx512, f32, __m512, 16, "f32x16", #[target_feature(enable = "avx512f")]);
    register_symbols!(avx2_f64, call_f64x4, Avx2, f64, __m256d, 4, "f64x4", #[target_feature(enable = "avx2,fma")]);
    register_symbols!(avx2_f32, call_f32x8, Avx2, f32, __m256, 8, "f32x8", #[target_feature(enable = "avx2,fma")]);
    register_symbols!(portable_f64, call_f64x2, Portable, f64, __m128d, 2, "f64x2");
    register_symbols!(portable_f32, call_f32x4, Portable, f32, __m128, 4, "f32x4");
}

#[cfg(target_arch = "x86_64")]
mod groups {
    use super::*;
    use std::arch::x86_64::*;

    macro_rules! group_symbols {
        ($test:ident, $call:ident, $t:ident, $reg:ty, $lanes:literal, $suffix:literal) => {
            /// Calls a function of groups of one or two arguments on arrays of lanes.
            ///
            /// # Safety
            /// `addr` must be such a function; the processor has AVX-512.
            #[target_feature(enable = "avx512f")]
            unsafe fn $call(addr: usize, args: &[[$t; 4 * $lanes]]) -> [$t; 4 * $lanes] {
                type Group = [$reg; 4];
                // SAFETY: registers and arrays of their lanes have the same bytes, and the function takes four
                // registers per argument and room for four.
                unsafe {
                    let group = |at: usize| std::mem::transmute::<[$t; 4 * $lanes], Group>(args[at]);
                    let ([a, b, c, d], mut out) = (group(0), group(0));
                    if args.len() == 1 {
                        let one: unsafe extern "C" fn($reg, $reg, $reg, $reg, *mut Group) = std::mem::transmute(addr);
                        one(a, b, c, d, &mut out);
                    } else {
                        let two: unsafe extern "C" fn($reg, $reg, $reg, $reg, $reg, $reg, $reg, $reg, *mut Group) =
                            std::mem::transmute(addr);
                        let [e, f, g, h] = group(1);
                        two(a, b, c, d, e, f, g, h, &mut out);
                    }
                    std::mem::transmute::<Group, [$t; 4 * $lanes]>(out)
                }
            }

            /// Groups of numbers from one to two, which need no rare code, and groups of all kinds of numbers.
            #[test]
            fn $test() {
                const LANES: usize = 4 * $lanes;
                let isa = Isa::Avx512;
                if !isa.is_supported() {
                    return;
                }
                let find = |name: &str| {
                    let name = format!("numelt_{name}_{}", $suffix);
                    symbols(isa).iter().find(|s| s.name == name).map(|s| s.addr)
                };
                let plain: Vec<$t> = (0..2 * LANES).map(|i| 1.0 + (i * 37 % 101) as $t / 101.0).collect();
                let mut found = 0;
                for &f in Func1::ALL {
                    let Some(addr) = find(f.name()) else { continue };
                    let x: Vec<$t> = plain.iter().copied().chain(mixed1::<$t>(f, 8 * LANES)).collect();
                    let mut want = x.clone();
                    <$t>::unary(f, Isa::Portable, &x, &mut want);
                    for (x, want) in x.chunks_exact(LANES).zip(want.chunks_exact(LANES)) {
                        // SAFETY: the function takes one group; the set is supported.
                        let got = unsafe { $call(addr, &[x.try_into().unwrap()]) };
                        assert!(same(&got, want), "{} {x:?}: {got:?} not {want:?}", f.name());
                    }
                    found += 1;
                }
                for &f in Func2::ALL {
                    let Some(addr) = find(f.name()) else { continue };
                    let (mut a, mut b) = mixed2::<$t>(f, 8 * LANES);
                    a.extend(&plain);
                    b.extend(plain.iter().rev().map(|y| y - 1.3));
                    let mut want = a.clone();
                    <$t>::binary(f, Isa::Portable, &a, &b, &mut want);
                    let pairs = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
                    for ((a, b), want) in pairs.zip(want.chunks_exact(LANES)) {
                        let args = [a.try_into().unwrap(), b.try_into().unwrap()];
                        // SAFETY: the function takes two groups; the set is supported.
                        let got = unsafe { $call(addr, &args) };
                        assert!(same(&got, want), "{} {a:?} {b:?}", f.name());
                    }
                    found += 1;
                }
                // all functions but the square root
                assert_eq!(found, Func1::ALL.len() + Func2::ALL.len() - 1);
            }
        };
    }

    group_symbols!(groups_of_f64, call_f64x32, f64, __m512d, 8, "f64x32");
    group_symbols!(groups_of_f32, call_f32x64, f32, __m512, 16, "f32x64");
}

/// What becomes zero is not computed: it changes nothing beside it, and begins where e^x is less than half of the least
/// number.
#[test]
fn exponentials_beside_zeros() {
    let edges =
        [-746.5, -746.0, -745.9, -745.14, -745.13, -744.4, -720.0, -708.5, -708.0, -707.9, -1.0, 0.0, 709.7, 710.0];
    let hidden = [f64::NEG_INFINITY, -1e300, -1000.0, -746.1];
    for isa in supported() {
        for x in edges.into_iter().chain([f64::NAN, f64::INFINITY]) {
            let mut alone = [0.0];
            f64::unary(Func1::Exp, Isa::Portable, &[x], &mut alone);
            assert_eq!(alone[0] == 0.0, x < -745.133);
            for (h, at) in hidden.into_iter().flat_map(|h| (0..16).map(move |at| (h, at))) {
                let mut row = [h; 16];
                row[at] = x;
                let mut got = row;
                f64::unary(Func1::Exp, isa, &row, &mut got);
                assert!(same(&got[at..=at], &alone), "{isa:?} {x} beside {h}: {}", got[at]);
                assert!(got.iter().enumerate().all(|(i, &y)| i == at || y.to_bits() == 0), "{isa:?} {h}");
            }
        }
    }
}
