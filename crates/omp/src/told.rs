//! How a thread tells a tool what it does. Without a tool, each function here is a load and a branch.

use crate::tasks::Event;
use crate::tasks::task::{Current, Task};
use crate::team::{Context, League};
use crate::tool::{TaskRecord, Told, status, task_flag};
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
            told.tool().implicit_begins(record, self.team().size, self.id);
        }
    }

    /// Tells that the thread begins its initial task, which the task `by` leads to.
    pub(crate) fn tell_initial(&self, by: Option<&Arc<TaskRecord>>) {
        if let Some(told) = self.region.told {
            let League { team, teams } = self.league.get();
            let record = self.implicit().record.get_or_init(|| told.initial(by));
            told.tool().implicit_begins(record, teams, team);
        }
    }

    /// Tells that the thread has entered the work-share with which its region begins.
    pub(crate) fn tell_share(&self) {
        if let (Some(told), Some(task)) = (self.region.told, self.implicit_record()) {
            told.tool().shares(task, &self.work.get());
        }
    }

    /// Tells that the thread ends its implicit task, or its initial task.
    #[inline(always)]
    pub(crate) fn tell_end(&self) {
        if let (Some(told), Some(task)) = (self.region.told, self.implicit_record()) {
            let id = if self.region.level == 0 { self.league.get().team } else { self.id };
            told.tool().implicit_ends(task, id);
        }
    }

    /// Tells that the thread arrives at its region's end, or leaves it.
    #[inline(always)]
    pub(crate) fn tell_join(&self, arrives: bool) {
        if let (Some(told), Some(task)) = (self.region.told, self.implicit_record()) {
            if arrives {
                task.frame.exits(0);
            }
            told.tool().joins(task, arrives);
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
    /// Notes that the task's function has ended, or was left out. `record`: the task as a tool knows it.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_ended(&self, record: Option<&Arc<TaskRecord>>, ran: bool) {
        Event::tell_ended(self.event.as_deref(), record, ran);
    }
}

/// The flags of a task that is final, if it is.
fn final_flag(is_final: bool) -> i32 {
    if is_final { task_flag::FINAL } else { 0 }
}

/// The record of a task that the task `by` makes, of which a tool is told, and that an event may
/// complete.
#[cold]
#[inline(never)]
pub(crate) fn made_deferred<M: Machine>(
    by: &Arc<TaskRecord>,
    is_final: bool,
    event: Option<&Event<M>>,
) -> Option<Arc<TaskRecord>> {
    let record = by.child(final_flag(is_final) | task_flag::EXPLICIT);
    Event::tell(event, Some(&record));
    Some(record)
}

/// The record of a task that the task `by` makes and that runs at once, of which a tool is told.
#[cold]
#[inline(never)]
pub(crate) fn made_undeferred(by: &Arc<TaskRecord>, is_final: bool) -> Option<Arc<TaskRecord>> {
    Some(by.child(final_flag(is_final) | task_flag::EXPLICIT | task_flag::UNDEFERRED))
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

    /// Notes that the function of a task has ended, or was left out. `event`: the task's event.
    #[inline(always)]
    pub(crate) fn tell_ended(event: Option<&Event<M>>, record: Option<&Arc<TaskRecord>>, ran: bool) {
        if let Some(record) = record {
            record.body_ended(ran, event.is_some_and(|event| !event.is_fulfilled()));
        }
    }

    /// Tells that the event was fulfilled after the task's function had ended.
    pub(crate) fn tell_late(&self) {
        if let Some(task) = self.record.get() {
            task.tool.task_switches(task, status::LATE_FULFIL, None);
        }
    }

    /// The event was fulfilled before the thread said that the function had ended. If a tool was told
    /// otherwise, tells it now.
    pub(crate) fn tell_early(&self) {
        if self.record.get().is_some_and(|task| task.ends.load(Relaxed) == status::DETACH) {
            self.tell_late();
        }
    }
}
