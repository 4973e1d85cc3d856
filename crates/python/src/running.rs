//! A run on a thread of its own. The caller waits without the GIL and looks for signals meanwhile.

use crate::fault;
use baton_cli::call::Fault;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The longest time between two looks for signals.
const LOOK: Duration = Duration::from_millis(20);
/// The longest wait for a run that was asked to end. A run that takes longer ends unattended.
const END: Duration = Duration::from_millis(50);
/// Bytes of the thread's stack: those of a program's first thread.
const STACK: usize = 8 << 20;

/// Runs `work` and returns its result. A signal whose handler raises (Ctrl-C) calls `stop`, and is raised here, as what `look`
/// raises is. `look` is called at each look for signals.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    stop: impl Fn(),
    look: impl Fn() -> PyResult<()>,
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    // Without a reader, the result of a run that was given up is dropped.
    let body = move || {
        let ended = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(fault::panicked()));
        drop(sender.send(ended));
    };
    let started = std::thread::Builder::new().name("baton".to_owned()).stack_size(STACK).spawn(body);
    started.map_err(|error| PyRuntimeError::new_err(format!("no thread for a run: {error}")))?;
    // The thread that waits is the only one that locks.
    let receiver = Mutex::new(receiver);
    let wait = |time: Duration| match receiver.lock() {
        Ok(receiver) => receiver.recv_timeout(time),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    };
    loop {
        match py.detach(|| wait(LOOK)) {
            Ok(ended) => return ended.map_err(|fault| fault::error(py, &fault)),
            Err(RecvTimeoutError::Disconnected) => return Err(fault::error(py, &fault::panicked())),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(interrupt) = py.check_signals().and_then(|()| look()) {
            stop();
            drop(py.detach(|| wait(END)));
            return Err(interrupt);
        }
    }
}
