//! Loops in iterations ahead of which no iteration uses an element that another one writes: LLVM can then vectorize them,
//! although it sees only addresses, and cannot tell that `a[i, j]` and `a[j, i]` are different elements for `i < j`.
//!
//! In: the recorded accesses of an innermost loop. Out: its place in [`Region::independent`].
//!
//! LLVM may also change the order of accesses within an iteration. So two accesses of which one is a store must never
//! meet, in no iteration, unless the first one is a load of the element that the second one stores.

use crate::affine::Affine;
use crate::loops::is_innermost;
use crate::recorded::Region;
use crate::tree::Stmt;
use crate::walk::Walk;
use numelt_func::Value;

/// Loops with more accesses are not looked at: each store is compared with each other access.
const MOST: usize = 24;

/// An access: which array, the indices along axes, and whether it is a store.
type Indexed = (usize, Vec<(usize, Affine)>, bool);

impl Walk<'_> {
    /// Records that the iterations of a loop are independent, if they are and the loop contains no others. `position`
    /// is the number of the iteration; values from number `from` on and accesses from number `first` on are those of the
    /// loop.
    pub fn note_independent(&mut self, body: &[Stmt], position: Value, from: usize, first: usize) {
        let Some(Region { accesses, .. }) = &self.region else { return };
        let own = accesses.get(first..).unwrap_or_default();
        if !is_innermost(body) || own.len() > MOST || !own.iter().any(|access| access.is_store) {
            return;
        }
        let own: Vec<Indexed> = own
            .iter()
            .map(|access| {
                let indices = access.indices.iter().map(|selected| (selected.axis, selected.index.clone()));
                (access.array, indices.collect(), access.is_store)
            })
            .collect();
        let is_independent = (0..own.len()).filter(|store| own[*store].2).all(|store| {
            (0..own.len()).all(|other| {
                let is_repeated = !own[other].2 && other < store || other == store;
                own[other].0 != own[store].0
                    || is_repeated && own[other].1 == own[store].1 && moves(&own[store], position, from)
                    || other != store && self.are_apart(&own[store], &own[other], position, from)
            })
        });
        if is_independent && let Some(region) = &mut self.region {
            region.independent.insert(position);
        }
    }

    /// Do two accesses never use the same element, whatever iterations of the loop they belong to?
    fn are_apart(&mut self, a: &Indexed, b: &Indexed, position: Value, from: usize) -> bool {
        let is_plain = |index: &Affine| index.terms.keys().all(|value| (value.0 as usize) < from || *value == position);
        a.1.iter().any(|(axis, index)| {
            let Some((_, other)) = b.1.iter().find(|(other, _)| other == axis) else { return false };
            // the iterations may be different ones
            let is_one = !(index.terms.contains_key(&position) && other.terms.contains_key(&position));
            if !is_one || !is_plain(index) || !is_plain(other) {
                return false;
            }
            [(index, other), (other, index)].into_iter().any(|(less, greater)| {
                let room = greater.plus(less, -1).and_then(|room| room.plus(&Affine::of(1), -1));
                room.is_some_and(|room| self.is_natural_sum(&room))
            })
        })
    }
}

/// Does an access use another element in each iteration?
fn moves((_, indices, _): &Indexed, position: Value, from: usize) -> bool {
    indices.iter().any(|(_, index)| {
        index.terms.contains_key(&position)
            && index.terms.keys().all(|value| (value.0 as usize) < from || *value == position)
    })
}
