//! Whatever a device does with its requests, and over whatever link they come: each request is
//! answered once, a thread's requests are taken in their order, and the same seed gives the same
//! run.

use baton_chip::device::{Device, Hold, Port, Request, Taken};
use baton_chip::{Answer, Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::{Machine, units::Cycles};
use baton_units::CoreId;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The requests that a device took: for each CPU, their second words, in the order in which the
/// device took them.
type Log = Rc<RefCell<BTreeMap<u32, Vec<u64>>>>;

/// A device that by chance takes a request or leaves it in the port, and answers a taken one at
/// once or keeps it. Kept requests are answered at a tick, the newest first.
struct Moody {
    draws: u64,
    kept: Vec<Request>,
    log: Log,
}

impl Moody {
    fn draw(&mut self, below: u64) -> u64 {
        self.draws = self.draws.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.draws >> 33) % below
    }
}

impl Device for Moody {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        if self.draw(4) == 0 {
            // The request may be offered again before that tick, if something else happens to the
            // device.
            let later = port.now() + 1 + self.draw(60);
            port.tick_at(later);
            return Taken::Later;
        }
        self.log.borrow_mut().entry(request.cpu).or_default().push(request.words[1]);
        let at = port.now() + self.draw(90);
        if self.draw(3) == 0 {
            port.hold(&request, if request.op == 0 { Hold::Full } else { Hold::Empty });
            self.kept.push(request);
            port.tick_at(at);
        } else {
            port.answer(&request, at, Answer::done(request.words[1]));
        }
        Taken::Yes
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        let at = port.now() + self.draw(9);
        for request in self.kept.drain(..).rev() {
            port.answer(&request, at, Answer::done(request.words[1]));
        }
    }
}

/// Each core sends numbered requests with pauses, and waits for some of the answers.
fn run(chip: &Chip, seed: u64, count: u64, asks: u64) -> (BTreeMap<u32, Vec<u64>>, Outcome) {
    let log = Log::default();
    let mut simulation = Simulation::new(chip, &Options { seed, ..Options::default() }).expect("the host has memory");
    simulation.replace_devices(vec![Box::new(Moody { draws: seed, kept: Vec::new(), log: log.clone() })]);
    for core in 0..chip.core.count {
        let thread = move || {
            let device = Simulated::device(0).expect("a device");
            let mut kept = Vec::new();
            for n in 0..count {
                let ticket = device.request((n % 2) as u32, [0, n]);
                match (n + u64::from(core)) % asks {
                    0 => assert_eq!(ticket.wait().value, n),
                    1 => kept.push((n, ticket)),
                    _ => drop(ticket),
                }
                Simulated::work(Cycles((n * 31 + u64::from(core) * 7) % 50));
            }
            for (n, ticket) in kept {
                assert_eq!(ticket.wait().value, n, "its own answer");
            }
        };
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, thread).expect("there is a core");
    }
    let outcome = simulation.run().expect("nobody waits for ever");
    let log = log.take();
    (log, outcome)
}

proptest! {
    #![proptest_config(baton_needs::property!(24))]

    #[test]
    fn every_request_is_answered_once(
        which in 0usize..5, places in 0u32..4, flits in 1u32..5, clock in 1u64..9, node in 0u32..4,
        count in 1u64..25, asks in 2u64..6, outstanding in 1u32..9, seed in 0u64..1000,
    ) {
        let mut settings = vec![
            "noise.start=0".to_owned(), "device.kind=mailbox".into(), "device.count=1".into(), "device.latency=1".into(),
            "device.words=8".into(), "device.call=1".into(), "device.interrupt=1".into(),
            format!("device.clock_hz={}", 2_000_000_000 / clock), format!("device.outstanding={outstanding}"),
        ];
        let link: &[&str] = match which {
            0 => &["device.link=network", "network.routing=xy"],
            1 => &["device.link=network", "network.routing=o1turn", "network.vcs=2"],
            2 => &["device.link=network", "network.routing=minimal-adaptive", "network.vcs=2", "network.buffer=1"],
            3 => &["device.link=network", "home.places=1", "network.vcs=1"],
            _ => &["device.link=dedicated", "device.way=13"],
        };
        settings.extend(link.iter().map(|setting| (*setting).to_owned()));
        if which != 4 {
            settings.extend([format!("device.flits={flits}"), format!("device.placement={node}")]);
        }
        if places != 0 {
            settings.push(format!("device.places={places}"));
        }
        let file = include_str!("../../../../chips/ocor64.toml");
        let chip = Chip::from_toml_at(file, "x.toml", Some(4), &settings).expect("a right chip");
        let (came, outcome) = run(&chip, seed, count, asks);
        let all: BTreeMap<u32, Vec<u64>> = (0..4).map(|core| (core, (0..count).collect())).collect();
        prop_assert_eq!(&came, &all);
        prop_assert_eq!(outcome.devices[0].port.requests, 4 * count);
        for thread in &outcome.threads {
            let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
            prop_assert_eq!(sum, outcome.cycles.0);
        }
        prop_assert_eq!((came, outcome), run(&chip, seed, count, asks));
    }
}
