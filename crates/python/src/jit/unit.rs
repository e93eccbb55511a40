//! A loop of the program: its code for each combination of types, and running it.
//!
//! In: the values of the loop's variables. Out: `None`, if CPython is to run the loop, or a tuple: the number of the
//! statement where it goes on (0: the loop is over), the rest of each `for` statement's iterator, the variables that
//! the loop may assign.
//!
//! Compiling takes some milliseconds. A loop that the program asks for (`numelt.jit`) is compiled when it first runs,
//! others once CPython would take longer for them (`worth`). If the code gives up too often, CPython takes over for
//! good.

use crate::jit::ahead;
use crate::jit::given::{self, Numbers};
use crate::jit::pool::Pool;
use crate::jit::rest::Rest;
use crate::jit::results::{Left, Shape};
use crate::jit::variant::{Source, Variant, add_one, get};
use crate::jit::world::{self, Outer};
use crate::jit::worth;
use crate::numpy::coverage;
use crate::record::{errstate, run};
use numelt_jit::{Exit, Given, StmtKind, Thing, Unit, parse_unit};
use numelt_runtime::Reason;
use pyo3::exceptions::{PyTypeError, PyValueError};
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
    tree: Unit,
    names: Vec<Py<PyString>>,
    globals: Py<PyDict>,
    #[pyo3(get)]
    filename: String,
    /// Does the program ask for it (`numelt.jit`)? Otherwise the loop must be worth it.
    is_asked: bool,
    /// Does it take over where CPython has gone on with a loop?
    is_resumed: bool,
    /// A unit that takes over is asked again after so many iterations, and a loop that is not worth while after so many
    /// runs: when, and how many there are between.
    due_in: AtomicU64,
    between: AtomicU64,
    /// How many nanoseconds CPython has taken for it, roughly.
    waited: AtomicU64,
    /// How many `for` statements there are in it.
    fors: usize,
    /// When it was first asked, until it has code.
    first_asked: Mutex<Option<Instant>>,
    /// Is it an error if CPython has to do something (`numelt.jit(strict=True)`)?
    is_strict: bool,
    variants: Mutex<Vec<Arc<Variant>>>,
    /// Combinations of types that are not compiled.
    refused: Mutex<Vec<Refused>>,
    runs: AtomicU64,
    /// How often in a row CPython has had to run it.
    refusals: AtomicU64,
    /// The code that ran last.
    last: Mutex<Option<Arc<Variant>>>,
}

/// What there is for a combination of types.
enum Found {
    Code(Arc<Variant>),
    /// Code once it is worth while.
    Later,
    Nothing,
}

/// A combination of types that is not compiled.
struct Refused {
    given: Vec<Given>,
    line: u32,
    why: String,
    /// How often CPython has run the loop for it.
    runs: u64,
}

/// What a loop is given, and what has been found outside.
pub type Objects<'py> = SmallVec<[Bound<'py, PyAny>; 16]>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loop that the program does not ask for is compiled when CPython has taken so many nanoseconds for it, as far as
/// they can be estimated: about what compiling takes.
const WORTH: f64 = 10e6;

/// The part of it that runs may take which are not asked for, and how many these are at most. A `while` loop may be a
/// long one.
const SMALL_PART: f64 = 0.01;
const MOST_UNASKED: u64 = 64;
const MOST_UNASKED_WHILE: u64 = 8;

/// A variant that did nothing worth while at least this often, and in most of its runs, is not run any more.
const MOST_EARLY: u64 = 10;
/// What code has at least done, in nanoseconds or in iterations of a `for` loop, if it did not stop at once.
const AT_ONCE: u128 = 2000;
const AT_ONCE_ITERATIONS: u64 = 8;
/// The same in nanoseconds for a `while` loop, whose iterations are not counted.
const AT_ONCE_WHILE: u128 = 100;
/// The same for a loop that CPython can run as fast as it can ask for the code: a few iterations.
const TINY: u128 = 45;
/// A loop that CPython had to run so often in a row is not looked at any more.
const MOST_REFUSALS: u64 = 30;
/// How long CPython must have been busy with a loop before what takes over is compiled, which takes some milliseconds.
const BUSY: Duration = Duration::from_millis(5);
const BUSY_IF_ASKED: Duration = Duration::from_micros(200);
/// The most iterations of a loop between those at which compiled code may take over again.
const MOST_BETWEEN: u64 = 1024;
/// More combinations of types than this are not compiled.
const MOST_VARIANTS: usize = 16;

#[pymethods]
impl JitUnit {
    #[new]
    #[pyo3(signature = (tree, globals, name, filename, is_asked, is_strict=false, is_resumed=false))]
    fn new(
        tree: &str,
        globals: Bound<'_, PyDict>,
        name: &str,
        filename: &str,
        is_asked: bool,
        is_strict: bool,
        is_resumed: bool,
    ) -> PyResult<JitUnit> {
        let py = globals.py();
        let mut tree = parse_unit(tree).map_err(PyValueError::new_err)?;
        tree.name = name.to_owned();
        let fors = numelt_jit::fors_of(&tree).len();
        let names = tree.inputs.iter().map(|name| PyString::intern(py, name).unbind()).collect();
        Ok(JitUnit {
            tree,
            names,
            globals: globals.unbind(),
            filename: filename.to_owned(),
            is_asked,
            is_strict,
            is_resumed,
            due_in: AtomicU64::new(0),
            between: AtomicU64::new(1),
            waited: AtomicU64::new(0),
            fors,
            first_asked: Mutex::default(),
            variants: Mutex::default(),
            refused: Mutex::default(),
            runs: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            last: Mutex::default(),
        })
    }

    #[pyo3(signature = (*slots))]
    fn __call__<'py>(&self, slots: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let py = slots.py();
        if get(&self.refusals) >= MOST_REFUSALS {
            return Ok(None);
        }
        if slots.len() != self.tree.slots.len() {
            return Err(PyTypeError::new_err("a loop gets a value per variable"));
        }
        if errstate::is_touched() && errstate::is_strict(py)? {
            return Ok(None);
        }
        add_one(&self.runs);
        let mut objects: Objects<'py> = slots.iter().collect();
        if self.is_resumed {
            self.wait(true);
            if !self.is_overdue() {
                return Ok(None);
            }
            for object in &mut objects {
                if let Ok(rest) = object.cast_exact::<Rest>() {
                    let ahead = rest.borrow().ahead(py)?;
                    *object = ahead;
                }
            }
        }
        let globals = self.globals.bind(py);
        for name in &self.names {
            let found = world::lookup(globals, name.bind(py))?;
            objects.push(found.map_or_else(|| given::unbound(py), Ok)?);
        }
        let mut numbers = Numbers::default();
        let mut given: SmallVec<[Given; 12]> = SmallVec::new();
        for (number, object) in objects.iter().enumerate() {
            given.push(given::classify(object, number as u32, &mut numbers)?);
        }
        match self.variant(py, given, &mut objects, &mut numbers)? {
            Found::Code(variant) => {
                self.refusals.store(0, Ordering::Relaxed);
                self.run(py, &variant, &objects, numbers).map(Some)
            }
            Found::Later => self.begin_in_python(py, slots),
            Found::Nothing => Ok(None),
        }
    }

    /// Is it worth asking? Not between the iterations after which a unit takes over, and not once CPython has had to
    /// run the loop too often.
    fn __bool__(&self) -> bool {
        if get(&self.refusals) >= MOST_REFUSALS {
            return false;
        }
        let due_in = get(&self.due_in);
        if due_in > 0 {
            self.due_in.store(due_in - 1, Ordering::Relaxed);
        }
        due_in == 0
    }

    /// A unit belongs to its process. Where functions are pickled by value, the copies run their loops in CPython.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((py.import("numelt._jit.twin")?.getattr("idle_unit")?, PyTuple::empty(py)))
    }

    /// Sets the counts to zero that tell what was left to CPython.
    fn forget_counts(&self) {
        locked(&self.refused).iter_mut().for_each(|refused| refused.runs = 0);
        for variant in locked(&self.variants).iter() {
            variant.taken.iter().for_each(|taken| taken.store(0, Ordering::Relaxed));
        }
    }

    /// What is known of this loop: for each combination of types its exits (line, reason, whether compiled code never
    /// does the statement, how often it stopped there) and its code; and what was refused: types, line, reason, number
    /// of runs.
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
            one.set_item("types", self.types(&variant.given))?;
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
            refused.append((self.types(&one.given), one.line, &one.why, one.runs))?;
        }
        report.set_item("refused", refused)?;
        Ok(report)
    }
}

/// Raises the exception of a signal's handler, if that is why compiled code stopped.
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
    /// The exception of a signal's handler that ran while compiled code did.
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

impl JitUnit {
    /// Has CPython been busy with the loop for so long that it is worth compiling what takes over?
    fn is_overdue(&self) -> bool {
        let mut first = locked(&self.first_asked);
        let first = first.get_or_insert_with(Instant::now);
        world::forced_exit().is_some() || first.elapsed() >= if self.is_asked { BUSY_IF_ASKED } else { BUSY }
    }

    /// Sets when this unit is asked again: sooner if it had something to do, later if not.
    fn wait(&self, longer: bool) {
        let between = if longer { (2 * get(&self.between)).min(MOST_BETWEEN) } else { 1 };
        self.between.store(between, Ordering::Relaxed);
        self.due_in.store(between, Ordering::Relaxed);
    }

    fn types(&self, given: &[Given]) -> String {
        let slots = self.tree.slots.iter().zip(given).filter(|(_, given)| given.thing == Thing::Value);
        slots.map(|(name, given)| format!("{name}: {}", given.ty)).collect::<Vec<_>>().join(", ")
    }

    /// Has CPython done so much for this loop, or will it, that compiling is worth while? If not, the next runs are not
    /// even asked for, as many as a small part of that takes, since asking takes as long as some iterations.
    fn is_worth_it(&self, given: &[Given], numbers: &Numbers) -> bool {
        let Some(now) = worth::nanoseconds(&self.tree, given, numbers) else { return true };
        // those not asked for are thought to be like this one
        let all = now * get(&self.between) as f64;
        let before = self.waited.fetch_add(all.min(WORTH) as u64, Ordering::Relaxed);
        if before as f64 + all >= WORTH {
            return true;
        }
        let is_while = matches!(self.tree.body.kind, StmtKind::While { .. });
        let most = if is_while { MOST_UNASKED_WHILE } else { MOST_UNASKED };
        let between = ((WORTH * SMALL_PART / now.max(1.0)) as u64).clamp(1, most);
        self.between.store(between, Ordering::Relaxed);
        self.due_in.store(between - 1, Ordering::Relaxed);
        false
    }

    /// A loop that is not compiled yet. The iterations of a `while` loop cannot be counted, so compiled code takes over
    /// if they take long: the loop begins in CPython as if compiled code had stopped at the end of an iteration before
    /// the first one.
    fn begin_in_python<'py>(
        &self,
        py: Python<'py>,
        slots: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let StmtKind::While { end, .. } = &self.tree.body.kind else { return Ok(None) };
        let mut items: SmallVec<[Bound<'py, PyAny>; 16]> = SmallVec::new();
        items.push(end.into_pyobject(py)?.into_any());
        items.extend((0..self.fors).map(|_| py.None().into_bound(py)));
        for slot in &self.tree.assigned {
            items.push(slots.get_item(*slot)?);
        }
        PyTuple::new(py, items).map(Some)
    }

    /// The code for what is given, compiled now if need be.
    fn variant<'py>(
        &self,
        py: Python<'py>,
        given: SmallVec<[Given; 12]>,
        objects: &mut Objects<'py>,
        numbers: &mut Numbers,
    ) -> PyResult<Found> {
        let count = objects.len();
        let (words, arrays) = (numbers.words.len(), numbers.arrays.len());
        let last = locked(&self.last).clone();
        let others = || locked(&self.variants).clone();
        for variant in last.into_iter().chain(std::iter::once_with(others).flatten()) {
            if variant.given[..count] != given[..] || !variant.is_given(objects, 0)? {
                continue;
            }
            if variant.find(py, objects, numbers)? {
                let given_up = get(&variant.early) >= MOST_EARLY && 2 * get(&variant.early) > get(&variant.runs);
                if given_up {
                    add_one(&self.refusals);
                    return Ok(Found::Nothing);
                }
                let mut last = locked(&self.last);
                if !last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &variant)) {
                    *last = Some(variant.clone());
                }
                drop(last);
                return Ok(Found::Code(variant));
            }
            objects.truncate(count);
            numbers.words.truncate(words);
            numbers.arrays.truncate(arrays);
        }
        if !self.is_asked && !self.is_resumed && !self.is_worth_it(&given, numbers) {
            return Ok(Found::Later);
        }
        add_one(&self.refusals);
        let known = locked(&self.refused).iter_mut().find(|refused| refused.given[..] == given[..]).map(|refused| {
            refused.runs += 1;
            (refused.line, refused.why.clone())
        });
        if let Some((line, why)) = known {
            return self.left_to_python(py, line, &why).map(|()| Found::Nothing);
        }
        if locked(&self.variants).len() >= MOST_VARIANTS {
            return Ok(Found::Nothing);
        }
        match Variant::compiled(&self.tree, py, given.to_vec(), objects, numbers) {
            Ok(variant) => {
                let variant = Arc::new(variant);
                locked(&self.variants).push(variant.clone());
                Ok(Found::Code(variant))
            }
            Err((line, why)) => {
                locked(&self.refused).push(Refused { given: given.into_vec(), line, why: why.clone(), runs: 1 });
                self.left_to_python(py, line, &why).map(|()| Found::Nothing)
            }
        }
    }

    /// Says that CPython does something that compiled code cannot do, where the program wants to know it.
    fn left_to_python(&self, py: Python<'_>, line: u32, why: &str) -> PyResult<()> {
        if !self.is_strict && coverage::is_silent() {
            return Ok(());
        }
        let note = py.import("numelt._jit.reporting")?.getattr("note")?;
        note.call1((&self.tree.name, &self.filename, line, why, self.is_strict)).map(|_| ())
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        variant: &Variant,
        objects: &[Bound<'py, PyAny>],
        mut numbers: Numbers,
    ) -> PyResult<Bound<'py, PyTuple>> {
        if given::any_pending(objects, &numbers) {
            run::flush(py, Reason::Read)?;
        }
        let took;
        let pool = Outer::Pool(Mutex::default());
        let mut frame: SmallVec<[u64; 64]> = SmallVec::from_elem(0, variant.code.words());
        {
            let _held = given::hold(py, objects, &variant.written, &mut numbers)?;
            let mut scratch: Vec<Box<Outer>> = Vec::new();
            for (word, source) in frame.iter_mut().zip(&variant.params) {
                *word = match source {
                    Source::Number(at) => numbers.words[*at],
                    Source::Constant(value) => *value,
                    Source::Pool => std::ptr::from_ref(&pool) as u64,
                    Source::Scratch => {
                        scratch.push(Box::new(Outer::Scratch(Mutex::default())));
                        std::ptr::from_ref(&**scratch.last().expect("just pushed")) as u64
                    }
                };
            }
            let code = variant.code();
            let start = Instant::now();
            // SAFETY: the frame is as long as the code asks for, the numbers are those of values of the types that it
            // was made for, and the memory of the arrays stays until `_held` is dropped.
            unsafe { code.run(&mut frame) };
            took = start.elapsed();
            variant.note_time(took.saturating_sub(ahead::spent()));
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
        let is_tiny = !self.is_asked && took.as_nanos() < TINY;
        let stopped_at_once = match exit.sources.first() {
            // the position of the outermost loop comes after the numbers of what it iterates over
            Some(Some(source)) => {
                took.as_nanos() < AT_ONCE && frame[1 + numelt_jit::source_parts(source)] < AT_ONCE_ITERATIONS
            }
            Some(None) => took.as_nanos() < AT_ONCE,
            None => took.as_nanos() < AT_ONCE_WHILE,
        };
        if exit.statement != 0 && stopped_at_once || is_tiny {
            add_one(&variant.early);
        } else if self.is_resumed {
            self.wait(false);
        }
        let pool = match &pool {
            Outer::Pool(pool) => Some(locked(pool)),
            _ => None,
        };
        let words = &frame[1..];
        self.result(py, exit, &variant.shapes[frame[0] as usize], objects, &numbers, words, pool.as_deref())
    }

    #[allow(clippy::too_many_arguments)] // all of one run
    fn result<'py>(
        &self,
        py: Python<'py>,
        exit: &Exit,
        shapes: &[Shape],
        objects: &[Bound<'py, PyAny>],
        numbers: &Numbers,
        words: &[u64],
        pool: Option<&Pool>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let starts = |which: u32| {
            let array = numbers.arrays.iter().find(|array| array.given == which);
            array.map_or(0, |array| numbers.words[array.at + 1])
        };
        let (made, views) = (RefCell::default(), RefCell::default());
        let mut left = Left { py, objects, words, starts: &starts, pool, made: &made, views: &views };
        // the statement of the loop itself: it begins anew
        let statement = if exit.statement == self.tree.body.number { -1 } else { i64::from(exit.statement) };
        let mut items: SmallVec<[Bound<'py, PyAny>; 16]> = SmallVec::new();
        items.push(statement.into_pyobject(py)?.into_any());
        for source in &exit.sources {
            items.push(match source {
                Some(source) => left.rest(source)?,
                None => py.None().into_bound(py),
            });
        }
        for shape in shapes {
            items.push(left.value(shape)?);
        }
        PyTuple::new(py, items)
    }
}
