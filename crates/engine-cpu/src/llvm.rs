//! Tier 1: kernels compiled by LLVM (crate `numelt-codegen`). For operations that have no code of their own, they call
//! the loops of tier 0.
//!
//! In: a kernel and an instruction set. Out: a [`Body`] of machine code. Not here: code generation, and when to
//! compile.
//!
//! The called loops raise the processor's flags by the rules of `tier0/report.rs`, whichever instructions they use.

use crate::tier0::report::{self, Report};
use crate::tier0::{Func, select};
use numelt_codegen::{ApplyLoop, Body, Constants, ElementLoops, kernels};
use numelt_ir::Result;
use numelt_opt::Kernel;
use numelt_vecmath::{Isa, flags};
use std::sync::{Arc, OnceLock};

pub use numelt_codegen::{Options, rest, set_options};

/// The loops of tier 0.
const LOOPS: ElementLoops =
    ElementLoops { supports: |op, ty, isa| function(ElementLoops::id(op, ty), isa).is_some(), function: applying };

/// What is known about an operation on a dtype.
type Entry = OnceLock<Option<(Func, Report)>>;

/// The function of an operation on a dtype, and how its flags are determined, looked up at its first call.
fn function(id: usize, isa: Isa) -> Option<(Func, Report)> {
    static TABLES: [OnceLock<Vec<Entry>>; 3] = [const { OnceLock::new() }; 3];
    let table = TABLES[isa as usize].get_or_init(|| (0..ElementLoops::IDS).map(|_| OnceLock::new()).collect());
    let find = || {
        let (op, ty) = ElementLoops::of_id(id)?;
        Some((select(op, ty, isa).ok()?, report::of(op, ty)))
    };
    *table.get(id)?.get_or_init(find)
}

/// Applies operation `id` to `n` elements of each operand.
///
/// # Safety
/// The contract of [`Func::call`], with as many operands as the operation has.
unsafe extern "C" fn apply<const ISA: usize>(id: u64, ins: *const *const u8, out: *mut u8, n: u64) {
    let isa = Isa::ALL.into_iter().find(|isa| *isa as usize == ISA).unwrap_or(Isa::Portable);
    if let Some((func, report)) = function(id as usize, isa) {
        let (before, n) = (flags::save(), n as usize);
        // SAFETY: compiled code passes three pointers, of which the operation's own are valid, and its results'
        // room; both come from the code's own stack.
        unsafe {
            func.call([*ins, *ins.add(1), *ins.add(2)], out, n);
            match report {
                Report::Hardware => {}
                Report::Quiet => before.restore_with(0),
                Report::Checked(check) => before.restore_with(check(ins, out, n)),
                Report::Added(check) => flags::raise(check(ins, out, n)),
            }
        }
    }
}

/// [`apply`] with the loops of an instruction set.
fn applying(isa: Isa) -> ApplyLoop {
    match isa as usize {
        0 => apply::<0>,
        1 => apply::<1>,
        _ => apply::<2>,
    }
}

/// Compiles a kernel for an instruction set that this machine has, or fetches its code from the cache on disk.
///
/// # Errors
/// `Error::Unsupported` if the kernel is not supported; it then stays on tier 0.
pub fn compile(kernel: &Kernel, isa: Isa) -> Result<Arc<dyn Body>> {
    kernels::compile(kernel, None, isa, &LOOPS)
}

/// The same for tiles of one geometry only.
///
/// # Errors
/// As [`compile`].
pub fn compile_fixed(kernel: &Kernel, constants: &Constants, isa: Isa) -> Result<Arc<dyn Body>> {
    kernels::compile(kernel, Some(constants), isa, &LOOPS)
}

/// Compiles for `isa` with the lanes and tails of `shape`. Tests use this to run the masked code of wider instruction
/// sets on machines that lack them.
#[doc(hidden)]
pub fn compile_in_shape_of(kernel: &Kernel, shape: Isa, isa: Isa) -> Result<Arc<dyn Body>> {
    kernels::compile_in_shape_of(kernel, None, shape, isa, &LOOPS)
}

/// [`compile_fixed`] with the lanes of `shape`, as [`compile_in_shape_of`].
#[doc(hidden)]
pub fn compile_fixed_in_shape_of(
    kernel: &Kernel,
    constants: &Constants,
    shape: Isa,
    isa: Isa,
) -> Result<Arc<dyn Body>> {
    kernels::compile_in_shape_of(kernel, Some(constants), shape, isa, &LOOPS)
}

/// The kernel's IR, for reading.
pub fn ir_text(kernel: &Kernel, isa: Isa) -> Result<String> {
    kernels::ir_text(kernel, isa, &LOOPS)
}

/// The kernel's machine code as assembly text, for reading; also for instruction sets the host lacks.
pub fn assembly_text(kernel: &Kernel, isa: Isa) -> Result<String> {
    kernels::assembly_text(kernel, isa, &LOOPS)
}
