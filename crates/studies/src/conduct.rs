//! Conducts a study from its first run to its findings: in rounds, until the study asks for no more
//! runs.

use crate::cache::Cache;
use crate::claim::Findings;
use crate::extent::Extent;
use crate::pool::{self, Progress, Work};
use crate::study::{Study, StudyError};
use std::path::Path;

/// Runs a study in `folder`, with the cache in `folder/cache`.
///
/// # Errors
/// The run that failed, the folder that cannot be used, or the fault of the findings.
pub fn conduct<S: Study>(
    study: &S,
    extent: Extent,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<(Findings, Work), StudyError> {
    let cache = Cache::open(&folder.join("cache"), study.version())?;
    let (mut done, mut work) = pool::all(study, study.runs(extent), &cache, progress)?;
    loop {
        let more = study.more(extent, &done);
        if more.is_empty() {
            let findings = study.judge(extent, &done);
            findings.check().map_err(StudyError::Findings)?;
            return Ok((findings, work));
        }
        let (more, of_these) = pool::all(study, more, &cache, progress)?;
        done.extend(more);
        work = Work { run: work.run + of_these.run, cached: work.cached + of_these.cached, damaged: of_these.damaged };
    }
}
