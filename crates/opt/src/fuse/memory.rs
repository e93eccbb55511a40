//! How much memory a partition needs, and where to cut a program so that it needs less.
//!
//! Fusing over long distances saves traffic but can cost memory: two readers of one array get into one block, and the
//! results of both stay alive until their own readers run. If a partition needs more memory than the program as it was
//! written, it is computed again for stretches of the program, and no block crosses the end of a stretch. The program
//! is cut into stretches where few bytes are alive.

use super::legality::Block;
use crate::access::AccessTable;
use numelt_ir::Base;
use std::ops::Range;

/// A stretch has at least this many instructions.
const SHORTEST: usize = 16;

/// The first and the last step that accesses a base; `None` if the base needs no memory.
pub(super) type Life = Option<(usize, usize)>;

/// Extends the life of a base to an access in step `at`. Steps must come in order.
fn extend(life: &mut Life, at: usize) {
    *life = Some((life.map_or(at, |life| life.0), at));
}

/// The lives of the bases while the blocks run in order. Bases that a block contracts need no memory.
pub(super) fn lives_in_blocks(table: &AccessTable, blocks: &[Block]) -> Vec<Life> {
    let mut lives = vec![None; table.bases.len()];
    for (at, block) in blocks.iter().enumerate() {
        for run in block.accesses.chunk_by(|a, b| a.base == b.base) {
            if !super::cost::is_contracted(table, run.iter().copied()) {
                extend(&mut lives[run[0].base as usize], at);
            }
        }
    }
    lives
}

/// The lives of the bases while the program's instructions run one by one.
fn lives_in_program(table: &AccessTable) -> Vec<Life> {
    let mut lives = vec![None; table.bases.len()];
    for (at, info) in table.instrs.iter().enumerate() {
        for &view in info.reads.iter().chain([&info.write]) {
            extend(&mut lives[table.base(view) as usize], at);
        }
    }
    lives
}

/// The most bytes that are alive at a time while the blocks run in order. A base is alive from its first access (or the
/// beginning, if it holds values then) to its last one (or the end, if it is an output).
pub(super) fn peak(table: &AccessTable, blocks: &[Block]) -> u64 {
    peak_of(table, blocks.len(), &lives_in_blocks(table, blocks))
}

/// The most memory that a partition of the program should need; `None` if the program is too small to matter.
pub(super) fn limit(table: &AccessTable) -> Option<u64> {
    if table.bases.iter().map(|b| b.nbytes as u64).sum::<u64>() < table.target.free_bytes {
        return None;
    }
    let program = peak_of(table, table.instrs.len(), &lives_in_program(table));
    Some(program.max(table.target.free_bytes))
}

/// The most bytes that are alive at a time in `steps` steps.
pub(super) fn peak_of(table: &AccessTable, steps: usize, lives: &[Life]) -> u64 {
    let mut change = vec![0i64; steps + 1];
    for (&Base { nbytes, input, output }, life) in table.bases.iter().zip(lives) {
        let Some((first, last)) = *life else { continue };
        change[if input { 0 } else { first }] += nbytes as i64;
        if !output {
            change[last + 1] -= nbytes as i64;
        }
    }
    running_sums(&change).max().unwrap_or(0)
}

/// The sum of all changes up to each position.
fn running_sums(changes: &[i64]) -> impl Iterator<Item = u64> {
    let sum = |sum: &mut i64, change: &i64| {
        *sum += change;
        Some(*sum as u64)
    };
    changes.iter().scan(0, sum)
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
    let lives = lives_in_program(table);
    let mut change = vec![0i64; table.instrs.len() + 1];
    for (base, life) in table.bases.iter().zip(&lives) {
        if let (Some((first, last)), false, false) = (life, base.input, base.output) {
            change[first + 1] += base.nbytes as i64;
            change[(last + 1).min(table.instrs.len())] -= base.nbytes as i64;
        }
    }
    running_sums(&change).collect()
}
