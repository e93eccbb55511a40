//! Bases and views as front ends hold them.

use super::Heap;
use super::cell::{BaseCell, Whereabouts, note};
use super::shared::{self, Shared};
use crate::runtime::Runtime;
use numelt_ir::{DType, Dims, Result, Scalar, View, is_nested, new_strides};
use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A front end's share of a base.
pub struct BaseRef(pub(crate) Shared<BaseCell>);

/// While it lives, a base is one that its only holder is about to let go of.
pub struct Passing<'a>(&'a BaseRef);

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.0.0.unset(note::PASSING);
    }
}

impl BaseRef {
    /// Says that the holder of this share is about to drop it, as far as can be known, and that flushes until then need not store
    /// the base's value if nobody else holds a share and the value can be made again. A hint: a value that is read
    /// after all is made then.
    pub fn passing(&self) -> Passing<'_> {
        self.0.set(note::PASSING);
        Passing(self)
    }

    #[inline]
    pub(crate) fn new(heap: &Arc<Heap>, nbytes: usize) -> BaseRef {
        match heap.spare() {
            Some(cell) => BaseRef::again(cell, heap, nbytes),
            None => BaseRef(Shared::new(BaseCell::new(Arc::clone(heap), nbytes))),
        }
    }

    /// One of the cells, which nobody else knows and which are as good as new, or a new one.
    #[inline]
    pub(crate) fn of(cells: &mut Vec<Shared<BaseCell>>, heap: &Arc<Heap>, nbytes: usize) -> BaseRef {
        match cells.pop() {
            Some(cell) => BaseRef::again(cell, heap, nbytes),
            None => BaseRef::new(heap, nbytes),
        }
    }

    /// A cell that nobody else knows and that is as good as new, for a base.
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

    /// Gives a new base, which nobody else knows, its memory, and has `fill` write it.
    #[inline(always)]
    pub(crate) fn fill(&self, fill: impl FnOnce(&mut [u8])) -> Result<()> {
        self.0.provide()?;
        // SAFETY: the buffer has that many bytes, and nobody else knows it.
        fill(unsafe { std::slice::from_raw_parts_mut(self.0.here(), self.nbytes()) });
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
        self.0.is_queued() || self.0.bonds.any()
    }

    /// Does work touch it that is queued, or that another thread is running?
    #[inline]
    pub(crate) fn is_queued(&self) -> bool {
        self.0.is_queued()
    }

    /// Does work write it that is queued or put off, or that another thread is running? Otherwise its values may be looked at.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.0.is_being_written() || self.0.bonds.is_put_off()
    }

    /// Has nothing been written to it, here or on a device? Work that would is perhaps pending.
    #[inline]
    pub fn is_blank(&self) -> bool {
        !self.0.has_value()
    }

    /// Can its values be looked at now? The host's copy is valid, no pending work and no guard writes it, nothing has failed.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.has_values_here() && self.0.heap.guards.hindrance(&self.0, false).is_none()
    }

    /// The same, whatever guards there are.
    #[inline]
    fn has_values_here(&self) -> bool {
        !self.0.here().is_null() && !self.is_awaited() && !self.0.has(note::FAILED)
    }

    /// Can its values be changed now? It is readable, no pending work reads it, and it has no guard.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.has_values_here() && !self.is_pending() && self.0.heap.guards.hindrance(&self.0, true).is_none()
    }

    /// Lets somebody look at the values for a moment, without the cost of a [`ReadGuard`](super::guards::ReadGuard); nothing where the base is not
    /// [readable](BaseRef::is_readable).
    ///
    /// # Safety
    /// The caller holds a lock of its own, as [`Runtime::record_past`] wants it, and `look` neither lets go of it nor calls the
    /// runtime: until it returns, nobody writes or frees the values. A thread that gets a guard while it is [away](crate::Away) has that lock
    /// back before it uses the guard.
    #[inline(always)]
    pub unsafe fn peek<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        // SAFETY: the caller's contract.
        unsafe { self.peek_or_else(look) }.ok()
    }

    /// The same, which gives `look` back where it was not called.
    ///
    /// # Errors
    /// `look`, where the base is not readable.
    ///
    /// # Safety
    /// That of [`BaseRef::peek`].
    #[inline(always)]
    pub unsafe fn peek_or_else<R, F: FnOnce(&[u8]) -> R>(&self, look: F) -> std::result::Result<R, F> {
        if !self.is_readable() {
            return Err(look);
        }
        // SAFETY: the base has as many bytes there, and by the caller's contract they stay as they are.
        Ok(look(unsafe { std::slice::from_raw_parts(self.0.here(), self.nbytes()) }))
    }

    /// Lets somebody change the values for a moment, without the cost of a [`WriteGuard`](super::guards::WriteGuard); nothing where the base is not
    /// [writable](BaseRef::is_writable). Whatever was made from the values is forgotten.
    ///
    /// # Safety
    /// That of [`BaseRef::peek`]; and nobody is looking at the values by `peek`.
    #[inline(always)]
    pub unsafe fn poke<R>(&self, change: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        if !self.is_writable() {
            return None;
        }
        self.0.touch();
        // SAFETY: the base has as many bytes there, and by the caller's contract nobody else uses them.
        Some(change(unsafe { std::slice::from_raw_parts_mut(self.0.here(), self.nbytes()) }))
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

    /// Is the result of a full reduction of the memory as it is kept? See [`Runtime::kept`].
    #[inline]
    pub fn has_kept(&self) -> bool {
        self.0.has(note::KEPT)
    }

    /// Memory that was adopted, not allocated here?
    pub fn is_foreign(&self) -> bool {
        self.0.has(note::FOREIGN)
    }

    /// For adopted memory: is its other owner still there? The front end that watches the owner
    /// says so; without an owner the base is lazy like our own.
    ///
    /// # Errors
    /// Those of bringing the values home, where a device has them.
    pub fn set_shared(&self, shared: bool) -> Result<()> {
        if !self.is_foreign() {
            return Ok(());
        }
        self.0.come_home()?;
        if shared {
            self.0.set(note::SHARED);
        } else {
            self.0.unset(note::SHARED);
        }
        self.0.touch();
        Ok(())
    }

    /// A mark for the front end, that it has told somebody the address; was it set before?
    pub fn mark_known(&self) -> bool {
        self.0.has(note::KNOWN) || self.0.set(note::KNOWN)
    }

    /// Where host memory begins whose place is known to others, as a number to compare with others; nothing for a base whose values
    /// are not there. Who wants to look at them needs a guard or an export.
    pub fn place(&self) -> Option<usize> {
        match self.0.whereabouts() {
            Whereabouts::Here(address) => Some(address.addr().get()),
            Whereabouts::Nowhere | Whereabouts::Away => None,
        }
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
            1 => super::keep_spare(&mut self.0),
            // the other share is the queue's: from now on only pending work keeps this memory
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

/// A guard of its own kind, for somebody outside who may look at the values and change them whenever he likes, and tells nobody:
/// another library's array, a buffer, a function of NumPy's that runs without Python's lock. As long as one lives, the values
/// are on the host, stay where they are, and are up to date after each instruction. An export keeps nobody out, neither recorded work
/// nor other exports, as an array of NumPy's keeps nobody out; a program whose threads change one array at a time has to see to
/// their order itself. It begins when no [`WriteGuard`](super::guards::WriteGuard) is left.
///
/// This is the one notion of memory that is seen from outside ([`BaseRef::is_visible`]); the base is lazy again when the last
/// export is dropped.
pub struct Export {
    base: BaseRef,
    address: *mut u8,
}

// SAFETY: the address is only carried; the base behind it is shared and counted.
unsafe impl Send for Export {}
// SAFETY: as above.
unsafe impl Sync for Export {}

impl Export {
    /// To be called with the runtime's lock, or the front end's in its place, for a base whose values are on the host.
    pub(crate) fn new(base: BaseRef) -> Export {
        base.0.exports.fetch_add(1, Ordering::AcqRel);
        base.0.touch();
        let address = base.0.here();
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
