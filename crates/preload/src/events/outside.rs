//! Events of calls in which a thread may wait for something other than a lock: input, output,
//! sleep.

use super::futexes::recorded_thread;
use super::session::SESSION;
use super::streams::{Sort, Way};
use super::{sites, streams};
use crate::base::errno;
use crate::thread::{self, Thread};
use baton_trace::{Address, Outcome, SystemCall, What, clock};
use core::ffi::{c_int, c_void};

/// What [`on_cpu`] noted before a call: the time, and how many bytes the kernel had written about
/// the thread's context switches. `None` if the thread is not recorded.
#[derive(Clone, Copy)]
pub struct Before(Option<(u64, Option<u64>)>);

/// The number of a call that has no event of its own. Such a call is recorded only if the thread
/// left its CPU in it; the event then has the time that the call took.
pub const UNTOLD: u8 = u8::MAX;

/// What a call was about, which decides whether the call has an event and what its answer means.
#[derive(Clone, Copy)]
pub enum About {
    /// A file, given by its number. The call has an event if the file is a socket or a pipe, or if the
    /// thread left its CPU at a file without a name, such as an eventfd.
    File(c_int),
    /// Like [`About::File`], for a call that moves bytes into the file, from the buffer at the address. Null:
    /// the call has several buffers, or cannot move the counter of an eventfd.
    Into(c_int, *const c_void),
    /// Like [`About::Into`], for a call that moves bytes out of the file.
    From(c_int, *const c_void),
    /// A new connection, whose file number is the call's answer.
    NewFile,
    /// Whether a file is ready, or a child process has ended. The answer 0 means that none is or has.
    Readiness,
    /// A call that answers 0 if it succeeds. Another answer means that it failed, whatever the sign:
    /// `clock_nanosleep` answers the number of the error, and `sleep` that was cut short answers the
    /// seconds that are left.
    Zero,
    /// Nothing of the above. An answer that is not negative counts as success.
    Nothing,
}

/// Called before a call in which the thread may wait: notes the time and the context switches so
/// far. Notes nothing for a thread without a record.
#[inline(always)]
pub fn on_cpu() -> Before {
    let thread = if SESSION.is_open() { thread::existing() } else { None };
    Before(thread.map(|thread| (clock::now(SESSION.source()), thread.switches.told())))
}

/// Called when the call noted in `before` has returned. Writes an event with the call's length if
/// the thread left its CPU in the call, and an event with the outcome if the call has one of its
/// own. A call with an event of its own gets the first event also if it took long
/// ([`SystemCall::LONG`]).
#[inline]
pub fn called(before: Before, at: usize, number: u8, about: About, answer: i64) {
    let (Before(Some((began, told))), Some(thread)) = (before, thread::existing()) else { return };
    errno::kept(|| {
        moved(thread, began, about, answer);
        let left = told.is_some() && thread.switches.told().is_some_and(|now| Some(now) != told);
        let file = if number == UNTOLD { None } else { file(about, answer, left) };
        if !left && file.is_none() {
            return;
        }
        let site = sites::contended(thread, at);
        // The clock is read only now, so that `ticks` includes the time that finding `site` took:
        // the event's time less `ticks` is the time at which the call began.
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        if left || ticks >= u64::from(SystemCall::LONG) {
            thread.pen.post_ordered(&SESSION, What::Blocked { site, ticks });
        }
        if let Some(file) = file {
            let ticks = ticks.min(u64::from(SystemCall::LONG)) as u32;
            let call = SystemCall { number, outcome: outcome(about, answer), file, ticks };
            thread.pen.post_ordered(&SESSION, What::Called { call, site });
        }
        // A thread that takes no lock writes its context switches here. They come after the event, so
        // that the time for writing them is no part of the call.
        if left && thread.switches.is_due_in_call(thread.holds.is_free()) {
            thread.switches.empty(thread);
        }
    });
}

/// Records what the call moved into a stream, with the time before the call, or out of a stream.
fn moved(thread: &Thread, began: u64, about: About, answer: i64) {
    let (way, file, buffer) = match about {
        About::Into(file, buffer) if answer > 0 => (Way::In, file, buffer),
        About::From(file, buffer) if answer >= 0 => (Way::Out, file, buffer),
        _ => return,
    };
    let Some(queue) = streams::stream(file, way) else { return };
    let items = match streams::sort(file) {
        // SAFETY: the call succeeded with this buffer, of which an eventfd reads or writes 8 bytes.
        Sort::Nameless if !buffer.is_null() => unsafe { buffer.cast::<u64>().read_unaligned() },
        Sort::Nameless => return,
        _ => answer as u64,
    };
    let now = clock::now_ordered(SESSION.source()).0;
    match way {
        Way::In => posted(thread, began.max(now.saturating_sub(OLDEST)), items, |items| What::Put { queue, items }),
        Way::Out if items == 0 => thread.pen.post_at(&SESSION, now, What::Take { queue, items: 0 }),
        Way::Out => posted(thread, now, items, |items| What::Take { queue, items }),
    }
}

/// Ticks by which the time of an event may lie back ([`post_at`](baton_trace::writer::ThreadWriter::post_at)).
const OLDEST: u64 = 1 << 35;

/// The most events that one call gets for what it moved. An eventfd's counter can be moved further.
const PARTS: u64 = 64;

fn posted(thread: &Thread, time: u64, items: u64, what: impl Fn(u32) -> What) {
    let most = u64::from(What::MOST_ITEMS);
    let mut left = items.min(PARTS * most);
    while left > 0 {
        thread.pen.post_at(&SESSION, time, what(left.min(most) as u32));
        left = left.saturating_sub(most);
    }
}

/// Records what is in an eventfd from its beginning on.
pub fn put(file: c_int, items: u64) {
    let (Some(thread), Some(queue)) = (recorded_thread(), streams::stream(file, Way::In)) else { return };
    errno::kept(|| posted(thread, clock::now(SESSION.source()), items, |items| What::Put { queue, items }));
}

/// Called before a file is closed: records that a stream may end, and forgets the file.
pub fn closes(file: c_int, at: usize) {
    let queue = streams::known(file, Way::In);
    streams::forget(file);
    if let (Some(queue), Some(thread)) = (queue, recorded_thread()) {
        errno::kept(|| close(thread, queue, at));
    }
}

#[cold]
fn close(thread: &Thread, queue: Address, at: usize) {
    thread.pen.post(&SESSION, What::QueueClose { queue, site: sites::contended(thread, at) });
}

/// The file of a call's own event, inside of `Some` if the call has such an event. `left`: whether the
/// thread left its CPU in the call.
fn file(about: About, answer: i64, left: bool) -> Option<Option<u16>> {
    match about {
        About::File(file) | About::Into(file, _) | About::From(file, _) => match streams::sort(file) {
            Sort::Stream => Some(u16::try_from(file).ok()),
            Sort::Nameless => left.then_some(None),
            Sort::Other => None,
        },
        About::NewFile => {
            streams::forget(answer as c_int);
            Some(u16::try_from(answer).ok())
        }
        About::Readiness | About::Zero | About::Nothing => Some(None),
    }
}

/// The outcome of the call. Called before anything else can have set `errno`.
fn outcome(about: About, answer: i64) -> Outcome {
    match (answer, about) {
        (0, About::Readiness | About::File(_) | About::Into(..) | About::From(..)) => Outcome::Nothing,
        // The answer is an error number, or the seconds that `sleep` left: `errno` says nothing.
        (1.., About::Zero) => Outcome::Failed,
        (0.., _) => Outcome::Done,
        // A negative answer: `errno` says why the call failed.
        _ if matches!(errno::get(), libc::EAGAIN) => Outcome::WouldWait,
        _ => Outcome::Failed,
    }
}
