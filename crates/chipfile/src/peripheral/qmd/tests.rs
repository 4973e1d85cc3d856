//! Tests the device by itself, cycle by cycle: its answers and their times.

mod arms;
mod flows;
mod needed;
mod threads;

use super::settings::Pointers;
use super::*;
use crate::peripheral::Device;
use crate::peripheral::port::{Cancelled, Effect, Hold, Subject};
use crate::peripheral::settings::Or;
use baton_machine::device::{Payload, Words};
use baton_machine::flows::{FlowAnswer, Given};
use baton_machine::queues::Combine;
use baton_units::Cycles;
use buffers::{Retry, Schedule};
use std::collections::BTreeMap;

const LATENCY: u64 = 50;

pub(super) fn settings() -> QmdSettings {
    QmdSettings {
        latency: Cycles(LATENCY),
        entries: 2048,
        queues: 16,
        engines: 1,
        priorities: 2,
        buffers: Sharing::Context,
        depth: 16,
        schedule: Schedule::RoundRobin,
        retry: Retry::Slot,
        pointers: Pointers::Grant,
        local_credits: 8,
        timeout: 0,
        patience: Or(5000),
        armed: Or(64),
        aside: Or(8),
        tokens: Or(64),
        token_age: Or(0),
        check: true,
        reduce: 3,
    }
}

/// The thread that a context runs where a test says nothing else.
fn subject(cpu: u32) -> Subject {
    Subject { thread: 100 + cpu, domain: 0 }
}

type QueueAnswer = Result<u64, QueueRefusal>;

/// The device and its answers so far: for each request number, the cycle in which the answer
/// leaves.
struct Bench {
    device: Typed<Qmd>,
    /// The requests to come, each with the cycle of its arrival.
    to_come: Vec<(u64, Request)>,
    /// The thread for which a context sends its requests, if that is another than the context's own.
    subjects: BTreeMap<u32, Subject>,
    sent: u32,
    answers: Vec<(u32, u64, QueueAnswer)>,
    /// Items with their flows and tokens, by the number of the request.
    given: BTreeMap<u32, Given>,
    holds: Vec<(u32, u64, Hold)>,
    interrupts: Vec<(u32, u64)>,
    /// Interrupts for armed threads: CPU, thread and time.
    fired: Vec<(u32, u32, u64)>,
    tick: Option<u64>,
    now: u64,
}

impl Bench {
    fn new(settings: &QmdSettings) -> Bench {
        let device = Typed(Qmd::new(settings));
        let (to_come, subjects, answers, given, holds, interrupts, fired) = Default::default();
        Bench { device, to_come, subjects, sent: 0, answers, given, holds, interrupts, fired, tick: None, now: 0 }
    }

    /// Adds a request of a context that comes in a cycle. Returns the number of the request.
    fn at(&mut self, cycle: u64, cpu: u32, asked: QueueRequest) -> u32 {
        self.sent += 1;
        let Words { tag: op, words } = asked.to_words();
        let privileged = match asked {
            QueueRequest::Flow(asked) => matches!(asked, FlowRequest::Make { .. } | FlowRequest::Bind { .. }),
            asked => !matches!(asked, QueueRequest::Enqueue { .. } | QueueRequest::Dequeue { .. }),
        };
        let subject = self.subjects.get(&cpu).copied().unwrap_or(subject(cpu));
        self.to_come.push((cycle, Request { packet: self.sent, op, words, privileged, cpu, subject }));
        self.sent
    }

    /// The operating system asks for a step in this cycle. Returns the answer's value.
    fn step(&mut self, step: Step, words: [u64; 3]) -> u64 {
        let request =
            Request { packet: u32::MAX, op: step.tag(), words, privileged: true, cpu: 0, subject: subject(0) };
        let now = self.now;
        self.to_come.push((now, request));
        self.run_to(now);
        let at = self.answers.iter().position(|(packet, ..)| *packet == u32::MAX).expect("answered at once");
        self.answers.remove(at).2.expect("the device does it")
    }

    /// Runs to a cycle. The edges are those with a request, and those for which the device asks.
    fn run_to(&mut self, end: u64) -> &mut Bench {
        self.to_come.sort_by_key(|(at, request)| (*at, request.packet));
        loop {
            let first = self.to_come.first().map(|(at, _)| *at);
            let Some(now) = [first, self.tick].into_iter().flatten().min().filter(|&at| at <= end) else { break };
            self.now = now;
            let mut effects = Vec::new();
            let mut port = Port { now, cpus: 64, effects: &mut effects };
            while self.to_come.first().is_some_and(|(at, _)| *at <= now) {
                let (_, request) = self.to_come.remove(0);
                assert_eq!(self.device.take(request, &mut port), Taken::Yes);
            }
            if self.tick.is_some_and(|at| at <= now) {
                self.tick = None;
                self.device.tick(&mut port);
            }
            for effect in effects {
                match effect {
                    Effect::Answer { packet, at, answer } => {
                        let said = QueueAnswer::from_words(Words::from(answer)).expect("an answer of the protocol");
                        self.answers.push((packet, at, said));
                        if let Some(Ok(given)) = FlowAnswer::from_words(Words::from(answer)) {
                            self.given.insert(packet, given);
                        }
                    }
                    Effect::Hold { packet, why } => self.holds.push((packet, now, why)),
                    Effect::Tick { at } => self.tick = Some(self.tick.map_or(at, |tick| tick.min(at))),
                    Effect::Interrupt { cpu, thread: None } => self.interrupts.push((cpu, now)),
                    Effect::Interrupt { cpu, thread: Some(thread) } => self.fired.push((cpu, thread, now)),
                    Effect::Forward { packet, .. } => panic!("request {packet} is sent on, and no queue has moved"),
                }
            }
        }
        self.now = end;
        self
    }

    /// Returns the answer of a request, with the cycle in which the answer leaves.
    fn answer(&self, request: u32) -> Option<(u64, QueueAnswer)> {
        self.answers.iter().find(|(of, ..)| *of == request).map(|(_, at, said)| (*at, *said))
    }

    fn count(&self, name: &str) -> u64 {
        let counts = self.device.counts();
        counts.into_iter().find(|(known, _)| *known == name).expect("a count of this name").1
    }

    /// Performs a system call in the current cycle, which the device answers at once.
    fn call(&mut self, cpu: u32, asked: QueueRequest) -> QueueAnswer {
        let (now, number) = (self.now, self.at(self.now, cpu, asked));
        self.run_to(now);
        self.answer(number).expect("system calls are answered at once").1
    }

    /// Allocates queues with `entries` entries each.
    fn queues(&mut self, entries: u32, queues: u32) -> QueueId {
        let asked = QueueRequest::Allocate { entries, queues, enqueue_credits: false, dequeue_credits: false };
        QueueId(self.call(0, asked).expect("there is room") as u32)
    }
}

fn put(queue: QueueId, item: u64) -> QueueRequest {
    QueueRequest::Enqueue { to: Operand::of(queue), item }
}

fn get(queue: QueueId) -> QueueRequest {
    QueueRequest::Dequeue { from: Operand::of(queue) }
}

#[test]
fn a_request_has_its_turn_a_cycle_after_it_came_and_its_answer_an_access_later() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    let (first, second) = (bench.at(100, 0, put(queue, 7)), bench.at(300, 1, get(queue)));
    bench.run_to(1000);
    assert_eq!(bench.answer(first), Some((101 + LATENCY, Ok(0))));
    assert_eq!(bench.answer(second), Some((301 + LATENCY, Ok(7))));
}

#[test]
fn the_engine_takes_one_request_up_a_cycle_and_two_engines_one_of_each_direction() {
    for (engines, gaps) in [(1, [0, 1, 2, 3]), (2, [0, 0, 1, 1])] {
        let mut bench = Bench::new(&QmdSettings { engines, ..settings() });
        let queue = bench.queues(8, 1);
        bench.at(10, 9, put(queue, 1));
        bench.at(10, 9, put(queue, 2));
        bench.run_to(50);
        let requests = [(0, put(queue, 3)), (1, get(queue)), (2, put(queue, 4)), (3, get(queue))];
        let numbers = requests.map(|(cpu, asked)| bench.at(100, cpu, asked));
        bench.run_to(1000);
        let mut times = numbers.map(|number| bench.answer(number).expect("answered").0 - 101 - LATENCY);
        times.sort_unstable();
        assert_eq!(times, gaps, "{engines}");
    }
}

#[test]
fn an_item_can_be_taken_in_the_next_cycle_or_after_its_access() {
    // The enqueue has its turn in cycle 101. A dequeue waits if it has its turn before the cycle
    // after the tail has moved.
    for (pointers, visible) in [(Pointers::Grant, 101), (Pointers::Access, 101 + LATENCY)] {
        for came in [visible - 2, visible - 1, visible, visible + 7] {
            let mut bench = Bench::new(&QmdSettings { pointers, engines: 2, ..settings() });
            let queue = bench.queues(4, 1);
            bench.at(100, 0, put(queue, 7));
            let get = bench.at(came, 1, get(queue));
            bench.run_to(1000);
            let turn = (came + 1).max(visible);
            // Within a cycle the engines have their turns one after the other, enqueues first.
            assert_eq!(bench.answer(get), Some((turn + LATENCY, Ok(7))), "{pointers:?} {came}");
            assert_eq!(bench.holds.is_empty(), came + 1 >= visible, "{pointers:?} {came}");
        }
    }
}

#[test]
fn a_place_is_free_in_the_next_cycle_or_after_its_access() {
    for (pointers, free) in [(Pointers::Grant, 301), (Pointers::Access, 301 + LATENCY)] {
        let mut bench = Bench::new(&QmdSettings { pointers, ..settings() });
        let queue = bench.queues(2, 1);
        for (cycle, item) in [(10, 1), (20, 2)] {
            bench.at(cycle, 0, put(queue, item));
        }
        let late = bench.at(200, 0, put(queue, 3));
        bench.at(300, 1, get(queue));
        bench.run_to(1000);
        // With one engine, a try that failed in the cycle of the dequeue comes again in the next
        // cycle.
        let turn = if pointers == Pointers::Grant { free + 1 } else { free };
        assert_eq!(bench.answer(late), Some((turn + LATENCY, Ok(0))), "{pointers:?}");
        assert_eq!(bench.holds, [(late, 201, Hold::Full)]);
    }
}

#[test]
fn tries_that_fail_are_counted_whether_they_were_made_one_by_one_or_not() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(2, 1);
    bench.at(100, 0, get(queue));
    bench.at(200, 1, put(queue, 5));
    bench.run_to(1000);
    // Tries fail in cycles 101 to 200, and in 201 if the dequeue's buffer has its turn before the
    // enqueue's.
    assert!([100, 101].contains(&bench.count("retries")), "{}", bench.count("retries"));
    let mut bench = Bench::new(&QmdSettings { retry: Retry::Free, ..settings() });
    let queue = bench.queues(2, 1);
    bench.at(100, 0, get(queue));
    let put = bench.at(200, 1, put(queue, 5));
    bench.run_to(1000);
    assert_eq!(bench.answer(put), Some((201 + LATENCY, Ok(0))));
}

/// Checks that the engine does not sleep before all heads have been tried. Buffers take turns, and
/// contexts within them, so that a context of the fuller buffer has fewer turns.
#[test]
fn an_item_is_found_by_the_one_that_waits_for_it_among_many_that_wait() {
    let all =
        [(Schedule::RoundRobin, Retry::Slot), (Schedule::Weighted, Retry::Slot), (Schedule::Weighted, Retry::Free)];
    for ((schedule, retry), pointers) in
        all.into_iter().flat_map(|how| [(how, Pointers::Grant), (how, Pointers::Access)])
    {
        for wanted in 0..6 {
            let mut bench = Bench::new(&QmdSettings { schedule, retry, pointers, ..settings() });
            let (full, empty) = (bench.queues(1, 1), bench.queues(1, 6));
            for item in 1..=2 {
                bench.at(10, 9, put(full, item));
            }
            let waiting: Vec<u32> = (0..6).map(|n| bench.at(20, n, get(empty.plus(n)))).collect();
            bench.run_to(500);
            let came = bench.at(501, 8, put(empty.plus(wanted), 7));
            bench.run_to(1000);
            assert_eq!(bench.answer(came).map(|(_, said)| said), Some(Ok(0)));
            let got = bench.answer(waiting[wanted as usize]).map(|(_, said)| said);
            assert_eq!(got, Some(Ok(7)), "context {wanted}, {schedule:?} {retry:?} {pointers:?}");
        }
    }
}

#[test]
fn a_failing_try_takes_a_turn_or_none() {
    // Contexts 0 to 7 wait for an item of an empty queue, and context 9 asks for items that are
    // there.
    let served = |retry| {
        let mut bench = Bench::new(&QmdSettings { retry, ..settings() });
        let (empty, full) = (bench.queues(2, 1), bench.queues(64, 1));
        for i in 0..10 {
            bench.at(10 + i, 9, put(full, i));
        }
        for cpu in 0..8 {
            bench.at(100, cpu, get(empty));
        }
        let numbers: Vec<u32> = (0..10).map(|_| bench.at(200, 9, get(full))).collect();
        bench.run_to(1000);
        let last = numbers.iter().map(|&number| bench.answer(number).expect("served").0).max();
        last.expect("ten") - LATENCY - 201
    };
    assert_eq!(served(Retry::Free), 9);
    assert!((80..=90).contains(&served(Retry::Slot)), "{}", served(Retry::Slot));
}

#[test]
fn requests_of_a_context_for_a_queue_keep_their_order() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(16, 1);
    for item in 0..10 {
        bench.at(100, 0, put(queue, item));
    }
    let gets: Vec<u32> = (0..10).map(|_| bench.at(101, 1, get(queue))).collect();
    bench.run_to(1000);
    let items: Vec<u64> = gets.iter().map(|&get| bench.answer(get).expect("served").1.expect("an item")).collect();
    assert_eq!(items, (0..10).collect::<Vec<_>>());
}

#[test]
fn figure_4_locks_with_shared_buffers_and_not_with_virtual_ones() {
    // Thread 1 fills queue a and would empty it next; the enqueue of thread 2 stands behind that of
    // thread 1.
    for (buffers, ends) in [(Sharing::All, false), (Sharing::Context, true)] {
        let mut bench = Bench::new(&QmdSettings { buffers, ..settings() });
        let a = bench.queues(1, 2);
        let b = a.plus(1);
        bench.at(10, 1, put(a, 1));
        let blocked = bench.at(100, 1, put(a, 2));
        let behind = bench.at(110, 2, put(b, 3));
        let wants = bench.at(120, 1, get(b));
        bench.run_to(10_000);
        assert_eq!(bench.answer(behind).is_some(), ends, "{buffers:?}");
        assert_eq!(bench.answer(wants).is_some(), ends, "{buffers:?}");
        assert_eq!(bench.answer(blocked), None);
    }
}

#[test]
fn what_does_not_wait_is_refused() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(1, 1);
    let operand = Operand { mode: Mode::Try, ..Operand::of(queue) };
    let empty = bench.at(10, 0, QueueRequest::Dequeue { from: operand });
    let fits = bench.at(20, 0, QueueRequest::Enqueue { to: operand, item: 3 });
    let full = bench.at(30, 0, QueueRequest::Enqueue { to: operand, item: 4 });
    let there = bench.at(40, 0, QueueRequest::Dequeue { from: operand });
    bench.run_to(1000);
    assert_eq!(bench.answer(empty).expect("answered").1, Err(QueueRefusal::Empty));
    assert_eq!(bench.answer(fits).expect("answered").1, Ok(0));
    assert_eq!(bench.answer(full).expect("answered").1, Err(QueueRefusal::Full));
    assert_eq!(bench.answer(there).expect("answered").1, Ok(3));
}

#[test]
fn queues_take_room_and_give_it_back() {
    let mut bench = Bench::new(&QmdSettings { entries: 100, queues: 4, ..settings() });
    let ask =
        |entries, queues| QueueRequest::Allocate { entries, queues, enqueue_credits: false, dequeue_credits: false };
    let first = bench.queues(40, 2);
    assert_eq!(bench.call(0, ask(21, 1)), Err(QueueRefusal::NoRoom), "20 entries are left");
    assert_eq!(bench.call(0, ask(1, 3)), Err(QueueRefusal::NoRoom), "two queues are left");
    for (entries, queues) in [(0, 1), (1, 0), (u32::MAX, u32::MAX)] {
        assert_eq!(bench.call(0, ask(entries, queues)), Err(QueueRefusal::NoRoom));
    }
    assert_eq!(bench.call(0, QueueRequest::Release(first)), Ok(0));
    assert_eq!(bench.call(0, QueueRequest::Release(first)), Err(QueueRefusal::NoQueue), "it is gone");
    let again = bench.queues(40, 1);
    assert_ne!(again, first, "an id is given once");
    let [old, other] = [first, first.plus(1)].map(|queue| bench.at(100, 0, put(queue, 1)));
    bench.run_to(1000);
    assert_eq!(bench.answer(old).expect("answered").1, Err(QueueRefusal::NoQueue));
    assert_eq!(bench.answer(other).expect("answered").1, Ok(0));
}

#[test]
fn a_queue_that_is_given_back_lets_go_who_waits_for_it() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(1, 1);
    let waits = bench.at(10, 1, get(queue));
    bench.run_to(100);
    assert_eq!(bench.answer(waits), None);
    assert_eq!(bench.call(0, QueueRequest::Release(queue)), Ok(0));
    assert_eq!(bench.answer(waits).expect("answered").1, Err(QueueRefusal::NoQueue));
}

#[test]
fn a_request_without_a_credit_is_dropped_and_acknowledged() {
    let mut bench = Bench::new(&settings());
    let asked = QueueRequest::Allocate { entries: 4, queues: 1, enqueue_credits: true, dequeue_credits: false };
    let queue = QueueId(bench.call(0, asked).expect("room") as u32);
    let join = QueueRequest::Join { queue, direction: Direction::Enqueue, weight: 1 };
    assert_eq!(bench.call(3, join), Ok(0));
    let take = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(queue) };
    let before = bench.at(10, 3, put(queue, 1));
    let credits = bench.at(100, 3, QueueRequest::Dequeue { from: take });
    let puts: Vec<u32> = (0..5).map(|item| bench.at(200, 3, put(queue, item))).collect();
    let stranger = bench.at(300, 4, put(queue, 9));
    bench.run_to(1000);
    assert_eq!(bench.answer(before).expect("answered").1, Err(QueueRefusal::NoCredit));
    assert_eq!(bench.answer(credits).expect("answered").1, Ok(4), "as many as there are free entries");
    let said: Vec<QueueAnswer> = puts.iter().map(|&put| bench.answer(put).expect("answered").1).collect();
    assert_eq!(said, [Ok(0), Ok(0), Ok(0), Ok(0), Err(QueueRefusal::NoCredit)]);
    assert_eq!(bench.answer(stranger).expect("answered").1, Err(QueueRefusal::NoCredit));
    assert_eq!(bench.count("no_credit"), 3);
    // A dequeue returns the credit of the place that it frees.
    bench.at(1100, 7, get(queue));
    let again = bench.at(1200, 3, QueueRequest::Dequeue { from: take });
    bench.run_to(2000);
    assert_eq!(bench.answer(again).expect("answered").1, Ok(1));
}

#[test]
fn the_balancer_sends_to_the_queue_with_the_fewest_items() {
    let mut bench = Bench::new(&settings());
    let first = bench.queues(2, 3);
    let group = bench.call(0, QueueRequest::Balance { first, count: 3 }).expect("a group");
    let group = QueueId(group as u32);
    bench.at(10, 0, put(first, 100));
    let mut puts: Vec<u32> = (0..5).map(|item| bench.at(100 + item * 10, 0, put(group, item))).collect();
    puts.push(bench.at(200, 0, put(group, 5)));
    bench.run_to(400);
    assert_eq!(puts.iter().filter(|&&put| bench.answer(put).is_some()).count(), 5, "then all queues are full");
    let gets: Vec<u32> = (0..6).map(|at| bench.at(500 + at, 1, get(first.plus(at as u32 % 3)))).collect();
    bench.run_to(1000);
    let items: Vec<u64> = gets.iter().map(|&get| bench.answer(get).expect("served").1.expect("item")).collect();
    assert_eq!(items, [100, 0, 1, 2, 3, 4], "0 and 1 go to the empty ones; then each in turn");
    assert!(bench.answer(puts[5]).is_some());
}

#[test]
fn the_reducer_sums_in_the_order_of_its_queues() {
    let mut bench = Bench::new(&settings());
    let from = bench.queues(4, 3);
    let to = bench.queues(4, 3);
    assert_eq!(bench.call(0, QueueRequest::Reduce { by: Combine::FloatSum, from, to, count: 3 }), Ok(0));
    assert_eq!(
        bench.call(0, QueueRequest::Reduce { by: Combine::FloatSum, from: to, to: from, count: 3 }),
        Err(QueueRefusal::Refused)
    );
    let (large, small) = (1e16, 1.0);
    for (worker, value) in [(2, -large), (0, small), (1, large)] {
        bench.at(100 + u64::from(worker) * 10, worker, put(from.plus(worker), f64::to_bits(value)));
    }
    let gets: Vec<u32> = (0..3).map(|worker| bench.at(50, worker, get(to.plus(worker)))).collect();
    bench.run_to(1000);
    // The last item came in cycle 120 and can be taken in 121; the sum takes three cycles for each
    // item.
    for &number in &gets {
        let (at, said) = bench.answer(number).expect("served");
        assert_eq!(said, Ok(((small + large) - large).to_bits()), "not {small}: the sum has an order");
        assert!((121 + 9..=122 + 9 + 3).contains(&(at - LATENCY)), "{at}");
    }
    let (reads, writes) = (bench.at(1100, 0, get(from)), bench.at(1100, 0, put(to, 1)));
    bench.run_to(2000);
    assert_eq!(bench.answer(reads).expect("answered").1, Err(QueueRefusal::NoQueue), "the reducer's alone");
    assert_eq!(bench.answer(writes).expect("answered").1, Err(QueueRefusal::NoQueue));
    assert_eq!(bench.count("reduced"), 1);
}

#[test]
fn the_timer_empties_a_buffer_that_nothing_was_served_from() {
    let mut bench = Bench::new(&QmdSettings { timeout: 1000, ..settings() });
    let queue = bench.queues(4, 1);
    let waits = bench.at(100, 6, get(queue));
    bench.run_to(1099);
    assert_eq!(bench.answer(waits), None);
    bench.run_to(1200);
    assert_eq!(bench.answer(waits), Some((1101, Err(QueueRefusal::Dropped))));
    assert_eq!(bench.interrupts, [(6, 1100)]);
    assert_eq!(bench.count("dropped"), 1);
}

#[test]
fn configuring_needs_a_system_call() {
    let mut bench = Bench::new(&settings());
    let Words { tag: op, words } =
        QueueRequest::Allocate { entries: 1, queues: 1, enqueue_credits: false, dequeue_credits: false }.to_words();
    bench.to_come.push((5, Request { packet: 1, op, words, privileged: false, cpu: 0, subject: subject(0) }));
    bench.run_to(100);
    assert_eq!(bench.answer(1), Some((6, Err(QueueRefusal::Refused))));
}

#[test]
fn a_request_that_waits_is_given_back_and_one_that_was_taken_up_is_not() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    let waits = bench.at(100, 3, get(queue));
    bench.run_to(200);
    let Words { tag: op, words } = get(queue).to_words();
    let request = |packet| Request { packet, op, words, privileged: false, cpu: 3, subject: subject(3) };
    let mut cancel = |now, request| {
        let mut effects = Vec::new();
        bench.device.cancel(&request, &mut Port { now, cpus: 64, effects: &mut effects })
    };
    assert_eq!(cancel(200, request(waits)), Cancelled::Yes);
    assert_eq!(cancel(201, request(waits)), Cancelled::TooLate, "it is gone");
    // No request takes the item that comes now.
    bench.at(300, 0, put(queue, 7));
    let taken = bench.at(400, 3, get(queue));
    bench.run_to(401);
    let mut effects = Vec::new();
    let late = bench.device.cancel(&request(taken), &mut Port { now: 402, cpus: 64, effects: &mut effects });
    assert_eq!((late, bench.answer(taken)), (Cancelled::TooLate, Some((401 + LATENCY, Ok(7)))));
    assert_eq!(bench.answer(waits), None);
}
