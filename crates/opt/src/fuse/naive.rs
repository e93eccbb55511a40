//! Program order: each instruction joins the current block, or starts the next one.
//!
//! Blocks are stretches of the program, so they can't form a cycle.

use super::legality::{Block, fuse};
use crate::access::AccessTable;

pub(super) fn partition(table: &AccessTable) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for i in 0..table.instrs.len() as u32 {
        let single = Block::single(table, i);
        match blocks.last_mut() {
            Some(current) => match fuse(table, current, &single) {
                Some(fused) => *current = fused,
                None => blocks.push(single),
            },
            None => blocks.push(single),
        }
    }
    blocks
}
