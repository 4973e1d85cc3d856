//! From the text of an expression to its words.

use super::Fault;
use crate::value::Value;

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A number or a text in quotes.
    Literal(Value),
    /// A name, such as `core.count` or `one-write-in`.
    Name(String),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
}

/// The signs. A sign comes before each sign with which it begins: `<=` before `<`.
const SIGNS: [&str; 15] = ["==", "!=", "<=", ">=", "**", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

/// Splits a text into words, each with the byte of the text at which it begins.
pub(super) fn words(text: &str) -> Result<Vec<(Word, usize)>, Fault> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (word, length) = match first {
            '\'' | '"' => quoted(rest, first).ok_or_else(|| Fault::new(at, format!("no closing {first}")))?,
            '0'..='9' => number(rest).map_err(|what| Fault::new(at, what))?,
            c if c.is_ascii_alphabetic() || c == '_' => name(rest),
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Word::Sign(sign), sign.len()),
                None => return Err(Fault::new(at, format!("`{first}` means nothing here"))),
            },
        };
        all.push((word, at));
        at += length;
    }
    Ok(all)
}

fn quoted(rest: &str, quote: char) -> Option<(Word, usize)> {
    let end = rest[1..].find(quote)?;
    Some((Word::Literal(Value::Text(rest[1..=end].to_owned())), end + 2))
}

fn number(rest: &str) -> Result<(Word, usize), String> {
    let bytes = rest.as_bytes();
    let part = |i: usize| {
        let after_e = i > 0 && bytes[i - 1].eq_ignore_ascii_case(&b'e');
        bytes[i].is_ascii_alphanumeric() || b"._".contains(&bytes[i]) || (after_e && b"+-".contains(&bytes[i]))
    };
    let end = (0..bytes.len()).find(|&i| !part(i)).unwrap_or(bytes.len());
    match Value::parse(&rest[..end]) {
        Value::Text(text) => Err(format!("`{text}` is no number")),
        value => Ok((Word::Literal(value), end)),
    }
}

/// The name at the beginning of `rest`, and its length in bytes. A name may contain dots, and
/// hyphens that a letter follows at once: `one-write-in` is a name, `a - b` and `a-1` are
/// differences.
fn name(rest: &str) -> (Word, usize) {
    let bytes = rest.as_bytes();
    let letter = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_alphabetic);
    let part =
        |i: usize| bytes[i].is_ascii_alphanumeric() || b"._".contains(&bytes[i]) || (bytes[i] == b'-' && letter(i + 1));
    let end = (0..bytes.len()).find(|&i| !part(i)).unwrap_or(bytes.len());
    (Word::Name(rest[..end].to_owned()), end)
}
