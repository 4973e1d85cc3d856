//! Tasks: one queue behind the team's lock, as libgomp has it.
//!
//! At a taskwait a thread runs children of its task, at the end of a taskgroup tasks of the group, at a barrier any. A team that
//! has [`PER_THREAD`] tasks a thread waiting runs further ones at once.

use crate::objects::{AnyLock, lock};
use crate::settings::Settings;
use crate::team::{Context, Function};
use crate::waits::Why;
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Slot};
use core::ffi::c_void;
use std::collections::VecDeque;
use std::sync::Arc;

/// Waiting tasks for each thread, beyond which a task runs at once.
pub const PER_THREAD: usize = 64;

/// What counts tasks that are not done: the children of a task, or a group.
/// The second word says whether it is a group that is cancelled.
pub struct Count<M: Machine>(M::Atomic<u32>, M::Atomic<u32>);

impl<M: Machine> Count<M> {
    fn new() -> Arc<Owned<M, Self>> {
        Arc::new(Owned::new(Count(M::Atomic::new(0), M::Atomic::new(0))))
    }
}

/// The task that a thread runs.
pub struct Current<M: Machine> {
    children: Arc<Owned<M, Count<M>>>,
    groups: Vec<Arc<Owned<M, Count<M>>>>,
    /// Whether it is final: its children run at once.
    pub is_final: bool,
}

impl<M: Machine> Current<M> {
    /// The task that a thread is in a region before it meets any other.
    pub fn implicit() -> Self {
        Current { children: Count::new(), groups: Vec::new(), is_final: false }
    }
}

/// The memory of a task's data.
pub struct Data {
    memory: Box<[u128]>,
    offset: usize,
}

impl Data {
    /// Zeroed memory of so many bytes at that alignment (a power of two).
    pub fn new(bytes: usize, align: usize) -> Data {
        let memory = vec![0u128; (bytes + align).div_ceil(16) + 1].into_boxed_slice();
        let offset = memory.as_ptr().cast::<u8>().align_offset(align.max(1));
        Data { memory, offset }
    }

    /// Where it is.
    pub fn as_ptr(&mut self) -> *mut c_void {
        // SAFETY: `new` took `align` bytes more than the data has.
        unsafe { self.memory.as_mut_ptr().cast::<u8>().add(self.offset).cast() }
    }
}

/// A task that waits for a thread.
struct Task<M: Machine> {
    function: Function,
    data: Data,
    parent: Arc<Owned<M, Count<M>>>,
    groups: Vec<Arc<Owned<M, Count<M>>>>,
    is_final: bool,
}

/// A team's tasks.
pub struct Queue<M: Machine> {
    lock: Box<dyn AnyLock<M>>,
    waiting: M::Slot<VecDeque<Task<M>>>,
    /// Tasks that wait or run.
    pending: M::Atomic<u32>,
}

impl<M: Machine> Queue<M> {
    /// An empty queue.
    pub fn new(settings: &Settings) -> Self {
        let lock = lock(&settings.lock).expect("the settings name a lock that there is");
        Queue { lock, waiting: M::Slot::new(VecDeque::new()), pending: M::Atomic::new(0) }
    }
}

/// Subtracts one and wakes those that wait for it. Release: who sees it sees what the task did.
fn done<M: Machine>(context: &Context<M>, count: &M::Atomic<u32>) {
    count.fetch_add(u32::MAX, AcqRel);
    context.waits().wake::<M, u32>(Why::Task, count);
}

impl<M: Machine> Context<M> {
    /// With the queue locked.
    fn locked<R>(&self, then: impl FnOnce(&mut VecDeque<Task<M>>) -> R) -> R {
        let (queue, wait) = (&self.team().tasks, self.waits().of(Why::Lock));
        queue.lock.lock(wait);
        // SAFETY: the lock is held.
        let result = unsafe { queue.waiting.write(|waiting| then(&mut *waiting)) };
        // SAFETY: locked above, with the same policy.
        unsafe { queue.lock.unlock(wait) };
        result
    }

    /// Runs `body` as a task of its own, at once.
    pub fn run_at_once(&self, is_final: bool, body: impl FnOnce()) {
        let groups = self.task.borrow().groups.clone();
        let task = Current { children: Count::new(), groups, is_final };
        let outer = self.task.replace(task);
        body();
        *self.task.borrow_mut() = outer;
    }

    /// Whether a new task must run at once: one thread, a final task, or too many that wait.
    pub fn is_inline(&self) -> bool {
        let team = self.team();
        // Relaxed: a hint.
        let many = team.tasks.pending.load(Relaxed) as usize > PER_THREAD * team.size as usize;
        team.size == 1 || many || self.task.borrow().is_final
    }

    /// Leaves a task to whichever thread of the team comes first.
    pub fn defer(&self, function: Function, data: Data, is_final: bool) {
        let task = {
            let current = self.task.borrow();
            Task { function, data, parent: current.children.clone(), groups: current.groups.clone(), is_final }
        };
        // Relaxed: the queue's lock orders them before the task runs, and only this task's own threads wait for them.
        task.parent.0.fetch_add(1, Relaxed);
        for group in &task.groups {
            group.0.fetch_add(1, Relaxed);
        }
        let pending = &self.team().tasks.pending;
        self.locked(|waiting| {
            pending.fetch_add(1, Release);
            waiting.push_back(task);
        });
        self.waits().wake::<M, u32>(Why::Task, pending);
    }

    /// Runs a waiting task that `fits`, if there is one.
    fn run_one(&self, fits: impl Fn(&Task<M>) -> bool) -> bool {
        let task = self.locked(|waiting| {
            let at = waiting.iter().position(fits)?;
            waiting.remove(at)
        });
        let Some(mut task) = task else { return false };
        let current = Current { children: Count::new(), groups: task.groups.clone(), is_final: task.is_final };
        let outer = self.task.replace(current);
        // A task that is cancelled before it begins does not run.
        if !self.task_cancelled() {
            // SAFETY: the compiler's outlined function with the data that it asked to have copied.
            unsafe { (task.function)(task.data.as_ptr()) };
        }
        *self.task.borrow_mut() = outer;
        done(self, &task.parent.0);
        task.groups.iter().for_each(|group| done(self, &group.0));
        done(self, &self.team().tasks.pending);
        true
    }

    /// Runs tasks that fit, and waits for the rest, until `count` is zero.
    fn run_until_zero(&self, count: &M::Atomic<u32>, fits: impl Fn(&Task<M>) -> bool) {
        loop {
            // Acquire: see what the tasks did.
            let left = count.load(Acquire);
            if left == 0 {
                return;
            }
            if !self.run_one(&fits) {
                self.waits().wait::<M, u32>(Why::Task, count, left);
            }
        }
    }

    /// Cancels the innermost taskgroup, if there is one.
    pub fn cancel_group(&self) {
        if let Some(group) = self.task.borrow().groups.last() {
            // Release: who sees it sees what was done before.
            group.1.store(1, Release);
        }
    }

    /// Whether the current task, or one that it would make now, is cancelled: with a taskgroup around it, or with the region.
    pub fn task_cancelled(&self) -> bool {
        // Acquire: see `cancel_group`.
        let group = self.task.borrow().groups.iter().any(|group| group.1.load(Acquire) != 0);
        group || self.region_cancelled()
    }

    /// Waits for the children of the current task.
    pub fn taskwait(&self) {
        let children = self.task.borrow().children.clone();
        self.run_until_zero(&children.0, |task| Arc::ptr_eq(&task.parent, &children));
    }

    /// Begins a taskgroup.
    pub fn begin_group(&self) {
        self.task.borrow_mut().groups.push(Count::new());
    }

    /// Ends it: waits for its tasks and their descendants.
    pub fn end_group(&self) {
        let group = self.task.borrow_mut().groups.pop();
        let group = group.expect("a taskgroup ends that has begun");
        self.run_until_zero(&group.0, |task| task.groups.iter().any(|of| Arc::ptr_eq(of, &group)));
    }

    /// Runs the team's tasks until none waits or runs.
    pub fn finish_tasks(&self) {
        self.run_until_zero(&self.team().tasks.pending, |_| true);
    }
}
