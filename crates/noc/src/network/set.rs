//! A set of small numbers (routers, nodes) that is scanned in order and can be tested for emptiness
//! quickly.
//!
//! Each number has a bit. A second row of bits marks the non-zero words of the first, so that a
//! scan of a large idle network reads few words; a network of 64 routers takes one word of each.

use super::table::Table;

/// A set of numbers from 0 to a bound.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    members: Table<u64>,
    /// Marks the words of `members` that are not 0; exact outside a scan.
    words: Table<u64>,
}

impl Set {
    /// Creates an empty set of numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Set {
        let words = bound.div_ceil(64).max(1);
        Set { members: vec![0; words].into(), words: vec![0; words.div_ceil(64)].into() }
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, n: usize) {
        let word = &mut self.members[n >> 6];
        if *word == 0 {
            self.words[n >> 12] |= 1 << (n >> 6 & 63);
        }
        *word |= 1 << (n & 63);
    }

    #[inline]
    pub(crate) fn contains(&self, n: usize) -> bool {
        self.members[n >> 6] >> (n & 63) & 1 == 1
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.as_slice().iter().all(|w| *w == 0)
    }

    /// Calls `stays` with each member in order, and removes the member if it returns false.
    #[inline(always)]
    pub(crate) fn retain(&mut self, mut stays: impl FnMut(usize) -> bool) {
        for k in 0..self.words.len() {
            let mut words = self.words[k];
            while words != 0 {
                let w = k << 6 | words.trailing_zeros() as usize;
                words &= words - 1;
                let mut left = self.members[w];
                let mut rest = left;
                while rest != 0 {
                    let n = w << 6 | rest.trailing_zeros() as usize;
                    let others = rest & (rest - 1);
                    if !stays(n) {
                        left &= !(rest ^ others);
                    }
                    rest = others;
                }
                self.members[w] = left;
                if left == 0 {
                    self.words[k] &= !(1 << (w & 63));
                }
            }
        }
    }

    /// Returns the first member from `n` on.
    #[inline]
    pub(crate) fn next(&self, n: usize) -> Option<usize> {
        let w = n >> 6;
        if w >= self.members.len() {
            return None;
        }
        let here = self.members[w] & u64::MAX << (n & 63);
        if here != 0 {
            return Some(w << 6 | here.trailing_zeros() as usize);
        }
        let w = self.next_word(w + 1)?;
        Some(w << 6 | self.members[w].trailing_zeros() as usize)
    }

    /// Returns the first word from `w` on that has a member.
    #[inline]
    fn next_word(&self, w: usize) -> Option<usize> {
        let mut k = w >> 6;
        let mut words = self.words.as_slice().get(k)? & u64::MAX << (w & 63);
        while words == 0 {
            k += 1;
            words = *self.words.as_slice().get(k)?;
        }
        Some(k << 6 | words.trailing_zeros() as usize)
    }

    #[inline]
    pub(crate) fn remove(&mut self, n: usize) {
        self.members[n >> 6] &= !(1 << (n & 63));
        if self.members[n >> 6] == 0 {
            self.words[n >> 12] &= !(1 << (n >> 6 & 63));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order_and_go_when_told() {
        for bound in [1, 64, 65, 4096, 5000, 1 << 20] {
            let mut set = Set::new(bound);
            assert!(set.is_empty());
            let mut wanted: Vec<usize> = (0..bound).step_by(bound.div_ceil(50)).chain([bound - 1]).collect();
            wanted.dedup();
            wanted.iter().for_each(|n| set.insert(*n));
            let mut met = vec![];
            set.retain(|n| {
                met.push(n);
                n % 2 == 0
            });
            assert_eq!(met, wanted);
            assert!(wanted.iter().all(|n| set.contains(*n) == (n % 2 == 0)));
            assert_eq!(set.is_empty(), wanted.iter().all(|n| n % 2 == 1));
            let mut left = vec![];
            while let Some(n) = set.next(left.last().map_or(0, |n| n + 1)) {
                left.push(n);
            }
            assert_eq!(left, wanted.iter().copied().filter(|n| n % 2 == 0).collect::<Vec<_>>());
            left.iter().for_each(|n| set.remove(*n));
            assert!(set.is_empty() && set.next(0).is_none(), "bound {bound}");
        }
    }
}
