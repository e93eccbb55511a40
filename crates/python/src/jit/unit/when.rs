//! When a loop is compiled, and how CPython begins a loop whose code is not there yet.
//!
//! In: estimates of the time that CPython takes. Out: answers to the questions of the unit. Not here: compiling.

use super::{Found, JitUnit, LEAVE_REFUSALS, MOST_EARLY, Variant, locked};
use crate::jit::account::get;
use crate::jit::arguments::Numbers;
use crate::jit::{code, forced, worth};
use numelt_jit::{Argument, Expr, StmtKind, Type};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Unless compiling is requested, a loop is compiled when CPython has taken an estimated total of this many nanoseconds
/// for it, which is about what compiling takes.
const WORTH: f64 = 10e6;
/// While compiling does not pay, the unit is not called for some runs, so that estimates cost little. These runs may
/// take this part of `WORTH`, and there are at most so many of them; fewer for `while` loops, any of which may be long.
const SMALL_PART: f64 = 0.01;
const MOST_SKIPPED: u64 = 64;
const MOST_SKIPPED_WHILE: u64 = 8;
/// A loop that is being compiled begins in the form that compiled code can resume if CPython takes an estimated time of
/// more than this many nanoseconds for this run: in less time, compiling is not finished.
const LONG_RUN: f64 = 10e6;
/// How long the program waits at least, and at most, for code that is compiled in the background. Most loops are
/// compiled in the shorter time.
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_PATIENCE: Duration = Duration::from_millis(100);
/// How long CPython must have been running a loop before the code that resumes it is compiled.
const BUSY: Duration = Duration::from_millis(5);
const BUSY_IF_REQUESTED: Duration = Duration::from_micros(200);
/// The largest number of iterations between two attempts to resume a loop.
const MOST_BETWEEN: u64 = 1024;

/// The number of variants after which no more are compiled if all of them have been given up.
const MOST_FAILED: usize = 2;

/// Is a variant not run any more, because running it has gained nothing?
pub(super) fn is_given_up(variant: &Variant) -> bool {
    let is_early = get(&variant.early) >= MOST_EARLY && 2 * get(&variant.early) > get(&variant.runs);
    is_early || variant.account.is_negative()
}

impl JitUnit {
    /// Has CPython been running the loop for long enough to compile the code that resumes it?
    pub(super) fn has_been_busy(&self) -> bool {
        let mut first = locked(&self.first_called);
        let first = first.get_or_insert_with(Instant::now);
        let busy = if self.is_requested { BUSY_IF_REQUESTED } else { BUSY };
        forced::forced_exit().is_some() || forced::forced_entry().is_some() || first.elapsed() >= busy
    }

    /// Is code for this unit compiled while CPython runs the loop?
    pub(super) fn compiles_in_background(&self) -> bool {
        !self.is_awaited && code::has_background() && forced::forced_entry().is_none()
    }

    /// Is code for this unit being compiled in the background?
    pub(super) fn is_compiling(&self) -> bool {
        let is_compiling = self.compiling.load(Ordering::Acquire) > 0;
        if is_compiling {
            code::continue_background();
        }
        is_compiling
    }

    /// Sets when a resuming unit is called again: after the next iteration, or after twice as many as before.
    pub(super) fn wait(&self, longer: bool) {
        let between = match forced::forced_entry() {
            Some(iterations) => iterations,
            None if longer => (2 * get(&self.between)).min(MOST_BETWEEN),
            None => 1,
        };
        self.between.store(between, Ordering::Relaxed);
        self.due_in.store(between, Ordering::Relaxed);
    }

    /// Has CPython taken so long for this loop, this run included, that compiling pays? If not, the unit is not called
    /// for some of the next runs, because a call takes as long as some iterations.
    pub(super) fn is_worth_it(&self, arguments: &[Argument], numbers: &Numbers) -> bool {
        let Some(now) = worth::nanoseconds(&self.tree, arguments, numbers) else { return true };
        // runs for which the unit was not called are assumed to be like this one
        let all = now * get(&self.between) as f64;
        let before = self.waited.fetch_add(all.min(MOST_PATIENCE.as_nanos() as f64) as u64, Ordering::Relaxed);
        if before as f64 + all >= WORTH {
            return true;
        }
        let is_while = matches!(self.tree.body.kind, StmtKind::While { .. });
        let most = if is_while { MOST_SKIPPED_WHILE } else { MOST_SKIPPED };
        let between = ((WORTH * SMALL_PART / now.max(1.0)) as u64).clamp(1, most);
        self.between.store(between, Ordering::Relaxed);
        self.due_in.store(between - 1, Ordering::Relaxed);
        false
    }

    /// May this run of the loop take so long in CPython that compiled code can take over? The number of iterations of a
    /// `while` loop is unknown.
    pub(super) fn may_be_long(&self, arguments: &[Argument], numbers: &Numbers) -> bool {
        let is_while = matches!(self.tree.body.kind, StmtKind::While { .. });
        is_while || worth::nanoseconds(&self.tree, arguments, numbers).is_none_or(|time| time >= LONG_RUN)
    }

    /// Does a `while` loop leave the form in which compiled code can take over, because it has often been refused?
    pub(super) fn is_left(&self) -> bool {
        let is_while = matches!(self.tree.body.kind, StmtKind::While { .. });
        is_while && self.is_resumed && get(&self.refusals) >= LEAVE_REFUSALS && forced::forced_entry().is_none()
    }

    /// Adds the time that CPython is estimated to take for a run, while the code is being compiled.
    pub(super) fn note_run(&self, arguments: &[Argument], numbers: &Numbers) {
        let now = worth::nanoseconds(&self.tree, arguments, numbers).unwrap_or(0.0);
        self.waited.fetch_add(now as u64, Ordering::Relaxed);
    }

    /// How long the program waits now for code that is being compiled. A loop that is as long as it seems to be gains
    /// nothing from running in CPython meanwhile, and compiling takes longer then. So the program waits twice as long
    /// as CPython has taken for the loop, this run included, and again when that time has doubled. It does not wait
    /// while it has waited longer in all than compiled code has gained.
    pub(super) fn patience(&self) -> Duration {
        let waited = get(&self.waited);
        let allowance = code::allowance(PATIENCE);
        if waited < get(&self.waits_from) || allowance.is_zero() {
            return Duration::ZERO;
        }
        self.waits_from.store(2 * waited, Ordering::Relaxed);
        Duration::from_nanos(2 * waited).clamp(PATIENCE, MOST_PATIENCE).min(allowance)
    }

    /// How a loop begins whose code is being compiled.
    pub(super) fn later(&self, arguments: &[Argument], numbers: &Numbers) -> Found {
        let is_later = self.is_resumed || self.may_be_long(arguments, numbers) && self.can_be_resumed(arguments);
        if is_later { Found::Later } else { Found::Nothing }
    }

    /// Can compiled code take over in the loop? It can continue iterators over ranges and arrays.
    pub(super) fn can_be_resumed(&self, arguments: &[Argument]) -> bool {
        let StmtKind::For { iter, .. } = &self.tree.body.kind else { return true };
        match iter {
            Expr::Slot(slot) => matches!(arguments[*slot].ty, Type::Range | Type::Array { .. }),
            Expr::Call(function, ..) => matches!(&**function, Expr::Input(name) if self.tree.inputs[*name] == "range"),
            _ => false,
        }
    }

    /// Has the code for several combinations of types been given up, and none been good? Then further code is not worth
    /// compiling, unless the program requests it.
    pub(super) fn has_failed(&self) -> bool {
        let variants = locked(&self.variants);
        !self.is_requested && variants.len() >= MOST_FAILED && variants.iter().all(|variant| is_given_up(variant))
    }
}
