//! Threads that lose their CPUs with requests under way: the requests are called back, and made
//! again once.

use crate::common;
use baton_chip::device::mailbox::{OPEN, RECEIVE, SEND};
use baton_chip::device::{Cancelled, Device, Port, Request, Taken};
use baton_chip::{Answer, Chip, Options, Outcome, Simulated, Simulation, Spawn, Stuck, act};
use baton_machine::{Atomic, Machine, Ordering::*, Wait, units::Cycles};
use baton_units::CoreId;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

fn chip(settings: &[&str]) -> Chip {
    crate::wired(2, settings)
}

type Threads = Vec<(u32, Box<dyn FnOnce()>)>;

/// Runs these threads, each on the named core. `device` replaces the chip's device, if it is given.
/// The limit ends a run in which a hang is not noticed.
fn run_with(chip: &Chip, device: Option<Box<dyn Device>>, threads: Threads) -> Result<Outcome, Stuck> {
    let options = Options { limit: Some(Cycles(50_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).expect("the host has memory");
    if let Some(device) = device {
        simulation.replace_devices(vec![device]);
    }
    for (core, thread) in threads {
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, thread).expect("there is a core");
    }
    simulation.run().inspect(|outcome| {
        for thread in &outcome.threads {
            let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
            assert_eq!(sum, outcome.cycles.0, "{thread:?}");
        }
    })
}

fn run(chip: &Chip, threads: Threads) -> Result<Outcome, Stuck> {
    run_with(chip, None, threads)
}

pub(super) fn device() -> baton_chip::DeviceVerbs {
    Simulated::device(0).expect("a device")
}

fn results<T: Default>() -> (Rc<RefCell<T>>, Rc<RefCell<T>>) {
    let cell = Rc::new(RefCell::new(T::default()));
    (cell.clone(), cell)
}

/// A consumer waits at an empty box, and its producer waits for the same CPU: the consumer gives up
/// the CPU, and gets its letters.
#[test]
fn a_consumer_leaves_its_cpu_to_its_producer() {
    let (letters, out) = results::<Vec<u64>>();
    let consumer = move || {
        device().call(OPEN, [4, 0]);
        for _ in 0..3 {
            let letter = device().request(RECEIVE, [0, 0]).wait().value;
            out.borrow_mut().push(letter);
        }
    };
    let producer = || {
        for letter in 5..8 {
            Simulated::work(Cycles(150_000));
            device().request(SEND, [0, letter]).wait();
        }
    };
    let outcome = run(&chip(&[]), vec![(0, Box::new(consumer)), (0, Box::new(producer))]).expect("nobody hangs");
    assert!(outcome.finished, "{:?}", outcome.threads);
    assert_eq!(letters.take(), [5, 6, 7]);
    assert_eq!(outcome.devices[0].counts, [("sent", 3), ("received", 3)]);
}

/// Three threads on one CPU wait for letters at a box that stays empty. Each leaves the CPU to the
/// others, and the run is reported as stuck.
#[test]
fn consumers_that_wait_for_ever_are_reported() {
    for timers in [&[][..], &["os.tick=100000", "os.tick_cost=500"]] {
        let consumer = || Box::new(|| _ = device().request(RECEIVE, [0, 0]).wait()) as Box<dyn FnOnce()>;
        let opener = || {
            device().call(OPEN, [4, 0]);
            device().request(RECEIVE, [0, 0]).wait();
        };
        let threads: Threads = vec![(0, Box::new(opener)), (0, consumer()), (0, consumer())];
        let text = run(&chip(timers), threads).expect_err("nobody sends").to_string();
        assert!(text.contains("3 thread(s) wait for ever"), "{text}");
        assert_eq!(text.matches("for device 0, which does not have what it wants").count(), 3, "{text}");
    }
}

/// What the first thread of a CPU does when its time slice ends.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Computes,
    /// Stalls for a letter that comes late.
    Stalls,
    /// Computes while its request for a letter that comes late is under way.
    ComputesAndAsks,
    /// Spins while its request for a letter that comes late is under way.
    SpinsAndAsks,
}

/// Runs two threads on one CPU. Returns when the second one runs for the first time, and the
/// outcome.
fn second_runs(first: First) -> (u64, Outcome) {
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).expect("the host has memory");
    let word = common::cell(&mut simulation, 0u32);
    let (time, out) = results::<u64>();
    let on = |core| Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
    let spins = word.clone();
    let asks = move || {
        device().call(OPEN, [4, 0]);
        match first {
            First::Computes => Simulated::work(Cycles(400_000)),
            First::Stalls => assert_eq!(device().request(RECEIVE, [0, 0]).wait().value, 9),
            First::ComputesAndAsks => {
                let ticket = device().request(RECEIVE, [0, 0]);
                Simulated::work(Cycles(400_000));
                assert_eq!(ticket.wait().value, 9);
            }
            First::SpinsAndAsks => {
                let ticket = device().request(RECEIVE, [0, 0]);
                let _ = Simulated::wait_while(&spins.0, 0, Wait::Spin, None);
                assert_eq!(ticket.wait().value, 9);
            }
        }
    };
    simulation.spawn(on(0), asks).expect("there is a core");
    let second = move || {
        *out.borrow_mut() = act::time().0;
        Simulated::work(Cycles(300_000));
    };
    simulation.spawn(on(0), second).expect("there is a core");
    let sends = move || {
        Simulated::work(Cycles(1_000_000));
        word.0.store(1, Release);
        device().request(SEND, [0, 9]).wait();
    };
    simulation.spawn(on(1), sends).expect("there is a core");
    let outcome = simulation.run().expect("nobody hangs");
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{thread:?}");
    }
    (time.take(), outcome)
}

#[test]
fn a_thread_leaves_when_it_knows_what_came_of_its_requests() {
    let (alone, outcome) = second_runs(First::Computes);
    assert_eq!(outcome.devices[0].port.cancelled, 0);
    for first in [First::Stalls, First::ComputesAndAsks] {
        let (time, outcome) = second_runs(first);
        assert_eq!(time, alone + 25 + 25, "the way of what calls the request back, and the way of the request");
        let device = &outcome.devices[0];
        // Three requests are performed: one opens the box, one brings the letter and one asks for
        // it. The last one comes again each time that the thread gets its CPU back.
        assert_eq!(device.counts, [("sent", 1), ("received", 1)]);
        assert_eq!(device.port.requests, 3 + device.port.cancelled);
        assert!(device.port.cancelled >= 2, "{device:?}");
    }
    let (time, outcome) = second_runs(First::SpinsAndAsks);
    let hit = chip(&[]).cache.hit.0;
    assert!((alone + 50..=alone + 50 + hit).contains(&time), "a try under way ends first");
    assert_eq!(outcome.devices[0].counts, [("sent", 1), ("received", 1)]);
}

/// A letter comes to the box `after` cycles after the waiting thread has lost its CPU. Returns how
/// often its request was given back.
fn meets(after: i64) -> u64 {
    let (slice_ends, _) = second_runs(First::Computes);
    let taken = slice_ends - chip(&[]).os.context_switch.0;
    let (letters, out) = results::<Vec<u64>>();
    let receives = move || {
        device().call(OPEN, [4, 0]);
        let letter = device().request(RECEIVE, [0, 0]).wait().value;
        out.borrow_mut().push(letter);
    };
    let sends = move || {
        Simulated::work(Cycles((taken as i64 + after) as u64 - 25 - 1 - act::time().0));
        device().request(SEND, [0, 9]).wait();
    };
    let other = || Simulated::work(Cycles(300_000));
    let threads: Threads = vec![(0, Box::new(receives)), (0, Box::new(other)), (1, Box::new(sends))];
    let outcome = run(&chip(&[]), threads).expect("nobody hangs");
    assert_eq!((letters.take(), outcome.finished), (vec![9], true), "{after}");
    assert_eq!(outcome.devices[0].counts, [("sent", 1), ("received", 1)], "{after}");
    outcome.devices[0].port.cancelled
}

#[test]
fn an_answer_that_is_given_stands() {
    // The call that gives the request back reaches the device 25 cycles after the thread has lost
    // its CPU. A letter that comes before is still given to the request.
    for (after, cancelled) in [(-40, 0), (-1, 0), (0, 0), (23, 0), (24, 0), (25, 1), (26, 1), (60, 1)] {
        assert_eq!(meets(after), cancelled, "{after}");
    }
}

/// A device that takes each request, never gives one back and never answers.
struct Silent;

impl Device for Silent {
    fn take(&mut self, _: Request, _: &mut Port<'_>) -> Taken {
        Taken::Yes
    }
}

#[test]
fn a_device_that_gives_nothing_back_keeps_the_cpu_and_is_reported() {
    let waits = || _ = device().request(RECEIVE, [0, 0]).wait();
    let threads: Threads = vec![(0, Box::new(waits)), (0, Box::new(|| Simulated::work(Cycles(10))))];
    let text = run_with(&chip(&[]), Some(Box::new(Silent)), threads).expect_err("it never leaves").to_string();
    assert!(text.contains("thread 0 (thread 0) waits for device 0"), "{text}");
    assert!(text.contains("thread 1 (thread 1) waits for a CPU"), "{text}");
}

/// A queue of one word whose requests wait in its port (CAF's figure 4): a letter for the full
/// queue, or a request for a letter of the empty one, stays there and bars the way of the requests
/// behind it.
#[derive(Default)]
struct Strict(Option<u64>);

impl Device for Strict {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        match (request.op, self.0) {
            (SEND, None) => self.0 = Some(request.words[1]),
            (RECEIVE, Some(letter)) => {
                self.0 = None;
                port.answer(&request, port.now() + 1, Answer::done(letter));
                return Taken::Yes;
            }
            _ => return Taken::Later,
        }
        port.answer(&request, port.now() + 1, Answer::done(0));
        Taken::Yes
    }
}

/// The sender's letters stand in the port, outside of it and in the network, and bar the way of the
/// receiver, which shares the sender's CPU. When the sender loses the CPU, its letters are called
/// back from all these places, so that the receiver's requests find the way free.
#[test]
fn requests_are_called_back_from_the_port_and_from_the_network() {
    const OCOR: &str = include_str!("../../../../chips/ocor64.toml");
    for link in [
        &["device.link=network", "device.flits=2", "device.placement=3"][..],
        &["device.link=dedicated", "device.way=25"],
    ] {
        for places in ["device.places=1", "device.places=3"] {
            let fixed = [
                "noise.start=0",
                "device.kind=mailbox",
                "device.count=1",
                "device.latency=1",
                "device.words=1",
                "device.call=1",
                "device.interrupt=1",
                "device.clock_hz=1_000_000_000",
                "device.outstanding=8",
                "os.time_slice=20000",
                "os.scheduler=fair",
                places,
            ];
            let all: Vec<String> = fixed.iter().chain(link).map(|setting| (*setting).to_owned()).collect();
            let chip = Chip::from_toml_at(OCOR, "x.toml", Some(4), &all).expect("a right chip");
            let (letters, out) = results::<Vec<u64>>();
            let sends = || (0..6).for_each(|letter| drop(device().request(SEND, [0, letter])));
            let sender = move || {
                sends();
                Simulated::fence(SeqCst);
            };
            let receiver = move || {
                for _ in 0..6 {
                    let letter = device().request(RECEIVE, [0, 0]).wait().value;
                    out.borrow_mut().push(letter);
                }
            };
            let threads: Threads = vec![(0, Box::new(sender)), (0, Box::new(receiver))];
            let outcome = run_with(&chip, Some(Box::<Strict>::default()), threads).expect("nobody hangs");
            assert_eq!(letters.take(), [0, 1, 2, 3, 4, 5], "{all:?}");
            assert!(outcome.devices[0].port.cancelled > 5, "{:?}", outcome.devices[0]);
        }
    }
}

/// Threads that each send `count` letters, look at the answers to one in three, and write a word in
/// the meantime.
pub(super) fn senders(threads: u64, count: u64, word: &common::Shared<common::Alone<u32>>) -> Vec<act::Guest> {
    let sender = |thread: u64| {
        let word = word.clone();
        act::spawn(Spawn::default(), move || {
            for n in (0..count).map(|n| thread * 100 + n) {
                let ticket = device().request(SEND, [0, n]);
                word.0.store(n as u32, Relaxed);
                if n % 3 == 0 {
                    assert_eq!(ticket.wait().value, n, "its own answer");
                }
                Simulated::work(Cycles(n * 31 % 700));
            }
        })
    };
    (0..threads).map(sender).collect()
}

/// A device that keeps requests, and by chance performs them or gives them back.
pub(super) struct Moody {
    draws: u64,
    kept: Vec<Request>,
    /// The edge at which the device gives back nothing, and the CPU whose requests it keeps.
    stays: Option<(u64, u32)>,
    performed: Rc<RefCell<Vec<u64>>>,
}

impl Moody {
    pub(super) fn new(seed: u64, performed: Rc<RefCell<Vec<u64>>>) -> Moody {
        Moody { draws: seed, kept: Vec::new(), stays: None, performed }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draws = self.draws.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.draws >> 33) % below
    }

    fn perform(&mut self, request: &Request, port: &mut Port<'_>) {
        self.performed.borrow_mut().push(request.words[1]);
        let at = port.now() + self.draw(90);
        port.answer(request, at, Answer::done(request.words[1]));
    }
}

impl Device for Moody {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        if self.draw(4) == 0 {
            port.tick_at(port.now() + 1 + self.draw(60));
            return Taken::Later;
        }
        if self.draw(3) == 0 || !self.kept.is_empty() {
            self.kept.push(request);
            port.tick_at(port.now() + self.draw(4_000));
        } else {
            self.perform(&request, port);
        }
        Taken::Yes
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        // The oldest request is performed first, so that each thread's requests stay in their
        // order.
        for request in std::mem::take(&mut self.kept) {
            self.perform(&request, port);
        }
    }

    fn cancel(&mut self, request: &Request, port: &mut Port<'_>) -> Cancelled {
        let Some(at) = self.kept.iter().position(|kept| kept == request) else { return Cancelled::TooLate };
        let here = Some((port.now(), request.cpu));
        if self.stays == here || self.draw(4) == 0 {
            self.stays = here;
            return Cancelled::TooLate;
        }
        self.kept.remove(at);
        Cancelled::Yes
    }
}

proptest! {
    #![proptest_config(baton_needs::property!(24))]

    /// Threads lose their CPUs all the time and change them. With any device and link, each request
    /// is performed once, in its thread's order, and its answer comes to its thread.
    #[test]
    fn every_request_is_performed_once(
        which in 0usize..4, places in 0u32..4, slice in 500u64..4_000, count in 1u64..20, asks in 2u64..6,
        outstanding in 1u32..9, buffer in 1u32..9, pass in any::<bool>(), seed in 0u64..1000,
    ) {
        let link: &[&str] = match which {
            0 => &["device.link=network", "device.flits=2", "network.routing=xy"],
            1 => &["device.link=network", "device.flits=1", "network.routing=o1turn", "network.vcs=2"],
            2 => &["device.link=network", "device.flits=3", "network.routing=minimal-adaptive", "network.vcs=2", "network.buffer=1"],
            _ => &["device.link=dedicated", "device.way=13"],
        };
        let mut settings: Vec<String> = link.iter().map(|setting| (*setting).to_owned()).collect();
        settings.extend([
            "noise.start=0".to_owned(), "device.kind=mailbox".into(), "device.count=1".into(), "device.latency=1".into(),
            "device.words=8".into(), "device.call=1".into(), "device.interrupt=1".into(), "os.scheduler=fair".into(),
            "device.clock_hz=1_000_000_000".into(), format!("device.outstanding={outstanding}"),
            format!("os.time_slice={slice}"), format!("core.store_buffer={buffer}"),
            format!("device.younger_stores={}", if pass { "pass" } else { "wait" }),
        ]);
        if places != 0 {
            settings.push(format!("device.places={places}"));
        }
        let file = include_str!("../../../../chips/ocor64.toml");
        let chip = Chip::from_toml_at(file, "x.toml", Some(4), &settings).expect("a right chip");
        let once = || {
            let (performed, log) = results::<Vec<u64>>();
            let options = Options { seed, limit: Some(Cycles(50_000_000)), ..Options::default() };
            let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
            simulation.replace_devices(vec![Box::new(Moody::new(seed, log))]);
            let word = common::cell(&mut simulation, 0u32);
            for thread in 0..9 {
                let word = word.clone();
                let body = move || {
                    let mut kept = Vec::new();
                    for n in (0..count).map(|n| thread * 100 + n) {
                        let ticket = device().request(SEND, [0, n]);
                        word.0.store(n as u32, Relaxed);
                        match n % asks {
                            0 => assert_eq!(ticket.wait().value, n),
                            1 => kept.push((n, ticket)),
                            _ => drop(ticket),
                        }
                        Simulated::work(Cycles(n * 31 % 700));
                    }
                    for (n, ticket) in kept {
                        assert_eq!(ticket.wait().value, n, "its own answer");
                    }
                };
                simulation.spawn(Spawn::default(), body).expect("there is a core");
            }
            let outcome = simulation.run().expect("nobody waits for ever");
            (performed.take(), outcome)
        };
        let (performed, outcome) = once();
        prop_assert!(outcome.finished);
        for thread in 0..9 {
            let mine: Vec<u64> = performed.iter().copied().filter(|n| n / 100 == thread).collect();
            prop_assert_eq!(mine, (0..count).map(|n| thread * 100 + n).collect::<Vec<_>>());
        }
        for thread in &outcome.threads {
            let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
            prop_assert_eq!(sum, outcome.cycles.0);
        }
        prop_assert_eq!((performed, outcome), once());
    }
}
