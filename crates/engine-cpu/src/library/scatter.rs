//! Writing elements by position.
//!
//! In: a target, values and positions, which are in memory or which a kernel computes part by part. Out: the target
//! with the values at their positions, or combined with the elements there. Values for equal positions are stored in
//! order, on any number of threads: ascending positions are shared as they come, others by the part of the target to
//! which they point.

use super::scan::{HalfProd, HalfSum, Step};
use crate::threads::Threads;
use crate::tier0::{self, Elem, Rect, pack, unpack, with};
use numelt_ir::{DType, Error, F16, Op, Result, View, c_strides};
use numelt_runtime::{LibraryCall, Operand};
use smallvec::SmallVec;
use std::ops::Range;

/// An axis: its extent, and the strides of two operands that are traversed together.
type PairedAxis = (usize, isize, isize);

/// Writes those values with numbers from `from` to `to` whose positions are in `low..high`.
///
/// # Safety
/// The task's operands are valid, and no other thread writes positions in `low..high` meanwhile.
type StoreRange = unsafe fn(&Scatter, from: usize, to: usize, low: u64, high: u64);

/// A scatter ready to run.
#[derive(Clone)]
pub struct Scatter {
    put: StoreRange,
    /// The largest position, and the bytes from one position to the next.
    last: u64,
    step: isize,
    output: *mut u8,
    values: *const u8,
    positions: *const u8,
    /// Axes of the positions: strides of positions and values.
    lead: SmallVec<[PairedAxis; 4]>,
    count: usize,
    /// The other axes: strides of target and values.
    rest: SmallVec<[PairedAxis; 4]>,
    /// Elements at each position.
    each: usize,
    /// Bytes of an element.
    size: usize,
}

// SAFETY: threads write disjoint elements: see `run`.
unsafe impl Sync for Scatter {}

/// Runs the call.
pub fn run(call: &LibraryCall<'_>, threads: &Threads) -> Result<()> {
    let scatter = Scatter::new(call, false, false)?;
    let (target, out) = (call.ins[0], call.out);
    if target.pointer() != out.pointer() || target.view.strides != out.view.strides {
        copy(target, out, scatter.size);
    }
    // SAFETY: the runtime promises the operands' memory.
    unsafe { scatter.run(threads) };
    Ok(())
}

impl Scatter {
    /// The scatter of a call. Values and positions that a kernel computes part by part are in C order, whatever the
    /// operand's strides.
    pub fn new(call: &LibraryCall<'_>, made_values: bool, made_positions: bool) -> Result<Scatter> {
        let [target, values, positions] = call.ins else {
            return Err(Error::Invalid("scatter of three operands".into()));
        };
        let (out, size) = (call.out, call.ty.size());
        let rank = positions.view.rank();
        let typed = [target.view, values.view, out.view].iter().all(|v| v.dtype == call.ty);
        if !typed || !matches!(positions.view.dtype, DType::I64 | DType::U64) || values.view.rank() < rank {
            return Err(Error::Invalid("scatter: operands of another form".into()));
        }
        let dense;
        let (mut value_strides, mut positions_view) = (values.view.strides.clone(), positions.view);
        if made_values {
            value_strides = c_strides(&values.view.shape, size as i64);
        }
        if made_positions {
            dense = View::contiguous(0, DType::I64, &positions.view.shape);
            positions_view = &dense;
        }
        let put =
            put_of(call.op, call.ty).ok_or_else(|| Error::Unsupported(format!("{} of {}", call.op.name(), call.ty)))?;
        let rest = joined(axes(out.view, &value_strides[rank..], 1));
        Ok(Scatter {
            put,
            last: (out.view.shape[0] as u64).saturating_sub(1),
            step: out.view.strides[0] as isize,
            output: out.pointer(),
            values: values.pointer(),
            positions: positions.pointer(),
            count: if values.view.size() == 0 { 0 } else { positions.view.size() as usize },
            lead: joined(axes(positions_view, &value_strides[..rank], 0)),
            each: rest.iter().map(|a| a.0).product(),
            rest,
            size,
        })
    }

    /// # Safety
    /// Every position up to the last leads to writable elements; values and positions are readable.
    unsafe fn run(&self, threads: &Threads) {
        if self.count == 0 {
            return;
        }
        let work = self.work();
        let shares = threads.shares(work);
        // selecting a thread's own positions from positions in no order costs a mispredicted branch each, which is more
        // than writing one element in cache
        let alone = self.is_small();
        // SAFETY: the caller's contract. Ascending positions are distinct, so that any split writes disjoint
        // elements; otherwise each thread writes only positions of its own part of the target.
        unsafe {
            if shares <= 1 {
                (self.put)(self, 0, self.count, 0, u64::MAX);
            } else if self.ascends() {
                threads.parallel(self.count.div_ceil(CHUNK), work, &|range| {
                    (self.put)(self, range.start * CHUNK, (range.end * CHUNK).min(self.count), 0, u64::MAX);
                });
            } else if alone {
                (self.put)(self, 0, self.count, 0, u64::MAX);
            } else {
                let parts = (shares as u64).min(self.last + 1);
                let edge = |part: u64| if part == parts { u64::MAX } else { (self.last + 1) / parts * part };
                threads.parallel(parts as usize, work, &|range| {
                    (self.put)(self, 0, self.count, edge(range.start as u64), edge(range.end as u64));
                });
            }
        }
    }

    /// Estimated nanoseconds on one thread.
    pub fn work(&self) -> u64 {
        self.count as u64 * (2 + self.each as u64 / 2)
    }

    /// The address of position number `q`, and that of its values.
    fn place(&self, q: usize) -> (*const u8, *const u8) {
        let (mut rest, mut a, mut b) = (q, self.positions, self.values);
        for &(n, s, t) in self.lead.iter().rev() {
            let i = (rest % n) as isize;
            a = a.wrapping_offset(i * s);
            b = b.wrapping_offset(i * t);
            rest /= n;
        }
        (a, b)
    }

    /// Calls `f` with each position from `from` to `to` and the address of its values, in order.
    ///
    /// # Safety
    /// Positions and values are readable.
    unsafe fn each(&self, from: usize, to: usize, mut f: impl FnMut(u64, *const u8) -> bool) {
        let (n, s, t) = self.lead[self.lead.len() - 1];
        let mut q = from;
        while q < to {
            let (mut position, mut value) = self.place(q);
            for _ in 0..(n - q % n).min(to - q) {
                // SAFETY: a position of the operand; it may lie unaligned.
                let at = unsafe { position.cast::<u64>().read_unaligned() };
                if !f(at.min(self.last), value) {
                    return;
                }
                position = position.wrapping_offset(s);
                value = value.wrapping_offset(t);
                q += 1;
            }
        }
    }

    /// Whether every position is larger than the one before it.
    ///
    /// # Safety
    /// The positions are readable.
    pub unsafe fn ascends(&self) -> bool {
        let mut next = 0;
        let mut sound = true;
        // SAFETY: all positions.
        unsafe {
            self.each(0, self.count, |at, _| {
                sound = at >= next;
                next = at + 1;
                sound
            });
        }
        sound
    }

    /// Scatters some of the elements, counted in C order. If a kernel has computed the values or positions, they are
    /// contiguous from the given address on.
    ///
    /// # Safety
    /// As for [`Scatter::run`]; the computed values and positions are as many as `elements`.
    pub unsafe fn part(&self, elements: Range<usize>, values: Option<*const u8>, positions: Option<*const u8>) {
        let mut part = self.clone();
        if let Some(made) = values {
            part.values = made.wrapping_sub(elements.start * self.size);
        }
        if let Some(made) = positions {
            part.positions = made.wrapping_sub(elements.start * 8);
        }
        let Range { mut start, end } = elements;
        let next = start.next_multiple_of(self.each).min(end);
        // SAFETY: the caller's contract.
        unsafe {
            if next > start {
                part.row(start / self.each, start % self.each..start % self.each + (next - start));
                start = next;
            }
            (self.put)(&part, start / self.each, end / self.each, 0, u64::MAX);
            if start < end && end % self.each > 0 {
                part.row(end / self.each, 0..end % self.each);
            }
        }
    }

    /// Scatters some of the elements of position number `q`.
    ///
    /// # Safety
    /// As for [`Scatter::run`].
    unsafe fn row(&self, q: usize, Range { mut start, end }: Range<usize>) {
        let (n, s, t) = self.rest[self.rest.len() - 1];
        while start < end {
            let len = (n - start % n).min(end - start);
            let column = (start % n) as isize;
            runs(&self.rest, start / n, start / n + 1, |a, b| {
                let mut run = Scatter { rest: SmallVec::from_slice(&[(len, s, t)]), each: len, ..self.clone() };
                run.output = run.output.wrapping_offset(a + column * s);
                run.values = run.values.wrapping_offset(b + column * t);
                // SAFETY: the caller's contract.
                unsafe { (self.put)(&run, q, q + 1, 0, u64::MAX) };
            });
            start += len;
        }
    }

    /// Bytes of an element.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The target's element with all indices zero, the number of bytes before it, and the number from the first to the
    /// last.
    pub fn target(&self) -> (*const u8, usize, usize) {
        let own = (self.last as usize + 1, self.step, 0);
        let axes = || std::iter::once(&own).chain(&self.rest);
        let reach = |&(n, s, _): &PairedAxis| (n as isize - 1) * s;
        let low: isize = axes().map(reach).filter(|r| *r < 0).sum();
        let high: isize = axes().map(reach).filter(|r| *r > 0).sum();
        (self.output, low.unsigned_abs(), (high - low) as usize + self.size)
    }

    /// Whether the elements are so few that they stay in a core's own cache, and each position has one element.
    pub fn is_small(&self) -> bool {
        self.each < 8 && (self.last + 1).saturating_mul(self.step.unsigned_abs() as u64) < IN_CACHE
    }
}

/// The function that writes values of a dtype.
fn put_of(op: Op, ty: DType) -> Option<StoreRange> {
    match op.scatter_step()? {
        Some(Op::Add) if ty == DType::F16 => Some(put_with::<F16, HalfSum>),
        Some(Op::Multiply) if ty == DType::F16 => Some(put_with::<F16, HalfProd>),
        Some(Op::Add) => with!(ty, all, T => put_with::<T, Sum> as StoreRange),
        Some(Op::Multiply) => with!(ty, all, T => put_with::<T, Product> as StoreRange),
        Some(Op::Maximum) => with!(ty, all, T => put_with::<T, Largest> as StoreRange),
        Some(Op::Minimum) => with!(ty, all, T => put_with::<T, Smallest> as StoreRange),
        Some(_) => None,
        None => Some(match ty.size() {
            1 => put_with::<u8, Last>,
            2 => put_with::<[u8; 2], Last>,
            4 => put_with::<[u8; 4], Last>,
            8 => put_with::<[u8; 8], Last>,
            _ => put_with::<[u8; 16], Last>,
        }),
    }
}

/// How a value is combined with the element at its position.
trait Meet<T> {
    fn meet(old: T, value: T) -> T;
}

struct Last;
impl<T> Meet<T> for Last {
    #[inline(always)]
    fn meet(_: T, value: T) -> T {
        value
    }
}

macro_rules! meets {
    ($($name:ident $method:ident;)*) => {$(
        struct $name;
        impl<T: Elem + tier0::Any> Meet<T> for $name {
            #[inline(always)]
            fn meet(old: T, value: T) -> T {
                old.$method(value)
            }
        }
    )*};
}
meets! {
    Sum add;
    Product mul;
    Largest max;
    Smallest min;
}

/// Halves are combined with the step of a scan, which raises the flag of an overflow.
macro_rules! meets_of_halves {
    ($($name:ident;)*) => {$(
        impl Meet<F16> for $name {
            #[inline(always)]
            fn meet(old: F16, value: F16) -> F16 {
                $name::step(old, value)
            }
        }
    )*};
}
meets_of_halves! {
    HalfSum;
    HalfProd;
}

/// The axes of a view from number `first` on, with the strides of another one.
fn axes(view: &View, others: &[i64], first: usize) -> SmallVec<[PairedAxis; 4]> {
    let own = view.shape.iter().zip(&view.strides).skip(first);
    own.zip(others).map(|((&n, &s), &t)| (n as usize, s as isize, t as isize)).collect()
}

/// The axes, with neighbouring ones joined if both operands allow it; at least one axis.
fn joined(axes: SmallVec<[PairedAxis; 4]>) -> SmallVec<[PairedAxis; 4]> {
    let mut out: SmallVec<[PairedAxis; 4]> = SmallVec::new();
    for axis in axes.into_iter().filter(|a| a.0 != 1) {
        match out.last_mut() {
            Some(before) if before.1 == axis.1 * axis.0 as isize && before.2 == axis.2 * axis.0 as isize => {
                *before = (before.0 * axis.0, axis.1, axis.2);
            }
            Some(_) | None => out.push(axis),
        }
    }
    if out.is_empty() {
        out.push((1, 0, 0));
    }
    out
}

/// Calls `f` with two byte offsets for each run of the last axis, in C order, from run `from` to `to`.
fn runs(axes: &[PairedAxis], from: usize, to: usize, mut f: impl FnMut(isize, isize)) {
    for run in from..to {
        let (mut rest, mut a, mut b) = (run, 0, 0);
        for &(n, s, t) in axes[..axes.len() - 1].iter().rev() {
            let i = (rest % n) as isize;
            a += i * s;
            b += i * t;
            rest /= n;
        }
        f(a, b);
    }
}

/// Copies an operand of the same shape.
fn copy(from: Operand<'_>, to: Operand<'_>, size: usize) {
    let axes = joined(axes(to.view, &from.view.strides, 0));
    let (n, s, t) = axes[axes.len() - 1];
    let count = axes[..axes.len() - 1].iter().map(|a| a.0).product();
    let mut buffer = vec![0u128; (n * size).div_ceil(16)];
    runs(&axes, 0, count, |a, b| {
        let rect = |base: *mut u8, stride| Rect { base, inner_stride: stride, outer_stride: 0, inner: n, rows: 1 };
        // SAFETY: the run lies in both operands; the buffer has room for it.
        unsafe {
            pack(rect(from.pointer().wrapping_offset(b), t), size, buffer.as_mut_ptr().cast());
            unpack(rect(to.pointer().wrapping_offset(a), s), size, buffer.as_ptr().cast());
        }
    });
}

/// See [`StoreRange`].
///
/// # Safety
/// The contract of [`StoreRange`].
unsafe fn put_with<T: Copy, M: Meet<T>>(task: &Scatter, from: usize, to: usize, low: u64, high: u64) {
    let (inner, s, t) = task.rest[task.rest.len() - 1];
    let count = task.rest[..task.rest.len() - 1].iter().map(|a| a.0).product();
    let put = |target: *mut u8, value: *const u8| {
        // SAFETY: the addresses of an element and of a value, which may lie unaligned.
        unsafe {
            let target = target.cast::<T>();
            target.write_unaligned(M::meet(target.read_unaligned(), value.cast::<T>().read_unaligned()));
        }
    };
    if let [(_, 8, t)] = task.lead[..]
        && (inner, count, low, high) == (1, 1, 0, u64::MAX)
    {
        let (last, step, output) = (task.last, task.step, task.output);
        let positions = task.positions.wrapping_add(from * 8).cast::<u64>();
        let values = task.values.wrapping_offset(from as isize * t);
        for q in 0..to - from {
            // SAFETY: one of the dense positions.
            let at = unsafe { positions.add(q).read_unaligned() }.min(last);
            put(output.wrapping_offset(at as isize * step), values.wrapping_offset(q as isize * t));
        }
        return;
    }
    // SAFETY: the caller's contract.
    unsafe {
        task.each(from, to, |at, values| {
            if at < low || at >= high {
                return true;
            }
            let target = task.output.wrapping_offset(at as isize * task.step);
            if inner == 1 && count == 1 {
                put(target, values);
                return true;
            }
            runs(&task.rest, 0, count, |a, b| {
                let (target, values) = (target.wrapping_offset(a), values.wrapping_offset(b));
                for j in 0..inner as isize {
                    put(target.wrapping_offset(j * s), values.wrapping_offset(j * t));
                }
            });
            true
        });
    }
}

/// The size of a target that stays in a core's own cache.
const IN_CACHE: u64 = 1 << 20;

/// The number of positions that a thread takes at a time.
const CHUNK: usize = 1 << 12;
