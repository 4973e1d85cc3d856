//! Futexes of the program's own: a wait becomes a token, which the wake that ended the wait puts
//! down, as at a condition variable. The trace has from the kernel how many waiters each wake woke.

use super::{Mode, Walk};
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{Address, FutexEnd, ProcessIndex, What};

/// The note for programs that wait for locks inside of the C library.
const LIBC: &str = "waits for locks inside of the C library are replayed as sleeps of the recorded length";

impl Walk<'_> {
    pub(super) fn futex(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        match what {
            What::FutexWait { futex, .. } => {
                self.gap(id, t);
                self.wait(id, t, Mode::FutexWait(t));
                self.tokens.wait((process, futex), id as u32);
            }
            What::FutexWaitEnd { futex, end } => self.futex_wait_ended(id, t, (process, futex), end),
            What::FutexWake { .. } => self.gap(id, t),
            What::FutexWoke { futex, woken, .. } => self.futex_woke(id, (process, futex), woken),
            _ => {}
        }
    }

    fn futex_wait_ended(&mut self, id: usize, t: u64, place: (ProcessIndex, Address), end: FutexEnd) {
        let Mode::FutexWait(since) = self.states[id].mode else {
            self.tokens.gave_up(place, id as u32);
            self.gap(id, t);
            self.replayability.unmatched_waits += 1;
            return;
        };
        self.resume(id, t, Mode::Running);
        let token = match end {
            FutexEnd::Woken => self.tokens.woken(place, id as u32),
            _ => {
                self.tokens.gave_up(place, id as u32);
                None
            }
        };
        match (token, end) {
            (Some(token), _) => self.op(id, Op::TokenWait(token)),
            // The word had changed, so the call returned at once, and nothing is replayed.
            (None, FutexEnd::Changed) => {}
            (None, _) => {
                self.replayability.unmatched_waits += u64::from(end == FutexEnd::Woken);
                self.replayability.expired_waits += u64::from(matches!(end, FutexEnd::Interrupted | FutexEnd::Failed));
                self.threads[id].track.push(Raw::Away(t - since));
                self.turn_behind_wait(id, t);
            }
        }
    }

    fn futex_woke(&mut self, id: usize, place: (ProcessIndex, Address), woken: u32) {
        for _ in 0..woken {
            let (signal, matched) = self.tokens.signal(place, false);
            if matched == 0 {
                break;
            }
            self.threads[id].track.push(Raw::Signal(signal));
        }
        if woken != 0 {
            let os = &self.chip.os;
            self.states[id].priced += os.futex.wake.0 + (u64::from(woken) - 1) * os.futex.wake_more.0;
        }
    }

    /// Adds the note that some thread waited for a lock inside of the C library, unless it is
    /// there. The context switches tell for how long a thread sleeps there.
    pub(super) fn libc_wait(&mut self) {
        if !self.notes.iter().any(|note| note == LIBC) {
            self.notes.push(LIBC.to_owned());
        }
    }
}
