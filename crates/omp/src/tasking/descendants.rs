//! Tasks that a thread runs while its task waits: children of the task and, where tasks have events,
//! further descendants.
//!
//! A child with an event may not be done before one of its own descendants fulfils the event. If all
//! threads of the team wait for such children, only the waiting threads can run that descendant. So a
//! task that ends before its children are done leaves them to the task around it in its thread, of
//! which they are descendants too. In a team in which no event has been made, nothing is left, and a
//! thread takes children alone.

use crate::tasks::children::Children;
use crate::tasks::task::{Current, Task};
use crate::team::Context;
use crate::waits::Why;
use baton_machine::Ordering::Relaxed;
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Machine, Wait};

/// How long a thread waits before it looks for tasks that have become ready.
const LOOKS_AGAIN: Nanos = Nanos(1_000_000);

/// How often a thread looks at the word of its children before it offers its CPU: for about as long as a
/// change of threads takes. A thief that has a CPU ends a short task within that time.
const LOOKS: u32 = 16;

/// Whether `word` ceases to have the value `now` within a few looks.
fn changes_soon<M: Machine>(word: &M::Atomic<u32>, now: u32) -> bool {
    (0..LOOKS).any(|_| {
        M::relax();
        // Relaxed: the caller reads the word again with Acquire.
        word.load(Relaxed) != now
    })
}

impl<M: Machine> Context<M> {
    /// Takes a waiting child of the current task.
    fn take_child(&self) -> Option<Box<Task<M>>> {
        let current = self.current();
        let children = current.children()?;
        // If the task's children have dependences, a child may also stand in the list of the thread
        // that ended its predecessor; else it stands in this thread's list.
        let own = !current.has_table();
        self.take_task(true, own, |task| task.end.parent.is(children))
    }

    /// Takes a waiting child of the current task, or a descendant that was left to it.
    pub(super) fn take_descendant(&self) -> Option<Box<Task<M>>> {
        self.take_child().or_else(|| self.take_left())
    }

    /// Runs a waiting child of the current task, or a descendant that was left to it, if there is
    /// one.
    #[inline]
    pub(super) fn run_child(&self) -> bool {
        match self.take_child() {
            Some(task) => self.run_task(task),
            None => return self.run_left(),
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn run_left(&self) -> bool {
        self.take_left().map(|task| self.run_task(task)).is_some()
    }

    /// Takes a waiting task that a task which has ended left to the current one.
    fn take_left(&self) -> Option<Box<Task<M>>> {
        let current = self.current();
        if !current.has_left() {
            return None;
        }
        self.take_task(true, false, |task| current.is_left(&task.end.parent))
    }

    /// Waits while `word` has the value `now`. A child of the current task may become ready
    /// meanwhile, which changes another word: where children depend on each other, the thread looks
    /// for such a child from time to time, as no other thread may be free to run it.
    pub(super) fn doze(&self, word: &M::Atomic<u32>, now: u32) {
        if self.current().has_table() {
            self.waits().wait_for::<M, u32>(Why::Task, word, now, LOOKS_AGAIN);
        } else {
            self.rest_by(word, now);
        }
    }

    /// Waits while `word`, which counts the children of the current task, has the value `now`. The
    /// word changes when a child becomes ready, but not when a descendant that was left to the task
    /// does.
    pub(super) fn rest_by_child(&self, word: &M::Atomic<u32>, now: u32) {
        if let Wait::YieldPark(_) = self.waits().of(Why::Task)
            && changes_soon::<M>(word, now)
        {
            return;
        }
        if self.current().has_left() { self.doze(word, now) } else { self.rest_by(word, now) }
    }

    /// Waits while `word` has the value `now`.
    #[inline]
    pub(super) fn rest_by(&self, word: &M::Atomic<u32>, now: u32) {
        self.waits().wait::<M, u32>(Why::Task, word, now);
    }

    /// The task inside the current one has ended, and has given out `children`. Keeps the word for
    /// another task; if a child is not done, leaves the children to the current task.
    #[inline]
    pub(super) fn keep_children(&self, children: Option<Children<M>>) {
        if let Some(children) = children
            && let Some(children) = self.spare().keep_children(children)
        {
            self.leave_children(children);
        }
    }

    #[inline(never)]
    fn leave_children(&self, children: Children<M>) {
        if self.team().tasks.has_events() {
            self.current().leave(children);
        }
    }

    /// Leaves to the current task what was left to `ended`, a task inside it.
    #[inline]
    pub(super) fn inherit(&self, ended: &mut Current<M>) {
        if ended.has_left() {
            ended.take_left().into_iter().for_each(|children| self.current().leave(children));
        }
    }
}
