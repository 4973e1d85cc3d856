//! The map of `baton noc explain --page` in a real browser: it draws itself, follows its slider, and is no wider than
//! the window.
//!
//! Needs Chromium. Where there is none the test says that it is skipped; under `CI=true` that is a failure.

use std::process::Command;

fn browser(name: &str) -> Option<&'static str> {
    baton_needs::first_of(&["chromium", "chromium-browser", "google-chrome"], name)
}

const SCRIPT: &str = r##"<script>
const root = document.documentElement, fills = id => [...document.querySelectorAll(`#${id} rect`)].map(r => r.style.fill);
root.dataset.cells = fills("held").length;
root.dataset.links = document.querySelectorAll("#held path").length;
const before = fills("held").join();
const slider = document.getElementById("at");
root.dataset.last = slider.value;
slider.value = 0;
slider.dispatchEvent(new Event("input"));
root.dataset.moved = fills("held").join() !== before;
root.dataset.when = document.getElementById("when").textContent;
root.dataset.bars = document.querySelectorAll("#course rect").length;
root.dataset.journey = document.querySelectorAll("rect.moves").length;
root.dataset.wide = root.scrollWidth > innerWidth;
</script>"##;

#[test]
fn the_map_draws_itself_and_follows_its_slider() {
    let Some(browser) = browser("the_map_draws_itself_and_follows_its_slider") else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("map.html");
    for (topology, routers, links, width) in [("mesh", 16, 48, 1200), ("torus", 16, 64, 480), ("crossbar", 1, 0, 1200)]
    {
        let size = if topology == "crossbar" { "12" } else { "4x4" };
        let args = ["noc", "explain", "--topology", topology, "--size", size, "--rate", "0.4", "--cycles", "2000"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        let made = command.args(args).args(["--follow", "slowest", "--page"]).arg(&page).output().unwrap();
        assert!(made.status.success());
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(!html.contains("http"), "one file, no network");
        std::fs::write(&page, html.replace("</html>", &format!("{SCRIPT}</html>"))).unwrap();
        let out = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", dir.path().join("user").display()))
            .args(["--virtual-time-budget=2000", "--dump-dom", &format!("--window-size={width},900")])
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let dom = String::from_utf8_lossy(&out.stdout).into_owned();
        let root = dom.split_once("<html").and_then(|d| d.1.split_once('>')).map_or("", |d| d.0);
        let says = |name: &str, value: &str| {
            assert!(root.contains(&format!("data-{name}=\"{value}\"")), "{topology}, {name} {value}: {root}");
        };
        says("cells", &routers.to_string());
        says("links", &links.to_string());
        says("last", "39");
        says("moved", "true");
        says("when", "cycles 0 to 49");
        says("bars", "40");
        says("wide", "false");
        assert!(!root.contains("data-journey=\"0\""), "{root}");
    }
}
