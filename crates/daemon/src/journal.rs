//! The journal: what is needed to give threads their masks back, written before a mask changes.
//!
//! The journal says which CPUs are fast and slow and, for each thread, the user's mask. A narrowed
//! mask is always the user's fast or slow CPUs, so the journal does not change when a thread moves.
//! It is a text file of lines that are appended whole:
//!
//! ```text
//! baton-sched-journal 1
//! boot BOOT_ID
//! pids NAMESPACE
//! daemon PID START
//! programs VARIABLE
//! fast CPUS
//! slow CPUS
//! own PID TID START CPUS
//! thread PID TID START CPUS
//! absent CPUS
//! ```
//!
//! Threads whose masks were never narrowed have lines with `own`, and nothing is given back to them.
//! `absent` names CPUs that were off or outside of a cpuset for a time: narrowed masks may lack them.

use crate::setup::clip;
use crate::sys::proc;
use baton_host::BadInput;
use baton_machine::discover::cpulist;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Seek, Write};
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

impl Key {
    /// What the kernel says of the thread; `None` if it has ended, also if another one has its number.
    pub(crate) fn stat(&self) -> Option<proc::Stat> {
        proc::Stat::of(self.pid, self.tid).filter(|stat| stat.start == self.start)
    }
}

/// What a journal says of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub boot: String,
    /// The PID namespace in which the numbers of processes hold.
    pub pids: String,
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
        let Head { boot, pids, daemon: (pid, start), programs, fast, slow } = self;
        let (fast, slow) = (cpulist::show(fast), cpulist::show(slow));
        let daemon = format!("daemon {pid} {start}\nprograms {programs}\nfast {fast}\nslow {slow}");
        format!("{TITLE}\nboot {boot}\npids {pids}\n{daemon}\n")
    }

    /// Whether the numbers of processes in the journal are those that this process sees.
    pub fn is_here(&self) -> bool {
        self.boot == proc::boot() && self.pids == proc::namespace()
    }

    /// Whether the process that writes the journal lives.
    pub fn is_live(&self) -> bool {
        self.is_here() && self.writer().is_some_and(|stat| stat.lives())
    }

    /// What the kernel says of the process that writes the journal; `None` if there is none.
    pub(crate) fn writer(&self) -> Option<proc::Stat> {
        let (pid, start) = self.daemon;
        Key { pid, tid: pid, start }.stat()
    }
}

fn thread_line(key: Key, user: &[u32], own: bool) -> String {
    let word = if own { "own" } else { "thread" };
    format!("{word} {} {} {} {}\n", key.pid, key.tid, key.start, cpulist::show(user))
}

fn absent_line(cpus: &BTreeSet<u32>) -> String {
    format!("absent {}\n", cpulist::show(&cpus.iter().copied().collect::<Vec<_>>()))
}

/// A journal that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    pub head: Head,
    /// The user's mask of each thread, by the last line that names the thread.
    pub threads: BTreeMap<Key, Vec<u32>>,
    /// The threads whose masks were never narrowed.
    pub own: BTreeSet<Key>,
    /// CPUs that narrowed masks may lack.
    pub absent: BTreeSet<u32>,
}

impl Journal {
    fn new(head: Head) -> Journal {
        Journal { head, threads: BTreeMap::new(), own: BTreeSet::new(), absent: BTreeSet::new() }
    }

    fn text(&self) -> String {
        let mut text = self.head.text();
        if !self.absent.is_empty() {
            text += &absent_line(&self.absent);
        }
        text.extend(self.threads.iter().map(|(key, user)| thread_line(*key, user, self.own.contains(key))));
        text
    }

    /// Notes the user's mask of a thread. A thread whose mask may have been narrowed stays one.
    fn put(&mut self, key: Key, user: Vec<u32>, own: bool) {
        match own && self.threads.get(&key).is_none_or(|_| self.own.contains(&key)) {
            true => self.own.insert(key),
            false => self.own.remove(&key),
        };
        self.threads.insert(key, user);
    }

    /// Reads a journal. A last line without its end is left out: the mask that it announces was not
    /// set.
    ///
    /// # Errors
    /// [`BadInput`] if a line is wrong, if the file belongs to another user or is too large.
    pub fn read(path: &Path) -> std::result::Result<Journal, BadInput> {
        let file = Journal::open(path);
        let file = file.map_err(|error| BadInput::new(format!("{}: cannot be read: {error}", path.display())))?;
        Journal::read_from(&file, path)
    }

    pub(crate) fn open(path: &Path) -> Result<File> {
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    }

    /// Reads an open journal, which may have been removed. `path` is for messages.
    pub(crate) fn read_from(mut file: &File, path: &Path) -> std::result::Result<Journal, BadInput> {
        let bad = |why: String| BadInput::new(format!("{}: {why}", path.display()));
        let meta = file.metadata().map_err(|error| bad(error.to_string()))?;
        if !meta.is_file() || meta.uid() != own_user() {
            return Err(bad("expected a regular file of this user".into()));
        }
        if meta.len() > LARGEST {
            return Err(bad(format!("has {} bytes; expected at most {LARGEST}", meta.len())));
        }
        let text =
            file.rewind().and_then(|()| std::io::read_to_string(file)).map_err(|error| bad(error.to_string()))?;
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
        let pids = next("pids ")?;
        let daemon = next("daemon ")?;
        let daemon = daemon.split_once(' ').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
        let daemon = daemon.ok_or("line 4: expected `daemon PID START`")?;
        let programs = next("programs ")?;
        let mut cpus = |expected: &str| {
            let list = next(expected)?;
            cpulist::parse(&list).ok_or_else(|| format!("`{expected}{}`; expected a list of CPUs", clip(&list)))
        };
        let head = Head { boot, pids, daemon, programs, fast: cpus("fast ")?, slow: cpus("slow ")? };
        let mut journal = Journal::new(head);
        for (number, line) in lines {
            journal.read_line(line).ok_or_else(|| {
                format!("line {number}: `{}`; expected `thread|own PID TID START CPUS` or `absent CPUS`", clip(line))
            })?;
        }
        Ok(journal)
    }

    fn read_line(&mut self, line: &str) -> Option<()> {
        let cpus = |list: &str| cpulist::parse(list).filter(|cpus| !cpus.is_empty());
        match line.split(' ').collect::<Vec<_>>()[..] {
            [word @ ("thread" | "own"), pid, tid, start, list] => {
                let key = Key { pid: pid.parse().ok()?, tid: tid.parse().ok()?, start: start.parse().ok()? };
                self.put(key, cpus(list)?, word == "own");
            }
            ["absent", list] => self.absent.extend(cpus(list)?),
            _ => return None,
        }
        Some(())
    }

    /// Whether a mask is one that the run may have given a thread with this user's mask: all fast or
    /// all slow CPUs of it, but for CPUs that were or are absent.
    pub fn is_ours(&self, mask: &[u32], user: &[u32], online: &[u32]) -> bool {
        let may_lack = |cpu: &u32| self.absent.contains(cpu) || !online.contains(cpu);
        let is_part = |kind: &Vec<u32>| {
            let mut part = user.iter().filter(|cpu| kind.contains(cpu)).peekable();
            let within = mask.iter().all(|cpu| kind.contains(cpu) && user.contains(cpu));
            part.peek().is_some() && within && part.all(|cpu| mask.contains(cpu) || may_lack(cpu))
        };
        // The kernel shows no CPU that is off.
        let is_users = user.iter().filter(|cpu| online.contains(cpu)).eq(mask);
        !mask.is_empty() && !is_users && [&self.head.fast, &self.head.slow].into_iter().any(is_part)
    }
}

/// The number of the user whose processes this one may place.
pub(crate) fn own_user() -> u32 {
    // SAFETY: the call takes nothing and returns a number.
    unsafe { libc::geteuid() }
}

/// The folder of this user's journals: `baton` in `XDG_RUNTIME_DIR`, else one in the folder of
/// temporary files.
pub fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder).join("baton"),
        None => temporary(),
    }
}

fn temporary() -> PathBuf {
    std::env::temp_dir().join(format!("baton-{}", own_user()))
}

/// The journals of this user, also those of runs that had another `XDG_RUNTIME_DIR` than this process:
/// none, or the one that systemd sets.
pub fn all() -> Vec<PathBuf> {
    let systemd = PathBuf::from(format!("/run/user/{}/baton", own_user()));
    let folders = BTreeSet::from([folder(), temporary(), systemd]);
    // What belongs to others is not read, and not complained of.
    let is_own =
        |folder: &PathBuf| fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir() && meta.uid() == own_user());
    let entries = folders.into_iter().filter(is_own).filter_map(|folder| fs::read_dir(folder).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
    found.sort();
    found
}

/// Writes a journal. The file is removed by [`Writer::remove`] alone, so that it outlives a process
/// that is killed.
pub(crate) struct Writer {
    path: PathBuf,
    file: File,
    /// The threads that live and were written, with the user's masks.
    journal: Journal,
    bytes: u64,
}

impl Writer {
    /// Begins the journal of this process.
    ///
    /// # Errors
    /// If the folder or the file cannot be made, or the folder belongs to another user.
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
        let (boot, pids) = (proc::boot(), proc::namespace());
        let journal = Journal::new(Head { boot, pids, daemon: (pid, start), programs, fast, slow });
        let path = folder.join(format!("sched-{pid}-{start}{SUFFIX}"));
        let (file, bytes) = write_whole(&path, &journal)?;
        Ok(Writer { path, file, journal, bytes })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The journal with all that was written of threads that have ended, whose children may live.
    pub(crate) fn journal(&self) -> Journal {
        Journal::read(&self.path).unwrap_or_else(|_| self.journal.clone())
    }

    /// Writes the user's mask of a thread, and whether the thread's mask was never narrowed and is not
    /// about to be. A line that stands already is not repeated.
    ///
    /// # Errors
    /// If the line cannot be written. The mask must not change then.
    pub(crate) fn announce(&mut self, key: Key, user: &[u32], own: bool) -> Result<()> {
        let stands = own || !self.journal.own.contains(&key);
        if stands && self.journal.threads.get(&key).is_some_and(|written| written == user) {
            return Ok(());
        }
        self.append(&thread_line(key, user, own))?;
        self.journal.put(key, user.to_vec(), own);
        Ok(())
    }

    /// Writes that narrowed masks may lack these CPUs.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub(crate) fn absent(&mut self, cpus: impl IntoIterator<Item = u32>) -> Result<()> {
        let new: BTreeSet<u32> = cpus.into_iter().filter(|cpu| !self.journal.absent.contains(cpu)).collect();
        if !new.is_empty() {
            self.append(&absent_line(&new))?;
            self.journal.absent.extend(new);
        }
        Ok(())
    }

    fn append(&mut self, line: &str) -> Result<()> {
        self.file.write_all(line.as_bytes())?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Notes that the thread has ended. A large journal of which most threads have ended is written
    /// anew.
    ///
    /// # Errors
    /// If the new journal cannot be written; the old one stands.
    pub(crate) fn ended(&mut self, key: Key) -> Result<()> {
        self.journal.threads.remove(&key);
        self.journal.own.remove(&key);
        if self.bytes > LARGE && (self.journal.text().len() as u64) < self.bytes / 2 {
            (self.file, self.bytes) = write_whole(&self.path, &self.journal)?;
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
fn write_whole(path: &Path, journal: &Journal) -> Result<(File, u64)> {
    let other = path.with_extension("new");
    let _ = fs::remove_file(&other);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&other)?;
    let text = journal.text();
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
            pids: "pid:[1]".into(),
            daemon: (5, 6),
            programs: "BATONSCHED=5-6".into(),
            fast: vec![0, 1],
            slow: vec![2, 3, 5],
        };
        Journal { threads: BTreeMap::from([(KEY, vec![0, 1, 2, 3])]), ..Journal::new(head) }
    }

    fn text(journal: &Journal) -> String {
        journal.text()
    }

    #[test]
    fn a_journal_round_trips() {
        assert_eq!(Journal::parse(&text(&journal())), Ok(journal()));
        // The last of several lines of a thread counts; a line that was cut off does not.
        let more = text(&journal()) + &thread_line(KEY, &[1, 2], true) + "absent 4-5\nthread 7 9 5 0";
        let read = Journal::parse(&more).unwrap();
        assert_eq!((&read.threads, &read.absent), (&BTreeMap::from([(KEY, vec![1, 2])]), &BTreeSet::from([4, 5])));
        assert!(read.own.is_empty(), "a thread whose mask may have been narrowed stays one");
        assert_eq!(Journal::parse(&text(&read)), Ok(read));
        let own = Journal::parse(&text(&journal()).replace("thread 7", "own 7")).unwrap();
        assert_eq!(own.own, BTreeSet::from([KEY]));
        assert_eq!(Journal::parse(&text(&own)), Ok(own));
    }

    #[test]
    fn a_damaged_journal_is_told_by_its_line() {
        let good = text(&journal());
        let wrong = |from: &str, to: &str, told: &str| {
            let said = Journal::parse(&good.replace(from, to)).unwrap_err();
            assert!(said.contains(told), "{said}");
        };
        wrong(TITLE, "x", "line 1: `x`; expected `baton-sched-journal 1`");
        wrong("daemon 5 6", "daemon 5", "line 4: expected `daemon PID START`");
        wrong("fast 0-1", "fast x", "`fast x`; expected a list of CPUs");
        wrong(
            "thread 7 8 99 0-3",
            "thread 7 8 0-3",
            "line 8: `thread 7 8 0-3`; expected `thread|own PID TID START CPUS`",
        );
        wrong("99 0-3", "99 ", "line 8");
        assert!(Journal::parse("").unwrap_err().contains("the journal ends before"));
    }

    #[test]
    fn ours_are_the_users_fast_and_slow_cpus() {
        let journal = journal();
        let (user, all) = ([0, 2, 3, 4], [0, 1, 2, 3, 4, 5]);
        let is_ours = |journal: &Journal, mask: &[u32], user: &[u32]| journal.is_ours(mask, user, &all);
        assert!(is_ours(&journal, &[0], &user) && is_ours(&journal, &[2, 3], &user));
        assert!(!is_ours(&journal, &[2], &user) && !is_ours(&journal, &[0, 1], &user));
        assert!(!is_ours(&journal, &[0], &[0]), "the user's own mask");
        // A mask may lack CPUs that are off, or that were.
        assert!(journal.is_ours(&[2], &user, &[0, 1, 2]) && !journal.is_ours(&[], &user, &[0]));
        let lacks = Journal { absent: BTreeSet::from([3]), ..journal };
        assert!(is_ours(&lacks, &[2], &user) && is_ours(&lacks, &[2, 3], &user) && !is_ours(&lacks, &[3], &user));
    }

    #[test]
    fn what_is_no_journal_of_this_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = Journal::read(dir.path()).unwrap_err().to_string();
        assert!(said.contains("expected a regular file of this user"), "{said}");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert!(Journal::read(&link).is_err());
        assert!(Journal::read(&dir.path().join("none")).is_err());
        let path = dir.path().join("x");
        fs::write(&path, text(&journal())).unwrap();
        assert_eq!(Journal::read(&path), Ok(journal()));
        if std::os::unix::fs::chown(&path, Some(own_user() + 1), None).is_ok() {
            let said = Journal::read(&path).unwrap_err().to_string();
            assert!(said.contains("expected a regular file of this user"), "{said}");
        } else {
            baton_needs::absent("right to give files away", "what_is_no_journal_of_this_user_is_refused");
        }
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
