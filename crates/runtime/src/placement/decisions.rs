//! The decisions for one plan.
//!
//! A decision is an engine for each step. It holds as long as the plan's arrays are in the same locations before it
//! runs, and the rates are the same; repeating a plan then costs only a comparison.
//!
//! A loop that runs a plan repeatedly may gain by moving its arrays where a single run does not. It is unknown how
//! often a plan will be repeated, so the rule of the ski rental problem is used: the gains that past runs would have
//! had are added up, and when the sum reaches the cost of moving there and back, the arrays move. If they stay there,
//! the next run finds them there, which is another key. If they do not, because each run gets new arrays from the
//! host, the next attempt is made after twice as large a sum.

use super::choose::{Array, EngineMask, Problem};
use super::rates::Rates;
use numelt_opt::Cost;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most decisions that are kept for a plan; the oldest is forgotten first.
const KEPT: usize = 4;

/// A plan with fewer bytes and units of work than this is no reason to measure engines: the host takes less time for
/// it than any device takes for a launch and two copies.
const WORTH_MEASURING: u64 = 1 << 16;

/// The probability that a result is next read on the host, so that copying it there counts. It cannot be known. One
/// half is between programs that go on computing with it and those that read it, and costs neither more than twice
/// the best choice.
pub(crate) const READ_NEXT: f64 = 0.5;

/// A bit of a key: the array can be seen from outside.
pub(crate) const SEEN: EngineMask = 1 << 31;
/// The most devices that a mask can hold.
pub(crate) const DEVICES: usize = 30;

/// Where the arrays of a plan are, by the numbers of the arrays.
pub(crate) type Key = SmallVec<[EngineMask; 16]>;

/// The engine of each step, the host being zero.
pub(crate) type Engines = Arc<[u8]>;

/// The decisions for one plan.
#[derive(Default)]
pub(crate) struct Decisions(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The rates on which the decisions are based.
    rates: Option<Arc<[Option<Rates>]>>,
    made: Vec<Decision>,
    /// Steps, each with a device, that the device had no memory for or could not do. They are not sent there again.
    refused: Vec<(usize, usize)>,
}

struct Decision {
    key: Key,
    engines: Engines,
    /// The choice that would be better if the plan's arrays were there already.
    later: Option<Later>,
}

struct Later {
    engines: Engines,
    /// The nanoseconds that each run would gain, and the sum for all runs since the last attempt.
    gain: f64,
    missed: f64,
    /// The sum at which an attempt is made: the cost of moving there and back, doubled after each attempt.
    price: f64,
}

/// The smallest part of a run's time that is worth moving for. Less than that is within the error of the rates.
const WORTH_GAINING: f64 = 0.1;

impl Decision {
    fn new(key: Key, mut problem: Problem<'_>) -> Decision {
        let engines: Engines = problem.choose().into();
        let arrays = std::mem::take(&mut problem.arrays);
        let certain = |array: Array, else_on_host: f64| Array {
            wanted_on_host: if array.wanted_on_host == READ_NEXT { else_on_host } else { array.wanted_on_host },
            ..array
        };
        problem.arrays = arrays.iter().map(|&array| certain(array, 0.0)).collect();
        let now = problem.nanos(&engines);
        for array in problem.arrays.iter_mut().filter(|array| array.at != 0) {
            array.at = EngineMask::MAX;
        }
        let then: Engines = problem.choose().into();
        let gain = now - problem.nanos(&then);
        problem.arrays = arrays.iter().map(|&array| certain(array, 1.0)).collect();
        let price = problem.nanos(&then) - problem.nanos(&engines);
        let is_better = then != engines && gain > now * WORTH_GAINING;
        let later = is_better.then_some(Later { engines: then, gain, missed: 0.0, price });
        Decision { key, engines, later }
    }

    /// The engines for the next run.
    fn next(&mut self) -> Engines {
        if let Some(later) = &mut self.later {
            later.missed += later.gain;
            if later.missed >= later.price {
                (later.missed, later.price) = (0.0, later.price * 2.0);
                return Arc::clone(&later.engines);
            }
        }
        Arc::clone(&self.engines)
    }
}

impl Decisions {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a device did not take a step.
    pub fn refuse(&self, step: usize, device: usize) {
        let mut known = self.lock();
        if !known.refused.contains(&(step, device)) {
            known.refused.push((step, device));
        }
        known.made.clear();
    }

    /// The engine of each step of the plan, if that has been decided for these rates and arrays in these locations.
    pub fn made(&self, key: &Key, rates: &Arc<[Option<Rates>]>) -> Option<Engines> {
        let mut known = self.lock();
        if !known.rates.as_ref().is_some_and(|own| Arc::ptr_eq(own, rates)) {
            known.made.clear();
            known.rates = Some(Arc::clone(rates));
        }
        known.made.iter_mut().find(|decision| decision.key == *key).map(Decision::next)
    }

    /// Whether a device has not taken a step.
    pub fn is_refused(&self, step: usize, device: usize) -> bool {
        self.lock().refused.contains(&(step, device))
    }

    /// Decides on the engine of each step, for the rates with which [`Decisions::made`] was called last.
    pub fn decide(&self, key: Key, problem: Problem<'_>) -> Engines {
        let mut decision = Decision::new(key, problem);
        let engines = decision.next();
        let mut known = self.lock();
        if known.made.len() >= KEPT {
            known.made.remove(0);
        }
        known.made.push(decision);
        engines
    }
}

/// Whether a device could gain anything on a plan whose arrays are all on the host. If the host takes less time than
/// a launch, no device can.
pub(crate) fn may_gain(costs: &[Cost], rates: Option<&[Option<Rates>]>) -> bool {
    match rates {
        Some([Some(host), devices @ ..]) => {
            let launches = devices.iter().flatten().map(|rates| rates.launch);
            costs.iter().map(|cost| host.step(cost)).sum::<f64>() > launches.fold(f64::INFINITY, f64::min)
        }
        Some(_) => false,
        None => {
            let load = |sum: u64, cost: &Cost| sum.saturating_add(cost.bytes()).saturating_add(cost.work);
            costs.iter().fold(0, load) >= WORTH_MEASURING
        }
    }
}
