//! What becomes one step of a plan: single blocks, blocks that share a loop (`nests`), pairs of blocks that may
//! overwrite in place what they read, and blocks with the scatters of their results (`scatters`).

use super::footprint::Footprint;
use super::legality::Block;
use crate::plan::{Gathers, Scratch};

/// The most units that a block may move back to join a group.
pub(super) const LOOK_BACK: usize = 4;

/// Blocks that become one step of the plan, if possible.
pub(crate) enum Unit {
    One(Block),
    Pair(Box<Pair>),
    Group(Group),
    Scattered(Scattered),
}

impl Unit {
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        let (one, many, calls) = match self {
            Unit::One(block) => (Some(block), &[][..], &[][..]),
            Unit::Pair(pair) => (Some(&pair.both), &[][..], &[][..]),
            Unit::Group(group) => (None, &group.stages[..], &[][..]),
            Unit::Scattered(scattered) => (Some(&scattered.block), &[][..], &scattered.calls[..]),
        };
        one.into_iter().chain(many.iter().map(|(block, _)| block)).chain(calls.iter().map(|call| &call.block))
    }
}

/// Two blocks, and their union as one kernel that overwrites what it reads. Whether that is allowed is known only when
/// its loops are.
pub(crate) struct Pair {
    pub first: Block,
    pub second: Block,
    pub both: Block,
}

/// Blocks that share a loop.
pub(crate) struct Group {
    /// The blocks, each with its shared axis, counted in the block's canonical domain.
    pub stages: Vec<(Block, u8)>,
    /// Steps of the shared loop.
    pub extent: i64,
    /// The fewest steps of a stretch, so that memory is accessed in pieces that are worth fetching.
    pub grain: i64,
    /// Bases that need memory only for a stretch.
    pub scratch: Vec<Scratch>,
    /// The bytes that sharing the loop saves.
    pub(super) saved: u64,
    pub(super) step: Footprint,
}

/// A block, and the scatters of its results, in order.
pub(crate) struct Scattered {
    pub block: Block,
    pub calls: Vec<Call>,
}

/// A scatter that has joined a block.
pub(crate) struct Call {
    pub instr: u32,
    /// The block that it would be by itself.
    pub block: Block,
    /// Whether the block gathers from the scatter's target.
    pub gathers: Gathers,
}
