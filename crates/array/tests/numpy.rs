//! Compares with NumPy's results in tables that `scripts/rust_tables.py` has written: dtypes of results, random
//! streams.

use numelt::{AnyArray, Argument, DType, Error, Generator, Over};

const DTYPES: [DType; 14] = DType::ALL;

fn ones(dtype: DType) -> AnyArray {
    numelt::ones(&[2]).astype(dtype)
}

fn name(result: Result<AnyArray, Error>) -> &'static str {
    result.map_or("refused", |array| numelt::rules::names::numpy_name(array.dtype()))
}

fn binary(op: &str, a: &AnyArray, b: impl Argument) -> Result<AnyArray, Error> {
    match op {
        "add" => a.try_add(b),
        "subtract" => a.try_subtract(b),
        "multiply" => a.try_multiply(b),
        "divide" => a.try_divide(b),
        "floor_divide" => a.try_floor_divide(b),
        "remainder" => a.try_remainder(b),
        "power" => a.try_pow(b),
        "maximum" => a.try_maximum(b),
        "copysign" => a.try_copysign(b),
        "arctan2" => a.try_atan2(b),
        "equal" => a.try_equal(b),
        "less" => a.try_less(b),
        "logical_and" => a.try_logical_and(b),
        "bitwise_and" => a.try_bitwise_and(b),
        "left_shift" => a.try_bitwise_left_shift(b),
        "gcd" => a.try_gcd(b),
        other => panic!("{other}"),
    }
}

fn unary(op: &str, a: &AnyArray) -> Result<AnyArray, Error> {
    match op {
        "negative" => a.try_negative(),
        "absolute" => a.try_abs(),
        "sqrt" => a.try_sqrt(),
        "sin" => a.try_sin(),
        "square" => a.try_square(),
        "reciprocal" => a.try_reciprocal(),
        "floor" => a.try_floor(),
        "rint" => a.try_rint(),
        "isnan" => a.try_isnan(),
        "logical_not" => a.try_logical_not(),
        "invert" => a.try_bitwise_invert(),
        "sign" => a.try_sign(),
        "conjugate" => a.try_conj(),
        "sum" => a.try_sum_over(Over::all()),
        "prod" => a.try_prod_over(0),
        "min" => a.try_min_over(0),
        "max" => a.try_max_over(0),
        "mean" => a.try_mean_over(0),
        "any" => a.try_any_over(0),
        "argmax" => a.try_argmax_over(0),
        "cumsum" => a.cumulative_sum(Some(0)),
        other => panic!("{other}"),
    }
}

#[test]
fn results_have_the_dtypes_that_numpy_gives_them() {
    for line in include_str!("numpy/promotion.txt").lines() {
        let (case, expected) = line.split_once(": ").unwrap();
        let got: Vec<&str> = match case.split(' ').collect::<Vec<_>>()[..] {
            [op, left] => {
                let a = ones(dtype(left));
                DTYPES.iter().map(|&right| name(binary(op, &a, ones(right)))).collect()
            }
            [op, left, "weak"] => {
                let a = ones(dtype(left));
                let complex = numelt::Complex128 { re: 0.0, im: 1.0 };
                [binary(op, &a, true), binary(op, &a, 2), binary(op, &a, 0.5), binary(op, &a, complex)]
                    .map(name)
                    .to_vec()
            }
            [op] => DTYPES.iter().map(|&only| name(unary(op, &ones(only)))).collect(),
            _ => panic!("{line}"),
        };
        assert_eq!(got.join(" "), expected, "{case}");
    }
}

fn dtype(name: &str) -> DType {
    DTYPES.into_iter().find(|&dtype| numelt::rules::names::numpy_name(dtype) == name).unwrap()
}

fn words(rng: &mut Generator, method: &str, n: usize) -> Vec<u64> {
    let floats = |numbers: numelt::Array<f64>| numbers.to_vec().into_iter().map(f64::to_bits).collect();
    let integers = |numbers: numelt::Array<i64>| numbers.to_vec().into_iter().map(|n| n as u64).collect();
    match method {
        "random" => floats(rng.random(&[n])),
        "uniform" => floats(rng.uniform(-3.0, 5.5, &[n])),
        "integers_10" => integers(rng.integers(0, 10, &[n]).unwrap()),
        "integers_odd" => integers(rng.integers(-7, 1 << 31, &[n]).unwrap()),
        "integers_32" => integers(rng.integers(-(1 << 31), 1 << 31, &[n]).unwrap()),
        "integers_wide" => integers(rng.integers(-(1 << 62), 1 << 62, &[n]).unwrap()),
        "integers_all" => integers(rng.integers_to(i64::MIN, i64::MAX, &[n]).unwrap()),
        "integers_one" => integers(rng.integers(4, 5, &[n]).unwrap()),
        "standard_normal" => floats(rng.standard_normal(&[n])),
        "normal" => floats(rng.normal(2.0, 0.25, &[n])),
        "standard_exponential" => floats(rng.standard_exponential(&[n])),
        "exponential" => floats(rng.exponential(3.0, &[n])),
        "permutation" => integers(rng.permutation(n)),
        "choice" => integers(rng.choice(&numelt::arange(77), &[n]).unwrap().typed().unwrap()),
        "spawned" => floats(rng.spawn(2).remove(1).random(&[n])),
        other => panic!("{other}"),
    }
}

#[test]
fn generators_give_numpys_numbers() {
    let mut rng = None;
    for line in include_str!("numpy/streams.txt").lines() {
        let [seed, method, n, checksum, last] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let seed: u128 = seed.parse().unwrap();
        if !matches!(&rng, Some((own, _)) if *own == seed) {
            rng = Some((seed, Generator::new(seed)));
        }
        let (_, rng) = rng.as_mut().unwrap();
        let words = words(rng, method, n.parse().unwrap());
        let sum = (1u64..).step_by(2).zip(&words).fold(0u64, |sum, (k, &w)| sum.wrapping_add(w.wrapping_mul(k)));
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        assert_eq!((sum, words.last().copied()), (hex(checksum), Some(hex(last))), "{line}");
    }
}
