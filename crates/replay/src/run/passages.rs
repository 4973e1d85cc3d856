//! The queues of a run, where other queues stand in the place of recorded ones. Each thread puts and
//! takes as many items as in the recording; which thread gets which item is the queue's decision.

use super::objects::WAIT;
use crate::change::Changes;
use crate::program::Program;
use crate::queues::recorded::QueueSpec;
use crate::queues::serve::{self, Serves};
use crate::queues::{QueueKind, Service};
use crate::ran::RunError;
use baton_chip::Simulated;
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Machine, Owned, Wait};

type Word = <Simulated as Machine>::Atomic<u32>;

/// One side of a queue whose operations happen in the recorded order.
struct Turns {
    /// The number of operations that have begun.
    begun: Owned<Simulated, Word>,
    /// The threads in the order of their operations.
    order: Vec<u32>,
}

impl Turns {
    /// The turns of a side; `None` if one thread uses the side, whose order is its own.
    fn of(order: &[u32]) -> Option<Turns> {
        let several = order.windows(2).any(|pair| pair[0] != pair[1]);
        several.then(|| Turns { begun: Owned::new(Atomic::new(0)), order: order.to_vec() })
    }

    /// Waits until all operations that came before the thread's next one in the recording have begun.
    fn begin(&self, thread: u32) {
        let mut begun = self.begun.load(Acquire);
        while self.order.get(begun as usize).is_some_and(|next| *next != thread) {
            // The wait has no deadline, so it ends only when another operation has begun.
            let _ = Simulated::wait_while(&self.begun, begun, WAIT, None);
            begun = self.begun.load(Acquire);
        }
    }

    /// Lets the next operation begin.
    fn end(&self) {
        self.begun.store(self.begun.load(Acquire) + 1, Release);
        Simulated::wake::<u32>(&*self.begun, u32::MAX, WAIT);
    }
}

struct Passage {
    queue: Box<dyn Serves>,
    wait: Wait,
    puts: Option<Turns>,
    takes: Option<Turns>,
}

/// The queues of a run by their numbers in the program; `None` for queues that are replayed as
/// messages.
pub(crate) struct Passages(Vec<Option<Passage>>);

impl Passages {
    /// Makes the queues that `changes` puts in the place of recorded ones.
    ///
    /// # Errors
    /// Fails if a kind cannot have the capacity, or if the device has no room.
    pub(crate) fn new(program: &Program, changes: &Changes) -> Result<Passages, RunError> {
        let one = |(number, spec): (u32, &QueueSpec)| {
            let Some(service) = changes.queues.get(&number) else { return Ok(None) };
            let Service { kind, wait, .. } = *service;
            let queue = serve::make(kind, service.bound(spec.capacity))
                .map_err(|why| RunError::Queue { kind: kind.name(), why })?;
            let turns = |order: &[u32]| if changes.in_order { Turns::of(order) } else { None };
            Ok(Some(Passage { queue, wait, puts: turns(&spec.puts), takes: turns(&spec.takes) }))
        };
        Ok(Passages((0..).zip(&program.queues).map(one).collect::<Result<_, RunError>>()?))
    }

    /// Puts items into a queue.
    pub(crate) fn put(&self, queue: u32, items: u32, thread: u32) {
        if let Some(passage) = &self.0[queue as usize] {
            // SAFETY: a kind for one producer stands only in the place of a queue into which one
            // thread put items in the recording (`Change::on`), and threads do what is recorded.
            in_turn(&passage.puts, thread, || unsafe { passage.queue.put(items, passage.wait) });
        }
    }

    /// Takes items out of a queue.
    pub(crate) fn take(&self, queue: u32, items: u32, thread: u32) {
        if let Some(passage) = &self.0[queue as usize] {
            // SAFETY: as in `put`, for a kind for one consumer.
            in_turn(&passage.takes, thread, || unsafe { passage.queue.take(items, passage.wait) });
        }
    }
}

/// Calls `operation` in the thread's turn, if there are turns.
fn in_turn(turns: &Option<Turns>, thread: u32, operation: impl FnOnce()) {
    let Some(turns) = turns else { return operation() };
    turns.begin(thread);
    operation();
    turns.end();
}

/// The bytes of memory that the queues of a run take at most.
pub(crate) fn bytes(program: &Program, changes: &Changes) -> usize {
    let one = |(number, service): (&u32, &Service)| {
        let spec = &program.queues[*number as usize];
        let places = match (service.bound(spec.capacity), service.kind) {
            (_, QueueKind::Qmd) => 0,
            // Items that do not come before others have left take the same places again.
            (bound, QueueKind::Segments) => bound.map_or(spec.items, |bound| spec.items.min(u64::from(bound))) + 64,
            (bound, _) => u64::from(bound.unwrap_or(0)).next_power_of_two(),
        };
        places as usize * 32 + 4096
    };
    changes.queues.iter().map(one).sum()
}
