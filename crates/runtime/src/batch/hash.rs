//! The hash of a batch, by which its plan is looked up.
//!
//! It is computed while instructions are recorded. The values of literals have no influence on it.

use numelt_ir::{Instr, Operand, View};

/// A running hash of words. Only the exact cache uses it, and compares whole programs afterwards, so the hash must be
/// fast and spread well, but need not be free of collisions.
#[derive(Default, Clone, Copy)]
pub(super) struct BatchHash(pub u64);

impl BatchHash {
    #[inline]
    pub fn word(&mut self, word: u64) {
        // multiplication by an odd constant (the golden ratio's bits), folded so that high bits count
        let product = u128::from(self.0.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    pub fn instr(&mut self, instr: &Instr) {
        self.word(
            instr.op as u64 | (instr.ty as u64) << 16 | (instr.watch as u64) << 24 | (instr.ins.len() as u64) << 32,
        );
        self.word(instr.axes.0);
        self.view(&instr.out);
        instr.out.shape.iter().for_each(|&n| self.word(n as u64));
        for input in &instr.ins {
            match input {
                Operand::View(view) => {
                    self.view(view);
                    if view.shape != instr.out.shape {
                        view.shape.iter().for_each(|&n| self.word(n as u64));
                    }
                }
                Operand::Const(id) => self.word(u64::from(*id) | 1 << 63),
            }
        }
    }

    /// A view without its extents.
    #[inline]
    fn view(&mut self, view: &View) {
        self.word(u64::from(view.base) | (view.dtype as u64) << 32 | (view.shape.len() as u64) << 40);
        self.word(view.offset as u64);
        view.strides.iter().for_each(|&n| self.word(n as u64));
    }
}
