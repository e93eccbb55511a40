//! Sums of integers with constant factors (`2*i + j - 1`), and what is known about their size.
//!
//! In: how integers were computed, the extents of loops. Out: the least value of a sum, as a sum of numbers that are
//! known outside a loop. Indices are shown to lie inside arrays that way before a loop begins. Not here: what is done
//! with the answer.

use numelt_func::Value;
use std::collections::{BTreeMap, HashMap};

/// A constant and terms: values with their factors, none of which is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    /// The terms.
    pub terms: BTreeMap<Value, i64>,
    /// The constant.
    pub constant: i64,
}

/// Sums of more terms are not looked into.
const MOST_TERMS: usize = 8;
/// No more than so many ways to estimate a sum are tried.
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

    /// The constant, if there is nothing else.
    pub fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// What is known of integers.
#[derive(Debug, Default)]
pub struct Facts {
    sums: HashMap<Value, Affine>,
    /// Numbers of iterations: not negative, and `scale` times the number is at most the sum.
    limits: HashMap<Value, (i64, Affine)>,
    /// The greater (true) or the lesser of two.
    extremes: HashMap<Value, (bool, [Value; 2])>,
}

impl Facts {
    /// Forgets what it knows of values from a number on.
    pub fn forget(&mut self, from: usize) {
        self.sums.retain(|value, _| (value.0 as usize) < from);
        self.limits.retain(|value, _| (value.0 as usize) < from);
        self.extremes.retain(|value, _| (value.0 as usize) < from);
    }

    /// Notes how a value was computed.
    pub fn set(&mut self, value: Value, sum: Affine) {
        self.sums.insert(value, sum);
    }

    /// Notes that a value is the greater or the lesser of two.
    pub fn set_extreme(&mut self, value: Value, is_max: bool, of: [Value; 2]) {
        self.extremes.insert(value, (is_max, of));
    }

    /// Notes that a number, of an iteration as a rule, is not negative and, times `scale`, at most a sum.
    pub fn set_limit(&mut self, number: Value, scale: i64, most: Affine) {
        self.limits.insert(number, (scale, most));
    }

    /// A value as a sum.
    pub fn sum(&self, value: Value) -> Affine {
        self.sums.get(&value).cloned().unwrap_or_else(|| Affine { terms: BTreeMap::from([(value, 1)]), constant: 0 })
    }

    /// Is it the number of an iteration, whose limit is known? Then that limit.
    pub fn limit(&self, value: Value) -> Option<&Affine> {
        self.limits.get(&value).map(|(_, most)| most)
    }

    /// The two of which a value is the greater or the lesser.
    pub fn extreme(&self, value: Value) -> Option<[Value; 2]> {
        self.extremes.get(&value).map(|(_, of)| *of)
    }

    /// Sums that a sum is at least, none of which has a term that is known to change inside loops. Each of them holds
    /// by itself.
    pub fn least(&self, sum: &Affine) -> Vec<Affine> {
        let (mut open, mut done) = (vec![sum.clone()], Vec::new());
        while let Some(sum) = open.pop() {
            if open.len() + done.len() > MOST_WAYS {
                break;
            }
            // what was computed last first: it may depend on the others
            let found = sum
                .terms
                .iter()
                .rev()
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
