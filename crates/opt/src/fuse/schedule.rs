//! Blocks in an order that respects dependencies and otherwise follows the program: of the blocks that are ready, the
//! one with the earliest instruction runs first.

use super::graph::Graph;
use super::legality::Block;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn topological(graph: &Graph, mut blocks: Vec<Block>) -> Vec<Block> {
    let first = |b: &Block| b.instrs.iter().copied().min();
    blocks.sort_unstable_by_key(first);
    let mut owner = vec![0u32; graph.preds.len()];
    for (at, block) in (0u32..).zip(&blocks) {
        block.instrs.iter().for_each(|&i| owner[i as usize] = at);
    }
    // edges between instructions of different blocks, counted with their multiplicity
    let mut waits = vec![0usize; blocks.len()];
    for (i, preds) in graph.preds.iter().enumerate() {
        waits[owner[i] as usize] += preds.iter().filter(|&&p| owner[p as usize] != owner[i]).count();
    }
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
