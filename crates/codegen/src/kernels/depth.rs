//! How often each node of a kernel is evaluated, and the values that a node is made of.

use numelt_opt::{Node, ValueId};

/// How often a node is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// Once per tile: depends on parameters alone.
    Tile,
    /// Once per row: depends on operands that are broadcast along the innermost loop.
    Row,
    /// At each point.
    Point,
}

/// The values that a node is made of.
pub(crate) fn operands(node: &Node) -> &[ValueId] {
    match node {
        Node::Load(_) | Node::Param(_) | Node::Index(_) => &[],
        Node::Cast(_, value) | Node::Gather { index: value, .. } => std::slice::from_ref(value),
        Node::Op(_, _, values) => values,
    }
}
