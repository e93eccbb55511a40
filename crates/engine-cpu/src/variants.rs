//! Variants: kernels compiled for one geometry, that is, for rows of a known length and known strides.
//!
//! In: the geometries with which a kernel is launched, and how long that takes. Out: a few variants, chosen tile by
//! tile by comparing numbers. Short rows gain, because several of them fill vectors together
//! (`codegen/src/kernels/loops/flat.rs`). Long rows gain nothing that can be measured, and get no variants. A variant
//! is made when a geometry has recurred often enough and takes enough time to be worth a compilation, so views that
//! shrink with every iteration have none. A variant that is not faster than the code for all geometries is not used.
//! Not here: threads, and when the kernel itself is compiled.

use crate::isa::Isa;
use crate::llvm;
use numelt_codegen::Constants;
use numelt_codegen::{Body, Tile};
use numelt_opt::Kernel;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The points of the longest rows for which a variant gains.
pub const LONGEST: i64 = 64;
/// The number of launches after which a geometry counts as recurring.
const RECURS: u32 = 16;
/// The nanoseconds of launches of a geometry that are worth a compilation in the background.
const WORTH: u64 = 10_000_000;
/// The most variants of a kernel.
const MOST: usize = 4;
/// The most geometries of a kernel that are remembered.
const REMEMBERED: usize = 8;
/// The number of timed launches of each kind before it is decided which code is used.
const TRIALS: u8 = 6;

/// Code for one geometry.
struct Variant {
    numbers: Constants,
    body: Arc<dyn Body>,
    trial: Trial,
    next: OnceLock<Box<Variant>>,
}

impl Variant {
    /// # Safety
    /// The tile is one of this variant's kernel.
    unsafe fn fits(&self, tile: &Tile) -> bool {
        let args = self.numbers.inner_strides.len();
        // SAFETY: the arrays have an entry per argument.
        let (inner, outer) = unsafe {
            (std::slice::from_raw_parts(tile.inner_strides, args), std::slice::from_raw_parts(tile.outer_strides, args))
        };
        tile.inner == self.numbers.inner
            && inner == &self.numbers.inner_strides[..]
            && outer == &self.numbers.outer_strides[..]
    }
}

/// Whether a variant pays. Timed launches alternate between the two kinds of code until that is known.
#[derive(Default)]
struct Trial {
    /// One of the constants below.
    state: AtomicU8,
    /// The number of timed launches.
    turns: AtomicU8,
    /// The least nanoseconds of a launch with the variant, and without it.
    least: [AtomicU64; 2],
}

const TRY_WITH: u8 = 0;
const TRY_WITHOUT: u8 = 1;
const USE: u8 = 2;
const DROP: u8 = 3;

impl Trial {
    fn uses(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), TRY_WITH | USE)
    }

    /// Notes how long a launch took.
    fn timed(&self, nanoseconds: u64) {
        let state = self.state.load(Ordering::Relaxed);
        if nanoseconds == 0 || state > TRY_WITHOUT {
            return;
        }
        let least = &self.least[usize::from(state)];
        let old = least.load(Ordering::Relaxed);
        least.store(if old == 0 { nanoseconds } else { old.min(nanoseconds) }, Ordering::Relaxed);
        let [with, without] = [0, 1].map(|k| self.least[k].load(Ordering::Relaxed));
        let next = if self.turns.fetch_add(1, Ordering::Relaxed) < 2 * TRIALS {
            1 - state
        } else if with <= without - without / 50 {
            USE
        } else {
            DROP
        };
        self.state.store(next, Ordering::Relaxed);
    }
}

/// A geometry that has no variant yet.
struct Candidate {
    numbers: Constants,
    launches: u32,
    nanoseconds: u64,
    /// When it was last seen, counted in launches of the kernel.
    last: u64,
    asked: bool,
}

/// What follows from a launch.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing follows.
    Known,
    /// The launch used the variant for its geometry.
    Used,
    /// A variant should be compiled.
    Worth,
}

/// The variants of a kernel.
#[derive(Default)]
pub struct Family {
    first: OnceLock<Box<Variant>>,
    candidates: Mutex<(u64, Vec<Candidate>)>,
    /// Set if every tile gets a variant: the kernel, and the counter of variants.
    all: Option<(Arc<Kernel>, Isa, Arc<AtomicU64>)>,
}

impl Family {
    /// A family that compiles a variant for each geometry it meets.
    pub fn of_all(kernel: Arc<Kernel>, isa: Isa, counter: Arc<AtomicU64>) -> Family {
        Family { all: Some((kernel, isa, counter)), ..Family::default() }
    }

    /// Whether there are no variants.
    pub fn is_empty(&self) -> bool {
        self.first.get().is_none() && self.all.is_none()
    }

    /// Whether some variant is in use.
    pub fn in_use(&self) -> bool {
        self.iter().any(|v| v.trial.uses())
    }

    fn iter(&self) -> impl Iterator<Item = &Variant> {
        std::iter::successors(self.first.get(), |v| v.next.get()).map(|v| &**v)
    }

    /// The variant for a tile.
    ///
    /// # Safety
    /// The tile is one of this family's kernel.
    pub unsafe fn fitting(&self, tile: &Tile) -> Option<&dyn Body> {
        // SAFETY: the caller's tile.
        let fits = |v: &&Variant| unsafe { v.fits(tile) };
        let found = self.iter().find(fits);
        let Some((kernel, isa, counter)) = &self.all else {
            return found.filter(|v| v.trial.uses()).map(|v| &*v.body);
        };
        if found.is_none() {
            let args = kernel.args.len();
            // SAFETY: the arrays have an entry per argument.
            let strides = |at: *const i64| SmallVec::from_slice(unsafe { std::slice::from_raw_parts(at, args) });
            let (inner_strides, outer_strides) = (strides(tile.inner_strides), strides(tile.outer_strides));
            self.add(kernel, Constants { inner: tile.inner, inner_strides, outer_strides }, *isa, counter);
        }
        self.iter().find(fits).map(|v| &*v.body)
    }

    /// Compiles a variant, unless it exists; if it does not compile, none is added.
    pub fn add(&self, kernel: &Kernel, numbers: Constants, isa: Isa, counter: &AtomicU64) {
        if self.iter().any(|v| v.numbers == numbers) {
            return;
        }
        let Ok(body) = llvm::compile_fixed(kernel, &numbers, isa) else { return };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut variant = Box::new(Variant { numbers, body, trial: Trial::default(), next: OnceLock::new() });
        let mut end = &self.first;
        // another thread may add one at the same time
        while let Err(back) = end.set(variant) {
            variant = back;
            end = &end.get().expect("it was not empty").next;
        }
    }

    /// Notes a launch on one geometry: the nanoseconds that it took (zero if it was not timed), and those that were
    /// expected.
    pub fn note(&self, numbers: &Constants, (nanoseconds, expected): (u64, u64)) -> Seen {
        if let Some(variant) = self.iter().find(|v| v.numbers == *numbers) {
            let used = variant.trial.uses();
            variant.trial.timed(nanoseconds);
            return if used { Seen::Used } else { Seen::Known };
        }
        if self.iter().count() >= MOST {
            return Seen::Known;
        }
        // another thread may be noting a launch at the same time; then this one is skipped
        let Ok(mut guard) = self.candidates.try_lock() else { return Seen::Known };
        let (now, candidates) = &mut *guard;
        *now += 1;
        let at = match candidates.iter().position(|c| c.numbers == *numbers) {
            Some(at) => at,
            None => {
                if candidates.len() == REMEMBERED {
                    let oldest = (0..REMEMBERED).min_by_key(|&k| candidates[k].last).expect("there are some");
                    candidates.swap_remove(oldest);
                }
                let numbers = numbers.clone();
                candidates.push(Candidate { numbers, launches: 0, nanoseconds: 0, last: 0, asked: false });
                candidates.len() - 1
            }
        };
        let candidate = &mut candidates[at];
        candidate.last = *now;
        candidate.launches += 1;
        candidate.nanoseconds += nanoseconds.max(expected);
        let worth = candidate.launches >= RECURS && candidate.nanoseconds >= WORTH && !candidate.asked;
        candidate.asked |= worth;
        if worth { Seen::Worth } else { Seen::Known }
    }
}
