//! Wrong input for every subcommand: exit code 2, a message that names what is wrong and what was expected, nothing on
//! standard output, and no panic. A subcommand that is in no case here fails a test.

use assert_cmd::Command;
use std::collections::BTreeSet;

const SAMPLE: &str = "../../chips/sample-host.toml";

/// Arguments, and what standard error must say.
const CASES: &[(&[&str], &str)] = &[
    (&["profil"], "a similar subcommand exists: 'profile'"),
    (&["--colour"], "unexpected argument '--colour'"),
    (&["list"], "<WHAT>"),
    (&["list", "lock"], "a similar value exists: 'locks'"),
    (&["list", "chips", "--dir", "/no/such/dir"], "cannot look for chip files in `/no/such/dir`"),
    (&["litmus"], "<DIR|FILE>"),
    (&["litmus", "/no/such/dir"], "cannot read `/no/such/dir`"),
    (&["litmus", "Cargo.toml"], "Cargo.toml:1: `[package]` is not supported; expected `X86_64` and the test's name"),
    (&["litmus", "src"], "no *.litmus file in `src` or below"),
    (
        &[
            "litmus",
            "../litmus/tests/litmus/plain/IRIW.litmus",
            "--set",
            "core.count=2",
            "--set",
            "core.clusters_per_socket=1",
        ],
        "4 threads; chip `litmus8` has 2 cores",
    ),
    (&["run"], "<PROGRAM>"),
    (&["run", "--lokc", "mcs", "sh"], "a similar argument exists: '--lock'"),
    (&["profile", "--forse", "sh"], "a similar argument exists: '--force'"),
    (&["try"], "name a profile or a program"),
    (&["try", "/no/such/dir"], "no profile and no program"),
    (&["try", "--budget", "soon", "--", "true"], "`soon` is no duration"),
    (&["try", "--lock", "tiket", "--", "true"], "did you mean `ticket`?"),
    (&["try", "--against", "/no/such/dir", "--", "true"], "/no/such/dir"),
    (&["run", "--lock", "tiket", "--", "true"], "did you mean `ticket`?"),
    (&["run", "--lock", "mcs", "--wait", "spni", "--", "true"], "did you mean `spin`?"),
    (&["run", "--lock", "spin-park", "--wait", "pause", "--", "true"], "waits by its own policy"),
    (&["run", "--barrier", "centrl", "--", "true"], "did you mean `central`?"),
    (&["run", "--", "no-such-command-7"], "no command `no-such-command-7` in PATH"),
    (&["run", "--", "/etc/passwd"], "is not executable"),
    (&["run", "--stats", "/no/such/dir/f", "--", "true"], "cannot write counters to /no/such/dir/f"),
    (&["profile"], "<PROGRAM>"),
    (&["profile", "-o", "/proc/x", "--", "true"], "cannot make a directory in `/proc`"),
    (&["profile", "-o", "/etc", "--", "true"], "`/etc` exists and is not empty"),
    (&["profile", "--force", "-o", "/etc", "--", "true"], "`/etc` is not a profile"),
    (&["profile", "--max-size", "2X", "--", "true"], "`2X` is no size; expected bytes with or without K, M or G"),
    (&["profile", "--duration", "soon", "--", "true"], "`soon` is no duration; expected a number with ms, s, m or h"),
    (&["profile", "--wait", "pause", "--", "true"], "--lock"),
    (&["whatif", "/no/such/dir", "--barrier", "centrl"], "did you mean `central`?"),
    (&["whatif", "/no/such/dir", "--barrier", "central", "--wait", "spni"], "unknown wait policy `spni`"),
    (&["measure"], "<DIR>"),
    (&["measure", "/no/such/dir", "--lock", "mcs"], "/no/such/dir"),
    (&["measure", "x"], "--lock <LOCK[:WAIT],…>"),
    (&["report"], "<DIR>"),
    (&["report", "/no/such/dir"], "/no/such/dir"),
    (&["report", "x", "--json", "--csv", "-"], "only one of the outputs can go to standard output"),
    (&["diff", "/no/such/dir"], "<"),
    (&["diff", "/no/such/dir", "/no/such/dir"], "/no/such/dir"),
    (&["sched"], "no program is named"),
    (&["sched", "--policy", "min_tlp", "--", "true"], "did you mean `min-tlp`?"),
    (&["sched", "--policy", "static-ipc", "--", "true"], "needs the programs' measured speed-ups"),
    (&["sched", "--speedup", "2", "--", "true", "::", "true"], "--speedup 2: expected 2 numbers from 0.1 to 100"),
    (&["sched", "--fast-cpus", "0", "--", "true", "::"], "program 2 of 2 is empty"),
    (&["sched", "--fast-cpus", "x", "--", "true"], "--fast-cpus x: expected a list of CPUs, such as 0-3,8"),
    (&["sched", "--fast-cpus", "4000", "--", "true"], "--fast-cpus 4000: CPU 4000 is not online"),
    (&["sched", "--fast-cpus", "0", "--", "no-such-command-7"], "no command `no-such-command-7` in PATH"),
    (&["sched", "--time-slice", "soon", "--", "true"], "`soon` is no duration"),
    (&["sched", "--time-slice", "1h", "--", "true"], "--time-slice: expected 1ms to 60s"),
    (
        &["sched", "--log", "/no/such/dir/f", "--fast-cpus", "0", "--", "true"],
        "cannot write the log to `/no/such/dir/f`",
    ),
    (&["sched", "--attach", "999999999"], "there is no process 999999999"),
    (&["sched", "replay", "/no/such/log"], "cannot read `/no/such/log`"),
    (&["sched", "replay", "Cargo.toml"], "Cargo.toml: line 1: `[package]`; expected `baton-sched-log 1`"),
    (&["sched", "restore", "Cargo.toml"], "Cargo.toml: line 1: `[package]`; expected `baton-sched-journal 1`"),
    (&["search"], "<SPACE.toml>"),
    (&["sweep"], "no space is named"),
    (&["sweep", "/no/such/space.toml"], "/no/such/space.toml: "),
    (&["sweep", "resume", "/no/such/store"], "/no/such/store: is no store: there is no such folder"),
    (&["sweep", "status", "src"], "src: is no store: it has no store.json"),
    (&["sweep", "show", "src", "--where", "x =="], "src: is no store"),
    (&["sweep", "export", "src", "--out", "x.xls"], "x.xls: unknown form"),
    (&["sim", "--chip", "/no/such/file"], "/no/such/file: cannot be read"),
    (&["sim", "--lock", "tiket"], "did you mean `ticket`?"),
    (&["sim", "--wait", "umwait", "--set", "cache.hit=4"], "the chip file has no wait.umwait"),
    (&["sim", "--set", "cache.hti=4"], "did you mean `cache.hit`?"),
    (&["sim", "--cpus", "3", "--chip", "../../chips/sample-host.toml"], "3 CPUs asked for; chip `sample-host` has 2"),
    (&["sim", "--cpus", "3", "--chip", "../../chips/sample-host.toml"], "--cores 3 makes the chip larger"),
    (&["sim", "--workload", "pingpong", "--threads", "3"], "pingpong is for 2 threads, not 3"),
    (&["sim", "--workload", "ring", "--capacity", "3"], "expected a power of two"),
    (
        &["sim", "--workload", "ring", "--queue", "qmd"],
        "queue `qmd`: the machine has no queue device; a chip has one with",
    ),
    (
        &["sim", "--chip", "../../chips/caf16.toml", "--workload", "ring", "--queue", "qmd", "--capacity", "4096"],
        "no queue device of the machine has room for another queue of 4096 items; fewer or smaller queues (--capacity, \
         --pool), or device.qmd.queues and device.qmd.entries",
    ),
    (&["sim", "--workload", "ring", "--bulk", "0"], "0 is not in 1..=4096"),
    (
        &[
            "sim",
            "--chip",
            "../../chips/caf16.toml",
            "--set",
            "device.qimu=16",
            "--set",
            "device.qtlb=4",
            "--workload",
            "ring",
            "--queue",
            "posted",
        ],
        "takes posted requests without device.qimu",
    ),
    (
        &["sim", "--chip", "../../chips/caf16.toml", "--set", "device.posted_to=disk"],
        "key `device.posted_to` is the text \"disk\"; expected \"home\" or \"core\"",
    ),
    (
        &["sim", "--workload", "ring", "--queue", "spsc", "--threads", "8"],
        "one producer and one consumer: 2 threads, not 8",
    ),
    (&["sim", "--workload", "lok"], "a similar value exists: 'lock'"),
    (&["sim", "--spread", "2"], "`2` is no share; expected a number from 0 to 1"),
    (
        &["sim", "--cores", "3", "--chip", "../../chips/ocor64.toml", "--set", "home.banks=2"],
        "expected a divisor of core.count, 3",
    ),
    (&["sim", "--cores", "5000"], "--cores: key `core.count` is 5000; expected 1 to 1024"),
    (&["sim", "--sweep", "threads"], "`--sweep threads`: expected NAME=VALUE"),
    (&["sim", "--sweep", "thread=1,2"], "did you mean `threads`?"),
    (&["sim", "--sweep", "threads=1,x"], "`x` is no whole number"),
    (&["sim", "--sweep", "threads=1", "--sweep", "lock=mcs", "--sweep", "cs=1"], "at most two sweeps"),
    (&["sim", "--sweep", "lock=mcs,tiket"], "did you mean `ticket`?"),
    (&["sim", "--iterations", "2", "--sweep", "threads=1", "--figure", "cycels"], "did you mean `cycles`?"),
    (
        &["sim", "--energy", "--chip", "../../chips/ocor64.toml", "--cores", "4", "--iterations", "2"],
        "ocor64.toml: price missing: key `energy.cpu.active` (W: ",
    ),
    (&["sim", "--set", "energy.cpu.active=-1"], "key `energy.cpu.active` is -1; expected a number from 0"),
    (&["sim", "--set", "core.clocks=0:99000000000"], "expected clocks from 1000000 Hz"),
    (&["sim", "--plot", "x.html"], "--plot draws a sweep or pairs"),
    (&["sim", "--workload", "sort", "--size", "100"], "its size (keys) is 100; expected a power of two from 16"),
    (&["sim", "--workload", "sort", "--lock", "tiket"], "did you mean `ticket`?"),
    (&["sim", "--workload", "profile"], "--workload profile needs --profile FILE"),
    (&["sim", "--profile", "/no/such/file"], "/no/such/file: cannot be read"),
    (&["sim", "--profile", "Cargo.toml"], "Cargo.toml:1: unknown key `package`; expected one of profile"),
    (&["sim", "--profile", "../../profiles/ocor/imag.toml", "--draw", "99"], "--draw 99"),
    (&["sim", "--profile", "x.toml", "--workload", "lock"], "--profile is for --workload profile"),
    (&["sim", "--load", "2x"], "`2x` is no load; expected a number from 0 to 1000"),
    (&["sim", "--pairs"], "--pairs is for --workload pingpong"),
    (&["sim", "--workload", "chase", "--threads", "2"], "chase is for 1 thread"),
    (&["sim", "--bytes", "9G"], "`9G` is too large; expected at most 4G"),
    (&["sim", "--pin", "--threads", "3", "--chip", "../../chips/sample-host.toml"], "3 threads cannot be pinned"),
    (&["sim", "--at", "0,1,1"], "--at names 3 cores for 2 threads"),
    (&["sim", "--at", "0,9", "--chip", "../../chips/sample-host.toml"], "may run only on cores [] and CPUs [9]"),
    (
        &["sim", "--chip", SAMPLE, "--wait", "mwait"],
        "sample-host.toml: wait policy `mwait` is not available here: the chip file has no wait.mwait.c1",
    ),
    (&["sim", "--chip", SAMPLE, "--wait", "halt"], "the chip file has no wait.halt"),
    (
        &["sim", "--chip", SAMPLE, "--set", "os.scheduler=fairer"],
        "key `os.scheduler` is the text \"fairer\"; expected \"fair\" or",
    ),
    (&["sim", "--chip", SAMPLE, "--set", "os.time_slice=0"], "key `os.time_slice` is 0; expected at least 1"),
    (
        &["sim", "--chip", SAMPLE, "--set", "os.wake_pull=1.5"],
        "key `os.wake_pull` is 1.5; expected a number from 0 to 1",
    ),
    (
        &["sim", "--chip", SAMPLE, "--set", "os.tick=100", "--set", "os.tick_cost=200"],
        "expected less than os.tick, 100",
    ),
    (&["sim", "--chip", SAMPLE, "--set", "os.interrupt_lines=65"], "expected a whole number from 0 to 64"),
    (&["sim", "--chip", SAMPLE, "--set", "os.queue_lines=-2"], "expected a whole number from 0 to 16"),
    (
        &["sim", "--chip", SAMPLE, "--at", "0,1", "--off", "1"],
        "thread `thread 1` may run only on cores [1], which are off: ",
    ),
    (
        &["sim", "--chip", SAMPLE, "--at", "0,1", "--off", "1@500"],
        "--off 1@500: thread `thread 1` may run only on CPU 1",
    ),
    (&["sim", "--chip", SAMPLE, "--off", "0@5", "--off", "1@9"], "--off 1@9: no core would be on"),
    (&["sim", "--chip", SAMPLE, "--off", "0,1"], "key `os.off` is 0 1; expected fewer cores than core.count, 2"),
    (&["sim", "--chip", SAMPLE, "--off", "9@5"], "--off 9@5: 10 CPUs asked for"),
    (&["sim", "--off", "x"], "--off x: expected 3,5 or 3-5, or CORES@CYCLE"),
    (&["sim", "--on", "3"], "--on 3: expected CORES@CYCLE, as in 3,5@100000"),
    (&["sim", "--nice", "20"], "--nice 20: expected a whole number from -20 to 19"),
    (&["sim", "--nice", "1,2,3"], "--nice has 3 values for 2 threads; expected one, or one a thread"),
    (&["sim", "--app", "lok"], "invalid value 'lok' for '--workload"),
    (&["sim", "--app", "lock,threads"], "`threads`: expected NAME=VALUE"),
    (&["sim", "--app", "lock,lock=tiket"], "did you mean `ticket`?"),
    (&["sim", "--app", "lock,seed=3"], "`seed` is the whole run's; give it as --seed"),
    (&["sim", "--app", "lock,plot=x.html"], "`plot` is the whole run's; give it as --plot"),
    (&["sim", "--app", "lock,figure=cycles"], "`figure` is the whole run's; give it as --figure"),
    (&["sim", "--app", "lock,runs=0"], "`runs=0`: expected a number from 1, `together:` and one, or background"),
    (&["sim", "--app", "lock,start=soon"], "`start=soon`: expected a whole number from 0 to 70368744177664"),
    (&["sim", "--app", "lock,copies=0"], "`copies=0`: expected a whole number from 1 to 1024"),
    (&["sim", "--app", "lock,arrive=0"], "`arrive=0`: expected a whole number from 1 to 70368744177664"),
    (&["sim", "--chip", "1fc-12cs"], "did you mean `1fc-12sc`?"),
    (&["study", "pa", "--chip", "4fc-12cs"], "did you mean `4fc-12sc`?"),
    (
        &["study", "pa", "--chip", "../../chips/1fc-3sc.toml"],
        "1fc-3sc.toml: key `core.count` is 4; this study needs 16",
    ),
    (&["sim", "--app", "lock,at=0+1+2"], "--at names 3 cores for 2 threads"),
    (
        &["sim", "--chip", SAMPLE, "--app", "lock,at=1+1", "--off", "1@7"],
        "--off 1@7: thread `lock 0` may run only on CPU 1",
    ),
    (&["chips", "show"], "<CHIP>"),
    (&["chips", "show", "/no/such/file"], "/no/such/file: cannot be read"),
    (&["chips", "show", "../../chips/ocor64.toml", "--set", "l1.ways=3"], "l1.ways times cache.line_bytes, 384 bytes"),
    (
        &["chips", "show", "../../chips/ocor64.toml", "--plot", "/no/such/dir/p.html"],
        "cannot write /no/such/dir/p.html",
    ),
    (&["chips", "list", "--dir", "/no/such/dir"], "cannot look for chip files in `/no/such/dir`"),
    (&["whatif"], "<DIR>"),
    (&["whatif", "/no/such/dir"], "/no/such/dir"),
    (&["whatif", "x", "--lock", "tiket"], "did you mean `ticket`?"),
    (&["whatif", "x", "--wait", "spni"], "unknown wait policy `spni`"),
    (&["whatif", "x", "--lock", "spin-park", "--wait", "pause"], "waits by its own policy"),
    (
        &["whatif", "x", "--chip", "../../chips/sample-host.toml", "--cpus", "3"],
        "has 2 CPUs (core.count, core.contexts)",
    ),
    (&["whatif", "x", "--threads", "0"], "--threads"),
    (&["whatif", "x", "--chip", "../../chips/ocor64.toml", "--network", "ocro"], "did you mean `ocor`?"),
    (&["whatif", "x", "--asymmetric", "1-12"], "`1-12` is no count of fast and slow cores; expected FAST+SLOW"),
    (&["whatif", "x", "--asymmetric", "1+3", "--ratio", "0.5"], "expected a number from 1 to 100"),
    (&["whatif", "x", "--asymmetric", "1+3", "--cpus", "2"], "cannot be used with"),
    (&["whatif", "x", "--policy", "pa"], "--asymmetric"),
    (&["whatif", "x", "--asymmetric", "1+3", "--policy", "static-ipc"], "a recording has none"),
    (
        &["whatif", "x", "--asymmetric", "1+3", "--policy", "pa,fastest"],
        "unknown policy `fastest`; expected one of fair, sticky,",
    ),
    (&["whatif", "x", "--asymmetric", "1+3", "--policy", "linus"], "did you mean `linux`?"),
    (
        &["whatif", "x", "--asymmetric", "1+3", "--memory-bound", "1.5"],
        "`1.5` is no share of computing; expected a number from 0 to 1",
    ),
    (&["whatif", "x", "--memory-bound", "0.5"], "--asymmetric"),
    (
        &["whatif", "x", "--chip", "../../chips/barcelona-amp.toml", "--asymmetric", "4+13"],
        "--asymmetric 4+13: chip `barcelona-amp` has 16 cores (core.count)",
    ),
    (
        &["whatif", "x", "--chip", "../../chips/ocor64.toml", "--network", "ocor,youngest-first"],
        "unknown network `youngest-first`; expected one of round-robin, ocor, ocor-home, ocor-both, ocor-oracle, release-first,",
    ),
    (
        &["whatif", "x", "--chip", "../../chips/sample-host.toml", "--network", "round-robin,ocor"],
        "has fixed latencies (memory.model = \"fixed\") and no network whose routers could arbitrate",
    ),
    (
        &["whatif", "x", "--chip", "../../chips/ocor64.toml", "--set", "network.contention=none", "--network", "ocor"],
        "packets never meet",
    ),
    (&["noc", "--topology", "mseh"], "mesh"),
    (&["noc", "--rate", "2x"], "2x"),
    (&["noc", "replay", "/no/such/file"], "/no/such/file"),
    (&["noc", "--rate", "2"], "`rate` = 2: expected 0 to 1"),
    (&["noc", "--topology", "mash"], "did you mean `mesh`?"),
    (&["noc", "--size", "0x4"], "`topology.size` = 0: expected 1 to 1024 a side"),
    (&["noc", "--size", "eight"], "`--size eight`: expected columns x rows"),
    (&["noc", "--arbiter", "round-robbin"], "did you mean `round-robin`?"),
    (&["noc", "--vcs", "1", "--classes", "2"], "at least one for each of the 2 classes"),
    (&["noc", "--config", "/no/such/file"], "/no/such/file"),
    (&["noc", "--topology", "torus", "--routing", "table"], "waits for router"),
    (&["noc", "sweep", "--rates", "0.1..2"], "`--rates 0.1..2`: expected FROM..TO"),
    (&["noc", "--rate=-0.1"], "`rate` = -0.1: expected 0 to 1"),
    (&["noc", "--size", "1024x1024"], "MiB; the limit is 4096 MiB (`memory_limit_mib`)"),
    (&["noc", "--topology", "cmesh", "--size", "1024x1024", "--concentration", "60"], "MiB; the limit is 4096 MiB"),
    (&["noc", "--traffic", "unifrom"], "did you mean `uniform`?"),
    (&["noc", "--routing", "xxy"], "did you mean `xy`?"),
    (&["noc", "--allocator", "isllip"], "did you mean `islip`?"),
    (&["noc", "--routes", "/no/such/file"], "/no/such/file"),
    (&["noc", "--graph", "/no/such/file"], "/no/such/file"),
    (&["noc", "--technology", "/no/such/file"], "/no/such/file"),
    (&["noc", "--flit-bits", "0"], "1..=65536"),
    (&["noc", "--reply", "1", "--classes", "1"], "`reply.class` = 1: expected a class from 0 to 0"),
    (&["noc", "--reply", "0"], "`reply.packet` = 0: expected 1 to 4096 flits"),
    (&["noc", "--reply", "1", "--reply-class", "0"], "another class than the requests'"),
    (&["noc", "--rate", "0", "--batch", "5"], "`rate` = 0: expected above 0"),
    (&["noc", "--endpoint-service", "1000000"], "`endpoint_service` = 1000000: expected 0 to 10000"),
    (&["noc", "--traffic", "hotspot", "--hot-nodes", "64"], "`hot_nodes` = 64: expected nodes from 0 to 63"),
    (&["noc", "--packet", "0"], "`packet` = 0: expected 1 to 4096 flits"),
    (&["noc", "sweep", "--batch", "5"], "sweep without `--batch`"),
    (&["noc", "sweep", "--compare", "arbitre=age"], "did you mean `arbiter`?"),
    (&["noc", "sweep", "--compare", "vcs=x"], "`--compare vcs=x`: expected a number"),
    (&["noc", "sweep", "--compare", "arbiter"], "expected OPTION=VALUE"),
    (&["noc", "sweep", "--plot", "x.html", "--beside", "Cargo.toml"], "expected lines `load,mean latency`"),
    (&["noc", "explain", "--follow", "fastest"], "`--follow fastest`: expected a packet's number, or `slowest`"),
    (&["noc", "replay"], "<TRACE>"),
    (&["noc", "replay", "/etc/passwd"], "neither a Netrace trace nor"),
    (&["noc", "explain", "--pipeline", "fast"], "unknown pipeline `fast`"),
    (&["bench", "epcc", "--groups", "tasks"], "did you mean `task`?"),
    (&["bench", "epcc", "--runtime", "libgom"], "did you mean `libgomp`?"),
    (&["bench", "epcc", "--runtime", "libomp", "--libomp", "/no/such/lib.so"], "--libomp /no/such/lib.so"),
    (&["bench", "epcc", "--runtime", "libgomp", "--cc", "/no/such/cc"], "C compiler `/no/such/cc`"),
    (&["bench", "epcc", "--threads", "0"], "1..=4096"),
    (&["study"], "<NAME>"),
    (&["study", "ocro"], "did you mean `ocor`?"),
    (&["study", "ocor", "--chip", "/no/such/chip.toml"], "/no/such/chip.toml"),
    (&["study", "ocor", "--chip", "../../chips/sample-host.toml"], "this study needs \"coherent\""),
    (&["study", "ocor", "--chip", "../../chips/ocor64.toml", "--profiles", "/no/such/dir"], "/no/such/dir"),
    (&["study", "ocor", "--figures", "pictures"], "--markdown <FILE>"),
    (
        &[
            "study",
            "ocor",
            "--chip",
            "../../chips/ocor64.toml",
            "--profiles",
            "../../profiles/ocor",
            "--markdown",
            "page",
        ],
        "--figures DIR",
    ),
    (&["doctor", "--output", "x.toml"], "--calibrate"),
    (&["doctor", "--chip", "ocor64"], "--convoys"),
    (&["doctor", "--convoys", "--calibrate"], "cannot be used with"),
    (&["doctor", "now"], "unexpected argument 'now'"),
    (&["completions"], "<SHELL>"),
    (&["completions", "bsh"], "a similar value exists: 'bash'"),
    (&["man", "porfile"], "did you mean `profile`?"),
    (&["man", "list", "--dir", "x"], "cannot be used with"),
];

fn baton(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(args).env("NO_COLOR", "1").timeout(std::time::Duration::from_secs(60));
    // The test must not depend on whether this machine is calibrated.
    command.env("XDG_DATA_HOME", "/nonexistent");
    command
}

#[test]
fn wrong_input_is_explained() {
    for (args, expected) in CASES {
        let output = baton(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(expected), "baton {args:?}: expected to hear `{expected}`, heard:\n{said}");
        assert_eq!(output.status.code(), Some(2), "baton {args:?}\n{said}");
        assert!(!said.contains("panicked") && output.stdout.is_empty(), "baton {args:?}\n{said}");
        assert!(said.lines().any(|line| line.starts_with("error: ")), "baton {args:?}\n{said}");
    }
}

/// The subcommands that `baton --help` names.
fn subcommands() -> BTreeSet<String> {
    let help = String::from_utf8(baton(&["--help"]).output().unwrap().stdout).unwrap();
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let name = |line: &str| {
        line.strip_prefix("  ").filter(|l| !l.starts_with(' ')).map(|l| l.split(' ').next().unwrap().to_owned())
    };
    list.lines().filter_map(name).filter(|name| name != "help").collect()
}

/// A chip file with `line` put in behind its line `[os]`, and what a run on it must say, file and line included.
#[test]
fn what_a_chip_file_says_wrong_about_the_system_is_named_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.toml");
    let sample = std::fs::read_to_string(SAMPLE).unwrap();
    let at = sample.lines().position(|line| line == "[os]").unwrap() + 2;
    for (line, options, says) in [
        (
            "off = \"1\"",
            &["--pin"][..],
            "thread `thread 1` may run only on cores [1], which are off: FILE:LINE: key `os.off` is 1",
        ),
        ("off = \"1\"", &["--at", "0,1"], "FILE:LINE: key `os.off` is 1; expected one of them to be on"),
        ("scheduler = \"fairer\"", &[], "FILE:LINE: key `os.scheduler` is the text \"fairer\""),
        ("wake_pull = 1.5", &[], "FILE:LINE: key `os.wake_pull` is 1.5; expected a number from 0 to 1"),
        ("queue_lines = 17", &[], "FILE:LINE: key `os.queue_lines` is 17"),
        ("schedular = \"fair\"", &[], "FILE:LINE: unknown key `os.schedular`; did you mean `os.scheduler`?"),
    ] {
        std::fs::write(&file, sample.replace("[os]\n", &format!("[os]\n{line}\n"))).unwrap();
        let output = baton(&["sim", "--iterations", "2", "--chip"]).arg(&file).args(options).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let says = says.replace("FILE", file.to_str().unwrap()).replace("LINE", &at.to_string());
        assert!(said.contains(&says) && output.status.code() == Some(2), "{line}: expected `{says}`, heard:\n{said}");
    }
    // A price that is missing.
    std::fs::write(&file, sample.replace("context_switch = 3_000\n", "")).unwrap();
    let output = baton(&["sim", "--iterations", "2", "--chip"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let says = format!("{}: key `os.context_switch` is missing (from one thread to the next", file.display());
    assert!(said.contains(&says) && output.status.code() == Some(2), "{said}");
}

#[test]
fn every_subcommand_has_a_case() {
    let tested: BTreeSet<String> = CASES.iter().map(|(args, _)| args[0].to_owned()).collect();
    let missing: Vec<_> = subcommands().difference(&tested).cloned().collect();
    assert!(missing.is_empty(), "no case of wrong input for {missing:?}: add one to CASES");
}

#[test]
fn help_and_man_pages_come_for_every_subcommand() {
    let dir = tempfile::tempdir().unwrap();
    assert!(baton(&["man", "--dir"]).arg(dir.path()).output().unwrap().status.success());
    for name in subcommands() {
        assert!(baton(&[&name, "--help"]).output().unwrap().status.success(), "{name}");
        let page = std::fs::read_to_string(dir.path().join(format!("baton-{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("baton "), "{name}");
    }
}

#[test]
fn a_device_that_never_ends_is_refused_at_once() {
    for args in [
        &["sim", "--chip", "/dev/zero"][..],
        &["chips", "show", "/dev/zero"],
        &["litmus", "/dev/zero"],
        &["noc", "--config", "/dev/zero"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_baton")).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("/dev/zero") && said.contains("the most that is read"), "{args:?}: {said}");
    }
}
