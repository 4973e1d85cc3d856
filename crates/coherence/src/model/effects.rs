//! What the protocol's actions do to the world.

use super::{Age, Config, Fault, Few, Packet, World};
use crate::cache::{self, Event};
use crate::{Agent, CoreSet, Message, home};
use baton_units::CoreId;

/// Performs a write of `line` by `writer`, in its caches or at the home. All other data of the line
/// is old from now on.
fn write(world: &mut World, config: &Config, line: usize, writer: CoreId, at_home: bool) {
    let mut serves = Few::default();
    for (core, copies) in world.copies.iter_mut().enumerate() {
        let copy = &mut copies[line];
        copy.overwritten |= copy.linked && core != writer.0 as usize;
        if config.ordered() && matches!(copy.access, Some(Event::Load | Event::LoadLinked)) {
            serves.insert(CoreId(core as u32));
        }
    }
    world.pieces(line).for_each(|data| data.newest = false);
    let newest = Age { newest: true, serves };
    match at_home {
        true => world.home_data[line] = newest,
        false => world.copies[writer.0 as usize][line].data = newest,
    }
    world.sort_network(config.ordered());
}

/// The effects of a cache's row on the world.
pub(super) struct OfCache<'a> {
    pub(super) world: &'a mut World,
    pub(super) config: &'a Config,
    pub(super) core: CoreId,
    pub(super) line: usize,
    /// The presented access, if there is one.
    pub(super) presented: Option<Event>,
    /// The data of the message at hand.
    pub(super) data: Age,
    /// What the row called: how often it performed an access, and whether it wrote, completed
    /// `once`, or lost the line.
    pub(super) performed: u8,
    pub(super) wrote: bool,
    pub(super) once: bool,
    pub(super) lost: bool,
}

impl OfCache<'_> {
    fn copy(&mut self) -> &mut super::Copy {
        &mut self.world.copies[self.core.0 as usize][self.line]
    }

    /// Checks a load that is served once: its data may have been overwritten since the load was
    /// issued, but must not be older.
    fn may_serve_late(&mut self) {
        if !self.data.newest && !self.data.serves.contains(self.core) {
            self.world.blame(Fault::StaleData);
        }
    }

    fn write(&mut self) {
        self.wrote = true;
        write(self.world, self.config, self.line, self.core, false);
    }

    fn perform(&mut self, access: Event) {
        self.performed += 1;
        if !self.copy().data.newest {
            self.world.blame(Fault::StaleData);
        }
        match access {
            Event::LoadLinked => {
                let copy = self.copy();
                (copy.linked, copy.overwritten) = (true, false);
            }
            Event::Store | Event::FarAtomic => self.write(),
            Event::StoreConditional => {
                let copy = *self.copy();
                if copy.linked {
                    if copy.overwritten {
                        self.world.blame(Fault::BrokenLink);
                    }
                    self.write();
                }
                let copy = self.copy();
                (copy.linked, copy.overwritten) = (false, false);
            }
            _ => {}
        }
    }
}

impl cache::Effects for OfCache<'_> {
    fn send(&mut self, to: Agent, message: Message) {
        let data = self.copy().data;
        send(self.world, self.config, self.line, to, message, data);
    }

    fn hit(&mut self) {
        match self.presented {
            Some(access) => self.perform(access),
            None => self.world.blame(Fault::LostAccess),
        }
    }

    fn complete(&mut self, once: bool) {
        self.once |= once;
        match (self.copy().access.take(), once) {
            // The core has only prefetched the line, or the home has performed its atomic already.
            (None, _) | (Some(Event::FarAtomic), false) => {}
            (Some(Event::Load | Event::LoadLinked), true) => self.may_serve_late(),
            (Some(access), false) => self.perform(access),
            (Some(_), true) => self.world.blame(Fault::LostAccess),
        }
        let core = self.core;
        self.world.pieces(self.line).for_each(|data| data.serves.remove(core));
        self.data.serves.remove(core);
        self.world.sort_network(self.config.ordered());
    }

    fn lost(&mut self) {
        self.lost = true;
        let copy = self.copy();
        (copy.linked, copy.overwritten) = (false, false);
    }

    fn fill(&mut self) {
        self.copy().data = self.data;
    }
}

/// The effects of a home's row on the world.
pub(super) struct OfHome<'a> {
    pub(super) world: &'a mut World,
    pub(super) config: &'a Config,
    pub(super) line: usize,
    /// The data of the message at hand.
    pub(super) data: Age,
    /// Number of the sharer that is the victim, counted from the lowest.
    pub(super) pick: u8,
    /// Whether the row dropped the line.
    pub(super) dropped: bool,
}

impl home::Effects<Few> for OfHome<'_> {
    fn send(&mut self, to: Agent, message: Message) {
        let data = self.world.home_data[self.line];
        send(self.world, self.config, self.line, to, message, data);
    }

    fn store(&mut self) {
        self.world.home_data[self.line] = self.data;
        if !self.data.newest {
            self.world.blame(Fault::StaleData);
        }
    }

    fn atomic(&mut self, requestor: CoreId) {
        if !self.world.home_data[self.line].newest {
            self.world.blame(Fault::StaleData);
        }
        write(self.world, self.config, self.line, requestor, true);
    }

    fn drop_line(&mut self) {
        self.dropped = true;
    }

    fn victim(&mut self, sharers: &Few) -> CoreId {
        let mut chosen = None;
        let mut left = u16::from(self.pick) % sharers.len().max(1);
        sharers.each(|core| {
            if left == 0 && chosen.is_none() {
                chosen = Some(core);
            }
            left = left.saturating_sub(1);
        });
        chosen.unwrap_or_else(|| {
            self.world.blame(Fault::Directory);
            CoreId(0)
        })
    }
}

fn send(world: &mut World, config: &Config, line: usize, to: Agent, message: Message, data: Age) {
    let data = if message.kind.carries_line() { data } else { Age::default() };
    let packet = Packet { line: line as u8, to, class: message.kind.class(), message, data };
    world.post(packet, config.ordered());
}
