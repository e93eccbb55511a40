//! Shared libraries of drivers and compilers, which are loaded when they are first asked for.
//!
//! In: file names. Out: the addresses of functions with their types, or what is missing. A library is never closed,
//! because drivers keep threads of their own.

use std::ffi::{CStr, c_void};

/// A shared library that has been loaded.
#[derive(Debug, Clone, Copy)]
pub struct Library(*mut c_void);

// SAFETY: what `dlopen` gives may be used on any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads the library of this name, or at this path.
    pub fn open(name: &CStr) -> Option<Library> {
        // SAFETY: a C string; the constructors of the library are what a program asks for that wants the device.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(Library(handle))
    }

    /// Loads the first library of these names that can be loaded.
    ///
    /// # Errors
    /// `missing`, and why the loader refuses the first name: a library may be there, and one that it needs may not.
    pub fn first(names: &[&CStr], missing: &str) -> Result<Library, String> {
        let (first, others) = names.split_first().ok_or(missing)?;
        Library::open(first).ok_or_else(refusal).or_else(|why| {
            let other = others.iter().find_map(|name| Library::open(name));
            other.ok_or_else(|| format!("{missing}: {why}"))
        })
    }

    /// The address of a function; null if the library has none of that name.
    pub fn address(self, name: &CStr) -> *mut c_void {
        // SAFETY: a library that `dlopen` gave, and a C string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }
}

/// Why this thread's last `dlopen` failed.
fn refusal() -> String {
    // SAFETY: the text is valid until the thread calls the loader again.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return String::new();
    }
    // SAFETY: as above; a C string.
    unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned()
}

/// Declares `Api`: addresses of functions, with their types from the library's specification.
macro_rules! functions {
    ($library:literal: $($field:ident $name:literal ($($arg:ty),*) -> $out:ty;)*) => {
        /// Addresses of the functions, with their types from the library's specification.
        struct Api {
            $($field: unsafe extern "C" fn($($arg),*) -> $out,)*
        }

        impl Api {
            fn find(library: $crate::library::Library) -> std::result::Result<Api, String> {
                Ok(Api {
                    $($field: {
                        let name = std::ffi::CString::new($name).map_err(|_| "a name with NUL".to_owned())?;
                        let address = library.address(&name);
                        if address.is_null() {
                            return Err(format!("the {} library has no {}", $library, $name));
                        }
                        // SAFETY: the specification gives the function this type.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $out>(address)
                        }
                    },)*
                })
            }
        }
    };
}

pub(crate) use functions;
