//! Returning memory to the system that is not needed for now.
//!
//! Planning a long batch takes megabytes for a few milliseconds, and reads code that running the plan does not need.
//! The memory that the allocator then keeps free, and the pages of our own code and constants, would count as the
//! process's memory as long as it lives. So free memory is returned to the system. Pages of code are released, and
//! are read again from the file when they are needed, which takes microseconds. The same is done with pages of
//! libraries that are read only while these are loaded and set up: tables of symbols and relocations, and code that
//! runs once.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Returning memory takes at most one part in this many of the time.
const SHARE: u32 = 10;

/// When memory was last returned, and how long that took.
static LAST: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

/// Returns memory to the system, unless that was done shortly before or another thread is doing it.
pub fn settle() {
    let start = Instant::now();
    let Ok(mut last) = LAST.try_lock() else { return };
    if last.is_some_and(|(at, took)| start.duration_since(at) < took * SHARE) {
        return;
    }
    begin();
    own().release();
    trim();
    *last = Some((start, start.elapsed()));
}

/// Called where work with large arrays begins. By then a program has loaded its libraries and made its input, and pages
/// that only this has read are released. All calls but the first do nothing.
pub fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if !BEGUN.swap(true, Ordering::Relaxed) {
        Pages::of_all().release();
    }
}

/// Makes the allocator reuse large blocks, as it does in a program that has freed a large array of NumPy. Called where
/// NumPy is going to compute with a large array of numelt. All calls but the first do nothing.
///
/// The C library gets blocks above a certain size from the system one by one, and their pages are then cleared for each
/// of them. This size grows to that of the largest block that has been freed, but at most to 32 MiB. NumPy's large
/// arrays are such blocks, numelt's are not. Without this, operations on arrays of derived classes take up to three
/// times as long as in a program whose arrays are all NumPy's.
pub fn keep_large_blocks() {
    static KEPT: AtomicBool = AtomicBool::new(false);
    if KEPT.swap(true, Ordering::Relaxed) {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    const LARGEST: usize = (32 << 20) - (16 << 10);
    // SAFETY: the block is freed once, and nobody uses it; a null pointer may be freed. `black_box` keeps the compiler
    // from leaving both calls out.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::free(std::hint::black_box(libc::malloc(LARGEST)));
    }
}

/// Releases pages that only importing has read, of all libraries, and returns memory that the allocator keeps free.
/// Called once.
pub fn started() {
    Pages::of_all().release();
    trim();
}

/// The pages of the object file that contains this code.
fn own() -> &'static Pages {
    static OWN: OnceLock<Pages> = OnceLock::new();
    OWN.get_or_init(|| Pages::around(settle as fn() as usize))
}

/// Returns memory that the allocator keeps free.
pub fn trim() {
    // SAFETY: takes a number, and changes only the allocator's own lists, under its locks.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The code and constants of loaded object files: ranges of whole pages that nobody writes.
pub struct Pages(Vec<(usize, usize)>);

impl Pages {
    /// The pages of the object file that contains `address`; none if they cannot be found.
    pub fn around(address: usize) -> Pages {
        Pages(segments(Some(address)))
    }

    /// The pages of all object files. Code that has been changed in memory (by a debugger's breakpoints) is left
    /// alone. If that cannot be found out, there are no pages.
    fn of_all() -> Pages {
        let Ok(mut states) = File::open("/proc/self/pagemap") else { return Pages(Vec::new()) };
        let mut all = segments(None);
        all.retain(|&pages| is_the_files(&mut states, pages).unwrap_or(false));
        Pages(all)
    }

    /// Releases the pages. What is needed again is read from the file, which takes microseconds while the system
    /// has it in its cache.
    pub fn release(&self) {
        for &(start, end) in &self.0 {
            // SAFETY: whole pages of a private mapping of a file that were never written, so they can be read again
            // from the file.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
        }
    }
}

/// Whether every page that is in memory equals the file. The system states it in one word for each page.
fn is_the_files(states: &mut File, (start, end): (usize, usize)) -> std::io::Result<bool> {
    const PRESENT_OR_SWAPPED: u64 = 3 << 62;
    const OF_A_FILE: u64 = 1 << 61;
    let mut words = vec![0; (end - start) / page() * 8];
    states.seek(SeekFrom::Start((start / page() * 8) as u64))?;
    states.read_exact(&mut words)?;
    let changed = |word: u64| word & PRESENT_OR_SWAPPED != 0 && word & OF_A_FILE == 0;
    Ok(!words.as_chunks().0.iter().any(|&word| changed(u64::from_ne_bytes(word))))
}

/// The size of a page of memory in bytes.
pub(crate) fn page() -> usize {
    // SAFETY: takes a number, cannot fail.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// The whole pages of segments that nobody writes, of the object file that contains an address, or of all.
fn segments(address: Option<usize>) -> Vec<(usize, usize)> {
    let mut search = Search { address, found: Vec::new() };
    // SAFETY: the callback has the type that is required; the search outlives the call.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    unsafe {
        libc::dl_iterate_phdr(Some(note), (&raw mut search).cast());
    }
    search.found
}

struct Search {
    #[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), expect(dead_code))]
    address: Option<usize>,
    found: Vec<(usize, usize)>,
}

/// Collects the segments that nobody writes, if this object file is one that is searched for.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
unsafe extern "C" fn note(object: *mut libc::dl_phdr_info, _: usize, search: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the loader describes a loaded object file, with as many headers as it says; `search` is the caller's.
    let (base, segments, search) = unsafe {
        let object = &*object;
        let segments = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object.dlpi_addr as usize, segments, &mut *search.cast::<Search>())
    };
    let page = page();
    let place = |segment: &libc::Elf64_Phdr| {
        let start = base + segment.p_vaddr as usize;
        (start, start + segment.p_memsz as usize)
    };
    let loaded = || segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
    let holds = |address: usize| loaded().map(place).any(|(start, end)| (start..end).contains(&address));
    if search.address.is_some_and(|address| !holds(address)) {
        return 0;
    }
    let unwritten = loaded().filter(|segment| segment.p_flags & libc::PF_W == 0).map(place);
    let whole = unwritten.map(|(start, end)| (start.next_multiple_of(page), end / page * page));
    search.found.extend(whole.filter(|(start, end)| start < end));
    // a value that is not zero ends the search, at the object file that contains the address
    search.address.is_some().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comes_back() {
        for _ in 0..3 {
            own().release();
            started();
            settle();
            let words: Vec<String> = (0..100).map(|n| format!("{n:?}")).collect();
            assert_eq!(words.concat().len(), 190);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_changed_in_memory_is_told() {
        let mut states = File::open("/proc/self/pagemap").unwrap();
        let code = segments(Some(settle as fn() as usize));
        assert!(!code.is_empty() && code.iter().all(|&pages| is_the_files(&mut states, pages).unwrap()));
        let changed = vec![1u8; 4 * page()];
        let start = (changed.as_ptr() as usize).next_multiple_of(page());
        assert!(!is_the_files(&mut states, (start, start + page())).unwrap());
    }
}
