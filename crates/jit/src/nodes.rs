//! Array expressions as trees, whose elements are computed where they are used (`virtuals.rs`).

use crate::tree::{Comparison, Operator, Unary};
use crate::types::Val;
use numelt_func::Value;

/// An array expression.
#[derive(Debug, Clone)]
pub struct Virtual {
    /// The number of its elements.
    pub length: Value,
    /// How to compute them.
    pub node: Node,
}

/// How to compute the elements of an array expression.
#[derive(Debug, Clone)]
pub enum Node {
    /// The elements of an array with one axis.
    Array(Val),
    /// A number.
    Number(Val),
    /// A binary operation on elements.
    Binary(Operator, Box<Node>, Box<Node>),
    /// A comparison of elements.
    Compare(Comparison, Box<Node>, Box<Node>),
    /// `-a`, `+a`, `~a` for each element.
    Unary(Unary, Box<Node>),
    /// A function of NumPy, applied to each element.
    Call(&'static str, Vec<Node>),
}
