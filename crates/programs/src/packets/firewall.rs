//! A firewall (CAF's paper, section 4.2 and figure 9b): a source sends packets to filters, which
//! send packets that a rule allows to a sink, and the other packets to an analyser, which drops
//! them. Sink and analyser give the buffers back.

use super::buffers::{BLOCK_CYCLES, View, seen};
use super::flow::Flow;
use super::header::fields;
use super::link::{Link, Receiver, Sender, Shape};
use super::pool::{FILLER, INSPECT, LAST, MARKS, Pool};
use super::rules::{Action, Rules};
use super::traffic::Traffic;
use baton_machine::units::Cycles;
use baton_machine::{Machine, PushTo, Wait};
use baton_sync::queue::RawQueue;
use baton_workloads::work::Work;
use baton_workloads::{Body, Refused, expect};
use std::sync::{Arc, Mutex, PoisonError};

pub use super::tally::Outcome;

/// The settings of the firewall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirewallSettings {
    /// How packets move.
    pub flow: Flow,
    /// Number of threads that filter; four in CAF's paper.
    pub filters: u32,
}

impl Default for FirewallSettings {
    fn default() -> Self {
        FirewallSettings { flow: Flow::default(), filters: 4 }
    }
}

/// The packets and rules of a firewall.
#[derive(Clone, Debug)]
pub struct Input {
    /// The packets.
    pub traffic: Traffic,
    /// The rules.
    pub rules: Arc<Rules>,
}

/// Number of blocks that hold a packet's header: the first three (CAF's paper, section 4.2).
pub(super) const HEADER: u32 = 3;
/// Cycles that a filter takes to find a header's fields, and to compare them with a rule.
const PARSE_CYCLES: u64 = 20;
const RULE_CYCLES: u64 = 4;

/// Decides about the packet that the thread sees, and counts the rule. Takes the time of a filter.
pub(super) fn decide<M: Machine>(input: &Input, view: &View, outcome: &mut Outcome) -> Action {
    let (action, rule) = input.rules.decide(&fields(input.traffic.link(), &view.bytes));
    let tried = (rule + 1).min(input.rules.count()) as u64;
    M::work(Cycles(PARSE_CYCLES + RULE_CYCLES * tried));
    outcome.hits[rule] += 1;
    action
}

/// A way out of a filter.
struct Way<M: Machine, Q: RawQueue<M, Item = u64>> {
    to: Sender<M, Q>,
    push: Option<PushTo>,
    packets: Vec<u64>,
    sent: u64,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Way<M, Q> {
    /// Passes on the packets of a bulk that go this way.
    fn flush(&mut self, pool: &Pool<M, Q>) {
        pool.pass(&mut self.to, &self.packets, self.push);
        self.sent += self.packets.len() as u64;
        self.packets.clear();
    }

    /// Says that no more packets come, in as many words as make up a whole bulk: a thread that
    /// waits for a bulk gets one.
    fn end(mut self, bulk: usize) {
        let missing = bulk - (self.sent % bulk as u64) as usize;
        let mut words = vec![FILLER; missing];
        words[missing - 1] |= LAST;
        self.to.send(&words);
    }
}

impl FirewallSettings {
    /// Number of threads: a source, filters, an analyser, a sink.
    pub fn threads(&self) -> u32 {
        self.filters + 3
    }

    /// The threads, at queues of the type `Q`: the source, the filters, the analyser, the sink. The
    /// result is an error if it differs from the result of one thread.
    ///
    /// # Errors
    /// Fails if a setting has a value that the firewall cannot have.
    pub fn work<M: Machine, Q: RawQueue<M, Item = u64>>(
        &self,
        input: &Input,
        wait: Wait,
    ) -> Result<Work<Outcome>, Refused> {
        if !(1..=4093).contains(&self.filters) {
            return Err(Refused::because(format!("{} filters; expected 1 to 4093", self.filters)));
        }
        let (flow, filters) = (self.flow, self.filters);
        let pool = Pool::<M, Q>::new(flow, self.threads(), (2, 1), wait)?;
        let link =
            |senders, receivers| Link::<M, Q>::new(Shape { senders, receivers, bulk: flow.bulk }, flow.capacity, wait);
        let (incoming, suspicious, normal) = (link(1, filters)?, link(filters, 1)?, link(filters, 1)?);
        let [analyser, sink] = [1 + filters, 2 + filters];
        let total = Arc::new(Mutex::new(Outcome::new(&input.rules)));
        let mut bodies: Vec<Body> = Vec::new();
        let (to, traffic, mine) = (incoming.sender(0), input.traffic.clone(), pool.clone());
        let push = flow.push_to(filters, 1);
        bodies.push(Box::new(move || mine.run(0, || mine.source(0, to, push, (&traffic, flow.packets)))));
        let shares = Shape { senders: 1, receivers: filters, bulk: flow.bulk }.shares(&Q::INFO, &[flow.packets]);
        for (me, packets) in (0..).zip(shares) {
            let way = |link: &Arc<Link<M, Q>>, to| Way {
                to: link.sender(me),
                push: flow.push_to(1, to),
                packets: Vec::with_capacity(flow.bulk),
                sent: 0,
            };
            let ways = [way(&suspicious, analyser), way(&normal, sink)];
            let (from, pool, total, input) = (incoming.receiver(me), pool.clone(), total.clone(), input.clone());
            bodies.push(Box::new(move || {
                pool.run(1 + me, || Self::filter(&pool, (from, packets), ways, &input, &total))
            }));
        }
        for (turn, me, link) in [(0, analyser, suspicious), (1, sink, normal)] {
            let (from, to, pool, total) = (link.receiver(0), pool.link.sender(turn), pool.clone(), total.clone());
            let outcome = Outcome::new(&input.rules);
            let part = move |pool: &Pool<M, Q>| match turn {
                0 => Self::drain(pool, from, to, filters, outcome, Self::analyse).put(&total),
                _ => Self::drain(pool, from, to, filters, outcome, Self::consume).put(&total),
            };
            bodies.push(Box::new(move || pool.run(me, || part(&pool))));
        }
        Ok(Work { bodies, result: Self::judge(flow, input.clone(), pool, total) })
    }

    /// Runs a filter.
    fn filter<M: Machine, Q: RawQueue<M, Item = u64>>(
        pool: &Pool<M, Q>,
        (mut from, packets): (Receiver<M, Q>, u64),
        mut ways: [Way<M, Q>; 2],
        input: &Input,
        total: &Mutex<Outcome>,
    ) {
        let (mut view, mut outcome) = (View::new(), Outcome::new(&input.rules));
        let blocks = pool.flow.blocks.min(HEADER);
        pool.take(&mut from, packets, |some| {
            pool.each(some, blocks, false, |buffer| {
                // SAFETY: the queue has given the buffer to this thread.
                unsafe { pool.buffers.read(buffer, blocks, &mut view) };
                match decide::<M>(input, &view, &mut outcome) {
                    Action::Allow => ways[1].packets.push(buffer),
                    Action::Deny => ways[0].packets.push(buffer),
                    Action::Inspect => ways[0].packets.push(buffer | INSPECT),
                }
            });
            ways.iter_mut().for_each(|way| way.flush(pool));
        });
        ways.into_iter().for_each(|way| way.end(pool.flow.bulk));
        outcome.put(total);
    }

    /// Takes packets until all filters have said that no more packets come, works on the packets,
    /// and gives their buffers back.
    fn drain<M: Machine, Q: RawQueue<M, Item = u64>>(
        pool: &Pool<M, Q>,
        mut from: Receiver<M, Q>,
        mut to: Sender<M, Q>,
        filters: u32,
        mut outcome: Outcome,
        work: fn(&Pool<M, Q>, u64, &mut View, &mut Outcome),
    ) -> Outcome {
        let (mut view, mut some, mut ended) = (View::new(), vec![0; pool.flow.bulk], 0);
        let (mut back, blocks) = (Vec::with_capacity(some.len()), pool.flow.blocks.min(HEADER));
        while ended < filters {
            let got = from.receive(&mut some);
            ended += some[..got].iter().filter(|word| **word & LAST != 0).count() as u32;
            pool.each(&some[..got], blocks, false, |word| {
                if word & FILLER == 0 {
                    work(pool, word, &mut view, &mut outcome);
                    back.push(word & !MARKS);
                }
            });
            to.send(&back);
            back.clear();
        }
        outcome
    }

    /// The analyser's work on one packet.
    pub(super) fn analyse<M: Machine, Q: RawQueue<M, Item = u64>>(
        pool: &Pool<M, Q>,
        word: u64,
        view: &mut View,
        outcome: &mut Outcome,
    ) {
        let inspects = word & INSPECT != 0;
        let blocks = if inspects { pool.flow.blocks } else { 1 };
        // SAFETY: the queue has given the buffer to this thread.
        unsafe { pool.buffers.read(word & !MARKS, blocks, view) };
        M::work(Cycles(u64::from(blocks) * BLOCK_CYCLES));
        outcome.dropped(view.number, inspects.then_some(&view.bytes[..]));
    }

    /// The sink's work on one packet.
    pub(super) fn consume<M: Machine, Q: RawQueue<M, Item = u64>>(
        pool: &Pool<M, Q>,
        word: u64,
        view: &mut View,
        outcome: &mut Outcome,
    ) {
        let blocks = pool.flow.blocks.min(HEADER);
        // SAFETY: the queue has given the buffer to this thread.
        unsafe { pool.buffers.read(word, blocks, view) };
        M::work(Cycles(u64::from(blocks) * BLOCK_CYCLES));
        outcome.passed(view.number, view.length, &view.bytes);
    }

    /// Computes the result on one thread, for the same packets.
    fn plain(flow: Flow, input: &Input) -> Outcome {
        let mut outcome = Outcome::new(&input.rules);
        let header = flow.blocks.min(HEADER);
        for number in 0..flow.packets {
            input.traffic.with(number, |bytes, length| {
                let (action, rule) = input.rules.decide(&fields(input.traffic.link(), seen(bytes, header)));
                outcome.hits[rule] += 1;
                match action {
                    Action::Allow => outcome.passed(number, length, seen(bytes, header)),
                    Action::Deny => outcome.dropped(number, None),
                    Action::Inspect => outcome.dropped(number, Some(seen(bytes, flow.blocks))),
                }
            });
        }
        outcome
    }

    fn judge<M: Machine, Q: RawQueue<M, Item = u64>>(
        flow: Flow,
        input: Input,
        pool: Arc<Pool<M, Q>>,
        total: Arc<Mutex<Outcome>>,
    ) -> baton_workloads::work::Judge<Outcome> {
        Box::new(move || {
            let found = total.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Self::compare(flow, &input, &found)?;
            Ok(Outcome { nanoseconds: pool.nanoseconds(), ..found })
        })
    }

    /// Compares a result with that of one thread.
    pub(super) fn compare(flow: Flow, input: &Input, found: &Outcome) -> Result<(), String> {
        let plain = Self::plain(flow, input);
        expect("packets allowed", found.allowed, plain.allowed)?;
        expect("packets denied", found.denied, plain.denied)?;
        expect("packets inspected", found.inspected, plain.inspected)?;
        expect("bytes allowed", found.bytes, plain.bytes)?;
        if found.hits != plain.hits {
            return Err(format!("packets by rule: {:?}, expected {:?}", found.hits, plain.hits));
        }
        expect("the digest of the packets", found.digest, plain.digest)
    }
}
