//! Values that are computed when somebody needs them, if ever.
//!
//! A value that a front end still holds at a flush is stored, unless computing it again costs no more than the store
//! (`numelt_opt::recipes`) and the kernels of the batch do not need it in memory. Such a value is put off: its base
//! gets no memory, but a [`Postponed`], which says how it is made and from which bases. It is made as soon as it is
//! read or a batch uses it, before a batch overwrites what it is made of, and before anything runs once nobody else
//! holds what it is made of. If it is dropped before, it is never made.
//!
//! A batch that uses such a value for the last time computes it itself, and then need not store it either.
//!
//! The floating-point conditions of such a value were reported when the batch ran. If the values of a plan are needed
//! after all, the plan is regretted: its program is planned again, and its values are stored from then on.

use crate::exec::ReadyPlan;
use crate::heap::cell::{BaseCell, Postponed};
use crate::heap::shared::{Shared, Weak};
use numelt_ir::Scalar;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most values that are put off at a time. Each flush examines all of them.
const MOST: usize = 64;

/// All values that are put off.
#[derive(Default)]
pub(crate) struct PutOff(Vec<Weak<BaseCell>>);

impl PutOff {
    /// Puts off the values that a plan, which has run over these bases, leaves to be computed later. Returns the
    /// values that must be computed now nevertheless, because what they are made of may change unnoticed.
    pub fn add(
        &mut self,
        plan: &ReadyPlan,
        consts: &[Scalar],
        slots: &[Shared<BaseCell>],
    ) -> SmallVec<[Shared<BaseCell>; 2]> {
        let mut now = SmallVec::new();
        for (at, recipe) in plan.recipes.list.iter().enumerate() {
            let cell = &slots[recipe.base as usize];
            if cell.count() == 1 {
                continue;
            }
            let inputs: SmallVec<[Shared<BaseCell>; 1]> =
                recipe.inputs.iter().map(|&base| slots[base as usize].clone()).collect();
            let seen = inputs.iter().any(|input| input.is_visible());
            inputs.iter().for_each(|input| _ = input.bonds.state.fetch_add(1, Ordering::AcqRel));
            let consts = recipe.consts.iter().map(|&id| consts[id as usize]).collect();
            cell.bonds.put_back(Box::new(Postponed { recipes: Arc::clone(&plan.recipes), recipe: at, consts, inputs }));
            if seen || self.0.len() >= MOST {
                now.push(cell.clone());
            }
            self.0.push(cell.downgrade());
        }
        now
    }

    /// The values that are made of a base.
    pub fn made_of(&self, base: &Shared<BaseCell>) -> SmallVec<[Shared<BaseCell>; 2]> {
        let reads = |cell: &Shared<BaseCell>| {
            cell.bonds.lock().as_deref().is_some_and(|put| put.inputs.iter().any(|input| input.is(base)))
        };
        self.0.iter().filter_map(Weak::upgrade).filter(reads).collect()
    }

    /// The values that must be made before batch `epoch` runs. Values that have been made or dropped are forgotten.
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

/// Whether batch `epoch` will write this base, of which values are made, or whether only they and the batch keep it
/// alive.
fn endangers(input: &Shared<BaseCell>, epoch: u64) -> bool {
    let shares = input.bonds.readers() + usize::from(input.slot_in(epoch).is_some());
    input.is_written_in(epoch) || input.count() <= shares
}
