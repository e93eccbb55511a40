//! What a fold does with one element and with the accumulator of later elements.

use crate::tier0::Elem;

/// A fold whose steps are independent of positions.
pub trait Step<T: Elem>: 'static {
    /// Type of the accumulator.
    type Acc: Elem;
    /// The accumulator of the empty range.
    const INIT: Self::Acc;
    /// Adds one element.
    fn step(acc: Self::Acc, x: T) -> Self::Acc;
    /// Adds one element of a run.
    #[inline(always)]
    fn run_step(acc: Self::Acc, x: T) -> Self::Acc {
        Self::step(acc, x)
    }
    /// Joins the accumulator of later elements.
    fn join(acc: Self::Acc, later: Self::Acc) -> Self::Acc;
    /// The value among several equivalent ones that the fold of `x` from `acc` gives, if lanes have lost the order.
    #[inline(always)]
    fn choose(_acc: Self::Acc, _x: &[T], result: Self::Acc) -> Self::Acc {
        result
    }
    /// Absorbs a run in fewer instructions, if there is a way for runs without NaN and the run has none.
    #[inline(always)]
    fn quick_run(_acc: Self::Acc, _x: &[T]) -> Option<Self::Acc> {
        None
    }
}
