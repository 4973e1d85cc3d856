//! How a thread tells a tool what it does. Without a tool, each function here is a load and a branch.

use crate::tasks::Event;
use crate::tasks::task::{Current, End, Task};
use crate::team::{Context, League};
use crate::tool::{TaskRecord, Told, status};
use baton_machine::Machine;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

impl<M: Machine> Context<M> {
    /// The record, for a tool, of the task that the thread is running.
    #[inline(always)]
    pub fn record(&self) -> Option<&Arc<TaskRecord>> {
        if self.region.told.is_none() { None } else { self.current().record.get() }
    }

    /// The record, for a tool, of the thread's implicit task.
    #[inline(always)]
    pub fn implicit_record(&self) -> Option<&Arc<TaskRecord>> {
        if self.region.told.is_none() { None } else { self.implicit().record.get() }
    }

    /// Tells that the thread begins a region that asks for `asked` threads (0: names no number). Returns
    /// what the region's threads learn of the tool.
    #[inline(always)]
    pub(crate) fn tell_region(&self, asked: u32) -> Option<Told> {
        let threads = || if asked == 0 { self.icv.get().threads } else { asked };
        self.region.told.map(|told| told.begin(self.record(), threads()))
    }

    /// Tells that the thread begins its implicit task.
    #[inline(always)]
    pub(crate) fn tell_begin(&self) {
        if let Some(told) = self.region.told {
            // SAFETY: a region's threads begin it before any of them ends it.
            let record = self.implicit().record.get_or_init(|| unsafe { told.implicit(self.id, self.team().size) });
            told.tool.implicit_begins(record, self.team().size, self.id);
        }
    }

    /// Tells that the thread begins its initial task, which the task `by` leads to.
    pub(crate) fn tell_initial(&self, by: Option<&Arc<TaskRecord>>) {
        if let Some(told) = self.region.told {
            let League { team, teams } = self.league.get();
            let record = self.implicit().record.get_or_init(|| told.initial(by));
            told.tool.implicit_begins(record, teams, team);
        }
    }

    /// Tells that the thread has entered the work-share with which its region begins.
    pub(crate) fn tell_share(&self) {
        if let (Some(told), Some(task)) = (self.region.told, self.implicit_record()) {
            told.tool.shares(task, &self.work.get());
        }
    }

    /// Tells that the thread ends its implicit task, or its initial task.
    #[inline(always)]
    pub(crate) fn tell_end(&self) {
        if let (Some(told), Some(task)) = (self.region.told, self.implicit_record()) {
            let League { team, teams } = self.league.get();
            let (threads, id) = if self.region.level == 0 { (teams, team) } else { (self.team().size, self.id) };
            told.tool.implicit_ends(task, threads, id);
        }
    }

    /// Tells that the thread arrives at its region's end, or leaves it.
    #[inline(always)]
    pub(crate) fn tell_join(&self, arrives: bool) {
        if let (Some(told), Some(task)) = (self.region.told, self.implicit_record()) {
            if arrives {
                task.frame.exits(0);
            }
            told.tool.joins(task, arrives);
        }
    }

    /// Notes that the runtime's frame at `mark` calls the current task's function.
    #[inline(always)]
    pub(crate) fn tell_frame(&self, mark: *const u8) {
        if let Some(task) = self.record() {
            task.frame.exits(mark.addr());
        }
    }

    /// The record of a task that the thread was running; null: its implicit task.
    fn record_of(&self, task: *const Current<M>) -> Option<&Arc<TaskRecord>> {
        // SAFETY: the task stays until the tasks inside it have ended.
        unsafe { task.as_ref() }.unwrap_or_else(|| self.implicit()).record.get()
    }

    /// Tells that the thread goes from the task `outer` to `task`, whose function the frame at `mark`
    /// calls; null: the program calls it.
    #[inline(always)]
    pub(crate) fn tell_entered(&self, task: &Current<M>, outer: *const Current<M>, mark: *const u8) {
        if let Some(record) = task.record.get() {
            self.entered(record, outer, mark);
        }
    }

    #[cold]
    #[inline(never)]
    fn entered(&self, record: &TaskRecord, outer: *const Current<M>, mark: *const u8) {
        record.thread.store(self.id, Relaxed);
        record.frame.exits(mark.addr());
        if let Some(outer) = self.record_of(outer) {
            record.tool.task_switches(outer, status::SWITCH, Some(record));
        }
    }

    /// Tells that the thread leaves `task`, whose function has ended, for the task `outer`.
    #[inline(always)]
    pub(crate) fn tell_left(&self, task: &Current<M>, outer: *const Current<M>) {
        if let Some(record) = task.record.get() {
            self.left(record, outer);
        }
    }

    #[cold]
    #[inline(never)]
    fn left(&self, record: &TaskRecord, outer: *const Current<M>) {
        record.frame.exits(0);
        record.tool.task_switches(record, record.ends.load(Relaxed), self.record_of(outer).map(|outer| &**outer));
    }
}

impl<M: Machine> Task<M> {
    /// Notes that the task's function has ended, or was left out.
    #[inline(always)]
    pub(crate) fn tell_ended(&self, ran: bool) {
        if let Some(record) = &self.end.record {
            let open = self.event.as_ref().is_some_and(|event| !event.is_fulfilled());
            record.body_ended(ran, open);
        }
    }
}

impl<M: Machine> Event<M> {
    /// Notes the record of the task that the event completes.
    #[inline(always)]
    pub fn tell(event: Option<&Event<M>>, record: Option<&Arc<TaskRecord>>) {
        if let (Some(event), Some(record)) = (event, record) {
            // An event completes one task.
            _ = event.record.set(record.clone());
        }
    }
}

impl<M: Machine> End<M> {
    /// Tells that the task's event was fulfilled after its function had ended.
    #[inline]
    pub(crate) fn told_late(&self) {
        if let Some(task) = &self.record {
            task.tool.task_switches(task, status::LATE_FULFIL, None);
        }
    }

    /// The event was fulfilled before the thread said that the function had ended. If a tool was told
    /// otherwise, tells it now.
    #[inline]
    pub(crate) fn told_early(&self) {
        if self.record.as_ref().is_some_and(|task| task.ends.load(Relaxed) == status::DETACH) {
            self.told_late();
        }
    }
}
