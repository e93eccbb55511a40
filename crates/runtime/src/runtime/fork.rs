//! Handlers around a fork, after which the child can go on working.
//!
//! A child has its parent's memory, but only the thread that called `fork`. A lock that another thread held at that
//! moment would stay locked in the child for ever, and the data that it protects might be half changed. The handlers
//! here run around every `fork` of the process (`pthread_atfork`). Before the fork they take the locks that other
//! threads may hold, so that no other thread is inside. After it, parent and child release them, and the child
//! forgets the threads that it does not have.
//!
//! The locks are taken in the order in which a flush takes them:
//! 1. the front end's lock (Python's GIL), if the forking thread has one;
//! 2. the runtime's (`runtime/gate.rs`), so that no flush is running;
//! 3. the engine's ([`Handlers`]): its background threads are between two pieces of work;
//! 4. those of the heap's guards, which any thread takes to end one, and of the memory pool.
//!
//! No thread waits for an earlier lock while it holds a later one. In particular, no thread waits for the GIL while
//! it holds the runtime's lock: a flush calls no code of the front end, and objects of the front end whose last
//! reference it drops are set aside until the GIL is held. A thread that forks may therefore wait for the runtime's
//! lock while it holds the GIL. It waits until a flush that another thread is running has ended.
//!
//! A child has no devices: their work and their memory belong to the parent. So before a fork, all values that only a
//! device has are copied to the host, and the child continues on the host alone.
//!
//! All other locks of the runtime and of the engine are taken only inside these, or with the GIL held: locks of
//! caches, of single arrays, and of values that are made once. Worker threads have nothing to do outside a flush; a
//! child starts its own.

use super::{Held, Inner};
use crate::heap::guards::GuardsHeld;
use crate::heap::pool::PoolHeld;
use crate::heap::{Heap, IDLE};
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError, Weak};

/// The handlers of an engine around a fork. All three are called on the thread that forks, which holds the runtime's
/// lock.
#[derive(Debug, Clone, Copy)]
pub struct Handlers {
    /// Before the fork: waits until the engine's background threads are between two pieces of work, and keeps them
    /// there.
    pub prepare: fn(),
    /// After the fork, in the parent: lets the background threads continue.
    pub parent: fn(),
    /// After the fork, in the child: forgets the background threads, which do not exist there.
    pub child: fn(),
}

static ENGINE: OnceLock<Handlers> = OnceLock::new();

/// The runtimes of the process, oldest first. A fork copies all of them.
static RUNTIMES: Mutex<RuntimeList> = Mutex::new(Vec::new());

type RuntimeList = Vec<(Weak<Inner>, Weak<Heap>)>;

thread_local! {
    /// The locks that this thread holds while it forks.
    static LOCKS: RefCell<Option<All>> = const { RefCell::new(None) };
}

/// The locks of all runtimes, and of their list.
struct All {
    locks: Vec<Locks>,
    _list: MutexGuard<'static, RuntimeList>,
}

/// The locks of one runtime.
struct Locks {
    // the fields are dropped in this order
    pool: PoolHeld<'static>,
    guards: GuardsHeld<'static>,
    held: Held<'static>,
    heap: Arc<Heap>,
    _inner: Arc<Inner>,
}

impl Locks {
    fn take(inner: &Weak<Inner>, heap: &Weak<Heap>) -> Option<Locks> {
        let (inner, heap) = (inner.upgrade()?, heap.upgrade()?);
        // SAFETY: the references point into the two shared objects whose counted references stand beside them and are
        // dropped after them.
        let (at, heap_at) = unsafe { (&*Arc::as_ptr(&inner), &*Arc::as_ptr(&heap)) };
        let mut held = Held::new(at);
        held.move_to_host();
        Some(Locks { pool: heap_at.pool.hold(), guards: heap_at.guards.hold(), held, heap, _inner: inner })
    }
}

/// Prepares a runtime for forks, as long as it exists.
pub(crate) fn enter(inner: &Arc<Inner>, heap: &Arc<Heap>) {
    let mut runtimes = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    runtimes.retain(|(inner, _)| inner.strong_count() > 0);
    runtimes.push((Arc::downgrade(inner), Arc::downgrade(heap)));
    drop(runtimes);
    watch();
}

/// Sets an engine's handlers. Only the first call has an effect.
pub fn set_engine(handlers: Handlers) {
    let _ = ENGINE.set(handlers);
    watch();
}

/// Registers the handlers, once in a process.
fn watch() {
    #[cfg(unix)]
    {
        static ONCE: Once = Once::new();
        // SAFETY: the handlers may be called around any fork, on the thread that forks.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
        });
    }
}

extern "C" fn prepare() {
    let list = RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let locks: Vec<Locks> = list.iter().filter_map(|(inner, heap)| Locks::take(inner, heap)).collect();
    if let Some(engine) = ENGINE.get() {
        (engine.prepare)();
    }
    // a thread that is ending has no thread-local storage: then the locks are released, and the fork happens without
    // them
    let _ = LOCKS.try_with(|place| *place.borrow_mut() = Some(All { locks, _list: list }));
}

extern "C" fn parent() {
    drop(take());
    if let Some(engine) = ENGINE.get() {
        (engine.parent)();
    }
}

extern "C" fn child() {
    let mut all = take();
    for Locks { pool, guards, held, heap, .. } in all.iter_mut().flat_map(|all| &mut all.locks) {
        heap.running.store(IDLE, Ordering::Relaxed);
        pool.forget_threads();
        guards.forget_threads();
        held.forget_threads();
    }
    if let Some(engine) = ENGINE.get() {
        (engine.child)();
    }
    drop(all);
}

fn take() -> Option<All> {
    LOCKS.try_with(|place| place.borrow_mut().take()).ok().flatten()
}
