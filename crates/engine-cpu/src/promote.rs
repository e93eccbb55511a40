//! When a kernel moves from the interpreter to compiled code.
//!
//! In: kernels and how much work each has done. Out: compiled bodies in [`Slot`]s. With [`Jit::On`] a
//! background thread compiles kernels whose work has paid for it; the next launch uses the result. A
//! kernel that does not compile stays where it is.

use crate::body::Body;
use crate::isa::Isa;
use numelt_opt::Kernel;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// When kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Jit {
    /// Never.
    Off,
    /// In the background, when the work is worth it.
    On,
    /// At once, in `compile`.
    Sync,
}

/// Estimated nanoseconds of interpreted work after which compiling (about 2 ms) pays.
const WORTH: u64 = 4_000_000;

/// Where a kernel's compiled body appears.
#[derive(Default)]
pub struct Slot {
    body: OnceLock<Arc<dyn Body>>,
    work: AtomicU64,
    submitted: AtomicBool,
}

impl Slot {
    /// The compiled body, once there is one.
    pub fn body(&self) -> Option<&Arc<dyn Body>> {
        self.body.get()
    }

    fn compile(&self, kernel: &Kernel, isa: Isa) {
        // an error means that the kernel stays on the interpreter, which can do everything
        if let Ok(body) = crate::llvm::compile(kernel, isa) {
            let _ = self.body.set(body);
        }
    }
}

type Request = (Arc<Kernel>, Weak<Slot>);

/// The engine's policy and its compiler thread.
pub struct Promoter {
    jit: Jit,
    isa: Isa,
    queue: Mutex<Option<(u32, Sender<Request>)>>,
}

impl Promoter {
    /// A policy; its thread starts with the first kernel.
    pub fn new(jit: Jit, isa: Isa) -> Promoter {
        Promoter { jit, isa, queue: Mutex::new(None) }
    }

    /// The slot of a new kernel.
    pub fn slot(&self, kernel: &Kernel) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        if self.jit == Jit::Sync {
            slot.compile(kernel, self.isa);
        }
        slot
    }

    /// Counts work done by a kernel, and queues it for compilation when that pays.
    pub fn worked(&self, kernel: &Arc<Kernel>, slot: &Arc<Slot>, nanoseconds: u64) {
        if self.jit != Jit::On || slot.submitted.load(Ordering::Relaxed) {
            return;
        }
        let before = slot.work.fetch_add(nanoseconds, Ordering::Relaxed);
        if before.saturating_add(nanoseconds) >= WORTH && !slot.submitted.swap(true, Ordering::Relaxed) {
            self.submit((kernel.clone(), Arc::downgrade(slot)));
        }
    }

    /// Hands a kernel to the compiler thread. When the queue is taken (by another thread, perhaps one that
    /// a fork left behind) the kernel tries again at its next launch.
    fn submit(&self, request: Request) {
        let Ok(mut queue) = self.queue.try_lock() else {
            if let Some(slot) = request.1.upgrade() {
                slot.submitted.store(false, Ordering::Relaxed);
            }
            return;
        };
        let process = std::process::id();
        // a forked child has no compiler thread yet
        if queue.as_ref().is_none_or(|(owner, _)| *owner != process) {
            let (sender, requests) = channel::<Request>();
            let isa = self.isa;
            let started = std::thread::Builder::new().name("numelt-jit".into()).spawn(move || {
                while let Ok((kernel, slot)) = requests.recv() {
                    // a kernel that nobody holds any more is not worth compiling
                    if let Some(slot) = slot.upgrade() {
                        slot.compile(&kernel, isa);
                    }
                }
            });
            if started.is_err() {
                return;
            }
            *queue = Some((process, sender));
        }
        if let Some((_, sender)) = &*queue {
            let _ = sender.send(request);
        }
    }
}
