//! Golden memory: in debug builds every copy of a line carries a version, and each read must find the newest.

#[cfg(debug_assertions)]
use std::collections::BTreeMap;

/// Versions of lines and of their copies. In release builds it is empty and does nothing.
#[derive(Clone, Default)]
pub(super) struct Golden {
    #[cfg(debug_assertions)]
    newest: BTreeMap<u32, u32>,
    #[cfg(debug_assertions)]
    homes: BTreeMap<u32, u32>,
    #[cfg(debug_assertions)]
    copies: BTreeMap<usize, u32>,
}

#[cfg(debug_assertions)]
impl Golden {
    /// The version in a way of the cores' caches.
    pub(super) fn copy(&self, way: usize) -> u32 {
        self.copies.get(&way).copied().unwrap_or(0)
    }

    /// Checks a read of a copy of `line` that has this version.
    pub(super) fn read(&self, line: u32, version: u32) {
        let newest = self.newest.get(&line).copied().unwrap_or(0);
        assert_eq!(version, newest, "line {line}: an old value was read");
    }

    /// Checks a write of the copy in `way`, which must be the newest.
    pub(super) fn write(&mut self, line: u32, way: usize) {
        self.read(line, self.copy(way));
        let newest = self.newest.entry(line).or_default();
        *newest += 1;
        self.copies.insert(way, *newest);
    }

    /// Notes that data comes into a way.
    pub(super) fn fill(&mut self, way: usize, version: u32) {
        self.copies.insert(way, version);
    }

    /// The version at the home (or in memory).
    pub(super) fn home(&self, line: u32) -> u32 {
        self.homes.get(&line).copied().unwrap_or(0)
    }

    /// Data comes home.
    pub(super) fn store(&mut self, line: u32, version: u32) {
        self.homes.insert(line, version);
    }

    /// Notes that the home changes its own data.
    pub(super) fn write_home(&mut self, line: u32) {
        self.read(line, self.home(line));
        let newest = self.newest.entry(line).or_default();
        *newest += 1;
        self.homes.insert(line, *newest);
    }
}

#[cfg(not(debug_assertions))]
#[expect(clippy::unused_self, reason = "the same face as in debug builds")]
impl Golden {
    #[inline(always)]
    pub(super) fn copy(&self, _: usize) -> u32 {
        0
    }
    #[inline(always)]
    pub(super) fn read(&self, _: u32, _: u32) {}
    #[inline(always)]
    pub(super) fn write(&mut self, _: u32, _: usize) {}
    #[inline(always)]
    pub(super) fn fill(&mut self, _: usize, _: u32) {}
    #[inline(always)]
    pub(super) fn home(&self, _: u32) -> u32 {
        0
    }
    #[inline(always)]
    pub(super) fn store(&mut self, _: u32, _: u32) {}
    #[inline(always)]
    pub(super) fn write_home(&mut self, _: u32) {}
}
