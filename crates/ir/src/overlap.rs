//! Does a view touch one byte through two different indices?
//!
//! In: extents, strides and an element size. Out: an exact answer, or none when the search
//! would take too long. Views that front ends write through (slices, transposes, reversals)
//! are settled by the first, linear test.

use crate::View;

/// Steps the exact search may take; far more than any view of an ordinary array needs.
const BUDGET: u32 = 1_000_000;

impl View {
    /// Do two different indices share a byte? `None` when the exact search is given up.
    pub fn overlaps_itself(&self) -> Option<bool> {
        if self.shape.contains(&0) {
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
        let slack = self.dtype.size() as i128 - 1;
        if nested(&axes, slack) {
            return Some(false);
        }
        Search::new(axes, slack).run()
    }
}

/// An axis with more than one index: its last index and the size of its stride.
#[derive(Clone, Copy)]
struct Axis {
    last: i128,
    stride: i128,
}

/// Does each axis step over everything that the axes of smaller stride reach?
fn nested(axes: &[Axis], slack: i128) -> bool {
    let mut reach = slack;
    for axis in axes {
        if axis.stride <= reach {
            return false;
        }
        reach += axis.last * axis.stride;
    }
    true
}

/// Looks for index differences `d`, not all zero, with `|sum d_i * s_i| <= slack`; the signs of
/// the strides do not matter because the differences take both signs.
struct Search {
    axes: Vec<Axis>,
    /// `reach[i]`: slack and what axes `0..i` add at most.
    reach: Vec<i128>,
    /// `step[i]`: greatest common divisor of the strides of axes `0..i`.
    step: Vec<i128>,
    slack: i128,
    left: u32,
}

impl Search {
    fn new(axes: Vec<Axis>, slack: i128) -> Search {
        let (mut reach, mut step) = (vec![slack], vec![0]);
        for (i, axis) in axes.iter().enumerate() {
            reach.push(reach[i] + axis.last * axis.stride);
            step.push(gcd(step[i], axis.stride));
        }
        Search { axes, reach, step, slack, left: BUDGET }
    }

    /// The axis of largest stride with a difference other than zero has a positive one, by symmetry.
    fn run(mut self) -> Option<bool> {
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

    /// Can the axes below `top` bring `sum` back into the slack?
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

    /// Is a multiple of the strides' common divisor within the slack of `sum`?
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
        // complex elements may start at half an element
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
