//! Generators that can only be run one number after the other: the Mersenne Twister and SFC64.
//!
//! In: a generator's state and dense memory. Out: the memory filled, and the state moved on. These streams cannot be
//! entered in the middle, so nothing here is lazy. But the twister makes 624 words at a time in vector registers, and
//! the numbers that are made from the words (doubles, integers under a mask, normal numbers by Marsaglia's polar
//! method) are computed in a loop over a block in cache. Threads share the logarithms of normal numbers.

use super::bounded::Integer;
use crate::isa::{Isa, versions};
use numelt_ir::interp::random::{twister_double, twister_next, twister_output};
use numelt_runtime::{Draw, Integers, OffsetAndScale, Sequence, TWISTER_WORDS as WORDS};

/// The number of words that are made at a time: 8 KB.
const BLOCK: usize = 2048;
/// The fewest pairs of normal numbers that are worth a thread.
const SHARE: usize = 1 << 15;

const TO_DOUBLE: f64 = 1.0 / 9_007_199_254_740_992.0;
const TO_SINGLE: f32 = 1.0 / 16_777_216.0;

/// The next 624 words of state.
///
/// # Safety
/// `key` holds them.
#[inline(always)]
unsafe fn regenerate(key: *mut u32) {
    // SAFETY: the caller's state, which nobody else sees meanwhile.
    twister_next(unsafe { &mut *key.cast::<[u32; WORDS]>() });
}

/// # Safety
/// `n` words of state, and room for as many.
#[inline(always)]
unsafe fn temper(state: *const u32, n: usize, to: *mut u32) {
    for i in 0..n {
        // SAFETY: the caller's words and room.
        unsafe { to.add(i).write(twister_output(state.add(i).read())) }
    }
}

/// # Safety
/// `2 * n` words, and room for `n` numbers.
#[inline(always)]
unsafe fn doubles(words: *const u32, n: usize, low: f64, range: f64, plain: bool, to: *mut f64) {
    for i in 0..n {
        // SAFETY: the caller's words and room.
        unsafe {
            let number = twister_double(words.add(2 * i).read(), words.add(2 * i + 1).read());
            to.add(i).write(if plain { number } else { low + range * number });
        }
    }
}

/// Makes integers from the words that do not exceed `last` under the mask; their number goes to `made`.
///
/// # Safety
/// `n` words, and room for as many integers.
#[inline(always)]
unsafe fn masked<T: Integer>(
    words: *const u32,
    n: usize,
    mask: u32,
    last: u32,
    low: u64,
    to: *mut u8,
    made: *mut usize,
) {
    let to = to.cast::<T>();
    let mut count = 0;
    for i in 0..n {
        // SAFETY: the caller's words; no more integers are made than words are read.
        unsafe {
            let value = words.add(i).read() & mask;
            to.add(count).write(T::of(low.wrapping_add(u64::from(value))));
            count += usize::from(value <= last);
        }
    }
    // SAFETY: the caller's counter.
    unsafe { *made = count };
}

/// The points of the square that are inside the unit circle, as `(second, first)`; their number goes to `made`.
///
/// # Safety
/// `4 * n` words, and room for `2 * n` numbers.
#[inline(always)]
unsafe fn points(words: *const u32, n: usize, to: *mut f64, made: *mut usize) {
    let mut count = 0;
    for i in 0..n {
        // SAFETY: the caller's words; no more points are kept than tried.
        unsafe {
            let word = |k| words.add(4 * i + k).read();
            let first = 2.0 * twister_double(word(0), word(1)) - 1.0;
            let second = 2.0 * twister_double(word(2), word(3)) - 1.0;
            to.add(2 * count).write(second);
            to.add(2 * count + 1).write(first);
            let square = first * first + second * second;
            count += usize::from(square < 1.0 && square != 0.0);
        }
    }
    // SAFETY: the caller's counter.
    unsafe { *made = count };
}

/// Makes normal numbers from points, in place.
fn normal_of_points(pairs: &mut [f64], affine: OffsetAndScale) {
    for pair in pairs.chunks_exact_mut(2) {
        let (second, first) = (pair[0], pair[1]);
        let square = first * first + second * second;
        let factor = (-2.0 * square.ln() / square).sqrt();
        for (slot, number) in pair.iter_mut().zip([factor * second, factor * first]) {
            *slot = affine.map_or(number, |(low, range)| low + range * number);
        }
    }
}

versions!(/// One turn of the state.
    pick_regenerate, regenerate, [], (key: *mut u32));
versions!(/// Words of a state.
    pick_temper, temper, [], (state: *const u32, n: usize, to: *mut u32));
versions!(/// Uniform numbers.
    pick_doubles, doubles, [], (words: *const u32, n: usize, low: f64, range: f64, plain: bool, to: *mut f64));
versions!(/// Integers by mask and rejection.
    pick_masked, masked, [T: Integer],
    (words: *const u32, n: usize, mask: u32, last: u32, low: u64, to: *mut u8, made: *mut usize));
versions!(/// Points of the unit circle.
    pick_points, points, [], (words: *const u32, n: usize, to: *mut f64, made: *mut usize));

/// Makes a generator's next numbers; false if they are not supported, with the state unchanged.
pub fn draw(sequence: &mut Sequence<'_>, numbers: Draw<'_>, threads: usize, isa: Isa) -> bool {
    match (numbers, sequence) {
        (Draw::Uniform(affine, out), sequence) => uniform(sequence, affine, out, isa),
        (Draw::UniformSingle(out), sequence) => uniform_single(sequence, out, isa),
        (Draw::Masked { low, last, to: Integers::Narrow(out) }, sequence) => {
            masked_integers::<u32>(sequence, low, last, out, isa);
        }
        (Draw::Masked { low, last, to: Integers::Wide(out) }, sequence) => {
            masked_integers::<u64>(sequence, low, last, out, isa);
        }
        (Draw::Normal(affine, out), Sequence::Twister(key, position)) => {
            normal((key, position), affine, out, threads, isa);
        }
        // NumPy makes normal numbers from SFC64 by another method
        (Draw::Normal(..), Sequence::Sfc64(..)) => return false,
    }
    true
}

/// The next halves of words.
fn halves(sequence: &mut Sequence<'_>, out: &mut [u32], isa: Isa) {
    match sequence {
        Sequence::Twister(key, position) => twister_words(key, position, out, isa),
        Sequence::Sfc64(state, has, half) => {
            for slot in out {
                *slot = if **has != 0 {
                    **has = 0;
                    **half
                } else {
                    let word = sfc64(state);
                    (**has, **half) = (1, (word >> 32) as u32);
                    word as u32
                };
            }
        }
    }
}

/// Fills memory with uniform numbers in `[0, 1)`, scaled and shifted by `affine`.
fn uniform(sequence: &mut Sequence<'_>, affine: OffsetAndScale, out: &mut [f64], isa: Isa) {
    let (low, range) = affine.unwrap_or((0.0, 1.0));
    match sequence {
        Sequence::Twister(key, position) => {
            let mut words = [0; BLOCK];
            for part in out.chunks_mut(BLOCK / 2) {
                twister_words(key, position, &mut words[..2 * part.len()], isa);
                // SAFETY: two words for each number of the part.
                unsafe {
                    pick_doubles(isa)(words.as_ptr(), part.len(), low, range, affine.is_none(), part.as_mut_ptr());
                }
            }
        }
        Sequence::Sfc64(state, ..) => {
            for slot in out {
                let number = (sfc64(state) >> 11) as f64 * TO_DOUBLE;
                *slot = if affine.is_some() { low + range * number } else { number };
            }
        }
    }
}

/// Fills memory with uniform numbers of single precision in `[0, 1)`.
fn uniform_single(sequence: &mut Sequence<'_>, out: &mut [f32], isa: Isa) {
    let mut words = [0; BLOCK];
    for part in out.chunks_mut(BLOCK) {
        halves(sequence, &mut words[..part.len()], isa);
        for (slot, word) in part.iter_mut().zip(&words) {
            *slot = (word >> 8) as f32 * TO_SINGLE;
        }
    }
}

/// Fills memory with integers from `low` to `low + last`: see [`Draw::Masked`].
fn masked_integers<T: Integer>(sequence: &mut Sequence<'_>, low: u64, last: u32, out: &mut [T], isa: Isa) {
    let mask = u32::MAX.checked_shr(last.leading_zeros()).unwrap_or(0);
    let (mut words, mut done) = ([0; BLOCK], 0);
    while done < out.len() {
        let rest = &mut out[done..];
        // no more words are taken than are needed in any case
        let tried = BLOCK.min(rest.len());
        halves(sequence, &mut words[..tried], isa);
        let mut made = 0;
        // SAFETY: the words, and room for what is left of the integers.
        unsafe {
            pick_masked::<T>(isa)(words.as_ptr(), tried, mask, last, low, rest.as_mut_ptr().cast(), &mut made);
        }
        done += made;
    }
}

/// Fills memory with pairs of normal numbers by the polar method; an odd number at the end stays as it is.
fn normal(
    (key, position): (&mut [u32; WORDS], &mut i32),
    affine: OffsetAndScale,
    out: &mut [f64],
    threads: usize,
    isa: Isa,
) {
    let count = out.len() / 2;
    let threads = threads.min(count / SHARE).max(1);
    let (mut words, mut done) = ([0; BLOCK], 0);
    while done < count {
        // no more points are tried than are needed in any case
        let tried = (BLOCK / 4).min(count - done);
        twister_words(key, position, &mut words[..4 * tried], isa);
        let room = &mut out[2 * done..2 * (done + tried)];
        let mut made = 0;
        // SAFETY: four words for each point, and room for all of them.
        unsafe { pick_points(isa)(words.as_ptr(), tried, room.as_mut_ptr(), &mut made) };
        if threads == 1 {
            normal_of_points(&mut room[..2 * made], affine);
        }
        done += made;
    }
    if threads > 1 {
        let part = 2 * count.div_ceil(threads);
        std::thread::scope(|scope| {
            for pairs in out[..2 * count].chunks_mut(part) {
                scope.spawn(move || normal_of_points(pairs, affine));
            }
        });
    }
}

fn twister_words(key: &mut [u32; WORDS], position: &mut i32, out: &mut [u32], isa: Isa) {
    let mut out = out;
    while !out.is_empty() {
        let mut at = usize::try_from(*position).unwrap_or(WORDS);
        if at >= WORDS {
            // SAFETY: the whole state.
            unsafe { pick_regenerate(isa)(key.as_mut_ptr()) };
            at = 0;
        }
        let n = out.len().min(WORDS - at);
        // SAFETY: `n` words of the state from `at` on, and room for them.
        unsafe { pick_temper(isa)(key.as_ptr().add(at), n, out.as_mut_ptr()) };
        *position = (at + n) as i32;
        out = &mut out[n..];
    }
}

#[inline(always)]
fn sfc64(state: &mut [u64; 4]) -> u64 {
    let word = state[0].wrapping_add(state[1]).wrapping_add(state[3]);
    state[3] = state[3].wrapping_add(1);
    state[0] = state[1] ^ (state[1] >> 11);
    state[1] = state[2].wrapping_add(state[2] << 3);
    state[2] = state[2].rotate_left(24).wrapping_add(word);
    word
}

#[cfg(test)]
mod tests {
    use super::{Draw, Integers, SHARE, Sequence, WORDS, draw, halves};
    use crate::isa::{Isa, detect};
    use numelt_ir::interp::random::twister_mix;

    /// The reference's initialization by a small seed.
    fn seeded(seed: u32) -> [u32; WORDS] {
        let mut key = [seed; WORDS];
        for i in 1..WORDS {
            key[i] = (key[i - 1] ^ (key[i - 1] >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        key
    }

    #[test]
    fn first_words_are_those_of_the_reference() {
        let (mut key, mut position) = (seeded(5489), WORDS as i32);
        let mut words = vec![0; 10_000];
        halves(&mut Sequence::Twister(&mut key, &mut position), &mut words, detect());
        assert_eq!(words[0], 3_499_211_612);
        assert_eq!(words[9999], 4_123_659_995);
        assert_eq!(position, (10_000 % WORDS) as i32);
        assert_eq!(twister_mix(0, 0, 7), 7);
    }

    #[test]
    fn pieces_and_threads_change_nothing() {
        let drawn = |cuts: &[usize], threads| {
            let (mut key, mut position) = (seeded(1), WORDS as i32);
            let mut out = vec![0.0; 4 * SHARE + 6];
            let mut rest = &mut out[..];
            for &n in cuts.iter().chain(&[4 * SHARE + 6 - cuts.iter().sum::<usize>()]) {
                let (part, later) = rest.split_at_mut(n);
                let numbers = Draw::Normal(Some((1.0, 2.0)), part);
                assert!(draw(&mut Sequence::Twister(&mut key, &mut position), numbers, threads, detect()));
                rest = later;
            }
            (out, key, position)
        };
        let whole = drawn(&[], 1);
        assert!(whole == drawn(&[], 2));
        assert!(whole == drawn(&[2, 600, 10_000], 1));
    }

    #[test]
    fn instruction_sets_change_nothing() {
        let drawn = |isa| {
            let (mut key, mut position) = (seeded(7), 11);
            let (mut doubles, mut singles) = (vec![0.0; 999], vec![0.0; 999]);
            let (mut narrow, mut wide) = (vec![0; 999], vec![0; 999]);
            for numbers in [
                Draw::Uniform(Some((-3.0, 0.7)), &mut doubles),
                Draw::UniformSingle(&mut singles),
                Draw::Masked { low: u64::MAX, last: 700, to: Integers::Narrow(&mut narrow) },
                Draw::Masked { low: 5, last: 70_000, to: Integers::Wide(&mut wide) },
            ] {
                assert!(draw(&mut Sequence::Twister(&mut key, &mut position), numbers, 1, isa));
            }
            (doubles, singles, narrow, wide, key, position)
        };
        assert!(drawn(Isa::Portable) == drawn(detect()));
    }

    #[test]
    fn normal_numbers_of_sfc64_are_declined() {
        let (mut words, mut has, mut half, mut out) = ([1, 2, 3, 4], 1, 5, [0.0; 4]);
        let mut sequence = Sequence::Sfc64(&mut words, &mut has, &mut half);
        assert!(!draw(&mut sequence, Draw::Normal(None, &mut out), 1, detect()));
        assert_eq!((words, has, half, out), ([1, 2, 3, 4], 1, 5, [0.0; 4]));
    }
}
