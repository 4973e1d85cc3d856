//! A command whose points can be swept. A setting of a point is an option of the command, or a key
//! of the chip, exactly as on the command line.

use super::matched::{Matched, Opt, options, parse};
use crate::error::BadInput;
use anyhow::Context;
use baton_host::nearest;
use baton_studio::hash::{self, Pieces};
use baton_studio::space::Looked;
use baton_studio::subject::{Failure, Figure, Job, PointSettings, Subject, Why};
use baton_studio::value::Value;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a thread's stack: those of a program's first thread.
const STACK: usize = 8 << 20;

/// A command whose figures can be computed in this process.
pub(crate) trait Swept: Send + Sync {
    /// The command's name, as `command` in a space names it.
    const COMMAND: &'static str;
    /// Options that are no settings of a point, because they concern output or a sweep of the
    /// command.
    const NOT_OF_A_POINT: &'static [&'static str];
    /// Options that a point's key leaves out, because [`Ready::identity`] has what they set.
    const EXPANDED: &'static [&'static str];
    /// Whether a setting with a dot in its name is a key of a chip, as in `--set`.
    const TAKES_KEYS: bool;
    /// Whether the command has `--seed`.
    const HAS_SEED: bool = true;

    /// The command's own definition of its options.
    fn options() -> clap::Command;

    /// Reads the options of a point, and checks them.
    ///
    /// # Errors
    /// Why the point cannot run.
    fn ready(&self, point: &Matched) -> anyhow::Result<Ready>;

    /// The value of a name that is no option, such as a key of the point's chip; `None` if there is
    /// no such name.
    ///
    /// # Errors
    /// The point's chip cannot be made.
    fn value(&self, point: &Matched, name: &str) -> anyhow::Result<Option<Value>>;

    /// Names that [`Swept::value`] knows, for hints.
    fn names(&self) -> Vec<String>;

    /// All figures that a run of the command can have.
    fn figures(&self) -> Vec<Figure>;

    /// The figures that are kept if the space names none.
    fn usual(&self, point: &Matched) -> Vec<String>;

    /// Why a run whose figures these are counts as failed; `None` if it does not.
    fn failed(&self, _result: &Json) -> Option<Failure> {
        None
    }

    /// The options within the text of an option such as `--app`, with their values: a key also
    /// covers the content of files that these name.
    fn within(&self, _option: &str, _text: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The file or folder that the command reads for an option whose value is `path`.
    fn input(&self, _option: &str, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

/// A point that is ready to run.
pub(crate) struct Ready {
    /// The expanded configuration that [`Swept::EXPANDED`] options make: the chip, or the network.
    pub(crate) identity: String,
    /// An estimate of how long the run takes, in any unit that all points of the command share.
    pub(crate) cost: f64,
    /// An estimate of the bytes of memory that the run takes at most.
    pub(crate) memory: u64,
    /// Runs the point. Returns the JSON of the command.
    pub(crate) run: Box<dyn FnOnce() -> anyhow::Result<Json> + Send>,
}

/// The version of Baton, with a hash of the sources that compute figures.
pub(crate) fn version() -> String {
    concat!("baton ", env!("CARGO_PKG_VERSION"), " of the sources ", env!("BATON_SOURCES")).to_owned()
}

/// A command as the subject of a sweep.
pub(crate) struct Of<C> {
    command: Arc<C>,
    figures: Vec<Figure>,
    /// Names of arguments that stand without an option.
    positional: Vec<String>,
}

impl<C: Swept> Of<C> {
    pub(crate) fn new(command: C) -> Of<C> {
        let figures = command.figures();
        let options = options::<C>();
        let positional = options.iter().filter(|option| option.is_positional).map(|option| option.id.clone()).collect();
        Of { command: Arc::new(command), figures, positional }
    }

    fn is_key(name: &str) -> bool {
        C::TAKES_KEYS && name.contains('.')
    }

    /// The settings as arguments; a seed is added if there is one and the command takes seeds.
    fn arguments(&self, settings: PointSettings<'_>, seed: Option<u64>) -> Vec<String> {
        let (mut arguments, mut places) = (Vec::new(), Vec::new());
        for (name, value) in settings {
            match value {
                _ if self.positional.iter().any(|known| known == name) => places.push(value.to_string()),
                Value::Switch(false) if !Self::is_key(name) => {}
                Value::Switch(true) if !Self::is_key(name) => arguments.push(format!("--{name}")),
                _ if Self::is_key(name) => arguments.push(format!("--set={name}={value}")),
                _ => arguments.push(format!("--{name}={value}")),
            }
        }
        arguments.extend(seed.filter(|_| C::HAS_SEED).map(|seed| format!("--seed={seed}")));
        if places.iter().any(|place| place.starts_with('-')) {
            arguments.push("--".to_owned());
        }
        arguments.extend(places);
        arguments
    }

    fn matched(&self, settings: PointSettings<'_>, seed: Option<u64>) -> Result<Matched, BadInput> {
        parse::<C>(&self.arguments(settings, seed))
    }

    /// The pieces of a point's key: everything that decides the point's figures.
    fn pieces(&self, point: &Matched, identity: &str) -> Pieces {
        let mut pieces = Pieces::default().and("baton-point/1").and(version()).and(C::COMMAND).and(identity);
        for option in point.options.iter().filter(|option| !C::EXPANDED.contains(&option.id.as_str())) {
            let Ok(Some(values)) = point.matches.try_get_raw(&option.id) else { continue };
            pieces = pieces.and(&option.id);
            for value in values {
                pieces = pieces.and(value.as_encoded_bytes());
                if option.is_path {
                    pieces = pieces.and(content(&self.command.input(&option.id, Path::new(value))));
                }
                for (name, path) in self.command.within(&option.id, &value.to_string_lossy()) {
                    let inner = |other: &&Opt| other.is_path && other.name.as_ref() == Some(&name);
                    if let Some(inner) = point.options.iter().find(inner) {
                        pieces = pieces.and(content(&self.command.input(&inner.id, Path::new(&path))));
                    }
                }
            }
        }
        pieces
    }
}

/// The hash of a file's content, or of the names and contents of a folder's files. Empty for a file
/// that cannot be read: the run then fails with the reason.
pub(crate) fn content(path: &Path) -> String {
    if !path.is_dir() {
        return std::fs::read(path).map_or_else(|_| String::new(), |bytes| hash::of(&bytes).to_string());
    }
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    names.sort();
    let add = |pieces: Pieces, file: &PathBuf| {
        pieces.and(file.file_name().unwrap_or_default().to_string_lossy().as_bytes()).and(content(file))
    };
    names.iter().fold(Pieces::default(), add).key().to_string()
}

/// The sort of failure that an error of a run is.
pub(crate) fn failure(error: &anyhow::Error) -> Failure {
    let is_stuck = error.chain().any(|cause| cause.is::<baton_chip::Stuck>());
    let is_input = error.chain().any(|cause| cause.is::<BadInput>());
    let why = match (is_stuck, is_input) {
        (true, _) => Why::Deadlock,
        (_, true) => Why::Invalid,
        _ => Why::Failed,
    };
    Failure::new(why, format!("{error:#}"))
}

impl<C: Swept + 'static> Subject for Of<C> {
    fn command(&self) -> &str {
        C::COMMAND
    }

    fn version(&self) -> String {
        version()
    }

    fn check(&self, name: &str) -> Result<(), String> {
        let all = options::<C>();
        let options: Vec<&str> = all.iter().filter_map(|option| option.name.as_deref()).collect();
        let of_a_point = |name: &str| !C::NOT_OF_A_POINT.contains(&name) && name != "set" && name != "seed";
        if options.contains(&name) {
            let why = format!("`{name}` is no setting of a point of `baton {}`", C::COMMAND);
            return if of_a_point(name) { Ok(()) } else { Err(why) };
        }
        if Self::is_key(name) {
            let known = self.command.names();
            if name.starts_with("core.kind.") || known.iter().any(|known| known == name) {
                return Ok(());
            }
            let near = nearest(name, known.iter().map(String::as_str));
            return Err(format!("unknown key `{name}` of a chip{}", hint(near)));
        }
        let known: Vec<&str> = options.into_iter().filter(|name| of_a_point(name)).collect();
        let near = nearest(name, known.iter().copied());
        Err(format!("`baton {}` has no option `--{name}`{}", C::COMMAND, hint(near)))
    }

    fn needed(&self) -> Vec<String> {
        options::<C>().iter().filter(|option| option.is_needed).map(|option| option.id.clone()).collect()
    }

    fn has_seed(&self) -> bool {
        C::HAS_SEED
    }

    fn lookup(&self, known: PointSettings<'_>, name: &str) -> Looked {
        let invalid = |error: anyhow::Error| Looked::Invalid(format!("{error:#}"));
        let point = match self.matched(known, None) {
            Ok(point) => point,
            Err(error) => return invalid(error.into()),
        };
        if let Some(value) = point.text(name) {
            return Looked::Value(Value::parse(&value));
        }
        match self.command.value(&point, name) {
            Ok(Some(value)) => Looked::Value(value),
            Ok(None) => {
                let names = self.command.names();
                let near = nearest(name, names.iter().map(String::as_str));
                Looked::Unknown(near.into_iter().map(ToOwned::to_owned).collect())
            }
            Err(error) => invalid(error),
        }
    }

    fn figure(&self, name: &str) -> Result<Figure, Vec<String>> {
        // `lock.rate_per_kilocycle`, `by_app.1.threads`, or a last word that only one path has.
        let whole = |figure: &&Figure| matches(&figure.path, name);
        if let Some(figure) = self.figures.iter().find(whole) {
            return Ok(Figure { path: name.to_owned(), ..figure.clone() });
        }
        let last = |figure: &&Figure| {
            figure.path.rsplit_once('.').is_some_and(|(_, last)| last == name)
                && !figure.path.split('.').any(|step| step == "N")
        };
        let found: Vec<&Figure> = self.figures.iter().filter(last).collect();
        match found[..] {
            [one] => Ok(one.clone()),
            [] => Err(nearest(name, self.figures.iter().map(|figure| figure.path.as_str()))
                .into_iter()
                .map(ToOwned::to_owned)
                .collect()),
            _ => Err(found.iter().map(|figure| figure.path.clone()).collect()),
        }
    }

    fn usual(&self, known: PointSettings<'_>) -> Vec<String> {
        self.matched(known, None).map(|point| self.command.usual(&point)).unwrap_or_default()
    }

    fn prepare(&self, settings: PointSettings<'_>, seed: u64) -> Result<Job, Failure> {
        let invalid = |error: anyhow::Error| Failure::new(Why::Invalid, format!("{error:#}"));
        let point = self.matched(settings, Some(seed)).map_err(|error| invalid(error.into()))?;
        let ready = self.command.ready(&point).map_err(invalid)?;
        let Ready { identity, cost, memory, run } = ready;
        let key = self.pieces(&point, &identity).key();
        let command = self.command.clone();
        let run = move || {
            let result = run().map_err(|error| failure(&error))?;
            command.failed(&result).map_or(Ok(result), Err)
        };
        Ok(Job { key, cost, memory, run: Box::new(run) })
    }

    fn repeat(&self, settings: PointSettings<'_>, seed: u64) -> String {
        let arguments = self.arguments(settings, Some(seed)).into_iter().map(quoted);
        std::iter::once(format!("baton {}", C::COMMAND)).chain(arguments).collect::<Vec<_>>().join(" ")
    }
}

/// Runs on one thread what would run on all cores: the points of a sweep share the cores among themselves.
///
/// # Errors
/// There is no thread.
pub(crate) fn on_one_thread<T: Send>(run: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(STACK).build();
    pool.context("no thread for a point")?.install(run)
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Whether a path fits a declared one, in which `N` stands for any index of a list.
fn matches(declared: &str, path: &str) -> bool {
    let (declared, path): (Vec<&str>, Vec<&str>) = (declared.split('.').collect(), path.split('.').collect());
    let fits = |(a, b): (&&str, &&str)| a == b || (*a == "N" && b.parse::<usize>().is_ok());
    declared.len() == path.len() && declared.iter().zip(&path).all(fits)
}

/// An argument in single quotes, unless a shell takes it without.
fn quoted(argument: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@+%".contains(c);
    if argument.chars().all(plain) { argument } else { format!("'{}'", argument.replace('\'', "'\\''")) }
}
