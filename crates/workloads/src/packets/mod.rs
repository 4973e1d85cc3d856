//! Packets that travel through queues: CAF's packet applications (Wang and others, PACT 2016, section 4.2).
//!
//! Packets lie in buffers of 2 KB. The buffers' numbers come out of a pool that is itself a queue, go through the queues between the
//! threads, and return to the pool.
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | what the applications share: settings, the pool, how a bulk is worked on and passed on |
//! | [`clusters`] | a pipeline of clusters of threads |
//! | [`firewall`] | a source, filters, an analyser, a sink |
//! | `traffic` | the packets: a capture's, or made ones |
//! | `pcap` | captures |
//! | `header` | addresses, protocol and ports of a packet |
//! | `rules` | a firewall's rules |
//! | `buffers` | the buffers |
//! | `link` | the queues from stage to stage |
//! | `named` | both as workloads, with a queue by name |

mod buffers;
pub mod clusters;
pub mod firewall;
mod header;
mod link;
mod named;
mod pcap;
mod rules;
mod traffic;

pub use buffers::{BLOCK_BYTES, BLOCKS, BUFFER_BYTES};
pub use header::{Fields, LinkType, fields};
pub use named::{Clusters, Firewall};
pub use pcap::Capture;
pub use rules::{Action, Rules};
pub use traffic::{Packet, SUSPICIOUS_PORT, Traffic};

use crate::inputs::Prepush;
use crate::timing::{Figure, Spans};
use crate::{Refused, Shared, share};
use baton_machine::Ordering::Release;
use baton_machine::units::CoreId;
use baton_machine::{Atomic, Machine, PushTo, Wait};
use baton_sync::queue::RawQueue;
use buffers::Buffers;
use link::{Link, Receiver, Sender, Shape};
use std::sync::Arc;

/// How packets move, whatever is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// How many are sent.
    pub packets: u64,
    /// Packets that a thread takes and passes on at a time.
    pub bulk: usize,
    /// Places of each queue between two stages, a power of two.
    pub capacity: usize,
    /// Buffers in the pool; left out: as many as are needed, and 256 at least. [U] in the paper.
    pub pool: Option<usize>,
    /// 64-byte blocks of a packet that threads write and read, from its first. [U] in the paper, whose headers have 3.
    pub blocks: u32,
    /// Packets of a bulk that a thread prefetches ahead; 0: none.
    pub prefetch: u32,
    /// Whether what is passed on is pushed out of the sender's caches.
    pub prepush: Prepush,
}

impl Default for Flow {
    fn default() -> Self {
        Flow { packets: 1000, bulk: 1, capacity: 64, pool: None, blocks: 3, prefetch: 3, prepush: Prepush::None }
    }
}

/// The fewest buffers that a pool has where nothing is said.
const USUAL_POOL: usize = 256;

/// Cycles that it takes to add up a block's words.
const BLOCK_CYCLES: u64 = 8;

impl Flow {
    /// The number of buffers, with which no thread waits for ever: each of so many threads may have a bulk and wait.
    pub(crate) fn buffers(&self, threads: u32, pool: Shape, apart: bool) -> Result<usize, Refused> {
        let bulks = |of: u32| (of as usize).saturating_mul(self.bulk);
        // Where each source has queues of its own, buffers that wait for one source are none for the others.
        let dealt = if apart { (pool.receivers as usize).saturating_mul(bulks(pool.senders) + 2) } else { 0 };
        let least = bulks(threads).saturating_add(dealt).max(1);
        match self.pool {
            Some(asked) if asked < least => Err(Refused::because(format!(
                "a pool of {asked} buffers; expected {least} at least, so that no thread waits for ever"
            ))),
            Some(asked) => Ok(asked),
            None => Ok(least.max(USUAL_POOL)),
        }
    }

    /// Whether the settings can be.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        if !(1..=BLOCKS).contains(&self.blocks) {
            return Err(Refused::because(format!("{} blocks of a packet; expected 1 to {BLOCKS}", self.blocks)));
        }
        if self.bulk == 0 || self.bulk > self.capacity {
            let (bulk, capacity) = (self.bulk, self.capacity);
            return Err(Refused::because(format!(
                "a bulk of {bulk} packets; expected 1 to the queues' capacity, {capacity}"
            )));
        }
        Ok(())
    }

    /// Where what goes to the next stage is pushed: threads from `first` on.
    fn push_to(&self, receivers: u32, first: u32) -> Option<PushTo> {
        match self.prepush {
            Prepush::None => None,
            Prepush::Consumer if receivers == 1 => Some(PushTo::Core(CoreId(first))),
            Prepush::Shared | Prepush::Consumer => Some(PushTo::SharedLevel),
        }
    }
}

/// Marks that stand beside a buffer's number in a queue's word.
const LAST: u64 = 1 << 63;
const FILLER: u64 = 1 << 62;
const INSPECT: u64 = 1 << 61;
const MARKS: u64 = LAST | FILLER | INSPECT;

/// Alone on its pair of lines.
#[repr(C, align(128))]
struct Gate<M: Machine>(M::Atomic<u32>);

/// The buffers, their pool, and the beginning: thread 0 fills the pool, then all begin, and time is taken from then on.
struct Pool<M: Machine, Q: RawQueue<M, Item = u64>> {
    buffers: Buffers<M>,
    link: Arc<Link<M, Q>>,
    count: usize,
    gate: Shared<M, Gate<M>>,
    spans: Spans<M>,
    wait: Wait,
    flow: Flow,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Pool<M, Q> {
    /// The pool of `threads` threads, of which `senders` give back and `receivers` take.
    fn new(flow: Flow, threads: u32, (senders, receivers): (u32, u32), wait: Wait) -> Result<Arc<Self>, Refused> {
        flow.check()?;
        let shape = Shape { senders, receivers, bulk: flow.bulk };
        let count = flow.buffers(threads, shape, shape.apart(&Q::INFO))?;
        let places = count.checked_next_power_of_two().unwrap_or(usize::MAX);
        Ok(Arc::new(Pool {
            link: Link::new(shape, places, wait)?,
            buffers: Buffers::new(count),
            count,
            gate: share::<M, _>(Gate::<M>(M::Atomic::new(0))),
            spans: Spans::new(threads),
            wait,
            flow,
        }))
    }

    /// Has thread `me` do its part of the run.
    fn run(&self, me: u32, part: impl FnOnce()) {
        let gate = &self.gate.0;
        if me == 0 {
            // In the name of a thread that gives buffers back: none does before it has had one.
            let mut pool = self.link.sender(0);
            let all: Vec<u64> = (0..self.count as u64).collect();
            all.chunks(self.flow.bulk).for_each(|some| pool.send(some));
            // Release: who comes through the gate sees the pool full.
            gate.store(1, Release);
            M::wake::<u32>(gate, u32::MAX, self.wait);
        } else {
            let _ = M::wait_while(gate, 0, self.wait, None);
        }
        self.spans.time(me, part);
    }

    /// Goes over the buffers of a bulk, and prefetches ahead.
    fn each(&self, bulk: &[u64], blocks: u32, write: bool, mut work: impl FnMut(u64)) {
        let ahead = self.flow.prefetch as usize;
        let fetch = |word: &u64| {
            if word & FILLER == 0 {
                self.buffers.prefetch(word & !MARKS, blocks, write);
            }
        };
        bulk.iter().skip(1).take(ahead).for_each(fetch);
        for (at, &word) in bulk.iter().enumerate() {
            if at != 0 && ahead != 0 {
                bulk.iter().skip(at + ahead).take(1).for_each(fetch);
            }
            work(word);
        }
    }

    /// Passes packets on.
    fn pass(&self, to: &mut Sender<M, Q>, packets: &[u64], push: Option<PushTo>) {
        if packets.is_empty() {
            return;
        }
        to.send(packets);
        if let Some(level) = push {
            packets.iter().for_each(|word| self.buffers.push(word & !MARKS, self.flow.blocks, level));
        }
    }

    /// A source's part: packets `me`, `me + sources`, … of `traffic` go into buffers, and on.
    fn source(&self, me: u32, mut to: Sender<M, Q>, push: Option<PushTo>, (traffic, packets): (&Traffic, u64)) {
        let Flow { bulk, blocks, .. } = self.flow;
        let sources = u64::from(self.link.receivers());
        let (mut pool, mut some, mut sent) = (self.link.receiver(me), vec![0; bulk], 0);
        while sent < packets {
            let want = (packets - sent).min(bulk as u64) as usize;
            let got = pool.receive(&mut some[..want]);
            self.each(&some[..got], blocks, true, |buffer| {
                let number = u64::from(me) + sent * sources;
                // SAFETY: the pool has given the buffer to this thread.
                traffic.with(number, |bytes, length| unsafe {
                    self.buffers.fill(buffer, (number, length), bytes, blocks);
                });
                sent += 1;
            });
            self.pass(&mut to, &some[..got], push);
        }
    }

    /// Takes so many packets, a bulk at a time.
    fn take(&self, from: &mut Receiver<M, Q>, packets: u64, mut work: impl FnMut(&[u64])) {
        let (mut left, mut some) = (packets, vec![0; self.flow.bulk]);
        while left != 0 {
            let want = left.min(some.len() as u64) as usize;
            let got = from.receive(&mut some[..want]);
            work(&some[..got]);
            left -= got as u64;
        }
    }

    /// From the moment in which all began to the end of the last thread.
    fn nanoseconds(&self) -> u64 {
        self.spans.whole().0
    }
}

/// How many packets each of so many sources sends: packet n is source n modulo their number's.
fn sent(packets: u64, sources: u32) -> Vec<u64> {
    link::even(packets, sources)
}

/// Adds up a packet's words.
fn sum(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(eight)
    };
    bytes.chunks(8).fold(0, |sum: u64, chunk| sum.wrapping_add(word(chunk)))
}

/// Time a packet.
fn a_packet(nanoseconds: u64, packets: u64) -> Figure {
    Figure { name: "nanoseconds_a_packet", value: nanoseconds as f64 / packets.max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_in_which_threads_would_wait_for_ever_is_refused() {
        let shape = |receivers| Shape { senders: 2, receivers, bulk: 8 };
        let flow = |pool| Flow { bulk: 8, pool, ..Flow::default() };
        assert_eq!(flow(None).buffers(7, shape(1), false), Ok(256));
        assert_eq!(flow(None).buffers(100, shape(1), false), Ok(800));
        assert_eq!(flow(Some(56)).buffers(7, shape(1), false), Ok(56));
        let refused =
            |pool, sources, apart| flow(Some(pool)).buffers(7, shape(sources), apart).unwrap_err().to_string();
        assert_eq!(
            refused(55, 1, false),
            "a pool of 55 buffers; expected 56 at least, so that no thread waits for ever"
        );
        assert!(refused(91, 2, true).contains("expected 92 at least"));
        let most = Flow { bulk: usize::MAX, ..Flow::default() };
        assert!(most.check().is_err() && Flow { blocks: 33, ..Flow::default() }.check().is_err());
    }

    #[test]
    fn headers_are_pushed_to_where_they_are_taken() {
        let flow = |prepush| Flow { prepush, ..Flow::default() };
        assert_eq!(flow(Prepush::None).push_to(1, 3), None);
        assert_eq!(flow(Prepush::Shared).push_to(1, 3), Some(PushTo::SharedLevel));
        assert_eq!(flow(Prepush::Consumer).push_to(1, 3), Some(PushTo::Core(CoreId(3))));
        assert_eq!(flow(Prepush::Consumer).push_to(2, 3), Some(PushTo::SharedLevel));
    }

    #[test]
    fn each_word_of_a_packet_counts() {
        assert_eq!(sum(&[1, 0, 0, 0, 0, 0, 0, 0, 2]), 3);
        assert_ne!(sum(b"a packet"), sum(b"a pocket"));
    }
}
