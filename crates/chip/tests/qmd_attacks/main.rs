//! Attacks on CAF's queue device: what a program may not do, and what others must not notice of it.
//!
//! What was found wrong with the device of paper 4, and the test that shows that it is mended:
//!
//! | found | test |
//! | --- | --- |
//! | 1: any process cuts off any other | `threads::a_stranger_configures_nothing_of_anothers`, `threads::a_guard_thread_drains_its_own_process_alone`, `threads::a_foreign_process_gets_the_answer_that_an_unknown_id_gets`, `flows::another_processs_queue_with_flows_is_unknown` |
//! | 2: credits belong to the CPU | `threads::credits_belong_to_the_thread` |
//! | 3: credits are not bounded, and never come back | `threads::a_hoarder_keeps_its_share_and_the_others_have_theirs`, `threads::credits_of_a_thread_that_has_ended_come_back`, `threads::credits_of_a_killed_thread_come_back`, `threads::the_timer_takes_hoarded_credits_back`, `threads::threads_that_join_and_do_not_ask_leave_each_other_a_credit` |
//! | 4: a granted queue has no credits, a grant is for ever | `threads::a_granted_queue_comes_with_its_credits`, `threads::a_grant_that_is_revoked_is_gone`, `flows::a_granted_queue_with_flows_can_be_taken_back` |
//! | 5: no order across priorities | `threads::one_threads_items_of_a_queue_keep_their_order_across_priorities` |
//! | 6: a request for credits waits behind a dequeue | `threads::a_request_for_credits_waits_for_no_dequeue` |
//! | 7: more threads than contexts wait a time slice more | `threads::more_threads_than_contexts_wait_for_no_time_slice` |
//! | 8: younger stores never pass | `qmd`: `models::younger_stores_pass_posted_enqueues` |
//! | 8: a queue that moves loses the turn of its credits | `baton-chipfile`: `credits::tests::a_turn_of_weighted_round_robin_is_not_lost_by_a_move` |
//! | 8: a dead worker blocks a reducer, which adds floating-point numbers alone | `threads::a_reducer_goes_on_without_a_worker_that_is_gone`; `baton-chipfile`: `needed::a_reducer_combines_as_it_was_told` |
//! | 8: a refusal names no option | `baton-cli`: `wrong_input::wrong_input_is_explained` |
//! | 8: a request without a credit is acknowledged, in the paper it is not | `a_flood_without_credits_is_dropped_and_counted` |
//! | 8: conservation of credits is checked in debug builds alone | `threads::a_hoarder_keeps_its_share_and_the_others_have_theirs` sets `device.qmd.check` |

mod flows;
mod processes;
mod threads;

#[path = "../common/queues.rs"]
mod shared;

use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, act, moving};
use baton_machine::device::{Device, Payload, Ticket, Words};
use baton_machine::queues::Combine;
use baton_machine::queues::{Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering, Owned};
use shared::{Body, allocate as queues, chip, device, on};
use std::cell::Cell;
use std::rc::Rc;

fn call(asked: QueueRequest) -> Result<u64, QueueRefusal> {
    device().call(asked)
}

fn ask(asked: QueueRequest) -> Result<u64, QueueRefusal> {
    device().request(asked).wait()
}

fn put(queue: QueueId, item: u64) -> QueueRequest {
    QueueRequest::Enqueue { to: Operand::of(queue), item }
}

fn get(queue: QueueId) -> QueueRequest {
    QueueRequest::Dequeue { from: Operand::of(queue) }
}

fn run(chip: &Chip, threads: Vec<(u32, Body)>) -> Result<Outcome, String> {
    shared::run(chip, 1, threads)
}

fn alone(f: impl FnOnce() + 'static) -> Outcome {
    run(&chip(&[]), vec![(0, Box::new(f))]).expect("it ends")
}

#[test]
fn an_id_that_was_never_given_and_one_that_is_given_back_are_unknown() {
    alone(|| {
        let queue = queues(4, 2);
        for stranger in [2, 0x0fff, 1 << 12, 1 << 31, u32::MAX].map(QueueId) {
            assert_eq!(ask(put(stranger, 1)), Err(QueueRefusal::NoQueue));
            assert_eq!(ask(get(stranger)), Err(QueueRefusal::NoQueue));
            assert_eq!(call(QueueRequest::Release(stranger)), Err(QueueRefusal::NoQueue));
        }
        assert_eq!(call(QueueRequest::Release(queue)), Ok(0));
        assert_eq!(queues(4, 1).0 & 0xfff, queue.0 & 0xfff, "the place is used again");
        assert_eq!(ask(put(queue, 1)), Err(QueueRefusal::NoQueue), "the old id is not");
    });
}

#[test]
fn what_configures_is_refused_without_a_system_call() {
    alone(|| {
        let queue = queues(4, 1);
        let all = [
            QueueRequest::Allocate { entries: 1, queues: 1, enqueue_credits: false, dequeue_credits: false },
            QueueRequest::Release(queue),
            QueueRequest::Join { queue, direction: Direction::Enqueue, weight: 1 },
            QueueRequest::Balance { first: queue, count: 1 },
            QueueRequest::Reduce { by: Combine::FloatSum, from: queue, to: queue, count: 1 },
        ];
        for asked in all {
            assert_eq!(ask(asked), Err(QueueRefusal::Refused), "{asked:?}");
        }
        assert_eq!(ask(put(queue, 1)), Ok(0), "nothing has changed");
    });
}

/// Requests whose tags or words no program of the protocol makes are refused.
#[test]
fn words_that_mean_nothing_are_refused() {
    alone(|| {
        let device = Simulated::device(0).expect("there is one");
        for op in [6, 7, 8, 9, u32::MAX] {
            for word in [1 << 43, u64::MAX] {
                assert_ne!(device.request(op, [word, word]).wait().status, 0, "{op} {word:#x}");
            }
        }
        let Words { tag, words } = get(QueueId(0)).to_words();
        assert_ne!(device.request(tag, [words[0], 0]).wait().status, 0, "no queue was allocated");
    });
}

#[test]
fn counts_and_sizes_at_their_ends_are_refused() {
    alone(|| {
        for (entries, queues) in
            [(0, 1), (1, 0), (2049, 1), (1, 17), (u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX)]
        {
            let asked = QueueRequest::Allocate { entries, queues, enqueue_credits: true, dequeue_credits: true };
            assert_eq!(call(asked), Err(QueueRefusal::NoRoom), "{entries} {queues}");
        }
        let queue = queues(2048, 1);
        for count in [0, 2, 17, u32::MAX] {
            assert!(call(QueueRequest::Balance { first: queue, count }).is_err(), "{count}");
            assert!(
                call(QueueRequest::Reduce { by: Combine::FloatSum, from: queue, to: queue, count }).is_err(),
                "{count}"
            );
        }
        assert!(call(QueueRequest::Balance { first: QueueId(u32::MAX), count: 2 }).is_err());
        assert!(
            call(QueueRequest::Join { queue, direction: Direction::Enqueue, weight: 1 }).is_err(),
            "no credits here"
        );
    });
}

/// The number of items that a pair of threads passes on until cycle 300,000, while `floods` other
/// threads flood the device.
fn throughput(chip: &Chip, floods: u32) -> u64 {
    let (queue, flooded) = (QueueId(0), QueueId(1));
    let passed = Rc::new(Cell::new(0));
    let out = passed.clone();
    let ends = 300_000;
    let consumer = move || {
        assert_eq!(queues(16, 2), queue);
        loop {
            let item = ask(get(queue)).expect("an item");
            if item == u64::MAX {
                break;
            }
            out.set(out.get() + 1);
        }
    };
    let producer = move || {
        act::delay(Cycles(5_000));
        let mut item = 0;
        while act::time().0 < ends {
            let tickets: Vec<_> = (item..item + 8).map(|item| device().request(put(queue, item))).collect();
            tickets.into_iter().for_each(|ticket| assert_eq!(ticket.wait(), Ok(0)));
            item += 8;
        }
        ask(put(queue, u64::MAX)).expect("room");
    };
    let flood = move || {
        act::delay(Cycles(5_000));
        let operand = Operand { mode: Mode::Try, ..Operand::of(flooded) };
        while act::time().0 < ends {
            for _ in 0..16 {
                drop(device().request(QueueRequest::Dequeue { from: operand }));
            }
        }
    };
    let mut threads: Vec<(u32, Body)> = vec![(0, Box::new(consumer)), (1, Box::new(producer))];
    threads.extend((2..2 + floods).map(|core| (core, Box::new(flood) as Body)));
    run(chip, threads).expect("it ends");
    passed.get()
}

/// The device's engine serves one request a cycle, and serves the hardware contexts of the cores in
/// turn. So a context that floods the device with requests slows the other contexts little.
#[test]
fn a_context_that_floods_the_device_takes_no_more_than_its_turns() {
    let chip = chip(&[]);
    let (alone, flooded, by_all) = (throughput(&chip, 0), throughput(&chip, 1), throughput(&chip, 14));
    assert!(flooded * 10 >= alone * 9, "{flooded} of {alone}");
    assert!(by_all * 2 >= alone, "{by_all} of {alone}: of sixteen contexts, each has its turn");
}

/// A context whose requests cannot be served bars no other one.
#[test]
fn a_context_that_blocks_bars_only_itself() {
    let (queue, never) = (QueueId(0), QueueId(1));
    let stuck = Rc::new(Cell::new(None));
    let itself = stuck.clone();
    let blocker = move || {
        itself.set(act::this());
        act::delay(Cycles(5_000));
        // The last request is behind eight that are never served. All nine are dropped when the
        // other thread drains this one.
        let stuck: Vec<_> = (0..8).map(|_| device().request(get(never))).collect();
        let behind = device().request(get(queue));
        for ticket in stuck {
            assert_eq!(ticket.wait(), Err(QueueRefusal::Dropped));
        }
        assert_eq!(behind.wait(), Err(QueueRefusal::Dropped));
    };
    let pair = move || {
        assert_eq!(queues(4, 2), queue);
        act::delay(Cycles(10_000));
        for item in 0..100 {
            assert_eq!(ask(put(queue, item)), Ok(0));
            assert_eq!(ask(get(queue)), Ok(item));
        }
        assert_eq!(stuck.get().map(moving::drain), Some(Ok(9)));
    };
    run(&chip(&[]), vec![(0, Box::new(pair)), (5, Box::new(blocker))]).expect("it ends");
}

type Shared = Rc<Owned<Simulated, <Simulated as Machine>::Atomic<u64>>>;

/// With every buffer of the device full, loads and stores of all cores go on.
#[test]
fn full_buffers_do_not_hold_up_the_coherence_protocol() {
    let timer = "device.qmd.timeout=200000";
    let chip = chip(&["device.qmd.buffers=shared", "device.qmd.depth=4", "device.places=2", timer]);
    let options = Options { limit: Some(Cycles(50_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
    let words: Shared = simulation.outside(|| Rc::new(Owned::new(Atomic::new(0))));
    for core in 0..16 {
        let word = words.clone();
        let floods = move |word: Shared| {
            if core == 0 {
                assert_eq!(queues(1, 1), QueueId(0));
            }
            act::delay(Cycles(5_000));
            // The dequeues wait for items that never come, until the timer drops them. Loads pass
            // them.
            let stuck: Vec<_> = (0..8).map(|_| device().request(get(QueueId(0)))).collect();
            while word.load(Ordering::Acquire) < 8 * 50 {
                Simulated::work(Cycles(100));
            }
            let answered = stuck.iter().filter(|ticket| ticket.is_here()).count();
            assert_eq!(answered, 0, "core {core} at {}", act::time().0);
            for ticket in stuck {
                assert_eq!(ticket.wait(), Err(QueueRefusal::Dropped));
            }
        };
        let counts = move |word: Shared| {
            act::delay(Cycles(10_000));
            for _ in 0..50 {
                word.fetch_add(1, Ordering::AcqRel);
            }
        };
        let body = move || if core < 8 { floods(word) } else { counts(word) };
        simulation.spawn(on(core), body).expect("there is a core");
    }
    let ended = simulation.run().map(drop).map_err(|error| error.to_string());
    simulation.outside(|| drop(words));
    ended.expect("it ends");
}

/// A thread with eight credits enqueues a hundred items: eight are accepted, and the others are
/// refused and counted.
#[test]
fn a_flood_without_credits_is_dropped_and_counted() {
    let queue = QueueId(0);
    let body = move || {
        let asked = QueueRequest::Allocate { entries: 8, queues: 1, enqueue_credits: true, dequeue_credits: false };
        assert_eq!(call(asked), Ok(0));
        call(QueueRequest::Join { queue, direction: Direction::Enqueue, weight: 1 }).expect("it may");
        let take = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(queue) };
        act::delay(Cycles(1_000));
        let credits = ask(QueueRequest::Dequeue { from: take }).expect("credits");
        assert_eq!(credits, 8);
        let said: Vec<_> = (0..100).map(|item| ask(put(queue, item))).collect();
        assert_eq!(said.iter().filter(|said| said.is_ok()).count(), 8);
        assert!(said[8..].iter().all(|said| *said == Err(QueueRefusal::NoCredit)));
        (0..8).for_each(|item| assert_eq!(ask(get(queue)), Ok(item)));
    };
    let outcome = alone(body);
    let counts = &outcome.devices[0].counts;
    assert!(counts.contains(&("no_credit", 92)), "{counts:?}");
}
