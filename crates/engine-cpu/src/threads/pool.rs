//! The workers, and how a launch reaches them.
//!
//! In: jobs, one at a time. Out: jobs done, and how long the caller's part took. Every worker has a slot in which the
//! caller puts the job. The worker takes it from there; or the caller takes it back if it has done everything itself. A
//! worker polls for the next job as long as jobs have been coming in close succession, and then sleeps.

use super::job::{Job, Work};
use super::pin::Pins;
use crate::crowd::Crowd;
use numelt_vecmath::flags;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long a worker polls for more work: at least, and at most if work keeps coming.
const SPIN: Duration = Duration::from_micros(20);
const LONG_SPIN: Duration = Duration::from_micros(300);
/// How long the caller polls for its workers to finish before it sleeps.
const PATIENCE: Duration = Duration::from_micros(100);

/// The slot in which a worker finds its next job.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    job: AtomicPtr<Job>,
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// The workers of one process.
pub struct Pool {
    /// Held by the thread whose job is running.
    pub turn: Mutex<()>,
    places: Box<[Place]>,
    /// The number of workers that are not asleep.
    awake: Arc<AtomicUsize>,
    stop: AtomicBool,
    /// Whether the caller sleeps until its workers have left.
    waiting: AtomicBool,
    door: Mutex<()>,
    leaving: Condvar,
    pins: Mutex<Pins>,
}

/// The caller's part of a job.
pub struct Part {
    pub time: Duration,
    pub units: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts workers, which keep `awake` up to date.
    pub fn start(workers: usize, awake: Arc<AtomicUsize>) -> Arc<Pool> {
        awake.store(0, Ordering::Relaxed);
        let pool = Arc::new(Pool {
            turn: Mutex::new(()),
            places: (0..workers).map(|_| Place::default()).collect(),
            awake,
            stop: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            door: Mutex::new(()),
            leaving: Condvar::new(),
            pins: Mutex::new(Pins::new(workers)),
        });
        for index in 0..workers {
            let theirs = pool.clone();
            let name = format!("numelt-{}", index + 1);
            // if a thread cannot be started, there is one helper less
            let _ = std::thread::Builder::new().name(name).spawn(move || theirs.work(index));
        }
        pool
    }

    /// Lets the workers end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for place in &self.places {
            place.wake();
        }
    }

    /// Does a job with `helpers` workers.
    ///
    /// # Panics
    /// If a worker panicked, or the caller's share does.
    pub fn run(&self, units: usize, chunk: usize, helpers: usize, f: Work<'_>, crowd: &Crowd) -> Part {
        let helpers = helpers.min(self.places.len());
        // SAFETY: `Leave` waits until no worker uses the job or the function.
        let mut job = unsafe { Job::new(units, chunk, helpers + 1, f) };
        lock(&self.pins).avoid_caller();
        let at = &raw mut job;
        for place in &self.places[..helpers] {
            place.job.store(at, Ordering::SeqCst);
            place.wake();
        }
        // SAFETY: workers have the same address; from here on everybody reads.
        let job = unsafe { &*at };
        let leave = Leave { pool: self, job, helpers };
        let start = Instant::now();
        let done = job.help(0);
        let end = Instant::now();
        drop(leave);
        crowd.waited(end - start, end.elapsed());
        assert!(!job.failed.load(Ordering::Relaxed), "a worker thread panicked");
        let raised = job.raised.load(Ordering::Relaxed);
        if raised != 0 {
            flags::raise(raised);
        }
        Part { time: end - start, units: done }
    }

    fn work(&self, index: usize) {
        super::BUSY.set(true);
        lock(&self.pins).register(index);
        let _ = self.places[index].thread.set(std::thread::current());
        self.awake.fetch_add(1, Ordering::Relaxed);
        let mut gap = LONG_SPIN;
        let mut free = Instant::now();
        while let Some(job) = self.next(&self.places[index], free, gap) {
            gap = (3 * gap + free.elapsed().min(4 * LONG_SPIN)) / 4;
            // SAFETY: the caller waits for `left` before it lets go of a job that was taken.
            let job = unsafe { &*job };
            job.help_out(index + 1);
            job.left.fetch_add(1, Ordering::SeqCst);
            if self.waiting.load(Ordering::SeqCst) {
                let _door = lock(&self.door);
                self.leaving.notify_all();
            }
            free = Instant::now();
        }
        self.awake.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits for a job: polling for a while if jobs came in less than that on average (`gap`), and then asleep.
    fn next(&self, place: &Place, mut free: Instant, gap: Duration) -> Option<*const Job> {
        let spin = if gap <= LONG_SPIN { (2 * gap).clamp(SPIN, LONG_SPIN) } else { SPIN };
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            if !place.job.load(Ordering::Relaxed).is_null() {
                let job = place.job.swap(null_mut(), Ordering::SeqCst);
                if !job.is_null() {
                    return Some(job);
                }
            }
            for _ in 0..16 {
                std::hint::spin_loop();
            }
            if free.elapsed() > spin {
                self.awake.fetch_sub(1, Ordering::Relaxed);
                place.asleep.store(true, Ordering::SeqCst);
                while place.job.load(Ordering::SeqCst).is_null() && !self.stop.load(Ordering::SeqCst) {
                    std::thread::park();
                }
                place.asleep.store(false, Ordering::SeqCst);
                self.awake.fetch_add(1, Ordering::Relaxed);
                free = Instant::now();
            }
        }
    }
}

impl Place {
    /// Wakes the worker if it sleeps. What it is to see must have been stored before.
    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

/// Takes the job back from workers that have not come and waits for the others, even if the caller's share panics.
struct Leave<'a> {
    pool: &'a Pool,
    job: &'a Job,
    helpers: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let (pool, at) = (self.pool, std::ptr::from_ref(self.job).cast_mut());
        let taken =
            |place: &&Place| place.job.compare_exchange(at, null_mut(), Ordering::SeqCst, Ordering::SeqCst).is_err();
        let came = pool.places[..self.helpers].iter().filter(taken).count();
        let inside = || self.job.left.load(Ordering::SeqCst) < came;
        let start = Instant::now();
        while inside() && start.elapsed() < PATIENCE {
            for _ in 0..16 {
                std::hint::spin_loop();
            }
        }
        if inside() {
            let mut door = lock(&pool.door);
            pool.waiting.store(true, Ordering::SeqCst);
            while inside() {
                door = pool.leaving.wait(door).unwrap_or_else(PoisonError::into_inner);
            }
            pool.waiting.store(false, Ordering::SeqCst);
        }
    }
}
