//! What compiled loops call: loops of NumPy's ufuncs, memory, and the check for signals and waiting threads.
//!
//! In: the parameters that a loop was compiled with. Out: descriptions whose addresses compiled code passes back.

use crate::jit::pool::Pool;
use crate::jit::streams::Stream;
use crate::numpy::convert::Numpy;
use numelt_ir::DType;
use numelt_jit::{APPENDED, Draw, Form, MOST_UNDONE, Param};
use numpy::npyffi::PyUFuncObject;
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    /// The numbers that the run appends to a list: the position of their type in [`APPENDED`], and their bits.
    Append(Mutex<Vec<(u8, u64)>>),
    /// Writes back what called functions have overwritten. The number is the address of the memory where it is kept: see
    /// `numelt_jit`'s `undo`.
    ///
    /// After it come the copies of generators, and the address of the number that tells from which of them the statement
    /// has drawn.
    Undo(usize, Vec<Arc<Mutex<Stream>>>, usize),
    /// Draws a number.
    Draw {
        stream: Arc<Mutex<Stream>>,
        draw: Draw,
        /// The bit of this generator in the number at the address `drawn`.
        place: u32,
        drawn: usize,
    },
}

impl HostFunction {
    /// The function that a parameter stands for; `None` if there is none.
    pub fn of(py: Python<'_>, param: &Param) -> PyResult<Option<HostFunction>> {
        Ok(match param {
            Param::Part { .. } | Param::Log | Param::Undo | Param::Draw(..) | Param::Drawn => None,
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
            Param::Append(_) => Some(HostFunction::Append(Mutex::default())),
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
            HostFunction::Append(numbers) => {
                let kind = word(0) as usize;
                let mut bits = [0; 8];
                let size = APPENDED[kind].1.size();
                std::ptr::copy_nonoverlapping(*args.add(1), bits.as_mut_ptr(), size);
                let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
                numbers.push((kind as u8, u64::from_le_bytes(bits)));
                *(*args.add(2)).cast::<u64>() = 0;
            }
            HostFunction::Undo(log, streams, drawn) => {
                undo(*log as *mut u64);
                let drawn = &mut *(*drawn as *mut u64);
                for (_, stream) in streams.iter().enumerate().filter(|(place, _)| *drawn >> place & 1 != 0) {
                    stream.lock().unwrap_or_else(PoisonError::into_inner).go_back();
                }
                *drawn = 0;
                *(*args.add(1)).cast::<u64>() = 0;
            }
            HostFunction::Draw { stream, draw, place, drawn } => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                let drawn = &mut *(*drawn as *mut u64);
                if *drawn >> place & 1 == 0 {
                    *drawn |= 1 << place;
                    stream.begin();
                }
                let count = draw.operands();
                let operands = [0, 1].map(|number| if number < count { word(number) } else { 0 });
                *(*args.add(count)).cast::<u64>() = stream.draw(*draw, operands);
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

/// Memory in which compiled code keeps what called functions overwrite.
pub fn undo_log() -> Vec<u64> {
    // entries follow the number of entries
    let mut log = Vec::with_capacity(1 + 3 * MOST_UNDONE as usize);
    log.push(0);
    log
}

/// Writes back, in reverse order, what has been overwritten.
///
/// # Safety
/// `log` is the address of memory as long as that of [`undo_log`]. It has the number of entries, and for each entry an
/// address, a size and the bytes that were there. The memory at these addresses still belongs to arrays that are held.
unsafe fn undo(log: *mut u64) {
    // SAFETY: the caller's promise.
    unsafe {
        for entry in (0..*log as usize).rev() {
            let [address, size, bits] = [1, 2, 3].map(|word| log.add(3 * entry + word));
            std::ptr::copy_nonoverlapping(bits.cast::<u8>(), *address as *mut u8, *size as usize);
        }
        *log = 0;
    }
}

/// How long compiled code holds the GIL before it releases it. This is a little longer than CPython's default switch
/// interval: by then a waiting thread has requested the GIL, and otherwise this thread would get it back at once.
const SWITCH: Duration = Duration::from_millis(7);

/// How long compiled code works on copies of lists before it stops, so that it sees what signal handlers have changed in
/// the lists. If there are other threads, it stops where it would otherwise let them run.
const REREAD: Duration = Duration::from_millis(100);

thread_local! {
    /// When this thread has last released the GIL.
    static SWITCHED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// When the lists were copied with which this thread's compiled code works, if there are any.
    static COPIED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Compiled code of this thread works on copies of lists as long as this lives: it does not let other threads run.
pub struct OnCopies {
    before: Option<Instant>,
}

impl OnCopies {
    /// From now on.
    pub fn new() -> OnCopies {
        OnCopies { before: COPIED.replace(Some(Instant::now())) }
    }
}

impl Drop for OnCopies {
    fn drop(&mut self) {
        COPIED.set(self.before);
    }
}

/// Does this interpreter have one thread only?
fn is_alone() -> bool {
    // SAFETY: the GIL is held, so that no thread comes or goes.
    unsafe {
        let first = ffi::PyInterpreterState_ThreadHead(ffi::PyInterpreterState_Get());
        ffi::PyThreadState_Next(first).is_null()
    }
}

/// Runs the handlers of signals that have arrived, and lets other threads run every few milliseconds. Compiled code
/// calls this from time to time. Returns true if the code shall stop: if a handler has raised an exception, which
/// [`crate::jit::unit::jit_pending`] will raise, or if it is time to look at lists again.
pub extern "C" fn poll() -> u8 {
    let now = Instant::now();
    if let Some(copied) = COPIED.get() {
        if now - copied > if is_alone() { REREAD } else { SWITCH } {
            return 1;
        }
    } else if SWITCHED.get().is_none_or(|last| now - last > SWITCH) {
        SWITCHED.set(Some(now));
        // SAFETY: compiled code calls this with the GIL held, and does nothing while this call has released it.
        // References keep its objects alive, and guards keep the memory of arrays in place.
        unsafe { ffi::PyEval_RestoreThread(ffi::PyEval_SaveThread()) }
    }
    // SAFETY: as above, with the GIL held again. An exception may also be pending from an earlier call.
    unsafe { (ffi::PyErr_CheckSignals() != 0 || !ffi::PyErr_Occurred().is_null()).into() }
}
