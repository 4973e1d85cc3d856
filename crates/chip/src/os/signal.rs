//! Signals as the operating system knows them: numbers, sets, what an application does when one comes, and what a thread has of them.

use super::refused::Refused;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A signal, by its number on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(u8);

impl Signal {
    /// A user's interrupt.
    pub const INT: Signal = Signal(2);
    /// Ends an application, whatever it says: it cannot be handled, ignored or blocked.
    pub const KILL: Signal = Signal(9);
    /// For the application's own use.
    pub const USR1: Signal = Signal(10);
    /// For the application's own use.
    pub const USR2: Signal = Signal(12);
    /// A timer.
    pub const ALRM: Signal = Signal(14);
    /// Asks an application to end.
    pub const TERM: Signal = Signal(15);
    /// A child has changed; ignored by default.
    pub const CHLD: Signal = Signal(17);
    /// Has a stopped process go on; ignored by default, as the simulated system stops none.
    pub const CONT: Signal = Signal(18);
    /// Urgent data have come; ignored by default.
    pub const URG: Signal = Signal(23);
    /// A window has changed; ignored by default.
    pub const WINCH: Signal = Signal(28);

    /// Those that stop a process, which the simulated system does not do.
    const STOPS: std::ops::RangeInclusive<u32> = 19..=22;
    /// The last of the standard signals. Those behind it are queued, which the simulated system does not do.
    const LAST: u32 = 31;

    /// The signal of that number.
    ///
    /// # Errors
    /// [`Refused::Signal`] for a number that is no signal of the simulated system.
    pub fn new(number: u32) -> Result<Signal, Refused> {
        if number == 0 || number > Self::LAST || Self::STOPS.contains(&number) {
            return Err(Refused::Signal(number));
        }
        Ok(Signal(number as u8))
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0.into()
    }

    /// What comes of it where its application has said nothing.
    fn ends_by_default(self) -> bool {
        !matches!(self, Signal::CHLD | Signal::CONT | Signal::URG | Signal::WINCH)
    }
}

/// A set of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(u32);

impl SignalSet {
    /// None.
    pub const NONE: SignalSet = SignalSet(0);
    /// All.
    pub const ALL: SignalSet = SignalSet(u32::MAX);

    /// These.
    pub fn of(signals: &[Signal]) -> SignalSet {
        signals.iter().fold(SignalSet::NONE, |set, &signal| set.with(signal))
    }

    /// The set, and that signal.
    pub fn with(self, signal: Signal) -> SignalSet {
        SignalSet(self.0 | 1 << signal.0)
    }

    /// The set without that signal.
    pub fn without(self, signal: Signal) -> SignalSet {
        SignalSet(self.0 & !(1 << signal.0))
    }

    /// Both sets.
    pub fn and(self, other: SignalSet) -> SignalSet {
        SignalSet(self.0 | other.0)
    }

    /// Whether the signal is one of them.
    pub fn has(self, signal: Signal) -> bool {
        self.0 & 1 << signal.0 != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, by number.
    pub(crate) fn list(self) -> Vec<Signal> {
        (1..=Signal::LAST as u8).map(Signal).filter(|&signal| self.has(signal)).collect()
    }

    /// The one of the least number that is not in another set.
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
    /// What the signal does by itself: most end the application, a few are ignored.
    #[default]
    Default,
    /// Nothing.
    Ignore,
    /// The thread runs the handler. Meanwhile the signal itself is blocked, and so are those.
    Handle(SignalHandler, SignalSet),
}

impl Action {
    /// Runs a handler, with nothing blocked but the signal itself.
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

/// What comes of a signal now.
pub(crate) enum Fate {
    /// Nothing.
    Ignored,
    /// The application ends.
    Ends,
    /// The handler runs.
    Handled(SignalHandler, SignalSet),
}

/// An application's actions.
#[derive(Default)]
pub(crate) struct Actions(BTreeMap<Signal, Action>);

impl Actions {
    /// Another action from now on; the one before.
    pub(crate) fn replace(&mut self, signal: Signal, action: Action) -> Action {
        self.0.insert(signal, action).unwrap_or_default()
    }

    /// What comes of a signal.
    pub(crate) fn fate(&self, signal: Signal) -> Fate {
        match self.0.get(&signal) {
            Some(Action::Ignore) => Fate::Ignored,
            Some(Action::Handle(handler, blocks)) => Fate::Handled(handler.clone(), *blocks),
            Some(Action::Default) | None if signal.ends_by_default() => Fate::Ends,
            Some(Action::Default) | None => Fate::Ignored,
        }
    }
}

/// What a thread has of signals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signals {
    /// Those that have come and were not handled yet; two of one number are one.
    pub(crate) pending: SignalSet,
    /// Those that wait until they are unblocked.
    pub(crate) blocked: SignalSet,
    /// It waits in a system call that it leaves before a handler runs, one within another.
    pub(crate) in_call: u32,
    /// It does work of the kernel that no signal interrupts, its sleeps neither, one within another.
    pub(crate) uninterruptible: u32,
}

impl Signals {
    /// Whether one has come that is not blocked.
    pub(crate) fn any(&self) -> bool {
        self.pending.first_beside(self.blocked).is_some()
    }
}

/// An application that a signal has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// Its name; empty for the threads that named no application.
    pub app: String,
    /// The signal.
    pub signal: Signal,
    /// When: its threads end at their next operations.
    pub at: baton_units::Cycles,
}
