//! The machine code of a variant: fetched from the cache on disk, or compiled, at once or in the background.
//!
//! In: a function of crate `func`. Out: its code, once it is there. Not here: the decision when to compile.
//!
//! The background thread is the one that compiles kernels (`Host::in_background`). It holds no Python objects and does
//! not take the GIL. What it has not finished when the process ends is lost.

use crate::jit::account::get;
use crate::jit::{ahead, forced, host_functions};
use numelt_codegen::functions::{Compiled, Host, compile, fetch};
use numelt_func::Function;
use numelt_runtime::Runtime;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Code that was compiled with few optimizations is compiled with all of them when it has run for this long, which is
/// about what compiling takes.
const LONG: Duration = Duration::from_millis(20);
/// The same where the program has requested compiling: most such loops run many times.
const LONG_IF_REQUESTED: Duration = Duration::from_millis(2);

/// The functions that compiled code calls.
const HOST: Host = Host {
    poll: host_functions::poll,
    call_loop: host_functions::call_loop,
    poll_ahead: ahead::poll,
    run_ahead: ahead::run_ahead,
};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of variants that the background thread compiles, or will compile.
static COMPILING: AtomicU64 = AtomicU64::new(0);

/// How many nanoseconds the program has waited for the background thread, and how many compiled loops have run.
static WAITED: AtomicU64 = AtomicU64::new(0);
static RUN: AtomicU64 = AtomicU64::new(0);
/// Compiled code is at least this many times as fast as CPython.
const FASTER: u64 = 10;

/// How long the program may still wait for the background thread: `free`, and what compiled code has gained so far. So
/// a program with many loops that hardly pay does not wait for each of them.
pub fn allowance(free: Duration) -> Duration {
    let gained = get(&RUN).saturating_mul(FASTER);
    Duration::from_nanos((free.as_nanos() as u64).saturating_add(gained).saturating_sub(get(&WAITED)))
}

/// Is a loop being compiled in the background?
pub fn is_compiling() -> bool {
    let is_compiling = get(&COMPILING) > 0;
    if is_compiling {
        continue_background();
    }
    is_compiling
}

/// Is code compiled while the program runs?
pub fn has_background() -> bool {
    // SAFETY: settings change only with the GIL held; it is held here and not released.
    unsafe { Runtime::global().with_host(|host| host.has_background()) }
}

fn in_background(work: Box<dyn FnOnce() + Send>) {
    // SAFETY: as above.
    unsafe { Runtime::global().with_host(Arc::clone) }.in_background(work);
}

/// In a forked child, continues what the parent's background thread had not begun.
pub fn continue_background() {
    // SAFETY: as above.
    unsafe { Runtime::global().with_host(|host| host.continue_background()) }
}

/// A request to the background thread to compile some code. When it is dropped, the code is there, or there is none:
/// the compiler has failed, or no thread could be started.
struct Asked {
    code: Arc<Code>,
    pending: Arc<AtomicU64>,
    /// Whoever waits is told when this is dropped.
    _done: Sender<()>,
}

impl Asked {
    fn new(code: &Arc<Code>, pending: &Arc<AtomicU64>, done: Sender<()>) -> Asked {
        pending.fetch_add(1, Ordering::Relaxed);
        COMPILING.fetch_add(1, Ordering::Relaxed);
        Asked { code: code.clone(), pending: pending.clone(), _done: done }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = self.code.compiled.set(Err("the compiler has failed".into()));
        self.pending.fetch_sub(1, Ordering::Release);
        COMPILING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The code of a variant, or the function that it will be compiled from.
pub struct Code {
    /// The function, until it is compiled.
    source: Mutex<Option<Function>>,
    compiled: OnceLock<Result<Compiled, String>>,
    /// The same code compiled with all optimizations, once it is needed; `None` if that failed.
    optimized: OnceLock<Option<Compiled>>,
    /// Has the background thread been asked to compile the function, and to optimize it?
    is_submitted: AtomicBool,
    is_optimizing: AtomicBool,
    /// Its other end is dropped when the background thread has compiled the function.
    is_done: Mutex<Option<Receiver<()>>>,
    /// How many nanoseconds the code has run, without iterations ahead.
    spent: AtomicU64,
}

impl Code {
    /// Code that is not compiled yet.
    pub fn new(function: Function) -> Arc<Code> {
        Arc::new(Code {
            source: Mutex::new(Some(function)),
            compiled: OnceLock::new(),
            optimized: OnceLock::new(),
            is_submitted: AtomicBool::new(false),
            is_optimizing: AtomicBool::new(false),
            is_done: Mutex::default(),
            spent: AtomicU64::new(0),
        })
    }

    /// Fetches the code from the cache on disk. Returns whether it was there.
    pub fn fetch(&self) -> bool {
        let source = locked(&self.source);
        let found = source.as_ref().and_then(|function| fetch(function, HOST));
        found.is_some_and(|found| self.compiled.set(Ok(found)).is_ok())
    }

    /// Compiles the code now, unless that has been done.
    ///
    /// # Errors
    /// Why the function cannot be compiled.
    pub fn compile(&self) -> Result<(), String> {
        let compiled = self.compiled.get_or_init(|| {
            let function = locked(&self.source).take();
            let Some(function) = function else { return Err("the compiler has failed".into()) };
            // a defect of the compiler must end neither the program nor the background thread
            catch_unwind(AssertUnwindSafe(|| {
                forced::forced_defect()?;
                compile(&function, HOST).map_err(|error| error.to_string())
            }))
            .unwrap_or_else(|_| Err("the compiler has failed".into()))
        });
        compiled.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Lets the background thread compile the code, if it has not been asked for that. The thread counts `pending` down
    /// when it is done.
    pub fn compile_later(self: &Arc<Code>, pending: &Arc<AtomicU64>) {
        if self.is_submitted.swap(true, Ordering::Relaxed) {
            return;
        }
        let (done, is_done) = mpsc::channel();
        *locked(&self.is_done) = Some(is_done);
        let asked = Asked::new(self, pending, done);
        in_background(Box::new(move || {
            let _ = asked.code.compile();
        }));
    }

    /// Waits for the background thread, at most so long.
    pub fn wait(&self, most: Duration) {
        if let Some(is_done) = &*locked(&self.is_done) {
            let start = Instant::now();
            let _ = is_done.recv_timeout(most);
            WAITED.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// The code, or why it cannot be compiled; `None` if it is not compiled yet.
    pub fn ready(&self) -> Option<Result<&Compiled, &str>> {
        self.compiled.get().map(|compiled| compiled.as_ref().map_err(String::as_str))
    }

    /// The code to run. It is compiled with all optimizations when it has run for long and is run again. Doing so
    /// earlier would waste time if the loop runs only once.
    pub fn current(self: &Arc<Code>, is_requested: bool) -> Option<&Compiled> {
        let compiled = self.compiled.get()?.as_ref().ok()?;
        let long = if is_requested { LONG_IF_REQUESTED } else { LONG };
        if compiled.is_quick() && get(&self.spent) > long.as_nanos() as u64 {
            if !self.is_optimizing.swap(true, Ordering::Relaxed) {
                let code = self.clone();
                in_background(Box::new(move || code.optimize()));
            }
            return Some(self.optimized.get().and_then(Option::as_ref).unwrap_or(compiled));
        }
        Some(compiled)
    }

    fn optimize(&self) {
        if let Some(Ok(compiled)) = self.compiled.get() {
            let made = catch_unwind(AssertUnwindSafe(|| {
                forced::forced_defect().ok()?;
                compiled.carefully().ok()
            }));
            let _ = self.optimized.set(made.ok().flatten());
        }
    }

    /// Records how long the code ran, and how much of that were iterations ahead.
    pub fn note_time(&self, took: Duration, ahead: Duration) {
        RUN.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        self.spent.fetch_add(took.saturating_sub(ahead).as_nanos() as u64, Ordering::Relaxed);
    }
}
