//! Assignment through arrays and masks.
//!
//! If the value does not depend on which element a mask selects, the assignment is a `where`, which fuses with the
//! computation of the mask and the value. Everything else is a scatter, in order, so that of equal indices the last
//! wins.

use super::KeyItem;
use super::lookup::Lookup;
use super::positions::{CheckOrder, Indices, Positions, compute};
use crate::answer::{Answer, NotNative};
use crate::assign;
use crate::error::{Error, shape_text};
use crate::front::Front;
use crate::operand::Operand;
use crate::rules::shape::{self, Order};
use numelt_ir::{Axes, DType, Dims, MAX_RANK, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// With at most this many elements per row, all of an array is rewritten under a mask of rows.
const SHORT_ROW: i64 = 4;

/// `array[items] = value`, where at least one item is an array, a mask or a truth value.
///
/// # Errors
/// NumPy's IndexError for indices out of bounds and a key that does not fit the array; if the value does not fit the
/// selection; and errors of recording.
pub fn set<F: Front>(front: &F, array: &ArrayView, items: &[KeyItem], value: Assigned) -> Result<Answer<()>, F::Error> {
    if let [KeyItem::Mask(mask)] = items
        && select(front, array, mask, &value)?
    {
        return Ok(Answer::Recorded(()));
    }
    let lookup = Lookup::new(array, items).map_err(|error| front.error(error))?;
    let indices = Indices::of(front, &lookup)?;
    let extents = lookup.arrange(&indices.shape, &lookup.rest.0);
    let value = value.view(front, array.dtype)?;
    let value = fit(value, &extents, lookup.whole_mask).map_err(|error| front.error(error))?;
    let positions = indices.resolve(front, &lookup, CheckOrder::Iterator)?;
    if shape::size(&extents) == 0 {
        return Ok(Answer::Recorded(()));
    }
    if extents.len() >= MAX_RANK {
        return Ok(Answer::NotNative(NotNative::Shape));
    }
    let done = scatter(front, array, &lookup, &positions, &value)?;
    Ok(if done { Answer::Recorded(()) } else { Answer::NotNative(NotNative::Output) })
}

/// An assigned value in the form that the target takes.
#[derive(Debug, Clone)]
pub enum Assigned {
    /// A number in the target's dtype.
    Literal(Scalar),
    /// An array of the target's dtype that shares no memory with it.
    View(ArrayView),
}

impl Assigned {
    fn shape(&self) -> &[i64] {
        match self {
            Assigned::Literal(_) => &[],
            Assigned::View(view) => &view.shape,
        }
    }

    fn view<F: Front>(self, front: &F, dtype: DType) -> Result<ArrayView, F::Error> {
        match self {
            Assigned::View(view) => Ok(view),
            Assigned::Literal(literal) => {
                let cell = front.like_inputs(dtype, &[], &[]);
                front.record(Op::Copy, dtype, &cell, &[Input::Const(literal)], Axes::default())?;
                Ok(cell)
            }
        }
    }
}

/// The value in the form that the target takes; not native if NumPy raises or warns.
///
/// # Errors
/// If a number becomes infinite and that is an error; and errors of recording.
pub fn stored<F: Front>(front: &F, value: &Operand<'_>, target: &ArrayView) -> Result<Answer<Assigned>, F::Error> {
    let Operand::Array(view) = value else {
        let Some(stored) = assign::literal(value, target.dtype) else {
            return Ok(Answer::NotNative(NotNative::Number));
        };
        if assign::overflowed(value, stored) {
            front.literal_overflow()?;
        }
        return Ok(Answer::Recorded(Assigned::Literal(stored)));
    };
    if assign::drops_imaginary(view.dtype, target.dtype) {
        return Ok(Answer::NotNative(NotNative::Loop));
    }
    if view.dtype == target.dtype && !view.base.ptr_eq(&target.base) {
        return Ok(Answer::Recorded(Assigned::View((*view).clone())));
    }
    front.copied(view, target.dtype, Order::K).map(|copy| Answer::Recorded(Assigned::View(copy)))
}

/// Records `where(mask, value, array)` if every selected element gets the same value (or row of values).
fn select<F: Front>(front: &F, array: &ArrayView, mask: &ArrayView, values: &Assigned) -> Result<bool, F::Error> {
    let Some(rest) = array.shape.len().checked_sub(mask.shape.len()) else { return Ok(false) };
    let fits = mask.shape[..] == array.shape[..mask.shape.len()];
    // an axis of extent one in front of the rest is the axis of the selected elements
    let own = values.shape().strip_prefix(&[1]).filter(|own| own.len() == rest).unwrap_or(values.shape());
    // elements that are not selected are written back, which must not overwrite what another index of the same memory
    // has stored
    if !fits || own.len() > rest || array.size() == 0 || !array.is_injective() {
        return Ok(false);
    }
    let others = &array.shape[mask.shape.len()..];
    // for long rows it is better not to touch those that the mask excludes
    if shape::broadcast(&[own, others]).as_deref() != Some(others) || shape::size(others) > SHORT_ROW {
        return Ok(false);
    }
    let mut mask = mask.clone();
    mask.shape.extend(std::iter::repeat_n(1, rest));
    mask.strides.extend(std::iter::repeat_n(0, rest));
    let mut values = values;
    let cut;
    if let Assigned::View(view) = values
        && view.shape.len() > rest
    {
        cut = Assigned::View(shape::window(
            view,
            view.offset,
            Dims::from_slice(own),
            Dims::from_slice(&view.strides[1..]),
        ));
        values = &cut;
    }
    let value = match values {
        Assigned::Literal(literal) => Input::Const(*literal),
        Assigned::View(view) => Input::Array(view),
    };
    let inputs = [Input::Array(&mask), value, Input::Array(array)];
    front.record(Op::Where, array.dtype, array, &inputs, Axes::default())?;
    Ok(true)
}

/// The value broadcast to the lookup's result.
fn fit(mut values: ArrayView, extents: &[i64], whole_mask: bool) -> Result<ArrayView, Error> {
    let given = values.shape.clone();
    if whole_mask && given.len() > 1 {
        return Err(Error::Type(format!(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has {} dimensions",
            given.len()
        )));
    }
    while values.shape.len() > extents.len() && values.shape[0] == 1 {
        values.shape.remove(0);
        values.strides.remove(0);
    }
    let fits =
        values.shape.len() <= extents.len() && shape::broadcast(&[&values.shape, extents]).as_deref() == Some(extents);
    if fits {
        let strides = shape::broadcast_strides(&values, extents);
        return Ok(shape::window(&values, values.offset, Dims::from_slice(extents), strides));
    }
    Err(Error::Value(if whole_mask {
        format!(
            "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values where the mask is true",
            given[0], extents[0]
        )
    } else {
        format!(
            "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}",
            shape_text(&given),
            shape_text(extents)
        )
    }))
}

/// Records the scatter of values of the lookup's shape. False, with nothing recorded, if elements of the array share
/// memory.
fn scatter<F: Front>(
    front: &F,
    array: &ArrayView,
    lookup: &Lookup,
    positions: &Positions,
    values: &ArrayView,
) -> Result<bool, F::Error> {
    let picked = positions.shape.len();
    let (before, after) = (lookup.before, lookup.before + picked);
    let Some(index) = positions.index_apart_from(front, array)? else {
        // every index leads to the same position, so the last value stays
        let last: i64 = (before..after).map(|a| (values.shape[a] - 1) * values.strides[a]).sum();
        let rest = |d: &Dims| d[..before].iter().chain(&d[after..]).copied().collect::<Dims>();
        let values = shape::window(values, values.offset + last, rest(&values.shape), rest(&values.strides));
        let target = shape::window(array, positions.offset, lookup.rest.0.clone(), lookup.rest.1.clone());
        if target.to_ir(0).overlaps_itself() != Some(false) {
            return Ok(false);
        }
        front.record(Op::Copy, array.dtype, &target, &[Input::Array(&values)], Axes::default())?;
        return Ok(true);
    };
    let first = |d: &Dims| d[before..after].iter().chain(&d[..before]).chain(&d[after..]).copied().collect::<Dims>();
    let values = shape::window(values, values.offset, first(&values.shape), first(&values.strides));
    let moves = shape::broadcast_strides(&index, &positions.shape);
    let index = shape::window(&index, index.offset, positions.shape.clone(), moves);
    let mut target = shape::window(array, positions.offset, lookup.rest.0.clone(), lookup.rest.1.clone());
    target.shape.insert(0, positions.axis.0);
    target.strides.insert(0, positions.axis.1);
    if target.to_ir(0).overlaps_itself() == Some(false) {
        record(front, &target, &values, &index)?;
        return Ok(true);
    }
    if array.to_ir(0).overlaps_itself() != Some(false) {
        return Ok(false);
    }
    scatter_elements(front, &target, &values, &index)
}

fn record<F: Front>(front: &F, target: &ArrayView, values: &ArrayView, index: &ArrayView) -> Result<(), F::Error> {
    let inputs = [Input::Array(target), Input::Array(values), Input::Array(index)];
    front.record(Op::Scatter, target.dtype, target, &inputs, Axes::default())
}

/// A scatter in which the axis of the positions is interleaved with the others: there is a position for every single
/// element.
fn scatter_elements<F: Front>(
    front: &F,
    target: &ArrayView,
    values: &ArrayView,
    index: &ArrayView,
) -> Result<bool, F::Error> {
    let itemsize = target.dtype.size() as i64;
    if target.strides.iter().any(|s| s % itemsize != 0) {
        return Ok(false);
    }
    let rest = target.shape.len() - 1;
    let mut index = index.clone();
    index.shape.extend(std::iter::repeat_n(1, rest));
    index.strides.extend(std::iter::repeat_n(0, rest));
    let (mut sum, mut low, mut high) = (None::<ArrayView>, 0, 0);
    for (axis, (&n, &stride)) in target.shape.iter().zip(&target.strides).enumerate() {
        let weight = stride / itemsize;
        let reach = (n - 1) * weight;
        (low, high) = (low + reach.min(0), high + reach.max(0));
        let part = if axis == 0 {
            compute(front, Op::Multiply, &[Input::Array(&index), Input::Const(Scalar::I64(weight))])?
        } else {
            let mut extents = Dims::from_elem(1, index.shape.len());
            let at = index.shape.len() - rest + axis - 1;
            extents[at] = n;
            let ramp = front.like_inputs(DType::I64, &extents, &[]);
            let ends = [Input::Const(Scalar::I64(0)), Input::Const(Scalar::I64(weight))];
            front.record(Op::Range, DType::I64, &ramp, &ends, Axes::default())?;
            ramp
        };
        sum = Some(match sum {
            Some(sum) => compute(front, Op::Add, &[Input::Array(&sum), Input::Array(&part)])?,
            None => part,
        });
    }
    let Some(sum) = sum else { return Ok(false) };
    let index = compute(front, Op::Subtract, &[Input::Array(&sum), Input::Const(Scalar::I64(low))])?;
    let flat = shape::window(
        target,
        target.offset + low * itemsize,
        Dims::from_slice(&[high - low + 1]),
        Dims::from_slice(&[itemsize]),
    );
    record(front, &flat, values, &index)?;
    Ok(true)
}

/// The scatter that combines values by an elementwise operation.
pub fn scatter_of(step: Op) -> Option<Op> {
    Op::ALL.iter().copied().find(|op| op.scatter_step() == Some(Some(step)))
}

/// Records `target[positions] = step(target[positions], values)`, where each of several equal positions counts. Not
/// native unless the operands fit as they are: positions of int64 inside the first axis, which the caller has checked,
/// and values of the target's dtype and of the shape that the positions select.
///
/// # Errors
/// Those of recording.
pub fn combine_at<F: Front>(
    front: &F,
    step: Op,
    target: &ArrayView,
    positions: &ArrayView,
    values: &ArrayView,
) -> Result<Answer<()>, F::Error> {
    let Some(op) = scatter_of(step) else { return Ok(Answer::NotNative(NotNative::Loop)) };
    if positions.dtype != DType::I64 || values.dtype != target.dtype {
        return Ok(Answer::NotNative(NotNative::Loop));
    }
    let lead = positions.shape.len();
    let fits = !target.shape.is_empty()
        && values.shape.len() == lead + target.shape.len() - 1
        && values.shape[..lead] == positions.shape[..]
        && values.shape[lead..] == target.shape[1..];
    if !fits {
        return Ok(Answer::NotNative(NotNative::Shape));
    }
    if !target.is_injective() {
        return Ok(Answer::NotNative(NotNative::Output));
    }
    if values.size() > 0 {
        let inputs = [Input::Array(target), Input::Array(values), Input::Array(positions)];
        front.record(op, target.dtype, target, &inputs, Axes::default())?;
    }
    Ok(Answer::Recorded(()))
}
