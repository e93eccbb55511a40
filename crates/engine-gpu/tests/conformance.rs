//! The workspace's conformance suite on the best OpenCL device here.

use numelt_engine_gpu::{Devices, OpenCl, Options};
use numelt_testing::engine::{Tested, conforms};

/// The device that tests run on; nothing where there is none, as on a machine without a driver.
fn device() -> Option<OpenCl> {
    match OpenCl::new(&Options { devices: Devices::All, memory: None }) {
        Ok(device) => Some(device),
        Err(why) => {
            eprintln!("not tested: {why}");
            None
        }
    }
}

#[test]
fn conforms_to_the_suite() {
    let Some(device) = device() else { return };
    conforms(Tested::device(&device), 300);
}
