//! The policy `linux`: events in, answers out. CPU 0 has the full capacity (1024), CPU 1 half
//! (512), CPU 2 a quarter (256).

mod common;

use baton_sched::placement::{Amp, Answer, Event, Packing, Placement};
use baton_sched::{Affinity, AppId, Born, Cpu, Cpus, FULL_SPEED, Nice, Params, Policy, ThreadId, linux};
use baton_units::{CoreId, CpuId, Cycles};
use common::{PARAMS, World};

/// A half-life of ten slices, so that a thread that computes crosses a threshold at a time that can
/// be calculated.
const HALF: u64 = 1_000;

struct Table {
    placement: Box<dyn Placement>,
    now: u64,
    threads: u32,
    answers: Vec<Answer>,
}

fn cpus() -> Cpus {
    let cpu = |i: u32| Cpu { core: CoreId(i), cluster: 0, socket: 0, kind: 0, speed: FULL_SPEED >> i, fast: None };
    Cpus((0..3).map(cpu).collect())
}

impl Table {
    /// Creates a table with CPUs of these speeds, in two clusters; the first `near` CPUs are the
    /// first cluster.
    fn on(amp: Amp, speeds: &[u32], near: u32) -> Table {
        let cpu = |(i, &speed): (u32, &u32)| Cpu {
            core: CoreId(i),
            cluster: u32::from(i >= near),
            socket: 0,
            kind: 0,
            speed,
            fast: None,
        };
        let cpus = Cpus((0..).zip(speeds).map(cpu).collect());
        let params = Params { amp: Amp { util_half_life: Some(HALF), ..amp }, ..PARAMS };
        Table { placement: linux::placement(&cpus, &params), now: 0, threads: 0, answers: Vec::new() }
    }

    fn new(amp: Amp) -> Table {
        let params = Params { amp: Amp { util_half_life: Some(HALF), ..amp }, ..PARAMS };
        Table { placement: linux::placement(&cpus(), &params), now: 0, threads: 0, answers: Vec::new() }
    }

    /// Tells the placement of an event. Returns the moves of its answer.
    fn hears(&mut self, event: Event) -> Vec<(u32, u32)> {
        self.answers.clear();
        self.placement.hears(Cycles(self.now), &event, &mut self.answers);
        let moves = self.answers.iter();
        moves
            .filter_map(|answer| if let Answer::Move(id, cpu) = *answer { Some((id.0, cpu.0)) } else { None })
            .collect()
    }

    fn born(&mut self, near: u32, affinity: Affinity) -> ThreadId {
        let id = ThreadId(self.threads);
        self.threads += 1;
        let born = Born { app: AppId(0), affinity, near: CpuId(near), nice: Nice::default(), speedup: None };
        assert_eq!(self.hears(Event::Born(id, born)), []);
        id
    }

    fn starts(&mut self, id: ThreadId, cpu: u32) {
        assert_eq!(self.hears(Event::Placed(id, CpuId(cpu))), []);
        assert_eq!(self.hears(Event::Runs(id, CpuId(cpu))), []);
    }

    /// Starts a thread that runs on this CPU, wherever the placement wants it.
    fn runs(&mut self, cpu: u32) -> ThreadId {
        let id = self.born(cpu, Affinity::ALL);
        self.hears(Event::Wake(id));
        self.starts(id, cpu);
        id
    }

    /// Returns the moves of a balancing at time `at`.
    fn balances(&mut self, at: u64) -> Vec<(u32, u32)> {
        self.now = at;
        self.hears(Event::Period)
    }
}

/// A new thread of CPU 1 begins at half of the CPU's capacity, 256, and fits below 80% of it,
/// 409.6. Its utilisation at time t is 512 - 256 * 2^(-t / 1000), which reaches 409.6 at 1000 *
/// log2(256 / 102.4) = 1322.
#[test]
fn a_misfit_goes_to_the_idle_bigger_cpu_when_it_does_not_fit_any_more() {
    let mut table = Table::new(Amp { packing: Packing::Off, ..Amp::DEFAULT });
    let id = table.runs(1);
    assert!((100..=1300).step_by(100).all(|at| table.balances(at).is_empty()));
    assert_eq!(table.balances(1400), [(id.0, 0)]);
    // The thread is on its way to CPU 0, so the next balancing does not move it again.
    assert_eq!(table.balances(1500), []);
    assert_eq!(table.answers, [Answer::Period(Cycles(1600))]);
}

#[test]
fn the_threshold_and_the_interval_are_keys() {
    let mut table = Table::new(Amp { packing: Packing::Off, misfit_percent: 60, balance_ticks: 3, ..Amp::DEFAULT });
    let id = table.runs(1);
    assert!(!table.answers.contains(&Answer::Period(Cycles(100))));
    // With `misfit_percent` 60, the thread fits below 307.2 of the capacity of 512, which it
    // reaches at 1000 * log2(256 / 204.8) = 322.
    assert_eq!(table.balances(300), []);
    assert_eq!(table.balances(600), [(id.0, 0)]);
    assert_eq!(table.answers[1], Answer::Period(Cycles(900)));
}

#[test]
fn a_busy_bigger_cpu_gives_up_nothing_and_takes_the_busiest_misfit_when_it_idles() {
    let mut table = Table::new(Amp::DEFAULT);
    let (first, small, middle) = (table.runs(0), table.runs(2), table.runs(1));
    assert_eq!(table.balances(100_000), [], "there are no swaps");
    // Both threads are misfits; the thread on CPU 1 has used more.
    table.hears(Event::Block(first));
    assert_eq!(table.hears(Event::Idle(CpuId(0))), [(middle.0, 0)]);
    table.starts(middle, 0);
    // CPU 1 is idle now, and takes the misfit from CPU 2, which is smaller.
    assert_eq!(table.hears(Event::Idle(CpuId(1))), [(small.0, 1)]);
}

#[test]
fn an_idle_cpu_takes_no_running_thread_while_another_waits() {
    let mut table = Table::new(Amp::DEFAULT);
    let (first, misfit) = (table.runs(0), table.runs(1));
    let waits = table.born(1, Affinity::ALL);
    table.hears(Event::Wake(waits));
    assert_eq!(table.hears(Event::Placed(waits, CpuId(1))), []);
    table.now = 10_000;
    table.hears(Event::Block(first));
    // A thread waits in the queue of CPU 1. The run queues give it to the idle CPU 0, so the
    // placement does not move the misfit there.
    assert_eq!(table.hears(Event::Idle(CpuId(0))), []);
    // If the waiting thread may not run on CPU 0, the misfit goes there.
    table.hears(Event::Affinity(waits, Affinity::to([CpuId(1)])));
    assert_eq!(table.hears(Event::Idle(CpuId(0))), [(misfit.0, 0)]);
}

#[test]
fn a_thread_that_wakes_gets_an_idle_cpu_that_it_fits() {
    let mut table = Table::new(Amp { packing: Packing::Off, ..Amp::DEFAULT });
    // The thread has computed on CPU 1 and is at 511, so it fits only CPU 0 (below 819).
    let id = table.runs(1);
    table.now = 20_000;
    table.hears(Event::Block(id));
    table.hears(Event::Idle(CpuId(1)));
    assert_eq!(table.hears(Event::Wake(id)), [(id.0, 0)]);
    table.starts(id, 0);
    table.hears(Event::Block(id));
    // CPU 0 is taken, so the thread gets the bigger of the two idle CPUs.
    let other = table.runs(0);
    assert_eq!(table.hears(Event::Wake(id)), [(id.0, 1)]);
    table.starts(id, 1);
    table.hears(Event::Block(id));
    table.hears(Event::Idle(CpuId(1)));
    // After a long sleep the thread fits any CPU. It goes to CPU 1, where it ran, although CPU 0 is
    // idle too.
    table.now = 40_000;
    table.hears(Event::Block(other));
    table.hears(Event::Idle(CpuId(0)));
    assert_eq!(table.hears(Event::Wake(id)), [(id.0, 1)]);
}

#[test]
fn a_mask_holds_on_waking_and_in_balancing() {
    let mut table = Table::new(Amp::DEFAULT);
    let id = table.born(1, Affinity::to([CpuId(1), CpuId(2)]));
    assert_eq!(table.hears(Event::Wake(id)), [(id.0, 1)]);
    table.starts(id, 1);
    assert_eq!(table.balances(50_000), []);
    assert_eq!(table.hears(Event::Affinity(id, Affinity::ALL)), []);
    assert_eq!(table.balances(50_100), [(id.0, 0)]);
}

/// A thread with a utilisation of 256 fits CPU 1.
#[test]
fn packing_prefers_the_idle_cpu_of_higher_priority() {
    for (packing, on_balance, on_wake) in
        [(Packing::Off, vec![], 1), (Packing::Balance, vec![(0, 0)], 1), (Packing::Wake, vec![(0, 0)], 0)]
    {
        let mut table = Table::new(Amp { packing, ..Amp::DEFAULT });
        let id = table.runs(1);
        assert_eq!(table.balances(100), on_balance, "{packing:?}");
        table.hears(Event::Block(id));
        table.hears(Event::Idle(CpuId(1)));
        assert_eq!(table.hears(Event::Wake(id)), [(id.0, on_wake)], "{packing:?}");
    }
    // CPU 2 is named fast while all clocks are equal: no thread is a misfit, and packing goes by
    // the names.
    let cpu = |i: u32| Cpu { core: CoreId(i), cluster: 0, socket: 0, kind: 0, speed: 1024, fast: Some(i == 2) };
    let mut table = Table::new(Amp::DEFAULT);
    table.placement = linux::placement(&Cpus((0..3).map(cpu).collect()), &PARAMS);
    let id = table.runs(0);
    assert_eq!(table.balances(100), [(id.0, 2)]);
}

#[test]
fn a_change_of_clock_counts_from_its_moment() {
    let mut table = Table::new(Amp { packing: Packing::Off, ..Amp::DEFAULT });
    let id = table.runs(1);
    table.now = 1_000;
    // The thread's utilisation is 384. With a capacity of 1024, CPU 1 would have a misfit from 1000
    // + 1000 * log2(640 / 204.8) = 2644 on, when the thread reaches 819.2; but no CPU is bigger.
    table.hears(Event::Speed(CpuId(1), 1024));
    assert_eq!(table.balances(2_700), []);
    // The thread's utilisation is 1024 - 640 * 2^-1.7 = 827, and 80% of the new capacity of 800 is
    // 640; CPU 0 is bigger by more than 5%.
    table.hears(Event::Speed(CpuId(1), 800));
    assert_eq!(table.balances(2_800), [(id.0, 0)]);
    // All CPUs are alike, so nothing is moved or asked for.
    let mut table = Table::new(Amp::DEFAULT);
    for cpu in [1, 2] {
        table.hears(Event::Speed(CpuId(cpu), 1024));
    }
    let id = table.born(1, Affinity::ALL);
    table.hears(Event::Wake(id));
    assert_eq!(table.answers, []);
}

/// A thread that has used all of its CPU for a long time uses exactly that: at 100% it does not
/// fit.
#[test]
fn at_the_border_a_thread_does_not_fit() {
    let amp = Amp { packing: Packing::Off, misfit_percent: 100, ..Amp::DEFAULT };
    let mut table = Table::new(amp);
    let id = table.runs(1);
    assert_eq!(table.balances(2_000), []);
    assert_eq!(table.balances(60_000), [(id.0, 0)]);
}

/// Without a key, the half-life is 3.2 slices of 100 cycles: the thread reaches 409.6 of 512 at 320
/// * log2(256 / 102.4) = 423.
#[test]
fn without_a_key_a_half_life_is_three_slices_and_a_fifth() {
    let mut table = Table::new(Amp::DEFAULT);
    table.placement =
        linux::placement(&cpus(), &Params { amp: Amp { packing: Packing::Off, ..Amp::DEFAULT }, ..PARAMS });
    let id = table.runs(1);
    table.balances(400);
    let probe = |table: &mut Table, at: u64| {
        table.now = at;
        table.hears(Event::Idle(CpuId(0)))
    };
    assert_eq!(probe(&mut table, 420), []);
    assert_eq!(probe(&mut table, 426), [(id.0, 0)]);
}

/// CPUs 0 to 2 are alike and in one cluster; CPUs 3 to 5 are half as fast and in another cluster.
#[test]
fn a_thread_that_fits_goes_where_it_ran_or_near_to_that() {
    let speeds = [1024, 1024, 1024, 512, 512, 512];
    let amp = Amp { packing: Packing::Off, ..Amp::DEFAULT };
    // The thread was born near CPU 4. It begins there, because its utilisation is guessed as half
    // of that CPU's capacity.
    let mut table = Table::on(amp, &speeds, 3);
    let id = table.born(4, Affinity::ALL);
    assert_eq!(table.hears(Event::Wake(id)), [(id.0, 4)]);
    table.starts(id, 4);
    // A second thread that was born near CPU 4 finds that CPU taken, and gets the nearest one.
    let second = table.born(4, Affinity::ALL);
    assert_eq!(table.hears(Event::Wake(second)), [(second.0, 3)]);
    table.starts(second, 5);
    // The second thread ran on CPU 5 last, and goes there when it wakes.
    table.hears(Event::Block(second));
    table.hears(Event::Idle(CpuId(5)));
    assert_eq!(table.hears(Event::Wake(second)), [(second.0, 5)]);
    table.starts(second, 5);
    table.hears(Event::Block(second));
    table.hears(Event::Idle(CpuId(5)));
    // A mask takes precedence over where the thread ran and what it fits: the second thread goes to
    // the only CPU that the mask allows.
    table.hears(Event::Affinity(second, Affinity::to([CpuId(1)])));
    assert_eq!(table.hears(Event::Wake(second)), [(second.0, 1)]);
}

/// A misfit on CPU 1 stays if CPU 0 has at most 1078/1024 of its capacity (speed 980), and moves to
/// CPU 0 if that has more (970).
#[test]
fn a_cpu_that_is_hardly_bigger_takes_no_misfit() {
    for (speed, moves) in [(980, false), (970, true)] {
        let mut table = Table::on(Amp { packing: Packing::Off, ..Amp::DEFAULT }, &[1024, speed], 2);
        let id = table.runs(1);
        let expected: &[(u32, u32)] = if moves { &[(id.0, 0)] } else { &[] };
        assert_eq!(table.balances(60_000), expected, "{speed}");
    }
}

#[test]
fn packing_takes_from_the_lowest_priority_and_of_equal_misfits_the_first_comes() {
    let mut table = Table::new(Amp::DEFAULT);
    let (middle, small) = (table.runs(1), table.runs(2));
    assert_eq!(table.balances(100), [(small.0, 0)]);
    let _ = middle;
    let mut table = Table::on(Amp { packing: Packing::Off, ..Amp::DEFAULT }, &[1024, 512, 512], 3);
    let (first, _) = (table.runs(1), table.runs(2));
    assert_eq!(table.balances(60_000), [(first.0, 0)]);
}

/// Two CPUs are idle; the bigger one takes the one misfit.
#[test]
fn the_biggest_idle_cpu_takes_first() {
    let mut table = Table::on(Amp { packing: Packing::Off, ..Amp::DEFAULT }, &[512, 1024, 256], 3);
    let id = table.runs(2);
    assert_eq!(table.balances(60_000), [(id.0, 1)]);
}

/// A thread that was moved while it ran is in a queue from then on, and does not run.
#[test]
fn a_thread_that_waits_uses_nothing() {
    let mut table = Table::new(Amp { packing: Packing::Off, ..Amp::DEFAULT });
    let id = table.runs(1);
    table.now = 60_000;
    table.hears(Event::Placed(id, CpuId(1)));
    // The thread's utilisation was 512. After a half-life without a run it is 256, so it fits again
    // when it begins to run.
    table.now = 61_000;
    table.hears(Event::Runs(id, CpuId(1)));
    assert_eq!(table.balances(61_100), []);
}

/// A thread in the queue of a free CPU gets that CPU, and so keeps no other CPU from a misfit.
#[test]
fn a_thread_that_is_about_to_run_does_not_count_as_waiting() {
    let mut table = Table::new(Amp { packing: Packing::Off, ..Amp::DEFAULT });
    let misfit = table.runs(1);
    table.now = 60_000;
    let waits = table.born(2, Affinity::ALL);
    table.hears(Event::Wake(waits));
    table.hears(Event::Placed(waits, CpuId(2)));
    assert_eq!(table.hears(Event::Idle(CpuId(0))), [(misfit.0, 0)]);
}

/// An event comes at the time of a balancing, but before it: it does not postpone the balancing.
#[test]
fn a_balancing_is_not_put_off_and_ends_with_the_last_thread() {
    let mut table = Table::new(Amp { packing: Packing::Off, ..Amp::DEFAULT });
    let id = table.runs(1);
    assert_eq!(table.balances(1_300), []);
    table.now = 1_400;
    table.hears(Event::Affinity(id, Affinity::ALL));
    assert_eq!(table.answers, []);
    table.hears(Event::Block(id));
    assert_eq!(table.answers, [Answer::NoPeriod]);
}

/// On the tests' machine: an idle fast CPU takes a misfit in the first balancing after the thread
/// has become one.
#[test]
fn an_application_alone_ends_up_on_the_fast_cpu_and_a_second_one_never_does() {
    const POLICY: Policy = linux::POLICY;
    let amp = Amp { packing: Packing::Off, util_half_life: Some(HALF), ..Amp::DEFAULT };
    let mut world = World::new(&POLICY, 4, Params { amp, ..PARAMS });
    for cpu in 1..4 {
        world.told(|policy, now, out| policy.set_speed(now, CpuId(cpu), FULL_SPEED / 2, out));
    }
    // The first thread begins at 512, which fits only the fast CPU. The second thread begins at 512
    // too, and finds the fast CPU taken.
    world.born_of(AppId(0), Affinity::ALL, 0);
    world.born_of(AppId(1), Affinity::ALL, 0);
    world.pass(50_000);
    let had = [0, 1].map(|app| world.policy.app_use(world_now(&world), AppId(app)).unwrap());
    assert_eq!(had.map(|had| (had.fast, had.slow, had.swaps)), [(50_000, 0, 0), (0, 50_000, 0)]);
    // The fast CPU becomes idle, and the second thread comes at once.
    world.leaves(ThreadId(0), common::State::Gone);
    world.told(|policy, now, out| policy.exit(now, ThreadId(0), out));
    world.free(CpuId(0));
    world.told(|_, _, _| {});
    assert_eq!(world.current[0], Some(ThreadId(1)));
}

fn world_now(world: &World) -> Cycles {
    Cycles(world.now)
}
