//! Threads that start other threads and wait for their ends.

use super::{Mode, Walk};
use crate::program::Op;
use baton_trace::{ProcessIndex, What};

impl Walk<'_> {
    pub(super) fn family(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        match what {
            What::Create { .. } => {
                self.gap(id, t);
                self.states[id].mode = Mode::Busy;
                self.states[id].creating = t;
            }
            What::Created { handle, error } => {
                if self.states[id].mode == Mode::Busy {
                    self.states[id].mode = Mode::Running;
                    self.states[id].last = t;
                } else {
                    self.gap(id, t);
                }
                // Threads with this handle that began before `since` are earlier threads, which had
                // the handle before.
                let since = self.states[id].creating;
                let starts = self.starts.get_mut(&(process, handle));
                let child = starts.and_then(|starts| {
                    while starts.pop_front_if(|(began, _)| *began < since).is_some() {}
                    starts.pop_front().map(|(_, child)| child)
                });
                // Does not let a thread begin twice, as a damaged trace may have it.
                let fresh = |child: &u32| error == 0 && !self.started[*child as usize];
                if let Some(child) = child.filter(fresh) {
                    self.by_handle.insert((process, handle), child);
                    self.started[child as usize] = true;
                    self.op(id, Op::Spawn(child));
                }
            }
            What::JoinBegin { .. } => {
                self.gap(id, t);
                self.wait(id, t, Mode::Busy);
            }
            What::JoinEnd { handle, error } => {
                if let Some(&child) = self.by_handle.get(&(process, handle)).filter(|_| error == 0) {
                    self.op(id, Op::Join(child));
                    self.threads[child as usize].joined = t;
                }
                self.resume(id, t, Mode::Running);
            }
            _ => {}
        }
    }
}
