//! Dependences between the children of a task, by the addresses that they name.
//!
//! For each address, the parent keeps the last child that writes it and the children that have read
//! it since. A new child that reads follows the writer; a new child that writes follows the writer
//! and the readers. Under the lock of the team's tasks, a child that is not done has a list of its
//! followers, and a follower counts the children for which it still waits.

use super::children::Children;
use super::shared::Shared;
use super::task::Task;
use crate::tool::TaskRecord;
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Slot};
use std::collections::HashMap;
use std::sync::Arc;

/// A dependence: what a task declares about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depend {
    /// The address; [`ALL`]: every address (`omp_all_memory`).
    pub address: usize,
    /// Whether the task only reads (`in`). Tasks with any other dependence (`out`, `inout`,
    /// `mutexinoutset`) run one after another.
    pub reads: bool,
}

/// The address of a dependence on all memory: the child follows all earlier children with
/// dependences, and all later ones follow it.
pub const ALL: usize = usize::MAX;

/// A child with dependences, as its siblings see it.
pub(crate) struct Node<M: Machine> {
    /// The number of children entered before it. A child that depends on several waits for them in
    /// this order, which is the same in each run.
    number: u64,
    state: M::Slot<DependState<M>>,
    /// What a checker of races is told when the child begins and when it is done.
    orders: Vec<Order<M>>,
    /// The child as a tool knows it; `None`: there is no tool.
    record: Option<Arc<TaskRecord>>,
}

/// A child's dependence, as a checker of races is told of it.
pub(crate) struct Order<M: Machine> {
    at: Shared<M, Ends>,
    reads: bool,
}

/// By the addresses of these bytes a checker of races knows the ends of the children that write an
/// address, and of those that read it.
pub(crate) struct Ends {
    writers: u8,
    readers: u8,
}

impl<M: Machine> Order<M> {
    /// Tells a checker of races that the child, or the thread that waits, comes after the children
    /// on which it depends.
    pub(crate) fn happens_after(&self) {
        M::happens_after((&raw const self.at.writers).cast());
        if !self.reads {
            M::happens_after((&raw const self.at.readers).cast());
        }
    }

    fn happens_before(&self) {
        let Ends { writers, readers } = &*self.at;
        M::happens_before(core::ptr::from_ref(if self.reads { readers } else { writers }).cast());
    }
}

struct DependState<M: Machine> {
    done: bool,
    /// The tasks and threads that wait for this child.
    followers: Vec<Follower<M>>,
    /// How many earlier children that are not done this child waits for.
    left: u32,
    /// The task, as long as it waits for earlier children.
    held: Option<Box<Task<M>>>,
}

enum Follower<M: Machine> {
    Task(Shared<M, Node<M>>),
    /// A thread that waits until the number of tasks is zero.
    Thread(Shared<M, M::Atomic<u32>>),
}

// SAFETY: the state is accessed only with the team's tasks locked.
unsafe impl<M: Machine> Sync for Node<M> {}
// SAFETY: the state is accessed only with the team's tasks locked; any thread of its team may run a
// task.
unsafe impl<M: Machine> Send for Node<M> {}

/// The tasks that can run because a task has ended, and the numbers of tasks of the threads that
/// waited for that task.
pub(crate) struct Released<M: Machine> {
    #[expect(clippy::vec_box, reason = "a task stays where it is from its begin to its end")]
    pub(crate) tasks: Vec<Box<Task<M>>>,
    pub(crate) threads: Vec<Shared<M, M::Atomic<u32>>>,
}

impl<M: Machine> Node<M> {
    fn new(number: u64, orders: Vec<Order<M>>, record: Option<Arc<TaskRecord>>) -> Shared<M, Self> {
        let state = DependState { done: false, followers: Vec::new(), left: 0, held: None };
        Shared::new(Node { number, state: M::Slot::new(state), orders, record })
    }

    /// Tells a checker of races that the child begins after those on which it depends.
    pub(crate) fn happens_after(&self) {
        self.orders.iter().for_each(Order::happens_after);
    }

    /// Tells a checker of races that children that depend on this one come after it.
    pub(crate) fn happens_before(&self) {
        self.orders.iter().for_each(Order::happens_before);
    }

    /// Calls `then` on the state.
    ///
    /// # Safety
    /// The team's tasks are locked.
    unsafe fn with<R>(&self, then: impl FnOnce(&mut DependState<M>) -> R) -> R {
        // SAFETY: the caller says that the team's tasks are locked, so no other thread accesses the
        // state.
        unsafe { self.state.write(|at| then(&mut *at)) }
    }

    /// Makes the task of this node wait for the tasks of `earlier` that are not done. Returns the
    /// task if there is none to wait for.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(crate) unsafe fn follow(
        this: &Shared<M, Self>,
        earlier: &[Shared<M, Self>],
        task: Box<Task<M>>,
    ) -> Option<Box<Task<M>>> {
        let mut left = 0;
        for node in earlier {
            // SAFETY: by contract.
            let follows = unsafe { node.followed_by(|| Follower::Task(this.clone())) };
            left += follows;
            if let (1, Some(earlier), Some(later)) = (follows, &node.record, &this.record) {
                later.tool.task_follows(earlier, later);
            }
        }
        if left == 0 {
            return Some(task);
        }
        // SAFETY: by contract.
        unsafe {
            this.with(|state| {
                state.left = left;
                state.held = Some(task);
            });
        }
        None
    }

    /// Makes a count of the nodes of `earlier` that are not done, for a thread to wait until it is
    /// zero. Returns `None` if all are done.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(crate) unsafe fn await_all(earlier: &[Shared<M, Node<M>>]) -> Option<Shared<M, M::Atomic<u32>>> {
        let count = Shared::<M, _>::new(M::Atomic::new(0));
        let mut left = 0;
        for node in earlier {
            // SAFETY: by contract.
            left += unsafe { node.followed_by(|| Follower::Thread(count.clone())) };
        }
        // Relaxed: a task that ends changes the number after it has taken the lock, which is held.
        count.store(left, Relaxed);
        (left != 0).then_some(count)
    }

    /// Whether the node's task is not done.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(crate) unsafe fn is_open(&self) -> bool {
        // SAFETY: by contract.
        unsafe { self.with(|state| !state.done) }
    }

    /// Adds a follower, if the node's task is not done. Returns 1 if it did, else 0.
    ///
    /// # Safety
    /// The team's tasks are locked.
    unsafe fn followed_by(&self, follower: impl FnOnce() -> Follower<M>) -> u32 {
        // SAFETY: by contract.
        unsafe {
            self.with(|state| {
                if !state.done {
                    state.followers.push(follower());
                }
                u32::from(!state.done)
            })
        }
    }

    /// Marks the node's task as done. Returns the tasks that now wait for no other, and the counts
    /// of all threads that waited for it, perhaps for other tasks too.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(crate) unsafe fn end(&self) -> Released<M> {
        // SAFETY: by contract.
        let followers = unsafe {
            self.with(|state| {
                state.done = true;
                std::mem::take(&mut state.followers)
            })
        };
        let mut released = Released { tasks: Vec::new(), threads: Vec::new() };
        for follower in followers {
            match follower {
                Follower::Thread(count) => released.threads.push(count),
                // SAFETY: by contract.
                Follower::Task(node) => released.tasks.extend(unsafe { node.one_less() }),
            }
        }
        released
    }

    /// Counts one task less that the node's task waits for. Returns the task if it waits for no
    /// other.
    ///
    /// # Safety
    /// The team's tasks are locked.
    unsafe fn one_less(&self) -> Option<Box<Task<M>>> {
        // SAFETY: by contract.
        unsafe {
            self.with(|state| {
                state.left -= 1;
                if state.left == 0 { state.held.take() } else { None }
            })
        }
    }
}

/// The children that have named one address.
struct Known<M: Machine> {
    writer: Option<Shared<M, Node<M>>>,
    readers: Vec<Shared<M, Node<M>>>,
    /// The number of readers at which readers that are done are removed.
    most: usize,
    /// What a checker of races is told of; `None` if there is no such checker.
    ends: Option<Shared<M, Ends>>,
}

/// The addresses that the children of a task have named.
pub(crate) struct Table<M: Machine> {
    /// For each address, the children that named it. In the order in which addresses were first
    /// named, so that memory is freed in the same order in each run.
    known: Vec<Known<M>>,
    /// The place of each address in `known`.
    places: HashMap<usize, usize>,
    /// The number of children that were entered.
    children: u64,
    /// The last child that depends on all memory. It is the writer of each address that was not
    /// named before it.
    all: Option<Shared<M, Node<M>>>,
    /// The children of tasks that have ended, which were left to the task.
    pub(crate) left: Vec<Children<M>>,
}

fn is_of_all(depends: &[Depend]) -> bool {
    depends.iter().any(|depend| depend.address == ALL)
}

impl<M: Machine> Table<M> {
    pub(crate) fn new() -> Self {
        Table { known: Vec::new(), places: HashMap::new(), children: 0, all: None, left: Vec::new() }
    }

    /// Adds the children of a task that has ended. Forgets, now and then, those that are done.
    pub(crate) fn leave(&mut self, children: Children<M>) {
        if self.left.len() == self.left.capacity() {
            self.left.retain(|left| !left.is_alone());
            // The next look comes after as many new words as there are now: each costs little.
            self.left.reserve(self.left.len() + 1);
        }
        self.left.push(children);
    }

    /// The earlier children that a new child with these dependences waits for, each once. Some of them
    /// may be done.
    pub(crate) fn earlier(&self, depends: &[Depend]) -> Vec<Shared<M, Node<M>>> {
        let mut earlier: Vec<Shared<M, Node<M>>> = Vec::new();
        // A node that only this table refers to is done, so it need not be waited for.
        let mut add = |writer: &Option<Shared<M, Node<M>>>, readers: &[Shared<M, Node<M>>]| {
            earlier.extend(writer.iter().chain(readers).filter(|node| node.is_shared()).cloned());
        };
        if is_of_all(depends) {
            add(&self.all, &[]);
            self.known.iter().for_each(|known| add(&known.writer, &known.readers));
        } else {
            for depend in depends {
                match self.places.get(&depend.address).map(|place| &self.known[*place]) {
                    Some(known) if depend.reads => add(&known.writer, &[]),
                    Some(known) => add(&known.writer, &known.readers),
                    None => add(&self.all, &[]),
                }
            }
        }
        earlier.sort_by_key(|node| node.number);
        earlier.dedup_by_key(|node| node.number);
        earlier
    }

    /// The place in `known` of an address.
    fn place(&mut self, address: usize) -> usize {
        let place = *self.places.entry(address).or_insert(self.known.len());
        if place == self.known.len() {
            let ends = M::is_checked_for_races().then(|| Shared::new(Ends { writers: 0, readers: 0 }));
            self.known.push(Known { writer: self.all.clone(), readers: Vec::new(), most: 16, ends });
        }
        place
    }

    /// What a checker of races is told of a child with these dependences. Addresses that no child
    /// has named are left out.
    pub(crate) fn orders(&self, depends: &[Depend]) -> Vec<Order<M>> {
        if is_of_all(depends) {
            let ends = self.known.iter().filter_map(|known| known.ends.clone());
            return ends.map(|at| Order { at, reads: false }).collect();
        }
        let order = |depend: &Depend| {
            let at = self.known[*self.places.get(&depend.address)?].ends.clone()?;
            Some(Order { at, reads: depend.reads })
        };
        depends.iter().filter_map(order).collect()
    }

    /// Enters a new child. If it names an address both as reader and as writer, it counts as a
    /// writer.
    pub(crate) fn enter(&mut self, depends: &[Depend], record: Option<&Arc<TaskRecord>>) -> Shared<M, Node<M>> {
        let of_all = is_of_all(depends);
        let orders = if M::is_checked_for_races() {
            depends.iter().filter(|_| !of_all).for_each(|depend| _ = self.place(depend.address));
            self.orders(depends)
        } else {
            Vec::new()
        };
        let node = Node::new(self.children, orders, record.cloned());
        self.children += 1;
        if of_all {
            for known in &mut self.known {
                known.readers.clear();
                known.writer = Some(node.clone());
            }
            self.all = Some(node.clone());
            return node;
        }
        // Writers are entered last: a writer replaces all that was entered for the address, this
        // child's reading included.
        let writes = depends.iter().filter(|depend| !depend.reads);
        for depend in depends.iter().filter(|depend| depend.reads).chain(writes) {
            let place = self.place(depend.address);
            let known = &mut self.known[place];
            if !depend.reads {
                known.readers.clear();
                known.writer = Some(node.clone());
                continue;
            }
            if known.readers.len() >= known.most {
                known.readers.retain(|reader| reader.is_shared());
                known.most = 2 * known.readers.len().max(8);
            }
            known.readers.push(node.clone());
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    fn on(address: usize, reads: bool) -> [Depend; 1] {
        [Depend { address, reads }]
    }

    #[test]
    fn a_child_on_all_memory_follows_all_and_is_followed_by_all() {
        let mut table = Table::<Native>::new();
        let earlier = |table: &Table<Native>, depends: [Depend; 1]| -> Vec<u64> {
            table.earlier(&depends).iter().map(|node| node.number).collect()
        };
        let mut not_done = vec![table.enter(&on(8, false), None), table.enter(&on(16, true), None)];
        assert_eq!(earlier(&table, on(ALL, false)), [0, 1]);
        not_done.push(table.enter(&on(ALL, false), None));
        // An address that was named before, and a new one.
        assert_eq!((earlier(&table, on(16, true)), earlier(&table, on(24, true))), (vec![2], vec![2]));
        not_done.push(table.enter(&on(24, true), None));
        assert_eq!(earlier(&table, on(24, false)), [2, 3]);
        assert_eq!(earlier(&table, on(ALL, false)), [2, 3]);
    }
}
