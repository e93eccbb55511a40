//! Loads the library.
//!
//! In: nothing. Out: every [`Function`](crate::Function) has its address, or there is an error message. The library
//! stays loaded until the process ends. Its symbols are local, so they do not interact with other copies of LLVM in the
//! process.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The library's file name.
pub const FILE_NAME: &str = "libnumelt_llvm.so";

/// The outcome of loading the library, if that has been tried: success, or why the library cannot be used.
static OUTCOME: OnceLock<Result<(), String>> = OnceLock::new();

/// Makes LLVM's functions callable. The first call loads the library, which lies next to the file that contains this
/// code or, for programs that cargo runs, on the dynamic loader's path.
///
/// # Errors
/// The reason why the library cannot be used. It is the same for all calls, unless the process had no file descriptor
/// left, after which the next call tries again.
pub fn load() -> Result<(), &'static str> {
    static TRYING: Mutex<()> = Mutex::new(());
    if OUTCOME.get().is_none() {
        let _one = TRYING.lock().unwrap_or_else(PoisonError::into_inner);
        if OUTCOME.get().is_none() {
            let outcome = open(beside().as_deref());
            if outcome.is_err() && no_descriptor_is_left() {
                return Err("no file descriptor is left");
            }
            let _ = OUTCOME.set(outcome);
        }
    }
    OUTCOME.get().map_or(Ok(()), |outcome| outcome.as_ref().copied().map_err(String::as_str))
}

/// Whether no file can be opened now. Unlike other reasons why the library cannot be used, this one may pass.
fn no_descriptor_is_left() -> bool {
    let limits = [Some(libc::EMFILE), Some(libc::ENFILE)];
    std::fs::File::open("/dev/null").is_err_and(|error| limits.contains(&error.raw_os_error()))
}

/// An address inside the library, if it is loaded.
pub fn address() -> Option<usize> {
    matches!(OUTCOME.get(), Some(Ok(()))).then(|| crate::FUNCTIONS[0].1.load(Ordering::Relaxed) as usize)
}

/// The path of the library if it lies next to the executable or shared object that contains this function.
fn beside() -> Option<PathBuf> {
    // SAFETY: Dl_info consists of pointers and numbers, for which all bits zero are valid.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is that of one of our own functions; the name, if there is one, lives as long as this code is
    // loaded.
    let name = unsafe {
        if libc::dladdr(beside as *const c_void, &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(found.dli_fname)
    };
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())).with_file_name(FILE_NAME);
    path.exists().then_some(path)
}

fn open(path: Option<&Path>) -> Result<(), String> {
    let name = path.map_or(FILE_NAME.as_bytes(), |path| path.as_os_str().as_bytes());
    let name = CString::new(name).map_err(|_| "a path with NUL".to_owned())?;
    // SAFETY: the path is a C string; the library is our own, and its constructors are LLVM's.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(last_error());
    }
    for (name, place) in crate::FUNCTIONS {
        place.store(find(handle, name)?, Ordering::Relaxed);
    }
    let start = find(handle, c"numelt_llvm_start")?;
    // SAFETY: `library.c` defines the function with this signature; this is its first and only call.
    unsafe { std::mem::transmute::<*mut (), unsafe extern "C" fn()>(start)() };
    Ok(())
}

fn find(library: *mut c_void, name: &CStr) -> Result<*mut (), String> {
    // SAFETY: the arguments are a handle that `dlopen` returned and a C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        return Err(last_error());
    }
    Ok(address.cast())
}

/// The dynamic loader's message about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: the text, if there is one, is valid until the thread's next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "unknown failure of the dynamic loader".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
