//! Filling memory with elements of a random stream.
//!
//! In: a generator's state, a position, a step and a count. Out: elements in dense memory. Jumping to the first
//! position costs about a hundred nanoseconds. Then eight states run side by side, which hides the latency of the
//! multiplications. The meaning is that of `numelt_ir::interp::random`.

use crate::isa::{Isa, versions};
use numelt_ir::interp::random::{
    Lcg, PCG64_CHEAP_MULTIPLIER, PCG64_MULTIPLIER, counter_after, pcg64_output, pcg64dxsm_output, philox4x64,
};
use numelt_ir::{DType, Error, Op, Result};

/// Writes elements `position`, `position + step`, … of a stream: source, position, step, count, destination.
///
/// # Safety
/// There is room for `count` elements of the source's kind at the destination.
pub type Fill = unsafe fn(*const Source, u64, i64, usize, *mut u8);

/// The number of states that run side by side.
const LANES: usize = 8;

/// A generator at position zero.
pub enum Source {
    /// PCG64 or PCG64DXSM.
    Lcg(Lcg),
    /// Philox: counter and key.
    Counter([u64; 4], [u64; 2]),
}

impl Source {
    /// Makes a source from the literals behind the position; missing ones count as zero.
    pub fn new(op: Op, words: impl Iterator<Item = u64>) -> Source {
        let mut state = [0; 6];
        state.iter_mut().zip(words).for_each(|(slot, word)| *slot = word);
        if op == Op::Philox {
            return Source::Counter([state[0], state[1], state[2], state[3]], [state[4], state[5]]);
        }
        Source::Lcg(Lcg {
            state: u128::from(state[0]) << 64 | u128::from(state[1]),
            increment: u128::from(state[2]) << 64 | u128::from(state[3]),
            multiplier: if op == Op::Pcg64 { PCG64_MULTIPLIER } else { PCG64_CHEAP_MULTIPLIER },
        })
    }
}

/// A bit generator: calls `put(i, word)` for words `position + i * step`, `i` below `n`.
pub(crate) trait Words {
    fn each(source: &Source, position: u64, step: i64, n: usize, put: impl FnMut(usize, u64));
}

pub(crate) struct Pcg64;
pub(crate) struct Pcg64Dxsm;
pub(crate) struct Philox;

impl Words for Pcg64 {
    #[inline(always)]
    fn each(source: &Source, position: u64, step: i64, n: usize, put: impl FnMut(usize, u64)) {
        let Source::Lcg(lcg) = source else { return };
        // the state is advanced before it is output
        lcg_words(lcg.after(u128::from(position) + 1), step, n, pcg64_output, put);
    }
}

impl Words for Pcg64Dxsm {
    #[inline(always)]
    fn each(source: &Source, position: u64, step: i64, n: usize, put: impl FnMut(usize, u64)) {
        let Source::Lcg(lcg) = source else { return };
        lcg_words(lcg.after(u128::from(position)), step, n, pcg64dxsm_output, put);
    }
}

#[inline(always)]
fn lcg_words(lcg: Lcg, step: i64, n: usize, output: impl Fn(u128) -> u64, mut put: impl FnMut(usize, u64)) {
    let leap = if step == 1 { (lcg.multiplier, 1) } else { Lcg::leap(lcg.multiplier, i128::from(step) as u128) };
    let (multiply, add) = (leap.0, leap.1.wrapping_mul(lcg.increment));
    let next = |state: u128| multiply.wrapping_mul(state).wrapping_add(add);
    let mut states = [lcg.state; LANES];
    for lane in 1..LANES {
        states[lane] = next(states[lane - 1]);
    }
    // eight steps in one: doubled three times
    let (mut far, mut sum) = (multiply, add);
    for _ in 0..3 {
        sum = far.wrapping_mul(sum).wrapping_add(sum);
        far = far.wrapping_mul(far);
    }
    let mut at = 0;
    while at + LANES <= n {
        for (lane, state) in states.iter_mut().enumerate() {
            put(at + lane, output(*state));
            *state = far.wrapping_mul(*state).wrapping_add(sum);
        }
        at += LANES;
    }
    for (lane, state) in states.iter().enumerate().take(n - at) {
        put(at + lane, output(*state));
    }
}

impl Words for Philox {
    #[inline(always)]
    fn each(source: &Source, position: u64, step: i64, n: usize, mut put: impl FnMut(usize, u64)) {
        let Source::Counter(counter, key) = source else { return };
        let block = |number: u64| philox4x64(counter_after(*counter, number), *key);
        let place = |i: usize| position.wrapping_add((i as i64).wrapping_mul(step) as u64);
        let mut at = 0;
        if step == 1 {
            // whole blocks, between a beginning and an end
            while at < n && place(at) & 3 != 0 {
                put(at, block(place(at) >> 2)[(place(at) & 3) as usize]);
                at += 1;
            }
            while at + 4 <= n {
                let words = block(place(at) >> 2);
                (0..4).for_each(|k| put(at + k, words[k]));
                at += 4;
            }
        }
        for i in at..n {
            put(i, block(place(i) >> 2)[(place(i) & 3) as usize]);
        }
    }
}

/// An element type, and how an element is made from a word or half a word.
pub(crate) trait Element {
    type Value: Copy;
    /// Whether each word gives two elements.
    const HALVES: bool;
    fn of(word: u64) -> Self::Value;
}

pub(crate) struct WordU64;
pub(crate) struct WordF64;
pub(crate) struct HalfU32;
pub(crate) struct HalfF32;

impl Element for WordU64 {
    type Value = u64;
    const HALVES: bool = false;
    #[inline(always)]
    fn of(word: u64) -> u64 {
        word
    }
}

impl Element for WordF64 {
    type Value = f64;
    const HALVES: bool = false;
    #[inline(always)]
    fn of(word: u64) -> f64 {
        // converted as a signed number, because that conversion is one instruction everywhere; the value is not
        // negative
        (word >> 11) as i64 as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

impl Element for HalfU32 {
    type Value = u32;
    const HALVES: bool = true;
    #[inline(always)]
    fn of(half: u64) -> u32 {
        half as u32
    }
}

impl Element for HalfF32 {
    type Value = f32;
    const HALVES: bool = true;
    #[inline(always)]
    fn of(half: u64) -> f32 {
        (half as u32 >> 8) as i32 as f32 * (1.0 / (1u32 << 24) as f32)
    }
}

/// Writes `n` elements of a stream, `step` apart.
///
/// # Safety
/// `source` can be read, `dst` has room for `n` elements.
#[inline(always)]
unsafe fn fill<G: Words, T: Element>(source: *const Source, position: u64, step: i64, n: usize, dst: *mut u8) {
    // SAFETY: the caller's source.
    let source = unsafe { &*source };
    let dst: *mut T::Value = dst.cast();
    // SAFETY: every index below `n` is inside the caller's room.
    let write = |i: usize, value: u64| unsafe { dst.add(i).write(T::of(value)) };
    if n == 0 {
        return;
    }
    if !T::HALVES {
        G::each(source, position, step, n, write);
        return;
    }
    let half = |place: u64| {
        let mut found = 0;
        G::each(source, place >> 1, 1, 1, |_, word| found = word >> (32 * (place & 1)));
        found
    };
    if step != 1 {
        for i in 0..n {
            write(i, half(position.wrapping_add((i as i64).wrapping_mul(step) as u64)));
        }
        return;
    }
    let head = (position & 1) as usize;
    if head == 1 {
        write(0, half(position));
    }
    let first = position.wrapping_add(head as u64);
    let pairs = (n - head) / 2;
    G::each(source, first >> 1, 1, pairs, |i, word| {
        write(head + 2 * i, word);
        write(head + 2 * i + 1, word >> 32);
    });
    if head + 2 * pairs < n {
        write(n - 1, half(first.wrapping_add(2 * pairs as u64)));
    }
}

versions!(
    /// The filling loop of a generator and an element type.
    pick,
    fill,
    [G: Words, T: Element],
    (source: *const Source, position: u64, step: i64, n: usize, dst: *mut u8)
);

/// The filling loop of an operation.
pub fn select(op: Op, ty: DType, isa: Isa) -> Result<Fill> {
    fn of_type<G: Words>(ty: DType, isa: Isa) -> Option<Fill> {
        match ty {
            DType::U64 => Some(pick::<G, WordU64>(isa)),
            DType::F64 => Some(pick::<G, WordF64>(isa)),
            DType::U32 => Some(pick::<G, HalfU32>(isa)),
            DType::F32 => Some(pick::<G, HalfF32>(isa)),
            _ => None,
        }
    }
    let found = match op {
        Op::Pcg64 => of_type::<Pcg64>(ty, isa),
        Op::Pcg64Dxsm => of_type::<Pcg64Dxsm>(ty, isa),
        Op::Philox => of_type::<Philox>(ty, isa),
        _ => None,
    };
    found.ok_or_else(|| Error::Unsupported(format!("{}.{ty}", op.name())))
}

#[cfg(test)]
mod tests {
    use super::{Source, select};
    use crate::isa::Isa;
    use numelt_ir::interp::apply;
    use numelt_ir::{DType, Op, Scalar};

    /// Element `position` by the reference interpreter.
    fn expected(op: Op, ty: DType, position: u64, state: &[u64]) -> Scalar {
        let ins: Vec<Scalar> = std::iter::once(position).chain(state.iter().copied()).map(Scalar::U64).collect();
        apply(op, ty, &ins).unwrap()
    }

    #[test]
    fn filled_elements_are_the_interpreters() {
        let state = [u64::MAX, u64::MAX - 3, 0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321, 77, 1 << 63];
        for (op, words) in [(Op::Pcg64, 4), (Op::Pcg64Dxsm, 4), (Op::Philox, 6)] {
            for ty in [DType::U64, DType::F64, DType::U32, DType::F32] {
                for (position, step) in [(0, 1), (1, 1), (3, 1), (1 << 40, 1), (1000, -1), (999, -7), (5, 0), (2, 12)] {
                    for n in [1, 2, 7, 8, 9, 31] {
                        check(op, ty, &state[..words], position, step, n);
                    }
                }
            }
        }
    }

    fn check(op: Op, ty: DType, state: &[u64], position: u64, step: i64, n: usize) {
        let source = Source::new(op, state.iter().copied());
        for isa in [Isa::Portable, crate::isa::detect()] {
            let mut room = vec![0u64; n + 1];
            // SAFETY: there is room for `n` elements of at most eight bytes.
            unsafe { select(op, ty, isa).unwrap()(&source, position, step, n, room.as_mut_ptr().cast()) };
            let bytes: Vec<u8> = room.iter().flat_map(|w| w.to_ne_bytes()).collect();
            for i in 0..n {
                let got = Scalar::from_bytes(ty, &bytes[i * ty.size()..]);
                let want = expected(op, ty, position.wrapping_add((i as i64 * step) as u64), state);
                assert!(got.same_bits(want), "{op:?} {ty} at {position} + {i} * {step}: {got:?}, not {want:?}");
            }
        }
    }
}
