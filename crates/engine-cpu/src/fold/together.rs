//! The sum and the extremes of one run of floats in one pass over it.
//!
//! In: a run that lies in memory. Out: the accumulators of the folds. The bits are those of the folds one by one: the sum's
//! tree is walked as ever, and extremes are taken of each part of it while the part is in the first cache.

use super::numbers::{Lanes, MaskBits};
use super::plain::{Max, Min, free_run};
use super::trees::{Summed, tree_parts};
use crate::isa::{Isa, versions};
use numelt_ir::{DType, Op};
use std::slice::from_raw_parts;

/// Absorbs a run. Arguments: the accumulators of the sum, the minimum and the maximum (unused ones dangle), the first
/// element, their number.
///
/// # Safety
/// The accumulators of the folds exist, and the elements are readable.
pub type Absorb = unsafe fn(*mut u8, *mut u8, *mut u8, *const u8, usize);

/// Folds of one value that go together.
#[derive(Clone, Copy)]
pub struct Together {
    /// Absorbs a run into all of them.
    pub absorb: Absorb,
    /// Numbers of the sum, the minimum and the maximum among the folds.
    pub places: [Option<usize>; 3],
}

/// Which folds: types, because the loops are compiled for each.
pub trait Wanted: 'static {
    const SUM: bool;
    const MIN: bool;
    const MAX: bool;
}
macro_rules! wanted {
    ($($name:ident: $sum:literal $min:literal $max:literal;)*) => {$(
        struct $name;
        impl Wanted for $name {
            const SUM: bool = $sum;
            const MIN: bool = $min;
            const MAX: bool = $max;
        }
    )*};
}
wanted! {
    All: true true true;
    SumMin: true true false;
    SumMax: true false true;
    Extremes: false true true;
}

/// Elements of a part where there is no sum.
const PART: usize = 512;

/// [`Absorb`].
///
/// # Safety
/// Its contract.
#[inline(always)]
unsafe fn together<T: Summed, M: MaskBits, W: Wanted>(
    sum: *mut u8,
    min: *mut u8,
    max: *mut u8,
    src: *const u8,
    n: usize,
) {
    // SAFETY: the caller's elements.
    let x = unsafe { from_raw_parts(src.cast::<T>(), n) };
    let mut least = Lanes::<T, M, false>::new(T::GREATEST);
    let mut greatest = Lanes::<T, M, false>::new(T::LEAST);
    let mut watched = Lanes::<T, M, true>::new(T::LEAST);
    let mut absorb = |part: &[T]| {
        if W::MIN {
            least.absorb(part, |a, x| if a.lt(x) { a } else { x });
        }
        match (W::MAX, W::SUM) {
            (true, true) => greatest.absorb(part, |a, x| if x.lt(a) { a } else { x }),
            // nothing else tells of a NaN
            (true, false) => watched.absorb(part, |a, x| if x.lt(a) { a } else { x }),
            (false, _) => {}
        }
    };
    let numbers = if W::SUM {
        let total = tree_parts(x, absorb);
        // SAFETY: the sum's accumulator.
        unsafe { sum.cast::<T>().write(sum.cast::<T>().read().add(total)) };
        // the sum of a NaN and anything is a NaN
        !total.nan()
    } else {
        x.chunks(PART).for_each(&mut absorb);
        !watched.odd()
    };
    let join = |acc: *mut T, quick: &dyn Fn(T) -> T, slow: &dyn Fn(T) -> T| {
        // SAFETY: an extreme's accumulator.
        unsafe { acc.write(if numbers && !acc.read().nan() { quick(acc.read()) } else { slow(acc.read()) }) };
    };
    if W::MIN {
        let quick = |acc: T| least.join(acc, T::min);
        join(min.cast(), &quick, &|acc| free_run::<T, Min>(acc, x));
    }
    if W::MAX {
        let quick = |acc: T| if W::SUM { greatest.join(acc, T::max) } else { watched.join(acc, T::max) };
        join(max.cast(), &quick, &|acc| free_run::<T, Max>(acc, x));
    }
}

versions!(pick, together, [T: Summed, M: MaskBits, W: Wanted],
    (sum: *mut u8, min: *mut u8, max: *mut u8, src: *const u8, n: usize));

fn of<T: Summed, M: MaskBits>(wanted: [bool; 3], isa: Isa) -> Option<Absorb> {
    match wanted {
        [true, true, true] => Some(pick::<T, M, All>(isa)),
        [true, true, false] => Some(pick::<T, M, SumMin>(isa)),
        [true, false, true] => Some(pick::<T, M, SumMax>(isa)),
        [false, true, true] => Some(pick::<T, M, Extremes>(isa)),
        [_, false, false] | [false, ..] => None,
    }
}

/// The way to fold these reductions of one value of a dtype in one pass, if there is one.
pub fn select(ops: &[Op], ty: DType, isa: Isa) -> Option<Together> {
    let places = [Op::Sum, Op::Min, Op::Max].map(|op| ops.iter().position(|&o| o == op));
    if places.iter().flatten().count() != ops.len() {
        return None;
    }
    let wanted = places.map(|place| place.is_some());
    let absorb = match ty {
        DType::F64 => of::<f64, u64>(wanted, isa)?,
        DType::F32 => of::<f32, u32>(wanted, isa)?,
        _ => return None,
    };
    Some(Together { absorb, places })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold;

    fn folded<T: Summed>(ops: &[Op], x: &[T], isa: Isa) -> (Vec<T>, Vec<T>) {
        let together = select(ops, T::DTYPE, isa).expect("floats");
        let folds: Vec<_> = ops.iter().map(|&op| fold::select(op, T::DTYPE, isa).unwrap()).collect();
        // SAFETY: the start of an accumulator is an element.
        let start: Vec<T> = folds.iter().map(|f| unsafe { f.init.as_ptr().cast::<T>().read_unaligned() }).collect();
        let (mut one, mut all) = (start.clone(), start);
        for (fold, acc) in folds.iter().zip(&mut one) {
            // SAFETY: an accumulator, and elements.
            unsafe { (fold.rows)((acc as *mut T).cast(), &mut -1, x.as_ptr().cast(), 0, 1, x.len(), 0) };
        }
        let at = together.places.map(|place| place.map_or(std::ptr::null_mut(), |p| (&raw mut all[p]).cast::<u8>()));
        // SAFETY: the same.
        unsafe { (together.absorb)(at[0], at[1], at[2], x.as_ptr().cast(), x.len()) };
        (one, all)
    }

    #[test]
    fn the_bits_are_those_of_each_fold() {
        let sets: [&[Op]; 4] =
            [&[Op::Sum, Op::Min, Op::Max], &[Op::Max, Op::Sum], &[Op::Min, Op::Sum], &[Op::Max, Op::Min]];
        for isa in [Isa::Portable, crate::isa::detect()] {
            for n in [0, 1, 7, 8, 15, 100, 129, 500, 513, 2048, 5003] {
                for special in [None, Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)] {
                    let mut x: Vec<f64> = (0..n).map(|i| f64::from(i * 7919 % 1009) * 0.37 - 99.5).collect();
                    if let (Some(value), false) = (special, x.is_empty()) {
                        let last = x.len() - 1;
                        x[last / 2] = value;
                        x[last] = -value;
                    }
                    let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                    for ops in sets {
                        let bits =
                            |v: &[f64]| v.iter().map(|x| if x.is_nan() { 0 } else { x.to_bits() }).collect::<Vec<_>>();
                        let (one, all) = folded(ops, &x, isa);
                        assert_eq!(bits(&one), bits(&all), "{ops:?} of {n} with {special:?}");
                        let (one, all) = folded(ops, &narrow, isa);
                        let wide = |v: Vec<f32>| v.into_iter().map(f64::from).collect::<Vec<_>>();
                        assert_eq!(bits(&wide(one)), bits(&wide(all)), "{ops:?} of {n} f32 with {special:?}");
                    }
                }
            }
        }
    }
}
