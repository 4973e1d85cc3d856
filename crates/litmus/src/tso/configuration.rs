//! The abstract machine between two steps.

use super::{Buffers, Model, YoungerStores};
use crate::cpu::{Access, Cpu};
use crate::{FinalState, Test};
use std::collections::VecDeque;

/// An entry of a store buffer: a store, a push, or a request to a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Store(usize, u64),
    /// A push takes an entry and writes nothing: pushes are entries only in models that bound the
    /// number of entries.
    Push,
    Request {
        queue: usize,
        asked: Asked,
        /// Whether the request has come to the device, which only [`Buffers::Shared`] asks.
        came: bool,
    },
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// Puts the item into the queue.
    Put(u64),
    /// Takes an item for the register.
    Take(usize),
}

impl Asked {
    /// The direction of a request, as an index.
    fn direction(self) -> usize {
        usize::from(matches!(self, Asked::Take(_)))
    }
}

/// The state of the abstract machine between two steps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Configuration {
    cpus: Vec<Cpu>,
    buffers: Vec<VecDeque<Entry>>,
    memory: Vec<u64>,
    queues: Vec<VecDeque<u64>>,
    /// Number of items for which each queue has room.
    room: Vec<usize>,
    /// For [`Buffers::Shared`], by direction: the threads whose requests stand at the device, in
    /// the order in which they came.
    lines: [VecDeque<usize>; 2],
}

impl Configuration {
    /// The configuration before the first instruction of a test.
    pub(super) fn new(test: &Test) -> Configuration {
        Configuration {
            cpus: test.threads.iter().map(Cpu::new).collect(),
            buffers: vec![VecDeque::new(); test.threads.len()],
            memory: test.locations.iter().map(|location| location.initial).collect(),
            queues: test.queues.iter().map(|queue| queue.initial.iter().copied().collect()).collect(),
            room: test.queues.iter().map(|queue| queue.entries as usize).collect(),
            lines: Default::default(),
        }
    }

    /// Has every thread do all that no other thread can notice. Returns the access at which each
    /// thread stops.
    pub(super) fn settle(&mut self, model: &Model, test: &Test) -> Vec<Option<Access>> {
        (0..self.cpus.len())
            .map(|id| {
                loop {
                    let access = self.cpus[id].next(&test.threads[id].code)?;
                    let private = match access {
                        Access::Store(..) => model.entries != Some(0),
                        Access::Fence | Access::Enqueue(..) | Access::Dequeue(_) | Access::Prepush(_) => true,
                        // A load stops the thread even if its value is in the thread's buffer: the
                        // buffered store may leave first, and another thread may then write the
                        // location.
                        Access::Load(_) | Access::Locked(..) | Access::Await(_) => false,
                    };
                    if !private || !self.is_ready(model, id, &access) {
                        return Some(access);
                    }
                    self.perform(model, test, id, access);
                }
            })
            .collect()
    }

    /// Whether the thread can do the access now.
    pub(super) fn is_ready(&self, model: &Model, id: usize, access: &Access) -> bool {
        let buffer = &self.buffers[id];
        let bound = model.entries.filter(|&entries| entries != 0);
        let room = bound.is_none_or(|entries| buffer.len() < entries);
        let requests = || buffer.iter().filter(|entry| matches!(entry, Entry::Request { .. })).count();
        match access {
            Access::Load(_) => true,
            Access::Store(..) if model.entries == Some(0) => {
                model.younger_stores == YoungerStores::Pass || requests() == 0
            }
            Access::Store(..) | Access::Prepush(_) => room,
            Access::Enqueue(..) | Access::Dequeue(_) => room && requests() < model.outstanding,
            Access::Fence | Access::Locked(..) => buffer.is_empty(),
            // The wait ends when `serve` answers the request.
            Access::Await(_) => false,
        }
    }

    /// Performs the access for the thread.
    pub(super) fn perform(&mut self, model: &Model, test: &Test, id: usize, access: Access) {
        let (cpu, code, buffer) = (&mut self.cpus[id], &test.threads[id].code, &mut self.buffers[id]);
        match access {
            Access::Load(at) => {
                let own = buffer.iter().rev().find_map(|entry| match *entry {
                    Entry::Store(to, value) if to == at => Some(value),
                    _ => None,
                });
                cpu.loaded(code, own.unwrap_or(self.memory[at]));
            }
            Access::Store(at, value) => {
                if model.entries == Some(0) {
                    self.memory[at] = value;
                } else {
                    buffer.push_back(Entry::Store(at, value));
                }
                cpu.done();
            }
            Access::Locked(at, locked) => {
                let old = self.memory[at];
                self.memory[at] = locked.result(old);
                cpu.locked(code, locked, old);
            }
            Access::Fence => cpu.done(),
            Access::Prepush(_) => {
                if model.entries.is_some_and(|entries| entries != 0) {
                    buffer.push_back(Entry::Push);
                }
                cpu.done();
            }
            // Priorities change no order that the paper asks for, and give none.
            Access::Enqueue(aim, item) => {
                buffer.push_back(Entry::Request { queue: aim.queue, asked: Asked::Put(item), came: false });
                cpu.done();
            }
            Access::Dequeue(aim) => {
                let asked = Asked::Take(cpu.asked(code));
                buffer.push_back(Entry::Request { queue: aim.queue, asked, came: false });
            }
            Access::Await(_) => unreachable!("a wait for an item is never ready"),
        }
    }

    /// The configurations that follow if one of the thread's entries leaves its buffer, or comes to
    /// the device.
    pub(super) fn leave(&self, model: &Model, id: usize) -> Vec<Configuration> {
        let mut next = Vec::new();
        let buffer = &self.buffers[id];
        let is_request = |entry: &Entry| matches!(entry, Entry::Request { .. });
        if let Some(oldest) = buffer.iter().position(|entry| !is_request(entry))
            && (oldest == 0 || model.younger_stores == YoungerStores::Pass)
        {
            next.push(self.without(id, oldest));
        }
        let stores = |before: usize| buffer.range(..before).any(|entry| matches!(entry, Entry::Store(..)));
        let mut may_come = model.buffers == Buffers::Shared;
        for (at, entry) in buffer.iter().enumerate() {
            let Entry::Request { asked, came, .. } = *entry else { continue };
            if stores(at) {
                break;
            }
            if !came && std::mem::take(&mut may_come) {
                let mut then = self.clone();
                if let Entry::Request { came, .. } = &mut then.buffers[id][at] {
                    *came = true;
                }
                then.lines[asked.direction()].push_back(id);
                next.push(then);
            }
            if self.has_turn(model, id, at) {
                next.extend(self.serve(model, id, at));
            }
        }
        next
    }

    /// Whether no other request stands before this request at the device.
    fn has_turn(&self, model: &Model, id: usize, at: usize) -> bool {
        let Entry::Request { queue, asked, came } = self.buffers[id][at] else { return false };
        let before = |other: &Entry| match *other {
            Entry::Request { queue: of, asked: its, .. } => {
                its.direction() == asked.direction() && (of == queue || model.buffers != Buffers::Queue)
            }
            Entry::Store(..) | Entry::Push => false,
        };
        let first = !self.buffers[id].range(..at).any(before);
        let shared = model.buffers == Buffers::Shared;
        first && (!shared || came && self.lines[asked.direction()].front() == Some(&id))
    }

    /// Returns the configuration after the device has served the request, if the queue has room for
    /// the item, or an item to take.
    fn serve(&self, model: &Model, id: usize, at: usize) -> Option<Configuration> {
        let Entry::Request { queue, asked, .. } = self.buffers[id][at] else { return None };
        let full = self.queues[queue].len() == self.room[queue];
        if matches!(asked, Asked::Put(_)) && full {
            return None;
        }
        let mut then = self.without(id, at);
        match asked {
            Asked::Put(item) => then.queues[queue].push_back(item),
            Asked::Take(register) => {
                let item = then.queues[queue].pop_front()?;
                then.cpus[id].answered(register, item);
            }
        }
        if model.buffers == Buffers::Shared {
            then.lines[asked.direction()].pop_front();
        }
        Some(then)
    }

    /// The configuration after the entry has left; a store is written to memory.
    fn without(&self, id: usize, at: usize) -> Configuration {
        let mut then = self.clone();
        if let Some(Entry::Store(to, value)) = then.buffers[id].remove(at) {
            then.memory[to] = value;
        }
        then
    }

    /// Whether the thread's buffer holds an entry.
    pub(super) fn has_entries(&self, id: usize) -> bool {
        !self.buffers[id].is_empty()
    }

    /// The queue of the thread's oldest request.
    pub(super) fn waits_for(&self, id: usize) -> Option<usize> {
        self.buffers[id].iter().find_map(|entry| match *entry {
            Entry::Request { queue, .. } => Some(queue),
            Entry::Store(..) | Entry::Push => None,
        })
    }

    /// The final state of the configuration.
    pub(super) fn state(&self, test: &Test) -> FinalState {
        test.state(|thread, register| self.cpus[thread].registers[register], |at| self.memory[at])
    }
}
