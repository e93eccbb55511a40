//! The whole program as one block, found without a dependency graph. Most small batches end as one block.

use super::legality::{Block, fuse, fused_cost};
use crate::access::AccessTable;

/// One block with all instructions, if that is legal and every instruction either saves bytes in it or is too small for
/// a launch of its own.
pub(super) fn partition(table: &AccessTable) -> Option<Block> {
    if table.instrs.is_empty() {
        return None;
    }
    let mut whole = Block::single(table, 0);
    for i in 1..table.instrs.len() as u32 {
        let single = Block::single(table, i);
        let cost = fused_cost(table, &whole, &single)?;
        let apart = whole.cost.bytes + single.cost.bytes;
        if cost.bytes >= apart && apart > table.target.launch_bytes {
            return None;
        }
        whole = fuse(whole, single, cost);
    }
    Some(whole)
}
