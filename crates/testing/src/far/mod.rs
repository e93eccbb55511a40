//! The engine `far`: a device for testing that the runtime treats device memory correctly.
//!
//! It computes what another engine computes, but as a graphics card would: in memory that the host cannot read, later
//! than the work was submitted, and with as little memory as the test wants. Handles are not addresses, and the memory
//! is locked (pages without access) except while a kernel runs. A test can make the device fail or die.
//!
//! In: work, as every engine gets it. Out: values in its own memory. The worker thread (`worker.rs`) does everything in
//! the order of submission, after a wait of random length.

mod memory;
mod work;
mod worker;

use self::memory::Pages;
use self::work::{Order, Owned};
use self::worker::Worker;
use numelt_ir::{Error, Result};
use numelt_opt::{Kernel, Target};
use numelt_runtime::{Buffer, Engine, Executable, Storage, Task, Ticket, Work};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a device behaves.
#[derive(Debug, Clone)]
pub struct FarOptions {
    /// Its name.
    pub name: &'static str,
    /// Bytes of memory; none for as much as there is.
    pub memory: Option<usize>,
    /// Microseconds that a piece of work waits at most before it begins.
    pub delay: u64,
    /// Seed of the waits.
    pub seed: u64,
    /// Kernels and calls after which it stops to answer.
    pub dies_after: Option<u64>,
    /// Uploads of which each last one fails.
    pub upload_fails_every: Option<u64>,
    /// Operations that it cannot do.
    pub without: &'static [numelt_ir::Op],
}

impl Default for FarOptions {
    fn default() -> FarOptions {
        FarOptions {
            name: "far",
            memory: None,
            delay: 50,
            seed: 1,
            dies_after: None,
            upload_fails_every: None,
            without: &[],
        }
    }
}

/// The device.
pub struct Far {
    options: FarOptions,
    target: Target,
    inner: Arc<dyn Engine>,
    worker: Worker,
    uploads: AtomicU64,
    submitted: AtomicU64,
}

/// A kernel as the engine behind the device prepared it.
struct Prepared(Arc<dyn Executable>);

impl Executable for Prepared {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn tier(&self) -> &'static str {
        self.0.tier()
    }
}

/// The kernel behind an executable of a device.
fn own(executable: &dyn Executable) -> Result<&Arc<dyn Executable>> {
    let prepared = executable.as_any().downcast_ref::<Prepared>();
    prepared.map(|prepared| &prepared.0).ok_or_else(|| Error::Engine("a kernel compiled by another engine".into()))
}

impl Far {
    /// A device that computes what `inner`, an engine in host memory, computes.
    ///
    /// # Panics
    /// When no thread can be started.
    pub fn new(inner: Arc<dyn Engine>, options: FarOptions) -> Far {
        // a device has no caches to share between kernels, and nothing runs there that is not worth a launch
        let target = Target { nests: None, delays: None, puts: false, spoils: true, ..*inner.target() };
        let pages = Pages::new(options.memory);
        let worker = Worker::start(pages, Arc::clone(&inner), options.delay, options.seed);
        Far { options, target, inner, worker, uploads: AtomicU64::new(0), submitted: AtomicU64::new(0) }
    }

    fn answers(&self) -> Result<()> {
        let dead = self.options.dies_after.is_some_and(|most| self.submitted.load(Ordering::Relaxed) >= most);
        if dead { Err(Error::Lost(format!("{} does not answer", self.options.name))) } else { Ok(()) }
    }
}

impl Storage for Far {
    fn alloc(&self, nbytes: usize) -> Result<u64> {
        self.answers()?;
        self.worker.alloc(nbytes)
    }

    fn free(&self, handle: u64, nbytes: usize, after: Ticket) {
        self.worker.order(Order::Free { handle, nbytes, after });
    }

    fn upload(&self, from: &[u8], to: Buffer) -> Result<()> {
        self.answers()?;
        let number = self.uploads.fetch_add(1, Ordering::Relaxed) + 1;
        if self.options.upload_fails_every.is_some_and(|every| number.is_multiple_of(every)) {
            return Err(Error::Engine(format!("{}: an upload failed", self.options.name)));
        }
        self.worker.order(Order::Upload { bytes: from.to_vec(), to });
        Ok(())
    }

    fn download(&self, from: Buffer, to: &mut [u8]) -> Result<()> {
        self.answers()?;
        let bytes = self.worker.download(from, to.len())?;
        to.copy_from_slice(&bytes);
        Ok(())
    }
}

impl Engine for Far {
    fn name(&self) -> &'static str {
        self.options.name
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn supports(&self, task: &Task<'_>) -> bool {
        self.inner.supports(task) && task.all(|op, _| !self.options.without.contains(&op))
    }

    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        self.answers()?;
        Ok(Arc::new(Prepared(self.inner.compile(kernel)?)))
    }

    fn submit(&self, work: &Work<'_>) -> Result<Ticket> {
        self.answers()?;
        let owned = Owned::of(work, own)?;
        self.submitted.fetch_add(1, Ordering::Relaxed);
        Ok(Ticket(self.worker.order(Order::Work(owned))))
    }

    fn wait(&self, ticket: Ticket) -> Result<u8> {
        self.answers()?;
        self.worker.wait(ticket.0)
    }
}
