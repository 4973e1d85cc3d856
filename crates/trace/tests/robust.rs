//! The writer inside programs that behave badly: killed, forked, out of space, interrupted by
//! signals, closing descriptors that they did not open.
//!
//! Tests that need a process of their own start one: this test binary once more, with an
//! environment variable that names the body to run.

use baton_trace::writer::{Options, Session, StopReason, ThreadWriter};
use baton_trace::{Lock, LossKind, Mode, SiteId, Trace, What};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static SESSION: Session = Session::new();
thread_local! {
    static PEN: ThreadWriter = const { ThreadWriter::new() };
}
const BODY: &str = "BATON_TRACE_TEST_BODY";
const DIRECTORY: &str = "BATON_TRACE_TEST_DIRECTORY";

fn open(limit: u64) {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let path = CString::new(directory.as_os_str().as_bytes()).unwrap();
    SESSION.open(&path, Options { limit, ..Options::default() }).unwrap();
}

fn mark(value: u64) {
    PEN.with(|pen| pen.post(&SESSION, What::Marker { name: 1, value }));
}

/// Returns the values of each thread's markers.
fn marks(trace: &Trace) -> Vec<Vec<u64>> {
    let mut marks = vec![Vec::new(); trace.threads.len()];
    for event in trace.events() {
        if let What::Marker { value, .. } = event.what {
            marks[event.thread.index()].push(value);
        }
    }
    marks
}

/// Returns a command that runs this binary once more, in which only the body of this name runs.
fn child(body: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "run_body", "--nocapture", "--test-threads=1"]).env(BODY, body).env(DIRECTORY, directory);
    command
}

fn run(body: &str, directory: &Path) -> ExitStatus {
    child(body, directory).stdout(std::process::Stdio::null()).status().unwrap()
}

/// The child processes begin here. If the variable is not set, this is no child, and there is
/// nothing to do.
#[test]
fn run_body() {
    match std::env::var(BODY).as_deref() {
        Ok("endless") => endless(),
        Ok("file-size-limit") => file_size_limit(),
        Ok("disk-full") => write_many(100_000),
        Ok("fork") => fork(),
        Ok("closes-descriptors") => closes_descriptors(),
        Ok(other) => panic!("no body {other}"),
        Err(_) => {}
    }
}

/// Posts ascending numbers in three threads for ever. Each thread publishes in shared memory how
/// far it has come.
fn endless() {
    open(1 << 30);
    let progress = shared_counters();
    std::thread::scope(|scope| {
        for counter in progress.iter().take(3) {
            scope.spawn(move || {
                for value in 0.. {
                    mark(value);
                    counter.store(value + 1, Ordering::Relaxed);
                }
            });
        }
    });
}

/// Maps the page of the file `progress`, in which threads publish how far they have come.
fn shared_counters() -> &'static [AtomicU64; 8] {
    use std::os::fd::AsRawFd;
    let path = PathBuf::from(std::env::var_os(DIRECTORY).unwrap()).join("progress");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let (protection, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: the kernel chooses free address space for the mapping, and the parent has made the
    // file a page long.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, shared, file.as_raw_fd(), 0) };
    assert_ne!(at, libc::MAP_FAILED);
    // SAFETY: `at` is a mapping of a page, aligned to a page, and never unmapped.
    unsafe { &*at.cast() }
}

#[test]
fn killed_at_any_moment_every_event_is_there() {
    for round in 0..4u64 {
        let directory = tempfile::tempdir().unwrap();
        let progress = directory.path().join("progress");
        std::fs::write(&progress, [0u8; 4096]).unwrap();
        let mut child = child("endless", directory.path()).stdout(std::process::Stdio::null()).spawn().unwrap();
        // Waits until each thread has posted 1,000 events, and in each further round 10,000 more,
        // however busy the machine is.
        let counters = || -> Vec<u64> {
            let bytes = std::fs::read(&progress).unwrap();
            (0..3).map(|i| u64::from_le_bytes(bytes[i * 8..][..8].try_into().unwrap())).collect()
        };
        while counters().iter().any(|n| *n < 1000 * (1 + 10 * round)) {
            std::thread::sleep(Duration::from_micros(500 + 131 * round));
        }
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let trace = Trace::open(directory.path()).unwrap();
        assert_eq!(trace.losses, []);
        assert!(!trace.processes[0].finished);
        let mut marks = marks(&trace);
        for values in &marks {
            assert!(values.iter().copied().eq(0..values.len() as u64), "a value is missing in between");
        }
        // The threads may have another order in the trace than their counters have.
        let mut lengths: Vec<u64> = marks.drain(..).map(|values| values.len() as u64).collect();
        let mut counters = counters();
        lengths.sort_unstable();
        counters.sort_unstable();
        for (length, counter) in lengths.iter().zip(&counters) {
            assert!((*counter..=counter + 1).contains(length), "{lengths:?} recorded, {counters:?} done");
        }
    }
}

fn write_many(count: u64) {
    open(1 << 30);
    (0..count).for_each(mark);
    PEN.with(ThreadWriter::finish);
    SESSION.finish();
}

fn file_size_limit() {
    let limit = libc::rlimit { rlim_cur: 300 << 10, rlim_max: 300 << 10 };
    // SAFETY: setrlimit reads the one rlimit that the pointer points at.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
    write_many(100_000);
    assert_eq!(SESSION.stopped(), Some(StopReason::FileSizeLimit));
}

fn stopped_but_whole(directory: &Path, reason: StopReason) {
    let trace = Trace::open(directory).unwrap();
    let [loss] = trace.losses.as_slice() else { panic!("{:?}", trace.losses) };
    assert_eq!(loss.kind, LossKind::Dropped(reason));
    let marks = &marks(&trace)[0];
    assert!(marks.len() > 1000 && marks.iter().copied().eq(0..marks.len() as u64));
    // Each mark was either recorded or counted as lost. (The pauses in the trace come on top.)
    assert_eq!(marks.len() as u64 + loss.events, 100_000);
}

#[test]
fn a_limit_on_file_sizes_raises_no_signal() {
    let directory = tempfile::tempdir().unwrap();
    let status = run("file-size-limit", directory.path());
    assert!(status.success(), "{status}: SIGXFSZ is {}", libc::SIGXFSZ);
    stopped_but_whole(directory.path(), StopReason::FileSizeLimit);
}

#[test]
fn a_full_disk_raises_no_signal() {
    let directory = tempfile::tempdir().unwrap();
    // Uses a small file system in a mount namespace that ends with the child. The script copies the
    // events file out before.
    let inner = directory.path().join("small");
    std::fs::create_dir(&inner).unwrap();
    let script = r#"mount -t tmpfs -o size=256k none "$1/small" || exit 77
        "$2" --exact run_body --nocapture --test-threads=1 >/dev/null || exit 1
        cp "$1"/small/events.* "$1""#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).arg(directory.path());
    let status = command.arg(std::env::current_exe().unwrap()).env(BODY, "disk-full").env(DIRECTORY, &inner).status();
    match status.as_ref().map(ExitStatus::code) {
        Ok(Some(0)) => stopped_but_whole(directory.path(), StopReason::NoSpace),
        // Without the rights to mount, the test is skipped. The limit on file sizes, which the test
        // above covers, takes the same path through the writer.
        Err(_) | Ok(Some(77)) => {
            baton_needs::missing("unshare --mount --map-root-user", "a_full_disk_raises_no_signal");
        }
        Ok(_) => panic!("{status:?}: SIGBUS is {}", libc::SIGBUS),
    }
}

fn fork() {
    open(1 << 30);
    for value in 0..10_000 {
        mark(value);
    }
    for follow in [true, false] {
        // SAFETY: after the fork the child only reopens the session and posts events, which takes
        // no lock, and exits.
        match unsafe { libc::fork() } {
            0 => {
                PEN.with(ThreadWriter::forget);
                SESSION.reopen_after_fork(follow).unwrap();
                for value in 0..5_000 {
                    mark(1_000_000 + value);
                }
                // Exits without destructors and without the test harness, as a program's child
                // might. SAFETY: _exit takes no pointer; it ends the process.
                unsafe { libc::_exit(0) }
            }
            pid => {
                assert!(pid > 0);
                mark(if follow { 10_000 } else { 10_001 });
                let mut status = 0;
                // SAFETY: waitpid writes to `status` only, and `pid` is the child just created.
                assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
                assert_eq!(status, 0);
            }
        }
    }
    PEN.with(ThreadWriter::finish);
    SESSION.finish();
}

#[test]
fn a_forks_child_has_a_file_of_its_own_or_none() {
    let directory = tempfile::tempdir().unwrap();
    assert!(run("fork", directory.path()).success());
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    assert_eq!(trace.processes.len(), 2);
    assert_eq!(trace.processes[1].parent, trace.processes[0].pid);
    assert_eq!((trace.processes[0].finished, trace.processes[1].finished), (true, false));
    let marks = marks(&trace);
    assert!(marks[0].iter().copied().eq(0..10_002));
    assert!(marks[1].iter().copied().eq(1_000_000..1_005_000));
}

fn closes_descriptors() {
    open(1 << 30);
    mark(0);
    // SAFETY: the descriptors above 2 belong to this process, which uses none of them afterwards.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let victim = std::fs::File::create(directory.join("victim")).unwrap();
    // The program's own file gets the descriptor numbers that the session may have had.
    use std::os::fd::AsRawFd;
    for number in [200, 1000] {
        // SAFETY: dup2 takes no pointer, and `victim` is open.
        assert_eq!(unsafe { libc::dup2(victim.as_raw_fd(), number) }, number);
    }
    (1..50_000).for_each(mark);
    PEN.with(ThreadWriter::finish);
    SESSION.finish();
}

#[test]
fn a_program_that_closes_all_descriptors_loses_nothing_and_keeps_its_own() {
    let directory = tempfile::tempdir().unwrap();
    assert!(run("closes-descriptors", directory.path()).success());
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    assert!(marks(&trace)[0].iter().copied().eq(0..50_000));
    assert_eq!(directory.path().join("victim").metadata().unwrap().len(), 0);
}

/// Opens a session in this process, for the tests below that need no child process.
fn own_session(directory: &Path) -> &'static Session {
    let session = Box::leak(Box::new(Session::new()));
    session.open(&CString::new(directory.as_os_str().as_bytes()).unwrap(), Options::default()).unwrap();
    session
}

#[test]
fn signal_handlers_post_while_an_event_is_being_posted() {
    thread_local! {
        static STRUCK: ThreadWriter = const { ThreadWriter::new() };
    }
    static STRIKES: AtomicU64 = AtomicU64::new(0);
    static HANDLER_SESSION: AtomicU64 = AtomicU64::new(0);
    extern "C" fn handler(_: libc::c_int) {
        // SAFETY: HANDLER_SESSION holds the address of a leaked session, stored before the handler
        // was installed.
        let session = unsafe { &*(HANDLER_SESSION.load(Ordering::Relaxed) as *const Session) };
        // The handler posts 50 events each time, and so needs a new segment now and then.
        for _ in 0..50 {
            let value = STRIKES.fetch_add(1, Ordering::Relaxed);
            STRUCK.with(|pen| pen.post(session, What::Marker { name: 2, value }));
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let session = own_session(directory.path());
    HANDLER_SESSION.store(std::ptr::from_ref(session) as u64, Ordering::Relaxed);
    // SAFETY: a sigaction of all-zero bytes is valid, and the handler only makes async-signal-safe
    // calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    // The thread posts until the handlers have posted enough, whatever else the machine does; at
    // the latest until the trace has about a gigabyte.
    const STRIKES_WANTED: u64 = 50 * 100;
    const MARKS_MOST: u64 = 50_000_000;
    let marks = AtomicU64::new(0);
    let posting = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (posting, marks) = (&posting, &marks);
        scope.spawn(move || {
            // SAFETY: pthread_self takes no argument and only names the calling thread.
            sender.send(unsafe { libc::pthread_self() }).unwrap();
            for value in 0..MARKS_MOST {
                STRUCK.with(|pen| pen.post(session, What::Marker { name: 1, value }));
                marks.store(value + 1, Ordering::Relaxed);
                if value > 100_000 && STRIKES.load(Ordering::Relaxed) >= STRIKES_WANTED {
                    break;
                }
            }
            posting.store(1, Ordering::Release);
            // The thread stays alive until the last signal has been sent to it.
            while posting.load(Ordering::Acquire) != 2 {
                std::thread::yield_now();
            }
            STRUCK.with(ThreadWriter::finish);
        });
        let target = receiver.recv().unwrap();
        while posting.load(Ordering::Acquire) == 0 {
            // SAFETY: the target thread lives until `posting` becomes 2 below.
            unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
            std::thread::yield_now();
        }
        posting.store(2, Ordering::Release);
    });
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    let (mut own, mut handlers) = (Vec::new(), Vec::new());
    for event in trace.events() {
        match event.what {
            What::Marker { name: 1, value } => own.push(value),
            What::Marker { name: 2, value } => handlers.push(value),
            _ => {}
        }
    }
    let strikes = STRIKES.load(Ordering::Relaxed);
    assert!(strikes >= STRIKES_WANTED, "only {strikes} events from handlers");
    own.sort_unstable();
    handlers.sort_unstable();
    assert!(own.into_iter().eq(0..marks.load(Ordering::Relaxed)), "an interrupted event was lost or torn");
    assert!(handlers.into_iter().eq(0..strikes), "a handler's event was lost or torn");
}

#[test]
fn errno_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let session = Session::new();
    let path = CString::new(directory.path().as_os_str().as_bytes()).unwrap();
    session.open(&path, Options { limit: 40 << 10, ..Options::default() }).unwrap();
    let pen = ThreadWriter::new();
    // SAFETY: errno is a valid place of this thread, and no other reference to it exists meanwhile.
    let errno = || unsafe { &mut *libc::__errno_location() };
    *errno() = 77;
    // With 10,000 events the writer needs more than one segment and reaches the size limit.
    for value in 0..10_000 {
        pen.post(&session, What::Marker { name: 1, value });
    }
    assert_eq!(session.stopped(), Some(StopReason::SizeLimit));
    pen.finish();
    session.finish();
    assert_eq!(*errno(), 77);
}

#[test]
fn five_thousand_threads() {
    let directory = tempfile::tempdir().unwrap();
    let session = own_session(directory.path());
    let lock = Lock::mutex(0x1000);
    for batch in 0..50 {
        std::thread::scope(|scope| {
            for i in 0..100u64 {
                let body = move || {
                    let pen = ThreadWriter::new();
                    pen.post(session, What::Marker { name: 1, value: batch * 100 + i });
                    pen.post(session, What::Acquire { lock, mode: Mode::Exclusive, site: SiteId(1) });
                    pen.finish();
                };
                std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, body).unwrap();
            }
        });
    }
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!((trace.losses.len(), trace.threads.len()), (0, 5000));
    let mut values: Vec<u64> = marks(&trace).concat();
    values.sort_unstable();
    assert!(values.into_iter().eq(0..5000));
}

#[test]
fn ten_million_events() {
    let directory = tempfile::tempdir().unwrap();
    let session = own_session(directory.path());
    let lock = Lock::mutex(0x1000);
    let (mode, site) = (Mode::Exclusive, SiteId(1));
    let pen = ThreadWriter::new();
    for _ in 0..5_000_000 {
        pen.post_ordered(session, What::Acquire { lock, mode, site });
        pen.post(session, What::Release { lock, mode, site });
    }
    pen.finish();
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    let analysis = baton_trace::analysis::Analysis::of(&trace, baton_trace::analysis::Window::whole(&trace));
    assert_eq!(analysis.locks[0].stats.acquisitions, 5_000_000);
    assert!(analysis.locks[0].stats.anomalies.is_clean());
}
