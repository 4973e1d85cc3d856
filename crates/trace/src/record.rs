//! The 16 bytes of an event: two little-endian words, of which the one with the kind byte is
//! written last.
//!
//! ```text
//! word 0   bits 0–7 kind (0 = not written), 8–55 time since the segment's base, 56–63 argument, upper 8 bits
//! word 1   bits 0–47 object, 48–63 argument, lower 16 bits
//! ```
//! `docs/reference/trace-format.md` lists every kind. A kind's number is never reused for another
//! kind.

use crate::event::{
    Construct, FutexEnd, How, Lock, LockKind, Mode, OffReason, SiteId, SystemCall, Waitable, WakeReason, What,
};

/// Number of bytes of a record.
pub const RECORD_BYTES: usize = 16;
/// Mask of the record's two 48-bit fields: time and object.
pub const MASK_48: u64 = (1 << 48) - 1;
/// Mask of the record's 24-bit argument.
pub const MASK_24: u32 = (1 << 24) - 1;

/// Kind bytes of the records that define something. Some definitions carry a payload in the records
/// after them.
pub mod definition {
    /// A call site: object = its innermost return address, argument = its number.
    pub const SITE: u8 = 36;
    /// A further frame of the call site whose number is the argument: object = return address.
    /// Frames come innermost first.
    pub const FRAME: u8 = 37;
    /// The name of a marker or region: object = its number, argument = number of bytes of the name.
    pub const MARKER_NAME: u8 = 48;
    /// The name of an object: object = its address, argument = number of bytes of the name.
    pub const OBJECT_NAME: u8 = 49;
    /// The name of the writing thread: argument = number of bytes of the name.
    pub const THREAD_NAME: u8 = 50;
    /// A loaded module: object = load bias. Payload: start u64, end u64, length of the build id u8,
    /// build id, path.
    pub const MODULE: u8 = 51;
    /// 15 bytes of the payload of the definition before this record.
    pub const BYTES: u8 = 63;
}

/// Lowest kind byte of the lock events, which are made up as `LOCK | lock kind << 4 | operation`.
pub const LOCK: u8 = 0x80;

/// Flag in the argument of `TeamBegin`: the event ends the thread's wait for a region.
const IDLED: u32 = 1 << 23;

/// A record's content, decoded, without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// The kind byte; never 0.
    pub code: u8,
    /// The record's object: an address, a handle or a number of 48 bits.
    pub object: u64,
    /// The record's argument, 24 bits.
    pub arg: u32,
}

impl Raw {
    /// Encodes the record as two words, with its time since the segment's base (48 bits).
    #[inline(always)]
    pub const fn words(self, time: u64) -> [u64; 2] {
        let arg = (self.arg & MASK_24) as u64;
        [self.code as u64 | (time & MASK_48) << 8 | (arg >> 16) << 56, (self.object & MASK_48) | (arg & 0xffff) << 48]
    }

    /// Decodes two words into the time since the segment's base and the rest of the record.
    #[inline]
    pub const fn from_words(words: [u64; 2]) -> (u64, Raw) {
        let arg = (words[1] >> 48) as u32 | ((words[0] >> 56) as u32) << 16;
        ((words[0] >> 8) & MASK_48, Raw { code: words[0] as u8, object: words[1] & MASK_48, arg })
    }
}

/// The operations, the lowest four bits of a lock event's kind byte.
mod op {
    pub(super) const ACQUIRE: u8 = 0;
    pub(super) const REQUEST: u8 = 2;
    pub(super) const ACQUIRED: u8 = 4;
    pub(super) const TRY_FAIL: u8 = 6;
    pub(super) const TIMEOUT: u8 = 8;
    pub(super) const RELEASE: u8 = 10;
    pub(super) const INIT: u8 = 12;
    pub(super) const DESTROY: u8 = 13;
}

#[inline(always)]
const fn lock_code(lock: Lock, mode: Mode, op: u8) -> u8 {
    // An even operation is exclusive; the odd number after it is the shared operation.
    LOCK | (lock.kind as u8) << 4 | op | matches!(mode, Mode::Shared) as u8
}

#[inline(always)]
const fn raw(code: u8, object: u64, arg: u32) -> Raw {
    Raw { code, object, arg }
}

#[inline(always)]
const fn how_arg(how: How) -> u32 {
    let tries = if how.tries > How::MAX_TRIES { How::MAX_TRIES } else { how.tries };
    tries | (how.slept as u32) << 22 | (how.known as u32) << 23
}

const fn arg_how(arg: u32) -> How {
    How { tries: arg & How::MAX_TRIES, slept: arg & 1 << 22 != 0, known: arg & 1 << 23 != 0 }
}

#[inline(always)]
const fn saturate(value: u32) -> u32 {
    if value > MASK_24 { MASK_24 } else { value }
}

#[inline(always)]
const fn waitable_code(sort: Waitable) -> u8 {
    match sort {
        Waitable::Condition => 8,
        Waitable::Barrier => 16,
        Waitable::Semaphore => 20,
        // Futexes and locks of the C library are never initialised: an `Init` of these kinds cannot
        // be written.
        Waitable::Futex | Waitable::LibcLock => 0,
        Waitable::Queue => 69,
    }
}

#[inline(always)]
const fn woke_arg(asked: u32, woken: u32) -> u32 {
    let asked = if asked > What::MANY { What::MANY } else { asked };
    let woken = if woken > What::MANY { What::MANY } else { woken };
    asked << 12 | woken
}

/// The object of a record of yields: the number of calls above their duration.
#[inline(always)]
const fn yields(calls: u32, ticks: u32) -> u64 {
    let calls = if calls > What::MOST_CALLS { What::MOST_CALLS } else { calls };
    (calls as u64) << 32 | ticks as u64
}

impl What {
    /// Encodes the event as a record. This is a `const` function, and free of branches once it is
    /// inlined with a known variant.
    #[inline(always)]
    pub const fn encode(self) -> Raw {
        match self {
            What::Acquire { lock, mode, site } => raw(lock_code(lock, mode, op::ACQUIRE), lock.address, site.0),
            What::Request { lock, mode, site } => raw(lock_code(lock, mode, op::REQUEST), lock.address, site.0),
            What::Acquired { lock, mode, how } => raw(lock_code(lock, mode, op::ACQUIRED), lock.address, how_arg(how)),
            What::TryFail { lock, mode, site } => raw(lock_code(lock, mode, op::TRY_FAIL), lock.address, site.0),
            What::Timeout { lock, mode } => raw(lock_code(lock, mode, op::TIMEOUT), lock.address, 0),
            What::Release { lock, mode, site } => raw(lock_code(lock, mode, op::RELEASE), lock.address, site.0),
            What::LockInit { lock, site } => raw(lock_code(lock, Mode::Exclusive, op::INIT), lock.address, site.0),
            What::LockDestroy { lock } => raw(lock_code(lock, Mode::Exclusive, op::DESTROY), lock.address, 0),
            What::ThreadStart { handle } => raw(1, handle, 0),
            What::ThreadEnd { handle } => raw(2, handle, 0),
            What::Exit => raw(68, 0, 0),
            What::Create { site } => raw(3, 0, site.0),
            What::Created { handle, error } => raw(4, handle, saturate(error)),
            What::JoinBegin { handle, site } => raw(5, handle, site.0),
            What::JoinEnd { handle, error } => raw(6, handle, saturate(error)),
            What::Init { sort, address, site } => raw(waitable_code(sort), address, site.0),
            What::Destroy { sort, address } => raw(waitable_code(sort) + 1, address, 0),
            What::CondWait { condition, site } => raw(10, condition, site.0),
            What::CondMutex { mutex } => raw(11, mutex, 0),
            What::CondWake { condition, reason } => raw(12, condition, reason as u32),
            What::CondSignal { condition, site } => raw(13, condition, site.0),
            What::CondBroadcast { condition, site } => raw(14, condition, site.0),
            What::BarrierArrive { barrier, site } => raw(18, barrier, site.0),
            What::BarrierLeave { barrier, serial } => raw(19, barrier, serial as u32),
            What::Fork { region, site } => raw(29, region, site.0),
            What::TeamBegin { region, threads, idled } => {
                raw(30, region, if threads < IDLED { threads } else { IDLED - 1 } | if idled { IDLED } else { 0 })
            }
            What::IdleBegin { region } => raw(31, region, 0),
            What::Construct { barrier, construct } => raw(52, barrier, construct as u32),
            What::TaskCreate { task, site } => raw(53, task, site.0),
            What::TaskBegin { task } => raw(54, task, 0),
            What::TaskEnd { task } => raw(55, task, 0),
            What::TaskWaitBegin { site } => raw(56, 0, site.0),
            What::TaskWaitEnd => raw(57, 0, 0),
            What::Bounded { object } => raw(61, object, 0),
            What::SemWait { semaphore, site } => raw(22, semaphore, site.0),
            What::SemTaken { semaphore, how } => raw(23, semaphore, how_arg(how)),
            What::SemTake { semaphore, site } => raw(24, semaphore, site.0),
            What::SemPost { semaphore, site } => raw(25, semaphore, site.0),
            What::SemTryFail { semaphore, site } => raw(26, semaphore, site.0),
            What::SemTimeout { semaphore } => raw(27, semaphore, 0),
            What::Attribute { address, value } => raw(28, address, saturate(value)),
            What::FutexWait { futex, site } => raw(58, futex, site.0),
            What::FutexWaitEnd { futex, end } => raw(59, futex, end as u32),
            What::FutexWake { futex, site } => raw(60, futex, site.0),
            What::FutexWoke { futex, asked, woken } => raw(67, futex, woke_arg(asked, woken)),
            What::LibcWait { lock, site } => raw(62, lock, site.0),
            What::LibcTaken { lock } => raw(64, lock, 0),
            What::LibcWake { lock, site } => raw(65, lock, site.0),
            What::Sample { code, micros } => raw(66, code, saturate(micros)),
            What::PutWait { queue, site } => raw(71, queue, site.0),
            What::PutWaited { queue, gave_up } => raw(72, queue, gave_up as u32),
            What::Put { queue, items } => raw(73, queue, saturate(items)),
            What::TakeWait { queue, site } => raw(74, queue, site.0),
            What::TakeWaited { queue, gave_up } => raw(75, queue, gave_up as u32),
            What::Take { queue, items } => raw(76, queue, saturate(items)),
            What::QueueClose { queue, site } => raw(77, queue, site.0),
            What::QueueCapacity { queue, capacity } => raw(78, queue, saturate(capacity)),
            What::Cpu { cpu } => raw(32, 0, saturate(cpu)),
            What::CpuTime { ns } => raw(33, ns, 0),
            What::Affinity { tid, first, group, mask } => {
                raw(38, mask as u64 | (group as u64 & 0x7fff) << 32 | (first as u64) << 47, saturate(tid))
            }
            What::OffCpu { tid, reason } => raw(34, tid as u64, reason as u32),
            What::OnCpu { tid, cpu } => raw(35, tid as u64, saturate(cpu)),
            What::Blocked { site, ticks } => raw(39, ticks, site.0),
            What::Called { call, site } => raw(43, call.to_bits(), site.0),
            What::Yielded { site, calls, ticks } => raw(79, yields(calls, ticks), site.0),
            What::Marker { name, value } => raw(40, value, saturate(name)),
            What::RoiBegin { name } => raw(41, 0, saturate(name)),
            What::RoiEnd { name } => raw(42, 0, saturate(name)),
            What::Note { address, code } => raw(44, address, saturate(code)),
            What::ProbeCost { probe, picoseconds } => raw(45, picoseconds, saturate(probe)),
            What::Pause { ticks } => raw(46, ticks, 0),
            What::Unloaded { start, pages } => raw(47, start, saturate(pages)),
        }
    }

    /// Decodes the event of a record; `None` for a kind that this version does not know, a field
    /// without meaning, or a record of [`definition`].
    pub const fn decode(raw: Raw) -> Option<What> {
        let Raw { code, object, arg } = raw;
        if code & LOCK != 0 {
            return decode_lock(raw);
        }
        let site = SiteId(arg);
        Some(match code {
            1 => What::ThreadStart { handle: object },
            2 => What::ThreadEnd { handle: object },
            3 => What::Create { site },
            4 => What::Created { handle: object, error: arg },
            5 => What::JoinBegin { handle: object, site },
            6 => What::JoinEnd { handle: object, error: arg },
            8 => What::Init { sort: Waitable::Condition, address: object, site },
            9 => What::Destroy { sort: Waitable::Condition, address: object },
            10 => What::CondWait { condition: object, site },
            11 => What::CondMutex { mutex: object },
            12 => What::CondWake {
                condition: object,
                reason: match arg {
                    0 => WakeReason::Woken,
                    1 => WakeReason::TimedOut,
                    2 => WakeReason::Cancelled,
                    _ => return None,
                },
            },
            13 => What::CondSignal { condition: object, site },
            14 => What::CondBroadcast { condition: object, site },
            16 => What::Init { sort: Waitable::Barrier, address: object, site },
            17 => What::Destroy { sort: Waitable::Barrier, address: object },
            18 => What::BarrierArrive { barrier: object, site },
            19 => What::BarrierLeave {
                barrier: object,
                serial: match arg {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            },
            20 => What::Init { sort: Waitable::Semaphore, address: object, site },
            21 => What::Destroy { sort: Waitable::Semaphore, address: object },
            22 => What::SemWait { semaphore: object, site },
            23 => What::SemTaken { semaphore: object, how: arg_how(arg) },
            24 => What::SemTake { semaphore: object, site },
            25 => What::SemPost { semaphore: object, site },
            26 => What::SemTryFail { semaphore: object, site },
            27 => What::SemTimeout { semaphore: object },
            28 => What::Attribute { address: object, value: arg },
            32 => What::Cpu { cpu: arg },
            33 => What::CpuTime { ns: object },
            34 if object <= u32::MAX as u64 => What::OffCpu {
                tid: object as u32,
                reason: match arg {
                    0 => OffReason::Unknown,
                    1 => OffReason::Blocked,
                    2 => OffReason::Preempted,
                    _ => return None,
                },
            },
            35 if object <= u32::MAX as u64 => What::OnCpu { tid: object as u32, cpu: arg },
            43 => What::Called { call: SystemCall::from_bits(object), site },
            38 => What::Affinity {
                tid: arg,
                first: object >> 47 != 0,
                group: (object >> 32) as u32 & 0x7fff,
                mask: object as u32,
            },
            39 => What::Blocked { site, ticks: object },
            40 => What::Marker { name: arg, value: object },
            41 => What::RoiBegin { name: arg },
            42 => What::RoiEnd { name: arg },
            44 => What::Note { address: object, code: arg },
            45 => What::ProbeCost { probe: arg, picoseconds: object },
            46 => What::Pause { ticks: object },
            47 => What::Unloaded { start: object, pages: arg },
            61 => What::Bounded { object },
            58..=60 | 62 | 64..=68 | 79 => return decode_futex(raw),
            _ => return decode_team(raw),
        })
    }
}

/// Decodes events of futexes and of locks inside of the C library, series of yields, and the end of a
/// process; `None` for any other record.
const fn decode_futex(raw: Raw) -> Option<What> {
    let Raw { code, object, arg } = raw;
    let site = SiteId(arg);
    Some(match code {
        58 => What::FutexWait { futex: object, site },
        59 if (arg as usize) < FutexEnd::ALL.len() => {
            What::FutexWaitEnd { futex: object, end: FutexEnd::ALL[arg as usize] }
        }
        60 => What::FutexWake { futex: object, site },
        67 => What::FutexWoke { futex: object, asked: arg >> 12, woken: arg & What::MANY },
        62 => What::LibcWait { lock: object, site },
        64 => What::LibcTaken { lock: object },
        65 => What::LibcWake { lock: object, site },
        66 => What::Sample { code: object, micros: arg },
        68 => What::Exit,
        79 => What::Yielded { site, calls: (object >> 32) as u32, ticks: object as u32 },
        _ => return None,
    })
}

/// Decodes events of queues; `None` for any other record.
const fn decode_queue(raw: Raw) -> Option<What> {
    let Raw { code, object: queue, arg } = raw;
    let site = SiteId(arg);
    Some(match code {
        69 => What::Init { sort: Waitable::Queue, address: queue, site },
        70 => What::Destroy { sort: Waitable::Queue, address: queue },
        71 => What::PutWait { queue, site },
        72 if arg <= 1 => What::PutWaited { queue, gave_up: arg == 1 },
        73 => What::Put { queue, items: arg },
        74 => What::TakeWait { queue, site },
        75 if arg <= 1 => What::TakeWaited { queue, gave_up: arg == 1 },
        76 => What::Take { queue, items: arg },
        77 => What::QueueClose { queue, site },
        78 => What::QueueCapacity { queue, capacity: arg },
        _ => return None,
    })
}

/// Decodes events of OpenMP's teams and tasks, and of queues; `None` for any other record.
const fn decode_team(raw: Raw) -> Option<What> {
    let Raw { code, object, arg } = raw;
    let site = SiteId(arg);
    Some(match code {
        29 => What::Fork { region: object, site },
        30 => What::TeamBegin { region: object, threads: arg & (IDLED - 1), idled: arg & IDLED != 0 },
        31 => What::IdleBegin { region: object },
        52 if 1 <= arg && arg as usize <= Construct::ALL.len() => {
            What::Construct { barrier: object, construct: Construct::ALL[arg as usize - 1] }
        }
        53 => What::TaskCreate { task: object, site },
        54 => What::TaskBegin { task: object },
        55 => What::TaskEnd { task: object },
        56 => What::TaskWaitBegin { site },
        57 => What::TaskWaitEnd,
        _ => return decode_queue(raw),
    })
}

const fn decode_lock(raw: Raw) -> Option<What> {
    let number = (raw.code >> 4 & 7) as usize;
    if number >= LockKind::ALL.len() {
        return None;
    }
    let lock = Lock { address: raw.object, kind: LockKind::ALL[number] };
    let mode = if raw.code & 1 == 0 { Mode::Exclusive } else { Mode::Shared };
    let site = SiteId(raw.arg);
    Some(match (raw.code & 15, raw.code & 14) {
        (op::INIT, _) => What::LockInit { lock, site },
        (op::DESTROY, _) => What::LockDestroy { lock },
        (_, op::ACQUIRE) => What::Acquire { lock, mode, site },
        (_, op::REQUEST) => What::Request { lock, mode, site },
        (_, op::ACQUIRED) => What::Acquired { lock, mode, how: arg_how(raw.arg) },
        (_, op::TRY_FAIL) => What::TryFail { lock, mode, site },
        (_, op::TIMEOUT) => What::Timeout { lock, mode },
        (_, op::RELEASE) => What::Release { lock, mode, site },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind byte that decodes to an event encodes back to the same kind byte and event, for
    /// small and for large arguments.
    #[test]
    fn every_kind_byte_round_trips() {
        let mut known = std::collections::BTreeSet::new();
        for code in 0..=255u8 {
            for arg in [0, 1, 2, MASK_24] {
                let raw = Raw { code, object: 0x1234_5678, arg };
                let Some(what) = What::decode(raw) else { continue };
                known.insert(code);
                let back = what.encode();
                assert_eq!(back.code, code, "{what:?}");
                assert_eq!(What::decode(back), Some(what));
            }
        }
        // 14 operations on 6 kinds of locks, and 70 other kinds. A change that adds a kind also
        // changes `docs/reference/trace-format.md`.
        assert_eq!(known.len(), 6 * 14 + 70);
    }

    #[test]
    fn the_words_hold_every_bit() {
        for raw in [Raw { code: 0xff, object: MASK_48, arg: MASK_24 }, Raw { code: 1, object: 1, arg: 1 << 16 | 1 }] {
            for time in [0, 1, MASK_48] {
                assert_eq!(Raw::from_words(raw.words(time)), (time, raw));
            }
        }
    }

    #[test]
    fn a_zero_record_is_no_event() {
        let (_, raw) = Raw::from_words([0, 0]);
        assert_eq!(What::decode(raw), None);
    }

    #[test]
    fn tries_saturate_without_touching_the_flags() {
        let what = What::Acquired { lock: Lock::mutex(1), mode: Mode::Exclusive, how: How::spinning(u32::MAX) };
        let Some(What::Acquired { how, .. }) = What::decode(what.encode()) else { panic!("not an acquisition") };
        assert_eq!(how, How::spinning(How::MAX_TRIES));
    }
}
