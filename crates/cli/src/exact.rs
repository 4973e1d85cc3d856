//! Words that are not text: `meta.json` holds text for people, but arguments and paths are bytes.
//! If the two differ, the bytes are kept beside the text, so that a command can be run again
//! exactly.

use crate::error::BadInput;
use baton_trace::Meta;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The key of the recorded command's bytes.
pub(crate) const COMMAND: &str = "command-bytes";
/// The key of the bytes of the directory in which the command ran.
pub(crate) const DIRECTORY: &str = "directory-bytes";

/// The entry for `meta.json` if a word is not text: a list of bytes for each word.
pub(crate) fn entry(key: &str, words: &[OsString]) -> Option<(String, Value)> {
    let is_text = words.iter().all(|word| word.to_str().is_some());
    (!is_text).then(|| (key.to_owned(), words.iter().map(|word| Value::from(word.as_bytes())).collect()))
}

/// The exact words; `text` is the text in `meta.json`.
pub(crate) fn words(meta: &Meta, key: &str, text: &[String]) -> Result<Vec<OsString>, BadInput> {
    let Some(bytes) = meta.extra.get(key) else { return Ok(text.iter().map(OsString::from).collect()) };
    let words: Result<Vec<Vec<u8>>, _> = serde_json::from_value(bytes.clone());
    match words {
        Ok(words) if words.len() == text.len() => Ok(words.into_iter().map(OsString::from_vec).collect()),
        _ => Err(BadInput::new(format!("meta.json: {key}: expected {} lists of bytes", text.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        let odd = [OsString::from("cp"), OsString::from_vec(b"caf\xe9".to_vec())];
        let text: Vec<String> = odd.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let meta = Meta { extra: entry(COMMAND, &odd).into_iter().collect(), ..Meta::default() };
        assert_eq!(words(&meta, COMMAND, &text).unwrap(), odd);
        assert_eq!(entry(COMMAND, &["cp".into()]), None);
        assert_eq!(words(&Meta::default(), COMMAND, &text[..1]).unwrap(), ["cp"]);
        let error = words(&meta, COMMAND, &text[..1]).unwrap_err().to_string();
        assert!(error.contains("meta.json: command-bytes: expected 1 lists"), "{error}");
    }
}
