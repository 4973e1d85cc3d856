//! Input, output and sleep: what a thread waits for outside of locks, and what it sends to other
//! threads and processes. A call in which the thread left its CPU gets an event with the time that
//! it took, when it has returned. A call at a socket or pipe, or one for connections, readiness, a
//! file's safety or sleep, gets an event with its outcome. Reads and writes of other files that did
//! not block get none. Calls that yield the CPU get an event if a thread makes them again and again.
//!
//! Each function is a cancellation point, as glibc's is, or may be called in a signal handler:
//! nothing here has a destructor, and the event leaves `errno` alone.

use crate::events::{self, About};
use crate::hooks::real;
use crate::hooks::{Code, slot, with_site};
use baton_trace::counts;
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use libc::{clockid_t, timespec};

/// The number of a call in the trace; [`UNTOLD`](events::UNTOLD) if it has none.
pub(super) const fn number(name: &str) -> u8 {
    match counts::column(name) {
        Some(column) => column as u8 - 1,
        None => events::UNTOLD,
    }
}

/// The buffer of a call that does not move the counter of an eventfd.
const UNKNOWN: *const c_void = core::ptr::null();

/// What a call is about that receives from a socket: a look at what comes leaves it in the stream.
const fn received(file: c_int, flags: c_int) -> About {
    if flags & libc::MSG_PEEK != 0 { About::File(file) } else { About::From(file, UNKNOWN) }
}

/// Declares hooks that call glibc's function, and see before and after it whether the thread left
/// its CPU. Behind `=` stand the name under which the event has the call, and what the call is
/// about.
macro_rules! calls {
    ($($name:ident ($($argument:ident : $t:ty),*) -> $answer:ty = $named:ident, $about:expr;)*) => {
        pub(super) fn install() {
            $(slot::$name.set($name as Code);)*
            slot::recvfrom.set(recvfrom_shim as Code);
            slot::sendto.set(sendto_shim as Code);
            slot::sched_yield.set(sched_yield as Code);
            slot::thrd_yield.set(sched_yield as Code);
        }

        $(#[allow(clippy::too_many_arguments, reason = "the C library's interface, and the call site")]
        unsafe extern "C-unwind" fn $name($($argument: $t,)* site: usize) -> $answer {
            let before = events::on_cpu();
            // SAFETY: passed on.
            let answer = unsafe { real::$name.get()($($argument),*) };
            events::called(before, site, const { number(stringify!($named)) }, $about, answer as i64);
            answer
        })*
    };
}

calls! {
    sleep(seconds: c_uint) -> c_uint = sleep, About::Zero;
    usleep(micros: c_uint) -> c_int = usleep, About::Nothing;
    nanosleep(length: *const timespec, left: *mut c_void) -> c_int = nanosleep, About::Nothing;
    clock_nanosleep(clock: clockid_t, flags: c_int, at: *const timespec, left: *mut c_void) -> c_int = clock_nanosleep, About::Zero;
    poll(files: *mut c_void, count: c_ulong, limit: c_int) -> c_int = poll, About::Readiness;
    ppoll(files: *mut c_void, count: c_ulong, limit: *const timespec, signals: *const c_void) -> c_int = ppoll, About::Readiness;
    select(count: c_int, read: *mut c_void, write: *mut c_void, other: *mut c_void, limit: *mut c_void) -> c_int = select, About::Readiness;
    epoll_wait(file: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int = epoll_wait, About::Readiness;
    epoll_pwait(file: c_int, events: *mut c_void, most: c_int, limit: c_int, signals: *const c_void) -> c_int = epoll_pwait, About::Readiness;
    read(file: c_int, into: *mut c_void, bytes: usize) -> isize = read, About::From(file, into);
    __read_chk(file: c_int, into: *mut c_void, bytes: usize, room: usize) -> isize = read, About::From(file, into);
    readv(file: c_int, parts: *const c_void, count: c_int) -> isize = readv, About::From(file, UNKNOWN);
    write(file: c_int, from: *const c_void, bytes: usize) -> isize = write, About::Into(file, from);
    writev(file: c_int, parts: *const c_void, count: c_int) -> isize = writev, About::Into(file, UNKNOWN);
    recv(file: c_int, into: *mut c_void, bytes: usize, flags: c_int) -> isize = recv, received(file, flags);
    __recv_chk(file: c_int, into: *mut c_void, bytes: usize, room: usize, flags: c_int) -> isize = recv, received(file, flags);
    recvfrom(file: c_int, into: *mut c_void, bytes: usize, flags: c_int, address: *mut c_void, length: *mut c_void) -> isize = recvfrom, received(file, flags);
    recvmsg(file: c_int, message: *mut c_void, flags: c_int) -> isize = recvmsg, received(file, flags);
    send(file: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize = send, About::Into(file, UNKNOWN);
    sendto(file: c_int, from: *const c_void, bytes: usize, flags: c_int, address: *const c_void, length: c_uint) -> isize = sendto, About::Into(file, UNKNOWN);
    sendmsg(file: c_int, message: *const c_void, flags: c_int) -> isize = sendmsg, About::Into(file, UNKNOWN);
    sendfile(to: c_int, from: c_int, at: *mut c_void, bytes: usize) -> isize = sendfile, About::Into(to, UNKNOWN);
    accept(file: c_int, address: *mut c_void, length: *mut c_void) -> c_int = accept, About::NewFile;
    accept4(file: c_int, address: *mut c_void, length: *mut c_void, flags: c_int) -> c_int = accept4, About::NewFile;
    fsync(file: c_int) -> c_int = fsync, About::Nothing;
    recvmmsg(file: c_int, messages: *mut c_void, count: c_uint, flags: c_int, limit: *mut c_void) -> c_int = recvmmsg, About::File(file);
    sendmmsg(file: c_int, messages: *mut c_void, count: c_uint, flags: c_int) -> c_int = sendmmsg, About::File(file);
    __poll_chk(files: *mut c_void, count: c_ulong, limit: c_int, room: usize) -> c_int = poll, About::Readiness;
    fdatasync(file: c_int) -> c_int = fdatasync, About::Nothing;
    msync(from: *mut c_void, bytes: usize, flags: c_int) -> c_int = msync, About::Nothing;
    pread(file: c_int, into: *mut c_void, bytes: usize, at: c_long) -> isize = pread, About::File(file);
    pread64(file: c_int, into: *mut c_void, bytes: usize, at: c_long) -> isize = pread, About::File(file);
    pwrite(file: c_int, from: *const c_void, bytes: usize, at: c_long) -> isize = pwrite, About::File(file);
    pwrite64(file: c_int, from: *const c_void, bytes: usize, at: c_long) -> isize = pwrite, About::File(file);
    connect(file: c_int, address: *const c_void, length: c_uint) -> c_int = connect, About::Nothing;
    flock(file: c_int, operation: c_int) -> c_int = flock, About::Nothing;
    waitpid(process: c_int, status: *mut c_void, options: c_int) -> c_int = waitpid, About::Readiness;
    wait(status: *mut c_void) -> c_int = waitpid, About::Readiness;
    wait4(process: c_int, status: *mut c_void, options: c_int, usage: *mut c_void) -> c_int = waitpid, About::Readiness;
}

/// Yields the CPU. C11's `thrd_yield` does the same, and has no answer.
unsafe extern "C-unwind" fn sched_yield(site: usize) -> c_int {
    let began = events::before_yield();
    // SAFETY: passed on.
    let answer = unsafe { real::sched_yield.get()() };
    events::yielded(began, site);
    answer
}

with_site! { recvfrom_shim recvfrom }
with_site! { sendto_shim sendto }
