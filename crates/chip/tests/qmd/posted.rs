//! The device behind posted stores: their answers come to memory, and nothing is lost whatever the
//! thread does meanwhile. A workload that works so is among the models (`models.rs`).

use super::queues::{Body, allocate, chip, device, on, run};
use super::{count, dequeue, word};
use baton_chip::{Chip, Guest, Options, Outcome, Simulated, Simulation, act};
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{AnswerCell, Operand, Post, QueueId, QueueRefusal, QueueRequest, posted_answer};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, OwnedSlice, Wait};
use baton_workloads::models::posted::Posted;
use baton_workloads::ring::Transport;
use std::cell::Cell;
use std::rc::Rc;

type Word = <Simulated as Machine>::Atomic<u64>;
pub(super) type Cells = OwnedSlice<Simulated, AnswerCell<Word>>;

pub(super) fn cells(n: usize) -> Cells {
    OwnedSlice::new(n, |_| AnswerCell { value: Word::new(0), word: Word::new(0) })
}

pub(super) fn put(queue: QueueId, item: u64) -> QueueRequest {
    QueueRequest::Enqueue { to: Operand::of(queue), item }
}

pub(super) fn take(queue: QueueId) -> QueueRequest {
    QueueRequest::Dequeue { from: Operand::of(queue) }
}

/// Posts each request, to be answered in a cell of its own. Returns whether the chip can do so.
pub(super) fn post(requests: &[QueueRequest], cells: &[AnswerCell<Word>]) -> bool {
    let post = |(&request, answer)| Post { request, answer, stamp: 1 };
    let posts: Vec<_> = requests.iter().zip(cells).map(post).collect();
    // SAFETY: the tests keep their cells until they have the answers.
    unsafe { Simulated::post(Simulated::queues(0).expect("the chip has one"), &posts) }
}

pub(super) fn answer(cell: &AnswerCell<Word>) -> Result<u64, QueueRefusal> {
    let _ = Simulated::wait_while(&cell.word, 0, Wait::Spin, None);
    posted_answer(cell.value.load(Relaxed), cell.word.load(Relaxed))
}

/// The cycles of a dequeue whose item is there, from the store to the answer's word.
fn cycles(settings: &[&str]) -> u64 {
    let took = Rc::new(Cell::new(0));
    let out = took.clone();
    let body: Body = Box::new(move || {
        let (queue, cells) = (allocate(16, 1), cells(2));
        assert!(post(&[put(queue, 7)], &cells[..1]));
        assert_eq!(answer(&cells[0]), Ok(0));
        // The cell's line is in this core's cache, and the request begins at an edge of the
        // device's clock.
        act::delay(Cycles(2 - act::time().0 % 2));
        let began = act::time().0;
        assert!(post(&[take(queue)], &cells[1..]));
        let _ = Simulated::wait_while(&cells[1].word, 0, Wait::Spin, None);
        out.set(act::time().0 - began);
        assert_eq!(answer(&cells[1]), Ok(7));
    });
    run(&chip(settings), 1, vec![(0, body)]).expect("it ends");
    took.get()
}

/// An answer takes the ways and the access that an instruction's request takes (`ways.rs`), and
/// then its line is written: to the core's own cache, where the thread looks, or to the shared
/// level.
#[test]
fn an_answer_takes_the_ways_the_access_and_its_line() {
    let (home, core, longer) = (cycles(&[]), cycles(&["device.posted_to=core"]), cycles(&["device.way=45"]));
    assert!((150..=175).contains(&core), "{core}");
    // From the shared level the thread loads the line: 45 cycles, and the bus.
    assert!(home >= core + 45, "home {home} core {core}");
    assert!((40..=42).contains(&(longer - home)), "{longer} {home}");
}

/// A thread that posts requests goes on at once. Its older stores are visible when another thread
/// has taken the item.
#[test]
fn a_post_comes_behind_older_stores_and_no_thread_waits_for_it() {
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).expect("the host has memory");
    let data = || Rc::new(OwnedSlice::<Simulated, Word>::new(64, |_| Word::new(0)));
    let (queue, data) = simulation.outside(|| (allocate(16, 1), data()));
    let (seen, kept) = (data.clone(), data.clone());
    let producer = move || {
        let (cells, began) = (cells(4), act::time().0);
        for word in 0..4 {
            data[16 * word].store(1, Relaxed);
        }
        assert!(post(&[0, 1, 2, 3].map(|item| put(queue, item)), &cells));
        assert!(act::time().0 - began < 20, "{}", act::time().0 - began);
        cells.iter().for_each(|cell| assert_eq!(answer(cell), Ok(0)));
    };
    let consumer = move || {
        for item in 0..4 {
            assert_eq!(word(dequeue(queue).wait()), item);
            assert_eq!(seen[16 * item as usize].load(Relaxed), 1);
        }
    };
    simulation.spawn(on(0), producer).expect("there is a core");
    simulation.spawn(on(1), consumer).expect("there is a core");
    assert!(simulation.run().expect("it ends").finished);
    simulation.outside(|| drop(kept));
}

/// Runs threads on the chip, and asserts that the run ends.
fn simulated(chip: &Chip, threads: Vec<(u32, Body)>) -> Outcome {
    run(chip, 1, threads).expect("it ends")
}

/// A program that posts more enqueues to a full queue than its context's buffer has places for bars
/// the way of the dequeues that would make room: nothing calls posted requests back. (The number of
/// requests by instructions is bounded by `device.outstanding`.) With no more posts than places the
/// run ends.
#[test]
fn posts_beyond_the_devices_room_bar_the_way() {
    let with = |posts: u64| {
        let queue = QueueId(0);
        let producer = move || {
            assert_eq!(allocate(8, 1), queue);
            let cells = cells(posts as usize);
            let all: Vec<_> = (0..posts).map(|item| put(queue, item)).collect();
            assert!(post(&all, &cells));
            cells.iter().for_each(|cell| assert_eq!(answer(cell), Ok(0)));
        };
        let consumer = move || {
            act::delay(Cycles(10_000));
            (0..posts).for_each(|item| assert_eq!(word(dequeue(queue).wait()), item));
        };
        run(&chip(&[]), 1, vec![(0, Box::new(producer)), (1, Box::new(consumer))])
    };
    let outcome = with(16).expect("it ends");
    assert_eq!((count(&outcome, "enqueued"), count(&outcome, "dequeued")), (16, 16));
    let stuck = with(100).expect_err("nothing makes room");
    assert!(stuck.contains("request(s) standing in its port"), "{stuck}");
}

#[test]
fn a_refusal_comes_to_memory_too() {
    let body = || {
        let cells = cells(1);
        assert!(post(&[take(QueueId(77))], &cells));
        assert_eq!(answer(&cells[0]), Err(QueueRefusal::NoQueue));
    };
    simulated(&chip(&[]), vec![(0, Box::new(body))]);
}

/// A request that reaches a queue's old place must be sent on by its core, and a posted request has
/// left its core. So such a chip takes no posted requests.
#[test]
fn a_chip_whose_queues_move_takes_none() {
    let body = || assert!(!post(&[], &[]));
    simulated(&chip(&["device.qimu=16", "device.qtlb=4"]), vec![(0, Box::new(body))]);
}

/// Three threads lose their CPU to each other again and again. Requests that they have posted are
/// not called back; requests by instructions are. All are performed once, in their order.
#[test]
fn a_thread_that_loses_its_cpu_has_its_answers_all_the_same() {
    for settings in [&[][..], &["device.posted_to=core"]] {
        let slices = ["os.time_slice=20000", "os.wakeup_granularity=5000"];
        let all: Vec<&str> = slices.iter().chain(settings).copied().collect();
        let queue = QueueId(0);
        let producer = move || {
            let cells = cells(200);
            for (item, cell) in (0..).zip(cells.iter()) {
                Simulated::work(Cycles(300));
                // At most sixteen posts are under way, for which the device has places.
                if let Some(older) = (item as usize).checked_sub(16) {
                    assert_eq!(answer(&cells[older]), Ok(0));
                }
                assert!(post(&[put(queue, item)], std::slice::from_ref(cell)));
            }
            cells.iter().for_each(|cell| assert_eq!(answer(cell), Ok(0)));
        };
        let consumer = move || {
            assert_eq!(allocate(16, 2), queue);
            for item in 0..200 {
                let cell = cells(1);
                if item % 2 == 0 {
                    assert!(post(&[take(queue)], &cell));
                    assert_eq!(answer(&cell[0]), Ok(item));
                } else {
                    assert_eq!(word(dequeue(queue).wait()), item);
                }
            }
        };
        let other = || (0..200).for_each(|_| Simulated::work(Cycles(3_000)));
        let bodies: Vec<(u32, Body)> = vec![(0, Box::new(consumer)), (0, Box::new(producer)), (0, Box::new(other))];
        let outcome = simulated(&chip(&all), bodies);
        assert_eq!((count(&outcome, "enqueued"), count(&outcome, "dequeued")), (200, 200));
        assert!(outcome.devices[0].port.cancelled > 0, "no request was called back: the test shows nothing");
    }
}

/// A thread that is killed leaves what it has posted to the device, and its answers come to memory.
#[test]
fn a_killed_threads_posts_go_on() {
    let options = Options { limit: Some(Cycles(10_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&chip(&[]), &options).expect("the host has memory");
    let cells = Rc::new(simulation.outside(|| cells(20)));
    let (queue, kept) = (simulation.outside(|| allocate(8, 1)), cells.clone());
    let victim: Rc<Cell<Option<Guest>>> = Rc::default();
    let producer = move || {
        let all: Vec<_> = (0..20).map(|item| put(queue, item)).collect();
        assert!(post(&all, &kept));
        loop {
            Simulated::work(Cycles(100));
        }
    };
    victim.set(Some(simulation.spawn(on(0), producer).expect("there is a core")));
    let killer = move || {
        act::delay(Cycles(2_000));
        act::kill(victim.get().expect("it was spawned"));
        (0..20).for_each(|item| assert_eq!(word(dequeue(queue).wait()), item));
    };
    simulation.spawn(on(1), killer).expect("there is a core");
    assert!(simulation.run().expect("it ends").finished);
    simulation.outside(|| {
        assert!(cells.iter().all(|cell| cell.word.load(Relaxed) == 1), "an answer is not there");
    });
}

/// A thread posts dequeues that find nothing, and sleeps. The next thread of its CPU is served all
/// the same, and the first one's dequeues keep their order.
#[test]
fn a_gone_threads_posts_do_not_hold_up_the_next_one() {
    let queue = QueueId(0);
    let waiter = move || {
        assert_eq!(allocate(8, 2), queue);
        let cells = cells(2);
        assert!(post(&[take(queue), take(queue)], &cells));
        act::delay(Cycles(50_000));
        assert_eq!([answer(&cells[0]), answer(&cells[1])], [Ok(1), Ok(2)]);
    };
    let next = move || {
        act::delay(Cycles(10_000));
        let other = cells(2);
        assert!(post(&[put(queue.plus(1), 5), take(queue.plus(1))], &other));
        assert_eq!([answer(&other[0]), answer(&other[1])], [Ok(0), Ok(5)]);
        assert_eq!(word(device().request(put(queue.plus(1), 6)).wait()), 0);
        assert_eq!(word(dequeue(queue.plus(1)).wait()), 6);
        (1..3).for_each(|item| assert_eq!(device().request(put(queue, item)).wait(), Ok(0)));
    };
    simulated(&chip(&[]), vec![(0, Box::new(waiter)), (0, Box::new(next))]);
}

/// Over a network too, in the device's own virtual networks: what went in came out.
#[test]
fn posts_travel_through_a_network() {
    let text = include_str!("../../../../chips/caf64.toml");
    for settings in [&[][..], &["device.posted_to=core", "network.vcs=4"]] {
        let all: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let chip = Chip::from_toml_with(text, "caf64.toml", &all).expect("a right chip");
        let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
        let at = Transport {
            producers: 4,
            consumers: 4,
            capacity: 16,
            think: Cycles(0),
            spread: 0.0,
            iterations: 60,
            bulk: 6,
            lines: 0,
        };
        let team = || at.team_of_model::<Simulated, Posted<Simulated>>(Wait::Pause);
        let team = simulation.outside(team).expect("the chip has a device");
        for (core, body) in (0..).zip(team.bodies) {
            simulation.spawn(on(9 * core % 64), body).expect("there is a core");
        }
        assert!(simulation.run().expect("it ends").finished);
        simulation.outside(team.verify).expect("what went in came out");
    }
}
