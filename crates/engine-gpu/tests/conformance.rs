//! The workspace's conformance suite on the best OpenCL device of this machine, or on the engine that
//! `NUMELT_TEST_ENGINE` names; `NUMELT_TEST_PROGRAMS` sets the number of random programs.

mod support;

use numelt_testing::engine::{Tested, conforms};
use std::env;
use support::device;

#[test]
fn conforms_to_the_suite() {
    let Some(device) = device() else { return };
    let programs = env::var("NUMELT_TEST_PROGRAMS").map_or(40, |text| text.parse().unwrap());
    conforms(Tested::device(&*device), programs);
}
