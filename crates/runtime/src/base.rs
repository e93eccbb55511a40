//! Bases and views as front ends hold them.
//!
//! A base is counted: front ends hold [`BaseRef`]s, the queue holds the cell while work on it is
//! pending. What only the queue holds at a flush is dead: it need not be stored.

use crate::idle;
use crate::pool::Pool;
use crate::put_off::Bonds;
use crate::runtime::Runtime;
use crate::shared::{self, Shared};
use crate::siblings::Kept;
use numelt_ir::{DType, Dims, Scalar, View, is_nested, new_strides};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// All memory of bases that numelt owns.
pub(crate) static POOL: Pool = Pool::watched(1 << 30, idle::watch);

/// Number of the batch being recorded; a base's ticket says in which batch it was last used.
pub(crate) static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Number of the batch that is running, [`IDLE`] when none is: its bases are pending until it has run.
pub(crate) static RUNNING: AtomicU64 = AtomicU64::new(IDLE);

/// Says that a batch is running, until it is dropped.
pub(crate) struct Running;

impl Running {
    pub fn start(epoch: u64) -> Running {
        RUNNING.store(epoch, Ordering::Release);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.store(IDLE, Ordering::Release);
    }
}

/// No batch has this number.
pub(crate) const IDLE: u64 = u64::MAX;

/// Bytes of bases with memory that only pending work still needs.
pub(crate) static HELD: AtomicU64 = AtomicU64::new(0);

const SLOT_BITS: u32 = 24;
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// What recording looks at comes first, so that it lies in one line of the cache.
#[repr(C)]
pub(crate) struct BaseCell {
    pub nbytes: usize,
    address: AtomicPtr<u8>,
    /// Batch number and slot in it; see `slot_in`.
    ticket: AtomicU64,
    /// The batch that wrote it last.
    written: AtomicU64,
    exports: AtomicU32,
    /// A flush could not compute it (out of memory); reading it says so.
    pub failed: AtomicBool,
    /// See [`BaseRef::mark_known`].
    known: AtomicBool,
    foreign: Option<Box<Foreign>>,
    /// Is the value put off, or others that are made of it?
    pub bonds: Bonds,
    /// Results of full reductions of the memory as it is.
    pub kept: Kept,
}

thread_local! {
    /// Cells that nobody holds any more, as good as new: a batch gives back many at a time, more than allocators are
    /// quick to take.
    static SPARE: RefCell<Vec<Shared<BaseCell>>> = const { RefCell::new(Vec::new()) };
}

/// Cells kept by a thread.
const SPARES: usize = 256;

/// Cells kept by a runtime for results of operations that repeat others.
pub(crate) const CELLS: usize = 128;

/// Lets go of a batch's shares of bases; those that nobody else holds are used again, the first ones from `cells`.
pub(crate) fn recycle(slots: &mut Vec<Shared<BaseCell>>, cells: &mut Vec<Shared<BaseCell>>) {
    while cells.len() < CELLS
        && let Some(mut cell) = slots.pop()
    {
        if let Some(own) = cell.get_mut()
            && own.renew()
        {
            cells.push(cell);
        }
    }
    if slots.is_empty() {
        return;
    }
    let kept = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        for mut cell in slots.drain(..) {
            if spare.len() < SPARES
                && let Some(own) = cell.get_mut()
                && own.renew()
            {
                spare.push(cell);
            }
        }
    });
    if kept.is_err() {
        slots.clear();
    }
}

/// Keeps a cell whose last share is about to go, if it can be used again.
fn reuse(cell: &mut Shared<BaseCell>) {
    // without a list, at the end of a thread, it just goes
    let _ = SPARE.try_with(|spare| {
        if let Ok(mut spare) = spare.try_borrow_mut()
            && spare.len() < SPARES
            && let Some(own) = cell.get_mut()
            && own.renew()
        {
            // SAFETY: there was no other share of any kind, so that no other thread makes or drops one.
            spare.push(unsafe { cell.clone_alone() });
        }
    });
}

struct Foreign {
    shared: AtomicBool,
    _owner: Box<dyn Any + Send + Sync>,
}

impl BaseCell {
    /// Makes it as good as new, without memory; false where the memory is somebody else's.
    pub fn renew(&mut self) -> bool {
        if self.foreign.is_some() {
            return false;
        }
        self.release();
        self.ticket = AtomicU64::new(0);
        self.written = AtomicU64::new(0);
        self.failed = AtomicBool::new(false);
        self.known = AtomicBool::new(false);
        self.kept.clear();
        if self.bonds.any() {
            self.bonds = Bonds::default();
        }
        true
    }

    pub fn address(&self) -> *mut u8 {
        self.address.load(Ordering::Acquire)
    }

    pub fn set_address(&self, address: *mut u8) {
        self.address.store(address, Ordering::Release);
    }

    /// Slot in batch `epoch`, if the base is used in it.
    pub fn slot_in(&self, epoch: u64) -> Option<u32> {
        let ticket = self.ticket.load(Ordering::Relaxed);
        (ticket >> SLOT_BITS == epoch).then_some((ticket & (MAX_SLOTS as u64 - 1)) as u32)
    }

    pub fn set_slot(&self, epoch: u64, slot: u32) {
        self.ticket.store(epoch << SLOT_BITS | u64::from(slot), Ordering::Relaxed);
    }

    /// Does batch `epoch` write it?
    pub fn is_written_in(&self, epoch: u64) -> bool {
        self.written.load(Ordering::Relaxed) == epoch
    }

    /// Notes that batch `epoch` writes it.
    pub fn set_written(&self, epoch: u64) {
        self.written.store(epoch, Ordering::Relaxed);
    }

    pub fn is_visible(&self) -> bool {
        self.exports.load(Ordering::Acquire) > 0
            || self.foreign.as_ref().is_some_and(|f| f.shared.load(Ordering::Relaxed))
    }

    /// Can others than the runtime write or free its memory?
    pub fn is_seen_outside(&self) -> bool {
        self.foreign.is_some() || self.is_visible()
    }

    /// May its values move to other memory? Nobody has been told where they are, and the memory is our own.
    pub fn may_move(&self) -> bool {
        self.foreign.is_none() && self.exports.load(Ordering::Acquire) == 0 && !self.known.load(Ordering::Relaxed)
    }

    /// The element at a byte offset, where the base has memory.
    ///
    /// Only for an element that the batch which has just run wrote, with the runtime's lock held.
    pub fn number(&self, dtype: DType, offset: i64) -> Option<Scalar> {
        let address = self.address();
        if address.is_null() {
            return None;
        }
        // SAFETY: the batch wrote the element, so that it lies inside the base; nobody writes to it before the lock
        // is given back.
        let bytes = unsafe { std::slice::from_raw_parts(address.offset(offset as isize), dtype.size()) };
        Some(Scalar::from_bytes(dtype, bytes))
    }

    /// Gives a base without memory some. Is all of it zero already?
    pub fn provide_zeroed(&self) -> numelt_ir::Result<bool> {
        let (address, is_zero) = POOL.alloc_zeroed(self.nbytes)?;
        self.set_address(address);
        Ok(is_zero)
    }

    /// Memory of our own goes back to the pool now; only for cells nobody else can read any more.
    pub fn release(&self) {
        if self.foreign.is_some() || self.address().is_null() {
            return;
        }
        let address = self.address.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !address.is_null() {
            // SAFETY: `address` came from `POOL.alloc(self.nbytes)` and has just been taken out of the cell.
            unsafe { POOL.free(address, self.nbytes) };
        }
    }
}

impl Drop for BaseCell {
    fn drop(&mut self) {
        self.release();
    }
}

/// A front end's share of a base.
pub struct BaseRef(pub(crate) Shared<BaseCell>);

impl BaseRef {
    #[inline]
    pub(crate) fn new(nbytes: usize) -> BaseRef {
        if let Ok(Some(mut cell)) = SPARE.try_with(|spare| spare.borrow_mut().pop())
            && let Some(own) = cell.get_mut()
        {
            own.nbytes = nbytes;
            return BaseRef(cell);
        }
        BaseRef::made(nbytes, std::ptr::null_mut(), None)
    }

    /// One of the cells, which nobody else knows and which are as good as new, or a new one.
    #[inline]
    pub(crate) fn of(cells: &mut Vec<Shared<BaseCell>>, nbytes: usize) -> BaseRef {
        if let Some(mut cell) = cells.pop()
            && let Some(own) = cell.get_mut()
        {
            own.nbytes = nbytes;
            return BaseRef(cell);
        }
        BaseRef::new(nbytes)
    }

    #[inline]
    fn made(nbytes: usize, address: *mut u8, foreign: Option<Box<Foreign>>) -> BaseRef {
        BaseRef(Shared::new(BaseCell {
            nbytes,
            address: AtomicPtr::new(address),
            ticket: AtomicU64::new(0),
            written: AtomicU64::new(0),
            exports: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            known: AtomicBool::new(false),
            foreign,
            kept: Kept::default(),
            bonds: Bonds::default(),
        }))
    }

    pub(crate) fn filled(bytes: &[u8]) -> numelt_ir::Result<BaseRef> {
        let base = BaseRef::new(bytes.len());
        base.fill(bytes).map(|()| base)
    }

    /// Gives a new base of that many bytes its memory.
    pub(crate) fn fill(&self, bytes: &[u8]) -> numelt_ir::Result<()> {
        let address = POOL.alloc(bytes.len())?;
        // SAFETY: the buffer has that many bytes, and nobody else knows it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
        self.0.set_address(address);
        Ok(())
    }

    pub(crate) fn foreign(address: *mut u8, nbytes: usize, owner: Box<dyn Any + Send + Sync>, shared: bool) -> BaseRef {
        BaseRef::made(nbytes, address, Some(Box::new(Foreign { shared: AtomicBool::new(shared), _owner: owner })))
    }

    /// The share as it is counted.
    #[inline(always)]
    pub(crate) fn into_shared(self) -> Shared<BaseCell> {
        let base = ManuallyDrop::new(self);
        // SAFETY: the share is moved out of what is not dropped.
        unsafe { std::ptr::read(&base.0) }
    }

    /// Size in bytes.
    pub fn nbytes(&self) -> usize {
        self.0.nbytes
    }

    /// Does work touch it that is queued or put off, or that another thread is running?
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.is_queued() || self.0.bonds.any()
    }

    /// Does work touch it that is queued, or that another thread is running?
    #[inline]
    pub(crate) fn is_queued(&self) -> bool {
        // a flush makes its batch the running one before it opens the next
        self.0.slot_in(EPOCH.load(Ordering::Acquire)).is_some()
            || self.0.slot_in(RUNNING.load(Ordering::Acquire)).is_some()
    }

    /// Does work write it that is queued or put off, or that another thread is running? Otherwise its values may be looked at.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        let written = self.0.written.load(Ordering::Relaxed);
        written == EPOCH.load(Ordering::Acquire)
            || written == RUNNING.load(Ordering::Acquire)
            || self.0.bonds.is_put_off()
    }

    /// Address of the memory if the values are in it, to be looked at: no pending work writes them, nothing has failed.
    #[inline]
    pub fn settled(&self) -> Option<*mut u8> {
        let address = self.0.address();
        let settled = !address.is_null() && !self.is_awaited() && !self.0.failed.load(Ordering::Relaxed);
        settled.then_some(address)
    }

    /// Can somebody outside see its memory, so that work on it must run at once?
    pub fn is_visible(&self) -> bool {
        self.0.is_visible()
    }

    /// The same base?
    pub fn ptr_eq(&self, other: &BaseRef) -> bool {
        self.0.is(&other.0)
    }

    /// A number that no other living base has.
    pub fn id(&self) -> usize {
        self.0.id()
    }

    /// A reference that does not keep the base.
    pub fn downgrade(&self) -> WeakBase {
        WeakBase(self.0.downgrade())
    }

    /// Says that the memory is about to be written by other means than recorded work, of which none that touches it
    /// is pending.
    #[inline]
    pub fn touch(&self) {
        self.0.kept.clear();
    }

    /// Is the result of a full reduction of the memory as it is kept? See [`Runtime::kept`].
    #[inline]
    pub fn has_kept(&self) -> bool {
        self.0.kept.any()
    }

    /// Memory that was adopted, not allocated here?
    pub fn is_foreign(&self) -> bool {
        self.0.foreign.is_some()
    }

    /// For adopted memory: is its other owner still there? The front end that watches the owner
    /// says so; without an owner the base is lazy like our own.
    pub fn set_shared(&self, shared: bool) {
        if let Some(foreign) = &self.0.foreign {
            foreign.shared.store(shared, Ordering::Relaxed);
            self.touch();
        }
    }

    /// A mark for the front end, that it has told somebody the address; was it set before?
    pub fn mark_known(&self) -> bool {
        self.0.known.load(Ordering::Relaxed) || self.0.known.swap(true, Ordering::Relaxed)
    }

    /// Address of the memory if it has any, without running pending work.
    pub fn address(&self) -> Option<*mut u8> {
        let address = self.0.address();
        (!address.is_null()).then_some(address)
    }
}

/// A reference to a base that does not keep it; see [`BaseRef::downgrade`].
#[derive(Clone)]
pub struct WeakBase(shared::Weak<BaseCell>);

impl WeakBase {
    /// The base, if it still exists.
    pub fn upgrade(&self) -> Option<BaseRef> {
        self.0.upgrade().map(BaseRef)
    }

    /// Does it still exist?
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}

impl Clone for BaseRef {
    fn clone(&self) -> BaseRef {
        BaseRef(self.0.clone())
    }
}

impl Drop for BaseRef {
    fn drop(&mut self) {
        match self.0.count() {
            1 => reuse(&mut self.0),
            // The other share is the queue's: from now on only pending work keeps this memory.
            2 if !self.0.address().is_null() && self.is_pending() => {
                HELD.fetch_add(self.0.nbytes as u64, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

impl fmt::Debug for BaseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "base {:#x} ({} bytes)", self.id(), self.nbytes())
    }
}

/// A view with its base: what a front end's array is. Offset and strides in bytes.
#[derive(Debug)]
pub struct ArrayView {
    /// The base.
    pub base: BaseRef,
    /// Element type.
    pub dtype: DType,
    /// Byte position of the element with all indices zero.
    pub offset: i64,
    /// Extents.
    pub shape: Dims,
    /// Byte strides.
    pub strides: Dims,
}

impl Clone for ArrayView {
    fn clone(&self) -> ArrayView {
        let (shape, strides) = (Dims::from_slice(&self.shape), Dims::from_slice(&self.strides));
        ArrayView { base: self.base.clone(), dtype: self.dtype, offset: self.offset, shape, strides }
    }
}

impl ArrayView {
    /// A C-contiguous array on a new base without memory.
    pub fn fresh(runtime: &Runtime, dtype: DType, shape: &[i64]) -> ArrayView {
        let size: i64 = shape.iter().product();
        ArrayView {
            base: runtime.new_base(size as usize * dtype.size()),
            dtype,
            offset: 0,
            shape: Dims::from_slice(shape),
            strides: new_strides(shape, dtype.size() as i64),
        }
    }

    /// The same window in the bytecode's form, on base number `base`.
    #[inline]
    pub fn to_ir(&self, base: u32) -> View {
        let (shape, strides) = (Dims::from_slice(&self.shape), Dims::from_slice(&self.strides));
        View { base, dtype: self.dtype, offset: self.offset, shape, strides }
    }

    /// Number of elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Does every index address bytes of its own? `false` may mean "not known"; see [`is_nested`].
    #[inline]
    pub fn is_injective(&self) -> bool {
        is_nested(&self.shape, &self.strides, self.dtype.size() as i64)
    }
}

/// What [`Runtime::record`] reads.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// An array; it is broadcast to the instruction's domain.
    Array(&'a ArrayView),
    /// A literal of the dtype that the operation asks for.
    Const(Scalar),
}

/// A visible window on a base for somebody outside; the base is lazy again when the last one is dropped.
pub struct Export {
    base: BaseRef,
    address: *mut u8,
}

// SAFETY: the address is only carried; the base behind it is shared and counted.
unsafe impl Send for Export {}
// SAFETY: as above.
unsafe impl Sync for Export {}

impl Export {
    pub(crate) fn new(base: BaseRef, address: *mut u8) -> Export {
        base.0.exports.fetch_add(1, Ordering::AcqRel);
        base.touch();
        Export { base, address }
    }

    /// Address of the base's first byte.
    pub fn ptr(&self) -> *mut u8 {
        self.address
    }

    /// The exported base.
    pub fn base(&self) -> &BaseRef {
        &self.base
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        self.base.0.exports.fetch_sub(1, Ordering::AcqRel);
    }
}
