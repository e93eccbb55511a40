//! Functions of the function IR as machine code.
//!
//! In: a [`Function`]. Out: [`Compiled`], which runs on a frame of numbers. Not here: what the numbers mean, when to
//! compile.
//!
//! The machine function gets the address of its frame. It reads its parameters from the first words; when it ends, the
//! first word holds the number of the exit, the next ones its values, each in the low bytes of a word.
//!
//! Unlike kernels, functions pass through LLVM's passes: their code has not been laid out for the processor by hand.

mod ahead;
mod covering;
mod emit;
mod library;
mod select;
mod squares;
pub mod undo;

pub use ahead::{ArrayMemory, Change, IterationsCode, Job, Place, Span};

use crate::lower::calls::ElementLoops;
use crate::lower::math::MathTable;
use crate::target::{Effort, Passes};
use crate::{builder, cache, host, image, load, register_bytes, target};
use numelt_func::{Function, Instr};
use numelt_ir::{Error, Result};
use numelt_vecmath::Isa;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The name of the function in every module and object.
const SYMBOL: &str = "function";
/// What compiled code calls to ask whether it shall stop, and to run a loop of NumPy's.
const POLL: &str = "numelt_poll";
const CALL_LOOP: &str = "numelt_call_loop";
/// The same for iterations that are done ahead: the question whether they shall stop, and the call that does them.
const POLL_AHEAD: &str = "numelt_poll_ahead";
const RUN_AHEAD: &str = "numelt_run_ahead";

/// What compiled functions call.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Whether the function has to stop. It is called from time to time.
    pub poll: extern "C" fn() -> u8,
    /// Runs a loop of a NumPy ufunc for one element: what describes it, the addresses of the operands and of the
    /// result.
    pub call_loop: unsafe extern "C" fn(context: u64, args: *const *mut u8),
    /// Shall iterations that are done ahead be given up? Asked now and then, by any thread that does such iterations.
    pub poll_ahead: extern "C" fn() -> u8,
    /// Does iterations ahead: gets the words of a [`Job`], and returns the number of the first iteration that has not
    /// been done. The values that change from iteration to iteration are replaced by those after the last one.
    pub run_ahead: unsafe extern "C" fn(job: *const u64) -> u64,
}

/// What of a function a piece of machine code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// The function, but for iterations that are done ahead.
    Main(Effort),
    /// These iterations, by their place in the function. They poll, unless there are certainly few of them.
    Ahead { number: usize, polls: bool },
}

/// A function of machine code that gets the address of words.
pub type Machine = unsafe extern "C" fn(*mut u64);

/// A compiled function.
pub struct Compiled {
    /// # Safety
    /// The frame is as long as [`Compiled::words`] says, the parameters in it are those of the function, after them
    /// comes the address of the table, and the memory that it reads and writes is there.
    function: Machine,
    words: usize,
    params: usize,
    table: Arc<Table>,
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
    /// The first words of the frame are the parameters, and the addresses among them are those of memory that the
    /// function may use as it does.
    ///
    /// # Panics
    /// If the frame is too short.
    pub unsafe fn run(&self, frame: &mut [u64]) {
        assert!(frame.len() >= self.words, "a frame has room for all parameters and exits");
        frame[self.params] = std::ptr::from_ref(&*self.table) as u64;
        // SAFETY: the frame is long enough, the rest is the caller's promise.
        unsafe { (self.function)(frame.as_mut_ptr()) }
    }

    /// The same function, compiled with care: it takes longer to compile, and less long to run.
    ///
    /// # Errors
    /// As [`compile`].
    pub fn carefully(&self) -> Result<Compiled> {
        main(self.table.clone(), Effort::Default)
    }

    /// Has it been compiled quickly?
    pub fn is_quick(&self) -> bool {
        !self.table.ahead.is_empty()
    }
}

/// The iterations that a function does ahead. They are compiled when there is enough to do for them.
pub(crate) struct Table {
    source: Function,
    host: Host,
    isa: Isa,
    /// For each of these iterations the code that polls, and the code that does not.
    ahead: Vec<AheadCode>,
}

/// The code of one loop's iterations ahead, and how much work there has been for it, in instructions.
#[derive(Default)]
struct AheadCode {
    compiled: OnceLock<Option<(Machine, image::Code)>>,
    work: AtomicU64,
}

/// The number of instructions for which the exact code of a function takes about as long as compiling its iterations
/// ahead takes; and the number for which it takes about as long as fetching them from the cache on disk.
const WORTH_COMPILING: u64 = 50_000_000;
const WORTH_FETCHING: u64 = 2_000_000;

impl Table {
    /// Is the code with this number there?
    fn is_ready(&self, number: usize) -> bool {
        self.ahead[number].compiled.get().is_some_and(Option::is_some)
    }

    /// The code with this number, for which there are so many instructions to run now. It is fetched
    /// from the cache on disk, or compiled, once there have been enough of them; `None` before, and if that has failed.
    fn function(&self, number: usize, work: u64) -> Option<Machine> {
        let AheadCode { compiled, work: sum } = &self.ahead[number];
        if compiled.get().is_none() {
            let part = Part::Ahead { number: number / 2, polls: number.is_multiple_of(2) };
            let before = sum.fetch_add(work, Ordering::Relaxed);
            let all = before.saturating_add(work);
            if all >= WORTH_COMPILING {
                compiled.get_or_init(|| code(&self.source, part, self.host, self.isa).ok());
            } else if all >= WORTH_FETCHING && before < WORTH_FETCHING {
                let found = kept(&self.source, part, self.host, self.isa)?;
                compiled.get_or_init(|| Some(found));
            }
        }
        compiled.get()?.as_ref().map(|(function, _)| *function)
    }
}

/// Compiles a function for this machine, or fetches its code from the cache on disk. If it does iterations ahead, what
/// remains is compiled quickly, since most iterations are done there.
///
/// # Errors
/// `Error::Unsupported` for what is not covered, and without LLVM.
pub fn compile(function: &Function, host: Host) -> Result<Compiled> {
    compile_for(function, host, Isa::detect())
}

/// Fetches a function's code from the cache on disk, if it is there, as [`compile`] does.
pub fn fetch(function: &Function, host: Host) -> Option<Compiled> {
    let (table, effort) = table(function, host, Isa::detect());
    let machine = kept(&table.source, Part::Main(effort), table.host, table.isa)?;
    Some(of_table(table, machine))
}

/// The same as [`compile`] for another instruction set that this machine has: for tests.
#[doc(hidden)]
pub fn compile_for(function: &Function, host: Host, isa: Isa) -> Result<Compiled> {
    if !target::runs_here(isa) {
        return Err(Error::Unsupported(format!("{isa:?} code on this processor")));
    }
    let (table, effort) = table(function, host, isa);
    main(table, effort)
}

/// The table of a function, and how carefully the function is compiled at first.
fn table(function: &Function, host: Host, isa: Isa) -> (Arc<Table>, Effort) {
    let count = 2 * ahead::outlined(function).len();
    let ahead = (0..count).map(|_| AheadCode::default()).collect::<Vec<_>>();
    let effort = if ahead.is_empty() { Effort::Default } else { Effort::Quick };
    (Arc::new(Table { source: function.clone(), host, isa, ahead }), effort)
}

fn main(table: Arc<Table>, effort: Effort) -> Result<Compiled> {
    let machine = code(&table.source, Part::Main(effort), table.host, table.isa)?;
    Ok(of_table(table, machine))
}

fn of_table(table: Arc<Table>, (function, code): (Machine, image::Code)) -> Compiled {
    let (words, params) = (words(&table.source), table.source.params.len());
    Compiled { function, words, params, table, _code: code }
}

/// The machine code of a part.
fn code(function: &Function, part: Part, host: Host, isa: Isa) -> Result<(Machine, image::Code)> {
    let key = || cache::function_key(function, part, &host::name(isa));
    cache::compiled(key, |object| link(object, host, isa), || object(function, part, isa))
}

/// The same if it is in the cache on disk.
fn kept(function: &Function, part: Part, host: Host, isa: Isa) -> Option<(Machine, image::Code)> {
    let key = || cache::function_key(function, part, &host::name(isa));
    cache::kept(key, |object| link(object, host, isa))
}

fn link(object: &[u8], host: Host, isa: Isa) -> Result<(Machine, image::Code)> {
    let table = MathTable::of(isa);
    let address = |name: &str| match name {
        POLL => Some(host.poll as *const () as usize),
        CALL_LOOP => Some(host.call_loop as *const () as usize),
        POLL_AHEAD => Some(host.poll_ahead as *const () as usize),
        RUN_AHEAD => Some(host.run_ahead as *const () as usize),
        squares::SQUARES => Some(numelt_vecmath::squares::squares(isa) as *const () as usize),
        _ => library::address(name).or_else(|| table.address(name)),
    };
    let code = image::link(object, SYMBOL, address)?;
    // SAFETY: `emit::generate` made the symbol a C function of one pointer without result.
    let function = unsafe { std::mem::transmute::<usize, Machine>(code.address()) };
    Ok((function, code))
}

fn object(function: &Function, part: Part, isa: Isa) -> Result<Vec<u8>> {
    load()?;
    target::with_target(isa, part.effort(), |target| target.object(module(function, part, isa, target)?))
}

impl Part {
    fn effort(self) -> Effort {
        match self {
            Part::Main(effort) => effort,
            Part::Ahead { .. } => Effort::Default,
        }
    }

    fn passes(self) -> Passes {
        match self {
            Part::Main(Effort::Quick) => Passes::Few,
            Part::Main(_) => Passes::Exits,
            Part::Ahead { .. } => Passes::Vector,
        }
    }
}

/// The function's IR after the passes, for reading: first the function itself, then iterations that it does ahead.
///
/// # Errors
/// As [`compile`].
pub fn ir_text(function: &Function) -> Result<String> {
    text_of(function, &|part, isa, target| Ok(module(function, part, isa, target)?.text()))
}

/// The function's machine code as assembly text, for reading.
///
/// # Errors
/// As [`compile`].
pub fn assembly_text(function: &Function) -> Result<String> {
    text_of(function, &|part, isa, target| target.assembly(module(function, part, isa, target)?))
}

fn text_of(function: &Function, text: &dyn Fn(Part, Isa, &target::CodeGenerator) -> Result<String>) -> Result<String> {
    load()?;
    let isa = Isa::detect();
    let ahead = (0..ahead::outlined(function).len()).map(|number| Part::Ahead { number, polls: true });
    let parts = [Part::Main(Effort::Default)].into_iter().chain(ahead);
    parts.map(|part| target::with_target(isa, Effort::Default, |target| text(part, isa, target))).collect()
}

fn module(function: &Function, part: Part, isa: Isa, target: &target::CodeGenerator) -> Result<builder::Builder> {
    let b = target.builder();
    let none = ElementLoops { supports: |_, _, _| false, function: |_| no_loop };
    emit::generate(function, part, &b, MathTable::of(isa), &none, 8 * register_bytes(isa))?;
    if cfg!(debug_assertions) {
        b.verify().map_err(|text| Error::Engine(format!("generated code is malformed: {text}")))?;
    }
    target.optimize(&b, part.passes());
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
    most(&function.body).max(function.params.len() + 1)
}
