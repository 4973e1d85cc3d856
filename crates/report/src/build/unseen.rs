//! Waiting that the capture cannot see, inferred from the object files that the program loaded. The
//! capture intercepts pthread calls; some runtimes call the kernel directly.

use crate::format::{duration, percent};
use crate::model::{Thread, ratio};
use baton_trace::{Source, Trace};
use baton_units::Nanos;
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeSet;
use std::path::Path;

/// Whether a file belongs to an OpenMP runtime. Waits inside such a runtime are recorded at its
/// entry points.
fn is_runtime(file: &str) -> bool {
    ["libgomp", "libomp.", "libomp-", "libiomp5"].iter().any(|runtime| file.starts_with(runtime))
}

/// One sentence for each runtime that was found.
pub(super) fn unseen(trace: &Trace) -> Vec<String> {
    let modules = trace.processes.iter().flat_map(|process| &process.modules);
    let paths: BTreeSet<&str> = modules.map(|module| module.path.as_str()).collect();
    let found: BTreeSet<String> = paths.into_iter().filter_map(|path| sentence(Path::new(path))).collect();
    found.into_iter().collect()
}

/// A share of the threads' time below this is not worth a sentence.
const LITTLE: f64 = 0.01;

/// Sentences about time off the CPU that the recording could not measure, and about time off the
/// CPU that nothing in the trace explains.
pub(super) fn off_cpu(trace: &Trace, threads: &[Thread]) -> Vec<String> {
    if trace.clock.source == Source::Simulated {
        return Vec::new();
    }
    let mut out = Vec::new();
    let without = threads.iter().filter(|thread| thread.off_cpu_known != "all").count();
    let unknown = threads.iter().filter(|thread| thread.off_cpu_known == "nothing").count();
    if without > 0 && !threads.iter().any(|thread| thread.off_cpu_known == "all") {
        out.push(format!(
            "when and why threads were off their CPUs, as no context switches were recorded (`sysctl kernel.perf_event_paranoid` of 2 or \
             less permits it); what their CPU times tell is shown as \"off the CPU\"{}",
            if unknown == 0 { String::new() } else { format!(", and {unknown} of {without} threads have none: theirs passes for running") }
        ));
    }
    let lives: u64 = threads.iter().map(|thread| thread.last_ns.0.saturating_sub(thread.first_ns.0)).sum();
    let blocked: Nanos = threads.iter().fold(Nanos(0), |sum, thread| sum + thread.blocked_ns + thread.off_ns);
    let share = ratio(blocked.0, lives);
    if share >= LITTLE {
        out.push(format!(
            "what threads did in {} off their CPUs ({} of their time, added over threads): input, output, sleep, or a futex of the \
             program's own, as in C++20's semaphores, latches and atomic waits",
            duration(blocked),
            percent(share)
        ));
    }
    out
}

fn sentence(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let is = |library: &str| name.strip_prefix(library).is_some_and(|rest| rest.starts_with(".so"));
    // Baton's own libraries are written in Rust too.
    if name.starts_with("libbaton") {
        return None;
    }
    if is("libjvm") {
        return Some("Java's monitors and java.util.concurrent call futex themselves".to_owned());
    }
    if is_runtime(&name) {
        return None;
    }
    match runtime(path)? {
        Runtime::Rust => Some(format!(
            "{name} has Rust's standard library in it, whose Mutex, RwLock, Condvar and channels call futex themselves"
        )),
        Runtime::Go => Some(format!("{name} has Go's runtime in it, whose locks and channels call futex themselves")),
        Runtime::OpenMp(calls) => {
            Some(format!("{name} calls OpenMP by {calls}: what waits inside of that counts as the threads' own"))
        }
        Runtime::Futex => Some(format!(
            "{name} calls the kernel itself (`syscall`), as C++20's semaphores, latches and atomic waits do to sleep in a futex"
        )),
    }
}

enum Runtime {
    Rust,
    Go,
    /// A runtime with OpenMP entry points that the capture does not record.
    OpenMp(String),
    /// Waits of C++20, or futex calls of the program's own.
    Futex,
}

/// A path that appears in the panic messages of every program that uses Rust's standard library.
const RUST: &[u8] = b"library/std/src/";

/// Entry points of OpenMP runtimes behind which threads wait, and which are not recorded:
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
    if let Some(calls) = unseen_calls(&file) {
        return Some(Runtime::OpenMp(calls));
    }
    let constants = file.section_by_name(".rodata")?;
    let constants = constants.data().ok()?;
    if constants.windows(RUST.len()).any(|bytes| bytes == RUST) {
        return Some(Runtime::Rust);
    }
    // Only the program's own files are examined: system libraries call the kernel for many other
    // purposes.
    let system = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"].iter().any(|folder| path.starts_with(folder));
    let calls = || file.dynamic_symbols().any(|symbol| symbol.is_undefined() && symbol.name() == Ok("syscall"));
    (!system && calls()).then_some(Runtime::Futex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_told_by_their_files() {
        let me = std::env::current_exe().expect("this test is a program");
        let said = sentence(&me).expect("this test is written in Rust");
        assert!(said.contains("Rust's standard library"), "{said}");
        assert!(sentence(Path::new("/usr/lib/jvm/lib/server/libjvm.so")).is_some());
        for other in
            ["/lib/libgompertz.so", "/no/such/file", "/bin/sh", "/x/libbaton_preload.so", "/x/libgomp.so.1", "[vdso]"]
        {
            assert_eq!(sentence(Path::new(other)), None, "{other}");
        }
    }
}
