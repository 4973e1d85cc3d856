//! Threads that only enqueue, or only dequeue (figure 6, and 13b with one thread). Before threads
//! dequeue, the thread on the chip's last core fills the queue; where all cores dequeue, it is one
//! of the threads that do. Each thread moves the same number of items, and the run takes as long as
//! the slowest thread.

use super::channel::{Ahead, Channel};
use crate::kit::{Body, Crew};
use baton_chip::{Simulated, act};
use baton_machine::Ordering::{Release, SeqCst};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_workloads::xorshift;
use std::cell::RefCell;
use std::rc::Rc;

/// One run in which all threads only enqueue, or only dequeue.
#[derive(Clone, Copy)]
pub(super) struct Pure {
    /// Whether the threads dequeue; otherwise they enqueue.
    pub(super) dequeues: bool,
    pub(super) threads: u32,
    pub(super) bulk: usize,
    /// The number of items that all threads move together.
    pub(super) items: u64,
    /// The number of dequeues that a thread issues before it needs their items.
    pub(super) ahead: u64,
    pub(super) seed: u64,
    /// The cores of the chip. The last core fills the queue.
    pub(super) cores: u32,
}

/// What the threads note; noting takes no simulated time.
#[derive(Default)]
pub(super) struct Times {
    pub(super) began: u64,
    pub(super) ended: u64,
    sum: u64,
}

type Gate = <Simulated as Machine>::Atomic<u32>;

impl Pure {
    /// Makes a thread wait at the gate until the queue is filled, or may be filled. The thread then
    /// starts up to 63 cycles later, at random.
    fn waits(self, gate: &Gate, thread: u32) {
        let _ = Simulated::wait_while(gate, 0, Wait::Pause, None);
        let mut state = (self.seed << 8 | u64::from(thread)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Simulated::work(Cycles(xorshift(&mut state) % 64));
    }

    fn share(self) -> u64 {
        self.items / u64::from(self.threads)
    }

    fn moves(self, channel: &dyn Channel, thread: u32, times: &RefCell<Times>) {
        let mut ahead = Ahead::new(self.ahead, self.share());
        let mut items = vec![0; self.bulk];
        let (mut left, mut sum) = (self.share(), 0u64);
        while left > 0 {
            items.resize(left.min(self.bulk as u64) as usize, 0);
            if self.dequeues {
                channel.refill(&mut ahead);
                channel.get(&mut items, &mut ahead);
                sum = items.iter().fold(sum, |sum, item| sum.wrapping_add(*item));
            } else {
                let first = u64::from(thread) * self.share() + self.share() - left;
                items.iter_mut().zip(first..).for_each(|(item, number)| *item = number);
                channel.put(&items);
            }
            left -= items.len() as u64;
        }
        if !self.dequeues {
            // A posted enqueue is in the queue only when the device has answered it.
            Simulated::fence(SeqCst);
        }
        let mut times = times.borrow_mut();
        times.ended = times.ended.max(act::time().0);
        times.sum = times.sum.wrapping_add(sum);
    }

    fn fills(self, channel: &dyn Channel, gate: &Gate, times: &RefCell<Times>) {
        if self.dequeues {
            for first in (0..self.items).step_by(8) {
                channel.put(&(first..(first + 8).min(self.items)).collect::<Vec<_>>());
            }
            Simulated::fence(SeqCst);
        }
        times.borrow_mut().began = act::time().0;
        gate.store(1, Release);
        Simulated::wake::<u32>(gate, u32::MAX, Wait::Pause);
    }

    /// Makes the threads at a queue, which note their times in `times`.
    pub(super) fn crew(self, channel: Rc<dyn Channel>, times: Rc<RefCell<Times>>) -> Crew {
        let gate = Rc::new(Owned::<Simulated, Gate>::new(Gate::new(0)));
        let last = self.cores - 1;
        let body = |core: u32| {
            let (channel, gate, times) = (channel.clone(), gate.clone(), times.clone());
            let body: Body = Box::new(move || {
                if core == last {
                    self.fills(&*channel, &gate, &times);
                }
                if core < self.threads {
                    self.waits(&gate, core);
                    self.moves(&*channel, core, &times);
                }
            });
            (core, body)
        };
        let cores = (0..self.threads).chain((self.threads < self.cores).then_some(last));
        let bodies = cores.map(body).collect();
        let check = move || {
            drop((channel, gate));
            let expected = if self.dequeues { self.items * (self.items - 1) / 2 } else { 0 };
            let sum = times.borrow().sum;
            if sum == expected { Ok(()) } else { Err(format!("the items' sum is {sum}, expected {expected}")) }
        };
        Crew { bodies, check: Box::new(check) }
    }
}
