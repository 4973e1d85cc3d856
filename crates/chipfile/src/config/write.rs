//! Writes a chip as a chip file: every key, with its purpose or the source of its number.

use super::chip::Chip;
use super::keys::{KEYS, Key, Need, Value};
use std::borrow::Cow;
use std::fmt::Write;

impl Chip {
    /// Returns the whole configuration as TOML, with the purpose of each key in a comment above it.
    /// Reading the text gives the same chip.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(|key| key.what.to_owned())
    }

    /// Like [`Chip::to_toml`], with the caller's comment on each key, which says where its number
    /// comes from.
    pub fn to_toml_with(&self, comment: impl Fn(&Key) -> String) -> String {
        let mut out = String::new();
        let mut table = "";
        for key in KEYS.iter().filter(|key| key.need(self.model()) != Need::No) {
            let Some(value) = key.get(self) else { continue };
            let (in_table, name) = key.parts();
            if in_table != table {
                if table == "core" {
                    self.write_kinds(&mut out);
                }
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

    fn write_kinds(&self, out: &mut String) {
        for kind in &self.core.kinds.0 {
            let _ = writeln!(out, "\n[[core.kind]]");
            for (name, value) in kind.given() {
                let _ = writeln!(out, "{name} = {}", value_text(&value));
            }
        }
    }

    /// Returns every key and its value as text, in the order of the table, for the echo in results.
    /// Keys of a kind have the kind's name in their path and are at the end.
    pub fn expanded(&self) -> Vec<(Cow<'static, str>, Value)> {
        let keys = KEYS.iter().filter(|key| key.need(self.model()) != Need::No);
        let own = self.core.kinds.0.iter().flat_map(|kind| {
            let keys = kind.given().into_iter().filter(|(name, _)| *name != "name");
            keys.map(|(name, value)| (Cow::Owned(format!("core.kind.{}.{name}", kind.name)), value))
        });
        keys.filter_map(|key| Some((Cow::Borrowed(key.path), key.get(self)?))).chain(own).collect()
    }
}

pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        Value::Whole(n) => grouped(*n),
        Value::Share(x) => format!("{x:?}"),
        Value::Switch(on) => on.to_string(),
    }
}

/// Writes a number as `2_600_000_000`: TOML allows the underscores, and they make the number
/// readable.
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
