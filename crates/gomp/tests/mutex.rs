//! The lock `gomp-mutex` has the words of libgomp's own mutex in the same order of events, for a
//! waiter that sleeps and for one that reads on.

use baton_machine::{Native, Wait};
use baton_sync::lock::RawLock;
use baton_sync::lock::gomp_mutex::Gomp;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread::{scope, sleep};
use std::time::Duration;

/// What `programs/mutex_words.c` prints under GCC's library.
fn theirs(folder: &Path, spins: u32, reads_on: bool) -> String {
    let argument = if reads_on { "1" } else { "0" };
    let output = Command::new("timeout")
        .arg("60")
        .arg(folder.join("mutex_words"))
        .arg(argument)
        .env("GOMP_SPINCOUNT", spins.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same events under `gomp-mutex`.
fn ours(spins: u32, reads_on: bool) -> String {
    let wait = Wait::SpinPark(spins);
    let lock: Gomp<Native> = Gomp::new();
    let word = || {
        // SAFETY: the lock is one word, which all threads access atomically.
        let word = unsafe { &*(&raw const lock).cast::<std::sync::atomic::AtomicI32>() };
        word.load(std::sync::atomic::Ordering::Relaxed)
    };
    let mut said = String::new();
    let mut say = |what: &str, word: i32| writeln!(said, "{what} {word}").unwrap();
    say("free", word());
    lock.lock(wait);
    say("held", word());
    let seen_by_waiter = scope(|threads| {
        let waiter = threads.spawn(|| {
            lock.lock(wait);
            let seen = word();
            // SAFETY: this thread locked it above.
            unsafe { lock.unlock((), wait) };
            seen
        });
        match reads_on {
            true => sleep(Duration::from_millis(50)),
            false => {
                while word() != -1 {
                    sleep(Duration::from_millis(1));
                }
            }
        }
        say("awaited", word());
        // SAFETY: this thread locked it above.
        unsafe { lock.unlock((), wait) };
        waiter.join().unwrap()
    });
    say("held by the waiter", seen_by_waiter);
    say("freed by the waiter", word());
    lock.lock(wait);
    say("held again", word());
    // SAFETY: this thread locked it above.
    unsafe { lock.unlock((), wait) };
    said
}

#[test]
fn words_are_those_of_libgomps_mutex() {
    if !baton_needs::has("gcc", "gomp") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/mutex_words.c");
    let made = Command::new("gcc")
        .args(["-O1", "-fopenmp", "-o"])
        .arg(folder.path().join("mutex_words"))
        .arg(source)
        .status()
        .unwrap();
    assert!(made.success());
    for (spins, reads_on) in [(100, false), (2_000_000_000, true)] {
        let theirs = theirs(folder.path(), spins, reads_on);
        assert_eq!(ours(spins, reads_on), theirs, "{spins} reads");
        let awaited =
            if reads_on { "awaited 1\nheld by the waiter 1\n" } else { "awaited -1\nheld by the waiter -1\n" };
        assert!(theirs.contains(awaited), "{theirs}");
    }
}
