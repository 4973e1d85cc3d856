//! What a replacement of locks leaves as it is: reader-writer locks, spin locks, semaphores, and the tokens that stand
//! for condition waits. All but the spin lock sleep in the kernel, as glibc's do.

use baton_chip::Simulated;
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait};

type Cell = <Simulated as Machine>::Atomic<u32>;
const WAIT: Wait = Wait::Futex;

/// A semaphore, alone in its pair of lines.
#[repr(C, align(128))]
pub(crate) struct Semaphore(Cell);

impl Semaphore {
    pub(crate) fn new(value: u32) -> Semaphore {
        Semaphore(Atomic::new(value))
    }

    pub(crate) fn take(&self) {
        let mut value = self.0.load(Relaxed);
        loop {
            if value == 0 {
                value = wait(&self.0, 0);
            }
            // Acquire: what came before the post. A value that changed is tried anew.
            match self.0.compare_exchange(value, value - 1, Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => value = now,
            }
        }
    }

    pub(crate) fn post(&self) {
        self.0.fetch_add(1, Release);
        Simulated::wake::<u32>(&self.0, 1, WAIT);
    }
}

/// A reader-writer lock: the writer's bit and the number of readers. Writers do not go before readers (glibc's default).
#[repr(C, align(128))]
pub(crate) struct RwLock(Cell);

const WRITER: u32 = 1 << 31;

impl RwLock {
    pub(crate) fn new() -> RwLock {
        RwLock(Atomic::new(0))
    }

    pub(crate) fn lock(&self, exclusive: bool) {
        let mut state = self.0.load(Relaxed);
        loop {
            let (free, taken) = if exclusive { (state == 0, WRITER) } else { (state & WRITER == 0, state + 1) };
            if !free {
                state = wait(&self.0, state);
            } else {
                // Acquire: what the last holder wrote.
                match self.0.compare_exchange(state, taken, Acquire, Relaxed) {
                    Ok(_) => return,
                    Err(now) => state = now,
                }
            }
        }
    }

    pub(crate) fn unlock(&self, exclusive: bool) {
        let less = if exclusive { WRITER } else { 1 };
        let left = self.0.fetch_add(less.wrapping_neg(), Release) - less;
        if left == 0 {
            Simulated::wake::<u32>(&self.0, u32::MAX, WAIT);
        }
    }
}

/// glibc's `pthread_spinlock_t`: an exchange, and loads with PAUSE between them while it is taken.
#[repr(C, align(128))]
pub(crate) struct SpinLock(Cell);

impl SpinLock {
    pub(crate) fn new() -> SpinLock {
        SpinLock(Atomic::new(0))
    }

    pub(crate) fn lock(&self) {
        // Acquire: what the last holder wrote.
        while self.0.swap(1, Acquire) != 0 {
            // Taken: woken by the change, or told at once that it is free again.
            let _ = Simulated::wait_while(&self.0, 1, Wait::Pause, None);
        }
    }

    pub(crate) fn try_lock(&self) -> Option<()> {
        // Acquire: what the last holder wrote.
        (self.0.swap(1, Acquire) == 0).then_some(())
    }

    pub(crate) fn unlock(&self) {
        self.0.store(0, Release);
    }
}

/// Tokens: one word each, 1 when it lies there.
pub(crate) fn token_wait(token: &Cell) {
    if token.load(Acquire) == 0 {
        wait(token, 0);
    }
}

/// Puts a token down.
pub(crate) fn token_post(token: &Cell) {
    token.store(1, Release);
    Simulated::wake::<u32>(token, 1, WAIT);
}

/// Waits until the cell is not `value`; what it is then.
fn wait(cell: &Cell, value: u32) -> u32 {
    match Simulated::wait_while(cell, value, WAIT, None) {
        baton_machine::WaitResult::Changed(now) => now,
        baton_machine::WaitResult::Expired => unreachable!("no deadline was given"),
    }
}
