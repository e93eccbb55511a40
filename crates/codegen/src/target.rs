//! Which machine code is generated: processor, features, code generation options.
//!
//! In: an instruction set. Out: a target machine per thread.
//! Not here: IR, linking.

use crate::builder::Builder;
use numelt_ir::{Error, Result};
use numelt_llvm::types::*;
use numelt_llvm::*;
use numelt_vecmath::Isa;
use std::cell::OnceCell;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// How much work code generation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effort {
    /// LLVM's O1: for kernels, which are written for the processor.
    Less,
    /// LLVM's O2: for functions, which LLVM has to arrange.
    Default,
    /// LLVM's level O0 and few passes, for functions that rarely run.
    Quick,
}

/// Which of LLVM's passes a module goes through. The numbers are those in `crates/llvm/src/passes.cpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Passes {
    /// As few passes as possible.
    Few,
    /// Those for loops that have exits.
    Exits,
    /// Those for loops that can be vectorized.
    Vector,
}

/// A code generator; not shared between threads.
pub(crate) struct CodeGenerator {
    machine: LLVMTargetMachineRef,
    triple: CString,
    layout: CString,
}

impl Drop for CodeGenerator {
    fn drop(&mut self) {
        // SAFETY: created in `new`, disposed once.
        unsafe { LLVMDisposeTargetMachine(self.machine) }
    }
}

/// Processor and features of an instruction set on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Processor {
    pub(crate) cpu: String,
    pub(crate) features: String,
}

/// Takes ownership of a string that LLVM allocated.
///
/// # Safety
/// `raw` is a NUL-terminated string to be freed by `LLVMDisposeMessage`.
unsafe fn take_message(raw: *mut std::ffi::c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe {
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeMessage(raw);
        text
    }
}

/// Can this host run code for `isa`?
pub(crate) fn runs_here(isa: Isa) -> bool {
    #[cfg(target_arch = "x86_64")]
    return match isa {
        Isa::Avx512 => {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
        }
        Isa::Avx2 => {
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
        }
        Isa::Portable => true,
    };
    #[cfg(not(target_arch = "x86_64"))]
    return matches!(isa, Isa::Portable);
}

/// The host's own processor with everything beyond `isa` switched off; a generic processor of that
/// level where the host does not have it (the code can then be looked at, not run).
pub(crate) fn processor(isa: Isa) -> Processor {
    static HOST: OnceLock<Processor> = OnceLock::new();
    let host = HOST.get_or_init(|| {
        // SAFETY: both return fresh strings.
        unsafe {
            Processor { cpu: take_message(LLVMGetHostCPUName()), features: take_message(LLVMGetHostCPUFeatures()) }
        }
    });
    let generic = |cpu: &str| Processor { cpu: cpu.into(), features: String::new() };
    if !cfg!(target_arch = "x86_64") {
        return host.clone();
    }
    match isa {
        Isa::Portable => generic("x86-64"),
        Isa::Avx2 if !runs_here(isa) => generic("x86-64-v3"),
        Isa::Avx512 if !runs_here(isa) => generic("x86-64-v4"),
        Isa::Avx512 => host.clone(),
        Isa::Avx2 => {
            let keep = |f: &str| if beyond_avx2(f) { format!("-{}", &f[1..]) } else { f.to_owned() };
            let features: Vec<String> = host.features.split(',').map(keep).collect();
            Processor { cpu: host.cpu.clone(), features: features.join(",") }
        }
    }
}

fn beyond_avx2(feature: &str) -> bool {
    feature.starts_with("+avx512") || feature.starts_with("+avx10") || feature == "+evex512"
}

impl CodeGenerator {
    /// A target machine for `isa`.
    pub(crate) fn new(isa: Isa, effort: Effort) -> Result<CodeGenerator> {
        let mut processor = processor(isa);
        if effort != Effort::Less && processor.cpu.starts_with("znver") {
            // AMD's instructions that load or store scattered elements take longer than one instruction for each
            // element; LLVM does not know that of all these processors
            processor.features.push_str(",+prefer-no-gather,+prefer-no-scatter");
        }
        let c = |text: &str| CString::new(text).map_err(|_| Error::Engine("NUL in a processor name".into()));
        let (cpu, features) = (c(&processor.cpu)?, c(&processor.features)?);
        let level = match effort {
            Effort::Less => LLVMCodeGenOptLevel::LLVMCodeGenLevelLess,
            Effort::Default => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
            Effort::Quick => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
        };
        // SAFETY: all strings outlive the calls, the results are checked.
        unsafe {
            let triple = c(&take_message(LLVMGetDefaultTargetTriple()))?;
            let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
            if LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut message) != 0 {
                return Err(Error::Engine(take_message(message)));
            }
            let machine = LLVMCreateTargetMachine(
                target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                level,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelSmall,
            );
            if machine.is_null() {
                return Err(Error::Engine(format!("no code generator for {}", processor.cpu)));
            }
            let data = LLVMCreateTargetDataLayout(machine);
            let layout = c(&take_message(LLVMCopyStringRepOfTargetData(data)))?;
            LLVMDisposeTargetData(data);
            Ok(CodeGenerator { machine, triple, layout })
        }
    }

    /// An empty module for this machine.
    pub(crate) fn builder(&self) -> Builder {
        Builder::new(&self.triple, &self.layout)
    }

    /// Runs LLVM's passes over a module: those of `crates/llvm/src/passes.cpp`.
    pub(crate) fn optimize(&self, module: &Builder, passes: Passes) {
        // SAFETY: module and machine are alive, and used by this thread only.
        unsafe { numelt_llvm_optimize(module.module(), self.machine, passes as u32) }
    }

    /// Runs code generation; the module may not be used afterwards.
    fn emit(&self, module: Builder, what: LLVMCodeGenFileType) -> Result<Vec<u8>> {
        let (mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: machine and module are alive; the buffer is copied and disposed.
        unsafe {
            let failed =
                LLVMTargetMachineEmitToMemoryBuffer(self.machine, module.module(), what, &mut message, &mut buffer);
            if failed != 0 {
                return Err(Error::Engine(take_message(message)));
            }
            let bytes = std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer));
            let bytes = bytes.to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            Ok(bytes)
        }
    }

    /// A relocatable object.
    pub(crate) fn object(&self, module: Builder) -> Result<Vec<u8>> {
        self.emit(module, LLVMCodeGenFileType::LLVMObjectFile)
    }

    /// Assembly text.
    pub(crate) fn assembly(&self, module: Builder) -> Result<String> {
        let bytes = self.emit(module, LLVMCodeGenFileType::LLVMAssemblyFile)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Runs `f` with this thread's target machine for `isa`.
pub(crate) fn with_target<T>(isa: Isa, effort: Effort, f: impl FnOnce(&CodeGenerator) -> Result<T>) -> Result<T> {
    thread_local! {
        static TARGETS: [OnceCell<CodeGenerator>; 9] = const { [const { OnceCell::new() }; 9] };
    }
    TARGETS.with(|targets| {
        let cell = &targets[3 * isa as usize + effort as usize];
        if cell.get().is_none() {
            // Setting the value cannot fail, because no other code runs on this thread in between.
            let _ = cell.set(CodeGenerator::new(isa, effort)?);
        }
        f(cell.get().expect("just set"))
    })
}
