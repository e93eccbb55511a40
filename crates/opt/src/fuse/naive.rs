//! Program order: each instruction joins the current block, or starts the next one.
//!
//! Blocks are stretches of the program, so they cannot form a cycle.

use super::legality::{Block, fuse, fused_cost};
use crate::access::AccessTable;

pub(super) fn partition(table: &AccessTable) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for i in 0..table.instrs.len() as u32 {
        let single = Block::single(table, i);
        match blocks.last().and_then(|current| fused_cost(table, current, &single)) {
            Some(cost) => {
                let current = blocks.pop().expect("it has a cost");
                blocks.push(fuse(current, single, cost));
            }
            None => blocks.push(single),
        }
    }
    blocks
}
