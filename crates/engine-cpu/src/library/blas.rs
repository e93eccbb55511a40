//! An external BLAS, registered by a front end.
//!
//! In: addresses of CBLAS routines with 64-bit integers, for instance those of the library that NumPy
//! brings, so that speed and numbers are NumPy's own. Out: typed calls. Routines that are not there are
//! done by the `matrixmultiply` crate.

use numelt_ir::{C32, C64};
use std::sync::OnceLock;

/// `order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc`, scalars by value.
pub type Gemm<T> = unsafe extern "C" fn(i32, i32, i32, i64, i64, i64, T, *const T, i64, *const T, i64, T, *mut T, i64);
/// The same with scalars by address, as CBLAS has it for complex types.
pub type GemmComplex<T> =
    unsafe extern "C" fn(i32, i32, i32, i64, i64, i64, *const T, *const T, i64, *const T, i64, *const T, *mut T, i64);
/// `order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy`.
pub type Gemv<T> = unsafe extern "C" fn(i32, i32, i64, i64, T, *const T, i64, *const T, i64, T, *mut T, i64);
/// `n, x, incx, y, incy`.
pub type Dot<T> = unsafe extern "C" fn(i64, *const T, i64, *const T, i64) -> T;

/// Routines of an external BLAS; those that are absent are `None`.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)] // the names are CBLAS's
pub struct BlasTable {
    pub sgemm: Option<Gemm<f32>>,
    pub dgemm: Option<Gemm<f64>>,
    pub cgemm: Option<GemmComplex<C32>>,
    pub zgemm: Option<GemmComplex<C64>>,
    pub sgemv: Option<Gemv<f32>>,
    pub dgemv: Option<Gemv<f64>>,
    pub sdot: Option<Dot<f32>>,
    pub ddot: Option<Dot<f64>>,
}

static TABLE: OnceLock<BlasTable> = OnceLock::new();

/// Uses an external BLAS from now on, in all engines of this process; only the first call counts.
///
/// # Safety
/// The addresses are CBLAS routines with 64-bit integers of the named kinds, and stay valid for ever.
pub unsafe fn register_blas(table: BlasTable) -> bool {
    TABLE.set(table).is_ok()
}

const ROW_MAJOR: i32 = 101;
const PLAIN: i32 = 111;
const TRANSPOSED: i32 = 112;

/// A matrix as BLAS wants it: stored by rows or, transposed, by columns, with a leading dimension.
#[derive(Clone, Copy)]
pub struct Dense<T> {
    /// First element.
    pub base: *mut T,
    /// Stored by columns.
    pub transposed: bool,
    /// Elements between rows (columns where transposed).
    pub leading: i64,
}

impl<T> Dense<T> {
    /// A matrix with strides in elements, if its rows or its columns are dense.
    pub fn new(base: *mut T, rows: usize, columns: usize, row: isize, column: isize) -> Option<Dense<T>> {
        let fits = |near: isize, far: isize, count: usize, others: usize| {
            (near == 1 || count == 1) && (far >= count.max(1) as isize || others == 1)
        };
        let leading = |far: isize, count: usize| (far as i64).max(count as i64).max(1);
        if fits(column, row, columns, rows) {
            Some(Dense { base, transposed: false, leading: leading(row, columns) })
        } else if fits(row, column, rows, columns) {
            Some(Dense { base, transposed: true, leading: leading(column, rows) })
        } else {
            None
        }
    }

    fn flag(&self) -> i32 {
        if self.transposed { TRANSPOSED } else { PLAIN }
    }
}

/// An element type that BLAS has routines for.
pub trait Element: Copy + 'static {
    /// `c = a b`, if the routine is there.
    ///
    /// # Safety
    /// The matrices are readable or writable as named, and `c` overlaps neither.
    unsafe fn gemm(m: usize, n: usize, k: usize, a: Dense<Self>, b: Dense<Self>, c: Dense<Self>) -> bool;

    /// `y = a x` for an `m` by `n` matrix, strides of the vectors in elements.
    ///
    /// # Safety
    /// As for `gemm`.
    unsafe fn gemv(_m: usize, _n: usize, _a: Dense<Self>, _x: (*const Self, isize), _y: (*mut Self, isize)) -> bool {
        false
    }

    /// The product of two vectors of `n` elements, strides in elements.
    ///
    /// # Safety
    /// As for `gemm`.
    unsafe fn dot(_n: usize, _x: (*const Self, isize), _y: (*const Self, isize)) -> Option<Self> {
        None
    }
}

macro_rules! real {
    ($t:ident, $gemm:ident, $gemv:ident, $dot:ident) => {
        impl Element for $t {
            unsafe fn gemm(m: usize, n: usize, k: usize, a: Dense<$t>, b: Dense<$t>, c: Dense<$t>) -> bool {
                let Some(f) = TABLE.get().and_then(|t| t.$gemm) else { return false };
                let (m, n, k) = (m as i64, n as i64, k as i64);
                // SAFETY: the caller's matrices; a result stored by columns was turned around before.
                unsafe {
                    f(
                        ROW_MAJOR,
                        a.flag(),
                        b.flag(),
                        m,
                        n,
                        k,
                        1.0,
                        a.base,
                        a.leading,
                        b.base,
                        b.leading,
                        0.0,
                        c.base,
                        c.leading,
                    );
                }
                true
            }

            unsafe fn gemv(m: usize, n: usize, a: Dense<$t>, x: (*const $t, isize), y: (*mut $t, isize)) -> bool {
                let Some(f) = TABLE.get().and_then(|t| t.$gemv) else { return false };
                // BLAS counts rows and columns as stored
                let (rows, columns) = if a.transposed { (n, m) } else { (m, n) };
                // SAFETY: the caller's operands.
                unsafe {
                    f(
                        ROW_MAJOR,
                        a.flag(),
                        rows as i64,
                        columns as i64,
                        1.0,
                        a.base,
                        a.leading,
                        x.0,
                        x.1 as i64,
                        0.0,
                        y.0,
                        y.1 as i64,
                    );
                }
                true
            }

            unsafe fn dot(n: usize, x: (*const $t, isize), y: (*const $t, isize)) -> Option<$t> {
                let f = TABLE.get().and_then(|t| t.$dot)?;
                // SAFETY: the caller's vectors.
                Some(unsafe { f(n as i64, x.0, x.1 as i64, y.0, y.1 as i64) })
            }
        }
    };
}
real!(f32, sgemm, sgemv, sdot);
real!(f64, dgemm, dgemv, ddot);

macro_rules! complex {
    ($t:ident, $gemm:ident) => {
        impl Element for $t {
            unsafe fn gemm(m: usize, n: usize, k: usize, a: Dense<$t>, b: Dense<$t>, c: Dense<$t>) -> bool {
                let Some(f) = TABLE.get().and_then(|t| t.$gemm) else { return false };
                let (m, n, k) = (m as i64, n as i64, k as i64);
                let (one, zero) = ($t { re: 1.0, im: 0.0 }, $t { re: 0.0, im: 0.0 });
                // SAFETY: the caller's matrices.
                unsafe {
                    f(
                        ROW_MAJOR,
                        a.flag(),
                        b.flag(),
                        m,
                        n,
                        k,
                        &one,
                        a.base,
                        a.leading,
                        b.base,
                        b.leading,
                        &zero,
                        c.base,
                        c.leading,
                    );
                }
                true
            }
        }
    };
}
complex!(C32, cgemm);
complex!(C64, zgemm);
