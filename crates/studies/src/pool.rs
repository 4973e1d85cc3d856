//! Runs on all cores. A run in the cache is not repeated, and a finished run is stored at once, so
//! that an interrupted study continues where it was.

use crate::{Cache, Study, StudyError};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Shows the progress of a study.
pub trait Progress: Sync {
    /// Notes that the study has `runs` runs, of which `cached` need not be done: they are in the
    /// cache, or equal another one.
    fn begin(&self, runs: usize, cached: usize);
    /// Notes that a run ended, with figures or an error.
    fn done(&self, name: &str);
}

/// Shows no progress.
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: usize, _: usize) {}
    fn done(&self, _: &str) {}
}

/// The work that a study took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of runs that were done.
    pub run: usize,
    /// The number of runs that were in the cache, or equal to another run.
    pub cached: usize,
    /// How often a damaged file was found in the cache; the runs of such files were repeated.
    pub damaged: u64,
}

/// The result of a run.
type Outcome<S> = Result<<S as Study>::Figures, StudyError>;

/// A study's runs with their figures, in order.
pub type Done<S> = Vec<(<S as Study>::Run, <S as Study>::Figures)>;

/// Does all runs. Returns their figures in the order of the runs.
///
/// # Errors
/// The first of the runs that failed, or whose figures could not be stored. Runs that were not
/// begun by then are not done.
pub fn all<S: Study>(
    study: &S,
    runs: Vec<(String, S::Run)>,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<(Done<S>, Work), StudyError> {
    let inputs = |run: &S::Run| serde_json::to_string(run).unwrap_or_default();
    let mut figures: Vec<Option<S::Figures>> = runs.iter().map(|(_, run)| cache.get(&inputs(run))).collect();
    // Experiments share arms, so the same inputs are run only once.
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let same: Vec<usize> =
        runs.iter().enumerate().map(|(i, (_, run))| *first.entry(inputs(run)).or_insert(i)).collect();
    let open: Vec<usize> = (0..runs.len()).filter(|&i| figures[i].is_none() && same[i] == i).collect();
    let cached = runs.len() - open.len();
    progress.begin(runs.len(), cached);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Mutex<Vec<(usize, Outcome<S>)>> = Mutex::new(Vec::new());
    let worker = || {
        while let Some(&i) = open.get(next.fetch_add(1, Relaxed)) {
            if failed.load(Relaxed) {
                break;
            }
            let (name, run) = &runs[i];
            let result = study.run(run).map_err(|why| StudyError::Run { run: name.clone(), why });
            let result = result.and_then(|figures| cache.put(&inputs(run), &figures).map(|()| figures));
            failed.fetch_or(result.is_err(), Relaxed);
            progress.done(name);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((i, result));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(open.len());
    #[allow(clippy::disallowed_methods, reason = "host threads that each run simulations of their own")]
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(i, _)| *i);
    for (i, result) in results {
        figures[i] = Some(result?);
    }
    for i in 0..runs.len() {
        if figures[i].is_none() {
            figures[i] = figures[same[i]].clone();
        }
    }
    let work = Work { run: open.len(), cached, damaged: cache.damaged() };
    let done = runs.into_iter().zip(figures).filter_map(|((_, run), figures)| Some((run, figures?))).collect();
    Ok((done, work))
}
