//! Falsifiers, and what the paper leaves open with its effect on the headline.

use super::experiments::{ORDER_ALONE, PARTS as PARTS_AT_HOME};
use super::parts::{PARTS, change, part};
use super::program::Program;
use super::results::Results;
use super::run::Figures;
use super::values::{By, Pair, Value, coh, roi, spinning};
use crate::kit::judge::no_gain;
use crate::kit::open::item;
use crate::kit::{Item, Tornado, over_draws, over_programs, said};
use crate::{Falsifier, Interval, Unspecified};

/// Every falsifier: those that need an order that matters on crowds with meetings, the order at the home.
pub(super) fn falsifiers(results: &Results<'_>, crowd: &Results<'_>) -> Vec<Falsifier> {
    let alone = "; releases first in both arms, so that the order of tries alone is compared";
    let mut all = vec![
        gain(
            crowd,
            "never-sleep",
            "",
            "no gain where the tries are never used up: 1,000,000 of them; crowds, order at the home",
        ),
        exact(results, "free-network", "", "exactly nothing changes where packets never meet and the hint is free"),
        exact(results, "one-thread", "", "exactly nothing changes with one thread and a free hint"),
        gain(crowd, "never-sleep", ORDER_ALONE, &format!("no gain where the tries are never used up{alone}")),
        gain(
            crowd,
            "cheap-sleep",
            "",
            "no gain where sleeping and waking cost next to nothing; crowds, order at the home",
        ),
        gain(
            crowd,
            "cheap-sleep",
            ORDER_ALONE,
            &format!("no gain where sleeping and waking cost next to nothing{alone}"),
        ),
        loss(
            crowd,
            "reversed",
            "",
            "the try with the most left first makes overhead greater; crowds, order at the home",
        ),
        loss(
            crowd,
            "reversed",
            ORDER_ALONE,
            &format!("the try with the most left first makes overhead greater{alone}"),
        ),
    ];
    for (place, what) in [
        ("release-first", "the release first: exactly nothing changes where packets never meet and hints are free"),
        ("holder-first", "the holder first: the same"),
        ("oldest-first", "the oldest try first: the same"),
    ] {
        all.push(exact(results, "free-network, rules", place, what));
    }
    all.extend([
        gain(
            results,
            "few-misses",
            "",
            "the holder first gains nothing over the release first where a section has one line",
        ),
        gain(
            results,
            "one-waiter",
            "",
            "the oldest try first gains nothing over the paper's rule where at most one waits",
        ),
    ]);
    all.push(identity(results));
    all
}

fn gain(results: &Results<'_>, id: &'static str, place: &str, what: &str) -> Falsifier {
    let pairs = results.of(id, place);
    let Some(roi) = over_draws(&pairs, roi) else { return Falsifier::not_run(id, what, "not run") };
    let slept: u64 = pairs.iter().map(|pair| pair.off.account.acquisitions - pair.off.account.entered_spinning).sum();
    let mut figures = named(&pairs);
    figures.push(("half the region's 95% interval, points".to_owned(), roi.half.unwrap_or(0.0)));
    figures.push(("acquisitions after a sleep".to_owned(), slept as f64));
    Falsifier::seen(id, what, no_gain(roi), figures, || {
        let awake = results.of(id, "nobody sleeps");
        let beside = if awake.is_empty() {
            String::new()
        } else {
            format!(". `{id}`, nobody sleeps (1,000,000 tries): {}", change(&awake))
        };
        format!("`{id}`: {}{beside}{}", change(&pairs), by_parts(results, id))
    })
}

/// The overhead must be greater, its interval included.
fn loss(results: &Results<'_>, id: &'static str, place: &str, what: &str) -> Falsifier {
    let pairs = results.of(id, place);
    let Some(less) = over_draws(&pairs, coh) else { return Falsifier::not_run(id, what, "not run") };
    let holds = less.mean + less.half.unwrap_or(0.0) < 0.0;
    let usual = said(over_draws(&results.beside(id, ""), coh));
    Falsifier::seen(id, what, holds, named(&pairs), || {
        let parts = by_parts(results, id);
        format!("`{id}`: overhead less by {}%; `main`, the fewest left first: by {usual}%{parts}", said(Some(less)))
    })
}

/// What releases that are served first do by themselves, and what the order of tries adds; nothing where it was not run.
fn by_parts(results: &Results<'_>, id: &'static str) -> String {
    let less = |group: &str, place: &str, value: Value| said(over_draws(&results.of(group, place), value));
    if results.of(PARTS_AT_HOME, ORDER_ALONE).is_empty() || results.of(id, ORDER_ALONE).is_empty() {
        return String::new();
    }
    format!(
        ". The home's order also serves releases first. `{PARTS_AT_HOME}`: releases alone {}% less overhead and {}% less time; the order of \
         tries, releases first in both arms, {}% and {}%. `{id}`, the same: {}% and {}%",
        less(PARTS_AT_HOME, "releases alone", coh),
        less(PARTS_AT_HOME, "releases alone", roi),
        less(PARTS_AT_HOME, ORDER_ALONE, coh),
        less(PARTS_AT_HOME, ORDER_ALONE, roi),
        less(id, ORDER_ALONE, coh),
        less(id, ORDER_ALONE, roi),
    )
}

fn exact(results: &Results<'_>, id: &'static str, place: &str, what: &str) -> Falsifier {
    let pairs = results.of(id, place);
    let same = |pair: &Pair<'_>| pair.off.cycles == pair.on.cycles && pair.off.account == pair.on.account;
    Falsifier::exact(id, what, &pairs, same, named(&pairs), "something but the network's order depends on the marks")
}

/// The paper's own: its gains contain nothing beyond overhead that was removed. Each part of thread-time says what it adds
/// to the region's reduction, in points; those beside overhead are the difference.
fn identity(results: &Results<'_>) -> Falsifier {
    let id = "identity";
    let what = "the region's reduction is overhead's share times overhead's reduction, within a point, as in table 3";
    let pairs = results.main();
    let beyond = |pair: &Pair<'_>| roi(pair) - part(pair, 0);
    let Some(over) = over_programs(&pairs, beyond) else { return Falsifier::not_run(id, what, "not run") };
    let worst = results.best(beyond, |a, b| a.abs() > b.abs()).filter(|(worst, _)| worst.mean != 0.0);
    let (worst, name) = worst.map_or((0.0, ""), |(worst, name)| (worst.mean, name));
    let holds = worst.abs() <= 1.0;
    let mut figures =
        vec![("mean difference, points".to_owned(), over.mean), ("greatest of a program, points".to_owned(), worst)];
    let there = if name.is_empty() { pairs } else { results.program(name) };
    let mut largest = (0.0f64, "");
    for (n, called) in PARTS.iter().enumerate().skip(1) {
        let Some(of) = over_draws(&there, |pair| part(pair, n)) else { continue };
        figures.push((format!("of {name}: {called}, points"), of.mean));
        largest = if of.mean.abs() > largest.0.abs() { (of.mean, called) } else { largest };
    }
    // Where all threads meet before each section, a thread that waits less for a lock waits longer for the others.
    let meets = |meeting: bool| -> Vec<Pair<'_>> {
        results.main().into_iter().filter(|pair| (pair.program.draw.phase != 0) == meeting).collect()
    };
    let free = results.of("hint", "free");
    let of = |pairs: &[Pair<'_>], what: &dyn Fn(&Pair<'_>) -> f64| said(over_programs(pairs, what));
    Falsifier::seen(id, what, holds, figures, || {
        format!(
            "`main`: of {name} most of the difference is in `{}`. Programs whose threads meet before each section: \
             overhead gives {} points, `{}` gives {}: what a thread waits less for its lock it waits longer for the \
             others. Programs that do not: beyond overhead {} points. `hint`, free registers, botss, ilbdc and imag: {} \
             points",
            largest.1,
            of(&meets(true), &|pair| part(pair, 0)),
            PARTS[3],
            of(&meets(true), &|pair| part(pair, 3)),
            of(&meets(false), &beyond),
            of(&free, &beyond)
        )
    })
}

fn named(pairs: &[Pair<'_>]) -> Vec<(String, f64)> {
    let mut out = Vec::new();
    let mut put = |name: &str, value: Option<Interval>| {
        if let Some(value) = value {
            out.push((name.to_owned(), value.mean));
        }
    };
    put("region's reduction, %", over_draws(pairs, roi));
    put("overhead's reduction, %", over_draws(pairs, coh));
    put("more entered spinning, points", over_draws(pairs, spinning));
    out
}

/// What the paper leaves open. Those that can decide the sign stand first.
pub(super) const ITEMS: &[Item] = &[
    item("a try", "LL/SC, as an Alpha has it: a try that cannot succeed reads, and may hit", "near, far, LL/SC"),
    item(
        "sleep and wake-up",
        "2,000 cycles to sleep, 2,000 to wake, 16,000 until the sleeper runs: with them the draws show all that is printed. Figure 10 \
         does not allow it: of its 3,000 cycles a thread is blocked for 996 on average, 561 with marks, so a sleep that is saved \
         in it took no thread more than its 3,000, and some 1,000 if each thread slept once",
        "a sixteenth (1,250 cycles) to ten times",
    ),
    item(
        "who wakes",
        "the home of the lock's queue, by a packet, asked by another (sections 3.3, 4.1)",
        "within the price; a packet from the waker",
    ),
    item(
        "program's shape",
        "the three that show what is printed: short sections behind many locks, long sections after a meeting of all threads, crowds \
         with meetings (docs/reference/workloads.md); every claim is given by shape",
        "crowds of 16 to 32 threads a lock that do not show it",
    ),
    item("home's places", "32, a bank's MSHRs: beyond them requests wait in routers", "1 to unbounded"),
    item(
        "cpu_relax",
        "2 cycles: a compiler barrier on an Alpha, so the loop alone",
        "10 (Alpha loop) to 140 (x86 since 2017)",
    ),
    item(
        "woken threads",
        "all tries again; wakes only if the word says that somebody sleeps",
        "one try; a wake at each unlock; the lock granted to them, as algorithm 1 is printed (`spin-park-granted`)",
    ),
    item("spin count", "128, as printed", "8 to 1,024"),
    item(
        "rule 1, progress",
        "8 values, one each 16 sections, wrapping: the segments of rule 3",
        "none; each section; saturating",
    ),
    item("rule 2, marked first", "on, as printed", "off"),
    item("levels", "8, as printed", "1 (rule 3 off) to 128"),
    item("rule 4, wake-up last", "on, as printed", "off"),
    item("wake-up marks", "the unlocker's request and the home's wake-up", "none; the first only"),
    item("release", "not marked: only lock and wake-up requests are", "marked, highest level"),
    item("sleep registration", "not marked", "marked"),
    item("forwards", "not marked: ordinary coherence packets", "marked as their request"),
    item("responses", "not marked: ordinary coherence packets", "marked as their request"),
    item("mark over speculation", "no: section 4.2 changes arbiters, not the order of the allocators", "yes"),
    item("ties", "by chance, as printed", "in turn"),
    item("hint", "2 cycles: two registers", "0 to 20"),
    item("channels a class", "2: six virtual channels over three message classes", "1 to 4"),
];

/// What the paper says otherwise, and crowds are tried with.
const PLACES: Item = item(
    "where",
    "the home's list of waiting requests, which is ours; the paper's routers stand beside it",
    "routers alone; both; an order without cost wherever requests wait",
);

/// What each open thing does on crowds with meetings, where an order can change something.
pub(super) fn crowd_items() -> Vec<Item> {
    std::iter::once(PLACES).chain(ITEMS.iter().copied()).collect()
}

/// The account by threads' calls in the place of that by the lock's word: `baton sim` has it.
fn account(results: &Results<'_>) -> Unspecified {
    let main = results.main();
    let of = |by: By| over_programs(&main, by.coh()).map(|less| less.mean);
    let effect = of(By::Word).zip(of(By::Calls)).map(|(word, calls)| [word.min(calls), word.max(calls)]);
    let share = |by: By| said(over_programs(&main, by.shares()[1]));
    let note = if effect.is_some() {
        format!(
            "mean reduction of competition overhead, in percent, by either. Overhead without marks is {}% of the time by the lock's word, \
             {}% by calls; the claims stand under each in a table of their own",
            share(By::Word),
            share(By::Calls)
        )
    } else {
        "needs a run".to_owned()
    };
    Unspecified {
        what: "account".to_owned(),
        chosen:
            "by the lock's word: a section lasts from the change of the word until its release is visible to all cores"
                .to_owned(),
        range: "by threads' calls, as `baton sim` has it: from the return of `lock` to the call of `unlock`".to_owned(),
        effect,
        note,
    }
}

/// What each does to the headline: to the mean reduction of competition overhead of the programs beside the main experiment.
pub(super) fn tornado<'a>(results: &'a Results<'_>) -> Tornado<'a, Program, Figures> {
    Tornado { items: ITEMS, samples: results, value: coh }
}

/// Everything that is left open.
pub(super) fn unspecified(results: &Results<'_>) -> Vec<Unspecified> {
    let items = tornado(results)
        .unspecified("mean reduction of competition overhead of botss, ilbdc and imag, in percent, least and greatest");
    std::iter::once(account(results)).chain(items).collect()
}
