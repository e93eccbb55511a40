//! Sums under a mask, in NumPy's order.
//!
//! In: dense rows and a dense mask of the same extents. Out: one sum for each row. NumPy goes through a row from one
//! stretch of true elements to the next, and adds each stretch's pairwise sum to the result so far. The positions of
//! the stretches determine the bits, so this is not a fold of a selection.

use super::trees::{Pairwise, tree_run};
use numelt_ir::DType;
use numelt_runtime::MaskedRows;

/// The fewest elements that are worth a thread.
const SHARE: usize = 1 << 16;

/// The sum of a row's elements whose mask byte is not zero, added to `start`.
fn row<T: Pairwise<Sum = T> + std::ops::Add<Output = T>>(start: T, values: &[T], mask: &[u8]) -> T {
    let mut sum = start;
    let mut at = 0;
    while let Some(skipped) = mask[at..].iter().position(|&m| m != 0) {
        let from = at + skipped;
        at = mask[from..].iter().position(|&m| m == 0).map_or(mask.len(), |n| from + n);
        sum = sum + tree_run(&values[from..at]);
    }
    sum
}

fn sums_of_rows<T: Pairwise<Sum = T> + std::ops::Add<Output = T> + Send + Sync>(
    start: T,
    values: &[T],
    mask: &[u8],
    length: usize,
    out: &mut [T],
    threads: usize,
) {
    let threads = threads.min(values.len() / SHARE).clamp(1, out.len().max(1));
    let part = out.len().div_ceil(threads).max(1);
    let run = |k: usize, sums: &mut [T]| {
        for (i, sum) in sums.iter_mut().enumerate() {
            let at = (k * part + i) * length;
            *sum = row(start, &values[at..at + length], &mask[at..at + length]);
        }
    };
    std::thread::scope(|scope| {
        let mut parts = out.chunks_mut(part).enumerate();
        let first = parts.next();
        for (k, sums) in parts {
            let run = &run;
            scope.spawn(move || run(k, sums));
        }
        if let Some((_, sums)) = first {
            run(0, sums);
        }
    });
}

/// Writes the sum of each row under the mask, added to `start`; false if the dtype is not f32 or f64.
///
/// # Safety
/// That of [`numelt_runtime::Host::masked_sums`].
pub unsafe fn masked_sums(rows: &MaskedRows, start: f64, out: *mut u8, threads: usize) -> bool {
    let &MaskedRows { dtype, values, mask, count, length } = rows;
    // SAFETY: the caller's bytes.
    let mask = unsafe { std::slice::from_raw_parts(mask, count * length) };
    macro_rules! of {
        ($t:ty) => {{
            // SAFETY: the caller's elements and room.
            let (values, out) = unsafe {
                let values = std::slice::from_raw_parts(values.cast::<$t>(), count * length);
                (values, std::slice::from_raw_parts_mut(out.cast::<$t>(), count))
            };
            sums_of_rows(start as $t, values, mask, length, out, threads);
        }};
    }
    match dtype {
        DType::F32 => of!(f32),
        DType::F64 => of!(f64),
        DType::Bool
        | DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64
        | DType::F16
        | DType::C64
        | DType::C128 => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{MaskedRows, masked_sums};
    use numelt_ir::DType;

    #[test]
    fn each_stretch_is_a_sum_of_its_own() {
        let values: Vec<f64> = (0..3000).map(|i| f64::from(i % 71) * 0.1).collect();
        let mask: Vec<u8> = (0..3000).map(|i| u8::from(i % 500 > 3)).collect();
        for threads in [1, 3] {
            let mut out = [0.0f64; 3];
            let (at, mask) = (values.as_ptr().cast(), mask.as_ptr());
            let rows = MaskedRows { dtype: DType::F64, values: at, mask, count: 3, length: 1000 };
            // SAFETY: the vectors' elements.
            assert!(unsafe { masked_sums(&rows, 0.5, out.as_mut_ptr().cast(), threads) });
            for (k, sum) in out.iter().enumerate() {
                let part = |from: usize| super::tree_run(&values[k * 1000 + from..k * 1000 + from + 496]);
                assert_eq!(*sum, 0.5 + part(4) + part(504));
            }
        }
    }
}
