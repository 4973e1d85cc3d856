//! Tests for orders of locks that could deadlock, and for orders that cannot.

use baton_trace::analysis::Orders;
use baton_trace::{Clock, Lock, Mode, SiteId, ThreadIndex, Ticks, TraceBuilder, What};

const A: Lock = Lock::mutex(0x1000);
const B: Lock = Lock::mutex(0x2000);
const C: Lock = Lock::mutex(0x3000);
const R: Lock = Lock::rwlock(0x4000);
const S: Lock = Lock::rwlock(0x5000);
const SITE: SiteId = SiteId(7);
use Mode::{Exclusive, Shared};

/// A program written down as its acts in order, one act a tick.
#[derive(Default)]
struct Script {
    events: Vec<(u64, u32, What)>,
    now: u64,
}

impl Script {
    fn act(&mut self, thread: u32, what: What) -> &mut Script {
        self.now += 1;
        self.events.push((self.now, thread, what));
        self
    }
    fn mode(&mut self, thread: u32, lock: Lock, mode: Mode) -> &mut Script {
        self.act(thread, What::Acquire { lock, mode, site: SITE })
    }
    fn take(&mut self, thread: u32, lock: Lock) -> &mut Script {
        self.mode(thread, lock, Exclusive)
    }
    fn tried(&mut self, thread: u32, lock: Lock) -> &mut Script {
        self.take(thread, lock).act(thread, What::Bounded { object: lock.address })
    }
    fn give(&mut self, thread: u32, lock: Lock) -> &mut Script {
        self.act(thread, What::Release { lock, mode: Exclusive, site: SITE })
    }
    /// The thread takes the locks one inside of the other, and releases them in reverse order.
    fn nest(&mut self, thread: u32, locks: &[Lock]) -> &mut Script {
        for lock in locks {
            self.take(thread, *lock);
        }
        for lock in locks.iter().rev() {
            self.give(thread, *lock);
        }
        self
    }
    fn start(&mut self, parent: u32, child: u32) -> &mut Script {
        let handle = 100 + u64::from(child);
        self.act(parent, What::Create { site: SITE }).act(parent, What::Created { handle, error: 0 });
        self.act(child, What::ThreadStart { handle })
    }
    fn join(&mut self, parent: u32, child: u32) -> &mut Script {
        let handle = 100 + u64::from(child);
        self.act(child, What::ThreadEnd { handle }).act(parent, What::JoinEnd { handle, error: 0 })
    }
    /// Returns the addresses of each circle's locks.
    fn circles(&self) -> Vec<Vec<u64>> {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let mut order: Vec<u64> = Vec::new();
        for (time, thread, what) in &self.events {
            if let What::Acquire { lock, .. } | What::Request { lock, .. } = what
                && !order.contains(&lock.address)
            {
                order.push(lock.address);
            }
            trace.push(Ticks(*time), ThreadIndex(*thread), *what);
        }
        let found = Orders::of(&trace.build());
        assert!(!found.cut);
        let locks = |circle: &Vec<baton_trace::analysis::Order>| circle.iter().map(|o| order[o.held.index()]).collect();
        found.circles.iter().map(locks).collect()
    }
}

fn script() -> Script {
    Script::default()
}

#[test]
fn both_orders_are_a_circle_and_one_order_is_none() {
    assert_eq!(script().nest(0, &[A, B]).nest(1, &[B, A]).circles(), [[A.address, B.address]]);
    assert!(script().nest(0, &[A, B]).nest(1, &[A, B]).circles().is_empty());
    assert!(script().nest(0, &[A, B]).nest(0, &[B, A]).circles().is_empty(), "one thread");
    let three = script().nest(0, &[A, B]).nest(1, &[B, C]).nest(2, &[C, A]).circles();
    assert_eq!(three, [[A.address, B.address, C.address]]);
    assert!(script().nest(0, &[A, B]).nest(1, &[B, C]).nest(1, &[C, A]).circles().is_empty(), "two threads of three");
}

#[test]
fn an_order_that_is_waited_for_counts_too() {
    let mut s = script();
    s.take(0, A).take(1, B).act(0, What::Request { lock: B, mode: Exclusive, site: SITE });
    assert_eq!(s.act(1, What::Request { lock: A, mode: Exclusive, site: SITE }).circles().len(), 1);
}

#[test]
fn a_gate_keeps_the_threads_apart_unless_both_share_it() {
    assert!(script().nest(0, &[C, A, B]).nest(1, &[C, B, A]).circles().is_empty());
    let gated = |mode| {
        let mut s = script();
        for (thread, [first, second]) in [(0, [A, B]), (1, [B, A])] {
            s.mode(thread, R, mode).nest(thread, &[first, second]);
            s.act(thread, What::Release { lock: R, mode, site: SITE });
        }
        s.circles().len()
    };
    assert_eq!((gated(Exclusive), gated(Shared)), (0, 1));
}

#[test]
fn a_try_does_not_wait_but_what_it_took_is_held() {
    let mut s = script();
    s.take(0, A).tried(0, B).give(0, B).give(0, A);
    assert!(s.nest(1, &[B, A]).circles().is_empty());
    let mut s = script();
    s.tried(0, A).take(0, B).give(0, B).give(0, A);
    assert_eq!(s.nest(1, &[B, A]).circles().len(), 1);
}

#[test]
fn threads_that_cannot_be_there_together() {
    let mut s = script();
    assert!(s.start(0, 1).nest(1, &[A, B]).join(0, 1).start(0, 2).nest(2, &[B, A]).circles().is_empty());
    let mut s = script();
    assert!(s.nest(0, &[A, B]).start(0, 1).nest(1, &[B, A]).circles().is_empty(), "before the creation");
    let mut s = script();
    assert_eq!(s.start(0, 1).nest(0, &[A, B]).nest(1, &[B, A]).circles().len(), 1, "after it");
    let mut s = script();
    assert_eq!(s.start(0, 1).start(0, 2).nest(1, &[A, B]).nest(2, &[B, A]).join(0, 1).circles().len(), 1);
}

#[test]
fn a_barrier_separates_phases() {
    let (barrier, site) = (0x9000, SITE);
    let meet = |s: &mut Script| {
        for thread in [0, 1] {
            s.act(thread, What::BarrierArrive { barrier, site });
        }
        for thread in [0, 1] {
            s.act(thread, What::BarrierLeave { barrier, serial: false });
        }
    };
    let mut s = script();
    s.nest(0, &[A, B]);
    meet(&mut s);
    assert!(s.nest(1, &[B, A]).circles().is_empty());
    let mut s = script();
    s.nest(0, &[A, B]);
    meet(&mut s);
    s.nest(0, &[A, B]);
    assert_eq!(s.nest(1, &[B, A]).circles().len(), 1, "the first thread does it in both phases");
}

#[test]
fn readers_do_not_wait_for_readers() {
    let nest = |s: &mut Script, thread, outer: (Lock, Mode), inner: (Lock, Mode)| {
        s.mode(thread, outer.0, outer.1).mode(thread, inner.0, inner.1);
        s.act(thread, What::Release { lock: inner.0, mode: inner.1, site: SITE });
        s.act(thread, What::Release { lock: outer.0, mode: outer.1, site: SITE });
    };
    let circles = |a: Mode, b: Mode| {
        let mut s = script();
        nest(&mut s, 0, (R, Shared), (S, a));
        nest(&mut s, 1, (S, Shared), (R, b));
        s.circles().len()
    };
    assert_eq!((circles(Shared, Shared), circles(Exclusive, Shared), circles(Exclusive, Exclusive)), (0, 0, 1));
}

#[test]
fn a_lock_taken_again_is_no_order_and_a_wake_up_takes_its_mutex_inside() {
    let mut s = script();
    s.take(0, A).take(0, B).take(0, A).give(0, A).give(0, B).give(0, A);
    assert!(s.nest(1, &[A, B]).circles().is_empty(), "recursive");
    // Both threads take A and, inside, B; then they wait at a condition variable with mutex A while
    // they hold B. The wake-up takes A again inside of B: a circle.
    let mut s = script();
    for thread in [0, 1] {
        s.take(thread, A).take(thread, B).act(thread, What::CondWait { condition: 0x8000, site: SITE }).give(thread, A);
        let reason = baton_trace::WakeReason::Woken;
        s.act(thread, What::CondWake { condition: 0x8000, reason }).take(thread, A).give(thread, B).give(thread, A);
    }
    assert_eq!(s.circles().len(), 1);
}
