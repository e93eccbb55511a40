//! Short rows of a known length: several rows at a time, in full vectors.
//!
//! In: a kernel, and the extents and strides of one geometry. Out: a loop over *blocks*, the fewest rows whose points
//! fill vectors. All distances inside a block are numbers of the code: what is broadcast along rows is loaded once per
//! row and shuffled into place, what repeats from row to row is loaded once. Not here: rows that make no block, which
//! go the usual way.

use super::{Constants, Gen, Int, Val};
use crate::kernels::analyze::inner;
use crate::kernels::depth::Depth;
use crate::lower::Value;
use crate::lower::memory::{Memory, Place, Span};
use numelt_ir::{DType, Error, Result};
use numelt_opt::{ArgKind, Kernel, Node, StrideClass};

/// Most vectors of a block.
const VECTORS: i64 = 32;
/// Most vectors of a block that is one row: longer ones are as fast in a loop.
const ROW_VECTORS: i64 = 16;
/// Most values that a block computes: they are all written out.
const VALUES: i64 = 600;

/// How rows make blocks.
#[derive(Clone, Copy)]
pub(crate) struct Flat {
    rows: i64,
    vectors: i64,
}

/// All values of a body, where they are known.
type Values = Vec<Option<Value>>;

/// What is the same in every block.
struct Fixed {
    /// Values that are broadcast along rows, a row per lane.
    row: Values,
    /// Values at points, per vector of a block.
    points: Vec<Values>,
}

impl Flat {
    /// The blocks of a kernel whose rows have `constants.inner` points, if they are worth it.
    pub(crate) fn of(kernel: &Kernel, shape: &super::Shape, constants: &Constants) -> Option<Flat> {
        let (lanes, points) = (i64::from(shape.lanes), constants.inner);
        if lanes == 1 || points < 2 {
            return None;
        }
        let common = gcd(lanes, points);
        let (rows, vectors) = (lanes / common, points / common);
        let work = shape.depth.iter().filter(|d| **d == Some(Depth::Point)).count() as i64;
        let most = if rows == 1 { ROW_VECTORS } else { VECTORS };
        let neighbours = |(node, depth): (&Node, &Option<Depth>)| match node {
            Node::Load(arg) => *depth != Some(Depth::Point) || inner(kernel, *arg) == StrideClass::Unit,
            Node::Gather { .. } => depth.is_none(),
            Node::Param(_) | Node::Index(_) | Node::Cast(..) | Node::Op(..) => true,
        };
        let fits = vectors <= most
            && vectors * work.max(1) <= VALUES
            && kernel.body.iter().zip(&shape.depth).all(neighbours)
            && shape.targets.iter().all(|t| t.unit);
        fits.then_some(Flat { rows, vectors })
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Gen<'_> {
    /// The blocks at the front of `outer` rows; returns how many rows are left, at which the operands then start.
    pub(crate) fn blocks(&mut self, flat: Flat, outer: Val) -> Result<Val> {
        let b = self.b;
        let (from, before) = (b.current(), b.block(c"blocks"));
        let (turn, done) = (b.block(c"block"), b.block(c"rest of rows"));
        let rows = self.i64(flat.rows);
        let enough = |left: Val| b.icmp(Int::LLVMIntSGE, left, rows);
        b.branch(enough(outer), before, done);
        b.enter(before);
        let fixed = self.same_in_blocks(flat)?;
        let before = b.current();
        b.jump(turn);
        b.enter(turn);
        let left = b.phi(b.int(64));
        b.incoming(left, outer, before);
        let starts: Vec<Option<Val>> = self.operands.iter().map(|o| o.map(|o| o.start)).collect();
        for operand in self.operands.iter_mut().flatten() {
            let phi = b.phi(b.type_of(operand.start));
            b.incoming(phi, operand.start, before);
            operand.start = phi;
        }
        self.block(flat, &fixed)?;
        let latch = b.current();
        let next = b.sub(left, rows);
        let mut ends = vec![None; self.operands.len()];
        for (arg, operand) in self.operands.iter().enumerate() {
            let Some(operand) = operand else { continue };
            let bytes = self.i64(self.fixed_numbers().outer_strides[arg] * flat.rows);
            let index = self.kernel.args[arg].kind == ArgKind::Index;
            let end = if index { b.add(operand.start, bytes) } else { b.offset(operand.start, bytes) };
            b.incoming(operand.start, end, latch);
            ends[arg] = Some(end);
        }
        b.incoming(left, next, latch);
        b.branch(enough(next), turn, done);
        b.enter(done);
        let rest = b.phi(b.int(64));
        b.incoming(rest, outer, from);
        b.incoming(rest, next, latch);
        for (arg, operand) in self.operands.iter_mut().enumerate() {
            if let (Some(operand), Some(start), Some(end)) = (operand, starts[arg], ends[arg]) {
                operand.start = b.phi(b.type_of(start));
                b.incoming(operand.start, start, from);
                b.incoming(operand.start, end, latch);
            }
        }
        Ok(rest)
    }

    fn fixed_numbers(&self) -> &Constants {
        self.constants.expect("blocks are made for one geometry")
    }

    /// Values whose operands are the same in every row.
    fn same_in_blocks(&self, flat: Flat) -> Result<Fixed> {
        let mut same: Vec<bool> = Vec::with_capacity(self.kernel.body.len());
        for node in &self.kernel.body {
            let steady = |arg: &u32| self.fixed_numbers().outer_strides[*arg as usize] == 0;
            same.push(match node {
                Node::Param(_) => true,
                Node::Load(arg) | Node::Index(arg) => steady(arg),
                Node::Gather { .. } => false,
                Node::Cast(_, value) => same[*value as usize],
                Node::Op(_, _, values) => values.iter().all(|v| same[*v as usize]),
            });
        }
        let row = self.row_values(flat, self.fixed.clone(), |id| same[id])?;
        let points = (0..flat.vectors).map(|vector| {
            let seen = self.spread(flat, vector, &row, self.fixed.clone());
            self.point_values(vector, seen, |id| same[id])
        });
        let points = points.collect::<Result<Vec<Values>>>()?;
        Ok(Fixed { row, points })
    }

    /// One block of rows.
    fn block(&self, flat: Flat, fixed: &Fixed) -> Result<()> {
        let row = self.row_values(flat, fixed.row.clone(), |_| true)?;
        for (vector, known) in (0..).zip(&fixed.points) {
            let values = self.spread(flat, vector, &row, known.clone());
            let values = self.point_values(vector, values, |_| true)?;
            for target in &self.shape.targets {
                let value = values[target.value as usize].expect("stored values are evaluated");
                let points = self.distances(target.arg as u32, vector);
                let start = self.operand(target.arg as u32).start;
                self.put(target.dtype, start, &points, value);
            }
        }
        Ok(())
    }

    /// Values that are broadcast along rows, a row per lane; lanes behind the last row repeat the first.
    fn row_values(&self, flat: Flat, mut values: Values, wanted: impl Fn(usize) -> bool) -> Result<Values> {
        let lanes = self.shape.lanes;
        let row = |lane: i64| if lane < flat.rows { lane } else { 0 };
        for (id, node) in self.kernel.body.iter().enumerate() {
            if self.shape.depth[id] != Some(Depth::Row) || values[id].is_some() || !wanted(id) {
                continue;
            }
            let rows = |arg: u32| -> Vec<i64> {
                let pitch = self.fixed_numbers().outer_strides[arg as usize];
                (0..i64::from(lanes)).map(|lane| row(lane) * pitch).collect()
            };
            values[id] = Some(self.value_at(node, rows, &values)?);
        }
        Ok(values)
    }

    /// Values at the points of a vector of a block.
    fn point_values(&self, vector: i64, mut values: Values, wanted: impl Fn(usize) -> bool) -> Result<Values> {
        for (id, node) in self.kernel.body.iter().enumerate() {
            if self.shape.depth[id] != Some(Depth::Point) || values[id].is_some() || !wanted(id) {
                continue;
            }
            if !self.sine_and_cosine(id, self.shape.lanes, &mut values) {
                values[id] = Some(self.value_at(node, |arg| self.distances(arg, vector), &values)?);
            }
        }
        Ok(values)
    }

    /// A node at points that lie so many bytes (of an index: so much) from the block's first.
    fn value_at(&self, node: &Node, distances: impl Fn(u32) -> Vec<i64>, values: &Values) -> Result<Value> {
        match node {
            Node::Load(arg) => {
                let dtype = self.kernel.args[*arg as usize].dtype;
                Ok(self.get(dtype, self.operand(*arg).start, &distances(*arg)))
            }
            Node::Index(arg) => {
                let first = self.b.splat(self.operand(*arg).start, self.shape.lanes);
                Ok(Value::Plain(self.b.add(first, self.b.const_ints(&distances(*arg)))))
            }
            Node::Cast(..) | Node::Op(..) => self.compute(node, self.shape.lanes, values),
            Node::Param(_) | Node::Gather { .. } => Err(Error::Invalid("a value that no block has".into())),
        }
    }

    /// The values of rows at the points of a vector.
    fn spread(&self, flat: Flat, vector: i64, row: &Values, mut values: Values) -> Values {
        let lanes = i64::from(self.shape.lanes);
        let inner = self.fixed_numbers().inner;
        let rows: Vec<u32> = (0..lanes).map(|lane| ((vector * lanes + lane) / inner) as u32).collect();
        debug_assert!(rows.iter().all(|&r| i64::from(r) < flat.rows));
        for (id, value) in row.iter().enumerate() {
            if self.shape.depth[id] == Some(Depth::Row) && values[id].is_none() {
                values[id] = value.map(|v| v.map(|part| self.b.shuffle(part, part, &rows)));
            }
        }
        values
    }

    /// How far the points of a vector lie from the block's first point, in bytes.
    fn distances(&self, arg: u32, vector: i64) -> Vec<i64> {
        let (numbers, lanes) = (self.fixed_numbers(), i64::from(self.shape.lanes));
        let (step, pitch) = (numbers.inner_strides[arg as usize], numbers.outer_strides[arg as usize]);
        let place = |point: i64| point / numbers.inner * pitch + point % numbers.inner * step;
        (0..lanes).map(|lane| place(vector * lanes + lane)).collect()
    }

    fn memory(&self) -> Memory<'_> {
        Memory { b: self.b, lanes: self.shape.lanes, span: Span::Full }
    }

    /// Loads an element from each distance.
    fn get(&self, dtype: DType, start: Val, distances: &[i64]) -> Value {
        let at = |bytes: i64| self.b.offset(start, self.i64(bytes));
        let near = neighbours(dtype, distances);
        if near == distances.len() {
            return self.memory().load(Place { address: at(distances[0]), stride: None, dtype });
        }
        let first = distances[0];
        if distances.iter().all(|&d| d == first) {
            return self.memory().load_splat(at(first), dtype);
        }
        // a few neighbours, and then the first again
        if near.is_power_of_two() && near > 1 && distances[near..].iter().all(|&d| d == first) {
            let few = Memory { lanes: near as u32, ..self.memory() };
            let order: Vec<u32> = (0..distances.len()).map(|k| if k < near { k as u32 } else { 0 }).collect();
            let value = few.load(Place { address: at(first), stride: None, dtype });
            return value.map(|v| self.b.shuffle(v, v, &order));
        }
        let all: Vec<Val> = distances.iter().map(|&d| at(d)).collect();
        self.memory().load_each(dtype, &all)
    }

    /// Stores a lane at each distance.
    fn put(&self, dtype: DType, start: Val, distances: &[i64], value: Value) {
        let at = |bytes: i64| self.b.offset(start, self.i64(bytes));
        if neighbours(dtype, distances) == distances.len() {
            return self.memory().store(Place { address: at(distances[0]), stride: None, dtype }, value);
        }
        let all: Vec<Val> = distances.iter().map(|&d| at(d)).collect();
        self.memory().store_each(dtype, &all, value);
    }
}

/// How many of the first elements lie one after the other.
fn neighbours(dtype: DType, distances: &[i64]) -> usize {
    let size = dtype.size() as i64;
    1 + distances.windows(2).take_while(|pair| pair[1] - pair[0] == size).count()
}
