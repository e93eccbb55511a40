//! Reading and writing a few elements at once, without recording.
//!
//! In: an array, and a key that no pending work writes. Out: a new array with memory, or `None` if
//! recording is better. Recording, planning and launching take longer than a few dozen loads.

use super::columns::{AXES, Column};
use crate::array::assign;
use crate::array::operand::Operand;
use crate::numpy::convert;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::front::{self, Attached};
use crate::record::{registry, run};
use numelt::indexing::each_integer;
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt_ir::{DType, Dims, c_strides};
use numelt_runtime::{ArrayView, BaseRef, Runtime};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

/// Results of at most this many elements are read at once.
pub(super) const FEW: i64 = 4096;

/// The longest list of ints that is read here.
const LISTED: usize = 32;

/// The most indices that are read here.
const INDICES: i64 = 4096;

/// The most elements of a mask that are read here. A contiguous mask is read eight elements at a time.
const MASKED: i64 = 1 << 15;

/// The selected elements, for a key that is one array of positions or one mask along the first axis of an array
/// whose other axes are contiguous. The number of elements must be known now, so the pending work that the key
/// depends on runs.
pub fn quick(py: Python<'_>, view: &ArrayView, key: &ArrayView) -> PyResult<Option<ArrayView>> {
    if let Some((view, key)) = flat(view, key) {
        return quick(py, &view, &key);
    }
    if let Some(key) = widened(py, key)? {
        return quick(py, view, &key);
    }
    let allowed = view.shape.len() + key.shape.len() <= numelt_ir::MAX_RANK + 1;
    let dense = key.dtype == DType::I64 && shape::is_c_contiguous(&key.shape, &key.strides, 8);
    if key.shape.len() > 1 && dense && allowed {
        let line = shape::window(key, key.offset, Dims::from_slice(&[key.size()]), Dims::from_slice(&[8]));
        let picked = quick(py, view, &line)?;
        return Ok(picked.map(|picked| {
            let dims: Dims = key.shape.iter().chain(&view.shape[1..]).copied().collect();
            shape::whole(picked.base, view.dtype, &dims)
        }));
    }
    let (Some((&n, rest)), &[length]) = (view.shape.split_first(), &key.shape[..]) else { return Ok(None) };
    let itemsize = view.dtype.size() as i64;
    let row = shape::size(rest);
    let mask = key.dtype == DType::Bool;
    let fits = if mask { length == n } else { key.dtype == DType::I64 };
    let some = row > 0 && n > 0 && (1..=most(key, row)).contains(&length);
    if !fits || !some || !shape::is_c_contiguous(rest, &view.strides[1..], itemsize) {
        return Ok(None);
    }
    let pick = |keys: &[u8]| {
        if !view.base.is_readable() {
            return Ok(None);
        }
        let Some(picks) = &Picked::of(view, key, keys) else { return Ok(None) };
        if rest.is_empty() {
            return gathered(py, view, picks).map(Some);
        }
        let mut places = Distances::new();
        picks.each(|_, pick| places.push(pick));
        rows(py, view, &places)
    };
    run::look(py, &key.base, pick)?
}

/// Positions in memory of another integer dtype, converted to int64.
fn widened(py: Python<'_>, key: &ArrayView) -> PyResult<Option<ArrayView>> {
    if !key.dtype.is_integer() || key.dtype == DType::I64 || !(1..=INDICES).contains(&key.size()) {
        return Ok(None);
    }
    if !key.base.is_readable() {
        return Ok(None);
    }
    let mut positions: SmallVec<[i64; 64]> = SmallVec::new();
    each_integer(&Attached(py), key, |at| (positions.push(at), true).1)?;
    // unsigned numbers that int64 cannot hold have become negative
    if key.dtype == DType::U64 && positions.iter().any(|&at| at < 0) {
        return Ok(None);
    }
    Ok(Some(shape::whole(run::integers(&positions)?, DType::I64, &key.shape)))
}

/// The most elements of a key for rows of `row` elements.
fn most(key: &ArrayView, row: i64) -> i64 {
    if key.dtype == DType::Bool && row == 1 && key.strides[0] == 1 { MASKED } else { INDICES }
}

/// A contiguous array of several dimensions and a contiguous mask of its shape, both as vectors.
fn flat(view: &ArrayView, key: &ArrayView) -> Option<(ArrayView, ArrayView)> {
    let (itemsize, n) = (view.dtype.size() as i64, key.size());
    let whole = key.dtype == DType::Bool && view.shape.len() > 1 && key.shape == view.shape && n <= MASKED;
    let dense = |v: &ArrayView, itemsize| shape::is_c_contiguous(&v.shape, &v.strides, itemsize);
    if !whole || !dense(view, itemsize) || !dense(key, 1) {
        return None;
    }
    let one = |v: &ArrayView, step| shape::window(v, v.offset, Dims::from_slice(&[n]), Dims::from_slice(&[step]));
    Some((one(view, itemsize), one(key, 1)))
}

/// The byte distances of the elements that a key with a position for each axis selects, if the positions are vectors
/// in memory, short lists or ints.
fn pairs(py: Python<'_>, view: &ArrayView, key: &Bound<'_, PyAny>) -> PyResult<Option<Distances>> {
    let Ok(key) = key.cast_exact::<PyTuple>() else { return Ok(None) };
    if key.len() != view.shape.len() || !(2..=AXES).contains(&key.len()) {
        return Ok(None);
    }
    let mut all: SmallVec<[Column; AXES]> = SmallVec::new();
    for part in key.iter_borrowed() {
        let Some(column) = Column::of(py, &part)? else { return Ok(None) };
        all.push(column);
    }
    Ok(of_columns(view, &all))
}

/// The byte distances of the elements that positions on each axis select; `None` if their numbers differ, none is a
/// vector, or one is out of bounds.
fn of_columns(view: &ArrayView, columns: &[Column]) -> Option<Distances> {
    let length = columns.iter().find_map(Column::len)?;
    let mut listed = Distances::from_elem(0, length);
    for (column, (&n, &stride)) in columns.iter().zip(view.shape.iter().zip(&view.strides)) {
        let distance = |at: i64| numelt::rules::slicing::within(at, n).map(|at| (at * stride) as isize);
        match column {
            Column::One(at) => {
                let distance = distance(*at)?;
                listed.iter_mut().for_each(|pick| *pick += distance);
            }
            Column::Each(places) if places.len() == length => {
                for (pick, &at) in listed.iter_mut().zip(places) {
                    *pick += distance(at)?;
                }
            }
            Column::Each(_) => return None,
        }
    }
    Some(listed)
}

/// The selected elements for positions on each axis, if everything is in memory; `None` for any other key.
pub fn paired(py: Python<'_>, view: &ArrayView, key: &Bound<'_, PyAny>) -> PyResult<Option<ArrayView>> {
    if !view.base.is_readable() {
        return Ok(None);
    }
    pairs(py, view, key)?.map(|picks| gathered(py, view, &Picked::listed(&picks))).transpose()
}

/// The selected elements of an array in memory, as a vector.
fn gathered(py: Python<'_>, view: &ArrayView, picks: &Picked<'_>) -> PyResult<ArrayView> {
    let itemsize = view.dtype.size() as i64;
    let count = picks.count;
    let out = front::fresh(py, view.dtype, &[count], Dims::from_slice(&[itemsize]));
    if count == 0 {
        return Ok(out);
    }
    copied(py, view, &out.base, |from, to| {
        // SAFETY: the positions have been checked, so the elements are the array's; the new array has room for all of
        // them.
        unsafe { picks.copied(from, to, itemsize) }
    })?;
    Ok(out)
}

/// Lets `copy` fill a new base. It gets the address of the array's element at position zero, and the address of the
/// first new element.
pub(super) fn copied(
    py: Python<'_>,
    from: &ArrayView,
    to: &BaseRef,
    copy: impl FnOnce(*const u8, *mut u8),
) -> PyResult<()> {
    let copy = |source: &[u8]| {
        let source = source.as_ptr().wrapping_offset(from.offset as isize);
        run::fill(py, to, |target| copy(source, target.as_mut_ptr()))
    };
    run::look(py, &from.base, copy)?
}

/// Byte distances of elements from position zero.
pub(super) type Distances = SmallVec<[isize; 64]>;

/// Checked positions along a vector, or of elements of a matrix.
pub(super) struct Picked<'a> {
    /// The byte distances of elements, if they were computed before.
    listed: Option<&'a [isize]>,
    /// The bytes of the key's base.
    keys: &'a [u8],
    /// The offset of the key in them.
    first: isize,
    step: isize,
    length: i64,
    mask: bool,
    /// Whether some positions are negative, which count from the end.
    counts_from_end: bool,
    n: i64,
    stride: isize,
    count: i64,
}

impl<'a> Picked<'a> {
    /// The elements that a vector of positions, or a mask, selects along the first axis of an array; `None` if a
    /// position is out of bounds. `keys` are the bytes of the key's base.
    fn of(view: &ArrayView, key: &ArrayView, keys: &'a [u8]) -> Option<Picked<'a>> {
        let (n, stride) = (view.shape[0], view.strides[0] as isize);
        let (length, step) = (key.shape[0], key.strides[0] as isize);
        let (mask, first) = (key.dtype == DType::Bool, key.offset as isize);
        let (listed, count, counts_from_end) = (None, length, false);
        let mut picked = Picked { listed, keys, first, step, length, mask, counts_from_end, n, stride, count };
        if mask {
            picked.count = picked.truths();
            return Some(picked);
        }
        // Signs are gathered instead of comparing numbers, because all processors do so for several numbers at a time.
        let (mut beyond, mut signs) = (0, 0);
        picked.positions(|_, at| {
            // for numbers so large that one of the two is wrapped, the other one is negative
            beyond |= at.wrapping_add(n) | (n - 1).wrapping_sub(at);
            signs |= at;
        });
        picked.counts_from_end = signs < 0;
        (beyond >= 0).then_some(picked)
    }

    /// The elements at these byte distances, which have been checked.
    pub(super) fn listed(listed: &'a [isize]) -> Picked<'a> {
        let length = listed.len() as i64;
        Picked {
            listed: Some(listed),
            keys: &[],
            first: 0,
            step: 0,
            length,
            mask: false,
            counts_from_end: false,
            n: 0,
            stride: 0,
            count: length,
        }
    }

    /// Copies the elements one after the other.
    ///
    /// # Safety
    /// The positions are those of elements of `itemsize` bytes from `from` on. There is room for all of them at `to`,
    /// which does not overlap them. Both are aligned.
    pub(super) unsafe fn copied(&self, from: *const u8, to: *mut u8, itemsize: i64) {
        macro_rules! copy {
            ($t:ty) => {
                // SAFETY: the caller's contract.
                self.each(|at, pick| unsafe {
                    to.cast::<$t>().add(at).write(from.wrapping_offset(pick).cast::<$t>().read());
                })
            };
        }
        match itemsize {
            1 => copy!(u8),
            2 => copy!(u16),
            4 => copy!(u32),
            8 => copy!(u64),
            _ => copy!([u64; 2]),
        }
    }

    /// Stores elements that lie `step` bytes apart, from `from` on. The first of them need not be aligned.
    ///
    /// # Safety
    /// The positions are those of aligned elements of `itemsize` bytes from `to` on. As many elements are stored,
    /// which do not overlap them.
    unsafe fn store(&self, to: *mut u8, (from, step): (*const u8, isize), itemsize: usize) {
        macro_rules! store {
            ($t:ty) => {
                // SAFETY: the caller's contract.
                self.each(|at, pick| unsafe {
                    let value = from.wrapping_offset(at as isize * step).cast::<$t>().read_unaligned();
                    to.wrapping_offset(pick).cast::<$t>().write(value);
                })
            };
        }
        match itemsize {
            1 => store!(u8),
            2 => store!(u16),
            4 => store!(u32),
            8 => store!(u64),
            _ => store!([u64; 2]),
        }
    }

    /// Calls `f` with the number and the address of each element of the key.
    #[inline(always)]
    fn places(&self, mut f: impl FnMut(usize, *const u8)) {
        let first = self.keys.as_ptr().wrapping_offset(self.first);
        for at in 0..self.length as usize {
            f(at, first.wrapping_offset(at as isize * self.step));
        }
    }

    /// Calls `f` with the number and the value of each position of a key that is not a mask.
    #[inline(always)]
    fn positions(&self, mut f: impl FnMut(usize, i64)) {
        const SIZE: usize = size_of::<i64>();
        if self.step == SIZE as isize {
            let (positions, _) = self.keys[self.first as usize..][..self.length as usize * SIZE].as_chunks::<SIZE>();
            for (at, &bytes) in positions.iter().enumerate() {
                f(at, i64::from_ne_bytes(bytes));
            }
        } else {
            // SAFETY: the element is one of the key's, which lies inside its base, and it is aligned.
            self.places(|at, place| f(at, unsafe { place.cast::<i64>().read() }));
        }
    }

    /// The elements of a contiguous mask.
    fn dense(&self) -> Option<&[u8]> {
        (self.mask && self.step == 1).then(|| &self.keys[self.first as usize..][..self.length as usize])
    }

    /// How many elements a mask selects.
    fn truths(&self) -> i64 {
        let mut count = 0;
        match self.dense() {
            Some(truths) => {
                // so few at a time that a byte can count them
                let counts = truths.chunks(255).map(|some| some.iter().fold(0u8, |n, &t| n + u8::from(t != 0)));
                count = counts.map(i64::from).sum();
            }
            // SAFETY: the element is one of the key's, which lies inside its base.
            None => self.places(|_, place| count += i64::from(unsafe { place.read() } != 0)),
        }
        count
    }

    /// Calls `f` for each selected element, with how many were selected before it and its byte distance. The number is
    /// an argument, because a closure that counted itself would count in memory.
    fn each(&self, mut f: impl FnMut(usize, isize)) {
        if let Some(listed) = self.listed {
            listed.iter().enumerate().for_each(|(count, &pick)| f(count, pick));
        } else if let Some(truths) = self.dense() {
            self.each_true(truths, f);
        } else if self.mask {
            let mut count = 0;
            self.places(|at, place| {
                // SAFETY: the element is one of the key's, which lies inside its base.
                if unsafe { place.read() } != 0 {
                    f(count, at as isize * self.stride);
                    count += 1;
                }
            });
        } else if self.counts_from_end {
            self.positions(|count, at| f(count, (if at < 0 { at + self.n } else { at }) as isize * self.stride));
        } else {
            self.positions(|count, at| f(count, at as isize * self.stride));
        }
    }

    /// [`Picked::each`] for a contiguous mask.
    fn each_true(&self, truths: &[u8], mut f: impl FnMut(usize, isize)) {
        let mut words = truths.chunks_exact(8);
        let (mut count, mut pick) = (0, 0);
        for word in &mut words {
            let mut found = flags(word);
            if found == u64::MAX / 255 {
                (0..8).for_each(|at| f(count + at, pick + at as isize * self.stride));
                count += 8;
            } else {
                while found != 0 {
                    f(count, pick + (found.trailing_zeros() / 8) as isize * self.stride);
                    found &= found - 1;
                    count += 1;
                }
            }
            pick += 8 * self.stride;
        }
        for (at, _) in words.remainder().iter().enumerate().filter(|(_, truth)| **truth != 0) {
            f(count, pick + at as isize * self.stride);
            count += 1;
        }
    }
}

/// Eight bytes, each of which is one if the byte at its position is not zero, and zero otherwise.
#[inline]
fn flags(bytes: &[u8]) -> u64 {
    let Ok(bytes) = bytes.try_into() else { return 0 };
    // NumPy's bools may be any bytes, and usually are zero or one
    let word = u64::from_le_bytes(bytes);
    let ones = u64::MAX / 255;
    let low = ones * 0x7f;
    if word & !ones == 0 { word } else { ((((word & low) + low) | word) & !low) >> 7 }
}

/// Stores a number, or the elements of a vector, at positions of a vector or under a mask, all of them in memory;
/// false if that is not possible here.
pub fn set(py: Python<'_>, view: &ArrayView, key: &ArrayView, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Some((view, key)) = flat(view, key) {
        return set(py, &view, &key, value);
    }
    if let Some(key) = widened(py, key)? {
        return set(py, view, &key, value);
    }
    let (&[n], &[length]) = (view.shape.as_slice(), key.shape.as_slice()) else { return Ok(false) };
    let fits = if key.dtype == DType::Bool { length == n } else { key.dtype == DType::I64 };
    if !fits || !is_open(view) || key.base.ptr_eq(&view.base) || !(1..=most(key, 1)).contains(&length) || n == 0 {
        return Ok(false);
    }
    if !key.base.is_readable() {
        return Ok(false);
    }
    let Some(values) = Values::of(py, view, value)? else { return Ok(false) };
    let stored = run::peek(py, &key.base, |keys| {
        Picked::of(view, key, keys).is_some_and(|picks| store(py, view, &picks, &values))
    });
    Ok(stored == Some(true))
}

/// Whether elements can be stored now, because no pending work uses the old ones.
pub(super) fn is_open(view: &ArrayView) -> bool {
    view.base.is_writable() && Runtime::global().runs_at_once() && !registry::is_tangled()
}

/// [`set`] for pairs of positions in a matrix.
pub fn set_paired(
    py: Python<'_>,
    view: &ArrayView,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    if !is_open(view) {
        return Ok(false);
    }
    let (Some(picks), Some(values)) = (pairs(py, view, key)?, Values::of(py, view, value)?) else { return Ok(false) };
    Ok(store(py, view, &Picked::listed(&picks), &values))
}

/// The values to store: the elements of an array, or a number.
pub(super) enum Values<'a> {
    Each(&'a ArrayView),
    One([u8; 16]),
}

impl<'a> Values<'a> {
    /// The values of an object that is an array of this array's dtype on another base, or a number; `None` for all
    /// others.
    pub(super) fn of(py: Python<'_>, view: &ArrayView, value: &'a Bound<'_, PyAny>) -> PyResult<Option<Values<'a>>> {
        if let Some(values) = exact_native(value).and_then(NdArray::view) {
            let same = values.dtype == view.dtype && !values.base.ptr_eq(&view.base);
            return Ok(same.then_some(Values::Each(values)));
        }
        let Some(number @ (Operand::Value(_) | Operand::Weak(..))) = Operand::extract_quick(value) else {
            return Ok(None);
        };
        Ok(assign::stored_literal(py, &number, view.dtype)?.map(|stored| Values::One(stored.to_bytes())))
    }
}

/// Stores a number, or the elements of a vector, at checked positions; false if that is not possible here.
fn store(py: Python<'_>, view: &ArrayView, picks: &Picked<'_>, values: &Values<'_>) -> bool {
    let store = |from: *const u8, step: i64| {
        let (size, start, step) = (view.dtype.size(), view.offset as isize, step as isize);
        // SAFETY: the positions have been checked, so the elements are the array's; there are as many values, on
        // another base.
        let store = |to: &mut [u8]| unsafe { picks.store(to.as_mut_ptr().wrapping_offset(start), (from, step), size) };
        run::poke(py, &view.base, store).is_some()
    };
    match values {
        Values::One(bytes) => store(bytes.as_ptr(), 0),
        Values::Each(values) if values.shape[..] == [picks.count] => {
            let start = values.offset as isize;
            let stored =
                run::peek(py, &values.base, |from| store(from.as_ptr().wrapping_offset(start), values.strides[0]));
            stored == Some(true)
        }
        Values::Each(_) => false,
    }
}

/// The selected elements for a short list of Python ints along the first axis of an array whose other axes are
/// contiguous.
pub fn listed(py: Python<'_>, view: &ArrayView, key: &Bound<'_, PyList>) -> PyResult<Option<ArrayView>> {
    let Some((&n, rest)) = view.shape.split_first() else { return Ok(None) };
    let ready = view.base.is_writable() && (1..=LISTED).contains(&key.len());
    if !ready || !shape::is_c_contiguous(rest, &view.strides[1..], view.dtype.size() as i64) || shape::size(rest) == 0 {
        return Ok(None);
    }
    let Some(picks) = distances(key, (n, view.strides[0])) else { return Ok(None) };
    rows(py, view, &picks)
}

/// The byte distances along an axis with these `n` elements and this stride, for a list of ints; `None` for any other
/// list, and if one is out of bounds.
fn distances(key: &Bound<'_, PyList>, (n, stride): (i64, i64)) -> Option<Distances> {
    let mut picks = Distances::new();
    for item in key.iter() {
        let given = match convert::exact_weak(&item) {
            Some(Weak::Int(given)) => given,
            Some(_) => return None,
            None => convert::numpy_int64(&item)?,
        };
        let position = if given < 0 { given.wrapping_add(n) } else { given };
        if !(0..n).contains(&position) {
            return None;
        }
        picks.push((position * stride) as isize);
    }
    Some(picks)
}

/// Stores a number or elements at a short list of ints along a vector, or rows along an array whose rows are
/// contiguous; false if that is not possible here.
pub fn set_listed(
    py: Python<'_>,
    view: &ArrayView,
    key: &Bound<'_, PyList>,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let Some((&n, rest)) = view.shape.split_first() else { return Ok(false) };
    let count = key.len() as i64;
    if !(1..=LISTED).contains(&key.len()) || shape::size(rest) * count > FEW || !is_open(view) {
        return Ok(false);
    }
    let Some(listed) = distances(key, (n, view.strides[0])) else { return Ok(false) };
    if rest.is_empty() {
        let Some(values) = Values::of(py, view, value)? else { return Ok(false) };
        return Ok(store(py, view, &Picked::listed(&listed), &values));
    }
    let Some(values) = exact_native(value).and_then(NdArray::view) else { return Ok(false) };
    let dense = |v: &ArrayView| shape::is_c_contiguous(rest, &v.strides[1..], v.dtype.size() as i64);
    let fits = values.dtype == view.dtype && values.shape.first() == Some(&count) && values.shape[1..] == *rest;
    if !fits || values.base.ptr_eq(&view.base) || !dense(view) || !dense(values) {
        return Ok(false);
    }
    let bytes = shape::size(rest) as usize * view.dtype.size();
    // the positions have been checked against the axis, and the other axes are contiguous, so both are rows of their
    // arrays
    let copy = |from: &[u8], to: &mut [u8]| {
        for (at, pick) in (0..).zip(listed) {
            let (row, place) =
                ((values.offset + at * values.strides[0]) as usize, (view.offset as isize + pick) as usize);
            to[place..place + bytes].copy_from_slice(&from[row..row + bytes]);
        }
    };
    let done = run::peek(py, &values.base, |from| run::poke(py, &view.base, |to| copy(from, to)));
    Ok(done.flatten().is_some())
}

/// The rows at these byte distances, each of which is a row of the array, as a new array.
fn rows(py: Python<'_>, view: &ArrayView, picks: &[isize]) -> PyResult<Option<ArrayView>> {
    let itemsize = view.dtype.size() as i64;
    let row = shape::size(&view.shape[1..]);
    let count = picks.len() as i64;
    if count * row > FEW {
        return Ok(None);
    }
    let mut dims = Dims::from_slice(&view.shape);
    dims[0] = count;
    let strides = c_strides(&dims, itemsize);
    let out = front::fresh(py, view.dtype, &dims, strides);
    if count == 0 {
        return Ok(Some(out));
    }
    let bytes = (row * itemsize) as usize;
    copied(py, view, &out.base, |from, to| {
        for (at, &pick) in picks.iter().enumerate() {
            let (from, to) = (from.wrapping_offset(pick), to.wrapping_add(at * bytes));
            // SAFETY: the position has been checked against the axis, and the other axes are contiguous, so the row
            // is one of the array's. The target is a row of the new array, which has another base.
            unsafe {
                if bytes == 8 {
                    to.cast::<[u8; 8]>().write(from.cast::<[u8; 8]>().read());
                } else {
                    std::ptr::copy_nonoverlapping(from, to, bytes);
                }
            }
        }
    })?;
    Ok(Some(out))
}
