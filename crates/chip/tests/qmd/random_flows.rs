//! Random programs with queues with flows that move between devices meanwhile: producers, workers
//! that hold items, send on, complete and may be killed, a collector, and a thread that moves the
//! queues. What each kind promises is checked from outside; debug builds of the device check its
//! tables in each cycle.
//!
//! `cargo test -p baton-chip --test qmd ten_thousand_programs_with_flows -- --ignored` runs 10,000, and
//! `PROGRAM=496 cargo test -p baton-chip --test qmd one_program_with_flows -- --ignored` runs program
//! 496 again, or, with `PROGRAM=7000..10000`, these.

use super::queues::on;
use super::random::{Dice, Queues, chip};
use super::{count, run};
use baton_chip::{Guest, Simulated, act, moving};
use baton_machine::Devices;
use baton_machine::device::{Device, Ticket};
use baton_machine::flows::{FlowAnswer, FlowDevice, FlowOrder, FlowRequest, Flows, Given, InHand, Of, Token};
use baton_machine::queues::{Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The item that tells a thread that nothing comes behind it.
const LEAVE: u64 = u64::MAX;

fn device() -> impl Flows + Device<QueueDevice> {
    Simulated::first::<QueueDevice>().expect("the chip has a queue device")
}

fn begin(request: FlowRequest) -> impl Ticket<FlowDevice> {
    device().ask(request)
}

fn ask(request: FlowRequest) -> FlowAnswer {
    begin(request).wait()
}

fn complete(queue: QueueId, token: Token) -> FlowAnswer {
    ask(FlowRequest::Complete { queue, token })
}

/// What the threads saw.
#[derive(Default)]
struct Log {
    /// Items that were sent: producer in the high half, number in the low one.
    sent: BTreeSet<u64>,
    /// Items that each worker got, with their flows, in the order of their arrival anywhere.
    got: Vec<(u64, u64, u16)>,
    /// Workers with items of each flow in hand.
    holders: BTreeMap<u16, Vec<u64>>,
    /// What was sent on: the item, with the number of the part above.
    outputs: BTreeSet<u64>,
    collected: Vec<u64>,
    killed: BTreeSet<u64>,
    /// Number of things that threads have done.
    done: u64,
}

#[derive(Clone, Copy)]
struct Drawn {
    order: FlowOrder,
    dead: InHand,
    flows: u64,
    devices: u64,
}

/// What the threads of a program share.
#[derive(Clone)]
struct Program {
    drawn: Drawn,
    /// The queue, and the collector's.
    queues: [QueueId; 2],
    log: Rc<RefCell<Log>>,
    /// Whether the queues move on.
    moves: Rc<Cell<bool>>,
}

impl Program {
    fn flow(&self, item: u64) -> u16 {
        ((item ^ item >> 32).wrapping_mul(0x9e37_79b9) >> 8).wrapping_rem(self.drawn.flows) as u16
    }

    fn log<R>(&self, f: impl FnOnce(&mut Log) -> R) -> R {
        let mut log = self.log.borrow_mut();
        log.done += 1;
        f(&mut log)
    }

    fn send(&self, to: QueueId, item: u64, flow: u16, of: Of) {
        assert_eq!(ask(FlowRequest::Send { to: Operand::of(to), item, flow, of }).map(|given| given.word), Ok(0));
    }

    /// Binds the calling thread. This is refused while the queues move, and without free tokens.
    fn bind(&self, queue: QueueId, weight: u16, most: u16) {
        while let Err(refusal) = device().configure(FlowRequest::Bind { queue, weight, most }) {
            assert!(matches!(refusal, QueueRefusal::Refused | QueueRefusal::NoRoom), "{refusal:?}");
            act::delay(Cycles(2_000));
        }
    }

    fn produce(&self, producer: u64, mut dice: Dice) {
        for number in 0..5 + dice.below(20) {
            let item = producer << 32 | number;
            self.log(|log| log.sent.insert(item));
            self.send(self.queues[0], item, self.flow(item), Of::None);
            act::delay(Cycles(dice.below(600)));
        }
    }

    /// A worker got an item: no other one may have an item of the flow in hand, if the queue is atomic.
    fn note(&self, worker: u64, given: Given) {
        let (item, flow, atomic) = (given.word, given.flow, self.drawn.order == FlowOrder::Atomic);
        assert_eq!(flow, self.flow(item));
        self.log(|log| {
            log.got.push((worker, item, flow));
            let killed = &log.killed;
            let holders = log.holders.entry(flow).or_default();
            holders.retain(|holder| !killed.contains(holder));
            assert!(!atomic || holders.iter().all(|holder| *holder == worker), "{holders:?} and {worker} have {flow}");
            holders.push(worker);
        });
    }

    /// A worker ends an item: it sends parts on for it, or completes it.
    fn end(&self, worker: u64, given: Given, dice: &mut Dice) {
        let Given { word: item, flow, token } = given;
        let [queue, to] = self.queues;
        let parts = dice.below(4);
        let more = parts.saturating_sub(1);
        let part = |part: u64, of| {
            let item = item | part << 60;
            self.log(|log| log.outputs.insert(item));
            begin(FlowRequest::Send { to: Operand::of(to), item, flow, of })
        };
        // Requests with a token stay in order, so that a thread need not wait for each answer.
        let mut under_way: Vec<_> = (0..more).map(|number| part(number, Of::More(token))).collect();
        if dice.below(8) == 0 {
            let forged = complete(queue, Token(token.0 ^ 1 << 40));
            assert_eq!(forged, Err(QueueRefusal::Token));
        }
        let leaves_hand = |log: &mut Log| {
            let holders = log.holders.entry(flow).or_default();
            // One that is about to be killed counts as dead already.
            holders.iter().position(|holder| *holder == worker).map(|at| holders.remove(at));
        };
        self.log(leaves_hand);
        under_way.push(match parts {
            1 | 2 => part(more, Of::Last(token)),
            _ => begin(FlowRequest::Complete { queue, token }),
        });
        under_way
            .into_iter()
            .for_each(|ticket| assert_eq!(ticket.wait().map(|given| given.word), Ok(0), "{token:?} of {parts} parts"));
        self.log(|_| ());
    }

    fn work(&self, worker: u64, mut dice: Dice) {
        let (queue, most, pause) = (self.queues[0], 1 + dice.below(3), 1 + dice.below(1_500));
        self.bind(queue, 1 + dice.below(3) as u16, most as u16);
        let mut hands: Vec<Given> = Vec::new();
        loop {
            if (hands.len() as u64) < most && (hands.is_empty() || dice.below(2) == 0) {
                // A thread with items in hand that waits for more may wait for what it holds up.
                let mode = if hands.is_empty() { Mode::Block } else { Mode::Try };
                match ask(FlowRequest::Receive { from: Operand { mode, ..Operand::of(queue) } }) {
                    Ok(given) if given.word == LEAVE => {
                        assert!(complete(queue, given.token).is_ok());
                        hands.drain(..).for_each(|given| self.end(worker, given, &mut dice));
                        return;
                    }
                    Ok(given) => {
                        self.note(worker, given);
                        hands.push(given);
                    }
                    Err(refusal) => assert_eq!((refusal, mode), (QueueRefusal::Empty, Mode::Try)),
                }
            } else if let Some(given) = Some(dice.below(hands.len() as u64) as usize).map(|at| hands.remove(at)) {
                self.end(worker, given, &mut dice);
            }
            act::delay(Cycles(dice.below(pause)));
        }
    }

    fn collect(&self, mut dice: Dice) {
        let to = self.queues[1];
        self.bind(to, 1, 2);
        loop {
            let given = ask(FlowRequest::Receive { from: Operand::of(to) }).expect("an item");
            assert!(complete(to, given.token).is_ok());
            if given.word == LEAVE {
                return;
            }
            self.log(|log| log.collected.push(given.word));
            act::delay(Cycles(dice.below(300)));
        }
    }

    /// Moves the queues about, by either of them. Between two moves threads have time to bind, which
    /// is refused while queues move.
    fn move_about(&self, mut dice: Dice) {
        let pause = 1 + dice.below(4_000);
        while self.moves.get() {
            let (queue, to) = (self.queues[dice.below(2) as usize], dice.below(self.drawn.devices) as u32);
            match moving::migrate(queue, to) {
                Ok(_) => assert_eq!(self.queues.map(moving::home_of), [Some(to); 2], "they move together"),
                // Each move leaves a slot taken.
                Err(refusal) => assert_eq!(refusal, QueueRefusal::NoRoom),
            }
            act::delay(Cycles(500 + dice.below(pause)));
        }
    }

    /// Waits until no thread has done anything for a while.
    fn settle(&self) {
        loop {
            let before = self.log.borrow().done;
            act::delay(Cycles(100_000));
            if self.log.borrow().done == before {
                return;
            }
        }
    }
}

fn made(entries: u32, order: FlowOrder, window: u16, dead: InHand) -> QueueId {
    let made = device().configure(FlowRequest::Make { entries, order, window, dead });
    QueueId(made.expect("there is room").word as u32)
}

/// The main thread of a program.
fn main_thread(drawn: Drawn, log: Rc<RefCell<Log>>, mut dice: Dice) {
    let queue = made(2 + dice.below(8) as u32, drawn.order, 1 + dice.below(6) as u16, drawn.dead);
    let to = made(1 + dice.below(4) as u32, FlowOrder::Directed, 1, InHand::GiveUp);
    let program = Program { drawn, queues: [queue, to], log, moves: Rc::new(Cell::new(true)) };
    let mut core = 0;
    let mut spawn = |dice: &mut Dice, body: Box<dyn FnOnce(Program, Dice)>| -> Guest {
        core += 1;
        let (program, own) = (program.clone(), Dice(dice.below(1 << 30)));
        act::spawn(on(core), move || body(program, own))
    };
    let mover = spawn(&mut dice, Box::new(|program, dice| program.move_about(dice)));
    let collector = spawn(&mut dice, Box::new(|program, dice| program.collect(dice)));
    let count = if drawn.order == FlowOrder::Directed { 1 } else { 1 + dice.below(4) };
    let workers: Vec<Guest> =
        (0..count).map(|worker| spawn(&mut dice, Box::new(move |program, dice| program.work(worker, dice)))).collect();
    let producers: Vec<Guest> = (0..1 + dice.below(3))
        .map(|producer| spawn(&mut dice, Box::new(move |program, dice| program.produce(producer, dice))))
        .collect();
    if dice.below(3) == 0 {
        // The first worker lives.
        for (worker, guest) in (0..).zip(&workers).skip(1) {
            act::delay(Cycles(dice.below(20_000)));
            program.log(|log| log.killed.insert(worker));
            act::kill(*guest);
        }
    }
    producers.into_iter().for_each(act::join);
    program.settle();
    // One for each worker that lives: others would stay, and fill a small queue.
    let lives = |worker: &u64| !program.log.borrow().killed.contains(worker);
    (0..count).filter(lives).for_each(|worker| program.send(queue, LEAVE, worker as u16, Of::None));
    workers.into_iter().for_each(act::join);
    program.send(to, LEAVE, 0, Of::None);
    act::join(collector);
    program.moves.set(false);
    act::join(mover);
    assert!(device().call(QueueRequest::Release(queue)).is_ok());
    assert_eq!(device().call(QueueRequest::Release(to)), Ok(0), "what was sent on is collected");
}

/// Runs a program. Returns how many requests were sent on.
fn program(seed: u64, order: FlowOrder) -> u64 {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 11);
    let chip = chip(&mut dice, Queues::Move);
    let dead = if dice.below(2) == 0 { InHand::GiveUp } else { InHand::PutBack };
    let devices = chip.devices.as_ref().map_or(1, |devices| devices.count.into());
    let drawn = Drawn { order, dead, flows: 1 + dice.below(5), devices };
    let log = Rc::new(RefCell::new(Log::default()));
    let (own, first) = (log.clone(), Dice(dice.below(1 << 30)));
    let threads: Vec<(u32, super::Body)> = vec![(0, Box::new(move || main_thread(drawn, own, first)))];
    let outcome = run(&chip, seed, threads).unwrap_or_else(|error| {
        let Log { sent, got, outputs, collected, killed, .. } = &*log.borrow();
        let counts = [sent.len(), got.len(), outputs.len(), collected.len(), killed.len()];
        panic!("program {seed}, {order:?}, {dead:?}: {error}; sent, got, sent on, collected, killed: {counts:?}")
    });
    check(&format!("program {seed}, {order:?}, {dead:?}"), drawn, &log.borrow(), count(&outcome, "put_back"));
    count(&outcome, "sent_on")
}

fn check(at: &str, Drawn { order, dead, .. }: Drawn, log: &Log, put_back: u64) {
    let got: Vec<u64> = log.got.iter().map(|(_, item, _)| *item).collect();
    let all: BTreeSet<u64> = got.iter().copied().collect();
    assert!(all.is_subset(&log.sent), "{at}");
    let missing = log.sent.difference(&all).count();
    let alive = log.killed.is_empty();
    // A killed worker may have been given an item that it never saw.
    assert!(missing <= if dead == InHand::PutBack { 0 } else { log.killed.len() }, "{at}: {missing} items are missing");
    assert!(got.len() as u64 <= all.len() as u64 + put_back, "{at}");
    if put_back == 0 {
        // Each worker gets a producer's items in their order. Each flow of an atomic queue is in order.
        let mut last = BTreeMap::new();
        for &(worker, item, flow) in &log.got {
            let key = if order == FlowOrder::Atomic { (item >> 32, flow.into()) } else { (item >> 32, worker) };
            assert!(last.insert(key, item).is_none_or(|before| before < item), "{at}: {:x?}", log.got);
        }
    }
    let collected: BTreeSet<u64> = log.collected.iter().copied().collect();
    assert!(collected.is_subset(&log.outputs), "{at}");
    if alive {
        assert_eq!((collected.len(), &collected), (log.collected.len(), &log.outputs), "{at}");
    }
    if order == FlowOrder::Ordered && alive {
        let mut last = BTreeMap::new();
        for output in &log.collected {
            let (item, part) = (output & !(0xf << 60), output >> 60);
            let before = last.insert(item >> 32, (item, part));
            assert!(before.is_none_or(|before| before < (item, part)), "{at}: {:x?}", log.collected);
        }
    }
}

fn programs(seeds: std::ops::Range<u64>) -> u64 {
    seeds.map(|seed| program(seed, FlowOrder::ALL[seed as usize % 4])).sum()
}

#[test]
fn programs_with_flows_that_move() {
    let sent_on = programs(0..24);
    assert!(sent_on > 200, "{sent_on} requests were sent on: the queues moved where none was under way");
}

#[test]
#[ignore = "ten thousand programs take minutes"]
fn ten_thousand_programs_with_flows_that_move() {
    programs(0..10_000);
}

#[test]
#[ignore = "runs the programs that the variable PROGRAM names"]
fn one_program_with_flows() {
    let named = std::env::var("PROGRAM").expect("PROGRAM is a number, or two with .. between");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    programs(match named.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&named)..number(&named) + 1,
    });
}
