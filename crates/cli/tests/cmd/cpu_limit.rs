//! A limit on the CPU time of the program's group is told from a busy machine, and a prediction that
//! knows no limit is not trusted. The test makes a group of its own (cgroup), which root may do.

use crate::common;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two threads that compute for 40 ms each, and take a lock now and then.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}
static void *work(void *x) {
    for (long end = now() + 40000000; now() < end;) {
        pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock);
        for (volatile int i = 0; i < 20000; i++) {}
    }
    return x;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}"#;

/// Recordings at most: where other programs have the CPUs, the group does not reach its limit.
const RECORDINGS: u32 = 5;

/// A group whose processes may use a fifth of a CPU. It is removed when the test ends.
struct Group(PathBuf);

impl Group {
    /// Makes the group in the first tree of groups that takes the limit.
    fn make() -> Option<Group> {
        ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"].iter().find_map(|tree| {
            let folder = Path::new(tree).join(format!("baton-test-{}", std::process::id()));
            std::fs::create_dir(&folder).ok()?;
            let group = Group(folder);
            // The folder may lie in a file system that only holds the trees of groups.
            group.0.join("cgroup.procs").exists().then_some(())?;
            group.limit(true).ok()?;
            Some(group)
        })
    }

    /// Sets the limit, or lifts it. An older kernel has two files for it.
    fn limit(&self, on: bool) -> std::io::Result<()> {
        let write = |file: &str, text: &str| std::fs::write(self.0.join(file), text);
        let [limit, quota] = if on { ["10000 50000", "10000"] } else { ["max", "-1"] };
        let old = || write("cpu.cfs_period_us", "50000").and_then(|()| write("cpu.cfs_quota_us", quota));
        write("cpu.max", limit).or_else(|_| old())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn baton(folder: &Path, group: &Group, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    let enter = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;
    command.args(["-c", enter]).arg(&group.0).arg(common::installed().join("bin/baton")).args(args);
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder);
    let out = command.current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

#[test]
fn a_limit_on_the_groups_cpu_time_is_told() {
    let Some(group) = Group::make() else {
        baton_needs::absent("right to limit a group's CPU time", "a_limit_on_the_groups_cpu_time_is_told");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    common::compiled(here, "held", PROGRAM, &[]);
    let json = |args: &[&str]| serde_json::from_slice::<Value>(&baton(here, &group, args).stdout).expect("JSON alone");
    let recorded = || {
        group.limit(true).unwrap();
        baton(here, &group, &["profile", "--force", "-o", "p", "./held"]);
        group.limit(false).unwrap();
        let report = json(&["report", "p", "--json"]);
        assert_eq!(report["limits"]["cpu_limit"]["cpus"], 0.2);
        report
    };
    let mut report = recorded();
    if report["run"]["threads"].as_array().is_some() && report["critical_path"]["ready_left_ns"] == 0 {
        baton_needs::absent("context switches", "a_limit_on_the_groups_cpu_time_is_told");
        return;
    }
    let limited = |report: &Value| {
        let shares = report["verdict"]["shares"].as_array().unwrap();
        shares.iter().any(|share| share["limit"] == "cpu-limit" && share["share"].as_f64() > Some(0.05))
    };
    for _ in 1..RECORDINGS {
        if limited(&report) {
            break;
        }
        report = recorded();
    }
    let verdict = &report["verdict"];
    assert!(limited(&report), "{verdict}");
    let gains = verdict["gains"].as_array().unwrap();
    let told = "if the program's group might use more than 0.2 CPUs: at most";
    assert!(gains.iter().any(|gain| gain.as_str().unwrap().starts_with(told)), "{verdict}");
    let foretold = json(&["whatif", "p", "--lock", "mcs", "--seeds", "1", "--json"]);
    let reasons = foretold["reasons"].as_array().unwrap();
    assert!(
        reasons.iter().any(|reason| reason.as_str().unwrap().contains("a replay knows no such limit")),
        "{foretold}"
    );
}
