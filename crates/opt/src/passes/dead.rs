//! Dead code: instructions whose result nobody reads.
//!
//! The pass goes backwards. A result is dead if its base is neither an output nor read later, or if later instructions
//! write the same view, or the whole base, before anything reads it.

use super::covers;
use crate::access::canonical;
use crate::overlap::overlaps;
use numelt_ir::{Program, View};

/// The most overwritten views that are remembered per base; more would make the pass superlinear.
const REMEMBERED: usize = 8;

/// How often each base is written. A view of a base that is written once cannot be overwritten.
fn writes(program: &Program) -> Vec<u32> {
    let mut writes = vec![0; program.bases.len()];
    program.instrs.iter().for_each(|i| writes[i.out.base as usize] += 1);
    writes
}

/// The state of a base while the pass goes backwards.
struct Future {
    /// Whether some element may still be read.
    observed: bool,
    /// Views (canonical) that are written before anything reads them.
    overwritten: Vec<View>,
}

pub(crate) fn run(program: &mut Program) {
    let mut futures: Vec<Future> =
        program.bases.iter().map(|b| Future { observed: b.output, overwritten: Vec::new() }).collect();
    let writes = writes(program);
    let mut live = vec![true; program.instrs.len()];
    for (index, instr) in program.instrs.iter().enumerate().rev() {
        let nbytes = program.bases[instr.out.base as usize].nbytes as i64;
        let future = &mut futures[instr.out.base as usize];
        if !future.observed {
            live[index] = false;
            continue;
        }
        if writes[instr.out.base as usize] > 1 {
            let out = canonical(&instr.out);
            if future.overwritten.contains(&out) {
                live[index] = false;
                continue;
            }
            if covers(&out, nbytes) {
                future.observed = false;
                future.overwritten.clear();
            } else if future.overwritten.len() < REMEMBERED {
                future.overwritten.push(out);
            }
        }
        for view in instr.reads() {
            let future = &mut futures[view.base as usize];
            future.observed = true;
            future.overwritten.retain(|seen| !overlaps(seen, view));
        }
    }
    if live.contains(&false) {
        let mut keep = live.into_iter();
        program.instrs.retain(|_| keep.next().expect("one flag per instruction"));
    }
}
