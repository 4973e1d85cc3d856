//! Tests with queues: what the dialect reads, what the model allows, and who can wait for ever.

use super::{name, read, wrapped};
use baton_litmus::tso::{Buffers, Endless, Model, YoungerStores};
use baton_litmus::{Quantifier, Test};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MOST: usize = 1_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus-queues")
}

fn files() -> Vec<PathBuf> {
    let entries = |path: &Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let suites = entries(&folder()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = suites.flat_map(|suite| entries(&suite).collect::<Vec<_>>()).collect();
    files.sort_by_key(|path| name(path));
    files
}

/// The verdict of the model, as a table has it.
fn verdict(test: &Test, younger_stores: YoungerStores) -> &'static str {
    let outcomes = Model::paper(younger_stores).outcomes(test, MOST).unwrap();
    assert_eq!(outcomes.endless, None, "{}", test.name);
    assert_ne!(test.condition.quantifier, Quantifier::Forall, "{}", test.name);
    if test.observed(outcomes.states.iter()) { "Allow" } else { "Forbid" }
}

#[test]
fn the_table_has_the_verdicts_of_the_model() {
    let table = std::fs::read_to_string(folder().join("verdicts.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("suite,test,verdict_caf_wait,verdict_caf_pass"));
    let rows: BTreeMap<String, &str> = lines
        .map(|line| {
            let (suite, rest) = line.split_once(',').unwrap();
            let (test, verdicts) = rest.split_once(',').unwrap();
            (format!("{suite}/{test}"), verdicts)
        })
        .collect();
    assert!(rows.len() >= 40, "{} tests", rows.len());
    let files = files();
    assert_eq!(files.iter().map(|path| name(path)).collect::<Vec<_>>(), rows.keys().cloned().collect::<Vec<_>>());
    for path in &files {
        let test = read(path);
        let says = [YoungerStores::Wait, YoungerStores::Pass].map(|younger_stores| verdict(&test, younger_stores));
        assert_eq!(says.join(","), rows[&name(path)], "{}", path.display());
    }
}

/// Verdicts that follow from the text of CAF's paper by hand: whether the model allows the test's
/// outcome if younger stores wait, and if they pass.
const BY_HAND: &[(&str, bool, bool)] = &[
    // Rule (b): an enqueue comes after older stores. A load passes a dequeue, unless the thread
    // waits for the dequeue's item first.
    ("passing/MP+st-enq+deq-use-ld", false, false),
    ("passing/MP+st-enq+deq-mfence-ld", false, false),
    ("passing/MP+st-enq+deq-branch-ld", false, false),
    ("passing/MP+st-enq+deq-po-ld", true, true),
    ("passing/MP+st-enq+deq-nop-ld", true, true),
    ("passing/MP+push-enq+deq-use-ld", false, false),
    ("passing/ISA2+deq-enq-data+deq-use-ld", false, false),
    ("passing/ISA2+deq-enq-po+deq-use-ld", true, true),
    ("passing/ISA2+deq-mfence-enq+deq-use-ld", false, false),
    // Loads pass enqueues. A dequeue whose item the thread waits for comes after the thread's
    // stores, so that it orders like a fence.
    ("buffering/SB+enq+enq", true, true),
    ("buffering/SB+enq-mfence+mfence", false, false),
    ("buffering/SB+deq-use+deq-use", false, false),
    ("buffering/SB+deq+deq", true, true),
    ("buffering/SB+enq+deq-use", true, true),
    // The paper does not say whether younger stores pass requests, so the two columns differ.
    ("younger/LB+deq-po-st+ld-enq", false, true),
    ("younger/LB+deq-use-st+ld-enq", false, false),
    ("younger/S+enq-po-st+st-deq", false, true),
    ("younger/S+enq-mfence-st+st-deq", false, false),
    ("younger/LB+room-po-st+ld-deq", true, true),
    ("younger/MP+deq-st-st+ld-ld", false, false),
    ("younger/MP+deq-st-st+ld-ld-both", false, true),
    // Rule (a): requests for one queue and direction stay in order; others do not.
    ("order/enq-enq+deq-deq", false, false),
    ("order/deq-deq", false, false),
    ("order/deq-enq", true, true),
    ("order/two-queues+enq-po-enq", true, true),
    ("order/two-queues+enq-mfence-enq", false, false),
    ("order/two-queues+deq-po-deq", true, true),
    ("order/two-queues+deq-mfence-deq", false, false),
    ("order/IRIW+opposite-ways", false, false),
    // Priorities change neither.
    ("priority/enq-low-enq-high+deq-deq", false, false),
    ("priority/full-enq-low-enq-high", false, false),
    ("priority/deq-low-deq-high", false, false),
    ("priority/empty-deq-low-deq-high", false, false),
    ("priority/three-enq+deq3", false, false),
    ("priority/two-queues+enq-low-po-enq-high", true, true),
    ("priority/two-queues+enq-low-mfence-enq-high", false, false),
    ("priority/two-queues+deq-low-po-deq-high", true, true),
    // Requests to a full queue wait for room, and requests to an empty queue wait for an item.
    ("capacity/full+enq-po-ld", true, true),
    ("capacity/full+enq-mfence-ld", false, false),
    ("capacity/room+enq-enq-mfence-ld", true, true),
    ("capacity/token+deq-use", false, false),
    ("capacity/token+deq-po", true, true),
    ("capacity/tokens+deq-use", true, true),
    ("contents/behind-the-first", false, false),
    // Rule (c): a push changes no outcome.
    ("prepush/SB+push", true, true),
    ("prepush/MP+st-push-st", false, false),
    ("prepush/CoWW+push", false, false),
];

#[test]
fn the_model_says_what_follows_from_the_paper_by_hand() {
    for &(name, wait, pass) in BY_HAND {
        let test = read(&folder().join(format!("{name}.litmus")));
        let word = |allowed: bool| if allowed { "Allow" } else { "Forbid" };
        assert_eq!(verdict(&test, YoungerStores::Wait), word(wait), "{name}, they wait");
        assert_eq!(verdict(&test, YoungerStores::Pass), word(pass), "{name}, they pass");
    }
}

/// A model with more order allows no further outcome: what a test allows if younger stores wait, it
/// also allows if they pass; what it allows with the device's buffers, it also allows with the
/// paper's order.
#[test]
fn more_order_allows_less() {
    for path in files() {
        let test = read(&path);
        let states = |model: Model| model.outcomes(&test, MOST).unwrap().states;
        let (wait, pass) = (Model::paper(YoungerStores::Wait), Model::paper(YoungerStores::Pass));
        let paper = states(wait);
        assert!(paper.is_subset(&states(pass)), "{}", test.name);
        let device = Model { buffers: Buffers::Context, outstanding: 16, entries: Some(64), ..wait };
        assert!(states(device).is_subset(&paper), "{}", test.name);
    }
}

/// Returns which thread of this test waits for ever in some execution of the model, and for which
/// queue.
fn endless(initial: &str, code: &str, model: Model) -> Option<Endless> {
    let rows: Vec<Vec<&str>> = code.split('|').map(|thread| thread.split('&').map(str::trim).collect()).collect();
    let longest = rows.iter().map(Vec::len).max().unwrap();
    let cell = |thread: &Vec<&str>, row: usize| thread.get(row).copied().unwrap_or("").to_owned();
    let row = |row: usize| rows.iter().map(|thread| cell(thread, row)).collect::<Vec<_>>().join(" | ");
    let table: Vec<String> = (0..longest).map(row).collect();
    let text = wrapped(initial, &table.join(" ;\n "), "exists (true)");
    let header: Vec<String> = (0..rows.len()).map(|thread| format!("P{thread}")).collect();
    let mut lines: Vec<&str> = text.lines().collect();
    let header = format!(" {} ;", header.join(" | "));
    lines[2] = &header;
    Test::parse(&lines.join("\n"), "t").unwrap_or_else(|error| panic!("{error}\n{text}"));
    model.outcomes(&Test::parse(&lines.join("\n"), "t").unwrap(), MOST).unwrap().endless
}

#[test]
fn threads_that_wait_for_ever_are_found() {
    let paper = Model::paper(YoungerStores::Wait);
    let pass = Model::paper(YoungerStores::Pass);
    let context = Model { buffers: Buffers::Context, ..paper };
    let at = |thread, queue| Some(Endless { thread, queue: Some(queue) });
    assert_eq!(endless("queue q[1];", "dequeue %rax,q", paper), at(0, 0));
    assert_eq!(endless("queue q[1]=1;", "dequeue %rax,q", paper), None);
    assert_eq!(endless("queue q[1]=1;", "enqueue $1,q", paper), at(0, 0));
    assert_eq!(endless("queue q[1]=1;", "dequeue %rax,q | dequeue %rbx,q", paper).map(|it| it.queue), Some(Some(0)));
    assert_eq!(endless("queue q[1]=1;", "enqueue $1,q & mfence & dequeue %rax,q", paper), at(0, 0));
    // Thread 0 may jump past the enqueue whose item thread 1 waits for. So thread 1 waits for ever
    // in some executions only.
    let some = "movq (x),%rax & testq %rax,%rax & jne out & enqueue $1,q & out: nop | movq $1,(x) & dequeue %rbx,q";
    assert_eq!(endless("queue q[1];", some, paper), at(1, 0));
    // Each thread waits for the other's item, which it would hand on. In `free`, the enqueued value
    // needs no item, so each enqueue passes its thread's dequeue.
    let ring = "dequeue %rax,q & enqueue %rax,p | dequeue %rax,p & enqueue %rax,q";
    assert_eq!(endless("queue q[1]; queue p[1];", ring, paper), at(0, 0));
    let free = "dequeue %rax,q & enqueue $1,p | dequeue %rax,p & enqueue $1,q";
    assert_eq!(endless("queue q[1]; queue p[1];", free, context), None);
    assert_eq!(endless("queue q[1]; queue p[1];", free, Model { outstanding: 1, ..context }), at(0, 0));
    assert_eq!(endless("queue q[1]; queue p[1];", free, Model { entries: Some(1), ..context }), at(0, 0));
    // The store waits for the dequeue, and the enqueue for the store, unless younger stores pass
    // requests.
    let store = "dequeue %rax,q & movq $1,(x) & enqueue $1,p | dequeue %rax,p & enqueue %rax,q";
    assert_eq!(endless("queue q[1]; queue p[1];", store, paper), at(0, 0));
    assert_eq!(endless("queue q[1]; queue p[1];", store, pass), None);
    // Without entries in the store buffer, the store itself waits for the answers of older
    // requests, or not.
    assert_eq!(endless("queue q[1]; queue p[1];", store, Model { entries: Some(0), ..pass }), None);
    assert_eq!(endless("queue q[1]; queue p[1];", store, Model { entries: Some(0), ..paper }), at(0, 0));
    // Where a thread has one buffer per direction, its dequeue from the empty queue `q` bars its
    // dequeue from `p`, and so its enqueue to `r`.
    let barred = "dequeue %rax,q & dequeue %rbx,p & testq %rbx,%rbx & enqueue $1,r | dequeue %rax,r & enqueue %rax,q";
    assert_eq!(endless("queue q[1]; queue p[1]=1; queue r[1];", barred, paper), None);
    assert_eq!(endless("queue q[1]; queue p[1]=1; queue r[1];", barred, context), at(0, 0));
}

/// Figure 4 of CAF's paper: the enqueue of thread T1 to a full queue bars the enqueue of T2, whose
/// item T1's dequeue waits for.
#[test]
fn figure_4_locks_where_buffers_are_shared() {
    let initial = "queue full[1]=1; queue q[1];";
    let code = "enqueue $1,full & dequeue %rax,q & testq %rax,%rax & dequeue %rbx,full | enqueue $2,q";
    let paper = Model::paper(YoungerStores::Wait);
    assert_eq!(endless(initial, code, paper), None);
    assert_eq!(endless(initial, code, Model { buffers: Buffers::Context, ..paper }), None);
    assert!(endless(initial, code, Model { buffers: Buffers::Shared, ..paper }).is_some());
}

#[test]
fn what_the_dialect_does_not_read_is_named_with_its_line() {
    let good = "exists (x=1)";
    let declared = |initial: &str| wrapped(initial, "movq $1,(x)", good);
    let cases = [
        (declared("queue q;"), 2, "`queue q`: expected a name, its room and its items"),
        (declared("queue 1q[2];"), 2, "expected a name, its room and its items"),
        (declared("queue q[0];"), 2, "`q[0]`: expected room for 1 to 64 items"),
        (declared("queue q[two];"), 2, "expected room for 1 to 64 items"),
        (declared("queue q[2]=1,;"), 2, "`` is no number (an item of `q`)"),
        (declared("queue q[2]=1,b;"), 2, "`b` is no number (an item of `q`)"),
        (declared("queue q[2]=1,2,3;"), 2, "`q` has 3 items at first and room for 2"),
        (declared("queue q[2]; queue q[3];"), 2, "`q` is declared twice"),
        (declared("x=1; queue x[3];"), 2, "`x` is declared twice"),
        (declared("queue q[2]; q=1;"), 2, "`q` is a queue, which has no place in memory"),
        (declared(&(0..17).map(|i| format!("queue q{i}[1];")).collect::<String>()), 2, "more than 16 queues"),
        (wrapped("", "enqueue $1,q", good), 4, "`q` is no queue; the initial state declares them"),
        (wrapped("queue q[2];", "enqueue $1,q@8", good), 4, "`@8`: expected a priority from 0 to 7"),
        (wrapped("queue q[2];", "enqueue $1,p@1", good), 4, "`p@1` is no queue"),
        (declared("queue q[2]; 0:rdi=q@;"), 2, "`@`: expected a priority from 0 to 7"),
        (wrapped("queue q[2];", "enqueue $1", good), 4, "`enqueue`: expected an item and a queue"),
        (wrapped("queue q[2];", "enqueue $a,q", good), 4, "`$a`: expected a number after `$`"),
        (wrapped("queue q[2];", "enqueue %eax,q", good), 4, "`%eax`: items are 64 bits wide"),
        (wrapped("queue q[2];", "enqueue (x),q", good), 4, "`(x)`: expected a register"),
        (wrapped("queue q[2];", "lock enqueue $1,q", good), 4, "instruction `enqueue` is not supported"),
        (wrapped("queue q[2];", "dequeue $1,q", good), 4, "`$1`: expected a register"),
        (wrapped("queue q[2];", "dequeue %foo,q", good), 4, "`%foo` is no register"),
        (wrapped("queue q[2];", "dequeue q", good), 4, "`dequeue`: expected a register and a queue"),
        (wrapped("queue q[2];", "dequeue %rax,%rdi", good), 4, "`%rdi`: the initial state gives it no queue"),
        (wrapped("queue q[2]; 0:rdi=q;", "movq (%rdi),%rax", good), 4, "the register names the queue `q`"),
        (wrapped("queue q[2]; 0:rdi=q;", "dequeue %rdi,%rdi", good), 4, "computes the address in rdi"),
        (wrapped("queue q[2];", "movq (q),%rax", good), 4, "`q` is a queue, which has no place in memory"),
        (wrapped("queue q[2];", "prepush", good), 4, "`prepush`: expected an address"),
        (wrapped("queue q[2];", "prepush %rax", good), 4, "`%rax`: expected an address"),
        (wrapped("queue q[2];", "lfence", good), 4, "`lfence` is not supported in a test with queues"),
        (wrapped("queue q[2];", "movq $1,(x)", "exists (q=1)"), 5, "`q` is no location"),
    ];
    for (text, line, expected) in cases {
        let error = Test::parse(&text, "t.litmus").expect_err(&text);
        assert!(error.message.contains(expected), "expected `{expected}`, got `{error}` of\n{text}");
        assert_eq!(error.line, line, "{error}\n{text}");
    }
}
