//! Walks the calling thread's stack by the tables of its object files (`.eh_frame`), which programs without frame pointers have,
//! too.
//!
//! A walk allocates nothing, and takes no lock where glibc finds the tables without one (`_dl_find_object`, glibc 2.35) and no code
//! has been registered at run time (`__register_frame`, which compilers at run time call): for such code libgcc has a lock of
//! its own, under which it sorts tables in memory from `malloc`. Callers ask [`takes_no_lock`] first.
//!
//! A walk takes about a tenth of a microsecond for each frame, so its result is worth keeping. A [`Proof`] says whether the
//! stack is still the one that was walked: it has a hash of the words that held the return addresses.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether walks are possible: glibc finds tables without a lock, and the user did not refuse
/// stacks (`BATON_STACKS=off`).
static FINDS: AtomicBool = AtomicBool::new(false);
/// Whether the program has registered code at run time.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Sets, at start, whether glibc finds tables without a lock and stacks may be walked.
pub fn start(finds: bool) {
    FINDS.store(finds, Relaxed);
}

/// Notes that the program has registered code at run time.
pub fn code_is_registered() {
    REGISTERED.store(true, Relaxed);
}

/// Whether the program has registered code at run time.
pub fn has_registered_code() -> bool {
    REGISTERED.load(Relaxed)
}

/// Whether a walk takes no lock and no memory, so that it can be made anywhere, with any of the
/// program's locks held. A signal's handler may interrupt a walk and make one itself, because a
/// walk changes only what its caller passed.
pub fn takes_no_lock() -> bool {
    FINDS.load(Relaxed) && !has_registered_code()
}

/// A call stack as its return addresses, the innermost first.
#[derive(Clone, Copy)]
pub struct Frames<const N: usize> {
    addresses: [u64; N],
    count: usize,
}

impl<const N: usize> Frames<N> {
    /// No frames.
    pub const NONE: Frames<N> = Frames { addresses: [0; N], count: 0 };

    /// Keeps the first `N` of `addresses`.
    pub fn of(addresses: impl Iterator<Item = u64>) -> Frames<N> {
        let mut frames = Frames::NONE;
        addresses.for_each(|address| frames.push(address));
        frames
    }

    /// The return addresses.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    fn push(&mut self, address: u64) {
        if let Some(place) = self.addresses.get_mut(self.count) {
            *place = address;
            self.count += 1;
        }
    }
}

/// Bytes of a page. The page in which a thread's own frame lies can be read as a whole.
const PAGE: usize = 4096;
/// The most callers whose return addresses a proof covers: as many nine-bit positions as fit into a
/// word.
const COVERED: u32 = 7;
const BITS: u32 = 9;

/// Shows that a stack is the one that was walked, as far as the return addresses lie in the same
/// page as the asker's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The positions of the return addresses, counted in words from the asker's frame on, [`BITS`]
    /// bits each; 0: no more.
    pub words: u64,
    /// A hash of the return addresses that lie there.
    pub hash: u64,
    /// The number of callers that the proof covers.
    pub callers: u32,
}

impl Proof {
    /// Whether the words above `here` are still those of the walk that made the proof.
    ///
    /// # Safety
    /// `here` is the address that the walk was given, and lies in a frame of the calling thread
    /// that has not returned.
    pub unsafe fn holds(&self, here: usize) -> bool {
        let mut hash = SEED;
        for word in 0..self.callers {
            let offset = (self.words >> (word * BITS)) as usize & ((1 << BITS) - 1);
            // SAFETY: the word is aligned and lies in the page of `here`, which is mapped because a
            // frame of this thread lies in it. The read is volatile, because the words belong to
            // other functions' frames.
            let found = unsafe { core::ptr::with_exposed_provenance::<u64>(here + 8 * offset).read_volatile() };
            hash = step(hash, found);
        }
        hash == self.hash
    }

    /// Extends the proof by one more caller, whose return address lies at `slot`. Returns false if
    /// `slot` lies below `here` or in another page, or the proof is full.
    fn cover(&mut self, here: usize, slot: usize, address: u64) -> bool {
        let offset = slot.wrapping_sub(here);
        let fits = slot > here && slot / PAGE == here / PAGE && offset.is_multiple_of(8) && self.callers < COVERED;
        if fits {
            self.words |= (offset as u64 / 8) << (self.callers * BITS);
            self.hash = step(self.hash, address);
            self.callers += 1;
        }
        fits
    }
}

/// The start value of FNV-1a, which is applied word by word.
pub const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds a word to a hash.
pub fn step(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3)
}

/// The state of a walk, which the unwinder hands to the callback at each frame.
struct Walk<const N: usize> {
    /// The call site at which the result begins: the frames before it belong to this library.
    at: u64,
    here: usize,
    frames: Frames<N>,
    proof: Proof,
    /// Whether the proof covers all callers that the walk has passed so far.
    covered: bool,
}

/// Walks the stack from the call site `at` on. Returns at most `N` frames, none if the call site is
/// not on the stack. `here` is an address in the asker's frame, a multiple of 8.
#[cold]
pub fn walk<const N: usize>(at: usize, here: usize) -> (Frames<N>, Proof) {
    let proof = Proof { hash: SEED, ..Proof::default() };
    let mut walk = Walk::<N> { at: at as u64, here, frames: Frames::NONE, proof, covered: true };
    // SAFETY: the unwinder only reads tables and the stack, and the callback gets a pointer to
    // `walk`, which outlives the call.
    super::errno::kept(|| unsafe { _Unwind_Backtrace(frame::<N>, (&raw mut walk).cast()) });
    (walk.frames, walk.proof)
}

/// The unwinder's context.
#[repr(C)]
struct Context {
    private: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(each: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int, walk: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
}

/// The `_Unwind_Reason_Code` by which a callback lets libgcc's walk go on, and an answer that ends
/// it.
const GO_ON: c_int = 0;
const ENOUGH: c_int = 4;

unsafe extern "C" fn frame<const N: usize>(context: *mut Context, walk: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes a valid frame, and the pointer that `walk` gave it.
    let (ip, top, walk) =
        unsafe { (_Unwind_GetIP(context) as u64, _Unwind_GetCFA(context), &mut *walk.cast::<Walk<N>>()) };
    if ip == 0 {
        return ENOUGH;
    }
    if walk.frames.count > 0 {
        // On x86-64 the return address lies just below the stack pointer's value after the return.
        // `lies_there` checks that.
        let slot = top.wrapping_sub(8);
        // SAFETY: the unwinder has read this frame's memory, so `slot` can be read; `cover` then
        // takes only slots in the page of the asker's frame.
        let lies_there = || unsafe { core::ptr::with_exposed_provenance::<u64>(slot).read_volatile() == ip };
        let same_page = slot / PAGE == walk.here / PAGE && slot.is_multiple_of(8);
        walk.covered = walk.covered && same_page && lies_there() && walk.proof.cover(walk.here, slot, ip);
        walk.frames.push(ip);
    } else if ip == walk.at {
        walk.frames.push(ip);
    }
    if walk.frames.count == N { ENOUGH } else { GO_ON }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn each(context: *mut Context, all: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a valid frame, and the pointer to the list that `look` gave
        // it.
        unsafe { (*all.cast::<Vec<u64>>()).push(_Unwind_GetIP(context) as u64) };
        GO_ON
    }

    /// Returns every frame that the unwinder finds, and the result of a walk from the call site
    /// `at`.
    #[inline(never)]
    fn look(at: u64) -> (Vec<u64>, Frames<4>, Proof, usize) {
        let mark = 0u64;
        let here = (&raw const mark).addr();
        let mut all: Vec<u64> = Vec::new();
        // SAFETY: the callback gets a pointer to the list, which outlives the walk.
        unsafe { _Unwind_Backtrace(each, (&raw mut all).cast()) };
        let (frames, proof) = walk::<4>(at as usize, here);
        // SAFETY: `here` is in this frame, and the proof was made for it.
        assert!(unsafe { proof.holds(here) });
        (all, frames, proof, here)
    }

    #[test]
    fn a_walk_begins_at_the_call_site() {
        // Calls `look` with the return address of the same call, which the round before has found.
        let (mut at, mut turns) = (0, Vec::new());
        for _ in 0..std::hint::black_box(4) {
            turns.push(look(std::hint::black_box(at)));
            // The first frame is `look` itself, so the second one is this call of it.
            at = turns[turns.len() - 1].0[1];
        }
        let (_, frames, proof, _) = &turns[0];
        assert!(frames.addresses().is_empty() && proof.callers == 0, "no call site is at 0");
        let (all, frames, ..) = &turns[3];
        assert_eq!(frames.addresses(), &all[1..5]);
    }

    #[test]
    fn a_proof_covers_words_of_one_page_only_and_notices_a_change() {
        let words: Box<[u64; 512]> = Box::new(core::array::from_fn(|n| n as u64 * 3));
        let start = (&raw const *words).expose_provenance();
        let here = start + 64;
        let mut proof = Proof { hash: SEED, ..Proof::default() };
        let page_end = (here / PAGE + 1) * PAGE;
        assert!(!proof.cover(here, page_end, 0) && !proof.cover(here, here - 8, 0) && !proof.cover(here, here + 4, 0));
        let slot = here + 16;
        if slot < page_end {
            assert!(proof.cover(here, slot, words[(slot - start) / 8]));
            // SAFETY: `here` lies in memory that stays, and the proof was made for it.
            assert!(unsafe { proof.holds(here) });
            let other = Proof { hash: step(SEED, 1), ..proof };
            // SAFETY: as above.
            assert!(!unsafe { other.holds(here) });
        }
    }

    #[test]
    fn frames_beyond_the_most_are_left_out() {
        assert_eq!(Frames::<2>::of(1..9).addresses(), [1, 2]);
    }
}
