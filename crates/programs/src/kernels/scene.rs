//! The threads of a kernel: phases that one thread does alone, phases whose units all threads
//! share, and the points at which threads meet.
//!
//! The lock and the barrier are the machine's, behind a call: a kernel is compiled once for each
//! machine, not once for each pair of a lock and a barrier.

use super::scale::KernelScale;
use crate::monitor::{Guarded, Kit};
use baton_machine::{Machine, Wait};
use baton_sync::barrier::RawBarrier;
use baton_workloads::{Body, Team, share};
use core::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

/// A meeting of all threads; each thread passes its number.
pub(super) type Meet = Arc<dyn Fn(u32) + Send + Sync>;
/// Runs the critical section that it is given, with other threads excluded.
pub(super) type Turn = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// The threads of a kernel, how they exclude each other, and where they meet.
#[derive(Clone)]
pub(super) struct Scene {
    threads: NonZeroU32,
    /// The scale of the kernel.
    pub(super) scale: KernelScale,
    meet: Meet,
    turn: Turn,
    /// A phase of which something is left out, for tests of the kernels' checks.
    #[cfg(test)]
    pub(super) lost: Option<u32>,
}

impl Scene {
    /// A scene with a meeting made by [`Scene::meeting`] and turns made by [`Scene::turns`].
    pub(super) fn of(threads: NonZeroU32, scale: KernelScale, meet: Meet, turn: Turn) -> Scene {
        Scene {
            threads,
            scale,
            meet,
            turn,
            #[cfg(test)]
            lost: None,
        }
    }

    /// A meeting at a barrier of type `B`.
    pub(super) fn meeting<M: Machine, B: RawBarrier<M>>(threads: NonZeroU32, wait: Wait) -> Meet {
        let barrier = share::<M, B>(B::new(threads));
        Arc::new(move |thread| {
            barrier.wait(thread, wait);
        })
    }

    /// Turns that a lock of the kit gives to one thread at a time.
    pub(super) fn turns<M: Machine, K: Kit<M>>(kit: &K) -> Turn {
        let lock = share::<M, _>(Guarded::<M, K, ()>::new(kit, 0, ()));
        let kit = kit.clone();
        Arc::new(move |section| lock.with(&kit, |()| section()))
    }

    /// Number of threads that take part.
    pub(super) fn threads(&self) -> u32 {
        self.threads.get()
    }

    /// The threads, each of which does `work`, and the check of what they did.
    pub(super) fn team(
        &self,
        work: impl Fn(&mut Member) + Send + Sync + 'static,
        verify: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Team {
        let work = Arc::new(work);
        let body = |thread| {
            let (work, mut member) = (work.clone(), Member { scene: self.clone(), thread, phase: 0 });
            Box::new(move || work(&mut member)) as Body
        };
        let bodies = (0..self.threads.get()).map(body).collect();
        // The data in the machine's memory is freed after the check, so that freeing it is no part
        // of the run.
        let (scene, kept) = (self.clone(), work.clone());
        let verify = move || {
            let verdict = verify();
            drop((scene, kept));
            verdict
        };
        Team::new(bodies, Box::new(verify))
    }
}

/// A thread of the kernel.
pub(super) struct Member {
    scene: Scene,
    /// The number of the thread.
    pub(super) thread: u32,
    /// Number of phases that the thread has begun.
    phase: u32,
}

impl Member {
    /// Begins a phase. Returns whether a test leaves something out of the phase.
    fn begins(&mut self) -> bool {
        self.phase += 1;
        #[cfg(test)]
        return self.scene.lost == Some(self.phase);
        #[cfg(not(test))]
        false
    }

    /// Waits for all threads.
    pub(super) fn meet(&self) {
        (self.scene.meet)(self.thread);
    }

    /// A sequential phase: the first thread works, the other threads wait until it is through.
    pub(super) fn alone(&mut self, work: impl FnOnce()) {
        let lost = self.begins();
        if self.thread == 0 && !lost {
            work();
        }
        self.meet();
    }

    /// The thread's share of the units of a parallel phase: neighbouring units. The shares of two
    /// threads differ by one unit at most.
    pub(super) fn part(&mut self, units: usize) -> Range<usize> {
        let units = units - usize::from(self.begins());
        let at = |thread: u32| thread as usize * units / self.scene.threads.get() as usize;
        at(self.thread)..at(self.thread + 1)
    }

    /// A parallel phase: the threads share its units, and meet behind it.
    pub(super) fn each(&mut self, units: usize, work: impl FnMut(usize)) {
        self.part(units).for_each(work);
        self.meet();
    }

    /// Number of units in a parallel phase whose units threads take as they come.
    pub(super) fn units(&mut self, units: usize) -> usize {
        units - usize::from(self.begins())
    }

    /// Works with the lock held.
    pub(super) fn turn<R>(&self, work: impl FnOnce() -> R) -> R {
        let (mut work, mut result) = (Some(work), None);
        (self.scene.turn)(&mut || result = work.take().map(|work| work()));
        result.expect("a lock runs the section that it is given")
    }
}
