//! Which threads are wanted on a fast CPU under `pa`, rank by rank: events in, answers out. The
//! first `fast` CPUs are fast.

mod common;

use baton_sched::placement::{Amp, Answer, Event, Master, Placement};
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, Nice, Notice, Params, ThreadId, pa};
use baton_units::{CoreId, CpuId, Cycles};
use common::PARAMS;

const CPUS: u32 = 10;
/// A round of swaps takes two slices.
const ROUND: u64 = 200;

struct Table {
    placement: Box<dyn Placement>,
    now: u64,
    threads: u32,
    /// Answers to the newest event.
    answers: Vec<Answer>,
}

impl Table {
    fn new(fast: u32, amp: Amp) -> Table {
        let speed = |i: u32| if i < fast { FULL_SPEED } else { FULL_SPEED / 2 };
        let cpu = |i: u32| Cpu { core: CoreId(i), cluster: i, socket: 0, kind: 0, speed: speed(i), fast: None };
        let params = Params { amp: Amp { swap_ticks: 2, ..amp }, ..PARAMS };
        let placement = pa::placement(&Cpus((0..CPUS).map(cpu).collect()), &params);
        Table { placement, now: 0, threads: 0, answers: Vec::new() }
    }

    fn hears(&mut self, event: Event) {
        self.answers.clear();
        self.placement.hears(Cycles(self.now), &event, &mut self.answers);
    }

    /// Starts a thread of the application that runs on this CPU from now on, whatever the placement
    /// answers.
    fn runs(&mut self, app: u32, cpu: u32) -> ThreadId {
        self.with(app, cpu, Affinity::ALL)
    }

    fn with(&mut self, app: u32, cpu: u32, affinity: Affinity) -> ThreadId {
        let id = ThreadId(self.threads);
        self.threads += 1;
        let born = Born { app: AppId(app), affinity, near: CpuId(cpu), nice: Nice::default(), speedup: None };
        self.hears(Event::Born(id, born));
        self.wakes(id, cpu);
        id
    }

    fn wakes(&mut self, id: ThreadId, cpu: u32) {
        for event in [Event::Wake(id), Event::Placed(id, CpuId(cpu)), Event::Runs(id, CpuId(cpu))] {
            self.hears(event);
        }
    }

    /// Returns the swaps of the next round.
    fn round(&mut self) -> Vec<(ThreadId, ThreadId)> {
        self.now = (self.now / ROUND + 1) * ROUND;
        self.hears(Event::Period);
        let swap = |answer: &Answer| if let Answer::Swap(a, b) = *answer { Some((a, b)) } else { None };
        self.answers.iter().filter_map(swap).collect()
    }
}

/// The kinds of threads whose ranks the tests compare: each by its place in its application and by
/// what it has reported.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    /// The thread is alone in its application and reports that it spins.
    Spins,
    /// The thread is one of three in an application of more threads than the threshold.
    Hp,
    /// The thread is alone in its application.
    Mp,
    /// The thread is the last one of two in its application.
    Sp,
    /// The thread is the master of an application like that of `Hp`.
    HpMaster,
}

impl Table {
    /// Starts a thread with this standing on a CPU; the other threads of its application are on the
    /// CPUs from `others` on.
    fn of(&mut self, kind: Standing, app: u32, cpu: u32, others: u32) -> ThreadId {
        let id = self.runs(app, cpu);
        match kind {
            Standing::Spins => self.hears(Event::Notice(id, Notice::Spinning)),
            Standing::Mp => {}
            Standing::Sp => {
                let other = self.runs(app, others);
                self.hears(Event::Block(other));
            }
            Standing::Hp | Standing::HpMaster => {
                self.runs(app, others);
                self.runs(app, others + 1);
                if kind == Standing::HpMaster {
                    self.hears(Event::Notice(id, Notice::Master));
                }
            }
        }
        id
    }
}

/// Whether a round takes the fast CPU from a thread of the standing `low`, beside one of the
/// standing `high`.
fn makes_room(low: Standing, high: Standing, master: Master) -> bool {
    let mut table = Table::new(1, Amp { master, ..Amp::DEFAULT });
    let on_fast = table.of(low, 0, 0, 2);
    table.of(high, 1, 1, 5);
    table.round().iter().any(|&(_, leaves)| leaves == on_fast)
}

#[test]
fn a_fast_cpu_goes_to_the_higher_rank() {
    use Standing::*;
    for (master, order) in [
        (Master::Sp, &[Spins, Hp, Mp, Sp][..]),
        (Master::Sp, &[Spins, Hp, Mp, HpMaster]),
        (Master::First, &[Hp, Mp, Sp, HpMaster]),
        (Master::Mp, &[Hp, Mp, HpMaster, Sp]),
        (Master::Ignored, &[HpMaster, Mp, Sp]),
    ] {
        for (at, &low) in order.iter().enumerate() {
            for &high in &order[at + 1..] {
                assert!(makes_room(low, high, master), "{low:?} before {high:?}, master {master:?}");
                assert!(!makes_room(high, low, master), "{high:?} makes room for {low:?}, master {master:?}");
            }
        }
    }
    // Threads with equal rights in SP stay where they are.
    assert!(!makes_room(Sp, HpMaster, Master::Sp) && !makes_room(HpMaster, Sp, Master::Sp));
}

#[test]
fn turns_go_by_when_a_thread_last_had_a_fast_cpu() {
    let mut table = Table::new(1, Amp::DEFAULT);
    table.now = 10;
    let first = table.runs(0, 0);
    let second = table.runs(1, 1);
    // The first thread leaves the fast CPU between two rounds of swaps, and the third thread comes
    // there. The second has waited longest for a fast CPU, so it comes in the next round.
    table.now = 50;
    table.hears(Event::Block(first));
    let third = table.runs(2, 0);
    table.wakes(first, 2);
    assert_eq!(table.round(), [(second, third)]);
}

/// Two threads on fast CPUs make room: the highest rank that comes takes the place of the lowest
/// rank that goes.
#[test]
fn the_lowest_rank_makes_room_first() {
    let mut table = Table::new(2, Amp::DEFAULT);
    // The application has more threads than the threshold, which is three.
    let low = table.runs(0, 1);
    for cpu in 4..7 {
        table.runs(0, cpu);
    }
    let middle = table.runs(1, 0);
    let comes = [table.of(Standing::Sp, 2, 2, 8), table.of(Standing::Sp, 3, 3, 9)];
    assert_eq!(table.round(), [(comes[0], low), (comes[1], middle)]);
    // The threads are on their way, so the next round of swaps leaves them alone.
    assert_eq!(table.round(), []);
}

#[test]
fn a_shorter_queue_makes_room_where_no_thread_can() {
    let mut table = Table::new(1, Amp::DEFAULT);
    let bound = Affinity::to([CpuId(0)]);
    table.with(0, 0, bound);
    let comes = table.of(Standing::Sp, 1, 1, 2);
    // A thread that waits in the queue of CPU 1, so that the queue of CPU 0 is shorter.
    let behind = table.runs(2, 1);
    table.hears(Event::Yields(behind));
    table.hears(Event::Placed(behind, CpuId(1)));
    table.hears(Event::Runs(comes, CpuId(1)));
    assert_eq!(table.round(), []);
    assert!(table.answers.contains(&Answer::Move(comes, CpuId(0))), "{:?}", table.answers);
}

#[test]
fn the_end_of_a_boost_is_no_round() {
    let mut table = Table::new(1, Amp { boost_ticks: 1, ..Amp::DEFAULT });
    table.now = 10;
    let on_fast = table.of(Standing::Hp, 0, 0, 2);
    let demoted = table.of(Standing::Sp, 1, 1, 5);
    table.now = 110;
    table.hears(Event::Period);
    assert!(table.answers.contains(&Answer::Demoted(AppId(1))), "{:?}", table.answers);
    assert!(!table.answers.iter().any(|answer| matches!(answer, Answer::Swap(..))), "{:?}", table.answers);
    assert_eq!(table.round(), [(demoted, on_fast)]);
}

#[test]
fn without_threads_there_are_no_rounds() {
    let mut table = Table::new(1, Amp::DEFAULT);
    let id = table.runs(0, 1);
    table.round();
    table.hears(Event::Block(id));
    assert_eq!(table.answers, [Answer::NoPeriod]);
}

#[test]
fn the_newest_master_counts_and_one_that_ends_is_none() {
    let mut table = Table::new(1, Amp::DEFAULT);
    let first = table.of(Standing::HpMaster, 0, 0, 2);
    let second = ThreadId(1);
    table.hears(Event::Notice(second, Notice::Master));
    assert_eq!(table.round(), [(second, first)]);
    // A new thread gets the number of a master that has ended, but not its rank.
    let mut table = Table::new(1, Amp::DEFAULT);
    table.of(Standing::Hp, 1, 0, 5);
    let master = table.of(Standing::HpMaster, 0, 1, 2);
    table.hears(Event::Exit(master));
    table.threads = master.0;
    table.runs(0, 1);
    assert_eq!(table.round(), []);
}

#[test]
fn an_idle_fast_cpu_gets_the_highest_rank_that_does_not_spin() {
    let mut table = Table::new(1, Amp::DEFAULT);
    table.hears(Event::Idle(CpuId(0)));
    // No thread may run on the idle fast CPU. The first thread whose mask allows it gets the CPU,
    // and is on its way.
    let only = Affinity::to([CpuId(1), CpuId(2), CpuId(3)]);
    for (app, cpu) in [(0, 1), (0, 2), (0, 3)] {
        table.with(app, cpu, only.clone());
    }
    let spins = table.with(1, 4, Affinity::to([CpuId(4)]));
    table.hears(Event::Notice(spins, Notice::Spinning));
    table.hears(Event::Affinity(spins, Affinity::ALL));
    assert_eq!(table.answers, [], "a thread that spins is not moved");
    table.hears(Event::Affinity(ThreadId(0), Affinity::ALL));
    assert_eq!(table.answers, [Answer::Move(ThreadId(0), CpuId(0))]);
    // The mask of the first thread sends it away again, so the next thread goes to the fast CPU: of
    // two that may, the one of the higher rank.
    let mp = table.with(2, 5, Affinity::to([CpuId(5)]));
    table.hears(Event::Affinity(ThreadId(1), Affinity::ALL));
    table.hears(Event::Affinity(mp, Affinity::ALL));
    table.hears(Event::Affinity(ThreadId(0), only));
    assert_eq!(table.answers, [Answer::Move(mp, CpuId(0))]);
}

/// With `stay_in_domain`, threads of one class take turns only under one last-level cache (here two
/// CPUs each, the first of them fast); a thread of a higher class comes from anywhere.
#[test]
fn equal_threads_take_turns_only_near_by_and_a_higher_class_comes_from_far() {
    let cpu = |i: u32| Cpu {
        core: CoreId(i),
        cluster: i / 2,
        socket: i / 2,
        kind: 0,
        speed: if i == 0 { FULL_SPEED } else { FULL_SPEED / 2 },
        fast: None,
    };
    for stays in [false, true] {
        let amp = Amp { swap_ticks: 2, stay_in_domain: stays, ..Amp::DEFAULT };
        let placement = pa::placement(&Cpus((0..CPUS).map(cpu).collect()), &Params { amp, ..PARAMS });
        let mut table = Table { placement, now: 0, threads: 0, answers: Vec::new() };
        let [fast, near, far] = [0, 1, 2].map(|at| table.runs(at, at));
        let mut at = [(fast, 0), (near, 1), (far, 2)];
        let mut seen = vec![fast];
        for _ in 0..6 {
            for (comes, goes) in table.round() {
                assert_eq!(Some(&goes), seen.last());
                let from = at.iter().find(|(id, _)| *id == comes).map_or(0, |(_, cpu)| *cpu);
                for (id, cpu) in [(goes, from), (comes, 0)] {
                    table.hears(Event::Placed(id, CpuId(cpu)));
                    table.hears(Event::Runs(id, CpuId(cpu)));
                    at.iter_mut().filter(|(other, _)| *other == id).for_each(|place| place.1 = cpu);
                }
                seen.push(comes);
            }
        }
        assert_eq!((seen.contains(&far), seen.len() >= 6), (!stays, true), "stays: {stays}, {seen:?}");
        // A thread that enters a sequential phase comes from another last-level cache.
        let [phase, other] = [4, 5].map(|cpu| table.runs(7, cpu));
        table.hears(Event::Block(other));
        assert_eq!(table.round(), [(phase, seen[seen.len() - 1])], "stays: {stays}");
    }
}
