//! While a program runs under `baton profile`: says once that no thread has moved for a while, and
//! what is known about that. Keeps what the last look at the threads saw, for the report.

use crate::ui;
use baton_host::launch::still::{Look, Stillness, handlers, sleeps_in};
use baton_report::Profile;
use baton_trace::ThreadIndex;
use baton_trace::last_look::LastLook;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long no thread must have run before a message says so.
const LONG: Duration = Duration::from_millis(1_900);
/// The time before the first look; the time doubles after each look, up to [`MOST`].
const FIRST: Duration = Duration::from_millis(10);
const MOST: Duration = Duration::from_millis(50);
/// Looks may take this part of a CPU's time: one in two hundred.
const COST: u32 = 200;
/// The largest recording that is analysed while the program runs.
const MOST_BYTES: u64 = 64 << 20;
/// The most threads outside of waits that are named.
const NAMED: usize = 3;

/// A thread of Baton's own that looks at the program's threads again and again.
pub(super) struct Watching {
    end: Sender<u32>,
    thread: JoinHandle<Option<LastLook>>,
}

impl Watching {
    /// Starts the watching thread. It waits for [`Watching::started`] before it looks at the
    /// program, which is recorded into `directory`.
    pub(super) fn begin(directory: &Path) -> Watching {
        let (end, told) = channel();
        let directory = directory.to_owned();
        Watching { end, thread: std::thread::spawn(move || watch(&directory, &told)) }
    }

    /// Lets the watching thread begin to look whether the program stands still; `pid` is its process.
    pub(super) fn started(&self, pid: u32) {
        // If the watching thread has ended, the number need not be sent.
        let _ = self.end.send(pid);
    }

    /// Ends the watching thread. Returns what its last look at the program saw.
    pub(super) fn end(self) -> Option<LastLook> {
        drop(self.end);
        self.thread.join().ok().flatten()
    }
}

fn watch(directory: &Path, told: &Receiver<u32>) -> Option<LastLook> {
    let pid = told.recv().ok()?;
    let mut stillness = Stillness::of(pid);
    let (mut last, mut said, mut wait) = (None, false, FIRST);
    while told.recv_timeout(wait.max(stillness.cost() * COST)) == Err(RecvTimeoutError::Timeout) {
        let Some(look) = stillness.look() else { continue };
        wait = (wait * 2).min(MOST);
        if look.still >= LONG && !said {
            said = true;
            tell(directory, pid, &look);
        }
        let (still_ns, children) = (look.still.as_nanos() as u64, look.has_children);
        last = Some(LastLook { pid, threads: look.threads, still_ns, children, handlers: handlers(pid) });
    }
    last
}

fn tell(directory: &Path, pid: u32, look: &Look) {
    let known = known(directory, pid, look);
    let text = format!("nobody has moved for {:.1} s. {}", look.still.as_secs_f64(), known.text);
    if known.deadlock { ui::warn(text) } else { ui::note(text) }
}

struct Known {
    text: String,
    /// Whether threads of the program can never go on.
    deadlock: bool,
}

/// What the recording so far and the kernel say about a program of which no thread runs.
fn known(directory: &Path, pid: u32, look: &Look) -> Known {
    let threads = if look.threads.len() == 1 { "1 thread".into() } else { format!("{} threads", look.threads.len()) };
    let children = if look.has_children { ", and those of the processes that it started" } else { "" };
    let nothing = format!("No thread ran ({threads}{children})");
    let profile = (bytes(directory) <= MOST_BYTES).then(|| Profile::open_running(directory).ok()).flatten();
    let Some(profile) = profile else {
        return Known {
            text: format!("{nothing}. The report says what it waits for, if Baton sees it"),
            deadlock: false,
        };
    };
    if let Some(still) = &profile.report.standstill {
        return Known { text: still.headline.clone(), deadlock: still.deadlock_since_ns.is_some() };
    }
    let free = free(&profile, pid);
    let text = match free.is_empty() {
        true => format!("{nothing}. All wait where Baton sees it, and some may have a deadline"),
        false => format!(
            "{nothing}. In no wait that Baton sees: {}; it may wait for input or output, or sleep",
            free.join(", ")
        ),
    };
    Known { text, deadlock: false }
}

/// The threads that are in no wait that the recording shows, with where the kernel says they sleep.
fn free(profile: &Profile, pid: u32) -> Vec<String> {
    let name = |thread: &ThreadIndex| {
        let known = profile.report.threads.get(thread.index())?;
        let at = sleeps_in(pid, known.tid).map_or_else(String::new, |function| format!(" in the kernel's {function}"));
        Some(format!("thread {} `{}`{at}", thread.0, known.name))
    };
    let mut names: Vec<String> = profile.ending.free.iter().filter_map(name).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names
}

/// The size of the recording so far.
fn bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum()
}
