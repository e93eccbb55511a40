//! The workspace's conformance suite on this engine, under several settings.

mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_testing::engine::conforms;
use support::engine;

#[test]
fn default_blocks() {
    conforms(&engine(1, 0), 10_000);
}

#[test]
fn blocks_of_one() {
    conforms(&engine(1, 1), 1000);
}

#[test]
fn blocks_of_two() {
    conforms(&engine(2, 2), 1000);
}

#[test]
fn odd_blocks() {
    conforms(&engine(3, 13), 1000);
}

#[test]
fn compiled_at_once() {
    let options = Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() };
    conforms(&CpuEngine::new(options), 150);
}
