//! Sorting on all cores, if the result does not depend on the algorithm.
//!
//! In: dense values. Out: their order, or sorted runs merged into one. A stable order is determined by the values, and
//! so is any order if no two values are equal; [`argsort`] tells whether that is so. Values become unsigned keys of the
//! same order (NumPy's: NaN last, both zeros equal), and keys carry their positions, so that all comparisons are of
//! plain integers. Not here: the sorting of a run (the standard library here, NumPy for values).

use numelt_ir::DType;

/// The fewest elements that are worth a thread.
const SHARE: usize = 1 << 15;

/// An element that is ordered by an unsigned key.
trait Keyed: Copy + Sync {
    /// The key.
    fn key(self) -> u64;
}

macro_rules! signed {
    ($($t:ty => $u:ty),*) => {$(impl Keyed for $t {
        #[inline(always)]
        fn key(self) -> u64 {
            u64::from((self as $u) ^ (1 << (<$u>::BITS - 1)))
        }
    })*};
}
signed!(i32 => u32, i64 => u64);

macro_rules! unsigned {
    ($($t:ty),*) => {$(impl Keyed for $t {
        #[inline(always)]
        fn key(self) -> u64 {
            u64::from(self)
        }
    })*};
}
unsigned!(u32, u64);

macro_rules! float {
    ($($t:ty => $u:ty),*) => {$(impl Keyed for $t {
        #[inline(always)]
        fn key(self) -> u64 {
            if self.is_nan() {
                return u64::from(<$u>::MAX);
            }
            // the sum makes both zeros the same
            let bits = (self + 0.0).to_bits();
            let sign = 1 << (<$u>::BITS - 1);
            u64::from(if bits & sign != 0 { !bits } else { bits | sign })
        }
    })*};
}
float!(f32 => u32, f64 => u64);

/// A key followed by a position.
trait Item: Ord + Copy + Send + Sync + Default {
    fn of(key: u64, position: usize) -> Self;
    fn position(self) -> usize;
    fn same_key(self, other: Self) -> bool;
}

impl Item for u64 {
    #[inline(always)]
    fn of(key: u64, position: usize) -> u64 {
        key << 32 | position as u64
    }
    #[inline(always)]
    fn position(self) -> usize {
        (self & 0xffff_ffff) as usize
    }
    #[inline(always)]
    fn same_key(self, other: u64) -> bool {
        self >> 32 == other >> 32
    }
}

impl Item for u128 {
    #[inline(always)]
    fn of(key: u64, position: usize) -> u128 {
        u128::from(key) << 64 | position as u128
    }
    #[inline(always)]
    fn position(self) -> usize {
        self as u64 as usize
    }
    #[inline(always)]
    fn same_key(self, other: u128) -> bool {
        self >> 64 == other >> 64
    }
}

/// Whether [`argsort`] supports this dtype.
pub fn sorts(dtype: DType) -> bool {
    matches!(dtype, DType::I32 | DType::U32 | DType::I64 | DType::U64 | DType::F32 | DType::F64)
}

/// Writes the stable order of values to `order`; true if no two of them are equal. `None`, without an order, for a
/// dtype that it does not support.
///
/// # Safety
/// `values` are `order.len()` dense aligned elements of the dtype.
pub unsafe fn argsort(dtype: DType, values: *const u8, order: &mut [i64], threads: usize) -> Option<bool> {
    let n = order.len();
    macro_rules! of {
        ($t:ty, $item:ty) => {{
            // SAFETY: the caller's elements.
            let values = unsafe { std::slice::from_raw_parts(values.cast::<$t>(), n) };
            Some(argsort_of::<$t, $item>(values, order, threads))
        }};
    }
    let short = n <= u32::MAX as usize;
    match dtype {
        DType::I32 if short => of!(i32, u64),
        DType::U32 if short => of!(u32, u64),
        DType::F32 if short => of!(f32, u64),
        DType::I32 => of!(i32, u128),
        DType::U32 => of!(u32, u128),
        DType::F32 => of!(f32, u128),
        DType::I64 => of!(i64, u128),
        DType::U64 => of!(u64, u128),
        DType::F64 => of!(f64, u128),
        DType::Bool | DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::F16 | DType::C64 | DType::C128 => None,
    }
}

fn argsort_of<T: Keyed, I: Item>(values: &[T], order: &mut [i64], threads: usize) -> bool {
    let n = values.len();
    let mut items: Vec<I> = vec![I::default(); n];
    let threads = threads.min(n / SHARE).max(1);
    let part = n.div_ceil(threads).max(1);
    let sort = |at: usize, items: &mut [I]| {
        for (k, item) in items.iter_mut().enumerate() {
            *item = I::of(values[at + k].key(), at + k);
        }
        items.sort_unstable();
    };
    std::thread::scope(|scope| {
        let mut parts = items.chunks_mut(part).enumerate();
        let first = parts.next();
        for (k, items) in parts {
            let sort = &sort;
            scope.spawn(move || sort(k * part, items));
        }
        if let Some((_, items)) = first {
            sort(0, items);
        }
    });
    let sorted = merge_all(items, part, threads, |a, b| a < b);
    for (slot, item) in order.iter_mut().zip(&sorted) {
        *slot = item.position() as i64;
    }
    sorted.windows(2).all(|pair| !pair[0].same_key(pair[1]))
}

/// Merges sorted runs of `part` elements each (the last may be shorter).
fn merge_all<T: Copy + Send + Sync + Default>(
    mut runs: Vec<T>,
    mut part: usize,
    threads: usize,
    less: impl Fn(T, T) -> bool + Copy + Send + Sync,
) -> Vec<T> {
    let n = runs.len();
    if part >= n {
        return runs;
    }
    let mut other = vec![T::default(); n];
    while part < n {
        for (from, to) in runs.chunks(2 * part).zip(other.chunks_mut(2 * part)) {
            let (a, b) = from.split_at(part.min(from.len()));
            merge(a, b, to, threads, less);
        }
        std::mem::swap(&mut runs, &mut other);
        part *= 2;
    }
    runs
}

/// Merges two sorted runs; of equal elements those of `a` come first.
fn merge<T: Copy + Send + Sync>(
    a: &[T],
    b: &[T],
    to: &mut [T],
    threads: usize,
    less: impl Fn(T, T) -> bool + Copy + Send + Sync,
) {
    if threads > 1 && a.len() + b.len() >= 2 * SHARE {
        // cut where the longer run is halved
        let (i, j) = if a.len() >= b.len() {
            let i = a.len() / 2;
            (i, b.partition_point(|&y| less(y, a[i])))
        } else {
            let j = b.len() / 2;
            (a.partition_point(|&x| !less(b[j], x)), j)
        };
        let (low, high) = to.split_at_mut(i + j);
        std::thread::scope(|scope| {
            scope.spawn(move || merge(&a[i..], &b[j..], high, threads / 2, less));
            merge(&a[..i], &b[..j], low, threads - threads / 2, less);
        });
        return;
    }
    let (mut i, mut j, mut k) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let second = less(b[j], a[i]);
        to[k] = if second { b[j] } else { a[i] };
        i += usize::from(!second);
        j += usize::from(second);
        k += 1;
    }
    to[k..k + a.len() - i].copy_from_slice(&a[i..]);
    k += a.len() - i;
    to[k..].copy_from_slice(&b[j..]);
}

/// Merges runs of `part` values each, sorted as NumPy sorts, in place. False for a dtype that it does not support, or
/// if the result depends on the order of elements that compare equal but have different bits.
///
/// # Safety
/// `values` are `n` dense aligned elements of the dtype, which nobody else touches meanwhile.
pub unsafe fn merge_runs(dtype: DType, values: *mut u8, n: usize, part: usize, threads: usize) -> bool {
    macro_rules! of {
        ($t:ty, $less:expr) => {{
            // SAFETY: the caller's elements.
            let values = unsafe { std::slice::from_raw_parts_mut(values.cast::<$t>(), n) };
            let merged = merge_all(values.to_vec(), part.max(1), threads, $less);
            values.copy_from_slice(&merged);
        }};
    }
    macro_rules! of_floats {
        ($t:ty) => {{
            of!($t, |x: $t, y: $t| x < y || (y.is_nan() && !x.is_nan()));
            // SAFETY: as above.
            let values = unsafe { std::slice::from_raw_parts(values.cast::<$t>(), n) };
            let same = |part: &[$t]| part.iter().all(|x| x.to_bits() == part[0].to_bits());
            let zeros = values.partition_point(|&x| x < 0.0)..values.partition_point(|&x| x <= 0.0);
            same(&values[zeros]) && same(&values[values.partition_point(|x| !x.is_nan())..])
        }};
    }
    match dtype {
        DType::I32 => of!(i32, |x, y| x < y),
        DType::U32 => of!(u32, |x, y| x < y),
        DType::I64 => of!(i64, |x, y| x < y),
        DType::U64 => of!(u64, |x, y| x < y),
        DType::F32 => return of_floats!(f32),
        DType::F64 => return of_floats!(f64),
        DType::Bool | DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::F16 | DType::C64 | DType::C128 => {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{SHARE, argsort, merge_runs};
    use numelt_ir::DType;

    fn values(n: usize) -> Vec<f64> {
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        (0..n)
            .map(|i| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                match i % 97 {
                    0 => f64::NAN,
                    1 => 0.0,
                    2 => -0.0,
                    3 => f64::NEG_INFINITY,
                    _ => ((x >> 40) as f64) - 8e6,
                }
            })
            .collect()
    }

    fn order(x: &f64, y: &f64) -> std::cmp::Ordering {
        x.partial_cmp(y).unwrap_or(x.is_nan().cmp(&y.is_nan()))
    }

    #[test]
    fn orders_are_stable() {
        for n in [0, 1, 2, 1000, 5 * SHARE + 3] {
            let x = values(n);
            let mut want: Vec<i64> = (0..n as i64).collect();
            want.sort_by(|&i, &j| order(&x[i as usize], &x[j as usize]));
            for threads in [1, 2, 5] {
                let mut got = vec![0; n];
                // SAFETY: the vector's elements.
                let distinct = unsafe { argsort(DType::F64, x.as_ptr().cast(), &mut got, threads) };
                assert!(got == want, "{n} {threads}");
                assert_eq!(distinct, Some(n < 3));
            }
        }
    }

    #[test]
    fn runs_are_merged() {
        let n = 3 * SHARE + 7;
        for (dtype, negative_zeros) in [(DType::F64, true), (DType::F64, false)] {
            let mut x: Vec<f64> = values(n).iter().map(|&v| if negative_zeros { v } else { v.abs() + 0.0 }).collect();
            let mut want = x.clone();
            want.sort_by(order);
            for part in x.chunks_mut(SHARE) {
                part.sort_by(order);
            }
            // SAFETY: the vector's elements.
            let sure = unsafe { merge_runs(dtype, x.as_mut_ptr().cast(), n, SHARE, 2) };
            assert_eq!(sure, !negative_zeros);
            assert!(x.iter().zip(&want).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())));
        }
    }
}
