//! Queues that move between devices while threads use them. Random programs with queues that move:
//! `random.rs`.

use super::queues::{Body, allocate, chip, device, run};
use super::{count, dequeue, enqueue, word};
use baton_chip::{Chip, Simulated, act, moving};
use baton_machine::device::{Device, Ticket};
use baton_machine::flows::{FlowOrder, FlowRequest, Flows, InHand, Of};
use baton_machine::queues::{Direction, Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Devices, Machine};
use std::cell::RefCell;
use std::rc::Rc;

/// The paper's chip with three devices.
fn three(settings: &[&str]) -> Chip {
    let all = ["device.count=3", "device.qimu=16", "device.qtlb=4"];
    chip(&all.iter().chain(settings).copied().collect::<Vec<_>>())
}

/// A queue with ten items moves from device to device, and its items stay in their order. A request
/// with an old translation is sent on to the queue's new device.
#[test]
fn a_loaded_queue_takes_its_items_with_it() {
    let body = || {
        let queue = allocate(16, 1);
        (0..10).for_each(|item| drop(enqueue(queue, item)));
        for (turn, to) in [1, 2, 0, 1].into_iter().enumerate() {
            act::delay(Cycles(2_000));
            assert_eq!(moving::migrate(queue, to), Ok(10));
            assert_eq!(moving::home_of(queue), Some(to));
            assert_eq!(word(dequeue(queue).wait()), turn as u64);
            word(enqueue(queue, 10 + turn as u64).wait());
        }
        (4..14).for_each(|item| assert_eq!(word(dequeue(queue).wait()), item));
        assert_eq!(moving::migrate(queue, 1), Ok(0), "it is there");
        assert_eq!(device().call(QueueRequest::Release(queue)), Ok(0));
    };
    let outcome = run(&three(&[]), 1, vec![(0, Box::new(body))]).expect("it ends");
    assert_eq!((count(&outcome, "queues_moved"), count(&outcome, "sent_on")), (4, 4));
}

#[test]
fn what_cannot_move_stays() {
    let body = || {
        let queue = allocate(16, 4);
        assert_eq!(moving::migrate(queue, 3), Err(QueueRefusal::Refused), "there is no such device");
        assert_eq!(moving::migrate(QueueId(77), 1), Err(QueueRefusal::NoQueue));
        device().call(QueueRequest::Balance { first: queue, count: 2 }).expect("a group");
        assert_eq!(moving::migrate(queue, 1), Err(QueueRefusal::Refused), "a group has it");
        assert_eq!(moving::migrate(queue.plus(2), 1), Ok(0));
        assert_eq!(device().call(QueueRequest::Balance { first: queue.plus(2), count: 2 }), Err(QueueRefusal::Refused));
        let large = allocate(1900, 1);
        assert_eq!(moving::migrate(large, 1), Ok(0));
        let second = allocate(1900, 1);
        assert_eq!(moving::migrate(second, 1), Err(QueueRefusal::NoRoom));
        word(enqueue(second, 5).wait());
        assert_eq!(word(dequeue(second).wait()), 5, "nothing has come of it");
    };
    run(&three(&[]), 1, vec![(0, Box::new(body))]).expect("it ends");
}

/// Slots that moves leave behind are free again when the queue is given back.
#[test]
fn a_queue_that_is_given_back_leaves_nothing_behind() {
    let body = || {
        for _ in 0..40 {
            let queue = allocate(64, 1);
            for to in [1, 2, 0, 1, 0] {
                moving::migrate(queue, to).expect("there is room");
            }
            assert_eq!(device().call(QueueRequest::Release(queue)), Ok(0));
        }
        let all = allocate(128, 16);
        assert_eq!(all.0 & 0xfff, 0);
    };
    run(&three(&[]), 1, vec![(0, Box::new(body))]).expect("it ends");
}

/// A dequeue that waits when its queue moves gets the item that comes to the new device. A request
/// with [`Mode::Try`] never finds the queue empty or full because the queue is moving.
#[test]
fn a_request_that_waits_goes_with_its_queue() {
    let queue = QueueId(0);
    let owner = move || {
        assert_eq!(allocate(4, 2), queue);
        word(enqueue(queue.plus(1), 7).wait());
        act::delay(Cycles(10_000));
        assert_eq!(moving::migrate(queue, 1), Ok(0));
        assert_eq!(moving::migrate(queue.plus(1), 1), Ok(1));
        act::delay(Cycles(10_000));
        word(enqueue(queue, 5).wait());
    };
    let waits = move || {
        act::delay(Cycles(5_000));
        assert_eq!(word(dequeue(queue).wait()), 5);
    };
    let tries = move || {
        act::delay(Cycles(5_000));
        let from = Operand { mode: Mode::Try, ..Operand::of(queue.plus(1)) };
        while act::time().0 < 30_000 {
            assert_eq!(device().request(QueueRequest::Dequeue { from }).wait(), Ok(7));
            let to = Operand { mode: Mode::Try, ..Operand::of(queue.plus(1)) };
            assert_eq!(device().request(QueueRequest::Enqueue { to, item: 7 }).wait(), Ok(0));
        }
    };
    let threads: Vec<(u32, Body)> = vec![(0, Box::new(owner)), (1, Box::new(waits)), (2, Box::new(tries))];
    let outcome = run(&three(&[]), 1, threads).expect("it ends");
    assert_eq!(count(&outcome, "dropped"), 0);
}

/// Credits move with their queue, also those that a thread has in hand: no more requests are served
/// than there are credits, and all credits come back. In debug builds the device checks the sum of
/// credits in each cycle.
#[test]
fn credits_move_with_their_queue() {
    for pointers in ["device.qmd.pointers=grant", "device.qmd.pointers=access"] {
        let body = || {
            let asked = QueueRequest::Allocate { entries: 8, queues: 1, enqueue_credits: true, dequeue_credits: true };
            let queue = QueueId(word(device().call(asked)) as u32);
            for direction in [Direction::Enqueue, Direction::Dequeue] {
                word(device().call(QueueRequest::Join { queue, direction, weight: 1 }));
            }
            let take = move |direction| {
                let from = Operand { mode: Mode::TakeCredits(direction), ..Operand::of(queue) };
                word(device().request(QueueRequest::Dequeue { from }).wait())
            };
            act::delay(Cycles(1_000));
            assert_eq!(take(Direction::Enqueue), 8);
            (0..5).for_each(|item| assert_eq!(word(enqueue(queue, item).wait()), 0));
            for (turn, to) in [1, 2, 0].into_iter().enumerate() {
                assert_eq!(moving::migrate(queue, to), Ok(5));
                act::delay(Cycles(1_000));
                assert_eq!(take(Direction::Dequeue), if turn == 0 { 5 } else { 1 });
                assert_eq!(word(dequeue(queue).wait()), turn as u64);
                word(enqueue(queue, 5 + turn as u64).wait());
            }
            assert_eq!(enqueue(queue, 9).wait(), Err(QueueRefusal::NoCredit), "eight were given, and eight are spent");
            act::delay(Cycles(1_000));
            assert_eq!(take(Direction::Enqueue), 3, "those of the three items that were taken");
        };
        let outcome = run(&three(&[pointers]), 1, vec![(0, Box::new(body))]).expect("it ends");
        assert_eq!(count(&outcome, "no_credit"), 1, "{pointers}");
    }
}

/// A thread that is killed while its queue moves leaves nothing behind, whatever was copied before:
/// its credits come back, and each of its items in hand goes back to the queue.
#[test]
fn what_a_thread_had_comes_back_when_it_ends_while_its_queue_moves() {
    for at in (0..40).map(|turn| 1_000 + 151 * turn) {
        let body = move || {
            let asked = QueueRequest::Allocate { entries: 8, queues: 1, enqueue_credits: true, dequeue_credits: false };
            let credited = QueueId(word(device().call(asked)) as u32);
            let flows = || Simulated::first::<QueueDevice>().expect("one");
            let make = FlowRequest::Make { entries: 8, order: FlowOrder::Atomic, window: 8, dead: InHand::PutBack };
            let queue = QueueId(flows().configure(make).expect("room").word as u32);
            let send = |item: u64| {
                let of = FlowRequest::Send { to: Operand::of(queue), item, flow: item as u16, of: Of::None };
                flows().ask(of).wait().expect("room")
            };
            (0..4).for_each(|item| _ = send(item));
            let bind = move |most| flows().configure(FlowRequest::Bind { queue, weight: 1, most });
            let receive =
                move || flows().ask(FlowRequest::Receive { from: Operand::of(queue) }).wait().expect("an item");
            let join = QueueRequest::Join { queue: credited, direction: Direction::Enqueue, weight: 1 };
            let take = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(credited) };
            let victim = act::spawn(super::queues::on(1), move || {
                word(device().call(join));
                bind(3).expect("tokens");
                let items = [0; 3].map(|_| receive().word);
                act::delay(Cycles(1_000));
                assert_eq!((items, device().request(QueueRequest::Dequeue { from: take }).wait()), ([0, 1, 2], Ok(8)));
                act::delay(Cycles(1_000_000));
            });
            let killer = act::spawn(super::queues::on(2), move || {
                act::delay(Cycles(20_000 + at));
                act::kill(victim);
            });
            act::delay(Cycles(20_000));
            for (turn, what) in [credited, queue, credited, queue].into_iter().enumerate() {
                moving::migrate(what, 1 + turn as u32 / 2).expect("there is room");
            }
            [victim, killer].into_iter().for_each(act::join);
            word(device().call(join));
            act::delay(Cycles(1_000));
            assert_eq!(device().request(QueueRequest::Dequeue { from: take }).wait(), Ok(8), "killed at {at}");
            bind(4).expect("tokens");
            assert_eq!([0; 4].map(|_| receive().word), [0, 1, 2, 3], "killed at {at}");
        };
        let outcome = run(&three(&["device.call=20"]), 1, vec![(0, Box::new(body))]).expect("it ends");
        // The main thread ends with four in hand.
        assert_eq!((count(&outcome, "put_back"), count(&outcome, "given_up")), (3 + 4, 0), "killed at {at}");
    }
}

/// All queues with flows of a process are at one device, and move together; another process's stay.
/// Without room for all, or without tokens for their consumers, nothing has changed.
#[test]
fn queues_with_flows_of_a_process_are_at_one_device() {
    let body = || {
        let flows = || Simulated::first::<QueueDevice>().expect("one");
        let make = |entries| FlowRequest::Make { entries, order: FlowOrder::Parallel, window: 1, dead: InHand::GiveUp };
        let made = |entries| flows().configure(make(entries)).map(|given| QueueId(given.word as u32));
        let [first, second] = [made(1000), made(16)].map(|queue| queue.expect("room"));
        let of = |to, item| flows().ask(FlowRequest::Send { to: Operand::of(to), item, flow: 1, of: Of::None }).wait();
        let all = |queue| moving::home_of(queue).zip(moving::home_of(first));
        assert_eq!(moving::migrate(second, 2), Ok(0));
        assert_eq!(all(second), Some((2, 2)));
        let third = made(16).expect("where the others are");
        assert_eq!(all(third), Some((2, 2)));
        assert_eq!(made(1100), Err(QueueRefusal::NoRoom), "there is room elsewhere, but not for one of these");
        of(first, 7).expect("room");
        of(third, 8).expect("room");
        flows().configure(FlowRequest::Bind { queue: third, weight: 1, most: 3 }).expect("tokens");
        // Another queue leaves too little room at one device.
        let plain = allocate(1100, 1);
        assert_eq!(moving::home_of(plain), Some(0));
        assert_eq!(moving::migrate(first, 0), Err(QueueRefusal::NoRoom));
        assert_eq!(all(third), Some((2, 2)));
        assert_eq!(moving::migrate(first, 1), Ok(2));
        let given = flows().ask(FlowRequest::Receive { from: Operand::of(third) }).wait().expect("it came along");
        assert_eq!(given.word, 8);
        assert_eq!(device().call(QueueRequest::Release(first)), Ok(1));
        assert_eq!(moving::migrate(third, 0), Ok(0), "now there is room");
        // A queue that is gone is no place for what is sent on; the others are.
        let on = |to| FlowRequest::Send { to: Operand::of(to), item: 9, flow: 1, of: Of::Last(given.token) };
        assert_eq!(flows().ask(on(first)).wait(), Err(QueueRefusal::NoQueue));
        assert!(flows().ask(on(second)).wait().is_ok());
    };
    run(&three(&[]), 1, vec![(0, Box::new(body))]).expect("it ends");
}

/// The producer uses two queues by turns, and its context keeps one translation, so it walks for
/// each request. It may find a queue's new place while an older request waits at the old one.
#[test]
fn a_request_does_not_overtake_one_that_waits_at_the_old_place() {
    let (queue, other) = (QueueId(0), QueueId(1));
    let owner = move || {
        assert_eq!(allocate(200, 2), queue);
        // The queue is nearly empty when it moves, so it is closed only for a few calls: one
        // request waits at the old place, and the next finds the new place.
        let mut got = Vec::new();
        for turn in 0..12 {
            let from = Operand { mode: Mode::Try, ..Operand::of(queue) };
            while let Ok(item) = device().request(QueueRequest::Dequeue { from }).wait() {
                got.push(item);
            }
            moving::migrate(queue, (turn + 1) % 3).expect("there is room");
        }
        (got.len()..150).for_each(|_| got.push(word(dequeue(queue).wait())));
        assert!(got.iter().copied().eq(0..150), "{got:?}");
    };
    let producer = move || {
        act::delay(Cycles(3_000));
        for item in 0..150 {
            drop(enqueue(queue, item));
            drop(enqueue(other, item));
            Simulated::work(Cycles(400));
        }
    };
    let threads: Vec<(u32, Body)> = vec![(0, Box::new(owner)), (1, Box::new(producer))];
    let outcome = run(&three(&["device.qtlb=1"]), 1, threads).expect("it ends");
    assert!(count(&outcome, "sent_on") > 0);
}

/// Kills a thread `at` cycles after three of them begin: the thread that moves the queue (0), the
/// one that takes items (1), or the one that brings them (2). At the end the others are killed too.
/// Returns how many requests were sent on.
fn killed_at(victim: usize, at: u64) -> u64 {
    // To create a thread takes 20,000 cycles. All three wait until `begins`, so they begin
    // together.
    let (queue, begins, ends) = (QueueId(0), 70_000, 110_000);
    let until = |time: u64| act::delay(Cycles(time.saturating_sub(act::time().0)));
    let got = Rc::new(RefCell::new(Vec::new()));
    let out = got.clone();
    let body = move || {
        assert_eq!(allocate(16, 1), queue);
        (0..8).for_each(|item| drop(enqueue(queue, item)));
        let mover = move || {
            let mut to = 0;
            until(begins);
            while act::time().0 < 90_000 {
                to = (to + 1) % 3;
                match moving::migrate(queue, to) {
                    Ok(_) | Err(QueueRefusal::NoRoom) => {}
                    other => panic!("{other:?}"),
                }
            }
        };
        let consumer = move || {
            until(begins);
            while act::time().0 < ends {
                let item = word(dequeue(queue).wait());
                out.borrow_mut().push(item);
            }
        };
        let producer = move || {
            until(begins);
            for item in 8.. {
                word(enqueue(queue, item).wait());
                act::delay(Cycles(300));
            }
        };
        let bodies: [Body; 3] = [Box::new(mover), Box::new(consumer), Box::new(producer)];
        let guests: Vec<_> = (1..).zip(bodies).map(|(core, body)| act::spawn(super::queues::on(core), body)).collect();
        until(begins + at);
        act::kill(guests[victim]);
        guests.iter().take(1).for_each(|guest| act::join(*guest));
        until(ends);
        guests.iter().for_each(|guest| act::kill(*guest));
        guests.iter().for_each(|guest| act::join(*guest));
        // The queue is whole wherever it is, and can move on.
        let home = moving::home_of(queue).expect("it is there");
        let left = moving::migrate(queue, (home + 1) % 3);
        assert!(matches!(left, Ok(_) | Err(QueueRefusal::NoRoom)), "{left:?}");
        word(device().call(QueueRequest::Release(queue)));
    };
    let outcome =
        run(&three(&["device.qmd.queues=64", "device.call=20"]), 1, vec![(0, Box::new(body))]).expect("it ends");
    let got = got.take();
    // The consumer may be killed between an item's dequeue and its record: that item, and no other,
    // may be missing, as the last one.
    let missing = got.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count();
    assert!(got.is_sorted() && missing == 0, "victim {victim} at {at}: {got:?}");
    let [enqueued, dequeued, released] = ["enqueued", "dequeued", "released"].map(|name| count(&outcome, name));
    assert_eq!(enqueued, dequeued + released, "victim {victim} at {at}");
    assert!(dequeued - got.len() as u64 <= 1, "victim {victim} at {at}");
    count(&outcome, "sent_on")
}

#[test]
fn a_thread_that_is_killed_while_a_queue_moves_takes_nothing_with_it() {
    let mut sent_on = 0;
    for victim in 0..3 {
        for at in (0..12).map(|turn| 1_000 + 397 * turn) {
            sent_on += killed_at(victim, at);
        }
    }
    assert!(sent_on > 100, "{sent_on}");
}
