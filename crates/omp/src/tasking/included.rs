//! Tasks whose bodies the compiler calls itself, between two calls of the runtime.

use crate::settings::Icv;
use crate::tasks::task::Current;
use crate::team::Context;
use crate::told::made_undeferred;
use baton_machine::Machine;

/// A task that [`Context::begin_included`] began, and the one around it.
pub struct Outer<M: Machine> {
    /// The task, from a box.
    inner: *mut Current<M>,
    task: *const Current<M>,
    icv: Option<Icv>,
}

impl<M: Machine> Context<M> {
    /// Begins a task whose body the caller runs before it calls [`end_task`](Context::end_task).
    /// Does what [`run_at_once`](Context::run_at_once) does, for a compiler that calls the body
    /// itself.
    pub fn begin_included(&self, is_final: bool) -> Outer<M> {
        let group = self.current().group().cloned();
        let record = self.record().and_then(|by| made_undeferred(by, is_final));
        let inner = Box::into_raw(Box::new(Current::new(group, is_final, record)));
        let (task, icv) = self.go_into(inner, self.icv.own());
        // SAFETY: made above.
        self.tell_entered(unsafe { &*inner }, task, core::ptr::null());
        Outer { inner, task, icv }
    }

    /// Ends the task that [`begin_included`](Context::begin_included) began, and goes back to the
    /// task that was current then.
    ///
    /// # Safety
    /// It is the thread's current task.
    pub unsafe fn end_task(&self, outer: Outer<M>) {
        // SAFETY: `begin_included` made the box, and the task is the thread's own.
        self.tell_left(unsafe { &*outer.inner }, outer.task);
        self.go_back(outer.task, outer.icv);
        // SAFETY: `begin_included` made the box, and the task is current no longer.
        let mut task = unsafe { Box::from_raw(outer.inner) };
        task.take_children().into_iter().for_each(|children| self.spare().keep_children(children));
    }
}
