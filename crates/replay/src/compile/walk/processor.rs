//! The times at which a thread had a CPU, and its CPU time.

use super::{Mode, Walk};
use crate::compile::thread::Off;
use baton_trace::{OffReason, What};

impl Walk<'_> {
    /// Records that the thread left its CPU or came back, which is no act of the thread. Returns
    /// whether the event was of this kind.
    pub(super) fn off_cpu(&mut self, id: usize, t: u64, what: What) -> bool {
        match what {
            // What the thread did is not known, as reports of the kernel were lost: it counts as computing,
            // outside of recorded calls that blocked ([`Walk::blocked`]).
            What::OffCpu { reason, .. } => {
                let state = &mut self.states[id];
                state.unknown = reason == OffReason::Unknown;
                state.off_since = match reason {
                    OffReason::Blocked => Some((t, Off::Blocked)),
                    OffReason::Preempted => Some((t, Off::Ready)),
                    OffReason::Unknown => None,
                };
                true
            }
            What::OnCpu { cpu, .. } => {
                self.states[id].cpu = Some(cpu);
                self.threads[id].switched = true;
                self.states[id].unknown = false;
                if let Some((since, why)) = self.states[id].off_since.take() {
                    self.threads[id].off.push((since, t, why));
                }
                true
            }
            _ => false,
        }
    }

    /// Records that a call in which the thread blocked took the last `ticks` before `t`. Where the
    /// thread's switches are known, they say more. A turn of the thread's loop may end there.
    pub(super) fn blocked(&mut self, id: usize, t: u64, ticks: u64) {
        if self.states[id].unknown {
            self.threads[id].off.push((t.saturating_sub(ticks), t, Off::Blocked));
        }
        self.turn(id, t);
    }

    /// Records that the recorder took the last `ticks` before `t`. If the thread was blocked within
    /// this time, the recorder had blocked it.
    pub(super) fn pause(&mut self, id: usize, t: u64, ticks: u64) {
        self.states[id].pause += ticks;
        let off = &mut self.threads[id].off;
        let inside = off.partition_point(|(since, ..)| since + ticks < t);
        for (.., why) in off[inside..].iter_mut().filter(|(.., why)| *why == Off::Blocked) {
            *why = Off::Recorder;
        }
    }

    pub(super) fn cpu_time(&mut self, id: usize, t: u64, ns: u64) {
        match self.states[id].mode {
            Mode::Running if !self.states[id].after_wait => self.gap(id, t),
            Mode::LockWait(since) => self.around.0.push(t - since),
            _ => {}
        }
        self.threads[id].cpu_time(ns);
        let state = &mut self.states[id];
        if state.mode == Mode::Running && state.after_wait {
            // The time that reading the CPU time took belongs to recording, and not to the program.
            let read = t - state.last;
            match &mut state.leaf {
                Some(leaf) => {
                    (leaf.since, leaf.pause) = (t, state.pause);
                    state.read += read;
                    self.around.1.push(read);
                }
                None => state.pause += read,
            }
        }
    }
}
