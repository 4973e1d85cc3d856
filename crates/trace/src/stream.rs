//! Streams between threads or processes: pipes, sockets, eventfds, queues of the library in a shared file.
//!
//! A trace has streams as queues of bytes. The items of an eventfd are units of its counter, and those of a
//! queue of the library are the program's. A stream's address is a number with bit 47 set, which tells the
//! sort of the stream, and is the same in all processes of the recording. Each direction of a socket is a
//! stream of its own.

use crate::event::Address;
use crate::process::ProcessIndex;

/// The sorts of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stream {
    /// A pipe, with a name in the file system or without.
    Pipe = 0,
    /// One direction of a pair of connected Unix sockets.
    Socket = 1,
    /// One direction of a TCP connection.
    Connection = 2,
    /// An eventfd.
    Eventfd = 3,
    /// A queue of `baton-sync` between processes.
    Queue = 4,
}

/// Marks an address as that of a stream: no object in a program's memory has this bit.
const MARK: Address = 1 << 47;
/// The place of the sort in the address.
const SORT: u32 = 44;

impl Stream {
    /// All sorts of streams, in the order of their numbers.
    pub const ALL: [Stream; 5] = [Stream::Pipe, Stream::Socket, Stream::Connection, Stream::Eventfd, Stream::Queue];

    /// Returns the address of the stream of this sort with this number, of which 44 bits count.
    pub const fn address(self, number: u64) -> Address {
        MARK | (self as Address) << SORT | number & ((1 << SORT) - 1)
    }

    /// Returns the sort of the stream at an address; `None` if the address is that of another object.
    pub const fn of(address: Address) -> Option<Stream> {
        let sort = (address >> SORT & 7) as usize;
        if address & MARK != 0 && sort < Stream::ALL.len() { Some(Stream::ALL[sort]) } else { None }
    }

    /// Whether the address is that of a stream of the kernel. The trace does not have the waits there: its
    /// reader finds them. Waits at a [`Stream::Queue`] are recorded.
    pub const fn is_kernels(address: Address) -> bool {
        match Stream::of(address) {
            None | Some(Stream::Queue) => false,
            Some(Stream::Pipe | Stream::Socket | Stream::Connection | Stream::Eventfd) => true,
        }
    }

    /// The word for a stream of this sort.
    pub const fn word(self) -> &'static str {
        match self {
            Stream::Pipe => "pipe",
            Stream::Socket => "socket",
            Stream::Connection => "connection",
            Stream::Eventfd => "eventfd",
            Stream::Queue => "queue between processes",
        }
    }
}

/// Returns the process to which the queue at an address belongs, for an event of `process`: a stream belongs
/// to all processes, and counts as one of the first.
pub const fn home(process: ProcessIndex, queue: Address) -> ProcessIndex {
    if Stream::of(queue).is_some() { ProcessIndex(0) } else { process }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_the_sort() {
        for sort in Stream::ALL {
            for number in [0, 1, (1 << 44) - 1] {
                let address = sort.address(number);
                assert_eq!((Stream::of(address), address >> 48), (Some(sort), 0));
                assert_eq!(home(ProcessIndex(3), address), ProcessIndex(0));
                assert_eq!(Stream::is_kernels(address), sort != Stream::Queue);
            }
        }
        assert_ne!(Stream::Pipe.address(1), Stream::Pipe.address(2));
        for other in [0, 0x7fff_ffff_f000, 1 << 47 | 5 << 44] {
            assert_eq!((Stream::of(other), home(ProcessIndex(3), other)), (None, ProcessIndex(3)));
            assert!(!Stream::is_kernels(other));
        }
    }
}
