//! The rules by which an engine is chosen for each step of a plan.

/// The rule by which engines are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// On the host.
    Host,
    /// On this device, if it can do the step.
    Always(usize),
    /// Where it takes the least time, including copies.
    Cost,
    /// On a random engine, as a test of copies between engines.
    Random(u64),
}
