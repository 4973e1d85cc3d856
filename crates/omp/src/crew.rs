//! A crew of threads that a program has started itself, for instance as the bodies of a workload.
//! The runtime runs its workers' bodies in them instead of starting threads.
//!
//! | a seat's state | meaning |
//! | --- | --- |
//! | 0 | free |
//! | 1 | taken by a thread that brings a body |
//! | 2 | its thread has a body |
//! | 3 | dismissed: its thread leaves when it has no body any more |

use crate::threads::{Body, Threads};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Slot, Wait};
use std::sync::Arc;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const GIVEN: u32 = 2;
const DISMISSED: u32 = 3;

/// The seat of a thread that waits for bodies.
#[repr(C, align(128))]
struct Seat<M: Machine> {
    state: M::Atomic<u32>,
    body: M::Slot<Option<Body>>,
}

// SAFETY: in state 1 only the thread that took the seat accesses `body`, from state 2 on only the
// seat's own thread (Release and Acquire on the state). State 1 ends by that thread's store alone.
unsafe impl<M: Machine> Sync for Seat<M> {}
// SAFETY: a `Body` may be sent to another thread.
unsafe impl<M: Machine> Send for Seat<M> {}

/// A crew of threads.
pub struct Crew<M: Machine> {
    seats: Arc<Vec<Owned<M, Seat<M>>>>,
    cpus: u32,
    wait: Wait,
}

impl<M: Machine> Clone for Crew<M> {
    fn clone(&self) -> Self {
        Crew { seats: self.seats.clone(), ..*self }
    }
}

impl<M: Machine> Crew<M> {
    /// Makes a crew of `threads` threads beside the initial thread, on `cpus` CPUs. A thread
    /// without a body waits by the policy `wait`.
    pub fn new(threads: u32, cpus: u32, wait: Wait) -> Crew<M> {
        let seat = |_| Owned::new(Seat { state: M::Atomic::new(FREE), body: M::Slot::new(None) });
        Crew { seats: Arc::new((0..threads).map(seat).collect()), cpus, wait }
    }

    /// Called by thread `seat` of the crew, counted from 0: runs the bodies that the thread is
    /// given, until the crew is dismissed.
    pub fn serve(&self, seat: u32) {
        let Seat { state, body } = &*self.seats[seat as usize];
        loop {
            // Acquire: the thread sees the body that goes with state 2.
            let now = state.load(Acquire);
            if now < GIVEN {
                let _ = M::wait_while(state, now, self.wait, None);
                continue;
            }
            // SAFETY: the state is 2 or 3, so only this thread accesses the body.
            let given = unsafe { body.write(|at| (*at).take()) };
            given.into_iter().for_each(|body| body());
            // Release: the thread that takes the seat next sees the body taken out. Acquire on
            // failure: the crew is dismissed, and this thread sees what happened before that.
            if now == DISMISSED || state.compare_exchange(GIVEN, FREE, Release, Acquire).is_err() {
                return;
            }
        }
    }

    /// Lets each thread return when it has ended its body. The crew runs no further body.
    pub fn dismiss(&self) {
        for seat in self.seats.iter() {
            let mut seen = FREE;
            // Release: the crew's threads see what the caller did before. Relaxed on failure: the
            // exchange is tried again.
            while let Err(now) = seat.state.compare_exchange(seen, DISMISSED, Release, Relaxed) {
                // A thread that has taken the seat is about to give it a body: until then only that
                // thread may access the body.
                seen = if now == TAKEN { GIVEN } else { now };
                M::relax();
            }
            M::wake::<u32>(&seat.state, u32::MAX, self.wait);
        }
    }
}

impl<M: Machine> Threads for Crew<M> {
    fn start(&self, body: Body) -> Result<(), String> {
        // Acquire: the thread sees the seat's last body taken out. Relaxed on failure: another seat
        // is tried.
        let take = |seat: &&Owned<M, Seat<M>>| seat.state.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok();
        let Some(seat) = self.seats.iter().find(take) else {
            return Err(format!("each of the crew's {} threads has a body", self.seats.len()));
        };
        // SAFETY: the state is 1, set by this thread, so no other thread accesses the body.
        unsafe { seat.body.write(|at| *at = Some(body)) };
        // Release: the seat's thread sees the body with the state.
        seat.state.store(GIVEN, Release);
        M::wake::<u32>(&seat.state, u32::MAX, self.wait);
        Ok(())
    }

    fn cpus(&self) -> u32 {
        self.cpus
    }
}
