//! Counts calls for input, output, waits for files and sleep, each when it has succeeded. The
//! functions are cancellation points, as glibc's are, so nothing here has a destructor; counting
//! leaves `errno` alone.

use super::called;
use crate::hooks::real;
use crate::hooks::{Code, slot};
use baton_trace::counts::column;
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use libc::{clockid_t, timespec};

/// The column of a call. If the list lacks the call, the code does not compile.
const fn known(call: &str) -> usize {
    match column(call) {
        Some(column) => column,
        None => panic!("not in the list of calls"),
    }
}

/// Declares hooks that count a call, under the name behind `as`, if its answer lies in the range
/// behind `if`.
macro_rules! counted {
    ($($name:ident as $call:literal if $good:tt ($($argument:ident : $t:ty),*) -> $answer:ty;)*) => {
        /// Points the slots of these calls to the hooks.
        pub fn install() {
            $(slot::$name.set($name as Code);)*
        }

        $(unsafe extern "C-unwind" fn $name($($argument: $t,)* site: usize) -> $answer {
            // SAFETY: passed on.
            let answer = unsafe { real::$name.get()($($argument),*) };
            if $good.contains(&(answer as i64)) {
                called(const { known($call) }, site);
            }
            answer
        })*
    };
}

counted! {
    read as "read" if (1..) (file: c_int, into: *mut c_void, bytes: usize) -> isize;
    __read_chk as "read" if (1..) (file: c_int, into: *mut c_void, bytes: usize, size: usize) -> isize;
    readv as "readv" if (1..) (file: c_int, parts: *const c_void, count: c_int) -> isize;
    recv as "recv" if (1..) (file: c_int, into: *mut c_void, bytes: usize, flags: c_int) -> isize;
    __recv_chk as "recv" if (1..) (file: c_int, into: *mut c_void, bytes: usize, size: usize, flags: c_int) -> isize;
    recvmsg as "recvmsg" if (1..) (file: c_int, message: *mut c_void, flags: c_int) -> isize;
    write as "write" if (1..) (file: c_int, from: *const c_void, bytes: usize) -> isize;
    writev as "writev" if (1..) (file: c_int, parts: *const c_void, count: c_int) -> isize;
    send as "send" if (1..) (file: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize;
    sendmsg as "sendmsg" if (1..) (file: c_int, message: *const c_void, flags: c_int) -> isize;
    sendfile as "sendfile" if (1..) (to: c_int, from: c_int, at: *mut c_void, bytes: usize) -> isize;
    accept as "accept" if (0..) (file: c_int, address: *mut c_void, length: *mut c_void) -> c_int;
    accept4 as "accept4" if (0..) (file: c_int, address: *mut c_void, length: *mut c_void, flags: c_int) -> c_int;
    epoll_wait as "epoll_wait" if (1..) (file: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int;
    epoll_pwait as "epoll_pwait" if (1..) (file: c_int, events: *mut c_void, most: c_int, limit: c_int, mask: *const c_void) -> c_int;
    poll as "poll" if (1..) (files: *mut c_void, count: c_ulong, limit: c_int) -> c_int;
    __poll_chk as "poll" if (1..) (files: *mut c_void, count: c_ulong, limit: c_int, size: usize) -> c_int;
    ppoll as "ppoll" if (1..) (files: *mut c_void, count: c_ulong, limit: *const timespec, mask: *const c_void) -> c_int;
    select as "select" if (1..) (count: c_int, read: *mut c_void, write: *mut c_void, other: *mut c_void, limit: *mut c_void) -> c_int;
    fdatasync as "fdatasync" if (0..) (file: c_int) -> c_int;
    connect as "connect" if (0..) (file: c_int, address: *const c_void, length: c_uint) -> c_int;
    recvmmsg as "recvmmsg" if (1..) (file: c_int, messages: *mut c_void, most: c_uint, flags: c_int, limit: *mut c_void) -> c_int;
    sendmmsg as "sendmmsg" if (1..) (file: c_int, messages: *mut c_void, count: c_uint, flags: c_int) -> c_int;
    sleep as "sleep" if (0..1) (seconds: c_uint) -> c_uint;
    usleep as "usleep" if (0..) (micros: c_uint) -> c_int;
    nanosleep as "nanosleep" if (0..) (length: *const timespec, left: *mut c_void) -> c_int;
    clock_nanosleep as "clock_nanosleep" if (0..1) (clock: clockid_t, flags: c_int, at: *const timespec, left: *mut c_void) -> c_int;
    fsync as "fsync" if (0..) (file: c_int) -> c_int;
    waitpid as "waitpid" if (1..) (process: c_int, status: *mut c_void, options: c_int) -> c_int;
    wait as "waitpid" if (1..) (status: *mut c_void) -> c_int;
    wait4 as "waitpid" if (1..) (process: c_int, status: *mut c_void, options: c_int, usage: *mut c_void) -> c_int;
}

/// Declares hooks of calls whose six arguments fill the registers, so that the hook does not get
/// the call site; a progress point cannot name a site of these calls.
macro_rules! without_site {
    ($($name:ident as $call:literal ($($argument:ident : $t:ty),*) -> $answer:ty;)*) => {
        /// Points the slots of these calls to the hooks.
        pub fn install_without_site() {
            $(slot::$name.set($name as Code);)*
        }

        $(unsafe extern "C-unwind" fn $name($($argument: $t),*) -> $answer {
            // SAFETY: passed on.
            let answer = unsafe { real::$name.get()($($argument),*) };
            if answer as i64 >= 1 {
                called(const { known($call) }, 0);
            }
            answer
        })*
    };
}

without_site! {
    recvfrom as "recvfrom" (file: c_int, into: *mut c_void, bytes: usize, flags: c_int, address: *mut c_void, length: *mut c_void) -> isize;
    sendto as "sendto" (file: c_int, from: *const c_void, bytes: usize, flags: c_int, address: *const c_void, length: c_uint) -> isize;
    pselect as "pselect" (count: c_int, read: *mut c_void, write: *mut c_void, other: *mut c_void, limit: *const timespec, mask: *const c_void) -> c_int;
}
