//! Threads that are killed, whatever they do: they end, their requests have no effect, and others
//! go on.

use super::preempt::{Moody, device, senders};
use crate::common;
use baton_chip::device::mailbox::{OPEN, RECEIVE, SEND};
use baton_chip::device::{Device, Port, Request, Taken};
use baton_chip::{Answer, Chip, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Wait, units::Cycles};
use baton_units::CoreId;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// A chip with the mailbox and with prices for idle waits and halts.
fn chip(settings: &[&str]) -> Chip {
    let waits = [
        "wait.umwait.enter=31",
        "wait.umwait.exit=61",
        "wait.halt.enter=900",
        "wait.halt.send=1500",
        "wait.halt.exit=3100",
    ];
    crate::wired(4, &[&waits[..], settings].concat())
}

pub(super) fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

type Word = common::Shared<common::Alone<u32>>;

/// Kills a thread on core 1 `after` cycles later than 500,000 cycles from the start, and joins it.
/// Then the word changes and a letter comes into the box. Returns when the victim ended, counted
/// from the call, and what happened.
fn killed(
    chip: &Chip,
    after: u64,
    device_of_its_own: Option<Box<dyn Device>>,
    victim: impl Fn(&Word) + 'static,
) -> (u64, Outcome) {
    let options = Options { limit: Some(Cycles(20_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).expect("the host has memory");
    let opens = device_of_its_own.is_none();
    if let Some(device) = device_of_its_own {
        simulation.replace_devices(vec![device]);
    }
    let word: Word = common::cell(&mut simulation, 0u32);
    let time = Rc::new(RefCell::new(0));
    let out = time.clone();
    let killer = move || {
        if opens {
            device().call(OPEN, [4, 0]);
        }
        let other = word.clone();
        // Two other threads wait for the same word, and must not be affected.
        let sleeps = word.clone();
        let sleeper = act::spawn(on(2), move || _ = Simulated::wait_while(&sleeps.0, 0, Wait::Futex, None));
        let victim = act::spawn(on(1), move || {
            victim(&other);
            unreachable!("it is killed before");
        });
        let sleeps = word.clone();
        let later = act::spawn(on(3), move || {
            act::delay(Cycles(100_000));
            let _ = Simulated::wait_while(&sleeps.0, 0, Wait::Futex, None);
        });
        Simulated::work(Cycles(500_000 + after - act::time().0));
        act::kill(victim);
        act::kill(victim);
        act::join(victim);
        *out.borrow_mut() = act::time().0 - 500_000 - after;
        word.0.store(1, Release);
        Simulated::wake(&raw const word.0, u32::MAX, Wait::Futex);
        act::join(sleeper);
        act::join(later);
        if opens {
            // Nothing of the victim is left: its request for a letter takes none.
            device().request(SEND, [0, 9]).wait();
            assert_eq!(device().request(RECEIVE, [0, 0]).wait().value, 9);
        }
        // A second kill has no effect: the victim ended long ago.
        act::kill(victim);
    };
    simulation.spawn(on(0), killer).expect("there is a core");
    let outcome = simulation.run().expect("nobody hangs");
    assert!(outcome.finished, "{:?}", outcome.threads);
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{thread:?}");
    }
    let took = *time.borrow();
    (took, outcome)
}

#[test]
fn it_ends_whatever_it_does() {
    type Does = (&'static str, fn(&Word));
    const DOES: [Does; 12] = [
        ("computes", |_| Simulated::work(Cycles(1 << 40))),
        ("computes in steps", |_| {
            loop {
                Simulated::work(Cycles(300))
            }
        }),
        ("sleeps", |_| act::delay(Cycles(1 << 40))),
        ("joins", |_| act::join(act::spawn(on(1), || act::delay(Cycles(2_000_000))))),
        ("spins", |word| _ = Simulated::wait_while(&word.0, 0, Wait::Spin, None)),
        ("pauses", |word| _ = Simulated::wait_while(&word.0, 0, Wait::Pause, None)),
        ("rests", |word| _ = Simulated::wait_while(&word.0, 0, Wait::Umwait, None)),
        ("is halted", |word| _ = Simulated::wait_while(&word.0, 0, Wait::Halt, None)),
        ("sleeps on a cell", |word| _ = Simulated::wait_while(&word.0, 0, Wait::Futex, None)),
        ("wakes others", |word| {
            loop {
                Simulated::wake(&raw const word.0, 0, Wait::Futex)
            }
        }),
        ("waits for a device's interrupt", |_| device().interrupt()),
        ("loads", |word| while word.0.load(Acquire) == 0 {}),
    ];
    for futex in [&[][..], &["os.futex_home=bucket"]] {
        for (what, does) in DOES {
            for after in [0, 3, 151] {
                let (took, outcome) = killed(&chip(futex), after, None, does);
                assert!(took < 60_000, "{what}: {took}");
                assert_eq!(
                    outcome.threads.iter().filter(|thread| thread.ended < outcome.cycles).count() + 1,
                    outcome.threads.len()
                );
            }
        }
    }
}

#[test]
fn what_it_asked_for_is_called_back() {
    let waits: fn(&Word) = |_| _ = device().request(RECEIVE, [0, 0]).wait();
    let asks: fn(&Word) = |_| {
        let _ticket = device().request(RECEIVE, [0, 0]);
        Simulated::work(Cycles(1 << 40));
    };
    let fences: fn(&Word) = |word| {
        let _tickets = [(); 3].map(|()| device().request(RECEIVE, [0, 0]));
        word.0.store(0, Release);
        Simulated::fence(SeqCst);
    };
    for (does, requests) in [(waits, 1), (asks, 1), (fences, 3)] {
        for settings in [&[][..], &["device.younger_stores=pass"]] {
            let (took, outcome) = killed(&chip(settings), 0, None, does);
            assert!(took < 60_000, "{took}");
            let device = &outcome.devices[0];
            assert_eq!((device.port.cancelled, device.port.dropped), (requests, 0), "{device:?}");
            assert_eq!(device.counts, [("sent", 1), ("received", 1)]);
        }
    }
}

/// A thread is killed while it waits for its first CPU, and another one before its start.
#[test]
fn it_needs_not_run() {
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).expect("the host has memory");
    let killer = move || {
        let busy = act::spawn(on(1), || Simulated::work(Cycles(250_000)));
        act::delay(Cycles(1_000));
        let ready = act::spawn(on(1), || unreachable!("it is killed before it runs"));
        let unborn = Spawn { after: Cycles(1 << 40), ..on(2) };
        let unborn = act::spawn(unborn, || unreachable!("it is killed before it is born"));
        act::kill(ready);
        act::kill(unborn);
        act::join(unborn);
        act::join(ready);
        act::join(busy);
        let me = act::this().expect("a guest");
        act::kill(me);
        Simulated::work(Cycles(1));
        unreachable!("it has killed itself");
    };
    simulation.spawn(on(0), killer).expect("there is a core");
    assert!(simulation.run().expect("nobody hangs").finished);
}

/// A device that gives no request back, and answers each after this many cycles.
struct Late(u64);

impl Device for Late {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        port.answer(&request, port.now() + self.0, Answer::done(7));
        Taken::Yes
    }
}

#[test]
fn answers_that_come_too_late_are_dropped_and_counted() {
    let asks = |word: &Word| {
        Simulated::work(Cycles(500_000 - 2 - act::time().0));
        let _tickets = [device().request(0, [0, 0]), device().request(0, [0, 0])];
        word.0.load(Relaxed);
        Simulated::work(Cycles(1 << 40));
    };
    let (took, outcome) = killed(&chip(&[]), 100, Some(Box::new(Late(30_000))), asks);
    assert!((29_900..60_000).contains(&took), "it waits for its answers: {took}");
    let port = &outcome.devices[0].port;
    assert_eq!((port.requests, port.cancelled, port.dropped), (2, 0, 2));
}

proptest! {
    #![proptest_config(baton_needs::property!(24))]

    /// Nine threads share CPUs and send requests over any kind of link, and some are killed at any
    /// time. A killed thread's requests are performed up to some moment, once and in their order.
    /// Each other thread has all of its requests performed.
    #[test]
    fn its_requests_end_with_it(
        which in 0usize..4, places in 0u32..4, slice in 500u64..4_000, count in 1u64..20, outstanding in 1u32..9,
        kills in prop::collection::vec((0usize..9, 1u64..60_000), 1..6), pass in any::<bool>(), seed in 0u64..1000,
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
            format!("os.time_slice={slice}"), format!("device.younger_stores={}", if pass { "pass" } else { "wait" }),
        ]);
        if places != 0 {
            settings.push(format!("device.places={places}"));
        }
        let file = include_str!("../../../../chips/ocor64.toml");
        let chip = Chip::from_toml_at(file, "x.toml", Some(4), &settings).expect("a right chip");
        let once = || {
            let performed = Rc::new(RefCell::new(Vec::new()));
            let options = Options { seed, limit: Some(Cycles(50_000_000)), ..Options::default() };
            let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
            simulation.replace_devices(vec![Box::new(Moody::new(seed, performed.clone()))]);
            let word: Word = common::cell(&mut simulation, 0);
            let kills = kills.clone();
            let killer = move || {
                let threads = senders(9, count, &word);
                for (thread, after) in kills {
                    Simulated::work(Cycles(after));
                    act::kill(threads[thread]);
                }
                threads.into_iter().for_each(act::join);
            };
            simulation.spawn(Spawn::default(), killer).expect("there is a core");
            let outcome = simulation.run().expect("nobody waits for ever");
            (performed.take(), outcome)
        };
        let (performed, outcome) = once();
        prop_assert!(outcome.finished);
        for thread in 0..9 {
            let mine: Vec<u64> = performed.iter().copied().filter(|n| n / 100 == thread).collect();
            let all: Vec<u64> = (0..count).map(|n| thread * 100 + n).collect();
            let lives = kills.iter().all(|(killed, _)| *killed as u64 != thread);
            prop_assert!(all.starts_with(&mine) && (mine.len() == all.len() || !lives), "{thread}: {mine:?}");
        }
        for thread in &outcome.threads {
            let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
            prop_assert_eq!(sum, outcome.cycles.0);
        }
        prop_assert_eq!((performed, outcome), once());
    }
}
