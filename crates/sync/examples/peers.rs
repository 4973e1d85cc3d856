//! Uncontended calls of this crate's objects and of those of others, for counting instructions:
//! `peers NAME N`, or `peers list`. `scripts/check/peer-instructions` counts them. Every object is
//! used as its program would: inlined, its wait policy known, and seen through a black box.

#![allow(clippy::disallowed_types, clippy::mut_mutex_lock, reason = "std's locks are among the peers")]

use baton_machine::{Native, Wait};
use baton_sync::queue::{RawQueue, mpmc, spsc};
use baton_sync::{FairMutex, ManyToMany, Mutex, OneToOne, RwLock, Semaphore, queue_of};
use std::hint::black_box;
use std::process::ExitCode;

/// The size of each queue.
const PLACES: usize = 64;

/// Puts an item into a queue of this crate and takes it out.
#[inline(always)]
fn raw<Q: RawQueue<Native, Item = u64>>(queue: &Q, item: u64) {
    // SAFETY: no other thread has the queue.
    unsafe {
        let _ = black_box(queue.try_enqueue(item, Wait::Pause));
        black_box(queue.try_dequeue(Wait::Pause));
    }
}

/// Declares the programs by name: what is set up, and what is done `n` times.
macro_rules! programs {
    ($($class:literal $name:literal: $setup:expr, $object:ident $item:ident => $body:expr;)*) => {
        const NAMES: &[(&str, &str)] = &[$(($class, $name)),*];

        fn run(wanted: &str, n: u64) -> bool {
            $({
                #[inline(never)]
                fn program(n: u64) {
                    #[allow(unused_mut, reason = "some objects are used by exclusive reference")]
                    let mut $object = $setup;
                    for item in 0..n {
                        #[allow(unused_mut, reason = "as above")]
                        let mut $object = black_box(&mut $object);
                        let $item = black_box(item);
                        let _ = ($item, &$object);
                        $body;
                    }
                }
                if wanted == $name {
                    program(n);
                    return true;
                }
            })*
            false
        }
    };
}

programs! {
    "nothing" "empty loop": 0u64, object item => core::convert::identity(item);
    "mutex" "baton::Mutex": Mutex::<u64>::new(0), lock item => drop(black_box(lock.lock()));
    "mutex" "baton::FairMutex": FairMutex::<u64>::new(0), lock item => drop(black_box(lock.lock()));
    "mutex" "parking_lot::Mutex": parking_lot::Mutex::new(0u64), lock item => drop(black_box(lock.lock()));
    "mutex" "std::sync::Mutex": std::sync::Mutex::new(0u64), lock item => drop(black_box(lock.lock()));
    "read" "baton::RwLock": RwLock::<u64>::new(0), lock item => drop(black_box(lock.read()));
    "read" "parking_lot::RwLock": parking_lot::RwLock::new(0u64), lock item => drop(black_box(lock.read()));
    "read" "std::sync::RwLock": std::sync::RwLock::new(0u64), lock item => drop(black_box(lock.read()));
    "write" "baton::RwLock write": RwLock::<u64>::new(0), lock item => drop(black_box(lock.write()));
    "write" "parking_lot::RwLock write": parking_lot::RwLock::new(0u64), lock item => drop(black_box(lock.write()));
    "write" "std::sync::RwLock write": std::sync::RwLock::new(0u64), lock item => drop(black_box(lock.write()));
    "semaphore" "baton::Semaphore": Semaphore::<baton_sync::Adaptive>::new(1), permits item => drop(black_box(permits.acquire()));
    "spsc" "baton spsc": spsc::Spsc::<Native, u64>::with_capacity(PLACES).expect("a capacity"), queue item => raw(queue, item);
    "spsc" "rtrb": rtrb::RingBuffer::<u64>::new(PLACES), ends item => {
        let _ = black_box(ends.0.push(item));
        let _ = black_box(ends.1.pop());
    };
    "spsc ends" "baton OneToOne": queue_of::<u64, OneToOne>(PLACES).expect("a capacity"), ends item => {
        let _ = black_box(ends.0.try_send(item));
        let _ = black_box(ends.1.try_receive());
    };
    "mpmc" "baton mpmc": mpmc::Mpmc::<Native, u64>::with_capacity(PLACES).expect("a capacity"), queue item => raw(queue, item);
    "mpmc" "crossbeam ArrayQueue": crossbeam_queue::ArrayQueue::<u64>::new(PLACES), queue item => {
        let _ = black_box(queue.push(item));
        black_box(queue.pop());
    };
    "mpmc ends" "baton ManyToMany": queue_of::<u64, ManyToMany>(PLACES).expect("a capacity"), ends item => {
        let _ = black_box(ends.0.try_send(item));
        let _ = black_box(ends.1.try_receive());
    };
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        NAMES.iter().for_each(|(class, name)| println!("{class}\t{name}"));
        return ExitCode::SUCCESS;
    }
    let [name, n] = arguments.as_slice() else { return usage() };
    match n.parse() {
        Ok(n) if run(name, n) => ExitCode::SUCCESS,
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: peers NAME N, or peers list");
    ExitCode::FAILURE
}
