//! The protocol of a queue device: CAF's queue management device (Wang and others, PACT 2016),
//! which a simulated chip may have.
//!
//! The paper's `enqueue reg, qid_reg` and `dequeue reg, qid_reg` are [`QueueRequest::Enqueue`] and
//! [`QueueRequest::Dequeue`]; [`Operand`] is `qid_reg`. Requests that configure the device are
//! system calls. Algorithms get the device from [`Machine::queues`](crate::Machine::queues), so
//! that the same source uses it where there is one.

use crate::device::{Payload, Protocol, Refusal, Words};

pub mod flows;

use flows::FlowRequest;

/// The protocol's type: it has no value.
#[derive(Clone, Copy, Debug)]
pub enum QueueDevice {}

impl Protocol for QueueDevice {
    const KIND: &'static str = "qmd";
    type Request = QueueRequest;
    type Answer = Result<u64, QueueRefusal>;
}

/// The id of a queue, or of a group of queues among which the device balances. Ids are not reused:
/// the id of a released queue stays unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

impl QueueId {
    /// Returns the id `queues` after this one, for queues that were allocated together.
    #[must_use]
    pub fn plus(self, queues: u32) -> QueueId {
        QueueId(self.0 + queues)
    }
}

/// Whether a request adds items to a queue or takes items from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Adds items.
    Enqueue,
    /// Takes items.
    Dequeue,
}

/// What a request does if the queue is full (enqueue) or empty (dequeue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The request waits at the device until it can be served: the basic mode of CAF's paper.
    Block,
    /// The request waits like [`Mode::Block`], but not for ever where threads wait for a CPU: after
    /// a time the device drops the request with [`QueueRefusal::Dropped`], so that the thread can
    /// leave its CPU to another ([`Mode::Arm`]). A request that `follows` belongs to a row: the
    /// device drops it too if it has dropped the thread's request before it, for this queue and
    /// direction. So a row keeps its order.
    Timed {
        /// Whether the request is not the first of its row.
        follows: bool,
    },
    /// The device refuses the request with [`QueueRefusal::Full`] or [`QueueRefusal::Empty`]. This
    /// mode is an addition of Baton; CAF's paper uses credits instead.
    Try,
    /// A dequeue that takes no item, but all credits of the thread's local pool for this direction.
    TakeCredits(Direction),
    /// A dequeue that takes no item. The answer is 1 if the queue has an item, or room, now. It is 0
    /// if the device will interrupt the thread when that is so: the thread may sleep until then
    /// ([`Device::armed`](crate::device::Device::armed)). A thread is armed for one queue and
    /// direction, those that it asked for last. [`QueueRefusal::NoRoom`]: too many threads are armed.
    Arm(Direction),
}

/// The `qid_reg` of CAF's paper: a queue, a priority and flags in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The queue; for an enqueue it may be a group of queues.
    pub queue: QueueId,
    /// Priority, from 0; a higher one is more urgent. Requests of a thread for one queue and
    /// direction stay in order whatever their priorities are: one that comes while an older one
    /// waits takes the older one's priority.
    pub priority: u8,
    /// What to do if the queue is full or empty.
    pub mode: Mode,
}

const PRIORITY: u32 = 32;
const TRY: u64 = 1 << 40;
const CREDITS: u64 = 1 << 41;
const OF_DEQUEUES: u64 = 1 << 42;
const ARM: u64 = 1 << 43;
const TIMED: u64 = 1 << 44;
const FOLLOWS: u64 = 1 << 45;

impl Operand {
    /// A blocking request for `queue` with the lowest priority.
    pub fn of(queue: QueueId) -> Operand {
        Operand { queue, priority: 0, mode: Mode::Block }
    }

    /// Encodes the operand as a register.
    pub fn to_register(self) -> u64 {
        let flags = match self.mode {
            Mode::Block => 0,
            Mode::Try => TRY,
            Mode::Timed { follows: false } => TIMED,
            Mode::Timed { follows: true } => TIMED | FOLLOWS,
            Mode::TakeCredits(Direction::Enqueue) => CREDITS,
            Mode::TakeCredits(Direction::Dequeue) => CREDITS | OF_DEQUEUES,
            Mode::Arm(Direction::Enqueue) => ARM,
            Mode::Arm(Direction::Dequeue) => ARM | OF_DEQUEUES,
        };
        u64::from(self.queue.0) | u64::from(self.priority) << PRIORITY | flags
    }

    /// Decodes a register; `None` if undefined bits are set.
    pub fn from_register(register: u64) -> Option<Operand> {
        let mode = match register & !(u64::from(u32::MAX) | 0xff << PRIORITY) {
            0 => Mode::Block,
            TRY => Mode::Try,
            TIMED => Mode::Timed { follows: false },
            flags if flags == TIMED | FOLLOWS => Mode::Timed { follows: true },
            flags if flags == CREDITS => Mode::TakeCredits(Direction::Enqueue),
            flags if flags == CREDITS | OF_DEQUEUES => Mode::TakeCredits(Direction::Dequeue),
            ARM => Mode::Arm(Direction::Enqueue),
            flags if flags == ARM | OF_DEQUEUES => Mode::Arm(Direction::Dequeue),
            _ => return None,
        };
        Some(Operand { queue: QueueId(register as u32), priority: (register >> PRIORITY) as u8, mode })
    }
}

/// A request that a program may make to a queue device. `Enqueue`, `Dequeue` and three of the
/// requests for flows are instructions, the others are system calls. What only the operating system
/// may do (draining threads, moving queues, ending threads) is not in the list, and has no words
/// that a program could send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRequest {
    /// Allocates `queues` queues with `entries` entries each. The answer is the first queue's id;
    /// the ids of the others follow it.
    Allocate {
        /// Entries of each queue.
        entries: u32,
        /// Number of queues.
        queues: u32,
        /// Whether enqueues need credits.
        enqueue_credits: bool,
        /// Whether dequeues need credits.
        dequeue_credits: bool,
    },
    /// Frees a queue or a group. The answer is the number of items that were still in it.
    Release(QueueId),
    /// Gives the calling thread a local pool of credits for one direction of a queue.
    Join {
        /// The queue that the credits are for.
        queue: QueueId,
        /// Whether the credits are for enqueues or dequeues.
        direction: Direction,
        /// Weight of the pool, at least 1.
        weight: u32,
    },
    /// Creates a group of neighbouring queues among which the device balances enqueues. The answer
    /// is the group's id.
    Balance {
        /// The first queue of the group.
        first: QueueId,
        /// Number of queues in the group.
        count: u32,
    },
    /// Creates a reducer: as soon as each of `count` neighbouring queues has an item, the device
    /// combines one item of each, in the order of the queues, and puts the result into each of
    /// `count` others. A thread that joins a queue that the reducer reads (for enqueues, with any
    /// weight) is its member: when the thread ends, the reducer waits for the queue no more.
    Reduce {
        /// How items are combined.
        by: Combine,
        /// The first queue that the reducer reads.
        from: QueueId,
        /// The first queue that the reducer writes.
        to: QueueId,
        /// Number of queues that are read, and number that are written.
        count: u32,
    },
    /// Appends an item.
    Enqueue {
        /// The queue or group, and how to wait.
        to: Operand,
        /// The item, a word that the device does not interpret.
        item: u64,
    },
    /// Takes the item at the front, which is the answer.
    Dequeue {
        /// The queue, and how to wait.
        from: Operand,
    },
    /// A request for a queue with flows.
    Flow(FlowRequest),
}

/// How a reducer combines items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Combine {
    /// Adds numbers in the format of [`f64::to_bits`]: the reducer of CAF's paper.
    #[default]
    FloatSum = 0,
    /// The smallest of such numbers.
    FloatMinimum = 1,
    /// The largest of such numbers.
    FloatMaximum = 2,
    /// Adds signed integers of 64 bits; the sum wraps.
    IntegerSum = 3,
    /// The smallest of such integers.
    IntegerMinimum = 4,
    /// The largest of such integers.
    IntegerMaximum = 5,
}

impl Combine {
    const ALL: [Combine; 6] = [
        Combine::FloatSum,
        Combine::FloatMinimum,
        Combine::FloatMaximum,
        Combine::IntegerSum,
        Combine::IntegerMinimum,
        Combine::IntegerMaximum,
    ];

    /// Combines two items.
    pub fn of(self, a: u64, b: u64) -> u64 {
        let floats = |f: fn(f64, f64) -> f64| f(f64::from_bits(a), f64::from_bits(b)).to_bits();
        let integers = |f: fn(i64, i64) -> i64| f(a as i64, b as i64) as u64;
        match self {
            Combine::FloatSum => floats(|a, b| a + b),
            Combine::FloatMinimum => floats(f64::min),
            Combine::FloatMaximum => floats(f64::max),
            Combine::IntegerSum => integers(i64::wrapping_add),
            Combine::IntegerMinimum => integers(Ord::min),
            Combine::IntegerMaximum => integers(Ord::max),
        }
    }
}

const ALLOCATE: u32 = 0;
const RELEASE: u32 = 1;
const JOIN: u32 = 2;
const BALANCE: u32 = 3;
const REDUCE: u32 = 4;
const ENQUEUE: u32 = 7;
const DEQUEUE: u32 = 8;

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Payload for QueueRequest {
    fn to_words(self) -> Words {
        match self {
            QueueRequest::Allocate { entries, queues, enqueue_credits, dequeue_credits } => {
                Words::new(ALLOCATE, [pair(entries, queues), u64::from(enqueue_credits), u64::from(dequeue_credits)])
            }
            QueueRequest::Release(queue) => Words::new(RELEASE, [u64::from(queue.0)]),
            QueueRequest::Join { queue, direction, weight } => {
                Words::new(JOIN, [u64::from(queue.0), u64::from(direction == Direction::Dequeue), u64::from(weight)])
            }
            QueueRequest::Balance { first, count } => Words::new(BALANCE, [u64::from(first.0), u64::from(count)]),
            QueueRequest::Reduce { by, from, to, count } => {
                Words::new(REDUCE, [pair(from.0, to.0), pair(count, by as u32)])
            }
            QueueRequest::Enqueue { to, item } => Words::new(ENQUEUE, [to.to_register(), item]),
            QueueRequest::Dequeue { from } => Words::new(DEQUEUE, [from.to_register()]),
            QueueRequest::Flow(request) => request.to_words(),
        }
    }

    fn from_words(words: Words) -> Option<QueueRequest> {
        let Words { tag, words: [first, second, third] } = words;
        let (low, high) = (first as u32, (first >> 32) as u32);
        let id = || u32::try_from(first).ok().map(QueueId);
        let flag = |word: u64| (word <= 1).then_some(word == 1);
        let count = |word: u64| u32::try_from(word).ok();
        Some(match tag {
            ALLOCATE => QueueRequest::Allocate {
                entries: low,
                queues: high,
                enqueue_credits: flag(second)?,
                dequeue_credits: flag(third)?,
            },
            RELEASE => QueueRequest::Release(id()?),
            JOIN => QueueRequest::Join {
                queue: id()?,
                direction: if flag(second)? { Direction::Dequeue } else { Direction::Enqueue },
                weight: count(third)?,
            },
            BALANCE => QueueRequest::Balance { first: id()?, count: count(second)? },
            REDUCE => QueueRequest::Reduce {
                by: *Combine::ALL.get((second >> 32) as usize)?,
                from: QueueId(low),
                to: QueueId(high),
                count: second as u32,
            },
            ENQUEUE => QueueRequest::Enqueue { to: Operand::from_register(first)?, item: second },
            DEQUEUE => QueueRequest::Dequeue { from: Operand::from_register(first)? },
            _ => QueueRequest::Flow(FlowRequest::from_words(words)?),
        })
    }
}

/// A request to post ([`Machine::post`](crate::Machine::post)), and where its answer goes.
#[derive(Debug)]
pub struct Post<'a, W> {
    /// The request to post.
    pub request: QueueRequest,
    /// Memory that the device writes when it answers, both words at once: the value, and
    /// [`answer_word`] of the stamp.
    pub answer: &'a AnswerCell<W>,
    /// A number that distinguishes this answer from the previous one in the same cell.
    pub stamp: u32,
}

/// Two words that a device writes at once: a quarter of a cache line.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct AnswerCell<W> {
    /// The value that the request asked for.
    pub value: W,
    /// The [`answer_word`], or the older one while there is no new answer.
    pub word: W,
}

/// Encodes the second word of an answer: its stamp, and the code of the device's refusal (0: none).
pub fn answer_word(stamp: u32, refused: u32) -> u64 {
    pair(stamp, refused)
}

/// Decodes the answer to a posted request.
///
/// # Errors
/// Returns the reason if the device refused.
pub fn posted_answer(value: u64, word: u64) -> Result<u64, QueueRefusal> {
    QueueRefusal::of((word >> 32) as u32).map_or(Ok(value), Err)
}

/// Why a queue device refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum QueueRefusal {
    /// There is no such request, it must be a system call, or an operand is out of range.
    Refused = 1,
    /// There is no such queue, or it belongs to another protection domain.
    NoQueue = 2,
    /// The device has no room for the queues.
    NoRoom = 3,
    /// The thread has no credit for the request, so the device dropped it.
    NoCredit = 4,
    /// The queue is full, and the request does not wait.
    Full = 5,
    /// The queue is empty, and the request does not wait.
    Empty = 6,
    /// A timer of the device or a guard thread dropped the request.
    Dropped = 7,
    /// The token is forged, was used up, or is another thread's.
    Token = 8,
}

impl Refusal for QueueRefusal {
    fn code(self) -> u32 {
        self as u32
    }

    fn of(code: u32) -> Option<QueueRefusal> {
        use QueueRefusal::{Dropped, Empty, Full, NoCredit, NoQueue, NoRoom, Refused, Token};
        [Refused, NoQueue, NoRoom, NoCredit, Full, Empty, Dropped, Token]
            .into_iter()
            .find(|reason| reason.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_arrives_as_it_was_sent() {
        let queue = QueueId(0x8001_0007);
        let modes = [
            Mode::Block,
            Mode::Try,
            Mode::Timed { follows: false },
            Mode::Timed { follows: true },
            Mode::TakeCredits(Direction::Enqueue),
            Mode::TakeCredits(Direction::Dequeue),
            Mode::Arm(Direction::Enqueue),
            Mode::Arm(Direction::Dequeue),
        ];
        let operands = modes.map(|mode| Operand { queue, priority: 5, mode });
        let all = [
            QueueRequest::Allocate { entries: 128, queues: 16, enqueue_credits: true, dequeue_credits: false },
            QueueRequest::Release(queue),
            QueueRequest::Join { queue, direction: Direction::Dequeue, weight: 3 },
            QueueRequest::Balance { first: queue, count: 4 },
            QueueRequest::Reduce { by: Combine::FloatSum, from: queue, to: queue.plus(4), count: 4 },
            QueueRequest::Reduce { by: Combine::IntegerMaximum, from: queue, to: queue.plus(4), count: 4 },
        ];
        let each =
            operands.map(|at| [QueueRequest::Enqueue { to: at, item: u64::MAX }, QueueRequest::Dequeue { from: at }]);
        for request in all.into_iter().chain(each.into_iter().flatten()) {
            assert_eq!(QueueRequest::from_words(request.to_words()), Some(request));
        }
    }

    #[test]
    fn words_that_mean_nothing_are_no_request() {
        for words in [
            Words::new(5, [0]),
            Words::new(6, [0]),
            Words::new(16, [0]),
            Words::new(ENQUEUE, [1 << 46, 0]),
            Words::new(DEQUEUE, [FOLLOWS]),
            Words::new(DEQUEUE, [ARM | TIMED]),
            Words::new(DEQUEUE, [OF_DEQUEUES]),
            Words::new(DEQUEUE, [TRY | CREDITS]),
            Words::new(RELEASE, [1 << 32]),
            Words::new(JOIN, [0, 2, 1]),
            Words::new(ALLOCATE, [0, 2, 0]),
            Words::new(REDUCE, [0, pair(1, 6)]),
        ] {
            assert_eq!(QueueRequest::from_words(words), None, "{words:?}");
        }
    }

    #[test]
    fn a_refusal_has_its_own_number() {
        for code in 1..=8 {
            assert_eq!(QueueRefusal::of(code).map(Refusal::code), Some(code));
        }
        assert_eq!(QueueRefusal::of(0), None);
        assert_eq!(QueueRefusal::of(9), None);
    }
}
