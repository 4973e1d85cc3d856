//! Power states: the activities of a CPU that its power distinguishes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`meter`] | what is kept of a thread's time and of each clock's |

pub(crate) mod meter;

use baton_units::{Cycles, Hertz};

/// The activity of a CPU, as far as its power depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerState {
    /// Instructions are under way, or wait for memory; this includes system calls, switching and
    /// waking up.
    Active,
    /// Spins in a wait with nothing between the tries.
    Spin,
    /// Spins in a wait with PAUSE, TPAUSE or a yield of the CPU between the tries.
    Pause,
    /// Stalled for a device's answer, or for a free entry behind unanswered requests.
    Device,
    /// Stands still with a monitor, at depth 1, the shallowest.
    Monitor1,
    /// Stands still with a monitor, at depth 2.
    Monitor2,
    /// Stands still with a monitor, at depth 3.
    Monitor3,
    /// Is halted while its thread waits.
    Halt,
    /// Has no thread; the operating system polls for one.
    IdlePoll,
    /// Has no thread, and is halted.
    Idle,
    /// Has no thread, and is in one of `os.idle_states`.
    IdleDeep,
    /// Switched off, or not in use in this run.
    Off,
}

/// The number of power states.
pub const STATES: usize = 12;

impl PowerState {
    /// All power states, in the order of their numbers.
    pub const ALL: [PowerState; STATES] = [
        PowerState::Active,
        PowerState::Spin,
        PowerState::Pause,
        PowerState::Device,
        PowerState::Monitor1,
        PowerState::Monitor2,
        PowerState::Monitor3,
        PowerState::Halt,
        PowerState::IdlePoll,
        PowerState::Idle,
        PowerState::IdleDeep,
        PowerState::Off,
    ];

    /// The state's name in results.
    pub fn name(self) -> &'static str {
        match self {
            PowerState::Active => "active",
            PowerState::Spin => "spin",
            PowerState::Pause => "pause",
            PowerState::Device => "device",
            PowerState::Monitor1 => "monitor_c1",
            PowerState::Monitor2 => "monitor_c2",
            PowerState::Monitor3 => "monitor_c3",
            PowerState::Halt => "halt",
            PowerState::IdlePoll => "idle_poll",
            PowerState::Idle => "idle",
            PowerState::IdleDeep => "idle_deep",
            PowerState::Off => "off",
        }
    }

    /// Whether the state's power depends on the core's clock. In the other states, nothing is
    /// clocked or it does not matter.
    pub fn is_clocked(self) -> bool {
        matches!(self, PowerState::Active | PowerState::Spin | PowerState::Pause | PowerState::Device)
    }
}

/// Time that CPUs spent in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The state.
    pub state: PowerState,
    /// The clock of the cores of these CPUs; `None` in a state without a thread.
    pub clock: Option<Hertz>,
    /// The time of all CPUs together, in cycles of the reference clock.
    pub cycles: Cycles,
}
