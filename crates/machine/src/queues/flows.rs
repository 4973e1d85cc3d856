//! The protocol of queues with flows, which a queue device has beside its plain queues, like the
//! queues of DPDK's eventdev and of Intel's DLB for packet programs. The device of CAF's paper has
//! none.
//!
//! An item carries a flow, 16 bits. A thread binds to a queue before it receives from it. With an
//! item it gets a [`Token`]; it has the item in hand until it completes the token, or sends an item
//! on with it. [`FlowOrder`] says what a queue promises meanwhile.
//!
//! A handle of a queue device ([`Machine::Queues`](crate::Machine::Queues)) takes these requests by
//! [`Flows`], beside those of [`queues`](crate::queues).

use super::{Operand, QueueDevice, QueueId, QueueRefusal};
use crate::device::{NoDevice, Payload, Protocol, Ticket, Words};

/// The protocol's type: it has no value. Its device is the queue device.
#[derive(Clone, Copy, Debug)]
pub enum FlowDevice {}

impl Protocol for FlowDevice {
    const KIND: &'static str = QueueDevice::KIND;
    type Request = FlowRequest;
    type Answer = FlowAnswer;
}

/// The answer to a request for flows.
pub type FlowAnswer = Result<Given, QueueRefusal>;

/// What a queue promises of items and flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlowOrder {
    /// One consumer, first in, first out.
    Directed,
    /// Any consumer takes the item at the front.
    Parallel,
    /// No two consumers have items of one flow in hand. Each flow is in order, the queue is not.
    Atomic,
    /// Any consumer takes the item at the front; what consumers send on leaves in the order in
    /// which the items were taken.
    Ordered,
}

impl FlowOrder {
    /// All of them.
    pub const ALL: [FlowOrder; 4] = [FlowOrder::Directed, FlowOrder::Parallel, FlowOrder::Atomic, FlowOrder::Ordered];
}

/// What becomes of the items that a thread has in hand when it ends or is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InHand {
    /// The items are given up, and counted.
    GiveUp,
    /// The items go back to the front of their queue, in their order. Each keeps an entry of the
    /// queue while it is in hand. What the thread has sent on for an item may then be sent again.
    PutBack,
}

/// The right to complete an item, or to send on for it. A number of 48 bits; a program cannot use
/// one that it made up, used before, or got from another thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token(pub u64);

const TOKEN: u64 = (1 << 48) - 1;

/// What a device gives for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The item; for a queue that was made, its id.
    pub word: u64,
    /// The item's flow.
    pub flow: u16,
    /// The item's token.
    pub token: Token,
}

impl From<u64> for Given {
    fn from(word: u64) -> Given {
        Given { word, ..Given::default() }
    }
}

/// What sending an item does with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The item is new: it is sent for no token.
    None,
    /// The item is sent for the token's item, which is complete then.
    Last(Token),
    /// The item is sent for the token's item, and further ones will follow.
    More(Token),
}

impl Of {
    /// The token, if there is one.
    pub fn token(self) -> Option<Token> {
        match self {
            Of::None => None,
            Of::Last(token) | Of::More(token) => Some(token),
        }
    }
}

/// A request for a queue with flows. `Make` and `Bind` are system calls, the others instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRequest {
    /// Makes a queue. The answer is its id, by which
    /// [`QueueRequest::Release`](crate::queues::QueueRequest::Release) frees it.
    Make {
        /// Entries for items that wait.
        entries: u32,
        /// What the queue promises.
        order: FlowOrder,
        /// Atomic: number of entries, from the front, among which the device looks for an item whose
        /// flow is free. Ordered: number of items in hand, or sent on out of turn, at a time.
        window: u16,
        /// What becomes of items in hand when their thread ends.
        dead: InHand,
    },
    /// Lets the calling thread receive from the queue. [`QueueRefusal::NoRoom`]: the queue is
    /// directed and has another consumer, or the device has fewer than `most` tokens left.
    Bind {
        /// The queue.
        queue: QueueId,
        /// Number of items that the thread gets in its turn, where several threads wait; at least 1.
        weight: u16,
        /// Most items that the thread has in hand at a time, at least 1.
        most: u16,
    },
    /// Appends an item.
    Send {
        /// The queue, and how to wait.
        to: Operand,
        /// The item, a word that the device does not interpret.
        item: u64,
        /// The item's flow.
        flow: u16,
        /// The token for which the item is sent.
        of: Of,
    },
    /// Takes an item, with a token.
    Receive {
        /// The queue, and how to wait.
        from: Operand,
    },
    /// Gives up the token: the thread has dealt with its item, and sends nothing on for it.
    Complete {
        /// The queue that gave the item.
        queue: QueueId,
        /// The item's token.
        token: Token,
    },
}

impl FlowRequest {
    /// The token that the request carries, if it carries one.
    pub fn token(self) -> Option<Token> {
        match self {
            FlowRequest::Send { of, .. } => of.token(),
            FlowRequest::Complete { token, .. } => Some(token),
            FlowRequest::Make { .. } | FlowRequest::Bind { .. } | FlowRequest::Receive { .. } => None,
        }
    }
}

const MAKE: u32 = 9;
const BIND: u32 = 10;
const SEND: u32 = 11;
const SEND_LAST: u32 = 12;
const SEND_MORE: u32 = 13;
const RECEIVE: u32 = 14;
const COMPLETE: u32 = 15;

const PUT_BACK: u64 = 1 << 8;

impl Payload for FlowRequest {
    fn to_words(self) -> Words {
        match self {
            FlowRequest::Make { entries, order, window, dead } => {
                let dead = if dead == InHand::PutBack { PUT_BACK } else { 0 };
                Words::new(MAKE, [u64::from(entries), u64::from(window), order as u64 | dead])
            }
            FlowRequest::Bind { queue, weight, most } => {
                Words::new(BIND, [u64::from(queue.0), u64::from(weight), u64::from(most)])
            }
            FlowRequest::Send { to, item, flow, of } => {
                let (tag, token) = match of {
                    Of::None => (SEND, 0),
                    Of::Last(token) => (SEND_LAST, token.0),
                    Of::More(token) => (SEND_MORE, token.0),
                };
                Words::new(tag, [to.to_register(), item, u64::from(flow) << 48 | token & TOKEN])
            }
            FlowRequest::Receive { from } => Words::new(RECEIVE, [from.to_register()]),
            FlowRequest::Complete { queue, token } => Words::new(COMPLETE, [u64::from(queue.0), 0, token.0 & TOKEN]),
        }
    }

    fn from_words(Words { tag, words: [first, second, third] }: Words) -> Option<FlowRequest> {
        let count = |word: u64| u16::try_from(word).ok();
        let id = || u32::try_from(first).ok();
        let token = Token(third & TOKEN);
        Some(match tag {
            MAKE => FlowRequest::Make {
                entries: id()?,
                order: *FlowOrder::ALL.get((third & !PUT_BACK) as usize)?,
                window: count(second)?,
                dead: if third & PUT_BACK != 0 { InHand::PutBack } else { InHand::GiveUp },
            },
            BIND => FlowRequest::Bind { queue: QueueId(id()?), weight: count(second)?, most: count(third)? },
            SEND | SEND_LAST | SEND_MORE => FlowRequest::Send {
                to: Operand::from_register(first)?,
                item: second,
                flow: (third >> 48) as u16,
                of: match tag {
                    SEND if token.0 == 0 => Of::None,
                    SEND => return None,
                    SEND_LAST => Of::Last(token),
                    _ => Of::More(token),
                },
            },
            RECEIVE => FlowRequest::Receive { from: Operand::from_register(first)? },
            COMPLETE => FlowRequest::Complete { queue: QueueId(id()?), token },
            _ => return None,
        })
    }
}

impl Payload for FlowAnswer {
    fn to_words(self) -> Words {
        match self {
            Ok(Given { word, flow, token }) => Words::new(0, [word, u64::from(flow) << 48 | token.0 & TOKEN]),
            Err(why) => Err::<u64, _>(why).to_words(),
        }
    }

    fn from_words(words: Words) -> Option<FlowAnswer> {
        let [_, second, _] = words.words;
        let given = |word| Given { word, flow: (second >> 48) as u16, token: Token(second & TOKEN) };
        Result::<u64, QueueRefusal>::from_words(words).map(|answer| answer.map(given))
    }
}

/// Requests for flows, of a handle of a queue device.
pub trait Flows: Copy {
    /// A request in flight.
    type Asked: Ticket<FlowDevice>;

    /// Sends a request, as [`Device::request`](crate::device::Device::request) does.
    fn ask(self, request: FlowRequest) -> Self::Asked;

    /// Makes a queue, or binds the calling thread: a system call, as
    /// [`Device::call`](crate::device::Device::call) is.
    fn configure(self, request: FlowRequest) -> FlowAnswer;
}

impl Flows for NoDevice {
    type Asked = NoDevice;

    fn ask(self, _: FlowRequest) -> NoDevice {
        match self {}
    }

    fn configure(self, _: FlowRequest) -> FlowAnswer {
        match self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_arrives_as_it_was_sent() {
        let (queue, token) = (QueueId(0x8001_0007), Token(TOKEN - 1));
        let to = Operand { priority: 5, ..Operand::of(queue) };
        let sent = |of| FlowRequest::Send { to, item: u64::MAX, flow: 0xabcd, of };
        let made = FlowOrder::ALL.into_iter().flat_map(|order| {
            let of = |dead| FlowRequest::Make { entries: 128, order, window: 16, dead };
            [of(InHand::GiveUp), of(InHand::PutBack)]
        });
        let others = [
            FlowRequest::Bind { queue, weight: 3, most: 4 },
            sent(Of::None),
            sent(Of::Last(token)),
            sent(Of::More(token)),
            FlowRequest::Receive { from: to },
            FlowRequest::Complete { queue, token },
        ];
        for request in made.chain(others) {
            assert_eq!(FlowRequest::from_words(request.to_words()), Some(request));
        }
        for answer in [Ok(Given { word: 7, flow: 9, token }), Err(QueueRefusal::Token)] {
            assert_eq!(FlowAnswer::from_words(answer.to_words()), Some(answer));
        }
    }

    #[test]
    fn words_that_mean_nothing_are_no_request() {
        let register = Operand::of(QueueId(1)).to_register();
        for words in [
            Words::new(MAKE, [1, 1, 4]),
            Words::new(MAKE, [1, 1 << 16, 0]),
            Words::new(BIND, [1 << 32, 1, 1]),
            Words::new(SEND, [register, 0, 1]),
            Words::new(SEND_LAST, [1 << 46, 0, 1]),
            Words::new(COMPLETE, [1 << 32, 0, 1]),
            Words::new(COMPLETE + 1, [0]),
        ] {
            assert_eq!(FlowRequest::from_words(words), None, "{words:?}");
        }
    }
}
