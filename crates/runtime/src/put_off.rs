//! Values that are computed when somebody asks for them, if ever.
//!
//! A value that a front end still holds at a flush is stored, unless it can be had again for what the store costs (`numelt_opt::recipes`)
//! and the batch's kernels need it nowhere in memory. Such a value gets no memory but a [`Postponed`] with its base: how to make
//! it, and of what. It is made as soon as it is read or a batch touches it, before a batch overwrites what it is made of, and
//! before anything is run once nobody else holds what it is made of; dropped before, it is never made.
//!
//! A batch that uses such a value for the last time computes it itself, and need not store it then either.
//!
//! Conditions to be reported have been, when the batch ran. A plan whose values were asked for is regretted: its
//! program is planned anew, and its values are stored from then on.

use crate::exec::ReadyPlan;
use crate::heap::cell::BaseCell;
use crate::heap::shared::{Shared, Weak};
use numelt_ir::{Program, Scalar};
use numelt_opt::Recipe;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Values that may be put off at a time: each flush looks at all of them.
const MOST: usize = 64;

/// That a base's value is put off.
const PUT_OFF: u32 = 1 << 31;

/// What a base has to do with values that are put off.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Bonds {
    /// [`PUT_OFF`], and the number of values that are put off and made of this base.
    state: AtomicU32,
    put: Mutex<Option<Box<Postponed>>>,
}

impl Bonds {
    /// Anything?
    #[inline]
    pub fn any(&self) -> bool {
        self.state.load(Ordering::Acquire) != 0
    }

    /// Is the base's own value put off?
    #[inline]
    pub fn is_put_off(&self) -> bool {
        self.state.load(Ordering::Acquire) & PUT_OFF != 0
    }

    /// Values that are made of the base.
    fn readers(&self) -> usize {
        (self.state.load(Ordering::Acquire) & !PUT_OFF) as usize
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Box<Postponed>>> {
        self.put.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the base's value off, maybe again.
    pub fn put_back(&self, put: Box<Postponed>) {
        *self.lock() = Some(put);
        self.state.fetch_or(PUT_OFF, Ordering::AcqRel);
    }

    /// How to make the value, for somebody who does so now; the value stays awaited until [`Bonds::made`].
    pub fn take(&self) -> Option<Box<Postponed>> {
        if self.is_put_off() { self.lock().take() } else { None }
    }

    /// The value is there.
    pub fn made(&self) {
        self.state.fetch_and(!PUT_OFF, Ordering::AcqRel);
    }
}

/// How to make one value.
pub(crate) struct Postponed {
    plan: Arc<ReadyPlan>,
    /// Which of the plan's recipes.
    recipe: usize,
    consts: Vec<Scalar>,
    inputs: SmallVec<[Shared<BaseCell>; 1]>,
}

impl Postponed {
    fn recipe(&self) -> &Recipe {
        &self.plan.recipes[self.recipe]
    }

    /// Says that the value should have been stored: the plan that put it off is not used again.
    pub fn regret(&self) {
        self.plan.regretted.store(true, Ordering::Relaxed);
    }

    /// The program that makes the value in `cell`, and its first bases.
    pub fn program(&self, cell: &Shared<BaseCell>) -> (Program, Vec<Shared<BaseCell>>) {
        let slots = std::iter::once(cell).chain(&self.inputs).cloned().collect();
        (Program { consts: self.consts.clone(), ..self.recipe().program.clone() }, slots)
    }
}

impl Drop for Postponed {
    fn drop(&mut self) {
        for input in &self.inputs {
            input.bonds.state.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// All values that are put off.
#[derive(Default)]
pub(crate) struct PutOff(Vec<Weak<BaseCell>>);

impl PutOff {
    /// Puts off what a plan that has run over these bases leaves to be computed later. Those that must be computed now
    /// after all: what they are made of may change unseen.
    pub fn add(
        &mut self,
        plan: &Arc<ReadyPlan>,
        consts: &[Scalar],
        slots: &[Shared<BaseCell>],
    ) -> SmallVec<[Shared<BaseCell>; 2]> {
        let mut now = SmallVec::new();
        for (at, recipe) in plan.recipes.iter().enumerate() {
            let cell = &slots[recipe.base as usize];
            if cell.count() == 1 {
                continue;
            }
            let inputs: SmallVec<[Shared<BaseCell>; 1]> =
                recipe.inputs.iter().map(|&base| slots[base as usize].clone()).collect();
            let seen = inputs.iter().any(|input| input.is_visible());
            inputs.iter().for_each(|input| _ = input.bonds.state.fetch_add(1, Ordering::AcqRel));
            let consts = recipe.consts.iter().map(|&id| consts[id as usize]).collect();
            cell.bonds.put_back(Box::new(Postponed { plan: Arc::clone(plan), recipe: at, consts, inputs }));
            if seen || self.0.len() >= MOST {
                now.push(cell.clone());
            }
            self.0.push(cell.downgrade());
        }
        now
    }

    /// Those that are made of a base.
    pub fn made_of(&self, base: &Shared<BaseCell>) -> SmallVec<[Shared<BaseCell>; 2]> {
        let reads = |cell: &Shared<BaseCell>| {
            cell.bonds.lock().as_deref().is_some_and(|put| put.inputs.iter().any(|input| input.is(base)))
        };
        self.0.iter().filter_map(Weak::upgrade).filter(reads).collect()
    }

    /// Those that must be made before batch `epoch` runs. Values that are there or dropped are forgotten.
    pub fn due(&mut self, epoch: u64) -> SmallVec<[Shared<BaseCell>; 2]> {
        let mut due = SmallVec::new();
        self.0.retain(|weak| {
            let Some(cell) = weak.upgrade() else { return false };
            let put = cell.bonds.lock();
            let Some(own) = put.as_deref() else { return false };
            let is_due = cell.slot_in(epoch).is_some() || own.inputs.iter().any(|input| endangers(input, epoch));
            drop(put);
            if is_due {
                due.push(cell);
            }
            true
        });
        due
    }
}

/// Will batch `epoch` write what values are made of, or do only they and the batch keep it?
fn endangers(input: &Shared<BaseCell>, epoch: u64) -> bool {
    let shares = input.bonds.readers() + usize::from(input.slot_in(epoch).is_some());
    input.is_written_in(epoch) || input.count() <= shares
}
