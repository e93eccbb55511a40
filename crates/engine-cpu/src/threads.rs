//! The thread pool: one launch at a time is shared between pinned workers and the caller.
//!
//! In: a number of units and a function on ranges of them. Out: every unit done once. Units are handed out
//! in order, in chunks, to whoever is free; the caller works too. Workers spin for a moment after a launch
//! and then sleep. Floating-point flags that workers raise are raised on the caller. A process that was forked gets fresh workers. Not here: what a unit is.
//!
//! Small work stays on the caller, and less small work while the machine is [crowded](crate::crowd): waking a sleeping worker costs tens of microseconds.

use crate::crowd::Crowd;
use numelt_vecmath::flags;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Work below this many estimated nanoseconds is not shared, unless told otherwise.
pub const GATE: u64 = 100_000;
/// A thread more pays for this many nanoseconds of work.
const SHARE: u64 = 40_000;
/// Chunks per thread that units are handed out in.
const CHUNKS: usize = 8;
/// How long a worker looks for more work before it sleeps.
const SPIN: Duration = Duration::from_micros(30);

/// Counts forks: a child's pool has no threads, whatever the parent's memory says.
static FORKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Is this thread inside a launch? Then a nested one stays on it.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A function on a range of units.
pub type Work<'a> = &'a (dyn Fn(Range<usize>) + Sync);

/// The threads of one engine, started when first needed.
pub struct Threads {
    wanted: usize,
    gate: u64,
    crowd: Crowd,
    pool: Mutex<Option<(u64, Arc<Pool>)>>,
}

impl Threads {
    /// `wanted` threads, the caller included; zero for all that this process may use. Work of less than
    /// `gate` nanoseconds stays on the caller; with zero everything is shared.
    pub fn new(wanted: usize, gate: u64) -> Threads {
        watch_forks();
        let wanted = if wanted == 0 { available() } else { wanted };
        Threads { wanted: wanted.max(1), gate, crowd: Crowd::new(), pool: Mutex::new(None) }
    }

    /// Number of threads, the caller included.
    pub fn count(&self) -> usize {
        self.wanted
    }

    /// How many threads `work` nanoseconds would be shared between.
    pub fn shares(&self, work: u64) -> usize {
        if self.wanted <= 1 || work < self.gate || BUSY.get() {
            1
        } else if self.gate == 0 {
            self.wanted
        } else if self.crowd.keeps(work) {
            1
        } else {
            self.wanted.min((work / SHARE) as usize).max(1)
        }
    }

    /// Calls `f` on ranges that cover `0..units` once each. `work` is the estimated time in nanoseconds.
    pub fn parallel(&self, units: usize, work: u64, f: Work<'_>) {
        let shares = self.shares(work).min(units);
        if shares <= 1 {
            if units > 0 {
                f(0..units);
            }
            return;
        }
        // a launch from another thread that finds the pool taken does its own work
        let Some(pool) = self.pool() else { return f(0..units) };
        let Ok(_turn) = pool.turn.try_lock() else { return f(0..units) };
        BUSY.set(true);
        let reset = Reset;
        pool.run(units, (units / (shares * CHUNKS)).max(1), shares - 1, f, &self.crowd);
        drop(reset);
    }

    fn pool(&self) -> Option<Arc<Pool>> {
        // a fork while another thread held this lock would leave it locked in the child
        let mut slot = self.pool.try_lock().ok()?;
        let forks = FORKS.load(Ordering::Relaxed);
        match &*slot {
            Some((at, pool)) if *at == forks => Some(pool.clone()),
            _ => {
                if let Some((_, dead)) = slot.take() {
                    // the parent's pool: its locks may be held for ever, so it is not touched again
                    std::mem::forget(dead);
                }
                let pool = Pool::start(self.wanted - 1);
                *slot = Some((forks, pool.clone()));
                Some(pool)
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let slot = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, pool)) = slot.take() {
            if at == FORKS.load(Ordering::Relaxed) {
                pool.stop();
            } else {
                std::mem::forget(pool);
            }
        }
    }
}

/// Marks the thread free again, also when a unit panics.
struct Reset;
impl Drop for Reset {
    fn drop(&mut self) {
        BUSY.set(false);
    }
}

/// One launch, on the caller's stack.
struct Job {
    /// The function, with its lifetime erased: `Pool::run` does not return before all workers left.
    work: *const (dyn Fn(Range<usize>) + Sync),
    units: usize,
    chunk: usize,
    next: AtomicUsize,
    failed: AtomicBool,
    /// Floating-point flags that workers raised.
    raised: AtomicU8,
}

impl Job {
    /// Takes chunks until none is left.
    fn help(&self) {
        loop {
            let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if start >= self.units || self.failed.load(Ordering::Relaxed) {
                return;
            }
            // SAFETY: the caller keeps the function alive until every worker has left the job.
            unsafe { (*self.work)(start..self.units.min(start + self.chunk)) };
        }
    }
}

/// What workers see under the lock.
struct State {
    /// The job at hand, if it still takes helpers.
    job: Option<*const Job>,
    /// Helpers that may still join.
    places: usize,
    /// Helpers inside.
    inside: usize,
    stop: bool,
    sleeping: usize,
}

// SAFETY: the job pointer is used only between joining and leaving, while `Pool::run` waits.
unsafe impl Send for State {}

struct Pool {
    turn: Mutex<()>,
    state: Mutex<State>,
    wake: Condvar,
    left: Condvar,
    /// Counts jobs, for workers that spin.
    epoch: AtomicU64,
    /// Where the workers are pinned.
    pins: Mutex<pin::Pins>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn start(workers: usize) -> Arc<Pool> {
        let state = State { job: None, places: 0, inside: 0, stop: false, sleeping: 0 };
        let pool = Arc::new(Pool {
            turn: Mutex::new(()),
            state: Mutex::new(state),
            wake: Condvar::new(),
            left: Condvar::new(),
            epoch: AtomicU64::new(0),
            pins: Mutex::new(pin::Pins::new(workers)),
        });
        for index in 0..workers {
            let theirs = pool.clone();
            let name = format!("numelt-{}", index + 1);
            // a thread that cannot be started is one helper less
            let _ = std::thread::Builder::new().name(name).spawn(move || theirs.work(index));
        }
        pool
    }

    fn stop(&self) {
        lock(&self.state).stop = true;
        self.epoch.fetch_add(1, Ordering::Release);
        self.wake.notify_all();
    }

    fn run(&self, units: usize, chunk: usize, helpers: usize, f: Work<'_>, crowd: &Crowd) {
        // SAFETY: only the lifetime changes; `Leave` waits until no worker uses the function.
        let work = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(f) };
        let job = Job {
            work,
            units,
            chunk,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            raised: AtomicU8::new(0),
        };
        lock(&self.pins).avoid_caller();
        {
            let mut state = lock(&self.state);
            state.job = Some(&raw const job);
            state.places = helpers;
            self.epoch.fetch_add(1, Ordering::Release);
            if state.sleeping > 0 {
                self.wake.notify_all();
            }
        }
        let leave = Leave(self);
        let start = Instant::now();
        job.help();
        let done = Instant::now();
        drop(leave);
        crowd.waited(done - start, done.elapsed());
        if job.failed.load(Ordering::Relaxed) {
            panic!("a worker thread panicked");
        }
        let raised = job.raised.load(Ordering::Relaxed);
        if raised != 0 {
            flags::raise(raised);
        }
    }

    fn work(&self, index: usize) {
        BUSY.set(true);
        lock(&self.pins).register(index);
        let mut seen = 0;
        loop {
            let spin_until = Instant::now() + SPIN;
            while self.epoch.load(Ordering::Acquire) == seen && Instant::now() < spin_until {
                for _ in 0..64 {
                    std::hint::spin_loop();
                }
            }
            let mut state = lock(&self.state);
            while self.epoch.load(Ordering::Acquire) == seen && !state.stop {
                state.sleeping += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleeping -= 1;
            }
            if state.stop {
                return;
            }
            seen = self.epoch.load(Ordering::Acquire);
            let Some(job) = state.job.filter(|_| state.places > 0) else { continue };
            state.places -= 1;
            state.inside += 1;
            drop(state);
            self.join(job);
        }
    }

    /// Helps with a job that this worker has entered.
    fn join(&self, job: *const Job) {
        // SAFETY: `inside` counts this worker, so `run` has not returned.
        let job = unsafe { &*job };
        flags::clear();
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.help())).is_err() {
            job.failed.store(true, Ordering::Relaxed);
        }
        job.raised.fetch_or(flags::get(), Ordering::Relaxed);
        let mut state = lock(&self.state);
        state.inside -= 1;
        if state.inside == 0 {
            self.left.notify_all();
        }
    }
}

/// Closes the job to new helpers and waits for those inside, also when the caller's share panics.
struct Leave<'a>(&'a Pool);
impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.job = None;
        state.places = 0;
        while state.inside > 0 {
            state = self.0.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Registers the counter of forks once per process.
fn watch_forks() {
    #[cfg(unix)]
    {
        extern "C" fn child() {
            FORKS.fetch_add(1, Ordering::Relaxed);
            BUSY.set(false);
        }
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: the handler only changes an atomic and a thread-local flag.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(child));
        });
    }
}

/// Threads that this process may use: its affinity and its control group's quota.
pub fn available() -> usize {
    // the standard library reads the affinity mask and cgroup v1 and v2 quotas
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

#[cfg(target_os = "linux")]
mod pin {
    //! Pinning. After a pause the scheduler tends to wake a worker on the caller's processor and leave both
    //! there for milliseconds; pinned workers, away from the caller, avoid it.

    /// Where each worker runs.
    pub struct Pins {
        /// Processor of each worker and its thread id, once it has started.
        workers: Vec<(usize, Option<libc::pid_t>)>,
        /// A processor of this process that no worker is pinned to.
        free: usize,
        /// Are there enough processors to give each thread its own?
        active: bool,
    }

    impl Pins {
        pub fn new(workers: usize) -> Pins {
            let cpus = allowed();
            let active = cpus.len() > workers && super::available() > workers;
            let current = current();
            let free = if cpus.contains(&current) { current } else { cpus.first().copied().unwrap_or(0) };
            let others: Vec<usize> = cpus.into_iter().filter(|c| *c != free).collect();
            let workers = (0..workers).map(|i| (others.get(i).copied().unwrap_or(0), None)).collect();
            Pins { workers, free, active }
        }

        /// Called by worker `index` when it starts.
        pub fn register(&mut self, index: usize) {
            if self.active {
                // SAFETY: no arguments.
                let id = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
                self.workers[index].1 = Some(id);
                set(id, self.workers[index].0);
            }
        }

        /// Moves a worker that is pinned to the caller's processor to the free one.
        pub fn avoid_caller(&mut self) {
            if !self.active {
                return;
            }
            let here = current();
            if here == self.free {
                return;
            }
            if let Some((cpu, id)) = self.workers.iter_mut().find(|w| w.0 == here) {
                *cpu = std::mem::replace(&mut self.free, here);
                if let Some(id) = id {
                    set(*id, *cpu);
                }
            }
        }
    }

    fn current() -> usize {
        // SAFETY: no arguments.
        unsafe { libc::sched_getcpu() }.max(0) as usize
    }

    fn allowed() -> Vec<usize> {
        // SAFETY: a CPU set is plain bits; the call fills it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
                return Vec::new();
            }
            (0..libc::CPU_SETSIZE as usize).filter(|&c| libc::CPU_ISSET(c, &set)).collect()
        }
    }

    fn set(id: libc::pid_t, cpu: usize) {
        // SAFETY: a CPU set is plain bits; `cpu` came out of one. Failure leaves the thread unpinned.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(id, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pin {
    //! No pinning where the system has no call for it.

    /// Nothing to remember.
    pub struct Pins;
    impl Pins {
        pub fn new(_workers: usize) -> Pins {
            Pins
        }
        pub fn register(&mut self, _index: usize) {}
        pub fn avoid_caller(&mut self) {}
    }
}
