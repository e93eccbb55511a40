//! The sum and the extremes of one run of floats in one pass over it.
//!
//! In: a run that is contiguous in memory. Out: the accumulators of the folds. The bits are those of separate folds:
//! the sum's tree is traversed as usual, and the extremes of each part are computed while the part is in the
//! first-level cache.

use super::bounds::Bounds;
use super::numbers::{Lanes, MaskBits};
use super::opaque::Opaque;
use super::plain::{Max, Min, free_run};
use super::trees::{Seen, Summed, in_order};
use crate::isa::{Isa, versions};
use numelt_ir::{DType, Op};
use std::marker::PhantomData;
use std::slice::from_raw_parts;

/// Absorbs a run. Arguments: the accumulators of the sum, the minimum and the maximum (unused ones are dangling), the
/// first element, and the number of elements.
///
/// # Safety
/// The accumulators of the folds exist, and the elements are readable.
pub type Absorb = unsafe fn(*mut u8, *mut u8, *mut u8, *const u8, usize);

/// Folds of one value that are computed in one pass.
#[derive(Clone, Copy)]
pub struct Together {
    /// Absorbs a run into all of them.
    pub absorb: Absorb,
    /// The numbers of the sum, the minimum and the maximum among the folds.
    pub places: [Option<usize>; 3],
}

/// The set of folds. It is a type, because the loops are compiled for each set.
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

/// The elements of a part if there is no sum.
const PART: usize = 512;

/// The lanes of extremes beside a sum: two registers of each.
const SIDE: usize = 8;

/// The extremes of the elements of a sum. They are meaningless if there is a NaN, which the sum reveals.
struct Beside<T, W> {
    least: [T; SIDE],
    greatest: [T; SIDE],
    /// The extremes of elements that do not fill a step.
    rest: [T; 2],
    wanted: PhantomData<W>,
}

impl<T: Bounds, W: Wanted> Beside<T, W> {
    /// The extremes of the empty range.
    #[inline(always)]
    fn new() -> Self {
        let rest = [T::GREATEST, T::LEAST];
        Beside { least: [rest[0]; SIDE], greatest: [rest[1]; SIDE], rest, wanted: PhantomData }
    }

    /// The accumulators of minimum and maximum, joined with the extremes of all elements.
    #[inline(always)]
    fn join(self, min: T, max: T) -> [T; 2] {
        let (least, greatest) = (Opaque(self.least).settle(), Opaque(self.greatest).settle());
        [
            least.into_iter().fold(min.min(self.rest[0]), T::min),
            greatest.into_iter().fold(max.max(self.rest[1]), T::max),
        ]
    }
}

impl<T: Bounds, W: Wanted> Seen<T> for Beside<T, W> {
    #[inline(always)]
    fn step(&mut self, x: &[T]) {
        if W::MIN {
            for (least, &x) in self.least.iter_mut().zip(x) {
                *least = lesser(*least, x);
            }
        }
        if W::MAX {
            for (greatest, &x) in self.greatest.iter_mut().zip(x) {
                *greatest = greater(*greatest, x);
            }
        }
    }

    #[inline(always)]
    fn one(&mut self, x: T) {
        if W::MIN {
            self.rest[0] = lesser(self.rest[0], x);
        }
        if W::MAX {
            self.rest[1] = greater(self.rest[1], x);
        }
    }
}

/// The lesser of two numbers: one instruction on most machines.
#[inline(always)]
fn lesser<T: Bounds>(a: T, x: T) -> T {
    if a.lt(x) { a } else { x }
}

/// The greater of two numbers.
#[inline(always)]
fn greater<T: Bounds>(a: T, x: T) -> T {
    if x.lt(a) { a } else { x }
}

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
    // SAFETY: the accumulators that are wanted exist.
    let [before, least, greatest] = unsafe {
        [
            if W::SUM { sum.cast::<T>().read() } else { T::ZERO },
            if W::MIN { min.cast::<T>().read() } else { T::GREATEST },
            if W::MAX { max.cast::<T>().read() } else { T::LEAST },
        ]
    };
    let (total, quick) =
        if W::SUM { beside_sum::<T, W>(x, least, greatest) } else { extremes::<T, M>(x, least, greatest) };
    let [least, greatest] = match quick {
        Some(found) if !least.nan() && !greatest.nan() => found,
        _ => [
            if W::MIN { free_run::<T, Min>(least, x) } else { least },
            if W::MAX { free_run::<T, Max>(greatest, x) } else { greatest },
        ],
    };
    // SAFETY: the same.
    unsafe {
        if W::SUM {
            sum.cast::<T>().write(before.add(total));
        }
        if W::MIN {
            min.cast::<T>().write(least);
        }
        if W::MAX {
            max.cast::<T>().write(greatest);
        }
    }
}

/// The sum of a run, and its extremes joined with others unless there is a NaN.
#[inline(always)]
fn beside_sum<T: Summed, W: Wanted>(x: &[T], least: T, greatest: T) -> (T, Option<[T; 2]>) {
    let mut beside = Beside::<T, W>::new();
    let total = in_order(x, &mut beside);
    // the sum of a NaN and anything is a NaN
    (total, (!total.nan()).then_some(beside.join(least, greatest)))
}

/// The extremes of a run, joined with others, unless there is a NaN; without a sum.
#[inline(always)]
fn extremes<T: Summed, M: MaskBits>(x: &[T], least: T, greatest: T) -> (T, Option<[T; 2]>) {
    let mut low = Lanes::<T, M, false>::new(T::GREATEST);
    // one of the two tests for NaN
    let mut high = Lanes::<T, M, true>::new(T::LEAST);
    for part in x.chunks(PART) {
        low.absorb(part, lesser);
        high.absorb(part, greater);
    }
    (T::ZERO, (!high.odd()).then_some([low.join(least, T::min), high.join(greatest, T::max)]))
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

/// The function that folds these reductions of one value in one pass, if there is one.
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
