//! The conformance suite for numerical routines: results of an engine's libraries, checked by their definitions.
//!
//! In: an engine with routines. Out: nothing, or a panic with the routine whose result is wrong. Matrices are stored by
//! columns. What an engine has no library for is left out.

use crate::rng::Rng;
use nalgebra::{Complex, DMatrix};
use numelt_ir::DType;
use numelt_runtime::{Buffer, Domain, Engine, Routine, Routines, Transform, Use, Vectors};

type Number = Complex<f64>;
type Matrix = DMatrix<Number>;
/// Checks the arrays of a routine after it has run, from those before; the last argument is the error that is allowed.
type Check<'a> = &'a dyn Fn(&[Vec<Number>], &[Vec<Number>], f64);

/// Runs routines of all kinds and dtypes on an engine. Returns how many it has a library for.
///
/// # Panics
/// With the first routine whose result is wrong.
pub fn check_routines(engine: &dyn Engine) -> usize {
    let Some(routines) = engine.routines() else { return 0 };
    let mut checked = 0;
    let mut check = |routine: Routine, is_right: Check<'_>| {
        if routines.solver(&routine).is_some() {
            let (before, after) = computed(engine, routines, &routine);
            let single = routine.arrays()[0].0.real() == DType::F32;
            is_right(&before, &after, if single { 2e-4 } else { 1e-10 });
            checked += 1;
        }
    };
    for real in [DType::F32, DType::F64] {
        // a library compiles each of these
        let single: &[(usize, usize)] = &[(60, 4), (1024, 3)];
        let double: &[(usize, usize)] = &[(1, 1), (2, 3), (60, 4), (1001, 2), (17, 2)];
        for &(points, lines) in if real == DType::F32 { single } else { double } {
            for domain in [Domain::Complex, Domain::FromReal, Domain::ToReal] {
                for forward in [true, false] {
                    // real numbers are transformed forwards, and back
                    if domain == Domain::Complex || forward == (domain == Domain::FromReal) {
                        let transform = Transform { domain, forward, real, points, lines };
                        check(Routine::Transform(transform), &|before, after, error| {
                            assert_transformed(&transform, &before[0], &after[1], error);
                        });
                    }
                }
            }
        }
    }
    for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
        for n in [1, 2, 7, 40] {
            for columns in [1, 3] {
                check(Routine::Solve { dtype, n, columns }, &|before, after, error| {
                    let (a, b, x) = (square(&before[0]), &before[1], &after[1]);
                    let matrix = |data: &[Number]| Matrix::from_column_slice(n, columns, data);
                    near(&(a.transpose() * matrix(x)), &matrix(b), error, "solve");
                });
            }
            check(Routine::Cholesky { dtype, n }, &|before, after, error| {
                let given = hermitian(&square(&before[0]));
                let factor = square(&after[0]).upper_triangle();
                near(&(factor.adjoint() * &factor), &given, error, "Cholesky");
            });
            for (lower, vectors) in [(false, false), (false, true), (true, true)] {
                check(Routine::Eigen { dtype, n, lower, vectors }, &|before, after, error| {
                    let given = hermitian(&square(&before[0]));
                    let values = &after[1];
                    assert!(values.windows(2).all(|two| two[0].re <= two[1].re), "eigenvalues in order");
                    let sum: Number = values.iter().sum();
                    near_number(sum, given.trace(), error, "the sum of eigenvalues");
                    if vectors {
                        let found = square(&after[0]);
                        let scaled = &found * Matrix::from_diagonal(&nalgebra::DVector::from_column_slice(values));
                        near(&(&given * &found), &scaled, error, "eigenvectors");
                    }
                });
            }
        }
        for (rows, columns) in [(1, 1), (5, 3), (40, 40), (30, 7)] {
            for vectors in [Vectors::None, Vectors::Thin, Vectors::Full] {
                let routine = Routine::Singular { dtype, rows, columns, vectors };
                check(routine, &|before, after, error| {
                    let given = Matrix::from_column_slice(rows, columns, &before[0]);
                    let values = &after[1];
                    assert!(values.windows(2).all(|two| two[0].re >= two[1].re), "singular values in order");
                    let squares: Number = values.iter().map(|value| value * value).sum();
                    near_number(squares, Number::from(given.norm_squared()), error, "singular values");
                    if vectors != Vectors::None {
                        let left = Matrix::from_column_slice(rows, after[2].len() / rows, &after[2]);
                        let right = Matrix::from_column_slice(columns, columns, &after[3]);
                        let one = Matrix::identity(left.ncols(), left.ncols());
                        near(&(left.adjoint() * &left), &one, error, "left vectors");
                        let middle = Matrix::from_diagonal(&nalgebra::DVector::from_column_slice(values));
                        near(&(left.columns(0, columns) * middle * right), &given, error, "decomposition");
                    }
                });
            }
        }
    }
    let singular = Routine::Solve { dtype: DType::F64, n: 3, columns: 1 };
    if routines.solver(&singular).is_some() {
        let (_, has_result) = run(engine, routines, &singular, &[vec![Number::ZERO; 9], vec![Number::ONE; 3]]);
        assert!(!has_result, "a singular matrix");
    }
    checked
}

/// Numbers before and after a routine, for arrays for which it has a result.
fn computed(engine: &dyn Engine, routines: &dyn Routines, routine: &Routine) -> (Vec<Vec<Number>>, Vec<Vec<Number>>) {
    let mut rng = Rng::new(7);
    let mut number = || rng.below(2000) as f64 / 1000.0 - 1.0;
    let mut before: Vec<Vec<Number>> = Vec::new();
    for (dtype, elements, becomes) in routine.arrays() {
        let mut one = || Number::new(number(), if dtype.is_complex() { number() } else { 0.0 });
        before.push((0..elements).map(|_| if becomes == Use::Made { Number::ZERO } else { one() }).collect());
    }
    match *routine {
        Routine::Transform(transform) if transform.domain == Domain::ToReal => {
            let half = transform.points / 2 + 1;
            for line in before[0].chunks_mut(half) {
                line[0].im = 0.0;
                if transform.points.is_multiple_of(2) {
                    line[half - 1].im = 0.0;
                }
            }
        }
        Routine::Solve { n, .. } => (0..n).for_each(|at| before[0][at * n + at] += 3.0 * n as f64),
        Routine::Cholesky { n, .. } | Routine::Eigen { n, .. } => {
            let whole = hermitian(&square(&before[0])) + Matrix::identity(n, n).scale(3.0 * n as f64);
            before[0].copy_from_slice(whole.as_slice());
        }
        Routine::Transform(_) | Routine::Singular { .. } => {}
    }
    let before: Vec<Vec<Number>> = before.iter().zip(routine.arrays()).map(|(all, (ty, ..))| round(all, ty)).collect();
    let (after, has_result) = run(engine, routines, routine, &before);
    assert!(has_result, "{routine:?} has a result");
    (before, after)
}

/// The numbers as a dtype stores them.
fn round(numbers: &[Number], dtype: DType) -> Vec<Number> {
    decoded(&encoded(numbers, dtype), dtype)
}

fn run(
    engine: &dyn Engine,
    routines: &dyn Routines,
    routine: &Routine,
    values: &[Vec<Number>],
) -> (Vec<Vec<Number>>, bool) {
    let arrays = routine.arrays();
    let mut buffers = Vec::new();
    for ((dtype, ..), numbers) in arrays.iter().zip(values) {
        let bytes = encoded(numbers, *dtype);
        let buffer = Buffer { handle: engine.alloc(bytes.len()).unwrap(), offset: 0 };
        engine.upload(&bytes, buffer).unwrap();
        buffers.push(buffer);
    }
    let has_result = routines.run(routine, &buffers).unwrap_or_else(|why| panic!("{routine:?}: {why}"));
    let read = |((dtype, elements, becomes), buffer): (&(DType, usize, Use), &Buffer)| {
        let mut bytes = vec![0; elements * dtype.size()];
        engine.download(*buffer, &mut bytes).unwrap();
        engine.free(buffer.handle, bytes.len(), numelt_runtime::Ticket(0));
        (decoded(&bytes, *dtype), *becomes)
    };
    let after: Vec<(Vec<Number>, Use)> = arrays.iter().zip(&buffers).map(read).collect();
    for ((now, becomes), before) in after.iter().zip(values) {
        assert!(*becomes != Use::Read || now == before, "{routine:?} has changed what it reads");
    }
    (after.into_iter().map(|(numbers, _)| numbers).collect(), has_result)
}

fn encoded(numbers: &[Number], dtype: DType) -> Vec<u8> {
    let parts = |number: &Number| if dtype.is_complex() { vec![number.re, number.im] } else { vec![number.re] };
    let single = dtype.real() == DType::F32;
    let bytes = |part: f64| if single { (part as f32).to_ne_bytes().to_vec() } else { part.to_ne_bytes().to_vec() };
    numbers.iter().flat_map(parts).flat_map(bytes).collect()
}

fn decoded(bytes: &[u8], dtype: DType) -> Vec<Number> {
    let single = dtype.real() == DType::F32;
    let part = |bytes: &[u8]| match single {
        true => f64::from(f32::from_ne_bytes(bytes.try_into().unwrap())),
        false => f64::from_ne_bytes(bytes.try_into().unwrap()),
    };
    let parts: Vec<f64> = bytes.chunks(if single { 4 } else { 8 }).map(part).collect();
    match dtype.is_complex() {
        true => parts.chunks(2).map(|two| Number::new(two[0], two[1])).collect(),
        false => parts.iter().map(|&part| Number::from(part)).collect(),
    }
}

fn square(numbers: &[Number]) -> Matrix {
    let n = numbers.len().isqrt();
    Matrix::from_column_slice(n, n, numbers)
}

fn hermitian(matrix: &Matrix) -> Matrix {
    (matrix + matrix.adjoint()).scale(0.5)
}

/// Compares transforms with their definition.
fn assert_transformed(transform: &Transform, from: &[Number], to: &[Number], error: f64) {
    let Transform { domain, forward, points, lines, .. } = *transform;
    let half = points / 2 + 1;
    let sign = if forward { -1.0 } else { 1.0 };
    let root = |k: usize| Number::from_polar(1.0, sign * std::f64::consts::TAU * (k % points) as f64 / points as f64);
    let roots: Vec<Number> = (0..points).map(root).collect();
    for line in 0..lines {
        let (given, found) = (&from[line * from.len() / lines..], &to[line * to.len() / lines..]);
        let whole = |k: usize| match domain {
            Domain::ToReal if k >= half => given[points - k].conj(),
            _ => given[k],
        };
        let results = if domain == Domain::FromReal { half } else { points };
        for at in 0..results {
            let want: Number = (0..points).map(|k| whole(k) * roots[at * k % points]).sum();
            near_number(found[at], want, error * points as f64, &format!("{transform:?}"));
        }
    }
}

fn near_number(found: Number, want: Number, error: f64, what: &str) {
    assert!((found - want).norm() <= error * (1.0 + want.norm()), "{what}: {found} instead of {want}");
}

fn near(found: &Matrix, want: &Matrix, error: f64, what: &str) {
    let distance = (found - want).norm();
    assert!(distance <= error * (1.0 + want.norm()), "{what}: differs by {distance}");
}
