//! Counts the words of its arguments, or of its standard input: one thread reads, four count, and
//! the counts meet behind a lock. Prints the three words that are most frequent.

use baton_sync::{Barrier, FairMutex, ManyToMany, Once, poison, queue_of};
use std::collections::BTreeMap;
use std::io::Read;

const THREADS: u32 = 4;

/// What all threads have counted. A thread that panics in the middle of its sums is noticed.
static COUNTS: poison::Mutex<BTreeMap<String, u64>> = poison::Mutex::new(BTreeMap::new());
/// Lines of what happened, in any order.
static LOG: FairMutex<Vec<String>> = FairMutex::new(Vec::new());
static GREETING: Once = Once::new();

fn main() {
    let text = text();
    let (mut lines, all) = queue_of::<String, ManyToMany>(16).expect("16 is a capacity");
    let ready: Barrier = Barrier::new(THREADS);
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            let (all, ready) = (all.clone(), &ready);
            threads.spawn(move || {
                ready.wait();
                count(all);
            });
        }
        drop(all);
        for line in text.lines() {
            lines.send(line.to_owned()).expect("the counting threads take lines until all are sent");
        }
        lines.close();
    });
    let counts = COUNTS.lock().expect("no thread has panicked");
    let mut frequent: Vec<_> = counts.iter().collect();
    frequent.sort_by_key(|(word, count)| (std::cmp::Reverse(**count), (*word).clone()));
    for (word, count) in frequent.iter().take(3) {
        println!("{count} {word}");
    }
    eprintln!("{}", LOG.lock().join("\n"));
    assert!(baton_sync::deadlocks::find().is_empty());
}

fn text() -> String {
    let mut text: String = std::env::args().skip(1).collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        std::io::stdin().read_to_string(&mut text).expect("the input is a text");
    }
    text
}

/// Counts the words of lines until the queue is closed, and adds them to the sums.
fn count(lines: baton_sync::Receiver<String, ManyToMany>) {
    GREETING.call_once(|| LOG.lock().push("the first thread has begun".to_owned()));
    let mut own = BTreeMap::<String, u64>::new();
    for line in lines {
        for word in line.split_whitespace() {
            *own.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    LOG.lock().push(format!("a thread has counted {} words", own.values().sum::<u64>()));
    let mut counts = COUNTS.lock().expect("no thread has panicked");
    for (word, count) in own {
        *counts.entry(word).or_default() += count;
    }
}
