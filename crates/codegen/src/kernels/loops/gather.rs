//! Gathers at the points of a row.
//!
//! In: a gather node and the values before it. Out: the picked elements. An index that is the same along the row
//! only moves the row's address; otherwise every lane has an address of its own.

use super::Gen;
use crate::builder::{Int, Val};
use crate::kernels::analyze::inner;
use crate::kernels::depth::Depth;
use crate::lower::Value;
use crate::lower::memory::{Memory, Place};
use numelt_ir::{DType, Error, Result};
use numelt_opt::{Node, StrideClass};

/// Rows after the current one whose picked elements are fetched into the cache: enough to wait for memory.
const AHEAD: i64 = 12;
/// Cache lines of a row that are fetched. Once a row has been read so far, the processor goes on by itself.
const LINES: i64 = 4;

impl Gen<'_> {
    /// Where an index picks whole rows, fetches a row that comes soon: rows picked here and there are a wait for memory
    /// each, and few of them are under way at a time otherwise. `left` rows of `points` points are not done.
    pub(crate) fn fetch_ahead(&self, left: Val, points: Val) {
        let b = self.b;
        for (id, node) in self.kernel.body.iter().enumerate() {
            let Node::Gather { arg, last, step, index } = node else { continue };
            let whole =
                self.shape.depth[id] == Some(Depth::Point) && self.shape.depth[*index as usize] == Some(Depth::Row);
            if !whole || inner(self.kernel, *arg) != StrideClass::Unit {
                continue;
            }
            let Some(source) = self.plain_index(*index) else { continue };
            let operand = self.operand(source);
            let more = b.icmp(Int::LLVMIntSGT, left, self.i64(AHEAD));
            let distance = b.select(more, b.mul(operand.outer_stride, self.i64(AHEAD)), self.i64(0));
            let picked = b.load(b.int(64), b.offset(operand.start, distance), 8);
            let bytes = self.displacement(*last, *step, Some(Value::Plain(picked)), 1);
            let row = b.offset(self.operand(*arg).start, bytes);
            let length = b.mul(points, self.i64(self.kernel.args[*arg as usize].dtype.size() as i64));
            for line in 0..LINES {
                let line = self.i64(64 * line);
                // a short row's last lines are its first
                b.prefetch(b.offset(row, b.select(b.icmp(Int::LLVMIntSLT, line, length), line, self.i64(0))));
            }
        }
    }

    /// The argument that an index is read from, if its elements are 64 bits wide and used as they are.
    fn plain_index(&self, index: u32) -> Option<u32> {
        match &self.kernel.body[index as usize] {
            Node::Load(arg) if self.kernel.args[*arg as usize].dtype.size() == 8 => Some(*arg),
            Node::Cast(DType::U64, value) if self.kernel.dtype_of(*value) == DType::I64 => self.plain_index(*value),
            Node::Load(_) | Node::Cast(..) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Op(..) => {
                None
            }
        }
    }

    /// The elements at the points from number `start` of the row on.
    pub(crate) fn gather(
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
    pub(crate) fn displacement(&self, last: u32, step: u32, index: Option<Value>, lanes: u32) -> Val {
        let Some(Value::Plain(index)) = index else { unreachable!("an index is one evaluated integer") };
        let spread = |arg: u32| self.b.splat(self.operand(arg).start, lanes);
        let last = spread(last);
        let inside = self.b.icmp(Int::LLVMIntULT, index, last);
        self.b.mul(self.b.select(inside, index, last), spread(step))
    }
}
