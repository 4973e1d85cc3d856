//! Doacross loops: iterations that wait for earlier ones by their numbers.
//!
//! The compiler numbers the iterations of each loop of the nest from 0 and hands out the iterations
//! of the outermost loop. The work-share's memory holds a record: the loops' counts, and a word for
//! each chunk of outermost iterations. A thread runs a chunk in order; the chunk's word says how
//! many iterations of the nest the thread has posted, counted as if every iteration posted.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::loops::{enter_with, give_next, numbered, of, runtime_schedule};
use crate::missing::missing;
use crate::process::place;
use baton_machine::{Atomic, Machine, Native, Ordering};
use baton_omp::share::Work;
use baton_omp::{Schedule, ScheduleKind, Space, Why};
use core::ffi::c_void;

/// The most loops of a nest: GOMP_doacross_wait takes a number for each.
const MOST: usize = 64;

type Word = <Native as Machine>::Atomic<u64>;

/// What the threads know of the nest. It stands at the start of the work-share's memory, before the
/// words of the chunks.
#[repr(C, align(64))]
pub(crate) struct Record {
    counts: [u64; MOST],
    loops: usize,
    /// Outermost iterations for each word.
    chunk: u64,
}

/// A doacross loop whose memory is not allocated yet.
pub(crate) struct Nest {
    record: Record,
    words: usize,
}

impl Nest {
    /// The nest of `counts`, and its schedule, with chunks long enough that each has a word.
    fn new(counts: &[u64], schedule: Schedule) -> (Nest, Schedule) {
        if counts.len() > MOST {
            missing("a doacross loop with more than 64 nested loops");
        }
        let threads = u64::from(place().team().size);
        let chunk = match schedule.kind {
            ScheduleKind::Guided => 1,
            _ if schedule.chunk == 0 => counts[0].div_ceil(threads).max(1),
            _ => schedule.chunk,
        };
        let schedule = if schedule.kind == ScheduleKind::Guided { schedule } else { Schedule { chunk, ..schedule } };
        let all = counts.iter().try_fold(1u64, |product, count| product.checked_mul(*count));
        let words = usize::try_from(counts[0].div_ceil(chunk)).ok().filter(|words| *words < isize::MAX as usize / 16);
        let (Some(_), Some(words)) = (all, words) else { missing("a doacross loop with 2^64 iterations or more") };
        let mut own = [0; MOST];
        own[..counts.len()].copy_from_slice(counts);
        (Nest { record: Record { counts: own, loops: counts.len(), chunk }, words }, schedule)
    }

    /// Bytes of the record and its words.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Record>() + self.words * size_of::<Word>()
    }

    /// Writes the record.
    ///
    /// # Safety
    /// `at` is [`Nest::bytes`] of zeroed memory, aligned to 64 bytes, which no other thread uses
    /// yet.
    pub(crate) unsafe fn write(self, at: usize) {
        // SAFETY: by contract. The words of a native cell are zero already.
        unsafe { core::ptr::with_exposed_provenance_mut::<Record>(at).write(self.record) };
    }
}

/// The record of the loop that the thread is in.
fn record() -> &'static Record {
    let at = place().work.get().doacross;
    if at == 0 {
        missing("GOMP_doacross_post or _wait outside a doacross loop");
    }
    // SAFETY: written by the first thread; it stays until all have left the loop.
    unsafe { &*core::ptr::with_exposed_provenance(at) }
}

impl Record {
    /// The word of an iteration, and the iteration's number within its chunk, counted from 1.
    fn find(&self, at: &[u64]) -> (&'static Word, u64) {
        let (word, outer) = (at[0] / self.chunk, at[0] % self.chunk);
        let inner = self.counts[1..self.loops].iter().zip(&at[1..]);
        let number = inner.fold(outer, |flat, (count, at)| flat * count + at);
        let words = core::ptr::from_ref(self).wrapping_add(1).cast::<Word>();
        // SAFETY: the memory has a word for each chunk of outermost iterations, of which this is one.
        (unsafe { &*words.add(word as usize) }, number + 1)
    }

    fn post(&self, at: &[u64]) {
        let (word, number) = self.find(at);
        // Release: a thread that sees the number sees what the iteration did.
        word.store(number, Ordering::Release);
        place().waits().wake::<Native, u64>(Why::Barrier, word);
    }

    fn wait(&self, at: &[u64]) {
        let (word, number) = self.find(at);
        loop {
            // Acquire: see `post`.
            let posted = word.load(Ordering::Acquire);
            if posted >= number {
                return;
            }
            place().waits().wait::<Native, u64>(Why::Barrier, word, posted);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_post(at: *const u64) {
    let record = record();
    // SAFETY: the compiler passes a number for each loop of the nest.
    record.post(unsafe { core::slice::from_raw_parts(at, record.loops) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_ull_post(at: *const u64) {
    // SAFETY: as above.
    unsafe { GOMP_doacross_post(at) };
}

/// The interface is variadic: a number for each loop. On x86-64 and on 64-bit Arm these numbers lie
/// where the parameters of a function with as many parameters lie, in registers and then on the
/// stack. Numbers that the caller did not pass are read from the caller's frames, and are not used.
macro_rules! waits {
    ($($name:ident)* : $($n:ident)*) => {
        waits! { @each [$($name)*] [$($n: u64),*] [$($n),*] }
    };
    (@each [$($name:ident)*] $parameters:tt $numbers:tt) => {
        $(waits! { @one $name $parameters $numbers })*
    };
    (@one $name:ident [$($parameter:tt)*] $numbers:tt) => {
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
        pub extern "C" fn $name($($parameter)*) {
            let record = record();
            record.wait(&$numbers[..record.loops]);
        }
    };
}

waits! {
    GOMP_doacross_wait GOMP_doacross_ull_wait:
    n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15
    n16 n17 n18 n19 n20 n21 n22 n23 n24 n25 n26 n27 n28 n29 n30 n31
    n32 n33 n34 n35 n36 n37 n38 n39 n40 n41 n42 n43 n44 n45 n46 n47
    n48 n49 n50 n51 n52 n53 n54 n55 n56 n57 n58 n59 n60 n61 n62 n63
}

/// Begins a doacross loop. Returns whether the thread has a first chunk.
unsafe fn begin(
    (count, counts): (u32, *const u64),
    schedule: Schedule,
    (from, to): (*mut u64, *mut u64),
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> bool {
    // SAFETY: the compiler passes a count for each loop of the nest, at least one, and words of its own.
    unsafe {
        let counts = core::slice::from_raw_parts(counts, count as usize);
        let (nest, schedule) = Nest::new(counts, schedule);
        let loops = Work { space: Space::unsigned(true, 0, counts[0], 1), schedule, ..Work::default() };
        enter_with(loops, reductions, memory, Some(nest));
        from.is_null() || give_next(from, to)
    }
}

macro_rules! starts {
    ($($name:ident ($($chunk:ident: u64)?) $schedule:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(n: u32, counts: *const u64, $($chunk: u64,)? from: *mut u64, to: *mut u64) -> bool {
            // SAFETY: the compiler passes what `begin` needs.
            unsafe { begin((n, counts), $schedule, (from, to), core::ptr::null_mut(), core::ptr::null_mut()) }
        }
    )*};
}

starts! {
    GOMP_loop_doacross_static_start (chunk: u64) of(ScheduleKind::Static, chunk);
    GOMP_loop_doacross_dynamic_start (chunk: u64) of(ScheduleKind::Dynamic, chunk);
    GOMP_loop_doacross_guided_start (chunk: u64) of(ScheduleKind::Guided, chunk);
    GOMP_loop_doacross_runtime_start () runtime_schedule();
    GOMP_loop_ull_doacross_static_start (chunk: u64) of(ScheduleKind::Static, chunk);
    GOMP_loop_ull_doacross_dynamic_start (chunk: u64) of(ScheduleKind::Dynamic, chunk);
    GOMP_loop_ull_doacross_guided_start (chunk: u64) of(ScheduleKind::Guided, chunk);
    GOMP_loop_ull_doacross_runtime_start () runtime_schedule();
}

macro_rules! with_memory {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
        pub unsafe extern "C" fn $name(
            n: u32, counts: *const u64, schedule: i64, chunk: u64, from: *mut u64, to: *mut u64,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            // SAFETY: the compiler passes what `begin` needs.
            unsafe { begin((n, counts), numbered(schedule, chunk), (from, to), reductions, memory) }
        }
    )*};
}

with_memory! { GOMP_loop_doacross_start GOMP_loop_ull_doacross_start }
