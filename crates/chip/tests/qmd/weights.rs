//! Figure 17: two producers with credits by weight, and a consumer.

use super::{Body, chip, dequeue, device, enqueue, run, word};
use baton_chip::act;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use std::cell::RefCell;
use std::rc::Rc;

/// A producer that asks for credits and sends as many items as it got credits, until cycle `ends`.
/// Each item is the producer's number.
fn producer(number: u64, weight: u32, queue: QueueId, ends: u64) {
    act::delay(Cycles(5_000));
    device().call(QueueRequest::Join { queue, direction: Direction::Enqueue, weight }).expect("it may");
    let take = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(queue) };
    while act::time().0 < ends {
        let credits = word(device().request(QueueRequest::Dequeue { from: take }).wait());
        let tickets: Vec<_> = (0..credits).map(|_| enqueue(queue, number)).collect();
        tickets.into_iter().for_each(|ticket| assert_eq!(word(ticket.wait()), 0, "a credit is a place"));
    }
}

/// The number of items that the consumer got of each producer until cycle 400,000.
fn shares(weights: [u32; 2]) -> [u64; 2] {
    let got = Rc::new(RefCell::new([0; 2]));
    let out = got.clone();
    let queue = QueueId(0);
    let ends = 400_000;
    let consumer = move || {
        let asked = QueueRequest::Allocate { entries: 16, queues: 1, enqueue_credits: true, dequeue_credits: false };
        assert_eq!(word(device().call(asked)), u64::from(queue.0));
        while act::time().0 < ends {
            let item = word(dequeue(queue).wait());
            out.borrow_mut()[item as usize] += 1;
        }
        // It takes what is left, and waits for no further item, since none comes.
        let operand = Operand { mode: Mode::Try, ..Operand::of(queue) };
        act::delay(Cycles(20_000));
        while device().request(QueueRequest::Dequeue { from: operand }).wait() != Err(QueueRefusal::Empty) {}
    };
    let mut threads: Vec<(u32, Body)> = vec![(0, Box::new(consumer))];
    for (number, weight) in (0..).zip(weights) {
        // The consumer ends first, while both producers still send.
        threads.push((1 + number, Box::new(move || producer(u64::from(number), weight, queue, ends + 10_000))));
    }
    run(&chip(&[]), 1, threads).expect("it ends");
    got.take()
}

#[test]
fn throughput_follows_the_weights() {
    for (weights, ratio) in [([1, 1], 1.0), ([1, 2], 2.0), ([1, 3], 3.0)] {
        let [first, second] = shares(weights);
        let is = second as f64 / first as f64;
        assert!(first > 100 && (is / ratio - 1.0).abs() < 0.1, "{weights:?}: {first} and {second}");
    }
}
