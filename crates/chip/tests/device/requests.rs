//! Devices: latencies to the cycle on wires of their own, on a mesh and on a bus; order, stalls,
//! system calls and interrupts; all with the mailbox.

use baton_chip::device::alarm;
use baton_chip::device::mailbox::{NO_ROOM, OPEN, RECEIVE, REFUSED, SEND};
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, Stuck, act};
use baton_machine::{Atomic, Machine, Ordering::Release, Owned, Wait, units::Cycles};
use baton_units::CoreId;
use std::cell::RefCell;
use std::rc::Rc;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");
const OCOR: &str = include_str!("../../../../chips/ocor64.toml");
const CAF: &str = include_str!("../../../../chips/caf16.toml");

/// The file's chip with a mailbox; with four cores, where the file allows another number.
fn chip(file: &str, settings: &[&str]) -> Chip {
    let fixed = ["noise.latency=0", "noise.start=0", "os.wake_idle=3000", "os.wake_polling=3000"];
    let settings: Vec<String> =
        fixed.iter().chain(&crate::MAILBOX).chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(&crate::without_devices(file), "x.toml", Some(4), &settings).expect("a right chip")
}

/// The sample chip with a mailbox on wires of its own, 25 cycles each way. The mailbox has half the
/// cores' clock.
fn wired() -> Chip {
    let chip = Chip::from_toml(SAMPLE, "sample").expect("reads");
    let clock = format!("device.clock_hz={}", chip.core.clock.0 / 2);
    self::chip(SAMPLE, &[&clock, "device.link=dedicated", "device.way=25"])
}

/// A chip with a mesh of 2x2 nodes. The mailbox is at the last node and has the cores' clock.
fn meshed() -> Chip {
    let settings = ["device.clock_hz=2_000_000_000", "device.link=network", "device.flits=2", "device.placement=3"];
    chip(OCOR, &settings)
}

/// Runs these threads; the first is bound to core 0, the next to core 1, and so on.
fn run(chip: &Chip, threads: Vec<Box<dyn FnOnce()>>) -> Result<Outcome, Stuck> {
    let mut simulation = Simulation::new(chip, &Options::default()).expect("the host has memory");
    for (core, thread) in (0..).zip(threads) {
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, thread).expect("there is a core");
    }
    simulation.run()
}

/// Opens a box for `letters` letters. If `rings` names a core, each letter interrupts it.
fn open(letters: u64, rings: Option<u64>) -> u64 {
    let answer = Simulated::device(0).expect("a device").call(OPEN, [letters, rings.map_or(0, |core| core + 1)]);
    assert_eq!(answer.status, 0);
    answer.value
}

/// The cycles from the request that sends a letter to its answer on an idle chip. They include the
/// cycle in which the request leaves the core.
fn sending(chip: &Chip) -> u64 {
    let took = Rc::new(RefCell::new(0));
    let out = took.clone();
    run(
        chip,
        vec![Box::new(move || {
            let here = open(4, None);
            // The request begins at an even cycle, where a clock of half the speed has its edges.
            Simulated::work(Cycles(1 + (act::time().0 + 1) % 2));
            let began = act::time();
            Simulated::device(0).expect("a device").request(SEND, [here, 7]).wait();
            *out.borrow_mut() = (act::time() - began).0;
        })],
    )
    .expect("it ends");
    took.take()
}

#[test]
fn a_request_takes_what_the_chip_file_says() {
    // A cycle to leave the core, 25 cycles to the device, none to its next edge because it arrives
    // at one, ten cycles of half the speed, and 25 cycles back.
    assert_eq!(sending(&wired()), 1 + 25 + 20 + 25);
    // From node 0 to node 3 of a 2x2 mesh and back: into the network and out of it, three routers
    // of two cycles, two links, one further flit; and a cycle to the interface.
    let way = 1 + 1 + 3 * 2 + 2 + 1 + 1 + 1;
    assert_eq!(sending(&meshed()), 1 + way + 10 + way);
}

/// On a bus requests meet the coherence traffic of other cores; on wires of their own they do not.
#[test]
fn a_bus_is_shared_and_own_wires_are_not() {
    let took = |link: &[&str], others: bool| {
        let mut settings = vec!["device.clock_hz=2_000_000_000"];
        settings.extend(link);
        let chip = chip(CAF, &settings);
        let mut threads: Vec<Box<dyn FnOnce()>> = vec![Box::new(|| {
            let here = open(64, None);
            for letter in 0..40 {
                Simulated::device(0).expect("a device").request(SEND, [here, letter]).wait();
            }
        })];
        let block = || {
            let layout = std::alloc::Layout::from_size_align(1 << 16, 64).expect("a layout");
            let memory = Simulated::alloc(layout);
            // SAFETY: `memory` was just allocated with this size.
            unsafe { Simulated::touch(memory.as_ptr(), 1 << 16, true) };
        };
        if others {
            threads.extend((0..3).map(|_| Box::new(block) as Box<dyn FnOnce()>));
        }
        run(&chip, threads).expect("it ends").threads[0].time(Reason::Device).0
    };
    let (wires, bus) = (["device.link=dedicated", "device.way=25"], ["device.link=network", "device.flits=1"]);
    assert_eq!(took(&wires, true), took(&wires, false));
    assert!(took(&bus, true) > took(&bus, false), "{} {}", took(&bus, true), took(&bus, false));
}

#[test]
fn letters_of_a_thread_stay_in_order_on_any_way() {
    for settings in [["network.routing=o1turn", "network.vcs=2"], ["network.routing=minimal-adaptive", "network.vcs=2"]]
    {
        let mut all =
            vec!["device.clock_hz=1_000_000_000", "device.link=network", "device.flits=3", "device.placement=3"];
        all.extend(settings);
        let came = Rc::new(RefCell::new(Vec::new()));
        let out = came.clone();
        let sender = move || {
            let here = open(3, None);
            for letter in 0..100 {
                drop(Simulated::device(0).expect("a device").request(SEND, [here, letter]));
            }
        };
        let receiver = move || {
            act::delay(Cycles(20_000));
            let tickets: Vec<_> =
                (0..100).map(|_| Simulated::device(0).expect("a device").request(RECEIVE, [0, 0])).collect();
            out.borrow_mut().extend(tickets.into_iter().map(|ticket| ticket.wait().value));
        };
        let outcome = run(&chip(OCOR, &all), vec![Box::new(sender), Box::new(receiver)]).expect("it ends");
        assert_eq!(came.take(), (0..100).collect::<Vec<u64>>());
        let device = &outcome.devices[0];
        assert_eq!((device.port.requests, &device.counts), (201, &vec![("sent", 100), ("received", 100)]));
        // The box is full for most of the receiver's sleep.
        assert!(device.port.full > 8 * 15_000, "{device:?}");
        sums(&outcome);
    }
}

fn sums(outcome: &Outcome) {
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{thread:?}");
    }
}

#[test]
fn a_stall_has_its_reason_and_ends_to_the_cycle() {
    let stack = |delay: u64, limit: Option<u64>| {
        let options = Options { limit: limit.map(Cycles), ..Options::default() };
        let mut simulation = Simulation::new(&wired(), &options).expect("the host has memory");
        let mut spawn = |core, f: Box<dyn FnOnce()>| {
            simulation.spawn(Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }, f).expect("there is a core");
        };
        spawn(
            0,
            Box::new(|| {
                let here = open(2, None);
                assert_eq!(Simulated::device(0).expect("a device").request(RECEIVE, [here, 0]).wait().value, 9);
            }),
        );
        spawn(
            1,
            Box::new(move || {
                Simulated::work(Cycles(delay));
                Simulated::device(0).expect("a device").request(SEND, [0, 9]).wait();
            }),
        );
        simulation.run().expect("it goes on")
    };
    let whole = stack(10_000, None);
    sums(&whole);
    let receiver = &whole.threads[0];
    let empty = receiver.time(Reason::QueueEmpty).0;
    // The sender computes for two cycles longer: the receiver stalls for two cycles longer on the
    // empty box, and as long as before for other reasons of the device.
    let longer = stack(10_002, None);
    assert_eq!(longer.threads[0].time(Reason::QueueEmpty).0, empty + 2);
    assert_eq!(longer.threads[0].time(Reason::Device), receiver.time(Reason::Device));
    assert_eq!(whole.threads[1].time(Reason::QueueFull).0, 0);
    // The limit cuts the run off during the stall: the part of the stall so far counts under its
    // reason.
    let part = stack(10_000, Some(whole.threads[1].ended.0 - 5000));
    sums(&part);
    assert_eq!(part.threads[0].time(Reason::QueueEmpty).0, empty - 5000 + 25 + 20);
}

#[test]
fn configuring_needs_a_system_call() {
    let outcome = run(
        &wired(),
        vec![Box::new(|| {
            let device = Simulated::device(0).expect("a device");
            assert!(Simulated::device(1).is_none());
            assert_eq!(device.request(OPEN, [1, 0]).wait().status, REFUSED);
            assert_eq!(device.request(SEND, [0, 1]).wait().status, REFUSED, "no such box");
            assert_eq!(device.call(OPEN, [65, 0]).status, NO_ROOM);
            assert_eq!(device.call(OPEN, [64, 0]).value, 0);
            assert_eq!(device.call(OPEN, [1, 0]).status, NO_ROOM);
        })],
    )
    .expect("it ends");
    assert!(outcome.threads[0].time(Reason::Kernel).0 >= 3 * (300 + 2 * 25), "{outcome:?}");
}

#[test]
fn an_interrupt_wakes_who_waits_and_takes_its_time_from_its_core() {
    let run = |rings: bool| {
        let woken = Rc::new(RefCell::new((0, 0)));
        let out = woken.clone();
        let reader = move || {
            open(4, rings.then_some(1));
            let device = Simulated::device(0).expect("a device");
            if rings {
                device.interrupt();
                out.borrow_mut().0 = act::time().0;
                // The second interrupt comes while no thread waits for one: it is kept.
                act::delay(Cycles(50_000));
                device.interrupt();
            }
            assert_eq!(device.request(RECEIVE, [0, 0]).wait().value, 1);
        };
        let busy = || Simulated::work(Cycles(100_000));
        let sent = woken.clone();
        let sender = move || {
            Simulated::work(Cycles(20_000));
            let device = Simulated::device(0).expect("a device");
            sent.borrow_mut().1 = act::time().0;
            device.request(SEND, [0, 1]).wait();
            device.request(SEND, [0, 2]).wait();
        };
        let threads: Vec<Box<dyn FnOnce()>> = vec![Box::new(reader), Box::new(busy), Box::new(sender)];
        let outcome = self::run(&wired(), threads).expect("it ends");
        sums(&outcome);
        (outcome, woken.take())
    };
    let (quiet, _) = run(false);
    let (rung, (woken, sent)) = run(true);
    let busy = |outcome: &Outcome| (outcome.threads[1].ended.0, outcome.threads[1].time(Reason::Kernel).0);
    assert_eq!(busy(&quiet).1, 0);
    assert_eq!(busy(&rung), (busy(&quiet).0 + 2 * 700, 2 * 700), "two interrupts on the core that computes");
    let way = 1 + 25 + (sent + 1 + 25) % 2 + 25;
    assert_eq!(woken, sent + way + 700 + 3000);
}

/// A device interrupts a CPU whose thread waits with a monitor: the thread looks at the word again,
/// and goes on waiting.
#[test]
fn a_devices_interrupt_ends_an_idle_wait() {
    let looks = |rings: bool| {
        let settings = ["device.clock_hz=1_000_000_000", "device.link=dedicated", "device.way=25"];
        let chip = chip(SAMPLE, &[&settings[..], &["wait.umwait.enter=31", "wait.umwait.exit=61"]].concat());
        let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
        type Word = <Simulated as Machine>::Atomic<u32>;
        let word = simulation.outside(|| Rc::new(Owned::<Simulated, Word>::new(Atomic::new(0))));
        let waits = word.clone();
        let core = |core| Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        let waiter = move || _ = Simulated::wait_while(&**waits, 0, Wait::Umwait, None);
        simulation.spawn(core(1), waiter).expect("there is a core");
        let sender = move || {
            let here = open(4, rings.then_some(1));
            for letter in 0..3 {
                Simulated::work(Cycles(20_000));
                Simulated::device(0).expect("a device").request(SEND, [here, letter]).wait();
            }
            Simulated::work(Cycles(20_000));
            word.store(1, Release);
        };
        simulation.spawn(core(0), sender).expect("there is a core");
        let outcome = simulation.run().expect("it ends");
        sums(&outcome);
        outcome.threads[0].counts.tries
    };
    assert_eq!(looks(true), looks(false) + 3 * 3, "each interrupt: MONITOR's load and two looks");
}

/// A mailbox and an alarm are on one chip. The alarm rings at its exact cycle, and each device has
/// counts of its own.
#[test]
fn a_chip_has_devices_of_several_kinds() {
    let settings = ["device.count=2", "device.link=dedicated", "device.way=25", "device.kind=mailbox alarm"];
    let chip = chip(SAMPLE, &[&settings[..], &[&format!("device.clock_hz={}", wired().core.clock.0)]].concat());
    let times = Rc::new(RefCell::new(Vec::new()));
    let out = times.clone();
    let sleeper = move || {
        let here = open(4, None);
        assert_eq!(Simulated::device(0).expect("a mailbox").request(SEND, [here, 7]).wait().status, 0);
        let alarm = Simulated::device(1).expect("an alarm");
        assert_eq!(alarm.request(alarm::SET, [0, 0]).wait().status, alarm::REFUSED);
        // The alarm that rings later is set first.
        for after in [9_000, 4_000] {
            out.borrow_mut().push(act::time().0 + after);
            drop(alarm.request(alarm::SET, [after, 0]));
        }
        for _ in 0..2 {
            alarm.interrupt();
            out.borrow_mut().push(act::time().0);
        }
    };
    let outcome = run(&chip, vec![Box::new(sleeper)]).expect("it ends");
    sums(&outcome);
    let (times, devices) = (times.take(), &outcome.devices);
    // A cycle to leave the core, the way there, the way back, the handler, and the CPU's wake-up.
    let rings = |set: u64| set + 1 + 25 + 25 + 700 + 3_000;
    assert_eq!(times[2..], [rings(times[1]), rings(times[0])], "{times:?}");
    assert_eq!((&devices[0].counts, &devices[1].counts), (&vec![("sent", 1), ("received", 0)], &vec![("rung", 2)]));
}

#[test]
fn a_wait_that_never_ends_is_reported() {
    let stuck = run(
        &wired(),
        vec![Box::new(|| {
            let here = open(1, None);
            Simulated::device(0).expect("a device").request(RECEIVE, [here, 0]).wait();
        })],
    )
    .expect_err("nobody sends");
    let text = stuck.to_string();
    assert!(text.contains("for device 0, which does not have what it wants"), "{text}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |file: &str, settings: &[&str]| {
        let mut all = vec![
            "device.kind=mailbox",
            "device.count=1",
            "device.latency=1",
            "device.words=8",
            "device.outstanding=1",
            "device.call=1",
            "device.interrupt=1",
            "device.clock_hz=1_000_000_000",
        ];
        all.extend(settings);
        let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
        Chip::from_toml_with(&crate::without_devices(file), "x.toml", &all).expect_err("must be refused").to_string()
    };
    for (file, settings, says) in [
        (
            SAMPLE,
            &["device.link=network", "device.flits=1"][..],
            "key `device.link` is network; expected \"dedicated\"",
        ),
        (SAMPLE, &["device.link=dedicated"], "key `device.way` is missing; expected a value"),
        (SAMPLE, &["device.link=dedicated", "device.way=1", "device.clock_hz=99_000_000_000"], "at most core.clock_hz"),
        (SAMPLE, &["device.link=dedicated", "device.way=1", "device.kind=post"], "expected \"mailbox\""),
        (
            SAMPLE,
            &["device.link=dedicated", "device.way=1", "device.count=3", "device.kind=mailbox alarm"],
            "key `device.kind` is \"mailbox alarm\"; expected one kind for all, or one for each of device.count, 3",
        ),
        (OCOR, &["device.link=network", "device.flits=1", "device.placement=64"], "different nodes from 0 to 63"),
        (OCOR, &["device.link=network", "device.flits=1", "device.count=65"], "at most core.count, 64"),
        (OCOR, &["device.link=network"], "key `device.flits` is missing; expected a value"),
        (CAF, &["device.link=network", "device.flits=1", "device.count=60"], "on 64 ports"),
        (CAF, &["device.link=network", "device.flits=1", "device.placement=3"], "devices have ports of their own"),
    ] {
        let text = refused(file, settings);
        assert!(text.contains(says), "{settings:?}: {text}");
    }
    let text = format!("{SAMPLE}\n[device]\nkind = \"mailbox\"\n");
    let text = Chip::from_toml(&text, "x.toml").expect_err("must be refused").to_string();
    assert!(text.starts_with("x.toml:") && text.contains("key `device.count` is missing"), "{text}");
}
