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

/// Gives all threads of a run their masks back, if they still have the run's. Returns the number of
/// masks that changed.
///
/// Threads in the journal get the mask that it names. Other threads of the same processes, and of
/// their descendants, may have inherited a narrowed mask; such a thread gets the mask of a journaled
/// thread from which it may have come.
pub fn restore(journal: &Journal) -> u64 {
    if journal.head.boot != proc::boot() {
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
    let mut changed = 0;
    for (key, user) in &journal.threads {
        if Stat::of(key.pid, key.tid).is_some_and(|stat| stat.start == key.start) {
            changed += u64::from(give_back(journal, key.tid, user));
        }
    }
    // Which users' masks there are: those of the same process first.
    let mut users: BTreeMap<u32, BTreeSet<&[u32]>> = BTreeMap::new();
    for (key, user) in &journal.threads {
        users.entry(key.pid).or_default().insert(user);
    }
    let all: BTreeSet<&[u32]> = users.values().flatten().copied().collect();
    for pid in descendants(journal) {
        let own = users.get(&pid).unwrap_or(&all);
        for tid in proc::threads(pid) {
            let Some(stat) = Stat::of(pid, tid) else { continue };
            if journal.threads.contains_key(&Key { pid, tid, start: stat.start }) {
                continue;
            }
            changed += u64::from(own.iter().any(|user| give_back(journal, tid, user)));
        }
    }
    changed
}

/// Gives a thread the user's mask if its present one is the run's. Returns whether it changed.
fn give_back(journal: &Journal, tid: u32, user: &[u32]) -> bool {
    affinity::get(tid).is_ok_and(|mask| journal.is_ours(&mask, user)) && affinity::set(tid, user).is_ok()
}

/// The processes of the run that live: those in the journal, those that descend from them, and those
/// that have the run's variable in their environment.
fn descendants(journal: &Journal) -> BTreeSet<u32> {
    let mut parents = BTreeMap::new();
    let mut found: BTreeSet<u32> = BTreeSet::new();
    for pid in proc::processes() {
        let Some(stat) = Stat::of(pid, pid) else { continue };
        parents.insert(pid, stat.parent);
        // A process that began after its journaled threads is another one with the same number.
        let of_this = |key: &Key| if key.tid == pid { stat.start == key.start } else { stat.start <= key.start };
        let range = Key { pid, tid: 0, start: 0 }..=Key { pid, tid: u32::MAX, start: u64::MAX };
        let journaled = journal.threads.range(range).any(|(key, _)| of_this(key));
        let programs = &journal.head.programs;
        if journaled || (programs != "-" && proc::has_variable(pid, programs)) {
            found.insert(pid);
        }
    }
    for &pid in parents.keys() {
        let mut line = Vec::new();
        let mut at = pid;
        while let Some(&parent) = parents.get(&at) {
            if found.contains(&at) {
                found.extend(line);
                break;
            }
            line.push(at);
            at = parent;
        }
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
/// journals.
pub fn all() -> Vec<Restored> {
    journal::all().into_iter().filter_map(|path| Some(Restored { masks: one(&path).transpose()?, path })).collect()
}

/// Gives masks back from one journal and removes it; `None` if its writer still runs.
///
/// # Errors
/// If the journal cannot be read; it stays then.
pub fn one(path: &Path) -> Result<Option<u64>, BadInput> {
    let journal = Journal::read(path)?;
    let (pid, start) = journal.head.daemon;
    let same_boot = journal.head.boot == proc::boot();
    let runs = Stat::of(pid, pid).is_some_and(|stat| stat.start == start && !matches!(stat.state, 'Z' | 'X'));
    if same_boot && runs {
        return Ok(None);
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
        let head = Head { boot: proc::boot(), daemon: (1, 1), programs: "-".into(), fast, slow };
        (Journal { head, threads: BTreeMap::from([(key, user.clone())]) }, user)
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
        assert_eq!(restore(&journal), 1);
        assert_eq!(affinity::get(child).unwrap(), user);
        // SAFETY: `child` is a process that this test started and that runs until it is killed here.
        unsafe { libc::kill(child as i32, libc::SIGKILL) };
        shell.wait().unwrap();
    }

    #[test]
    fn a_journal_of_a_live_writer_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.journal");
        let put = |daemon: (u32, u64)| {
            let pid = std::process::id();
            let own = Stat::of(pid, pid).unwrap().start;
            let head = Head { boot: proc::boot(), daemon: (pid, own + daemon.1), ..journal().head };
            let text = format!(
                "baton-sched-journal 1\nboot {}\ndaemon {} {}\nprograms -\nfast 0\nslow 1\n",
                head.boot, head.daemon.0, head.daemon.1
            );
            std::fs::write(&path, text).unwrap();
        };
        put((0, 0));
        assert_eq!(one(&path).unwrap(), None);
        assert!(path.exists());
        put((0, 1));
        assert_eq!(one(&path).unwrap(), Some(0), "the writer has ended");
        assert!(!path.exists());
        std::fs::write(&path, "x\n").unwrap();
        assert!(one(&path).unwrap_err().to_string().contains("line 1"));
        assert!(path.exists(), "a journal that cannot be read stays");
    }
}
