//! The kernels by name.

use super::scene::Scene;
use super::{kernel::Kernel, scale::KernelScale};
use crate::monitor::Locks;
use baton_machine::{Machine, Wait};
use baton_sync::barrier::known::Known as KnownBarrier;
use baton_sync::barrier::{self, BarrierInfo, BarrierVisitor, RawBarrier};
use baton_sync::lock::known::Known;
use baton_sync::lock::{self, LockInfo, LockVisitor, RawLock, ZeroInit};
use baton_workloads::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use core::num::NonZeroU32;

/// The kernel with this number in [`Kernel::ALL`], with a lock and a barrier of the registries.
#[derive(Clone, Copy)]
pub struct Solo<const K: usize> {
    lock: &'static LockInfo,
    barrier: &'static BarrierInfo,
    wait: Wait,
    threads: NonZeroU32,
    scale: KernelScale,
}

/// The kernel [`Kernel::Ep`] as a workload.
pub type Ep = Solo<0>;
/// The kernel [`Kernel::Ft`] as a workload.
pub type Ft = Solo<1>;
/// The kernel [`Kernel::Mg`] as a workload.
pub type Mg = Solo<2>;
/// The kernel [`Kernel::Search`] as a workload.
pub type Search = Solo<3>;
/// The kernel [`Kernel::Fft`] as a workload.
pub type Fft = Solo<4>;

/// Makes the meeting of a scene, at a barrier by name.
struct Meet(NonZeroU32, Wait);
impl<M: Machine> BarrierVisitor<M> for Meet {
    type Out = super::scene::Meet;
    fn visit<B: RawBarrier<M>>(self) -> Self::Out {
        Scene::meeting::<M, KnownBarrier<M, B>>(self.0, self.1)
    }
}

/// Makes the turns of a scene, by a lock by name.
struct Turns<P>(Wait, P);
impl<M: Machine, P: Probe + Sync> LockVisitor<M> for Turns<P> {
    type Out = super::scene::Turn;
    fn visit<L: RawLock<M> + ZeroInit>(self) -> Self::Out {
        Scene::turns::<M, _>(&Locks::<Known<M, L>, _>::new(self.0, self.1))
    }
}

impl<const K: usize> Workload for Solo<K> {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: Kernel::ALL[K].info().name,
        what: Kernel::ALL[K].info().what,
        figure: "cycles",
        has_locks: true,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Self, Refused> {
        let (lock, wait) = knobs.lock()?;
        let no_thread = || Refused::because("a kernel needs a thread");
        let threads = NonZeroU32::new(knobs.threads_or_two()).ok_or_else(no_thread)?;
        let usual = Kernel::ALL[K].usual();
        let grain = knobs.grain.unwrap_or(usual.grain);
        let rounds = knobs.iterations.map_or(usual.rounds, |rounds| u32::try_from(rounds).unwrap_or(u32::MAX));
        let scale = KernelScale { size: knobs.size.unwrap_or(usual.size), grain, rounds, seed: knobs.seed };
        Kernel::ALL[K].check(scale).map_err(Refused::because)?;
        Ok(Solo { lock, barrier: knobs.barrier()?, wait, threads, scale })
    }

    fn threads(&self) -> u32 {
        self.threads.get()
    }

    fn wait(&self, _: Option<Wait>) -> Wait {
        self.wait
    }

    fn team<M: Machine, P: Probe + Sync>(&self, wait: Wait, probe: P) -> Result<Team, Refused> {
        let meet = barrier::visit::<M, _>(self.barrier.name, Meet(self.threads, wait)).map_err(Refused::because)?;
        let turn = lock::visit::<M, _>(self.lock.name, Turns(wait, probe)).map_err(Refused::because)?;
        Ok(Kernel::ALL[K].on::<M>(&Scene::of(self.threads, self.scale, meet, turn)))
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.lock.name)
    }

    fn bytes(&self) -> usize {
        let (size, threads) = (self.scale.size as usize, self.threads.get() as usize);
        let points = size.saturating_pow(3);
        match Kernel::ALL[K] {
            // One batch of numbers for each thread.
            Kernel::Ep => threads * self.scale.grain as usize * 24,
            // For each point two complex numbers and one real number, which is 40 bytes; the rest
            // is for smaller data.
            Kernel::Ft => points * 48,
            // For each point three numbers, which is 24 bytes; each coarser grid has an eighth of
            // the points, and rows of at least a line.
            Kernel::Mg => points * 32 + (1 << 14),
            // An index, the queries, and their segments.
            Kernel::Search => size * 8 + self.scale.rounds as usize * (self.scale.grain as usize + 320) + (1 << 16),
            // For each point three complex numbers, which is 48 bytes; the rest is for smaller
            // data.
            Kernel::Fft => size * size * 56,
        }
    }
}
