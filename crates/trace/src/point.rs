//! Progress points as a user names them: `recv`, `lock:cache_lock`, `cond:work`, `func:handle`,
//! `mark:served`, each with an optional place in the code behind `@`, and `BEGIN..END` for a
//! request.
//!
//! A system call that did what it was called for, an acquisition, the end of a wait at a condition,
//! the entry of a function, or a marker of `baton.h` counts as one passage of the point.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The system calls that a point can name, by the names of the C functions. A call's number in an
/// event is its index in this list, so new names are added at its end.
pub const CALLS: [&str; 29] = [
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "write",
    "writev",
    "send",
    "sendto",
    "sendmsg",
    "accept",
    "accept4",
    "epoll_wait",
    "epoll_pwait",
    "poll",
    "ppoll",
    "select",
    "pselect",
    "fsync",
    "fdatasync",
    "sleep",
    "usleep",
    "nanosleep",
    "clock_nanosleep",
    "sendfile",
    "connect",
    "recvmmsg",
    "sendmmsg",
    "waitpid",
];

/// What a thread has to do to pass a point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Passed {
    /// A system call, by its number in [`CALLS`].
    Call(u8),
    /// An acquisition of a lock of this name.
    Lock(String),
    /// The end of a wait at a condition variable of this name.
    Condition(String),
    /// An entry of a function, by its symbol.
    Function(String),
    /// A marker of `baton.h`, by its name.
    Marker(String),
}

/// A progress point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// What a thread has to do to pass the point.
    pub passed: Passed,
    /// The only place in the code whose passages count, as `FILE:LINE` or a function; `None` if all
    /// places count.
    pub site: Option<String>,
}

/// The two points between which a request lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The request begins when a thread passes this point.
    pub begin: Point,
    /// The request ends when the thread passes this point.
    pub end: Point,
}

/// What a user may give as the value of `--progress`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A single point: each passage counts as progress, and there are no requests.
    Point(Point),
    /// A request between two points: the request's end counts as progress.
    Request(Span),
}

/// Says why a text names no progress point.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is no progress point: {why}")]
pub struct BadPoint {
    text: String,
    why: String,
}

/// What a point may look like, for error messages.
pub const GRAMMAR: &str = "a system call (recv, accept, epoll_wait, write, ...), lock:NAME, cond:NAME, func:SYMBOL or \
                           mark:NAME, each with @FILE:LINE or @FUNCTION behind it if only that place counts";

impl FromStr for Point {
    type Err = BadPoint;

    fn from_str(text: &str) -> Result<Point, BadPoint> {
        let bad = |why: String| BadPoint { text: text.to_owned(), why };
        let (what, site) = match text.rsplit_once('@') {
            Some((what, site)) => (what.trim(), Some(site.trim())),
            None => (text.trim(), None),
        };
        if site.is_some_and(str::is_empty) {
            return Err(bad("no place stands behind `@`; expected FILE:LINE or a function".into()));
        }
        let passed = match what.split_once(':') {
            None => Passed::Call(call(what).ok_or_else(|| bad(no_call(what)))?),
            Some((kind, name)) => named(kind, name.trim()).map_err(bad)?,
        };
        Ok(Point { passed, site: site.map(str::to_owned) })
    }
}

/// Returns the number of a system call in [`CALLS`], by the call's name.
pub fn call(name: &str) -> Option<u8> {
    CALLS.iter().position(|call| *call == name).map(|number| number as u8)
}

fn no_call(what: &str) -> String {
    match what {
        "" => format!("it is empty; expected {GRAMMAR}"),
        _ => format!("`{what}` is no system call that is counted ({}); expected {GRAMMAR}", CALLS.join(", ")),
    }
}

fn named(kind: &str, name: &str) -> Result<Passed, String> {
    let make: fn(String) -> Passed = match kind.trim() {
        "lock" => Passed::Lock,
        "cond" => Passed::Condition,
        "func" => Passed::Function,
        "mark" => Passed::Marker,
        other => return Err(format!("`{other}:` is no kind of point; expected {GRAMMAR}")),
    };
    match name {
        "" => Err(format!("no name stands behind `{kind}:`")),
        name => Ok(make(name.to_owned())),
    }
}

impl FromStr for Progress {
    type Err = BadPoint;

    /// Reads `POINT` or `BEGIN..END`. A place may contain `..` (`../src/a.c:3`): the first `..`
    /// that has a valid point on both sides divides the text.
    fn from_str(text: &str) -> Result<Progress, BadPoint> {
        let mut splits = text.match_indices("..").map(|(at, _)| (&text[..at], &text[at + 2..]));
        let span = |(begin, end): (&str, &str)| Some(Span { begin: begin.parse().ok()?, end: end.parse().ok()? });
        if let Some(span) = splits.find_map(span) {
            return Ok(Progress::Request(span));
        }
        match (text.parse(), text.split_once("..")) {
            (Ok(point), _) => Ok(Progress::Point(point)),
            // The text has `..`, but a side of it is no valid point: the error of that side says
            // more than an error about the whole text would.
            (Err(_), Some((begin, end))) if !begin.contains('@') => Err(begin
                .parse::<Point>()
                .err()
                .or_else(|| end.parse::<Point>().err())
                .expect("no split has two points")),
            (Err(error), _) => Err(error),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.passed {
            Passed::Call(number) => {
                f.write_str(CALLS.get(usize::from(*number)).copied().unwrap_or("an unknown call"))?
            }
            Passed::Lock(name) => write!(f, "lock:{name}")?,
            Passed::Condition(name) => write!(f, "cond:{name}")?,
            Passed::Function(name) => write!(f, "func:{name}")?,
            Passed::Marker(name) => write!(f, "mark:{name}")?,
        }
        match &self.site {
            Some(site) => write!(f, "@{site}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Point(point) => point.fmt(f),
            Progress::Request(span) => write!(f, "{}..{}", span.begin, span.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(passed: Passed, site: Option<&str>) -> Point {
        Point { passed, site: site.map(str::to_owned) }
    }

    #[test]
    fn a_point_is_a_call_a_lock_a_condition_a_function_or_a_marker() {
        for (text, passed, site) in [
            ("read", Passed::Call(0), None),
            ("recv@server.c:12", Passed::Call(2), Some("server.c:12")),
            ("lock:cache_lock", Passed::Lock("cache_lock".into()), None),
            ("lock:svc::cache@Cache::get", Passed::Lock("svc::cache".into()), Some("Cache::get")),
            ("cond:work", Passed::Condition("work".into()), None),
            ("func:handle@GLIBC_2.2@main", Passed::Function("handle@GLIBC_2.2".into()), Some("main")),
            ("mark:a request", Passed::Marker("a request".into()), None),
        ] {
            assert_eq!(text.parse(), Ok(point(passed, site)), "{text}");
            assert_eq!(text.parse::<Point>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_names_no_point_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "it is empty"),
            ("recieve", "`recieve` is no system call that is counted (read, "),
            ("lock:", "no name stands behind `lock:`"),
            ("lock: @a.c:1", "no name stands behind `lock:`"),
            ("mutex:m", "`mutex:` is no kind of point"),
            ("recv@", "no place stands behind `@`"),
            ("@a.c:1", "it is empty"),
        ] {
            let error = text.parse::<Point>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_request_lies_between_two_points() {
        let spans = ["recv..send", "recv@../a.c:3..send@b.c:4", "mark:begin..mark:end", "lock:a..lock:b"];
        for text in spans {
            let progress: Progress = text.parse().unwrap();
            assert!(matches!(progress, Progress::Request(_)), "{text}");
            assert_eq!(progress.to_string(), text);
        }
        assert_eq!("recv".parse(), Ok(Progress::Point(point(Passed::Call(2), None))));
        assert!(matches!("recv@../a.c:3".parse(), Ok(Progress::Point(_))));
        for text in ["recv..", "..send", "recv..sned", "rcv..send", ".."] {
            assert!(text.parse::<Progress>().is_err(), "{text}");
        }
        let error = "recv..sned".parse::<Progress>().unwrap_err().to_string();
        assert!(error.starts_with("`sned` is no progress point"), "{error}");
    }

    #[test]
    fn each_call_has_one_number() {
        for (number, name) in CALLS.iter().enumerate() {
            assert_eq!(call(name), Some(number as u8));
        }
    }
}
