//! Random programs: producers, consumers that hold items, send on, drop and die, and a collector.
//! What a user may rely on is checked from outside: which requests were answered, and when.
//!
//! `cargo test -p baton-chipfile --lib ten_thousand_programs_with_flows -- --ignored` runs 10,000.

use super::*;
use crate::peripheral::settings::Or;
use std::collections::BTreeSet;

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// An item that a consumer has in hand, and what it has sent on for it.
struct Hand {
    given: Given,
    sent: u64,
}

/// A consumer and what it waits for.
struct Consumer {
    cpu: u32,
    thread: u32,
    asked: Option<u32>,
    hands: Vec<Hand>,
    /// Requests that end or send on an item, not answered yet.
    under_way: Vec<u32>,
}

struct Program {
    dice: Dice,
    bench: Bench,
    order: FlowOrder,
    dead: InHand,
    queue: QueueId,
    to: QueueId,
    flows: u64,
    /// Items that were sent: producer in the high half, number in the low one.
    sent: Vec<u64>,
    /// What consumers got, in the order of their turns: the turn, the item, its flow.
    got: Vec<(u64, u64, u16)>,
    /// What was sent on for an item: how often, and whether its thread died meanwhile.
    outputs: BTreeMap<u64, u64>,
    died: BTreeSet<u64>,
    /// Requests with forged tokens.
    forged: Vec<u32>,
    collected: Vec<u64>,
    threads: u32,
}

const COLLECTOR: u32 = 20;
const PRODUCERS: u32 = 10;

impl Program {
    fn new(seed: u64, order: FlowOrder) -> Program {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 3);
        let mut of = |bound| dice.below(bound);
        let settings = QmdSettings {
            latency: Cycles(of(30)),
            engines: 1 + of(2),
            priorities: 1 + of(2) as u32,
            retry: if of(2) == 0 { Retry::Slot } else { Retry::Free },
            pointers: if of(2) == 0 { Pointers::Grant } else { Pointers::Access },
            tokens: Or(16),
            ..settings()
        };
        let dead = if of(2) == 0 { InHand::GiveUp } else { InHand::PutBack };
        let (entries, window, to_entries, flows) = (2 + of(8) as u32, 1 + of(6) as u16, 1 + of(4) as u32, 1 + of(5));
        let mut bench = Bench::new(&settings);
        let queue = make(&mut bench, order, entries, window, dead);
        let to = make(&mut bench, FlowOrder::Directed, to_entries, 1, InHand::GiveUp);
        bind(&mut bench, COLLECTOR, to, 1, 4).expect("the first one");
        let (sent, got, collected, outputs, died) = Default::default();
        Program {
            dice,
            bench,
            order,
            dead,
            queue,
            to,
            flows,
            sent,
            got,
            outputs,
            died,
            forged: Vec::new(),
            collected,
            threads: 500,
        }
    }

    /// The flow of an item: a flow may have several producers.
    fn flow(&self, item: u64) -> u16 {
        ((item ^ item >> 32).wrapping_mul(0x9e37_79b9) >> 8).wrapping_rem(self.flows) as u16
    }

    fn consumer(&mut self, cpu: u32) -> Consumer {
        self.threads += 1;
        let (thread, weight, most) = (self.threads, 1 + self.dice.below(3) as u16, 1 + self.dice.below(3) as u16);
        self.bench.subjects.insert(cpu, Subject { thread, domain: 0 });
        let bound = bind(&mut self.bench, cpu, self.queue, weight, most);
        assert_eq!(bound, Ok(0));
        Consumer { cpu, thread, asked: None, hands: Vec::new(), under_way: Vec::new() }
    }

    fn ask(&mut self, cpu: u32, asked: QueueRequest) -> u32 {
        self.bench.at(self.bench.now, cpu, asked)
    }

    /// A consumer notes what it got, and does one thing.
    fn step(&mut self, consumer: &mut Consumer) {
        if let Some((at, said)) = consumer.asked.and_then(|asked| self.bench.answer(asked)) {
            let given = self.bench.given[&consumer.asked.take().expect("asked")];
            assert_eq!((said, self.flow(given.word)), (Ok(given.word), given.flow));
            self.got.push((at, given.word, given.flow));
            consumer.hands.push(Hand { given, sent: 0 });
        }
        consumer.under_way.retain(|&number| match self.bench.answer(number) {
            Some((_, said)) => {
                assert_eq!(said, Ok(0));
                false
            }
            None => true,
        });
        if consumer.asked.is_none() && self.dice.below(2) == 0 {
            consumer.asked = Some(self.ask(consumer.cpu, receive(self.queue)));
        }
        if consumer.hands.is_empty() || self.dice.below(2) == 0 {
            return;
        }
        let at = self.dice.below(consumer.hands.len() as u64) as usize;
        let Hand { given, sent } = &mut consumer.hands[at];
        let (item, token, flow) = (given.word, given.token, given.flow);
        let what = self.dice.below(8);
        let asked = match what {
            0..=3 if *sent < 4 => send(self.to, item | *sent << 60, flow, Of::Last(token)),
            4 if *sent < 3 => send(self.to, item | *sent << 60, flow, Of::More(token)),
            5 => complete(self.queue, Token(token.0 ^ 1 << 40)),
            _ => complete(self.queue, token),
        };
        if matches!(asked, QueueRequest::Flow(FlowRequest::Send { .. })) {
            *sent += 1;
            self.outputs.insert(item, (*sent).max(self.outputs.get(&item).copied().unwrap_or(0)));
        }
        if what == 5 {
            let number = self.ask(consumer.cpu, asked);
            self.forged.push(number);
            return;
        }
        if what != 4 || !matches!(asked, QueueRequest::Flow(FlowRequest::Send { .. })) {
            consumer.hands.remove(at);
        }
        let number = self.ask(consumer.cpu, asked);
        consumer.under_way.push(number);
    }

    /// A consumer is killed; another thread takes its place. The operating system calls the dead
    /// one's requests back, and notes the answer of one that was served.
    fn die(&mut self, consumer: &mut Consumer) {
        let number = |number: &u32| self.bench.answer(*number).is_none();
        let waiting: Vec<u32> = consumer.asked.iter().chain(&consumer.under_way).copied().filter(number).collect();
        self.bench.step(Step::Drain, [u64::from(consumer.thread), 0, 0]);
        self.bench.run_to(self.bench.now + 3 * LATENCY);
        let dropped = |number: &u32| self.bench.answer(*number).is_some_and(|(_, said)| said.is_err());
        let served: Vec<u32> = waiting.into_iter().filter(|number| !dropped(number)).collect();
        assert!(served.iter().all(|number| self.bench.answer(*number).is_some()));
        if let Some(asked) = consumer.asked
            && let Some(given) = self.bench.given.get(&asked).copied()
        {
            self.got.push((self.bench.answer(asked).expect("given").0, given.word, given.flow));
            self.died.insert(given.word);
        }
        self.died.extend(consumer.hands.iter().map(|hand| hand.given.word));
        // Requests that were dropped may have been the end of an item.
        self.died.extend(self.got.iter().map(|(_, item, _)| *item));
        self.bench.step(Step::Retire, [u64::from(consumer.thread), ANY_QUEUE, 0]);
        let cpu = consumer.cpu;
        *consumer = self.consumer(cpu);
    }

    fn collect(&mut self, asked: &mut Option<u32>) {
        if let Some(given) = asked.and_then(|asked| self.bench.given.get(&asked).copied()) {
            self.collected.push(given.word);
            self.ask(COLLECTOR, complete(self.to, given.token));
            *asked = None;
        }
        if asked.is_none() && self.dice.below(3) != 0 {
            *asked = Some(self.ask(COLLECTOR, receive(self.to)));
        }
    }

    fn run(mut self) -> Program {
        let count = if self.order == FlowOrder::Directed { 1 } else { 1 + self.dice.below(4) as u32 };
        let mut consumers: Vec<Consumer> = (1..=count).map(|cpu| self.consumer(cpu)).collect();
        let producers = 1 + self.dice.below(3) as u32;
        let mut numbers: Vec<(u64, u64, Option<u32>)> =
            (0..producers).map(|producer| (u64::from(producer), 0, None)).collect();
        let (each, deadly, mut collector) = (5 + self.dice.below(20), self.dice.below(3) == 0, None);
        let (mut idle, mut rounds) = (0, 0);
        while idle < 60 {
            rounds += 1;
            assert!(rounds < 20_000, "the program stands still");
            let before = (self.sent.len(), self.got.len(), self.collected.len());
            for (producer, number, asked) in &mut numbers {
                let answered = asked.is_none_or(|asked| self.bench.answer(asked).is_some());
                if answered && *number < each && self.dice.below(2) == 0 {
                    let item = *producer << 32 | *number;
                    let (to, flow) = (self.queue, self.flow(item));
                    *asked = Some(self.ask(PRODUCERS + *producer as u32, send(to, item, flow, Of::None)));
                    self.sent.push(item);
                    *number += 1;
                }
            }
            for consumer in &mut consumers {
                self.step(consumer);
            }
            if deadly && self.dice.below(40) == 0 {
                let which = self.dice.below(consumers.len() as u64) as usize;
                self.die(&mut consumers[which]);
            }
            self.collect(&mut collector);
            self.bench.run_to(self.bench.now + 1 + self.dice.below(40));
            let busy = before != (self.sent.len(), self.got.len(), self.collected.len());
            let done = consumers.iter().all(|consumer| consumer.hands.is_empty() && consumer.under_way.is_empty());
            idle = if busy || !done { 0 } else { idle + 1 };
        }
        self
    }

    fn check(mut self, seed: u64) {
        let (order, dead) = (self.order, self.dead);
        let at = format!("program {seed}, {order:?}, {dead:?}");
        // A request of a thread that died may have been called back.
        let said: Vec<QueueAnswer> =
            self.forged.iter().filter_map(|&asked| Some(self.bench.answer(asked)?.1)).collect();
        assert!(said.iter().all(|said| matches!(said, Err(QueueRefusal::Token | QueueRefusal::Dropped))), "{at}");
        let refused = said.iter().filter(|said| **said == Err(QueueRefusal::Token)).count() as u64;
        assert_eq!(self.count_of("bad_tokens"), refused, "{at}");
        self.got.sort_by_key(|(turn, ..)| *turn);
        // Each item that was sent is got, and only once but for those that were put back.
        let mut got: Vec<u64> = self.got.iter().map(|(_, item, _)| *item).collect();
        let all: BTreeSet<u64> = got.iter().copied().collect();
        assert_eq!(all, self.sent.iter().copied().collect(), "{at}");
        let put_back = self.count_of("put_back");
        assert!(dead == InHand::PutBack || got.len() == self.sent.len(), "{at}");
        assert!(got.len() as u64 <= self.sent.len() as u64 + put_back, "{at}");
        if put_back == 0 {
            // A queue keeps the order of each producer; an atomic one that of each producer's flows.
            let mut last = BTreeMap::new();
            for &(_, item, flow) in &self.got {
                let key = (item >> 32, if order == FlowOrder::Atomic { flow } else { 0 });
                assert!(last.insert(key, item).is_none_or(|before| before < item), "{at}: {:x?}", self.got);
            }
        }
        self.check_collected(&at, &mut got);
    }

    fn count_of(&self, name: &str) -> u64 {
        self.bench.device.counts().iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }

    /// What was sent on came to the collector, once, unless a thread died; from an ordered queue in
    /// the order in which the items were first taken.
    fn check_collected(&self, at: &str, got: &mut Vec<u64>) {
        if self.died.is_empty() {
            let sent: BTreeSet<u64> =
                self.outputs.iter().flat_map(|(item, sent)| (0..*sent).map(move |part| item | part << 60)).collect();
            let collected: BTreeSet<u64> = self.collected.iter().copied().collect();
            assert_eq!((collected.len(), &collected), (self.collected.len(), &sent), "{at}");
        }
        if self.order == FlowOrder::Ordered {
            let mut seen = BTreeSet::new();
            got.retain(|item| seen.insert(*item));
            let place = |output: &u64| {
                let item = output & !(0xf << 60);
                (got.iter().position(|of| *of == item).expect("taken"), output >> 60)
            };
            let places: Vec<(usize, u64)> = self.collected.iter().map(place).collect();
            let fine = places.windows(2).all(|two| two[0] < two[1] || !self.died.is_empty() && two[0].0 <= two[1].0);
            assert!(fine, "{at}: {places:?}");
        }
    }
}

fn run(programs: u64) {
    for seed in 0..programs {
        for order in FlowOrder::ALL {
            Program::new(seed, order).run().check(seed);
        }
    }
}

#[test]
fn random_programs_with_flows() {
    run(60);
}

#[test]
#[ignore = "ten thousand programs take minutes"]
fn ten_thousand_programs_with_flows() {
    run(2_500);
}
