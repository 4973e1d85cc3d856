//! Chip files that are based on others: `base = "barcelona-amp"`, and the keys that differ.

use super::{ChipError, KeyPlace, Problem, Reading, empty, in_file_order, nearest_of, shown};
use crate::config::chip::Chip;
use crate::config::keys::{self, KEYS};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The key that names a file's base. It stands before all tables, and is not a key of the chip.
pub(super) const BASE: &str = "base";
/// A description of the texts that `base` accepts.
const EXPECTED: &str = "a chip file: a path from this file's folder, or a name as of `baton chips list`";

/// A chip file, preceded by its chain of bases, the farthest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipText(Vec<Layer>);

/// One of the files of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layer {
    /// The name of the file, for messages.
    file: String,
    text: String,
}

/// The base that a file names.
struct Named {
    base: String,
    line: usize,
}

impl ChipText {
    /// Returns the text of a chip file without a base; messages call the file `file`.
    pub fn new(text: &str, file: &str) -> ChipText {
        ChipText(vec![Layer { file: file.to_owned(), text: text.to_owned() }])
    }

    /// Reads the chip file at `path` and the files on which it is based. A base is a path from the
    /// folder of the file that names it, or the name of a file in the same folder, or else in the
    /// first of `folders` that has such a file.
    ///
    /// # Errors
    /// The file and line at which a file cannot be read, a base does not exist, or a file is based
    /// on itself.
    pub fn open(path: &Path, folders: &[PathBuf]) -> Result<ChipText, ChipError> {
        let mut layers: Vec<Layer> = Vec::new();
        let mut seen: Vec<PathBuf> = Vec::new();
        let mut next = path.to_owned();
        loop {
            let file = next.display().to_string();
            let unreadable = |error: std::io::Error| ChipError::of(&file, None, Problem::Unreadable(error.to_string()));
            let text = super::text_of(&next).map_err(unreadable)?;
            seen.push(std::fs::canonicalize(&next).map_err(unreadable)?);
            let named = base_of(&text, &file)?;
            layers.push(Layer { file, text });
            let Some(Named { base, line }) = named else { break };
            let file = &layers[layers.len() - 1].file;
            let wrong = |expected: String| {
                let found = format!("the text {base:?}");
                ChipError::of(file, Some(line), Problem::Value { key: BASE.to_owned(), found, expected })
            };
            let found = found(&base, next.parent().unwrap_or(Path::new("")), folders).map_err(wrong)?;
            let whole = std::fs::canonicalize(&found).unwrap_or_else(|_| found.clone());
            if seen.contains(&whole) {
                let way: Vec<&str> = layers.iter().map(|layer| layer.file.as_str()).collect();
                let way = format!("{} → {}", way.join(" → "), found.display());
                return Err(wrong(format!("a chip file that is not based on this one: {way}")));
            }
            next = found;
        }
        layers.reverse();
        Ok(ChipText(layers))
    }

    /// Returns the chip. If `cores` is given, the chip is first resized to that number of cores
    /// ([`Chip::resized`]). Then the `key=value` settings replace the values of the files.
    ///
    /// # Errors
    /// The file, line and key that are wrong.
    pub fn chip(&self, cores: Option<u32>, settings: &[String]) -> Result<Chip, ChipError> {
        let Some(cores) = cores else { return self.read(settings) };
        let chip = self.read(&[])?.resized(cores)?;
        // The lines of the resized chip's text are in no file.
        let whole = ChipText::new(&chip.to_toml(), &self.own().file);
        whole.read(settings).map_err(|error| ChipError { line: None, ..error })
    }

    /// The text of all files, concatenated; a hash of the chip is computed from it.
    pub fn text(&self) -> String {
        self.0.iter().map(|layer| layer.text.as_str()).collect()
    }

    /// Returns the name of the file itself.
    pub fn file(&self) -> &str {
        &self.own().file
    }

    fn own(&self) -> &Layer {
        &self.0[self.0.len() - 1]
    }

    fn read(&self, settings: &[String]) -> Result<Chip, ChipError> {
        let mut read = Reading { chip: empty(), places: vec![None; KEYS.len()], kind_places: Vec::new(), model: None };
        for (number, layer) in self.0.iter().enumerate() {
            read.layer(number, layer)?;
        }
        for setting in settings {
            read.setting(setting).map_err(|problem| ChipError::of("--set", None, problem))?;
        }
        let off = keys::place_of("os.off").and_then(|at| read.places[at]);
        let mut chip = read.finish().map_err(|(place, problem)| match place {
            Some(KeyPlace::File { layer, line }) => ChipError::of(&self.0[layer].file, Some(line), problem),
            Some(KeyPlace::CommandLine) | None => ChipError::of(self.file(), None, problem),
        })?;
        match off {
            Some(KeyPlace::File { layer, line }) => chip.os.off.place = format!("{}:{line}", self.0[layer].file),
            Some(KeyPlace::CommandLine) => chip.os.off.place = "--set".to_owned(),
            None => {}
        }
        Ok(chip)
    }
}

impl Reading {
    /// Reads a file after its bases. Its keys replace theirs.
    fn layer(&mut self, number: usize, layer: &Layer) -> Result<(), ChipError> {
        let failed = |line, problem| ChipError::of(&layer.file, line, problem);
        let table = parsed(&layer.text, &layer.file)?;
        let ends: Vec<usize> = layer.text.match_indices('\n').map(|(at, _)| at).collect();
        let line = |at: usize| 1 + ends.partition_point(|&end| end < at);
        let place = |at: usize| KeyPlace::File { layer: number, line: line(at) };
        for (name, value) in in_file_order(table.get_ref()) {
            let here = place(name.span().start);
            let entry = match name.get_ref().as_ref() {
                BASE if number != 0 => Ok(()),
                // A base in the first layer: the text was not read from a file.
                BASE => Err((here, unasked(value.get_ref()))),
                name => self.entry(name, value, here, &place),
            };
            entry.map_err(|(place, problem)| failed(place.line(), problem))?;
        }
        let at = keys::place_of("chip.name");
        let named = at.and_then(|at| self.places[at]);
        if number != 0 && !matches!(named, Some(KeyPlace::File { layer, .. }) if layer == number) {
            let what = "what this chip is called in results: it is not its base".to_owned();
            let expected = keys::find("chip.name").map_or_else(String::new, keys::Key::expected);
            return Err(failed(None, Problem::Missing { key: "chip.name".to_owned(), what, expected, next: None }));
        }
        Ok(())
    }
}

/// Refuses a base in a text that was not read from a file.
fn unasked(value: &DeValue<'_>) -> Problem {
    let expected = "none: this text is read by itself, and not as a file beside others".to_owned();
    Problem::Value { key: BASE.to_owned(), found: shown(value), expected }
}

/// Returns the file that a base names.
///
/// # Errors
/// A description of what was expected.
fn found(base: &str, own: &Path, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let path = Path::new(base);
    if path.components().count() != 1 || path.extension().is_some() {
        let path = own.join(path);
        return if path.is_file() { Ok(path) } else { Err(format!("{EXPECTED}; {} is none", path.display())) };
    }
    let all = || std::iter::once(own).chain(folders.iter().map(PathBuf::as_path));
    // The folder of a path without a folder is the current one.
    let listed = |folder: &Path| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    let file = all().map(|folder| folder.join(path).with_extension("toml")).find(|file| file.is_file());
    file.ok_or_else(|| {
        let entries = all().filter_map(|folder| std::fs::read_dir(listed(folder)).ok()).flatten().flatten();
        let chips = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "toml"));
        let mut known: Vec<String> = chips.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
        known.sort();
        match nearest_of(base, &known.iter().map(String::as_str).collect::<Vec<_>>()) {
            "" => EXPECTED.to_owned(),
            nearest => format!("{EXPECTED}; did you mean `{nearest}`?"),
        }
    })
}

/// The base that the file names; `None` if it names none.
fn base_of(text: &str, file: &str) -> Result<Option<Named>, ChipError> {
    let table = parsed(text, file)?;
    let Some((name, value)) = table.get_ref().iter().find(|(name, _)| name.get_ref() == BASE) else { return Ok(None) };
    let line = line_of(text, name.span().start);
    match value.get_ref() {
        DeValue::String(base) if !base.is_empty() => Ok(Some(Named { base: base.to_string(), line })),
        value => {
            let problem = Problem::Value { key: BASE.to_owned(), found: shown(value), expected: EXPECTED.to_owned() };
            Err(ChipError::of(file, Some(line), problem))
        }
    }
}

fn parsed<'a>(text: &'a str, file: &str) -> Result<toml::Spanned<DeTable<'a>>, ChipError> {
    DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| line_of(text, span.start));
        ChipError::of(file, line, Problem::Syntax(error.message().to_owned()))
    })
}

/// Returns the line of the byte at `at`, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}
