//! The policy `pa-speedup`: events in, answers out. CPU 0 is fast; there is a round of swaps every
//! two slices.

mod common;

use baton_sched::placement::log::Logged;
use baton_sched::placement::{Amp, Answer, Event, Placement};
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, Nice, Notice, Params, ThreadId, pa, pa_speedup};
use baton_units::{CoreId, CpuId, Cycles};
use common::PARAMS;

const ROUND: u64 = 200;

type Make = fn(&Cpus, &Params) -> Box<dyn Placement>;

struct Table {
    placement: Box<dyn Placement>,
    now: u64,
    threads: u32,
}

impl Table {
    fn new(make: Make) -> Table {
        let speed = |i: u32| if i == 0 { FULL_SPEED } else { FULL_SPEED / 2 };
        let cpu = |i: u32| Cpu { core: CoreId(i), cluster: 0, socket: 0, kind: 0, speed: speed(i), fast: None };
        let amp = Amp { swap_ticks: 2, boost_ticks: 10, ..Amp::DEFAULT };
        let placement = make(&Cpus((0..8).map(cpu).collect()), &Params { amp, ..PARAMS });
        Table { placement, now: 0, threads: 0 }
    }

    fn hears(&mut self, event: Event) -> Vec<Answer> {
        let mut answers = Vec::new();
        self.placement.hears(Cycles(self.now), &event, &mut answers);
        answers
    }

    /// Starts a thread on the next CPU.
    fn run(&mut self, app: u32, speedup: Option<u32>) -> ThreadId {
        let (id, cpu) = (ThreadId(self.threads), CpuId(self.threads));
        self.threads += 1;
        let born = Born { app: AppId(app), affinity: Affinity::ALL, near: cpu, nice: Nice::default(), speedup };
        for event in [Event::Born(id, born), Event::Wake(id), Event::Placed(id, cpu), Event::Runs(id, cpu)] {
            self.hears(event);
        }
        id
    }

    fn trade(&mut self, comes: (ThreadId, u32), goes: ThreadId) {
        for event in [
            Event::Yields(goes),
            Event::Yields(comes.0),
            Event::Placed(comes.0, CpuId(0)),
            Event::Placed(goes, CpuId(comes.1)),
            Event::Runs(comes.0, CpuId(0)),
            Event::Runs(goes, CpuId(comes.1)),
        ] {
            self.hears(event);
        }
    }

    fn round(&mut self) -> Vec<(ThreadId, ThreadId)> {
        self.now = (self.now / ROUND + 1) * ROUND;
        let answers = self.hears(Event::Period);
        let swap = |answer: &Answer| if let Answer::Swap(a, b) = *answer { Some((a, b)) } else { None };
        answers.iter().filter_map(swap).collect()
    }
}

#[test]
fn of_threads_alone_the_highest_known_speedup_comes_and_stays() {
    let mut table = Table::new(pa_speedup::placement);
    let unknown = table.run(0, None);
    table.run(1, Some(1300));
    let best = table.run(2, Some(2000));
    assert_eq!(table.round(), [(best, unknown)]);
    table.trade((best, 2), unknown);
    assert_eq!([table.round(), table.round()], [[], []]);
}

#[test]
fn a_class_counts_before_a_speedup() {
    // Four threads are more than the threshold of two, so their class is HP, whatever they gain
    // from a fast core.
    let mut table = Table::new(pa_speedup::placement);
    let high = table.run(0, Some(3000));
    (0..3).for_each(|_| _ = table.run(0, Some(3000)));
    let alone = table.run(1, None);
    assert_eq!(table.round(), [(alone, high)]);
    // A thread that spins ranks below all others.
    let mut table = Table::new(pa_speedup::placement);
    let spins = table.run(0, Some(3000));
    let works = table.run(1, Some(1100));
    table.hears(Event::Notice(spins, Notice::Spinning));
    assert_eq!(table.round(), [(works, spins)]);
    // A thread in a sequential phase ranks above class MP while its boost lasts, which is ten
    // slices.
    let mut table = Table::new(pa_speedup::placement);
    let mp = table.run(0, Some(3000));
    let (left, sleeps) = (table.run(1, Some(1100)), table.run(1, Some(1100)));
    table.hears(Event::Block(sleeps));
    assert_eq!(table.round(), [(left, mp)]);
    table.trade((left, 1), mp);
    assert!((0..3).all(|_| table.round().is_empty()));
    // At 1000, the boost is over and the speed-up decides.
    assert_eq!(table.round(), [(mp, left)]);
}

#[test]
fn two_sequential_phases_are_ranked_by_their_speedups() {
    let mut table = Table::new(pa_speedup::placement);
    let (low, high) = (table.run(0, Some(1100)), table.run(1, Some(1200)));
    for app in [0, 1] {
        let other = table.run(app, None);
        table.hears(Event::Block(other));
    }
    assert_eq!(table.round(), [(high, low)]);
}

/// Without speed-ups, or with equal ones, each answer is that of `pa`.
#[test]
fn without_speedups_it_is_pa() {
    for speedup in [None, Some(1700)] {
        let logs = [pa::placement as Make, pa_speedup::placement].map(|make| {
            let mut table = Table::new(make);
            let (logged, log) = Logged::new(table.placement);
            table.placement = Box::new(logged);
            let threads = [0, 0, 0, 0, 1, 2, 2].map(|app| table.run(app, speedup));
            for step in 0..60 {
                let id = threads[step * 5 % 7];
                let swaps = table.round();
                for (comes, goes) in swaps {
                    table.trade((comes, comes.0), goes);
                }
                table.hears(Event::Notice(id, if step % 2 == 0 { Notice::Spinning } else { Notice::Working }));
            }
            log.borrow().clone()
        });
        assert!(logs[0].contains("swap"));
        assert_eq!(logs[0], logs[1]);
    }
}
