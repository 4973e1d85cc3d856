//! Which threads that lived until their process ended are background threads.

use super::super::exits::exits;
use super::joined::Found;
use super::told::{Background, LoopPoint, is_named};
use super::walk::Walk;
use crate::clock::Ticks;
use crate::event::ThreadIndex;
use crate::process::ProcessIndex;
use crate::trace::Trace;

impl Walk {
    /// Judges a thread that no thread joined, and that lived until its process ended. The end of a
    /// process that no thread says to have ended it counts only for threads that the user named.
    pub(super) fn judge_at_exit(&self, trace: &Trace, thread: ThreadIndex) -> Option<Found> {
        let (life, process) = (self.life(thread), trace.process_of(thread));
        let ends = trace.meta.as_ref().map(|meta| &meta.ends);
        let until = ends.is_some_and(|ends| is_named(&ends.until, trace, thread));
        life.began.filter(|_| life.ended.is_none() && !until)?;
        let exit = exits(trace).get(&process);
        let named = ends.is_some_and(|ends| is_named(&ends.background, trace, thread));
        let left = exit.map(|exit| (exit.thread, exit.time));
        let (joiner, came) = left.or_else(|| self.first(trace, process).filter(|_| named))?;
        if joiner == thread {
            return None;
        }
        let turns_at = life.turns().map(|(place, _)| place);
        let background = Background { thread, joiner, came, ended: came, joined: false, turns_at };
        let goes_round = |(place, longest): (LoopPoint, Ticks)| {
            life.places.get(&place).is_some_and(|visits| came.since(visits.last) <= longest)
        };
        let works = exit.is_some_and(|exit| exit.working.contains(&thread));
        let seen = life.turns().is_some_and(goes_round) && !life.serves && !works;
        let told = named || seen && !life.goes_round_with(self.life(joiner));
        told.then_some(Found { background, by_word: named, begin: came, after: None, group: None })
    }

    /// The first thread of a process, and when the last of its threads acted.
    fn first(&self, trace: &Trace, process: ProcessIndex) -> Option<(ThreadIndex, Ticks)> {
        let threads = || (0..).map(ThreadIndex).zip(&trace.threads).filter(|(_, thread)| thread.process == process);
        Some((threads().next()?.0, threads().map(|(_, thread)| thread.last).max()?))
    }
}
