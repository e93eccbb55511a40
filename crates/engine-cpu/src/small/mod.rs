//! One operation on few elements, without a kernel.
//!
//! In: a [`SmallCall`], and the conditions that must be reported. Out: the output's elements, or the answer that
//! nothing was done: if this way does not support the operation, or if it meets such a condition, the caller records it
//! instead. The loops and folds are those of the interpreter, so the values are the same. Contiguous operands are used
//! where they are; others are copied, a piece at a time, to buffers on the stack. Not here: which memory is ready to be
//! used.

mod fold;
mod traversal;

use crate::driver::price::cost_of;
use crate::isa::Isa;
use crate::tier0::checks::Check;
use crate::tier0::report::{self, Report};
use crate::tier0::{Func, select, select_cast, select_divide_by, splat};
use numelt_ir::{DType, Op, OpKind, warn};
use numelt_runtime::{SmallCall, SmallInput, SmallView};
use numelt_vecmath::flags;
use std::mem::MaybeUninit;
use traversal::{Brought, Rooms, Traversal};

/// The bytes of a buffer, which holds one operand of a piece.
const ROOM: usize = 4096;

/// The most elements of a whole operand that is converted; they are few enough for one thread.
const FEW: usize = 2048;

/// Operations on more elements must be expected to take at most this many picoseconds: longer ones are for several
/// threads.
const LONGEST: u64 = 50_000_000;

/// Memory on the stack, whose contents are undefined at first.
#[repr(align(64))]
struct Room<const N: usize>(MaybeUninit<[u8; N]>);

impl<const N: usize> Room<N> {
    const fn new() -> Self {
        Room(MaybeUninit::uninit())
    }

    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// The bytes of [`FEW`] elements of any dtype.
const WHOLE: usize = 16 * FEW;

/// The bytes of the largest output that is computed in other memory first, because an input shares its memory.
const BESIDE: usize = 1 << 16;

/// Runs the call; false if it did not. Then an output that shares memory with an input is unchanged, and any other one
/// is undefined.
///
/// # Safety
/// The call's views are valid for their elements, inputs for reads and the output for writes.
pub unsafe fn run(call: &SmallCall<'_>, watch: u8, isa: Isa) -> bool {
    // SAFETY: the caller's contract.
    unsafe {
        match call.op.kind() {
            OpKind::Elementwise => elementwise(call, watch, isa),
            OpKind::Reduction => fold::run(call, watch, isa),
            OpKind::Scan | OpKind::Generator | OpKind::Gather | OpKind::Roll | OpKind::Library => false,
        }
    }
}

/// The most operands of a call, including the output.
const OPERANDS: usize = 4;
/// The index of the output's strides.
const OUT: usize = 3;
/// The most loops of a call.
const RANK: usize = 4;

/// The loops over a call's elements, outermost first. Two loops are joined if they are equivalent to one for every
/// operand.
struct CallLoops {
    rank: usize,
    extents: [i64; RANK],
    strides: [[i64; OPERANDS]; RANK],
}

impl CallLoops {
    /// `None` if there are too many loops, or if operands do not broadcast.
    #[inline(always)]
    fn new(call: &SmallCall<'_>) -> Option<CallLoops> {
        let mut loops = CallLoops { rank: 0, extents: [1; RANK], strides: [[0; OPERANDS]; RANK] };
        let shape = call.out.shape;
        let fits = |input: &SmallInput<'_>| match input {
            SmallInput::View(view) => view.shape.len() <= shape.len(),
            SmallInput::Const(_) => true,
        };
        if !call.ins.iter().all(fits) {
            return None;
        }
        for (axis, &n) in shape.iter().enumerate() {
            let mut strides = [0; OPERANDS];
            for (stride, input) in strides.iter_mut().zip(call.ins) {
                let SmallInput::View(view) = input else { continue };
                let lead = shape.len() - view.shape.len();
                if axis >= lead {
                    let own = view.shape[axis - lead];
                    if own != n && own != 1 {
                        return None;
                    }
                    *stride = if own == 1 { 0 } else { view.strides[axis - lead] };
                }
            }
            strides[OUT] = call.out.strides[axis];
            if n == 1 {
                continue;
            }
            if let Some(outer) = loops.rank.checked_sub(1)
                && loops.strides[outer].iter().zip(&strides).all(|(&outer, &inner)| outer == inner * n)
            {
                loops.extents[outer] *= n;
                loops.strides[outer] = strides;
                continue;
            }
            if loops.rank == RANK {
                return None;
            }
            (loops.extents[loops.rank], loops.strides[loops.rank]) = (n, strides);
            loops.rank += 1;
        }
        Some(loops)
    }

    /// The loops if elements are contiguous in every operand: none but the one that computes.
    const NONE: CallLoops = CallLoops { rank: 0, extents: [1; RANK], strides: [[0; OPERANDS]; RANK] };

    /// Extent and strides of the `n`-th loop from inside; a single step if there is no such loop.
    #[inline(always)]
    fn inner(&self, n: usize) -> (i64, [i64; OPERANDS]) {
        match self.rank.checked_sub(n + 1) {
            Some(at) => (self.extents[at], self.strides[at]),
            None => (1, [0; OPERANDS]),
        }
    }

    /// Whether the elements of an operand of this size are contiguous.
    #[inline(always)]
    fn is_dense(&self, operand: usize, size: usize) -> bool {
        self.rank == 0 || self.rank == 1 && self.strides[0][operand] == size as i64
    }
}

/// What computes a piece.
#[derive(Clone, Copy)]
enum PieceLoop {
    /// The result is the operand itself.
    Same,
    Loop(Func),
    /// The conditions are determined from the values.
    Checked(Func, Check),
}

impl PieceLoop {
    /// The function, and the conditions that the processor's flags report.
    #[inline(always)]
    fn new(call: &SmallCall<'_>, isa: Isa) -> Option<(PieceLoop, u8)> {
        let (op, ty) = (call.op, call.ty);
        if matches!(op, Op::Copy | Op::Positive) || op == Op::Conjugate && !ty.is_complex() {
            return Some((PieceLoop::Same, 0));
        }
        let func = select(op, ty, isa).ok()?;
        Some(match report::of(op, ty) {
            Report::Quiet => (PieceLoop::Loop(func), 0),
            Report::Hardware => (PieceLoop::Loop(func), op.raises(ty)),
            Report::Checked(check) => (PieceLoop::Checked(func, check), 0),
            Report::Added(check) => (PieceLoop::Checked(func, check), op.raises(ty)),
        })
    }

    /// A conversion, and the conditions that the processor's flags report.
    fn cast(from: DType, to: DType, isa: Isa) -> Option<(PieceLoop, u8)> {
        let func = select_cast(from, to, isa).ok()?;
        Some(match report::of_cast(from, to).0 {
            Report::Checked(check) | Report::Added(check) => (PieceLoop::Checked(func, check), 0),
            Report::Quiet | Report::Hardware => (PieceLoop::Loop(func), warn::cast_raises(from, to)),
        })
    }

    /// Computes `n` results, and returns the conditions that are determined from the values.
    ///
    /// # Safety
    /// The operands hold `n` elements; `out` has space for `n` results and overlaps no operand.
    #[inline(always)]
    unsafe fn run(self, ins: &[*const u8; 3], out: *mut u8, n: usize) -> u8 {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                PieceLoop::Same => 0,
                PieceLoop::Loop(func) => {
                    func.call(*ins, out, n);
                    0
                }
                PieceLoop::Checked(func, check) => {
                    func.call(*ins, out, n);
                    check(ins.as_ptr(), out, n)
                }
            }
        }
    }
}

/// An elementwise operation.
///
/// # Safety
/// As for [`run`].
unsafe fn elementwise(call: &SmallCall<'_>, watch: u8, isa: Isa) -> bool {
    let (op, ty) = (call.op, call.ty);
    let n: i64 = call.out.shape.iter().product();
    if call.ins.len() > 3 || op.computes_in(ty) != ty || !(1..=SmallCall::MOST as i64).contains(&n) {
        return false;
    }
    let n = n as usize;
    if n > FEW && n as u64 * cost_of(op, ty) > LONGEST {
        return false;
    }
    let Some(loops) = (if is_straight(call) { Some(CallLoops::NONE) } else { CallLoops::new(call) }) else {
        return false;
    };
    let by_number = match call.ins {
        [SmallInput::View(_), SmallInput::Const(by)] if by.dtype() == ty => select_divide_by(op, *by, isa),
        _ => None,
    };
    let step = by_number.map_or_else(|| PieceLoop::new(call, isa), |func| Some((PieceLoop::Loop(func), 0)));
    let Some((mut step, mut raised)) = step else { return false };
    let mut rooms = [const { Room::<ROOM>::new() }; 3];
    let (mut ins, mut sizes) = ([std::ptr::null::<u8>(); 3], [0; 3]);
    let size = call.out.dtype.size();
    let shared = !call.fresh && overlaps(call);
    if shared && n * size > BESIDE {
        return false;
    }
    if shared && (n > ROOM / 16 || loops.rank > 2) {
        // SAFETY: the caller's contract.
        return unsafe {
            if n * size > WHOLE { aside::<BESIDE>(call, watch, isa) } else { aside::<WHOLE>(call, watch, isa) }
        };
    }
    let from = converted(call);
    let mut plain = !shared && (from.is_some() || op.output_dtype(ty) == call.out.dtype) && loops.is_dense(OUT, size);
    let mut most = n;
    for (at, (input, room)) in call.ins.iter().zip(&mut rooms).enumerate() {
        let want = from.unwrap_or_else(|| op.input_dtype(ty, at));
        match input {
            SmallInput::View(view) => {
                plain &= view.dtype == want && loops.is_dense(at, want.size());
                (ins[at], sizes[at]) = (view.pointer, want.size());
            }
            SmallInput::Const(value) if plain && value.dtype() == want => {
                let copies = if by_number.is_some() { 1 } else { most.min(ROOM / want.size()) };
                most = if by_number.is_some() { most } else { copies };
                // SAFETY: the bytes are those of one element, and the room holds as many.
                unsafe { splat(value.to_bytes().as_ptr(), want.size(), copies, room.start()) };
                ins[at] = room.start();
            }
            SmallInput::Const(_) => plain = false,
        }
    }
    // SAFETY: the caller's contract; operands of the loop's dtypes lie dense, and a fresh output is none of them.
    unsafe {
        if !plain {
            return pieces(call, &loops, (step, raised), shared, watch, n, isa);
        }
        if let Some(from) = from {
            let Some(cast) = PieceLoop::cast(from, call.out.dtype, isa) else { return false };
            (step, raised) = cast;
        }
        let asked = raised & watch;
        if asked != 0 {
            flags::clear();
        }
        let (mut met, mut out, mut left) = (0, call.out.pointer, n);
        loop {
            let count = left.min(most);
            if let PieceLoop::Same = step {
                std::ptr::copy_nonoverlapping(ins[0], out, count * size);
            } else {
                met |= step.run(&ins, out, count);
            }
            left -= count;
            if left == 0 {
                break;
            }
            out = out.add(count * size);
            for (address, size) in ins.iter_mut().zip(sizes) {
                *address = address.wrapping_add(count * size);
            }
        }
        met & watch == 0 && (asked == 0 || flags::get() & asked == 0)
    }
}

/// The dtype of the operand, if the call only converts it, by one conversion.
#[inline(always)]
fn converted(call: &SmallCall<'_>) -> Option<DType> {
    match call.ins {
        [SmallInput::View(view)] if call.op == Op::Copy && view.dtype != call.out.dtype => {
            (call.ty == view.dtype || call.ty == call.out.dtype).then_some(view.dtype)
        }
        _ => None,
    }
}

/// Whether the output is new, and all arrays have its shape, are contiguous, and have the dtypes of a loop on one
/// dtype.
#[inline(always)]
fn is_straight(call: &SmallCall<'_>) -> bool {
    let (op, ty, shape) = (call.op, call.ty, call.out.shape);
    let own = |input: &SmallInput<'_>| !matches!(input, SmallInput::View(view) if view.dtype != ty);
    if !call.fresh || !call.ins.iter().all(own) {
        return false;
    }
    let lies = |view: &SmallView<'_>, dtype: DType| {
        let mut step = dtype.size() as i64;
        view.dtype == dtype
            && view.shape.len() == shape.len()
            && shape.iter().zip(view.shape).zip(view.strides).rev().all(|((&n, &own), &stride)| {
                let next = stride == step;
                step *= n;
                own == n && next
            })
    };
    let input = |(at, input): (usize, &SmallInput<'_>)| match input {
        SmallInput::View(view) => lies(view, op.input_dtype(ty, at)),
        SmallInput::Const(_) => true,
    };
    lies(&call.out, op.output_dtype(ty)) && call.ins.iter().enumerate().all(input)
}

/// Goes through the elements, a piece at a time.
///
/// # Safety
/// As for [`run`]; the loops are the call's, the step is its operation's, and an output that is not `shared` does not
/// overlap any input. One that is `shared` is a single piece.
#[inline(never)]
unsafe fn pieces(
    call: &SmallCall<'_>,
    loops: &CallLoops,
    (step, mut raised): (PieceLoop, u8),
    shared: bool,
    watch: u8,
    n: usize,
    isa: Isa,
) -> bool {
    let (op, ty) = (call.op, call.ty);
    let made = op.output_dtype(ty);
    let mut largest = made.size().max(call.out.dtype.size());
    let mut rooms: Rooms = [const { Room::new() }; 6];
    let mut brought: [Option<Brought>; 3] = [None, None, None];
    for (at, (input, slot)) in call.ins.iter().zip(&mut brought).enumerate() {
        let want = op.input_dtype(ty, at);
        let (pointer, dtype) = match input {
            SmallInput::View(view) => (view.pointer, view.dtype),
            SmallInput::Const(value) if value.dtype() == want => (std::ptr::null_mut(), want),
            SmallInput::Const(_) => return false,
        };
        let mut cast = None;
        if dtype != want {
            let Some((convert, met)) = PieceLoop::cast(dtype, want, isa) else { return false };
            (cast, raised) = (Some(convert), raised | met);
        }
        largest = largest.max(dtype.size()).max(want.size());
        *slot = Some(Brought { pointer, size: dtype.size(), cast, held: None });
    }
    let mut cast = None;
    if made != call.out.dtype {
        let Some((convert, met)) = PieceLoop::cast(made, call.out.dtype, isa) else { return false };
        (cast, raised) = (Some(convert), raised | met);
    }
    let most = (ROOM / largest) as i64;
    for (slot, (input, room)) in brought.iter_mut().zip(call.ins.iter().zip(&mut rooms)) {
        if let (Some(slot), SmallInput::Const(value)) = (slot, input) {
            slot.pointer = room.start();
            // SAFETY: the bytes are those of one element, and a room holds a piece.
            unsafe { splat(value.to_bytes().as_ptr(), slot.size, n.min(most as usize), slot.pointer) };
        }
    }
    let asked = raised & watch;
    if asked != 0 {
        flags::clear();
    }
    let rooms = &mut rooms;
    let mut work = Traversal { call, loops, step, cast, brought, rooms, watch, asked, shared, made: made.size() };
    // SAFETY: the caller's contract.
    let done = unsafe { work.walk(most) };
    done && (asked == 0 || flags::get() & asked == 0)
}

/// Runs a call whose output, of at most `BYTES`, shares memory with an input: in other memory, from which it is then
/// copied.
///
/// # Safety
/// As for [`run`].
#[inline(never)]
unsafe fn aside<const BYTES: usize>(call: &SmallCall<'_>, watch: u8, isa: Isa) -> bool {
    let mut room = Room::<BYTES>::new();
    let strides = numelt_ir::c_strides(call.out.shape, call.out.dtype.size() as i64);
    let beside = SmallView { pointer: room.start(), strides: &strides, ..call.out };
    let copy = [SmallInput::View(beside)];
    // SAFETY: the caller's contract; the room has place for every output, and overlaps nothing.
    unsafe {
        if !elementwise(&SmallCall { out: beside, fresh: true, ..*call }, watch, isa) {
            return false;
        }
        if call.out.strides == strides.as_slice() {
            let bytes = call.out.shape.iter().product::<i64>() as usize * call.out.dtype.size();
            std::ptr::copy_nonoverlapping(beside.pointer, call.out.pointer, bytes);
            return true;
        }
        elementwise(&SmallCall { op: Op::Copy, ty: call.out.dtype, ins: &copy, ..*call }, 0, isa)
    }
}

/// Whether the output may share memory with an input.
fn overlaps(call: &SmallCall<'_>) -> bool {
    let (low, high) = span(&call.out);
    call.ins.iter().any(|input| match input {
        SmallInput::View(view) => {
            let (first, last) = span(view);
            first < high && low < last
        }
        SmallInput::Const(_) => false,
    })
}

/// The addresses that a view covers: the first, and the one after the last.
fn span(view: &SmallView<'_>) -> (i64, i64) {
    let start = view.pointer.addr() as i64;
    let (mut low, mut high) = (start, start + view.dtype.size() as i64);
    for (&n, &stride) in view.shape.iter().zip(view.strides) {
        let reach = (n - 1) * stride;
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    (low, high)
}
