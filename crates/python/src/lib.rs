//! `import baton`: the library of the command in the process of Python. The module `baton._baton` has runs as functions
//! of arguments and texts; the Python files beside it make options and typed results of these.
//!
//! | file | holds |
//! | --- | --- |
//! | [`running`] | a run on a thread of its own, which Ctrl-C ends |
//! | [`fault`] | errors as `baton.Error` |
//! | [`sweeping`] | sweeps |
//! | [`arrow`] | rows of a store as Arrow |

mod arrow;
mod fault;
mod running;
mod sweeping;

use baton_cli::call::{self, Fault, Stop};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The allocator of the command, for the same reason.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs `sim` or `noc` with a stop.
type Run = fn(&[String], &Stop) -> Result<String, Fault>;

fn with_stop(py: Python<'_>, run: Run, arguments: Vec<String>) -> PyResult<String> {
    let stop = Stop::default();
    let asked = stop.clone();
    running::run(py, move || stop.now(), || Ok(()), move || run(&arguments, &asked))
}

/// The JSON that a command prints with `--json` for the arguments.
#[pyfunction]
fn run(py: Python<'_>, command: &str, arguments: Vec<String>) -> PyResult<String> {
    let run = match command {
        "sim" => return with_stop(py, call::sim, arguments),
        "noc" => return with_stop(py, call::noc, arguments),
        "whatif" => call::whatif,
        "litmus" => call::litmus,
        "study" => call::study,
        "report" => call::report,
        other => return Err(PyValueError::new_err(format!("`{other}` is no command of this module"))),
    };
    // These cannot be asked to end.
    running::run(py, || {}, || Ok(()), move || run(&arguments))
}

/// The keys and values of the chip that the arguments name, as a JSON object.
#[pyfunction]
fn chip(py: Python<'_>, arguments: Vec<String>) -> PyResult<String> {
    py.detach(|| call::chip(&arguments)).map_err(|fault| fault::error(py, &fault))
}

/// The names of chip files.
#[pyfunction]
fn chips(py: Python<'_>) -> Vec<String> {
    py.detach(call::chips)
}

/// Says which folder holds `chips` and `profiles`.
#[pyfunction]
fn set_shipped(folder: PathBuf) {
    call::set_shipped(folder);
}

#[pymodule]
fn _baton(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fault::keep_panics();
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(chip, module)?)?;
    module.add_function(wrap_pyfunction!(chips, module)?)?;
    module.add_function(wrap_pyfunction!(set_shipped, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::table, module)?)?;
    module.add_class::<arrow::Rows>()?;
    module.add_class::<sweeping::Space>()
}
