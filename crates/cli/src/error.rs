//! What goes wrong at a command line: bad input (exit code 2) against failure (exit code 1).
//!
//! A subcommand returns `anyhow::Result<ExitCode>`. An error that has a [`BadInput`] in its chain is the user's to
//! mend: an unknown name, a file that does not parse. Every other error is a failure of what was tried.

use std::fmt;
use std::process::ExitCode;

/// Something that the user wrote is wrong. Say what it is, where (file, line, key) and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadInput {
    message: String,
    hint: Option<String>,
}

impl BadInput {
    /// Bad input, in one sentence.
    pub(crate) fn new(message: impl fmt::Display) -> BadInput {
        BadInput { message: message.to_string(), hint: None }
    }

    /// Adds a line that says how to mend it.
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> BadInput {
        self.hint = Some(hint.to_string());
        self
    }

    /// A name that is not among the `known` ones of its `kind`: names them, hints at the nearest.
    pub(crate) fn unknown<'a>(kind: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> BadInput {
        let known: Vec<&str> = known.into_iter().collect();
        let bad = BadInput::new(format!("unknown {kind} `{name}`; expected one of {}", known.join(", ")));
        match nearest(name, known.iter().copied()) {
            Some(near) => bad.hint(format!("did you mean `{near}`?")),
            None => bad,
        }
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadInput {}

/// The known name nearest to `name`, if one is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR: f64 = 0.7;
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&name.to_lowercase(), k), k))
        .filter(|(near, _)| *near >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// Prints an error with its causes and hint on standard error; the exit code says whose it is.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let bad = error.chain().find_map(|e| e.downcast_ref::<BadInput>());
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Many libraries repeat their cause in their own message.
        if !text.contains(&cause) {
            text = format!("{text}\n  because: {cause}");
        }
    }
    crate::ui::say("error:", crate::ui::RED, text);
    if let Some(hint) = bad.and_then(|b| b.hint.as_ref()) {
        crate::ui::say("hint:", crate::ui::YELLOW, hint);
    }
    if bad.is_some() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_gets_a_hint_and_nonsense_does_not() {
        let locks = ["tas", "ticket", "mcs", "clh"];
        assert_eq!(nearest("tiket", locks), Some("ticket"));
        assert_eq!(nearest("MCS", locks), Some("mcs"));
        assert_eq!(nearest("zebra", locks), None);
    }

    #[test]
    fn bad_input_is_found_under_context() {
        use anyhow::Context;
        let error = Err::<(), _>(BadInput::new("x")).context("while reading y").unwrap_err();
        assert!(error.chain().any(|e| e.is::<BadInput>()));
    }
}
