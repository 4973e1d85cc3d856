//! A pipeline of three threads, of which the middle one is slow: the thread in front of it finds its
//! queue full, and the thread behind it finds its queue empty.
//!
//! `baton profile -- stages ITEMS MICROSECONDS`
//! `baton run --queue ring -- stages ITEMS MICROSECONDS`

use baton_sync::{Choice, OneToOne, queue_of};
use std::process::ExitCode;
use std::thread::{Builder, sleep};
use std::time::Duration;

fn main() -> ExitCode {
    let numbers: Vec<Option<u64>> = std::env::args().skip(1).map(|text| text.parse().ok()).collect();
    let [Some(items), Some(micros)] = numbers[..] else {
        eprintln!("usage: stages ITEMS MICROSECONDS");
        return ExitCode::from(2);
    };
    let (mut tasks, todo) = queue_of::<u64, Choice<OneToOne>>(4).expect("4 is a capacity");
    let (mut results, done) = queue_of::<u64, Choice<OneToOne>>(8).expect("8 is a capacity");
    let reads = Builder::new().name("reads".to_owned());
    let reads = reads.spawn(move || (0..items).for_each(|item| tasks.send(item).expect("a stage takes them")));
    let works = Builder::new().name("works".to_owned()).spawn(move || {
        for task in todo {
            sleep(Duration::from_micros(micros));
            results.send(task * task).expect("the last stage takes them");
        }
    });
    let writes = Builder::new().name("writes".to_owned()).spawn(move || done.sum::<u64>());
    let (reads, works, writes) = (reads.expect("a thread"), works.expect("a thread"), writes.expect("a thread"));
    reads.join().expect("no panic");
    works.join().expect("no panic");
    println!("{}", writes.join().expect("no panic"));
    ExitCode::SUCCESS
}
