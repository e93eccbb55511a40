//! The flags of every function on every instruction set: a NaN from numbers is invalid, an infinity from finite
//! arguments is an overflow, or at a pole a division by zero, and nothing else is raised. This is what NumPy
//! warns of.

mod common;

use common::{Real, Rng, arguments1, arguments2};
use numelt_vecmath::flags::{self, DIVIDE, INVALID, OVER};
use numelt_vecmath::{Func1, Func2, Isa, symbols};

const POLES: &[&str] = &["log", "log2", "log10", "log1p", "arctanh"];

/// What one result calls for.
fn expected(arguments: &[f64], result: f64, pole: bool) -> u8 {
    let invalid = result.is_nan() && !arguments.iter().any(|x| x.is_nan());
    let endless = result.is_infinite() && arguments.iter().all(|x| x.is_finite());
    let kind = if pole { DIVIDE } else { OVER };
    (if invalid { INVALID } else { 0 }) | (if endless { kind } else { 0 })
}

/// Flags raised by `f`, underflow aside.
fn raised(f: impl FnOnce()) -> u8 {
    flags::clear();
    f();
    flags::get() & !flags::UNDER
}

fn supported() -> Vec<Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_supported()).collect()
}

/// Special values, arguments all over the domain, and their neighbourhoods of zero and the largest numbers.
fn mixed<T: Real>(more: impl FnOnce(&mut Rng) -> Vec<T>, seed: u64) -> Vec<T> {
    let mut rng = Rng(seed + 99);
    let mut x = more(&mut rng);
    x.extend((0..1500).map(|_| T::from_random(rng.bits())));
    x.extend(common::specials::<T>());
    x.extend((-330..310).flat_map(|e| [10f64.powi(e), -(10f64.powi(e))]).map(T::narrow));
    x.extend((-800..800).map(|e| T::narrow(f64::from(e))));
    x
}

fn slices<T: Real>() {
    for &f in Func1::ALL {
        let pole = POLES.contains(&f.name());
        let x = mixed::<T>(|rng| arguments1::<T>(f, 1000, rng), f as u64);
        for isa in supported() {
            for &x in &x {
                let mut y = [x];
                let got = raised(|| T::unary(f, isa, &[x], &mut y));
                let want = expected(&[x.wide()], y[0].wide(), pole);
                assert_eq!(got, want, "{} {isa:?} at {x:?}: {:?}", f.name(), y[0]);
            }
            // a whole run raises what its elements raise together
            let mut y = x.clone();
            let got = raised(|| T::unary(f, isa, &x, &mut y));
            let want = x.iter().zip(&y).fold(0, |all, (x, y)| all | expected(&[x.wide()], y.wide(), pole));
            assert_eq!(got, want, "{} {isa:?}", f.name());
        }
    }
}

#[test]
fn slices_of_one_argument_f64() {
    slices::<f64>();
}

#[test]
fn slices_of_one_argument_f32() {
    slices::<f32>();
}

fn pairs<T: Real>(f: Func2) -> Vec<(T, T)> {
    let mut rng = Rng(f as u64 + 3);
    let (a, b) = arguments2::<T>(f, 2000, &mut rng);
    let mut pairs: Vec<(T, T)> = a.into_iter().zip(b).collect();
    for x in common::specials::<T>() {
        pairs.extend(common::specials::<T>().into_iter().map(|y| (x, y)));
    }
    pairs.extend((0..2000).map(|_| (T::from_random(rng.bits()), T::from_random(rng.bits()))));
    pairs
}

fn slices2<T: Real>() {
    for &f in Func2::ALL {
        for isa in supported() {
            for (x, y) in pairs::<T>(f) {
                let mut z = [x];
                let got = raised(|| T::binary(f, isa, &[x], &[y], &mut z));
                let pole = f.name() == "pow" && x.wide() == 0.0;
                // these compare their arguments, which NaN does not bear silently
                let compares = f.name().starts_with("logaddexp") && z[0].wide().is_nan();
                let want = expected(&[x.wide(), y.wide()], z[0].wide(), pole) | if compares { INVALID } else { 0 };
                assert_eq!(got, want, "{} {isa:?} at {x:?} {y:?}: {:?}", f.name(), z[0]);
            }
        }
    }
}

#[test]
fn slices_of_two_arguments_f64() {
    slices2::<f64>();
}

#[test]
fn slices_of_two_arguments_f32() {
    slices2::<f32>();
}

/// The functions that compiled code calls raise the same, except that NaN and huge arguments may raise more.
fn scalar_symbols<T: Real>(suffix: &str) {
    for isa in supported() {
        let table = symbols(isa);
        for &f in Func1::ALL {
            let name = format!("numelt_{}_{suffix}", f.name());
            let address = table.iter().find(|s| s.name == name).expect("every function has its symbols").addr;
            // SAFETY: the symbol has this signature, and its instruction set is supported.
            let call = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(T) -> T>(address) };
            let pole = POLES.contains(&f.name());
            for x in mixed::<T>(|rng| arguments1::<T>(f, 1000, rng), f as u64) {
                let mut y = x;
                // SAFETY: as above.
                let got = raised(|| y = unsafe { call(x) });
                let want = expected(&[x.wide()], y.wide(), pole);
                assert_eq!(got & want, want, "{name} {isa:?} at {x:?}: {y:?}");
                // squares and quick reductions of huge arguments overflow before something else replaces them
                let size = x.wide().abs();
                let slack = if size > 1e7 || !size.is_finite() || !y.wide().is_finite() { flags::ALL } else { 0 };
                assert_eq!(got & !slack, want & !slack, "{name} {isa:?} at {x:?}: {y:?}");
            }
        }
    }
}

#[test]
fn scalar_symbols_f64() {
    scalar_symbols::<f64>("f64");
}

#[test]
fn scalar_symbols_f32() {
    scalar_symbols::<f32>("f32");
}
