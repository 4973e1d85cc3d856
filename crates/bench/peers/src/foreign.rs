//! Queues of C and C++ from packages of the distribution: compiled when they are timed. One whose
//! package is not there is named as absent.

use crate::Subject;
use crate::queues::{Ends, Receive, Send, spin, time};
use serde::Serialize;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// A source, and the queues that it exports.
struct Source {
    /// Debian's package.
    package: &'static str,
    file: &'static str,
    code: &'static str,
    arguments: &'static [&'static str],
    /// Names in the source's order. One with `(1 to 1)` takes one thread on each side.
    queues: &'static [&'static str],
}

macro_rules! sources {
    ($($package:literal $file:literal [$($argument:literal)*]: $($queue:literal)*;)*) => {
        const SOURCES: &[Source] = &[$(Source {
            package: $package,
            file: $file,
            code: include_str!(concat!("../foreign/", $file)),
            arguments: &[$($argument),*],
            queues: &[$($queue),*],
        }),*];
    };
}

sources! {
    "dpdk-dev and libdpdk-dev" "rte_ring.c" ["-I/usr/include/dpdk" "-I/usr/include/x86_64-linux-gnu/dpdk" "-include" "rte_config.h" "-march=native" "-lrte_ring"]:
        "rte_ring, spinning" "rte_ring, spinning (1 to 1)";
    "libck-dev" "ck.c" []: "ck_ring, spinning" "ck_ring, spinning (1 to 1)";
    "libconcurrentqueue-dev" "moodycamel.cpp" []: "moodycamel ConcurrentQueue unbounded, spinning" "moodycamel BlockingConcurrentQueue unbounded";
    "libreaderwriterqueue-dev" "readerwriter.cpp" []:
        "moodycamel ReaderWriterQueue, spinning (1 to 1)" "moodycamel circular buffer (1 to 1)";
    "libtbb-dev" "tbb.cpp" ["-ltbb"]: "oneTBB concurrent_bounded_queue";
}

const HEADER: &str = include_str!("../foreign/peer.h");

/// A queue that is not timed.
#[derive(Serialize)]
pub struct Absent {
    pub name: String,
    pub why: String,
}

/// `struct peer` of the sources.
#[derive(Clone, Copy)]
#[repr(C)]
struct Calls {
    make: unsafe extern "C" fn(usize) -> *mut c_void,
    put: unsafe extern "C" fn(*mut c_void, u64) -> i32,
    get: unsafe extern "C" fn(*mut c_void, *mut u64) -> i32,
    end: unsafe extern "C" fn(*mut c_void),
}

/// A queue of another library, which the last of its ends frees.
struct Queue {
    calls: Calls,
    queue: *mut c_void,
}

// SAFETY: the ends call from as many threads as the queue's name says.
unsafe impl std::marker::Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the last end is dropped, and `make` made the queue.
        unsafe { (self.calls.end)(self.queue) };
    }
}

/// The item by which a receiver learns that no other one follows.
const LAST: u64 = u64::MAX;

impl Queue {
    fn put(&self, item: u64) {
        // SAFETY: the queue is alive.
        spin(|| (unsafe { (self.calls.put)(self.queue, item) } != 0).then_some(()));
    }

    fn get(&self) -> Option<u64> {
        let mut item = 0;
        // SAFETY: the queue is alive, and the item a local.
        spin(|| (unsafe { (self.calls.get)(self.queue, &mut item) } != 0).then_some(()));
        (item != LAST).then_some(item)
    }
}

/// What all senders share: the last one to be dropped tells the receivers. (moodycamel's queues have an order for each producer
/// alone, so that a receiver may end before items of others come out. The window is over by then.)
struct Tells(Arc<Queue>, usize);

impl Drop for Tells {
    fn drop(&mut self) {
        (0..self.1).for_each(|_| self.0.put(LAST));
    }
}

fn ends(calls: Calls, capacity: usize, each: usize) -> Option<Ends> {
    // SAFETY: `make` takes any power of two.
    let queue = unsafe { (calls.make)(capacity) };
    if queue.is_null() {
        return None;
    }
    let queue = Arc::new(Queue { calls, queue });
    let tells = Arc::new(Tells(queue.clone(), each));
    let sender = |_| {
        let tells = tells.clone();
        Box::new(move |item| {
            tells.0.put(item);
            true
        }) as Send
    };
    let receiver = |_| {
        let queue = queue.clone();
        Box::new(move || queue.get()) as Receive
    };
    Some(Ends { senders: (0..each).map(sender).collect(), receivers: (0..each).map(receiver).collect() })
}

/// The names of all queues of this file.
pub fn names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().flat_map(|source| source.queues).copied()
}

/// Compiles the wanted queues. A queue that cannot be compiled comes back with the reason.
pub fn subjects(capacity: usize, wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<(Vec<Subject>, Vec<Absent>)> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("peer.h"), HEADER)?;
    let (mut subjects, mut absent) = (Vec::new(), Vec::new());
    for source in SOURCES.iter().filter(|source| source.queues.iter().any(|name| wanted(name))) {
        let built = source.build(folder.path());
        for (at, &name) in source.queues.iter().enumerate().filter(|(_, name)| wanted(name)) {
            match &built {
                // SAFETY: the array has an element for each name, and the library is never unloaded.
                Ok(calls) => subjects.push(subject(name, unsafe { *calls.add(at) }, capacity)),
                Err(why) => absent.push(Absent { name: name.to_owned(), why: why.clone() }),
            }
        }
    }
    Ok((subjects, absent))
}

fn subject(name: &str, calls: Calls, capacity: usize) -> Subject {
    let one = name.contains("(1 to 1)");
    Subject::new(name, move |load| {
        let each = if one { 1 } else { (load.threads / 2).max(1) };
        time(ends(calls, capacity, each).expect("there is memory for a queue of 1,024 items"), load)
    })
}

impl Source {
    /// Compiles the source in `folder` and loads it. Returns its array of calls, or why there is none.
    fn build(&self, folder: &Path) -> Result<*const Calls, String> {
        let failed = |error: std::io::Error| error.to_string();
        let (path, library) = (folder.join(self.file), folder.join(self.file).with_extension("so"));
        std::fs::write(&path, self.code).map_err(failed)?;
        let compiler = if self.file.ends_with(".c") { "cc" } else { "c++" };
        let output = Command::new(compiler)
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .args([&library, &path])
            .args(self.arguments)
            .arg("-pthread")
            .output()
            .map_err(|error| format!("the compiler {compiler} cannot be started: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let first =
                said.lines().find(|line| line.contains("error") || line.contains("cannot find")).unwrap_or(&said);
            let missing = ["No such file", "file not found", "cannot find -l"].iter().any(|words| said.contains(words));
            return Err(if missing {
                format!("the package {} is not there: {first}", self.package)
            } else {
                format!("does not compile: {first}")
            });
        }
        load(&library)
    }
}

/// Loads a library for as long as the program runs. Returns its array `peers`.
fn load(library: &Path) -> Result<*const Calls, String> {
    let path = CString::new(library.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the strings end with zero. The initializers of the library are those of the packages.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        let peers = if handle.is_null() { handle } else { libc::dlsym(handle, c"peers".as_ptr()) };
        if peers.is_null() {
            let why = libc::dlerror();
            let why = if why.is_null() { c"no reason was told" } else { CStr::from_ptr(why) };
            return Err(format!("cannot be loaded: {}", why.to_string_lossy()));
        }
        Ok(peers.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let source = |code| Source { package: "libnone-dev", file: "none.c", code, arguments: &[], queues: &["none"] };
        let why = source("#include <none/of/this.h>\n").build(folder.path()).unwrap_err();
        assert!(why.starts_with("the package libnone-dev is not there: ") && why.contains("none/of/this.h"), "{why}");
        let why = source("int peers = what;\n").build(folder.path()).unwrap_err();
        assert!(why.starts_with("does not compile: ") && why.contains("what"), "{why}");
        let why = source("int other;\n").build(folder.path()).unwrap_err();
        assert!(why.starts_with("cannot be loaded: ") && why.contains("peers"), "{why}");
    }

    /// A queue of one place, in C.
    const ONE: &str = r#"
#include "peer.h"
static uint64_t place, full;
static void *make(size_t capacity) { return capacity ? &place : NULL; }
static int put(void *queue, uint64_t item) {
    if (__atomic_load_n(&full, __ATOMIC_ACQUIRE)) return 0;
    *(uint64_t *)queue = item;
    __atomic_store_n(&full, 1, __ATOMIC_RELEASE);
    return 1;
}
static int get(void *queue, uint64_t *item) {
    if (!__atomic_load_n(&full, __ATOMIC_ACQUIRE)) return 0;
    *item = *(uint64_t *)queue;
    __atomic_store_n(&full, 0, __ATOMIC_RELEASE);
    return 1;
}
static void end(void *queue) { (void)queue; }
const struct peer peers[] = { { make, put, get, end } };
"#;

    #[test]
    fn items_pass_through_a_compiled_queue_and_its_receivers_end() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("peer.h"), HEADER).unwrap();
        let source = Source { package: "none", file: "one.c", code: ONE, arguments: &[], queues: &["one"] };
        // SAFETY: the source exports one queue.
        let calls = unsafe { *source.build(folder.path()).unwrap() };
        assert!(ends(calls, 0, 1).is_none());
        let Ends { mut senders, mut receivers } = ends(calls, 1, 1).unwrap();
        let (mut send, mut receive) = (senders.pop().unwrap(), receivers.pop().unwrap());
        drop(senders);
        let sum: u64 = std::thread::scope(|s| {
            s.spawn(move || assert!((0..1_000).all(&mut send)));
            std::iter::from_fn(&mut receive).sum()
        });
        assert_eq!(sum, 999 * 1_000 / 2);
    }
}
