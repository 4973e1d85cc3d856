//! Calls that make, copy and close pipes, sockets and eventfds: after them, a file's number stands for another
//! file, or for a stream whose ends are known.

use super::outside::number;
use crate::base::errno;
use crate::events::{self, About, streams};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use core::ffi::{c_int, c_uint};

/// The numbers of `read` and `write` in the trace.
const READ: u8 = number("read");
const WRITE: u8 = number("write");

pub(super) fn install() {
    slot::close.set(close as Code);
    slot::dup2.set(dup2 as Code);
    slot::dup3.set(dup3 as Code);
    slot::pipe.set(pipe as Code);
    slot::pipe2.set(pipe2 as Code);
    slot::socketpair.set(socketpair as Code);
    slot::eventfd.set(eventfd as Code);
    slot::eventfd_read.set(eventfd_read as Code);
    slot::eventfd_write.set(eventfd_write as Code);
}

unsafe extern "C-unwind" fn close(file: c_int, site: usize) -> c_int {
    events::closes(file, site);
    // SAFETY: passed on.
    unsafe { real::close.get()(file) }
}

unsafe extern "C-unwind" fn dup2(old: c_int, new: c_int, _site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::dup2.get()(old, new) };
    copied(old, answer)
}

unsafe extern "C-unwind" fn dup3(old: c_int, new: c_int, flags: c_int, _site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::dup3.get()(old, new, flags) };
    copied(old, answer)
}

fn copied(old: c_int, new: c_int) -> c_int {
    if new != old {
        streams::copied(old, new);
    }
    new
}

unsafe extern "C-unwind" fn pipe(ends: *mut c_int, _site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::pipe.get()(ends) };
    made(ends, answer)
}

unsafe extern "C-unwind" fn pipe2(ends: *mut c_int, flags: c_int, _site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::pipe2.get()(ends, flags) };
    made(ends, answer)
}

/// The numbers of a new pipe's ends may have been those of files that the C library closed.
fn made(ends: *const c_int, answer: c_int) -> c_int {
    if answer == 0 {
        // SAFETY: the call succeeded, so that it has written two numbers.
        unsafe { [*ends, *ends.add(1)] }.into_iter().for_each(streams::forget);
    }
    answer
}

unsafe extern "C-unwind" fn socketpair(
    family: c_int,
    sort: c_int,
    protocol: c_int,
    ends: *mut c_int,
    _site: usize,
) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::socketpair.get()(family, sort, protocol, ends) };
    if answer == 0 {
        // SAFETY: the call succeeded, so that it has written two numbers.
        errno::kept(|| streams::paired(unsafe { [*ends, *ends.add(1)] }));
    }
    answer
}

unsafe extern "C-unwind" fn eventfd(count: c_uint, flags: c_int, _site: usize) -> c_int {
    // SAFETY: passed on.
    let file = unsafe { real::eventfd.get()(count, flags) };
    if file >= 0 {
        streams::counts(file);
        events::put(file, u64::from(count));
    }
    file
}

unsafe extern "C-unwind" fn eventfd_read(file: c_int, into: *mut u64, site: usize) -> c_int {
    let before = events::on_cpu();
    // SAFETY: passed on.
    let answer = unsafe { real::eventfd_read.get()(file, into) };
    events::called(before, site, READ, About::From(file, into.cast()), moved(answer));
    answer
}

unsafe extern "C-unwind" fn eventfd_write(file: c_int, count: u64, site: usize) -> c_int {
    let before = events::on_cpu();
    // SAFETY: passed on.
    let answer = unsafe { real::eventfd_write.get()(file, count) };
    events::called(before, site, WRITE, About::Into(file, (&raw const count).cast()), moved(answer));
    answer
}

/// What `read` or `write` would have answered in place of the call.
fn moved(answer: c_int) -> i64 {
    if answer == 0 { size_of::<u64>() as i64 } else { -1 }
}
