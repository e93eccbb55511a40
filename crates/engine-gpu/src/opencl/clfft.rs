//! clFFT, a library of Fourier transforms for OpenCL devices.
//!
//! In: transforms of lines in memory of a queue's context. Out: the transforms, queued. The library is loaded when it
//! is first asked for; neither building nor importing numelt needs it. It makes a plan for each form of transform,
//! which takes a driver's compiler; the latest plans are kept.

use super::api::{Context, Handle, Memory, Queue, check};
use super::signals::Handlers;
use crate::device::Recent;
use crate::library::{Library, functions};
use numelt_ir::{DType, Error, Result};
use numelt_runtime::{Domain, Transform};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The file names of the library; the numbered one is version 2 of its interface.
const NAMES: [&CStr; 2] = [c"libclFFT.so.2", c"libclFFT.so"];

functions! {
    "clFFT":
    setup "clfftSetup" (*const SetupData) -> i32;
    plan "clfftCreateDefaultPlan" (*mut usize, Handle, i32, *const usize) -> i32;
    precision "clfftSetPlanPrecision" (usize, i32) -> i32;
    scale "clfftSetPlanScale" (usize, i32, f32) -> i32;
    batch "clfftSetPlanBatchSize" (usize, usize) -> i32;
    layout "clfftSetLayout" (usize, i32, i32) -> i32;
    location "clfftSetResultLocation" (usize, i32) -> i32;
    distance "clfftSetPlanDistance" (usize, usize, usize) -> i32;
    bake "clfftBakePlan" (usize, u32, *mut Handle, *const c_void, *mut c_void) -> i32;
    transform "clfftEnqueueTransform"
        (usize, i32, u32, *mut Handle, u32, *const Handle, *mut Handle, *mut Handle, *mut Handle, Handle) -> i32;
    destroy "clfftDestroyPlan" (*mut usize) -> i32;
    teardown "clfftTeardown" () -> i32;
}

/// The version of the interface.
#[repr(C)]
struct SetupData {
    major: u32,
    minor: u32,
    patch: u32,
    debug_flags: u64,
}

const ONE_DIMENSION: i32 = 1;
const FORWARD: i32 = -1;
const BACKWARD: i32 = 1;
const COMPLEX: i32 = 1;
/// Half of the complex numbers, because the others are their conjugates.
const HERMITIAN: i32 = 3;
const REAL: i32 = 5;
const OUT_OF_PLACE: i32 = 2;

/// The factors that the length of a transform may have.
const FACTORS: [usize; 6] = [2, 3, 5, 7, 11, 13];

/// The library's functions; it is loaded and set up only once.
fn api() -> Option<&'static Api> {
    static LIBRARY: OnceLock<Option<Api>> = OnceLock::new();
    let find = || {
        let api = Api::find(NAMES.iter().find_map(|name| Library::open(name))?).ok()?;
        let version = SetupData { major: 2, minor: 12, patch: 0, debug_flags: 0 };
        // SAFETY: a version, which the call reads.
        if unsafe { (api.setup)(&raw const version) } != 0 {
            return None;
        }
        // SAFETY: a function of the program, whose code stays in memory.
        unsafe { libc::atexit(tear_down) };
        Some(api)
    };
    LIBRARY.get_or_init(find).as_ref()
}

/// Frees what the library holds when the process ends: it prints a warning otherwise.
extern "C" fn tear_down() {
    if let Some(api) = api() {
        // SAFETY: after this, nobody calls the library any more.
        unsafe { (api.teardown)() };
    }
}

/// Transforms on the device of a queue.
#[derive(Default)]
pub struct ClFft(Mutex<Recent<Transform, Plan>>);

/// A plan that has been compiled.
struct Plan {
    handle: usize,
    /// Its work is finished before the plan is destroyed.
    queue: Arc<Queue>,
}

impl ClFft {
    /// Whether the library is there, and has transforms of this length.
    pub fn has(transform: &Transform) -> bool {
        let mut left = transform.points;
        for factor in FACTORS {
            while left.is_multiple_of(factor) {
                left /= factor;
            }
        }
        left == 1 && transform.lines > 0 && api().is_some()
    }

    /// Queues transforms.
    ///
    /// # Safety
    /// Both arrays of the transform are at the beginning of these pieces of memory, which belong to the context.
    ///
    /// # Errors
    /// Those of the library.
    pub unsafe fn run(
        &self,
        (context, queue): (&Context, &Arc<Queue>),
        transform: &Transform,
        [from, to]: [&Memory; 2],
    ) -> Result<()> {
        let api = api().ok_or_else(|| Error::Engine("opencl: clFFT is missing".into()))?;
        // the library compiles a plan's kernels when it makes the plan
        let _handlers = Handlers::keep();
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.get(*transform, |transform| Plan::new(api, context, queue, transform))?;
        let direction = if transform.forward { FORWARD } else { BACKWARD };
        let (mut queue, mut from, mut to) = (queue.handle(), from.handle(), to.handle());
        // SAFETY: a plan for this queue, and memory by the caller's promise; no events, and no memory for the plan's
        // temporaries, for which it then has its own.
        let code = unsafe {
            let (waits, event, scratch) = (null(), null_mut(), null_mut());
            let (from, to) = (&raw mut from, &raw mut to);
            (api.transform)(plan.handle, direction, 1, &raw mut queue, 0, waits, event, from, to, scratch)
        };
        check("clfftEnqueueTransform", code)
    }
}

impl Plan {
    fn new(api: &Api, context: &Context, queue: &Arc<Queue>, transform: &Transform) -> Result<Plan> {
        let Transform { domain, real, points, lines, .. } = *transform;
        let mut handle = 0;
        // SAFETY: a place for the plan, a context, and one length.
        let code = unsafe { (api.plan)(&raw mut handle, context.handle(), ONE_DIMENSION, &raw const points) };
        check("clfftCreateDefaultPlan", code)?;
        let plan = Plan { handle, queue: Arc::clone(queue) };
        let half = points / 2 + 1;
        let (from, to, distances) = match domain {
            Domain::Complex => (COMPLEX, COMPLEX, (points, points)),
            Domain::FromReal => (REAL, HERMITIAN, (points, half)),
            Domain::ToReal => (HERMITIAN, REAL, (half, points)),
        };
        let precision = if real == DType::F32 { 1 } else { 2 };
        let mut queue = queue.handle();
        // SAFETY: a plan that the library gave, and a queue of its context.
        let codes = unsafe {
            [
                (api.precision)(handle, precision),
                (api.scale)(handle, FORWARD, 1.0),
                (api.scale)(handle, BACKWARD, 1.0),
                (api.batch)(handle, lines),
                (api.layout)(handle, from, to),
                (api.location)(handle, OUT_OF_PLACE),
                (api.distance)(handle, distances.0, distances.1),
                (api.bake)(handle, 1, &raw mut queue, null(), null_mut()),
            ]
        };
        codes.iter().try_for_each(|code| check("clfftBakePlan", *code))?;
        Ok(plan)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        if let Some(api) = api() {
            let _ = self.queue.finish();
            // SAFETY: a plan that the library gave, which is destroyed once, and which no queued work uses.
            unsafe { (api.destroy)(&raw mut self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_other_factors_are_left_to_the_host() {
        let has = |points| {
            let (domain, forward, real) = (Domain::Complex, true, DType::F64);
            ClFft::has(&Transform { domain, forward, real, points, lines: 1 })
        };
        assert!(!has(17) && !has(2 * 29));
        assert_eq!(has(30_030), api().is_some());
    }
}
