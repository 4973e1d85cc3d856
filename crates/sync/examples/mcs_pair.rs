//! Runs uncontended pairs of lock and unlock, for counting instructions: `mcs_pair
//! generic|hand|LOCK N`. `mcs_pair list` prints kind, name and tenths of instructions of each lock,
//! and of each queue that needs no device, from the registries.
//!
//! `generic` is this crate's MCS lock on the native machine with a node that the caller provides;
//! `hand` is the same algorithm written for this program alone, over `core::sync::atomic`. The
//! generic code must cost nothing extra: `scripts/check/sync-instructions` counts both under
//! callgrind and fails if `generic` takes more. Any other name is a lock of the registry, used as
//! tools use it: its wait policy is known only at run time, and it provides its own nodes.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the hand-written lock is what the algorithms are measured against"
)]

use baton_machine::{Native, Wait};
use baton_sync::lock::mcs::Mcs;
use baton_sync::lock::{self, LOCKS, LockVisitor, RawLock, ZeroInit};
use baton_sync::nodes::Node;
use baton_sync::queue::QUEUES;
use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A hand-written MCS node.
#[repr(align(128))]
struct HandNode {
    next: AtomicPtr<HandNode>,
    waiting: AtomicBool,
}

/// A hand-written MCS lock.
struct Hand {
    tail: AtomicPtr<HandNode>,
}

impl Hand {
    #[inline(always)]
    fn lock(&self, place: &HandNode) {
        place.next.store(null_mut(), Ordering::Relaxed);
        let front = self.tail.swap(from_ref(place).cast_mut(), Ordering::AcqRel);
        if !front.is_null() {
            // SAFETY: the owner of the node in front cannot leave before this thread has linked
            // itself behind it.
            Hand::queue(unsafe { &*front }, place);
        }
    }

    #[cold]
    #[inline(never)]
    fn queue(front: &HandNode, place: &HandNode) {
        place.waiting.store(true, Ordering::Relaxed);
        front.next.store(from_ref(place).cast_mut(), Ordering::Release);
        while place.waiting.load(Ordering::Acquire) {
            spin_loop();
        }
    }

    #[inline(always)]
    fn unlock(&self, place: &HandNode) {
        let mut behind = place.next.load(Ordering::Acquire);
        if behind.is_null() {
            let me = from_ref(place).cast_mut();
            if self.tail.compare_exchange(me, null_mut(), Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
            while behind.is_null() {
                spin_loop();
                behind = place.next.load(Ordering::Acquire);
            }
        }
        // SAFETY: the thread behind waits, so its node is alive.
        unsafe { (*behind).waiting.store(false, Ordering::Release) };
    }
}

#[inline(never)]
fn generic(pairs: u64) {
    let (lock, node) = (Mcs::<Native>::new(), Node::new());
    for _ in 0..pairs {
        let (lock, node) = (black_box(&lock), black_box(&node));
        // SAFETY: the node is alive and in no other queue.
        unsafe {
            lock.lock_node(node, Wait::Pause);
            lock.unlock_node(node, Wait::Pause);
        }
    }
}

#[inline(never)]
fn hand(pairs: u64) {
    let lock = Hand { tail: AtomicPtr::new(null_mut()) };
    let place = HandNode { next: AtomicPtr::new(null_mut()), waiting: AtomicBool::new(false) };
    for _ in 0..pairs {
        let (lock, place) = (black_box(&lock), black_box(&place));
        lock.lock(place);
        lock.unlock(place);
    }
}

/// Locks and unlocks a lock of the registry this many times.
struct Named(u64);

impl LockVisitor<Native> for Named {
    type Out = ();
    #[inline(never)]
    fn visit<L: RawLock<Native> + ZeroInit>(self) {
        let lock = L::new();
        let wait = black_box(L::INFO.wait(None).expect("a lock takes its own policy"));
        for _ in 0..self.0 {
            let lock = black_box(&lock);
            let token = lock.lock(wait);
            // SAFETY: the lock is held by `token`.
            unsafe { lock.unlock(token, wait) };
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        let locks = LOCKS.iter().map(|lock| ("lock", lock.name, lock.counted));
        // The native machine has no queue device.
        let queues = QUEUES.iter().filter(|queue| !queue.device).map(|queue| ("queue", queue.name, queue.counted));
        for (kind, name, counted) in locks.chain(queues) {
            println!("{kind} {name} {}", (counted.instructions * 10.0).round());
        }
        return ExitCode::SUCCESS;
    }
    let [kind, pairs] = arguments.as_slice() else { return usage() };
    let Ok(pairs) = pairs.parse() else { return usage() };
    match kind.as_str() {
        "generic" => generic(pairs),
        "hand" => hand(pairs),
        name => {
            if let Err(unknown) = lock::visit::<Native, _>(name, Named(pairs)) {
                eprintln!("{unknown}");
                return usage();
            }
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: mcs_pair generic|hand|LOCK N, or mcs_pair list");
    ExitCode::FAILURE
}
