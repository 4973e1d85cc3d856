//! Queues between processes, in a file that all of them map: `/dev/shm` is the usual folder.
//!
//! A process may be killed at any instruction. The others go on within 100 ms, and at most the
//! operation of the killed process is lost: an item that it was sending is sent or not, one that it
//! was receiving is received or still in the queue.
//!
//! ```
//! use baton_sync::processes::{Kind, Receiver, Sender, create};
//!
//! # let folder = std::env::temp_dir().join(format!("baton-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let path = folder.join("jobs");
//! create(&path, Kind::OneToOne, 1000, 8).unwrap();
//! let mut jobs = Sender::open(&path).unwrap(); // in one process
//! let mut work = Receiver::open(&path).unwrap(); // in another one
//! jobs.send(&7u64.to_ne_bytes(), None).unwrap();
//! let mut item = [0; 8];
//! work.receive(&mut item, None).unwrap();
//! assert_eq!(u64::from_ne_bytes(item), 7);
//! # std::fs::remove_dir_all(folder).unwrap();
//! ```
//!
//! A send writes the item, and then adds one to the number of items sent; a receive copies the item,
//! and then adds one to the number of items received. So an operation has happened, or it has not,
//! wherever its process is killed. A queue of kind [`Kind::ManyToMany`] has a lock on each side, which
//! outlives its holder ([`lock`]); a thread that is stopped while it holds the lock, and lives, delays
//! the others of its side. A sleeper looks again every 50 ms, since the process that was to wake it
//! may have been killed. Each of these times is one after which a thread looks; it then needs a CPU.
//!
//! A killed process counts as alive while the kernel still has its files: while its memory is written
//! to a core file or freed, and while a child of it lives that has not called `exec`. Its lock is
//! taken over after that. No call tells whether a queue has senders or receivers: a receiver
//! without senders waits until its deadline.
//!
//! What is in the file is checked when it is opened. What is changed there later by a program that
//! does not keep to the rules makes calls fail, wait or change items, and nothing worse; but a file
//! that is made shorter ends the programs that map it (SIGBUS).
//!
//! A child that a process forks must neither use nor drop the ends that its parent has opened: they
//! are not mapped in the child. It opens its own. Until the child ends or calls `exec`, the parent's
//! places stay taken, even if the parent is killed.
//!
//! The protocol needs the kernel's locks of bytes and shared sleep, so it is not written over
//! [`Machine`](baton_machine::Machine). A test kills processes at random moments instead:
//! `scripts/check/queue-kills`.

mod file;
mod lock;
mod os;
mod told;

use crate::recorder::Act;
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Deadline};
use file::{Opened, Side};
use lock::{Claim, Event};
use std::path::{Path, PathBuf};

/// How many processes may use each side of a queue at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// One sender and one receiver. When one ends, another may take its place.
    OneToOne = 0,
    /// Up to 4,096 senders and receivers.
    ManyToMany = 1,
}

/// Why a queue was not created or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system refused something.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file is not the file of a queue that this program can use.
    #[error("{}: {why}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong, as a sentence without a full stop.
        why: String,
    },
    /// There are as many senders or receivers as the queue can have.
    #[error("{}: another sender or receiver has the place: 1 a side of a queue from one to one, 4,096 of one from many to many", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
}

/// Why an item was not sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no room.
    #[error("the queue is full")]
    Full,
    /// There is no item.
    #[error("the queue is empty")]
    Empty,
    /// The queue is closed, and for a receiver it is empty too.
    #[error("the queue is closed")]
    Closed,
    /// The deadline has passed.
    #[error("the deadline has passed")]
    Expired,
    /// Another thread of the same side is in the middle of a call, or was stopped there.
    #[error("another process uses this side of the queue")]
    Busy,
    /// The slice has another length than the items of the queue.
    #[error("the slice has {slice} bytes, and an item of the queue has {item}")]
    Size {
        /// Bytes of the slice.
        slice: usize,
        /// Bytes of an item.
        item: usize,
    },
    /// The counts in the file contradict each other: another program has written there.
    #[error("the queue's file is damaged")]
    Damaged,
}

/// Creates the file of an empty queue of `capacity` items, 1 to 2^30, with `item_bytes` bytes each.
///
/// # Errors
/// The file exists, it cannot be written, or the numbers are not in range.
pub fn create(path: impl AsRef<Path>, kind: Kind, capacity: usize, item_bytes: usize) -> Result<(), OpenError> {
    Opened::create(path.as_ref(), kind, capacity, item_bytes)
}

/// How long a call waits for the other threads of its side.
#[derive(Clone, Copy)]
enum Patience {
    /// For some tries.
    None,
    /// Until the deadline.
    Until(Option<Deadline>),
}

/// One end of a queue.
struct End {
    opened: Opened,
    claim: Claim,
}

impl End {
    fn open(path: &Path, alone: Claim) -> Result<End, OpenError> {
        let opened = Opened::open(path)?;
        let claim = opened.claim(path, alone)?;
        let end = End { opened, claim };
        end.tell(Act::Made, end.opened.shape.capacity);
        Ok(end)
    }

    /// Tells the profiler what happens.
    #[inline(always)]
    fn tell(&self, act: Act, number: u64) {
        told::between(act, self.opened.id, number);
    }

    /// Calls `again` until it returns something, and sleeps at `event` in between, which is told as `act`.
    fn wait(
        &self,
        event: &Event,
        act: Act,
        deadline: Option<Deadline>,
        mut again: impl FnMut() -> Option<Result<(), Refused>>,
    ) -> Result<(), Refused> {
        if let Some(done) = again() {
            return done;
        }
        self.tell(act, 0);
        let done = event.until(deadline, again);
        self.tell(Act::GoesOn, 0);
        done.unwrap_or(Err(Refused::Expired))
    }

    /// Calls `operation` as the only thread of `side`. Returns `Busy` or `Expired` if `patience` ends
    /// first.
    fn alone<R>(
        &self,
        side: &Side,
        patience: Patience,
        operation: impl FnOnce() -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let Claim::Seat(seat) = self.claim else { return operation() };
        let file = &self.opened.file;
        match patience {
            Patience::None if !side.lock.try_lock(file, seat) => return Err(Refused::Busy),
            Patience::Until(deadline) if !side.lock.lock(file, seat, deadline) => return Err(Refused::Expired),
            _ => {}
        }
        let done = operation();
        side.lock.release(seat);
        done
    }

    /// Items sent and received, of which the calling thread may change one.
    fn counts(&self) -> Result<(u64, u64), Refused> {
        let head = self.opened.head();
        // Acquire for both: items that were sent are seen, and places of items that were received are
        // no longer read. The count of the own side is exact. The other one was true a moment ago,
        // and only moves in the direction that makes the difference smaller for a sender, and larger
        // for a receiver.
        let received = head.receivers.count.load(Acquire);
        let sent = head.senders.count.load(Acquire);
        if sent.wrapping_sub(received) > self.opened.shape.capacity {
            Err(Refused::Damaged)
        } else {
            Ok((sent, received))
        }
    }

    fn check(&self, slice: usize) -> Result<(), Refused> {
        let item = self.opened.shape.item_bytes;
        if slice == item { Ok(()) } else { Err(Refused::Size { slice, item }) }
    }

    fn is_closed(&self) -> bool {
        // Acquire: items that were sent before are seen.
        self.opened.head().closed.load(Acquire) != 0
    }

    fn close(&self) {
        self.tell(Act::Closes, 0);
        let head = self.opened.head();
        // Release: pairs with the load in `is_closed`.
        head.closed.store(1, Release);
        head.senders.event.notify();
        head.receivers.event.notify();
    }
}

/// Copies bytes into words of the file.
fn write(words: &[NativeAtomic<u64>], item: &[u8]) {
    for (word, bytes) in words.iter().zip(item.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        // Relaxed: the count of items sent publishes them.
        word.store(u64::from_ne_bytes(padded), Relaxed);
    }
}

/// Copies words of the file into bytes.
fn read(words: &[NativeAtomic<u64>], item: &mut [u8]) {
    for (word, bytes) in words.iter().zip(item.chunks_mut(8)) {
        // Relaxed: the count of items sent was read before.
        bytes.copy_from_slice(&word.load(Relaxed).to_ne_bytes()[..bytes.len()]);
    }
}

/// The sending end of a queue between processes.
pub struct Sender(End);

impl Sender {
    /// Opens the queue for sending.
    ///
    /// # Errors
    /// The file cannot be used, or the queue has as many senders as it can have.
    pub fn open(path: impl AsRef<Path>) -> Result<Sender, OpenError> {
        End::open(path.as_ref(), Claim::Sender).map(Sender)
    }

    fn send_with(&self, item: &[u8], patience: Patience) -> Result<(), Refused> {
        let end = &self.0;
        end.check(item.len())?;
        let head = end.opened.head();
        end.alone(&head.senders, patience, || {
            if end.is_closed() {
                return Err(Refused::Closed);
            }
            let (sent, received) = end.counts()?;
            if sent.wrapping_sub(received) == end.opened.shape.capacity {
                return Err(Refused::Full);
            }
            write(end.opened.item(sent), item);
            // Release: a receiver that sees the count sees the item.
            head.senders.count.store(sent.wrapping_add(1), Release);
            Ok(())
        })?;
        end.tell(Act::Put, 1);
        head.receivers.event.notify();
        Ok(())
    }

    /// Sends an item if there is room. The call does not wait: if another sender is in the middle of a
    /// call, it tries some times, and asks the kernel once whether that sender lives.
    ///
    /// # Errors
    /// The queue is full, busy, closed or damaged, or its items have another size.
    pub fn try_send(&mut self, item: &[u8]) -> Result<(), Refused> {
        self.send_with(item, Patience::None)
    }

    /// Sends an item, waiting while there is no room, until the deadline at the latest.
    ///
    /// # Errors
    /// The queue is closed or damaged, its items have another size, or the deadline has passed.
    pub fn send(&mut self, item: &[u8], deadline: Option<Deadline>) -> Result<(), Refused> {
        let again = || match self.send_with(item, Patience::Until(deadline)) {
            Err(Refused::Full) => None,
            done => Some(done),
        };
        self.0.wait(&self.0.opened.head().senders.event, Act::Full, deadline, again)
    }

    /// Closes the queue: no send that begins later takes an item in, and waiting threads return. A
    /// send that is under way may still put its item in, and a receiver that has seen the queue closed
    /// may have left by then.
    pub fn close(&self) {
        self.0.close();
    }
}

/// The receiving end of a queue between processes.
pub struct Receiver(End);

impl Receiver {
    /// Opens the queue for receiving.
    ///
    /// # Errors
    /// The file cannot be used, or the queue has as many receivers as it can have.
    pub fn open(path: impl AsRef<Path>) -> Result<Receiver, OpenError> {
        End::open(path.as_ref(), Claim::Receiver).map(Receiver)
    }

    fn receive_with(&self, item: &mut [u8], patience: Patience) -> Result<(), Refused> {
        let end = &self.0;
        end.check(item.len())?;
        let head = end.opened.head();
        end.alone(&head.receivers, patience, || {
            // Read first: items that were sent before the queue was closed are then found.
            let closed = end.is_closed();
            let (sent, received) = end.counts()?;
            if sent == received {
                return Err(if closed { Refused::Closed } else { Refused::Empty });
            }
            read(end.opened.item(received), item);
            // Release: a sender that sees the count writes the place after it was read.
            head.receivers.count.store(received.wrapping_add(1), Release);
            Ok(())
        })?;
        end.tell(Act::Taken, 1);
        head.senders.event.notify();
        Ok(())
    }

    /// Receives an item into `item` if there is one. The call does not wait, as
    /// [`Sender::try_send`] does not.
    ///
    /// # Errors
    /// The queue is empty, busy, closed and empty, or damaged, or its items have another size.
    pub fn try_receive(&mut self, item: &mut [u8]) -> Result<(), Refused> {
        self.receive_with(item, Patience::None)
    }

    /// Receives an item into `item`, waiting while there is none, until the deadline at the latest.
    ///
    /// # Errors
    /// The queue is closed and empty, or damaged, its items have another size, or the deadline has
    /// passed.
    pub fn receive(&mut self, item: &mut [u8], deadline: Option<Deadline>) -> Result<(), Refused> {
        let again = || match self.receive_with(item, Patience::Until(deadline)) {
            Err(Refused::Empty) => None,
            done => Some(done),
        };
        self.0.wait(&self.0.opened.head().receivers.event, Act::Empty, deadline, again)
    }

    /// Closes the queue: no send that begins later takes an item in, and waiting threads return. Items
    /// that are in the queue can still be received.
    pub fn close(&self) {
        self.0.close();
    }
}

macro_rules! queries {
    ($($end:ident)*) => {$(
        impl $end {
            /// Number of items that the queue can hold.
            pub fn capacity(&self) -> usize {
                self.0.opened.shape.capacity as usize
            }

            /// Number of bytes of an item.
            pub fn item_bytes(&self) -> usize {
                self.0.opened.shape.item_bytes
            }

            /// How many senders and receivers the queue can have.
            pub fn kind(&self) -> Kind {
                self.0.opened.shape.kind
            }

            /// A number of the queue's file, the same in all processes that have opened it.
            pub fn id(&self) -> u64 {
                self.0.opened.id
            }

            /// Whether the queue is closed.
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }
        }

        impl core::fmt::Debug for $end {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($end)).field("shape", &self.0.opened.shape).finish_non_exhaustive()
            }
        }
    )*};
}

queries!(Sender Receiver);
