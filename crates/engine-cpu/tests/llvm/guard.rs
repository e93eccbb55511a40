//! Arrays that begin or end next to memory that must not be accessed.

use numelt_ir::DType;

/// Pages of memory between two pages without access rights.
pub struct Guarded {
    map: *mut u8,
    page: usize,
}

/// The number of bytes between the inaccessible pages.
const ROOM: usize = 1 << 16;

impl Guarded {
    /// Zeroed memory.
    pub fn new() -> Guarded {
        // SAFETY: a fresh anonymous mapping, with its first and last page made inaccessible.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let map = libc::mmap(std::ptr::null_mut(), ROOM + 2 * page, protection, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let map = map.cast::<u8>();
            assert_eq!(libc::mprotect(map.cast(), page, libc::PROT_NONE), 0);
            assert_eq!(libc::mprotect(map.add(page + ROOM).cast(), page, libc::PROT_NONE), 0);
            Guarded { map, page }
        }
    }

    /// The first of `n` elements, `stride` elements apart, that reach to the end of the memory (or from its start).
    pub fn place(&self, dtype: DType, n: usize, stride: i64, at_end: bool) -> *mut u8 {
        let size = dtype.size();
        let reach = (n - 1) * size * stride.unsigned_abs() as usize + size;
        let low = if at_end { ROOM - reach } else { 0 };
        let first = if stride < 0 { low + reach - size } else { low };
        self.map.wrapping_add(self.page + first)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: unmapped once, as it was mapped.
        unsafe { libc::munmap(self.map.cast(), ROOM + 2 * self.page) };
    }
}
