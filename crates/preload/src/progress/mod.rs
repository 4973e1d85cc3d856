//! Counts of calls in a file that `baton` reads while the program runs (`BATON_PROGRESS`): the
//! progress point by which `baton try --for` measures, and all other calls of the list, so that
//! `baton` can name the calls that came if the point never does.
//!
//! A thread adds to a row of its own in the mapped file ([`baton_trace::counts`]), so that a count
//! costs a load and a store, and is kept when the process is killed. Threads that come when all
//! other rows are taken share the last one. Without `BATON_PROGRESS` no slot points here.
//!
//! | file | holds |
//! | --- | --- |
//! | [`calls`] | input, output, waits for files and sleep |
//! | [`conds`] | waits for condition variables |
//! | `places` | whether an address lies in a place that was asked for |

pub mod calls;
pub mod conds;
mod places;

use crate::base::errno;
use crate::base::message::{self, Subject};
use crate::config::{Point, Progress};
use crate::hooks::lookup::found;
use crate::thread::callbacks::Callbacks;
use crate::thread::{self, Thread};
use baton_trace::counts::{COLUMNS, HEADER, LENGTH, PROCESSES, ROWS, TAKEN};
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use places::Places;
use std::ffi::CString;

/// The column of the progress point itself.
const POINT: usize = 0;

/// The progress point that `BATON_PROGRESS` asks for.
struct Asked {
    /// The column of the call that is the progress point; [`POINT`] if the point is no call.
    call: usize,
    /// The condition variables whose waits are the progress point, given by the variable's place or
    /// by the wait's call site.
    conds: Option<Places>,
    /// The call sites whose calls count as progress; `None`: all.
    sites: Option<Places>,
    /// The name of the marker that is the progress point.
    mark: Option<CString>,
}

/// Null while nothing is counted.
static ASKED: AtomicPtr<Asked> = AtomicPtr::new(null_mut());
/// The mapped file; set before `ASKED`.
static FILE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

fn asked() -> Option<&'static Asked> {
    // SAFETY: null, or a leaked box.
    unsafe { ASKED.load(Relaxed).as_ref() }
}

/// Gives a fork's child rows of its own.
pub static CALLBACKS: Callbacks = Callbacks { after_fork_in_child, ..Callbacks::NONE };

/// Maps the file of counts. Returns false if the process cannot map it: then the process says so,
/// and runs uncounted.
pub fn start(progress: &Progress) -> bool {
    let Some(file) = map(&progress.file) else {
        let file = progress.file.to_string_lossy();
        let text = format_args!("process {} cannot open the file of its counts", std::process::id());
        message::tell(Subject::Counters, format_args!("BATON_PROGRESS_FILE={file}: "), text);
        return false;
    };
    let places = |places: &[_]| (!places.is_empty()).then(|| Places::new(places));
    if !found::start() && !matches!((&progress.point, &progress.sites[..]), (Point::Call(_) | Point::Mark(_), [])) {
        message::refuse(format_args!("BATON_PROGRESS: places of the program need glibc 2.35 or later"));
    }
    let mut all = Asked { call: POINT, conds: None, sites: places(&progress.sites), mark: None };
    match &progress.point {
        Point::Call(column) => all.call = *column,
        Point::Lock(_) => {}
        Point::Cond(named) => all.conds = places(named),
        Point::Mark(name) => all.mark = Some(name.clone()),
    }
    FILE.store(file, Relaxed);
    ASKED.store(Box::into_raw(Box::new(all)), Relaxed);
    word(PROCESSES).fetch_add(1, Relaxed);
    true
}

/// Maps the file of counts, shared with `baton` and the program's other processes.
fn map(file: &CStr) -> Option<*mut AtomicU64> {
    // SAFETY: the path ends with a zero byte; the mapping is new memory, which is never unmapped.
    // The file has the right length, which is checked here, so no access goes beyond its end.
    errno::kept(|| unsafe {
        let fd = libc::open(file.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let whole = libc::lseek(fd, 0, libc::SEEK_END) == LENGTH as libc::off_t;
        let at = if whole { libc::mmap(null_mut(), LENGTH, access, libc::MAP_SHARED, fd, 0) } else { libc::MAP_FAILED };
        libc::close(fd);
        (at != libc::MAP_FAILED).then(|| at.cast())
    })
}

/// A word of the header.
fn word(at: usize) -> &'static AtomicU64 {
    // SAFETY: called only once the file is mapped, which it then is for ever; the header's words
    // lie in the first page.
    unsafe { &*FILE.load(Relaxed).add(at) }
}

/// The row that several threads share, when all other rows are taken.
fn last_row() -> *mut AtomicU64 {
    FILE.load(Relaxed).wrapping_add(HEADER / 8 + (ROWS - 1) * COLUMNS)
}

/// Adds one to a column of the calling thread's row. Called only once the file is mapped.
#[inline]
fn add(column: usize) {
    let thread = thread::existing().unwrap_or_else(|| errno::kept(thread::current));
    let mut row = thread.row.load(Relaxed);
    if row.is_null() {
        row = take_row(thread);
    }
    // SAFETY: the row lies in the mapped file and has COLUMNS words; every column is a constant of
    // the list.
    let count = unsafe { &*row.add(column) };
    if row == last_row() {
        count.fetch_add(1, Relaxed);
    } else {
        // A load and a store suffice, as no other thread writes the row.
        count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
    }
}

#[cold]
fn take_row(thread: &Thread) -> *mut AtomicU64 {
    let taken = word(TAKEN).fetch_add(1, Relaxed) as usize;
    let row = FILE.load(Relaxed).wrapping_add(HEADER / 8 + taken.min(ROWS - 1) * COLUMNS);
    thread.row.store(row, Relaxed);
    row
}

/// Takes the rows of all threads away in a fork's child: its thread takes a row of its own when it
/// counts again.
fn after_fork_in_child() {
    if asked().is_some() {
        thread::all().for_each(|thread| thread.row.store(null_mut(), Relaxed));
        word(PROCESSES).fetch_add(1, Relaxed);
    }
}

/// Counts the progress point, which a call at `site` has passed, if that site counts.
pub fn passed(site: usize) {
    let Some(asked) = asked() else { return };
    if asked.sites.as_ref().is_none_or(|sites| sites.have_call(site)) {
        add(POINT);
    }
}

/// Counts a call that has succeeded.
#[inline]
fn called(column: usize, site: usize) {
    add(column);
    if asked().is_some_and(|asked| asked.call == column) {
        passed(site);
    }
}

/// Counts the progress point if a signal has ended a wait for a variable that is the point.
fn waited(cond: usize, site: usize) {
    let Some(named) = asked().and_then(|asked| asked.conds.as_ref()) else { return };
    if named.have(cond) || named.have_call(site) {
        passed(site);
    }
}

/// Counts the progress point if `name` is the marker that is the point.
///
/// # Safety
/// `name` is null or a string.
#[inline]
pub unsafe fn marked(name: *const c_char) {
    let Some(mark) = asked().and_then(|asked| asked.mark.as_ref()) else { return };
    // SAFETY: by contract.
    if !name.is_null() && unsafe { CStr::from_ptr(name) } == mark.as_c_str() {
        add(POINT);
    }
}
