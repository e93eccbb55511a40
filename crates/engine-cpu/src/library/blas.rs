//! An external BLAS, registered by a front end.
//!
//! In: addresses of CBLAS routines with 64-bit integers, for instance those of the library that NumPy has loaded, so
//! that speed and numbers are NumPy's. Out: typed calls with factors of one and zero. `rules.rs` decides which routine
//! is called for which operands. Without these routines, products are those of the `matrixmultiply` crate.

use numelt_ir::{Complex64, Complex128};
use numelt_runtime::blas::{Axpy, BlasTable, Dot, DotSub, Gemm, Gemv, Syrk};
use std::sync::OnceLock;

static TABLE: OnceLock<BlasTable> = OnceLock::new();

/// Uses an external BLAS from now on, in all engines of this process; only the first call counts.
///
/// # Safety
/// That of [`numelt_runtime::Host::register_blas`].
pub unsafe fn register(table: &BlasTable) -> bool {
    TABLE.set(*table).is_ok()
}

/// The storage order of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Order {
    /// Row after row.
    Rows = 101,
    /// Column after column.
    Columns = 102,
}

/// The operation on a matrix before it is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Turn {
    /// Nothing.
    Plain = 111,
    /// It is transposed.
    Transposed = 112,
    /// It is transposed and conjugated.
    Conjugated = 113,
}

const UPPER: i32 = 121;

/// The first element of a matrix and the number of elements between its rows or columns; or a vector and the number of
/// elements between its neighbours.
pub type At<T> = (*const T, i64);
/// The same, for writing.
pub type Into<T> = (*mut T, i64);

/// The complete set of routines for one element type.
#[derive(Clone, Copy)]
pub struct Blas<T: Element> {
    gemm: Gemm<T, T::Scalar>,
    gemv: Gemv<T, T::Scalar>,
    syrk: Syrk<T, T::Scalar>,
    axpy: Axpy<T, T::Scalar>,
    dot: T::Dot,
    conjugated_dot: T::Dot,
}

impl<T: Element> Blas<T> {
    /// The registered routines for this type.
    pub fn registered() -> Option<Blas<T>> {
        T::routines(TABLE.get()?)
    }

    /// `c = a b` of `m` by `k` and `k` by `n`, all stored by rows.
    ///
    /// # Safety
    /// The matrices are readable or writable as named, and `c` overlaps neither.
    pub unsafe fn gemm(&self, (m, k, n): Extents, a: At<T>, turn_a: Turn, b: At<T>, turn_b: Turn, c: Into<T>) {
        let (one, zero) = (T::ONE, T::ZERO);
        let (one, zero) = (T::scalar(&one), T::scalar(&zero));
        let (a_turn, b_turn, order) = (turn_a as i32, turn_b as i32, Order::Rows as i32);
        // SAFETY: the caller's matrices.
        unsafe {
            (self.gemm)(order, a_turn, b_turn, m as i64, n as i64, k as i64, one, a.0, a.1, b.0, b.1, zero, c.0, c.1);
        }
    }

    /// `y = a x`, where `a` has `rows` rows and `columns` columns as it is stored, and is then transposed if `turn`
    /// says so.
    ///
    /// # Safety
    /// As for [`Blas::gemm`]; the increments are positive.
    pub unsafe fn gemv(
        &self,
        (order, turn): (Order, Turn),
        (rows, columns): (usize, usize),
        a: At<T>,
        x: At<T>,
        y: Into<T>,
    ) {
        let (one, zero) = (T::ONE, T::ZERO);
        let (one, zero) = (T::scalar(&one), T::scalar(&zero));
        let (order, turn, rows, columns) = (order as i32, turn as i32, rows as i64, columns as i64);
        // SAFETY: the caller's operands.
        unsafe { (self.gemv)(order, turn, rows, columns, one, a.0, a.1, x.0, x.1, zero, y.0, y.1) }
    }

    /// The upper triangle of `c = a aᵀ`, or of `aᵀ a` if `a` is transposed, with `n` rows of `c`.
    ///
    /// # Safety
    /// As for [`Blas::gemm`].
    pub unsafe fn syrk(&self, turn: Turn, (n, k): (usize, usize), a: At<T>, c: Into<T>) {
        let (one, zero) = (T::ONE, T::ZERO);
        let (one, zero) = (T::scalar(&one), T::scalar(&zero));
        let (order, turn) = (Order::Rows as i32, turn as i32);
        // SAFETY: the caller's matrices.
        unsafe { (self.syrk)(order, UPPER, turn, n as i64, k as i64, one, a.0, a.1, zero, c.0, c.1) }
    }

    /// `y += factor x` for `n` elements.
    ///
    /// # Safety
    /// As for [`Blas::gemv`].
    pub unsafe fn axpy(&self, n: usize, factor: &T, x: At<T>, y: Into<T>) {
        // SAFETY: the caller's vectors.
        unsafe { (self.axpy)(n as i64, T::scalar(factor), x.0, x.1, y.0, y.1) }
    }

    /// The sum of products of `n` elements; the first factors are conjugated if requested.
    ///
    /// # Safety
    /// As for [`Blas::gemv`].
    pub unsafe fn dot(&self, conjugate: bool, n: usize, x: At<T>, y: At<T>) -> T {
        let routine = if conjugate { self.conjugated_dot } else { self.dot };
        // SAFETY: the caller's vectors.
        unsafe { T::call_dot(routine, n as i64, x, y) }
    }
}

/// `m, k, n`.
pub type Extents = (usize, usize, usize);

/// An element type for which BLAS has routines.
pub trait Element: Copy + 'static {
    /// How scalars are passed.
    type Scalar: Copy;
    /// The type of the routine for sums of products.
    type Dot: Copy;
    /// The factor one.
    const ONE: Self;
    /// The factor zero.
    const ZERO: Self;

    /// All routines of the type, if the table has them.
    fn routines(table: &BlasTable) -> Option<Blas<Self>>;

    /// A scalar in the form in which routines take it.
    fn scalar(value: &Self) -> Self::Scalar;

    /// # Safety
    /// As for [`Blas::dot`].
    ///
    /// # Safety
    /// There are `n` readable elements in both vectors.
    unsafe fn call_dot(routine: Self::Dot, n: i64, x: At<Self>, y: At<Self>) -> Self;
}

macro_rules! real {
    ($t:ident, $gemm:ident, $gemv:ident, $syrk:ident, $axpy:ident, $dot:ident) => {
        impl Element for $t {
            type Scalar = $t;
            type Dot = Dot<$t>;
            const ONE: $t = 1.0;
            const ZERO: $t = 0.0;

            fn routines(table: &BlasTable) -> Option<Blas<$t>> {
                let (gemm, gemv, syrk, axpy) = (table.$gemm?, table.$gemv?, table.$syrk?, table.$axpy?);
                Some(Blas { gemm, gemv, syrk, axpy, dot: table.$dot?, conjugated_dot: table.$dot? })
            }

            fn scalar(value: &$t) -> $t {
                *value
            }

            /// The product of two vectors.
            ///
            /// # Safety
            /// There are `n` readable elements in both vectors.
            unsafe fn call_dot(routine: Dot<$t>, n: i64, x: At<$t>, y: At<$t>) -> $t {
                // SAFETY: the caller's vectors.
                unsafe { routine(n, x.0, x.1, y.0, y.1) }
            }
        }
    };
}
real!(f32, sgemm, sgemv, ssyrk, saxpy, sdot);
real!(f64, dgemm, dgemv, dsyrk, daxpy, ddot);

macro_rules! complex {
    ($t:ident, $gemm:ident, $gemv:ident, $syrk:ident, $axpy:ident, $dotu:ident, $dotc:ident) => {
        impl Element for $t {
            type Scalar = *const $t;
            type Dot = DotSub<$t>;
            const ONE: $t = $t { re: 1.0, im: 0.0 };
            const ZERO: $t = $t { re: 0.0, im: 0.0 };

            fn routines(table: &BlasTable) -> Option<Blas<$t>> {
                let (gemm, gemv, syrk, axpy) = (table.$gemm?, table.$gemv?, table.$syrk?, table.$axpy?);
                Some(Blas { gemm, gemv, syrk, axpy, dot: table.$dotu?, conjugated_dot: table.$dotc? })
            }

            fn scalar(value: &$t) -> *const $t {
                value
            }

            /// The product of two vectors.
            ///
            /// # Safety
            /// There are `n` readable elements in both vectors.
            unsafe fn call_dot(routine: DotSub<$t>, n: i64, x: At<$t>, y: At<$t>) -> $t {
                let mut sum = <$t as Element>::ZERO;
                // SAFETY: the caller's vectors.
                unsafe { routine(n, x.0, x.1, y.0, y.1, &mut sum) };
                sum
            }
        }
    };
}
complex!(Complex64, cgemm, cgemv, csyrk, caxpy, cdotu_sub, cdotc_sub);
complex!(Complex128, zgemm, zgemv, zsyrk, zaxpy, zdotu_sub, zdotc_sub);
