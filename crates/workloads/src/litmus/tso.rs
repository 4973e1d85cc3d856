//! The x86-TSO abstract machine (Sewell, Sarkar, Owens, Nardelli, Myreen, CACM 53:7, 2010), enumerated: each thread has
//! a FIFO store buffer in front of one memory, reads its own newest buffered store first, and fences and locked
//! instructions wait until its buffer is empty.
//!
//! Only what others can notice branches: reads of memory, locked instructions, and the moment when a store leaves its
//! buffer. Everything else happens at once, as doing it earlier or later makes no difference to anybody.

use super::cpu::{Access, Cpu};
use super::{State, Test};
use std::collections::{BTreeSet, VecDeque};

/// The abstract machine between two steps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Configuration {
    cpus: Vec<Cpu>,
    buffers: Vec<VecDeque<(usize, u64)>>,
    memory: Vec<u64>,
}

/// Every final state that x86-TSO allows; `None` if there are more than `most` configurations to look at.
pub fn allowed(test: &Test, most: usize) -> Option<BTreeSet<State>> {
    let start = Configuration {
        cpus: test.threads.iter().map(Cpu::new).collect(),
        buffers: vec![VecDeque::new(); test.threads.len()],
        memory: test.locations.iter().map(|location| location.initial).collect(),
    };
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(mut configuration) = open.pop() {
        let waiting = configuration.settle(test);
        if !seen.insert(configuration.clone()) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        let before = open.len();
        for (id, access) in waiting.into_iter().enumerate() {
            if !configuration.buffers[id].is_empty() {
                let mut next = configuration.clone();
                if let Some((at, value)) = next.buffers[id].pop_front() {
                    next.memory[at] = value;
                }
                open.push(next);
            }
            if let Some(access) = access.filter(|access| configuration.ready(id, *access)) {
                let mut next = configuration.clone();
                next.perform(test, id, access);
                open.push(next);
            }
        }
        if open.len() == before {
            let registers = |thread: usize, register: usize| configuration.cpus[thread].registers[register];
            let state = test.state(registers, |at| configuration.memory[at]);
            if test.counts(&state) {
                found.insert(state);
            }
        }
    }
    Some(found)
}

impl Configuration {
    /// Has every thread do what no other thread can notice; the access that each is left with.
    fn settle(&mut self, test: &Test) -> Vec<Option<Access>> {
        (0..self.cpus.len())
            .map(|id| {
                loop {
                    let access = self.cpus[id].next(&test.threads[id].code)?;
                    let private = match access {
                        Access::Store(..) => true,
                        Access::Fence => self.buffers[id].is_empty(),
                        // A load of what the buffer holds, too: the store may leave first, and another one follow it.
                        Access::Load(_) | Access::Locked(..) => false,
                    };
                    if !private {
                        return Some(access);
                    }
                    self.perform(test, id, access);
                }
            })
            .collect()
    }

    fn ready(&self, id: usize, access: Access) -> bool {
        match access {
            Access::Load(_) | Access::Store(..) => true,
            Access::Fence | Access::Locked(..) => self.buffers[id].is_empty(),
        }
    }

    fn perform(&mut self, test: &Test, id: usize, access: Access) {
        let (cpu, code) = (&mut self.cpus[id], &test.threads[id].code);
        match access {
            Access::Load(at) => {
                let own = self.buffers[id].iter().rev().find(|(to, _)| *to == at);
                cpu.loaded(code, own.map_or(self.memory[at], |(_, value)| *value));
            }
            Access::Store(at, value) => {
                self.buffers[id].push_back((at, value));
                cpu.done();
            }
            Access::Fence => cpu.done(),
            Access::Locked(at, locked) => {
                let old = self.memory[at];
                self.memory[at] = locked.result(old);
                cpu.locked(code, locked, old);
            }
        }
    }
}
