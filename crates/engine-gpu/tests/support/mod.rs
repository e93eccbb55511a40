//! Kernels of one operation on a device.

#![allow(dead_code, reason = "each test uses a part of it")]

use numelt_engine_gpu::{Cuda, Devices, OpenCl, Options};
use numelt_ir::{DType, Pieces, Scalar};
use numelt_opt::{Arg, ArgGeometry, ArgKind, Geometry, Kernel, Node, Store, StrideClass};
use numelt_runtime::{Buffer, Engine, Launch, Task, Ticket, Work};
use std::env;
use std::sync::Arc;

/// The device for the tests. If `NUMELT_TEST_ENGINE` names `cuda`, that device must exist; otherwise it is the best
/// OpenCL device, or `None` if there is none, as on a machine without a driver.
pub fn device() -> Option<Box<dyn Engine>> {
    let options = Options { devices: Devices::All, number: 0, memory: None, cache_dir: None, exact_products: false };
    if env::var_os("NUMELT_TEST_ENGINE").is_some_and(|name| name == "cuda") {
        return Some(Box::new(Cuda::new(&options).unwrap_or_else(|why| panic!("{why}"))));
    }
    match OpenCl::new(&options) {
        Ok(device) => Some(Box::new(device)),
        Err(why) => {
            eprintln!("not tested: {why}");
            None
        }
    }
}

/// An elementwise kernel of one loop: operands of these dtypes, and nodes that are computed from their loads and are
/// all stored.
pub fn kernel(inputs: &[DType], nodes: Vec<Node>) -> Kernel {
    let strides = || [StrideClass::Unit].into_iter().collect();
    let arg = |kind, dtype| Arg { kind, dtype, strides: strides(), near: None };
    let args = inputs.iter().map(|&ty| arg(ArgKind::Load, ty)).collect();
    let first = inputs.len() as u32;
    let body: Vec<Node> = (0..first).map(Node::Load).chain(nodes).collect();
    let reduced = [false].into_iter().collect();
    let mut kernel = Kernel { reduced, args, params: Vec::new(), body, stores: Vec::new(), reductions: Vec::new() };
    for value in first..kernel.body.len() as u32 {
        let dtype = kernel.dtype_of(value);
        kernel.stores.push(Store { arg: value, value });
        kernel.args.push(arg(ArgKind::Store, dtype));
    }
    kernel
}

/// Memory of a device, which is freed when this is dropped.
struct Piece<'a>(&'a dyn Engine, u64, usize);

impl<'a> Piece<'a> {
    fn new(device: &'a dyn Engine, bytes: &[u8]) -> Piece<'a> {
        let piece = Piece(device, device.alloc(bytes.len()).unwrap(), bytes.len());
        device.upload(bytes, piece.place()).unwrap();
        piece
    }

    fn place(&self) -> Buffer {
        Buffer { handle: self.1, offset: 0 }
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        self.0.free(self.1, self.2, Ticket(u64::MAX));
    }
}

pub fn bytes(values: &[Scalar]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_bytes()[..v.dtype().size()].to_vec()).collect()
}

/// Runs a kernel that [`kernel`] has made on elements of its operands; returns the bytes that each node stores, and the
/// conditions that the device reports.
pub fn run(device: &dyn Engine, kernel: Kernel, inputs: &[Vec<u8>], n: usize) -> (Vec<Vec<u8>>, u8) {
    assert!(device.supports(&Task::Kernel(&kernel, None)), "{kernel}");
    let outputs: Vec<usize> = kernel.args[inputs.len()..].iter().map(|arg| n * arg.dtype.size()).collect();
    let place = |arg: &Arg| ArgGeometry::new(0, [arg.dtype.size() as i64].into_iter().collect());
    let geometry = Geometry {
        extents: [n as i64].into_iter().collect(),
        args: kernel.args.iter().map(place).collect(),
        pieces: Pieces::WHOLE,
    };
    let mut pieces: Vec<Piece<'_>> = inputs.iter().map(|bytes| Piece::new(device, bytes)).collect();
    pieces.extend(outputs.iter().map(|&nbytes| Piece::new(device, &vec![0xA5; nbytes])));
    let buffers: Vec<Buffer> = pieces.iter().map(Piece::place).collect();
    let executable = device.compile(&Arc::new(kernel)).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch { geometry: &geometry, buffers: &buffers, params: &[] };
    let ticket = device.submit(&Work::Kernel(&*executable, &launch, None)).unwrap();
    let met = device.wait(ticket).unwrap();
    let stored = outputs.iter().zip(&pieces[inputs.len()..]).map(|(&nbytes, piece)| {
        let mut result = vec![0; nbytes];
        device.download(piece.place(), &mut result).unwrap();
        result
    });
    (stored.collect(), met)
}
