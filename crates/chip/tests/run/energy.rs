//! Energy: every CPU's time has a state, states times watts and events times joules are the total
//! by component, and a price that is missing is named.

use crate::common;
use baton_chip::device::mailbox;
use baton_chip::energy::{Account, Component, PowerState, Quantity};
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_units::{CoreId, Hertz};
use std::rc::Rc;

const OPTERON: &str = include_str!("../../../../chips/opteron6272x4.toml");
const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");

/// The sample chip with four cores at 2 GHz and a different price for each state of a CPU.
fn priced(settings: &[&str]) -> Chip {
    let prices = [
        "core.clock_hz=2_000_000_000",
        "energy.base=100",
        "energy.cpu.active=10",
        "energy.cpu.spin=9",
        "energy.cpu.pause=8",
        "energy.cpu.monitor_c1=7",
        "energy.cpu.monitor_c2=6",
        "energy.cpu.monitor_c3=5",
        "energy.cpu.halt=4",
        "energy.cpu.idle_poll=3",
        "energy.cpu.idle=2",
        "energy.cpu.off=1",
        "energy.cpu.static=4",
        "energy.cpu.exponent=2",
        "energy.l1.access=20",
        "energy.shared.access=300",
        "energy.memory.read=15000",
        "energy.memory.static=0.5",
    ];
    let all: Vec<&str> = prices.iter().chain(settings).copied().collect();
    common::cores(4, &all)
}

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

fn spent(outcome: &Outcome, state: PowerState) -> u64 {
    outcome.spent.iter().filter(|spent| spent.state == state).map(|spent| spent.cycles.0).sum()
}

/// Checks that every CPU's time has a state, and that the account is the sum of its lines, by
/// component and as a whole. Returns the account.
fn holds(chip: &Chip, outcome: &Outcome) -> Account {
    let all: u64 = outcome.spent.iter().map(|spent| spent.cycles.0).sum();
    assert_eq!(all, u64::from(chip.cpus()) * outcome.cycles.0, "{:?}", outcome.spent);
    let account = Account::of(chip, outcome).expect("every price is there");
    for line in &account.lines {
        let amount = match line.quantity {
            Quantity::Seconds(seconds) => seconds,
            Quantity::Events(n) => n as f64,
        };
        assert!((line.joules - amount * line.price).abs() <= 1e-12 * line.joules.abs(), "{line:?}");
    }
    let parts: f64 = Component::ALL.iter().map(|&component| account.component(component)).sum();
    assert!((parts - account.total()).abs() < 1e-9 * account.total());
    let base = account.total() - account.without_base();
    assert!((base - account.component(Component::Base)).abs() < 1e-9 * account.total());
    account
}

#[test]
fn states_and_events_add_up() {
    let free = ["os.wake_idle=0", "os.wake_polling=0", "os.idle_poll=30_000", "noise.start=0"];
    let chip = priced(&free);
    let mut simulation =
        Simulation::new(&chip, &Options { cpus: Some(3), ..Options::default() }).expect("three of four");
    simulation.spawn(on(0), || Simulated::work(Cycles(100_000))).expect("a core");
    simulation.spawn(on(1), || Simulated::work(Cycles(40_000))).expect("a core");
    let outcome = simulation.run().expect("it ends");
    let account = holds(&chip, &outcome);
    let states = [PowerState::Active, PowerState::IdlePoll, PowerState::Idle, PowerState::Off];
    // Core 1 polls for 30,000 cycles after its work and then halts, core 2 does so from the start,
    // and core 3 is not in use.
    let cycles = states.map(|state| spent(&outcome, state));
    assert_eq!(cycles, [140_000, 60_000, 30_000 + 70_000, 100_000]);
    let joules = (140e3 * 10.0 + 60e3 * 3.0 + 100e3 * 2.0 + 100e3 * 1.0) / 2e9;
    assert!((account.component(Component::Cpus) - joules).abs() < 1e-15);
    assert!((account.component(Component::Base) - 100.0 * 100e3 / 2e9).abs() < 1e-12);
    let moved = |counts: &baton_chip::MemoryCounts| counts.transfers + counts.upgrades;
    let (l1, shared) = (outcome.memory.hits + moved(&outcome.memory) + outcome.memory.fetches, moved(&outcome.memory));
    let caches = (20.0 * l1 as f64 + 300.0 * shared as f64) * 1e-12;
    assert!((account.component(Component::Caches) - caches).abs() < 1e-18);
}

/// While a thread waits, its CPU takes the power of the wait policy's state; the thread waits for
/// the same time under each policy.
#[test]
fn a_waiting_thread_takes_what_its_policy_does() {
    let settings = [
        "os.wake_idle=0",
        "os.wake_polling=0",
        "wait.mwait.level=user",
        "wait.mwait.c1.enter=100",
        "wait.mwait.c1.exit=200",
        "wait.umwait.enter=30",
        "wait.umwait.exit=60",
        "wait.umwait_c02.enter=40",
        "wait.umwait_c02.exit=240",
        "wait.tpause_c02=90",
    ];
    let chip = priced(&settings);
    let run = |wait: Wait| {
        let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
        let cell = common::cell(&mut simulation, 0u32);
        let waits = cell.clone();
        simulation.spawn(on(0), move || _ = Simulated::wait_while(&waits.0, 0, wait, None)).expect("a core");
        simulation
            .spawn(on(1), move || {
                Simulated::work(Cycles(1_000_000));
                cell.0.store(1, Release);
                Simulated::wake(&raw const cell.0, 1, wait);
            })
            .expect("a core");
        let outcome = simulation.run().expect("it ends");
        holds(&chip, &outcome);
        outcome
    };
    for (wait, state) in [
        (Wait::Spin, PowerState::Spin),
        (Wait::Pause, PowerState::Pause),
        (Wait::Mwait(1), PowerState::Monitor1),
        (Wait::Umwait, PowerState::Monitor1),
        (Wait::UmwaitC02, PowerState::Monitor2),
        (Wait::TpauseC02, PowerState::Pause),
        (Wait::Futex, PowerState::Idle),
    ] {
        let outcome = run(wait);
        let here = spent(&outcome, state);
        let others = [PowerState::Spin, PowerState::Pause, PowerState::Monitor1, PowerState::Monitor2]
            .map(|state| spent(&outcome, state));
        let waited = others.iter().sum::<u64>();
        assert!(here > 900_000, "{wait}: {:?}", outcome.spent);
        assert!(state == PowerState::Idle && waited == 0 || waited == here, "{wait}: {others:?}");
    }
}

/// A core that stalls for a device has a state and a price of its own. Without the price, the stall
/// takes as much power as work.
#[test]
fn a_stall_for_a_device_is_accounted_for_itself() {
    let device = [
        "device.kind=mailbox",
        "device.count=1",
        "device.clock_hz=1_000_000_000",
        "device.latency=50",
        "device.words=64",
        "device.outstanding=4",
        "device.link=dedicated",
        "device.way=25",
        "device.call=100",
        "device.interrupt=100",
        "energy.device.request=7",
        "energy.device.static=0.5",
    ];
    let cpus = |more: &[&str]| {
        let chip = priced(&[&device[..], more].concat());
        let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
        let mailbox = || Simulated::device(0).expect("the chip has one");
        let receiver = move || {
            mailbox().call(mailbox::OPEN, [16, 0]);
            mailbox().request(mailbox::RECEIVE, [0, 0]).wait();
        };
        let sender = move || {
            Simulated::work(Cycles(1_000_000));
            mailbox().request(mailbox::SEND, [0, 7]).wait();
        };
        simulation.spawn(on(0), receiver).expect("a core");
        simulation.spawn(on(1), sender).expect("a core");
        let outcome = simulation.run().expect("it ends");
        let stalls: u64 = outcome
            .threads
            .iter()
            .flat_map(|thread| &thread.times)
            .filter(|(reason, _)| [Reason::Device, Reason::QueueFull, Reason::QueueEmpty].contains(reason))
            .map(|(_, time)| time.0)
            .sum();
        assert_eq!(spent(&outcome, PowerState::Device), stalls);
        assert!(stalls > 900_000, "{stalls}");
        let account = holds(&chip, &outcome);
        let line = account.lines.iter().find(|line| line.key == "energy.cpu.device").expect("it stalled");
        assert_eq!(line.quantity, Quantity::Seconds(stalls as f64 / 2e9));
        (account.component(Component::Cpus), line.price, stalls as f64 / 2e9)
    };
    let ((as_work, price, seconds), (less, own, _)) = (cpus(&[]), cpus(&["energy.cpu.device=6"]));
    assert_eq!((price, own), (10.0, 6.0));
    assert!((as_work - less - 4.0 * seconds).abs() < 1e-12, "{as_work} {less}");
}

/// At a slower clock, the static part of the power stays, the rest goes with the square of the
/// clock, and each part of the run counts at its own clock.
#[test]
fn a_slower_clock_takes_less() {
    let chip = priced(&["os.wake_idle=0", "os.wake_polling=0", "os.idle_poll=0", "noise.start=0"]);
    let mut simulation = Simulation::new(&chip, &Options { cpus: Some(1), ..Options::default() }).expect("one core");
    simulation.set_clock(Cycles(10_000), CoreId(0), Hertz(1_000_000_000)).expect("a clock");
    simulation.spawn(on(0), || Simulated::work(Cycles(50_000))).expect("a core");
    let outcome = simulation.run().expect("it ends");
    let account = holds(&chip, &outcome);
    let active: Vec<_> = outcome.spent.iter().filter(|spent| spent.state == PowerState::Active).collect();
    let by_clock: Vec<_> = active.iter().map(|spent| (spent.clock.expect("it ran").0, spent.cycles.0)).collect();
    assert_eq!(by_clock, [(1_000_000_000, 80_000), (2_000_000_000, 10_000)]);
    let off = 3.0 * 90e3 * 1.0;
    let joules = (10e3 * 10.0 + 80e3 * (4.0 + 6.0 / 4.0) + off) / 2e9;
    assert!((account.component(Component::Cpus) - joules).abs() < 1e-15, "{account:?}");
}

/// Threads move between cores of random clocks: the work that they do is the sum, over all cores,
/// of time times clock.
#[test]
fn work_is_time_and_clock_wherever_it_was_done() {
    for seed in 0..20u64 {
        let chip = priced(&[
            "os.context_switch=0",
            "os.wake_idle=0",
            "os.wake_polling=0",
            "os.time_slice=911",
            "noise.start=0",
        ]);
        let mut simulation =
            Simulation::new(&chip, &Options { seed, ..Options::default() }).expect("the host has memory");
        for at in 0..40 {
            let clock = 300_000_000 + (seed * 7919 + at * 104_729) % 1_700_000_000;
            simulation.set_clock(Cycles(at * 487), CoreId((at % 4) as u32), Hertz(clock)).expect("a clock");
        }
        let works: Vec<u64> = (0..9).map(|id| 3000 + (seed * 31 + id * 977) % 5000).collect();
        for &work in &works {
            simulation.spawn(Spawn::default(), move || Simulated::work(Cycles(work))).expect("room");
        }
        let outcome = simulation.run().expect("it ends");
        holds(&chip, &outcome);
        let active = outcome.spent.iter().filter(|spent| spent.state == PowerState::Active);
        let done: f64 = active.map(|spent| spent.cycles.0 as f64 * spent.clock.expect("it ran").0 as f64 / 2e9).sum();
        let asked = works.iter().sum::<u64>() as f64;
        // A CPU that ends a computation may leave a remainder of less than a cycle unused.
        assert!(done >= asked && done < asked + 20.0, "seed {seed}: {done} and {asked}");
    }
}

#[test]
fn a_missing_price_is_named() {
    let run = |chip: &Chip| {
        let mut simulation = Simulation::new(chip, &Options::default()).expect("the host has memory");
        simulation.spawn(on(0), || Simulated::work(Cycles(100_000))).expect("a core");
        Account::of(chip, &simulation.run().expect("it ends"))
    };
    let text = run(&Chip::from_toml(SAMPLE, "sample").expect("reads")).expect_err("no prices").to_string();
    assert!(text.starts_with("price missing: key `energy.cpu."), "{text}");
    // If one price is missing, it is named; prices that the run does not need are not asked for.
    let text = SAMPLE.to_owned() + "\n[energy]\nbase = 1\n[energy.cpu]\nactive = 1\nidle = 1\n";
    let chip = Chip::from_toml(&text, "x.toml").expect("reads");
    let error = run(&chip).expect_err("a price is missing").to_string();
    assert!(error.contains("`energy.cpu.idle_poll`") && error.contains("`sample-host`"), "{error}");
    let text = text
        + "idle_poll = 1\n[energy.l1]\naccess = 1\n[energy.memory]\nread = 1\nstatic = 1\n[energy.shared]\naccess = 1\n";
    assert!(run(&Chip::from_toml(&text, "x.toml").expect("reads")).is_ok());
    let wrong = SAMPLE.to_owned() + "\n[energy]\nbase = -3\n";
    let line = wrong.lines().count();
    let error = Chip::from_toml(&wrong, "x.toml").expect_err("no power is negative").to_string();
    assert!(error.starts_with(&format!("x.toml:{line}: key `energy.base` is -3")), "{error}");
}

/// With all CPUs idle the Opteron takes its base power, and with all CPUs busy what the measured
/// server takes.
#[test]
fn the_opteron_takes_what_was_measured() {
    let settings = ["noise.start=0", "os.wake_idle=0", "os.wake_polling=0", "os.idle_poll=0"].map(str::to_owned);
    let chip = Chip::from_toml_with(OPTERON, "opteron6272x4.toml", &settings).expect("reads");
    let watts = |threads: u32| {
        let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
        let cell = simulation.outside(|| Rc::new(Owned::<Simulated, common::Cell<u64>>::new(Atomic::new(0))));
        for core in 0..threads {
            let cell = cell.clone();
            simulation
                .spawn(on(core), move || {
                    Simulated::work(Cycles(1_000_000));
                    cell.load(Relaxed);
                })
                .expect("a core");
        }
        if threads == 0 {
            simulation.spawn(on(0), || act::delay(Cycles(1_000_000))).expect("a core");
        }
        let outcome = simulation.run().expect("it ends");
        holds(&chip, &outcome).watts()
    };
    let (idle, busy) = (watts(0), watts(64));
    assert!((idle - 2.0 * 126.0).abs() < 1.0, "{idle} W idle");
    assert!((busy - 2.0 * 359.0).abs() < 15.0, "{busy} W busy");
}
