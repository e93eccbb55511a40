//! Shapes: broadcasting, the memory order of results, reshaping without a copy.

use numelt_ir::{DType, Dims, c_strides, new_strides};
use numelt_runtime::{ArrayView, BaseRef};
use smallvec::SmallVec;
use std::ops::Range;

/// The memory orders of `order=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// C order.
    C,
    /// Fortran order.
    F,
    /// Fortran order if all sources have it, otherwise C order.
    A,
    /// The order of the sources.
    K,
}

impl Order {
    /// The order of this name.
    pub fn from_name(name: &str) -> Option<Order> {
        Some(match name {
            "K" | "k" => Order::K,
            "A" | "a" => Order::A,
            "C" | "c" => Order::C,
            "F" | "f" => Order::F,
            _ => return None,
        })
    }
}

/// The common shape, or `None` if the shapes do not fit.
pub fn broadcast(shapes: &[&[i64]]) -> Option<Dims> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = Dims::from_elem(1, rank);
    for shape in shapes {
        let lead = rank - shape.len();
        for (axis, &n) in shape.iter().enumerate() {
            let common = &mut out[lead + axis];
            if *common == 1 {
                *common = n;
            } else if n != 1 && n != *common {
                return None;
            }
        }
    }
    Some(out)
}

/// Number of elements.
pub fn size(shape: &[i64]) -> i64 {
    shape.iter().product()
}

/// Whether the array is contiguous and in C order.
pub fn is_c_contiguous(shape: &[i64], strides: &[i64], itemsize: i64) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = itemsize;
    for (&n, &s) in shape.iter().zip(strides).rev() {
        if n != 1 {
            if s != expected {
                return false;
            }
            expected *= n;
        }
    }
    true
}

/// Whether the array is contiguous and in Fortran order.
pub fn is_f_contiguous(shape: &[i64], strides: &[i64], itemsize: i64) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = itemsize;
    for (&n, &s) in shape.iter().zip(strides) {
        if n != 1 {
            if s != expected {
                return false;
            }
            expected *= n;
        }
    }
    true
}

/// Whether the array is contiguous in Fortran order, and not in C order.
pub fn is_fortran(view: &ArrayView) -> bool {
    let itemsize = view.dtype.size() as i64;
    is_f_contiguous(&view.shape, &view.strides, itemsize) && !is_c_contiguous(&view.shape, &view.strides, itemsize)
}

/// Strides of a dense array in Fortran order.
pub fn f_strides(shape: &[i64], itemsize: i64) -> Dims {
    let mut step = itemsize;
    shape
        .iter()
        .map(|&n| {
            let stride = step;
            step *= n.max(1);
            stride
        })
        .collect()
}

/// The strides of `view` broadcast to `shape`; the shapes are known to fit.
pub fn broadcast_strides(view: &ArrayView, shape: &[i64]) -> Dims {
    let lead = shape.len() - view.shape.len();
    let mut strides = Dims::from_elem(0, shape.len());
    for (axis, (&n, &s)) in view.shape.iter().zip(&view.strides).enumerate() {
        if n != 1 {
            strides[lead + axis] = s;
        }
    }
    strides
}

/// The strides of a new dense array of `shape` whose axes have the memory order of the inputs' axes (NumPy's
/// `order='K'`; if inputs disagree, C order wins).
pub fn k_order_strides(shape: &[i64], itemsize: i64, inputs: &[&ArrayView]) -> Dims {
    let rank = shape.len();
    let all_c = |v: &&ArrayView| is_c_contiguous(&v.shape, &v.strides, v.dtype.size() as i64);
    if rank < 2 || inputs.iter().all(all_c) {
        return c_strides(shape, itemsize);
    }
    let strides: SmallVec<[Dims; 3]> = inputs.iter().map(|v| broadcast_strides(v, shape)).collect();
    dense_strides(shape, itemsize, &memory_order(rank, &strides))
}

/// The strides of the array into which pieces of this rank are joined: the memory order of their axes, as far as they
/// agree.
pub fn joined_strides(shape: &[i64], itemsize: i64, pieces: &[ArrayView]) -> Dims {
    let all_c = |v: &ArrayView| is_c_contiguous(&v.shape, &v.strides, v.dtype.size() as i64);
    if shape.len() < 2 || pieces.iter().all(all_c) {
        return c_strides(shape, itemsize);
    }
    // outermost first; each axis moves outwards past those that are inside it in every piece; extents of one have no
    // influence
    let mut order: SmallVec<[usize; 4]> = (0..shape.len()).collect();
    for at in 1..order.len() {
        let axis = order[at];
        let mut target = at;
        for before in (0..at).rev() {
            let other = order[before];
            let telling = pieces.iter().filter(|p| p.shape[axis] != 1 && p.shape[other] != 1);
            let mut outside = telling.map(|p| p.strides[other].abs() < p.strides[axis].abs()).peekable();
            if outside.peek().is_none() {
                continue;
            }
            if !outside.all(|o| o) {
                break;
            }
            target = before;
        }
        order.remove(at);
        order.insert(target, axis);
    }
    order.reverse();
    dense_strides(shape, itemsize, &order)
}

/// Axes from the innermost in memory to the outermost.
fn memory_order(rank: usize, strides: &[Dims]) -> SmallVec<[usize; 4]> {
    let mut order: SmallVec<[usize; 4]> = (0..rank).rev().collect();
    for at in 1..rank {
        let axis = order[at];
        let mut target = at;
        for before in (0..at).rev() {
            match inner_first(strides, axis, order[before]) {
                Some(true) => target = before,
                Some(false) => break,
                None => {}
            }
        }
        order.remove(at);
        order.insert(target, axis);
    }
    order
}

/// The view with its axes from the slowest to the fastest in which NumPy's `order` traverses the elements.
pub fn outermost_first(view: &ArrayView, order: Order) -> ArrayView {
    let rank = view.shape.len();
    let (shape, itemsize) = (&view.shape, view.dtype.size() as i64);
    let c = is_c_contiguous(shape, &view.strides, itemsize);
    let axes: SmallVec<[usize; 4]> = match order {
        Order::C => return view.clone(),
        Order::F => (0..rank).rev().collect(),
        Order::A | Order::K if c => return view.clone(),
        Order::A | Order::K if is_f_contiguous(shape, &view.strides, itemsize) => (0..rank).rev().collect(),
        Order::A => return view.clone(),
        Order::K => memory_order(rank, std::slice::from_ref(&view.strides)).into_iter().rev().collect(),
    };
    let pick = |from: &Dims| axes.iter().map(|&axis| from[axis]).collect();
    window(view, view.offset, pick(&view.shape), pick(&view.strides))
}

/// The elements along one axis as a view, and true; or the view to copy in C order, and false.
///
/// Unlike a reshape, NumPy's `ravel` does not return a view of elements that are not dense.
pub fn raveled(view: &ArrayView, order: Order) -> (ArrayView, bool) {
    let turned = outermost_first(view, order);
    let itemsize = view.dtype.size() as i64;
    if is_c_contiguous(&turned.shape, &turned.strides, itemsize) {
        let (shape, strides) = (Dims::from_elem(view.size(), 1), Dims::from_elem(itemsize, 1));
        (window(view, view.offset, shape, strides), true)
    } else {
        (turned, false)
    }
}

/// Whether `axis` should be further inside than `other`. `None` if no input has a stride along both.
fn inner_first(strides: &[Dims], axis: usize, other: usize) -> Option<bool> {
    let mut answer = None;
    for s in strides {
        let (mine, its) = (s[axis].abs(), s[other].abs());
        if mine != 0 && its != 0 {
            if its <= mine {
                answer = Some(false);
            } else if answer.is_none() {
                answer = Some(true);
            }
        }
    }
    answer
}

/// The strides of a dense copy that keeps the memory order of one array: its axes by size of stride, with those of
/// stride zero inside all others.
pub fn copy_strides(view: &ArrayView, itemsize: i64) -> Dims {
    let own = view.dtype.size() as i64;
    if is_c_contiguous(&view.shape, &view.strides, own) {
        return c_strides(&view.shape, itemsize);
    }
    if is_f_contiguous(&view.shape, &view.strides, own) {
        return f_strides(&view.shape, itemsize);
    }
    let mut order: SmallVec<[usize; 4]> = (0..view.shape.len()).rev().collect();
    order.sort_by_key(|&axis| view.strides[axis].unsigned_abs());
    dense_strides(&view.shape, itemsize, &order)
}

fn dense_strides(shape: &[i64], itemsize: i64, order: &[usize]) -> Dims {
    let mut strides = Dims::from_elem(0, shape.len());
    let mut step = itemsize;
    for &axis in order {
        strides[axis] = step;
        step *= shape[axis].max(1);
    }
    strides
}

/// The strides of the result of one elementwise operation with a loop of dtype `ty`, whose elements have `itemsize`
/// bytes. If the operands are in Fortran order and need no conversion, NumPy's loop places axes of extent one among the
/// others.
pub fn result_strides(shape: &[i64], itemsize: i64, ty: DType, inputs: &[&ArrayView]) -> Dims {
    let fortran = |v: &&ArrayView| v.shape.is_empty() || (v.dtype == ty && v.shape[..] == *shape && is_fortran(v));
    if shape.len() > 1 && inputs.iter().all(fortran) {
        return f_strides(shape, itemsize);
    }
    k_order_strides(shape, itemsize, inputs)
}

/// The same elements with another shape and without a copy, in C order; `None` if only a copy is possible.
pub fn reshaped(view: &ArrayView, shape: &[i64], fortran: bool) -> Option<ArrayView> {
    let strides = reshaped_strides(&view.shape, &view.strides, shape, view.dtype.size() as i64, fortran)?;
    Some(window(view, view.offset, Dims::from_slice(shape), strides))
}

fn reshaped_strides(old: &[i64], strides: &[i64], new: &[i64], itemsize: i64, fortran: bool) -> Option<Dims> {
    if fortran {
        let flip = |d: &[i64]| d.iter().rev().copied().collect::<Dims>();
        let mut made = reshaped_strides(&flip(old), &flip(strides), &flip(new), itemsize, false)?;
        made.reverse();
        return Some(made);
    }
    if old == new {
        return Some(Dims::from_slice(strides));
    }
    if size(old) == 0 || is_c_contiguous(old, strides, itemsize) {
        return Some(c_strides(new, itemsize));
    }
    let (old, strides): (Dims, Dims) = old.iter().zip(strides).filter(|(n, _)| **n != 1).map(|(n, s)| (*n, *s)).unzip();
    let mut out = Dims::from_elem(itemsize, new.len());
    let (mut o, mut n) = (0, 0);
    while o < old.len() && n < new.len() {
        let (first_old, first_new) = (o, n);
        let (mut have, mut want) = (old[o], new[n]);
        while have != want {
            if want < have {
                n += 1;
                want *= new.get(n)?;
            } else {
                o += 1;
                have *= old.get(o)?;
            }
        }
        // the group of old axes must itself be one run
        if (first_old..o).any(|a| strides[a] != old[a + 1] * strides[a + 1]) {
            return None;
        }
        let mut step = strides[o];
        for axis in (first_new..=n).rev() {
            out[axis] = step;
            step *= new[axis];
        }
        (o, n) = (o + 1, n + 1);
    }
    let tail = if n > 0 { out[n - 1] } else { itemsize };
    out[n..].fill(tail);
    Some(out)
}

/// Another view of the same base with the same dtype.
pub fn window(view: &ArrayView, offset: i64, shape: Dims, strides: Dims) -> ArrayView {
    ArrayView { base: view.base.clone(), dtype: view.dtype, offset, shape, strides }
}

/// Whether two views are the same elements of the same base.
pub fn same_window(a: &ArrayView, b: &ArrayView) -> bool {
    a.base.ptr_eq(&b.base) && a.offset == b.offset && a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides
}

/// The half-open byte range in the base; `None` if empty.
pub fn byte_range(shape: &[i64], strides: &[i64], itemsize: i64) -> Option<(i64, i64)> {
    let (mut low, mut high) = (0, 0);
    for (&n, &s) in shape.iter().zip(strides) {
        if n == 0 {
            return None;
        }
        let reach = (n - 1) * s;
        low += reach.min(0);
        high += reach.max(0);
    }
    Some((low, high + itemsize))
}

/// The bytes of a view inside those of its base; `None` for a view that is not dense in C order.
pub fn dense_range(view: &ArrayView) -> Option<Range<usize>> {
    let (start, itemsize) = (view.offset as usize, view.dtype.size());
    let dense = is_c_contiguous(&view.shape, &view.strides, itemsize as i64);
    dense.then(|| match view.size() {
        // an empty view may begin anywhere
        0 => 0..0,
        n => start..start + n as usize * itemsize,
    })
}

/// A C-contiguous view that begins at the start of a base.
pub fn whole(base: BaseRef, dtype: DType, shape: &[i64]) -> ArrayView {
    let strides = new_strides(shape, dtype.size() as i64);
    ArrayView { base, dtype, offset: 0, shape: Dims::from_slice(shape), strides }
}
