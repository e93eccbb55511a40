//! Ranges of numbers in even steps: their length, and the step.

use crate::error::Error;

/// How many integers there are from `start` on, each a step further, before `stop`.
///
/// # Errors
/// A step of zero; more integers than 64 bits count.
pub fn whole_count(start: i64, stop: i64, step: i64) -> Result<i64, Error> {
    if step == 0 {
        return Err(too_large());
    }
    let (span, step) = (i128::from(stop) - i128::from(start), i128::from(step));
    let count = if (span > 0) == (step > 0) { (span.abs() + step.abs() - 1) / step.abs() } else { 0 };
    i64::try_from(count).map_err(|_| Error::TooBig)
}

/// How many floats there are, and the difference of two neighbours: NumPy divides the distance by the step, and rounds up. It
/// stores the first two elements, and goes on by their difference.
///
/// # Errors
/// A count that is not finite, or that 64 bits do not hold, of either sign.
pub fn float_count(start: f64, stop: f64, step: f64) -> Result<(i64, f64), Error> {
    let count = ((stop - start) / step).ceil();
    if !count.is_finite() || count.abs() >= 9.2e18 {
        return Err(too_large());
    }
    Ok((count.max(0.0) as i64, (start + step) - start))
}

fn too_large() -> Error {
    Error::Value("Maximum allowed size exceeded".into())
}
