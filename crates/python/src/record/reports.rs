//! What is counted and told of recorded operations: instructions by operation, and the reports of flushes.
//!
//! In: each recorded instruction, and the end of each flush. Out: counts, and reports for a callable of the package or
//! for whoever asks.

use numelt_ir::Op;
use numelt_runtime::{FlushReport, Runtime};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many instructions have been recorded, by operation.
static RECORDED: [AtomicU64; Op::ALL.len()] = [const { AtomicU64::new(0) }; Op::ALL.len()];

/// Counts one recorded instruction. Only called with the GIL held, so no read-modify-write is needed.
#[inline]
pub fn count(op: Op) {
    let counter = &RECORDED[op as usize];
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// How many instructions of an operation have been recorded.
pub fn recorded(op: Op) -> u64 {
    RECORDED[op as usize].load(Ordering::Relaxed)
}

/// Sets the counts of recorded instructions to zero.
pub fn forget_counts() {
    RECORDED.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
}

/// Whether each flush is reported to a callable. The next item is that callable.
static WATCHED: AtomicBool = AtomicBool::new(false);
static ON_FLUSH: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
/// Reports kept for the next `inspect_stop`, because the callable takes all reports out of the runtime.
static KEPT: Mutex<Option<Vec<FlushReport>>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Sets the callable to which each flush is reported; `None` removes it.
pub fn set_on_flush(callable: &Bound<'_, PyAny>) {
    let on = !callable.is_none();
    let old = std::mem::replace(&mut *locked(&ON_FLUSH), on.then(|| callable.clone().unbind()));
    WATCHED.store(on, Ordering::Release);
    if on {
        Runtime::global().inspect_start();
    } else if locked(&KEPT).is_none() {
        Runtime::global().inspect_stop();
    }
    drop(old);
}

/// Passes the reports of finished flushes to the callable, if there is one.
pub fn after_flush(py: Python<'_>) -> PyResult<()> {
    if !WATCHED.load(Ordering::Acquire) {
        return Ok(());
    }
    let reports = Runtime::global().inspect_stop();
    Runtime::global().inspect_start();
    let Some(callable) = locked(&ON_FLUSH).as_ref().map(|c| c.clone_ref(py)) else { return Ok(()) };
    for report in &reports {
        callable.call1(py, (report_dict(py, report)?,))?;
    }
    if let Some(kept) = &mut *locked(&KEPT) {
        kept.extend(reports);
    }
    Ok(())
}

/// A report as a dictionary.
pub fn report_dict<'py>(py: Python<'py>, report: &FlushReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("reason", report.reason.name())?;
    dict.set_item("instructions", report.instructions)?;
    dict.set_item("elements", &report.elements)?;
    dict.set_item("kernels", &report.kernels)?;
    dict.set_item("kernel_count", report.kernels.len())?;
    dict.set_item("tiers", &report.tiers)?;
    dict.set_item("calls", &report.calls)?;
    dict.set_item("steps", &report.steps)?;
    dict.set_item("step_bytes", &report.step_bytes)?;
    dict.set_item("step_seconds", report.step_ns.iter().map(|&ns| ns as f64 / 1e9).collect::<Vec<_>>())?;
    dict.set_item("allocated_buffers", &report.buffers)?;
    dict.set_item("contracted", report.contracted)?;
    dict.set_item("put_off", report.put_off)?;
    dict.set_item("bytes_moved", report.bytes_moved)?;
    dict.set_item("engines", &report.engines)?;
    dict.set_item("bytes_there", report.bytes_there)?;
    dict.set_item("bytes_back", report.bytes_back)?;
    dict.set_item("cache_hit", report.cache_hit)?;
    dict.set_item("seconds", report.total_ns as f64 / 1e9)?;
    Ok(dict)
}

/// Reports flushes to the callable no more.
pub fn silence() {
    WATCHED.store(false, Ordering::Release);
}

/// Keeps the reports of all flushes from now on, until [`taken`].
pub fn keep() {
    *locked(&KEPT) = Some(Vec::new());
    Runtime::global().inspect_start();
}

/// The reports of all flushes since [`keep`], which end the keeping.
pub fn taken() -> Vec<FlushReport> {
    let mut reports = locked(&KEPT).take().unwrap_or_default();
    reports.extend(Runtime::global().inspect_stop());
    if WATCHED.load(Ordering::Acquire) {
        Runtime::global().inspect_start();
    }
    reports
}
