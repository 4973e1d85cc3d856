//! Tasks: one queue behind the team's lock, as libgomp has it, or a list of each thread, from which others steal.
//!
//! At a taskwait a thread runs children of its task, at the end of a taskgroup tasks of the group,
//! and at a barrier any task. A bit in the barrier's word tells a thread that has arrived there of
//! later tasks. A team in which too many tasks wait ([`PER_THREAD`], [`Kind`]) runs further tasks
//! at once.
//!
//! | file | holds |
//! | --- | --- |
//! | [`data`] | the memory of a task's data |
//! | `children` | the children of a task |
//! | [`group`] | what else is waited for: groups, events |
//! | [`depend`] | which task follows which |
//! | [`Shared`] | what several threads have |
//! | `queue` | the tasks of a team that wait for a thread |
//! | [`Spare`] | memory of tasks that have ended |
//! | `steal` | where each thread has a list: who is told of tasks, and when all have ended |

mod children;
pub mod data;
pub mod depend;
pub mod group;
mod queue;
mod shared;
mod spare;
mod steal;

pub use data::Data;
pub use depend::Depend;
pub use group::{Event, Group};
pub use queue::Queue;
pub use shared::Shared;
pub use spare::Spare;

use queue::NOT_DONE;

use crate::settings::Icv;
use crate::team::{Context, Function, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::Acquire;
use baton_machine::{Atomic, Machine};
use children::{ALONE, Children, Parent};
use core::alloc::Layout;
use core::ffi::c_void;
use depend::{Node, Table};

/// Waiting tasks for each thread; beyond this number a new task runs at once.
pub const PER_THREAD: u64 = 64;

/// What kind of task is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task without an event.
    Plain,
    /// A task of a taskloop, whose maker makes all of the loop's tasks before it runs any.
    OfLoop,
    /// A target region or a mapping with `nowait`; even a thread that is alone leaves it for later.
    Target,
    /// A task with an event: its maker may be the thread that fulfils the event, and so never waits
    /// for it.
    Detached,
}

/// The task that a thread runs.
pub struct Current<M: Machine> {
    /// The task's children that are not done; `None`: it had none.
    children: Option<Children<M>>,
    group: Option<Shared<M, Group<M>>>,
    /// Whether the task is final: its children run at once.
    pub is_final: bool,
    table: Option<Box<Table<M>>>,
}

impl<M: Machine> Current<M> {
    fn new(group: Option<Shared<M, Group<M>>>, is_final: bool) -> Self {
        Current { children: None, group, is_final, table: None }
    }

    /// The task of a thread in a region before the thread meets any other. With reductions over
    /// tasks it is in a group that has them.
    pub fn implicit(reductions: usize) -> Self {
        Current::new((reductions != 0).then(|| Group::new(None, true, reductions)), false)
    }

    fn table(&mut self) -> &mut Table<M> {
        self.table.get_or_insert_with(|| Box::new(Table::new()))
    }

    fn children(&mut self, spare: &Spare<M>) -> &Children<M> {
        self.children.get_or_insert_with(|| spare.children())
    }
}

/// The clauses of a task.
pub struct Clauses<M: Machine> {
    /// The task's children run at once.
    pub is_final: bool,
    /// Tasks with a greater priority run earlier.
    pub priority: i32,
    /// The task's dependences.
    pub depends: Vec<Depend>,
    /// The task is not done before this event is fulfilled.
    pub event: Option<Shared<M, Event<M>>>,
    /// The task runs even if it is cancelled before it begins: its data were constructed, and it
    /// destroys them.
    pub constructed: bool,
}

impl<M: Machine> Clauses<M> {
    /// A task without clauses.
    pub fn none() -> Self {
        Clauses { is_final: false, priority: 0, depends: Vec::new(), event: None, constructed: false }
    }
}

/// A task that waits for a thread.
pub(crate) struct Task<M: Machine> {
    function: Function,
    data: Data,
    icv: Icv,
    is_final: bool,
    constructed: bool,
    priority: i32,
    event: Option<Shared<M, Event<M>>>,
    end: End<M>,
}

/// What to notify when a task completes.
pub(crate) struct End<M: Machine> {
    parent: Parent<M>,
    group: Option<Shared<M, Group<M>>>,
    node: Option<Shared<M, Node<M>>>,
    /// Whether the task has an event: then any thread may end it.
    detached: bool,
}

/// Notifies everything that waits for the task, as thread `thread` of the team. The team's threads
/// may leave the region from the last line on.
fn done<M: Machine>(team: &Team<M>, thread: u32, waits: &Waits, end: End<M>) {
    let released = end.node.as_ref().map_or(0, |node| team.end_node(thread, waits, node));
    end.parent.one_done(waits, released);
    if let Some(group) = &end.group {
        // Threads that do not wait for the group may have made tasks of the group meanwhile.
        group.tasks.one_done(waits, 1);
    }
    team.tasks.one_done(thread, waits, end.detached, released);
}

/// Fulfils the event of a task of that team. Any thread may do so, of the team or not.
///
/// # Safety
/// The task is not done: it holds its region open, and with the region the team.
pub unsafe fn fulfil<M: Machine>(team: *const Team<M>, waits: &Waits, event: &Event<M>) {
    if let Some(end) = event.fulfil(waits) {
        // SAFETY: by contract; the end of the task is what is told here. What it lets go any thread of the team finds with the first.
        done(unsafe { &*team }, 0, waits, end);
    }
}

impl<M: Machine> Context<M> {
    /// Runs `body` as a task of its own, at once.
    #[inline]
    pub fn run_at_once(&self, is_final: bool, body: impl FnOnce()) {
        let group = self.task.borrow().group.clone();
        self.run_as(Current::new(group, is_final), None, body);
    }

    /// Runs `body` as that task, with a copy of the current variables or with others.
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

    /// Whether the thread that makes a task of that kind runs it at once: there is no region, the
    /// thread is alone, the queue is full, or the current task is final.
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

    /// Whether the thread is in no region: no region's end would wait for its tasks.
    #[inline]
    fn is_outside(&self) -> bool {
        self.team().size == 1 && self.region.level == 0
    }

    /// Whether a child with these dependences would follow a child that is not done. A child that
    /// follows never runs at once: its maker would wait, perhaps for an event that the maker itself
    /// fulfils later.
    pub fn follows(&self, depends: &[Depend]) -> bool {
        self.task.borrow().table.as_ref().is_some_and(|table| !table.earlier(depends).is_empty())
    }

    /// Leaves a task to whichever thread of the team comes first. `fill` writes the task's data,
    /// which never move. If the queue has no room for a task with an event, the task begins at
    /// once, and its maker goes on when the body has ended.
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

    /// Waits for the earlier children of the current task that a child with these dependences would
    /// follow.
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
        // Acquire: the thread sees what was done before the event was fulfilled.
        while event.word().load(Acquire) == 0 {
            if !self.run_child() {
                self.waits().wait::<M, u32>(Why::Task, event.word(), 0);
            }
        }
    }

    /// Runs a waiting task that `fits`, if there is one. A thread that waits for tasks of its own
    /// takes the newest: that task's data are warm, and other threads keep the larger ones.
    fn run_one(&self, newest: bool, own: bool, fits: impl Fn(&Task<M>) -> bool) -> bool {
        let Some(task) = self.team().take(self.id, self.waits(), newest, own, fits) else { return false };
        self.run_task(task);
        true
    }

    /// Runs a task that is in no list.
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
            // A task that did not run leaves nothing that would fulfil its event.
            Some(event) if ran => event.body_ended(end),
            _ => Some(end),
        };
        if let Some(end) = end {
            done(self.team(), self.id, self.waits(), end);
        }
    }

    /// Splits a task that has run into its event and its end. The task's memory is kept.
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
        // A child that follows another one becomes ready where that other child ends.
        let own = self.task.borrow().table.is_none();
        self.run_one(true, own, |task| task.end.parent.is(children))
    }

    /// Runs children of the current task, and waits for the rest, until `count` is `value`.
    fn run_children_until(&self, count: &M::Atomic<u32>, value: u32) {
        self.run_until(count, u32::MAX, value, || self.run_child());
    }

    /// Runs tasks, and waits for the rest, until the `bits` of `count` are `value`.
    fn run_until(&self, count: &M::Atomic<u32>, bits: u32, value: u32, run: impl Fn() -> bool) {
        loop {
            // Acquire: the thread sees what the tasks did.
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

    /// Whether the current task, or a task that it would make now, is cancelled: with a taskgroup
    /// around it, or with the region.
    #[inline]
    pub fn task_cancelled(&self) -> bool {
        // Where cancellation is off, nothing is cancelled.
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

    /// Begins a taskgroup, with the reductions of the group around it. The group of a work-share
    /// cannot be cancelled by itself.
    pub fn begin_group(&self, of_share: bool) {
        let mut current = self.task.borrow_mut();
        let outer = current.group.take();
        let reductions = outer.as_ref().map_or(0, |outer| outer.reductions());
        current.group = Some(Group::new(outer, of_share, reductions));
    }

    /// Ends the taskgroup: waits for its tasks and their descendants. Does nothing if no group
    /// began in this task.
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

    /// Runs the team's tasks until none waits. Returns whether there was one.
    fn run_any(&self) -> bool {
        let mut ran = false;
        while self.run_one(false, false, |_| true) {
            ran = true;
        }
        ran
    }

    /// Runs waiting tasks in a thread that has arrived at a barrier and was told of tasks, until
    /// none waits. Returns whether the thread need not look again at once.
    pub(crate) fn run_waiting(&self) -> bool {
        let ran = self.run_any();
        let Some(lists) = &self.team().tasks.lists else { return ran };
        if !ran && !self.looks_up() {
            self.team().clear_bit(lists, self.waits());
        }
        true
    }
}
