//! cuSOLVER, NVIDIA's library of decompositions of matrices.
//!
//! In: a system of equations, or a matrix to be decomposed, in a device's memory. Out: the solution or the factors, and
//! whether there are any, which waits for the device. The library comes with CUDA toolkits and as a PyPI package, on
//! which the extras `cuda12` and `cuda13` of numelt depend. It is loaded when it is first asked for; neither building
//! nor importing numelt needs it. Its functions for extents of 64 bits are called, which are the same for all dtypes.

use super::api::{Memory, Stream};
use super::toolkit;
use crate::library::functions;
use numelt_ir::{DType, Error, Result};
use numelt_runtime::{Routine, Vectors};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

type Handle = *mut c_void;

functions! {
    "cuSOLVER":
    create "cusolverDnCreate" (*mut Handle) -> i32;
    destroy "cusolverDnDestroy" (Handle) -> i32;
    set_stream "cusolverDnSetStream" (Handle, Handle) -> i32;
    create_params "cusolverDnCreateParams" (*mut Handle) -> i32;
    destroy_params "cusolverDnDestroyParams" (Handle) -> i32;
    lu_size "cusolverDnXgetrf_bufferSize"
        (Handle, Handle, i64, i64, i32, u64, i64, i32, *mut usize, *mut usize) -> i32;
    lu "cusolverDnXgetrf"
        (Handle, Handle, i64, i64, i32, u64, i64, u64, i32, u64, usize, *mut u8, usize, u64) -> i32;
    solve "cusolverDnXgetrs" (Handle, Handle, i32, i64, i64, i32, u64, i64, u64, i32, u64, i64, u64) -> i32;
    cholesky_size "cusolverDnXpotrf_bufferSize"
        (Handle, Handle, i32, i64, i32, u64, i64, i32, *mut usize, *mut usize) -> i32;
    cholesky "cusolverDnXpotrf"
        (Handle, Handle, i32, i64, i32, u64, i64, i32, u64, usize, *mut u8, usize, u64) -> i32;
    eigen_size "cusolverDnXsyevd_bufferSize"
        (Handle, Handle, i32, i32, i64, i32, u64, i64, i32, u64, i32, *mut usize, *mut usize) -> i32;
    eigen "cusolverDnXsyevd"
        (Handle, Handle, i32, i32, i64, i32, u64, i64, i32, u64, i32, u64, usize, *mut u8, usize, u64) -> i32;
    singular_size "cusolverDnXgesvd_bufferSize"
        (Handle, Handle, i8, i8, i64, i64, i32, u64, i64, i32, u64, i32, u64, i64, i32, u64, i64, i32, *mut usize, *mut usize)
        -> i32;
    singular "cusolverDnXgesvd"
        (Handle, Handle, i8, i8, i64, i64, i32, u64, i64, i32, u64, i32, u64, i64, i32, u64, i64, i32, u64, usize, *mut u8,
         usize, u64) -> i32;
}

const SUCCESS: i32 = 0;
/// The library has no memory left.
const NO_MEMORY: i32 = 2;
const TRANSPOSED: i32 = 1;
const LOWER: i32 = 0;
const UPPER: i32 = 1;

/// The library, for one stream.
pub struct CuSolver {
    api: Api,
    stream: Stream,
    /// The library's state, which one thread at a time may use, and the parameters of its functions.
    state: Mutex<[Handle; 2]>,
}

// SAFETY: the handles may be used on any thread, by one at a time.
unsafe impl Send for CuSolver {}
// SAFETY: as above: they are behind a lock.
unsafe impl Sync for CuSolver {}

/// The library's number for a dtype.
fn number(dtype: DType) -> Result<i32> {
    match dtype {
        DType::F32 => Ok(0),
        DType::F64 => Ok(1),
        DType::C64 => Ok(4),
        DType::C128 => Ok(5),
        other => Err(Error::Unsupported(format!("cuda: matrices of {other}"))),
    }
}

fn check(function: &str, code: i32) -> Result<()> {
    toolkit::check(function, code, NO_MEMORY)
}

/// A routine that is being computed.
struct Job<'a> {
    library: &'a CuSolver,
    handle: Handle,
    params: Handle,
    /// Where the library writes whether there is a result.
    info: &'a Memory,
}

/// Scratch memory of a function of the library: on the device, and on the host.
#[derive(Clone, Copy)]
struct Scratch {
    far: u64,
    far_size: usize,
    near: *mut u8,
    near_size: usize,
}

impl CuSolver {
    /// The newest library that a driver of this toolkit accepts, for work in the order of a stream; `None` if there is
    /// none, or none that works.
    pub fn open(toolkit: i32, stream: &Stream) -> Option<CuSolver> {
        // toolkits 12 have version 11 of it, toolkits 13 version 12
        let api = Api::find(toolkit::library("cusolver", "cusolver", toolkit, 1)?).ok()?;
        let _entered = stream.enter().ok()?;
        let mut handles = [null_mut(); 2];
        // SAFETY: a place for the handle, in the stream's context.
        check("cusolverDnCreate", unsafe { (api.create)(&raw mut handles[0]) }).ok()?;
        let library = CuSolver { api, stream: stream.clone(), state: Mutex::new(handles) };
        let mut state = library.state.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a handle and a stream of one context; a place for the parameters.
        let codes = unsafe {
            [(library.api.set_stream)(state[0], stream.handle()), (library.api.create_params)(&raw mut state[1])]
        };
        drop(state);
        codes.iter().all(|code| *code == SUCCESS).then_some(library)
    }

    /// Computes a routine, and waits for it. Returns false if the values have no result.
    ///
    /// # Safety
    /// The arrays of the routine are at the beginning of these pieces of memory, which are of the stream's context.
    ///
    /// # Errors
    /// Those of the library.
    pub unsafe fn run(&self, routine: &Routine, arrays: &[&Memory]) -> Result<bool> {
        let _entered = self.stream.enter()?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let info = self.stream.memory(4)?;
        let job = Job { library: self, handle: state[0], params: state[1], info: &info };
        let at: Vec<u64> = arrays.iter().map(|memory| memory.address()).collect();
        // SAFETY: the caller's promise.
        unsafe {
            match *routine {
                Routine::Solve { dtype, n, columns } => job.solve(dtype, [n as i64, columns as i64], &at),
                Routine::Cholesky { dtype, n } => job.cholesky(dtype, n as i64, &at),
                Routine::Eigen { dtype, n, lower, vectors } => job.eigen(dtype, n as i64, (lower, vectors), &at),
                Routine::Singular { dtype, rows, columns, vectors } => {
                    job.singular(dtype, [rows as i64, columns as i64], vectors, &at)
                }
                Routine::Transform(_) => Err(Error::Unsupported("cuda: not a matrix".into())),
            }
        }
    }
}

/// The functions with which a routine is computed. Their arrays are at the addresses `at`, in the order of the routine.
impl Job<'_> {
    /// # Safety
    /// As for [`CuSolver::run`].
    unsafe fn solve(&self, dtype: DType, [n, columns]: [i64; 2], at: &[u64]) -> Result<bool> {
        let (ty, a, b) = (number(dtype)?, at[0], at[1]);
        let Job { library: CuSolver { api, stream, .. }, handle, params, info } = *self;
        let pivots = stream.memory(8 * n as usize)?;
        let (pivots, info) = (pivots.address(), info.address());
        self.step(
            "cusolverDnXgetrf",
            // SAFETY: handles of the library, and a matrix of these extents by the caller's promise.
            |far, near| unsafe { (api.lu_size)(handle, params, n, n, ty, a, n, ty, far, near) },
            |Scratch { far, far_size, near, near_size }| {
                // SAFETY: as above; a place for each pivot, and scratch memory of these sizes.
                unsafe { (api.lu)(handle, params, n, n, ty, a, n, pivots, ty, far, far_size, near, near_size, info) }
            },
        )?;
        if !self.has_result()? {
            return Ok(false);
        }
        // SAFETY: the factors and pivots from above, and right-hand sides of these extents.
        let code = unsafe { (api.solve)(handle, params, TRANSPOSED, n, columns, ty, a, n, pivots, ty, b, n, info) };
        check("cusolverDnXgetrs", code)?;
        self.has_result()
    }

    /// # Safety
    /// As for [`CuSolver::run`].
    unsafe fn cholesky(&self, dtype: DType, n: i64, at: &[u64]) -> Result<bool> {
        let (ty, a) = (number(dtype)?, at[0]);
        let Job { library: CuSolver { api, .. }, handle, params, info } = *self;
        let info = info.address();
        self.step(
            "cusolverDnXpotrf",
            // SAFETY: handles of the library, and a matrix of this extent by the caller's promise.
            |far, near| unsafe { (api.cholesky_size)(handle, params, UPPER, n, ty, a, n, ty, far, near) },
            |Scratch { far, far_size, near, near_size }| {
                // SAFETY: as above, and scratch memory of these sizes.
                unsafe { (api.cholesky)(handle, params, UPPER, n, ty, a, n, ty, far, far_size, near, near_size, info) }
            },
        )?;
        self.has_result()
    }

    /// # Safety
    /// As for [`CuSolver::run`].
    unsafe fn eigen(&self, dtype: DType, n: i64, (lower, vectors): (bool, bool), at: &[u64]) -> Result<bool> {
        let (ty, real, a, w) = (number(dtype)?, number(dtype.real())?, at[0], at[1]);
        let (job, part) = (i32::from(vectors), if lower { LOWER } else { UPPER });
        let Job { library: CuSolver { api, .. }, handle, params, info } = *self;
        let info = info.address();
        self.step(
            "cusolverDnXsyevd",
            |far, near| {
                // SAFETY: handles of the library, and arrays of this extent by the caller's promise.
                unsafe { (api.eigen_size)(handle, params, job, part, n, ty, a, n, real, w, ty, far, near) }
            },
            |Scratch { far: f, far_size: fs, near: h, near_size: hs }| {
                // SAFETY: as above, and scratch memory of these sizes.
                unsafe { (api.eigen)(handle, params, job, part, n, ty, a, n, real, w, ty, f, fs, h, hs, info) }
            },
        )?;
        self.has_result()
    }

    /// # Safety
    /// As for [`CuSolver::run`].
    unsafe fn singular(&self, dtype: DType, [m, n]: [i64; 2], vectors: Vectors, at: &[u64]) -> Result<bool> {
        let (ty, real, a, s) = (number(dtype)?, number(dtype.real())?, at[0], at[1]);
        let job = match vectors {
            Vectors::None => b'N',
            Vectors::Thin => b'S',
            Vectors::Full => b'A',
        } as i8;
        let (u, v) = (at.get(2).copied().unwrap_or(0), at.get(3).copied().unwrap_or(0));
        let Job { library: CuSolver { api, .. }, handle, params, info } = *self;
        let info = info.address();
        self.step(
            "cusolverDnXgesvd",
            |far, near| {
                // SAFETY: handles of the library, and arrays of these extents by the caller's promise; none where no
                // vectors are asked for.
                unsafe {
                    (api.singular_size)(
                        handle, params, job, job, m, n, ty, a, m, real, s, ty, u, m, ty, v, n, ty, far, near,
                    )
                }
            },
            |Scratch { far: f, far_size: fs, near: h, near_size: hs }| {
                // SAFETY: as above, and scratch memory of these sizes.
                unsafe {
                    (api.singular)(
                        handle, params, job, job, m, n, ty, a, m, real, s, ty, u, m, ty, v, n, ty, f, fs, h, hs, info,
                    )
                }
            },
        )?;
        self.has_result()
    }

    /// Finds out how much scratch memory a function needs, and calls it.
    fn step(
        &self,
        name: &str,
        size: impl Fn(*mut usize, *mut usize) -> i32,
        run: impl Fn(Scratch) -> i32,
    ) -> Result<()> {
        let (mut far_size, mut near_size) = (0, 0);
        check(name, size(&raw mut far_size, &raw mut near_size))?;
        let stream = &self.library.stream;
        let far = stream.memory(far_size.max(1))?;
        // aligned for all elements
        let mut near = vec![0u128; near_size.div_ceil(16)];
        let code = run(Scratch { far: far.address(), far_size, near: near.as_mut_ptr().cast(), near_size });
        // the library may use the host's memory until the work is done
        stream.finish()?;
        check(name, code)
    }

    /// What the library has written about the result: zero if there is one, a positive number if the values have none.
    fn has_result(&self) -> Result<bool> {
        let mut bytes = [0; 4];
        self.library.stream.read(self.info, 0, &mut bytes)?;
        match i32::from_le_bytes(bytes) {
            0 => Ok(true),
            1.. => Ok(false),
            code => Err(Error::Engine(format!("cuda: cuSOLVER refuses its argument {}", -code))),
        }
    }
}

impl Drop for CuSolver {
    fn drop(&mut self) {
        if let Ok(_entered) = self.stream.enter() {
            let [handle, params] = *self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: handles that the library gave, which are destroyed once; there are no parameters if making them
            // has failed.
            unsafe {
                if !params.is_null() {
                    (self.api.destroy_params)(params);
                }
                (self.api.destroy)(handle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_have_the_numbers_of_the_librarys_header() {
        // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F
        let all = [DType::F32, DType::F64, DType::C64, DType::C128].map(|dtype| number(dtype).unwrap());
        assert_eq!(all, [0, 1, 4, 5]);
        assert!(number(DType::F16).is_err());
    }
}
