//! NumPy's own BLAS: found among the libraries that the process has loaded already, and handed to the
//! engine, so that matrix products have NumPy's speed and numbers. Without one nothing happens.

use crate::solving;
use numelt_engine_cpu::{BlasTable, register_blas};
use std::ffi::{CString, c_void};

/// Prefixes and suffixes of CBLAS names in builds with 64-bit integers.
const DECORATIONS: [(&str, &str); 3] = [("scipy_cblas_", "64_"), ("cblas_", "64_"), ("cblas_", "_64")];

/// Looks for NumPy's BLAS and registers it.
pub fn register_numpys() {
    let Some(library) = loaded_library() else { return };
    for (prefix, suffix) in DECORATIONS {
        // SAFETY: names with these decorations are CBLAS routines with 64-bit integers by the library's own
        // convention; the types are the same pointers to functions; the library is never unloaded.
        unsafe {
            let find = |name: &str| symbol(library, &format!("{prefix}{name}{suffix}"));
            if find("dgemm").is_none() {
                continue;
            }
            macro_rules! table {
                ($($field:ident)*) => {
                    BlasTable {
                        $($field: find(stringify!($field)).map(|address| std::mem::transmute_copy(&address)),)*
                    }
                };
            }
            // Whether it is the first registration does not matter: it is the same library.
            let _ = register_blas(table!(
                sgemm dgemm cgemm zgemm sgemv dgemv cgemv zgemv ssyrk dsyrk csyrk zsyrk saxpy daxpy caxpy zaxpy
                sdot ddot cdotu_sub zdotu_sub cdotc_sub zdotc_sub
            ));
            // LAPACK's names have an underscore of their own
            if let Some(gesv) = symbol(library, &format!("{}dgesv_{suffix}", prefix.trim_end_matches("cblas_"))) {
                solving::register(std::mem::transmute::<*mut c_void, solving::Gesv>(gesv));
            }
            return;
        }
    }
}

/// # Safety
/// `library` is a handle of `dlopen`.
unsafe fn symbol(library: *mut c_void, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the handle is valid by contract, the name is a C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Handle of an OpenBLAS with 64-bit integers that is loaded, without loading anything.
#[cfg(target_os = "linux")]
fn loaded_library() -> Option<*mut c_void> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.contains("openblas64"))?;
    let path = CString::new(&line[line.find('/')?..]).ok()?;
    // SAFETY: a C string; RTLD_NOLOAD only finds what is there. The handle is kept for ever.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}

/// Elsewhere the engine's own matrix product is used.
#[cfg(not(target_os = "linux"))]
fn loaded_library() -> Option<*mut c_void> {
    None
}
