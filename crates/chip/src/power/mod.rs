//! Power states: the activities of a CPU that differ in power.
//!
//! | file | holds |
//! | --- | --- |
//! | [`meter`] | the record of a thread's time and of the time at each clock |

pub(crate) mod meter;

use baton_units::{Cycles, Hertz};

/// What a CPU is doing, as far as its power depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerState {
    /// Instructions execute or wait for memory; this includes system calls, switching and waking
    /// up.
    Active,
    /// Tries of a spinning wait, with nothing in between.
    Spin,
    /// Tries of a spinning wait, with PAUSE or TPAUSE in between.
    Pause,
    /// Stalled for a device's answer, or for room behind unanswered requests.
    Device,
    /// Still in a monitor, at the shallowest depth.
    Monitor1,
    /// Still in a monitor, at the second depth.
    Monitor2,
    /// Still in a monitor, at the third depth.
    Monitor3,
    /// Halted by its thread.
    Halt,
    /// Without a thread; the operating system polls for one.
    IdlePoll,
    /// Without a thread, halted.
    Idle,
    /// Without a thread, in one of `os.idle_states`.
    IdleDeep,
    /// Not in use.
    Off,
}

/// The number of states.
pub const STATES: usize = 12;

impl PowerState {
    /// All states, in the order of their numbers.
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

    /// The name in results.
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

    /// Whether the state's power depends on the clock. In the other states nothing is clocked, or
    /// the clock does not matter.
    pub fn is_clocked(self) -> bool {
        matches!(self, PowerState::Active | PowerState::Spin | PowerState::Pause | PowerState::Device)
    }
}

/// Time that CPUs spent in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The state of the CPUs.
    pub state: PowerState,
    /// The clock of the CPUs' cores; `None` in a state without a thread.
    pub clock: Option<Hertz>,
    /// The cycles of all CPUs together, in cycles of the reference.
    pub cycles: Cycles,
}
