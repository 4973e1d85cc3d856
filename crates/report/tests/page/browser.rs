//! The page, in a real browser: it draws itself without an error, its tables sort, its timeline zooms.
//!
//! Needs Chromium. Where there is none the tests say that they are skipped; under `CI=true` that is a failure.

use crate::support;
use baton_report::Profile;
use baton_report::html::{self, Predicted};
use baton_trace::{Meta, Ticks, What};
use baton_units::Nanos;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The browser, or `None` after the test `name` was noted as skipped.
fn browser(name: &str) -> Option<&'static str> {
    baton_needs::first_of(&["chromium", "chromium-browser", "google-chrome"], name)
}

fn profile() -> Profile {
    let mut builder = support::builder(6, 500);
    let mut meta = Meta {
        command: ["./index", "--threads", "6", "</script><b>shakespeare.txt"].map(str::to_owned).to_vec(),
        recorder: "baton".to_owned(),
        unseen: vec!["a program that calls futex itself".to_owned()],
        exit_code: Some(0),
        elapsed_ns: 1_000_000,
        ..Meta::default()
    };
    // Other programs used a quarter of the two CPUs: 0.5 of the 2 ms that two CPUs have in 1 ms.
    meta.host.cpus = 2;
    meta.extra.insert(baton_trace::disturbance::OTHERS.into(), 500_000.into());
    builder.meta(meta);
    Profile::of(builder.build())
}

fn predictions() -> Vec<Predicted> {
    let one = |lock: &str, predicted: u64, measured: Option<u64>| Predicted {
        lock: lock.to_owned(),
        wait: "spin-park".to_owned(),
        predicted_ns: Nanos(predicted * 1_000_000),
        low_ns: Nanos(predicted * 950_000),
        high_ns: Nanos(predicted * 1_060_000),
        interval_ns: Some((Nanos(predicted * 860_000), (lock != "tas").then_some(Nanos(predicted * 1_160_000)))),
        overhead_ns: Some(Nanos(predicted * 100_000)),
        measured_ns: measured.map(|m| Nanos(m * 1_000_000)),
        measured_range_ns: measured.map(|m| (Nanos(m * 980_000), Nanos(m * 1_030_000))),
        recorded: lock == "futex",
        remark: (lock == "tas").then(|| "more than 5% not replayable".to_owned()),
    };
    vec![
        one("futex", 410, Some(402)),
        one("mcs", 330, Some(351)),
        one("tas", 520, None),
        one("ticket", 70_000, Some(390)),
    ]
}

/// Loads the page with `script` added to it; returns the document's HTML after the scripts have
/// run.
pub(crate) fn dom(browser: &str, folder: &Path, width: u32, page: &str, script: &str) -> String {
    let path = folder.join("page.html");
    let page = page.replace("</body>", &format!("<script>{script}</script></body>"));
    std::fs::write(&path, page).expect("the page can be written");
    let user: PathBuf = folder.join("user");
    let out = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", user.display()))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Value of an attribute of the document's element.
pub(crate) fn attribute<'a>(dom: &'a str, name: &str) -> Option<&'a str> {
    let root = dom.split_once("<html")?.1.split_once('>')?.0;
    root.split_once(&format!("data-{name}=\""))?.1.split('"').next()
}

#[test]
fn the_page_draws_itself_sorts_and_zooms() {
    let Some(browser) = browser("the_page_draws_itself_sorts_and_zooms") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = html::page(&profile(), &predictions());
    let script = r##"
        const root = document.documentElement;
        const cells = (n) => [...document.querySelectorAll("#lock-table tbody tr")].map((row) => row.cells[n].textContent);
        const heads = () => [...document.querySelectorAll("#lock-table th button")];
        root.dataset.origins = cells(0).length;
        document.querySelectorAll("#lock-tabs button")[1].click();
        root.dataset.byWait = cells(0)[0];
        heads()[0].click();
        root.dataset.byName = cells(0).join("|");
        root.dataset.sorted = heads()[0].parentElement.getAttribute("aria-sort");
        heads()[0].click();
        root.dataset.reversed = cells(0).join("|");
        document.querySelector("#lock-table tbody tr").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
        root.dataset.detail = document.querySelector("#lock-detail h3").textContent;
        root.dataset.plots = document.querySelectorAll("#lock-detail svg").length;
        const canvas = document.getElementById("canvas");
        const ink = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.reduce((sum, n, i) => (sum + n * (i % 97)) % 1000003, 0);
        // Frames come when the browser likes: look again until there is something to see.
        const when = (ready, then, tries = 40) => {
            if (ready() || tries === 0) then(ready());
            else setTimeout(() => when(ready, then, tries - 1), 50);
        };
        when(() => ink() !== 0, () => {
            const before = ink();
            document.getElementById("zoom-in").click();
            when(() => ink() !== before, (zoomed) => { root.dataset.zoomed = zoomed; });
        });
        const search = document.getElementById("search");
        const filter = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
        filter("TABLE_");
        root.dataset.filtered = cells(0).join("|");
        filter("");
        root.dataset.unfiltered = cells(0).length;
        root.dataset.headline = document.querySelector(".headline").textContent;
        root.dataset.doubt = document.querySelector(".doubt")?.textContent ?? "";
        root.dataset.wide = document.documentElement.scrollWidth > innerWidth;
    "##;
    let dom = dom(browser, folder.path(), 1200, &page, script);
    assert_eq!(attribute(&dom, "error"), None, "the page reports an error");
    assert_eq!(attribute(&dom, "ready"), Some("yes"), "the page's script did not run to its end");
    assert_eq!(attribute(&dom, "origins"), Some("2"), "the eight rows of one origin are one line");
    assert_eq!(attribute(&dom, "filtered"), Some("table_lock"));
    assert_eq!(attribute(&dom, "unfiltered"), Some("9"));
    assert!(attribute(&dom, "headline").is_some_and(|text| text.contains("critical path")), "the verdict stands first");
    assert!(attribute(&dom, "doubt").is_some_and(|text| text.contains("other programs used 25%")), "the page warns");
    assert_eq!(attribute(&dom, "by-wait"), Some("table_lock"), "the hot lock stands first");
    let names: Vec<&str> = attribute(&dom, "by-name").expect("sorted by name").split('|').collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    assert_eq!(names.len(), 9);
    assert_eq!(attribute(&dom, "sorted"), Some("ascending"));
    let reversed: Vec<&str> = attribute(&dom, "reversed").expect("reversed").split('|').collect();
    assert!(reversed.iter().eq(names.iter().rev()));
    assert_eq!(attribute(&dom, "detail"), Some(reversed[0]), "Enter opens the row's plots");
    assert!(attribute(&dom, "plots").and_then(|n| n.parse::<u32>().ok()) >= Some(3));
    assert_eq!(attribute(&dom, "zoomed"), Some("true"), "zooming changes the timeline");
    assert_eq!(attribute(&dom, "wide"), Some("false"), "the page is not wider than the window");
}

#[test]
fn nothing_in_the_page_points_outside_and_names_cannot_break_out() {
    let page = html::page(&profile(), &predictions());
    assert!(!page.contains("</script><b>"), "a name from the trace ended the script");
    for outside in ["src=\"http", "href=\"http", "url(http", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(outside), "{outside} in the page");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_long_run_makes_no_larger_a_page() {
    // Eight threads have some 400,000 events, more pieces of time than a page keeps one by one.
    let profile = Profile::of(support::trace(8, 10_000));
    assert!(profile.report.totals.events > 300_000, "{}", profile.report.totals.events);
    let page = html::page(&profile, &[]);
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
    assert!(!page.contains("\"merged_below_ns\":0,"), "the blocks were merged");
    let Some(browser) = browser("a_long_run_makes_no_larger_a_page") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let script = "document.documentElement.dataset.wide = document.documentElement.scrollWidth > innerWidth;";
    let dom = dom(browser, folder.path(), 500, &page, script);
    assert_eq!(attribute(&dom, "error"), None);
    assert_eq!(attribute(&dom, "ready"), Some("yes"));
    assert_eq!(attribute(&dom, "wide"), Some("false"), "a narrow page is not wider than its window");
}

/// In the width of a phone, the table of predictions shows the measured times and the errors, and
/// hides the spread and the overhead.
#[test]
fn a_phone_shows_measured_and_error() {
    let Some(browser) = browser("a_phone_shows_measured_and_error") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = html::page(&profile(), &predictions());
    let script = r##"
        const head = [...document.querySelectorAll("#predictions-body th")];
        const seen = (th) => th.offsetWidth > 0 && th.getBoundingClientRect().right <= innerWidth;
        document.documentElement.dataset.seen = head.filter(seen).map((th) => th.textContent).join("|");
        document.documentElement.dataset.hidden = head.filter((th) => th.offsetWidth === 0).map((th) => th.textContent).join("|");
    "##;
    let dom = dom(browser, folder.path(), 500, &page, script);
    let seen = attribute(&dom, "seen").unwrap_or_default();
    assert!(seen.starts_with("lock / wait|measured|error"), "{seen}");
    assert_eq!(attribute(&dom, "hidden"), Some("spread|overhead"));
}

/// A command of hundreds of characters without a blank does not take the room of the columns beside
/// it, nor make the page wider than a phone.
#[test]
fn a_long_command_makes_nothing_wider() {
    let Some(browser) = browser("a_long_command_makes_nothing_wider") else { return };
    let mut builder = support::builder(6, 500);
    let command = vec!["./index".to_owned(), format!("--db={}", "/a/path".repeat(60))];
    builder.meta(Meta { command, ..Meta::default() });
    let page = html::page(&Profile::of(builder.build()), &[]);
    // A window of the browser is never narrower than 500 pixels, so the body gets a phone's width.
    let script = r##"
        const root = document.documentElement, won = document.querySelector("#verdict .two > div");
        root.dataset.won = won.getBoundingClientRect().width / won.parentElement.getBoundingClientRect().width;
        document.body.style.width = "390px";
        const beyond = [...document.querySelectorAll("main > *, #verdict-body > *, #verdict pre, #run-body > *, .kpi")];
        root.dataset.beyond = beyond.filter((part) => part.getBoundingClientRect().right > 391).map((part) => part.id || part.tagName).join("|");
    "##;
    let folder = tempfile::tempdir().expect("a folder");
    let wide = dom(browser, folder.path(), 1200, &page, script);
    let share: f64 = attribute(&wide, "won").and_then(|share| share.parse().ok()).expect("a width");
    assert!(share > 0.4, "what could be won has {share} of the width");
    let narrow = dom(browser, folder.path(), 500, &page, script);
    assert_eq!(attribute(&narrow, "beyond"), Some(""), "parts that are wider than a phone");
}

/// Forty threads with a start and no other event get no lane; their names are listed instead.
#[test]
fn lanes_with_nothing_in_them_are_folded() {
    let mut builder = support::builder(3, 200);
    for idle in 0..40u32 {
        let thread = builder.thread(&format!("idle {idle}"));
        builder.push(Ticks(10), thread, What::ThreadStart { handle: u64::from(idle) });
    }
    let page = html::page(&Profile::of(builder.build()), &[]);
    let list = |name: &str| {
        let text = page.split_once(&format!("\"{name}\":[")).expect("a list").1;
        text.split(']').next().expect("its end").split(',').filter(|n| !n.is_empty()).count()
    };
    assert_eq!(list("folded"), 40);
    let Some(browser) = browser("lanes_with_nothing_in_them_are_folded") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let script = r##"
        const root = document.documentElement, folded = document.getElementById("timeline-folded");
        root.dataset.folded = folded.hidden ? "" : folded.textContent;
        root.dataset.height = document.getElementById("canvas").offsetHeight;
    "##;
    let dom = dom(browser, folder.path(), 1200, &page, script);
    assert_eq!(attribute(&dom, "error"), None);
    let folded = attribute(&dom, "folded").unwrap_or_default();
    assert!(folded.starts_with("40 threads that began") && folded.contains("idle 39"), "{folded}");
    let height: u32 = attribute(&dom, "height").and_then(|height| height.parse().ok()).expect("a height");
    assert!(height < 500, "{height}");
}

/// Writes the page to a file for a person to look at, if the variable is set: `BATON_PAGE=page.html
/// cargo test -p baton-report --test page browser::`.
#[test]
fn the_page_can_be_kept() {
    let Some(path) = std::env::var_os("BATON_PAGE") else { return };
    html::write(&profile(), &predictions(), Path::new(&path)).expect("the page can be written");
}
