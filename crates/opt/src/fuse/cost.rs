//! The cost of a block: bytes of the distinct views it accesses (Definition 11 of the partition
//! problem, over bytes), where a base whose whole life is inside the block costs nothing.

use super::legality::{Block, BlockAccess};
use crate::access::AccessTable;

/// Cost and memory operands of a run of accesses that all lie in one base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Bytes accessed.
    pub bytes: u64,
    /// Memory operands of the kernel: a view that is read and written counts twice.
    pub args: u32,
}

impl Cost {
    pub(super) fn add(&mut self, other: Cost) {
        self.bytes += other.bytes;
        self.args += other.args;
    }
}

/// Cost of all accesses of one block to one base.
pub(super) fn of_base(table: &AccessTable, accesses: impl Iterator<Item = BlockAccess> + Clone) -> Cost {
    let mut cost = Cost::default();
    if is_contracted(table, accesses.clone()) {
        return cost;
    }
    for access in accesses {
        cost.bytes += table.views[access.view as usize].bytes;
        cost.args += u32::from(access.loaded) + u32::from(access.written);
    }
    cost
}

/// Does a base live and die inside the block? Given are all of the block's accesses to the base; every
/// view of it must be written before it is read, by an elementwise instruction.
pub(crate) fn is_contracted(table: &AccessTable, accesses: impl Iterator<Item = BlockAccess>) -> bool {
    let (mut uses, mut base) = (0, None);
    for access in accesses {
        if !access.made || access.folded || !table.inner[access.base as usize] {
            return false;
        }
        uses += access.uses;
        base = Some(access.base);
    }
    base.is_some_and(|b| table.uses[b as usize] == uses)
}

/// Cost of a partition in bytes.
pub(crate) fn of_partition(blocks: &[Block]) -> u64 {
    blocks.iter().map(|b| b.cost.bytes).sum()
}
