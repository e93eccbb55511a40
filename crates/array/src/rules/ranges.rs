//! Ranges of numbers in even steps: their length, and the step.

use crate::error::Error;

/// The number of integers `start`, `start + step`, … before `stop`.
///
/// # Errors
/// If the step is zero; if 64 bits cannot hold the number.
pub fn whole_count(start: i64, stop: i64, step: i64) -> Result<i64, Error> {
    if step == 0 {
        return Err(too_large());
    }
    let (span, step) = (i128::from(stop) - i128::from(start), i128::from(step));
    let count = if (span > 0) == (step > 0) { (span.abs() + step.abs() - 1) / step.abs() } else { 0 };
    i64::try_from(count).map_err(|_| Error::TooBig)
}

/// The number of floats, and the difference of two neighbours. NumPy divides the distance by the step, and rounds up.
/// It stores the first two elements, and continues with their difference.
///
/// # Errors
/// If the number is not finite, or if 64 bits of either sign cannot hold it.
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
