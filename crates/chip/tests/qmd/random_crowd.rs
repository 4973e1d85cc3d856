//! Random programs of two processes with fewer cores than threads, short time slices, changes of
//! affinity, kills, priorities, credits, posted requests, and a queue that one process grants to the
//! other and may take back. Nothing that was acknowledged is lost but what a killed thread had been
//! given; nothing is doubled, reordered within a producer and a queue, or delivered elsewhere; all
//! that are not killed come to their end.
//!
//! `cargo test -p baton-chip --test qmd ten_thousand_crowds -- --ignored` runs 10,000, and
//! `CROWD=496 cargo test -p baton-chip --test qmd one_crowd -- --ignored` runs program 496 again.

use super::random::Dice;
use super::{count, device, posted};
use baton_chip::{App, Application, Chip, Guest, Options, Outcome, Runs, Simulated, Simulation, Spawn, act, moving};
use baton_machine::Wait;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use baton_sync::queue::RawQueue;
use baton_sync::queue::qmd::Qmd;
use baton_units::CoreId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

type Library = Rc<Qmd<Simulated, u64>>;

/// The item that tells a consumer that nothing comes behind it.
const LAST: u64 = u64::MAX;

/// What is drawn of a chip that its programs must know.
#[derive(Clone, Copy)]
struct Drawn {
    /// Number of cores in use.
    cores: u64,
    /// Whether the device has a timer, which also drops requests that are not `Mode::Timed`.
    timer: bool,
    /// Whether programs have ids of their own: then processes grant queues, and post no requests.
    qimu: bool,
}

/// Draws a chip: its device and its time slices.
fn chip(dice: &mut Dice) -> (Chip, Drawn) {
    let on_mesh = dice.below(10) == 0;
    let text = match on_mesh {
        true => include_str!("../../../../chips/caf64.toml"),
        false => include_str!("../../../../chips/caf16.toml"),
    };
    let slice = 2_000 + dice.below(60_000);
    let mut settings: Vec<String> = [
        format!("os.time_slice={slice}"),
        format!("os.wakeup_granularity={}", slice / 4),
        format!("device.qmd.engines={}", 1 + dice.below(2)),
        format!("device.qmd.priorities={}", 1 + dice.below(3)),
        format!("device.qmd.schedule={}", dice.of(&["round-robin", "weighted"])),
        format!("device.qmd.retry={}", dice.of(&["slot", "free"])),
        format!("device.qmd.pointers={}", dice.of(&["grant", "access"])),
        format!("device.qmd.latency={}", dice.below(60)),
        format!("device.qmd.local_credits={}", 1 + dice.below(8)),
        format!("device.qmd.patience={}", dice.below(4_000)),
        format!("device.qmd.armed={}", dice.below(6)),
        format!("device.outstanding={}", 1 + dice.below(16)),
        format!("device.younger_stores={}", dice.of(&["wait", "pass"])),
    ]
    .into();
    let timer = dice.below(3) == 0;
    if timer {
        settings.push(format!("device.qmd.timeout={}", 500 + dice.below(10_000)));
    }
    let qimu = dice.below(3) == 0;
    if qimu {
        settings.extend(["device.qimu=16".to_owned(), format!("device.qtlb={}", 1 + dice.below(4))]);
    }
    let chip =
        Chip::from_toml_with(text, "caf.toml", &settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    (chip, Drawn { cores: 1 + dice.below(3), timer, qimu })
}

/// How threads use a queue.
#[derive(Clone)]
enum Kind {
    /// By requests.
    Plain(QueueId),
    /// By requests that need credits.
    Credited(QueueId),
    /// By posted requests, whose answers come to memory.
    Posted(QueueId),
    /// By the queue of `baton-sync`.
    Library(Library),
}

/// What is known of a process's items from outside of the simulation.
#[derive(Default)]
struct Log {
    /// Items that a producer was about to send, and items whose enqueue was answered.
    issued: BTreeSet<u64>,
    answered: BTreeSet<u64>,
    /// What each consumer got, in its order.
    got: BTreeMap<u64, Vec<u64>>,
}

/// A queue that the first process grants to the second one.
#[derive(Default)]
struct Granted {
    /// The second process.
    to: Cell<Option<App>>,
    /// The queue, as the second process knows it.
    queue: Cell<Option<QueueId>>,
    /// Whether the second process sends no more.
    over: Cell<bool>,
    /// The log of the first process, which sends the items.
    log: RefCell<Rc<RefCell<Log>>>,
}

/// One process: what its threads know.
#[derive(Clone)]
struct Process {
    number: u64,
    drawn: Drawn,
    queues: Rc<Vec<Kind>>,
    log: Rc<RefCell<Log>>,
    granted: Rc<Granted>,
}

fn ask(asked: QueueRequest) -> Result<u64, QueueRefusal> {
    device().request(asked).wait()
}

/// Asks until the device serves the request. It asks again after `pause` cycles if the request was
/// dropped, lacked a credit, or found its queue full or empty; any other refusal is a failure.
fn ask_on(asked: impl Fn() -> QueueRequest, pause: u64) -> u64 {
    loop {
        match ask(asked()) {
            Ok(word) => return word,
            Err(QueueRefusal::NoQueue | QueueRefusal::Refused | QueueRefusal::NoRoom) => {
                panic!("{:?} refused", asked())
            }
            Err(_) => act::delay(Cycles(pause)),
        }
    }
}

fn some_cores(dice: &mut Dice, cores: u64) -> Vec<CoreId> {
    let first = dice.below(cores);
    (0..1 + dice.below(cores)).map(|more| CoreId(((first + more) % cores) as u32)).collect()
}

impl Process {
    fn item(&self, producer: u64, queue: usize, number: u64) -> u64 {
        self.number << 56 | producer << 48 | (queue as u64) << 32 | number
    }

    /// Sends `items` to a queue, and notes those that are answered.
    fn send(&self, queue: usize, items: &[u64], dice: &mut Dice) {
        self.log.borrow_mut().issued.extend(items);
        match &self.queues[queue] {
            Kind::Plain(id) => self.send_plain(*id, items, dice),
            Kind::Posted(id) => self.send_posted(*id, items, dice),
            Kind::Credited(id) => {
                for &item in items {
                    self.with_credit(*id, item, dice);
                    self.log.borrow_mut().answered.insert(item);
                }
            }
            Kind::Library(library) => {
                let wait = if dice.below(2) == 0 { Wait::Futex } else { Wait::Pause };
                // SAFETY: any number of threads may enqueue.
                unsafe { library.enqueue_all(items, wait) };
                self.log.borrow_mut().answered.extend(items);
            }
        }
    }

    /// Sends items by requests, several at a time, or one by one where a timer drops requests.
    fn send_plain(&self, id: QueueId, items: &[u64], dice: &mut Dice) {
        if self.drawn.timer {
            for &item in items {
                let to = Operand { priority: dice.below(3) as u8, ..Operand::of(id) };
                ask_on(|| QueueRequest::Enqueue { to, item }, 100);
                self.log.borrow_mut().answered.insert(item);
            }
            return;
        }
        let mut under_way = VecDeque::new();
        for &item in items {
            let to = Operand { priority: dice.below(3) as u8, ..Operand::of(id) };
            under_way.push_back((item, device().request(QueueRequest::Enqueue { to, item })));
        }
        for (item, ticket) in under_way {
            assert_eq!(ticket.wait(), Ok(0));
            self.log.borrow_mut().answered.insert(item);
        }
    }

    /// Posts items, four at a time, or one by one where a timer drops requests. The thread may sleep
    /// before it looks for the answers.
    fn send_posted(&self, id: QueueId, items: &[u64], dice: &mut Dice) {
        for some in items.chunks(if self.drawn.timer { 1 } else { 4 }) {
            loop {
                let (cells, all) =
                    (posted::cells(some.len()), some.iter().map(|&item| posted::put(id, item)).collect::<Vec<_>>());
                assert!(posted::post(&all, &cells));
                if dice.below(2) == 0 {
                    act::delay(Cycles(dice.below(3_000)));
                }
                let dropped = cells.iter().any(|cell| match posted::answer(cell) {
                    Err(QueueRefusal::Dropped) if self.drawn.timer => true,
                    answer => {
                        assert_eq!(answer, Ok(0));
                        false
                    }
                });
                if !dropped {
                    break;
                }
            }
            self.log.borrow_mut().answered.extend(some);
        }
    }

    /// Takes an item by a posted request.
    fn take_posted(&self, id: QueueId) -> u64 {
        loop {
            let cell = posted::cells(1);
            assert!(posted::post(&[posted::take(id)], &cell));
            match posted::answer(&cell[0]) {
                Err(QueueRefusal::Dropped) if self.drawn.timer => {}
                item => return item.expect("it waits"),
            }
        }
    }

    /// Sends an item, and asks for credits whenever the thread has none. It tries until the item is
    /// enqueued: the timer may take a credit back, or drop the request.
    fn with_credit(&self, id: QueueId, item: u64, dice: &mut Dice) {
        let take = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(id) };
        loop {
            let to = Operand { priority: dice.below(3) as u8, ..Operand::of(id) };
            match ask(QueueRequest::Enqueue { to, item }) {
                Ok(_) => return,
                Err(QueueRefusal::NoCredit) => {
                    while ask_on(|| QueueRequest::Dequeue { from: take }, 100) == 0 {
                        act::delay(Cycles(300));
                    }
                }
                Err(QueueRefusal::Dropped) => {}
                Err(refusal) => panic!("{refusal:?}"),
            }
        }
    }

    fn join(&self, weight: u32) {
        for kind in self.queues.iter() {
            if let Kind::Credited(queue) = kind {
                let asked = QueueRequest::Join { queue: *queue, direction: Direction::Enqueue, weight };
                // The queue has as many members as entries. It has room when a member has ended.
                while let Err(refusal) = device().call(asked) {
                    assert_eq!(refusal, QueueRefusal::NoRoom);
                    act::delay(Cycles(5_000));
                }
            }
        }
    }

    fn produce(&self, producer: u64, mut dice: Dice) {
        self.join(1 + dice.below(3) as u32);
        let (mut numbers, think) = ([0; 4], dice.below(2_000));
        for _ in 0..1 + dice.below(5) {
            let queue = dice.below(self.queues.len() as u64) as usize;
            let first = numbers[queue];
            numbers[queue] += 1 + dice.below(6);
            let items: Vec<u64> = (first..numbers[queue]).map(|number| self.item(producer, queue, number)).collect();
            self.send(queue, &items, &mut dice);
            act::delay(Cycles(dice.below(1 + think)));
        }
    }

    fn consume(&self, consumer: u64, queue: usize, mut dice: Dice) {
        let (pause, tries) = (300 + dice.below(1_000), dice.below(2) == 0);
        let take = |dice: &mut Dice| match &self.queues[queue] {
            // SAFETY: any number of threads may dequeue.
            Kind::Library(library) => unsafe { library.dequeue(if tries { Wait::Futex } else { Wait::Pause }) },
            // The other consumer may be killed, and an item that was posted to it would be lost.
            Kind::Posted(id) if consumer.is_multiple_of(2) => self.take_posted(*id),
            Kind::Plain(id) | Kind::Credited(id) | Kind::Posted(id) => {
                let (mode, priority) = (if tries { Mode::Try } else { Mode::Block }, dice.below(3) as u8);
                let from = Operand { mode, priority, ..Operand::of(*id) };
                ask_on(|| QueueRequest::Dequeue { from }, pause)
            }
        };
        loop {
            let item = take(&mut dice);
            if item == LAST {
                return;
            }
            self.log.borrow_mut().got.entry(consumer).or_default().push(item);
            act::delay(Cycles(dice.below(pause)));
        }
    }

    /// Starts a thread that may run on some of the cores.
    fn spawn(&self, dice: &mut Dice, body: impl FnOnce(Process, Dice) + 'static) -> Guest {
        let (process, own) = (self.clone(), Dice(dice.below(1 << 30)));
        let spawn = Spawn { affinity: some_cores(dice, self.drawn.cores), ..Spawn::default() };
        act::spawn(spawn, move || body(process, own))
    }

    /// Moves threads from core to core, and kills those that may be killed, now and then.
    fn disturb(&self, dice: &mut Dice, threads: &[Guest], mortal: &[Guest]) {
        for _ in 0..dice.below(12) {
            act::delay(Cycles(dice.below(15_000)));
            let moved = threads[dice.below(threads.len() as u64) as usize];
            // If the thread has ended, the call has no effect.
            let _ = act::set_affinity(moved, &some_cores(dice, self.drawn.cores), &[]);
            if !mortal.is_empty() && dice.below(3) == 0 {
                act::kill(mortal[dice.below(mortal.len() as u64) as usize]);
            }
        }
    }

    /// Grants the first queue of plain requests to the other process, for enqueues.
    fn grant(&self) {
        let plain = self.queues.iter().find_map(|kind| if let Kind::Plain(id) = kind { Some(*id) } else { None });
        match (plain, self.granted.to.get()) {
            (Some(queue), Some(to)) if self.drawn.qimu => {
                let granted = moving::grant(queue, to, [true, false]).expect("there is room");
                self.granted.queue.set(Some(granted));
                *self.granted.log.borrow_mut() = self.log.clone();
            }
            _ => self.granted.over.set(true),
        }
    }

    /// Ends the grant: takes the right back, perhaps while the other process still sends, and waits
    /// until it does so no more.
    fn end_grant(&self, dice: &mut Dice) {
        if self.granted.over.get() {
            return;
        }
        let plain = self.queues.iter().find_map(|kind| if let Kind::Plain(id) = kind { Some(*id) } else { None });
        if let (Some(queue), Some(to), true) = (plain, self.granted.to.get(), dice.below(2) == 0) {
            moving::revoke(queue, to).expect("it was granted");
        }
        while !self.granted.over.get() {
            act::delay(Cycles(2_000));
        }
    }

    /// Sends items to the queue that the other process grants, until the right is taken back.
    fn send_granted(&self, mut dice: Dice) {
        const GUEST: u64 = 0x40;
        while self.granted.queue.get().is_none() && !self.granted.over.get() {
            act::delay(Cycles(1_000));
        }
        let (Some(id), log) = (self.granted.queue.get(), self.granted.log.borrow().clone()) else { return };
        for number in 0..5 + dice.below(20) {
            let item = GUEST << 48 | number;
            log.borrow_mut().issued.insert(item);
            let answer = loop {
                match ask(QueueRequest::Enqueue { to: Operand::of(id), item }) {
                    Err(QueueRefusal::Dropped) => {}
                    answer => break answer,
                }
            };
            match answer {
                Ok(_) => _ = log.borrow_mut().answered.insert(item),
                Err(refusal) => {
                    assert_eq!(refusal, QueueRefusal::NoQueue);
                    break;
                }
            }
            act::delay(Cycles(dice.below(3_000)));
        }
        self.granted.over.set(true);
    }

    /// The main thread of the process: it starts two consumers of each queue, of which one may be
    /// killed, and producers, disturbs them, and sends two `LAST`s to each queue when the producers
    /// have ended.
    fn run(&self, mut dice: Dice) {
        let (mut consumers, mut producers, mut mortal) = (Vec::new(), Vec::new(), Vec::new());
        match self.number {
            0 => self.grant(),
            _ => producers.push(self.spawn(&mut dice, |process, dice| process.send_granted(dice))),
        }
        for queue in 0..self.queues.len() {
            for second in 0..2 {
                let consumer = 2 * queue as u64 + second;
                let guest = self.spawn(&mut dice, move |process, dice| process.consume(consumer, queue, dice));
                consumers.push(guest);
                mortal.extend((second == 1 && dice.below(2) == 0).then_some(guest));
            }
        }
        for producer in 0..2 + dice.below(3) {
            let guest = self.spawn(&mut dice, move |process, dice| process.produce(producer, dice));
            producers.push(guest);
            mortal.extend((dice.below(4) == 0).then_some(guest));
        }
        let all: Vec<Guest> = consumers.iter().chain(&producers).copied().collect();
        self.disturb(&mut dice, &all, &mortal);
        producers.into_iter().for_each(act::join);
        if self.number == 0 {
            self.end_grant(&mut dice);
        }
        self.join(1);
        for kind in self.queues.iter() {
            for _ in 0..2 {
                match kind {
                    Kind::Plain(id) | Kind::Posted(id) => {
                        _ = ask_on(|| QueueRequest::Enqueue { to: Operand::of(*id), item: LAST }, 100)
                    }
                    Kind::Credited(id) => self.with_credit(*id, LAST, &mut dice),
                    // SAFETY: any number of threads may enqueue.
                    Kind::Library(library) => unsafe { library.enqueue(LAST, Wait::Futex) },
                }
            }
        }
        consumers.into_iter().for_each(act::join);
        self.give_back();
    }

    /// Takes what is left in the queues: at most the `LAST` of a consumer that was killed.
    fn give_back(&self) {
        for kind in self.queues.iter() {
            match kind {
                Kind::Plain(id) | Kind::Credited(id) | Kind::Posted(id) => {
                    assert!(device().call(QueueRequest::Release(*id)).expect("its own") <= 1, "an item is left");
                }
                Kind::Library(library) => {
                    // SAFETY: no other thread is left.
                    let left = std::iter::from_fn(|| unsafe { library.try_dequeue(Wait::Pause) });
                    left.for_each(|item| assert_eq!(item, LAST));
                }
            }
        }
    }
}

/// Makes a process's queues; its main thread calls this.
fn queues(dice: &mut Dice, drawn: Drawn) -> Vec<Kind> {
    let one = |dice: &mut Dice| {
        let (kind, entries) = (dice.below(if drawn.qimu { 3 } else { 4 }), 2 + dice.below(6) as u32);
        if kind == 2 {
            return Kind::Library(Rc::new(Qmd::with_capacity(1 << (1 + dice.below(3))).expect("there is room")));
        }
        let asked = QueueRequest::Allocate { entries, queues: 1, enqueue_credits: kind == 1, dequeue_credits: false };
        let id = QueueId(device().call(asked).expect("there is room") as u32);
        match kind {
            0 => Kind::Plain(id),
            1 => Kind::Credited(id),
            _ => Kind::Posted(id),
        }
    };
    (0..1 + dice.below(3)).map(|_| one(dice)).collect()
}

type Shared = (Rc<RefCell<Log>>, Rc<Granted>);

fn body(number: u64, drawn: Drawn, seed: u64, (log, granted): Shared) -> impl Fn() + 'static {
    move || {
        let mut dice = Dice(seed);
        let queues = Rc::new(queues(&mut dice, drawn));
        let process = Process { number, drawn, queues, log: log.clone(), granted: granted.clone() };
        process.run(dice);
        // `process` is leaked: like those of a killed thread, its queues are never released.
        std::mem::forget(process);
    }
}

fn program(seed: u64) -> u64 {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 7);
    let (chip, drawn) = chip(&mut dice);
    let options = Options { seed, limit: Some(Cycles(100_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
    let logs = [Rc::new(RefCell::new(Log::default())), Rc::new(RefCell::new(Log::default()))];
    let main = || Spawn { affinity: vec![CoreId(0)], ..Spawn::default() };
    let other = Application { name: "other".to_owned(), runs: Runs::Times(1), start: Cycles(0), main: main() };
    let (first, second, granted) = (dice.below(1 << 30), dice.below(1 << 30), Rc::new(Granted::default()));
    let shared = |process: usize| (logs[process].clone(), granted.clone());
    let second = simulation.application(other, body(1, drawn, second, shared(1))).expect("there is a core");
    granted.to.set(Some(second));
    simulation.spawn(main(), body(0, drawn, first, shared(0))).expect("there is a core");
    let outcome = simulation.run().unwrap_or_else(|error| panic!("program {seed}: {error}"));
    assert!(outcome.finished, "program {seed} goes on for ever");
    for (process, log) in (0..).zip(&logs) {
        check(seed, process, &log.borrow(), &outcome);
    }
    let counts = ["enqueued", "dequeued", "released"].map(|name| count(&outcome, name));
    assert_eq!(counts[0], counts[1] + counts[2], "program {seed}");
    count(&outcome, "fired") + count(&outcome, "reclaimed")
}

fn check(seed: u64, process: u64, log: &Log, outcome: &Outcome) {
    let mut seen = BTreeSet::new();
    for got in log.got.values() {
        let mut last = BTreeMap::new();
        for &item in got {
            assert_eq!(item >> 56, process, "program {seed}: {item:#x} is another process's");
            assert!(log.issued.contains(&item), "program {seed}: nobody sent {item:#x}");
            assert!(seen.insert(item), "program {seed}: {item:#x} came twice");
            let before = last.insert(item >> 32, item);
            assert!(before.is_none_or(|before| before < item), "program {seed}: {item:#x} behind {before:#x?}");
        }
    }
    let lost: Vec<&u64> = log.answered.difference(&seen).collect();
    let dropped: u64 = outcome.devices.iter().map(|device| device.port.dropped).sum();
    assert!(lost.len() as u64 <= dropped, "program {seed}: {lost:#x?} lost, {dropped} given to killed threads");
}

#[test]
fn a_hundred_crowds_lose_double_and_reorder_nothing() {
    let worked: u64 = (0..100).map(program).sum();
    assert!(worked > 1_000, "{worked} interrupts of armed threads and credits taken back: the programs show nothing");
}

#[test]
#[ignore = "ten thousand programs take minutes"]
fn ten_thousand_crowds_lose_double_and_reorder_nothing() {
    let worked: u64 = (0..10_000).map(program).sum();
    assert!(worked > 100_000, "{worked}");
}

#[test]
#[ignore = "runs the program that the variable CROWD names"]
fn one_crowd() {
    let seed = std::env::var("CROWD").ok().and_then(|seed| seed.parse().ok()).expect("CROWD is a number");
    program(seed);
}
