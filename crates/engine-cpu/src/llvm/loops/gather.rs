//! Gathers at the points of a row.
//!
//! In: a gather node and the values before it. Out: the picked elements. An index that is the same along the row
//! only moves the row's address; otherwise every lane has an address of its own.

use super::super::analyze::{Depth, inner};
use super::super::builder::{Int, Val};
use super::super::lower::Value;
use super::super::memory::{Memory, Place};
use super::Gen;
use numelt_ir::{Error, Result};
use numelt_opt::{Node, StrideClass};

impl Gen<'_> {
    /// The elements at the points from number `start` of the row on.
    pub(super) fn gather(
        &self,
        node: &Node,
        memory: Memory<'_>,
        start: Val,
        values: &[Option<Value>],
    ) -> Result<Value> {
        let Node::Gather { arg, last, step, index } = node else {
            return Err(Error::Invalid("a gather was asked for".into()));
        };
        let bytes = self.displacement(*last, *step, values[*index as usize], memory.lanes);
        let dtype = self.kernel.args[*arg as usize].dtype;
        let class = inner(self.kernel, *arg);
        let place = match class {
            StrideClass::Zero => Place { address: self.operand(*arg).start, stride: None, dtype },
            StrideClass::Unit | StrideClass::Any => self.place(*arg, dtype, class == StrideClass::Unit, start),
        };
        let one = |v: Val| if memory.lanes == 1 { v } else { self.b.extract(v, 0) };
        if memory.lanes == 1 || self.shape.depth[*index as usize] < Some(Depth::Point) {
            let address = self.b.offset(place.address, one(bytes));
            return Ok(memory.load(Place { address, ..place }));
        }
        let stride = match class {
            StrideClass::Zero => self.i64(0),
            StrideClass::Unit => self.i64(dtype.size() as i64),
            StrideClass::Any => place.stride.expect("loaded where the class is open"),
        };
        Ok(memory.load_picked(Place { stride: Some(stride), ..place }, bytes))
    }

    /// `min(index, last) * step` in every lane.
    pub(super) fn displacement(&self, last: u32, step: u32, index: Option<Value>, lanes: u32) -> Val {
        let Some(Value::Plain(index)) = index else { unreachable!("an index is one evaluated integer") };
        let spread = |arg: u32| self.b.splat(self.operand(arg).start, lanes);
        let last = spread(last);
        let inside = self.b.icmp(Int::LLVMIntULT, index, last);
        self.b.mul(self.b.select(inside, index, last), spread(step))
    }
}
