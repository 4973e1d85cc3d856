//! The teams of all initial threads together.
//!
//! A single team waits as its own size allows. If several initial threads have teams at once, the
//! teams together may have more threads than there are CPUs: then all threads wait like those of a
//! team with more threads than CPUs, until enough teams have ended.
//!
//! An initial thread counts the threads of its own regions in a cell of its own. Only while there
//! are several initial threads are the cells added up, when a region begins or ends.
//!
//! A worker without a team may spin for its next one as long as the user has set. If there are
//! several initial threads, and these and all workers are more than the CPUs, such a worker soon
//! yields its CPU to teams.

use crate::objects::{AnyLock, lock};
use crate::settings::Settings;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Relaxed, SeqCst};
use baton_machine::{Atomic, Machine, Slot};

/// The list of initial threads, and the lock that protects it.
struct Members<M: Machine> {
    lock: Box<dyn AnyLock<M>>,
    /// For each initial thread, the cell that counts the threads of its regions, without the
    /// initial thread itself.
    busy: M::Slot<Vec<*const M::Atomic<u32>>>,
}

impl<M: Machine> Members<M> {
    fn new(settings: &Settings) -> Self {
        let lock = lock(&settings.lock).expect("the settings name a lock that there is");
        Members { lock, busy: M::Slot::new(Vec::new()) }
    }
}

/// The initial threads of a runtime, and whether their teams have more threads than CPUs.
pub struct Crowd<M: Machine> {
    members: M::Slot<Members<M>>,
    /// The number of initial threads.
    count: M::Atomic<u32>,
    /// The number of workers of all initial threads, with a team or without.
    workers: M::Atomic<u32>,
    /// Whether the teams have more threads than there are CPUs.
    crowded: M::Atomic<u32>,
    cpus: u32,
    /// How threads wait while the teams have more threads than there are CPUs.
    waits: Waits,
}

// SAFETY: the list is accessed with the lock held; the members are replaced only in a process of
// one thread. A cell is in the list only as long as it lives.
unsafe impl<M: Machine> Sync for Crowd<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Crowd<M> {}

impl<M: Machine> Crowd<M> {
    /// A crowd without initial threads, on `cpus` CPUs.
    pub(crate) fn new(settings: &Settings, cpus: u32) -> Self {
        let members = M::Slot::new(Members::new(settings));
        let waits = settings.waits(u32::MAX, cpus);
        let word = || M::Atomic::new(0);
        Crowd { members, count: word(), workers: word(), crowded: word(), cpus, waits }
    }

    /// How threads wait while the teams have more threads than there are CPUs; `None` while they
    /// have not.
    #[inline]
    pub(crate) fn waits(&self) -> Option<&Waits> {
        // Relaxed: the word hands nothing over. A thread that sees it late waits once more by its
        // own team's policy.
        (self.crowded.load(Relaxed) != 0).then_some(&self.waits)
    }

    /// How a worker without a team waits while there are several initial threads and all threads
    /// together are more than the CPUs; `None` otherwise.
    pub(crate) fn idle_waits(&self) -> Option<&Waits> {
        // Relaxed, both loads: neither word hands anything over, as in `waits`.
        let (initial, workers) = (self.count.load(Relaxed), self.workers.load(Relaxed));
        (initial > 1 && initial.saturating_add(workers) > self.cpus).then_some(&self.waits)
    }

    /// Counts a worker that begins.
    pub(crate) fn hired(&self) {
        // Relaxed, here and below: the count orders nothing.
        self.workers.fetch_add(1, Relaxed);
    }

    /// Counts a worker that ends.
    pub(crate) fn gone(&self) {
        self.workers.fetch_add(u32::MAX, Relaxed);
    }

    /// Adds an initial thread, whose cell must live until [`leave`](Crowd::leave).
    pub(crate) fn join(&self, busy: *const M::Atomic<u32>) {
        self.locked(|cells| {
            cells.push(busy);
            cells.len()
        });
    }

    /// Removes the initial thread with this cell.
    pub(crate) fn leave(&self, busy: *const M::Atomic<u32>) {
        self.locked(|cells| {
            cells.retain(|cell| *cell != busy);
            cells.len()
        });
    }

    /// Called after an initial thread's cell has been changed, by a SeqCst exchange.
    #[inline]
    pub(crate) fn changed(&self) {
        // SeqCst: either this thread sees that there are several initial threads, or the thread
        // that joins sees this thread's cell as it is now.
        if self.count.load(SeqCst) > 1 {
            self.locked(|cells| cells.len());
        }
    }

    /// Changes the list under the lock, and then finds out whether the teams have more threads than
    /// CPUs.
    #[cold]
    #[inline(never)]
    fn locked(&self, change: impl FnOnce(&mut Vec<*const M::Atomic<u32>>) -> usize) {
        let wait = self.waits.of(Why::Lock);
        let add_up = |cells: *mut Vec<*const M::Atomic<u32>>| {
            // SAFETY: the lock is held, so no other thread accesses the list.
            let cells = unsafe { &mut *cells };
            // SeqCst, here and for the cells: pairs with `changed`.
            self.count.swap(change(cells) as u32, SeqCst);
            // SAFETY: a cell is in the list only as long as it lives.
            let threads = cells.iter().map(|cell| unsafe { (**cell).load(SeqCst) }).filter(|busy| *busy > 0);
            let threads = threads.fold(0u32, |sum, busy| sum.saturating_add(busy).saturating_add(1));
            let crowded = u32::from(cells.len() > 1 && threads > self.cpus);
            // Relaxed, both accesses: the word hands nothing over, as in `waits`, and the lock
            // orders the stores.
            if self.crowded.load(Relaxed) != crowded {
                self.crowded.store(crowded, Relaxed);
            }
        };
        // SAFETY: the members live as long as the runtime; a fork's child replaces them while it
        // has one thread. The lock is taken and released with the same policy.
        unsafe {
            self.members.read(|members| {
                (*members).lock.lock(wait);
                (*members).busy.write(add_up);
                (*members).lock.unlock(wait);
            });
        }
    }

    /// Called in a fork's child: forgets all initial threads but the calling one, if it is one;
    /// `busy` is its cell.
    pub(crate) fn forked(&self, settings: &Settings, busy: Option<*const M::Atomic<u32>>) {
        // SAFETY: the process has no other thread. The parent's members, whose lock may be held,
        // are left as they are.
        unsafe { self.members.write(|members| members.write(Members::new(settings))) };
        self.crowded.store(0, Relaxed);
        self.count.store(0, Relaxed);
        self.workers.store(0, Relaxed);
        busy.into_iter().for_each(|busy| self.join(busy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;
    use baton_machine::native::cell::NativeAtomic;

    fn has(crowd: &Crowd<Native>, cell: &NativeAtomic<u32>, busy: u32) -> bool {
        cell.swap(busy, SeqCst);
        crowd.changed();
        crowd.waits().is_some()
    }

    #[test]
    fn teams_of_several_initial_threads_are_added_up() {
        let crowd = Crowd::<Native>::new(&Settings::new(4), 4);
        let cells = [const { NativeAtomic::new(0u32) }; 3];
        crowd.join(cells[0].as_ptr().cast_const().cast());
        // A single team waits as its own size says, even if it has more threads than there are
        // CPUs.
        assert!(!has(&crowd, &cells[0], 7));
        assert!(!has(&crowd, &cells[0], 1));
        crowd.join(cells[1].as_ptr().cast_const().cast());
        // The four threads are those of two teams of two. The third initial thread has no team, so
        // it does not count.
        crowd.join(cells[2].as_ptr().cast_const().cast());
        assert!(!has(&crowd, &cells[1], 1));
        assert!(has(&crowd, &cells[1], 2));
        assert_eq!(crowd.waits().unwrap().of(Why::Join), Settings::new(4).waits(5, 4).of(Why::Join));
        assert!(!has(&crowd, &cells[1], 0));
        assert!(has(&crowd, &cells[1], 2));
        crowd.leave(cells[1].as_ptr().cast_const().cast());
        assert!(crowd.waits().is_none());
        // The second team's thread count stands in its cell already when its initial thread joins
        // again, so it counts at once.
        crowd.join(cells[1].as_ptr().cast_const().cast());
        assert!(crowd.waits().is_some());
        crowd.forked(&Settings::new(4), Some(cells[0].as_ptr().cast_const().cast()));
        assert!(crowd.waits().is_none());
        assert!(!has(&crowd, &cells[0], 7));
    }

    #[test]
    fn idle_workers_give_way_where_all_threads_are_more_than_the_cpus() {
        let crowd = Crowd::<Native>::new(&Settings::new(2), 2);
        let cells = [const { NativeAtomic::new(0u32) }; 2];
        crowd.join(cells[0].as_ptr().cast_const().cast());
        (0..3).for_each(|_| crowd.hired());
        assert!(crowd.idle_waits().is_none(), "there is one initial thread");
        crowd.join(cells[1].as_ptr().cast_const().cast());
        assert!(crowd.idle_waits().is_some());
        (0..3).for_each(|_| crowd.gone());
        assert!(crowd.idle_waits().is_none());
    }
}
