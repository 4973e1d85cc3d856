//! Tests of what reads the sources and writes the tables.

use super::arrows::{arrows, circles};
use super::lexer::bare;
use super::rooms;
use super::sizes::{functions, structs};
use std::collections::{BTreeMap, BTreeSet};

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn texts(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|&(file, text)| (file.to_owned(), bare(text))).collect()
}

#[test]
fn paths_lead_to_files() {
    let files = texts(&[
        (
            "m/mod.rs",
            "use crate::a::{self, b::{C, D as E}}; // crate::gone\nlet s = \"crate::gone\"; let c = '\"'; 'a: loop {}\nsuper::x::y();",
        ),
        (
            "a.rs",
            "#[cfg(test)]\nmod tests { use crate::gone; }\n#[cfg(test)]\npub(super) mod more { use crate::gone; }",
        ),
        ("a/b.rs", ""),
        ("x.rs", ""),
        ("gone.rs", "use crate::m::z;"),
        ("lib.rs", ""),
        ("macros.rs", "$crate::then!($crate::a::b::S [$crate::with])"),
    ]);
    let arrows = arrows(&files);
    assert_eq!(arrows["m/mod.rs"], set(&["a.rs", "a/b.rs", "x.rs"]));
    assert_eq!(arrows["a.rs"], set(&[]));
    assert_eq!(arrows["macros.rs"], set(&["a/b.rs"]));
}

#[test]
fn re_exports_are_followed_to_the_file_that_has_the_item() {
    let files = texts(&[
        ("lib.rs", "mod a; mod b; pub use a::{Kept, Other as Named}; pub use serde as other; pub fn own() {}"),
        ("a/mod.rs", "mod deep; pub use deep::Kept; pub struct Other;"),
        ("a/deep.rs", "pub struct Kept; use super::Other;"),
        ("b.rs", "use crate::{Kept, Named};"),
        ("c.rs", "use crate::own;"),
        ("d.rs", "use crate::other::Of;"),
    ]);
    let arrows = arrows(&files);
    assert_eq!(arrows["b.rs"], set(&["a/deep.rs", "a/mod.rs"]));
    assert_eq!(arrows["c.rs"], set(&["lib.rs"]));
    assert_eq!(arrows["d.rs"], set(&[]));
    assert_eq!(arrows["a/deep.rs"], set(&["a/mod.rs"]));
    assert_eq!(circles(&arrows), [[&"a/deep.rs".to_owned(), &"a/mod.rs".to_owned()]]);
}

#[test]
fn fields_and_lines_are_counted() {
    assert_eq!(functions("fn f<'a>(x: [u8; 2]) -> u8 {\n0\n}"), [("f".to_owned(), 3)]);
    let text = "pub struct S<T: Copy> {\n pub(crate) one: Vec<(u8, T)>,\n two: fn(u8) -> u8,\n}";
    assert_eq!(structs(text), [("S".to_owned(), 2)]);
}

const PAGE: &str = "# Rooms\n\n## Inside x\n\nText.\n\n| room | holds | may use |\n| --- | --- | --- |\n\
                    | `low` | data | – |\n| `old` | gone | `low` |\n| `top` | logic | – |\n\n## Inside y\n";

#[test]
fn a_table_is_written_anew_with_what_its_rooms_hold() {
    let files = texts(&[
        ("lib.rs", "mod top;"),
        ("top.rs", "use crate::low::X; use crate::mid::Y;"),
        ("mid/mod.rs", "mod part; use crate::low::X;"),
        ("mid/part.rs", ""),
        ("low.rs", ""),
    ]);
    let arrows = arrows(&files);
    assert_eq!(
        rooms::wrong(PAGE, "x", &arrows),
        [
            "x: `old` may use `low`, which does not stand below it",
            "x: `mid` is a room or a row, not both",
            "x: `old` is a room or a row, not both",
        ]
    );
    assert_eq!(
        rooms::not_allowed(PAGE, "x", &arrows),
        [("top.rs".to_owned(), "low".to_owned()), ("top.rs".to_owned(), "mid".to_owned())]
    );
    let page = rooms::blessed(PAGE, "x", &arrows);
    let rows = "| --- | --- | --- |\n| `top` | logic | `mid`, `low` |\n| `mid` | – | `low` |\n| `low` | data | – |\n\n## Inside y\n";
    assert!(page.starts_with("# Rooms\n\n## Inside x\n\nText.\n") && page.ends_with(rows), "{page}");
    assert_eq!(rooms::not_allowed(&page, "x", &arrows), []);
    assert_eq!(rooms::wrong(&page, "x", &arrows), ["x: nobody has written what `mid` holds"]);
    assert_eq!(rooms::tabled(&page), ["x", "y"]);
}

#[test]
fn a_circle_of_rooms_is_an_arrow_upward() {
    let page = "## Inside x\n| room | holds | may use |\n| --- | --- | --- |\n| `a` | one | – |\n| `b` | two | – |\n";
    let arrows = arrows(&texts(&[("a.rs", "use crate::b::X;"), ("b.rs", "use crate::a::Y;")]));
    let page = rooms::blessed(page, "x", &arrows);
    assert_eq!(rooms::wrong(&page, "x", &arrows), Vec::<String>::new());
    assert_eq!(rooms::not_allowed(&page, "x", &arrows), [("b.rs".to_owned(), "a".to_owned())]);
}
