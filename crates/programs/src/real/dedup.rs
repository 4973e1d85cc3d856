//! A pipeline that chunks, deduplicates and compresses a stream (as in PARSEC's dedup): a thread
//! takes the next piece of the input, cuts it into chunks by its content, hashes each chunk, looks
//! the chunk up in a table with one lock for each bucket, compresses new chunks, and writes the
//! piece's records when all earlier pieces are written.

use super::scale::Scale;
use crate::monitor::{Guarded, Kit};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::{Body, Shared, Team, share, xorshift};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes that are read or written at once.
const BLOCK: usize = 64;
/// The least and the greatest length of a chunk in bytes; the last chunk of a piece may be shorter.
const CHUNK: (usize, usize) = (32, 256);
/// Bytes that a compressed chunk may take: [`pack`] adds one length for each 128 bytes.
const PACKED: usize = CHUNK.1 + 4;
/// Number of buckets of the table.
const BUCKETS: usize = 32;

/// Cycles of a byte in the rolling sum, in the hash and in the search for runs.
const CHUNK_CYCLES: u64 = 2;
const HASH_CYCLES: u64 = 4;
const PACK_CYCLES: u64 = 8;

/// Numbers of the program's locks; the locks of buckets come after these.
const INPUT: u32 = 0;
const OUTPUT: u32 = 1;
const TABLE: u32 = 2;

/// A chunk that was seen, in its bucket's chain.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    /// The index of the next entry of the chain, plus 1.
    next: u32,
    /// Whether the chunk is compressed, in `packed`.
    done: bool,
    /// Whether the chunk stands in the output.
    written: bool,
}

/// A compressed chunk.
#[derive(Clone, Copy)]
struct Packed {
    len: u16,
    bytes: [u8; PACKED],
}

/// The state from which the next writer goes on.
struct Writer {
    /// The piece whose turn it is to be written.
    turn: u32,
    /// Number of bytes written.
    bytes: usize,
    /// The last block, as far as it is filled.
    tail: [u8; BLOCK],
}

struct Data<M: Machine, K: Kit<M>> {
    input: Places<M, [u8; BLOCK]>,
    output: Places<M, [u8; BLOCK]>,
    /// The next piece to be taken.
    next: Shared<M, Guarded<M, K, u32>>,
    /// By bucket: the index of its chain's first entry, plus 1.
    buckets: Vec<Shared<M, Guarded<M, K, u32>>>,
    /// By place of a chunk (its piece, and its number in it): the entry, accessed under its
    /// bucket's lock.
    entries: Places<M, Entry>,
    /// By place of a chunk: the compressed chunk, written by the thread that made the entry, before
    /// the entry is `done`.
    packed: Places<M, Packed>,
    writer: Shared<M, Guarded<M, K, Writer>>,
    piece: usize,
    pieces: u32,
}

/// Phrases, about three of four of them from the same 24, so that many chunks come again.
fn input(scale: Scale) -> Vec<u8> {
    let mut state = scale.seed | 1;
    let phrase = |state: &mut u64| -> Vec<u8> {
        let len = 100 + (xorshift(state) >> 56) as usize;
        let mut out = Vec::with_capacity(len + 16);
        while out.len() < len {
            let byte = (xorshift(state) >> 58) as u8;
            let run = if byte < 8 { 3 + usize::from(byte) } else { 1 };
            out.extend(std::iter::repeat_n(byte + 32, run));
        }
        out
    };
    let phrases: Vec<_> = (0..24).map(|_| phrase(&mut state)).collect();
    let mut out = Vec::with_capacity(scale.size as usize + 512);
    while out.len() < scale.size as usize {
        let dice = xorshift(&mut state) >> 32;
        match dice % 4 {
            0 => out.extend(phrase(&mut state)),
            _ => out.extend_from_slice(&phrases[(dice >> 8) as usize % phrases.len()]),
        }
    }
    out.truncate(scale.size as usize);
    out
}

/// Cuts a piece into chunks, at places where a sum over the last bytes says so.
fn chunks(piece: &[u8]) -> Vec<&[u8]> {
    let (mut out, mut begin, mut sum) = (Vec::new(), 0, 0u32);
    for (at, &byte) in piece.iter().enumerate() {
        sum = sum.rotate_left(3).wrapping_add(u32::from(byte).wrapping_mul(0x9e37_79b1));
        let len = at + 1 - begin;
        if len >= CHUNK.1 || (len >= CHUNK.0 && sum >> 26 == 0) {
            out.push(&piece[begin..=at]);
            begin = at + 1;
        }
    }
    if begin < piece.len() {
        out.push(&piece[begin..]);
    }
    out
}

/// The FNV-1a hash of a chunk.
fn hash(chunk: &[u8]) -> u64 {
    chunk.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Compresses a chunk: runs as a length and a byte, the rest as lengths and bytes (PackBits).
fn pack(chunk: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(chunk.len() + 4);
    let mut plain: Vec<u8> = Vec::new();
    let flush = |plain: &mut Vec<u8>, out: &mut Vec<u8>| {
        for part in plain.chunks(128) {
            out.push(part.len() as u8 - 1);
            out.extend_from_slice(part);
        }
        plain.clear();
    };
    let mut at = 0;
    while at < chunk.len() {
        let run = chunk[at..].iter().take(128).take_while(|&&byte| byte == chunk[at]).count();
        if run >= 3 {
            flush(&mut plain, &mut out);
            out.extend([(257 - run) as u8, chunk[at]]);
        } else {
            plain.extend_from_slice(&chunk[at..at + run]);
        }
        at += run;
    }
    flush(&mut plain, &mut out);
    out
}

/// The record of a chunk: the compressed chunk when it stands in the output for the first time,
/// otherwise its hash.
fn record(hash: u64, packed: Option<&[u8]>) -> Vec<u8> {
    match packed {
        Some(packed) => [&[1, packed.len() as u8, (packed.len() >> 8) as u8], packed].concat(),
        None => [&[0][..], &hash.to_le_bytes()].concat(),
    }
}

/// Computes the output on one thread.
fn plain(scale: Scale) -> Vec<u8> {
    let (input, mut seen, mut out) = (input(scale), BTreeSet::new(), Vec::new());
    for chunk in input.chunks(scale.grain as usize).flat_map(chunks) {
        let hash = hash(chunk);
        let packed = seen.insert(hash).then(|| pack(chunk));
        out.extend(record(hash, packed.as_deref()));
    }
    out
}

/// Makes the threads of the program, and the check of their result.
pub(super) fn team<M: Machine, K: Kit<M>>(threads: u32, scale: Scale, kit: &K) -> Team {
    let (input, piece) = (input(scale), scale.grain as usize);
    let pieces = scale.size / scale.grain;
    let places = pieces as usize * Data::<M, K>::chunks_a_piece(piece);
    let empty = Entry { hash: 0, next: 0, done: false, written: false };
    let writer = Writer { turn: 0, bytes: 0, tail: [0; BLOCK] };
    let data = Arc::new(Data::<M, K> {
        input: Places::new(input.len() / BLOCK, |at| core::array::from_fn(|x| input[at * BLOCK + x])),
        // A chunk of 32 bytes takes at most 3 bytes more in a record, and 1 byte more by its
        // compression.
        output: Places::new(2 * input.len() / BLOCK, |_| [0; BLOCK]),
        next: share::<M, _>(Guarded::new(kit, INPUT, 0)),
        buckets: (0..BUCKETS).map(|bucket| share::<M, _>(Guarded::new(kit, TABLE + bucket as u32, 0))).collect(),
        entries: Places::new(places, |_| empty),
        packed: Places::new(places, |_| Packed { len: 0, bytes: [0; PACKED] }),
        writer: share::<M, _>(Guarded::new(kit, OUTPUT, writer)),
        piece,
        pieces,
    });
    let body = |_| {
        let (data, kit) = (data.clone(), kit.clone());
        Box::new(move || {
            loop {
                let piece = data.next.with(&kit, |next| {
                    *next += 1;
                    *next - 1
                });
                if piece >= data.pieces {
                    return;
                }
                data.work(&kit, piece);
            }
        }) as Body
    };
    let bodies = (0..threads).map(body).collect();
    let verify = move || {
        let expected = plain(scale);
        // SAFETY: the threads have ended.
        let (bytes, tail) = unsafe { data.writer.at_end(|writer| (writer.bytes, writer.tail)) };
        // SAFETY: as above.
        let mut found: Vec<u8> = (0..bytes / BLOCK).flat_map(|at| unsafe { data.output.get(at) }).collect();
        found.extend_from_slice(&tail[..bytes % BLOCK]);
        baton_workloads::expect("bytes of output", found.len() as u64, expected.len() as u64)?;
        if found == expected { Ok(()) } else { Err("the output is not what one thread writes".to_owned()) }
    };
    Team::new(bodies, Box::new(verify))
}

impl<M: Machine, K: Kit<M>> Data<M, K> {
    /// The largest number of chunks that a piece can have.
    fn chunks_a_piece(piece: usize) -> usize {
        piece / CHUNK.0 + 1
    }

    fn bucket(&self, hash: u64) -> &Guarded<M, K, u32> {
        &self.buckets[(hash >> 32) as usize % BUCKETS]
    }

    /// Takes a piece all its way through the pipeline.
    fn work(&self, kit: &K, piece: u32) {
        let blocks = self.piece / BLOCK;
        let first = piece as usize * blocks;
        // SAFETY: the input is never written.
        let bytes: Vec<u8> = (first..first + blocks).flat_map(|at| unsafe { self.input.get(at) }).collect();
        M::work(Cycles(bytes.len() as u64 * CHUNK_CYCLES));
        let mut hashes = Vec::new();
        for (number, chunk) in chunks(&bytes).into_iter().enumerate() {
            M::work(Cycles(chunk.len() as u64 * HASH_CYCLES));
            let hash = hash(chunk);
            hashes.push(hash);
            self.keep(kit, hash, piece as usize * Self::chunks_a_piece(self.piece) + number, chunk);
        }
        self.write(kit, piece, &hashes);
    }

    /// Looks a chunk up; if the chunk is new, makes its entry at `place` and compresses it.
    fn keep(&self, kit: &K, hash: u64, place: usize, chunk: &[u8]) {
        let new = self.bucket(hash).with(kit, |first| {
            // SAFETY: entries of this bucket are accessed under its lock; no other thread knows the
            // place yet.
            unsafe {
                let new = self.find(*first, hash).is_none();
                if new {
                    self.entries.set(place, Entry { hash, next: *first, done: false, written: false });
                    *first = place as u32 + 1;
                }
                new
            }
        });
        if !new {
            return;
        }
        M::work(Cycles(chunk.len() as u64 * PACK_CYCLES));
        let bytes = pack(chunk);
        let mut packed = Packed { len: bytes.len() as u16, bytes: [0; PACKED] };
        packed.bytes[..bytes.len()].copy_from_slice(&bytes);
        // SAFETY: this thread made the entry, and no other thread reads its place of `packed`
        // before the entry is done.
        unsafe { self.packed.set(place, packed) };
        self.bucket(hash).change(kit, |_| {
            // SAFETY: as above.
            unsafe { self.entries.set(place, Entry { done: true, ..self.entries.get(place) }) }
        });
    }

    /// The entry of a hash in the chain from `at` on.
    ///
    /// # Safety
    /// The calling thread is inside the monitor of the hash's bucket.
    unsafe fn find(&self, mut at: u32, hash: u64) -> Option<(usize, Entry)> {
        while let Some(place) = at.checked_sub(1) {
            // SAFETY: the caller promises that this thread is inside the monitor of the bucket.
            let entry = unsafe { self.entries.get(place as usize) };
            if entry.hash == hash {
                return Some((place as usize, entry));
            }
            at = entry.next;
        }
        None
    }

    /// Writes a piece's records when its turn comes.
    fn write(&self, kit: &K, piece: u32, hashes: &[u64]) {
        let (mut bytes, mut tail) =
            self.writer.when(kit, |writer| (writer.turn == piece).then_some((writer.bytes, writer.tail)));
        for &hash in hashes {
            // The thread that made the entry may still be compressing the chunk. It finishes
            // without waiting for any other thread's turn, so this wait ends.
            let (place, first_time) = self.bucket(hash).when(kit, |first| {
                // SAFETY: this thread is inside the monitor of the hash's bucket.
                let (place, entry) = unsafe { self.find(*first, hash) }?;
                if entry.done && !entry.written {
                    // SAFETY: as above.
                    unsafe { self.entries.set(place, Entry { written: true, ..entry }) };
                }
                entry.done.then_some((place, !entry.written))
            });
            let packed = first_time.then(|| {
                // SAFETY: the entry is done, so the compressed chunk was written before, and is
                // never written again.
                let packed = unsafe { self.packed.get(place) };
                packed.bytes[..usize::from(packed.len)].to_vec()
            });
            for byte in record(hash, packed.as_deref()) {
                tail[bytes % BLOCK] = byte;
                bytes += 1;
                if bytes.is_multiple_of(BLOCK) {
                    // SAFETY: it is this thread's turn to write the output, so no other thread
                    // writes it.
                    unsafe { self.output.set(bytes / BLOCK - 1, tail) };
                }
            }
        }
        self.writer.change(kit, |writer| *writer = Writer { turn: piece + 1, bytes, tail });
    }
}
