//! A pipeline of clusters of threads (CAF's paper, figure 9a): sources take buffers from the pool
//! and write packets, the threads of each cluster read and mark the packets, the threads of the
//! last stage add them up and give the buffers back. `[1, 1]` is the paper's one-to-one test,
//! `[n, n]` its n-to-n test.

use super::buffers::{BLOCK_CYCLES, View, seen, sum};
use super::flow::{Flow, a_packet, sent};
use super::link::{Link, Receiver, Sender, Shape};
use super::pool::Pool;
use super::traffic::Traffic;
use baton_machine::units::Cycles;
use baton_machine::{Machine, PushTo, Wait};
use baton_sync::queue::RawQueue;
use baton_workloads::timing::Figure;
use baton_workloads::work::{Measured, Work, mix};
use baton_workloads::{Body, Refused, Think, expect};
use std::sync::{Arc, Mutex, PoisonError};

/// The settings of the pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSettings {
    /// How packets move.
    pub flow: Flow,
    /// Number of threads of each stage, the sources first; at least two stages. CAF's paper does
    /// not state the numbers; it names two clusters and draws them. The usual numbers here are one
    /// source, two clusters of four and one sink.
    pub stages: Vec<u32>,
    /// Mean number of cycles that each thread of the clusters computes for each packet; CAF's paper
    /// executes nops instead.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        ClusterSettings { flow: Flow::default(), stages: vec![1, 4, 4, 1], think: Cycles(0), spread: 0.0 }
    }
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of packets that came through.
    pub packets: u64,
    /// A digest of what the packets held, and of the stages that each packet passed.
    pub digest: u64,
    /// Nanoseconds from the beginning of the first thread to the end of the last.
    pub nanoseconds: u64,
}

impl Measured for Outcome {
    fn figures(&self) -> Vec<Figure> {
        vec![a_packet(self.nanoseconds, self.packets)]
    }
}

/// Number of packets, and the sum of their digests.
type Total = (u64, u64);

/// The two ends of a thread: how many packets come, from which queue, to which queue, and whether
/// the thread pushes them.
struct Ends<M: Machine, Q: RawQueue<M, Item = u64>> {
    packets: u64,
    from: Receiver<M, Q>,
    to: Sender<M, Q>,
    push: Option<PushTo>,
}

impl ClusterSettings {
    /// Number of threads of the pipeline.
    pub fn threads(&self) -> u32 {
        self.stages.iter().sum()
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Fails at the first setting whose value the pipeline cannot have.
    pub fn check(&self) -> Result<(), Refused> {
        let threads = self.stages.iter().try_fold(0u32, |sum, one| sum.checked_add(*one));
        if self.stages.len() < 2 || self.stages.contains(&0) || threads.is_none_or(|threads| threads > 4096) {
            let stages: Vec<String> = self.stages.iter().map(u32::to_string).collect();
            let expected = "expected two stages at least, a thread in each and at most 4096 in all, as in 1,4,4,1";
            return Err(Refused::because(format!("clusters of {} threads; {expected}", stages.join(","))));
        }
        self.flow.check()
    }

    /// The threads, stage by stage, at queues of the type `Q`. The result is an error if a packet
    /// was lost, doubled or changed, or did not pass every stage.
    ///
    /// # Errors
    /// Fails if a setting has a value that the pipeline cannot have.
    pub fn work<M: Machine, Q: RawQueue<M, Item = u64>>(
        &self,
        traffic: &Traffic,
        wait: Wait,
    ) -> Result<Work<Outcome>, Refused> {
        self.check()?;
        let (flow, stages) = (self.flow, &self.stages);
        let (sources, sinks) = (stages[0], stages[stages.len() - 1]);
        let pool = Pool::<M, Q>::new(flow, self.threads(), (sinks, sources), wait)?;
        let total = Arc::new(Mutex::new((0, 0)));
        let mut link = Self::link::<M, Q>(flow, [sources, stages[1]], wait)?;
        let mut bodies: Vec<Body> = Vec::new();
        let mut packets = sent(flow.packets, sources);
        for (me, &share) in (0..).zip(&packets) {
            let (pool, traffic, to) = (pool.clone(), traffic.clone(), link.sender(me));
            let push = flow.push_to(stages[1], sources);
            bodies.push(Box::new(move || pool.run(me, || pool.source(me, to, push, (&traffic, share)))));
        }
        for (stage, &threads) in stages.iter().enumerate().skip(1) {
            let first = bodies.len() as u32;
            packets =
                Shape { senders: stages[stage - 1], receivers: threads, bulk: flow.bulk }.shares(&Q::INFO, &packets);
            let is_last = stage + 1 == stages.len();
            let (next, push) = match stages.get(stage + 1) {
                Some(&after) => {
                    (Self::link::<M, Q>(flow, [threads, after], wait)?, flow.push_to(after, first + threads))
                }
                // The threads of the last stage give buffers back.
                None => (pool.link.clone(), None),
            };
            for (me, &packets) in (0..).zip(&packets) {
                let ends = Ends { packets, from: link.receiver(me), to: next.sender(me), push };
                let think = Think::new(self.think, self.spread, u64::from(first + me));
                let (pool, total) = (pool.clone(), total.clone());
                let part = move |pool: &Pool<M, Q>| match is_last {
                    true => Self::sink(pool, ends, &total),
                    false => Self::member(pool, ends, think, stage as u64),
                };
                bodies.push(Box::new(move || pool.run(first + me, || part(&pool))));
            }
            link = next;
        }
        let result = self.judge(traffic.clone(), pool, total);
        Ok(Work { bodies, result })
    }

    fn link<M: Machine, Q: RawQueue<M, Item = u64>>(
        flow: Flow,
        [senders, receivers]: [u32; 2],
        wait: Wait,
    ) -> Result<Arc<Link<M, Q>>, Refused> {
        Link::new(Shape { senders, receivers, bulk: flow.bulk }, flow.capacity, wait)
    }

    /// Runs a thread of a cluster.
    fn member<M: Machine, Q: RawQueue<M, Item = u64>>(
        pool: &Pool<M, Q>,
        ends: Ends<M, Q>,
        mut think: Think,
        stage: u64,
    ) {
        let Ends { packets, mut from, mut to, push } = ends;
        let (mut view, blocks) = (View::new(), pool.flow.blocks);
        pool.take(&mut from, packets, |some| {
            pool.each(some, blocks, false, |buffer| {
                // SAFETY: the queue has given the buffer to this thread.
                unsafe {
                    pool.buffers.read(buffer, blocks, &mut view);
                    M::work(think.draw());
                    pool.buffers.mark(buffer, mix(view.number, stage));
                }
            });
            pool.pass(&mut to, some, push);
        });
    }

    /// Runs a thread of the last stage.
    fn sink<M: Machine, Q: RawQueue<M, Item = u64>>(pool: &Pool<M, Q>, ends: Ends<M, Q>, total: &Mutex<Total>) {
        let Ends { packets, mut from, mut to, .. } = ends;
        let (mut view, mut count, mut digest, blocks) = (View::new(), 0, 0u64, pool.flow.blocks);
        pool.take(&mut from, packets, |some| {
            pool.each(some, blocks, false, |buffer| {
                // SAFETY: the queue has given the buffer to this thread.
                unsafe { pool.buffers.read(buffer, blocks, &mut view) };
                M::work(Cycles(u64::from(blocks) * BLOCK_CYCLES));
                digest = digest.wrapping_add(mix(view.number, sum(&view.bytes)));
                count += 1;
            });
            to.send(some);
        });
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        *total = (total.0 + count, total.1.wrapping_add(digest));
    }

    fn judge<M: Machine, Q: RawQueue<M, Item = u64>>(
        &self,
        traffic: Traffic,
        pool: Arc<Pool<M, Q>>,
        total: Arc<Mutex<Total>>,
    ) -> baton_workloads::work::Judge<Outcome> {
        let (flow, stages) = (self.flow, self.stages.len() as u64);
        Box::new(move || {
            let (packets, digest) = *total.lock().unwrap_or_else(PoisonError::into_inner);
            expect("packets that came through", packets, flow.packets)?;
            let marked = |number| (1..stages - 1).fold(number, mix);
            let one = |number| traffic.with(number, |bytes, _| mix(marked(number), sum(seen(bytes, flow.blocks))));
            let plain = (0..flow.packets).map(one).fold(0, u64::wrapping_add);
            expect("the digest of the packets", digest, plain)?;
            Ok(Outcome { packets, digest, nanoseconds: pool.nanoseconds() })
        })
    }
}
