//! A loop over equal iterations, run again and again, with a barrier behind it. The iterations are
//! shared out before the loop, or threads take them as they come.
//!
//! Where cores differ in speed, a loop that is shared out in equal parts ends with the slowest
//! core.

use crate::{Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};
use baton_sync::barrier::known::Known;
use baton_sync::barrier::{self, BarrierInfo, BarrierVisitor, RawBarrier};
use std::num::NonZeroU32;
use std::ops::Range;

/// A counter on a pair of lines of its own.
#[repr(C, align(128))]
struct Counter<M: Machine>(M::Atomic<u64>);

/// The settings of the workload.
#[derive(Clone, Copy)]
pub struct Loop {
    barrier: &'static BarrierInfo,
    threads: NonZeroU32,
    /// Mean number of cycles of an iteration, and the largest deviation from it as a share.
    think: Cycles,
    spread: f64,
    /// How often the loop runs, and the number of its iterations.
    times: u64,
    size: u64,
    /// Number of iterations that a thread takes at a time; `None`: each thread gets its whole share
    /// before the loop.
    grain: Option<NonZeroU32>,
}

struct Make(Loop, Wait);
impl<M: Machine> BarrierVisitor<M> for Make {
    type Out = Team;
    fn visit<B: RawBarrier<M>>(self) -> Team {
        self.0.team_at::<M, Known<M, B>>(self.1)
    }
}

impl Loop {
    /// A thread's share of a loop that is shared out before it runs.
    fn part(&self, thread: u32) -> Range<u64> {
        let at = |thread: u32| u64::from(thread) * self.size / u64::from(self.threads.get());
        at(thread)..at(thread + 1)
    }

    /// The threads. The check: together they did each loop's iterations, and no more.
    fn team_at<M: Machine, B: RawBarrier<M>>(self, wait: Wait) -> Team {
        let counter = || share::<M, Counter<M>>(Counter(M::Atomic::new(0)));
        let barrier = share::<M, B>(B::new(self.threads));
        // The loops use the two counters in turn, so that one can be reset to 0 while the other is
        // in use.
        let next = [counter(), counter()];
        let done: Vec<_> = (0..self.threads.get()).map(|_| counter()).collect();
        let body = |thread: u32| {
            let (barrier, next, done) = (barrier.clone(), next.clone(), done[thread as usize].clone());
            let mut think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                let mut count = 0;
                let mut run = |part: Range<u64>| {
                    count += part.end - part.start;
                    part.for_each(|_| M::work(think.draw()));
                };
                for time in 0..self.times {
                    let next = &next[(time % 2) as usize].0;
                    match self.grain {
                        None => run(self.part(thread)),
                        // Relaxed: a thread learns nothing from the counter but which iterations
                        // are its own.
                        Some(grain) => loop {
                            let from = next.fetch_add(grain.get().into(), Relaxed);
                            if from >= self.size {
                                break;
                            }
                            run(from..(from + u64::from(grain.get())).min(self.size));
                        },
                    }
                    if barrier.wait(thread, wait) {
                        // This counter is used again only after the next barrier.
                        next.store(0, Relaxed);
                    }
                }
                done.0.store(count, Relaxed);
            }) as crate::Body
        };
        let bodies = (0..self.threads.get()).map(body).collect();
        let expected = self.times.saturating_mul(self.size);
        let verify = move || expect("iterations", done.iter().map(|done| done.0.load(Relaxed)).sum(), expected);
        Team::new(bodies, Box::new(verify))
    }
}

impl Workload for Loop {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "loop",
        what: "A loop of --size iterations, shared out beforehand or --grain at a time",
        figure: "cycles",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Loop, Refused> {
        let no_thread = || Refused::because("a loop needs a thread");
        let threads = NonZeroU32::new(knobs.threads_or_two()).ok_or_else(no_thread)?;
        let size = u64::from(knobs.size.unwrap_or(100 * threads.get()));
        let (think, spread, times) = (Cycles(knobs.think), knobs.spread, knobs.iterations_or(10));
        let no_iteration = || Refused::because("a grain of a loop has an iteration at least");
        let grain = knobs.grain.map(|grain| NonZeroU32::new(grain).ok_or_else(no_iteration)).transpose()?;
        Ok(Loop { barrier: knobs.barrier()?, threads, think, spread, times, size, grain })
    }

    fn threads(&self) -> u32 {
        self.threads.get()
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        barrier::visit::<M, _>(self.barrier.name, Make(*self, wait)).map_err(Refused::because)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.barrier.name)
    }
}
