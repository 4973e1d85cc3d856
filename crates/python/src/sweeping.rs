//! Sweeps.

use crate::{fault, running};
use baton_cli::call::{End, Fault, Runs, Sweep, SweepProgress};
use baton_studio::space::Seeds;
use baton_studio::store::{Role, Row};
use baton_studio::sweep::Watch;
use baton_studio::value::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A space of points, read from its file.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct Space(Arc<Sweep>);

/// Keeps how far a sweep is, for a reader in another thread.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<SweepProgress>>);

impl Kept {
    fn now(&self) -> SweepProgress {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watch for Kept {
    fn row(&mut self, _: &Row, state: &SweepProgress) {
        self.tick(state);
    }

    fn tick(&mut self, state: &SweepProgress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state.clone();
    }
}

/// Rows in the store, rows of the whole sweep, rows added, failures, seconds, and the best point with its value.
type Progress = (u64, u64, u64, u64, f64, Option<(f64, String)>);

fn progress(state: SweepProgress) -> Progress {
    let best = state.best.map(|best| (best.value, best.point));
    (state.before + state.added, state.whole, state.added, state.failed, state.elapsed.as_secs_f64(), best)
}

impl Space {
    fn with<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&Sweep) -> Result<T, Fault> + Send) -> PyResult<T> {
        py.detach(|| of(&self.0)).map_err(|fault| fault::error(py, &fault))
    }
}

#[pymethods]
impl Space {
    /// Reads the space in a file, or the text of a file with this path. With `seeds`, each point runs with these.
    #[new]
    #[pyo3(signature = (file, text=None, seeds=None))]
    fn new(py: Python<'_>, file: PathBuf, text: Option<String>, seeds: Option<Vec<u64>>) -> PyResult<Space> {
        let load = || {
            let loaded = match text {
                Some(text) => Sweep::of(text, &file.display().to_string()),
                None => Sweep::load(&file),
            }?;
            seeds.map_or(Ok(None), |seeds| loaded.with_seeds(&seeds).map(Some)).map(|other| other.unwrap_or(loaded))
        };
        let loaded = py.detach(load).map_err(|fault| fault::error(py, &fault))?;
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

    /// The text of the file, and the file's path.
    #[getter]
    fn text(&self) -> (&str, &str) {
        self.0.text()
    }

    /// The number of combinations of the axes' values.
    #[getter]
    fn combinations(&self) -> u64 {
        self.0.plan().space().combinations()
    }

    /// The axes, each with its values, as a JSON list of pairs.
    #[getter]
    fn axes(&self) -> String {
        let axes = self.0.plan().space().axes.iter();
        let pair = |axis: &baton_studio::space::Axis| {
            serde_json::json!([axis.name, axis.values.iter().map(Value::json).collect::<Vec<_>>()])
        };
        axes.map(pair).collect::<serde_json::Value>().to_string()
    }

    /// The names of the coordinates: axes, then settings.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.plan().space().names().map(ToOwned::to_owned).collect()
    }

    /// The names of the metrics.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        let figures = self.0.plan().columns().iter().filter(|column| column.role == Role::Figure);
        figures.map(|column| column.name.clone()).collect()
    }

    /// The metric of the goal, and whether more of it is better.
    #[getter]
    fn goal(&self) -> Option<(String, bool)> {
        self.0.plan().space().goal.as_ref().map(|goal| (goal.metric.clone(), goal.most))
    }

    /// Whether the space says where a sweep ends early.
    #[getter]
    fn has_budget(&self) -> bool {
        let budget = &self.0.plan().space().budget;
        budget.points.is_some() || budget.time.is_some()
    }

    /// The seeds with which each point runs; with `until`, those with which it may run.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        match &self.0.plan().space().seeds {
            Seeds::List(seeds) => seeds.clone(),
            Seeds::Until { most, .. } => (1..=u64::from(*most)).collect(),
        }
    }

    /// The coordinates of a combination as a JSON object; `None` if a constraint excludes it.
    fn point(&self, py: Python<'_>, number: u64) -> PyResult<Option<String>> {
        let found = self.with(py, |sweep| sweep.point(number))?;
        let object = found.map(|point| {
            let values = point.values.iter().map(|value| value.as_ref().map_or(serde_json::Value::Null, Value::json));
            self.0.plan().space().names().map(ToOwned::to_owned).zip(values).collect::<serde_json::Map<_, _>>()
        });
        Ok(object.map(|object| serde_json::Value::from(object).to_string()))
    }

    /// The keys of a combination in a store, one for each seed; none if a constraint excludes it.
    fn keys(&self, py: Python<'_>, number: u64, seeds: Vec<u64>) -> PyResult<Vec<String>> {
        let keys = self.with(py, |sweep| sweep.keys(number, &seeds))?;
        Ok(keys.iter().map(ToString::to_string).collect())
    }

    /// Runs the points that the store lacks; with `only`, those of these combinations. Returns why the sweep ended, the rows that it
    /// added, the rows that were there, and how many of the added ones are failures. `watch` is called with the progress.
    #[pyo3(signature = (folder, jobs, retry, only, watch))]
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        jobs: Option<usize>,
        retry: bool,
        only: Option<Vec<u64>>,
        watch: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(&'static str, u64, u64, u64)> {
        if watch.as_ref().is_some_and(|watch| !watch.is_callable()) {
            return Err(PyTypeError::new_err("`progress` is not callable"));
        }
        let asked = Arc::new(AtomicBool::new(false));
        let (sweep, told) = (Arc::clone(&self.0), Arc::clone(&asked));
        let kept = Kept::default();
        let (mut keeper, runs) = (kept.clone(), Runs { jobs, retry, only });
        let stop = move || asked.store(true, Ordering::Relaxed);
        let tell = |state: SweepProgress| match &watch {
            Some(watch) => watch.call1(progress(state)).map(drop),
            None => Ok(()),
        };
        let work = move || sweep.run(&folder, &runs, &|| told.load(Ordering::Relaxed), &mut keeper);
        let (end, state) = running::run(py, stop, || tell(kept.now()), work)?;
        tell(state.clone())?;
        let end = match end {
            End::Done => "done",
            End::Budget => "budget",
            End::Memory => "memory",
            End::Stopped => "stopped",
        };
        Ok((end, state.added, state.before, state.failed))
    }
}
