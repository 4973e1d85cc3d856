//! When a thread had a CPU, and its CPU time.

use super::{Mode, Walk};
use baton_trace::{OffReason, What};

impl Walk<'_> {
    /// Records that the thread left its CPU or came back. That is no action of the thread.
    pub(super) fn off_cpu(&mut self, id: usize, t: u64, what: What) -> bool {
        match what {
            What::OffCpu { reason, .. } => {
                let blocked = match reason {
                    OffReason::Blocked => Some(true),
                    OffReason::Preempted => Some(false),
                    OffReason::Unknown => None,
                };
                self.states[id].off_since = Some((t, blocked));
                true
            }
            What::OnCpu { cpu, .. } => {
                self.states[id].cpu = Some(cpu);
                self.threads[id].switched = true;
                if let Some((since, blocked)) = self.states[id].off_since.take() {
                    self.threads[id].off.push((since, t, blocked));
                }
                true
            }
            _ => false,
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
            // The time for reading the CPU time belongs to recording, not to the program.
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
