//! The protocol of a queue device: CAF's queue management device (Wang and others, PACT 2016), of which a chip may have some.
//!
//! The paper's `enqueue reg, qid_reg` and `dequeue reg, qid_reg` are [`QueueRequest::Enqueue`] and [`QueueRequest::Dequeue`];
//! [`Operand`] is `qid_reg`. What configures the device is a system call. Algorithms reach it through
//! [`Machine::queues`](crate::Machine::queues), so that one source uses the device where there is one.

use crate::device::{Payload, Protocol, Refusal, Words};

/// The protocol.
#[derive(Clone, Copy, Debug)]
pub enum QueueDevice {}

impl Protocol for QueueDevice {
    const KIND: &'static str = "qmd";
    type Request = QueueRequest;
    type Answer = Result<u64, QueueRefusal>;
}

/// A queue of a device, or a group of queues among which it balances. Never given twice: a released one stays unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

impl QueueId {
    /// The queue so many places behind this one, of those that were allocated together.
    #[must_use]
    pub fn plus(self, queues: u32) -> QueueId {
        QueueId(self.0 + queues)
    }
}

/// The two kinds of requests for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Items come.
    Enqueue,
    /// Items go.
    Dequeue,
}

/// What a request does where it finds the queue full, or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It stays at the device until it can be served: the paper's basic mode.
    Block,
    /// It is refused: [`QueueRefusal::Full`], [`QueueRefusal::Empty`]. Ours; the paper has credits for this.
    Try,
    /// A dequeue that takes no item: it takes all credits that the context's local pool of this direction has.
    TakeCredits(Direction),
}

/// The paper's `qid_reg`: a queue, a priority and flags in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The queue, or for an enqueue a group of queues.
    pub queue: QueueId,
    /// The higher, the more urgent; from 0. Requests of one thread for one queue keep their order only within a priority.
    pub priority: u8,
    /// What to do where the queue is full or empty.
    pub mode: Mode,
}

const PRIORITY: u32 = 32;
const TRY: u64 = 1 << 40;
const CREDITS: u64 = 1 << 41;
const OF_DEQUEUES: u64 = 1 << 42;

impl Operand {
    /// For this queue, with the lowest priority, blocking.
    pub fn of(queue: QueueId) -> Operand {
        Operand { queue, priority: 0, mode: Mode::Block }
    }

    /// The register.
    pub fn to_register(self) -> u64 {
        let flags = match self.mode {
            Mode::Block => 0,
            Mode::Try => TRY,
            Mode::TakeCredits(Direction::Enqueue) => CREDITS,
            Mode::TakeCredits(Direction::Dequeue) => CREDITS | OF_DEQUEUES,
        };
        u64::from(self.queue.0) | u64::from(self.priority) << PRIORITY | flags
    }

    /// From the register; `None`: it has bits that mean nothing.
    pub fn from_register(register: u64) -> Option<Operand> {
        let mode = match register & !(u64::from(u32::MAX) | 0xff << PRIORITY) {
            0 => Mode::Block,
            TRY => Mode::Try,
            flags if flags == CREDITS => Mode::TakeCredits(Direction::Enqueue),
            flags if flags == CREDITS | OF_DEQUEUES => Mode::TakeCredits(Direction::Dequeue),
            _ => return None,
        };
        Some(Operand { queue: QueueId(register as u32), priority: (register >> PRIORITY) as u8, mode })
    }
}

/// What a queue device is asked. All but the last two come by system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRequest {
    /// So many queues of so many entries each, whose enqueues and dequeues need credits or not. The answer is the first one's
    /// id; the others follow it.
    Allocate {
        /// Entries of each.
        entries: u32,
        /// How many.
        queues: u32,
        /// Whether enqueues need credits.
        enqueue_credits: bool,
        /// Whether dequeues do.
        dequeue_credits: bool,
    },
    /// Gives a queue or a group back. The answer is how many items were still in it.
    Release(QueueId),
    /// Gives the context that calls a local pool of credits, of this weight, for one direction of a queue.
    Join {
        /// The queue.
        queue: QueueId,
        /// The direction.
        direction: Direction,
        /// Its weight, from 1.
        weight: u32,
    },
    /// A group of neighbouring queues among which the device balances enqueues. The answer is its id.
    Balance {
        /// The first.
        first: QueueId,
        /// How many.
        count: u32,
    },
    /// A reducer: as soon as each of so many neighbouring queues has an item, their sum goes into each of as many others.
    /// Items are numbers as [`f64::to_bits`] has them, added in the order of the queues.
    Reduce {
        /// The first queue that it reads.
        from: QueueId,
        /// The first that it writes.
        to: QueueId,
        /// How many of each.
        count: u32,
    },
    /// Drops what a context has at the device, and interrupts it: for a guard thread. The answer is how many.
    Drain {
        /// The context.
        cpu: u32,
    },
    /// From now on a context's requests are those of this protection domain; queues are their domain's alone.
    Enter {
        /// The context.
        cpu: u32,
        /// The domain; all contexts begin in 0.
        domain: u32,
    },
    /// Puts an item at the end.
    Enqueue {
        /// Where.
        to: Operand,
        /// The item.
        item: u64,
    },
    /// Takes the item at the front, which is the answer.
    Dequeue {
        /// Where from.
        from: Operand,
    },
}

const ALLOCATE: u32 = 0;
const RELEASE: u32 = 1;
const JOIN: u32 = 2;
const BALANCE: u32 = 3;
const REDUCE: u32 = 4;
const DRAIN: u32 = 5;
const ENTER: u32 = 6;
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
            QueueRequest::Reduce { from, to, count } => Words::new(REDUCE, [pair(from.0, to.0), u64::from(count)]),
            QueueRequest::Drain { cpu } => Words::new(DRAIN, [u64::from(cpu)]),
            QueueRequest::Enter { cpu, domain } => Words::new(ENTER, [pair(cpu, domain)]),
            QueueRequest::Enqueue { to, item } => Words::new(ENQUEUE, [to.to_register(), item]),
            QueueRequest::Dequeue { from } => Words::new(DEQUEUE, [from.to_register()]),
        }
    }

    fn from_words(Words { tag, words: [first, second, third] }: Words) -> Option<QueueRequest> {
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
            REDUCE => QueueRequest::Reduce { from: QueueId(low), to: QueueId(high), count: count(second)? },
            DRAIN => QueueRequest::Drain { cpu: count(first)? },
            ENTER => QueueRequest::Enter { cpu: low, domain: high },
            ENQUEUE => QueueRequest::Enqueue { to: Operand::from_register(first)?, item: second },
            DEQUEUE => QueueRequest::Dequeue { from: Operand::from_register(first)? },
            _ => return None,
        })
    }
}

/// A request that is posted ([`Machine::post`](crate::Machine::post)), and where its answer goes.
#[derive(Debug)]
pub struct Post<'a, W> {
    /// The request.
    pub request: QueueRequest,
    /// What the device writes when it answers, both words at once: the word that was asked for, and behind it [`answer_word`] of the stamp.
    pub answer: &'a AnswerCell<W>,
    /// What tells this answer from the one before it in the same cell.
    pub stamp: u32,
}

/// Two words that a device writes: a quarter of a line.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct AnswerCell<W> {
    /// What was asked for.
    pub value: W,
    /// [`answer_word`], or what it was before.
    pub word: W,
}

/// The second word of an answer: its stamp, and why the device refused.
pub fn answer_word(stamp: u32, refused: u32) -> u64 {
    pair(stamp, refused)
}

/// What a posted request's answer says.
///
/// # Errors
/// Why the device refused.
pub fn posted_answer(value: u64, word: u64) -> Result<u64, QueueRefusal> {
    QueueRefusal::of((word >> 32) as u32).map_or(Ok(value), Err)
}

/// Why a queue device refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum QueueRefusal {
    /// There is no such request, it needs a system call, or what it names is out of range.
    Refused = 1,
    /// There is no such queue, or it is another domain's.
    NoQueue = 2,
    /// There is no room for the queues.
    NoRoom = 3,
    /// The context has no credit for it: the device dropped the request.
    NoCredit = 4,
    /// The queue is full, and the request does not wait.
    Full = 5,
    /// The queue is empty, and the request does not wait.
    Empty = 6,
    /// The device gave up: its timer, or a guard thread, dropped the request.
    Dropped = 7,
}

impl Refusal for QueueRefusal {
    fn code(self) -> u32 {
        self as u32
    }

    fn of(code: u32) -> Option<QueueRefusal> {
        use QueueRefusal::{Dropped, Empty, Full, NoCredit, NoQueue, NoRoom, Refused};
        [Refused, NoQueue, NoRoom, NoCredit, Full, Empty, Dropped].into_iter().find(|reason| reason.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_arrives_as_it_was_sent() {
        let queue = QueueId(0x8001_0007);
        let modes =
            [Mode::Block, Mode::Try, Mode::TakeCredits(Direction::Enqueue), Mode::TakeCredits(Direction::Dequeue)];
        let operands = modes.map(|mode| Operand { queue, priority: 5, mode });
        let all = [
            QueueRequest::Allocate { entries: 128, queues: 16, enqueue_credits: true, dequeue_credits: false },
            QueueRequest::Release(queue),
            QueueRequest::Join { queue, direction: Direction::Dequeue, weight: 3 },
            QueueRequest::Balance { first: queue, count: 4 },
            QueueRequest::Reduce { from: queue, to: queue.plus(4), count: 4 },
            QueueRequest::Drain { cpu: 12 },
            QueueRequest::Enter { cpu: 12, domain: 3 },
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
            Words::new(9, [0]),
            Words::new(ENQUEUE, [1 << 43, 0]),
            Words::new(DEQUEUE, [OF_DEQUEUES]),
            Words::new(DEQUEUE, [TRY | CREDITS]),
            Words::new(RELEASE, [1 << 32]),
            Words::new(JOIN, [0, 2, 1]),
            Words::new(ALLOCATE, [0, 2, 0]),
        ] {
            assert_eq!(QueueRequest::from_words(words), None, "{words:?}");
        }
    }

    #[test]
    fn a_refusal_has_its_own_number() {
        for code in 1..=7 {
            assert_eq!(QueueRefusal::of(code).map(Refusal::code), Some(code));
        }
        assert_eq!(QueueRefusal::of(0), None);
        assert_eq!(QueueRefusal::of(8), None);
    }
}
