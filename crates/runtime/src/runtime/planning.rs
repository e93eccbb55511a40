//! From a batch to its plan, and the values that the plan puts off.
//!
//! A plan comes from the cache or is made; a batch that is to run operation by operation has none.

use super::{State, mark_failed};
use crate::batch::Batch;
use crate::exec::{ReadyPlan, Stopped};
use crate::footprint;
use crate::heap::base::BaseRef;
use crate::heap::cell::BaseCell;
use crate::heap::lost;
use crate::heap::pool::Pool;
use crate::heap::shared::Shared;
use crate::planned::PlannedProgram;
use crate::report::Warning;
use crate::stats::Reason;
use numelt_ir::{Operand, Program, Result};
use numelt_opt::{Fuse, Options, Passes, Plan, Recipe};
use std::sync::Arc;
use std::time::Instant;

/// Planning at least this many instructions takes so much memory that it is worth returning at once.
const LONG: usize = 256;
/// The bytes that planning takes for each instruction, most of them for a short time.
const PLANNING: usize = 3000;

impl State {
    /// The batch's plan, from the cache or made now; `None` if the batch is to run without one.
    pub(super) fn ready(&mut self, batch: &mut Batch) -> Result<Option<(Arc<ReadyPlan>, bool)>> {
        if batch.is_empty() || lost::among(&batch.slots) {
            return Ok(None);
        }
        let found = batch.expected().or_else(|| {
            let key = self.config.plan_cache.then(|| batch.key())?;
            self.caches.find(key, batch)
        });
        if let Some(plan) = found {
            self.stats.plan_hits += 1;
            return Ok(Some((plan, true)));
        }
        if self.goes_piecemeal(batch) {
            return Ok(None);
        }
        self.stats.plan_misses += 1;
        let key = batch.key();
        let recipes = if self.caches.forget_regretted(key, batch) { Vec::new() } else { self.recipes(batch) };
        let ready = Arc::new(self.planned(batch, recipes)?);
        batch.became(&ready);
        if self.config.plan_cache {
            self.caches.keep(key, Arc::clone(&ready));
        }
        Ok(Some((ready, false)))
    }

    /// The values of a batch, whose base flags are up to date, that need not be stored.
    fn recipes(&self, batch: &mut Batch) -> Vec<Recipe> {
        if self.config.put_off == 0 {
            return Vec::new();
        }
        let (passing, may_put_off) = (batch.passing().clone(), batch.may_put_off);
        let mut recipes = numelt_opt::recipes(batch.program(), self.config.put_off, &passing, may_put_off);
        recipes.retain(|r| !r.inputs.iter().any(|&base| batch.slots[base as usize].is_visible()));
        recipes
    }

    /// A plan for a batch, whose base flags are up to date, that does not store the values of `recipes`, except those
    /// that a step needs in memory.
    fn planned(&mut self, batch: &mut Batch, mut recipes: Vec<Recipe>) -> Result<ReadyPlan> {
        let long = batch.len() >= LONG;
        if long {
            make_room(&self.heap.pool, batch.len() * PLANNING);
        }
        let passing = batch.passing().clone();
        let made = PlannedProgram::of(batch.program(), &passing);
        let program = batch.take_program();
        let planned = match plan_without(program, &mut recipes, &self.options(batch.home)) {
            Ok(mut plan) => self.caches.executables(&*self.engine, &mut plan.steps).map(|prepared| (plan, prepared)),
            Err(error) => Err(error),
        };
        let (plan, (executables, prepared)) = planned.inspect_err(|_| batch.put_back(made.unpack()))?;
        self.stats.kernels_compiled += prepared;
        let mut ready = ReadyPlan::new(made, plan, recipes, executables);
        ready.home = batch.home;
        if long {
            footprint::settle();
        }
        Ok(ready)
    }

    /// The batch as it will be planned, without the values that are put off.
    pub(super) fn stored(&mut self) -> Result<Program> {
        let mut batch = std::mem::replace(&mut self.batch, Box::new(Batch::new(&self.heap, 0)));
        let mut recipes = self.recipes(&mut batch);
        let planned = match recipes.is_empty() {
            true => Ok(()),
            false => plan_without(batch.program().clone(), &mut recipes, &self.options(batch.home)).map(drop),
        };
        let program = without(batch.program(), &recipes);
        self.batch = batch;
        planned.map(|()| program)
    }

    /// Notes which values of a batch that has run are put off.
    pub(super) fn note_put_off(&mut self, plan: &Arc<ReadyPlan>, batch: &Batch) {
        if plan.recipes.list.is_empty() {
            return;
        }
        self.stats.put_off += plan.recipes.list.len() as u64;
        let now = self.put_off.add(plan, batch.consts(), &batch.slots);
        now.iter().for_each(|cell| self.make_or_record(cell));
    }

    /// Computes a value that has been put off, before the values that it is made of change. If there is no memory,
    /// the instructions that make it are put at the head of the queue.
    pub(super) fn make_or_record(&mut self, cell: &Shared<BaseCell>) {
        if self.make(cell).is_err()
            && let Some(put) = cell.bonds.take()
        {
            let (program, slots) = put.program(cell);
            self.put_first(program, slots);
            cell.bonds.made();
        }
    }

    /// Lets the batch itself compute a value that has been put off, if it uses the value and nobody else will: then
    /// the value need not be stored at all. Returns whether nothing else has to be done.
    pub(super) fn joins(&mut self, cell: &Shared<BaseCell>) -> bool {
        // one reference is the batch's, the other is `cell`
        let held_by_batch_only = cell.count() == 2 && cell.slot_in(self.batch.epoch).is_some();
        if !held_by_batch_only || self.batch.remaining() > 0 || self.filters.any() {
            return false;
        }
        let Some(put) = cell.bonds.take() else { return false };
        let (program, slots) = put.program(cell);
        self.put_first(program, slots);
        cell.bonds.made();
        true
    }

    /// Puts a program, whose first bases are `slots`, at the head of the queue.
    fn put_first(&mut self, program: Program, mut slots: Vec<Shared<BaseCell>>) {
        slots.extend(
            program.bases[slots.len()..].iter().map(|base| BaseRef::new(&self.heap, base.nbytes).into_shared()),
        );
        self.batch.put_first(program.instrs, &program.consts, &slots, false);
    }

    /// Does the rest of a batch whose plan was stopped, operation by operation. What gets no memory is put at the
    /// head of the queue.
    ///
    /// # Errors
    /// Those of a flush.
    pub(super) fn finish(&mut self, plan: &Arc<ReadyPlan>, batch: &mut Batch, stopped: Stopped) -> Result<()> {
        let program = batch.program().clone();
        let again = numelt_opt::plan_owned(without(&program, &plan.recipes.list), &self.options(plan.home))?;
        let Some(mut left) = plan.left_of(again, stopped.at) else {
            mark_failed(batch);
            return Err(stopped.error);
        };
        plan.recipes.list.iter().for_each(|recipe| append(recipe, &mut left));
        let mut slots = std::mem::take(&mut batch.slots);
        slots.extend(stopped.temporaries);
        self.run_piecemeal(&mut Batch::of(&self.heap.clone(), left, slots))
    }

    /// Computes a value that has been put off; does nothing for other values.
    ///
    /// # Errors
    /// Those of a flush; the value stays put off.
    pub(super) fn make(&mut self, cell: &Shared<BaseCell>) -> Result<()> {
        let Some(put) = cell.bonds.take() else { return Ok(()) };
        put.regret();
        let (program, slots) = put.program(cell);
        let before = self.warnings.len();
        let result = self.run_aside(program, slots);
        // the position at which it was recorded is no longer known
        self.warnings[before..].iter_mut().for_each(|warning| warning.place = Warning::NOWHERE);
        match &result {
            Ok(()) => {
                self.stats.made += 1;
                cell.bonds.made();
            }
            // the value stays put off, and can be requested again
            Err(_) => cell.bonds.put_back(put),
        }
        result
    }

    /// Runs a program, whose first bases are `slots`, separately from the batch, which stays unchanged.
    ///
    /// # Errors
    /// Those of a flush.
    pub(super) fn run_aside(&mut self, program: Program, slots: Vec<Shared<BaseCell>>) -> Result<()> {
        let start = Instant::now();
        let mut batch = Batch::of(&self.heap, program, slots);
        batch.update_base_flags();
        let ready = self.ready(&mut batch)?;
        let anchored = self.heap.refresh(&batch.slots);
        let result = match ready {
            None => self.piecemeal(&mut batch).0,
            Some((plan, hit)) => {
                let result = self.run(&plan, &batch);
                self.account(Reason::Read, &plan, hit, start);
                self.caches.used(&plan);
                result.map_err(|stopped| stopped.error)
            }
        };
        anchored.iter().fold(result, |result, cell| result.and(cell.settle()))
    }

    /// Whether a batch without a plan has so little work, and is so new or rare, that it should run operation by
    /// operation.
    fn goes_piecemeal(&mut self, batch: &mut Batch) -> bool {
        let config = &self.config;
        let most = config.piecemeal as u64;
        // with settings that choose how to plan, and while operations are inspected, all batches are planned
        let free = self.placement.allows_shortcuts()
            && batch.home == 0
            && config.plan_cache
            && config.fuse == Fuse::Greedy
            && config.passes == Passes::ALL;
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
        !self.sightings.deserves_plan(key, len, work)
    }
}

/// Makes the pool free as much memory as planning is going to take, unless that is little beside what the pool keeps:
/// large buffers take longer to allocate again.
fn make_room(pool: &Pool, nbytes: usize) {
    let cached = pool.stats().cached;
    if cached <= 2 * nbytes {
        pool.trim(cached.saturating_sub(nbytes));
    }
}

/// A plan that does not store the values of `recipes`. Those that some step needs in memory are removed from the
/// list.
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

/// A program that does not keep the values of `recipes`.
fn without(program: &Program, recipes: &[Recipe]) -> Program {
    let mut program = program.clone();
    recipes.iter().for_each(|recipe| program.bases[recipe.base as usize].output = false);
    program
}

/// Appends the instructions that make a value to the program from which the value was removed.
fn append(recipe: &Recipe, program: &mut Program) {
    let mut numbers: Vec<u32> = std::iter::once(recipe.base).chain(recipe.inputs.iter().copied()).collect();
    for base in &recipe.program.bases[numbers.len()..] {
        numbers.push(program.bases.len() as u32);
        program.bases.push(*base);
    }
    for mut instr in recipe.program.instrs.iter().cloned() {
        for operand in &mut instr.ins {
            match operand {
                Operand::View(view) => view.base = numbers[view.base as usize],
                Operand::Const(id) => *id = recipe.consts[*id as usize],
            }
        }
        instr.out.base = numbers[instr.out.base as usize];
        program.instrs.push(instr);
    }
}
