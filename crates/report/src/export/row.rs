//! A row of the tables (CSV and Parquet): an interval with its names looked up. Both formats share
//! one list of columns.

use crate::intervals::Interval;
use crate::model::{Report, Site};

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    Number(i64),
    /// A text, empty where there is none.
    Text(&'a str),
}

/// A column: its name and where its value comes from.
pub struct Column {
    /// The name; a duration's name ends in `_ns`.
    pub name: &'static str,
    /// Whether the column holds texts rather than numbers.
    pub is_text: bool,
    value: for<'a> fn(&'a Report, &Interval) -> Value<'a>,
}

impl Column {
    /// The column's value for an interval.
    pub fn of<'a>(&self, report: &'a Report, interval: &Interval) -> Value<'a> {
        (self.value)(report, interval)
    }
}

const fn number(name: &'static str, value: for<'a> fn(&'a Report, &Interval) -> Value<'a>) -> Column {
    Column { name, is_text: false, value }
}

const fn text(name: &'static str, value: for<'a> fn(&'a Report, &Interval) -> Value<'a>) -> Column {
    Column { name, is_text: true, value }
}

/// The columns in order. `start_ns` counts from the beginning of the trace. An unknown number is
/// −1, except in `tries`, where it is 0.
pub const COLUMNS: [Column; 14] = [
    number("pid", |r, i| Value::Number(thread(r, i).map_or(-1, |t| i64::from(t.pid)))),
    number("tid", |r, i| Value::Number(thread(r, i).map_or(-1, |t| i64::from(t.tid)))),
    text("thread", |r, i| Value::Text(thread(r, i).map_or("", |t| &t.name))),
    text("doing", |_, i| Value::Text(i.doing.word())),
    text("how", |_, i| Value::Text(i.doing.detail())),
    text("object", |r, i| Value::Text(object_name(r, i))),
    text("class", |r, i| Value::Text(class_name(r, i))),
    number("start_ns", |_, i| Value::Number(i.start.0 as i64)),
    number("duration_ns", |_, i| Value::Number(i.length().0 as i64)),
    number("tries", |_, i| Value::Number(i64::from(i.tries))),
    number("from_tid", |r, i| {
        Value::Number(i.from.and_then(|(t, _)| r.threads.get(t.index())).map_or(-1, |t| i64::from(t.tid)))
    }),
    text("function", |r, i| Value::Text(frame(r, i).map_or("", |f| &f.function))),
    text("file", |r, i| Value::Text(frame(r, i).and_then(|f| f.file.as_deref()).unwrap_or(""))),
    number("line", |r, i| Value::Number(frame(r, i).and_then(|f| f.line).map_or(-1, i64::from))),
];

fn thread<'a>(report: &'a Report, interval: &Interval) -> Option<&'a crate::model::Thread> {
    report.threads.get(interval.thread.index())
}

fn site<'a>(report: &'a Report, interval: &Interval) -> Option<&'a Site> {
    report.sites.get(interval.site? as usize)
}

fn frame<'a>(report: &'a Report, interval: &Interval) -> Option<&'a crate::symbols::Frame> {
    site(report, interval)?.frames.first()
}

/// The name of the interval's lock or other object; empty if it has none.
pub(crate) fn object_name<'a>(report: &'a Report, interval: &Interval) -> &'a str {
    let Some(object) = interval.object.map(|o| o as usize) else { return "" };
    if interval.doing.is_of_lock() {
        report.locks.get(object).map_or("", |l| &l.name)
    } else {
        report.waitables.get(object).map_or("", |w| &w.name)
    }
}

fn class_name<'a>(report: &'a Report, interval: &Interval) -> &'a str {
    let lock = interval.object.filter(|_| interval.doing.is_of_lock());
    let class = lock.and_then(|o| report.locks.get(o as usize)).map(|l| l.class as usize);
    class.and_then(|c| report.classes.get(c)).map_or("", |c| &c.name)
}
