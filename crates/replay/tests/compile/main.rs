//! Tests how events become scripts, on traces made by hand. One tick is a nanosecond, and the
//! chip's clock is 1 GHz, so a tick is a cycle as well.

#[path = "../common/mod.rs"]
mod common;
mod gaps;
mod locks;
mod shares;
mod teams;
mod threads;
mod waits;

use baton_chip::Chip;
use baton_replay::compile::{Probes, compile};
use baton_replay::program::Program;
use baton_trace::{Clock, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What};

/// A chip on which lock operations cost nothing, but for one cycle a hit, so that gaps become work
/// as they are.
fn chip() -> Chip {
    common::chip(&[
        "core.clock_hz=1000000000",
        "cache.hit=1",
        "cache.atomic=0",
        "cache.transfer.same_cluster=0",
        "os.futex_wake=0",
        "os.futex_wake_none=0",
        "os.futex_wake_more=0",
        "os.wake_idle=0",
    ])
}

const LOCK: Lock = Lock::mutex(64);
const MODE: Mode = Mode::Exclusive;
const SITE: SiteId = SiteId(1);

fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for &(time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

fn program(events: &[(u64, u32, What)]) -> Program {
    compile(&trace(events), &chip(), Probes::Kept)
}

fn acquire() -> What {
    What::Acquire { lock: LOCK, mode: MODE, site: SITE }
}
fn request() -> What {
    What::Request { lock: LOCK, mode: MODE, site: SITE }
}
fn acquired() -> What {
    What::Acquired { lock: LOCK, mode: MODE, how: How::OPAQUE }
}
fn release() -> What {
    What::Release { lock: LOCK, mode: MODE, site: SITE }
}
const START: What = What::ThreadStart { handle: 1 };
const END: What = What::ThreadEnd { handle: 1 };
