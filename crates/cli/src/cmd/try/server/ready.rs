//! How to know that a server serves.

use crate::values;
use baton_host::launch::listening::Listener;
use std::str::FromStr;
use std::time::Duration;

/// How long the sockets of a server stay the same before it counts as serving.
const SETTLED: Duration = Duration::from_millis(100);

/// When a server serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Ready {
    /// The server listens anywhere, and its sockets have not changed for a moment.
    #[default]
    Listens,
    /// The server listens at this port.
    Port(u16),
    /// The server has printed this text.
    Text(String),
    /// This time has passed since the server was started.
    After(Duration),
}

impl FromStr for Ready {
    type Err = String;

    /// A number is a port, a number with a unit is a time, all else is text.
    fn from_str(text: &str) -> Result<Ready, String> {
        let digits = text.trim_start_matches(':');
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let port = digits.parse().ok().filter(|port| *port > 0);
            return port.map(Ready::Port).ok_or_else(|| format!("`{text}` is no port; a time has a unit, as in 2s"));
        }
        let begins = text.starts_with(|c: char| c.is_ascii_digit());
        match values::duration(text) {
            Ok(time) if begins => Ok(Ready::After(time)),
            _ if text.trim().is_empty() => {
                Err("expected a port, a time (2s) or a text that the server prints".to_owned())
            }
            _ => Ok(Ready::Text(text.to_owned())),
        }
    }
}

/// What is seen of a server that starts.
pub(super) struct Seen<'a> {
    /// Time since the server was started.
    pub(super) elapsed: Duration,
    /// The sockets at which the server listens.
    pub(super) listeners: &'a [Listener],
    /// Time since the server's sockets last changed.
    pub(super) unchanged: Duration,
    /// Text that the server has printed.
    pub(super) printed: &'a str,
}

impl Ready {
    /// Whether a server of which this was seen counts as serving.
    pub(super) fn is_met(&self, seen: &Seen<'_>) -> bool {
        match self {
            Ready::Listens => !seen.listeners.is_empty() && seen.unchanged >= SETTLED,
            Ready::Port(port) => seen.listeners.iter().any(|listener| listener.port == Some(*port)),
            Ready::Text(text) => seen.printed.contains(text),
            Ready::After(time) => seen.elapsed >= *time,
        }
    }

    /// Returns what the server has not done, for messages.
    pub(super) fn wanted(&self) -> String {
        match self {
            Ready::Listens => "listened nowhere".to_owned(),
            Ready::Port(port) => format!("did not listen at port {port}"),
            Ready::Text(text) => format!("did not print `{text}`"),
            Ready::After(time) => format!("was not given its {time:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_a_time_or_a_text() {
        let read = |text: &str| text.parse::<Ready>().unwrap();
        assert_eq!(read("11211"), Ready::Port(11211));
        assert_eq!(read(":80"), Ready::Port(80));
        assert_eq!(read("2s"), Ready::After(Duration::from_secs(2)));
        assert_eq!(read("500ms"), Ready::After(Duration::from_millis(500)));
        assert_eq!(read("Ready to accept"), Ready::Text("Ready to accept".into()));
        for bad in ["70000", "0", "", " "] {
            assert!(bad.parse::<Ready>().is_err(), "{bad}");
        }
    }

    #[test]
    fn each_is_met_by_its_own() {
        let seen =
            Seen { elapsed: Duration::from_secs(3), listeners: &[], unchanged: Duration::ZERO, printed: "is up" };
        assert!(Ready::Text("up".into()).is_met(&seen) && !Ready::Text("down".into()).is_met(&seen));
        assert!(
            Ready::After(Duration::from_secs(3)).is_met(&seen) && !Ready::After(Duration::from_secs(4)).is_met(&seen)
        );
        assert!(!Ready::Listens.is_met(&seen) && !Ready::Port(80).is_met(&seen));
    }
}
