//! Random numbers from a seed, the same everywhere.

/// SplitMix64: small, fast, and good enough to choose what to do next.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True so many times in a thousand.
    pub(crate) fn per_mille(&mut self, chance: u64) -> bool {
        self.below(1000) < chance
    }

    /// One of `choices`; `None` if there are none.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let end = u64::try_from(choices.len()).ok().filter(|end| *end > 0)?;
        choices.get(usize::try_from(self.below(end)).ok()?)
    }

    /// One of `choices`, of which there is one at least.
    pub(crate) fn one_of<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        const { assert!(N > 0) };
        // Less than `N`, which fits.
        choices[self.below(N as u64) as usize]
    }

    /// Numbers of its own for a part of the work.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
