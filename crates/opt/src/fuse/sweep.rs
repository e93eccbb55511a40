//! Small neighbouring blocks become one kernel even if they share nothing.
//!
//! Fusing them saves no bytes but a launch, and for blocks that fit into a cache near the core, a launch is the larger
//! part of the cost. Only blocks next to each other in the execution order fuse, so no cycle can arise.

use super::legality::{Block, fuse, fused_cost};
use crate::access::AccessTable;

/// The blocks in execution order, with small neighbours fused.
pub(super) fn small(table: &AccessTable, blocks: Vec<Block>) -> Vec<Block> {
    let mut swept: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let joint = swept.last().filter(|last| last.cost.bytes + block.cost.bytes <= table.target.launch_bytes);
        match joint.and_then(|last| fused_cost(table, last, &block)) {
            Some(cost) => {
                let last = swept.pop().expect("it has a cost");
                swept.push(fuse(last, block, cost));
            }
            None => swept.push(block),
        }
    }
    swept
}
