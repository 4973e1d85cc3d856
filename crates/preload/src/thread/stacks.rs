//! The call stacks that a thread remembers, found again by return address and depth; a proof tells
//! whether a stack is still the same.

use crate::base::unwind::{self, Frames, Proof};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Number of stacks of waits that a thread remembers.
const REMEMBERED: usize = 64;
/// Number of origins that a thread remembers.
const ORIGINS: usize = 16;
/// Most frames of an origin: the call that initialises an object, first takes a lock or creates a
/// thread, with its callers.
pub const ORIGIN: usize = 8;
/// The most stack walks for origins that a thread makes. A thread that makes more objects than this
/// at ever new places gets their return addresses alone, so that recording costs it no more than
/// some tens of milliseconds.
const WALKS: u32 = 1 << 14;

/// The frames of a call that initialises an object, first takes a lock or creates a thread.
pub type Origin = Frames<ORIGIN>;

/// What a thread remembers of its stacks.
pub struct Stacks {
    known: [Known; REMEMBERED],
    origins: [KnownOrigin; ORIGINS],
    /// Whether a stack is being looked up: a signal handler, and the unwinder, may take a lock
    /// meanwhile and come here again.
    busy: AtomicBool,
    /// How many object files had been unloaded when the stacks were remembered.
    unloads: AtomicU32,
    /// How many walks for origins the thread has made.
    walks: AtomicU32,
}

/// Identifies a stack that was seen before: by the call site, the depth, and the callers as far as
/// the proof covers them.
struct Same {
    at: AtomicUsize,
    here: AtomicUsize,
    words: AtomicU64,
    hash: AtomicU64,
    callers: AtomicU32,
}

struct Known {
    same: Same,
    number: AtomicU32,
}

struct KnownOrigin {
    same: Same,
    count: AtomicU32,
    frames: [AtomicU64; ORIGIN],
}

impl Same {
    const fn new() -> Same {
        Same {
            at: AtomicUsize::new(0),
            here: AtomicUsize::new(0),
            words: AtomicU64::new(0),
            hash: AtomicU64::new(0),
            callers: AtomicU32::new(0),
        }
    }

    /// Whether the stack that ends at `at` with a frame at `here` is this one.
    ///
    /// # Safety
    /// `here` lies in a frame of the calling thread that has not returned.
    unsafe fn is(&self, at: usize, here: usize) -> bool {
        let (words, hash) = (self.words.load(Relaxed), self.hash.load(Relaxed));
        let proof = Proof { words, hash, callers: self.callers.load(Relaxed) };
        // SAFETY: the proof was made for this `here`, which lies in a frame that has not returned.
        self.at.load(Relaxed) == at && self.here.load(Relaxed) == here && unsafe { proof.holds(here) }
    }

    fn set(&self, at: usize, here: usize, proof: Proof) {
        self.at.store(at, Relaxed);
        self.here.store(here, Relaxed);
        self.words.store(proof.words, Relaxed);
        self.hash.store(proof.hash, Relaxed);
        self.callers.store(proof.callers, Relaxed);
    }
}

impl Stacks {
    /// No stacks.
    pub const fn new() -> Stacks {
        Stacks {
            known: [const { Known { same: Same::new(), number: AtomicU32::new(0) } }; REMEMBERED],
            origins: [const {
                KnownOrigin {
                    same: Same::new(),
                    count: AtomicU32::new(0),
                    frames: [const { AtomicU64::new(0) }; ORIGIN],
                }
            }; ORIGINS],
            busy: AtomicBool::new(false),
            unloads: AtomicU32::new(0),
            walks: AtomicU32::new(0),
        }
    }

    /// Forgets all stacks, for a new thread or a new trace.
    pub fn forget(&self) {
        self.forget_numbers();
        self.origins.iter().for_each(|known| known.same.at.store(0, Relaxed));
        self.busy.store(false, Relaxed);
        self.walks.store(0, Relaxed);
    }

    fn forget_numbers(&self) {
        self.known.iter().for_each(|known| known.same.at.store(0, Relaxed));
    }

    /// The number of the stack of at most `N` frames that ends at the call site `at`: the number
    /// that it had before, or what `number` returns. `None` if a stack is being looked up already.
    /// `unloads` counts the object files that were unloaded.
    #[inline(never)]
    pub fn number<const N: usize>(&self, at: usize, unloads: u32, number: impl FnOnce(&[u64]) -> u32) -> Option<u32> {
        let mark = 0u64;
        let here = (&raw const mark).addr();
        if self.busy.swap(true, Relaxed) {
            return None;
        }
        if self.unloads.swap(unloads, Relaxed) != unloads {
            self.forget_numbers();
        }
        let known = &self.known[place(at, here, REMEMBERED)];
        // SAFETY: `here` is the address of `mark`, in this function's frame.
        let found = if unsafe { known.same.is(at, here) } {
            known.number.load(Relaxed)
        } else {
            let (frames, proof) = unwind::walk::<N>(at, here);
            let found = number(frames.addresses());
            // Remembers the stack only if the proof covers the first caller (or there is none):
            // else the stacks of all callers of a wrapper would be taken for this one.
            if proof.callers > 0 || frames.addresses().len() < 2 {
                known.same.set(at, here, proof);
                known.number.store(found, Relaxed);
            }
            found
        };
        self.busy.store(false, Relaxed);
        Some(found)
    }

    /// The origin that begins at the call site `at`; the call site alone if its callers cannot be
    /// found, or not without a lock.
    #[inline(never)]
    pub fn origin(&self, at: usize) -> Origin {
        let mark = 0u64;
        let here = (&raw const mark).addr();
        let alone = || Origin::of([at as u64].into_iter());
        if !unwind::takes_no_lock() || self.busy.swap(true, Relaxed) {
            return alone();
        }
        let known = &self.origins[place(at, here, ORIGINS)];
        // SAFETY: `here` is the address of a variable in this function's frame.
        let frames = if unsafe { known.same.is(at, here) } {
            let count = known.count.load(Relaxed) as usize;
            Origin::of(known.frames.iter().take(count).map(|frame| frame.load(Relaxed)))
        } else if self.walks.load(Relaxed) < WALKS {
            self.walks.store(self.walks.load(Relaxed) + 1, Relaxed);
            let (frames, proof) = unwind::walk::<ORIGIN>(at, here);
            known.keep(at, here, &frames, proof);
            frames
        } else {
            Origin::NONE
        };
        self.busy.store(false, Relaxed);
        if frames.addresses().is_empty() { alone() } else { frames }
    }
}

impl KnownOrigin {
    /// Remembers the frames if the proof covers all of them, because locks are told apart by their
    /// origins.
    fn keep(&self, at: usize, here: usize, frames: &Origin, proof: Proof) {
        if frames.addresses().is_empty() || proof.callers as usize + 1 < frames.addresses().len() {
            return;
        }
        self.same.set(at, here, proof);
        self.count.store(frames.addresses().len() as u32, Relaxed);
        for (place, address) in self.frames.iter().zip(frames.addresses()) {
            place.store(*address, Relaxed);
        }
    }
}

fn place(at: usize, here: usize, places: usize) -> usize {
    ((at ^ here >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % places
}
