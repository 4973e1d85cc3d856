//! The objects that a step acquires, releases or waits for, and what follows from that for later
//! passes over a thread's steps.

use super::track::Raw;
use crate::program::Op;

/// An object that a thread can hold: a lock, a reader-writer lock or a semaphore unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    Lock(u32),
    RwLock(u32),
    Semaphore(u32),
}

pub(crate) fn taken(op: Op) -> Option<Held> {
    match op {
        Op::Lock(lock) => Some(Held::Lock(lock)),
        Op::RwLock(lock, _) => Some(Held::RwLock(lock)),
        Op::SemTake(semaphore) => Some(Held::Semaphore(semaphore)),
        _ => None,
    }
}

pub(crate) fn given(op: Op) -> Option<Held> {
    match op {
        Op::Unlock(lock) => Some(Held::Lock(lock)),
        Op::RwUnlock(lock, _) => Some(Held::RwLock(lock)),
        Op::SemPost(semaphore) => Some(Held::Semaphore(semaphore)),
        _ => None,
    }
}

pub(crate) fn needs_others(op: Op) -> bool {
    matches!(op, Op::TokenWait(_) | Op::Meet(_) | Op::Join(_) | Op::Put(..) | Op::Take(..))
}

/// Properties of a thread's steps, collected while they are written, so that a pass can skip
/// threads that it does not concern.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outline {
    /// Whether some steps are resolved only at the end of the walk.
    pub(crate) unsettled: bool,
    held: Option<Held>,
    nests: bool,
}

impl Outline {
    /// Takes the thread's next step into account.
    #[inline]
    pub(crate) fn step(&mut self, step: &Raw) {
        match *step {
            Raw::Op(op) if needs_others(op) => self.nests |= self.held.is_some(),
            Raw::Op(op) => match taken(op) {
                Some(taken) => self.nests |= self.held.replace(taken).is_some(),
                None if given(op) == self.held => self.held = None,
                None => {}
            },
            // The step may turn out to be a wait for other threads.
            Raw::Later(_) => (self.unsettled, self.nests) = (true, self.nests || self.held.is_some()),
            Raw::Signal(_) | Raw::Take(_) | Raw::Post(_) => self.unsettled = true,
            Raw::Gap(_) | Raw::Away(_) | Raw::Site(..) | Raw::CpuTime(_) => {}
        }
    }

    /// Whether the thread always released what it held before it acquired something else or waited
    /// for other threads.
    pub(crate) fn one_at_a_time(&self) -> bool {
        !self.nests && self.held.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(steps: &[Raw]) -> Outline {
        let mut outline = Outline::default();
        steps.iter().for_each(|step| outline.step(step));
        outline
    }

    fn one_at_a_time(ops: &[Op]) -> bool {
        outline(&ops.iter().copied().map(Raw::Op).collect::<Vec<_>>()).one_at_a_time()
    }

    #[test]
    fn a_hold_within_which_something_happens_between_threads_is_found() {
        let (lock, unlock) = (Op::Lock(3), Op::Unlock(3));
        assert!(one_at_a_time(&[
            lock,
            unlock,
            Op::TokenWait(0),
            lock,
            Op::Work(9),
            Op::TokenPost(1),
            unlock,
            Op::Join(1)
        ]));
        assert!(one_at_a_time(&[Op::RwLock(3, false), Op::RwUnlock(3, false), unlock, Op::SemTake(3), Op::SemPost(3)]));
        let waits = [Op::TokenWait(0), Op::Meet(0), Op::Join(1), Op::Put(3, 1), Op::Take(3, 1)];
        for within in waits.into_iter().chain([Op::Lock(4), Op::RwLock(3, true), Op::SemTake(3)]) {
            assert!(!one_at_a_time(&[lock, within, unlock]), "{within:?}");
        }
        assert!(!one_at_a_time(&[unlock, lock]), "it never ends");
        assert!(!one_at_a_time(&[lock, Op::Unlock(4), Op::RwUnlock(3, true), lock, unlock]), "given up too late");
    }

    #[test]
    fn what_is_known_late_is_told() {
        for late in [Raw::Signal(0), Raw::Take(0), Raw::Post(0)] {
            assert!(outline(&[Raw::Op(Op::Lock(0)), late, Raw::CpuTime(1)]).unsettled);
        }
        assert!(!outline(&[Raw::Op(Op::Lock(0)), Raw::Site(0, 0, 0), Raw::Away(1)]).unsettled);
    }
}
