//! The traversal of an operation's elements, a piece at a time.
//!
//! In: the loops of a [`SmallCall`], its step, and buffers. Out: the output's elements, or the answer that a condition
//! was met. Each piece brings its operands together, contiguous and in the loop's dtype, computes, and stores.

use super::{CallLoops, OUT, PieceLoop, RANK, ROOM, Room};
use crate::tier0::{Rect, pack, unpack};
use numelt_runtime::{SmallCall, SmallInput};
use numelt_vecmath::flags;

/// How an operand becomes `n` contiguous elements of the loop's dtype.
pub(super) struct Brought {
    pub(super) pointer: *mut u8,
    /// The bytes of an element in its memory, and in the loop.
    pub(super) size: usize,
    pub(super) cast: Option<PieceLoop>,
    /// The rectangle that the buffer holds already: its address, its elements in a row and its rows.
    pub(super) held: Option<(*mut u8, usize, usize)>,
}

/// A piece of the traversal: the element at which it starts along each loop, from inside, and its extents.
struct Piece {
    at: [i64; RANK],
    inner: usize,
    rows: usize,
}

/// The buffers: three for operands, one for a conversion's source, two for results.
pub(super) type Rooms = [Room<ROOM>; 6];

/// A traversal in pieces.
pub(super) struct Traversal<'a> {
    pub(super) call: &'a SmallCall<'a>,
    pub(super) loops: &'a CallLoops,
    pub(super) step: PieceLoop,
    pub(super) cast: Option<PieceLoop>,
    pub(super) brought: [Option<Brought>; 3],
    pub(super) rooms: &'a mut Rooms,
    pub(super) watch: u8,
    /// The conditions that the processor's flags report and that must be reported.
    pub(super) asked: u8,
    /// Whether the output may share memory with an input.
    pub(super) shared: bool,
    /// The bytes of an element as the loop computes it.
    pub(super) made: usize,
}

impl Traversal<'_> {
    /// Goes through all pieces of at most `most` elements; false if a condition was met.
    ///
    /// # Safety
    /// As for [`run`].
    pub(super) unsafe fn walk(&mut self, most: i64) -> bool {
        let extents: [i64; RANK] = std::array::from_fn(|at| self.loops.inner(at).0);
        let width = extents[0].min(most);
        let height = if extents[0] <= most { (most / extents[0]).min(extents[1]) } else { 1 };
        let mut at = [0; RANK];
        loop {
            let inner = width.min(extents[0] - at[0]) as usize;
            let rows = height.min(extents[1] - at[1]) as usize;
            // SAFETY: the piece lies inside the loops and fits a room.
            if unsafe { self.piece(&Piece { at, inner, rows }) } & self.watch != 0 {
                return false;
            }
            at[0] += width;
            let steps = [0, height, 1, 1];
            for outer in 1..RANK {
                if at[outer - 1] >= extents[outer - 1] {
                    at[outer - 1] = 0;
                    at[outer] += steps[outer];
                }
            }
            if at[RANK - 1] >= extents[RANK - 1] {
                return true;
            }
        }
    }

    /// The address of a piece in an operand.
    #[inline(always)]
    fn rect(&self, piece: &Piece, operand: usize, pointer: *mut u8) -> Rect {
        let stride = |n: usize| self.loops.inner(n).1[operand];
        let offset: i64 = (0..RANK).map(|n| piece.at[n] * stride(n)).sum();
        Rect {
            base: pointer.wrapping_offset(offset as isize),
            inner_stride: stride(0) as isize,
            outer_stride: stride(1) as isize,
            inner: piece.inner,
            rows: piece.rows,
        }
    }

    /// Computes a piece, and returns the conditions that are determined from the values.
    ///
    /// # Safety
    /// As for [`run`]; the piece lies inside the loops and fits a room.
    unsafe fn piece(&mut self, piece: &Piece) -> u8 {
        let n = piece.inner * piece.rows;
        let mut ins = [std::ptr::null::<u8>(); 3];
        let mut met = 0;
        for at in 0..self.call.ins.len() {
            // SAFETY: the caller's contract.
            let (address, found) = unsafe { self.bring(piece, at, n) };
            ins[at] = address;
            met |= found;
        }
        let size = self.call.out.dtype.size();
        let target = self.rect(piece, OUT, self.call.out.pointer);
        let direct = !self.shared && target.is_dense(size);
        let [.., result, converted] = &mut *self.rooms;
        // SAFETY: the operands hold `n` elements, a room as many of any dtype; a direct output is none of them.
        unsafe {
            let mut value = match self.cast {
                None if direct => target.base,
                Some(_) | None => result.start(),
            };
            if let PieceLoop::Same = self.step {
                // an input in the output's memory has been read before the output is stored
                if self.shared || self.cast.is_none() && direct {
                    std::ptr::copy(ins[0], value, n * self.made);
                } else {
                    value = ins[0].cast_mut();
                }
            } else {
                met |= self.step.run(&ins, value, n);
            }
            if let Some(cast) = self.cast {
                let to = if direct { target.base } else { converted.start() };
                met |= cast.run(&[value.cast_const(); 3], to, n);
                value = to;
            }
            // if a condition was met, an output that shares memory with an input stays unchanged
            if self.shared && self.asked != 0 {
                met |= flags::get() & self.asked;
            }
            if value != target.base && met & self.watch == 0 {
                unpack(target, size, value);
            }
        }
        met
    }

    /// The elements of a piece of operand number `at`, contiguous: in their own memory, or in a buffer.
    ///
    /// # Safety
    /// As for [`run`]; the piece lies inside the loops and fits a room.
    #[inline(always)]
    unsafe fn bring(&mut self, piece: &Piece, at: usize, n: usize) -> (*const u8, u8) {
        let Some(operand) = &self.brought[at] else { return (std::ptr::null(), 0) };
        if let SmallInput::Const(_) = self.call.ins[at] {
            return (operand.pointer, 0);
        }
        let (size, cast) = (operand.size, operand.cast);
        let rect = self.rect(piece, at, operand.pointer);
        let dense = rect.is_dense(size);
        if dense && cast.is_none() {
            return (rect.base, 0);
        }
        let repeats = rect.outer_stride == 0 || rect.rows == 1;
        if let Some((base, inner, rows)) = operand.held
            && repeats
            && (base, inner) == (rect.base, rect.inner)
            && rect.rows <= rows
        {
            return (self.rooms[at].start(), 0);
        }
        let (rooms, spare) = self.rooms.split_at_mut(3);
        let room = rooms[at].start();
        if let Some(operand) = &mut self.brought[at] {
            operand.held = repeats.then_some((rect.base, rect.inner, rect.rows));
        }
        // SAFETY: the rectangle lies inside the view; rooms hold a piece of any dtype.
        unsafe {
            let Some(cast) = cast else {
                pack(rect, size, room);
                return (room, 0);
            };
            let from = if dense { rect.base } else { spare[0].start() };
            if !dense {
                pack(rect, size, from);
            }
            (room, cast.run(&[from.cast_const(); 3], room, n))
        }
    }
}
