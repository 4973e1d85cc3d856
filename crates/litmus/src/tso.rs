//! The x86-TSO abstract machine (Sewell, Sarkar, Owens, Nardelli, Myreen, CACM 53:7, 2010),
//! enumerated: each thread has a FIFO store buffer in front of one memory, reads its own newest
//! buffered store first, and fences and locked instructions wait until its buffer is empty. CAF's
//! requests (Wang and others, PACT 2016, section 3.1) are entries of that buffer, too:
//!
//! | rule | here | the paper |
//! | --- | --- | --- |
//! | (a) | requests of one thread for one queue and direction are served in their order; others may pass each other | "a dequeue request is not reordered with other dequeue requests and an enqueue request is not reordered with other enqueue requests if they access the same queue" |
//! | (b) | a request is served when all older stores of its thread are written | "an enqueue request is not reordered with older stores"; "queue requests are not reordered with earlier stores" |
//! | (c) | a push writes nothing, so it changes no outcome, whatever passes it | "a store can be reordered with a *prepush* if the prepushed cache block address is different" |
//! | loads | a load passes the requests before it; an instruction that uses a dequeue's register waits | "a load may be reordered with older stores"; "dequeue uses the writeback stage to write data to the destination registers" |
//! | fences | wait until the buffer is empty, requests included | "additional ordering between queue instructions and others can be enforced by using memory fence instructions" |
//! | full, empty | the request stays in the buffer | "if the queue is full (for an enqueue), the request tries again in the next cycle" |
//! | younger stores | not said: they wait for the answers of older requests, or pass them ([`YoungerStores`]) | "held in the store buffer until they get responses" |
//!
//! Only steps that other threads can notice branch: reads of memory, locked instructions, requests
//! that come to the device or are served, and the moment at which another entry leaves its buffer.
//! Every other step happens at once, because doing it earlier or later makes no difference to any
//! thread.

mod configuration;

use super::{FinalState, Test};
use configuration::Configuration;
use std::collections::BTreeSet;

/// How stores behave behind a request that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YoungerStores {
    /// The stores wait for the answer.
    Wait,
    /// The stores are written in their order, without waiting.
    Pass,
}

/// Which requests wait for each other at the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Requests of one thread for one queue and direction wait for each other: all that CAF's
    /// ordering asks for.
    Queue,
    /// Requests of one thread and direction wait for each other: a set of virtual buffers for each
    /// core (section 3.2).
    Context,
    /// Requests of one direction wait for each other, in the order in which they come: the basic
    /// design of section 3.2.
    Shared,
}

/// The choices that the abstract machine leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// How stores behave behind a request.
    pub younger_stores: YoungerStores,
    /// Which requests a request waits for at the device.
    pub buffers: Buffers,
    /// Largest number of requests that a thread has under way; the next request waits.
    pub outstanding: usize,
    /// Number of entries of a store buffer; `None`: without bound. With 0 a store is written when
    /// it is made.
    pub entries: Option<usize>,
}

/// A thread that nothing will ever let go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The number of the thread.
    pub thread: usize,
    /// The queue for which the thread's oldest request waits, if it waits for one.
    pub queue: Option<usize>,
}

/// What the model allows: the final states, and a thread that waits for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Every final state that satisfies the test's filter.
    pub states: BTreeSet<FinalState>,
    /// A thread that waits for ever, in some execution.
    pub endless: Option<Endless>,
}

/// Every final state that x86-TSO allows a test without queues; `None` if the enumeration would
/// look at more than `most` configurations.
pub fn allowed(test: &Test, most: usize) -> Option<BTreeSet<FinalState>> {
    Model::paper(YoungerStores::Wait).outcomes(test, most).map(|outcomes| outcomes.states)
}

impl Model {
    /// The model with as little order as CAF's paper asks for, and room without bound.
    pub fn paper(younger_stores: YoungerStores) -> Model {
        Model { younger_stores, buffers: Buffers::Queue, outstanding: usize::MAX, entries: None }
    }

    /// The outcomes of a test; `None` if the enumeration would look at more than `most`
    /// configurations.
    pub fn outcomes(&self, test: &Test, most: usize) -> Option<Outcomes> {
        let mut found = Outcomes::default();
        let mut seen = BTreeSet::new();
        let mut open = vec![Configuration::new(test)];
        while let Some(mut configuration) = open.pop() {
            let waiting = configuration.settle(self, test);
            if !seen.insert(configuration.clone()) {
                continue;
            }
            if seen.len() > most {
                return None;
            }
            let before = open.len();
            for (thread, access) in waiting.iter().enumerate() {
                open.extend(configuration.leave(self, thread));
                if let Some(access) = access.filter(|access| configuration.is_ready(self, thread, access)) {
                    let mut next = configuration.clone();
                    next.perform(self, test, thread, access);
                    open.push(next);
                }
            }
            if open.len() > before {
                continue;
            }
            if let Some(thread) = (0..waiting.len()).find(|&id| waiting[id].is_some() || configuration.has_entries(id))
            {
                found.endless = Some(Endless { thread, queue: configuration.waits_for(thread) });
                continue;
            }
            let state = configuration.state(test);
            if test.counts(&state) {
                found.states.insert(state);
            }
        }
        Some(found)
    }
}
