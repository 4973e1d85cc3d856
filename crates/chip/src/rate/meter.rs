//! How long CPUs were in which power state, at which clock.
//!
//! A thread's cycle stack has its cycles already, so while guests run only spinning waits with
//! PAUSE and idle waits are noted besides. When a core's clock changes, or a thread moves to a core
//! with another clock, the thread's time since the last such event is added to the sums of the old
//! clock.

use crate::base::thread::ThreadId;
use crate::engine::idle_wait::{Phase, Still};
use crate::engine::reason::Reason;
use crate::engine::spin::progress;
use crate::engine::state::Engine;
use crate::engine::thread::{Thread, ThreadState};
use crate::os::cpu::CpuFigures;
use crate::power::{PowerState, STATES, Spent};
use baton_units::{CoreId, Cycles, Hertz};

impl Thread {
    /// The thread begins a spinning wait with PAUSE between its tries, or a single PAUSE.
    #[inline]
    pub(crate) fn pauses(&mut self) {
        self.stats.finer.pausing = self.stats.times[Reason::Spin as usize];
    }

    /// Whether the thread is in a spinning wait with PAUSE, or in a single PAUSE.
    pub(crate) fn is_pausing(&self) -> bool {
        self.stats.finer.pausing != u64::MAX
    }

    /// The spinning wait with PAUSE, or the PAUSE, is over.
    #[inline]
    pub(crate) fn paused(&mut self) {
        if self.stats.finer.pausing != u64::MAX {
            self.stats.finer.paused += self.stats.times[Reason::Spin as usize] - self.stats.finer.pausing;
            self.stats.finer.pausing = u64::MAX;
        }
    }

    /// The thread's CPU stands still from now on.
    pub(crate) fn stands_still(&mut self, now: u64) {
        self.stats.finer.still_since = now;
    }

    /// The thread's CPU no longer stands still.
    pub(crate) fn stood_still(&mut self, now: u64) {
        let at = match self.wait.idle.still {
            Still::Monitor(depth) => depth.clamp(1, 3) as usize - 1,
            Still::Halted => 3,
        };
        self.stats.finer.still[at] += now - self.stats.finer.still_since;
        self.stats.finer.still_since = now;
    }

    /// The thread's time on CPUs so far, by power state.
    fn spent(&self) -> [u64; STATES] {
        let mut spent = [0; STATES];
        let away = [Reason::Asleep, Reason::Ready];
        let on = Reason::ALL.into_iter().filter(|reason| !away.contains(reason));
        let whole: u64 = on.map(|reason| self.stats.times[reason as usize]).sum();
        let spinning = self.stats.times[Reason::Spin as usize];
        let open = if self.stats.finer.pausing == u64::MAX { 0 } else { spinning - self.stats.finer.pausing };
        let paused = self.stats.finer.paused + open;
        spent[PowerState::Pause as usize] = paused;
        spent[PowerState::Spin as usize] = spinning - paused;
        let first = PowerState::Monitor1 as usize;
        spent[first..first + 4].copy_from_slice(&self.stats.finer.still);
        let stalls = [Reason::Device, Reason::QueueFull, Reason::QueueEmpty];
        let stalled: u64 = stalls.into_iter().map(|reason| self.stats.times[reason as usize]).sum();
        spent[PowerState::Device as usize] = stalled;
        spent[PowerState::Active as usize] = whole - spinning - stalled - self.stats.finer.still.iter().sum::<u64>();
        spent
    }
}

impl Engine {
    /// Adds a thread's time since the last call to the sums of this clock. Time that was added
    /// under one state, because it was under way then, and has turned out to belong to another is
    /// moved: the first state's sum may become negative here.
    fn put_down(&mut self, id: ThreadId, clock: Hertz) {
        let thread = &mut self.threads[id as usize];
        let spent = thread.spent();
        let settled = std::mem::replace(&mut thread.stats.finer.settled, spent);
        let here = self.meter.by_clock.entry(clock.0).or_default();
        here.iter_mut()
            .zip(spent.iter().zip(settled))
            .for_each(|(sum, (now, before))| *sum += now.cast_signed() - before.cast_signed());
    }

    /// A thread is about to move to a core: if the clock is another one there, its time so far is
    /// added to the old clock's sums.
    #[inline]
    pub(crate) fn meter_move(&mut self, id: ThreadId, core: CoreId) {
        let from = self.cores.clocks.clock(self.core_of(id));
        if from != self.cores.clocks.clock(core) {
            self.put_down(id, from);
        }
    }

    /// A core's clock is about to change. What its CPUs' threads do is charged up to now, if it can
    /// be divided; an access or a system call under way counts at the clock at which it ends.
    pub(crate) fn meter_change(&mut self, core: CoreId) {
        let (clock, now) = (self.cores.clocks.clock(core), self.now);
        for id in 0..self.threads.len() as ThreadId {
            if self.core_of(id) != core {
                continue;
            }
            let thread = &mut self.threads[id as usize];
            match thread.state {
                ThreadState::Working(_) => thread.charge(Reason::Work, now),
                ThreadState::Spinning => {
                    // A try that is under way is an access: it is charged when it ends.
                    let issued = match progress(&thread.wait.spin, now) {
                        (_, Some(end)) if now < thread.wait.spin.busy => end.min(thread.stats.since),
                        (_, Some(end)) => end - thread.wait.spin.hit,
                        (_, None) => now,
                    };
                    thread.charge(Reason::Spin, issued.max(thread.stats.since));
                }
                ThreadState::IdleWait => {
                    thread.charge(Reason::Monitor, now);
                    self.meter_still(id);
                }
                _ => {}
            }
            self.put_down(id, clock);
        }
    }

    /// Charges a CPU's standstill up to now, if the thread's CPU stands still.
    fn meter_still(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        if thread.state == ThreadState::IdleWait && thread.wait.idle.phase == Phase::Still {
            thread.stood_still(now);
        }
    }

    /// Returns how long CPUs were in which power state, at which clock, in a run that ended at
    /// `end`. All threads must have been charged.
    pub(crate) fn metered(&mut self, end: Cycles, cpus: &[CpuFigures]) -> Vec<Spent> {
        for id in 0..self.threads.len() as ThreadId {
            self.meter_still(id);
            let clock = self.cores.clocks.clock(self.core_of(id));
            self.put_down(id, clock);
        }
        (0..STATES).for_each(|state| settle(self.meter.by_clock.values_mut().map(|sums| &mut sums[state])));
        let by_clock = self.meter.by_clock.iter().flat_map(|(&clock, states)| {
            let of = move |(&state, &cycles): (&PowerState, &i64)| Spent {
                state,
                clock: Some(Hertz(clock)),
                cycles: Cycles(cycles.cast_unsigned()),
            };
            PowerState::ALL.iter().zip(states).map(of)
        });
        let unused = u64::from(self.chip.cpus() - self.os.cpus.len() as u32) * end.0;
        let of = |names: fn(&str) -> bool| -> u64 {
            let times = cpus.iter().flat_map(|cpu| &cpu.times);
            times.filter(|(name, _)| names(name)).map(|(_, time)| time.0).sum()
        };
        let without = [
            (PowerState::IdlePoll, of(|name| name == "polling")),
            (PowerState::Idle, of(|name| name == "halted")),
            (PowerState::IdleDeep, of(|name| name.starts_with("idle_"))),
            (PowerState::Off, of(|name| name == "off") + unused),
        ];
        let without = without.map(|(state, cycles)| Spent { state, clock: None, cycles: Cycles(cycles) });
        let all: Vec<Spent> = by_clock.chain(without).filter(|spent| spent.cycles.0 != 0).collect();
        debug_assert_eq!(
            all.iter().map(|spent| spent.cycles.0).sum::<u64>(),
            u64::from(self.chip.cpus()) * end.0,
            "a CPU's time is without a state"
        );
        all
    }
}

/// Sets negative sums to 0, and takes what they lack from the largest sum. `sums` are those of one
/// state by clock; a sum is negative if more was taken back under its clock than was put down there.
fn settle<'a>(sums: impl Iterator<Item = &'a mut i64>) {
    let mut sums: Vec<&mut i64> = sums.collect();
    let lacking: i64 = sums.iter().map(|sum| (**sum).min(0)).sum();
    sums.iter_mut().for_each(|sum| **sum = (**sum).max(0));
    if let Some(largest) = sums.into_iter().max_by_key(|sum| **sum) {
        *largest += lacking;
    }
}

#[cfg(test)]
mod tests {
    use super::settle;

    #[test]
    fn what_was_taken_back_too_much_comes_from_the_largest_sum() {
        let mut sums = [5, -2, 30, -1, 0];
        settle(sums.iter_mut());
        assert_eq!(sums, [5, 0, 27, 0, 0]);
    }
}
