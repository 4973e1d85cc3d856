//! Determines which signal ended which wait at a condition variable. The trace does not tell, so
//! waits are matched with signals in order: a wake-up takes the oldest signal that was sent while
//! its thread waited and that no other wake-up has taken.

use crate::ops::push;
use baton_trace::{Address, ProcessIndex};
use std::collections::{BTreeMap, VecDeque};

type Located = (ProcessIndex, Address);

#[derive(Default)]
struct Condition {
    /// The waiting threads in the order of their arrival, each with the number of the first signal
    /// that could wake it.
    waiting: Vec<(u32, u32)>,
    /// Signals to one waiter that no wake-up has taken yet.
    signals: VecDeque<u32>,
    /// For each waiting thread, the broadcast that it has not taken yet.
    called: BTreeMap<u32, u32>,
}

/// Matches waits with signals. Each matched wait gets a token; so does each other wait for a
/// certain step of another thread ([`Tokens::fresh`]). Tokens are numbered in the order in which
/// they are made.
#[derive(Default)]
pub(crate) struct Tokens {
    conditions: BTreeMap<Located, Condition>,
    signals: u32,
    /// For each token, the number of the signal that puts it down.
    signal_of: Vec<u32>,
    /// After `settle`: for each signal, the index in `by_signal` at which its tokens begin.
    begins: Vec<u32>,
    by_signal: Vec<u32>,
}

/// Stands for no signal: another step puts the token down.
const NONE: u32 = u32::MAX;

impl Tokens {
    pub(crate) fn wait(&mut self, place: Located, thread: u32) {
        let next = self.signals;
        self.conditions.entry(place).or_default().waiting.push((thread, next));
    }

    /// Records a signal to one waiter, or to `all`. Returns the number of the signal, and how many
    /// waiters it can wake.
    pub(crate) fn signal(&mut self, place: Located, all: bool) -> (u32, usize) {
        let signal = self.signals;
        self.signals += 1;
        let condition = self.conditions.entry(place).or_default();
        let uncalled = condition.waiting.len() - condition.called.len();
        if all {
            condition.signals.clear();
            for &(thread, _) in &condition.waiting {
                condition.called.entry(thread).or_insert(signal);
            }
            return (signal, uncalled);
        }
        let free = uncalled.saturating_sub(condition.signals.len());
        if free != 0 {
            condition.signals.push_back(signal);
        }
        (signal, free.min(1))
    }

    /// Records that a thread's wait ended with a wake-up. Returns the token that stands for the
    /// matching signal, for which the replay makes the thread wait; `None` if no signal matches.
    pub(crate) fn woken(&mut self, place: Located, thread: u32) -> Option<u32> {
        let condition = self.conditions.entry(place).or_default();
        let since = leave(condition, thread)?;
        let signal = match condition.called.remove(&thread) {
            Some(signal) => signal,
            None => {
                let at = condition.signals.iter().position(|&signal| signal >= since)?;
                condition.signals.remove(at)?
            }
        };
        Some(self.of_signal(signal))
    }

    /// Records a step that may put down tokens for waits that are found later. Returns the number of the step,
    /// which is like that of a signal.
    pub(crate) fn step(&mut self) -> u32 {
        self.signals += 1;
        self.signals - 1
    }

    /// Returns a token that the step puts down.
    pub(crate) fn after_step(&mut self, step: u32) -> u32 {
        self.of_signal(step)
    }

    /// Makes a token that no signal of a condition variable puts down.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.of_signal(NONE)
    }

    fn of_signal(&mut self, signal: u32) -> u32 {
        push(&mut self.signal_of, signal);
        self.count() - 1
    }

    /// Records that a thread's wait ended without a wake-up.
    pub(crate) fn gave_up(&mut self, place: Located, thread: u32) {
        let condition = self.conditions.entry(place).or_default();
        let _ = leave(condition, thread);
        condition.called.remove(&thread);
    }

    /// Lists the tokens of each signal. Must be called when all waits are known.
    pub(crate) fn settle(&mut self) {
        let mut begins = vec![0; self.signals as usize + 1];
        let signals = || self.signal_of.iter().filter(|&&signal| signal != NONE);
        for &signal in signals() {
            begins[signal as usize + 1] += 1;
        }
        for signal in 1..begins.len() {
            begins[signal] += begins[signal - 1];
        }
        let mut by_signal = vec![0; signals().count()];
        // The loop goes backwards, so that each entry of `begins` moves from the end of its
        // signal's tokens to their beginning.
        for (token, &signal) in self.signal_of.iter().enumerate().rev().filter(|&(_, &signal)| signal != NONE) {
            begins[signal as usize + 1] -= 1;
            by_signal[begins[signal as usize + 1] as usize] = token as u32;
        }
        begins.remove(0);
        begins.push(by_signal.len() as u32);
        (self.begins, self.by_signal) = (begins, by_signal);
    }

    /// Returns the tokens of a signal. Must be called after `settle`.
    pub(crate) fn of(&self, signal: u32) -> &[u32] {
        let [from, to] = [signal, signal + 1].map(|signal| self.begins[signal as usize] as usize);
        &self.by_signal[from..to]
    }

    pub(crate) fn count(&self) -> u32 {
        self.signal_of.len() as u32
    }
}

fn leave(condition: &mut Condition, thread: u32) -> Option<u32> {
    let at = condition.waiting.iter().position(|&(waiter, _)| waiter == thread)?;
    Some(condition.waiting.remove(at).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Located = (ProcessIndex(0), 64);

    #[test]
    fn a_wake_up_takes_the_oldest_signal_sent_while_it_waited() {
        let mut tokens = Tokens::default();
        let lost = tokens.signal(C, false);
        tokens.wait(C, 1);
        tokens.wait(C, 2);
        let (one, two) = (tokens.signal(C, false), tokens.signal(C, false));
        let spare = tokens.signal(C, false);
        assert_eq!((lost.1, one.1, two.1, spare.1), (0, 1, 1, 0));
        let (b, a) = (tokens.woken(C, 2).unwrap(), tokens.woken(C, 1).unwrap());
        tokens.settle();
        assert_eq!((tokens.of(one.0), tokens.of(two.0)), (&[b][..], &[a][..]));
        assert!(tokens.of(lost.0).is_empty() && tokens.of(spare.0).is_empty());
        assert_eq!(tokens.woken(C, 1), None, "it does not wait");
    }

    #[test]
    fn a_broadcast_wakes_all_who_wait_and_a_later_waiter_needs_its_own() {
        let mut tokens = Tokens::default();
        tokens.wait(C, 1);
        tokens.wait(C, 2);
        tokens.wait(C, 3);
        let all = tokens.signal(C, true);
        assert_eq!(all.1, 3);
        tokens.gave_up(C, 3);
        tokens.wait(C, 4);
        assert_eq!(tokens.woken(C, 4), None);
        let (a, b) = (tokens.woken(C, 1).unwrap(), tokens.woken(C, 2).unwrap());
        tokens.settle();
        assert_eq!(tokens.of(all.0), [a, b]);
    }
}
