//! The record of a doacross loop, whose iterations wait for earlier iterations by their numbers.
//!
//! The compiler numbers the iterations of each loop of the nest from 0 and hands out the iterations
//! of the outermost loop. The work-share's memory holds a record: the loops' counts, and a word for
//! each chunk of outermost iterations. A thread runs a chunk in order; the chunk's word says how
//! many iterations of the nest the thread has posted, counted as if every iteration posted.

use crate::missing::missing;
use crate::process::place;
use baton_machine::{Atomic, Machine, Native, Ordering};
use baton_omp::{Schedule, ScheduleKind, Why};

/// The most loops of a nest: GOMP_doacross_wait takes a number for each.
const MOST: usize = 64;

type Word = <Native as Machine>::Atomic<u64>;

/// The record of a nest that all threads of the team share. It stands at the start of the
/// work-share's memory, before the words of the chunks.
#[repr(C, align(64))]
pub(crate) struct Record {
    counts: [u64; MOST],
    pub(crate) loops: usize,
    /// Number of outermost iterations for each word.
    chunk: u64,
}

/// A doacross loop whose memory is not allocated yet.
pub(crate) struct Nest {
    record: Record,
    words: usize,
}

impl Nest {
    /// Describes the nest of loops with these counts, and gives its schedule the length of the
    /// chunks that have a word each. With a guided schedule, each outermost iteration has a word.
    pub(crate) fn new(counts: &[u64], schedule: Schedule) -> (Nest, Schedule) {
        if counts.len() > MOST {
            missing("a doacross loop with more than 64 nested loops");
        }
        let threads = u64::from(place().team().size);
        let chunk = match schedule.kind {
            ScheduleKind::Guided | ScheduleKind::Trapezoidal => 1,
            _ if schedule.chunk == 0 => counts[0].div_ceil(threads).max(1),
            _ => schedule.chunk,
        };
        let shrinks = matches!(schedule.kind, ScheduleKind::Guided | ScheduleKind::Trapezoidal);
        let schedule = if shrinks { schedule } else { Schedule { chunk, ..schedule } };
        let all = counts.iter().try_fold(1u64, |product, count| product.checked_mul(*count));
        let words = usize::try_from(counts[0].div_ceil(chunk)).ok().filter(|words| *words < isize::MAX as usize / 16);
        let (Some(_), Some(words)) = (all, words) else { missing("a doacross loop with 2^64 iterations or more") };
        let mut own = [0; MOST];
        own[..counts.len()].copy_from_slice(counts);
        (Nest { record: Record { counts: own, loops: counts.len(), chunk }, words }, schedule)
    }

    /// Bytes of the record with the words behind it.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Record>() + self.words * size_of::<Word>()
    }

    /// Writes the record.
    ///
    /// # Safety
    /// `at` is [`Nest::bytes`] of zeroed memory, aligned to 64 bytes, which no other thread uses
    /// yet.
    pub(crate) unsafe fn write(self, at: usize) {
        // SAFETY: the caller says that the memory has room for the record. The words behind it are
        // zeroed, which is their initial state.
        unsafe { core::ptr::with_exposed_provenance_mut::<Record>(at).write(self.record) };
    }
}

/// The record of the loop that the thread is in.
pub(crate) fn record() -> &'static Record {
    let at = place().work.get().doacross;
    if at == 0 {
        missing("GOMP_doacross_post or _wait outside a doacross loop");
    }
    // SAFETY: the first thread wrote the record; it stays until all threads have left the loop.
    unsafe { &*core::ptr::with_exposed_provenance(at) }
}

impl Record {
    /// The word of an iteration, and the iteration's number within its chunk, counted from 1.
    fn find(&self, at: &[u64]) -> (&'static Word, u64) {
        let (word, outer) = (at[0] / self.chunk, at[0] % self.chunk);
        let inner = self.counts[1..self.loops].iter().zip(&at[1..]);
        let number = inner.fold(outer, |flat, (count, at)| flat * count + at);
        let words = core::ptr::from_ref(self).wrapping_add(1).cast::<Word>();
        // SAFETY: the memory has a word for each chunk of outermost iterations, and `word` is the
        // number of one.
        (unsafe { &*words.add(word as usize) }, number + 1)
    }

    pub(crate) fn post(&self, at: &[u64]) {
        let (word, number) = self.find(at);
        Native::happens_before(core::ptr::from_ref(word).cast());
        // Release: a thread that sees the number sees what the iterations up to it did.
        word.store(number, Ordering::Release);
        place().waits().wake::<Native, u64>(Why::Barrier, word);
    }

    pub(crate) fn wait(&self, at: &[u64]) {
        let (word, number) = self.find(at);
        loop {
            // Acquire: see `post`.
            let posted = word.load(Ordering::Acquire);
            if posted >= number {
                Native::happens_after(core::ptr::from_ref(word).cast());
                return;
            }
            place().waits().wait::<Native, u64>(Why::Barrier, word, posted);
        }
    }
}
