//! The two kinds of errors: [`BadInput`], a request that its author can correct, and [`Failed`], an
//! attempt that did not work.

use std::error::Error;
use std::fmt;

/// Something that the user wrote is wrong. The message says what it is, where (file, line, key) and
/// what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadInput {
    message: String,
    hint: Option<String>,
    place: Place,
}

/// Where wrong input stands, as far as that is known. The message says it as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or the option of the command line that takes its place.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The full name of the key, or the option.
    pub key: Option<String>,
}

impl BadInput {
    /// Bad input, described by one sentence.
    pub fn new(message: impl fmt::Display) -> BadInput {
        BadInput { message: message.to_string(), hint: None, place: Place::default() }
    }

    /// Adds a line that says how to correct the input.
    pub fn hint(mut self, hint: impl fmt::Display) -> BadInput {
        self.hint = Some(hint.to_string());
        self
    }

    /// Adds where the input stands.
    pub fn at(mut self, place: Place) -> BadInput {
        self.place = place;
        self
    }

    /// Where the input stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A name that is not among the `known` names of its `kind`. The message lists the known names,
    /// and hints at the nearest.
    pub fn unknown<'a>(kind: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> BadInput {
        let known: Vec<&str> = known.into_iter().collect();
        let bad = BadInput::new(format!("unknown {kind} `{name}`; expected one of {}", known.join(", ")));
        match nearest(name, known.iter().copied()) {
            Some(near) => bad.hint(format!("did you mean `{near}`?")),
            None => bad,
        }
    }

    /// The line that says how to correct the input.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// The known name that is nearest to `name`, if it is near enough for `name` to be a typing error.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR: f64 = 0.7;
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&name.to_lowercase(), k), k))
        .filter(|(near, _)| *near >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// The known names, most similar to `name` first. Equally similar names keep their order.
pub fn closest_first<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let like = |known: &str| {
        let known = known.to_lowercase();
        strsim::jaro_winkler(&name, &known).max(strsim::normalized_damerau_levenshtein(&name, &known))
    };
    let mut all: Vec<(f64, &str)> = known.into_iter().map(|known| (like(known), known)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().map(|(_, known)| known).collect()
}

/// An attempt that failed: what was tried, and the underlying error if there is one.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Failed {
    what: String,
    #[source]
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Failed {
    /// A failure without an underlying error.
    pub(crate) fn new(what: impl fmt::Display) -> Failed {
        Failed { what: what.to_string(), cause: None }
    }

    /// For `map_err`: turns an error into a failure that says what was tried.
    pub(crate) fn because<E: Error + Send + Sync + 'static>(what: impl fmt::Display) -> impl FnOnce(E) -> Failed {
        move |cause| Failed { what: what.to_string(), cause: Some(Box::new(cause)) }
    }
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
        assert_eq!(BadInput::unknown("lock", "tiket", locks).advice(), Some("did you mean `ticket`?"));
        assert_eq!(BadInput::unknown("lock", "zebra", locks).advice(), None);
    }

    #[test]
    fn the_most_alike_come_first() {
        let names = ["from make (two.c:9)", "cold", "hot"];
        assert_eq!(closest_first("hto", names)[0], "hot");
        assert_eq!(closest_first("make", names)[0], "from make (two.c:9)");
        assert_eq!(closest_first("Cold", names)[0], "cold");
    }

    #[test]
    fn a_failure_keeps_its_cause() {
        let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
        let failed = Failed::because("cannot start it")(cause);
        assert_eq!(failed.to_string(), "cannot start it");
        assert!(failed.source().unwrap().is::<std::io::Error>());
        assert!(Failed::new("no").source().is_none());
    }
}
