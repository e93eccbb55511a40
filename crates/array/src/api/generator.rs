//! Random numbers: NumPy's `Generator` over PCG64, with the same numbers for the same seed.

use super::any_array::{AnyArray, dims, done};
use super::array::Array;
use super::creation::unset;
use super::recorder::{Recorder, runtime};
use crate::error::Error;
use crate::front::Front;
use crate::random::words::Words;
use crate::random::{Pcg64, SeedSequence, StreamSegment, ziggurat};
use crate::reductions::normalize_axis;
use numelt_ir::{Axes, DType, Scalar};
use numelt_runtime::{Bounded, Input};
use std::hash::{BuildHasher, RandomState};

/// NumPy's random generator, with the numbers of `numpy.random.default_rng(seed)` in the same order.
///
/// Uniform numbers are recorded, and computed in the kernels that use them. All others are computed when the method is
/// called.
///
/// ```
/// use numelt::Generator;
/// let mut rng = Generator::new(1);
/// assert_eq!(rng.random(&[2]).to_vec(), [0.5118216247002567, 0.9504636963259353]);
/// assert_eq!(rng.integers(0, 10, &[3]).unwrap().to_vec(), [0, 1, 8]);
/// ```
#[derive(Debug, Clone)]
pub struct Generator {
    seed: SeedSequence,
    stream: Pcg64,
}

impl Generator {
    /// The generator of a seed.
    ///
    /// ```
    /// let (mut a, mut b) = (numelt::Generator::new(5), numelt::Generator::new(5));
    /// assert_eq!(a.random(&[3]).to_vec(), b.random(&[3]).to_vec());
    /// ```
    pub fn new(seed: u128) -> Generator {
        Generator::of(SeedSequence::new(seed))
    }

    fn of(seed: SeedSequence) -> Generator {
        Generator { stream: Pcg64::new(&seed), seed }
    }

    /// A generator with a seed from the system.
    ///
    /// ```
    /// let (mut a, mut b) = (numelt::Generator::from_system(), numelt::Generator::from_system());
    /// assert_ne!(a.random(&[3]).to_vec(), b.random(&[3]).to_vec());
    /// ```
    pub fn from_system() -> Generator {
        let word = || u128::from(RandomState::new().hash_one(0));
        Generator::new(word() << 64 | word())
    }

    /// Generators whose numbers are independent of this one's and of each other's.
    ///
    /// ```
    /// let mut children = numelt::Generator::new(1).spawn(2);
    /// assert_ne!(children[0].random(&[1]).item(), children[1].random(&[1]).item());
    /// ```
    pub fn spawn(&mut self, count: usize) -> Vec<Generator> {
        (0..count).map(|_| Generator::of(self.seed.spawn())).collect()
    }

    /// Uniform numbers in `[0, 1)`.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).random(&[2, 3]);
    /// assert!(x.less(1).all().item() && x.greater_equal(0).all().item());
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn random(&mut self, shape: &[usize]) -> Array<f64> {
        Array::of(done(self.uniform_numbers(shape)))
    }

    fn uniform_numbers(&mut self, shape: &[usize]) -> Result<AnyArray, Error> {
        let made = unset(DType::F64, &dims(shape))?;
        if made.is_empty() {
            return Ok(made);
        }
        let Some(StreamSegment { op, first, state }) = self.stream.take(made.size() as u64, false) else {
            unreachable!("whole words do not depend on halves")
        };
        let inputs: Vec<Input<'_>> =
            std::iter::once(first).chain(state).map(|word| Input::Const(Scalar::U64(word))).collect();
        Recorder.record(op, DType::F64, made.view(), &inputs, Axes::default())?;
        Ok(made)
    }

    /// Uniform numbers in `[low, high)`.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).uniform(-1.0, 1.0, &[100]);
    /// assert!(x.abs().max().item() <= 1.0);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn uniform(&mut self, low: f64, high: f64, shape: &[usize]) -> Array<f64> {
        let mut numbers = self.random(shape);
        numbers *= high - low;
        numbers += low;
        numbers
    }

    /// Integers from `low` to below `high`.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).integers(3, 5, &[100]).unwrap();
    /// assert_eq!((x.min().item(), x.max().item()), (3, 4));
    /// ```
    ///
    /// # Errors
    /// If there are no integers between the bounds; if there is not enough memory.
    pub fn integers(&mut self, low: i64, high: i64, shape: &[usize]) -> Result<Array<i64>, Error> {
        if low >= high {
            return Err(Error::Value("low >= high".into()));
        }
        self.integers_to(low, high - 1, shape)
    }

    /// Integers from `low` to `high`, both included.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).integers_to(0, 1, &[100]).unwrap();
    /// assert_eq!((x.min().item(), x.max().item()), (0, 1));
    /// ```
    ///
    /// # Errors
    /// If there are no integers between the bounds; if there is not enough memory.
    pub fn integers_to(&mut self, low: i64, high: i64, shape: &[usize]) -> Result<Array<i64>, Error> {
        if low > high {
            return Err(Error::Value("low > high".into()));
        }
        let made = unset(DType::I64, &dims(shape))?;
        let (n, last) = (made.size(), high.wrapping_sub(low) as u64);
        if n > 0 && !self.fill_bounded(&made, low, last)? {
            // wrapping, because the distance from the least to the largest may not fit an i64
            let mut numbers = made.write::<i64>()?;
            numbers.iter_mut().for_each(|number| *number = low.wrapping_add(self.stream.below_or_at(last) as i64));
        }
        made.typed()
    }

    /// Lets the host engine make the integers; false if it does not.
    fn fill_bounded(&mut self, made: &AnyArray, low: i64, last: u64) -> Result<bool, Error> {
        const FEW: usize = 2048;
        let (n, halves) = (made.size(), last < u64::from(u32::MAX));
        let Some(count) = last.checked_add(1).filter(|_| last != 0 && last != u64::from(u32::MAX) && n >= FEW) else {
            return Ok(false);
        };
        let before = self.stream.clone();
        let Some(segment) = self.stream.take(n as u64, halves) else { return Ok(false) };
        let host = runtime().host();
        let threads = if n < 1 << 18 { 1 } else { host.threads() };
        let mut numbers = made.write::<i64>()?;
        let bounded = Bounded { low: low as u64, count, halves, wide: true };
        let drawn = super::memory::fill_bounded(&*host, &segment.stream(), bounded, &mut numbers, threads);
        self.stream = before;
        match drawn {
            Some(drawn) => Ok(self.stream.take(drawn, halves).is_some()),
            None => Ok(false),
        }
    }

    /// Normal numbers of mean zero and deviation one.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).standard_normal(&[1000]);
    /// assert!(x.mean().item().abs() < 0.1);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn standard_normal(&mut self, shape: &[usize]) -> Array<f64> {
        done(self.filled(shape, ziggurat::normal))
    }

    /// Normal numbers of a mean and a deviation.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).normal(10.0, 0.1, &[1000]);
    /// assert!((x.mean().item() - 10.0).abs() < 0.1);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn normal(&mut self, mean: f64, deviation: f64, shape: &[usize]) -> Array<f64> {
        done(self.filled(shape, |stream| mean + deviation * ziggurat::normal(stream)))
    }

    /// Exponential numbers of mean one.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).standard_exponential(&[1000]);
    /// assert!((x.mean().item() - 1.0).abs() < 0.1);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn standard_exponential(&mut self, shape: &[usize]) -> Array<f64> {
        done(self.filled(shape, ziggurat::exponential))
    }

    /// Exponential numbers of a mean.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).exponential(2.0, &[1000]);
    /// assert!((x.mean().item() - 2.0).abs() < 0.2);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn exponential(&mut self, mean: f64, shape: &[usize]) -> Array<f64> {
        done(self.filled(shape, |stream| mean * ziggurat::exponential(stream)))
    }

    fn filled(&mut self, shape: &[usize], draw: impl Fn(&mut Pcg64) -> f64) -> Result<Array<f64>, Error> {
        let made = unset(DType::F64, &dims(shape))?;
        if !made.is_empty() {
            made.write::<f64>()?.iter_mut().for_each(|number| *number = draw(&mut self.stream));
        }
        made.typed()
    }

    /// The integers from zero to below `n` in a random order.
    ///
    /// ```
    /// let order = numelt::Generator::new(0).permutation(10);
    /// assert_eq!(order.sort(0).unwrap().to_vec(), Vec::from_iter(0..10));
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn permutation(&mut self, n: usize) -> Array<i64> {
        let mut order: Vec<i64> = (0..n as i64).collect();
        for at in (1..n).rev() {
            order.swap(at, self.stream.masked(at as u64) as usize);
        }
        Array::from(order)
    }

    /// An array with the positions along its first axis in a random order, in new memory.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).permuted(&numelt::arange(10)).unwrap();
    /// assert_eq!(x.sum().item::<i64>(), 45);
    /// ```
    ///
    /// # Errors
    /// If the array has no axes; if there is not enough memory.
    pub fn permuted(&mut self, array: &AnyArray) -> Result<AnyArray, Error> {
        normalize_axis(0, array.ndim()).ok_or(Error::Axis { axis: 0, rank: 0 })?;
        let order = self.permutation(array.len());
        array.take(&order, 0)
    }

    /// Elements of a vector, drawn with replacement; all are equally likely.
    ///
    /// ```
    /// let x = numelt::Generator::new(0).choice(&numelt::arange(3), &[100]).unwrap();
    /// assert_eq!(x.unique_values().unwrap().to_vec::<i64>(), [0, 1, 2]);
    /// ```
    ///
    /// # Errors
    /// If the vector has no elements; if there is not enough memory.
    pub fn choice(&mut self, array: &AnyArray, shape: &[usize]) -> Result<AnyArray, Error> {
        let n = array.len() as i64;
        if n == 0 || array.ndim() == 0 {
            return Err(Error::Value("a cannot be empty unless no samples are taken".into()));
        }
        array.take(self.integers(0, n, shape)?, 0)
    }
}
