//! The value of a coordinate: a whole number, a number, a text, or true or false.

use serde_json::Value as Json;
use std::cmp::Ordering;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(i64),
    /// A number that may have a fraction.
    Number(f64),
    /// A text.
    Text(String),
    /// True or false.
    Switch(bool),
}

/// The sort of a value, and so of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// Texts.
    Text,
    /// True or false.
    Switch,
}

impl Kind {
    /// The name of the sort, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Whole => "whole numbers",
            Kind::Number => "numbers",
            Kind::Text => "texts",
            Kind::Switch => "true or false",
        }
    }

    /// The sort that holds values of both sorts; `None` if there is none.
    pub fn with(self, other: Kind) -> Option<Kind> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Kind::Whole, Kind::Number) | (Kind::Number, Kind::Whole) => Some(Kind::Number),
            _ => None,
        }
    }
}

impl Value {
    /// The sort of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Whole(_) => Kind::Whole,
            Value::Number(_) => Kind::Number,
            Value::Text(_) => Kind::Text,
            Value::Switch(_) => Kind::Switch,
        }
    }

    /// The value as a number; `None` for a text, and for true or false.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Whole(n) => Some(*n as f64),
            Value::Number(x) => Some(*x),
            _ => None,
        }
    }

    /// The value of a JSON scalar; `None` for null, a list or an object. A whole number beyond 64
    /// bits with a sign becomes a [`Value::Number`].
    pub fn of_json(json: &Json) -> Option<Value> {
        match json {
            Json::Bool(on) => Some(Value::Switch(*on)),
            Json::Number(n) => {
                Some(n.as_i64().map_or_else(|| Value::Number(n.as_f64().unwrap_or(f64::NAN)), Value::Whole))
            }
            Json::String(text) => Some(Value::Text(text.clone())),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The value as JSON. A number that JSON cannot hold becomes null.
    pub fn json(&self) -> Json {
        match self {
            Value::Whole(n) => (*n).into(),
            Value::Number(x) => (*x).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Switch(on) => (*on).into(),
        }
    }

    /// Reads a value as a person writes it: a finite number, perhaps with `_` between digits,
    /// `true` or `false`, otherwise a text.
    pub fn parse(text: &str) -> Value {
        let plain = text.replace('_', "");
        match (text, plain.parse(), plain.parse::<f64>()) {
            ("true", ..) => Value::Switch(true),
            ("false", ..) => Value::Switch(false),
            (_, Ok(n), _) => Value::Whole(n),
            // Rust also parses `inf`, `-infinity`, `+nan` and `1e999`.
            (_, _, Ok(x)) if x.is_finite() => Value::Number(x),
            _ => Value::Text(text.to_owned()),
        }
    }

    /// Converts the value for a column of `kind`; `None` if the column cannot hold it.
    pub fn fit(self, kind: Kind) -> Option<Value> {
        match (self, kind) {
            (Value::Whole(n), Kind::Number) => Some(Value::Number(n as f64)),
            (value, kind) if value.kind() == kind => Some(value),
            _ => None,
        }
    }

    /// The order of rows: numbers by size, texts by their letters, false before true. Values of
    /// different sorts are ordered by their sorts.
    pub fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Whole(a), Value::Whole(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Switch(a), Value::Switch(b)) => a.cmp(b),
            (a, b) => match (a.number(), b.number()) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                _ => (a.kind() as u8).cmp(&(b.kind() as u8)),
            },
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(n) => n.fmt(f),
            Value::Number(x) => x.fmt(f),
            Value::Text(text) => f.pad(text),
            Value::Switch(on) => on.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        let read = |text| Value::parse(text);
        assert_eq!(read("64"), Value::Whole(64));
        assert_eq!(read("1_000"), Value::Whole(1000));
        assert_eq!(read("-7"), Value::Whole(-7));
        assert_eq!(read("0.5"), Value::Number(0.5));
        assert_eq!(read("+.5"), Value::Number(0.5));
        assert_eq!(read("true"), Value::Switch(true));
        for text in ["8K", "mcs", "nan", "inf", "-inf", "+nan", "-Infinity", "1e999", "1,2", "1fc-12sc", "", "-"] {
            assert_eq!(read(text), Value::Text(text.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_column_of_numbers_holds_whole_ones_and_no_texts() {
        assert_eq!(Value::Whole(2).fit(Kind::Number), Some(Value::Number(2.0)));
        assert_eq!(Value::Number(2.0).fit(Kind::Whole), None);
        assert_eq!(Value::Text("2".into()).fit(Kind::Number), None);
        assert_eq!(Kind::Whole.with(Kind::Number), Some(Kind::Number));
        assert_eq!(Kind::Text.with(Kind::Number), None);
    }

    #[test]
    fn rows_are_ordered_by_size_and_by_letters() {
        let less = |a: Value, b: Value| assert_eq!((a.order(&b), b.order(&a)), (Ordering::Less, Ordering::Greater));
        less(Value::Whole(9), Value::Whole(10));
        less(Value::Whole(9), Value::Number(9.5));
        less(Value::Text("mcs".into()), Value::Text("tas".into()));
        less(Value::Switch(false), Value::Switch(true));
    }
}
