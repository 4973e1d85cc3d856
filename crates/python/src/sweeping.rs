//! Sweeps.

use crate::{fault, running};
use baton_cli::call::{End, Sweep, SweepProgress};
use baton_studio::store::Row;
use baton_studio::sweep::Watch;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A space of points, read from its file.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct Space(Arc<Sweep>);

/// Sees rows and shows nothing.
struct Quiet;

impl Watch for Quiet {
    fn row(&mut self, _: &Row, _: &SweepProgress) {}
    fn tick(&mut self, _: &SweepProgress) {}
}

#[pymethods]
impl Space {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Space> {
        let loaded = py.detach(|| Sweep::load(&path)).map_err(|fault| fault::error(py, &fault))?;
        Ok(Space(Arc::new(loaded)))
    }

    #[getter]
    fn points(&self) -> u64 {
        self.0.points()
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    #[getter]
    fn store(&self) -> PathBuf {
        self.0.store()
    }

    /// Runs the points that the store lacks. Returns why the sweep ended, the rows that it added, the rows that were there,
    /// and how many of the added ones are failures.
    #[pyo3(signature = (folder, jobs, retry))]
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        jobs: Option<usize>,
        retry: bool,
    ) -> PyResult<(&'static str, u64, u64, u64)> {
        let asked = Arc::new(AtomicBool::new(false));
        let (sweep, told) = (Arc::clone(&self.0), Arc::clone(&asked));
        let stop = move || asked.store(true, Ordering::Relaxed);
        let work = move || sweep.run(&folder, jobs, retry, &|| told.load(Ordering::Relaxed), &mut Quiet);
        let (end, state) = running::run(py, stop, work)?;
        let end = match end {
            End::Done => "done",
            End::Budget => "budget",
            End::Memory => "memory",
            End::Stopped => "stopped",
        };
        Ok((end, state.added, state.before, state.failed))
    }
}
