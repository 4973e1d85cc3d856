// A program with a Mutex of Rust's standard library. Four threads take it, and sleep in futex when
// it is taken.
use std::sync::{Arc, Mutex};

#[inline(never)]
fn work(total: &Mutex<u64>) {
    for _ in 0..300 {
        let mut guard = total.lock().unwrap();
        for n in 0..20_000u64 {
            *guard = std::hint::black_box(*guard).wrapping_mul(31).wrapping_add(n);
        }
    }
}

fn main() {
    let total = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let total = total.clone();
            std::thread::spawn(move || work(&total))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("ok");
}
