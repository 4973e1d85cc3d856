//! A made-up program for the tests: workers share a hot lock and eight cold ones, and meet at a
//! barrier.
//!
//! Each lock is served in the order of arrival. A waiter that waited long has slept and needs
//! longer to wake. All times come from one seed.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part of it")]

use baton_trace::{Clock, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, Waitable, What};
use std::collections::BTreeMap;

/// The hot lock's address.
pub const TABLE: u64 = 0x40_1000;
/// The cold locks' addresses begin here.
pub const ROWS: u64 = 0x7f00_0000;
/// The barrier's address.
pub const BARRIER: u64 = 0x40_2000;
/// Call site that takes the hot lock.
pub const INSERT: SiteId = SiteId(1);
/// Call site that takes the cold locks.
pub const ROW: SiteId = SiteId(2);
/// Call site that initialised the cold locks.
pub const INIT: SiteId = SiteId(3);

/// A small generator (xorshift64*), so that the trace is the same everywhere.
pub struct Seeded(pub u64);

impl Seeded {
    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// The builder of the made-up program, with `threads` workers of `rounds` rounds each.
pub fn builder(threads: u32, rounds: u32) -> TraceBuilder {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.name_object(TABLE, "table_lock");
    trace.name_object(BARRIER, "phase_barrier");
    trace.site(INSERT, &[0x1001]).site(ROW, &[0x2002]).site(INIT, &[0x3003]);
    trace.push(Ticks(0), ThreadIndex(0), What::ThreadStart { handle: 100 });
    let row = |n: u64| Lock::mutex(ROWS + n * 40);
    for n in 0..8 {
        trace.push(Ticks(10 + n), ThreadIndex(0), What::LockInit { lock: row(n), site: INIT });
    }
    let barrier = What::Init { sort: Waitable::Barrier, address: BARRIER, site: INIT };
    trace.push(Ticks(20), ThreadIndex(0), barrier);
    trace.push(Ticks(21), ThreadIndex(0), What::ProbeCost { probe: 0, picoseconds: 24_500 });
    let mut random = Seeded(42);
    let mut free_at: BTreeMap<u64, u64> = BTreeMap::new();
    // Each worker has a clock of its own. The worker whose clock is furthest behind goes on.
    let mut clocks: Vec<(u64, u32)> = (0..threads).map(|t| (1_000 + u64::from(t) * 700, 0)).collect();
    let last = clocks.len();
    for (t, (start, _)) in clocks.iter().enumerate() {
        trace.push(Ticks(*start), worker(t), What::ThreadStart { handle: 200 + t as u64 });
    }
    while let Some(t) = (0..last).filter(|t| clocks[*t].1 < rounds).min_by_key(|t| clocks[*t].0) {
        let mut now = clocks[t].0 + 1_200 + random.below(4_000);
        let hot = Lock::mutex(TABLE);
        now = section(&mut trace, &mut free_at, now, worker(t), hot, INSERT, 300 + random.below(500));
        now += 200 + random.below(900);
        let cold = row(random.below(8));
        now = section(&mut trace, &mut free_at, now, worker(t), cold, ROW, 60 + random.below(200));
        clocks[t] = (now, clocks[t].1 + 1);
    }
    let arrivals: Vec<u64> = clocks.iter().map(|(now, _)| now + 10).collect();
    let leave = arrivals.iter().max().copied().unwrap_or(0);
    for (t, arrival) in arrivals.iter().enumerate() {
        let end = leave + 500 + t as u64 * 90;
        trace.push(Ticks(*arrival), worker(t), What::BarrierArrive { barrier: BARRIER, site: ROW });
        trace.push(Ticks(end), worker(t), What::BarrierLeave { barrier: BARRIER, serial: t == 0 });
        trace.push(Ticks(end + 50), worker(t), What::ThreadEnd { handle: 200 + t as u64 });
    }
    for t in 0..last as u64 {
        let (begin, end) = (if t == 0 { 2_000 } else { leave + 2_000 + t * 10 }, leave + 2_005 + t * 10);
        trace.push(Ticks(begin), ThreadIndex(0), What::JoinBegin { handle: 200 + t, site: INIT });
        trace.push(Ticks(end), ThreadIndex(0), What::JoinEnd { handle: 200 + t, error: 0 });
    }
    trace.push(Ticks(leave + 9_000), ThreadIndex(0), What::ThreadEnd { handle: 100 });
    trace
}

fn worker(t: usize) -> ThreadIndex {
    ThreadIndex(t as u32 + 1)
}

/// Adds a critical section of `length` that a thread wants at `now`; returns the time at its end.
fn section(
    trace: &mut TraceBuilder,
    free_at: &mut BTreeMap<u64, u64>,
    now: u64,
    thread: ThreadIndex,
    lock: Lock,
    site: SiteId,
    length: u64,
) -> u64 {
    let free = free_at.get(&lock.address).copied().unwrap_or(0);
    let mode = Mode::Exclusive;
    let begin = if free < now {
        trace.push(Ticks(now + 20), thread, What::Acquire { lock, mode, site });
        now + 20
    } else {
        let slept = free - now > 1_500;
        let begin = free + if slept { 900 } else { 80 };
        let how = if slept { How::sleeping(128) } else { How::spinning((free - now) as u32 / 10 + 1) };
        trace.push(Ticks(now), thread, What::Request { lock, mode, site });
        trace.push(Ticks(begin), thread, What::Acquired { lock, mode, how });
        begin
    };
    trace.push(Ticks(begin + length), thread, What::Release { lock, mode, site: SiteId::UNKNOWN });
    free_at.insert(lock.address, begin + length);
    begin + length
}

/// The made-up program's trace.
pub fn trace(threads: u32, rounds: u32) -> Trace {
    builder(threads, rounds).build()
}
