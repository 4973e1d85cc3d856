//! Runs on all cores. What the cache has is not run; what was run is kept at once, so that an interrupted study goes on
//! where it was.

use crate::{Cache, Study, StudyError};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Shows how far a study is.
pub trait Progress: Sync {
    /// So many more runs are to be done, and so many of them are in the cache.
    fn begin(&self, runs: usize, cached: usize);
    /// A run was done.
    fn done(&self, name: &str);
}

/// Shows nothing.
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: usize, _: usize) {}
    fn done(&self, _: &str) {}
}

/// What a study took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Runs that were done.
    pub run: usize,
    /// Runs that were in the cache, or the same as another.
    pub cached: usize,
    /// Files in the cache that were damaged, and done again.
    pub damaged: u64,
}

/// What became of a run.
type Outcome<S> = Result<<S as Study>::Figures, StudyError>;

/// A study's runs with their figures, in their order.
pub type Done<S> = Vec<(<S as Study>::Run, <S as Study>::Figures)>;

/// All runs, in their order, with what came out.
///
/// # Errors
/// With the first run that failed.
pub fn all<S: Study>(
    study: &S,
    runs: Vec<(String, S::Run)>,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<(Done<S>, Work), StudyError> {
    let inputs = |run: &S::Run| serde_json::to_string(run).unwrap_or_default();
    let mut figures: Vec<Option<S::Figures>> = runs.iter().map(|(_, run)| cache.get(&inputs(run))).collect();
    // Experiments share arms: the same inputs are run once.
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
