//! Results that should go past the caches.
//!
//! In: a launch. Out: whether its stores should bypass the caches. A store brings its line in from memory first, which is in vain
//! where the whole line is written: without that, a copy moves two thirds of the bytes. It pays where results are so many
//! that nothing of them would stay in the last cache until it is read. Measured on one thread (Zen 3): a quarter of the time of a
//! polynomial or a five-point stencil, a tenth of the game of life; but a loss of a quarter for kernels of 3 to 6 results
//! and some 50 operations, so kernels of one result alone do it.

use super::Nest;
use numelt_opt::{ArgKind, Kernel};
use std::ops::Range;
use std::sync::OnceLock;

/// Shortest rows, in bytes: what is left at their ends is written the usual way.
const ROW: i64 = 4096;
/// The last cache where the system does not tell how large it is.
const LAST_CACHE: i64 = 32 << 20;

/// Should the stores of a launch bypass the caches? `pointers` holds every argument's first address.
pub fn pays(kernel: &Kernel, nest: &Nest, pointers: &[*mut u8]) -> bool {
    let of = |kind: ArgKind| (0..nest.args).filter(move |&a| kernel.args[a].kind == kind);
    let last = nest.rank() - 1;
    let bytes = |a: usize| nest.points().saturating_mul(kernel.args[a].dtype.size() as i64);
    let results = of(ArgKind::Store).map(bytes).fold(0i64, i64::saturating_add);
    if results < last_cache() / 2 {
        return false;
    }
    let mut stores = of(ArgKind::Store);
    let (Some(store), None) = (stores.next(), stores.next()) else { return false };
    let stride = nest.strides(last)[store];
    let own = range(kernel, nest, pointers, store);
    // a line that was loaded is in the cache
    let apart = |b: usize| {
        let other = range(kernel, nest, pointers, b);
        other.end <= own.start || own.end <= other.start
    };
    stride == kernel.args[store].dtype.size() as i64
        && nest.extents[last] * stride >= ROW
        && of(ArgKind::Load).all(apart)
}

/// Addresses that an argument spans.
fn range(kernel: &Kernel, nest: &Nest, pointers: &[*mut u8], a: usize) -> Range<i64> {
    let start = pointers[a].addr() as i64;
    let mut range = start..start + kernel.args[a].dtype.size() as i64;
    for l in 0..nest.rank() {
        let reach = nest.strides(l)[a].saturating_mul(nest.extents[l] - 1);
        range.start = range.start.saturating_add(reach.min(0));
        range.end = range.end.saturating_add(reach.max(0));
    }
    range
}

/// Bytes of the last cache. The system's own files know what a virtual machine has of it; the C library asks the
/// processor, which may tell of the whole socket.
fn last_cache() -> i64 {
    static BYTES: OnceLock<i64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let file = "/sys/devices/system/cpu/cpu0/cache/index3/size";
        let text = if cfg!(target_os = "linux") { std::fs::read_to_string(file).ok() } else { None };
        let kibibytes = text.and_then(|t| t.trim().trim_end_matches('K').parse::<i64>().ok());
        kibibytes.map_or(LAST_CACHE, |k| k << 10).clamp(4 << 20, 128 << 20)
    })
}
