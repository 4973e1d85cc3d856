//! The layout of the kernel's memory at the start of the arena, and the bucket of each cell.
//!
//! The counters of sleepers come first; they belong to the program and lie as in the native table.
//! Kernel data and the run queue of each CPU come last (`os.kernel_lines`, `os.interrupt_lines`,
//! `os.queue_lines`). If futexes live in memory, the hash buckets lie in between, each alone in a
//! line, followed by the nodes, one for each thread that can live at a time.
//!
//! With `os.futex_home = "lock"`, a cell's bucket is one whose line has the same home as the cell
//! (OCOR, section 4.1: a sleeper registers "into the lock queue in the home node where the lock
//! variable locates"). Lines are distributed over the homes in turn, so the buckets of one home
//! recur at a fixed distance.

use super::{BUCKET_BYTES, BUCKETS, hash};
use crate::guest::arena::PAGE;
use baton_chipfile::config::{Chip, FutexHome};

/// The layout, in bytes from the start of the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// How buckets are placed, if futexes live in memory.
    home: Option<FutexHome>,
    buckets_at: usize,
    bucket_bytes: usize,
    nodes_at: usize,
    node_bytes: usize,
    cpus_at: usize,
    /// The number of lines of a CPU: its kernel data, then its run queue.
    cpu_lines: usize,
    data_lines: usize,
    /// The offset at which the heap can begin.
    pub(crate) end: usize,
    /// The number of homes over which lines are distributed; 1 if there are none.
    homes: usize,
    line_shift: u32,
}

impl Layout {
    /// The layout on a chip, for `threads` threads.
    pub(crate) fn new(chip: &Chip, threads: usize) -> Layout {
        let line = chip.cache.line_bytes as usize;
        let homes = chip.coherent.as_ref().map_or(1, |coherent| coherent.home.banks as usize);
        let home = chip.os.futex.home;
        let (buckets, nodes) = if home.is_some() { (BUCKETS.next_multiple_of(homes), threads) } else { (0, 0) };
        let node_bytes = line.max(64);
        let buckets_at = (BUCKETS * BUCKET_BYTES).next_multiple_of(line);
        let nodes_at = (buckets_at + buckets * line).next_multiple_of(node_bytes);
        let cpus_at = nodes_at + nodes * node_bytes;
        let data_lines = chip.os.lines.syscall.max(chip.os.lines.interrupt) as usize;
        let cpu_lines = data_lines + chip.os.lines.queue as usize;
        let end = (cpus_at + chip.cpus() as usize * cpu_lines * line).next_multiple_of(PAGE);
        let line_shift = line.trailing_zeros();
        Layout {
            home,
            buckets_at,
            bucket_bytes: line,
            nodes_at,
            node_bytes,
            cpus_at,
            cpu_lines,
            data_lines,
            end,
            homes,
            line_shift,
        }
    }

    /// Whether futexes live in memory.
    #[inline]
    pub(crate) fn in_memory(&self) -> bool {
        self.home.is_some()
    }

    /// The offset of the counter of sleepers for the cell at `offset`.
    pub(crate) fn counter(offset: usize) -> usize {
        super::bucket(offset) * BUCKET_BYTES
    }

    /// The number of the bucket for the cell at `offset`.
    pub(crate) fn bucket_of(&self, offset: usize) -> u32 {
        let number = match self.home {
            Some(FutexHome::Lock) => {
                let homes = self.homes;
                let first = self.buckets_at >> self.line_shift;
                let same_home = ((offset >> self.line_shift) % homes + homes - first % homes) % homes;
                let turns = BUCKETS.div_ceil(homes);
                same_home + homes * ((hash(offset) >> 40) as usize % turns)
            }
            _ => super::bucket(offset),
        };
        number as u32
    }

    /// The offset of a bucket.
    pub(crate) fn bucket(&self, number: u32) -> usize {
        self.buckets_at + number as usize * self.bucket_bytes
    }

    /// The offset of a line of a CPU's kernel data.
    pub(crate) fn cpu_line(&self, cpu: u32, number: u32) -> usize {
        self.cpus_at + ((cpu as usize * self.cpu_lines + number as usize) << self.line_shift)
    }

    /// The offset of a line of a CPU's run queue.
    pub(crate) fn queue_line(&self, cpu: u32, number: u32) -> usize {
        self.cpu_line(cpu, self.data_lines as u32 + number)
    }

    /// The offset of a node.
    pub(crate) fn node(&self, number: u32) -> usize {
        self.nodes_at + number as usize * self.node_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chip(settings: &[&str]) -> Chip {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
        Chip::from_toml_with(include_str!("../../../../../chips/ocor64.toml"), "ocor64.toml", &settings).unwrap()
    }

    #[test]
    fn a_bucket_can_have_its_cells_home() {
        for line in ["os.futex_home=lock", "os.futex_home=bucket"] {
            let chip = chip(&[line]);
            let layout = Layout::new(&chip, 1024);
            let homes = chip.coherent.as_ref().unwrap().home.banks as usize;
            let shift = chip.cache.line_bytes.trailing_zeros();
            let home = |offset: usize| (offset >> shift) % homes;
            let mut alike = 0;
            for offset in (layout.end..layout.end + 200_000).step_by(68) {
                let bucket = layout.bucket(layout.bucket_of(offset));
                assert!(bucket >= BUCKETS * BUCKET_BYTES && bucket + 16 <= layout.node(0));
                alike += usize::from(home(bucket) == home(offset));
            }
            let all = 200_000usize.div_ceil(68);
            assert!(if line.ends_with("lock") { alike == all } else { alike < all / 8 }, "{line}: {alike} of {all}");
        }
    }
}
