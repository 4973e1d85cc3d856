//! Addresses become names: call sites become functions with file and line, a lock's address the global that holds it.
//!
//! Object files are opened at their first address and kept. What cannot be read is remembered and reported once ([`Symbols::problems`]):
//! a report with bare addresses must say why.

mod demangle;
mod find;
mod object_file;

pub use demangle::{demangle, short};
pub use find::find;
pub use object_file::Unreadable;

use baton_trace::{Address, Module, ProcessIndex, SiteId, Ticks, Trace};
use object_file::ObjectFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A function at a place in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// Its name, unmangled; `module+0x12` where no symbol is known.
    pub function: String,
    /// Source file, as the compiler recorded it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// Line in it, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// The compiler put this function's body into the next frame's.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub inlined: bool,
    /// A thin layer of a standard library over the lock or the thread: it says nothing about the program's own code.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub library: bool,
}

impl Frame {
    /// A frame of which only a name is known.
    pub fn named(function: impl Into<String>) -> Frame {
        Frame { function: function.into(), file: None, line: None, inlined: false, library: false }
    }

    /// `file.c:12`, with the file's last part only; `None` without a line.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        let name = Path::new(file).file_name().map_or(file.into(), |n| n.to_string_lossy());
        Some(match self.line {
            Some(line) => format!("{name}:{line}"),
            None => name.into_owned(),
        })
    }
}

/// Looks addresses up, with a memory.
#[derive(Default)]
pub struct Symbols {
    files: BTreeMap<(String, Vec<u8>), Result<ObjectFile, Unreadable>>,
}

impl Symbols {
    /// With nothing opened yet.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The functions of a call site, innermost first, inlined ones included. A site that was not taken gives nothing. Frames of the
    /// capture itself, which starts the program's threads, are left out.
    pub fn site(&mut self, trace: &Trace, process: ProcessIndex, site: SiteId) -> Vec<Frame> {
        let time = trace.site_time(process, site);
        let ours = |address: &&Address| {
            trace.module(process, **address, time).is_some_and(|module| module.path.ends_with("/libbaton_preload.so"))
        };
        let stack = trace.site(process, site);
        let stack: Vec<Address> = stack.iter().filter(|address| !ours(address)).copied().collect();
        stack.iter().flat_map(|address| self.code(trace, process, *address, time)).collect()
    }

    /// The functions at a return address at a time, innermost first; never empty.
    pub fn code(&mut self, trace: &Trace, process: ProcessIndex, return_address: Address, time: Ticks) -> Vec<Frame> {
        let Some(module) = trace.module(process, return_address, time) else {
            return vec![Frame::named(format!("{return_address:#x}"))];
        };
        // The call's last byte lies before the address it returns to; that one may belong to the next line or function.
        let in_file = return_address.wrapping_sub(module.bias).wrapping_sub(1);
        let frames = self.open(module).as_ref().map_or(Vec::new(), |file| file.frames(in_file));
        if frames.is_empty() {
            return vec![Frame::named(format!("{}+{:#x}", base_name(&module.path), in_file.wrapping_add(1)))];
        }
        frames
    }

    /// Name of the global that holds an address at a time: `table`, or `table+0x28` inside of it. `None` for heap and stack.
    pub fn data(&mut self, trace: &Trace, process: ProcessIndex, address: Address, time: Ticks) -> Option<String> {
        let module = trace.module(process, address, time)?;
        let in_file = address.wrapping_sub(module.bias);
        if let Ok(file) = self.open(module)
            && let Some((name, offset)) = file.global(in_file)
        {
            return Some(if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") });
        }
        // In the image of a file without that symbol: a static one, stripped.
        Some(format!("{}+{in_file:#x}", base_name(&module.path)))
    }

    /// Object files that were asked and could not tell, in sentences for people.
    pub fn problems(&self) -> Vec<String> {
        let problem = |((path, _), file): (&(String, Vec<u8>), &Result<ObjectFile, Unreadable>)| match file {
            Err(why) => Some(format!("{path} {why}: its functions are shown as addresses")),
            Ok(file) if !file.has_lines => Some(format!("{path} has no line numbers (no debug information found)")),
            Ok(_) => None,
        };
        self.files.iter().filter_map(problem).collect()
    }

    fn open(&mut self, module: &Module) -> &Result<ObjectFile, Unreadable> {
        let key = (module.path.clone(), module.build_id.clone());
        self.files.entry(key).or_insert_with(|| ObjectFile::open(Path::new(&module.path), &module.build_id))
    }
}

fn base_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into_owned())
}
