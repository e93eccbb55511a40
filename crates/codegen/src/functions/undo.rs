//! Undoing iterations ahead: the memory that they are going to write is copied before they run, and copied back if they
//! give up.
//!
//! In: the arrays of a [`Job`] and a range of iterations. Not here: the choice of the range, and why iterations give
//! up.

use super::{ArrayMemory, Job, Place, Span};
use smallvec::SmallVec;
use std::ops::Range;

/// The size of a page of memory.
const PAGE: usize = 4096;

/// The size of a cache line.
const LINE: usize = 64;
/// Elements in so many lines stay in the first-level cache, so that they need not be copied together with others.
const MOST_LINES: usize = 64;
/// So many pieces of memory are requested from the caches below before they are copied: those that lie far apart come
/// from there one by one, and no processor foresees where the next one is.
const REQUESTED: i64 = 24;

/// A regular grid of contiguous pieces of memory, all of one length.
struct Block {
    /// The number of the array.
    array: usize,
    address: u64,
    /// The length of a piece in bytes.
    piece: usize,
    /// For each axis of the grid the number of pieces and their distance in bytes, the largest distance first.
    axes: SmallVec<[(i64, i64); 4]>,
}

impl Block {
    /// The memory of an array that iterations write.
    fn of(memory: &ArrayMemory, part: &Place, iterations: &Range<i64>) -> Block {
        let mut start = 0i64;
        let mut axes = memory.axes.clone();
        for (axis, indices) in axes.iter_mut().zip(&part.indices) {
            match indices {
                Span::At((first, step)) => {
                    start = start.wrapping_add((first + step * iterations.start).wrapping_mul(axis.1));
                    let count = if *step == 0 { 1 } else { iterations.end - iterations.start };
                    *axis = (count, step.wrapping_mul(axis.1));
                }
                Span::Within([least, most]) => {
                    let ends = |(first, step): (i64, i64)| {
                        [iterations.start, iterations.end - 1].map(|iteration| first + step * iteration)
                    };
                    let least = least.map_or(0, |least| ends(least).into_iter().fold(i64::MAX, i64::min)).max(0);
                    let most = most.map_or(i64::MAX, |most| ends(most).into_iter().fold(i64::MIN, i64::max));
                    let most = most.min(axis.0 - 1);
                    start = start.wrapping_add(least.wrapping_mul(axis.1));
                    axis.0 = most.saturating_sub(least).saturating_add(1).max(0);
                }
            }
        }
        axes.retain(|axis| axis.0 != 1);
        axes.sort_by_key(|(_, stride)| std::cmp::Reverse(stride.unsigned_abs()));
        let mut piece = memory.size;
        while let Some((extent, stride)) = axes.last().copied() {
            if stride != piece as i64 || extent < 0 {
                break;
            }
            piece *= extent as usize;
            axes.pop();
        }
        Block { array: part.array, address: memory.address.wrapping_add_signed(start), piece, axes }
    }

    /// Adds the pieces of another block of the same array to those of this one, if each overlaps or adjoins the same
    /// one of this block: `a[i]` and `a[i + 1]` are written by such iterations.
    fn joins(&mut self, other: &Block) -> bool {
        let end = |block: &Block| block.address.wrapping_add(block.piece as u64);
        let is_like = self.array == other.array && self.axes == other.axes;
        if !is_like || other.address > end(self) || self.address > end(other) {
            return false;
        }
        let (address, end) = (self.address.min(other.address), end(self).max(end(other)));
        (self.address, self.piece) = (address, (end - address) as usize);
        true
    }

    /// The first address, and the one behind the last one; equal if there are no pieces.
    fn reach(&self) -> (u64, u64) {
        let (mut low, mut high) = (self.address, self.address.wrapping_add(self.piece as u64));
        for (extent, stride) in &self.axes {
            if *extent <= 0 {
                return (self.address, self.address);
            }
            let far = (extent - 1).wrapping_mul(*stride);
            if far < 0 { low = low.wrapping_add_signed(far) } else { high = high.wrapping_add_signed(far) }
        }
        (low, high)
    }

    fn bytes(&self) -> usize {
        self.axes.iter().fold(self.piece, |bytes, (extent, _)| bytes.saturating_mul((*extent).max(0) as usize))
    }

    /// Calls `f` with the address of each piece.
    fn each(&self, f: &mut impl FnMut(u64)) {
        fn pieces(address: u64, axes: &[(i64, i64)], f: &mut impl FnMut(u64)) {
            match axes {
                [] => f(address),
                [(extent, stride)] => (0..*extent).for_each(|k| {
                    let at = |k: i64| address.wrapping_add_signed(k.wrapping_mul(*stride));
                    prefetch(at(k + REQUESTED));
                    f(at(k));
                }),
                [(extent, stride), rest @ ..] => {
                    (0..*extent).for_each(|k| pieces(address.wrapping_add_signed(k.wrapping_mul(*stride)), rest, f));
                }
            }
        }
        if self.piece > 0 {
            pieces(self.address, &self.axes, f);
        }
    }
}

/// The memory that some iterations may write.
pub struct Blocks {
    all: SmallVec<[Block; 2]>,
    /// The largest number of bytes that they write.
    pub bytes: usize,
    /// Do they write at most a cache line in one place, and do more iterations write the elements beside these? The
    /// elements of a column are an example: they are copied faster together with those of the next columns.
    pub is_scattered: bool,
}

impl Blocks {
    /// No memory.
    pub fn none() -> Blocks {
        Blocks { all: SmallVec::new(), bytes: 0, is_scattered: false }
    }

    /// Of a range of iterations.
    pub fn of(job: &Job, iterations: &Range<i64>) -> Blocks {
        let mut blocks = Blocks::none();
        for part in &job.written {
            let memory = &job.arrays[part.array];
            let block = Block::of(memory, part, iterations);
            blocks.is_scattered |=
                block.piece <= LINE && block.bytes() > MOST_LINES * block.piece && goes_on_beside(memory, part);
            if !blocks.all.iter_mut().any(|other| other.joins(&block)) {
                blocks.all.push(block);
            }
        }
        blocks.bytes = blocks.all.iter().map(Block::bytes).fold(0, usize::saturating_add);
        blocks
    }

    /// Copies the memory behind what has been copied before.
    ///
    /// # Safety
    /// The arrays are allocated, nobody else writes that part of them meanwhile, and the indices of the iterations are
    /// within their extents.
    pub unsafe fn save(&self, to: &mut Vec<u8>) {
        to.reserve(self.bytes);
        for block in &self.all {
            // Single elements, for example those of a column, are copied faster if their size is known at compile time.
            match block.piece {
                // SAFETY: the caller's promise holds for each piece, which has this size.
                4 => unsafe { save_pieces::<4>(block, to) },
                // SAFETY: as above.
                8 => unsafe { save_pieces::<8>(block, to) },
                _ => block.each(&mut |address| {
                    touch(address, block.piece);
                    // SAFETY: the caller's promise: a piece of the array.
                    to.extend_from_slice(unsafe { std::slice::from_raw_parts(address as *const u8, block.piece) });
                }),
            }
        }
    }

    /// The size of the memory in which stores keep what they overwrite, at the same distances from each other.
    pub fn span(&self) -> usize {
        let reaches = self.all.iter().map(Block::reach);
        reaches.map(|(low, high)| (high.wrapping_sub(low) as usize).saturating_add(2 * PAGE)).sum()
    }

    /// Makes room for what stores keep. Writes for each part how far behind the elements they are kept.
    pub fn make_room(&self, room: &mut Vec<u8>, distances: &mut [u64]) {
        room.clear();
        room.reserve(self.span());
        let mut free = room.as_mut_ptr() as u64;
        for (block, distance) in self.all.iter().zip(distances) {
            let (low, high) = block.reach();
            // Loads of elements must not wait for stores to addresses that differ in their high bits only, as far as
            // the processor knows: half a page lies between them.
            let start = free + (low.wrapping_add(PAGE as u64 / 2).wrapping_sub(free) % PAGE as u64);
            *distance = start.wrapping_sub(low);
            free = start + high.wrapping_sub(low);
        }
    }

    /// Copies back what stores have kept.
    ///
    /// # Safety
    /// All iterations have run, with the distances of [`Blocks::make_room`] for the same iterations, its room is still
    /// there, and their stores have written each element.
    pub unsafe fn restore_kept(&self, distances: &[u64]) {
        for (block, distance) in self.all.iter().zip(distances) {
            block.each(&mut |address| {
                let kept = address.wrapping_add(*distance) as *const u8;
                // SAFETY: the caller's promise: a piece of the array, and a copy of it in other memory.
                unsafe { std::ptr::copy_nonoverlapping(kept, address as *mut u8, block.piece) };
            });
        }
    }

    /// Copies back what [`Blocks::save`] has copied. Returns what was copied after it.
    ///
    /// # Safety
    /// As for [`Blocks::save`], which must have been called for the same iterations.
    pub unsafe fn restore<'a>(&self, from: &'a [u8]) -> &'a [u8] {
        let mut rest = from;
        for block in &self.all {
            block.each(&mut |address| {
                let (piece, after) = rest.split_at(block.piece);
                rest = after;
                // SAFETY: the caller's promise: a piece of the array.
                unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), address as *mut u8, block.piece) };
            });
        }
        rest
    }
}

/// Does the next iteration write elements that lie directly beside those of an iteration?
fn goes_on_beside(memory: &ArrayMemory, part: &Place) -> bool {
    memory.axes.iter().zip(&part.indices).any(|(axis, indices)| match indices {
        Span::At((_, step)) => step.wrapping_mul(axis.1).unsigned_abs() == memory.size as u64,
        Span::Within(_) => false,
    })
}

/// Copies the pieces of a block, each of which has `N` bytes.
///
/// # Safety
/// As for [`Blocks::save`].
unsafe fn save_pieces<const N: usize>(block: &Block, to: &mut Vec<u8>) {
    // SAFETY: by the caller's promise, the address is that of a piece of the array. Bytes need no alignment.
    block.each(&mut |address| to.extend_from_slice(unsafe { &*(address as *const [u8; N]) }));
}

/// Requests the cache lines of 64 bytes of memory.
fn prefetch(address: u64) {
    #[cfg(target_arch = "x86_64")]
    for address in [address, address.wrapping_add(LINE as u64 - 1)] {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of an address without memory does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address as *const i8) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Writes to each page, so that the system allocates the pages of arrays that nobody has written, for example arrays of
/// zeros. If such a page were read first, it would be mapped to a shared page of zeros, and the first write would cause
/// a second page fault.
fn touch(address: u64, bytes: usize) {
    if bytes < PAGE {
        return;
    }
    for at in (0..bytes).step_by(PAGE).chain([bytes - 1]) {
        let byte = (address + at as u64) as *mut u8;
        // An atomic operation would wait until the memory is in the cache, which takes longer than copying a page.
        // SAFETY: a byte of the piece of memory that the caller is about to write, which nobody else uses meanwhile.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("or byte ptr [{byte}], 0", byte = in(reg) byte, options(nostack));
        }
        // SAFETY: as above.
        #[cfg(not(target_arch = "x86_64"))]
        unsafe { std::sync::atomic::AtomicU8::from_ptr(byte) }.fetch_or(0, std::sync::atomic::Ordering::Relaxed);
    }
}

/// For each part that iterations write: by how many bytes it moves from one iteration to the next, for parts whose
/// other axes do not change.
pub fn moves(job: &Job) -> impl Iterator<Item = i64> + '_ {
    job.written.iter().map(|part| {
        let along = |(axis, indices): (&(i64, i64), &Span)| match indices {
            Span::At((_, step)) => step.wrapping_mul(axis.1),
            Span::Within(_) => 0,
        };
        job.arrays[part.array].axes.iter().zip(&part.indices).map(along).fold(0, i64::wrapping_add)
    })
}

/// Do iterations write each element of their parts of arrays once, and do their stores keep what they overwrite? No two
/// elements of an array share memory.
pub fn is_covered(job: &Job) -> bool {
    let one = job.iterations.start..job.iterations.start + 1;
    job.written.iter().all(|part| {
        let memory = &job.arrays[part.array];
        let is_steady = |span: &Span| match span {
            Span::At((_, step)) => step.abs() == 1,
            Span::Within(bounds) => bounds.iter().flatten().all(|(_, step)| *step == 0),
        };
        let is_usual = memory.axes.last().is_some_and(|(_, stride)| *stride == memory.size as i64);
        let bytes = Block::of(memory, part, &one).bytes();
        is_usual
            && part.indices.iter().all(is_steady)
            && part.elements.is_some_and(|elements| elements.checked_mul(memory.size as i64) == Some(bytes as i64))
    })
}

/// Are the indices of all iterations within the extents of the arrays that they write?
pub fn is_inside(job: &Job) -> bool {
    job.written.iter().all(|part| {
        job.arrays[part.array].axes.iter().zip(&part.indices).all(|((extent, _), indices)| {
            let Span::At((first, step)) = *indices else { return true };
            let at = |iteration: i64| i128::from(first) + i128::from(step) * i128::from(iteration);
            let is_inside = |iteration| (0..i128::from(*extent)).contains(&at(iteration));
            is_inside(job.iterations.start) && is_inside(job.iterations.end - 1)
        })
    })
}

/// The first and the last byte of an array; `None` if it has no elements.
fn reach(memory: &ArrayMemory) -> Option<(i128, i128)> {
    let mut reach = (i128::from(memory.address), i128::from(memory.address) + memory.size as i128 - 1);
    for (extent, stride) in &memory.axes {
        let far = i128::from(*extent - 1) * i128::from(*stride);
        match far {
            _ if *extent <= 0 => return None,
            0.. => reach.1 += far,
            _ => reach.0 += far,
        }
    }
    Some(reach)
}

/// Is the memory of each written array apart from that of all other arrays?
pub fn are_apart(job: &Job) -> bool {
    let reaches: SmallVec<[Option<(i128, i128)>; 8]> = job.arrays.iter().map(reach).collect();
    job.written.iter().all(|part| {
        let Some((first, last)) = reaches[part.array] else { return true };
        let others = reaches.iter().enumerate().filter(|(number, _)| *number != part.array);
        others.filter_map(|(_, other)| *other).all(|(from, to)| last < from || to < first)
    })
}

/// Do no two elements of a written array share memory?
pub fn are_plain(job: &Job) -> bool {
    job.written.iter().all(|part| {
        let memory = &job.arrays[part.array];
        let mut axes: SmallVec<[(u64, i64); 4]> = memory
            .axes
            .iter()
            .filter(|axis| axis.0 > 1)
            .map(|(extent, stride)| (stride.unsigned_abs(), *extent))
            .collect();
        axes.sort_unstable();
        let mut least = memory.size as u64;
        axes.into_iter().all(|(stride, extent)| {
            let is_apart = stride >= least;
            least = stride.saturating_mul(extent as u64);
            is_apart
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::IterationsCode;

    fn job(arrays: Vec<ArrayMemory>, written: Vec<Place>, iterations: Range<i64>) -> Job {
        Job {
            code: IterationsCode::none(),
            words: std::ptr::null_mut(),
            count: 0,
            changing: 0,
            iterations,
            work: 1,
            is_free: true,
            only_polls_stop: false,
            needs_plain: false,
            carried: SmallVec::new(),
            arrays: arrays.into(),
            written: written.into(),
        }
    }

    /// Writes to rows or columns of a matrix.
    fn part(axis: usize, first: i64, step: i64) -> Place {
        let mut indices = [Span::Within([None; 2]); 2];
        indices[axis] = Span::At((first, step));
        Place { array: 0, indices: indices.into_iter().collect(), elements: None }
    }

    fn matrix(cells: &mut [u64], rows: i64, columns: i64) -> ArrayMemory {
        let axes = [(rows, 8 * columns), (columns, 8)].into_iter().collect();
        ArrayMemory { address: cells.as_mut_ptr() as u64, size: 8, axes }
    }

    #[test]
    fn what_iterations_write_comes_back() {
        for axis in [0, 1] {
            for step in [1, 2, -1] {
                let mut cells: Vec<u64> = (0..30).collect();
                let before = cells.clone();
                let first = if step < 0 { 4 } else { 0 };
                let memory = matrix(&mut cells, 5, 6);
                let job = job(vec![memory], vec![part(axis, first, step)], 0..2);
                let mut saved = Vec::new();
                // SAFETY: two iterations are inside of the matrix along either axis.
                unsafe { Blocks::of(&job, &(0..2)).save(&mut saved) };
                assert_eq!(saved.len(), 8 * 2 * if axis == 0 { 6 } else { 5 });
                for iteration in 0..2 {
                    let index = (first + step * iteration) as usize;
                    for k in 0..if axis == 0 { 6 } else { 5 } {
                        cells[if axis == 0 { 6 * index + k } else { 6 * k + index }] = 99;
                    }
                }
                assert_ne!(cells, before);
                // SAFETY: as above.
                unsafe { Blocks::of(&job, &(0..2)).restore(&saved) };
                assert_eq!(cells, before);
            }
        }
    }

    #[test]
    fn parts_beside_each_other_are_copied_once() {
        let mut cells: Vec<u64> = (0..30).collect();
        let before = cells.clone();
        let memory = matrix(&mut cells, 5, 6);
        // two rows, one below the other, and rows that no row joins
        for (firsts, bytes) in [([0, 1], 8 * 3 * 6), ([1, 0], 8 * 3 * 6), ([0, 3], 8 * 4 * 6)] {
            let parts = firsts.map(|first| part(0, first, 1));
            let job = job(vec![memory.clone()], parts.into(), 0..2);
            let mut saved = Vec::new();
            // SAFETY: two iterations are inside of the matrix.
            unsafe { Blocks::of(&job, &(0..2)).save(&mut saved) };
            assert_eq!((saved.len(), Blocks::of(&job, &(0..2)).bytes), (bytes, bytes));
            for first in firsts {
                (6 * first as usize..6 * (first as usize + 2)).for_each(|k| cells[k] = 99);
            }
            // SAFETY: as above.
            unsafe { Blocks::of(&job, &(0..2)).restore(&saved) };
            assert_eq!(cells, before);
        }
        // other arrays are copied apart, because their elements may be kept elsewhere
        let mut other = part(0, 1, 1);
        other.array = 1;
        let job = job(vec![memory.clone(), memory], vec![part(0, 0, 1), other], 0..2);
        assert_eq!(Blocks::of(&job, &(0..2)).all.len(), 2);
    }

    #[test]
    fn parts_of_rows_and_columns_come_back() {
        // below the diagonal of a matrix, and above it
        for (bounds, is_in) in [
            ([None, Some((-1, 1))], (|row, column| column < row) as fn(i64, i64) -> bool),
            ([Some((1, 1)), None], |row, column| column > row),
            ([Some((4, -1)), Some((9, -1))], |row, column| (4 - row..=9 - row).contains(&column)),
        ] {
            for transposed in [false, true] {
                let mut cells: Vec<u64> = (0..30).collect();
                let before = cells.clone();
                let mut memory = matrix(&mut cells, 5, 6);
                let mut indices = [Span::At((0, 1)), Span::Within(bounds)];
                if transposed {
                    memory.axes.reverse();
                    indices.reverse();
                }
                let job = job(
                    vec![memory],
                    vec![Place { array: 0, indices: indices.into_iter().collect(), elements: None }],
                    0..5,
                );
                for few in [0..1, 1..3, 2..5, 0..5] {
                    let mut saved = Vec::new();
                    // SAFETY: the matrix has five rows.
                    unsafe { Blocks::of(&job, &few).save(&mut saved) };
                    assert_eq!(saved.len(), Blocks::of(&job, &few).bytes);
                    let all = 8 * 6 * (few.end - few.start) as usize;
                    assert!(saved.len() < all || bounds[1] == Some((9, -1)) && saved.len() <= all);
                    for (row, column) in few.clone().flat_map(|row| (0..6).map(move |column| (row, column))) {
                        if is_in(row, column) {
                            cells[(6 * row + column) as usize] = 99;
                        }
                    }
                    assert!(cells != before || few == (0..1));
                    // SAFETY: as above.
                    let rest = unsafe { Blocks::of(&job, &few).restore(&saved) };
                    assert!(rest.is_empty());
                    assert_eq!(cells, before);
                }
            }
        }
    }

    #[test]
    fn what_iterations_write_moves_with_them() {
        let mut cells = vec![0; 30];
        for (axis, step) in [(0, 1), (0, -2), (1, 1), (1, -1)] {
            let job = job(vec![matrix(&mut cells, 5, 6)], vec![part(axis, 4, step)], 0..2);
            let low = |iteration| Blocks::of(&job, &(iteration..iteration + 1)).all[0].reach().0;
            assert_eq!(moves(&job).collect::<Vec<_>>(), [low(1).wrapping_sub(low(0)) as i64]);
        }
    }

    #[test]
    fn columns_are_scattered_up_to_a_cache_line() {
        let mut cells = vec![0; 100 * 100];
        let memory = matrix(&mut cells, 100, 100);
        let is = |axis, step, count, memory: &ArrayMemory| {
            Blocks::of(&job(vec![memory.clone()], vec![part(axis, 0, step)], 0..100), &(0..count)).is_scattered
        };
        assert!(is(1, 1, 1, &memory) && is(1, 1, 8, &memory));
        assert!(!is(1, 1, 9, &memory), "more than a line in one place");
        assert!(!is(1, 2, 1, &memory), "the next iteration writes another place");
        assert!(!is(0, 1, 1, &memory), "rows are in one piece");
        let few = matrix(&mut cells, 64, 100);
        assert!(!is(1, 1, 1, &few), "they stay in the cache");
    }

    #[test]
    fn arrays_that_overlap_are_seen() {
        let mut cells: Vec<u64> = (0..30).collect();
        let whole = matrix(&mut cells, 5, 6);
        let (mut low, mut high) = (whole.clone(), whole.clone());
        low.axes[0].0 = 2;
        high.axes[0].0 = 3;
        high.address += 8 * 12;
        let part = part(0, 0, 1);
        assert!(are_apart(&job(vec![low.clone(), high.clone()], vec![part.clone()], 0..2)));
        high.address -= 8;
        assert!(!are_apart(&job(vec![low.clone(), high.clone()], vec![part.clone()], 0..2)));
        // backwards
        low.address += 8 * 6;
        low.axes[0].1 = -8 * 6;
        assert!(!are_apart(&job(vec![low.clone(), high.clone()], vec![part.clone()], 0..2)));
        high.axes[1].0 = 0;
        assert!(are_apart(&job(vec![low, high], vec![part.clone()], 0..2)));
        assert!(!is_inside(&job(vec![whole.clone()], vec![part.clone()], 0..6)));
        assert!(is_inside(&job(vec![whole], vec![part], 0..5)));
    }

    #[test]
    fn elements_that_share_memory_are_seen() {
        let mut cells: Vec<u64> = (0..30).collect();
        let mut windows = matrix(&mut cells, 5, 6);
        let part = part(0, 0, 1);
        assert!(are_plain(&job(vec![windows.clone()], vec![part.clone()], 0..2)));
        windows.axes[0].1 = 8;
        assert!(!are_plain(&job(vec![windows], vec![part], 0..2)));
    }
}
