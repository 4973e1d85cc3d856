//! One load after another, each at the address that the load before has read: no two loads overlap,
//! so the time per load is the latency of the level that the range fits into.

use crate::timing::{Figure, Spans, blocks};
use crate::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo, expect, share, xorshift};
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chase {
    /// Bytes of the range, at least two strides.
    pub bytes: usize,
    /// Bytes from one element to the next: a line of the machine, a multiple of 64.
    pub stride: usize,
    /// Number of loads that are timed; the range is read once before.
    pub iterations: u64,
}

impl Chase {
    /// The one thread. The check: the loads went once through every element, and came back to the
    /// first.
    pub fn team<M: Machine>(self) -> Team {
        let stride = (self.stride / 64).max(1);
        let elements = (self.bytes / (64 * stride)).max(2);
        let next = cycle(elements);
        let range = blocks::<M>(elements * stride, |block| match block % stride {
            0 => u64::from(next[block / stride]),
            _ => 0,
        });
        let laps = share::<M, M::Atomic<u64>>(M::Atomic::new(u64::MAX));
        let spans = Spans::<M>::new(1);
        let (back, timed) = (laps.clone(), spans.clone());
        let body = Box::new(move || {
            let step = |at: u64| range[at as usize * stride].0[0].load(Relaxed);
            let mut at = 0;
            let mut steps = 0u64;
            loop {
                at = step(at);
                steps += 1;
                if at == 0 || steps > elements as u64 {
                    break;
                }
            }
            // Relaxed: the end of the thread orders the store.
            back.store(steps, Relaxed);
            timed.time(0, || {
                for _ in 0..self.iterations {
                    at = step(at);
                }
            });
        });
        let iterations = self.iterations.max(1) as f64;
        Team {
            bodies: vec![body],
            verify: Box::new(move || expect("loads until the chase came back", laps.load(Relaxed), elements as u64)),
            figures: Box::new(move || {
                vec![Figure { name: "nanoseconds_a_load", value: spans.whole().0 as f64 / iterations }]
            }),
        }
    }
}

/// A random order in which one walk visits all elements: gives each element's next one (Sattolo's
/// algorithm, 1986).
fn cycle(n: usize) -> Vec<u32> {
    let mut next: Vec<u32> = (0..n as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for i in (1..n).rev() {
        next.swap(i, (xorshift(&mut state) % i as u64) as usize);
    }
    next
}

impl Workload for Chase {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "chase",
        what: "One dependent load after another: the latency of the level that --bytes fit into",
        figure: "measured.cycles_a_load",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Chase, Refused> {
        if knobs.threads.is_some_and(|threads| threads != 1) {
            return Err(Refused::because("chase is for 1 thread"));
        }
        Ok(Chase { bytes: knobs.bytes, stride: knobs.line_bytes, iterations: knobs.iterations_or(1000) })
    }

    fn threads(&self) -> u32 {
        1
    }

    fn team<M: Machine, P: Probe>(&self, _: Wait, _: P) -> Result<Team, Refused> {
        Ok(Chase::team::<M>(*self))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_walk_visits_all() {
        for n in [2, 3, 64, 1000] {
            let next = super::cycle(n);
            let (mut at, mut steps) = (next[0], 1);
            while at != 0 {
                (at, steps) = (next[at as usize], steps + 1);
            }
            assert_eq!(steps, n);
        }
    }
}
