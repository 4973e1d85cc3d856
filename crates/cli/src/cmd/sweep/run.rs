//! A sweep from its space to its store.

use super::RunArgs;
use super::subject::Of;
use super::watch::Watcher;
use crate::cmd::litmus::Litmus;
use crate::cmd::noc::Noc;
use crate::cmd::sim::Sim;
use crate::cmd::study::Study;
use crate::cmd::whatif::Whatif;
use crate::error::{BadInput, Place};
use crate::{chips, ui};
use anyhow::Context;
use baton_host::launch::signals::{PassedOn, asked_to_end};
use baton_studio::space::{Seeds, Space, SpaceError};
use baton_studio::store::{SpaceText, Store, StoreError, Writer};
use baton_studio::subject::Subject;
use baton_studio::sweep::{End, Options, Plan, SweepError, SweepProgress, Watch, sweep};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Commands whose points can be swept.
const COMMANDS: [&str; 5] = ["sim", "noc", "whatif", "litmus", "study"];

/// The exit code of a command that Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;

/// The most bytes of a space's file.
const MOST_BYTES: u64 = 16 << 20;

fn subject(command: &str) -> Option<Arc<dyn Subject>> {
    match command {
        "sim" => Some(Arc::new(Of::new(Sim::default()))),
        "noc" => Some(Arc::new(Of::new(Noc))),
        "whatif" => Some(Arc::new(Of::new(Whatif::default()))),
        "litmus" => Some(Arc::new(Of::new(Litmus::default()))),
        "study" => Some(Arc::new(Of::new(Study))),
        _ => None,
    }
}

/// An error of a space as bad input.
pub(crate) fn bad_space(error: SpaceError) -> anyhow::Error {
    let place = Place { file: Some(error.file.clone()), line: error.line, key: None };
    let bad = BadInput::new(&error).at(place);
    match error.hint {
        Some(hint) => bad.hint(hint).into(),
        None => bad.into(),
    }
}

/// An error of a store: [`BadInput`] if other input avoids it.
pub(super) fn bad_store(error: StoreError) -> anyhow::Error {
    if error.is_input() { BadInput::new(error).into() } else { error.into() }
}

/// An error of a store to which a sweep would add rows: a store of something else gets a hint.
fn other_store(error: StoreError) -> anyhow::Error {
    let is_other = matches!(error, StoreError::Other { .. });
    let bad = bad_store(error);
    if is_other { BadInput::new(format!("{bad:#}")).hint("name another store with --store DIR").into() } else { bad }
}

/// A space that was read and checked against its command.
pub(crate) struct Loaded {
    pub(crate) text: SpaceText,
    pub(crate) plan: Arc<Plan>,
}

/// How the points of a space run.
pub(crate) struct RunSettings<'a> {
    /// Points that run at the same time; `None` for one on each CPU.
    pub(crate) jobs: Option<usize>,
    /// Whether the sweep is to end at once.
    pub(crate) stop: &'a dyn Fn() -> bool,
    /// The numbers of the combinations to run; `None` for all.
    pub(crate) only: Option<&'a [u64]>,
}

impl Loaded {
    /// Reads the space in a file.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Loaded> {
        let text = baton_trace::files::read_text(path, MOST_BYTES);
        let text = text.map_err(|error| {
            let file = path.display().to_string();
            BadInput::new(format!("{file}: {error}")).at(Place { file: Some(file), ..Place::default() })
        })?;
        let file = std::path::absolute(path).context("cannot tell the current directory")?;
        Loaded::of(SpaceText { file: file.display().to_string(), text }, &path.display().to_string())
    }

    /// A space from its text, checked against its command. Messages call the file `name`.
    pub(crate) fn of(text: SpaceText, name: &str) -> anyhow::Result<Loaded> {
        let beside = Path::new(&text.file).parent().unwrap_or(Path::new("."));
        let space = Space::from_toml(&text.text, name, beside, &chips::names).map_err(bad_space)?;
        let subject = subject(&space.command)
            .ok_or_else(|| BadInput::unknown("command to sweep", &space.command, COMMANDS))
            .with_context(|| name.to_owned())?;
        let plan = Arc::new(Plan::new(space, subject).map_err(bad_space)?);
        Ok(Loaded { text, plan })
    }

    /// The space with these seeds in place of its own.
    pub(crate) fn with_seeds(&self, seeds: &[u64]) -> anyhow::Result<Loaded> {
        let is_twice = |(at, seed): (usize, &u64)| seeds[..at].contains(seed) || i64::try_from(*seed).is_err();
        if seeds.is_empty() || seeds.iter().enumerate().any(is_twice) {
            return Err(
                BadInput::new(format!("the seeds are {seeds:?}; expected one or more below 2^63, none twice")).into()
            );
        }
        let mut space = self.plan.space().clone();
        space.seeds = Seeds::List(seeds.to_vec());
        let subject = subject(&space.command).context("a command to sweep")?;
        Ok(Loaded { text: self.text.clone(), plan: Arc::new(Plan::new(space, subject).map_err(bad_space)?) })
    }

    /// Removes the rows of failures from the store in `folder`, so that their points run again. Returns
    /// their number; `None` if there is no store yet.
    pub(crate) fn forget_failures(&self, folder: &Path) -> anyhow::Result<Option<usize>> {
        if !folder.is_dir() {
            return Ok(None);
        }
        let manifest = self.plan.manifest(self.text.clone());
        let removed = Store::open(folder).and_then(|store| store.forget_failures(&manifest));
        removed.map(Some).map_err(other_store)
    }

    /// Runs the points that the store in `folder` lacks.
    pub(crate) fn run(
        &self,
        folder: &Path,
        settings: &RunSettings<'_>,
        watch: &mut dyn Watch,
    ) -> anyhow::Result<(End, SweepProgress)> {
        let manifest = self.plan.manifest(self.text.clone());
        let mut writer = Writer::open(folder, &manifest, &self.plan.until()).map_err(other_store)?;
        let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        let options = Options { workers: settings.jobs.unwrap_or_else(cpus), stop: settings.stop, only: settings.only };
        let swept = sweep(&self.plan, &mut writer, &options, watch);
        let closed = writer.close();
        let swept = swept.map_err(|error| match error {
            SweepError::Space(error) => bad_space(error),
            SweepError::Store(error) => bad_store(error),
        })?;
        closed.map_err(bad_store)?;
        Ok(swept)
    }
}

/// The store of a space if none is named: `space.v1.toml` has the store `space.v1.store`.
pub(crate) fn store_of(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".store");
    PathBuf::from(name)
}

/// Begins a sweep, or goes on with it.
pub(super) fn begin(path: &Path, options: &RunArgs) -> anyhow::Result<ExitCode> {
    let store = options.store.clone().unwrap_or_else(|| store_of(path));
    go(&Loaded::open(path)?, &store, options)
}

/// Goes on with the sweep of a store.
pub(super) fn resume(folder: &Path, options: &RunArgs) -> anyhow::Result<ExitCode> {
    let store = Store::open(folder).map_err(bad_store)?;
    let space = store.manifest().space.clone();
    let name = space.file.clone();
    go(&Loaded::of(space, &name)?, folder, options)
}

/// The number of rows of a complete sweep of this space.
pub(super) fn rows_of(text: &SpaceText) -> anyhow::Result<u64> {
    Ok(Loaded::of(text.clone(), &text.file)?.plan.rows())
}

fn go(loaded: &Loaded, folder: &Path, options: &RunArgs) -> anyhow::Result<ExitCode> {
    let plan = &loaded.plan;
    if options.dry_run {
        println!("{} points, {} rows", plan.points(), plan.rows());
        return Ok(ExitCode::SUCCESS);
    }
    if options.retry
        && let Some(removed) = loaded.forget_failures(folder)?
    {
        ui::note(format_args!("{removed} rows of failures are removed from {}", folder.display()));
    }
    let signals = PassedOn::begin();
    let mut watcher = Watcher::new(plan, options.json);
    let settings = RunSettings { jobs: options.jobs.map(|jobs| jobs as usize), stop: &asked_to_end, only: None };
    let swept = loaded.run(folder, &settings, &mut watcher);
    watcher.clear();
    drop(signals);
    let (end, state) = swept?;
    let done = state.before + state.added;
    let failed = if state.failed == 0 { String::new() } else { format!(", {} of them failures", state.failed) };
    let whole = state.whole.max(done);
    ui::note(format_args!("{} rows added{failed}; {done} of {whole} are in {}", state.added, folder.display()));
    if let Some(best) = watcher.best(&state) {
        ui::note(best);
    }
    match end {
        End::Done => {}
        End::Budget => {
            ui::note(format_args!("the budget is used up: `baton sweep resume {}` goes on", folder.display()))
        }
        End::Memory => ui::note(format_args!(
            "points that were given up have the memory that the next one needs: `baton sweep resume {}` goes on",
            folder.display()
        )),
        End::Stopped => {
            ui::note(format_args!("stopped: `baton sweep resume {}` goes on", folder.display()));
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    Ok(if state.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_studio::subject::Why;
    use baton_studio::value::Value;

    /// What a study is about is in the key of its point: its chips with their keys, and its profiles.
    #[test]
    fn the_key_of_a_study_follows_from_its_chips() {
        let study = Of::new(Study);
        let key = |noise: f64, quick: bool| {
            let (name, noise, quick) = (Value::Text("mwait".to_owned()), Value::Number(noise), Value::Switch(quick));
            study.prepare(&[("name", &name), ("noise.latency", &noise), ("quick", &quick)], 1).map(|job| job.key)
        };
        let [a, b, c] = [key(0.1, true), key(0.2, true), key(0.1, false)].map(Result::unwrap);
        assert!(a != b && a != c && Ok(a) == key(0.1, true));
        assert!(key(-1.0, true).unwrap_err().reason.contains("noise.latency"));
    }

    /// An impossible network is an error of its point, found before a graph of its size is built.
    #[test]
    fn a_network_is_checked_before_its_graph_is_built() {
        let noc = Of::new(Noc);
        let prepared = |topology: &str, size: &str| {
            let (topology, size) = (Value::Text(topology.to_owned()), Value::Text(size.to_owned()));
            noc.prepare(&[("topology", &topology), ("size", &size)], 1).map(|_| ())
        };
        assert_eq!(prepared("mesh", "4x4"), Ok(()));
        let refused = prepared("mesh", "0x4").unwrap_err();
        assert!(refused.why == Why::Invalid && refused.reason.contains("topology.size"), "{refused}");
    }
}
