//! Bases with one value: written once, completely, and only by this program.
//!
//! The contents of such a base do not change after its definition. So reads of it may be redirected to another base
//! with the same contents, and its definition may be substituted for it.

use super::covers;
use numelt_ir::{BaseId, Instr, Operand, Program, View};

const NONE: u32 = u32::MAX;
const MANY: u32 = u32::MAX - 1;

/// For each base, the instruction that defines it.
pub(crate) struct Single(Vec<u32>);

impl Single {
    pub fn of(program: &Program) -> Single {
        let mut defs = vec![NONE; program.bases.len()];
        for (at, instr) in (0u32..).zip(&program.instrs) {
            let base = instr.out.base as usize;
            let whole = defs[base] == NONE
                && !program.bases[base].input
                && covers(&instr.out, program.bases[base].nbytes as i64)
                && instr.reads().all(|v| v.base != instr.out.base);
            defs[base] = if whole { at } else { MANY };
        }
        Single(defs)
    }

    /// The instruction that defines a base with one value.
    pub fn definition(&self, base: BaseId) -> Option<usize> {
        let at = self.0[base as usize];
        (at < MANY).then_some(at as usize)
    }

    /// The definition of a view that is read as it was written.
    pub fn producer<'a>(&self, program: &'a Program, view: &View) -> Option<(usize, &'a Instr)> {
        let at = self.definition(view.base)?;
        let instr = &program.instrs[at];
        (instr.out == *view).then_some((at, instr))
    }
}

/// How often each base has been written so far, for passes that go forwards: a value that is read at one point is the
/// same at a later one if the count of its base is.
pub(super) struct Versions(Vec<u32>);

impl Versions {
    pub fn new(program: &Program) -> Versions {
        Versions(vec![0; program.bases.len()])
    }

    pub fn of(&self, base: BaseId) -> u32 {
        self.0[base as usize]
    }

    pub fn written(&mut self, base: BaseId) {
        self.0[base as usize] += 1;
    }
}

/// The number of reads of each base, as operands.
pub(crate) fn reads(program: &Program) -> Vec<u32> {
    let mut reads = vec![0; program.bases.len()];
    program.instrs.iter().flat_map(Instr::reads).for_each(|v| reads[v.base as usize] += 1);
    reads
}

/// The view that is an instruction's operand with this index.
pub(super) fn view_at(instr: &Instr, position: usize) -> Option<&View> {
    match instr.ins.get(position)? {
        Operand::View(view) => Some(view),
        Operand::Const(_) => None,
    }
}

/// Removes the instructions that `drop` marks.
pub(super) fn remove(program: &mut Program, drop: &[bool]) {
    let mut marks = drop.iter();
    program.instrs.retain(|_| !marks.next().expect("a mark per instruction"));
}
