//! Kernels with reductions.

use super::{Parts, Variant};
use numelt_opt::Kernel;

/// The text of a kernel with reductions.
pub(super) fn render(_: &Kernel, _: Variant) -> Option<Parts> {
    None
}
