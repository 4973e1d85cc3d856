//! Tests that an interrupted study can be resumed: finished runs are kept, checked when they are
//! read, and not run again; results come in the order of the runs.

use baton_studies::pool::Quiet;
use baton_studies::{Extent, Falsifier, Findings, Frozen, Study, StudyError, conduct};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A study whose runs square numbers; the run of `fails_at` fails.
struct Squares {
    fails_at: Option<u64>,
    runs: AtomicU64,
}

impl Study for Squares {
    type Run = u64;
    type Figures = u64;

    fn version(&self) -> &'static str {
        "1"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, u64)> {
        let n = if extent == Extent::Quick { 5 } else { 20 };
        (0..n).map(|i| (format!("square of {i}"), i)).collect()
    }

    fn run(&self, run: &u64) -> Result<u64, String> {
        self.runs.fetch_add(1, Relaxed);
        if self.fails_at == Some(*run) { Err("it fails here".to_owned()) } else { Ok(run * run) }
    }

    fn judge(&self, extent: Extent, done: &[(u64, u64)]) -> Findings {
        assert!(done.iter().enumerate().all(|(i, (run, square))| *run == i as u64 && *square == run * run));
        Findings {
            falsifiers: vec![Falsifier::not_run("cubes", "a square is no cube", "not run")],
            notes: vec![done.len().to_string()],
            ..Findings::of("squares", extent, Frozen::default())
        }
    }
}

fn squares(fails_at: Option<u64>) -> Squares {
    Squares { fails_at, runs: AtomicU64::new(0) }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("baton-conduct-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn an_interrupted_study_goes_on() {
    let folder = folder("resumes");
    let failing = squares(Some(7));
    let error = conduct(&failing, Extent::Full, &folder, &Quiet).unwrap_err().to_string();
    assert_eq!(error, "run square of 7: it fails here");
    let kept = failing.runs.load(Relaxed) - 1;
    let whole = squares(None);
    let (findings, work) = conduct(&whole, Extent::Full, &folder, &Quiet).unwrap();
    assert_eq!((findings.notes[0].as_str(), work.cached as u64, work.run as u64), ("20", kept, 20 - kept));
    // The runs of a quick study are among those of the full one, so all five are in the cache.
    let (_, work) = conduct(&whole, Extent::Quick, &folder, &Quiet).unwrap();
    assert_eq!((work.cached, work.run), (5, 0));
    // A damaged file of the cache is noticed, and its run is done again.
    let cached = || std::fs::read_dir(folder.join("cache")).unwrap().map(|entry| entry.unwrap().path());
    std::fs::write(cached().next().unwrap(), "{").unwrap();
    let (_, work) = conduct(&whole, Extent::Full, &folder, &Quiet).unwrap();
    assert_eq!((work.cached, work.run, work.damaged), (19, 1, 1));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let file = folder("file");
    std::fs::write(&file, "").unwrap();
    match conduct(&squares(None), Extent::Quick, &file, &Quiet) {
        Err(StudyError::Folder { path, .. }) => assert!(path.contains("baton-conduct-file")),
        other => panic!("{:?}", other.map(|(_, work)| work)),
    }
    std::fs::remove_file(&file).unwrap();
}
