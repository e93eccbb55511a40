//! What a device can do, and what plans should be like for it.

use super::api::{DeviceId, Query};
use crate::render::{self, Dialect, Variant};
use numelt_ir::{DType, DTypeKind, Op, OpKind};
use numelt_opt::{Kernel, Node, Target};

/// Bits of the arithmetic that a device has for a type of floats.
mod arithmetic {
    /// Numbers below the least normal one.
    pub const SUBNORMAL: u64 = 1;
    /// Infinities and NaN.
    pub const SPECIAL: u64 = 2;
    /// Rounding to nearest, ties to even.
    pub const NEAREST: u64 = 4;
    /// A fused multiply-add.
    pub const FUSED: u64 = 32;
    /// Quotients and roots of f32 that are rounded correctly, if the compiler is asked for that.
    pub const DIVIDES: u64 = 128;
    /// What NumPy's results need.
    pub const NEEDED: u64 = SUBNORMAL | SPECIAL | NEAREST;
}

/// What a device can do.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Name of the device and version of its driver.
    pub name: String,
    /// Does it compute in f64 as NumPy does?
    double: bool,
    /// Does it compute in f32 as NumPy does, but for quotients and roots?
    single: bool,
    /// Are its quotients and roots of f32 rounded correctly?
    pub divides: bool,
    /// Is a fused multiply-add of f32 right?
    fused: bool,
    /// Bytes of all arguments of a kernel.
    parameter_bytes: usize,
    /// Work-items of a group.
    pub group: usize,
    /// Groups that occupy it.
    pub groups: usize,
}

impl Capabilities {
    /// Asks the device.
    pub fn of(device: DeviceId) -> Capabilities {
        let number = |query| device.number(query);
        let (single, double) = (number(Query::SingleArithmetic), number(Query::DoubleArithmetic));
        let has = |bits: u64, needed: u64| bits & needed == needed;
        let small = |query, least: u64| number(query).clamp(least, 1 << 20) as usize;
        Capabilities {
            name: format!("{}, {}", device.text(Query::Name), device.text(Query::Driver)),
            double: has(double, arithmetic::NEEDED | arithmetic::FUSED),
            single: has(single, arithmetic::NEEDED),
            divides: has(single, arithmetic::DIVIDES),
            fused: has(single, arithmetic::FUSED),
            parameter_bytes: small(Query::ParameterSize, 1024),
            group: small(Query::GroupSize, 1).min(256),
            groups: 32 * small(Query::ComputeUnits, 1),
        }
    }

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

    /// The language that programs are rendered in.
    pub const DIALECT: Dialect = Dialect::OpenCl;
}
