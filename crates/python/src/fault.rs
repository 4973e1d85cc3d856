//! Errors as `baton.Error`.

use baton_cli::call::Fault;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;

thread_local! {
    /// The last panic of this thread, with its place.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has panics of this library kept for [`panicked`], where Rust would print them on standard error.
pub(crate) fn keep_panics() {
    std::panic::set_hook(Box::new(|info| PANIC.set(Some(info.to_string()))));
}

/// The last panic of this thread as a fault.
pub(crate) fn panicked() -> Fault {
    let said = PANIC.take().unwrap_or_else(|| "a panic".to_owned());
    Fault {
        is_input: false,
        is_interrupted: false,
        message: format!("this is a fault of Baton's: {said}"),
        hint: None,
        file: None,
        line: None,
        key: None,
    }
}

/// A fault as a `baton.Error`.
pub(crate) fn error(py: Python<'_>, fault: &Fault) -> PyErr {
    let make = || {
        let class = py.import("baton._error")?.getattr("Error")?;
        let place = PyDict::new(py);
        place.set_item("hint", fault.hint.as_deref())?;
        place.set_item("file", fault.file.as_deref())?;
        place.set_item("line", fault.line)?;
        place.set_item("key", fault.key.as_deref())?;
        class.call((fault.message.as_str(),), Some(&place))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}
