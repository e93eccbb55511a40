//! Giving memory back that is not needed for now.
//!
//! Planning a long batch takes megabytes for a few milliseconds, and reads code that running the plan does not need. What
//! the allocator then keeps free, and the pages of our own code and constants, would count as the process's memory for as long as it lives:
//! the former goes back to the system, the latter come back from the file when they are needed, which takes microseconds.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Giving back takes at most this part of the time.
const SHARE: u32 = 10;

/// When memory was given back last, and how long it took.
static LAST: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

/// Gives back what can be, unless that has been done just before.
pub fn settle() {
    let start = Instant::now();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.is_some_and(|(at, took)| start.duration_since(at) < took * SHARE) {
        return;
    }
    drop_pages();
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

/// Lets go of the pages of the object that this code is in, as far as nothing writes them.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn drop_pages() {
    use std::sync::OnceLock;
    static OWN: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let mut found = Vec::new();
        // SAFETY: the callback has the type that is asked for; the list outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(note_own), (&raw mut found).cast()) };
        found
    });
    for (start, end) in own {
        // SAFETY: whole pages of a private mapping of a file, never written: they can be read again from it.
        unsafe { libc::madvise(*start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn drop_pages() {}

/// If this function is in the object, notes the whole pages, from and to, of the segments that nobody writes.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
unsafe extern "C" fn note_own(object: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the loader describes an object that is loaded, with so many headers; `found` is the caller's list.
    let (base, segments, found) = unsafe {
        let object = &*object;
        let segments = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object.dlpi_addr as usize, segments, &mut *found.cast::<Vec<(usize, usize)>>())
    };
    // SAFETY: takes a number, cannot fail.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let place = |segment: &libc::Elf64_Phdr| {
        let start = base + segment.p_vaddr as usize;
        (start, start + segment.p_memsz as usize)
    };
    let loaded = || segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
    let own = settle as fn() as usize;
    if !loaded().map(place).any(|(start, end)| (start..end).contains(&own)) {
        return 0;
    }
    let unwritten = loaded().filter(|segment| segment.p_flags & libc::PF_W == 0).map(place);
    let whole = unwritten.map(|(start, end)| (start.next_multiple_of(page), end / page * page));
    found.extend(whole.filter(|(start, end)| start < end));
    1
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_comes_back() {
        for _ in 0..3 {
            super::drop_pages();
            super::trim();
            super::settle();
            let words: Vec<String> = (0..100).map(|n| format!("{n:?}")).collect();
            assert_eq!(words.concat().len(), 190);
        }
    }
}
