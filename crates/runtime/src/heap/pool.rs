//! The memory pool: 64-byte aligned buffers, reused by size class, huge pages for large ones.
//!
//! Fresh pages take 55 to 340 ms/GB, a reused buffer nothing. So freed buffers are kept, up to a cap, and handed out
//! again; below two MiB also if only half of one is needed. A fresh buffer takes the place of kept ones of other sizes,
//! so that all memory together stays near the most that was in use at a time. Buffers of two MiB and more are mapped on
//! their own, aligned for huge pages; smaller ones come from the global allocator.
//!
//! A kept buffer is returned to the system when it has not been used for a while ([`Pool::tick`], which the thread of
//! `idle` calls), and at once if little memory is left.
//!
//! Memory that has just been mapped is zero without being written; [`Pool::alloc_zeroed`] says whether a buffer is.

use super::idle;
use crate::footprint;
use numelt_ir::{Error, Result};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

const ALIGN: usize = 64;
/// Buffers of at least this size are mapped on their own.
pub(crate) const HUGE: usize = 2 << 20;
/// A fresh buffer of at least this size displaces kept ones, and is returned to the system as soon as it is freed.
const NOTABLE: usize = 32 << 10;
/// A kept buffer below two MiB also serves for sizes down to this many classes below its own, that is, for at least
/// half its size.
const LARGER: usize = 4;
/// The bytes that may be kept beside the most that was in use at a time: many small buffers of different classes are
/// not worth returning.
const SLACK: usize = 512 << 10;
/// The same limit if much memory is in use.
const MOST_SLACK: usize = 8 << 20;
/// More is kept after buffers have been displaced for this many times the most that was in use. Otherwise sizes that
/// are used in turn, and never at the same time, would each be fresh every time.
const CHURN: usize = 16;

/// A kept buffer of at least this size is zeroed by returning its pages, because so large an array of zeros is likely
/// to stay mostly zero. A smaller one is zeroed by the caller: if all of it is written, that takes a quarter of the
/// time of new pages (35 against 140 ms for 128 MiB).
const ANEW: usize = 1 << 30;
/// If at least this many bytes are kept, they are returned after some time.
const WORTH: usize = 1 << 20;
/// A buffer is returned after this many ticks without use.
const UNUSED: u32 = 8;
/// Kept buffers take at most one part in this many of the memory that could be had if none were kept.
const PART: usize = 4;

/// Byte counts of a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes handed out and not yet freed.
    pub live: usize,
    /// Bytes kept for reuse.
    pub cached: usize,
    /// Largest `live` so far.
    pub peak: usize,
    /// Buffers that had to come from the system.
    pub fresh_buffers: u64,
    /// Buffers served from the cache.
    pub reused_buffers: u64,
    /// Bytes that were returned to the system because they had not been used for a while.
    pub unused_bytes: usize,
}

/// A free buffer of two MiB or more.
#[derive(Clone, Copy)]
struct Large {
    address: usize,
    /// The bytes of memory that it takes.
    taken: usize,
    /// The tick in which it was freed.
    tick: u32,
}

/// Free buffers of a class below two MiB.
struct Small {
    /// The most recently used one is last, because it is still in the cache.
    addresses: Vec<usize>,
    /// The smallest number of free buffers since the last look at them: this many, from the front, have not been used
    /// since.
    unused: usize,
}

struct Shelves {
    /// The free buffers below two MiB, by class.
    small: [Small; CLASSES],
    /// The larger free buffers by capacity, the oldest first. No list is empty.
    free: BTreeMap<usize, Vec<Large>>,
    /// Buffers in use that serve as smaller ones, with their own capacities.
    oversized: BTreeMap<usize, usize>,
    /// Bytes that were returned to displace kept buffers.
    churn: usize,
    stats: PoolStats,
    limit: Option<usize>,
    cache_cap: usize,
    /// How often `tick` has been called.
    clock: u32,
    /// Whether somebody calls `tick`.
    is_watched: bool,
}

/// A pool of buffers; addresses in, addresses out.
pub struct Pool {
    shelves: Mutex<Shelves>,
    /// Called when there are buffers to return some time: starts calling [`Pool::tick`] repeatedly.
    watch: Option<Watch>,
}

/// Makes somebody call [`Pool::tick`] repeatedly.
type Watch = Box<dyn Fn() + Send + Sync>;

impl Pool {
    /// An empty pool that keeps at most `cache_cap` bytes of free buffers.
    pub const fn new(cache_cap: usize) -> Pool {
        let shelves = Shelves {
            small: [const { Small { addresses: Vec::new(), unused: 0 } }; CLASSES],
            free: BTreeMap::new(),
            oversized: BTreeMap::new(),
            churn: 0,
            stats: PoolStats { live: 0, cached: 0, peak: 0, fresh_buffers: 0, reused_buffers: 0, unused_bytes: 0 },
            limit: None,
            cache_cap,
            clock: 0,
            is_watched: false,
        };
        Pool { shelves: Mutex::new(shelves), watch: None }
    }

    /// An empty pool whose unused buffers are returned: `watch` makes somebody call [`Pool::tick`].
    pub(crate) fn watched(cache_cap: usize, watch: impl Fn() + Send + Sync + 'static) -> Pool {
        Pool { watch: Some(Box::new(watch)), ..Pool::new(cache_cap) }
    }

    /// Sets the limit on bytes in use (`None`: the machine's memory) and on bytes kept.
    pub fn configure(&self, limit: Option<usize>, cache_cap: usize) {
        let mut shelves = self.lock();
        shelves.limit = limit;
        shelves.cache_cap = cache_cap;
        shelves.trim(cache_cap);
    }

    /// A buffer of at least `nbytes`, 64-byte aligned, contents undefined.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] above the limit, or if the system has no more.
    pub fn alloc(&self, nbytes: usize) -> Result<*mut u8> {
        self.fresh_or_kept(nbytes).map(|(address, _)| address)
    }

    /// Like [`Pool::alloc`], and whether the buffer is all zero, in pages that nobody has written. Below two MiB it
    /// never is.
    ///
    /// # Errors
    /// Those of [`Pool::alloc`].
    pub fn alloc_zeroed(&self, nbytes: usize) -> Result<(*mut u8, bool)> {
        let (address, is_fresh) = self.fresh_or_kept(nbytes)?;
        if nbytes < HUGE || is_fresh {
            return Ok((address, nbytes >= HUGE));
        }
        let is_anew = nbytes >= ANEW && clear(address, nbytes.next_multiple_of(HUGE));
        Ok((address, is_anew))
    }

    /// A buffer, and whether it has just come from the system.
    fn fresh_or_kept(&self, nbytes: usize) -> Result<(*mut u8, bool)> {
        let capacity = capacity_of(nbytes).ok_or(Error::OutOfMemory(nbytes))?;
        let taken = taken(capacity, nbytes);
        let mut shelves = self.lock();
        if let Some((address, taken)) = shelves.take(capacity, taken) {
            shelves.note_live(taken);
            return Ok((address as *mut u8, false));
        }
        if capacity >= HUGE {
            footprint::begin();
        }
        let live = shelves.stats.live + taken;
        if shelves.limit.is_some_and(|limit| live > limit) {
            return Err(Error::OutOfMemory(nbytes));
        }
        if let Some(limit) = shelves.limit {
            shelves.trim(limit - live);
        }
        if capacity >= NOTABLE {
            // Kept buffers of other sizes take memory too: all together must stay near the most that was in use.
            let (most, kept) = (shelves.stats.peak.max(live), shelves.stats.cached);
            let part = if shelves.churn > CHURN.saturating_mul(most) { 2 } else { 16 };
            shelves.trim(most + (most / part).clamp(SLACK, MOST_SLACK) - live);
            shelves.churn = shelves.churn.saturating_add(kept - shelves.stats.cached);
        }
        let address = match map(capacity, nbytes) {
            Some(address) => address,
            None => {
                shelves.trim(0);
                map(capacity, nbytes).ok_or(Error::OutOfMemory(nbytes))?
            }
        };
        shelves.stats.fresh_buffers += 1;
        shelves.note_live(taken);
        Ok((address as *mut u8, true))
    }

    /// Frees a buffer.
    ///
    /// # Safety
    /// `address` came from `alloc(nbytes)` of this pool with the same `nbytes`, is freed once,
    /// and nobody uses it any more.
    pub unsafe fn free(&self, address: *mut u8, nbytes: usize) {
        let capacity = capacity_of(nbytes).expect("was allocated with this size");
        let taken = taken(capacity, nbytes);
        let mut shelves = self.lock();
        let (capacity, taken) = match shelves.oversized.remove(&(address as usize)) {
            Some(own) => (own, own),
            None => (capacity, taken),
        };
        shelves.stats.live -= taken;
        shelves.stats.cached += taken;
        match class_of(capacity) {
            Some(class) => shelves.small[class].addresses.push(address as usize),
            None => {
                let large = Large { address: address as usize, taken, tick: shelves.clock };
                shelves.free.entry(capacity).or_default().push(large);
                if let Some(room) = idle::address_space() {
                    shelves.keep_part_of(room);
                }
            }
        }
        if shelves.stats.cached > shelves.cache_cap {
            let cap = shelves.cache_cap;
            shelves.trim(cap);
        }
        if shelves.stats.cached >= WORTH
            && !shelves.is_watched
            && let Some(watch) = &self.watch
        {
            shelves.is_watched = true;
            drop(shelves);
            watch();
        }
    }

    /// Notes that time has passed. Returns buffers to the system that have not been used for some ticks, and more if
    /// the system has only `room` bytes left. False if hardly anything is kept, so that nobody need call this until
    /// `watch` is called again.
    pub(crate) fn tick(&self, room: usize) -> bool {
        let mut shelves = self.lock();
        shelves.keep_part_of(room);
        let unused = shelves.unused();
        shelves.is_watched = shelves.stats.cached >= WORTH;
        let goes_on = shelves.is_watched;
        drop(shelves);
        // other threads need not wait for this
        let small = unused.iter().filter(|(_, capacity)| *capacity < HUGE).count();
        unused.into_iter().for_each(|(address, capacity)| unmap(address, capacity));
        if small > 0 {
            footprint::trim();
        }
        goes_on
    }

    /// Notes that nobody calls [`Pool::tick`], because the thread could not be started.
    pub(crate) fn watch_failed(&self) {
        self.lock().is_watched = false;
    }

    /// Returns free buffers to the system until at most `keep` bytes are kept.
    pub fn trim(&self, keep: usize) {
        self.lock().trim(keep);
    }

    /// The byte counts.
    pub fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    /// Excludes all other threads until the result is dropped (around a fork).
    pub(crate) fn hold(&self) -> PoolHeld<'_> {
        PoolHeld(self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Excludes all other threads from a pool.
pub(crate) struct PoolHeld<'a>(MutexGuard<'a, Shelves>);

impl PoolHeld<'_> {
    /// Forgets the thread that watches the pool. Called in a forked child, where it does not exist.
    pub fn forget_threads(&mut self) {
        self.0.is_watched = false;
    }
}

impl Shelves {
    fn note_live(&mut self, taken: usize) {
        self.stats.live += taken;
        self.stats.peak = self.stats.peak.max(self.stats.live);
    }

    /// Takes out a free buffer of this capacity, which is to take `wanted` bytes of memory; returns its address and
    /// the bytes that it takes now.
    fn take(&mut self, capacity: usize, wanted: usize) -> Option<(usize, usize)> {
        let (address, kept, taken) = match class_of(capacity) {
            Some(class) => {
                let last = if capacity < NOTABLE { class } else { (class + LARGER).min(CLASSES - 1) };
                let found = (class..=last).find(|&class| !self.small[class].addresses.is_empty())?;
                let shelf = &mut self.small[found];
                let (address, own) = (shelf.addresses.pop()?, capacity_in(found));
                shelf.unused = shelf.unused.min(shelf.addresses.len());
                if found != class {
                    self.oversized.insert(address, own);
                }
                (address, own, own)
            }
            None => {
                let size = *self.free.range(capacity..=2 * capacity).next()?.0;
                let list = self.free.get_mut(&size)?;
                let Large { address, taken, .. } = list.pop()?;
                if list.is_empty() {
                    self.free.remove(&size);
                }
                // A larger buffer serves as one of the requested capacity; its tail is returned.
                (if size == capacity { address } else { shrink(address, size, capacity) }, taken, wanted)
            }
        };
        self.stats.cached -= kept;
        self.stats.reused_buffers += 1;
        Some((address, taken))
    }

    fn trim(&mut self, keep: usize) {
        // the oldest buffers of the largest capacity are returned first
        while self.stats.cached > keep {
            let Some((&size, list)) = self.free.iter_mut().next_back() else { break };
            let Large { address, taken, .. } = list.remove(0);
            if list.is_empty() {
                self.free.remove(&size);
            }
            self.stats.cached -= taken;
            unmap(address, size);
        }
        for class in (0..CLASSES).rev() {
            let size = capacity_in(class);
            let shelf = &mut self.small[class];
            let excess = self.stats.cached.saturating_sub(keep).div_ceil(size).min(shelf.addresses.len());
            for address in shelf.addresses.drain(..excess) {
                unmap(address, size);
            }
            shelf.unused = shelf.unused.saturating_sub(excess);
            self.stats.cached -= excess * size;
        }
    }

    /// Keeps at most a part of the memory that could be had if nothing were kept; `room` is what could be had now.
    fn keep_part_of(&mut self, room: usize) {
        let keep = room.saturating_add(self.stats.cached) / PART;
        if self.stats.cached > keep {
            self.trim(keep);
        }
    }

    /// Takes out the buffers that have not been used for some ticks, with their capacities.
    fn unused(&mut self) -> Vec<(usize, usize)> {
        self.clock = self.clock.wrapping_add(1);
        let before = self.stats.cached;
        let (now, cached) = (self.clock, &mut self.stats.cached);
        let mut unused = Vec::new();
        self.free.retain(|&capacity, list| {
            list.retain(|large| {
                let is_unused = now.wrapping_sub(large.tick) >= UNUSED;
                if is_unused {
                    *cached -= large.taken;
                    unused.push((large.address, capacity));
                }
                !is_unused
            });
            !list.is_empty()
        });
        if now.is_multiple_of(UNUSED) {
            for (class, shelf) in self.small.iter_mut().enumerate() {
                let size = capacity_in(class);
                *cached -= shelf.unused * size;
                unused.extend(shelf.addresses.drain(..shelf.unused).map(|address| (address, size)));
                shelf.unused = shelf.addresses.len();
            }
        }
        self.stats.unused_bytes += before - self.stats.cached;
        unused
    }
}

/// The number of size classes of buffers below two MiB.
const CLASSES: usize = 16 + 4 * 11 - 1;

/// The class of a capacity; `None` from two MiB on.
fn class_of(capacity: usize) -> Option<usize> {
    if capacity >= HUGE {
        return None;
    }
    if capacity <= 1024 {
        return Some(capacity / ALIGN - 1);
    }
    let above = capacity.next_power_of_two();
    let power = above.trailing_zeros() as usize - 11;
    Some(16 + 4 * power + (capacity - above / 2) / (above / 8) - 1)
}

/// The capacity of a class.
fn capacity_in(class: usize) -> usize {
    if class < 16 {
        return (class + 1) * ALIGN;
    }
    let (power, step) = ((class - 16) / 4, (class - 16) % 4);
    (1024 << power) + (step + 1) * (256 << power)
}

/// Size class: multiples of 64 B up to 1 KiB, then four steps per power of two, then multiples of 2 MiB.
fn capacity_of(nbytes: usize) -> Option<usize> {
    if nbytes >= HUGE {
        return nbytes.checked_next_multiple_of(HUGE).filter(|&n| n <= isize::MAX as usize);
    }
    if nbytes <= 1024 {
        return Some(nbytes.max(1).next_multiple_of(ALIGN));
    }
    let step = (nbytes.next_power_of_two() / 8).max(ALIGN);
    Some(nbytes.next_multiple_of(step))
}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(capacity, ALIGN).expect("capacity is far below isize::MAX")
}

/// How many bytes of a mapped buffer are to lie on huge pages. Its last page is a huge page only if the unused rest
/// of that page is small beside the whole.
fn on_huge_pages(capacity: usize, nbytes: usize) -> usize {
    if capacity - nbytes <= capacity / 32 { capacity } else { nbytes / HUGE * HUGE }
}

/// The bytes of memory that a buffer takes: for a large one, the pages on which its contents lie.
fn taken(capacity: usize, nbytes: usize) -> usize {
    const PAGE: usize = 4096;
    if capacity < HUGE { capacity } else { on_huge_pages(capacity, nbytes).max(nbytes.next_multiple_of(PAGE)) }
}

/// Memory from the system for a buffer of which the first `nbytes` bytes are needed now.
#[cfg(unix)]
fn map(capacity: usize, nbytes: usize) -> Option<usize> {
    if capacity < HUGE {
        // SAFETY: the layout has a non-zero size.
        let address = unsafe { std::alloc::alloc(layout(capacity)) };
        return (!address.is_null()).then_some(address as usize);
    }
    let total = capacity.checked_add(HUGE)?;
    // Without MAP_NORESERVE, so that the system refuses what it can never give, instead of ending the process later.
    // SAFETY: an anonymous private mapping without a requested address touches no existing memory.
    let raw = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            total,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if raw == libc::MAP_FAILED {
        return None;
    }
    let raw = raw as usize;
    let start = raw.next_multiple_of(HUGE);
    // SAFETY: both ranges are the unaligned ends of the mapping made above, used by nobody.
    unsafe {
        if start > raw {
            libc::munmap(raw as *mut libc::c_void, start - raw);
        }
        let end = start + capacity;
        if raw + total > end {
            libc::munmap(end as *mut libc::c_void, raw + total - end);
        }
        #[cfg(target_os = "linux")]
        libc::madvise(start as *mut libc::c_void, on_huge_pages(capacity, nbytes), libc::MADV_HUGEPAGE);
    }
    Some(start)
}

#[cfg(unix)]
fn unmap(address: usize, capacity: usize) {
    // SAFETY: `address` came from `map(capacity)` and has been taken off the free list, so nobody reads its contents.
    unsafe {
        if capacity < HUGE {
            // The allocator may keep freed memory that lies between blocks in use, so its pages are released here.
            // Few buffers are returned, and getting such pages again takes as long as getting fresh ones.
            #[cfg(target_os = "linux")]
            if capacity >= NOTABLE {
                let page = footprint::page();
                let (start, end) = (address.next_multiple_of(page), (address + capacity) / page * page);
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED);
            }
            std::alloc::dealloc(address as *mut u8, layout(capacity));
        } else {
            libc::munmap(address as *mut libc::c_void, capacity);
        }
    }
}

/// Makes a mapped buffer zero by releasing its pages; false if that is impossible.
fn clear(address: *mut u8, capacity: usize) -> bool {
    // SAFETY: `address` came from `map` with this capacity, and nobody needs its contents any more.
    cfg!(target_os = "linux") && unsafe { libc::madvise(address.cast(), capacity, libc::MADV_DONTNEED) } == 0
}

/// Cuts a mapped buffer down to `capacity` (both are multiples of two MiB).
#[cfg(unix)]
fn shrink(address: usize, size: usize, capacity: usize) -> usize {
    unmap(address + capacity, size - capacity);
    address
}

#[cfg(test)]
mod tests;
