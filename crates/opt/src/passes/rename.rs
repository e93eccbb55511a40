//! Each life of a reused work array gets a base of its own.
//!
//! A write that covers a whole base without reading it ends the life of the values before it. In `multiply(a, b,
//! out=t); x += t; multiply(c, d, out=t); y += t` the two lives of `t` are independent of each other, but they order
//! the instructions and keep `t` in memory. With a base of its own, an earlier life can be contracted. The last life of
//! an output, and the life of what an input holds at the start, keep the recorded base. Lives that a scan or library
//! call touches are not renamed: they need memory in any case, and would need more of it.

use super::covers;
use numelt_ir::{Base, BaseId, OpKind, Operand, Program};

/// The lives of one base.
#[derive(Clone, Copy, Default)]
struct Lives {
    /// Writes that start a life.
    starts: u32,
    /// The index of the last of them.
    last: usize,
    touched_by_call: bool,
}

pub(crate) fn run(program: &mut Program) {
    let lives = lives(program);
    if lives.iter().all(|l| l.starts < 2) {
        return;
    }
    let recorded = program.bases.len();
    let mut names: Vec<BaseId> = (0..recorded as BaseId).collect();
    let mut touched = vec![false; recorded];
    let bases = &mut program.bases;
    for (index, instr) in program.instrs.iter_mut().enumerate() {
        for operand in &mut instr.ins {
            if let Operand::View(view) = operand {
                touched[view.base as usize] = true;
                view.base = names[view.base as usize];
            }
        }
        let base = instr.out.base as usize;
        let Base { nbytes, output, .. } = bases[base];
        let reads_own = instr.ins.iter().any(|o| matches!(o, Operand::View(v) if v.base == names[base]));
        if lives[base].starts > 1 && !lives[base].touched_by_call && !reads_own && covers(&instr.out, nbytes as i64) {
            let keeps = if output { index == lives[base].last } else { !touched[base] };
            names[base] = if keeps {
                base as BaseId
            } else {
                bases.push(Base { nbytes, input: false, output: false });
                (bases.len() - 1) as BaseId
            };
        }
        touched[base] = true;
        instr.out.base = names[base];
    }
}

fn lives(program: &Program) -> Vec<Lives> {
    let mut lives = vec![Lives::default(); program.bases.len()];
    for (index, instr) in program.instrs.iter().enumerate() {
        if matches!(instr.op.kind(), OpKind::Scan | OpKind::Library) {
            instr.reads().chain([&instr.out]).for_each(|v| lives[v.base as usize].touched_by_call = true);
        }
        let base = instr.out.base;
        if instr.reads().all(|v| v.base != base) && covers(&instr.out, program.bases[base as usize].nbytes as i64) {
            let life = &mut lives[base as usize];
            (life.starts, life.last) = (life.starts + 1, index);
        }
    }
    lives
}
