//! The dependency graph: for each instruction of an access table, its predecessors and successors.
//!
//! There is an edge for each hazard (read after write, write after read, write after write) between views that share a
//! byte. Edges that follow from others through an identical view are left out. While the graph is made, there is one
//! [`AccessGroup`] for each distinct view of a base, so that a scalar that is read 40,000 times needs a list, and not
//! the square of that many edges. If a base has many views, its oldest groups are replaced by a barrier: one
//! instruction that waits for all of them. A view that overlaps no other one has a list of its own.

use super::legality::Block;
use crate::access::{AccessTable, ViewId};
use smallvec::SmallVec;

/// A short list of instructions.
pub(crate) type Indices = SmallVec<[u32; 4]>;

/// The most groups of a base; with more, the older half is replaced by a barrier.
const MAX_GROUPS: usize = 128;

/// Dependencies between instructions; every edge goes from a lower to a higher index.
pub(crate) struct Graph {
    pub preds: Vec<Indices>,
    pub succs: Vec<Indices>,
}

/// The accesses to one view that later instructions may have to wait for.
struct AccessGroup {
    view: ViewId,
    /// Its byte range. It tells most groups apart without a look at the table.
    low: i64,
    high: i64,
    accesses: Accesses,
}

/// Accesses that a later one may have to wait for.
#[derive(Clone, Default)]
struct Accesses {
    /// Last instruction that wrote.
    writer: Option<u32>,
    /// Instructions that read since.
    readers: Indices,
}

impl Accesses {
    fn read(&mut self, index: u32, waits: &mut Indices) {
        waits.extend(self.writer);
        if self.readers.last() != Some(&index) {
            self.readers.push(index);
        }
    }

    fn write(&mut self, index: u32, waits: &mut Indices) {
        self.before_write(index, waits);
        self.writer = Some(index);
        self.readers.clear();
    }

    /// The instructions for which a write to the same bytes waits. Readers already wait for the writer.
    fn before_write(&self, index: u32, waits: &mut Indices) {
        if self.readers.is_empty() || self.readers[..] == [index] {
            waits.extend(self.writer);
        }
        waits.extend(self.readers.iter().copied());
    }
}

/// The accesses to one base so far.
#[derive(Default)]
struct History {
    groups: Vec<AccessGroup>,
    /// The instruction that replaces old groups: every later access waits for it, whatever its view.
    barrier: Option<u32>,
}

impl Graph {
    pub fn new(table: &AccessTable) -> Graph {
        let count = table.instrs.len();
        let mut graph = Graph { preds: vec![Indices::new(); count], succs: vec![Indices::new(); count] };
        let mut histories: Vec<History> = Vec::new();
        histories.resize_with(table.uses.len(), History::default);
        let mut apart: Vec<Accesses> = vec![Accesses::default(); table.views.len()];
        for (index, info) in table.instrs.iter().enumerate() {
            let index = index as u32;
            let mut waits = Indices::new();
            for &view in &info.reads {
                if table.views[view as usize].apart {
                    apart[view as usize].read(index, &mut waits);
                } else {
                    histories[table.base(view) as usize].read(table, index, view, &mut waits);
                }
            }
            if table.views[info.write as usize].apart {
                apart[info.write as usize].write(index, &mut waits);
            } else {
                histories[table.base(info.write) as usize].write(table, index, info.write, &mut waits);
            }
            waits.sort_unstable();
            waits.dedup();
            waits.retain(|w| *w != index);
            for &w in &waits {
                graph.succs[w as usize].push(index);
            }
            graph.preds[index as usize] = waits;
        }
        graph
    }

    /// Checks that a partition has each instruction once, in an order that respects every edge.
    pub fn check(&self, blocks: &[Block]) -> Result<(), String> {
        let mut position = vec![usize::MAX; self.preds.len()];
        for (at, block) in blocks.iter().enumerate() {
            for &i in &block.instrs {
                if std::mem::replace(&mut position[i as usize], at) != usize::MAX {
                    return Err(format!("instruction {i} is in two blocks"));
                }
            }
        }
        for (i, waits) in self.preds.iter().enumerate() {
            if position[i] == usize::MAX {
                return Err(format!("instruction {i} is in no block"));
            }
            if let Some(w) = waits.iter().find(|&&w| position[w as usize] > position[i]) {
                return Err(format!("instruction {i} runs before {w}, which it needs"));
            }
        }
        Ok(())
    }
}

impl History {
    fn read(&mut self, table: &AccessTable, index: u32, view: ViewId, waits: &mut Indices) {
        waits.extend(self.barrier);
        let (low, high) = table.range(view);
        let mut own = None;
        for (at, group) in self.groups.iter().enumerate() {
            if group.low >= high || low >= group.high {
                continue;
            }
            if group.view == view {
                own = Some(at);
            } else if group.accesses.writer.is_some() && table.overlap(group.view, view) {
                waits.extend(group.accesses.writer);
            }
        }
        let at = own.unwrap_or_else(|| self.open(table, view, index, waits));
        self.groups[at].accesses.read(index, waits);
    }

    fn write(&mut self, table: &AccessTable, index: u32, view: ViewId, waits: &mut Indices) {
        waits.extend(self.barrier);
        let (low, high) = table.range(view);
        let mut own = None;
        for (at, group) in self.groups.iter().enumerate() {
            if group.low >= high || low >= group.high {
                continue;
            }
            if group.view == view {
                own = Some(at);
            } else if table.overlap(group.view, view) {
                group.accesses.before_write(index, waits);
            }
        }
        let at = own.unwrap_or_else(|| self.open(table, view, index, waits));
        self.groups[at].accesses.write(index, waits);
    }

    /// Starts a group for a view that has not occurred yet.
    fn open(&mut self, table: &AccessTable, view: ViewId, index: u32, waits: &mut Indices) -> usize {
        if self.groups.len() >= MAX_GROUPS {
            for group in self.groups.drain(..MAX_GROUPS / 2) {
                waits.extend(group.accesses.writer);
                waits.extend(group.accesses.readers);
            }
            self.barrier = Some(index);
        }
        let (low, high) = table.range(view);
        self.groups.push(AccessGroup { view, low, high, accesses: Accesses::default() });
        self.groups.len() - 1
    }
}
