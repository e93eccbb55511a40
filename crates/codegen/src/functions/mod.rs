//! Functions of the function IR as machine code.
//!
//! In: a [`Function`]. Out: [`Compiled`], which runs on a frame of numbers. Not here: what the numbers mean, when to compile.
//!
//! The machine function gets the address of its frame. It reads its parameters from the first words; when it ends, the first
//! word holds the number of the exit, the next ones its values, each in the low bytes of a word.
//!
//! Unlike kernels, functions pass through LLVM's passes: their code has not been laid out for the processor by hand.

mod emit;
mod library;

use crate::lower::calls::ElementLoops;
use crate::lower::math::MathTable;
use crate::target::Effort;
use crate::{builder, cache, host, image, load, register_bytes, target};
use numelt_func::{Function, Instr};
use numelt_ir::{Error, Result};
use numelt_vecmath::Isa;

/// The name of the function in every module and object.
const SYMBOL: &str = "function";
/// What compiled code calls to ask whether it shall stop, and to run a loop of NumPy's.
const POLL: &str = "numelt_poll";
const CALL_LOOP: &str = "numelt_call_loop";

/// What compiled functions call.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Shall the function stop? Asked now and then.
    pub poll: extern "C" fn() -> u8,
    /// Runs a loop of a NumPy ufunc for one element: what describes it, the addresses of the operands and of the result.
    pub call_loop: unsafe extern "C" fn(context: u64, args: *const *mut u8),
}

/// A compiled function.
pub struct Compiled {
    /// # Safety
    /// The frame is as long as [`Compiled::words`] says, the parameters in it are those of the function, and the memory that it
    /// reads and writes is there.
    function: unsafe extern "C" fn(*mut u64),
    words: usize,
    _code: image::Code,
}

impl Compiled {
    /// How many words the frame must have.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Runs it.
    ///
    /// # Safety
    /// The first words of the frame are the parameters, and the addresses among them are those of memory that the function may
    /// use as it does.
    ///
    /// # Panics
    /// If the frame is too short.
    pub unsafe fn run(&self, frame: &mut [u64]) {
        assert!(frame.len() >= self.words, "a frame has room for all parameters and exits");
        // SAFETY: the frame is long enough, the rest is the caller's promise.
        unsafe { (self.function)(frame.as_mut_ptr()) }
    }
}

/// Compiles a function for this machine, or fetches its code from the cache on disk.
///
/// # Errors
/// `Error::Unsupported` for what is not covered, and without LLVM.
pub fn compile(function: &Function, host: Host) -> Result<Compiled> {
    compile_for(function, host, Isa::detect())
}

/// The same for another instruction set that this machine has: for tests.
#[doc(hidden)]
pub fn compile_for(function: &Function, host: Host, isa: Isa) -> Result<Compiled> {
    if !target::runs_here(isa) {
        return Err(Error::Unsupported(format!("{isa:?} code on this processor")));
    }
    let words = words(function);
    let link = |object: &[u8]| {
        let table = MathTable::of(isa);
        let address = |name: &str| match name {
            POLL => Some(host.poll as *const () as usize),
            CALL_LOOP => Some(host.call_loop as *const () as usize),
            _ => library::address(name).or_else(|| table.address(name)),
        };
        let code = image::link(object, SYMBOL, address)?;
        // SAFETY: `emit::generate` made the symbol a C function of one pointer without result.
        let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut u64)>(code.address()) };
        Ok(Compiled { function, words, _code: code })
    };
    let key = || cache::function_key(function, &host::name(isa));
    cache::compiled(key, link, || object(function, isa))
}

fn object(function: &Function, isa: Isa) -> Result<Vec<u8>> {
    load()?;
    target::with_target(isa, Effort::Default, |target| target.object(module(function, isa, target)?))
}

/// The function's IR after the passes, for reading.
///
/// # Errors
/// As [`compile`].
pub fn ir_text(function: &Function) -> Result<String> {
    load()?;
    let isa = Isa::detect();
    target::with_target(isa, Effort::Default, |target| Ok(module(function, isa, target)?.text()))
}

/// The function's machine code as assembly text, for reading.
///
/// # Errors
/// As [`compile`].
pub fn assembly_text(function: &Function) -> Result<String> {
    load()?;
    let isa = Isa::detect();
    target::with_target(isa, Effort::Default, |target| target.assembly(module(function, isa, target)?))
}

fn module(function: &Function, isa: Isa, target: &target::CodeGenerator) -> Result<builder::Builder> {
    let b = target.builder();
    let none = ElementLoops { supports: |_, _, _| false, function: |_| no_loop };
    emit::generate(function, &b, MathTable::of(isa), &none, 8 * register_bytes(isa))?;
    if cfg!(debug_assertions) {
        b.verify().map_err(|text| Error::Engine(format!("generated code is malformed: {text}")))?;
    }
    target.optimize(&b);
    Ok(b)
}

/// Functions have no loops over elements; see [`ElementLoops::supports`] above.
unsafe extern "C" fn no_loop(_: u64, _: *const *const u8, _: *mut u8, _: u64) {}

/// How many words a frame needs.
fn words(function: &Function) -> usize {
    fn most(body: &[Instr]) -> usize {
        let of = |instr: &Instr| match instr {
            Instr::If { then, otherwise, .. } => most(then).max(most(otherwise)),
            Instr::Block { body, .. } | Instr::Loop { body, .. } => most(body),
            Instr::Exit { values, .. } => values.len() + 1,
            _ => 0,
        };
        body.iter().map(of).max().unwrap_or(0)
    }
    most(&function.body).max(function.params.len()).max(1)
}
