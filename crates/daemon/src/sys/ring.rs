//! Context switches of processes and their children, from perf events (perf_event_open(2)).
//!
//! For each CPU there is an event of one thread, with `inherit`: all threads and processes that
//! descend from it have the event as well, and write into the CPU's ring of records. A user may
//! have this of their own processes up to `perf_event_paranoid` 2.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a ring's records, at least a page: some 2,000 switches.
const BYTES: usize = 64 << 10;

/// Offsets of `data_head` and `data_tail` in the kernel's `struct perf_event_mmap_page`, which has the
/// first page of the mapping.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// PERF_TYPE_SOFTWARE, and PERF_COUNT_SW_DUMMY: an event that counts nothing.
const SOFTWARE: u64 = 1;
const DUMMY: u64 = 9;
const SIZE: u64 = 112;
/// PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_CPU: what each record ends with.
const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 7;
/// The flags are inherit, exclude_kernel, exclude_hv, task, sample_id_all, use_clockid, context_switch.
const FLAGS: u64 = 1 << 1 | 1 << 5 | 1 << 6 | 1 << 13 | 1 << 18 | 1 << 25 | 1 << 26;
/// PERF_FLAG_FD_CLOEXEC.
const CLOEXEC: u64 = 1 << 3;

/// PERF_RECORD_LOST, _EXIT, _FORK, _SWITCH.
const LOST: u32 = 2;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SWITCH: u32 = 14;
/// PERF_RECORD_MISC_SWITCH_OUT, and that the thread was preempted.
const OUT: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The thread was created by `creator`, of process `parent`.
    Begins {
        parent: u32,
        creator: u32,
    },
    Ends,
    /// The thread has the CPU.
    On(u32),
    /// The thread has lost the CPU, but can run on.
    Preempted(u32),
    Blocks,
}

/// A record of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The time of the monotonic clock, in nanoseconds.
    pub(crate) time: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) what: What,
}

/// The ring of one CPU.
pub(crate) struct Ring {
    event: OwnedFd,
    at: *mut u8,
    /// Bytes of a page, and of the mapping: a page and the records.
    page: usize,
    mapped: usize,
    lost: u64,
}

// SAFETY: the mapping belongs to this value alone, and any one thread at a time may read it.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens the event of the calling thread and its descendants on a CPU.
    ///
    /// # Errors
    /// If the kernel refuses the event (`EACCES`: `perf_event_paranoid`) or the memory (`EPERM`).
    pub(crate) fn open(cpu: u32) -> Result<Ring> {
        let clock = u64::from(libc::CLOCK_MONOTONIC as u32) << 32;
        let attribute: [u64; 14] = [SOFTWARE | SIZE << 32, DUMMY, 0, SAMPLE, 0, FLAGS, 0, 0, 0, 0, 0, clock, 0, 0];
        // SAFETY: the attribute has the size that it names.
        let event = unsafe { libc::syscall(libc::SYS_perf_event_open, attribute.as_ptr(), 0, cpu, -1, CLOEXEC) };
        if event < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the call has just returned this descriptor, which nothing else owns.
        let event = unsafe { OwnedFd::from_raw_fd(event as i32) };
        // SAFETY: the call takes a number and returns one.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let mapped = page + BYTES.max(page);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the mapping is new memory of the event.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        Ok(Ring { event, at: at.cast(), page, mapped, lost: 0 })
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset < self.mapped);
        // SAFETY: the offset is that of an aligned word in the mapping, which lives as long as `self`.
        // The kernel writes its words while this process reads them, so they are atomic.
        unsafe { &*self.at.add(offset).cast::<AtomicU64>() }
    }

    /// Returns what the kernel can be asked for at a wait: that the ring is half full. The event tells so by
    /// default (`wakeup_events` and `watermark` are 0).
    pub(crate) fn half_full(&self) -> libc::pollfd {
        libc::pollfd { fd: self.event.as_raw_fd(), events: libc::POLLIN, revents: 0 }
    }

    /// Number of records that the kernel could not write because the ring was full.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Appends the records since the last call to `out`.
    pub(crate) fn read(&mut self, out: &mut Vec<Record>) {
        // Acquire: the records before the head are written completely.
        let (mut tail, head) = (self.word(TAIL).load(Ordering::Relaxed), self.word(HEAD).load(Ordering::Acquire));
        let length = self.mapped - self.page;
        while tail < head {
            let word = |offset: u64| self.word(self.page + (tail + offset) as usize % length).load(Ordering::Relaxed);
            let header = word(0);
            let (sort, marks, size) = (header as u32, (header >> 32) as u16, header >> 48);
            match record(sort, marks, size, &word) {
                Ok(Some(record)) => out.push(record),
                Ok(None) => {}
                Err(lost) => self.lost += lost,
            }
            tail += size.max(8);
        }
        // Release: the kernel overwrites the records only after they were read.
        self.word(TAIL).store(tail, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `open` mapped this memory, and nothing refers to it any more.
        unsafe { libc::munmap(self.at.cast(), self.mapped) };
    }
}

/// Reads one record, given its words by their offset in bytes; the error is a number of records
/// that were lost.
fn record(sort: u32, marks: u16, size: u64, word: &dyn Fn(u64) -> u64) -> std::result::Result<Option<Record>, u64> {
    let halves = |word: u64| (word as u32, (word >> 32) as u32);
    Ok(match (sort, size) {
        // The record has nothing of its own: identity, time and CPU follow the header.
        (SWITCH, 32) => {
            let ((pid, tid), time, (cpu, _)) = (halves(word(8)), word(16), halves(word(24)));
            let what = match (marks & OUT, marks & PREEMPTED) {
                (0, _) => What::On(cpu),
                (_, 0) => What::Blocks,
                _ => What::Preempted(cpu),
            };
            Some(Record { time, pid, tid, what })
        }
        (FORK | EXIT, 32..) => {
            let ((pid, parent), (tid, creator), time) = (halves(word(8)), halves(word(16)), word(24));
            let what = if sort == FORK { What::Begins { parent, creator } } else { What::Ends };
            Some(Record { time, pid, tid, what })
        }
        (LOST, 24..) => return Err(word(16)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sort: u32, marks: u16, words: &[u64]) -> std::result::Result<Option<Record>, u64> {
        record(sort, marks, 8 + 8 * words.len() as u64, &|offset| words[(offset / 8 - 1) as usize])
    }

    fn pair(low: u64, high: u64) -> u64 {
        low | high << 32
    }

    #[test]
    fn records_are_read() {
        let switch = [pair(7, 9), 1_000, pair(3, 0)];
        let told = |what| Ok(Some(Record { time: 1_000, pid: 7, tid: 9, what }));
        assert_eq!(read(SWITCH, 0, &switch), told(What::On(3)));
        assert_eq!(read(SWITCH, OUT, &switch), told(What::Blocks));
        assert_eq!(read(SWITCH, OUT | PREEMPTED, &switch), told(What::Preempted(3)));
        let task = [pair(7, 5), pair(9, 6), 1_000, 0, 0, 0];
        assert_eq!(read(FORK, 0, &task), told(What::Begins { parent: 5, creator: 6 }));
        assert_eq!(read(EXIT, 0, &task), told(What::Ends));
        assert_eq!(read(LOST, 0, &[1, 40, 0, 0, 0]), Err(40));
        assert_eq!(read(99, 0, &[1]), Ok(None), "another sort");
        assert_eq!(read(SWITCH, 0, &[1]), Ok(None), "a record that is too short");
    }

    /// A ring that is half full ends a wait, and an empty one does not.
    #[test]
    fn a_half_full_ring_is_told() {
        if !baton_host::costs::kernel::discover().context_switch_records {
            baton_needs::absent("context-switch records", "a_half_full_ring_is_told");
            return;
        }
        let cpu = crate::sys::affinity::get(0).unwrap()[0];
        let ring = Ring::open(cpu).unwrap();
        let is_told = || {
            let mut event = ring.half_full();
            // SAFETY: the kernel writes into one structure, a local variable.
            unsafe { libc::poll(&raw mut event, 1, 0) == 1 && event.revents == libc::POLLIN }
        };
        assert!(!is_told());
        // Each sleep is two records of 32 bytes.
        let sleeps = BYTES / 32 / 4 + 20;
        let sleeper = std::thread::spawn(move || {
            crate::sys::affinity::set(0, &[cpu]).unwrap();
            (0..sleeps).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(1)));
        });
        sleeper.join().unwrap();
        assert!(is_told());
    }

    /// A child's life is seen on some CPU: it begins, runs, blocks or is preempted, and ends.
    #[test]
    fn a_child_is_seen() {
        if !baton_host::costs::kernel::discover().context_switch_records {
            baton_needs::absent("context-switch records", "a_child_is_seen");
            return;
        }
        let cpus = baton_machine::discover::Topology::discover().cpus;
        let mut rings: Vec<Ring> = cpus.iter().map(|cpu| Ring::open(cpu.id).unwrap()).collect();
        let mut child = std::process::Command::new("sleep").arg("0.01").spawn().unwrap();
        child.wait().unwrap();
        let mut records = Vec::new();
        rings.iter_mut().for_each(|ring| ring.read(&mut records));
        records.retain(|record| record.tid == child.id());
        records.sort_by_key(|record| record.time);
        let seen = |what: &dyn Fn(What) -> bool| records.iter().position(|record| what(record.what));
        let begins = seen(&|what| matches!(what, What::Begins { .. }));
        let on = seen(&|what| matches!(what, What::On(_)));
        let blocks = seen(&|what| what == What::Blocks);
        let ends = seen(&|what| what == What::Ends);
        assert!(begins.is_some() && begins < on && on < blocks && blocks < ends, "{records:?}");
    }
}
