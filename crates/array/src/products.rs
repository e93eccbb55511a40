//! Products of vectors and matrices, recorded as products of stacks of matrices.
//!
//! The engine decides from the operation and the strides how a product is computed, and thereby the last places of the
//! results. So the strides that are recorded here are part of NumPy's rules.

use crate::answer::{Answer, NotNative};
use crate::elementwise::{Made, Output};
use crate::front::Front;
use crate::rules::shape::Order;
use crate::rules::{resolve, shape};
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, Dims, MAX_RANK, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// Records a product by the rules of the NumPy function with the name of `op`.
///
/// # Errors
/// If no memory can hold the result; and errors of recording.
pub fn product<F: Front>(
    front: &F,
    op: Op,
    left: &ArrayView,
    right: &ArrayView,
    out: Option<Output<'_>>,
) -> Result<Answer<Made>, F::Error> {
    if out.is_none()
        && let Some(made) = plain(front, op, left, right)?
    {
        return Ok(Answer::Recorded(Made::New(made)));
    }
    let ty = left.dtype.promote(right.dtype);
    let Some(product) = Product::of(front, op, ty, left, right)? else {
        return Ok(Answer::NotNative(NotNative::Shape));
    };
    let Some(out) = out else {
        front.check_size(&product.result, ty)?;
        let (target, result) = product.fresh(front, op, ty);
        product.record(front, op, ty, &target)?;
        return Ok(Answer::Recorded(Made::New(result)));
    };
    if out.view.shape != product.result || !resolve::same_kind(ty, out.view.dtype) || !out.writeable {
        return Ok(Answer::NotNative(NotNative::Output));
    }
    product.record(front, op, ty, &product.expand(out.view))?;
    Ok(Answer::Recorded(Made::Written))
}

/// The product of two matrices or vectors of one dtype by the rules of `matmul` and `dot`, which is the most frequent
/// case. Vectors become matrices with the strides that [`Product`] gives them.
///
/// # Errors
/// As [`product`].
pub fn plain<F: Front>(front: &F, op: Op, a: &ArrayView, b: &ArrayView) -> Result<Option<ArrayView>, F::Error> {
    let ty = a.dtype;
    if b.dtype != ty || !inexact(ty) || !matches!(op, Op::Matmul | Op::Dot) {
        return Ok(None);
    }
    let matrix = |v: &ArrayView, shape: [i64; 2], strides: [i64; 2]| {
        shape::window(v, v.offset, Dims::from_slice(&shape), Dims::from_slice(&strides))
    };
    let size = ty.size() as i64;
    match (a.shape.as_slice(), b.shape.as_slice()) {
        (&[m, k], &[k2, n]) if k == k2 && m * n * k != 0 => {
            front.check_size(&[m, n], ty)?;
            let target = shape::whole(front.new_base((m * n * size) as usize), ty, &[m, n]);
            front.product(op, ty, &target, [a, b])?;
            Ok(Some(target))
        }
        (&[m, k], &[k2]) if k == k2 && m * k != 0 => {
            front.check_size(&[m], ty)?;
            let result = shape::whole(front.new_base((m * size) as usize), ty, &[m]);
            let (target, column) = (matrix(&result, [m, 1], [size, size]), matrix(b, [k, 1], [b.strides[0], 0]));
            front.product(op, ty, &target, [a, &column])?;
            Ok(Some(result))
        }
        (&[k], &[k2, n]) if k == k2 && k * n != 0 => {
            front.check_size(&[n], ty)?;
            let result = shape::whole(front.new_base((n * size) as usize), ty, &[n]);
            let (target, row) = (matrix(&result, [1, n], [size, size]), matrix(a, [1, k], [0, a.strides[0]]));
            front.product(op, ty, &target, [&row, b])?;
            Ok(Some(result))
        }
        (&[k], &[k2]) if k == k2 && k != 0 => {
            let (row, column) = (matrix(a, [1, k], [0, a.strides[0]]), matrix(b, [k, 1], [b.strides[0], 0]));
            let target = shape::whole(front.new_base(ty.size()), ty, &[1, 1]);
            front.product(op, ty, &target, [&row, &column])?;
            Ok(Some(shape::whole(target.base, ty, &[])))
        }
        _ => Ok(None),
    }
}

/// A product with its operands as stacks of matrices.
struct Product {
    left: ArrayView,
    right: ArrayView,
    /// The shape including the rows and columns of vectors.
    full: Dims,
    /// The shape that NumPy returns.
    result: Dims,
    /// Whether the left and the right operand are vectors, for which the result has no axis.
    vectors: (bool, bool),
    /// Whether a multiple of a matrix is computed by columns, because they are longer than rows. The result's axes are
    /// then exchanged.
    by_columns: bool,
}

impl Product {
    fn of<F: Front>(front: &F, op: Op, ty: DType, a: &ArrayView, b: &ArrayView) -> Result<Option<Product>, F::Error> {
        let (x, y) = (a.shape.len(), b.shape.len());
        if op == Op::Dot && (a.dtype != ty || b.dtype != ty) {
            // `dot` converts operands in their memory order; the ufuncs convert them to C order when they run
            let (a, b) = (converted(front, a, ty)?, converted(front, b, ty)?);
            return Product::of(front, op, ty, &a, &b);
        }
        if op == Op::Dot && (x == 0 || y == 0) {
            let (factor, array) = if x == 0 { (a, b) } else { (b, a) };
            return Product::multiple(front, ty, factor, array);
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

    /// Stacks of matrices, broadcast to each other.
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
            let mut strides = shape::broadcast_strides(view, &shape);
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

    /// `dot` with more than two axes: every row of the first with every column of the second. Inexact numbers are
    /// summed element by element, as in NumPy; others row by row.
    fn tensor(ty: DType, a: &ArrayView, b: &ArrayView) -> Option<Product> {
        let mut right = b.clone();
        if right.shape.len() == 1 {
            right.shape.push(1);
            right.strides.push(0);
        }
        if inexact(ty) && b.shape.len() > 1 {
            // the columns become a stack
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

    /// `dot` of a scalar and an array: a multiple of the array.
    fn multiple<F: Front>(
        front: &F,
        ty: DType,
        factor: &ArrayView,
        array: &ArrayView,
    ) -> Result<Option<Product>, F::Error> {
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
            // a vector
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
            right = front.copied(array, ty, Order::C)?;
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

    /// A new array for the result: in the form that the product writes, and in the form that NumPy returns.
    fn fresh<F: Front>(&self, front: &F, op: Op, ty: DType) -> (ArrayView, ArrayView) {
        let rank = self.full.len();
        if op == Op::Dot || rank < 4 {
            let nbytes = shape::size(&self.full) as usize * ty.size();
            let result = shape::whole(front.new_base(nbytes), ty, &self.result);
            return (self.expand(&result), result);
        }
        // stacks have the memory order of the operands' stacks, and the matrices in them are in C order
        let outer = |view: &ArrayView| {
            let mut view = view.clone();
            view.strides[rank - 2..].fill(0);
            view
        };
        let target = front.like_inputs(ty, &self.full, &[&outer(&self.left), &outer(&self.right)]);
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

    fn record<F: Front>(&self, front: &F, op: Op, ty: DType, out: &ArrayView) -> Result<(), F::Error> {
        if out.size() == 0 {
            return Ok(());
        }
        if self.left.size() == 0 {
            // a new scalar is set to zero at once, so that its operation need not wait
            let (base, fresh) = (&out.base, out.base.is_blank() && !out.base.is_pending());
            if self.result.is_empty() && fresh && base.nbytes() == out.dtype.size() {
                return front.set_bytes(base, &[0; 16][..out.dtype.size()]);
            }
            let zero = cast(Scalar::Bool(false), out.dtype);
            return front.record(Op::Copy, out.dtype, out, &[Input::Const(zero)], Axes::default());
        }
        front.product(op, ty, out, [&self.left, &self.right])
    }
}

/// The view itself if it has the dtype, otherwise a converted copy.
fn converted<F: Front>(front: &F, view: &ArrayView, ty: DType) -> Result<ArrayView, F::Error> {
    if view.dtype == ty { Ok(view.clone()) } else { front.copied(view, ty, Order::K) }
}

/// Whether the order of additions matters.
fn inexact(ty: DType) -> bool {
    (ty.is_float() && ty != DType::F16) || ty.is_complex()
}

fn last_two(shape: &[i64]) -> (i64, i64) {
    (shape[shape.len() - 2], shape[shape.len() - 1])
}
