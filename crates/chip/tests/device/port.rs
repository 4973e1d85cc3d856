//! A device's port has places. What a device does not take stays there, then on its wires or in the
//! network, and backs up into routers. The tests check which thread pays for that, what holds all
//! the same, and what a device learns.

use baton_chip::device::mailbox::{OPEN, RECEIVE, SEND};
use baton_chip::device::{Device, Hold, Port, Request, Taken};
use baton_chip::{Answer, Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, Stuck, act};
use baton_machine::{Machine, units::Cycles};
use baton_units::CoreId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");
const OCOR: &str = include_str!("../../../../chips/ocor64.toml");
const CAF: &str = include_str!("../../../../chips/caf16.toml");

const FIXED: [&str; 9] = [
    "noise.latency=0",
    "noise.start=0",
    "device.kind=mailbox",
    "device.latency=10",
    "device.words=64",
    "device.outstanding=16",
    "device.call=300",
    "device.interrupt=700",
    "os.wake_idle=3000",
];

fn chip(file: &str, cores: u32, settings: &[&str]) -> Chip {
    let all: Vec<String> = FIXED.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(&crate::without_devices(file), "x.toml", Some(cores), &all).expect("a right chip")
}

/// A mesh of 4x4 with devices on the network. In the tests with two devices, the first is at node
/// 3, the end of the first row, and the second below it.
fn mesh(settings: &[&str]) -> Chip {
    let link = ["device.link=network", "device.flits=2"];
    let clock = ["device.clock_hz=2_000_000_000"];
    chip(OCOR, 16, &[&clock[..], &link, settings].concat())
}

type Threads = Vec<(u32, Box<dyn FnOnce()>)>;

/// Runs these threads, each on the named core. If `devices` has any, they replace the chip's
/// devices.
fn run_with(chip: &Chip, options: &Options, devices: Vec<Box<dyn Device>>, threads: Threads) -> Result<Outcome, Stuck> {
    let mut simulation = Simulation::new(chip, options).expect("the host has memory");
    if !devices.is_empty() {
        simulation.replace_devices(devices);
    }
    for (core, thread) in threads {
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, thread).expect("there is a core");
    }
    simulation.run()
}

fn run(chip: &Chip, devices: Vec<Box<dyn Device>>, threads: Threads) -> Result<Outcome, Stuck> {
    run_with(chip, &Options::default(), devices, threads)
}

fn device(number: u32) -> baton_chip::DeviceVerbs {
    Simulated::device(number).expect("a device")
}

/// The requests that a device took: for each CPU, their second words, in the order in which the
/// device took them.
type Log = Rc<RefCell<BTreeMap<u32, Vec<u64>>>>;

/// A device that takes a request every `every` cycles, and answers it `every` cycles later.
struct Slow {
    every: u64,
    free_at: u64,
    log: Log,
}

impl Slow {
    fn boxed(every: u64, log: &Log) -> Box<dyn Device> {
        Box::new(Slow { every, free_at: 0, log: log.clone() })
    }
}

impl Device for Slow {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        if port.now() < self.free_at {
            port.tick_at(self.free_at);
            return Taken::Later;
        }
        self.free_at = port.now() + self.every;
        self.log.borrow_mut().entry(request.cpu).or_default().push(request.words[1]);
        port.answer(&request, self.free_at, Answer::done(request.words[1]));
        Taken::Yes
    }
}

/// Senders in the first row of the mesh flood the device at the row's end. A thread on core 0 makes
/// requests to another device, whose way goes through the same routers. Returns the longest time
/// that a request of that thread took, and the outcome.
fn crowd(settings: &[&str]) -> (u64, Outcome) {
    let chip = mesh(&[&["device.count=2", "device.placement=3 7"], settings].concat());
    let logs: [Log; 2] = Default::default();
    let most = Rc::new(Cell::new(0));
    let victim = most.clone();
    let senders = [1, 2].map(|core| {
        let send = || (0..100).for_each(|letter| drop(device(0).request(SEND, [0, letter])));
        (core, Box::new(send) as Box<dyn FnOnce()>)
    });
    let ask = move || {
        for _ in 0..20 {
            Simulated::work(Cycles(500));
            let began = act::time().0;
            device(1).request(SEND, [0, 0]).wait();
            victim.set(victim.get().max(act::time().0 - began));
        }
    };
    // A thread writes lines whose homes are all nodes, so that its messages use the same links.
    let touch = || {
        let layout = std::alloc::Layout::from_size_align(1 << 15, 128).expect("a layout");
        let memory = Simulated::alloc(layout);
        // SAFETY: the block was allocated above, with this size, and no other thread knows it.
        unsafe { Simulated::touch(memory.as_ptr(), 1 << 15, true) };
    };
    let others: [(u32, Box<dyn FnOnce()>); 2] = [(0, Box::new(ask)), (4, Box::new(touch))];
    let threads = senders.into_iter().chain(others).collect();
    let outcome = run(&chip, vec![Slow::boxed(100, &logs[0]), Slow::boxed(1, &logs[1])], threads).expect("it ends");
    assert_eq!(logs[0].borrow().values().map(Vec::len).collect::<Vec<_>>(), [100, 100], "nothing is lost");
    (most.get(), outcome)
}

#[test]
fn a_full_device_backs_up_into_the_routers() {
    let (free, wide) = crowd(&[]);
    let (blocked, narrow) = crowd(&["device.places=1"]);
    // If the port's places have no bound, requests wait in the port and delay no other packet. If
    // they have one, requests wait in the network.
    assert!(
        wide.devices[0].port.waited > 10 * narrow.devices[0].port.waited,
        "{} {}",
        wide.devices[0].port.waited,
        narrow.devices[0].port.waited
    );
    let longest = |outcome: &Outcome| outcome.network.longest_unmarked;
    assert!(longest(&wide) < 100 && longest(&narrow) > 1_000, "{} {}", longest(&wide), longest(&narrow));
    // The requests of core 0 to the other device go through the routers in which the flood waits.
    assert!(free < 100 && blocked > 1_000, "{free} {blocked}");
    // The coherence protocol has virtual networks of its own, so the flood does not delay it.
    let memory = |outcome: &Outcome| outcome.threads[3].time(Reason::Memory).0 as f64;
    assert!((memory(&narrow) / memory(&wide) - 1.0).abs() < 0.05, "{} {}", memory(&narrow), memory(&wide));
    // All requests reach the device in both runs.
    assert_eq!(wide.devices[0].port.requests, narrow.devices[0].port.requests);
    assert_eq!(wide.threads[1].counts.operations, narrow.threads[1].counts.operations);
    // With 400 places, enough for all requests, nothing waits outside of the port.
    let (roomy, room) = crowd(&["device.places=400"]);
    assert_eq!(
        (roomy, room.devices[0].port.waited, longest(&room)),
        (free, wide.devices[0].port.waited, longest(&wide))
    );
}

/// Every core sends 30 numbered requests and waits for the answer to each seventh. Returns the
/// numbers that came to the device, by CPU, and the outcome.
fn flood(chip: &Chip, cores: u32, options: &Options) -> (BTreeMap<u32, Vec<u64>>, Outcome) {
    let log = Log::default();
    let thread = |_| {
        for n in 0..30 {
            let ticket = device(0).request(SEND, [0, n]);
            if n % 7 == 6 {
                assert_eq!(ticket.wait().value, n, "its own answer");
            }
        }
    };
    let threads = (0..cores).map(|core| (core, Box::new(move || thread(core)) as Box<dyn FnOnce()>)).collect();
    let outcome = run_with(chip, options, vec![Slow::boxed(3, &log)], threads).expect("nobody waits for ever");
    let came = log.borrow().clone();
    (came, outcome)
}

#[test]
fn nothing_is_lost_and_no_request_overtakes_one_of_its_thread() {
    let all: BTreeMap<u32, Vec<u64>> = (0..16).map(|core| (core, (0..30).collect())).collect();
    let ways = [
        &["network.routing=xy", "network.vcs=1"][..],
        &["network.routing=o1turn", "network.vcs=2"],
        &["network.routing=minimal-adaptive", "network.vcs=2"],
        &["network.routing=xy", "network.vcs=2", "network.contention=none"],
    ];
    for way in ways {
        for places in ["device.places=1", "device.places=3"] {
            let chip = mesh(&[way, &["device.count=1", "device.placement=6", places]].concat());
            let (came, outcome) = flood(&chip, 16, &Options::default());
            assert_eq!(came, all, "{way:?} {places}");
            assert_eq!(outcome.devices[0].port.requests, 16 * 30);
        }
    }
    // The same on a bus, and on wires of the device's own, at whose end the requests without a
    // place stand.
    let wires = ["device.link=dedicated", "device.way=25", "device.count=1", "device.clock_hz=1_000_000_000"];
    let bus = ["device.link=network", "device.flits=1", "device.count=1", "device.clock_hz=1_000_000_000"];
    for link in [wires, bus] {
        let (came, outcome) =
            flood(&chip(CAF, 16, &[&link[..], &["device.places=1"]].concat()), 16, &Options::default());
        assert_eq!((came, outcome.devices[0].port.requests), (all.clone(), 16 * 30), "{link:?}");
    }
}

/// With numbers, a thread's requests come to the device in their order over any network. Without
/// numbers, a network with several ways between two nodes changes the order, and a network with a
/// single way keeps it.
#[test]
fn without_numbers_the_network_keeps_the_order_or_does_not() {
    let out_of_order = |way: &[&str], numbers: &str| {
        let at = ["device.count=1", "device.placement=6", numbers];
        let (came, outcome) = flood(&mesh(&[way, &at].concat()), 16, &Options::default());
        assert_eq!(outcome.devices[0].port.requests, 16 * 30);
        let mut sorted = came.clone();
        sorted.values_mut().for_each(|all| all.sort_unstable());
        assert_eq!(sorted, (0..16).map(|core| (core, (0..30).collect())).collect(), "nothing is lost");
        came.values().filter(|all| !all.is_sorted()).count()
    };
    let adaptive = ["network.routing=minimal-adaptive", "network.vcs=8"];
    assert_eq!(out_of_order(&adaptive, "device.numbers=true"), 0);
    assert!(out_of_order(&adaptive, "device.numbers=false") >= 4);
    assert_eq!(out_of_order(&["network.routing=xy", "network.vcs=1"], "device.numbers=false"), 0);
}

/// A thread with requests in the network moves to the core at the device's node. Its later requests
/// reach the device before those that are in the network: they wait outside of the port, hold no
/// place, and are taken in their order.
#[test]
fn a_thread_that_moves_keeps_its_order() {
    let settings = ["device.link=network", "device.flits=2", "device.placement=3", "device.count=1"];
    let clock = ["device.clock_hz=2_000_000_000", "device.places=1", "os.off=3"];
    let log = Log::default();
    let chip = chip(OCOR, 4, &[&settings[..], &clock].concat());
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
    simulation.replace_devices(vec![Slow::boxed(100, &log)]);
    let sends = || (0..60).for_each(|n| drop(device(0).request(SEND, [0, n])));
    let both = Spawn { affinity: vec![CoreId(0), CoreId(3)], ..Spawn::default() };
    simulation.spawn(both, sends).expect("there is a core");
    for (at, core, online) in [(6_000, 3, true), (6_001, 0, false)] {
        simulation.set_online(Cycles(at), CoreId(core), online).expect("it is there");
    }
    let outcome = simulation.run().expect("nobody waits for ever");
    assert_eq!(outcome.migrations, 1);
    let log = log.borrow();
    let came: Vec<u64> = log.values().flatten().copied().collect();
    assert!(log[&0].len() > 20 && log[&3].len() > 10, "from both cores: {log:?}");
    assert_eq!(came, (0..60).collect::<Vec<u64>>());
}

#[test]
fn the_same_run_is_the_same() {
    let chip = mesh(&["device.count=1", "device.placement=6", "device.places=1", "network.routing=o1turn"]);
    let (came, outcome) = flood(&chip, 16, &Options::default());
    assert_eq!(flood(&chip, 16, &Options::default()), (came.clone(), outcome.clone()));
    // Whether operations are finished at once (`run_ahead`) changes no result.
    let (also, stepped) = flood(&chip, 16, &Options { run_ahead: false, ..Options::default() });
    assert_eq!((also, stepped.cycles, stepped.devices), (came, outcome.cycles, outcome.devices));
}

/// Senders and receivers use a box of one letter, in a mailbox whose port has one place. Requests
/// that wait inside of the mailbox hold no place, so no request bars the way of another, and the
/// run ends.
#[test]
fn one_place_does_not_lock_senders_and_receivers() {
    let links: [&[&str]; 2] = [&["device.link=network", "device.flits=2"], &["device.link=dedicated", "device.way=25"]];
    for link in links {
        let settings = [link, &["device.clock_hz=100_000_000", "device.count=1", "device.places=1"]].concat();
        let chip = chip(OCOR, 16, &settings);
        let sum = Rc::new(Cell::new(0));
        let open: Box<dyn FnOnce()> = Box::new(|| assert_eq!(device(0).call(OPEN, [1, 0]).value, 0));
        let mut threads: Threads = vec![(0, open)];
        for core in 1..16 {
            let sum = sum.clone();
            threads.push((
                core,
                Box::new(move || {
                    act::delay(Cycles(20_000));
                    // Seven cores (the even numbers) receive 16 letters each, and seven (the odd
                    // numbers) send 16 each. Core 15 does nothing.
                    let tickets: Vec<_> = (0..16)
                        .map(|n| device(0).request(if core % 2 == 0 { RECEIVE } else { SEND }, [0, n]))
                        .take(if core == 15 { 0 } else { 16 })
                        .collect();
                    for ticket in tickets {
                        let value = ticket.wait().value;
                        sum.set(sum.get() + value);
                    }
                }),
            ));
        }
        let outcome = run(&chip, Vec::new(), threads).expect("nobody waits for ever");
        assert_eq!(sum.get(), 7 * (0..16).sum::<u64>(), "{link:?}");
        assert_eq!(outcome.devices[0].counts, [("sent", 112), ("received", 112)]);
    }
}

/// A queue of one word whose requests wait in its port: a letter for the full queue, or a request
/// for a letter of the empty one, stays there and bars the way of the requests behind it.
#[derive(Default)]
struct Strict(VecDeque<u64>);

impl Device for Strict {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        let answer = match (request.op, self.0.is_empty()) {
            (SEND, true) => {
                self.0.push_back(request.words[1]);
                0
            }
            (SEND, false) => {
                port.hold(&request, Hold::Full);
                return Taken::Later;
            }
            (_, true) => {
                port.hold(&request, Hold::Empty);
                return Taken::Later;
            }
            (_, false) => self.0.pop_front().unwrap_or_default(),
        };
        port.answer(&request, port.now() + 1, Answer::done(answer));
        Taken::Yes
    }
}

/// A deadlock in a device's port (CAF's figure 4): a letter for a full queue stands before the
/// request that would make room. The run is reported as stuck, with what each thread waits for,
/// with and without ticks.
#[test]
fn a_device_that_leaves_its_head_standing_locks_and_that_is_reported() {
    for timers in [&[][..], &["os.tick=30000", "os.tick_cost=100"]] {
        for (link, says) in [
            (&["device.link=network", "device.flits=2"][..], "wait for a place at its port"),
            (&["device.link=dedicated", "device.way=25"], "before it"),
        ] {
            let settings =
                [link, timers, &["device.clock_hz=1_000_000_000", "device.count=1", "device.places=1"]].concat();
            let sender =
                || _ = (0..3).map(|n| device(0).request(SEND, [0, n])).collect::<Vec<_>>().pop().map(|t| t.wait());
            let receiver = || {
                act::delay(Cycles(10_000));
                device(0).request(RECEIVE, [0, 0]).wait();
            };
            let threads: Threads = vec![(1, Box::new(sender)), (2, Box::new(receiver))];
            // The limit ends a run in which the deadlock is not noticed.
            let options = Options { limit: Some(Cycles(20_000_000)), ..Options::default() };
            let stuck = run_with(&chip(OCOR, 4, &settings), &options, vec![Box::<Strict>::default()], threads);
            let text = stuck.expect_err("nobody can go on").to_string();
            assert!(text.contains("2 thread(s) wait for ever"), "{settings:?}: {text}");
            assert!(text.contains("device 0 leaves 1 request(s) standing in its port of 1 place(s)"), "{text}");
            assert!(text.contains(says), "{settings:?}: {text}");
        }
    }
    // If no thread waits for their answers, requests that are never taken do not keep a run from
    // its end.
    let settings = ["device.link=network", "device.flits=2", "device.clock_hz=1_000_000_000", "device.count=1"];
    let chip = chip(OCOR, 4, &[&settings[..], &["device.places=1"]].concat());
    let posts = || (0..8).for_each(|n| drop(device(0).request(SEND, [0, n])));
    let outcome = run(&chip, vec![Box::<Strict>::default()], vec![(1, Box::new(posts))]).expect("it ends");
    assert_eq!((outcome.finished, outcome.devices[0].port.requests), (true, 1));
}

/// A device that works on one request at a time: it takes the next request when the answer to the
/// previous one has left.
#[derive(Default)]
struct OneAnswer {
    room: bool,
    left: u64,
}

impl Device for OneAnswer {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        if self.room {
            return Taken::Later;
        }
        self.room = true;
        port.answer(&request, port.now() + 40, Answer::done(0));
        Taken::Yes
    }

    fn left(&mut self, _: &Request, _: &mut Port<'_>) {
        (self.room, self.left) = (false, self.left + 1);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("left", self.left)]
    }
}

#[test]
fn a_device_is_told_when_its_answers_have_left() {
    let clock = Chip::from_toml(SAMPLE, "sample").expect("reads").core.clock.0;
    for (half, places) in [(1, "device.places=1"), (1, "device.places=9"), (2, "device.places=2")] {
        let clock = format!("device.clock_hz={}", clock / half);
        let settings = ["device.link=dedicated", "device.way=25", "device.count=1", &clock, places];
        let times = Rc::new(RefCell::new(Vec::new()));
        let out = times.clone();
        let asks = move || {
            let tickets: Vec<_> = (0..5).map(|n| device(0).request(SEND, [0, n])).collect();
            for ticket in tickets {
                ticket.wait();
                out.borrow_mut().push(act::time().0);
            }
        };
        let outcome = run(&chip(SAMPLE, 2, &settings), vec![Box::<OneAnswer>::default()], vec![(0, Box::new(asks))]);
        assert_eq!(outcome.expect("it ends").devices[0].counts, [("left", 5)]);
        // A request is taken at an edge and answered 40 edges later, and the next request is taken
        // one edge after that.
        let gaps: Vec<u64> = times.borrow().windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [41 * half; 4], "{places}");
    }
}

/// As long as the device keeps up, places change nothing.
#[test]
fn an_idle_chips_request_takes_no_longer_with_places() {
    let took = |file: &str, settings: &[&str]| {
        let took = Rc::new(Cell::new(0));
        let out = took.clone();
        let asks = move || {
            device(0).call(OPEN, [4, 0]);
            let began = act::time().0;
            device(0).request(SEND, [0, 1]).wait();
            out.set(act::time().0 - began);
        };
        run(&chip(file, 4, settings), Vec::new(), vec![(0, Box::new(asks))]).expect("it ends");
        took.get()
    };
    for node in 0..4 {
        let node = format!("device.placement={node}");
        let settings =
            ["device.link=network", "device.flits=2", "device.clock_hz=2_000_000_000", "device.count=1", &node];
        let free = took(OCOR, &settings);
        assert_eq!(took(OCOR, &[&settings[..], &["device.places=1"]].concat()), free, "{node}");
    }
    let settings = ["device.link=dedicated", "device.way=25", "device.clock_hz=1_000_000_000", "device.count=1"];
    assert_eq!(took(OCOR, &[&settings[..], &["device.places=1"]].concat()), took(OCOR, &settings));
}
