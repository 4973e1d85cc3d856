//! What the core does with the placement's answers.

use super::board::State;
use super::{Core, Tell};
use crate::input::{Decision, Why};
use baton_sched::placement::{Answer, Event};
use baton_sched::{AppId, ThreadId};
use baton_units::{CpuId, Cycles};

impl Core {
    /// Queues an event for the placement.
    pub(super) fn tell(&mut self, event: Event) {
        self.to_tell.push_back(Tell::Event(event));
    }

    /// Queues where the thread is then.
    pub(super) fn tell_place(&mut self, id: ThreadId) {
        self.to_tell.push_back(Tell::Place(id));
    }

    /// Tells the placement all queued events and carries out its answers.
    pub(super) fn drain(&mut self) {
        // The memory of the last call's answers is used again.
        let mut answers = std::mem::take(&mut self.answers);
        while let Some(tell) = self.to_tell.pop_front() {
            match tell {
                Tell::Event(event) => self.say(&event, &mut answers),
                Tell::Idle(cpu) if self.board.is_idle(cpu) => self.say(&Event::Idle(cpu), &mut answers),
                Tell::Idle(_) => {}
                Tell::Place(id) => match self.board.state(id) {
                    State::Asleep => {}
                    State::Waits(cpu) => self.say(&Event::Placed(id, cpu), &mut answers),
                    State::Runs(cpu) => {
                        self.say(&Event::Placed(id, cpu), &mut answers);
                        self.say(&Event::Runs(id, cpu), &mut answers);
                    }
                },
            }
        }
        self.answers = answers;
    }

    /// Tells the placement an event and carries out its answers.
    fn say(&mut self, event: &Event, answers: &mut Vec<Answer>) {
        self.placement.hears(Cycles(self.now), event, answers);
        for answer in answers.drain(..) {
            self.carry_out(answer);
        }
    }

    fn carry_out(&mut self, answer: Answer) {
        match answer {
            Answer::Move(id, to) => self.send(id, to, Why::Move),
            Answer::Swap(a, b) => {
                let at = |id: ThreadId| match self.board.threads.get(id).map(|thread| thread.state) {
                    Some(State::Runs(cpu) | State::Waits(cpu)) => Some(cpu),
                    Some(State::Asleep) | None => None,
                };
                let (Some(here), Some(there)) = (at(a), at(b)) else { return };
                self.send(a, there, Why::Swap);
                self.send(b, here, Why::Swap);
            }
            Answer::Class(app, class) => {
                self.classes[app.0 as usize] = class;
                self.out.push(Decision::Class(app, class));
            }
            Answer::Demoted(app) => {
                self.board.had[app.0 as usize].demotions += 1;
                self.out.push(Decision::Demoted(app));
            }
            Answer::Period(at) => self.period = Some(at.0),
            Answer::NoPeriod => self.period = None,
        }
    }

    /// Sends a thread to a CPU: narrows its mask to the usable CPUs of that CPU's kind. Whether the
    /// thread has followed is known when it is seen there.
    fn send(&mut self, id: ThreadId, to: CpuId, why: Why) {
        let fast = self.board.is_fast(to);
        let Some(thread) = self.board.threads.get(id) else { return };
        let (before, stays) = (thread.state, thread.refused || self.now < thread.wide_until);
        match before {
            State::Asleep => {}
            // A thread that is there already keeps its mask: the kernel balances within a kind.
            State::Waits(at) | State::Runs(at) if self.board.is_fast(at) == fast && thread.given != Some(!fast) => {
                if before == State::Waits(at) {
                    self.board.bind(id, to, self.now);
                }
                return;
            }
            // The kernel moves a waiting thread as soon as its mask changes.
            State::Waits(from) if !stays && from != to => {
                self.board.set(id, State::Waits(to), self.now);
                // An answer is carried out before the placement hears of anything else.
                self.to_tell.push_front(Tell::Idle(from));
                self.to_tell.push_front(Tell::Place(id));
            }
            State::Waits(_) | State::Runs(_) => self.board.bind(id, to, self.now),
        }
        if !stays {
            self.give(id, Some(fast), why);
        }
    }

    /// Changes the thread's mask to the CPUs of a kind, or to the user's mask.
    pub(super) fn give(&mut self, id: ThreadId, kind: Option<bool>, why: Why) {
        let before = self.mask(id);
        let Some(thread) = self.board.threads.get_mut(id) else { return };
        let given = std::mem::replace(&mut thread.given, kind);
        let app: AppId = thread.begins.app;
        let cpus = self.mask(id).filter(|cpus| !cpus.is_empty());
        let Some(thread) = self.board.threads.get_mut(id) else { return };
        let Some(cpus) = cpus else {
            // The user's mask has no usable CPU of this kind, so that nothing changes.
            thread.given = given;
            return;
        };
        if Some(&cpus) == before.as_ref() {
            return;
        }
        thread.why = Some(why);
        let had = &mut self.board.had[app.0 as usize];
        match why {
            Why::Move => had.moves += 1,
            Why::Swap => had.swaps += 1,
            Why::Room | Why::Inherited => had.widened += 1,
        }
        self.out.push(Decision::Mask(id, cpus, why));
    }
}
