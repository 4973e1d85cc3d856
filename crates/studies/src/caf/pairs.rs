//! Producers and consumers of packets (figures 7, 8, 14 and 20). Buffers come from a pool that is a
//! queue. A producer takes some buffers, writes a packet into their first blocks, and puts them
//! into a second queue; a consumer reads the packets and gives the buffers back to the pool.

use super::channel::{Ahead, Channel};
use crate::kit::{Body, Crew};
use baton_chip::{Simulated, act};
use baton_machine::units::{CoreId, Cycles};
use baton_machine::{Machine, OwnedSlice, PushTo};
use baton_workloads::xorshift;
use serde::Serialize;
use std::cell::{RefCell, UnsafeCell};
use std::rc::Rc;

/// The bytes of a block of a packet, which are those of the chip's line.
const BLOCK: usize = 64;
/// The words of a buffer of 2 KB (section 4.2).
const WORDS: usize = 256;

/// Where producers push the packets that they have enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Push {
    /// Nowhere.
    Never,
    /// Packets are pushed to the level that all cores share: the basic prepush.
    Shared,
    /// Packets are pushed into the second level of the core of the consumer that has the producer's
    /// number: the advanced prepush.
    Consumer,
}

/// The parameters of a run of producers and consumers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Pairs {
    /// The number of producers, and of consumers.
    pub(super) pairs: u32,
    pub(super) bulk: usize,
    /// Packets that are measured, of all producers together.
    pub(super) packets: u64,
    /// The number of buffers in the pool.
    pub(super) pool: usize,
    /// Blocks of a packet that are written and read.
    pub(super) blocks: usize,
    /// The cycles that a producer and a consumer compute for a packet.
    pub(super) work: [u64; 2],
    /// How many packets ahead of the one that it reads a consumer prefetches within a bulk; with 0
    /// it does not prefetch.
    pub(super) prefetch: usize,
    pub(super) push: Push,
    /// The cycles between two packets that come to a producer, on average. With 0, the next packet
    /// is always there.
    pub(super) pace: u64,
    /// The number of dequeues that a thread issues before it needs their items.
    pub(super) ahead: u64,
    pub(super) seed: u64,
}

/// A buffer, whose lines are touched like a program's data. It has one owner at a time: the thread
/// that took its number from a queue.
#[repr(C, align(64))]
struct Buffer(UnsafeCell<[u64; WORDS]>);

impl Buffer {
    /// The address of the first word of a block.
    fn word(&self, block: usize) -> *mut u64 {
        self.0.get().cast::<u64>().wrapping_add(block * BLOCK / 8)
    }

    fn touch(&self, blocks: usize, write: bool) {
        // SAFETY: the buffer is guest memory that lives as long as the run, and the calling thread
        // owns it.
        unsafe { Simulated::touch(self.word(0).cast(), blocks * BLOCK, write) };
    }
}

/// What the threads note; noting takes no simulated time.
#[derive(Default)]
pub(super) struct Notes {
    /// For each buffer, the time at which its packet came.
    arrived: Vec<u64>,
    /// Packets consumed.
    consumed: u64,
    /// The time at which the packets before the count were consumed (`Pairs::warm`). Later packets
    /// count.
    pub(super) began: u64,
    pub(super) ended: u64,
    /// The times from a packet's arrival until a consumer has it.
    pub(super) waited: Vec<u64>,
    /// For each consumer and producer, the number of the last packet, to check the order.
    last: Vec<Option<u64>>,
    sum: u64,
    fault: Option<String>,
}

struct Shared {
    pool: Rc<dyn Channel>,
    data: Rc<dyn Channel>,
    buffers: OwnedSlice<Simulated, Buffer>,
    notes: Rc<RefCell<Notes>>,
}

impl Pairs {
    /// The number of packets before the count begins: one for each buffer, rounded up to a multiple
    /// of the pairs.
    fn warm(self) -> u64 {
        (self.pool as u64).next_multiple_of(u64::from(self.pairs))
    }

    fn share(self) -> u64 {
        (self.warm() + self.packets) / u64::from(self.pairs)
    }

    /// Packets that count.
    pub(super) fn measured(self) -> u64 {
        self.share() * u64::from(self.pairs) - self.warm()
    }

    fn produces(self, shared: &Shared, producer: u32) {
        let mut ahead = Ahead::new(self.ahead, self.share());
        let mut random = (self.seed << 8 | u64::from(producer)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut buffers = vec![0; self.bulk];
        let (mut number, mut due) = (0, act::time().0);
        while number < self.share() {
            buffers.resize((self.share() - number).min(self.bulk as u64) as usize, 0);
            shared.pool.refill(&mut ahead);
            shared.pool.get(&mut buffers, &mut ahead);
            for &buffer in &buffers {
                if self.pace > 0 {
                    // The pace varies from half of itself to one and a half. A producer that is
                    // late does not wait.
                    due += self.pace / 2 + xorshift(&mut random) % self.pace;
                    Simulated::work(Cycles(due.saturating_sub(act::time().0)));
                }
                Simulated::work(Cycles(self.work[0]));
                let packet = u64::from(producer) << 32 | number;
                let own = &shared.buffers[buffer as usize];
                own.touch(self.blocks, true);
                for block in 0..self.blocks {
                    // SAFETY: the word lies in a buffer that this thread owns.
                    unsafe { own.word(block).write(packet) };
                }
                let arrived = if self.pace > 0 { due } else { act::time().0 };
                shared.notes.borrow_mut().arrived[buffer as usize] = arrived;
                number += 1;
            }
            shared.data.put(&buffers);
            let to = match self.push {
                Push::Never => continue,
                Push::Shared => PushTo::SharedLevel,
                Push::Consumer => PushTo::Core(CoreId(self.pairs + producer)),
            };
            for &buffer in &buffers {
                let start = shared.buffers[buffer as usize].word(0);
                Simulated::prepush(start.cast(), self.blocks * BLOCK, to);
            }
        }
    }

    fn consumes(self, shared: &Shared, consumer: u32) {
        let mut ahead = Ahead::new(self.ahead, self.share());
        let (mut left, mut buffers) = (self.share(), vec![0; self.bulk]);
        while left > 0 {
            buffers.resize(left.min(self.bulk as u64) as usize, 0);
            shared.data.refill(&mut ahead);
            shared.data.get(&mut buffers, &mut ahead);
            self.notes(shared, &buffers);
            let fetch = |buffer: &u64| {
                let start = shared.buffers[*buffer as usize].word(0);
                Simulated::prefetch(start.cast(), self.blocks * BLOCK, false);
            };
            buffers.iter().skip(1).take(self.prefetch).for_each(fetch);
            for (at, &buffer) in buffers.iter().enumerate() {
                if at > 0 && self.prefetch > 0 {
                    buffers.iter().skip(at + self.prefetch).take(1).for_each(fetch);
                }
                let buffer = &shared.buffers[buffer as usize];
                buffer.touch(self.blocks, false);
                // SAFETY: the word lies in a buffer that this thread owns.
                let packet = unsafe { buffer.word(0).read() };
                for block in 1..self.blocks {
                    // SAFETY: as above.
                    let other = unsafe { buffer.word(block).read() };
                    if other != packet {
                        shared.notes.borrow_mut().fault = Some(format!("a packet of {packet:x} and {other:x}"));
                    }
                }
                self.checks(shared, consumer, packet);
                Simulated::work(Cycles(self.work[1]));
            }
            shared.pool.put(&buffers);
            left -= buffers.len() as u64;
        }
        let mut notes = shared.notes.borrow_mut();
        notes.ended = notes.ended.max(act::time().0);
    }

    /// Notes that a consumer has these buffers.
    fn notes(self, shared: &Shared, buffers: &[u64]) {
        let (mut notes, now) = (shared.notes.borrow_mut(), act::time().0);
        for &buffer in buffers {
            notes.consumed += 1;
            if notes.consumed == self.warm() {
                notes.began = now;
            }
            if notes.consumed > self.warm() {
                let waited = now - notes.arrived[buffer as usize];
                notes.waited.push(waited);
            }
        }
    }

    /// Checks that the packets of a producer come to a consumer in their order.
    fn checks(self, shared: &Shared, consumer: u32, packet: u64) {
        let mut notes = shared.notes.borrow_mut();
        let (producer, number) = (packet >> 32, packet & u64::from(u32::MAX));
        let pair = u64::from(consumer) * u64::from(self.pairs) + producer;
        let Some(last) = notes.last.get_mut(pair as usize) else {
            notes.fault = Some(format!("a packet of no producer: {packet:x}"));
            return;
        };
        if last.is_some_and(|last| last >= number) {
            notes.fault = Some(format!("packet {number} of producer {producer} behind {last:?}"));
        } else {
            *last = Some(number);
        }
        notes.sum = notes.sum.wrapping_add(packet);
    }

    /// Makes the threads at the two queues, which note their packets in `notes`.
    pub(super) fn crew(self, pool: Rc<dyn Channel>, data: Rc<dyn Channel>, notes: Rc<RefCell<Notes>>) -> Crew {
        *notes.borrow_mut() = Notes {
            arrived: vec![0; self.pool],
            last: vec![None; (self.pairs * self.pairs) as usize],
            ..Notes::default()
        };
        let buffers = OwnedSlice::new(self.pool, |_| Buffer(UnsafeCell::new([0; WORDS])));
        let shared = Rc::new(Shared { pool, data, buffers, notes });
        let consumer = |consumer: u32| {
            let shared = shared.clone();
            let body: Body = Box::new(move || {
                if consumer == 0 {
                    for first in (0..self.pool as u64).step_by(8) {
                        shared.pool.put(&(first..(first + 8).min(self.pool as u64)).collect::<Vec<_>>());
                    }
                }
                self.consumes(&shared, consumer);
            });
            (self.pairs + consumer, body)
        };
        let producer = |producer: u32| {
            let shared = shared.clone();
            let body: Body = Box::new(move || self.produces(&shared, producer));
            (producer, body)
        };
        let bodies = (0..self.pairs).map(producer).chain((0..self.pairs).map(consumer)).collect();
        let check = move || {
            let notes = shared.notes.borrow();
            let (pairs, share) = (u64::from(self.pairs), self.share());
            let expected = ((pairs * (pairs - 1) / 2 * share) << 32) + pairs * (share * (share - 1) / 2);
            match &notes.fault {
                Some(fault) => Err(fault.clone()),
                None if notes.sum != expected => Err(format!("the packets' sum is {}, expected {expected}", notes.sum)),
                None => Ok(()),
            }
        };
        Crew { bodies, check: Box::new(check) }
    }
}
