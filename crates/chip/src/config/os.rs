//! Values of the operating system's keys that are more than a number.

use baton_sched::{POLICIES, Policy};

/// Where a futex's hash bucket has its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexHome {
    /// Where its address says, as in Linux.
    Bucket,
    /// At the home of the cell that is waited on (OCOR, section 4.1).
    Lock,
}

impl FutexHome {
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["bucket", "lock"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        FutexHome::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<FutexHome> {
        [FutexHome::Bucket, FutexHome::Lock].into_iter().find(|home| home.name() == name)
    }
}

/// A scheduling policy of the registry, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerName(&'static str);

impl SchedulerName {
    /// The one of that name, if there is one.
    pub fn named(name: &str) -> Option<SchedulerName> {
        baton_sched::find(name).map(|policy| SchedulerName(policy.name))
    }

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// The policy.
    pub fn policy(self) -> &'static Policy {
        baton_sched::find(self.0).unwrap_or(&POLICIES[0])
    }
}

impl Default for SchedulerName {
    fn default() -> Self {
        SchedulerName(POLICIES[0].name)
    }
}

/// How an interrupt goes from CPU to CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ipi {
    /// Its way is within the price of a wake-up.
    #[default]
    Price,
    /// As a packet of the chip's network; what it takes comes on top.
    Packet,
    /// The same; and a wake-up from a futex goes to the home of its bucket, which sends one on to the sleeper (OCOR, sections
    /// 4.1 and 3.3), whether its CPU has halted or polls.
    Home,
}

impl Ipi {
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["price", "packet", "home"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        Ipi::NAMES[self as usize]
    }

    /// The one of that name; [`Ipi::Price`] if there is none.
    pub fn named(name: &str) -> Ipi {
        [Ipi::Packet, Ipi::Home].into_iter().find(|ipi| ipi.name() == name).unwrap_or_default()
    }
}

/// An idle state: how long a CPU has idled when it is in it, and what leaving it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Idle cycles before it.
    pub after: u64,
    /// From a wake-up to the thread's first instruction.
    pub exit: u64,
}

/// Idle states beyond halting, each deeper than the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleStates(pub Vec<IdleState>);

impl IdleStates {
    /// What a chip file may say.
    pub const EXPECTED: &str =
        "states as in \"200000:40000 2000000:150000\": idle cycles before it, then cycles to leave it, both rising";

    /// Reads `200000:40000 2000000:150000`.
    pub fn parse(text: &str) -> Option<IdleStates> {
        let state = |word: &str| {
            let (after, exit) = word.split_once(':')?;
            let state = IdleState { after: after.parse().ok()?, exit: exit.parse().ok()? };
            (state.after.max(state.exit) <= super::keys::MOST_CYCLES).then_some(state)
        };
        let states: Vec<IdleState> = text.split_whitespace().map(state).collect::<Option<_>>()?;
        let rising = states.windows(2).all(|pair| pair[0].after < pair[1].after && pair[0].exit <= pair[1].exit);
        (rising && !states.is_empty()).then_some(IdleStates(states))
    }

    /// As [`IdleStates::parse`] reads it.
    pub fn text(&self) -> String {
        self.0.iter().map(|state| format!("{}:{}", state.after, state.exit)).collect::<Vec<_>>().join(" ")
    }
}

/// Cores that are off when a run begins, and where the chip file says so.
#[derive(Clone, Debug, Default)]
pub struct OffCores {
    /// By number, rising.
    pub cores: Vec<u32>,
    /// `file:line`, or `--set`; empty for a chip that no file was read for.
    pub place: String,
}

/// Two chips with the same cores off are the same, wherever that was said.
impl PartialEq for OffCores {
    fn eq(&self, other: &OffCores) -> bool {
        self.cores == other.cores
    }
}

impl OffCores {
    /// What a chip file may say.
    pub const EXPECTED: &str = "the cores as in \"1 4-7\"";

    /// Reads `1 4-7`.
    pub fn parse(text: &str) -> Option<OffCores> {
        let mut cores = Vec::new();
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || u64::from(last) >= super::keys::MOST_CORES {
                return None;
            }
            cores.extend(first..=last);
        }
        cores.sort_unstable();
        cores.dedup();
        (!cores.is_empty()).then_some(OffCores { cores, place: String::new() })
    }

    /// As [`OffCores::parse`] reads it.
    pub fn text(&self) -> String {
        self.cores.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }
}
