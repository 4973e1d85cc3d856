//! The threads of a draw: they warm up, meet, and then compute, walk over lines of their own, and
//! take locks.

use super::profile::Draw;
use baton_machine::units::Cycles;
use baton_machine::{Machine, OwnedSlice, Slot, Wait};
use baton_sync::barrier::{RawBarrier, central::Central};
use baton_sync::lock::RawLock;
use baton_workloads::{Probe, Shared, Team, Think, expect, share, xorshift};
use core::cell::UnsafeCell;
use core::num::NonZeroU32;
use std::sync::Arc;

/// How a draw is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticRun {
    /// Number of threads.
    pub threads: NonZeroU32,
    /// Acquisitions of each thread: the fixed work of the thread.
    pub acquisitions: u64,
    /// Bytes of a cache line of the machine.
    pub line_bytes: usize,
    /// Seed of the threads' generators.
    pub seed: u64,
}

/// Bytes of the longest line for which the data is laid out.
const LONGEST_LINE: usize = 256;

/// A lock, and the count that it guards in its own line, as where a mutex stands in the structure
/// that it guards.
#[repr(C, align(256))]
struct Alone<M: Machine, L> {
    lock: L,
    beside: M::Slot<u64>,
}

// SAFETY: the slot is accessed under its lock, or when the threads have ended.
unsafe impl<M: Machine, L: Sync> Sync for Alone<M, L> {}
// SAFETY: as above.
unsafe impl<M: Machine, L: Send> Send for Alone<M, L> {}

/// A count that a lock guards, alone in its line.
#[repr(C, align(256))]
struct Guarded<M: Machine>(M::Slot<u64>);

// SAFETY: the slot is accessed under its lock, or when the threads have ended.
unsafe impl<M: Machine> Sync for Guarded<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Guarded<M> {}

/// A piece of a thread's own region. The thread writes to the region through pointers, so the bytes
/// are in cells.
#[repr(C, align(256))]
struct Own(UnsafeCell<[u8; LONGEST_LINE]>);

/// The data that the threads share.
struct Data<M: Machine, L> {
    locks: Vec<Shared<M, Alone<M, L>>>,
    /// By lock: the lines that it guards beyond its own line.
    guarded: Vec<Arc<OwnedSlice<M, Guarded<M>>>>,
    meeting: Shared<M, Central<M>>,
}

impl Draw {
    /// The threads, contending for locks of type `L`. The part that counts begins when all threads
    /// have warmed up. The check: all lines of a lock counted the same, and the lines of all locks
    /// together counted every acquisition.
    pub fn team<M: Machine, L: RawLock<M>, P: Probe>(self, run: SyntheticRun, wait: Wait, probe: P) -> Team {
        let data = Arc::new(Data {
            locks: (0..self.locks).map(|_| share::<M, _>(Alone { lock: L::new(), beside: M::Slot::new(0) })).collect(),
            guarded: (0..self.locks)
                .map(|_| Arc::new(OwnedSlice::new(self.section_lines as usize, |_| Guarded(M::Slot::new(0)))))
                .collect(),
            meeting: share::<M, _>(Central::new(run.threads)),
        });
        for (number, lock) in (0..).zip(&data.locks) {
            probe.lock_at(number, lock.as_ptr().cast_const().cast());
        }
        let body = |thread: u32| {
            let (data, probe) = (data.clone(), probe.clone());
            let own =
                OwnedSlice::<M, _>::new((self.own_lines as usize * run.line_bytes).div_ceil(LONGEST_LINE), |_| {
                    Own(UnsafeCell::new([0; LONGEST_LINE]))
                });
            Box::new(move || {
                let mut walk = Walk { own, line: run.line_bytes, lines: self.own_lines as usize, at: 0, due: 0.0 };
                walk.warm();
                data.meeting.wait(thread, Wait::Pause);
                probe.begin();
                self.thread(run, wait, thread, &data, &mut walk, &probe);
                probe.end();
            }) as baton_workloads::Body
        };
        let bodies = (0..run.threads.get()).map(body).collect();
        let expected = u64::from(run.threads.get()).saturating_mul(run.acquisitions);
        let locks = data.clone();
        let verify = Box::new(move || {
            let mut sum = 0;
            for (lock, lines) in locks.locks.iter().zip(&locks.guarded) {
                // SAFETY: the threads have ended.
                let count = |slot: &M::Slot<u64>| unsafe { slot.read(|count| *count) };
                let first = lines.first().map_or_else(|| count(&lock.beside), |line| count(&line.0));
                lines
                    .iter()
                    .try_for_each(|line| expect("acquisitions that a guarded line counted", count(&line.0), first))?;
                sum += first;
            }
            expect("acquisitions that all locks' lines counted", sum, expected)
        });
        Team::new(bodies, verify)
    }

    fn thread<M: Machine, L: RawLock<M>, P: Probe>(
        self,
        run: SyntheticRun,
        wait: Wait,
        thread: u32,
        data: &Data<M, L>,
        walk: &mut Walk<M>,
        probe: &P,
    ) {
        let seed = run.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ u64::from(thread);
        let mut think = Think::new(Cycles(self.think_cycles), self.spread, seed);
        let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for round in 0..run.acquisitions {
            let mut cycles = think.draw().0;
            if self.phase != 0 && round.is_multiple_of(u64::from(self.phase)) {
                data.meeting.wait(thread, Wait::Pause);
            } else if round == 0 {
                // The threads leave the barrier together; a random share of the first think time
                // sets them apart.
                cycles = (cycles as f64 * unit(&mut state)) as u64;
            }
            walk.compute(self, cycles, &mut state);
            let number = self.choose(thread, round, &mut state);
            let requested = probe.request(number);
            let Alone { lock, beside }: &Alone<M, L> = &data.locks[number as usize];
            let token = lock.lock(wait);
            probe.acquired(number, requested);
            M::work(Cycles(self.section_cycles));
            let lines = data.guarded[number as usize].iter().map(|line| &line.0);
            for count in lines.chain((self.section_lines == 0).then_some(beside)) {
                // SAFETY: the lock is held, so no other thread accesses the count meanwhile.
                unsafe { count.write(|count| *count += 1) };
            }
            probe.release(number);
            // SAFETY: this thread took the lock above, with the same policy.
            unsafe { lock.unlock(token, wait) };
        }
    }

    /// The lock of the thread's critical section number `round`.
    fn choose(self, thread: u32, round: u64, state: &mut u64) -> u32 {
        let locks = self.locks.max(1);
        let by_chance = unit(state);
        if by_chance < self.hot {
            0
        } else if unit(state) < self.even {
            // Threads form rows of `locks` threads. In each round every thread of a row takes a
            // lock of its own. Rows go round the locks at different steps, so a thread meets other
            // threads each time.
            let (row, place) = (u64::from(thread / locks), u64::from(thread % locks));
            ((place + round % u64::from(locks) * (1 + row)) % u64::from(locks)) as u32
        } else {
            (xorshift(state) >> 33) as u32 % locks
        }
    }
}

/// A thread's position in its walk over its own lines.
struct Walk<M: Machine> {
    own: OwnedSlice<M, Own>,
    line: usize,
    lines: usize,
    at: usize,
    /// Cycles of work since the last accesses were due.
    due: f64,
}

impl<M: Machine> Walk<M> {
    /// Brings the lines into the machine's caches, as the beginning of a real program would.
    fn warm(&mut self) {
        // SAFETY: the region is this thread's own, and has at least this length.
        unsafe { M::touch(self.own.as_ptr().cast::<u8>().cast_mut(), self.lines * self.line, true) };
    }

    /// Computes for `cycles` cycles, with accesses to the next lines in between, `burst` at a time.
    fn compute(&mut self, draw: Draw, cycles: u64, state: &mut u64) {
        let burst = (draw.burst as usize).clamp(1, self.lines);
        // Cycles of work until a burst is due.
        let every = if draw.misses > 0.0 { burst as f64 * 1000.0 / draw.misses } else { f64::INFINITY };
        let mut left = cycles;
        self.due += cycles as f64;
        while self.due >= every {
            let piece = (every as u64).min(left);
            M::work(Cycles(piece));
            left -= piece;
            self.due -= every;
            if self.at + burst > self.lines {
                self.at = 0;
            }
            let start = self.own.as_ptr().cast::<u8>().cast_mut();
            // SAFETY: the touched lines lie within this thread's own region.
            unsafe { M::touch(start.add(self.at * self.line), burst * self.line, unit(state) < draw.writes) };
            self.at += burst;
        }
        M::work(Cycles(left));
    }
}

/// A random number from 0 up to, and without, 1.
fn unit(state: &mut u64) -> f64 {
    (xorshift(state) >> 11) as f64 / (1u64 << 53) as f64
}
