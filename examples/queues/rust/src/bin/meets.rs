//! Three threads of which two wait for the first one, which sleeps: one for a mutex, an initialization
//! and a permit, one for a condition. Then all meet at a barrier, where the first one comes last.
//!
//! `baton profile -- meets MILLISECONDS`

use baton_sync::{Barrier, Condvar, Mutex, Once, Semaphore};
use std::process::ExitCode;
use std::thread::{Builder, sleep};
use std::time::Duration;

static PERMITS: Semaphore = Semaphore::new(0);
static READY: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();
static MEETING: Barrier = Barrier::new(3);
static GREETING: Once = Once::new();
static LOG: Mutex<Vec<&str>> = Mutex::new(Vec::new());

fn main() -> ExitCode {
    let Some(Ok(millis)) = std::env::args().nth(1).map(|text| text.parse()) else {
        eprintln!("usage: meets MILLISECONDS");
        return ExitCode::from(2);
    };
    let mut log = LOG.lock();
    let permitted = Builder::new().name("permitted".to_owned()).spawn(|| {
        LOG.lock().push("greeted");
        GREETING.call_once(|| unreachable!("the first thread has begun it"));
        std::mem::forget(PERMITS.acquire());
        MEETING.wait();
    });
    let notified = Builder::new().name("notified".to_owned()).spawn(|| {
        let mut ready = READY.lock();
        while !*ready {
            CHANGED.wait(&mut ready);
        }
        drop(ready);
        MEETING.wait();
    });
    let (permitted, notified) = (permitted.expect("a thread"), notified.expect("a thread"));
    GREETING.call_once(|| {
        sleep(Duration::from_millis(millis / 4));
        log.push("greets");
        drop(log);
        sleep(Duration::from_millis(millis / 4));
    });
    sleep(Duration::from_millis(millis / 2));
    PERMITS.post();
    *READY.lock() = true;
    CHANGED.notify_one();
    sleep(Duration::from_millis(millis));
    MEETING.wait();
    permitted.join().expect("no panic");
    notified.join().expect("no panic");
    ExitCode::SUCCESS
}
