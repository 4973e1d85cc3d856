//! A bag of tasks: threads take the newest task first, and end when no task is left and no thread
//! works on one.

use crate::monitor::{Guarded, Kit};
use crate::places::Places;
use baton_machine::Machine;
use baton_workloads::{Shared, share};

/// The values that the lock guards, beside the tasks themselves.
struct Bag {
    /// Number of tasks that wait to be taken: they stand in the first places.
    waiting: usize,
    /// Number of tasks that are taken and not done.
    working: u32,
}

/// A bag of tasks.
pub(super) struct Pool<M: Machine, K: Kit<M>> {
    bag: Shared<M, Guarded<M, K, Bag>>,
    /// The tasks, read and written inside the monitor only.
    tasks: Places<M, u32>,
}

impl<M: Machine, K: Kit<M>> Pool<M, K> {
    /// A bag with its first tasks, under the program's lock `number`; at most `most` tasks wait at
    /// a time.
    pub(super) fn new(kit: &K, number: u32, most: usize, first: &[u32]) -> Self {
        let bag = Bag { waiting: first.len(), working: 0 };
        let tasks = Places::new(most.max(first.len()), |at| first.get(at).copied().unwrap_or(0));
        Pool { bag: share::<M, _>(Guarded::new(kit, number, bag)), tasks }
    }

    /// Takes tasks and does them until all are done. `work` returns the tasks that its task has
    /// made ready.
    pub(super) fn run(&self, kit: &K, mut work: impl FnMut(u32) -> Vec<u32>) {
        loop {
            let taken = self.bag.when(kit, |bag| {
                if bag.waiting == 0 {
                    return (bag.working == 0).then_some(None);
                }
                bag.waiting -= 1;
                bag.working += 1;
                // SAFETY: this thread is inside the pool's monitor.
                Some(Some(unsafe { self.tasks.get(bag.waiting) }))
            });
            let Some(task) = taken else { return };
            let ready = work(task);
            self.bag.change(kit, |bag| {
                for task in ready {
                    // SAFETY: this thread is inside the pool's monitor.
                    unsafe { self.tasks.set(bag.waiting, task) };
                    bag.waiting += 1;
                }
                bag.working -= 1;
            });
        }
    }
}
