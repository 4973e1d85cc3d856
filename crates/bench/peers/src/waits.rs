//! Wait policies: two threads hand a word to and fro.

use crate::Subject;
use crate::window::{Apart, run};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::wait::POLICIES;
use baton_machine::{Atomic, Machine, Native, Ordering};

/// The word that ends the game.
const OVER: u32 = u32::MAX;

pub fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for &(wait, _) in POLICIES {
        if let Err(missing) = Native::check(wait) {
            eprintln!("not here: {wait}: {missing}");
            continue;
        }
        subjects.push(Subject::new(wait.to_string(), move |load| {
            let word = Apart(NativeAtomic::new(0u32));
            let (word, rounds) = (&word.0, std::sync::atomic::AtomicU64::new(0));
            run(
                load,
                || rounds.load(Ordering::Relaxed),
                || {},
                |worker| {
                    // The thread with an even number passes an even word on.
                    let side = worker.number as u32 % 2;
                    loop {
                        let mut over = false;
                        worker.operation(|| {
                            let mut now = word.load(Ordering::Acquire);
                            while now != OVER && now % 2 != side {
                                if let baton_machine::WaitResult::Changed(next) =
                                    Native::wait_while(word, now, wait, None)
                                {
                                    now = next;
                                }
                            }
                            over = now == OVER;
                            if !over {
                                word.store(now + 1, Ordering::Release);
                                Native::wake::<u32>(word, 1, wait);
                            }
                        });
                        rounds.fetch_add(1, Ordering::Relaxed);
                        if over {
                            return;
                        }
                        if !worker.goes_on() {
                            word.store(OVER, Ordering::Release);
                            Native::wake::<u32>(word, 1, wait);
                            return;
                        }
                    }
                },
            )
        }));
    }
    subjects
}
