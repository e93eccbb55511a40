//! Squares as the C library's `pow(x, 2.0)` computes them.
//!
//! In: rows of numbers. Out: their squares, with the bits of `pow`. This is the exact square rounded, unless the exact
//! square is so close to the middle of two numbers that the error of `pow` decides. The exact square is known as a
//! rounded one and its error. It tells which squares are *doubtful*: two or three in a hundred. These are computed by
//! the steps of glibc's algorithm, eight at a time. Before that is done for the first time, doubtful squares of all
//! sizes are compared with those of `pow`; if any bit differs, `pow` computes the doubtful ones.
//!
//! The algorithm: the logarithm as a sum of two numbers, from a table and a polynomial; twice that; and its
//! exponential, from another table and polynomial. Order, roundings and fused operations decide the last bit.

mod tables;

use crate::{Isa, flags};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use tables::{BITS, FIRST, LOGS, POWERS};

/// The length of a row.
pub const ROW: usize = 256;
/// The most rows.
pub const MOST_ROWS: usize = 8;
/// How many doubtful squares are computed at a time.
const BATCH: usize = 8;
/// Rows are looked at in steps of so many numbers.
const FREE: usize = 16;

/// The error of `pow` in units of the last place, for results between 2^-63 and 2^65. By glibc's source it is less than
/// 0.509, and for each unit of the result's natural logarithm 1.3 * 2^-15 more; without fused operations, 0.511 and
/// 1.5 * 2^-15.
const MOST_FUSED: f64 = 0.511;
const MOST: f64 = 0.514;
/// The bits of such results and [`TO_MIDDLE`] together are from [`MIDDLE`] on, and less than [`USUAL`] more: they have
/// the same first bits.
const TO_MIDDLE: u64 = 64 << 52;
const MIDDLE: u64 = 1024 << 52;
const USUAL: u64 = 128 << 52;
/// Numbers whose squares the algorithm computes without special cases are between these in size.
const INSIDE: [f64; 2] = [1e-100, 1e100];

// SAFETY: this is C's own signature.
unsafe extern "C" {
    fn pow(x: f64, y: f64) -> f64;
}

/// Squares so many numbers of each of so many rows: the addresses of the numbers and of the squares, the number of
/// squares in a row, and the number of rows. The numbers behind them in each row are overwritten.
///
/// # Safety
/// All rows of [`ROW`] numbers and squares are there, and apart. There are at most [`MOST_ROWS`].
pub type Squares = unsafe extern "C" fn(*mut f64, *mut f64, u64, u64);

/// The function for an instruction set that this processor has.
pub fn squares(isa: Isa) -> Squares {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if is_x86_feature_detected!("popcnt") => x86::squares_512,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx2 => x86::squares_256,
        #[cfg(target_arch = "aarch64")]
        _ => squares_fused,
        #[cfg(not(target_arch = "aarch64"))]
        _ => squares_one_by_one,
    }
}

/// The steps, in the instructions of a kind of processor.
trait Machine {
    /// Squares the numbers of a row, and finds the doubtful ones: numbers, squares, how many there are, how much larger
    /// the error is taken, the place of the first one, and where to put the places of doubtful ones. Up to 16 more are
    /// written than returned.
    ///
    /// # Safety
    /// The processor has the instructions. The row and the squares are there, up to a multiple of 16, and so is room
    /// for the places.
    unsafe fn scan(
        numbers: *const f64,
        squares: *mut f64,
        count: usize,
        larger: f64,
        first: u32,
        to: *mut u32,
    ) -> usize;

    /// Squares doubtful numbers by glibc's steps, or returns that one of them is too large or too small for that: all
    /// numbers, all squares, the places of the doubtful ones, and how many there are, at most [`BATCH`].
    ///
    /// # Safety
    /// The processor has the instructions, and there are numbers and squares at these places. There is room for
    /// [`BATCH`] places.
    unsafe fn batch(numbers: *const f64, squares: *mut f64, places: *const u32, count: usize) -> bool;
}

/// Squares all rows.
///
/// # Safety
/// As for [`Squares`].
#[inline(always)]
unsafe fn all<M: Machine>(numbers: *mut f64, squares: *mut f64, [count, rows]: [u64; 2]) {
    // SAFETY: the caller's promise.
    let is_like = unsafe { is_like_glibc::<M>() };
    let larger = 0.5 / (1.0 - if is_like { MOST_FUSED } else { MOST });
    let mut doubtful = [const { MaybeUninit::<u32>::uninit() }; MOST_ROWS * ROW + FREE];
    let places = doubtful.as_mut_ptr().cast::<u32>();
    let (count, mut found) = ((count as usize).min(ROW), 0);
    for row in 0..(rows as usize).min(MOST_ROWS) {
        let first = row * ROW;
        // SAFETY: both rows are there; `doubtful` has room for all numbers and some more.
        unsafe {
            // what lies behind the last number would raise flags
            for k in count..count.next_multiple_of(FREE) {
                *numbers.add(first + k) = 1.0;
            }
            let (numbers, squares) = (numbers.add(first), squares.add(first));
            found += M::scan(numbers, squares, count, larger, first as u32, places.add(found));
        }
    }
    for start in (0..found).step_by(BATCH) {
        let left = (found - start).min(BATCH);
        // SAFETY: the places have been written, and lie in the rows.
        unsafe {
            if !(is_like && M::batch(numbers, squares, places.add(start), left)) {
                for k in start..start + left {
                    let place = *places.add(k) as usize;
                    *squares.add(place) = power(*numbers.add(place));
                }
            }
        }
    }
}

/// What the C library returns.
fn power(x: f64) -> f64 {
    // Rust's compiler would replace the power by a product if it knew the exponent.
    // SAFETY: a function of numbers.
    unsafe { pow(x, std::hint::black_box(2.0)) }
}

/// Does the C library's `pow` have the bits of [`lane`]?
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn is_like_glibc<M: Machine>() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    #[cold]
    #[inline(never)]
    fn compared<M: Machine>() -> bool {
        let saved = flags::save();
        let mut state = 88_172_645_463_325_252u64;
        let mut is_like = true;
        for turn in 0..400 {
            let mut numbers = [0.0; ROW];
            for number in &mut numbers {
                // xorshift
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                // in turn near one, and as large and as small as the algorithm allows
                let range = [2, 64, 660][turn % 3];
                let exponent = 1023 - range / 2 + (state >> 50) % range;
                *number = f64::from_bits(state << 63 | exponent << 52 | state >> 12 & ((1 << 52) - 1));
            }
            let (mut squares, mut doubtful) = ([0.0; ROW], [0u32; ROW + FREE]);
            let larger = 0.5 / (1.0 - MOST);
            // SAFETY: a row of numbers and one of squares, and room for the doubtful ones.
            let found =
                unsafe { M::scan(numbers.as_ptr(), squares.as_mut_ptr(), ROW, larger, 0, doubtful.as_mut_ptr()) };
            for start in (0..found).step_by(BATCH) {
                let count = (found - start).min(BATCH);
                // SAFETY: as above.
                is_like &=
                    unsafe { M::batch(numbers.as_ptr(), squares.as_mut_ptr(), doubtful.as_ptr().add(start), count) };
            }
            for place in &doubtful[..found] {
                let place = *place as usize;
                is_like &= squares[place].to_bits() == power(numbers[place]).to_bits();
            }
        }
        saved.restore_with(0);
        is_like
    }
    *FOUND.get_or_init(compared::<M>)
}

/// The logarithm of 2 in two parts, and the divisor of exponentials.
const LN2: [f64; 2] = [f64::from_bits(0x3FE6_2E42_FEFA_3800), f64::from_bits(0x3D2E_F357_93C7_6730)];
const PARTS_PER_LN2: f64 = f64::from_bits(0x4067_1547_652B_82FE);
const PART: [f64; 2] = [f64::from_bits(0xBF76_2E42_FEFA_0000), f64::from_bits(0xBD0C_F79A_BC9E_3B3A)];
/// The coefficients of log(1 + r) from r^2 on, in powers of r and of the first one times r^2.
const LOG: [f64; 7] = [
    -0.5,
    f64::from_bits(0xBFE5_5555_5555_5560),
    f64::from_bits(0x3FE0_0000_0000_0006),
    f64::from_bits(0x3FE9_9999_9959_554E),
    f64::from_bits(0xBFE5_5555_5529_A47A),
    f64::from_bits(0xBFF2_495B_9B48_45E9),
    f64::from_bits(0x3FF0_002B_8B26_3FC3),
];
/// The coefficients of e^r from r^2 on.
const EXP: [f64; 4] = [
    f64::from_bits(0x3FDF_FFFF_FFFF_FDBD),
    f64::from_bits(0x3FC5_5555_5555_543C),
    f64::from_bits(0x3FA5_5555_CF17_2B91),
    f64::from_bits(0x3F81_1111_67A4_D017),
];
/// Sums with this number have units of one; its last bits are then those of a whole number.
const UNIT: f64 = 6_755_399_441_055_744.0;

/// The square of one number, by glibc's steps.
#[inline(always)]
fn lane(x: f64) -> f64 {
    let entry = |bits: u64| (bits & ((1 << BITS) - 1)) as usize;
    let bits = x.to_bits() & !(1 << 63);
    // x = 2^k z
    let distance = bits.wrapping_sub(FIRST);
    let z = f64::from_bits(bits.wrapping_sub(distance & 0xFFF << 52));
    let k = f64::from_bits(((distance as i64 >> 52) as u64).wrapping_add(UNIT.to_bits())) - UNIT;
    let [reciprocal, log, log_rest, _] = LOGS[entry(distance >> (52 - BITS))];
    let r = z.mul_add(reciprocal, -1.0);
    // the logarithm as a sum of two numbers: log(c) + k ln 2 + r - r^2 / 2 + ...
    let base = k.mul_add(LN2[0], log);
    let low = k.mul_add(LN2[1], log_rest);
    let half = r * LOG[0];
    let square = r * half;
    let cube = r * square;
    let first = base + r;
    let second = first + square;
    let low = ((low + ((base - first) + r)) + half.mul_add(r, -square)) + ((first - second) + square);
    let series = square.mul_add(r.mul_add(LOG[6], LOG[5]), r.mul_add(LOG[4], LOG[3]));
    let series = square.mul_add(series, r.mul_add(LOG[2], LOG[1]));
    let low = cube.mul_add(series, low);
    let high = second + low;
    let rest = (second - high) + low;
    // e to twice that
    let (high, rest) = (high + high, rest + rest);
    let shifted = high.mul_add(PARTS_PER_LN2, UNIT);
    let parts = shifted - UNIT;
    let r = rest + parts.mul_add(PART[1], parts.mul_add(PART[0], high));
    let [power_rest, power] = POWERS[entry(shifted.to_bits())];
    let scale = f64::from_bits(power.wrapping_add(shifted.to_bits() << (52 - BITS)));
    let square = r * r;
    let sum = square.mul_add(r.mul_add(EXP[1], EXP[0]), f64::from_bits(power_rest) + r);
    let sum = (square * square).mul_add(r.mul_add(EXP[3], EXP[2]), sum);
    sum.mul_add(scale, scale)
}

#[expect(clippy::needless_range_loop, reason = "the code of iterators would lack the caller's instructions")]
#[inline(always)]
fn lanes(numbers: &mut [f64; BATCH]) {
    for k in 0..BATCH {
        numbers[k] = lane(numbers[k]);
    }
}

/// [`Machine::batch`] without the instructions of a certain processor.
///
/// # Safety
/// See there.
#[expect(clippy::needless_range_loop, reason = "the code of iterators would lack the caller's instructions")]
#[inline(always)]
unsafe fn batch(numbers: *const f64, squares: *mut f64, places: *const u32, count: usize) -> bool {
    let (mut own, mut is_inside) = ([1.5f64; BATCH], true);
    for k in 0..count {
        // SAFETY: the caller's promise.
        own[k] = unsafe { *numbers.add(*places.add(k) as usize) };
    }
    for k in 0..BATCH {
        is_inside &= own[k].abs() > INSIDE[0] && own[k].abs() < INSIDE[1];
    }
    if !is_inside {
        return false;
    }
    lanes(&mut own);
    for k in 0..count {
        // SAFETY: the caller's promise.
        unsafe { *squares.add(*places.add(k) as usize) = own[k] };
    }
    true
}

/// [`Squares`] where fused operations are instructions of every processor.
#[cfg(target_arch = "aarch64")]
unsafe extern "C" fn squares_fused(numbers: *mut f64, squares: *mut f64, count: u64, rows: u64) {
    struct Fused;
    impl Machine for Fused {
        #[inline(always)]
        unsafe fn scan(x: *const f64, y: *mut f64, count: usize, larger: f64, first: u32, to: *mut u32) -> usize {
            let mut found = 0;
            for at in 0..count {
                // SAFETY: the caller's promise.
                let number = unsafe { *x.add(at) };
                let square = number * number;
                let moved = number.mul_add(number, -square).mul_add(larger, square);
                let is_usual = square.to_bits().wrapping_add(TO_MIDDLE) ^ MIDDLE < USUAL;
                // SAFETY: as above.
                unsafe {
                    *y.add(at) = square;
                    *to.add(found) = first + at as u32;
                }
                found += usize::from(moved != square || !is_usual);
            }
            found
        }
        #[inline(always)]
        unsafe fn batch(x: *const f64, y: *mut f64, places: *const u32, count: usize) -> bool {
            // SAFETY: the caller's promise.
            unsafe { batch(x, y, places, count) }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { all::<Fused>(numbers, squares, [count, rows]) };
}

/// [`Squares`] where there may be no fused operations.
unsafe extern "C" fn squares_one_by_one(numbers: *mut f64, squares: *mut f64, count: u64, rows: u64) {
    for row in 0..rows as usize {
        for k in row * ROW..row * ROW + count as usize {
            // SAFETY: the caller's promise.
            unsafe { *squares.add(k) = power(*numbers.add(k)) };
        }
    }
}

/// The functions for processors with fused operations.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{FREE, MIDDLE, Machine, TO_MIDDLE, USUAL, all, batch};
    use std::arch::x86_64::*;

    pub(super) struct Avx512;
    pub(super) struct Avx2;

    impl Machine for Avx512 {
        #[inline]
        #[target_feature(enable = "avx512f,avx2,fma,popcnt")]
        unsafe fn scan(x: *const f64, y: *mut f64, count: usize, larger: f64, first: u32, to: *mut u32) -> usize {
            // SAFETY: the caller's promise.
            unsafe {
                scan_512::<false>(x, y, count, larger, first, to)
                    .or_else(|| scan_512::<true>(x, y, count, larger, first, to))
                    .unwrap_or(0)
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx2,fma,popcnt")]
        unsafe fn batch(x: *const f64, y: *mut f64, places: *const u32, count: usize) -> bool {
            // SAFETY: the caller's promise.
            unsafe { batch(x, y, places, count) }
        }
    }

    /// [`Machine::scan`]. `None` if the size of some square is unusual, unless `LOOKS` says to look at each. Nearly all
    /// rows have none, and looking takes as long as the rest.
    #[inline]
    #[target_feature(enable = "avx512f,avx2,fma,popcnt")]
    unsafe fn scan_512<const LOOKS: bool>(
        x: *const f64,
        y: *mut f64,
        count: usize,
        larger: f64,
        first: u32,
        to: *mut u32,
    ) -> Option<usize> {
        let larger = _mm512_set1_pd(larger);
        let (to_middle, middle) = (_mm512_set1_epi64(TO_MIDDLE as i64), _mm512_set1_epi64(MIDDLE as i64));
        let places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        let mut places = _mm512_add_epi32(places, _mm512_set1_epi32(first as i32));
        let (mut found, mut different) = (0, _mm512_setzero_si512());
        for at in (0..count).step_by(FREE) {
            let mut doubtful = 0;
            for half in 0..2 {
                // SAFETY: the caller's promise.
                let number = unsafe { _mm512_loadu_pd(x.add(at + 8 * half)) };
                let square = _mm512_mul_pd(number, number);
                // SAFETY: as above.
                unsafe { _mm512_storeu_pd(y.add(at + 8 * half), square) };
                let moved = _mm512_fmadd_pd(_mm512_fmsub_pd(number, number, square), larger, square);
                let mut own = _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(moved, square);
                let shifted = _mm512_add_epi64(_mm512_castpd_si512(square), to_middle);
                if LOOKS {
                    let is_other =
                        _mm512_cmp_epu64_mask::<_MM_CMPINT_NLT>(_mm512_xor_si512(shifted, middle), usual_end());
                    // the square of zero is known
                    own = _mm512_mask_cmp_pd_mask::<_CMP_NEQ_UQ>(own | is_other, number, _mm512_setzero_pd());
                } else {
                    // different | (shifted ^ middle)
                    different = _mm512_ternarylogic_epi64::<0xF6>(different, shifted, middle);
                }
                doubtful |= u16::from(own) << (8 * half);
            }
            let packed = _mm512_maskz_compress_epi32(doubtful, places);
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(to.add(found).cast(), packed) };
            found += doubtful.count_ones() as usize;
            places = _mm512_add_epi32(places, _mm512_set1_epi32(FREE as i32));
        }
        (LOOKS || _mm512_cmp_epu64_mask::<_MM_CMPINT_NLT>(different, usual_end()) == 0).then_some(found)
    }

    /// The least number that is not that of the bits of a square of usual size, less [`MIDDLE`] and moved there.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn usual_end() -> __m512i {
        _mm512_set1_epi64(USUAL as i64)
    }

    impl Machine for Avx2 {
        #[inline]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn scan(x: *const f64, y: *mut f64, count: usize, larger: f64, first: u32, to: *mut u32) -> usize {
            let larger = _mm256_set1_pd(larger);
            let (to_middle, middle) = (_mm256_set1_epi64x(TO_MIDDLE as i64), _mm256_set1_epi64x(MIDDLE as i64));
            let end = _mm256_set1_epi64x((MIDDLE + USUAL) as i64);
            let mut found = 0;
            for at in (0..count).step_by(4) {
                // SAFETY: the caller's promise.
                let number = unsafe { _mm256_loadu_pd(x.add(at)) };
                let square = _mm256_mul_pd(number, number);
                // SAFETY: as above.
                unsafe { _mm256_storeu_pd(y.add(at), square) };
                let moved = _mm256_fmadd_pd(_mm256_fmsub_pd(number, number, square), larger, square);
                let stays = _mm256_cmp_pd::<_CMP_EQ_OQ>(moved, square);
                let shifted = _mm256_add_epi64(_mm256_castpd_si256(square), to_middle);
                let is_less = _mm256_cmpgt_epi64(middle, shifted);
                let is_usual = _mm256_andnot_si256(is_less, _mm256_cmpgt_epi64(end, shifted));
                let is_sure = _mm256_and_pd(stays, _mm256_castsi256_pd(is_usual));
                let mut doubtful = _mm256_movemask_pd(is_sure) as u32 ^ 0xF;
                while doubtful != 0 {
                    // SAFETY: as above.
                    unsafe { *to.add(found) = first + at as u32 + doubtful.trailing_zeros() };
                    found += 1;
                    doubtful &= doubtful - 1;
                }
            }
            found
        }

        #[inline]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn batch(x: *const f64, y: *mut f64, places: *const u32, count: usize) -> bool {
            // SAFETY: the caller's promise.
            unsafe { batch(x, y, places, count) }
        }
    }

    /// [`Squares`](super::Squares) with AVX-512F.
    ///
    /// # Safety
    /// See there. The processor has the instructions.
    #[target_feature(enable = "avx512f,avx2,fma,popcnt")]
    pub(super) unsafe extern "C" fn squares_512(numbers: *mut f64, squares: *mut f64, count: u64, rows: u64) {
        // SAFETY: the caller's promise.
        unsafe { all::<Avx512>(numbers, squares, [count, rows]) };
    }

    /// [`Squares`](super::Squares) with AVX2 and FMA.
    ///
    /// # Safety
    /// See there. The processor has the instructions.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe extern "C" fn squares_256(numbers: *mut f64, squares: *mut f64, count: u64, rows: u64) {
        // SAFETY: the caller's promise.
        unsafe { all::<Avx2>(numbers, squares, [count, rows]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_those_of_the_c_library() {
        let mut state = 1u64;
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
            for turn in 0..2000 {
                let count = 1 + turn % ROW;
                let mut numbers = vec![0.0; 3 * ROW];
                for number in &mut numbers {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let range = [2, 64, 660, 2046][turn % 4];
                    let exponent = 1023 - range / 2 + (state >> 40) % range;
                    *number = f64::from_bits(state << 63 | exponent << 52 | state >> 12 & ((1 << 52) - 1));
                    if turn % 50 == 3 {
                        let odd = [0.0, -0.0, f64::INFINITY, f64::NAN, -f64::INFINITY, 5e-324, 1e308, 1.0];
                        *number = odd[(state >> 40) as usize % odd.len()];
                    }
                }
                let mut got = vec![0.0; 3 * ROW];
                let given = numbers.clone();
                // SAFETY: three rows of numbers and squares.
                unsafe { squares(isa)(numbers.as_mut_ptr(), got.as_mut_ptr(), count as u64, 3) };
                for (k, (x, y)) in given.iter().zip(&got).enumerate().filter(|(k, _)| k % ROW < count) {
                    let want = power(*x);
                    assert!(want.to_bits() == y.to_bits() || want.is_nan() && y.is_nan(), "{isa:?} {k} {x:e} {y:e}");
                }
            }
        }
    }

    /// glibc has the steps that are used here; with others, or with another table, some last bits would differ.
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    #[test]
    fn the_steps_are_used() {
        if Isa::Avx2.is_supported() {
            // SAFETY: this processor has the instructions.
            assert!(unsafe { is_like_glibc::<x86::Avx2>() });
        }
    }
}
