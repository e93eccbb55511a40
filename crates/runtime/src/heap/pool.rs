//! The memory pool: 64-byte aligned buffers, reused by size class, huge pages for large ones.
//!
//! Fresh pages cost 55 to 340 ms/GB, a reused buffer nothing: freed buffers are kept, up to a cap,
//! and handed out again, below two MiB also where only half of one is wanted. A buffer of some size that has to be fresh takes the place of kept ones of other sizes, so that
//! all memory together stays near the most that was in use at a time. Buffers of two MiB and more are mapped on their own, aligned for huge
//! pages; smaller ones come from the global allocator.
//!
//! What is kept goes back to the system when it has not been used for a while ([`Pool::tick`], which the thread of `idle`
//! calls), and at once where little memory is left.
//!
//! Memory that has just been mapped is zero without being touched: [`Pool::alloc_zeroed`] says whether a buffer is.

use super::idle;
use crate::footprint;
use numelt_ir::{Error, Result};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

const ALIGN: usize = 64;
/// Buffers from this size on are mapped on their own.
pub(crate) const HUGE: usize = 2 << 20;
/// Fresh buffers from this size on make room for themselves, and are the system's again as soon as they are given back.
const NOTABLE: usize = 32 << 10;
/// A kept buffer below two MiB serves for one so many classes below its own: at least half its size.
const LARGER: usize = 4;
/// What may be kept beside the most that was in use at a time: buffers of little size of many classes are not worth
/// giving back.
const SLACK: usize = 512 << 10;
/// The same where much is in use.
const MOST_SLACK: usize = 8 << 20;
/// How many times the most that was in use has to make room before more is kept: sizes that take turns, and of which
/// together never as much is in use, would each be fresh every time.
const CHURN: usize = 16;

/// A kept buffer from this size on becomes zero by giving its pages back, because so large an array of zeros is likely to stay
/// mostly zero. A smaller one is filled by whoever asked: where all of it is written, that takes a quarter of the time of
/// having the pages again (35 against 140 ms for 128 MiB).
const ANEW: usize = 1 << 30;
/// Kept bytes from which on it is seen to that they go back some time.
const WORTH: usize = 1 << 20;
/// Ticks without use after which a buffer goes back.
const UNUSED: u32 = 8;
/// What is kept is at most this part of the memory that could be had if nothing were kept.
const PART: usize = 4;

/// Byte counts of a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes handed out and not yet returned.
    pub live: usize,
    /// Bytes kept for reuse.
    pub cached: usize,
    /// Largest `live` so far.
    pub peak: usize,
    /// Buffers that had to come from the system.
    pub fresh_buffers: u64,
    /// Buffers served from the cache.
    pub reused_buffers: u64,
    /// Bytes that went back to the system because nobody had used them for a while.
    pub unused_bytes: usize,
}

/// A free buffer of two MiB or more.
#[derive(Clone, Copy)]
struct Large {
    address: usize,
    /// The memory that it takes.
    taken: usize,
    /// The tick in which it was given back.
    tick: u32,
}

/// Free buffers of a class below two MiB.
struct Small {
    /// Most recently used last (still warm in cache).
    addresses: Vec<usize>,
    /// The fewest that there were since these were last looked through: so many, the first ones, nobody has used since.
    unused: usize,
}

struct Shelves {
    /// Free buffers below two MiB by class.
    small: [Small; CLASSES],
    /// The larger ones by capacity, the oldest first; no list is empty.
    free: BTreeMap<usize, Vec<Large>>,
    /// Buffers that serve as smaller ones, with their own capacities.
    lent: BTreeMap<usize, usize>,
    /// Bytes that were given back to make room for fresh buffers.
    churn: usize,
    stats: PoolStats,
    limit: Option<usize>,
    cache_cap: usize,
    /// How often was `tick` called?
    clock: u32,
    /// Is there somebody who calls it?
    is_watched: bool,
}

/// A pool of buffers; addresses in, addresses out.
pub struct Pool {
    shelves: Mutex<Shelves>,
    /// Called when there is something to be seen to: starts to call [`Pool::tick`] again and again.
    watch: Option<Watch>,
}

/// Sees to it that [`Pool::tick`] is called again and again.
type Watch = Box<dyn Fn() + Send + Sync>;

impl Pool {
    /// An empty pool that keeps at most `cache_cap` bytes of free buffers.
    pub const fn new(cache_cap: usize) -> Pool {
        let shelves = Shelves {
            small: [const { Small { addresses: Vec::new(), unused: 0 } }; CLASSES],
            free: BTreeMap::new(),
            lent: BTreeMap::new(),
            churn: 0,
            stats: PoolStats { live: 0, cached: 0, peak: 0, fresh_buffers: 0, reused_buffers: 0, unused_bytes: 0 },
            limit: None,
            cache_cap,
            clock: 0,
            is_watched: false,
        };
        Pool { shelves: Mutex::new(shelves), watch: None }
    }

    /// The same, of which `watch` sees to it that buffers nobody uses go back.
    pub(crate) fn watched(cache_cap: usize, watch: impl Fn() + Send + Sync + 'static) -> Pool {
        Pool { watch: Some(Box::new(watch)), ..Pool::new(cache_cap) }
    }

    /// Sets the cap on live bytes (`None`: the machine's) and on cached bytes.
    pub fn configure(&self, limit: Option<usize>, cache_cap: usize) {
        let mut shelves = self.lock();
        shelves.limit = limit;
        shelves.cache_cap = cache_cap;
        shelves.trim(cache_cap);
    }

    /// A buffer of at least `nbytes`, 64-byte aligned, contents undefined.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] above the limit or when the system has no more.
    pub fn alloc(&self, nbytes: usize) -> Result<*mut u8> {
        self.fresh_or_kept(nbytes).map(|(address, _)| address)
    }

    /// The same, and whether it is all zero, in pages that nobody has touched. Below two MiB it never is.
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
            // Kept buffers of other sizes are memory too: all together stay near what was in use at most.
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

    /// Takes a buffer back.
    ///
    /// # Safety
    /// `address` came from `alloc(nbytes)` of this pool with the same `nbytes`, is given back once,
    /// and nobody uses it any more.
    pub unsafe fn free(&self, address: *mut u8, nbytes: usize) {
        let capacity = capacity_of(nbytes).expect("was allocated with this size");
        let taken = taken(capacity, nbytes);
        let mut shelves = self.lock();
        let (capacity, taken) = match shelves.lent.remove(&(address as usize)) {
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
                    shelves.leave(room);
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

    /// Time has passed: gives back what nobody has used for some ticks, and more where the system could give only `room` bytes
    /// more. False when hardly anything is kept: nobody need call this until `watch` is called again.
    pub(crate) fn tick(&self, room: usize) -> bool {
        let mut shelves = self.lock();
        shelves.leave(room);
        let unused = shelves.unused();
        shelves.is_watched = shelves.stats.cached >= WORTH;
        let goes_on = shelves.is_watched;
        drop(shelves);
        // others need not wait for this
        let small = unused.iter().filter(|(_, capacity)| *capacity < HUGE).count();
        unused.into_iter().for_each(|(address, capacity)| unmap(address, capacity));
        if small > 0 {
            footprint::trim();
        }
        goes_on
    }

    /// There is nobody who calls [`Pool::tick`]: the thread could not be started.
    pub(crate) fn is_alone(&self) {
        self.lock().is_watched = false;
    }

    /// Gives free buffers back to the system until at most `keep` bytes are cached.
    pub fn trim(&self, keep: usize) {
        self.lock().trim(keep);
    }

    /// Byte counts.
    pub fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    /// Keeps all other threads out until the result is dropped (around fork).
    pub(crate) fn hold(&self) -> PoolHeld<'_> {
        PoolHeld(self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Keeps all other threads out of a pool.
pub(crate) struct PoolHeld<'a>(MutexGuard<'a, Shelves>);

impl PoolHeld<'_> {
    /// In a forked child: who watched the pool does not exist here.
    pub fn forget_threads(&mut self) {
        self.0.is_watched = false;
    }
}

impl Shelves {
    fn note_live(&mut self, taken: usize) {
        self.stats.live += taken;
        self.stats.peak = self.stats.peak.max(self.stats.live);
    }

    /// A free buffer of this capacity, which is to take so much memory, and what it does take.
    fn take(&mut self, capacity: usize, wanted: usize) -> Option<(usize, usize)> {
        let (address, kept, taken) = match class_of(capacity) {
            Some(class) => {
                let last = if capacity < NOTABLE { class } else { (class + LARGER).min(CLASSES - 1) };
                let found = (class..=last).find(|&class| !self.small[class].addresses.is_empty())?;
                let shelf = &mut self.small[found];
                let (address, own) = (shelf.addresses.pop()?, capacity_in(found));
                shelf.unused = shelf.unused.min(shelf.addresses.len());
                if found != class {
                    self.lent.insert(address, own);
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
                // A larger buffer serves as one of the capacity asked for; its tail is given back.
                (if size == capacity { address } else { shrink(address, size, capacity) }, taken, wanted)
            }
        };
        self.stats.cached -= kept;
        self.stats.reused_buffers += 1;
        Some((address, taken))
    }

    fn trim(&mut self, keep: usize) {
        // the oldest of the largest capacity goes first
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

    /// Keeps no more than a part of what could be had if nothing were kept; `room` is what could be had now.
    fn leave(&mut self, room: usize) {
        let keep = room.saturating_add(self.stats.cached) / PART;
        if self.stats.cached > keep {
            self.trim(keep);
        }
    }

    /// Takes the buffers that nobody has used for some ticks off the lists, with their capacities.
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

/// Size classes of buffers below two MiB.
const CLASSES: usize = 16 + 4 * 11 - 1;

/// The class of a capacity; none from two MiB on.
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

/// How much of a mapped buffer is to lie on huge pages. Its last page is as large as the others only where what is left
/// of that is little beside the whole.
fn on_huge_pages(capacity: usize, nbytes: usize) -> usize {
    if capacity - nbytes <= capacity / 32 { capacity } else { nbytes / HUGE * HUGE }
}

/// What a buffer takes of memory: of a large one, the pages that its contents lie on.
fn taken(capacity: usize, nbytes: usize) -> usize {
    const PAGE: usize = 4096;
    if capacity < HUGE { capacity } else { on_huge_pages(capacity, nbytes).max(nbytes.next_multiple_of(PAGE)) }
}

/// Memory from the system for a buffer of which the first `nbytes` bytes are wanted now.
#[cfg(unix)]
fn map(capacity: usize, nbytes: usize) -> Option<usize> {
    if capacity < HUGE {
        // SAFETY: the layout has a non-zero size.
        let address = unsafe { std::alloc::alloc(layout(capacity)) };
        return (!address.is_null()).then_some(address as usize);
    }
    let total = capacity.checked_add(HUGE)?;
    // Without MAP_NORESERVE, so that the system refuses what it can never give, instead of ending the process later.
    // SAFETY: an anonymous private mapping with no address asked for touches no existing memory.
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
    // SAFETY: `address` came from `map(capacity)` and has been taken off the free list: nobody reads what is in it.
    unsafe {
        if capacity < HUGE {
            // The allocator keeps what is free between other things. Few buffers are given back, and what that costs later is
            // what a fresh one costs.
            #[cfg(target_os = "linux")]
            if capacity >= NOTABLE {
                let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                let (start, end) = (address.next_multiple_of(page), (address + capacity) / page * page);
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED);
            }
            std::alloc::dealloc(address as *mut u8, layout(capacity));
        } else {
            libc::munmap(address as *mut libc::c_void, capacity);
        }
    }
}

/// Makes a mapped buffer zero by giving its pages back; false where that cannot be done.
fn clear(address: *mut u8, capacity: usize) -> bool {
    // SAFETY: `address` came from `map` with this capacity, and its contents are nobody's any more.
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
