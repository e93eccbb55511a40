//! Random generators from which compiled code draws.
//!
//! In: the generators of a loop, or functions that draw from one. Out: a copy of the state of each generator for a run
//! of the code, which is put back afterwards. Two objects that share a bit generator share a copy. Not here: the memory
//! of NumPy's bit generators (`random`), and the copy itself (`streams`).

use crate::jit::attributes;
use crate::jit::host_functions::HostFunction;
use crate::jit::streams::{Bits, Stream};
use crate::random::drawing::Drawing;
use crate::random::random_sequence::SequentialStream;
use crate::random::{BitStream, bit_stream};
use numelt::random::Twister;
use numelt_jit::{Draw, GeneratorKind, ObjectKind, drawing_method};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyFloat, PyFunction, PyString, PyTuple, PyType};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Reading the state of `random.Random`, or the number that `numpy.random.RandomState` keeps, and setting it, takes
/// about this long.
const SLOW_COPY: Duration = Duration::from_micros(40);

/// The classes of generators: the module and the name of each.
const CLASSES: [(GeneratorKind, &str, &str); 5] = [
    (GeneratorKind::Numpy, "numelt._random.generators", "Generator"),
    (GeneratorKind::Legacy, "numelt._random.generators", "RandomState"),
    (GeneratorKind::Python, "random", "Random"),
    (GeneratorKind::Numpy, "numpy.random._generator", "Generator"),
    (GeneratorKind::Legacy, "numpy.random.mtrand", "RandomState"),
];
static KNOWN: [PyOnceLock<Py<PyType>>; CLASSES.len()] = [const { PyOnceLock::new() }; CLASSES.len()];

/// The number in [`CLASSES`] of an object's class.
fn class_of(object: &Bound<'_, PyAny>) -> Option<usize> {
    let py = object.py();
    let class = object.get_type();
    let is_known = |number: &usize| KNOWN[*number].get(py).is_some_and(|known| class.is(known));
    if let Some(found) = (0..CLASSES.len()).find(is_known) {
        return Some(found);
    }
    let name = class.name().ok()?;
    let name = name.to_str().ok()?;
    if !CLASSES.iter().any(|known| known.2 == name) {
        return None;
    }
    // a module that the program has not imported is not imported here, either
    let modules = py.import("sys").ok()?.getattr("modules").ok()?.cast_into::<PyDict>().ok()?;
    for (number, (_, module, name)) in CLASSES.iter().enumerate() {
        if let Some(module) = modules.get_item(module).ok()?
            && module.getattr(*name).is_ok_and(|own| own.is(&class))
        {
            let _ = KNOWN[number].set(py, class.unbind());
            return Some(number);
        }
    }
    None
}

/// What an object is to the specializer, if it is a generator, or a function that draws.
pub fn object_kind(object: &Bound<'_, PyAny>) -> Option<ObjectKind> {
    if let Some(number) = class_of(object) {
        return Some(ObjectKind::Generator(CLASSES[number].0));
    }
    let (generator, function) = bound_to(object)?;
    let number = class_of(&generator)?;
    let name = function.getattr(intern!(object.py(), "__name__")).ok()?.cast_into::<PyString>().ok()?;
    let method = drawing_method(CLASSES[number].0, name.to_str().ok()?)?;
    let found = own_method(&generator, method)?;
    (function.is_exact_instance_of::<PyCFunction>() || function.is(&found))
        .then_some(ObjectKind::Drawing(CLASSES[number].0, method))
}

/// The object to which a method is bound, and its function: the method itself if it is one of C.
fn bound_to<'py>(object: &Bound<'py, PyAny>) -> Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = object.py();
    static ROUTINE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static METHOD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if object.is_exact_instance(ROUTINE.import(py, "numelt._core", "routine").ok()?) {
        // NumPy's function
        return bound_to(&object.getattr_opt(intern!(py, "__wrapped__")).ok()??);
    }
    let method = METHOD.import(py, "types", "MethodType").ok()?;
    if !object.is_exact_instance_of::<PyCFunction>() && !object.is_exact_instance(method) {
        return None;
    }
    let part = |name| object.getattr(name).ok();
    let generator = part(intern!(py, "__self__"))?;
    let function = match object.is_exact_instance_of::<PyCFunction>() {
        true => object.clone(),
        false => part(intern!(py, "__func__"))?,
    };
    Some((generator, function))
}

/// What the class of a generator has as the method of this name, if calling the method draws as the class was made to.
fn own_method<'py>(generator: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    let py = generator.py();
    let number = class_of(generator)?;
    let (kind, module, _) = CLASSES[number];
    drawing_method(kind, name)?;
    let found = attributes::in_class(generator, &PyString::intern(py, name))??;
    if let Ok(own) = generator.getattr(intern!(py, "__dict__")) {
        let own = own.cast_into::<PyDict>().ok()?;
        let is_plain = match kind {
            // its methods call each other
            GeneratorKind::Python => own.len() == usize::from(own.contains(intern!(py, "gauss_next")).ok()?),
            _ => !own.contains(name).ok()?,
        };
        if !is_plain {
            return None;
        }
    }
    if let Ok(function) = found.cast_exact::<PyFunction>() {
        let globals = function.getattr(intern!(py, "__globals__")).ok()?;
        let home = py.import(module).ok()?;
        let is_named = function.getattr(intern!(py, "__name__")).ok()?.eq(name).ok()?;
        return (is_named && globals.is(home.dict())).then_some(found);
    }
    let class = found.get_type();
    let is_made = found.is_exact_instance_of::<Drawing>() || class.name().ok()? == "_Late";
    let is_numpys = module.starts_with("numpy.");
    let is_c = class.name().ok()? == "method_descriptor";
    (is_made || is_numpys || is_c).then_some(found)
}

/// Is the method of this name of a random generator the one of its class?
pub fn has_method(generator: &Bound<'_, PyAny>, name: &str) -> bool {
    own_method(generator, name).is_some()
}

fn locked(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a state was copied from.
enum Home<'py> {
    Jumping(Bound<'py, BitStream>),
    Sequential(Bound<'py, SequentialStream>),
    /// An object of `random.Random`.
    Python(Bound<'py, PyAny>),
}

/// The copy of a generator's state.
struct Copied<'py> {
    /// The bit generator of NumPy, or the object of `random.Random`.
    source: Bound<'py, PyAny>,
    home: Home<'py>,
    /// The object of `numpy.random.RandomState` whose kept number has been copied, and that number.
    keeper: Option<(Bound<'py, PyAny>, Option<f64>)>,
    stream: Arc<Mutex<Stream>>,
}

/// The copies of all generators from which a run may draw.
#[derive(Default)]
pub struct Generators<'py> {
    copies: Vec<Copied<'py>>,
    functions: Vec<(u32, Draw, HostFunction)>,
    /// From which of them the current statement has drawn: a bit for each.
    drawn: Box<AtomicU64>,
}

/// The time that copying the states of generators takes, from which there are these draws.
pub fn copying_time(draws: &[(u32, Draw)]) -> Duration {
    let is_slow = |draw: Draw| draw.keeps_number() || matches!(draw, Draw::BitsBetween | Draw::Bits | Draw::Ratio);
    if draws.iter().any(|(_, draw)| is_slow(*draw)) { SLOW_COPY } else { Duration::ZERO }
}

impl<'py> Generators<'py> {
    /// Copies the states of the generators that these arguments are, or belong to. `None` if that is not possible now.
    pub fn copied(draws: &[(u32, Draw)], objects: &[Bound<'py, PyAny>]) -> PyResult<Option<Generators<'py>>> {
        let mut all = Generators::default();
        for (argument, draw) in draws {
            let object = &objects[*argument as usize];
            let generator = match class_of(object) {
                Some(_) => object.clone(),
                None => match bound_to(object) {
                    Some((generator, _)) => generator,
                    None => return Ok(None),
                },
            };
            let Some(place) = all.place_of(&generator, draw.keeps_number())? else { return Ok(None) };
            let drawn = std::ptr::from_ref(&*all.drawn) as usize;
            let stream = all.copies[place].stream.clone();
            all.functions.push((
                *argument,
                *draw,
                HostFunction::Draw { stream, draw: *draw, place: place as u32, drawn },
            ));
        }
        Ok(Some(all))
    }

    /// The place of the copy of a generator's state, which is made if there is none.
    fn place_of(&mut self, generator: &Bound<'py, PyAny>, keeps: bool) -> PyResult<Option<usize>> {
        let py = generator.py();
        let Some(number) = class_of(generator) else { return Ok(None) };
        let kind = CLASSES[number].0;
        let source = match kind {
            GeneratorKind::Numpy => generator.getattr(intern!(py, "bit_generator"))?,
            GeneratorKind::Legacy => generator.getattr(intern!(py, "_bit_generator"))?,
            GeneratorKind::Python => generator.clone(),
        };
        let place = match self.copies.iter().position(|copy| copy.source.is(&source)) {
            Some(place) => place,
            None if self.copies.len() == 64 => return Ok(None),
            None => {
                let Some((home, stream)) = copied_state(kind, &source)? else { return Ok(None) };
                let stream = Arc::new(Mutex::new(stream));
                self.copies.push(Copied { source, home, keeper: None, stream });
                self.copies.len() - 1
            }
        };
        if keeps && kind == GeneratorKind::Legacy {
            let copy = &mut self.copies[place];
            let plain = generator.getattr_opt(intern!(py, "_plain"))?.unwrap_or_else(|| generator.clone());
            match &copy.keeper {
                Some((keeper, _)) if keeper.is(&plain) => {}
                Some(_) => return Ok(None),
                None => {
                    let state = state_of(&plain)?;
                    let has: i64 = state.get_item(intern!(py, "has_gauss"))?.extract()?;
                    let number: f64 = state.get_item(intern!(py, "gauss"))?.extract()?;
                    let kept = (has != 0).then_some(number);
                    locked(&copy.stream).kept = kept;
                    copy.keeper = Some((plain, kept));
                }
            }
        }
        Ok(Some(place))
    }

    /// Is there any?
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// The address that the code needs to draw.
    pub fn address(&self, argument: u32, draw: Draw) -> u64 {
        let found = self.functions.iter().find(|(own, how, _)| (*own, *how) == (argument, draw));
        std::ptr::from_ref(&found.expect("one for each draw").2) as u64
    }

    /// The address of the number that tells from which generators the statement has drawn.
    pub fn drawn(&self) -> usize {
        std::ptr::from_ref(&*self.drawn) as usize
    }

    /// The streams, in the order of that number's bits.
    pub fn streams(&self) -> Vec<Arc<Mutex<Stream>>> {
        self.copies.iter().map(|copy| copy.stream.clone()).collect()
    }

    /// Moves the generators on by what has been drawn.
    pub fn put_back(&self, py: Python<'py>) -> PyResult<()> {
        for copy in &self.copies {
            let stream = locked(&copy.stream);
            if !stream.has_drawn {
                continue;
            }
            match (&copy.home, &stream.bits) {
                (Home::Jumping(home), Bits::Pcg(bits)) => home.get().put(py, bits)?,
                (Home::Sequential(home), Bits::Twister(bits)) => home.get().put(py, bits)?,
                (Home::Python(generator), Bits::Twister(bits)) => {
                    let words = bits.key.iter().copied().chain([bits.position as u32]);
                    let words = PyTuple::new(py, words.collect::<Vec<_>>())?;
                    in_c(py)?.call_method1(intern!(py, "setstate"), (generator, words))?;
                    generator.setattr(intern!(py, "gauss_next"), stream.kept)?;
                }
                _ => unreachable!("a stream stays what it is"),
            }
            if let Some((keeper, before)) = &copy.keeper
                && before.map(f64::to_bits) != stream.kept.map(f64::to_bits)
            {
                let state = state_of(keeper)?;
                state.set_item(intern!(py, "has_gauss"), i64::from(stream.kept.is_some()))?;
                state.set_item(intern!(py, "gauss"), stream.kept.unwrap_or(0.0))?;
                keeper.call_method1(intern!(py, "set_state"), (state,))?;
            }
        }
        Ok(())
    }
}

/// The base class of `random.Random`, whose methods get and set the words of the state without running code of Python,
/// so that no other thread runs meanwhile.
fn in_c(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    BASE.import(py, "_random", "Random")
}

/// The state of an object of `numpy.random.RandomState`, which shows the number that it keeps.
fn state_of<'py>(plain: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = plain.py();
    let options = PyDict::new(py);
    options.set_item(intern!(py, "legacy"), false)?;
    plain.call_method(intern!(py, "get_state"), (), Some(&options))
}

/// A copy of the state of a bit generator, or of an object of `random.Random`. `None` if it is of an unknown kind, or in
/// use.
fn copied_state<'py>(kind: GeneratorKind, source: &Bound<'py, PyAny>) -> PyResult<Option<(Home<'py>, Stream)>> {
    let py = source.py();
    if kind == GeneratorKind::Python {
        let words: Vec<u32> = in_c(py)?.call_method1(intern!(py, "getstate"), (source,))?.extract()?;
        let kept = source.getattr(intern!(py, "gauss_next"))?;
        let is_plain = kept.is_none() || kept.is_exact_instance_of::<PyFloat>();
        let Some((position, key)) = words.split_last().filter(|_| is_plain) else { return Ok(None) };
        let kept = kept.extract::<Option<f64>>()?;
        let stream = Twister::new(key, *position as usize).map(|bits| Stream::new(Bits::Twister(bits), kept));
        return Ok(stream.map(|stream| (Home::Python(source.clone()), stream)));
    }
    let Some(found) = bit_stream(source)? else { return Ok(None) };
    if let Ok(home) = found.cast::<BitStream>() {
        let bits = home.get().copied(py)?;
        return Ok(bits.map(|bits| (Home::Jumping(home.clone()), Stream::new(Bits::Pcg(bits), None))));
    }
    let home = found.cast_into::<SequentialStream>()?;
    let bits = home.get().copied(py)?;
    Ok(bits.map(|bits| (Home::Sequential(home), Stream::new(Bits::Twister(bits), None))))
}
