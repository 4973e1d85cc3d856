//! The counters, written at exit as one line of JSON, which is appended to a file that several
//! processes may share.

use crate::base::message::{self, Subject};
use crate::config::{Config, Each, Locks};
use crate::events::choices;
use crate::posix::mutex::lock_by_place;
use crate::posix::stall_watch;
use crate::thread::callbacks::Callbacks;
use crate::thread::{self, Count, Counts, Passed};
use baton_sync::lock::assign::GLIBC;
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// The settings that the line names, and where it goes.
struct StatsLine {
    file: CString,
    lock: Option<String>,
    wait: Option<String>,
    /// Whether a fork's child writes a line too.
    follow: bool,
}

static SETTINGS: AtomicPtr<StatsLine> = AtomicPtr::new(core::ptr::null_mut());
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Remembers the settings, if counters are asked for.
pub fn start(config: &Config, follow: bool) {
    if let Some(file) = &config.stats {
        let (lock, wait) = match &config.lock {
            None => (None, None),
            Some(Locks::One(served)) => (Some(served.lock.name.to_owned()), Some(served.wait.to_string())),
            Some(Locks::Each(each)) => (Some(names(each)), None),
        };
        let settings = StatsLine { file: file.clone(), lock, wait, follow };
        SETTINGS.store(Box::leak(Box::new(settings)), Relaxed);
    }
}

/// The names of all locks that were asked for, without repetitions.
fn names(each: &Each) -> String {
    let all = each.places.iter().map(|(_, served)| served).chain([&each.default]);
    let mut names: Vec<&str> = Vec::new();
    for name in all.map(|served| served.map_or(GLIBC, |served| served.lock.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Lets a fork's child write a line of its own, or none.
pub static CALLBACKS: Callbacks = Callbacks { after_fork_in_child, ..Callbacks::NONE };

/// Lets a fork's child write its own line at its exit, or no line if children are not followed.
fn after_fork_in_child() {
    WRITTEN.store(false, Relaxed);
    choices::forget();
    // SAFETY: null, or a leaked box.
    if unsafe { SETTINGS.load(Relaxed).as_ref() }.is_some_and(|settings| !settings.follow) {
        SETTINGS.store(core::ptr::null_mut(), Relaxed);
    }
}

/// Writes the line with the counters, once.
pub fn finish() {
    // SAFETY: null, or a leaked box.
    let Some(settings) = (unsafe { SETTINGS.load(Relaxed).as_ref() }) else { return };
    if WRITTEN.swap(true, Relaxed) {
        return;
    }
    let line = line(settings);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte, and the line outlives the call. Raw calls are no
    // cancellation points. A single write appends the whole line, even if other processes write to
    // the file.
    let written = crate::base::errno::kept(|| unsafe {
        let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, settings.file.as_ptr(), flags, 0o644);
        if fd < 0 {
            return false;
        }
        let written = libc::syscall(libc::SYS_write, fd, line.as_ptr(), line.len());
        libc::syscall(libc::SYS_close, fd);
        written == line.len() as libc::c_long
    });
    if !written {
        let file = settings.file.to_string_lossy();
        let text = format_args!("process {} cannot leave its counters", std::process::id());
        message::tell(Subject::Counters, format_args!("BATON_STATS={file}: "), text);
    }
}

fn sum(count: impl Fn(&Counts) -> &Count) -> u64 {
    thread::all().map(|thread| count(&thread.counts).get()).sum()
}

fn line(settings: &StatsLine) -> String {
    let mut line = String::new();
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let _ = write!(line, "{{\"version\":1,\"pid\":{},\"program\":", std::process::id());
    json_string(&mut line, &String::from_utf8_lossy(program.as_os_str().as_bytes()));
    for (key, value) in [("lock", settings.lock.as_deref()), ("wait", settings.wait.as_deref())] {
        let _ = write!(line, ",\"{key}\":");
        match value {
            Some(value) => json_string(&mut line, value),
            None => line.push_str("null"),
        }
    }
    let _ = write!(
        line,
        ",\"threads\":{},\"served\":{},\"spare\":{},\"passed_through\":{{",
        thread::adopted(),
        sum(|counts| &counts.served),
        sum(|counts| &counts.spare)
    );
    for (i, (why, name)) in Passed::ALL.into_iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(line, "{comma}\"{name}\":{}", sum(|counts| &counts.passed[why as usize]));
    }
    let _ = write!(line, "}},\"places\":[");
    for (i, (place, mutexes)) in lock_by_place::settled().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(line, "{comma}{{\"place\":");
        json_string(&mut line, &place.to_string());
        let _ = write!(line, ",\"mutexes\":{mutexes}}}");
    }
    let (as_asked, kept) = choices::counts();
    let _ = write!(line, "],\"queues\":{as_asked},\"queues_kept\":{kept}");
    let _ = writeln!(
        line,
        ",\"condition_waits\":{},\"moved\":{},\"refused_condition_waits\":{},\"openmp\":{},\"barrier_waits\":{},\"put_to_sleep\":{}}}",
        sum(|counts| &counts.condition_waits),
        sum(|counts| &counts.moved),
        sum(|counts| &counts.refused_waits),
        sum(|counts| &counts.openmp),
        sum(|counts| &counts.barrier_waits),
        stall_watch::switched(),
    );
    line
}

fn json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
