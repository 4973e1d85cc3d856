//! Monitors: the cells by which waiters of [`1spinner`](crate::lock::one_spinner) hear of those in front of them. A monitor has an *id* for
//! life. A thread keeps a few of them, each for one acquisition at a time; a ticket is an id and the *generation* of its acquisition.
//! A monitor shows the generation of its next acquisition, or of the one under way, and beside it whether that one has left without the lock.
//!
//! What always holds:
//!
//! 1. A monitor is never freed and never set back, whatever becomes of its thread: so an old ticket may name it.
//! 2. An id is with one thread, in that thread's list or in the hands of one acquisition of that thread, or in a list of the
//!    table. A thread that ends leaves its ids to the table. A signal handler that comes while its thread waits finds the thread's id
//!    gone from the list, and takes another. The ids of waits with a deadline are kept apart, in a list of one ([`take_spare`]): they may go to
//!    the thread behind, and what a handler finds in the other list it leaves there.
//! 3. Only the acquisition that has the id changes `shown`, and each one that was seen by others moves it to the next generation. So
//!    tickets of 48 bits of generation and 16 of id are different for 2^48 acquisitions of an id: a month of nothing but that, at
//!    10^8 a second.
//! 4. A thread that knows a ticket may look its monitor up: it was made before the ticket was put into the lock's tail with Release, and
//!    tickets come from there with Acquire. The table's entries are plain memory for that reason.
//! 5. A block of monitors is a page, made and first touched by the thread that asked for it, at whose node it lies where the machine
//!    places pages so; an id goes back to the list of its own node.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::local::Use;
use baton_machine::shared;
use baton_machine::{Atomic, Machine};
use core::alloc::Layout;
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;

const ID_BITS: u32 = 16;
const ID: u64 = (1 << ID_BITS) - 1;
/// Ids from 1 on; zero is no id.
const IDS: usize = 1 << ID_BITS;
const GENERATION: u64 = u64::MAX >> ID_BITS;
/// Beside a generation that a monitor shows: its acquisition has left.
const LEFT: u64 = 1;
/// Monitors of a block: a page of them.
const BLOCK: usize = 32;
const BLOCKS: usize = IDS / BLOCK;
/// Nodes whose ids are kept apart; the nodes of a larger machine share by remainder.
const NODES: usize = 8;

/// The name of an acquisition: its id, and the generation. Zero names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(pub(crate) u64);

impl Ticket {
    fn generation(self) -> u64 {
        self.0 >> ID_BITS
    }

    /// What its monitor shows until the acquisition has the lock or leaves.
    #[inline(always)]
    pub(crate) fn waiting(self) -> u64 {
        self.generation() << 1
    }

    /// What its monitor shows from when the acquisition has left until the thread behind has seen it.
    #[inline(always)]
    pub(crate) fn left(self) -> u64 {
        self.waiting() | LEFT
    }
}

/// A monitor, alone in its pair of lines.
#[repr(C, align(128))]
pub(crate) struct Monitor<M: Machine> {
    /// The generation of the id's next acquisition, or of the one under way, and in the lowest bit whether that one has left: what the
    /// waiter behind watches.
    pub(crate) shown: M::Atomic<u64>,
    /// If it has left: the ticket that was in front of it.
    front: M::Atomic<u64>,
    /// The id below in a list of the table.
    link: M::Atomic<u64>,
    table: *const Table<M>,
    id: u64,
    /// Which of the table's lists it comes from.
    node: usize,
    /// The monitor below in its thread's list; only that thread touches it.
    below: Cell<usize>,
}

impl<M: Machine> Monitor<M> {
    /// The ticket of the acquisition that has this id.
    #[inline(always)]
    pub(crate) fn ticket(&self) -> Ticket {
        // Relaxed: only the id's acquisitions write it, and an id goes from thread to thread with Release and Acquire. The bit beside
        // the generation is clear here, so one shift does.
        Ticket(self.shown.load(Relaxed) << (ID_BITS - 1) | self.id)
    }

    /// Ends the acquisition of `ticket`, this id's: a waiter that watches for it sees another generation.
    #[inline(always)]
    pub(crate) fn end(&self, ticket: Ticket) {
        // Relaxed: the waiter learns only that it is the next one. What it may read of the lock's data follows from the head.
        self.shown.store(((ticket.generation() + 1) & GENERATION) << 1, Relaxed);
    }

    /// Ends the acquisition of `ticket`, this id's, that leaves with a thread behind it: which has this id from now on, and `front` in front.
    pub(crate) fn leave(&self, ticket: Ticket, front: Ticket) {
        // Relaxed: the bit below is read first, with Acquire.
        self.front.store(front.0, Relaxed);
        // Release: the front stands there.
        self.shown.store(ticket.left(), Release);
    }

    /// Whether the acquisition of `ticket`, once this id's, has left without the lock.
    pub(crate) fn has_left(&self, ticket: Ticket) -> bool {
        // Acquire: the ticket that was in front of it.
        self.shown.load(Acquire) == ticket.left()
    }

    /// The ticket that was in front of one that has left: what counts only while the thread behind it has not taken the id.
    pub(crate) fn front(&self) -> Ticket {
        // Relaxed: the thread that asks has seen the bit with Acquire.
        Ticket(self.front.load(Relaxed))
    }

    /// The monitor of a ticket.
    ///
    /// # Safety
    /// The ticket came from a lock's tail, read with Acquire, and is not zero.
    #[inline]
    pub(crate) unsafe fn of(&self, ticket: Ticket) -> &Monitor<M> {
        // SAFETY: the table is never freed; by contract the ticket's monitor was made before this.
        unsafe { (*self.table).monitor(ticket.0 & ID) }
    }
}

/// The monitors of a machine: found by its shared word, made by the first thread that asks.
#[repr(C, align(128))]
struct Table<M: Machine> {
    /// By node: the first free id, below a number that moves with every change so that an old one is told apart.
    free: [M::Atomic<u64>; NODES],
    /// Blocks that have a number.
    blocks: M::Atomic<u32>,
    /// The first generation of monitors to be made: any will do.
    first: M::Atomic<u64>,
    /// Blocks by number. Plain memory: an entry is written by the thread that took the number, before any of its ids is known to another thread.
    entries: [UnsafeCell<*const [Monitor<M>; BLOCK]>; BLOCKS],
}

/// Why there is no id.
enum Lack {
    Memory,
    Ids,
}

impl<M: Machine> Table<M> {
    /// The machine's table. `memory` gives zeroed memory that stays, or null.
    fn here(memory: fn(Layout) -> *mut u8) -> Result<&'static Table<M>, Lack> {
        let word = M::shared().word(shared::Use::Monitors);
        // Acquire: the table is ready.
        let mut at = word.load(Acquire);
        if at == 0 {
            let layout = Layout::new::<Table<M>>();
            let new = NonNull::new(memory(layout).cast::<Table<M>>()).ok_or(Lack::Memory)?;
            // SAFETY: the memory is for a table and ours. Its entries are null, as zeroed memory is.
            unsafe {
                let table = new.as_ptr();
                (&raw mut (*table).free).write(core::array::from_fn(|_| M::Atomic::new(0)));
                (&raw mut (*table).blocks).write(M::Atomic::new(0));
                (&raw mut (*table).first).write(M::Atomic::new(0));
            }
            let new = new.as_ptr().expose_provenance();
            // Release: the table is ready. Acquire: or another thread's is. Ours is lost then, once a thread at most.
            at = word.compare_exchange(0, new, Release, Acquire).map_or_else(|theirs| theirs, |_| new);
        }
        // SAFETY: made above, by this thread or by another before its Release, and never freed.
        Ok(unsafe { &*core::ptr::with_exposed_provenance::<Table<M>>(at) })
    }

    /// # Safety
    /// The id was given out before this.
    #[inline(always)]
    unsafe fn monitor(&self, id: u64) -> &Monitor<M> {
        let id = (id & ID) as usize;
        // SAFETY: by contract the entry was written before, and is not written again.
        unsafe { &(*(*self.entries[id / BLOCK].get()))[id % BLOCK] }
    }

    /// Takes an id from a node's list.
    fn pop(&self, node: usize) -> Option<NonNull<Monitor<M>>> {
        // Acquire: what was done with the id, and its making, come before.
        let mut head = self.free[node].load(Acquire);
        while head & ID != 0 {
            // SAFETY: ids in a list were given out before they were put there with Release.
            let first = unsafe { self.monitor(head) };
            // Relaxed: if the list has changed meanwhile, the exchange fails.
            let below = first.link.load(Relaxed);
            // Relaxed: the look at `head` acquired, and an exchange goes on with the Release of the push that it follows.
            // Acquire on failure: as the first look.
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
        // Relaxed: only what is compared below.
        let mut head = list.load(Relaxed);
        loop {
            last.link.store(head & ID, Relaxed);
            // Release: the monitors are ready, and what was done with their ids comes before what is done next. Relaxed on failure: as
            // the first look.
            match list.compare_exchange(head, Self::moved(head) | first.id, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn moved(head: u64) -> u64 {
        (head | ID).wrapping_add(1)
    }

    /// Makes a block of monitors, keeps the first and leaves the others to the node's list.
    fn make(&self, node: usize, memory: fn(Layout) -> *mut u8) -> Result<NonNull<Monitor<M>>, Lack> {
        // Relaxed, both: the number orders nothing.
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
        // SAFETY: the page is ours, and large enough.
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
            // SAFETY: inside the page.
            unsafe { at(i).write(new) };
        }
        // SAFETY: the number is ours alone, and no thread knows an id of the block yet.
        unsafe { *self.entries[number as usize].get() = block.cast().as_ptr() };
        let mine = usize::from(number == 0);
        // SAFETY: written above.
        let (first, last) = unsafe { (at(mine + 1).as_ref(), at(BLOCK - 1).as_ref()) };
        self.push(first, last);
        Ok(at(mine))
    }

    /// An id for the calling thread: of its node if there is one, a new one, or any.
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

/// Takes an id of the calling thread that no acquisition of its has, or a new one.
///
/// # Panics
/// If all ids are in use.
#[inline]
pub(crate) fn take<M: Machine>() -> NonNull<Monitor<M>> {
    let local = M::local();
    match NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(local.get(Use::Monitors))) {
        Some(monitor) => {
            // SAFETY: a monitor in the list is this thread's, and never freed.
            local.set(Use::Monitors, unsafe { monitor.as_ref() }.below.get());
            monitor
        }
        None => fetch::<M>(|layout| M::keep(layout).as_ptr()).expect("`keep` returns memory"),
    }
}

/// Gives back an id whose acquisition has ended.
#[inline]
pub(crate) fn give<M: Machine>(monitor: NonNull<Monitor<M>>) {
    let local = M::local();
    // SAFETY: never freed, and of this thread.
    unsafe { monitor.as_ref() }.below.set(local.get(Use::Monitors));
    local.set(Use::Monitors, monitor.as_ptr().expose_provenance());
}

/// Takes the id that the calling thread keeps for a wait with a deadline, or one from the table.
///
/// # Panics
/// If all ids are in use.
pub(crate) fn take_spare<M: Machine>() -> NonNull<Monitor<M>> {
    // One step: a signal handler finds the id or does not.
    match NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(M::local().swap(Use::SpareMonitor, 0))) {
        Some(monitor) => monitor,
        None => fetch_spare::<M>(|layout| M::keep(layout).as_ptr()).expect("`keep` returns memory"),
    }
}

/// Keeps an id for the calling thread's next wait with a deadline; one that it has already goes to the table.
pub(crate) fn give_spare<M: Machine>(monitor: NonNull<Monitor<M>>) {
    let local = M::local();
    local.at_end(Use::SpareMonitor, end_spare::<M>);
    end_spare::<M>(local.swap(Use::SpareMonitor, monitor.as_ptr().expose_provenance()));
}

/// Sees to it that [`take_spare`] finds an id. False: there is no memory.
pub(crate) fn provide_spare<M: Machine>(memory: fn(Layout) -> *mut u8) -> bool {
    M::local().get(Use::SpareMonitor) != 0 || fetch_spare::<M>(memory).map(give_spare::<M>).is_some()
}

/// Sees to it that the calling thread has an id at hand. False: there is no memory.
#[inline]
pub(crate) fn provide<M: Machine>(memory: fn(Layout) -> *mut u8) -> bool {
    M::local().get(Use::Monitors) != 0 || fetch::<M>(memory).map(give::<M>).is_some()
}

/// Has monitors that are made from now on begin just before their generations wrap.
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

/// Leaves the ids of a thread that ends to the table.
fn end<M: Machine>(first: usize) {
    let mut next = first;
    while let Some(monitor) = NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(next)) {
        // SAFETY: the list's monitors are the ending thread's; neither they nor their table are ever freed.
        unsafe {
            let monitor = monitor.as_ref();
            next = monitor.below.get();
            (*monitor.table).push(monitor, monitor);
        }
    }
}

/// Leaves an id that a thread keeps for a wait with a deadline, if it is one, to the table.
fn end_spare<M: Machine>(monitor: usize) {
    if let Some(monitor) = NonNull::new(core::ptr::with_exposed_provenance_mut::<Monitor<M>>(monitor)) {
        // SAFETY: as in `end`; no other thread has the id.
        unsafe {
            let monitor = monitor.as_ref();
            (*monitor.table).push(monitor, monitor);
        }
    }
}
