//! How long the stores of a kernel must wait if the kernel overwrites what it reads. The answer is a [`Delay`]; there
//! is none if the loads and the store do not traverse memory in the same way, or if the distances are so long that most
//! results would wait at the same time.
//!
//! Load and store have the same strides. So an element that is stored at index `q` is loaded at index `p` only if `q -
//! p` is one of a few vectors: those whose distance in memory equals the distance of the two views. With nested strides
//! there are at most two candidates per loop. Counted in points, `q - p` is the same number everywhere. A rolled load
//! has two candidates for each loop that wraps.

use crate::overlap::overlaps;
use crate::{ArgGeometry, ArgKind, Delay, DelayLimits, KernelStep};
use numelt_ir::View;
use smallvec::SmallVec;

/// The delay of the one store whose elements other points load.
pub(super) fn of(step: &KernelStep, limits: &DelayLimits) -> Option<Delay> {
    let kernel = &*step.kernel;
    // the driver counts points only if the runs are whole
    if !kernel.reductions.is_empty() && kernel.reduced.contains(&false) {
        return None;
    }
    let mut found: Option<Delay> = None;
    for store in &kernel.stores {
        let Some(Reach { behind, ahead, cyclic }) = reach(step, store.arg as usize)? else { continue };
        let delay = Delay { arg: store.arg, behind: behind as u64, ahead: ahead as u64, cyclic };
        let points = step.geometry.extents.iter().product::<i64>();
        if found.replace(delay).is_some() || (points > limits.few_points && (behind + ahead) * limits.times > points) {
            return None;
        }
    }
    found
}

/// The largest distances, in points, at which an element is loaded before and after the point that stores it.
struct Reach {
    behind: i64,
    ahead: i64,
    cyclic: bool,
}

/// The distances at which a stored element is loaded: `Some(None)` if no other point loads it, `None` if they are
/// unknown.
fn reach(step: &KernelStep, store: usize) -> Option<Option<Reach>> {
    let (kernel, geometry) = (&*step.kernel, &step.geometry);
    let dtype = kernel.args[store].dtype;
    let own = &geometry.args[store];
    let mut distances = Distances::new(&geometry.extents, &own.strides, dtype.size() as i64);
    let mut cyclic = false;
    for (at, arg) in kernel.args.iter().enumerate() {
        if at == store || arg.kind == ArgKind::Index || step.bases[at] != step.bases[store] {
            continue;
        }
        let load = &geometry.args[at];
        let alike = arg.kind == ArgKind::Load && arg.dtype.size() == dtype.size() && load.strides == own.strides;
        if !load.wraps.is_empty() {
            let (low, high) = if alike { rolled(&geometry.extents, own, load)? } else { return None };
            distances.low = distances.low.min(low);
            distances.high = distances.high.max(high);
            cyclic |= load.wrap(0) != 0;
        } else if !alike {
            let view = |at: usize| View {
                base: 0,
                dtype: kernel.args[at].dtype,
                offset: geometry.args[at].offset,
                shape: geometry.extents.clone(),
                strides: geometry.args[at].strides.clone(),
            };
            if arg.kind == ArgKind::Gather || overlaps(&view(at), &view(store)) {
                return None;
            }
        } else if load.offset != own.offset {
            distances.find(load.offset - own.offset)?;
        }
    }
    let (low, high) = (distances.low, distances.high);
    Some((low <= high).then_some(Reach { behind: (-low).max(0), ahead: high.max(0), cyclic }))
}

/// The lowest and highest distance in points from the point that loads an element to the one that stores it, if the
/// load is a roll of the stored array. Along the outermost loop, the shorter way around counts. `None` if the load is
/// of other elements.
fn rolled(extents: &[i64], own: &ArgGeometry, load: &ArgGeometry) -> Option<(i64, i64)> {
    let (mut low, mut high, mut points, mut offset) = (0, 0, 1, own.offset);
    for axis in (0..extents.len()).rev() {
        let (n, wrap) = (extents[axis], load.wrap(axis));
        if wrap != 0 {
            let (back, on) = (-wrap * points, (n - wrap) * points);
            let [first, last] = if axis > 0 { [back, on] } else { [if wrap * 2 <= n { back } else { on }; 2] };
            (low, high) = (low + first, high + last);
            offset += (n - wrap) * own.strides[axis];
        }
        points *= n;
    }
    (offset == load.offset).then_some((low, high))
}

/// The distances in points between the points that load and store one element.
struct Distances {
    /// The loops by descending strides: stride, extent, and points per step.
    loops: SmallVec<[(i64, i64, i64); 4]>,
    /// Bytes of an element.
    size: i64,
    /// Whether each loop's stride is larger than the range of the loops inside it.
    nested: bool,
    low: i64,
    high: i64,
}

impl Distances {
    fn new(extents: &[i64], strides: &[i64], size: i64) -> Distances {
        let mut points = 1;
        let mut loops: SmallVec<[(i64, i64, i64); 4]> = SmallVec::new();
        for (&extent, &stride) in extents.iter().zip(strides).rev() {
            if extent > 1 {
                loops.push((stride, extent, points));
            }
            points *= extent;
        }
        loops.sort_by_key(|l| std::cmp::Reverse(l.0.abs()));
        let (mut reach, mut nested) = (size, true);
        for &(stride, extent, _) in loops.iter().rev() {
            nested &= stride.abs() >= reach;
            reach += stride.abs() * (extent - 1);
        }
        Distances { loops, size, nested, low: i64::MAX, high: i64::MIN }
    }

    /// Adds the distances between points that touch one element through views that are `bytes` apart. `None` if
    /// elements overlap in part, or strides are not nested.
    fn find(&mut self, bytes: i64) -> Option<()> {
        if self.nested { self.search(0, bytes, 0) } else { None }
    }

    fn search(&mut self, at: usize, bytes: i64, points: i64) -> Option<()> {
        let Some(&(stride, extent, step)) = self.loops.get(at) else {
            if bytes == 0 {
                self.low = self.low.min(points);
                self.high = self.high.max(points);
            }
            return (bytes == 0 || bytes.abs() >= self.size).then_some(());
        };
        let below = bytes.div_euclid(stride);
        // the range of the loops inside is less than a stride
        for steps in [below, below + stride.signum()] {
            if steps.abs() < extent {
                self.search(at + 1, bytes - steps * stride, points + steps * step)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All distances, by comparing all pairs of points.
    fn brute(extents: &[i64], strides: &[i64], size: i64, bytes: i64) -> (BTreeSet<i64>, bool) {
        let mut places = vec![0];
        for (n, s) in extents.iter().zip(strides) {
            places = places.iter().flat_map(|p| (0..*n).map(move |i| p + i * s)).collect();
        }
        let (mut found, mut partly) = (BTreeSet::new(), false);
        for (p, load) in places.iter().enumerate() {
            for (q, store) in places.iter().enumerate() {
                let apart = load + bytes - store;
                partly |= apart != 0 && apart.abs() < size;
                if apart == 0 {
                    found.insert(q as i64 - p as i64);
                }
            }
        }
        (found, partly)
    }

    #[test]
    fn agrees_with_brute_force() {
        let shapes: [(&[i64], &[i64]); 7] = [
            (&[9], &[8]),
            (&[9], &[-24]),
            (&[4, 5], &[56, 8]),
            (&[4, 5], &[-40, 8]),
            (&[5, 4], &[8, 48]),
            (&[3, 2, 4], &[112, 48, 8]),
            (&[3, 1, 4], &[-64, 7, -16]),
        ];
        for (extents, strides) in shapes {
            for bytes in (-130..=130).filter(|b| b % 4 == 0) {
                let mut distances = Distances::new(extents, strides, 8);
                assert!(distances.nested, "{strides:?}");
                let known = distances.find(bytes);
                let (found, partly) = brute(extents, strides, 8, bytes);
                let case = format!("{extents:?} {strides:?} {bytes}: {found:?}");
                if partly {
                    assert!(known.is_none(), "{case}");
                } else if known.is_some() {
                    let range = (!found.is_empty()).then(|| (*found.first().unwrap(), *found.last().unwrap()));
                    let got = (distances.low <= distances.high).then_some((distances.low, distances.high));
                    assert_eq!(got, range, "{case}");
                }
            }
        }
    }

    #[test]
    fn interleaved_loops_are_refused() {
        assert!(Distances::new(&[3, 9], &[40, 8], 8).find(8).is_none());
        assert!(Distances::new(&[3, 3], &[0, 8], 8).find(8).is_none());
    }
}
