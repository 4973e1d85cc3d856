//! Names addresses: a call site becomes functions with file and line, and a lock's address becomes
//! the global variable at that address.
//!
//! An object file is opened when the first address in it is looked up, and kept open. A file that
//! cannot be read is remembered and reported once ([`Symbols::problems`]), because a report with
//! bare addresses must say why.

mod demangle;
mod find;
mod frame;
mod object_file;

pub use demangle::{demangle, short};
pub use find::{find, functions, globals};
pub use frame::Frame;
pub(crate) use frame::{is_wrapper, own};
pub use object_file::Unreadable;

use crate::loops::{self, Waits};
use baton_trace::{Address, Module, ProcessIndex, SiteId, Ticks, Trace};
use object_file::ObjectFile;
use std::collections::BTreeMap;
use std::path::Path;

/// Looks addresses up and caches the results.
#[derive(Default)]
pub struct Symbols {
    files: BTreeMap<(String, Vec<u8>), Result<ObjectFile, Unreadable>>,
}

impl Symbols {
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The functions of a call site, innermost first, including inlined ones. Empty if no site was
    /// recorded. Frames of the capture itself, which starts the program's threads, are left out.
    pub fn site(&mut self, trace: &Trace, process: ProcessIndex, site: SiteId) -> Vec<Frame> {
        self.stack(trace, process, site).into_iter().map(|(frame, _)| frame).collect()
    }

    /// Like [`Symbols::site`], each function with the return address that it belongs to.
    pub fn stack(&mut self, trace: &Trace, process: ProcessIndex, site: SiteId) -> Vec<(Frame, Address)> {
        let time = trace.site_time(process, site);
        let ours = |address: &&Address| {
            trace.module(process, **address, time).is_some_and(|module| module.path.ends_with("/libbaton_preload.so"))
        };
        let stack = trace.site(process, site);
        let stack: Vec<Address> = stack.iter().filter(|address| !ours(address)).copied().collect();
        let mut found = Vec::new();
        for address in stack {
            found.extend(self.code(trace, process, address, time).into_iter().map(|frame| (frame, address)));
        }
        found
    }

    /// The functions at a return address at a moment of the run, innermost first; never empty.
    pub fn code(&mut self, trace: &Trace, process: ProcessIndex, return_address: Address, time: Ticks) -> Vec<Frame> {
        let Some(module) = trace.module(process, return_address, time) else {
            return vec![Frame::named(format!("{return_address:#x}"))];
        };
        // The call's last byte lies just before its return address, which may already belong to the
        // next line or function.
        let in_file = return_address.wrapping_sub(module.bias).wrapping_sub(1);
        let frames = self.open(module).as_ref().map_or(Vec::new(), |file| file.frames(in_file));
        if frames.is_empty() {
            return vec![Frame::named(format!("{}+{:#x}", base_name(&module.path), in_file.wrapping_add(1)))];
        }
        frames
    }

    /// Whether the code within a few bytes of an address has the instruction `pause`, as loops have that spin
    /// until a variable changes. False if the code is not known.
    pub(crate) fn spins(&mut self, trace: &Trace, process: ProcessIndex, address: Address, time: Ticks) -> bool {
        const PAUSE: [u8; 2] = [0xf3, 0x90];
        const NEAR: u64 = 16;
        let Some(module) = trace.module(process, address, time) else { return false };
        let begin = address.wrapping_sub(module.bias).saturating_sub(NEAR);
        self.open(module)
            .as_ref()
            .is_ok_and(|file| file.unchanging(begin, 2 * NEAR + 2).windows(2).any(|two| two == PAUSE))
    }

    /// The loop in which a thread waits that is at an address; `None` if the thread works there, or the code is
    /// not known.
    pub(crate) fn waits_at(
        &mut self,
        trace: &Trace,
        process: ProcessIndex,
        address: Address,
        time: Ticks,
    ) -> Option<Waits> {
        let module = trace.module(process, address, time)?;
        let waits = loops::waits_at(self.open(module).as_ref().ok()?, address.wrapping_sub(module.bias))?;
        Some(waits.moved(module.bias))
    }

    /// A code address as its object file has it, `app+0x1234`; `None` if no file was loaded there.
    pub fn in_file(trace: &Trace, process: ProcessIndex, address: Address, time: Ticks) -> Option<String> {
        let module = trace.module(process, address, time)?;
        Some(format!("{}+{:#x}", base_name(&module.path), address.wrapping_sub(module.bias)))
    }

    /// The name of the global variable at an address at a moment of the run: `table`, `table+0x28`
    /// for an address inside it, or `app+0x1234` if the file has no symbol there. `None` for heap
    /// and stack.
    pub fn data(&mut self, trace: &Trace, process: ProcessIndex, address: Address, time: Ticks) -> Option<String> {
        let module = trace.module(process, address, time)?;
        let in_file = address.wrapping_sub(module.bias);
        if let Ok(file) = self.open(module)
            && let Some((name, offset)) = file.global(in_file)
        {
            return Some(if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") });
        }
        // The address lies in a file without a symbol for it: a static variable of a stripped file.
        Some(format!("{}+{in_file:#x}", base_name(&module.path)))
    }

    /// A sentence for each object file that could not be used or has no line numbers.
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
