//! The tables of docs/locks.md, docs/barriers.md, docs/events.md and docs/queues.md say what the registries say.

use baton_machine::Native;
use baton_sync::barrier::{self, BARRIERS, BarrierVisitor, RawBarrier};
use baton_sync::event::{self, EVENTS, EventVisitor, RawEvent};
use baton_sync::lock::{self, LOCKS, LockVisitor, Posix, RawLock, Waits, ZeroInit};
use baton_sync::queue::{self, QUEUES, QueueVisitor, RawQueue, Side};
use std::fmt::Write;

/// Sizes of a type and of its token, in bytes.
struct Bytes;

impl LockVisitor<Native> for Bytes {
    type Out = (usize, usize);
    fn visit<L: RawLock<Native> + ZeroInit>(self) -> (usize, usize) {
        (size_of::<L>(), size_of::<L::Token>())
    }
}
impl BarrierVisitor<Native> for Bytes {
    type Out = usize;
    fn visit<B: RawBarrier<Native>>(self) -> usize {
        size_of::<B>()
    }
}
impl EventVisitor<Native> for Bytes {
    type Out = usize;
    fn visit<E: RawEvent<Native>>(self) -> usize {
        size_of::<E>()
    }
}
impl QueueVisitor<Native> for Bytes {
    type Out = usize;
    fn visit<Q: RawQueue<Native, Item = u64>>(self) -> usize {
        size_of::<Q>()
    }
}

fn locks() -> String {
    let mut table = String::from(
        "| lock | how it works | source | bytes (and token) | order | try, deadline | waits | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in LOCKS {
        let (lock, token) = lock::visit::<Native, _>(info.name, Bytes).unwrap();
        let bytes = if token == 0 { lock.to_string() } else { format!("{lock} + {token}") };
        let order = if info.fifo { "arrival" } else { "none" };
        let able = match (info.try_lock, info.timed) {
            (true, true) => "both",
            (true, false) => "try",
            _ => "neither",
        };
        let waits = match info.waits {
            Waits::Any => "any".to_owned(),
            Waits::Spinning => "that keep the CPU".to_owned(),
            Waits::Fixed(own) => format!("its own, {own}"),
        };
        let posix = match info.posix {
            Posix::Yes => String::new(),
            Posix::No(why) => format!("; no pthread mutex: {why}"),
        };
        writeln!(
            table,
            "| `{}` | {} | {} | {bytes} | {order} | {able} | {waits} | {}{posix} |",
            info.name, info.what, info.source, info.limits
        )
        .unwrap();
    }
    table
}

fn barriers() -> String {
    let mut table = String::from(
        "| barrier | how it works | source | bytes, without its rows | index | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in BARRIERS {
        let bytes = barrier::visit::<Native, _>(info.name, Bytes).unwrap();
        let index = if info.indexed { "needed" } else { "any" };
        let row =
            format!("| `{}` | {} | {} | {bytes} | {index} | {} |", info.name, info.what, info.source, info.limits);
        writeln!(table, "{row}").unwrap();
    }
    table
}

fn events() -> String {
    let mut table = String::from(
        "| event | how it works | source | bytes | notify_one | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in EVENTS {
        let bytes = event::visit::<Native, _>(info.name, Bytes).unwrap();
        let order = if info.fifo { "the oldest" } else { "all" };
        let row =
            format!("| `{}` | {} | {} | {bytes} | {order} | {} |", info.name, info.what, info.source, info.limits);
        writeln!(table, "{row}").unwrap();
    }
    table
}

fn queues() -> String {
    let mut table = String::from(
        "| queue | how it works | source | bytes, without its places | producers, consumers | bulk | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let side = |side| if side == Side::Single { "one" } else { "many" };
    for info in QUEUES {
        let bytes = queue::visit::<Native, _>(info.name, Bytes).unwrap();
        let bulk = if info.bulk { "yes" } else { "no" };
        writeln!(
            table,
            "| `{}` | {} | {} | {bytes} | {}, {} | {bulk} | {} |",
            info.name,
            info.what,
            info.source,
            side(info.producers),
            side(info.consumers),
            info.limits
        )
        .unwrap();
    }
    table
}

#[test]
fn the_tables_of_the_docs_say_what_the_registries_say() {
    for (page, table) in [("locks", locks()), ("barriers", barriers()), ("events", events()), ("queues", queues())] {
        let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text.contains(&table), "docs/{page}.md lacks this table:\n\n{table}");
    }
}
