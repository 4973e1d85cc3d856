//! Flits that stand before bounded endpoints, which take them one by one.

use super::super::flit::Flit;
use super::super::table::Table;

/// The virtual channels of all endpoints, numbered `node << 3 | v`. Empty if endpoints take every
/// flit at once.
#[derive(Clone, Debug)]
pub(crate) struct Ejected {
    /// A ring buffer of flits for each virtual channel.
    flits: Table<Flit>,
    vcs: Table<Ends>,
    depth_shift: u32,
    /// For each node, the first output virtual channel that leads to its endpoint and to which
    /// credits return.
    ways: Table<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    count: u8,
    head: u8,
}

impl Ejected {
    /// Creates the virtual channels of endpoints behind the output virtual channels `ways`, with
    /// room for `1 << depth_shift` flits each.
    pub(crate) fn new(ways: Vec<u32>, depth_shift: u32) -> Ejected {
        let n = ways.len() * 8;
        let flits = vec![Flit::default(); n << depth_shift].into();
        Ejected { flits, vcs: vec![Ends::default(); n].into(), depth_shift, ways: ways.into() }
    }

    pub(crate) fn put(&mut self, n: usize, flit: Flit) {
        let place = self.place(n, self.vcs[n].count);
        self.flits[place] = flit;
        self.vcs[n].count += 1;
    }

    /// Returns flit `k` of virtual channel `n`, counted from the front.
    pub(crate) fn flit(&self, n: usize, k: u8) -> Flit {
        self.flits[self.place(n, k)]
    }

    fn place(&self, n: usize, k: u8) -> usize {
        let mask = (1usize << self.depth_shift) - 1;
        (n << self.depth_shift) + ((usize::from(self.vcs[n].head) + usize::from(k)) & mask)
    }

    /// Takes the front flit of virtual channel `n`. Returns the flit, the output virtual channel
    /// that has a credit again, and whether flits are left.
    #[inline(always)]
    pub(crate) fn take(&mut self, n: usize) -> (Flit, u32, bool) {
        let flit = self.flit(n, 0);
        let vc = &mut self.vcs[n];
        vc.head = vc.head.wrapping_add(1) & ((1u32 << self.depth_shift) - 1) as u8;
        vc.count -= 1;
        (flit, self.ways[n >> 3] | (n & 7) as u32, vc.count > 0)
    }

    pub(crate) fn count(&self, n: usize) -> u8 {
        if self.vcs.len() == 0 { 0 } else { self.vcs[n].count }
    }
}
