//! CLBlast, a library of matrix products for OpenCL devices.
//!
//! In: products of matrices in memory of a queue's context. Out: the products, queued. The library is loaded when it
//! is first asked for; neither building nor importing numelt needs it. Of its products only GEMM is called, because the
//! others multiply the old values of their results by zero, and NaN would stay.

use super::api::{Handle, Memory, Queue, check};
use super::signals::Handlers;
use crate::device::{Factor, Gemm};
use crate::library::Library;
use numelt_ir::{Complex64, Complex128, DType, Error, Result};
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The file names of the library; the numbered one is version 1 of its interface.
const NAMES: [&CStr; 2] = [c"libclblast.so.1", c"libclblast.so"];

const BY_COLUMNS: i32 = 102;
const PLAIN: i32 = 111;
const TRANSPOSED: i32 = 112;
/// Its code for scratch memory that could not be allocated.
const NO_SCRATCH: i32 = -2050;

/// The functions of stacks of products, whose types differ in that of the literals: layout, transpositions, extents,
/// the factor of the product, both matrices with offset, leading dimension and step to the next one, the factor of the
/// old result, the result in the same form, the number of products, queue, and event. A single product is a stack, too:
/// other functions would be compiled in addition, which takes a driver seconds.
type Multiply<T> = unsafe extern "C" fn(
    i32,
    i32,
    i32,
    usize,
    usize,
    usize,
    T,
    Handle,
    usize,
    usize,
    usize,
    Handle,
    usize,
    usize,
    usize,
    T,
    Handle,
    usize,
    usize,
    usize,
    usize,
    *mut Handle,
    *mut Handle,
) -> i32;

/// The functions for one dtype, with the literals one and zero.
struct Routines<T> {
    multiply: Multiply<T>,
    unit: T,
    zero: T,
}

/// The library's functions.
pub struct ClBlast {
    f32: Routines<f32>,
    f64: Routines<f64>,
    c64: Routines<Complex64>,
    c128: Routines<Complex128>,
}

impl ClBlast {
    /// The library, if there is one. It is loaded only once.
    pub fn get() -> Option<&'static ClBlast> {
        static LIBRARY: OnceLock<Option<ClBlast>> = OnceLock::new();
        LIBRARY.get_or_init(|| ClBlast::find(NAMES.iter().find_map(|name| Library::open(name))?)).as_ref()
    }

    fn find(library: Library) -> Option<ClBlast> {
        let complex = |re, im| Complex64 { re, im };
        let wide = |re, im| Complex128 { re, im };
        Some(ClBlast {
            f32: Routines::find(library, 'S', 1.0, 0.0)?,
            f64: Routines::find(library, 'D', 1.0, 0.0)?,
            c64: Routines::find(library, 'C', complex(1.0, 0.0), complex(0.0, 0.0))?,
            c128: Routines::find(library, 'Z', wide(1.0, 0.0), wide(0.0, 0.0))?,
        })
    }

    /// Queues products.
    ///
    /// # Safety
    /// The memory belongs to the queue's context. No result is an element of a factor.
    ///
    /// # Errors
    /// Those of the library, which checks that matrices lie inside of their memory.
    pub unsafe fn multiply(&self, queue: &Queue, product: &Gemm<'_, Memory>) -> Result<()> {
        // the library compiles its kernels when it first needs them
        let _handlers = Handlers::keep();
        // SAFETY: the caller's promise; the dtype is the one of the product.
        unsafe {
            match product.dtype {
                DType::F32 => self.f32.multiply(queue, product),
                DType::F64 => self.f64.multiply(queue, product),
                DType::C64 => self.c64.multiply(queue, product),
                DType::C128 => self.c128.multiply(queue, product),
                other => Err(Error::Unsupported(format!("opencl: products of {other}"))),
            }
        }
    }
}

impl<T: Copy> Routines<T> {
    fn find(library: Library, letter: char, unit: T, zero: T) -> Option<Routines<T>> {
        let address = library.address(&CString::new(format!("CLBlast{letter}gemmStridedBatched")).ok()?);
        if address.is_null() {
            return None;
        }
        // SAFETY: the library's header gives the function with this letter this type. Its complex literals are two
        // numbers that are passed as such a struct of the host is.
        let multiply = unsafe { std::mem::transmute::<*mut c_void, Multiply<T>>(address) };
        Some(Routines { multiply, unit, zero })
    }

    /// Queues products of matrices of the functions' dtype.
    ///
    /// # Safety
    /// As for [`ClBlast::multiply`].
    unsafe fn multiply(&self, queue: &Queue, product: &Gemm<'_, Memory>) -> Result<()> {
        let Gemm { m, n, k, count, left, right, out, .. } = product;
        let turned = |factor: &Factor<'_, Memory>| if factor.transposed { TRANSPOSED } else { PLAIN };
        let (a, b, c) = (left.memory.handle(), right.memory.handle(), out.memory.handle());
        let mut queue = queue.handle();
        // the library refuses results without a step, also if there is one result only
        let out_step = out.step.max(1);
        // SAFETY: a queue and memory of one context, and the caller's promise; no event is asked for.
        let code = unsafe {
            (self.multiply)(
                BY_COLUMNS,
                turned(left),
                turned(right),
                *m,
                *n,
                *k,
                self.unit,
                a,
                left.offset,
                left.leading,
                left.step,
                b,
                right.offset,
                right.leading,
                right.step,
                self.zero,
                c,
                out.offset,
                out.leading,
                out_step,
                *count,
                &raw mut queue,
                null_mut(),
            )
        };
        match code {
            NO_SCRATCH => Err(Error::OutOfMemory(0)),
            code => check("CLBlast's GEMM", code),
        }
    }
}
