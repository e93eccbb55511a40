//! How much memory a partition needs, and partitions that need no more than running one instruction at a time.
//!
//! In: an access table, and blocks in execution order. Out: peaks in bytes, and positions at which few bytes are alive.
//! Fusing over long distances saves traffic but can cost memory: two readers of one array get into one block, and the
//! results of both stay alive until their own readers run. If a partition needs more memory than the program as it was
//! written, it is computed again for stretches of the program, and no block crosses the end of a stretch.

use super::legality::Block;
use crate::access::AccessTable;
use numelt_ir::Base;
use std::ops::Range;

/// A stretch has at least this many instructions.
const SHORTEST: usize = 16;

/// The most bytes that are alive at a time while the blocks run in order. A base is alive from its first access (or the
/// beginning, if it holds values then) to its last one (or the end, if it is an output).
pub(super) fn peak(table: &AccessTable, blocks: &[Block]) -> u64 {
    let contracted = |run: &[_]| super::cost::is_contracted(table, run.iter().copied());
    timeline(table, blocks.len(), |at, touch| {
        let runs = blocks[at].accesses.chunk_by(|a, b| a.base == b.base);
        runs.filter(|run| !contracted(run)).for_each(|run| touch(run[0].base as usize));
    })
}

/// The same if the program's instructions run one by one.
fn peak_of_program(table: &AccessTable) -> u64 {
    timeline(table, table.instrs.len(), |at, touch| {
        let info = &table.instrs[at];
        info.reads.iter().chain([&info.write]).for_each(|&view| touch(table.base(view) as usize));
    })
}

/// The most memory that a partition of the program should need; `None` if the program is too small to matter.
pub(super) fn limit(table: &AccessTable) -> Option<u64> {
    if table.bases.iter().map(|b| b.nbytes as u64).sum::<u64>() < table.target.free_bytes {
        return None;
    }
    Some(peak_of_program(table).max(table.target.free_bytes))
}

/// The peak of the sum of living bases over `steps` steps. `accesses` names the bases of a step.
fn timeline(table: &AccessTable, steps: usize, accesses: impl Fn(usize, &mut dyn FnMut(usize))) -> u64 {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; table.bases.len()];
    for at in 0..steps {
        accesses(at, &mut |base| lives[base] = Some((lives[base].map_or(at, |l| l.0), at)));
    }
    peak_of(table, steps, &lives)
}

/// The same if the first and last step of each base are known; a base without them needs no memory.
pub(super) fn peak_of(table: &AccessTable, steps: usize, lives: &[Option<(usize, usize)>]) -> u64 {
    let mut change = vec![0i64; steps + 1];
    for (&Base { nbytes, input, output }, life) in table.bases.iter().zip(lives) {
        let Some((first, last)) = *life else { continue };
        change[if input { 0 } else { first }] += nbytes as i64;
        if !output {
            change[last + 1] -= nbytes as i64;
        }
    }
    let mut alive = 0;
    change
        .iter()
        .map(|c| {
            alive += c;
            alive
        })
        .max()
        .unwrap_or(0) as u64
}

/// Cuts the program into `count` stretches (a power of two) at positions which few bytes of temporaries cross. Returns
/// the number of the stretch for each instruction; `None` if stretches would be too short.
pub(super) fn stretches(table: &AccessTable, count: usize) -> Option<Vec<u32>> {
    let len = table.instrs.len();
    if len / count < SHORTEST {
        return None;
    }
    let crossing = crossing(table);
    let mut cuts = vec![0, len];
    while cuts.len() <= count {
        let middles: Vec<usize> = cuts.windows(2).map(|w| best_cut(&crossing, w[0]..w[1])).collect();
        cuts.extend(middles);
        cuts.sort_unstable();
    }
    let mut stretch = vec![0; len];
    for (number, cut) in (0u32..).zip(cuts.windows(2)) {
        stretch[cut[0]..cut[1]].fill(number);
    }
    Some(stretch)
}

/// The position at which to cut a range in two parts, each at least a quarter of it.
fn best_cut(crossing: &[u64], range: Range<usize>) -> usize {
    let (quarter, middle) = (range.len() / 4, range.start + range.len() / 2);
    let candidates = range.start + quarter.max(1)..range.end - quarter;
    candidates.min_by_key(|&at| (crossing[at], at.abs_diff(middle))).unwrap_or(middle)
}

/// Bytes of temporaries that are alive between each instruction and the one before it.
fn crossing(table: &AccessTable) -> Vec<u64> {
    let mut life: Vec<Option<(usize, usize)>> = vec![None; table.bases.len()];
    for (at, info) in table.instrs.iter().enumerate() {
        for &view in info.reads.iter().chain([&info.write]) {
            let known = &mut life[table.base(view) as usize];
            *known = Some((known.map_or(at, |l| l.0), at));
        }
    }
    let mut change = vec![0i64; table.instrs.len() + 1];
    for (base, life) in table.bases.iter().zip(&life) {
        if let (Some((first, last)), false, false) = (life, base.input, base.output) {
            change[first + 1] += base.nbytes as i64;
            change[(last + 1).min(table.instrs.len())] -= base.nbytes as i64;
        }
    }
    let mut alive = 0;
    change
        .iter()
        .map(|c| {
            alive += c;
            alive as u64
        })
        .collect()
}
