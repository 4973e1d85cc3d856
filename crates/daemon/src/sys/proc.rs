//! Processes and threads, from `/proc`.

use baton_machine::discover::cpulist;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::OnceLock;

/// The class of threads that a scheduler of sched_ext has (`include/uapi/linux/sched.h`).
const SCHED_EXT: i32 = 7;

/// What `/proc/PID/task/TID/stat` says of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// `R` runs or waits for a CPU, `T` is stopped, `Z` is dead; others sleep.
    pub(crate) state: char,
    pub(crate) parent: u32,
    /// Start time in ticks since boot, which tells apart threads that have the same number.
    pub(crate) start: u64,
    /// The CPU on which it runs or ran last.
    pub(crate) cpu: u32,
    /// The scheduling class, such as `SCHED_OTHER`.
    pub(crate) class: i32,
}

impl Stat {
    /// Whether the thread has not ended. A zombie has ended.
    pub(crate) fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }

    /// Reads a thread's line; `None` if there is no such thread.
    pub(crate) fn of(pid: u32, tid: u32) -> Option<Stat> {
        // A line has at most some 1,100 bytes, so that it comes whole. The name need not be UTF-8.
        let mut line = [0; 2048];
        let size = fs::File::open(format!("/proc/{pid}/task/{tid}/stat")).ok()?.read(&mut line).ok()?;
        Stat::read(&String::from_utf8_lossy(&line[..size]))
    }

    fn read(line: &str) -> Option<Stat> {
        // The name, in brackets, may hold anything.
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Stat {
            state: fields.first()?.chars().next()?,
            parent: number(1)? as u32,
            start: number(19)?,
            cpu: number(36)? as u32,
            class: number(38)? as i32,
        })
    }
}

/// Nanoseconds for which a thread has run (`schedstat`); `None` if the kernel does not count them.
pub(crate) fn ran_ns(pid: u32, tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The threads of a process, ascending; none if it has ended.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// Number of threads of a process, without a look at each; `None` if the process has ended.
pub(crate) fn count(pid: u32) -> Option<u64> {
    // A folder has two links, and the kernel adds one for each thread.
    fs::metadata(format!("/proc/{pid}/task")).ok()?.nlink().checked_sub(2)
}

/// All processes that can be seen, ascending.
pub(crate) fn processes() -> Vec<u32> {
    numbers("/proc")
}

fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    found.sort_unstable();
    found
}

/// Whether the process began with this variable in its environment.
pub(crate) fn has_variable(pid: u32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry == variable.as_bytes())
}

/// The user to whom the process belongs.
pub(crate) fn owner(pid: u32) -> Option<u32> {
    Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// The command of a process, for people.
pub(crate) fn command(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")
}

/// The number of this boot of the machine.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// The PID namespace of this process.
pub(crate) fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a thread of the process lives.
pub(crate) fn lives(pid: u32) -> bool {
    threads(pid).into_iter().any(|tid| Stat::of(pid, tid).is_some_and(|stat| stat.lives()))
}

/// A field of a thread's `status` file, named with its colon.
pub(crate) fn status(path: &str, field: &str) -> Option<String> {
    let status = fs::read(path).ok()?;
    let status = String::from_utf8_lossy(&status);
    Some(status.lines().find_map(|line| line.strip_prefix(field))?.trim().to_owned())
}

/// The process of a thread, from the number of either.
pub(crate) fn leader(tid: u32) -> Option<u32> {
    status(&format!("/proc/{tid}/status"), "Tgid:")?.parse().ok()
}

/// The CPUs that are on; `None` if the kernel does not say. The daemon asks ten times a second, so the file stays
/// open.
pub(crate) fn online() -> Option<Vec<u32>> {
    static FILE: OnceLock<Option<fs::File>> = OnceLock::new();
    let file = FILE.get_or_init(|| fs::File::open("/sys/devices/system/cpu/online").ok()).as_ref()?;
    // The kernel writes at most a page, anew for each read from the beginning.
    let mut list = [0; 4096];
    let size = file.read_at(&mut list, 0).ok()?;
    cpulist::parse(std::str::from_utf8(&list[..size]).ok()?).filter(|cpus| !cpus.is_empty())
}

/// Whether threads of this class share CPUs fairly. Real-time and deadline threads do not.
pub(crate) fn is_fair(class: i32) -> bool {
    [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE, SCHED_EXT].contains(&class)
}

/// Gives a thread of the class of sched_ext the ordinary class.
pub(crate) fn leave_ext(tid: u32) {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one structure, a local variable.
    unsafe {
        if libc::sched_getscheduler(tid as i32) == SCHED_EXT {
            libc::sched_setscheduler(tid as i32, libc::SCHED_OTHER, &raw const none);
        }
    }
}

/// The kernel's number of the calling thread.
#[cfg(test)]
pub(crate) fn own_tid() -> u32 {
    // SAFETY: the call takes nothing and returns a number.
    unsafe { libc::gettid() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_found() {
        let (pid, tid) = (std::process::id(), own_tid());
        let stat = Stat::of(pid, tid).unwrap();
        assert_eq!((stat.state, stat.class), ('R', libc::SCHED_OTHER));
        assert!(threads(pid).contains(&tid) && processes().contains(&pid));
        assert!(count(pid).is_some_and(|count| count >= 1) && count(1 << 30).is_none());
        assert!(is_fair(stat.class) && !is_fair(libc::SCHED_FIFO));
        assert!(Stat::of(pid, 1 << 30).is_none() && lives(pid) && !lives(1 << 30));
        assert_eq!(leader(tid), Some(pid));
        assert!(online().unwrap().contains(&stat.cpu) && namespace().starts_with("pid:"));
        assert!(command(pid).contains("baton_daemon") && !boot().is_empty());
    }

    #[test]
    fn a_thread_whose_name_is_not_utf8_is_found() {
        std::thread::spawn(|| {
            // SAFETY: the kernel reads a string that ends in a zero byte.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"\xff) \xfe".as_ptr()) };
            assert_eq!(Stat::of(std::process::id(), own_tid()).map(|stat| stat.state), Some('R'));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_name_with_brackets_is_a_name() {
        let rest = "S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 2 0 0 0";
        let right = Stat { state: 'S', parent: 7, start: 12345, cpu: 3, class: 2 };
        assert_eq!(Stat::read(&format!("42 (a) R 9) {rest}")), Some(right));
        assert_eq!(Stat::read("42 (a"), None);
        assert_eq!(Stat::read("42 (a) S 1"), None);
    }
}
