//! Native draws from generators whose numbers come one after the other: MT19937 and SFC64.
//!
//! In: a bit generator object of NumPy's and how many numbers to draw. Out: an array that holds them. The state
//! stays where NumPy keeps it and is moved under NumPy's lock, as `random` does for the generators that can
//! jump. What is not native here gives `NotImplemented`.

use crate::array::ndarray::{NdArray, wrap_new};
use crate::numpy::convert;
use crate::random::{destination, host_for, sized};
use crate::record::run;
use numelt_ir::{DType, Scalar};
use numelt_runtime::{ArrayView, Draw, Integers, Placed, Sequence, TWISTER_WORDS, WriteGuard};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};

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

/// Which bit generator, and where its state lies.
#[derive(Clone, Copy)]
enum State {
    Twister(*mut TwisterState),
    Sfc64(*mut SfcState),
}

/// A bit generator that can only go forwards, step by step.
#[pyclass(name = "SequentialStream", module = "numelt._core", frozen)]
pub struct SequentialStream {
    state: State,
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    /// Keeps the state's memory.
    _owner: Py<PyAny>,
}

// SAFETY: the state is only touched with the bit generator's lock held, and the owner keeps it alive.
unsafe impl Send for SequentialStream {}
// SAFETY: as above.
unsafe impl Sync for SequentialStream {}

/// The stream of a bit generator of this name, whose state is at `address`; `None` where it is another kind, or
/// its memory is not laid out as known.
pub fn stream(
    name: &str,
    address: *mut c_void,
    bit_generator: &Bound<'_, PyAny>,
) -> PyResult<Option<SequentialStream>> {
    let state = match name {
        "MT19937" => State::Twister(address.cast()),
        "SFC64" => State::Sfc64(address.cast()),
        _ => return Ok(None),
    };
    if !state.is_laid_out_as_known(bit_generator)? {
        return Ok(None);
    }
    let lock = bit_generator.getattr("lock")?;
    Ok(Some(SequentialStream {
        state,
        acquire: lock.getattr("acquire")?.unbind(),
        release: lock.getattr("release")?.unbind(),
        _owner: bit_generator.clone().unbind(),
    }))
}

impl State {
    /// Does the memory say what NumPy's own description of the state says?
    fn is_laid_out_as_known(self, bit_generator: &Bound<'_, PyAny>) -> PyResult<bool> {
        let described = bit_generator.getattr("state")?;
        let inner = described.get_item("state")?;
        let words = |name: &str| inner.get_item(name)?.call_method0("tolist")?.extract::<Vec<u64>>();
        Ok(match self {
            State::Twister(at) => {
                let (key, position) = (words("key")?, inner.get_item("pos")?.extract::<c_int>()?);
                // SAFETY: the structure of this generator.
                unsafe { (*at).key.iter().map(|&w| u64::from(w)).eq(key) && (*at).position == position }
            }
            State::Sfc64(at) => {
                let (has, half): (c_int, u32) =
                    (described.get_item("has_uint32")?.extract()?, described.get_item("uinteger")?.extract()?);
                // SAFETY: the structure of this generator.
                unsafe { (*at).words == words("state")?[..] && ((*at).has_half, (*at).half) == (has, half) }
            }
        })
    }

    /// # Safety
    /// The state lives and nobody else touches it meanwhile.
    unsafe fn sequence<'a>(self) -> Sequence<'a> {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                State::Twister(at) => Sequence::Twister(&mut (*at).key, &mut (*at).position),
                State::Sfc64(at) => Sequence::Sfc64(&mut (*at).words, &mut (*at).has_half, &mut (*at).half),
            }
        }
    }
}

/// The elements of a dense array that is about to be written.
///
/// # Safety
/// They are of this type.
unsafe fn elements<'a, T>(guard: &'a mut WriteGuard<'_>, view: &ArrayView) -> &'a mut [T] {
    let (start, n) = (view.offset as usize, view.size() as usize);
    let bytes = &mut guard.bytes_mut()[start..start + n * size_of::<T>()];
    // SAFETY: the bytes are those of as many elements; memory of bases is aligned.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), n) }
}

impl SequentialStream {
    /// Draws numbers for a new array under the bit generator's lock. False where the host engine cannot make them.
    fn draw(&self, py: Python<'_>, n: i64, numbers: Draw<'_>) -> PyResult<bool> {
        self.acquire.call0(py)?;
        let drawn = self.make(py, n, numbers);
        self.release.call0(py)?;
        Ok(drawn)
    }

    /// Draws uniform numbers for all of a dense view of this dtype. The lock comes before the guard, which another thread may wait
    /// for: a program may hold the lock while it looks at the array.
    fn draw_uniform(&self, py: Python<'_>, view: &ArrayView, placed: Placed) -> PyResult<bool> {
        // what this warns of may be told to a program that draws numbers
        run::run_users(py, &view.base)?;
        self.acquire.call0(py)?;
        let drawn = run::overwrite_view(py, view).map(|mut guard| {
            // SAFETY: the elements are those of the view's dtype, which is one of the two.
            let numbers = unsafe {
                match view.dtype {
                    DType::F32 => Draw::UniformSingle(elements(&mut guard, view)),
                    _ => Draw::Uniform(placed, elements(&mut guard, view)),
                }
            };
            self.make(py, view.size(), numbers)
        });
        self.release.call0(py)?;
        drawn
    }

    /// Draws numbers with the lock held, without the GIL where there are many. False where the host engine cannot make them.
    fn make(&self, py: Python<'_>, n: i64, numbers: Draw<'_>) -> bool {
        let state = Held(self.state);
        let (host, threads) = host_for(py, n);
        let run = move || {
            let state = state;
            // SAFETY: the lock is held, and the owner alive.
            host.draw(&mut unsafe { state.0.sequence() }, numbers, threads)
        };
        if n >= LONG { py.detach(run) } else { run() }
    }
}

/// The state, for as long as the lock is held.
struct Held(State);
// SAFETY: whoever has it has the lock.
unsafe impl Send for Held {}

#[pymethods]
impl SequentialStream {
    /// Uniform numbers in `[0, 1)` as `low + range * number` (as they are without `low`), of f64 or f32, of
    /// a new shape or into `out`.
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
            let placed: Placed = low.map(|low| (low, range));
            if !self.draw_uniform(py, &view, placed)? {
                return Ok(py.NotImplemented().into_bound(py));
            }
        }
        match out {
            Some(array) => Ok(array.clone().into_any()),
            None => wrap_new(py, view),
        }
    }

    /// Integers from `low` to `low + last`, by mask and rejection as NumPy's legacy generators make them.
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
            // SAFETY: the view is of integers of this size.
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

    /// Normal numbers as `mean + scale * number` (as they are without `mean`), by the polar method. It makes two
    /// at a time: `draw` gives the one that NumPy keeps back from the last pair (there is one if `kept`), and
    /// an odd one at the end.
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
        if n == 0 || matches!(self.state, State::Sfc64(_)) {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let mut guard = run::overwrite(py, &view.base)?;
        let placed: Placed = mean.map(|mean| (mean, scale));
        let one = || -> PyResult<f64> {
            let number: f64 = draw.call0()?.extract()?;
            Ok(placed.map_or(number, |(mean, scale)| mean + scale * number))
        };
        // SAFETY: the view is of doubles.
        let numbers = unsafe { elements::<f64>(&mut guard, &view) };
        let (first, pairs) = numbers.split_at_mut(usize::from(kept));
        let even = pairs.len() / 2 * 2;
        let (pairs, last) = pairs.split_at_mut(even);
        // before the number that NumPy keeps, which is no part of the state that moves here and cannot be put back
        if !self.draw(py, n, Draw::Normal(placed, pairs))? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        for number in first.iter_mut().chain(last) {
            *number = one()?;
        }
        drop(guard);
        wrap_new(py, view)
    }

    /// Integers whose number of words is known: not of this stream.
    #[pyo3(signature = (*_args))]
    fn integers<'py>(&self, py: Python<'py>, _args: &Bound<'py, pyo3::types::PyTuple>) -> Bound<'py, PyAny> {
        py.NotImplemented().into_bound(py)
    }

    /// Integers by multiplication and rejection: not of this stream.
    #[pyo3(signature = (*_args))]
    fn bounded<'py>(&self, py: Python<'py>, _args: &Bound<'py, pyo3::types::PyTuple>) -> Bound<'py, PyAny> {
        py.NotImplemented().into_bound(py)
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SequentialStream>()
}
