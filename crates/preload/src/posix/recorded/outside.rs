//! Input, output and sleep: what a thread waits for outside of locks, and what it sends to other
//! threads and processes. A call in which the thread left its CPU gets an event with the time that
//! it took, when it has returned. A call at a socket or pipe, or one for connections, readiness, a
//! file's safety or sleep, gets an event with its outcome. Reads and writes of other files that did
//! not block get none.
//!
//! Each function is a cancellation point, as glibc's is, or may be called in a signal handler:
//! nothing here has a destructor, and the event leaves `errno` alone.

use crate::events::{self, About, streams};
use crate::hooks::real;
use crate::hooks::{Code, slot, with_site};
use baton_trace::counts;
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use libc::{clockid_t, timespec};

/// The number of a call in the trace; [`UNTOLD`](events::UNTOLD) if it has none.
const fn number(name: &str) -> u8 {
    match counts::column(name) {
        Some(column) => column as u8 - 1,
        None => events::UNTOLD,
    }
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
            slot::close.set(close as Code);
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
    read(file: c_int, into: *mut c_void, bytes: usize) -> isize = read, About::File(file);
    __read_chk(file: c_int, into: *mut c_void, bytes: usize, room: usize) -> isize = read, About::File(file);
    readv(file: c_int, parts: *const c_void, count: c_int) -> isize = readv, About::File(file);
    write(file: c_int, from: *const c_void, bytes: usize) -> isize = write, About::File(file);
    writev(file: c_int, parts: *const c_void, count: c_int) -> isize = writev, About::File(file);
    recv(file: c_int, into: *mut c_void, bytes: usize, flags: c_int) -> isize = recv, About::File(file);
    __recv_chk(file: c_int, into: *mut c_void, bytes: usize, room: usize, flags: c_int) -> isize = recv, About::File(file);
    recvfrom(file: c_int, into: *mut c_void, bytes: usize, flags: c_int, address: *mut c_void, length: *mut c_void) -> isize = recvfrom, About::File(file);
    recvmsg(file: c_int, message: *mut c_void, flags: c_int) -> isize = recvmsg, About::File(file);
    send(file: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize = send, About::File(file);
    sendto(file: c_int, from: *const c_void, bytes: usize, flags: c_int, address: *const c_void, length: c_uint) -> isize = sendto, About::File(file);
    sendmsg(file: c_int, message: *const c_void, flags: c_int) -> isize = sendmsg, About::File(file);
    sendfile(to: c_int, from: c_int, at: *mut c_void, bytes: usize) -> isize = sendfile, About::File(to);
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

/// Forgets the kind of the file, because its number may become that of another file.
unsafe extern "C-unwind" fn close(file: c_int, _site: usize) -> c_int {
    streams::forget(file);
    // SAFETY: passed on.
    unsafe { real::close.get()(file) }
}

with_site! { recvfrom_shim recvfrom }
with_site! { sendto_shim sendto }
