//! Linking objects into the process: one LLJIT per instruction set.
//!
//! In: relocatable objects. Out: addresses of their functions, alive as long as their [`Code`].
//! Not here: where objects come from, what they compute.

use super::math::MathTable;
use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::error::*;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;
use numelt_ir::{Error, Result};
use numelt_vecmath::Isa;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A linker session with the math functions defined in it, of one process: after `fork` the child may
/// find its parent's locked for ever by a thread that it does not have, so it opens its own.
struct Session {
    process: u32,
    jit: Mutex<Handle>,
}

struct Handle(LLVMOrcLLJITRef);

// SAFETY: an ORC session may be used from any thread; our calls besides go through the mutex.
unsafe impl Send for Handle {}

impl Session {
    fn lock(&self) -> MutexGuard<'_, Handle> {
        self.jit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Linked code; unlinked when dropped.
pub(super) struct Code {
    session: &'static Session,
    tracker: LLVMOrcResourceTrackerRef,
    address: usize,
}

// SAFETY: the tracker is only used under the session's mutex; the address is a number.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Where the function is.
    pub(super) fn address(&self) -> usize {
        self.address
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if self.session.process != std::process::id() {
            return;
        }
        // A process that ends takes the code with it.
        let Some(_inside) = super::exit::enter() else { return };
        let _held = self.session.lock();
        // SAFETY: the tracker came from this session and is released once; nobody runs the code any
        // more, since its last owner is going.
        unsafe { release(self.tracker) }
    }
}

/// Removes what a tracker holds.
///
/// # Safety
/// The tracker is alive, its session locked by the caller, its code not running.
unsafe fn release(tracker: LLVMOrcResourceTrackerRef) {
    // SAFETY: the caller's promise; an error is consumed.
    unsafe {
        let error = LLVMOrcResourceTrackerRemove(tracker);
        if !error.is_null() {
            LLVMConsumeError(error);
        }
        LLVMOrcReleaseResourceTracker(tracker);
    }
}

fn check(error: LLVMErrorRef) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: LLVM hands the error over; its message is copied and disposed.
    unsafe {
        let raw = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(raw);
        Err(Error::Engine(format!("linking compiled code: {text}")))
    }
}

fn session(isa: Isa) -> Result<&'static Session> {
    static SESSIONS: [AtomicPtr<Session>; 3] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 3];
    let slot = &SESSIONS[isa as usize];
    let current = slot.load(Ordering::Acquire);
    // SAFETY: a pointer in a slot is a leaked session, alive for ever.
    if let Some(session) = unsafe { current.as_ref() }
        && session.process == std::process::id()
    {
        return Ok(session);
    }
    let fresh: &'static Session = Box::leak(Box::new(open(isa)?));
    let won = slot.compare_exchange(current, std::ptr::from_ref(fresh).cast_mut(), Ordering::AcqRel, Ordering::Acquire);
    match won {
        Ok(_) => Ok(fresh),
        // SAFETY: as above; another thread of this process was first.
        Err(other) => Ok(unsafe { &*other }),
    }
}

fn open(isa: Isa) -> Result<Session> {
    super::target::initialize();
    // SAFETY: the calls follow ORC's C interface: a null builder means defaults; names are retained by
    // the pairs that own them; the materialization unit takes the pairs over.
    unsafe {
        let mut jit = std::ptr::null_mut();
        check(LLVMOrcCreateLLJIT(&mut jit, std::ptr::null_mut()))?;
        let mut pairs = Vec::new();
        for (name, address) in MathTable::of(isa).iter() {
            let name = CString::new(name).map_err(|_| Error::Engine("NUL in a symbol".into()))?;
            let flags = LLVMJITSymbolFlags {
                GenericFlags: LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
                    | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8,
                TargetFlags: 0,
            };
            pairs.push(LLVMOrcCSymbolMapPair {
                Name: LLVMOrcLLJITMangleAndIntern(jit, name.as_ptr()),
                Sym: LLVMJITEvaluatedSymbol { Address: address as u64, Flags: flags },
            });
        }
        let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
        check(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), unit))?;
        Ok(Session { process: std::process::id(), jit: Mutex::new(Handle(jit)) })
    }
}

/// Links `object` and finds `symbol`, which no living code of this instruction set may define too.
pub(super) fn link(isa: Isa, object: &[u8], symbol: &str) -> Result<Code> {
    let session = session(isa)?;
    let held = session.lock();
    let symbol = CString::new(symbol).map_err(|_| Error::Engine("NUL in a symbol".into()))?;
    // SAFETY: the buffer is a copy that the session takes over; on every path the tracker is either
    // released here or owned by the code returned.
    unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"kernel".as_ptr());
        let tracker = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(held.0));
        let mut address = 0;
        let linked = check(LLVMOrcLLJITAddObjectFileWithRT(held.0, tracker, buffer))
            .and_then(|()| check(LLVMOrcLLJITLookup(held.0, &mut address, symbol.as_ptr())));
        if let Err(error) = linked {
            release(tracker);
            return Err(error);
        }
        Ok(Code { session, tracker, address: address as usize })
    }
}
