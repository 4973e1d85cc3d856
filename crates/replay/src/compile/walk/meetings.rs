//! Barriers and semaphores.

use super::{Mode, Walk};
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{ProcessIndex, What};

impl Walk<'_> {
    pub(super) fn meeting(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        match what {
            What::BarrierArrive { barrier, .. } => {
                self.gap(id, t);
                self.objects.arrive((process, barrier), id as u32);
                self.comes(id, (process, barrier));
                self.wait(id, t, Mode::Busy);
            }
            What::BarrierLeave { barrier, .. } => {
                // The participants are known as soon as a thread leaves. A meeting that no thread
                // left was going on when the trace ended; the replay does not wait for it.
                let has_met = self.has_met(id);
                match self.objects.leave((process, barrier), id as u32) {
                    Some(meeting) => {
                        self.met((process, barrier), meeting);
                        if !has_met {
                            self.op(id, Op::Meet(meeting));
                        }
                    }
                    None => self.replayability.unmatched_waits += 1,
                }
                self.resume(id, t, Mode::Running);
            }
            What::SemTake { semaphore, .. } => {
                self.gap(id, t);
                let number = self.objects.semaphore((process, semaphore));
                self.take(id, number);
            }
            What::SemWait { semaphore, .. } => {
                self.gap(id, t);
                let number = self.objects.semaphore((process, semaphore));
                *self.semaphore_waiters.entry(number).or_default() += 1;
                self.wait(id, t, Mode::SemWait(t));
            }
            What::SemTaken { semaphore, .. } => {
                let number = self.objects.semaphore((process, semaphore));
                self.semaphore_left(number);
                self.take(id, number);
                self.resume(id, t, Mode::Running);
            }
            What::SemTimeout { semaphore } => {
                let number = self.objects.semaphore((process, semaphore));
                self.semaphore_left(number);
                if let Mode::SemWait(since) = self.states[id].mode {
                    self.threads[id].track.push(Raw::Away(t - since));
                }
                self.replayability.expired_waits += 1;
                self.resume(id, t, Mode::Running);
                self.turn_behind_wait(id, t);
            }
            What::SemPost { semaphore, .. } => {
                self.gap(id, t);
                let number = self.objects.semaphore((process, semaphore));
                let unit = self.semaphores.post(number, self.objects.initial(number), id as u32);
                self.threads[id].track.push(Raw::Post(unit));
                if self.semaphore_waiters.get(&number).is_some_and(|&waiters| waiters != 0) {
                    self.states[id].priced += self.chip.os.futex.wake.0;
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, id: usize, number: u32) {
        let unit = self.semaphores.take(number, self.objects.initial(number), id as u32);
        self.threads[id].track.push(Raw::Take(unit));
    }

    fn semaphore_left(&mut self, number: u32) {
        let waiters = self.semaphore_waiters.entry(number).or_default();
        *waiters = waiters.saturating_sub(1);
    }
}
