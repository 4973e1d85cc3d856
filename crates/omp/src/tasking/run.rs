//! What a thread of a team does with tasks: makes them, runs them, waits for them.

use crate::settings::Icv;
use crate::tasks::children::{ALONE, Children};
use crate::tasks::queue::NOT_DONE;
use crate::tasks::task::{Clauses, Current, End, Kind, Task};
use crate::tasks::{Data, Depend, Event, Function, Group, Shared, Spare};
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::Acquire;
use baton_machine::{Atomic, Machine};
use core::alloc::Layout;
use core::ffi::c_void;

/// A task is done, as a thread of the team says. The team's threads may leave the region from the last line on.
fn done<M: Machine>(team: &Team<M>, thread: u32, waits: &Waits, end: End<M>) {
    let released = end.node.as_ref().map_or(0, |node| team.end_node(thread, waits, node));
    end.parent.one_done(waits, released);
    if let Some(group) = &end.group {
        // Others than who waits for the group may have made tasks of it meanwhile.
        group.tasks.one_done(waits, 1);
    }
    team.tasks.one_done(thread, waits, end.detached, released);
}

/// Fulfils the event of a task of that team. Any thread may, of the team or not.
///
/// # Safety
/// The task is not done: it holds its region open, and with it the team.
pub unsafe fn fulfil<M: Machine>(team: *const Team<M>, waits: &Waits, event: &Event<M>) {
    if let Some(end) = event.fulfil(waits) {
        // SAFETY: by contract; the end of the task is what is told here. What it lets go any thread of the team finds with the first.
        done(unsafe { &*team }, 0, waits, end);
    }
}

impl<M: Machine> Current<M> {
    fn children(&mut self, spare: &Spare<M>) -> &Children<M> {
        self.children.get_or_insert_with(|| spare.children())
    }
}

impl<M: Machine> Context<M> {
    /// Runs `body` as a task of its own, at once.
    #[inline]
    pub fn run_at_once(&self, is_final: bool, body: impl FnOnce()) {
        let group = self.task.borrow().group.clone();
        self.run_as(Current::new(group, is_final), None, body);
    }

    /// Runs `body` as that task, with variables of its own: a copy of those that are there, or others.
    #[inline]
    fn run_as(&self, task: Current<M>, icv: Option<Icv>, body: impl FnOnce()) {
        let (outer, outer_icv) = (self.task.replace(task), self.icv.get());
        if let Some(icv) = icv {
            self.icv.set(icv);
        }
        self.depth.set(self.depth.get() + 1);
        body();
        self.depth.set(self.depth.get() - 1);
        self.icv.set(outer_icv);
        if let Some(children) = self.task.replace(outer).children {
            self.spare().keep_children(children);
        }
    }

    /// Whether the thread that makes a task of that kind runs it at once: there is no region, the thread is alone, the queue is full, or
    /// the current task is final.
    #[inline]
    pub fn is_inline(&self, kind: Kind) -> bool {
        let (queue, size) = (&self.team().tasks, self.team().size);
        let alone = match kind {
            Kind::Plain | Kind::OfLoop => self.is_outside() || (size == 1 && queue.not_done() == 0),
            Kind::Target => self.is_outside(),
            Kind::Detached => false,
        };
        alone || (kind != Kind::Detached && queue.is_full(self.id, size, kind)) || self.task.borrow().is_final
    }

    /// Whether the maker of a task waits for its end in any case: the current task is final, or there is no region.
    pub fn is_included(&self) -> bool {
        self.is_outside() || self.task.borrow().is_final
    }

    /// Whether the thread is in no region, whose end would wait for tasks.
    #[inline]
    fn is_outside(&self) -> bool {
        self.team().size == 1 && self.region.level == 0
    }

    /// Whether a child with these dependences would follow one that is not done. Such a child is never run at once: its maker would wait,
    /// perhaps for an event that it fulfils itself later.
    pub fn follows(&self, depends: &[Depend]) -> bool {
        self.task.borrow().table.as_ref().is_some_and(|table| !table.earlier(depends).is_empty())
    }

    /// Leaves a task to whichever thread of the team comes first. `fill` writes its data, which stay where they are. A task with an event
    /// for which the queue has no room begins at once, and its maker goes on when the body has ended.
    #[inline]
    pub fn defer(&self, function: Function, layout: Layout, fill: impl FnOnce(*mut c_void), clauses: Clauses<M>) {
        let (parent, group) = {
            let mut current = self.task.borrow_mut();
            (current.children(self.spare()).one_more(), current.group.clone())
        };
        if let Some(group) = &group {
            group.tasks.one_more();
        }
        let Clauses { is_final, priority, depends, event, constructed } = clauses;
        let end = End { parent, group, node: None, detached: event.is_some() };
        let (data, icv) = (Data::new(layout), self.icv.get());
        let task = Task { function, data, icv, is_final, constructed, priority, event, end };
        let mut task = Box::write(self.spare().room(), task);
        fill(task.data.as_ptr());
        let (team, waits) = (self.team(), self.waits());
        let begins = task.end.detached && (self.is_outside() || team.tasks.is_full(self.id, team.size, Kind::Plain));
        if depends.is_empty() {
            if begins {
                team.tasks.made(self.id, true);
                return self.run_task(task);
            }
            return team.add(self.id, waits, task);
        }
        let (earlier, node) = {
            let mut current = self.task.borrow_mut();
            (current.table().earlier(&depends), current.table().enter(&depends))
        };
        task.end.node = Some(node.clone());
        if begins && earlier.is_empty() {
            team.tasks.made(self.id, true);
            return self.run_task(task);
        }
        team.add_behind(self.id, waits, task, &node, &earlier);
    }

    /// Waits for the earlier children of the current task that one with these dependences would follow.
    pub fn await_dependences(&self, depends: &[Depend]) {
        let earlier = self.task.borrow().table.as_ref().map_or_else(Vec::new, |table| table.earlier(depends));
        if earlier.is_empty() {
            return;
        }
        if let Some(count) = self.team().await_nodes(self.waits(), &earlier) {
            self.run_children_until(&count.0, 0);
        }
    }

    /// Waits until the event of a task that ran at once is fulfilled.
    pub fn await_event(&self, event: &Event<M>) {
        // Acquire: what was done before it was fulfilled.
        while event.word().load(Acquire) == 0 {
            if !self.run_child() {
                self.waits().wait::<M, u32>(Why::Task, event.word(), 0);
            }
        }
    }

    /// Runs a waiting task that `fits`, if there is one. The newest is for who waits for its own: its data are warm, and it leaves the
    /// larger ones to others.
    fn run_one(&self, newest: bool, own: bool, fits: impl Fn(&Task<M>) -> bool) -> bool {
        let Some(task) = self.team().take(self.id, self.waits(), newest, own, fits) else { return false };
        self.run_task(task);
        true
    }

    /// Runs a task that no list has.
    #[inline]
    fn run_task(&self, mut task: Box<Task<M>>) {
        let current = Current::new(task.end.group.clone(), task.is_final);
        let mut ran = false;
        self.run_as(current, Some(task.icv), || {
            // A task that is cancelled before it begins does not run.
            if task.constructed || !self.task_cancelled() {
                // SAFETY: the compiler's outlined function with the data that it asked to have copied.
                unsafe { (task.function)(task.data.as_ptr()) };
                ran = true;
            }
        });
        let (event, end) = self.take_apart(task);
        let end = match event {
            // One that did not run has none to fulfil its event.
            Some(event) if ran => event.body_ended(end),
            _ => Some(end),
        };
        if let Some(end) = end {
            done(self.team(), self.id, self.waits(), end);
        }
    }

    /// What a task that has run leaves to be done. Its memory is kept.
    #[inline]
    fn take_apart(&self, task: Box<Task<M>>) -> (Option<Shared<M, Event<M>>>, End<M>) {
        let task = Box::into_raw(task);
        // SAFETY: it was a box's. Each part that has something to drop is taken out or dropped here, once; what stays is only memory.
        unsafe {
            let (event, end) = ((&raw mut (*task).event).read(), (&raw mut (*task).end).read());
            (&raw mut (*task).data).drop_in_place();
            self.spare().keep_room(Box::from_raw(task.cast()));
            (event, end)
        }
    }

    /// The word of the current task's children, if it had any.
    #[inline]
    fn children(&self) -> Option<&M::Atomic<u32>> {
        // SAFETY: who calls this is in that task, which keeps its word until it ends, wherever its `Current` is moved to meanwhile.
        self.task.borrow().children.as_ref().map(|children| unsafe { &*core::ptr::from_ref(children.word()) })
    }

    /// Runs a waiting child of the current task, if there is one.
    fn run_child(&self) -> bool {
        let Some(children) = self.children() else { return false };
        // A child that follows another one is let go where that one ends.
        let own = self.task.borrow().table.is_none();
        self.run_one(true, own, |task| task.end.parent.is(children))
    }

    /// Runs children of the current task, and waits for the rest, until `count` has that value.
    fn run_children_until(&self, count: &M::Atomic<u32>, value: u32) {
        self.run_until(count, u32::MAX, value, || self.run_child());
    }

    /// Runs tasks, and waits for the rest, until those bits of `count` have that value.
    fn run_until(&self, count: &M::Atomic<u32>, bits: u32, value: u32, run: impl Fn() -> bool) {
        loop {
            // Acquire: see what the tasks did.
            let now = count.load(Acquire);
            if now & bits == value {
                return;
            }
            if !run() {
                self.waits().wait::<M, u32>(Why::Task, count, now);
            }
        }
    }

    /// Cancels the innermost taskgroup, if there is one.
    pub fn cancel_group(&self) {
        if let Some(group) = self.group() {
            group.cancel();
        }
    }

    /// Whether the current task, or one that it would make now, is cancelled: with a taskgroup around it, or with the region.
    #[inline]
    pub fn task_cancelled(&self) -> bool {
        // Nothing is cancelled where that is off.
        self.team().cancel.is_on()
            && (self.task.borrow().group.as_ref().is_some_and(|group| group.is_cancelled()) || self.region_cancelled())
    }

    /// Waits for the children of the current task.
    pub fn taskwait(&self) {
        if let Some(children) = self.children() {
            self.run_children_until(children, ALONE);
        }
    }

    /// The innermost taskgroup.
    pub fn group(&self) -> Option<Shared<M, Group<M>>> {
        self.task.borrow().group.clone()
    }

    /// Begins a taskgroup, with the reductions of the one around it; that of a work-share cannot be cancelled by itself.
    pub fn begin_group(&self, of_share: bool) {
        let mut current = self.task.borrow_mut();
        let outer = current.group.take();
        let reductions = outer.as_ref().map_or(0, |outer| outer.reductions());
        current.group = Some(Group::new(outer, of_share, reductions));
    }

    /// Ends it: waits for its tasks and their descendants. A group that did not begin here is none.
    pub fn end_group(&self) {
        let Some(group) = self.group() else { return };
        let this = group.address();
        let within =
            |task: &Task<M>| task.end.group.as_ref().is_some_and(|of| of.chain().any(|of| core::ptr::eq(of, this)));
        self.run_until(&group.tasks.0, u32::MAX, 0, || self.run_one(true, false, within));
        self.task.borrow_mut().group = group.outer.clone();
    }

    /// Runs the team's tasks until none waits or runs.
    pub fn finish_tasks(&self) {
        match &self.team().tasks.lists {
            Some(lists) => self.hunt(lists),
            None => self.run_until(&self.team().tasks.pending, NOT_DONE, 0, || self.run_one(false, false, |_| true)),
        }
    }

    /// Runs the team's tasks until none waits; whether there was one.
    pub(crate) fn run_any(&self) -> bool {
        let mut ran = false;
        while self.run_one(false, false, |_| true) {
            ran = true;
        }
        ran
    }

    /// As a thread that has arrived at a barrier, and was told of tasks: runs them until none waits; whether it need not look again at once.
    pub(crate) fn run_waiting(&self) -> bool {
        let ran = self.run_any();
        let Some(lists) = &self.team().tasks.lists else { return ran };
        if !ran && !self.looks_up() {
            self.team().clear_bit(lists, self.waits());
        }
        true
    }
}
