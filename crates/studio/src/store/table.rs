//! Rows by column, as they are read back.

use super::column::Column;
use crate::hash::Key;
use crate::value::{Kind, Value};
use parquet::data_type::ByteArray;
use std::cmp::Ordering;

/// The values of a column.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<ByteArray>>),
    Switch(Vec<Option<bool>>),
}

impl Data {
    pub(crate) fn new(kind: Kind) -> Data {
        match kind {
            Kind::Whole => Data::Whole(Vec::new()),
            Kind::Number => Data::Number(Vec::new()),
            Kind::Text => Data::Text(Vec::new()),
            Kind::Switch => Data::Switch(Vec::new()),
        }
    }

    pub(crate) fn push(&mut self, value: Option<Value>) {
        match (self, value) {
            (Data::Whole(all), Some(Value::Whole(n))) => all.push(Some(n)),
            (Data::Number(all), Some(Value::Number(x))) => all.push(Some(x)),
            (Data::Number(all), Some(Value::Whole(n))) => all.push(Some(n as f64)),
            (Data::Text(all), Some(Value::Text(text))) => all.push(Some(ByteArray::from(text.into_bytes()))),
            (Data::Switch(all), Some(Value::Switch(on))) => all.push(Some(on)),
            (Data::Whole(all), _) => all.push(None),
            (Data::Number(all), _) => all.push(None),
            (Data::Text(all), _) => all.push(None),
            (Data::Switch(all), _) => all.push(None),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Data::Whole(all) => all.len(),
            Data::Number(all) => all.len(),
            Data::Text(all) => all.len(),
            Data::Switch(all) => all.len(),
        }
    }

    fn value(&self, row: usize) -> Option<Value> {
        match self {
            Data::Whole(all) => all[row].map(Value::Whole),
            Data::Number(all) => all[row].map(Value::Number),
            Data::Text(all) => all[row].as_ref().map(|text| Value::Text(text_of(text).to_owned())),
            Data::Switch(all) => all[row].map(Value::Switch),
        }
    }

    /// The order of two rows; a row without a value comes last.
    fn order(&self, a: usize, b: usize, most_first: bool) -> Ordering {
        let by = |both: Option<Ordering>, a: bool, b: bool| match both {
            Some(order) if most_first => order.reverse(),
            Some(order) => order,
            None => b.cmp(&a),
        };
        match self {
            Data::Whole(all) => by(both(&all[a], &all[b], i64::cmp), all[a].is_some(), all[b].is_some()),
            Data::Number(all) => by(both(&all[a], &all[b], f64::total_cmp), all[a].is_some(), all[b].is_some()),
            Data::Text(all) => {
                let letters = |a: &ByteArray, b: &ByteArray| a.data().cmp(b.data());
                by(both(&all[a], &all[b], letters), all[a].is_some(), all[b].is_some())
            }
            Data::Switch(all) => by(both(&all[a], &all[b], bool::cmp), all[a].is_some(), all[b].is_some()),
        }
    }

    fn keep(&mut self, rows: &[usize]) {
        match self {
            Data::Whole(all) => *all = rows.iter().map(|&row| all[row]).collect(),
            Data::Number(all) => *all = rows.iter().map(|&row| all[row]).collect(),
            Data::Text(all) => *all = rows.iter().map(|&row| all[row].clone()).collect(),
            Data::Switch(all) => *all = rows.iter().map(|&row| all[row]).collect(),
        }
    }
}

/// The order of two values, if both are there.
fn both<T>(a: &Option<T>, b: &Option<T>, order: impl FnOnce(&T, &T) -> Ordering) -> Option<Ordering> {
    Some(order(a.as_ref()?, b.as_ref()?))
}

/// The text of a value; empty for bytes that are not UTF-8, which Baton does not write.
pub(crate) fn text_of(bytes: &ByteArray) -> &str {
    bytes.as_utf8().unwrap_or_default()
}

/// The values of a column, by its sort; `None` for a null.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// Whole numbers.
    Whole(&'a [Option<i64>]),
    /// Numbers.
    Number(&'a [Option<f64>]),
    /// Texts.
    Text(Vec<Option<&'a str>>),
    /// Switches.
    Switch(&'a [Option<bool>]),
}

/// Some columns of a store, and the rows that were asked for.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) data: Vec<Data>,
    pub(crate) rows: usize,
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Table {
        let data = columns.iter().map(|column| Data::new(column.kind)).collect();
        Table { columns, data, rows: 0 }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The index of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The value in a row and a column; `None` for a null.
    pub fn value(&self, row: usize, column: usize) -> Option<Value> {
        self.data[column].value(row)
    }

    /// All values of a column.
    pub fn values(&self, column: usize) -> Values<'_> {
        match &self.data[column] {
            Data::Whole(all) => Values::Whole(all),
            Data::Number(all) => Values::Number(all),
            Data::Text(all) => Values::Text(all.iter().map(|text| text.as_ref().map(text_of)).collect()),
            Data::Switch(all) => Values::Switch(all),
        }
    }

    /// The keys of the rows; `None` for a row without a key, and for all rows of a table that lacks
    /// the column of keys.
    pub(crate) fn keys(&self) -> Vec<Option<Key>> {
        match self.column(super::column::KEY).map(|at| &self.data[at]) {
            Some(Data::Text(keys)) => {
                keys.iter().map(|key| key.as_ref().and_then(|key| Key::parse(text_of(key)))).collect()
            }
            _ => vec![None; self.rows],
        }
    }

    /// The values of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Option<Value>> {
        self.data.iter().map(move |data| data.value(row))
    }

    /// Keeps these rows, in this order.
    pub(crate) fn keep(&mut self, rows: &[usize]) {
        self.data.iter_mut().for_each(|data| data.keep(rows));
        self.rows = rows.len();
    }

    /// Orders the rows by columns, the first of which counts most; descending with `most_first`.
    /// Equal rows keep their order, and nulls come last either way.
    pub fn sort(&mut self, columns: &[usize], most_first: bool) {
        let mut rows: Vec<usize> = (0..self.rows).collect();
        let order = |a: usize, b: usize| {
            let by = columns.iter().map(|&column| self.data[column].order(a, b, most_first));
            by.fold(Ordering::Equal, Ordering::then)
        };
        rows.sort_by(|&a, &b| order(a, b));
        self.keep(&rows);
    }

    /// Keeps these columns alone, in this order.
    pub fn select(&mut self, columns: &[usize]) {
        self.data = columns.iter().map(|&column| self.data[column].clone()).collect();
        self.columns = columns.iter().map(|&column| self.columns[column].clone()).collect();
    }

    /// Keeps the first `rows` rows alone.
    pub fn truncate(&mut self, rows: usize) {
        let kept: Vec<usize> = (0..self.rows.min(rows)).collect();
        self.keep(&kept);
    }
}
