//! The results of commands, without printing: for programs in other languages that load this
//! library. Arguments are those of the command, as `--threads=8`; results are the JSON that the
//! command prints with `--json`.

use crate::cmd::litmus::{self, Litmus};
use crate::cmd::noc::{self, Noc};
use crate::cmd::report;
use crate::cmd::sim::{self, Sim};
use crate::cmd::study::{self, Study};
use crate::cmd::sweep::{self, Swept};
use crate::cmd::whatif::{self, Whatif};
use crate::error::{self, BadInput, Interrupted};
use crate::places;
use baton_studio::hash::Key;
use baton_studio::space::Point;
use baton_studio::store::{SpaceText, Table};
use baton_studio::subject::Figure;
use baton_studio::sweep::{Plan, Watch};
use std::path::{Path, PathBuf};

pub use crate::cmd::sweep::{CallKind, CallOption, Many};
pub use baton_chip::Stop;
pub use baton_studio::sweep::{End, SweepProgress};

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whether other input avoids it.
    pub is_input: bool,
    /// Whether the run was asked to end.
    pub is_interrupted: bool,
    /// What is wrong, with causes.
    pub message: String,
    /// How to correct it.
    pub hint: Option<String>,
    /// The file, or the option that takes its place.
    pub file: Option<String>,
    /// The line of the file, from 1.
    pub line: Option<usize>,
    /// The key of the file, or the option of the command.
    pub key: Option<String>,
}

impl From<BadInput> for Fault {
    fn from(bad: BadInput) -> Fault {
        anyhow::Error::from(bad).into()
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Fault {
        let bad = error::bad_input(&error);
        let place = bad.map(|bad| bad.place().clone()).unwrap_or_default();
        Fault {
            is_input: bad.is_some(),
            is_interrupted: error.chain().any(|cause| cause.is::<Interrupted>()),
            message: error::text(&error),
            hint: bad.and_then(|bad| bad.advice()).map(ToOwned::to_owned),
            file: place.file,
            line: place.line,
            key: place.key,
        }
    }
}

/// Says which folder holds the `chips` and `profiles` that are shipped with the program. The first
/// call counts.
pub fn set_shipped(folder: PathBuf) {
    places::set_shipped(folder);
}

/// The options of `sim` that concern one run.
pub fn sim_options() -> Vec<CallOption> {
    sweep::call_options::<Sim>(Sim::NOT_OF_A_POINT)
}

/// The options of `noc`.
pub fn noc_options() -> Vec<CallOption> {
    sweep::call_options::<Noc>(Noc::NOT_OF_A_POINT)
}

/// The options of `whatif` that do not concern its output.
pub fn whatif_options() -> Vec<CallOption> {
    sweep::call_options::<Whatif>(&["json", "html"])
}

/// The options of `litmus` that do not concern its output.
pub fn litmus_options() -> Vec<CallOption> {
    sweep::call_options::<Litmus>(&["json", "model", "verdicts"])
}

/// The options of `study` that do not concern its output.
pub fn study_options() -> Vec<CallOption> {
    sweep::call_options::<Study>(&["json", "markdown", "figures"])
}

/// The figures of `noc`.
pub fn noc_figures() -> Vec<Figure> {
    Noc.figures()
}

/// Runs `baton sim`.
///
/// # Errors
/// What the command would say, or that `stop` ended the run.
pub fn sim(arguments: &[String], stop: &Stop) -> Result<String, Fault> {
    let point = sweep::call_parse::<Sim>(arguments)?;
    Ok(sim::json(&point, stop)?)
}

/// Runs `baton noc`.
///
/// # Errors
/// What the command would say, or that `stop` ended the run.
pub fn noc(arguments: &[String], stop: &Stop) -> Result<String, Fault> {
    let point = sweep::call_parse::<Noc>(arguments)?;
    Ok(noc::json(&point, stop)?)
}

/// Runs `baton whatif`. It cannot be asked to end.
///
/// # Errors
/// What the command would say.
pub fn whatif(arguments: &[String]) -> Result<String, Fault> {
    Ok(whatif::json(&sweep::parsed("whatif", arguments)?)?)
}

/// Runs `baton litmus`. It cannot be asked to end.
///
/// # Errors
/// What the command would say.
pub fn litmus(arguments: &[String]) -> Result<String, Fault> {
    Ok(litmus::json(&sweep::parsed("litmus", arguments)?)?)
}

/// Runs `baton study`. It cannot be asked to end.
///
/// # Errors
/// What the command would say.
pub fn study(arguments: &[String]) -> Result<String, Fault> {
    Ok(study::json(&sweep::parsed("study", arguments)?)?)
}

/// The report of a profile, as `baton report --json` has it.
///
/// # Errors
/// What the command would say.
pub fn report(arguments: &[String]) -> Result<String, Fault> {
    Ok(report::json(&sweep::parsed("report", arguments)?)?)
}

/// The whole configuration of the chip that the options of `sim` name: an object of keys and their
/// values.
///
/// # Errors
/// What the command would say.
pub fn chip(arguments: &[String]) -> Result<String, Fault> {
    let point = sweep::call_parse::<Sim>(arguments)?;
    Ok(sim::chip_json(&point)?)
}

/// The names of the chip files that are found.
pub fn chips() -> Vec<String> {
    crate::chips::names()
}

/// The space of a sweep.
pub struct Sweep {
    loaded: sweep::Loaded,
}

/// Which points of a space run, and how.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Points that run at the same time; `None` for one on each CPU.
    pub jobs: Option<usize>,
    /// Whether points whose rows are failures run again.
    pub retry: bool,
    /// The numbers of the combinations to run; `None` for all.
    pub only: Option<Vec<u64>>,
}

impl Sweep {
    /// Reads the space in a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no space.
    pub fn load(path: &Path) -> Result<Sweep, Fault> {
        Ok(Sweep { loaded: sweep::Loaded::open(path)? })
    }

    /// A space from its text. `file` is the path of its file, beside which files of values lie.
    ///
    /// # Errors
    /// The text is no space.
    pub fn of(text: String, file: &str) -> Result<Sweep, Fault> {
        Ok(Sweep { loaded: sweep::Loaded::of(SpaceText { file: file.to_owned(), text }, file)? })
    }

    /// The space with these seeds in place of its own.
    ///
    /// # Errors
    /// No seed, or one that is given twice.
    pub fn with_seeds(&self, seeds: &[u64]) -> Result<Sweep, Fault> {
        Ok(Sweep { loaded: self.loaded.with_seeds(seeds)? })
    }

    /// The text of the space's file, and the file's absolute path.
    pub fn text(&self) -> (&str, &str) {
        (&self.loaded.text.text, &self.loaded.text.file)
    }

    /// The checked space.
    pub fn plan(&self) -> &Plan {
        &self.loaded.plan
    }

    /// The coordinates of the combination with this number; `None` if a constraint excludes it.
    ///
    /// # Errors
    /// There is no such number, or an expression has no value.
    pub fn point(&self, number: u64) -> Result<Option<Point>, Fault> {
        self.checked(&[number])?;
        Ok(self.loaded.plan.point(number).map_err(sweep::bad_space)?)
    }

    /// The keys under which a store has the combination with this number, one for each of the
    /// seeds; none if a constraint excludes it.
    ///
    /// # Errors
    /// There is no such number, or an expression has no value.
    pub fn keys(&self, number: u64, seeds: &[u64]) -> Result<Vec<Key>, Fault> {
        self.checked(&[number])?;
        Ok(self.loaded.plan.keys(number, seeds).map_err(sweep::bad_space)?)
    }

    fn checked(&self, numbers: &[u64]) -> Result<(), Fault> {
        let has = self.loaded.plan.space().combinations();
        match numbers.iter().find(|&&number| number >= has) {
            None => Ok(()),
            Some(number) => {
                let what = format!("there is no combination {number}; the space has {has}, numbered from 0");
                Err(anyhow::Error::from(BadInput::new(what)).into())
            }
        }
    }

    /// The number of points.
    pub fn points(&self) -> u64 {
        self.loaded.plan.points()
    }

    /// The number of rows of the complete sweep.
    pub fn rows(&self) -> u64 {
        self.loaded.plan.rows()
    }

    /// The folder of the store if none is named.
    pub fn store(&self) -> PathBuf {
        sweep::store_of(Path::new(&self.loaded.text.file))
    }

    /// Runs the points that the store in `folder` lacks.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn run(
        &self,
        folder: &Path,
        runs: &Runs,
        stop: &dyn Fn() -> bool,
        watch: &mut dyn Watch,
    ) -> Result<(End, SweepProgress), Fault> {
        self.checked(runs.only.as_deref().unwrap_or_default())?;
        if runs.retry {
            self.loaded.forget_failures(folder)?;
        }
        let settings = sweep::RunSettings { jobs: runs.jobs, stop, only: runs.only.as_deref() };
        Ok(self.loaded.run(folder, &settings, watch)?)
    }
}

/// Rows of a store, as `baton sweep show` has them, with all columns unless `columns` names some.
///
/// # Errors
/// What the command would say.
pub fn table(folder: &Path, condition: Option<&str>, columns: &[String]) -> Result<Table, Fault> {
    Ok(sweep::table_of(folder, condition, columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|argument| (*argument).to_owned()).collect()
    }

    #[test]
    fn faults_have_their_place() {
        let fault = sim(&all(&["--threads=many"]), &Stop::default()).unwrap_err();
        assert_eq!((fault.is_input, fault.key.as_deref()), (true, Some("--threads")));
        let fault = chip(&all(&["--set=core.cout=8"])).unwrap_err();
        assert_eq!((fault.file.as_deref(), fault.key.as_deref()), (Some("--set"), Some("core.cout")));
        let fault = noc(&all(&["--rate=7"]), &Stop::default()).unwrap_err();
        assert_eq!((fault.is_input, fault.key.as_deref()), (true, Some("rate")), "{fault:?}");
    }

    #[test]
    fn a_run_that_was_asked_to_end_has_no_figures() {
        let stop = Stop::default();
        stop.now();
        let cores = "--set=core.count=2";
        assert!(sim(&all(&[cores, "--set=core.per_cluster=2"]), &stop).unwrap_err().is_interrupted);
        assert!(noc(&[], &stop).unwrap_err().is_interrupted);
    }

    #[test]
    fn options_of_output_are_no_options_of_a_call() {
        let names: Vec<String> = sim_options().into_iter().map(|option| option.name).collect();
        assert!(names.iter().any(|name| name == "threads") && !names.iter().any(|name| name == "json"), "{names:?}");
        assert!(sim(&all(&["--json"]), &Stop::default()).unwrap_err().is_input);
    }
}
