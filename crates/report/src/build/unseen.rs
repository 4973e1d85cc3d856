//! Waiting that the capture cannot see, inferred from the object files that the program loaded. The
//! capture intercepts calls of the C library; some runtimes enter the kernel themselves.

use crate::format::{duration, percent};
use crate::model::{Thread, ratio};
use baton_trace::analysis::{OffCpu, ThreadOffCpu, Window};
use baton_trace::{Source, Ticks, Trace};
use baton_units::Nanos;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::path::Path;

/// Whether a file belongs to an OpenMP runtime. Waits inside such a runtime are recorded at its
/// entry points.
fn is_runtime(file: &str) -> bool {
    ["libgomp", "libomp.", "libomp-", "libiomp5"].iter().any(|runtime| file.starts_with(runtime))
}

/// The runtimes in the program whose waits are not recorded, each as a phrase.
pub(super) fn runtimes(trace: &Trace) -> Vec<String> {
    let modules = trace.processes.iter().flat_map(|process| &process.modules);
    let paths: BTreeSet<&str> = modules.map(|module| module.path.as_str()).collect();
    let found: BTreeSet<String> = paths.into_iter().filter_map(|path| phrase(Path::new(path))).collect();
    found.into_iter().collect()
}

/// If unexplained time is less than this share of the threads' time, there is no sentence about it.
const LITTLE: f64 = 0.01;

/// Time off the CPU that nothing in the trace explains, added over threads.
pub(super) fn unexplained(trace: &Trace, off_cpu: &[ThreadOffCpu], window: &Window) -> Nanos {
    let of = |off: &ThreadOffCpu| off.time(OffCpu::Blocked, window) + off.time(OffCpu::Unknown, window);
    trace.clock.nanos(off_cpu.iter().map(of).sum::<Ticks>().0)
}

/// Sentences about time off the CPU that the recording could not measure, and about time off the
/// CPU that nothing in the trace explains. `lost`: whether switches were recorded and some were lost.
pub(super) fn off_cpu(trace: &Trace, threads: &[Thread], unexplained: Nanos, lost: bool) -> Vec<String> {
    if trace.clock.source == Source::Simulated {
        return Vec::new();
    }
    let mut out = Vec::new();
    let without = threads.iter().filter(|thread| thread.off_cpu_known != "all").count();
    let unknown = threads.iter().filter(|thread| thread.off_cpu_known == "nothing").count();
    if without > 0 && !lost && !threads.iter().any(|thread| thread.off_cpu_known == "all") {
        out.push(format!(
            "when and why threads were off their CPUs, as no context switches were recorded (`sysctl kernel.perf_event_paranoid` of 2 or \
             less permits it); what their CPU times tell is shown as \"off the CPU\"{}",
            if unknown == 0 { String::new() } else { format!(", and {unknown} of {without} threads have none: theirs passes for running") }
        ));
    }
    let lives: u64 = threads.iter().map(|thread| thread.last_ns.0.saturating_sub(thread.first_ns.0)).sum();
    let share = ratio(unexplained.0, lives);
    if share >= LITTLE {
        out.push(format!(
            "what threads did in {} off their CPUs ({} of their time, added over threads): page faults, system calls of the \
             program's own, or input and output inside of libraries",
            duration(unexplained),
            percent(share)
        ));
    }
    out
}

fn phrase(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    if name.starts_with("libbaton") || is_runtime(&name) {
        return None;
    }
    match runtime(path)? {
        Runtime::Go => Some(format!("Go's runtime in {name}, whose locks and channels enter the kernel themselves")),
        Runtime::OpenMp(calls) => {
            Some(format!("OpenMP in {name}, by {calls}: what waits inside of that counts as the threads' own"))
        }
    }
}

enum Runtime {
    Go,
    /// A runtime with OpenMP entry points that the capture does not record.
    OpenMp(String),
}

/// Entry points of OpenMP runtimes that are not recorded although threads wait behind them:
/// `ordered`, `doacross`, task loops, task reductions, regions as compilers before GCC 4.9 open
/// them, and everything that compilers other than GCC call.
const UNSEEN: [&str; 8] = [
    "GOMP_ordered_start",
    "GOMP_doacross_wait",
    "GOMP_doacross_ull_wait",
    "GOMP_taskloop",
    "GOMP_taskloop_ull",
    "GOMP_parallel_reductions",
    "GOMP_parallel_start",
    "__kmpc_fork_call",
];

/// The names among [`UNSEEN`] that a file calls.
fn unseen_calls(file: &object::File) -> Option<String> {
    let calls = file.dynamic_symbols().filter(|symbol| symbol.is_undefined()).filter_map(|symbol| {
        let name = symbol.name().ok()?;
        UNSEEN.contains(&name).then(|| name.to_owned())
    });
    let calls: BTreeSet<String> = calls.collect();
    (!calls.is_empty()).then(|| calls.into_iter().collect::<Vec<_>>().join(", "))
}

/// The runtime that an object file contains. An unreadable file counts as containing none.
fn runtime(path: &Path) -> Option<Runtime> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if file.section_by_name(".go.buildinfo").is_some() {
        return Some(Runtime::Go);
    }
    unseen_calls(&file).map(Runtime::OpenMp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_told_by_their_files() {
        // The waits of Rust's standard library are recorded, because it calls the C library's
        // `syscall`, so a Rust program has no unseen runtime.
        let me = std::env::current_exe().expect("this test is a program");
        assert_eq!(phrase(&me), None);
        for other in
            ["/lib/libgompertz.so", "/no/such/file", "/bin/sh", "/x/libbaton_preload.so", "/x/libgomp.so.1", "[vdso]"]
        {
            assert_eq!(phrase(Path::new(other)), None, "{other}");
        }
    }
}
