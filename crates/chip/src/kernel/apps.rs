//! Applications at work: their threads start, can run and end.

use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::os::app::Spawn;
use crate::os::app::{App, AppFigures, AppState, AppTimes, Main, Runs};
use baton_sched::AppId;
use baton_units::Cycles;

impl Engine {
    /// The number of an application that is added.
    pub(crate) fn add_app(&mut self, state: AppState) -> App {
        self.os.apps.push(state);
        App(self.os.apps.len() as u32 - 1)
    }

    /// How many threads of an application can run now.
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

    /// A thread has ended. If it was its application's last, that begins anew as long as it has runs: then its first thread
    /// is to be made.
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

    /// Every application that is waited for is through, though others may still run.
    pub(crate) fn apps_are_through(&self) -> bool {
        self.os.apps.iter().all(AppState::is_through)
    }

    /// The figures of all applications; the first one only if it had threads.
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
                runs: app.done.clone(),
                counts: app.counts,
                most_runnable: app.most_runnable,
                runnable: Cycles(app.sum),
                times,
                amp: policy.app_use(Cycles(now), AppId(id)).map(Into::into),
            }
        });
        figures.filter(|app| app.counts.forks != 0).collect()
    }
}
