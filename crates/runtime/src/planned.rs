//! What a plan keeps of the program that it was made for.

use crate::packed::PackedProgram;
use crate::track::Track;
use numelt_ir::{Base, BaseId, Instr, Program};
use smallvec::SmallVec;

/// Bases that their holders are about to release.
pub(crate) type PassingBases = SmallVec<[BaseId; 2]>;

/// Numbers of instructions, each with the front end's number of its position.
pub(crate) type SourcePositions = Vec<(u32, u32)>;

/// The program that a plan was made for, as far as the plan keeps it.
pub(crate) struct PlannedProgram {
    pub recorded: PackedProgram,
    pub bases: Box<[Base]>,
    pub passing: PassingBases,
    pub track: Track,
}

impl PlannedProgram {
    /// Keeps a program, and the bases that their holders are about to release.
    pub fn of(program: &Program, passing: &PassingBases) -> PlannedProgram {
        let recorded = PackedProgram::new(&program.instrs);
        let track = Track::new(&program.instrs, &program.bases, &recorded);
        PlannedProgram { recorded, bases: program.bases.as_slice().into(), passing: passing.clone(), track }
    }

    /// The instructions.
    pub fn unpack(&self) -> Vec<Instr> {
        self.recorded.unpack()
    }
}
