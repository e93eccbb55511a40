//! Matrix products: the registered BLAS, every layout, and the loops without one.

mod support;

use numelt_engine_cpu::{BlasTable, register_blas};
use numelt_ir::{Axes, DType, Dims, Op, View};
use numelt_runtime::{Engine, LibraryCall, Operand};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{engine, noise};

static GEMM: AtomicUsize = AtomicUsize::new(0);
static GEMV: AtomicUsize = AtomicUsize::new(0);
static DOT: AtomicUsize = AtomicUsize::new(0);

#[rustfmt::skip]
unsafe extern "C" fn dgemm(
    order: i32, ta: i32, tb: i32, m: i64, n: i64, k: i64, alpha: f64, a: *const f64, lda: i64, b: *const f64,
    ldb: i64, beta: f64, c: *mut f64, ldc: i64,
) {
    assert_eq!((order, alpha, beta), (101, 1.0, 0.0));
    assert!(lda >= if ta == 111 { k } else { m } && ldb >= if tb == 111 { n } else { k } && ldc >= n);
    GEMM.fetch_add(1, Ordering::Relaxed);
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0;
            for l in 0..k {
                let at = if ta == 111 { i * lda + l } else { l * lda + i };
                let bt = if tb == 111 { l * ldb + j } else { j * ldb + l };
                // SAFETY: the engine's matrices.
                sum += unsafe { *a.offset(at as isize) * *b.offset(bt as isize) };
            }
            // SAFETY: as above.
            unsafe { *c.offset((i * ldc + j) as isize) = sum };
        }
    }
}

#[rustfmt::skip]
unsafe extern "C" fn dgemv(
    order: i32, t: i32, m: i64, n: i64, alpha: f64, a: *const f64, lda: i64, x: *const f64, incx: i64, beta: f64,
    y: *mut f64, incy: i64,
) {
    assert_eq!((order, alpha, beta), (101, 1.0, 0.0));
    assert!(lda >= n);
    GEMV.fetch_add(1, Ordering::Relaxed);
    let (rows, columns) = if t == 111 { (m, n) } else { (n, m) };
    for i in 0..rows {
        let mut sum = 0.0;
        for j in 0..columns {
            let at = if t == 111 { i * lda + j } else { j * lda + i };
            // SAFETY: the engine's operands.
            sum += unsafe { *a.offset(at as isize) * *x.offset((j * incx) as isize) };
        }
        // SAFETY: as above.
        unsafe { *y.offset((i * incy) as isize) = sum };
    }
}

unsafe extern "C" fn ddot(n: i64, x: *const f64, incx: i64, y: *const f64, incy: i64) -> f64 {
    DOT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the engine's vectors.
    (0..n).map(|i| unsafe { *x.offset((i * incx) as isize) * *y.offset((i * incy) as isize) }).sum()
}

fn view(dtype: DType, shape: &[i64], strides: &[i64]) -> View {
    View { base: 0, dtype, offset: 0, shape: Dims::from_slice(shape), strides: Dims::from_slice(strides) }
}

/// Layouts of an `r` by `c` matrix in a buffer of `4 (r + 3) (c + 3)` elements: by rows, by columns, padded,
/// every other element, reversed.
fn layouts(r: i64, c: i64) -> Vec<(i64, i64, i64)> {
    vec![(0, c, 1), (0, 1, r), (0, c + 3, 1), (0, 1, r + 2), (0, 2 * c, 2), ((r - 1) * c, -c, 1), (c - 1, c, -1)]
}

#[test]
fn products_of_floats() {
    for registered in [false, true] {
        if registered {
            let table = BlasTable { dgemm: Some(dgemm), dgemv: Some(dgemv), ddot: Some(ddot), ..BlasTable::default() };
            // SAFETY: the routines above keep CBLAS's contracts.
            assert!(unsafe { register_blas(table) });
        }
        for (m, k, n) in [(1, 1, 1), (3, 4, 5), (1, 7, 1), (6, 3, 1), (1, 3, 6), (40, 33, 50), (2, 0, 3)] {
            let pool = noise((4 * (m + 3).max(k + 3) * (n + 3).max(k + 3)) as usize);
            for &(ao, ar, ac) in &layouts(m, k) {
                for &(bo, br, bc) in &layouts(k, n) {
                    for &(co, cr, cc) in &layouts(m, n) {
                        one((m, k, n), &pool, (ao, ar, ac), (bo, br, bc), (co, cr, cc));
                    }
                }
            }
        }
    }
    assert!(GEMM.load(Ordering::Relaxed) > 0 && GEMV.load(Ordering::Relaxed) > 0 && DOT.load(Ordering::Relaxed) > 0);
}

type Layout = (i64, i64, i64);

fn one((m, k, n): (i64, i64, i64), pool: &[f64], a: Layout, b: Layout, c: Layout) {
    let mut out = vec![f64::NAN; pool.len()];
    let (va, vb) = (view(DType::F64, &[m, k], &[a.1 * 8, a.2 * 8]), view(DType::F64, &[k, n], &[b.1 * 8, b.2 * 8]));
    let vc = view(DType::F64, &[m, n], &[c.1 * 8, c.2 * 8]);
    let start = |offset: i64| pool.as_ptr().wrapping_offset(offset.max(0) as isize).cast_mut().cast::<u8>();
    let ins = [Operand { view: &va, pointer: start(a.0) }, Operand { view: &vb, pointer: start(b.0) }];
    let target = out.as_mut_ptr().wrapping_offset(c.0.max(0) as isize).cast::<u8>();
    let call = LibraryCall {
        op: Op::Matmul,
        ty: DType::F64,
        axes: Axes::default(),
        out: Operand { view: &vc, pointer: target },
        ins: &ins,
    };
    engine(2, 0).call(&call).unwrap();
    let at = |l: Layout, i: i64, j: i64| (l.0.max(0) + i * l.1 + j * l.2) as usize;
    for i in 0..m {
        for j in 0..n {
            let want: f64 = (0..k).map(|l| pool[at(a, i, l)] * pool[at(b, l, j)]).sum();
            let got = out[at(c, i, j)];
            assert!((want - got).abs() < 1e-12, "{m} {k} {n} {a:?} {b:?} {c:?}: {got}, not {want}");
        }
    }
}
