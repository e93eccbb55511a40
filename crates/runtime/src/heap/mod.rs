//! The heap: the values of all arrays of a runtime, and where they are.
//!
//! A base is a block of bytes that arrays view. The heap does not decide when something runs (`runtime.rs`), and does
//! not know what is recorded (`batch.rs`).
//!
//! Invariants:
//! - **Whether a base has a value, and where, are two questions** ([`cell::Whereabouts`]). The address of host memory
//!   says that the host's copy is valid and that nobody else is going to change it. A base that lives on a device
//!   only has no such address.
//! - **Every copy that is kept is valid.** Whoever writes one copy discards all others (`copies.rs`), and the kept
//!   reductions with them.
//! - **Memory that can be seen from outside is valid**: a flush copies the values there before it returns, to the host
//!   (`base.rs`) or to a device (`anchors.rs`).
//! - **Values are reached by guards** ([`guards`]), which exclude other readers and writers, and by exports, which do
//!   not (`base.rs`).
//! - A base belongs to one heap, and a heap to one runtime. Nothing here is shared by the whole process.

pub(crate) mod anchors;
pub(crate) mod base;
pub(crate) mod cell;
pub(crate) mod copies;
pub(crate) mod device_loan;
pub(crate) mod guards;
pub(crate) mod homes;
pub(crate) mod idle;
pub(crate) mod lost;
pub(crate) mod memory;
pub(crate) mod pool;
pub(crate) mod shared;
pub(crate) mod zeros;

use self::cell::{BaseCell, note};
use self::guards::Guards;
use self::homes::Homes;
use self::lost::Lost;
use self::pool::Pool;
use self::shared::Shared;
use numelt_ir::warn;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A number that no batch has.
pub(crate) const IDLE: u64 = u64::MAX;

/// The bytes of free buffers that a pool may keep before it has been configured.
const CACHED: usize = 1 << 30;

/// What all bases of one runtime have in common.
pub(crate) struct Heap {
    /// All host memory of bases that numelt owns.
    pub pool: Pool,
    /// Number of the batch being recorded; a base's ticket says in which batch it was last used.
    pub epoch: AtomicU64,
    /// The number of the batch that is running, or [`IDLE`]. Its bases are pending until it has run.
    pub running: AtomicU64,
    /// The bytes of bases with memory that only pending work still needs.
    pub held: AtomicU64,
    /// The conditions that operations recorded from now on report (see [`numelt_ir::warn`]).
    pub watch: AtomicU8,
    /// One more than the number of the instruction recorded last, if the front end is asked for its position; zero
    /// otherwise.
    pub requested_position: AtomicU32,
    /// The guards, by which values are read and written without recorded work.
    pub guards: Guards,
    /// The devices on which arrays have been asked to be.
    pub homes: Homes,
    /// Whether memory on a device has ever been shared with others (see `anchors.rs`).
    pub anchored: AtomicBool,
    /// The bases whose values are lost.
    pub lost: Lost,
    /// Unused cells, as good as new: making a cell takes longer than taking one from here. `None` after the runtime's
    /// end, because each cell keeps the heap alive.
    spare: Mutex<Option<Vec<Shared<BaseCell>>>>,
}

/// The most cells that are kept.
const SPARES: usize = 256;

impl Heap {
    pub fn new() -> Arc<Heap> {
        Arc::new_cyclic(|heap| {
            let heap = heap.clone();
            Heap {
                pool: Pool::watched(CACHED, move || idle::watch(heap.clone())),
                epoch: AtomicU64::new(1),
                running: AtomicU64::new(IDLE),
                held: AtomicU64::new(0),
                watch: AtomicU8::new(warn::DEFAULT),
                requested_position: AtomicU32::new(0),
                guards: Guards::default(),
                homes: Homes::default(),
                anchored: AtomicBool::new(false),
                lost: Lost::default(),
                spare: Mutex::new(Some(Vec::new())),
            }
        })
    }

    /// An unused cell, if there is one.
    #[inline]
    fn spare(&self) -> Option<Shared<BaseCell>> {
        self.spare.try_lock().ok()?.as_mut()?.pop()
    }

    /// Ends the runtime: from now on no cells are kept.
    pub fn end(&self) {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        // after the lock has been released, because dropped cells take it
        drop(spare);
    }

    /// Marks a batch as running, until the result is dropped.
    pub fn runs(self: &Arc<Heap>, epoch: u64) -> Running {
        self.running.store(epoch, Ordering::Release);
        Running(Arc::clone(self))
    }

    /// Begins an access of those bases whose memory on a device others use, and returns them.
    #[inline]
    pub fn refresh(&self, cells: &[Shared<BaseCell>]) -> Vec<Shared<BaseCell>> {
        if !self.anchored.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let anchored: Vec<_> = cells.iter().filter(|cell| cell.has(note::ANCHORED)).cloned().collect();
        anchored.iter().for_each(Shared::<BaseCell>::refresh);
        anchored
    }

    /// The conditions that operations recorded now report.
    #[inline]
    pub fn watched(&self) -> u8 {
        self.watch.load(Ordering::Relaxed)
    }
}

/// Keeps a cell whose last reference is about to be dropped, if it can be used again.
fn keep_spare(cell: &mut Shared<BaseCell>) {
    let Some(own) = cell.get_mut() else { return };
    if !own.renew() {
        return;
    }
    if let Ok(mut spare) = cell.heap.spare.try_lock()
        && let Some(spare) = spare.as_mut()
        && spare.len() < SPARES
    {
        // SAFETY: there was no other reference of any kind, so no other thread makes or drops one.
        spare.push(unsafe { cell.clone_alone() });
    }
}

/// Marks a batch as running as long as this lives.
pub(crate) struct Running(Arc<Heap>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.store(IDLE, Ordering::Release);
    }
}
