//! Pipes, sockets and eventfds. The recording does not say how much fits into a stream. So a read waits for the
//! write of its first byte, and at the stream's end for the last close. A write that waited for room waits for
//! the read that made room in the recording.

use super::{Mode, Walk};
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{Address, Stream, What};

impl Walk<'_> {
    pub(super) fn at_stream(&mut self, id: usize, t: u64, what: What, stream: Address) {
        self.replayability.events += 1;
        let flow = self.objects.streams.at(stream);
        match what {
            What::Put { items, .. } => {
                let step = self.tokens.step();
                flow.put += u64::from(items);
                flow.unread.push_back((flow.put, step));
                let wakes = flow.readers != 0;
                self.gap(id, t);
                self.does_for_others(id, step, wakes);
            }
            What::Take { items, .. } => {
                let (first, step) = (flow.unread.front().map(|(_, step)| *step), self.tokens.step());
                flow.taken += u64::from(items);
                while flow.unread.pop_front_if(|(end, _)| *end <= flow.taken).is_some() {}
                flow.last_take = Some(step);
                let wakes = flow.writers != 0;
                self.gap(id, t);
                self.wait_for(id, stream, first.filter(|_| items > 0));
                self.does_for_others(id, step, wakes);
            }
            What::QueueClose { .. } => {
                let step = self.tokens.step();
                flow.closed = Some(step);
                let wakes = flow.readers != 0;
                self.gap(id, t);
                self.does_for_others(id, step, wakes);
            }
            What::PutWait { .. } | What::TakeWait { .. } => {
                match what {
                    What::PutWait { .. } => flow.writers += 1,
                    _ => flow.readers += 1,
                }
                self.gap(id, t);
                self.wait(id, t, Mode::QueueWait(t));
            }
            What::PutWaited { gave_up, .. } => {
                let step = if gave_up { flow.closed } else { flow.last_take };
                flow.writers = flow.writers.saturating_sub(1);
                self.waited_at_stream(id, t, stream, step);
            }
            What::TakeWaited { gave_up, .. } => {
                flow.readers = flow.readers.saturating_sub(1);
                let step = if gave_up { flow.closed } else { flow.unread.front().map(|(_, step)| *step) };
                self.waited_at_stream(id, t, stream, step);
            }
            _ => {}
        }
    }

    /// The thread does a step for which others may wait. If it woke one, what that cost lies in its next gap, and
    /// the replay charges it again.
    fn does_for_others(&mut self, id: usize, step: u32, wakes: bool) {
        self.threads[id].track.push(Raw::Signal(step));
        if wakes {
            self.states[id].priced += self.chip.os.futex.wake.0;
        }
    }

    /// Ends a wait of the thread, which lasted until another thread had done a step.
    fn waited_at_stream(&mut self, id: usize, t: u64, stream: Address, step: Option<u32>) {
        let Mode::QueueWait(since) = self.states[id].mode else {
            self.replayability.unmatched_waits += 1;
            return self.gap(id, t);
        };
        self.resume(id, t, Mode::Running);
        if step.is_none() && !Stream::is_kernels(stream) {
            // At a queue between processes the thread gave up, or waited for a process that is not recorded.
            self.threads[id].track.push(Raw::Away(t - since));
            self.replayability.expired_waits += 1;
        }
        self.wait_for(id, stream, step);
    }

    /// Lets the thread wait until another thread has done a step, unless it has waited for that already.
    fn wait_for(&mut self, id: usize, stream: Address, step: Option<u32>) {
        let Some(step) = step else { return };
        let flow = self.objects.streams.at(stream);
        if flow.waited_for.insert(id as u32, step) != Some(step) {
            let token = self.tokens.after_step(step);
            self.op(id, Op::TokenWait(token));
        }
    }
}
