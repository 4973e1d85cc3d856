//! Governors of clocks on the chip: what they learn of the CPUs, what a change of clock costs, and
//! how close they come to the best fixed clock.

use crate::common;
use baton_chip::energy::Account;
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_sched::governor::{Governed, Governor, Period, Sample, find};
use baton_units::{CoreId, Hertz};
use std::cell::RefCell;
use std::rc::Rc;

/// Prices of all components that the runs use. At half of the clock, an active CPU takes 4 of its
/// 10 W.
const PRICES: [&str; 17] = [
    "core.clock_hz=2_000_000_000",
    "energy.base=40",
    "energy.cpu.active=10",
    "energy.cpu.spin=10",
    "energy.cpu.pause=10",
    "energy.cpu.monitor_c1=2",
    "energy.cpu.halt=2",
    "energy.cpu.idle_poll=1",
    "energy.cpu.idle=1",
    "energy.cpu.off=0",
    "energy.cpu.static=2",
    "energy.cpu.exponent=2",
    "energy.l1.access=0",
    "energy.shared.access=0",
    "energy.memory.read=0",
    "energy.memory.static=0",
    "os.governor_period=20_000",
];

fn chip(settings: &[&str]) -> Chip {
    let all: Vec<&str> = PRICES.iter().chain(settings).copied().collect();
    common::cores(4, &all)
}

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

fn finished(simulation: &mut Simulation) -> Outcome {
    let outcome = simulation.run().expect("it ends");
    assert!(outcome.finished);
    outcome
}

/// What each of the four threads of a program does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    /// Computes.
    Compute,
    /// Touches one new line after another: nearly all of its time waits for memory.
    Chase,
    /// Computes and touches lines by turns, in equal parts of the time.
    Mixed,
    /// Computes like all others; then the first thread computes alone while the others spin. This
    /// happens four times.
    Sequential,
}

const PROGRAMS: [Program; 4] = [Program::Compute, Program::Chase, Program::Mixed, Program::Sequential];
const LINES: usize = 3000;

fn touch(lines: &[Owned<Simulated, common::Alone<u32>>], computes: u64) {
    for line in lines {
        line.0.load(Acquire);
        Simulated::work(Cycles(computes));
    }
}

fn start(simulation: &mut Simulation, program: Program) {
    let turn = common::cell(simulation, 0u32);
    let there = common::cell(simulation, 0u32);
    for thread in 0..4 {
        let count = if matches!(program, Program::Chase | Program::Mixed) { LINES } else { 0 };
        let lines: Vec<_> =
            simulation.outside(|| (0..count).map(|_| Owned::new(common::Alone(Atomic::new(0)))).collect());
        let (turn, there) = (turn.clone(), there.clone());
        let body = move || match program {
            Program::Compute => Simulated::work(Cycles(1_000_000)),
            Program::Chase => touch(&lines, 0),
            Program::Mixed => touch(&lines, 300),
            Program::Sequential => (1..=4).for_each(|round| {
                Simulated::work(Cycles(150_000));
                there.0.fetch_add(1, AcqRel);
                if thread == 0 {
                    while there.0.load(Acquire) != 4 * round {
                        Simulated::work(Cycles(100));
                    }
                    Simulated::work(Cycles(300_000));
                    turn.0.store(round, Release);
                } else {
                    let _ = Simulated::wait_while(&turn.0, round - 1, Wait::Pause, None);
                }
            }),
        };
        simulation.spawn(on(thread), body).expect("a core");
    }
}

fn run(chip: &Chip, program: Program) -> (Outcome, Account) {
    run_with(chip, program, &Options::default(), None)
}

type Make = dyn Fn(&Governed) -> Box<dyn Governor>;

fn run_with(chip: &Chip, program: Program, options: &Options, other: Option<&Make>) -> (Outcome, Account) {
    let mut simulation = Simulation::new(chip, options).expect("the host has memory");
    if let Some(make) = other {
        simulation.replace_governor("other", make);
    }
    start(&mut simulation, program);
    let outcome = finished(&mut simulation);
    if let Some(clocks) = &outcome.clocks {
        let at: u64 = clocks.at.iter().map(|(_, time)| time.0).sum();
        assert_eq!(at, 4 * outcome.cycles.0, "{clocks:?}");
    }
    let account = Account::of(chip, &outcome).expect("every price is there");
    (outcome, account)
}

/// The share of the cores' time with a clock of at most `most` gigahertz.
fn share_at(outcome: &Outcome, most: f64) -> f64 {
    let clocks = &outcome.clocks.as_ref().expect("it has a governor").at;
    let slow = clocks.iter().filter(|(clock, _)| clock.0 as f64 <= most * 1e9).map(|(_, time)| time.0).sum::<u64>();
    slow as f64 / (4 * outcome.cycles.0) as f64
}

/// The cost that is compared: energy times delay to the power of `power`.
fn cost(account: &Account, power: i32) -> f64 {
    account.total() * account.seconds.powi(power)
}

/// The least cost with all cores at one clock for the whole run.
fn best_fixed(program: Program, power: i32) -> f64 {
    let costs = [1_000u64, 1_250, 1_500, 1_750, 2_000].map(|megahertz| {
        let clocks = format!("core.clocks=0-3:{}", megahertz * 1_000_000);
        cost(&run(&chip(&[&clocks]), program).1, power)
    });
    costs.into_iter().fold(f64::INFINITY, f64::min)
}

#[test]
fn performance_is_as_without_a_governor() {
    for program in PROGRAMS {
        let (without, _) = run(&chip(&[]), program);
        let (with, _) = run(&chip(&["os.governor=performance", "core.clock_change=5000"]), program);
        let clocks = with.clocks.clone().expect("it has a governor");
        assert_eq!((clocks.governor, clocks.changes), ("performance", 0));
        assert!(clocks.periods >= without.cycles.0 / 20_000 - 1, "{clocks:?}");
        assert_eq!(Outcome { clocks: None, events: without.events, ..with }, without, "{program:?}");
    }
}

#[test]
fn powersave_has_the_slowest_level_from_the_first_period_on() {
    let (outcome, _) =
        run(&chip(&["os.governor=powersave", "core.clock_levels=500_000_000 1_000_000_000"]), Program::Compute);
    let clocks = outcome.clocks.expect("it has a governor");
    assert_eq!(clocks.changes, 4);
    assert_eq!(clocks.at[1], (Hertz(2_000_000_000), Cycles(4 * 20_000)), "{clocks:?}");
    assert_eq!(clocks.at[0].0, Hertz(500_000_000));
}

#[test]
fn schedutil_keeps_busy_cores_fast_and_those_that_sleep_slow() {
    let chip = chip(&["os.governor=schedutil"]);
    // Spinning and waiting for memory keep a CPU busy.
    for program in PROGRAMS {
        assert_eq!(share_at(&run(&chip, program).0, 1.9), 0.0, "{program:?}");
    }
    let mut simulation = common::simulation(&chip);
    let naps = || {
        (0..50).for_each(|_| {
            Simulated::work(Cycles(5_000));
            baton_chip::act::delay(Cycles(35_000));
        });
    };
    simulation.spawn(on(0), naps).expect("a core");
    assert!(share_at(&finished(&mut simulation), 1.1) > 0.9);
}

#[test]
fn what_computes_stays_fast_and_what_waits_for_memory_goes_slow() {
    for goal in ["energy", "energy-delay", "energy-delay2"] {
        let chip = chip(&["os.governor=energy-delay", &format!("os.governor_goal={goal}")]);
        let slow = [Program::Compute, Program::Chase].map(|program| share_at(&run(&chip, program).0, 1.1));
        assert!(slow[0] == 0.0 && slow[1] > 0.9, "{goal}: {slow:?}");
    }
}

/// Under each goal, the governor comes within 4% of the best fixed clock, which is found by trying
/// all (the first period is at the fastest clock). It is better than any fixed clock where cores
/// want different clocks, or one core different clocks by turns.
#[test]
fn the_goal_is_reached_beside_the_best_fixed_clock() {
    for (goal, power) in [("energy", 0), ("energy-delay", 1), ("energy-delay2", 2)] {
        let chip = chip(&["os.governor=energy-delay", &format!("os.governor_goal={goal}")]);
        for program in PROGRAMS {
            let (reached, best) = (cost(&run(&chip, program).1, power), best_fixed(program, power));
            let most = if program == Program::Sequential { 0.95 } else { 1.04 };
            assert!(reached < most * best, "{goal}, {program:?}: {} of the best", reached / best);
        }
    }
}

/// A governor that hears something else than what the CPUs did.
struct Misled {
    inner: Box<dyn Governor>,
    lie: fn(&mut Sample),
}

impl Governor for Misled {
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz> {
        let mut samples = period.samples.to_vec();
        samples.iter_mut().for_each(self.lie);
        self.inner.decide(&Period { samples: &samples, ..*period })
    }
}

/// Each part of the governor's rule is needed: a governor that hears wrong values for the part
/// misses the bar of `the_goal_is_reached_beside_the_best_fixed_clock` with some program.
#[test]
fn a_broken_rule_misses_the_goal() {
    let memory_computes: fn(&mut Sample) = |sample| {
        let spent = &mut sample.spent;
        (spent.computing, spent.memory) = (spent.computing + spent.memory, Cycles(0));
    };
    let computing_waits: fn(&mut Sample) = |sample| {
        let spent = &mut sample.spent;
        (spent.memory, spent.computing) = (spent.computing + spent.memory, Cycles(0));
    };
    let spinning_works: fn(&mut Sample) = |sample| {
        let spent = &mut sample.spent;
        (spent.computing, spent.spinning) = (spent.computing + spent.spinning, Cycles(0));
    };
    let rules = [
        (memory_computes, Program::Chase, 1.04),
        (computing_waits, Program::Compute, 1.04),
        (spinning_works, Program::Sequential, 0.95),
    ];
    for (number, (lie, program, bar)) in rules.into_iter().enumerate() {
        let make = move |governed: &Governed| -> Box<dyn Governor> {
            let info = find("energy-delay").expect("it is registered");
            Box::new(Misled { inner: (info.make)(governed), lie })
        };
        let (_, account) = run_with(&chip(&["os.governor=energy-delay"]), program, &Options::default(), Some(&make));
        let ratio = cost(&account, 1) / best_fixed(program, 1);
        assert!(ratio > bar, "rule {number}: {ratio} of the best for {program:?}");
    }
}

#[test]
fn a_governed_run_is_the_same_each_time() {
    let chip = chip(&["os.governor=energy-delay", "core.clock_change=700", "core.clock_latency=3000"]);
    for program in PROGRAMS {
        let first = run(&chip, program).0;
        assert_eq!(run(&chip, program).0, first, "{program:?}");
        let slowly = Options { run_ahead: false, ..Options::default() };
        let again = run_with(&chip, program, &slowly, None).0;
        assert_eq!((again.cycles, again.spent, again.clocks), (first.cycles, first.spent, first.clocks), "{program:?}");
    }
}

/// A governor that chooses the slowest level from its first decision on.
struct Slow(Vec<Hertz>);

impl Governor for Slow {
    fn decide(&mut self, _: &Period<'_>) -> Vec<Hertz> {
        self.0.clone()
    }
}

/// A change takes its price from the thread that runs on the core, to the cycle, and takes effect
/// after the latency.
#[test]
fn a_change_costs_what_the_chip_file_says() {
    let took = |more: &[&str]| {
        let settings = [&["os.governor=powersave", "os.wake_idle=0", "os.wake_polling=0"], more].concat();
        let mut simulation =
            Simulation::new(&chip(&settings), &Options { cpus: Some(1), ..Options::default() }).expect("a core");
        let make = |governed: &Governed| -> Box<dyn Governor> { Box::new(Slow(vec![governed.levels[0][0].clock])) };
        simulation.replace_governor("slow", &make);
        simulation.spawn(on(0), || Simulated::work(Cycles(100_000))).expect("a core");
        let outcome = finished(&mut simulation);
        assert_eq!(outcome.clocks.as_ref().map(|clocks| (clocks.governor, clocks.changes)), Some(("slow", 1)));
        let kernel = outcome.threads[0].time(Reason::Kernel).0;
        (outcome.cycles.0, kernel)
    };
    // 20,000 cycles at the fastest clock, and 80,000 at half of it.
    assert_eq!(took(&[]), (20_000 + 2 * 80_000, 0));
    assert_eq!(took(&["core.clock_change=700"]), (20_000 + 700 + 2 * 80_000, 700));
    // During the latency the core computes 3,000 cycles at the old clock, which it need not compute
    // at half of it.
    assert_eq!(took(&["core.clock_latency=3000"]), (23_000 + 2 * 77_000, 0));
    assert_eq!(took(&["core.clock_latency=3000", "core.clock_change=700"]), (23_000 + 2 * 77_700, 700));
    // If the latency is longer than a period, the governor does not ask for the same change twice.
    assert_eq!(took(&["core.clock_latency=50000"]), (70_000 + 2 * 30_000, 0));
}

type Heard = Rc<RefCell<Vec<(u64, u32, Vec<Sample>)>>>;

/// A governor that keeps what it hears.
struct Listens(Heard, Vec<Hertz>);

impl Governor for Listens {
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz> {
        self.0.borrow_mut().push((period.length.0, period.running, period.samples.to_vec()));
        self.1.clone()
    }
}

/// What the governor hears of each CPU sums to the period and is what the program does. What a
/// thread did on a CPU that it left within the period counts at that CPU.
#[test]
fn a_sample_is_what_the_cpu_did() {
    let chip = chip(&["os.governor=performance", "os.time_slice=7_000", "os.context_switch=0"]);
    let heard = Heard::default();
    let mut simulation = common::simulation(&chip);
    let out = heard.clone();
    simulation.replace_governor("listens", &move |governed: &Governed| {
        let fastest = governed.levels.iter().map(|levels| levels[levels.len() - 1].clock).collect();
        Box::new(Listens(out.clone(), fastest))
    });
    let flag = common::cell(&mut simulation, 0u32);
    let lines: Vec<_> = simulation.outside(|| (0..LINES).map(|_| Owned::new(common::Alone(Atomic::new(0)))).collect());
    let waits = flag.clone();
    // Two threads take turns on the first CPU, one spins on the second, and one waits for memory on
    // the third; the fourth has no thread.
    simulation.spawn(on(0), || Simulated::work(Cycles(400_000))).expect("a core");
    simulation.spawn(on(0), || Simulated::work(Cycles(400_000))).expect("a core");
    simulation.spawn(on(1), move || _ = Simulated::wait_while(&waits.0, 0, Wait::Spin, None)).expect("a core");
    simulation
        .spawn(on(2), move || {
            touch(&lines, 0);
            flag.0.store(1, Release);
        })
        .expect("a core");
    finished(&mut simulation);
    let heard = heard.borrow();
    for (length, running, samples) in &heard[1..10] {
        assert_eq!((*length, *running), (20_000, 3));
        for sample in samples {
            let parts = sample.spent;
            let sum = [parts.computing, parts.memory, parts.spinning, parts.still, parts.idle]
                .map(|part| part.0)
                .iter()
                .sum::<u64>();
            assert!(sum.abs_diff(20_000) < 500, "{sample:?}");
            assert_eq!(sample.clock, Hertz(2_000_000_000));
        }
        let [first, second, third, last] = samples[..] else { panic!("{samples:?}") };
        assert_eq!(first.spent.computing, Cycles(20_000));
        assert!(second.spent.spinning.0 > 19_500, "{second:?}");
        assert!(third.spent.memory.0 > 17_000 && third.spent.computing.0 > 0, "{third:?}");
        assert!(last.spent.idle == Cycles(20_000) && !last.has_thread && first.has_thread, "{last:?}");
    }
}

/// A run that hangs is reported as such, however its threads wait.
#[test]
fn a_governor_does_not_hide_a_run_that_hangs() {
    for wait in [Wait::Pause, Wait::Futex, Wait::Spin] {
        let mut simulation = common::simulation(&chip(&["os.governor=energy-delay", "core.clock_change=700"]));
        let cell = common::cell(&mut simulation, 0u32);
        simulation.spawn(on(0), move || _ = Simulated::wait_while(&cell.0, 0, wait, None)).expect("a core");
        let stuck = simulation.run().expect_err("no thread ever stores there");
        assert_eq!(stuck.waiting.len(), 1, "{stuck}");
    }
}

#[test]
fn no_core_gets_a_faster_clock_than_it_begins_with() {
    let chip = chip(&["os.governor=performance", "core.clocks=1-3:1_100_000_000"]);
    let (outcome, _) = run(&chip, Program::Compute);
    let clocks = outcome.clocks.expect("it has a governor");
    assert_eq!(clocks.changes, 0);
    assert_eq!(clocks.at.iter().map(|(clock, _)| clock.0).collect::<Vec<_>>(), [1_100_000_000, 2_000_000_000]);
}

#[test]
fn what_does_not_go_together_is_refused_with_its_place() {
    let sample = include_str!("../../../../chips/sample-host.toml");
    let prices =
        "[energy]\nbase = 1\n[energy.cpu]\nactive = 1\nspin = 1\nmonitor_c1 = 1\nidle = 1\nstatic = 1\nexponent = 1\n";
    let with = |more: &str| {
        let text = sample.replace("[os]\n", &format!("[os]\n{more}\n"));
        Chip::from_toml(&format!("{text}\n{prices}"), "x.toml").map_err(|error| error.to_string())
    };
    assert!(with("governor = \"energy-delay\"\ngovernor_goal = \"energy\"").is_ok());
    for (key, whole) in [
        ("energy.base", "base = 1\n"),
        ("energy.cpu.active", "active = 1\n"),
        ("energy.cpu.spin", "spin = 1\n"),
        ("energy.cpu.monitor_c1", "monitor_c1 = 1\n"),
        ("energy.cpu.idle", "idle = 1\n"),
        ("energy.cpu.static", "static = 1\n"),
        ("energy.cpu.exponent", "exponent = 1\n"),
    ] {
        let text = sample.replace("[os]\n", "[os]\ngovernor = \"energy-delay\"\n");
        let place = 1 + text.lines().position(|line| line.starts_with("governor")).expect("it is there");
        let error = Chip::from_toml(&format!("{text}\n{}", prices.replacen(whole, "", 1)), "x.toml")
            .expect_err("a price lacks");
        let begin = format!(
            "x.toml:{place}: key `os.governor` is \"energy-delay\"; expected performance, powersave, schedutil or none without the price `{key}`"
        );
        assert!(error.to_string().starts_with(&begin), "{error}");
    }
    let wrong = [
        ("os.governor=fast", "--set: key `os.governor` is the text \"fast\"; expected \"none\" or \"performance\" or"),
        ("os.governor_goal=time", "--set: key `os.governor_goal` is the text \"time\"; expected \"energy\""),
        ("os.governor_period=999", "--set: key `os.governor_period` is 999; expected a whole number from 1000"),
        (
            "core.clock_levels=2 1",
            "--set: key `core.clock_levels` is the text \"2 1\"; expected clocks in hertz, rising",
        ),
        (
            "core.clock_levels=1_000_000_000 9_000_000_000",
            "x.toml: key `core.clock_levels` is 9000000000; expected clocks from",
        ),
        ("core.clock_levels=999_999", "x.toml: key `core.clock_levels` is 999999; expected clocks from"),
    ];
    for (setting, begin) in wrong {
        let error = Chip::from_toml_with(sample, "x.toml", &[setting.to_owned()]).expect_err("wrong").to_string();
        assert!(error.starts_with(begin), "{error}");
    }
}
