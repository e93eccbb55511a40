//! What the optimizer and the runtime have to know about the machine that an engine runs on.
//!
//! Every engine has a [`Target`]. It holds limits, and thresholds between two methods of which either may be faster.
//! No result depends on them: they decide how a program is cut into kernels, and when it runs. Numbers that bound the
//! optimizer's own time are not part of it; they are constants where they are used.

/// Limits and thresholds of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The most memory operands that fusion puts into one kernel: loads, gathers, stores and results of reductions.
    /// Loads that share an address by [`Target::near_loads`] count once, and so does an array that is rolled in several
    /// ways. A single instruction may have more.
    pub kernel_args: u32,
    /// The most operations and conversions that fusion puts into one kernel. They determine how long compiling takes,
    /// and how many values are alive at a time. A single instruction may have more.
    pub kernel_nodes: u32,
    /// How loads of one array a few elements apart share an address; `None` if each load has its own.
    pub near_loads: Option<NearLoads>,
    /// The bytes that can be moved in the time of a launch. Neighbouring kernels that touch no more bytes together
    /// become one, even if they share nothing.
    pub launch_bytes: u64,
    /// Programs that need at most this many bytes of memory are not optimized for memory.
    pub free_bytes: u64,
    /// When kernels that share a loop become a nest ([`crate::Step::Nest`]); `None` if the engine does not run nests.
    pub nests: Option<NestLimits>,
    /// When a kernel overwrites elements that it reads at other points; `None` if the engine does not run kernels with
    /// a [`crate::Delay`].
    pub delays: Option<DelayLimits>,
    /// Whether a kernel may scatter its results while it computes them ([`crate::Put`]). Otherwise scatters are calls.
    pub puts: bool,
    /// When sweeps that overwrite what they read get a second array; `None` for never.
    pub alternation: Option<AlternationLimits>,
    /// Which operations run when they are recorded, instead of waiting for later ones.
    pub at_once: AtOnceLimits,
    /// The costs that decide whether a batch of little work is planned or run operation by operation.
    pub planning: PlanningCosts,
    /// Whether host memory whose values have moved to the engine is filled with garbage, so that a test notices code
    /// that reads it.
    pub spoils: bool,
}

/// Loads that share an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NearLoads {
    /// If a kernel has at least this many loads, near ones share an address. With fewer, each has a register of its
    /// own, and one compiled kernel serves all distances.
    pub least_loads: usize,
    /// The largest distance at which two loads are near, in elements.
    pub reach: i64,
}

/// When kernels take turns along a loop that they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NestLimits {
    /// The most bytes that the shortest stretch of the loop may touch: it has to fit in a core's own cache.
    pub stretch_bytes: u64,
    /// The bytes that should be contiguous in memory. If a step of the loop touches fewer, a stretch has more steps.
    pub chunk_bytes: i64,
    /// The number of steps of a loop that is enough to occupy all cores.
    pub enough_steps: i64,
    /// The most kernels of one nest.
    pub stages: usize,
    /// A nest has to save at least one in this many of the bytes that its kernels move one by one.
    pub worth: u64,
}

/// When a kernel may overwrite elements that it reads at other points, so that results have to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DelayLimits {
    /// In iteration spaces with at most this many points, any number of results may wait.
    pub few_points: i64,
    /// Larger iteration spaces must have at least this many times as many points as results wait.
    pub times: i64,
}

/// When sweeps that overwrite what they read take turns between two arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AlternationLimits {
    /// The size in bytes of the largest array that gets a second one: both should fit the last cache.
    pub largest_bytes: usize,
    /// The number of sweeps in one batch from which on it is worth it, whatever the size of the array.
    pub sweeps: usize,
    /// From this size in bytes on, two sweeps are enough.
    pub large_bytes: usize,
}

/// When an operation runs as soon as it is recorded. The numbers count the elements of its result, or, for a reduction,
/// those of its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AtOnceLimits {
    /// With at most this many elements, it always does.
    pub few: i64,
    /// With at most this many, reductions always do, and elementwise operations until long chains of them have been
    /// seen.
    pub middle: i64,
}

/// The time that making a plan takes, and the time that having it saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanningCosts {
    /// Nanoseconds for making a plan.
    pub plan_ns: u64,
    /// Additional nanoseconds for each instruction.
    pub instruction_ns: u64,
    /// Nanoseconds that a plan saves for each instruction after the first: a launch.
    pub launch_ns: u64,
    /// The number of element-operations for which a plan saves a nanosecond, at least one.
    pub elements_per_ns: u64,
}

impl Target {
    /// A processor with vector registers, a few cores, and caches of at least a megabyte for each.
    pub const fn cpu() -> Target {
        Target {
            // more streams than this defeat prefetchers and registers
            kernel_args: 24,
            kernel_nodes: 120,
            // stencils have more operands than a processor has registers
            near_loads: Some(NearLoads { least_loads: 10, reach: 4 }),
            // About the memory traffic that takes as long as a launch, a few microseconds.
            launch_bytes: 256 << 10,
            free_bytes: 32 << 20,
            nests: Some(NestLimits {
                stretch_bytes: 512 << 10,
                chunk_bytes: 512,
                enough_steps: 32,
                stages: 24,
                worth: 16,
            }),
            delays: Some(DelayLimits { few_points: 1 << 16, times: 4 }),
            puts: true,
            alternation: Some(AlternationLimits { largest_bytes: 16 << 20, sweeps: 4, large_bytes: 128 << 10 }),
            // With `few` of 256, an ensemble sampler of 64 walkers in five dimensions reaches 1.15 times NumPy's speed
            // and a Boltzmann machine with 480 weights 0.9; with 512, they reach 1.35 and 1.75. With 1024, the sum of
            // 27 neighbours in a block of 8 x 8 x 8 and the price of 1,000 options take twice as long. With `middle` of
            // 2048, the tables of a knapsack problem and the ranks of pages take 1.2 times as long.
            at_once: AtOnceLimits { few: 512, middle: 8192 },
            planning: PlanningCosts { plan_ns: 20_000, instruction_ns: 4_000, launch_ns: 1_000, elements_per_ns: 4 },
            spoils: false,
        }
    }

    /// A machine of which nothing special is known: kernels of points that may be evaluated in any order, and no
    /// others.
    pub const fn plain() -> Target {
        Target { near_loads: None, nests: None, delays: None, puts: false, alternation: None, ..Target::cpu() }
    }
}

impl Default for Target {
    fn default() -> Target {
        Target::cpu()
    }
}
