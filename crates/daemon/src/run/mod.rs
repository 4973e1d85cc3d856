//! A run: programs are started or attached, and their threads placed until they end.
//!
//! | file | holds |
//! | --- | --- |
//! | `begin` | the source is opened, and the programs are started or attached |
//! | `masks` | masks as they are changed, and as they are found |
//! | `pace` | when a run waits, and for what |
//! | `places` | threads as the scheduler in the kernel is told of them |
//! | `pages` | what threads tell of locks, and the answers that they get |
//!
//! Every 4 to 12 ms the daemon reads what happened, gives it to the core, and changes the masks that
//! the core decides. Before a thread's first change the journal has the mask that the thread must get
//! back.

mod begin;
mod masks;
mod pace;
mod pages;
mod places;

pub use begin::{check_attach, check_free, command_of};

use crate::core::{Core, LOOK_NS};
use crate::error::Error;
use crate::given::Given;
use crate::input::{Decision, Input};
use crate::journal::{self, Key};
use crate::live::{Known, Live};
use crate::locks::Locks;
use crate::log;
use crate::report::{AppReport, By, Report, Told};
use crate::restore;
use crate::scx::{Scheduler, Scx};
use crate::setup::Setup;
use crate::signals::{Came, Signals};
use crate::source::{Source, snapshot};
use crate::sys::page::Page;
use crate::sys::ring::{Record, What};
use crate::sys::{self, proc};
use crate::times::Times;
use crate::watchdog::Watchdog;
use baton_host::launch::exec::Exec;
use baton_sched::ThreadId;
use baton_units::CpuId;
use pace::Pace;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;

/// The time between two checks of masks, CPUs and the watchdog.
const CHECK_NS: u64 = 100_000_000;
/// The time between two calls of the view.
const VIEW_NS: u64 = 500_000_000;

/// Draws who is where. After an error the view is not called again.
pub type View = Box<dyn FnMut(&Core, u64) -> std::io::Result<()>>;

/// What to run.
pub struct Request {
    pub setup: Setup,
    pub what: Programs,
    /// Decide, and change nothing.
    pub dry_run: bool,
    /// Use `/proc` even where context-switch records can be had.
    pub poll: bool,
    /// The file to which the log is written.
    pub log: Option<File>,
    /// The scheduler in the kernel that places threads. `None`: masks of CPUs do.
    pub scheduler: Option<Scheduler>,
    /// The command of which `sched restore --watch` is the watchdog. A run without a watchdog does
    /// not survive SIGKILL.
    pub watchdog: Option<PathBuf>,
    pub view: Option<View>,
}

/// Programs to start, or processes to attach; the n-th is of the n-th application of the setup.
pub enum Programs {
    Start {
        programs: Vec<Exec>,
        /// Whether the programs' standard output goes to standard error.
        to_stderr: bool,
    },
    Attach(Vec<u32>),
}

/// The name of the variable by which a run's programs are known when their parents have ended. It
/// does not begin with `BATON_`: a `baton run` among the programs would not hand it on.
pub const VARIABLE: &str = "BATONSCHED";

/// Carries a run out.
///
/// # Errors
/// [`Error::Bad`] before anything is changed; [`Error::Failed`] if a program cannot be started, or
/// the log cannot be begun. Masks are given back in each case.
pub fn run(request: Request) -> Result<Report, Error> {
    let signals = Signals::hold().map_err(Error::because("cannot hold signals back"))?;
    let mut run = Run::begin(request, signals.before())?;
    let end = run.until_the_end(&signals);
    let given_back = run.give_back();
    if end.is_err() {
        run.wait_for_programs(&signals);
    }
    end?;
    Ok(run.report(given_back))
}

/// The programs of a run.
enum Started {
    /// Each with its exit code, once it has ended.
    Children(Vec<(Child, Option<u8>)>),
    Attached,
}

struct Run {
    core: Core,
    live: Live,
    source: Source,
    source_because: Option<String>,
    started: Started,
    journal: Option<journal::Writer>,
    watchdog: Option<Watchdog>,
    scx: Option<Scx>,
    log: LogFile,
    view: Option<View>,
    start: u64,
    /// Threads in the journal.
    keys: BTreeMap<ThreadId, Key>,
    /// The masks that threads were given.
    given: Given,
    /// What threads tell of locks.
    locks: Locks,
    /// The users' whole masks of threads whose masks a cpuset cuts.
    cut: BTreeMap<ThreadId, Vec<u32>>,
    /// The CPUs that are on.
    online: Vec<u32>,
    /// Threads whose masks changed, and when; until each has been seen on one of the CPUs.
    changed: BTreeMap<ThreadId, (u64, Vec<u32>)>,
    pace: Pace,
    dry_run: bool,
    figures: Figures,
}

/// The log, if there is one.
struct LogFile {
    file: Option<BufWriter<File>>,
    /// Why it could not be written to its end.
    failed: Option<std::io::Error>,
}

struct Figures {
    notices: Times,
    /// From the begin of a wait for a lock or at a barrier to its notice.
    waits: Times,
    follows: Times,
    masks: u64,
    refused: u64,
    changed_own: u64,
    cut: u64,
    lost: u64,
}

impl Run {
    fn begin(request: Request, blocked: libc::sigset_t) -> Result<Run, Error> {
        let Request { setup, what, dry_run, poll, log, scheduler, watchdog, view } = request;
        // All CPUs of both kinds, because those that are off may come on.
        let [fast, slow] = [true, false].map(|fast| setup.all_of_kind(fast));
        let unusable: Vec<u32> = (0..).zip(&setup.usable).filter(|(_, usable)| !**usable).map(|(cpu, _)| cpu).collect();
        let mut log = log.map(BufWriter::new);
        if let Some(log) = &mut log {
            let written = log.write_all(setup.text().as_bytes()).and_then(|()| log.flush());
            written.map_err(Error::because("cannot write the log"))?;
        }
        let scheduler = scheduler.filter(|_| !dry_run);
        let scx = scheduler.map(|scheduler| Scx::start(&scheduler, &fast)).transpose()?;
        let masks = !dry_run && scx.is_none();
        let start = sys::now();
        let programs = format!("{VARIABLE}={}-{start}", std::process::id());
        let journal = match (masks, &what) {
            (false, _) => None,
            (true, Programs::Start { .. }) => Some(journal::Writer::begin(programs.clone(), fast, slow)),
            (true, Programs::Attach(_)) => Some(journal::Writer::begin("-".into(), fast, slow)),
        };
        let journal = journal.map(|journal| {
            let mut journal = journal?;
            journal.absent(unusable)?;
            Ok(journal)
        });
        let journal = journal.transpose().map_err(Error::because("cannot write the journal"))?;
        let dog = match (&journal, watchdog) {
            (Some(journal), Some(command)) => Some(Watchdog::start(&command, journal.path())),
            _ => None,
        };
        let watchdog = match dog.transpose().map_err(Error::because("cannot start the watchdog")) {
            Ok(watchdog) => watchdog,
            Err(error) => {
                journal.into_iter().for_each(journal::Writer::remove);
                return Err(error);
            }
        };
        let mut live = Live::default();
        let begun = pages::make(&setup, &what, masks).and_then(|pages| {
            let paths = pages.iter().map(Page::path).collect();
            let with = begin::With { programs: &programs, pages: paths, blocked };
            Ok((begin::begin_source(what, poll, &setup, with, &mut live)?, pages))
        });
        let ((source, source_because, started), pages) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                journal.into_iter().for_each(journal::Writer::remove);
                watchdog.into_iter().for_each(|mut watchdog| watchdog.end());
                return Err(error);
            }
        };
        let [notices, waits, follows] = [(); 3].map(|()| Times::new());
        let figures = Figures { notices, waits, follows, masks: 0, refused: 0, changed_own: 0, cut: 0, lost: 0 };
        let run = Run {
            core: Core::new(setup),
            live,
            pace: Pace::new(source.half_full()),
            source,
            source_because,
            started,
            journal,
            watchdog,
            scx,
            log: LogFile { file: log, failed: None },
            view,
            start,
            keys: BTreeMap::new(),
            given: Given::default(),
            cut: BTreeMap::new(),
            locks: Locks::new(pages, masks),
            online: proc::online().unwrap_or_default(),
            changed: BTreeMap::new(),
            dry_run,
            figures,
        };
        run.tell_kinds();
        Ok(run)
    }

    fn until_the_end(&mut self, signals: &Signals) -> Result<(), Error> {
        let (mut checked, mut viewed, mut first) = (self.start, self.start, true);
        loop {
            for came in signals.wait(self.pace.patience, &mut self.pace.half_full) {
                if self.signal(came) {
                    return Ok(());
                }
            }
            let now = sys::now();
            self.look(now, first && matches!(self.started, Started::Attached))?;
            self.look_at_pages(now)?;
            first = false;
            if now - checked >= CHECK_NS {
                checked = now;
                self.check(now)?;
            }
            self.hear(now, Input::Tick)?;
            self.pace.patience = if self.locks.is_quiet() { self.core.patience() } else { LOOK_NS };
            self.scx.iter_mut().for_each(Scx::beat);
            if let Some(view) = self.view.as_mut().filter(|_| now - viewed >= VIEW_NS) {
                viewed = now;
                if view(&self.core, now - self.start).is_err() {
                    self.view = None;
                }
            }
            if self.ended() {
                return Ok(());
            }
        }
    }

    /// Handles a signal. Returns whether the run is over.
    fn signal(&mut self, Came { signal, by_terminal }: Came) -> bool {
        if signal == libc::SIGCHLD {
            self.pace.may_have_ended = true;
            return false;
        }
        let Started::Children(children) = &self.started else {
            return ![libc::SIGUSR1, libc::SIGUSR2].contains(&signal);
        };
        if !by_terminal {
            for (child, _) in children.iter().filter(|(_, code)| code.is_none()) {
                // SAFETY: the child has not been waited for, so that the number is its own.
                unsafe { libc::kill(child.id() as i32, signal) };
            }
        }
        false
    }

    /// Whether all programs have ended.
    fn ended(&mut self) -> bool {
        match &mut self.started {
            Started::Attached => self.live.is_empty(),
            // SIGCHLD says so. Each check asks as well.
            Started::Children(_) if !std::mem::take(&mut self.pace.may_have_ended) => false,
            Started::Children(children) => {
                for (child, code) in children.iter_mut().filter(|(_, code)| code.is_none()) {
                    *code = match child.try_wait() {
                        Ok(status) => status.map(|status| match (status.code(), status.signal()) {
                            (Some(code), _) => code as u8,
                            (None, signal) => 128_u8.wrapping_add(signal.unwrap_or(127) as u8),
                        }),
                        // Something else has waited for it: its exit code is lost, and this is a failure.
                        Err(_) => Some(u8::MAX),
                    };
                }
                children.iter().all(|(_, code)| code.is_some())
            }
        }
    }

    /// Reads what happened, and acts upon it.
    fn look(&mut self, now: u64, old: bool) -> Result<(), Error> {
        let mut records = self.source.look(now);
        let lost = self.source.lost();
        if lost > 0 {
            self.figures.lost += lost;
            records.extend(self.states(now));
        }
        self.take(&records, now, old)?;
        self.source.give_back(records);
        Ok(())
    }

    fn take(&mut self, records: &[Record], now: u64, old: bool) -> Result<(), Error> {
        for record in records {
            let mut found = Vec::new();
            let known = Known { core: &self.core, given: &self.given, online: &self.online, now };
            let inputs = self.live.inputs(record, &known, old, &mut found);
            for each in found {
                self.announce_found(&each)?;
            }
            for input in inputs.into_iter().flatten() {
                if let Input::Runs(id, cpu) = input {
                    self.figures.notices.add(now.saturating_sub(record.time));
                    self.followed(id, cpu, record.time);
                }
                // Records of a thread may be older than what was told of it meanwhile.
                self.hear(record.time, input)?;
            }
        }
        Ok(())
    }

    /// The threads that began meanwhile, and the states of all threads, after records were lost.
    fn states(&mut self, now: u64) -> Vec<Record> {
        let begun = self.live.unseen();
        let threads: Vec<(u32, u32)> = self.live.all().into_iter().map(|(_, key)| (key.pid, key.tid)).collect();
        let found = snapshot(&threads, &BTreeMap::new());
        let is_found = |tid: u32| found.iter().any(|&(_, other, ..)| other == tid);
        let gone = threads.iter().filter(|&&(_, tid)| !is_found(tid));
        let gone = gone.map(|&(pid, tid)| Record { time: now, pid, tid, what: What::Ends });
        let begun = begun.into_iter().map(|(pid, tid, parent)| {
            let what = What::Begins { parent, creator: parent };
            Record { time: now, pid, tid, what }
        });
        gone.chain(begun).chain(found.iter().map(|&(pid, tid, what, _)| Record { time: now, pid, tid, what })).collect()
    }

    /// Notes that a thread runs on one of the CPUs of its new mask.
    fn followed(&mut self, id: ThreadId, cpu: CpuId, time: u64) {
        if let Some((since, _)) = self.changed.get(&id).filter(|(since, cpus)| cpus.contains(&cpu.0) && *since <= time)
        {
            self.figures.follows.add(time - since);
            self.changed.remove(&id);
        }
    }

    /// Gives an input to the core, and carries its decisions out, and so on.
    fn hear(&mut self, time: u64, input: Input) -> Result<(), Error> {
        let (mut first, mut inputs) = (Some(input), VecDeque::new());
        while let Some(input) = first.take().or_else(|| inputs.pop_front()) {
            let time = time.saturating_sub(self.start).max(self.core.time());
            let Ok(decisions) = self.core.hear(time, &input) else {
                debug_assert!(false, "the daemon tells the core what can be: {input:?}");
                continue;
            };
            let line = self.log.file.as_ref().map(|_| log::line(time, &input, &decisions));
            self.write(line.unwrap_or_default().as_bytes());
            if let Input::Begins(id, _) | Input::Mask(id, _) = input {
                self.place_anywhere(id);
            }
            for decision in decisions {
                if let Decision::Mask(id, cpus, why) = decision {
                    inputs.extend(self.change(id, &cpus, why)?);
                }
            }
            if let Input::Mask(..) = input {
                self.locks.masks_changed();
            }
            if let Input::Ends(id) = input {
                self.changed.remove(&id);
                self.cut.remove(&id);
                self.given.ended(id);
                if let (Some(key), Some(journal)) = (self.keys.remove(&id), &mut self.journal) {
                    journal.ended(key).map_err(Error::because("cannot write the journal"))?;
                }
            }
        }
        Ok(())
    }

    /// Writes to the log. A log that cannot be written ends there; the run goes on, and its report
    /// says why.
    fn write(&mut self, bytes: &[u8]) {
        let Some(log) = &mut self.log.file else { return };
        let written = if bytes.is_empty() { log.flush() } else { log.write_all(bytes) };
        if let Err(error) = written {
            self.log = LogFile { file: None, failed: Some(error) };
        }
    }

    /// Gives all masks back, and ends the watchdog. Returns how many masks changed.
    fn give_back(&mut self) -> u64 {
        // A program may have changed a mask since the last check.
        let _ = self.check_masks(sys::now(), usize::MAX);
        if let Some(scx) = &mut self.scx {
            scx.end(self.live.all().into_iter().map(|(_, key)| key.tid));
        }
        let Some(journal) = self.journal.take() else { return 0 };
        let given_back = restore::restore(&journal.journal());
        journal.remove();
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.end();
        }
        given_back
    }

    /// Waits until the programs have ended, and passes signals on.
    fn wait_for_programs(&mut self, signals: &Signals) {
        while matches!(self.started, Started::Children(_)) && !self.ended() {
            for came in signals.wait(CHECK_NS, &mut Vec::new()) {
                self.signal(came);
            }
            self.pace.may_have_ended = true;
        }
    }

    fn report(mut self, given_back: u64) -> Report {
        self.write(&[]);
        let setup = self.core.setup();
        let codes: Vec<Option<u8>> = match &self.started {
            Started::Children(children) => children.iter().map(|(_, code)| *code).collect(),
            Started::Attached => Vec::new(),
        };
        let apps = setup.apps.iter().zip(self.core.had()).enumerate();
        let apps = apps.map(|(at, (app, had))| {
            let code = codes.get(at).copied().flatten();
            AppReport { command: app.name.clone(), code, had }
        });
        let has_times = matches!(self.source, Source::Switches(_));
        let (threads, without_room) = self.locks.threads();
        let waits = self.figures.waits.percentiles();
        let in_kernel = self.scx.map(Scx::result);
        let by = By {
            source: self.source.name(),
            source_because: self.source_because,
            backend: if in_kernel.is_some() { "scx" } else { "affinity" },
            in_kernel,
        };
        Report {
            policy: setup.policy.name,
            by,
            fast_cpus: setup.of_kind(true).into_iter().collect(),
            slow_cpus: setup.of_kind(false).into_iter().collect(),
            dry_run: self.dry_run,
            elapsed_ns: sys::now() - self.start,
            apps: apps.collect(),
            masks: self.figures.masks,
            given_back,
            notices: self.figures.notices.percentiles().filter(|_| has_times),
            follows: self.figures.follows.percentiles().filter(|_| has_times),
            told: Told { heard: setup.policy.hears_locks, threads, without_room, waits },
            left_alone: self.live.left_alone() + self.figures.refused,
            changed_own: self.figures.changed_own,
            cut: self.figures.cut,
            lost: self.figures.lost,
            watchdog_restarts: self.watchdog.as_ref().map_or(0, |watchdog| watchdog.starts - 1),
            log_failed: self.log.failed.map(|error| error.to_string()),
            own_cpu_ns: sys::own_cpu(),
        }
    }
}
