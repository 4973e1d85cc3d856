//! Applications at work: their threads start, become runnable and end.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, Step};
use crate::os::app::Spawn;
use crate::os::app::{App, AppFigures, AppState, AppTimes, Main, Runs};
use crate::os::refused::Refused;
use baton_sched::AppId;
use baton_units::Cycles;

impl Engine {
    /// Adds an application. Returns its number.
    pub(crate) fn add_app(&mut self, state: AppState) -> App {
        self.os.apps.push(state);
        App(self.os.apps.len() as u32 - 1)
    }

    /// Plans the beginning of an application at a time that is not past.
    pub(crate) fn arrives_at(&mut self, at: u64, app: App) {
        self.os.arrivals.insert((at, app));
        self.queue.cancel(Event::ARRIVALS);
        self.schedule_arrival();
    }

    fn schedule_arrival(&mut self) {
        if let Some(&(at, _)) = self.os.arrivals.first() {
            self.queue.put(Event::ARRIVALS, at, Rank::Next);
        }
    }

    /// The time has come at which an application begins. If several begin at the same moment, each
    /// has an event of its own.
    pub(crate) fn arrivals_step(&mut self) -> Step {
        let Some((_, app)) = self.os.arrivals.pop_first() else { return Step::Handled };
        self.schedule_arrival();
        Step::Arrival(app)
    }

    /// What an application's first thread is, and what it runs.
    pub(crate) fn app_main(&self, app: App) -> Option<(Spawn, Main)> {
        self.os.apps[app.0 as usize].main.clone()
    }

    /// Records that an application cannot begin.
    pub(crate) fn app_refused(&mut self, app: App, refused: Refused) {
        self.os.apps[app.0 as usize].give_up();
        self.os.switches.refused.push((Cycles(self.now), refused));
    }

    /// The number of an application's threads that can run now.
    pub(crate) fn runnable(&self, app: App) -> u32 {
        self.os.apps[app.0 as usize].runnable
    }

    pub(super) fn app_forks(&mut self, app: App, at: u64) {
        let app = &mut self.os.apps[app.0 as usize];
        if app.alive == 0 {
            app.began = at;
        }
        (app.alive, app.counts.forks) = (app.alive + 1, app.counts.forks + 1);
    }

    pub(crate) fn app_can_run(&mut self, thread: ThreadId, more: bool) {
        let now = self.now;
        let app = &mut self.os.apps[self.threads[thread as usize].os.app.0 as usize];
        let runnable = if more { app.runnable + 1 } else { app.runnable - 1 };
        app.count(runnable, now);
    }

    /// A thread has ended. If it was the last of its application and the application has runs left,
    /// returns the first thread of the next run, which must be created.
    pub(crate) fn app_exits(&mut self, thread: ThreadId) -> Option<(Spawn, Main)> {
        let now = self.now;
        let app = &mut self.os.apps[self.threads[thread as usize].os.app.0 as usize];
        (app.alive, app.counts.exits) = (app.alive - 1, app.counts.exits + 1);
        if app.alive != 0 || app.main.is_none() {
            return None;
        }
        app.done.push(Cycles(now - app.began));
        let again = match app.runs {
            Runs::Times(n) => app.done.len() < n as usize,
            Runs::Background | Runs::Together(_) => !self.apps_are_through(),
        };
        let app = &mut self.os.apps[self.threads[thread as usize].os.app.0 as usize];
        app.counts.restarts += u64::from(again);
        app.main.clone().filter(|_| again)
    }

    /// Whether every application that is waited for has finished, though others may still run.
    pub(crate) fn apps_are_through(&self) -> bool {
        self.os.apps.iter().all(AppState::is_through)
    }

    /// The figures of all applications; the first application is included only if it had threads.
    pub(crate) fn app_figures(&mut self) -> Vec<AppFigures> {
        let now = self.now;
        let mut times = vec![AppTimes::default(); self.os.apps.len()];
        for thread in &self.threads {
            let times = &mut times[thread.os.app.0 as usize];
            for reason in Reason::ALL {
                let of_reason = match reason {
                    Reason::Ready => &mut times.ready,
                    Reason::Switch | Reason::Waking => &mut times.switching,
                    Reason::Asleep => &mut times.asleep,
                    _ => &mut times.on_cpu,
                };
                *of_reason += thread.stats.times[reason as usize];
            }
        }
        let policy = &self.os.policy.scheduler;
        let figures = (0..).zip(&mut self.os.apps).zip(times).map(|((id, app), times)| {
            app.count(app.runnable, now);
            AppFigures {
                name: app.name.clone(),
                start: app.start,
                runs: app.done.clone(),
                counts: app.counts,
                most_runnable: app.most_runnable,
                runnable: Cycles(app.sum),
                times,
                amp: policy.app_use(Cycles(now), AppId(id)).map(Into::into),
            }
        });
        let all = figures.enumerate().filter(|(id, app)| *id != 0 || app.counts.forks != 0);
        all.map(|(_, app)| app).collect()
    }
}
