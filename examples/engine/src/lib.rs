//! A complete small engine with memory of its own: `shelf`.
//!
//! Its memory consists of pieces that are known by numbers, as a graphics card's driver or another machine would number
//! them; the rest of numelt never sees where they are. It computes immediately, by the host engine's kernels, so that
//! only those parts remain here that every engine has: the four methods of [`Storage`], and the five of [`Engine`] that
//! have no default. `docs/engines.md` explains them.

use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_runtime::{Buffer, Engine, Executable, Host, Launch, LibraryCall, Operand, Storage, Task, Ticket, Work};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The unit in which memory is allocated. It has the alignment that the runtime expects.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "only its address is used")] [u8; 64]);

/// The engine.
pub struct Shelf {
    host: Arc<dyn Host>,
    memory: Mutex<Memory>,
}

struct Memory {
    /// How many more bytes can be allocated.
    left: usize,
    /// The handle of the latest allocation. Zero is never a handle.
    last: u64,
    pieces: HashMap<u64, Vec<Line>>,
}

impl Memory {
    /// The position in host memory of a position in ours. It stays the same for arguments without memory, such as
    /// indices.
    fn on_host(&mut self, place: Buffer) -> Buffer {
        match self.pieces.get_mut(&place.handle) {
            Some(lines) => Buffer::at(lines.as_mut_ptr().cast::<u8>()).moved(place.offset),
            None => Buffer::NONE,
        }
    }
}

impl Shelf {
    /// An engine that computes by `host`, with this many bytes of memory, or without a limit.
    pub fn new(host: Arc<dyn Host>, memory: Option<usize>) -> Shelf {
        let memory = Memory { left: memory.unwrap_or(usize::MAX), last: 0, pieces: HashMap::new() };
        Shelf { host, memory: Mutex::new(memory) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for Shelf {
    fn alloc(&self, nbytes: usize) -> Result<u64> {
        let mut memory = self.memory();
        memory.left = memory.left.checked_sub(nbytes).ok_or(Error::OutOfMemory(nbytes))?;
        memory.last += 1;
        let handle = memory.last;
        memory.pieces.insert(handle, vec![Line([0; 64]); nbytes.div_ceil(64).max(1)]);
        Ok(handle)
    }

    /// All work is done when it is submitted, so the memory can be freed at once. An engine with a queue waits for the
    /// ticket.
    fn free(&self, handle: u64, nbytes: usize, _after: Ticket) {
        let mut memory = self.memory();
        if memory.pieces.remove(&handle).is_some() {
            memory.left += nbytes;
        }
    }

    fn upload(&self, from: &[u8], to: Buffer) -> Result<()> {
        let place = self.memory().on_host(to);
        self.host.upload(from, place)
    }

    fn download(&self, from: Buffer, to: &mut [u8]) -> Result<()> {
        let place = self.memory().on_host(from);
        self.host.download(place, to)
    }
}

impl Engine for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    /// Work for which this returns false runs on the host, and `numelt.coverage()` counts it.
    fn supports(&self, task: &Task<'_>) -> bool {
        !matches!(task, Task::Nest(_)) && self.host.supports(task)
    }

    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        self.host.compile(kernel)
    }

    fn submit(&self, work: &Work<'_>) -> Result<Ticket> {
        // the memory stays locked until the work is done, so that nothing is freed meanwhile
        let mut memory = self.memory();
        match work {
            Work::Kernel(executable, launch, delay) => {
                let buffers: Vec<Buffer> = launch.buffers.iter().map(|&place| memory.on_host(place)).collect();
                let launch = Launch { buffers: &buffers, ..**launch };
                self.host.submit(&Work::Kernel(*executable, &launch, *delay))
            }
            Work::Call(call) => {
                let mut operand = |of: &Operand<'_>| memory.on_host(of.buffer);
                let out = Operand { view: call.out.view, buffer: operand(&call.out) };
                let ins: Vec<Operand<'_>> =
                    call.ins.iter().map(|of| Operand { view: of.view, buffer: operand(of) }).collect();
                self.host.submit(&Work::Call(&LibraryCall { out, ins: &ins, ..**call }))
            }
            Work::Nest(_) => Err(Error::Engine("shelf runs no nests".into())),
        }
    }

    fn wait(&self, ticket: Ticket) -> Result<u8> {
        self.host.wait(ticket)
    }
}
