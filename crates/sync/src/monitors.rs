//! Monitors: cells by which waiters of [`1spinner`](crate::lock::one_spinner) watch the threads in
//! front of them.
//!
//! A monitor has an *id* for life. A thread keeps a few monitors, each for one acquisition at a
//! time; a ticket is an id and the *generation* of its acquisition. A monitor shows the generation
//! of its next acquisition, or of the one in progress, and whether that one has left without the
//! lock.
//!
//! Invariants:
//!
//! 1. A monitor is never freed and never reset, whatever happens to its thread, so an old ticket
//!    may name it.
//! 2. An id belongs to one thread, in that thread's list or used by one of its acquisitions, or is
//!    in a list of the table. A thread that ends returns its ids to the table. A signal handler
//!    that runs while its thread waits finds the thread's id missing from the list, and takes
//!    another. Ids for waits with a deadline are kept separately, in a list of one
//!    ([`take_spare`]): such an id may move to the thread behind, and a signal handler must leave
//!    the first list as it found it.
//! 3. Only the acquisition that has the id changes `shown`, and each acquisition that others have
//!    seen advances it to the next generation. Tickets have 48 bits of generation and 16 of id, so
//!    they are different for 2^48 acquisitions of an id: a month of nothing else, at 10^8 a second.
//! 4. A thread that knows a ticket may look up its monitor: the monitor was created before the
//!    ticket was put into the lock's tail with Release, and tickets are read from there with
//!    Acquire. For this reason the table's entries can be plain memory.
//! 5. A block of monitors is a page, created and first touched by the thread that asked for it, so
//!    machines that place pages by first touch put it at that thread's node. An id returns to the
//!    list of its own node.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::local::Use;
use baton_machine::shared;
use baton_machine::{Atomic, Machine};
use core::alloc::Layout;
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;

const ID_BITS: u32 = 16;
const ID: u64 = (1 << ID_BITS) - 1;
/// Number of ids, including zero, which is no id.
const IDS: usize = 1 << ID_BITS;
const GENERATION: u64 = u64::MAX >> ID_BITS;
/// Set beside a monitor's generation once its acquisition has left.
const LEFT: u64 = 1;
/// Monitors in a block, which fill a page.
const BLOCK: usize = 32;
const BLOCKS: usize = IDS / BLOCK;
/// Number of nodes with lists of their own; a larger machine's nodes share by remainder.
const NODES: usize = 8;

/// The name of an acquisition: its id and its generation. Zero names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(pub(crate) u64);

impl Ticket {
    fn generation(self) -> u64 {
        self.0 >> ID_BITS
    }

    /// What the ticket's monitor shows until the acquisition has the lock or leaves.
    #[inline(always)]
    pub(crate) fn waiting(self) -> u64 {
        self.generation() << 1
    }

    /// What the ticket's monitor shows after the acquisition has left, until the thread behind has
    /// seen it.
    #[inline(always)]
    pub(crate) fn left(self) -> u64 {
        self.waiting() | LEFT
    }
}

/// A monitor, alone in its pair of cache lines.
#[repr(C, align(128))]
pub(crate) struct Monitor<M: Machine> {
    /// The generation of the id's next acquisition, or of the one in progress, and in the lowest
    /// bit whether that one has left. The waiter behind watches it.
    pub(crate) shown: M::Atomic<u64>,
    /// If the acquisition has left, the ticket that was in front of it.
    front: M::Atomic<u64>,
    /// The next id in a list of the table.
    link: M::Atomic<u64>,
    table: *const Table<M>,
    id: u64,
    /// The table's list that the id belongs to.
    node: usize,
    /// The next monitor in its thread's list; only that thread accesses it.
    below: Cell<usize>,
}

impl<M: Machine> Monitor<M> {
    /// Returns the ticket of the acquisition that has this id.
    #[inline(always)]
    pub(crate) fn ticket(&self) -> Ticket {
        // Relaxed: only the id's acquisitions write it, and an id moves between threads with
        // Release and Acquire. The lowest bit is clear here, so one shift suffices.
        Ticket(self.shown.load(Relaxed) << (ID_BITS - 1) | self.id)
    }

    /// Ends the acquisition `ticket` of this id: a waiter that watches for it sees another
    /// generation.
    #[inline(always)]
    pub(crate) fn end(&self, ticket: Ticket) {
        // Relaxed: the waiter learns only that it is next. The head orders its accesses to the
        // lock's data.
        self.shown.store(((ticket.generation() + 1) & GENERATION) << 1, Relaxed);
    }

    /// Ends the acquisition `ticket` of this id, which leaves with a thread behind it: that thread
    /// owns this id from now on, and has `front` in front.
    pub(crate) fn leave(&self, ticket: Ticket, front: Ticket) {
        // Relaxed: readers read the bit below first, with Acquire.
        self.front.store(front.0, Relaxed);
        // Release: publishes `front`.
        self.shown.store(ticket.left(), Release);
    }

    /// Whether the acquisition `ticket`, which once had this id, has left without the lock.
    pub(crate) fn has_left(&self, ticket: Ticket) -> bool {
        // Acquire: see the ticket that was in front of it.
        self.shown.load(Acquire) == ticket.left()
    }

    /// Returns the ticket that was in front of the acquisition that has left. It is valid only
    /// until the thread behind takes over the id.
    pub(crate) fn front(&self) -> Ticket {
        // Relaxed: the caller has seen the bit with Acquire.
        Ticket(self.front.load(Relaxed))
    }

    /// Returns the monitor of a ticket.
    ///
    /// # Safety
    /// The ticket came from a lock's tail, read with Acquire, and is not zero.
    #[inline]
    pub(crate) unsafe fn of(&self, ticket: Ticket) -> &Monitor<M> {
        // SAFETY: the table is never freed; by contract the ticket's monitor was created before
        // this call.
        unsafe { (*self.table).monitor(ticket.0 & ID) }
    }
}

/// The monitors of a machine, found by its shared word and created by the first thread that asks.
#[repr(C, align(128))]
struct Table<M: Machine> {
    /// For each node, the first free id, below a number that changes with every update so that an
    /// outdated value is recognised.
    free: [M::Atomic<u64>; NODES],
    /// Number of blocks that have been allotted.
    blocks: M::Atomic<u32>,
    /// The first generation of monitors yet to be created; any value will do.
    first: M::Atomic<u64>,
    /// Blocks by number, in plain memory: the thread that took the number writes its entry before
    /// another thread knows any of its ids.
    entries: [UnsafeCell<*const [Monitor<M>; BLOCK]>; BLOCKS],
}

/// Why no id could be had.
enum Lack {
    Memory,
    Ids,
}

impl<M: Machine> Table<M> {
    /// Returns the machine's table, creating it if needed. `memory` returns zeroed memory that is
    /// never freed, or null.
    fn here(memory: fn(Layout) -> *mut u8) -> Result<&'static Table<M>, Lack> {
        let word = M::shared().word(shared::Use::Monitors);
        // Acquire: the table is initialised.
        let mut at = word.load(Acquire);
        if at == 0 {
            let layout = Layout::new::<Table<M>>();
            let new = NonNull::new(memory(layout).cast::<Table<M>>()).ok_or(Lack::Memory)?;
            // SAFETY: the memory has room for a table and belongs to this thread. Its entries are
            // null, like zeroed memory.
            unsafe {
                let table = new.as_ptr();
                (&raw mut (*table).free).write(core::array::from_fn(|_| M::Atomic::new(0)));
                (&raw mut (*table).blocks).write(M::Atomic::new(0));
                (&raw mut (*table).first).write(M::Atomic::new(0));
            }
            let new = new.as_ptr().expose_provenance();
            // Release: the table is initialised. Acquire: so is another thread's, if that was
            // faster; this thread's is then lost, once for each thread at most.
            at = word.compare_exchange(0, new, Release, Acquire).map_or_else(|theirs| theirs, |_| new);
        }
        // SAFETY: initialised above, by this thread or by another before its Release, and never
        // freed.
        Ok(unsafe { &*core::ptr::with_exposed_provenance::<Table<M>>(at) })
    }

    /// Returns the monitor of an id; ignores higher bits.
    ///
    /// # Safety
    /// The id was given out before this call.
    #[inline(always)]
    unsafe fn monitor(&self, id: u64) -> &Monitor<M> {
        let id = (id & ID) as usize;
        // SAFETY: by contract the entry was written before, and is not written again.
        unsafe { &(*(*self.entries[id / BLOCK].get()))[id % BLOCK] }
    }

    /// Takes an id from a node's list; `None` if it is empty.
    fn pop(&self, node: usize) -> Option<NonNull<Monitor<M>>> {
        // Acquire: the id's creation, and what was done with it, come before.
        let mut head = self.free[node].load(Acquire);
        while head & ID != 0 {
            // SAFETY: ids in a list were given out before they were put there with Release.
            let first = unsafe { self.monitor(head) };
            // Relaxed: if the list has changed meanwhile, the exchange fails.
            let below = first.link.load(Relaxed);
            // Relaxed: the load of `head` acquired, and an exchange continues the Release of the
            // push that it follows. Acquire on failure, like that load.
            match self.free[node].compare_exchange(head, Self::moved(head) | below, Relaxed, Acquire) {
                Ok(_) => return Some(NonNull::from(first)),
                Err(now) => head = now,
            }
        }
        None
    }

    /// Puts ids that are linked from `first` to `last` into their node's list.
    fn push(&self, first: &Monitor<M>, last: &Monitor<M>) {
        let list = &self.free[first.node];
        // Relaxed: the exchange below compares it.
        let mut head = list.load(Relaxed);
        loop {
            last.link.store(head & ID, Relaxed);
            // Release: the monitors are initialised, and what was done with their ids comes before
            // their next use. Relaxed on failure, like the first load.
            match list.compare_exchange(head, Self::moved(head) | first.id, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn moved(head: u64) -> u64 {
        (head | ID).wrapping_add(1)
    }

    /// Creates a block of monitors. Returns the first usable one and puts the others into the
    /// node's list.
    fn make(&self, node: usize, memory: fn(Layout) -> *mut u8) -> Result<NonNull<Monitor<M>>, Lack> {
        // Relaxed for both: the number orders nothing.
        let mut number = self.blocks.load(Relaxed);
        if number as usize == BLOCKS {
            return Err(Lack::Ids);
        }
        let page = Layout::new::<[Monitor<M>; BLOCK]>().align_to(BLOCK * 128).expect("a power of two").pad_to_align();
        let block = NonNull::new(memory(page).cast::<Monitor<M>>()).ok_or(Lack::Memory)?;
        while let Err(now) = self.blocks.compare_exchange(number, number + 1, Relaxed, Relaxed) {
            number = now;
            if number as usize == BLOCKS {
                return Err(Lack::Ids);
            }
        }
        let generation = self.first.load(Relaxed);
        // SAFETY: the page belongs to this thread, and is large enough.
        let at = |i: usize| unsafe { block.add(i) };
        for i in 0..BLOCK {
            let id = number as usize * BLOCK + i;
            let new = Monitor {
                shown: M::Atomic::new(generation << 1),
                front: M::Atomic::new(0),
                link: M::Atomic::new(if i + 1 == BLOCK { 0 } else { id as u64 + 1 }),
                table: self,
                id: id as u64,
                node,
                below: Cell::new(0),
            };
            // SAFETY: the address is inside the page.
            unsafe { at(i).write(new) };
        }
        // SAFETY: only this thread has the number, and no thread knows an id of the block yet.
        unsafe { *self.entries[number as usize].get() = block.cast().as_ptr() };
        let mine = usize::from(number == 0);
        // SAFETY: both were written above.
        let (first, last) = unsafe { (at(mine + 1).as_ref(), at(BLOCK - 1).as_ref()) };
        self.push(first, last);
        Ok(at(mine))
    }

    /// Returns an id for the calling thread: from its node's list, else a new one, else from any
    /// list.
    fn obtain(&self, memory: fn(Layout) -> *mut u8) -> Result<NonNull<Monitor<M>>, Lack> {
        let node = M::node() as usize % NODES;
        if let Some(monitor) = self.pop(node) {
            return Ok(monitor);
        }
        match self.make(node, memory) {
            Err(Lack::Ids) => (0..NODES).find_map(|node| self.pop(node)).ok_or(Lack::Ids),
            made => made,
        }
    }
}

/// Takes an id of the calling thread that no acquisition uses, or a new one.
///
/// # Panics
/// Panics if all ids are in use.
#[inline]
pub(crate) fn take<M: Machine>() -> NonNull<Monitor<M>> {
    let local = M::local();
    match NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(local.get(Use::Monitors))) {
        Some(monitor) => {
            // SAFETY: a monitor in the list belongs to this thread, and is never freed.
            local.set(Use::Monitors, unsafe { monitor.as_ref() }.below.get());
            monitor
        }
        None => fetch::<M>(|layout| M::keep(layout).as_ptr()).expect("`keep` returns memory"),
    }
}

/// Returns an id to the calling thread's list after its acquisition has ended.
#[inline]
pub(crate) fn give<M: Machine>(monitor: NonNull<Monitor<M>>) {
    let local = M::local();
    // SAFETY: the monitor is never freed, and belongs to this thread.
    unsafe { monitor.as_ref() }.below.set(local.get(Use::Monitors));
    local.set(Use::Monitors, monitor.as_ptr().expose_provenance());
}

/// Takes the id that the calling thread keeps for a wait with a deadline, or one from the table.
///
/// # Panics
/// Panics if all ids are in use.
pub(crate) fn take_spare<M: Machine>() -> NonNull<Monitor<M>> {
    // Takes it in one step, so that a signal handler either finds the id or does not.
    match NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(M::local().swap(Use::SpareMonitor, 0))) {
        Some(monitor) => monitor,
        None => fetch_spare::<M>(|layout| M::keep(layout).as_ptr()).expect("`keep` returns memory"),
    }
}

/// Keeps an id for the calling thread's next wait with a deadline. If the thread already keeps one,
/// that goes to the table.
pub(crate) fn give_spare<M: Machine>(monitor: NonNull<Monitor<M>>) {
    let local = M::local();
    local.at_end(Use::SpareMonitor, end_spare::<M>);
    end_spare::<M>(local.swap(Use::SpareMonitor, monitor.as_ptr().expose_provenance()));
}

/// Makes sure that [`take_spare`] finds an id. Returns false if there is no memory.
pub(crate) fn provide_spare<M: Machine>(memory: fn(Layout) -> *mut u8) -> bool {
    M::local().get(Use::SpareMonitor) != 0 || fetch_spare::<M>(memory).map(give_spare::<M>).is_some()
}

/// Makes sure that the calling thread has an id at hand. Returns false if there is no memory.
#[inline]
pub(crate) fn provide<M: Machine>(memory: fn(Layout) -> *mut u8) -> bool {
    M::local().get(Use::Monitors) != 0 || fetch::<M>(memory).map(give::<M>).is_some()
}

/// Makes monitors that are created from now on begin just before their generations wrap.
pub(crate) fn age<M: Machine>() {
    if let Ok(table) = Table::<M>::here(|layout| M::keep(layout).as_ptr()) {
        table.first.store(GENERATION - 1, Relaxed);
    }
}

#[cold]
fn fetch<M: Machine>(memory: fn(Layout) -> *mut u8) -> Option<NonNull<Monitor<M>>> {
    let monitor = fetch_spare::<M>(memory)?;
    M::local().at_end(Use::Monitors, end::<M>);
    Some(monitor)
}

#[cold]
fn fetch_spare<M: Machine>(memory: fn(Layout) -> *mut u8) -> Option<NonNull<Monitor<M>>> {
    match Table::<M>::here(memory).and_then(|table| table.obtain(memory)) {
        Ok(monitor) => Some(monitor),
        Err(Lack::Memory) => None,
        Err(Lack::Ids) => panic!("lock `1spinner`: an id beyond the {} of its table was asked for", IDS - 1),
    }
}

/// Returns the ids of a thread that ends to the table.
fn end<M: Machine>(first: usize) {
    let mut next = first;
    while let Some(monitor) = NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(next)) {
        // SAFETY: the list's monitors belong to the ending thread; neither they nor their table are
        // ever freed.
        unsafe {
            let monitor = monitor.as_ref();
            next = monitor.below.get();
            (*monitor.table).push(monitor, monitor);
        }
    }
}

/// Returns the id that a thread keeps for a wait with a deadline, if there is one, to the table.
fn end_spare<M: Machine>(monitor: usize) {
    if let Some(monitor) = NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(monitor)) {
        // SAFETY: neither monitors nor their table are ever freed, and no other thread has the id.
        unsafe {
            let monitor = monitor.as_ref();
            (*monitor.table).push(monitor, monitor);
        }
    }
}
