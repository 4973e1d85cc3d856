//! Waiting for several queues, by a thread or by epoll.

use super::policy::{Adaptive, WaitPolicy};
use super::queue::{Kind, Receiver, Sender, Shared, Watched};
use super::tasks::News;
use crate::queue::watched::Ways;
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Deadline, Machine, Native, Wait, WaitResult};
use core::marker::PhantomData;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// How a thread waits for several queues.
const WAIT: Wait = <Adaptive as WaitPolicy>::WAIT;

/// An end of a queue of kind [`Watched`] for which one can wait together with others.
pub trait Ready: sealed::Sealed {
    /// Whether a call has something to do: there is an item to receive, or room to send, or the queue
    /// is closed. Another thread may be faster than the call.
    fn is_ready(&self) -> bool;

    /// Adds what is told when the end may have become ready.
    #[doc(hidden)]
    fn watch(&self, news: News) -> u64;

    /// Removes it.
    #[doc(hidden)]
    fn unwatch(&self, number: u64);
}

mod sealed {
    pub trait Sealed {}
}

/// One side of a queue.
struct Side<T: Send + 'static, K: Kind, W> {
    shared: Arc<Shared<T, Watched<K>>>,
    way: Ways,
    wait: PhantomData<fn() -> W>,
}

impl<T: Send + 'static, K: Kind, W> sealed::Sealed for Side<T, K, W> {}
impl<T: Send + 'static, K: Kind, W: WaitPolicy> Ready for Side<T, K, W> {
    fn is_ready(&self) -> bool {
        self.shared.channel.is_ready(self.way)
    }

    fn watch(&self, news: News) -> u64 {
        self.shared.channel.watch(self.way, news, W::WAIT)
    }

    fn unwatch(&self, number: u64) {
        self.shared.channel.unwatch(self.way, number, W::WAIT);
    }
}

macro_rules! ends {
    ($($end:ident $way:ident)*) => {$(
        impl<T: Send + 'static, K: Kind, W: WaitPolicy> sealed::Sealed for $end<T, Watched<K>, W> {}
        impl<T: Send + 'static, K: Kind, W: WaitPolicy> Ready for $end<T, Watched<K>, W> {
            fn is_ready(&self) -> bool {
                self.shared.channel.is_ready(Ways::$way)
            }

            fn watch(&self, news: News) -> u64 {
                self.shared.channel.watch(Ways::$way, news, W::WAIT)
            }

            fn unwatch(&self, number: u64) {
                self.shared.channel.unwatch(Ways::$way, number, W::WAIT);
            }
        }

        impl<T: Send + 'static, K: Kind, W: WaitPolicy> $end<T, Watched<K>, W> {
            /// Returns a descriptor that becomes readable when this end may have become ready.
            ///
            /// # Errors
            /// The kernel has no descriptor left.
            pub fn descriptor(&self) -> io::Result<Descriptor> {
                Descriptor::of(Side { shared: self.shared.clone(), way: Ways::$way, wait: PhantomData::<fn() -> W> })
            }
        }
    )*};
}

ends!(Sender Senders Receiver Receivers);

/// A thread that waits for several queues.
#[doc(hidden)]
pub struct Parked(NativeAtomic<u32>);

// Functions of this crate that wait or wake without a type parameter are `inline`: compiled here, their
// wait would be called through a table, by all objects of a program.
impl Parked {
    #[inline]
    pub(super) fn wake(&self) {
        // Release: the thread sees what came before the notification.
        self.0.store(1, Release);
        Native::wake::<u32>(&self.0, 1, WAIT);
    }
}

/// The watches of a thread, which end with it.
struct Watches<'a>(&'a [&'a dyn Ready], Vec<u64>);

impl Drop for Watches<'_> {
    fn drop(&mut self) {
        self.0.iter().zip(&self.1).for_each(|(end, number)| end.unwatch(*number));
    }
}

/// Waits until one of `ends` is ready. Returns its place in `ends`, or `None` if the deadline passed
/// first or there is no end. If several are ready, calls take turns at which of them they look first.
///
/// The call takes nothing from the queues: the caller then tries to receive (or send), and calls again
/// if another thread was faster.
///
/// ```
/// use baton_sync::{OneToOne, Watched, queue_of, wait_any};
///
/// let (mut words, mut texts) = queue_of::<&str, Watched<OneToOne>>(4).unwrap();
/// let (mut digits, mut numbers) = queue_of::<u32, Watched<OneToOne>>(4).unwrap();
/// digits.send(7).unwrap();
/// assert_eq!(wait_any(&[&texts, &numbers], None), Some(1));
/// assert_eq!(numbers.try_receive(), Ok(7));
/// words.send("seven").unwrap();
/// assert_eq!(wait_any(&[&texts, &numbers], None), Some(0));
/// assert_eq!(texts.try_receive(), Ok("seven"));
/// ```
#[inline]
pub fn wait_any(ends: &[&dyn Ready], deadline: Option<Deadline>) -> Option<usize> {
    static TURN: NativeAtomic<usize> = NativeAtomic::new(0);
    if ends.is_empty() {
        return None;
    }
    // Relaxed: the turns need no order.
    let first = TURN.fetch_add(1, Relaxed) % ends.len();
    let ready = || (first..ends.len()).chain(0..first).find(|&at| ends[at].is_ready());
    ready().or_else(|| {
        let parked = Arc::new(Parked(NativeAtomic::new(0)));
        let numbers = ends.iter().map(|end| end.watch(News::Thread(parked.clone()))).collect();
        let _watches = Watches(ends, numbers);
        loop {
            // AcqRel: see what came before a notification that is taken back here.
            parked.0.swap(0, AcqRel);
            if let Some(at) = ready() {
                return Some(at);
            }
            if Native::wait_while(&parked.0, 0, WAIT, deadline) == WaitResult::Expired {
                return ready();
            }
        }
    })
}

/// What a descriptor's queue tells.
#[doc(hidden)]
pub struct Eventfd {
    descriptor: OwnedFd,
    /// 1 if the descriptor was made readable since it was cleared last.
    rung: NativeAtomic<u32>,
}

impl Eventfd {
    fn new() -> io::Result<Eventfd> {
        // SAFETY: the call takes no memory.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was opened just now, and belongs to nothing else.
        Ok(Eventfd { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) }, rung: NativeAtomic::new(0) })
    }

    pub(super) fn ring(&self) {
        // AcqRel: the thread that clears the descriptor sees what came before.
        if self.rung.swap(1, AcqRel) == 0 {
            let one = 1u64.to_ne_bytes();
            // SAFETY: the descriptor is open, and the bytes are a local. It fails only if the descriptor
            // is readable already.
            unsafe { libc::write(self.descriptor.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        }
    }

    fn clear(&self) {
        let mut count = [0; 8];
        // SAFETY: the descriptor is open, and the bytes are a local. It fails only if the descriptor is
        // not readable.
        unsafe { libc::read(self.descriptor.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        // After the read: a notification in between leaves the descriptor as it is, and is seen by the
        // caller, who looks at the queue next. AcqRel: see what came before that notification.
        self.rung.swap(0, AcqRel);
    }
}

/// A descriptor (of an eventfd) for epoll, poll or select, which becomes readable when an end of a queue
/// may have become ready. The queue stays as it is when the descriptor is dropped, and the other way
/// round.
///
/// When the descriptor is readable, call [`Descriptor::clear`], and then use the queue until it has
/// nothing more to do: the descriptor does not become readable for what was there before.
pub struct Descriptor {
    eventfd: Arc<Eventfd>,
    side: Box<dyn Ready + Send + Sync>,
    number: u64,
}

impl Descriptor {
    fn of(side: impl Ready + Send + Sync + 'static) -> io::Result<Descriptor> {
        let eventfd = Arc::new(Eventfd::new()?);
        let number = side.watch(News::Descriptor(eventfd.clone()));
        if side.is_ready() {
            eventfd.ring();
        }
        Ok(Descriptor { eventfd, side: Box::new(side), number })
    }

    /// Makes the descriptor not readable until the next change.
    pub fn clear(&self) {
        self.eventfd.clear();
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.side.unwatch(self.number);
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.descriptor.as_fd()
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.eventfd.descriptor.as_raw_fd()
    }
}

impl core::fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Descriptor").field(&self.as_raw_fd()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::{Park, after};
    use super::super::queue::{ManyToMany, OneToOne, Segmented, queue_of, queue_with};
    use super::*;
    use crate::queue::channel::NotReceived;
    use core::time::Duration;

    const SOON: Duration = Duration::from_millis(1);

    #[test]
    fn a_thread_waits_for_several_queues() {
        const EACH: u32 = 500;
        let (mut to_first, mut first) = queue_with::<u32, Watched<OneToOne>, Park>(2).unwrap();
        let (mut to_second, mut second) = queue_with::<u32, Watched<Segmented>, Park>(2).unwrap();
        assert_eq!(wait_any(&[&first, &second], Some(after(SOON))), None);
        assert_eq!(wait_any(&[], None), None);
        let mut received = [0; 2];
        std::thread::scope(|s| {
            s.spawn(|| (0..EACH).for_each(|n| to_first.send(n).unwrap()));
            s.spawn(|| (0..EACH).for_each(|n| to_second.send(n).unwrap()));
            while received != [EACH; 2] {
                let at = wait_any(&[&first, &second], None).unwrap();
                let found = if at == 0 { first.try_receive() } else { second.try_receive() };
                if let Ok(n) = found {
                    assert_eq!(n, received[at], "the order of one queue");
                    received[at] += 1;
                }
            }
        });
        // A sender is ready if there is room, and both ends are if the queue is closed.
        (0..2).for_each(|n| to_first.try_send(n).unwrap());
        assert_eq!(wait_any(&[&to_first, &second], Some(after(SOON))), None);
        assert_eq!(wait_any(&[&to_first, &to_second], Some(after(SOON))), Some(1));
        second.close();
        assert_eq!(wait_any(&[&to_first, &second], None), Some(1));
        assert_eq!(second.try_receive(), Err(NotReceived::Closed));
    }

    fn is_readable(descriptor: &Descriptor, patience: i32) -> bool {
        let mut polled = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the struct is a local, and its descriptor is open.
        unsafe { libc::poll(&mut polled, 1, patience) == 1 }
    }

    #[test]
    fn a_descriptor_is_readable_when_there_is_news() {
        let (mut sender, mut receiver) = queue_of::<u32, Watched<ManyToMany>>(2).unwrap();
        let (items, room) = (receiver.descriptor().unwrap(), sender.descriptor().unwrap());
        assert!(!is_readable(&items, 0) && is_readable(&room, 0), "an empty queue has room");
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert!(is_readable(&items, 0));
        items.clear();
        room.clear();
        assert!(!is_readable(&items, 0) && !is_readable(&room, 0));
        assert_eq!(receiver.try_receive(), Ok(1));
        assert!(is_readable(&room, 0));
        assert_eq!(receiver.try_receive(), Ok(2));
        drop(room);
        std::thread::scope(|s| {
            s.spawn(|| (0..300).for_each(|n| sender.send(n).unwrap()));
            let mut next = 0;
            while next < 300 {
                assert!(is_readable(&items, 60_000), "the descriptor sleeps while there are items");
                items.clear();
                while let Ok(n) = receiver.try_receive() {
                    assert_eq!(n, next);
                    next += 1;
                }
            }
        });
        drop(sender);
        assert!(is_readable(&items, 0), "a closed queue is news");
        assert_eq!(receiver.descriptor().map(|again| is_readable(&again, 0)).ok(), Some(true));
    }
}
