//! The values of an axis: a list, a range, a logarithmic range, the lines of a file, chips.

use super::table::Entry;
use super::{Axis, SpaceError};
use crate::value::{Kind, Value};
use std::path::Path;

/// The most values of an axis.
const MOST: usize = 1_000_000;
/// The most bytes of a file of values.
const MOST_BYTES: u64 = 64 << 20;

const EXPECTED: &str = "a list of values, `file:PATH`, { from, to, step }, { from, to, factor }, \
                        { from, to, count }, { from, to, count, log = true } or { chips = \"PATTERN\" }";

/// Reads an axis. Files lie in `folder` unless their paths are absolute; `chips` returns the names
/// of all chips.
pub(super) fn axis(entry: &Entry<'_>, folder: &Path, chips: &dyn Fn() -> Vec<String>) -> Result<Axis, SpaceError> {
    let values = match entry.value {
        toml::de::DeValue::Table(_) => range(entry, chips)?,
        toml::de::DeValue::String(text) => match text.strip_prefix("file:") {
            Some(path) => lines(entry, &folder.join(path))?,
            None if text.starts_with('=') => {
                return Err(entry.error(format!("`{}` is coupled: it belongs into the table `set`", entry.name)));
            }
            None => return Err(entry.expected(EXPECTED)),
        },
        _ => {
            let elements = entry.list(EXPECTED)?;
            elements
                .iter()
                .map(|element| element.scalar("a number, a text, true or false"))
                .collect::<Result<_, _>>()?
        }
    };
    if values.len() > MOST {
        return Err(entry.error(format!("axis `{}` has {} values; expected at most {MOST}", entry.name, values.len())));
    }
    let values = of_one_kind(entry, values)?;
    let mut sorted: Vec<&Value> = values.iter().collect();
    sorted.sort_by(|a, b| a.order(b));
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(entry.error(format!("axis `{}` has the value `{}` twice", entry.name, twice[0])));
    }
    Ok(Axis { name: entry.name.clone(), values, line: entry.line })
}

/// Converts the values to one sort: numbers beside texts become texts, whole numbers beside others
/// become [`Kind::Number`].
fn of_one_kind(entry: &Entry<'_>, values: Vec<Value>) -> Result<Vec<Value>, SpaceError> {
    let has = |kind: Kind| values.iter().any(|value| value.kind() == kind);
    let kind = match (has(Kind::Switch), has(Kind::Text), has(Kind::Number)) {
        (true, _, _) if values.iter().any(|value| value.kind() != Kind::Switch) => {
            return Err(entry.error(format!("axis `{}` mixes true or false with other values", entry.name)));
        }
        (true, _, _) => return Ok(values),
        (_, true, _) => return Ok(values.into_iter().map(|value| Value::Text(value.to_string())).collect()),
        (_, _, true) => Kind::Number,
        _ => Kind::Whole,
    };
    Ok(values.into_iter().filter_map(|value| value.fit(kind)).collect())
}

/// The lines of a file, without blanks at their ends, empty lines and lines that begin with `#`.
fn lines(entry: &Entry<'_>, path: &Path) -> Result<Vec<Value>, SpaceError> {
    let failed = |why: String| entry.error(format!("axis `{}`: {}: {why}", entry.name, path.display()));
    let file = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !file.is_file() || file.len() > MOST_BYTES {
        return Err(failed(format!("expected a file of at most {} MiB", MOST_BYTES >> 20)));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(Value::parse).collect())
}

/// The keys of a table that describes a range.
#[derive(Default)]
struct Range {
    from: Option<Value>,
    to: Option<Value>,
    step: Option<Value>,
    factor: Option<Value>,
    count: Option<u64>,
    log: bool,
}

fn range(entry: &Entry<'_>, chips: &dyn Fn() -> Vec<String>) -> Result<Vec<Value>, SpaceError> {
    let mut range = Range::default();
    for part in entry.table(EXPECTED)? {
        let number = || {
            part.scalar("a number")
                .and_then(|value| value.number().map(|_| value).ok_or_else(|| part.expected("a number")))
        };
        match part.name.as_str() {
            "from" => range.from = Some(number()?),
            "to" => range.to = Some(number()?),
            "step" => range.step = Some(number()?),
            "factor" => range.factor = Some(number()?),
            "count" => range.count = Some(part.whole(2, MOST as i64)?),
            "log" => range.log = part.scalar("true or false")? == Value::Switch(true),
            "chips" => return matching(&part, chips()),
            _ => return Err(part.unknown(&["from", "to", "step", "factor", "count", "log", "chips"])),
        }
    }
    let bad = |what: &str| entry.error(format!("axis `{}`: {what}", entry.name));
    let (Some(from), Some(to)) = (&range.from, &range.to) else { return Err(bad("expected `from` and `to`")) };
    let (low, high) = (from.number().unwrap_or(0.0), to.number().unwrap_or(0.0));
    if high < low {
        return Err(bad(&format!("from {from} to {to} has no values: the space is empty")));
    }
    match (&range.step, &range.factor, range.count) {
        (Some(step), None, None) if step.number() > Some(0.0) => steps(from, high, step).map_err(|why| bad(&why)),
        (None, Some(factor), None) if factor.number() > Some(1.0) && low > 0.0 => {
            powers(from, high, factor).map_err(|why| bad(&why))
        }
        (None, None, Some(count)) if !range.log => evenly(from, to, count).map_err(|why| bad(&why)),
        (None, None, Some(count)) if low > 0.0 => Ok(logarithmic(from, to, count)),
        (Some(_), None, None) => Err(bad("`step` must be more than 0")),
        (None, Some(_), None) => Err(bad("`factor` must be more than 1, and `from` more than 0")),
        (None, None, Some(_)) => Err(bad("a logarithmic range must begin above 0")),
        _ => Err(bad("expected one of `step`, `factor` and `count`")),
    }
}

fn too_many() -> String {
    format!("expected at most {MOST} values")
}

/// The chips whose names match a pattern, in which `*` stands for any characters, or none.
fn matching(entry: &Entry<'_>, all: Vec<String>) -> Result<Vec<Value>, SpaceError> {
    let pattern = entry.text("a pattern of names, as in \"*64\"")?;
    let found: Vec<Value> =
        all.iter().filter(|name| fits(pattern, name)).map(|name| Value::Text(name.clone())).collect();
    if found.is_empty() {
        return Err(entry.error(format!("no chip fits `{pattern}`; there are {}", all.join(", "))));
    }
    Ok(found)
}

fn fits(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = &parts[..] else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A number rounded to 13 significant digits, so that errors of rounding do not show.
fn rounded(x: f64) -> Value {
    Value::Number(format!("{x:.12e}").parse().unwrap_or(x))
}

/// The error of a range whose whole numbers do not fit into 64 bits.
fn too_large() -> String {
    "a value is too large; expected whole numbers below 2^63".to_owned()
}

fn steps(from: &Value, to: f64, step: &Value) -> Result<Vec<Value>, String> {
    let (low, by) = (from.number().unwrap_or(0.0), step.number().unwrap_or(1.0));
    // The range still has `to` if only an error of rounding puts its last step beyond `to`.
    let n = ((to - low) / by + 1e-9).floor();
    if n >= MOST as f64 {
        return Err(too_many());
    }
    let at = |i: i64| match (from, step) {
        (Value::Whole(from), Value::Whole(step)) => {
            i.checked_mul(*step).and_then(|more| from.checked_add(more)).map(Value::Whole)
        }
        _ => Some(rounded(low + i as f64 * by)),
    };
    (0..=n as i64).map(at).collect::<Option<_>>().ok_or_else(too_large)
}

fn powers(from: &Value, to: f64, factor: &Value) -> Result<Vec<Value>, String> {
    let (low, by) = (from.number().unwrap_or(1.0), factor.number().unwrap_or(2.0));
    let n = ((to / low).ln() / by.ln() + 1e-9).floor();
    if n >= MOST as f64 {
        return Err(too_many());
    }
    let at = |i: u32| match (from, factor) {
        (Value::Whole(from), Value::Whole(factor)) => {
            factor.checked_pow(i).and_then(|power| from.checked_mul(power)).map(Value::Whole)
        }
        _ => Some(rounded(low * by.powi(i as i32))),
    };
    (0..=n as u32).map(at).collect::<Option<_>>().ok_or_else(too_large)
}

fn evenly(from: &Value, to: &Value, count: u64) -> Result<Vec<Value>, String> {
    let last = count as i64 - 1;
    if let (Value::Whole(from), Value::Whole(to)) = (from, to) {
        let span = to.checked_sub(*from).ok_or_else(too_large)?;
        if span % last == 0 {
            // No product overflows: each is at most `span`.
            return Ok((0..=last).map(|i| Value::Whole(from + i * (span / last))).collect());
        }
    }
    let (low, high) = (from.number().unwrap_or(0.0), to.number().unwrap_or(0.0));
    Ok((0..=last).map(|i| rounded(low + (high - low) * i as f64 / last as f64)).collect())
}

/// `count` values at equal ratios. Between whole ends they are rounded to whole numbers, and of
/// values that are equal then, one is kept.
fn logarithmic(from: &Value, to: &Value, count: u64) -> Vec<Value> {
    let (low, high) = (from.number().unwrap_or(1.0), to.number().unwrap_or(1.0));
    let last = count - 1;
    let at = |i: u64| low * (high / low).powf(i as f64 / last as f64);
    let whole = matches!((from, to), (Value::Whole(_), Value::Whole(_)));
    let mut values: Vec<Value> =
        (0..count).map(|i| if whole { Value::Whole(at(i).round() as i64) } else { rounded(at(i)) }).collect();
    values.dedup();
    values
}
