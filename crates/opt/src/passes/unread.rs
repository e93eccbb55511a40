//! Results that nobody reads but whose computation may warn: small ones are computed nevertheless.
//!
//! NumPy warns if a statement divides by zero, whether or not its result is read. For large arrays the work would be
//! too expensive for a warning; for a small one it costs less than planning it did. The bases of such results are made
//! outputs, so that no later pass takes them for dead.

use numelt_ir::{Instr, Program};

/// The most elements from which a small result is computed.
const SMALL: i64 = 128;

pub(crate) fn run(program: &mut Program) {
    let mut read = vec![false; program.bases.len()];
    program.instrs.iter().flat_map(Instr::reads).for_each(|view| read[view.base as usize] = true);
    let unread = |instr: &Instr| {
        let base = instr.out.base as usize;
        !read[base] && !program.bases[base].output && instr.domain().iter().product::<i64>() <= SMALL
    };
    if !program.instrs.iter().any(unread) {
        return;
    }
    // for each base, whether what was written to it, or an input of that, may warn
    let mut warns = vec![false; program.bases.len()];
    let mut kept = Vec::new();
    for instr in &program.instrs {
        let base = instr.out.base as usize;
        warns[base] |= instr.may_warn() || instr.reads().any(|view| warns[view.base as usize]);
        if warns[base] && unread(instr) {
            kept.push(base);
        }
    }
    kept.into_iter().for_each(|base| program.bases[base].output = true);
}
