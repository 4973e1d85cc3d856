//! Gives threads their masks back: at the end of a run, when its process was killed, or later from
//! a journal.

use crate::journal::{self, Journal, Key};
use crate::sys::affinity;
use crate::sys::proc::{self, Stat};
use baton_host::BadInput;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The most passes over all threads. Threads that are created during a pass inherit masks of threads
/// that the pass has not reached yet.
const PASSES: u32 = 10;
/// The most CPUs of a machine, where the kernel does not say which are on.
const MOST: u32 = 8192;

/// Gives all threads of a run their masks back, if they still have the run's. Returns the number of
/// masks that changed.
///
/// Threads in the journal get the mask that it names, unless their masks were never narrowed. Other
/// threads of the same processes, and of their descendants, may have inherited a narrowed mask; such
/// a thread gets the mask of a narrowed thread of the nearest journaled process from which it came.
/// Real-time threads that are not in the journal are left alone.
pub fn restore(journal: &Journal) -> u64 {
    if !journal.head.is_here() {
        return 0;
    }
    let mut changed = 0;
    for _ in 0..PASSES {
        let now = pass(journal);
        changed += now;
        if now == 0 {
            break;
        }
    }
    changed
}

fn pass(journal: &Journal) -> u64 {
    let (mut changed, online) = (0, proc::online().unwrap_or_else(|| (0..MOST).collect()));
    // The users' masks of threads whose masks may have been narrowed, by process.
    let mut users: BTreeMap<u32, BTreeSet<&[u32]>> = BTreeMap::new();
    for (key, user) in journal.threads.iter().filter(|(key, _)| !journal.own.contains(key)) {
        users.entry(key.pid).or_default().insert(user);
        if key.stat().is_some() {
            changed += u64::from(give_back(journal, key.tid, &[user], &online));
        }
    }
    let all: BTreeSet<&[u32]> = users.values().flatten().copied().collect();
    let none = BTreeSet::new();
    for (pid, journaled) in descendants(journal) {
        let from = journaled.map_or(&all, |process| users.get(&process).unwrap_or(&none));
        let from: Vec<&[u32]> = from.iter().copied().collect();
        for tid in proc::threads(pid) {
            let Some(stat) = Stat::of(pid, tid) else { continue };
            let is_journaled = journal.threads.contains_key(&Key { pid, tid, start: stat.start });
            if !is_journaled && proc::is_fair(stat.class) {
                changed += u64::from(give_back(journal, tid, &from, &online));
            }
        }
    }
    changed
}

/// Gives a thread the one of the users' masks of which its present mask is a narrowed one. If
/// several fit, the thread keeps its mask. Returns whether the mask changed.
fn give_back(journal: &Journal, tid: u32, users: &[&[u32]], online: &[u32]) -> bool {
    let Ok(mask) = affinity::get(tid) else { return false };
    let mut fit = users.iter().filter(|user| journal.is_ours(&mask, user, online));
    let (Some(user), None) = (fit.next(), fit.next()) else { return false };
    affinity::set(tid, user).is_ok() && affinity::get(tid).is_ok_and(|now| now != mask)
}

/// The processes of the run that live, each with itself or its nearest ancestor that is in the journal:
/// those in the journal, those that descend from them, and those that have the run's variable in
/// their environment, which may have no such ancestor any more.
pub(crate) fn descendants(journal: &Journal) -> BTreeMap<u32, Option<u32>> {
    let mut parents = BTreeMap::new();
    let mut found: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    let mut marked = Vec::new();
    for pid in proc::processes() {
        let Some(stat) = Stat::of(pid, pid) else { continue };
        parents.insert(pid, stat.parent);
        // A process that began after its journaled threads is another one with the same number.
        let of_this = |key: &Key| if key.tid == pid { stat.start == key.start } else { stat.start <= key.start };
        let range = Key { pid, tid: 0, start: 0 }..=Key { pid, tid: u32::MAX, start: u64::MAX };
        let programs = &journal.head.programs;
        if journal.threads.range(range).any(|(key, _)| of_this(key)) {
            found.insert(pid, Some(pid));
        } else if programs != "-" && proc::has_variable(pid, programs) {
            marked.push(pid);
        }
    }
    for &pid in parents.keys() {
        let mut line = Vec::new();
        let mut at = pid;
        while let Some(&parent) = parents.get(&at) {
            if let Some(&journaled) = found.get(&at) {
                found.extend(line.into_iter().map(|pid| (pid, journaled)));
                break;
            }
            line.push(at);
            at = parent;
        }
    }
    for pid in marked {
        found.entry(pid).or_insert(None);
    }
    found
}

/// What became of a journal.
#[derive(Debug)]
pub struct Restored {
    pub path: PathBuf,
    /// The number of masks that changed, or why the journal was left alone.
    pub masks: Result<u64, BadInput>,
}

/// Gives masks back from all journals of this user whose writers have ended, and removes these
/// journals. Journals of other PID namespaces are left alone.
pub fn all() -> Vec<Restored> {
    let is_here = |path: &PathBuf| {
        Journal::read(path).map_or(true, |journal| journal.head.is_here() || journal.head.boot != proc::boot())
    };
    journal::all()
        .into_iter()
        .filter(is_here)
        .filter_map(|path| Some(Restored { masks: one(&path).transpose()?, path }))
        .collect()
}

/// Gives masks back from one journal and removes it; `None` if its writer still runs.
///
/// # Errors
/// If the journal cannot be read; it stays then.
pub fn one(path: &Path) -> Result<Option<u64>, BadInput> {
    let journal = Journal::read(path)?;
    if journal.head.is_live() {
        return Ok(None);
    }
    if journal.head.boot == proc::boot() && !journal.head.is_here() {
        let why = format!("{}: is of another PID namespace ({})", path.display(), journal.head.pids);
        return Err(BadInput::new(why).hint("give its masks back there, by baton sched restore"));
    }
    let masks = restore(&journal);
    let _ = std::fs::remove_file(path);
    Ok(Some(masks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Head;
    use crate::journal::tests::journal;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    /// Makes a journal of this boot that names the child's main thread. The user's mask in it is the
    /// test's own, and the first CPU of this mask is fast.
    fn of(child: &Child, start: u64) -> (Journal, Vec<u32>) {
        let user = affinity::get(0).unwrap();
        let (fast, slow) = (user[..1].to_vec(), user[1..].to_vec());
        let key = Key { pid: child.id(), tid: child.id(), start };
        let (boot, pids) = (proc::boot(), proc::namespace());
        let head = Head { boot, pids, daemon: (1, 1), programs: "-".into(), fast, slow };
        (Journal { head, threads: BTreeMap::from([(key, user.clone())]), ..journal() }, user)
    }

    fn start(child: &Child) -> u64 {
        Stat::of(child.id(), child.id()).unwrap().start
    }

    #[test]
    fn only_masks_that_are_still_ours_are_given_back() {
        if affinity::get(0).unwrap().len() < 2 {
            baton_needs::absent("second CPU", "only_masks_that_are_still_ours_are_given_back");
            return;
        }
        let mut child = sleeper();
        let (journal, user) = of(&child, start(&child));
        affinity::set(child.id(), &user[..1]).unwrap();
        let (other_start, _) = of(&child, start(&child) + 1);
        assert_eq!(restore(&other_start), 0, "another thread with the same number");
        let other_boot = Journal { head: Head { boot: "b".into(), ..journal.head.clone() }, ..journal.clone() };
        assert_eq!(restore(&other_boot), 0, "another boot");
        let own = Journal { own: journal.threads.keys().copied().collect(), ..journal.clone() };
        assert_eq!(restore(&own), 0, "the thread pinned itself: its mask was never narrowed");
        assert_eq!(affinity::get(child.id()).unwrap(), user[..1]);
        assert_eq!(restore(&journal), 1);
        assert_eq!(affinity::get(child.id()).unwrap(), user);
        assert_eq!(restore(&journal), 0, "its mask is the user's");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(restore(&journal), 0, "it has ended");
    }

    #[test]
    fn a_child_that_inherited_a_mask_is_found() {
        let user = affinity::get(0).unwrap();
        if user.len() < 2 {
            baton_needs::absent("second CPU", "a_child_that_inherited_a_mask_is_found");
            return;
        }
        // The shell has a child; the child's mask is that of the shell when it began.
        let script = "sleep 60 & echo $!; wait";
        let mut shell = Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let out = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let (journal, _) = of(&shell, start(&shell));
        affinity::set(child, &user[..1]).unwrap();
        // The shell has pinned itself and its child; another application is narrowed.
        let mut other = sleeper();
        let (mut pinned, _) = of(&other, start(&other));
        let key = Key { pid: shell.id(), tid: shell.id(), start: start(&shell) };
        pinned.threads.insert(key, user[..1].to_vec());
        pinned.own.insert(key);
        assert_eq!(restore(&pinned), 0);
        assert_eq!(affinity::get(child).unwrap(), user[..1]);
        other.kill().and_then(|()| other.wait()).unwrap();
        assert_eq!(restore(&journal), 1);
        assert_eq!(affinity::get(child).unwrap(), user);
        // SAFETY: `child` is a process that this test started and that runs until it is killed here.
        unsafe { libc::kill(child as i32, libc::SIGKILL) };
        shell.wait().unwrap();
    }

    #[test]
    fn a_journal_of_a_live_writer_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, here) = (dir.path().join("x.journal"), proc::namespace());
        let put = |daemon: (u32, u64), pids: &str| {
            let pid = std::process::id();
            let own = Stat::of(pid, pid).unwrap().start;
            let head = Head { boot: proc::boot(), daemon: (pid, own + daemon.1), ..journal().head };
            let text = format!(
                "baton-sched-journal 1\nboot {}\npids {pids}\ndaemon {} {}\nprograms -\nfast 0\nslow 1\n",
                head.boot, head.daemon.0, head.daemon.1
            );
            std::fs::write(&path, text).unwrap();
        };
        put((0, 0), &here);
        assert_eq!(one(&path).unwrap(), None);
        assert!(path.exists());
        put((0, 1), "pid:[0]");
        assert!(one(&path).unwrap_err().to_string().contains("another PID namespace"));
        assert!(path.exists(), "a journal of another namespace stays");
        put((0, 1), &here);
        assert_eq!(one(&path).unwrap(), Some(0), "the writer has ended");
        assert!(!path.exists());
        std::fs::write(&path, "x\n").unwrap();
        assert!(one(&path).unwrap_err().to_string().contains("line 1"));
        assert!(path.exists(), "a journal that cannot be read stays");
    }
}
