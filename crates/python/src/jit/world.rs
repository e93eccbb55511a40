//! The surroundings of a loop: global names, attributes and functions.
//!
//! In: objects. Out: answers to the specializer's questions ([`World`]), and the paths by which the objects are looked
//! up again before each run.

use crate::jit::arguments::{self, Numbers, Objects};
use crate::jit::attributes::{self, Place};
use crate::jit::draws;
use crate::jit::forced;
use crate::jit::host_functions::ufunc_loop;
use crate::jit::known;
use numelt_ir::DType;
use numelt_jit::{Argument, Home, IterationsAhead, ObjectKind, Via, World};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString, PyTuple, PyType};
use smallvec::SmallVec;

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

/// Registers two Python functions: `callee(function)` returns the text of a function and its globals, or None, and
/// `rest(kind, source, position)` returns an iterator over the remaining items of an iterable.
#[pyfunction]
pub fn jit_setup(py: Python<'_>, callee: Py<PyAny>, rest: Py<PyAny>) -> PyResult<()> {
    let _ = CALLEE.set(py, callee);
    let _ = REST.set(py, rest);
    known::prepare(py)
}

/// Identifies an object for which code was made.
pub enum Identity {
    /// The object itself.
    Object(Py<PyAny>),
    /// A Python function, by its code, its globals and the defaults of its parameters. The object itself does not
    /// identify it, because a nested function is a new object in each call of the outer one.
    Function { code: Py<PyAny>, globals: Py<PyAny>, defaults: Vec<Py<PyAny>>, keywords: Vec<Py<PyAny>> },
}

/// Code, globals and defaults of a Python function; those of keyword-only parameters with their names.
type Some4<'py> = SmallVec<[Bound<'py, PyAny>; 4]>;
type FunctionParts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Some4<'py>, Some4<'py>);

/// The objects on which the behaviour of a Python function depends, apart from its closure.
fn parts_of<'py>(function: &Bound<'py, PyAny>) -> PyResult<FunctionParts<'py>> {
    let py = function.py();
    let defaults = function.getattr(intern!(py, "__defaults__"))?;
    let defaults = match defaults.cast::<PyTuple>() {
        Ok(values) => values.iter().collect(),
        Err(_) => SmallVec::new(),
    };
    let keywords = function.getattr(intern!(py, "__kwdefaults__"))?;
    let keywords = match keywords.cast::<PyDict>() {
        Ok(values) => values.iter().flat_map(|(name, value)| [name, value]).collect(),
        Err(_) => SmallVec::new(),
    };
    let [code, globals] = [intern!(py, "__code__"), intern!(py, "__globals__")];
    Ok((function.getattr(code)?, function.getattr(globals)?, defaults, keywords))
}

impl Identity {
    /// The identity of an object.
    pub fn of(object: &Bound<'_, PyAny>, kind: &ObjectKind) -> PyResult<Identity> {
        if *kind != ObjectKind::Function {
            return Ok(Identity::Object(object.clone().unbind()));
        }
        let (code, globals, defaults, keywords) = parts_of(object)?;
        let [defaults, keywords] = [defaults, keywords].map(|all| all.into_iter().map(Bound::unbind).collect());
        Ok(Identity::Function { code: code.unbind(), globals: globals.unbind(), defaults, keywords })
    }

    /// Does this identify the object?
    pub fn is(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self {
            Identity::Object(known) => Ok(object.is(known)),
            Identity::Function { code, globals, defaults, keywords } => {
                // SAFETY: the object is alive.
                if unsafe { ffi::PyFunction_Check(object.as_ptr()) } == 0 {
                    return Ok(false);
                }
                let (other, names, values, named) = parts_of(object)?;
                let are_same = |known: &[Py<PyAny>], values: &[Bound<'_, PyAny>]| {
                    known.len() == values.len() && known.iter().zip(values).all(|(known, value)| value.is(known))
                };
                Ok(other.is(code) && names.is(globals) && are_same(defaults, &values) && are_same(keywords, &named))
            }
        }
    }
}

/// How to find an object outside of the loop, from an argument or from another such object.
pub struct LookupPath {
    of: u32,
    name: Py<PyString>,
    step: Step,
}

/// One lookup.
enum Step {
    /// An attribute, if the object has this class, and the value is in the same place.
    Attribute(Py<PyType>, Place),
    /// The function that an attribute of the class stands for, if the object has this class.
    Method(Py<PyType>, Via),
    /// A global name of a function.
    Global,
    /// A variable of an enclosing function, by its index in the closure.
    Cell(usize),
}

impl LookupPath {
    /// Looks up the object; `None` if it does not exist or the lookup would not be the same any more.
    pub fn follow<'py>(&self, py: Python<'py>, objects: &[Bound<'py, PyAny>]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let of = &objects[self.of as usize];
        match &self.step {
            Step::Attribute(class, place) => {
                let name = self.name.bind(py);
                let is_alike = of.get_type().is(class) && place.is_that_of(of, name);
                Ok(if is_alike { of.getattr(name).ok() } else { None })
            }
            Step::Method(class, via) if of.get_type().is(class) => {
                let found = attributes::function(of, self.name.bind(py));
                Ok(found.filter(|found| found.1 == *via).map(|found| found.0))
            }
            Step::Method(..) => Ok(None),
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

/// The surroundings of a loop that is being compiled: its arguments, and the objects that have been found.
pub struct Outside<'a, 'py> {
    pub py: Python<'py>,
    /// The arguments; objects that are found are appended.
    pub objects: &'a mut Objects<'py>,
    /// The numbers of values among them.
    pub numbers: &'a mut Numbers,
    /// How each object that is not an argument was found.
    pub paths: Vec<LookupPath>,
    /// The generators among the arguments, each with the name of a method that the loop calls.
    pub drawn: Vec<(u32, String)>,
}

impl Outside<'_, '_> {
    fn found(&mut self, of: u32, step: Step, name: &str) -> PyResult<Option<Argument>> {
        let path = LookupPath { of, step, name: PyString::intern(self.py, name).unbind() };
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
        let place = Place::of(object, &PyString::intern(self.py, name))?;
        let class = object.get_type().unbind();
        self.found(of, Step::Attribute(class, place), name).ok().flatten()
    }

    fn assignable(&mut self, of: u32, name: &str) -> Option<Home> {
        attributes::assignable(self.objects.get(of as usize)?, &PyString::intern(self.py, name))
    }

    fn method(&mut self, of: u32, name: &str) -> Option<(Argument, Via)> {
        let object = self.objects.get(of as usize)?;
        let (function, via) = attributes::function(object, &PyString::intern(self.py, name))?;
        // decorators and other callables have no tree
        let class = object.get_type().unbind();
        if known::is_known(&function) {
            return None;
        }
        Some((self.found(of, Step::Method(class, via), name).ok().flatten()?, via))
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

    fn draws(&mut self, of: u32, name: &str) -> bool {
        let is_own = self.objects.get(of as usize).is_some_and(|object| draws::has_method(object, name));
        let method = (of, name.to_owned());
        if is_own && !self.drawn.contains(&method) {
            self.drawn.push(method);
        }
        is_own
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
        let array = self.numbers.arrays.iter().find(|array| array.argument == argument).map(|array| array.at);
        let list = || self.numbers.lists.iter().find(|list| list.argument == argument).map(|list| list.at);
        self.numbers.words.get(array.or_else(list)? + part as usize).map(|word| *word as i64)
    }

    fn iterations_ahead(&self) -> IterationsAhead {
        // a forced exit is part of the exact code, so that all iterations must run there
        if forced::forced_exit().is_some() { IterationsAhead::None } else { forced::iterations_ahead() }
    }

    fn forced_exit(&self) -> Option<u32> {
        forced::forced_exit()
    }
}
