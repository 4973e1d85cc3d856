//! Reads the file of a space. An error names the file, the line, the key and what was expected.

use super::axis::axis;
use super::table::{Entry, Text};
use super::{Budget, Constraint, Given, Goal, Limits, Metric, Seeds, Setting, Source, Space, SpaceError};
use crate::expr::Expr;
use crate::value::Value;
use std::path::Path;
use toml::de::DeTable;

/// The keys of a space.
const KEYS: [&str; 10] =
    ["command", "axes", "set", "constraints", "seeds", "until", "metrics", "goal", "budget", "limits"];

/// With `until`, the fewest and the most repetitions of a point where `seeds` does not give them.
const REPEAT: (u32, u32) = (3, 30);
/// The most seeds of a point.
const MOST_SEEDS: i64 = 1_000_000;

impl Space {
    /// Reads a space from the text of its file. Files of values lie in `folder` unless their paths
    /// are absolute; `chips` returns the names of all chips.
    ///
    /// # Errors
    /// The first problem.
    pub fn from_toml(
        text: &str,
        file: &str,
        folder: &Path,
        chips: &dyn Fn() -> Vec<String>,
    ) -> Result<Space, SpaceError> {
        let whole = Text { file, text };
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map(|span| whole.line(span.start));
            whole.error(line, format!("not TOML: {}", error.message().replace('\n', " ")))
        })?;
        let mut space = Space { file: file.to_owned(), command: String::new(), ..Space::of("", vec![], vec![], 1)? };
        let (mut seeds, mut until) = (None, None);
        for entry in whole.entries("", table.get_ref()) {
            match entry.name.as_str() {
                "command" => space.command = entry.text("the name of a command, as in \"sim\"")?.to_owned(),
                "axes" => {
                    for entry in entry.table("a table of axes")? {
                        space.axes.push(axis(&entry, folder, chips)?);
                    }
                }
                "set" => {
                    for entry in entry.table("a table of settings")? {
                        space.set.push(setting(&entry)?);
                    }
                }
                "constraints" => {
                    let all = entry.list("a list of conditions")?;
                    space.constraints = all.iter().map(constraint).collect::<Result<_, _>>()?;
                }
                "seeds" => seeds = Some(entry),
                "until" => until = Some(entry),
                "metrics" => {
                    let all = entry.list("a list of figures")?;
                    space.metrics = all.iter().map(metric).collect::<Result<_, _>>()?;
                }
                "goal" => space.goal = Some(goal(&entry)?),
                "budget" => space.budget = budget(&entry)?,
                "limits" => space.limits = limits(&entry)?,
                _ => return Err(entry.unknown(&KEYS)),
            }
        }
        if space.command.is_empty() {
            return Err(
                whole.error(None, "`command` is missing; expected the name of a command, as in `command = \"sim\"`")
            );
        }
        space.seeds = repetitions(seeds.as_ref(), until.as_ref())?;
        unique(&space)?;
        space.settled()
    }
}

/// Refuses two metrics with the same name, and a metric with the name of a coordinate.
fn unique(space: &Space) -> Result<(), SpaceError> {
    for (i, metric) in space.metrics.iter().enumerate() {
        if space.metrics[..i].iter().any(|other| other.name == metric.name) {
            return Err(space.error(metric.line, format!("metric `{}` is given twice", metric.name)));
        }
        if space.names().any(|name| name == metric.name) {
            return Err(
                space.error(metric.line, format!("`{}` is a coordinate; a metric needs another name", metric.name))
            );
        }
    }
    Ok(())
}

fn expr(entry: &Entry<'_>, text: &str) -> Result<Expr, SpaceError> {
    Expr::parse(text).map_err(|fault| entry.error(format!("`{}` is {text:?}: {fault}", entry.path)))
}

fn setting(entry: &Entry<'_>) -> Result<Setting, SpaceError> {
    let value = match entry.scalar("a number, a text, true or false")? {
        Value::Text(text) if text.starts_with('=') => Given::Coupled(expr(entry, text[1..].trim())?),
        value => Given::Fixed(value),
    };
    Ok(Setting { name: entry.name.clone(), value, line: entry.line })
}

fn constraint(entry: &Entry<'_>) -> Result<Constraint, SpaceError> {
    let text = entry.text("a condition, as in \"threads <= core.count\"")?;
    Ok(Constraint { expr: expr(entry, text)?, line: entry.line })
}

fn metric(entry: &Entry<'_>) -> Result<Metric, SpaceError> {
    const EXPECTED: &str = "the name of a figure, or { name = \"…\", value = \"= …\", unit = \"…\" }";
    let line = Some(entry.line);
    if let toml::de::DeValue::String(name) = entry.value {
        return Ok(Metric { name: name.to_string(), source: Source::Figure(name.to_string()), line });
    }
    let (mut name, mut value, mut unit, mut what) = (None, None, String::new(), String::new());
    for part in entry.table(EXPECTED)? {
        match part.name.as_str() {
            "name" => name = Some(part.text("a name")?.to_owned()),
            "value" => {
                let text = part.text("the name of a figure, or an expression that begins with `=`")?;
                value = Some(match text.strip_prefix('=') {
                    Some(text) => Err(expr(&part, text.trim())?),
                    None => Ok(text.to_owned()),
                });
            }
            "unit" => unit = part.text("a unit")?.to_owned(),
            "what" => what = part.text("a sentence")?.to_owned(),
            _ => return Err(part.unknown(&["name", "value", "unit", "what"])),
        }
    }
    let (Some(name), Some(value)) = (name, value) else { return Err(entry.error("a metric needs `name` and `value`")) };
    let source = match value {
        Ok(figure) => Source::Figure(figure),
        Err(expr) => Source::Expr { expr, unit, what },
    };
    Ok(Metric { name, source, line })
}

fn goal(entry: &Entry<'_>) -> Result<Goal, SpaceError> {
    let expected = "`most` or `least` and a metric, as in \"most lock.rate_per_kilocycle\"";
    let words: Vec<&str> = entry.text(expected)?.split_whitespace().collect();
    match words[..] {
        ["most", metric] => Ok(Goal { most: true, metric: metric.to_owned() }),
        ["least", metric] => Ok(Goal { most: false, metric: metric.to_owned() }),
        _ => Err(entry.expected(expected)),
    }
}

fn budget(entry: &Entry<'_>) -> Result<Budget, SpaceError> {
    let mut budget = Budget::default();
    for part in entry.table("a table of `points` and `seconds`")? {
        match part.name.as_str() {
            "points" => budget.points = Some(part.whole(1, i64::MAX)?),
            "seconds" => budget.time = Some(part.seconds()?),
            _ => return Err(part.unknown(&["points", "seconds"])),
        }
    }
    Ok(budget)
}

fn limits(entry: &Entry<'_>) -> Result<Limits, SpaceError> {
    let mut limits = Limits::default();
    for part in entry.table("a table of `seconds` and `memory_mib`")? {
        match part.name.as_str() {
            "seconds" => limits.time = Some(part.seconds()?),
            "memory_mib" => limits.memory = Some(part.whole(1, 1 << 30)? << 20),
            _ => return Err(part.unknown(&["seconds", "memory_mib"])),
        }
    }
    Ok(limits)
}

fn repetitions(seeds: Option<&Entry<'_>>, until: Option<&Entry<'_>>) -> Result<Seeds, SpaceError> {
    let Some(until) = until else {
        let Some(seeds) = seeds else { return Ok(Seeds::List(vec![1])) };
        return Ok(Seeds::List(match seeds.value {
            toml::de::DeValue::Array(_) => seed_list(seeds)?,
            toml::de::DeValue::Table(_) => {
                return Err(seeds.error("`seeds` has `least` and `most` only beside `until`"));
            }
            _ => (1..=seeds.whole(1, MOST_SEEDS)?).collect(),
        }));
    };
    let (mut least, mut most) = REPEAT;
    if let Some(seeds) = seeds {
        for part in seeds.table("{ least = N, most = N } beside `until`")? {
            match part.name.as_str() {
                "least" => least = part.whole(2, MOST_SEEDS)? as u32,
                "most" => most = part.whole(2, MOST_SEEDS)? as u32,
                _ => return Err(part.unknown(&["least", "most"])),
            }
        }
        if most < least {
            return Err(seeds.error(format!("`seeds.most` is {most}, less than `seeds.least`, which is {least}")));
        }
    }
    let narrow = until.table("a table of metrics with shares, as in { cycles = \"2%\" }")?;
    let narrow = narrow.iter().map(|part| Ok((part.name.clone(), share(part)?))).collect::<Result<Vec<_>, _>>()?;
    if narrow.is_empty() {
        return Err(until.error("`until` names no metric"));
    }
    Ok(Seeds::Until { least, most, narrow })
}

fn seed_list(entry: &Entry<'_>) -> Result<Vec<u64>, SpaceError> {
    let all = entry.list("a number of seeds, or a list of them")?;
    let mut seeds = Vec::new();
    for element in &all {
        let seed = element.whole(0, i64::MAX)?;
        if seeds.contains(&seed) {
            return Err(element.error(format!("seed {seed} is given twice")));
        }
        seeds.push(seed);
    }
    if seeds.is_empty() {
        return Err(entry.error("`seeds` is empty: the space is empty"));
    }
    Ok(seeds)
}

/// Reads a share above 0 and below 1: a percentage in quotes, or a number.
fn share(entry: &Entry<'_>) -> Result<f64, SpaceError> {
    let expected = "a share of the mean, as in \"2%\"";
    let share = match entry.scalar(expected)? {
        Value::Text(text) => text.strip_suffix('%').and_then(|text| text.trim().parse().ok()).map(|x: f64| x / 100.0),
        value => value.number(),
    };
    share.filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| entry.expected(expected))
}
