//! Queues of `baton-sync` whose algorithm the user of the program chooses (`baton run --queue`). The
//! library finds the function here by its name, and says for each queue what became of the choice.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A queue is as the user asked. `baton-sync` (`api::record`) has the same number.
const CHOSEN: u32 = 0;

static AS_ASKED: AtomicU64 = AtomicU64::new(0);
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Counts a queue.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
pub extern "C" fn baton_preload_choice(what: u32, _: usize, _: u64) {
    let count = if what == CHOSEN { &AS_ASKED } else { &KEPT };
    count.fetch_add(1, Relaxed);
}

/// Forgets the queues, in a fork's child.
pub fn forget() {
    [&AS_ASKED, &KEPT].iter().for_each(|count| count.store(0, Relaxed));
}

/// Returns how many queues are as the user asked, and how many stayed as the program has them.
pub fn counts() -> (u64, u64) {
    (AS_ASKED.load(Relaxed), KEPT.load(Relaxed))
}
