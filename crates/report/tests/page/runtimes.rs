//! Threads that spin in functions of runtimes. The loops there look a set number of times, so only the
//! names of the functions tell that they wait.

use baton_report::Profile;
use baton_report::model::Report;
use baton_report::terminal::{self, Style};
use baton_trace::{Address, Clock, Module, ThreadIndex, Ticks, TraceBuilder, What};
use std::path::Path;
use std::process::Command;

const MS: u64 = 1_000_000;

/// Functions with the names of HotSpot's, each long enough for a sample in its middle.
const SOURCE: &str = r#"
#define LONG __asm__ volatile(".fill 64, 1, 0x90")
void spins(void) __asm__("_ZN13ObjectMonitor7TrySpinEP10JavaThread");
void spins(void) { LONG; }
void rests(void) __asm__("SpinPause");
void rests(void) { LONG; }
void works(void) __asm__("_ZN13ObjectMonitor5enterEP10JavaThread");
void works(void) { LONG; }
"#;

/// Where the file of [`SOURCE`] lies in memory.
const BIAS: Address = 0x7f00_0000_0000;

/// Addresses in the middle of the functions of [`SOURCE`]: in the order in which it has them.
struct Functions([Address; 3]);

fn compiled(file: &Path) -> Functions {
    let source = file.with_extension("c");
    std::fs::write(&source, SOURCE).expect("the source");
    let compiled =
        Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(file).arg(&source).output().expect("cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let symbols = Command::new("nm").arg(file).output().expect("nm");
    let symbols = String::from_utf8(symbols.stdout).expect("text");
    let of = |name: &str| {
        let line = symbols.lines().find(|line| line.ends_with(name)).expect("the symbol");
        BIAS + u64::from_str_radix(&line[..16], 16).expect("an address") + 32
    };
    Functions(["7TrySpinEP10JavaThread", " SpinPause", "5enterEP10JavaThread"].map(of))
}

/// Thread 0 ends the process after 200 ms, and is sampled each millisecond. `samples` are the counts of samples in
/// each of the functions. The other samples lie in no known file.
fn report(file: &Path, samples: [u64; 3]) -> Report {
    let Functions(functions) = compiled(file);
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    for thread in [0, 1] {
        trace.push(Ticks(0), ThreadIndex(thread), What::ThreadStart { handle: u64::from(thread) + 1 });
    }
    let mut codes = samples.iter().zip(functions).flat_map(|(count, code)| (0..*count).map(move |_| code));
    for ms in 1..200 {
        let code = codes.next().unwrap_or(0x1000);
        trace.push(Ticks(ms * MS), ThreadIndex(0), What::Sample { code, micros: 1000 });
    }
    trace.push(Ticks(199 * MS), ThreadIndex(1), What::Marker { name: 0, value: 0 });
    trace.push(Ticks(200 * MS), ThreadIndex(0), What::Exit);
    let mut trace = trace.build();
    let path = file.to_str().expect("text").to_owned();
    let (start, end, life) = (BIAS, BIAS + 0x10_0000, Module::ALWAYS);
    trace.processes[0].modules.push(Module { bias: BIAS, start, end, build_id: Vec::new(), path, life });
    Profile::of(trace).report
}

#[test]
fn a_thread_that_spins_for_a_java_monitor_does_not_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("libjvm.so");
    let report_of = report(&file, [30, 50, 40]);
    let verdict = &report_of.verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    let expected = "Cannot tell: for 40.2% of its critical path a thread spins in ObjectMonitor::TrySpin, where HotSpot looks again \
                    and again for a monitor of Java (`synchronized`)";
    assert!(verdict.headline.starts_with(expected), "{verdict:?}");
    assert!(verdict.gains[0].starts_with("by another lock: cannot tell; 40.2%"), "{verdict:?}");
    let advised = verdict.next.iter().any(|step| step.text.starts_with("see what calls ObjectMonitor::TrySpin"));
    assert!(advised, "{verdict:?}");
    let beside = &report_of.critical_path.beside;
    assert_eq!(beside.len(), 1, "the function that rests belongs to the one that spins: {beside:?}");
    assert_eq!((beside[0].call.as_str(), beside[0].again), ("runtime", true));
    assert_eq!(beside[0].runtime.as_deref(), Some("HotSpot"));
    assert!(terminal::summary(&report_of, Style::default()).contains("ObjectMonitor::TrySpin"));
    // Others than waiters for a monitor call the function that rests, too.
    let rests = report(&file, [0, 80, 0]).verdict;
    assert!(
        rests.headline.starts_with("Cannot tell: for 40.2% of its critical path a thread spins in SpinPause (`pause`)")
    );
    let works = report(&file, [0, 0, 120]);
    assert_eq!((works.verdict.limit.as_str(), works.critical_path.beside.len()), ("running", 0), "{:?}", works.verdict);
    // Functions of these names in another file are the program's own.
    let own = report(&folder.path().join("libown.so"), [30, 50, 0]);
    assert_eq!(own.verdict.limit, "running", "{:?}", own.verdict);
}

/// The share that is needed for a verdict is that of other loops that spin.
#[test]
fn little_spinning_for_a_monitor_decides_no_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let verdict = report(&folder.path().join("libjvm.so"), [12, 0, 0]).verdict;
    assert_eq!(verdict.limit, "running", "{verdict:?}");
    assert!(verdict.gains[0].starts_with("by another lock: cannot tell; 6.0%"), "{verdict:?}");
}
