//! Errors of the command line: bad input (exit code 2) and failure (exit code 1).
//!
//! A subcommand returns `anyhow::Result<ExitCode>`. An error that has a [`BadInput`] in its chain
//! is one that the user can mend: an unknown name, a file that cannot be parsed. Every other error
//! is a failure of the operation.

pub(crate) use baton_host::{BadInput, Place};
use std::process::ExitCode;

/// Prints an error with its causes and hint on standard error. Returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let bad = bad_input(error);
    crate::ui::say("error:", crate::ui::RED, text(error));
    if let Some(hint) = bad.and_then(BadInput::advice) {
        crate::ui::say("hint:", crate::ui::YELLOW, hint);
    }
    if bad.is_some() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// The bad input in an error's chain.
pub(crate) fn bad_input(error: &anyhow::Error) -> Option<&BadInput> {
    error.chain().find_map(|e| e.downcast_ref::<BadInput>())
}

/// A run that was asked to end before its end.
#[derive(Debug, thiserror::Error)]
#[error("the run was interrupted")]
pub(crate) struct Interrupted;

/// An error with its causes, as a text.
pub(crate) fn text(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Many libraries repeat their cause in their own message.
        if !text.contains(&cause) {
            text = format!("{text}\n  because: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_found_under_context() {
        use anyhow::Context;
        let error = Err::<(), _>(BadInput::new("x")).context("while reading y").unwrap_err();
        assert!(error.chain().any(|e| e.is::<BadInput>()));
    }
}
