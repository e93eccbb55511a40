//! The table of an external BLAS: which routines a front end has found, by their CBLAS names.
//!
//! The addresses are those of CBLAS routines with 64-bit integers, for instance of the library that NumPy brings. The
//! host engine calls them (see [`crate::Host::register_blas`]).

use numelt_ir::{Complex64, Complex128};

/// `order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc`; scalars are `S`: values, and addresses for
/// complex types.
///
/// # Safety
/// Matrices and vectors of these extents are readable, the output is writable and overlaps neither.
pub type Gemm<T, S> =
    unsafe extern "C" fn(i32, i32, i32, i64, i64, i64, S, *const T, i64, *const T, i64, S, *mut T, i64);
/// `order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy`.
///
/// # Safety
/// As for [`Gemm`].
pub type Gemv<T, S> = unsafe extern "C" fn(i32, i32, i64, i64, S, *const T, i64, *const T, i64, S, *mut T, i64);
/// `order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc`.
///
/// # Safety
/// As for [`Gemm`].
pub type Syrk<T, S> = unsafe extern "C" fn(i32, i32, i32, i64, i64, S, *const T, i64, S, *mut T, i64);
/// `n, alpha, x, incx, y, incy`.
///
/// # Safety
/// As for [`Gemm`].
pub type Axpy<T, S> = unsafe extern "C" fn(i64, S, *const T, i64, *mut T, i64);
/// `n, x, incx, y, incy`.
///
/// # Safety
/// As for [`Gemm`].
pub type Dot<T> = unsafe extern "C" fn(i64, *const T, i64, *const T, i64) -> T;
/// `n, x, incx, y, incy, result`.
///
/// # Safety
/// As for [`Gemm`].
pub type DotSub<T> = unsafe extern "C" fn(i64, *const T, i64, *const T, i64, *mut T);

/// Routines of an external BLAS; those that are absent are `None`. A type is served if all its routines are there.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)] // the names are CBLAS's
pub struct BlasTable {
    pub sgemm: Option<Gemm<f32, f32>>,
    pub dgemm: Option<Gemm<f64, f64>>,
    pub cgemm: Option<Gemm<Complex64, *const Complex64>>,
    pub zgemm: Option<Gemm<Complex128, *const Complex128>>,
    pub sgemv: Option<Gemv<f32, f32>>,
    pub dgemv: Option<Gemv<f64, f64>>,
    pub cgemv: Option<Gemv<Complex64, *const Complex64>>,
    pub zgemv: Option<Gemv<Complex128, *const Complex128>>,
    pub ssyrk: Option<Syrk<f32, f32>>,
    pub dsyrk: Option<Syrk<f64, f64>>,
    pub csyrk: Option<Syrk<Complex64, *const Complex64>>,
    pub zsyrk: Option<Syrk<Complex128, *const Complex128>>,
    pub saxpy: Option<Axpy<f32, f32>>,
    pub daxpy: Option<Axpy<f64, f64>>,
    pub caxpy: Option<Axpy<Complex64, *const Complex64>>,
    pub zaxpy: Option<Axpy<Complex128, *const Complex128>>,
    pub sdot: Option<Dot<f32>>,
    pub ddot: Option<Dot<f64>>,
    pub cdotu_sub: Option<DotSub<Complex64>>,
    pub zdotu_sub: Option<DotSub<Complex128>>,
    pub cdotc_sub: Option<DotSub<Complex64>>,
    pub zdotc_sub: Option<DotSub<Complex128>>,
}
