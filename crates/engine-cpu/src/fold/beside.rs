//! Sums of short rows of f64, four rows at a time.
//!
//! In: rows of at least one vector and at most one block of elements. Out: accumulators. The additions of a row are
//! those of the tree, in its order. The parts that a row cannot vectorize by itself, which are the sum of its lanes and
//! the elements that do not fill a vector, are computed for four rows in one register.

use super::plain::pick_rows_tree;
use super::trees::Pairwise;
use crate::isa::Isa;
use std::arch::x86_64::{
    __m256d, _mm256_add_pd, _mm256_hadd_pd, _mm256_loadu_pd, _mm256_permute2f128_pd, _mm256_set_pd, _mm256_storeu_pd,
};

/// The rows that are summed together.
const FOUR: usize = 4;
/// Elements of a step: two registers.
const STEP: usize = 8;

/// [`Rows`](super::Rows) of a leaf of a tree of f64.
///
/// # Safety
/// The contract of [`Rows`](super::Rows); the machine has AVX2.
#[target_feature(enable = "avx2,fma,bmi2")]
pub unsafe fn rows(
    values: *mut u8,
    positions: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    pos: i64,
) {
    let short = (STEP..=f64::UNIT.block()).contains(&n);
    let done = if short { rows / FOUR * FOUR } else { 0 };
    // SAFETY: the caller's contract, for the rows from these addresses on.
    unsafe {
        let accs = values.cast::<f64>();
        for r in (0..done).step_by(FOUR) {
            let row = |k: usize| src.offset((r + k) as isize * stride).cast::<f64>();
            let sums = four([row(0), row(1), row(2), row(3)], n);
            let acc = accs.add(r);
            _mm256_storeu_pd(acc, _mm256_add_pd(_mm256_loadu_pd(acc), sums));
        }
        let rest = src.offset(done as isize * stride);
        pick_rows_tree::<f64>(Isa::Avx2)(accs.add(done).cast(), positions, rest, stride, rows - done, n, pos);
    }
}

/// The sums of four rows of `n` elements, at least a step.
///
/// # Safety
/// The rows are readable; the machine has AVX2.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn four(rows: [*const f64; FOUR], n: usize) -> __m256d {
    // SAFETY: whole steps inside the rows, and elements behind them.
    unsafe {
        let load = |at: usize| rows.map(|row| _mm256_loadu_pd(row.add(at)));
        let (mut low, mut high) = (load(0), load(FOUR));
        let steps = n / STEP * STEP;
        for at in (STEP..steps).step_by(STEP) {
            for k in 0..FOUR {
                low[k] = _mm256_add_pd(low[k], _mm256_loadu_pd(rows[k].add(at)));
                high[k] = _mm256_add_pd(high[k], _mm256_loadu_pd(rows[k].add(at + FOUR)));
            }
        }
        let mut sums = _mm256_add_pd(across(low), across(high));
        for at in steps..n {
            let [a, b, c, d] = rows.map(|row| *row.add(at));
            sums = _mm256_add_pd(sums, _mm256_set_pd(d, c, b, a));
        }
        sums
    }
}

/// For each register, the sum of the sums of neighbours in its halves, in one register.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn across([a, b, c, d]: [__m256d; FOUR]) -> __m256d {
    let (first, second) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, d));
    _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(first, second), _mm256_permute2f128_pd::<0x31>(first, second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    /// Every length around a step and a block, rows with gaps, multiples of four and other counts: the bits are those
    /// of single rows.
    #[test]
    fn the_bits_of_single_rows() {
        if isa::detect() == Isa::Portable {
            return;
        }
        let special = [f64::NAN, f64::INFINITY, -0.0, 1e300, -1e300, 5e-324];
        let element = |i: usize| match i % 97 {
            k @ 0..6 => special[k],
            k => (i * 7919 % 1013) as f64 / (k + 1) as f64 - 40.0,
        };
        let x: Vec<f64> = (0..11 * 140).map(element).collect();
        for n in 0..=131 {
            for count in [1, 4, 7, 11] {
                let (mut got, mut want) = (vec![-0.0; count], vec![-0.0; count]);
                let source = x.as_ptr().cast();
                // SAFETY: eleven rows of 140 elements, and as many accumulators as rows.
                unsafe {
                    rows(got.as_mut_ptr().cast(), std::ptr::null_mut(), source, 140 * 8, count, n, 0);
                    for (r, want) in want.iter_mut().enumerate() {
                        let (source, want) = (source.add(r * 140 * 8), (&raw mut *want).cast());
                        pick_rows_tree::<f64>(Isa::Portable)(want, std::ptr::null_mut(), source, 0, 1, n, 0);
                    }
                }
                let bits = |v: &[f64]| v.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<_>>();
                assert_eq!(bits(&got), bits(&want), "{count} rows of {n}");
            }
        }
    }
}
