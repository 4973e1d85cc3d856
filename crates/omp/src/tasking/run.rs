//! What a thread of a team does with tasks: it makes them, runs them, waits for them.

use crate::settings::Icv;
use crate::tasks::children::{ALONE, Children};
use crate::tasks::depend::Order;
use crate::tasks::queue::NOT_DONE;
use crate::tasks::task::{Clauses, Current, End, Kind, Task};
use crate::tasks::{Data, Depend, Event, Function, Group, Shared, Spare};
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::Acquire;
use baton_machine::{Atomic, Machine};
use core::alloc::Layout;
use core::ffi::c_void;

/// Records that a task is done, on behalf of `thread` of the team. After the last line the team's
/// threads may leave the region.
fn done<M: Machine>(team: &Team<M>, thread: u32, waits: &Waits, end: End<M>) {
    if M::is_checked_for_races() {
        end.happens_before();
        M::happens_before(team.tasks.order());
    }
    let released = end.node.as_ref().map_or(0, |node| team.end_node(thread, waits, node));
    end.parent.one_done(waits, released);
    if let Some(group) = &end.group {
        // A thread that waits for the group may find new tasks of it, which the ended task or
        // others have made, so it is woken in any case.
        group.tasks.one_done(waits, 1);
    }
    team.tasks.one_done(thread, waits, end.detached, released);
}

/// Fulfils the event of a task of `team`. Any thread may do so, of the team or not.
///
/// # Safety
/// The task is not done: it holds its region open, and with it the team.
pub unsafe fn fulfil<M: Machine>(team: *const Team<M>, waits: &Waits, event: &Event<M>) {
    if let Some(end) = event.fulfil(waits) {
        // SAFETY: the caller says that the task is not done, and its end is recorded only here. The
        // tasks that it releases go into the first thread's list, where any thread of the team
        // finds them.
        done(unsafe { &*team }, 0, waits, end);
    }
}

/// The task that a thread goes back to when a task inside it has ended.
pub struct Outer<M: Machine> {
    task: Current<M>,
    icv: Icv,
}

impl<M: Machine> Current<M> {
    fn children(&mut self, spare: &Spare<M>) -> &Children<M> {
        self.children.get_or_insert_with(|| spare.children())
    }
}

impl<M: Machine> Context<M> {
    /// Runs `body` at once, as a task of its own.
    #[inline]
    pub fn run_at_once(&self, is_final: bool, body: impl FnOnce()) {
        let group = self.task.borrow().group.clone();
        self.run_as(Current::new(group, is_final), None, body);
    }

    /// Runs `body` as the task `task`, with its own copy of the variables: `icv`, or those of the
    /// current task.
    #[inline]
    fn run_as(&self, task: Current<M>, icv: Option<Icv>, body: impl FnOnce()) {
        let outer = self.begin_task(task, icv);
        body();
        self.end_task(outer);
    }

    #[inline]
    fn begin_task(&self, task: Current<M>, icv: Option<Icv>) -> Outer<M> {
        let outer = Outer { task: self.task.replace(task), icv: self.icv.get() };
        if let Some(icv) = icv {
            self.icv.set(icv);
        }
        self.depth.set(self.depth.get() + 1);
        outer
    }

    /// Ends the task that [`begin_included`](Context::begin_included) began, and goes back to the
    /// task that was current then.
    #[inline]
    pub fn end_task(&self, outer: Outer<M>) {
        self.depth.set(self.depth.get() - 1);
        self.icv.set(outer.icv);
        if let Some(children) = self.task.replace(outer.task).children {
            self.spare().keep_children(children);
        }
    }

    /// Begins a task whose body the caller runs before it calls [`end_task`](Context::end_task).
    /// Does what [`run_at_once`](Context::run_at_once) does, for a compiler that calls the body
    /// itself.
    pub fn begin_included(&self, is_final: bool) -> Outer<M> {
        let group = self.task.borrow().group.clone();
        self.begin_task(Current::new(group, is_final), None)
    }

    /// Whether a thread that makes a task of this kind runs it at once: there is no region, the
    /// thread is alone and no task is unfinished, the queue is full, or the current task is final.
    /// For [`Kind::Target`] it is no reason that the thread is alone, and for [`Kind::Detached`]
    /// only the last reason counts.
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

    /// Whether a task that is made now is finished before its maker goes on in any case: the
    /// current task is final, or there is no region.
    pub fn is_included(&self) -> bool {
        self.is_outside() || self.task.borrow().is_final
    }

    /// Whether the thread is outside of all regions, so that no region's end would wait for tasks.
    #[inline]
    fn is_outside(&self) -> bool {
        self.team().size == 1 && self.region.level == 0
    }

    /// Whether a child with these dependences would have to wait for an earlier child that is not
    /// done. Such a child is run at once only if it is included
    /// ([`is_included`](Context::is_included)): else its maker would wait for the earlier child,
    /// perhaps for an event that the maker itself is to fulfil later.
    pub fn follows(&self, depends: &[Depend]) -> bool {
        self.task.borrow().table.as_ref().is_some_and(|table| !table.earlier(depends).is_empty())
    }

    /// Leaves a task for the first thread of the team that takes it. `fill` writes the task's data,
    /// which do not move afterwards. A task with an event that need not wait for other tasks begins
    /// at once if the queue is full or there is no region; its maker goes on when the task's body
    /// has ended.
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
        let mut room = self.spare().room();
        let at = room.as_mut_ptr();
        // SAFETY: writes each field of the task, in place: a task built elsewhere would be copied.
        let mut task = unsafe {
            (&raw mut (*at).function).write(function);
            (&raw mut (*at).data).write(Data::new(layout));
            (&raw mut (*at).icv).write(self.icv.get());
            (&raw mut (*at).is_final).write(is_final);
            (&raw mut (*at).constructed).write(constructed);
            (&raw mut (*at).priority).write(priority);
            (&raw mut (*at).event).write(event);
            (&raw mut (*at).end).write(end);
            room.assume_init()
        };
        fill(task.data.as_ptr());
        M::happens_before(core::ptr::from_ref(&*task).cast());
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

    /// Waits for the earlier children of the current task on which a child with these dependences
    /// would depend.
    pub fn await_dependences(&self, depends: &[Depend]) {
        let earlier = self.task.borrow().table.as_ref().map_or_else(Vec::new, |table| table.earlier(depends));
        if !earlier.is_empty()
            && let Some(count) = self.team().await_nodes(self.waits(), &earlier)
        {
            self.run_children_until(&count.0, 0);
        }
        self.happens_after(depends);
    }

    /// Tells a checker of races that the thread comes after the tasks on which a child with these
    /// dependences would depend.
    fn happens_after(&self, depends: &[Depend]) {
        if M::is_checked_for_races() {
            let orders = self.task.borrow().table.as_ref().map_or_else(Vec::new, |table| table.orders(depends));
            orders.iter().for_each(Order::happens_after);
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
        M::happens_after(core::ptr::from_ref(event).cast());
    }

    /// Runs a waiting task that `fits`, if there is one. A thread that waits for its own tasks
    /// takes the newest: its data are still in the cache, and the older tasks, which are larger,
    /// are left to other threads.
    fn run_one(&self, newest: bool, own: bool, fits: impl Fn(&Task<M>) -> bool) -> bool {
        let Some(task) = self.team().take(self.id, self.waits(), newest, own, fits) else { return false };
        self.run_task(task);
        true
    }

    /// Runs a task that stands in no list.
    #[inline]
    fn run_task(&self, mut task: Box<Task<M>>) {
        if M::is_checked_for_races() {
            M::happens_after(core::ptr::from_ref(&*task).cast());
            task.end.node.iter().for_each(|node| node.happens_after());
        }
        let current = Current::new(task.end.group.clone(), task.is_final);
        let mut ran = false;
        self.run_as(current, Some(task.icv), || {
            // A task that is cancelled before it begins does not run.
            if task.constructed || !self.task_cancelled() {
                // SAFETY: the function is the one that was given to `defer`, and the data are those
                // that `defer` had written for it.
                unsafe { (task.function)(task.data.as_ptr()) };
                ran = true;
            }
        });
        let (event, end) = self.take_apart(task);
        let end = match event {
            // If the task did not run, no code will fulfil its event, so its end does not wait for
            // that.
            Some(event) if ran => event.body_ended(end),
            _ => Some(end),
        };
        if let Some(end) = end {
            done(self.team(), self.id, self.waits(), end);
        }
    }

    /// Takes a task apart after it has run. Returns its event and its end; its memory is kept for
    /// another task.
    #[inline]
    fn take_apart(&self, task: Box<Task<M>>) -> (Option<Shared<M, Event<M>>>, End<M>) {
        let task = Box::into_raw(task);
        // SAFETY: the pointer came from a box. Each part with a destructor is taken out or dropped
        // here, once; what is left is plain memory.
        unsafe {
            let (event, end) = ((&raw mut (*task).event).read(), (&raw mut (*task).end).read());
            (&raw mut (*task).data).drop_in_place();
            self.spare().keep_room(Box::from_raw(task.cast()));
            (event, end)
        }
    }

    /// The word that counts the current task's children, if the task has had any.
    #[inline]
    fn children(&self) -> Option<&M::Atomic<u32>> {
        // SAFETY: the caller runs in this task, which keeps the word until it ends, even if its
        // `Current` is moved meanwhile.
        self.task.borrow().children.as_ref().map(|children| unsafe { &*core::ptr::from_ref(children.word()) })
    }

    /// Runs a waiting child of the current task, if there is one.
    fn run_child(&self) -> bool {
        let Some(children) = self.children() else { return false };
        // If the task's children have dependences, a child may also stand in the list of the thread
        // that ended its predecessor; else it stands in this thread's list.
        let own = self.task.borrow().table.is_none();
        self.run_one(true, own, |task| task.end.parent.is(children))
    }

    /// Runs children of the current task until `count` has the value `value`; waits while no child
    /// can be run.
    fn run_children_until(&self, count: &M::Atomic<u32>, value: u32) {
        self.run_until(count, u32::MAX, value, || self.run_child());
    }

    /// Calls `run` until the bits `bits` of `count` have the value `value`; waits while `run` finds
    /// no task.
    fn run_until(&self, count: &M::Atomic<u32>, bits: u32, value: u32, run: impl Fn() -> bool) {
        loop {
            // Acquire: the thread sees what the tasks did before they changed the count.
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

    /// Whether the current task, and any task that it would make now, is cancelled: by an enclosing
    /// taskgroup or by the region.
    #[inline]
    pub fn task_cancelled(&self) -> bool {
        // If cancellation is off, nothing is ever cancelled.
        self.team().cancel.is_on()
            && (self.task.borrow().group.as_ref().is_some_and(|group| group.is_cancelled()) || self.region_cancelled())
    }

    /// Waits for the children of the current task.
    pub fn taskwait(&self) {
        if let Some(children) = self.children() {
            self.run_children_until(children, ALONE);
            M::happens_after(core::ptr::from_ref(children).cast());
        }
    }

    /// The innermost taskgroup.
    pub fn group(&self) -> Option<Shared<M, Group<M>>> {
        self.task.borrow().group.clone()
    }

    /// Begins a taskgroup, which takes over the reductions of the enclosing group. A group
    /// `of_share` belongs to a work-share, and `cancel taskgroup` does not mean it.
    pub fn begin_group(&self, of_share: bool) {
        let mut current = self.task.borrow_mut();
        let outer = current.group.take();
        let reductions = outer.as_ref().map_or(0, |outer| outer.reductions());
        current.group = Some(Group::new(outer, of_share, reductions));
    }

    /// Ends the innermost taskgroup: waits for its tasks and their descendants. Does nothing if no
    /// group has begun.
    pub fn end_group(&self) {
        let Some(group) = self.group() else { return };
        let this = group.address();
        let within =
            |task: &Task<M>| task.end.group.as_ref().is_some_and(|of| of.chain().any(|of| core::ptr::eq(of, this)));
        self.run_until(&group.tasks.0, u32::MAX, 0, || self.run_one(true, false, within));
        M::happens_after(group.tasks.address().cast());
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
    pub(crate) fn run_any(&self) -> bool {
        let mut ran = false;
        while self.run_one(false, false, |_| true) {
            ran = true;
        }
        ran
    }

    /// Called by a thread that has arrived at a barrier and was told of tasks: runs tasks until
    /// none waits. Returns false if the thread should pause before it looks again.
    pub(crate) fn run_waiting(&self) -> bool {
        let ran = self.run_any();
        let Some(lists) = &self.team().tasks.lists else { return ran };
        if !ran && !self.looks_up() {
            self.team().clear_bit(lists, self.waits());
        }
        true
    }
}
