//! Applications: groups of threads that start, end and start again together.

use crate::engine::Engine;
use crate::engine::thread::{Reason, ThreadId};
use crate::machine::guest::Spawn;
use baton_units::Cycles;
use std::rc::Rc;

/// An application of a simulation. The first one has the threads that name none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct App(pub(crate) u32);

/// How often an application runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// So many times, one after the other; at least once.
    Times(u32),
    /// Again and again, until all applications that run a number of times are through. Then the run ends.
    Background,
}

/// An application to be added to a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name in results.
    pub name: String,
    /// How often it runs.
    pub runs: Runs,
    /// Its first thread, which starts the others.
    pub main: Spawn,
}

/// The figures of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppFigures {
    /// Its name.
    pub name: String,
    /// How long each of its complete runs took, from the start of the first thread to the end of the last.
    pub runs: Vec<Cycles>,
    /// Threads that it started, in all runs.
    pub forks: u64,
    /// Threads of it that ended.
    pub exits: u64,
    /// How often it was started anew.
    pub restarts: u64,
    /// Most threads that could run at one moment.
    pub most_runnable: u32,
    /// Threads that could run, summed over the cycles: over the length of the run it is their mean number.
    pub runnable: Cycles,
    /// Cycles of its threads on CPUs.
    pub cpu_time: Cycles,
    /// Cycles in which they could run and had no CPU.
    pub ready: Cycles,
    /// Cycles in which a CPU switched to them, or woke up for them.
    pub switching: Cycles,
    /// Cycles in which they slept.
    pub asleep: Cycles,
}

type Main = Rc<dyn Fn()>;

/// An application as the operating system knows it.
pub(crate) struct AppState {
    name: String,
    runs: Runs,
    main: Option<(Spawn, Main)>,
    done: Vec<Cycles>,
    began: u64,
    alive: u32,
    forks: u64,
    exits: u64,
    restarts: u64,
    runnable: u32,
    most_runnable: u32,
    /// The sum of runnable threads over time, up to `since`.
    sum: u64,
    since: u64,
}

impl AppState {
    /// An application that has not begun.
    pub(crate) fn new(name: String, runs: Runs, main: Option<(Spawn, Main)>) -> AppState {
        AppState {
            name,
            runs,
            main,
            done: Vec::new(),
            began: 0,
            alive: 0,
            forks: 0,
            exits: 0,
            restarts: 0,
            runnable: 0,
            most_runnable: 0,
            sum: 0,
            since: 0,
        }
    }

    fn count(&mut self, runnable: u32, now: u64) {
        self.sum += u64::from(self.runnable) * (now - self.since);
        (self.runnable, self.since) = (runnable, now);
        self.most_runnable = self.most_runnable.max(runnable);
    }

    /// Whether it has no thread, and the ones that it will still start are nobody's business.
    fn is_through(&self) -> bool {
        match self.runs {
            Runs::Times(n) => self.alive == 0 && (self.main.is_none() || self.done.len() >= n as usize),
            Runs::Background => true,
        }
    }
}

impl Engine {
    /// The number of an application that is added.
    pub(crate) fn add_app(&mut self, state: AppState) -> App {
        self.apps.push(state);
        App(self.apps.len() as u32 - 1)
    }

    /// How many threads of an application can run now.
    pub(crate) fn runnable(&self, app: App) -> u32 {
        self.apps[app.0 as usize].runnable
    }

    pub(super) fn app_forks(&mut self, app: App, at: u64) {
        let app = &mut self.apps[app.0 as usize];
        if app.alive == 0 {
            app.began = at;
        }
        (app.alive, app.forks) = (app.alive + 1, app.forks + 1);
    }

    pub(crate) fn app_can_run(&mut self, thread: ThreadId, more: bool) {
        let now = self.now;
        let app = &mut self.apps[self.threads[thread as usize].app.0 as usize];
        let runnable = if more { app.runnable + 1 } else { app.runnable - 1 };
        app.count(runnable, now);
    }

    /// A thread has ended. If it was its application's last, that begins anew as long as it has runs: then its first thread
    /// is to be made.
    pub(crate) fn app_exits(&mut self, thread: ThreadId) -> Option<(Spawn, Main)> {
        let now = self.now;
        let app = &mut self.apps[self.threads[thread as usize].app.0 as usize];
        (app.alive, app.exits) = (app.alive - 1, app.exits + 1);
        if app.alive != 0 || app.main.is_none() {
            return None;
        }
        app.done.push(Cycles(now - app.began));
        let again = match app.runs {
            Runs::Times(n) => app.done.len() < n as usize,
            Runs::Background => !self.apps_are_through(),
        };
        let app = &mut self.apps[self.threads[thread as usize].app.0 as usize];
        app.restarts += u64::from(again);
        app.main.clone().filter(|_| again)
    }

    /// Every application that is waited for is through, though others may still run.
    pub(crate) fn apps_are_through(&self) -> bool {
        self.apps.iter().all(AppState::is_through)
    }

    /// The figures of all applications; the first one only if it had threads.
    pub(crate) fn app_figures(&mut self) -> Vec<AppFigures> {
        let now = self.now;
        // On CPUs, ready, switched to, asleep.
        let mut times = vec![[0; 4]; self.apps.len()];
        for thread in &self.threads {
            for reason in Reason::ALL {
                let kind = match reason {
                    Reason::Ready => 1,
                    Reason::Switch | Reason::Waking => 2,
                    Reason::Asleep => 3,
                    _ => 0,
                };
                times[thread.app.0 as usize][kind] += thread.times[reason as usize];
            }
        }
        let figures = self.apps.iter_mut().zip(times).map(|(app, [cpu_time, ready, switching, asleep])| {
            app.count(app.runnable, now);
            AppFigures {
                name: app.name.clone(),
                runs: app.done.clone(),
                forks: app.forks,
                most_runnable: app.most_runnable,
                runnable: Cycles(app.sum),
                exits: app.exits,
                restarts: app.restarts,
                cpu_time: Cycles(cpu_time),
                ready: Cycles(ready),
                switching: Cycles(switching),
                asleep: Cycles(asleep),
            }
        });
        figures.filter(|app| app.forks != 0).collect()
    }
}
