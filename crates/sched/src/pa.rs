//! Parallelism-aware (PA): threads of applications with little parallelism get the fast cores,
//! those in a sequential phase first.
//!
//! | class | applications of the class | rights to fast cores |
//! | --- | --- | --- |
//! | SP | those whose count of runnable threads has fallen to one as `enter_sp` says, for at most `boost_ticks` time slices (`renew_boost`) | the first |
//! | MP | those with at most `hp_threshold` runnable threads | what SP leaves, in turns |
//! | HP | those with more | what is left |
//!
//! A master thread has special rights (`master`). A thread that has reported that it spins comes
//! last until it reports that it works, or sleeps. A change of class moves no thread by itself; the
//! next round of swaps does, or a fast core that becomes idle.

use crate::placement::{Adapter, Answer, Board, Class, EnterSp, Event, Master, Placement, Rank, Ranked, Renewal, Rule};
use crate::{AppId, Cpus, Params, Policy, ThreadId};
use std::cmp::Reverse;

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "pa",
    what: "parallelism-aware: sequential phases, then mildly parallel applications get the fast cores, by periodic swaps",
    source: "PA and PA-RTX: Saez and others, CF 2010, sections 2.1 and 2.2",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

#[derive(Clone, Copy, Debug, Default)]
struct App {
    class: Class,
    /// Number of the application's runnable threads, counted by the rule for spinning threads.
    count: u32,
    /// Whether the application has been highly parallel since its count was last one or zero.
    was_high: bool,
    /// The time at which the application's boost ends; 0 if it has none.
    boost_until: u64,
    /// Cycles of its boost that the application has used up and not earned again.
    spent: u64,
    /// The time since which more than one thread can run.
    parallel_since: u64,
}

/// The cycles of a whole boost.
fn boost(board: &Board) -> u64 {
    board.amp.boost_ticks.max(1) * board.time_slice.max(1)
}

/// The rule of the policy `pa`.
pub(crate) struct Pa {
    apps: Vec<App>,
    /// The earliest end of a boost.
    due: u64,
}

impl Pa {
    /// The lowest rank of class MP; threads of class HP and spinning threads rank below.
    pub(crate) const MP: u64 = 2;

    pub(crate) fn new() -> Pa {
        Pa { apps: Vec::new(), due: u64::MAX }
    }

    /// Updates the application's class after its count or the threshold has changed.
    fn count(&mut self, now: u64, board: &Board, id: AppId, count: u32, answers: &mut Vec<Answer>) {
        let (threshold, boost) = (board.hp_threshold(), boost(board));
        let app = &mut self.apps[id.0 as usize];
        let before = std::mem::replace(&mut app.count, count);
        if board.app_at(id).alive == 0 {
            // No thread of the application lives, so its run is over: only its class stays.
            *app = App { class: app.class, ..App::default() };
        }
        app.was_high |= count > threshold;
        if count > 1 {
            if before <= 1 {
                app.parallel_since = now;
            }
            if board.amp.renew_boost == Renewal::Earned && app.boost_until != 0 {
                app.spent = boost.saturating_sub(app.boost_until.saturating_sub(now));
            }
            app.boost_until = 0;
        } else if count == 1 && before > 1 {
            app.spent = app.spent.saturating_sub(now - app.parallel_since);
            let enters = app.was_high || board.amp.enter_sp == EnterSp::Falls;
            app.boost_until = if enters && app.spent < boost { now + boost - app.spent } else { 0 };
        }
        if count <= 1 {
            app.was_high = false;
        }
        let class = match () {
            () if count > threshold => Class::Hp,
            () if app.boost_until > now => Class::Sp,
            () => Class::Mp,
        };
        if std::mem::replace(&mut app.class, class) != class {
            answers.push(Answer::Class(id, class));
        }
    }

    /// Updates the application's class by what the board says now. Returns whether the end of its
    /// boost has changed.
    fn recount(&mut self, now: u64, board: &Board, id: AppId, answers: &mut Vec<Answer>) -> bool {
        let at = id.0 as usize;
        if self.apps.len() <= at {
            self.apps.resize(at + 1, App::default());
        }
        let before = self.apps[at].boost_until;
        self.count(now, board, id, board.counted(board.app_at(id)), answers);
        self.apps[at].boost_until != before
    }

    /// Ends the boosts whose time is over, and demotes the applications that are in SP for one of
    /// them. Does nothing and returns false before the first end of a boost is due.
    fn expire(&mut self, now: u64, board: &Board, answers: &mut Vec<Answer>) -> bool {
        if now < self.due {
            return false;
        }
        let spent = if board.amp.renew_boost == Renewal::Earned { boost(board) } else { 0 };
        for (id, app) in (0..).map(AppId).zip(&mut self.apps) {
            if app.boost_until != 0 && app.boost_until <= now {
                (app.boost_until, app.spent) = (0, spent);
                if app.class == Class::Sp {
                    app.class = Class::Mp;
                    answers.extend([Answer::Demoted(id), Answer::Class(id, Class::Mp)]);
                }
            }
        }
        true
    }
}

impl Rule for Pa {
    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        let [marked, hp, mp, master, sp, first] = [0, 1, Pa::MP, 3, 4, 5];
        let thread = board.thread(id);
        if thread.marked {
            return Rank::plain(marked);
        }
        if board.app_of(id).master == Some(id) {
            match board.amp.master {
                Master::First => return Rank::plain(first),
                Master::Sp => return Rank::plain(sp),
                Master::Mp if self.apps[thread.app.0 as usize].class != Class::Sp => return Rank::plain(master),
                Master::Mp | Master::Ignored => {}
            }
        }
        match self.apps[thread.app.0 as usize].class {
            Class::Sp => Rank::plain(sp),
            Class::Mp => Rank { class: mp, turn: Reverse(thread.was_fast) },
            Class::Hp => Rank::plain(hp),
        }
    }

    fn hears(&mut self, now: u64, board: &Board, event: &Event, answers: &mut Vec<Answer>) {
        if matches!(
            event,
            Event::Placed(..) | Event::Runs(..) | Event::Yields(_) | Event::Idle(_) | Event::Affinity(..)
        ) {
            return;
        }
        let mut changed = self.expire(now, board, answers);
        match event {
            Event::Born(id, _) | Event::Wake(id) | Event::Block(id) | Event::Notice(id, _) => {
                changed |= self.recount(now, board, board.thread(*id).app, answers);
            }
            // The application of a thread that has ended is no longer known, and the threshold may
            // depend on the fast CPUs, so all applications are updated.
            _ => {
                for (id, _) in board.apps() {
                    changed |= self.recount(now, board, id, answers);
                }
            }
        }
        if changed {
            self.due =
                self.apps.iter().map(|app| app.boost_until).filter(|&until| until != 0).min().unwrap_or(u64::MAX);
        }
    }

    fn due(&self) -> u64 {
        self.due
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), Pa::new()))
}
