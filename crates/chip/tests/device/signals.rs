//! Signals to threads that stall for devices, wait for their interrupts, or have requests under
//! way.

use super::kill::on;
use super::preempt::{Moody, device, senders};
use crate::common;
use baton_chip::act::{Action, Signal};
use baton_chip::device::mailbox::{OPEN, RECEIVE, SEND};
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, units::Cycles};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

const PRICES: [&str; 4] = ["os.syscall=500", "os.interrupt=130", "os.signal_deliver=700", "os.signal_return=300"];

fn stacks_sum(outcome: &Outcome) {
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{thread:?}");
    }
}

/// A thread on core 1 runs `does`, which waits for a letter, from cycle 500,000 on. The letter is
/// sent at cycle 560,000, and the thread gets a signal at 500,000 plus `moment`. Returns when the
/// handler began and when `does` returned, both counted from cycle 500,000, and the outcome.
fn signalled(rings: bool, moment: u64, does: impl FnOnce() + 'static) -> (u64, u64, Outcome) {
    let options = Options { limit: Some(Cycles(20_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&crate::wired(4, &PRICES), &options).expect("the host has memory");
    let times = Rc::new(RefCell::new((0, 0)));
    let (of_handler, of_thread) = (times.clone(), times.clone());
    let body = move || {
        // If `rings`, each letter interrupts CPU 1.
        device().call(OPEN, [4, if rings { 2 } else { 0 }]);
        let handler = move |_| {
            of_handler.borrow_mut().0 = act::time().0 - 500_000;
            Simulated::work(Cycles(1_000));
        };
        act::on_signal(Signal::USR1, Action::handle(handler)).unwrap();
        let thread = act::spawn(on(1), move || {
            Simulated::work(Cycles(500_000 - act::time().0));
            does();
            of_thread.borrow_mut().1 = act::time().0 - 500_000;
            Simulated::work(Cycles(100_000));
        });
        let sender = act::spawn(on(2), || {
            Simulated::work(Cycles(560_000 - act::time().0));
            device().request(SEND, [0, 77]).wait();
        });
        Simulated::work(Cycles(500_000 + moment - 500 - act::time().0));
        assert!(act::signal(thread, Signal::USR1));
        act::join(thread);
        act::join(sender);
    };
    simulation.spawn(on(0), body).expect("there is a core");
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(outcome.finished);
    stacks_sum(&outcome);
    let (began, through) = *times.borrow();
    (began, through, outcome)
}

#[test]
fn a_stall_is_interrupted_and_its_answer_comes_all_the_same() {
    for moment in [20_000, 20_001, 59_999] {
        let receives = || assert_eq!(device().request(RECEIVE, [0, 0]).wait().value, 77);
        let (began, through, outcome) = signalled(false, moment, receives);
        assert_eq!(began, moment + 130 + 700, "at once");
        let over = through as i64 - 60_000;
        assert!((0..2_200).contains(&over), "the letter comes meanwhile, or the handler ends: {over}");
        let port = &outcome.devices[0].port;
        assert_eq!((port.requests, port.cancelled, port.dropped), (3, 0, 0), "the box, and one request a side");
    }
}

#[test]
fn a_wait_for_an_interrupt_loses_none_at_any_moment_of_a_signal() {
    let mut early = 0;
    for moment in (58_000..66_000).step_by(37).chain([20_000]) {
        let (began, through, _) = signalled(true, moment, || {
            device().interrupt();
            assert_eq!(device().request(RECEIVE, [0, 0]).wait().value, 77);
        });
        assert!(began >= moment && through > 60_000, "{moment}: {began} {through}");
        early += u32::from(began < through);
    }
    assert!(early > 20, "many moments lie within the wait: {early}");
}

proptest! {
    #![proptest_config(baton_needs::property!(24))]

    /// Five threads share three CPUs, make requests, and get signals at any time; handlers make
    /// requests too. All requests are performed once, and those of a thread's own code in their
    /// order. A second run gives the same.
    #[test]
    fn requests_are_performed_once_whenever_signals_come(
        slice in 500u64..4_000, count in 1u64..20, outstanding in 2u32..9,
        signals in prop::collection::vec((0usize..5, 1u64..30_000), 1..8), seed in 0u64..1000,
    ) {
        let settings: Vec<String> = PRICES.iter().map(|setting| (*setting).to_owned()).chain([
            "device.link=network".to_owned(), "device.flits=2".into(), "network.routing=xy".into(),
            "noise.start=0".into(), "device.kind=mailbox".into(), "device.count=1".into(), "device.latency=1".into(),
            "device.words=8".into(), "device.call=1".into(), "device.interrupt=1".into(), "os.scheduler=fair".into(),
            "device.clock_hz=1_000_000_000".into(), format!("device.outstanding={outstanding}"),
            format!("os.time_slice={slice}"), "device.younger_stores=pass".into(),
        ]).collect();
        let file = include_str!("../../../../chips/ocor64.toml");
        let chip = Chip::from_toml_at(file, "x.toml", Some(3), &settings).expect("a right chip");
        let once = || {
            let performed = Rc::new(RefCell::new(Vec::new()));
            let options = Options { seed, limit: Some(Cycles(50_000_000)), ..Options::default() };
            let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
            simulation.replace_devices(vec![Box::new(Moody::new(seed, performed.clone()))]);
            let word: common::Shared<common::Alone<u32>> = common::cell(&mut simulation, 0);
            let (signals, handled) = (signals.clone(), Rc::new(RefCell::new(1_000_000u64)));
            let of_handler = handled.clone();
            let body = move || {
                let handler = move |_| {
                    let n = { let mut next = of_handler.borrow_mut(); *next += 1; *next };
                    assert_eq!(device().request(SEND, [0, n]).wait().value, n, "its own answer");
                };
                act::on_signal(Signal::USR1, Action::handle(handler)).unwrap();
                let threads = senders(5, count, &word);
                for (thread, after) in signals {
                    Simulated::work(Cycles(after));
                    act::signal(threads[thread], Signal::USR1);
                }
                threads.into_iter().for_each(act::join);
            };
            simulation.spawn(Spawn::default(), body).expect("there is a core");
            let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
            let handled = *handled.borrow() - 1_000_000;
            (performed.take(), handled, outcome)
        };
        let (performed, handled, outcome) = once();
        prop_assert!(outcome.finished);
        stacks_sum(&outcome);
        for thread in 0..5 {
            let mine: Vec<u64> = performed.iter().copied().filter(|n| n / 100 == thread).collect();
            prop_assert_eq!(mine, (0..count).map(|n| thread * 100 + n).collect::<Vec<_>>());
        }
        let of_handlers: Vec<u64> = performed.iter().copied().filter(|n| *n > 1_000_000).collect();
        prop_assert_eq!(of_handlers.len() as u64, handled);
        prop_assert_eq!((performed, handled, outcome), once());
    }
}
