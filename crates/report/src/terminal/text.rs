//! Text on a terminal: style, width, and what a terminal must not obey.

use crate::format::count;
use std::borrow::Cow;

/// The most columns of a line.
pub const WIDTH: usize = 80;
/// The most rows of a table. Further rows are only counted; `baton report --json` and the page have
/// them.
pub(super) const ROWS: usize = 10;

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether to use colour (SGR sequences). The caller knows about terminals and `NO_COLOR`.
    pub color: bool,
}

impl Style {
    pub(super) fn bold(self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn warn(self, text: &str) -> String {
        if self.color { format!("\x1b[33m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A sentence after a coloured word, broken at blanks, with later lines indented. `plain` is the
/// word without colour.
pub fn wrap(painted: &str, plain: &str, text: &str) -> String {
    let mut out = painted.to_owned();
    let mut column = plain.chars().count();
    for word in printable(text).split_whitespace() {
        let length = word.chars().count();
        if column + 1 + length > WIDTH && column > 2 {
            out += "\n ";
            column = 1;
        }
        out.push(' ');
        out += word;
        column += 1 + length;
    }
    out + "\n"
}

/// Replaces control characters by their Rust escapes: a command or a thread's name may contain any,
/// and a terminal obeys them.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}

/// Cuts a text to a width, and marks that it was cut.
pub(super) fn clip(text: &str, width: usize) -> String {
    let text = &*printable(text);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Cuts a text to a width in its middle: names differ at their ends, as `shard (cache.c:12) #8` does.
pub(super) fn clip_middle(text: &str, width: usize) -> String {
    let text: Vec<char> = printable(text).chars().collect();
    if text.len() <= width {
        return text.into_iter().collect();
    }
    let tail = width / 3;
    let head = &text[..width.saturating_sub(tail + 1)];
    head.iter().chain(&['…']).chain(&text[text.len() - tail..]).collect()
}

pub(super) fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(n as u64)) }
}
