//! Figure 4 of the paper: a request that cannot be served bars another request's way in a buffer of
//! the device, and could itself be served only after that other request.

use super::{Body, allocate, chip, dequeue, enqueue, run, word};
use baton_chip::act;
use baton_machine::device::Ticket;
use baton_machine::units::Cycles;

/// Thread 1 enqueues to the full queue a, and would dequeue from b next. Thread 2 enqueues to b
/// after that, and would dequeue from a next.
fn threads() -> Vec<(u32, Body)> {
    let a = baton_machine::queues::QueueId(0);
    let b = a.plus(1);
    let first = move || {
        assert_eq!(allocate(1, 2), a);
        word(enqueue(a, 1).wait());
        let full = enqueue(a, 2);
        act::delay(Cycles(1_000));
        assert_eq!(word(dequeue(b).wait()), 3);
        word(full.wait());
    };
    let second = move || {
        act::delay(Cycles(5_000));
        word(enqueue(b, 3).wait());
        assert_eq!(word(dequeue(a).wait()), 1);
        assert_eq!(word(dequeue(a).wait()), 2);
    };
    vec![(1, Box::new(first)), (2, Box::new(second))]
}

#[test]
fn shared_buffers_lock_and_the_report_says_who_waits() {
    let stuck = run(&chip(&["device.qmd.buffers=shared"]), 1, threads()).expect_err("nobody can go on");
    assert!(stuck.contains("2 thread(s) wait for ever"), "{stuck}");
    assert!(stuck.contains("device 0"), "{stuck}");
}

#[test]
fn virtual_buffers_do_not_lock() {
    for retry in ["device.qmd.retry=slot", "device.qmd.retry=free"] {
        for engines in ["device.qmd.engines=1", "device.qmd.engines=2"] {
            run(&chip(&["device.qmd.buffers=context", retry, engines]), 1, threads()).expect("it ends");
        }
    }
}
