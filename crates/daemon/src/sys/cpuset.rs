//! The CPUs that the administrator leaves to a thread: its cpuset.

use baton_machine::discover::cpulist;
use std::fs;
use std::path::Path;

/// Where cgroups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The CPUs of the thread's cpuset; `None` if the kernel does not say, or there is none.
pub(crate) fn of(pid: u32, tid: u32) -> Option<Vec<u32>> {
    let groups = fs::read_to_string(format!("/proc/{pid}/task/{tid}/cgroup")).ok()?;
    groups.lines().find_map(|line| read(Path::new(ROOT), line))
}

/// Reads the CPUs of a line of `/proc/PID/cgroup`, if the line is of cpusets: of cgroups of version 2, or
/// of version 1.
fn read(root: &Path, line: &str) -> Option<Vec<u32>> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let is_old = controllers.split(',').any(|name| name == "cpuset");
    if !is_old && !controllers.is_empty() {
        return None;
    }
    let name = if is_old { "cpuset.effective_cpus" } else { "cpuset.cpus.effective" };
    let roots = if is_old { ["cpuset", ""] } else { ["", "unified"] };
    // A group without the file has its parent's CPUs.
    let groups = Path::new(path.strip_prefix('/')?).ancestors();
    let files = groups.flat_map(|group| roots.map(|of| root.join(of).join(group).join(name)));
    files.into_iter().find_map(|file| cpulist::parse(fs::read_to_string(file).ok()?.trim()))
}

/// Whether `present` is what a cpuset leaves of a mask. If it leaves nothing, the kernel gives all of
/// the cpuset.
pub(crate) fn leaves(present: &[u32], mask: &[u32], cpuset: &[u32]) -> bool {
    within(mask, cpuset) == present
}

/// What a cpuset leaves of a mask.
pub(crate) fn within(mask: &[u32], cpuset: &[u32]) -> Vec<u32> {
    let left: Vec<u32> = mask.iter().copied().filter(|cpu| cpuset.contains(cpu)).collect();
    if left.is_empty() { cpuset.to_vec() } else { left }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpuset_leaves_a_part_or_all_of_its_own() {
        assert!(leaves(&[1], &[0, 1], &[1, 2]) && leaves(&[0, 1], &[0, 1], &[0, 1, 2]));
        assert!(leaves(&[2, 3], &[0, 1], &[2, 3]), "nothing is left of the mask");
        assert!(!leaves(&[0], &[0, 1], &[0, 1]) && !leaves(&[2], &[0, 1], &[2, 3]));
    }

    #[test]
    fn both_versions_are_read() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, cpus: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, cpus).unwrap();
        };
        let read = |line: &str| read(root.path(), line);
        assert_eq!(read("0::/a/b"), None);
        put("cpuset.cpus.effective", "0-3\n");
        put("a/cpuset.cpus.effective", "1-2\n");
        assert_eq!(
            (read("0::/a/b"), read("0::/c"), read("0::/")),
            (Some(vec![1, 2]), Some(vec![0, 1, 2, 3]), Some(vec![0, 1, 2, 3]))
        );
        put("cpuset/x/cpuset.effective_cpus", "0\n");
        assert_eq!(
            (read("3:cpuset:/x"), read("3:cpu,cpuset:/x"), read("1:cpu:/x")),
            (Some(vec![0]), Some(vec![0]), None)
        );
        put("cpuset/y/cpuset.effective_cpus", "x\n");
        assert_eq!(read("3:cpuset:/y"), None);
    }

    #[test]
    fn this_thread_s_cpuset_has_its_mask() {
        let (pid, tid) = (std::process::id(), crate::sys::proc::own_tid());
        let Some(cpuset) = of(pid, tid) else {
            baton_needs::absent("cpuset", "this_thread_s_cpuset_has_its_mask");
            return;
        };
        assert!(crate::sys::affinity::get(tid).unwrap().iter().all(|cpu| cpuset.contains(cpu)), "{cpuset:?}");
    }
}
