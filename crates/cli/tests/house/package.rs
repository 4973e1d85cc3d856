//! Crates that others may use by themselves can be packaged: with all that their packages need, and without the rest of the tree.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The crates, each behind those that it depends on.
const CRATES: [&str; 5] = ["units", "machine", "sync", "noc", "trace"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The target folder of these tests: cargo holds the other one while the tests run.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("package")
}

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn cargo_in(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    run(command.current_dir(folder).env("CARGO_TARGET_DIR", target()).args(arguments))
}

fn cargo(arguments: &[&str]) -> String {
    cargo_in(&root(), arguments)
}

/// Packages the crates once. Returns the folder of the packages.
fn packages() -> &'static Path {
    static PACKAGES: OnceLock<PathBuf> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let mut arguments = vec!["package", "--offline", "--allow-dirty", "--no-verify", "--quiet"];
        let packages = CRATES.map(|name| format!("-p=baton-{name}"));
        arguments.extend(packages.iter().map(String::as_str));
        cargo(&arguments);
        target().join("package")
    })
}

/// Unpacks the packages of the library once, so that they are built once for all programs. Returns the
/// folder.
fn unpacked() -> &'static Path {
    static UNPACKED: OnceLock<&Path> = OnceLock::new();
    UNPACKED.get_or_init(|| {
        let folder = common::lasting();
        for name in ["units", "machine", "sync"] {
            let package = format!("baton-{name}-{}.crate", env!("CARGO_PKG_VERSION"));
            run(Command::new("tar").arg("-xzf").arg(packages().join(package)).arg("-C").arg(folder));
        }
        folder
    })
}

/// Builds a program outside of the tree, which takes the library from the packages.
fn build(example: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut manifest = std::fs::read_to_string(root().join(example).join("Cargo.toml")).unwrap();
    manifest.push_str("\n[patch.crates-io]\n");
    for name in ["units", "machine", "sync"] {
        let package = unpacked().join(format!("baton-{name}-{}", env!("CARGO_PKG_VERSION")));
        manifest.push_str(&format!("baton-{name} = {{ path = {package:?} }}\n"));
    }
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    run(Command::new("cp").arg("-r").arg(root().join(example).join("src")).arg(folder));
    // The same versions of other people's crates as here, which are all on this machine.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    cargo_in(folder, &["build", "--offline", "--quiet"]);
}

#[test]
fn programs_are_built_with_the_packages() {
    build("examples/queues/rust");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("a"), "One two, two-three").unwrap();
    std::fs::write(folder.path().join("sub/b"), "two FOUR4four").unwrap();
    let indexed = run(Command::new(target().join("debug/index")).arg(folder.path()).arg("3"));
    assert_eq!(indexed, "2 files, 7 words, 4 different ones\n3 two\n2 four\n1 one\n1 three\n");

    let folder = tempfile::tempdir().unwrap();
    a_profile_names_the_slow_stage(folder.path(), &target().join("debug/stages"), "stages::main");
    other_queues_are_foretold(folder.path());
    a_profile_shows_other_objects(&target().join("debug/meets"));

    build("examples/rust");
    let text = "one two\nthree two one\nfour two";
    let counted = run(Command::new(target().join("debug/words")).arg(text));
    assert_eq!(counted, "3 two\n2 one\n1 four\n");
    a_profile_shows_the_locks(&target().join("debug/words"));
    a_user_chooses_the_queues(&target());
}

/// Profiles a program into `out` in a folder. Returns the report.
fn profiled(folder: &Path, program: &Path, arguments: &[&str]) -> serde_json::Value {
    let baton = common::installed().join("bin/baton");
    let mut profile = Command::new(&baton);
    run(profile.current_dir(folder).args(["profile", "-o", "out", "--"]).arg(program).args(arguments));
    let report = run(Command::new(baton).current_dir(folder).args(["report", "out", "--json"]));
    serde_json::from_str(&report).unwrap()
}

/// The locks of the program and how often it takes each are known from its text: the log once by the
/// first thread, once by each of four, and once at the end; the counts by each of four and at the end.
fn a_profile_shows_the_locks(words: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let report = profiled(folder.path(), words, &["one two\nthree"]);
    let locks = report["locks"].as_array().unwrap();
    let taken = |name: &str| {
        let lock = locks.iter().find(|lock| lock["name"].as_str().unwrap().contains(name));
        lock.unwrap_or_else(|| panic!("no lock {name}: {locks:?}"))["acquisitions"].as_u64().unwrap()
    };
    assert_eq!((taken("LOG"), taken("COUNTS")), (6, 5), "{locks:?}");
    assert!((1..=4).contains(&taken("GREETING")), "the first thread runs it, others may wait: {locks:?}");
}

/// The middle thread of three sleeps for a millisecond an item. So the queue before it is full, the one
/// behind it is empty, and the critical path lies in it. All this is known from the program alone.
/// The first thread waits in a function whose name contains `place`. The recording stays in the folder.
pub(crate) fn a_profile_names_the_slow_stage(folder: &Path, stages: &Path, place: &str) {
    let report = profiled(folder, stages, &["100", "1000"]);
    let name = |thread: &serde_json::Value| {
        report["threads"][thread.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned()
    };
    let queues = report["queues"].as_array().unwrap();
    assert_eq!(queues.len(), 2, "{queues:?}");
    let side = |queue: &serde_json::Value, side: &str| {
        let users = queue[side]["threads"].as_array().unwrap();
        assert_eq!((users.len(), queue[side]["items"].as_u64()), (1, Some(100)), "{queue}");
        (name(&users[0]["thread"]), queue[side]["waited_ns"].as_u64().unwrap())
    };
    let before = queues.iter().find(|queue| queue["capacity"] == 4).unwrap();
    let behind = queues.iter().find(|queue| queue["capacity"] == 8).unwrap();
    let ((reads, blocked), (works, idle)) = (side(before, "puts"), side(before, "takes"));
    let ((works_too, full), (writes, starved)) = (side(behind, "puts"), side(behind, "takes"));
    assert_eq!([reads, works, works_too, writes], ["reads", "works", "works", "writes"]);
    let slept = 95_000_000;
    assert!(blocked > slept - 5_000_000 && starved > slept, "blocked for {blocked} ns, starved for {starved} ns");
    assert!(idle < blocked / 2 && full < starved / 2, "the slow stage itself waited for {idle} and {full} ns");
    assert_eq!((before["most_items"].as_u64(), before["mean_depth"].as_f64() > Some(2.0)), (Some(4), true), "{before}");
    assert!(before["puts"]["places"][0]["name"].as_str().unwrap().contains(place), "{before}");

    let slow = report["slow_stage"]["threads"].as_array().unwrap();
    assert_eq!(slow.iter().map(name).collect::<Vec<_>>(), ["works"]);
    let steps = report["critical_path"]["steps"].as_array().unwrap();
    let length = |step: &serde_json::Value| step["end_ns"].as_u64().unwrap() - step["start_ns"].as_u64().unwrap();
    let in_works = steps.iter().filter(|step| name(&step["thread"]) == "works").map(length).sum::<u64>();
    assert!(in_works > slept, "only {in_works} ns of the critical path lie in the slow stage: {steps:?}");
    let baton = common::installed().join("bin/baton");
    let text = run(Command::new(baton).current_dir(folder).args(["report", "out"]));
    let told = text.lines().find(|line| line.starts_with("slow stage:")).unwrap_or_else(|| panic!("{text}"));
    assert!(told.contains("works takes from"), "{text}");
}

/// Two threads wait for the first one. It sleeps 50 ms with a mutex, in an initialization that goes on for 50
/// ms, then 100 ms before it gives the permit, and 200 ms before it comes to the barrier as the last one. All
/// this is known from the program alone.
fn a_profile_shows_other_objects(meets: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let report = profiled(folder.path(), meets, &["200"]);
    let objects = report["waitables"].as_array().unwrap();
    let [condition, semaphore, barrier] = ["CHANGED", "PERMITS", "MEETING"].map(|name| {
        let object = objects.iter().find(|object| object["name"].as_str().unwrap().contains(name));
        object.unwrap_or_else(|| panic!("no object {name}: {objects:?}"))
    });
    let kinds = [condition, semaphore, barrier].map(|object| object["kind"].as_str().unwrap());
    assert_eq!(kinds, ["condition", "semaphore", "barrier"]);
    let counts =
        [condition, semaphore].map(|object| [&object["waits"], &object["signals"]].map(|n| n.as_u64().unwrap()));
    assert_eq!(counts, [[1, 1], [1, 1]], "{condition} {semaphore}");
    assert_eq!((barrier["waits"].as_u64(), barrier["rounds"].as_u64()), (Some(3), Some(1)), "{barrier}");
    let waits = |thread: &str| {
        let threads = report["threads"].as_array().unwrap();
        let thread = threads.iter().find(|one| one["name"] == thread).unwrap_or_else(|| panic!("{threads:?}"));
        ["wait_ns", "semaphore_ns", "condition_ns", "barrier_ns"]
            .iter()
            .map(|key| thread[key].as_u64().unwrap())
            .sum::<u64>()
    };
    for thread in ["permitted", "notified"] {
        assert!(waits(thread) > 350_000_000, "{thread} waited for {} ns", waits(thread));
    }
    let twice = objects.iter().find(|object| object["kind"] == "futex" && object["waits"] != 0);
    assert!(twice.is_none(), "a wait is told twice: {twice:?}");
    // Each is taken by two threads, of which one waits and is woken.
    let locks = report["locks"].as_array().unwrap();
    for name in ["LOG", "GREETING"] {
        let named: Vec<_> = locks.iter().filter(|lock| lock["name"].as_str().unwrap().contains(name)).collect();
        let one = named.len() == 1 && named[0]["acquisitions"] == 2;
        assert!(one, "{name} is not one lock: {locks:?}");
    }
}

/// Queues that a user may ask for, with capacities or without.
pub(crate) const KINDS: [&str; 5] = ["spsc", "ring", "ring-single=3", "mpmc=1", "segments"];

/// Runs a command. Returns its exit code and what it wrote to its two outputs.
pub(crate) fn said(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), out, error)
}

/// The sum of the squares of 0 to 9 comes out whatever the two queues of `stages` are. In `index` the
/// user chooses the queue of paths, which has several receivers. `words` has no such queue.
fn a_user_chooses_the_queues(target: &Path) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "one two").unwrap();
    let baton = common::installed().join("bin/baton");
    let run = |queue: &str, program: &str, arguments: &[&str]| {
        let (mut run, program) = (Command::new(&baton), target.join("debug").join(program));
        said(run.current_dir(folder.path()).args(["run", "--queue", queue, "--"]).arg(program).args(arguments))
    };
    for queue in KINDS {
        let (code, out, error) = run(queue, "stages", &["10", "1"]);
        assert_eq!((code, out.as_str()), (Some(0), "285\n"), "{error}");
        assert!(error.contains("; 2 queues are as asked"), "{error}");
    }
    for (queue, says) in [("ring=1024", "; 1 queue is as asked"), ("spsc", "which the program's queues have (1)")] {
        let (code, out, error) = run(queue, "index", &[".", "2"]);
        assert!(code == Some(0) && out.starts_with("1 files, 2 words, 2 different ones\n"), "{out}{error}");
        assert!(error.contains(says), "{error}");
    }
    let (code, _, error) = run("ring", "words", &["one two"]);
    assert!(code == Some(0) && error.contains("made no queue of kind `Choice`"), "{error}");
    for (queue, says) in [("qmd", "lies in a device"), ("rong", "expected spsc, ring"), ("ring=0", "holds 1 to")] {
        let (code, out, error) = run(queue, "stages", &["10", "1"]);
        assert!(code == Some(2) && out.is_empty() && error.contains(says), "{error}");
    }
}

/// No queue makes the pipeline faster, whose middle thread sleeps: the sleeps take more than 95 ms.
fn other_queues_are_foretold(folder: &Path) {
    let whatif = |queues: &[&str]| {
        let mut whatif = Command::new(common::installed().join("bin/baton"));
        let chip = root().join("chips/sample-host.toml");
        whatif.current_dir(folder).args(["whatif", "out", "--json", "--seeds", "1", "--chip"]).arg(chip).args(queues);
        whatif.output().unwrap()
    };
    let output =
        whatif(&["--queue", "spsc,ring=1", "--queue", "stages::main=segments,default=mpmc=3", "--device", "qmd"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows: Vec<_> = told["results"].as_array().unwrap().iter().skip(1).collect();
    let names: Vec<_> = rows.iter().map(|row| row["lock"].as_str().unwrap()).collect();
    let expected = ["queue spsc", "queue ring=1", "queue stages::main=segments,default=mpmc=3", "queue qmd"];
    assert_eq!(names, expected);
    for row in rows {
        let speed = row["speedup"].as_f64().unwrap();
        let time = row["time_ns"]["median"].as_u64().unwrap();
        assert!(time > 95_000_000 && (0.97..1.03).contains(&speed), "{row}");
    }
    for (queues, says) in [("nosuch=ring", "no queue `nosuch` in the recording"), ("qmd", "has no queue device")] {
        let output = whatif(&["--queue", queues]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(says), "{error}");
    }
}

#[test]
fn crates_for_others_can_be_packaged() {
    packages();
    let manifest = cargo(&["metadata", "--offline", "--no-deps", "--format-version=1"]);
    let metadata: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for name in CRATES {
        let named = |package: &&serde_json::Value| package["name"] == format!("baton-{name}");
        let package = metadata["packages"].as_array().unwrap().iter().find(named).unwrap();
        for key in ["description", "license", "readme", "rust_version"] {
            assert!(package[key].is_string(), "crates/{name}/Cargo.toml has no {key}");
        }
        assert!(!package["keywords"].as_array().unwrap().is_empty(), "crates/{name}/Cargo.toml has no keywords");
        for dependency in package["dependencies"].as_array().unwrap() {
            let own = dependency["name"].as_str().unwrap().strip_prefix("baton-");
            let used = own.is_none_or(|own| CRATES.contains(&own)) || dependency["kind"] == "dev";
            assert!(used, "baton-{name} depends on {}, which is not packaged", dependency["name"]);
        }
        let files = cargo(&["package", "--offline", "--allow-dirty", "--list", "-p", &format!("baton-{name}")]);
        assert!(files.lines().any(|file| file == "README.md"), "baton-{name} has no README.md\n{files}");
    }
}
