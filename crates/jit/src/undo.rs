//! Writes to memory by called functions, and draws of random numbers.
//!
//! At an exit in a called function, CPython repeats the statement of the loop that contains the call, from its
//! beginning. So the code keeps what the functions overwrite, and every exit of such a statement writes it back first.
//! What is kept lies in memory of the run ([`Param::Log`]): the number of entries, and three numbers for each entry: the
//! address, the size in bytes, and the bits that were there. Generators of random numbers
//! keep what is needed to undo the draws of a statement. Iterations ahead are undone by other means.

use crate::arrays::Store;
use crate::nodes::Virtual;
use crate::outside::Param;
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

/// So many writes can be undone. Functions that write more are left to CPython, or run compiled on their own, with
/// iterations ahead.
pub const MOST_UNDONE: i64 = 1024;
/// A nest of loops in which a called function writes takes less time on its own if the outer loop has more iterations.
const MOST_OF_NEST: i64 = 64;
/// Why such code stops.
pub const WRITES_MUCH: &str = "a called function that writes much";

impl Walk<'_> {
    /// The array expression with this number, whose elements are computed now. A called function may have written to its
    /// operands since.
    pub fn virtual_at(&mut self, number: u32) -> Res<Virtual> {
        let (found, writes) = &self.virtuals[number as usize];
        if *writes == self.writes { Ok(found.clone()) } else { unsupported("a call that writes beside arrays") }
    }

    /// Before a statement of the loop, or before a test of a `while` loop: nothing has been written yet.
    pub fn begin_writes(&mut self) {
        if self.inlined.is_empty() && self.region.is_none() && self.findings.undone.contains(&self.place.statement) {
            let log = self.outside(Param::Log);
            let zero = self.e.int(0);
            self.e.store(log, zero);
            if self.findings.drawing.contains(&self.place.statement) {
                let drawn = self.outside(Param::Drawn);
                self.e.store(drawn, zero);
            }
        }
    }

    /// Before an exit at a statement: writes back what called functions have overwritten in it, and undoes its draws.
    pub fn undo_writes(&mut self, statement: u32) {
        if self.findings.undone.contains(&statement) {
            let undo = self.outside(Param::Undo);
            let zero = self.e.int(0);
            self.e.call_loop(undo, &[zero], DType::I64);
        }
    }

    /// Refuses an effect of a called function, if the loop may have none.
    pub fn check_effect(&self) -> Res<()> {
        match self.inlined.is_empty() || !self.unit.is_pure {
            true => Ok(()),
            false => unsupported("a function with effects"),
        }
    }

    /// Before a `for` loop in a called function that writes in it: if the loop is long, the function runs on its own,
    /// because it may run iterations ahead then, on several threads.
    pub fn exit_if_writes_long(&mut self, number: u32, count: Value) {
        let key = self.loop_key(number);
        if self.inlined.is_empty() || self.region.is_some() || !self.findings.writing.contains(&key) {
            return;
        }
        let most = self.e.int(if self.findings.nesting.contains(&key) { MOST_OF_NEST } else { MOST_UNDONE });
        let is_long = self.e.ints(Op::Greater, &[count, most]);
        self.exit_if(is_long, WRITES_MUCH);
    }

    /// Keeps what a called function is about to overwrite.
    pub fn keep(&mut self, store: &Store) -> Res<()> {
        if self.inlined.is_empty() {
            return Ok(());
        }
        self.writes += 1;
        if let Some(region) = &self.region {
            // when they are over, iterations ahead of a loop in a called function cannot be undone any more
            if region.inlined > 0 {
                self.fail_region("a called function writes in them");
            }
            return Ok(());
        }
        self.findings.writes(self.place.statement, &self.loops_around);
        match store {
            Store::Element(address, value) => {
                let types: Vec<DType> = value.parts.iter().map(|part| self.e.type_of(*part)).collect();
                self.keep_parts(*address, &types);
            }
            Store::Slice(slice) => {
                let target = slice.target.clone();
                let Type::Array { dtype, .. } = target.ty else { unreachable!("only arrays have slices") };
                let types = Type::Scalar(dtype).parts();
                self.counted(target.parts[2], None, &mut |walk, position, _| {
                    let offset = walk.e.times(position, target.parts[3]);
                    let address = walk.e.offset(target.parts[1], offset);
                    walk.keep_parts(address, &types);
                    Ok(None::<Val>)
                })?;
            }
        }
        Ok(())
    }

    /// Keeps the parts of an element.
    fn keep_parts(&mut self, address: Value, types: &[DType]) {
        let log = self.outside(Param::Log);
        let mut at = 0;
        for ty in types {
            let part = self.e.int(at);
            let part = self.e.offset(address, part);
            self.keep_number(log, part, *ty);
            at += ty.size() as i64;
        }
    }

    fn keep_number(&mut self, log: Value, address: Value, ty: DType) {
        let count = self.e.load(log, DType::I64);
        let most = self.e.int(MOST_UNDONE);
        let is_full = self.e.ints(Op::GreaterEqual, &[count, most]);
        self.exit_if(is_full, WRITES_MUCH);
        let words = self.e.int(24);
        let offset = self.e.ints(Op::Multiply, &[count, words]);
        let entry = self.e.ints(Op::Add, &[log, offset]);
        let size = self.e.int(ty.size() as i64);
        let old = self.e.load(address, ty);
        for (word, value) in [address, size, old].into_iter().enumerate() {
            let place = self.e.int(8 * (1 + word as i64));
            let place = self.e.ints(Op::Add, &[entry, place]);
            self.e.store(place, value);
        }
        let one = self.e.int(1);
        let more = self.e.ints(Op::Add, &[count, one]);
        self.e.store(log, more);
    }
}
