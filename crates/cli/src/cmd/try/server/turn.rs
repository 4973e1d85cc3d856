//! One turn: a server under a lock, its load, a warm-up, and the points that it passes in a window.

use super::super::subject::{Interrupted, still_wanted};
use super::point::Counted;
use super::ready::{Ready, Seen};
use super::serving::{Serving, how};
use crate::cmd::measure::runs::Candidate;
use crate::error::BadInput;
use crate::ui;
use baton_host::launch::counts::Counts;
use baton_host::launch::exec::Exec;
use baton_host::launch::listening;
use baton_host::launch::messages::{self, Messages};
use baton_host::launch::program::Program;
use baton_trace::counts::Totals;
use baton_units::Nanos;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval at which a server is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a server may take until it serves.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long ports of ended connections are waited for: the kernel keeps them for a minute.
const PORTS: Duration = Duration::from_secs(70);
/// How many of the calls that the server made are named.
const NAMED: usize = 6;
/// Fewer points than this in a window are a rough figure.
pub(super) const FEW: u64 = 100;

/// The settings of all turns.
pub(super) struct How {
    pub(super) window: Duration,
    pub(super) warmup: Duration,
    pub(super) load: Option<String>,
    pub(super) ready: Ready,
    pub(super) point: Counted,
}

/// Turns of one server.
pub(super) struct Turns<'a> {
    program: &'a Program,
    command: &'a [OsString],
    library: &'a Path,
    pub(super) how: How,
    messages: Messages,
    /// The ports at which the server listened in its turns so far.
    ports: BTreeSet<u16>,
    /// The fewest points of any window that had some.
    pub(super) fewest: Option<u64>,
}

/// A server that ended before it served.
struct Refused(String);

impl<'a> Turns<'a> {
    pub(super) fn new(
        program: &'a Program,
        command: &'a [OsString],
        library: &'a Path,
        how: How,
    ) -> anyhow::Result<Turns<'a>> {
        let messages = Messages::begin(|text| ui::warn(text))?;
        Ok(Turns { program, command, library, how, messages, ports: BTreeSet::new(), fewest: None })
    }

    /// Runs the server once. The result is the time of a point in picoseconds, as the contest
    /// compares times; `None` if no point came under a lock that is tried.
    pub(super) fn run(&mut self, candidate: &Candidate) -> anyhow::Result<Option<Nanos>> {
        self.ports_are_free()?;
        let counts = Counts::new()?;
        let mut serving = self.served(candidate, &counts)?;
        if let Some(load) = &self.how.load {
            serving.start_load(load)?;
        }
        let start = Instant::now();
        self.go_on(&mut serving, candidate, start, self.how.warmup)?;
        let entries = serving.entries();
        let (before, begin) = (counts.read()?, Instant::now());
        self.go_on(&mut serving, candidate, start, self.how.warmup + self.how.window)?;
        let (passed, window) = (counts.read()?.since(&before), begin.elapsed());
        let entered = serving.entries().zip(entries).map(|(now, before)| now - before);
        serving.end();
        let points = entered.unwrap_or(passed.columns[0]);
        if points == 0 {
            return if candidate.recorded { Err(self.never_came(&passed).into()) } else { Ok(None) };
        }
        self.fewest = Some(self.fewest.map_or(points, |fewest| fewest.min(points)));
        Ok(Some(Nanos((window.as_nanos() * 1000 / u128::from(points)).max(1) as u64)))
    }

    /// Starts the server, and waits until it serves.
    fn served(&mut self, candidate: &Candidate, counts: &Counts) -> anyhow::Result<Serving> {
        let start = Instant::now();
        let mut told = false;
        loop {
            let refused = match self.start(candidate, counts)? {
                Ok(serving) => return Ok(serving),
                Err(refused) => refused,
            };
            let ending: usize = self.ports.iter().map(|port| listening::still_ending(*port)).sum();
            if ending == 0 || start.elapsed() >= PORTS {
                return Err(BadInput::new(refused.0).hint(self.port_hint(ending)).into());
            }
            if !std::mem::replace(&mut told, true) {
                ui::note(format_args!(
                    "the server did not start while {ending} ended connections still block its port (TIME_WAIT): waiting, \
                     for a minute at most; a server that sets SO_REUSEADDR need not wait"
                ));
            }
            pause(Duration::from_secs(1))?;
        }
    }

    fn port_hint(&self, ending: usize) -> &'static str {
        match ending {
            0 => {
                "if its port is in use, end what uses it; if it needs longer or other arguments, try it without `baton` first"
            }
            _ => "its port is still blocked by ended connections (TIME_WAIT): give it SO_REUSEADDR, or another port",
        }
    }

    fn start(&mut self, candidate: &Candidate, counts: &Counts) -> anyhow::Result<Result<Serving, Refused>> {
        let mut exec = Exec::new(self.program.clone(), self.command.to_vec());
        exec.preload(self.library).set(messages::VARIABLE, self.messages.name());
        for (name, value) in candidate.variables() {
            exec.set(name, value);
        }
        counts.ask(&mut exec, &self.how.point.variable);
        let mut serving = Serving::start(exec, &self.how.point.functions)?;
        let start = Instant::now();
        let (mut listeners, mut changed) = (Vec::new(), start);
        loop {
            still_wanted()?;
            if let Some(status) = serving.server_ended()? {
                let lines = serving.server.last_lines();
                let lock = candidate.lock();
                return Ok(Err(Refused(format!(
                    "under {lock} the server ended {} before it served{lines}",
                    how(status)
                ))));
            }
            let now = listening::of(&serving.family());
            if now != listeners {
                (listeners, changed) = (now, Instant::now());
            }
            let printed = serving.server.printed();
            let (elapsed, unchanged) = (start.elapsed(), changed.elapsed());
            if self.how.ready.is_met(&Seen { elapsed, listeners: &listeners, unchanged, printed: &printed }) {
                self.ports.extend(listeners.iter().filter_map(|listener| listener.port));
                return Ok(Ok(serving));
            }
            if elapsed >= PATIENCE {
                return Err(self.not_ready(&mut serving).into());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn not_ready(&self, serving: &mut Serving) -> BadInput {
        let lines = serving.server.last_lines();
        BadInput::new(format!("the server {} within {PATIENCE:?}{lines}", self.how.ready.wanted()))
            .hint("--ready PORT, TEXT or TIME says how to know that it serves")
    }

    /// Refuses a port at which another program listens: the load would reach that one.
    fn ports_are_free(&self) -> anyhow::Result<()> {
        let asked = match self.how.ready {
            Ready::Port(port) => Some(port),
            _ => None,
        };
        match self.ports.iter().copied().chain(asked).find(|port| listening::is_taken(*port)) {
            Some(port) => Err(BadInput::new(format!("another process listens at port {port}"))
                .hint("end it, or give the server another port")
                .into()),
            None => Ok(()),
        }
    }

    /// Lets the server and its load go on until `until` after `start`.
    fn go_on(
        &self,
        serving: &mut Serving,
        candidate: &Candidate,
        start: Instant,
        until: Duration,
    ) -> anyhow::Result<()> {
        loop {
            still_wanted()?;
            let elapsed = start.elapsed();
            if let Some(status) = serving.server_ended()? {
                return Err(ended_early(serving, candidate, &how(status), elapsed).into());
            }
            if let Some(load) = &mut serving.load
                && let Some(status) = load.ended()?
            {
                let needed = self.how.warmup + self.how.window;
                let lines = load.last_lines();
                let after = format!("the load ended {} after {:.1}s{lines}", how(status), elapsed.as_secs_f64());
                return Err(BadInput::new(after)
                    .hint(format!("it has to go on for {needed:?}, until it is ended"))
                    .into());
            }
            let Some(left) = until.checked_sub(elapsed).filter(|left| !left.is_zero()) else { return Ok(()) };
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// Says that the point never came, and what came instead.
    fn never_came(&self, passed: &Totals) -> BadInput {
        let (point, window) = (&self.how.point.name, self.how.window);
        let calls = passed.calls();
        // The most frequent calls, by name: a call that came as often as another would come first by chance.
        let mut most: Vec<_> = calls.iter().take(NAMED).collect();
        most.sort();
        let came: Vec<String> = most.iter().map(|(call, n)| format!("{call} {n} times")).collect();
        let came = match came.is_empty() {
            true => "and no other call that is counted".to_owned(),
            false => format!("the server called {}", baton_report::format::list(&came)),
        };
        let bad = BadInput::new(format!(
            "the progress point `{point}` never came within {window:?}, so there is nothing to measure by; {came}"
        ));
        match (passed.processes, calls.is_empty(), &self.how.load) {
            (0, ..) => bad.hint("no process of the server counted: was the preload library loaded?"),
            (_, true, None) => bad.hint("is there a load? --load COMMAND starts one in each turn"),
            (_, true, Some(_)) => bad.hint("does the load reach the server, and does it begin within the warm-up?"),
            _ => bad.hint("name a call that comes once for each piece of work, as in `--progress recv`"),
        }
    }
}

/// Returns the error for a server that ended by itself during a turn.
fn ended_early(serving: &mut Serving, candidate: &Candidate, how: &str, after: Duration) -> BadInput {
    let lines = serving.server.last_lines();
    let lock = candidate.lock();
    BadInput::new(format!("under {lock} the server ended by itself {how} after {:.1}s{lines}", after.as_secs_f64()))
        .hint("--for is for servers that go on until they are asked to end; `baton try` without it times a program that ends")
}

/// Waits, unless the user asks to end.
fn pause(time: Duration) -> Result<(), Interrupted> {
    let start = Instant::now();
    while start.elapsed() < time {
        still_wanted()?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}
