//! Threads that leave their CPU while they wait: which requests the device drops and when, and
//! which threads it interrupts.

use super::*;

impl Bench {
    /// The operating system says whether threads wait for a CPU.
    fn crowd(&mut self, crowded: bool) {
        let mut effects = Vec::new();
        self.device.crowded(crowded, &mut Port { now: self.now, cpus: 64, effects: &mut effects });
        for effect in effects {
            let Effect::Tick { at } = effect else { panic!("{effect:?}") };
            self.tick = Some(self.tick.map_or(at, |tick| tick.min(at)));
        }
    }

    fn said(&self, request: u32) -> Option<QueueAnswer> {
        self.answer(request).map(|(_, said)| said)
    }
}

const PATIENCE: u64 = 5000;

fn timed(queue: QueueId, follows: bool) -> Operand {
    Operand { mode: Mode::Timed { follows }, ..Operand::of(queue) }
}

fn get_timed(queue: QueueId, follows: bool) -> QueueRequest {
    QueueRequest::Dequeue { from: timed(queue, follows) }
}

fn arm(queue: QueueId, direction: Direction) -> QueueRequest {
    QueueRequest::Dequeue { from: Operand { mode: Mode::Arm(direction), ..Operand::of(queue) } }
}

#[test]
fn a_timed_request_is_dropped_when_patience_ends_and_others_wait_on() {
    let mut bench = Bench::new(&settings());
    bench.crowd(true);
    let queue = bench.queues(4, 1);
    let (one, blocks) = (bench.at(100, 1, get_timed(queue, false)), bench.at(100, 2, get(queue)));
    bench.run_to(100 + PATIENCE - 1);
    assert_eq!(bench.answer(one), None);
    bench.run_to(100 + PATIENCE);
    assert_eq!(bench.answer(one), Some((101 + PATIENCE, Err(QueueRefusal::Dropped))));
    bench.run_to(100_000);
    assert_eq!(bench.answer(blocks), None);
    assert_eq!((bench.count("dropped"), bench.interrupts.len()), (1, 0));
    assert_eq!(bench.tick, None, "nothing is left to look at");
}

#[test]
fn without_a_crowd_or_without_a_limit_a_timed_request_waits_on() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    let one = bench.at(100, 1, get_timed(queue, false));
    bench.run_to(20_000);
    assert_eq!(bench.answer(one), None);
    // What has waited for long is dropped at once when threads come that wait for a CPU.
    bench.crowd(true);
    bench.run_to(20_100);
    assert_eq!(bench.answer(one), Some((20_002, Err(QueueRefusal::Dropped))));
    let late = bench.at(20_200, 1, get_timed(queue, false));
    bench.run_to(20_300).crowd(false);
    bench.run_to(40_000);
    assert_eq!(bench.answer(late), None);
    let mut patient = Bench::new(&QmdSettings { patience: Or(0), ..settings() });
    patient.crowd(true);
    let queue = patient.queues(4, 1);
    let one = patient.at(100, 1, get_timed(queue, false));
    patient.run_to(1_000_000);
    assert_eq!(patient.answer(one), None);
}

/// However short patience is, a request has its turn before it is dropped.
#[test]
fn a_request_that_can_be_served_is_not_dropped_before_its_turn() {
    let mut bench = Bench::new(&QmdSettings { patience: Or(1), ..settings() });
    bench.crowd(true);
    let queues = bench.queues(8, 2);
    (0..8).for_each(|item| assert_eq!(said(&mut bench, 1_000 * item, 0, put(queues, item)), Ok(0)));
    let all: Vec<u32> = (0..8).map(|cpu| bench.at(20_000, cpu, get_timed(queues, false))).collect();
    let empty = bench.at(20_000, 9, get_timed(queues.plus(1), false));
    bench.run_to(21_000);
    let items: Vec<QueueAnswer> = all.iter().map(|&one| bench.said(one).expect("answered")).collect();
    assert_eq!(items, (0..8).map(Ok).collect::<Vec<_>>());
    assert_eq!(bench.said(empty), Some(Err(QueueRefusal::Dropped)));
}

/// A row that is served from time to time is not dropped: patience counts from the last service.
#[test]
fn a_head_is_as_old_as_the_last_service_before_it() {
    let mut bench = Bench::new(&settings());
    bench.crowd(true);
    let queue = bench.queues(4, 1);
    let row: Vec<u32> = (0..3).map(|n| bench.at(100, 1, get_timed(queue, n > 0))).collect();
    bench.at(4_000, 2, put(queue, 7));
    bench.at(8_000, 2, put(queue, 8));
    bench.run_to(8_001 + PATIENCE);
    assert_eq!([0, 1, 2].map(|n| bench.said(row[n])), [Some(Ok(7)), Some(Ok(8)), None]);
    bench.run_to(8_100 + PATIENCE);
    assert_eq!(bench.said(row[2]), Some(Err(QueueRefusal::Dropped)));
}

/// What follows a dropped request goes with it, waiting or not yet there, until a new row begins.
#[test]
fn a_row_is_dropped_as_a_whole() {
    for buffers in [Sharing::Context, Sharing::All] {
        let mut bench = Bench::new(&QmdSettings { buffers, ..settings() });
        bench.crowd(true);
        let queues = bench.queues(1, 2);
        bench.at(10, 0, put(queues, 0));
        let to = |follows| timed(queues, follows);
        let row = |at, follows| (at, 1, QueueRequest::Enqueue { to: to(follows), item: at });
        let first: Vec<u32> = [row(100, false), row(2_000, true), row(4_000, true)]
            .into_iter()
            .map(|(at, cpu, asked)| bench.at(at, cpu, asked))
            .collect();
        let other = bench.at(150, 1, get_timed(queues.plus(1), false));
        bench.run_to(100 + PATIENCE);
        for request in first {
            assert_eq!(bench.said(request), Some(Err(QueueRefusal::Dropped)), "{buffers:?}");
        }
        // There is room now, and one that was on its way comes too late for it.
        let got = bench.at(6_000, 2, get(queues));
        let late = bench.at(6_100, 1, row(6_100, true).2);
        bench.run_to(6_200);
        assert_eq!(bench.said(got), Some(Ok(0)));
        assert_eq!(bench.answer(late), Some((6_101, Err(QueueRefusal::Dropped))));
        let anew: Vec<u32> = [row(6_300, false).2, row(6_301, true).2].map(|asked| bench.at(6_300, 1, asked)).into();
        bench.at(6_500, 2, get(queues));
        bench.run_to(7_000);
        assert_eq!([bench.said(anew[0]), bench.said(anew[1])], [Some(Ok(0)), Some(Ok(0))], "{buffers:?}");
        assert_eq!(bench.said(other), Some(Err(QueueRefusal::Dropped)), "a row of its own, as old");
    }
}

#[test]
fn a_request_that_follows_another_threads_row_is_dropped() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    bench.at(10, 1, get_timed(queue, false));
    bench.subjects.insert(1, Subject { thread: 7, domain: 0 });
    let stranger = bench.at(20, 1, get_timed(queue, true));
    bench.run_to(100);
    assert_eq!(bench.answer(stranger), Some((21, Err(QueueRefusal::Dropped))));
}

/// The chip's own timer and a guard thread drop rows as a whole, too.
#[test]
fn the_timer_drops_the_rest_of_a_row() {
    let mut bench = Bench::new(&QmdSettings { timeout: 1000, ..settings() });
    let queue = bench.queues(4, 1);
    let row: Vec<u32> = (0..3).map(|n| bench.at(100 + 300 * n, 1, get_timed(queue, n > 0))).collect();
    bench.run_to(1101);
    for request in row {
        assert_eq!(bench.said(request), Some(Err(QueueRefusal::Dropped)));
    }
}

#[test]
fn an_armed_thread_is_interrupted_once_when_there_is_an_item() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 2);
    let armed = bench.at(100, 3, arm(queue, Direction::Dequeue));
    bench.at(200, 1, put(queue.plus(1), 1));
    bench.run_to(500);
    assert_eq!((bench.said(armed), bench.fired.clone()), (Some(Ok(0)), vec![]));
    bench.at(600, 1, put(queue, 1));
    bench.at(700, 1, put(queue, 2));
    bench.run_to(1000);
    assert_eq!(bench.fired, [(3, 103, 601)]);
    assert_eq!(bench.count("fired"), 1);
    let now = bench.at(1100, 3, arm(queue, Direction::Dequeue));
    bench.run_to(2000);
    assert_eq!((bench.said(now), bench.fired.len()), (Some(Ok(1)), 1), "there is an item: it is not armed");
}

#[test]
fn an_armed_thread_is_interrupted_when_there_is_room_in_a_queue_or_a_group() {
    for group in [false, true] {
        let mut bench = Bench::new(&QmdSettings { pointers: Pointers::Access, ..settings() });
        let queues = bench.queues(1, 2);
        let to = if group {
            QueueId(bench.call(0, QueueRequest::Balance { first: queues, count: 2 }).expect("a group") as u32)
        } else {
            queues
        };
        let free = bench.at(10, 3, arm(to, Direction::Enqueue));
        bench.at(20, 1, put(queues, 1));
        bench.at(21, 1, put(queues.plus(1), 1));
        bench.run_to(300);
        assert_eq!(bench.said(free), Some(Ok(1)));
        bench.at(400, 3, arm(to, Direction::Enqueue));
        bench.at(600, 2, get(if group { queues.plus(1) } else { queues }));
        bench.run_to(1000);
        assert_eq!(bench.fired, [(3, 103, 601 + LATENCY)], "when the head has moved");
    }
}

#[test]
fn a_thread_is_armed_once_and_a_full_table_says_so() {
    let mut bench = Bench::new(&QmdSettings { armed: Or(1), ..settings() });
    let queues = bench.queues(4, 2);
    let all = [(3, queues), (4, queues), (3, queues.plus(1))]
        .map(|(cpu, queue)| (cpu, arm(queue, Direction::Dequeue)))
        .map(|(cpu, asked)| bench.at(u64::from(bench.sent) * 100, cpu, asked));
    bench.run_to(1000);
    assert_eq!(all.map(|one| bench.said(one)), [Some(Ok(0)), Some(Err(QueueRefusal::NoRoom)), Some(Ok(0))]);
    bench.at(1100, 1, put(queues, 1));
    bench.at(1200, 1, put(queues.plus(1), 1));
    bench.run_to(2000);
    assert_eq!(bench.fired, [(3, 103, 1201)], "for the queue that it asked for last");
}

/// A queue that is released or closed, or may not be used any more, will not have an item for those that sleep.
#[test]
fn who_is_armed_for_a_queue_that_goes_is_interrupted_and_who_ends_is_not() {
    let armed = |what: fn(&mut Bench, QueueId)| {
        let mut bench = Bench::new(&settings());
        let queue = bench.queues(4, 1);
        bench.at(100, 3, arm(queue, Direction::Dequeue));
        bench.run_to(500);
        what(&mut bench, queue);
        bench.run_to(1000);
        bench.fired.len()
    };
    let released = |bench: &mut Bench, queue| assert_eq!(bench.call(0, QueueRequest::Release(queue)), Ok(0));
    let closed = |bench: &mut Bench, queue: QueueId| assert_eq!(bench.step(Step::Close, [queue.0.into(), 0, 0]), 0);
    let revoked = |bench: &mut Bench, queue: QueueId| assert_eq!(bench.step(Step::Retire, [103, queue.0.into(), 0]), 0);
    let ended = |bench: &mut Bench, queue: QueueId| {
        bench.step(Step::Retire, [103, ANY_QUEUE, 0]);
        assert_eq!(said(bench, 600, 1, put(queue, 1)), Ok(0));
    };
    let other = |bench: &mut Bench, queue: QueueId| assert_eq!(bench.step(Step::Retire, [104, queue.0.into(), 0]), 0);
    assert_eq!([released as fn(&mut Bench, QueueId), closed, revoked, ended, other].map(armed), [1, 1, 1, 0, 0]);
}

fn said(bench: &mut Bench, cycle: u64, cpu: u32, asked: QueueRequest) -> QueueAnswer {
    let number = bench.at(cycle, cpu, asked);
    bench.run_to(cycle + 300);
    bench.said(number).expect("answered")
}

#[test]
fn no_thread_is_armed_for_another_domains_queue() {
    let mut bench = Bench::new(&settings());
    let queue = bench.queues(4, 1);
    bench.subjects.insert(5, Subject { thread: 9, domain: 1 });
    for direction in [Direction::Enqueue, Direction::Dequeue] {
        assert_eq!(
            said(&mut bench, 100 + 1000 * direction as u64, 5, arm(queue, direction)),
            Err(QueueRefusal::NoQueue)
        );
    }
    let to = Operand { mode: Mode::Arm(Direction::Enqueue), ..Operand::of(queue) };
    assert_eq!(said(&mut bench, 3000, 1, QueueRequest::Enqueue { to, item: 0 }), Err(QueueRefusal::NoQueue));
}
