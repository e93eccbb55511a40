//! A unit: a loop of the program, with its code for each combination of argument types. Calling it runs the loop.
//!
//! In: the values of the loop's variables. Out: `None` if CPython has to run the loop, and otherwise a tuple: the
//! number of the statement where CPython goes on (0: the loop is over; -1: the loop has not begun; [`BEGIN`];
//! [`LEAVE`]), for each `for` statement an iterator over its remaining items, and the variables that the loop may
//! assign.
//!
//! Compiling takes some ten milliseconds. A loop for which the program requests it (`numelt.jit`) is compiled when it
//! first runs, and the program waits. Others are compiled in the background (`code`), once CPython would take longer
//! for them (`worth`, `when`). If that takes longer than CPython has, CPython runs them meanwhile. If the code often
//! stops almost at once, the loop is left to CPython for good.

mod entering;
mod paying;
mod when;

pub use entering::prepare;

use crate::cpython::endings::outlive;
use crate::cpython::vectorcall::Entry;
use crate::jit::account::{Account, add_one, get};
use crate::jit::ahead;
use crate::jit::arguments::{self, Numbers, Objects};
use crate::jit::code;
use crate::jit::draws::Generators;
use crate::jit::forced;
use crate::jit::host_functions::{HostFunction, OnCopies, undo_log};
use crate::jit::lists::Appended;
use crate::jit::pool::Pool;
use crate::jit::results::{ResultReader, Shape};
use crate::jit::variant::{ParamSource, Variant};
use crate::numpy::coverage;
use numelt_jit::{Argument, Exit, ObjectKind, StmtKind, Unit, parse_unit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A loop of the program.
#[pyclass(module = "numelt._core", frozen, weakref)]
pub struct JitUnit {
    entry: Entry<JitUnit>,
    tree: Unit,
    names: Vec<Py<PyString>>,
    /// For each slot and each name: is it used as a value, and not only for its attributes?
    uses: Vec<bool>,
    globals: Py<PyDict>,
    #[pyo3(get)]
    filename: String,
    /// Has the program requested compiling (`numelt.jit`)? Otherwise the loop is compiled only if that pays.
    is_requested: bool,
    /// Does this unit resume a loop that CPython has been running?
    is_resumed: bool,
    /// Does the program wait while the loop is compiled? Otherwise that happens in the background.
    is_awaited: bool,
    /// A list of the twin, and the position in it where the unit writes `False` when it leaves the loop to CPython for
    /// good: the twin then does not even ask it.
    due: Option<(Py<PyList>, usize)>,
    /// The number of variants that are being compiled in the background.
    compiling: Arc<AtomicU64>,
    /// The number of times that `__bool__` still answers "no". For a resuming unit this counts iterations, and for a
    /// loop that does not pay yet, runs.
    due_in: AtomicU64,
    /// The number from which `due_in` counts down.
    between: AtomicU64,
    /// An estimate of the nanoseconds that CPython has taken for this loop.
    waited: AtomicU64,
    /// The program waits for code that is being compiled when CPython has taken this many nanoseconds for the loop.
    waits_from: AtomicU64,
    /// The number of `for` statements in the loop, itself included.
    fors: usize,
    /// When a resuming unit was first called.
    first_called: Mutex<Option<Instant>>,
    /// Is it an error if CPython has to run a statement (`numelt.jit(strict=True)`)?
    is_strict: bool,
    variants: Mutex<Vec<Arc<Variant>>>,
    /// The combinations of types that cannot be compiled.
    refused: Mutex<Vec<Refused>>,
    runs: AtomicU64,
    /// The number of consecutive calls after which CPython had to run the loop.
    refusals: AtomicU64,
    /// The variant that ran last.
    last: Mutex<Option<Arc<Variant>>>,
}

/// The answer to a search for code that fits the arguments.
enum Found {
    Code(Arc<Variant>),
    /// There is no code yet, but compiled code may take over while the loop runs.
    Later,
    Nothing,
}

/// A combination of types that cannot be compiled.
struct Refused {
    arguments: Vec<Argument>,
    line: u32,
    why: String,
    /// How often CPython has run the loop for these types.
    runs: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A variant that has stopped almost at once this many times, and in more than half of its runs, is not run any more.
const MOST_EARLY: u64 = 10;
/// A run has stopped almost at once if it took fewer nanoseconds than this, and did fewer iterations of a `for` loop.
const AT_ONCE: u128 = 2000;
const AT_ONCE_ITERATIONS: u64 = 8;
/// The same limit in nanoseconds for a `while` loop, whose iterations are not counted.
const AT_ONCE_WHILE: u128 = 100;
/// A loop that was not requested counts as stopped at once if it ran for fewer nanoseconds than this: CPython runs so
/// few iterations in the time that calling the unit takes.
const TINY: u128 = 45;
/// The answer of a unit that means that CPython begins the loop in the form that compiled code can resume.
const BEGIN: i64 = -2;
/// The answer of a unit that means that compiled code will not take over in this run of a `while` loop.
const LEAVE: i64 = -3;
/// After this many consecutive refusals, CPython runs a `while` loop as written: the form that compiled code can resume
/// takes longer.
const LEAVE_REFUSALS: u64 = 3;
/// After this many consecutive refusals, the loop is left to CPython for good.
const MOST_REFUSALS: u64 = 30;
/// The largest number of variants of a loop.
const MOST_VARIANTS: usize = 16;
#[pymethods]
impl JitUnit {
    #[new]
    #[pyo3(signature = (tree, globals, name, filename, is_requested, is_strict=false, is_resumed=false, is_awaited=false, due=None, is_pure=false))]
    #[allow(clippy::too_many_arguments)] // the arguments of a Python class
    fn new(
        tree: &str,
        globals: Bound<'_, PyDict>,
        name: &str,
        filename: &str,
        is_requested: bool,
        is_strict: bool,
        is_resumed: bool,
        is_awaited: bool,
        due: Option<(Py<PyList>, usize)>,
        is_pure: bool,
    ) -> PyResult<JitUnit> {
        let py = globals.py();
        let mut tree = parse_unit(tree).map_err(PyValueError::new_err)?;
        tree.name = name.to_owned();
        tree.is_resumed = is_resumed;
        tree.is_pure = is_pure;
        let fors = numelt_jit::fors_of(&tree).len();
        let names = tree.inputs.iter().map(|name| PyString::intern(py, name).unbind()).collect();
        Ok(JitUnit {
            entry: Entry::new(),
            uses: numelt_jit::used_as_values(&tree),
            tree,
            names,
            globals: globals.unbind(),
            filename: filename.to_owned(),
            is_requested,
            is_strict,
            is_resumed,
            is_awaited: is_requested || is_awaited,
            due,
            compiling: Arc::default(),
            due_in: AtomicU64::new(if is_resumed { forced::forced_entry().unwrap_or(0) } else { 0 }),
            between: AtomicU64::new(1),
            waited: AtomicU64::new(0),
            waits_from: AtomicU64::new(0),
            fors,
            first_called: Mutex::default(),
            variants: Mutex::default(),
            refused: Mutex::default(),
            runs: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            last: Mutex::default(),
        })
    }

    #[pyo3(signature = (*slots))]
    fn __call__<'py>(&self, slots: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        outlive(|| self.entered(slots.py(), slots.iter()))
    }

    /// Shall the unit be called? Not if the next attempt is not due yet, and not after too many refusals. A unit that
    /// resumes loops has nothing to offer while its code is being compiled.
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if get(&self.refusals) >= MOST_REFUSALS {
            if let Some((due, place)) = &self.due {
                due.bind(py).set_item(*place, false)?;
            }
            return Ok(false);
        }
        if self.is_resumed && self.is_compiling() {
            return Ok(false);
        }
        let due_in = get(&self.due_in);
        if due_in > 0 {
            self.due_in.store(due_in - 1, Ordering::Relaxed);
        }
        Ok(due_in == 0)
    }

    /// A unit belongs to its process. If a function is pickled by value, CPython runs the loops of the copy.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((py.import("numelt._jit.twin")?.getattr("idle_unit")?, PyTuple::empty(py)))
    }

    /// Resets the counts of statements that CPython had to run.
    fn forget_counts(&self) {
        locked(&self.refused).iter_mut().for_each(|refused| refused.runs = 0);
        for variant in locked(&self.variants).iter() {
            variant.taken.iter().for_each(|taken| taken.store(0, Ordering::Relaxed));
        }
    }

    /// Whether the loop is worth calling: the compiler has not refused all types that it met, and the compiled code
    /// mostly runs without stopping at a statement that is never compiled.
    fn pays(&self) -> bool {
        let (mut runs, mut left) = (0, 0);
        let variants = locked(&self.variants);
        for variant in variants.iter() {
            runs += get(&variant.runs);
            let gaps = variant.exits.iter().zip(&variant.taken).filter(|(exit, _)| exit.statement != 0 && exit.is_gap);
            left += gaps.map(|(_, taken)| get(taken)).sum::<u64>();
        }
        (!variants.is_empty() || locked(&self.refused).is_empty()) && 2 * left <= runs
    }

    /// A report on this loop. For each variant it has the exits (line, reason, whether the statement is never compiled,
    /// how often the code stopped there) and the code; for each refused combination of types the types, the line, the
    /// reason and the number of runs.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = PyDict::new(py);
        report.set_item("name", &self.tree.name)?;
        report.set_item("filename", &self.filename)?;
        report.set_item("line", self.tree.body.line)?;
        report.set_item("runs", get(&self.runs))?;
        report.set_item("is_resumed", self.is_resumed)?;
        let variants = PyList::empty(py);
        for variant in locked(&self.variants).iter() {
            let one = PyDict::new(py);
            one.set_item("types", self.types(&variant.arguments))?;
            one.set_item("runs", get(&variant.runs))?;
            one.set_item("early", get(&variant.early))?;
            let exits = PyList::empty(py);
            for (exit, taken) in variant.exits.iter().zip(&variant.taken).filter(|(exit, _)| exit.statement != 0) {
                exits.append((exit.line, &exit.why, exit.is_gap, get(taken)))?;
            }
            one.set_item("exits", exits)?;
            let ahead: Vec<_> = variant.ahead.iter().map(|note| (note.line, &note.why_not, note.is_free)).collect();
            one.set_item("ahead", ahead)?;
            one.set_item("code", &variant.text)?;
            variants.append(one)?;
        }
        report.set_item("variants", variants)?;
        let refused = PyList::empty(py);
        for one in locked(&self.refused).iter() {
            refused.append((self.types(&one.arguments), one.line, &one.why, one.runs))?;
        }
        report.set_item("refused", refused)?;
        Ok(report)
    }
}

/// Raises the exception of a signal handler, if one has been raised while compiled code ran.
#[pyfunction]
pub fn jit_pending(py: Python<'_>) -> PyResult<()> {
    match PENDING.with(|pending| pending.borrow_mut().take()) {
        Some(error) => Err(error),
        None => {
            let _ = py;
            Ok(())
        }
    }
}

thread_local! {
    /// The exception that a signal handler has raised while compiled code ran.
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

impl JitUnit {
    fn types(&self, arguments: &[Argument]) -> String {
        let slots = self.tree.slots.iter().zip(arguments).filter(|(_, argument)| argument.kind == ObjectKind::Value);
        slots.map(|(name, argument)| format!("{name}: {}", argument.ty)).collect::<Vec<_>>().join(", ")
    }

    /// The result for a loop that is not compiled yet: it begins in CPython, in the form that compiled code can resume
    /// ([`BEGIN`]), or leaves that form ([`LEAVE`]). The variables keep their values.
    fn on_in_python<'py>(
        &self,
        py: Python<'py>,
        how: i64,
        slots: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut items: SmallVec<[Bound<'py, PyAny>; 16]> = SmallVec::new();
        items.push(how.into_pyobject(py)?.into_any());
        items.extend((0..self.fors).map(|_| py.None().into_bound(py)));
        for slot in &self.tree.assigned {
            items.push(slots[*slot].clone());
        }
        PyTuple::new(py, items)
    }

    /// Finds the code that fits the arguments, or compiles it.
    fn variant<'py>(
        &self,
        py: Python<'py>,
        last: Option<Arc<Variant>>,
        arguments: &[Argument],
        objects: &mut Objects<'py>,
        numbers: &mut Numbers,
    ) -> PyResult<Found> {
        let count = objects.len();
        let counts = numbers.counts();
        let mut is_last = last.is_some();
        let others = || locked(&self.variants).clone();
        for variant in last.into_iter().chain(std::iter::once_with(others).flatten()) {
            let was_last = std::mem::take(&mut is_last);
            let is_alike = std::ptr::eq(&raw const variant.arguments[..count], arguments)
                || variant.arguments[..count] == *arguments;
            if !is_alike || !variant.is_made_for(objects, 0)? {
                continue;
            }
            if variant.find(py, objects, numbers)? {
                if let Some(found) = self.pending(&variant, arguments, numbers) {
                    return Ok(found);
                }
                if let Some(Err(why)) = variant.code.ready() {
                    let why = why.to_owned();
                    locked(&self.variants).retain(|other| !Arc::ptr_eq(other, &variant));
                    return self.refuse(py, arguments, self.tree.body.line, why);
                }
                if when::is_given_up(&variant) {
                    add_one(&self.refusals);
                    return Ok(Found::Nothing);
                }
                if !was_last {
                    *locked(&self.last) = Some(variant.clone());
                }
                return Ok(Found::Code(variant));
            }
            objects.truncate(count);
            numbers.truncate(counts);
        }
        if !self.is_requested && !self.is_resumed && !self.is_worth_it(arguments, numbers) {
            let is_while = matches!(self.tree.body.kind, StmtKind::While { .. });
            return Ok(if is_while { Found::Later } else { Found::Nothing });
        }
        if self.compiles_in_background() && code::is_compiling() {
            // perhaps that is an outer loop, and this one need not be compiled
            return Ok(self.later(arguments, numbers));
        }
        add_one(&self.refusals);
        let known =
            locked(&self.refused).iter_mut().find(|refused| refused.arguments[..] == *arguments).map(|refused| {
                refused.runs += 1;
                (refused.line, refused.why.clone())
            });
        if let Some((line, why)) = known {
            return self.left_to_python(py, line, &why).map(|()| Found::Nothing);
        }
        if self.has_failed() || locked(&self.variants).len() >= MOST_VARIANTS {
            return Ok(Found::Nothing);
        }
        match Variant::specialized(&self.tree, py, arguments.to_vec(), objects, numbers) {
            Ok(variant) => self.begin_to_compile(py, Arc::new(variant), arguments, numbers),
            Err((line, why)) => self.refuse(py, arguments, line, why),
        }
    }

    /// Finds the code of a new variant on disk, or compiles it: now, or in the background.
    fn begin_to_compile(
        &self,
        py: Python<'_>,
        variant: Arc<Variant>,
        arguments: &[Argument],
        numbers: &Numbers,
    ) -> PyResult<Found> {
        // a long loop in which no code can take over waits for its code
        let waits = !self.is_resumed && self.may_be_long(arguments, numbers) && !self.can_be_resumed(arguments);
        if variant.code.fetch() || waits || !self.compiles_in_background() {
            if let Err(why) = variant.code.compile() {
                return self.refuse(py, arguments, self.tree.body.line, why);
            }
            locked(&self.variants).push(variant.clone());
            return Ok(Found::Code(variant));
        }
        locked(&self.variants).push(variant.clone());
        self.refusals.store(0, Ordering::Relaxed);
        let found = self.later(arguments, numbers);
        variant.code.compile_later(&self.compiling);
        variant.code.wait(self.patience());
        if self.is_resumed {
            self.wait(false);
        }
        Ok(if variant.code.ready().is_some_and(|code| code.is_ok()) { Found::Code(variant) } else { found })
    }

    /// How a loop begins if its code for these arguments has not been compiled yet; `None` if there is code.
    fn pending(&self, variant: &Variant, arguments: &[Argument], numbers: &Numbers) -> Option<Found> {
        if variant.code.ready().is_some() {
            return None;
        }
        variant.code.compile_later(&self.compiling);
        self.note_run(arguments, numbers);
        variant.code.wait(self.patience());
        variant.code.ready().is_none().then(|| self.later(arguments, numbers))
    }

    /// Notes that the loop cannot be compiled for some types.
    fn refuse(&self, py: Python<'_>, arguments: &[Argument], line: u32, why: String) -> PyResult<Found> {
        let refused = Refused { arguments: arguments.to_vec(), line, why: why.clone(), runs: 1 };
        locked(&self.refused).push(refused);
        self.left_to_python(py, line, &why).map(|()| Found::Nothing)
    }

    /// Reports a statement that CPython has to run, if the program requests such reports.
    fn left_to_python(&self, py: Python<'_>, line: u32, why: &str) -> PyResult<()> {
        if !self.is_strict && coverage::is_silent() {
            return Ok(());
        }
        let note = py.import("numelt._jit.reporting")?.getattr("note")?;
        note.call1((&self.tree.name, &self.filename, line, why, self.is_strict)).map(|_| ())
    }

    /// Runs the loop; `None` if CPython has to, because of what the lists hold.
    fn run<'py>(
        &self,
        py: Python<'py>,
        variant: &Variant,
        objects: &[Bound<'py, PyAny>],
        numbers: &mut Numbers,
        accounts: &[Arc<Account>],
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        numbers.lists.retain(|list| !variant.unread.contains(&list.argument));
        let work = self.work(variant, numbers);
        let appended = Appended::new(&variant.appended);
        let (took, lists, generators);
        let copies = !numbers.lists.is_empty() || !variant.draws.is_empty();
        let mut copying = Duration::ZERO;
        let pool = HostFunction::Pool(Mutex::default());
        let code = variant.code.current(self.is_requested).expect("only code that is ready is run");
        let mut frame: SmallVec<[u64; 64]> = SmallVec::from_elem(0, code.words());
        {
            let _held = arguments::hold(py, objects, &variant.written, numbers)?;
            let begun = copies.then(Instant::now);
            // no other thread runs from here on, until the numbers have been written back
            let copied = self.copied_lists(work, variant, objects, numbers);
            let drawn = copied.is_some().then(|| Generators::copied(&variant.draws, objects)).transpose()?.flatten();
            (lists, generators) = match (copied, drawn) {
                (Some(lists), Some(generators)) => (lists, generators),
                _ => {
                    add_one(&variant.runs);
                    add_one(&variant.early);
                    return Ok(None);
                }
            };
            let has_copies = !numbers.lists.is_empty() || !variant.appended.is_empty() || !generators.is_empty();
            let _on_copies = (has_copies || !variant.fields.is_empty()).then(OnCopies::new);
            if let Some(begun) = begun {
                copying = begun.elapsed();
            }
            let mut scratch: Vec<Box<HostFunction>> = Vec::new();
            let keeps = variant.params.iter().any(|param| matches!(param, ParamSource::Log | ParamSource::Undo));
            let mut log = if keeps { undo_log() } else { Vec::new() };
            let undo = HostFunction::Undo(log.as_mut_ptr() as usize, generators.streams(), generators.drawn());
            for (word, source) in frame.iter_mut().zip(&variant.params) {
                *word = match source {
                    ParamSource::Number(at) => numbers.words[*at],
                    ParamSource::Constant(value) => *value,
                    ParamSource::Pool => std::ptr::from_ref(&pool) as u64,
                    ParamSource::Append(argument) => appended.address(*argument),
                    ParamSource::Log => log.as_mut_ptr() as u64,
                    ParamSource::Undo => std::ptr::from_ref(&undo) as u64,
                    ParamSource::Draw(argument, draw) => generators.address(*argument, *draw),
                    ParamSource::Drawn => generators.drawn() as u64,
                    ParamSource::Scratch => {
                        scratch.push(Box::new(HostFunction::Scratch(Mutex::default())));
                        std::ptr::from_ref(&**scratch.last().expect("just pushed")) as u64
                    }
                };
            }
            let start = Instant::now();
            // SAFETY: the frame is as long as the code asks for, the numbers are those of values of the types that it
            // was made for, and the memory of the arrays stays until `_held` is dropped.
            unsafe { code.run(&mut frame) };
            took = start.elapsed();
            variant.code.note_time(took, ahead::spent());
        }
        appended.append(objects)?;
        if copies {
            let begun = Instant::now();
            lists.write_back()?;
            generators.put_back(py)?;
            copying += begun.elapsed();
        }
        if PyErr::occurred(py) {
            let error = PyErr::fetch(py);
            PENDING.with(|pending| *pending.borrow_mut() = Some(error));
        }
        let exit = &variant.exits[frame[0] as usize];
        add_one(&variant.runs);
        add_one(&variant.taken[frame[0] as usize]);
        if exit.is_gap {
            self.left_to_python(py, exit.line, &exit.why)?;
        }
        self.note_gain(exit, variant, numbers, &frame[1..], accounts);
        let is_tiny = !self.is_requested && took.as_nanos() < TINY;
        let stopped_at_once = match exit.sources.first() {
            // the position of the outermost loop comes after the numbers of its iterable
            Some(Some(source)) => {
                took.as_nanos() < AT_ONCE && frame[1 + numelt_jit::source_parts(source)] < AT_ONCE_ITERATIONS
            }
            Some(None) => took.as_nanos() < AT_ONCE,
            None => took.as_nanos() < AT_ONCE_WHILE,
        };
        let in_vain = match copies {
            true => paying::in_vain(&variant.account, copying, work.filter(|_| exit.statement == 0), took),
            false => 0,
        };
        let writes_much = exit.why == numelt_jit::WRITES_MUCH;
        if exit.statement != 0 && stopped_at_once || is_tiny || in_vain > 0 || writes_much {
            variant.early.fetch_add(in_vain.max(1), Ordering::Relaxed);
        } else if self.is_resumed {
            self.wait(false);
        }
        let pool = match &pool {
            HostFunction::Pool(pool) => Some(locked(pool)),
            _ => None,
        };
        let words = &frame[1..];
        let shapes = &variant.shapes[frame[0] as usize];
        self.result(py, exit, variant, shapes, objects, numbers, words, pool.as_deref()).map(Some)
    }

    #[allow(clippy::too_many_arguments)] // all of one run
    fn result<'py>(
        &self,
        py: Python<'py>,
        exit: &Exit,
        variant: &Variant,
        shapes: &[Shape],
        objects: &[Bound<'py, PyAny>],
        numbers: &Numbers,
        words: &[u64],
        pool: Option<&Pool>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let starts = |which: u32| {
            let array = numbers.arrays.iter().find(|array| array.argument == which);
            let list = || numbers.lists.iter().find(|list| list.argument == which).map(|list| list.at);
            array.map(|array| array.at).or_else(list).map_or(0, |at| numbers.words[at + 1])
        };
        let (made, views) = (RefCell::default(), RefCell::default());
        let mut results = ResultReader { py, objects, words, starts: &starts, pool, made: &made, views: &views };
        let statement = match &self.tree.body.kind {
            // the next test is to be evaluated
            StmtKind::While { end, .. } if self.is_resumed && exit.statement == self.tree.body.number => (*end).into(),
            // the loop begins anew
            _ if exit.statement == self.tree.body.number => -1,
            _ => i64::from(exit.statement),
        };
        let mut items: SmallVec<[Bound<'py, PyAny>; 16]> = SmallVec::new();
        items.push(statement.into_pyobject(py)?.into_any());
        for (n, source) in exit.sources.iter().enumerate() {
            items.push(match source {
                Some(source) => results.rest(source, Some(&variant.account).filter(|_| n == 0))?,
                None => py.None().into_bound(py),
            });
        }
        let (of_slots, of_fields) = shapes.split_at(self.tree.assigned.len());
        for shape in of_slots {
            items.push(results.value(shape)?);
        }
        for ((field, start), shape) in variant.fields.iter().zip(of_fields) {
            let argument = field.own().map(|number| &variant.arguments[number as usize].ty);
            let before = argument.zip(start.map(|start| &numbers.words[start..]));
            if let Some(value) = results.changed(shape, before)? {
                objects[field.object as usize].setattr(&field.name[..], value)?;
            }
        }
        PyTuple::new(py, items)
    }
}
