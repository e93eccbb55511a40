//! Sum, minimum and maximum of one array in one pass over memory, also if a program requests them one after the
//! other.
//!
//! If a program reads `x.min()` and then `x.max()`, these would be two passes. A pass is bound by memory, so the
//! other two of the three operations cost next to nothing in it. If a flush has one of them and others are likely to
//! follow, they are added to the batch, and their values are kept with the base until it is written or becomes
//! visible outside. An operation that followed last time, on an array of the same size, is likely to follow again;
//! and if two have been requested, the third is likely.
//!
//! A kept value answers one request of each form (scalar and array). If the same request comes again, the reduction
//! is computed again. Only finite values are kept, because computing others may have to warn.

use crate::batch::Batch;
use crate::heap::base::{ArrayView, BaseRef, Input};
use crate::heap::cell::note;
use crate::sequels::{Memo, OPS, Sequel, Sequels, Value, bit, concerns};
use numelt_ir::{Axes, Dims, Op, Operand, Result, Scalar, View};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn is_finite(value: &Scalar) -> bool {
    match value {
        Scalar::F32(v) => v.is_finite(),
        Scalar::F64(v) => v.is_finite(),
        _ => false,
    }
}

/// The value of a full reduction of a view, as a scalar or for an array, if it is kept with the view's base.
pub(crate) fn take(op: Op, view: &ArrayView, array: bool) -> Option<Scalar> {
    let cell = &view.base.0;
    if !cell.has(note::KEPT) {
        return None;
    }
    let mut memo = cell.kept();
    let memo = memo.as_deref_mut().filter(|memo| memo.is_of(view.dtype, view.offset, &view.shape, &view.strides))?;
    let kept = memo.values.iter_mut().find(|v| v.op == op)?;
    let left = if array { &mut kept.array } else { &mut kept.spare };
    if !std::mem::take(left) {
        return None;
    }
    memo.sequel.follows(op);
    memo.sequel.takes();
    Some(kept.value)
}

/// The reductions of one view in a batch.
struct Group {
    /// The slot of the view's base.
    source: u32,
    view: View,
    /// The recorded reductions: operation, base of the result, and offset in that base. The references keep the bases
    /// alive until they are read here, even if the program wanted only their quotient by a count.
    recorded: SmallVec<[(Op, BaseRef, i64); 3]>,
    sequel: Arc<Sequel>,
    /// Whether they follow other reductions whose values are kept already.
    later: bool,
}

/// The reductions whose values are kept after a flush.
#[derive(Default)]
pub(crate) struct Companions {
    groups: SmallVec<[Group; 1]>,
    /// The values computed in advance. Their bases are kept alive until they are read.
    spare: SmallVec<[(usize, Op, BaseRef); 2]>,
}

impl Companions {
    /// Finds the reductions in a batch that is about to run, and adds those that are likely to be requested next.
    pub fn add(batch: &mut Batch, sequels: &mut Sequels) -> Companions {
        let mut companions = Companions::default();
        for at in batch.take_full_reductions() {
            companions.note(batch, at as usize, sequels);
        }
        for at in 0..companions.groups.len() {
            let wanted = companions.wanted(batch, at);
            for op in OPS.into_iter().filter(|&op| wanted & bit(op) != 0) {
                // if an operation cannot be recorded, it is not computed in advance
                if companions.compute(batch, at, op).is_err() {
                    break;
                }
            }
        }
        companions
    }

    fn note(&mut self, batch: &Batch, at: usize, sequels: &mut Sequels) {
        let Some(instr) = batch.instr(at) else { return };
        let Some(Operand::View(view)) = instr.ins.first() else { return };
        let cell = &batch.slots[view.base as usize];
        let full = concerns(instr.op, instr.ty) && instr.out.size() == 1 && instr.axes.len() == view.rank();
        let plain = view.dtype == instr.ty && instr.out.dtype == instr.ty && view.is_c_contiguous();
        // the base keeps its values, and somebody holds it who could request another reduction
        let stays = cell.has_value() && cell.count() > 1 && !cell.is_visible() && !cell.has(note::PASSING);
        if !(full && plain && stays) || batch.writes(view.base) {
            return;
        }
        let result = BaseRef(batch.slots[instr.out.base as usize].clone());
        let recorded = (instr.op, result, instr.out.offset);
        match self.groups.iter_mut().find(|group| group.view == *view) {
            Some(group) => {
                group.sequel.follows(instr.op);
                group.recorded.push(recorded);
            }
            None => {
                let last = cell.kept();
                let chain = last.as_ref().filter(|memo| memo.is_of_view(view) && memo.ops & bit(instr.op) == 0);
                let sequel = chain.map_or_else(|| sequels.of(&instr), |memo| Arc::clone(&memo.sequel));
                let later = chain.is_some();
                if later {
                    sequel.follows(instr.op);
                }
                let recorded = SmallVec::from_iter([recorded]);
                self.groups.push(Group { source: view.base, view: view.clone(), recorded, sequel, later });
            }
        }
    }

    /// The operations that a group does not have and that are likely to follow it.
    fn wanted(&self, batch: &Batch, at: usize) -> u8 {
        let group = &self.groups[at];
        let present = group.recorded.iter().fold(0, |ops, reduction| ops | bit(reduction.0));
        if !group.later {
            return group.sequel.followers.load(Ordering::Relaxed) & !present;
        }
        let kept = batch.slots[group.source as usize].kept().as_ref().map_or(0, |memo| memo.ops);
        OPS.iter().fold(0, |ops, &op| ops | bit(op)) & !present & !kept
    }

    fn compute(&mut self, batch: &mut Batch, at: usize, op: Op) -> Result<()> {
        let (group, base) = (&self.groups[at], BaseRef::new(&batch.heap, 16));
        let (view, rank) = (&group.view, group.view.rank());
        let window = |base: BaseRef, view: &View| {
            let (shape, strides) = (view.shape.clone(), view.strides.clone());
            ArrayView { base, dtype: view.dtype, offset: view.offset, shape, strides }
        };
        let source = window(BaseRef(batch.slots[group.source as usize].clone()), view);
        let one = View::contiguous(0, view.dtype, &Dims::from_elem(1, rank));
        let out = window(base.clone(), &one);
        batch.push_unwatched(op, view.dtype, &out, &[Input::Array(&source)], Axes::all(rank))?;
        self.spare.push((at, op, base));
        Ok(())
    }

    /// Keeps the values, now that the batch has run.
    pub fn keep(self, batch: &Batch) {
        for (at, group) in self.groups.into_iter().enumerate() {
            let cell = &batch.slots[group.source as usize];
            if cell.is_visible() {
                continue;
            }
            let own = group.recorded.iter().map(|(op, base, offset)| (*op, base, *offset, false));
            let spare = self.spare.iter().filter(|spare| spare.0 == at);
            let spare = spare.map(|(_, op, base)| (*op, base, 0, true));
            let mut last = cell.kept();
            let mut memo = match last.take().filter(|memo| group.later && memo.is_of_view(&group.view)) {
                Some(memo) => memo,
                None => Box::new(Memo::new(&group.view, Arc::clone(&group.sequel))),
            };
            let mut computed = 0;
            for (op, base, offset, spare) in own.chain(spare) {
                computed += u32::from(spare);
                memo.ops |= bit(op);
                if let Some(value) = base.0.element_at(group.view.dtype, offset).filter(is_finite) {
                    memo.values.retain(|v| v.op != op);
                    memo.values.push(Value { op, value, spare, array: true });
                }
            }
            if computed > 0 {
                group.sequel.computes(computed);
            }
            *last = Some(memo);
            drop(last);
            cell.set(note::KEPT);
        }
    }
}
