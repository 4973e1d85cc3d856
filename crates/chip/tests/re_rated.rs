//! A computation that is preempted, moved, interrupted by ticks, re-rated by changes of clock and slowed down by a sibling ends at
//! the cycle that arithmetic says.
//!
//! What each thread did when is in its stretches. From them, the clocks and the ticks alone, the test sums up what was
//! computed, and compares it with what was asked for.

mod common;

use baton_chip::{Chip, Options, Reason, Simulated, Simulation, Spawn, Stretch, act};
use baton_machine::{Machine, units::Cycles};
use baton_units::{CoreId, CpuId, Hertz};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// What is asked of a thread: so many computations of so many cycles, with a pause behind each.
type Work = (u64, u64, u64);

/// The clock that all cores have, from when on.
struct Clocks(Vec<(u64, u64)>);

impl Clocks {
    fn at(&self, time: u64) -> u64 {
        self.0.iter().rev().find(|&&(from, _)| from <= time).expect("the first is from 0 on").1
    }

    /// Cycles times the reference's hertz that a core does in a stretch, at half its speed where a sibling computes.
    fn done(&self, from: u64, to: u64, sibling: &[(u64, u64)]) -> u128 {
        let mut cuts: Vec<u64> = self.0.iter().map(|&(at, _)| at).collect();
        cuts.extend(sibling.iter().flat_map(|&(a, b)| [a, b]));
        cuts.extend([from, to]);
        cuts.retain(|&cut| (from..=to).contains(&cut));
        cuts.sort_unstable();
        let piece = |pair: &[u64]| {
            let halved = sibling.iter().any(|&(a, b)| a <= pair[0] && pair[0] < b);
            let rate = self.at(pair[0]) >> u32::from(halved);
            u128::from(rate) * u128::from(pair[1] - pair[0])
        };
        cuts.windows(2).map(piece).sum()
    }
}

fn computing(stretches: &[Stretch]) -> Vec<(u64, u64)> {
    let work = stretches.iter().filter(|stretch| stretch.reason == Reason::Work);
    work.map(|stretch| (stretch.from.0, stretch.to.0)).collect()
}

struct Ticks {
    period: u64,
    cost: u64,
    reference: u64,
}

impl Ticks {
    fn within(&self, from: u64, to: u64) -> impl Iterator<Item = u64> + use<> {
        let period = self.period;
        let first = if period == 0 { u64::MAX } else { from.div_ceil(period) };
        (first..).map_while(move |turn| turn.checked_mul(period).filter(|&at| at < to))
    }

    /// What a handler takes that begins then, in cycles of the reference.
    fn cost(&self, at: u64, clocks: &Clocks) -> u64 {
        (u128::from(self.cost) * u128::from(self.reference)).div_ceil(u128::from(clocks.at(at))) as u64
    }
}

/// What a thread computed, by its stretches.
fn computed(stretches: &[Stretch], clocks: &Clocks, ticks: &Ticks, sibling: &[(u64, u64)]) -> u128 {
    // Handlers that it has still to pay for.
    let (mut due, mut sum) = (0, 0);
    for (at, stretch) in stretches.iter().enumerate() {
        let (from, to) = (stretch.from.0, stretch.to.0);
        match stretch.reason {
            // A tick that comes while its CPU switches to it; the one at the first moment was its predecessor's.
            Reason::Switch | Reason::Waking => {
                due += ticks.within(from + 1, to).map(|at| ticks.cost(at, clocks)).sum::<u64>();
            }
            Reason::Work => {
                let preempted = stretches.get(at + 1).is_some_and(|next| next.reason != Reason::Asleep);
                let mut still = vec![(from, from + due)];
                for tick in ticks.within(from + 1, to + u64::from(preempted)) {
                    let (_, until) = *still.last().expect("one stands there");
                    let begins = until.max(tick);
                    still.push((begins, begins + ticks.cost(tick, clocks)));
                }
                let until = still.last().expect("one stands there").1;
                due = until.saturating_sub(to);
                sum += clocks.done(from, to, sibling);
                sum -= still.iter().map(|&(a, b)| clocks.done(a.min(to), b.min(to), sibling)).sum::<u128>();
            }
            _ => {}
        }
    }
    sum
}

struct Case {
    works: Vec<Work>,
    changes: Vec<(u64, u64)>,
    /// Two contexts a core, and each thread on a CPU of its own choice; otherwise they go where they are sent.
    siblings: bool,
}

fn check(chip: &Chip, case: &Case) -> Result<(), TestCaseError> {
    let reference = chip.core.clock.0;
    let mut simulation = Simulation::new(chip, &Options::default()).unwrap();
    let mut clocks = Clocks(vec![(0, reference)]);
    let mut at = 0;
    for &(after, percent) in &case.changes {
        // Never at the moment of a tick, as it matters which of the two comes first.
        at += after;
        at += u64::from(chip.os.tick.0 != 0 && at.is_multiple_of(chip.os.tick.0));
        let clock = reference / 100 * percent;
        (0..chip.core.count).for_each(|core| simulation.set_clock(Cycles(at), CoreId(core), Hertz(clock)).unwrap());
        clocks.0.push((at, clock));
    }
    let cpus = chip.cpus();
    let cpu_of = |thread: usize| thread as u32 % cpus;
    for (thread, &(work, pause, turns)) in case.works.iter().enumerate() {
        let on = if case.siblings { vec![CpuId(cpu_of(thread))] } else { Vec::new() };
        let body = move || {
            act::wait_begins();
            for _ in 0..turns {
                Simulated::work(Cycles(work));
                act::delay(Cycles(pause));
            }
        };
        simulation.spawn(Spawn { cpus: on, ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    let log = simulation.lock_log();
    let ticks = Ticks { period: chip.os.tick.0, cost: chip.os.tick_cost.0, reference };
    for (thread, &(work, _, turns)) in case.works.iter().enumerate() {
        let mut sibling = Vec::new();
        if case.siblings {
            let beside = (cpu_of(thread) + chip.core.count) % cpus;
            let others = (0..case.works.len()).filter(|&other| cpu_of(other) == beside);
            sibling.extend(others.flat_map(|other| computing(&log.waits[other])));
        }
        let done = computed(&log.waits[thread], &clocks, &ticks, &sibling);
        let asked = u128::from(work * turns) * u128::from(reference);
        // Each computation, and each stretch of one, ends with a whole cycle of the reference.
        let pieces = log.waits[thread].len() as u128 + u128::from(turns) + sibling.len() as u128;
        let beside = done.abs_diff(asked);
        prop_assert!(
            beside <= pieces * u128::from(reference),
            "thread {thread}: {} cycles computed of {}, in {pieces} pieces: {:?}",
            done / u128::from(reference),
            asked / u128::from(reference),
            outcome.threads[thread].times,
        );
    }
    Ok(())
}

fn cases() -> impl Strategy<Value = (Vec<Work>, Vec<(u64, u64)>)> {
    let work = (1_000u64..400_000, 1u64..60_000, 1u64..8);
    let change = (1_000u64..300_000, 40u64..101);
    (prop::collection::vec(work, 1..9), prop::collection::vec(change, 0..12))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn on_cores_of_their_own(
        (works, changes) in cases(),
        slice in 5_000u64..60_000,
        tick in prop_oneof![Just(0u64), 5_000u64..50_000],
        policy in prop_oneof![Just("fair"), Just("sticky"), Just("eevdf"), Just("eevdf-guest")],
    ) {
        let settings = [
            format!("os.time_slice={slice}"),
            format!("os.scheduler={policy}"),
            format!("os.tick={tick}"),
            "os.balance_interval=70000".into(),
            "os.tick_cost=1777".into(),
            "os.migrate=1234".into(),
            "os.wakeup_granularity=1000".into(),
        ];
        let chip = common::cores(3, &settings.iter().map(String::as_str).collect::<Vec<_>>());
        check(&chip, &Case { works, changes, siblings: false })?;
    }

    #[test]
    fn beside_siblings(
        (works, changes) in cases(),
        slice in 5_000u64..60_000,
        tick in prop_oneof![Just(0u64), 5_000u64..50_000],
    ) {
        // A context of its own uses both issue slots; two that compute have one each.
        let settings = [
            "core.contexts=2".into(),
            "core.width=2".into(),
            "core.rob=100".into(),
            "core.result_latency=1".into(),
            format!("os.time_slice={slice}"),
            format!("os.tick={tick}"),
            "os.tick_cost=1777".into(),
        ];
        let chip = common::cores(2, &settings.iter().map(String::as_str).collect::<Vec<_>>());
        check(&chip, &Case { works, changes, siblings: true })?;
    }
}
