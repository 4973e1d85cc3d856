//! A queue with flows that moves to another device: what comes along. Moves while threads use the
//! queue: `cargo test -p baton-chip --test qmd random_flows::`.

use super::*;
use crate::peripheral::qmd::Carried;

/// Moves a queue that `make` makes anew to another device, as the operating system does.
fn moves(from: &mut Bench, queue: QueueId, to: &mut Bench, make: impl FnOnce(&mut Bench) -> QueueId) -> QueueId {
    let new = make(to);
    to.step(Step::Close, [new.0.into(), 0, 0]);
    from.step(Step::Close, [queue.0.into(), 0, 0]);
    let slot = from.device.0.storage.find(queue).expect("its slot");
    for row in from.device.0.flows.rows(slot) {
        let ([first, second], kind) = row.to_words();
        to.step(Step::SetRow, [u64::from(new.0) | u64::from(kind) << 32, first, second]);
    }
    to.step(Step::Open, [new.0.into(), 0, 0]);
    from.step(Step::SendOn, [queue.0.into(), new.0.into(), 1]);
    assert!(from.device.0.flows.tokens.is_empty(), "its tokens are gone");
    new
}

fn parallel(bench: &mut Bench) -> QueueId {
    make(bench, FlowOrder::Parallel, 16, 1, InHand::PutBack)
}

/// A thread that has had its share of a round when the queue moves has no other one before the rest
/// have had theirs. The scheduler's turn does not decide: each of the two lines is looked at first.
#[test]
fn the_turn_of_a_round_comes_along() {
    for pause in 10..14 {
        let (mut old, mut new) = (Bench::new(&settings()), Bench::new(&settings()));
        let queue = parallel(&mut old);
        for (cpu, weight) in [(1, 1), (2, 3)] {
            bind(&mut old, cpu, queue, weight, 8).expect("bound");
        }
        for (item, cpu) in [(0, 1), (1, 2)] {
            now(&mut old, 0, send(queue, item, 0, Of::None));
            assert_eq!(taken(&mut old, cpu, queue).word, item);
        }
        let queue = moves(&mut old, queue, &mut new, parallel);
        let first = new.at(new.now, 1, receive(queue));
        new.run_to(new.now + pause);
        for item in 2..4 {
            let second = new.at(new.now, 2, receive(queue));
            new.run_to(new.now + pause);
            now(&mut new, 0, send(queue, item, 0, Of::None));
            assert_eq!(
                new.answer(second).map(|(_, said)| said),
                Some(Ok(item)),
                "three in each round are the second's"
            );
            assert_eq!(new.answer(first), None);
        }
        now(&mut new, 0, send(queue, 4, 0, Of::None));
        assert_eq!(new.answer(first).map(|(_, said)| said), Some(Ok(4)));
    }
}

/// Tokens keep their numbers, and the queue gives no number twice, whatever the new device has given.
#[test]
fn tokens_come_along_and_none_is_given_twice() {
    let (mut old, mut new) = (Bench::new(&settings()), Bench::new(&settings()));
    let queue = parallel(&mut old);
    bind(&mut old, 1, queue, 1, 2).expect("bound");
    (0..6).for_each(|item| _ = now(&mut old, 0, send(queue, item, 0, Of::None)));
    let mut given = Vec::new();
    for _ in 0..3 {
        let token = taken(&mut old, 1, queue).token;
        now(&mut old, 1, complete(queue, token));
        given.push(token);
    }
    let held = taken(&mut old, 1, queue);
    // A queue of another process has the same numbers at the new device.
    new.subjects.insert(3, Subject { thread: subject(1).thread, domain: 9 });
    let asked = FlowRequest::Make { entries: 4, order: FlowOrder::Parallel, window: 1, dead: InHand::GiveUp };
    let other = QueueId(new.call(3, QueueRequest::Flow(asked)).expect("there is room") as u32);
    bind(&mut new, 3, other, 1, 1).expect("bound");
    now(&mut new, 3, send(other, 70, 0, Of::None));
    let foreign = taken(&mut new, 3, other);
    assert_eq!(foreign.token, given[0]);
    let queue = moves(&mut old, queue, &mut new, parallel);
    assert_eq!(
        new.call(0, QueueRequest::Flow(FlowRequest::Bind { queue, weight: 1, most: 63 })),
        Err(QueueRefusal::NoRoom)
    );
    for stale in &given {
        let said = is_given(now(&mut new, 1, complete(queue, *stale)));
        assert_eq!(said, Some(Err(QueueRefusal::Token)), "{stale:?}");
    }
    assert_eq!(is_given(now(&mut new, 1, send(queue, 9, 0, Of::Last(foreign.token)))), Some(Err(QueueRefusal::Token)));
    assert_eq!(is_given(now(&mut new, 3, complete(other, foreign.token))), Some(Ok(0)));
    // The next token has the entry that the other queue's token had: it was used once here.
    let next = taken(&mut new, 1, queue);
    assert_eq!((next.word, next.token.0 & 0xffff), (4, foreign.token.0 & 0xffff));
    assert!(!given.contains(&next.token), "{:?}", next.token);
    // The thread ends: what it has in hand is put back, in its order.
    assert_eq!(is_given(now(&mut new, 1, complete(queue, held.token))), Some(Ok(0)));
    new.step(Step::Retire, [subject(1).thread.into(), ANY_QUEUE, 0]);
    assert_eq!(new.count("put_back"), 1);
}

/// The age of an item in hand begins anew, and a thread that was told of its age is not told again.
#[test]
fn an_item_in_hand_ages_anew_and_is_told_of_once() {
    use crate::peripheral::settings::Or;
    for told in [false, true] {
        let settings = QmdSettings { token_age: Or(1000), ..settings() };
        let (mut old, mut new) = (Bench::new(&settings), Bench::new(&settings));
        let queue = parallel(&mut old);
        bind(&mut old, 1, queue, 1, 2).expect("bound");
        now(&mut old, 0, send(queue, 1, 0, Of::None));
        taken(&mut old, 1, queue);
        old.run_to(if told { 3000 } else { 900 });
        assert_eq!(old.fired.len(), usize::from(told));
        new.run_to(5000);
        moves(&mut old, queue, &mut new, parallel);
        new.run_to(5900);
        assert_eq!(new.fired, []);
        new.run_to(9000);
        assert_eq!(new.fired.len(), usize::from(!told));
        old.run_to(9000);
        assert_eq!(old.fired.len(), usize::from(told));
    }
}

/// What waits in a reorder buffer, and what is put back in its place, comes along.
#[test]
fn a_reorder_buffer_comes_along() {
    let ordered = |bench: &mut Bench| make(bench, FlowOrder::Ordered, 16, 4, InHand::PutBack);
    let (mut old, mut new) = (Bench::new(&settings()), Bench::new(&settings()));
    // Both devices give the same ids, so that outputs need no other names.
    let to = [&mut old, &mut new].map(|bench| make(bench, FlowOrder::Directed, 16, 1, InHand::GiveUp))[0];
    let queue = ordered(&mut old);
    [1, 2].into_iter().for_each(|cpu| _ = bind(&mut old, cpu, queue, 1, 2).expect("bound"));
    (0..4).for_each(|item| _ = now(&mut old, 0, send(queue, item, 1, Of::None)));
    let [_, b, c] = [1, 2, 2].map(|cpu| taken(&mut old, cpu, queue));
    now(&mut old, 2, send(to, 20, 1, Of::More(c.token)));
    now(&mut old, 2, complete(queue, b.token));
    // The first thread ends: its item goes back, and keeps its slot.
    old.step(Step::Retire, [subject(1).thread.into(), ANY_QUEUE, 0]);
    let queue = moves(&mut old, queue, &mut new, ordered);
    bind(&mut new, 4, to, 1, 8).expect("bound");
    let waits = new.at(new.now, 4, receive(to));
    let again = taken(&mut new, 2, queue);
    assert_eq!((again.word, new.answer(waits)), (0, None));
    let more = [21, 22, 23, 24].map(|item| is_given(now(&mut new, 2, send(to, item, 1, Of::More(c.token)))));
    let refused = Some(Err(QueueRefusal::Refused));
    assert_eq!(more, [Some(Ok(0)), Some(Ok(0)), Some(Ok(0)), refused], "one was sent on before");
    now(&mut new, 2, complete(queue, c.token));
    assert_eq!(new.answer(waits), None, "the first item's turn");
    now(&mut new, 2, send(to, 1, 1, Of::Last(again.token)));
    assert_eq!(new.answer(waits).map(|(_, said)| said), Some(Ok(1)));
    assert_eq!([0; 4].map(|_| taken(&mut new, 4, to).word), [20, 21, 22, 23]);
}

/// What a thread sent on for an item that is put back is void, if it has not left: the next thread
/// sends on anew.
#[test]
fn what_a_thread_sent_on_ends_with_the_thread() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Ordered, 16, 4, InHand::PutBack);
    let to = make(&mut bench, FlowOrder::Directed, 16, 1, InHand::GiveUp);
    [1, 2, 3].into_iter().for_each(|cpu| _ = bind(&mut bench, cpu, queue, 1, 2).expect("bound"));
    bind(&mut bench, 4, to, 1, 16).expect("bound");
    (0..2).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 1, Of::None)));
    let (a, b) = (taken(&mut bench, 1, queue), taken(&mut bench, 2, queue));
    now(&mut bench, 2, send(to, 10, 1, Of::More(b.token)));
    bench.step(Step::Retire, [subject(2).thread.into(), ANY_QUEUE, 0]);
    let again = taken(&mut bench, 3, queue);
    assert_eq!(again.word, b.word);
    let sent: Vec<_> =
        (0..4).map(|item| is_given(now(&mut bench, 3, send(to, item, 1, Of::More(again.token))))).collect();
    assert_eq!(sent, [Some(Ok(0)); 4], "the slot is empty again");
    now(&mut bench, 3, complete(queue, again.token));
    now(&mut bench, 1, complete(queue, a.token));
    assert_eq!([0; 4].map(|_| taken(&mut bench, 4, to).word), [0, 1, 2, 3]);
    assert_eq!(now(&mut bench, 4, receive(to)), None);
}

/// While queues are closed, nothing enters one of them: not an item, not one that is sent on for a
/// closed queue's token, and not one that a releaser brings.
#[test]
fn nothing_enters_a_closed_queue() {
    for closed in 0..2 {
        let mut bench = Bench::new(&settings());
        let queue = make(&mut bench, FlowOrder::Ordered, 16, 4, InHand::GiveUp);
        let to = make(&mut bench, FlowOrder::Directed, 16, 1, InHand::GiveUp);
        bind(&mut bench, 1, queue, 1, 1).expect("bound");
        now(&mut bench, 0, send(queue, 0, 1, Of::None));
        let held = taken(&mut bench, 1, queue);
        now(&mut bench, 1, send(to, 9, 1, Of::More(held.token)));
        let count = |bench: &Bench, queue| {
            let slot = bench.device.0.storage.find(queue).expect("its slot");
            bench.device.0.flows.get(slot).expect("with flows").items()
        };
        assert_eq!(count(&bench, to), 1, "the first slot's item leaves at once");
        let closes = [queue, to][closed];
        bench.step(Step::Close, [closes.0.into(), 0, 0]);
        let sent = [(1, send(to, 5, 1, Of::Last(held.token))), (2, send(closes, 6, 1, Of::None))];
        let sent = sent.map(|(cpu, asked)| bench.at(bench.now, cpu, asked));
        bench.run_to(bench.now + 1000);
        assert_eq!(sent.map(|number| bench.answer(number)), [None; 2]);
        assert_eq!(count(&bench, closes), closed);
        bench.step(Step::Open, [closes.0.into(), 0, 0]);
        bench.run_to(bench.now + 1000);
        assert_eq!(sent.map(|number| bench.answer(number).map(|(_, said)| said)), [Some(Ok(0)); 2]);
    }
    // What was sent on before the next queue is closed stays in its slot.
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Ordered, 16, 4, InHand::GiveUp);
    let to = make(&mut bench, FlowOrder::Directed, 16, 1, InHand::GiveUp);
    [1, 2].into_iter().for_each(|cpu| _ = bind(&mut bench, cpu, queue, 1, 1).expect("bound"));
    bind(&mut bench, 4, to, 1, 1).expect("bound");
    (0..2).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 1, Of::None)));
    let (a, b) = (taken(&mut bench, 1, queue), taken(&mut bench, 2, queue));
    now(&mut bench, 2, send(to, 9, 1, Of::Last(b.token)));
    bench.step(Step::Close, [to.0.into(), 0, 0]);
    now(&mut bench, 1, complete(queue, a.token));
    // Other requests give the releaser cycles to act in.
    now(&mut bench, 0, send(queue, 2, 1, Of::None));
    let slot = bench.device.0.storage.find(to).expect("its slot");
    assert_eq!(bench.device.0.flows.get(slot).expect("with flows").items(), 0, "the releaser waits");
    bench.step(Step::Open, [to.0.into(), 0, 0]);
    assert_eq!(taken(&mut bench, 4, to).word, 9);
}

/// A closed queue keeps every request waiting, also those that would not wait, and its releaser.
#[test]
fn a_closed_queue_does_nothing() {
    let mut bench = Bench::new(&settings());
    let queue = make(&mut bench, FlowOrder::Ordered, 16, 4, InHand::GiveUp);
    let to = make(&mut bench, FlowOrder::Directed, 1, 1, InHand::GiveUp);
    bind(&mut bench, 1, queue, 1, 2).expect("bound");
    bind(&mut bench, 4, to, 1, 2).expect("bound");
    (0..2).for_each(|item| _ = now(&mut bench, 0, send(queue, item, 1, Of::None)));
    let [a, b] = [1, 1].map(|cpu| taken(&mut bench, cpu, queue));
    now(&mut bench, 0, send(to, 5, 1, Of::None));
    now(&mut bench, 1, send(to, 6, 1, Of::Last(a.token)));
    bench.step(Step::Close, [queue.0.into(), 0, 0]);
    assert_eq!(taken(&mut bench, 4, to).word, 5);
    let from = Operand { mode: Mode::Try, ..Operand::of(queue) };
    let tries = QueueRequest::Flow(FlowRequest::Receive { from });
    let asked = [(1, complete(queue, b.token)), (2, send(to, 7, 1, Of::Last(b.token))), (3, tries)];
    let waiting = asked.map(|(cpu, asked)| bench.at(bench.now, cpu, asked));
    let released = bench.at(bench.now, 4, receive(to));
    bench.run_to(bench.now + 1000);
    // The second is another thread's, so that its token is refused.
    assert_eq!(waiting.map(|number| bench.answer(number).is_some()), [false, true, false]);
    assert_eq!(bench.answer(released), None, "the releaser waits too");
    assert_eq!(bind(&mut bench, 5, queue, 1, 1), Err(QueueRefusal::Refused));
    let credited = QueueRequest::Allocate { entries: 4, queues: 1, enqueue_credits: true, dequeue_credits: false };
    let credited = QueueId(bench.call(0, credited).expect("there is room") as u32);
    bench.step(Step::Close, [credited.0.into(), 0, 0]);
    let join = QueueRequest::Join { queue: credited, direction: Direction::Enqueue, weight: 1 };
    assert_eq!(bench.call(0, join), Err(QueueRefusal::Refused), "it would stay behind");
    bench.step(Step::Open, [queue.0.into(), 0, 0]);
    bench.run_to(bench.now + 1000);
    assert_eq!(bench.answer(released).map(|(_, said)| said), Some(Ok(6)));
    let said = [waiting[0], waiting[2]].map(|number| bench.answer(number).map(|(_, said)| said));
    assert_eq!(said, [Some(Ok(0)), Some(Err(QueueRefusal::Refused))], "the third thread is not bound");
    assert_eq!(Carried::from_words([0; 2], 99), None);
}
