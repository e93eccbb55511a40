//! Moving elements between strided memory and dense block registers.
//!
//! In: an address with two strides and a rectangle. Out: the same elements one after the other, or the reverse.
//! Elements are moved as plain bytes of their size. Not here: conversions.

/// A rectangle of elements in memory: `rows` rows of `inner` elements.
#[derive(Clone, Copy)]
pub struct Rect {
    /// First element.
    pub base: *mut u8,
    /// Bytes between neighbours in a row.
    pub inner_stride: isize,
    /// Bytes between rows.
    pub outer_stride: isize,
    /// Elements in a row.
    pub inner: usize,
    /// Rows.
    pub rows: usize,
}

impl Rect {
    /// Whether the elements are contiguous.
    #[inline]
    pub fn is_dense(&self, size: usize) -> bool {
        (self.inner_stride == size as isize || self.inner == 1)
            && (self.rows == 1 || self.outer_stride == (self.inner * size) as isize)
    }
}

type Wide = [u64; 2];

/// Copies a rectangle of elements of `T`'s size to `dst`, row after row.
///
/// # Safety
/// The rectangle is readable, `dst` has room for it and is aligned.
#[inline(always)]
unsafe fn gather<T: Copy>(rect: Rect, dst: *mut T) {
    let mut dst = dst;
    for r in 0..rect.rows {
        // SAFETY: the caller's rectangle is readable and `dst` has room for all of it.
        unsafe {
            let row = rect.base.offset(r as isize * rect.outer_stride);
            if rect.inner_stride == size_of::<T>() as isize {
                if rect.inner < 16 {
                    for j in 0..rect.inner {
                        dst.add(j).write((row as *const T).add(j).read_unaligned());
                    }
                } else {
                    std::ptr::copy_nonoverlapping(row, dst.cast(), rect.inner * size_of::<T>());
                }
            } else if rect.inner_stride == 0 {
                let value = (row as *const T).read_unaligned();
                for j in 0..rect.inner {
                    dst.add(j).write(value);
                }
            } else if rect.inner_stride == -(size_of::<T>() as isize) {
                for j in 0..rect.inner {
                    dst.add(j).write((row as *const T).sub(j).read_unaligned());
                }
            } else if size_of::<T>() >= 4 && rect.inner_stride == 2 * size_of::<T>() as isize {
                // a stride that is known at compile time would make shuffles of loads, and too many for short elements
                for j in 0..rect.inner {
                    dst.add(j).write((row as *const T).add(2 * j).read_unaligned());
                }
            } else {
                for j in 0..rect.inner {
                    dst.add(j).write((row.offset(j as isize * rect.inner_stride) as *const T).read_unaligned());
                }
            }
            dst = dst.add(rect.inner);
        }
    }
}

/// Copies dense elements to a rectangle.
///
/// # Safety
/// The rectangle is writable, `src` holds as many elements.
#[inline(always)]
unsafe fn scatter<T: Copy>(rect: Rect, src: *const T) {
    let mut src = src;
    for r in 0..rect.rows {
        // SAFETY: the caller's rectangle is writable and `src` holds all of it.
        unsafe {
            let row = rect.base.offset(r as isize * rect.outer_stride);
            if rect.inner_stride == size_of::<T>() as isize && rect.inner >= 16 {
                std::ptr::copy_nonoverlapping(src.cast(), row, rect.inner * size_of::<T>());
            } else {
                for j in 0..rect.inner {
                    (row.offset(j as isize * rect.inner_stride) as *mut T).write_unaligned(src.add(j).read());
                }
            }
            src = src.add(rect.inner);
        }
    }
}

/// Reads a rectangle of elements of `size` bytes into dense memory.
///
/// # Safety
/// The rectangle is readable, `dst` has room and is aligned to 16 bytes, and they do not overlap.
pub unsafe fn pack(rect: Rect, size: usize, dst: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        match size {
            1 => gather::<u8>(rect, dst),
            2 => gather::<u16>(rect, dst.cast()),
            4 => gather::<u32>(rect, dst.cast()),
            8 => gather::<u64>(rect, dst.cast()),
            _ => gather::<Wide>(rect, dst.cast()),
        }
    }
}

/// Writes dense elements of `size` bytes to a rectangle, row by row.
///
/// # Safety
/// The rectangle is writable, `src` holds its elements, and they do not overlap.
pub unsafe fn unpack(rect: Rect, size: usize, src: *const u8) {
    // SAFETY: the caller's contract; a source in place has its element's alignment only.
    unsafe {
        match size {
            1 => scatter::<u8>(rect, src),
            2 => scatter::<[u8; 2]>(rect, src.cast()),
            4 => scatter::<[u8; 4]>(rect, src.cast()),
            8 => scatter::<[u8; 8]>(rect, src.cast()),
            _ => scatter::<[u8; 16]>(rect, src.cast()),
        }
    }
}

/// Fills `n` elements of `size` bytes with the element at `value`.
///
/// # Safety
/// `value` is readable for `size` bytes; `dst` has room for `n` elements and is aligned to 16 bytes.
pub unsafe fn splat(value: *const u8, size: usize, n: usize, dst: *mut u8) {
    let rect = Rect { base: value.cast_mut(), inner_stride: 0, outer_stride: 0, inner: n, rows: 1 };
    // SAFETY: the caller's contract; a stride of zero reads one element.
    unsafe { pack(rect, size, dst) }
}

/// Writes the integers `start + row * outer + column * inner` of a rectangle.
///
/// # Safety
/// `dst` has room for `inner * rows` aligned i64.
pub unsafe fn iota(start: i64, strides: (i64, i64), inner: usize, rows: usize, dst: *mut i64) {
    for r in 0..rows {
        let first = start.wrapping_add(strides.1.wrapping_mul(r as i64));
        for j in 0..inner {
            // SAFETY: the caller's room.
            unsafe { dst.add(r * inner + j).write(first.wrapping_add(strides.0.wrapping_mul(j as i64))) };
        }
    }
}
