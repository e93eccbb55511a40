//! The surroundings of a loop: global names, attributes, functions, and loops of ufuncs.
//!
//! In: objects. Out: answers to the specializer's questions ([`World`]), and the paths by which the objects are looked
//! up again before each run.

use crate::jit::arguments::{self, Numbers};
use crate::jit::pool::Pool;
use crate::jit::unit::Objects;
use crate::numpy::convert::Numpy;
use numelt_ir::DType;
use numelt_jit::{Argument, Form, IterationsAhead, ObjectKind, Param, World};
use numpy::npyffi::PyUFuncObject;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The Python functions that `jit_setup` has registered.
static CALLEE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static REST: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// An iterator over the items of an object from a position on.
pub fn rest<'py>(source: Bound<'py, PyAny>, position: i64) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    match REST.get(py) {
        Some(rest) => rest.bind(py).call1(("iter", source, position)),
        None => Err(PyRuntimeError::new_err("a loop has been compiled before numelt._jit was imported")),
    }
}

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

/// The number of the statement at which loops that are compiled now must stop, if any.
pub fn forced_exit() -> Option<u32> {
    Some(FORCED.load(Ordering::Relaxed)).filter(|statement| *statement != 0)
}

/// The functions and classes that the specializer knows, by address.
struct Known {
    kinds: FxHashMap<usize, ObjectKind>,
    /// References to the objects, so that no other object gets one of these addresses.
    _objects: Vec<Py<PyAny>>,
}

static KNOWN: PyOnceLock<Known> = PyOnceLock::new();

/// Registers two Python functions: `callee(function)` returns the text of a function and its globals, or None, and
/// `rest(kind, source, position)` returns an iterator over the remaining items of an iterable.
#[pyfunction]
pub fn jit_setup(py: Python<'_>, callee: Py<PyAny>, rest: Py<PyAny>) -> PyResult<()> {
    let _ = CALLEE.set(py, callee);
    let _ = REST.set(py, rest);
    KNOWN.get_or_try_init(py, || collect(py)).map(|_| ())
}

/// The functions of NumPy that the specializer knows.
const NUMPY: &[&str] = &[
    "abs",
    "absolute",
    "minimum",
    "maximum",
    "isnan",
    "isinf",
    "isfinite",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "sqrt",
    "square",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "hypot",
    "cbrt",
    "power",
    "fmod",
    "copysign",
    "logaddexp",
    "round",
    "around",
    "deg2rad",
    "rad2deg",
    "radians",
    "degrees",
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "max",
    "min",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "dot",
];

/// The functions of numelt that make arrays, as far as the specializer knows them.
const MAKERS: &[&str] =
    &["zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "array", "asarray", "copy"];

fn collect(py: Python<'_>) -> PyResult<Known> {
    let mut kinds = FxHashMap::default();
    let mut objects = Vec::new();
    let mut add = |object: Bound<'_, PyAny>, kind: ObjectKind| {
        kinds.insert(object.as_ptr() as usize, kind);
        objects.push(object.unbind());
    };
    for name in [
        "abs",
        "len",
        "range",
        "min",
        "max",
        "int",
        "float",
        "bool",
        "complex",
        "round",
        "divmod",
        "pow",
        "enumerate",
        "zip",
        "type",
        "isinstance",
        "sum",
    ] {
        add(py.import("builtins")?.getattr(name)?, ObjectKind::Builtin(name));
    }
    for (name, object) in py.import("math")?.dict() {
        if object.is_callable() {
            add(object, ObjectKind::Math(Box::leak(name.extract::<String>()?.into_boxed_str())));
        }
    }
    let numelt = py.import("numelt")?;
    for name in MAKERS {
        add(numelt.getattr(*name)?, ObjectKind::Maker(name));
    }
    for module in ["numpy", "numelt"] {
        let module = py.import(module)?;
        for name in NUMPY {
            add(module.getattr(*name)?, ObjectKind::Numpy(name));
        }
        for dtype in DType::ALL {
            let name = if dtype == DType::Bool { "bool_" } else { dtype_name(dtype) };
            add(module.getattr(name)?, ObjectKind::Class(dtype));
        }
    }
    Ok(Known { kinds, _objects: objects })
}

fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::I8 => "int8",
        DType::U8 => "uint8",
        DType::I16 => "int16",
        DType::U16 => "uint16",
        DType::I32 => "int32",
        DType::U32 => "uint32",
        DType::I64 => "int64",
        DType::U64 => "uint64",
        DType::F16 => "float16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
    }
}

/// Classifies an object that is not a value; `None` if the specializer does not know it.
pub fn object_kind(object: &Bound<'_, PyAny>) -> PyResult<Option<ObjectKind>> {
    // `jit_setup` has collected them, except in tests that do not call it
    let known = KNOWN.get_or_try_init(object.py(), || collect(object.py()))?;
    Ok(known.kinds.get(&(object.as_ptr() as usize)).cloned())
}

/// Identifies an object for which code was made.
pub enum Identity {
    /// The object itself.
    Object(Py<PyAny>),
    /// A Python function, by its code, its globals and the defaults of its parameters. The object itself does not
    /// identify it, because a nested function is a new object in each call of the outer one.
    Function { code: Py<PyAny>, globals: Py<PyAny>, defaults: Vec<Py<PyAny>> },
}

/// Code, globals and defaults of a Python function.
type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, SmallVec<[Bound<'py, PyAny>; 4]>);

/// The objects on which the behaviour of a Python function depends, apart from its closure.
fn parts_of<'py>(function: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    let py = function.py();
    let defaults = function.getattr(intern!(py, "__defaults__"))?;
    let defaults = match defaults.cast::<PyTuple>() {
        Ok(values) => values.iter().collect(),
        Err(_) => SmallVec::new(),
    };
    Ok((function.getattr(intern!(py, "__code__"))?, function.getattr(intern!(py, "__globals__"))?, defaults))
}

impl Identity {
    /// The identity of an object.
    pub fn of(object: &Bound<'_, PyAny>, kind: &ObjectKind) -> PyResult<Identity> {
        if *kind != ObjectKind::Function {
            return Ok(Identity::Object(object.clone().unbind()));
        }
        let (code, globals, defaults) = parts_of(object)?;
        let defaults = defaults.into_iter().map(Bound::unbind).collect();
        Ok(Identity::Function { code: code.unbind(), globals: globals.unbind(), defaults })
    }

    /// Does this identify the object?
    pub fn is(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self {
            Identity::Object(known) => Ok(object.is(known)),
            Identity::Function { code, globals, defaults } => {
                // SAFETY: the object is alive.
                if unsafe { ffi::PyFunction_Check(object.as_ptr()) } == 0 {
                    return Ok(false);
                }
                let (other, names, values) = parts_of(object)?;
                let same = |(known, value): (&Py<PyAny>, &Bound<'_, PyAny>)| value.is(known);
                Ok(other.is(code)
                    && names.is(globals)
                    && values.len() == defaults.len()
                    && defaults.iter().zip(&values).all(same))
            }
        }
    }
}

/// Does the specializer know this object by name?
pub fn is_known(object: &Bound<'_, PyAny>) -> bool {
    object_kind(object).is_ok_and(|kind| kind.is_some())
}

/// How to find an object outside of the loop, from an argument or from another such object.
pub struct Path {
    of: u32,
    name: Py<PyString>,
    step: Step,
}

/// One lookup.
enum Step {
    /// An attribute, if the object has this class.
    Attribute(Py<PyType>),
    /// A global name of a function.
    Global,
    /// A variable of an enclosing function, by its index in the closure.
    Cell(usize),
}

impl Path {
    /// Looks up the object; `None` if it does not exist or the lookup would not be the same any more.
    pub fn follow<'py>(&self, py: Python<'py>, objects: &[Bound<'py, PyAny>]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let of = &objects[self.of as usize];
        match &self.step {
            Step::Attribute(class) if of.get_type().is(class) => Ok(of.getattr(self.name.bind(py)).ok()),
            Step::Attribute(_) => Ok(None),
            Step::Cell(number) => {
                let cells = of.getattr(intern!(py, "__closure__"))?.cast_into::<PyTuple>()?;
                // an empty cell has no contents
                Ok(cells.get_item(*number)?.getattr(intern!(py, "cell_contents")).ok())
            }
            Step::Global => {
                let globals = of.getattr(intern!(py, "__globals__"))?.cast_into::<PyDict>()?;
                lookup(&globals, self.name.bind(py))
            }
        }
    }
}

/// How a function looks up a name that is not local.
fn step_to(function: &Bound<'_, PyAny>, name: &str) -> PyResult<Step> {
    let free = function.getattr("__code__")?.getattr("co_freevars")?.extract::<Vec<String>>()?;
    Ok(free.iter().position(|other| other == name).map_or(Step::Global, Step::Cell))
}

/// Looks up a global name, or one of the builtins.
pub fn lookup<'py>(globals: &Bound<'py, PyDict>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = globals.py();
    if let Some(found) = globals.get_item(name)? {
        return Ok(Some(found));
    }
    match globals.get_item(intern!(py, "__builtins__"))? {
        Some(builtins) => match builtins.cast_into::<PyDict>() {
            Ok(names) => names.get_item(name),
            Err(module) => match module.into_inner().cast::<PyModule>() {
                Ok(module) => module.dict().get_item(name),
                Err(_) => Ok(None),
            },
        },
        None => py.import("builtins")?.dict().get_item(name),
    }
}

/// Can the attribute be read without running code of the program?
fn is_plain_attribute(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    if object.is_instance_of::<PyModule>() {
        return Ok(true);
    }
    let class = object.get_type();
    let base = object.py().get_type::<PyAny>();
    if !class.getattr("__getattribute__")?.is(&base.getattr("__getattribute__")?) || class.hasattr("__getattr__")? {
        return Ok(false);
    }
    for parent in class.getattr("__mro__")?.cast_into::<PyTuple>()? {
        if parent.getattr("__dict__")?.contains(name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The surroundings of a loop that is being compiled: its arguments, and the objects that have been found.
pub struct Outside<'a, 'py> {
    pub py: Python<'py>,
    /// The arguments; objects that are found are appended.
    pub objects: &'a mut Objects<'py>,
    /// The numbers of values among them.
    pub numbers: &'a mut Numbers,
    /// How each object that is not an argument was found.
    pub paths: Vec<Path>,
}

impl Outside<'_, '_> {
    fn found(&mut self, of: u32, step: Step, name: &str) -> PyResult<Option<Argument>> {
        let path = Path { of, step, name: PyString::intern(self.py, name).unbind() };
        let Some(object) = path.follow(self.py, self.objects)? else { return Ok(None) };
        let argument = arguments::classify(&object, self.objects.len() as u32, self.numbers)?;
        self.objects.push(object);
        self.paths.push(path);
        Ok(Some(argument))
    }
}

impl World for Outside<'_, '_> {
    fn attribute(&mut self, of: u32, name: &str) -> Option<Argument> {
        let object = self.objects.get(of as usize)?;
        if !is_plain_attribute(object, name).unwrap_or(false) {
            return None;
        }
        let class = object.get_type().unbind();
        self.found(of, Step::Attribute(class), name).ok().flatten()
    }

    fn global(&mut self, function: u32, name: &str) -> Option<Argument> {
        let step = step_to(self.objects.get(function as usize)?, name).ok()?;
        self.found(function, step, name).ok().flatten()
    }

    fn callee(&mut self, function: u32) -> Option<String> {
        let lower = CALLEE.get(self.py)?.bind(self.py);
        let tree = lower.call1((self.objects.get(function as usize)?,)).ok()?;
        tree.cast::<PyTuple>().ok()?.get_item(0).ok()?.extract().ok()
    }

    fn are_same(&mut self, one: u32, other: u32) -> bool {
        match (self.objects.get(one as usize), self.objects.get(other as usize)) {
            (Some(one), Some(other)) => one.is(other),
            _ => false,
        }
    }

    fn has_loop(&mut self, name: &str, inputs: &[DType], output: DType) -> bool {
        ufunc_loop(self.py, name, inputs, output).is_ok_and(|found| found.is_some())
    }

    fn mixes_complex(&self) -> bool {
        self.py.version_info() >= (3, 14)
    }

    fn word(&self, argument: u32, part: u32) -> Option<i64> {
        let array = self.numbers.arrays.iter().find(|array| array.argument == argument)?;
        self.numbers.words.get(array.at + part as usize).map(|word| *word as i64)
    }

    fn iterations_ahead(&self) -> IterationsAhead {
        // a forced exit is part of the exact code, so that all iterations must run there
        if forced_exit().is_some() { IterationsAhead::None } else { iterations_ahead() }
    }

    fn forced_exit(&self) -> Option<u32> {
        forced_exit()
    }
}

/// The C type of the inner loop of a NumPy ufunc.
type UfuncLoop = unsafe extern "C" fn(*mut *mut c_char, *mut isize, *mut isize, *mut c_void);

/// A function of the host that compiled code calls by the address of this description.
pub enum HostFunction {
    /// The loop of a ufunc, called for one element. The number is the address of the loop's own data.
    Element(UfuncLoop, usize),
    /// The loop of a ufunc, called to reduce elements to one result. The last number is the size of the result in
    /// bytes.
    Reduction(UfuncLoop, usize, usize),
    /// The loop of `vecdot`, called for one pair of vectors.
    Dot(UfuncLoop, usize),
    /// Scratch memory that belongs to the run.
    Scratch(Mutex<Vec<u128>>),
    /// The arrays that the run makes.
    Pool(Mutex<Pool>),
}

impl HostFunction {
    /// The function that a parameter stands for; `None` if there is none.
    pub fn of(py: Python<'_>, param: &Param) -> PyResult<Option<HostFunction>> {
        Ok(match param {
            Param::Part { .. } => None,
            Param::Loop { name, inputs, output, form } => {
                ufunc_loop(py, name, inputs, *output)?.map(|(function, data)| match form {
                    Form::Element => HostFunction::Element(function, data),
                    Form::Reduction => HostFunction::Reduction(function, data, output.size()),
                })
            }
            Param::Dot(dtype) => {
                let found = ufunc_loop(py, "vecdot", &[*dtype; 2], *dtype)?;
                found.map(|(function, data)| HostFunction::Dot(function, data))
            }
            Param::Scratch(_) => Some(HostFunction::Scratch(Mutex::default())),
            Param::Pool => Some(HostFunction::Pool(Mutex::default())),
        })
    }
}

/// The loop and its data of the NumPy ufunc of this name for these dtypes.
pub fn ufunc_loop(py: Python<'_>, name: &str, inputs: &[DType], output: DType) -> PyResult<Option<(UfuncLoop, usize)>> {
    let numpy = Numpy::get(py)?;
    let ufunc = numpy.attr(py, name)?;
    if !ufunc.is_exact_instance(numpy.ufunc.bind(py)) {
        return Ok(None);
    }
    let wanted: Vec<u8> = inputs.iter().chain([&output]).map(|dtype| type_number(*dtype)).collect();
    // SAFETY: the object is a ufunc, whose structure NumPy's headers publish; `types` has `nargs` entries for each of
    // the `ntypes` loops.
    unsafe {
        let fields = &(*ufunc.as_ptr().cast::<PyUFuncObject>()).fields;
        let count = fields.nargs as usize;
        if count != wanted.len() {
            return Ok(None);
        }
        for number in 0..fields.ntypes as usize {
            let types = std::slice::from_raw_parts(fields.types.add(number * count).cast::<u8>(), count);
            let (function, data) = (*fields.functions.add(number), fields.data);
            if types == wanted
                && let Some(function) = function
            {
                let data = if data.is_null() { 0 } else { *data.add(number) as usize };
                return Ok(Some((function, data)));
            }
        }
    }
    Ok(None)
}

/// NumPy's type number of a dtype.
fn type_number(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::I8 => 1,
        DType::U8 => 2,
        DType::I16 => 3,
        DType::U16 => 4,
        DType::I32 => 5,
        DType::U32 => 6,
        DType::I64 => 7,
        DType::U64 => 8,
        DType::F32 => 11,
        DType::F64 => 12,
        DType::C64 => 14,
        DType::C128 => 15,
        DType::F16 => 23,
    }
}

/// Calls a function of the host. Compiled code calls this.
///
/// # Safety
/// `context` is the address of a [`HostFunction`]. `args` has the addresses of its operands, and that of the result.
/// Addresses among the operands point to as many elements as the operands say.
pub unsafe extern "C" fn call_loop(context: u64, args: *const *mut u8) {
    // SAFETY: the caller's promise; NumPy's loops write nothing but the result.
    unsafe {
        let word = |number: usize| **args.add(number).cast::<*const i64>();
        match &*(context as *const HostFunction) {
            HostFunction::Element(function, data) => {
                // for one element the strides do not matter
                let (mut count, mut strides) = (1isize, [0isize; 8]);
                function(args.cast_mut().cast(), &raw mut count, strides.as_mut_ptr(), *data as *mut c_void);
            }
            HostFunction::Reduction(function, data, size) => {
                let (start, address, mut count, stride) = (*args, word(1), word(2) as isize, word(3) as isize);
                // a reducing loop accumulates into its result, which starts as the first operand
                let result = *args.add(4);
                std::ptr::copy_nonoverlapping(start, result, *size);
                let mut operands = [result.cast::<c_char>(), address as *mut c_char, result.cast()];
                let mut strides = [0, stride, 0];
                function(operands.as_mut_ptr(), &raw mut count, strides.as_mut_ptr(), *data as *mut c_void);
            }
            HostFunction::Dot(function, data) => {
                let (x, x_stride, y, y_stride, count) = (word(0), word(1), word(2), word(3), word(4));
                let mut operands = [x as *mut c_char, y as *mut c_char, (*args.add(5)).cast()];
                let mut extents = [1, count as isize];
                let mut strides = [0, 0, 0, x_stride as isize, y_stride as isize];
                let (extents, strides) = (extents.as_mut_ptr(), strides.as_mut_ptr());
                function(operands.as_mut_ptr(), extents, strides, *data as *mut c_void);
            }
            HostFunction::Scratch(memory) => {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                let words = (word(0) as usize).div_ceil(16).max(1);
                if memory.len() < words {
                    *memory = vec![0; words.next_power_of_two()];
                }
                *(*args.add(1)).cast::<u64>() = memory.as_mut_ptr() as u64;
            }
            HostFunction::Pool(pool) => {
                let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
                let count = word(2) as usize;
                let in_use: SmallVec<[i64; 16]> = (0..count).map(|number| word(3 + number)).collect();
                *(*args.add(3 + count)).cast::<i64>() = pool.array(DType::ALL[word(0) as usize], word(1), &in_use);
            }
        }
    }
}

/// How long compiled code holds the GIL before it releases it. This is a little longer than CPython's default switch
/// interval: by then a waiting thread has requested the GIL, and otherwise this thread would get it back at once.
const SWITCH: Duration = Duration::from_millis(7);

thread_local! {
    /// When this thread has last released the GIL.
    static SWITCHED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs the handlers of signals that have arrived, and lets other threads run every few milliseconds. Compiled code
/// calls this from time to time. Returns true if a handler has raised an exception, which
/// [`crate::jit::unit::jit_pending`] will raise.
pub extern "C" fn poll() -> u8 {
    let now = Instant::now();
    if SWITCHED.get().is_none_or(|last| now - last > SWITCH) {
        SWITCHED.set(Some(now));
        // SAFETY: compiled code calls this with the GIL held, and does nothing while this call has released it.
        // References keep its objects alive, and guards keep the memory of arrays in place.
        unsafe { ffi::PyEval_RestoreThread(ffi::PyEval_SaveThread()) }
    }
    // SAFETY: as above, with the GIL held again. An exception may also be pending from an earlier call.
    unsafe { (ffi::PyErr_CheckSignals() != 0 || !ffi::PyErr_Occurred().is_null()).into() }
}
