//! Builds items in places that a queue lends and looks at them there, for counting instructions:
//! `queue_lend QUEUE N ITEMS`. It is a program of its own so that it does not change the layout of the
//! other programs' code, whose instructions are counted. `queue_lend list` prints the queues that
//! lend places, each with the number of items at a time.

use baton_machine::{Native, Wait};
use baton_sync::queue::lend::Lends;
use baton_sync::queue::{RawQueue, mpmc::Mpmc, ring_single::RingSingle, spsc::Spsc};
use std::hint::black_box;
use std::process::ExitCode;

/// Moves `times` times `items` items. Returns the sum of what it saw.
#[inline(never)]
fn lend<Q: Lends<Native> + RawQueue<Native, Item = u64>>(times: u64, items: usize) -> u64 {
    let queue = Q::with_capacity(64).expect("64 is a power of two");
    let wait = black_box(Wait::Pause);
    let mut sum = 0;
    for _ in 0..times {
        let queue = black_box(&queue);
        // SAFETY: no other thread has the queue, which is empty. Each place that is used is lent.
        unsafe {
            let places = queue.reserve(black_box(items));
            assert_eq!(places.len(), items, "the queue lends fewer places");
            for i in 0..items {
                places.put(i, black_box(7));
            }
            queue.commit(items, wait);
            let places = queue.peek(black_box(items));
            for i in 0..places.len() {
                sum += places.look(i, |item| *item);
            }
            queue.release(places.len(), wait);
        }
    }
    sum
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == ["list"] {
        print!("spsc 1\nspsc 8\nspsc 32\nring-single 1\nring-single 8\nring-single 32\nmpmc 1\n");
        return ExitCode::SUCCESS;
    }
    let [name, times, items] = arguments.as_slice() else { return usage() };
    let (Ok(times), Ok(items)) = (times.parse(), items.parse()) else { return usage() };
    let sum = match name.as_str() {
        "spsc" => lend::<Spsc<Native, u64>>(times, items),
        "ring-single" => lend::<RingSingle<Native, u64>>(times, items),
        "mpmc" => lend::<Mpmc<Native, u64>>(times, items),
        _ => return usage(),
    };
    assert_eq!(sum, 7 * times * items as u64);
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: queue_lend QUEUE N ITEMS, or queue_lend list; the queues are spsc, ring-single and mpmc");
    ExitCode::FAILURE
}
