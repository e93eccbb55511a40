//! Integers below a bound from a random stream, by multiplication and rejection.
//!
//! In: a stream, a bound and a count. Out: integers in dense memory, and the number of stream elements that they took.
//! The integer is the high part of `element * bound`. Elements whose low part is below `2^bits mod bound` are skipped,
//! which keeps the integers uniform (Lemire 2019; NumPy's rule). The number of skipped elements is known only
//! afterwards, so this cannot be lazy. Rejections are rare, so threads take stretches as if there were none, and the
//! integers behind a rejection are computed again.

use super::fill::{self, Fill, Source};
use crate::isa::{Isa, versions};
use numelt_ir::{DType, Result};
use numelt_runtime::{Bounded, RandomStream};

/// The number of stream elements that are computed at a time: 16 KB.
const BLOCK: usize = 2048;
/// The fewest integers that are worth a thread.
const SHARE: usize = 1 << 18;

/// A type of stream elements, and how they are multiplied.
pub(crate) trait Part {
    type Element: Copy;
    /// High and low part of `element * count`.
    fn multiply(element: Self::Element, count: u64) -> (u64, u64);
}

pub(crate) struct Half;
pub(crate) struct Word;

impl Part for Half {
    type Element = u32;
    #[inline(always)]
    fn multiply(element: u32, count: u64) -> (u64, u64) {
        let product = u64::from(element) * u64::from(count as u32);
        (product >> 32, product & 0xffff_ffff)
    }
}

impl Part for Word {
    type Element = u64;
    #[inline(always)]
    fn multiply(element: u64, count: u64) -> (u64, u64) {
        let product = u128::from(element) * u128::from(count);
        ((product >> 64) as u64, product as u64)
    }
}

/// The type of the results.
pub(crate) trait Integer: Copy {
    fn of(bits: u64) -> Self;
}

impl Integer for u32 {
    #[inline(always)]
    fn of(bits: u64) -> u32 {
        bits as u32
    }
}

impl Integer for u64 {
    #[inline(always)]
    fn of(bits: u64) -> u64 {
        bits
    }
}

/// Converts a block of elements to integers; clears `clean` if one of them has to be skipped.
///
/// # Safety
/// `elements` holds `n` elements of the stream, `dst` has room for `n` integers, `clean` can be written.
#[inline(always)]
unsafe fn map<P: Part, T: Integer>(
    elements: *const u8,
    n: usize,
    bounded: Bounded,
    threshold: u64,
    dst: *mut u8,
    clean: *mut bool,
) {
    let (elements, dst): (*const P::Element, *mut T) = (elements.cast(), dst.cast());
    let mut rejected = false;
    for i in 0..n {
        // SAFETY: the caller's `n` elements and room for as many integers.
        unsafe {
            let (high, low) = P::multiply(elements.add(i).read(), bounded.count);
            rejected |= low < threshold;
            dst.add(i).write(T::of(bounded.low.wrapping_add(high)));
        }
    }
    // SAFETY: the caller's flag.
    unsafe { *clean = !rejected };
}

versions!(
    /// The mapping loop.
    pick_map,
    map,
    [P: Part, T: Integer],
    (elements: *const u8, n: usize, bounded: Bounded, threshold: u64, dst: *mut u8, clean: *mut bool)
);

/// The mapping loop for a kind of stream and an integer type: see `map`.
///
/// # Safety
/// The contract of `map`.
type Map = unsafe fn(*const u8, usize, Bounded, u64, *mut u8, *mut bool);

struct BoundedFill<'a> {
    fill: Fill,
    map: Map,
    source: &'a Source,
    bounded: Bounded,
    threshold: u64,
}

/// The address of the results, for threads that write different parts of them.
#[derive(Clone, Copy)]
struct SharedResults(*mut u8);
// SAFETY: each thread writes to integers of its own.
unsafe impl Send for SharedResults {}
// SAFETY: as above.
unsafe impl Sync for SharedResults {}

impl SharedResults {
    fn at(self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

impl BoundedFill<'_> {
    fn size(&self) -> usize {
        if self.bounded.wide { 8 } else { 4 }
    }

    /// Makes `n` integers from the elements at `position` on, and returns how many elements that took.
    ///
    /// # Safety
    /// `dst` has space for them.
    unsafe fn run(&self, position: u64, n: usize, dst: *mut u8) -> u64 {
        let mut block = [0u64; BLOCK];
        let elements = block.as_mut_ptr().cast::<u8>();
        let (mut made, mut drawn) = (0, 0u64);
        while made < n {
            let want = BLOCK.min(n - made);
            let mut clean = true;
            // SAFETY: the block holds `want` elements of at most eight bytes, the room the rest of the integers.
            unsafe {
                (self.fill)(self.source, position.wrapping_add(drawn), 1, want, elements);
                let at = dst.add(made * self.size());
                (self.map)(elements, want, self.bounded, self.threshold, at, &mut clean);
                made += if clean { want } else { self.select(elements, want, at) };
            }
            drawn += want as u64;
        }
        drawn
    }

    /// Makes the integers of the elements that are not skipped, and returns their number.
    ///
    /// # Safety
    /// `elements` holds `n` elements of the stream, `dst` has space for `n` integers.
    #[cold]
    unsafe fn select(&self, elements: *const u8, n: usize, dst: *mut u8) -> usize {
        let mut made = 0;
        for i in 0..n {
            // SAFETY: the caller's elements and room.
            unsafe {
                let (high, low) = if self.bounded.halves {
                    Half::multiply(elements.cast::<u32>().add(i).read(), self.bounded.count)
                } else {
                    Word::multiply(elements.cast::<u64>().add(i).read(), self.bounded.count)
                };
                if low < self.threshold {
                    continue;
                }
                let value = self.bounded.low.wrapping_add(high);
                if self.bounded.wide {
                    dst.cast::<u64>().add(made).write(value);
                } else {
                    dst.cast::<u32>().add(made).write(value as u32);
                }
                made += 1;
            }
        }
        made
    }

    /// Makes `n` integers with several threads.
    ///
    /// # Safety
    /// There is room for `n` integers.
    unsafe fn share(&self, position: u64, n: usize, dst: SharedResults, threads: usize) -> u64 {
        let cut = |k: usize| n * k / threads;
        let part = |k: usize| {
            // SAFETY: the caller's room; the parts do not overlap.
            unsafe { self.run(position.wrapping_add(cut(k) as u64), cut(k + 1) - cut(k), dst.at(cut(k) * self.size())) }
        };
        let drawn: Vec<u64> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|k| scope.spawn(move || part(k))).collect();
            let first = part(0);
            std::iter::once(first).chain(others.into_iter().map(|t| t.join().unwrap_or(u64::MAX))).collect()
        });
        let mut total = 0;
        for (k, &drawn) in drawn.iter().enumerate() {
            let made = cut(k + 1);
            if drawn == u64::MAX {
                // a thread that could not run: its part and everything after it are made here
                let from = cut(k);
                // SAFETY: the caller's room.
                return total + unsafe { self.run(position.wrapping_add(total), n - from, dst.at(from * self.size())) };
            }
            total += drawn;
            if total != made as u64 && made < n {
                // SAFETY: the caller's room.
                return total + unsafe { self.run(position.wrapping_add(total), n - made, dst.at(made * self.size())) };
            }
        }
        total
    }
}

/// Makes `n` integers from a stream, and returns how many of its elements that took.
///
/// # Errors
/// Those of an operation that is not a random stream.
///
/// # Safety
/// `dst` has space for `n` integers, and is aligned for them.
pub unsafe fn fill_bounded(
    stream: &RandomStream<'_>,
    bounded: Bounded,
    n: usize,
    dst: *mut u8,
    threads: usize,
    isa: Isa,
) -> Result<u64> {
    let position = stream.position;
    let fill = fill::select(stream.op, if bounded.halves { DType::U32 } else { DType::U64 }, isa)?;
    let map = match (bounded.halves, bounded.wide) {
        (true, true) => pick_map::<Half, u64>(isa),
        (true, false) => pick_map::<Half, u32>(isa),
        (false, true) => pick_map::<Word, u64>(isa),
        (false, false) => pick_map::<Word, u32>(isa),
    };
    let range = if bounded.halves { 1u128 << 32 } else { 1u128 << 64 };
    let threshold = (range % u128::from(bounded.count.max(1))) as u64;
    let source = Source::new(stream.op, stream.state.iter().copied());
    let task = BoundedFill { fill, map, source: &source, bounded, threshold };
    let threads = threads.min(n / SHARE).max(1);
    // SAFETY: the caller's room.
    unsafe {
        Ok(if threads > 1 { task.share(position, n, SharedResults(dst), threads) } else { task.run(position, n, dst) })
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARE, fill_bounded};
    use crate::isa::detect;
    use numelt_ir::interp::apply;
    use numelt_ir::{DType, Op, Scalar};
    use numelt_runtime::{Bounded, RandomStream};

    const STATE: [u64; 4] = [1, 2, 3, 5];

    fn stream(position: u64) -> RandomStream<'static> {
        RandomStream { op: Op::Pcg64, position, state: &STATE }
    }

    fn element(halves: bool, position: u64) -> u64 {
        let ins: Vec<Scalar> = std::iter::once(position).chain(STATE).map(Scalar::U64).collect();
        match apply(Op::Pcg64, if halves { DType::U32 } else { DType::U64 }, &ins).unwrap() {
            Scalar::U32(v) => u64::from(v),
            Scalar::U64(v) => v,
            other => panic!("{other:?}"),
        }
    }

    /// One after the other, as NumPy does it.
    fn expected(bounded: Bounded, n: usize) -> (Vec<u64>, u64) {
        let bits = if bounded.halves { 32 } else { 64 };
        let threshold = (1u128 << bits) % u128::from(bounded.count);
        let (mut values, mut position) = (Vec::new(), 0);
        while values.len() < n {
            let product = u128::from(element(bounded.halves, position)) * u128::from(bounded.count);
            position += 1;
            if product & ((1 << bits) - 1) >= threshold {
                values.push(bounded.low.wrapping_add((product >> bits) as u64));
            }
        }
        (values, position)
    }

    #[test]
    fn integers_and_rejections_are_in_order() {
        for (halves, count) in [(true, 10), (true, 0xc000_0001), (false, 3 << 62), (false, 1 << 40), (true, 1)] {
            let bounded = Bounded { low: u64::MAX - 2, count, halves, wide: true };
            let (want, drawn) = expected(bounded, 5000);
            let mut got = vec![0u64; 5000];
            // SAFETY: there is room.
            let taken =
                unsafe { fill_bounded(&stream(0), bounded, 5000, got.as_mut_ptr().cast(), 1, detect()) }.unwrap();
            assert_eq!((got, taken), (want, drawn));
        }
    }

    #[test]
    fn threads_change_nothing() {
        let n = 3 * SHARE + 17;
        // a rejection every 2^14 elements or so, one every second, and none
        for count in [3_000_000_019, (1 << 31) + 1, 1 << 20, 5] {
            let bounded = Bounded { low: 7, count, halves: true, wide: false };
            let mut rooms = [vec![0u32; n], vec![0u32; n]];
            let taken = [0, 1].map(|k| {
                let threads = 1 + 2 * k;
                // SAFETY: there is room.
                unsafe { fill_bounded(&stream(9), bounded, n, rooms[k].as_mut_ptr().cast(), threads, detect()) }
                    .unwrap()
            });
            assert_eq!(taken[0], taken[1]);
            assert!(rooms[0] == rooms[1], "{count}");
        }
    }
}
