//! A queue device for the checkers. Like CAF's device, it has queues that are first in, first out,
//! and that together have a limited number of entries. It orders no more memory accesses than CAF's
//! instructions do: an enqueue comes after its thread's older stores; a dequeue orders nothing, so
//! that its caller needs an acquire.
//!
//! A request is served when it is made, and blocks there if it has to wait. So a thread has one
//! request under way at a time, and deadlocks that need several are not detected here.

use baton_machine::Ordering::{Relaxed, Release};
use baton_machine::device::{Device, Ticket};
use baton_machine::flows::{FlowAnswer, FlowDevice, FlowRequest, Flows};
use baton_machine::queues::{Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::{Atomic, Machine, Wait};
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// Number of entries of all queues together; few, so that a test can ask for too many.
const ENTRIES: usize = 64;

type Answer = Result<u64, QueueRefusal>;

struct Queue {
    entries: usize,
    items: VecDeque<u64>,
    /// A cell of the machine on which requests count up, so that the checker knows that they depend
    /// on each other. It is dropped only when its queue is released; a cell that an execution
    /// leaves behind belongs to that execution, which is over.
    turn: ManuallyDrop<Rc<dyn Any>>,
}

thread_local! {
    /// The queues of the execution that runs on this host thread, by id; ids are not reused. No
    /// lock is needed, like in `execution`, and nothing here orders what guests do.
    static QUEUES: RefCell<Vec<Option<Queue>>> = const { RefCell::new(Vec::new()) };
}

/// Forgets the state of the last execution, because a new one begins.
pub(crate) fn begin() {
    QUEUES.with(RefCell::take);
}

/// The queue device of a machine.
pub struct Reference<M>(PhantomData<fn() -> M>);

impl<M> Clone for Reference<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Reference<M> {}

/// A request that has been answered.
#[derive(Debug)]
pub struct Answered(Answer);

impl Ticket<QueueDevice> for Answered {
    fn is_here(&self) -> bool {
        true
    }

    fn wait(self) -> Answer {
        self.0
    }
}

/// Calls `f` with a queue, if it exists.
fn with<R>(id: QueueId, f: impl FnOnce(&mut Queue) -> R) -> Result<R, QueueRefusal> {
    QUEUES.with(|queues| {
        let mut queues = queues.borrow_mut();
        queues.get_mut(id.0 as usize).and_then(Option::as_mut).map(f).ok_or(QueueRefusal::NoQueue)
    })
}

impl<M: Machine> Reference<M> {
    /// Returns the device with this number; there is only number 0.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        (number == 0).then_some(Reference(PhantomData))
    }

    fn allocate(entries: usize) -> Answer {
        QUEUES.with(|queues| {
            let mut queues = queues.borrow_mut();
            let used: usize = queues.iter().flatten().map(|queue| queue.entries).sum();
            if used + entries > ENTRIES {
                return Err(QueueRefusal::NoRoom);
            }
            let turn: Rc<dyn Any> = Rc::new(M::Atomic::<u64>::new(0));
            let turn = ManuallyDrop::new(turn);
            queues.push(Some(Queue { entries, items: VecDeque::new(), turn }));
            Ok(queues.len() as u64 - 1)
        })
    }

    fn release(id: QueueId) -> Answer {
        let queue = QUEUES.with(|queues| queues.borrow_mut().get_mut(id.0 as usize).and_then(Option::take));
        let Queue { items, turn, .. } = queue.ok_or(QueueRefusal::NoQueue)?;
        drop(ManuallyDrop::into_inner(turn));
        Ok(items.len() as u64)
    }

    /// Serves an enqueue of `item`, or a dequeue if there is no item.
    fn serve(at: Operand, item: Option<u64>) -> Answer {
        let turn = with(at.queue, |queue| Rc::clone(&queue.turn))?.downcast::<M::Atomic<u64>>();
        let turn = turn.expect("a queue is used on the machine that it was made on");
        let can = |queue: &mut Queue| match item {
            Some(_) => queue.items.len() < queue.entries,
            None => !queue.items.is_empty(),
        };
        loop {
            let seen = turn.load(Relaxed);
            if with(at.queue, can)? {
                // Release: an enqueue comes after older stores. Relaxed: a dequeue orders nothing.
                turn.fetch_add(1, if item.is_some() { Release } else { Relaxed });
                // Another guest may have run before, so the queue is checked again; no guest runs
                // between this check and the step that follows it.
                if with(at.queue, can)? {
                    return with(at.queue, |queue| match item {
                        Some(item) => {
                            queue.items.push_back(item);
                            0
                        }
                        None => queue.items.pop_front().unwrap_or_default(),
                    });
                }
            } else if at.mode == Mode::Try {
                return Err(if item.is_some() { QueueRefusal::Full } else { QueueRefusal::Empty });
            } else {
                let _ = M::wait_while(&*turn, seen, Wait::Pause, None);
            }
        }
    }
}

/// A request for flows, which the reference device refuses.
#[derive(Debug)]
pub struct NoFlows;

impl Ticket<FlowDevice> for NoFlows {
    fn is_here(&self) -> bool {
        true
    }

    fn wait(self) -> FlowAnswer {
        Err(QueueRefusal::Refused)
    }
}

/// The reference device has no queues with flows.
impl<M: Machine> Flows for Reference<M> {
    type Asked = NoFlows;

    fn ask(self, _: FlowRequest) -> NoFlows {
        NoFlows
    }

    fn configure(self, _: FlowRequest) -> FlowAnswer {
        Err(QueueRefusal::Refused)
    }
}

impl<M: Machine> Device<QueueDevice> for Reference<M> {
    type Ticket = Answered;

    fn request(self, request: QueueRequest) -> Answered {
        Answered(match request {
            // Nothing is dropped here, so that no thread has a reason to sleep.
            QueueRequest::Dequeue { from: Operand { mode: Mode::Arm(_) | Mode::TakeCredits(_), .. } } => {
                Err(QueueRefusal::Refused)
            }
            QueueRequest::Enqueue { to, item } => Self::serve(to, Some(item)),
            QueueRequest::Dequeue { from } => Self::serve(from, None),
            _ => Err(QueueRefusal::Refused),
        })
    }

    fn call(self, request: QueueRequest) -> Answer {
        match request {
            QueueRequest::Allocate { entries, queues: 1, enqueue_credits: false, dequeue_credits: false } => {
                Self::allocate(entries as usize)
            }
            QueueRequest::Release(queue) => Self::release(queue),
            _ => Err(QueueRefusal::Refused),
        }
    }

    fn interrupt(self) {
        panic!("the reference device interrupts no thread");
    }

    fn armed(self) {
        panic!("the reference device arms no thread: it drops no request");
    }
}
