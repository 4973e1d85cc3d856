//! Dependences between the children of a task, by the addresses that they name.
//!
//! The parent keeps, of each address, the last child that writes it and those that have read it since. A new child that reads
//! follows the writer; one that writes follows the writer and the readers. Who follows whom is known to both under the lock of
//! the team's tasks, until the one that is followed is done.

use super::group::Count;
use super::{Shared, Task};
use baton_machine::{Machine, Slot};
use std::collections::HashMap;

/// What a task says of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depend {
    /// The address.
    pub address: usize,
    /// Whether it only reads: `in`. All others (`out`, `inout`, `mutexinoutset`) come one after another.
    pub reads: bool,
}

/// A child that names addresses, as its siblings know it.
pub(super) struct Node<M: Machine> {
    /// How many came before it: what follows several does so in this order, the same in each run.
    number: u64,
    state: M::Slot<State<M>>,
}

struct State<M: Machine> {
    done: bool,
    /// Who follows.
    followers: Vec<Follower<M>>,
    /// How many it follows that are not done.
    left: u32,
    /// The task, until it follows none.
    held: Option<Box<Task<M>>>,
}

enum Follower<M: Machine> {
    Task(Shared<M, Node<M>>),
    /// A thread that waits until so many are done.
    Thread(Shared<M, Count<M>>),
}

// SAFETY: the state is touched with the team's tasks locked.
unsafe impl<M: Machine> Sync for Node<M> {}
// SAFETY: as above; a task may be run by any thread of its team.
unsafe impl<M: Machine> Send for Node<M> {}

/// What the end of a task lets go.
pub(super) struct Released<M: Machine> {
    #[expect(clippy::vec_box, reason = "a task stays where it is from its begin to its end")]
    pub(super) tasks: Vec<Box<Task<M>>>,
    pub(super) threads: Vec<Shared<M, Count<M>>>,
}

impl<M: Machine> Node<M> {
    fn new(number: u64) -> Shared<M, Self> {
        let state = State { done: false, followers: Vec::new(), left: 0, held: None };
        Shared::new(Node { number, state: M::Slot::new(state) })
    }

    /// # Safety
    /// The team's tasks are locked.
    unsafe fn with<R>(&self, then: impl FnOnce(&mut State<M>) -> R) -> R {
        // SAFETY: by contract no other thread touches it.
        unsafe { self.state.write(|at| then(&mut *at)) }
    }

    /// The task of this node follows those of `earlier` that are not done. It comes back if there is none.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(super) unsafe fn follow(
        this: &Shared<M, Self>,
        earlier: &[Shared<M, Self>],
        task: Box<Task<M>>,
    ) -> Option<Box<Task<M>>> {
        let mut left = 0;
        for node in earlier {
            // SAFETY: by contract.
            left += unsafe { node.followed_by(|| Follower::Task(this.clone())) };
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

    /// A thread waits for those of `earlier` that are not done: what it waits for, if there is one.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(super) unsafe fn await_all(earlier: &[Shared<M, Node<M>>]) -> Option<Shared<M, Count<M>>> {
        let count = Count::new(0);
        let mut left = 0;
        for node in earlier {
            // SAFETY: by contract.
            let one = unsafe { node.followed_by(|| Follower::Thread(count.clone())) };
            (0..one).for_each(|_| count.one_more());
            left += one;
        }
        (left != 0).then_some(count)
    }

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

    /// Its task is done.
    ///
    /// # Safety
    /// The team's tasks are locked.
    pub(super) unsafe fn end(&self) -> Released<M> {
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

/// What is known of an address.
struct Known<M: Machine> {
    writer: Option<Shared<M, Node<M>>>,
    readers: Vec<Shared<M, Node<M>>>,
    /// Readers at which those that are done are forgotten.
    most: usize,
}

/// The addresses that the children of a task have named.
pub(super) struct Table<M: Machine> {
    /// In the order in which they were named, in which they are given up.
    known: Vec<Known<M>>,
    /// The place of each address among them.
    places: HashMap<usize, usize>,
    /// Children that were entered.
    children: u64,
}

impl<M: Machine> Table<M> {
    pub(super) fn new() -> Self {
        Table { known: Vec::new(), places: HashMap::new(), children: 0 }
    }

    /// The earlier children that a new one with these dependences follows, each once.
    pub(super) fn earlier(&self, depends: &[Depend]) -> Vec<Shared<M, Node<M>>> {
        let mut earlier: Vec<Shared<M, Node<M>>> = Vec::new();
        for depend in depends {
            let Some(&place) = self.places.get(&depend.address) else { continue };
            let known = &self.known[place];
            let readers = if depend.reads { &[][..] } else { &known.readers[..] };
            // What only this table knows is done.
            earlier.extend(known.writer.iter().chain(readers).filter(|node| node.is_shared()).cloned());
        }
        earlier.sort_by_key(|node| node.number);
        earlier.dedup_by_key(|node| node.number);
        earlier
    }

    /// Enters a new child. Of an address that it names twice, writing counts.
    pub(super) fn enter(&mut self, depends: &[Depend]) -> Shared<M, Node<M>> {
        let node = Node::new(self.children);
        self.children += 1;
        // Those that write come last, so that what the new child was entered as before is forgotten.
        let writes = depends.iter().filter(|depend| !depend.reads);
        for depend in depends.iter().filter(|depend| depend.reads).chain(writes) {
            let place = *self.places.entry(depend.address).or_insert(self.known.len());
            if place == self.known.len() {
                self.known.push(Known { writer: None, readers: Vec::new(), most: 16 });
            }
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
