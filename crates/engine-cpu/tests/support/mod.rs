//! Hand-made kernels, and memory to run them on.
#![allow(dead_code)] // each test file uses a part

use numelt_engine_cpu::{CpuEngine, Isa, Jit, Options};
use numelt_ir::{DType, Op, Scalar};
use numelt_opt::{Arg, ArgGeometry, ArgKind, Geometry, Kernel, Node, Reduction, Store, StrideClass};
use numelt_runtime::{Buffer, Engine, Launch, Work, run};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// One operation on each element of a vector of doubles.
pub fn unary(op: Op) -> Kernel {
    let arg = |kind| Arg { kind, dtype: DType::F64, strides: smallvec![StrideClass::Unit], near: None };
    Kernel {
        reduced: smallvec![false],
        args: vec![arg(ArgKind::Load), arg(ArgKind::Store)],
        params: vec![],
        body: vec![Node::Load(0), Node::Op(op, DType::F64, smallvec![0])],
        stores: vec![Store { arg: 1, value: 1 }],
        reductions: vec![],
    }
}

/// Builds a kernel node by node, with the extents and strides of its launch.
pub struct Build {
    pub kernel: Kernel,
    pub geometry: Geometry,
    pub pointers: Vec<*mut u8>,
    pub params: Vec<Scalar>,
}

impl Build {
    /// Loops with their extents; true marks a reduced one.
    pub fn new(loops: &[(i64, bool)]) -> Build {
        Build {
            kernel: Kernel {
                reduced: loops.iter().map(|l| l.1).collect(),
                args: vec![],
                params: vec![],
                body: vec![],
                stores: vec![],
                reductions: vec![],
            },
            geometry: Geometry {
                extents: loops.iter().map(|l| l.0).collect(),
                args: vec![],
                pieces: numelt_ir::Pieces::WHOLE,
            },
            pointers: vec![],
            params: vec![],
        }
    }

    fn arg(&mut self, kind: ArgKind, dtype: DType, pointer: *mut u8, strides: &[i64], offset: i64) -> u32 {
        let unit = if kind == ArgKind::Index { 1 } else { dtype.size() as i64 };
        let class = |&s: &i64| match s {
            0 => StrideClass::Zero,
            s if s == unit => StrideClass::Unit,
            _ => StrideClass::Any,
        };
        self.kernel.args.push(Arg { kind, dtype, strides: strides.iter().map(class).collect(), near: None });
        self.geometry.args.push(ArgGeometry::new(offset, SmallVec::from_slice(strides)));
        self.pointers.push(pointer);
        self.kernel.args.len() as u32 - 1
    }

    fn node(&mut self, node: Node) -> u32 {
        self.kernel.body.push(node);
        self.kernel.body.len() as u32 - 1
    }

    pub fn load(&mut self, dtype: DType, pointer: *const u8, strides: &[i64]) -> u32 {
        let arg = self.arg(ArgKind::Load, dtype, pointer.cast_mut(), strides, 0);
        self.node(Node::Load(arg))
    }

    pub fn index(&mut self, offset: i64, strides: &[i64]) -> u32 {
        let arg = self.arg(ArgKind::Index, DType::I64, std::ptr::null_mut(), strides, offset);
        self.node(Node::Index(arg))
    }

    pub fn param(&mut self, value: Scalar) -> u32 {
        self.kernel.params.push(value.dtype());
        self.params.push(value);
        self.node(Node::Param(self.params.len() as u32 - 1))
    }

    pub fn op(&mut self, op: Op, ty: DType, ins: &[u32]) -> u32 {
        let wide = op.computes_in(ty);
        if wide != ty {
            let widen = |(i, v): (usize, &u32)| {
                let to = op.input_dtype(wide, i);
                if to == op.input_dtype(ty, i) { *v } else { self.cast(to, *v) }
            };
            let mut ins: Vec<u32> = ins.iter().enumerate().map(widen).collect();
            if op.swaps_halves(ty) {
                ins.swap(0, 1);
            }
            let value = self.op(op, wide, &ins);
            return if op.output_dtype(wide) == wide { self.cast(ty, value) } else { value };
        }
        self.node(Node::Op(op, ty, SmallVec::from_slice(ins)))
    }

    pub fn cast(&mut self, to: DType, v: u32) -> u32 {
        self.node(Node::Cast(to, v))
    }

    pub fn store(&mut self, value: u32, pointer: *mut u8, strides: &[i64]) {
        let dtype = self.kernel.dtype_of(value);
        let arg = self.arg(ArgKind::Store, dtype, pointer, strides, 0);
        self.kernel.stores.push(Store { arg, value });
    }

    pub fn reduce(&mut self, op: Op, value: u32, out: DType, pointer: *mut u8, strides: &[i64]) {
        let ty = self.kernel.dtype_of(value);
        let arg = self.arg(ArgKind::Reduced, out, pointer, strides, 0);
        self.kernel.reductions.push(Reduction { op, ty, value, arg });
    }

    /// The positions of the arguments.
    pub fn buffers(&self) -> Vec<Buffer> {
        self.pointers.iter().map(|&pointer| Buffer::at(pointer)).collect()
    }

    pub fn run(&self, engine: &CpuEngine) {
        let executable = engine.compile(&Arc::new(self.kernel.clone())).unwrap();
        let buffers = self.buffers();
        let launch = Launch { geometry: &self.geometry, buffers: &buffers, params: &self.params };
        run(engine, &Work::Kernel(&*executable, &launch, None)).unwrap();
    }
}

pub fn engine(threads: usize, block: usize) -> CpuEngine {
    // every size is large enough to be shared
    CpuEngine::new(Options { threads, jit: Jit::Off, block, serial_below: 0, ..Options::default() })
}

/// Engines under hostile settings.
pub fn engines() -> Vec<CpuEngine> {
    let mut out = Vec::new();
    for (threads, block) in [(1, 0), (2, 0), (3, 1), (1, 2), (2, 7), (4, 64)] {
        out.push(engine(threads, block));
    }
    for isa in Isa::ALL {
        out.push(CpuEngine::new(Options { threads: 2, jit: Jit::Off, isa: Some(isa), ..Options::default() }));
    }
    out
}

/// Repeatable numbers in -1..1.
pub fn noise(n: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// These bytes as doubles.
pub fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect()
}
