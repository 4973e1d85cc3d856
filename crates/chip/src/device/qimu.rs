//! Queue ids of programs (CAF, section 5.2): the operating system's tables, which say where each process's queues are and what it may do
//! with them, and the QTLB of each hardware context, which keeps what was looked up.
//!
//! An id has an index of its process's table in its low bits, and counts allocations above, so that none is given twice: the walk compares
//! the whole id with that of the entry. What a walk costs is `machine::qimu`'s part, which loads the entry from guest memory.

use baton_chipfile::config::Chip;
use baton_chipfile::config::coherent::Topology;
use baton_chipfile::config::device::QueueHome;
use baton_machine::queues::{Direction, QueueId};
use std::collections::VecDeque;

/// A queue of a device, by the device's own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) device: u32,
    pub(crate) queue: QueueId,
}

impl Location {
    /// A request's words, aimed at this queue.
    pub(crate) fn aim(self, words: [u64; 3]) -> [u64; 3] {
        [words[0] & !u64::from(u32::MAX) | u64::from(self.queue.0), words[1], words[2]]
    }
}

/// What the operating system knows of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) at: Location,
    /// The process that made it: its protection domain at the device.
    pub(crate) domain: u32,
    pub(crate) entries: u32,
    /// Whether enqueues need credits, and dequeues.
    pub(crate) credits: [bool; 2],
    /// A group or a reducer of its device has it: it stays where it is.
    pub(crate) pinned: bool,
    /// It is being moved.
    pub(crate) moving: bool,
    /// Where it was: these devices send requests on.
    pub(crate) before: Vec<Location>,
}

impl Queue {
    /// One that has just been made.
    pub(crate) fn new(at: Location, domain: u32, entries: u32, credits: [bool; 2]) -> Queue {
        Queue { at, domain, entries, credits, pinned: false, moving: false, before: Vec::new() }
    }
}

/// What a process may do with a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    /// By [`Direction`].
    pub(crate) may: [bool; 2],
    /// It has made the queue, and may release and move it.
    pub(crate) owns: bool,
}

/// An entry of a process's table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: QueueId,
    /// Which of the operating system's queues.
    number: usize,
    rights: Rights,
}

#[derive(Default)]
struct Table {
    /// Its first entry in guest memory; `None`: the process has no queues yet.
    address: Option<usize>,
    entries: Vec<Option<Entry>>,
    /// Counts allocations.
    given: u32,
}

/// What a QTLB keeps of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cached {
    id: QueueId,
    pub(crate) at: Location,
    /// The domain that a request for it has.
    pub(crate) domain: u32,
    may: [bool; 2],
}

impl Cached {
    pub(crate) fn may(&self, direction: Direction) -> bool {
        self.may[direction as usize]
    }
}

/// A context's translations of its process, the one that was used last at the end.
#[derive(Clone, Default)]
struct Qtlb {
    process: u32,
    entries: VecDeque<Cached>,
}

/// What all QIMUs counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    hits: u64,
    misses: u64,
    flushes: u64,
    /// Requests for ids that the process has not, or may not use like that.
    pub(crate) refused: u64,
    pub(crate) moved: u64,
}

/// Bits of an id that index the table; the highest is a group's at devices, and never set here.
const INDEX_BITS: u32 = 12;
const MOST_GIVEN: u32 = 1 << (31 - INDEX_BITS);
/// Bytes of an entry in guest memory.
pub(crate) const ENTRY_BYTES: usize = 16;

/// Tables, QTLBs, and where devices are.
pub(crate) struct Qimu {
    pub(crate) ids: u32,
    size: usize,
    /// By process.
    tables: Vec<Table>,
    queues: Vec<Option<Queue>>,
    /// By hardware context.
    qtlbs: Vec<Qtlb>,
    /// By core: all devices, the nearest first; empty where queues are made at the one that is named.
    nearest: Vec<Vec<u32>>,
    pub(crate) counts: Counts,
}

fn index(id: QueueId) -> usize {
    (id.0 & ((1 << INDEX_BITS) - 1)) as usize
}

impl Qimu {
    /// That of a chip of which so many CPUs are in use, if it has one.
    pub(super) fn of(chip: &Chip, cpus: u32) -> Option<Qimu> {
        let translation = chip.devices.as_ref()?.translation;
        let nearest = translation.home == QueueHome::Nearest;
        Some(Qimu {
            ids: translation.ids?,
            size: translation.qtlb? as usize,
            tables: Vec::new(),
            queues: Vec::new(),
            qtlbs: vec![Qtlb::default(); cpus as usize],
            nearest: if nearest { by_hops(chip) } else { Vec::new() },
            counts: Counts::default(),
        })
    }

    /// The devices at which a core's queue may be made, the best first.
    pub(crate) fn homes(&self, core: u32, named: u32) -> Vec<u32> {
        self.nearest.get(core as usize).cloned().unwrap_or_else(|| vec![named])
    }

    fn table(&mut self, process: u32) -> &mut Table {
        if self.tables.len() <= process as usize {
            self.tables.resize_with(process as usize + 1, Table::default);
        }
        &mut self.tables[process as usize]
    }

    fn entry(&self, process: u32, id: QueueId) -> Option<&Entry> {
        let entry = self.tables.get(process as usize)?.entries.get(index(id))?.as_ref()?;
        (entry.id == id).then_some(entry)
    }

    /// A CPU goes on with a thread of this process: translations of another one are flushed.
    pub(crate) fn switches(&mut self, cpu: u32, process: u32) {
        let Some(qtlb) = self.qtlbs.get_mut(cpu as usize).filter(|qtlb| qtlb.process != process) else { return };
        qtlb.process = process;
        self.counts.flushes += u64::from(!qtlb.entries.is_empty());
        qtlb.entries.clear();
    }

    /// What a context keeps of an id.
    pub(crate) fn look_up(&mut self, cpu: u32, id: QueueId) -> Option<Cached> {
        let entries = &mut self.qtlbs[cpu as usize].entries;
        let at = entries.iter().position(|cached| cached.id == id)?;
        let cached = entries.remove(at)?;
        entries.push_back(cached);
        self.counts.hits += 1;
        Some(cached)
    }

    /// Where a process's entry for an id lies in guest memory; `None`: the id is out of its range.
    pub(crate) fn address(&self, process: u32, id: QueueId) -> Option<usize> {
        let table = self.tables.get(process as usize)?;
        let in_range = index(id) < table.entries.len();
        table.address.filter(|_| in_range).map(|address| address + index(id) * ENTRY_BYTES)
    }

    /// A walk has loaded the entry: the context keeps it, in the place of the one that was not used for longest.
    pub(crate) fn fill(&mut self, cpu: u32, process: u32, id: QueueId) -> Option<Cached> {
        self.counts.misses += 1;
        let Entry { number, rights, .. } = *self.entry(process, id)?;
        let queue = self.queues[number].as_ref()?;
        let cached = Cached { id, at: queue.at, domain: queue.domain, may: rights.may };
        self.switches(cpu, process);
        let entries = &mut self.qtlbs[cpu as usize].entries;
        entries.retain(|other| other.id != id);
        if entries.len() == self.size {
            entries.pop_front();
        }
        entries.push_back(cached);
        Some(cached)
    }

    /// A request has come back to a context with its queue's new place.
    pub(super) fn learn(&mut self, cpu: u32, process: u32, id: QueueId, at: Location) {
        let Some(qtlb) = self.qtlbs.get_mut(cpu as usize).filter(|qtlb| qtlb.process == process) else { return };
        qtlb.entries.iter_mut().filter(|cached| cached.id == id).for_each(|cached| cached.at = at);
    }

    /// Whether a process has a table.
    pub(crate) fn has_table(&mut self, process: u32) -> bool {
        self.table(process).address.is_some()
    }

    /// Gives a process a table.
    pub(crate) fn give_table(&mut self, process: u32, address: usize) {
        let ids = self.ids as usize;
        let table = self.table(process);
        (table.address, table.entries) = (Some(address), vec![None; ids]);
    }

    /// Gives a process neighbouring ids for these queues; `None`: it has no room for so many.
    pub(crate) fn add(&mut self, process: u32, queues: Vec<Queue>) -> Option<QueueId> {
        let rights = Rights { may: [true; 2], owns: true };
        let table = self.table(process);
        let free = table.entries.windows(queues.len()).position(|some| some.iter().all(Option::is_none))?;
        if table.given == MOST_GIVEN || queues.len() > table.entries.len() {
            return None;
        }
        let first = QueueId(table.given << INDEX_BITS | free as u32);
        table.given += 1;
        for (place, queue) in queues.into_iter().enumerate() {
            let number = self.queues.iter().position(Option::is_none).unwrap_or(self.queues.len());
            if number == self.queues.len() {
                self.queues.push(None);
            }
            self.queues[number] = Some(queue);
            let id = first.plus(place as u32);
            self.table(process).entries[free + place] = Some(Entry { id, number, rights });
        }
        Some(first)
    }

    /// Gives another process an id for a process's queue.
    pub(crate) fn grant(&mut self, number: usize, to: u32, may: [bool; 2]) -> Option<QueueId> {
        let table = self.table(to);
        let free = table.entries.iter().position(Option::is_none).filter(|_| table.given < MOST_GIVEN)?;
        let id = QueueId(table.given << INDEX_BITS | free as u32);
        table.given += 1;
        table.entries[free] = Some(Entry { id, number, rights: Rights { may, owns: false } });
        Some(id)
    }

    /// The number of a process's queue, and what the process may do with it.
    pub(crate) fn find(&self, process: u32, id: QueueId) -> Option<(usize, Rights)> {
        self.entry(process, id).map(|entry| (entry.number, entry.rights))
    }

    /// The operating system's queue of a number that is in use.
    pub(crate) fn queue(&mut self, number: usize) -> Option<&mut Queue> {
        self.queues[number].as_mut()
    }

    /// Takes a queue out of all tables; contexts, but for the one that asks, that kept a translation of it, and must be interrupted.
    pub(crate) fn remove(&mut self, number: usize, cpu: u32) -> (Option<Queue>, Vec<u32>) {
        let shot_down = self.forget(number, cpu, |_, _| true);
        (self.queues[number].take(), shot_down)
    }

    /// Takes the ids of a queue that it did not make from a process; contexts as [`Qimu::remove`] has them. `None`: it has none.
    pub(crate) fn revoke(&mut self, number: usize, from: u32, cpu: u32) -> Option<Vec<u32>> {
        let granted = |entry: &Entry| entry.number == number && !entry.rights.owns;
        let table = self.tables.get(from as usize)?;
        table
            .entries
            .iter()
            .flatten()
            .any(granted)
            .then(|| self.forget(number, cpu, |process, entry| process == from && !entry.rights.owns))
    }

    /// Takes entries of a queue out of the tables.
    fn forget(&mut self, number: usize, cpu: u32, which: impl Fn(u32, &Entry) -> bool) -> Vec<u32> {
        let mut shot_down = Vec::new();
        for (process, table) in (0u32..).zip(&mut self.tables) {
            for place in &mut table.entries {
                let Some(entry) = place.filter(|entry| entry.number == number && which(process, entry)) else {
                    continue;
                };
                *place = None;
                for (context, qtlb) in (0u32..).zip(&mut self.qtlbs).filter(|(_, qtlb)| qtlb.process == process) {
                    let before = qtlb.entries.len();
                    qtlb.entries.retain(|cached| cached.id != entry.id);
                    if qtlb.entries.len() < before && context != cpu {
                        shot_down.push(context);
                    }
                }
            }
        }
        shot_down
    }

    /// What was counted, with names.
    pub(super) fn counts(&self) -> [(&'static str, u64); 5] {
        let Counts { hits, misses, flushes, refused, moved } = self.counts;
        [
            ("qtlb_hits", hits),
            ("qtlb_misses", misses),
            ("qtlb_flushes", flushes),
            ("qimu_refused", refused),
            ("queues_moved", moved),
        ]
    }
}

/// By core: all devices, those with the fewest hops first, and of equals the lower number.
pub(crate) fn by_hops(chip: &Chip) -> Vec<Vec<u32>> {
    let devices = chip.devices.as_ref().map_or(0, |devices| devices.count);
    let plan = chip.plan();
    let order = |core: u32| {
        let mut all: Vec<u32> = (0..devices).collect();
        if let (Some(plan), Some(coherent)) = (&plan, &chip.coherent)
            && plan.devices.len() == devices as usize
        {
            let network = &coherent.network;
            let node = plan.cores[core as usize];
            all.sort_by_key(|&device| {
                hops(
                    network.topology,
                    [network.width, network.height],
                    plan.nodes,
                    [node, plan.devices[device as usize]],
                )
            });
        }
        all
    };
    (0..chip.core.count).map(order).collect()
}

/// Hops between two nodes; 0 where all ways are as long, or have no grid.
fn hops(topology: Topology, [width, height]: [u32; 2], nodes: u32, [a, b]: [u32; 2]) -> u32 {
    let around = |a: u32, b: u32, size: u32| a.abs_diff(b).min(size - a.abs_diff(b));
    match topology {
        Topology::Mesh => (a % width).abs_diff(b % width) + (a / width).abs_diff(b / width),
        Topology::Torus => around(a % width, b % width, width) + around(a / width, b / width, height),
        Topology::Ring => around(a, b, nodes),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_those_of_the_grid() {
        let ways = [(Topology::Mesh, 14), (Topology::Torus, 2), (Topology::Ring, 1), (Topology::Bus, 0)];
        for (topology, corner) in ways {
            assert_eq!(hops(topology, [8, 8], 64, [0, 63]), corner, "{topology:?}");
            assert_eq!(hops(topology, [8, 8], 64, [9, 9]), 0, "{topology:?}");
        }
    }
}
