//! The workspace's conformance suite on the best OpenCL device here.

mod support;

use numelt_testing::engine::{Tested, conforms};
use support::device;

#[test]
fn conforms_to_the_suite() {
    let Some(device) = device() else { return };
    conforms(Tested::device(&device), 40);
}
