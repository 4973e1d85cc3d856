//! A set of small numbers (routers, nodes) that is scanned in order, and whose emptiness is seen at once.
//!
//! A byte a number: to insert is one store. A second row of bytes stands for runs of 64 numbers, so that a scan of a
//! large idle network looks at little.

use super::table::Table;

/// Numbers that a byte of `runs` stands for.
const RUN: usize = 64;

/// Numbers from 0 to a bound.
#[derive(Clone, Debug)]
pub(super) struct Set {
    members: Table<u8>,
    /// Runs that may hold a member; exact outside a scan.
    runs: Table<u8>,
}

impl Set {
    /// An empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Set {
        let runs = bound.div_ceil(RUN).next_multiple_of(8).max(8);
        Set { members: vec![0; runs * RUN].into(), runs: vec![0; runs].into() }
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, n: usize) {
        self.members[n] = 1;
        self.runs[n / RUN] = 1;
    }

    pub(super) fn contains(&self, n: usize) -> bool {
        self.members[n] != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        let (words, _) = self.runs.as_slice().as_chunks::<8>();
        words.iter().all(|w| u64::from_ne_bytes(*w) == 0)
    }

    /// Calls `stays` with each member in order; where it says false, the number is taken out.
    #[inline(always)]
    pub(super) fn retain(&mut self, mut stays: impl FnMut(usize) -> bool) {
        for k in 0..self.runs.len() / 8 {
            let mut set = eight(&self.runs, k);
            while set != 0 {
                let run = k * 8 + take_first(&mut set);
                for k in run * (RUN / 8)..(run + 1) * (RUN / 8) {
                    let mut set = eight(&self.members, k);
                    while set != 0 {
                        let n = k * 8 + take_first(&mut set);
                        if !stays(n) {
                            self.members[n] = 0;
                        }
                    }
                }
                self.runs[run] = u8::from(self.any_in_run(run));
            }
        }
    }

    #[inline(always)]
    fn any_in_run(&self, run: usize) -> bool {
        (run * (RUN / 8)..(run + 1) * (RUN / 8)).fold(0, |all, k| all | eight(&self.members, k)) != 0
    }

    /// The first member from `n` on.
    pub(super) fn next(&self, mut n: usize) -> Option<usize> {
        while n < self.members.len() {
            if n.is_multiple_of(RUN) && self.runs[n / RUN] == 0 {
                n += RUN;
            } else if n.is_multiple_of(8) && eight(&self.members, n / 8) == 0 {
                n += 8;
            } else if self.contains(n) {
                return Some(n);
            } else {
                n += 1;
            }
        }
        None
    }

    pub(super) fn remove(&mut self, n: usize) {
        self.members[n] = 0;
        let run = n / RUN;
        self.runs[run] = u8::from(self.any_in_run(run));
    }
}

/// Bytes `8 k` to `8 k + 7`, the first one lowest.
#[inline(always)]
fn eight(bytes: &Table<u8>, k: usize) -> u64 {
    let (words, _) = bytes.as_slice().as_chunks::<8>();
    debug_assert!(k < words.len(), "word {k} of {}", words.len());
    // SAFETY: there are a multiple of eight numbers, and every caller's word is that of a run or number of the set.
    u64::from_le_bytes(unsafe { *words.get_unchecked(k) })
}

/// The place of the lowest byte that is 1, which is cleared.
#[inline(always)]
fn take_first(set: &mut u64) -> usize {
    let first = (set.trailing_zeros() >> 3) as usize;
    *set &= *set - 1;
    first
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
