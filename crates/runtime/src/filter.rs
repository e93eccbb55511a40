//! Filters: passes that the user has written, which get the program of each batch before it is planned.
//!
//! A filter may change, insert and remove instructions, append literals, and append bases for temporaries. The recorded
//! bases keep their numbers, sizes and flags. A program that breaks these rules does not run ([`check`]).

use crate::engine::{Engine, Task};
use crate::heap::cell::MAX_SLOTS;
use numelt_ir::{Error, Program, Result};

/// A pass over the program of each batch.
///
/// A filter is called under the runtime's lock, so it must not use the runtime.
pub trait Filter: Send + Sync {
    /// The name by which it is removed, and which errors state.
    fn name(&self) -> &str;

    /// Returns the program to run in place of this one, or `None` to leave it unchanged. The result is verified. If
    /// it is refused, or if this fails, the batch runs without this filter.
    ///
    /// # Errors
    /// Whatever the filter wants to report to the user, in a [`FilterError`].
    fn apply(&self, program: &Program) -> Result<Option<Program>>;
}

/// A filter that failed, or that made a program which must not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The filter's name.
    pub name: String,
    /// What went wrong.
    pub error: Error,
}

/// The most bases that a program may have. A batch that begins with remaining instructions must still have slots for
/// one more instruction.
const MOST_BASES: usize = MAX_SLOTS - 4;

/// Checks that a filter's program may run in place of the recorded one.
pub(crate) fn check(recorded: &Program, new: &Program, engine: &dyn Engine) -> Result<()> {
    let known = recorded.bases.len();
    let refuse = |text: String| Err(Error::Invalid(text));
    if new.bases.get(..known) != Some(&recorded.bases[..]) {
        return refuse("the recorded bases have changed: a filter may only append bases".to_string());
    }
    if let Some(added) = new.bases[known..].iter().position(|base| base.input || base.output) {
        return refuse(format!("base %{} was added and is an input or an output", known + added));
    }
    if new.bases.len() > MOST_BASES {
        return refuse(format!("{} bases are more than the {MOST_BASES} that a batch may have", new.bases.len()));
    }
    numelt_ir::verify(new)?;
    let (before, after) = (written(recorded), written(new));
    for (id, base) in recorded.bases.iter().enumerate() {
        if after[id] && !before[id] {
            return refuse(format!("base %{id} is written, which the recorded program only reads"));
        }
        if before[id] && !after[id] && base.output && !base.input {
            return refuse(format!("nothing writes the output %{id} any more"));
        }
    }
    let (unset_before, unset) = (read_unset(recorded), read_unset(new));
    if let Some(id) = (0..unset.len()).find(|&id| unset[id] && unset_before.get(id) != Some(&true)) {
        return refuse(format!("base %{id} is read before anything is written to it"));
    }
    match new.instrs.iter().find(|instr| !engine.supports(&Task::Call(instr.op, instr.ty))) {
        Some(instr) => Err(Error::Unsupported(format!("{} of {}", instr.op.name(), instr.ty))),
        None => Ok(()),
    }
}

/// For each base of a program: whether it is read before it has a value.
fn read_unset(program: &Program) -> Vec<bool> {
    let mut holds: Vec<bool> = program.bases.iter().map(|base| base.input).collect();
    let mut read = vec![false; holds.len()];
    for instr in &program.instrs {
        instr
            .reads()
            .filter(|view| view.size() > 0)
            .for_each(|view| read[view.base as usize] |= !holds[view.base as usize]);
        holds[instr.out.base as usize] = true;
    }
    read
}

/// For each base of a program: whether an instruction writes it.
fn written(program: &Program) -> Vec<bool> {
    let mut written = vec![false; program.bases.len()];
    program.instrs.iter().for_each(|instr| written[instr.out.base as usize] = true);
    written
}
