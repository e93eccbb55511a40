//! Whether two views of one base share a byte.
//!
//! In: two views. Out: yes or no; a "no" is always right. The answer is exact unless the bounded search runs out of
//! steps, which happens only for strides that are neither nested nor equal.
//!
//! The elements at indices `i` and `j` share a byte if the distance of their addresses lies in a small window. That
//! distance is `delta + sum(s_k * i_k) - sum(t_k * j_k)`. Axes with the same absolute stride collapse into one variable
//! with a wider range. So for views of one array there are as many variables as the array has axes, and large strides
//! leave one or two candidates each.

use numelt_ir::View;
use smallvec::SmallVec;

/// The most nodes that the exact search may visit before it gives up and answers "may overlap".
const SEARCH_BUDGET: u32 = 2048;

/// One variable of the distance: `step * x` with `0 <= x <= count`.
#[derive(Clone, Copy)]
struct Term {
    step: i64,
    count: i64,
}

/// May `a` and `b`, views of one base, share a byte? Empty views share nothing.
pub(crate) fn overlaps(a: &View, b: &View) -> bool {
    debug_assert_eq!(a.base, b.base);
    let (Some((a_low, a_high)), Some((b_low, b_high))) = (a.byte_range(), b.byte_range()) else {
        return false;
    };
    if a_low >= b_high || b_low >= a_high {
        return false;
    }
    // dense views, and pairs that start at the same element, need no search
    if a.offset == b.offset {
        return true;
    }
    let mut terms = Terms::default();
    terms.add_view(a, 1);
    terms.add_view(b, -1);
    let delta = a.offset - b.offset + terms.shift;
    let low = -(a.dtype.size() as i64 - 1) - delta;
    let high = b.dtype.size() as i64 - 1 - delta;
    terms.reaches(low, high)
}

/// The greatest common divisor of the strides; zero for a single element.
pub(crate) fn pitch(view: &View) -> i64 {
    view.strides.iter().fold(0, |gcd, &s| greatest_common_divisor(gcd, s.abs()))
}

/// The variables of a distance, by step. `shift` is the constant part that results from changing ranges to `0..=count`.
#[derive(Default)]
struct Terms {
    terms: SmallVec<[Term; 8]>,
    shift: i64,
}

impl Terms {
    fn add_view(&mut self, view: &View, sign: i64) {
        for (&n, &s) in view.shape.iter().zip(&view.strides) {
            let (step, count) = (s * sign, n - 1);
            if step == 0 || count == 0 {
                continue;
            }
            if step < 0 {
                // step * x = -step * (count - x) + step * count
                self.shift += step * count;
            }
            match self.terms.iter_mut().find(|t| t.step == step.abs()) {
                Some(term) => term.count += count,
                None => self.terms.push(Term { step: step.abs(), count }),
            }
        }
    }

    /// Whether there are values of all variables whose sum is in `low..=high`.
    fn reaches(&mut self, low: i64, high: i64) -> bool {
        self.terms.sort_unstable_by_key(|t| std::cmp::Reverse(t.step));
        // for each position, the range of the sum of the variables from there on, and their common step
        let mut tails: SmallVec<[(i64, i64); 8]> = SmallVec::from_elem((0, 0), self.terms.len() + 1);
        for k in (0..self.terms.len()).rev() {
            let (reach, gcd) = tails[k + 1];
            let term = self.terms[k];
            tails[k] = (reach + term.step * term.count, greatest_common_divisor(gcd, term.step));
        }
        let mut budget = SEARCH_BUDGET;
        search(&self.terms, &tails, low, high, &mut budget)
    }
}

fn search(terms: &[Term], tails: &[(i64, i64)], low: i64, high: i64, budget: &mut u32) -> bool {
    let (reach, gcd) = tails[0];
    if high < 0 || low > reach {
        return false;
    }
    if gcd == 0 {
        return low <= 0;
    }
    // the sum is a multiple of the greatest common divisor
    if low > 0 && high.div_euclid(gcd) * gcd < low {
        return false;
    }
    if low <= 0 {
        return true;
    }
    if *budget == 0 {
        return true;
    }
    *budget -= 1;
    let (term, rest) = (terms[0], tails[1].0);
    // `rest` is the most that the others can add, so this variable must bring the sum close enough
    let first = ((low - rest).max(0) + term.step - 1) / term.step;
    let last = (high / term.step).min(term.count);
    (first..=last).any(|x| search(&terms[1..], &tails[1..], low - x * term.step, high - x * term.step, budget))
}

fn greatest_common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use numelt_ir::{DType, Dims};

    fn view(dtype: DType, offset: i64, shape: &[i64], strides: &[i64]) -> View {
        View { base: 0, dtype, offset, shape: Dims::from_slice(shape), strides: Dims::from_slice(strides) }
    }

    fn brute(a: &View, b: &View) -> bool {
        let bytes = |v: &View| -> Vec<i64> {
            let mut starts = vec![v.offset];
            for (&n, &s) in v.shape.iter().zip(&v.strides) {
                starts = starts.iter().flat_map(|&p| (0..n).map(move |i| p + i * s)).collect();
            }
            let size = v.dtype.size() as i64;
            let mut all: Vec<i64> = starts.iter().flat_map(|&p| p..p + size).collect();
            all.sort_unstable();
            all
        };
        let (x, y) = (bytes(a), bytes(b));
        x.iter().any(|p| y.binary_search(p).is_ok())
    }

    #[test]
    fn checkerboards_and_columns_are_disjoint() {
        for n in [8i64, 9, 10, 1001] {
            let row = n * 8;
            let half = (n - 2) / 2;
            let red = view(DType::F64, row + 8, &[half, half], &[2 * row, 16]);
            let black = view(DType::F64, 8, &[half, half], &[2 * row, 16]);
            assert!(!overlaps(&red, &black), "rows of {n}");
            let side = view(DType::F64, row, &[half, half], &[2 * row, 16]);
            assert!(!overlaps(&red, &side));
            let same_colour = view(DType::F64, 3 * row + 8, &[half - 1, half], &[2 * row, 16]);
            assert!(overlaps(&red, &same_colour));
        }
        let column = |k: i64| view(DType::F32, 4 * k, &[100], &[400]);
        assert!(!overlaps(&column(3), &column(4)));
        let columns = |k: i64, w: i64| view(DType::F32, 4 * k, &[100, w], &[400, 4]);
        assert!(!overlaps(&columns(0, 50), &columns(50, 50)));
        assert!(overlaps(&columns(0, 51), &columns(50, 50)));
        assert!(!overlaps(&view(DType::F32, 0, &[10], &[8]), &view(DType::F32, 4, &[10], &[8])));
        assert!(overlaps(&view(DType::C64, 0, &[10], &[8]), &view(DType::F32, 4, &[10], &[8])));
    }

    #[test]
    fn reversed_views_meet() {
        let forward = view(DType::F64, 0, &[10], &[8]);
        assert!(overlaps(&forward, &view(DType::F64, 72, &[10], &[-8])));
        assert!(!overlaps(&view(DType::F64, 0, &[5], &[16]), &view(DType::F64, 72, &[5], &[-16])));
    }

    #[test]
    fn agrees_with_brute_force() {
        let mut seed = 7u64;
        let mut next = |n: i64| -> i64 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) as i64) % n
        };
        let dtypes = [DType::U8, DType::I16, DType::F32, DType::F64, DType::C128];
        for _ in 0..20_000 {
            let mut random = || {
                let rank = next(4) as usize;
                let dtype = dtypes[next(5) as usize];
                let shape: Vec<i64> = (0..rank).map(|_| next(5)).collect();
                let strides: Vec<i64> = (0..rank).map(|_| next(49) - 24).collect();
                view(dtype, 400 + next(120), &shape, &strides)
            };
            let (a, b) = (random(), random());
            assert_eq!(overlaps(&a, &b), brute(&a, &b), "{a:?} {b:?}");
            if a.is_injective() {
                assert!(
                    a.shape.iter().product::<i64>() <= 1
                        || a.strides.iter().zip(&a.shape).all(|(&s, &n)| n <= 1 || s != 0)
                );
            }
        }
    }
}
