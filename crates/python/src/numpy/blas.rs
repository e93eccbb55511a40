//! Finds the BLAS of NumPy among the libraries that the process has loaded already, and registers it with the
//! host engine, so that matrix products have NumPy's speed and results. If there is none, the engine uses its own
//! product.
//!
//! In: the libraries of the process. Out: a table of CBLAS routines for the host engine, and a LAPACK routine that
//! solves small systems.

use numelt_runtime::{BlasTable, Host};
use std::ffi::{CString, c_void};
use std::sync::{LazyLock, OnceLock};

/// Prefixes and suffixes of CBLAS names in builds with 64-bit integers.
const DECORATIONS: [(&str, &str); 3] = [("scipy_cblas_", "64_"), ("cblas_", "64_"), ("cblas_", "_64")];

/// Solves a system. The arguments are: the number of rows, the number of right sides, the matrix by columns, its
/// leading dimension, pivots, the right sides by columns, their leading dimension, and a number that says whether it
/// failed.
pub type Gesv =
    unsafe extern "C" fn(*const i64, *const i64, *mut f64, *const i64, *mut i64, *mut f64, *const i64, *mut i64);

/// The routine for doubles, with integers of 64 bits.
static GESV: OnceLock<Gesv> = OnceLock::new();

/// LAPACK's `dgesv` with integers of 64 bits, if NumPy has loaded it. Its library stays loaded.
pub fn gesv() -> Option<Gesv> {
    GESV.get().copied()
}

/// The routines of NumPy's BLAS, searched for once.
static FOUND: LazyLock<Option<BlasTable>> = LazyLock::new(find);

/// Registers NumPy's BLAS with a host engine.
pub fn register_numpys(host: &dyn Host) {
    if let Some(table) = &*FOUND {
        // SAFETY: the table has CBLAS routines of a library that is never unloaded. The result, which says whether
        // this was the first registration, can be ignored, because every registration is of the same library.
        let _ = unsafe { host.register_blas(table) };
    }
}

/// Finds NumPy's BLAS, and keeps the LAPACK routine of the same library for [`gesv`].
fn find() -> Option<BlasTable> {
    let library = loaded_library()?;
    for (prefix, suffix) in DECORATIONS {
        // SAFETY: by the library's convention, names with these decorations are CBLAS routines with 64-bit integers;
        // the fields of the table have the types of these functions; the library is never unloaded.
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
            let table = table!(
                sgemm dgemm cgemm zgemm sgemv dgemv cgemv zgemv ssyrk dsyrk csyrk zsyrk saxpy daxpy caxpy zaxpy
                sdot ddot cdotu_sub zdotu_sub cdotc_sub zdotc_sub
            );
            // the names of LAPACK's routines end in an underscore of their own
            if let Some(gesv) = symbol(library, &format!("{}dgesv_{suffix}", prefix.trim_end_matches("cblas_"))) {
                // a routine that was found before is of the same library
                let _ = GESV.set(std::mem::transmute::<*mut c_void, Gesv>(gesv));
            }
            return Some(table);
        }
    }
    None
}

/// # Safety
/// `library` is a handle of `dlopen`.
unsafe fn symbol(library: *mut c_void, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the handle is valid by contract, the name is a C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// The handle of an OpenBLAS with 64-bit integers, if the process has loaded one. Nothing is loaded here.
#[cfg(target_os = "linux")]
fn loaded_library() -> Option<*mut c_void> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.contains("openblas64"))?;
    let path = CString::new(&line[line.find('/')?..]).ok()?;
    // SAFETY: a C string; RTLD_NOLOAD only finds libraries that are loaded already. The handle is never closed.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}

/// On other systems the engine's own matrix product is used.
#[cfg(not(target_os = "linux"))]
fn loaded_library() -> Option<*mut c_void> {
    None
}
