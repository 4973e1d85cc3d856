//! Which files are sockets or pipes, or have no name (an eventfd, a timer): a read or write of such a
//! file may be a wait for another thread or process, or end another's wait. Where it is known which stream
//! ([`Stream`]) the file is an end of, both ends get the same address:
//!
//! | file | number of the stream |
//! | --- | --- |
//! | pipe | the file's number in its file system, and that of the file system |
//! | pair of sockets | the number of the socket that receives; `socketpair` tells which two belong together |
//! | Unix socket with a name | the number of the socket of the side that connected (`unix_peers`) |
//! | TCP connection | made of the addresses and ports of both sides, in the order of the direction |
//! | eventfd | the process that made it, and a count |
//!
//! The kernel is asked once for each file number, and again after a `close`, and after a call that made the
//! file. A number that comes to stand for another file in another way (a close inside the C library, and then
//! a file of another sort) keeps its old answer.

use super::unix_peers;
use crate::base::errno;
use baton_trace::{Address, Stream};
use core::ffi::c_int;
use core::mem::{MaybeUninit, size_of};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// File numbers whose kind is remembered; the kernel is asked each time about higher ones.
const FILES: usize = 1 << 14;
const UNKNOWN: u8 = 0;

/// The sorts of files, as far as they matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Sort {
    /// A socket or a pipe.
    Stream = 1,
    /// A file that the kernel made without a name: an eventfd, a timer, a signal's file.
    Nameless,
    /// Any other file.
    Other,
}

/// The direction in which a call moves bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Into the file.
    In,
    /// Out of the file.
    Out,
}

static KNOWN: [AtomicU8; FILES] = [const { AtomicU8::new(UNKNOWN) }; FILES];
/// The two streams of each file whose sort is in [`KNOWN`]. A write moves bytes into the first one, and a read moves
/// bytes out of the second one. 0 stands for a stream that is not known.
static ENDS: [[AtomicU64; 2]; FILES] = [const { [const { AtomicU64::new(0) }; 2] }; FILES];

fn at(file: c_int) -> Option<usize> {
    usize::try_from(file).ok().filter(|file| *file < FILES)
}

/// Returns the sort of a file.
#[inline]
pub fn sort(file: c_int) -> Sort {
    match at(file).map_or(UNKNOWN, |file| KNOWN[file].load(Acquire)) {
        known if known == Sort::Stream as u8 => Sort::Stream,
        known if known == Sort::Nameless as u8 => Sort::Nameless,
        known if known == Sort::Other as u8 => Sort::Other,
        _ => ask(file),
    }
}

/// Returns the stream into which a write to the file moves bytes, or out of which a read does; `None` if the
/// file is no end of a stream whose other end could be known.
#[inline]
pub fn stream(file: c_int, way: Way) -> Option<Address> {
    match sort(file) {
        Sort::Other => None,
        Sort::Stream | Sort::Nameless => known(file, way),
    }
}

/// Like [`stream`], without a question to the kernel: `None` too if the file has not been used before.
#[inline]
pub fn known(file: c_int, way: Way) -> Option<Address> {
    Some(ENDS[at(file)?][way as usize].load(Relaxed)).filter(|address| *address != 0)
}

/// Asks the kernel about a file, and remembers the answer.
#[cold]
fn ask(file: c_int) -> Sort {
    errno::kept(|| {
        let (sort, ends) = match stat(file) {
            Some(about) => match about.st_mode & libc::S_IFMT {
                libc::S_IFIFO => (Sort::Stream, pipe(file, &about)),
                libc::S_IFSOCK => (Sort::Stream, socket(file, about.st_ino)),
                0 => (Sort::Nameless, [0; 2]),
                _ => (Sort::Other, [0; 2]),
            },
            None => (Sort::Other, [0; 2]),
        };
        remember(file, sort as u8, ends);
        sort
    })
}

fn stat(file: c_int) -> Option<libc::stat> {
    let mut about = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel fills the structure, or fails.
    let failed = unsafe { libc::fstat(file, about.as_mut_ptr()) } != 0;
    // SAFETY: the structure was zeroed, and all zeros are a valid value of it.
    (!failed).then(|| unsafe { about.assume_init() })
}

/// The streams of a pipe's end: only the side for which the file is open.
fn pipe(file: c_int, about: &libc::stat) -> [u64; 2] {
    let address = Stream::Pipe.address(mixed(&[about.st_dev, about.st_ino]));
    // SAFETY: the call takes a number and no pointers.
    match unsafe { libc::fcntl(file, libc::F_GETFL) } & libc::O_ACCMODE {
        libc::O_WRONLY => [address, 0],
        libc::O_RDONLY => [0, address],
        _ => [address; 2],
    }
}

fn socket(file: c_int, number: u64) -> [u64; 2] {
    match partner(number) {
        Some(partner) => [Stream::Socket.address(partner), Stream::Socket.address(number)],
        None => connection(file).or_else(|| unix(file, number)).unwrap_or([0; 2]),
    }
}

fn unix(file: c_int, number: u64) -> Option<[u64; 2]> {
    is_stream(file).then(|| unix_peers::ends(file, number))?
}

/// Mixes numbers into one, so that different ones hardly ever give the same.
pub(super) fn mixed(numbers: &[u64]) -> u64 {
    let step = |sum: u64, number: &u64| (sum.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    numbers.iter().fold(0x2545_f491_4f6c_dd1d, step) >> 16
}

/// The two directions of a TCP connection.
fn connection(file: c_int) -> Option<[u64; 2]> {
    let (mine, other) = (side(file, libc::getsockname)?, side(file, libc::getpeername)?);
    let to = |from: &[u64; 3], to: &[u64; 3]| {
        Stream::Connection.address(mixed(&[from[0], from[1], from[2], to[0], to[1], to[2]]))
    };
    is_stream(file).then(|| [to(&mine, &other), to(&other, &mine)])
}

fn is_stream(file: c_int) -> bool {
    let (mut sort, mut length) = (0 as c_int, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes to the number.
    let failed =
        unsafe { libc::getsockopt(file, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut sort).cast(), &raw mut length) };
    failed == 0 && sort == libc::SOCK_STREAM
}

/// A function of the C library that tells the name of one side of a connection.
pub(super) type Side = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;

/// The name of one side of a connection, and its length; `None` if there is no such side.
pub(super) fn name(file: c_int, ask: Side) -> Option<(libc::sockaddr_storage, usize)> {
    let mut name = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the structure.
    let failed = unsafe { ask(file, name.as_mut_ptr().cast(), &raw mut length) } != 0;
    // SAFETY: the structure was zeroed, and all zeros are a valid value of it.
    (!failed).then(|| (unsafe { name.assume_init() }, length as usize))
}

/// The address and port of one side of a connection; the address as one of IPv6.
fn side(file: c_int, ask: Side) -> Option<[u64; 3]> {
    let (name, _) = name(file, ask)?;
    match c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the structure begins with this one, which any bytes are valid for.
            let v4 = unsafe { &*(&raw const name).cast::<libc::sockaddr_in>() };
            let mapped = u64::from_ne_bytes([0, 0, 0xff, 0xff, 0, 0, 0, 0]);
            Some([0, mapped | u64::from(v4.sin_addr.s_addr) << 32, u64::from(v4.sin_port)])
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*(&raw const name).cast::<libc::sockaddr_in6>() };
            let [high, low] = [0, 8].map(|at| {
                let bytes = &v6.sin6_addr.s6_addr[at..at + 8];
                bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
            });
            Some([high, low, u64::from(v6.sin6_port)])
        }
        _ => None,
    }
}

fn remember(file: c_int, sort: u8, ends: [u64; 2]) {
    let Some(file) = at(file) else { return };
    for (way, end) in ENDS[file].iter().zip(ends) {
        way.store(end, Relaxed);
    }
    KNOWN[file].store(sort, Release);
}

/// Forgets what this file number stands for: it is about to be closed, or has just come to stand for another
/// file.
pub fn forget(file: c_int) {
    remember(file, UNKNOWN, [0; 2]);
}

/// The file number `new` has come to stand for the same file as `old`.
pub fn copied(old: c_int, new: c_int) {
    match at(old) {
        Some(from) => {
            let ends = [0, 1].map(|way| ENDS[from][way].load(Relaxed));
            remember(new, KNOWN[from].load(Acquire), ends);
        }
        None => forget(new),
    }
}

/// Pairs of sockets that are remembered; the oldest are forgotten.
const PAIRS: usize = 1 << 10;
static PAIR: [[AtomicU64; 2]; PAIRS] = [const { [const { AtomicU64::new(0) }; 2] }; PAIRS];
static PAIRED: AtomicU32 = AtomicU32::new(0);

/// The socket that belongs to the one with this number in the kernel's file system.
fn partner(number: u64) -> Option<u64> {
    PAIR.iter().find_map(|pair| {
        let [one, other] = [0, 1].map(|at| pair[at].load(Relaxed));
        match number {
            _ if one == 0 || other == 0 => None,
            number if number == one => Some(other),
            number if number == other => Some(one),
            _ => None,
        }
    })
}

/// These two files are a new pair of sockets.
pub fn paired(files: [c_int; 2]) {
    files.into_iter().for_each(forget);
    let [Some(one), Some(other)] = files.map(stat) else { return };
    let pair = &PAIR[PAIRED.fetch_add(1, Relaxed) as usize % PAIRS];
    pair[0].store(one.st_ino, Relaxed);
    pair[1].store(other.st_ino, Relaxed);
}

static COUNTERS: AtomicU32 = AtomicU32::new(0);

/// The file is a new eventfd.
pub fn counts(file: c_int) {
    // SAFETY: `getpid` takes no argument and cannot fail.
    let process = unsafe { libc::getpid() } as u64;
    let count = u64::from(COUNTERS.fetch_add(1, Relaxed));
    let address = Stream::Eventfd.address(process << 22 | count & 0x3f_ffff);
    remember(file, Sort::Nameless as u8, [address; 2]);
}
