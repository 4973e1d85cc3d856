//! The steps of a thread in a few bytes each, because all steps of a recording are in memory at the
//! same time. A time is stored as the difference from the end of the previous gap.

use super::gap::Gap;
use super::held::Outline;
use super::semaphores::Unit;
use super::varint;
use crate::ops::{passed, passing, push};
use crate::program::Op;

/// A step of a thread whose duration is not yet in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Raw {
    /// The time between two events of the thread.
    Gap(Gap),
    Op(Op),
    /// The thread signals a condition variable. Which tokens that puts down is known at the end of
    /// the walk.
    Signal(u32),
    /// The thread takes a unit of a semaphore. The step that replays this is known at the end of
    /// the walk.
    Take(Unit),
    Post(Unit),
    /// A step of a team. It is known, or dropped, at the end of the walk.
    Later(u32),
    /// Time for which the thread is away from its core, in ticks.
    Away(u64),
    /// Announces the thread's next acquisition of a lock: the lock, the number of the place in the
    /// code, and the time at which the thread asked for the lock.
    Site(u32, u32, u64),
    /// The thread's CPU time at this moment, in nanoseconds.
    CpuTime(u64),
}

#[derive(Default)]
pub(crate) struct Track {
    bytes: Vec<u8>,
    /// The last step, if it is a gap: it can still be changed until the next step follows.
    last: Option<Gap>,
    /// The end of the last gap that was written to the bytes.
    ended: u64,
    outline: Outline,
}

impl Track {
    pub(crate) fn push(&mut self, step: Raw) {
        self.outline.step(&step);
        if let Some(gap) = &self.last {
            write_gap(&mut self.bytes, &mut self.ended, gap);
        }
        self.last = match step {
            Raw::Gap(gap) => Some(gap),
            other => {
                write(&mut self.bytes, &mut self.ended, other);
                None
            }
        };
    }

    /// Returns the properties of the steps that were written.
    pub(crate) fn outline(&self) -> Outline {
        self.outline
    }

    /// Returns the last step, if it is a gap to which no step has been added yet.
    pub(crate) fn last_gap(&mut self) -> Option<&mut Gap> {
        self.last.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Raw> + Clone + '_ {
        Reader { bytes: &self.bytes, ended: 0 }.chain(self.last.map(Raw::Gap))
    }

    /// Replaces each step by the steps that `by` writes. The first argument of `by` is the index of
    /// the step.
    pub(crate) fn rewrite(&mut self, mut by: impl FnMut(usize, Raw, &mut Track)) {
        let mut new = Track::default();
        new.bytes.reserve_exact(self.bytes.len() + varint::MOST);
        for (place, step) in self.iter().enumerate() {
            by(place, step, &mut new);
        }
        new.bytes.shrink_to_fit();
        *self = new;
    }
}

const GAP: u8 = 0;
const SIGNAL: u8 = 1;
const TAKE: u8 = 2;
const POST: u8 = 3;
const AWAY: u8 = 4;
const SITE: u8 = 5;
const CPU_TIME: u8 = 6;
const LOCK: u8 = 7;
const UNLOCK: u8 = 8;
const RW_LOCK: u8 = 9;
const RW_UNLOCK: u8 = 10;
const TOKEN_WAIT: u8 = 11;
const TOKEN_POST: u8 = 12;
const SEM_TAKE: u8 = 13;
const SEM_POST: u8 = 14;
const MEET: u8 = 15;
const SPAWN: u8 = 16;
const JOIN: u8 = 17;
const WORK: u8 = 18;
const DELAY: u8 = 19;
const SHARE: u8 = 20;
const LATER: u8 = 21;
const TURN: u8 = 22;
const PUT: u8 = 23;
const GET: u8 = 24;

// Flags for the parts that a gap has besides its length. The first three flags share a byte with
// the step's kind; the others are in the next byte.
const FROM: u16 = 1 << 5;
const TO_RELEASE: u16 = 1 << 6;
const FROM_RELEASE: u16 = 1 << 7;
const PAUSE: u16 = 1 << 8;
const READ: u16 = 1 << 9;
const PRICED: u16 = 1 << 10;
const WOKE: u16 = 1 << 11;
const AFTER_FOREIGN: u16 = 1 << 12;
const CLASS: u16 = 1 << 13;
const KIND: u8 = (1 << 5) - 1;

fn write(bytes: &mut Vec<u8>, ended: &mut u64, step: Raw) {
    let mut put = |kind, value| {
        push(bytes, kind);
        varint::write(bytes, value);
    };
    match step {
        Raw::Gap(gap) => write_gap(bytes, ended, &gap),
        Raw::Op(op) => {
            let (kind, value) = op_as_number(op);
            put(kind, value);
        }
        Raw::Signal(signal) => put(SIGNAL, u64::from(signal)),
        Raw::Take(unit) => put(TAKE, u64::from(unit)),
        Raw::Post(unit) => put(POST, u64::from(unit)),
        Raw::Later(number) => put(LATER, u64::from(number)),
        Raw::Away(ticks) => put(AWAY, ticks),
        Raw::Site(lock, place, time) => {
            put(SITE, u64::from(lock));
            varint::write(bytes, u64::from(place));
            varint::write(bytes, time.wrapping_sub(*ended));
        }
        Raw::CpuTime(ns) => put(CPU_TIME, ns),
    }
}

/// Writes a gap to the bytes, without the fields that `classify` fills in later, which are zero
/// here.
fn write_gap(bytes: &mut Vec<u8>, ended: &mut u64, gap: &Gap) {
    let begin = bytes.len();
    // Leaves room for the flags, which are known when all parts have been written.
    [GAP, 0].into_iter().for_each(|byte| push(bytes, byte));
    varint::write(bytes, gap.to.wrapping_sub(gap.from));
    let mut head = u16::from(GAP);
    head |= if gap.to_release { TO_RELEASE } else { 0 } | if gap.from_release { FROM_RELEASE } else { 0 };
    let mut part = |bit, value: Option<u64>| {
        if let Some(value) = value {
            head |= bit;
            varint::write(bytes, value);
        }
    };
    let unless_zero = |value: u64| (value != 0).then_some(value);
    part(FROM, unless_zero(gap.from.wrapping_sub(*ended)));
    part(PAUSE, unless_zero(gap.pause));
    part(READ, unless_zero(gap.read));
    part(PRICED, unless_zero(gap.priced));
    part(WOKE, unless_zero(gap.woke));
    part(AFTER_FOREIGN, gap.after_foreign.map(u64::from));
    part(CLASS, gap.class.map(u64::from));
    bytes[begin..begin + 2].copy_from_slice(&head.to_le_bytes());
    *ended = gap.to;
}

fn op_as_number(op: Op) -> (u8, u64) {
    let both = |number: u32, exclusive: bool| u64::from(number) << 1 | u64::from(exclusive);
    match op {
        Op::Work(cycles) => (WORK, cycles),
        Op::Delay(cycles) => (DELAY, cycles),
        Op::Lock(lock) => (LOCK, u64::from(lock)),
        Op::Unlock(lock) => (UNLOCK, u64::from(lock)),
        Op::RwLock(lock, exclusive) => (RW_LOCK, both(lock, exclusive)),
        Op::RwUnlock(lock, exclusive) => (RW_UNLOCK, both(lock, exclusive)),
        Op::TokenWait(token) => (TOKEN_WAIT, u64::from(token)),
        Op::TokenPost(token) => (TOKEN_POST, u64::from(token)),
        Op::SemTake(semaphore) => (SEM_TAKE, u64::from(semaphore)),
        Op::SemPost(semaphore) => (SEM_POST, u64::from(semaphore)),
        Op::Meet(barrier) => (MEET, u64::from(barrier)),
        Op::Spawn(thread) => (SPAWN, u64::from(thread)),
        Op::Join(thread) => (JOIN, u64::from(thread)),
        Op::Share(store) => (SHARE, u64::from(store)),
        Op::Turn => (TURN, 0),
        Op::Put(queue, items) => (PUT, passing(queue, items)),
        Op::Take(queue, items) => (GET, passing(queue, items)),
    }
}

/// Reads the steps from the bytes.
#[derive(Clone)]
struct Reader<'a> {
    bytes: &'a [u8],
    ended: u64,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        varint::read(&mut self.bytes)
    }

    fn gap(&mut self, low: u8) -> Option<Gap> {
        let head = u16::from_le_bytes([low, self.byte()?]);
        let length = self.number()?;
        let mut part = |bit| if head & bit != 0 { self.number() } else { Some(0) };
        let (from, pause, read, priced) = (part(FROM)?, part(PAUSE)?, part(READ)?, part(PRICED)?);
        let (woke, after_foreign, class) = (part(WOKE)?, part(AFTER_FOREIGN)?, part(CLASS)?);
        let from = self.ended.wrapping_add(from);
        self.ended = from.wrapping_add(length);
        Some(Gap {
            from,
            to: self.ended,
            pause,
            read,
            to_release: head & TO_RELEASE != 0,
            from_release: head & FROM_RELEASE != 0,
            priced,
            woke,
            after_foreign: (head & AFTER_FOREIGN != 0).then_some(after_foreign as u32),
            class: (head & CLASS != 0).then_some(class as u32),
            ..Gap::default()
        })
    }
}

impl Iterator for Reader<'_> {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        let kind = self.byte()?;
        if kind & KIND == GAP {
            return self.gap(kind).map(Raw::Gap);
        }
        let value = self.number()?;
        let (number, both) = (value as u32, ((value >> 1) as u32, value & 1 != 0));
        Some(match kind {
            SIGNAL => Raw::Signal(number),
            TAKE => Raw::Take(number),
            POST => Raw::Post(number),
            LATER => Raw::Later(number),
            AWAY => Raw::Away(value),
            SITE => Raw::Site(number, self.number()? as u32, self.ended.wrapping_add(self.number()?)),
            CPU_TIME => Raw::CpuTime(value),
            LOCK => Raw::Op(Op::Lock(number)),
            UNLOCK => Raw::Op(Op::Unlock(number)),
            RW_LOCK => Raw::Op(Op::RwLock(both.0, both.1)),
            RW_UNLOCK => Raw::Op(Op::RwUnlock(both.0, both.1)),
            TOKEN_WAIT => Raw::Op(Op::TokenWait(number)),
            TOKEN_POST => Raw::Op(Op::TokenPost(number)),
            SEM_TAKE => Raw::Op(Op::SemTake(number)),
            SEM_POST => Raw::Op(Op::SemPost(number)),
            MEET => Raw::Op(Op::Meet(number)),
            SPAWN => Raw::Op(Op::Spawn(number)),
            JOIN => Raw::Op(Op::Join(number)),
            WORK => Raw::Op(Op::Work(value)),
            DELAY => Raw::Op(Op::Delay(value)),
            TURN => Raw::Op(Op::Turn),
            PUT => Raw::Op(Op::Put(passed(value).0, passed(value).1)),
            GET => Raw::Op(Op::Take(passed(value).0, passed(value).1)),
            _ => Raw::Op(Op::Share(number)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Raw> {
        const M: u32 = u32::MAX;
        let plain = Gap { from: 10, to: 1 << 40, ..Gap::default() };
        let whole = Gap {
            from: 1 << 40,
            to: u64::MAX,
            pause: 1,
            read: 2,
            to_release: true,
            from_release: true,
            priced: 3,
            woke: 4,
            after_foreign: Some(0),
            class: Some(M),
            ..Gap::default()
        };
        let back = Gap { from: 5, to: 5, after_foreign: Some(M), class: Some(0), ..Gap::default() };
        let mut all = vec![Raw::Gap(plain), Raw::Site(M, M, (1 << 40) + 7), Raw::Gap(whole), Raw::Site(0, 0, 3)];
        all.extend([Raw::Gap(back), Raw::Signal(M), Raw::Take(M), Raw::Post(0), Raw::Away(u64::MAX), Raw::CpuTime(9)]);
        let ops = [Op::Work(300), Op::Delay(u64::MAX), Op::Lock(M), Op::Unlock(127), Op::RwLock(M, true)];
        let more = [Op::RwUnlock(128, false), Op::TokenWait(1), Op::TokenPost(2), Op::SemTake(3), Op::SemPost(4)];
        let last =
            [Op::Meet(5), Op::Spawn(6), Op::Join(7), Op::Share(8), Op::Turn, Op::Put(M, 1), Op::Take(9, 0xff_ffff)];
        all.extend(ops.into_iter().chain(more).chain(last).map(Raw::Op));
        all
    }

    #[test]
    fn each_step_comes_out_as_it_went_in() {
        let mut track = Track::default();
        steps().into_iter().for_each(|step| track.push(step));
        assert_eq!(track.iter().collect::<Vec<_>>(), steps());
    }

    #[test]
    fn the_last_gap_can_be_changed_and_steps_replaced() {
        let mut track = Track::default();
        track.push(Raw::Gap(Gap { from: 1, to: 2, ..Gap::default() }));
        track.last_gap().unwrap().class = Some(3);
        track.push(Raw::Signal(1));
        assert!(track.last_gap().is_none());
        track.rewrite(|place, step, new| match step {
            Raw::Signal(_) => (0..2).for_each(|_| new.push(Raw::Op(Op::TokenPost(place as u32)))),
            other => new.push(other),
        });
        let gap = Raw::Gap(Gap { from: 1, to: 2, class: Some(3), ..Gap::default() });
        let post = Raw::Op(Op::TokenPost(1));
        assert_eq!(track.iter().collect::<Vec<_>>(), [gap, post, post]);
    }
}
