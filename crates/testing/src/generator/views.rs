//! Random shapes and views.

use super::Draft;
use crate::rng::Rng;
use numelt_ir::{DType, DTypeKind, Dims, View, c_strides};

/// A shape of rank zero to four; sometimes an axis is empty or has extent one.
pub(super) fn shape(rng: &mut Rng, most: i64) -> Vec<i64> {
    let rank = *rng.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 3, 4]);
    let mut left = most.max(1);
    let mut shape: Vec<i64> = Vec::new();
    for axis in 0..rank {
        let most = if axis + 1 == rank { left } else { ((left as f64).sqrt() as i64).max(2) };
        let n = match rng.below(40) {
            0 => 0,
            1..=6 => 1,
            _ => rng.range(1, most.max(1)),
        };
        left = (left / n.max(1)).max(1);
        shape.push(n);
    }
    // the longest axis need not be the last
    for i in (1..shape.len()).rev() {
        shape.swap(i, rng.below(i + 1));
    }
    shape
}

/// A window of `elements` elements in a random layout: with a step and direction for each axis, axes in any order, and
/// gaps; or broadcast along some axes; or with random strides.
fn layout(rng: &mut Rng, shape: &[i64], itemsize: i64, may_broadcast: bool) -> Dims {
    match rng.below(8) {
        0..=1 => c_strides(shape, itemsize),
        2 => dense_permuted(rng, shape, itemsize),
        3 if may_broadcast => {
            let mut strides = c_strides(shape, itemsize);
            strides.iter_mut().for_each(|s| *s *= rng.range(0, 1));
            strides
        }
        4 => shape.iter().map(|_| rng.range(-6, 6) * itemsize).collect(),
        _ => {
            let mut order: Vec<usize> = (0..shape.len()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i + 1));
            }
            let mut strides = Dims::from_elem(0, shape.len());
            let mut step = itemsize;
            for axis in order {
                let gap = *rng.pick(&[1, 1, 1, 2, 3]);
                strides[axis] = step * gap * *rng.pick(&[1, 1, 1, -1]);
                step *= gap * shape[axis].max(1) + if rng.one_in(4) { 1 } else { 0 };
            }
            strides
        }
    }
}

/// A dense layout with the axes in any order: a transpose of a C-ordered array.
pub(super) fn dense_permuted(rng: &mut Rng, shape: &[i64], itemsize: i64) -> Dims {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
    let mut strides = Dims::from_elem(0, shape.len());
    let mut step = itemsize;
    for axis in order {
        strides[axis] = step;
        step *= shape[axis].max(1);
    }
    strides
}

/// The part of a view that begins at the indices `starts`.
pub(super) fn window(view: &View, starts: &[i64], shape: &[i64]) -> View {
    let mut part = view.clone();
    part.offset += starts.iter().zip(&view.strides).map(|(at, stride)| at * stride).sum::<i64>();
    part.shape = Dims::from_slice(shape);
    part
}

/// Reverses the direction of an axis of a view.
pub(super) fn reversed(view: &mut View, axis: usize) {
    view.offset += (view.shape[axis] - 1).max(0) * view.strides[axis];
    view.strides[axis] = -view.strides[axis];
}

impl Draft {
    /// A view of this shape on a base, if some layout fits.
    fn place(&mut self, base: u32, dtype: DType, shape: &[i64], may_broadcast: bool) -> Option<View> {
        let nbytes = self.program.bases[base as usize].nbytes as i64;
        let size = dtype.size() as i64;
        (0..4).find_map(|_| {
            let strides = layout(&mut self.rng, shape, size, may_broadcast);
            let mut view = View { base, dtype, offset: 0, shape: Dims::from_slice(shape), strides };
            let Some((low, high)) = view.byte_range() else {
                view.offset = self.rng.range(0, nbytes / size) * size;
                return Some(view);
            };
            let slack = nbytes - (high - low);
            if slack < 0 {
                return None;
            }
            view.offset = -low + self.rng.range(0, slack / size) * size;
            Some(view)
        })
    }

    /// A dtype for a view of a base: the base's own, or one of the same or a smaller size that is valid for the same
    /// bytes.
    fn lens(&mut self, base: u32) -> DType {
        let own = self.known[base as usize].dtype;
        if !self.rng.one_in(8) {
            return own;
        }
        match own.kind() {
            DTypeKind::Complex => own.real(),
            DTypeKind::Signed | DTypeKind::Unsigned => {
                let smaller: Vec<DType> =
                    DType::ALL.into_iter().filter(|d| d.is_integer() && d.size() <= own.size()).collect();
                *self.rng.pick(&smaller)
            }
            DTypeKind::Bool | DTypeKind::Float => own,
        }
    }

    /// A view to read, of any type, all of whose bytes hold values.
    pub(super) fn readable(&mut self, shape: &[i64], accept: impl Fn(DType) -> bool) -> Option<View> {
        if !self.rng.one_in(3)
            && let Some(view) = self.seen_before(shape, &accept)
        {
            return Some(view);
        }
        (0..6).find_map(|_| {
            let base = self.recent_base();
            let dtype = self.lens(base);
            if !accept(dtype) {
                return None;
            }
            let view = self.place(base, dtype, shape, true)?;
            self.is_defined(&view).then_some(view)
        })
    }

    /// A view that an instruction has read or written, unchanged or broadcast.
    fn seen_before(&mut self, shape: &[i64], accept: &impl Fn(DType) -> bool) -> Option<View> {
        let fits = |view: &View| view.broadcast_to(shape).filter(|_| accept(view.dtype));
        let mut fitting: Vec<View> = self.recent.iter().filter_map(fits).collect();
        fitting.drain(..fitting.len().saturating_sub(4));
        if fitting.is_empty() {
            return None;
        }
        let view = self.rng.pick(&fitting).clone();
        self.is_defined(&view).then_some(view)
    }

    /// Any base; later ones are chosen more often.
    pub(super) fn recent_base(&mut self) -> u32 {
        let count = self.program.bases.len();
        let (a, b) = (self.rng.below(count), self.rng.below(count));
        a.max(b) as u32
    }

    /// A view to write, of an existing base or of a new one. `ins` are the views that the instruction reads, so that it
    /// may write in place or next to them.
    pub(super) fn writable(&mut self, shape: &[i64], dtype: DType, ins: &[View]) -> View {
        if !ins.is_empty() && self.rng.one_in(4) {
            let mut view = self.rng.pick(ins).clone();
            if view.shape[..] == *shape && view.overlaps_itself() == Some(false) {
                if self.rng.one_in(2) {
                    self.shift(&mut view);
                }
                return view;
            }
        }
        for _ in 0..4 {
            let base = self.recent_base();
            if self.rng.one_in(3) {
                break;
            }
            let known = self.known[base as usize].dtype;
            let fits = known == dtype || self.rng.one_in(3) && !(known == DType::Bool && dtype != DType::Bool);
            let placed = if fits { self.place(base, known, shape, false) } else { None };
            if let Some(view) = placed.filter(|v| v.overlaps_itself() == Some(false)) {
                return view;
            }
        }
        self.fresh(shape, dtype)
    }

    /// A dense view of a new base, sometimes transposed, sometimes with unused memory around it.
    pub(super) fn fresh(&mut self, shape: &[i64], dtype: DType) -> View {
        let size = shape.iter().product::<i64>() as usize;
        let room = if self.rng.one_in(4) { self.rng.below(4) } else { 0 };
        let base = self.new_base(dtype, size + room, false);
        let mut view = View::contiguous(base, dtype, shape);
        if self.rng.one_in(4) {
            view.strides = dense_permuted(&mut self.rng, shape, dtype.size() as i64);
        }
        view.offset = self.rng.below(room + 1) as i64 * dtype.size() as i64;
        view
    }

    /// Moves a window by a few elements within its base.
    fn shift(&mut self, view: &mut View) {
        let Some((low, high)) = view.byte_range() else { return };
        let size = view.dtype.size() as i64;
        let room = self.program.bases[view.base as usize].nbytes as i64 - high;
        let steps = self.rng.range(-(low / size).min(3), (room / size).min(3));
        view.offset += steps * size;
    }
}
