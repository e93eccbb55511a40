//! What a caller may choose about the optimizer.

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
}

impl Fuse {
    /// Every algorithm.
    pub const ALL: [Fuse; 3] = [Fuse::Singleton, Fuse::Naive, Fuse::Greedy];

    /// Name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Fuse::Singleton => "singleton",
            Fuse::Naive => "naive",
            Fuse::Greedy => "greedy",
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
        Fuse::ALL
            .into_iter()
            .find(|f| f.name() == text)
            .ok_or_else(|| Error::Config(format!("unknown fusion {text:?}: expected singleton, naive or greedy")))
    }
}

/// Options of [`crate::plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// The partition algorithm.
    pub fuse: Fuse,
}
