//! Blocks in an order that respects dependencies and is otherwise the program's: of the blocks
//! that are ready, the one with the earliest instruction runs first.

use super::cost;
use super::graph::Graph;
use super::legality::Block;
use crate::access::AccessTable;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

pub(super) fn topological(graph: &Graph, mut blocks: Vec<Block>) -> Vec<Block> {
    let (owner, mut waits) = dependencies(graph, &mut blocks);
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0u32..).zip(&waits).filter(|(_, w)| **w == 0).map(|(at, _)| Reverse(at)).collect();
    let mut sorted = Vec::with_capacity(blocks.len());
    while let Some(Reverse(at)) = ready.pop() {
        sorted.push(at);
        for &i in &blocks[at as usize].instrs {
            for &s in graph.succs[i as usize].iter().filter(|&&s| owner[s as usize] != at) {
                let left = &mut waits[owner[s as usize] as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push(Reverse(owner[s as usize]));
                }
            }
        }
    }
    debug_assert_eq!(sorted.len(), blocks.len(), "blocks form no cycle");
    let mut slots: Vec<Option<Block>> = blocks.into_iter().map(Some).collect();
    sorted.into_iter().filter_map(|at| slots[at as usize].take()).collect()
}

/// Puts blocks in the order of their first instructions. The block of each instruction, and for each block how many edges
/// lead to it from others, counted with their multiplicity.
fn dependencies(graph: &Graph, blocks: &mut [Block]) -> (Vec<u32>, Vec<usize>) {
    blocks.sort_unstable_by_key(|b| b.instrs.iter().copied().min());
    let mut owner = vec![0u32; graph.preds.len()];
    for (at, block) in (0u32..).zip(blocks.iter()) {
        block.instrs.iter().for_each(|&i| owner[i as usize] = at);
    }
    let mut waits = vec![0usize; blocks.len()];
    for (i, preds) in graph.preds.iter().enumerate() {
        waits[owner[i] as usize] += preds.iter().filter(|&&p| owner[p as usize] != owner[i]).count();
    }
    (owner, waits)
}

/// Most blocks that are put in order by what they give back: each step looks at all that are ready.
const MOST: usize = 1024;

/// The same, but where the earliest block would need more memory, one that gives back more than it takes goes first.
pub(super) fn frugal(table: &AccessTable, graph: &Graph, mut blocks: Vec<Block>) -> Vec<Block> {
    if blocks.len() > MOST {
        return blocks;
    }
    let (owner, mut waits) = dependencies(graph, &mut blocks);
    let mut bases = Bases::new(table, &blocks);
    let mut ready: BTreeSet<u32> = (0u32..).zip(&waits).filter(|(_, w)| **w == 0).map(|(at, _)| at).collect();
    let mut sorted = Vec::with_capacity(blocks.len());
    while let Some(&earliest) = ready.first() {
        let grows = |at: u32| bases.growth(table, &blocks[at as usize]);
        let mut at = earliest;
        if grows(earliest) > 0 {
            let best = ready.iter().map(|&other| (grows(other), other)).min();
            at = best.filter(|best| best.0 < 0).map_or(earliest, |best| best.1);
        }
        ready.remove(&at);
        bases.run(table, &blocks[at as usize]);
        sorted.push(blocks[at as usize].clone());
        for &i in &blocks[at as usize].instrs {
            for &s in graph.succs[i as usize].iter().filter(|&&s| owner[s as usize] != at) {
                let left = &mut waits[owner[s as usize] as usize];
                *left -= 1;
                if *left == 0 {
                    ready.insert(owner[s as usize]);
                }
            }
        }
    }
    sorted
}

/// Which bases have memory, and how many blocks still touch each.
struct Bases {
    alive: Vec<bool>,
    left: Vec<u32>,
}

impl Bases {
    fn new(table: &AccessTable, blocks: &[Block]) -> Bases {
        let mut left = vec![0; table.bases.len()];
        blocks.iter().for_each(|block| touched(table, block, |base| left[base] += 1));
        Bases { alive: table.bases.iter().map(|b| b.input).collect(), left }
    }

    /// Bytes that are alive after a block and were not before, less those that were.
    fn growth(&self, table: &AccessTable, block: &Block) -> i64 {
        let mut bytes = 0;
        touched(table, block, |base| {
            let info = &table.bases[base];
            let stays = self.left[base] > 1 || info.output;
            bytes += (i64::from(stays) - i64::from(self.alive[base])) * info.nbytes as i64;
        });
        bytes
    }

    fn run(&mut self, table: &AccessTable, block: &Block) {
        touched(table, block, |base| {
            self.left[base] -= 1;
            self.alive[base] = self.left[base] > 0 || table.bases[base].output;
        });
    }
}

/// The bases that a block has in memory.
fn touched(table: &AccessTable, block: &Block, mut touch: impl FnMut(usize)) {
    for run in block.accesses.chunk_by(|a, b| a.base == b.base) {
        if !cost::is_contracted(table, run.iter().copied()) {
            touch(run[0].base as usize);
        }
    }
}
