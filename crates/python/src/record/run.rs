//! The calls of the runtime: recording, flushing with the GIL released, and reading.
//!
//! In: operations, bases and views. Out: values in memory, and guards for them. The functions named `…_past` in the
//! runtime skip its lock, because the GIL is held here.

use crate::cpython::graveyard;
use crate::numpy::errors;
use crate::record::gil::past_gil;
use crate::record::{errstate, filters, origin, registry, reports};
use numelt::rules::shape;
use numelt_ir::{Axes, DType, Op, Result, Scalar};
use numelt_runtime::{
    ArrayView, BaseRef, DeviceLoan, Export, GuardSet, Input, ReadGuard, Reason, Repeated, Runtime, Stream, WriteGuard,
};
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Appends an instruction, and runs the queue if the runtime asks for it.
#[inline]
pub fn record(py: Python<'_>, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>], axes: Axes) -> PyResult<()> {
    // SAFETY: `new` is false, so the call has no conditions.
    unsafe { record_as(py, (op, ty, axes), out, ins, false) }
}

/// Appends an instruction whose output's base the caller has just made, and runs the queue if the runtime asks for it.
///
/// # Safety
/// No other thread knows the output's base, even those that hold the GIL later.
#[inline]
pub unsafe fn record_new(py: Python<'_>, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>]) -> PyResult<()> {
    // SAFETY: the caller's contract.
    unsafe { record_as(py, (op, ty, Axes::default()), out, ins, true) }
}

/// [`record`] and [`record_new`] in one.
///
/// # Safety
/// With `new`, the conditions of [`record_new`].
#[inline(always)]
unsafe fn record_as(
    py: Python<'_>,
    what: (Op, DType, Axes),
    out: &ArrayView,
    ins: &[Input<'_>],
    new: bool,
) -> PyResult<()> {
    if registry::is_tangled()
        && let Some(copies) = apart(py, out, ins)?
    {
        let ins: Vec<_> = ins.iter().zip(&copies).map(|(&old, new)| new.as_ref().map_or(old, Input::Array)).collect();
        return record(py, what.0, what.1, out, &ins, what.2);
    }
    reports::count(what.0);
    if alone(py)? {
        return record_alone(py, what, out, ins);
    }
    // SAFETY: the GIL is held by all threads that call the runtime, except in `past_gil`, which announces itself.
    let recorded = unsafe { Runtime::global().record_past(what, out, ins, new) };
    origin::tell(py);
    match recorded {
        Ok(None) => Ok(()),
        // a part of an operation has run at once: its conditions are reported after the other parts have run
        Ok(Some(Reason::Warned)) if errstate::is_part() => Ok(()),
        Ok(Some(reason)) => flush_attached(reason, &out.base),
        Err(error) => Err(errors::to_py(error)),
    }
}

/// Records an operator with two operands, if it is the next instruction of a program that is being repeated, and if
/// its result is a new array in C order; see [`Runtime::repeat_past`]. One operand is an array of dtype `ty`, the
/// other one such an array or a literal of that dtype. The index in the result is that of the operand whose shape the
/// result has.
#[inline(always)]
pub fn repeat(py: Python<'_>, op: Op, ty: DType, ins: [Input<'_>; 2]) -> PyResult<Option<Repeated>> {
    if registry::is_tangled() || alone(py)? {
        return Ok(None);
    }
    // SAFETY: as in `record_as`.
    let repeated = unsafe { Runtime::global().repeat_past((op, ty), ins) };
    if repeated.is_some() {
        reports::count(op);
    }
    Ok(repeated)
}

/// Runs everything pending after an instruction was recorded. PyO3 may not know that the caller holds the GIL.
/// What gets no memory stays pending; that is an error only if the instruction's own result is visible outside.
#[cold]
fn flush_attached(reason: Reason, out: &BaseRef) -> PyResult<()> {
    Python::attach(|py| {
        run_recorded(py, reason, out)?;
        after_run(py)
    })
}

/// Runs everything pending. Fails only if the result must exist now, because somebody sees it, and gets no memory.
fn run_recorded(py: Python<'_>, reason: Reason, out: &BaseRef) -> PyResult<()> {
    let ran = run_pending(py, reason);
    let needed = matches!(reason, Reason::Visible | Reason::Explicit);
    if needed && !out.is_readable() { ran } else { Ok(()) }
}

/// Tells the runtime the error state for the next operation; returns whether that operation must run alone.
#[inline]
fn alone(py: Python<'_>) -> PyResult<bool> {
    Ok(errstate::is_touched(py)? && errstate::note(py)?)
}

/// Appends an instruction and runs it at once; the conditions that it meets are treated as the error state demands.
#[cold]
fn record_alone(py: Python<'_>, (op, ty, axes): (Op, DType, Axes), out: &ArrayView, ins: &[Input<'_>]) -> PyResult<()> {
    // operations that were recorded before ran under an error state of their own
    run_what_fits(py, Reason::Explicit)?;
    Runtime::global().record(op, ty, out, ins, axes).map_err(errors::to_py)?;
    let ran = run_recorded(py, Reason::Explicit, &out.base);
    filters::deliver(py)?;
    ran?;
    errstate::act(py)?;
    reports::after_flush(py)
}

/// Runs everything pending, and gives its warnings to Python.
pub fn flush(py: Python<'_>, reason: Reason) -> PyResult<()> {
    let ran = run_pending(py, reason);
    filters::deliver(py)?;
    ran?;
    after_run(py)
}

/// Runs everything pending that gets memory. What gets none stays pending, and reading it raises an error.
pub fn run_what_fits(py: Python<'_>, reason: Reason) -> PyResult<()> {
    let _ = run_pending(py, reason);
    after_run(py)
}

fn after_run(py: Python<'_>) -> PyResult<()> {
    filters::deliver(py)?;
    reports::after_flush(py)?;
    errstate::deliver(py)
}

/// Runs everything pending. Its warnings wait for the next flush.
pub fn run_pending(py: Python<'_>, reason: Reason) -> PyResult<()> {
    execute(py, reason).map_err(errors::to_py)
}

/// [`run_pending`], with the runtime's error in place of a Python exception.
pub fn execute(py: Python<'_>, reason: Reason) -> Result<()> {
    let result = match filters::apply_here() {
        true => filters::execute(py, reason),
        false => past_gil(py, |runtime| runtime.flush(reason)),
    };
    graveyard::drain(py);
    result
}

/// Copies of those inputs that share memory with `out` through another base, in the order of the inputs; `None` if
/// there are none.
#[cold]
fn apart(py: Python<'_>, out: &ArrayView, ins: &[Input<'_>]) -> PyResult<Option<Vec<Option<ArrayView>>>> {
    let shares = |input: &Input<'_>| match input {
        Input::Array(array) => registry::share(array, out),
        Input::Const(_) => false,
    };
    if !ins.iter().any(shares) {
        return Ok(None);
    }
    let copy = |input: &Input<'_>| match input {
        Input::Array(array) if shares(input) => {
            let copy = ArrayView::fresh(Runtime::global(), array.dtype, &array.shape);
            record(py, Op::Copy, array.dtype, &copy, &[Input::Array(array)], Axes::default())?;
            Ok(Some(copy))
        }
        Input::Array(_) | Input::Const(_) => Ok(None),
    };
    let copies = ins.iter().map(copy).collect::<PyResult<Vec<_>>>()?;
    run_what_fits(py, Reason::Visible)?;
    for copy in copies.iter().flatten() {
        look(py, &copy.base, |_| ())?;
    }
    Ok(Some(copies))
}

/// A new base without memory.
#[inline]
pub fn new_base(nbytes: usize) -> BaseRef {
    // SAFETY: the GIL is held, as wherever arrays are made; see `record_as`.
    unsafe { Runtime::global().new_base_past(nbytes) }
}

/// Calls `look` with the bytes of a base, if its values are valid in memory; `None` otherwise. `look` runs no Python
/// code, and makes no objects that the garbage collector tracks: until it returns, no other thread may get the GIL.
#[inline(always)]
pub fn peek<R>(_py: Python<'_>, base: &BaseRef, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
    // SAFETY: the GIL is held, and `look` does not release it.
    unsafe { base.peek(look) }
}

/// Calls `change` with the bytes of a base, if nothing pending reads or writes it and its values are valid in memory;
/// `None` otherwise. The conditions of [`peek`] for `look` hold for `change`.
#[inline(always)]
pub fn poke<R>(_py: Python<'_>, base: &BaseRef, change: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
    // SAFETY: the GIL is held, and `change` does not release it. Calls within calls are for different bases.
    unsafe { base.poke(change) }
}

/// Calls `look` with the bytes of a base, after the pending work that writes them. The conditions of [`peek`] hold.
#[inline]
pub fn look<R>(py: Python<'_>, base: &BaseRef, look: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    // SAFETY: as in `peek`.
    match unsafe { base.peek_or_else(look) } {
        Ok(seen) => Ok(seen),
        Err(look) => Ok(look(read(py, base)?.bytes())),
    }
}

/// Calls `fill` with the bytes of a base, whose old values it must not use: it writes all bytes that are read later.
/// The conditions of [`peek`] hold.
#[inline]
pub fn fill<R>(py: Python<'_>, base: &BaseRef, fill: impl FnOnce(&mut [u8]) -> R) -> PyResult<R> {
    let mut fill = Some(fill);
    let now = |bytes: &mut [u8]| fill.take().map(|fill| fill(bytes));
    // SAFETY: as in `poke`.
    let filled = unsafe { Runtime::global().overwrite_past(base, now) }.map_err(errors::to_py)?;
    match (filled.flatten(), fill) {
        (Some(filled), _) => Ok(filled),
        (None, Some(fill)) => Ok(fill(overwrite(py, base)?.bytes_mut())),
        (None, None) => unreachable!("what has been filled is full"),
    }
}

/// A guard for reading the values of a base, which may be kept while the GIL is released. Only pending work that
/// writes the base runs before.
pub fn read<'a>(py: Python<'_>, base: &'a BaseRef) -> PyResult<ReadGuard<'a>> {
    // SAFETY: the GIL is held; see `record_as`.
    if let Some(guard) = unsafe { Runtime::global().read_past(base) } {
        return Ok(guard);
    }
    let [guard] = read_all(py, [base])?;
    Ok(guard)
}

/// Guards for reading several bases at once; see [`Runtime::read_all`].
pub fn read_all<'a, const N: usize>(py: Python<'_>, bases: [&'a BaseRef; N]) -> PyResult<[ReadGuard<'a>; N]> {
    if bases.iter().any(|base| base.is_awaited()) {
        run_what_fits(py, Reason::Read)?;
    }
    guarded(py, |runtime| runtime.read_all(bases))
}

/// Guards of several bases, if all of them can be used at once: see [`Runtime::hold_past`].
pub fn hold<'a>(_py: Python<'_>, uses: &[(&'a BaseRef, bool)]) -> Option<GuardSet<'a>> {
    // SAFETY: the GIL is held; see `record_as`.
    unsafe { Runtime::global().hold_past(uses) }
}

/// A guard for changing the values of a base, which may be kept while the GIL is released. All pending work that uses
/// the base runs before.
pub fn write<'a>(py: Python<'_>, base: &'a BaseRef) -> PyResult<WriteGuard<'a>> {
    run_users(py, base)?;
    guarded(py, |runtime| runtime.write(base))
}

/// [`write()`] for a caller that writes all bytes that are read later: valid values on a device are not copied to the
/// host.
pub fn overwrite<'a>(py: Python<'_>, base: &'a BaseRef) -> PyResult<WriteGuard<'a>> {
    run_users(py, base)?;
    guarded(py, |runtime| runtime.overwrite(base))
}

/// A guard for writing all elements of a dense view; see [`overwrite`].
pub fn overwrite_view<'a>(py: Python<'_>, view: &'a ArrayView) -> PyResult<WriteGuard<'a>> {
    // the rest of the base keeps its values
    let whole = view.size() as usize * view.dtype.size() == view.base.nbytes();
    if whole { overwrite(py, &view.base) } else { write(py, &view.base) }
}

/// Runs everything pending if any of it uses a base.
pub fn run_users(py: Python<'_>, base: &BaseRef) -> PyResult<()> {
    if base.is_pending() { run_what_fits(py, Reason::Read) } else { Ok(()) }
}

/// The result of a call of the runtime that must stay on this thread, such as a guard.
fn guarded<T>(py: Python<'_>, act: impl FnOnce(&Runtime) -> Result<T> + Send) -> PyResult<T> {
    /// A value that stays on its thread.
    struct Here<T>(T);
    // SAFETY: `past_gil` calls its closure on this thread, whether it releases the GIL or not.
    unsafe impl<T> Send for Here<T> {}
    past_gil(py, |runtime| Here(act(runtime))).0.map_err(errors::to_py)
}

/// Makes a base visible outside until the export is dropped.
pub fn export(py: Python<'_>, base: &BaseRef) -> PyResult<Export> {
    let export = share(py, base)?;
    registry::enter(base);
    Ok(export)
}

/// Keeps a base's memory in place as [`export`] does, for a caller that does not make its address known.
pub fn share(py: Python<'_>, base: &BaseRef) -> PyResult<Export> {
    // SAFETY: the GIL is held; see `record_as`.
    if let Some(export) = unsafe { Runtime::global().export_past(base) } {
        return Ok(export);
    }
    run_users(py, base)?;
    guarded(py, |runtime| runtime.export(base))
}

/// Lends a base's memory on its home; see [`Runtime::lend`].
///
/// # Errors
/// `BufferError` if the device cannot lend it, and those of the runtime.
pub fn lend(py: Python<'_>, base: &BaseRef, stream: Option<Stream>) -> PyResult<DeviceLoan> {
    run_users(py, base)?;
    let loan = past_gil(py, |runtime| runtime.lend(base, stream)).map_err(errors::to_buffer_error)?;
    registry::enter_on_device(base, loan.device());
    Ok(loan)
}

/// The value of the element at a byte offset of a base.
pub fn read_scalar(py: Python<'_>, base: &BaseRef, dtype: DType, offset: i64) -> PyResult<Scalar> {
    // the offset is that of an element of a view of this base, and views lie inside their base
    let there = |bytes: &[u8]| Scalar::from_bytes(dtype, &bytes[offset as usize..][..dtype.size()]);
    match peek(py, base, there) {
        Some(value) => Ok(value),
        None => Ok(Scalar::from_bytes(dtype, &read_element(py, base, dtype, offset)?[..dtype.size()])),
    }
}

/// The bytes of the element at a byte offset of a base, after the pending work that writes it. The other elements of
/// an array that only a device has stay there.
pub fn read_element(py: Python<'_>, base: &BaseRef, dtype: DType, offset: i64) -> PyResult<[u8; 16]> {
    if base.is_awaited() {
        run_what_fits(py, Reason::Read)?;
    }
    let (mut bytes, at, size) = ([0; 16], offset as usize, dtype.size());
    let part = &mut bytes[..size];
    if let Some(guard) = guarded(py, |runtime| runtime.read_part(base, at, part))? {
        bytes[..size].copy_from_slice(&guard.bytes()[at..][..size]);
    }
    Ok(bytes)
}

/// The values of full reductions of an array, if its values are in memory, even while other work is pending; `None`
/// if the reductions have to be recorded.
pub fn fold_now(view: &ArrayView, folds: &[(Op, DType)]) -> PyResult<Option<SmallVec<[Scalar; 2]>>> {
    // two bases may share memory, so pending work on another base may write these values
    if view.base.is_foreign() && registry::is_tangled() {
        return Ok(None);
    }
    let found = Runtime::global().fold_now(folds, view).map_err(errors::to_py)?;
    if found.is_some() {
        folds.iter().for_each(|fold| reports::count(fold.0));
    }
    Ok(found)
}

/// Calls `with` with the bytes of a dense view in C order; `None` for any other view. The conditions of [`peek`]
/// hold.
pub fn on_dense<T>(py: Python<'_>, view: &ArrayView, with: impl FnOnce(&[u8]) -> T) -> PyResult<Option<T>> {
    let Some(range) = shape::dense_range(view) else { return Ok(None) };
    look(py, &view.base, |bytes| with(&bytes[range])).map(Some)
}

/// A new base of `total` bytes with the elements of dense views, one view after the other.
pub fn gathered(py: Python<'_>, views: &[ArrayView], total: usize) -> PyResult<BaseRef> {
    let base = new_base(total);
    let mut at = 0;
    for view in views {
        on_dense(py, view, |from| {
            fill(py, &base, |to| to[at..at + from.len()].copy_from_slice(from))?;
            at += from.len();
            Ok::<(), PyErr>(())
        })?
        .transpose()?;
    }
    Ok(base)
}

/// Stores a value at a byte offset of a base at once; false if work on the base is pending, which must run before. The
/// other elements of an array that only a device has stay there.
pub fn write_scalar(py: Python<'_>, base: &BaseRef, offset: i64, value: Scalar) -> PyResult<bool> {
    if base.is_pending() {
        return Ok(false);
    }
    let element = &value.to_bytes()[..value.dtype().size()];
    // the offset is that of an element of a view of this base, of the value's dtype; views lie inside their base
    let store = |bytes: &mut [u8]| bytes[offset as usize..][..element.len()].copy_from_slice(element);
    if poke(py, base, store).is_none() {
        run_users(py, base)?;
        if let Some(mut guard) = guarded(py, |runtime| runtime.write_part(base, offset as usize, element))? {
            store(guard.bytes_mut());
        }
    }
    Ok(true)
}

/// A matrix product of at most this many multiplications runs at once (see [`Runtime::call_now`]).
const AT_ONCE: i64 = 1 << 18;

/// Runs a matrix product of small operands at once, or records it.
pub fn product(py: Python<'_>, op: Op, ty: DType, out: &ArrayView, ins: [&ArrayView; 2]) -> PyResult<()> {
    let work = out.size() * ins[0].shape.last().copied().unwrap_or(1);
    let plain = work <= AT_ONCE && out.dtype == ty && ins.iter().all(|v| v.dtype == ty);
    // SAFETY: the GIL is held; see `record_as`.
    let now = || unsafe { Runtime::global().call_now((op, ty, Axes::default()), out, &ins) };
    if plain && !alone(py)? && now().map_err(errors::to_py)? {
        reports::count(op);
        return Ok(());
    }
    record(py, op, ty, out, &[Input::Array(ins[0]), Input::Array(ins[1])], Axes::default())
}

/// A new array of at most this many elements is filled, copied or scanned at once, if small operations run at once.
const FILLED: i64 = 2048;

/// A new base that holds one value for each element of a shape; `None` if that has to be recorded.
pub fn new_filled(dims: &[i64], value: Scalar) -> Option<BaseRef> {
    let n = shape::size(dims);
    if !(1..=FILLED).contains(&n) {
        return None;
    }
    // SAFETY: the GIL is held; see `record_as`.
    let base =
        unsafe { Runtime::global().prepared_past(n as usize * value.dtype().size(), |all| write_all(all, value)) }?;
    reports::count(Op::Copy);
    Some(base)
}

/// A new base with the elements of a small dense view in C order, copied at once; `None` if that has to be recorded.
pub fn copy_of_few(py: Python<'_>, view: &ArrayView) -> Option<BaseRef> {
    if !(1..=FILLED).contains(&view.size()) || registry::is_tangled() {
        return None;
    }
    let range = shape::dense_range(view)?;
    let copy = |from: &[u8]| {
        // SAFETY: the GIL is held; see `record_as`.
        unsafe { Runtime::global().prepared_past(range.len(), |to| to.copy_from_slice(&from[range])) }
    };
    let base = peek(py, &view.base, copy)??;
    reports::count(Op::Copy);
    Some(base)
}

/// Sets all elements of a small dense view to one value at once; false if that has to be recorded.
pub fn overwrite_few(py: Python<'_>, view: &ArrayView, value: Scalar) -> bool {
    if view.size() > FILLED || view.dtype != value.dtype() || !Runtime::global().runs_at_once() {
        return false;
    }
    let Some(range) = shape::dense_range(view) else { return false };
    let done = poke(py, &view.base, |bytes| write_all(&mut bytes[range], value)).is_some();
    if done {
        reports::count(Op::Copy);
    }
    done
}

/// A vector of at most this many elements is copied at once.
const COPIED: i64 = 64;

/// Copies a short vector to another one of its dtype and length at once; false if that has to be recorded.
pub fn copy_few(py: Python<'_>, target: &ArrayView, source: &ArrayView) -> bool {
    let (&[n], &[step]) = (target.shape.as_slice(), target.strides.as_slice()) else { return false };
    let (&[length], &[from_step]) = (source.shape.as_slice(), source.strides.as_slice()) else { return false };
    let plain = n == length && n <= COPIED && target.dtype == source.dtype && !target.base.ptr_eq(&source.base);
    if !plain || registry::is_tangled() || !Runtime::global().runs_at_once() {
        return false;
    }
    let copy = |from: &[u8], to: &mut [u8]| {
        let (to, from) = (to.as_mut_ptr(), from.as_ptr());
        // SAFETY: views lie inside their bases. Different bases have different memory unless the registry is tangled.
        unsafe {
            let (to, from) = (to.offset(target.offset as isize), from.offset(source.offset as isize));
            match target.dtype.size() {
                1 => step_copy::<u8>((to, step), (from, from_step), n),
                2 => step_copy::<u16>((to, step), (from, from_step), n),
                4 => step_copy::<u32>((to, step), (from, from_step), n),
                8 => step_copy::<u64>((to, step), (from, from_step), n),
                _ => step_copy::<[u64; 2]>((to, step), (from, from_step), n),
            }
        }
    };
    let done = peek(py, &source.base, |from| poke(py, &target.base, |to| copy(from, to)));
    if done.flatten().is_none() {
        return false;
    }
    reports::count(Op::Copy);
    true
}

/// Copies `n` elements; each step is the number of bytes from one element to the next.
///
/// # Safety
/// All these elements lie in valid memory, and no element that is written is also read.
unsafe fn step_copy<T: Copy>((to, step): (*mut u8, i64), (from, from_step): (*const u8, i64), n: i64) {
    for at in 0..n as isize {
        // SAFETY: the caller's contract.
        unsafe {
            let value = from.offset(at * from_step as isize).cast::<T>().read_unaligned();
            to.offset(at * step as isize).cast::<T>().write_unaligned(value);
        }
    }
}

/// Writes a value to each element of memory whose elements have its dtype.
fn write_all(memory: &mut [u8], value: Scalar) {
    let bytes = value.to_bytes();
    match value.dtype().size() {
        1 => memory.fill(bytes[0]),
        2 => write_each::<2>(memory, &bytes),
        4 => write_each::<4>(memory, &bytes),
        8 => write_each::<8>(memory, &bytes),
        _ => write_each::<16>(memory, &bytes),
    }
}

/// Writes the first `SIZE` bytes of an element to each element of memory.
fn write_each<const SIZE: usize>(memory: &mut [u8], element: &[u8]) {
    let element: [u8; SIZE] = std::array::from_fn(|at| element[at]);
    memory.as_chunks_mut().0.fill(element);
}

/// A new base whose elements, as bytes, are a function of their position; `None` if that has to be
/// recorded.
pub fn new_written<const SIZE: usize>(op: Op, n: i64, element: impl Fn(i64) -> [u8; SIZE]) -> Option<BaseRef> {
    if !(1..=FILLED).contains(&n) {
        return None;
    }
    let write = |memory: &mut [u8]| {
        for (at, place) in (0..).zip(memory.as_chunks_mut().0) {
            *place = element(at);
        }
    };
    // SAFETY: the GIL is held; see `record_as`.
    let base = unsafe { Runtime::global().prepared_past(n as usize * SIZE, write) }?;
    reports::count(op);
    Some(base)
}

/// A new base of `n` elements of eight bytes, all zero, which `add` changes; `None` if that has to be recorded. `add`
/// does not call the runtime.
pub fn new_summed(n: usize, add: impl FnOnce(&mut [[u8; 8]])) -> Option<BaseRef> {
    let write = |memory: &mut [u8]| {
        memory.fill(0);
        add(memory.as_chunks_mut().0);
    };
    // SAFETY: the GIL is held; see `record_as`.
    unsafe { Runtime::global().prepared_past(8 * n, write) }
}

/// Sets all elements of a new small array to one value at once; false if that has to be recorded.
pub fn fill_new(py: Python<'_>, view: &ArrayView, value: Scalar) -> PyResult<bool> {
    let nbytes = view.size() as usize * view.dtype.size();
    let own = !view.base.is_foreign() && !view.base.is_pending() && nbytes <= view.base.nbytes();
    if view.size() > FILLED || !own || !Runtime::global().runs_at_once() {
        return Ok(false);
    }
    fill(py, &view.base, |memory| write_all(&mut memory[..nbytes], value))?;
    reports::count(Op::Copy);
    Ok(true)
}

/// Runs a scan of few elements into a new array at once, or records it.
pub fn scan(py: Python<'_>, what: (Op, DType, Axes), out: &ArrayView, source: &ArrayView) -> PyResult<()> {
    let runtime = Runtime::global();
    let few = out.size() <= FILLED && out.base.is_blank() && runtime.runs_at_once();
    // SAFETY: the GIL is held; see `record_as`.
    let now = || unsafe { runtime.call_now(what, out, &[source]) };
    if few && !alone(py)? && !registry::is_tangled() && now().map_err(errors::to_py)? {
        reports::count(what.0);
        return Ok(());
    }
    record(py, what.0, what.1, out, &[Input::Array(source)], what.2)
}

/// A new base that holds these integers.
pub fn integers(values: &[i64]) -> PyResult<BaseRef> {
    // SAFETY: integers have no padding.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
    Runtime::global().filled(bytes).map_err(errors::to_py)
}

/// Fills a base with these bytes. It is a new base of our own, for which nothing has been recorded yet.
pub fn set_bytes(py: Python<'_>, base: &BaseRef, bytes: &[u8]) -> PyResult<()> {
    assert!(bytes.len() <= base.nbytes() && !base.is_foreign() && !base.is_pending());
    fill(py, base, |memory| memory[..bytes.len()].copy_from_slice(bytes))
}
