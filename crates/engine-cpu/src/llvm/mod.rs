//! Tier 1: kernels compiled by LLVM.
//!
//! In: a [`Kernel`] and an instruction set. Out: a [`Body`] of machine code. Explicit vectors are
//! generated, no IR pass runs, code generation is at O1: a kernel compiles in one to three
//! milliseconds. What is not covered (`Error::Unsupported`) stays on tier 0.
//! Not here: threads, folds, when to compile.
//!
//! `analyze` decides the loops' shape, `loops` writes them, `memory` moves operands, `lower` and the
//! files beside it say what each operation is, `target` makes objects, `cache` keeps them on disk,
//! `jit` links them.

mod analyze;
mod arith;
mod builder;
mod cast;
mod compare;
mod complex;
mod jit;
mod loops;
mod lower;
mod math;
mod memory;
mod power;
mod target;

use crate::body::{Body, Tile};
use analyze::Shape;
use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_vecmath::Isa;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a vector register.
fn register_bytes(isa: Isa) -> u32 {
    match isa {
        Isa::Avx512 => 64,
        Isa::Avx2 => 32,
        Isa::Portable => 16,
    }
}

/// A compiled kernel.
struct Compiled {
    function: unsafe extern "C" fn(*const Tile),
    _code: jit::Code,
}

impl Body for Compiled {
    unsafe fn run(&self, tile: &Tile) {
        // SAFETY: the function was generated for this kernel's tiles; the caller vouches for the memory.
        unsafe { (self.function)(tile) }
    }
}

/// Compiles a kernel for an instruction set that this host has.
pub fn compile(kernel: &Kernel, isa: Isa) -> Result<Arc<dyn Body>> {
    if !target::runs_here(isa) {
        return Err(Error::Unsupported(format!("{isa:?} code on this processor")));
    }
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let symbol = format!("numelt_kernel_{}", SERIAL.fetch_add(1, Ordering::Relaxed));
    let object = target::with_target(isa, |target| target.object(module(kernel, isa, target, &symbol)?))?;
    let code = jit::link(isa, &object, &symbol)?;
    // SAFETY: `loops::generate` made the symbol a C function of one pointer without result.
    let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*const Tile)>(code.address()) };
    Ok(Arc::new(Compiled { function, _code: code }))
}

/// The kernel's IR, for reading.
pub fn ir_text(kernel: &Kernel, isa: Isa) -> Result<String> {
    target::with_target(isa, |target| Ok(module(kernel, isa, target, "kernel")?.text()))
}

/// The kernel's machine code as assembly text, for reading; also for instruction sets the host lacks.
pub fn assembly_text(kernel: &Kernel, isa: Isa) -> Result<String> {
    target::with_target(isa, |target| target.assembly(module(kernel, isa, target, "kernel")?))
}

fn module(kernel: &Kernel, isa: Isa, target: &target::Target, symbol: &str) -> Result<builder::Builder> {
    let shape = Shape::of(kernel, isa)?;
    let b = target.builder();
    let bits = 8 * register_bytes(isa);
    loops::generate(kernel, &shape, &b, math::MathTable::of(isa), symbol, bits)?;
    if cfg!(debug_assertions) {
        b.verify().map_err(|text| Error::Engine(format!("generated code is malformed: {text}")))?;
    }
    Ok(b)
}
