//! Elements in memory as slices of Rust types, and Rust's vectors as memory of arrays. All unsafe code about elements
//! is here.

use super::element::Element;
use super::recorder::runtime;
use numelt_ir::DType;
use numelt_runtime::{BaseRef, Bounded, Host, RandomStream, ReadGuard, WriteGuard};
use std::mem::ManuallyDrop;
use std::ops::Range;

/// Bytes as elements; `None` if they are not aligned, if they are not a whole number of elements, or if truth values
/// are expected and a byte is not one.
pub fn typed<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    let ok =
        bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()) && are_valid::<T>(bytes);
    // SAFETY: the bytes are aligned and whole elements. All elements but truth values are numbers, of which every
    // pattern of bits is one; truth values have been looked at.
    ok.then(|| unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) })
}

/// [`typed`] for writing.
pub fn typed_mut<T: Element>(bytes: &mut [u8]) -> Option<&mut [T]> {
    let ok =
        bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()) && are_valid::<T>(bytes);
    // SAFETY: as in `typed`; and every element is also valid bytes, because none has gaps.
    ok.then(|| unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) })
}

fn are_valid<T: Element>(bytes: &[u8]) -> bool {
    T::DTYPE != DType::Bool || bytes.iter().all(|&byte| byte <= 1)
}

/// The bytes of elements.
pub fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: no element has gaps, so all of its bytes have values.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Elements to which a guard gives access.
#[derive(Debug)]
pub struct Guarded<'a, T> {
    start: *const T,
    length: usize,
    _guard: ReadGuard<'a>,
}

impl<'a, T: Element> Guarded<'a, T> {
    /// The bytes of a range of a base as elements; if they are not elements, the guard.
    pub fn new(guard: ReadGuard<'a>, range: Range<usize>) -> Result<Guarded<'a, T>, ReadGuard<'a>> {
        match typed::<T>(&guard.bytes()[range]).map(|elements| (elements.as_ptr(), elements.len())) {
            Some((start, length)) => Ok(Guarded { start, length, _guard: guard }),
            None => Err(guard),
        }
    }

    /// The elements.
    pub fn elements(&self) -> &[T] {
        // SAFETY: these are elements, as was seen when the guard was new; they stay as they are as long as it lives.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// Elements to which a guard gives write access.
#[derive(Debug)]
pub struct GuardedMut<'a, T> {
    start: *mut T,
    length: usize,
    _guard: WriteGuard<'a>,
}

impl<'a, T: Element> GuardedMut<'a, T> {
    /// The bytes of a range of a base as elements; `None` if they are not elements.
    pub fn new(mut guard: WriteGuard<'a>, range: Range<usize>) -> Option<GuardedMut<'a, T>> {
        let elements = typed_mut::<T>(&mut guard.bytes_mut()[range])?;
        let (start, length) = (elements.as_mut_ptr(), elements.len());
        Some(GuardedMut { start, length, _guard: guard })
    }

    /// The elements.
    pub fn elements(&self) -> &[T] {
        // SAFETY: these are elements, as was seen when the guard was new, and only elements are written while it lives.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// The elements, for writing.
    pub fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the guard is alone with them.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// The memory of a vector, as it was allocated. It is not accessed through this type.
struct Buffer<T> {
    start: *mut T,
    length: usize,
    capacity: usize,
}

// SAFETY: the address is only carried, and used again when the vector is dropped; elements may be sent and shared.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: these are the parts of a vector that nobody has dropped.
        drop(unsafe { Vec::from_raw_parts(self.start, self.length, self.capacity) });
    }
}

/// A vector as a base, without a copy.
pub fn adopted<T: Element>(vector: Vec<T>) -> BaseRef {
    let mut vector = ManuallyDrop::new(vector);
    let buffer = Buffer { start: vector.as_mut_ptr(), length: vector.len(), capacity: vector.capacity() };
    let (start, nbytes) = (buffer.start.cast::<u8>(), buffer.length * size_of::<T>());
    // SAFETY: the memory is the buffer's alone, which keeps it until it is dropped.
    unsafe { runtime().adopt(start, nbytes, Box::new(buffer), false) }
}

/// [`Host::fill_bounded`] for 64-bit integers.
pub fn fill_bounded(
    host: &dyn Host,
    stream: &RandomStream<'_>,
    bounded: Bounded,
    to: &mut [i64],
    threads: usize,
) -> Option<u64> {
    assert!(bounded.wide);
    // SAFETY: there is room for as many 64-bit integers, and nobody else touches them.
    unsafe { host.fill_bounded(stream, bounded, to.len(), to.as_mut_ptr().cast(), threads) }
}

/// Writes the stable order of values to `order`, on all of the host engine's threads; false for a dtype that it does
/// not sort.
pub fn stable_order<T: Element>(values: &[T], order: &mut [i64]) -> bool {
    assert_eq!(values.len(), order.len());
    let host = runtime().host();
    if !host.sorts(T::DTYPE) {
        return false;
    }
    // SAFETY: the elements of a slice are dense and aligned, and there are as many places as elements.
    unsafe { host.argsort(T::DTYPE, values.as_ptr().cast(), order, host.threads()) }.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_truth_values_are_truth_values() {
        assert_eq!(typed::<bool>(&[0, 1, 1]), Some(&[false, true, true][..]));
        assert_eq!(typed::<bool>(&[0, 2]), None);
        assert_eq!(typed_mut::<bool>(&mut [255]), None);
    }

    #[test]
    fn elements_are_aligned_and_whole() {
        let words = [1u64, 2];
        let bytes = bytes_of(&words);
        assert_eq!(typed::<u64>(bytes), Some(&words[..]));
        assert_eq!(typed::<u64>(&bytes[1..9]), None);
        assert_eq!(typed::<u64>(&bytes[..7]), None);
        assert_eq!(typed::<u8>(&bytes[1..4]).map(<[u8]>::len), Some(3));
    }
}
