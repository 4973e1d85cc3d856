//! The buffers of packets, which have 2 KB each in the machine's memory. A buffer's number travels
//! through the queues; the thread that has the number owns the buffer.

use baton_machine::{Machine, OwnedSlice, PushTo};
use std::cell::UnsafeCell;

/// Bytes of a buffer (CAF's paper, section 4.2).
pub const BUFFER_BYTES: usize = 2048;
/// Bytes of a block: a cache line in CAF's paper.
pub const BLOCK_BYTES: usize = 64;
/// Number of blocks in a buffer.
pub const BLOCKS: u32 = (BUFFER_BYTES / BLOCK_BYTES) as u32;
/// Bytes before the packet: its number, how many of its bytes the buffer holds, its length on the
/// wire.
const MARK: usize = 16;
/// Bytes of a packet for which a buffer has room.
pub(crate) const ROOM: usize = BUFFER_BYTES - MARK;

/// Cycles to add up the words of a block.
pub(super) const BLOCK_CYCLES: u64 = 8;

/// A buffer, and a line behind it. The line spreads the first lines of the buffers over the sets of
/// a cache, as DPDK's pools do.
#[repr(C, align(64))]
struct Buffer(UnsafeCell<[u8; BUFFER_BYTES]>, [u8; BLOCK_BYTES]);

/// All buffers.
pub(crate) struct Buffers<M: Machine>(OwnedSlice<M, Buffer>);

// SAFETY: only the thread that has a buffer's number accesses the buffer. The queue through which
// the number came orders these accesses behind those of the thread that sent the number.
unsafe impl<M: Machine> Sync for Buffers<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Buffers<M> {}

/// What a thread sees of a packet.
#[derive(Clone)]
pub(crate) struct View {
    /// The number of the packet.
    pub(crate) number: u64,
    /// The length of the packet on the wire.
    pub(crate) length: u32,
    /// The first bytes of the packet.
    pub(crate) bytes: Vec<u8>,
}

impl View {
    /// A view with room for one packet.
    pub(crate) fn new() -> View {
        View { number: 0, length: 0, bytes: Vec::with_capacity(ROOM) }
    }
}

/// The bytes of a packet that lie in its first `blocks` blocks.
pub(crate) fn seen(bytes: &[u8], blocks: u32) -> &[u8] {
    &bytes[..bytes.len().min(blocks as usize * BLOCK_BYTES - MARK)]
}

impl<M: Machine> Buffers<M> {
    pub(crate) fn new(count: usize) -> Self {
        Buffers(OwnedSlice::new(count, |_| Buffer(UnsafeCell::new([0; BUFFER_BYTES]), [0; BLOCK_BYTES])))
    }

    /// Bytes of memory that `count` buffers take.
    pub(crate) fn bytes(count: usize) -> usize {
        count.saturating_mul(size_of::<Buffer>())
    }

    fn at(&self, buffer: u64) -> *mut u8 {
        self.0[buffer as usize].0.get().cast()
    }

    /// Writes the first blocks of a packet.
    ///
    /// # Safety
    /// The thread has the buffer's number.
    pub(crate) unsafe fn fill(&self, buffer: u64, (number, length): (u64, u32), bytes: &[u8], blocks: u32) {
        let (at, bytes) = (self.at(buffer), seen(bytes, blocks));
        let word = (bytes.len() as u64) << 32 | u64::from(length);
        // SAFETY: the buffer is alive and the thread's own, and has room for what `seen` gives and
        // its mark.
        unsafe {
            M::touch(at, blocks as usize * BLOCK_BYTES, true);
            at.cast::<[u64; 2]>().write([number, word]);
            at.add(MARK).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Reads blocks from the first block on.
    ///
    /// # Safety
    /// The thread has the buffer's number.
    pub(crate) unsafe fn read(&self, buffer: u64, blocks: u32, into: &mut View) {
        let at = self.at(buffer);
        // SAFETY: the buffer is alive and the thread's own, and its mark was written by `fill`.
        unsafe {
            M::touch(at, blocks as usize * BLOCK_BYTES, false);
            let [number, word] = at.cast::<[u64; 2]>().read();
            (into.number, into.length) = (number, word as u32);
            let held = ((word >> 32) as usize).min(blocks as usize * BLOCK_BYTES - MARK);
            into.bytes.clear();
            into.bytes.extend_from_slice(std::slice::from_raw_parts(at.add(MARK), held));
        }
    }

    /// Writes `number` in place of the packet's number, which marks that a stage has worked on the
    /// packet.
    ///
    /// # Safety
    /// The thread has the buffer's number.
    pub(crate) unsafe fn mark(&self, buffer: u64, number: u64) {
        let at = self.at(buffer);
        // SAFETY: the buffer is alive and the thread's own.
        unsafe {
            M::touch(at, BLOCK_BYTES, true);
            at.cast::<u64>().write(number);
        }
    }

    /// Hints that the thread will read, or write, blocks of a buffer.
    pub(crate) fn prefetch(&self, buffer: u64, blocks: u32, write: bool) {
        M::prefetch(self.at(buffer), blocks as usize * BLOCK_BYTES, write);
    }

    /// Pushes blocks out of this core's caches.
    pub(crate) fn push(&self, buffer: u64, blocks: u32, to: PushTo) {
        M::prepush(self.at(buffer), blocks as usize * BLOCK_BYTES, to);
    }
}

/// Adds up the words of a packet.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(eight)
    };
    bytes.chunks(8).fold(0, |sum: u64, chunk| sum.wrapping_add(word(chunk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_of_a_packet_counts() {
        assert_eq!(sum(&[1, 0, 0, 0, 0, 0, 0, 0, 2]), 3);
        assert_ne!(sum(b"a packet"), sum(b"a pocket"));
    }
}
