//! Sums in NumPy's order, bit for bit, under every engine setting.

mod support;

use numelt_ir::{DType, Op};
use support::{Build, engines, noise};

/// NumPy's pairwise sum, as it is defined.
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

/// Numbers that NumPy can make as well, because each step is exact.
fn data(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * 7919 % 1_000_003) as f64 / 1_000_003.0 - 0.5).collect()
}

fn fold_bits(x: &[f64]) -> u64 {
    x.iter().fold(0, |a, v| a ^ v.to_bits())
}

/// Loops, strides of the input in elements, and strides of the result in elements.
fn sum(
    x: &[f64],
    loops: &[(i64, bool)],
    ins: &[i64],
    outs: &[i64],
    results: usize,
    engine: &numelt_engine_cpu::CpuEngine,
) -> Vec<f64> {
    let bytes = |s: &[i64]| s.iter().map(|s| s * 8).collect::<Vec<_>>();
    let mut out = vec![0.0; results];
    let mut b = Build::new(loops);
    let v = b.load(DType::F64, x.as_ptr().cast(), &bytes(ins));
    b.reduce(Op::Sum, v, DType::F64, out.as_mut_ptr().cast(), &bytes(outs));
    b.run(engine);
    out
}

/// The bits that NumPy 2.4.6 returned for `data(n).reshape(…).sum(…)`; the exclusive or of several results.
#[test]
fn numpys_own_bits() {
    for engine in engines().iter().filter(|e| e.threads() != 3) {
        let x = data(1_000_003);
        assert_eq!(sum(&x, &[(1_000_003, true)], &[1], &[0], 1, engine)[0].to_bits(), 0xBFE0_0000_0000_0D90);

        let narrow: Vec<f32> = x.iter().map(|v| *v as f32).collect();
        let mut out = 0.0f32;
        let mut b = Build::new(&[(1_000_003, true)]);
        let v = b.load(DType::F32, narrow.as_ptr().cast(), &[4]);
        b.reduce(Op::Sum, v, DType::F32, (&raw mut out).cast(), &[0]);
        b.run(engine);
        assert_eq!(out.to_bits(), 0xBEFF_9520);

        let mut parts = [0.0f64; 2];
        let mut b = Build::new(&[(10_003, true)]);
        let v = b.load(DType::C128, x.as_ptr().cast(), &[16]);
        b.reduce(Op::Sum, v, DType::C128, parts.as_mut_ptr().cast(), &[0]);
        b.run(engine);
        assert_eq!(parts.map(f64::to_bits), [0xC021_C23C_5F92_169A, 0xC01A_A9D3_ED7C_B682]);

        let m = data(37_000);
        let rows = sum(&m, &[(1000, false), (37, true)], &[37, 1], &[1, 0], 1000, engine);
        assert_eq!(fold_bits(&rows), 0x0023_9A13_4B2A_68AE);
        let columns = sum(&m, &[(1000, true), (37, false)], &[37, 1], &[0, 1], 37, engine);
        assert_eq!(fold_bits(&columns), 0x3F85_9558_F3E0_7F4C);

        let t = data(30_000);
        let middle = sum(&t, &[(50, true), (20, false), (30, true)], &[600, 30, 1], &[0, 1, 0], 20, engine);
        assert_eq!(fold_bits(&middle), 0x0023_F1F0_3A48_4E8E);
        let one = sum(&t, &[(50, false), (20, true), (30, false)], &[600, 30, 1], &[30, 0, 1], 1500, engine);
        assert_eq!(fold_bits(&one), 0x00B0_DE35_E12C_7CE7);

        let mut product = 0.0f64;
        let factors: Vec<f64> = data(1000).iter().map(|v| 1.0 + v / 8.0).collect();
        let mut b = Build::new(&[(1000, true)]);
        let v = b.load(DType::F64, factors.as_ptr().cast(), &[8]);
        b.reduce(Op::Prod, v, DType::F64, (&raw mut product).cast(), &[0]);
        b.run(engine);
        assert_eq!(product.to_bits(), 0x3FD0_FC52_6708_C706);
    }
}
