//! Finds the stores of an iteration that LLVM certainly keeps, and keeps where they are.
//!
//! LLVM removes a store if another one overwrites the element soon after. If a loop stores to the same element in every
//! iteration, LLVM keeps the store after the last iteration only. The operations that computed the other values are
//! then removed as well, and the processor's flags tell nothing about them. In: the body of an iteration. Out: the
//! stores for which neither can happen.

use numelt_func::{Instr, Value, uses};
use numelt_ir::{DType, Op};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A store, and the parameters of the loops around it, outermost first.
struct StorePlace<'a> {
    instr: &'a Instr,
    address: Value,
    value: Value,
    loops: Vec<&'a [Value]>,
    /// How many instructions come before it, and before the innermost loop around it.
    order: usize,
    loop_order: usize,
}

struct StoreWalk<'a> {
    /// The instructions that compute values from others.
    makers: HashMap<Value, &'a Instr>,
    /// For each number that is loaded: how many instructions come before.
    loads: HashMap<Value, usize>,
    /// The number of instructions so far, and before the innermost loop.
    order: usize,
    loop_order: usize,
    /// All stores, in the order of the code.
    places: Vec<StorePlace<'a>>,
    /// The values that change within an iteration or from iteration to iteration.
    inside: BTreeSet<Value>,
}

/// The stores in the body of an iteration that certainly stay where they are, by their addresses in this process.
/// `params` are the values that change from iteration to iteration.
pub fn lasting(body: &[Instr], params: &[Value]) -> HashSet<*const Instr> {
    let mut stores = StoreWalk {
        makers: HashMap::new(),
        loads: HashMap::new(),
        order: 0,
        loop_order: 0,
        places: Vec::new(),
        inside: uses(body).0,
    };
    stores.inside.extend(params);
    stores.collect(body, &mut vec![params]);
    let outer = |place: &StorePlace<'_>| &stores.leaves(place.address) - &stores.inside;
    let outer: Vec<BTreeSet<Value>> = stores.places.iter().map(outer).collect();
    let lasts = |(number, place): (usize, &StorePlace<'_>)| {
        (stores.moves(place) && !stores.is_overwritten(number, &outer)).then_some(std::ptr::from_ref(place.instr))
    };
    stores.places.iter().enumerate().filter_map(lasts).collect()
}

impl<'a> StoreWalk<'a> {
    fn collect(&mut self, body: &'a [Instr], loops: &mut Vec<&'a [Value]>) {
        for instr in body {
            self.order += 1;
            if let Instr::Load { out, .. } = instr {
                self.loads.insert(*out, self.order);
            }
            match instr {
                Instr::Const { out, .. }
                | Instr::Apply { out, .. }
                | Instr::Checked { out, .. }
                | Instr::Convert { out, .. }
                | Instr::Load { out, .. } => {
                    self.makers.insert(*out, instr);
                }
                Instr::Store { address, value } => {
                    let (address, value, order, loop_order) = (*address, *value, self.order, self.loop_order);
                    self.places.push(StorePlace { instr, address, value, loops: loops.clone(), order, loop_order });
                }
                Instr::If { then, otherwise, .. } => {
                    self.collect(then, loops);
                    self.collect(otherwise, loops);
                }
                Instr::Block { body, .. } => self.collect(body, loops),
                Instr::Loop { params, body, .. } => {
                    loops.push(params);
                    let before = std::mem::replace(&mut self.loop_order, self.order);
                    self.collect(body, loops);
                    self.loop_order = before;
                    loops.pop();
                }
                _ => {}
            }
        }
    }

    /// The values from which a value is computed, and that are not computed from others.
    fn leaves(&self, value: Value) -> BTreeSet<Value> {
        let mut found = BTreeSet::new();
        let mut open = vec![value];
        let mut seen = HashSet::new();
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            match self.makers.get(&value) {
                Some(Instr::Apply { args, .. }) => open.extend(args),
                Some(Instr::Checked { args, .. }) => open.extend(args),
                Some(Instr::Convert { from, .. }) => open.push(*from),
                Some(Instr::Load { address, .. }) => open.push(*address),
                Some(_) => {}
                None => {
                    found.insert(value);
                }
            }
        }
        found
    }

    /// Is each iteration of all loops around a store to another element, or does it add to the same element?
    fn moves(&self, place: &StorePlace<'_>) -> bool {
        let leaves = self.leaves(place.address);
        place.loops.iter().all(|params| params.iter().any(|param| leaves.contains(param)))
            || self.is_made_of(place.value, place.address, 0)
    }

    /// Is a value computed by float arithmetic from the element at an address, as it is after so many instructions?
    fn is_made_of(&self, value: Value, address: Value, after: usize) -> bool {
        // a value may be an operand many times over
        let (mut open, mut seen) = (vec![value], HashSet::new());
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            match self.makers.get(&value) {
                Some(Instr::Load { address: loaded, .. })
                    if self.loads[&value] > after && self.is_same(*loaded, address) =>
                {
                    return true;
                }
                Some(Instr::Apply { op, on, args, .. }) if on.is_float() && is_plain(*op) => open.extend(args),
                _ => {}
            }
        }
        false
    }

    /// Are two values computed alike?
    fn is_same(&self, a: Value, b: Value) -> bool {
        let (mut open, mut seen) = (vec![(a, b)], HashSet::new());
        while let Some((a, b)) = open.pop() {
            if a == b || !seen.insert((a, b)) {
                continue;
            }
            match (self.makers.get(&a), self.makers.get(&b)) {
                (Some(Instr::Const { bits: a, .. }), Some(Instr::Const { bits: b, .. })) if a == b => {}
                (
                    Some(Instr::Apply { op: a, on: x, args: of_a, .. }),
                    Some(Instr::Apply { op: b, on: y, args: of_b, .. }),
                ) if (a, x, of_a.len()) == (b, y, of_b.len()) => {
                    open.extend(of_a.iter().copied().zip(of_b.iter().copied()));
                }
                _ => return false,
            }
        }
        true
    }

    /// Can another store, which comes later, write to the same element, and not a number that is computed from what the
    /// element is before? Elements of arrays whose addresses have nothing in common may be the same, but LLVM does not
    /// know that. `outer` has, for each store, the values from outside the iteration from which its address is computed.
    fn is_overwritten(&self, number: usize, outer: &[BTreeSet<Value>]) -> bool {
        let place = &self.places[number];
        self.places.iter().enumerate().any(|(other_number, other)| {
            let same_loop = match (place.loops.get(1), other.loops.get(1)) {
                (Some(a), Some(b)) => std::ptr::eq(*a, *b),
                _ => false,
            };
            let is_later = other_number > number || other_number < number && same_loop;
            let (own, others) = (&outer[number], &outer[other_number]);
            let is_read = if other_number > number {
                self.is_made_of(other.value, other.address, place.order)
            } else {
                // the next iteration reads the element, if it does so in the same loop
                let innermost = [place, other].map(|place| place.loops.last().map(|params| params.as_ptr()));
                innermost[0] == innermost[1] && self.is_made_of(other.value, other.address, place.loop_order)
            };
            is_later
                && !is_read
                && (own.is_subset(others) || others.is_subset(own))
                && !(other_number > number && self.are_apart(place, other))
        })
    }

    /// Are the elements of two stores outside inner loops certainly different ones, in the same iteration and, as far as
    /// LLVM can know, in all others? Their addresses differ by a constant, and the distance from an iteration to the next
    /// one is not known before the code runs.
    fn are_apart(&self, a: &StorePlace<'_>, b: &StorePlace<'_>) -> bool {
        let [(mut own, one), (others, other)] = [a, b].map(|place| self.summands(place.address));
        let is_variable = |factor: &Value| !self.inside.contains(factor);
        let moves_by_variable = |value: &Value| match self.makers.get(value) {
            Some(Instr::Apply { op: Op::Multiply, args, .. }) => args.iter().any(is_variable),
            _ => is_variable(value),
        };
        let all_are_like = others.len() == own.len()
            && others.iter().all(|value| {
                let found = own.iter().position(|own| self.is_same(*own, *value));
                found.map(|found| own.swap_remove(found)).is_some()
            });
        a.loops.len() == 1 && b.loops.len() == 1 && one != other && all_are_like && others.iter().all(moves_by_variable)
    }

    /// The values that an integer is the sum of, and the constant among them.
    fn summands(&self, value: Value) -> (Vec<Value>, i64) {
        let (mut found, mut constant, mut open) = (Vec::new(), 0i64, vec![value]);
        while let Some(value) = open.pop() {
            match self.makers.get(&value) {
                Some(Instr::Apply { op: Op::Add, on: DType::I64, args, .. }) => open.extend(args),
                _ => match self.constant(value) {
                    Some(number) => constant = constant.wrapping_add(number),
                    None => found.push(value),
                },
            }
        }
        (found, constant)
    }

    /// The number that a value is, if it is computed from constants.
    fn constant(&self, value: Value) -> Option<i64> {
        match self.makers.get(&value)? {
            Instr::Const { bits, .. } => Some(*bits as i64),
            Instr::Apply { op: Op::Multiply, on: DType::I64, args, .. } => {
                Some(self.constant(args[0])?.wrapping_mul(self.constant(args[1])?))
            }
            _ => None,
        }
    }
}

/// Is it an arithmetic operation, which always uses its operands?
pub fn is_plain(op: Op) -> bool {
    matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Negative)
}
