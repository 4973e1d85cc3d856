//! Input, output and sleep: what a thread waits for outside of locks. A call in which the thread left its CPU gets an event, with its call
//! site, when it has returned; of other calls nothing is written down.
//!
//! Each is a cancellation point, as glibc's, or may be called in a signal handler: nothing here has a destructor, and the event leaves
//! `errno` alone.

use crate::events;
use crate::hooks::real;
use crate::hooks::{Code, slot};
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use libc::{clockid_t, timespec};

/// Functions that are called as they are, between two looks at whether the thread left its CPU.
macro_rules! calls {
    ($($name:ident ($($argument:ident : $t:ty),*) -> $answer:ty;)*) => {
        pub(super) fn install() {
            $(slot::$name.set($name as Code);)*
        }

        $(unsafe extern "C-unwind" fn $name($($argument: $t,)* site: usize) -> $answer {
            let before = events::on_cpu();
            // SAFETY: passed on.
            let answer = unsafe { real::$name.get()($($argument),*) };
            events::called(before, site);
            answer
        })*
    };
}

calls! {
    sleep(seconds: c_uint) -> c_uint;
    usleep(micros: c_uint) -> c_int;
    nanosleep(length: *const timespec, left: *mut c_void) -> c_int;
    clock_nanosleep(clock: clockid_t, flags: c_int, at: *const timespec, left: *mut c_void) -> c_int;
    poll(files: *mut c_void, count: c_ulong, limit: c_int) -> c_int;
    select(count: c_int, read: *mut c_void, write: *mut c_void, other: *mut c_void, limit: *mut c_void) -> c_int;
    epoll_wait(file: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int;
    read(file: c_int, into: *mut c_void, bytes: usize) -> isize;
    write(file: c_int, from: *const c_void, bytes: usize) -> isize;
    recv(file: c_int, into: *mut c_void, bytes: usize, flags: c_int) -> isize;
    send(file: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize;
    accept(file: c_int, address: *mut c_void, length: *mut c_void) -> c_int;
    fsync(file: c_int) -> c_int;
    fdatasync(file: c_int) -> c_int;
    msync(from: *mut c_void, bytes: usize, flags: c_int) -> c_int;
    pread(file: c_int, into: *mut c_void, bytes: usize, at: c_long) -> isize;
    pread64(file: c_int, into: *mut c_void, bytes: usize, at: c_long) -> isize;
    pwrite(file: c_int, from: *const c_void, bytes: usize, at: c_long) -> isize;
    pwrite64(file: c_int, from: *const c_void, bytes: usize, at: c_long) -> isize;
    readv(file: c_int, parts: *const c_void, count: c_int) -> isize;
    writev(file: c_int, parts: *const c_void, count: c_int) -> isize;
    recvmsg(file: c_int, message: *mut c_void, flags: c_int) -> isize;
    sendmsg(file: c_int, message: *const c_void, flags: c_int) -> isize;
    connect(file: c_int, address: *const c_void, length: c_uint) -> c_int;
    ppoll(files: *mut c_void, count: c_ulong, limit: *const timespec, signals: *const c_void) -> c_int;
    epoll_pwait(file: c_int, events: *mut c_void, most: c_int, limit: c_int, signals: *const c_void) -> c_int;
    flock(file: c_int, operation: c_int) -> c_int;
    waitpid(process: c_int, status: *mut c_void, options: c_int) -> c_int;
}
