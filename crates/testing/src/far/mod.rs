//! The engine `far`: a device for testing that the runtime treats device memory correctly.
//!
//! It computes the same as another engine, but behaves like a graphics card: the values are in memory that the host
//! cannot read, the work is done later than it was submitted, and there is only as much memory as the test requests.
//! Handles are not addresses, and the memory is locked (its pages have no access rights) except while a kernel runs. A
//! test can make the device fail or die. Others can use its memory, too; to them, it is DLPack's "extension device",
//! and the addresses are those of the host, so that a test can be the other user.
//!
//! In: work, as every engine gets it. Out: values in its own memory. The worker thread (`worker.rs`) does all work in
//! the order of submission, each piece after a random delay.

mod memory;
mod routines;
mod work;
mod worker;

use self::memory::Pages;
use self::work::{NO_RESULT, Order, Owned};
use self::worker::Worker;
use numelt_ir::{Error, Result};
use numelt_opt::{Kernel, Target};
use numelt_runtime::{Buffer, Engine, Executable, Routine, Routines, Sharing, Storage, Stream, Task, Ticket, Work};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How a device behaves.
#[derive(Debug, Clone)]
pub struct FarOptions {
    /// Its name.
    pub name: &'static str,
    /// The size of its memory in bytes; `None` for no limit.
    pub memory: Option<usize>,
    /// The longest delay, in microseconds, before a piece of work begins.
    pub delay: u64,
    /// Seed of the random delays.
    pub seed: u64,
    /// The number of kernels and calls after which it no longer responds.
    pub dies_after: Option<u64>,
    /// One in this many uploads fails, at regular intervals.
    pub upload_fails_every: Option<u64>,
    /// Operations that it does not support.
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
    /// What other users of the memory have queued.
    others: Mutex<Vec<OthersWork>>,
}

/// A piece of work of another user of the memory.
type OthersWork = Box<dyn FnOnce() + Send>;

/// A kernel as the underlying engine has prepared it.
struct Prepared(Arc<dyn Executable>);

impl Executable for Prepared {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn tier(&self) -> &'static str {
        self.0.tier()
    }
}

/// The kernel of the underlying engine in an executable of a device.
fn own(executable: &dyn Executable) -> Result<&Arc<dyn Executable>> {
    let prepared = executable.as_any().downcast_ref::<Prepared>();
    prepared.map(|prepared| &prepared.0).ok_or_else(|| Error::Engine("a kernel compiled by another engine".into()))
}

impl Far {
    /// A device that computes the same as `inner`, an engine in host memory.
    ///
    /// # Panics
    /// If no thread can be started.
    pub fn new(inner: Arc<dyn Engine>, options: FarOptions) -> Far {
        // a device has no caches that kernels could share, and work that is not worth a launch does not run there
        let target = Target { nests: None, delays: None, puts: false, spoils: true, ..*inner.target() };
        let pages = Pages::new(options.memory);
        let worker = Worker::start(pages, Arc::clone(&inner), options.delay, options.seed);
        let (uploads, submitted, others) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        Far { options, target, inner, worker, uploads, submitted, others }
    }

    /// Queues work of another user of the memory. It is done when the device has to wait for it, or by
    /// [`Far::catch_up`].
    pub fn queue_for_others(&self, work: impl FnOnce() + Send + 'static) {
        self.others.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(work));
    }

    /// Does all that others have queued.
    pub fn catch_up(&self) {
        let queued = std::mem::take(&mut *self.others.lock().unwrap_or_else(PoisonError::into_inner));
        queued.into_iter().for_each(|work| work());
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
        let is_adopted = self.worker.pages().is_adopted(handle);
        self.worker.order(Order::Free { handle, nbytes, after });
        if is_adopted {
            let _ = self.worker.finish();
        }
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

/// DLPack's number for devices of a kind of their own.
const EXTENSION: i32 = 12;

impl Sharing for Far {
    fn device(&self) -> (i32, i32) {
        let number = self.options.name.split_once(':').and_then(|(_, number)| number.parse().ok());
        (EXTENSION, number.unwrap_or(0))
    }

    fn address(&self, handle: u64) -> Result<u64> {
        self.answers()?;
        self.worker.pages().share(handle)
    }

    // SAFETY: the contract is the trait's.
    unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<u64> {
        self.answers()?;
        Ok(self.worker.pages().adopt(address, nbytes))
    }

    /// What others queue may be done at once, so all that was submitted is done first.
    fn precede(&self, _stream: Stream) -> Result<()> {
        self.answers()?;
        self.worker.finish()
    }

    fn follow(&self, _stream: Stream) -> Result<()> {
        self.answers()?;
        self.worker.finish()?;
        self.catch_up();
        Ok(())
    }
}

impl Routines for Far {
    fn solver(&self, _routine: &Routine) -> Option<&'static str> {
        Some("the tests' library")
    }

    fn run(&self, routine: &Routine, arrays: &[Buffer]) -> Result<bool> {
        self.answers()?;
        self.submitted.fetch_add(1, Ordering::Relaxed);
        let number = self.worker.order(Order::Work(Owned::Routine(*routine, arrays.to_vec())));
        self.worker.wait(number).map(|found| found != NO_RESULT)
    }
}

impl Engine for Far {
    fn name(&self) -> &'static str {
        self.options.name
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        Some(self)
    }

    fn routines(&self) -> Option<&dyn Routines> {
        Some(self)
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
