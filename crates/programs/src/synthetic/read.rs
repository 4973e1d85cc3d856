//! Reads a profile file strictly. A problem with a key names the file, the line, the key and what
//! was expected; a syntax error names the file and the line.

use super::keys::{DRAW, Limits, NUMBER, RANGES, SHARE};
use super::profile::{Class, Draw, Numbered, Printed, Profile, Range, Ranges};
use std::path::Path;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A profile file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ProfileError {
    /// The name of the file or folder.
    pub file: String,
    /// The number of the line, from 1; `None`: the problem has no line.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a profile file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file is not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// The file has a key that does not exist.
    #[error("unknown key `{key}`; expected one of {known}")]
    Unknown {
        /// The key, with its table.
        key: String,
        /// The keys that the table may have.
        known: String,
    },
    /// A key is missing that every profile must give.
    #[error("key `{key}` is missing; expected {expected}")]
    Missing {
        /// The key, with its table.
        key: String,
        /// The values that the key may have.
        expected: String,
    },
    /// The value of the key is not one that the key takes.
    #[error("key `{key}` is {found}; expected {expected}")]
    Value {
        /// The key, with its table.
        key: String,
        /// The value in the file.
        found: String,
        /// The values that the key may have.
        expected: String,
    },
    /// A folder has two profiles of one name.
    #[error("profile `{0}` stands in another file of this folder; expected a name of its own")]
    Twice(String),
    /// A folder has no profile.
    #[error("no *.toml file in it; expected profiles")]
    Empty,
}

type Result<T> = std::result::Result<T, ProfileError>;

/// A text that is being read.
pub(crate) struct Reading<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: &'a str,
}

/// A table of the text: its name with a dot behind, where it begins, and its entries.
pub(crate) struct Table<'a> {
    pub(crate) reading: &'a Reading<'a>,
    pub(crate) prefix: &'static str,
    pub(crate) at: usize,
    pub(crate) entries: &'a DeTable<'a>,
}

impl<'a> Reading<'a> {
    /// Parses the whole text as TOML.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>> {
        DeTable::parse(self.text).or_else(|error| {
            let problem = Problem::Syntax(error.message().to_owned());
            self.fail(error.span().map(|span| span.start), problem)
        })
    }

    pub(crate) fn fail<T>(&self, at: Option<usize>, problem: Problem) -> Result<T> {
        let line = |at: usize| 1 + self.text.bytes().take(at).filter(|&byte| byte == b'\n').count();
        Err(ProfileError { file: self.file.to_owned(), line: at.map(line), problem })
    }
}

impl<'a> Table<'a> {
    pub(crate) fn new(
        reading: &'a Reading<'a>,
        prefix: &'static str,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<Table<'a>> {
        match value.get_ref() {
            DeValue::Table(entries) => Ok(Table { reading, prefix, at: value.span().start, entries }),
            other => reading.fail(
                Some(value.span().start),
                Problem::Value {
                    key: prefix.trim_end_matches('.').to_owned(),
                    found: shown(other),
                    expected: "a table".to_owned(),
                },
            ),
        }
    }

    /// Refuses keys that are not in `known`; the first such key in the file is named.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        let mut entries: Vec<_> = self.entries.keys().collect();
        entries.sort_by_key(|name| name.span().start);
        for name in entries {
            if !known.contains(&name.get_ref().as_ref()) {
                let key = format!("{}{}", self.prefix, name.get_ref());
                return self.reading.fail(Some(name.span().start), Problem::Unknown { key, known: known.join(", ") });
            }
        }
        Ok(())
    }

    pub(crate) fn wrong<T>(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: String) -> Result<T> {
        let (key, found) = (format!("{}{key}", self.prefix), shown(value.get_ref()));
        self.reading.fail(Some(value.span().start), Problem::Value { key, found, expected })
    }

    pub(crate) fn must(&self, key: &str, expected: &str) -> Result<&'a Spanned<DeValue<'a>>> {
        match self.entries.get(key) {
            Some(value) => Ok(value),
            None => {
                let (key, expected) = (format!("{}{key}", self.prefix), expected.to_owned());
                self.reading.fail(Some(self.at), Problem::Missing { key, expected })
            }
        }
    }

    pub(crate) fn text(&self, key: &str) -> Result<String> {
        let value = self.must(key, "a name")?;
        match value.get_ref() {
            DeValue::String(text) if !text.is_empty() => Ok(text.to_string()),
            _ => self.wrong(key, value, "a name".to_owned()),
        }
    }

    fn class(&self, key: &str) -> Result<Class> {
        let expected = "\"low\" or \"high\"";
        let value = self.must(key, expected)?;
        let named = |text: &str| [Class::Low, Class::High].into_iter().find(|class| class.name() == text);
        match value.get_ref() {
            DeValue::String(text) if let Some(class) = named(text) => Ok(class),
            _ => self.wrong(key, value, expected.to_owned()),
        }
    }

    pub(crate) fn number(&self, key: &str, limits: Limits) -> Result<f64> {
        let value = self.must(key, &limits.expected())?;
        match value.get_ref().number().filter(|&number| limits.hold(number)) {
            Some(number) => Ok(number),
            None => self.wrong(key, value, limits.expected()),
        }
    }

    fn share(&self, key: &str) -> Result<Option<f64>> {
        self.entries.contains_key(key).then(|| self.number(key, SHARE)).transpose()
    }

    fn range(&self, key: &str, limits: Limits) -> Result<Range> {
        let expected = format!("[least, most], each {}", limits.expected());
        let value = self.must(key, &expected)?;
        let ends: Option<Vec<f64>> = match value.get_ref() {
            DeValue::Array(ends) => ends.iter().map(|end| end.get_ref().number()).collect(),
            _ => None,
        };
        match ends.as_deref() {
            Some(&[least, most]) if least <= most && limits.hold(least) && limits.hold(most) => {
                Ok(Range { least, most })
            }
            _ => self.wrong(key, value, expected),
        }
    }
}

/// A number, whole or not, as a key takes it.
pub(crate) trait Number {
    fn number(&self) -> Option<f64>;
}
impl Number for DeValue<'_> {
    fn number(&self) -> Option<f64> {
        match self {
            DeValue::Integer(n) => {
                i64::from_str_radix(n.as_str().trim_start_matches('+'), n.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(x) => x.as_str().parse().ok(),
            _ => None,
        }
    }
}

/// A value as it stands in the file, for messages.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(n) => n.as_str().to_owned(),
        DeValue::Float(x) => x.as_str().to_owned(),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(items) => format!("a list of {}", items.len()),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

impl Profile {
    /// Reads the profile file at `path`.
    ///
    /// # Errors
    /// The file, the line, the key and what was expected.
    pub fn open(path: &Path) -> Result<Profile> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Profile::from_toml(&text, &file),
            Err(error) => Err(ProfileError { file, line: None, problem: Problem::Unreadable(error.to_string()) }),
        }
    }

    /// Reads a profile from the text of a profile file; `file` is the name for messages.
    ///
    /// # Errors
    /// Those of [`Profile::open`].
    pub fn from_toml(text: &str, file: &str) -> Result<Profile> {
        let reading = Reading { text, file };
        let whole = reading.parse()?;
        let top = Table { reading: &reading, prefix: "", at: 0, entries: whole.get_ref() };
        top.only(&["profile", "printed", "ranges", "draw"])?;
        let table = |name: &str, prefix| Table::new(&reading, prefix, top.must(name, "a table")?);
        let profile = table("profile", "profile.")?;
        profile.only(&["name", "suite"])?;
        Ok(Profile {
            name: profile.text("name")?,
            suite: profile.text("suite")?,
            printed: printed(&table("printed", "printed.")?)?,
            ranges: ranges(&reading, &top)?,
            draws: draws(&reading, &top)?,
        })
    }
}

fn printed(table: &Table<'_>) -> Result<Printed> {
    table.only(&["cs_rate", "network", "cs_share", "coh_share", "entered_spinning"])?;
    Ok(Printed {
        cs_rate: table.class("cs_rate")?,
        network: table.class("network")?,
        cs_share: table.share("cs_share")?,
        coh_share: table.share("coh_share")?,
        entered_spinning: table.share("entered_spinning")?,
    })
}

fn ranges(reading: &Reading<'_>, top: &Table<'_>) -> Result<Vec<Ranges>> {
    let expected = "one or more tables of this name: [[ranges]]";
    top.must("ranges", expected)?;
    let items = tables(top, "ranges", expected)?;
    let names: Vec<&str> = RANGES.iter().map(|key| key.name).collect();
    let one = |item| {
        let table = Table::new(reading, "ranges.", item)?;
        table.only(&names)?;
        let mut ranges = Ranges::default();
        for key in RANGES {
            (key.set)(&mut ranges, table.range(key.name, key.limits)?);
        }
        Ok(ranges)
    };
    items.iter().map(one).collect()
}

/// The tables of an array with that name; none if the array is absent.
fn tables<'a>(top: &Table<'a>, name: &str, expected: &str) -> Result<&'a [Spanned<DeValue<'a>>]> {
    match top.entries.get(name).map(|value| (value, value.get_ref())) {
        None => Ok(&[]),
        Some((_, DeValue::Array(items))) => Ok(items),
        Some((value, _)) => top.wrong(name, value, expected.to_owned()),
    }
}

fn draws(reading: &Reading<'_>, top: &Table<'_>) -> Result<Vec<Numbered>> {
    let items = tables(top, "draw", "tables of this name: [[draw]]")?;
    let names: Vec<&str> = ["number"].into_iter().chain(DRAW.iter().map(|key| key.name)).collect();
    let mut draws: Vec<Numbered> = Vec::new();
    for item in items {
        let table = Table::new(reading, "draw.", item)?;
        table.only(&names)?;
        // A number names one draw only, and numbers go up, so that no number is given twice.
        let least = draws.last().map_or(NUMBER.least, |last| f64::from(last.number) + 1.0);
        let number = table.number("number", Limits { least, ..NUMBER })? as u32;
        let mut draw = Draw::default();
        for key in DRAW {
            (key.set)(&mut draw, table.number(key.name, key.limits)?);
        }
        draws.push(Numbered { number, draw });
    }
    Ok(draws)
}
