//! Counts how often a program enters functions of its own file, by breakpoints of the processor that
//! the kernel counts (perf_event_open). The program's code stays as it is; each entry costs a trap.
//!
//! A breakpoint needs the function's address, which is known once the kernel has loaded the program,
//! and has to be there before the program creates threads, so that each thread gets the breakpoint
//! from its creator. So the program stops as it is executed (`ptrace`), gets its breakpoints, and
//! goes on.

use crate::error::Failed;
use object::{Object, ObjectSegment};
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// The most functions that are counted: a processor has four registers for breakpoints.
pub const MOST: usize = 4;

/// The entries of a program and of its threads and processes, counted from its beginning on.
pub struct Entries(Vec<File>);

impl Entries {
    /// Sets breakpoints at functions of a program that stops at its execution
    /// ([`super::exec::Exec::stops_when_executed`]), and lets it go on. `functions` are addresses in
    /// the program's own file.
    ///
    /// # Errors
    /// Fails if the program has ended, or the kernel refuses breakpoints. The program goes on
    /// nevertheless.
    pub fn of(pid: u32, functions: &[u64]) -> Result<Entries, Failed> {
        let mut status = 0;
        // SAFETY: the process is a child of this one, and has not been waited for; `status` is
        // filled.
        let waited = unsafe { libc::waitpid(pid as i32, &mut status, libc::__WALL) };
        if waited != pid as i32 || !libc::WIFSTOPPED(status) {
            return Err(Failed::new("the program ended before it was executed"));
        }
        let set = || {
            let bias = bias(pid)?;
            functions.iter().map(|address| breakpoint(pid as i32, address.wrapping_add(bias))).collect()
        };
        let counters: Result<Vec<File>, Failed> = set();
        // SAFETY: the process has stopped, and this thread traces it.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, pid as i32, 0, 0) };
        counters.map(Entries)
    }

    /// The number of entries so far.
    pub fn count(&self) -> u64 {
        let read = |mut file: &File| {
            let mut count = [0; 8];
            file.read_exact(&mut count).map_or(0, |()| u64::from_ne_bytes(count))
        };
        self.0.iter().map(read).sum()
    }
}

/// The number that the loader adds to the addresses of the program's own file.
fn bias(pid: u32) -> Result<u64, Failed> {
    let failed = || Failed::new(format_args!("cannot tell where process {pid} has its code"));
    let image = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(|_| failed())?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|_| failed())?;
    let start = maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (range, offset, path) = (words.next()?, words.nth(1)?, words.nth(2)?);
        let is_first = Path::new(path) == image && u64::from_str_radix(offset, 16) == Ok(0);
        is_first.then(|| u64::from_str_radix(range.split('-').next()?, 16).ok())?
    });
    let first = first_segment(Path::new(&format!("/proc/{pid}/exe")));
    Ok(start.ok_or_else(failed)?.wrapping_sub(first.ok_or_else(failed)?))
}

/// The address of the segment with which an ELF file begins.
fn first_segment(file: &Path) -> Option<u64> {
    let bytes = std::fs::read(file).ok()?;
    let parsed = object::File::parse(&*bytes).ok()?;
    parsed.segments().find(|segment| segment.file_range().0 == 0).map(|segment| segment.address())
}

/// The kernel's `struct perf_event_attr`, of its version 5.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    sort: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    at: u64,
    length: u64,
    unused: [u64; 5],
}

const _: () = assert!(size_of::<Attributes>() == 112);

/// Opens a counter of a thread's entries into the code at `address`, and of the threads and
/// processes that the thread creates from now on.
fn breakpoint(tid: i32, address: u64) -> Result<File, Failed> {
    /// PERF_TYPE_BREAKPOINT and HW_BREAKPOINT_X; inherit, exclude_kernel, exclude_hv;
    /// PERF_FLAG_FD_CLOEXEC.
    const BREAKPOINT: u32 = 5;
    const EXECUTION: u32 = 4;
    const FLAGS: u64 = 1 << 1 | 1 << 5 | 1 << 6;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let attributes = Attributes {
        sort: BREAKPOINT,
        size: size_of::<Attributes>() as u32,
        flags: FLAGS,
        breakpoint: EXECUTION,
        at: address,
        length: size_of::<libc::c_long>() as u64,
        ..Attributes::default()
    };
    // SAFETY: the kernel reads the attributes during the call; the descriptor that it returns has no
    // other owner.
    unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, &raw const attributes, tid, -1, -1, CLOSE_ON_EXEC);
        match fd {
            -1 => Err(Failed::because("the kernel refuses a breakpoint (perf_event_open)")(
                std::io::Error::last_os_error(),
            )),
            fd => Ok(File::from_raw_fd(fd as i32)),
        }
    }
}

/// Measures what an entry that is counted costs here, in the calling thread. `None` if the kernel
/// refuses breakpoints.
pub fn cost() -> Option<Duration> {
    const ENTRIES: u32 = 1000;
    #[inline(never)]
    extern "C" fn entered(number: u32) -> u32 {
        std::hint::black_box(number)
    }
    let enter = || {
        let start = Instant::now();
        for number in 0..ENTRIES {
            std::hint::black_box(entered(number));
        }
        start.elapsed()
    };
    let alone = enter();
    let counter = breakpoint(0, entered as *const () as u64).ok()?;
    let counted = enter();
    let entries = Entries(vec![counter]);
    (entries.count() >= u64::from(ENTRIES)).then(|| counted.saturating_sub(alone) / ENTRIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::exec::Exec;
    use crate::launch::program;
    use std::ffi::OsStr;
    use std::process::Command;

    const PROGRAM: &str = r#"
        #include <pthread.h>
        __attribute__((noinline)) void passes(void) { __asm__ volatile(""); }
        static void *works(void *arg) { for (int i = 0; i < 1000; i++) passes(); return arg; }
        int main(void) {
            pthread_t thread;
            pthread_create(&thread, 0, works, 0);
            works(0);
            return pthread_join(thread, 0);
        }
    "#;

    fn address(program: &Path) -> u64 {
        use object::ObjectSymbol;
        let bytes = std::fs::read(program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        file.symbols().find(|symbol| symbol.name() == Ok("passes")).unwrap().address()
    }

    #[test]
    fn entries_of_all_threads_are_counted_from_the_beginning_on() {
        let folder = tempfile::tempdir().unwrap();
        let (source, path) = (folder.path().join("passes.c"), folder.path().join("passes"));
        std::fs::write(&source, PROGRAM).unwrap();
        for kind in ["-pie", "-no-pie"] {
            let mut cc = Command::new("cc");
            assert!(cc.args(["-O1", kind, "-pthread", "-o"]).arg(&path).arg(&source).status().unwrap().success());
            let mut exec = Exec::new(program::find(OsStr::new(&path)).unwrap(), vec!["passes".into()]);
            exec.stops_when_executed();
            let mut child = exec.into_command().unwrap().spawn().unwrap();
            let entries = match Entries::of(child.id(), &[address(&path)]) {
                Ok(entries) => entries,
                Err(error) if error.to_string().contains("refuses a breakpoint") => {
                    child.wait().unwrap();
                    baton_needs::absent("breakpoints by perf_event_open", "entries_of_all_threads_are_counted");
                    return;
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(child.wait().unwrap().code(), Some(0));
            assert_eq!(entries.count(), 2000, "{kind}");
        }
        assert!(cost().is_some_and(|cost| cost > Duration::ZERO));
    }
}
