//! Contracts of every barrier.

use super::mortal::Mortal;
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice, Slot, Wait};
use baton_sync::barrier::ending::Ending;
use baton_sync::barrier::{DropError, RawBarrier};
use core::num::NonZeroU32;

/// No thread goes on before all have arrived, each sees what all did, and exactly one is told that
/// it is the chosen one.
pub fn meeting<W: World, B: RawBarrier<W::M>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            meet::<W, B>(crowd, wait, B::new);
        }
    }
}

/// The contract `meeting`, at an age at which the episode's number wraps.
pub fn long_life<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        meet::<W, B>(W::few(), wait, B::aged);
    }
}

/// A barrier for one participant lets it go at once.
pub fn alone<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let barrier = share::<W::M, _>(B::new(NonZeroU32::MIN));
            let all = barrier.clone();
            let scenario = Scenario::new().guest(move || {
                for _ in 0..3 {
                    assert!(barrier.wait(0, wait), "the only participant is the one");
                }
            });
            scenario.finally(move || drop(all))
        });
    }
}

/// Guests of a later wave take the places of guests that have ended.
pub fn comings_and_goings<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let hall = share::<W::M, _>(Hall::<W::M, B>::new(2, B::new));
            let all = hall.clone();
            let guest = |wave: u64| {
                let hall = hall.clone();
                move |i: usize| {
                    let hall = hall.clone();
                    move || hall.visit(i, wave, wave == 0, wait)
                }
            };
            let scenario = Scenario::new().guests(2, guest(0)).then().guests(2, guest(1));
            scenario.finally(move || all.assert_met(3))
        });
    }
}

/// A participant that waits at the barrier is notified by the user's bit of the barrier's word. It
/// sees what was done before the notification, answers, and waits on until all have arrived.
/// Barriers without such a word are skipped.
pub fn told<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let hall = share::<W::M, _>(Hall::<W::M, B>::new(2, B::new));
            let all = hall.clone();
            let (waiter, teller) = (hall.clone(), hall);
            let scenario = Scenario::new().guest(move || waiter.wait_and_answer(wait)).guest(move || teller.tell(wait));
            scenario.finally(move || drop(all))
        });
    }
}

/// Participants drop out one after another, down to the last. The others go on meeting, and see
/// what the leavers did. One more drop is an error that says so. A barrier that does not offer this
/// returns an error, and works on as if it had not been asked.
pub fn dropping_out<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        drop_out::<W, B>(W::few().guests, 0, wait, B::new);
    }
}

/// Tests [`dropping_out`] with `guests` guests, after `before` rounds of two meetings of all
/// guests.
pub fn drop_out<W: World, B: RawBarrier<W::M>>(guests: usize, before: u64, wait: Wait, new: fn(NonZeroU32) -> B) {
    W::skim(move || {
        let hall = share::<W::M, _>(Hall::<W::M, B>::new(guests, new));
        let all = hall.clone();
        let guest = |i| {
            let hall = hall.clone();
            move || {
                (0..before).for_each(|round| hall.visit(i, round, true, wait));
                if B::INFO.drops {
                    hall.leave(i, before, wait);
                } else {
                    let error = DropError::NotOffered { barrier: B::INFO.name };
                    assert_eq!(hall.barrier.drop_out(i as u32, wait), Err(error));
                    hall.visit(i, before, true, wait);
                }
            }
        };
        Scenario::new().guests(guests, guest).finally(move || drop(all))
    });
}

/// One participant frees the barrier as soon as it has returned, which [`Ending`] around a barrier
/// allows.
pub fn ended_by_the_first<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        end::<W, Ending<W::M, B>>(wait);
    }
}

/// The participant that returns first frees the barrier.
pub fn end<W: World, B: RawBarrier<W::M>>(wait: Wait) {
    let guests = W::few().guests;
    W::skim(move || {
        let n = NonZeroU32::new(guests as u32).expect("guests");
        let shared = share::<W::M, _>((Mortal::<W::M, B>::new(B::new(n)), <W::M as Machine>::Atomic::new(0u32)));
        let all = shared.clone();
        let guest = |i: usize| {
            let shared = shared.clone();
            move || {
                let (barrier, returned) = &**shared;
                // SAFETY: the barrier is freed only after all have arrived. That others may still
                // be inside is what is tested.
                unsafe { barrier.alive().wait(i as u32, wait) };
                // Relaxed: the count only says which participant is first.
                if returned.fetch_add(1, Ordering::Relaxed) == 0 {
                    // SAFETY: only one participant is the first, and no thread arrives any more.
                    unsafe { barrier.free() };
                }
            }
        };
        // SAFETY: the guests have ended, so no guest accesses the owner's slot.
        Scenario::new().guests(guests, guest).finally(move || assert!(unsafe { all.0.is_freed() }, "freed by one"))
    });
}

/// Tests [`meeting`] with one crowd, at the barrier that `new` makes.
pub fn meet<W: World, B: RawBarrier<W::M>>(crowd: Crowd, wait: Wait, new: fn(NonZeroU32) -> B) {
    let rounds = crowd.rounds.div_ceil(2) as u64;
    let plan = move || {
        let hall = share::<W::M, _>(Hall::<W::M, B>::new(crowd.guests, new));
        let all = hall.clone();
        let guest = |i| {
            let hall = hall.clone();
            move || (0..rounds).for_each(|round| hall.visit(i, round, round + 1 < rounds, wait))
        };
        Scenario::new().guests(crowd.guests, guest).finally(move || all.assert_met(2 * rounds - 1))
    };
    // All guests meet twice in each round, and once in the last.
    if crowd.guests > 2 { W::skim(plan) } else { W::run(plan) }
}

/// A barrier, and a note that each participant writes for all the others in each episode.
struct Hall<M: Machine, B> {
    barrier: B,
    notes: OwnedSlice<M, M::Slot<u64>>,
    /// Number of threads that were told that they are the chosen one. In the test [`told`]: 1 once
    /// the waiting guest has answered.
    chosen: M::Atomic<u64>,
}

// SAFETY: a note is written by its participant and read by all between two meetings; that this
// works is what is tested.
unsafe impl<M: Machine, B: Sync> Sync for Hall<M, B> {}
// SAFETY: a note is written by its participant and read by all between two meetings; that this
// works is what is tested.
unsafe impl<M: Machine, B: Send> Send for Hall<M, B> {}

impl<M: Machine, B: RawBarrier<M>> Hall<M, B> {
    fn new(participants: usize, new: fn(NonZeroU32) -> B) -> Self {
        let n = NonZeroU32::new(participants as u32).expect("a barrier for somebody");
        let barrier = new(n);
        assert_eq!(barrier.participants(), n.get());
        let notes = OwnedSlice::new(participants, |_| M::Slot::new(0));
        Hall { barrier, notes, chosen: M::Atomic::new(0) }
    }

    /// Writes a note, meets the others, reads their notes, and meets them again if another note
    /// follows.
    fn visit(&self, me: usize, round: u64, again: bool, wait: Wait) {
        // SAFETY: the others read the note only between the two meetings.
        unsafe { self.notes[me].write(|note| *note = round + 1) };
        self.meet(me, wait);
        for note in self.notes.iter() {
            // SAFETY: the others write their notes only after the second meeting.
            let read = unsafe { note.read(|note| *note) };
            assert_eq!(read, round + 1, "somebody was let go before all had arrived");
        }
        if again {
            self.meet(me, wait);
        }
    }

    /// Meets the others until it is this guest's turn to leave, which comes after guests with
    /// larger numbers. Checkers begin with executions in which the larger numbers arrive last.
    fn leave(&self, me: usize, before: u64, wait: Wait) {
        let n = self.notes.len();
        let turn = |of: usize| n - 1 - of;
        for round in 0..=turn(me) {
            // SAFETY: the others read the note only between the two meetings of a round, or after
            // this guest has left.
            unsafe { self.notes[me].write(|note| *note = before + round as u64 + 1) };
            if round == turn(me) {
                assert_eq!(self.barrier.drop_out(me as u32, wait), Ok(()));
                break;
            }
            self.meet(me, wait);
            for (other, note) in self.notes.iter().enumerate() {
                // SAFETY: the guests that are still there write their notes only after the second
                // meeting, and the others write no more.
                let read = unsafe { note.read(|note| *note) };
                assert_eq!(read, before + turn(other).min(round) as u64 + 1, "what {other} wrote, in round {round}");
            }
            self.meet(me, wait);
        }
        if me == 0 {
            let error = DropError::TooMany { barrier: B::INFO.name, participants: n as u32 };
            assert_eq!(self.barrier.drop_out(0, wait), Err(error), "all have left");
        }
    }

    /// Arrives, and answers once when the word's bit tells it to.
    fn wait_and_answer(&self, wait: Wait) {
        let Some(gate) = self.barrier.gate() else { return };
        let value = self.barrier.arrive(0, wait).expect("the other one arrives behind the answer");
        loop {
            // Acquire: sees what was done before the bit was set, or before all arrived.
            let now = gate.word.load(Ordering::Acquire);
            if now == value {
                let _ = M::wait_while(gate.word, value, wait, None);
            } else if now & !gate.bit == value {
                // SAFETY: the other guest wrote the note before it set the bit.
                assert_eq!(unsafe { self.notes[1].read(|note| *note) }, 7, "the bit tells of what was done before");
                // Relaxed: the bit is cleared when the answer is seen, and the note is not written
                // again.
                if self.chosen.swap(1, Ordering::Relaxed) == 0 {
                    M::wake::<u64>(&self.chosen, u32::MAX, wait);
                }
                let _ = M::wait_while(gate.word, now, wait, None);
            } else {
                assert_eq!(now & gate.bit, 0, "the bit is the user's");
                return;
            }
        }
    }

    /// Notifies the other guest, which may wait at the barrier, and arrives when the other guest
    /// has answered.
    fn tell(&self, wait: Wait) {
        let Some(gate) = self.barrier.gate() else { return };
        // SAFETY: the other guest reads the note only when the bit is set.
        unsafe { self.notes[1].write(|note| *note = 7) };
        // Release: publishes the note.
        gate.word.fetch_add(gate.bit, Ordering::Release);
        M::wake::<u32>(gate.word, u32::MAX, wait);
        while self.chosen.load(Ordering::Relaxed) == 0 {
            let _ = M::wait_while(&self.chosen, 0, wait, None);
        }
        gate.word.fetch_add(gate.bit.wrapping_neg(), Ordering::Relaxed);
        assert_eq!(self.barrier.arrive(1, wait), None, "the last one lets all go");
    }

    fn meet(&self, me: usize, wait: Wait) {
        if self.barrier.wait(me as u32, wait) {
            self.chosen.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Asserts that one participant was chosen in each of `meetings` meetings.
    fn assert_met(&self, meetings: u64) {
        assert_eq!(self.chosen.load(Ordering::Relaxed), meetings, "each meeting chooses one");
    }
}
