//! The memory of arrays that compiled code makes while it runs.
//!
//! Compiled code asks for an array and says which ones are in use; memory of the others is used again. What is left when the code
//! stops, and is the value of a variable, becomes an array of numelt's.

use crate::array::fresh;
use crate::array::ndarray::NdArray;
use crate::record::run;
use numelt_ir::DType;
use numelt_jit::{MADE, VIEW};
use pyo3::prelude::*;

/// The memory of one array.
struct Memory {
    /// Allocated as words of 16 bytes, which is enough for every dtype.
    words: Vec<u128>,
    dtype: DType,
    length: usize,
}

impl Memory {
    /// The number by which compiled code knows the array.
    fn number(&self) -> i64 {
        MADE + self.words.as_ptr() as i64
    }

    fn bytes(&self) -> Vec<u8> {
        let size = self.length * self.dtype.size();
        let mut bytes: Vec<u8> = self.words[..size.div_ceil(16)].iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(size);
        bytes
    }
}

/// The arrays that a run has made.
#[derive(Default)]
pub struct Pool {
    all: Vec<Memory>,
}

impl Pool {
    /// An array that is not in use, by its number; zero if there is no memory.
    pub fn array(&mut self, dtype: DType, length: i64, in_use: &[i64]) -> i64 {
        let Ok(length) = usize::try_from(length) else { return 0 };
        let Some(bytes) = length.checked_mul(dtype.size()) else { return 0 };
        let words = bytes.div_ceil(16).max(1);
        let mut free = None;
        for (place, memory) in self.all.iter_mut().enumerate() {
            if in_use.iter().any(|used| used & !VIEW == memory.number()) {
                continue;
            }
            if memory.words.len() >= words {
                (memory.dtype, memory.length) = (dtype, length);
                return memory.number();
            }
            free = Some(place);
        }
        // one that is too small is given back
        if let Some(place) = free {
            self.all.swap_remove(place);
        }
        let mut memory = Vec::new();
        if memory.try_reserve_exact(words).is_err() {
            return 0;
        }
        memory.resize(words, 0);
        self.all.push(Memory { words: memory, dtype, length });
        self.all.last().expect("just pushed").number()
    }

    /// The array of this number, as an object, and the address that it had.
    pub fn object<'py>(&self, py: Python<'py>, number: i64) -> PyResult<Option<(Bound<'py, NdArray>, u64)>> {
        let Some(memory) = self.all.iter().find(|memory| memory.number() == number) else { return Ok(None) };
        let bytes = memory.bytes();
        let base = run::new_base(bytes.len());
        run::set_bytes(py, &base, &bytes)?;
        let array = fresh::c_ordered(py, base, memory.dtype, &[memory.length as i64])?;
        Ok(Some((array, memory.words.as_ptr() as u64)))
    }
}
