//! How long a request takes, and how many can be under way.

use super::{Body, allocate, chip, count, dequeue, enqueue, run, word};
use baton_chip::act;
use baton_machine::device::Ticket;
use std::cell::Cell;
use std::rc::Rc;

/// The cycles that a thread takes for `f`, when it runs it for the second time on a new queue.
fn cycles(settings: &[&str], f: impl Fn(baton_machine::queues::QueueId) + 'static) -> u64 {
    let took = Rc::new(Cell::new(0));
    let out = took.clone();
    let body: Body = Box::new(move || {
        let queue = allocate(1024, 1);
        f(queue);
        // It begins at an edge of the device's clock, which is half as fast as the core's.
        baton_chip::act::delay(baton_machine::units::Cycles(2 - act::time().0 % 2));
        let began = act::time().0;
        f(queue);
        out.set(act::time().0 - began);
    });
    run(&chip(settings), 1, vec![(0, body)]).expect("it ends");
    took.get()
}

#[test]
fn a_request_takes_the_way_the_access_and_the_way_back() {
    let one = |settings: &[&str]| {
        cycles(settings, |queue| {
            word(enqueue(queue, 1).wait());
        })
    };
    let (base, longer, slower) = (one(&[]), one(&["device.way=26"]), one(&["device.qmd.latency=51"]));
    // 25 cycles each way, 50 cycles of the device, which are two of the core's each, a cycle in its
    // buffer, and the wait for its clock's next edge.
    assert!((150..=156).contains(&base), "{base}");
    // An edge of the device's clock comes each second cycle of the core's.
    assert!((1..=3).contains(&(longer - base)), "{longer} {base}");
    assert_eq!(slower - base, 2);
}

#[test]
fn requests_under_way_hide_each_others_latency() {
    let many = |outstanding: &str| {
        cycles(&[outstanding], |queue| {
            let tickets: Vec<_> = (0..64).map(|item| enqueue(queue, item)).collect();
            for ticket in tickets {
                word(ticket.wait());
            }
            let tickets: Vec<_> = (0..64).map(|_| dequeue(queue)).collect();
            for ticket in tickets {
                word(ticket.wait());
            }
        })
    };
    let (one, sixteen) = (many("device.outstanding=1"), many("device.outstanding=16"));
    assert!(sixteen * 8 < one, "{sixteen} {one}");
}

#[test]
fn an_items_way_through_two_cores_is_checked_and_counted() {
    let queue = baton_machine::queues::QueueId(0);
    let producer = move || {
        assert_eq!(allocate(16, 1), queue);
        let tickets: Vec<_> = (0..200).map(|item| enqueue(queue, item)).collect();
        tickets.into_iter().for_each(|ticket| assert_eq!(word(ticket.wait()), 0));
    };
    let consumer = move || {
        act::delay(baton_machine::units::Cycles(5_000));
        (0..200).for_each(|item| assert_eq!(word(dequeue(queue).wait()), item));
    };
    let outcome = run(&chip(&[]), 1, vec![(0, Box::new(producer)), (1, Box::new(consumer))]).expect("it ends");
    assert_eq!((count(&outcome, "enqueued"), count(&outcome, "dequeued")), (200, 200));
    assert_eq!((count(&outcome, "refused"), count(&outcome, "dropped")), (0, 0));
}
