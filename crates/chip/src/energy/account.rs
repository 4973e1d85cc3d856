//! Multiplies time in states by watts, and events by joules, for each component.

use super::prices::{Price, PriceKey, Scaling};
use crate::outcome::Outcome;
use crate::power::{PowerState, Spent};
use baton_chipfile::config::Chip;
use baton_units::Hertz;
use thiserror::Error;

/// A component that uses energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The CPUs, by state.
    Cpus,
    /// Private and shared caches, and directories.
    Caches,
    /// The routers and links of the network.
    Network,
    /// Memory and its controllers.
    Memory,
    /// All devices of the chip.
    Devices,
    /// The rest of the machine.
    Base,
}

impl Component {
    /// All components.
    pub const ALL: [Component; 6] = [
        Component::Cpus,
        Component::Caches,
        Component::Network,
        Component::Memory,
        Component::Devices,
        Component::Base,
    ];

    /// The component's name in results.
    pub fn name(self) -> &'static str {
        match self {
            Component::Cpus => "cpus",
            Component::Caches => "caches",
            Component::Network => "network",
            Component::Memory => "memory",
            Component::Devices => "devices",
            Component::Base => "base",
        }
    }
}

/// An amount of time or of events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// Seconds, added over all units of the component.
    Seconds(f64),
    /// A number of events.
    Events(u64),
}

/// A line of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The component that used the energy.
    pub component: Component,
    /// The key of the price in the chip file.
    pub key: &'static str,
    /// The clock of the CPUs; `None` for CPUs without a thread and for the other components.
    pub clock: Option<Hertz>,
    /// The time or the number of events.
    pub quantity: Quantity,
    /// Watts, or joules per event.
    pub price: f64,
    /// Quantity times price.
    pub joules: f64,
}

/// The energy of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The duration of the run.
    pub seconds: f64,
    /// The lines that add up to the energy.
    pub lines: Vec<Line>,
}

/// A price that the run needs and the chip file does not state.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("price missing: key `{key}` ({unit}: {what}) is not in the chip file of `{chip}`, and the run has {amount}")]
pub struct PriceMissing {
    /// The chip's name.
    pub chip: String,
    /// The key that is missing.
    pub key: &'static str,
    /// The price's unit.
    pub unit: &'static str,
    /// The price's meaning.
    pub what: &'static str,
    /// The quantity that would be multiplied by the price.
    pub amount: String,
}

impl Account {
    /// The energy of a run at the prices of its chip file.
    ///
    /// # Errors
    /// [`PriceMissing`] for the first price that the run needs and the chip file does not state.
    pub fn of(chip: &Chip, outcome: &Outcome) -> Result<Account, PriceMissing> {
        let seconds = outcome.cycles.0 as f64 / chip.core.clock.0 as f64;
        let mut writer = Writer { chip, seconds, lines: Vec::new() };
        for &spent in &outcome.spent {
            writer.state(spent)?;
        }
        let counts = &outcome.memory;
        let beyond = counts.misses + counts.upgrades;
        let activations = (counts.fetches + counts.memory_writes).saturating_sub(counts.row_hits);
        let (l1, l2, shared, activations, controllers) = match &chip.coherent {
            Some(coherent) => {
                let l2 = if coherent.l2.is_some() { counts.l2_hits + beyond } else { 0 };
                let shared = if coherent.shared.is_some() { counts.shared_hits + counts.fetches } else { 0 };
                (counts.hits + counts.l2_hits + beyond, l2, shared, activations, coherent.dram.controllers)
            }
            None => {
                let moved = counts.transfers + counts.upgrades;
                (counts.hits + moved + counts.fetches, 0, moved, 0, chip.numa_nodes())
            }
        };
        writer.events(Component::Caches, Price::L1, l1)?;
        writer.events(Component::Caches, Price::L2, l2)?;
        writer.events(Component::Caches, Price::Shared, shared)?;
        writer.events(Component::Caches, Price::Message, counts.messages)?;
        writer.events(Component::Network, Price::FlitHop, outcome.network.flit_hops)?;
        writer.always(Component::Network, Price::Network, u32::from(chip.coherent.is_some()))?;
        writer.events(Component::Memory, Price::Read, counts.fetches)?;
        writer.events(Component::Memory, Price::Write, counts.memory_writes)?;
        writer.events(Component::Memory, Price::Activate, activations)?;
        writer.always(Component::Memory, Price::Controller, controllers)?;
        let requests = outcome.devices.iter().map(|device| device.port.requests).sum();
        writer.events(Component::Devices, Price::Request, requests)?;
        writer.always(Component::Devices, Price::Device, outcome.devices.len() as u32)?;
        writer.always(Component::Base, Price::Base, 1)?;
        Ok(Account { seconds, lines: writer.lines })
    }

    /// The energy of a component, in joules.
    pub fn component(&self, component: Component) -> f64 {
        self.lines.iter().filter(|line| line.component == component).map(|line| line.joules).sum()
    }

    /// The energy of all components, in joules.
    pub fn total(&self) -> f64 {
        self.lines.iter().map(|line| line.joules).sum()
    }

    /// The energy of all components except the platform's base, in joules.
    pub fn without_base(&self) -> f64 {
        self.lines.iter().filter(|line| line.component != Component::Base).map(|line| line.joules).sum()
    }

    /// The mean power of the run, in watts.
    pub fn watts(&self) -> f64 {
        if self.seconds > 0.0 { self.total() / self.seconds } else { 0.0 }
    }
}

struct Writer<'a> {
    chip: &'a Chip,
    seconds: f64,
    lines: Vec<Line>,
}

impl Writer<'_> {
    fn price(&self, price: Price, amount: impl FnOnce() -> String) -> Result<(f64, &'static PriceKey), PriceMissing> {
        let (value, key) = self.chip.energy.of(price);
        let missing = || {
            let chip = self.chip.name.clone();
            PriceMissing { chip, key: key.path, unit: key.unit, what: key.what, amount: amount() }
        };
        Ok((value.ok_or_else(missing)?, key))
    }

    fn state(&mut self, spent: Spent) -> Result<(), PriceMissing> {
        if spent.cycles.0 == 0 {
            return Ok(());
        }
        let reference = self.chip.core.clock;
        let seconds = spent.cycles.0 as f64 / reference.0 as f64;
        let amount = || format!("{seconds:.3e} s of it");
        let at = |of| Price::State(PowerState::ALL.iter().position(|&state| state == of).unwrap_or(0));
        let (price, key) = self.chip.energy.of(at(spent.state));
        let mut watts = match (price, spent.state) {
            (None, PowerState::Device) => self.price(at(PowerState::Active), amount)?.0,
            _ => self.price(at(spent.state), amount)?.0,
        };
        if let Some(clock) = spent.clock.filter(|&clock| clock != reference && spent.state.is_clocked()) {
            let (still, exponent) = (self.price(Price::Static, amount)?.0, self.price(Price::Exponent, amount)?.0);
            watts = Scaling { still, exponent }.watts(watts, clock.0 as f64 / reference.0 as f64);
        }
        let (clock, quantity) = (spent.clock, Quantity::Seconds(seconds));
        let joules = watts * seconds;
        self.lines.push(Line { component: Component::Cpus, key: key.path, clock, quantity, price: watts, joules });
        Ok(())
    }

    fn events(&mut self, component: Component, price: Price, n: u64) -> Result<(), PriceMissing> {
        if n == 0 {
            return Ok(());
        }
        let (picojoules, key) = self.price(price, || format!("{n} of it"))?;
        let (price, quantity) = (picojoules * 1e-12, Quantity::Events(n));
        self.lines.push(Line { component, key: key.path, clock: None, quantity, price, joules: price * n as f64 });
        Ok(())
    }

    fn always(&mut self, component: Component, price: Price, units: u32) -> Result<(), PriceMissing> {
        if units == 0 || self.seconds == 0.0 {
            return Ok(());
        }
        let seconds = self.seconds * f64::from(units);
        let (price, key) = self.price(price, || format!("{seconds:.3e} s of it"))?;
        let quantity = Quantity::Seconds(seconds);
        self.lines.push(Line { component, key: key.path, clock: None, quantity, price, joules: price * seconds });
        Ok(())
    }
}
