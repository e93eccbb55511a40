//! Greedy fusion: the pair of blocks that saves most bytes is fused first.
//!
//! The algorithm is that of the fusion paper (see docs/fusion.md), with two changes that make it near-linear. First,
//! the only candidates are accesses that follow each other on the same view, and a value's writer with each of its
//! readers: only shared views save bytes, and every block reaches its neighbours in this way. Second, the weights are
//! in a priority queue. When two blocks fuse, the pairs of the smaller one are weighed again. Every other weight is
//! computed again only when it reaches the head of the queue, and is put back if it has shrunk; legality and cycles are
//! checked at that point, too. Of equal weights, the earlier instruction goes first, so that the result depends on the
//! program alone.

use super::cost::Traffic;
use super::graph::{Graph, Indices};
use super::legality::{self, Block};
use super::order::{Order, Refusal};
use crate::access::AccessTable;
use std::collections::BinaryHeap;

/// The bytes saved and two instructions, as one number for quick comparison. Of candidates that save the same, the one
/// with the lowest indices is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u128);

impl Candidate {
    fn new(saved: u64, i: u32, j: u32) -> Candidate {
        let pair = u64::from(i.min(j)) << 32 | u64::from(i.max(j));
        Candidate(u128::from(saved) << 64 | u128::from(!pair))
    }

    fn saved(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The instructions, lower index first.
    fn pair(self) -> (u32, u32) {
        let pair = !(self.0 as u64);
        ((pair >> 32) as u32, pair as u32)
    }
}

/// How often pairs that a cycle kept apart are tried again. A third block that lay between the two may have joined one
/// of them in the meantime.
const RETRIES: usize = 1;

/// The most pairs that are weighed again after one fusion; the writer of a shared scalar may have thousands.
const REWEIGHED: usize = 24;

/// The blocks, in no particular order. `stretches` has for each instruction the number of its stretch; if it is given,
/// no block crosses from one stretch to another.
pub(super) fn partition(table: &AccessTable, graph: &Graph, stretches: Option<&[u32]>) -> Vec<Block> {
    let mut pairs = pairs(table);
    if let Some(number) = stretches {
        pairs.retain(|&(i, j)| number[i as usize] == number[j as usize]);
    }
    let mut state = State {
        table,
        partners: partners(table.instrs.len(), &pairs),
        order: Order::new(graph),
        blocks: (0..table.instrs.len() as u32).map(|i| Some(Block::single(table, i))).collect(),
    };
    let mut waiting: Vec<Candidate> =
        pairs.into_iter().filter_map(|(i, j)| Some(Candidate::new(state.weigh(i, j)?.saved, i, j))).collect();
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
    /// For each instruction, the others with which it shares a view.
    partners: Vec<Indices>,
    order: Order,
    /// The blocks, each at the index of the instruction that names it.
    blocks: Vec<Option<Block>>,
}

/// Two blocks that may fuse, the cost of their union, and the bytes that fusing saves.
struct Weighed {
    u: u32,
    v: u32,
    cost: Traffic,
    saved: u64,
}

impl State<'_> {
    fn block(&self, name: u32) -> &Block {
        self.blocks[name as usize].as_ref().expect("a block's name stays its place")
    }

    /// The cost and the savings of fusing the blocks of two instructions; `None` if that is illegal or saves nothing.
    fn weigh(&mut self, i: u32, j: u32) -> Option<Weighed> {
        let (u, v) = (self.order.find(i), self.order.find(j));
        if u == v {
            return None;
        }
        let (a, b) = (self.block(u), self.block(v));
        let cost = legality::fused_cost(self.table, a, b)?;
        let saved = (a.cost.bytes + b.cost.bytes).checked_sub(cost.bytes)?;
        (saved > 0).then_some(Weighed { u, v, cost, saved })
    }

    /// Processes a queue. Returns whether anything fused, and the pairs that only a cycle kept apart.
    fn drain(&mut self, mut queue: BinaryHeap<Candidate>) -> (bool, Vec<Candidate>) {
        let (mut fused, mut rejected) = (false, Vec::new());
        while let Some(candidate) = queue.pop() {
            let (i, j) = candidate.pair();
            let Some(pair) = self.weigh(i, j) else { continue };
            if pair.saved < candidate.saved() && queue.peek().is_some_and(|next| next.saved() > pair.saved) {
                queue.push(Candidate::new(pair.saved, i, j));
                continue;
            }
            match self.order.fuse(pair.u, pair.v) {
                Ok(name) => {
                    fused = true;
                    let smaller = self.join(&pair, name);
                    self.reweigh(&smaller, &mut queue);
                }
                Err(Refusal::Cycle) => rejected.push(Candidate::new(pair.saved, i, j)),
                Err(Refusal::TooFar) => {}
            }
        }
        (fused, rejected)
    }

    /// Replaces two blocks by their union and returns the instructions of the smaller one.
    fn join(&mut self, pair: &Weighed, name: u32) -> Indices {
        let (a, b) = (self.blocks[pair.u as usize].take(), self.blocks[pair.v as usize].take());
        let (a, b) = (a.expect("named by u"), b.expect("named by v"));
        let smaller = if a.instrs.len() < b.instrs.len() { a.instrs.clone() } else { b.instrs.clone() };
        self.blocks[name as usize] = Some(legality::fuse(a, b, pair.cost));
        smaller
    }

    /// Queues the pairs of a block that has just become part of a larger one, with their new weights.
    fn reweigh(&mut self, instrs: &[u32], queue: &mut BinaryHeap<Candidate>) {
        let mut left = REWEIGHED;
        for &i in instrs {
            for at in 0..self.partners[i as usize].len().min(left) {
                let j = self.partners[i as usize][at];
                left -= 1;
                if let Some(pair) = self.weigh(i, j) {
                    queue.push(Candidate::new(pair.saved, i, j));
                }
            }
        }
    }
}

fn partners(count: usize, pairs: &[(u32, u32)]) -> Vec<Indices> {
    let mut partners = vec![Indices::new(); count];
    for &(i, j) in pairs {
        partners[i as usize].push(j);
        partners[j as usize].push(i);
    }
    partners
}

/// The pairs of instructions that share a view: neighbours in the view's list of accesses, and each reader with the
/// last writer.
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
