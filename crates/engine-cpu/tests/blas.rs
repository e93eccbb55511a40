//! Matrix products: the registered BLAS and the arguments of its calls, every layout, and the loops without a BLAS.

mod support;

use numelt_ir::{Axes, DType, Dims, Op, View};
use numelt_runtime::{BlasTable, Buffer, Host, LibraryCall, Operand, Work, run};
use std::sync::Mutex;
use support::{engine, noise};

/// The arguments of the calls of the routines below.
static CALLS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(call: String) {
    CALLS.lock().unwrap().push(call);
}

fn turned(order: i32, turn: i32) -> bool {
    assert!((101..=102).contains(&order) && (111..=112).contains(&turn));
    (order == 102) != (turn == 112)
}

fn letter(turn: i32) -> char {
    if turn == 111 { 'N' } else { 'T' }
}

#[rustfmt::skip]
unsafe extern "C" fn dgemm(
    order: i32, ta: i32, tb: i32, m: i64, n: i64, k: i64, alpha: f64, a: *const f64, lda: i64, b: *const f64,
    ldb: i64, beta: f64, c: *mut f64, ldc: i64,
) {
    assert_eq!((order, alpha, beta), (101, 1.0, 0.0));
    assert!(lda >= if ta == 111 { k } else { m } && ldb >= if tb == 111 { n } else { k } && ldc >= n);
    note(format!("gemm {}{}", letter(ta), letter(tb)));
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0;
            for l in 0..k {
                let at = if ta == 111 { i * lda + l } else { l * lda + i };
                let bt = if tb == 111 { l * ldb + j } else { j * ldb + l };
                // SAFETY: the engine passes valid matrices.
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
    assert_eq!((alpha, beta), (1.0, 0.0));
    assert!(lda >= if order == 101 { n } else { m } && incx > 0 && incy > 0);
    note(format!("gemv {}{}", if order == 101 { "rows " } else { "columns " }, letter(t)));
    let (rows, columns) = if t == 111 { (m, n) } else { (n, m) };
    for i in 0..rows {
        let mut sum = 0.0;
        for j in 0..columns {
            let at = if turned(order, t) { j * lda + i } else { i * lda + j };
            // SAFETY: the engine passes valid operands.
            sum += unsafe { *a.offset(at as isize) * *x.offset((j * incx) as isize) };
        }
        // SAFETY: as above.
        unsafe { *y.offset((i * incy) as isize) = sum };
    }
}

#[rustfmt::skip]
unsafe extern "C" fn dsyrk(
    order: i32, triangle: i32, t: i32, n: i64, k: i64, alpha: f64, a: *const f64, lda: i64, beta: f64, c: *mut f64,
    ldc: i64,
) {
    assert_eq!((order, triangle, alpha, beta), (101, 121, 1.0, 0.0));
    assert!(lda >= if t == 111 { k } else { n } && ldc >= n);
    note(format!("syrk {}", letter(t)));
    let place = |i: i64, l: i64| if t == 111 { i * lda + l } else { l * lda + i };
    for i in 0..n {
        for j in i..n {
            // SAFETY: the engine passes valid matrices.
            let sum = (0..k).map(|l| unsafe { *a.offset(place(i, l) as isize) * *a.offset(place(j, l) as isize) }).sum();
            // SAFETY: as above.
            unsafe { *c.offset((i * ldc + j) as isize) = sum };
        }
    }
}

unsafe extern "C" fn daxpy(n: i64, factor: f64, x: *const f64, incx: i64, y: *mut f64, incy: i64) {
    note("axpy".to_string());
    for i in 0..n {
        // SAFETY: the engine passes valid vectors.
        unsafe { *y.offset((i * incy) as isize) += factor * *x.offset((i * incx) as isize) };
    }
}

unsafe extern "C" fn ddot(n: i64, x: *const f64, incx: i64, y: *const f64, incy: i64) -> f64 {
    assert!(incx > 0 && incy > 0);
    note("dot".to_string());
    // SAFETY: the engine passes valid vectors.
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
            let table = BlasTable {
                dgemm: Some(dgemm),
                dgemv: Some(dgemv),
                dsyrk: Some(dsyrk),
                daxpy: Some(daxpy),
                ddot: Some(ddot),
                ..BlasTable::default()
            };
            // SAFETY: the routines above keep CBLAS's contracts.
            assert!(unsafe { engine(1, 1).register_blas(&table) });
        }
        for (m, k, n) in [(1, 1, 1), (3, 4, 5), (1, 7, 1), (6, 3, 1), (1, 3, 6), (40, 33, 50), (2, 0, 3)] {
            let pool = noise((4 * (m + 3).max(k + 3) * (n + 3).max(k + 3)) as usize);
            for &a in &layouts(m, k) {
                for &b in &layouts(k, n) {
                    for &c in &layouts(m, n) {
                        for op in ops(m, n) {
                            one(op, (m, k, n), &pool, a, b, c);
                        }
                    }
                }
            }
        }
    }
    routines_are_numpys();
}

/// The products that exist for these extents.
fn ops(m: i64, n: i64) -> impl Iterator<Item = Op> {
    let narrow = [(Op::Matvec, n == 1), (Op::Vecmat, m == 1), (Op::Vecdot, m == 1 && n == 1)];
    [Op::Matmul, Op::Dot].into_iter().chain(narrow.into_iter().filter_map(|(op, fits)| fits.then_some(op)))
}

/// Which routine computes which products, as in NumPy; "" is a plain loop.
fn routines_are_numpys() {
    let rows = |_: i64, c: i64| (0, c, 1);
    let columns = |r: i64, _: i64| (0, 1, r);
    let padded = |_: i64, c: i64| (0, c + 3, 1);
    let steps = |_: i64, c: i64| (0, 2 * c, 2);
    let upwards = |r: i64, c: i64| ((r - 1) * c, -c, 1);
    type Make<'a> = &'a dyn Fn(i64, i64) -> Layout;
    type Case<'a> = (Op, (i64, i64, i64), Make<'a>, Make<'a>, &'a str);
    let cases: &[Case<'_>] = &[
        (Op::Matmul, (4, 5, 6), &rows, &rows, "gemm NN"),
        (Op::Matmul, (4, 5, 6), &columns, &padded, "gemm TN"),
        (Op::Matmul, (4, 5, 6), &steps, &upwards, "gemm NN"),
        (Op::Matmul, (4, 5, 4), &rows, &columns, "syrk N"),
        (Op::Matmul, (5, 4, 5), &columns, &rows, "syrk T"),
        (Op::Matmul, (4, 5, 1), &rows, &rows, "gemv columns T"),
        (Op::Matmul, (4, 5, 1), &columns, &steps, "gemv rows T"),
        (Op::Matmul, (4, 5, 1), &steps, &rows, ""),
        (Op::Matmul, (4, 5, 1), &rows, &upwards, ""),
        (Op::Matmul, (1, 5, 4), &rows, &rows, "gemv rows T"),
        (Op::Matmul, (1, 5, 4), &rows, &upwards, ""),
        (Op::Matmul, (1, 5, 1), &rows, &rows, "dot"),
        (Op::Matmul, (1, 5, 1), &rows, &upwards, ""),
        (Op::Matmul, (4, 1, 5), &rows, &rows, ""),
        (Op::Dot, (4, 5, 6), &rows, &columns, "gemm NT"),
        (Op::Dot, (4, 5, 6), &steps, &padded, "gemm NN"),
        (Op::Dot, (4, 5, 4), &rows, &columns, "syrk N"),
        (Op::Dot, (4, 1, 5), &rows, &rows, "gemm TT"),
        (Op::Dot, (4, 5, 1), &rows, &rows, "gemv rows N"),
        (Op::Dot, (4, 5, 1), &columns, &upwards, "gemv columns N"),
        (Op::Dot, (4, 5, 1), &padded, &rows, "gemv rows N"),
        (Op::Dot, (1, 5, 4), &rows, &columns, "gemv columns T"),
        (Op::Dot, (1, 5, 1), &rows, &upwards, "dot"),
        (Op::Dot, (1, 1, 5), &rows, &rows, "axpy"),
        (Op::Dot, (5, 1, 1), &rows, &rows, "axpy"),
        (Op::Dot, (1, 1, 1), &rows, &rows, ""),
        (Op::Matvec, (4, 5, 1), &rows, &rows, "gemv columns T"),
        (Op::Matvec, (2, 5, 1), &steps, &rows, "dot dot"),
        (Op::Vecmat, (1, 5, 4), &rows, &rows, "gemv rows T"),
        (Op::Vecmat, (1, 5, 2), &rows, &upwards, ""),
        (Op::Vecdot, (1, 5, 1), &rows, &steps, "dot"),
    ];
    for &(op, (m, k, n), a, b, want) in cases {
        CALLS.lock().unwrap().clear();
        one(op, (m, k, n), &noise(400), a(m, k), b(k, n), (0, n, 1));
        assert_eq!(CALLS.lock().unwrap().join(" "), want, "{} of {m}, {k}, {n}", op.name());
    }
}

type Layout = (i64, i64, i64);

fn one(op: Op, (m, k, n): (i64, i64, i64), pool: &[f64], a: Layout, b: Layout, c: Layout) {
    let mut out = vec![f64::NAN; pool.len()];
    let (va, vb) = (view(DType::F64, &[m, k], &[a.1 * 8, a.2 * 8]), view(DType::F64, &[k, n], &[b.1 * 8, b.2 * 8]));
    let vc = view(DType::F64, &[m, n], &[c.1 * 8, c.2 * 8]);
    let start = |offset: i64| pool.as_ptr().wrapping_offset(offset.max(0) as isize).cast_mut().cast::<u8>();
    let ins =
        [Operand { view: &va, buffer: Buffer::at(start(a.0)) }, Operand { view: &vb, buffer: Buffer::at(start(b.0)) }];
    let target = out.as_mut_ptr().wrapping_offset(c.0.max(0) as isize).cast::<u8>();
    let out_operand = Operand { view: &vc, buffer: Buffer::at(target) };
    let call = LibraryCall { op, ty: DType::F64, axes: Axes::default(), out: out_operand, ins: &ins };
    run(&engine(2, 0), &Work::Call(&call)).unwrap();
    let at = |l: Layout, i: i64, j: i64| (l.0.max(0) + i * l.1 + j * l.2) as usize;
    for i in 0..m {
        for j in 0..n {
            let want: f64 = (0..k).map(|l| pool[at(a, i, l)] * pool[at(b, l, j)]).sum();
            let got = out[at(c, i, j)];
            let name = op.name();
            assert!((want - got).abs() < 1e-12, "{name} {m} {k} {n} {a:?} {b:?} {c:?}: {got}, not {want}");
        }
    }
}
