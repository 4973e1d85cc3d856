//! What of a program's waiting cannot be seen, inferred from the object files that it loaded: the capture stands between a program and
//! pthread, and some runtimes go past that straight to the kernel.

use baton_trace::Trace;
use object::{Object, ObjectSection};
use std::collections::BTreeSet;
use std::path::Path;

/// A sentence for each runtime that was found, each reported once.
pub(super) fn unseen(trace: &Trace) -> Vec<String> {
    let modules = trace.processes.iter().flat_map(|process| &process.modules);
    let paths: BTreeSet<&str> = modules.map(|module| module.path.as_str()).collect();
    let found: BTreeSet<String> = paths.into_iter().filter_map(|path| sentence(Path::new(path))).collect();
    found.into_iter().collect()
}

fn sentence(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let is = |library: &str| name.strip_prefix(library).is_some_and(|rest| rest.starts_with(".so"));
    // Baton's own libraries are Rust, too.
    if name.starts_with("libbaton") {
        return None;
    }
    if is("libgomp") || is("libomp") || is("libiomp5") {
        return Some(format!(
            "OpenMP's implicit barriers (where a parallel region, a loop or a `single` ends) and its tasks wait inside {name}: \
             that time counts as the threads' own"
        ));
    }
    if is("libjvm") {
        return Some("Java's monitors and java.util.concurrent call futex themselves".to_owned());
    }
    match runtime(path)? {
        Runtime::Rust => Some(format!(
            "{name} has Rust's standard library in it, whose Mutex, RwLock, Condvar and channels call futex themselves"
        )),
        Runtime::Go => Some(format!("{name} has Go's runtime in it, whose locks and channels call futex themselves")),
    }
}

enum Runtime {
    Rust,
    Go,
}

/// Where panics say that they come from, in every program that uses the standard library.
const RUST: &[u8] = b"library/std/src/";

/// The runtime that an object file brings with it. A file that cannot be read brings none that we know of.
fn runtime(path: &Path) -> Option<Runtime> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    if file.section_by_name(".go.buildinfo").is_some() {
        return Some(Runtime::Go);
    }
    let constants = file.section_by_name(".rodata")?;
    let constants = constants.data().ok()?;
    constants.windows(RUST.len()).any(|bytes| bytes == RUST).then_some(Runtime::Rust)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_told_by_their_files() {
        let me = std::env::current_exe().expect("this test is a program");
        let said = sentence(&me).expect("this test is written in Rust");
        assert!(said.contains("Rust's standard library"), "{said}");
        let said = sentence(Path::new("/usr/lib/x86_64-linux-gnu/libgomp.so.1")).expect("known by its name");
        assert!(said.contains("implicit barriers") && said.contains("libgomp.so.1"), "{said}");
        assert!(sentence(Path::new("/usr/lib/jvm/lib/server/libjvm.so")).is_some());
        for other in ["/lib/libgompertz.so", "/no/such/file", "/bin/sh", "/x/libbaton_preload.so", "[vdso]"] {
            assert_eq!(sentence(Path::new(other)), None, "{other}");
        }
    }
}
