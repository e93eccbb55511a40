//! cuFFT, NVIDIA's library of Fourier transforms.
//!
//! In: transforms of lines in a device's memory. Out: the transforms, in the order of a stream. The library comes with
//! CUDA toolkits and as a PyPI package, on which the extras `cuda12` and `cuda13` of numelt depend. It is loaded when
//! it is first asked for; neither building nor importing numelt needs it. It makes a plan for each form of transform;
//! the latest plans are kept.

use super::api::{Memory, Stream};
use super::toolkit;
use crate::device::Recent;
use crate::library::functions;
use numelt_ir::{DType, Result};
use numelt_runtime::{Domain, Transform};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

type Handle = *mut c_void;

functions! {
    "cuFFT":
    create "cufftCreate" (*mut i32) -> i32;
    make "cufftMakePlanMany64"
        (i32, i32, *mut i64, *mut i64, i64, i64, *mut i64, i64, i64, i32, i64, *mut usize) -> i32;
    set_stream "cufftSetStream" (i32, Handle) -> i32;
    complex_f32 "cufftExecC2C" (i32, u64, u64, i32) -> i32;
    complex_f64 "cufftExecZ2Z" (i32, u64, u64, i32) -> i32;
    from_real_f32 "cufftExecR2C" (i32, u64, u64) -> i32;
    from_real_f64 "cufftExecD2Z" (i32, u64, u64) -> i32;
    to_real_f32 "cufftExecC2R" (i32, u64, u64) -> i32;
    to_real_f64 "cufftExecZ2D" (i32, u64, u64) -> i32;
    destroy "cufftDestroy" (i32) -> i32;
}

const SUCCESS: i32 = 0;
/// The library has no memory left.
const NO_MEMORY: i32 = 2;
const FORWARD: i32 = -1;
const INVERSE: i32 = 1;

/// The library, for one stream.
pub struct CuFft {
    // dropped before the stream
    plans: Mutex<Recent<Transform, Plan>>,
    api: Arc<Api>,
    stream: Stream,
}

/// A plan of the library.
struct Plan {
    handle: i32,
    api: Arc<Api>,
    stream: Stream,
}

fn check(function: &str, code: i32) -> Result<()> {
    toolkit::check(function, code, NO_MEMORY)
}

/// The number that the library has for a transform's dtypes.
fn kind(transform: &Transform) -> i32 {
    match (transform.domain, transform.real) {
        (Domain::Complex, DType::F32) => 0x29,
        (Domain::FromReal, DType::F32) => 0x2a,
        (Domain::ToReal, DType::F32) => 0x2c,
        (Domain::Complex, _) => 0x69,
        (Domain::FromReal, _) => 0x6a,
        (Domain::ToReal, _) => 0x6c,
    }
}

impl CuFft {
    /// The newest library that a driver of this toolkit accepts, for transforms in the order of a stream; `None` if
    /// there is none.
    pub fn open(toolkit: i32, stream: &Stream) -> Option<CuFft> {
        let api = Arc::new(Api::find(toolkit::library("cufft", "cufft", toolkit, 1)?).ok()?);
        Some(CuFft { plans: Mutex::default(), api, stream: stream.clone() })
    }

    /// Queues transforms.
    ///
    /// # Safety
    /// Both arrays of the transform are at the beginning of these pieces of memory, which are of the stream's context.
    ///
    /// # Errors
    /// Those of the library.
    pub unsafe fn run(&self, transform: &Transform, [from, to]: [&Memory; 2]) -> Result<()> {
        let _entered = self.stream.enter()?;
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.get(*transform, |transform| Plan::new(&self.api, &self.stream, transform))?.handle;
        let (from, to) = (from.address(), to.address());
        let direction = if transform.forward { FORWARD } else { INVERSE };
        let api = &self.api;
        // SAFETY: a plan for these arrays, by the caller's promise.
        let code = unsafe {
            match (transform.domain, transform.real) {
                (Domain::Complex, DType::F32) => (api.complex_f32)(plan, from, to, direction),
                (Domain::Complex, _) => (api.complex_f64)(plan, from, to, direction),
                (Domain::FromReal, DType::F32) => (api.from_real_f32)(plan, from, to),
                (Domain::FromReal, _) => (api.from_real_f64)(plan, from, to),
                (Domain::ToReal, DType::F32) => (api.to_real_f32)(plan, from, to),
                (Domain::ToReal, _) => (api.to_real_f64)(plan, from, to),
            }
        };
        check("cufftExec", code)
    }
}

impl Plan {
    /// A plan in the current context.
    fn new(api: &Arc<Api>, stream: &Stream, transform: &Transform) -> Result<Plan> {
        let mut handle = 0;
        // SAFETY: a place for the handle.
        check("cufftCreate", unsafe { (api.create)(&raw mut handle) })?;
        let plan = Plan { handle, api: Arc::clone(api), stream: stream.clone() };
        let (mut points, lines, mut scratch) = (transform.points as i64, transform.lines as i64, 0);
        // SAFETY: a handle and a stream of one context; one length; no strides, so that the lines follow each other; a
        // place for the size of the memory that the plan allocates.
        let code = unsafe {
            let (points, none, scratch) = (&raw mut points, null_mut(), &raw mut scratch);
            match (api.set_stream)(handle, stream.handle()) {
                SUCCESS => (api.make)(handle, 1, points, none, 1, 0, none, 1, 0, kind(transform), lines, scratch),
                code => code,
            }
        };
        check("cufftMakePlanMany64", code).map(|()| plan)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        if let Ok(_entered) = self.stream.enter() {
            // queued work uses the plan's memory
            let _ = self.stream.finish();
            // SAFETY: a handle that the library gave, which is destroyed once.
            unsafe { (self.api.destroy)(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_have_the_numbers_of_the_librarys_header() {
        let kinds = |real| {
            [Domain::Complex, Domain::FromReal, Domain::ToReal]
                .map(|domain| kind(&Transform { domain, real, forward: true, points: 8, lines: 1 }))
        };
        // CUFFT_C2C, CUFFT_R2C, CUFFT_C2R; CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D
        assert_eq!(kinds(DType::F32), [0x29, 0x2a, 0x2c]);
        assert_eq!(kinds(DType::F64), [0x69, 0x6a, 0x6c]);
    }
}
