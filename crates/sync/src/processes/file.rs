//! The file of a queue: how it is laid out, created and checked.

use super::lock::{Claim, Event, Lock};
use super::os::{Cells, Mapping};
use super::{Kind, OpenError};
use baton_machine::Atomic;
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::native::cell::NativeAtomic;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The first word of each queue's file: its bytes are the text "Baton Qu".
const MAGIC: u64 = u64::from_le_bytes(*b"Baton Qu");
/// The layout that this code knows.
const VERSION: u32 = 1;
/// The most items of a queue, and the most bytes of an item.
const MOST: u64 = 1 << 30;
/// Where the items begin.
const ITEMS: usize = size_of::<Head>();

/// What the senders or the receivers share.
#[repr(C, align(128))]
pub(super) struct Side {
    /// Number of items that this side has sent or received.
    pub(super) count: NativeAtomic<u64>,
    /// Serves the threads of this side, if it may have several.
    pub(super) lock: Lock,
    /// This side's threads wait here for the other side.
    pub(super) event: Event,
}

/// The beginning of the file.
#[repr(C, align(128))]
pub(super) struct Head {
    magic: NativeAtomic<u64>,
    version: NativeAtomic<u32>,
    kind: NativeAtomic<u32>,
    capacity: NativeAtomic<u64>,
    item_bytes: NativeAtomic<u64>,
    /// 1 when the queue is closed.
    pub(super) closed: NativeAtomic<u32>,
    pub(super) senders: Side,
    pub(super) receivers: Side,
}

// SAFETY: the struct has atomic cells, and padding that no code reads.
unsafe impl Cells for Head {}

/// What the queue is, as it was found when the file was opened. Later changes of the file are not
/// believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    pub(super) capacity: u64,
    pub(super) item_bytes: usize,
}

impl Shape {
    fn new(kind: Kind, capacity: u64, item_bytes: u64) -> Result<Shape, String> {
        if !(1..=MOST).contains(&capacity) {
            return Err(format!("its capacity is {capacity}, not 1 to 2^30 items"));
        }
        if !(1..=MOST).contains(&item_bytes) {
            return Err(format!("its items have {item_bytes} bytes, not 1 to 2^30"));
        }
        Ok(Shape { kind, capacity, item_bytes: item_bytes as usize })
    }

    /// Number of words that an item takes.
    fn words(self) -> usize {
        self.item_bytes.div_ceil(8)
    }

    /// Size of the file.
    fn bytes(self) -> Result<usize, String> {
        let items = (self.words() * 8).checked_mul(self.capacity as usize);
        let bytes = items.and_then(|items| items.checked_add(ITEMS)).filter(|bytes| isize::try_from(*bytes).is_ok());
        bytes.ok_or_else(|| "it is larger than the address space".to_owned())
    }
}

/// A queue's file, open and in memory.
pub(super) struct Opened {
    pub(super) file: File,
    /// A number that all processes have for the file: made of its device and its number there.
    pub(super) id: u64,
    pub(super) shape: Shape,
    memory: Mapping,
}

impl Opened {
    pub(super) fn head(&self) -> &Head {
        self.memory.at(0)
    }

    /// The words of item `number`.
    pub(super) fn item(&self, number: u64) -> &[NativeAtomic<u64>] {
        let words = self.shape.words();
        self.memory.words(ITEMS + (number % self.shape.capacity) as usize * words * 8, words)
    }

    /// Creates the file of an empty queue. It has its name only when it is complete.
    pub(super) fn create(path: &Path, kind: Kind, capacity: usize, item_bytes: usize) -> Result<(), OpenError> {
        let unfit = |why| OpenError::Unfit { path: path.to_owned(), why };
        let shape = Shape::new(kind, capacity as u64, item_bytes as u64).map_err(unfit)?;
        let bytes = shape.bytes().map_err(unfit)?;
        let failed = |error| OpenError::Io { path: path.to_owned(), error };
        let (temporary, file) = Temporary::beside(path).map_err(failed)?;
        super::os::reserve(&file, bytes).map_err(failed)?;
        let memory = Mapping::new(&file, bytes).map_err(failed)?;
        let head: &Head = memory.at(0);
        // Relaxed but for the last one, which comes after the others for a process that reads it.
        head.version.store(VERSION, Relaxed);
        head.kind.store(kind as u32, Relaxed);
        head.capacity.store(shape.capacity, Relaxed);
        head.item_bytes.store(shape.item_bytes as u64, Relaxed);
        head.magic.store(MAGIC, Release);
        std::fs::hard_link(&temporary.0, path).map_err(failed)
    }

    /// Opens the file of a queue and checks what it says.
    pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
        let failed = |error| OpenError::Io { path: path.to_owned(), error };
        let unfit = |why: String| OpenError::Unfit { path: path.to_owned(), why };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(unfit("it is no regular file".to_owned()));
        }
        let bytes =
            usize::try_from(found.len()).map_err(|_| unfit("it is larger than the address space".to_owned()))?;
        if bytes < ITEMS {
            return Err(unfit(format!("it has {bytes} bytes, a queue has at least {ITEMS}")));
        }
        let memory = Mapping::new(&file, bytes).map_err(failed)?;
        let shape = Self::check(memory.at(0), bytes).map_err(unfit)?;
        Ok(Opened { id: mixed([found.dev(), found.ino()]), file, shape, memory })
    }

    fn check(head: &Head, bytes: usize) -> Result<Shape, String> {
        // Acquire: the rest was written before.
        if head.magic.load(Acquire) != MAGIC {
            return Err("it is no queue".to_owned());
        }
        let version = head.version.load(Relaxed);
        if version != VERSION {
            return Err(format!("it is a queue of version {version}, and this program knows version {VERSION}"));
        }
        let kind = match head.kind.load(Relaxed) {
            0 => Kind::OneToOne,
            1 => Kind::ManyToMany,
            other => return Err(format!("its kind is {other}, not 0 or 1")),
        };
        let shape = Shape::new(kind, head.capacity.load(Relaxed), head.item_bytes.load(Relaxed))?;
        let wanted = shape.bytes()?;
        if wanted != bytes {
            return Err(format!("it has {bytes} bytes, and a queue of its capacity has {wanted}"));
        }
        Ok(shape)
    }

    /// Claims a place at one side of the queue.
    pub(super) fn claim(&self, path: &Path, alone: Claim) -> Result<Claim, OpenError> {
        let failed = |error| OpenError::Io { path: path.to_owned(), error };
        match self.shape.kind {
            Kind::OneToOne if alone.make(&self.file).map_err(failed)? => Ok(alone),
            Kind::OneToOne => Err(OpenError::Taken { path: path.to_owned() }),
            Kind::ManyToMany => {
                let seat = Claim::seat(&self.file).map_err(failed)?;
                if let Some(Claim::Seat(number)) = seat {
                    let head = self.head();
                    head.senders.lock.release(number);
                    head.receivers.lock.release(number);
                }
                seat.ok_or_else(|| OpenError::Taken { path: path.to_owned() })
            }
        }
    }
}

/// Mixes numbers into one of 43 bits, so that different ones hardly ever give the same.
fn mixed(numbers: [u64; 2]) -> u64 {
    let step = |sum: u64, number: u64| (sum.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    numbers.into_iter().fold(0x2545_f491_4f6c_dd1d, step) >> 21
}

/// A file that is removed when this value is dropped.
struct Temporary(PathBuf);

impl Temporary {
    /// Creates an empty file in the folder of `path`, under a name that no other file has: a process
    /// that was killed in here may have left one.
    fn beside(path: &Path) -> std::io::Result<(Temporary, File)> {
        static NUMBER: NativeAtomic<u32> = NativeAtomic::new(0);
        loop {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}.{}.new", std::process::id(), NUMBER.fetch_add(1, Relaxed)));
            let name = path.with_file_name(name);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&name) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                opened => return opened.map(|file| (Temporary(name), file)),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
