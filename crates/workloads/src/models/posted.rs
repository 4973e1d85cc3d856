//! The queue device behind the instructions of today's processors, as Intel's DLB stands behind
//! them: a request is a quarter of a 64-byte store that no core waits for (MOVDIR64B), and the
//! device writes each answer into a line of the thread that asked, which looks at the line until
//! the answer is there. The queue is in the same device as the queue `qmd`, whose requests are
//! instructions of their own.
//!
//! A thread writes up to four requests into a line of its own and stores that line to the device. A
//! thread has at most as many requests under way as it has cells for their answers, 16. It does not
//! wait for an enqueue: the answer frees its cell, and only a later enqueue that needs the cell
//! waits for the answer. A thread waits for a dequeue by the wait policy, on the word that the
//! answer changes; no word is set back, because each answer has the number of its turn.
//!
//! In `posted` a consumer asks for the items of one call. In `posted-ahead` a consumer asks for the
//! items of its later calls too, as far as it has cells, so that items come to its lines before it
//! looks, as in a consumer queue of DLB. The consumer must know how many items it will take, which
//! [`Channel::share`] notes: no other consumer gets the items that it has asked for.

use super::model::{Channel, Model, ModelInfo};
use baton_machine::Ordering::{Acquire, Relaxed};
use baton_machine::queues::{
    AnswerCell, Operand, Post, QueueId, QueueRefusal, QueueRequest, answer_word, posted_answer,
};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Wait, device::Payload};
use baton_sync::queue::qmd::Qmd;
use baton_sync::queue::{QueueError, RawQueue, Side};
use core::array;
use core::cell::Cell;
use core::sync::atomic::AtomicUsize;

/// Number of requests that a thread may have under way.
const CELLS: usize = 16;
/// Number of requests in a store of 64 bytes.
const A_STORE: usize = 4;

/// A thread's lines: one in which it puts its requests together, and those in which the answers
/// come.
#[repr(C, align(128))]
struct Lines<M: Machine> {
    requests: [M::Atomic<u64>; 8],
    answers: [AnswerCell<M::Atomic<u64>>; CELLS],
}

/// What a thread keeps of its requests, outside of the machine's memory.
struct OwnRequests {
    /// Number of requests that the thread has made.
    made: Cell<usize>,
    /// Number of items that the thread asks for in all, and of those that it has taken.
    share: AtomicUsize,
    taken: Cell<usize>,
    /// The turn of each cell, and the last request in it.
    cells: [Cell<(u32, Option<QueueRequest>)>; CELLS],
}

/// The threads of one side of the queue.
struct Threads<M: Machine>(OwnedSlice<M, Lines<M>>, Vec<OwnRequests>);

/// One thread of a side.
struct Of<'a, M: Machine> {
    device: M::Queues,
    lines: &'a Lines<M>,
    state: &'a OwnRequests,
}

/// The queue whose consumers ask ahead of their calls.
pub type PostedAhead<M> = Posted<M, true>;

/// The queue behind posted requests.
pub struct Posted<M: Machine, const AHEAD: bool = false> {
    queue: Qmd<M, u64>,
    sides: [Threads<M>; 2],
}

// SAFETY: only one thread uses each state; the other fields are cells of the machine.
unsafe impl<M: Machine, const AHEAD: bool> Sync for Posted<M, AHEAD> {}
// SAFETY: as above.
unsafe impl<M: Machine, const AHEAD: bool> Send for Posted<M, AHEAD> {}

const PRODUCERS: usize = 0;
const CONSUMERS: usize = 1;

impl<M: Machine> Threads<M> {
    fn new(threads: u32) -> Self {
        let cell = || AnswerCell { value: M::Atomic::new(0), word: M::Atomic::new(answer_word(0, 0)) };
        let lines = |_| Lines { requests: array::from_fn(|_| M::Atomic::new(0)), answers: array::from_fn(|_| cell()) };
        let state = |_| OwnRequests {
            made: Cell::new(0),
            share: AtomicUsize::new(0),
            taken: Cell::new(0),
            cells: array::from_fn(|_| Cell::new((0, None))),
        };
        Threads(OwnedSlice::new(threads as usize, lines), (0..threads).map(state).collect())
    }
}

impl<M: Machine> Of<'_, M> {
    /// Posts a store of requests. Each request names the cell for its answer.
    fn post(&self, requests: &[(usize, QueueRequest)]) {
        let posts = requests.iter().enumerate().map(|(at, &(cell, request))| {
            let [operand, item, _] = request.to_words().words;
            self.lines.requests[2 * at].store(operand, Relaxed);
            self.lines.requests[2 * at + 1].store(item, Relaxed);
            let stamp = self.state.cells[cell].get().0.wrapping_add(1);
            self.state.cells[cell].set((stamp, Some(request)));
            Post { request, answer: &self.lines.answers[cell], stamp }
        });
        let posts: Vec<_> = posts.collect();
        // SAFETY: the cells belong to the channel, which is kept until the run is over.
        let can = unsafe { M::post(self.device, &posts) };
        assert!(can, "a queue of this way was made");
    }

    /// Waits for the answer to the request in the cell. A request that the device dropped is made
    /// again.
    fn settle(&self, cell: usize, wait: Wait) -> u64 {
        let answer = &self.lines.answers[cell];
        loop {
            let (stamp, request) = self.state.cells[cell].get();
            let Some(request) = request else { return 0 };
            // Acquire: the thread sees what the producer wrote before its enqueue.
            let mut word = answer.word.load(Acquire);
            while word as u32 != stamp {
                let _ = M::wait_while(&answer.word, word, wait, None);
                word = answer.word.load(Acquire);
            }
            match posted_answer(answer.value.load(Relaxed), word) {
                Ok(value) => return value,
                Err(QueueRefusal::Dropped) => self.post(&[(cell, request)]),
                Err(why) => panic!("the queue device refuses a queue of its own: {why:?}"),
            }
        }
    }

    /// Makes `n` requests, at most [`CELLS`] of them under way at a time. With `all`, each answer
    /// goes to `take`, in order, and the call returns behind the last one. Otherwise no answer goes
    /// to `take`: the thread waits for an answer only when a later request needs its cell.
    fn each(
        &self,
        n: usize,
        ask: impl Fn(usize) -> QueueRequest,
        mut take: impl FnMut(usize, u64),
        all: bool,
        wait: Wait,
    ) {
        let (mut asked, mut taken, first) = (0, 0, self.state.made.get());
        let cell = |number: usize| (first + number) % CELLS;
        while asked < n {
            let some = A_STORE.min(n - asked);
            while all && asked + some - taken > CELLS {
                take(taken, self.settle(cell(taken), wait));
                taken += 1;
            }
            let mut requests = [(0, ask(asked)); A_STORE];
            for (at, request) in requests[..some].iter_mut().enumerate() {
                *request = (cell(asked + at), ask(asked + at));
                if !all {
                    self.settle(request.0, wait);
                }
            }
            self.post(&requests[..some]);
            asked += some;
        }
        self.state.made.set(first + n);
        while all && taken < n {
            take(taken, self.settle(cell(taken), wait));
            taken += 1;
        }
    }
}

impl<M: Machine> Of<'_, M> {
    /// Takes an item, and asks for as many items of the thread's share as there are cells for, a
    /// store at a time.
    fn take_ahead(&self, ask: QueueRequest, wait: Wait) -> u64 {
        let (made, taken) = (&self.state.made, &self.state.taken);
        let left = || self.state.share.load(Relaxed).saturating_sub(made.get());
        while made.get() == taken.get() || left() != 0 && made.get() - taken.get() + A_STORE <= CELLS {
            let some = left().clamp(1, A_STORE);
            let requests: [_; A_STORE] = array::from_fn(|at| ((made.get() + at) % CELLS, ask));
            self.post(&requests[..some]);
            made.set(made.get() + some);
        }
        let item = self.settle(taken.get() % CELLS, wait);
        taken.set(taken.get() + 1);
        item
    }
}

impl<M: Machine, const AHEAD: bool> Posted<M, AHEAD> {
    fn of(&self, side: usize, thread: u32) -> (Of<'_, M>, QueueId) {
        let Threads(lines, states) = &self.sides[side];
        let (device, queue) = self.queue.place();
        (Of { device, lines: &lines[thread as usize], state: &states[thread as usize] }, queue)
    }
}

impl<M: Machine, const AHEAD: bool> Model<M> for Posted<M, AHEAD> {
    const INFO: ModelInfo = ModelInfo {
        name: if AHEAD { "posted-ahead" } else { "posted" },
        what: if AHEAD {
            "the same, and consumers ask for the items of later calls too"
        } else {
            "the queue device behind stores of 64 bytes, its answers polled in memory (Intel's DLB)"
        },
        producers: Side::Multi,
        consumers: Side::Multi,
        device: true,
        // Each way: two words of a request, the operand made, SFENCE and MOVDIR64B, the cell's turn
        // and number; for an enqueue the look at its cell, for a dequeue the look and the value.
        // The figures are an estimate: none of them can be counted here.
        counted: Counted { instructions: 26.0, accesses: 8 },
        counted_bulk: None,
    };

    fn new(sides: [u32; 2], capacity: usize) -> Result<Self, QueueError> {
        let queue = Qmd::with_capacity(capacity)?;
        // SAFETY: the call has no request, so no cell must outlive it.
        if !unsafe { M::post(queue.place().0, &[]) } {
            return Err(QueueError::NoDevice);
        }
        Ok(Posted { queue, sides: sides.map(Threads::new) })
    }
}

// SAFETY: the device gives each item out once, and keeps the order of a thread's requests; an
// enqueue leaves behind the thread's older stores, and a dequeue's answer is loaded with Acquire.
unsafe impl<M: Machine, const AHEAD: bool> Channel<M> for Posted<M, AHEAD> {
    unsafe fn send(&self, producer: u32, items: &[u64], wait: Wait) {
        let (of, queue) = self.of(PRODUCERS, producer);
        let ask = |i: usize| QueueRequest::Enqueue { to: Operand::of(queue), item: items[i] };
        of.each(items.len(), ask, |_, _| (), false, wait);
    }

    unsafe fn receive(&self, consumer: u32, items: &mut [u64], wait: Wait) {
        let (of, queue) = self.of(CONSUMERS, consumer);
        let ask = QueueRequest::Dequeue { from: Operand::of(queue) };
        if AHEAD {
            items.iter_mut().for_each(|item| *item = of.take_ahead(ask, wait));
        } else {
            of.each(items.len(), |_| ask, |i, item| items[i] = item, true, wait);
        }
    }

    fn share(&self, consumer: u32, sides: [u32; 2], items: u64, _: u64) -> u64 {
        let share = items * u64::from(sides[0]) / u64::from(sides[1].max(1));
        self.sides[CONSUMERS].1[consumer as usize].share.store(share as usize, Relaxed);
        share
    }
}
