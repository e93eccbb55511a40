//! Native draws from NumPy's own bit generators.
//!
//! In: a bit generator object of NumPy, and how many numbers to draw. Out: an array of them. A large draw is recorded
//! as a random stream that begins at the generator's state, and is computed in the kernel that uses it. The state
//! stays in NumPy's memory and is moved when the draw is recorded, by a jump, under NumPy's lock; so NumPy's methods
//! and ours may be called in any order and from any thread. Methods return `NotImplemented` for draws that are not
//! native (other generators, arguments that only NumPy supports).

pub mod drawing;
pub mod random_sequence;

use crate::array::operand::new_shape;
use crate::cpython::calls;
use crate::numpy::convert;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::record::run;
use numelt::random::{Pcg64, StreamSegment};
use numelt::rules::shape;
use numelt_ir::interp::random::{counter_after, philox4x64};
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Bounded, Host, Input, Runtime};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use smallvec::SmallVec;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Draws of fewer elements are made at once, because recording them would take longer.
const LAZY: i64 = 2048;

/// NumPy's `pcg64_state`.
#[repr(C)]
struct PcgState {
    /// The state and the increment, each with its low half first.
    numbers: *mut [u64; 4],
    has_half: c_int,
    half: u32,
}

/// NumPy's `philox_state`.
#[repr(C)]
struct PhiloxState {
    counter: *mut [u64; 4],
    key: *mut [u64; 2],
    position: c_int,
    buffer: [u64; 4],
    has_half: c_int,
    half: u32,
}

/// The kind of bit generator, and the address of its state.
#[derive(Clone, Copy)]
enum State {
    Pcg64(*mut PcgState),
    Pcg64Dxsm(*mut PcgState),
    Philox(*mut PhiloxState),
}

/// A bit generator that can jump, for native draws.
#[pyclass(name = "BitStream", module = "numelt._core", frozen)]
pub struct BitStream {
    state: State,
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    /// Keeps the memory of the state alive.
    _owner: Py<PyAny>,
}

// SAFETY: the state is only touched with the GIL and the bit generator's lock held, and the owner keeps it alive.
unsafe impl Send for BitStream {}
// SAFETY: as above.
unsafe impl Sync for BitStream {}

/// A native source of a bit generator's numbers; `None` if there is none for this kind of generator.
#[pyfunction]
pub fn bit_stream<'py>(bit_generator: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = bit_generator.py();
    let class = bit_generator.get_type();
    let name = class.name()?;
    if !class.module()?.to_str()?.starts_with("numpy.random.") || cfg!(target_endian = "big") {
        return Ok(None);
    }
    let capsule = bit_generator.getattr("capsule")?.cast_into::<PyCapsule>()?;
    let interface = capsule.pointer_checked(Some(c"BitGenerator"))?;
    // SAFETY: NumPy's `bitgen_t` begins with the address of the state, which lives as long as the generator.
    let address = unsafe { *interface.as_ptr().cast::<*mut c_void>() };
    let state = match name.to_str()? {
        "PCG64" => State::Pcg64(address.cast()),
        "PCG64DXSM" => State::Pcg64Dxsm(address.cast()),
        "Philox" => State::Philox(address.cast()),
        other => {
            let stream = random_sequence::stream(other, address, bit_generator)?;
            return stream.map(|stream| Ok(Bound::new(py, stream)?.into_any())).transpose();
        }
    };
    // the layout depends on the installed NumPy, so it is checked once for each kind of generator
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    let bit = state.bit();
    if KNOWN.load(Ordering::Relaxed) & bit == 0 {
        if !state.is_laid_out_as_known(bit_generator)? {
            return Ok(None);
        }
        KNOWN.fetch_or(bit, Ordering::Relaxed);
    }
    let lock = bit_generator.getattr("lock")?;
    let stream = BitStream {
        state,
        acquire: lock.getattr("acquire")?.unbind(),
        release: lock.getattr("release")?.unbind(),
        _owner: bit_generator.clone().unbind(),
    };
    Ok(Some(Bound::new(py, stream)?.into_any()))
}

impl State {
    /// A bit for each kind of generator.
    fn bit(self) -> u8 {
        match self {
            State::Pcg64(_) => 1,
            State::Pcg64Dxsm(_) => 2,
            State::Philox(_) => 4,
        }
    }

    /// Whether the memory holds the values that NumPy's own attribute `state` shows.
    fn is_laid_out_as_known(self, bit_generator: &Bound<'_, PyAny>) -> PyResult<bool> {
        let described = bit_generator.getattr("state")?;
        let inner = described.get_item("state")?;
        let (has, half): (c_int, u32) =
            (described.get_item("has_uint32")?.extract()?, described.get_item("uinteger")?.extract()?);
        Ok(match self {
            State::Pcg64(at) | State::Pcg64Dxsm(at) => {
                let (state, increment): (u128, u128) =
                    (inner.get_item("state")?.extract()?, inner.get_item("inc")?.extract()?);
                // SAFETY: this is the generator's structure in every NumPy with a 128-bit integer type; if
                // the halves are in the other order, the comparison fails.
                unsafe {
                    let numbers = *(*at).numbers;
                    join(numbers[1], numbers[0]) == state
                        && join(numbers[3], numbers[2]) == increment
                        && ((*at).has_half, (*at).half) == (has, half)
                }
            }
            State::Philox(at) => {
                let words = |object: Bound<'_, PyAny>| object.call_method0("tolist")?.extract::<Vec<u64>>();
                let (counter, key) = (words(inner.get_item("counter")?)?, words(inner.get_item("key")?)?);
                let (buffer, position) =
                    (words(described.get_item("buffer")?)?, described.get_item("buffer_pos")?.extract::<c_int>()?);
                // SAFETY: the address is that of this generator's structure.
                unsafe {
                    *(*at).counter == counter[..]
                        && *(*at).key == key[..]
                        && (*at).buffer == buffer[..]
                        && (*at).position == position
                        && ((*at).has_half, (*at).half) == (has, half)
                }
            }
        })
    }

    /// A copy of the state.
    ///
    /// # Safety
    /// The state is alive, and nobody else uses it meanwhile.
    unsafe fn save(self) -> Saved {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                State::Pcg64(at) | State::Pcg64Dxsm(at) => Saved::Pcg(*(*at).numbers, (*at).has_half, (*at).half),
                State::Philox(at) => {
                    Saved::Philox(*(*at).counter, (*at).position, (*at).buffer, (*at).has_half, (*at).half)
                }
            }
        }
    }

    /// Restores a saved state of the same generator.
    ///
    /// # Safety
    /// The conditions of [`State::save`].
    unsafe fn restore(self, saved: &Saved) {
        // SAFETY: the caller's contract.
        unsafe {
            match (self, saved) {
                (State::Pcg64(at) | State::Pcg64Dxsm(at), Saved::Pcg(numbers, has, half)) => {
                    *(*at).numbers = *numbers;
                    ((*at).has_half, (*at).half) = (*has, *half);
                }
                (State::Philox(at), Saved::Philox(counter, position, buffer, has, half)) => {
                    *(*at).counter = *counter;
                    ((*at).position, (*at).buffer) = (*position, *buffer);
                    ((*at).has_half, (*at).half) = (*has, *half);
                }
                (State::Pcg64(_) | State::Pcg64Dxsm(_), Saved::Philox(..)) | (State::Philox(_), Saved::Pcg(..)) => {}
            }
        }
    }

    /// Takes `n` words, or halves of words, and moves the state as NumPy's own draws would. `None` if the state does
    /// not allow it.
    ///
    /// # Safety
    /// The state is alive, and nobody else uses it meanwhile.
    unsafe fn take(self, n: u64, halves: bool) -> Option<StreamSegment> {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                State::Pcg64(at) => take_pcg(&mut *at, n, halves, true),
                State::Pcg64Dxsm(at) => take_pcg(&mut *at, n, halves, false),
                State::Philox(at) => take_philox(&mut *at, n, halves),
            }
        }
    }
}

const fn join(high: u64, low: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

/// [`State::take`] for PCG64 and PCG64DXSM.
///
/// # Safety
/// The pointer in the state is valid.
unsafe fn take_pcg(memory: &mut PcgState, n: u64, halves: bool, steps_first: bool) -> Option<StreamSegment> {
    // SAFETY: the caller's contract.
    let numbers = unsafe { &mut *memory.numbers };
    let (state, increment) = (join(numbers[1], numbers[0]), join(numbers[3], numbers[2]));
    let mut stream = Pcg64 { state, increment, steps_first, half: memory.half, has_half: memory.has_half != 0 };
    let segment = stream.take(n, halves)?;
    (numbers[0], numbers[1]) = (stream.state as u64, (stream.state >> 64) as u64);
    (memory.half, memory.has_half) = (stream.half, c_int::from(stream.has_half));
    Some(segment)
}

/// [`State::take`] for Philox. `None` if NumPy's buffer is not what the counter and key give, as after a change by
/// the program.
///
/// # Safety
/// The pointers in the state are valid.
unsafe fn take_philox(memory: &mut PhiloxState, n: u64, halves: bool) -> Option<StreamSegment> {
    // SAFETY: the caller's contract.
    let (counter, key) = unsafe { (&mut *memory.counter, *memory.key) };
    let position = u64::try_from(memory.position).ok().filter(|p| *p <= 4)?;
    let waits = halves && memory.has_half != 0;
    if (position < 4 || waits) && memory.buffer != philox4x64(*counter, key) {
        return None;
    }
    let mut first = if halves { 2 * position } else { position };
    if waits {
        let word = memory.buffer[usize::try_from(position.checked_sub(1)?).ok()?];
        if (word >> 32) as u32 != memory.half {
            return None;
        }
        first -= 1;
    }
    let state = counter.iter().chain(&key).copied().collect();
    let last = first + n - 1;
    let last_word = if halves { last / 2 } else { last };
    if last_word >= 4 {
        *counter = counter_after(*counter, last_word / 4);
        memory.buffer = philox4x64(*counter, key);
    }
    memory.position = (last_word % 4 + 1) as c_int;
    if halves {
        memory.has_half = c_int::from(last.is_multiple_of(2));
        memory.half = (memory.buffer[(last_word % 4) as usize] >> 32) as u32;
    }
    Some(StreamSegment { op: Op::Philox, first, state })
}

#[pymethods]
impl BitStream {
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
            let Some(segment) = self.take(py, view.size(), single)? else {
                return Ok(py.NotImplemented().into_bound(py));
            };
            draw(py, &segment, dtype, &view)?;
            if let Some(low) = low {
                let number = |value| Input::Const(Scalar::F64(value));
                let axes = Axes::default();
                run::record(py, Op::Multiply, dtype, &view, &[number(range), Input::Array(&view)], axes)?;
                run::record(py, Op::Add, dtype, &view, &[number(low), Input::Array(&view)], axes)?;
            }
        }
        match out {
            Some(array) => Ok(array.clone().into_any()),
            None => wrap_new(py, view),
        }
    }

    /// Integers `low + number`, where `number` has `bits` random bits: the upper bits of half a word or of a whole
    /// word.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        low: &Bound<'py, PyAny>,
        bits: u32,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(dtype) = convert::parse_dtype(dtype)? else { return Ok(py.NotImplemented().into_bound(py)) };
        let halves = bits <= 32;
        let (raw, width) = if halves { (DType::U32, 32) } else { (DType::U64, 64) };
        let view = sized(dtype, size)?;
        if view.size() == 0 {
            return wrap_new(py, view);
        }
        let weak = convert::weak(low).and_then(|low| low.to_scalar(dtype));
        let (Some(low), 1..=64) = (weak, bits) else { return Ok(py.NotImplemented().into_bound(py)) };
        let Some(segment) = self.take(py, view.size(), halves)? else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let axes = Axes::default();
        let words = contiguous(raw, &view.shape);
        draw(py, &segment, raw, &words)?;
        if bits < width {
            let shift = width - bits;
            let shift = if halves { Scalar::U32(shift) } else { Scalar::U64(u64::from(shift)) };
            run::record(py, Op::RightShift, raw, &words, &[Input::Array(&words), Input::Const(shift)], axes)?;
        }
        run::record(py, Op::Add, dtype, &view, &[Input::Array(&words), Input::Const(low)], axes)?;
        wrap_new(py, view)
    }

    /// Integers from `low` to `low + span`. They are made at once, because only then is known how many words are
    /// rejected, and so where the state ends.
    fn bounded<'py>(
        &self,
        py: Python<'py>,
        size: &Bound<'py, PyAny>,
        low: &Bound<'py, PyAny>,
        span: u64,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let declined = || Ok(py.NotImplemented().into_bound(py));
        let Some(dtype) = convert::parse_dtype(dtype)? else { return declined() };
        let first = convert::weak(low).and_then(|low| low.to_scalar(dtype));
        let low = match first {
            Some(Scalar::I64(low)) => low as u64,
            Some(Scalar::U64(low)) => low,
            Some(Scalar::I32(low)) => low as u64,
            Some(Scalar::U32(low)) => u64::from(low),
            _ => return declined(),
        };
        let halves = span < u64::from(u32::MAX);
        let (Some(count), true) = (span.checked_add(1), halves || dtype.size() == 8) else { return declined() };
        let view = sized(dtype, size)?;
        let n = view.size();
        if n == 0 {
            return wrap_new(py, view);
        }
        let mut guard = run::overwrite(py, &view.base)?;
        let to = guard.bytes_mut();
        let bounded = Bounded { low, count, halves, wide: dtype.size() == 8 };
        calls::apply(self.acquire.bind(py), (), None)?;
        // SAFETY: the lock and the GIL are held, and the owner is alive.
        let before = unsafe { self.state.save() };
        // SAFETY: as above.
        let segment = unsafe { self.state.take(n as u64, halves) };
        let drawn = segment.map(|s| {
            let (host, threads) = host_for(py, n);
            let mut made = || {
                // SAFETY: the base was made for exactly these integers, and nobody else has it yet.
                unsafe { host.fill_bounded(&s.stream(), bounded, n as usize, to.as_mut_ptr(), threads) }
            };
            // the bit generator's lock stays held while the GIL is released, as in NumPy
            if n >= LAZY { py.detach(made) } else { made() }
        });
        match drawn {
            Some(Some(drawn)) if drawn == n as u64 => {}
            // SAFETY: as above; this state has been accepted before.
            Some(drawn) => unsafe {
                self.state.restore(&before);
                if let Some(drawn) = drawn {
                    self.state.take(drawn, halves);
                }
            },
            None => {}
        }
        calls::apply(self.release.bind(py), (), None)?;
        drop(guard);
        if drawn.flatten().is_some() { wrap_new(py, view) } else { declined() }
    }
}

/// The host engine, and the number of its threads that share work on `n` elements that is done at once.
pub fn host_for(_py: Python<'_>, n: i64) -> (Arc<dyn Host>, usize) {
    // SAFETY: settings change only with the GIL held; it is held here and not released.
    let host = unsafe { Runtime::global().with_host(Arc::clone) };
    let threads = if n < 1 << 18 { 1 } else { host.threads() };
    (host, threads)
}

/// A copy of a bit generator's state.
enum Saved {
    Pcg([u64; 4], c_int, u32),
    Philox([u64; 4], c_int, [u64; 4], c_int, u32),
}

impl BitStream {
    /// A copy of the state, if it is that of PCG64 or PCG64DXSM, and nobody is drawing.
    pub fn copied(&self, py: Python<'_>) -> PyResult<Option<Pcg64>> {
        let (State::Pcg64(at) | State::Pcg64Dxsm(at)) = self.state else { return Ok(None) };
        if !calls::apply(self.acquire.bind(py), (false,), None)?.is_truthy()? {
            return Ok(None);
        }
        // SAFETY: the lock and the GIL are held, and the owner is alive.
        let (numbers, half, has_half) = unsafe { (*(*at).numbers, (*at).half, (*at).has_half != 0) };
        calls::apply(self.release.bind(py), (), None)?;
        let (state, increment) = (join(numbers[1], numbers[0]), join(numbers[3], numbers[2]));
        Ok(Some(Pcg64 { state, increment, steps_first: matches!(self.state, State::Pcg64(_)), half, has_half }))
    }

    /// Moves the state on to that of a copy.
    pub fn put(&self, py: Python<'_>, stream: &Pcg64) -> PyResult<()> {
        let (State::Pcg64(at) | State::Pcg64Dxsm(at)) = self.state else { return Ok(()) };
        calls::apply(self.acquire.bind(py), (), None)?;
        // SAFETY: the lock and the GIL are held, and the owner is alive.
        unsafe {
            let numbers = &mut *(*at).numbers;
            (numbers[0], numbers[1]) = (stream.state as u64, (stream.state >> 64) as u64);
            ((*at).half, (*at).has_half) = (stream.half, c_int::from(stream.has_half));
        }
        calls::apply(self.release.bind(py), (), None).map(|_| ())
    }

    /// Moves the state by `n` elements under NumPy's lock.
    fn take(&self, py: Python<'_>, n: i64, halves: bool) -> PyResult<Option<StreamSegment>> {
        calls::apply(self.acquire.bind(py), (), None)?;
        // SAFETY: the lock and the GIL are held, and the owner is alive.
        let segment = unsafe { self.state.take(n as u64, halves) };
        calls::apply(self.release.bind(py), (), None)?;
        Ok(segment)
    }
}

/// Makes the numbers of a dense array: at once if they are few and the array is new, else as a recorded operation.
fn draw(py: Python<'_>, segment: &StreamSegment, ty: DType, view: &ArrayView) -> PyResult<()> {
    let fresh = !view.base.is_pending() && view.base.is_blank();
    if view.size() < LAZY && fresh {
        let (n, start, stream) = (view.size() as usize, view.offset as usize, segment.stream());
        let filled = run::fill(py, &view.base, |bytes| {
            assert!(start + n * ty.size() <= bytes.len());
            let to = bytes[start..].as_mut_ptr();
            // SAFETY: there is memory for all elements of a dense view. Settings change only with the GIL held; it is
            // held here and not released.
            unsafe { Runtime::global().with_host(|host| host.fill_stream(&stream, ty, n, to)) }
        })?;
        if filled {
            return Ok(());
        }
    }
    let words = std::iter::once(segment.first).chain(segment.state.iter().copied());
    let ins: SmallVec<[Input<'_>; 7]> = words.map(|word| Input::Const(Scalar::U64(word))).collect();
    run::record(py, segment.op, ty, view, &ins, Axes::default())
}

/// A dense array without memory, of the shape that the argument `size` states.
pub fn sized(dtype: DType, size: &Bound<'_, PyAny>) -> PyResult<ArrayView> {
    let dims = new_shape(size)?;
    crate::numpy::errors::check_bytes(size.py(), &dims, dtype)?;
    Ok(contiguous(dtype, &dims))
}

/// A dense array without memory.
pub fn contiguous(dtype: DType, dims: &Dims) -> ArrayView {
    ArrayView::fresh(Runtime::global(), dtype, dims)
}

/// The array for the drawn numbers: `out`, if it is writeable, contiguous, and of the right dtype and of the shape of
/// `size` (if that is stated); without `out` a new array of that shape. `None` if NumPy has to make the draw.
pub fn destination(
    size: &Bound<'_, PyAny>,
    out: Option<&Bound<'_, NdArray>>,
    dtype: DType,
) -> PyResult<Option<ArrayView>> {
    let Some(array) = out else { return sized(dtype, size).map(Some) };
    let view = array.get().view().filter(|view| {
        let dense = shape::is_c_contiguous(&view.shape, &view.strides, dtype.size() as i64);
        view.dtype == dtype && dense && array.get().writeable()
    });
    match view {
        Some(view) if size.is_none() || new_shape(size)? == view.shape => Ok(Some(view.clone())),
        _ => Ok(None),
    }
}

/// Adds the class and the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BitStream>()?;
    module.add_function(wrap_pyfunction!(bit_stream, module)?)
}
