//! cuBLAS, NVIDIA's library of matrix products.
//!
//! In: products of matrices in a device's memory. Out: the products, in the order of a stream. The library comes with
//! CUDA toolkits and as a PyPI package, on which the extras `cuda12` and `cuda13` of numelt depend. It is loaded when
//! it is first asked for; neither building nor importing numelt needs it.

use super::api::{Memory, Stream};
use super::toolkit;
use crate::device::{Factor, Gemm};
use crate::library::functions;
use numelt_ir::{DType, Error, Result};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

type Handle = *mut c_void;
type Const = *const c_void;

functions! {
    "cuBLAS":
    create "cublasCreate_v2" (*mut Handle) -> i32;
    destroy "cublasDestroy_v2" (Handle) -> i32;
    set_stream "cublasSetStream_v2" (Handle, Handle) -> i32;
    multiply "cublasGemmStridedBatchedEx"
        (Handle, i32, i32, i32, i32, i32, Const, u64, i32, i32, i64, u64, i32, i32, i64, Const, u64, i32, i32, i64, i32, i32,
         i32) -> i32;
}

/// The library has no memory left.
const NO_MEMORY: i32 = 3;
/// The library chooses the algorithm.
const DEFAULT_ALGORITHM: i32 = -1;

/// One and zero of a dtype that the products have.
#[repr(align(16))]
struct Literal([u8; 16]);

/// The library, for one stream.
pub struct CuBlas {
    api: Api,
    stream: Stream,
    /// The library's state, which one thread at a time may use.
    handle: Mutex<CublasContext>,
}

/// The library's state.
struct CublasContext(Handle);

// SAFETY: the handle may be used on any thread, by one at a time.
unsafe impl Send for CublasContext {}

/// The numbers that the library takes for a dtype: the type of the elements, and that of the arithmetic.
fn types(dtype: DType) -> Option<(i32, i32)> {
    const COMPUTE_32F: i32 = 68;
    const COMPUTE_64F: i32 = 70;
    Some(match dtype {
        DType::F32 => (0, COMPUTE_32F),
        DType::F64 => (1, COMPUTE_64F),
        DType::C64 => (4, COMPUTE_32F),
        DType::C128 => (5, COMPUTE_64F),
        _ => return None,
    })
}

/// The literal one, which with zeros behind it is one as a complex number, too.
fn one(dtype: DType) -> Literal {
    let mut bytes = [0; 16];
    match dtype.real() {
        DType::F32 => bytes[..4].copy_from_slice(&1f32.to_ne_bytes()),
        _ => bytes[..8].copy_from_slice(&1f64.to_ne_bytes()),
    }
    Literal(bytes)
}

/// A number as the library takes it.
fn number(number: usize) -> Result<i32> {
    i32::try_from(number).map_err(|_| Error::Unsupported("cuda: a product of too many elements".into()))
}

fn check(function: &str, code: i32) -> Result<()> {
    toolkit::check(function, code, NO_MEMORY)
}

impl CuBlas {
    /// The newest library that a driver of this toolkit accepts, for products in the order of a stream; `None` if there
    /// is none, or none that works.
    pub fn open(toolkit: i32, stream: &Stream) -> Option<CuBlas> {
        let api = Api::find(toolkit::library("cublas", "cublas", toolkit, 0)?).ok()?;
        let _entered = stream.enter().ok()?;
        let mut handle = null_mut();
        // SAFETY: a place for the handle, in the stream's context.
        check("cublasCreate", unsafe { (api.create)(&raw mut handle) }).ok()?;
        let library = CuBlas { api, stream: stream.clone(), handle: Mutex::new(CublasContext(handle)) };
        // SAFETY: a handle and a stream of one context.
        check("cublasSetStream", unsafe { (library.api.set_stream)(handle, stream.handle()) }).ok()?;
        Some(library)
    }

    /// Queues products.
    ///
    /// # Safety
    /// Each element of the factors and of the results lies inside of the memory that they name, which is of the
    /// stream's context. No result is an element of a factor.
    ///
    /// # Errors
    /// Those of the library.
    pub unsafe fn multiply(&self, product: &Gemm<'_, Memory>) -> Result<()> {
        let Gemm { dtype, m, n, k, count, left, right, out } = product;
        let unknown = || Error::Unsupported(format!("cuda: products of {dtype}"));
        let (element, arithmetic) = types(*dtype).ok_or_else(unknown)?;
        let turned = |factor: &Factor<'_, Memory>| i32::from(factor.transposed);
        let address = |factor: &Factor<'_, Memory>| factor.memory.address() + (factor.offset * dtype.size()) as u64;
        let (one, zero) = (one(*dtype), Literal([0; 16]));
        let (one, zero): (Const, Const) = (one.0.as_ptr().cast(), zero.0.as_ptr().cast());
        let (m, n, k, count) = (number(*m)?, number(*n)?, number(*k)?, number(*count)?);
        let leading = [number(left.leading)?, number(right.leading)?, number(out.leading)?];
        let _entered = self.stream.enter()?;
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: literals of the type of the arithmetic, which are read before the call returns; the caller's promise.
        let code = unsafe {
            (self.api.multiply)(
                handle.0,
                turned(left),
                turned(right),
                m,
                n,
                k,
                one,
                address(left),
                element,
                leading[0],
                left.step as i64,
                address(right),
                element,
                leading[1],
                right.step as i64,
                zero,
                address(out),
                element,
                leading[2],
                out.step as i64,
                count,
                arithmetic,
                DEFAULT_ALGORITHM,
            )
        };
        check("cublasGemmStridedBatchedEx", code)
    }
}

impl Drop for CuBlas {
    fn drop(&mut self) {
        if let Ok(_entered) = self.stream.enter() {
            let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: a handle that the library gave, which is destroyed once.
            unsafe { (self.api.destroy)(handle.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_the_numbers_of_the_librarys_header() {
        // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F; CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F
        let all = [DType::F32, DType::F64, DType::C64, DType::C128].map(types);
        assert_eq!(all, [Some((0, 68)), Some((1, 70)), Some((4, 68)), Some((5, 70))]);
        assert_eq!(types(DType::I32), None);
    }

    #[test]
    fn the_literal_one_is_also_a_complex_number() {
        assert_eq!(one(DType::C64).0[..8], [1f32.to_ne_bytes(), [0; 4]].concat());
        assert_eq!(one(DType::C128).0, [1f64.to_ne_bytes(), [0; 8]].concat()[..]);
    }

    #[test]
    fn extents_beyond_32_bits_are_left_to_the_host() {
        assert_eq!(number(1 << 20).unwrap(), 1 << 20);
        assert!(number(1 << 31).is_err());
    }
}
