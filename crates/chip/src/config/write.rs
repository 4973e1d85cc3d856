//! A chip as a chip file again: every key, with what it is for, or with where its number comes from.

use super::Chip;
use super::keys::{KEYS, Key, Need, Value};
use std::fmt::Write;

impl Chip {
    /// The whole configuration as TOML, a comment with each key's purpose above it. Reads back as the same chip.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(|key| key.what.to_owned())
    }

    /// As [`Chip::to_toml`], with a comment of the caller's on each key: where its number comes from.
    pub fn to_toml_with(&self, comment: impl Fn(&Key) -> String) -> String {
        let mut out = String::new();
        let mut table = "";
        for key in KEYS.iter().filter(|key| key.need(self.model()) != Need::No) {
            let Some(value) = (key.get)(self) else { continue };
            let (in_table, name) = key.parts();
            if in_table != table {
                let gap = if table.is_empty() { "" } else { "\n" };
                let _ = writeln!(out, "{gap}[{in_table}]");
                table = in_table;
            }
            for line in comment(key).lines() {
                let _ = writeln!(out, "# {line}");
            }
            let _ = writeln!(out, "{name} = {}", value_text(&value));
        }
        out
    }

    /// Every key and its value, as text, in the order of the table: what results echo.
    pub fn expanded(&self) -> Vec<(&'static str, Value)> {
        let keys = KEYS.iter().filter(|key| key.need(self.model()) != Need::No);
        keys.filter_map(|key| Some((key.path, (key.get)(self)?))).collect()
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        Value::Whole(n) => grouped(*n),
        Value::Share(x) => format!("{x:?}"),
        Value::Switch(on) => on.to_string(),
    }
}

/// `2_600_000_000`: TOML allows the underscores, and people can read it.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i != 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}
