//! A log of what a placement was told and answered. It can be replayed: the same events give the
//! same bytes.
//!
//! Each line is an event: its time, its word and its numbers, then `:` and the answers.

use super::{Answer, Event, Placement};
use crate::{Affinity, AppId, Born, LockNotice, Nice, Notice, ThreadId};
use baton_units::{CpuId, Cycles};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::str::FromStr;

/// A placement whose events and answers are logged.
pub struct Logged {
    inner: Box<dyn Placement>,
    log: Rc<RefCell<String>>,
}

impl Logged {
    /// Wraps a placement. Returns it with the log, which grows with each event.
    pub fn new(inner: Box<dyn Placement>) -> (Logged, Rc<RefCell<String>>) {
        let log = Rc::<RefCell<String>>::default();
        (Logged { inner, log: log.clone() }, log)
    }
}

impl Placement for Logged {
    fn hears(&mut self, now: Cycles, event: &Event, answers: &mut Vec<Answer>) {
        let before = answers.len();
        self.inner.hears(now, event, answers);
        let mut log = self.log.borrow_mut();
        let _ = write!(log, "{} {}:", now.0, text(event));
        for answer in &answers[before..] {
            let _ = write!(log, " {};", answered(*answer));
        }
        log.push('\n');
    }

    fn sees_futexes(&self) -> bool {
        self.inner.sees_futexes()
    }

    fn hears_locks(&self) -> bool {
        self.inner.hears_locks()
    }

    fn keeps_cpu(&self, thread: ThreadId) -> bool {
        self.inner.keeps_cpu(thread)
    }
}

fn set(affinity: &Affinity) -> String {
    let Some(list) = affinity.list() else { return "all".into() };
    list.iter().map(|cpu| cpu.0.to_string()).collect::<Vec<_>>().join(",")
}

fn notice(notice: Notice) -> &'static str {
    match notice {
        Notice::Spinning => "spinning",
        Notice::Working => "working",
        Notice::Master => "master",
    }
}

/// The reports of threads on locks, with their words in the log.
const LOCK_NOTICES: [(LockNotice, &str); 4] = [
    (LockNotice::Wanted, "wanted"),
    (LockNotice::Taken, "taken"),
    (LockNotice::Left, "left"),
    (LockNotice::Arrived, "arrived"),
];

fn known(number: Option<impl ToString>) -> String {
    number.map_or("-".into(), |number| number.to_string())
}

fn text(event: &Event) -> String {
    match event {
        Event::Born(id, born) => {
            let Born { app, affinity, near, nice, speedup } = born;
            let speedup = known(*speedup);
            format!("born {} app {} on {} near {} nice {nice} speedup {speedup}", id.0, app.0, set(affinity), near.0)
        }
        Event::Wake(id) => format!("wake {}", id.0),
        Event::Placed(id, cpu) => format!("placed {} {}", id.0, cpu.0),
        Event::Runs(id, cpu) => format!("runs {} {}", id.0, cpu.0),
        Event::Yields(id) => format!("yields {}", id.0),
        Event::Block(id) => format!("block {}", id.0),
        Event::Exit(id) => format!("exit {}", id.0),
        Event::Waits(id, lock, holder) => {
            format!("waits {} lock {} holder {}", id.0, known(*lock), known(holder.map(|holder| holder.0)))
        }
        Event::Notice(id, says) => format!("notice {} {}", id.0, notice(*says)),
        Event::Lock(id, notice, lock) => {
            let word = LOCK_NOTICES.iter().find(|(each, _)| each == notice).map_or("-", |&(_, word)| word);
            format!("lock {} {word} {lock}", id.0)
        }
        Event::Affinity(id, affinity) => format!("affinity {} {}", id.0, set(affinity)),
        Event::Idle(cpu) => format!("idle {}", cpu.0),
        Event::Online(cpu, on) => format!("online {} {}", cpu.0, u32::from(*on)),
        Event::Speed(cpu, speed) => format!("speed {} {speed}", cpu.0),
        Event::Period => "period".into(),
    }
}

fn answered(answer: Answer) -> String {
    match answer {
        Answer::Move(id, cpu) => format!("move {} {}", id.0, cpu.0),
        Answer::Swap(a, b) => format!("swap {} {}", a.0, b.0),
        Answer::Class(app, class) => format!("class {} {}", app.0, class.name()),
        Answer::Demoted(app) => format!("demoted {}", app.0),
        Answer::Period(at) => format!("period {}", at.0),
        Answer::NoPeriod => "no-period".into(),
    }
}

fn read_set(word: &str) -> Option<Affinity> {
    if word == "all" {
        return Some(Affinity::ALL);
    }
    let cpus: Option<Vec<CpuId>> = word.split(',').map(|cpu| cpu.parse().ok().map(CpuId)).collect();
    Some(Affinity::to(cpus?))
}

fn read_notice(word: &str) -> Option<Notice> {
    [Notice::Spinning, Notice::Working, Notice::Master].into_iter().find(|&says| notice(says) == word)
}

/// Reads a number that may be unknown (`-`); `None` if the word is neither.
#[expect(clippy::option_option, reason = "whether it reads, and whether it is known")]
fn read_known<N: FromStr>(word: &str) -> Option<Option<N>> {
    if word == "-" { Some(None) } else { word.parse().ok().map(Some) }
}

fn read(words: &[&str]) -> Option<Event> {
    let number = |at: usize| words.get(at)?.parse::<u32>().ok();
    let thread = || number(1).map(ThreadId);
    let on = |at: usize| number(at).map(CpuId);
    Some(match *words.first()? {
        "born" => {
            let &[_, _, "app", app, "on", cpus, "near", near, "nice", nice, "speedup", speedup] = words else {
                return None;
            };
            let born = Born {
                app: AppId(app.parse().ok()?),
                affinity: read_set(cpus)?,
                near: CpuId(near.parse().ok()?),
                nice: Nice::new(nice.parse().ok()?)?,
                speedup: read_known(speedup)?,
            };
            Event::Born(thread()?, born)
        }
        "wake" => Event::Wake(thread()?),
        "placed" => Event::Placed(thread()?, on(2)?),
        "runs" => Event::Runs(thread()?, on(2)?),
        "yields" => Event::Yields(thread()?),
        "block" => Event::Block(thread()?),
        "exit" => Event::Exit(thread()?),
        "waits" => {
            let &[_, _, "lock", lock, "holder", holder] = words else { return None };
            Event::Waits(thread()?, read_known(lock)?, read_known(holder)?.map(ThreadId))
        }
        "notice" => Event::Notice(thread()?, read_notice(words.get(2)?)?),
        "lock" => {
            let &[_, _, word, lock] = words else { return None };
            let (notice, _) = *LOCK_NOTICES.iter().find(|&&(_, each)| each == word)?;
            Event::Lock(thread()?, notice, lock.parse().ok()?)
        }
        "affinity" => Event::Affinity(thread()?, read_set(words.get(2)?)?),
        "idle" => Event::Idle(on(1)?),
        "online" => Event::Online(on(1)?, number(2)? != 0),
        "speed" => Event::Speed(on(1)?, number(2)?),
        "period" => Event::Period,
        _ => return None,
    })
}

/// Tells a new placement the events of a log. Returns the new log, with what it answers now.
///
/// # Errors
/// If a line is not an event; the error names the line and what was expected.
pub fn replay(log: &str, placement: Box<dyn Placement>) -> Result<String, String> {
    let (mut logged, out) = Logged::new(placement);
    for (number, line) in log.lines().enumerate() {
        let words: Vec<&str> = line.split(':').next().unwrap_or("").split_whitespace().collect();
        let event = words.split_first().and_then(|(now, rest)| Some((Cycles(now.parse().ok()?), read(rest)?)));
        let (now, event) =
            event.ok_or_else(|| format!("line {}: `{line}`; expected a time, an event and `:`", number + 1))?;
        logged.hears(now, &event, &mut Vec::new());
    }
    let text = out.borrow().clone();
    Ok(text)
}
