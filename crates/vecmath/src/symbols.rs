//! Names and addresses of the C-ABI functions for compiled code.
//!
//! `numelt_<name>_f64x8` takes and returns whole registers of the instruction set (one per argument);
//! `numelt_<name>_f64` takes and returns scalars. f32 likewise. With AVX-512, `numelt_<name>_f64x32` takes the four
//! registers of a group per argument, and an address that four results are written to: it is faster than four calls,
//! because the group is computed side by side. The functions touch no memory but their stack and such results.
//! `numelt_sincos_*` write the sine and the cosine where their last argument points.

use crate::func::{Func1, Func2};
use crate::set::{GROUP, Set};
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
        add_groups::<S>(&mut out, f.name(), f.groups::<S>());
    }
    for f in Func2::ALL {
        add::<S>(&mut out, f.name(), &f.registers::<S>(), f.scalars::<S>());
        add_groups::<S>(&mut out, f.name(), f.groups::<S>());
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

/// Adds the functions of groups that there are.
fn add_groups<S: Set>(out: &mut Vec<Symbol>, name: &str, groups: [Option<usize>; 2]) {
    for ((element, lanes), addr) in ["f64", "f32"].into_iter().zip(S::LANES).zip(groups) {
        if let Some(addr) = addr {
            out.push(Symbol { name: format!("numelt_{name}_{element}x{}", GROUP * lanes).leak(), addr });
        }
    }
}
