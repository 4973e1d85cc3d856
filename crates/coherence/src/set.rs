//! Sets of cores: the sharers of a directory entry, the readers that a cache has deferred.

use baton_units::CoreId;

/// A small set of cores.
pub trait CoreSet: Copy + Default + PartialEq {
    fn insert(&mut self, core: CoreId);
    fn remove(&mut self, core: CoreId);
    fn contains(&self, core: CoreId) -> bool;
    fn len(&self) -> u16;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Calls `f` with each core, from the lowest number up.
    fn each(&self, f: impl FnMut(CoreId));
}

/// A set with one bit per core, for up to `64 * W` cores. A core with a larger number is a mistake
/// of the caller and causes a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits<const W: usize>(pub [u64; W]);

impl<const W: usize> Default for Bits<W> {
    fn default() -> Self {
        Bits([0; W])
    }
}

impl<const W: usize> CoreSet for Bits<W> {
    #[inline]
    fn insert(&mut self, core: CoreId) {
        self.0[core.0 as usize / 64] |= 1 << (core.0 % 64);
    }

    #[inline]
    fn remove(&mut self, core: CoreId) {
        self.0[core.0 as usize / 64] &= !(1 << (core.0 % 64));
    }

    #[inline]
    fn contains(&self, core: CoreId) -> bool {
        self.0[core.0 as usize / 64] >> (core.0 % 64) & 1 == 1
    }

    #[inline]
    fn len(&self) -> u16 {
        self.0.iter().map(|word| word.count_ones() as u16).sum()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    #[inline]
    fn each(&self, mut f: impl FnMut(CoreId)) {
        for (i, word) in self.0.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                f(CoreId(i as u32 * 64 + rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_spans_words() {
        let mut set = Bits::<2>::default();
        for core in [127, 3, 64, 3] {
            set.insert(CoreId(core));
        }
        assert_eq!(set.len(), 3);
        set.remove(CoreId(64));
        let mut seen = Vec::new();
        set.each(|core| seen.push(core.0));
        assert_eq!(seen, [3, 127]);
        assert!(set.contains(CoreId(127)) && !set.contains(CoreId(63)) && !set.is_empty());
    }
}
