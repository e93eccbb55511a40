//! The progress line: says how far a long flush has come, on the terminal or in the notebook.
//!
//! In: the beginning and end of each flush that releases the GIL, and the runtime's counters, which are read without
//! its lock. Out: a line on standard error if that is a terminal, else a line that `numelt.tools.progress` displays
//! in a notebook, if there is one. A thread looks at the counters a few times a second as long as large flushes
//! follow each other, and sleeps otherwise. It holds no lock while it waits for the GIL, and the flushing thread
//! waits for it only while it writes to the terminal.

use numelt_runtime::Runtime;
use pyo3::prelude::*;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Flushes of fewer element-operations are not watched: they take a fraction of a second.
const LARGE: u64 = 1 << 20;
/// The longest time between two looks at the counters.
const TICK: Duration = Duration::from_millis(200);
/// After this many looks without a new flush, the thread sleeps until the next flush wakes it.
const IDLE_TICKS: u32 = 10;
/// Erases the terminal's current line.
const ERASE: &str = "\r\x1b[K";

/// A flush is shown after it has run for this many milliseconds; zero switches the line off.
static AFTER: AtomicU64 = AtomicU64::new(0);
/// Twice the number of watched flushes that have ended, and one more while one runs.
static FLUSHES: AtomicU64 = AtomicU64::new(0);
/// When the latest watched flush began, in nanoseconds since an arbitrary moment (see `now`).
static BEGAN: AtomicU64 = AtomicU64::new(0);
/// The process in which the watching thread runs. A forked child has no such thread.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Whether the watching thread sleeps until it is woken.
static PARKED: AtomicBool = AtomicBool::new(false);
/// The state of the terminal's line: `NONE`, `WRITING` or `SHOWN`.
static LINE: AtomicU8 = AtomicU8::new(NONE);
const NONE: u8 = 0;
const WRITING: u8 = 1;
const SHOWN: u8 = 2;

static WATCHER: std::sync::Mutex<Option<Thread>> = std::sync::Mutex::new(None);

fn now() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Sets that flushes are shown if they take longer than this many seconds; zero switches the line off.
pub fn show_after(seconds: f64) {
    AFTER.store((seconds * 1e3).ceil() as u64, Ordering::Relaxed);
}

/// A flush is watched until this is dropped.
pub struct Watched(());

/// Starts watching a flush of `work` element-operations, if it is large. The caller holds the GIL.
#[inline]
pub fn watch(work: u64) -> Option<Watched> {
    if work < LARGE || AFTER.load(Ordering::Relaxed) == 0 || FLUSHES.load(Ordering::Relaxed) % 2 == 1 {
        return None;
    }
    BEGAN.store(now(), Ordering::Relaxed);
    FLUSHES.fetch_add(1, Ordering::Release);
    wake();
    Some(Watched(()))
}

impl Drop for Watched {
    fn drop(&mut self) {
        FLUSHES.fetch_add(1, Ordering::SeqCst);
        if PROCESS.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        while LINE.load(Ordering::SeqCst) == WRITING {
            thread::yield_now();
        }
        if LINE.compare_exchange(SHOWN, NONE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            write(ERASE);
        }
    }
}

/// Wakes the watching thread, or starts it if this process has none.
fn wake() {
    if PROCESS.load(Ordering::Relaxed) == std::process::id() {
        if PARKED.swap(false, Ordering::AcqRel)
            && let Ok(watcher) = WATCHER.try_lock()
            && let Some(watcher) = &*watcher
        {
            watcher.unpark();
        }
        return;
    }
    LINE.store(NONE, Ordering::Relaxed);
    let Ok(mut watcher) = WATCHER.try_lock() else { return };
    // if the thread cannot be started, the line is missing, and nothing else
    if let Ok(started) = thread::Builder::new().name("numelt-progress".into()).spawn(look) {
        *watcher = Some(started.thread().clone());
        PROCESS.store(std::process::id(), Ordering::Relaxed);
    }
}

/// The loop of the watching thread.
fn look() {
    let (mut seen, mut idle, mut displayed) = (0, 0, false);
    loop {
        let after = Duration::from_millis(AFTER.load(Ordering::Relaxed).max(1));
        thread::sleep((after / 4).clamp(Duration::from_millis(5), TICK));
        let flush = FLUSHES.load(Ordering::Acquire);
        let runs = flush % 2 == 1;
        if displayed && (!runs || flush != seen) {
            display(None);
            displayed = false;
        }
        idle = if flush == seen && !runs { idle + 1 } else { 0 };
        seen = flush;
        let elapsed = Duration::from_nanos(now().saturating_sub(BEGAN.load(Ordering::Relaxed)));
        if runs && elapsed >= after && AFTER.load(Ordering::Relaxed) != 0 {
            if std::io::stderr().is_terminal() {
                draw(flush, elapsed);
            } else {
                displayed |= display(Some(text(elapsed)));
            }
        }
        if idle > IDLE_TICKS {
            PARKED.store(true, Ordering::Release);
            if FLUSHES.load(Ordering::SeqCst) == seen {
                thread::park();
            }
            PARKED.store(false, Ordering::Release);
            idle = 0;
        }
    }
}

/// The text of the line.
fn text(elapsed: Duration) -> String {
    let now = Runtime::global().progress();
    let share = (100 * now.done).checked_div(now.steps).unwrap_or(0);
    format!(
        "numelt: running, step {} of {} ({share} %), {:.1} s",
        (now.done + 1).min(now.steps),
        now.steps,
        elapsed.as_secs_f64()
    )
}

/// Writes the line to the terminal, if the flush still runs.
fn draw(flush: u64, elapsed: Duration) {
    LINE.store(WRITING, Ordering::SeqCst);
    if FLUSHES.load(Ordering::SeqCst) != flush {
        // the flush has ended without waiting for this line, so a line of an earlier look is erased here
        write(ERASE);
        LINE.store(NONE, Ordering::SeqCst);
        return;
    }
    write(&format!("{ERASE}{}", text(elapsed)));
    LINE.store(SHOWN, Ordering::SeqCst);
}

fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // if the terminal has gone away, the program goes on without the line
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Displays the line in a notebook, or removes it (`None`); false if there is no notebook.
fn display(line: Option<String>) -> bool {
    let shown = Python::try_attach(|py| -> PyResult<bool> {
        let modules = py.import("sys")?.getattr("modules")?;
        if !modules.contains("ipykernel")? {
            return Ok(false);
        }
        py.import("numelt.tools.progress")?.call_method1("display", (line,))?.extract()
    });
    match shown {
        Some(Ok(shown)) => shown,
        Some(Err(error)) => {
            Python::try_attach(|py| error.write_unraisable(py, None));
            false
        }
        None => false,
    }
}
