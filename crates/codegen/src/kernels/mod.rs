//! Kernels as machine code.
//!
//! In: a [`Kernel`] and an instruction set. Out: a [`Body`].
//! Not here: threads, folds, when to compile.
//!
//! `tile` is the contract with the driver; `analyze` decides the loops' shape (`unroll` how many vectors a turn takes),
//! `loops` writes them.

mod analyze;
mod depth;
mod loops;
mod tile;
mod unroll;

pub use loops::Constants;
pub use tile::{Body, Tile, first_of_value, repeats};

use crate::lower::Callees;
use crate::lower::calls::{self, ElementLoops};
use crate::lower::math::MathTable;
use crate::target::Effort;
use crate::{builder, cache, host, image, load, register_bytes, target};
use analyze::Shape;
use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_vecmath::Isa;
use std::sync::Arc;

/// The name of the function in every module and object.
const SYMBOL: &str = "kernel";

/// A compiled kernel.
struct CompiledKernel {
    /// # Safety
    /// The tile's pointers and extents are those that the kernel was compiled for.
    function: unsafe extern "C" fn(*const Tile),
    _code: image::Code,
}

impl Body for CompiledKernel {
    // SAFETY: the contract is the trait's.
    unsafe fn run(&self, tile: &Tile) {
        // SAFETY: the function was generated for this kernel's tiles; the caller vouches for the memory.
        unsafe { (self.function)(tile) }
    }
}

/// A kernel to compile, and the options for compiling it.
#[derive(Clone, Copy)]
struct KernelJob<'a> {
    kernel: &'a Kernel,
    /// Numbers of its tiles, where it is compiled for tiles of one geometry and for no others.
    constants: Option<&'a Constants>,
    /// The instruction set whose lanes and tails the code has; `isa` but in tests.
    shape: Isa,
    isa: Isa,
    loops: &'a ElementLoops,
}

/// Compiles a kernel for an instruction set that this host has, or fetches its code from the cache on disk; with
/// `constants` for tiles of that geometry, and for no others.
///
/// # Errors
/// `Error::Unsupported` for kernels that cannot be compiled.
pub fn compile(
    kernel: &Kernel,
    constants: Option<&Constants>,
    isa: Isa,
    loops: &ElementLoops,
) -> Result<Arc<dyn Body>> {
    if !target::runs_here(isa) {
        return Err(Error::Unsupported(format!("{isa:?} code on this processor")));
    }
    let job = KernelJob { kernel, constants, shape: isa, isa, loops };
    let key = || cache::key(kernel, constants, &host::name(isa));
    cache::compiled(key, |object| job.link(object), || job.object())
}

/// Compiles for `isa` with the lanes and tails that `shape` would have: how tests run the masked
/// code of wider instruction sets on machines that lack them.
#[doc(hidden)]
pub fn compile_in_shape_of(
    kernel: &Kernel,
    constants: Option<&Constants>,
    shape: Isa,
    isa: Isa,
    loops: &ElementLoops,
) -> Result<Arc<dyn Body>> {
    let job = KernelJob { kernel, constants, shape, isa, loops };
    job.link(&job.object()?)
}

/// The kernel's IR, for reading.
pub fn ir_text(kernel: &Kernel, isa: Isa, loops: &ElementLoops) -> Result<String> {
    load()?;
    let job = KernelJob { kernel, constants: None, shape: isa, isa, loops };
    target::with_target(isa, Effort::Less, |target| Ok(job.module(target)?.text()))
}

/// The kernel's machine code as assembly text, for reading; also for instruction sets the host lacks.
pub fn assembly_text(kernel: &Kernel, isa: Isa, loops: &ElementLoops) -> Result<String> {
    load()?;
    let job = KernelJob { kernel, constants: None, shape: isa, isa, loops };
    target::with_target(isa, Effort::Less, |target| target.assembly(job.module(target)?))
}

impl KernelJob<'_> {
    fn object(&self) -> Result<Vec<u8>> {
        load()?;
        target::with_target(self.isa, Effort::Less, |target| target.object(self.module(target)?))
    }

    fn link(&self, object: &[u8]) -> Result<Arc<dyn Body>> {
        let table = MathTable::of(self.isa);
        let address = |name: &str| match name {
            calls::SYMBOL => Some((self.loops.function)(self.isa) as usize),
            _ => table.address(name),
        };
        let code = image::link(object, SYMBOL, address)?;
        // SAFETY: `loops::generate` made the symbol a C function of one pointer without result.
        let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*const Tile)>(code.address()) };
        Ok(Arc::new(CompiledKernel { function, _code: code }))
    }

    fn module(&self, target: &target::CodeGenerator) -> Result<builder::Builder> {
        let shape = Shape::of(self.kernel, self.shape)?;
        let b = target.builder();
        let callees = Callees { math: MathTable::of(self.isa), loops: self.loops };
        loops::generate(self.kernel, self.constants, &shape, &b, callees, SYMBOL, 8 * register_bytes(self.isa))?;
        if cfg!(debug_assertions) {
            b.verify().map_err(|text| Error::Engine(format!("generated code is malformed: {text}")))?;
        }
        Ok(b)
    }
}
