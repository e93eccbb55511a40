//! Native draws from bit generators that cannot jump, so that their numbers must be computed one after the other:
//! MT19937 and SFC64.
//!
//! In: a bit generator object of NumPy, and how many numbers to draw. Out: an array that holds them. The state
//! stays in NumPy's memory and is changed under NumPy's lock, as `random` does for the generators that can
//! jump. Methods return `NotImplemented` for draws that are not native here.

use crate::cpython::calls;
use crate::numpy::convert;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::random::{destination, host_for, sized};
use crate::record::run;
use numelt::random::Twister;
use numelt_ir::{DType, Scalar};
use numelt_runtime::{ArrayView, Draw, Integers, OffsetAndScale, Sequence, TWISTER_WORDS, WriteGuard};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

/// Draws of fewer elements keep the GIL.
const LONG: i64 = 4096;

/// NumPy's `mt19937_state`.
#[repr(C)]
struct TwisterState {
    key: [u32; TWISTER_WORDS],
    position: c_int,
}

/// NumPy's `sfc64_state`.
#[repr(C)]
struct SfcState {
    words: [u64; 4],
    has_half: c_int,
    half: u32,
}

/// The kind of bit generator, and the address of its state.
#[derive(Clone, Copy)]
enum SequenceState {
    Twister(*mut TwisterState),
    Sfc64(*mut SfcState),
}

/// A bit generator that can only advance step by step.
#[pyclass(name = "SequentialStream", module = "numelt._core", frozen)]
pub struct SequentialStream {
    state: SequenceState,
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    /// Keeps the memory of the state alive.
    _owner: Py<PyAny>,
}

// SAFETY: the state is only touched with the bit generator's lock held, and the owner keeps it alive.
unsafe impl Send for SequentialStream {}
// SAFETY: as above.
unsafe impl Sync for SequentialStream {}

/// The stream of a bit generator of this name, whose state is at `address`; `None` if it is of another kind, or
/// if the memory of its state does not have the expected layout.
pub fn stream(
    name: &str,
    address: *mut c_void,
    bit_generator: &Bound<'_, PyAny>,
) -> PyResult<Option<SequentialStream>> {
    let state = match name {
        "MT19937" => SequenceState::Twister(address.cast()),
        "SFC64" => SequenceState::Sfc64(address.cast()),
        _ => return Ok(None),
    };
    // the layout depends on the installed NumPy, so it is checked once for each kind of generator
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    let bit = if matches!(state, SequenceState::Twister(_)) { 1 } else { 2 };
    if KNOWN.load(Ordering::Relaxed) & bit == 0 {
        if !state.is_laid_out_as_known(bit_generator)? {
            return Ok(None);
        }
        KNOWN.fetch_or(bit, Ordering::Relaxed);
    }
    let lock = bit_generator.getattr("lock")?;
    Ok(Some(SequentialStream {
        state,
        acquire: lock.getattr("acquire")?.unbind(),
        release: lock.getattr("release")?.unbind(),
        _owner: bit_generator.clone().unbind(),
    }))
}

impl SequenceState {
    /// Whether the memory holds the values that NumPy's own attribute `state` shows.
    fn is_laid_out_as_known(self, bit_generator: &Bound<'_, PyAny>) -> PyResult<bool> {
        let described = bit_generator.getattr("state")?;
        let inner = described.get_item("state")?;
        let words = |name: &str| inner.get_item(name)?.call_method0("tolist")?.extract::<Vec<u64>>();
        Ok(match self {
            SequenceState::Twister(at) => {
                let (key, position) = (words("key")?, inner.get_item("pos")?.extract::<c_int>()?);
                // SAFETY: the address is that of this generator's structure.
                unsafe { (*at).key.iter().map(|&w| u64::from(w)).eq(key) && (*at).position == position }
            }
            SequenceState::Sfc64(at) => {
                let (has, half): (c_int, u32) =
                    (described.get_item("has_uint32")?.extract()?, described.get_item("uinteger")?.extract()?);
                // SAFETY: the address is that of this generator's structure.
                unsafe { (*at).words == words("state")?[..] && ((*at).has_half, (*at).half) == (has, half) }
            }
        })
    }

    /// # Safety
    /// The state is alive, and nobody else uses it meanwhile.
    unsafe fn sequence<'a>(self) -> Sequence<'a> {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                SequenceState::Twister(at) => Sequence::Twister(&mut (*at).key, &mut (*at).position),
                SequenceState::Sfc64(at) => Sequence::Sfc64(&mut (*at).words, &mut (*at).has_half, &mut (*at).half),
            }
        }
    }
}

/// The elements of a dense array that is about to be written.
///
/// # Safety
/// The elements are of type `T`.
unsafe fn elements<'a, T>(guard: &'a mut WriteGuard<'_>, view: &ArrayView) -> &'a mut [T] {
    let (start, n) = (view.offset as usize, view.size() as usize);
    let bytes = &mut guard.bytes_mut()[start..start + n * size_of::<T>()];
    // SAFETY: the bytes are those of `n` elements; the memory of bases is aligned.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), n) }
}

impl SequentialStream {
    /// A copy of the state, if it is that of MT19937, and nobody is drawing.
    pub fn copied(&self, py: Python<'_>) -> PyResult<Option<Twister>> {
        let SequenceState::Twister(at) = self.state else { return Ok(None) };
        if !calls::apply(self.acquire.bind(py), (false,), None)?.is_truthy()? {
            return Ok(None);
        }
        // SAFETY: the lock and the GIL are held, and the owner is alive.
        let stream = unsafe { usize::try_from((*at).position).ok().and_then(|place| Twister::new(&(*at).key, place)) };
        calls::apply(self.release.bind(py), (), None)?;
        Ok(stream)
    }

    /// Moves the state on to that of a copy.
    pub fn put(&self, py: Python<'_>, stream: &Twister) -> PyResult<()> {
        let SequenceState::Twister(at) = self.state else { return Ok(()) };
        calls::apply(self.acquire.bind(py), (), None)?;
        // SAFETY: the lock and the GIL are held, and the owner is alive.
        unsafe { ((*at).key, (*at).position) = (*stream.key, stream.position as c_int) };
        calls::apply(self.release.bind(py), (), None).map(|_| ())
    }

    /// Draws numbers for a new array under the bit generator's lock. Returns false if the host engine cannot make
    /// them.
    fn draw(&self, py: Python<'_>, n: i64, numbers: Draw<'_>) -> PyResult<bool> {
        calls::apply(self.acquire.bind(py), (), None)?;
        let drawn = self.make(py, n, numbers);
        calls::apply(self.release.bind(py), (), None)?;
        Ok(drawn)
    }

    /// Draws uniform numbers for all of a dense view. The lock is taken before the guard, because another thread may
    /// wait for the guard while it holds the lock: a program may hold it while it looks at the array.
    fn draw_uniform(&self, py: Python<'_>, view: &ArrayView, affine: OffsetAndScale) -> PyResult<bool> {
        // run before the lock is taken, because a warning may call code of the program that draws numbers
        run::run_users(py, &view.base)?;
        calls::apply(self.acquire.bind(py), (), None)?;
        let drawn = run::overwrite_view(py, view).map(|mut guard| {
            // SAFETY: the elements are of the view's dtype, which is one of these two.
            let numbers = unsafe {
                match view.dtype {
                    DType::F32 => Draw::UniformSingle(elements(&mut guard, view)),
                    _ => Draw::Uniform(affine, elements(&mut guard, view)),
                }
            };
            self.make(py, view.size(), numbers)
        });
        calls::apply(self.release.bind(py), (), None)?;
        drawn
    }

    /// Draws numbers while the lock is held, and releases the GIL if there are many. Returns false if the host engine
    /// cannot make them.
    fn make(&self, py: Python<'_>, n: i64, numbers: Draw<'_>) -> bool {
        let state = LockedState(self.state);
        let (host, threads) = host_for(py, n);
        let run = move || {
            let state = state;
            // SAFETY: the lock is held, and the owner is alive.
            host.draw(&mut unsafe { state.0.sequence() }, numbers, threads)
        };
        if n >= LONG { py.detach(run) } else { run() }
    }
}

/// The state, while the lock is held.
struct LockedState(SequenceState);
// SAFETY: it is made and used only while the lock is held.
unsafe impl Send for LockedState {}

#[pymethods]
impl SequentialStream {
    /// Uniform numbers in `[0, 1)`, in f64 or f32, in a new array or in `out`. With `low`, each number
    /// becomes `low + range * number`.
    #[pyo3(signature = (size, single = false, out = None, low = None, range = 1.0))]
    fn uniform<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        single: bool,
        out: Option<&Bound<'py, NdArray>>,
        low: Option<f64>,
        range: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = if single { DType::F32 } else { DType::F64 };
        let Some(view) = destination(size, out, dtype)? else { return Ok(py.NotImplemented().into_bound(py)) };
        if view.size() > 0 {
            let affine: OffsetAndScale = low.map(|low| (low, range));
            if !self.draw_uniform(py, &view, affine)? {
                return Ok(py.NotImplemented().into_bound(py));
            }
        }
        match out {
            Some(array) => Ok(array.clone().into_any()),
            None => wrap_new(py, view),
        }
    }

    /// Integers from `low` to `low + last`, by mask and rejection, as NumPy's legacy generators make them.
    fn masked<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        low: &Bound<'py, PyAny>,
        last: u32,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let declined = || Ok(py.NotImplemented().into_bound(py));
        let Some(dtype) = convert::parse_dtype(dtype)? else { return declined() };
        let low = match convert::weak(low).and_then(|low| low.to_scalar(dtype)) {
            Some(Scalar::I64(low)) => low as u64,
            Some(Scalar::U64(low)) => low,
            Some(Scalar::I32(low)) => low as u64,
            Some(Scalar::U32(low)) => u64::from(low),
            _ => return declined(),
        };
        let view = sized(dtype, size)?;
        if view.size() > 0 {
            let mut guard = run::overwrite(py, &view.base)?;
            // SAFETY: the view's elements are integers of this size.
            let to = unsafe {
                match dtype.size() {
                    8 => Integers::Wide(elements(&mut guard, &view)),
                    _ => Integers::Narrow(elements(&mut guard, &view)),
                }
            };
            if !self.draw(py, view.size(), Draw::Masked { low, last, to })? {
                return declined();
            }
        }
        wrap_new(py, view)
    }

    /// Normal numbers by the polar method. With `mean`, each number becomes `mean + scale * number`. The method makes
    /// two numbers at a time. `draw` calls NumPy for the number that NumPy has kept from the last pair (if `kept`),
    /// and for the last one of an odd count.
    #[pyo3(signature = (size, kept, draw, mean = None, scale = 1.0))]
    fn normal<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        kept: bool,
        draw: &Bound<'py, PyAny>,
        mean: Option<f64>,
        scale: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = sized(DType::F64, size)?;
        let n = view.size();
        if n == 0 || matches!(self.state, SequenceState::Sfc64(_)) {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let mut guard = run::overwrite(py, &view.base)?;
        let affine: OffsetAndScale = mean.map(|mean| (mean, scale));
        let one = || -> PyResult<f64> {
            let number: f64 = draw.call0()?.extract()?;
            Ok(affine.map_or(number, |(mean, scale)| mean + scale * number))
        };
        // SAFETY: the view's elements are f64.
        let numbers = unsafe { elements::<f64>(&mut guard, &view) };
        let (first, pairs) = numbers.split_at_mut(usize::from(kept));
        let even = pairs.len() / 2 * 2;
        let (pairs, last) = pairs.split_at_mut(even);
        // first the pairs: NumPy's kept number is not a part of the state that moves here, so drawing it could not be
        // undone
        if !self.draw(py, n, Draw::Normal(affine, pairs))? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        for number in first.iter_mut().chain(last) {
            *number = one()?;
        }
        drop(guard);
        wrap_new(py, view)
    }

    /// Always `NotImplemented`: this stream has no integers of a fixed number of words each.
    #[pyo3(signature = (*_args))]
    fn integers<'py>(&self, py: Python<'py>, _args: &Bound<'py, pyo3::types::PyTuple>) -> Bound<'py, PyAny> {
        py.NotImplemented().into_bound(py)
    }

    /// Always `NotImplemented`: this stream has no integers by multiplication and rejection.
    #[pyo3(signature = (*_args))]
    fn bounded<'py>(&self, py: Python<'py>, _args: &Bound<'py, pyo3::types::PyTuple>) -> Bound<'py, PyAny> {
        py.NotImplemented().into_bound(py)
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SequentialStream>()
}
