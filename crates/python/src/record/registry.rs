//! The registry: bases whose address code outside the runtime may know (exported, pinned and shared ones), by
//! address.
//!
//! In: a base, or a range of addresses. Out: the base that these addresses lie in. A NumPy array may look into a base
//! in a way that leaves no trace in its `.base` chain (the array interface, a bare pointer, DLPack); [`find`] finds
//! the base nevertheless. Two bases can still share memory, if neither has all of it or if they have different
//! owners. Both are then visible, so every instruction runs alone, and [`apart`] copies inputs that the instruction
//! would overwrite.

use numelt_runtime::{ArrayView, BaseRef, WeakBase};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

static KNOWN: Mutex<RegisteredBases> =
    Mutex::new(RegisteredBases { recent: Vec::new(), places: BTreeMap::new(), prune_at: 256 });

/// Whether there have ever been two bases that share memory.
static TANGLED: AtomicBool = AtomicBool::new(false);

struct RegisteredBases {
    /// Bases that have not been sorted into `places` yet. Most are never looked for.
    recent: Vec<WeakBase>,
    /// The other bases by their first address. No living one lies inside another. A base that has moved to a device
    /// and back may have other memory than when it was inserted; such an entry is as good as dead.
    places: BTreeMap<usize, RegisteredBase>,
    prune_at: usize,
}

struct RegisteredBase {
    end: usize,
    base: WeakBase,
    /// The address of the NumPy array that owns the memory and that the base keeps alive.
    root: Option<usize>,
}

fn known() -> MutexGuard<'static, RegisteredBases> {
    KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Registers a base that has an address, for as long as it lives.
pub fn enter(base: &BaseRef) {
    if base.nbytes() == 0 || base.mark_known() {
        return;
    }
    let mut known = known();
    known.recent.push(base.downgrade());
    if known.recent.len() >= known.prune_at {
        known.prune();
    }
}

/// Registers a base of adopted memory; `root` is the address of the array that owns the memory, if there is one.
pub fn enter_adopted(base: &BaseRef, root: Option<usize>) {
    base.mark_known();
    let mut known = known();
    known.sort();
    if known.insert(base, root) {
        TANGLED.store(true, Ordering::Relaxed);
    }
}

/// The living base that contains this range of addresses, and its first address. With a `root` as in
/// [`enter_adopted`], only a base that keeps this very array alive is found: any other base would keep another owner
/// alive, and this memory could be freed.
pub fn find(range: &Range<usize>, root: Option<usize>) -> Option<(BaseRef, usize)> {
    let mut known = known();
    known.sort();
    let (start, place) = known.last_living(range.start)?;
    let base = place.base.upgrade()?;
    let fits = range.end <= place.end && (root.is_none() || root == place.root);
    fits.then_some((base, start))
}

impl RegisteredBases {
    /// Moves the recent bases into `places`.
    fn sort(&mut self) {
        for weak in std::mem::take(&mut self.recent) {
            if let Some(base) = weak.upgrade() {
                self.insert(&base, None);
            }
        }
        if self.places.len() >= self.prune_at {
            self.prune();
        }
    }

    /// Inserts a base and removes those that lie inside it. Returns whether another living base shares memory with
    /// it.
    fn insert(&mut self, base: &BaseRef, root: Option<usize>) -> bool {
        let Some(start) = base.place() else { return false };
        let end = start + base.nbytes();
        let mut shares = self.last_living(start).is_some_and(|(_, place)| place.end > start);
        let inside: SmallVec<[usize; 8]> = self.places.range(start..end).map(|(&at, _)| at).collect();
        let mut hidden = false;
        for at in inside {
            let place = &self.places[&at];
            let is_living = place.base.is_still_at(at);
            shares |= is_living;
            if is_living && place.end > end {
                hidden |= at == start;
            } else {
                self.places.remove(&at);
            }
        }
        if !hidden {
            self.places.insert(start, RegisteredBase { end, base: base.downgrade(), root });
        }
        shares
    }

    /// The last living base that starts at or before an address; dead ones found on the way are removed.
    fn last_living(&mut self, address: usize) -> Option<(usize, &RegisteredBase)> {
        let start = loop {
            let (&at, place) = self.places.range(..=address).next_back()?;
            if place.base.is_still_at(at) {
                break at;
            }
            self.places.remove(&at);
        };
        self.places.get(&start).map(|place| (start, place))
    }

    fn prune(&mut self) {
        self.recent.retain(WeakBase::is_alive);
        self.places.retain(|&at, place| place.base.is_still_at(at));
        self.prune_at = (2 * self.recent.len().max(self.places.len())).max(256);
    }
}

/// A device: DLPack's number of its kind, and its own number.
pub type Device = (i32, i32);

/// A base whose memory on a device others use.
struct OnDevice {
    device: Device,
    start: u64,
    end: u64,
    base: WeakBase,
}

impl OnDevice {
    fn of(base: &BaseRef, device: Device) -> Option<OnDevice> {
        let start = base.device_place()?;
        Some(OnDevice { device, start, end: start + base.nbytes() as u64, base: base.downgrade() })
    }

    /// The base, if others still use that memory.
    fn living(&self) -> Option<BaseRef> {
        self.base.upgrade().filter(|base| base.device_place() == Some(self.start))
    }
}

static ON_DEVICES: Mutex<Vec<OnDevice>> = Mutex::new(Vec::new());

fn on_devices() -> MutexGuard<'static, Vec<OnDevice>> {
    ON_DEVICES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Registers a base whose memory on a device others use.
pub fn enter_on_device(base: &BaseRef, device: Device) {
    let Some(new) = OnDevice::of(base, device) else { return };
    let mut known = on_devices();
    known.retain(|one| one.base.is_alive());
    let living = |one: &OnDevice| one.living().filter(|other| one.device == device && !other.ptr_eq(base));
    if known.iter().any(|one| living(one).is_some() && one.start < new.end && new.start < one.end) {
        TANGLED.store(true, Ordering::Relaxed);
    }
    if !known.iter().any(|one| one.living().is_some_and(|other| other.ptr_eq(base))) {
        known.push(new);
    }
}

/// The living base that has this memory of a device, and where its memory begins there. If the memory of the device is
/// objects without addresses, `whole` finds the base that has this object.
pub fn find_on_device(range: &Range<u64>, device: Device, whole: bool) -> Option<(BaseRef, u64)> {
    let fits = |one: &&OnDevice| match whole {
        true => one.start == range.start && range.end <= one.end,
        false => one.start <= range.start && range.end <= one.end,
    };
    let known = on_devices();
    let mut found = known.iter().filter(|one| one.device == device).filter(fits);
    found.find_map(|one| one.living().map(|base| (base, one.start)))
}

/// Whether two bases may share memory.
#[inline]
pub fn is_tangled() -> bool {
    TANGLED.load(Ordering::Relaxed)
}

/// Whether two views share memory by different bases.
pub fn share(one: &ArrayView, other: &ArrayView) -> bool {
    !one.base.ptr_eq(&other.base) && memory(one).is_some_and(|range| overlaps(&range, other))
}

fn overlaps(range: &Range<usize>, out: &ArrayView) -> bool {
    memory(out).is_some_and(|other| range.start < other.end && other.start < range.end)
}

/// The addresses from the first to the last byte of a view, if it has memory and elements. Memory of devices has
/// addresses that memory of the host does not have; if some are equal nevertheless, copies are made in vain.
fn memory(view: &ArrayView) -> Option<Range<usize>> {
    let there = view.base.device_place().map(|start| start as usize);
    let base = there.or_else(|| view.base.place())? as i64 + view.offset;
    let (low, high) = numelt::rules::shape::byte_range(&view.shape, &view.strides, view.dtype.size() as i64)?;
    Some((base + low) as usize..(base + high) as usize)
}
