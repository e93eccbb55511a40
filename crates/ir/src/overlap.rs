//! Whether a view reaches one byte through two different indices.
//!
//! [`is_nested`] answers this quickly for all views that slicing, transposing and reversing make, from extents, strides
//! and an element size. [`View::overlaps_itself`] gives the exact answer, or none if the search would take too long.
//!
//! All code that takes two equal views for the same elements, point by point, relies on this if one of the views is
//! written: if two indices shared a byte, a value stored at one point would appear at another. So the output of an
//! instruction never overlaps itself: the verifier checks it, and the runtime refuses to record such an instruction.
//! Views that are only read may overlap themselves; they are never equal to an output.

use crate::View;
use smallvec::SmallVec;

/// The most steps of the exact search for one view; far more than any view of an ordinary array needs.
pub(crate) const STEPS_OF_A_VIEW: u32 = 1_000_000;

impl View {
    /// Whether two different indices share a byte. `None` if the exact search is given up.
    pub fn overlaps_itself(&self) -> Option<bool> {
        self.overlaps_itself_within(&mut { STEPS_OF_A_VIEW })
    }

    /// The same with at most `steps` steps of the exact search. The steps that it takes are subtracted from `steps`.
    pub(crate) fn overlaps_itself_within(&self, steps: &mut u32) -> Option<bool> {
        if self.shape.contains(&0) {
            return Some(false);
        }
        if self.is_injective() {
            return Some(false);
        }
        let mut axes: Vec<Axis> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|(n, _)| **n > 1)
            .map(|(&n, &s)| Axis { last: n as i128 - 1, stride: i128::from(s).abs() })
            .collect();
        axes.sort_by_key(|axis| axis.stride);
        let mut search = Search::new(axes, self.dtype.size() as i128 - 1, *steps);
        let answer = search.run();
        *steps = search.left;
        answer
    }

    /// Whether no two indices share a byte. `false` may mean "not known"; see [`is_nested`].
    pub fn is_injective(&self) -> bool {
        is_nested(&self.shape, &self.strides, self.dtype.size() as i64)
    }
}

/// Whether the stride of each axis is larger than the range of all axes with smaller strides. Then no two indices share
/// a byte. `false` may mean "not known", but not for views that slicing, transposing and reversing make of dense
/// arrays.
#[inline]
pub fn is_nested(shape: &[i64], strides: &[i64], itemsize: i64) -> bool {
    // strides mostly descend from the first axis to the last, and then need no sorting
    let axes = shape.iter().zip(strides).rev().map(|(&n, &s)| (s, n));
    steps_over(axes, itemsize) || is_nested_in_any_order(shape, strides, itemsize)
}

fn is_nested_in_any_order(shape: &[i64], strides: &[i64], itemsize: i64) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut axes: SmallVec<[(i64, i64); 8]> =
        shape.iter().zip(strides).filter(|(n, _)| **n > 1).map(|(&n, &s)| (s.saturating_abs(), n)).collect();
    axes.sort_unstable();
    steps_over(axes.into_iter(), itemsize)
}

/// Whether each of these strides is at least as large as the range of all before it.
#[inline]
fn steps_over(mut axes: impl Iterator<Item = (i64, i64)>, itemsize: i64) -> bool {
    let mut reach = itemsize;
    axes.all(|(stride, extent)| {
        let over = extent == 1 || stride.saturating_abs() >= reach;
        reach = reach.saturating_add(stride.saturating_abs().saturating_mul(extent - 1));
        over
    })
}

/// An axis with more than one index: its last index and the size of its stride.
#[derive(Clone, Copy)]
struct Axis {
    last: i128,
    stride: i128,
}

/// Searches for index differences `d`, not all zero, with `|sum d_i * s_i| <= slack`. The signs of the strides do not
/// matter, because the differences take both signs.
struct Search {
    axes: Vec<Axis>,
    /// `reach[i]`: the slack plus the most that axes `0..i` can add.
    reach: Vec<i128>,
    /// `step[i]`: greatest common divisor of the strides of axes `0..i`.
    step: Vec<i128>,
    slack: i128,
    left: u32,
}

impl Search {
    fn new(axes: Vec<Axis>, slack: i128, left: u32) -> Search {
        let (mut reach, mut step) = (vec![slack], vec![0]);
        for (i, axis) in axes.iter().enumerate() {
            reach.push(reach[i] + axis.last * axis.stride);
            step.push(gcd(step[i], axis.stride));
        }
        Search { axes, reach, step, slack, left }
    }

    /// Searches for such differences. By symmetry, the first difference that is not zero, in the order of descending
    /// strides, can be taken to be positive.
    fn run(&mut self) -> Option<bool> {
        for top in (0..self.axes.len()).rev() {
            let Axis { last, stride } = self.axes[top];
            let most = if stride == 0 { last } else { last.min(self.reach[top] / stride) };
            for d in 1..=most {
                if self.hits(top, d * stride)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Whether the axes below `top` can bring `sum` back into the slack.
    fn hits(&mut self, top: usize, sum: i128) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if sum.abs() <= self.slack {
            return Some(true);
        }
        if top == 0 || sum.abs() > self.reach[top] || !self.divisible(top, sum) {
            return Some(false);
        }
        let Axis { last, stride } = self.axes[top - 1];
        if stride == 0 {
            return self.hits(top - 1, sum);
        }
        let below = self.reach[top - 1];
        let low = div_ceil(-below - sum, stride).max(-last);
        let high = (below - sum).div_euclid(stride).min(last);
        for d in low..=high {
            if self.hits(top - 1, sum + d * stride)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether a multiple of the strides' common divisor is within the slack of `sum`.
    fn divisible(&self, top: usize, sum: i128) -> bool {
        let step = self.step[top];
        if step == 0 {
            return sum.abs() <= self.slack;
        }
        let rest = sum.rem_euclid(step);
        rest <= self.slack || step - rest <= self.slack
    }
}

fn div_ceil(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Dims, View};
    use std::collections::HashSet;

    fn view(dtype: DType, shape: &[i64], strides: &[i64]) -> View {
        View { base: 0, dtype, offset: 0, shape: Dims::from_slice(shape), strides: Dims::from_slice(strides) }
    }

    /// Marks every byte of every element.
    fn brute_force(view: &View) -> bool {
        let mut seen = HashSet::new();
        let mut index = vec![0; view.rank()];
        for _ in 0..view.size() {
            let at = view.at(&index);
            if !(at..at + view.dtype.size() as i64).all(|byte| seen.insert(byte)) {
                return true;
            }
            for axis in (0..view.rank()).rev() {
                index[axis] += 1;
                if index[axis] < view.shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        false
    }

    #[test]
    fn known_cases() {
        for (shape, strides, want) in [
            (&[4][..], &[8][..], false),
            (&[4], &[0], true),
            (&[1], &[0], false),
            (&[0, 5], &[0, 0], false),
            (&[4, 4], &[8, 8], true),
            (&[3, 4], &[-32, 8], false),
            // interleaved, yet disjoint: 0 24 48 and 16 40 64
            (&[2, 3], &[16, 24], false),
            (&[2, 4], &[48, 16], true),
            (&[3, 3, 3], &[8, 24, 72], false),
        ] {
            assert_eq!(view(DType::F64, shape, strides).overlaps_itself(), Some(want), "{shape:?} {strides:?}");
        }
        // parts of complex elements may start in the middle of another element
        assert_eq!(view(DType::C128, &[3], &[8]).overlaps_itself(), Some(true));
    }

    #[test]
    fn agrees_with_brute_force() {
        let mut state = 1u64;
        let mut random = move |n: i64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as i64 % n
        };
        for _ in 0..20_000 {
            let rank = random(5) as usize;
            let shape: Vec<i64> = (0..rank).map(|_| random(5)).collect();
            let strides: Vec<i64> = (0..rank).map(|_| 4 * (random(60) - 30)).collect();
            let dtype = [DType::I32, DType::F32, DType::C64][random(3) as usize];
            let view = view(dtype, &shape, &strides);
            assert_eq!(view.overlaps_itself(), Some(brute_force(&view)), "{view}");
        }
    }
}
