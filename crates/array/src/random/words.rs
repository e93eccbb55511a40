//! What distributions draw from: the words of a bit generator, one by one.

/// The stream of a bit generator.
pub trait Words {
    /// The next word.
    fn word(&mut self) -> u64;

    /// The next half of a word.
    fn half(&mut self) -> u32;

    /// The next uniform number in `[0, 1)`.
    fn uniform(&mut self) -> f64;

    /// The next integer from zero to `last`, all equally likely: by multiplication, with rejection of few words.
    fn below_or_at(&mut self, last: u64) -> u64 {
        if last == 0 {
            return 0;
        }
        if last == u64::MAX {
            return self.word();
        }
        let count = last + 1;
        if last >= u64::from(u32::MAX) {
            if last == u64::from(u32::MAX) {
                return self.half().into();
            }
            let mut product = u128::from(self.word()) * u128::from(count);
            if (product as u64) < count {
                let least = (u64::MAX - last) % count;
                while (product as u64) < least {
                    product = u128::from(self.word()) * u128::from(count);
                }
            }
            return (product >> 64) as u64;
        }
        let mut product = u64::from(self.half()) * count;
        if (product as u32) < count as u32 {
            let least = (u32::MAX - last as u32) % count as u32;
            while (product as u32) < least {
                product = u64::from(self.half()) * count;
            }
        }
        product >> 32
    }

    /// The next integer from zero to `last`, by rejection under the smallest mask that holds `last`: the method of
    /// shuffling and of the legacy generator.
    fn masked(&mut self, last: u64) -> u64 {
        if last == 0 {
            return 0;
        }
        let mask = last.checked_next_power_of_two().map_or(u64::MAX, |power| power - 1) | last;
        loop {
            let bits = if last <= u64::from(u32::MAX) { self.half().into() } else { self.word() };
            if bits & mask <= last {
                return bits & mask;
            }
        }
    }
}
