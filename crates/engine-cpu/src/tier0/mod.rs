//! Tier 0: a blocked interpreter that needs no compiler.
//!
//! In: a kernel. Out: a [`Body`]. Each operation of the kernel runs as one loop over a block of points, whose values
//! fit the L1 cache. Not here: threads, folding, loops beyond the two innermost.

mod cast;
pub(crate) mod checks;
mod complex;
mod divide;
mod elem;
mod func;
mod gather;
mod half;
mod loops;
mod math;
mod observed;
mod ops;
mod pack;
mod program;
pub(crate) mod report;
mod run;
mod select;
mod with;

pub(crate) use elem::{Any, B8, Bits, Elem, Inexact, Number};
pub(crate) use func::Func;
pub(crate) use pack::{Rect, pack, splat, unpack};
pub(crate) use report::{Audit, met_by_half_folds, met_by_results};
pub(crate) use select::{select, select_cast, select_divide_by};
pub(crate) use with::with;

use crate::isa::Isa;
use numelt_codegen::{Body, Tile};
use numelt_ir::Result;
use numelt_opt::Kernel;
use std::sync::OnceLock;

/// A kernel compiled for the blocked interpreter.
pub struct Interpreter {
    code: program::Code,
    block: usize,
}

impl Interpreter {
    /// Compiles a kernel; `block` is the number of points per block, zero to let the number of values decide.
    pub fn new(kernel: &Kernel, isa: Isa, block: usize) -> Result<Interpreter> {
        let code = program::build(kernel, isa)?;
        let block = if block > 0 { block } else { default_block(&code) };
        Ok(Interpreter { code, block })
    }
}

/// The largest power of two, from 256 to 1024 points, for which the registers stay in the L1 cache. Kernels with many
/// values are bound by arithmetic, for which the L2 cache is near enough.
fn default_block(code: &program::Code) -> usize {
    let values = code.slots.max(1) * code.element;
    let mut block = 1024;
    // a quarter of the cache is left for everything else
    while block > 256 && block * values > l1_bytes() / 4 * 3 {
        block /= 2;
    }
    block
}

/// The size of the L1 data cache of this machine; 32 KB if the system does not say.
fn l1_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            // SAFETY: no memory is involved.
            let found = unsafe { libc::sysconf(libc::_SC_LEVEL1_DCACHE_SIZE) };
            if (16 << 10..=1 << 20).contains(&found) {
                return found as usize;
            }
        }
        32 << 10
    })
}

impl Interpreter {
    /// Evaluates a tile without storing anything, and determines which values meet which of the conditions that `audit`
    /// still looks for.
    ///
    /// # Safety
    /// The contract of [`Body::run`]; nothing is written to `Store` and `Reduced` arguments.
    pub unsafe fn audit(&self, tile: &Tile, audit: &Audit) {
        // SAFETY: the caller's contract is the same.
        unsafe { run::run(&self.code, self.block, tile, Some(audit)) }
    }
}

impl Body for Interpreter {
    unsafe fn run(&self, tile: &Tile) {
        // SAFETY: the caller's contract is the same.
        unsafe { run::run(&self.code, self.block, tile, None) }
    }
}
