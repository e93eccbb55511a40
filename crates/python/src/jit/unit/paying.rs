//! What a run of compiled code has gained, and whether copying the lists among its arguments pays.

use super::{JitUnit, Variant};
use crate::jit::account::Account;
use crate::jit::arguments::Numbers;
use crate::jit::draws;
use crate::jit::lists::{self, Lists};
use crate::jit::worth;
use numelt_jit::{Exit, StmtKind};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Where CPython's time for a loop is not known, copies of lists have paid if they took at most this many times as long
/// as the code that ran on them.
const LISTS_PAY: u32 = 20;
/// Calling the unit, and returning from it, takes about this long.
const CALL: Duration = Duration::from_micros(2);
/// The estimate of CPython's time is made for loops over elements of arrays. Those over Python's numbers take about one
/// part in this many of it.
const OVERESTIMATED: u32 = 3;
/// Copies of lists that have not paid count as one run in vain for each of these times that they took.
const ONE_RUN: Duration = Duration::from_micros(50);

/// Notes that copies of lists have taken a time, and returns as how many runs in vain that counts. The code has taken
/// `took`, for what takes CPython `work`, if that is known.
pub(super) fn in_vain(account: &Account, copying: Duration, work: Option<Duration>, took: Duration) -> u64 {
    let work = work.unwrap_or(LISTS_PAY * took);
    account.lose_time(copying);
    account.gain(work.as_nanos() as f64);
    if copying + CALL > work { 1 + copying.div_duration_f64(ONE_RUN) as u64 } else { 0 }
}

impl JitUnit {
    /// Adds the work of a run to the accounts, if CPython has ever continued the loop, or does so now.
    pub(super) fn note_gain(
        &self,
        exit: &Exit,
        variant: &Variant,
        numbers: &Numbers,
        words: &[u64],
        accounts: &[Arc<Account>],
    ) {
        if exit.statement == 0 && !accounts.iter().any(|account| account.has_lost()) {
            return;
        }
        let arguments = &variant.arguments[..self.tree.slots.len() + self.tree.inputs.len()];
        let gained = match exit.sources.first() {
            _ if exit.statement == 0 => worth::nanoseconds(&self.tree, arguments, numbers).unwrap_or(0.0),
            Some(Some(source)) => {
                worth::of_iteration(&self.tree, arguments, numbers)
                    * words[numelt_jit::source_parts(source)] as i64 as f64
            }
            _ => return,
        };
        accounts.iter().for_each(|account| account.gain(gained));
    }

    /// The time that CPython takes for the loop, if there are lists or generators to be copied for it, and if it can be
    /// estimated.
    pub(super) fn work(&self, variant: &Variant, numbers: &Numbers) -> Option<Duration> {
        let copies = !numbers.lists.is_empty() || !variant.draws.is_empty();
        if !copies || matches!(self.tree.body.kind, StmtKind::While { .. }) {
            return None;
        }
        let arguments = &variant.arguments[..self.tree.slots.len() + self.tree.inputs.len()];
        worth::nanoseconds(&self.tree, arguments, numbers).map(|work| Duration::from_nanos(work as u64) / OVERESTIMATED)
    }

    /// Copies the numbers of lists among the arguments; `None` if that is not possible, or takes longer than CPython
    /// takes for the loop.
    pub(super) fn copied_lists<'py>(
        &self,
        work: Option<Duration>,
        variant: &Variant,
        objects: &[Bound<'py, PyAny>],
        numbers: &mut Numbers,
    ) -> Option<Lists<'py>> {
        if numbers.lists.is_empty() && variant.appended.is_empty() && variant.draws.is_empty() {
            return Some(Lists::default());
        }
        let copying = lists::copying_time(numbers) + draws::copying_time(&variant.draws);
        let pays = self.is_requested || work.is_none_or(|work| work > copying + CALL);
        pays.then(|| Lists::copied(objects, &variant.written, &variant.appended, numbers)).flatten()
    }
}
