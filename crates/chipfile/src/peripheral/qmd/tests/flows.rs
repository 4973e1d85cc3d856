//! Queues with flows: what each kind promises, tokens, and random programs against what a user may
//! rely on.

mod moving;
mod random;

use super::*;
use baton_machine::flows::{FlowOrder, InHand, Of, Token};

fn make(bench: &mut Bench, order: FlowOrder, entries: u32, window: u16, dead: InHand) -> QueueId {
    let asked = FlowRequest::Make { entries, order, window, dead };
    QueueId(bench.call(0, QueueRequest::Flow(asked)).expect("there is room") as u32)
}

fn bind(bench: &mut Bench, cpu: u32, queue: QueueId, weight: u16, most: u16) -> QueueAnswer {
    bench.call(cpu, QueueRequest::Flow(FlowRequest::Bind { queue, weight, most }))
}

fn send(queue: QueueId, item: u64, flow: u16, of: Of) -> QueueRequest {
    QueueRequest::Flow(FlowRequest::Send { to: Operand::of(queue), item, flow, of })
}

fn receive(queue: QueueId) -> QueueRequest {
    QueueRequest::Flow(FlowRequest::Receive { from: Operand::of(queue) })
}

fn complete(queue: QueueId, token: Token) -> QueueRequest {
    QueueRequest::Flow(FlowRequest::Complete { queue, token })
}

/// A request that comes now. Returns its answer; `None` if it waits.
fn now(bench: &mut Bench, cpu: u32, asked: QueueRequest) -> Option<FlowAnswer> {
    let number = bench.at(bench.now, cpu, asked);
    bench.run_to(bench.now + 3 * LATENCY);
    let (_, said) = bench.answer(number)?;
    Some(said.map(|_| bench.given[&number]))
}

fn taken(bench: &mut Bench, cpu: u32, queue: QueueId) -> Given {
    now(bench, cpu, receive(queue)).expect("it is served").expect("an item")
}

fn is_given(answer: Option<FlowAnswer>) -> Option<Result<u64, QueueRefusal>> {
    answer.map(|answer| answer.map(|given| given.word))
}

#[test]
fn an_atomic_queue_gives_a_flow_to_one_thread_and_other_flows_to_others() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Atomic, 16, 3, InHand::GiveUp);
    for cpu in [1, 2] {
        assert_eq!(bind(&mut bench, cpu, queue, 1, 4), Ok(0));
    }
    for (item, flow) in [(1, 7), (2, 7), (3, 8), (4, 9)] {
        assert_eq!(is_given(now(&mut bench, 0, send(queue, item, flow, Of::None))), Some(Ok(0)));
    }
    let first = taken(&mut bench, 1, queue);
    assert_eq!((first.word, first.flow), (1, 7));
    // Flow 7 is the first thread's: the second one gets the oldest item of another flow.
    assert_eq!(taken(&mut bench, 2, queue).word, 3);
    // The owner of a flow gets more of it.
    assert_eq!(taken(&mut bench, 1, queue).word, 2);
    assert_eq!(taken(&mut bench, 2, queue).word, 4);
    // An item of a flow that is another's is found when the flow is free.
    now(&mut bench, 0, send(queue, 5, 7, Of::None));
    let waits = bench.at(bench.now, 2, receive(queue));
    bench.run_to(bench.now + 1000);
    assert_eq!(bench.answer(waits), None);
    now(&mut bench, 1, complete(queue, first.token));
    assert_eq!(bench.answer(waits), None, "the first thread has the second item of the flow in hand");
    assert_eq!(is_given(now(&mut bench, 1, complete(queue, Token(first.token.0)))), Some(Err(QueueRefusal::Token)));
    let second = bench.given.values().find(|given| given.word == 2 && given.flow == 7).expect("taken").token;
    now(&mut bench, 1, complete(queue, second));
    assert_eq!(bench.answer(waits).map(|(_, said)| said), Some(Ok(5)));
}

/// An item behind the window is not looked at.
#[test]
fn the_window_bounds_what_an_atomic_queue_looks_at() {
    for (window, found) in [(2, None), (3, Some(Ok(3)))] {
        let mut bench = Bench::new(&settings());
        let queue = make(&mut bench, FlowOrder::Atomic, 16, window, InHand::GiveUp);
        [1, 2].into_iter().for_each(|cpu| _ = bind(&mut bench, cpu, queue, 1, 1));
        for (item, flow) in [(0, 7), (1, 7), (2, 7), (3, 8)] {
            now(&mut bench, 0, send(queue, item, flow, Of::None));
        }
        assert_eq!(taken(&mut bench, 1, queue).word, 0);
        assert_eq!(is_given(now(&mut bench, 2, receive(queue))), found, "{window}");
    }
}

#[test]
fn an_ordered_queue_sends_on_in_the_order_of_its_items() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Ordered, 16, 4, InHand::GiveUp);
    let to = make(&mut bench, FlowOrder::Directed, 16, 1, InHand::GiveUp);
    for cpu in [1, 2, 3] {
        bind(&mut bench, cpu, queue, 1, 2).expect("bound");
    }
    bind(&mut bench, 4, to, 1, 16).expect("bound");
    assert_eq!(bind(&mut bench, 5, to, 1, 1), Err(QueueRefusal::NoRoom), "a directed queue has one consumer");
    (0..4).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 1, Of::None)));
    let [a, b, c, d] = [1, 2, 3, 1].map(|cpu| taken(&mut bench, cpu, queue));
    // The last is sent on first, the third has two items, the second none, the first is late.
    now(&mut bench, 1, send(to, 40, 1, Of::Last(d.token)));
    now(&mut bench, 3, send(to, 30, 1, Of::More(c.token)));
    now(&mut bench, 3, send(to, 31, 1, Of::Last(c.token)));
    now(&mut bench, 2, complete(queue, b.token));
    assert_eq!(now(&mut bench, 4, receive(to)), None, "the first item's turn");
    // No slot is free: the fifth item waits.
    now(&mut bench, 0, send(queue, 4, 1, Of::None));
    let fifth = bench.at(bench.now, 2, receive(queue));
    bench.run_to(bench.now + 500);
    assert_eq!(bench.answer(fifth), None);
    now(&mut bench, 1, send(to, 10, 1, Of::Last(a.token)));
    assert!(bench.answer(fifth).is_some());
    let left: Vec<u64> = (0..3).map(|_| taken(&mut bench, 4, to).word).collect();
    let first = bench.given.values().find(|given| given.word == 10).expect("the waiting request got it");
    assert_eq!((first.word, left), (10, vec![30, 31, 40]));
}

/// More outputs than a slot has room for are refused; a dead thread's slot does not hold up others.
#[test]
fn a_slot_has_four_places_and_ends_with_its_thread() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Ordered, 16, 4, InHand::GiveUp);
    let to = make(&mut bench, FlowOrder::Parallel, 16, 1, InHand::GiveUp);
    [1, 2].into_iter().for_each(|cpu| _ = bind(&mut bench, cpu, queue, 1, 2));
    bind(&mut bench, 4, to, 1, 8).expect("bound");
    (0..2).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 1, Of::None)));
    let (_, second) = (taken(&mut bench, 1, queue), taken(&mut bench, 2, queue));
    for item in 0..4 {
        assert_eq!(is_given(now(&mut bench, 2, send(to, item, 1, Of::More(second.token)))), Some(Ok(0)));
    }
    let fifth = now(&mut bench, 2, send(to, 5, 1, Of::Last(second.token)));
    assert_eq!(is_given(fifth), Some(Err(QueueRefusal::Refused)));
    bench.step(Step::Retire, [u64::from(subject(1).thread), ANY_QUEUE, 0]);
    assert_eq!(bench.count("given_up"), 1);
    let left: Vec<u64> = (0..4).map(|_| taken(&mut bench, 4, to).word).collect();
    assert_eq!(left, [0, 1, 2, 3]);
}

#[test]
fn forged_stale_doubled_and_foreign_tokens_are_refused_and_counted() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Parallel, 16, 1, InHand::GiveUp);
    [1, 2].into_iter().for_each(|cpu| _ = bind(&mut bench, cpu, queue, 1, 4));
    (0..3).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 0, Of::None)));
    let [first, second] = [1, 1].map(|cpu| taken(&mut bench, cpu, queue));
    let refused = Some(Err(QueueRefusal::Token));
    assert_eq!(is_given(now(&mut bench, 2, complete(queue, first.token))), refused, "another thread's");
    assert_eq!(is_given(now(&mut bench, 2, send(queue, 9, 0, Of::Last(first.token)))), refused);
    assert_eq!(is_given(now(&mut bench, 1, complete(queue, first.token))), Some(Ok(0)));
    assert_eq!(is_given(now(&mut bench, 1, complete(queue, first.token))), refused, "used twice");
    let third = taken(&mut bench, 1, queue);
    assert_eq!(third.token.0 & 0xffff, first.token.0 & 0xffff, "the same entry");
    assert_ne!(third.token, first.token);
    assert_eq!(is_given(now(&mut bench, 1, complete(queue, first.token))), refused, "the entry's former use");
    for forged in [0, u64::MAX, third.token.0 + 1, third.token.0 + (1 << 16)] {
        if forged != second.token.0 {
            assert_eq!(is_given(now(&mut bench, 1, complete(queue, Token(forged)))), refused, "{forged:#x}");
        }
    }
    let other = make(&mut bench, FlowOrder::Parallel, 4, 1, InHand::GiveUp);
    assert_eq!(is_given(now(&mut bench, 1, complete(other, third.token))), refused, "another queue's");
    assert_eq!(bench.count("bad_tokens"), 9);
}

/// Only a thread that is bound receives, and no more than it may have in hand; plain requests do not
/// reach a queue with flows, and requests with flows no plain queue.
#[test]
fn a_thread_is_bound_and_has_no_more_in_hand_than_it_may() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Parallel, 4, 1, InHand::GiveUp);
    let refused = Some(Err(QueueRefusal::Refused));
    assert_eq!(is_given(now(&mut bench, 1, receive(queue))), refused);
    assert_eq!(bind(&mut bench, 1, queue, 0, 1), Err(QueueRefusal::Refused));
    bind(&mut bench, 1, queue, 1, 1).expect("bound");
    (0..3).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 0, Of::None)));
    let first = taken(&mut bench, 1, queue);
    let second = bench.at(bench.now, 1, receive(queue));
    bench.run_to(bench.now + 1000);
    assert_eq!(bench.answer(second), None);
    now(&mut bench, 1, complete(queue, first.token));
    assert_eq!(bench.answer(second).map(|(_, said)| said), Some(Ok(1)));
    let plain = bench.queues(4, 1);
    for (cpu, asked) in [(2, put(queue, 1)), (2, get(queue)), (2, send(plain, 1, 0, Of::None)), (2, receive(plain))] {
        assert_eq!(is_given(now(&mut bench, cpu, asked)), refused, "{asked:?}");
    }
    let other = Subject { thread: 9, domain: 9 };
    bench.subjects.insert(3, other);
    for asked in [receive(queue), send(queue, 1, 0, Of::None)] {
        assert_eq!(is_given(now(&mut bench, 3, asked)), Some(Err(QueueRefusal::NoQueue)), "another process");
    }
    assert_eq!(bench.call(0, QueueRequest::Release(queue)), Ok(1));
    assert_eq!(bench.count("given_up"), 1, "the item in hand");
}

/// Where threads wait for items, each gets as many as its weight says.
#[test]
fn threads_get_items_by_their_weights() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Parallel, 4, 1, InHand::GiveUp);
    for (cpu, weight) in [(1, 1), (2, 3)] {
        bind(&mut bench, cpu, queue, weight, 16).expect("bound");
    }
    let mut got = [0; 2];
    let mut asked: Vec<u32> = [1, 2].map(|cpu| bench.at(bench.now, cpu, receive(queue))).into();
    bench.run_to(bench.now + 10);
    for item in 0..80 {
        let number = bench.at(bench.now, 0, send(queue, item, 0, Of::None));
        bench.run_to(bench.now + 3 * LATENCY);
        assert!(bench.answer(number).is_some());
        for at in 0..2 {
            if let Some(given) = bench.given.get(&asked[at]).copied() {
                got[at] += 1;
                let cpu = at as u32 + 1;
                now(&mut bench, cpu, complete(queue, given.token));
                asked[at] = bench.at(bench.now, cpu, receive(queue));
                bench.run_to(bench.now + 10);
            }
        }
    }
    assert_eq!(got, [20, 60]);
}

/// Back-pressure stops the thread whose destination is full, and the releaser of its queue; other
/// queues go on.
#[test]
fn a_full_queue_stops_only_what_is_for_it() {
    let mut bench = Bench::new(&settings());
    let ordered = [0, 0].map(|_| make(&mut bench, FlowOrder::Ordered, 8, 4, InHand::GiveUp));
    let to = [1, 8].map(|entries| make(&mut bench, FlowOrder::Directed, entries, 1, InHand::GiveUp));
    for at in 0..2 {
        bind(&mut bench, 1 + at as u32, ordered[at], 1, 4).expect("bound");
        bind(&mut bench, 3 + at as u32, to[at], 1, 8).expect("bound");
        for item in 0..3 {
            now(&mut bench, 0, send(ordered[at], item, 0, Of::None));
        }
        for _ in 0..3 {
            let given = taken(&mut bench, 1 + at as u32, ordered[at]);
            // The reorder buffer has room, so that the thread goes on.
            let sent = now(&mut bench, 1 + at as u32, send(to[at], given.word, 0, Of::Last(given.token)));
            assert_eq!(is_given(sent), Some(Ok(0)));
        }
    }
    let second: Vec<u64> = (0..3).map(|_| taken(&mut bench, 4, to[1]).word).collect();
    assert_eq!(second, [0, 1, 2]);
    let first: Vec<u64> = (0..3).map(|_| taken(&mut bench, 3, to[0]).word).collect();
    assert_eq!(first, [0, 1, 2]);
}

#[test]
fn a_token_that_is_too_old_interrupts_its_thread_once() {
    use crate::peripheral::settings::Or;
    let mut bench = Bench::new(&QmdSettings { token_age: Or(1000), ..settings() });
    let queue = make(&mut bench, FlowOrder::Parallel, 4, 1, InHand::GiveUp);
    bind(&mut bench, 1, queue, 1, 4).expect("bound");
    now(&mut bench, 0, send(queue, 1, 0, Of::None));
    let asked = bench.now;
    let given = taken(&mut bench, 1, queue);
    bench.run_to(asked + 1000);
    assert_eq!(bench.fired, []);
    bench.run_to(asked + 5000);
    assert_eq!(bench.fired, [(1, subject(1).thread, asked + 1001)]);
    assert_eq!(bench.count("overdue"), 1);
    assert_eq!(is_given(now(&mut bench, 1, complete(queue, given.token))), Some(Ok(0)));
}

/// A thread completes an item behind what it has sent on for it, whatever waits.
#[test]
fn a_completion_comes_behind_what_was_sent_on() {
    let mut bench = Bench::new(&QmdSettings { engines: 2, ..settings() });
    let queue = make(&mut bench, FlowOrder::Parallel, 4, 1, InHand::GiveUp);
    let to = make(&mut bench, FlowOrder::Parallel, 1, 1, InHand::GiveUp);
    bind(&mut bench, 1, queue, 1, 4).expect("bound");
    bind(&mut bench, 2, to, 1, 4).expect("bound");
    now(&mut bench, 0, send(queue, 1, 0, Of::None));
    now(&mut bench, 0, send(to, 7, 0, Of::None));
    let given = taken(&mut bench, 1, queue);
    let sent = bench.at(bench.now, 1, send(to, 8, 0, Of::More(given.token)));
    let ends = bench.at(bench.now + 1, 1, complete(queue, given.token));
    bench.run_to(bench.now + 500);
    assert_eq!((bench.answer(sent), bench.answer(ends)), (None, None), "the queue is full");
    assert_eq!(taken(&mut bench, 2, to).word, 7);
    assert_eq!([sent, ends].map(|of| bench.answer(of).map(|(_, said)| said)), [Some(Ok(0)); 2]);
}
