//! Matrix products by plain loops, in ascending order of the summed index, on all threads.

use super::blas::Extents;
use super::matrix::Matrix;
use crate::threads::Threads;
use crate::tier0::{Any, Elem};

struct Shared(Matrix, Matrix, Matrix);
// SAFETY: threads write different rows of the output.
unsafe impl Sync for Shared {}

/// The product by rows, in ascending order of the summed index: multiples of the rows of `b` are added to each row of
/// the output.
pub(super) fn loops<T: Any + Elem>((m, k, n): Extents, a: Matrix, b: Matrix, out: Matrix, threads: &Threads) {
    let shared = Shared(a, b, out);
    let work = (m as u64).saturating_mul(n as u64).saturating_mul(k as u64 + 1) / 2;
    threads.parallel(m, work, &|range| {
        let Shared(a, b, out) = &shared;
        if n == 1 {
            // SAFETY: indices are inside the operands, the rows of the output are this unit's own.
            return unsafe { column::<T>(range, k, *a, *b, *out) };
        }
        let mut row = vec![T::ZERO; n];
        for i in range {
            row.fill(T::ZERO);
            for l in 0..k {
                // SAFETY: indices are inside the operands.
                let x = unsafe { *a.base.offset(i as isize * a.row + l as isize * a.column).cast::<T>() };
                let line = b.base.wrapping_offset(l as isize * b.row);
                if b.column == size_of::<T>() as isize {
                    // SAFETY: a dense row of `n` elements.
                    let line = unsafe { std::slice::from_raw_parts(line.cast::<T>(), n) };
                    row.iter_mut().zip(line).for_each(|(acc, y)| *acc = acc.add(x.mul_in_run(*y)));
                    continue;
                }
                for (j, acc) in row.iter_mut().enumerate() {
                    // SAFETY: as above.
                    let y = unsafe { *line.offset(j as isize * b.column).cast::<T>() };
                    *acc = acc.add(x.mul_in_run(y));
                }
            }
            for (j, &value) in row.iter().enumerate() {
                // SAFETY: the row of the output is this unit's own.
                unsafe { *out.base.offset(i as isize * out.row + j as isize * out.column).cast::<T>() = value };
            }
        }
    });
}

/// The rows of a product with one column, four at a time, because the additions of one sum in order depend on each
/// other.
///
/// # Safety
/// The operands have these rows and `k` elements in each; nobody else writes these rows of the output.
unsafe fn column<T: Any + Elem>(rows: std::ops::Range<usize>, k: usize, a: Matrix, b: Matrix, out: Matrix) {
    const TOGETHER: usize = 4;
    let dense = size_of::<T>() as isize;
    if T::DTYPE.is_integer() && (a.column, b.row) == (dense, dense) {
        for i in rows {
            // SAFETY: the caller's operands and output.
            unsafe {
                let row = std::slice::from_raw_parts(a.base.offset(i as isize * a.row).cast::<T>(), k);
                let by = std::slice::from_raw_parts(b.base.cast::<T>(), k);
                // integers in any order, because the sum is the same
                let sum = row.iter().zip(by).fold(T::ZERO, |sum, (x, y)| sum.add(x.mul(*y)));
                out.base.offset(i as isize * out.row).cast::<T>().write(sum);
            }
        }
        return;
    }
    let at = |base: *mut u8, offset: isize| base.wrapping_offset(offset).cast::<T>();
    for start in rows.clone().step_by(TOGETHER) {
        // if there are fewer than four rows left, the last ones are summed several times
        let places: [isize; TOGETHER] = std::array::from_fn(|i| (start + i).min(rows.end - 1) as isize);
        let bases = places.map(|i| a.base.wrapping_offset(i * a.row));
        let mut sums = [T::ZERO; TOGETHER];
        for l in 0..k as isize {
            // SAFETY: the caller's operands.
            let y = unsafe { at(b.base, l * b.row).read() };
            for (sum, &base) in sums.iter_mut().zip(&bases) {
                // SAFETY: as above.
                *sum = sum.add(unsafe { at(base, l * a.column).read() }.mul_in_run(y));
            }
        }
        for (&i, &sum) in places.iter().zip(&sums) {
            // SAFETY: the caller's output.
            unsafe { at(out.base, i * out.row).write(sum) };
        }
    }
}
