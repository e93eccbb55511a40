//! Iterations ahead: a speculative version of a `for` loop without exits, which can be vectorized and run on several
//! threads.
//!
//! The exact code of a loop, which `loops` writes, checks every index, every sum of integers and every float result
//! before a statement has an effect. In front of it stands a version of the loop for the usual case
//! ([`numelt_func::Ahead`]). Its iterations can be undone: where the exact code would exit, an iteration *gives up*,
//! and the exact code runs it instead. Conditions that can be checked before the loop are not checked in each
//! iteration: those on indices that are affine expressions of iteration numbers and of loop-invariant values
//! (`affine`).
//!
//! The two versions alternate: iterations ahead, then some iterations of the exact code (a *stride*, longer each time),
//! then iterations ahead again.
//!
//! Requirements on a loop ([`Walk::has_iterations_ahead`]): from some iteration on its variables keep their types. A
//! loop that contains other loops must also write elements of which an index is known, for each iteration, before the
//! loop begins; otherwise too much memory would have to be saved.

use crate::affine::Affine;
use crate::emit::At;
use crate::loops::{Iterations, is_innermost};
use crate::outside::IterationsAhead;
use crate::recorded::{Access, Region, Selected};
use crate::region::SMALL;
use crate::tree::Stmt;
use crate::types::{Type, Val, places};
use crate::walk::{AheadNote, Edge, Env, Jumps, Res, Stop, Walk};
use numelt_func::{Ahead, Array, Carried, Indices, Label, Value, Written};
use numelt_ir::{DType, Op};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A loop that is known to have fewer iterations gets no iterations ahead.
const FEW: u64 = 16;
/// For tests: the claimed work of an iteration if all loops must run ahead.
const EAGER: i64 = 1 << 20;
/// An iteration of fewer instructions does not poll for signals: it takes some milliseconds.
const MOST_BRIEF: i64 = 1 << 20;
/// The number of iterations of the exact code before iterations run ahead again, and the factor by which it grows.
const FIRST_STRIDE: i64 = 1;
const LONGER: i64 = 8;
/// The longest stride, so that the sum of a stride and an iteration number does not overflow.
const LONGEST_STRIDE: i64 = 1 << 40;

/// The code of the iterations ahead, before it is placed.
struct Walked {
    region: Region,
    label: Label,
    params: Vec<Value>,
    types: Vec<Type>,
    body: At,
    size: usize,
}

impl Walk<'_> {
    /// Writes a loop with iterations ahead, and returns whether that was possible.
    pub fn has_iterations_ahead(&mut self, iterations: &Iterations<'_>) -> Res<bool> {
        let is_eager = self.world.iterations_ahead() == IterationsAhead::All;
        let is_short = !is_eager && self.e.known(iterations.count).is_some_and(|count| count < FEW);
        let key = self.loop_key(iterations.number);
        if self.is_plain || self.region.is_some() || is_short || self.not_ahead.contains(&key) {
            return Ok(false);
        }
        let mark = self.mark();
        let (env, place, inside) = (self.env.clone(), self.place.clone(), self.inside.clone());
        let (callers, inlined, in_use) = (self.callers.clone(), self.inlined.len(), self.in_use.len());
        let line = self.place.line;
        let result = self.with_iterations_ahead(iterations);
        let why_not = match result {
            Ok(None) => return Ok(true),
            Err(Stop::Never) => return Err(Stop::Never),
            Ok(Some(why)) | Err(Stop::Unsupported(why) | Stop::Refused(why)) => Some(why),
        };
        self.ahead.insert(iterations.number, AheadNote { line, why_not, is_free: false });
        self.not_ahead.insert(key);
        self.region = None;
        self.is_plain = false;
        self.back_to(mark);
        (self.env, self.place, self.inside, self.callers) = (env, place, inside, callers);
        self.watched.clear();
        self.inlined.truncate(inlined);
        self.in_use.truncate(in_use);
        Ok(false)
    }

    /// Writes a loop with iterations ahead, or returns the reason why that is impossible.
    fn with_iterations_ahead(&mut self, iterations: &Iterations<'_>) -> Res<Option<String>> {
        let before = self.env.clone();
        let (mark, place, inside) = (self.mark(), self.place.clone(), self.inside.clone());
        // write the exact code once to find the types that the variables have; it is discarded
        self.is_plain = true;
        let zero = self.e.int(0);
        let walked = self.iterations_from(iterations, zero, iterations.count, false);
        let is_live = self.e.is_live();
        self.back_to(mark);
        self.env.clone_from(&before);
        self.place = place;
        self.inside = inside;
        walked?;
        let key = self.loop_key(iterations.number);
        let types = match self.memo.get(&key) {
            Some(types) if is_live => types.clone(),
            _ => return Ok(Some("the end of the loop is never reached".into())),
        };
        self.is_plain = false;
        let written = match self.iterations_ahead(iterations, &before)? {
            Ok(written) => written,
            Err(why) => return Ok(Some(why)),
        };
        let done = self.alternate(iterations, &before, &types, written);
        self.is_plain = false;
        done?;
        let line = self.place.line;
        self.ahead.insert(iterations.number, AheadNote { line, why_not: None, is_free: false });
        Ok(None)
    }

    /// Writes the body of the iterations ahead, for the types that the variables keep after the first iterations.
    fn iterations_ahead(&mut self, iterations: &Iterations<'_>, before: &Env) -> Res<Result<Walked, String>> {
        let mut types: Vec<Type> = iterations.slots.iter().map(|&slot| before[slot].ty.clone()).collect();
        for _ in 0..4 {
            let mark = self.mark();
            let (place, inside) = (self.place.clone(), self.inside.clone());
            // the recorded types include those that variables have in the first iterations only
            let memo = std::mem::take(&mut self.memo);
            let result = self.iterations_of(iterations, &types);
            self.region = None;
            self.memo = memo;
            self.place = place;
            self.inside = inside;
            self.env.clone_from(before);
            match result? {
                Ok((written, after)) if after == types => return Ok(Ok(written)),
                Ok((_, after)) => {
                    self.back_to(mark);
                    types = after;
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Err("its variables change their types".into()))
    }

    /// Writes the body for these types of the variables. Also returns their types at the end of an iteration.
    fn iterations_of(
        &mut self,
        iterations: &Iterations<'_>,
        types: &[Type],
    ) -> Res<Result<(Walked, Vec<Type>), String>> {
        let (here, size) = (self.e.here(), self.e.size());
        let label = self.e.label();
        let position = self.e.value(DType::I64);
        self.e.set_natural(position);
        let mut params = vec![position];
        for (slot, ty) in iterations.slots.iter().zip(types) {
            let parts: Vec<Value> = ty.parts().into_iter().map(|part| self.e.value(part)).collect();
            params.extend(&parts);
            self.env[*slot] = Val::new(ty.clone(), parts);
        }
        self.region = Some(Region {
            inside_from: size,
            position,
            arrays: Vec::new(),
            origins: HashMap::new(),
            accesses: Vec::new(),
            conditions: BTreeSet::new(),
            small: BTreeSet::new(),
            strides: BTreeMap::new(),
            inner_loops: Vec::new(),
            last_position: position,
            independent: BTreeSet::new(),
            is_open: false,
            depth: 0,
            failed: None,
            inlined: self.inlined.len(),
        });
        let body = self.e.body();
        self.e.go(body);
        let depth = self.jumps.len();
        self.jumps.push(Jumps::default());
        let place = self.place.clone();
        let walked = self.iteration(iterations, position, &place);
        let last = self.edge();
        self.jumps.truncate(depth + 1);
        let jumps = self.jumps.pop().expect("pushed above");
        match walked {
            Ok(()) | Err(Stop::Never) => {}
            Err(Stop::Unsupported(why) | Stop::Refused(why)) => return Ok(Err(why)),
        }
        for edge in jumps.out {
            self.e.go(edge.at);
            self.e.give_up();
        }
        let again: Vec<Edge> = jumps.again.into_iter().chain(last).collect();
        let Some(first) = again.first() else { return Ok(Err("no iteration reaches its end".into())) };
        let mut after: Vec<Type> = iterations.slots.iter().map(|slot| first.env[*slot].ty.clone()).collect();
        for edge in &again[1..] {
            for (ty, slot) in after.iter_mut().zip(&iterations.slots) {
                *ty = self.merge(ty, &edge.env[*slot].ty)?;
            }
        }
        if after == types {
            for edge in again {
                self.e.go(edge.at);
                let one = self.e.int(1);
                let mut values = vec![self.e.ints(Op::Add, &[position, one])];
                for (slot, ty) in iterations.slots.iter().zip(types) {
                    values.extend(self.convert(&edge.env[*slot], ty)?.parts);
                }
                self.e.again(label, values);
            }
        }
        self.note_independent(iterations.body, position, size, 0);
        let region = self.region.take().expect("set above");
        let size = self.e.size() - size;
        self.e.go(here);
        if let Some(why) = region.failed {
            return Ok(Err(why));
        }
        Ok(Ok((Walked { region, label, params, types: types.to_vec(), body, size }, after)))
    }

    /// Writes the loop in which iterations ahead and strides of the exact code alternate.
    fn alternate(&mut self, iterations: &Iterations<'_>, before: &Env, types: &[Type], written: Walked) -> Res<()> {
        let spans = self.spans(&written.region, iterations.body)?;
        self.is_plain = spans.is_bounded;
        let mut written = Some((written, spans));
        self.block(&mut |walk| {
            let (written, spans) = written.take().expect("a block is written once");
            let mut starts = vec![walk.e.int(0), walk.e.int(FIRST_STRIDE)];
            for (slot, ty) in iterations.slots.iter().zip(types) {
                starts.extend(walk.convert(&before[*slot], ty)?.parts);
            }
            let label = walk.e.label();
            let (first, stride) = (walk.e.value(DType::I64), walk.e.value(DType::I64));
            let mut params = vec![first, stride];
            let mut env = before.clone();
            for (slot, ty) in iterations.slots.iter().zip(types) {
                let parts: Vec<Value> = ty.parts().into_iter().map(|part| walk.e.value(part)).collect();
                params.extend(&parts);
                env[*slot] = Val::new(ty.clone(), parts);
            }
            [first, stride].into_iter().for_each(|value| walk.e.set_natural(value));
            let around = walk.e.here();
            let body = walk.e.body();
            walk.e.go(body);
            walk.env = env;
            let next = walk.place_ahead(iterations, first, types, written, spans)?;
            let limit = walk.e.ints(Op::Add, &[next, stride]);
            let limit = walk.e.ints(Op::Minimum, &[limit, iterations.count]);
            // an additional variable holds the number of the next iteration
            walk.env.push(Val::new(Type::Int, vec![next]));
            walk.iterations_from(iterations, next, limit, true)?;
            let reached = walk.env.pop().expect("pushed above").parts[0];
            walk.e.set_natural(reached);
            let mut edges = Vec::new();
            if walk.e.is_live() {
                let more = walk.e.ints(Op::Less, &[reached, iterations.count]);
                let (goes_on, leaves) = (walk.e.body(), walk.e.body());
                let here = walk.e.here();
                walk.e.go(goes_on);
                walk.e.finish_branch(vec![]);
                edges.push(Edge { at: leaves, env: walk.env.clone() });
                walk.e.go(here);
                walk.e.branch(more, goes_on, leaves, vec![], false);
                let (longer, longest) = (walk.e.int(LONGER), walk.e.int(LONGEST_STRIDE));
                let stride = walk.e.ints(Op::Multiply, &[stride, longer]);
                let stride = walk.e.ints(Op::Minimum, &[stride, longest]);
                let mut values = vec![reached, stride];
                for (slot, ty) in iterations.slots.iter().zip(types) {
                    values.extend(walk.convert(&walk.env[*slot].clone(), ty)?.parts);
                }
                walk.e.again(label, values);
            }
            walk.e.go(around);
            walk.e.repeat(label, params, starts, body);
            Ok((edges, before.clone()))
        })
    }

    /// Places the code of the iterations ahead, which starts at iteration `first`. Returns the number of the next
    /// iteration.
    fn place_ahead(
        &mut self,
        iterations: &Iterations<'_>,
        first: Value,
        types: &[Type],
        written: Walked,
        spans: Spans,
    ) -> Res<Value> {
        let Walked { region, label, params, types: stable, body, size } = written;
        let start = self.env.clone();
        let mut holds = self.conditions(&region);
        let is_unread = self.unread(&stable, &params[1..], body);
        for (((slot, ty), stable), is_unread) in iterations.slots.iter().zip(types).zip(&stable).zip(&is_unread) {
            if !stable.alternatives().iter().all(|one| ty.alternatives().contains(one)) {
                return Err(Stop::Refused("types of iterations ahead".into()));
            }
            if ty != stable && !is_unread {
                let has_type = self.has_type(&start[*slot], stable);
                holds = self.e.logic(Op::LogicalAnd, &[holds, has_type]);
            }
        }
        let (here, runs, skips) = (self.e.here(), self.e.body(), self.e.body());
        self.e.go(runs);
        let mut starts = vec![first];
        for (slot, stable) in iterations.slots.iter().zip(&stable) {
            let val = &start[*slot];
            starts.extend(if val.ty == *stable { val.parts.clone() } else { self.narrowed(val, stable) });
        }
        let is_eager = self.world.iterations_ahead() == IterationsAhead::All;
        let is_counted = !region.is_open && region.inner_loops.iter().all(|inner| inner.count.is_some());
        let is_brief = is_counted.then(|| {
            let most = self.work(&region, size, true);
            let limit = self.e.int(MOST_BRIEF);
            self.e.ints(Op::Less, &[most, limit])
        });
        let work = if is_eager { self.e.int(EAGER) } else { self.work(&region, size, false) };
        self.labels.insert(label, iterations.number);
        let arrays: Vec<Array> = region.arrays.iter().map(array).collect();
        let outs: Vec<Value> = params
            .iter()
            .map(|param| self.e.type_of(*param))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|ty| self.e.value(ty))
            .collect();
        let ahead = Ahead {
            label,
            params,
            starts,
            count: iterations.count,
            arrays,
            written: spans.written,
            is_free: spans.is_free,
            carried: may_be_kept(&stable),
            work,
            is_brief,
            independent: region.independent.into_iter().collect(),
            body: vec![],
            outs: outs.clone(),
        };
        self.e.ahead(ahead, body);
        let mut values = vec![outs[0]];
        let mut rest = &outs[1..];
        let has_run = self.e.ints(Op::Greater, &[outs[0], first]);
        for (((slot, ty), stable), is_unread) in iterations.slots.iter().zip(types).zip(&stable).zip(is_unread) {
            let (own, others) = rest.split_at(stable.parts().len());
            rest = others;
            let mut parts = self.convert(&Val::new(stable.clone(), own.to_vec()), ty)?.parts;
            if ty != stable && is_unread {
                let before = &start[*slot].parts;
                parts.iter_mut().zip(before).for_each(|(part, before)| *part = self.e.select(has_run, *part, *before));
            }
            values.extend(parts);
        }
        let yielded: Vec<DType> = values.iter().map(|value| self.e.type_of(*value)).collect();
        self.e.finish_branch(values);
        self.e.go(skips);
        let mut values = vec![first];
        values.extend(iterations.slots.iter().flat_map(|slot| start[*slot].parts.clone()));
        self.e.finish_branch(values);
        self.e.go(here);
        let outs: Vec<Value> = yielded.into_iter().map(|ty| self.e.value(ty)).collect();
        self.e.branch(holds, runs, skips, outs.clone(), false);
        self.e.set_natural(outs[0]);
        let mut rest = &outs[1..];
        for (slot, ty) in iterations.slots.iter().zip(types) {
            let (own, others) = rest.split_at(ty.parts().len());
            rest = others;
            self.env[*slot] = Val::new(ty.clone(), own.to_vec());
        }
        Ok(outs[0])
    }

    /// For each variable: does no iteration read what it was before? Its type before the first iteration then does not
    /// matter. `params` are the numbers of all variables in the body of an iteration.
    fn unread(&self, types: &[Type], params: &[Value], body: At) -> Vec<bool> {
        let used = self.e.used_in(body);
        let mut rest = params;
        let is_unread = |ty: &Type| {
            let (own, others) = rest.split_at(ty.parts().len());
            rest = others;
            !own.iter().any(|param| used.contains(param))
        };
        types.iter().map(is_unread).collect()
    }

    /// Does a variable of several types have one of those of another type?
    fn has_type(&mut self, val: &Val, ty: &Type) -> Value {
        let mut is_one = self.e.truth(false);
        for (number, one) in val.ty.alternatives().iter().enumerate() {
            if ty.alternatives().contains(one) {
                let tag = self.e.constant(DType::I8, number as u64);
                let is = self.e.apply(Op::Equal, DType::I8, &[val.parts[0], tag]);
                is_one = self.e.logic(Op::LogicalOr, &[is_one, is]);
            }
        }
        is_one
    }

    /// The conditions on loop-invariant values under which iterations may run ahead.
    fn conditions(&mut self, region: &Region) -> Value {
        let mut holds = self.e.truth(true);
        for value in &region.small {
            let (half, all) = (self.e.int(SMALL), self.e.constant(DType::U64, 2 * SMALL as u64));
            let moved = self.e.ints(Op::Add, &[*value, half]);
            let moved = self.e.convert(moved, DType::U64);
            let is = self.e.apply(Op::Less, DType::U64, &[moved, all]);
            holds = self.e.logic(Op::LogicalAnd, &[holds, is]);
        }
        for (value, stride) in &region.strides {
            let stride = self.e.int(*stride);
            let is = self.e.ints(Op::Equal, &[*value, stride]);
            holds = self.e.logic(Op::LogicalAnd, &[holds, is]);
        }
        for condition in &region.conditions {
            let mut greatest = None;
            for way in condition {
                let sum = self.written_out(way);
                greatest = Some(greatest.map_or(sum, |other| self.e.ints(Op::Maximum, &[other, sum])));
            }
            let (greatest, zero) = (greatest.expect("there is a way"), self.e.int(0));
            let is = self.e.ints(Op::GreaterEqual, &[greatest, zero]);
            holds = self.e.logic(Op::LogicalAnd, &[holds, is]);
        }
        holds
    }

    /// Writes the code that computes an affine expression.
    pub fn written_out(&mut self, sum: &Affine) -> Value {
        let mut all = self.e.int(sum.constant);
        for (value, factor) in &sum.terms {
            let factor = self.e.int(*factor);
            let term = self.e.times(*value, factor);
            all = self.e.ints(Op::Add, &[all, term]);
        }
        all
    }

    /// The elements that iterations write, and whether iterations are independent.
    fn spans(&mut self, region: &Region, body: &[Stmt]) -> Res<Spans> {
        let mut written = Vec::new();
        let (mut is_free, mut is_bounded, mut is_moving) = (true, true, false);
        for (number, array) in region.arrays.iter().enumerate() {
            let Type::Array { ndim, .. } = array.ty else { unreachable!("only arrays are used") };
            let own: Vec<Places> = region
                .accesses
                .iter()
                .filter(|access| access.array == number)
                .map(|access| places_of(region, access, ndim))
                .collect();
            let stores: BTreeSet<&Places> = own.iter().filter(|places| places.is_store).collect();
            if stores.is_empty() {
                continue;
            }
            let moves = |index: &Option<(Affine, i64)>| index.as_ref().is_some_and(|(_, step)| *step != 0);
            for places in &stores {
                is_bounded &= places.indices.iter().any(moves) || places.indices.iter().all(Option::is_some);
                is_moving |= places.indices.iter().any(moves);
                let mut indices = Vec::new();
                for (index, bounds) in places.indices.iter().zip(&places.bounds) {
                    let mut written_out = |(rest, step): &(Affine, i64)| (self.written_out(rest), *step);
                    indices.push(match index {
                        Some(index) => Indices::At(written_out(index)),
                        None => Indices::Within(bounds.each_ref().map(|bound| bound.as_ref().map(&mut written_out))),
                    });
                }
                written.push(Written { array: number, indices });
            }
            // iterations are independent if all accesses have the same index along one axis, and it differs in each
            // iteration
            let first = stores.first().expect("there is one");
            let axis = first.indices.iter().position(moves);
            is_free &= axis.is_some_and(|axis| own.iter().all(|other| other.indices[axis] == first.indices[axis]));
        }
        // Inner loops of data-dependent length, such as those over the pixels near a particle, are too short to run ahead
        // themselves.
        let are_short = region.inner_loops.iter().any(|inner| !inner.is_regular);
        if !is_bounded && !is_moving && !are_short && !is_innermost(body) {
            return Err(Stop::Refused("what it writes does not depend on the iteration alone".into()));
        }
        Ok(Spans { written, is_free, is_bounded: is_bounded || is_innermost(body) })
    }

    /// The numbers of a value of several types, converted to a type with fewer alternatives, one of which it is known
    /// to have.
    fn narrowed(&mut self, val: &Val, ty: &Type) -> Vec<Value> {
        let parts_of = |one: &Type| places(&val.ty.parts(), &one.parts()).into_iter().map(|place| val.parts[place]);
        let Type::Choice(types) = ty else { return parts_of(ty).collect() };
        let pool = ty.parts();
        let mut parts: Vec<Option<Value>> = vec![None; pool.len()];
        for (number, one) in types.iter().enumerate() {
            let old = val.ty.alternatives().iter().position(|other| other == one).expect("looked at before");
            let old = self.e.constant(DType::I8, old as u64);
            let is = self.e.apply(Op::Equal, DType::I8, &[val.parts[0], old]);
            let tag = self.e.constant(DType::I8, number as u64);
            let own = places(&pool, &one.parts()).into_iter().zip(parts_of(one).collect::<Vec<_>>());
            for (place, part) in own.chain([(0, tag)]) {
                parts[place] = Some(match parts[place] {
                    Some(before) => self.e.select(is, part, before),
                    None => part,
                });
            }
        }
        let parts = parts.into_iter().zip(pool);
        parts.map(|(part, ty)| part.unwrap_or_else(|| self.e.constant(ty, 0))).collect()
    }
}

/// An access, described by its indices along each axis: the index in iteration zero and its increase per iteration, or
/// `None` if these are not known before the loop.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Places {
    indices: Vec<Option<(Affine, i64)>>,
    /// Bounds of the indices, described in the same way.
    bounds: Vec<[Option<(Affine, i64)>; 2]>,
    is_store: bool,
}

fn places_of(region: &Region, access: &Access, ndim: u8) -> Places {
    let along = |axis: usize| access.indices.iter().find(|selected| selected.axis == axis);
    let linear = |sum: &Affine| {
        let mut rest = sum.clone();
        let step = rest.terms.remove(&region.position).unwrap_or(0);
        rest.terms.keys().all(|value| (value.0 as usize) < region.inside_from).then_some((rest, step))
    };
    let axes = || (0..usize::from(ndim)).map(along);
    let bounds = |selected: &Selected| selected.bounds.each_ref().map(|bound| bound.as_ref().and_then(linear));
    Places {
        indices: axes().map(|selected| linear(&selected?.index)).collect(),
        bounds: axes().map(|selected| selected.map(bounds).unwrap_or_default()).collect(),
        is_store: access.is_store,
    }
}

/// For each number of variables of these types: `Kept` if the driver can tell whether an iteration has assigned it.
fn may_be_kept(types: &[Type]) -> Vec<Carried> {
    let of = |ty: &Type| {
        let is_choice = matches!(ty, Type::Choice(_));
        let parts = ty.parts().into_iter().enumerate();
        let known = parts.map(move |(place, part)| {
            let is_known = is_choice && place == 0 || matches!(part, DType::I64 | DType::U64 | DType::F64 | DType::F32);
            if is_known { Carried::Kept } else { Carried::Assigned }
        });
        known.collect::<Vec<_>>()
    };
    types.iter().flat_map(of).collect()
}

/// The elements that iterations write, and whether iterations are independent.
struct Spans {
    written: Vec<Written>,
    is_free: bool,
    /// Do iterations write few elements each, as far as is known? If not, it may be better to run inner loops ahead.
    is_bounded: bool,
}

fn array(val: &Val) -> Array {
    let Type::Array { dtype, ndim, .. } = val.ty else { unreachable!("only arrays are used") };
    let ndim = usize::from(ndim);
    let axes = (0..ndim).map(|axis| [val.parts[2 + axis], val.parts[2 + ndim + axis]]).collect();
    Array { address: val.parts[1], axes, size: dtype.size() as u32 }
}
