//! Names and addresses of the C-ABI functions for compiled code.
//!
//! `numelt_<name>_f64x8` takes and returns whole registers of the instruction set (one
//! per argument); `numelt_<name>_f64` takes and returns scalars. f32 likewise. The
//! functions touch no memory but their stack, with two exceptions that return nothing and write two registers where their last
//! argument points: `numelt_sincos_*` the sine and the cosine.

use crate::func::{Func1, Func2};
use crate::isa::Set;
use crate::{Isa, with_set};
use std::sync::OnceLock;

/// A C-ABI function for compiled code.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// `numelt_<name>_<element>` with `x<lanes>` for a register function.
    pub name: &'static str,
    /// Address of the function.
    pub addr: usize,
}

/// Every function that code compiled for `isa` may call.
pub fn symbols(isa: Isa) -> &'static [Symbol] {
    static TABLES: [OnceLock<Vec<Symbol>>; 3] = [const { OnceLock::new() }; 3];
    TABLES[isa as usize].get_or_init(|| with_set!(isa, S => table::<S>()))
}

fn table<S: Set>() -> Vec<Symbol> {
    let mut out = Vec::new();
    for f in Func1::ALL {
        add::<S>(&mut out, f.name(), &f.registers::<S>(), f.scalars::<S>());
    }
    for f in Func2::ALL {
        add::<S>(&mut out, f.name(), &f.registers::<S>(), f.scalars::<S>());
    }
    let both = S::sincos();
    add::<S>(&mut out, "sincos", &both[2..], [both[0], both[1]]);
    out
}

/// Adds the up to four functions of one name. Names live as long as the process.
fn add<S: Set>(out: &mut Vec<Symbol>, name: &str, registers: &[usize], scalars: [usize; 2]) {
    let mut push = |text: String, addr| out.push(Symbol { name: text.leak(), addr });
    for (i, element) in ["f64", "f32"].into_iter().enumerate() {
        push(format!("numelt_{name}_{element}"), scalars[i]);
        if let Some(addr) = registers.get(i) {
            push(format!("numelt_{name}_{element}x{}", S::LANES[i]), *addr);
        }
    }
}
