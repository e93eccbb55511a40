//! From index arrays and masks to one position per selected element, along one axis of the array's memory.
//!
//! Bounds are checked immediately, because an index out of range is an error of this statement. Small index arrays are
//! read directly. For large ones, a minimum and a maximum are recorded, which share a pass with the computation of the
//! index.

use super::elements::each_integer;
use super::lookup::{AdvancedIndex, Lookup, Selector};
use crate::error::Error;
use crate::front::Front;
use crate::rules::shape::{self, Order};
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, Dims, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, Input};
use smallvec::SmallVec;

/// Indices of up to this many elements are read one by one.
const READ_DIRECTLY: i64 = 4096;

/// The positions of the selected elements.
pub struct Positions {
    /// The shape of the selection.
    pub shape: Dims,
    /// One position per selected element, to be broadcast to `shape`; `None` if all are zero.
    pub index: Option<ArrayView>,
    /// The number of positions, and the bytes from one to the next.
    pub axis: (i64, i64),
    /// Byte offset of position zero.
    pub offset: i64,
    /// Whether the positions are 0, 1, 2, … to the end of the axis.
    pub all: bool,
    /// The original indices: they determine the memory order of a result without other axes.
    pub inputs: SmallVec<[ArrayView; 2]>,
}

/// The order in which NumPy checks indices, which decides which of several bad ones its IndexError names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOrder {
    /// In C order: `take`, and reading by one index array.
    Rows,
    /// In the memory order of the axes: reading a vector.
    Memory,
    /// In memory order, from the lowest address: several index arrays, and writing. A single index of NumPy's own index
    /// type is traversed in its own direction.
    Iterator,
}

impl CheckOrder {
    /// For `array[key]`.
    pub fn of_reading(lookup: &Lookup) -> CheckOrder {
        match &lookup.advanced[..] {
            [one] if one.axes.len() == 1 && lookup.rest.0.is_empty() => CheckOrder::Memory,
            [_] => CheckOrder::Rows,
            _ => CheckOrder::Iterator,
        }
    }
}

/// An index along one axis.
struct Component {
    n: i64,
    stride: i64,
    index: ArrayView,
    /// The axis whose bounds the index must keep; `None` for positions that come from a mask.
    axis: Option<usize>,
    /// Whether they are known to be all positions, in order.
    all: bool,
}

/// The indices of a lookup before their elements have been examined.
pub struct Indices {
    /// The shape of the selection.
    pub shape: Dims,
    components: SmallVec<[Component; 2]>,
}

impl Indices {
    /// Determines what masks select, and the common shape.
    ///
    /// # Errors
    /// NumPy's IndexError for shapes that do not fit each other.
    pub fn of<F: Front>(front: &F, lookup: &Lookup) -> Result<Indices, F::Error> {
        let mut components: SmallVec<[Component; 2]> = SmallVec::new();
        let mut firsts: SmallVec<[usize; 2]> = SmallVec::new();
        for advanced in &lookup.advanced {
            firsts.push(components.len());
            match &advanced.selector {
                Selector::Index(index) => {
                    let (n, stride) = advanced.axes[0];
                    components.push(Component {
                        n,
                        stride,
                        index: index.clone(),
                        axis: Some(advanced.axis),
                        all: false,
                    });
                }
                Selector::Mask(mask) => add_mask(front, advanced, mask, &mut components)?,
            }
        }
        let shape = {
            let shapes: SmallVec<[&[i64]; 4]> = firsts.iter().map(|&k| &components[k].index.shape[..]).collect();
            lookup.picked_shape(&shapes).map_err(|error| front.error(error))?
        };
        Ok(Indices { shape, components })
    }

    /// Omits the check of bounds, for indices that are known to be positions, or that the engine may clamp at the upper
    /// end.
    pub fn without_bounds_checks(mut self) -> Indices {
        self.components.iter_mut().for_each(|c| c.axis = None);
        self
    }

    /// Checks bounds and computes the positions.
    ///
    /// # Errors
    /// NumPy's IndexError for indices out of bounds.
    pub fn resolve<F: Front>(self, front: &F, lookup: &Lookup, order: CheckOrder) -> Result<Positions, F::Error> {
        let Indices { shape, mut components } = self;
        let inputs = components.iter().map(|c| c.index.clone()).collect();
        let offset = lookup.array.offset;
        let mut positions = Positions { shape, index: None, axis: (1, 0), offset, all: false, inputs };
        // if indices broadcast to nothing, NumPy does not check them
        if shape::size(&positions.shape) > 0 {
            for component in &mut components {
                component.resolve(front, order)?;
            }
            positions.join(front, &components, lookup.array.dtype.size() as i64)?;
        }
        Ok(positions)
    }
}

impl Positions {
    /// Combines the components into positions along one axis.
    fn join<F: Front>(&mut self, front: &F, components: &[Component], itemsize: i64) -> Result<(), F::Error> {
        let moving: SmallVec<[&Component; 2]> = components.iter().filter(|c| c.n > 1 && c.stride != 0).collect();
        if let [one] = moving[..] {
            (self.index, self.axis) = (Some(one.index.clone()), (one.n, one.stride));
            self.all = one.all && self.shape[..] == [one.n];
            return Ok(());
        }
        let step = moving.iter().fold(0, |g, c| gcd(g, c.stride));
        if step == 0 {
            self.axis = (1, itemsize);
            return Ok(());
        }
        let (mut sum, mut low, mut high) = (None::<ArrayView>, 0, 0);
        for c in &moving {
            let weight = c.stride / step;
            let reach = (c.n - 1) * weight;
            (low, high) = (low + reach.min(0), high + reach.max(0));
            let part = if weight == 1 {
                c.index.clone()
            } else {
                compute(front, Op::Multiply, &[Input::Array(&c.index), Input::Const(Scalar::I64(weight))])?
            };
            sum = Some(match sum {
                Some(sum) => compute(front, Op::Add, &[Input::Array(&sum), Input::Array(&part)])?,
                None => part,
            });
        }
        if let Some(sum) = &mut sum
            && low < 0
        {
            *sum = compute(front, Op::Subtract, &[Input::Array(sum), Input::Const(Scalar::I64(low))])?;
        }
        self.index = sum;
        self.axis = (high - low + 1, step);
        self.offset += low * step;
        Ok(())
    }

    /// The positions as 64-bit integers, in memory that does not overlap a base that is about to be written.
    pub fn index_apart_from<F: Front>(&self, front: &F, target: &ArrayView) -> Result<Option<ArrayView>, F::Error> {
        let Some(index) = &self.index else { return Ok(None) };
        apart_from(front, index, target).map(Some)
    }
}

/// An index as 64-bit integers, in memory that does not overlap a base that is about to be written.
fn apart_from<F: Front>(front: &F, index: &ArrayView, target: &ArrayView) -> Result<ArrayView, F::Error> {
    let wide = matches!(index.dtype, DType::I64 | DType::U64);
    if wide && !index.base.ptr_eq(&target.base) {
        return Ok(index.clone());
    }
    front.copied(index, DType::I64, Order::C)
}

/// The positions of a lookup along one axis: checked, counted from the front, as 64-bit integers, and not in the memory
/// of a target that is about to be written.
///
/// # Errors
/// NumPy's IndexError for indices out of bounds; those of recording.
pub fn checked_positions<F: Front>(front: &F, lookup: &Lookup, target: &ArrayView) -> Result<ArrayView, F::Error> {
    let mut indices = Indices::of(front, lookup)?;
    for component in &mut indices.components {
        component.resolve(front, CheckOrder::Iterator)?;
    }
    let [only] = &indices.components[..] else { unreachable!("an index along one axis is one component") };
    apart_from(front, &only.index, target)
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Records an operation on 64-bit integers; the result has the memory order of the inputs.
pub fn compute<F: Front>(front: &F, op: Op, ins: &[Input<'_>]) -> Result<ArrayView, F::Error> {
    let views: SmallVec<[&ArrayView; 3]> = ins
        .iter()
        .filter_map(|input| match input {
            Input::Array(view) => Some(*view),
            Input::Const(_) => None,
        })
        .collect();
    let shapes: SmallVec<[&[i64]; 3]> = views.iter().map(|v| &v.shape[..]).collect();
    let domain = shape::broadcast(&shapes).unwrap_or_default();
    let out = front.like_inputs(op.output_dtype(DType::I64), &domain, &views);
    front.record(op, DType::I64, &out, ins, Axes::default())?;
    Ok(out)
}

/// The multi-index of each flat position in an array of these extents, along an additional last axis of a new array of
/// 64-bit integers. The positions must be in bounds.
///
/// # Errors
/// Those of recording.
pub fn unraveled<F: Front>(
    front: &F,
    positions: &ArrayView,
    extents: &[i64],
    c_order: bool,
) -> Result<ArrayView, F::Error> {
    let rank = extents.len();
    let mut dims = positions.shape.clone();
    dims.push(rank as i64);
    front.check_size(&dims, DType::I64)?;
    let table = front.fresh(DType::I64, &dims, c_strides(&dims, 8));
    let mut rest = positions.clone();
    for step in (0..rank).take_while(|_| positions.size() > 0) {
        let axis = if c_order { rank - 1 - step } else { step };
        let mut part = table.clone();
        part.offset += 8 * axis as i64;
        part.shape.pop();
        part.strides.pop();
        if step + 1 == rank {
            front.record(Op::Copy, DType::I64, &part, &[Input::Array(&rest)], Axes::default())?;
            break;
        }
        let extent = Input::Const(Scalar::I64(extents[axis]));
        front.record(Op::Remainder, DType::I64, &part, &[Input::Array(&rest), extent], Axes::default())?;
        rest = compute(front, Op::FloorDivide, &[Input::Array(&rest), extent])?;
    }
    Ok(table)
}

impl Component {
    /// Checks the bounds, and makes negative indices count from the end.
    fn resolve<F: Front>(&mut self, front: &F, order: CheckOrder) -> Result<(), F::Error> {
        let Some(axis) = self.axis else { return Ok(()) };
        if within(front, &self.index, self.n)? {
            return Ok(());
        }
        let Some((low, high)) = bounds(front, &self.index)? else { return Ok(()) };
        if low < -self.n || high >= self.n {
            let outside = first_outside(front, &self.index, self.n, order)?;
            return Err(front.error(Error::IndexOutOfBounds { index: outside, axis, extent: self.n }));
        }
        if low < 0 {
            self.index = from_end(front, &self.index, self.n)?;
        }
        Ok(())
    }
}

/// `where(index < 0, index + n, index)`
fn from_end<F: Front>(front: &F, index: &ArrayView, n: i64) -> Result<ArrayView, F::Error> {
    let negative = compute(front, Op::Less, &[Input::Array(index), Input::Const(Scalar::I64(0))])?;
    let moved = compute(front, Op::Add, &[Input::Array(index), Input::Const(Scalar::I64(n))])?;
    compute(front, Op::Where, &[Input::Array(&negative), Input::Array(&moved), Input::Array(index)])
}

/// The smallest and the largest element; `None` if there are no elements.
pub fn bounds<F: Front>(front: &F, index: &ArrayView) -> Result<Option<(i64, i64)>, F::Error> {
    if index.size() == 0 {
        return Ok(None);
    }
    if index.size() <= READ_DIRECTLY {
        let mut found = (i64::MAX, i64::MIN);
        each_integer(front, index, |v| {
            found = (found.0.min(v), found.1.max(v));
            true
        })?;
        return Ok(Some(found));
    }
    // indices wrap around into 64 bits, as NumPy casts them
    let ty = if index.dtype == DType::U64 { DType::I64 } else { index.dtype };
    if let Some(found) = front.fold_now(index, &[(Op::Min, ty), (Op::Max, ty)])? {
        return Ok(Some((wide(found[0]), wide(found[1]))));
    }
    let ones = Dims::from_elem(1, index.shape.len());
    let all = Axes::all(index.shape.len());
    let (low, high) = (front.like_inputs(DType::I64, &ones, &[]), front.like_inputs(DType::I64, &ones, &[]));
    front.record(Op::Min, ty, &low, &[Input::Array(index)], all)?;
    front.record(Op::Max, ty, &high, &[Input::Array(index)], all)?;
    Ok(Some((integer(front, &low)?, integer(front, &high)?)))
}

/// Whether one pass shows that all indices are not negative and inside an axis of `n`. False for indices that are few
/// or not of int64, which are checked otherwise.
fn within<F: Front>(front: &F, index: &ArrayView, n: i64) -> Result<bool, F::Error> {
    if index.size() <= READ_DIRECTLY || index.dtype != DType::I64 {
        return Ok(false);
    }
    // as unsigned numbers, negative ones are the largest
    let unsigned = ArrayView { dtype: DType::U64, ..index.clone() };
    if let Some(found) = front.fold_now(&unsigned, &[(Op::Max, DType::U64)])? {
        return Ok((0..n).contains(&wide(found[0])));
    }
    let ones = Dims::from_elem(1, index.shape.len());
    let high = front.like_inputs(DType::U64, &ones, &[]);
    front.record(Op::Max, DType::U64, &high, &[Input::Array(&unsigned)], Axes::all(index.shape.len()))?;
    Ok((0..n).contains(&integer(front, &high)?))
}

/// An index array in the order in which NumPy checks its bounds.
fn as_checked(index: &ArrayView, order: CheckOrder) -> ArrayView {
    let mut view = index.clone();
    if order == CheckOrder::Rows
        || (order == CheckOrder::Iterator && index.dtype == DType::I64 && index.shape.len() <= 1)
    {
        return view;
    }
    let mut axes: SmallVec<[usize; 4]> = (0..index.shape.len()).filter(|&a| index.shape[a] > 1).collect();
    axes.sort_by_key(|&a| std::cmp::Reverse(index.strides[a].abs()));
    view.shape = axes.iter().map(|&a| index.shape[a]).collect();
    view.strides = axes.iter().map(|&a| index.strides[a]).collect();
    if order == CheckOrder::Iterator {
        let backward = axes.iter().filter(|&&a| index.strides[a] < 0);
        view.offset += backward.map(|&a| (index.shape[a] - 1) * index.strides[a]).sum::<i64>();
        view.strides.iter_mut().for_each(|s| *s = s.abs());
    }
    view
}

/// The first element, in NumPy's order, that is not an index of an axis of `n`.
pub fn first_outside<F: Front>(front: &F, index: &ArrayView, n: i64, order: CheckOrder) -> Result<i64, F::Error> {
    let mut outside = n;
    each_integer(front, &as_checked(index, order), |v| {
        let inside = (-n..n).contains(&v);
        if !inside {
            outside = v;
        }
        inside
    })?;
    Ok(outside)
}

/// The only element of a view.
fn integer<F: Front>(front: &F, view: &ArrayView) -> Result<i64, F::Error> {
    front.read_scalar(&view.base, view.dtype, view.offset).map(wide)
}

fn wide(number: Scalar) -> i64 {
    match cast(number, DType::I64) {
        Scalar::I64(value) => value,
        other => unreachable!("a cast to i64 gave {}", other.dtype()),
    }
}

/// The number of true elements, computed now.
pub fn count_true<F: Front>(front: &F, mask: &ArrayView) -> Result<i64, F::Error> {
    if mask.size() <= READ_DIRECTLY && mask.dtype == DType::Bool {
        let mut count = 0;
        each_integer(front, mask, |v| {
            count += v;
            true
        })?;
        return Ok(count);
    }
    if let Some(Scalar::I64(count)) = front.known(Op::Sum, DType::I64, mask, Axes::all(mask.shape.len()), false) {
        return Ok(count);
    }
    if mask.dtype == DType::Bool
        && let Some(found) = front.fold_now(mask, &[(Op::Sum, DType::I64)])?
    {
        return Ok(wide(found[0]));
    }
    let ones = Dims::from_elem(1, mask.shape.len());
    let total = front.like_inputs(DType::I64, &ones, &[]);
    let truth = if mask.dtype == DType::Bool { mask.clone() } else { as_truth(front, mask)? };
    front.record(Op::Sum, DType::I64, &total, &[Input::Array(&truth)], Axes::all(mask.shape.len()))?;
    integer(front, &total)
}

fn as_truth<F: Front>(front: &F, values: &ArrayView) -> Result<ArrayView, F::Error> {
    front.copied(values, DType::Bool, Order::C)
}

/// The multi-indices of the true elements: a recorded array of `(count, rank)`.
pub fn true_positions<F: Front>(front: &F, mask: &ArrayView) -> Result<ArrayView, F::Error> {
    let mask = if mask.dtype == DType::Bool { mask.clone() } else { as_truth(front, mask)? };
    let count = count_true(front, &mask)?;
    let out = front.like_inputs(DType::I64, &[count, mask.shape.len() as i64], &[]);
    out.base.settle_like_first([&mask.base]);
    if mask.shape.len() == 1 && count > 0 && count == mask.size() {
        // all elements of a vector: kernels compute the positions instead of loading them
        let numbers = [Input::Const(Scalar::I64(0)), Input::Const(Scalar::I64(1))];
        front.record(Op::Range, DType::I64, &column(&out, 0), &numbers, Axes::default())?;
    } else if out.size() > 0 {
        front.record(Op::Nonzero, DType::Bool, &out, &[Input::Array(&mask)], Axes::default())?;
    }
    Ok(out)
}

/// Column `k` of an array of positions.
pub fn column(positions: &ArrayView, k: usize) -> ArrayView {
    let offset = positions.offset + k as i64 * positions.strides[1];
    let row = positions.shape[1] * positions.dtype.size() as i64;
    shape::window(positions, offset, Dims::from_slice(&positions.shape[..1]), Dims::from_elem(row, 1))
}

/// Adds the components of a mask: one if its axes are equivalent to one in memory, otherwise one per axis.
fn add_mask<F: Front>(
    front: &F,
    advanced: &AdvancedIndex,
    mask: &ArrayView,
    components: &mut SmallVec<[Component; 2]>,
) -> Result<(), F::Error> {
    let joined = advanced.axes.windows(2).all(|pair| pair[0].1 == pair[1].0 * pair[1].1);
    let total: i64 = advanced.axes.iter().map(|a| a.0).product();
    // a mask without elements need not have the axes' extents
    if mask.size() == 0 || (!joined && advanced.axes.len() > 1) {
        let positions = true_positions(front, mask)?;
        let each = advanced.axes.iter().enumerate();
        components.extend(each.map(|(k, &(n, stride))| Component {
            n,
            stride,
            index: column(&positions, k),
            axis: None,
            all: false,
        }));
        return Ok(());
    }
    let flat = match shape::reshaped(mask, &[total], false) {
        Some(flat) => flat,
        None => {
            let dense = front.copied(mask, DType::Bool, Order::C)?;
            shape::reshaped(&dense, &[total], false).unwrap_or(dense)
        }
    };
    let positions = true_positions(front, &flat)?;
    let stride = advanced.axes.last().map_or(0, |a| a.1);
    let all = positions.shape[0] == total;
    components.push(Component { n: total, stride, index: column(&positions, 0), axis: None, all });
    Ok(())
}
