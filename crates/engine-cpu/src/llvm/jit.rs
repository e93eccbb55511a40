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
use std::sync::{Mutex, OnceLock};

/// A linker session with the math functions defined in it.
struct Session {
    jit: LLVMOrcLLJITRef,
}

// SAFETY: ORC sessions lock internally; all our calls besides go through one mutex.
unsafe impl Send for Session {}

/// Linked code; unlinked when dropped.
pub(super) struct Code {
    isa: Isa,
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
        let Ok(session) = session(self.isa) else { return };
        let _held = session.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: the tracker came from this session and is released once; nobody runs the code any
        // more, since its last owner is going.
        unsafe {
            let error = LLVMOrcResourceTrackerRemove(self.tracker);
            if !error.is_null() {
                LLVMConsumeError(error);
            }
            LLVMOrcReleaseResourceTracker(self.tracker);
        }
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

fn session(isa: Isa) -> Result<&'static Mutex<Session>> {
    static SESSIONS: [OnceLock<Result<Mutex<Session>>>; 3] = [const { OnceLock::new() }; 3];
    SESSIONS[isa as usize].get_or_init(|| open(isa).map(Mutex::new)).as_ref().map_err(Clone::clone)
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
        Ok(Session { jit })
    }
}

/// Links `object` and finds `symbol`, which no living code of this instruction set may define too.
pub(super) fn link(isa: Isa, object: &[u8], symbol: &str) -> Result<Code> {
    let session = session(isa)?.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let symbol = CString::new(symbol).map_err(|_| Error::Engine("NUL in a symbol".into()))?;
    // SAFETY: the buffer is a copy that the session takes over; on every path the tracker is either
    // released here or owned by the code returned.
    unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"kernel".as_ptr());
        let tracker = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(session.jit));
        let mut address = 0;
        let linked = check(LLVMOrcLLJITAddObjectFileWithRT(session.jit, tracker, buffer))
            .and_then(|()| check(LLVMOrcLLJITLookup(session.jit, &mut address, symbol.as_ptr())));
        if let Err(error) = linked {
            let removed = LLVMOrcResourceTrackerRemove(tracker);
            if !removed.is_null() {
                LLVMConsumeError(removed);
            }
            LLVMOrcReleaseResourceTracker(tracker);
            return Err(error);
        }
        Ok(Code { isa, tracker, address: address as usize })
    }
}
