//! One object file: maps an address in it to functions, source lines, or the global variable there.

use super::demangle::demangle;
use super::frame::Frame;
use crate::loops::Code;
use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

impl Code for ObjectFile {
    fn bytes(&self, address: u64, most: u64) -> &[u8] {
        self.unchanging(address, most)
    }
}

/// The reason why an object file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The file does not exist in the file system (`[vdso]`, `linux-vdso.so.1`), was removed, or
    /// must not be read.
    Missing(String),
    /// The file is not the one that ran, as its build id is different.
    Changed,
    /// The file cannot be parsed as an object file.
    Malformed(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Missing(why) => write!(f, "cannot be read ({why})"),
            Unreadable::Changed => write!(f, "has changed since the run (its build id is another)"),
            Unreadable::Malformed(why) => write!(f, "is no readable object file ({why})"),
        }
    }
}

/// A global variable, and its address range in the file's own addresses.
struct Global {
    start: u64,
    size: u64,
    name: String,
}

/// An open object file.
pub(super) struct ObjectFile {
    path: PathBuf,
    code: Loader,
    /// The sections with code and constants, by the addresses at which they begin; read when first asked
    /// for.
    unchanging: OnceCell<Vec<(u64, Vec<u8>)>>,
    /// Debug information from a separate file, if the file itself has none.
    debug: Option<Loader>,
    globals: Vec<Global>,
    /// Whether the file, or its separate debug information, has line numbers.
    pub(super) has_lines: bool,
}

impl ObjectFile {
    /// Opens `path`. If `build_id` is given, the file must have the same one.
    pub(super) fn open(path: &Path, build_id: &[u8]) -> Result<ObjectFile, Unreadable> {
        let bytes = std::fs::read(path).map_err(|e| Unreadable::Missing(e.kind().to_string()))?;
        let file = object::File::parse(&*bytes).map_err(|e| Unreadable::Malformed(e.to_string()))?;
        let found = file.build_id().ok().flatten().unwrap_or_default();
        if !build_id.is_empty() && found != build_id {
            return Err(Unreadable::Changed);
        }
        let mut has_lines = has_lines(&file);
        let mut globals = globals(&file);
        let code = Loader::new(path).map_err(|e| Unreadable::Malformed(e.to_string()))?;
        let mut debug = None;
        if !has_lines
            && let Some(split) = split_debug_file(path, &file, found)
            && let Ok(bytes) = std::fs::read(&split)
            && let Ok(file) = object::File::parse(&*bytes)
        {
            has_lines = self::has_lines(&file);
            globals.extend(self::globals(&file));
            debug = Loader::new(&split).ok();
        }
        globals.sort_by(|a, b| {
            (a.start, std::cmp::Reverse(a.size), &a.name).cmp(&(b.start, std::cmp::Reverse(b.size), &b.name))
        });
        globals.dedup_by_key(|g| (g.start, g.size));
        Ok(ObjectFile { path: path.to_owned(), code, unchanging: OnceCell::new(), debug, globals, has_lines })
    }

    /// The functions at an address of the file, innermost first. There are several where calls were
    /// inlined.
    pub(super) fn frames(&self, address: u64) -> Vec<Frame> {
        let lines = self.debug.as_ref().unwrap_or(&self.code);
        let mut frames = Vec::new();
        if let Ok(mut found) = lines.find_frames(address) {
            while let Ok(Some(frame)) = found.next() {
                let Some(function) = frame.function else { continue };
                let Ok(name) = function.raw_name() else { continue };
                let (file, line) = frame.location.map_or((None, None), |l| (l.file.map(str::to_owned), l.line));
                frames.push(Frame { function: demangle(&name), file, line, inlined: true, library: false });
            }
        }
        if frames.is_empty() {
            let symbol = self.code.find_symbol(address).or_else(|| self.debug.as_ref()?.find_symbol(address));
            let place = lines.find_location(address).ok().flatten();
            let (file, line) = place.map_or((None, None), |l| (l.file.map(str::to_owned), l.line));
            frames.extend(symbol.map(|s| Frame { function: demangle(s), file, line, inlined: false, library: false }));
        }
        if let Some(last) = frames.last_mut() {
            // The outermost function is the one that was really called.
            last.inlined = false;
        }
        frames
    }

    /// The bytes of code or constants from an address on, at most `most`, as far as one section has them.
    pub(super) fn unchanging(&self, address: u64, most: u64) -> &[u8] {
        let sections = self.unchanging.get_or_init(|| read_unchanging(&self.path).unwrap_or_default());
        let after = |(start, bytes): &(u64, Vec<u8>)| address.checked_sub(*start).filter(|at| *at < bytes.len() as u64);
        let found = sections.iter().find_map(|section| Some((&section.1, after(section)? as usize)));
        found.map_or(&[], |(bytes, at)| &bytes[at..bytes.len().min(at.saturating_add(most as usize))])
    }

    /// The code ranges that belong to one source line each, if there is debug information.
    pub(super) fn rows(&self) -> Vec<Range<u64>> {
        let lines = self.debug.as_ref().unwrap_or(&self.code);
        let rows = lines.find_location_range(0, u64::MAX);
        rows.into_iter().flatten().map(|(start, length, _)| start..start.saturating_add(length)).collect()
    }

    /// The global variable that contains an address of the file, and the offset of the address in
    /// it.
    pub(super) fn global(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.globals.partition_point(|g| g.start <= address);
        // A smaller symbol inside a larger one is the better name. To find the larger one, look a
        // few symbols back.
        let found = self.globals[..after].iter().rev().take(16).find(|g| address - g.start < g.size)?;
        Some((&found.name, address - found.start))
    }
}

fn read_unchanging(path: &Path) -> Option<Vec<(u64, Vec<u8>)>> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let unchanging = |kind| matches!(kind, SectionKind::Text | SectionKind::ReadOnlyData | SectionKind::ReadOnlyString);
    let sections = file.sections().filter(|section| unchanging(section.kind()));
    Some(sections.filter_map(|section| Some((section.address(), section.data().ok()?.to_vec()))).collect())
}

fn has_lines(file: &object::File) -> bool {
    file.section_by_name(".debug_line").is_some()
}

fn globals(file: &object::File) -> Vec<Global> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let data = symbols.filter(|s| s.kind() == SymbolKind::Data && s.is_definition() && s.size() > 0);
    data.filter_map(|s| Some(Global { start: s.address(), size: s.size(), name: demangle(s.name().ok()?) })).collect()
}

/// Where distributions install separate debug information: by build id, or under the name that the
/// file states.
fn split_debug_file(path: &Path, file: &object::File, build_id: &[u8]) -> Option<PathBuf> {
    let mut candidates = Vec::new();
    if let [first, rest @ ..] = build_id {
        let rest: String = rest.iter().map(|b| format!("{b:02x}")).collect();
        candidates.push(PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug")));
    }
    if let Ok(Some((name, _crc))) = file.gnu_debuglink()
        && let (Ok(name), Some(directory)) = (std::str::from_utf8(name), path.parent())
    {
        candidates.push(directory.join(name));
        candidates.push(directory.join(".debug").join(name));
        let below = directory.strip_prefix("/").unwrap_or(directory);
        candidates.push(Path::new("/usr/lib/debug").join(below).join(name));
    }
    candidates.into_iter().find(|c| c.is_file() && c != path)
}
