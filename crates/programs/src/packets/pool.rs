//! The pool of buffers, and what threads do with a bulk of buffers.

use super::buffers::Buffers;
use super::link::{Link, Receiver, Sender, Shape};
use super::{flow::Flow, traffic::Traffic};
use baton_machine::Ordering::Release;
use baton_machine::{Atomic, Machine, PushTo, Wait};
use baton_sync::queue::RawQueue;
use baton_workloads::timing::Spans;
use baton_workloads::{Refused, Shared, share};
use std::sync::Arc;

/// Mark in a queue's word: no more packets come from this sender.
pub(super) const LAST: u64 = 1 << 63;
/// Mark in a queue's word: the word has no number of a buffer.
pub(super) const FILLER: u64 = 1 << 62;
/// Mark in a queue's word: the analyser is to inspect the packet.
pub(super) const INSPECT: u64 = 1 << 61;
/// All marks; the other bits of a queue's word are the number of a buffer.
pub(super) const MARKS: u64 = LAST | FILLER | INSPECT;

/// A word alone on its pair of lines.
#[repr(C, align(128))]
struct Gate<M: Machine>(M::Atomic<u32>);

/// The buffers, their pool, and the begin of the run: thread 0 fills the pool, then all threads
/// begin, and time counts from then on.
pub(super) struct Pool<M: Machine, Q: RawQueue<M, Item = u64>> {
    pub(super) buffers: Buffers<M>,
    pub(super) link: Arc<Link<M, Q>>,
    count: usize,
    gate: Shared<M, Gate<M>>,
    spans: Spans<M>,
    wait: Wait,
    pub(super) flow: Flow,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Pool<M, Q> {
    /// The pool of `threads` threads, of which `senders` give buffers back and `receivers` take
    /// buffers.
    pub(super) fn new(
        flow: Flow,
        threads: u32,
        (senders, receivers): (u32, u32),
        wait: Wait,
    ) -> Result<Arc<Self>, Refused> {
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
    pub(super) fn run(&self, me: u32, part: impl FnOnce()) {
        let gate = &self.gate.0;
        if me == 0 {
            // Thread 0 fills the pool as sender 0. The thread that sends as sender 0 later comes
            // through the gate first, so the two never send at the same time.
            let mut pool = self.link.sender(0);
            let all: Vec<u64> = (0..self.count as u64).collect();
            all.chunks(self.flow.bulk).for_each(|some| pool.send(some));
            // Release: a thread that comes through the gate sees the full pool.
            gate.store(1, Release);
            M::wake::<u32>(gate, u32::MAX, self.wait);
        } else {
            let _ = M::wait_while(gate, 0, self.wait, None);
        }
        self.spans.time(me, part);
    }

    /// Goes over the buffers of a bulk, and prefetches ahead.
    pub(super) fn each(&self, bulk: &[u64], blocks: u32, write: bool, mut work: impl FnMut(u64)) {
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

    /// Passes packets on to the next stage.
    pub(super) fn pass(&self, to: &mut Sender<M, Q>, packets: &[u64], push: Option<PushTo>) {
        if packets.is_empty() {
            return;
        }
        to.send(packets);
        if let Some(level) = push {
            packets.iter().for_each(|word| self.buffers.push(word & !MARKS, self.flow.blocks, level));
        }
    }

    /// Runs a source: packets `me`, `me + sources`, … of `traffic` go into buffers, and on to the
    /// next stage.
    pub(super) fn source(
        &self,
        me: u32,
        mut to: Sender<M, Q>,
        push: Option<PushTo>,
        (traffic, packets): (&Traffic, u64),
    ) {
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

    /// Takes all buffers, one after the other: no other thread has one then.
    pub(super) fn all_home(&self, pool: &mut Receiver<M, Q>) {
        (0..self.count).for_each(|_| {
            pool.receive(&mut [0]);
        });
    }

    /// Takes `packets` packets, a bulk at a time.
    pub(super) fn take(&self, from: &mut Receiver<M, Q>, packets: u64, mut work: impl FnMut(&[u64])) {
        let (mut left, mut some) = (packets, vec![0; self.flow.bulk]);
        while left != 0 {
            let want = left.min(some.len() as u64) as usize;
            let got = from.receive(&mut some[..want]);
            work(&some[..got]);
            left -= got as u64;
        }
    }

    /// Nanoseconds from the beginning of the first thread to the end of the last thread.
    pub(super) fn nanoseconds(&self) -> u64 {
        self.spans.whole().0
    }
}
