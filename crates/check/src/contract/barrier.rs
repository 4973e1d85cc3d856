//! What every barrier must do.

use super::mortal::Mortal;
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice, Slot, Wait};
use baton_sync::barrier::ending::Ending;
use baton_sync::barrier::{DropError, RawBarrier};
use core::num::NonZeroU32;

/// No thread goes on before all have arrived, each sees what all did, and one of them is told that it is the one.
pub fn meeting<W: World, B: RawBarrier<W::M>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            meet::<W, B>(crowd, wait, B::new);
        }
    }
}

/// The same when the number of the episode wraps.
pub fn long_life<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        meet::<W, B>(W::few(), wait, B::aged);
    }
}

/// A barrier for one lets it go at once.
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

/// Other guests take the places of those that ended.
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

/// A participant that waits at the barrier is told by the user's bit of its word, sees what was done before, answers, and waits on
/// until all have arrived. A barrier without such a word is not asked.
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

/// Participants drop out, one after another and the last one as well: the others meet on, and see what those did that left. One more
/// is an error that says so. A barrier that cannot do this says so, and goes on as if it had not been asked.
pub fn dropping_out<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        drop_out::<W, B>(W::few().guests, 0, wait, B::new);
    }
}

/// [`dropping_out`] of so many guests, after so many rounds of two meetings of all.
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

/// A barrier that is freed as soon as one participant has returned: [`Ending`] around this one allows it.
pub fn ended_by_the_first<W: World, B: RawBarrier<W::M>>() {
    for &wait in W::WAITS {
        end::<W, Ending<W::M, B>>(wait);
    }
}

/// The participant who returns first frees the barrier.
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
                // SAFETY: freed when all have arrived, and that those who are let go may still be inside is what is tested.
                unsafe { barrier.alive().wait(i as u32, wait) };
                // Relaxed: it says who is first, and no more.
                if returned.fetch_add(1, Ordering::Relaxed) == 0 {
                    // SAFETY: one participant is the first, and no thread comes any more.
                    unsafe { barrier.free() };
                }
            }
        };
        // SAFETY: the guests have ended.
        Scenario::new().guests(guests, guest).finally(move || assert!(unsafe { all.0.is_freed() }, "freed by one"))
    });
}

/// [`meeting`] of one crowd, at the barrier that `new` makes.
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
    // Each round is two meetings of all with all.
    if crowd.guests > 2 { W::skim(plan) } else { W::run(plan) }
}

/// A barrier, and a note that each participant leaves for all the others in each episode.
struct Hall<M: Machine, B> {
    barrier: B,
    notes: OwnedSlice<M, M::Slot<u64>>,
    /// How many threads heard that they are the one.
    chosen: M::Atomic<u64>,
}

// SAFETY: a note is written by its participant, and read by all between two meetings: that is what is tested.
unsafe impl<M: Machine, B: Sync> Sync for Hall<M, B> {}
// SAFETY: as above.
unsafe impl<M: Machine, B: Send> Send for Hall<M, B> {}

impl<M: Machine, B: RawBarrier<M>> Hall<M, B> {
    fn new(participants: usize, new: fn(NonZeroU32) -> B) -> Self {
        let n = NonZeroU32::new(participants as u32).expect("a barrier for somebody");
        let barrier = new(n);
        assert_eq!(barrier.participants(), n.get());
        let notes = OwnedSlice::new(participants, |_| M::Slot::new(0));
        Hall { barrier, notes, chosen: M::Atomic::new(0) }
    }

    /// Leaves a note, meets the others, reads theirs, and meets them again if another note is to come.
    fn visit(&self, me: usize, round: u64, again: bool, wait: Wait) {
        // SAFETY: the others read the note between the two meetings only.
        unsafe { self.notes[me].write(|note| *note = round + 1) };
        self.meet(me, wait);
        for note in self.notes.iter() {
            // SAFETY: the others write theirs after the second meeting only.
            let read = unsafe { note.read(|note| *note) };
            assert_eq!(read, round + 1, "somebody was let go before all had arrived");
        }
        if again {
            self.meet(me, wait);
        }
    }

    /// Meets the others until it is this one's turn to leave, behind those with larger numbers: checkers begin with the executions
    /// in which these are the last to arrive.
    fn leave(&self, me: usize, before: u64, wait: Wait) {
        let n = self.notes.len();
        let turn = |of: usize| n - 1 - of;
        for round in 0..=turn(me) {
            // SAFETY: the others read the note between the two meetings of a round, or when we have left.
            unsafe { self.notes[me].write(|note| *note = before + round as u64 + 1) };
            if round == turn(me) {
                assert_eq!(self.barrier.drop_out(me as u32, wait), Ok(()));
                break;
            }
            self.meet(me, wait);
            for (other, note) in self.notes.iter().enumerate() {
                // SAFETY: those that are there write theirs after the second meeting only, and the others no more.
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

    /// Arrives, and answers once when it is told, as the word's bit says.
    fn wait_and_answer(&self, wait: Wait) {
        let Some(gate) = self.barrier.gate() else { return };
        let value = self.barrier.arrive(0, wait).expect("the other one arrives behind the answer");
        loop {
            // Acquire: see what was done before the bit was set, or before all arrived.
            let now = gate.word.load(Ordering::Acquire);
            if now == value {
                let _ = M::wait_while(gate.word, value, wait, None);
            } else if now & !gate.bit == value {
                // SAFETY: the other one wrote it before it set the bit.
                assert_eq!(unsafe { self.notes[1].read(|note| *note) }, 7, "the bit tells of what was done before");
                // Relaxed: the bit is cleared when this is seen, and the note is not written again.
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

    /// Tells the other one, which may wait at the barrier; arrives when it has answered.
    fn tell(&self, wait: Wait) {
        let Some(gate) = self.barrier.gate() else { return };
        // SAFETY: the other one reads it when the bit is set.
        unsafe { self.notes[1].write(|note| *note = 7) };
        // Release: the note.
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

    /// One participant was chosen in each meeting.
    fn assert_met(&self, meetings: u64) {
        assert_eq!(self.chosen.load(Ordering::Relaxed), meetings, "each meeting chooses one");
    }
}
