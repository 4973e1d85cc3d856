//! The kinds of values that a key can accept.

/// Largest number of cycles: a thousand seconds at 1 GHz, so that sums of prices cannot overflow.
pub const MOST_CYCLES: u64 = 1_000_000_000_000;

/// The form of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// A name in quotes.
    Text,
    /// One of these words, in quotes.
    Choice(&'static [&'static str]),
    /// One of the words of a registry, in quotes.
    OneOf(fn() -> &'static [&'static str]),
    /// Words of a registry with spaces between, in quotes; the second part says what else is expected.
    Words(fn() -> &'static [&'static str], &'static str),
    /// A text that the function accepts; the first part describes such texts.
    Parsed(&'static str, fn(&str) -> bool),
    /// A whole number within bounds, both inclusive.
    Count(u64, u64),
    /// A power of two within bounds, both inclusive.
    Power(u64, u64),
    /// A whole number of cycles of the core's clock.
    Cycles,
    /// A number within bounds, both inclusive.
    Share(f64, f64),
    /// True or false.
    Switch,
}

/// A key's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A value of a kind that is a text in quotes ([`ValueKind::is_text`]).
    Text(String),
    /// A value of [`ValueKind::Count`], [`ValueKind::Power`] or [`ValueKind::Cycles`].
    Whole(u64),
    /// A value of [`ValueKind::Share`].
    Share(f64),
    /// A value of [`ValueKind::Switch`].
    Switch(bool),
}

impl ValueKind {
    /// Returns a description of the accepted values, for messages.
    pub fn expected(self) -> String {
        match self {
            ValueKind::Text => "a text in quotes".into(),
            ValueKind::Choice(words) => quoted(words).join(" or "),
            ValueKind::OneOf(words) => quoted(words()).join(" or "),
            ValueKind::Words(words, more) => format!("{}, {more}", quoted(words()).join(", ")),
            ValueKind::Parsed(expected, _) => expected.into(),
            ValueKind::Count(least, most) => format!("a whole number from {least} to {most}"),
            ValueKind::Power(least, most) => format!("a power of two from {least} to {most}"),
            ValueKind::Cycles => format!("whole cycles from 0 to {MOST_CYCLES}"),
            ValueKind::Share(least, most) => format!("a number from {least} to {most}"),
            ValueKind::Switch => "true or false".into(),
        }
    }

    /// Whether the value is a text in quotes.
    pub fn is_text(self) -> bool {
        use ValueKind::{Choice, OneOf, Parsed, Text, Words};
        matches!(self, Text | Choice(_) | OneOf(_) | Words(..) | Parsed(..))
    }

    /// Returns whether the key accepts `value`.
    pub fn takes(self, value: &Value) -> bool {
        match (self, value) {
            (ValueKind::Text, Value::Text(text)) => !text.is_empty() && !text.contains(|c: char| c.is_control()),
            (ValueKind::Choice(words), Value::Text(text)) => words.contains(&text.as_str()),
            (ValueKind::OneOf(words), Value::Text(text)) => words().contains(&text.as_str()),
            (ValueKind::Words(words, _), Value::Text(text)) => {
                !text.trim().is_empty() && text.split_whitespace().all(|word| words().contains(&word))
            }
            (ValueKind::Parsed(_, takes), Value::Text(text)) => takes(text),
            (ValueKind::Count(least, most), Value::Whole(n)) => (least..=most).contains(n),
            (ValueKind::Power(least, most), Value::Whole(n)) => (least..=most).contains(n) && n.is_power_of_two(),
            (ValueKind::Cycles, Value::Whole(n)) => *n <= MOST_CYCLES,
            (ValueKind::Share(least, most), Value::Share(x)) => (least..=most).contains(x),
            (ValueKind::Switch, Value::Switch(_)) => true,
            _ => false,
        }
    }
}

fn quoted(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| format!("\"{word}\"")).collect()
}

/// Returns the number in a value that is a whole number.
pub(crate) fn whole(value: Value) -> u64 {
    match value {
        Value::Whole(n) => n,
        Value::Share(x) => x as u64,
        Value::Switch(on) => on.into(),
        Value::Text(_) => 0,
    }
}

/// Returns the number in a value that may have a fraction.
pub(crate) fn share(value: Value) -> f64 {
    match value {
        Value::Share(x) => x,
        other => whole(other) as f64,
    }
}

/// Returns the text in a value that is a text.
pub(crate) fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        _ => String::new(),
    }
}
