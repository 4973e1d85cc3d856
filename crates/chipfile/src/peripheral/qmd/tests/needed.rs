//! Tests of steps that no other test needs: without these tests, mutants of `scripts/mutate/mutate
//! qmd` pass.

use super::*;

fn allocate(entries: u32, queues: u32) -> QueueRequest {
    QueueRequest::Allocate { entries, queues, enqueue_credits: false, dequeue_credits: false }
}

/// Calls back a request that has come. The bench notes the edges for which the device then asks.
fn cancel(bench: &mut Bench, cpu: u32, number: u32, asked: QueueRequest) -> Cancelled {
    let Words { tag: op, words } = asked.to_words();
    let mut effects = Vec::new();
    let request = Request { packet: number, op, words, privileged: false, cpu, subject: subject(cpu) };
    let said = bench.device.cancel(&request, &mut Port { now: bench.now, cpus: 64, effects: &mut effects });
    for effect in effects {
        if let Effect::Tick { at } = effect {
            bench.tick = Some(bench.tick.map_or(at, |tick| tick.min(at)));
        }
    }
    said
}

/// Runs a context's requests for two queues; the first request leaves the head at cycle 600, from
/// which the timer counts anew.
fn dropped_behind(leaves: impl FnOnce(&mut Bench, QueueId)) -> Option<(u64, QueueAnswer)> {
    let mut bench = Bench::new(&QmdSettings { timeout: 1000, ..settings() });
    let queue = bench.queues(4, 2);
    bench.at(100, 6, get(queue));
    let behind = bench.at(100, 6, get(queue.plus(1)));
    bench.run_to(599);
    leaves(&mut bench, queue);
    bench.run_to(1500);
    assert_eq!(bench.answer(behind), None, "it is the head since 600");
    bench.run_to(2000);
    bench.answer(behind)
}

#[test]
fn the_timer_counts_from_when_a_request_is_its_buffers_head() {
    let served = dropped_behind(|bench, queue| {
        bench.at(599, 0, put(queue, 1));
    });
    let released = dropped_behind(|bench, queue| {
        assert_eq!(bench.call(0, QueueRequest::Release(queue)), Ok(0));
    });
    assert_eq!([served, released].map(|said| said.map(|(_, said)| said)), [Some(Err(QueueRefusal::Dropped)); 2]);
}

#[test]
fn the_timer_leaves_contexts_alone_that_were_served() {
    let mut bench = Bench::new(&QmdSettings { timeout: 1000, ..settings() });
    let queue = bench.queues(4, 3);
    let late = bench.at(100, 6, get(queue.plus(2)));
    bench.at(100, 7, get(queue));
    let others = [1, 1].map(|which| bench.at(100, 7, get(queue.plus(which))));
    bench.at(600, 0, put(queue, 1));
    bench.run_to(1200);
    assert_eq!(bench.answer(late).map(|(_, said)| said), Some(Err(QueueRefusal::Dropped)));
    assert_eq!(others.map(|number| bench.answer(number)), [None; 2]);
}

#[test]
fn neighbouring_queues_take_free_slots_alone() {
    let mut bench = Bench::new(&QmdSettings { entries: 100, queues: 4, ..settings() });
    let [first, second, _] = [0; 3].map(|_| bench.queues(1, 1));
    assert_eq!(bench.call(0, QueueRequest::Release(first)), Ok(0));
    assert_eq!(bench.call(0, allocate(1, 2)), Err(QueueRefusal::NoRoom), "the free slots are no neighbours");
    assert_eq!(bench.call(0, QueueRequest::Release(second)), Ok(0), "it is still there");
    assert!(bench.call(0, allocate(1, 2)).is_ok());
}

#[test]
fn a_full_buffer_leaves_requests_in_the_port() {
    let mut bench = Bench::new(&QmdSettings { buffers: Sharing::All, depth: 4, ..settings() });
    let queue = bench.queues(1, 1);
    let Words { tag: op, words } = get(queue).to_words();
    let mut effects = Vec::new();
    let mut port = Port { now: 100, cpus: 64, effects: &mut effects };
    let request = |packet| Request { packet, op, words, privileged: false, cpu: packet, subject: subject(packet) };
    let taken = [10, 11, 12, 13, 14].map(|packet| bench.device.take(request(packet), &mut port));
    assert_eq!(taken, [Taken::Yes, Taken::Yes, Taken::Yes, Taken::Yes, Taken::Later]);
}

#[test]
fn refusals_and_drains_are_counted() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    assert_eq!(bench.call(0, QueueRequest::Release(queue.plus(1))), Err(QueueRefusal::NoQueue));
    assert_eq!(bench.count("refused"), 1);
    // One request waits, and one comes in the cycle of the drain.
    let waits = bench.at(100, 6, get(queue));
    bench.run_to(199);
    let came = bench.at(200, 6, get(queue));
    bench.now = 200;
    assert_eq!(bench.step(Step::Drain, [106, 0, 0]), 2);
    bench.run_to(1000);
    assert_eq!([waits, came].map(|number| bench.answer(number)), [Some((201, Err(QueueRefusal::Dropped))); 2]);
    assert_eq!(bench.count("dropped"), 2);
}

#[test]
fn what_came_in_this_cycle_can_be_called_back() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    let asked = get(queue);
    let Words { tag: op, words } = asked.to_words();
    let request = Request { packet: 77, op, words, privileged: false, cpu: 3, subject: subject(3) };
    let mut effects = Vec::new();
    assert_eq!(bench.device.take(request, &mut Port { now: 0, cpus: 64, effects: &mut effects }), Taken::Yes);
    assert_eq!(cancel(&mut bench, 3, 77, asked), Cancelled::Yes);
}

#[test]
fn what_stood_behind_a_request_that_is_called_back_has_its_turn() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 2);
    bench.at(10, 0, put(queue.plus(1), 7));
    let (head, behind) = (bench.at(100, 3, get(queue)), bench.at(100, 3, get(queue.plus(1))));
    bench.run_to(300);
    assert_eq!(bench.answer(behind), None);
    assert_eq!(cancel(&mut bench, 3, head, get(queue)), Cancelled::Yes);
    bench.run_to(1000);
    assert_eq!(bench.answer(behind), Some((301 + LATENCY, Ok(7))));
}

#[test]
fn a_pointer_of_a_released_queue_does_not_move_in_the_next() {
    let mut bench = Bench::new(&QmdSettings { pointers: Pointers::Access, ..settings() });
    let queue = bench.queues(4, 1);
    bench.at(100, 0, put(queue, 1));
    bench.run_to(120);
    assert_eq!(bench.call(0, QueueRequest::Release(queue)), Ok(1), "its item was on its way in");
    let next = bench.queues(4, 1);
    let empty = bench.at(400, 0, get(next));
    bench.run_to(1000);
    assert_eq!(bench.answer(empty), None);
}

#[test]
fn what_cannot_be_joined_reduced_or_balanced_is_refused() {
    let mut bench = Bench::new(&settings());
    let asked = QueueRequest::Allocate { entries: 4, queues: 2, enqueue_credits: true, dequeue_credits: false };
    let credited = QueueId(bench.call(0, asked).expect("room") as u32);
    let plain = bench.queues(4, 4);
    let join = QueueRequest::Join { queue: credited, direction: Direction::Enqueue, weight: 0 };
    let reduce = |from, to| QueueRequest::Reduce { by: Combine::FloatSum, from, to, count: 2 };
    let balance = QueueRequest::Balance { first: credited, count: 2 };
    for asked in [join, balance, reduce(plain, plain.plus(1)), reduce(credited, plain), reduce(plain, credited)] {
        assert_eq!(bench.call(0, asked), Err(QueueRefusal::Refused), "{asked:?}");
    }
}

#[test]
fn of_equals_the_balancer_takes_the_next() {
    let mut bench = Bench::new(&settings());
    let first = bench.queues(2, 2);
    let group = QueueId(bench.call(0, QueueRequest::Balance { first, count: 2 }).expect("a group") as u32);
    bench.at(100, 0, put(group, 1));
    bench.at(200, 1, get(first));
    bench.at(300, 0, put(group, 2));
    let item = bench.at(400, 1, get(first.plus(1)));
    bench.run_to(1000);
    assert_eq!(bench.answer(item).map(|(_, said)| said), Some(Ok(2)));
}

/// Makes two queues of one entry that a reducer reads, and two that the reducer writes.
fn reducing() -> (Bench, QueueId, QueueId) {
    let mut bench = Bench::new(&settings());
    let (from, to) = (bench.queues(1, 2), bench.queues(1, 2));
    assert_eq!(bench.call(0, QueueRequest::Reduce { by: Combine::FloatSum, from, to, count: 2 }), Ok(0));
    (bench, from, to)
}

fn number(said: Option<(u64, QueueAnswer)>) -> Option<f64> {
    said.and_then(|(_, said)| said.ok()).map(f64::from_bits)
}

#[test]
fn a_reducer_waits_for_room_and_makes_room() {
    let (mut bench, from, to) = reducing();
    for (round, value) in [(0, 1.0f64), (1, 10.0)] {
        for worker in 0..2 {
            bench.at(100 * (round + 1), worker, put(from.plus(worker), value.to_bits()));
        }
    }
    bench.run_to(500);
    assert_eq!((bench.count("enqueued"), bench.count("reduced")), (4, 1), "the second sum has no room yet");
    let sums = [600, 800].map(|at| [0, 1].map(|worker| bench.at(at, worker, get(to.plus(worker)))));
    bench.run_to(1000);
    assert_eq!(sums.map(|both| both.map(|sum| number(bench.answer(sum)))), [[Some(2.0); 2], [Some(20.0); 2]]);
}

#[test]
fn a_sum_that_is_under_way_is_kept_where_its_reducer_ends() {
    let (mut bench, from, to) = reducing();
    for worker in 0..2 {
        bench.at(100, worker, put(from.plus(worker), 1.5f64.to_bits()));
    }
    // The items are there in cycle 102. The reducer looks at the next edge of the device, and the
    // sum is there six cycles later.
    let waits = bench.at(103, 1, get(to.plus(1)));
    bench.run_to(106);
    assert_eq!(bench.count("reduced"), 0);
    assert_eq!(bench.call(0, QueueRequest::Release(from)), Ok(0));
    let sum = bench.at(200, 0, get(to));
    bench.run_to(1000);
    assert_eq!([waits, sum].map(|get| number(bench.answer(get))), [Some(3.0); 2]);
}

/// Makes a reducer that reads three queues and writes three others. Returns the first queue that it
/// reads, and the first that it writes.
fn reducer(bench: &mut Bench, by: Combine) -> [QueueId; 2] {
    let (from, to) = (bench.queues(4, 3), bench.queues(2, 3));
    assert_eq!(bench.call(0, QueueRequest::Reduce { by, from, to, count: 3 }), Ok(0));
    [from, to]
}

#[test]
fn a_reducer_combines_as_it_was_told() {
    let float = |value: f64| value.to_bits();
    let floats = [float(2.5), float(-4.0), float(1.0)];
    let integers = [5u64, u64::MAX - 6, 3];
    for (by, items, result) in [
        (Combine::FloatSum, floats, float(-0.5)),
        (Combine::FloatMinimum, floats, float(-4.0)),
        (Combine::FloatMaximum, floats, float(2.5)),
        (Combine::IntegerSum, integers, 1),
        (Combine::IntegerMinimum, integers, u64::MAX - 6),
        (Combine::IntegerMaximum, integers, 5),
    ] {
        let mut bench = Bench::new(&settings());
        let [from, to] = reducer(&mut bench, by);
        for (worker, item) in (0..).zip(items) {
            bench.at(100, worker, put(from.plus(worker), item));
        }
        let got = bench.at(200, 5, get(to.plus(1)));
        bench.run_to(1000);
        assert_eq!(bench.answer(got).expect("combined").1, Ok(result), "{by:?}");
    }
}

/// A member that has ended is waited for no more: neither for its item nor for room in its queue. What it had sent counts.
#[test]
fn a_reducer_goes_on_without_a_member_that_has_ended() {
    let mut bench = Bench::new(&settings());
    let [from, to] = reducer(&mut bench, Combine::IntegerSum);
    let join = |queue| QueueRequest::Join { queue, direction: Direction::Enqueue, weight: 1 };
    assert_eq!(bench.call(2, join(from.plus(2))), Ok(0));
    assert_eq!(bench.call(1, join(from.plus(2))), Err(QueueRefusal::Refused), "it has a member");
    assert_eq!(bench.call(1, join(to)), Err(QueueRefusal::Refused), "no reducer reads it");
    bench.at(100, 2, put(from.plus(2), 100));
    for turn in 0..6 {
        for worker in 0..2 {
            bench.at(200 + 50 * turn, worker, put(from.plus(worker), 1 + turn));
        }
    }
    let first: Vec<u32> = (0..2).map(|worker| bench.at(150, worker, get(to.plus(worker)))).collect();
    bench.run_to(5_000);
    assert_eq!(first.iter().map(|&got| bench.answer(got).expect("the first sum").1).collect::<Vec<_>>(), [Ok(102); 2]);
    assert_eq!(bench.count("reduced"), 1, "then the third item is missing");
    bench.step(Step::Retire, [102, ANY_QUEUE, 0]);
    for turn in 1..4 {
        let got: Vec<u32> = (0..2).map(|worker| bench.at(6_000 + 100 * turn, worker, get(to.plus(worker)))).collect();
        bench.run_to(6_090 + 100 * turn);
        assert_eq!(
            got.iter().map(|&got| bench.answer(got).expect("a sum").1).collect::<Vec<_>>(),
            [Ok(2 + 2 * turn); 2]
        );
    }
}
