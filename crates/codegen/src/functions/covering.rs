//! Stores of iterations ahead that keep what they overwrite.
//!
//! If iterations write each element of a part of an array once, each store can copy the element that it overwrites to
//! memory of the same shape. Nothing has to be copied before the iterations run, which costs an additional pass over
//! the memory, and nearly all of what this pass costs is saved.
//!
//! In: iterations ahead. Out: whether their stores do that, and how many elements an iteration writes. The driver
//! compares this number with that of the elements which the iteration may write ([`Place`](super::Place)). If they are
//! equal, each of these elements is written: two executions of a store have different indices, because each index is
//! the number of an iteration of one of the loops around the store, plus or minus a loop-invariant number.

use numelt_func::{Ahead, Array, Instr, Value, uses};
use numelt_ir::{DType, Op};
use std::collections::{BTreeSet, HashMap};

/// Iterations whose stores keep what they overwrite.
pub(super) struct Covering<'a> {
    /// For each part of an array that is written: the numbers of iterations of the loops inside that are around the
    /// store. Their product is the number of elements that an iteration writes.
    pub(super) counts: Vec<Vec<Value>>,
    /// The instructions that compute these numbers. They depend on loop-invariant values alone.
    pub(super) slice: Vec<&'a Instr>,
}

impl<'a> Covering<'a> {
    /// `None` if an element may be written several times, or not in all iterations, or if an iteration may be given up
    /// before its end for another reason than a poll.
    pub(super) fn of(ahead: &'a Ahead) -> Option<Covering<'a>> {
        let mut inside = uses(&ahead.body).0;
        inside.extend(&ahead.params);
        let mut search = Search {
            makers: HashMap::new(),
            order: Vec::new(),
            inside,
            polls: BTreeSet::new(),
            loops: vec![Counted { position: ahead.params[0], count: None }],
            stores: Vec::new(),
        };
        let (Instr::Again { label, values }, body) = ahead.body.split_last()? else { return None };
        search.body(body, false)?;
        if *label != ahead.label || !search.is_next(values[0], ahead.params[0]) || search.stores.is_empty() {
            return None;
        }
        let mut counts = Vec::new();
        for written in &ahead.written {
            let array = &ahead.arrays[written.array];
            let mut own = search.stores.iter().filter(|store| search.terms(store.address, array).is_some());
            let (Some(store), None) = (own.next(), own.next()) else { return None };
            if !search.is_one_to_one(store, array) {
                return None;
            }
            counts.push(store.loops.iter().filter_map(|around| around.count).collect());
        }
        let arrays: BTreeSet<usize> = ahead.written.iter().map(|written| written.array).collect();
        if arrays.len() != ahead.written.len() || search.stores.len() != arrays.len() {
            return None;
        }
        let slice = search.slice(counts.iter().flatten().copied().collect());
        Some(Covering { counts, slice })
    }
}

/// A loop with a number of iterations that is known before it begins; that of the outermost loop is left out.
#[derive(Clone, Copy)]
struct Counted {
    position: Value,
    count: Option<Value>,
}

struct Store {
    address: Value,
    loops: Vec<Counted>,
}

struct Search<'a> {
    /// The constants and operations, by their results, and in the order of the code.
    makers: HashMap<Value, &'a Instr>,
    order: Vec<(Value, &'a Instr)>,
    /// The values that iterations define.
    inside: BTreeSet<Value>,
    polls: BTreeSet<Value>,
    /// The loops around the current instruction, outermost first.
    loops: Vec<Counted>,
    stores: Vec<Store>,
}

impl<'a> Search<'a> {
    /// Looks at instructions; `None` if they are not of the kind that is looked for.
    fn body(&mut self, body: &'a [Instr], is_branch: bool) -> Option<()> {
        for instr in body {
            match instr {
                Instr::Const { out, .. } | Instr::Apply { out, .. } => {
                    self.makers.insert(*out, instr);
                    self.order.push((*out, instr));
                }
                Instr::Checked { .. }
                | Instr::Convert { .. }
                | Instr::Bits { .. }
                | Instr::Load { .. }
                | Instr::Call { .. }
                | Instr::Suspect { .. } => {}
                Instr::Poll { out, iterations: Some(_) } => {
                    self.polls.insert(*out);
                }
                Instr::If { condition, then, otherwise, .. } => {
                    if !(self.polls.contains(condition) && then[..] == [Instr::GiveUp]) {
                        self.body(then, true)?;
                    }
                    self.body(otherwise, true)?;
                }
                Instr::Yield(_) if is_branch => {}
                Instr::Store { address, .. } if !is_branch => {
                    self.stores.push(Store { address: *address, loops: self.loops.clone() });
                }
                Instr::Block { .. } if !is_branch => self.counted(instr)?,
                _ => return None,
            }
        }
        Some(())
    }

    /// Looks at a loop that can only be left when a number of iterations has run.
    fn counted(&mut self, block: &'a Instr) -> Option<()> {
        let Instr::Block { label: around, body, .. } = block else { return None };
        let (Instr::Loop { label, params, starts, body }, before) = body.split_last()? else { return None };
        self.body(before, false)?;
        let (Instr::Again { label: next, values }, body) = body.split_last()? else { return None };
        let head = body.iter().position(|instr| matches!(instr, Instr::If { .. }))?;
        self.body(&body[..head], false)?;
        let Instr::If { condition, then, otherwise, .. } = &body[head] else { return None };
        let Some(Instr::Apply { op: Op::Less, on: DType::I64, args, .. }) = self.makers.get(condition) else {
            return None;
        };
        let ([position, count], [Instr::Leave { label: left, .. }]) = (&args[..], &otherwise[..]) else {
            return None;
        };
        let goes_on = matches!(&then[..], [Instr::Yield(values)] if values.is_empty());
        if !goes_on || left != around || next != label || params.first() != Some(position) {
            return None;
        }
        if !self.is_constant(starts[0], 0) || !self.is_invariant(*count) {
            return None;
        }
        self.loops.push(Counted { position: *position, count: Some(*count) });
        self.body(&body[head + 1..], false)?;
        self.loops.pop();
        self.is_next(values[0], *position).then_some(())
    }

    fn is_constant(&self, value: Value, number: u64) -> bool {
        matches!(self.makers.get(&value), Some(Instr::Const { bits, .. }) if *bits == number)
    }

    /// Is a value a number plus one?
    fn is_next(&self, value: Value, number: Value) -> bool {
        matches!(self.makers.get(&value), Some(Instr::Apply { op: Op::Add, on: DType::I64, args, .. })
            if args[0] == number && self.is_constant(args[1], 1))
    }

    /// Is an integer computed from loop-invariant values alone?
    fn is_invariant(&self, value: Value) -> bool {
        if !self.inside.contains(&value) {
            return true;
        }
        match self.makers.get(&value) {
            Some(Instr::Const { .. }) => true,
            Some(Instr::Apply { op, on: DType::I64, args, .. }) => {
                let is_simple = matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::Maximum | Op::Minimum);
                is_simple && args.iter().all(|arg| self.is_invariant(*arg))
            }
            _ => false,
        }
    }

    /// The index along each axis of an array that an address is made from; `None` if it is made in another way.
    fn terms(&self, address: Value, array: &Array) -> Option<Vec<Value>> {
        let mut indices = vec![None; array.axes.len()];
        let mut rest = address;
        while rest != array.address {
            let Some(Instr::Apply { op: Op::Add, on: DType::I64, args, .. }) = self.makers.get(&rest) else {
                return None;
            };
            rest = args[0];
            let Some(Instr::Apply { op: Op::Multiply, on: DType::I64, args, .. }) = self.makers.get(&args[1]) else {
                return None;
            };
            let named = array.axes.iter().position(|[_, stride]| *stride == args[1]);
            // the usual stride is written as a constant; the driver looks whether it is that of the last axis
            let is_usual = self.is_constant(args[1], array.size.into());
            let axis = named.or_else(|| array.axes.len().checked_sub(1).filter(|_| is_usual))?;
            if indices[axis].replace(args[0]).is_some() {
                return None;
            }
        }
        indices.into_iter().collect()
    }

    /// Is each index of a store made from the number of an iteration of another one of the loops around it?
    fn is_one_to_one(&self, store: &Store, array: &Array) -> bool {
        let mut left: BTreeSet<Value> = store.loops.iter().map(|around| around.position).collect();
        let (Some(indices), Some(innermost)) = (self.terms(store.address, array), store.loops.last()) else {
            return false;
        };
        // elements of a column are copied faster beforehand, together with those of the next columns
        let mut last = Vec::new();
        let is_in_row = indices.last().is_some_and(|index| self.positions(*index, &store.loops, &mut last));
        is_in_row
            && last == [innermost.position]
            && indices.len() == left.len()
            && indices.into_iter().all(|index| {
                let mut found = Vec::new();
                self.positions(index, &store.loops, &mut found) && found.len() == 1 && left.remove(&found[0])
            })
    }

    /// Finds the iteration numbers in a sum of them and of loop-invariant values; false if it is no such sum.
    fn positions(&self, index: Value, loops: &[Counted], found: &mut Vec<Value>) -> bool {
        if loops.iter().any(|around| around.position == index) {
            found.push(index);
            return true;
        }
        self.is_invariant(index)
            || matches!(self.makers.get(&index), Some(Instr::Apply { op: Op::Add | Op::Subtract, on: DType::I64, args, .. })
                if args.iter().all(|arg| self.positions(*arg, loops, found)))
    }

    /// The instructions that compute some values, in order.
    fn slice(&self, mut open: Vec<Value>) -> Vec<&'a Instr> {
        let mut needed = BTreeSet::new();
        while let Some(value) = open.pop() {
            if needed.insert(value)
                && let Some(Instr::Apply { args, .. }) = self.makers.get(&value)
            {
                open.extend(args);
            }
        }
        self.order.iter().filter(|(out, _)| needed.contains(out)).map(|(_, instr)| *instr).collect()
    }
}
