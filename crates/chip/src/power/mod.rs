//! Power states: what a CPU can be doing, as its power has it.
//!
//! | file | holds |
//! | --- | --- |
//! | [`meter`] | what is kept of a thread's time and of each clock's |

pub(crate) mod meter;

use baton_units::{Cycles, Hertz};

/// What a CPU is doing, as its power has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerState {
    /// Instructions are under way, or wait for memory; system calls, switching and waking up included.
    Active,
    /// Tries of a spinning wait with nothing in between.
    Spin,
    /// The same with PAUSE or TPAUSE.
    Pause,
    /// Stalled for a device's answer, or for room behind requests that are not answered.
    Device,
    /// Still, with a monitor, at the shallowest depth.
    Monitor1,
    /// At the second.
    Monitor2,
    /// At the third.
    Monitor3,
    /// Halted by its thread.
    Halt,
    /// No thread; the operating system polls for one.
    IdlePoll,
    /// No thread, halted.
    Idle,
    /// No thread, in one of `os.idle_states`.
    IdleDeep,
    /// Not in use.
    Off,
}

/// How many there are.
pub const STATES: usize = 12;

impl PowerState {
    /// All of them, in the order of their numbers.
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

    /// Its name in results.
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

    /// Whether its power goes with the clock: nothing is clocked in the others, or what is does not matter.
    pub fn is_clocked(self) -> bool {
        matches!(self, PowerState::Active | PowerState::Spin | PowerState::Pause | PowerState::Device)
    }
}

/// Time that CPUs spent in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The state.
    pub state: PowerState,
    /// The clock that their cores had; `None` in a state without a thread.
    pub clock: Option<Hertz>,
    /// All CPUs together, in cycles of the reference.
    pub cycles: Cycles,
}
