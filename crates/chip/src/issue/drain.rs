//! Stores leave the buffer: the oldest asks for its line, is written when the line is owned, and the next one asks.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::base::token::{Asked, Token};
use crate::core::buffer::{Forward, Store};
use crate::core::pipeline::Stall;
use crate::engine::current::{guest, is_any, memory, operate, own, with};
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, Step};
use crate::issue::stall::stall;
use baton_chipfile::config::device::YoungerStores;
use baton_memory::{Access, Answer, Line, Memory, Request};
use baton_units::{CoreId, Cycles};

impl Engine {
    /// Whether the chip's cores have store buffers.
    #[inline(always)]
    pub(crate) fn buffers(&self) -> bool {
        self.chip.core.store_buffer != 0
    }

    /// Puts a store into the running thread's buffer, and may request its line.
    fn enter(&mut self, store: Store) {
        let id = self.running;
        let thread = &mut self.threads[id as usize];
        thread.stats.counts.operations += 1;
        thread.pipeline.buffer.push(store);
        match thread.pipeline.buffer.stores() - 1 {
            0 if self.is_blocked(id) => self.ask_early(id, store),
            0 => self.ask(id),
            place => self.ask_ahead(id, place),
        }
    }

    /// Whether the thread's oldest store must wait for the answer to an older request
    /// (`device.younger_stores`).
    #[inline]
    pub(crate) fn is_blocked(&self, id: ThreadId) -> bool {
        self.threads[id as usize].pipeline.buffer.begins_with_request()
            && self.devices.as_ref().is_some_and(|devices| devices.config.younger_stores == YoungerStores::Wait)
    }

    /// Requests the line of the thread's oldest store.
    pub(super) fn ask(&mut self, id: ThreadId) {
        let thread = &self.threads[id as usize];
        let Some(&Store { core, line, access, .. }) = thread.pipeline.buffer.head() else { return };
        let request =
            Request { token: Token::new(id, Asked::Head), core, line, access, mark: thread.mechanism.standing };
        if let Answer::Served(served) = self.memory.request(request, Cycles(self.now)) {
            if served.invalidates && self.guest.is_watched(line) {
                self.invalidated(line);
            }
            self.queue.put(Event::store(id), served.at.0, Rank::Next);
        }
    }

    /// Requests the line of a store in advance, while older stores are still to be written, so that
    /// the core owns the line when their turn is over. Stores are still written in order (x86-TSO).
    /// If the core loses the line before the store is written, the store requests the line again.
    fn ask_ahead(&mut self, id: ThreadId, place: usize) {
        let thread = &self.threads[id as usize];
        if place >= self.cores.windows[thread.cpu as usize].stores() {
            return;
        }
        let Some(&store) = thread.pipeline.buffer.behind(place) else { return };
        self.ask_early(id, store);
    }

    fn ask_early(&mut self, id: ThreadId, Store { core, line, access, .. }: Store) {
        let thread = &self.threads[id as usize];
        if access != Access::Store || self.cores.windows[thread.cpu as usize].stores() == 1 {
            return;
        }
        let mark = thread.mechanism.standing;
        let request =
            Request { token: Token::new(id, Asked::Hint), core, line, access: Access::PrefetchExclusive, mark };
        let answer = self.memory.request(request, Cycles(self.now));
        debug_assert!(matches!(answer, Answer::Served(_)), "a hint is never waited for");
    }

    /// The core owns the line of the thread's oldest store, which is now written.
    pub(crate) fn drained(&mut self, id: ThreadId) -> Step {
        let asks = self.threads[id as usize].pipeline.buffer.requests() != 0;
        if asks {
            self.charge_before_leaving(id);
        }
        let Some(store) = self.threads[id as usize].pipeline.buffer.pop() else {
            unreachable!("a store left an empty buffer")
        };
        if let Some(write) = store.write {
            // SAFETY: the cell was alive when the guest stored to it. If its memory was freed
            // since, `forget` has removed `write`. No guest runs now.
            unsafe { write(self.guest.arena.at(store.offset).as_ptr(), store.value) };
            self.wrote(store.offset, id);
            if self.guest.is_watched(store.line) {
                // A thread that came to this core meanwhile may spin on the line. The core keeps
                // the line, so no invalidation makes the thread read the new value: it must be made
                // to read here.
                self.invalidated(store.line);
            }
        }
        let by_store = self.chip.core.contexts != 1 || self.monitors_outlive_lines();
        if store.write.is_none() && by_store && self.guest.is_watched(store.line) {
            self.invalidated(store.line);
        }
        if asks {
            self.send_requests(id);
        }
        if !(asks && self.is_blocked(id)) {
            self.ask(id);
        }
        let last = self.cores.windows[self.threads[id as usize].cpu as usize].stores() - 1;
        if last != 0 {
            // Requests the line of the store that has just come within the window's store queue.
            self.ask_ahead(id, last);
        }
        self.look_at_stall(id);
        Step::Handled
    }

    /// Guest memory is freed: stores to it that have not been written yet, of any thread, are not
    /// written.
    pub(crate) fn forget_stores(&mut self, offset: usize, bytes: usize) {
        for thread in &mut self.threads {
            if thread.pipeline.buffer.len() != 0 {
                thread.pipeline.buffer.forget(offset, bytes);
            }
        }
    }
}

#[inline(always)]
pub(super) fn buffered() -> usize {
    guest(|thread| thread.pipeline.buffer.len()).unwrap_or(0)
}

/// Waits until the running thread's buffer is empty.
#[inline]
pub(crate) fn drain() {
    if buffered() != 0 {
        stall(Stall::Entries(0));
    }
}

/// If a store to the line is in the running thread's buffer, waits until the buffer has no stores.
#[inline]
pub(crate) fn drain_line(line: Line) {
    if buffered() != 0 && own(|thread| thread.pipeline.buffer.has_line(line)) {
        stall(Stall::Stores(0));
    }
}

/// The value that the running thread's buffer has for a load, if any. If its newest store covers
/// only some of the loaded bytes, waits until the buffer has no stores and returns `None`.
#[inline]
pub(crate) fn forward(offset: usize, bytes: usize) -> Option<u64> {
    if buffered() == 0 {
        return None;
    }
    match own(|thread| thread.pipeline.buffer.forward(offset, bytes)) {
        Forward::Nothing => None,
        Forward::Value(value) => Some(value),
        Forward::Blocked => {
            stall(Stall::Stores(0));
            None
        }
    }
}

/// The number of entries of the running thread's buffer; 0 on a chip without store buffers.
pub(super) fn most_entries() -> usize {
    with(|engine| engine.window().store_buffer as usize)
}

/// Waits for a free entry of the running thread's buffer, if the chip has store buffers.
#[inline]
pub(crate) fn room() {
    let most = most_entries();
    if most != 0 && buffered() >= most {
        stall(Stall::Entries(most - 1));
    }
}

/// Before a store on a chip without store buffers: waits for the answers to older requests
/// (`device.younger_stores`).
#[inline]
pub(crate) fn before_direct_store() {
    if buffered() != 0 && with(|engine| engine.is_blocked(engine.running)) {
        stall(Stall::Entries(0));
    }
}

/// The running thread puts a store into its buffer. It first waits for a free entry; the store
/// takes a cycle. `store` is called when the store enters the buffer.
#[inline]
pub(crate) fn store(store: impl FnOnce(CoreId) -> Store) {
    room();
    operate(Reason::Memory, |engine| engine.after(1));
    with(|engine| {
        let core = engine.core_of(engine.running);
        engine.enter(store(core));
    });
}

/// The running thread drops the cell at `address`: the thread's own stores to it are not written.
#[inline]
pub(crate) fn forget_own(address: usize, bytes: usize) {
    if !is_any() || buffered() == 0 {
        return;
    }
    let base = memory(|memory| memory.base);
    own(|thread| thread.pipeline.buffer.forget(address.wrapping_sub(base), bytes));
}
