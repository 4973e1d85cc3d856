//! Queues between processes ([`baton_sync::processes`]).

use crate::{error, text, time::deadline};
use baton_sync::processes::{Kind, OpenError, Receiver, Refused, Sender, create};
use std::ffi::{c_char, c_int, c_void};

/// `struct baton_process_sender` in C.
pub struct BatonProcessSender(Sender);
/// `struct baton_process_receiver` in C.
pub struct BatonProcessReceiver(Receiver);

/// Stores why a file cannot be used. Returns a code of C.
fn unopened(why: &OpenError) -> c_int {
    error::set(why.to_string());
    match why {
        OpenError::Io { error, .. } => error.raw_os_error().unwrap_or(libc::EIO),
        OpenError::Taken { .. } => libc::EBUSY,
        _ => libc::EINVAL,
    }
}

fn code(result: Result<(), Refused>) -> c_int {
    let Err(why) = result else { return 0 };
    let code = match why {
        Refused::Full | Refused::Empty => return libc::EAGAIN,
        Refused::Busy => return libc::EBUSY,
        Refused::Closed => return libc::EPIPE,
        Refused::Expired => return libc::ETIMEDOUT,
        Refused::Size { .. } => libc::EINVAL,
        _ => libc::EBADMSG,
    };
    error::set(why.to_string());
    code
}

/// The kind of a queue by its number in `baton.h`, or why there is none.
pub(crate) fn kind(number: c_int) -> Result<Kind, String> {
    match number {
        0 => Ok(Kind::OneToOne),
        1 => Ok(Kind::ManyToMany),
        other => Err(format!("unknown kind {other}; expected BATON_ONE_TO_ONE (0) or BATON_MANY_TO_MANY (1)")),
    }
}

const NO_PATH: &str = "expected the path of a queue's file as UTF-8, got NULL or other bytes";

/// Creates the file of an empty queue. Returns 0 or a code of `errno.h`, and sets the error.
///
/// # Safety
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_process_queue_create(
    path: *const c_char,
    kind: c_int,
    capacity: usize,
    item_size: usize,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let Some(path) = (unsafe { text(path) }) else {
        error::set(NO_PATH);
        return libc::EINVAL;
    };
    match self::kind(kind) {
        Ok(kind) => create(path, kind, capacity, item_size).err().map_or(0, |why| unopened(&why)),
        Err(why) => {
            error::set(why);
            libc::EINVAL
        }
    }
}

macro_rules! ends {
    ($($end:ident($is:ident) $open:ident $free:ident $close:ident $item_size:ident $capacity:ident $id:ident;)*) => {$(
        /// Opens one end of a queue, or returns null and sets the error.
        ///
        /// # Safety
        /// `path` is null or a string.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $open(path: *const c_char) -> *mut $end {
            // SAFETY: guaranteed by the caller.
            let Some(path) = (unsafe { text(path) }) else {
                error::set(NO_PATH);
                return core::ptr::null_mut();
            };
            match $is::open(path) {
                Ok(end) => Box::into_raw(Box::new($end(end))),
                Err(why) => {
                    unopened(&why);
                    core::ptr::null_mut()
                }
            }
        }

        /// Gives an end back.
        ///
        /// # Safety
        /// The end is null or open, and no thread uses it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $free(end: *mut $end) {
            if !end.is_null() {
                // SAFETY: guaranteed by the caller.
                drop(unsafe { Box::from_raw(end) });
            }
        }

        /// Closes the queue for all processes.
        ///
        /// # Safety
        /// The end is open.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $close(end: *const $end) {
            // SAFETY: guaranteed by the caller.
            unsafe { &*end }.0.close();
        }

        /// Returns the bytes of an item.
        ///
        /// # Safety
        /// The end is open.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $item_size(end: *const $end) -> usize {
            // SAFETY: guaranteed by the caller.
            unsafe { &*end }.0.item_bytes()
        }

        /// Returns how many items the queue holds.
        ///
        /// # Safety
        /// The end is open.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $capacity(end: *const $end) -> usize {
            // SAFETY: guaranteed by the caller.
            unsafe { &*end }.0.capacity()
        }

        /// Returns the number of the queue's file, which all processes have for it.
        ///
        /// # Safety
        /// The end is open.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $id(end: *const $end) -> u64 {
            // SAFETY: guaranteed by the caller.
            unsafe { &*end }.0.id()
        }
    )*};
}

ends! {
    BatonProcessSender(Sender) baton_process_sender_open baton_process_sender_free baton_process_sender_close
        baton_process_sender_item_size baton_process_sender_capacity baton_process_sender_id;
    BatonProcessReceiver(Receiver) baton_process_receiver_open baton_process_receiver_free
        baton_process_receiver_close baton_process_receiver_item_size baton_process_receiver_capacity
        baton_process_receiver_id;
}

/// The bytes of an item, which may be none.
///
/// # Safety
/// There are `size` bytes at `item`.
unsafe fn bytes<'a>(item: *const c_void, size: usize) -> &'a [u8] {
    // SAFETY: guaranteed by the caller. A null pointer has no bytes.
    if item.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(item.cast(), size) } }
}

/// # Safety
/// As [`bytes`], and the bytes may be written.
unsafe fn bytes_mut<'a>(item: *mut c_void, size: usize) -> &'a mut [u8] {
    // SAFETY: guaranteed by the caller. A null pointer has no bytes.
    if item.is_null() { &mut [] } else { unsafe { core::slice::from_raw_parts_mut(item.cast(), size) } }
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($end:ident: $type:ty, $item:ident: $is:ty, $size:ident
        $(, $argument:ident: $has:ty)*) $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The end is open and no other thread uses it; there are `size` bytes at the item.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($end: *mut $type, $item: $is, $size: usize $(, $argument: $has)*) -> c_int {
            // SAFETY: guaranteed by the caller, here and in the body.
            unsafe {
                let $end = &mut (*$end).0;
                $body
            }
        }
    )*};
}

calls! {
    /// Copies an item in, waiting while there is no room. Returns 0, `EPIPE`, `EBADMSG` or `EINVAL`.
    baton_process_send(sender: BatonProcessSender, item: *const c_void, size) {
        code(sender.send(bytes(item, size), None))
    }
    /// Copies an item in if there is room. Returns 0, `EAGAIN`, `EBUSY`, `EPIPE`, `EBADMSG` or `EINVAL`.
    baton_process_trysend(sender: BatonProcessSender, item: *const c_void, size) {
        code(sender.try_send(bytes(item, size)))
    }
    /// Copies an item in, or gives up at a time. Returns 0, `ETIMEDOUT`, `EPIPE`, `EBADMSG` or `EINVAL`.
    baton_process_timedsend(sender: BatonProcessSender, item: *const c_void, size, clock: libc::clockid_t, at: *const libc::timespec) {
        let Some(at) = deadline(clock, at) else { return libc::EINVAL };
        code(sender.send(bytes(item, size), Some(at)))
    }
    /// Copies the oldest item out, waiting while there is none. Returns 0, `EPIPE`, `EBADMSG` or `EINVAL`.
    baton_process_receive(receiver: BatonProcessReceiver, item: *mut c_void, size) {
        code(receiver.receive(bytes_mut(item, size), None))
    }
    /// Copies the oldest item out if there is one. Returns 0, `EAGAIN`, `EBUSY`, `EPIPE`, `EBADMSG` or
    /// `EINVAL`.
    baton_process_tryreceive(receiver: BatonProcessReceiver, item: *mut c_void, size) {
        code(receiver.try_receive(bytes_mut(item, size)))
    }
    /// Copies the oldest item out, or gives up at a time. Returns 0, `ETIMEDOUT`, `EPIPE`, `EBADMSG` or
    /// `EINVAL`.
    baton_process_timedreceive(receiver: BatonProcessReceiver, item: *mut c_void, size, clock: libc::clockid_t, at: *const libc::timespec) {
        let Some(at) = deadline(clock, at) else { return libc::EINVAL };
        code(receiver.receive(bytes_mut(item, size), Some(at)))
    }
}
