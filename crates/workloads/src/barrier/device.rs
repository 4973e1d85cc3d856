//! Barriers in a queue device: an arrival is an enqueue, a release is an item that each waiter
//! dequeues.
//!
//! These barriers are not in the registry of barriers: a machine without a queue device cannot have
//! them, and a device may have no room.

use super::Meet;
use crate::requests::DeviceQueues;
use crate::{Refused, Shared, share};
use baton_machine::queues::{Combine, QueueId, QueueRequest};
use baton_machine::{Counted, Machine, Native, Wait};
use baton_sync::queue::RawQueue;
use baton_sync::queue::qmd::Qmd;

/// The name and description of a barrier in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBarrier {
    /// The name on the command line.
    pub name: &'static str,
    /// One line that says how the barrier works.
    pub what: &'static str,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Tokens,
    Reducer,
}

/// Every barrier in the device.
pub const DEVICE_BARRIERS: &[DeviceBarrier] = &[
    DeviceBarrier {
        name: "qmd-tokens",
        what: "arrivals go into a queue of the device; the first participant takes them out and puts in a token for each other",
        form: Form::Tokens,
    },
    DeviceBarrier {
        name: "qmd-reducer",
        what: "each participant has a queue to and from the device's reducer, whose sum is there when all have arrived",
        form: Form::Reducer,
    },
];

/// The instructions of an episode: those of an enqueue and a dequeue.
pub(super) fn counted() -> Counted {
    <Qmd<Native, u64> as RawQueue<Native>>::INFO.counted
}

/// A barrier in the device, for a fixed number of participants.
pub(super) struct InDevice<M: Machine> {
    queues: DeviceQueues<M>,
    form: Form,
    participants: u32,
}

impl<M: Machine> InDevice<M> {
    pub(super) fn new(info: DeviceBarrier, participants: u32) -> Result<Shared<M, Self>, Refused> {
        let queues = match info.form {
            // One queue for arrivals, one for the tokens of even episodes, one for those of odd
            // episodes: a participant that is early in the next episode cannot take a token from a
            // participant that is late in this episode.
            Form::Tokens => DeviceQueues::new(3, participants.next_power_of_two() as usize)?,
            Form::Reducer => {
                let queues = DeviceQueues::<M>::new(2 * participants, 1)?;
                let (from, to) = (queues.queue(0), queues.queue(participants));
                queues.call(QueueRequest::Reduce { by: Combine::FloatSum, from, to, count: participants })?;
                queues
            }
        };
        Ok(share(InDevice { queues, form: info.form, participants }))
    }

    fn tokens(&self, episode: u64) -> QueueId {
        self.queues.queue(1 + (episode % 2) as u32)
    }
}

impl<M: Machine> Meet for InDevice<M> {
    fn meet(&self, thread: u32, episode: u64, _: Wait) -> bool {
        let (queues, arrivals) = (&self.queues, self.queues.queue(0));
        match (self.form, thread) {
            (Form::Tokens, 0) => {
                queues.take_any(arrivals, self.participants - 1);
                let mut outbox = queues.outbox();
                (1..self.participants).for_each(|_| outbox.send(self.tokens(episode), episode));
                outbox.flush();
            }
            (Form::Tokens, _) => _ = queues.put_and_take(arrivals, episode, self.tokens(episode)),
            (Form::Reducer, _) => {
                let (to, from) = (queues.queue(thread), queues.queue(self.participants + thread));
                queues.put_and_take(to, 1f64.to_bits(), from);
            }
        }
        thread == 0
    }
}
