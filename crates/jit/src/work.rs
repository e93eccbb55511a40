//! Estimates of the work of iterations ahead.
//!
//! In: the loops inside a loop's body, with their sizes and their numbers of iterations. Out: code that computes about
//! how many instructions one iteration of the outer loop runs. Calling the driver for iterations ahead takes about a
//! microsecond, so compiled code calls it only if there is enough work.

use crate::recorded::Region;
use crate::walk::Walk;
use numelt_func::Value;
use numelt_ir::Op;

/// The number of iterations that is assumed if none is known.
const USUAL_COUNT: i64 = 4;
/// The largest number that is assumed if it depends on the data: for most data the bound is far away.
const MOST_USUAL: i64 = 8;
/// Larger numbers of iterations and instructions are cut off, so that products fit into 64 bits.
const MOST_COUNT: i64 = 1 << 20;
const MOST_WORK: i64 = 1 << 40;

impl Walk<'_> {
    /// Code for the number of instructions of an iteration of `region`; `size` is the number of its own and of all
    /// inner loops' instructions. With `is_most`, there are at most so many, if bounds of all inner loops are known.
    pub fn work(&mut self, region: &Region, size: usize, is_most: bool) -> Value {
        // an inner loop is recorded after the loops inside it; `open` holds those whose outer loop is still to come
        let mut open: Vec<(usize, usize, Value)> = Vec::new();
        for inner in &region.inner_loops {
            let first = open.iter().position(|(depth, ..)| *depth > inner.depth).unwrap_or(open.len());
            let body = self.sum_of_work(inner.size, open.drain(first..).collect());
            let count = match &inner.count {
                Some(count) => self.written_out(count),
                None => self.e.int(USUAL_COUNT),
            };
            let (zero, most_count, most_work) = (self.e.int(0), self.e.int(MOST_COUNT), self.e.int(MOST_WORK));
            let most_count = if is_most || inner.is_regular { most_count } else { self.e.int(MOST_USUAL) };
            let count = self.e.ints(Op::Maximum, &[count, zero]);
            let count = self.e.ints(Op::Minimum, &[count, most_count]);
            let work = self.e.ints(Op::Multiply, &[body, count]);
            let work = self.e.ints(Op::Minimum, &[work, most_work]);
            open.push((inner.depth, inner.size, work));
        }
        let work = self.sum_of_work(size, open);
        let most_work = self.e.int(MOST_WORK);
        self.e.ints(Op::Minimum, &[work, most_work])
    }

    /// The work of a body of `size` instructions, in which loops take the place of their own instructions.
    fn sum_of_work(&mut self, size: usize, loops: Vec<(usize, usize, Value)>) -> Value {
        let inside: usize = loops.iter().map(|(_, size, _)| size).sum();
        let own = self.e.int(size.saturating_sub(inside) as i64);
        loops.into_iter().fold(own, |sum, (.., work)| self.e.ints(Op::Add, &[sum, work]))
    }
}
