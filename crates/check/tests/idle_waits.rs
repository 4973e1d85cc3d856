//! Models, under shuttle, of waiting with a monitor and of halting until an interrupt arrives. No
//! store is missed in any schedule that is tried, even if waits end without a reason. Each step of
//! the protocol is needed: without it, in some schedule a waiter waits for ever or returns without
//! a notice.
//!
//! The models cover the hardware's part of the simulated chip's policies
//! (`crates/chip/src/machine/idle_wait.rs`): a line that one core at a time writes, triggers that
//! fire when a core loses the line, and interrupts that a halted processor remembers.

use shuttle::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// What a processor waits for: a fired trigger, or an interrupt. One that came before the wait ends
/// the wait at once.
#[derive(Default)]
struct Event {
    fired: Mutex<bool>,
    moved: Condvar,
}

impl Event {
    fn fire(&self) {
        *self.fired.lock().unwrap() = true;
        self.moved.notify_all();
    }

    fn wait(&self) {
        let mut fired = self.fired.lock().unwrap();
        while !*fired {
            fired = self.moved.wait(fired).unwrap();
        }
        *fired = false;
    }
}

/// A cache line: its value, and the monitors of the cores that share it. Coherence allows one
/// access at a time.
#[derive(Default)]
struct Line(Mutex<(u32, Vec<Arc<Event>>)>);

impl Line {
    fn load(&self) -> u32 {
        self.0.lock().unwrap().0
    }

    /// Takes the line from its sharers, whose monitors fire, and writes it.
    fn store(&self, value: u32) {
        let mut line = self.0.lock().unwrap();
        line.1.drain(..).for_each(|monitor| monitor.fire());
        line.0 = value;
    }

    /// Drops the line without a store, as when it is evicted or its directory recalls it.
    fn evict(&self) {
        self.0.lock().unwrap().1.drain(..).for_each(|monitor| monitor.fire());
    }

    /// MONITOR: makes the core a sharer and arms its monitor.
    fn monitor(&self, monitor: &Arc<Event>) {
        let mut line = self.0.lock().unwrap();
        *monitor.fired.lock().unwrap() = false;
        line.1.push(monitor.clone());
    }
}

/// Waits while the line holds 0. `looks` says whether the waiter looks between MONITOR and MWAIT.
fn monitored(line: &Line, looks: bool) {
    let monitor = Arc::new(Event::default());
    while line.load() == 0 {
        line.monitor(&monitor);
        if looks && line.load() != 0 {
            return;
        }
        monitor.wait();
    }
}

fn monitors(looks: bool) {
    let line = Arc::new(Line::default());
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let line = line.clone();
            thread::spawn(move || monitored(&line, looks))
        })
        .collect();
    line.evict();
    line.store(1);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

#[test]
fn a_monitor_misses_no_store() {
    shuttle::check_random(|| monitors(true), 3_000);
    shuttle::check_pct(|| monitors(true), 1_000, 3);
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_look_after_monitor_a_store_is_missed() {
    shuttle::check_random(|| monitors(false), 3_000);
}

/// The step of halting that is left out.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// Left out: the kernel's look at the value, in one step with the waiter's entry into the
    /// table.
    Look,
    /// Left out: the waiter's announcement before the kernel's look.
    Announcement,
}

#[derive(Default)]
struct Halted {
    value: AtomicU32,
    announced: AtomicUsize,
    table: Mutex<Vec<Arc<Event>>>,
}

impl Halted {
    fn wait(&self, without: Without) {
        let processor = Arc::new(Event::default());
        while self.value.load(SeqCst) == 0 {
            if without != Without::Announcement {
                self.announced.fetch_add(1, SeqCst);
            }
            let mut table = self.table.lock().unwrap();
            if self.value.load(SeqCst) != 0 && without != Without::Look {
                return;
            }
            table.push(processor.clone());
            drop(table);
            if without == Without::Announcement {
                self.announced.fetch_add(1, SeqCst);
            }
            processor.wait();
            self.announced.fetch_sub(1, SeqCst);
        }
    }

    fn wake(&self) {
        self.value.store(1, SeqCst);
        if self.announced.load(SeqCst) != 0 {
            self.table.lock().unwrap().drain(..).for_each(|processor| processor.fire());
        }
    }
}

fn halts(without: Without) {
    let halted = Arc::new(Halted::default());
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let halted = halted.clone();
            thread::spawn(move || halted.wait(without))
        })
        .collect();
    halted.wake();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

#[test]
fn a_halted_processor_misses_no_interrupt() {
    shuttle::check_random(|| halts(Without::Nothing), 3_000);
    shuttle::check_pct(|| halts(Without::Nothing), 1_000, 3);
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_kernels_look_an_interrupt_is_missed() {
    shuttle::check_random(|| halts(Without::Look), 3_000);
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_the_announcement_before_it_an_interrupt_is_missed() {
    shuttle::check_random(|| halts(Without::Announcement), 3_000);
}

/// The step of the call in Anastopoulos and Koziris' paper (listing 1) that is left out.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    /// Left out: MONITOR in each turn of the loop, so that only the first one arms the monitor.
    Rearming,
    /// Left out: the look between MONITOR and MWAIT.
    Look,
    /// Left out: the look after MWAIT.
    Recheck,
    /// Left out: setting the byte back.
    Reset,
}

const ORIGINAL: u32 = b'a' as u32;
const NOTIFIED: u32 = b'b' as u32;

/// Waits for a notice by the call of listing 1, without the step `lacks`.
fn listing_1(line: &Line, lacks: Lacks) {
    let monitor = Arc::new(Event::default());
    let mut armed = false;
    loop {
        if !armed || lacks != Lacks::Rearming {
            line.monitor(&monitor);
            armed = true;
        }
        if lacks != Lacks::Look && line.load() == NOTIFIED {
            break;
        }
        monitor.wait();
        if lacks == Lacks::Recheck || line.load() == NOTIFIED {
            break;
        }
    }
    if lacks != Lacks::Reset {
        line.store(ORIGINAL);
    }
}

/// Gives two notices one after the other. Each call must return after its own notice, whatever else
/// ends MWAIT.
fn calls(lacks: Lacks) {
    let line = Arc::new(Line::default());
    line.store(ORIGINAL);
    let (notices, back) = (Arc::new(AtomicUsize::new(0)), Arc::new(Event::default()));
    let (waits, told, returns) = (line.clone(), notices.clone(), back.clone());
    let waiter = thread::spawn(move || {
        for round in 1..=2 {
            listing_1(&waits, lacks);
            assert!(told.load(SeqCst) >= round, "woken without a notice");
            returns.fire();
        }
    });
    for round in 1..=2 {
        line.evict();
        notices.store(round, SeqCst);
        line.store(NOTIFIED);
        back.wait();
    }
    waiter.join().unwrap();
}

#[test]
fn the_papers_call_returns_behind_each_notice() {
    shuttle::check_random(|| calls(Lacks::Nothing), 3_000);
    shuttle::check_pct(|| calls(Lacks::Nothing), 1_000, 3);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_call_that_arms_once_misses_a_store() {
    shuttle::check_random(|| calls(Lacks::Rearming), 3_000);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_call_that_does_not_look_misses_a_store() {
    shuttle::check_random(|| calls(Lacks::Look), 3_000);
}

#[test]
#[should_panic(expected = "woken without a notice")]
fn a_call_that_does_not_look_again_returns_too_early() {
    shuttle::check_random(|| calls(Lacks::Recheck), 3_000);
}

#[test]
#[should_panic(expected = "woken without a notice")]
fn a_call_that_does_not_set_the_byte_back_returns_too_early() {
    shuttle::check_random(|| calls(Lacks::Reset), 3_000);
}
