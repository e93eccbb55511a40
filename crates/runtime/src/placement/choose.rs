//! Chooses an engine for each step of a plan, so that all steps together take the least time.
//!
//! The model consists of numbers: what the steps cost and use, where their arrays are, and the rates of the engines.
//!
//! The method is a beam search over the steps in order. A state says where the valid copies of the live arrays are,
//! which is all that later steps can depend on. Of several paths to a state, the cheapest is kept. So a step that is
//! slower on a device may still run there, because the next ones find their arrays there. The search is exact while
//! there are at most [`BEAM`] states. Beyond that, the cheapest are kept, and for each engine the path on which all
//! steps that it can do run there. So the result is never worse than one engine for everything, and arrays never move
//! back and forth without a gain.

use super::rates::Rates;
use numelt_opt::Cost;
use smallvec::SmallVec;
use std::iter::successors;

/// The most states that are kept after each step.
const BEAM: usize = 16;

/// A set of engines, with a bit for each. The lowest bit is the host's; device `n` has bit `n + 1`.
pub(crate) type EngineMask = u32;

/// The host's bit.
pub(crate) const HOST: EngineMask = 1;

/// The steps of a plan, its arrays, and the rates of the engines.
pub(crate) struct Problem<'a> {
    pub steps: Vec<StepNeeds>,
    pub arrays: Vec<Array>,
    /// The rates of each engine, the host first.
    pub rates: &'a [Option<Rates>],
}

/// One step.
#[derive(Debug)]
pub(crate) struct StepNeeds {
    pub cost: Cost,
    /// The arrays that it uses, each once, and whether it writes them.
    pub uses: SmallVec<[(u32, bool); 8]>,
    /// The engines that can do it; the host can do everything.
    pub engines: EngineMask,
}

/// One array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array {
    pub nbytes: u64,
    /// Where it has valid copies before the first step.
    pub at: EngineMask,
    /// How likely it is that it has to be on the host after the last step, from zero to one.
    pub wanted_on_host: f64,
}

/// A choice of engines for the first steps.
#[derive(Clone)]
struct Path {
    nanos: f64,
    /// For each slot, where its live array has valid copies. Free slots hold zero.
    at: SmallVec<[EngineMask; 16]>,
    /// The engines for which this costs no more than running all steps there that the engine can do.
    pure: EngineMask,
    /// The path that this one continues, and the engine of its last step.
    from: u8,
    engine: u8,
}

/// The numbers of the engines in a set.
fn members(mask: EngineMask) -> impl Iterator<Item = usize> {
    successors(Some(mask), |rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|&rest| rest != 0)
        .map(|rest| rest.trailing_zeros() as usize)
}

impl Problem<'_> {
    /// The rates of an engine, if they are known. Those of devices that the rule does not choose from are not.
    fn rates_of(&self, engine: usize) -> Option<Rates> {
        self.rates.get(engine).copied().flatten()
    }

    /// The engine of each step, by number.
    pub fn choose(&self) -> Vec<u8> {
        let last = self.last_uses();
        let mut slots = Slots::new(self.arrays.len());
        let mut paths = vec![Path { nanos: 0.0, at: SmallVec::new(), pure: EngineMask::MAX, from: 0, engine: 0 }];
        let mut trail: Vec<SmallVec<[(u8, u8); BEAM]>> = Vec::with_capacity(self.steps.len());
        for (number, step) in self.steps.iter().enumerate() {
            for &(array, _) in &step.uses {
                slots.enter(array, self.arrays[array as usize].at, &mut paths);
            }
            let mut next: Vec<Path> = Vec::with_capacity(paths.len() * 2);
            for (from, path) in (0..).zip(&paths) {
                next.extend(members(step.engines | HOST).map(|engine| self.after(path, from, step, engine, &slots)));
            }
            for &(array, _) in step.uses.iter().filter(|(array, _)| last[*array as usize] == number) {
                let slot = slots.leave(array);
                for path in &mut next {
                    path.nanos += self.way_to_host(array, std::mem::take(&mut path.at[slot]));
                }
            }
            paths = cheapest(next);
            trail.push(paths.iter().map(|path| (path.from, path.engine)).collect());
        }
        follow(&trail)
    }

    /// The nanoseconds that all steps take on these engines, including all copies.
    pub fn nanos(&self, engines: &[u8]) -> f64 {
        let mut at: Vec<EngineMask> = self.arrays.iter().map(|array| array.at).collect();
        let mut nanos = 0.0;
        for (step, &engine) in self.steps.iter().zip(engines) {
            nanos += self.rates_of(engine as usize).map_or(0.0, |rates| rates.step(&step.cost));
            for &(array, written) in &step.uses {
                let at = &mut at[array as usize];
                nanos += self.transfer(array, at, engine as usize);
                *at = if written { 1 << engine } else { *at };
            }
        }
        let used = self.last_uses().into_iter().map(|last| last != usize::MAX);
        let home =
            (0..).zip(at).zip(used).filter(|(_, used)| *used).map(|((array, at), _)| self.way_to_host(array, at));
        nanos + home.sum::<f64>()
    }

    fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![usize::MAX; self.arrays.len()];
        for (number, step) in self.steps.iter().enumerate() {
            step.uses.iter().for_each(|&(array, _)| last[array as usize] = number);
        }
        last
    }

    /// The path with one more step.
    fn after(&self, path: &Path, from: u8, step: &StepNeeds, engine: usize, slots: &Slots) -> Path {
        let here = 1 << engine;
        let mut next = Path { from, engine: engine as u8, ..path.clone() };
        next.nanos += self.rates_of(engine).map_or(0.0, |rates| rates.step(&step.cost));
        for &(array, written) in &step.uses {
            let at = &mut next.at[slots.of(array)];
            next.nanos += self.transfer(array, at, engine);
            if written {
                *at = here;
            }
        }
        // steps that an engine cannot do run on the host, also on the path of that engine
        let instead = if engine == 0 { !step.engines | HOST } else { here };
        next.pure &= instead;
        next
    }

    /// The nanoseconds that it takes to bring an array to an engine. Notes the copies that this makes.
    fn transfer(&self, array: u32, at: &mut EngineMask, engine: usize) -> f64 {
        let here = 1 << engine;
        if *at == 0 || *at & here != 0 {
            return 0.0;
        }
        let mut nanos = 0.0;
        if *at & HOST == 0 {
            nanos += self.download(array, *at);
        }
        if engine != 0 {
            let nbytes = self.arrays[array as usize].nbytes;
            nanos += self.rates_of(engine).map_or(0.0, |rates| rates.there(nbytes));
        }
        *at |= HOST | here;
        nanos
    }

    /// The nanoseconds of a copy from one of the devices that have the array.
    fn download(&self, array: u32, at: EngineMask) -> f64 {
        let nbytes = self.arrays[array as usize].nbytes;
        self.rates_of(at.trailing_zeros() as usize).map_or(0.0, |rates| rates.back(nbytes))
    }

    /// The nanoseconds that copying an array to the host after the last step is likely to take.
    fn way_to_host(&self, array: u32, at: EngineMask) -> f64 {
        let share = self.arrays[array as usize].wanted_on_host;
        if at == 0 || at & HOST != 0 || share == 0.0 { 0.0 } else { share * self.download(array, at) }
    }
}

/// Keeps the cheapest path to each state; of these the cheapest, and those that stay on one engine.
fn cheapest(mut paths: Vec<Path>) -> Vec<Path> {
    paths.sort_by(|a, b| a.nanos.total_cmp(&b.nanos));
    let mut kept: Vec<Path> = Vec::with_capacity(paths.len().min(2 * BEAM));
    for path in paths {
        if let Some(cheaper) = kept.iter_mut().find(|other| other.at == path.at) {
            cheaper.pure |= path.pure;
        } else if kept.len() < BEAM || path.pure != 0 {
            kept.push(path);
        }
    }
    kept
}

/// The engines along the cheapest path, which is the first after the last step.
fn follow(trail: &[SmallVec<[(u8, u8); BEAM]>]) -> Vec<u8> {
    let mut at = 0;
    let mut engines: Vec<u8> = Vec::with_capacity(trail.len());
    for step in trail.iter().rev() {
        let (from, engine) = step[at as usize];
        engines.push(engine);
        at = from;
    }
    engines.reverse();
    engines
}

/// The slots of the live arrays in a state. Slots are used again, so that states stay short.
struct Slots {
    of: Vec<u32>,
    free: Vec<u32>,
    count: u32,
}

impl Slots {
    const NONE: u32 = u32::MAX;

    fn new(arrays: usize) -> Slots {
        Slots { of: vec![Slots::NONE; arrays], free: Vec::new(), count: 0 }
    }

    fn of(&self, array: u32) -> usize {
        self.of[array as usize] as usize
    }

    /// Gives an array a slot in all states, unless it has one.
    fn enter(&mut self, array: u32, at: EngineMask, paths: &mut [Path]) {
        if self.of[array as usize] != Slots::NONE {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            paths.iter_mut().for_each(|path| path.at.push(0));
            self.count - 1
        });
        self.of[array as usize] = slot;
        paths.iter_mut().for_each(|path| path.at[slot as usize] = at);
    }

    /// The slot of an array that no later step uses; it is free from now on.
    fn leave(&mut self, array: u32) -> usize {
        let slot = std::mem::replace(&mut self.of[array as usize], Slots::NONE);
        self.free.push(slot);
        slot as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A host, and a device that computes ten times as fast, is slow where work is serial, and is far away.
    const HOST_RATES: Rates =
        Rates { launch: 1e3, byte: 0.1, work: 0.2, serial: 1.0, upload: 0.0, download: 0.0, latency: 0.0 };
    const DEVICE_RATES: Rates =
        Rates { launch: 1e4, byte: 0.01, work: 0.02, serial: 50.0, upload: 0.3, download: 0.3, latency: 1e4 };
    const RATES: [Option<Rates>; 2] = [Some(HOST_RATES), Some(DEVICE_RATES)];
    const DEVICE: EngineMask = 2;

    fn array(nbytes: u64, at: EngineMask) -> Array {
        Array { nbytes, at, wanted_on_host: 0.0 }
    }

    fn step(uses: &[(u32, bool)], bytes: u64, work: u64, serial: u64) -> StepNeeds {
        let cost = Cost { read: bytes / 2, written: bytes / 2, work, serial };
        StepNeeds { cost, uses: uses.into(), engines: HOST | DEVICE }
    }

    fn choose(steps: Vec<StepNeeds>, arrays: Vec<Array>) -> Vec<u8> {
        Problem { steps, arrays, rates: &RATES }.choose()
    }

    /// Elements of a large array of 8 bytes each.
    const MANY: u64 = 1 << 20;

    /// A chain of `n` steps from array 0 to array `n`, with `work` units of work on each element.
    fn chain(n: u32, elements: u64, work: u64) -> (Vec<StepNeeds>, Vec<Array>) {
        let link = |at| step(&[(at, false), (at + 1, true)], 16 * elements, work * elements, 0);
        let arrays = (0..=n).map(|at| array(8 * elements, if at == 0 { HOST } else { 0 }));
        ((0..n).map(link).collect(), arrays.collect())
    }

    #[test]
    fn a_chain_of_large_steps_moves_once_and_stays() {
        let (steps, arrays) = chain(12, MANY, 1);
        assert_eq!(choose(steps, arrays), [1; 12]);
        // a single step does not repay the copies to the device
        let (steps, arrays) = chain(1, MANY, 1);
        assert_eq!(choose(steps, arrays), [0]);
    }

    #[test]
    fn much_work_on_few_bytes_moves_and_small_work_does_not() {
        let (steps, arrays) = chain(1, MANY, 100);
        assert_eq!(choose(steps, arrays), [1]);
        let (steps, arrays) = chain(1, 100, 100);
        assert_eq!(choose(steps, arrays), [0]);
    }

    #[test]
    fn data_on_the_device_stay_there() {
        let (steps, mut arrays) = chain(1, MANY, 1);
        arrays[0].at = DEVICE;
        assert_eq!(choose(steps, arrays), [1]);
    }

    #[test]
    fn what_is_wanted_on_the_host_counts_the_way_back() {
        let (steps, mut arrays) = chain(1, MANY, 8);
        arrays[0].at = DEVICE | HOST;
        assert_eq!(choose(steps, arrays), [1]);
        let (steps, mut arrays) = chain(1, MANY, 8);
        (arrays[0].at, arrays[1].wanted_on_host) = (DEVICE | HOST, 1.0);
        assert_eq!(choose(steps, arrays), [0]);
    }

    #[test]
    fn serial_steps_stay_on_the_host_and_what_a_device_cannot_do() {
        let running = |elements: u64| step(&[(0, false), (1, true)], 16 * elements, elements, elements);
        let arrays = || vec![array(8 * MANY, HOST), array(8 * MANY, 0)];
        assert_eq!(choose(vec![running(MANY)], arrays()), [0]);
        let (mut steps, arrays) = chain(12, MANY, 100);
        steps[5].engines = HOST;
        assert_eq!(choose(steps, arrays), [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn two_chains_by_turns_go_to_different_engines() {
        // a device gains on the first chain only over all of its steps; the second chain is serial
        let mut steps = Vec::new();
        for _ in 0..8 {
            steps.push(step(&[(0, true)], 16 * MANY, MANY, 0));
            steps.push(step(&[(1, true)], 16 * MANY, MANY, MANY));
        }
        assert_eq!(choose(steps, vec![array(8 * MANY, HOST), array(8 * MANY, HOST)]), [1, 0].repeat(8));
    }

    #[test]
    fn a_long_plan_of_many_arrays_is_decided() {
        let (mut steps, mut arrays) = chain(500, MANY, 3);
        let shared: Vec<u32> = (0..60).map(|n| arrays.len() as u32 + n).collect();
        arrays.extend(shared.iter().map(|_| array(64, HOST)));
        for (at, step) in steps.iter_mut().enumerate() {
            step.uses.extend([(shared[at % 60], false), (shared[at * 7 % 60], at % 3 == 0)]);
            step.uses.sort_unstable();
            step.uses.dedup_by_key(|(array, _)| *array);
        }
        assert_eq!(choose(steps, arrays), [1; 500]);
    }

    fn steps(most: usize) -> impl Strategy<Value = Vec<StepNeeds>> {
        let uses = prop::collection::btree_map(0..4u32, any::<bool>(), 1..4);
        let step = (uses, 0..1u64 << 24, 0..1u64 << 26, 0..1u64 << 20, 1..4u32).prop_map(
            |(uses, bytes, work, serial, engines)| {
                let uses: Vec<(u32, bool)> = uses.into_iter().collect();
                StepNeeds { engines: engines | HOST, ..step(&uses, bytes, work, serial.min(work)) }
            },
        );
        prop::collection::vec(step, 1..most)
    }

    fn arrays() -> impl Strategy<Value = Vec<Array>> {
        let array = (0..1u64 << 24, 0..4u32, 0..3u32).prop_map(|(nbytes, at, likely)| Array {
            nbytes,
            at,
            wanted_on_host: f64::from(likely) / 2.0,
        });
        prop::collection::vec(array, 4)
    }

    proptest! {
        #[test]
        fn few_steps_are_decided_in_the_best_way(steps in steps(5), arrays in arrays()) {
            let problem = Problem { steps, arrays, rates: &RATES };
            let count = problem.steps.len();
            let able = |engines: &[u8]| problem.steps.iter().zip(engines).all(|(s, &e)| s.engines & (1 << e) != 0);
            let all = (0..1u32 << count).map(|bits| (0..count).map(|at| (bits >> at & 1) as u8).collect::<Vec<u8>>());
            let best = all.filter(|engines| able(engines)).map(|engines| problem.nanos(&engines)).fold(f64::MAX, f64::min);
            let chosen = problem.choose();
            prop_assert!(able(&chosen));
            prop_assert!(problem.nanos(&chosen) <= best * (1.0 + 1e-9), "{chosen:?}");
        }

        #[test]
        fn no_single_engine_is_better(steps in steps(60), arrays in arrays()) {
            let problem = Problem { steps, arrays, rates: &RATES };
            let chosen = problem.nanos(&problem.choose());
            for engine in [0, 1] {
                let able = |step: &StepNeeds| if step.engines & (1 << engine) != 0 { engine } else { 0 };
                let alone: Vec<u8> = problem.steps.iter().map(able).collect();
                prop_assert!(chosen <= problem.nanos(&alone) * (1.0 + 1e-9));
            }
        }
    }
}
