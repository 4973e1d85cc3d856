//! A program of phases as a workload, at a barrier of the registry.

use super::Program;
use super::player::Player;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};
use baton_sync::barrier::{self, BARRIERS, BarrierInfo, BarrierVisitor, RawBarrier};
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share};
use std::num::NonZeroU32;
use std::sync::Arc;

/// A program of phases, chosen by `--profile`.
#[derive(Clone)]
pub struct PhaseProgram {
    barrier: &'static BarrierInfo,
    program: Arc<Program>,
    threads: NonZeroU32,
    seed: u64,
}

struct Make(PhaseProgram, Wait);
impl<M: Machine> BarrierVisitor<M> for Make {
    type Out = Team;
    fn visit<B: RawBarrier<M>>(self) -> Team {
        self.0.threads_at::<M, B>(self.1)
    }
}

/// Instructions of one of `n` equal pieces.
fn pieces(instructions: f64, n: u64) -> u64 {
    (instructions / n as f64).round() as u64
}

impl PhaseProgram {
    /// A program on `threads` threads, at the barrier of that name; `None`: there is no such
    /// barrier.
    pub fn of(program: Arc<Program>, barrier: &str, threads: NonZeroU32, seed: u64) -> Option<PhaseProgram> {
        let barrier = BARRIERS.iter().find(|known| known.name == barrier)?;
        Some(PhaseProgram { barrier, program, threads, seed })
    }

    /// The threads. The first thread runs the sequential parts while the others wait at the
    /// barrier. The check: each thread met as often as it should.
    fn threads_at<M: Machine, B: RawBarrier<M>>(self, wait: Wait) -> Team {
        let PhaseProgram { program, threads, seed, .. } = self;
        let n = u64::from(threads.get());
        let all = program.instructions as f64;
        let alone = pieces(all * (1.0 - program.parallel), program.rounds);
        let together = pieces(all * program.parallel, program.rounds * program.barriers * n);
        let barrier = share::<M, B>(B::new(threads));
        let done: Vec<_> = (0..n).map(|_| share::<M, M::Atomic<u64>>(M::Atomic::new(0))).collect();
        let body = |thread: u32| {
            let (barrier, done, program) = (barrier.clone(), done[thread as usize].clone(), program.clone());
            let seed = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ u64::from(thread);
            let mut piece = Think::new(Cycles(together), program.imbalance, seed);
            Box::new(move || {
                let mut player = Player::<M>::new(program.together.clone(), seed);
                let mut first = (!Arc::ptr_eq(&program.together, &program.alone))
                    .then(|| Player::<M>::new(program.alone.clone(), !seed));
                let mut meetings = 0;
                for _ in 0..program.rounds {
                    if thread == 0 {
                        first.as_mut().unwrap_or(&mut player).play(alone);
                    }
                    if program.parallel == 0.0 {
                        continue;
                    }
                    barrier.wait(thread, wait);
                    for _ in 0..program.barriers {
                        player.play(piece.draw().0);
                        barrier.wait(thread, wait);
                        meetings += 1;
                    }
                }
                // Relaxed: the end of the thread orders the store.
                done.store(meetings, Relaxed);
            }) as baton_workloads::Body
        };
        let bodies = (0..threads.get()).map(body).collect();
        let expected = if program.parallel == 0.0 { 0 } else { program.rounds * program.barriers };
        let verify =
            Box::new(move || done.iter().try_for_each(|done| expect("meetings", done.load(Relaxed), expected)));
        Team::new(bodies, verify)
    }
}

impl Workload for PhaseProgram {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "phases",
        what: "A program of --profile said by figures: sequential and parallel phases",
        figure: "cycles",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<PhaseProgram, Refused> {
        let barrier = knobs.barrier()?;
        let file = knobs.profile.ok_or_else(|| Refused::because("--workload phases needs --profile FILE"))?;
        let mut program = Program::open(file).map_err(Refused::because)?;
        let usual = if program.class.single { 1 } else { knobs.cores };
        let threads = knobs.threads.unwrap_or(usual);
        if program.class.single && threads != 1 {
            let Program { name, class, .. } = &program;
            return Err(Refused::because(format!("--threads {threads}: {name} is {}; expected 1", class.name)));
        }
        if let Some(millions) = knobs.size {
            program.instructions = u64::from(millions) * 1_000_000;
        }
        program.rounds = knobs.iterations.unwrap_or(program.rounds);
        let no_thread = || Refused::because("a program needs a thread");
        let threads = NonZeroU32::new(threads).ok_or_else(no_thread)?;
        Ok(PhaseProgram { barrier, program: Arc::new(program), threads, seed: knobs.seed })
    }

    fn threads(&self) -> u32 {
        self.threads.get()
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        barrier::visit::<M, _>(self.barrier.name, Make(self.clone(), wait)).map_err(Refused::because)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.barrier.name)
    }

    fn charge(&self) -> Charge {
        Charge::Typical
    }

    fn bytes(&self) -> usize {
        let Program { together, alone, .. } = &*self.program;
        (together.bytes() as usize).saturating_mul(self.threads.get() as usize).saturating_add(alone.bytes() as usize)
    }
}
