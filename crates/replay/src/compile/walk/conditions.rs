//! Condition variables: a wait becomes a token, which the signal that ended the wait puts down.

use super::{Mode, Walk};
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{Address, ProcessIndex, WakeReason, What};

impl Walk<'_> {
    pub(super) fn condition(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        let place = |address: Address| (process, address);
        match what {
            What::CondWait { condition, .. } => {
                self.gap(id, t);
                self.states[id].mode = Mode::CondEnter;
                self.tokens.wait(place(condition), id as u32);
            }
            What::CondWake { condition, reason } => {
                let Mode::CondWait(since) = self.states[id].mode else {
                    self.tokens.gave_up(place(condition), id as u32);
                    self.gap(id, t);
                    self.replayability.unmatched_waits += 1;
                    return;
                };
                self.resume(id, t, Mode::Relock);
                let token = match reason {
                    WakeReason::Woken => self.tokens.woken(place(condition), id as u32),
                    WakeReason::TimedOut | WakeReason::Cancelled => {
                        self.tokens.gave_up(place(condition), id as u32);
                        None
                    }
                };
                match token {
                    Some(token) => self.threads[id].track.push(Raw::Op(Op::TokenWait(token))),
                    None => {
                        // A wait without a token is replayed as a sleep of the recorded length.
                        // That is right for a time-out; a wake-up without a signal and a
                        // cancellation count as not replayable.
                        self.replayability.unmatched_waits += u64::from(reason == WakeReason::Woken);
                        self.replayability.expired_waits += u64::from(reason == WakeReason::Cancelled);
                        self.threads[id].track.push(Raw::Away(t - since));
                        self.turn_behind_wait(id, t);
                    }
                }
            }
            What::CondSignal { condition, .. } | What::CondBroadcast { condition, .. } => {
                self.gap(id, t);
                let all = matches!(what, What::CondBroadcast { .. });
                let (signal, woken) = self.tokens.signal(place(condition), all);
                self.threads[id].track.push(Raw::Signal(signal));
                let os = &self.chip.os;
                if woken != 0 {
                    self.states[id].priced += os.futex.wake.0 + (woken as u64 - 1) * os.futex.wake_more.0;
                }
            }
            _ => {}
        }
    }
}
