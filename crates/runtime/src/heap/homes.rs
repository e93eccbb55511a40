//! Homes: the devices on which a program has asked arrays to be.
//!
//! An array has no home unless the program names one (`x.to_device("opencl")`); it is on the CPU then, as in NumPy,
//! wherever copies of its values happen to be. Work on arrays with a home runs there as far as the device can do it
//! (`runtime/homes.rs`), and its results have that home, too. A home never changes a result. It is a name, so it stays
//! the same if the engines are replaced.
//!
//! A base carries the number of its home in its notes ([`note::HOME`](super::cell::note)). Fast paths that read or
//! write values on the host do not see bases with a home as readable, so they need no check of their own.

use super::base::{BaseRef, Input};
use super::cell::{BaseCell, note};
use numelt_ir::{Error, Result};
use std::num::NonZeroU8;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// A device on which a program has asked arrays to be; see [`Runtime::home`](crate::Runtime::home).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Home(NonZeroU8);

impl Home {
    /// The home with this number; `None` for zero.
    pub(crate) fn of(number: u8) -> Option<Home> {
        NonZeroU8::new(number).map(Home)
    }
}

/// The number of a home, zero for none.
pub(crate) fn number(home: Option<Home>) -> u8 {
    home.map_or(0, |home| home.0.get())
}

/// The homes of a runtime.
#[derive(Default)]
pub(crate) struct Homes {
    /// Their names; the first one has number one.
    names: Mutex<Vec<&'static str>>,
    any: AtomicBool,
    /// The number of the home of new arrays that a thread makes of no array, for the threads that have set one.
    of_new: Mutex<Vec<(ThreadId, u8)>>,
    any_of_new: AtomicBool,
}

impl Homes {
    /// Whether a program has ever named a home.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    fn names(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The home of a name.
    ///
    /// # Errors
    /// If there are too many.
    pub fn named(&self, name: &'static str) -> Result<Home> {
        let mut names = self.names();
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let home = u8::try_from(at + 1).ok().and_then(Home::of);
        let home = home.ok_or_else(|| Error::Engine(format!("{name}: arrays are on too many devices already")))?;
        self.any.store(true, Ordering::Relaxed);
        Ok(home)
    }

    /// The name of the home with this number.
    pub fn name(&self, number: u8) -> Option<&'static str> {
        self.names().get(usize::from(number).checked_sub(1)?).copied()
    }

    /// All names.
    pub fn all(&self) -> Vec<&'static str> {
        self.names().clone()
    }

    /// The number of the home of new arrays that this thread makes of no array; zero for none.
    pub fn of_new(&self) -> u8 {
        // what this thread has set, it sees
        if !self.any_of_new.load(Ordering::Relaxed) {
            return 0;
        }
        let of_new = self.of_new.lock().unwrap_or_else(PoisonError::into_inner);
        let this = thread::current().id();
        of_new.iter().find(|(thread, _)| *thread == this).map_or(0, |(_, number)| *number)
    }

    /// Replaces [`of_new`](Homes::of_new), and returns the old one.
    pub fn set_of_new(&self, number: u8) -> u8 {
        let mut of_new = self.of_new.lock().unwrap_or_else(PoisonError::into_inner);
        let this = thread::current().id();
        let at = of_new.iter().position(|(thread, _)| *thread == this);
        let old = at.map_or(0, |at| of_new.swap_remove(at).1);
        if number != 0 {
            of_new.push((this, number));
        }
        self.any_of_new.store(!of_new.is_empty(), Ordering::Relaxed);
        old
    }
}

impl BaseCell {
    /// The number of its home; zero for none.
    #[inline]
    pub fn home(&self) -> u8 {
        (self.notes() >> note::HOME.trailing_zeros()) as u8
    }

    /// Gives it a home, or none.
    #[cold]
    pub fn set_home(&self, number: u8) {
        self.unset(note::HOME);
        self.set(u32::from(number) << note::HOME.trailing_zeros() | note::SETTLED);
    }
}

impl BaseRef {
    /// Its home.
    pub fn home(&self) -> Option<Home> {
        Home::of(self.0.home())
    }

    /// Gives it a home, or none. Its values stay where they are until work uses them.
    pub fn set_home(&self, home: Option<Home>) {
        self.0.set_home(number(home));
    }

    /// Gives a base that has just been made the home of another one, or the lack of one. It keeps that if work on
    /// arrays with another home writes it.
    #[inline]
    pub fn settle_like(&self, other: &BaseRef) {
        self.0.start_with(other.0.notes() & note::HOME | note::SETTLED);
    }

    /// Gives a base that has just been made the home of the first of some bases that has one.
    pub fn settle_like_first<'a>(&self, others: impl IntoIterator<Item = &'a BaseRef>) {
        if self.0.heap.homes.any() {
            let home = others.into_iter().map(|base| base.0.home()).find(|&home| home != 0).unwrap_or(0);
            self.0.set_home(home);
        }
    }

    /// Gives the base of a result without elements, which nothing writes, the home of the first operand that has one.
    pub fn settle_like_operands(&self, operands: &[Input<'_>]) {
        self.settle_like_first(operands.iter().filter_map(|operand| match operand {
            Input::Array(array) => Some(&array.base),
            Input::Const(_) => None,
        }));
    }

    /// States of a base that has just been made that it has no home. It keeps having none if work on arrays with a
    /// home writes it.
    #[inline]
    pub fn settle(&self) {
        self.0.start_with(note::SETTLED);
    }
}
