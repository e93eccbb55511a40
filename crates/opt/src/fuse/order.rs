//! A topological order of blocks that is maintained while blocks fuse. For each request to fuse two blocks, it tells
//! whether that would close a cycle, and is updated if not.
//!
//! Blocks are in a linked list with labels, so that two can be compared in constant time. Let `a` come before `b`. A
//! cycle needs a path from `a` through a third block to `b`, and every block on that path lies between the two in the
//! order, so the search looks at nothing else. It alternates between a search forwards from `a` and one backwards from
//! `b`, and ends when either is exhausted: then no path exists, and only the exhausted side has to move (the followers
//! of `a` behind `b`, or the predecessors of `b` in front of `a`). Programs use values soon after they are made, so one
//! side is nearly always a handful of blocks.

use super::graph::{Graph, Indices};

/// The most edges that one search may visit before it gives up and the blocks stay apart.
const SEARCH_BUDGET: u32 = 192;
/// The same after all searches together have visited [`PER_INSTRUCTION`] edges for each instruction. Only programs that
/// were made to be hard get there, and for them, too, the time must stay near-linear.
const SHORT_BUDGET: u32 = 24;
const PER_INSTRUCTION: usize = 24;

/// Blocks as disjoint sets of instructions, in topological order.
pub(super) struct Order {
    parent: Vec<u32>,
    preds: Vec<Indices>,
    succs: Vec<Indices>,
    label: Vec<u64>,
    next: Vec<u32>,
    prev: Vec<u32>,
    forward: BlockSearch,
    backward: BlockSearch,
    /// The number of edges that searches may still visit with the full budget.
    credit: usize,
}

/// One direction of a search. `mark` holds for each block the number of the last search that visited it.
struct BlockSearch {
    mark: Vec<u32>,
    round: u32,
    found: Vec<u32>,
    /// The number of blocks of `found` whose edges have been visited, and the number of visited edges of the next one.
    done: usize,
    edge: usize,
}

/// Why two blocks stay apart.
pub(super) enum Refusal {
    /// A third block lies between them.
    Cycle,
    /// The search for a cycle was given up.
    TooFar,
}

enum Progress {
    More,
    Exhausted,
    Cycle,
}

impl BlockSearch {
    fn new(count: usize) -> BlockSearch {
        BlockSearch { mark: vec![0; count], round: 0, found: Vec::new(), done: 0, edge: 0 }
    }

    fn start(&mut self, from: u32) {
        self.round += 1;
        self.found.clear();
        self.found.push(from);
        self.mark[from as usize] = self.round;
        (self.done, self.edge) = (0, 0);
    }
}

impl Order {
    /// Every instruction is a block; program order is topological.
    pub fn new(graph: &Graph) -> Order {
        let count = graph.preds.len();
        // the list is a ring through one more node, which represents both ends
        let ring = count as u32 + 1;
        let mut order = Order {
            parent: (0..count as u32).collect(),
            preds: graph.preds.clone(),
            succs: graph.succs.clone(),
            label: vec![0; count + 1],
            next: (0..ring).map(|i| (i + 1) % ring).collect(),
            prev: (0..ring).map(|i| (i + ring - 1) % ring).collect(),
            forward: BlockSearch::new(count),
            backward: BlockSearch::new(count),
            credit: count * PER_INSTRUCTION,
        };
        order.relabel();
        order
    }

    /// The block that holds an instruction.
    pub fn find(&mut self, index: u32) -> u32 {
        find(&mut self.parent, index)
    }

    /// Fuses two blocks and returns the instruction that now names the block.
    pub fn fuse(&mut self, a: u32, b: u32) -> Result<u32, Refusal> {
        let (a, b) = if self.label[a as usize] < self.label[b as usize] { (a, b) } else { (b, a) };
        self.forward.start(a);
        self.backward.start(b);
        let mut budget = if self.credit == 0 { SHORT_BUDGET } else { SEARCH_BUDGET };
        let exhausted_forward = loop {
            self.credit = self.credit.saturating_sub(1);
            match self.step_forward(a, b) {
                Progress::Cycle => return Err(Refusal::Cycle),
                Progress::Exhausted => break true,
                Progress::More => {}
            }
            match self.step_backward(a, b) {
                Progress::Cycle => return Err(Refusal::Cycle),
                Progress::Exhausted => break false,
                Progress::More => {}
            }
            budget = budget.checked_sub(1).ok_or(Refusal::TooFar)?;
        };
        if exhausted_forward {
            let mut moved = self.forward.found.split_off(1);
            moved.sort_unstable_by_key(|&m| self.label[m as usize]);
            self.move_after(b, &moved);
            self.unlink(a);
            Ok(self.join(a, b, b))
        } else {
            let mut moved = self.backward.found.split_off(1);
            moved.sort_unstable_by_key(|&m| self.label[m as usize]);
            let before = self.prev[a as usize];
            self.move_after(before, &moved);
            self.unlink(b);
            Ok(self.join(a, b, a))
        }
    }

    /// Visits one edge that leads away from `a`.
    fn step_forward(&mut self, a: u32, b: u32) -> Progress {
        let (search, parent) = (&mut self.forward, &mut self.parent);
        let Some(&at) = search.found.get(search.done) else { return Progress::Exhausted };
        let Some(&raw) = self.succs[at as usize].get(search.edge) else {
            (search.done, search.edge) = (search.done + 1, 0);
            return if search.done == search.found.len() { Progress::Exhausted } else { Progress::More };
        };
        search.edge += 1;
        let to = find(parent, raw);
        if to == b && at != a {
            return Progress::Cycle;
        }
        if to != b && self.label[to as usize] < self.label[b as usize] && search.mark[to as usize] != search.round {
            search.mark[to as usize] = search.round;
            search.found.push(to);
        }
        Progress::More
    }

    /// Visits one edge that leads to `b`.
    fn step_backward(&mut self, a: u32, b: u32) -> Progress {
        let (search, parent) = (&mut self.backward, &mut self.parent);
        let Some(&at) = search.found.get(search.done) else { return Progress::Exhausted };
        let Some(&raw) = self.preds[at as usize].get(search.edge) else {
            (search.done, search.edge) = (search.done + 1, 0);
            return if search.done == search.found.len() { Progress::Exhausted } else { Progress::More };
        };
        search.edge += 1;
        let to = find(parent, raw);
        if to == a && at != b {
            return Progress::Cycle;
        }
        if to != a && self.label[to as usize] > self.label[a as usize] && search.mark[to as usize] != search.round {
            search.mark[to as usize] = search.round;
            search.found.push(to);
        }
        Progress::More
    }

    /// Makes one block of two, at the position of `keeps`, which is one of them.
    fn join(&mut self, a: u32, b: u32, keeps: u32) -> u32 {
        let weight = |i: u32| self.preds[i as usize].len() + self.succs[i as usize].len();
        let (root, other) = if weight(a) >= weight(b) { (a, b) } else { (b, a) };
        self.parent[other as usize] = root;
        for lists in [&mut self.preds, &mut self.succs] {
            for edge in std::mem::take(&mut lists[other as usize]) {
                if find(&mut self.parent, edge) != root {
                    lists[root as usize].push(edge);
                }
            }
        }
        if keeps != root {
            self.replace(keeps, root);
        }
        root
    }

    fn unlink(&mut self, at: u32) {
        let (prev, next) = (self.prev[at as usize], self.next[at as usize]);
        self.next[prev as usize] = next;
        self.prev[next as usize] = prev;
    }

    fn link(&mut self, prev: u32, at: u32, next: u32) {
        (self.prev[at as usize], self.next[at as usize]) = (prev, next);
        self.next[prev as usize] = at;
        self.prev[next as usize] = at;
    }

    /// Puts `new`, which is in no list, in the position of `old`.
    fn replace(&mut self, old: u32, new: u32) {
        let (prev, next) = (self.prev[old as usize], self.next[old as usize]);
        self.link(prev, new, next);
        self.label[new as usize] = self.label[old as usize];
    }

    /// Moves blocks, in their order, right behind `anchor`.
    fn move_after(&mut self, anchor: u32, moved: &[u32]) {
        if moved.is_empty() {
            return;
        }
        moved.iter().for_each(|&m| self.unlink(m));
        let next = self.next[anchor as usize];
        let mut last = anchor;
        for &m in moved {
            self.link(last, m, next);
            last = m;
        }
        let (low, high) = (self.label[anchor as usize], self.label_of_end(next));
        let gap = (high - low) / (moved.len() as u64 + 1);
        if gap == 0 {
            return self.relabel();
        }
        for (k, &m) in (1..).zip(moved) {
            self.label[m as usize] = low + k * gap;
        }
    }

    fn label_of_end(&self, at: u32) -> u64 {
        if at == self.sentinel() { u64::MAX } else { self.label[at as usize] }
    }

    fn sentinel(&self) -> u32 {
        self.parent.len() as u32
    }

    /// Spreads the labels evenly over the list.
    fn relabel(&mut self) {
        let gap = u64::MAX / (self.parent.len() as u64 + 2);
        let mut at = self.next[self.sentinel() as usize];
        let mut label = gap;
        while at != self.sentinel() {
            self.label[at as usize] = label;
            label += gap;
            at = self.next[at as usize];
        }
    }
}

fn find(parent: &mut [u32], index: u32) -> u32 {
    let mut root = index;
    while parent[root as usize] != root {
        root = parent[root as usize];
    }
    let mut at = index;
    while parent[at as usize] != root {
        at = std::mem::replace(&mut parent[at as usize], root);
    }
    root
}
