//! Random streams in kernels: values that are not stored, but computed tile by tile where they are used.
//!
//! In: a kernel with random streams. Out: a kernel that loads them from scratch memory instead, and the means to fill
//! that memory. The driver fills it right before a tile is evaluated, for the tile's points only. So the numbers stay
//! in the L1 or L2 cache, and both tiers see ordinary loads. Every tile jumps to its own position in the stream;
//! threads and tile sizes do not change a bit.

mod bounded;
mod fill;
mod sequence;

pub use bounded::fill_bounded;
pub use sequence::draw;

use crate::isa::Isa;
use crate::lines::Lines;
use fill::{Fill, Source};
use numelt_codegen::{Body, Tile};
use numelt_ir::{DType, Error, Op, Result};
use numelt_opt::{Arg, ArgKind, Kernel, Node, StrideClass, ValueId};
use numelt_runtime::RandomStream;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// The points of each stream for which there is scratch memory.
const POINTS: usize = 2048;

/// A stream of a kernel.
pub struct Stream {
    fill: Fill,
    op: Op,
    size: usize,
    /// The `Index` argument whose value is the element's index.
    index: usize,
    /// Parameters: the first position, then the state.
    params: SmallVec<[usize; 8]>,
}

/// For each value of a kernel, its number in the kernel without streams, if it still exists.
type Numbers = Vec<Option<ValueId>>;

/// A kernel without its random streams.
pub struct Split {
    /// The kernel that the tiers evaluate.
    pub kernel: Arc<Kernel>,
    /// The streams, in the order of the arguments that they fill, which come last.
    pub streams: Vec<Stream>,
    /// The mapping between its values and the original kernel's.
    pub numbering: Numbering,
}

/// The mapping from the values of a kernel to those of the kernel without streams. It is empty if all numbers are the
/// same.
pub struct Numbering(Option<Numbers>);

impl Numbering {
    /// Maps a byte for each value of the original kernel, and then for each reduction, to the `count` values that
    /// remain.
    pub fn inward(&self, original: &[u8], count: usize) -> Vec<u8> {
        let Some(numbers) = &self.0 else { return original.to_vec() };
        let (values, reductions) = original.split_at(numbers.len());
        let mut inner = vec![0; count];
        for (number, value) in numbers.iter().zip(values) {
            if let Some(number) = number {
                inner[*number as usize] = *value;
            }
        }
        inner.extend(reductions);
        inner
    }

    /// The reverse mapping; values that no longer exist get zero.
    pub fn outward(&self, inner: &[u8], count: usize) -> Vec<u8> {
        let Some(numbers) = &self.0 else { return inner.to_vec() };
        let values = numbers.iter().map(|number| number.map_or(0, |number| inner[number as usize]));
        values.chain(inner[count..].iter().copied()).collect()
    }
}

/// The kernel with its streams as loads from additional arguments behind its own.
pub fn split(kernel: &Arc<Kernel>, isa: Isa) -> Result<Split> {
    if !kernel.body.iter().any(|node| matches!(node, Node::Op(op, ..) if op.is_stream())) {
        return Ok(Split { kernel: kernel.clone(), streams: Vec::new(), numbering: Numbering(None) });
    }
    let mut lowered = Kernel::clone(kernel);
    let mut streams = Vec::new();
    for at in 0..kernel.body.len() {
        if let Node::Op(op, ty, operands) = &kernel.body[at]
            && op.is_stream()
        {
            streams.push(stream(kernel, *op, *ty, operands, isa)?);
            lowered.body[at] = Node::Load(lowered.args.len() as u32);
            let mut strides = SmallVec::from_elem(StrideClass::Any, kernel.rank());
            strides[kernel.rank() - 1] = StrideClass::Unit;
            lowered.args.push(Arg { kind: ArgKind::Load, dtype: *ty, strides, near: None });
        }
    }
    let numbers = remove_dead(&mut lowered);
    Ok(Split { kernel: Arc::new(lowered), streams, numbering: Numbering(Some(numbers)) })
}

fn stream(kernel: &Kernel, op: Op, ty: DType, operands: &[ValueId], isa: Isa) -> Result<Stream> {
    let node = |value: ValueId| &kernel.body[value as usize];
    let param = |value: ValueId| match node(value) {
        Node::Param(p) => Some(*p as usize),
        Node::Load(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) | Node::Op(..) => None,
    };
    // the position is `index + first position`, in the form that the optimizer makes
    let found = || {
        let Node::Op(Op::Add, DType::U64, place) = node(operands[0]) else { return None };
        let Node::Cast(DType::U64, index) = node(place[0]) else { return None };
        let Node::Index(index) = node(*index) else { return None };
        let first = param(place[1])?;
        let state = operands[1..].iter().map(|&v| param(v));
        let params = std::iter::once(Some(first)).chain(state).collect::<Option<_>>()?;
        Some((*index as usize, params))
    };
    let (index, params) =
        found().ok_or_else(|| Error::Unsupported(format!("{} at a position that is not an index", op.name())))?;
    Ok(Stream { fill: fill::select(op, ty, isa)?, op, size: ty.size(), index, params })
}

/// Removes nodes that are not needed any more; arguments and parameters keep their numbers. Returns the new number of
/// each value that remains.
fn remove_dead(kernel: &mut Kernel) -> Numbers {
    let mut live = vec![false; kernel.body.len()];
    let results = kernel.stores.iter().map(|s| s.value).chain(kernel.reductions.iter().map(|r| r.value));
    results.for_each(|v| live[v as usize] = true);
    for at in (0..live.len()).rev() {
        match &kernel.body[at] {
            Node::Cast(_, v) | Node::Gather { index: v, .. } if live[at] => live[*v as usize] = true,
            Node::Op(_, _, vs) if live[at] => vs.iter().for_each(|v| live[*v as usize] = true),
            Node::Load(_) | Node::Param(_) | Node::Index(_) => {}
            Node::Gather { .. } | Node::Cast(..) | Node::Op(..) => {} // dead
        }
    }
    let mut number = vec![0; live.len()];
    let mut body = Vec::with_capacity(live.len());
    for (at, mut node) in std::mem::take(&mut kernel.body).into_iter().enumerate() {
        if live[at] {
            match &mut node {
                Node::Cast(_, v) | Node::Gather { index: v, .. } => *v = number[*v as usize],
                Node::Op(_, _, vs) => vs.iter_mut().for_each(|v| *v = number[*v as usize]),
                Node::Load(_) | Node::Param(_) | Node::Index(_) => {}
            }
            number[at] = body.len() as ValueId;
            body.push(node);
        }
    }
    kernel.body = body;
    kernel.stores.iter_mut().for_each(|s| s.value = number[s.value as usize]);
    kernel.reductions.iter_mut().for_each(|r| r.value = number[r.value as usize]);
    live.into_iter().zip(number).map(|(live, number)| live.then_some(number)).collect()
}

/// Writes the first `n` elements of a random stream, on the calling thread.
///
/// # Errors
/// [`Error::Unsupported`] when the operation is no random stream of that type.
///
/// # Safety
/// `dst` has room for `n` elements of `ty`, aligned to them.
pub unsafe fn fill_stream(stream: &RandomStream<'_>, ty: DType, n: usize, dst: *mut u8, isa: Isa) -> Result<()> {
    let fill = fill::select(stream.op, ty, isa)?;
    let source = Source::new(stream.op, stream.state.iter().copied());
    // SAFETY: the caller's room.
    unsafe { fill(&source, stream.position, 1, n, dst) };
    Ok(())
}

thread_local! {
    static SCRATCH: RefCell<Vec<Lines>> = const { RefCell::new(Vec::new()) };
}

/// The operands of a tile, without the streams' scratch memory.
pub struct Operands<'a> {
    /// As in [`Tile`].
    pub pointers: &'a [*mut u8],
    /// As in [`Tile`].
    pub inner_strides: &'a [i64],
    /// As in [`Tile`].
    pub outer_strides: &'a [i64],
    /// As in [`Tile`].
    pub params: &'a [[u8; 16]],
}

/// Evaluates a tile in pieces for which the streams' values fit into scratch memory.
///
/// # Safety
/// The contract of [`Body::run`] for the operands; `body` evaluates the kernel that [`split`] made.
pub unsafe fn run(streams: &[Stream], body: &dyn Body, operands: &Operands<'_>, inner: usize, outer: usize) {
    // taken out of the cell, so that a panic or a nested tile finds an empty one
    let mut scratch = SCRATCH.with(|cell| std::mem::take(&mut *cell.borrow_mut()));
    while scratch.len() < streams.len() {
        scratch.push(Lines::new(POINTS * size_of::<u64>()));
    }
    let width = inner.min(POINTS);
    let height = (POINTS / width.max(1)).max(1);
    for row in (0..outer).step_by(height) {
        for column in (0..inner).step_by(width.max(1)) {
            let pieces = (width.min(inner - column), height.min(outer - row));
            // SAFETY: the piece lies inside the tile.
            unsafe { piece(streams, body, operands, (column, row), pieces, &mut scratch) };
        }
    }
    SCRATCH.with(|cell| *cell.borrow_mut() = scratch);
}

/// Computes the stream elements of a piece of the tile, and runs the body on it.
///
/// # Safety
/// The piece lies inside the tile, whose operands keep the promises of a launch.
unsafe fn piece(
    streams: &[Stream],
    body: &dyn Body,
    operands: &Operands<'_>,
    (column, row): (usize, usize),
    (inner, outer): (usize, usize),
    scratch: &mut [Lines],
) {
    let mut pointers: SmallVec<[*mut u8; 12]> = SmallVec::from_slice(operands.pointers);
    let mut inner_strides: SmallVec<[i64; 12]> = SmallVec::from_slice(operands.inner_strides);
    let mut outer_strides: SmallVec<[i64; 12]> = SmallVec::from_slice(operands.outer_strides);
    for ((pointer, inner), outer) in pointers.iter_mut().zip(&inner_strides).zip(&outer_strides) {
        *pointer = pointer.wrapping_offset((*inner * column as i64 + *outer * row as i64) as isize);
    }
    for (stream, lines) in streams.iter().zip(scratch) {
        let first = pointers[stream.index] as u64;
        let steps = (inner_strides[stream.index], outer_strides[stream.index]);
        // SAFETY: scratch holds `POINTS` elements of at most eight bytes, and the piece has no more points.
        unsafe { stream.tile(operands.params, first, steps, inner, outer, lines.as_ptr()) };
        pointers.push(lines.as_ptr());
        inner_strides.push(stream.size as i64);
        outer_strides.push((stream.size * inner) as i64);
    }
    let tile = Tile {
        bypass: 0,
        pointers: pointers.as_ptr(),
        inner_strides: inner_strides.as_ptr(),
        outer_strides: outer_strides.as_ptr(),
        params: operands.params.as_ptr(),
        inner: inner as i64,
        outer: outer as i64,
    };
    // SAFETY: the caller's contract; the streams' values are there.
    unsafe { body.run(&tile) }
}

impl Stream {
    /// Writes the elements of a rectangle of indices, row after row.
    ///
    /// # Safety
    /// `dst` has room for `inner * outer` elements, aligned to them.
    unsafe fn tile(
        &self,
        params: &[[u8; 16]],
        first: u64,
        (step, row_step): (i64, i64),
        inner: usize,
        outer: usize,
        dst: *mut u8,
    ) {
        let word = |p: usize| u64::from_ne_bytes(params[p][..8].try_into().expect("eight of sixteen bytes"));
        let first = first.wrapping_add(word(self.params[0]));
        let source = Source::new(self.op, self.params[1..].iter().map(|&p| word(p)));
        let rows_follow = row_step == step * inner as i64;
        let (width, height) = if outer == 1 || rows_follow { (inner * outer, 1) } else { (inner, outer) };
        for row in 0..height {
            let position = first.wrapping_add(row_step.wrapping_mul(row as i64) as u64);
            // SAFETY: the caller's room.
            unsafe { (self.fill)(&source, position, step, width, dst.add(row * width * self.size)) };
        }
    }
}
