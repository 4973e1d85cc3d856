//! While a program runs under `baton profile`: has the kernel write out the recording early, from a
//! thread of Baton's own. Otherwise the kernel would stop the program's threads once too many pages
//! of the recording wait to be written out.

use baton_trace::write_out::WriteOut;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two looks at the recording. A thread that does nothing but lock fills some 70 MB
/// in it.
const LOOK: Duration = Duration::from_millis(100);

/// A thread of Baton's own that has full parts of the recording written out.
pub(super) struct Writing {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Writing {
    /// Starts the thread for the recording in `directory`.
    pub(super) fn begin(directory: &Path) -> Writing {
        let (end, told) = channel::<()>();
        let mut write_out = WriteOut::of(directory);
        let thread = std::thread::spawn(move || {
            while told.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                write_out.look();
            }
        });
        Writing { end, thread }
    }

    /// Ends the thread.
    pub(super) fn end(self) {
        drop(self.end);
        // A thread that has panicked has said so.
        let _ = self.thread.join();
    }
}
