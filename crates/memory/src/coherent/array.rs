//! Set-associative arrays of tags: L1s, private second levels and shared banks. One array holds the caches of all owners
//! (cores or homes), so that a large chip costs memory only for the sets that it uses: zeroed pages are not backed.

use baton_chipfile::config::coherent::{Level, Replacement};

/// The largest number of ways of one level, summed over its owners. Each way takes up to 13 bytes
/// of address space.
pub(super) const MOST_WAYS: usize = 1 << 30;

/// A level of caches that is too large to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    /// Number of lines of the guest's memory that the caches of all owners could hold.
    pub(super) lines: usize,
}

/// The tag arrays of all owners of one level.
#[derive(Clone)]
pub(super) struct Array {
    /// Line number plus one; 0: the way is free.
    tags: Vec<u32>,
    /// What the owner keeps with each way: a protocol state, or whether the line is dirty.
    pub(super) state: Vec<u8>,
    /// What the owner keeps with each way: the number of a transaction under way, plus one.
    pub(super) slot: Vec<u32>,
    /// When each way was used last, by `clock`; for replacement of the least recently used way.
    used: Vec<u32>,
    /// A tree of bits for each set, one bit fewer than the set has ways; for replacement of the
    /// pseudo least recently used way.
    trees: Vec<u128>,
    ways: usize,
    /// By owner: its first set, and its number of sets less one.
    sets: Box<[(u32, u32)]>,
    replacement: Replacement,
    clock: u32,
}

impl Array {
    /// Creates an array for each owner, of the size that the owner's level says, for a guest memory
    /// of `lines` lines. All levels have the same ways and the same replacement. Sets beyond
    /// `lines` would stay empty, and so would ways beyond the lines that can come to a set. They
    /// are left out, which only saves memory.
    pub(super) fn new(levels: impl Iterator<Item = Level>, line_bytes: u32, lines: usize) -> Result<Array, TooLarge> {
        let lines = lines.next_power_of_two();
        let (mut sets, mut ways, mut replacement, mut first) = (Vec::new(), 1, Replacement::default(), 0);
        for level in levels {
            let here = level.sets(line_bytes).min(lines as u64) as usize;
            sets.push((first as u32, here as u32 - 1));
            first += here;
            ways = ways.max((level.ways as usize).min(lines / here));
            replacement = level.replacement;
        }
        let all = ways * first;
        if all > MOST_WAYS {
            return Err(TooLarge { lines: all });
        }
        let lru = replacement == Replacement::Lru;
        Ok(Array {
            tags: vec![0; all],
            state: vec![0; all],
            slot: vec![0; all],
            used: vec![0; if lru { all } else { 0 }],
            trees: vec![0; if lru { 0 } else { first }],
            ways,
            sets: sets.into(),
            replacement,
            clock: 0,
        })
    }

    /// First way of the set that a line of `owner` goes to; `key` is the line's number among those that the owner sees.
    #[inline(always)]
    fn set(&self, owner: u32, key: u32) -> usize {
        let (first, mask) = self.sets[owner as usize];
        (first + (key & mask)) as usize * self.ways
    }

    /// Returns the way that holds the line, if there is one.
    #[inline(always)]
    pub(super) fn find(&self, owner: u32, key: u32, line: u32) -> Option<usize> {
        let first = self.set(owner, key);
        let tags = &self.tags[first..first + self.ways];
        tags.iter().position(|&tag| tag == line + 1).map(|way| first + way)
    }

    /// Notes that the way was used.
    #[inline(always)]
    pub(super) fn touch(&mut self, way: usize) {
        match self.replacement {
            Replacement::Lru => {
                self.clock = self.clock.wrapping_add(1);
                self.used[way] = self.clock;
            }
            Replacement::Plru => {
                let (set, mut node) = (way / self.ways, 1);
                let at = way % self.ways;
                let mut half = self.ways / 2;
                while half != 0 {
                    // Each bit points away from the half that was used.
                    let upper = at & half != 0;
                    let bit = 1u128 << node;
                    self.trees[set] = if upper { self.trees[set] & !bit } else { self.trees[set] | bit };
                    node = node * 2 + usize::from(upper);
                    half /= 2;
                }
            }
        }
    }

    /// The way for the line: a free one, whatever `may` says, else the one that replacement chooses
    /// among the ways for which `may` holds; `None` if there is none.
    pub(super) fn place(&self, owner: u32, key: u32, may: impl Fn(usize) -> bool) -> Option<usize> {
        let first = self.set(owner, key);
        let ways = first..first + self.ways;
        if let Some(free) = ways.clone().find(|&way| self.tags[way] == 0) {
            return Some(free);
        }
        match self.replacement {
            Replacement::Lru => {
                // Ages are compared, so that the clock may wrap.
                ways.filter(|&way| may(way)).max_by_key(|&way| self.clock.wrapping_sub(self.used[way]))
            }
            Replacement::Plru => {
                let tree = self.trees[first / self.ways];
                let (mut node, mut at, mut half) = (1usize, 0, self.ways / 2);
                while half != 0 {
                    let upper = tree >> node & 1 == 1;
                    at += if upper { half } else { 0 };
                    node = node * 2 + usize::from(upper);
                    half /= 2;
                }
                if may(first + at) { Some(first + at) } else { ways.clone().find(|&way| may(way)) }
            }
        }
    }

    /// The line that is in a way; the way is not free.
    #[inline(always)]
    pub(super) fn line(&self, way: usize) -> u32 {
        self.tags[way].wrapping_sub(1)
    }

    /// Whether no line is in a way.
    #[inline(always)]
    pub(super) fn is_free(&self, way: usize) -> bool {
        self.tags[way] == 0
    }

    /// Puts the line into the way.
    #[inline]
    pub(super) fn put(&mut self, way: usize, line: u32) {
        self.tags[way] = line + 1;
        self.state[way] = 0;
        self.slot[way] = 0;
        self.touch(way);
    }

    /// Frees the way.
    #[inline]
    pub(super) fn clear(&mut self, way: usize) {
        self.tags[way] = 0;
        self.state[way] = 0;
        self.slot[way] = 0;
    }

    /// Every way of `owner` that holds a line.
    pub(super) fn held(&self, owner: u32) -> impl Iterator<Item = usize> + '_ {
        let (first, mask) = self.sets[owner as usize];
        let first = first as usize * self.ways;
        (first..first + (mask as usize + 1) * self.ways).filter(|&way| self.tags[way] != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    fn array(replacement: Replacement) -> Array {
        let level = Level { size_bytes: 4 * 2 * 64, ways: 4, replacement, ..Level::default() };
        Array::new(iter::repeat_n(level, 3), 64, 1 << 20).unwrap()
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut array = array(Replacement::Lru);
        for line in [0, 2, 4, 6] {
            let way = array.place(1, line, |_| true).unwrap();
            array.put(way, line);
        }
        let used = array.find(1, 0, 0).unwrap();
        array.touch(used);
        let goes = array.place(1, 8, |_| true).unwrap();
        assert_eq!(array.line(goes), 2);
        let held = array.place(1, 8, |way| way != goes).unwrap();
        assert_eq!(array.line(held), 4, "one that may not go stays");
        assert_eq!(array.place(1, 8, |_| false), None);
        assert_eq!(array.find(1, 1, 1), None, "the other set");
        assert_eq!(array.find(0, 0, 0), None, "another owner");
    }

    #[test]
    fn the_tree_points_away_from_what_was_used() {
        let mut array = array(Replacement::Plru);
        for line in [0, 2, 4, 6] {
            let way = array.place(0, line, |_| true).unwrap();
            array.put(way, line);
        }
        let goes = |array: &Array| array.line(array.place(0, 8, |_| true).unwrap());
        assert_eq!(goes(&array), 0);
        array.touch(array.find(0, 0, 0).unwrap());
        assert_eq!(goes(&array), 4, "the other half, and there the one not used last");
        array.touch(array.find(0, 4, 4).unwrap());
        assert_eq!(goes(&array), 2);
    }

    #[test]
    fn room_that_no_line_can_come_to_is_not_kept() {
        let level = Level { size_bytes: 1 << 40, ways: 128, replacement: Replacement::Lru, ..Level::default() };
        let array = Array::new(iter::repeat_n(level, 2), 64, 1000).unwrap();
        assert_eq!((&*array.sets, array.ways, array.tags.len()), (&[(0, 1023), (1024, 1023)][..], 1, 2048));
        let level = Level { size_bytes: 128 * 64 * 64, ways: 128, replacement: Replacement::Plru, ..Level::default() };
        let array = Array::new(iter::once(level), 64, 4096).unwrap();
        assert_eq!((&*array.sets, array.ways), (&[(0, 63)][..], 64), "64 of 4,096 lines go to each set");
    }

    #[test]
    fn what_cannot_be_kept_is_an_error() {
        let level = Level { size_bytes: 1 << 40, ways: 128, ..Level::default() };
        let lines = |owners| Array::new(iter::repeat_n(level, owners), 64, 1 << 23).err().map(|error| error.lines);
        assert_eq!(lines(1024), Some(1 << 33));
    }

    #[test]
    fn owners_have_as_many_sets_as_their_levels() {
        let level = |sets: u64| Level { size_bytes: sets * 4 * 64, ways: 4, ..Level::default() };
        let mut array = Array::new([2, 8, 1].map(level).into_iter(), 64, 1 << 20).unwrap();
        for owner in 0..3 {
            for line in 0..40 {
                let way = array.place(owner, line, |_| true).unwrap();
                array.put(way, line);
            }
        }
        assert_eq!([0, 1, 2].map(|owner| array.held(owner).count()), [8, 32, 4]);
        assert!((0..3).all(|owner| (36..40).all(|line| array.find(owner, line, line).is_some())));
        assert_eq!([0, 1, 2].map(|owner| array.find(owner, 8, 8).is_some()), [false, true, false]);
    }

    #[test]
    fn the_widest_set_has_a_tree() {
        let level = Level { size_bytes: 128 * 64, ways: 128, replacement: Replacement::Plru, ..Level::default() };
        let mut array = Array::new(iter::once(level), 64, 1 << 20).unwrap();
        for line in 0..128 {
            let way = array.place(0, line, |_| true).unwrap();
            array.put(way, line);
        }
        assert_eq!(array.line(array.place(0, 500, |_| true).unwrap()), 0);
    }
}
