//! Matrices in memory, and dense copies of them.

use crate::lines::Lines;
use crate::tier0::{Rect, pack, unpack};

/// A matrix in memory: address and byte strides.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub base: *mut u8,
    pub row: isize,
    pub column: isize,
}

impl Matrix {
    /// Its transpose.
    pub fn turned(self) -> Matrix {
        Matrix { row: self.column, column: self.row, ..self }
    }
}

/// Copies a matrix of elements of `size` bytes into dense memory.
pub(super) fn dense(m: Matrix, (rows, columns): (usize, usize), by_columns: bool, size: usize) -> (Lines, Matrix) {
    let mut room = Lines::new(rows * columns * size);
    let (base, step) = (room.as_ptr(), size as isize);
    let rect = Rect { base: m.base, inner_stride: m.column, outer_stride: m.row, inner: columns, rows };
    // SAFETY: the matrix is readable, the room holds all of it.
    unsafe {
        if by_columns {
            let rect = Rect { inner_stride: m.row, outer_stride: m.column, inner: rows, rows: columns, ..rect };
            pack(rect, size, base);
            return (room, Matrix { base, row: step, column: step * rows as isize });
        }
        pack(rect, size, base);
    }
    (room, Matrix { base, row: step * columns as isize, column: step })
}

/// Writes a matrix by way of a dense copy.
pub(super) fn through_dense(
    out: Matrix,
    (rows, columns): (usize, usize),
    by_columns: bool,
    size: usize,
    write: impl FnOnce(Matrix),
) {
    let mut room = Lines::new(rows * columns * size);
    let (base, step) = (room.as_ptr(), size as isize);
    let (dense, rect) = if by_columns {
        let rect = Rect { base: out.base, inner_stride: out.row, outer_stride: out.column, inner: rows, rows: columns };
        (Matrix { base, row: step, column: step * rows as isize }, rect)
    } else {
        let rect = Rect { base: out.base, inner_stride: out.column, outer_stride: out.row, inner: columns, rows };
        (Matrix { base, row: step * columns as isize, column: step }, rect)
    };
    write(dense);
    // SAFETY: the output is writable, the room holds all of it.
    unsafe { unpack(rect, size, base) };
}
