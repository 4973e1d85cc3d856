//! Moves bulks of items into a queue and out again, for counting instructions: `queue_bulk QUEUE N
//! BULK`. It is a program of its own so that it does not change the layout of the other programs'
//! code, whose instructions are counted. `queue_bulk list` prints name, items and tenths of
//! instructions of the queues that move ranges, from the registry.

use baton_machine::{Native, Wait};
use baton_sync::queue::{self, QUEUES, QueueVisitor, RawQueue};
use std::hint::black_box;
use std::process::ExitCode;

/// How many bulks to move, and the items of each.
struct Bulks(u64, usize);

impl QueueVisitor<Native> for Bulks {
    type Out = ();
    #[inline(never)]
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        let queue = Q::with_capacity(64).expect("a queue that this machine has");
        let wait = black_box(Wait::Pause);
        let (items, mut taken) = (vec![7; self.1], vec![0; self.1]);
        for _ in 0..self.0 {
            let queue = black_box(&queue);
            // SAFETY: no other thread has the queue.
            unsafe {
                queue.enqueue_all(black_box(&items), wait);
                queue.dequeue_all(black_box(&mut taken), wait);
            }
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        for (queue, counted) in QUEUES.iter().filter_map(|queue| Some((queue.name, queue.counted_bulk?))) {
            for items in [8, 16, 32] {
                println!("{queue} {items} {}", (counted.of(items) * 10.0).round());
            }
        }
        return ExitCode::SUCCESS;
    }
    let [name, times, bulk] = arguments.as_slice() else { return usage() };
    let (Ok(times), Ok(bulk)) = (times.parse(), bulk.parse()) else { return usage() };
    match queue::visit::<Native, _>(name, Bulks(times, bulk)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(unknown) => {
            eprintln!("{unknown}");
            usage()
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: queue_bulk QUEUE N BULK, or queue_bulk list");
    ExitCode::FAILURE
}
