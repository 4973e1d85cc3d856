//! Moves items into a queue and out again, for counting instructions: `queue_pair QUEUE N`. It is a
//! program of its own so that it does not change the layout of the locks' code in `mcs_pair`, whose
//! counts are checked to one instruction.

use baton_machine::{Native, Wait};
use baton_sync::queue::{self, QueueVisitor, RawQueue};
use std::hint::black_box;
use std::process::ExitCode;

/// How many items to move.
struct Items(u64);

impl QueueVisitor<Native> for Items {
    type Out = ();
    #[inline(never)]
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        let queue = Q::with_capacity(64).expect("a queue that this machine has");
        let wait = black_box(Wait::Pause);
        for item in 0..self.0 {
            let queue = black_box(&queue);
            // SAFETY: no other thread has the queue.
            let taken = unsafe {
                queue.enqueue(black_box(item), wait);
                queue.dequeue(wait)
            };
            black_box(taken);
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [name, items] = arguments.as_slice() else { return usage() };
    let Ok(items) = items.parse() else { return usage() };
    match queue::visit::<Native, _>(name, Items(items)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(unknown) => {
            eprintln!("{unknown}");
            usage()
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: queue_pair QUEUE N");
    ExitCode::FAILURE
}
