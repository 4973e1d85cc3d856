//! Tasks whose bodies the compiler calls itself, between two calls of the runtime, and tasks with an
//! event that run at once.

use crate::settings::Icv;
use crate::tasks::Event;
use crate::tasks::task::{Current, End};
use crate::team::Context;
use crate::told::made_undeferred;
use baton_machine::Machine;

/// A task that [`Context::begin_included`] began, and the one around it.
pub struct Outer<M: Machine> {
    /// The task, from a box.
    inner: *mut Current<M>,
    task: *const Current<M>,
    icv: Option<Icv>,
    /// What the task holds open until its event is fulfilled; `None`: it has no event.
    end: Option<End<M>>,
}

impl<M: Machine> Context<M> {
    /// Begins a task whose body the caller runs before it calls [`end_task`](Context::end_task).
    /// Does what [`run_at_once`](Context::run_at_once) does, for a compiler that calls the body
    /// itself. With `has_event`, the task's parent, group and region wait for the event that
    /// `end_task` gets.
    pub fn begin_included(&self, is_final: bool, has_event: bool) -> Outer<M> {
        let end = has_event.then(|| self.holds_open());
        let group = self.current().group().cloned();
        let record = self.record().and_then(|by| made_undeferred(by, is_final));
        let inner = Box::into_raw(Box::new(Current::new(group, is_final, record)));
        let (task, icv) = self.go_into(inner, self.icv.own());
        // SAFETY: made above.
        self.tell_entered(unsafe { &*inner }, task, core::ptr::null());
        Outer { inner, task, icv, end }
    }

    /// Ends the task that [`begin_included`](Context::begin_included) began, and goes back to the
    /// task that was current then. The task is done when `event` is fulfilled, if it has one; the
    /// caller does not wait for that.
    ///
    /// # Safety
    /// It is the thread's current task.
    pub unsafe fn end_task(&self, outer: Outer<M>, event: Option<&Event<M>>) {
        if event.is_some() {
            Event::tell_ended(event, self.record(), true);
        }
        // SAFETY: `begin_included` made the box, and the task is the thread's own.
        self.tell_left(unsafe { &*outer.inner }, outer.task);
        self.go_back(outer.task, outer.icv);
        // SAFETY: `begin_included` made the box, and the task is current no longer.
        let mut task = unsafe { Box::from_raw(outer.inner) };
        self.keep_children(task.take_children());
        self.inherit(&mut task);
        if let (Some(event), Some(end)) = (event, outer.end) {
            self.ended_with_event(event, end);
        }
    }

    /// Runs `body` at once, as a task of its own that is done when `event` is fulfilled. The caller
    /// does not wait for that, as the caller may be the one that fulfils the event.
    pub fn run_with_event(&self, is_final: bool, event: &Event<M>, body: impl FnOnce()) {
        let end = self.holds_open();
        self.run_at_once(is_final, || {
            body();
            Event::tell_ended(Some(event), self.record(), true);
        });
        self.ended_with_event(event, end);
    }

    /// Counts a task with an event as a child of the current task, in its group and in its region.
    /// Returns what its end is to tell.
    fn holds_open(&self) -> End<M> {
        let (parent, group) = self.counts_in();
        self.team().tasks.made(self.tally(), true);
        End { parent, group, node: None, detached: true }
    }
}
