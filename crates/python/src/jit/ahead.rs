//! The driver of iterations ahead: it runs some iterations at a time, on several threads if they are independent of
//! each other.
//!
//! In: a [`Job`] from compiled code. Out: the number of the first iteration that has not run. A range of iterations
//! that runs at once is a *try*. If one of its iterations meets a floating-point condition or gives up, the try is
//! undone, from a copy of the memory that it may write (`undo`). Then shorter tries find the iteration.
//!
//! Iterations that cannot be given up need no copy: those that only move numbers and compute integers. Neither do those
//! whose stores keep what they overwrite (`covering` of crate `codegen`).
//!
//! A try takes some tens of microseconds, and the memory that it writes fits into the first-level cache, so that
//! copying it costs little. Signals are checked between two tries.

use crate::cpython::endings::outlive;
use crate::jit::{forced, host_functions};
use numelt_codegen::functions::{
    Change, Job, Machine,
    undo::{self, Blocks},
};
use numelt_jit::IterationsAhead;
use numelt_runtime::Runtime;
use numelt_vecmath::flags;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The floating-point conditions for which the exact code exits.
const CONDITIONS: u8 = flags::DIVIDE | flags::OVER | flags::INVALID;
/// The approximate number of instructions in the first try.
const FIRST: i64 = 20_000;
/// Tries become longer until they take this many nanoseconds, or write this many bytes.
const LONG: u128 = 50_000;
const MOST_BYTES: usize = 32 << 10;
/// The same where stores keep what they overwrite. All tries keep it in the same memory, which stays in the first-level
/// cache although the arrays pass through it.
const MOST_BYTES_KEPT: usize = 8 << 10;
/// The same where iterations write elements beside those of the iterations before, in many cache lines.
const MOST_BYTES_SCATTERED: usize = 256 << 10;
/// The number of bytes that a first try may write in any case, and the limit if the loop has much work.
const MOST_BYTES_FREE: i64 = 1 << 10;
const MOST_BYTES_ONCE: i64 = 1 << 20;
/// For tries on several threads: the nanoseconds on each thread, and the bytes that each may write.
const LONG_SHARED: u64 = 2_000_000;
const MOST_BYTES_SHARED: usize = 512 << 10;
/// A try on several threads is worth it if it keeps each of them busy for so many nanoseconds: beginning and ending it
/// takes some microseconds. Loops that hardly compute write that many bytes sooner.
const LEAST_EACH: u64 = 40_000;
/// How many bytes of memory for copies a thread keeps from call to call.
const MOST_KEPT: usize = 4 << 20;
/// For tests: the claimed work of a try that must be shared among threads, in nanoseconds.
const EAGER: u64 = 10_000_000;
/// The initial value of a variable in iterations on another thread. If the variable still has it in the end, these
/// iterations have not assigned it. As a float of either size it is a NaN that no operation produces.
const UNTOUCHED: u64 = 0x7FF7_DEAD_FFF7_777F;
/// Memory for kept elements may be so many times as large as they are.
const SPARSE: usize = 16;
/// An iteration of at most this many instructions may run without asking for signals.
const MOST_UNPOLLED: i64 = 1 << 24;
/// Iterations that took fewer nanoseconds do not tell how long others take.
const LEAST_MEASURED: u128 = 5_000;
/// By how much tries become longer after those: still shorter than a long one.
const LONGER: i64 = 8;
/// Work that takes fewer nanoseconds runs on one thread.
const LEAST_SHARED: u64 = 150_000;

/// The flag of iterations that are never told to give up.
static GO_ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The flag by which iterations that this thread runs for another one are told to give up.
    static GIVE_UP: Cell<Option<*const AtomicBool>> = const { Cell::new(None) };
    /// How long this thread has been doing iterations ahead.
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Memory for copies, kept from call to call, because new memory costs a page fault every 4 kB.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// The time that this thread has spent on iterations ahead since the last call of this function.
pub fn spent() -> Duration {
    SPENT.take()
}

/// Shall iterations be given up? Compiled code calls this from time to time. On the thread that holds the GIL, it also
/// runs the handlers of signals.
pub extern "C" fn poll() -> u8 {
    match GIVE_UP.get() {
        // SAFETY: set while the job that owns it is being done, on this thread.
        Some(give_up) => unsafe { &*give_up }.load(Ordering::Relaxed).into(),
        None => host_functions::poll(),
    }
}

/// Runs as many iterations ahead as possible. Returns the number of the first iteration that has not run.
///
/// # Safety
/// The words are those of a [`Job`], the memory of its arrays is held by guards, and the GIL is held.
pub unsafe extern "C" fn run_ahead(words: *const u64) -> u64 {
    // SAFETY: the caller's promise.
    let job = unsafe { Job::read(words) };
    let saved = flags::save();
    // a panic must not unwind through compiled code
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| outlive(|| Tries::new(&job).run())));
    saved.restore_with(0);
    done.unwrap_or(job.iterations.start) as u64
}

/// The values that change from iteration to iteration.
type State = SmallVec<[u64; 16]>;

struct Tries<'a> {
    job: &'a Job,
    /// Will no iteration be given up? Then compiled code is not told of signals within a try.
    is_sure: bool,
    /// Do stores keep all that they overwrite? Then compiled code is not told of signals either: all iterations of a try
    /// run to their ends.
    is_covered: bool,
    /// Do no two elements of an array that is written share memory?
    are_plain: bool,
    function: Machine,
    /// The words that the job's function gets on this thread.
    words: SmallVec<[u64; 48]>,
    saved: Vec<u8>,
    /// Where stores keep what they overwrite.
    kept: Vec<u8>,
    /// When the clock was last read, if it was.
    now: Option<Instant>,
    /// Memory for copies that tries on several threads can use.
    spare: Mutex<Vec<Vec<u8>>>,
}

// SAFETY: other threads call the job's function on words of their own, and for iterations that are independent of each
// other (`Tries::run_shared_try`). The pointers of the job are only read.
struct Shared<'a>(&'a Job);
// SAFETY: see above.
unsafe impl Sync for Shared<'_> {}

impl Tries<'_> {
    fn new(job: &Job) -> Tries<'_> {
        // SAFETY: compiled code has stored this many words there.
        let words = unsafe { std::slice::from_raw_parts(job.words, job.count) };
        let mut spare = SPARE.take();
        let are_plain = undo::are_plain(job);
        Tries {
            job,
            is_sure: job.only_polls_stop && job.work <= MOST_UNPOLLED,
            is_covered: are_plain && job.work <= MOST_UNPOLLED && undo::is_covered(job),
            are_plain,
            function: nothing,
            words: words.into(),
            saved: spare.pop().unwrap_or_default(),
            kept: spare.pop().unwrap_or_default(),
            now: None,
            spare: Mutex::new(spare),
        }
    }

    /// The time since this was last called.
    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        self.now.replace(now).map_or(Duration::ZERO, |before| now - before)
    }

    /// Would a try on several threads keep each of them busy? `pace` is the time of an iteration in nanoseconds.
    fn keeps_busy(&self, next: i64, pace: u64) -> bool {
        let per_iteration = self.blocks(&(next..next + 1)).bytes.max(1);
        (MOST_BYTES_SHARED / per_iteration) as u64 * pace >= LEAST_EACH
    }

    /// The memory to copy before these iterations run.
    fn blocks(&self, iterations: &Range<i64>) -> Blocks {
        let mut blocks = if self.is_sure { Blocks::none() } else { Blocks::of(self.job, iterations) };
        if keeps(self.job) {
            // memory between the elements is not touched
            blocks.bytes = blocks.bytes.max(blocks.span() / SPARSE);
        }
        blocks
    }

    fn state(&self) -> State {
        self.words[2..2 + self.job.changing].into()
    }

    fn set_state(&mut self, state: &[u64]) {
        self.words[2..2 + self.job.changing].copy_from_slice(state);
    }

    /// Runs all tries, and stores the values after the last iteration where compiled code reads them.
    fn run(mut self) -> i64 {
        let Range { start, end } = self.job.iterations;
        let is_odd = self.job.needs_plain && !self.are_plain;
        if start >= end || is_odd || has_raised() || !undo::is_inside(self.job) || !undo::are_apart(self.job) {
            return start;
        }
        let work = self.job.work.max(1);
        let mut next = start;
        let mut count = (FIRST / work).max(1);
        // copying so much memory would take longer than the iterations themselves
        let mut blocks = Some(self.blocks(&(start..(start + count).min(end))));
        let bytes = blocks.as_ref().map_or(0, |blocks| blocks.bytes as i64);
        let all = work.saturating_mul(end - start).min(MOST_BYTES_ONCE);
        if bytes > MOST_BYTES_FREE + all.max(8 * work * count) {
            return start;
        }
        let is_eager = forced::iterations_ahead() == IterationsAhead::All;
        // Reading the clock takes as long as some hundred instructions. It is left out for few iterations: their time
        // counts as that of the exact code.
        let is_one_try = count >= end - start && !is_eager && self.job.code.is_ready();
        let begin = (!is_one_try).then(Instant::now);
        let all = if forced::are_compiled_at_once() { u64::MAX } else { work.saturating_mul(end - start) as u64 };
        let Some(function) = self.job.code.get(all) else { return start };
        self.function = function;
        if !is_one_try {
            // it may have been compiled now
            self.lap();
        }
        let may_share = self.job.is_free && self.are_plain && (self.is_covered || !keeps(self.job));
        let may_share = may_share && (is_eager || threads() > 1);
        let mut pace: Option<u64> = None;
        while next < end {
            if let Some(pace) = pace.filter(|_| may_share)
                && (is_eager || (end - next) as u64 * pace >= LEAST_SHARED && self.keeps_busy(next, pace))
            {
                let (until, done) = self.run_shared_try(next..end, pace);
                self.lap();
                if !done {
                    // find the iteration
                    count = ((until - next) / 2).max(1);
                    run_up_to_failure(&mut self, &mut next, count);
                    self.lap();
                    break;
                }
                next = until;
            } else {
                let round = next..(next + count).min(end);
                let (step, blocks) = self.step(&round, blocks.take());
                let failed = self.run_round(&round, step);
                if let Some(failed) = failed {
                    next = failed.start;
                    run_up_to_failure(&mut self, &mut next, (failed.end - failed.start) / 2);
                    self.lap();
                    break;
                }
                next = round.end;
                if is_one_try && next == end {
                    break;
                }
                let took = self.lap().as_nanos();
                if took < LEAST_MEASURED {
                    count = count.saturating_mul(LONGER);
                    continue;
                }
                let now = (took as u64 / (round.end - round.start) as u64).max(1);
                // other programs may have used the processor meanwhile
                pace = Some(pace.map_or(now, |before| now.min(before + before / 4 + 1)));
                // a byte is copied in a small part of a nanosecond
                if took < LONG.max(blocks.bytes as u128)
                    || blocks.is_scattered && 2 * blocks.bytes <= most_bytes(&blocks)
                {
                    count = count.saturating_mul(2);
                }
            }
            if next < end {
                if host_functions::poll() != 0 {
                    break;
                }
                self.lap();
            }
        }
        if let (Some(begin), Some(now)) = (begin, self.now) {
            SPENT.set(SPENT.get() + (now - begin));
        }
        let mut spare = std::mem::take(&mut *locked(&self.spare));
        spare.extend([std::mem::take(&mut self.saved), std::mem::take(&mut self.kept)]);
        let mut kept = 0;
        spare.retain(|memory| {
            kept += memory.capacity();
            kept <= MOST_KEPT
        });
        SPARE.set(spare);
        // SAFETY: compiled code has reserved this many words there.
        unsafe { std::ptr::copy_nonoverlapping(self.words[2..].as_ptr(), self.job.words.add(2), self.job.changing) };
        next
    }

    /// Into how many iterations to divide a range, so that the memory that they write fits into the cache; and the memory
    /// of the first ones. `blocks` is that of the whole range, if it is known.
    fn step(&self, round: &Range<i64>, blocks: Option<Blocks>) -> (i64, Blocks) {
        let mut step = round.end - round.start;
        let of = |count| self.blocks(&(round.start..round.start + count));
        let mut blocks = blocks.unwrap_or_else(|| of(step));
        let most = |blocks: &Blocks| if self.is_covered { MOST_BYTES_KEPT } else { most_bytes(blocks) };
        // iterations may all write the same memory
        let is_less = |blocks: &Blocks| self.is_covered || blocks.bytes > 2 * of(1).bytes;
        while step > 1 && blocks.bytes > most(&blocks) && is_less(&blocks) {
            step /= 2;
            blocks = of(step);
        }
        (step, blocks)
    }

    /// Runs tries of `step` iterations each on this thread. Returns the range of the one that failed and was undone.
    fn run_round(&mut self, round: &Range<i64>, step: i64) -> Option<Range<i64>> {
        if self.is_covered && round.end - round.start > step {
            return self.run_covered_round(round, step);
        }
        pieces(round, step).find(|few| {
            let blocks = self.blocks(few);
            !self.run_try(few, &blocks)
        })
    }

    /// The same for iterations whose stores keep what they overwrite. Such tries are short, so little happens between two
    /// of them.
    fn run_covered_round(&mut self, round: &Range<i64>, step: i64) -> Option<Range<i64>> {
        let first = Blocks::of(self.job, &(round.start..round.start + step));
        first.make_room(&mut self.kept, distances(self.job, &mut self.words));
        let moves: State = undo::moves(self.job).map(|bytes| bytes.wrapping_mul(step) as u64).collect();
        let before = GIVE_UP.replace(Some(&raw const GO_ON));
        flags::clear();
        let failed = pieces(round, step).find(|few| {
            let state = self.state();
            (self.words[0], self.words[1]) = (few.start as u64, few.end as u64);
            // SAFETY: the words are those that the function was written for.
            unsafe { (self.function)(self.words.as_mut_ptr()) };
            if self.words[0] != 0 || flags::get() & CONDITIONS != 0 {
                // SAFETY: `undo::is_covered`, and all iterations have run, because no poll has told them to stop. The
                // distances suit these iterations: they have moved with them.
                unsafe { Blocks::of(self.job, few).restore_kept(distances(self.job, &mut self.words)) };
                self.set_state(&state);
                return true;
            }
            // the next iterations use the same room
            for (distance, bytes) in distances(self.job, &mut self.words).iter_mut().zip(&moves) {
                *distance = distance.wrapping_sub(*bytes);
            }
            false
        });
        GIVE_UP.set(before);
        failed
    }

    /// Runs a try on this thread. Returns whether it has succeeded; otherwise it has been undone.
    fn run_try(&mut self, iterations: &Range<i64>, blocks: &Blocks) -> bool {
        let state = self.state();
        self.saved.clear();
        if keeps(self.job) {
            blocks.make_room(&mut self.kept, distances(self.job, &mut self.words));
        }
        if !self.is_covered {
            // SAFETY: the arrays are allocated, and `run` has checked all indices.
            unsafe { blocks.save(&mut self.saved) };
        }
        flags::clear();
        (self.words[0], self.words[1]) = (iterations.start as u64, iterations.end as u64);
        let before = GIVE_UP.replace((self.is_sure || self.is_covered).then_some(&raw const GO_ON));
        // SAFETY: the words are those that the function was written for.
        unsafe { (self.function)(self.words.as_mut_ptr()) };
        GIVE_UP.set(before);
        if self.words[0] == 0 && (self.is_sure || flags::get() & CONDITIONS == 0) {
            return true;
        }
        if self.is_covered {
            // SAFETY: `undo::is_covered`, and all iterations have run, because no poll has told them to stop.
            unsafe { blocks.restore_kept(distances(self.job, &mut self.words)) };
        } else {
            // SAFETY: saved above.
            unsafe { blocks.restore(&self.saved) };
        }
        self.set_state(&state);
        false
    }

    /// Runs a try on several threads. `pace` is the time of an iteration in nanoseconds. Returns the end of the range,
    /// and whether the try has succeeded; otherwise it has been undone.
    fn run_shared_try(&mut self, iterations: Range<i64>, pace: u64) -> (i64, bool) {
        // SAFETY: settings change only with the GIL held; it is held here and not released.
        let host = unsafe { Runtime::global().with_host(Arc::clone) };
        let threads = host.threads().max(1) as i64;
        let of_one = |iteration| self.blocks(&(iteration..iteration + 1));
        let first = of_one(iterations.start);
        let per_iteration = first.bytes.max(of_one(iterations.end - 1).bytes).max(1);
        let most = ((MOST_BYTES_SHARED / per_iteration) as i64 * threads).min((LONG_SHARED / pace) as i64 * threads);
        let iterations = iterations.start..iterations.end.min(iterations.start + most.max(threads));
        let step = (most_bytes(&first) / per_iteration).max(1) as i64;
        let give_up = AtomicBool::new(false);
        let (job, function, words, spare) = (Shared(self.job), self.function, &self.words, &self.spare);
        let (is_sure, is_covered) = (self.is_sure, self.is_covered);
        let done: Mutex<Vec<Done>> = Mutex::default();
        let here = std::thread::current().id();
        let part = |units: Range<usize>| {
            let Shared(job) = &job;
            let own = iterations.start + units.start as i64..iterations.start + units.end as i64;
            if give_up.load(Ordering::Relaxed) {
                return;
            }
            let mut words = words.clone();
            for (word, change) in words[2..].iter_mut().zip(&job.carried) {
                *word = if *change == Change::Added { 0 } else { UNTOUCHED };
            }
            let mut saved = locked(spare).pop().unwrap_or_default();
            saved.clear();
            let is_other = std::thread::current().id() != here;
            if is_covered {
                Blocks::of(job, &own).make_room(&mut saved, distances(job, &mut words));
            }
            let mut reached = own.start;
            let told =
                if is_sure || is_covered { Some(&raw const GO_ON) } else { is_other.then_some(&raw const give_up) };
            let before = GIVE_UP.replace(told);
            // The iterations run in pieces so small that copied memory is still in the first cache when it is written.
            for few in pieces(&own, step) {
                (words[0], words[1]) = (few.start as u64, few.end as u64);
                if !is_sure && !is_covered {
                    // SAFETY: only this thread runs these iterations, and they write memory that no other one uses.
                    unsafe { Blocks::of(job, &few).save(&mut saved) };
                }
                // SAFETY: the words are those that the function was written for.
                unsafe { function(words.as_mut_ptr()) };
                reached = few.end;
                if words[0] != 0 || give_up.load(Ordering::Relaxed) {
                    give_up.store(true, Ordering::Relaxed);
                    break;
                }
            }
            GIVE_UP.set(before);
            if !is_sure && flags::get() & CONDITIONS != 0 {
                give_up.store(true, Ordering::Relaxed);
            }
            let state = words[2..2 + job.changing].into();
            let distances = State::from_slice(distances(job, &mut words));
            locked(&done).push(Done { own, reached, saved, distances, state });
        };
        flags::clear();
        let units = (iterations.end - iterations.start) as usize;
        let work = if forced::iterations_ahead() == IterationsAhead::All { EAGER } else { units as u64 * pace };
        host.parallel(units, work, &part);
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sums: Option<State> = self.sums(&done);
        let is_done = is_sure || !give_up.load(Ordering::Relaxed) && flags::get() & CONDITIONS == 0;
        let Some(sums) = sums.filter(|_| is_done) else {
            for Done { own, reached, saved, distances, .. } in done.iter().filter(|done| done.reached > done.own.start)
            {
                if is_covered {
                    // SAFETY: the distances suit all iterations of this range, and these have run to their ends.
                    unsafe { Blocks::of(self.job, &(own.start..*reached)).restore_kept(distances) };
                    continue;
                }
                let mut rest = &saved[..];
                for few in pieces(own, step) {
                    if rest.is_empty() {
                        break;
                    }
                    // SAFETY: saved above, and all threads have ended.
                    rest = unsafe { Blocks::of(self.job, &few).restore(rest) };
                }
            }
            return (iterations.end, false);
        };
        let mut spare = locked(&self.spare);
        let mut done: Vec<(i64, State)> = done
            .into_iter()
            .map(|done| {
                spare.push(done.saved);
                (done.own.end, done.state)
            })
            .collect();
        drop(spare);
        done.sort_unstable_by_key(|(end, _)| std::cmp::Reverse(*end));
        for (k, change) in self.job.carried.iter().enumerate() {
            // the last range in which the variable was assigned
            let is_touched = |word: u64| match change {
                Change::Kept(size) => (word ^ UNTOUCHED) << (64 - 8 * size) != 0,
                _ => true,
            };
            if *change == Change::Added {
                self.words[2 + k] = sums[k];
            } else if let Some((_, state)) = done.iter().find(|(_, state)| is_touched(state[k])) {
                self.words[2 + k] = state[k];
            }
        }
        (iterations.end, true)
    }
}

/// How many threads the host has.
fn threads() -> usize {
    // SAFETY: settings change only with the GIL held; it is held here and not released.
    unsafe { Runtime::global().with_host(|host| host.threads()) }
}

/// How many bytes a try may write that writes these.
fn most_bytes(blocks: &Blocks) -> usize {
    if blocks.is_scattered { MOST_BYTES_SCATTERED } else { MOST_BYTES }
}

/// Divides a range into pieces of `step` iterations; the last piece may be shorter.
fn pieces(iterations: &Range<i64>, step: i64) -> impl Iterator<Item = Range<i64>> + use<> {
    let end = iterations.end;
    (iterations.start..end).step_by(step as usize).map(move |start| start..end.min(start + step))
}

/// A function that runs no iterations, in place of code that is not compiled yet.
unsafe extern "C" fn nothing(_: *mut u64) {}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a signal handler raised an exception?
fn has_raised() -> bool {
    // SAFETY: compiled code runs with the GIL held.
    !unsafe { pyo3::ffi::PyErr_Occurred() }.is_null()
}

/// A range of iterations that a thread has run.
struct Done {
    own: Range<i64>,
    /// Those before this one have run.
    reached: i64,
    /// A copy of the memory that they write, or the room for what stores keep, and where they keep it.
    saved: Vec<u8>,
    distances: State,
    /// The values after them.
    state: State,
}

/// Do stores keep what they overwrite?
fn keeps(job: &Job) -> bool {
    job.written.first().is_some_and(|part| part.elements.is_some())
}

/// The words that say where stores keep what they overwrite.
fn distances<'a>(job: &Job, words: &'a mut [u64]) -> &'a mut [u64] {
    let count = if keeps(job) { job.written.len() } else { 0 };
    let first = words.len() - count;
    &mut words[first..]
}

impl Tries<'_> {
    /// The sums of the numbers that iterations have added to each value; `None` if one does not fit 64 bits.
    fn sums(&self, done: &[Done]) -> Option<State> {
        let sum = |(k, start): (usize, &u64)| {
            let mut all = done.iter().map(|done| done.state[k] as i64);
            match self.job.carried[k] {
                Change::Added => all.try_fold(*start as i64, i64::checked_add).map(|sum| sum as u64),
                _ => Some(*start),
            }
        };
        self.words[2..2 + self.job.changing].iter().enumerate().map(sum).collect()
    }
}

/// Runs shorter and shorter tries, up to the iteration that gives up.
fn run_up_to_failure(tries: &mut Tries<'_>, next: &mut i64, mut count: i64) {
    while count > 0 {
        let iterations = *next..(*next + count).min(tries.job.iterations.end);
        if iterations.is_empty() {
            return;
        }
        let blocks = Blocks::of(tries.job, &iterations);
        if tries.run_try(&iterations, &blocks) {
            *next = iterations.end;
        }
        count /= 2;
    }
}
