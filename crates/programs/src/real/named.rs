//! The programs by name.

use super::{program::Program, scale::Scale};
use crate::monitor::Locks;
use baton_machine::{Machine, Wait};
use baton_sync::lock::known::Known;
use baton_sync::lock::{self, LockInfo, LockVisitor, RawLock, ZeroInit};
use baton_workloads::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo};

/// The program with this number in [`Program::ALL`], with a lock of the registry.
#[derive(Clone, Copy)]
pub struct Whole<const P: usize> {
    lock: &'static LockInfo,
    wait: Wait,
    threads: u32,
    scale: Scale,
}

/// The program [`Program::ImageFilter`] as a workload.
pub type ImageFilter = Whole<0>;
/// The program [`Program::Dedup`] as a workload.
pub type Dedup = Whole<1>;
/// The program [`Program::KdTree`] as a workload.
pub type KdTree = Whole<2>;
/// The program [`Program::Sort`] as a workload.
pub type Sort = Whole<3>;
/// The program [`Program::Align`] as a workload.
pub type Align = Whole<4>;

struct Make<P>(Program, u32, Scale, Wait, P);
impl<M: Machine, P: Probe + Sync> LockVisitor<M> for Make<P> {
    type Out = Result<Team, Refused>;
    fn visit<L: RawLock<M> + ZeroInit>(self) -> Self::Out {
        let Make(program, threads, scale, wait, probe) = self;
        program.team::<M, _>(threads, scale, &Locks::<Known<M, L>, _>::new(wait, probe)).map_err(Refused::because)
    }
}

impl<const P: usize> Whole<P> {
    const PROGRAM: Program = Program::ALL[P];
}

impl<const P: usize> Workload for Whole<P> {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: Self::PROGRAM.info().name,
        what: match Self::PROGRAM {
            Program::ImageFilter => "A program: blur and gradient of an image, strips from a queue under a lock",
            Program::Dedup => "A program: chunks, hashes, looks up, compresses, writes in order",
            Program::KdTree => "A program: the build of a k-d tree",
            Program::Sort => "A program: a merge sort by tasks",
            Program::Align => "A program: the alignment of two sequences, a wave of tasks",
        },
        figure: "cycles",
        has_locks: true,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Self, Refused> {
        let (lock, wait) = knobs.lock()?;
        let usual = Self::PROGRAM.info().usual;
        let (size, grain) = (knobs.size.unwrap_or(usual.size), knobs.grain.unwrap_or(usual.grain));
        let scale = Scale { size, grain, seed: knobs.seed };
        Self::PROGRAM.check(scale).map_err(Refused::because)?;
        Ok(Whole { lock, wait, threads: knobs.threads_or_two(), scale })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn wait(&self, _: Option<Wait>) -> Wait {
        self.wait
    }

    fn team<M: Machine, Q: Probe + Sync>(&self, wait: Wait, probe: Q) -> Result<Team, Refused> {
        let make = Make(Self::PROGRAM, self.threads, self.scale, wait, probe);
        lock::visit::<M, _>(self.lock.name, make).map_err(Refused::because)?
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.lock.name)
    }

    fn bytes(&self) -> usize {
        let Scale { size, grain, .. } = self.scale;
        match Self::PROGRAM {
            // An alignment keeps the edges of blocks: two scores, which is 8 bytes, for each letter
            // of a side and each block along the other.
            Program::Align => size as usize * (size / grain) as usize * 12,
            Program::ImageFilter => 4 * (size as usize).pow(2),
            // Dedup keeps room for a compressed chunk wherever a chunk could begin, which is some
            // 10 bytes for each byte of the input.
            _ => size as usize * 24,
        }
    }
}
