//! Writing elements by position.
//!
//! In: a target, values, positions. Out: the target with the values at their positions, or combined with what is
//! there. Equal positions take their values in order, on any number of threads: ascending positions are shared as
//! they come, others by where they lead.

use crate::threads::Threads;
use crate::tier0::{self, Elem, Rect, pack, unpack, with};
use numelt_ir::{DType, Error, Op, Result, View};
use numelt_runtime::{LibraryCall, Operand};
use smallvec::SmallVec;

/// Extent, and strides of two operands that are walked together.
type Axis = (usize, isize, isize);

/// Writes the values number `from` to `to` whose positions are in `low..high`.
///
/// # Safety
/// The task's operands are valid, and no other thread writes positions in `low..high` meanwhile.
type Put = unsafe fn(&Task, from: usize, to: usize, low: u64, high: u64);

struct Task {
    put: Put,
    /// Largest position, and bytes from one to the next.
    last: u64,
    step: isize,
    output: *mut u8,
    values: *const u8,
    positions: *const u8,
    /// Axes of the positions: strides of positions and values.
    lead: SmallVec<[Axis; 4]>,
    count: usize,
    /// The other axes: strides of target and values.
    rest: SmallVec<[Axis; 4]>,
}

// SAFETY: threads write disjoint elements: see `run`.
unsafe impl Sync for Task {}

/// Runs the call.
pub fn run(call: &LibraryCall<'_>, threads: &Threads) -> Result<()> {
    let [target, values, positions] = call.ins else { return Err(Error::Invalid("scatter of three operands".into())) };
    let (out, size) = (call.out, call.ty.size());
    let typed = [target.view, values.view, out.view].iter().all(|v| v.dtype == call.ty);
    let rank = positions.view.rank();
    if !typed || !matches!(positions.view.dtype, DType::I64 | DType::U64) || values.view.rank() < rank {
        return Err(Error::Invalid("scatter: operands of another form".into()));
    }
    if target.pointer != out.pointer || target.view.strides != out.view.strides {
        copy(*target, out, size);
    }
    if values.view.size() == 0 {
        return Ok(());
    }
    let lead = joined(axes(positions.view, &values.view.strides[..rank], 0));
    let rest = joined(axes(out.view, &values.view.strides[rank..], 1));
    let put =
        put_of(call.op, call.ty).ok_or_else(|| Error::Unsupported(format!("{} of {}", call.op.name(), call.ty)))?;
    let task = Task {
        put,
        last: out.view.shape[0] as u64 - 1,
        step: out.view.strides[0] as isize,
        output: out.pointer,
        values: values.pointer,
        positions: positions.pointer,
        count: positions.view.size() as usize,
        lead,
        rest,
    };
    // SAFETY: the runtime promises the operands' memory; the shapes fit each other.
    unsafe { task.run(threads) };
    Ok(())
}

/// The function that writes values of a dtype.
fn put_of(op: Op, ty: DType) -> Option<Put> {
    match op.scatter_step()? {
        Some(Op::Add) => with!(ty, all, T => put_with::<T, Sum> as Put),
        Some(Op::Multiply) => with!(ty, all, T => put_with::<T, Product> as Put),
        Some(Op::Maximum) => with!(ty, all, T => put_with::<T, Largest> as Put),
        Some(Op::Minimum) => with!(ty, all, T => put_with::<T, Smallest> as Put),
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

/// What becomes of an element that a value comes to.
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

/// The axes of a view from number `first` on, with the strides of another.
fn axes(view: &View, others: &[i64], first: usize) -> SmallVec<[Axis; 4]> {
    let own = view.shape.iter().zip(&view.strides).skip(first);
    own.zip(others).map(|((&n, &s), &t)| (n as usize, s as isize, t as isize)).collect()
}

/// Neighbouring axes that both operands walk as one, joined; at least one axis.
fn joined(axes: SmallVec<[Axis; 4]>) -> SmallVec<[Axis; 4]> {
    let mut out: SmallVec<[Axis; 4]> = SmallVec::new();
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

/// Calls `f` with two byte offsets for every run of the last axis, in C order, from run `from` to `to`.
fn runs(axes: &[Axis], from: usize, to: usize, mut f: impl FnMut(isize, isize)) {
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
            pack(rect(from.pointer.wrapping_offset(b), t), size, buffer.as_mut_ptr().cast());
            unpack(rect(to.pointer.wrapping_offset(a), s), size, buffer.as_ptr().cast());
        }
    });
}

impl Task {
    /// # Safety
    /// Every position up to the last leads to writable elements; values and positions are readable.
    unsafe fn run(&self, threads: &Threads) {
        let each: usize = self.rest.iter().map(|a| a.0).product();
        let work = self.count as u64 * (2 + each as u64 / 2);
        let shares = threads.shares(work);
        // Picking out one's own of positions in no order costs a mispredicted branch each, more than writing one
        // element in cache does.
        let alone = each < 8 && (self.last + 1).saturating_mul(self.step.unsigned_abs() as u64) < IN_CACHE;
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

    /// Where position number `q` lies, and the values for it.
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

    /// Is every position larger than the one before it?
    ///
    /// # Safety
    /// The positions are readable.
    unsafe fn ascends(&self) -> bool {
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
}

/// See [`Put`].
///
/// # Safety
/// The contract of [`Put`].
unsafe fn put_with<T: Copy, M: Meet<T>>(task: &Task, from: usize, to: usize, low: u64, high: u64) {
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

/// Bytes of a target that stay in a core's own cache.
const IN_CACHE: u64 = 1 << 20;

/// Positions that a thread takes at a time.
const CHUNK: usize = 1 << 12;
