//! Small results that nobody reads are computed nevertheless if their computation may warn.
//!
//! NumPy warns if a statement divides by zero, whether or not its result is read. For large arrays the work would be
//! too expensive for a warning; for a small one it costs less than planning it did. The bases of such results are made
//! outputs, so that no later pass takes them for dead.

use numelt_ir::{Instr, Program};

/// The most elements from which a small result is computed.
const SMALL: i64 = 128;

pub(crate) fn run(program: &mut Program) {
    let small = |instr: &Instr| instr.domain().iter().product::<i64>() <= SMALL;
    let outputs: Vec<bool> = program.bases.iter().map(|base| base.output).collect();
    if !program.instrs.iter().any(|instr| !outputs[instr.out.base as usize] && small(instr)) {
        return;
    }
    // For each instruction: whether it may warn, or an instruction that its inputs or the earlier contents of its base
    // depend on.
    let mut bases = vec![false; program.bases.len()];
    let warn = |instr: &Instr| {
        let warns = instr.may_warn() || instr.reads().chain([&instr.out]).any(|view| bases[view.base as usize]);
        bases[instr.out.base as usize] = warns;
        warns
    };
    let warns: Vec<bool> = program.instrs.iter().map(warn).collect();
    // From the last instruction to the first, so that only later reads count. An instruction that changes a base in
    // place (`x += y`, a scatter) reads it as well, but this read alone is no reason to compute it.
    let mut read = outputs;
    for (instr, warns) in program.instrs.iter().zip(warns).rev() {
        let base = instr.out.base;
        if warns && !read[base as usize] && small(instr) {
            program.bases[base as usize].output = true;
        }
        instr.reads().filter(|view| view.base != base).for_each(|view| read[view.base as usize] = true);
    }
}
