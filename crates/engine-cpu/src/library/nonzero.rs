//! Positions of the elements that are not zero.
//!
//! In: an operand of any dtype and strides. Out: one row of indices per true element, in C order. There are two passes:
//! the first counts the true elements of each piece of the operand, the second writes each piece's rows behind those of
//! the pieces before it. Both run on all threads.

use crate::isa::{Isa, versions};
use crate::threads::Threads;
use crate::tier0::{Func, Rect, pack, select_cast};
use numelt_ir::{DType, Error, Result};
use numelt_runtime::LibraryCall;
use smallvec::SmallVec;

/// The elements of a piece.
const PIECE: usize = 1 << 15;
/// The number of elements whose truth values are computed at a time.
const BLOCK: usize = 512;

/// The number of elements whose positions are found at a time, a power of two.
const GROUP: usize = 64;
/// The number of elements that are tested together for true ones.
const STRETCH: usize = 512;

/// See [`places`].
type Places = unsafe fn(*const u8, usize, i64, *mut i64, usize, *mut usize);

/// The operand and the result as the threads see them.
struct NonzeroOperands {
    input: *const u8,
    dtype: DType,
    /// Extents and byte strides of the operand, without its last axis.
    outer: SmallVec<[(usize, isize); 4]>,
    /// The last axis; one element if there is none.
    inner: (usize, isize),
    /// The conversion from an element to a truth value, zero or one; `None` for bool, whose bytes are truth values.
    truth: Option<Func>,
    /// Finds the positions of the true elements of a stretch.
    places: Places,
    output: *mut u8,
    rows: usize,
    row_stride: isize,
    column_stride: isize,
    rank: usize,
}

// SAFETY: the addresses are read, or written at rows that each belong to one piece.
unsafe impl Sync for NonzeroOperands {}

/// Runs the call.
pub fn run(call: &LibraryCall<'_>, threads: &Threads, isa: Isa) -> Result<()> {
    let (input, out) = (call.ins[0], call.out);
    if out.view.rank() != 2 || out.view.dtype != DType::I64 || out.view.shape[1] != input.view.rank() as i64 {
        return Err(Error::Invalid("nonzero: a result of another form".into()));
    }
    let axes: SmallVec<[(usize, isize); 4]> =
        input.view.shape.iter().zip(&input.view.strides).map(|(&n, &s)| (n as usize, s as isize)).collect();
    let (inner, outer) = axes.split_last().map_or(((1, 0), &[][..]), |(last, rest)| (*last, rest));
    let dtype = input.view.dtype;
    let task = NonzeroOperands {
        input: input.pointer(),
        dtype,
        outer: SmallVec::from_slice(outer),
        inner,
        truth: if dtype == DType::Bool { None } else { Some(select_cast(dtype, DType::Bool, isa)?) },
        places: pick_places(isa),
        output: out.pointer(),
        rows: out.view.shape[0] as usize,
        row_stride: out.view.strides[0] as isize,
        column_stride: out.view.strides[1] as isize,
        rank: input.view.rank(),
    };
    task.run(threads, input.view.size() as usize);
    Ok(())
}

impl NonzeroOperands {
    fn run(&self, threads: &Threads, size: usize) {
        let pieces = size.div_ceil(PIECE);
        let write = |piece: usize, mut row: usize| {
            self.blocks(piece, size, &mut |at, truths| row += self.write(at, truths, row));
            row
        };
        let work = size as u64 / 4;
        let total = if pieces == 1 || threads.shares(work) == 1 {
            (0..pieces).fold(0, |row, piece| write(piece, row))
        } else {
            let mut starts = vec![0usize; pieces];
            let slots = Slots(starts.as_mut_ptr());
            threads.parallel(pieces, work, &|range| {
                for piece in range {
                    let mut count = 0;
                    self.blocks(piece, size, &mut |_, truths| count += count_of(truths));
                    // SAFETY: each piece has a slot of its own.
                    unsafe { slots.set(piece, count) };
                }
            });
            let mut total = 0;
            for start in &mut starts {
                total += std::mem::replace(start, total);
            }
            threads.parallel(pieces, work + total.min(self.rows) as u64, &|range| {
                for piece in range {
                    write(piece, starts[piece]);
                }
            });
            total
        };
        let (outer, last) = self.index(0);
        for row in total..self.rows {
            self.put(row, &outer, last);
        }
    }

    /// Calls `f` for each stretch of a piece, with its flat position and its truth values (bytes; not zero is true). A
    /// stretch is within one run of the last axis.
    fn blocks(&self, piece: usize, size: usize, f: &mut dyn FnMut(usize, &[u8])) {
        let mut raw = AlignedBytes([0u8; BLOCK * 16]);
        let mut truths = AlignedBytes([0u8; BLOCK]);
        let (mut at, end) = (piece * PIECE, ((piece + 1) * PIECE).min(size));
        let in_place = self.truth.is_none() && (self.inner.1 == 1 || self.inner.0 == 1);
        let most = if in_place { PIECE } else { BLOCK };
        while at < end {
            let (row, column) = (at / self.inner.0, at % self.inner.0);
            let row = self.row(row);
            let stop = (at - column + self.inner.0).min(end);
            let mut column = column;
            while at < stop {
                let n = (stop - at).min(most);
                let base = row.wrapping_offset(column as isize * self.inner.1).cast_mut();
                if in_place {
                    // SAFETY: the stretch lies in the operand, one byte after the other.
                    f(at, unsafe { std::slice::from_raw_parts(base, n) });
                } else {
                    let rect = Rect { base, inner_stride: self.inner.1, outer_stride: 0, inner: n, rows: 1 };
                    // SAFETY: the stretch lies in the operand; the buffers have room for a block.
                    unsafe { self.truths(rect, &mut raw, &mut truths.0) };
                    f(at, &truths.0[..n]);
                }
                at += n;
                column += n;
            }
        }
    }

    /// # Safety
    /// The rectangle is one readable row of at most [`BLOCK`] elements.
    unsafe fn truths(&self, rect: Rect, raw: &mut AlignedBytes<{ BLOCK * 16 }>, truths: &mut [u8; BLOCK]) {
        let size = self.dtype.size();
        // SAFETY: the caller's rectangle; `raw` has room for a block of the largest elements.
        unsafe {
            let source = if rect.is_dense(size) {
                rect.base.cast_const()
            } else {
                pack(rect, size, raw.0.as_mut_ptr());
                raw.0.as_ptr()
            };
            match self.truth {
                Some(cast) => cast.call([source; 3], truths.as_mut_ptr(), rect.inner),
                None => std::ptr::copy_nonoverlapping(source, truths.as_mut_ptr(), rect.inner),
            }
        }
    }

    /// The first element of a run of the last axis.
    fn row(&self, number: usize) -> *const u8 {
        let mut rest = number;
        let mut at = self.input;
        for &(n, stride) in self.outer.iter().rev() {
            at = at.wrapping_offset((rest % n) as isize * stride);
            rest /= n;
        }
        at
    }

    /// Writes the rows of a stretch's true elements, and returns their number.
    fn write(&self, at: usize, truths: &[u8], mut row: usize) -> usize {
        let first = row;
        let room = self.rows.saturating_sub(row);
        if self.rank == 1 && self.row_stride == 8 {
            let to = self.output.wrapping_add(row * 8).cast::<i64>();
            let mut found = 0;
            // SAFETY: as many rows of the result as are left of this stretch's.
            unsafe { (self.places)(truths.as_ptr(), truths.len(), at as i64, to, room, &raw mut found) };
            return found;
        }
        let (outer, last) = self.index(at);
        let mut places = [0i64; BLOCK];
        for (block, at) in truths.chunks(BLOCK).zip((last..).step_by(BLOCK)) {
            let mut found = 0;
            // SAFETY: there is a place for each element of the block.
            unsafe { (self.places)(block.as_ptr(), block.len(), at, places.as_mut_ptr(), BLOCK, &raw mut found) };
            let keep = found.min(self.rows.saturating_sub(row));
            places[..keep].iter().zip(row..).for_each(|(&last, row)| self.put(row, &outer, last));
            row += found;
        }
        row - first
    }

    /// The multi-index of a flat position: that of its run of the last axis, and the position in the run.
    fn index(&self, position: usize) -> (SmallVec<[i64; 4]>, i64) {
        let of = |at: usize, n: usize| at.checked_rem(n).unwrap_or(0) as i64;
        let mut rest = position.checked_div(self.inner.0).unwrap_or(0);
        let mut outer: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.outer.len());
        for (index, &(n, _)) in outer.iter_mut().zip(&self.outer).rev() {
            *index = of(rest, n);
            rest = rest.checked_div(n).unwrap_or(0);
        }
        (outer, of(position, self.inner.0))
    }

    /// Writes a multi-index to a row. For an array without axes, there is nothing to write.
    fn put(&self, row: usize, outer: &[i64], last: i64) {
        let start = self.output.wrapping_offset(row as isize * self.row_stride);
        for (column, &index) in outer.iter().chain([&last]).take(self.rank).enumerate() {
            let to = start.wrapping_offset(column as isize * self.column_stride).cast::<i64>();
            // SAFETY: an element of the result, which belongs to the caller's piece.
            unsafe { to.write(index) };
        }
    }
}

/// The number of true values.
fn count_of(truths: &[u8]) -> usize {
    truths.chunks(128).map(|some| usize::from(some.iter().map(|&t| u8::from(t != 0)).sum::<u8>())).sum()
}

/// Whether a truth value is true.
#[inline(always)]
fn any(truths: &[u8]) -> bool {
    truths.iter().fold(0, |any, t| any | t) != 0
}

/// Writes the positions of the true ones of `n` elements, of which the first has position `first`, one after the other,
/// but at most `room` of them; and writes how many there are.
///
/// Masks often have one value for long stretches.
///
/// # Safety
/// `n` bytes are readable, `room` places writable, and so is the number.
#[inline(always)]
unsafe fn places(truths: *const u8, n: usize, first: i64, to: *mut i64, room: usize, found: *mut usize) {
    // SAFETY: the caller's bytes.
    let truths = unsafe { std::slice::from_raw_parts(truths, n) };
    let mut count = 0;
    for (stretch, skipped) in truths.chunks(STRETCH).zip((0..).step_by(STRETCH)) {
        if !any(stretch) {
            continue;
        }
        for (group, at) in stretch.chunks(GROUP).zip((first + skipped..).step_by(GROUP)) {
            if !any(group) {
                continue;
            }
            let mut left = bits_of(group);
            let here = left.count_ones() as usize;
            let keep = here.min(room.saturating_sub(count));
            let to = to.wrapping_add(count);
            count += here;
            // SAFETY: as many places as there is room for.
            unsafe {
                if keep == GROUP {
                    (0..GROUP).for_each(|k| to.add(k).write(at + k as i64));
                    continue;
                }
                for k in 0..keep {
                    to.add(k).write(at + i64::from(left.trailing_zeros()));
                    left &= left.wrapping_sub(1);
                }
            }
        }
    }
    // SAFETY: the caller's number.
    unsafe { found.write(count) };
}

versions!(
    two pick_places, places, [],
    (truths: *const u8, n: usize, first: i64, to: *mut i64, room: usize, found: *mut usize));

/// The truth values of at most one group, one bit each.
#[inline(always)]
fn bits_of(truths: &[u8]) -> u64 {
    match <&[u8; GROUP]>::try_from(truths) {
        Ok(all) => bits_of_all(all),
        Err(_) => {
            let mut all = [0; GROUP];
            all[..truths.len()].copy_from_slice(truths);
            bits_of_all(&all)
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn bits_of_all(truths: &[u8; GROUP]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128};
    let mut zeros = 0;
    for (part, at) in truths.as_chunks::<16>().0.iter().zip((0..).step_by(16)) {
        // SAFETY: sixteen readable bytes; every x86-64 processor has the instructions.
        let mask =
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(part.as_ptr().cast()), _mm_setzero_si128())) };
        zeros |= (mask as u64) << at;
    }
    !zeros
}

#[cfg(not(target_arch = "x86_64"))]
fn bits_of_all(truths: &[u8; GROUP]) -> u64 {
    let mut all = 0;
    for (eight, at) in truths.as_chunks::<8>().0.iter().zip((0..).step_by(8)) {
        let ones = eight.map(|t| u8::from(t != 0));
        // the product collects the last bits of all bytes at the top
        all |= (u64::from_le_bytes(ones).wrapping_mul(0x0102_0408_1020_4080) >> 56) << at;
    }
    all
}

#[repr(align(64))]
struct AlignedBytes<const N: usize>([u8; N]);

/// The counts while the threads fill them.
struct Slots(*mut usize);

// SAFETY: each slot is written by one thread.
unsafe impl Sync for Slots {}

impl Slots {
    /// # Safety
    /// The slot exists and no other thread touches it.
    unsafe fn set(&self, slot: usize, value: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.add(slot).write(value) };
    }
}
