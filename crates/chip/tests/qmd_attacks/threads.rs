//! Tests of the thread and its process as the device's subject. They show that a process configures
//! nothing of another one's, and that credits belong to threads. A thread's requests are served in
//! its order, and a thread that ends leaves nothing behind.

use super::processes::{count, processes, with};
use super::shared::{allocate, chip, on};
use super::{Body, ask, call, device, get, put, run};
use baton_chip::{App, Simulated, act, moving};
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Combine, Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::RawQueue;
use baton_sync::queue::qmd::Qmd;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(0);

fn credited(entries: u32) -> QueueId {
    let asked = QueueRequest::Allocate { entries, queues: 1, enqueue_credits: true, dequeue_credits: false };
    QueueId(call(asked).expect("there is room") as u32)
}

fn join(queue: QueueId, weight: u32) -> Result<u64, QueueRefusal> {
    call(QueueRequest::Join { queue, direction: Direction::Enqueue, weight })
}

fn take(queue: QueueId) -> Result<u64, QueueRefusal> {
    let from = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(queue) };
    ask(QueueRequest::Dequeue { from })
}

fn until(time: u64) {
    act::delay(Cycles(time.saturating_sub(act::time().0)));
}

/// A process asks for what it may not: by tags that no request has, among them the operating
/// system's steps; for items by a system call; and for another process's queue. The owner of that
/// queue, whose dequeue waits meanwhile, notices nothing.
#[test]
fn a_stranger_configures_nothing_of_anothers() {
    for chip in [chip(&[]), with(&[])] {
        let victim = |_| {
            assert_eq!(allocate(4, 1), QUEUE);
            let helper = act::spawn(on(0), || {
                until(200_000);
                assert_eq!(ask(put(QUEUE, 7)), Ok(0));
            });
            assert_eq!(ask(get(QUEUE)), Ok(7), "its blocked get is not dropped");
            act::join(helper);
            assert_eq!(ask(put(QUEUE, 8)), Ok(0));
            assert_eq!(call(QueueRequest::Release(QUEUE)), Ok(1));
        };
        let stranger = || {
            until(60_000);
            let itself = Simulated::device(0).expect("there is one");
            // 9 makes a queue with flows, which a program may do; 10 to 15 are of no use without one.
            for tag in (5..=6).chain(10..100) {
                for words in [[0, 0], [9 << 32, 0], [16, 1], [u64::MAX, u64::MAX]] {
                    assert_ne!(itself.call(tag, words).status, 0, "{tag} {words:?}");
                }
            }
            assert_eq!(call(get(QUEUE)), Err(QueueRefusal::Refused), "a request for an item is no system call");
            assert_eq!(call(put(QUEUE, 99)), Err(QueueRefusal::Refused));
            assert_eq!(call(QueueRequest::Release(QUEUE)), Err(QueueRefusal::NoQueue));
            assert!(join(QUEUE, 1).is_err());
        };
        processes(&chip, [0, 3], victim, stranger);
    }
}

/// A process can neither take items from another process's queue nor put any there, nor learn how
/// full that queue is. A CPU that both share gets the domain of each with the switch to it.
#[test]
fn a_foreign_process_gets_the_answer_that_an_unknown_id_gets() {
    for core in [0, 3] {
        let owner = move |_| {
            assert_eq!(allocate(4, 1), QUEUE);
            (0..4).for_each(|item| assert_eq!(ask(put(QUEUE, item)), Ok(0)));
            until(400_000);
            (0..4).for_each(|item| assert_eq!(ask(get(QUEUE)), Ok(item), "nothing was taken or put"));
        };
        let thief = move || {
            until(100_000);
            for mode in [Mode::Block, Mode::Try, Mode::TakeCredits(Direction::Dequeue)] {
                let operand = Operand { mode, ..Operand::of(QUEUE) };
                assert_eq!(ask(QueueRequest::Dequeue { from: operand }), Err(QueueRefusal::NoQueue));
            }
            assert_eq!(ask(put(QUEUE, 99)), Err(QueueRefusal::NoQueue));
            assert_eq!(call(QueueRequest::Release(QUEUE)), Err(QueueRefusal::NoQueue));
        };
        processes(&chip(&[]), [0, core], owner, thief);
    }
}

/// A guard thread drains threads of its own process, and no others.
#[test]
fn a_guard_thread_drains_its_own_process_alone() {
    let stuck = Rc::new(Cell::new(None));
    let (itself, seen) = (stuck.clone(), stuck);
    let victim = move |_| {
        assert_eq!(allocate(4, 2), QUEUE);
        itself.set(act::this());
        let helper = act::spawn(on(1), || {
            until(200_000);
            assert_eq!(ask(put(QUEUE, 7)), Ok(0));
        });
        assert_eq!(ask(get(QUEUE)), Ok(7));
        act::join(helper);
    };
    let stranger = move || {
        until(60_000);
        assert_eq!(seen.get().map(moving::drain), Some(Err(QueueRefusal::Refused)));
    };
    processes(&chip(&[]), [0, 3], victim, stranger);
}

/// Two threads take turns on a core. The one that has not joined the queue has no credits; the one
/// that has joined keeps its credits when it goes to another core.
#[test]
fn credits_belong_to_the_thread() {
    let owner = || {
        assert_eq!(credited(8), QUEUE);
        assert_eq!(join(QUEUE, 1), Ok(0));
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(8));
        let other = act::spawn(on(0), || {
            assert_eq!(ask(put(QUEUE, 9)), Err(QueueRefusal::NoCredit), "they are another's");
            assert_eq!(take(QUEUE), Ok(0));
        });
        act::join(other);
        let itself = act::this().expect("a guest");
        act::set_affinity(itself, &[baton_units::CoreId(5)], &[]).expect("there is such a core");
        act::delay(Cycles(1_000));
        assert_eq!(act::core().0, 5);
        (0..8).for_each(|item| assert_eq!(ask(put(QUEUE, item)), Ok(0), "its credits came along"));
    };
    run(&chip(&[]), vec![(0, Box::new(owner))]).expect("it ends");
}

/// Runs a hoarder of weight 1, which takes all the credits that it can and sends nothing, beside an
/// honest thread of weight 3. If `ends`, the hoarder begins first, and ends early. Returns the
/// number of items that the honest one sent, and of credits that the hoarder got.
fn beside_a_hoarder(settings: &[&str], ends: bool) -> (u64, u64) {
    let (sent, hoarded) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (sends, hoards) = (sent.clone(), hoarded.clone());
    let stop = 400_000;
    let hoarder = move || {
        act::delay(Cycles(5_000));
        join(QUEUE, 1).expect("it may");
        while act::time().0 < if ends { 100_000 } else { stop } {
            hoards.set(hoards.get() + take(QUEUE).expect("credits"));
        }
    };
    let honest = move || {
        // A hoarder that ends early has got all credits by now.
        act::delay(Cycles(if ends { 50_000 } else { 5_000 }));
        join(QUEUE, 3).expect("it may");
        while act::time().0 < stop {
            for _ in 0..take(QUEUE).expect("credits") {
                assert_eq!(ask(put(QUEUE, 1)), Ok(0), "a credit is a place");
                sends.set(sends.get() + 1);
            }
        }
    };
    let consumer = || {
        assert_eq!(credited(16), QUEUE);
        let from = Operand { mode: Mode::Try, ..Operand::of(QUEUE) };
        while act::time().0 < 410_000 {
            let _ = ask(QueueRequest::Dequeue { from });
        }
    };
    let threads: Vec<(u32, Body)> = vec![(0, Box::new(consumer)), (1, Box::new(hoarder)), (2, Box::new(honest))];
    run(&chip(settings), threads).expect("it ends");
    (sent.get(), hoarded.get())
}

#[test]
fn a_hoarder_keeps_its_share_and_the_others_have_theirs() {
    let (sent, hoarded) = beside_a_hoarder(&["device.qmd.check=true"], false);
    assert_eq!(hoarded, 4, "a quarter of sixteen");
    assert!(sent > 1_000, "{sent} items beside the hoarder");
}

#[test]
fn credits_of_a_thread_that_has_ended_come_back() {
    let (sent, hoarded) = beside_a_hoarder(&[], true);
    assert_eq!(hoarded, 16, "it came first");
    assert!(sent > 1_000, "{sent} items after the hoarder");
}

#[test]
fn the_timer_takes_hoarded_credits_back() {
    let body = || {
        assert_eq!(credited(16), QUEUE);
        join(QUEUE, 1).expect("it may");
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(16));
        let late = act::spawn(on(1), || {
            join(QUEUE, 3).expect("it may");
            act::delay(Cycles(1_000));
            assert_eq!(take(QUEUE), Ok(0));
            act::delay(Cycles(100_000));
            assert_eq!(take(QUEUE), Ok(12), "its share, of what has come back");
        });
        act::join(late);
        assert_eq!(ask(put(QUEUE, 1)), Err(QueueRefusal::NoCredit), "what it had is too old");
    };
    let outcome = run(&chip(&["device.qmd.timeout=40000"]), vec![(0, Box::new(body))]).expect("it ends");
    // Sixteen credits were too old. Twelve came back when the late thread ended, and sixteen when
    // the first thread ended, which had them in its local pool.
    assert_eq!(count(&outcome, "reclaimed"), 16 + 12 + 16);
}

/// A thread is killed at many moments, with credits in hand and enqueues under way: all credits
/// come back that were not spent.
#[test]
fn credits_of_a_killed_thread_come_back() {
    for at in (0..20).map(|turn| 500 + 97 * turn) {
        let body = move || {
            assert_eq!(credited(8), QUEUE);
            let victim = act::spawn(on(1), || {
                join(QUEUE, 1).expect("it may");
                loop {
                    for _ in 0..take(QUEUE).expect("credits") {
                        drop(device().request(put(QUEUE, 1)));
                    }
                    act::delay(Cycles(200));
                }
            });
            until(60_000 + at);
            act::kill(victim);
            act::join(victim);
            join(QUEUE, 1).expect("it may");
            act::delay(Cycles(2_000));
            let mut items = 0;
            let from = Operand { mode: Mode::Try, ..Operand::of(QUEUE) };
            let credits = take(QUEUE).expect("credits");
            while ask(QueueRequest::Dequeue { from }).is_ok() {
                items += 1;
            }
            assert_eq!(credits + items, 8, "killed at {at}: {items} were sent");
        };
        run(&chip(&[]), vec![(0, Box::new(body))]).expect("it ends");
    }
}

/// A thread that ends leaves nothing behind in its context's buffers, though it waited for no
/// answer. Its enqueues arrive; its dequeue of an empty queue bars no later thread's way, and takes
/// no item.
#[test]
fn a_thread_that_ends_leaves_no_request_behind() {
    let body = || {
        assert_eq!(allocate(8, 2), QUEUE);
        let other = QUEUE.plus(1);
        let ends = act::spawn(on(1), move || {
            (0..4).for_each(|item| drop(device().request(put(QUEUE, item))));
            drop(device().request(get(other)));
            (4..8).for_each(|item| drop(device().request(put(QUEUE, item))));
        });
        act::join(ends);
        let next = act::spawn(on(1), move || (0..8).for_each(|item| assert_eq!(ask(get(QUEUE)), Ok(item))));
        act::join(next);
        assert_eq!(ask(put(other, 5)), Ok(0));
        assert_eq!(ask(get(other)), Ok(5), "no thread that has ended took it");
    };
    run(&chip(&[]), vec![(0, Box::new(body))]).expect("it ends");
}

/// Items that a thread sends to one queue with two priorities leave in the order in which it sent
/// them, and so do those that it takes.
#[test]
fn one_threads_items_of_a_queue_keep_their_order_across_priorities() {
    for settings in [
        ["device.qmd.priorities=2", "device.qmd.schedule=weighted", "device.qmd.buffers=context"],
        ["device.qmd.priorities=2", "device.qmd.schedule=round-robin", "device.qmd.buffers=shared"],
        ["device.qmd.priorities=3", "device.qmd.schedule=weighted", "device.qmd.engines=2"],
    ] {
        let got = Rc::new(RefCell::new(Vec::new()));
        let out = got.clone();
        let at = |priority| Operand { priority, ..Operand::of(QUEUE) };
        let producer = move || {
            act::delay(Cycles(5_000));
            let tickets: Vec<_> = (0..200u64)
                .map(|item| {
                    let priority = [0, 0, 1, 0, 1, 1, 0][item as usize % 7];
                    device().request(QueueRequest::Enqueue { to: at(priority), item })
                })
                .collect();
            tickets.into_iter().for_each(|ticket| assert_eq!(ticket.wait(), Ok(0)));
        };
        let consumer = move || {
            assert_eq!(allocate(3, 1), QUEUE);
            for turn in 0..50 {
                let some = [0, 1, 1, 0].map(|priority| device().request(QueueRequest::Dequeue { from: at(priority) }));
                out.borrow_mut().extend(some.map(|ticket| ticket.wait().expect("an item")));
                act::delay(Cycles(turn * 20));
            }
        };
        run(&chip(&settings), vec![(0, Box::new(consumer)), (1, Box::new(producer))]).expect("it ends");
        assert_eq!(*got.borrow(), (0..200).collect::<Vec<_>>(), "{settings:?}");
    }
}

/// A thread whose dequeue of one queue waits gets the credits of another.
#[test]
fn a_request_for_credits_waits_for_no_dequeue() {
    let body = || {
        assert_eq!(credited(8), QUEUE);
        let empty = allocate(4, 1);
        join(QUEUE, 1).expect("it may");
        act::delay(Cycles(1_000));
        let stuck = device().request(get(empty));
        Simulated::work(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(8));
        assert_eq!(ask(put(empty, 3)), Ok(0));
        assert_eq!(stuck.wait(), Ok(3));
    };
    run(&chip(&[]), vec![(0, Box::new(body))]).expect("it ends");
}

/// A consumer blocks on the CPU that its producer needs. Its request is dropped, it yields, sleeps
/// until it is armed, and is interrupted: the run is as long whatever a time slice is.
#[test]
fn more_threads_than_contexts_wait_for_no_time_slice() {
    let run_with = |slice: &str| {
        let served = Rc::new(Cell::new(0));
        let out = served.clone();
        let body = move || {
            let queue = Rc::new(Qmd::<Simulated, u64>::with_capacity(8).expect("there is room"));
            let to = queue.clone();
            let consumer = act::spawn(on(1), move || {
                // SAFETY: any number of threads may use both sides.
                assert_eq!(unsafe { queue.dequeue(Wait::Pause) }, 7);
                out.set(act::time().0);
            });
            let producer = act::spawn(on(1), move || {
                // SAFETY: as above.
                unsafe { to.enqueue(7, Wait::Pause) }
            });
            [consumer, producer].into_iter().for_each(act::join);
        };
        let outcome = run(&chip(&[slice]), vec![(0, Box::new(body))]).expect("it ends");
        (served.get(), count(&outcome, "dropped") > 0, count(&outcome, "fired"))
    };
    let (time, dropped, fired) = run_with("os.time_slice=8000000");
    assert!(time < 200_000 && dropped && fired == 1, "{time} {dropped} {fired}");
    assert_eq!(run_with("os.time_slice=800000"), (time, dropped, fired), "no slice ends");
}

/// A process that was granted a queue joins its credits, for the direction that it was granted.
#[test]
fn a_granted_queue_comes_with_its_credits() {
    let owner = |other: App| {
        assert_eq!(credited(8), QUEUE);
        moving::grant(QUEUE, other, [true, false]).expect("there is room");
        (0..8).for_each(|item| assert_eq!(ask(get(QUEUE)), Ok(item)));
    };
    let other = || {
        until(60_000);
        let back = QueueRequest::Join { queue: QUEUE, direction: Direction::Dequeue, weight: 1 };
        assert_eq!(call(back), Err(QueueRefusal::Refused), "that was not granted");
        assert_eq!(join(QUEUE, 1), Ok(0));
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(8));
        (0..8).for_each(|item| assert_eq!(ask(put(QUEUE, item)), Ok(0)));
    };
    processes(&with(&[]), [0, 3], owner, other);
}

/// When a grant is taken back, the other process loses its id of the queue, its waiting requests
/// and its credits at once. The owner keeps its own.
#[test]
fn a_grant_that_is_revoked_is_gone() {
    let owner = |other: App| {
        assert_eq!(credited(8), QUEUE);
        assert_eq!(moving::revoke(QUEUE, other), Err(QueueRefusal::NoQueue), "nothing was granted");
        moving::grant(QUEUE, other, [true, true]).expect("there is room");
        until(150_000);
        assert_eq!(moving::revoke(QUEUE, other), Ok(()));
        join(QUEUE, 1).expect("it may");
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(8), "the credits of the other one are back");
        assert_eq!(ask(put(QUEUE, 5)), Ok(0));
        until(300_000);
        assert_eq!(ask(get(QUEUE)), Ok(5), "no other has taken it");
    };
    let other = || {
        until(60_000);
        join(QUEUE, 1).expect("it may");
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(8));
        assert_eq!(ask(get(QUEUE)), Err(QueueRefusal::NoQueue), "it waited when the grant was taken back");
        assert!(act::time().0 > 150_000);
        for asked in [get(QUEUE), put(QUEUE, 9)] {
            assert_eq!(ask(asked), Err(QueueRefusal::NoQueue));
        }
        assert_eq!(join(QUEUE, 1), Err(QueueRefusal::NoQueue));
    };
    processes(&with(&[]), [0, 3], owner, other);
}

/// A queue has no more members than entries, so that each can have a credit whatever lies in the
/// others' pools.
#[test]
fn threads_that_join_and_do_not_ask_leave_each_other_a_credit() {
    let body = || {
        assert_eq!(credited(3), QUEUE);
        let idle = |core| {
            act::spawn(on(core), || {
                join(QUEUE, 5).expect("it may");
                act::delay(Cycles(100_000));
            })
        };
        let all = [idle(1), idle(2)];
        act::delay(Cycles(50_000));
        assert_eq!(join(QUEUE, 1), Ok(0));
        let late = act::spawn(on(3), || assert_eq!(join(QUEUE, 1), Err(QueueRefusal::NoRoom)));
        act::join(late);
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(1));
        all.into_iter().for_each(act::join);
        act::delay(Cycles(1_000));
        assert_eq!(take(QUEUE), Ok(2), "they have ended");
    };
    run(&chip(&[]), vec![(0, Box::new(body))]).expect("it ends");
}

/// A reducer no longer waits for the queue of a worker that was killed or has ended, if the worker
/// was the queue's member.
#[test]
fn a_reducer_goes_on_without_a_worker_that_is_gone() {
    for killed in [false, true] {
        let body = move || {
            let (from, to) = (allocate(8, 2), allocate(8, 2));
            assert_eq!(call(QueueRequest::Reduce { by: Combine::IntegerMaximum, from, to, count: 2 }), Ok(0));
            let worker = act::spawn(on(1), move || {
                assert_eq!(join(from.plus(1), 1), Ok(0));
                assert_eq!(ask(put(from.plus(1), 9)), Ok(0));
                assert_eq!(ask(get(to.plus(1))), Ok(9));
                if killed {
                    act::delay(Cycles(10_000_000));
                }
            });
            assert_eq!(ask(put(from, 3)), Ok(0));
            assert_eq!(ask(get(to)), Ok(9));
            act::delay(Cycles(20_000));
            let _ = killed.then(|| act::kill(worker));
            for item in 1..20 {
                assert_eq!(ask(put(from, item)), Ok(0));
                assert_eq!(ask(get(to)), Ok(item), "alone");
            }
            act::join(worker);
        };
        run(&chip(&[]), vec![(0, Box::new(body))]).expect("it ends");
    }
}
