//! The batch: the instructions recorded since the last flush, which wait in the queue to be run.
//!
//! A batch is a bytecode program over the bases that its operations use, numbered in the order in which they first
//! appear (their slots). Loops record the same batches again: as long as a batch repeats the program of a plan that is
//! expected next, instruction by instruction, only literals and bases are stored ("the batch follows the plan"). At the
//! first difference, the part repeated so far is copied, and from there on instructions are appended and hashed.

mod calls;
mod hash;
mod positions;
mod remaining;
mod repeat;
mod windows;

pub(crate) use self::calls::Call;
use self::calls::QueuedCalls;
use self::hash::BatchHash;
use self::positions::Trust;
pub(crate) use self::remaining::{Remaining, Retry, Turn, wanted_by_holders};
pub use self::repeat::Repeated;
pub(crate) use self::windows::operand_view;
use self::windows::{broadcasts, broadcasts_to, has_same_window};
use crate::exec::{Candidates, ReadyPlan};
use crate::heap::Heap;
use crate::heap::base::{ArrayView, BaseRef, Input};
use crate::heap::cell::{BaseCell, MAX_SLOTS, note, recycle};
use crate::heap::shared::Shared;
use crate::packed::{self, PackedInstr, PackedOperand};
use crate::planned::{PassingBases, SourcePositions};
use crate::sequels;
use crate::track::work;
use numelt_ir::{Axes, Base, BaseId, DType, Instr, Op, OpKind, Operand, Program, Result};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) struct Batch {
    /// The heap that its bases belong to.
    pub heap: Arc<Heap>,
    pub epoch: u64,
    /// The program of the batch. While the batch follows a plan, the instructions are those of the plan and not here.
    program: Program,
    /// The base of each slot; the batch holds one reference to each.
    pub slots: Vec<Shared<BaseCell>>,
    /// The element-operations recorded.
    pub work: u64,
    hash: BatchHash,
    followed: Option<Followed>,
    /// Full reductions of memory, which other reductions of the same array may follow (see `siblings.rs`).
    full_reductions: FullReductions,
    /// Where its instructions were recorded, except those taken from a plan whose positions are trusted.
    positions: SourcePositions,
    /// Calls of extension methods between the instructions.
    calls: QueuedCalls,
    /// See [`Batch::remaining`].
    remaining: usize,
    /// How often instructions have been taken out or put before the others.
    pub edits: u64,
    /// Bases that their holders are about to release, as of the last [`Batch::update_base_flags`].
    passing: PassingBases,
    /// The number of the device on which its operations are to run, because their arrays have that home; zero for none.
    pub home: u8,
    /// Whether it runs because one value is read, so that it may try to put other values off.
    pub may_put_off: bool,
    /// How many of the last instructions are small and had to wait for the work before them.
    pub waiting: u32,
}

/// The first few full reductions of a batch.
type FullReductions = SmallVec<[u32; 4]>;

/// A batch with more full reductions than this is not searched for companions of them.
const MOST_REDUCTIONS: usize = 16;

/// An empty batch keeps memory for this many instructions.
const KEPT_INSTRS: usize = 128;

/// The plan whose program the batch has repeated so far.
struct Followed {
    plan: Arc<ReadyPlan>,
    /// How many instructions have been repeated.
    done: usize,
    /// Other plans to try if the batch leaves this one.
    others: Candidates,
    trust: Trust,
}

/// An operation as it is recorded.
struct Recorded<'a> {
    op: Op,
    ty: DType,
    out: &'a ArrayView,
    ins: &'a [Input<'a>],
    axes: Axes,
    watch: u8,
    /// Whether only the caller has a reference to the output's base.
    alone: bool,
}

impl Batch {
    pub fn new(heap: &Arc<Heap>, epoch: u64) -> Batch {
        let heap = Arc::clone(heap);
        let (program, slots, hash) = (Program::default(), Vec::new(), BatchHash::default());
        let (full_reductions, positions) = (FullReductions::new(), SourcePositions::new());
        Batch {
            heap,
            epoch,
            program,
            slots,
            work: 0,
            hash,
            followed: None,
            full_reductions,
            positions,
            calls: QueuedCalls::default(),
            remaining: 0,
            edits: 0,
            passing: PassingBases::new(),
            home: 0,
            may_put_off: false,
            waiting: 0,
        }
    }

    /// A batch of a program whose first bases are `slots`; the others get new cells here.
    pub fn of(heap: &Arc<Heap>, program: Program, mut slots: Vec<Shared<BaseCell>>) -> Batch {
        let added = program.bases[slots.len()..].iter().map(|base| BaseRef::new(heap, base.nbytes).into_shared());
        slots.extend(added);
        let home = slots.iter().map(|cell| cell.home()).find(|&home| home != 0).unwrap_or(0);
        let mut batch = Batch { slots, home, ..Batch::new(heap, 0) };
        batch.program.consts = program.consts;
        program.instrs.into_iter().for_each(|instr| batch.append(instr));
        batch
    }

    /// Empties it for batch `epoch`, and keeps some memory, so that the batches of a loop do not allocate. Bases that
    /// nobody else holds are moved to `cells`.
    pub fn restart(&mut self, epoch: u64, cells: &mut Vec<Shared<BaseCell>>) {
        self.program.instrs.clear();
        self.program.instrs.shrink_to(KEPT_INSTRS);
        self.program.consts.clear();
        recycle(&mut self.slots, cells);
        self.epoch = epoch;
        self.work = 0;
        self.hash = BatchHash::default();
        self.followed = None;
        self.full_reductions.clear();
        self.positions.clear();
        self.calls.clear();
        (self.remaining, self.edits, self.waiting, self.home) = (0, 0, 0, 0);
    }

    /// Sets the plans that an empty batch is expected to repeat, the most likely first.
    pub fn expect(&mut self, mut plans: Candidates) {
        debug_assert!(self.is_empty());
        self.followed = match plans.is_empty() {
            true => None,
            false => Some(Followed { plan: plans.remove(0), done: 0, others: plans, trust: Trust::Open }),
        };
    }

    /// How many instructions have been recorded.
    pub fn len(&self) -> usize {
        self.followed.as_ref().map_or(self.program.instrs.len(), |followed| followed.done)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the bases of another instruction might not fit.
    pub fn is_full(&self) -> bool {
        self.slots.len() + 4 > MAX_SLOTS
    }

    /// Appends one instruction. Returns whether it uses memory that is visible outside.
    ///
    /// # Safety
    /// With `alone`, no other thread has a reference to the output's base.
    #[inline]
    pub unsafe fn push(
        &mut self,
        (op, ty, axes): (Op, DType, Axes),
        out: &ArrayView,
        ins: &[Input<'_>],
        alone: bool,
    ) -> Result<bool> {
        out.base.0.forget_kept();
        let watch = self.heap.watched();
        self.append_recorded(&Recorded { op, ty, out, ins, axes, watch, alone })?;
        if let Some(Input::Array(array)) = ins.first()
            && sequels::concerns(op, ty)
            && array.base.nbytes() >= sequels::SMALLEST
            && self.full_reductions.len() < MOST_REDUCTIONS
        {
            self.full_reductions.push(self.len() as u32 - 1);
        }
        let visible = |input: &Input<'_>| matches!(input, Input::Array(array) if array.base.is_visible());
        Ok(out.base.is_visible() || ins.iter().any(visible))
    }

    /// Appends an instruction that the runtime adds on its own account; it reports no conditions.
    pub fn push_unwatched(&mut self, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>], axes: Axes) -> Result<()> {
        self.append_recorded(&Recorded { op, ty, out, ins, axes, watch: 0, alone: false })
    }

    /// Follows the expected plan if it has this instruction next, else appends the instruction.
    #[inline]
    fn append_recorded(&mut self, recorded: &Recorded<'_>) -> Result<()> {
        match self.follow(recorded) {
            Some(work) => self.work += work,
            None => self.write_down(recorded)?,
        }
        self.request_position();
        recorded.out.base.0.set_written(self.epoch);
        Ok(())
    }

    /// Whether full reductions of memory have been recorded.
    pub fn has_full_reductions(&self) -> bool {
        !self.full_reductions.is_empty()
    }

    /// Takes out the list of full reductions of memory.
    pub fn take_full_reductions(&mut self) -> FullReductions {
        std::mem::take(&mut self.full_reductions)
    }

    /// A recorded instruction. Literals are numbered in the order of recording.
    pub fn instr(&self, at: usize) -> Option<Instr> {
        match &self.followed {
            Some(followed) if at < followed.done => followed.plan.recorded.get(at).map(PackedInstr::unpack),
            Some(_) => None,
            None => self.program.instrs.get(at).cloned(),
        }
    }

    /// Whether an instruction writes a base.
    pub fn writes(&self, base: BaseId) -> bool {
        match &self.followed {
            Some(followed) => followed.plan.recorded.first(followed.done).any(|line| line.out().0 == base),
            None => self.program.instrs.iter().any(|instr| instr.out.base == base),
        }
    }

    /// The work of the next instruction of the followed plan (or of another plan with the same beginning), if it is
    /// this instruction; else `None`.
    fn follow(&mut self, recorded: &Recorded<'_>) -> Option<u64> {
        let followed = self.followed.as_mut()?;
        let (slots, epoch, consts) = (&mut self.slots, self.epoch, &mut self.program.consts);
        loop {
            let plan = &followed.plan;
            if plan.recorded.get(followed.done).is_some_and(|line| recorded.is(line, slots, epoch, consts.len())) {
                for input in recorded.ins {
                    if let Input::Const(value) = input {
                        consts.push(*value);
                    }
                }
                followed.done += 1;
                return Some(plan.track.work(followed.done - 1));
            }
            let at = followed.others.iter().position(|o| o.recorded.starts_as(&plan.recorded, followed.done))?;
            let other = followed.others.remove(at);
            if followed.trust == Trust::Yes {
                followed.trust = followed.trusted_in(&other, &mut self.positions);
            }
            followed.plan = other;
        }
    }

    /// Whether it has repeated the whole program of a plan, at whose end a longer batch was cut before.
    pub fn is_at_cut(&self) -> bool {
        let whole = |f: &Followed| f.done == f.plan.recorded.len() && f.plan.cut.load(Ordering::Relaxed);
        self.followed.as_ref().is_some_and(whole)
    }

    /// Stops following a plan, and copies the instructions that have been followed so far.
    pub fn stop_following(&mut self) {
        if let Some(followed) = self.followed.take() {
            if followed.trust == Trust::Yes {
                self.copy_positions(&followed.plan, followed.done);
            }
            self.program.instrs.extend(followed.plan.recorded.first(followed.done).map(PackedInstr::unpack));
            self.program.instrs.iter().for_each(|instr| self.hash.instr(instr));
        }
    }

    fn write_down(&mut self, recorded: &Recorded<'_>) -> Result<()> {
        self.stop_following();
        let Recorded { op, ty, out, ins, axes, watch, .. } = *recorded;
        let mut operands: SmallVec<[Operand; 3]> = SmallVec::new();
        for (place, input) in ins.iter().enumerate() {
            operands.push(match input {
                Input::Array(array) => {
                    let slot = slot(&mut self.slots, self.epoch, &array.base.0);
                    Operand::View(operand_view(op, place, array, slot, &out.shape)?)
                }
                Input::Const(value) => {
                    self.program.consts.push(*value);
                    Operand::Const(self.program.consts.len() as u32 - 1)
                }
            });
        }
        let slot = recorded.target(&mut self.slots, self.epoch);
        let instr = Instr { op, ty, out: out.to_ir(slot), ins: operands, axes, watch };
        self.append(instr);
        Ok(())
    }

    fn append(&mut self, instr: Instr) {
        self.hash.instr(&instr);
        self.work += work(&instr);
        self.program.instrs.push(instr);
    }

    /// Where to cut a batch that has grown too long: in its last quarter, at the instruction at which the results of
    /// earlier instructions need the least memory. In a loop, that is between two iterations, so every piece of the
    /// loop is the same program.
    pub fn best_cut(&mut self) -> usize {
        self.stop_following();
        let len = self.program.instrs.len();
        let mut life: Vec<Option<(usize, usize)>> = vec![None; self.slots.len()];
        for (at, instr) in self.program.instrs.iter().enumerate() {
            let made = &mut life[instr.out.base as usize];
            made.get_or_insert((at, at));
            for view in instr.reads().chain([&instr.out]) {
                if let Some(life) = &mut life[view.base as usize] {
                    life.1 = at;
                }
            }
        }
        let mut change = vec![0i64; len + 2];
        for (cell, life) in self.slots.iter().zip(&life) {
            let Some((first, last)) = life.filter(|_| !cell.has_value()) else { continue };
            change[first + 1] += cell.nbytes as i64;
            // a base that somebody else holds stays alive anyway
            if cell.count() == 1 {
                change[last + 1] -= cell.nbytes as i64;
            }
        }
        let (mut alive, mut best) = (0, (i64::MAX, len));
        for (at, change) in change[..=len].iter().enumerate() {
            alive += change;
            if at >= len - len / 4 && alive <= best.0 {
                best = (alive, at);
            }
        }
        best.1
    }

    /// Moves the instructions from number `at` on to an empty batch.
    pub fn split(&mut self, at: usize, tail: &mut Batch) {
        self.stop_following();
        let cut = at as u32;
        tail.home = self.home;
        tail.positions.extend(self.positions.iter().filter(|p| p.0 >= cut).map(|(at, place)| (at - cut, *place)));
        self.positions.retain(|p| p.0 < cut);
        for mut instr in self.program.instrs.drain(at..) {
            for operand in &mut instr.ins {
                match operand {
                    Operand::View(view) => {
                        view.base = slot(&mut tail.slots, tail.epoch, &self.slots[view.base as usize])
                    }
                    Operand::Const(id) => {
                        tail.program.consts.push(self.program.consts[*id as usize]);
                        *id = tail.program.consts.len() as u32 - 1;
                    }
                }
            }
            let target = &self.slots[instr.out.base as usize];
            instr.out.base = slot(&mut tail.slots, tail.epoch, target);
            target.set_written(tail.epoch);
            tail.append(instr);
        }
        self.split_calls(at, tail);
        let used = |operand: &Operand| if let Operand::Const(id) = operand { Some(*id as usize + 1) } else { None };
        let consts = self.program.instrs.iter().flat_map(|i| i.ins.iter().filter_map(used)).max().unwrap_or(0);
        self.program.consts.truncate(consts);
        // bases keep the order of their first appearance: those of the remaining instructions come first
        let bases = self.program.instrs.iter().flat_map(|i| i.reads().chain([&i.out]).map(|v| v.base as usize + 1));
        self.slots.truncate(bases.max().unwrap_or(0));
        self.hash = BatchHash::default();
        self.program.instrs.iter().for_each(|instr| self.hash.instr(instr));
    }

    /// The bytes of memory that only this batch keeps alive.
    pub fn held(&self) -> u64 {
        let alone = |cell: &&Shared<BaseCell>| cell.count() == 1 && cell.has_value();
        self.slots.iter().filter(alone).map(|cell| cell.nbytes as u64).sum()
    }

    /// Updates the flags of the bases: which hold values, and which somebody else still holds.
    pub fn update_base_flags(&mut self) {
        let base = |cell: &Shared<BaseCell>| Base {
            nbytes: cell.nbytes,
            input: cell.has_value(),
            output: cell.count() > 1 || cell.is_visible(),
        };
        self.program.bases.clear();
        self.program.bases.extend(self.slots.iter().map(base));
        // one reference is the batch's, the other that of the holder who is about to release it
        let passes = |cell: &Shared<BaseCell>| cell.has(note::PASSING) && cell.count() == 2 && !cell.is_visible();
        self.passing.clear();
        self.passing.extend((0..).zip(&self.slots).filter(|(_, cell)| passes(cell)).map(|(id, _)| id));
    }

    /// The bases that their holders are about to release.
    pub fn passing(&self) -> &PassingBases {
        &self.passing
    }

    /// The plan that the batch has repeated, if it is one of those expected. The bases have been updated by
    /// [`Batch::update_base_flags`].
    pub fn expected(&self) -> Option<Arc<ReadyPlan>> {
        let followed = self.followed.as_ref()?;
        let (done, bases, consts) = (followed.done, &self.program.bases, &self.program.consts);
        let mut candidates = std::iter::once(&followed.plan).chain(&followed.others);
        let whole = |plan: &&Arc<ReadyPlan>| {
            plan.recorded.len() == done
                && *plan.bases == **bases
                && plan.passing == self.passing
                && !plan.is_regretted()
                && (Arc::ptr_eq(plan, &followed.plan) || plan.recorded.starts_as(&followed.plan.recorded, done))
                && plan.plan.accepts(consts)
        };
        candidates.find(whole).map(Arc::clone)
    }

    /// The batch as a program. The flags of the bases are those of the last [`Batch::update_base_flags`].
    pub fn program(&mut self) -> &Program {
        self.stop_following();
        &self.program
    }

    /// The program, and the bases of its slots.
    pub fn program_and_slots(&mut self) -> (&Program, &[Shared<BaseCell>]) {
        self.stop_following();
        (&self.program, &self.slots)
    }

    /// Takes the instructions out, as a program; [`Batch::became`] or [`Batch::put_back`] must follow. Bases and
    /// literals are copied.
    pub fn take_program(&mut self) -> Program {
        self.stop_following();
        let instrs = std::mem::take(&mut self.program.instrs);
        Program { bases: self.program.bases.clone(), consts: self.program.consts.clone(), instrs }
    }

    /// Puts the instructions back that [`Batch::take_program`] took.
    pub fn put_back(&mut self, instrs: Vec<Instr>) {
        self.program.instrs = instrs;
    }

    /// Makes the batch one that has followed a plan to its end.
    pub fn became(&mut self, plan: &Arc<ReadyPlan>) {
        let done = plan.recorded.len();
        let (plan, others) = (Arc::clone(plan), Candidates::new());
        self.followed = Some(Followed { plan, done, others, trust: Trust::No });
    }

    /// The values of the literals.
    pub fn consts(&self) -> &[numelt_ir::Scalar] {
        &self.program.consts
    }

    /// A hash of the program and its home, without the values of literals.
    pub fn key(&mut self) -> u64 {
        self.stop_following();
        let mut hash = self.hash;
        if self.home != 0 {
            hash.word(u64::from(self.home));
        }
        for base in &self.program.bases {
            hash.word((base.nbytes as u64) << 2 | u64::from(base.input) << 1 | u64::from(base.output));
        }
        hash.0
    }
}

/// The slot of a base in batch `epoch`; the next free slot if the base has none yet.
#[inline]
fn slot(slots: &mut Vec<Shared<BaseCell>>, epoch: u64, cell: &Shared<BaseCell>) -> BaseId {
    match cell.slot_in(epoch) {
        Some(slot) => slot,
        None => enter(slots, epoch, cell.clone()),
    }
}

/// Gives a base the next slot of batch `epoch`.
#[inline]
fn enter(slots: &mut Vec<Shared<BaseCell>>, epoch: u64, cell: Shared<BaseCell>) -> BaseId {
    let slot = slots.len() as BaseId;
    cell.set_slot(epoch, slot);
    slots.push(cell);
    slot
}

impl Recorded<'_> {
    /// The slot of the output's base.
    #[inline]
    fn target(&self, slots: &mut Vec<Shared<BaseCell>>, epoch: u64) -> BaseId {
        let cell = &self.out.base.0;
        if !self.alone || cell.slot_in(epoch).is_some() {
            return slot(slots, epoch, cell);
        }
        // SAFETY: no other thread has a reference to the base, by the contract of `Batch::push`.
        enter(slots, epoch, unsafe { cell.clone_alone() })
    }

    /// Whether this operation, recorded after `consts` literals, would become this instruction. Bases get their slots
    /// in the order in which recording would number them.
    fn is(&self, line: PackedInstr<'_>, slots: &mut Vec<Shared<BaseCell>>, epoch: u64, consts: usize) -> bool {
        let head = packed::head(self.op, self.ty, self.watch, self.ins.len());
        if line.head() != head || line.axes() != self.axes {
            return false;
        }
        let (mut literal, plain) = (consts, self.op.kind() == OpKind::Elementwise);
        for (place, (input, operand)) in self.ins.iter().zip(line.operands()).enumerate() {
            let same = match (input, operand) {
                (Input::Array(array), PackedOperand::View(base, window)) => {
                    let stretched = plain || broadcasts(self.op, place);
                    let lies = has_same_window(array, &window) || stretched && broadcasts_to(array, &window);
                    slot(slots, epoch, &array.base.0) == base && lies
                }
                (Input::Const(_), PackedOperand::Const(id)) => {
                    literal += 1;
                    id as usize == literal - 1
                }
                (Input::Array(_), PackedOperand::Const(_)) | (Input::Const(_), PackedOperand::View(..)) => false,
            };
            if !same {
                return false;
            }
        }
        let (base, window) = line.out();
        self.target(slots, epoch) == base && has_same_window(self.out, &window)
    }
}
