//! The limit on the CPU time of a group of processes (cgroup): the kernel stops all threads of a
//! group that has used up its part of a period. Containers have such limits. Source: the kernel's
//! documentation, "Control Group v2" (`cpu.max`, `cpu.stat`) and "CFS Bandwidth Control"
//! (`cpu.cfs_quota_us`).

use std::path::{Path, PathBuf};
use std::time::Duration;

/// A watch over the limits of the groups to which this process and its children belong.
pub struct Limits(Vec<Group>);

/// A group with a limit.
struct Group {
    folder: PathBuf,
    cpus: f64,
    stopped_before: Duration,
}

/// What a limit did while it was watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The CPUs whose time the group may use, such as 0.5.
    pub cpus: f64,
    /// The time for which the kernel held threads of the group back, summed over the CPUs.
    pub stopped: Duration,
}

impl Limits {
    /// Starts the watch over the groups of this process, innermost first, that have a limit.
    pub fn watch() -> Limits {
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        let folders = folders(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"));
        let group = |folder: PathBuf| {
            let cpus = limit(&folder)?;
            Some(Group { stopped_before: stopped(&folder)?, cpus, folder })
        };
        Limits(folders.into_iter().filter_map(group).collect())
    }

    /// The limit that stopped threads for longest since the watch began; of limits that stopped none,
    /// the lowest. `None` without a limit.
    pub fn seen(&self) -> Option<Seen> {
        let seen = |group: &Group| {
            let stopped = stopped(&group.folder)?.saturating_sub(group.stopped_before);
            Some(Seen { cpus: group.cpus, stopped })
        };
        let order = |a: &Seen, b: &Seen| a.stopped.cmp(&b.stopped).then(b.cpus.total_cmp(&a.cpus));
        self.0.iter().filter_map(seen).max_by(order)
    }
}

/// The folders of the groups of this process that may limit its CPU time, up to the topmost that is
/// mounted here, from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn folders(cgroup: &str, mountinfo: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // The second version of cgroups has one tree, whose line names no controllers.
        if !controllers.is_empty() && !controllers.split(',').any(|name| name == "cpu") {
            continue;
        }
        let Some((mount, root)) = mountinfo.lines().find_map(|line| mounted(line, controllers)) else { continue };
        // A group outside of what is mounted here shows no more than the mounted top.
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        // A path that was joined with nothing ends in a slash, which its components leave out.
        let inner: PathBuf = mount.join(below).components().collect();
        found.extend(inner.ancestors().take_while(|folder| folder.starts_with(&mount)).map(Path::to_owned));
    }
    found
}

/// Where a line of `/proc/self/mountinfo` mounts the tree with these controllers, and which group is
/// at the top there.
fn mounted<'a>(line: &'a str, controllers: &str) -> Option<(PathBuf, &'a str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let is_it = match (controllers, kind.next()?) {
        ("", name) => name == "cgroup2",
        (_, name) => name == "cgroup" && kind.nth(1)?.split(',').any(|option| option == "cpu"),
    };
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (place.next()?, place.next()?);
    is_it.then(|| (mount.into(), root))
}

/// The limit of a group, in CPUs; `None` without one.
fn limit(folder: &Path) -> Option<f64> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<f64>().ok();
    let (quota, period) = match std::fs::read_to_string(folder.join("cpu.max")) {
        Ok(text) => {
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
        Err(_) => (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?),
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// For how long threads of a group have been stopped since the group exists.
fn stopped(folder: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(folder.join("cpu.stat")).ok()?;
    text.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", us) => us.parse().ok().map(Duration::from_micros),
        ("throttled_time", ns) => ns.parse().ok().map(Duration::from_nanos),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 0:20 / /sys rw - sysfs sysfs rw\n\
        30 22 0:26 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n\
        31 22 0:27 /docker/7 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

    #[test]
    fn groups_of_both_versions_are_found_up_to_the_mounted_top() {
        let found = |cgroup| folders(cgroup, MOUNTS).iter().map(|f| f.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            found("0::/a/b"),
            ["/sys/fs/cgroup/unified/a/b", "/sys/fs/cgroup/unified/a", "/sys/fs/cgroup/unified"]
        );
        assert_eq!(found("3:cpuset:/x\n2:cpu,cpuacct:/docker/7/job"), ["/sys/fs/cgroup/cpu/job", "/sys/fs/cgroup/cpu"]);
        assert_eq!(found("2:cpu:/elsewhere"), ["/sys/fs/cgroup/cpu"]);
        assert_eq!(found("3:cpuset:/x"), [""; 0]);
    }

    #[test]
    fn limits_and_stops_of_both_versions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert_eq!((limit(folder.path()), stopped(folder.path())), (None, None), "not a group");
        write("cpu.cfs_quota_us", "-1\n");
        write("cpu.cfs_period_us", "100000\n");
        write("cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 1500\n");
        assert_eq!(limit(folder.path()), None, "no limit");
        assert_eq!(stopped(folder.path()), Some(Duration::from_nanos(1500)));
        write("cpu.cfs_quota_us", "250000\n");
        assert_eq!(limit(folder.path()), Some(2.5));
        write("cpu.max", "50000 100000\n");
        write("cpu.stat", "usage_usec 9\nthrottled_usec 12\n");
        assert_eq!((limit(folder.path()), stopped(folder.path())), (Some(0.5), Some(Duration::from_micros(12))));
        write("cpu.max", "max 100000\n");
        assert_eq!(limit(folder.path()), None);
    }

    #[test]
    fn the_limit_that_stopped_longest_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let group = |name: &str, cpus, stat: &str| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("cpu.stat"), stat).unwrap();
            Group { folder, cpus, stopped_before: Duration::from_micros(5) }
        };
        let limits = Limits(vec![group("inner", 4.0, "throttled_usec 25"), group("outer", 1.0, "throttled_usec 5")]);
        assert_eq!(limits.seen(), Some(Seen { cpus: 4.0, stopped: Duration::from_micros(20) }));
        assert_eq!(Limits(limits.0.into_iter().skip(1).collect()).seen().map(|seen| seen.cpus), Some(1.0));
        assert_eq!(Limits(Vec::new()).seen(), None);
    }
}
