//! What hangs on the thread that makes a request: order across priorities, credits, and what comes
//! back when the thread ends.

use super::*;

/// A queue whose enqueues need credits.
fn credited(bench: &mut Bench, entries: u32) -> QueueId {
    let asked = QueueRequest::Allocate { entries, queues: 1, enqueue_credits: true, dequeue_credits: false };
    QueueId(bench.call(0, asked).expect("room") as u32)
}

fn join(queue: QueueId, weight: u32) -> QueueRequest {
    QueueRequest::Join { queue, direction: Direction::Enqueue, weight }
}

fn take(queue: QueueId) -> QueueRequest {
    QueueRequest::Dequeue { from: Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(queue) } }
}

fn said(bench: &mut Bench, cycle: u64, cpu: u32, asked: QueueRequest) -> QueueAnswer {
    let number = bench.at(cycle, cpu, asked);
    bench.run_to(cycle + 500);
    bench.answer(number).expect("answered").1
}

fn urgent(queue: QueueId, priority: u8) -> Operand {
    Operand { priority, ..Operand::of(queue) }
}

/// One thread's items of one queue keep their order whatever priorities it gives them; those of two
/// threads, and of two queues, do not.
#[test]
fn a_threads_requests_for_a_queue_keep_their_order_across_priorities() {
    for buffers in [Sharing::Context, Sharing::All] {
        for schedule in [Schedule::RoundRobin, Schedule::Weighted] {
            let mut bench = Bench::new(&QmdSettings { priorities: 3, buffers, schedule, ..settings() });
            let queue = bench.queues(3, 1);
            for item in 0..9 {
                // A priority beyond the device's last one counts as the last one.
                let priority = [0, 0, 0, 0, 0, 0, 1, 2, 200][item as usize];
                bench.at(100, 1, QueueRequest::Enqueue { to: urgent(queue, priority), item });
            }
            let mut items = Vec::new();
            for turn in 0..9 {
                items.push(said(&mut bench, 1000 + turn * 1000, 2, get(queue)).expect("an item"));
            }
            assert_eq!(items, (0..9).collect::<Vec<_>>(), "{buffers:?} {schedule:?}");
        }
    }
}

#[test]
fn dequeues_keep_their_order_across_priorities_too() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(8, 1);
    let gets: Vec<u32> = [0, 1, 0, 1]
        .into_iter()
        .map(|priority| bench.at(100, 1, QueueRequest::Dequeue { from: urgent(queue, priority) }))
        .collect();
    for item in 0..4 {
        bench.at(500 + item, 2, put(queue, item));
    }
    bench.run_to(2000);
    let items: Vec<QueueAnswer> = gets.iter().map(|&get| bench.answer(get).expect("served").1).collect();
    assert_eq!(items, [Ok(0), Ok(1), Ok(2), Ok(3)]);
}

#[test]
fn an_urgent_request_of_another_thread_or_queue_goes_ahead() {
    let mut bench = Bench::new(&QmdSettings { buffers: Sharing::All, ..settings() });
    let queues = bench.queues(1, 2);
    bench.at(10, 1, put(queues, 1));
    let blocked = bench.at(100, 1, put(queues, 2));
    let other = bench.at(200, 1, QueueRequest::Enqueue { to: urgent(queues.plus(1), 1), item: 3 });
    let stranger = bench.at(300, 2, QueueRequest::Dequeue { from: urgent(queues, 1) });
    bench.run_to(1000);
    assert_eq!(bench.answer(other).map(|(_, said)| said), Some(Ok(0)));
    assert_eq!(bench.answer(stranger).map(|(_, said)| said), Some(Ok(1)));
    assert_eq!(bench.answer(blocked).map(|(_, said)| said), Some(Ok(0)));
}

/// A request whose priority the device does not have joins the buffer of the last priority, and has
/// only the room that is left there.
#[test]
fn a_priority_that_there_is_not_has_no_room_of_its_own() {
    let mut bench = Bench::new(&QmdSettings { buffers: Sharing::All, depth: 2, ..settings() });
    let queues = bench.queues(1, 8);
    let mut effects = Vec::new();
    let mut port = Port { now: 100, cpus: 64, effects: &mut effects };
    let taken: Vec<Taken> = (0..3)
        .map(|n: u32| {
            let asked = QueueRequest::Dequeue { from: urgent(queues.plus(n), 1 + n as u8) };
            let Words { tag: op, words } = asked.to_words();
            let request = Request { packet: n, op, words, privileged: false, cpu: n, subject: subject(n) };
            bench.device.take(request, &mut port)
        })
        .collect();
    assert_eq!(taken, [Taken::Yes, Taken::Yes, Taken::Later]);
}

#[test]
fn a_request_for_credits_does_not_wait_behind_a_dequeue() {
    for buffers in [Sharing::Context, Sharing::All] {
        let mut bench = Bench::new(&QmdSettings { buffers, ..settings() });
        let (queue, empty) = (credited(&mut bench, 8), bench.queues(4, 1));
        assert_eq!(bench.call(3, join(queue, 1)), Ok(0));
        let stuck = bench.at(100, 3, get(empty));
        assert_eq!(said(&mut bench, 200, 3, take(queue)), Ok(8), "{buffers:?}");
        assert_eq!(bench.answer(stuck), None);
    }
}

#[test]
fn credits_are_the_threads_wherever_it_runs() {
    let mut bench = Bench::new(&settings());
    let queue = credited(&mut bench, 8);
    assert_eq!(bench.call(3, join(queue, 1)), Ok(0));
    assert_eq!(said(&mut bench, 1000, 3, take(queue)), Ok(8));
    // Context 3 now runs another thread, and context 9 the thread that has the credits.
    bench.subjects.insert(3, subject(4));
    bench.subjects.insert(9, subject(3));
    assert_eq!(said(&mut bench, 2000, 3, put(queue, 1)), Err(QueueRefusal::NoCredit));
    assert_eq!(said(&mut bench, 3000, 3, take(queue)), Ok(0), "it has not joined");
    assert_eq!(said(&mut bench, 4000, 9, put(queue, 2)), Ok(0));
}

#[test]
fn credits_of_a_thread_that_ends_come_back() {
    let mut bench = Bench::new(&settings());
    let queue = credited(&mut bench, 8);
    assert_eq!(bench.call(3, join(queue, 1)), Ok(0));
    assert_eq!(said(&mut bench, 1000, 3, take(queue)), Ok(8));
    assert_eq!(bench.call(4, join(queue, 1)), Ok(0));
    assert_eq!(said(&mut bench, 2000, 4, take(queue)), Ok(0));
    assert_eq!(bench.step(Step::Retire, [103, 99, 0]), 0, "for another queue");
    assert_eq!(bench.step(Step::Retire, [103, ANY_QUEUE, 0]), 8);
    assert_eq!(bench.count("reclaimed"), 8);
    assert_eq!(said(&mut bench, 3000, 3, put(queue, 1)), Err(QueueRefusal::NoCredit));
    assert_eq!(said(&mut bench, 4000, 4, take(queue)), Ok(8));
}

#[test]
fn the_timer_takes_credits_back_that_are_not_spent() {
    let mut bench = Bench::new(&QmdSettings { timeout: 1000, ..settings() });
    let queue = credited(&mut bench, 8);
    assert_eq!(bench.call(3, join(queue, 1)), Ok(0));
    assert_eq!(said(&mut bench, 100, 3, take(queue)), Ok(8));
    bench.at(1050, 3, put(queue, 1));
    bench.run_to(2000);
    assert_eq!(bench.device.counts().iter().find(|(name, _)| *name == "reclaimed"), None, "it has spent one");
    bench.run_to(2051);
    assert_eq!(bench.count("reclaimed"), 7);
    assert_eq!(bench.interrupts, [], "credits interrupt no one");
    assert_eq!(said(&mut bench, 3000, 3, put(queue, 2)), Err(QueueRefusal::NoCredit));
}

#[test]
fn a_queue_is_its_domains_alone() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    bench.subjects.insert(5, Subject { thread: 105, domain: 1 });
    assert_eq!(bench.call(5, QueueRequest::Release(queue)), Err(QueueRefusal::NoQueue));
    let (own, foreign) = (bench.at(100, 0, put(queue, 1)), bench.at(100, 5, put(queue, 2)));
    let steals = bench.at(200, 5, get(queue));
    bench.run_to(1000);
    assert_eq!(bench.answer(own).expect("answered").1, Ok(0));
    assert_eq!(bench.answer(foreign), Some((101, Err(QueueRefusal::NoQueue))));
    assert_eq!(bench.answer(steals), Some((201, Err(QueueRefusal::NoQueue))));
}

#[test]
fn a_guard_thread_drains_a_thread_and_no_other() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    let (stuck, other) = (bench.at(100, 6, get(queue)), bench.at(100, 7, get(queue)));
    bench.run_to(200);
    assert_eq!(bench.step(Step::Drain, [106, 0, 0]), 1);
    assert_eq!(bench.answer(stuck), Some((201, Err(QueueRefusal::Dropped))));
    bench.at(300, 1, put(queue, 5));
    bench.run_to(1000);
    assert_eq!(bench.answer(other).expect("served").1, Ok(5));
    assert_eq!(bench.interrupts, [(6, 200)]);
}
