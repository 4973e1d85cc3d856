//! The keys of a queue device.

use super::buffers::{Retry, Schedule, Sharing};
use super::storage::MOST_QUEUES;
use crate::peripheral::settings::{Or, Setting, settings};
use crate::value::{Value, ValueKind};
use baton_units::Cycles;

/// The time at which head and tail of a queue move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// Head and tail move when the engine takes the request up: the pipeline keeps the order of
    /// accesses.
    Grant,
    /// Head and tail move when the SRAM has been accessed: only then can the item be taken, or its
    /// place be used again.
    Access,
}

/// Declares a setting whose value is one of a few words.
macro_rules! words {
    ($type:ident: $($word:literal => $value:ident),+) => {
        impl $type {
            /// The words.
            pub const WORDS: &[&str] = &[$($word),+];
        }

        impl Setting for $type {
            fn of(value: &Value) -> Option<$type> {
                match value {
                    Value::Text(text) => match text.as_str() {
                        $($word => Some($type::$value),)+
                        _ => None,
                    },
                    _ => None,
                }
            }
        }
    };
}

words!(Sharing: "shared" => All, "context" => Context);
words!(Schedule: "round-robin" => RoundRobin, "weighted" => Weighted);
words!(Retry: "slot" => Slot, "free" => Free);
words!(Pointers: "grant" => Grant, "access" => Access);

settings! {
    /// The keys of a queue device.
    QmdSettings {
        /// Cycles of an access to the SRAM, from a request's turn to its answer.
        latency: Cycles, ValueKind::Cycles, "an access of the SRAM, from a request's turn to its answer, in cycles of the device's clock";
        /// Number of entries of eight bytes.
        entries: u64, ValueKind::Count(1, 1 << 24), "entries of eight bytes that its SRAM has, for all queues together";
        /// Number of queues that the device can have at once.
        queues: u64, ValueKind::Count(1, MOST_QUEUES), "queues that there can be at a time";
        /// Number of engines: one for all requests, or one for each direction.
        engines: u64, ValueKind::Count(1, 2), "1: one engine for all requests; 2: one for enqueues, one for dequeues";
        /// Number of priorities.
        priorities: u32, ValueKind::Count(1, 8), "priorities, each with a buffer for enqueues and one for dequeues";
        /// Whether contexts share buffers.
        buffers: Sharing, ValueKind::Choice(Sharing::WORDS), "buffers that all contexts share, or virtual ones of each context";
        /// Number of requests that a buffer holds.
        depth: u64, ValueKind::Count(1, 1 << 16), "requests that a buffer (of a context, where each has one) holds";
        /// The rule that chooses the next buffer.
        schedule: Schedule, ValueKind::Choice(Schedule::WORDS), "which buffer is next: each in turn, or priority p as often as p + 1";
        /// The cost of a try that cannot be served.
        retry: Retry, ValueKind::Choice(Retry::WORDS), "a head that finds its queue full or empty takes a turn of the engine, or none";
        /// The time at which head and tail move.
        pointers: Pointers, ValueKind::Choice(Pointers::WORDS), "head and tail move at a request's turn, or after the access";
        /// Largest number of credits that a thread's local pool holds.
        local_credits: u32, ValueKind::Count(1, 1 << 24), "most credits in a thread's local pool";
        /// Cycles after which the requests of a buffer are dropped if none of them could be served;
        /// 0: never.
        timeout: u64, ValueKind::Cycles, "cycles of the device after which a buffer that nothing was served from is emptied; 0: never";
        /// Cycles after which a timed request is dropped where threads wait for a CPU; 0: never.
        patience: Or<5000>, ValueKind::Cycles, "cycles of the device after which it drops a request that says that it may, where threads wait for a CPU; 0: never; absent: 5000";
        /// Number of threads that can sleep until the device interrupts them.
        armed: Or<64>, ValueKind::Count(0, 1 << 16), "threads that can sleep until the device interrupts them; absent: 64";
        /// Number of threads whose posted requests can stand aside in each buffer.
        aside: Or<8>, ValueKind::Count(0, 1 << 10), "lines of each buffer for threads that have lost their CPU and whose posted requests wait; absent: 8";
        /// Number of items of queues with flows that threads can have in hand.
        tokens: Or<64>, ValueKind::Count(0, 1 << 16), "items of queues with flows that threads have in hand at a time; a thread that binds reserves its own; absent: 64";
        /// Cycles after which the thread of an item in hand is interrupted; 0: never.
        token_age: Or<0>, ValueKind::Cycles, "cycles of the device after which the thread of an item in hand is interrupted; 0: never; absent: 0";
        /// Whether the device checks its credits in each cycle, as it does in debug builds.
        check: bool, ValueKind::Switch, "check in each cycle that no credit is lost or doubled and that threads keep to their shares; debug builds always do; absent: false";
        /// Cycles of the reducer for each item.
        reduce: u64, ValueKind::Cycles, "cycles of the device that the reducer takes for an item";
    }
}
