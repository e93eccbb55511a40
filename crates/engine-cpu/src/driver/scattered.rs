//! Kernels whose results are scattered: positions say where each one goes.
//!
//! In: a launch, and the scatters of its results. Out: each result at its position, stored in the order of the points.
//! A tile's results, and its positions if the kernel computes them, stay in cache until they have been scattered.
//! Threads evaluate tiles side by side. They scatter one after the other, unless positions ascend.

use super::elementwise::{self, Cut};
use super::nest::Nest;
use super::{Inputs, Launched, Price, Schedule, Task};
use crate::library::scatter::Scatter;
use crate::lines::Lines;
use crate::threads::Threads;
use numelt_codegen::Body;
use numelt_ir::{DType, Error, Result};
use numelt_opt::{ArgKind, Gathers, Kernel};
use numelt_runtime::{Launch, PutCall};
use numelt_vecmath::flags;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The points of a tile.
const TILE: usize = 4096;
/// With more threads, storing all results takes less time than one thread that does everything. Evaluating side by side
/// and scattering one after the other pays only if evaluating takes longer than scattering, because results move from
/// one core's cache to another's.
const FEW: usize = 2;
/// The most tiles that wait to be scattered, so that they stay in cache.
const MOST_WAITING: usize = 8;
/// A target that is gathered from while it changes is copied if it is this many times smaller than the values.
const SMALLER: usize = 2;

/// The scatters ("puts") of a launch.
pub struct Scattered {
    puts: SmallVec<[PendingScatter; 1]>,
    /// The arguments whose elements go to scratch memory only, and the bytes of an element.
    pub(super) rooms: SmallVec<[(usize, usize); 2]>,
    /// Arguments that the kernel gathers from.
    gathers: SmallVec<[usize; 2]>,
    /// The points of a tile if a test demands a number, otherwise zero.
    block: usize,
    /// The conditions that the kernel and the scatters have met.
    kernel: AtomicU8,
    put: AtomicU8,
}

/// A scatter, and the scratch memory in which its operands are computed.
struct PendingScatter {
    scatter: Scatter,
    values: Option<usize>,
    positions: Option<usize>,
    gathers: Gathers,
}

/// Tiles that have been evaluated, but not scattered.
#[derive(Default)]
struct EvaluatedTiles {
    /// The first tile that has not been scattered.
    next: usize,
    /// Whether a thread is scattering.
    busy: bool,
    /// The tiles that wait for others.
    waiting: Vec<TileResults>,
}

/// The results of the points of a tile.
struct TileResults {
    tile: usize,
    points: Range<usize>,
    rooms: SmallVec<[Lines; 2]>,
}

/// Runs a kernel whose results are scattered. `None` says that nothing was done, because it is better to store the
/// results first.
///
/// # Safety
/// As for [`super::launch`]; the scatters' operands are as the runtime promises.
pub unsafe fn launch(
    kernel: &Kernel,
    schedule: &Schedule,
    tier: (&dyn Body, &Price),
    launch: &Launch<'_>,
    scattered: &Scattered,
    threads: &Threads,
) -> Result<Option<Launched>> {
    let nest = Nest::new(kernel, launch.geometry)?;
    let inputs = Inputs::new(kernel, launch, &nest)?;
    let mut task = inputs.task(schedule, tier, &nest, threads);
    task.scattered = Some(scattered);
    let points = nest.points() as u64;
    // SAFETY: the caller's contract.
    let done = points == 0 || unsafe { scattered.run(&task) };
    Ok(done.then_some(Launched { points, nanoseconds: 0, numbers: None }))
}

impl Scattered {
    /// The scatters of a kernel's results. A test may demand tiles of `block` points.
    ///
    /// # Errors
    /// If the operands do not have the form of a scatter's.
    pub fn new(kernel: &Kernel, puts: &[PutCall<'_>], block: usize) -> Result<Scattered> {
        let mut rooms: SmallVec<[(usize, usize); 2]> = SmallVec::new();
        let mut room = |arg: Option<usize>, dtype: DType| {
            let Some(at) = arg else { return Ok(None) };
            let arg = kernel.args.get(at).filter(|arg| arg.kind == ArgKind::Store && arg.dtype == dtype);
            let size = arg.ok_or_else(|| Error::Invalid("a put of something else".into()))?.dtype.size();
            Ok::<_, Error>(Some(rooms.iter().position(|room| room.0 == at).unwrap_or_else(|| {
                rooms.push((at, size));
                rooms.len() - 1
            })))
        };
        let mut put = |PutCall { call, values, positions, gathers }: &PutCall<'_>| {
            let scatter = Scatter::new(call, values.is_some(), positions.is_some())?;
            let at = call.ins.get(2).map_or(DType::I64, |operand| operand.view.dtype);
            let (values, positions) = (room(*values, call.ty)?, room(*positions, at)?);
            Ok(PendingScatter { scatter, values, positions, gathers: *gathers })
        };
        let puts = puts.iter().map(&mut put).collect::<Result<_>>()?;
        let gathers = (0..kernel.args.len()).filter(|&arg| kernel.args[arg].kind == ArgKind::Gather).collect();
        Ok(Scattered { puts, rooms, gathers, block, kernel: AtomicU8::new(0), put: AtomicU8::new(0) })
    }

    /// The conditions that the kernel and the scatters have met.
    pub fn met(&self) -> [u8; 2] {
        [self.kernel.load(Ordering::Relaxed), self.put.load(Ordering::Relaxed)]
    }

    /// The points of a tile.
    pub(super) fn tile(&self) -> usize {
        if self.block > 0 { self.block } else { TILE }
    }

    /// Evaluates and scatters every point; false if that would take longer than storing the results first.
    ///
    /// # Safety
    /// The launch's contract, and the runtime's for the scatters' operands. The launch's contract, and the runtime's
    /// for the puts' operands.
    pub(super) unsafe fn run(&self, task: &Task<'_>) -> bool {
        let puts: u64 = self.puts.iter().map(|put| put.scatter.work()).sum();
        let work = task.work() + puts;
        let cut = elementwise::cut(task, task.nest.points() as usize, work);
        let (units, shares) = (cut.units(task), task.threads.shares(work));
        let gathers = units > 1 && self.puts.iter().any(|put| put.gathers != Gathers::Not);
        // SAFETY: the caller's contract.
        let ascend = (gathers || shares > 1) && unsafe { self.ascend() };
        let (heavy, small) = (task.work() > puts, self.puts.iter().all(|put| put.scatter.is_small()));
        let in_turn = shares > 1 && !ascend && heavy && (shares <= FEW || small);
        if shares > FEW && !ascend && !in_turn {
            return false;
        }
        // gathers read what was there before
        let before = if gathers {
            // SAFETY: the caller's contract.
            let Some(copies) = (unsafe { self.copies(task, ascend) }) else { return false };
            copies
        } else {
            Vec::new()
        };
        if shares > 1 && ascend {
            task.parallel(units, work, &|range| {
                // SAFETY: the caller's contract; positions are distinct, and each tile has its own.
                unsafe { self.put_all(&TileWorker::new(self, task, &cut, &before), range) };
            });
        } else if in_turn {
            let (next, queue) = (AtomicUsize::new(0), Mutex::new(EvaluatedTiles::default()));
            task.parallel(shares, work, &|range| {
                let worker = TileWorker::new(self, task, &cut, &before);
                for _ in range {
                    loop {
                        let tile = next.fetch_add(1, Ordering::Relaxed);
                        if tile >= units {
                            break;
                        }
                        // SAFETY: the caller's contract; tiles are put one after the other.
                        unsafe { self.put_in_order(worker.evaluate(tile, worker.rooms()), &queue) };
                    }
                }
            });
        } else {
            // SAFETY: the caller's contract.
            unsafe { self.put_all(&TileWorker::new(self, task, &cut, &before), 0..units) };
        }
        true
    }

    /// Evaluates and scatters tiles one after the other.
    ///
    /// # Safety
    /// The launch's contract; no other thread scatters to the same positions meanwhile.
    unsafe fn put_all(&self, worker: &TileWorker<'_>, tiles: Range<usize>) {
        let mut rooms = worker.rooms();
        for tile in tiles {
            // SAFETY: the caller's contract.
            unsafe {
                let made = worker.evaluate(tile, rooms);
                self.put(&made);
                rooms = made.rooms;
            }
        }
    }

    /// Scatters a tile and those that wait for it, or leaves it to the thread that scatters the tiles before it.
    ///
    /// # Safety
    /// The launch's contract; tiles are scattered through this queue only.
    unsafe fn put_in_order(&self, made: TileResults, queue: &Mutex<EvaluatedTiles>) {
        let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock();
        // the thread that scatters may have lost its processor
        while state.waiting.len() >= MOST_WAITING && state.busy {
            drop(state);
            std::thread::yield_now();
            state = lock();
        }
        state.waiting.push(made);
        if state.busy {
            return;
        }
        while let Some(at) = state.waiting.iter().position(|made| made.tile == state.next) {
            let made = state.waiting.swap_remove(at);
            state.busy = true;
            drop(state);
            // SAFETY: the caller's contract; nobody else puts while `busy` is set.
            unsafe { self.put(&made) };
            state = lock();
            state.busy = false;
            state.next += 1;
        }
    }

    /// Scatters a tile.
    ///
    /// # Safety
    /// The launch's contract; no other thread scatters to the same positions meanwhile.
    unsafe fn put(&self, made: &TileResults) {
        for put in &self.puts {
            let room = |room: Option<usize>| room.map(|at| made.rooms[at].start());
            // SAFETY: the caller's contract; the rooms hold the tile's results.
            unsafe { put.scatter.part(made.points.clone(), room(put.values), room(put.positions)) };
        }
        note(&self.put);
    }

    /// Copies the targets from which the kernel gathers while it scatters to them; `None` if they are too large.
    ///
    /// # Safety
    /// The launch's contract, and the runtime's for the scatters' operands.
    unsafe fn copies(&self, task: &Task<'_>, ascend: bool) -> Option<Vec<TargetCopy>> {
        let mut copies = Vec::new();
        let meets = |put: &&PendingScatter| match put.gathers {
            Gathers::Not => false,
            Gathers::There => !ascend,
            Gathers::Anywhere => true,
        };
        for put in self.puts.iter().filter(meets) {
            let (target, low, bytes) = put.scatter.target();
            if (bytes * SMALLER) as u64 > task.nest.points() as u64 * put.scatter.size() as u64 {
                return None;
            }
            let mut room = Lines::new(bytes);
            // SAFETY: all bytes between the target's elements are its base's; the room is as large.
            unsafe { std::ptr::copy_nonoverlapping(target.wrapping_sub(low), room.as_ptr(), bytes) };
            copies.push(TargetCopy { target, low, room });
        }
        Some(copies)
    }

    /// Whether all positions are in memory, and each is larger than the one before.
    ///
    /// # Safety
    /// The runtime's contract for the scatters' operands.
    unsafe fn ascend(&self) -> bool {
        // SAFETY: positions that are not made are readable.
        self.puts.iter().all(|put| put.positions.is_none() && unsafe { put.scatter.ascends() })
    }
}

/// The contents of a target before the launch.
struct TargetCopy {
    /// The address of the element with all indices zero, which identifies the target.
    target: *const u8,
    /// The bytes of the target before that address.
    low: usize,
    room: Lines,
}

// SAFETY: the address is only compared, and the room is read.
unsafe impl Sync for TargetCopy {}

/// The means of one thread to evaluate tiles.
struct TileWorker<'a> {
    scattered: &'a Scattered,
    task: &'a Task<'a>,
    cut: &'a Cut,
    /// The arguments that gather from copies, and the addresses of the copies.
    gathers: SmallVec<[(usize, *mut u8); 1]>,
}

impl<'a> TileWorker<'a> {
    fn new(scattered: &'a Scattered, task: &'a Task<'a>, cut: &'a Cut, before: &[TargetCopy]) -> TileWorker<'a> {
        let copied = |arg: usize| {
            let copy = before.iter().find(|copy| copy.target == task.pointers[arg].cast_const())?;
            Some((arg, copy.room.start().wrapping_add(copy.low).cast_mut()))
        };
        let gathers = scattered.gathers.iter().filter_map(|&arg| copied(arg));
        TileWorker { scattered, task, cut, gathers: gathers.collect() }
    }

    /// Scratch memory for the results of a tile.
    fn rooms(&self) -> SmallVec<[Lines; 2]> {
        self.scattered.rooms.iter().map(|room| Lines::new(self.cut.points() * room.1)).collect()
    }

    /// Evaluates a tile into scratch memory.
    ///
    /// # Safety
    /// The launch's contract.
    unsafe fn evaluate(&self, tile: usize, mut rooms: SmallVec<[Lines; 2]>) -> TileResults {
        let mut spot = self.cut.spot(self.task, tile);
        for (&(arg, _), room) in self.scattered.rooms.iter().zip(&mut rooms) {
            spot.pointers[arg] = room.as_ptr();
        }
        for &(arg, copy) in &self.gathers {
            let moved = spot.pointers[arg].addr().wrapping_sub(self.task.pointers[arg].addr());
            spot.pointers[arg] = copy.wrapping_add(moved);
        }
        // SAFETY: the caller's contract; the rooms have space for the tile.
        unsafe { self.cut.evaluate(self.task, &spot) };
        note(&self.scattered.kernel);
        TileResults { tile, points: spot.points, rooms }
    }
}

/// Adds the conditions that were met since the last call.
fn note(met: &AtomicU8) {
    let now = flags::get();
    if now != 0 {
        met.fetch_or(now, Ordering::Relaxed);
        flags::clear();
    }
}
