//! The journal: what is needed to give threads their masks back, written before a mask changes.
//!
//! The journal says which CPUs are fast and slow and, for each thread whose mask was narrowed, the
//! user's mask. A narrowed mask is always the user's fast or slow CPUs, so the journal does not
//! change when a thread moves. It is a text file of lines that are appended whole:
//!
//! ```text
//! baton-sched-journal 1
//! boot BOOT_ID
//! daemon PID START
//! programs VARIABLE
//! fast CPUS
//! slow CPUS
//! thread PID TID START CPUS
//! ```

use crate::setup::clip;
use crate::sys::proc;
use baton_host::BadInput;
use baton_machine::discover::cpulist;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const TITLE: &str = "baton-sched-journal 1";
/// Bytes from which on a journal is written anew when most of its threads have ended.
const LARGE: u64 = 1 << 20;
/// The largest journal that is read.
const LARGEST: u64 = 64 << 20;
/// The name of a journal's file ends with this.
const SUFFIX: &str = ".journal";

/// A thread by its numbers and its start time: no other thread of this boot has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub pid: u32,
    pub tid: u32,
    /// Ticks since boot.
    pub start: u64,
}

/// What a journal says of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub boot: String,
    /// The process that writes the journal, and its start time.
    pub daemon: (u32, u64),
    /// A variable, `NAME=VALUE`, in the environment of all programs of the run; `-` if the run
    /// started none.
    pub programs: String,
    pub fast: Vec<u32>,
    pub slow: Vec<u32>,
}

impl Head {
    fn text(&self) -> String {
        let Head { boot, daemon: (pid, start), programs, fast, slow } = self;
        let (fast, slow) = (cpulist::show(fast), cpulist::show(slow));
        format!("{TITLE}\nboot {boot}\ndaemon {pid} {start}\nprograms {programs}\nfast {fast}\nslow {slow}\n")
    }
}

fn thread_line(key: Key, user: &[u32]) -> String {
    format!("thread {} {} {} {}\n", key.pid, key.tid, key.start, cpulist::show(user))
}

/// A journal that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    pub head: Head,
    /// The user's mask of each thread, by the last line that names the thread.
    pub threads: BTreeMap<Key, Vec<u32>>,
}

impl Journal {
    /// Reads a journal. A last line without its end is left out: the mask that it announces was not
    /// set.
    ///
    /// # Errors
    /// [`BadInput`] if a line is wrong, if the file belongs to somebody else or is too large.
    pub fn read(path: &Path) -> std::result::Result<Journal, BadInput> {
        let bad = |why: String| BadInput::new(format!("{}: {why}", path.display()));
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| bad(format!("cannot be read: {error}")))?;
        let meta = file.metadata().map_err(|error| bad(error.to_string()))?;
        if !meta.is_file() || meta.uid() != own_user() {
            return Err(bad("expected a regular file of this user".into()));
        }
        if meta.len() > LARGEST {
            return Err(bad(format!("has {} bytes; expected at most {LARGEST}", meta.len())));
        }
        let text = std::io::read_to_string(file).map_err(|error| bad(error.to_string()))?;
        Journal::parse(&text).map_err(bad)
    }

    /// Reads the text of a journal.
    ///
    /// # Errors
    /// If a line is wrong; the error names the line and what was expected.
    pub fn parse(text: &str) -> std::result::Result<Journal, String> {
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut lines = (1..).zip(whole.lines());
        let mut next = |expected: &str| match lines.next() {
            Some((_, line)) if line.starts_with(expected) => Ok(line[expected.len()..].trim().to_owned()),
            Some((number, line)) => Err(format!("line {number}: `{}`; expected `{expected}`", clip(line))),
            None => Err(format!("the journal ends before `{expected}`")),
        };
        next(TITLE)?;
        let boot = next("boot ")?;
        let daemon = next("daemon ")?;
        let daemon = daemon.split_once(' ').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
        let daemon = daemon.ok_or("line 3: expected `daemon PID START`")?;
        let programs = next("programs ")?;
        let mut cpus = |expected: &str| {
            let list = next(expected)?;
            cpulist::parse(&list).ok_or_else(|| format!("`{expected}{}`; expected a list of CPUs", clip(&list)))
        };
        let head = Head { boot, daemon, programs, fast: cpus("fast ")?, slow: cpus("slow ")? };
        let mut threads = BTreeMap::new();
        for (number, line) in lines {
            let (key, user) = read_thread(line)
                .ok_or_else(|| format!("line {number}: `{}`; expected `thread PID TID START CPUS`", clip(line)))?;
            threads.insert(key, user);
        }
        Ok(Journal { head, threads })
    }

    /// Whether a mask is one that the run may have given a thread with this user's mask.
    pub fn is_ours(&self, mask: &[u32], user: &[u32]) -> bool {
        let part = |kind: &[u32]| user.iter().copied().filter(|cpu| kind.contains(cpu)).collect::<Vec<_>>();
        mask != user && [&self.head.fast, &self.head.slow].into_iter().any(|kind| part(kind) == mask)
    }
}

fn read_thread(line: &str) -> Option<(Key, Vec<u32>)> {
    let words: Vec<&str> = line.split(' ').collect();
    let &["thread", pid, tid, start, cpus] = &words[..] else { return None };
    let cpus = cpulist::parse(cpus).filter(|cpus| !cpus.is_empty())?;
    Some((Key { pid: pid.parse().ok()?, tid: tid.parse().ok()?, start: start.parse().ok()? }, cpus))
}

fn own_user() -> u32 {
    // SAFETY: the call takes nothing and returns a number.
    unsafe { libc::geteuid() }
}

/// The folder of this user's journals: `baton` in `XDG_RUNTIME_DIR`, else one in the folder of
/// temporary files.
pub fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder).join("baton"),
        None => std::env::temp_dir().join(format!("baton-{}", own_user())),
    }
}

/// The journals of this user.
pub fn all() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
    found.sort();
    found
}

/// Writes a journal. The file is removed by [`Writer::remove`] alone, so that it outlives a process
/// that is killed.
pub(crate) struct Writer {
    path: PathBuf,
    file: File,
    head: Head,
    /// The threads that live and were written, with the user's masks.
    threads: BTreeMap<Key, Vec<u32>>,
    bytes: u64,
}

impl Writer {
    /// Begins the journal of this process.
    ///
    /// # Errors
    /// If the folder or the file cannot be made, or the folder belongs to somebody else.
    pub(crate) fn begin(programs: String, fast: Vec<u32>, slow: Vec<u32>) -> Result<Writer> {
        let folder = folder();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let meta = fs::symlink_metadata(&folder)?;
        if !meta.is_dir() || meta.uid() != own_user() || meta.mode() & 0o022 != 0 {
            let why = format!("{}: expected a folder that only this user may write to", folder.display());
            return Err(Error::new(ErrorKind::PermissionDenied, why));
        }
        let pid = std::process::id();
        let start = proc::Stat::of(pid, pid).map_or(0, |stat| stat.start);
        let head = Head { boot: proc::boot(), daemon: (pid, start), programs, fast, slow };
        let path = folder.join(format!("sched-{pid}-{start}{SUFFIX}"));
        let (file, bytes) = write_whole(&path, &head, &BTreeMap::new())?;
        Ok(Writer { path, file, head, threads: BTreeMap::new(), bytes })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The journal as it stands.
    pub(crate) fn journal(&self) -> Journal {
        Journal { head: self.head.clone(), threads: self.threads.clone() }
    }

    /// Writes that the mask of a thread is about to be narrowed; a line that stands already is not
    /// repeated.
    ///
    /// # Errors
    /// If the line cannot be written. The mask must not change then.
    pub(crate) fn announce(&mut self, key: Key, user: &[u32]) -> Result<()> {
        if self.threads.get(&key).is_some_and(|written| written == user) {
            return Ok(());
        }
        let line = thread_line(key, user);
        self.file.write_all(line.as_bytes())?;
        self.bytes += line.len() as u64;
        self.threads.insert(key, user.to_vec());
        Ok(())
    }

    /// Notes that the thread has ended. A large journal of which most threads have ended is written
    /// anew.
    ///
    /// # Errors
    /// If the new journal cannot be written; the old one stands.
    pub(crate) fn ended(&mut self, key: Key) -> Result<()> {
        self.threads.remove(&key);
        let live = || self.threads.iter().map(|(key, user)| thread_line(*key, user).len() as u64).sum::<u64>();
        if self.bytes > LARGE && live() < self.bytes / 2 {
            (self.file, self.bytes) = write_whole(&self.path, &self.head, &self.threads)?;
        }
        Ok(())
    }

    /// Removes the journal: all masks are the users' again.
    pub(crate) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes a journal under another name and renames it, so that a reader finds the old one or the
/// new one, each whole. Returns the open file and its length.
fn write_whole(path: &Path, head: &Head, threads: &BTreeMap<Key, Vec<u32>>) -> Result<(File, u64)> {
    let other = path.with_extension("new");
    let _ = fs::remove_file(&other);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&other)?;
    let mut text = head.text();
    text.extend(threads.iter().map(|(key, user)| thread_line(*key, user)));
    file.write_all(text.as_bytes())?;
    fs::rename(&other, path)?;
    Ok((file, text.len() as u64))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: Key = Key { pid: 7, tid: 8, start: 99 };

    pub(crate) fn journal() -> Journal {
        let head = Head {
            boot: "b-1".into(),
            daemon: (5, 6),
            programs: "BATONSCHED=5-6".into(),
            fast: vec![0, 1],
            slow: vec![2, 3, 5],
        };
        Journal { head, threads: BTreeMap::from([(KEY, vec![0, 1, 2, 3])]) }
    }

    fn text(journal: &Journal) -> String {
        let lines = journal.threads.iter().map(|(key, user)| thread_line(*key, user));
        journal.head.text() + &lines.collect::<String>()
    }

    #[test]
    fn a_journal_round_trips() {
        assert_eq!(Journal::parse(&text(&journal())), Ok(journal()));
        // The last of several lines of a thread counts; a line that was cut off does not.
        let more = text(&journal()) + &thread_line(KEY, &[1, 2]) + "thread 7 9 5 0";
        assert_eq!(Journal::parse(&more).unwrap().threads, BTreeMap::from([(KEY, vec![1, 2])]));
    }

    #[test]
    fn a_damaged_journal_is_told_by_its_line() {
        let good = text(&journal());
        let wrong = |from: &str, to: &str, told: &str| {
            let said = Journal::parse(&good.replace(from, to)).unwrap_err();
            assert!(said.contains(told), "{said}");
        };
        wrong(TITLE, "x", "line 1: `x`; expected `baton-sched-journal 1`");
        wrong("daemon 5 6", "daemon 5", "line 3: expected `daemon PID START`");
        wrong("fast 0-1", "fast x", "`fast x`; expected a list of CPUs");
        wrong("thread 7 8 99 0-3", "thread 7 8 0-3", "line 7: `thread 7 8 0-3`; expected `thread PID TID START CPUS`");
        wrong("99 0-3", "99 ", "line 7");
        assert!(Journal::parse("").unwrap_err().contains("the journal ends before"));
    }

    #[test]
    fn ours_are_the_users_fast_and_slow_cpus() {
        let journal = journal();
        let user = [0, 2, 3, 4];
        assert!(journal.is_ours(&[0], &user) && journal.is_ours(&[2, 3], &user));
        assert!(!journal.is_ours(&[2], &user) && !journal.is_ours(&[0, 1], &user));
        assert!(!journal.is_ours(&[0], &[0]), "the user's own mask");
    }

    #[test]
    fn somebody_elses_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = Journal::read(dir.path()).unwrap_err().to_string();
        assert!(said.contains("expected a regular file of this user"), "{said}");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert!(Journal::read(&link).is_err());
        assert!(Journal::read(&dir.path().join("none")).is_err());
    }

    proptest! {
        #![proptest_config(baton_needs::property!(256))]

        /// Damaged journals give an error or a journal, and nothing else.
        #[test]
        fn any_text_is_read_or_refused(at in 0..200_usize, byte in 0..128_u8, cut in 0..200_usize) {
            let mut bytes = text(&journal()).into_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut % length);
            let _ = Journal::parse(&String::from_utf8_lossy(&bytes));
        }
    }
}
