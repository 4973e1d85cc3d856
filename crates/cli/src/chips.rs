//! Which chip a simulation runs on: the chip that the user named, otherwise this machine's
//! calibration, otherwise the sample.

use crate::error::{BadInput, Place};
use crate::{places, ui};
use baton_chip::config::{ChipError, ChipText};
use baton_chip::{Chip, WindowSize};
use std::path::{Path, PathBuf};
use std::sync::Once;

const SAMPLE: &str = include_str!("../../../chips/sample-host.toml");

/// The options that choose a chip on the command line.
#[derive(Clone, clap::Args)]
pub(crate) struct ChipArgs {
    /// Chip file, or a name of `baton chips list`. Left out: this machine, as `baton doctor --calibrate` measured it, else a
    /// built-in sample host.
    #[arg(long, value_name = "FILE")]
    chip: Option<PathBuf>,
    #[command(flatten)]
    change: Change,
}

/// The options that change a chip file.
#[derive(Clone, clap::Args)]
pub(crate) struct Change {
    /// The chip with this many cores; docs/reference/chip-file.md says what shrinks and grows with them.
    #[arg(long, value_name = "N")]
    cores: Option<u32>,
    /// Replace one key of the chip file, as in cache.hit=3. May be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Cores with another window: how many accesses that do not depend on each other are under way at once. smallest: one
    /// at a time; largest: as many as the largest core that is sold. Left out: what the chip file says.
    #[arg(long, value_name = "SIZE", value_parser = window)]
    window: Option<WindowSize>,
}

fn window(text: &str) -> Result<WindowSize, String> {
    WindowSize::named(text).ok_or_else(|| format!("expected {}", WindowSize::NAMES.join(" or ")))
}

impl ChipArgs {
    /// The options for the chip of this name; `None`: those of a user who named no chip.
    pub(crate) fn named(chip: Option<PathBuf>) -> ChipArgs {
        ChipArgs { chip, change: Change { cores: None, set: Vec::new(), window: None } }
    }

    /// The path of the chip file, for messages: the file found for the name that the user gave,
    /// otherwise this machine's calibration, otherwise `sample-host.toml`.
    pub(crate) fn name(&self) -> String {
        match &self.chip {
            Some(path) => found(path).unwrap_or_else(|_| path.clone()).display().to_string(),
            None => places::this_host().map_or("sample-host.toml".to_owned(), |path| path.display().to_string()),
        }
    }

    /// These options as a text: equal texts stand for the same chip.
    pub(crate) fn described(&self) -> String {
        let Change { cores, set, window } = &self.change;
        format!("{:?} {cores:?} {set:?} {window:?}", self.chip)
    }

    /// Whether the user named a chip.
    pub(crate) fn is_named(&self) -> bool {
        self.chip.is_some()
    }

    /// Whether the user named a chip, or gave `--cores` or a key of the table `core` in `--set`.
    pub(crate) fn names_cores(&self) -> bool {
        self.is_named()
            || self.change.cores.is_some()
            || self.change.set.iter().any(|setting| setting.starts_with("core."))
    }

    /// Whether the built-in sample stands in for this machine, which is not calibrated.
    pub(crate) fn is_stand_in(&self) -> bool {
        !self.names_cores() && places::this_host().is_none()
    }

    /// Adds a `key=value` setting.
    pub(crate) fn set(&mut self, setting: String) {
        self.change.set.push(setting);
    }

    /// Asks for a chip with `cores` cores.
    pub(crate) fn cores(&mut self, cores: u32) {
        self.change.cores = Some(cores);
    }

    /// The chip for the replay of a recording: if the user named none, this machine with memory of
    /// fixed latencies, if it was calibrated. Replays on that chip are no further off than those on
    /// the coherent chip (docs/results/whatif-self-check.md), and take about a third of the time.
    pub(crate) fn for_replay(self) -> ChipArgs {
        ChipArgs { chip: self.chip.or_else(places::this_host_fixed), ..self }
    }

    /// Reads the chip. If the sample stands in for this machine, a note says so.
    pub(crate) fn open(&self) -> anyhow::Result<Chip> {
        match self.chip.clone().or_else(places::this_host) {
            Some(path) => self.change.open(&path),
            None => {
                static SAID: Once = Once::new();
                let note = || {
                    ui::note(
                        "this machine is not calibrated: using the built-in sample-host, whose figures are not its own \
                     (`baton doctor --calibrate` measures them)",
                    )
                };
                SAID.call_once(note);
                let chip = Chip::from_toml_at(SAMPLE, "sample-host.toml", self.change.cores, &self.change.set);
                chip.map(|chip| self.change.windowed(chip)).map_err(|error| bad(error).into())
            }
        }
    }
}

/// An error of a chip file as bad input, with its place.
pub(crate) fn bad(error: ChipError) -> BadInput {
    let key = error.problem.key().map(ToOwned::to_owned);
    BadInput::new(&error).at(Place { file: Some(error.file), line: error.line, key })
}

impl Change {
    /// Reads the chip file at `path`, or the shipped one with that name.
    pub(crate) fn open(&self, path: &Path) -> anyhow::Result<Chip> {
        let chip = text(&found(path)?).and_then(|text| text.chip(self.cores, &self.set));
        chip.map(|chip| self.windowed(chip)).map_err(|error| bad(error).into())
    }

    fn windowed(&self, chip: Chip) -> Chip {
        match self.window {
            Some(size) => chip.with_window(size),
            None => chip,
        }
    }
}

impl ChipArgs {
    /// Reads the chip that the user named; otherwise the built-in sample, with the `key=value`
    /// settings of `preset` and then those of the user, which win.
    pub(crate) fn open_or(&self, preset: &[&str]) -> anyhow::Result<Chip> {
        if self.chip.is_some() {
            return self.open();
        }
        let set: Vec<String> =
            preset.iter().map(|&key| key.to_owned()).chain(self.change.set.iter().cloned()).collect();
        let chip = Chip::from_toml_at(SAMPLE, "sample-host.toml", self.change.cores, &set).map_err(BadInput::new)?;
        Ok(self.change.windowed(chip))
    }
}

/// A chip file, with the files that it is based on, from its folder or from the folders that hold
/// chips.
pub(crate) fn text(path: &Path) -> Result<ChipText, ChipError> {
    ChipText::open(path, &places::chip_folders())
}

/// The file for a name: `mesh256` means `mesh256.toml` in the nearest of the folders that hold
/// chips, unless there is a file with that name.
pub(crate) fn found(path: &Path) -> Result<PathBuf, BadInput> {
    let bare = path.components().count() == 1 && path.extension().is_none();
    if !bare || path.is_file() {
        return Ok(path.to_owned());
    }
    let folders = places::chip_folders();
    let file = folders.iter().map(|folder| folder.join(path).with_extension("toml")).find(|file| file.is_file());
    file.ok_or_else(|| {
        let known = names();
        if known.is_empty() {
            let looked: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            let chip = path.display();
            return BadInput::new(format!("unknown chip `{chip}`: there are no chip files in {}", looked.join(", ")))
                .hint("name a chip's file by its path");
        }
        BadInput::unknown("chip", &path.display().to_string(), known.iter().map(String::as_str))
    })
}

/// The chip files of all folders. Each name appears once, from the nearest folder.
pub(crate) fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in places::chip_folders() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut chips: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
        chips.sort();
        for path in chips {
            if !files.iter().any(|known| known.file_name() == path.file_name()) {
                files.push(path);
            }
        }
    }
    files
}

/// The names of the chip files, as `--chip` takes them.
pub(crate) fn names() -> Vec<String> {
    files().iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

/// The whole configuration of a chip, for results.
pub(crate) fn echo(chip: &Chip) -> serde_json::Value {
    use baton_chip::config::keys::Value;
    let value = |value| match value {
        Value::Text(text) => serde_json::Value::from(text),
        Value::Whole(n) => n.into(),
        Value::Share(x) => x.into(),
        Value::Switch(on) => on.into(),
    };
    chip.expanded()
        .into_iter()
        .map(|(key, found)| (key.into_owned(), value(found)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
