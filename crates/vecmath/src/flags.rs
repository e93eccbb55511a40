//! The processor's sticky floating-point flags.
//!
//! In: nothing. Out: reading, clearing and raising them on the calling thread. The bits are NumPy's: divide by
//! zero 1, overflow 2, underflow 4, invalid 8. On processors whose flags are not known here nothing is ever
//! raised.

/// A finite operation without a finite answer.
pub const DIVIDE: u8 = 1;
/// A result too large for its type.
pub const OVER: u8 = 2;
/// A result too small for its type.
pub const UNDER: u8 = 4;
/// No answer at all.
pub const INVALID: u8 = 8;
/// All of them.
pub const ALL: u8 = DIVIDE | OVER | UNDER | INVALID;

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    /// Bits of the status register for 1, 2, 4, 8.
    pub(super) const BITS: [u32; 4] = [1 << 2, 1 << 3, 1 << 4, 1 << 0];

    #[inline(always)]
    pub(super) fn get() -> u32 {
        let mut word = 0u32;
        // SAFETY: stores the status register to a local variable. Not marked as free of memory effects, so that
        // results written before are computed before.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline(always)]
    pub(super) fn set(word: u32) {
        // SAFETY: loads the status register with what was read from it, sticky flags aside: rounding and masks stay.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use std::arch::asm;

    /// Bits of the status register for 1, 2, 4, 8.
    pub(super) const BITS: [u32; 4] = [1 << 1, 1 << 2, 1 << 3, 1 << 0];

    #[inline(always)]
    pub(super) fn get() -> u32 {
        let word: u64;
        // SAFETY: reads the status register. Not marked as free of memory effects, as above.
        unsafe { asm!("mrs {}, fpsr", out(reg) word, options(nostack, preserves_flags)) };
        word as u32
    }

    #[inline(always)]
    pub(super) fn set(word: u32) {
        let word = u64::from(word);
        // SAFETY: writes the status register, sticky flags only.
        unsafe { asm!("msr fpsr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub(super) const BITS: [u32; 4] = [0; 4];
    pub(super) fn get() -> u32 {
        0
    }
    pub(super) fn set(_: u32) {}
}

const MASK: u32 = register::BITS[0] | register::BITS[1] | register::BITS[2] | register::BITS[3];

/// The flags of a status word.
#[inline(always)]
const fn decode(word: u32) -> u8 {
    let mut flags = 0;
    let mut i = 0;
    while i < 4 {
        if word & register::BITS[i] != 0 {
            flags |= 1 << i;
        }
        i += 1;
    }
    flags
}

/// The status word of some flags.
#[inline(always)]
const fn encode(flags: u8) -> u32 {
    let mut word = 0;
    let mut i = 0;
    while i < 4 {
        if flags >> i & 1 == 1 {
            word |= register::BITS[i];
        }
        i += 1;
    }
    word
}

/// The flags that are up.
#[inline(always)]
pub fn get() -> u8 {
    let word = register::get();
    if word & MASK == 0 { 0 } else { decode(word) }
}

/// Clears all flags. This is cheaper if none is raised.
#[inline(always)]
pub fn clear() {
    let word = register::get();
    if word & MASK != 0 {
        register::set(word & !MASK);
    }
}

/// Puts flags up.
#[cold]
pub fn raise(flags: u8) {
    register::set(register::get() | encode(flags));
}

/// The flags as they are, to be put back.
#[derive(Clone, Copy, Debug)]
pub struct Saved(u32);

/// Remembers the flags.
#[inline(always)]
pub fn save() -> Saved {
    Saved(register::get())
}

impl Saved {
    /// Restores the saved flags and raises `flags` in addition. Other flags that were raised meanwhile are lost.
    #[inline(always)]
    pub fn restore_with(self, flags: u8) {
        let wanted = (self.0 & MASK) | encode(flags);
        let now = register::get();
        if now & MASK != wanted {
            register::set((now & !MASK) | wanted);
        }
    }
}
