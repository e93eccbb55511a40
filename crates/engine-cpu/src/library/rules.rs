//! Which BLAS routine computes a product, and with which arguments. It is NumPy's own choice, because the last places
//! of the results depend on it.
//!
//! In: operands of one dtype with byte strides. Out: the product, rounded as NumPy rounds it. NumPy has two methods.
//! Its ufuncs (`matmul`, `matvec`, `vecdot`, `vecmat`) read operands without copying them if BLAS can. `dot` copies
//! operands that are not one contiguous segment. Both leave some shapes to plain loops in order of the summed index.

use super::blas::{Blas, Element, Extents, Order, Turn};
use super::loops::loops;
use super::matrix::{Matrix, dense, through_dense};
use crate::lines::Lines;
use crate::threads::Threads;
use crate::tier0::{Any, Elem};
use numelt_ir::{Complex64, Complex128, Op};

/// A vector in memory: address and byte stride.
type Vector = (*mut u8, isize);

/// A product to compute.
pub(super) struct Task<'a> {
    pub op: Op,
    /// Whether it is a single product, not one of a stack.
    pub single: bool,
    pub extents: Extents,
    pub threads: &'a Threads,
}

/// Sums of products for which BLAS cannot be used.
pub(super) trait Plain: Any + Elem {
    /// Whether conjugation changes values.
    const COMPLEX: bool;
    /// The complex conjugate.
    fn conjugated(self) -> Self;
    /// The sum of products, in order; the first factors are conjugated if the operation does so.
    ///
    /// # Safety
    /// The vectors have `n` readable elements.
    unsafe fn sum(op: Op, n: usize, x: Vector, y: Vector) -> Self {
        debug_assert!(!op.is_conjugating() || !Self::COMPLEX);
        (0..n as isize).fold(Self::ZERO, |sum, i| {
            // SAFETY: the caller's vectors.
            let (x, y) = unsafe { (at::<Self>(x, i), at::<Self>(y, i)) };
            sum.add(x.mul_in_run(y))
        })
    }
}

/// # Safety
/// The vector has such an element.
unsafe fn at<T: Copy>(vector: Vector, i: isize) -> T {
    // SAFETY: the caller's vector.
    unsafe { vector.0.offset(i * vector.1).cast::<T>().read() }
}

macro_rules! plain {
    (real $($t:ident)*) => {$(
        impl Plain for $t {
            const COMPLEX: bool = false;
            fn conjugated(self) -> $t {
                self
            }
        }
    )*};
    (complex $($t:ident $r:ident)*) => {$(
        impl Plain for $t {
            const COMPLEX: bool = true;
            fn conjugated(self) -> $t {
                $t { re: self.re, im: -self.im }
            }
            unsafe fn sum(op: Op, n: usize, x: Vector, y: Vector) -> $t {
                // SAFETY: the caller's vectors.
                let pair = |i: isize| unsafe { (at::<$t>(x, i), at::<$t>(y, i)) };
                let pairs = (0..n as isize).map(pair);
                let turned = |x: $t, y: $t| $t { re: x.re * y.re + x.im * y.im, im: x.re * y.im - x.im * y.re };
                match op {
                    Op::Vdot => pairs.fold(<$t as Any>::ZERO, |sum, (x, y)| sum.add(turned(x, y))),
                    // NumPy accumulates these in double precision
                    Op::Vecdot | Op::Vecmat => {
                        let sum = pairs.fold((0.0, 0.0), |(re, im), (x, y)| {
                            let product = turned(x, y);
                            (re + f64::from(product.re), im + f64::from(product.im))
                        });
                        $t { re: sum.0 as $r, im: sum.1 as $r }
                    }
                    _ => pairs.fold(<$t as Any>::ZERO, |sum, (x, y)| sum.add(x.mul_in_run(y))),
                }
            }
        }
    )*};
}
plain!(real f32 f64);
plain!(complex Complex64 f32 Complex128 f64);

/// Runs the product with the routines of a BLAS.
#[inline(always)]
pub(super) fn run<T: Element + Plain>(blas: &Blas<T>, task: &Task<'_>, a: Matrix, b: Matrix, out: Matrix) {
    let products = Products { blas, task };
    // SAFETY: the runtime's operands are readable, the output is writable and overlaps neither.
    unsafe {
        match task.op {
            Op::Dot if task.single => products.dot(a, b, out),
            Op::Dot => products.stacked_dot(a, b, out),
            Op::Matvec => products.matvec(a, b, out),
            Op::Vdot | Op::Vecdot | Op::Vecmat => products.vecmat(a, b, out),
            _ => products.matmul(a, b, out),
        }
    }
}

struct Products<'a, T: Element> {
    blas: &'a Blas<T>,
    task: &'a Task<'a>,
}

/// The shapes that `dot` distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    Row,
    Column,
    Matrix,
}

impl Kind {
    fn of(rows: usize, columns: usize) -> Kind {
        match (rows > 1, columns == 1) {
            (false, true) => Kind::Scalar,
            (false, false) => Kind::Row,
            (true, true) => Kind::Column,
            (true, false) => Kind::Matrix,
        }
    }
}

// All methods below are unsafe for one reason: operands are readable, outputs writable and overlap nothing.
impl<T: Element + Plain> Products<'_, T> {
    const SIZE: isize = size_of::<T>() as isize;

    /// Whether BLAS can read a matrix directly, given lines of `extent` contiguous elements.
    fn lines(far: isize, near: isize, extent: usize) -> bool {
        near == Self::SIZE && far % Self::SIZE == 0 && far / Self::SIZE >= extent as isize
    }

    fn by_rows(m: Matrix, columns: usize) -> bool {
        Self::lines(m.row, m.column, columns)
    }

    fn fits(m: Matrix, (rows, columns): (usize, usize)) -> bool {
        Self::by_rows(m, columns) || Self::by_rows(m.turned(), rows)
    }

    /// The number of elements between neighbours, if BLAS supports it.
    fn step(stride: isize) -> Option<i64> {
        (stride > 0 && stride % Self::SIZE == 0).then_some((stride / Self::SIZE) as i64)
    }

    fn leading(stride: isize) -> i64 {
        (stride / Self::SIZE) as i64
    }

    /// Stores one result.
    ///
    /// # Safety
    /// `place` is an element of the output.
    unsafe fn store(place: *mut u8, value: T) {
        // SAFETY: a place of the output.
        unsafe { place.cast::<T>().write(value) };
    }

    fn loops(&self, a: Matrix, b: Matrix, out: Matrix) {
        loops::<T>(self.task.extents, a, b, out, self.task.threads);
    }

    /// The sum of products of two vectors.
    unsafe fn sum(&self, n: usize, x: Vector, y: Vector) -> T {
        let op = self.task.op;
        // SAFETY: the caller's vectors.
        unsafe {
            match (Self::step(x.1), Self::step(y.1)) {
                (Some(dx), Some(dy)) => {
                    let sum = self.blas.dot(op.is_conjugating(), n, (x.0.cast(), dx), (y.0.cast(), dy));
                    <T as Any>::ZERO.add(sum)
                }
                _ => T::sum(op, n, x, y),
            }
        }
    }

    /// `out = m x` for a matrix that BLAS can read and a vector with a positive stride.
    ///
    /// # Safety
    /// The operands hold elements of `T` for these extents; the output is writable and overlaps neither.
    unsafe fn gemv(&self, m: Matrix, (rows, columns): (usize, usize), x: Vector, out: Vector) {
        let Some(step) = Self::step(out.1) else {
            let column = Matrix { base: out.0, row: out.1, column: Self::SIZE };
            return through_dense(column, (rows, 1), false, size_of::<T>(), |dense| {
                // SAFETY: the caller's operands, and a dense output.
                unsafe { self.gemv(m, (rows, columns), x, (dense.base, Self::SIZE)) }
            });
        };
        let (order, leading) = if Self::by_rows(m, columns) {
            (Order::Columns, Self::leading(m.row))
        } else {
            (Order::Rows, Self::leading(m.column))
        };
        let (x, y) = ((x.0.cast_const().cast(), Self::leading(x.1)), (out.0.cast(), step));
        // SAFETY: the caller's operands.
        unsafe {
            self.blas.gemv((order, Turn::Transposed), (columns, rows), (m.base.cast(), leading), x, y);
        }
    }

    /// The ufunc's rules.
    ///
    /// # Safety
    /// The operands hold elements of `T` for the task's extents; the output is writable and overlaps neither.
    #[inline(always)]
    unsafe fn matmul(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (m, k, n) = self.task.extents;
        let (x, y) = ((a.base, a.column), (b.base, b.row));
        // SAFETY: the caller's operands.
        unsafe {
            if m == 1 && n == 1 {
                Self::store(out.base, self.sum(k, x, y));
            } else if k == 1 {
                self.loops(a, b, out);
            } else if m == 1 && Self::fits(b, (k, n)) && Self::step(a.column).is_some() {
                self.gemv(b.turned(), (n, k), x, (out.base, out.column));
            } else if n == 1 && Self::fits(a, (m, k)) && Self::step(b.row).is_some() {
                self.gemv(a, (m, k), y, (out.base, out.row));
            } else if m == 1 || n == 1 {
                self.loops(a, b, out);
            } else {
                self.matrices(a, b, out);
            }
        }
    }

    /// A product whose extents are all larger than one, by the ufunc's rules.
    ///
    /// # Safety
    /// The operands hold elements of `T` for the task's extents; the output is writable and overlaps neither.
    #[inline(always)]
    unsafe fn matrices(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (m, k, n) = self.task.extents;
        let fitting = |matrix: Matrix, extents: (usize, usize)| {
            if Self::fits(matrix, extents) {
                return (None, matrix);
            }
            let by_columns = matrix.row.abs() < matrix.column.abs();
            let (room, copy) = dense(matrix, extents, by_columns, size_of::<T>());
            (Some(room), copy)
        };
        let (_a_room, a) = fitting(a, (m, k));
        let (_b_room, b) = fitting(b, (k, n));
        let by_columns = out.row.abs() < out.column.abs();
        let into = |out: Matrix| {
            // SAFETY: the caller's operands or copies of them.
            unsafe {
                if by_columns {
                    self.gemm((n, k, m), b.turned(), a.turned(), out.turned());
                } else {
                    self.gemm((m, k, n), a, b, out);
                }
            }
        };
        if Self::fits(out, (m, n)) {
            into(out);
        } else {
            through_dense(out, (m, n), by_columns, size_of::<T>(), into);
        }
    }

    /// A product of matrices that BLAS can read, into one that is stored by rows.
    ///
    /// # Safety
    /// As for `gemv`.
    #[inline(always)]
    unsafe fn gemm(&self, (m, k, n): Extents, a: Matrix, b: Matrix, out: Matrix) {
        let stored = |matrix: Matrix, columns| {
            let by_rows = Self::by_rows(matrix, columns);
            let (turn, far) = if by_rows { (Turn::Plain, matrix.row) } else { (Turn::Transposed, matrix.column) };
            (turn, (matrix.base.cast_const().cast::<T>(), Self::leading(far)))
        };
        let ((turn_a, at_a), (turn_b, at_b)) = (stored(a, k), stored(b, n));
        let into = (out.base.cast::<T>(), Self::leading(out.row));
        let mirrored = a.base == b.base && m == n && a.row == b.column && a.column == b.row && turn_a != turn_b;
        // SAFETY: the caller's operands.
        unsafe {
            if mirrored {
                self.syrk(turn_a, (n, k), if turn_a == Turn::Plain { at_a } else { at_b }, into);
            } else {
                self.blas.gemm((m, k, n), at_a, turn_a, at_b, turn_b, into);
            }
        }
    }

    /// A matrix times its transpose: one triangle is computed, and mirrored.
    unsafe fn syrk(&self, turn: Turn, (n, k): (usize, usize), a: (*const T, i64), (out, leading): (*mut T, i64)) {
        const BLOCK: usize = 32;
        // SAFETY: the caller's operands; the loops stay inside the `n` by `n` elements of the output.
        unsafe {
            self.blas.syrk(turn, (n, k), a, (out, leading));
            let leading = leading as usize;
            for top in (0..n).step_by(BLOCK) {
                for left in (0..=top).step_by(BLOCK) {
                    for i in top..(top + BLOCK).min(n) {
                        for j in left..(left + BLOCK).min(i) {
                            *out.add(i * leading + j) = *out.add(j * leading + i);
                        }
                    }
                }
            }
        }
    }

    /// The rules of `matvec`: row by row if `gemv` cannot be used.
    ///
    /// # Safety
    /// The operands hold elements of `T` for the task's extents; the output is writable and overlaps neither.
    unsafe fn matvec(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (m, k, _) = self.task.extents;
        let vector = (b.base, b.row);
        // SAFETY: the caller's operands.
        unsafe {
            if k > 1 && m > 1 && Self::fits(a, (m, k)) && Self::step(b.row).is_some() {
                return self.gemv(a, (m, k), vector, (out.base, out.row));
            }
            for i in 0..m as isize {
                let row = (a.base.offset(i * a.row), a.column);
                Self::store(out.base.offset(i * out.row), self.sum(k, row, vector));
            }
        }
    }

    /// The rules of `vecmat`, which for one column are those of `vecdot`. `gemv` cannot conjugate, `gemm` can.
    ///
    /// # Safety
    /// The operands hold elements of `T` for the task's extents; the output is writable and overlaps neither.
    unsafe fn vecmat(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (_, k, n) = self.task.extents;
        let vector = (a.base, a.column);
        // SAFETY: the caller's operands.
        unsafe {
            let fits = k > 1 && n > 1 && Self::fits(b, (k, n));
            let Some(step) = Self::step(a.column).filter(|_| fits) else {
                for j in 0..n as isize {
                    let column = (b.base.offset(j * b.column), b.row);
                    Self::store(out.base.offset(j * out.column), self.sum(k, vector, column));
                }
                return;
            };
            if !T::COMPLEX {
                return self.gemv(b.turned(), (n, k), vector, (out.base, out.column));
            }
            let (turn, far) = if Self::by_rows(b, n) { (Turn::Plain, b.row) } else { (Turn::Transposed, b.column) };
            let (left, right) = ((a.base.cast_const().cast(), step), (b.base.cast_const().cast(), Self::leading(far)));
            let into = |out: Matrix| {
                let into = (out.base.cast(), n as i64);
                self.blas.gemm((1, k, n), left, Turn::Conjugated, right, turn, into);
            };
            if out.column == Self::SIZE {
                into(out);
            } else {
                through_dense(out, (1, n), false, size_of::<T>(), into);
            }
        }
    }

    /// `dot` of operands with more than two axes, element by element; and of a scalar with a matrix, row by row.
    unsafe fn stacked_dot(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (m, k, n) = self.task.extents;
        // SAFETY: the caller's operands.
        unsafe {
            if m == 1 && k == 1 && n > 1 {
                return self.multiple(n, a.base, (b.base, b.column), (out.base, out.column));
            }
            for (i, j) in (0..m as isize).flat_map(|i| (0..n as isize).map(move |j| (i, j))) {
                let (row, column) = ((a.base.offset(i * a.row), a.column), (b.base.offset(j * b.column), b.row));
                let place = out.base.offset(i * out.row + j * out.column);
                Self::store(place, self.sum(k, row, column));
            }
        }
    }

    /// `out = factor x`, computed by adding to zeros with `axpy`.
    ///
    /// # Safety
    /// There are `n` elements of `T` in both vectors, the output is writable and overlaps neither `x` nor the factor.
    unsafe fn multiple(&self, n: usize, factor: *mut u8, x: Vector, out: Vector) {
        let Some(step) = Self::step(out.1) else {
            let column = Matrix { base: out.0, row: out.1, column: Self::SIZE };
            return through_dense(column, (n, 1), false, size_of::<T>(), |dense| {
                // SAFETY: the caller's operands, and a dense output.
                unsafe { self.multiple(n, factor, x, (dense.base, Self::SIZE)) }
            });
        };
        // SAFETY: the caller's operands.
        unsafe {
            (0..n as isize).for_each(|i| Self::store(out.0.offset(i * out.1), <T as Any>::ZERO));
            let factor = factor.cast::<T>().read();
            self.blas.axpy(n, &factor, (x.0.cast_const().cast(), Self::leading(x.1)), (out.0.cast(), step));
        }
    }

    /// The rules of `dot` for at most two axes.
    ///
    /// # Safety
    /// The operands hold elements of `T` for the task's extents; the output is writable and overlaps neither.
    unsafe fn dot(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (m, k, n) = self.task.extents;
        if !Self::by_rows_at_once(out, (m, n)) {
            return through_dense(out, (m, n), false, size_of::<T>(), |dense| {
                // SAFETY: the caller's operands, and a dense output.
                unsafe { self.dot(a, b, dense) }
            });
        }
        let (_a_room, a) = Self::upright(a, (m, k));
        let (_b_room, b) = Self::upright(b, (k, n));
        let (left, right) = (Kind::of(m, k), Kind::of(k, n));
        // SAFETY: the caller's operands or copies of them.
        unsafe {
            match (left, right) {
                (Kind::Scalar, Kind::Scalar) => {
                    let (x, y) = (a.base.cast::<T>().read(), b.base.cast::<T>().read());
                    Self::store(out.base, x.mul_in_run(y));
                }
                (Kind::Scalar, _) => self.multiple(n, a.base, (b.base, b.column), (out.base, Self::SIZE)),
                (_, Kind::Scalar) => self.multiple(m, b.base, (a.base, a.row), (out.base, Self::SIZE)),
                (Kind::Row, Kind::Column) => {
                    Self::store(out.base, self.sum(k, (a.base, a.column), (b.base, b.row)));
                }
                (Kind::Matrix, Kind::Column) => {
                    let (_room, order, a) = Self::segment(a, (m, k));
                    let x = (b.base.cast_const().cast(), Self::leading(b.row));
                    self.blas.gemv((order, Turn::Plain), (m, k), a, x, (out.base.cast(), 1));
                }
                (Kind::Row, Kind::Matrix) => {
                    let (_room, order, b) = Self::segment(b, (k, n));
                    let x = (a.base.cast_const().cast(), Self::leading(a.column));
                    self.blas.gemv((order, Turn::Transposed), (k, n), b, x, (out.base.cast(), 1));
                }
                _ => self.dot_matrices(a, b, out),
            }
        }
    }

    /// A product of two matrices by `dot`'s rules.
    ///
    /// # Safety
    /// The operands hold elements of `T` for the task's extents; the output is writable and overlaps neither.
    unsafe fn dot_matrices(&self, a: Matrix, b: Matrix, out: Matrix) {
        let (m, k, n) = self.task.extents;
        let stored = |matrix: Matrix, (rows, columns): (usize, usize)| {
            let fortran = Self::by_rows_at_once(matrix.turned(), (columns, rows));
            let room = (!fortran && !Self::by_rows_at_once(matrix, (rows, columns)))
                .then(|| dense(matrix, (rows, columns), false, size_of::<T>()));
            let (room, matrix) = room.map_or((None, matrix), |(room, copy)| (Some(room), copy));
            // a copy of one column or row is stored in either order, and counts as transposed
            let fortran = fortran || (room.is_some() && (rows == 1 || columns == 1));
            let (turn, leading) = if fortran { (Turn::Transposed, rows) } else { (Turn::Plain, columns) };
            (room, matrix, turn, (matrix.base.cast_const().cast::<T>(), leading as i64))
        };
        let (_a_room, a, turn_a, at_a) = stored(a, (m, k));
        let (_b_room, b, turn_b, at_b) = stored(b, (k, n));
        let into = (out.base.cast::<T>(), n as i64);
        let mirrored = a.base == b.base && m == n && a.row == b.column && a.column == b.row && turn_a != turn_b;
        // SAFETY: the caller's operands or copies of them.
        unsafe {
            if mirrored {
                self.syrk(turn_a, (n, k), if turn_a == Turn::Plain { at_a } else { at_b }, into);
            } else {
                self.blas.gemm((m, k, n), at_a, turn_a, at_b, turn_b, into);
            }
        }
    }

    /// Whether the matrix is one segment, stored by rows. Strides along extents of one do not count.
    fn by_rows_at_once(m: Matrix, (rows, columns): (usize, usize)) -> bool {
        (columns == 1 || m.column == Self::SIZE) && (rows == 1 || m.row == Self::SIZE * columns as isize)
    }

    /// A copy of a matrix that `dot` cannot use directly: negative strides, strides that are not multiples of an
    /// element, repeating strides, unaligned addresses.
    fn upright(matrix: Matrix, extents: (usize, usize)) -> (Option<Lines>, Matrix) {
        let bad = |stride: isize, extent: usize| stride < 0 || stride % Self::SIZE != 0 || (stride == 0 && extent > 1);
        let odd = !(matrix.base as usize).is_multiple_of(size_of::<T>());
        if !odd && !bad(matrix.row, extents.0) && !bad(matrix.column, extents.1) {
            return (None, matrix);
        }
        let fortran = Self::by_rows_at_once(matrix.turned(), (extents.1, extents.0));
        let by_columns = fortran && !Self::by_rows_at_once(matrix, extents);
        let (room, copy) = dense(matrix, extents, by_columns, size_of::<T>());
        (Some(room), copy)
    }

    /// A matrix as one segment: directly if it is one, otherwise a copy by rows.
    fn segment(matrix: Matrix, (rows, columns): (usize, usize)) -> (Option<Lines>, Order, (*const T, i64)) {
        if Self::by_rows_at_once(matrix, (rows, columns)) {
            return (None, Order::Rows, (matrix.base.cast_const().cast(), columns as i64));
        }
        if Self::by_rows_at_once(matrix.turned(), (columns, rows)) {
            return (None, Order::Columns, (matrix.base.cast_const().cast(), rows as i64));
        }
        let (room, copy) = dense(matrix, (rows, columns), false, size_of::<T>());
        (Some(room), Order::Rows, (copy.base.cast_const().cast(), columns as i64))
    }
}
