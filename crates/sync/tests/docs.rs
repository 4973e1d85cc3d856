//! Compares the tables in `docs/reference`'s pages on locks, barriers, events and queues with the
//! registries. `BLESS=1 cargo test -p baton-sync --test docs` rewrites them.

use baton_machine::Native;
use baton_sync::barrier::{self, BARRIERS, BarrierVisitor, RawBarrier};
use baton_sync::event::{self, EVENTS, EventVisitor, RawEvent};
use baton_sync::lock::{self, LOCKS, LockVisitor, Posix, RawLock, Waits, ZeroInit};
use baton_sync::queue::{self, QUEUES, QueueVisitor, RawQueue, Side};
use std::fmt::Write;

/// Returns the size of a type, and of its token if it has one, in bytes.
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
        "| lock | how it works | source | bytes (and token) | general | order | try, deadline | waits | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in LOCKS {
        let (lock, token) = lock::visit::<Native, _>(info.name, Bytes).unwrap();
        let bytes = if token == 0 { lock.to_string() } else { format!("{lock} + {token}") };
        let general = if info.general { "yes" } else { "no" };
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
            "| `{}` | {} | {} | {bytes} | {general} | {order} | {able} | {waits} | {}{posix} |",
            info.name, info.what, info.source, info.limits
        )
        .unwrap();
    }
    table
}

fn barriers() -> String {
    let mut table = String::from(
        "| barrier | how it works | source | bytes, without its rows | index | drops | instructions | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in BARRIERS {
        let bytes = barrier::visit::<Native, _>(info.name, Bytes).unwrap();
        let index = if info.indexed { "needed" } else { "any" };
        let drops = if info.drops { "yes" } else { "no" };
        let columns = format!("{bytes} | {index} | {drops} | {}", info.counted.instructions.round());
        writeln!(table, "| `{}` | {} | {} | {columns} | {} |", info.name, info.what, info.source, info.limits).unwrap();
    }
    table
}

fn events() -> String {
    let mut table = String::from(
        "| event | how it works | source | bytes | notify_one | instructions | what it cannot do |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for info in EVENTS {
        let bytes = event::visit::<Native, _>(info.name, Bytes).unwrap();
        let order = if info.fifo { "the oldest" } else { "all" };
        let columns = format!("{bytes} | {order} | {}", info.counted.instructions.round());
        writeln!(table, "| `{}` | {} | {} | {columns} | {} |", info.name, info.what, info.source, info.limits).unwrap();
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

/// Instructions of an uncontended pair of lock and unlock. `scripts/check/sync-instructions`
/// compares the first two rows with each other.
fn instructions() -> String {
    let mut table = String::from(
        "| lock | instructions |\n| --- | --- |\n\
         | MCS with the caller's node, hand-written over core's atomics | 18 |\n\
         | MCS with the caller's node, generic over `Machine` | 17 |\n",
    );
    for info in LOCKS {
        writeln!(table, "| `{}` | {} |", info.name, info.counted.instructions.round()).unwrap();
    }
    table
}

/// Instructions to move an item, and bulks of items, through each queue.
fn ways() -> String {
    let mut table = String::from("| queue | an item | 8 items | 32 items |\n| --- | --- | --- | --- |\n");
    for info in QUEUES.iter().filter(|info| !info.device) {
        let bulk = |items| {
            info.counted_bulk.map_or_else(|| "item by item".to_owned(), |all| all.of(items).round().to_string())
        };
        writeln!(table, "| `{}` | {} | {} | {} |", info.name, info.counted.instructions.round(), bulk(8), bulk(32))
            .unwrap();
    }
    table
}

/// Returns the page with one table replaced: the one that begins with the same line as `table` and
/// ends before a blank line.
fn with_table(page: &str, table: &str) -> String {
    let head = table.lines().next().unwrap();
    let (before, old) = page.split_once(head).unwrap_or_else(|| panic!("no page has a table that begins {head}"));
    let after = old.find("\n\n").map_or("", |end| &old[end + 1..]);
    format!("{before}{table}{after}")
}

#[test]
fn the_tables_of_the_docs_say_what_the_registries_say() {
    let tables = [
        ("locks", locks()),
        ("locks", instructions()),
        ("barriers", barriers()),
        ("events", events()),
        ("queues", queues()),
        ("queues", ways()),
    ];
    for (page, table) in tables {
        let path = format!("{}/../../docs/reference/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let wanted = with_table(&text, &table);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, wanted).unwrap_or_else(|e| panic!("{path}: {e}"));
        } else {
            assert!(
                text == wanted,
                "docs/reference/{page}.md is stale: BLESS=1 cargo test -p baton-sync --test docs\n\n{table}"
            );
        }
    }
}
