//! A placement under test, and what it answers to events.

use crate::common::PARAMS;
use baton_sched::placement::{Amp, Answer, Event, Placement};
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, LockNotice, Nice, Notice, Params, ThreadId, crit};
use baton_units::{CoreId, CpuId, Cycles};

const STAY: u64 = 70;
/// A round of swaps comes only every hundred slices, so it plays no part in most tests.
pub(crate) const AMP: Amp = Amp { min_stay: Some(STAY), swap_ticks: 100, ..Amp::DEFAULT };

pub(crate) struct Table {
    placement: Box<dyn Placement>,
    pub(crate) now: u64,
    threads: u32,
}

impl Table {
    pub(crate) fn new(amp: Amp) -> Table {
        Table::with_fast(amp, 1)
    }

    /// Creates a table in which the first `fast` CPUs are fast.
    pub(crate) fn with_fast(amp: Amp, fast: u32) -> Table {
        Table::of(crit::placement, amp, fast)
    }

    /// Creates a table of another policy.
    pub(crate) fn of(make: fn(&Cpus, &Params) -> Box<dyn Placement>, amp: Amp, fast: u32) -> Table {
        let speed = |i: u32| if i < fast { FULL_SPEED } else { FULL_SPEED / 2 };
        let cpu = |i: u32| Cpu { core: CoreId(i), cluster: 0, socket: 0, kind: 0, speed: speed(i), fast: None };
        let cpus = Cpus((0..6).map(cpu).collect());
        Table { placement: make(&cpus, &Params { amp, ..PARAMS }), now: 1, threads: 0 }
    }

    pub(crate) fn hears(&mut self, event: Event) -> Vec<Answer> {
        let mut answers = Vec::new();
        self.placement.hears(Cycles(self.now), &event, &mut answers);
        answers
    }

    /// Starts `N` threads of the application on the next CPUs.
    pub(crate) fn run<const N: usize>(&mut self, app: u32) -> [ThreadId; N] {
        std::array::from_fn(|_| {
            let (id, cpu) = (ThreadId(self.threads), CpuId(self.threads));
            self.threads += 1;
            let affinity = Affinity::ALL;
            let born = Born { app: AppId(app), affinity, near: cpu, nice: Nice::default(), speedup: None };
            for event in [Event::Born(id, born), Event::Wake(id)] {
                self.hears(event);
            }
            self.lands(id, cpu);
            id
        })
    }

    pub(crate) fn lands(&mut self, id: ThreadId, cpu: CpuId) {
        self.hears(Event::Placed(id, cpu));
        self.hears(Event::Runs(id, cpu));
    }

    /// Lets the thread report that it waits.
    pub(crate) fn waits(&mut self, id: ThreadId, lock: Option<u64>, holder: Option<ThreadId>) -> Vec<Answer> {
        assert_eq!(self.hears(Event::Waits(id, lock, holder)), []);
        self.hears(Event::Notice(id, Notice::Spinning))
    }

    /// Lets the thread report what it does with a lock or a barrier.
    pub(crate) fn lock(&mut self, id: ThreadId, notice: LockNotice, lock: u64) -> Vec<Answer> {
        self.hears(Event::Lock(id, notice, lock))
    }

    pub(crate) fn works(&mut self, id: ThreadId) -> Vec<Answer> {
        self.hears(Event::Notice(id, Notice::Working))
    }

    pub(crate) fn at(&mut self, now: u64) -> Vec<Answer> {
        self.now = now;
        self.hears(Event::Period)
    }
}
