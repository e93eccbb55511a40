//! The loops of the blocked interpreter: one operation over a run of contiguous elements.
//!
//! In: pointers to runs of elements, and a count. Out: a run of results. Every loop is written once and compiled for
//! each instruction set by `versions!`; the compiler vectorizes it. Not here: strides (`pack.rs`), and which loop
//! belongs to an operation (`select.rs`).

use crate::isa::{Isa, versions};
use crate::tier0::cast::To;
use crate::tier0::divide::{self, Divide, Division};
use crate::tier0::elem::{B8, Elem, Scales};
use numelt_ir::{Complex64, Complex128, F16};
use std::mem::MaybeUninit;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// A loop: reads up to three runs, writes one, all of `n` elements.
///
/// # Safety
/// The runs are valid and aligned, and the output overlaps no input.
pub type Loop = unsafe fn(ins: *const *const u8, out: *mut u8, n: usize);

/// An operation of one operand on elements of type `T`.
pub trait Op1<T: Elem>: 'static {
    /// Type of the result.
    type Out: Elem;
    /// The result for one element.
    fn f(a: T) -> Self::Out;
}

/// An operation of two operands on elements of type `T`.
pub trait Op2<T: Elem>: 'static {
    /// Type of the result.
    type Out: Elem;
    /// The result for one pair.
    fn f(a: T, b: T) -> Self::Out;
}

/// The `i`-th input run as a slice.
///
/// # Safety
/// `ins[i]` points at `n` aligned elements of type `T`.
#[inline(always)]
unsafe fn input<'a, T: Elem>(ins: *const *const u8, i: usize, n: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts((*ins.add(i)).cast(), n) }
}

/// The output run as a slice.
///
/// # Safety
/// `out` points at room for `n` aligned elements that nothing else refers to.
#[inline(always)]
unsafe fn output<'a, T: Elem>(out: *mut u8, n: usize) -> &'a mut [MaybeUninit<T>] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts_mut(out.cast(), n) }
}

// the slices are parameters of inlined functions, so that the vectorizer knows that they do not overlap
#[inline(always)]
fn run1<T: Elem, O: Op1<T>>(a: &[T], out: &mut [MaybeUninit<O::Out>]) {
    for (o, &a) in out.iter_mut().zip(a) {
        o.write(O::f(a));
    }
}

#[inline(always)]
fn run2<T: Elem, O: Op2<T>>(a: &[T], b: &[T], out: &mut [MaybeUninit<O::Out>]) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        o.write(O::f(a, b));
    }
}

#[inline(always)]
fn run_where<T: Elem>(c: &[B8], a: &[T], b: &[T], out: &mut [MaybeUninit<T>]) {
    for (((o, &c), &a), &b) in out.iter_mut().zip(c).zip(a).zip(b) {
        o.write(if c.get() { a } else { b });
    }
}

#[inline(always)]
fn run_cast<T: To<U>, U: Elem>(a: &[T], out: &mut [MaybeUninit<U>]) {
    for (o, &a) in out.iter_mut().zip(a) {
        o.write(a.to());
    }
}

/// One operand.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn map1<T: Elem, O: Op1<T>>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe { run1::<T, O>(input(ins, 0, n), output(out, n)) }
}

/// Two operands.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn map2<T: Elem, O: Op2<T>>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe { run2::<T, O>(input(ins, 0, n), input(ins, 1, n), output(out, n)) }
}

/// Selection.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn map_where<T: Elem>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe { run_where::<T>(input(ins, 0, n), input(ins, 1, n), input(ins, 2, n), output(out, n)) }
}

/// Conversion.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn map_cast<T: To<U>, U: Elem>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe { run_cast::<T, U>(input(ins, 0, n), output(out, n)) }
}

#[inline(always)]
fn run_scale<T: Scales>(a: &[T], exponents: &[i64], out: &mut [MaybeUninit<T>]) {
    for ((o, &a), &n) in out.iter_mut().zip(a).zip(exponents) {
        o.write(a.load_exponent(n));
    }
}

/// Scaling by powers of two.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn map_scale<T: Scales>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe { run_scale::<T>(input(ins, 0, n), input(ins, 1, n), output(out, n)) }
}

/// Division of integers.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn map_divide<T: Divide, O: Division>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe {
        let (a, b, out) = (input::<T>(ins, 0, n), input(ins, 1, n), output(out, n));
        divide::run::<T, O>(a, b, out);
    }
}

/// Division of integers by one number, to which the second operand points.
///
/// # Safety
/// As for [`Loop`], except that the second operand is one number, which has an inverse.
#[inline(always)]
unsafe fn map_divide_one<T: Divide, O: Division>(ins: *const *const u8, out: *mut u8, n: usize) {
    // SAFETY: the contract of `Loop`.
    unsafe { T::by_number::<O>(input(ins, 0, n), (*ins.add(1)).cast::<T>().read(), output(out, n)) }
}

versions!(pick1, map1, [T: Elem, O: Op1<T>], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(pick2, map2, [T: Elem, O: Op2<T>], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two pick1_two, map1, [T: Elem, O: Op1<T>], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two pick2_two, map2, [T: Elem, O: Op2<T>], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two /// The loop of `where`.
    pick_where, map_where, [T: Elem], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two /// The loop of an integer division.
    pick_divide, map_divide, [T: Divide, O: Division], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two /// The loop of an integer division by one number, which the second operand points at.
    pick_divide_one, map_divide_one, [T: Divide, O: Division], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two /// The loop of `ldexp`.
    pick_scale, map_scale, [T: Scales], (ins: *const *const u8, out: *mut u8, n: usize));
versions!(two /// The loop of a conversion.
    pick_cast, map_cast, [T: To<U>, U: Elem], (ins: *const *const u8, out: *mut u8, n: usize));

/// How many versions the loops of a type have: floats have one per instruction set, other types share versions.
pub trait Versions: Elem {
    /// The loop of a one-operand operation.
    fn one<O: Op1<Self>>(isa: Isa) -> Loop {
        pick1_two::<Self, O>(isa)
    }
    /// The loop of a two-operand operation.
    fn two<O: Op2<Self>>(isa: Isa) -> Loop {
        pick2_two::<Self, O>(isa)
    }
}

macro_rules! shared {
    ($($t:ty)*) => {$(impl Versions for $t {})*};
}
shared!(B8 i8 u8 i16 u16 i32 u32 i64 u64 F16 Complex64 Complex128);

macro_rules! own {
    ($($t:ty)*) => {$(
        impl Versions for $t {
            fn one<O: Op1<Self>>(isa: Isa) -> Loop {
                pick1::<Self, O>(isa)
            }
            fn two<O: Op2<Self>>(isa: Isa) -> Loop {
                pick2::<Self, O>(isa)
            }
        }
    )*};
}
own!(f32 f64);
