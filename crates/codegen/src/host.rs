//! Which machine and which LLVM compiled code is for, as a text in cache keys.
//!
//! In: nothing. Out: a line that differs wherever LLVM might see another processor or be another LLVM. It is
//! found without LLVM: a process whose kernels all come from disk never loads it.

use numelt_vecmath::Isa;
use std::sync::OnceLock;

/// Instruction set, processor and library.
pub(crate) fn name(isa: Isa) -> String {
    static HOST: OnceLock<String> = OnceLock::new();
    let host = HOST.get_or_init(|| {
        let words: String = processor().iter().map(|word| format!(" {word:x}")).collect();
        format!("{}{words} LLVM {}", std::env::consts::ARCH, numelt_llvm::VERSION)
    });
    format!("{isa:?} on {host}")
}

/// What the processor says about itself, all that LLVM's own detection looks at, and nothing that differs
/// between its cores or from one moment to the next.
#[cfg(target_arch = "x86_64")]
fn processor() -> Vec<u32> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv, CpuidResult};
    let leaf = |number: u32, part: u32| {
        let last = __cpuid(number & 0x8000_0000).eax;
        if number > last { CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 } } else { __cpuid_count(number, part) }
    };
    // which vectors the system keeps: asked only where the processor says that it may be asked
    #[target_feature(enable = "xsave")]
    fn kept() -> u32 {
        // SAFETY: the caller has seen the bit that allows the instruction.
        unsafe { _xgetbv(0) as u32 }
    }
    let (vendor, basic, extended) = (leaf(0, 0), leaf(1, 0), leaf(0x8000_0001, 0));
    let mut words = vec![vendor.ebx, vendor.ecx, vendor.edx, basic.eax, basic.ecx, basic.edx];
    words.extend([extended.ecx, extended.edx, leaf(0x8000_0008, 0).ebx, leaf(0xD, 1).eax]);
    for part in 0..2 {
        let more = leaf(7, part);
        words.extend([more.eax, more.ebx, more.ecx, more.edx]);
    }
    words.extend([leaf(0x14, 0).ebx, leaf(0x19, 0).ebx, leaf(0x24, 0).ebx]);
    if basic.ecx & (1 << 27) != 0 {
        // SAFETY: the processor has the instruction and the system has enabled it: bit 27 says both.
        words.push(unsafe { kept() });
    }
    words
}

#[cfg(all(not(target_arch = "x86_64"), target_os = "linux"))]
fn processor() -> Vec<u32> {
    // SAFETY: both take a number and return one.
    let features = unsafe { [libc::getauxval(libc::AT_HWCAP), libc::getauxval(libc::AT_HWCAP2)] };
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().filter(|line| line.starts_with("CPU ")).take(4).collect::<String>();
    let model = numelt_runtime::store::fnv(model.as_bytes(), 0);
    features.into_iter().chain([model]).flat_map(|word| [word as u32, (word >> 32) as u32]).collect()
}

#[cfg(all(not(target_arch = "x86_64"), not(target_os = "linux")))]
fn processor() -> Vec<u32> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_the_same_at_every_look_and_on_every_core() {
        let first = processor();
        assert!(cfg!(not(target_arch = "x86_64")) || first.iter().any(|word| *word != 0));
        for _ in 0..50 {
            assert_eq!(std::thread::spawn(processor).join().unwrap(), first);
        }
        assert_ne!(name(Isa::Avx2), name(Isa::Avx512));
    }
}
