//! Some runs on all cores, which the caller can stop before the last has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The longest time that [`each`] waits for a result before it calls `stop` again.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of a thread's stack: as many as a main thread usually has.
const STACK: usize = 8 << 20;

/// Calls `run` with each number from 0 and below `count`, on all cores, and passes each result to
/// `done` as it comes. Returns true after the last result, and false once `stop` returns true; runs
/// that have begun then go on in the background.
///
/// # Errors
/// No thread can be made.
pub fn each<T: Send + 'static>(
    count: usize,
    stop: &dyn Fn() -> bool,
    run: impl Fn(usize) -> T + Send + Sync + 'static,
    done: &mut dyn FnMut(usize, T),
) -> std::io::Result<bool> {
    let (run, next) = (Arc::new(run), Arc::new(AtomicUsize::new(0)));
    let (sender, results) = channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(count);
    for _ in 0..workers {
        let (run, next, sender) = (run.clone(), next.clone(), sender.clone());
        let work = move || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count || sender.send((at, run(at))).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("point".to_owned()).stack_size(STACK).spawn(work)?;
    }
    drop(sender);
    let mut left = count;
    while left > 0 {
        if stop() {
            return Ok(false);
        }
        match results.recv_timeout(LOOK) {
            Ok((at, result)) => {
                left -= 1;
                done(at, result);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // All threads have ended and results are missing: a run panicked, which ended its
            // thread.
            Err(RecvTimeoutError::Disconnected) => panic!("a run panicked"),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_once_each_until_the_end() {
        let mut found = vec![0; 100];
        let whole = each(100, &|| false, |at| at * at, &mut |at, square| found[at] += square).unwrap();
        assert!(whole && found.iter().enumerate().all(|(at, square)| at * at == *square));
        assert!(each(0, &|| false, |at| at, &mut |_, _| panic!("there is none")).unwrap());
    }

    #[test]
    fn the_end_does_not_wait_for_runs_that_have_begun() {
        let seen = std::cell::Cell::new(0);
        let slow = |at: usize| {
            if at > 0 {
                thread::sleep(Duration::from_secs(600));
            }
        };
        let whole = each(50, &|| seen.get() > 0, slow, &mut |_, ()| seen.set(seen.get() + 1)).unwrap();
        assert!(!whole && seen.get() == 1);
    }
}
