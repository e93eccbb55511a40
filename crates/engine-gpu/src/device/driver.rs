//! The interface between the engine and a driver.

use super::{Capabilities, Devices};
use crate::render::Dialect;
use numelt_ir::Result;

/// An argument of a function.
#[derive(Debug)]
pub enum Argument<'a, M> {
    /// Memory.
    Memory(&'a M),
    /// The bytes of a number, at most eight.
    Bytes(&'a [u8]),
}

/// What a program is made of.
#[derive(Debug, Clone, Copy)]
pub enum Code<'a> {
    /// A text in the driver's dialect.
    Text(&'a str),
    /// What [`Driver::binary`] gave before, in another process perhaps.
    Binary(&'a [u8]),
}

/// A device, with one queue that does things in the order in which they are given.
pub trait Driver: Send + Sync + Sized + 'static {
    /// Memory of the device. It may be dropped while what is queued uses it.
    type Memory: Send + Sync;
    /// A program that was compiled.
    type Program;
    /// A function of a program, which keeps what it needs of that.
    type Function: Send;

    /// Name of the engine.
    const NAME: &'static str;
    /// The language of texts.
    const DIALECT: Dialect;

    /// The best device, and what it can do.
    ///
    /// # Errors
    /// In words, what is missing.
    fn open(devices: Devices) -> Result<(Self, Capabilities)>;

    /// All that a binary depends on beside its text: the device, versions, the compiler's options.
    fn identity(&self) -> &str;

    /// Memory of so many bytes.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`] where there is none left.
    fn memory(&self, nbytes: usize) -> Result<Self::Memory>;

    /// A program, ready to run.
    ///
    /// # Errors
    /// What the compiler says; for a binary, that it is another version's.
    fn program(&self, code: Code<'_>) -> Result<Self::Program>;

    /// What to keep of a program; nothing where the driver gives none.
    fn binary(&self, program: &Self::Program) -> Option<Vec<u8>>;

    /// A function of a program.
    ///
    /// # Errors
    /// There is none of that name.
    fn function(&self, program: &Self::Program, name: &str) -> Result<Self::Function>;

    /// Queues a launch of `groups` groups of `size` work-items.
    ///
    /// # Safety
    /// The arguments are those that the function has, of these sizes; with them it touches no memory but what they stand for.
    ///
    /// # Errors
    /// The driver's; nothing runs then.
    unsafe fn launch(
        &self,
        function: &mut Self::Function,
        arguments: &[Argument<'_, Self::Memory>],
        groups: usize,
        size: usize,
    ) -> Result<()>;

    /// Hands what is queued to the device.
    ///
    /// # Errors
    /// The driver's.
    fn flush(&self) -> Result<()>;

    /// Waits until everything is done that is queued.
    ///
    /// # Errors
    /// The driver's.
    fn finish(&self) -> Result<()>;

    /// Copies bytes into memory, after what is queued. They may change when this has returned.
    ///
    /// # Errors
    /// The driver's; the bytes do not fit into the memory.
    fn write(&self, from: &[u8], to: &Self::Memory, offset: usize) -> Result<()>;

    /// Copies bytes out of memory, after what is queued.
    ///
    /// # Errors
    /// The driver's; the bytes do not lie inside the memory.
    fn read(&self, from: &Self::Memory, offset: usize, to: &mut [u8]) -> Result<()>;
}
