//! A table of a space's file, whose errors name the line.

use super::SpaceError;
use crate::value::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file's name and text, from which errors get their line.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

/// A value with its key and its line.
pub(super) struct Entry<'a> {
    pub(super) text: Text<'a>,
    /// The key with its tables, for messages.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Text<'a> {
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    pub(super) fn error(&self, line: Option<usize>, what: impl Into<String>) -> SpaceError {
        SpaceError { file: self.file.to_owned(), line, what: what.into(), hint: None }
    }

    /// The entries of a table, in the order of the file.
    pub(super) fn entries(&self, path: &str, table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let entry = |(name, value): (&'a Spanned<toml::de::DeString<'a>>, &'a Spanned<DeValue<'a>>)| Entry {
            text: *self,
            path: if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) },
            name: name.get_ref().to_string(),
            line: self.line(name.span().start),
            value: value.get_ref(),
        };
        entries.into_iter().map(entry).collect()
    }
}

impl<'a> Entry<'a> {
    pub(super) fn error(&self, what: impl Into<String>) -> SpaceError {
        self.text.error(Some(self.line), what)
    }

    /// The error of a value that the key does not take.
    pub(super) fn expected(&self, expected: &str) -> SpaceError {
        self.error(format!("`{}` is {}; expected {expected}", self.path, shown(self.value)))
    }

    /// The error of an unknown key, with the nearest of the known ones.
    pub(super) fn unknown(&self, known: &[&str]) -> SpaceError {
        let what = format!("unknown key `{}`; expected one of {}", self.path, known.join(", "));
        let near = known.iter().map(|known| (strsim::jaro_winkler(&self.name, known), known));
        let near = near.filter(|(like, _)| *like >= 0.7).max_by(|a, b| a.0.total_cmp(&b.0));
        SpaceError { hint: near.map(|(_, known)| format!("did you mean `{known}`?")), ..self.error(what) }
    }

    /// The entries of the table that the value is.
    pub(super) fn table(&self, expected: &str) -> Result<Vec<Entry<'a>>, SpaceError> {
        match self.value {
            DeValue::Table(table) => Ok(self.text.entries(&self.path, table)),
            _ => Err(self.expected(expected)),
        }
    }

    /// The elements of the list that the value is, each with the line on which it begins.
    pub(super) fn list(&self, expected: &str) -> Result<Vec<Entry<'a>>, SpaceError> {
        let DeValue::Array(all) = self.value else { return Err(self.expected(expected)) };
        let element = |(at, value): (usize, &'a Spanned<DeValue<'a>>)| Entry {
            text: self.text,
            path: format!("{}[{at}]", self.path),
            name: self.name.clone(),
            line: self.text.line(value.span().start),
            value: value.get_ref(),
        };
        Ok(all.iter().enumerate().map(element).collect())
    }

    pub(super) fn text(&self, expected: &str) -> Result<&'a str, SpaceError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.expected(expected)),
        }
    }

    /// The value of a scalar.
    pub(super) fn scalar(&self, expected: &str) -> Result<Value, SpaceError> {
        let read = match self.value {
            DeValue::String(text) => Some(Value::Text(text.to_string())),
            DeValue::Boolean(on) => Some(Value::Switch(*on)),
            DeValue::Integer(n) => {
                i64::from_str_radix(n.as_str().trim_start_matches('+'), n.radix()).ok().map(Value::Whole)
            }
            DeValue::Float(x) => x.as_str().parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Number),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        };
        read.ok_or_else(|| self.expected(expected))
    }

    /// A whole number from `least` to `most`.
    pub(super) fn whole(&self, least: i64, most: i64) -> Result<u64, SpaceError> {
        let expected = format!("a whole number from {least} to {most}");
        match self.scalar(&expected)? {
            Value::Whole(n) if (least..=most).contains(&n) => Ok(n.unsigned_abs()),
            _ => Err(self.expected(&expected)),
        }
    }

    /// A number of seconds, as a duration.
    pub(super) fn seconds(&self) -> Result<std::time::Duration, SpaceError> {
        let expected = "a number of seconds, more than 0";
        let seconds = self.scalar(expected)?.number().filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
        seconds.map(std::time::Duration::from_secs_f64).ok_or_else(|| self.expected(expected))
    }
}

/// The value in the file as text, for messages.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(n) => n.as_str().to_owned(),
        DeValue::Float(x) => x.as_str().to_owned(),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
