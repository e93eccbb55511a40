//! Nests: kernels that share a loop and take turns along it.
//!
//! In: kernels with their numbers, the shared loop, and the sizes of scratch buffers. Out: memory written. The shared
//! loop is cut into stretches whose data fit a core's own cache. A thread takes a stretch and runs every stage on it as
//! a separate launch. Values that only later stages read are in the thread's scratch memory. Results cannot depend on
//! the cut, because stages fold along other loops than the shared one.

use super::{Inputs, Launched, Price, Schedule, Task, advance};
use crate::lines::Lines;
use crate::threads::Threads;
use numelt_codegen::Body;
use numelt_ir::{Error, Result};
use numelt_opt::{Arg, ArgKind, Geometry, Kernel};
use numelt_runtime::Launch;
use smallvec::SmallVec;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// The stretches per thread, if there are enough steps: then all threads finish at about the same time.
const STRETCHES: usize = 6;

/// One kernel of a nest.
pub struct Stage<'a> {
    /// Its structure.
    pub kernel: &'a Kernel,
    /// Its folds.
    pub schedule: &'a Schedule,
    /// The body that evaluates it.
    pub body: &'a dyn Body,
    /// The price of its points.
    pub price: &'a Price,
    /// Its numbers for the whole shared loop. Addresses in scratch memory are offsets.
    pub launch: Launch<'a>,
    /// The index of the shared loop.
    pub shared: usize,
    /// For each argument, the scratch buffer in which it is, if any.
    pub places: &'a [Option<u32>],
    /// Whether the numbers of its tiles are wanted.
    pub watch: bool,
}

// SAFETY: the addresses are only used as `Task` uses them: each stretch by one thread.
unsafe impl Sync for Stage<'_> {}

/// The loop that the stages share, and their scratch memory.
pub struct Loop<'a> {
    /// Steps.
    pub extent: i64,
    /// Fewest steps of a stretch.
    pub grain: i64,
    /// Bytes per step of each scratch buffer.
    pub pitches: &'a [usize],
    /// The steps of a stretch if a test demands a number; zero to let the cache decide.
    pub block: usize,
}

/// A stage that is prepared for stretches of `block` steps and for the shorter last one.
struct Ready<'a> {
    stage: &'a Stage<'a>,
    inputs: Inputs,
    /// For each argument, the bytes from step to step; zero in scratch memory, where each stretch starts at the
    /// beginning.
    moves: SmallVec<[i64; 8]>,
    block: usize,
    /// Whether results bypass the caches.
    bypass: bool,
    whole: super::Nest,
    rest: Option<super::Nest>,
}

/// Runs a nest and returns what each stage did.
///
/// # Safety
/// The addresses are as [`numelt_runtime::NestLaunch`] promises, and each body evaluates its kernel.
pub unsafe fn launch(stages: &[Stage<'_>], shared: &Loop<'_>, threads: &Threads) -> Result<SmallVec<[Launched; 4]>> {
    let points: SmallVec<[u64; 8]> =
        stages.iter().map(|s| s.launch.geometry.extents.iter().product::<i64>() as u64).collect();
    let prices: SmallVec<[u64; 8]> = stages.iter().zip(&points).map(|(s, &n)| s.price.of(n)).collect();
    let work = prices.iter().sum::<u64>();
    let extent = shared.extent as usize;
    let block = block(stages, shared, threads.shares(work));
    let ready = stages.iter().map(|s| Ready::new(s, shared, block)).collect::<Result<SmallVec<[Ready<'_>; 8]>>>()?;
    let spent = threads.parallel(extent.div_ceil(block), work, &|range| {
        let mut scratch: SmallVec<[Lines; 8]> = shared.pitches.iter().map(|p| Lines::new(p * block)).collect();
        for unit in range {
            let from = unit * block;
            for stage in &ready {
                // SAFETY: stretches touch nothing in common that anybody writes (the optimizer's promise), and
                // scratch has room for a stretch.
                unsafe { stage.run(from as i64, block.min(extent - from), threads, &mut scratch) };
            }
        }
    });
    let done = ready.iter().zip(points).zip(prices).map(|((ready, points), price)| {
        let nanoseconds = (u128::from(price) * u128::from(spent) / u128::from(work.max(1))) as u64;
        ready.stage.price.learn(points, nanoseconds);
        let watched = ready.stage.watch.then(|| ready.stage.schedule.numbers(&ready.whole, &ready.inputs.loops));
        // the time of one stage is not measured
        Launched { points, nanoseconds: 0, numbers: watched.flatten() }
    });
    Ok(done.collect())
}

impl<'a> Ready<'a> {
    fn new(stage: &'a Stage<'a>, shared: &Loop<'_>, block: usize) -> Result<Ready<'a>> {
        let Stage { kernel, launch, places, .. } = stage;
        let bad = |what: &str| Err(Error::Invalid(format!("nest: {what}")));
        if launch.geometry.extents.get(stage.shared) != Some(&shared.extent) || kernel.reduced[stage.shared] {
            return bad("the shared loop is not a loop of each stage");
        }
        if places.len() != kernel.args.len() || places.iter().flatten().any(|&p| p as usize >= shared.pitches.len()) {
            return bad("arguments and scratch buffers disagree");
        }
        let nest = super::Nest::new(kernel, launch.geometry)?;
        if launch.geometry.args.iter().any(|arg| arg.wrap(stage.shared) != 0) {
            return bad("the shared loop wraps");
        }
        let inputs = Inputs::new(kernel, launch, &nest)?;
        let steps = launch.geometry.args.iter().map(|a| a.strides[stage.shared]);
        let moves = steps.zip(*places).map(|(step, place)| if place.is_some() { 0 } else { step }).collect();
        let of = |steps: usize| {
            let mut geometry: Geometry = launch.geometry.clone();
            geometry.extents[stage.shared] = steps as i64;
            super::Nest::new(kernel, &geometry)
        };
        let rest = shared.extent as usize % block;
        let outside = |(arg, place): (&Arg, &Option<u32>)| arg.kind != ArgKind::Store || place.is_none();
        let bypass =
            kernel.args.iter().zip(*places).all(outside) && super::bypass::pays(kernel, &nest, &inputs.pointers);
        Ok(Ready {
            stage,
            inputs,
            moves,
            block,
            bypass,
            whole: of(block)?,
            rest: if rest > 0 { Some(of(rest)?) } else { None },
        })
    }

    /// Runs the stage on `steps` steps from number `from` on.
    ///
    /// # Safety
    /// As [`launch`]; scratch has room for the steps.
    unsafe fn run(&self, from: i64, steps: usize, threads: &Threads, scratch: &mut [Lines]) {
        let mut pointers = self.inputs.pointers.clone();
        advance(&mut pointers, &self.moves, from);
        for (pointer, place) in pointers.iter_mut().zip(self.stage.places) {
            if let Some(place) = place {
                *pointer = scratch[*place as usize].as_ptr().wrapping_add(pointer.addr());
            }
        }
        let nest = match &self.rest {
            Some(rest) if steps < self.block => rest,
            Some(_) | None => &self.whole,
        };
        let task = Task {
            schedule: self.stage.schedule,
            body: self.stage.body,
            price: self.stage.price,
            spent: AtomicU64::new(0),
            bypass: self.bypass,
            nest,
            pointers: &pointers,
            params: self.inputs.params(),
            threads,
            sizes: self.inputs.sizes.clone(),
            pieces: self.inputs.pieces,
            loops: &self.inputs.loops,
            delayed: None,
            scattered: None,
        };
        // SAFETY: the caller's contract.
        unsafe { task.run() };
    }
}

/// The steps of a stretch: few enough for the cache, many enough for all threads, and a multiple of the grain.
fn block(stages: &[Stage<'_>], shared: &Loop<'_>, shares: usize) -> usize {
    let extent = shared.extent as usize;
    if shared.block > 0 {
        return shared.block.min(extent);
    }
    let grain = (shared.grain as usize).clamp(1, extent);
    let cached = cache_bytes() / step_bytes(stages, shared).max(1);
    let fair = extent.div_ceil(if shares > 1 { shares * STRETCHES } else { 1 });
    (cached.min(fair) / grain * grain).clamp(grain, extent)
}

/// Bytes that a step touches, each address once.
fn step_bytes(stages: &[Stage<'_>], shared: &Loop<'_>) -> usize {
    let mut seen: SmallVec<[(usize, usize); 16]> = SmallVec::new();
    for stage in stages {
        let geometry = stage.launch.geometry;
        for (at, arg) in stage.kernel.args.iter().enumerate() {
            let strides = &geometry.args[at].strides;
            let inside = stage.places.get(at).is_some_and(Option::is_some);
            if arg.kind == ArgKind::Index || inside || strides.get(stage.shared).is_none_or(|&s| s == 0) {
                continue;
            }
            let moving = geometry.extents.iter().zip(strides).enumerate();
            let others = moving.filter(|&(l, (_, &s))| l != stage.shared && s != 0).map(|(_, (&n, _))| n);
            let bytes = others.product::<i64>() as usize * arg.dtype.size();
            let address = stage.launch.buffers[at].address().addr();
            match seen.iter_mut().find(|s| s.0 == address) {
                Some(known) => known.1 = known.1.max(bytes),
                None => seen.push((address, bytes)),
            }
        }
    }
    seen.iter().map(|s| s.1).sum::<usize>() + shared.pitches.iter().sum::<usize>()
}

/// Bytes of a stretch: a third of the core's own cache, which also holds the kernels' own scratch.
fn cache_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            // SAFETY: no memory is involved.
            let found = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
            if (128 << 10..=16 << 20).contains(&found) {
                return (found as usize / 3).min(1 << 20);
            }
        }
        96 << 10
    })
}
