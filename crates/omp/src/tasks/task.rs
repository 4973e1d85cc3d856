//! A task, the clauses with which it is made, and the task that a thread runs.

use super::children::{Children, Parent};
use super::data::Data;
use super::depend::{Depend, Node, Table};
use super::group::{Event, Group};
use super::shared::Shared;
use crate::settings::Icv;
use crate::tool::TaskRecord;
use baton_machine::Machine;
use core::cell::{OnceCell, UnsafeCell};
use core::ffi::c_void;
use std::sync::Arc;

/// The number of waiting tasks for each thread at which further tasks run at once; in a single
/// queue, running tasks count as well. Where threads steal, an explicit task has fewer: see
/// [`Queue::room`](super::Queue).
pub const PER_THREAD: u32 = 64;

/// The function of a region or a task, which a compiler outlines from the program. A test's
/// function may panic, by which a checker ends an execution.
pub type Function = unsafe extern "C-unwind" fn(*mut c_void);

/// The kinds of tasks that a thread makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task without an event.
    Plain,
    /// A task of a taskloop. Its maker makes all of the loop's tasks before it runs any.
    OfLoop,
    /// A target region or a mapping with `nowait`. It is left for later even if the thread is alone
    /// in its team.
    Target,
    /// A task with an event. Its maker does not wait for it, unless the current task is final,
    /// because the maker may be the thread that fulfils the event.
    Detached,
}

/// The task that a thread is running. Only that thread uses it.
pub struct Current<M: Machine> {
    /// The task's children that are not done; `None` if it has had none.
    children: UnsafeCell<Option<Children<M>>>,
    group: UnsafeCell<Option<Shared<M, Group<M>>>>,
    /// Whether the task is final, so that its children run at once.
    pub is_final: bool,
    table: UnsafeCell<Option<Box<Table<M>>>>,
    /// The task as a tool knows it; `None`: there is no tool.
    pub(crate) record: OnceCell<Arc<TaskRecord>>,
}

impl<M: Machine> Current<M> {
    pub(crate) fn new(group: Option<Shared<M, Group<M>>>, is_final: bool, record: Option<Arc<TaskRecord>>) -> Self {
        Current {
            children: UnsafeCell::new(None),
            group: UnsafeCell::new(group),
            is_final,
            table: UnsafeCell::new(None),
            record: record.map_or_else(OnceCell::new, OnceCell::from),
        }
    }

    /// The implicit task, which a thread of a region is in before it runs any other. With
    /// reductions over tasks it is in a group that has them.
    pub fn implicit(reductions: usize) -> Self {
        Current::new((reductions != 0).then(|| Group::new(None, true, reductions)), false, None)
    }

    /// Counts one more child of the task, in a word that `new` returns if it is the first one.
    #[inline]
    pub(crate) fn one_more_child(&self, new: impl FnOnce() -> Children<M>) -> Parent<M> {
        // SAFETY: only the task's thread uses this value, and no reference to `children` outlives a
        // method of this type.
        unsafe { (*self.children.get()).get_or_insert_with(new) }.one_more()
    }

    /// The word that counts the task's children, if it has had any.
    #[inline]
    pub(crate) fn children(&self) -> Option<&M::Atomic<u32>> {
        // SAFETY: as above. The task holds the word until it ends, and the reference to the word
        // does not outlive the task.
        unsafe { (*self.children.get()).as_ref().map(|children| &*core::ptr::from_ref(children.word())) }
    }

    /// Takes the word that counts the task's children out of the task, which has ended.
    #[inline]
    pub(crate) fn take_children(&mut self) -> Option<Children<M>> {
        self.children.get_mut().take()
    }

    /// Whether the task has neither children, nor a group, nor dependences of children.
    #[inline]
    pub(crate) fn is_empty(&mut self) -> bool {
        self.children.get_mut().is_none() && self.group.get_mut().is_none() && self.table.get_mut().is_none()
    }

    /// The innermost group that the task is in.
    #[inline]
    pub(crate) fn group(&self) -> Option<&Shared<M, Group<M>>> {
        // SAFETY: only the task's thread uses this value, and it replaces the group only where it
        // has no such reference.
        unsafe { (*self.group.get()).as_ref() }
    }

    /// Makes `group` the innermost group that the task is in. Returns the one before.
    ///
    /// # Safety
    /// The caller has no reference that [`group`](Current::group) returned.
    pub(crate) unsafe fn replace_group(&self, group: Option<Shared<M, Group<M>>>) -> Option<Shared<M, Group<M>>> {
        // SAFETY: only the task's thread uses this value, and it has no reference to the old group.
        unsafe { self.group.get().replace(group) }
    }

    /// Whether a child of the task has had dependences, or descendants were left to the task.
    #[inline]
    pub(crate) fn has_table(&self) -> bool {
        // SAFETY: only the task's thread uses this value.
        unsafe { (*self.table.get()).is_some() }
    }

    /// Whether children of tasks that have ended were left to the task.
    #[inline]
    pub(crate) fn has_left(&self) -> bool {
        // SAFETY: only the task's thread uses this value.
        unsafe { (*self.table.get()).as_ref().is_some_and(|table| !table.left.is_empty()) }
    }

    /// Leaves to this task the children of a task inside it, which has ended.
    pub(crate) fn leave(&self, children: Children<M>) {
        self.with_table(|table| table.leave(children));
    }

    /// Whether `parent` is a task whose children were left to this task.
    pub(crate) fn is_left(&self, parent: &Parent<M>) -> bool {
        self.with_known_table(|table| table.left.iter().any(|left| parent.is(left.word()))).unwrap_or(false)
    }

    /// Takes out of the task, which has ended, what was left to it.
    pub(crate) fn take_left(&mut self) -> Vec<Children<M>> {
        self.with_known_table(|table| core::mem::take(&mut table.left)).unwrap_or_default()
    }

    /// Calls `then` with the dependences of the task's children. `then` must not use the task.
    pub(crate) fn with_table<R>(&self, then: impl FnOnce(&mut Table<M>) -> R) -> R {
        // SAFETY: only the task's thread uses this value, and `then` does not.
        then(unsafe { (*self.table.get()).get_or_insert_with(|| Box::new(Table::new())) })
    }

    /// Does what [`with_table`](Current::with_table) does, if a child of the task has had
    /// dependences.
    pub(crate) fn with_known_table<R>(&self, then: impl FnOnce(&mut Table<M>) -> R) -> Option<R> {
        self.has_table().then(|| self.with_table(then))
    }
}

/// The clauses of a task: what its maker says about it.
pub struct Clauses<M: Machine> {
    /// Whether the task's children run at once.
    pub is_final: bool,
    /// Tasks with a greater priority run earlier.
    pub priority: i32,
    /// The task's dependences.
    pub depends: Vec<Depend>,
    /// The event that must be fulfilled before the task is done.
    pub event: Option<Shared<M, Event<M>>>,
    /// Whether the task runs even if it is cancelled before it begins: its data were constructed,
    /// and only the task destroys them.
    pub constructed: bool,
}

impl<M: Machine> Clauses<M> {
    /// The clauses of a task that has none.
    pub fn none() -> Self {
        Clauses { is_final: false, priority: 0, depends: Vec::new(), event: None, constructed: false }
    }
}

/// A task that waits for a thread to run it.
pub(crate) struct Task<M: Machine> {
    pub(crate) function: Function,
    pub(crate) data: Data,
    /// The task's variables; `None`: those with which its region began.
    pub(crate) icv: Option<Icv>,
    pub(crate) is_final: bool,
    pub(crate) constructed: bool,
    pub(crate) priority: i32,
    pub(crate) event: Option<Shared<M, Event<M>>>,
    /// The task as a tool knows it, until the task runs; `None`: there is no tool.
    pub(crate) record: Option<Arc<TaskRecord>>,
    pub(crate) end: End<M>,
}

/// What must be told when a task is done.
pub(crate) struct End<M: Machine> {
    pub(crate) parent: Parent<M>,
    pub(crate) group: Option<Shared<M, Group<M>>>,
    pub(crate) node: Option<Shared<M, Node<M>>>,
    /// Whether the task has an event, so that any thread may end it.
    pub(crate) detached: bool,
}

impl<M: Machine> End<M> {
    /// Tells a checker of races that what waits for the task comes after it.
    pub(crate) fn happens_before(&self) {
        M::happens_before(self.parent.address());
        self.group.iter().for_each(|group| M::happens_before(group.tasks.address().cast()));
        self.node.iter().for_each(|node| node.happens_before());
    }
}
