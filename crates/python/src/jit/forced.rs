//! Switches by which tests steer compiled loops, and the setting of iterations ahead.
//!
//! In: what a test or a benchmark asks for. Out: answers to the files of this folder, which ask at each decision.

use numelt_jit::IterationsAhead;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// For tests: the number of the statement at which newly compiled loops stop. Zero means none.
static FORCED: AtomicU32 = AtomicU32::new(0);

/// Sets, for tests, the number of the statement at which loops that are compiled from now on stop. Zero switches this
/// off. With any other number, loops are resumed as soon as possible.
#[pyfunction]
pub fn jit_force_exit(statement: u32) {
    FORCED.store(statement, Ordering::Relaxed);
}

/// For tests: the number of iterations after which compiled code takes over. `NEVER` means that this is not forced.
static FORCED_ENTRY: AtomicU64 = AtomicU64::new(NEVER);
const NEVER: u64 = u64::MAX;

/// Makes all loops, for tests, begin in CPython in the form that compiled code can resume. Their code is compiled at
/// once, and takes over at the beginning of an iteration, when CPython has run this number of iterations since compiled
/// code ran there last. `None` switches this off.
#[pyfunction]
#[pyo3(signature = (iterations=None))]
pub fn jit_force_entry(iterations: Option<u64>) {
    FORCED_ENTRY.store(iterations.unwrap_or(NEVER), Ordering::Relaxed);
}

/// The number of iterations after which compiled code must take over, if it must.
pub fn forced_entry() -> Option<u64> {
    Some(FORCED_ENTRY.load(Ordering::Relaxed)).filter(|iterations| *iterations != NEVER)
}

/// For tests: whether the compiler works (0), reports an error (1), or panics (2).
static DEFECT: AtomicU32 = AtomicU32::new(0);

/// Makes the compiler fail, for tests, with an error or a panic, for all code that is compiled from now on. `None`
/// switches this off.
#[pyfunction]
#[pyo3(signature = (panics=None))]
pub fn jit_break_compiler(panics: Option<bool>) {
    DEFECT.store(panics.map_or(0, |panics| 1 + u32::from(panics)), Ordering::Relaxed);
}

/// Fails as the compiler could, if a test asks for that.
///
/// # Errors
/// The message of the compiler.
pub fn forced_defect() -> Result<(), String> {
    match DEFECT.load(Ordering::Relaxed) {
        0 => Ok(()),
        1 => Err("an instruction that cannot be selected".into()),
        _ => panic!("a defect of the compiler, forced by a test"),
    }
}

/// The number of the statement at which loops that are compiled now must stop, if any.
pub fn forced_exit() -> Option<u32> {
    Some(FORCED.load(Ordering::Relaxed)).filter(|statement| *statement != 0)
}

/// Which loops run iterations ahead, if they are compiled from now on.
static AHEAD: AtomicU32 = AtomicU32::new(1);

/// Sets which loops run iterations ahead, if they are compiled from now on: none (0), those with enough work (1), or,
/// for tests, the same even if compiling the iterations takes longer than the exact code (2), and all loops for which
/// it is possible, on several threads (3).
#[pyfunction]
pub fn jit_iterations_ahead(which: u32) {
    AHEAD.store(which, Ordering::Relaxed);
}

/// Which loops run iterations ahead.
pub fn iterations_ahead() -> IterationsAhead {
    match AHEAD.load(Ordering::Relaxed) {
        0 => IterationsAhead::None,
        1 | 2 => IterationsAhead::Many,
        _ => IterationsAhead::All,
    }
}

/// Are iterations ahead compiled as soon as there are some, whether or not that pays?
pub fn are_compiled_at_once() -> bool {
    AHEAD.load(Ordering::Relaxed) > 1
}
