//! What the specializer records while it writes iterations ahead ([`crate::ahead`]): the arrays and elements that they
//! use, and conditions on loop-invariant values. The conditions are checked once before the loop, and replace checks in
//! every iteration.

use crate::affine::Affine;
use crate::arrays::Store;
use crate::loops::Iterations;
use crate::outside::Param;
use crate::recorded::{Access, InnerLoop, Region, Selected};
use crate::types::{Type, Val};
use crate::walk::{Source, Walk};
use numelt_func::Value;
use numelt_ir::DType;

/// Integers of a smaller magnitude are called *small*. Sums of a few of them with small factors do not overflow.
pub const SMALL: i64 = 1 << 40;
/// Moduli are likely to be greater: a condition that demands so much is taken for likely.
const USUAL: i64 = 4;
/// The largest factor of a term that counts as small.
const SMALL_FACTOR: u64 = 1 << 12;

impl Walk<'_> {
    /// Records that no iterations can run ahead, and why.
    pub fn fail_region(&mut self, why: &str) {
        if let Some(region) = &mut self.region {
            region.failed.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Records the limit of an iteration number.
    pub fn note_limit(&mut self, iterations: &Iterations<'_>, position: Value) {
        let limit = match (&iterations.source, &iterations.parts[..]) {
            (Source::Items(Type::Range), [start, stop, step]) => match self.e.known(*step).map(|step| step as i64) {
                Some(step) if step != 0 => {
                    let (start, stop) = (self.e.facts.sum(*start), self.e.facts.sum(*stop));
                    let span = if step > 0 { stop.plus(&start, -1) } else { start.plus(&stop, -1) };
                    span.and_then(|span| span.plus(&Affine::of(1), -1)).map(|most| (step.abs(), most))
                }
                _ => None,
            },
            _ => None,
        };
        let limit = limit.or_else(|| Some((1, self.e.facts.sum(iterations.count).plus(&Affine::of(1), -1)?)));
        if let Some((scale, most)) = limit {
            self.e.facts.set_limit(position, scale, most);
        }
    }

    /// Records a loop inside iterations ahead, whose code has `size` instructions.
    pub fn note_inner_loop(&mut self, iterations: &Iterations<'_>, size: usize) {
        let Some(region) = &self.region else { return };
        let count = match self.e.facts.extreme(iterations.count) {
            Some([span, _]) => self.e.facts.sum(span),
            None => self.e.facts.sum(iterations.count),
        };
        let is_regular = self.is_regular(&count, 0);
        let is_before = |sum: &&Affine| sum.terms.keys().all(|value| (value.0 as usize) < region.inside_from);
        let count = if is_before(&&count) {
            Some(count)
        } else {
            // an upper bound of the number of iterations
            let least = Affine::of(0).plus(&count, -1).map(|less| self.e.facts.least(&less)).unwrap_or_default();
            least.iter().find(is_before).and_then(|least| Affine::of(0).plus(least, -1))
        };
        let depth = region.depth;
        let region = self.region.as_mut().expect("seen above");
        region.inner_loops.push(InnerLoop { depth, size, count, is_regular });
    }

    /// Is an expression made of loop-invariant values and numbers of iterations alone, and not of other data?
    fn is_regular(&self, sum: &Affine, depth: usize) -> bool {
        let region = self.region.as_ref().expect("only called in iterations ahead");
        sum.terms.keys().all(|value| {
            let is_known = (value.0 as usize) < region.inside_from || *value == region.position;
            is_known
                || self.e.facts.limit(*value).is_some()
                || depth < 8
                    && self
                        .e
                        .facts
                        .extreme(*value)
                        .is_some_and(|of| of.iter().all(|one| self.is_regular(&self.e.facts.sum(*one), depth + 1)))
        })
    }

    /// Records that a view was made: of which array, and by which index along which axis.
    pub fn note_view(&mut self, of: &Val, address: Value, index: Option<(usize, Value)>) {
        if let Some(region) = &mut self.region {
            region.origins.insert(address, (of.clone(), index));
        }
    }

    /// The usual stride along the last axis of a loop-invariant array, as a constant in place of a value. LLVM can
    /// vectorize accesses with a constant stride.
    pub fn usual_stride(&mut self, array: &Val, axis: usize) -> Option<Value> {
        let Type::Array { dtype, ndim, .. } = array.ty else { return None };
        let stride = array.parts[2 + usize::from(ndim) + axis];
        let is_last = axis + 1 == usize::from(ndim);
        let region = self.region.as_mut()?;
        if !is_last || (stride.0 as usize) >= region.inside_from || self.e.known(stride).is_some() {
            return None;
        }
        let size = dtype.size() as i64;
        // the argument at hand has another stride, so later ones may have it, too
        if let Some(Param::Part { argument, part }) =
            self.e.param_number(stride).and_then(|number| self.params.get(number))
            && self.world.word(*argument, *part).is_some_and(|word| word != size)
        {
            return None;
        }
        region.strides.insert(stride, size);
        Some(self.e.int(size))
    }

    /// Records a load or a store of an element.
    pub fn note_access(&mut self, address: Value, dtype: DType, is_store: bool) {
        let Some(region) = &mut self.region else { return };
        let mut path = Vec::new();
        let (mut view, mut is_whole) = (None, true);
        let mut at = address;
        while let Some((of, index)) = region.origins.get(&at) {
            path.push(*index);
            is_whole &= index.is_some();
            view = Some(of.clone());
            at = of.parts[1];
        }
        let view = view.unwrap_or_else(|| {
            let ty = Type::Array { dtype, ndim: 0, writeable: true, foreign: false };
            Val::new(ty, vec![address, address])
        });
        if view.parts.iter().any(|part| (part.0 as usize) >= region.inside_from) {
            self.fail_region("it uses arrays that do not exist before the loop");
            return;
        }
        let known = region.arrays.iter().position(|array| array.parts[1] == view.parts[1]);
        let array = known.unwrap_or_else(|| {
            region.arrays.push(view.clone());
            region.arrays.len() - 1
        });
        if region.arrays[array].parts[2..] != view.parts[2..] {
            self.fail_region("it uses an array in two shapes");
            return;
        }
        let mut indices = Vec::new();
        if is_whole && let Type::Array { ndim, .. } = view.ty {
            let mut axes: Vec<usize> = (0..usize::from(ndim)).collect();
            for (axis, index) in path.into_iter().rev().flatten() {
                let index = self.e.facts.sum(index);
                let bounds = if is_store { self.bounds(&index) } else { [None, None] };
                indices.push(Selected { axis: axes.remove(axis), index, bounds });
            }
        }
        let region = self.region.as_mut().expect("seen above");
        region.accesses.push(Access { array, indices, is_store });
    }

    /// Bounds of an index: expressions of the iteration and of loop-invariant values that cannot overflow.
    fn bounds(&mut self, index: &Affine) -> [Option<Affine>; 2] {
        let Some(Region { position, inside_from, .. }) = self.region else { return [None, None] };
        [1, -1].map(|sign| {
            let signed = Affine::of(0).plus(index, sign)?;
            let is_known = |value: &Value| *value == position || (value.0 as usize) < inside_from;
            let mut ways = self.e.facts.least_but(&signed, Some(position));
            ways.retain(|way| way.terms.keys().all(is_known));
            // a bound that changes from iteration to iteration is likely to be closer
            ways.sort_by_key(|way| !way.terms.contains_key(&position));
            let way = ways.into_iter().next().filter(|way| self.is_small(way))?;
            Affine::of(0).plus(&way, sign)
        })
    }

    /// Records that one of NumPy's loops reads all elements of an array.
    pub fn note_read(&mut self, array: &Val) {
        self.region.iter_mut().for_each(|region| region.is_open = true);
        let (Type::Array { dtype, .. }, Some(region)) = (&array.ty, &mut self.region) else { return };
        if region.origins.contains_key(&array.parts[1]) {
            return self.note_access(array.parts[1], *dtype, false);
        }
        if array.parts.iter().any(|part| (part.0 as usize) >= region.inside_from) {
            return self.fail_region("it uses arrays that do not exist before the loop");
        }
        let known = region.arrays.iter().position(|other| other.parts[1] == array.parts[1]);
        let number = known.unwrap_or(region.arrays.len());
        if known.is_none() {
            region.arrays.push(array.clone());
        } else if region.arrays[number].parts[2..] != array.parts[2..] {
            return self.fail_region("it uses an array in two shapes");
        }
        region.accesses.push(Access { array: number, indices: Vec::new(), is_store: false });
    }

    /// Records a store.
    pub fn note_store(&mut self, store: &Store) {
        match store {
            Store::Element(address, value) => {
                let Type::Scalar(dtype) = value.ty else {
                    return self.fail_region("it writes values that are not numbers");
                };
                self.note_access(*address, dtype, true);
            }
            Store::Slice(_) => self.fail_region("it writes to slices"),
        }
    }

    /// Is an affine expression small, so that computing it cannot overflow?
    pub fn is_small(&mut self, sum: &Affine) -> bool {
        let mut needed = Vec::new();
        let is_small = self.region.is_some() && self.small_terms(sum, &mut needed, 0);
        if is_small && let Some(region) = &mut self.region {
            region.small.extend(needed);
        }
        is_small
    }

    fn small_terms(&self, sum: &Affine, needed: &mut Vec<Value>, depth: usize) -> bool {
        let region = self.region.as_ref().expect("only called in iterations ahead");
        depth < 8
            && sum.constant.abs() < SMALL
            && sum.terms.iter().all(|(value, factor)| {
                let is_outside = (value.0 as usize) < region.inside_from;
                let is_position = *value == region.position;
                if factor.unsigned_abs() > SMALL_FACTOR {
                    return false;
                }
                if let Some(most) = self.e.facts.limit(*value) {
                    return self.small_terms(&most.clone(), needed, depth + 1);
                }
                if let Some(of) = self.e.facts.extreme(*value) {
                    return of.iter().all(|one| self.small_terms(&self.e.facts.sum(*one), needed, depth + 1));
                }
                if is_outside && !is_position {
                    needed.push(*value);
                }
                is_outside && !is_position
            })
    }

    /// Is a sum never negative? It may be a condition for iterations ahead that it is not.
    fn is_never_negative(&mut self, sum: &Affine) -> bool {
        let Some(ways) = self.never_negative_if(sum) else { return false };
        self.add_condition(ways);
        true
    }

    /// Is a sum never negative, without any condition?
    pub fn is_natural_sum(&mut self, sum: &Affine) -> bool {
        self.never_negative_if(sum).is_some_and(|ways| ways.is_empty())
    }

    fn add_condition(&mut self, ways: Vec<Affine>) {
        if let Some(region) = self.region.as_mut().filter(|_| !ways.is_empty()) {
            region.conditions.insert(ways);
        }
    }

    /// Loop-invariant sums. If one of them is not negative, the given sum never is. The list is empty if that holds in
    /// any case; `None` means that it is not known.
    fn never_negative_if(&mut self, sum: &Affine) -> Option<Vec<Affine>> {
        if !self.is_small(sum) {
            return None;
        }
        let ways = self.e.facts.least(sum);
        let is_sure = |way: &Affine| {
            way.constant >= 0 && way.terms.iter().all(|(value, factor)| *factor > 0 && self.e.is_natural(*value))
        };
        if ways.iter().any(is_sure) {
            return Some(Vec::new());
        }
        let region = self.region.as_ref()?;
        let is_before = |way: &Affine| way.terms.keys().all(|value| (value.0 as usize) < region.inside_from);
        let ways = ways.into_iter().filter(|way| !way.terms.is_empty() && is_before(way)).collect::<Vec<_>>();
        // One of them suffices: an index below `min(a, b)` is inside `n` if `a <= n` or if `b <= n`.
        let ways: Vec<Affine> = ways.into_iter().filter(|way| self.is_small(way)).collect();
        (!ways.is_empty()).then_some(ways)
    }

    /// Does `number % modulus` add or subtract the modulus at most once, whenever it is used in iterations ahead? If it
    /// does, the result says whether the number may be negative, and whether it may reach the modulus.
    pub fn wraps_once(&mut self, number: Value, modulus: Value) -> Option<(bool, bool)> {
        self.region.as_ref()?;
        let (number, modulus) = (self.e.facts.sum(number), self.e.facts.sum(modulus));
        let room = modulus.plus(&number, -1)?.plus(&Affine::of(1), -1)?;
        let is_sure = |ways: &Option<Vec<Affine>>| ways.as_ref().is_some_and(Vec::is_empty);
        let (low, high) = (self.never_negative_if(&number), self.never_negative_if(&room));
        let is_negative = !is_sure(&low);
        let is_beyond = !is_sure(&high);
        let mut conditions = Vec::new();
        if is_negative {
            conditions.push(self.never_negative_if(&number.plus(&modulus, 1)?)?);
        }
        if is_beyond {
            conditions.push(self.never_negative_if(&room.plus(&modulus, 1)?)?);
        }
        // A condition that fails costs all iterations ahead. One that only demands that the modulus is not tiny will
        // hold.
        let is_likely = |way: &Affine| {
            way.constant > -USUAL && matches!(way.terms.values().collect::<Vec<_>>()[..], [factor] if *factor > 0)
        };
        if !conditions.iter().all(|ways| ways.is_empty() || ways.iter().any(is_likely)) {
            return None;
        }
        conditions.into_iter().for_each(|ways| self.add_condition(ways));
        Some((is_negative, is_beyond))
    }

    /// Is a number greater than zero whenever it is used in iterations ahead?
    pub fn is_positive(&mut self, number: Value) -> bool {
        let less = self.e.facts.sum(number).plus(&Affine::of(1), -1);
        self.region.is_some() && less.is_some_and(|less| self.is_never_negative(&less))
    }

    /// Is a number of iterations at most this whenever it is used in iterations ahead?
    pub fn is_at_most(&mut self, count: Value, most: i64) -> bool {
        // it is `max(0, span)` as a rule
        let parts = self.e.facts.extreme(count).map_or(vec![count], Vec::from);
        parts.into_iter().all(|part| {
            let room = Affine::of(most).plus(&self.e.facts.sum(part), -1);
            room.is_some_and(|room| self.is_never_negative(&room))
        })
    }

    /// Is an index inside of an extent whenever it is used in iterations ahead?
    pub fn is_inside(&mut self, index: Value, extent: Value) -> bool {
        if self.region.is_none() {
            return false;
        }
        let index = self.e.facts.sum(index);
        let room = self.e.facts.sum(extent).plus(&index, -1).and_then(|room| room.plus(&Affine::of(1), -1));
        let Some(room) = room else { return false };
        self.is_never_negative(&index) && self.is_never_negative(&room)
    }
}
