//! Kernels of one operation on a device.

#![allow(dead_code, reason = "each test uses a part of it")]

use numelt_engine_gpu::{Devices, OpenCl, Options};
use numelt_ir::{DType, Pieces, Scalar};
use numelt_opt::{Arg, ArgGeometry, ArgKind, Geometry, Kernel, Node, Store, StrideClass};
use numelt_runtime::{Buffer, Engine, Launch, Storage, Task, Ticket, Work};
use std::sync::Arc;

/// The device that tests run on; nothing where there is none, as on a machine without a driver.
pub fn device() -> Option<OpenCl> {
    match OpenCl::new(&Options { devices: Devices::All, memory: None, cache_dir: None }) {
        Ok(device) => Some(device),
        Err(why) => {
            eprintln!("not tested: {why}");
            None
        }
    }
}

/// An elementwise kernel of one loop: operands of these dtypes, the nodes that follow their loads, and the last one's dtype.
pub fn kernel(inputs: &[DType], nodes: Vec<Node>, output: DType) -> Kernel {
    let arg = |kind, dtype| Arg { kind, dtype, strides: [StrideClass::Unit].into_iter().collect(), near: None };
    let mut args: Vec<Arg> = inputs.iter().map(|&ty| arg(ArgKind::Load, ty)).collect();
    args.push(arg(ArgKind::Store, output));
    let mut body: Vec<Node> = (0..inputs.len() as u32).map(Node::Load).collect();
    body.extend(nodes);
    let stores = vec![Store { arg: inputs.len() as u32, value: body.len() as u32 - 1 }];
    let reduced = [false].into_iter().collect();
    Kernel { reduced, args, params: Vec::new(), body, stores, reductions: Vec::new() }
}

/// Memory of a device that is given back.
struct Piece<'a>(&'a OpenCl, u64, usize);

impl<'a> Piece<'a> {
    fn new(device: &'a OpenCl, bytes: &[u8]) -> Piece<'a> {
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

/// Runs a kernel of [`kernel`] on elements of its operands: the bytes that it stores, and the conditions that it says it met; `None`
/// where the device does not support it.
pub fn run(device: &OpenCl, kernel: Kernel, inputs: &[Vec<u8>], n: usize) -> Option<(Vec<u8>, u8)> {
    if !device.supports(&Task::Kernel(&kernel, None)) {
        return None;
    }
    let output = kernel.args[inputs.len()].dtype.size();
    let place = |arg: &Arg| ArgGeometry::new(0, [arg.dtype.size() as i64].into_iter().collect());
    let geometry = Geometry {
        extents: [n as i64].into_iter().collect(),
        args: kernel.args.iter().map(place).collect(),
        pieces: Pieces::WHOLE,
    };
    let mut pieces: Vec<Piece<'_>> = inputs.iter().map(|bytes| Piece::new(device, bytes)).collect();
    pieces.push(Piece::new(device, &vec![0xA5; n * output]));
    let buffers: Vec<Buffer> = pieces.iter().map(Piece::place).collect();
    let executable = device.compile(&Arc::new(kernel)).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch { geometry: &geometry, buffers: &buffers, params: &[] };
    let ticket = device.submit(&Work::Kernel(&*executable, &launch, None)).unwrap();
    let met = device.wait(ticket).unwrap();
    let mut result = vec![0; n * output];
    device.download(pieces[inputs.len()].place(), &mut result).unwrap();
    Some((result, met))
}
