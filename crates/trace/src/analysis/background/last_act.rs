//! A joiner's last acts before a join.
//!
//! The joiner may tell a thread to end and do something short before it joins the thread: free
//! memory, write a line. By then the thread may have ended, so that the join waits for nothing. No
//! event shows when the joiner told it. But that was not before the joiner's last act before the
//! thread's end, unless the joiner had told it before that act, too.
//!
//! An act by which the joiner can learn that a thread has ended its work, or waits for that, is
//! **firm**: a lock, a signal, a wait, a call for input, and a sleep at a place to which the joiner
//! comes again. **Brief** acts tell the joiner nothing: output, a marker, a sleep at a place to which
//! it came once, and a join of a thread that had ended already. A thread that ended before a firm
//! act was not told to end behind it.

use crate::clock::Ticks;
use crate::event::{SystemCall, What};

/// Number of ends of brief acts that are kept. Earlier ones count as firm.
const KEPT: usize = 16;

/// What a thread did last.
#[derive(Clone, Default)]
pub(super) struct LastActs {
    /// When the last firm act ended.
    firm: Option<Ticks>,
    /// When brief acts since then began and ended, in order, and whether they took time: a join that waits
    /// for nothing takes none.
    brief: Vec<(Ticks, bool)>,
    /// Whether nothing but brief acts came since the thread's last join ended.
    joined: bool,
    /// Length and end of a blocked call that the next event is about.
    blocked: Option<(u64, Ticks)>,
}

impl LastActs {
    /// Follows an act. `first`: whether the thread has come for the first time to the place of this
    /// call. `over`: whether this is the end of a join, of a thread that had ended before the join began.
    pub(super) fn step(&mut self, what: &What, now: Ticks, first: bool, over: bool) {
        let blocked = self.blocked.take();
        match *what {
            What::Blocked { ticks, .. } => {
                self.settle(blocked);
                self.blocked = Some((ticks, now));
            }
            What::Called { call, .. } if is_output(&call) || (first && call.is_sleep()) => {
                let length = call.length(blocked.map(|(ticks, _)| ticks));
                self.briefly(Ticks(now.0.saturating_sub(length.0)), now, true);
            }
            What::Called { .. } => self.firmly(now),
            What::Marker { .. } | What::RoiBegin { .. } | What::RoiEnd { .. } => {
                self.settle(blocked);
                self.briefly(now, now, true);
            }
            What::JoinBegin { .. } => self.settle(blocked),
            What::JoinEnd { .. } => {
                match over {
                    true => self.briefly(now, now, false),
                    false => self.firmly(now),
                }
                self.joined = true;
            }
            _ => self.firmly(now),
        }
    }

    /// A blocked call of which nothing more is known is a firm act.
    fn settle(&mut self, blocked: Option<(u64, Ticks)>) {
        if let Some((_, end)) = blocked {
            self.firmly(end);
        }
    }

    fn firmly(&mut self, now: Ticks) {
        (self.firm, self.joined) = (Some(now), false);
        self.brief.clear();
    }

    fn briefly(&mut self, begin: Ticks, end: Ticks, takes_time: bool) {
        let last = self.brief.last().map(|(time, _)| *time).or(self.firm).unwrap_or_default();
        self.brief.extend([(begin.max(last), takes_time), (end.max(last), takes_time)]);
        let more = self.brief.len().saturating_sub(KEPT);
        self.firm = self.brief.drain(..more).next_back().map(|(time, _)| time).or(self.firm);
    }

    /// Whether nothing but brief acts came since the thread's last join ended.
    pub(super) fn follow_a_join(&self) -> bool {
        self.joined
    }

    /// When the thread came to the join before which these were its last acts, as a thread saw it that
    /// ended at `ended`, before the join began at `begin`. That is the last moment before `ended` at which
    /// an act began or ended. If acts between `ended` and `begin` took time, at most `limit` may lie between
    /// the two. `None`: the thread ended before a firm act.
    pub(super) fn came(&self, ended: Ticks, begin: Ticks, limit: Ticks) -> Option<Ticks> {
        let (before, behind) = self.brief.split_at(self.brief.partition_point(|(time, _)| *time < ended));
        let came = before.last().map(|(time, _)| *time).or(self.firm)?;
        let at_once = behind.iter().all(|(_, takes_time)| !takes_time) || begin.since(ended) <= limit;
        (came < ended && at_once).then_some(came)
    }
}

/// Whether the call hands data to a file, and gets none from it.
fn is_output(call: &SystemCall) -> bool {
    matches!(
        call.name(),
        "write" | "writev" | "send" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" | "fsync" | "fdatasync"
    )
}
