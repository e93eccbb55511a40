//! NVRTC, which compiles CUDA C++ to machine code. It needs no device.
//!
//! In: a text and the version of a device's instructions. Out: a cubin, or PTX if this NVRTC is older than the device.
//! The library comes with CUDA toolkits and as PyPI packages, on which the extras `cuda12` and `cuda13` of numelt
//! depend.

use super::toolkit;
use crate::library::functions;
use numelt_ir::{Error, Result};
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

functions! {
    "NVRTC":
    version "nvrtcVersion" (*mut i32, *mut i32) -> i32;
    arch_count "nvrtcGetNumSupportedArchs" (*mut i32) -> i32;
    archs "nvrtcGetSupportedArchs" (*mut i32) -> i32;
    create "nvrtcCreateProgram"
        (*mut Handle, *const c_char, *const c_char, i32, *const *const c_char, *const *const c_char) -> i32;
    compile "nvrtcCompileProgram" (Handle, i32, *const *const c_char) -> i32;
    log_size "nvrtcGetProgramLogSize" (Handle, *mut usize) -> i32;
    log "nvrtcGetProgramLog" (Handle, *mut c_char) -> i32;
    cubin_size "nvrtcGetCUBINSize" (Handle, *mut usize) -> i32;
    cubin "nvrtcGetCUBIN" (Handle, *mut c_char) -> i32;
    ptx_size "nvrtcGetPTXSize" (Handle, *mut usize) -> i32;
    ptx "nvrtcGetPTX" (Handle, *mut c_char) -> i32;
    destroy "nvrtcDestroyProgram" (*mut Handle) -> i32;
}

/// The version since which it can leave out what kernels do not use, which takes it a quarter of the time of a small
/// one.
const MINIMAL: (i32, i32) = (12, 9);

/// The compiler.
pub struct Nvrtc {
    api: Api,
    /// Its version.
    pub version: (i32, i32),
    /// The newest instructions that it supports, as 90 for 9.0.
    newest: i32,
}

impl Nvrtc {
    /// The newest NVRTC whose code a driver of this toolkit accepts.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(toolkit: i32) -> Result<Nvrtc> {
        let library = toolkit::library("nvrtc", "cuda_nvrtc", toolkit, 0);
        let missing = || {
            let extra = toolkit.clamp(toolkit::OLDEST, toolkit::NEWEST);
            let text = "cuda: the compiler NVRTC is missing (pip install 'numelt[cuda";
            Error::Engine(format!("{text}{extra}]', or libnvrtc.so.{extra} of a CUDA toolkit)"))
        };
        let api = Api::find(library.ok_or_else(missing)?).map_err(|why| Error::Engine(format!("cuda: {why}")))?;
        let (mut version, mut count) = ((0, 0), 0);
        // SAFETY: places for both numbers.
        check("nvrtcVersion", unsafe { (api.version)(&raw mut version.0, &raw mut version.1) })?;
        // SAFETY: a place for the number.
        check("nvrtcGetNumSupportedArchs", unsafe { (api.arch_count)(&raw mut count) })?;
        let mut archs = vec![0; count.max(0) as usize];
        // SAFETY: room for as many as were said.
        check("nvrtcGetSupportedArchs", unsafe { (api.archs)(archs.as_mut_ptr()) })?;
        Ok(Nvrtc { api, version, newest: archs.into_iter().max().unwrap_or(0) })
    }

    /// Options for a device with these instructions.
    pub fn options(&self, arch: i32) -> Vec<String> {
        let arch = if self.makes_ptx(arch) { format!("compute_{}", self.newest) } else { format!("sm_{arch}") };
        let mut options = vec![format!("--gpu-architecture={arch}"), "--fmad=false".into(), "--std=c++17".into()];
        if self.version >= MINIMAL {
            options.push("--minimal".into());
        }
        options
    }

    /// Whether the driver has to compile PTX, because this NVRTC does not support the device.
    fn makes_ptx(&self, arch: i32) -> bool {
        arch > self.newest
    }

    /// The machine code of a text.
    ///
    /// # Errors
    /// The compiler's message.
    pub fn compile(&self, text: &str, arch: i32) -> Result<Vec<u8>> {
        let nul = |error: std::ffi::NulError| Error::Engine(error.to_string());
        let text = CString::new(text).map_err(nul)?;
        let options: Vec<CString> = self.options(arch).into_iter().filter_map(|text| CString::new(text).ok()).collect();
        let mut program = Program { api: &self.api, handle: null_mut() };
        let name = c"numelt.cu".as_ptr();
        // SAFETY: C strings, no headers, and a place for the program.
        let code = unsafe { (self.api.create)(&raw mut program.handle, text.as_ptr(), name, 0, null(), null()) };
        check("nvrtcCreateProgram", code)?;
        let options: Vec<*const c_char> = options.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: a program, and as many C strings as are said.
        let code = unsafe { (self.api.compile)(program.handle, options.len() as i32, options.as_ptr()) };
        if let Err(why) = check("nvrtcCompileProgram", code) {
            let log = program.bytes(self.api.log_size, self.api.log).unwrap_or_default();
            return Err(Error::Engine(format!("{why}: {}", String::from_utf8_lossy(&log).trim_end_matches('\0'))));
        }
        if self.makes_ptx(arch) {
            program.bytes(self.api.ptx_size, self.api.ptx)
        } else {
            program.bytes(self.api.cubin_size, self.api.cubin)
        }
    }
}

fn check(function: &str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error::Engine(format!("cuda: {function} failed ({code})"))) }
}

/// A text that is being compiled.
struct Program<'a> {
    api: &'a Api,
    handle: Handle,
}

impl Program<'_> {
    /// The bytes that one function returns, with the size that another one returns.
    fn bytes(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> i32,
        fill: unsafe extern "C" fn(Handle, *mut c_char) -> i32,
    ) -> Result<Vec<u8>> {
        let mut count = 0;
        // SAFETY: a program, and a place for the number.
        check("nvrtc", unsafe { size(self.handle, &raw mut count) })?;
        let mut bytes = vec![0u8; count];
        // SAFETY: a program, and room for as many bytes as were said.
        check("nvrtc", unsafe { fill(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: a program that was created, which is destroyed once.
            unsafe { (self.api.destroy)(&raw mut self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NVRTC, if there is one; `LD_LIBRARY_PATH` may say where.
    fn nvrtc() -> Option<Nvrtc> {
        Nvrtc::open(toolkit::NEWEST).inspect_err(|why| eprintln!("not tested: {why}")).ok()
    }

    const TEXT: &str = include_str!("../../tests/texts/elementwise.cu");

    #[test]
    fn texts_become_machine_code() {
        let Some(nvrtc) = nvrtc() else { return };
        assert!(nvrtc.compile(TEXT, 80).unwrap().starts_with(b"\x7fELF"));
    }

    #[test]
    fn devices_newer_than_the_compiler_get_ptx() {
        let Some(nvrtc) = nvrtc() else { return };
        let code = nvrtc.compile(TEXT, 999).unwrap();
        assert!(code.ends_with(b"\0") && String::from_utf8_lossy(&code).contains(".entry numelt_kernel"));
    }

    #[test]
    fn what_is_refused_is_an_error_with_the_compilers_words() {
        let Some(nvrtc) = nvrtc() else { return };
        let why = nvrtc.compile("__global__ void f() { this is no program; }", 80).unwrap_err().to_string();
        assert!(why.contains("nvrtcCompileProgram") && why.contains("numelt.cu(1)"), "{why}");
    }

    #[test]
    fn drivers_that_are_too_old_have_no_compiler() {
        let why = Nvrtc::open(11).err().unwrap().to_string();
        assert!(why.contains("numelt[cuda12]"), "{why}");
    }
}
