//! An engine for a device with memory of its own, over a [`Driver`].
//!
//! There is one device with one queue, which works in the order of submission. Waiting for a ticket means reading what
//! the launch has written, or waiting for the queue. A kernel that may meet floating-point conditions collects them in
//! a word of the device's memory, which is read when somebody waits for the kernel. Matrix products and numerical
//! routines are computed by libraries, if there are any for the device. Not here: calls of a driver's library.

mod calls;
mod capabilities;
mod compiled;
mod driver;
mod gemm;
mod launch;
mod products;
mod recent;
mod routines;
mod sharing;

pub use self::capabilities::Capabilities;
pub use self::driver::{Argument, Code, Driver};
pub use self::gemm::{Factor, Gemm};
pub use self::recent::Recent;

use self::calls::Calls;
use self::compiled::{Compiled, Compiler};
use self::products::Products;
use crate::render::{self, Variant};
use numelt_ir::{DType, Error, Op, Result, warn};
use numelt_opt::{Kernel, Target};
use numelt_runtime::{Buffer, Engine, Executable, Routines, Sharing, Storage, Task, Ticket, Work};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The words for conditions of launches for which nobody has waited yet.
const WORDS: usize = 1024;

/// The devices for which an engine may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Devices {
    /// The best device: a graphics card, another accelerator, or the processor.
    All,
    /// No processors, because the host engine uses those.
    Accelerators,
}

/// Settings of the engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which devices it may use.
    pub devices: Devices,
    /// Which of these, the best ones first.
    pub number: usize,
    /// The bytes of memory that it may allocate; all of the device's memory if not given.
    pub memory: Option<usize>,
    /// The folder in which compiled programs are kept between processes; `None` keeps none.
    pub cache_dir: Option<PathBuf>,
    /// Whether matrix products are left to the host, which computes NumPy's bits.
    pub exact_products: bool,
}

/// An engine for one device.
pub struct Device<D: Driver> {
    name: &'static str,
    /// Which of the devices it is.
    number: usize,
    target: Target,
    capabilities: Capabilities,
    // dropped before the driver, so that memory is freed before its context
    state: Mutex<State<D>>,
    calls: Mutex<Calls<D>>,
    products: Mutex<Products<D>>,
    exact_products: bool,
    compiler: Compiler<D>,
}

/// State that one thread at a time uses.
struct State<D: Driver> {
    /// The bytes that may still be allocated.
    left: usize,
    /// The number of the latest allocation or ticket.
    last: u64,
    pieces: HashMap<u64, D::Memory>,
    /// The pieces that are memory of other libraries.
    adopted: HashSet<u64>,
    /// One word for each launch that may meet conditions, used in turn.
    conditions: D::Memory,
    /// The tickets of such launches, oldest first, with their words.
    watched: VecDeque<(u64, usize)>,
    /// The conditions that were found with those of another launch, by ticket, oldest first.
    found: VecDeque<(u64, u8)>,
    /// The last ticket whose word was reused before anybody waited for it.
    dropped: u64,
    next: usize,
}

impl<D: Driver> Device<D> {
    /// An engine for one of the devices.
    ///
    /// # Errors
    /// If there is no library, no device, or none that can be used.
    pub fn new(options: &Options) -> Result<Device<D>> {
        let (driver, capabilities) = D::open(options.devices, options.number)?;
        let name = match options.number {
            0 => D::NAME,
            // a few bytes for each engine that is made
            number => Box::leak(format!("{}:{number}", D::NAME).into_boxed_str()),
        };
        let conditions = driver.memory(4 * WORDS)?;
        driver.write(&[0; 4 * WORDS], &conditions, 0)?;
        let state = State {
            left: options.memory.unwrap_or(capabilities.memory),
            last: 0,
            pieces: HashMap::new(),
            adopted: HashSet::new(),
            conditions,
            watched: VecDeque::new(),
            found: VecDeque::new(),
            dropped: 0,
            next: 0,
        };
        let target = capabilities.target();
        let compiler = Compiler::new(driver, options.cache_dir.as_deref());
        let (state, calls, products) = (Mutex::new(state), Mutex::default(), Mutex::default());
        let exact_products = options.exact_products;
        let number = options.number;
        Ok(Device { name, number, target, capabilities, state, calls, products, exact_products, compiler })
    }

    /// Name of the device and version of its driver.
    pub fn device(&self) -> &str {
        &self.capabilities.name
    }

    fn driver(&self) -> &D {
        &self.compiler.driver
    }

    fn products(&self) -> MutexGuard<'_, Products<D>> {
        self.products.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Driver> State<D> {
    fn piece(&self, place: Buffer) -> Result<(&D::Memory, usize)> {
        let piece = self.pieces.get(&place.handle);
        let piece = piece.ok_or_else(|| Error::Engine(format!("{}: there is no memory {}", D::NAME, place.handle)))?;
        let before = |_| Error::Engine(format!("{}: a place before memory", D::NAME));
        let offset = usize::try_from(place.offset).map_err(before)?;
        Ok((piece, offset))
    }

    /// The word for the conditions of the next launch. If nobody has waited for the ticket that had it before, it may
    /// still hold conditions. The launch then seems to have met those, too, and the host has to check.
    fn word(&mut self) -> usize {
        if self.watched.len() == WORDS {
            self.dropped = self.watched.pop_front().map_or(self.dropped, |(ticket, _)| ticket);
        }
        self.next = (self.next + 1) % WORDS;
        self.next
    }

    /// Waits for the queue, and reads the words of all launches, because reading many takes as long as reading one.
    fn find(&mut self, driver: &D) -> Result<()> {
        let mut bytes = [0; 4 * WORDS];
        driver.read(&self.conditions, 0, &mut bytes)?;
        for (ticket, word) in std::mem::take(&mut self.watched) {
            let word = 4 * word..4 * word + 4;
            let met = bytes[word.clone()].iter().fold(0, |all, byte| all | byte);
            if met != 0 {
                driver.write(&[0; 4], &self.conditions, word.start)?;
            }
            if self.found.len() == WORDS {
                self.dropped = self.found.pop_front().map_or(self.dropped, |(ticket, _)| ticket);
            }
            self.found.push_back((ticket, met & warn::ALL));
        }
        Ok(())
    }
}

impl<D: Driver> Storage for Device<D> {
    fn alloc(&self, nbytes: usize) -> Result<u64> {
        let mut state = self.state();
        let left = state.left.checked_sub(nbytes).ok_or(Error::OutOfMemory(nbytes))?;
        let memory = self.driver().memory(nbytes).map_err(|error| match error {
            Error::OutOfMemory(_) => Error::OutOfMemory(nbytes),
            other => other,
        })?;
        state.left = left;
        state.last += 1;
        let handle = state.last;
        state.pieces.insert(handle, memory);
        Ok(handle)
    }

    /// queued work keeps memory alive, so there is nothing to wait for, except with memory of other libraries
    fn free(&self, handle: u64, nbytes: usize, _after: Ticket) {
        let mut state = self.state();
        if state.adopted.remove(&handle) {
            // without an answer of the device, nothing uses its memory
            let _ = self.driver().finish();
            state.pieces.remove(&handle);
        } else if state.pieces.remove(&handle).is_some() {
            state.left += nbytes;
        }
    }

    fn upload(&self, from: &[u8], to: Buffer) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let state = self.state();
        let (memory, offset) = state.piece(to)?;
        self.driver().write(from, memory, offset)
    }

    fn download(&self, from: Buffer, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let state = self.state();
        let (memory, offset) = state.piece(from)?;
        self.driver().read(memory, offset, to)
    }
}

impl<D: Driver> Engine for Device<D> {
    fn name(&self) -> &'static str {
        self.name
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
        match task {
            Task::Kernel(kernel, None) => self.capabilities.run(kernel),
            Task::Call(op, ty) if op.is_product() => self.library(*op, *ty).is_some(),
            Task::Call(op, ty) => self.capabilities.call(*op, *ty),
            Task::Kernel(_, Some(_)) | Task::Nest(_) => false,
        }
    }

    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(Compiled::<D>::new(Arc::clone(kernel))))
    }

    fn source(&self, kernel: &Kernel) -> Option<String> {
        let variant = Variant { packed: render::width(kernel).is_some(), ..Variant::default() };
        render::render(kernel, D::DIALECT, variant).map(|source| source.text)
    }

    fn library(&self, op: Op, ty: DType) -> Option<&'static str> {
        let may = op.is_product() && self.capabilities.multiply(ty) && !self.exact_products;
        if may && !self.products().refuses(ty) { self.driver().products() } else { None }
    }

    fn submit(&self, work: &Work<'_>) -> Result<Ticket> {
        let mut state = self.state();
        let word = match work {
            Work::Kernel(executable, launch, None) => {
                let compiled = executable.as_any().downcast_ref::<Compiled<D>>();
                let compiled = compiled.ok_or_else(|| Error::Engine("a kernel compiled by another engine".into()))?;
                launch::launch(self, &mut state, compiled, launch)?
            }
            Work::Call(call) if call.op.is_product() => {
                let word = products::product(self, &mut state, &mut self.products(), call)?;
                self.driver().flush()?;
                word
            }
            Work::Call(call) => {
                let mut known = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
                calls::call(self, &mut state, &mut known, call)?
            }
            Work::Kernel(_, _, Some(_)) | Work::Nest(_) => {
                return Err(Error::Unsupported(format!("{} runs plain kernels and some calls only", D::NAME)));
            }
        };
        state.last += 1;
        let ticket = state.last;
        if let Some(word) = word {
            state.watched.push_back((ticket, word));
        }
        Ok(Ticket(ticket))
    }

    fn wait(&self, ticket: Ticket) -> Result<u8> {
        let mut state = self.state();
        if state.watched.iter().any(|(own, _)| *own == ticket.0) {
            state.find(self.driver())?;
        }
        match state.found.iter().position(|(own, _)| *own == ticket.0) {
            Some(at) => Ok(state.found.remove(at).map_or(0, |(_, met)| met)),
            // the word of a launch so long ago has been reused, so the launch may have met anything
            None if ticket.0 <= state.dropped => {
                self.driver().finish()?;
                Ok(warn::ALL)
            }
            None => self.driver().finish().map(|()| 0),
        }
    }
}
