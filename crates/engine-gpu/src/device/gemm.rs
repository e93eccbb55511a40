//! Matrix products as BLAS describes them.
//!
//! In: the extents and byte strides of stacks of matrices. Out: for each matrix whether BLAS can read it, and as what:
//! BLAS stores matrices by columns, with a fixed number of elements from one column to the next, and may read one
//! transposed. Not here: memory, libraries, and matrices of other forms, which `products.rs` copies.

use numelt_ir::{DType, Dims, View};

/// A stack of matrices: where its first element is in its memory, and its strides, all in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The position of the first element.
    pub offset: i64,
    /// The strides of the axes along which matrices are stacked.
    pub batch: Dims,
    /// From one row to the next.
    pub row: i64,
    /// From one column to the next.
    pub column: i64,
}

/// How a matrix lies in memory, if it is one that BLAS can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Elements from the start of a line to that of the next.
    pub leading: usize,
    /// Whether its rows are the lines of contiguous elements, and not its columns.
    pub by_rows: bool,
}

impl Stack {
    /// The stack that a view of at least two axes is, whose first element is at this position.
    pub fn of(view: &View, offset: i64) -> Stack {
        let lead = view.rank() - 2;
        Stack {
            offset,
            batch: Dims::from_slice(&view.strides[..lead]),
            row: view.strides[lead],
            column: view.strides[lead + 1],
        }
    }

    /// A stack of this shape that lies densely at the start of its memory, by rows. Axes along which another stack
    /// repeats its matrices have a stride of zero here, too. The second value is the number of its elements.
    pub fn dense(shape: &[i64], other: &Stack, size: i64) -> (Stack, i64) {
        let (batch, matrix) = shape.split_at(shape.len() - 2);
        let mut elements = matrix[0] * matrix[1];
        let mut strides = Dims::from_elem(0, batch.len());
        for axis in (0..batch.len()).rev().filter(|&axis| other.batch[axis] != 0) {
            strides[axis] = elements * size;
            elements *= batch[axis];
        }
        (Stack { offset: 0, batch: strides, row: matrix[1] * size, column: size }, elements)
    }

    /// How its matrices of this many rows and columns lie in memory; `None` if BLAS cannot read them, or not in the
    /// order of the stack.
    pub fn lines(&self, (rows, columns): (i64, i64), size: i64) -> Option<Lines> {
        let is_step = |stride: &i64| *stride >= 0 && stride % size == 0;
        if self.offset % size != 0 || !self.batch.iter().all(is_step) {
            return None;
        }
        let leading = |far: i64, near: i64, lines: i64, elements: i64| {
            let leading = if lines == 1 { elements } else { far / size };
            let fits = (near == size || elements == 1) && (lines == 1 || far % size == 0) && leading >= elements;
            (fits && leading > 0).then_some(leading as usize)
        };
        let by_rows = leading(self.row, self.column, rows, columns);
        let by_columns = || leading(self.column, self.row, columns, rows);
        let lines = |leading, by_rows| Lines { leading, by_rows };
        by_rows.map(|leading| lines(leading, true)).or_else(|| by_columns().map(|leading| lines(leading, false)))
    }
}

/// A stack of matrices as BLAS reads it, in elements.
#[derive(Debug)]
pub struct Factor<'a, M> {
    /// Where it is stored.
    pub memory: &'a M,
    /// The first element.
    pub offset: usize,
    /// From one column to the next.
    pub leading: usize,
    /// From one matrix of the stack to the next; zero repeats a factor.
    pub step: usize,
    /// Whether the transposed matrix is meant.
    pub transposed: bool,
}

/// Products of two stacks of matrices that are stored by columns: `out = left right`, whatever was in `out` before.
#[derive(Debug)]
pub struct Gemm<'a, M> {
    /// f32, f64, or complex numbers of these.
    pub dtype: DType,
    /// Rows of the results.
    pub m: usize,
    /// Columns of the results.
    pub n: usize,
    /// The products that are added for each element, at least one.
    pub k: usize,
    /// The number of results.
    pub count: usize,
    /// The first factors.
    pub left: Factor<'a, M>,
    /// The second factors.
    pub right: Factor<'a, M>,
    /// The results, not transposed.
    pub out: Factor<'a, M>,
}

/// Extents and strides of the axes along which matrices are stacked, without axes of one element. Neighbouring axes
/// that are one in all three stacks are joined.
pub fn joined(batch: &[i64], stacks: [&Stack; 3]) -> Vec<(i64, [i64; 3])> {
    let mut axes: Vec<(i64, [i64; 3])> = Vec::new();
    for (axis, &extent) in batch.iter().enumerate().filter(|(_, extent)| **extent != 1) {
        let strides = stacks.map(|stack| stack.batch[axis]);
        match axes.last_mut() {
            Some((count, outer)) if *outer == strides.map(|stride| stride * extent) => {
                (*count, *outer) = (*count * extent, strides);
            }
            _ => axes.push((extent, strides)),
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(batch: &[i64], row: i64, column: i64) -> Stack {
        Stack { offset: 0, batch: Dims::from_slice(batch), row, column }
    }

    fn lines(row: i64, column: i64, extents: (i64, i64)) -> Option<(usize, bool)> {
        stack(&[], row, column).lines(extents, 8).map(|lines| (lines.leading, lines.by_rows))
    }

    #[test]
    fn rows_and_columns_of_contiguous_elements_are_read_directly() {
        assert_eq!(lines(40, 8, (3, 5)), Some((5, true)));
        assert_eq!(lines(80, 8, (3, 5)), Some((10, true)));
        // transposed
        assert_eq!(lines(8, 24, (3, 5)), Some((3, false)));
        assert_eq!(lines(8, 8, (1, 1)), Some((1, true)));
    }

    #[test]
    fn vectors_may_have_any_positive_step() {
        // a column is rows of one element, a row is columns of one element
        assert_eq!(lines(24, 0, (4, 1)), Some((3, true)));
        assert_eq!(lines(0, 24, (1, 4)), Some((3, false)));
        assert_eq!(lines(0, 8, (1, 4)), Some((4, true)));
        assert_eq!(lines(-24, 0, (4, 1)), None);
        assert_eq!(lines(0, 0, (4, 1)), None);
    }

    #[test]
    fn what_blas_cannot_read_is_recognized() {
        for (row, column, extents) in [
            (80, 16, (3, 5)), // every other column
            (-40, 8, (3, 5)), // reversed rows
            (40, -8, (3, 5)), // reversed columns
            (0, 8, (3, 5)),   // one row several times
            (8, 8, (3, 5)),   // windows that overlap
            (20, 8, (3, 2)),  // rows that begin inside of an element
        ] {
            assert_eq!(lines(row, column, extents), None, "{row} {column} {extents:?}");
        }
        let moved = Stack { offset: 4, ..stack(&[], 40, 8) };
        assert_eq!(moved.lines((3, 5), 8), None);
        assert_eq!(stack(&[-120], 40, 8).lines((3, 5), 8), None);
        assert_eq!(stack(&[0], 40, 8).lines((3, 5), 8), Some(Lines { leading: 5, by_rows: true }));
    }

    #[test]
    fn axes_of_stacks_are_joined_where_all_three_are_one() {
        let a = stack(&[240, 48, 16], 8, 8);
        let repeated = stack(&[0, 0, 0], 8, 8);
        assert_eq!(joined(&[2, 5, 3], [&a, &repeated, &a]), [(30, [16, 0, 16])]);
        let row_repeated = stack(&[48, 0, 16], 8, 8);
        assert_eq!(joined(&[2, 5, 3], [&a, &row_repeated, &a]).len(), 3);
        assert_eq!(joined(&[1, 1], [&repeated; 3]), []);
    }

    #[test]
    fn dense_copies_do_not_repeat_matrices() {
        let (copy, elements) = Stack::dense(&[4, 7, 3, 5], &stack(&[999, 0], -8, 16), 8);
        assert_eq!((elements, copy), (60, stack(&[120, 0], 40, 8)));
    }
}
