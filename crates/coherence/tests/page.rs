//! Checks that `docs/reference/protocol.md` shows the current tables.
//! `BLESS=1 cargo test -p baton-coherence --test page` rewrites them.

mod common;

use baton_coherence::model::chart;
use baton_coherence::render;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/protocol.md");

#[test]
fn the_page_is_not_stale() {
    let mut parts = render::tables();
    for (name, policy, scenes) in common::scenes::SCENES {
        parts.push((name, chart::draw(*policy, scenes).unwrap_or_else(|why| panic!("{name}: {why}"))));
    }
    let page = std::fs::read_to_string(PAGE).expect("docs/reference/protocol.md");
    for (name, _) in &parts {
        assert!(page.contains(&format!("<!-- begin {name} -->")), "docs/reference/protocol.md has no part {name}");
    }
    let filled = render::filled(&page, &parts).unwrap_or_else(|why| panic!("docs/reference/protocol.md: {why}"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, &filled).expect("docs/reference/protocol.md can be written");
    } else if filled != page {
        let (line, _) = filled.lines().zip(page.lines()).enumerate().find(|(_, (a, b))| a != b).unwrap_or_default();
        panic!(
            "docs/reference/protocol.md is stale from line {}: BLESS=1 cargo test -p baton-coherence --test page",
            line + 1
        );
    }
}

#[test]
fn a_part_that_nobody_knows_is_an_error() {
    let known = [("a", "new\n".to_owned())];
    assert_eq!(
        render::filled("x\n<!-- begin a -->\nold\n<!-- end a -->\ny", &known).unwrap(),
        "x\n<!-- begin a -->\nnew\n<!-- end a -->\ny"
    );
    assert!(render::filled("<!-- begin b -->\n<!-- end b -->", &known).unwrap_err().contains('b'));
    assert!(render::filled("<!-- begin a -->", &known).unwrap_err().contains("no end"));
}
