//! How values are made that a plan leaves out.

use numelt_opt::Recipe;
use std::sync::atomic::AtomicBool;

/// The recipes of the values that the runs of a plan put off (`put_off.rs`).
#[derive(Default)]
pub(crate) struct Recipes {
    pub list: Vec<Recipe>,
    /// Whether one of these values was read after all. Then the next plan for the program puts none off.
    pub regretted: AtomicBool,
}
