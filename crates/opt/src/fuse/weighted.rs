//! The partition graph of the fusion paper (Definition 12; see docs/fusion.md) in full, for stretches of at most
//! [`WINDOW`] instructions.
//!
//! Vertices are blocks. Directed edges are kept as reachability, one bit set per vertex and direction, so that one
//! intersection tells whether an edge is transitive (a third block lies between its ends). Fuse-preventing edges are
//! bit sets, too. Weight edges join the pairs whose fusion saves bytes. When two vertices fuse (Definition 13), the
//! edges of the new vertex are weighed again. The near-linear [`greedy`](super::greedy) needs none of this;
//! `unintrusive` and `optimal` do.

use super::cost::Traffic;
use super::graph::Graph;
use super::legality::{self, Block};
use crate::access::AccessTable;
use std::ops::Range;
use std::rc::Rc;

/// The most vertices of one graph: the bits of a [`Set`].
pub(super) const WINDOW: usize = u128::BITS as usize;

/// A set of vertices.
type Set = u128;

fn members(set: Set) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        let at = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(at)
    })
}

/// Two vertices whose fusion saves bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub u: usize,
    pub v: usize,
    pub saved: u64,
    cost: Traffic,
}

/// The partition graph of a stretch of instructions.
#[derive(Clone)]
pub(super) struct Weighted<'a> {
    table: &'a AccessTable,
    blocks: Vec<Option<Rc<Block>>>,
    alive: Set,
    /// For each vertex, the vertices that it leads to, and those that lead to it, over any number of edges.
    below: Vec<Set>,
    above: Vec<Set>,
    /// For each vertex, the vertices that must not be in one block with it.
    barred: Vec<Set>,
    /// For each vertex, the vertices that a search keeps out of its block.
    given_up: Vec<Set>,
    /// Weight edges, in no order.
    edges: Vec<Edge>,
}

/// Stretches of the program that fit one graph each.
pub(super) fn windows(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(WINDOW).map(move |from| from..count.min(from + WINDOW))
}

impl<'a> Weighted<'a> {
    /// The graph without fusion.
    pub fn new(table: &'a AccessTable, graph: &Graph, instrs: Range<usize>) -> Weighted<'a> {
        let count = instrs.len();
        let mut weighted = Weighted {
            table,
            blocks: instrs.clone().map(|i| Some(Rc::new(Block::single(table, i as u32)))).collect(),
            alive: if count == WINDOW { Set::MAX } else { (1 << count) - 1 },
            below: vec![0; count],
            above: vec![0; count],
            barred: vec![0; count],
            given_up: vec![0; count],
            edges: Vec::new(),
        };
        for at in 0..count {
            for &before in graph.preds[instrs.start + at].iter().filter(|&&p| p as usize >= instrs.start) {
                let before = before as usize - instrs.start;
                weighted.above[at] |= weighted.above[before] | 1 << before;
            }
            members(weighted.above[at]).for_each(|a| weighted.below[a] |= 1 << at);
            (0..at).for_each(|other| weighted.compare(other, at));
        }
        weighted
    }

    fn block(&self, at: usize) -> &Rc<Block> {
        self.blocks[at].as_ref().expect("a living vertex")
    }

    /// Determines whether two vertices may fuse and how much that saves.
    fn compare(&mut self, u: usize, v: usize) {
        if self.given_up[u] >> v & 1 == 1 {
            return;
        }
        let (a, b) = (self.block(u), self.block(v));
        let Some(cost) = legality::fused_cost(self.table, a, b) else {
            self.barred[u] |= 1 << v;
            self.barred[v] |= 1 << u;
            return;
        };
        let saved = (a.cost.bytes + b.cost.bytes).saturating_sub(cost.bytes);
        if saved > 0 {
            self.edges.push(Edge { u: u.min(v), v: u.max(v), saved, cost });
        }
    }

    /// Bytes of the partition.
    pub fn cost(&self) -> u64 {
        members(self.alive).map(|at| self.block(at).cost.bytes).sum()
    }

    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Keeps the ends of an edge apart from now on.
    pub fn give_up(&mut self, edge: &Edge) {
        self.edges.retain(|e| (e.u, e.v) != (edge.u, edge.v));
        self.given_up[edge.u] |= 1 << edge.v;
        self.given_up[edge.v] |= 1 << edge.u;
    }

    /// Whether a third block lies between the ends. Such an edge must be ignored, because fusing it alone closes a
    /// cycle.
    pub fn is_transitive(&self, edge: &Edge) -> bool {
        let between = |a: usize, b: usize| self.below[a] & self.above[b] != 0;
        between(edge.u, edge.v) || between(edge.v, edge.u)
    }

    /// The heaviest edge that is not ignored; ties go to the earliest vertices.
    pub fn heaviest(&self) -> Option<Edge> {
        let order = |e: &Edge| (std::cmp::Reverse(e.saved), e.u, e.v);
        self.edges.iter().filter(|e| !self.is_transitive(e)).copied().min_by_key(order)
    }

    /// Replaces the ends of an edge by one vertex, which keeps the name `u`.
    pub fn fuse(&mut self, edge: &Edge) {
        let Edge { u, v, cost, .. } = *edge;
        let (a, b) = (self.blocks[u].take(), self.blocks[v].take());
        let own = |block: Option<Rc<Block>>| Rc::unwrap_or_clone(block.expect("a living vertex"));
        self.blocks[u] = Some(Rc::new(legality::fuse(own(a), own(b), cost)));
        let pair: Set = 1 << u | 1 << v;
        self.alive &= !(1 << v);
        self.below[u] = (self.below[u] | self.below[v]) & !pair;
        self.above[u] = (self.above[u] | self.above[v]) & !pair;
        self.edges.retain(|e| pair & (1 << e.u | 1 << e.v) == 0);
        let (below, above) = (self.below[u], self.above[u]);
        for other in members(self.alive & !pair) {
            for (reach, onwards, hit) in [(&mut self.below, below, above), (&mut self.above, above, below)] {
                let through = if hit >> other & 1 == 1 { onwards | 1 << u } else { 0 };
                reach[other] = (reach[other] | through) & !(1 << v);
            }
            self.barred[other] &= !pair;
            if self.given_up[other] & pair != 0 {
                self.given_up[other] |= 1 << u;
                self.given_up[u] |= 1 << other;
            }
        }
        self.barred[u] = 0;
        members(self.alive & !pair).for_each(|other| self.compare(u, other));
    }

    /// The vertices that a vertex can never join (the paper's theta): those at the other ends of its fuse-preventing
    /// edges, and all to or from which a path with such an edge leads.
    pub fn never_joins(&self, at: usize) -> Set {
        let apart = |other: &usize| {
            let (down, up) = (self.below[at] & self.above[*other], self.above[at] & self.below[*other]);
            let linked = (self.below[at] | self.above[at]) >> *other & 1 == 1;
            let path = down | up | 1 << at | 1 << *other;
            linked && members(path).any(|p| self.barred[p] & path != 0)
        };
        let barred = self.barred[at];
        barred | members(self.alive & !barred & !(1 << at)).filter(apart).fold(0, |set, other| set | 1 << other)
    }

    /// A lower bound on the bytes of any partition that fuses these edges and no others: the cost if all of them are
    /// fused, legal or not (Lemma 1: the cost falls as blocks fuse).
    pub fn bound(&self) -> u64 {
        let mut home: Vec<usize> = (0..self.blocks.len()).collect();
        for edge in &self.edges {
            let (from, to) = (home[edge.v], home[edge.u]);
            if from != to {
                home.iter_mut().filter(|h| **h == from).for_each(|h| *h = to);
            }
        }
        let mut total = 0;
        for root in members(self.alive).filter(|&at| home[at] == at) {
            let first = Block::clone(self.block(root));
            let rest = members(self.alive).filter(|&at| at != root && home[at] == root);
            let joint = rest.fold(first, |sum, at| {
                let cost = legality::loose_cost(self.table, &sum, self.block(at));
                legality::fuse(sum, Block::clone(self.block(at)), cost)
            });
            total += joint.cost.bytes;
        }
        total
    }

    /// The blocks, in no particular order.
    pub fn into_blocks(self) -> impl Iterator<Item = Block> {
        self.blocks.into_iter().flatten().map(Rc::unwrap_or_clone)
    }
}
