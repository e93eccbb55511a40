//! Scans: running sums, products, extremes and the like along one axis.
//!
//! In: operands of any strides and dtypes; input and output may be the same memory. Out: the output written. Lines are
//! scanned one by one along their axis, in order, as NumPy does. If neighbours in memory belong to different lines, a
//! block of lines advances together.

use crate::isa::{Isa, versions};
use crate::lines::Lines;
use crate::threads::Threads;
use crate::tier0::{Any, Bits, Elem, Func, Inexact, Number, Rect, pack, select_cast, unpack, with};
use numelt_ir::{DType, Error, F16, Op, Result};
use numelt_runtime::LibraryCall;
use smallvec::SmallVec;
use std::hint::black_box;

/// The number of elements that are processed at a time.
const CHUNK: usize = 1024;

/// Fewer neighbouring lines than this are scanned one by one.
const NARROW: usize = 8;

/// An address, and the bytes from one element to the next.
type Strided<P> = (P, isize);

/// `to[i] = to[i - 1] + from[i]`, starting from `carry` unless it is `fresh`; the last result goes to `carry`.
///
/// # Safety
/// `from` and `to` are `n` aligned elements of the scan's dtype each, apart or the same; `carry` is one.
type Along = unsafe fn(carry: *mut u8, fresh: bool, from: Strided<*const u8>, to: Strided<*mut u8>, n: usize);
/// `values[i] = carry[i] + values[i]`; all results go to `carry`.
///
/// # Safety
/// `values` and `carry` are `n` elements of the scan's dtype each.
type Across = unsafe fn(carry: *mut u8, fresh: bool, values: *mut u8, n: usize);

/// The two operations of a scan.
pub(crate) trait Step<T>: 'static {
    fn step(a: T, b: T) -> T;
}
macro_rules! steps {
    ($($name:ident: $bound:ident $method:ident;)*) => {$(
        struct $name;
        impl<T: $bound> Step<T> for $name {
            #[inline(always)]
            fn step(a: T, b: T) -> T {
                a.$method(b)
            }
        }
    )*};
}
steps! {
    Sum: Number add;
    Prod: Number mul;
    // a scan is more than one step, so NumPy rounds complex values as in a run
    RunProd: Number mul_in_run;
    Difference: Number sub;
    Quotient: Inexact div;
    Max: Any max;
    Min: Any min;
    Fmax: Any fmax;
    Fmin: Any fmin;
    And: Bits and;
    Or: Bits or;
    Xor: Bits xor;
}

/// Steps of halves are computed as f32 and rounded.
macro_rules! half_steps {
    ($($name:ident $operator:tt;)*) => {$(
        pub(super) struct $name;
        impl Step<F16> for $name {
            #[inline(always)]
            fn step(a: F16, b: F16) -> F16 {
                narrow(a.to_f32() $operator b.to_f32())
            }
        }
    )*};
}
half_steps! {
    HalfSum +;
    HalfProd *;
    HalfDifference -;
    HalfQuotient /;
}

/// Rounds to a half by integer arithmetic, which raises no flag, and raises that of an overflow.
#[inline(always)]
fn narrow(value: f32) -> F16 {
    let half = F16::from_f32(value);
    if half.inf() && value.is_finite() {
        raise_overflow();
    }
    half
}

#[cold]
fn raise_overflow() {
    black_box(black_box(f32::MAX) * 2.0);
}

/// Folds a stretch of one line; `carry` passes the fold from one stretch to the next.
///
/// # Safety
/// As for [`Along`], with elements of `T`, at least one.
unsafe fn along<T: Elem, S: Step<T>>(
    carry: *mut u8,
    fresh: bool,
    (from, from_next): Strided<*const u8>,
    (to, to_next): Strided<*mut u8>,
    n: usize,
) {
    let carry = carry.cast::<T>();
    // SAFETY: the caller's elements.
    unsafe {
        let first = from.cast::<T>().read();
        let mut acc = if fresh { first } else { S::step(carry.read(), first) };
        to.cast::<T>().write(acc);
        for i in 1..n as isize {
            acc = S::step(acc, from.offset(i * from_next).cast::<T>().read());
            to.offset(i * to_next).cast::<T>().write(acc);
        }
        carry.write(acc);
    }
}

/// Folds one step of `n` lines.
///
/// # Safety
/// `values` and `carry` hold `n` aligned elements of `T`.
#[inline(always)]
unsafe fn across<T: Elem, S: Step<T>>(carry: *mut u8, fresh: bool, values: *mut u8, n: usize) {
    // SAFETY: the caller's buffers hold `n` values and `n` carries.
    unsafe {
        let values = std::slice::from_raw_parts_mut(values.cast::<T>(), n);
        let carry = std::slice::from_raw_parts_mut(carry.cast::<T>(), n);
        for (c, v) in carry.iter_mut().zip(values) {
            let next = if fresh { *v } else { S::step(*c, *v) };
            *c = next;
            *v = next;
        }
    }
}
versions!(
    two pick_across, across, [T: Elem, S: Step<T>], (carry: *mut u8, fresh: bool, values: *mut u8, n: usize));

/// Everything that a scan needs to know about its operands.
struct Scan {
    ty: DType,
    input: Side,
    output: Side,
    /// Extent and strides of the scanned axis.
    len: usize,
    /// The other axes: extents, and strides of input and output.
    others: SmallVec<[(usize, isize, isize); 4]>,
    along: Along,
    across: Across,
}

/// One operand.
#[derive(Clone, Copy)]
struct Side {
    base: *mut u8,
    dtype: DType,
    stride: isize,
    cast: Option<Func>,
}

// SAFETY: threads work on different lines.
unsafe impl Sync for Scan {}

/// Runs a scan.
pub fn run(call: &LibraryCall<'_>, threads: &Threads, isa: Isa) -> Result<()> {
    let (input, output) = (&call.ins[0], &call.out);
    let rank = output.view.rank();
    let Some(axis) = call.axes.iter().next().filter(|&a| call.axes.len() == 1 && a < rank) else {
        return Err(Error::Invalid("a scan needs one axis".into()));
    };
    if input.view.shape != output.view.shape {
        return Err(Error::Invalid("a scan of another shape than its result".into()));
    }
    if output.view.size() <= 0 {
        return Ok(());
    }
    let (along, across) = functions(call.op, call.ty, output.view.shape[axis], isa)
        .ok_or_else(|| Error::Unsupported(format!("{} of {}", call.op.name(), call.ty)))?;
    let cast = |from: DType, to: DType| if from == to { Ok(None) } else { select_cast(from, to, isa).map(Some) };
    let mut others: SmallVec<[_; 4]> = (0..rank)
        .filter(|&a| a != axis)
        .map(|a| (output.view.shape[a] as usize, input.view.strides[a] as isize, output.view.strides[a] as isize))
        .collect();
    // the axis along which lines are closest in memory comes last
    others.sort_by_key(|o| std::cmp::Reverse(if o.0 == 1 { usize::MAX } else { o.2.unsigned_abs() }));
    let scan = Scan {
        ty: call.ty,
        input: Side {
            base: input.pointer(),
            dtype: input.view.dtype,
            stride: input.view.strides[axis] as isize,
            cast: cast(input.view.dtype, call.ty)?,
        },
        output: Side {
            base: output.pointer(),
            dtype: output.view.dtype,
            stride: output.view.strides[axis] as isize,
            cast: cast(call.ty, output.view.dtype)?,
        },
        len: output.view.shape[axis] as usize,
        others,
        along,
        across,
    };
    scan.launch(threads);
    Ok(())
}

fn both<T: Elem, S: Step<T>>(isa: Isa) -> (Along, Across) {
    (along::<T, S> as Along, pick_across::<T, S>(isa))
}

fn functions(op: Op, ty: DType, len: i64, isa: Isa) -> Option<(Along, Across)> {
    match op {
        Op::Cumsum if ty == DType::F16 => Some(both::<F16, HalfSum>(isa)),
        Op::Cumprod if ty == DType::F16 => Some(both::<F16, HalfProd>(isa)),
        Op::Cumsubtract if ty == DType::F16 => Some(both::<F16, HalfDifference>(isa)),
        Op::Cumsum => with!(ty, number, T => both::<T, Sum>(isa)),
        Op::Cumprod if len > 2 && ty.is_complex() => with!(ty, complex, T => both::<T, RunProd>(isa)),
        Op::Cumprod => with!(ty, number, T => both::<T, Prod>(isa)),
        Op::Cumsubtract => with!(ty, number, T => both::<T, Difference>(isa)),
        Op::Cumdivide if ty == DType::F16 => Some(both::<F16, HalfQuotient>(isa)),
        Op::Cumdivide => with!(ty, inexact, T => both::<T, Quotient>(isa)),
        Op::Cummax => with!(ty, all, T => both::<T, Max>(isa)),
        Op::Cummin => with!(ty, all, T => both::<T, Min>(isa)),
        Op::Cumfmax => with!(ty, all, T => both::<T, Fmax>(isa)),
        Op::Cumfmin => with!(ty, all, T => both::<T, Fmin>(isa)),
        Op::Cumand => with!(ty, bits, T => both::<T, And>(isa)),
        Op::Cumor => with!(ty, bits, T => both::<T, Or>(isa)),
        Op::Cumxor => with!(ty, bits, T => both::<T, Xor>(isa)),
        _ => None,
    }
}

impl Scan {
    fn launch(&self, threads: &Threads) {
        let lines: usize = self.others.iter().map(|o| o.0).product();
        let work = (lines * self.len) as u64 * 2;
        let closer =
            self.others.last().is_some_and(|o| o.0 > 1 && o.2.unsigned_abs() < self.output.stride.unsigned_abs());
        if closer {
            let extent = self.others[self.others.len() - 1].0;
            let width = extent.div_ceil(threads.shares(work) * 2).clamp(1, CHUNK);
            let blocks = extent.div_ceil(width);
            threads.parallel(lines / extent * blocks, work, &|range| {
                for unit in range {
                    let at = unit % blocks * width;
                    // SAFETY: each unit scans lines of its own.
                    unsafe { self.block(unit / blocks * extent + at, width.min(extent - at)) };
                }
            });
        } else {
            threads.parallel(lines, work, &|range| {
                for line in range {
                    // SAFETY: each unit scans a line of its own.
                    unsafe { self.line(line) };
                }
            });
        }
    }

    /// Addresses of the first element of a line, in input and output.
    fn origin(&self, line: usize) -> (*mut u8, *mut u8) {
        let (mut a, mut b, mut rest) = (self.input.base, self.output.base, line);
        for &(extent, from, to) in self.others.iter().rev() {
            let i = (rest % extent) as isize;
            a = a.wrapping_offset(i * from);
            b = b.wrapping_offset(i * to);
            rest /= extent;
        }
        (a, b)
    }

    /// Whether the elements of lines from these addresses on can be used where they are: they have the dtype of the
    /// loop and are aligned. `strides` are those between lines.
    fn is_direct(&self, from: *mut u8, to: *mut u8, strides: [isize; 2]) -> bool {
        let size = self.ty.size();
        let addresses = [from.addr(), to.addr()];
        let strides = strides.into_iter().chain([self.input.stride, self.output.stride]);
        (self.input.dtype, self.output.dtype) == (self.ty, self.ty)
            && addresses.into_iter().chain(strides.map(isize::unsigned_abs)).all(|bytes| bytes.is_multiple_of(size))
    }

    /// Scans one line.
    ///
    /// # Safety
    /// The operands keep the promises of a library call; no other thread touches the line.
    unsafe fn line(&self, line: usize) {
        let (from, to) = self.origin(line);
        if self.is_direct(from, to, [0; 2]) {
            let mut carry = [0u64; 2];
            let (from, to) = ((from.cast_const(), self.input.stride), (to, self.output.stride));
            // SAFETY: the line's aligned elements; the operands are apart or the same.
            return unsafe { (self.along)(carry.as_mut_ptr().cast(), true, from, to, self.len) };
        }
        let mut buffers = Buffers::new();
        let size = self.ty.size() as isize;
        for start in (0..self.len).step_by(CHUNK) {
            let n = CHUNK.min(self.len - start);
            let at = |base: *mut u8, stride: isize| Rect {
                base: base.wrapping_offset(start as isize * stride),
                inner_stride: stride,
                outer_stride: 0,
                inner: n,
                rows: 1,
            };
            // SAFETY: the chunk lies in the line; it is read before it is written.
            unsafe {
                let values = self.read(at(from, self.input.stride), &mut buffers);
                (self.along)(buffers.carry.as_ptr(), start == 0, (values, size), (values, size), n);
                self.write(at(to, self.output.stride), values, &mut buffers);
            }
        }
    }

    /// Scans `n` neighbouring lines together.
    ///
    /// # Safety
    /// As for `line`, of each of them.
    unsafe fn block(&self, line: usize, n: usize) {
        let (from, to) = self.origin(line);
        let (_, from_next, to_next) = self.others[self.others.len() - 1];
        if n < NARROW && self.is_direct(from, to, [from_next, to_next]) {
            // SAFETY: the caller's lines.
            return unsafe { self.narrow((from, from_next), (to, to_next), n) };
        }
        let mut buffers = Buffers::new();
        let size = self.ty.size();
        if (from_next, to_next) == (size as isize, size as isize) && self.is_direct(from, to, [0; 2]) {
            for step in 0..self.len {
                let from = from.wrapping_offset(step as isize * self.input.stride);
                let to = to.wrapping_offset(step as isize * self.output.stride);
                // SAFETY: the elements lie in the lines; the operands are apart or the same.
                unsafe {
                    if from != to {
                        to.copy_from_nonoverlapping(from, n * size);
                    }
                    (self.across)(buffers.carry.as_ptr(), step == 0, to, n);
                }
            }
            return;
        }
        for step in 0..self.len {
            let at = |base: *mut u8, stride: isize, next: isize| Rect {
                base: base.wrapping_offset(step as isize * stride),
                inner_stride: next,
                outer_stride: 0,
                inner: n,
                rows: 1,
            };
            // SAFETY: the elements lie in the lines; they are read before they are written.
            unsafe {
                let values = self.read(at(from, self.input.stride, from_next), &mut buffers);
                (self.across)(buffers.carry.as_ptr(), step == 0, values, n);
                self.write(at(to, self.output.stride, to_next), values, &mut buffers);
            }
        }
    }

    /// Scans a few neighbouring lines, some steps of each at a time, so that they are in the cache when the next line
    /// is scanned. The strides are those from line to line.
    ///
    /// # Safety
    /// As for `line`, of each of these `n` lines, whose elements can be used where they are.
    unsafe fn narrow(&self, (from, from_next): Strided<*mut u8>, (to, to_next): Strided<*mut u8>, n: usize) {
        let mut carries = [[0u64; 2]; NARROW];
        for start in (0..self.len).step_by(CHUNK) {
            let steps = CHUNK.min(self.len - start);
            for (line, carry) in (0..n as isize).zip(&mut carries) {
                let from = from.wrapping_offset(start as isize * self.input.stride + line * from_next);
                let to = to.wrapping_offset(start as isize * self.output.stride + line * to_next);
                let (from, to) = ((from.cast_const(), self.input.stride), (to, self.output.stride));
                // SAFETY: these elements lie in the line.
                unsafe { (self.along)(carry.as_mut_ptr().cast(), start == 0, from, to, steps) };
            }
        }
    }

    /// Elements of the input, converted to the loop dtype.
    ///
    /// # Safety
    /// The rectangle is readable and holds no more than a chunk.
    unsafe fn read(&self, rect: Rect, buffers: &mut Buffers) -> *mut u8 {
        // SAFETY: the caller's rectangle; buffers hold a chunk of any dtype.
        unsafe {
            pack(rect, self.input.dtype.size(), buffers.a.as_ptr());
            convert(self.input.cast, buffers.a.as_ptr(), buffers.b.as_ptr(), rect.inner)
        }
    }

    /// Stores values, converted to the dtype of the output.
    ///
    /// # Safety
    /// The rectangle is writable and holds no more than a chunk; there are as many values.
    unsafe fn write(&self, rect: Rect, values: *mut u8, buffers: &mut Buffers) {
        debug_assert!(self.ty.size() <= 16);
        // SAFETY: the caller's rectangle; buffers hold a chunk of any dtype.
        unsafe {
            let result = convert(self.output.cast, values, buffers.c.as_ptr(), rect.inner);
            unpack(rect, self.output.dtype.size(), result);
        }
    }
}

/// The elements in another dtype, if a conversion is needed.
///
/// # Safety
/// `src` holds `n` elements, `dst` has room for them and does not overlap it.
unsafe fn convert(cast: Option<Func>, src: *mut u8, dst: *mut u8, n: usize) -> *mut u8 {
    match cast {
        Some(cast) => {
            // SAFETY: both hold `n` elements and do not overlap.
            unsafe { cast.call([src.cast_const(); 3], dst, n) };
            dst
        }
        None => src,
    }
}

struct Buffers {
    a: Lines,
    b: Lines,
    c: Lines,
    carry: Lines,
}

impl Buffers {
    fn new() -> Buffers {
        let room = || Lines::new(CHUNK * 16);
        Buffers { a: room(), b: room(), c: room(), carry: room() }
    }
}
