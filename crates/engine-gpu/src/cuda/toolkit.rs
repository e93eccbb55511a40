//! Libraries of CUDA toolkits.
//!
//! In: a library's name, and the toolkit of the driver. Out: the newest such library that the driver accepts. They come
//! with CUDA toolkits and as PyPI packages, on which the extras `cuda12` and `cuda13` of numelt depend.

use crate::library::Library;
use numelt_ir::{Error, Result};
use std::env;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The oldest toolkit whose libraries are searched for.
pub const OLDEST: i32 = 12;
/// The newest one.
pub const NEWEST: i32 = 13;

/// The newest library of this name whose code a driver of this toolkit accepts. `package` is the folder of PyPI's
/// package for toolkit 12. The version of some libraries is `behind` that of the toolkit.
pub fn library(name: &str, package: &str, toolkit: i32, behind: i32) -> Option<Library> {
    let majors = (OLDEST..=NEWEST.min(toolkit)).rev();
    majors.flat_map(|major| candidates(name, package, major, behind)).find_map(|path| Library::open(&path))
}

/// The outcome of a library's function that returned this code: zero if nothing failed, and a number of the library's
/// own if there was no memory left.
///
/// # Errors
/// That one, or that the function failed. Whether the device is lost is what the driver's own functions say.
pub fn check(function: &str, code: i32, no_memory: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code if code == no_memory => Err(Error::OutOfMemory(0)),
        code => Err(Error::Engine(format!("cuda: {function} failed ({code})"))),
    }
}

/// The possible locations of a toolkit's library: beside numelt in site-packages, where PyPI's package puts it; the
/// loader's path; the folder of a toolkit.
fn candidates(name: &str, package: &str, major: i32, behind: i32) -> impl Iterator<Item = CString> + use<> {
    let file = format!("lib{name}.so.{}", major - behind);
    let packages = own_path().and_then(|path| Some(path.parent()?.parent()?.to_owned()));
    let folder = if major == 12 { format!("nvidia/{package}/lib") } else { format!("nvidia/cu{major}/lib") };
    let wheel = packages.map(|packages| packages.join(folder).join(&file));
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let toolkits: Vec<PathBuf> =
        homes.chain([PathBuf::from("/usr/local/cuda")]).map(|home| home.join("lib64").join(&file)).collect();
    let all = wheel.into_iter().chain([PathBuf::from(&file)]).chain(toolkits);
    all.filter_map(|path| CString::new(path.as_os_str().as_bytes()).ok())
}

/// The file that contains this code: numelt's compiled module, or a Rust program.
fn own_path() -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    let address = own_path as fn() -> Option<PathBuf> as *const c_void;
    // SAFETY: any address, and room for the answer.
    if unsafe { libc::dladdr(address, found.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the call has filled it; the name is a C string of the loader's, or null.
    let name = unsafe { found.assume_init() }.dli_fname;
    if name.is_null() {
        return None;
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_whether_there_was_too_little_memory() {
        assert!(check("f", 0, 3).is_ok());
        assert!(matches!(check("f", 3, 3), Err(Error::OutOfMemory(_))));
        assert!(matches!(check("f", 13, 3), Err(Error::Engine(_))));
    }
}
