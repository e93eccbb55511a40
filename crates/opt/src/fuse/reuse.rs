//! Values that are stored in the memory of values that nobody reads any more.
//!
//! A value that a kernel computes while it reads another one for the last time is stored in the other one's memory,
//! element for element, if that lowers the peak of memory enough. (If a kernel is full, because it has as many operands
//! as it may have, several values can wait for the kernels after it, while the program as it was written had only one
//! of them at a time.)
//!
//! Only memory of values that the program itself has made is overwritten, because nobody else needs it.

use super::accesses::BlockAccess;
use super::legality::Block;
use super::memory::{self, Life, lives_in_blocks};
use crate::access::{AccessTable, ViewId};
use numelt_ir::{BaseId, Operand, Program};

/// A program's bases must take at least this many times the memory of a value that is moved.
const MANY: u64 = 32;
/// The peak has to fall by at least one part in this many.
const WORTH: u64 = 32;
/// The most values that are considered.
const MOST: usize = 256;

/// Moves values of at least `least` bytes if the peak falls; true if some have been moved.
pub(crate) fn run(program: &mut Program, table: &mut AccessTable, blocks: &mut [Block], least: u64) -> bool {
    if table.bases.iter().map(|base| base.nbytes as u64).sum::<u64>() < MANY.saturating_mul(least) {
        return false;
    }
    let mut search = MoveSearch::new(table, blocks, least);
    let before = search.peak();
    search.run();
    if search.moves.is_empty() || before - search.peak() < (before / WORTH).max(1) {
        return false;
    }
    let mut to: Vec<Option<(BaseId, i64)>> = vec![None; program.bases.len()];
    search.moves.iter().for_each(|m| to[m.value as usize] = Some((m.host, m.low)));
    for instr in &mut program.instrs {
        let reads = instr.ins.iter_mut().filter_map(|operand| match operand {
            Operand::View(view) => Some(view),
            Operand::Const(_) => None,
        });
        for view in reads.chain([&mut instr.out]) {
            if let Some((host, low)) = to[view.base as usize] {
                view.base = host;
                view.offset += low;
            }
        }
    }
    let target = table.target;
    *table = AccessTable::new(program, &target);
    blocks.iter_mut().for_each(|block| *block = Block::of(table, &block.instrs));
    true
}

/// A value that is stored in the memory of another one.
struct Move {
    value: BaseId,
    host: BaseId,
    /// The offset in the host, in bytes.
    low: i64,
    high: i64,
}

/// The search for moves, with those found so far.
struct MoveSearch<'a> {
    table: &'a AccessTable,
    blocks: &'a [Block],
    least: u64,
    /// The lives of the bases, as the moves so far change them.
    lives: Vec<Life>,
    moves: Vec<Move>,
}

impl<'a> MoveSearch<'a> {
    fn new(table: &'a AccessTable, blocks: &'a [Block], least: u64) -> MoveSearch<'a> {
        MoveSearch { table, blocks, least, lives: lives_in_blocks(table, blocks), moves: Vec::new() }
    }

    fn peak(&self) -> u64 {
        memory::peak_of(self.table, self.blocks.len(), &self.lives)
    }

    /// Finds moves that do not raise the peak.
    fn run(&mut self) {
        let (mut peak, mut tried, blocks) = (self.peak(), 0, self.blocks);
        for (at, block) in blocks.iter().enumerate().filter(|(_, block)| !block.alone) {
            for value in &block.accesses {
                if !self.is_movable(at, value) {
                    continue;
                }
                for host in &block.accesses {
                    if tried < MOST && self.is_last_read(at, host, value) {
                        tried += 1;
                        if self.move_value(value.base, host, &mut peak) {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Moves a value unless that raises the peak; returns whether it was moved.
    fn move_value(&mut self, value: BaseId, host: &BlockAccess, peak: &mut u64) -> bool {
        let (own, theirs) = (value as usize, host.base as usize);
        let (Some(life), Some(before)) = (self.lives[own].take(), self.lives[theirs]) else { return false };
        self.lives[theirs] = Some((before.0, before.1.max(life.1)));
        let now = self.peak();
        if now > *peak {
            (self.lives[own], self.lives[theirs]) = (Some(life), Some(before));
            return false;
        }
        *peak = now;
        let (low, high) = self.table.range(host.view);
        self.moves.push(Move { value, host: host.base, low, high });
        true
    }

    /// Whether the block computes a whole base, of at least the smallest size.
    fn is_movable(&self, at: usize, access: &BlockAccess) -> bool {
        let (base, view) = (access.base, &self.table.views[access.view as usize].view);
        let bytes = self.table.bases[base as usize].nbytes;
        access.made
            && !access.folded
            && bytes as u64 >= self.least
            && self.table.is_inner(base)
            && self.lives[base as usize].is_some_and(|life| life.0 == at)
            && self.blocks[at].accesses_to(base).len() == 1
            && view.offset == 0
            && view.is_c_contiguous()
            && view.nbytes() == bytes as i64
            && !self.moves.iter().any(|m| m.host == base || m.value == base)
    }

    /// Whether the block reads, for the last time, elements with the layout of `value`.
    fn is_last_read(&self, at: usize, access: &BlockAccess, value: &BlockAccess) -> bool {
        let (base, views) = (access.base, &self.table.views);
        let (own, other) = (&views[access.view as usize].view, &views[value.view as usize].view);
        let alike = own.dtype == other.dtype && own.shape == other.shape && own.strides == other.strides;
        if !alike || base == value.base || !access.loaded || !self.table.is_inner(base) {
            return false;
        }
        let (low, high) = self.table.range(access.view);
        let meets = |view: ViewId| {
            let range = self.table.range(view);
            self.table.base(view) == base && range.0 < high && low < range.1
        };
        let free = |m: &Move| m.value != base && (m.host != base || m.high <= low || high <= m.low);
        let only_read = |a: &BlockAccess| !meets(a.view) || a.view == access.view && !a.written && !a.gathered;
        let over = |block: &Block| !block.accesses_to(base).iter().any(|a| meets(a.view));
        let later = &self.table.instrs[value.first_write as usize + 1..];
        self.moves.iter().all(free)
            && self.blocks[at].accesses_to(base).iter().all(only_read)
            && self.blocks[at + 1..].iter().all(over)
            && !later.iter().any(|info| info.reads.iter().chain([&info.write]).any(|&view| meets(view)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Graph;
    use super::super::partition;
    use super::*;
    use crate::Options;

    /// The program with values moved, or nothing.
    fn moved(text: &str) -> Option<Program> {
        let mut program: Program = text.parse().unwrap();
        let mut table = AccessTable::new(&program, &Options::default().target);
        let mut blocks = partition(&table, &Options::default());
        let before = memory::peak(&table, &blocks);
        let changed = run(&mut program, &mut table, &mut blocks, 1);
        numelt_ir::verify(&program).unwrap();
        assert_eq!(Graph::new(&table).check(&blocks), Ok(()));
        assert!(!changed || memory::peak(&table, &blocks) < before);
        changed.then_some(program)
    }

    /// Two values that are computed from one array wait until one element of each is read.
    const TWO: &str = "
base %0 800 in out
base %1 800
base %2 400
base %3 400
base %4 8 out
base %5 8 out
%1[f64 (100)] = negative.f64 %0[f64 (100)]
%1[f64 (100)] = cumsum.f64 %1[f64 (100)] axes=(0)
%2[f64 (50)] = sqrt.f64 %1[f64 (50)]
%3[f64 (50)] = sqrt.f64 %1[f64 +400 (50)]
%4[f64 (1)] = copy.f64 %2[f64 +8 (1)]
%5[f64 (1)] = copy.f64 %3[f64 +16 (1)]
";

    #[test]
    fn values_take_the_place_of_what_they_are_made_of() {
        let program = moved(TWO).unwrap();
        let outputs: Vec<(BaseId, i64)> = program.instrs[2..4].iter().map(|i| (i.out.base, i.out.offset)).collect();
        assert_eq!(outputs, [(1, 0), (1, 400)]);
    }

    #[test]
    fn what_is_read_again_or_held_is_not_overwritten() {
        assert!(moved(&TWO.replace("base %1 800", "base %1 800 out")).is_none());
        assert!(moved(&TWO.replace("base %1 800", "base %1 800 in")).is_none());
        assert!(
            moved(&format!("{TWO}%5[f64 (1)] = copy.f64 %1[f64 (1)]\n%4[f64 (1)] = copy.f64 %1[f64 +400 (1)]\n"))
                .is_none()
        );
        let backwards = TWO.replace("sqrt.f64 %1[f64 (50)]", "sqrt.f64 %1[f64 +392 (50):(-8)]");
        let backwards = backwards.replace("sqrt.f64 %1[f64 +400 (50)]", "sqrt.f64 %1[f64 +792 (50):(-8)]");
        assert!(moved(&backwards).is_none());
    }
}
