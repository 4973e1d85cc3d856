//! The queues of a recording, and the threads at their ends.

use super::QueueKind;
use baton_trace::{Address, ProcessIndex, Stream, ThreadIndex, Ticks, Trace, Waitable, What};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A queue of the recorded program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueSpec {
    /// The queue's address in the recorded program.
    pub address: u64,
    /// How many items fit; `None` if the queue has no bound, or if the bound is not known.
    pub capacity: Option<u32>,
    /// Whether the recording shows how the queue was made, and so how many items were in it.
    pub complete: bool,
    /// Whether other queues serve this one in the replay.
    #[serde(skip)]
    pub served: bool,
    /// The threads that put items in, in the order of their puts.
    #[serde(skip)]
    pub puts: Vec<u32>,
    /// The threads that took items out, in the order of their takes.
    #[serde(skip)]
    pub takes: Vec<u32>,
    /// The number of items that went in.
    pub items: u64,
    /// The number of the queue's process.
    #[serde(skip)]
    pub process: u64,
    /// The time of the queue's first event, in ticks.
    #[serde(skip)]
    pub born: u64,
}

impl QueueSpec {
    /// Returns the threads that put items in, or those that take them out.
    pub(crate) fn threads(&self, puts: bool) -> BTreeSet<u32> {
        let list = if puts { &self.puts } else { &self.takes };
        list.iter().copied().collect()
    }

    /// Returns the kind that the recorded queue is taken for, which the recording does not tell: the
    /// one that the library takes for these threads and this bound.
    pub fn assumed(&self) -> QueueKind {
        match (self.capacity, self.threads(true).len().max(self.threads(false).len())) {
            (None, _) => QueueKind::Segments,
            (Some(_), ..=1) => QueueKind::Spsc,
            (Some(_), _) => QueueKind::Mpmc,
        }
    }
}

/// The queues of a recording. Several may have lived at one address, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    pub(crate) all: Vec<QueueSpec>,
    /// The numbers of the queues by address and birth.
    at: BTreeMap<(ProcessIndex, Address, u64), u32>,
}

impl Queues {
    /// The queues of a recording.
    pub(crate) fn of(trace: &Trace) -> Queues {
        let mut queues = Queues::default();
        let mut alive: BTreeMap<(ProcessIndex, Address), u32> = BTreeMap::new();
        for event in trace.interpreted_events() {
            let process = trace.process_of(event.thread);
            match event.what {
                What::Init { sort: Waitable::Queue, address, .. } => {
                    alive.remove(&(process, address));
                }
                what => {
                    // Streams (pipes, sockets) are no queues of the library.
                    if let Some(address) = what.queue().filter(|address| Stream::of(*address).is_none()) {
                        let number = *alive
                            .entry((process, address))
                            .or_insert_with(|| queues.begin(process, address, event.time));
                        queues.all[number as usize].step(event.thread, what);
                    }
                }
            }
        }
        queues
    }

    fn begin(&mut self, process: ProcessIndex, address: Address, born: Ticks) -> u32 {
        let number = self.all.len() as u32;
        self.all.push(QueueSpec { address, process: u64::from(process.0), born: born.0, ..QueueSpec::default() });
        self.at.insert((process, address, born.0), number);
        number
    }

    /// Returns the number of the queue at an address at a time.
    pub(crate) fn number(&self, process: ProcessIndex, address: Address, time: u64) -> Option<u32> {
        let (&(of, at, _), &number) = self.at.range(..=(process, address, time)).next_back()?;
        ((of, at) == (process, address)).then_some(number)
    }
}

impl QueueSpec {
    fn step(&mut self, thread: ThreadIndex, what: What) {
        match what {
            What::QueueCapacity { capacity, .. } => {
                self.complete = true;
                self.capacity = (capacity != 0 && capacity < What::MOST_ITEMS).then_some(capacity);
            }
            What::Put { items, .. } => {
                self.items += u64::from(items);
                self.puts.push(thread.0);
            }
            What::Take { .. } => self.takes.push(thread.0),
            _ => {}
        }
    }
}
