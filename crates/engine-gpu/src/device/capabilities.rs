//! What a device supports, and which plans suit it.

use super::calls;
use crate::render::{self, Variant};
use numelt_ir::{DType, DTypeKind, Op, OpKind};
use numelt_opt::{Kernel, Node, Target};

/// The capabilities of a device.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Name of the device and version of its driver.
    pub name: String,
    /// Whether it computes in f64 as NumPy does.
    pub double: bool,
    /// Whether it computes in f32 as NumPy does, except for quotients and roots.
    pub single: bool,
    /// Whether its quotients and roots of f32 are rounded correctly without a detour through f64.
    pub divides: bool,
    /// Whether it has atomic operations of 64 bits.
    pub wide: bool,
    /// The bytes of all arguments of a kernel.
    pub parameter_bytes: usize,
    /// Bytes of memory.
    pub memory: usize,
    /// The work-items of a group.
    pub group: usize,
    /// The number of groups that occupy it.
    pub groups: usize,
}

impl Capabilities {
    /// The target for which plans are made.
    pub fn target(&self) -> Target {
        // every array of a kernel needs an address, an offset, and a stride for each of a few loops
        let kernel_args = (self.parameter_bytes / 64).clamp(8, 24) as u32;
        Target {
            kernel_args,
            // a launch takes some ten microseconds, in which a card moves megabytes
            launch_bytes: 1 << 20,
            ..Target::plain()
        }
    }

    /// Whether the device can run a kernel with NumPy's results.
    pub fn run(&self, kernel: &Kernel) -> bool {
        if !self.double && render::uses_double(kernel) {
            return false;
        }
        let computes = |node: &Node| match node {
            Node::Op(op, ty, _) => self.computes(*op, *ty),
            Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => true,
        };
        let folds = kernel.reductions.iter().all(|fold| self.computes(fold.op, fold.ty));
        let variant = Variant { narrow: false, rolled: true, ..Variant::default() };
        folds
            && kernel.body.iter().all(computes)
            && render::parameters(kernel, variant).is_some_and(|params| 8 * params <= self.parameter_bytes)
    }

    /// Whether the device can run calls of an operation with NumPy's results. Whether it should is decided later, by
    /// the shapes.
    pub fn call(&self, op: Op, ty: DType) -> bool {
        let double = matches!(ty.real(), DType::F64);
        match op.scan_step() {
            Some(step) => (self.double || !double) && self.computes(step, ty) && calls::has_text(op, ty, self.wide),
            None => calls::has_text(op, ty, self.wide),
        }
    }

    /// Whether the device's arithmetic suits matrix products of this dtype by a library.
    pub fn multiply(&self, ty: DType) -> bool {
        match ty {
            DType::F32 | DType::C64 => self.single,
            DType::F64 | DType::C128 => self.double,
            _ => false,
        }
    }

    /// Whether an operation's results are right, as far as the device's arithmetic determines them.
    fn computes(&self, op: Op, ty: DType) -> bool {
        let single = matches!(ty.real(), DType::F32 | DType::F16);
        if !single || op.computes_in(ty) == DType::F16 && op.kind() == OpKind::Elementwise {
            return true;
        }
        let divides = matches!(
            op,
            Op::Divide | Op::Reciprocal | Op::Sqrt | Op::FloorDivide | Op::Remainder | numelt_ir::transcendental!()
        ) || op == Op::Absolute && ty.kind() == DTypeKind::Complex;
        // functions of f32 compute some arguments in f64
        let detours = matches!(op, numelt_ir::transcendental!());
        self.single && (self.divides || self.double || !divides) && (self.double || !detours)
    }
}
