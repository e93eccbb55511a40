//! Memory that is readable only while the device works.
//!
//! Each allocation has its own pages, without access rights. The worker unlocks the memory that a piece of work uses,
//! and locks it again afterwards. Memory that is shared with others is never locked.

use numelt_ir::{Error, Result};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first handle. It is far from every number that could be mistaken for an address.
const FIRST: u64 = 0xFA50_0000_0000_0001;

/// The pieces of memory of a device.
pub struct Pages {
    limit: Option<usize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pieces: HashMap<u64, Piece>,
    given: u64,
    live: usize,
}

/// A piece of memory: its pages, and its size in bytes.
#[derive(Clone, Copy)]
struct Piece {
    address: usize,
    nbytes: usize,
    /// Zero for memory of somebody else.
    mapped: usize,
    /// Whether others use it, too.
    shared: bool,
}

/// The handles of unlocked pieces, which are locked again when this is dropped.
pub struct Unlocked<'a> {
    pages: &'a Pages,
    handles: Vec<u64>,
}

impl Pages {
    pub fn new(limit: Option<usize>) -> Pages {
        Pages { limit, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates a piece.
    pub fn alloc(&self, nbytes: usize) -> Result<u64> {
        let mut state = self.state();
        if self.limit.is_some_and(|limit| state.live + nbytes > limit) {
            return Err(Error::OutOfMemory(nbytes));
        }
        let mapped = nbytes.max(1).next_multiple_of(1 << 16);
        let address = map(mapped).ok_or(Error::OutOfMemory(nbytes))?;
        let handle = FIRST + 2 * state.given;
        state.given += 1;
        state.live += nbytes;
        state.pieces.insert(handle, Piece { address, nbytes, mapped, shared: false });
        Ok(handle)
    }

    /// Makes a piece of memory of somebody else.
    pub fn adopt(&self, address: u64, nbytes: usize) -> u64 {
        let mut state = self.state();
        let handle = FIRST + 2 * state.given;
        state.given += 1;
        state.pieces.insert(handle, Piece { address: address as usize, nbytes, mapped: 0, shared: true });
        handle
    }

    /// Unlocks a piece for good, and returns its address.
    ///
    /// # Errors
    /// If the piece was never allocated, or has been freed.
    pub fn share(&self, handle: u64) -> Result<u64> {
        let mut state = self.state();
        let piece = state.pieces.get_mut(&handle).ok_or_else(|| Error::Engine(format!("no piece {handle:#x}")))?;
        protect(*piece, true);
        piece.shared = true;
        Ok(piece.address as u64)
    }

    /// Whether a piece is memory of somebody else.
    pub fn is_adopted(&self, handle: u64) -> bool {
        self.state().pieces.get(&handle).is_some_and(|piece| piece.mapped == 0)
    }

    /// Frees a piece.
    ///
    /// # Errors
    /// If the piece was never allocated, or has been freed already.
    pub fn free(&self, handle: u64, nbytes: usize) -> Result<()> {
        let mut state = self.state();
        let piece = state.pieces.remove(&handle).filter(|piece| piece.nbytes == nbytes);
        let piece =
            piece.ok_or_else(|| Error::Engine(format!("no piece {handle:#x} of {nbytes} bytes to give back")))?;
        if piece.mapped > 0 {
            state.live -= nbytes;
            unmap(piece);
        }
        Ok(())
    }

    /// Makes pieces readable and writable for a while.
    ///
    /// # Errors
    /// If one of them was never allocated, or has been freed.
    pub fn unlock(&self, handles: impl Iterator<Item = u64>) -> Result<Unlocked<'_>> {
        let mut unlocked = Unlocked { pages: self, handles: Vec::new() };
        for handle in handles {
            if unlocked.handles.contains(&handle) {
                continue;
            }
            let state = self.state();
            let piece = state.pieces.get(&handle).copied();
            let piece = piece.ok_or_else(|| Error::Engine(format!("no piece {handle:#x}")))?;
            if !piece.shared {
                protect(piece, true);
            }
            drop(state);
            unlocked.handles.push(handle);
        }
        Ok(unlocked)
    }
}

impl Unlocked<'_> {
    /// Address and size of a piece that has been unlocked.
    pub fn place(&self, handle: u64) -> (*mut u8, usize) {
        let piece = self.pages.state().pieces[&handle];
        (std::ptr::with_exposed_provenance_mut(piece.address), piece.nbytes)
    }
}

impl Drop for Unlocked<'_> {
    fn drop(&mut self) {
        let state = self.pages.state();
        let pieces = self.handles.iter().filter_map(|handle| state.pieces.get(handle));
        pieces.filter(|piece| !piece.shared).for_each(|piece| protect(*piece, false));
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.state().pieces.drain().filter(|(_, piece)| piece.mapped > 0).for_each(|(_, piece)| unmap(piece));
    }
}

fn map(nbytes: usize) -> Option<usize> {
    // SAFETY: an anonymous private mapping without a requested address touches no existing memory.
    let address = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), nbytes, libc::PROT_NONE, flags, -1, 0)
    };
    (address != libc::MAP_FAILED).then(|| address.expose_provenance())
}

fn unmap(piece: Piece) {
    // SAFETY: the pages came from `map`, and nobody uses them any more.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(piece.address), piece.mapped) };
}

fn protect(piece: Piece, open: bool) {
    let rights = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    // SAFETY: the pages came from `map`; only the worker accesses them, after it has unlocked them.
    let done = unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(piece.address), piece.mapped, rights) };
    assert!(done == 0, "a device's memory could not be locked or unlocked");
}
