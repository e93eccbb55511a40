//! The accesses of a block to views, and unions of them.

use crate::access::{AccessTable, ViewId};
use numelt_ir::BaseId;

/// The accesses of a block to one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockAccess {
    pub base: BaseId,
    pub view: ViewId,
    /// The number of operands that are this view.
    pub uses: u32,
    /// First instruction of the block that writes it, or `u32::MAX`.
    pub first_write: u32,
    /// First instruction that reads it, or `u32::MAX`.
    pub first_read: u32,
    pub written: bool,
    /// Whether it is read before the block writes it, so that the kernel loads it.
    pub loaded: bool,
    /// Whether the block writes it before reading it, so that its values are made by the kernel.
    pub made: bool,
    /// Whether it is a reduction's result.
    pub folded: bool,
    /// Whether a gather or a roll reads it, at any point.
    pub gathered: bool,
}

impl BlockAccess {
    /// Derives the flags from the first accesses.
    pub(super) fn with_flags(mut self) -> BlockAccess {
        self.written = self.first_write != u32::MAX;
        self.loaded = self.first_read <= self.first_write && self.first_read != u32::MAX;
        self.made = self.written && !self.loaded;
        self
    }

    pub(super) fn union(self, other: BlockAccess) -> BlockAccess {
        BlockAccess {
            uses: self.uses + other.uses,
            first_write: self.first_write.min(other.first_write),
            first_read: self.first_read.min(other.first_read),
            folded: self.folded || other.folded,
            gathered: self.gathered || other.gathered,
            ..self
        }
        .with_flags()
    }
}

/// The block's accesses to the same view as `access`, or to one that overlaps it.
pub(super) fn on_same_bytes<'a>(
    table: &'a AccessTable,
    access: &'a BlockAccess,
    theirs: &'a [BlockAccess],
) -> impl Iterator<Item = &'a BlockAccess> {
    let near = if table.views[access.view as usize].apart {
        let at = theirs.partition_point(|t| t.view < access.view);
        &theirs[at..theirs.len().min(at + 1)]
    } else {
        theirs
    };
    near.iter().filter(|t| t.view == access.view || table.overlap(t.view, access.view))
}

/// Merges two sorted access lists, joining accesses to the same view.
#[derive(Clone)]
pub(super) struct Union<'a> {
    pub a: &'a [BlockAccess],
    pub b: &'a [BlockAccess],
}

/// Removes the first element of a list, which must not be empty.
fn pop(list: &mut &[BlockAccess]) -> BlockAccess {
    let first = list[0];
    *list = &list[1..];
    first
}

impl Iterator for Union<'_> {
    type Item = BlockAccess;

    fn next(&mut self) -> Option<BlockAccess> {
        match (self.a.first(), self.b.first()) {
            (None, None) => None,
            (Some(_), None) => Some(pop(&mut self.a)),
            (None, Some(_)) => Some(pop(&mut self.b)),
            (Some(x), Some(y)) => match (x.base, x.view).cmp(&(y.base, y.view)) {
                std::cmp::Ordering::Less => Some(pop(&mut self.a)),
                std::cmp::Ordering::Greater => Some(pop(&mut self.b)),
                std::cmp::Ordering::Equal => Some(pop(&mut self.a).union(pop(&mut self.b))),
            },
        }
    }
}
