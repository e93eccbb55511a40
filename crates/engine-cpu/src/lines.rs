//! Scratch memory that a thread keeps for its next use.

use std::cell::RefCell;

/// Memory in 64-byte lines, so that vectors of any width are aligned. Its contents are undefined at first.
pub struct Lines {
    memory: Vec<AccumulatorLine>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct AccumulatorLine {
    _bytes: [u8; 64],
}

/// The number of pieces of memory that a thread keeps for its next stretch, and the size of the largest one.
const SPARES: usize = 8;
const LARGEST: usize = (2 << 20) / size_of::<AccumulatorLine>();

thread_local! {
    /// Kept pieces. Returning a large piece to the system and allocating it again costs a page fault per page each
    /// time.
    static SPARE: RefCell<Vec<Vec<AccumulatorLine>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Lines {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        if (1..=LARGEST).contains(&memory.capacity()) {
            // a thread that is ending has no list any more
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < SPARES {
                    spare.push(memory);
                }
            });
        }
    }
}

impl Lines {
    /// Memory of at least `bytes`.
    pub fn new(bytes: usize) -> Lines {
        let lines = bytes.div_ceil(64);
        let kept = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            let fits = spare.iter().rposition(|memory| memory.capacity() >= lines);
            // if the list is full of pieces that are too small, one of them is dropped for a larger one
            fits.map(|at| spare.swap_remove(at)).or_else(|| {
                if spare.len() == SPARES {
                    spare.remove(0);
                }
                None
            })
        });
        Lines { memory: kept.ok().flatten().unwrap_or_else(|| Vec::with_capacity(lines)) }
    }

    /// The first byte.
    pub fn as_ptr(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }

    /// The first byte, for reading.
    pub fn start(&self) -> *const u8 {
        self.memory.as_ptr().cast()
    }
}
