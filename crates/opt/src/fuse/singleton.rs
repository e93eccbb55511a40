//! No fusion: the reference against which savings are counted.

use super::legality::Block;
use crate::access::AccessTable;

pub(crate) fn partition(table: &AccessTable) -> Vec<Block> {
    (0..table.instrs.len() as u32).map(|i| Block::single(table, i)).collect()
}
