//! From a batch to its plan, and what the plan leaves to be computed later.

use super::State;
use crate::base::{BaseCell, POOL};
use crate::batch::Batch;
use crate::exec::{Kept, ReadyPlan};
use crate::footprint;
use crate::lost;
use crate::report::Warning;
use crate::shared::Shared;
use crate::stats::Reason;
use numelt_ir::{Program, Result};
use numelt_opt::{Fuse, Options, Passes, Plan, Recipe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Instructions from which on planning takes so much memory that it is worth giving back at once.
const LONG: usize = 256;
/// Bytes that planning takes for each, most of them for a moment.
const PLANNING: usize = 3000;

impl State {
    /// The batch's plan, from the cache or made now; `None` where it is to run without one.
    pub(super) fn ready(&mut self, batch: &mut Batch) -> Result<Option<(Arc<ReadyPlan>, bool)>> {
        if lost::among(&batch.slots) {
            return Ok(None);
        }
        let found = batch.expected().or_else(|| {
            let key = self.config.plan_cache.then(|| batch.key())?;
            self.caches.find(key, batch.program())
        });
        if let Some(plan) = found {
            self.stats.plan_hits += 1;
            if batch.len() >= LONG {
                self.habit.note_long(batch.len(), true);
            }
            return Ok(Some((plan, true)));
        }
        if self.goes_piecemeal(batch) {
            return Ok(None);
        }
        self.stats.plan_misses += 1;
        let key = batch.key();
        let recipes = if self.caches.forget_regretted(key, batch.program()) { Vec::new() } else { self.recipes(batch) };
        let ready = Arc::new(self.planned(batch, recipes)?);
        batch.became(&ready);
        if self.config.plan_cache {
            self.caches.keep(key, Arc::clone(&ready));
        }
        Ok(Some((ready, false)))
    }

    /// The values of a settled batch that need not be stored.
    fn recipes(&self, batch: &mut Batch) -> Vec<Recipe> {
        if self.config.put_off == 0 {
            return Vec::new();
        }
        let mut recipes = numelt_opt::recipes(batch.program(), self.config.put_off);
        recipes.retain(|r| !r.inputs.iter().any(|&base| batch.slots[base as usize].is_seen_outside()));
        recipes
    }

    /// A plan for a settled batch that leaves out the values of `recipes`, of which it has those that no step needs in
    /// memory.
    fn planned(&mut self, batch: &mut Batch, mut recipes: Vec<Recipe>) -> Result<ReadyPlan> {
        let long = batch.len() >= LONG;
        if long {
            make_room(batch.len() * PLANNING);
        }
        let kept = Kept::of(batch.program());
        let program = batch.take_program();
        let planned = match plan_without(program, &mut recipes, &self.options()) {
            Ok(mut plan) => self.caches.executables(&*self.engine, &mut plan.steps).map(|made| (plan, made)),
            Err(error) => Err(error),
        };
        let (plan, (executables, prepared)) = planned.inspect_err(|_| batch.put_back(kept.instrs()))?;
        self.stats.kernels_compiled += prepared;
        let ready = ReadyPlan::new(kept, plan, recipes, executables);
        if long {
            footprint::settle();
        }
        Ok(ready)
    }

    /// The settled batch as it is planned, without the values that are left to be computed later.
    pub(super) fn stored(&mut self) -> Result<Program> {
        let mut batch = std::mem::replace(&mut self.batch, Box::new(Batch::new(0)));
        let mut recipes = self.recipes(&mut batch);
        let planned = match recipes.is_empty() {
            true => Ok(()),
            false => plan_without(batch.program().clone(), &mut recipes, &self.options()).map(drop),
        };
        let program = without(batch.program(), &recipes);
        self.batch = batch;
        planned.map(|()| program)
    }

    /// Notes which values of a batch that has run are left to be computed later.
    pub(super) fn leave(&mut self, plan: &Arc<ReadyPlan>, batch: &Batch) -> Result<()> {
        if plan.recipes.is_empty() {
            return Ok(());
        }
        self.stats.put_off += plan.recipes.len() as u64;
        let now = self.put_off.add(plan, batch.consts(), &batch.slots);
        now.iter().try_for_each(|cell| self.make(cell))
    }

    /// Computes a value that has been put off; nothing where it has not.
    ///
    /// # Errors
    /// Those of a flush; the value is put off then as it was.
    pub(super) fn make(&mut self, cell: &Shared<BaseCell>) -> Result<()> {
        let Some(put) = cell.bonds.take() else { return Ok(()) };
        let (program, slots) = put.program(cell);
        let before = self.warnings.len();
        let result = self.run_aside(program, slots);
        // nobody knows any more where it was recorded
        self.warnings[before..].iter_mut().for_each(|warning| warning.place = Warning::NOWHERE);
        match &result {
            Ok(()) => {
                self.stats.made += 1;
                cell.bonds.settle();
            }
            // as before: it may be asked for again
            Err(_) => {
                cell.failed.store(false, Ordering::Release);
                cell.bonds.put_back(put);
            }
        }
        result
    }

    /// Runs a program over these first bases beside the batch, which stays as it is.
    ///
    /// # Errors
    /// Those of a flush.
    pub(super) fn run_aside(&mut self, program: Program, slots: Vec<Shared<BaseCell>>) -> Result<()> {
        let start = Instant::now();
        let mut batch = Batch::of(program, slots);
        batch.settle();
        match self.ready(&mut batch)? {
            None => self.run_piecemeal(&mut batch),
            Some((plan, hit)) => {
                let result = self.run(&plan, &batch);
                self.account(Reason::Read, &plan, hit, start);
                self.caches.used(&plan);
                result
            }
        }
    }

    /// Is a batch without a plan so little work, and new or rare, that it is to run operation by operation?
    fn goes_piecemeal(&mut self, batch: &mut Batch) -> bool {
        let config = &self.config;
        let most = config.piecemeal as u64;
        // settings that choose how to plan, and people who look, are served with plans
        let free = config.plan_cache && config.fuse == Fuse::Greedy && config.passes == Passes::ALL;
        if most == 0 || !free || self.is_watched() {
            return false;
        }
        let (len, work) = (batch.len(), batch.work);
        if work > most.saturating_mul(len as u64) {
            return false;
        }
        if most == u64::MAX {
            return true;
        }
        let key = batch.key();
        if len >= LONG {
            self.habit.note_long(len, self.sightings.knows(key));
        }
        !self.sightings.deserves_plan(key, len, work)
    }
}

/// Lets the pool give back as much as planning is going to take, if that is not little beside what it keeps: large buffers
/// cost more to have again.
fn make_room(nbytes: usize) {
    let cached = POOL.stats().cached;
    if cached <= 2 * nbytes {
        POOL.trim(cached.saturating_sub(nbytes));
    }
}

/// A plan that leaves out the values of `recipes`; those that some step needs in memory are taken out of the list.
fn plan_without(program: Program, recipes: &mut Vec<Recipe>, options: &Options) -> Result<Plan> {
    while !recipes.is_empty() {
        let plan = numelt_opt::plan_owned(without(&program, recipes), options)?;
        let asked = recipes.len();
        recipes.retain(|recipe| plan.leaves_out(recipe));
        if recipes.len() == asked {
            return Ok(plan);
        }
    }
    numelt_opt::plan_owned(program, options)
}

/// A program of which the values of `recipes` are not to be kept.
fn without(program: &Program, recipes: &[Recipe]) -> Program {
    let mut program = program.clone();
    recipes.iter().for_each(|recipe| program.bases[recipe.base as usize].output = false);
    program
}
