//! The thread that does the work of a device, one piece after the other.

use super::memory::Pages;
use super::work::{Order, Owned};
use numelt_ir::{Error, Result};
use numelt_runtime::{Buffer, Engine};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The queue and its thread.
pub struct Worker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    pages: Pages,
    queue: Mutex<Queue>,
    more: Condvar,
    done: Condvar,
}

#[derive(Default)]
struct Queue {
    orders: VecDeque<(u64, Order)>,
    /// The number of the latest request.
    last: u64,
    /// All requests up to this number have been done.
    finished: u64,
    /// The results of requests that did not simply succeed.
    outcomes: HashMap<u64, Result<u8>>,
    /// The first error of a request for which nobody waits; it means that a contract of the traits was broken.
    broken: Option<Error>,
    ends: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request and all earlier ones have been done.
    fn finished(&self, number: u64) -> MutexGuard<'_, Queue> {
        let queue = self.queue();
        self.done.wait_while(queue, |queue| queue.finished < number).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    pub fn start(pages: Pages, engine: Arc<dyn Engine>, delay: u64, seed: u64) -> Worker {
        let shared = Arc::new(Shared { pages, queue: Mutex::default(), more: Condvar::new(), done: Condvar::new() });
        let own = Arc::clone(&shared);
        let work = move || work(&own, &*engine, delay, seed);
        let thread =
            std::thread::Builder::new().name("numelt-far".into()).spawn(work).expect("a thread for the device");
        Worker { shared, thread: Some(thread) }
    }

    /// Queues a request; returns its number.
    pub fn order(&self, order: Order) -> u64 {
        let mut queue = self.shared.queue();
        queue.last += 1;
        let number = queue.last;
        queue.orders.push_back((number, order));
        self.shared.more.notify_one();
        number
    }

    /// Allocates a piece of memory. If there is not enough, it first waits for earlier requests, which may free some.
    pub fn alloc(&self, nbytes: usize) -> Result<u64> {
        match self.shared.pages.alloc(nbytes) {
            Err(Error::OutOfMemory(_)) => {
                let last = self.shared.queue().last;
                drop(self.shared.finished(last));
                self.shared.pages.alloc(nbytes)
            }
            result => result,
        }
    }

    /// Waits for all that has been requested.
    ///
    /// # Errors
    /// The first error of a request for which nobody has waited.
    pub fn finish(&self) -> Result<()> {
        let last = self.shared.queue().last;
        let queue = self.shared.finished(last);
        let failed = queue.outcomes.values().find_map(|outcome| outcome.as_ref().err());
        queue.broken.as_ref().or(failed).cloned().map_or(Ok(()), Err)
    }

    /// The pieces of memory.
    pub fn pages(&self) -> &Pages {
        &self.shared.pages
    }

    /// Waits for work; returns the conditions that it met.
    pub fn wait(&self, number: u64) -> Result<u8> {
        let mut queue = self.shared.finished(number);
        queue.outcomes.remove(&number).unwrap_or(Ok(0))
    }

    /// The bytes of a piece, after all earlier requests have been done.
    pub fn download(&self, from: Buffer, nbytes: usize) -> Result<Vec<u8>> {
        self.finish()?;
        let unlocked = self.shared.pages.unlock(std::iter::once(from.handle))?;
        let (start, size) = unlocked.place(from.handle);
        let at = inside(from, nbytes, size)?;
        // SAFETY: the bytes lie inside the piece, which is unlocked, and the worker has nothing to do.
        Ok(unsafe { std::slice::from_raw_parts(start.add(at), nbytes) }.to_vec())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.queue().ends = true;
        self.shared.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The position of `nbytes` bytes in a piece of `size` bytes.
fn inside(place: Buffer, nbytes: usize, size: usize) -> Result<usize> {
    let at = usize::try_from(place.offset).ok().filter(|at| at + nbytes <= size);
    at.ok_or_else(|| Error::Engine(format!("{nbytes} bytes from {} on are not in a piece of {size}", place.offset)))
}

fn work(shared: &Shared, engine: &dyn Engine, delay: u64, seed: u64) {
    let mut state = seed;
    loop {
        let queue = shared.queue();
        let waits = |queue: &mut Queue| queue.orders.is_empty() && !queue.ends;
        let mut queue = shared.more.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner);
        let Some((number, order)) = queue.orders.pop_front() else { return };
        drop(queue);
        pause(&mut state, delay);
        let outcome = obey(shared, engine, &order, number);
        let mut queue = shared.queue();
        if !matches!(outcome, Ok(0)) {
            match order {
                Order::Work(_) => _ = queue.outcomes.insert(number, outcome),
                Order::Upload { .. } | Order::Free { .. } => queue.broken = queue.broken.take().or(outcome.err()),
            }
        }
        queue.finished = number;
        shared.done.notify_all();
    }
}

/// Waits for some time: usually not at all, sometimes so long that the host gets far ahead.
fn pause(state: &mut u64, delay: u64) {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let chance = *state >> 40;
    if delay > 0 && chance.is_multiple_of(16) {
        std::thread::sleep(Duration::from_micros((chance >> 4) % delay));
    }
}

fn obey(shared: &Shared, engine: &dyn Engine, order: &Order, number: u64) -> Result<u8> {
    match order {
        Order::Work(work) => does(shared, engine, work),
        Order::Upload { bytes, to } => {
            let unlocked = shared.pages.unlock(std::iter::once(to.handle))?;
            let (start, size) = unlocked.place(to.handle);
            let at = inside(*to, bytes.len(), size)?;
            // SAFETY: the bytes lie inside the piece, which is unlocked.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(at), bytes.len()) };
            Ok(0)
        }
        Order::Free { handle, nbytes, after } => {
            // what it has to wait for was requested before, or never
            if after.0 >= number && after.0 != u64::MAX {
                return Err(Error::Engine("memory is given back before the work that uses it".into()));
            }
            shared.pages.free(*handle, *nbytes).map(|()| 0)
        }
    }
}

fn does(shared: &Shared, engine: &dyn Engine, work: &Owned) -> Result<u8> {
    let unlocked = shared.pages.unlock(work.handles().into_iter())?;
    work.done(engine, &unlocked)
}
