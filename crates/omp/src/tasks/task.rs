//! A task, the clauses with which it is made, and the task that a thread runs.

use super::children::{Children, Parent};
use super::data::Data;
use super::depend::{Depend, Node, Table};
use super::group::{Event, Group};
use super::shared::Shared;
use crate::settings::Icv;
use baton_machine::Machine;
use core::ffi::c_void;

/// The number of waiting tasks for each thread at which further tasks run at once; in a single
/// queue, running tasks count as well. Where threads steal, a small team has fewer: see
/// [`Queue::is_full`](super::Queue::is_full).
pub const PER_THREAD: u64 = 64;

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

/// The task that a thread is running.
pub struct Current<M: Machine> {
    /// The task's children that are not done; `None` if it has had none.
    pub(crate) children: Option<Children<M>>,
    pub(crate) group: Option<Shared<M, Group<M>>>,
    /// Whether the task is final, so that its children run at once.
    pub is_final: bool,
    pub(crate) table: Option<Box<Table<M>>>,
}

impl<M: Machine> Current<M> {
    pub(crate) fn new(group: Option<Shared<M, Group<M>>>, is_final: bool) -> Self {
        Current { children: None, group, is_final, table: None }
    }

    /// The implicit task, which a thread of a region is in before it runs any other. With
    /// reductions over tasks it is in a group that has them.
    pub fn implicit(reductions: usize) -> Self {
        Current::new((reductions != 0).then(|| Group::new(None, true, reductions)), false)
    }

    pub(crate) fn table(&mut self) -> &mut Table<M> {
        self.table.get_or_insert_with(|| Box::new(Table::new()))
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
    pub(crate) icv: Icv,
    pub(crate) is_final: bool,
    pub(crate) constructed: bool,
    pub(crate) priority: i32,
    pub(crate) event: Option<Shared<M, Event<M>>>,
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
