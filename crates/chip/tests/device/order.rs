//! Requests as entries of the store buffer, to the cycle: what a request waits for, what waits for
//! a request, and what passes it.

use crate::common;
use baton_chip::device::{Device, Hold, Port, Request, Taken};
use baton_chip::{Answer, Chip, Instructions, Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, PushTo, Wait, units::Cycles};
use baton_units::CoreId;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");
const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

/// A chip of four cores whose device is on wires of 25 cycles, at the cores' clock.
fn chip(file: &str, settings: &[&str]) -> Chip {
    let clock = format!("device.clock_hz={}", Chip::from_toml(file, "x.toml").expect("reads").core.clock.0);
    let fixed = [&clock, "noise.latency=0", "noise.start=0"];
    let all = fixed.iter().chain(&crate::MAILBOX).chain(&crate::WIRES).chain(settings);
    let all: Vec<String> = all.map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(file, "x.toml", Some(4), &all).expect("a right chip")
}

/// The times at which a device was offered requests, in cycles of the device's clock.
type Times = Rc<RefCell<Vec<u64>>>;

/// A device that answers each request `latency` cycles after the request came. With `holds`, it
/// says until then that it does not have what the request wants.
#[derive(Default)]
struct After {
    latency: u64,
    holds: bool,
    held: VecDeque<(u64, Request)>,
    came: Times,
}

impl Device for After {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        self.came.borrow_mut().push(port.now());
        let at = port.now() + self.latency;
        if self.holds {
            port.hold(&request, Hold::Empty);
            self.held.push_back((at, request));
            port.tick_at(self.held[0].0);
        } else {
            port.answer(&request, at, Answer::done(request.words[0]));
        }
        Taken::Yes
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        if let Some((_, request)) = self.held.pop_front() {
            port.answer(&request, port.now(), Answer::done(request.words[0]));
        }
        if let Some((next, _)) = self.held.front() {
            port.tick_at(*next);
        }
    }
}

/// A run: its words, each alone in a line, and its threads, each on the core of its number.
struct Run {
    simulation: Simulation,
    threads: u32,
    came: Times,
}

impl Run {
    fn new(chip: &Chip, latency: u64) -> Run {
        Run::with(chip, After { latency, ..After::default() })
    }

    fn with(chip: &Chip, device: After) -> Run {
        let options = Options { instructions: Instructions::NONE, ..Options::default() };
        let mut simulation = Simulation::new(chip, &options).expect("the host has memory");
        let came = device.came.clone();
        simulation.replace_devices(vec![Box::new(device)]);
        Run { simulation, threads: 0, came }
    }

    fn word(&mut self) -> common::Shared<common::Alone<u32>> {
        common::cell(&mut self.simulation, 0)
    }

    fn thread(&mut self, thread: impl FnOnce() + 'static) {
        let spawn = Spawn { affinity: vec![CoreId(self.threads)], ..Spawn::default() };
        self.simulation.spawn(spawn, thread).expect("there is a core");
        self.threads += 1;
    }

    /// Runs the threads. Returns when requests came to the device, and the outcome.
    fn run(mut self) -> (Vec<u64>, Outcome) {
        let outcome = self.simulation.run().expect("it ends");
        for thread in &outcome.threads {
            let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
            assert_eq!(sum, outcome.cycles.0, "{thread:?}");
        }
        (self.came.take(), outcome)
    }
}

fn ask(word: u64) -> baton_chip::Ticket {
    Simulated::device(0).expect("a device").request(0, [word, 0])
}

fn now() -> u64 {
    act::time().0
}

/// A cell that a guest writes its results into.
fn results<T: Default>() -> (Rc<RefCell<T>>, Rc<RefCell<T>>) {
    let cell = Rc::new(RefCell::new(T::default()));
    (cell.clone(), cell)
}

/// An instruction of a thread. The thread issues its instructions one right after the other, from
/// cycle 100,000 on.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    /// Stores to a line that no cache has.
    Store,
    /// Pushes a line that the core holds.
    Push,
    /// Issues a request.
    Request,
    /// Waits for a fence.
    Fence,
}

/// Runs a thread with these instructions. Returns when the last one is over and when the requests
/// left for the device, all counted from cycle 100,000.
fn does(chip: &Chip, what: &'static [Does]) -> (u64, Vec<u64>) {
    let mut run = Run::new(chip, 10);
    let (far, near) = (run.word(), run.word());
    let (took, out) = results::<u64>();
    run.thread(move || {
        near.0.store(1, Relaxed);
        Simulated::fence(SeqCst);
        Simulated::work(Cycles(100_000 - now()));
        for what in what {
            match what {
                Does::Store => far.0.store(1, Relaxed),
                Does::Push => Simulated::prepush((&raw const near.0).cast(), 4, PushTo::SharedLevel),
                Does::Request => drop(ask(0)),
                Does::Fence => Simulated::fence(SeqCst),
            }
        }
        *out.borrow_mut() = now() - 100_000;
    });
    let (came, _) = run.run();
    (took.take(), came.into_iter().map(|at| at - 25 - 100_000).collect())
}

#[test]
fn a_request_waits_for_older_stores_and_the_thread_goes_on() {
    use Does::{Fence, Push, Request, Store};
    let chip = chip(OCOR, &[]);
    let fence = chip.core.fence.0;
    assert_eq!(does(&chip, &[Request]), (1, vec![1]));
    assert_eq!(does(&chip, &[Request, Request, Request]), (3, vec![1, 2, 3]), "several are under way");
    let written = does(&chip, &[Store, Fence]).0 - fence;
    assert!(written > 30, "the line comes from memory: {written}");
    assert_eq!(does(&chip, &[Store, Request]), (2, vec![written]), "the thread goes on");
    assert_eq!(does(&chip, &[Store, Request, Request]), (3, vec![written, written]));
    // A request does not wait for an older push.
    assert_eq!(does(&chip, &[Store, Push, Request]), (3, vec![written]));
    assert_eq!(does(&chip, &[Push, Request]), (2, vec![2]));
    // A fence waits for the answer of an older request: 25 cycles to the device, 10 in it, and 25
    // back.
    assert_eq!(does(&chip, &[Request, Fence]), (1 + 25 + 10 + 25 + fence, vec![1]));
    assert_eq!(does(&chip, &[Store, Request, Fence]), (written + 25 + 10 + 25 + fence, vec![written]));
}

/// On a chip without store buffers a store is over before the next instruction begins.
#[test]
fn without_store_buffers_requests_are_under_way_all_the_same() {
    use Does::{Fence, Request, Store};
    let chip = chip(SAMPLE, &[]);
    let (written, fence) = (does(&chip, &[Store]).0, chip.core.fence.0);
    assert_eq!(does(&chip, &[Store, Request, Request]), (written + 2, vec![written + 1, written + 2]));
    assert_eq!(does(&chip, &[Request, Store]).0, 1 + 60 + written);
    assert_eq!(does(&chip, &[Request, Fence]).0, 1 + 60 + fence);
    let chip = self::chip(SAMPLE, &["device.younger_stores=pass"]);
    assert_eq!(does(&chip, &[Request, Store]).0, 1 + written);
}

/// A thread makes a request that the device answers after `latency` cycles, and then stores.
/// Returns when another core sees the store, and when the answer has come.
fn seen(younger: &str, latency: u64) -> (u64, u64) {
    let mut run = Run::new(&chip(OCOR, &[&format!("device.younger_stores={younger}")]), latency);
    let flag = run.word();
    let sees = flag.clone();
    let (seen, out) = results::<u64>();
    let (here, answer) = results::<u64>();
    run.thread(move || {
        Simulated::work(Cycles(100_000 - now()));
        let ticket = ask(7);
        flag.0.store(1, Release);
        assert_eq!(ticket.wait().value, 7);
        *answer.borrow_mut() = now();
    });
    run.thread(move || {
        let _ = Simulated::wait_while(&sees.0, 0, Wait::Spin, None);
        *out.borrow_mut() = now();
    });
    run.run();
    (seen.take(), here.take())
}

#[test]
fn younger_stores_wait_or_pass() {
    let answer = |latency: u64| 100_000 + 1 + 25 + latency + 25;
    let (early, later) = (seen("wait", 1_000), seen("wait", 1_100));
    assert_eq!((early.1, later.1), (answer(1_000), answer(1_100)));
    assert!(early.0 > early.1, "behind the answer: {early:?}");
    assert_eq!(later.0, early.0 + 100);
    let (early, later) = (seen("pass", 1_000), seen("pass", 1_100));
    assert_eq!((early.1, later.1), (answer(1_000), answer(1_100)));
    assert!(early.0 < 100_500, "before the answer: {early:?}");
    assert_eq!(later.0, early.0);
}

#[test]
fn loads_pass_and_locked_instructions_wait() {
    let run = |last: &'static dyn Fn(&common::Alone<u32>)| {
        let mut run = Run::new(&chip(OCOR, &[]), 1_000);
        let word = run.word();
        let (took, out) = results::<u64>();
        run.thread(move || {
            word.0.fetch_add(1, Relaxed);
            Simulated::work(Cycles(100_000 - now()));
            let ticket = ask(7);
            last(&word);
            *out.borrow_mut() = now() - 100_001;
            ticket.wait();
        });
        run.run();
        took.take()
    };
    let hit = chip(OCOR, &[]).coherent.expect("it is coherent").l1.latency.0;
    assert_eq!(run(&|word| assert_eq!(word.0.load(Acquire), 1)), hit);
    assert!(run(&|word| assert_eq!(word.0.fetch_add(1, Relaxed), 1)) > 25 + 1_000 + 25);
    // The store waits behind the request, and a load of the stored word finds the value in the
    // buffer.
    let forwarded = run(&|word| {
        word.0.store(9, Relaxed);
        assert_eq!(word.0.load(Relaxed), 9);
    });
    assert_eq!(forwarded, 1 + hit);
}

/// A thread stalls if its store buffer has no free entry, or if it has as many requests under way
/// as a thread may have. Its cycle stack says what it stalled for.
#[test]
fn entries_and_requests_are_bounded() {
    let run = |settings: &[&str], holds: bool| {
        let device = After { latency: 1_000, holds, ..After::default() };
        let mut run = Run::with(&chip(OCOR, settings), device);
        let (times, out) = results::<Vec<u64>>();
        run.thread(move || {
            Simulated::work(Cycles(100_000 - now()));
            for n in 0..4 {
                drop(ask(n));
                out.borrow_mut().push(now() - 100_000);
            }
        });
        let (_, outcome) = run.run();
        let thread = &outcome.threads[0];
        let stalls = [Reason::StoreBuffer, Reason::Device, Reason::QueueEmpty].map(|reason| thread.time(reason).0);
        (times.take(), stalls)
    };
    let answered = 1 + 25 + 1_000 + 25;
    assert_eq!(run(&[], false), (vec![1, 2, 3, 4], [0, 4, 0]));
    // A request waits for a free entry before its instruction takes its cycle, but for its turn
    // among the thread's requests (`device.outstanding`) after that cycle.
    assert_eq!(run(&["core.store_buffer=2"], false), (vec![1, 2, answered + 1, answered + 2], [0, answered + 2, 0]));
    assert_eq!(run(&["device.outstanding=2"], false), (vec![1, 2, answered, answered + 1], [0, answered + 1, 0]));
    assert_eq!(run(&["device.outstanding=1"], false).0, [1, answered, 2 * answered - 1, 3 * answered - 2]);
    // The time from the moment when the device says that it is empty to its answer.
    let empty = 1_000;
    assert_eq!(
        run(&["device.outstanding=2"], true),
        (vec![1, 2, answered, answered + 1], [0, answered + 1 - empty, empty])
    );
}

/// A thread that ends waits for its stores to be written, but not for the answers to its requests.
#[test]
fn a_thread_that_ends_waits_for_its_stores() {
    let ends = |posts_then_stores: bool| {
        let mut run = Run::new(&chip(OCOR, &[]), 1_000);
        let word = run.word();
        run.thread(move || {
            Simulated::work(Cycles(100_000 - now()));
            drop(ask(1));
            if posts_then_stores {
                word.0.store(1, Relaxed);
            }
        });
        run.run().1.threads[0].ended.0 - 100_000
    };
    assert_eq!(ends(false), 1);
    assert!(ends(true) > 1 + 25 + 1_000 + 25, "the store waits for the answer, and the thread for the store");
}
