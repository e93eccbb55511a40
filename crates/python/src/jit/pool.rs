//! The memory of arrays that compiled code makes while it runs.
//!
//! Compiled code requests an array and passes the numbers of those that are in use. The memory of another one is then
//! used again, if there is one. When the code stops, the arrays that are values of variables are copied into arrays of
//! numelt's.

use crate::object::fresh;
use crate::object::ndarray::NdArray;
use crate::record::run;
use numelt_ir::DType;
use numelt_jit::{MADE, VIEW};
use pyo3::prelude::*;

/// The memory of one array.
struct Memory {
    /// Words of 16 bytes, so that the memory is aligned for every dtype.
    words: Vec<u128>,
    dtype: DType,
    length: usize,
}

impl Memory {
    /// The number that identifies the array in compiled code (see `numelt_jit::MADE`).
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
    /// Returns the number of an array that is not in use, or zero if there is no memory.
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
        // the memory of an unused array that is too small is freed
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

    /// The array with this number as an object with memory of its own, and the address that it had in compiled code.
    pub fn object<'py>(&self, py: Python<'py>, number: i64) -> PyResult<Option<(Bound<'py, NdArray>, u64)>> {
        let Some(memory) = self.all.iter().find(|memory| memory.number() == number) else { return Ok(None) };
        let bytes = memory.bytes();
        let base = run::new_base(bytes.len());
        run::set_bytes(py, &base, &bytes)?;
        let array = fresh::c_ordered(py, base, memory.dtype, &[memory.length as i64])?;
        Ok(Some((array, memory.words.as_ptr() as u64)))
    }
}
