//! Products of vectors and matrices: shapes by NumPy's rules, operands as stacks of matrices.
//!
//! In: arrays, and which of NumPy's products it is. Out: the recorded product. How it is computed, and with that its
//! last places, is the engine's matter; it follows from the operation and the strides that are recorded here.

use crate::array::methods::copied;
use crate::array::ndarray::{NdArray, wrap_new};
use crate::array::operand::Operand;
use crate::array::scalar;
use crate::numpy::convert;
use crate::record::run;
use crate::rules::shape::Order;
use crate::rules::{resolve, shape};
use crate::ufunc::elementwise::Native;
use numelt_ir::{Axes, DType, Dims, MAX_RANK, Op, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;

/// The quick path of a product of two matrices of one dtype, by the rules of `matmul` and `dot`.
pub fn matrices<'py>(py: Python<'py>, op: Op, a: &ArrayView, b: &ArrayView) -> Native<'py> {
    let (&[m, k], &[k2, n]) = (a.shape.as_slice(), b.shape.as_slice()) else { return Ok(None) };
    let ty = a.dtype;
    if k != k2 || b.dtype != ty || !inexact(ty) || m * n * k == 0 || !matches!(op, Op::Matmul | Op::Dot) {
        return Ok(None);
    }
    crate::numpy::errors::check_bytes(py, &Dims::from_slice(&[m, n]), ty)?;
    let base = crate::record::run::new_base((m * n) as usize * ty.size());
    let target = shape::whole(base, ty, &[m, n]);
    run::product(py, op, ty, &target, [a, b])?;
    wrap_new(py, target).map(Some)
}

/// The quick path of a product of two vectors of one dtype, by the rules of `matmul` and `dot`.
pub fn vectors<'py>(py: Python<'py>, op: Op, a: &ArrayView, b: &ArrayView) -> Native<'py> {
    let (&[k], &[k2]) = (a.shape.as_slice(), b.shape.as_slice()) else { return Ok(None) };
    let ty = a.dtype;
    if k != k2 || b.dtype != ty || !inexact(ty) || k == 0 || !matches!(op, Op::Matmul | Op::Dot) {
        return Ok(None);
    }
    let line = |v: &ArrayView, shape: [i64; 2], strides: [i64; 2]| {
        shape::window(v, v.offset, Dims::from_slice(&shape), Dims::from_slice(&strides))
    };
    let (row, column) = (line(a, [1, k], [0, a.strides[0]]), line(b, [k, 1], [b.strides[0], 0]));
    let target = shape::whole(crate::record::run::new_base(ty.size()), ty, &[1, 1]);
    run::product(py, op, ty, &target, [&row, &column])?;
    scalar::make(py, shape::whole(target.base, ty, &[])).map(Some)
}

/// Records a product by the rules of the NumPy function that `op` is named after; `None` when NumPy has to do it or
/// to raise.
pub fn product<'py>(
    py: Python<'py>,
    op: Op,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, NdArray>>,
) -> Native<'py> {
    let (Some(a), Some(b)) = (Operand::extract(a)?, Operand::extract(b)?) else { return Ok(None) };
    let (Some(left), Some(right)) = (a.view(), b.view()) else { return Ok(None) };
    if out.is_none() {
        let quick = matrices(py, op, left, right)?;
        if let Some(made) = if quick.is_none() { vectors(py, op, left, right)? } else { quick } {
            return Ok(Some(made));
        }
    }
    let ty = left.dtype.promote(right.dtype);
    let Some(product) = Product::of(py, op, ty, left, right)? else { return Ok(None) };
    let (target, result) = match out {
        Some(out) => {
            let Some(view) = out.get().view() else { return Ok(None) };
            if view.shape != product.result || !resolve::same_kind(ty, view.dtype) || !out.get().writeable() {
                return Ok(None);
            }
            (product.expand(view), view.clone())
        }
        None => {
            crate::numpy::errors::check_bytes(py, &product.result, ty)?;
            product.fresh(op, ty)
        }
    };
    product.record(py, op, ty, &target)?;
    if let Some(out) = out {
        return Ok(Some(out.clone().into_any()));
    }
    if result.shape.is_empty() { scalar::make(py, result) } else { wrap_new(py, result) }.map(Some)
}

/// A product with its operands as stacks of matrices.
struct Product {
    left: ArrayView,
    right: ArrayView,
    /// Shape with the rows and columns of vectors.
    full: Dims,
    /// Shape as NumPy returns it.
    result: Dims,
    /// Vectors on the left, on the right: the result has no axis for them.
    vectors: (bool, bool),
    /// Multiples of a matrix are taken line by line: columns, where they are longer. The result's axes change places.
    by_columns: bool,
}

impl Product {
    fn of(py: Python<'_>, op: Op, ty: DType, a: &ArrayView, b: &ArrayView) -> PyResult<Option<Product>> {
        let (x, y) = (a.shape.len(), b.shape.len());
        if op == Op::Dot && (a.dtype != ty || b.dtype != ty) {
            // converted as they lie in memory; the ufuncs convert to rows, when they run
            let (a, b) = (converted(py, a, ty)?, converted(py, b, ty)?);
            return Product::of(py, op, ty, &a, &b);
        }
        if op == Op::Dot && (x == 0 || y == 0) {
            let (factor, array) = if x == 0 { (a, b) } else { (b, a) };
            return Product::multiple(py, ty, factor, array);
        }
        if op == Op::Dot && (x > 2 || y > 2) && (inexact(ty) || y > 2) {
            return Ok(Product::tensor(ty, a, b));
        }
        let vectors = match op {
            Op::Matvec => (false, true),
            Op::Vecmat => (true, false),
            Op::Vecdot | Op::Vdot => (true, true),
            _ => (x == 1, y == 1),
        };
        if x < 2 - usize::from(vectors.0) || y < 2 - usize::from(vectors.1) {
            return Ok(None);
        }
        let mut left = a.clone();
        if vectors.0 {
            left.shape.insert(x - 1, 1);
            left.strides.insert(x - 1, 0);
        }
        let mut right = b.clone();
        if vectors.1 {
            right.shape.push(1);
            right.strides.push(0);
        }
        Ok(Product::stacks(left, right, vectors))
    }

    /// Stacks of matrices, stretched to each other.
    fn stacks(left: ArrayView, right: ArrayView, vectors: (bool, bool)) -> Option<Product> {
        let (m, k) = last_two(&left.shape);
        let (k2, n) = last_two(&right.shape);
        if k != k2 || left.shape.len().max(right.shape.len()) > MAX_RANK {
            return None;
        }
        let batch = shape::broadcast(&[&left.shape[..left.shape.len() - 2], &right.shape[..right.shape.len() - 2]])?;
        let stretch = |view: &ArrayView, rows: i64, cols: i64| {
            let mut shape = batch.clone();
            shape.extend([rows, cols]);
            let mut strides = shape::stretched_strides(view, &shape);
            let rank = strides.len();
            strides[rank - 2..].copy_from_slice(&view.strides[view.strides.len() - 2..]);
            shape::window(view, view.offset, shape, strides)
        };
        let (left, right) = (stretch(&left, m, k), stretch(&right, k, n));
        let mut full = batch.clone();
        full.extend([m, n]);
        let mut result = batch;
        if !vectors.0 {
            result.push(m);
        }
        if !vectors.1 {
            result.push(n);
        }
        Some(Product { left, right, full, result, vectors, by_columns: false })
    }

    /// `dot` of more than two axes: every row of the one with every column of the other. Inexact numbers are summed
    /// element by element, as NumPy does; others row by row.
    fn tensor(ty: DType, a: &ArrayView, b: &ArrayView) -> Option<Product> {
        let mut right = b.clone();
        if right.shape.len() == 1 {
            right.shape.push(1);
            right.strides.push(0);
        }
        if inexact(ty) && b.shape.len() > 1 {
            // columns become a stack
            let last = right.shape.len() - 1;
            right.shape.swap(last - 1, last);
            right.strides.swap(last - 1, last);
            right.shape.push(1);
            right.strides.push(0);
        }
        let kept = right.shape.len() - 2;
        let at = a.shape.len() - 1;
        let mut left = a.clone();
        left.shape.truncate(at);
        left.strides.truncate(at);
        left.shape.extend(std::iter::repeat_n(1, kept + 1).chain([a.shape[at]]));
        left.strides.extend(std::iter::repeat_n(0, kept + 1).chain([a.strides[at]]));
        Product::stacks(left, right, (true, inexact(ty) || b.shape.len() == 1))
    }

    /// `dot` with a scalar.
    fn multiple(py: Python<'_>, ty: DType, factor: &ArrayView, array: &ArrayView) -> PyResult<Option<Product>> {
        if !inexact(ty) || array.shape.len() > 2 || array.size() == 0 {
            return Ok(None);
        }
        let mut left = factor.clone();
        left.shape = Dims::from_slice(&[1, 1]);
        left.strides = Dims::from_slice(&[0, 0]);
        let mut right = array.clone();
        let (result, size) = (array.shape.clone(), ty.size() as i64);
        let (rows, columns) = match result[..] {
            [rows, columns] if rows > 1 && columns != 1 => (rows, columns),
            // a line of numbers
            _ => {
                let rank = result.len();
                let axis = result.iter().position(|&n| n > 1).unwrap_or(0);
                right.shape = Dims::from_slice(&[1, array.size()]);
                right.strides = Dims::from_slice(&[0, right.strides.get(axis).copied().unwrap_or(0)]);
                let full = right.shape.clone();
                let by_columns = rank == 2 && axis == 0;
                let vectors = (rank < 2, rank < 1);
                return Ok(Some(Product { left, right, full, result, vectors, by_columns }));
            }
        };
        let odd = |stride: i64| stride <= 0 || stride % size != 0;
        if array.strides.iter().any(|&stride| odd(stride)) {
            right = copied(py, array, ty, Order::C)?;
        }
        let by_columns = rows >= columns;
        if by_columns {
            right.shape.reverse();
            right.strides.reverse();
        }
        right.shape.insert(1, 1);
        right.strides.insert(1, 0);
        let full = right.shape.clone();
        left.shape = Dims::from_slice(&[full[0], 1, 1]);
        left.strides = Dims::from_slice(&[0, 0, 0]);
        Ok(Some(Product { left, right, full, result, vectors: (true, false), by_columns }))
    }

    /// A new array for the result: as the product writes it, and as NumPy returns it.
    fn fresh(&self, op: Op, ty: DType) -> (ArrayView, ArrayView) {
        let rank = self.full.len();
        if op == Op::Dot || rank < 4 {
            let nbytes = shape::size(&self.full) as usize * ty.size();
            let result = shape::whole(crate::record::run::new_base(nbytes), ty, &self.result);
            return (self.expand(&result), result);
        }
        // stacks lie in memory as those of the operands do, the matrices in them by rows
        let outer = |view: &ArrayView| {
            let mut view = view.clone();
            view.strides[rank - 2..].fill(0);
            view
        };
        let target = shape::like_inputs(ty, &self.full, &[&outer(&self.left), &outer(&self.right)]);
        let mut result = target.clone();
        if self.vectors.1 {
            result.shape.pop();
            result.strides.pop();
        }
        if self.vectors.0 {
            result.shape.remove(rank - 2);
            result.strides.remove(rank - 2);
        }
        (target, result)
    }

    /// The output with the row and column axes that vectors lack.
    fn expand(&self, out: &ArrayView) -> ArrayView {
        let mut view = out.clone();
        let itemsize = out.dtype.size() as i64;
        if self.by_columns {
            view.shape.reverse();
            view.strides.reverse();
        }
        if self.vectors.1 {
            view.shape.push(1);
            view.strides.push(itemsize);
        }
        if self.vectors.0 {
            let at = view.shape.len() - 1;
            view.shape.insert(at, 1);
            view.strides.insert(at, itemsize);
        }
        view
    }

    fn record(&self, py: Python<'_>, op: Op, ty: DType, out: &ArrayView) -> PyResult<()> {
        if out.size() == 0 {
            return Ok(());
        }
        if self.left.size() == 0 {
            // a new scalar is zero at once: what it goes into need not wait
            let (base, fresh) = (&out.base, out.base.is_blank() && !out.base.is_pending());
            if self.result.is_empty() && fresh && base.nbytes() == out.dtype.size() {
                return run::set_bytes(py, base, &[0; 16][..out.dtype.size()]);
            }
            let zero = convert::cast(Scalar::Bool(false), out.dtype);
            return run::record(py, Op::Copy, out.dtype, out, &[Input::Const(zero)], Axes::default());
        }
        run::product(py, op, ty, out, [&self.left, &self.right])
    }
}

/// The view itself where it has the dtype.
fn converted(py: Python<'_>, view: &ArrayView, ty: DType) -> PyResult<ArrayView> {
    if view.dtype == ty { Ok(view.clone()) } else { copied(py, view, ty, Order::K) }
}

/// Does the order of additions matter?
fn inexact(ty: DType) -> bool {
    (ty.is_float() && ty != DType::F16) || ty.is_complex()
}

fn last_two(shape: &[i64]) -> (i64, i64) {
    (shape[shape.len() - 2], shape[shape.len() - 1])
}
