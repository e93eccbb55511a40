//! Sums in NumPy's order, bit for bit, under every engine setting.

mod support;

use numelt_ir::{DType, Op};
use support::{Build, engines, noise};

/// NumPy's pairwise sum, written down as its definition says.
fn pairwise(x: &[f64]) -> f64 {
    let n = x.len();
    if n < 8 {
        return x.iter().fold(-0.0, |a, x| a + x);
    }
    if n <= 128 {
        let mut r: [f64; 8] = x[..8].try_into().unwrap();
        let whole = n - n % 8;
        for i in (8..whole).step_by(8) {
            for k in 0..8 {
                r[k] += x[i + k];
            }
        }
        let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        return x[whole..].iter().fold(sum, |a, x| a + x);
    }
    let m = n / 2 / 8 * 8;
    pairwise(&x[..m]) + pairwise(&x[m..])
}

#[test]
fn full_sums() {
    for n in [1usize, 2, 7, 8, 9, 127, 128, 129, 1000, 4097, 300_001] {
        let x = noise(n);
        let want = 0.0 + pairwise(&x);
        let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
        let want_squares = 0.0 + pairwise(&squares);
        for engine in engines() {
            if n > 5000 && engine.threads() == 3 {
                continue; // one point per block is slow
            }
            let mut out = [0.0f64; 2];
            let mut b = Build::new(&[(n as i64, true)]);
            let v = b.load(DType::F64, x.as_ptr().cast(), &[8]);
            b.reduce(Op::Sum, v, DType::F64, out.as_mut_ptr().cast(), &[0]);
            b.run(&engine);
            assert_eq!(out[0].to_bits(), want.to_bits(), "{n}");
            let sq = b.op(Op::Multiply, DType::F64, &[v, v]);
            b.reduce(Op::Sum, sq, DType::F64, out[1..].as_mut_ptr().cast(), &[0]);
            b.run(&engine);
            assert_eq!(out[0].to_bits(), want.to_bits(), "{n}");
            assert_eq!(out[1].to_bits(), want_squares.to_bits(), "{n}");
        }
    }
}

#[test]
fn row_and_column_sums() {
    for (rows, columns) in [(1usize, 1usize), (3, 5), (1000, 3), (7, 129), (5, 5000), (200, 200), (2, 70_000)] {
        let x = noise(rows * columns);
        for engine in engines() {
            if engine.threads() == 3 && rows * columns > 5000 {
                continue;
            }
            let (mut by_row, mut by_column) = (vec![0.0f64; rows], vec![0.0f64; columns]);
            for square in [false, true] {
                let y: Vec<f64> = if square { x.iter().map(|x| x * x).collect() } else { x.clone() };
                let stride = columns as i64 * 8;
                let mut b = Build::new(&[(rows as i64, false), (columns as i64, true)]);
                let mut v = b.load(DType::F64, x.as_ptr().cast(), &[stride, 8]);
                if square {
                    v = b.op(Op::Square, DType::F64, &[v]);
                }
                b.reduce(Op::Sum, v, DType::F64, by_row.as_mut_ptr().cast(), &[8, 0]);
                b.run(&engine);
                for r in 0..rows {
                    let want = 0.0 + pairwise(&y[r * columns..(r + 1) * columns]);
                    assert_eq!(by_row[r].to_bits(), want.to_bits(), "{rows} {columns} row {r}");
                }
                let mut b = Build::new(&[(rows as i64, true), (columns as i64, false)]);
                let mut v = b.load(DType::F64, x.as_ptr().cast(), &[stride, 8]);
                if square {
                    v = b.op(Op::Square, DType::F64, &[v]);
                }
                b.reduce(Op::Sum, v, DType::F64, by_column.as_mut_ptr().cast(), &[0, 8]);
                b.run(&engine);
                for c in 0..columns {
                    let want = (0..rows).fold(0.0, |a, r| a + y[r * columns + c]);
                    assert_eq!(by_column[c].to_bits(), want.to_bits(), "{rows} {columns} column {c}");
                }
            }
        }
    }
}
