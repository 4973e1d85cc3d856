//! A tool is found, started and ended.
//!
//! OMP_TOOL=disabled: no tool is looked for. Else the process is searched for `ompt_start_tool`, and
//! then the libraries that OMP_TOOL_LIBRARIES names. OMP_TOOL_VERBOSE_INIT says what was found.

use super::running::{ON, RUNTIME, Started, TOOL, end, is_on, runtime};
use super::tasks::Teller;
use super::thread::{self, Thread, with};
use super::{callbacks, inquiry};
use baton_machine::Native;
use baton_omp::Runtime;
use baton_omp::tool::Tool;
use core::ffi::{CStr, c_char, c_uint, c_void};
use std::ffi::CString;
use std::sync::Once;
use std::sync::atomic::Ordering;

/// The number of OpenMP 5.1, which a tool is told.
const VERSION: c_uint = 202_011;
const NAME: &CStr = c"libbaton_gomp, OpenMP runtime of Baton";

type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *mut Started;

/// What the user asks for.
struct Asked {
    disabled: bool,
    libraries: Vec<String>,
    verbose: Option<String>,
}

impl Asked {
    fn read(get: impl Fn(&str) -> Option<String>) -> Result<Asked, String> {
        let disabled = match get("OMP_TOOL").unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "enabled" => false,
            "disabled" => true,
            other => {
                return Err(format!("OMP_TOOL: `{other}` is neither `enabled` nor `disabled`; no tool is started"));
            }
        };
        let libraries = get("OMP_TOOL_LIBRARIES").unwrap_or_default();
        let libraries =
            libraries.split(':').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let verbose = get("OMP_TOOL_VERBOSE_INIT").filter(|to| !to.trim().eq_ignore_ascii_case("disabled"));
        Ok(Asked { disabled, libraries, verbose })
    }

    /// Tells how the search goes, if the user wants to know.
    fn tell(&self, text: &str) {
        let Some(to) = &self.verbose else { return };
        let line = format!("libbaton_gomp: OMPT: {text}\n");
        match to.trim() {
            "stdout" | "STDOUT" => print!("{line}"),
            "stderr" | "STDERR" => eprint!("{line}"),
            file => {
                let file = std::fs::File::options().create(true).append(true).open(file);
                let _ = file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()));
            }
        }
    }
}

/// The function by which the process itself, or a library that it has loaded, starts a tool.
fn in_process() -> Option<StartTool> {
    // SAFETY: a name with a zero at its end; a symbol of this name has this type.
    unsafe { function(libc::dlsym(libc::RTLD_DEFAULT, c"ompt_start_tool".as_ptr())) }
}

/// # Safety
/// `symbol` is null, or the address of a tool's function.
unsafe fn function(symbol: *mut c_void) -> Option<StartTool> {
    // SAFETY: by contract.
    (!symbol.is_null()).then(|| unsafe { core::mem::transmute::<*mut c_void, StartTool>(symbol) })
}

impl Asked {
    fn may_have_tool(&self) -> bool {
        !self.disabled && (!self.libraries.is_empty() || in_process().is_some())
    }
}

/// Whether a tool may be started.
pub(crate) fn may_be(get: impl Fn(&str) -> Option<String>) -> bool {
    Asked::read(get).is_ok_and(|asked| asked.may_have_tool())
}

/// Looks whether a tool may be started. Called once, before any thread calls the runtime.
pub(crate) fn look(get: impl Fn(&str) -> Option<String>, warn: impl Fn(&str)) {
    match Asked::read(get) {
        Ok(asked) => ON.store(asked.may_have_tool(), Ordering::Relaxed),
        Err(error) => warn(&error),
    }
}

/// The tool of the process, if there is one. The first call starts it.
pub(crate) fn tool(
    runtime: &'static Runtime<Native>,
    get: impl Fn(&str) -> Option<String>,
    warn: impl Fn(&str),
) -> Option<&'static dyn Tool> {
    static START: Once = Once::new();
    if !is_on() {
        return None;
    }
    // A tool may call the runtime while it is started, in the same thread: it is not told of that.
    if with(|thread| thread.starts.get()) {
        return None;
    }
    START.call_once(|| {
        with(|thread| thread.starts.set(true));
        _ = RUNTIME.set(runtime);
        if let Ok(asked) = Asked::read(get) {
            start(&asked, warn);
        }
        with(|thread| thread.starts.set(false));
    });
    // Acquire: the thread sees what the tool did when it began.
    (!TOOL.load(Ordering::Acquire).is_null()).then_some(&Teller as &dyn Tool)
}

fn start(asked: &Asked, warn: impl Fn(&str)) {
    let mut tool = in_process().and_then(|start| {
        asked.tell("`ompt_start_tool` is in the process");
        begin(start, asked)
    });
    for name in &asked.libraries {
        if tool.is_some() {
            break;
        }
        tool = match open(name) {
            Ok(start) => {
                asked.tell(&format!("{name} has `ompt_start_tool`"));
                begin(start, asked)
            }
            Err(error) => {
                asked.tell(&error);
                warn(&format!("OMP_TOOL_LIBRARIES: {error}"));
                None
            }
        };
    }
    match tool {
        Some(tool) => {
            // Release: a thread that sees the tool sees what it did when it began.
            TOOL.store(tool, Ordering::Release);
            // SAFETY: `finalize` may be called at any time.
            unsafe { libc::atexit(finalize) };
        }
        None => {
            asked.tell("no tool is started");
            callbacks::clear();
            ON.store(false, Ordering::Relaxed);
        }
    }
}

/// The function that starts the tool of a library.
fn open(name: &str) -> Result<StartTool, String> {
    let text = |at: *const c_char| {
        // SAFETY: the loader returns a string, or null.
        if at.is_null() { "?".to_owned() } else { unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned() }
    };
    let path = CString::new(name).map_err(|_| format!("`{name}` has a zero byte"))?;
    // SAFETY: both names have a zero at their ends. The library stays loaded.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return Err(format!("`{name}` cannot be loaded: {}", text(libc::dlerror())));
        }
        let start = function(libc::dlsym(library, c"ompt_start_tool".as_ptr()));
        start.ok_or_else(|| format!("`{name}` has no `ompt_start_tool`"))
    }
}

/// Starts a tool. Returns what it returned, unless it does not want to be started.
fn begin(start: StartTool, asked: &Asked) -> Option<*mut Started> {
    // SAFETY: the tool's function takes these arguments, and returns null or its functions, which stay.
    unsafe {
        let tool = start(VERSION, NAME.as_ptr());
        let Some(initialize) = tool.as_ref().and_then(|tool| tool.initialize) else {
            asked.tell("`ompt_start_tool` returned null: the tool does not want this version");
            return None;
        };
        if initialize(inquiry::lookup, 0, (&raw mut (*tool).word).cast()) == 0 {
            asked.tell("the tool's `initialize` returned 0: it does not want to be told");
            return None;
        }
        asked.tell("the tool is started");
        Some(tool)
    }
}

/// Ends the calling thread's workers, the thread and the tool: as the process ends, or as the tool asks.
pub(super) extern "C" fn finalize() {
    if is_on()
        && let (Some(runtime), Some(place)) = (runtime(), thread::context())
    {
        // Workers of a thread within a region go on until the process has ended.
        if runtime.pause()
            && let Some(task) = place.record()
        {
            Teller.implicit_ends(task, 0);
        }
        if with(|thread: &Thread| thread.known.get()) {
            Teller.thread_ends();
        }
    }
    end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_tools_are_read() {
        let asked = |tool: &'static str| {
            Asked::read(move |name| match name {
                "OMP_TOOL" => Some(tool.to_owned()),
                "OMP_TOOL_LIBRARIES" => Some("a.so: :/b/c.so".to_owned()),
                _ => None,
            })
        };
        assert_eq!(asked("").unwrap().libraries, ["a.so", "/b/c.so"]);
        assert!(asked(" Disabled ").unwrap().disabled && !asked("enabled").unwrap().disabled);
        assert!(asked("on").err().unwrap().contains("`on`"));
    }
}
