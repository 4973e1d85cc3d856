//! The C library's queues.

use super::behind::{self, Move, Object, Until, is_time, within};
use crate::events::queues::{act, between, forgets, met, tell};
use crate::hooks::{Code, slot};
use core::ffi::{c_char, c_int, c_void};
use libc::clockid_t;

pub(super) fn install() {
    slot::baton_queue_put.set(queue_put as Code);
    slot::baton_queue_tryput.set(queue_tryput as Code);
    slot::baton_queue_timedput.set(queue_timedput as Code);
    slot::baton_queue_put_all.set(queue_put_all as Code);
    slot::baton_queue_get.set(queue_get as Code);
    slot::baton_queue_tryget.set(queue_tryget as Code);
    slot::baton_queue_timedget.set(queue_timedget as Code);
    slot::baton_queue_get_some.set(queue_get_some as Code);
    slot::baton_queue_close.set(queue_close as Code);
    slot::baton_queue_length.set(queue_length as Code);
    slot::baton_queue_closed.set(queue_closed as Code);
    slot::baton_queue_put_by.set(queue_put_by as Code);
    slot::baton_queue_tryput_by.set(queue_tryput_by as Code);
    slot::baton_queue_timedput_by.set(queue_timedput_by as Code);
    slot::baton_queue_get_by.set(queue_get_by as Code);
    slot::baton_queue_tryget_by.set(queue_tryget_by as Code);
    slot::baton_queue_timedget_by.set(queue_timedget_by as Code);
    slot::baton_queue_end.set(queue_end as Code);
    slot::baton_spsc_new.set(spsc_new as Code);
    slot::baton_spsc_free.set(spsc_free as Code);
    slot::baton_spsc_put.set(spsc_put as Code);
    slot::baton_spsc_tryput.set(spsc_tryput as Code);
    slot::baton_spsc_timedput.set(spsc_timedput as Code);
    slot::baton_spsc_get.set(spsc_get as Code);
    slot::baton_spsc_tryget.set(spsc_tryget as Code);
    slot::baton_spsc_timedget.set(spsc_timedget as Code);
    slot::baton_spsc_reserve.set(spsc_reserve as Code);
    slot::baton_spsc_timedreserve.set(spsc_timedreserve as Code);
    slot::baton_spsc_commit.set(spsc_commit as Code);
    slot::baton_spsc_peek.set(spsc_peek as Code);
    slot::baton_spsc_timedpeek.set(spsc_timedpeek as Code);
    slot::baton_spsc_release.set(spsc_release as Code);
    slot::baton_spsc_close.set(spsc_close as Code);
    slot::baton_unbounded_new.set(unbounded_new as Code);
    slot::baton_unbounded_free.set(unbounded_free as Code);
    slot::baton_unbounded_put.set(unbounded_put as Code);
    slot::baton_unbounded_get.set(unbounded_get as Code);
    slot::baton_unbounded_tryget.set(unbounded_tryget as Code);
    slot::baton_unbounded_timedget.set(unbounded_timedget as Code);
    slot::baton_unbounded_close.set(unbounded_close as Code);
    slot::baton_choice_new.set(choice_new as Code);
    slot::baton_choice_free.set(choice_free as Code);
    slot::baton_choice_put.set(choice_put as Code);
    slot::baton_choice_tryput.set(choice_tryput as Code);
    slot::baton_choice_timedput.set(choice_timedput as Code);
    slot::baton_choice_get.set(choice_get as Code);
    slot::baton_choice_tryget.set(choice_tryget as Code);
    slot::baton_choice_timedget.set(choice_timedget as Code);
    slot::baton_choice_close.set(choice_close as Code);
    slot::baton_process_sender_open.set(sender_open as Code);
    slot::baton_process_sender_close.set(sender_close as Code);
    slot::baton_process_send.set(process_send as Code);
    slot::baton_process_trysend.set(process_trysend as Code);
    slot::baton_process_timedsend.set(process_timedsend as Code);
    slot::baton_process_receiver_open.set(receiver_open as Code);
    slot::baton_process_receiver_close.set(receiver_close as Code);
    slot::baton_process_receive.set(process_receive as Code);
    slot::baton_process_tryreceive.set(process_tryreceive as Code);
    slot::baton_process_timedreceive.set(process_timedreceive as Code);
}

/// What a call does at a queue: the wait that it may need, and what it tells when it succeeds.
#[derive(Clone, Copy)]
struct Deed {
    waits: u32,
    done: u32,
    number: u64,
}

/// An item goes in; an item comes out; places are lent for items, and of items.
const PUT: Deed = Deed { waits: act::FULL, done: act::PUT, number: 1 };
const GET: Deed = Deed { waits: act::EMPTY, done: act::TAKEN, number: 1 };
const RESERVE: Deed = Deed { waits: act::FULL, done: act::GOT, number: 0 };
const PEEK: Deed = Deed { waits: act::EMPTY, done: act::GOT, number: 0 };

/// Does a deed by `tries` or, where that would have to wait, by `wait`. Each returns 0 if it did it.
fn doing(queue: usize, deed: Deed, site: usize, tries: impl FnOnce() -> c_int, wait: impl FnOnce() -> c_int) -> c_int {
    let mut answer = tried(queue, deed, site, tries);
    // `EBUSY`: at a queue between processes another one is in the middle of a call. The wait for it is short.
    if answer == libc::EAGAIN || answer == libc::EBUSY {
        tell(deed.waits, queue, 0, site);
        answer = within(wait);
        let (told, number) = if answer == 0 { (deed.done, deed.number) } else { (act::GOES_ON, 0) };
        tell(told, queue, number, site);
    }
    answer
}

/// Does a deed by a try.
fn tried(queue: usize, deed: Deed, site: usize, tries: impl FnOnce() -> c_int) -> c_int {
    let answer = within(tries);
    if answer == 0 && deed.number != 0 {
        tell(deed.done, queue, deed.number, site);
    }
    answer
}

/// The address by which a queue is told that has a call which makes it, and tells its capacity there.
fn known(queue: Object, _: usize) -> usize {
    queue.addr()
}

/// The addresses by which a queue between processes is told, the same at each of its ends.
fn of_sender(sender: Object, _: usize) -> usize {
    // SAFETY: the program passes an end.
    between(unsafe { behind::baton_process_sender_id.get()(sender) })
}

fn of_receiver(receiver: Object, _: usize) -> usize {
    // SAFETY: the program passes an end.
    between(unsafe { behind::baton_process_receiver_id.get()(receiver) })
}

/// The address by which a `baton_queue` is told. It begins as a constant: its capacity is told at its first
/// use.
fn constant(queue: Object, site: usize) -> usize {
    /// Where `struct baton_queue` (`baton.h`) has its capacity.
    const CAPACITY: usize = 40;
    // SAFETY: the program passes a queue, whose capacity never changes.
    met(queue.addr(), || unsafe { queue.byte_add(CAPACITY).cast::<usize>().read() }, site);
    queue.addr()
}

/// Defines the hooks of a deed: of the call that waits, the try, and the call with a deadline. `$first`
/// is called first, and returns the address by which the queue is told.
macro_rules! thrice {
    ($first:ident $deed:ident ($($argument:ident: $is:ty),*)
        $wait:ident $wait_call:ident, $try:ident $try_call:ident, $timed:ident $timed_call:ident) => {
        thrice! { $first $deed ($($argument: $is),*) $wait $wait_call, $try_call, $timed $timed_call }

        unsafe extern "C-unwind" fn $try(queue: Object $(, $argument: $is)*, site: usize) -> c_int {
            let at = $first(queue, site);
            // SAFETY: passed on.
            tried(at, $deed, site, || unsafe { behind::$try_call.get()(queue $(, $argument)*) })
        }
    };
    ($first:ident $deed:ident ($($argument:ident: $is:ty),*)
        $wait:ident $wait_call:ident, $try_call:ident, $timed:ident $timed_call:ident) => {
        unsafe extern "C-unwind" fn $wait(queue: Object $(, $argument: $is)*, site: usize) -> c_int {
            let at = $first(queue, site);
            // SAFETY: passed on.
            unsafe {
                let tries = || behind::$try_call.get()(queue $(, $argument)*);
                doing(at, $deed, site, tries, || behind::$wait_call.get()(queue $(, $argument)*))
            }
        }

        unsafe extern "C-unwind" fn $timed(
            queue: Object $(, $argument: $is)*, clock: clockid_t, until: Until, site: usize,
        ) -> c_int {
            let at = $first(queue, site);
            // SAFETY: passed on.
            unsafe {
                let tries = || behind::$try_call.get()(queue $(, $argument)*);
                let wait = || behind::$timed_call.get()(queue $(, $argument)*, clock, until);
                if is_time(clock, until) { doing(at, $deed, site, tries, wait) } else { wait() }
            }
        }
    };
}

thrice! { constant PUT (item: *const c_void)
queue_put baton_queue_put, queue_tryput baton_queue_tryput, queue_timedput baton_queue_timedput }
thrice! { constant GET (item: *mut c_void)
queue_get baton_queue_get, queue_tryget baton_queue_tryget, queue_timedget baton_queue_timedget }
thrice! { constant PUT (item: *mut c_void, by: Move)
queue_put_by baton_queue_put_by, queue_tryput_by baton_queue_tryput_by, queue_timedput_by baton_queue_timedput_by }
thrice! { constant GET (item: *mut c_void, by: Move)
queue_get_by baton_queue_get_by, queue_tryget_by baton_queue_tryget_by, queue_timedget_by baton_queue_timedget_by }
thrice! { known PUT (item: *const c_void)
spsc_put baton_spsc_put, spsc_tryput baton_spsc_tryput, spsc_timedput baton_spsc_timedput }
thrice! { known GET (item: *mut c_void)
spsc_get baton_spsc_get, spsc_tryget baton_spsc_tryget, spsc_timedget baton_spsc_timedget }
// A try that lends places tells nothing.
thrice! { known RESERVE (most: usize, places: *mut c_void)
spsc_reserve baton_spsc_reserve, baton_spsc_tryreserve, spsc_timedreserve baton_spsc_timedreserve }
thrice! { known PEEK (most: usize, places: *mut c_void)
spsc_peek baton_spsc_peek, baton_spsc_trypeek, spsc_timedpeek baton_spsc_timedpeek }
thrice! { known GET (item: *mut c_void)
unbounded_get baton_unbounded_get, unbounded_tryget baton_unbounded_tryget, unbounded_timedget baton_unbounded_timedget }

thrice! { known PUT (item: *const c_void)
choice_put baton_choice_put, choice_tryput baton_choice_tryput, choice_timedput baton_choice_timedput }
thrice! { known GET (item: *mut c_void)
choice_get baton_choice_get, choice_tryget baton_choice_tryget, choice_timedget baton_choice_timedget }

thrice! { of_sender PUT (item: *const c_void, size: usize)
process_send baton_process_send, process_trysend baton_process_trysend, process_timedsend baton_process_timedsend }
thrice! { of_receiver GET (item: *mut c_void, size: usize)
process_receive baton_process_receive, process_tryreceive baton_process_tryreceive,
process_timedreceive baton_process_timedreceive }

/// Moves up to `count` items one by one by `step`, which gets the number of those that were moved before, and
/// their bytes. The library's own call says only at its end how many it has moved. Returns that number and the
/// answer of the last step.
///
/// # Safety
/// `queue` is a `baton_queue`; `done` is null or writable.
unsafe fn one_by_one(
    queue: Object,
    count: usize,
    done: *mut usize,
    step: impl Fn(usize, usize) -> c_int,
) -> (usize, c_int) {
    /// Where `struct baton_queue` (`baton.h`) has the size of its items.
    const ITEM_SIZE: usize = 32;
    // SAFETY: guaranteed by the caller.
    let size = unsafe { queue.byte_add(ITEM_SIZE).cast::<usize>().read() };
    let (mut moved, mut answer) = (0, 0);
    while moved < count && answer == 0 {
        answer = step(moved, moved * size);
        moved += usize::from(answer == 0);
    }
    // SAFETY: guaranteed by the caller.
    if let Some(done) = unsafe { done.as_mut() } {
        *done = moved;
    }
    (moved, answer)
}

unsafe extern "C-unwind" fn queue_put_all(
    queue: Object,
    items: *const c_void,
    count: usize,
    done: *mut usize,
    site: usize,
) -> c_int {
    // SAFETY: passed on; the program passes as many items.
    unsafe { one_by_one(queue, count, done, |_, at| queue_put(queue, items.byte_add(at), site)).1 }
}

/// Waits for the first item alone.
unsafe extern "C-unwind" fn queue_get_some(
    queue: Object,
    items: *mut c_void,
    count: usize,
    done: *mut usize,
    site: usize,
) -> c_int {
    let get = |moved| if moved == 0 { queue_get } else { queue_tryget };
    // SAFETY: passed on; the program passes room for as many items.
    let (moved, answer) =
        unsafe { one_by_one(queue, count, done, |moved, at| get(moved)(queue, items.byte_add(at), site)) };
    if moved > 0 { 0 } else { answer }
}

/// Defines the hooks of calls that close a queue.
macro_rules! closes {
    ($($name:ident $call:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(queue: Object, site: usize) -> c_int {
            tell(act::CLOSES, queue.addr(), 0, site);
            // SAFETY: passed on.
            within(|| unsafe { behind::$call.get()(queue) })
        }
    )*};
}

closes! {
    queue_close baton_queue_close;
    spsc_close baton_spsc_close;
    unbounded_close baton_unbounded_close;
    choice_close baton_choice_close;
}

unsafe extern "C-unwind" fn queue_length(queue: Object, _: usize) -> usize {
    // SAFETY: passed on.
    within(|| unsafe { behind::baton_queue_length.get()(queue) })
}

unsafe extern "C-unwind" fn queue_closed(queue: Object, _: usize) -> c_int {
    // SAFETY: passed on.
    within(|| unsafe { behind::baton_queue_closed.get()(queue) })
}

/// The library itself has nothing to do at the end of a `baton_queue`. A queue that was not used is not known.
unsafe extern "C-unwind" fn queue_end(queue: Object, site: usize) {
    if forgets(queue.addr()) {
        tell(act::ENDS, queue.addr(), 0, site);
    }
}

/// Tells of a queue that was made, or not. A capacity of 0: it has no bound.
fn made(queue: Object, capacity: usize, site: usize) -> Object {
    if !queue.is_null() {
        tell(act::MADE, queue.addr(), capacity as u64, site);
    }
    queue
}

unsafe extern "C-unwind" fn spsc_new(item_size: usize, capacity: usize, site: usize) -> Object {
    // SAFETY: passed on.
    made(within(|| unsafe { behind::baton_spsc_new.get()(item_size, capacity) }), capacity, site)
}

unsafe extern "C-unwind" fn unbounded_new(item_size: usize, site: usize) -> Object {
    // SAFETY: passed on.
    made(within(|| unsafe { behind::baton_unbounded_new.get()(item_size) }), 0, site)
}

unsafe extern "C-unwind" fn choice_new(kind: c_int, item_size: usize, capacity: usize, site: usize) -> Object {
    // SAFETY: passed on.
    let queue = within(|| unsafe { behind::baton_choice_new.get()(kind, item_size, capacity) });
    // SAFETY: the queue was just made. Its capacity may be the user's, and not the program's.
    let capacity = if queue.is_null() { 0 } else { unsafe { behind::baton_choice_capacity.get()(queue) } };
    made(queue, capacity, site)
}

/// Defines the hooks of calls that free a queue.
macro_rules! frees {
    ($($name:ident $call:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(queue: Object, site: usize) {
            if !queue.is_null() {
                tell(act::ENDS, queue.addr(), 0, site);
            }
            // SAFETY: passed on.
            within(|| unsafe { behind::$call.get()(queue) });
        }
    )*};
}

frees! {
    spsc_free baton_spsc_free;
    unbounded_free baton_unbounded_free;
    choice_free baton_choice_free;
}

/// A queue without a bound never makes its producers wait.
unsafe extern "C-unwind" fn unbounded_put(queue: Object, item: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    tried(queue.addr(), PUT, site, || unsafe { behind::baton_unbounded_put.get()(queue, item) })
}

/// Defines the hooks of calls that hand over places which the queue has lent.
macro_rules! hands {
    ($($name:ident $call:ident $deed:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(queue: Object, count: usize, site: usize) -> c_int {
            // SAFETY: passed on.
            let handed = || unsafe { behind::$call.get()(queue, count) };
            tried(queue.addr(), Deed { number: count as u64, ..$deed }, site, handed)
        }
    )*};
}

hands! {
    spsc_commit baton_spsc_commit PUT;
    spsc_release baton_spsc_release GET;
}

/// Defines the hooks of calls that open an end of a queue between processes, or close such a queue.
macro_rules! ends {
    ($($open:ident $open_call:ident $capacity:ident $close:ident $close_call:ident $of:ident;)*) => {$(
        unsafe extern "C-unwind" fn $open(path: *const c_char, site: usize) -> Object {
            // SAFETY: passed on.
            let end = within(|| unsafe { behind::$open_call.get()(path) });
            if !end.is_null() {
                // SAFETY: the end was just opened.
                let capacity = unsafe { behind::$capacity.get()(end) };
                tell(act::MADE, $of(end, site), capacity as u64, site);
            }
            end
        }

        unsafe extern "C-unwind" fn $close(end: Object, site: usize) {
            tell(act::CLOSES, $of(end, site), 0, site);
            // SAFETY: passed on.
            within(|| unsafe { behind::$close_call.get()(end) });
        }
    )*};
}

ends! {
    sender_open baton_process_sender_open baton_process_sender_capacity
        sender_close baton_process_sender_close of_sender;
    receiver_open baton_process_receiver_open baton_process_receiver_capacity
        receiver_close baton_process_receiver_close of_receiver;
}
