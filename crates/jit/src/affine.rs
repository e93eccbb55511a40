//! Affine expressions: sums of integer values with constant factors, such as `2*i + j - 1`, and bounds on them.
//!
//! In: how integers were computed, and the extents of loops. Out: lower bounds of an expression, as expressions of
//! loop-invariant values. They show before a loop begins that indices are within bounds. Not here: the use of these
//! bounds.

use numelt_func::Value;
use std::collections::{BTreeMap, HashMap};

/// An affine expression: a constant and terms. No factor of a term is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    /// The values with their factors.
    pub terms: BTreeMap<Value, i64>,
    /// The constant.
    pub constant: i64,
}

/// The largest number of terms of an expression.
const MOST_TERMS: usize = 8;
/// The largest number of lower bounds that are computed for an expression.
const MOST_WAYS: usize = 16;

impl Affine {
    /// A constant.
    pub fn of(constant: i64) -> Affine {
        Affine { terms: BTreeMap::new(), constant }
    }

    /// `self + factor * other`
    pub fn plus(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (value, own) in &other.terms {
            let term = sum.terms.entry(*value).or_insert(0);
            *term = term.checked_add(own.checked_mul(factor)?)?;
            if *term == 0 {
                sum.terms.remove(value);
            }
        }
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }

    /// The constant, if the expression has no terms.
    pub fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// Facts about integer values.
#[derive(Debug, Default)]
pub struct Facts {
    sums: HashMap<Value, Affine>,
    /// Values, usually iteration numbers, that are not negative and, times `scale`, at most the expression.
    limits: HashMap<Value, (i64, Affine)>,
    /// Values that are the maximum (true) or the minimum of two others.
    extremes: HashMap<Value, (bool, [Value; 2])>,
}

impl Facts {
    /// Forgets all facts about values from a number on.
    pub fn forget(&mut self, from: usize) {
        self.sums.retain(|value, _| (value.0 as usize) < from);
        self.limits.retain(|value, _| (value.0 as usize) < from);
        self.extremes.retain(|value, _| (value.0 as usize) < from);
    }

    /// Records that a value equals an expression.
    pub fn set(&mut self, value: Value, sum: Affine) {
        self.sums.insert(value, sum);
    }

    /// Records that a value is the maximum or the minimum of two others.
    pub fn set_extreme(&mut self, value: Value, is_max: bool, of: [Value; 2]) {
        self.extremes.insert(value, (is_max, of));
    }

    /// Records that a value, usually an iteration number, is not negative and, times `scale`, at most an expression.
    pub fn set_limit(&mut self, number: Value, scale: i64, most: Affine) {
        self.limits.insert(number, (scale, most));
    }

    /// The expression that a value equals; by default the value itself.
    pub fn sum(&self, value: Value) -> Affine {
        self.sums.get(&value).cloned().unwrap_or_else(|| Affine { terms: BTreeMap::from([(value, 1)]), constant: 0 })
    }

    /// The limit that `set_limit` has recorded for a value, if any.
    pub fn limit(&self, value: Value) -> Option<&Affine> {
        self.limits.get(&value).map(|(_, most)| most)
    }

    /// The two values of which a value is the maximum or the minimum.
    pub fn extreme(&self, value: Value) -> Option<[Value; 2]> {
        self.extremes.get(&value).map(|(_, of)| *of)
    }

    /// Lower bounds of an expression. Each of them holds by itself. They contain no value that is an iteration number,
    /// a maximum or a minimum.
    pub fn least(&self, sum: &Affine) -> Vec<Affine> {
        self.least_but(sum, None)
    }

    /// The same, but the bounds may contain `kept`.
    pub fn least_but(&self, sum: &Affine, kept: Option<Value>) -> Vec<Affine> {
        let (mut open, mut done) = (vec![sum.clone()], Vec::new());
        while let Some(sum) = open.pop() {
            if open.len() + done.len() > MOST_WAYS {
                break;
            }
            // the value computed last is replaced first, because it may depend on the others
            let found = sum
                .terms
                .iter()
                .rev()
                .filter(|(value, _)| Some(**value) != kept)
                .find(|(value, _)| self.limits.contains_key(value) || self.extremes.contains_key(value));
            let Some((&value, &factor)) = found else {
                done.push(sum);
                continue;
            };
            let mut rest = sum.clone();
            rest.terms.remove(&value);
            if let Some((scale, most)) = self.limits.get(&value) {
                if factor > 0 {
                    open.push(rest);
                } else if factor % scale == 0 {
                    open.extend(rest.plus(most, factor / scale));
                }
            } else if let Some((is_max, of)) = self.extremes.get(&value)
                && *is_max == (factor > 0)
            {
                open.extend(of.iter().filter_map(|one| rest.plus(&self.sum(*one), factor)));
            }
        }
        done
    }
}
