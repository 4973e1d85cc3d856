//! `docs/glossary.md` against the code: terms stand in alphabetical order, and the place that a term names exists.

use crate::root;
use std::fs;

/// The cells of the rows of the glossary's table that begins with the cell `first`.
fn rows(first: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let head = format!("| {first} |");
    let lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let cells = |line: &str| line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// What stands in backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[test]
fn terms_are_in_order_and_at_home_in_the_code() {
    let rows = rows("term");
    assert!(rows.len() > 60, "{} terms found: the search is broken", rows.len());
    let terms: Vec<String> = rows.iter().map(|row| row[0].to_lowercase()).collect();
    let misplaced = terms.windows(2).find(|pair| pair[0] > pair[1]);
    assert!(misplaced.is_none(), "not in alphabetical order: {misplaced:?}");
    let mut wrong = Vec::new();
    for row in &rows {
        let places = quoted(&row[2]);
        assert!(!places.is_empty(), "{} has no place in the code", row[0]);
        wrong.extend(places.into_iter().filter(|place| !root().join(place).exists()).map(|p| (row[0].clone(), p)));
    }
    assert!(wrong.is_empty(), "terms whose place is not there: {wrong:#?}");
}
