//! The record of iterations ahead: the arrays and elements that they use, the loops inside them, and conditions on
//! loop-invariant values. `region.rs` fills it.

use crate::affine::Affine;
use crate::emit::Emitter;
use crate::types::Val;
use numelt_func::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What has been recorded of the iterations ahead.
#[derive(Debug)]
pub struct Region {
    /// Values from this number on are computed inside the loop; all others are loop-invariant.
    pub inside_from: usize,
    /// The number of the iteration.
    pub position: Value,
    /// The arrays that iterations use.
    pub arrays: Vec<Val>,
    /// The views that were made inside the loop, by address: the array that was viewed, and the axis and index that
    /// were selected.
    pub origins: HashMap<Value, (Val, Option<(usize, Value)>)>,
    pub accesses: Vec<Access>,
    /// Sums of loop-invariant values. In each of these lists, one sum must not be negative.
    pub conditions: BTreeSet<Vec<Affine>>,
    /// Loop-invariant values that must be small.
    pub small: BTreeSet<Value>,
    /// Strides that must have the usual value.
    pub strides: BTreeMap<Value, i64>,
    /// The loops inside, each after those inside it.
    pub inner_loops: Vec<InnerLoop>,
    /// The number of the iteration of the loop that was walked last.
    pub last_position: Value,
    /// The numbers of the iterations of loops whose iterations are independent of each other ([`crate::independent`]).
    pub independent: BTreeSet<Value>,
    /// May an iteration do more than the numbers of iterations of these loops tell?
    pub is_open: bool,
    /// The number of loops inside that are around the current point.
    pub depth: usize,
    /// Why no iterations can run ahead, if that is so.
    pub failed: Option<String>,
    /// How many functions were being inlined around the loop.
    pub inlined: usize,
}

impl Region {
    /// The numbers of recorded accesses and of recorded loops.
    pub fn recorded(&self) -> (usize, usize) {
        (self.accesses.len(), self.inner_loops.len())
    }

    /// Discards all but so many accesses and loops, and the views that do not exist any more.
    pub fn forget(&mut self, (accesses, loops): (usize, usize), e: &Emitter) {
        self.accesses.truncate(accesses);
        self.inner_loops.truncate(loops);
        self.origins.retain(|address, _| e.is_there(*address));
        self.independent.retain(|position| e.is_there(*position));
    }
}

/// A load or a store.
#[derive(Debug)]
pub struct Access {
    pub array: usize,
    /// The axes with their indices, as far as they were selected one by one.
    pub indices: Vec<Selected>,
    pub is_store: bool,
}

/// An index of an access along an axis.
#[derive(Debug)]
pub struct Selected {
    pub axis: usize,
    pub index: Affine,
    /// Bounds of the index, as far as they are known: expressions of the iteration and of loop-invariant values.
    pub bounds: [Option<Affine>; 2],
}

/// A loop inside iterations ahead.
#[derive(Debug)]
pub struct InnerLoop {
    /// How many loops of the same iterations are around it.
    pub depth: usize,
    /// The number of its instructions, those of loops inside it included.
    pub size: usize,
    /// An upper bound of its number of iterations, if one is loop-invariant.
    pub count: Option<Affine>,
    /// Does its number of iterations depend on the iteration around it and on loop-invariant values alone, and not on
    /// the data?
    pub is_regular: bool,
}
