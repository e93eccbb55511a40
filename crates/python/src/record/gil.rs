//! Calls of the runtime during which other Python threads may run.

use crate::record::progress;
use numelt_runtime::Runtime;
use pyo3::prelude::*;

/// A flush of more pending element-operations releases the GIL, so that other Python threads run.
const DETACH_WORK: u64 = 100_000;

/// Calls the runtime, with the GIL released if the call may take long or wait for another thread. The thread that
/// holds a guard may need the GIL to end it, so no thread may wait for a guard while it holds the GIL.
pub fn past_gil<T: Send>(py: Python<'_>, act: impl FnOnce(&Runtime) -> T + Send) -> T {
    let runtime = Runtime::global();
    let work = runtime.pending_work();
    // Between two calls of extension methods, a flush may have to wait for a thread that runs another one and holds the
    // GIL. An extension method that flushes keeps the GIL, because no other thread may see values that wait for its
    // end.
    let may_wait = runtime.may_wait() || runtime.pending_calls() > 0;
    if (work > DETACH_WORK || may_wait) && !runtime.runs_extension() {
        let _watched = progress::watch(work);
        let _away = runtime.away();
        py.detach(|| act(runtime))
    } else {
        act(runtime)
    }
}
