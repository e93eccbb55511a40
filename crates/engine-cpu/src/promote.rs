//! When a kernel moves from the interpreter to compiled code.
//!
//! In: kernels, and how much work each has done. Out: compiled bodies in [`Slot`]s. With [`Jit::On`], the background
//! thread (`background`) compiles kernels that have done enough work to pay for it, and variants of them for geometries
//! that recur. The next launch uses the result. A kernel that does not compile stays on the interpreter.

use crate::background::{self, Task};
use crate::isa::Isa;
use crate::variants::{Family, Seen};
use numelt_codegen::Constants;
use numelt_codegen::{Body, Tile};
use numelt_opt::Kernel;
use numelt_runtime::{Jit, Variants};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Estimated nanoseconds of interpreted work after which compiling (about 2 ms) pays.
const WORTH: u64 = 4_000_000;

/// The slot in which a kernel's compiled body appears.
#[derive(Default)]
pub struct Slot {
    body: OnceLock<Arc<dyn Body>>,
    work: AtomicU64,
    submitted: AtomicBool,
    /// Its variants for one geometry each.
    family: Family,
}

/// Compiled code: the variant that fits a tile, otherwise the code for all geometries.
impl Body for Slot {
    // SAFETY: the contract is the trait's.
    unsafe fn run(&self, tile: &Tile) {
        // SAFETY: the caller's contract; a variant has looked at the tile's numbers.
        unsafe {
            match (self.family.fitting(tile), self.body.get()) {
                (Some(variant), _) => variant.run(tile),
                (None, Some(body)) => body.run(tile),
                (None, None) => unreachable!("there are no variants of what is not compiled"),
            }
        }
    }
}

impl Slot {
    /// The compiled code, if there is some.
    pub fn compiled(&self) -> Option<&dyn Body> {
        let body = self.body.get()?;
        Some(if self.family.is_empty() { &**body } else { self })
    }

    /// Whether variants are in use.
    pub fn specialized(&self) -> bool {
        self.family.in_use()
    }

    fn compile(&self, kernel: &Kernel, isa: Isa) {
        // an error means that the kernel stays on the interpreter, which supports everything
        if let Ok(body) = crate::llvm::compile(kernel, isa) {
            let _ = self.body.set(body);
        }
    }
}

/// A kernel that is to be compiled, or a variant of it for one geometry.
struct Request {
    kernel: Arc<Kernel>,
    slot: Weak<Slot>,
    numbers: Option<Constants>,
    isa: Isa,
    /// The counter of variants.
    variants: Arc<AtomicU64>,
}

impl Task for Request {
    fn run(self: Box<Request>) {
        // a kernel that nobody holds any more is not worth compiling
        match (self.slot.upgrade(), self.numbers) {
            (Some(slot), None) => slot.compile(&self.kernel, self.isa),
            (Some(slot), Some(numbers)) => slot.family.add(&self.kernel, numbers, self.isa, &self.variants),
            (None, _) => {}
        }
    }
}

/// The engine's policy.
pub struct Promoter {
    jit: Jit,
    variants: Variants,
    isa: Isa,
    compiled: Arc<AtomicU64>,
    launched: AtomicU64,
}

impl Promoter {
    /// A policy without any kernels.
    pub fn new(jit: Jit, variants: Variants, isa: Isa) -> Promoter {
        Promoter { jit, variants, isa, compiled: Arc::default(), launched: AtomicU64::new(0) }
    }

    /// The number of variants that have been compiled, and of launches with the geometries of variants.
    pub fn variants(&self) -> [u64; 2] {
        [&*self.compiled, &self.launched].map(|count| count.load(Ordering::Relaxed))
    }

    /// Whether the geometries of this kernel's launches are of interest.
    pub fn watches(&self, slot: &Slot) -> bool {
        self.jit != Jit::Off && self.variants == Variants::Selected && slot.body.get().is_some()
    }

    /// Counts a launch of compiled code on one geometry, and has a variant compiled when that pays. The times are the
    /// measured nanoseconds (zero if there are none) and the expected ones.
    pub fn recurs(&self, kernel: &Arc<Kernel>, slot: &Arc<Slot>, numbers: &Constants, times: (u64, u64)) {
        match slot.family.note(numbers, times) {
            Seen::Known => {}
            Seen::Used => {
                self.launched.fetch_add(1, Ordering::Relaxed);
            }
            Seen::Worth if self.jit == Jit::Sync => {
                slot.family.add(kernel, numbers.clone(), self.isa, &self.compiled);
            }
            Seen::Worth => self.submit(kernel, slot, Some(numbers.clone())),
        }
    }

    /// The slot of a new kernel.
    pub fn slot(&self, kernel: &Arc<Kernel>) -> Arc<Slot> {
        let mut slot = Slot::default();
        let fixed = self.jit != Jit::Off && self.variants == Variants::Fixed;
        if self.jit == Jit::Sync || fixed {
            slot.compile(kernel, self.isa);
        }
        if fixed {
            slot.submitted = AtomicBool::new(true);
            slot.family = Family::of_all(kernel.clone(), self.isa, self.compiled.clone());
        }
        Arc::new(slot)
    }

    /// Counts work done by a kernel, and queues it for compilation when that pays.
    pub fn worked(&self, kernel: &Arc<Kernel>, slot: &Arc<Slot>, nanoseconds: u64) {
        background::resume();
        if self.jit != Jit::On || slot.submitted.load(Ordering::Relaxed) {
            return;
        }
        let before = slot.work.fetch_add(nanoseconds, Ordering::Relaxed);
        if before.saturating_add(nanoseconds) >= WORTH && !slot.submitted.swap(true, Ordering::Relaxed) {
            self.submit(kernel, slot, None);
        }
    }

    fn submit(&self, kernel: &Arc<Kernel>, slot: &Arc<Slot>, numbers: Option<Constants>) {
        let (kernel, slot, variants) = (kernel.clone(), Arc::downgrade(slot), self.compiled.clone());
        background::submit(Box::new(Request { kernel, slot, numbers, isa: self.isa, variants }));
    }
}
