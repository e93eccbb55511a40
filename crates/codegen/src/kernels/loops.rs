//! The function around a kernel's body: rows, the main vector loop, the rest of a row.
//!
//! In: a kernel and its [`Shape`]. Out: `void name(const Tile*)` in the builder's module.
//! Not here: the meaning of operations, how operands lie in memory.
//!
//! ```text
//! tile:   addresses, strides, parameters, values of depth Tile
//! row:    values of depth Row
//!   past: point by point to an aligned address, then as main with stores past the caches (if the tile asks for it)
//!   main: 2 vectors per turn (small bodies) or   0 .. inner rounded down
//!         4 (long chains), more where only truth values are stored
//!   one:  1 vector per turn                        .. inner rounded down to a vector
//!   rest: one masked vector, or point by point     .. inner
//! ```
//! All loads of a turn come before its stores in program order. Nothing is marked as unaliased: an
//! operand may be the very memory of another one.

mod flat;
mod gather;

use super::analyze::{KernelOutput, Shape, inner};
use super::depth::Depth;
use super::tile::Tile;
use crate::builder::{Block, Builder, Int, Ty, Val};
use crate::lower::memory::{Memory, Place, Span, cell};
use crate::lower::power::Short;
use crate::lower::quotient::Divisor;
use crate::lower::{Callees, Lower, Value};
use flat::Flat;
use numelt_ir::{DType, Error, Op, Result};
use numelt_opt::{ArgKind, Kernel, Node, StrideClass};
use smallvec::SmallVec;
use std::mem::offset_of;

/// Strided operands of a kernel that has code for frequent strides, at most.
const STEPPED: usize = 4;

/// An argument while a function is built.
#[derive(Clone, Copy)]
struct Operand {
    /// Address in the current row (for an index its value at the row's start).
    start: Val,
    /// Loaded where the class leaves it open.
    inner_stride: Option<Val>,
    outer_stride: Val,
}

/// Numbers of a tile that a variant for one geometry has as constants in its code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Constants {
    /// Points per row.
    pub inner: i64,
    /// Per argument, stride along the row.
    pub inner_strides: SmallVec<[i64; 8]>,
    /// Per argument, stride from row to row.
    pub outer_strides: SmallVec<[i64; 8]>,
}

struct Gen<'a> {
    kernel: &'a Kernel,
    constants: Option<&'a Constants>,
    shape: &'a Shape,
    b: &'a Builder,
    callees: Callees<'a>,
    operands: Vec<Option<Operand>>,
    /// Values of depth Tile and Row, in full vectors.
    fixed: Vec<Option<Value>>,
    /// Of exponents that are one number in the tile, the products that their powers take (`power.rs`).
    short: Vec<Option<Short>>,
    /// Of integers that are one number in the tile or row and divide, what division by them takes (`quotient.rs`).
    divisors: Vec<Option<Divisor>>,
}

/// Appends the function to the builder's module.
pub(crate) fn generate(
    kernel: &Kernel,
    constants: Option<&Constants>,
    shape: &Shape,
    b: &Builder,
    callees: Callees<'_>,
    name: &str,
    bits: u32,
) -> Result<()> {
    let operands = vec![None; kernel.args.len()];
    let nodes = kernel.body.len();
    let (fixed, short, divisors) = (vec![None; nodes], vec![None; nodes], vec![None; nodes]);
    let mut this = Gen { kernel, constants, shape, b, callees, operands, fixed, short, divisors };
    let tile = b.begin_function(name, bits);
    this.function(tile)
}

impl<'a> Gen<'a> {
    fn lower(&self, lanes: u32, divisor: Option<Divisor>) -> Lower<'a> {
        Lower { b: self.b, lanes, math: self.callees.math, loops: self.callees.loops, divisor }
    }
}

impl Gen<'_> {
    fn i64(&self, value: i64) -> Val {
        self.b.const_int(self.b.int(64), value as u64)
    }

    fn field(&self, tile: Val, offset: usize, ty: Ty) -> Val {
        self.b.load(ty, self.b.offset(tile, self.i64(offset as i64)), 8)
    }

    fn function(&mut self, tile: Val) -> Result<()> {
        let (i64t, pointer) = (self.b.int(64), self.b.pointer());
        self.b.enter(self.b.block(c"tile"));
        self.load_operands(tile);
        let inner = match self.constants {
            Some(constants) => self.i64(constants.inner),
            None => self.field(tile, offset_of!(Tile, inner), i64t),
        };
        let mut outer = self.field(tile, offset_of!(Tile, outer), i64t);
        let params = self.field(tile, offset_of!(Tile, params), pointer);
        self.fixed_values(Depth::Tile, Some(params))?;
        self.exponents();
        if let Some(flat) = self.constants.and_then(|constants| Flat::of(self.kernel, self.shape, constants)) {
            outer = self.blocks(flat, outer)?;
        }
        let (row, exit) = (self.b.block(c"row"), self.b.block(c"exit"));
        let zero = self.i64(0);
        let some = self.b.and(self.b.icmp(Int::LLVMIntSGT, inner, zero), self.b.icmp(Int::LLVMIntSGT, outer, zero));
        let bypass = self.shape.bypass.then(|| {
            let wish = self.field(tile, offset_of!(Tile, bypass), i64t);
            self.b.icmp(Int::LLVMIntNE, wish, zero)
        });
        let entry = self.b.current();
        self.b.branch(some, row, exit);
        self.b.enter(row);
        self.rows(entry, row, exit, (inner, outer, bypass))?;
        self.b.enter(exit);
        if bypass.is_some() && cfg!(target_arch = "x86_64") {
            // Non-temporal stores are not ordered relative to other memory accesses.
            self.b.intrinsic("llvm.x86.sse.sfence", &[], &[]);
        }
        self.b.ret();
        Ok(())
    }

    /// Is the argument touched by anything that is evaluated?
    fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.kernel.args.len()];
        for (node, depth) in self.kernel.body.iter().zip(&self.shape.depth) {
            match node {
                Node::Load(arg) | Node::Index(arg) if depth.is_some() => used[*arg as usize] = true,
                Node::Gather { arg, last, step, .. } if depth.is_some() => {
                    [arg, last, step].into_iter().for_each(|a| used[*a as usize] = true);
                }
                Node::Load(_)
                | Node::Index(_)
                | Node::Gather { .. }
                | Node::Param(_)
                | Node::Cast(..)
                | Node::Op(..) => {}
            }
        }
        for target in &self.shape.targets {
            used[target.arg] = true;
        }
        // a neighbour is reached from the argument it lies near
        for (at, arg) in self.kernel.args.iter().enumerate() {
            if let (Some(near), true) = (arg.near, used[at]) {
                used[at] = false;
                used[near.arg as usize] = true;
            }
        }
        used
    }

    fn load_operands(&mut self, tile: Val) {
        let (i64t, pointer) = (self.b.int(64), self.b.pointer());
        let pointers = self.field(tile, offset_of!(Tile, pointers), pointer);
        let inner_strides = self.field(tile, offset_of!(Tile, inner_strides), pointer);
        let outer_strides = self.field(tile, offset_of!(Tile, outer_strides), pointer);
        for (arg, used) in self.used().into_iter().enumerate() {
            if !used {
                continue;
            }
            let at = |array: Val, ty| self.b.load(ty, self.b.offset(array, self.i64(8 * arg as i64)), 8);
            let index = self.kernel.args[arg].kind == ArgKind::Index;
            let open = index || inner(self.kernel, arg as u32) != StrideClass::Unit;
            self.operands[arg] = Some(Operand {
                start: at(pointers, if index { i64t } else { pointer }),
                inner_stride: open.then(|| match self.constants {
                    Some(constants) => self.i64(constants.inner_strides[arg]),
                    None => at(inner_strides, i64t),
                }),
                outer_stride: match self.constants {
                    Some(constants) => self.i64(constants.outer_strides[arg]),
                    None => at(outer_strides, i64t),
                },
            });
        }
    }

    /// All rows: how many points, how many rows, whether results go past the caches.
    fn rows(&mut self, entry: Block, row: Block, exit: Block, extents: (Val, Val, Option<Val>)) -> Result<()> {
        let (b, (inner, outer, bypass)) = (self.b, extents);
        let left = b.phi(b.int(64));
        b.incoming(left, outer, entry);
        for operand in self.operands.iter_mut().flatten() {
            let phi = b.phi(b.type_of(operand.start));
            b.incoming(phi, operand.start, entry);
            operand.start = phi;
        }
        self.fixed_values(Depth::Row, None)?;
        self.fetch_ahead(left, inner);
        let start = match bypass {
            Some(bypass) => self.past(inner, bypass)?,
            None => self.i64(0),
        };
        self.row(start, inner)?;
        let latch = b.current();
        for (arg, operand) in self.operands.iter().enumerate() {
            if let Some(operand) = operand {
                let next = if self.kernel.args[arg].kind == ArgKind::Index {
                    b.add(operand.start, operand.outer_stride)
                } else {
                    b.offset(operand.start, operand.outer_stride)
                };
                b.incoming(operand.start, next, latch);
            }
        }
        let next = b.sub(left, self.i64(1));
        b.incoming(left, next, latch);
        b.branch(b.icmp(Int::LLVMIntNE, next, self.i64(0)), row, exit);
        Ok(())
    }

    /// The points of a row whose results go past the caches; returns the number of the first point after them.
    fn past(&self, inner: Val, bypass: Val) -> Result<Val> {
        let (b, lanes) = (self.b, i64::from(self.shape.lanes));
        let (from, aligning, done) = (b.current(), b.block(c"past"), b.block(c"passed"));
        b.branch(bypass, aligning, done);
        b.enter(aligning);
        let store = self.kernel.args.iter().position(|a| a.kind == ArgKind::Store);
        let store = store.expect("there is a result to go past the caches");
        let bytes = self.i64(self.kernel.args[store].dtype.size() as i64);
        let address = b.address(self.operand(store as u32).start);
        let points = b.and(b.udiv(b.sub(self.i64(0), address), bytes), self.i64(lanes - 1));
        let points = b.select(b.icmp(Int::LLVMIntULT, points, inner), points, inner);
        self.counted(self.i64(0), points, 1, |i| self.points(i, 1, Span::Full, 1))?;
        let step = lanes * i64::from(self.shape.unroll);
        let end = self.whole(points, inner, step);
        self.counted(points, end, step, |i| {
            self.evaluated(i, self.shape.lanes, Span::Full, self.shape.unroll, |memory, target, place, value| {
                if self.kernel.args[target.arg].kind == ArgKind::Store {
                    memory.store_past(place, value)
                } else {
                    memory.store(place, value)
                }
            })
        })?;
        let passed = b.current();
        b.jump(done);
        b.enter(done);
        let start = b.phi(b.int(64));
        b.incoming(start, self.i64(0), from);
        b.incoming(start, end, passed);
        Ok(start)
    }

    /// The end of as many whole steps from `start` as there are before `end`.
    fn whole(&self, start: Val, end: Val, step: i64) -> Val {
        self.b.add(start, self.b.and(self.b.sub(end, start), self.i64(-step)))
    }

    /// The points of one row from number `start` on.
    fn row(&self, mut start: Val, inner: Val) -> Result<()> {
        let lanes = i64::from(self.shape.lanes);
        if let Some(wide) = self.shape.wide {
            let end = self.whole(start, inner, i64::from(wide));
            self.counted(start, end, i64::from(wide), |i| self.truths(i, wide))?;
            start = end;
        } else if self.shape.unroll > 1 {
            let step = lanes * i64::from(self.shape.unroll);
            let end = self.whole(start, inner, step);
            self.counted(start, end, step, |i| self.points(i, self.shape.lanes, Span::Full, self.shape.unroll))?;
            start = end;
        }
        let end = self.whole(start, inner, lanes);
        self.counted(start, end, lanes, |i| self.points(i, self.shape.lanes, Span::Full, 1))?;
        if !self.shape.masked_tail {
            return self.counted(end, inner, 1, |i| self.points(i, 1, Span::Full, 1));
        }
        let (some, done) = (self.b.block(c"rest"), self.b.block(c"done"));
        let rest = self.b.sub(inner, end);
        self.b.branch(self.b.icmp(Int::LLVMIntNE, rest, self.i64(0)), some, done);
        self.b.enter(some);
        self.points(end, self.shape.lanes, Span::Part(rest), 1)?;
        self.b.jump(done);
        self.b.enter(done);
        Ok(())
    }

    /// `for i in (start..end).step_by(step)`, tested at the bottom.
    fn counted(&self, start: Val, end: Val, step: i64, body: impl Fn(Val) -> Result<()>) -> Result<()> {
        let b = self.b;
        let (from, turn, done) = (b.current(), b.block(c"loop"), b.block(c"done"));
        b.branch(b.icmp(Int::LLVMIntSLT, start, end), turn, done);
        b.enter(turn);
        let i = b.phi(b.int(64));
        b.incoming(i, start, from);
        body(i)?;
        let next = b.add(i, self.i64(step));
        b.incoming(i, next, b.current());
        b.branch(b.icmp(Int::LLVMIntSLT, next, end), turn, done);
        b.enter(done);
        Ok(())
    }

    /// Evaluates the nodes of one depth before the loops over points, in full vectors.
    fn fixed_values(&mut self, depth: Depth, params: Option<Val>) -> Result<()> {
        let lanes = self.shape.lanes;
        let memory = Memory { b: self.b, lanes, span: Span::Full };
        for id in 0..self.kernel.body.len() {
            if self.shape.depth[id] != Some(depth) {
                continue;
            }
            let value = match &self.kernel.body[id] {
                Node::Param(param) => {
                    let params = params.ok_or_else(|| Error::Invalid("a parameter in a row".into()))?;
                    let address = self.b.offset(params, self.i64(16 * i64::from(*param)));
                    memory.load_splat(address, self.kernel.params[*param as usize])
                }
                Node::Load(arg) => memory.load_splat(self.operand(*arg).start, self.kernel.args[*arg as usize].dtype),
                Node::Index(arg) => Value::Plain(self.b.splat(self.operand(*arg).start, lanes)),
                Node::Gather { arg, last, step, index } => {
                    let bytes = self.displacement(*last, *step, self.fixed[*index as usize], lanes);
                    let address = self.b.offset(self.operand(*arg).start, self.b.extract(bytes, 0));
                    memory.load_splat(address, self.kernel.args[*arg as usize].dtype)
                }
                node @ (Node::Cast(..) | Node::Op(..)) => self.compute(node, lanes, &self.fixed)?,
            };
            self.fixed[id] = Some(value);
        }
        self.divide_by(depth);
        Ok(())
    }

    /// Notes the divisors of integers that have one value at this depth.
    fn divide_by(&mut self, depth: Depth) {
        let lower = self.lower(self.shape.lanes, None);
        for (node, own) in self.kernel.body.iter().zip(&self.shape.depth) {
            if let Node::Op(Op::FloorDivide | Op::Remainder | Op::Fmod, ty, args) = node
                && ty.is_integer()
                && *own > Some(depth)
                && self.shape.depth[args[1] as usize] == Some(depth)
                && let (Some(Value::Plain(by)), None) = (self.fixed[args[1] as usize], self.divisors[args[1] as usize])
            {
                self.divisors[args[1] as usize] = lower.divisor(*ty, by);
            }
        }
    }

    /// Notes the exponents that are one number in the tile.
    fn exponents(&mut self) {
        let lower = self.lower(self.shape.lanes, None);
        for node in &self.kernel.body {
            let Node::Op(Op::Power | Op::FloatPower, ty @ (DType::F32 | DType::F64), args) = node else { continue };
            let exponent = args[1] as usize;
            if self.callees.math.has_fma()
                && self.shape.depth[exponent] == Some(Depth::Tile)
                && let (Some(Value::Plain(value)), None) = (self.fixed[exponent], self.short[exponent])
            {
                self.short[exponent] = Some(lower.short(*ty, value));
            }
        }
    }

    fn operand(&self, arg: u32) -> Operand {
        let Some(near) = self.kernel.args[arg as usize].near else {
            return self.operands[arg as usize].expect("operands of live nodes are loaded");
        };
        let first = self.operands[near.arg as usize].expect("operands of live nodes are loaded");
        let size = self.kernel.args[arg as usize].dtype.size() as i64;
        Operand { start: self.b.offset(first.start, self.i64(i64::from(near.elements) * size)), ..first }
    }

    fn compute(&self, node: &Node, lanes: u32, values: &[Option<Value>]) -> Result<Value> {
        let divisor = match node {
            Node::Op(_, _, args) if lanes > 1 => args.get(1).and_then(|&second| self.divisors[second as usize]),
            _ => None,
        };
        let lower = self.lower(lanes, divisor);
        let value = |id: &u32| values[*id as usize].expect("operands are evaluated before");
        match node {
            Node::Cast(to, from) => Ok(lower.cast(self.kernel.dtype_of(*from), *to, value(from))),
            Node::Op(op @ (Op::Power | Op::FloatPower), ty, args)
                if let (true, Some(short)) = (ty.is_float(), self.short[args[1] as usize]) =>
            {
                let power = lower.short_power(*op, *ty, value(&args[0]).plain(), value(&args[1]).plain(), short)?;
                Ok(Value::Plain(power))
            }
            Node::Op(op, ty, args) => {
                let args: SmallVec<[Value; 3]> = args.iter().map(value).collect();
                lower.op(*op, *ty, &args)
            }
            Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } => {
                Err(Error::Invalid("an operand is not computed".into()))
            }
        }
    }

    /// `copies` vectors of points from number `i` of the row on.
    fn points(&self, i: Val, lanes: u32, span: Span, copies: u32) -> Result<()> {
        self.evaluated(i, lanes, span, copies, |memory, _, place, value| memory.store(place, value))
    }

    /// The same, with a say in how results are stored.
    fn evaluated(
        &self,
        i: Val,
        lanes: u32,
        span: Span,
        copies: u32,
        store: impl Fn(Memory<'_>, &KernelOutput, Place, Value),
    ) -> Result<()> {
        let memory = Memory { b: self.b, lanes, span };
        let starts: Vec<Val> = (0..copies).map(|c| self.b.add(i, self.i64(i64::from(c * lanes)))).collect();
        let sets = self.evaluate(memory, &starts)?;
        for (start, values) in starts.iter().zip(&sets) {
            for target in &self.shape.targets {
                let value = values[target.value as usize].expect("stored values are evaluated");
                let place = self.place(target.arg as u32, target.dtype, target.unit, *start);
                store(memory, target, place, value);
            }
        }
        Ok(())
    }

    /// `wide` points from number `i` of the row on, of which only truth values are stored: computed a vector at a
    /// time, stored together.
    fn truths(&self, i: Val, wide: u32) -> Result<()> {
        let lanes = self.shape.lanes;
        let memory = Memory { b: self.b, lanes, span: Span::Full };
        let starts = (0..wide / lanes).map(|c| self.b.add(i, self.i64(i64::from(c * lanes))));
        // The vectors are processed one after the other, because there are few mask registers.
        let sets = starts.map(|start| Ok(self.evaluate(memory, &[start])?.remove(0))).collect::<Result<Vec<_>>>()?;
        for target in &self.shape.targets {
            let value =
                |values: &Vec<Option<Value>>| values[target.value as usize].expect("stored values are evaluated");
            let all = self.b.join(sets.iter().map(|values| value(values).plain()).collect(), lanes);
            let place = self.place(target.arg as u32, target.dtype, target.unit, i);
            Memory { lanes: wide, ..memory }.store(place, Value::Plain(all));
        }
        Ok(())
    }

    /// All nodes at the points from each of these numbers on; a node is evaluated in all sets before the next one.
    fn evaluate(&self, memory: Memory<'_>, starts: &[Val]) -> Result<Vec<Vec<Option<Value>>>> {
        let mut values = self.fixed.clone();
        if memory.lanes == 1 && self.shape.lanes > 1 {
            for value in values.iter_mut().flatten() {
                *value = value.map(|v| self.b.extract(v, 0));
            }
        }
        let mut sets = vec![values; starts.len()];
        for (id, node) in self.kernel.body.iter().enumerate() {
            if self.shape.depth[id] != Some(Depth::Point) {
                continue;
            }
            self.exponentials(id, memory.lanes, &mut sets)?;
            self.group(id, memory.lanes, &mut sets);
            for (values, start) in sets.iter_mut().zip(starts) {
                if values[id].is_none() && !self.sine_and_cosine(id, memory.lanes, values) {
                    values[id] = Some(self.node(node, memory, *start, values)?);
                }
            }
        }
        Ok(sets)
    }

    /// Evaluates a sine together with the cosine of the same value, if there is one.
    fn sine_and_cosine(&self, id: usize, lanes: u32, values: &mut [Option<Value>]) -> bool {
        let Node::Op(op @ (Op::Sin | Op::Cos), ty, args) = &self.kernel.body[id] else { return false };
        let Some(other) = self.partner(id) else { return false };
        let Some(Value::Plain(arg)) = values[args[0] as usize] else { return false };
        let lower = self.lower(lanes, None);
        let Some((sine, cosine)) = ty.is_float().then(|| lower.sincos(*ty, arg)).flatten() else { return false };
        let (first, second) = if *op == Op::Sin { (sine, cosine) } else { (cosine, sine) };
        (values[id], values[other]) = (Some(Value::Plain(first)), Some(Value::Plain(second)));
        true
    }

    /// The cosine of the value that a node is the sine of, or the reverse.
    fn partner(&self, id: usize) -> Option<usize> {
        let Node::Op(op @ (Op::Sin | Op::Cos), ty, args) = &self.kernel.body[id] else { return None };
        let partner = if *op == Op::Sin { Op::Cos } else { Op::Sin };
        let is_partner = |(at, node): (usize, &Node)| {
            let same = matches!(node, Node::Op(o, t, a) if *o == partner && t == ty && a == args);
            (same && self.shape.depth[at] == Some(Depth::Point)).then_some(at)
        };
        self.kernel.body.iter().enumerate().find_map(is_partner)
    }

    /// Evaluates a function of all sets of vectors by one call, if there is a function of this number of vectors.
    fn group(&self, id: usize, lanes: u32, sets: &mut [Vec<Option<Value>>]) {
        let Node::Op(op, ty, args) = &self.kernel.body[id] else { return };
        let short = args.get(1).is_some_and(|&exponent| self.short[exponent as usize].is_some());
        let known = sets.iter().any(|values| values[id].is_some());
        if !(ty.is_float() && op.is_transcendental()) || short || known || self.partner(id).is_some() {
            return;
        }
        let operand = |values: &[Option<Value>], id: u32| values[id as usize].expect("operands are evaluated before");
        let registers: Vec<SmallVec<[Val; 2]>> =
            sets.iter().map(|values| args.iter().map(|&id| operand(values, id).plain()).collect()).collect();
        if let Some(results) = self.lower(lanes, None).math_of_group(*op, *ty, &registers) {
            sets.iter_mut().zip(results).for_each(|(values, v)| values[id] = Some(Value::Plain(v)));
        }
    }

    /// Evaluates an exponential in all sets together, if it is one whose code is in the kernel.
    fn exponentials(&self, id: usize, lanes: u32, sets: &mut [Vec<Option<Value>>]) -> Result<()> {
        let Node::Op(Op::Exp, DType::F64, args) = &self.kernel.body[id] else { return Ok(()) };
        let lower = self.lower(lanes, None);
        let args: Option<Vec<Val>> = sets.iter().map(|values| Some(values[args[0] as usize]?.plain())).collect();
        if let Some(args) = args
            && let Some(found) = lower.exponentials(&args)?
        {
            sets.iter_mut().zip(found).for_each(|(values, v)| values[id] = Some(Value::Plain(v)));
        }
        Ok(())
    }

    /// One node at the points from number `start` on.
    fn node(&self, node: &Node, memory: Memory<'_>, start: Val, values: &[Option<Value>]) -> Result<Value> {
        match node {
            Node::Load(arg) => {
                let unit = inner(self.kernel, *arg) == StrideClass::Unit;
                let place = self.place(*arg, self.kernel.args[*arg as usize].dtype, unit, start);
                Ok(if self.few_strided() { memory.load_stepped(place) } else { memory.load(place) })
            }
            Node::Index(arg) => Ok(self.index(*arg, memory, start)),
            Node::Gather { .. } => self.gather(node, memory, start, values),
            Node::Param(_) => Err(Error::Invalid("a parameter at a point".into())),
            Node::Cast(..) | Node::Op(..) => self.compute(node, memory.lanes, values),
        }
    }

    /// Are the strided operands so few that the code for frequent strides does not grow a lot?
    fn few_strided(&self) -> bool {
        let strided = |(node, depth): &(&Node, &Option<Depth>)| match node {
            Node::Load(arg) => **depth == Some(Depth::Point) && inner(self.kernel, *arg) == StrideClass::Any,
            Node::Index(_) | Node::Gather { .. } | Node::Param(_) | Node::Cast(..) | Node::Op(..) => false,
        };
        self.kernel.body.iter().zip(&self.shape.depth).filter(strided).count() <= STEPPED
    }

    /// Where an operand lies at point number `i` of the row.
    fn place(&self, arg: u32, dtype: DType, unit: bool, i: Val) -> Place {
        let operand = self.operand(arg);
        if unit {
            let cells = if dtype.is_complex() { self.b.shl(i, self.i64(1)) } else { i };
            let address = self.b.element(cell(self.b, dtype), operand.start, cells);
            return Place { address, stride: None, dtype };
        }
        let stride = operand.inner_stride.expect("loaded where the class is not Unit");
        Place { address: self.b.offset(operand.start, self.b.mul(i, stride)), stride: Some(stride), dtype }
    }

    /// Values of an index; lanes beyond the row's end repeat the first.
    fn index(&self, arg: u32, memory: Memory<'_>, i: Val) -> Value {
        let operand = self.operand(arg);
        let stride = operand.inner_stride.expect("loaded for every index");
        let first = self.b.splat(self.b.add(operand.start, self.b.mul(i, stride)), memory.lanes);
        if memory.lanes == 1 {
            return Value::Plain(first);
        }
        let steps = self.b.mul(self.b.const_lanes(memory.lanes), self.b.splat(stride, memory.lanes));
        let all = self.b.add(first, steps);
        Value::Plain(match memory.span {
            Span::Full => all,
            Span::Part(count) => {
                let number = self.b.const_lanes(memory.lanes);
                let inside = self.b.icmp(Int::LLVMIntULT, number, self.b.splat(count, memory.lanes));
                self.b.select(inside, all, first)
            }
        })
    }
}
