//! A task, what is said of it where it is made, and the task that a thread runs.

use super::children::{Children, Parent};
use super::data::Data;
use super::depend::{Depend, Node, Table};
use super::group::{Event, Group};
use super::shared::Shared;
use crate::settings::Icv;
use baton_machine::Machine;
use core::ffi::c_void;

/// Waiting tasks for each thread, beyond which a task runs at once.
pub const PER_THREAD: u64 = 64;

/// The body of a region: what compilers call an outlined function. A body of ours may panic where a checker ends an execution.
pub type Function = unsafe extern "C-unwind" fn(*mut c_void);

/// What kind of task is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task without an event.
    Plain,
    /// One of a taskloop's tasks, whose maker makes all of them before it runs any.
    OfLoop,
    /// A target region or a mapping with `nowait`, which a thread that is alone leaves for later too.
    Target,
    /// A task with an event: its maker, which may be the one to fulfil the event, never waits for it.
    Detached,
}

/// The task that a thread runs.
pub struct Current<M: Machine> {
    /// Its children that are not done; `None`: it had none.
    pub(crate) children: Option<Children<M>>,
    pub(crate) group: Option<Shared<M, Group<M>>>,
    /// Whether it is final: its children run at once.
    pub is_final: bool,
    pub(crate) table: Option<Box<Table<M>>>,
}

impl<M: Machine> Current<M> {
    pub(crate) fn new(group: Option<Shared<M, Group<M>>>, is_final: bool) -> Self {
        Current { children: None, group, is_final, table: None }
    }

    /// The task that a thread is in a region before it meets any other. With reductions over tasks it is in a group that has them.
    pub fn implicit(reductions: usize) -> Self {
        Current::new((reductions != 0).then(|| Group::new(None, true, reductions)), false)
    }

    pub(crate) fn table(&mut self) -> &mut Table<M> {
        self.table.get_or_insert_with(|| Box::new(Table::new()))
    }
}

/// What is said of a task where it is made.
pub struct Clauses<M: Machine> {
    /// Its children run at once.
    pub is_final: bool,
    /// The greater, the earlier.
    pub priority: i32,
    /// What it depends on.
    pub depends: Vec<Depend>,
    /// It is not done before this event is fulfilled.
    pub event: Option<Shared<M, Event<M>>>,
    /// It runs even if it is cancelled before it begins: its data were constructed, and it destroys them.
    pub constructed: bool,
}

impl<M: Machine> Clauses<M> {
    /// A task of which nothing is said.
    pub fn none() -> Self {
        Clauses { is_final: false, priority: 0, depends: Vec::new(), event: None, constructed: false }
    }
}

/// A task that waits for a thread.
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

/// Who is told that a task is done.
pub(crate) struct End<M: Machine> {
    pub(crate) parent: Parent<M>,
    pub(crate) group: Option<Shared<M, Group<M>>>,
    pub(crate) node: Option<Shared<M, Node<M>>>,
    /// Whether it has an event: then any thread may end it.
    pub(crate) detached: bool,
}
