//! `numpy.random.SeedSequence`: turns one number into well-mixed words of state, and into independent further seeds.

/// The words of the pool into which entropy is mixed.
const POOL: usize = 4;

/// A seed, mixed as `numpy.random.SeedSequence` mixes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedSequence {
    entropy: Vec<u32>,
    spawn_key: Vec<u32>,
    children: u32,
    pool: [u32; POOL],
}

/// A hash that changes with each use, so that equal words become different ones.
struct Hash(u32);

impl Hash {
    /// The hash of a word that goes into the pool.
    fn mixed(&mut self, value: u32) -> u32 {
        self.step(value, 0x931e_8875)
    }

    fn step(&mut self, value: u32, multiplier: u32) -> u32 {
        let value = value ^ self.0;
        self.0 = self.0.wrapping_mul(multiplier);
        let value = value.wrapping_mul(self.0);
        value ^ value >> 16
    }
}

/// Combines two words.
fn joined(x: u32, y: u32) -> u32 {
    let mixed = x.wrapping_mul(0xca01_f9dd).wrapping_sub(y.wrapping_mul(0x4973_f715));
    mixed ^ mixed >> 16
}

impl SeedSequence {
    /// The sequence for an integer.
    pub fn new(entropy: u128) -> SeedSequence {
        let mut words = vec![entropy as u32];
        let mut rest = entropy >> 32;
        while rest > 0 {
            words.push(rest as u32);
            rest >>= 32;
        }
        SeedSequence::of(words, Vec::new())
    }

    fn of(entropy: Vec<u32>, spawn_key: Vec<u32>) -> SeedSequence {
        let mut words = entropy.clone();
        if !spawn_key.is_empty() {
            // padding, so that a key does not look like more entropy
            words.resize(words.len().max(POOL), 0);
            words.extend(&spawn_key);
        }
        let mut hash = Hash(0x43b0_d7e5);
        let mut pool: [u32; POOL] = std::array::from_fn(|at| hash.mixed(words.get(at).copied().unwrap_or(0)));
        for from in 0..POOL {
            for to in (0..POOL).filter(|&to| to != from) {
                pool[to] = joined(pool[to], hash.mixed(pool[from]));
            }
        }
        for &word in words.iter().skip(POOL) {
            for place in &mut pool {
                *place = joined(*place, hash.mixed(word));
            }
        }
        SeedSequence { entropy, spawn_key, children: 0, pool }
    }

    /// The first `count` words of state.
    pub fn state(&self, count: usize) -> Vec<u64> {
        let mut hash = Hash(0x8b51_f9dd);
        let mut halves = self.pool.iter().cycle().map(|&word| u64::from(hash.step(word, 0x58f3_8ded)));
        let mut half = || halves.next().unwrap_or_default();
        (0..count).map(|_| half() | half() << 32).collect()
    }

    /// The next seed, which is independent of this one and of all numbers made from it.
    pub fn spawn(&mut self) -> SeedSequence {
        let key = self.spawn_key.iter().copied().chain([self.children]).collect();
        self.children += 1;
        SeedSequence::of(self.entropy.clone(), key)
    }
}
