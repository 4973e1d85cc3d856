//! Two producers and a consumer at one queue (figure 17). Enqueues need credits, which the device
//! gives out by weights; or the queue has no credits.

use super::channel::word;
use crate::kit::{Body, Crew};
use baton_chip::{Simulated, act};
use baton_machine::Machine;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// One run of two producers and a consumer at one queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Weights {
    /// The two producers' weights.
    pub(super) weights: [u32; 2],
    /// Whether enqueues need credits.
    pub(super) credits: bool,
    /// Entries of the queue.
    pub(super) entries: u32,
    /// Cycles that are measured.
    pub(super) cycles: u64,
    pub(super) seed: u64,
}

/// The cycles before items count.
const WARM: u64 = 20_000;

fn device() -> <Simulated as Machine>::Queues {
    Simulated::queues(0).expect("the chip was seen to have a queue device")
}

impl Weights {
    /// A producer asks for credits, sends as many items as it got credits, and asks again. Without
    /// credits it sends eight items and waits for their answers.
    fn produces(self, number: u64, queue: QueueId) {
        let weight = self.weights[number as usize];
        if self.credits {
            word(device().call(QueueRequest::Join { queue, direction: Direction::Enqueue, weight }));
        }
        let take = Operand { mode: Mode::TakeCredits(Direction::Enqueue), ..Operand::of(queue) };
        // The producers still send when the consumer stops counting.
        while act::time().0 < WARM + self.cycles + 10_000 {
            let credits =
                if self.credits { word(device().request(QueueRequest::Dequeue { from: take }).wait()) } else { 8 };
            let send = |_| device().request(QueueRequest::Enqueue { to: Operand::of(queue), item: number });
            let tickets: Vec<_> = (0..credits).map(send).collect();
            for ticket in tickets {
                word(ticket.wait());
            }
        }
    }

    fn consumes(self, queue: QueueId, got: &RefCell<[u64; 2]>) {
        while act::time().0 < WARM + self.cycles {
            let item = word(device().request(QueueRequest::Dequeue { from: Operand::of(queue) }).wait());
            if act::time().0 >= WARM {
                got.borrow_mut()[item as usize] += 1;
            }
        }
        // The consumer takes the remaining items until both producers have ended.
        let operand = Operand { mode: Mode::Try, ..Operand::of(queue) };
        while act::time().0 < WARM + self.cycles + 40_000 {
            let empty = device().request(QueueRequest::Dequeue { from: operand }).wait() == Err(QueueRefusal::Empty);
            Simulated::work(Cycles(if empty { 1000 } else { 0 }));
        }
    }

    /// Makes the three threads; `got` counts the items of each producer.
    pub(super) fn crew(self, got: Rc<RefCell<[u64; 2]>>) -> Result<Crew, String> {
        let asked = QueueRequest::Allocate {
            entries: self.entries,
            queues: 1,
            enqueue_credits: self.credits,
            dequeue_credits: false,
        };
        let device = Simulated::queues(0).ok_or("the chip has no queue device")?;
        let id = device.call(asked).map_err(|why| format!("no queue of {} entries: {why:?}", self.entries))?;
        let queue = QueueId(id as u32);
        let mine = got.clone();
        let consumer: Body = Box::new(move || self.consumes(queue, &mine));
        let mut bodies = vec![(0, consumer)];
        for number in [0, 1] {
            let late = (self.seed * 37 + number * 11) % 64;
            let body: Body = Box::new(move || {
                Simulated::work(Cycles(late));
                self.produces(number, queue);
            });
            bodies.push((1 + number as u32, body));
        }
        let check = move || {
            // Without credits, one producer may take every place that becomes free, so only credits
            // are checked.
            let starved = self.credits && got.borrow().contains(&0);
            if starved { Err("a producer with credits sent nothing".to_owned()) } else { Ok(()) }
        };
        Ok(Crew { bodies, check: Box::new(check) })
    }
}
