//! LLVM's C interface, from a separate shared library that is loaded when it is first needed.
//!
//! In: a call of [`load`]. Out: the functions of LLVM that numelt calls, with their own names and the types of
//! llvm-sys. Not here: what they are used for.
//!
//! LLVM's code, static objects and relocations cost every process that loads them 13 MB of memory and some
//! milliseconds. Most processes never compile, or find all their kernels in the cache on disk. `build.rs` makes the
//! library, `functions.rs` lists its exports, `loader` opens it.
//!
//! Unsafe code: [`Function`], which turns addresses into functions, and `loader`, which finds them.

mod loader;

pub use loader::{FILE_NAME, address, load};

use llvm_sys::analysis::LLVMVerifierFailureAction;
use llvm_sys::prelude::*;
use llvm_sys::target::LLVMTargetDataRef;
use llvm_sys::target_machine::{
    LLVMCodeGenFileType, LLVMCodeGenOptLevel, LLVMCodeModel, LLVMRelocMode, LLVMTargetMachineRef, LLVMTargetRef,
};
use llvm_sys::{LLVMAttributeIndex, LLVMIntPredicate, LLVMRealPredicate, LLVMTypeKind};
use std::ffi::{c_char, c_double, c_uint, c_ulonglong};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The version of LLVM from which the library was made; empty if it was not built.
pub const VERSION: &str = env!("NUMELT_LLVM_VERSION");

/// The source of the code that initializes LLVM, with its options. It is part of the cache's keys, because the
/// generated code depends on it.
pub const START: &[u8] = include_bytes!("library.c");

/// The source of the list of passes that functions go through. It is part of the cache's keys for the same reason.
pub const PASSES: &[u8] = include_bytes!("passes.cpp");

/// Types and constants of LLVM's C interface. Its functions are in the root of this crate.
pub mod types {
    pub use llvm_sys::analysis::LLVMVerifierFailureAction;
    pub use llvm_sys::prelude::*;
    pub use llvm_sys::target_machine::{
        LLVMCodeGenFileType, LLVMCodeGenOptLevel, LLVMCodeModel, LLVMRelocMode, LLVMTargetMachineRef,
    };
    pub use llvm_sys::{LLVMAttributeFunctionIndex, LLVMIntPredicate, LLVMRealPredicate, LLVMTypeKind};
}

/// A function of the library, called like any other once the library is loaded.
///
/// # Panics
/// When called before [`load`] has succeeded.
#[derive(Debug)]
pub struct Function<F> {
    address: AtomicPtr<()>,
    signature: PhantomData<F>,
}

impl<F> Function<F> {
    const fn unknown() -> Function<F> {
        assert!(size_of::<F>() == size_of::<AtomicPtr<()>>(), "F is a function pointer");
        Function { address: AtomicPtr::new(std::ptr::null_mut()), signature: PhantomData }
    }
}

impl<F> Deref for Function<F> {
    type Target = F;

    #[inline]
    fn deref(&self) -> &F {
        // All addresses are written before `load` reports success, with release and acquire ordering there.
        assert!(!self.address.load(Ordering::Relaxed).is_null(), "LLVM is not loaded");
        // SAFETY: an address that is not null is that of the function of this name, whose signature the list below
        // checks; it is never written again. A function pointer has the same representation as any pointer.
        unsafe { &*self.address.as_ptr().cast::<F>() }
    }
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[doc = concat!("LLVM's `", stringify!($name), "`.")]
            #[allow(non_upper_case_globals)] // it is named and called like LLVM's function
            pub static $name: Function<unsafe extern "C" fn($($argument),*) $(-> $result)?> = Function::unknown();
            const _: unsafe extern "C" fn($($argument),*) $(-> $result)? = declared::$name;
        )*

        /// The name of each function, and where its address is stored.
        static FUNCTIONS: &[(&std::ffi::CStr, &AtomicPtr<()>)] = &[$((
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("names have no NUL"),
            },
            &$name.address,
        )),*];
    };
}

/// The declarations with which our signatures are compared.
mod declared {
    pub(super) use llvm_sys::analysis::*;
    pub(super) use llvm_sys::core::*;
    use llvm_sys::prelude::LLVMModuleRef;
    pub(super) use llvm_sys::target::*;
    pub(super) use llvm_sys::target_machine::*;

    // SAFETY: `passes.cpp` defines the function with this signature. The declaration is never linked; only its type is
    // used.
    unsafe extern "C" {
        pub(super) fn numelt_llvm_optimize(module: LLVMModuleRef, machine: LLVMTargetMachineRef, which: super::c_uint);
    }
}

include!("functions.rs");
