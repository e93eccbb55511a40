//! Opening the library.
//!
//! In: nothing. Out: every [`Function`](crate::Function) has its address, or a reason why not.
//! The library stays loaded for ever, local to us: other copies of LLVM in the process neither see it nor are seen.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The library's file name.
pub const FILE_NAME: &str = "libnumelt_llvm.so";

/// What [`STATE`] holds besides the process that is loading.
const UNTRIED: u64 = 0;
const LOADED: u64 = u64::MAX;
const FAILED: u64 = u64::MAX - 1;

static STATE: AtomicU64 = AtomicU64::new(UNTRIED);
static WHY: OnceLock<String> = OnceLock::new();

/// Makes LLVM's functions callable: at the first call by loading the library, which lies beside the
/// file that this code is in or, for programs that cargo runs, on the dynamic loader's path.
///
/// # Errors
/// The same at every call: why the library cannot be used. A process forked while another thread was loading
/// does without.
pub fn load() -> Result<(), &'static str> {
    let process = u64::from(std::process::id());
    loop {
        match STATE.compare_exchange(UNTRIED, process, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                let outcome = open(beside().as_deref());
                let state = if outcome.is_ok() { LOADED } else { FAILED };
                if let Err(why) = outcome {
                    let _ = WHY.set(why);
                }
                STATE.store(state, Ordering::Release);
            }
            Err(LOADED) => return Ok(()),
            Err(FAILED) => return Err(WHY.get().map_or("loading LLVM failed", String::as_str)),
            Err(other) if other == process => std::thread::sleep(std::time::Duration::from_micros(50)),
            Err(_) => return Err("the process was forked while it loaded LLVM"),
        }
    }
}

/// An address inside the library, if it is loaded.
pub fn address() -> Option<usize> {
    (STATE.load(Ordering::Acquire) == LOADED).then(|| crate::FUNCTIONS[0].1.load(Ordering::Relaxed) as usize)
}

/// Where the library would be if it lay beside the executable or shared object that this function is in.
fn beside() -> Option<PathBuf> {
    // SAFETY: any bits are a valid Dl_info, all of it pointers and numbers.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is one of our own functions; the name, where there is one, lives as long as we.
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
    // SAFETY: a C string; the library is our own, whose constructors are LLVM's.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(last_error());
    }
    for (name, place) in crate::FUNCTIONS {
        place.store(find(handle, name)?, Ordering::Relaxed);
    }
    let start = find(handle, c"numelt_llvm_start")?;
    // SAFETY: `library.c` defines the function so; this is its first and only call.
    unsafe { std::mem::transmute::<*mut (), unsafe extern "C" fn()>(start)() };
    Ok(())
}

fn find(library: *mut c_void, name: &CStr) -> Result<*mut (), String> {
    // SAFETY: a handle of `dlopen` and a C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        return Err(last_error());
    }
    Ok(address.cast())
}

/// What the dynamic loader says about its last failure on this thread.
fn last_error() -> String {
    // SAFETY: the text, where there is one, is valid until the thread's next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "unknown failure of the dynamic loader".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
