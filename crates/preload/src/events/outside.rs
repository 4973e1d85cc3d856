//! Calls that may wait for something outside of locks: input, output, sleep.

use super::session::SESSION;
use super::{sites, streams};
use crate::base::errno;
use crate::thread;
use baton_trace::{Outcome, SystemCall, What, clock};
use core::ffi::c_int;

/// Before such a call: when it began, and what the kernel has told of the thread's switches.
#[derive(Clone, Copy)]
pub struct Before(Option<(u64, Option<u64>)>);

/// The number of a call that has no event of its own: only the time off the CPU in it is told.
pub const UNTOLD: u8 = u8::MAX;

/// What a call was about.
#[derive(Clone, Copy)]
pub enum About {
    /// This file. The call counts if it is a socket or a pipe.
    File(c_int),
    /// A new connection, which the call returned.
    NewFile,
    /// Whether something is ready; 0 is a time-out.
    Readiness,
    /// None of these; 0 is success.
    Nothing,
}

/// The thread is about to make such a call. A thread that is not known yet does nothing that is recorded.
#[inline(always)]
pub fn on_cpu() -> Before {
    let thread = if SESSION.is_open() { thread::existing() } else { None };
    Before(thread.map(|thread| (clock::now(SESSION.source()), thread.switches.told())))
}

/// It has returned: an event if the thread was off its CPU meanwhile, and one with the outcome.
#[inline]
pub fn called(before: Before, at: usize, number: u8, about: About, answer: i64) {
    let (Before(Some((began, told))), Some(thread)) = (before, thread::existing()) else { return };
    errno::kept(|| {
        let left = told.is_some() && thread.switches.told().is_some_and(|now| Some(now) != told);
        let counts = number != UNTOLD && counts(about, answer);
        if !left && !counts {
            return;
        }
        let site = sites::contended(thread, at);
        // With what the site took: an event and its ticks lead to the beginning of the call.
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        if left || ticks >= u64::from(SystemCall::LONG) {
            thread.pen.post_ordered(&SESSION, What::Blocked { site, ticks });
        }
        if counts {
            let ticks = ticks.min(u64::from(SystemCall::LONG)) as u32;
            let call = SystemCall { number, outcome: outcome(about, answer), file: file(about, answer), ticks };
            thread.pen.post_ordered(&SESSION, What::Called { call, site });
        }
    });
}

/// Whether the call has an event of its own.
fn counts(about: About, answer: i64) -> bool {
    match about {
        About::File(file) => streams::is_stream(file),
        About::NewFile => {
            streams::made(answer as c_int);
            true
        }
        About::Readiness | About::Nothing => true,
    }
}

fn file(about: About, answer: i64) -> Option<u16> {
    match about {
        About::File(file) => u16::try_from(file).ok(),
        About::NewFile => u16::try_from(answer).ok(),
        About::Readiness | About::Nothing => None,
    }
}

/// What the call came to; before anything else has set `errno`.
fn outcome(about: About, answer: i64) -> Outcome {
    match (answer, about) {
        (0, About::Readiness | About::File(_)) => Outcome::Nothing,
        (0.., _) => Outcome::Done,
        // Some calls return the error itself, or what is left of a sleep.
        _ if matches!(errno::get(), libc::EAGAIN) => Outcome::WouldWait,
        _ => Outcome::Failed,
    }
}
