//! Numerical routines of the libraries for the best OpenCL device of this machine, or for the engine that
//! `NUMELT_TEST_ENGINE` names: Fourier transforms, systems of equations, decompositions.

mod support;

use numelt_testing::routines::check_routines;
use support::device;

#[test]
fn routines_have_the_results_that_define_them() {
    let Some(device) = device() else { return };
    if check_routines(&*device) == 0 {
        eprintln!("not tested: there is no library of numerical routines");
    }
}
