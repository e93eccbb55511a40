//! Values whose later use is hidden from the compiler.

use std::hint::black_box;

/// Values whose later use is hidden from the compiler. If it knows what happens to the lanes later, it shuffles
/// registers in the loop that fills them, or splits them. The alignment matters, because loading what was stored across
/// two cache lines is slow.
#[repr(align(64))]
pub struct Opaque<T, const N: usize>(pub [T; N]);

impl<T, const N: usize> Opaque<T, N> {
    /// The values.
    #[inline(always)]
    pub fn settle(self) -> [T; N] {
        black_box(self).0
    }
}
