//! The options of the optimizer: the partition algorithm, the passes, and the target.

use crate::Target;
use numelt_ir::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Which algorithm partitions the program into kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fuse {
    /// Every instruction is a kernel of its own.
    Singleton,
    /// Program order: each instruction joins the current block if that stays legal.
    Naive,
    /// The pair of blocks that saves most bytes is fused first.
    #[default]
    Greedy,
    /// Only pairs are fused that some optimal partition fuses, too.
    Unintrusive,
    /// Branch and bound within a budget; never worse than greedy. Its time is not near-linear, so it is for reports.
    Optimal,
}

impl Fuse {
    /// Every algorithm.
    pub const ALL: [Fuse; 5] = [Fuse::Singleton, Fuse::Naive, Fuse::Greedy, Fuse::Unintrusive, Fuse::Optimal];

    /// Name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Fuse::Singleton => "singleton",
            Fuse::Naive => "naive",
            Fuse::Greedy => "greedy",
            Fuse::Unintrusive => "unintrusive",
            Fuse::Optimal => "optimal",
        }
    }
}

impl fmt::Display for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fuse {
    type Err = Error;
    fn from_str(text: &str) -> Result<Fuse> {
        Fuse::ALL.into_iter().find(|f| f.name() == text).ok_or_else(|| {
            let names = "singleton, naive, greedy, unintrusive or optimal";
            Error::Config(format!("unknown fusion {text:?}: expected {names}"))
        })
    }
}

/// The passes that may be left out; [`Passes`] is a set of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// Unread results are not computed.
    Dead,
    /// Each life of a reused buffer gets a base of its own.
    Rename,
    /// Copies that are not needed are not made.
    Copies,
    /// Arrays that are assembled from the moved parts of another one are read from their source.
    Rolls,
    /// Algebraic rules that keep every bit.
    Algebra,
    /// Repeated expressions are computed once.
    Common,
    /// A reduction of a reduction becomes one reduction.
    Collapse,
    /// Sweeps that overwrite what they read take turns between two arrays.
    Alternate,
}

impl Pass {
    /// Every optional pass, in the order they run.
    pub const ALL: [Pass; 8] = [
        Pass::Dead,
        Pass::Rename,
        Pass::Copies,
        Pass::Rolls,
        Pass::Algebra,
        Pass::Common,
        Pass::Collapse,
        Pass::Alternate,
    ];

    /// Name in configuration and explanations.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::Dead => "dead",
            Pass::Rename => "rename",
            Pass::Copies => "copies",
            Pass::Rolls => "rolls",
            Pass::Algebra => "algebra",
            Pass::Common => "common",
            Pass::Collapse => "collapse",
            Pass::Alternate => "alternate",
        }
    }
}

/// A set of optional passes. As text: `all`, `none`, or names with commas between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Passes(u16);

impl Passes {
    /// All of them, the default.
    pub const ALL: Passes = Passes((1 << Pass::ALL.len()) - 1);
    /// No optional pass: the program is only brought into the form that a plan needs.
    pub const NONE: Passes = Passes(0);

    /// A set of one.
    pub const fn only(pass: Pass) -> Passes {
        Passes(1 << pass as u16)
    }

    /// Is the pass in the set?
    pub const fn contains(self, pass: Pass) -> bool {
        self.0 >> pass as u16 & 1 == 1
    }

    /// This set and a pass.
    #[must_use]
    pub const fn with(self, pass: Pass) -> Passes {
        Passes(self.0 | Passes::only(pass).0)
    }
}

impl Default for Passes {
    fn default() -> Passes {
        Passes::ALL
    }
}

impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Passes::ALL => f.write_str("all"),
            Passes::NONE => f.write_str("none"),
            set => {
                let names: Vec<&str> = Pass::ALL.into_iter().filter(|&p| set.contains(p)).map(Pass::name).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl FromStr for Passes {
    type Err = Error;
    fn from_str(text: &str) -> Result<Passes> {
        match text.trim() {
            "all" => return Ok(Passes::ALL),
            "none" | "" => return Ok(Passes::NONE),
            _ => {}
        }
        text.split(',').map(str::trim).try_fold(Passes::NONE, |set, name| {
            let pass = Pass::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
                let names: Vec<&str> = Pass::ALL.into_iter().map(Pass::name).collect();
                Error::Config(format!("unknown pass {name:?}: expected all, none or some of {}", names.join(", ")))
            })?;
            Ok(set.with(pass))
        })
    }
}

/// Options of [`crate::plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// The partition algorithm.
    pub fuse: Fuse,
    /// The optional passes that run.
    pub passes: Passes,
    /// Nodes that the search of [`Fuse::Optimal`] may visit.
    pub budget: u32,
    /// Values of at least this many bytes may be stored in the memory of values that are read for the last time, if the
    /// program needs at least 32 times as much memory.
    pub reuse: u64,
    /// The machine for which a plan is made.
    pub target: Target,
}

impl Default for Options {
    fn default() -> Options {
        Options { fuse: Fuse::default(), passes: Passes::ALL, budget: 4000, reuse: 1 << 20, target: Target::cpu() }
    }
}
