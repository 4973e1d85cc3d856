//! What a thread of a team does with tasks: it makes them, runs them, waits for them.

use crate::settings::Icv;
use crate::tasks::children::{ALONE, Parent};
use crate::tasks::depend::Order;
use crate::tasks::group::Count;
use crate::tasks::queue::NOT_DONE;
use crate::tasks::task::{Clauses, Current, End, Kind, PER_THREAD, Task};
use crate::tasks::{Data, Depend, Event, Function, Group, Shared};
use crate::team::{Context, Team};
use crate::told::{made_deferred, made_undeferred};
use crate::tool::TaskRecord;
use crate::waits::Waits;
use baton_machine::Ordering::{Acquire, Relaxed, SeqCst};
use baton_machine::{Atomic, Machine};
use core::alloc::Layout;
use core::ffi::c_void;
use std::sync::Arc;

/// Records that a task is done. `by`: the thread that ran it; `None` if the task was detached, and
/// its event fulfilled later. After the last line the team's threads may leave the region.
#[inline]
pub(super) fn done<M: Machine>(team: &Team<M>, by: Option<&Context<M>>, waits: &Waits, end: End<M>) {
    if M::is_checked_for_races() {
        end.happens_before();
        M::happens_before(team.tasks.order());
    }
    // The tasks that an event releases go into the first thread's list, where any thread of the
    // team finds them.
    let thread = by.map_or(0, |by| by.id);
    let released = end.node.as_ref().map_or(0, |node| team.end_node(thread, waits, node));
    let tally = if end.detached { None } else { by.and_then(Context::tally) };
    // Only a parent waits for its children, and the parent that runs a child itself is awake.
    let children = by.and_then(|by| by.current().children());
    let may_sleep = !children.is_some_and(|children| end.parent.is(children));
    end.parent.one_done(waits, may_sleep, released);
    end.group.iter().for_each(|group| group.tasks.one_done(waits));
    team.tasks.one_done(tally, waits, released);
}

/// The task that a thread goes back to when a task inside it ends, or panics.
struct Around<'a, M: Machine> {
    context: &'a Context<M>,
    task: *const Current<M>,
    icv: Option<Icv>,
}

impl<M: Machine> Drop for Around<'_, M> {
    #[inline]
    fn drop(&mut self) {
        self.context.go_back(self.task, self.icv);
    }
}

impl<M: Machine> Context<M> {
    /// Runs `body` at once, as a task of its own.
    #[inline]
    pub fn run_at_once(&self, is_final: bool, body: impl FnOnce()) {
        let group = self.current().group().cloned();
        match self.record() {
            None => self.run_as::<false>(Current::new(group, is_final, None), self.icv.own(), body),
            Some(by) => {
                self.run_told(Current::new(group, is_final, made_undeferred(by, is_final)), self.icv.own(), body)
            }
        }
    }

    /// Runs `body` as the task `task`, with its own copy of the variables: `icv`, or those of the
    /// region.
    #[inline]
    fn run_as<const TOLD: bool>(&self, mut task: Current<M>, icv: Option<Icv>, body: impl FnOnce()) {
        let (outer, outer_icv) = self.go_into(&raw const task, icv);
        let around = Around { context: self, task: outer, icv: outer_icv };
        let mark = 0;
        if TOLD {
            self.tell_entered(&task, outer, &raw const mark);
        }
        body();
        if TOLD {
            self.tell_left(&task, outer);
        }
        drop(around);
        self.keep_children(task.take_children());
        if !TOLD && task.is_empty() {
            // The usual case: nothing to drop.
            core::mem::forget(task);
        } else {
            self.inherit(&mut task);
        }
    }

    /// Makes `task` the current task, with the variables `icv`, or those of the region. Returns the
    /// task around it, and that one's variables.
    #[inline]
    pub(super) fn go_into(&self, task: *const Current<M>, icv: Option<Icv>) -> (*const Current<M>, Option<Icv>) {
        let outer = (self.replace_current(task), self.icv.own());
        self.icv.put(icv, &self.region.icv);
        self.depth.set(self.depth.get() + 1);
        outer
    }

    #[inline]
    pub(super) fn go_back(&self, outer: *const Current<M>, icv: Option<Icv>) {
        self.replace_current(outer);
        self.depth.set(self.depth.get() - 1);
        self.icv.put(icv, &self.region.icv);
    }

    /// Whether a thread that makes a task of this kind runs it at once: there is no region, the
    /// thread is alone and no task is unfinished, the queue is full, or the current task is final.
    /// For [`Kind::Target`] it is no reason that the thread is alone, and for [`Kind::Detached`]
    /// only the last reason counts.
    #[inline]
    pub fn is_inline(&self, kind: Kind) -> bool {
        if kind == Kind::Plain && self.room() != 0 {
            // The usual case: the team has several threads, which steal.
            return self.is_full(kind) || self.is_final();
        }
        let (queue, size) = (&self.team().tasks, self.team().size);
        let alone = match kind {
            Kind::Plain | Kind::OfLoop => self.is_outside() || (size == 1 && queue.not_done() == 0),
            Kind::Target => self.is_outside(),
            Kind::Detached => false,
        };
        alone || (kind != Kind::Detached && self.is_full(kind)) || self.is_final()
    }

    /// Whether there is no room for another task of this kind, which the thread makes.
    #[inline]
    fn is_full(&self, kind: Kind) -> bool {
        let team = self.team();
        let room = self.room();
        if room == 0 {
            return team.tasks.not_done() > team.tasks.most(team.size);
        }
        // Without throttling, `room` is the greatest number.
        let wide = PER_THREAD.saturating_mul(team.size).max(room);
        // The tasks of a taskloop make no tasks, and those of an implicit task seldom do: while their
        // maker runs one of them, the other threads need tasks that wait.
        let room = if kind == Kind::OfLoop || self.is_in_implicit() { wide } else { room };
        // Relaxed: the result is only a hint.
        self.list().ready.load(Relaxed) >= room
    }

    /// Whether the thread is outside of all regions, so that no region's end would wait for tasks.
    #[inline]
    fn is_outside(&self) -> bool {
        self.team().size == 1 && self.region.level == 0
    }

    /// Whether a child with these dependences would have to wait for an earlier child that is not
    /// done. Such a child is run at once only if its maker is a final task: else the maker would wait
    /// for the earlier child, perhaps for an event that the maker itself is to fulfil later.
    pub fn follows(&self, depends: &[Depend]) -> bool {
        let earlier = self.current().with_known_table(|table| table.earlier(depends)).unwrap_or_default();
        self.team().is_open(self.waits(), &earlier)
    }

    /// Counts a new task as a child of the current one and in its group. Returns both.
    #[inline(always)]
    pub(super) fn counts_in(&self) -> (Parent<M>, Option<Shared<M, Group<M>>>) {
        let current = self.current();
        let (parent, group) = (current.one_more_child(|| self.spare().children()), current.group().cloned());
        if let Some(group) = &group {
            group.tasks.one_more();
        }
        (parent, group)
    }

    /// Leaves a task for the first thread of the team that takes it. `fill` writes the task's data,
    /// which do not move afterwards. A task with an event that need not wait for other tasks begins
    /// at once if the queue is full or there is no region; its maker goes on when the task's body
    /// has ended.
    #[inline]
    pub fn defer(&self, function: Function, layout: Layout, fill: impl FnOnce(*mut c_void), clauses: Clauses<M>) {
        let current = self.current();
        let (parent, group) = self.counts_in();
        let Clauses { is_final, priority, depends, event, constructed } = clauses;
        let record = self.record().and_then(|by| made_deferred(by, is_final, event.as_deref()));
        let end = End { parent, group, node: None, detached: event.is_some() };
        let mut room = self.spare().room();
        let at = room.as_mut_ptr();
        // SAFETY: writes each field of the task, in place: a task built elsewhere would be copied.
        let mut task = unsafe {
            (&raw mut (*at).function).write(function);
            Data::begin(&raw mut (*at).data, layout);
            // Two stores, as above in `Data::begin`.
            match self.icv.own() {
                Some(icv) => (&raw mut (*at).icv).write(Some(icv)),
                None => (&raw mut (*at).icv).write(None),
            }
            (&raw mut (*at).is_final).write(is_final);
            (&raw mut (*at).constructed).write(constructed);
            (&raw mut (*at).priority).write(priority);
            (&raw mut (*at).event).write(event);
            (&raw mut (*at).record).write(record);
            (&raw mut (*at).end).write(end);
            room.assume_init()
        };
        fill(task.data.as_ptr());
        M::happens_before(core::ptr::from_ref(&*task).cast());
        let (team, waits) = (self.team(), self.waits());
        let begins = task.end.detached && (self.is_outside() || self.is_full(Kind::Plain));
        if depends.is_empty() {
            if begins {
                team.tasks.made(self.tally(), true);
                return self.run_task(task);
            }
            return self.add(waits, task);
        }
        let (earlier, node) =
            current.with_table(|table| (table.earlier(&depends), table.enter(&depends, task.record.as_ref())));
        task.end.node = Some(node.clone());
        if begins && !team.is_open(waits, &earlier) {
            team.tasks.made(self.tally(), true);
            return self.run_task(task);
        }
        self.add_behind(waits, task, &node, &earlier);
    }

    /// Waits for the earlier children of the current task on which a child with these dependences
    /// would depend.
    pub fn await_dependences(&self, depends: &[Depend]) {
        let earlier = self.current().with_known_table(|table| table.earlier(depends)).unwrap_or_default();
        if !earlier.is_empty()
            && let Some(children) = self.current().children()
            && let Some(left) = self.team().await_nodes(self.waits(), &earlier)
        {
            // The thread waits for the word of its children, not for `left`: a child that ends may
            // release another one, which the thread must run if no other thread does.
            // Acquire: as in `run_until`, whose load of `children` comes first.
            self.run_until(
                children,
                |_| left.load(Acquire) == 0,
                || self.run_child(),
                |now| self.rest_by_child(children, now),
            );
        }
        self.happens_after(depends);
    }

    /// Tells a checker of races that the thread comes after the tasks on which a child with these
    /// dependences would depend.
    fn happens_after(&self, depends: &[Depend]) {
        if M::is_checked_for_races() {
            let orders = self.current().with_known_table(|table| table.orders(depends)).unwrap_or_default();
            orders.iter().for_each(Order::happens_after);
        }
    }

    /// Takes a waiting task of the team.
    pub(super) fn take_any(&self) -> Option<Box<Task<M>>> {
        self.take_task(false, false, |_| true)
    }

    /// Runs a waiting task, if there is one.
    fn run_one(&self) -> bool {
        self.take_any().map(|task| self.run_task(task)).is_some()
    }

    /// Runs a task that stands in no list.
    #[inline]
    pub(super) fn run_task(&self, mut task: Box<Task<M>>) {
        if M::is_checked_for_races() {
            M::happens_after(core::ptr::from_ref(&*task).cast());
            task.end.node.iter().for_each(|node| node.happens_after());
        }
        match task.record.take() {
            None => self.run_taken::<false>(task, None),
            told => self.run_taken_told(task, told),
        }
    }

    /// Does what [`run_as`](Context::run_as) does for a task of which a tool is told.
    #[cold]
    #[inline(never)]
    fn run_told(&self, task: Current<M>, icv: Option<Icv>, body: impl FnOnce()) {
        self.run_as::<true>(task, icv, body);
    }

    #[cold]
    #[inline(never)]
    fn run_taken_told(&self, task: Box<Task<M>>, told: Option<Arc<TaskRecord>>) {
        self.run_taken::<true>(task, told);
    }

    /// Runs a task, of which a tool is told if `TOLD`, with its record.
    #[inline(always)]
    fn run_taken<const TOLD: bool>(&self, mut task: Box<Task<M>>, record: Option<Arc<TaskRecord>>) {
        let current = Current::new(task.end.group.clone(), task.is_final, record);
        let mut ran = false;
        self.run_as::<TOLD>(current, task.icv, || {
            // A task that is cancelled before it begins does not run.
            if task.constructed || !self.task_cancelled() {
                // SAFETY: the function is the one that was given to `defer`, and the data are those
                // that `defer` had written for it.
                unsafe { (task.function)(task.data.as_ptr()) };
                ran = true;
            }
            if TOLD {
                task.tell_ended(self.record(), ran);
            }
        });
        let (event, end) = self.take_apart(task);
        match event {
            // If the task did not run, no code will fulfil its event, so its end does not wait for
            // that.
            Some(event) if ran => self.ended_with_event(&event, end),
            _ => done(self.team(), Some(self), self.waits(), end),
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

    /// Calls `run` until `done` holds for `word`; where `run` finds no task, calls `rest`, which waits
    /// until the word has not the value that it is given.
    #[inline]
    pub(super) fn run_until(
        &self,
        word: &M::Atomic<u32>,
        done: impl Fn(u32) -> bool,
        run: impl Fn() -> bool,
        rest: impl Fn(u32),
    ) {
        loop {
            // Acquire: the thread sees what the tasks did before they changed the word.
            let now = word.load(Acquire);
            if done(now) {
                return;
            }
            if !run() {
                rest(now);
            }
        }
    }

    /// Cancels the innermost taskgroup, if there is one.
    pub fn cancel_group(&self) {
        if let Some(group) = self.current().group() {
            group.cancel();
        }
    }

    /// Whether the current task, and any task that it would make now, is cancelled: by an enclosing
    /// taskgroup or by the region.
    #[inline]
    pub fn task_cancelled(&self) -> bool {
        // If cancellation is off, nothing is ever cancelled.
        self.team().cancel.is_on()
            && (self.current().group().is_some_and(|group| group.is_cancelled()) || self.region_cancelled())
    }

    /// Waits for the children of the current task.
    pub fn taskwait(&self) {
        if let Some(children) = self.current().children() {
            self.run_until(children, |now| now == ALONE, || self.run_child(), |now| self.rest_by_child(children, now));
            M::happens_after(core::ptr::from_ref(children).cast());
        }
    }

    /// The innermost taskgroup.
    pub fn group(&self) -> Option<Shared<M, Group<M>>> {
        self.current().group().cloned()
    }

    /// Begins a taskgroup, which takes over the reductions of the enclosing group. A group
    /// `of_share` belongs to a work-share, and `cancel taskgroup` does not mean it.
    pub fn begin_group(&self, of_share: bool) {
        let current = self.current();
        // SAFETY: no reference to the task's group is left.
        let outer = unsafe { current.replace_group(None) };
        let reductions = outer.as_ref().map_or(0, |outer| outer.reductions());
        // SAFETY: as above.
        unsafe { current.replace_group(Some(Group::new(outer, of_share, reductions))) };
    }

    /// Ends the innermost taskgroup: waits for its tasks and their descendants, and meanwhile runs
    /// tasks of the group or, if none is ready, children of the current task, on which tasks of the
    /// group may depend. Does nothing if no group has begun.
    pub fn end_group(&self) {
        let Some(group) = self.group() else { return };
        let run = || self.take_of_group(&group).map(|task| self.run_task(task)).is_some();
        let rest = |now| self.sleep_at_end(&group, now);
        self.run_until(&group.tasks.0, |now| now & Count::<M>::TASKS == 0, run, rest);
        M::happens_after(group.tasks.address().cast());
        // SAFETY: no reference to the task's group is left: `group` is a count of its own.
        drop(unsafe { self.current().replace_group(group.outer.clone()) });
    }

    /// Takes a task of the group or of a group inside it, or a descendant of the current task.
    fn take_of_group(&self, group: &Shared<M, Group<M>>) -> Option<Box<Task<M>>> {
        let this = group.address();
        let within =
            |task: &Task<M>| task.end.group.as_ref().is_some_and(|of| of.chain().any(|of| core::ptr::eq(of, this)));
        self.take_task(true, false, within).or_else(|| self.take_descendant())
    }

    /// Sleeps at the end of a group until its count is not `now`, or runs a task that was put into a
    /// list before those who put tasks there could see that this thread sleeps.
    fn sleep_at_end(&self, group: &Shared<M, Group<M>>, now: u32) {
        let sleepers = &self.team().tasks.sleepers.0;
        // Relaxed, both changes: the fence orders the first, and nothing follows from the second.
        sleepers.fetch_add(1, Relaxed);
        group.falls_asleep();
        // SeqCst: see `Team::rouse`.
        M::fence(SeqCst);
        let task = self.take_of_group(group);
        if task.is_none() {
            self.doze(&group.tasks.0, now);
        }
        sleepers.fetch_add(u32::MAX, Relaxed);
        task.into_iter().for_each(|task| self.run_task(task));
    }

    /// Runs the team's tasks until none waits or runs.
    pub fn finish_tasks(&self) {
        match &self.team().tasks.lists {
            Some(lists) => self.hunt(lists),
            None => {
                let pending = &self.team().tasks.pending;
                let rest = |now| self.rest_by(pending, now);
                self.run_until(pending, |now| now & NOT_DONE == 0, || self.run_one(), rest);
            }
        }
    }

    /// Runs the team's tasks until none waits. Returns whether there was one.
    pub(crate) fn run_any(&self) -> bool {
        let mut ran = false;
        while self.run_one() {
            ran = true;
        }
        ran
    }

    /// Called by a thread that has arrived at a barrier and was told of tasks: runs tasks until
    /// none waits. Returns false if the thread should pause before it looks again.
    pub(crate) fn run_waiting(&self) -> bool {
        let Some(lists) = &self.team().tasks.lists else { return self.run_any() };
        // Relaxed: the word is a hint here. Before the thread sleeps at the barrier again, it clears the bit
        // and looks once more behind a fence. A thread that sets the bit anew wakes another one.
        if lists.signs.0.sought.load(Relaxed) != 0 {
            lists.looks();
        }
        if !self.run_shared(lists) && !self.looks_up() {
            self.team().clear_bit(lists, self.waits());
        }
        true
    }
}
