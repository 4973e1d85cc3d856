//! A workload, added to Baton: each thread stores to a word of its own, and fences after every store.

use baton_cli::machine::{Atomic, Machine, Ordering, Wait};
use baton_cli::workloads::{Body, Knobs, Probe, Refused, Shared, Team, Workload, WorkloadInfo, expect, share};

#[derive(Clone)]
pub struct Fences {
    threads: u32,
    iterations: u64,
}

impl Workload for Fences {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "my-fences",
        what: "Each thread stores to a word of its own, and fences",
        figure: "cycles",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Fences, Refused> {
        Ok(Fences { threads: knobs.threads_or_two(), iterations: knobs.iterations_or(1000) })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn team<M: Machine, P: Probe>(&self, _: Wait, _: P) -> Result<Team, Refused> {
        let last = self.iterations;
        let words: Vec<_> = (0..self.threads).map(|_| share::<M, M::Atomic<u64>>(M::Atomic::new(0))).collect();
        let body = |word: &Shared<M, M::Atomic<u64>>| {
            let word = word.clone();
            Box::new(move || {
                for i in 1..=last {
                    word.store(i, Ordering::Relaxed);
                    M::fence(Ordering::SeqCst);
                }
            }) as Body
        };
        let bodies = words.iter().map(body).collect();
        let stored = move || words.iter().try_for_each(|word| expect("stores", word.load(Ordering::Relaxed), last));
        Ok(Team::new(bodies, Box::new(stored)))
    }
}
