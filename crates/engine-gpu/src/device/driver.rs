//! The interface between the engine and a driver.

use super::{Capabilities, Devices, Gemm};
use crate::render::Dialect;
use numelt_ir::{Error, Result};
use numelt_runtime::{Routine, Stream};

/// An argument of a function.
#[derive(Debug)]
pub enum Argument<'a, M> {
    /// Memory.
    Memory(&'a M),
    /// The bytes of a number, at most eight.
    Bytes(&'a [u8]),
}

/// The code of a program.
#[derive(Debug, Clone, Copy)]
pub enum Code<'a> {
    /// A text in the driver's dialect.
    Text(&'a str),
    /// The result of [`Driver::binary`], perhaps from another process.
    Binary(&'a [u8]),
}

/// A device, with one queue that executes work in the order of submission.
pub trait Driver: Send + Sync + Sized + 'static {
    /// Memory of the device. It may be dropped while queued work uses it.
    type Memory: Send + Sync;
    /// A program that was compiled.
    type Program;
    /// A function of a program; it keeps what it needs of the program.
    type Function: Send;

    /// Name of the engine.
    const NAME: &'static str;
    /// The language of texts.
    const DIALECT: Dialect;
    /// DLPack's number for this kind of device.
    const KIND: i32;

    /// Opens one of these devices by its number, the best ones first, and returns its capabilities.
    ///
    /// # Errors
    /// What is missing, in words.
    fn open(devices: Devices, number: usize) -> Result<(Self, Capabilities)>;

    /// Everything on which a binary depends besides its text: the device, versions, and the compiler's options.
    fn identity(&self) -> &str;

    /// Allocates memory.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`] if there is none left.
    fn memory(&self, nbytes: usize) -> Result<Self::Memory>;

    /// Where memory begins, for other libraries: its address, or its object if there are no addresses.
    fn address(&self, memory: &Self::Memory) -> u64;

    /// How many bytes memory begins after an address at which packs of elements may begin. Only memory of other
    /// libraries begins anywhere.
    fn skew(&self, memory: &Self::Memory) -> usize;

    /// Memory of another library, which is left to it in the end.
    ///
    /// # Safety
    /// `address` is one of `nbytes` bytes of this device, in the form of [`Driver::address`]. They stay valid until all
    /// work that uses the memory is done.
    ///
    /// # Errors
    /// If the driver cannot use this memory.
    unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<Self::Memory>;

    /// The handle of the queue, if other libraries can wait for it or make it wait.
    fn stream(&self) -> Option<u64>;

    /// Makes what others do in a queue from now on come after all queued work.
    ///
    /// # Errors
    /// Those of the driver.
    fn precede(&self, stream: Stream) -> Result<()>;

    /// Makes work that is queued from now on come after what others have done in a queue so far.
    ///
    /// # Errors
    /// Those of the driver.
    fn follow(&self, stream: Stream) -> Result<()>;

    /// Makes a program that can be run.
    ///
    /// # Errors
    /// The compiler's message; for a binary, that it is of another version.
    fn program(&self, code: Code<'_>) -> Result<Self::Program>;

    /// The binary form of a program, to be kept; `None` if the driver has none.
    fn binary(&self, program: &Self::Program) -> Option<Vec<u8>>;

    /// A function of a program.
    ///
    /// # Errors
    /// If there is none of that name.
    fn function(&self, program: &Self::Program, name: &str) -> Result<Self::Function>;

    /// Queues a launch of `groups` groups of `size` work-items.
    ///
    /// # Safety
    /// The arguments are those of the function, with these sizes. The function accesses no memory except that of its
    /// arguments.
    ///
    /// # Errors
    /// Those of the driver; nothing runs then.
    unsafe fn launch(
        &self,
        function: &mut Self::Function,
        arguments: &[Argument<'_, Self::Memory>],
        groups: usize,
        size: usize,
    ) -> Result<()>;

    /// The name of the library that multiplies matrices on the device; `None` if there is none. The first call loads
    /// it.
    fn products(&self) -> Option<&'static str>;

    /// Queues products of matrices by that library. The values that were in the memory of the results
    /// before have no influence.
    ///
    /// # Safety
    /// Each element of the factors and of the results lies inside of the memory that they name, and no result is an
    /// element of a factor.
    ///
    /// # Errors
    /// Those of the library; results may then be written in part.
    unsafe fn multiply(&self, product: &Gemm<'_, Self::Memory>) -> Result<()>;

    /// The name of the library that computes a routine on the device; `None` if there is none, or if it cannot. The
    /// first call loads it. By default there is none.
    fn routine(&self, _routine: &Routine) -> Option<&'static str> {
        None
    }

    /// Computes a routine by that library, or queues that. Returns false if the values have no result.
    ///
    /// # Safety
    /// The arrays of the routine are at the beginning of these pieces of memory.
    ///
    /// # Errors
    /// Those of the library; what is in the arrays then has no meaning.
    unsafe fn solve(&self, _routine: &Routine, _arrays: &[&Self::Memory]) -> Result<bool> {
        Err(Error::Unsupported(format!("{} has no numerical routines", Self::NAME)))
    }

    /// Submits queued work to the device.
    ///
    /// # Errors
    /// Those of the driver.
    fn flush(&self) -> Result<()>;

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// Those of the driver.
    fn finish(&self) -> Result<()>;

    /// Copies bytes into memory, after the queued work. They may be changed after this has returned.
    ///
    /// # Errors
    /// Those of the driver, and if the bytes do not fit into the memory.
    fn write(&self, from: &[u8], to: &Self::Memory, offset: usize) -> Result<()>;

    /// Copies bytes out of memory, after the queued work.
    ///
    /// # Errors
    /// Those of the driver, and if the bytes are not inside the memory.
    fn read(&self, from: &Self::Memory, offset: usize, to: &mut [u8]) -> Result<()>;
}
