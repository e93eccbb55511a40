//! Stores past the caches (non-temporal stores).
//!
//! In: a launch. Out: whether its stores should bypass the caches. An ordinary store first reads its cache line from
//! memory, which is unnecessary if the whole line is written: without it, a copy moves two thirds of the bytes.
//! Bypassing pays if the results are so large that nothing of them would stay in the last cache until it is read.
//! Measured on one thread (Zen 3), it saves a quarter of the time of a polynomial or a five-point stencil, and a tenth
//! of the game of life; but kernels with 3 to 6 results and some 50 operations lose a quarter, so only kernels with one
//! result do it.

use super::Nest;
use numelt_opt::{ArgKind, Kernel};
use std::ops::Range;
use std::sync::OnceLock;

/// The length in bytes of the shortest rows that bypass the caches. The ends of a row are written through the caches,
/// and a line that is written both ways is expensive: a copy takes twice its time with rows of 2 KB at any address, the
/// same time with 4 KB, and two thirds with 16 KB.
const ROW: i64 = 8192;
/// The same for rows that consist of whole lines. A copy gains from 1 KB on, but the 27-point stencil loses a tenth at
/// 1.6 KB.
const WHOLE_ROW: i64 = 4096;
/// The bytes of a cache line.
const LINE: i64 = 64;
/// The assumed size of the last cache if the system does not say.
const LAST_CACHE: i64 = 32 << 20;

/// Whether the stores of a launch should bypass the caches. `pointers` holds every argument's first address.
pub fn pays(kernel: &Kernel, nest: &Nest, pointers: &[*mut u8]) -> bool {
    let of = |kind: ArgKind| (0..kernel.args.len()).filter(move |&a| kernel.args[a].kind == kind);
    let last = nest.rank() - 1;
    let bytes = |a: usize| nest.points().saturating_mul(kernel.args[a].dtype.size() as i64);
    let results = of(ArgKind::Store).map(bytes).fold(0i64, i64::saturating_add);
    if results < last_cache() / 2 {
        return false;
    }
    let mut stores = of(ArgKind::Store);
    let (Some(store), None) = (stores.next(), stores.next()) else { return false };
    let (stride, row) = (nest.strides(last)[store], kernel.args[store].dtype.size() as i64 * nest.extents[last]);
    let starts = (0..last).map(|l| nest.strides(l)[store]).chain([pointers[store].addr() as i64, row]);
    // rows that wrap are cut
    let whole = nest.wraps.is_empty() && starts.into_iter().all(|at| at % LINE == 0);
    let shortest = if whole { WHOLE_ROW } else { ROW };
    // a line that has been loaded is in the cache
    let own = range(kernel, nest, pointers, store);
    let apart = |b: usize| {
        let other = range(kernel, nest, pointers, b);
        other.end <= own.start || own.end <= other.start
    };
    stride == kernel.args[store].dtype.size() as i64 && row >= shortest && of(ArgKind::Load).all(apart)
}

/// The range of addresses that an argument covers.
fn range(kernel: &Kernel, nest: &Nest, pointers: &[*mut u8], a: usize) -> Range<i64> {
    let start = pointers[a].addr() as i64;
    let mut range = start..start + kernel.args[a].dtype.size() as i64;
    for l in 0..nest.rank() {
        let stride = nest.strides(l)[a];
        let reach = match nest.wraps_along(l).find(|wrap| wrap.arg == a) {
            Some(wrap) => wrap.reach(stride),
            None => {
                let reach = stride.saturating_mul(nest.extents[l] - 1);
                reach.min(0)..reach.max(0)
            }
        };
        range.start = range.start.saturating_add(reach.start);
        range.end = range.end.saturating_add(reach.end);
    }
    range
}

/// The size of the last cache in bytes. It is read from the system's files, which know what part of it a virtual
/// machine has. The C library asks the processor, which may report that of the whole socket.
fn last_cache() -> i64 {
    static BYTES: OnceLock<i64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let file = "/sys/devices/system/cpu/cpu0/cache/index3/size";
        let text = if cfg!(target_os = "linux") { std::fs::read_to_string(file).ok() } else { None };
        let kibibytes = text.and_then(|t| t.trim().trim_end_matches('K').parse::<i64>().ok());
        kibibytes.map_or(LAST_CACHE, |k| k << 10).clamp(4 << 20, 128 << 20)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use numelt_ir::{DType, Pieces};
    use numelt_opt::{Arg, ArgGeometry, Geometry, Node, Store, StrideClass};
    use smallvec::smallvec;

    /// Whether a copy of `rows` rows of doubles from dense memory to `to`, with `pitch` bytes between rows, bypasses
    /// the caches.
    fn copied(rows: i64, columns: i64, to: i64, pitch: i64) -> bool {
        let arg = |kind| {
            let strides = smallvec![StrideClass::Any, StrideClass::Unit];
            Arg { kind, dtype: DType::F64, strides, near: None }
        };
        let kernel = Kernel {
            reduced: smallvec![false, false],
            args: vec![arg(ArgKind::Load), arg(ArgKind::Store)],
            params: vec![],
            body: vec![Node::Load(0)],
            stores: vec![Store { arg: 1, value: 0 }],
            reductions: vec![],
        };
        let place = |pitch: i64| ArgGeometry::new(0, [pitch, 8].into_iter().collect());
        let geometry = Geometry {
            extents: [rows, columns].into_iter().collect(),
            args: vec![place(8 * columns), place(pitch)],
            pieces: Pieces { stretch: i64::MAX, piece: i64::MAX },
        };
        let pointers = [1 << 40, to].map(|address| address as usize as *mut u8);
        pays(&kernel, &Nest::new(&kernel, &geometry).unwrap(), &pointers)
    }

    #[test]
    fn large_results_in_long_rows_or_whole_lines() {
        let far = 1 << 44;
        let columns = last_cache() / 16;
        assert!(copied(1, columns, far + 8, 8 * columns));
        assert!(!copied(1, columns / 8, far, columns));
        // rows of 4 KB: dense ones are whole lines, others are not
        let rows = last_cache() / 4096;
        assert!(copied(rows, 512, far, 4160));
        assert!(!copied(rows, 512, far + 8, 4112));
        assert!(!copied(2 * rows, 256, far, 2112));
        assert!(copied(rows / 4, 2048, far + 8, 16400));
    }

    #[test]
    fn what_is_overwritten_in_place_is_in_the_cache() {
        let columns = last_cache() / 8;
        assert!(!copied(1, columns, 1 << 40, 8 * columns));
        assert!(!copied(1, columns, (1 << 40) + 800, 8 * columns));
        assert!(copied(1, columns, (1 << 40) + 8 * columns, 8 * columns));
    }
}
