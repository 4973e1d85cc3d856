//! Signals as the operating system knows them: numbers, sets, an application's actions, and a
//! thread's pending signals.

use super::refused::Refused;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A signal, by its number on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(u8);

impl Signal {
    /// A user's interrupt.
    pub const INT: Signal = Signal(2);
    /// Ends an application unconditionally: this signal cannot be handled, ignored or blocked.
    pub const KILL: Signal = Signal(9);
    /// For the application's own use.
    pub const USR1: Signal = Signal(10);
    /// For the application's own use.
    pub const USR2: Signal = Signal(12);
    /// A timer.
    pub const ALRM: Signal = Signal(14);
    /// Asks an application to end.
    pub const TERM: Signal = Signal(15);
    /// A child process has changed its state; ignored by default.
    pub const CHLD: Signal = Signal(17);
    /// Resumes a stopped process; ignored by default, because the simulated system stops none.
    pub const CONT: Signal = Signal(18);
    /// Urgent data have come to a socket; ignored by default.
    pub const URG: Signal = Signal(23);
    /// The terminal's window has changed its size; ignored by default.
    pub const WINCH: Signal = Signal(28);

    /// The signals that stop a process, which the simulated system does not do.
    const STOPS: std::ops::RangeInclusive<u32> = 19..=22;
    /// The last of the standard signals. Higher ones are queued, which the simulated system does
    /// not do.
    const LAST: u32 = 31;

    /// The signal with this number.
    ///
    /// # Errors
    /// [`Refused::Signal`] for a number that is no signal of the simulated system.
    pub fn new(number: u32) -> Result<Signal, Refused> {
        if number == 0 || number > Self::LAST || Self::STOPS.contains(&number) {
            return Err(Refused::Signal(number));
        }
        Ok(Signal(number as u8))
    }

    /// The signal's number.
    pub fn number(self) -> u32 {
        self.0.into()
    }

    /// Whether the signal ends an application that has set no action.
    fn ends_by_default(self) -> bool {
        !matches!(self, Signal::CHLD | Signal::CONT | Signal::URG | Signal::WINCH)
    }
}

/// A set of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(u32);

impl SignalSet {
    /// The empty set.
    pub const NONE: SignalSet = SignalSet(0);
    /// The set of all signals.
    pub const ALL: SignalSet = SignalSet(u32::MAX);

    /// The set of these signals.
    pub fn of(signals: &[Signal]) -> SignalSet {
        signals.iter().fold(SignalSet::NONE, |set, &signal| set.with(signal))
    }

    /// The set with `signal` added.
    pub fn with(self, signal: Signal) -> SignalSet {
        SignalSet(self.0 | 1 << signal.0)
    }

    /// The set with `signal` removed.
    pub fn without(self, signal: Signal) -> SignalSet {
        SignalSet(self.0 & !(1 << signal.0))
    }

    /// The union of both sets.
    pub fn and(self, other: SignalSet) -> SignalSet {
        SignalSet(self.0 | other.0)
    }

    /// Whether the set contains the signal.
    pub fn has(self, signal: Signal) -> bool {
        self.0 & 1 << signal.0 != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The signals in the set, by number.
    pub(crate) fn list(self) -> Vec<Signal> {
        (1..=Signal::LAST as u8).map(Signal).filter(|&signal| self.has(signal)).collect()
    }

    /// The lowest signal of this set that is not in `other`.
    pub(crate) fn first_beside(self, other: SignalSet) -> Option<Signal> {
        let left = self.0 & !other.0;
        (left != 0).then(|| Signal(left.trailing_zeros() as u8))
    }
}

/// A handler of signals: guest code.
pub type SignalHandler = Rc<dyn Fn(Signal)>;

/// What an application does when a signal comes to one of its threads.
#[derive(Clone, Default)]
pub enum Action {
    /// The signal's default: most end the application, a few are ignored.
    #[default]
    Default,
    /// Nothing.
    Ignore,
    /// The thread runs the handler. In the meantime the signal itself and the signals in the set
    /// are blocked.
    Handle(SignalHandler, SignalSet),
}

impl Action {
    /// An action that runs a handler, with only the signal itself blocked meanwhile.
    pub fn handle(handler: impl Fn(Signal) + 'static) -> Action {
        Action::Handle(Rc::new(handler), SignalSet::NONE)
    }
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Action::Default => f.write_str("Default"),
            Action::Ignore => f.write_str("Ignore"),
            Action::Handle(_, blocks) => f.debug_tuple("Handle").field(blocks).finish(),
        }
    }
}

/// The effect of a signal that is delivered now.
pub(crate) enum Fate {
    /// Nothing.
    Ignored,
    /// The application ends.
    Ends,
    /// The handler runs.
    Handled(SignalHandler, SignalSet),
}

/// The actions of an application.
#[derive(Default)]
pub(crate) struct Actions(BTreeMap<Signal, Action>);

impl Actions {
    /// Sets another action from now on. Returns the former one.
    pub(crate) fn replace(&mut self, signal: Signal, action: Action) -> Action {
        self.0.insert(signal, action).unwrap_or_default()
    }

    /// The effect of a signal.
    pub(crate) fn fate(&self, signal: Signal) -> Fate {
        match self.0.get(&signal) {
            Some(Action::Ignore) => Fate::Ignored,
            Some(Action::Handle(handler, blocks)) => Fate::Handled(handler.clone(), *blocks),
            Some(Action::Default) | None if signal.ends_by_default() => Fate::Ends,
            Some(Action::Default) | None => Fate::Ignored,
        }
    }
}

/// The signals of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signals {
    /// Signals that have come and were not handled yet. Several of the same number count once.
    pub(crate) pending: SignalSet,
    /// Signals that the thread blocks.
    pub(crate) blocked: SignalSet,
    /// The nesting depth of system calls that the thread waits in and must leave before a handler
    /// runs.
    pub(crate) in_call: u32,
    /// The nesting depth of kernel work that no signal interrupts, including its sleeps.
    pub(crate) uninterruptible: u32,
}

impl Signals {
    /// Whether a signal is pending that is not blocked.
    pub(crate) fn any(&self) -> bool {
        self.pending.first_beside(self.blocked).is_some()
    }
}

/// An application that a signal has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The application's name; empty for threads that named no application.
    pub app: String,
    /// The signal that ended the application.
    pub signal: Signal,
    /// The time of the signal; the threads end at their next operations.
    pub at: baton_units::Cycles,
}
