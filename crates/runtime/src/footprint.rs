//! Giving memory back that is not needed for now.
//!
//! Planning a long batch takes megabytes for a few milliseconds, and reads code that running the plan does not need. What
//! the allocator then keeps free, and the pages of our own code and constants, would count as the process's memory for as long as it lives:
//! the former goes back to the system, the latter come back from the file when they are needed, which takes microseconds.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Giving back takes at most this part of the time.
const SHARE: u32 = 10;

/// When memory was given back last, and how long it took.
static LAST: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

/// The pages of the object that this code is in.
static OWN: OnceLock<Pages> = OnceLock::new();

/// Gives back what can be, unless that has been done just before, or is being done: a process that was forked
/// meanwhile does without.
pub fn settle() {
    let start = Instant::now();
    let Ok(mut last) = LAST.try_lock() else { return };
    if last.is_some_and(|(at, took)| start.duration_since(at) < took * SHARE) {
        return;
    }
    OWN.get_or_init(|| Pages::around(settle as fn() as usize)).release();
    trim();
    *last = Some((start, start.elapsed()));
}

/// Gives back what the allocator keeps free.
pub fn trim() {
    // SAFETY: takes a number, and looks at nothing but the allocator's own lists, under its locks.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The code and constants of a loaded object: whole pages, from and to, that nobody writes.
pub struct Pages(Vec<(usize, usize)>);

impl Pages {
    /// Those of the object that has something at `address`; none where that cannot be found out.
    pub fn around(address: usize) -> Pages {
        let mut search = Search { address, found: Vec::new() };
        // SAFETY: the callback has the type that is asked for; the search outlives the call.
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        unsafe {
            libc::dl_iterate_phdr(Some(note), (&raw mut search).cast());
        }
        Pages(std::mem::take(&mut search.found))
    }

    /// Lets go of them: whatever is needed again comes back from the file, which costs microseconds while the system
    /// keeps it in its cache.
    pub fn release(&self) {
        for &(start, end) in &self.0 {
            // SAFETY: whole pages of a private mapping of a file, never written: they can be read again from it.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        }
    }
}

struct Search {
    #[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), expect(dead_code))]
    address: usize,
    found: Vec<(usize, usize)>,
}

/// If what is searched for is in the object, notes the segments that nobody writes.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
unsafe extern "C" fn note(object: *mut libc::dl_phdr_info, _: usize, search: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the loader describes an object that is loaded, with so many headers; `search` is the caller's.
    let (base, segments, search) = unsafe {
        let object = &*object;
        let segments = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object.dlpi_addr as usize, segments, &mut *search.cast::<Search>())
    };
    // SAFETY: takes a number, cannot fail.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let place = |segment: &libc::Elf64_Phdr| {
        let start = base + segment.p_vaddr as usize;
        (start, start + segment.p_memsz as usize)
    };
    let loaded = || segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
    if !loaded().map(place).any(|(start, end)| (start..end).contains(&search.address)) {
        return 0;
    }
    let unwritten = loaded().filter(|segment| segment.p_flags & libc::PF_W == 0).map(place);
    let whole = unwritten.map(|(start, end)| (start.next_multiple_of(page), end / page * page));
    search.found.extend(whole.filter(|(start, end)| start < end));
    1
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_comes_back() {
        for _ in 0..3 {
            super::Pages::around(super::settle as fn() as usize).release();
            super::trim();
            super::settle();
            let words: Vec<String> = (0..100).map(|n| format!("{n:?}")).collect();
            assert_eq!(words.concat().len(), 190);
        }
    }
}
