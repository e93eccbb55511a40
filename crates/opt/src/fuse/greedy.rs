//! Greedy fusion: the pair of blocks that saves most bytes first.
//!
//! The algorithm is paper 003's, with two changes that make it near-linear. Only accesses that follow
//! each other on the same view, and a value's writer with each of its readers, are candidates: savings come
//! from shared views and nothing else, and every block reaches its neighbours that way. And the weights live
//! in a priority queue and are looked at again only when they come up: a weight that has shrunk meanwhile goes
//! back into the queue, legality and cycles are checked at that point.
//! Ties go to the earlier instruction, so that the result depends on the program alone.

use super::graph::Graph;
use super::legality::{self, Block};
use super::order::Order;
use crate::access::AccessTable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes saved and two instructions, lower index first.
type Candidate = (u64, Reverse<(u32, u32)>);

/// How often pairs that a cycle kept apart are tried again: a third block that lay between
/// two may have joined one of them since.
const RETRIES: usize = 3;

/// Blocks in no particular order.
pub(super) fn partition(table: &AccessTable, graph: &Graph) -> Vec<Block> {
    let mut state = State {
        table,
        order: Order::new(graph),
        blocks: (0..table.instrs.len() as u32).map(|i| Some(Block::single(table, i))).collect(),
    };
    let mut waiting: Vec<Candidate> =
        pairs(table).into_iter().filter_map(|(i, j)| Some((state.saving(i, j)?, Reverse((i, j))))).collect();
    for _ in 0..=RETRIES {
        let (fused, rejected) = state.drain(BinaryHeap::from(waiting));
        if !fused || rejected.is_empty() {
            break;
        }
        waiting = rejected;
    }
    state.blocks.into_iter().flatten().collect()
}

struct State<'a> {
    table: &'a AccessTable,
    order: Order,
    /// Where the instruction that names a block is.
    blocks: Vec<Option<Block>>,
}

impl State<'_> {
    fn block(&self, name: u32) -> &Block {
        self.blocks[name as usize].as_ref().expect("a block's name stays its place")
    }

    /// Bytes that fusing the blocks of two instructions saves; `None` where it is illegal or pointless.
    fn saving(&mut self, i: u32, j: u32) -> Option<u64> {
        let (u, v) = (self.order.find(i), self.order.find(j));
        if u == v {
            return None;
        }
        let (a, b) = (self.block(u), self.block(v));
        let fused = legality::fused_cost(self.table, a, b)?;
        let saved = (a.cost.bytes + b.cost.bytes).checked_sub(fused.bytes)?;
        (saved > 0).then_some(saved)
    }

    /// Works off a queue; true if anything fused, and the pairs that only a cycle kept apart.
    fn drain(&mut self, mut queue: BinaryHeap<Candidate>) -> (bool, Vec<Candidate>) {
        let (mut fused, mut rejected) = (false, Vec::new());
        while let Some((weight, Reverse((i, j)))) = queue.pop() {
            let Some(saved) = self.saving(i, j) else { continue };
            if saved < weight && queue.peek().is_some_and(|next| next.0 > saved) {
                queue.push((saved, Reverse((i, j))));
            } else if self.fuse(i, j) {
                fused = true;
            } else {
                rejected.push((saved, Reverse((i, j))));
            }
        }
        (fused, rejected)
    }

    fn fuse(&mut self, i: u32, j: u32) -> bool {
        let (u, v) = (self.order.find(i), self.order.find(j));
        let Some(name) = self.order.fuse(u, v) else { return false };
        let (a, b) = (self.blocks[u as usize].take(), self.blocks[v as usize].take());
        let (a, b) = (a.expect("named by u"), b.expect("named by v"));
        self.blocks[name as usize] = legality::fuse(self.table, &a, &b);
        debug_assert!(self.blocks[name as usize].is_some(), "the saving was computed, so fusing is legal");
        true
    }
}

/// Pairs of instructions that share a view: neighbours in the view's list of accesses, and each
/// reader with the last writer.
fn pairs(table: &AccessTable) -> Vec<(u32, u32)> {
    const NONE: u32 = u32::MAX;
    let mut last = vec![NONE; table.views.len()];
    let mut writer = vec![NONE; table.views.len()];
    let mut pairs = Vec::with_capacity(table.instrs.len() * 4);
    for (index, info) in table.instrs.iter().enumerate() {
        let index = index as u32;
        for &view in info.reads.iter().chain([&info.write]) {
            let (near, made) = (last[view as usize], writer[view as usize]);
            if near != NONE && near != index {
                pairs.push((near, index));
            }
            if made != NONE && made != near && made != index {
                pairs.push((made, index));
            }
            last[view as usize] = index;
        }
        writer[info.write as usize] = index;
    }
    pairs
}
