//! A row of a store: a point, a seed, and what they gave.

use super::column::{self, Column, Role};
use crate::hash::Key;
use crate::subject::{Failure, Why};
use crate::value::{Kind, Value};
use serde_json::{Value as Json, json};

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The key of the point with its seed.
    pub key: Key,
    /// The values of the coordinates, in the order of the store's columns.
    pub coordinates: Vec<Option<Value>>,
    /// The seed.
    pub seed: u64,
    /// The values of the figures, in the order of the store's columns; all `None` after a failure.
    pub figures: Vec<Option<Value>>,
    /// Why there are no figures.
    pub failure: Option<Failure>,
    /// The command that repeats the run.
    pub command: String,
}

impl Row {
    /// The value in `column`, before which the store has `at` columns with the same role.
    pub(crate) fn value(&self, column: &Column, at: usize) -> Option<Value> {
        match (column.role, column.name.as_str()) {
            (Role::Coordinate, _) => self.coordinates.get(at)?.clone(),
            (Role::Figure, _) => self.figures.get(at)?.clone(),
            (Role::Own, column::KEY) => Some(Value::Text(self.key.to_string())),
            (Role::Own, column::SEED) => Some(Value::Whole(self.seed as i64)),
            (Role::Own, column::FAILURE) => self.failure.as_ref().map(|of| Value::Text(of.why.name().to_owned())),
            (Role::Own, column::REASON) => self.failure.as_ref().map(|of| Value::Text(of.reason.clone())),
            (Role::Own, _) => Some(Value::Text(self.command.clone())),
        }
    }

    /// The row as a line of a journal.
    pub(crate) fn line(&self) -> String {
        let list = |values: &[Option<Value>]| -> Json {
            values.iter().map(|value| value.as_ref().map_or(Json::Null, exact)).collect()
        };
        let failure = self.failure.as_ref().map(|failure| json!([failure.why.name(), failure.reason]));
        let line = json!({
            "key": self.key.to_string(), "at": list(&self.coordinates), "seed": self.seed,
            "figures": list(&self.figures), "failure": failure, "command": self.command,
        });
        format!("{line}\n")
    }

    /// Reads a line of a journal; `None` for a line that is no row of a store with these columns.
    pub(crate) fn of_line(line: &Json, named: &[Column]) -> Option<Row> {
        let list = |name: &str, role: Role| -> Option<Vec<Option<Value>>> {
            let columns: Vec<&Column> = named.iter().filter(|column| column.role == role).collect();
            let values = line.get(name)?.as_array().filter(|values| values.len() == columns.len())?;
            let value = |(json, column): (&Json, &&Column)| read(json, column.kind);
            Some(values.iter().zip(&columns).map(value).collect())
        };
        let failure = match line.get("failure")? {
            Json::Null => None,
            failure => Some(Failure::new(Why::named(failure.get(0)?.as_str()?)?, failure.get(1)?.as_str()?)),
        };
        Some(Row {
            key: Key::parse(line.get("key")?.as_str()?)?,
            coordinates: list("at", Role::Coordinate)?,
            seed: line.get("seed")?.as_u64()?,
            figures: list("figures", Role::Figure)?,
            failure,
            command: line.get("command")?.as_str()?.to_owned(),
        })
    }
}

/// A value as JSON that [`read`] reads back exactly: a [`Value::Number`] becomes a text, because
/// the parser of JSON may read such a number one bit off.
fn exact(value: &Value) -> Json {
    match value {
        Value::Number(x) => format!("{x:?}").into(),
        value => value.json(),
    }
}

/// Reads a value of a journal's line for a column of `kind`; `None` for null or another sort.
fn read(json: &Json, kind: Kind) -> Option<Value> {
    match (kind, json) {
        (Kind::Number, Json::String(text)) => text.parse().ok().map(Value::Number),
        _ => Value::of_json(json).and_then(|value| value.fit(kind)),
    }
}
