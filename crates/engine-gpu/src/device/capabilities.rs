//! What a device supports, and which plans suit it.

use super::calls;
use crate::render::{self, Variant};
use numelt_ir::{DType, DTypeKind, Op, OpKind};
use numelt_opt::{Kernel, Node, Target};

/// What a device can do.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Name of the device and version of its driver.
    pub name: String,
    /// Does it compute in f64 as NumPy does?
    pub double: bool,
    /// Does it compute in f32 as NumPy does, but for quotients and roots?
    pub single: bool,
    /// Are its quotients and roots of f32 rounded correctly?
    pub divides: bool,
    /// Is a fused multiply-add of f32 right?
    pub fused: bool,
    /// Has it atomic operations of 64 bits?
    pub wide: bool,
    /// Bytes of all arguments of a kernel.
    pub parameter_bytes: usize,
    /// Bytes of memory.
    pub memory: usize,
    /// Work-items of a group.
    pub group: usize,
    /// Groups that occupy it.
    pub groups: usize,
}

impl Capabilities {
    /// What plans should be like.
    pub fn target(&self) -> Target {
        // every array of a kernel takes an address, an offset, and a stride for each of a few loops
        let kernel_args = (self.parameter_bytes / 64).clamp(8, 24) as u32;
        Target {
            kernel_args,
            near_loads: None,
            nests: None,
            delays: None,
            puts: false,
            alternation: None,
            // a launch takes some ten microseconds, in which a card moves megabytes
            launch_bytes: 1 << 20,
            ..Target::cpu()
        }
    }

    /// Can the device run a kernel with NumPy's results?
    pub fn run(&self, kernel: &Kernel) -> bool {
        if !self.double && render::uses_double(kernel) {
            return false;
        }
        let computes = |node: &Node| match node {
            Node::Op(op, ty, _) => self.computes(*op, *ty),
            Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => true,
        };
        let folds = kernel.reductions.iter().all(|fold| self.computes(fold.op, fold.ty));
        let variant = Variant { narrow: false, rolled: true };
        folds
            && kernel.body.iter().all(computes)
            && render::parameters(kernel, variant).is_some_and(|params| 8 * params <= self.parameter_bytes)
    }

    /// Can the device do calls of an operation with NumPy's results? The shapes decide later whether it should.
    pub fn call(&self, op: Op, ty: DType) -> bool {
        let double = matches!(ty.real(), DType::F64);
        match op.scan_step() {
            Some(step) => (self.double || !double) && self.computes(step, ty) && calls::has_text(op, ty, self.wide),
            None => calls::has_text(op, ty, self.wide),
        }
    }

    /// Are an operation's results right, as far as that is the device's arithmetic?
    fn computes(&self, op: Op, ty: DType) -> bool {
        let single = matches!(ty.real(), DType::F32 | DType::F16);
        if !single || op.computes_in(ty) == DType::F16 && op.kind() == OpKind::Elementwise {
            return true;
        }
        let divides = matches!(
            op,
            Op::Divide | Op::Reciprocal | Op::Sqrt | Op::FloorDivide | Op::Remainder | numelt_ir::transcendental!()
        ) || op == Op::Absolute && ty.kind() == DTypeKind::Complex;
        let fuses = ty.kind() == DTypeKind::Complex || matches!(op, numelt_ir::transcendental!());
        // functions of f32 take a detour through f64 for some arguments
        let detours = matches!(op, numelt_ir::transcendental!());
        self.single && (self.divides || !divides) && (self.fused || !fuses) && (self.double || !detours)
    }
}
