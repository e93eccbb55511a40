//! Bases and views, as front ends hold them.
//!
//! A [`BaseRef`] keeps a base alive, an [`ArrayView`] is a window on it, and an [`Export`] makes its memory visible
//! outside.

use super::Heap;
use super::cell::{BaseCell, Whereabouts, note};
use super::shared::{self, Shared};
use numelt_ir::{DType, Dims, Result, Scalar, View, is_nested};
use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A front end's reference to a base.
pub struct BaseRef(pub(crate) Shared<BaseCell>);

/// Marks a base as about to be released by its only holder, as long as this lives.
pub struct PassingGuard<'a>(&'a BaseRef);

impl Drop for PassingGuard<'_> {
    fn drop(&mut self) {
        self.0.0.unset(note::PASSING);
    }
}

impl BaseRef {
    /// States that the holder of this reference is about to drop it, as far as can be known, and that flushes until
    /// then need not store the base's value if nobody else holds a reference and the value can be computed again.
    /// This is a hint: a value that is read after all is computed then.
    pub fn passing(&self) -> PassingGuard<'_> {
        self.0.set(note::PASSING);
        PassingGuard(self)
    }

    #[inline]
    pub(crate) fn new(heap: &Arc<Heap>, nbytes: usize) -> BaseRef {
        match heap.spare() {
            Some(cell) => BaseRef::again(cell, heap, nbytes),
            None => BaseRef(Shared::new(BaseCell::new(Arc::clone(heap), nbytes))),
        }
    }

    /// A base with one of these unused cells, or with a new cell if there is none.
    #[inline]
    pub(crate) fn of(cells: &mut Vec<Shared<BaseCell>>, heap: &Arc<Heap>, nbytes: usize) -> BaseRef {
        match cells.pop() {
            Some(cell) => BaseRef::again(cell, heap, nbytes),
            None => BaseRef::new(heap, nbytes),
        }
    }

    /// Takes an unused cell for a base; nobody else has a reference to it.
    #[inline]
    fn again(mut cell: Shared<BaseCell>, heap: &Arc<Heap>, nbytes: usize) -> BaseRef {
        match cell.get_mut() {
            Some(own) => {
                own.nbytes = nbytes;
                BaseRef(cell)
            }
            None => BaseRef(Shared::new(BaseCell::new(Arc::clone(heap), nbytes))),
        }
    }

    pub(crate) fn filled(heap: &Arc<Heap>, bytes: &[u8]) -> Result<BaseRef> {
        let base = BaseRef::new(heap, bytes.len());
        base.fill(|memory| memory.copy_from_slice(bytes)).map(|()| base)
    }

    /// Allocates memory for a new base, to which nobody else has a reference, and lets `fill` write it.
    #[inline(always)]
    pub(crate) fn fill(&self, fill: impl FnOnce(&mut [u8])) -> Result<()> {
        self.0.provide()?;
        // SAFETY: the buffer has that many bytes, and nobody else has a reference to it.
        fill(unsafe { std::slice::from_raw_parts_mut(self.0.host_address(), self.nbytes()) });
        Ok(())
    }

    pub(crate) fn foreign(
        heap: &Arc<Heap>,
        address: *mut u8,
        nbytes: usize,
        owner: Box<dyn Any + Send + Sync>,
        shared: bool,
    ) -> BaseRef {
        BaseRef(Shared::new(BaseCell::foreign(Arc::clone(heap), nbytes, address, owner, shared)))
    }

    /// The counted reference.
    #[inline(always)]
    pub(crate) fn into_shared(self) -> Shared<BaseCell> {
        let base = ManuallyDrop::new(self);
        // SAFETY: the reference is moved out of a value that is not dropped.
        unsafe { std::ptr::read(&base.0) }
    }

    /// Size in bytes.
    pub fn nbytes(&self) -> usize {
        self.0.nbytes
    }

    /// Whether pending work uses it: queued, put off, or running on another thread.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.0.is_queued() || self.0.bonds.any()
    }

    /// Whether work uses it that is queued or running on another thread.
    #[inline]
    pub(crate) fn is_queued(&self) -> bool {
        self.0.is_queued()
    }

    /// Whether pending work writes it: queued, put off, or running on another thread. Otherwise its values may be
    /// read.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.0.is_being_written() || self.0.bonds.is_put_off()
    }

    /// Whether nothing has been written to it, on the host or on a device. Work that writes it may be pending.
    #[inline]
    pub fn is_blank(&self) -> bool {
        !self.0.has_value()
    }

    /// Whether its values can be read now: the host's copy is valid, no pending work and no guard writes it, nothing
    /// has failed, and it has no [home](BaseRef::home).
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.has_values_here() && self.0.heap.guards.blocking(&self.0, false).is_none()
    }

    /// Like [`BaseRef::is_readable`], but guards are not considered.
    #[inline]
    pub(crate) fn has_values_here(&self) -> bool {
        !self.0.host_address().is_null() && !self.is_awaited() && !self.0.has(note::REMOTE)
    }

    /// Whether its values can be changed now: it is readable, no pending work reads it, and it has no guard.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.has_values_here() && !self.is_pending() && self.0.heap.guards.blocking(&self.0, true).is_none()
    }

    /// Calls `look` with the values, without the cost of a [`ReadGuard`](super::guards::ReadGuard); `None` if the
    /// base is not [readable](BaseRef::is_readable).
    ///
    /// # Safety
    /// The caller holds a lock of its own, as [`Runtime::record_past`](crate::Runtime::record_past) requires. `look`
    /// neither releases it nor calls the runtime: until it returns, nobody writes or frees the values. A thread that
    /// gets a guard while it is [away](crate::Away) takes that lock again before it uses the guard.
    #[inline(always)]
    pub unsafe fn peek<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        // SAFETY: the caller's contract.
        unsafe { self.peek_or_else(look) }.ok()
    }

    /// Like [`BaseRef::peek`], but returns `look` if it was not called.
    ///
    /// # Errors
    /// `look`, if the base is not readable.
    ///
    /// # Safety
    /// The conditions of [`BaseRef::peek`].
    #[inline(always)]
    pub unsafe fn peek_or_else<R, F: FnOnce(&[u8]) -> R>(&self, look: F) -> std::result::Result<R, F> {
        if !self.is_readable() {
            return Err(look);
        }
        // SAFETY: the base has this many bytes there, and by the caller's contract they do not change.
        Ok(look(unsafe { std::slice::from_raw_parts(self.0.host_address(), self.nbytes()) }))
    }

    /// Calls `change` with the values, without the cost of a [`WriteGuard`](super::guards::WriteGuard); `None` if the
    /// base is not [writable](BaseRef::is_writable). What was derived from the values is forgotten.
    ///
    /// # Safety
    /// The conditions of [`BaseRef::peek`]; and nobody is reading the values by `peek`.
    #[inline(always)]
    pub unsafe fn poke<R>(&self, change: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        if !self.is_writable() {
            return None;
        }
        self.0.touch();
        // SAFETY: the base has this many bytes there, and by the caller's contract nobody else uses them.
        Some(change(unsafe { std::slice::from_raw_parts_mut(self.0.host_address(), self.nbytes()) }))
    }

    /// Whether its memory can be seen from outside, so that work on it must run at once.
    pub fn is_visible(&self) -> bool {
        self.0.is_visible()
    }

    /// Whether both are the same base.
    pub fn ptr_eq(&self, other: &BaseRef) -> bool {
        self.0.is(&other.0)
    }

    /// A number that no other living base has.
    pub fn id(&self) -> usize {
        self.0.id()
    }

    /// A reference that does not keep the base alive.
    pub fn downgrade(&self) -> WeakBase {
        WeakBase(self.0.downgrade())
    }

    /// Whether results of full reductions of the present values are kept. See [`Runtime::kept`](crate::Runtime::kept).
    #[inline]
    pub fn has_kept(&self) -> bool {
        self.0.has(note::KEPT)
    }

    /// Whether its memory was adopted, not allocated here, or is lent on a device.
    pub fn is_foreign(&self) -> bool {
        self.0.has(note::FOREIGN | note::ANCHORED)
    }

    /// For adopted memory: states whether its other owner is still alive. The front end watches the owner
    /// and calls this; without another owner, work on the base may stay pending as on our own.
    ///
    /// # Errors
    /// Those of copying the values to the host, if a device has them.
    pub fn set_shared(&self, shared: bool) -> Result<()> {
        if !self.0.has(note::FOREIGN) || self.0.has(note::ANCHORED) {
            return Ok(());
        }
        self.0.copy_to_host()?;
        if shared {
            self.0.set(note::SHARED);
        } else {
            self.0.unset(note::SHARED);
        }
        self.0.touch();
        Ok(())
    }

    /// Sets a mark for the front end, that it has told somebody the address; returns whether it was set before. The
    /// mark is cleared when the base loses that memory.
    pub fn mark_known(&self) -> bool {
        self.0.has(note::KNOWN) || self.0.set(note::KNOWN)
    }

    /// Where its memory on a device begins, if others use that memory, too (see
    /// [`Runtime::lend`](crate::Runtime::lend)).
    pub fn device_place(&self) -> Option<u64> {
        self.0.anchor_address()
    }

    /// Whether its memory on a device is lent at this moment, or belongs to another library.
    pub fn is_lent(&self) -> bool {
        self.0.has_users()
    }

    /// The address of its host memory, as a number to be compared with others; `None` if it has none. The values of
    /// the base are there, or will return there if they are on a device. To access them takes a guard or an export.
    pub fn place(&self) -> Option<usize> {
        match self.0.whereabouts() {
            Whereabouts::Here(address) => Some(address.addr().get()),
            Whereabouts::Nowhere => None,
            Whereabouts::Away => self.0.stale_host().map(|memory| memory.address().addr()),
        }
    }
}

/// A reference to a base that does not keep it alive; see [`BaseRef::downgrade`].
#[derive(Clone)]
pub struct WeakBase(shared::Weak<BaseCell>);

impl WeakBase {
    /// The base, if it still exists.
    pub fn upgrade(&self) -> Option<BaseRef> {
        self.0.upgrade().map(BaseRef)
    }

    /// Whether the base still exists.
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// Whether the base still exists, and its host memory is still the one that began at this address. A base that
    /// moves to a device and back gets other memory, unless it is adopted or exported.
    pub fn is_still_at(&self, address: usize) -> bool {
        self.upgrade().is_some_and(|base| base.place() == Some(address))
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
            1 => super::keep_spare(&mut self.0),
            // the other reference is the queue's: from now on only pending work keeps this memory
            2 if self.0.has_value() && self.is_pending() => {
                self.0.heap.held.fetch_add(self.0.nbytes as u64, Ordering::Relaxed);
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

/// A view and its base, which is what a front end's array consists of. Offset and strides are in bytes.
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
    /// The same window, as a view of the bytecode on base number `base`.
    #[inline]
    pub fn to_ir(&self, base: u32) -> View {
        let (shape, strides) = (Dims::from_slice(&self.shape), Dims::from_slice(&self.strides));
        View { base, dtype: self.dtype, offset: self.offset, shape, strides }
    }

    /// Number of elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Whether every index addresses bytes of its own. `false` may mean "not known"; see [`is_nested`].
    #[inline]
    pub fn is_injective(&self) -> bool {
        is_nested(&self.shape, &self.strides, self.dtype.size() as i64)
    }
}

/// An input of [`Runtime::record`](crate::Runtime::record).
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// An array; it is broadcast to the instruction's domain.
    Array(&'a ArrayView),
    /// A literal of the dtype that the operation needs.
    Const(Scalar),
}

/// A guard of its own kind, for somebody outside who may read and change the values at any time without notice: an
/// array of another library, a buffer, a function of NumPy that runs without Python's lock. As long as one lives, the
/// values are on the host, keep their address, and are up to date after each instruction. An export excludes neither
/// recorded work nor other exports, just as a NumPy array does not; a program whose threads change one array at a
/// time must order their accesses itself. An export begins when no [`WriteGuard`](super::guards::WriteGuard) is left.
///
/// This is the only notion of memory that is seen from outside ([`BaseRef::is_visible`]). Work on the base may stay
/// pending again when the last export has been dropped.
pub struct Export {
    base: BaseRef,
    address: *mut u8,
}

// SAFETY: the address is only stored; the base behind it is shared and counted.
unsafe impl Send for Export {}
// SAFETY: as above.
unsafe impl Sync for Export {}

impl Export {
    /// The caller holds the runtime's lock (or the front end's in its place), and the values of the base are on the
    /// host.
    pub(crate) fn new(base: BaseRef) -> Export {
        base.0.exports.fetch_add(1, Ordering::AcqRel);
        if base.0.has(note::ANCHORED) {
            base.0.keep_twin();
        } else {
            base.0.touch();
        }
        let address = base.0.host_address();
        Export { base, address }
    }

    /// The address of the base's first byte.
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
        if self.base.0.has(note::ANCHORED) {
            self.base.0.merge_into_anchor();
        }
        self.base.0.exports.fetch_sub(1, Ordering::AcqRel);
    }
}
