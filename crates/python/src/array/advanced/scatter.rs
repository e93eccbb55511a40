//! Assignment through arrays and masks.
//!
//! A value that does not depend on which element a mask picks is a selection, which fuses with what makes the mask and the
//! value. Everything else is a scatter: in order, so that of equal indices the last wins.

use super::few;
use super::key::{Item, Key};
use super::lookup::Lookup;
use super::positions::{Picks, Positions, Walk, compute};
use crate::record::front::Attached;
use numelt::Front;

use crate::array::ndarray::{NdArray, exact_native};
use crate::array::operand::Operand;
use crate::array::{assign, index, to_u32};
use crate::record::front;
use crate::record::run;
use numelt::rules::shape;
use numelt::rules::shape::Order;
use numelt_ir::{Axes, DType, Dims, MAX_RANK, Op, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Elements per row up to which all of an array is rewritten under a mask of rows.
const SHORT: i64 = 4;

/// `array[key] = value`; false where NumPy has to look at it.
pub fn set<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let py = array.py();
    if let Some(one) = exact_native(key).and_then(NdArray::view)
        && few::set(py, view, one, value)?
    {
        return Ok(true);
    }
    if let Ok(list) = key.cast_exact::<PyList>()
        && few::set_listed(py, view, list, value)?
    {
        return Ok(true);
    }
    if few::set_paired(py, view, key, value)? {
        return Ok(true);
    }
    let Some(key) = Key::parse(key)? else { return Ok(false) };
    if key.is_basic() {
        let target = index::select(view, &key.parts())?;
        let fits = !target.scalar || Operand::extract_quick(value).is_some_and(|v| v.shape().is_empty());
        return Ok(fits && assign::assign(py, &target.view, value)?);
    }
    let by_mask = matches!(&key.items[..], [Item::Mask(mask)] if mask.shape.len() == view.shape.len());
    let Some(values) = given(py, value, view, !by_mask)? else { return Ok(false) };
    if let [Item::Mask(mask)] = &key.items[..]
        && select(py, view, mask, &values)?
    {
        return Ok(true);
    }
    let lookup = Lookup::new(view, &key)?;
    let picks = Picks::of(py, &lookup)?;
    let extents = lookup.arrange(&picks.shape, &lookup.rest.0);
    let values = fit(values.view(py, view.dtype)?, &extents, lookup.whole_mask)?;
    let positions = picks.settle(py, &lookup, Walk::Iterator)?;
    if shape::size(&extents) == 0 {
        return Ok(true);
    }
    if extents.len() >= MAX_RANK {
        return Ok(false);
    }
    scatter(py, view, &lookup, &positions, &values)
}

/// What is assigned.
enum Given {
    /// A number in the target's dtype.
    Literal(Scalar),
    /// An array.
    View(ArrayView),
}

impl Given {
    fn shape(&self) -> &[i64] {
        match self {
            Given::Literal(_) => &[],
            Given::View(view) => &view.shape,
        }
    }

    fn view(self, py: Python<'_>, dtype: DType) -> PyResult<ArrayView> {
        match self {
            Given::View(view) => Ok(view),
            Given::Literal(literal) => {
                let cell = front::like_inputs(py, dtype, &[], &[]);
                run::record(py, Op::Copy, dtype, &cell, &[Input::Const(literal)], Axes::default())?;
                Ok(cell)
            }
        }
    }
}

/// The value, if an array one of the target's dtype that shares no memory with it; `None` where NumPy raises or warns. With
/// `whole`, NumPy converts all of it in one loop, before it looks where it goes.
fn given<'py>(py: Python<'py>, value: &Bound<'py, PyAny>, target: &ArrayView, whole: bool) -> PyResult<Option<Given>> {
    let Some(operand) = Operand::extract(value)? else { return Ok(None) };
    let dtype = target.dtype;
    let Some(view) = operand.view() else {
        return Ok(assign::stored_literal(py, &operand, dtype)?.map(Given::Literal));
    };
    let sequence = value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>();
    // Elements of sequences are converted one by one: what does not fit raises.
    if assign::drops_imaginary(view.dtype, dtype) || sequence && view.dtype.promote(dtype) != dtype {
        return Ok(None);
    }
    if view.dtype == dtype && !view.base.ptr_eq(&target.base) {
        return Ok(Some(Given::View(view.clone())));
    }
    if whole
        && dtype == DType::U32
        && let Some(numbers) = to_u32::to_u32(py, view)?
    {
        return Ok(Some(Given::View(numbers)));
    }
    Attached(py).copied(view, dtype, Order::K).map(|copy| Some(Given::View(copy)))
}

/// Records `where(mask, value, array)` if every picked element gets the same value (or row of values).
fn select(py: Python<'_>, array: &ArrayView, mask: &ArrayView, values: &Given) -> PyResult<bool> {
    let Some(rest) = array.shape.len().checked_sub(mask.shape.len()) else { return Ok(false) };
    let fits = mask.shape[..] == array.shape[..mask.shape.len()];
    // One axis more than the rest, of extent one, is the axis of the picked elements.
    let own = values.shape().strip_prefix(&[1]).filter(|own| own.len() == rest).unwrap_or(values.shape());
    // What is not picked is written back, which must not undo what another index with the same memory has got.
    if !fits || own.len() > rest || array.size() == 0 || !array.is_injective() {
        return Ok(false);
    }
    let others = &array.shape[mask.shape.len()..];
    // Long rows are better left alone where the mask says no.
    if shape::broadcast(&[own, others]).as_deref() != Some(others) || shape::size(others) > SHORT {
        return Ok(false);
    }
    let mut mask = mask.clone();
    mask.shape.extend(std::iter::repeat_n(1, rest));
    mask.strides.extend(std::iter::repeat_n(0, rest));
    let mut values = values;
    let cut;
    if let Given::View(view) = values
        && view.shape.len() > rest
    {
        cut =
            Given::View(shape::window(view, view.offset, Dims::from_slice(own), Dims::from_slice(&view.strides[1..])));
        values = &cut;
    }
    let value = match values {
        Given::Literal(literal) => Input::Const(*literal),
        Given::View(view) => Input::Array(view),
    };
    let inputs = [Input::Array(&mask), value, Input::Array(array)];
    run::record(py, Op::Where, array.dtype, array, &inputs, Axes::default())?;
    Ok(true)
}

/// The value broadcast to the lookup's result.
fn fit(mut values: ArrayView, extents: &[i64], whole_mask: bool) -> PyResult<ArrayView> {
    let given = values.shape.clone();
    if whole_mask && given.len() > 1 {
        return Err(PyTypeError::new_err(format!(
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
        let strides = shape::stretched_strides(&values, extents);
        return Ok(shape::window(&values, values.offset, Dims::from_slice(extents), strides));
    }
    Err(PyValueError::new_err(if whole_mask {
        format!(
            "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values where the mask is true",
            given[0], extents[0]
        )
    } else {
        format!(
            "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}",
            numelt::shape_text(&given),
            numelt::shape_text(extents)
        )
    }))
}

/// Records the scatter of values of the lookup's shape.
fn scatter(
    py: Python<'_>,
    array: &ArrayView,
    lookup: &Lookup,
    positions: &Positions,
    values: &ArrayView,
) -> PyResult<bool> {
    let picked = positions.shape.len();
    let (before, after) = (lookup.before, lookup.before + picked);
    let Some(index) = positions.index_apart_from(py, array)? else {
        // Every index leads to the same place: the last value stays.
        let last: i64 = (before..after).map(|a| (values.shape[a] - 1) * values.strides[a]).sum();
        let rest = |d: &Dims| d[..before].iter().chain(&d[after..]).copied().collect::<Dims>();
        let values = shape::window(values, values.offset + last, rest(&values.shape), rest(&values.strides));
        let target = shape::window(array, positions.offset, lookup.rest.0.clone(), lookup.rest.1.clone());
        if target.to_ir(0).overlaps_itself() != Some(false) {
            return Ok(false);
        }
        run::record(py, Op::Copy, array.dtype, &target, &[Input::Array(&values)], Axes::default())?;
        return Ok(true);
    };
    let first = |d: &Dims| d[before..after].iter().chain(&d[..before]).chain(&d[after..]).copied().collect::<Dims>();
    let values = shape::window(values, values.offset, first(&values.shape), first(&values.strides));
    let moves = shape::stretched_strides(&index, &positions.shape);
    let index = shape::window(&index, index.offset, positions.shape.clone(), moves);
    let mut target = shape::window(array, positions.offset, lookup.rest.0.clone(), lookup.rest.1.clone());
    target.shape.insert(0, positions.axis.0);
    target.strides.insert(0, positions.axis.1);
    if target.to_ir(0).overlaps_itself() == Some(false) {
        record(py, &target, &values, &index)?;
        return Ok(true);
    }
    if array.to_ir(0).overlaps_itself() != Some(false) {
        return Ok(false);
    }
    one_by_one(py, &target, &values, &index)
}

fn record(py: Python<'_>, target: &ArrayView, values: &ArrayView, index: &ArrayView) -> PyResult<()> {
    let inputs = [Input::Array(target), Input::Array(values), Input::Array(index)];
    run::record(py, Op::Scatter, target.dtype, target, &inputs, Axes::default())
}

/// A scatter where the axis of the positions is interleaved with the others: a position for every single element.
fn one_by_one(py: Python<'_>, target: &ArrayView, values: &ArrayView, index: &ArrayView) -> PyResult<bool> {
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
            compute(py, Op::Multiply, &[Input::Array(&index), Input::Const(Scalar::I64(weight))])?
        } else {
            let mut extents = Dims::from_elem(1, index.shape.len());
            let at = index.shape.len() - rest + axis - 1;
            extents[at] = n;
            let ramp = front::like_inputs(py, DType::I64, &extents, &[]);
            let ends = [Input::Const(Scalar::I64(0)), Input::Const(Scalar::I64(weight))];
            run::record(py, Op::Range, DType::I64, &ramp, &ends, Axes::default())?;
            ramp
        };
        sum = Some(match sum {
            Some(sum) => compute(py, Op::Add, &[Input::Array(&sum), Input::Array(&part)])?,
            None => part,
        });
    }
    let Some(sum) = sum else { return Ok(false) };
    let index = compute(py, Op::Subtract, &[Input::Array(&sum), Input::Const(Scalar::I64(low))])?;
    let flat = shape::window(
        target,
        target.offset + low * itemsize,
        Dims::from_slice(&[high - low + 1]),
        Dims::from_slice(&[itemsize]),
    );
    record(py, &flat, values, &index)?;
    Ok(true)
}
