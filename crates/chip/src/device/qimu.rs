//! Queue ids of programs (CAF, section 5.2): the operating system's tables of where each process's
//! queues are and what the process may do with them, and the QTLB of each hardware context, which
//! caches translations.
//!
//! The low bits of an id are an index into its process's table, and the high bits count
//! allocations, so that no id is given twice. A walk compares the whole id with that of the entry.
//! The cost of a walk is charged by `machine::qimu`, which loads the entry from guest memory.

use baton_chipfile::config::Chip;
use baton_chipfile::config::coherent::Topology;
use baton_chipfile::config::device::QueueHome;
use baton_machine::flows::FlowRequest;
use baton_machine::queues::{Direction, QueueId};
use std::collections::VecDeque;

/// A queue of a device, by the device's own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) device: u32,
    pub(crate) queue: QueueId,
}

impl Location {
    /// The words of a request, with this queue's id at the device in place of the program's.
    pub(crate) fn aim(self, words: [u64; 3]) -> [u64; 3] {
        [words[0] & !u64::from(u32::MAX) | u64::from(self.queue.0), words[1], words[2]]
    }
}

/// The operating system's record of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) at: Location,
    /// The process that created the queue, which is the queue's protection domain at the device.
    pub(crate) domain: u32,
    pub(crate) entries: u32,
    /// Whether enqueues need credits, and whether dequeues do.
    pub(crate) credits: [bool; 2],
    /// The request that made the queue, if it has flows.
    pub(crate) flows: Option<FlowRequest>,
    /// Whether a group or a reducer of its device uses the queue, so that the queue cannot move.
    pub(crate) pinned: bool,
    /// Whether the queue is being moved.
    pub(crate) moving: bool,
    /// The places that the queue had before it moved. The devices there forward requests for it.
    pub(crate) before: Vec<Location>,
}

impl Queue {
    /// The record of a new queue.
    pub(crate) fn new(at: Location, domain: u32, entries: u32, credits: [bool; 2]) -> Queue {
        Queue { at, domain, entries, credits, flows: None, pinned: false, moving: false, before: Vec::new() }
    }
}

/// What a process may do with a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    /// For each [`Direction`], whether the process may enqueue or dequeue.
    pub(crate) may: [bool; 2],
    /// Whether the process created the queue, and may release and move it.
    pub(crate) owns: bool,
}

/// An entry of a process's table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: QueueId,
    /// The index of the queue in the operating system's records ([`Qimu::queue`]).
    number: usize,
    rights: Rights,
}

#[derive(Default)]
struct Table {
    /// The address of the table's first entry in guest memory; `None` before the process has a
    /// table.
    address: Option<usize>,
    entries: Vec<Option<Entry>>,
    /// The number of allocations so far.
    given: u32,
}

/// The part of a table's entry that a QTLB caches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cached {
    id: QueueId,
    pub(crate) at: Location,
    /// The protection domain that a request for the queue carries.
    pub(crate) domain: u32,
    may: [bool; 2],
}

impl Cached {
    pub(crate) fn may(&self, direction: Direction) -> bool {
        self.may[direction as usize]
    }
}

/// The cached translations of a context, all of one process; the most recently used is last.
#[derive(Clone, Default)]
struct Qtlb {
    process: u32,
    entries: VecDeque<Cached>,
}

/// The counters of all QIMUs together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    hits: u64,
    misses: u64,
    flushes: u64,
    /// Requests with an id that the process does not have, or must not use in this direction.
    pub(crate) refused: u64,
    pub(crate) moved: u64,
}

/// The number of bits of an id that index the table. An id's highest bit is never set here, because
/// devices use it for groups.
const INDEX_BITS: u32 = 12;
const MOST_GIVEN: u32 = 1 << (31 - INDEX_BITS);
/// The number of bytes of an entry in guest memory.
pub(crate) const ENTRY_BYTES: usize = 16;

/// The tables of all processes, the QTLBs of all hardware contexts, and which devices are near.
pub(crate) struct Qimu {
    pub(crate) ids: u32,
    size: usize,
    /// The table of each process.
    tables: Vec<Table>,
    queues: Vec<Option<Queue>>,
    /// The QTLB of each hardware context.
    qtlbs: Vec<Qtlb>,
    /// For each core, all devices, the nearest first. Empty if a queue is created at the device
    /// that the program names.
    nearest: Vec<Vec<u32>>,
    pub(crate) counts: Counts,
}

fn index(id: QueueId) -> usize {
    (id.0 & ((1 << INDEX_BITS) - 1)) as usize
}

impl Qimu {
    /// The QIMU of a chip with `cpus` CPUs in use; `None` if the chip has none.
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

    /// The devices at which a core's queue may be created, the one to try first at the front.
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

    /// A CPU switches to a thread of this process: flushes its translations if they are another
    /// process's.
    pub(crate) fn switches(&mut self, cpu: u32, process: u32) {
        let Some(qtlb) = self.qtlbs.get_mut(cpu as usize).filter(|qtlb| qtlb.process != process) else { return };
        qtlb.process = process;
        self.counts.flushes += u64::from(!qtlb.entries.is_empty());
        qtlb.entries.clear();
    }

    /// The context's cached translation of an id, which becomes the most recently used.
    pub(crate) fn look_up(&mut self, cpu: u32, id: QueueId) -> Option<Cached> {
        let entries = &mut self.qtlbs[cpu as usize].entries;
        let at = entries.iter().position(|cached| cached.id == id)?;
        let cached = entries.remove(at)?;
        entries.push_back(cached);
        self.counts.hits += 1;
        Some(cached)
    }

    /// The address of a process's entry for an id in guest memory; `None` if the process has no
    /// table, or the id's index is not in it.
    pub(crate) fn address(&self, process: u32, id: QueueId) -> Option<usize> {
        let table = self.tables.get(process as usize)?;
        let in_range = index(id) < table.entries.len();
        table.address.filter(|_| in_range).map(|address| address + index(id) * ENTRY_BYTES)
    }

    /// A walk has loaded the entry of an id: caches its translation in the context, in place of the
    /// least recently used one if the QTLB is full. Returns it; `None` if the process has no such
    /// id.
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

    /// A request has come back to a context with the new place of its queue: updates the context's
    /// cached translation.
    pub(super) fn learn(&mut self, cpu: u32, process: u32, id: QueueId, at: Location) {
        let Some(qtlb) = self.qtlbs.get_mut(cpu as usize).filter(|qtlb| qtlb.process == process) else { return };
        qtlb.entries.iter_mut().filter(|cached| cached.id == id).for_each(|cached| cached.at = at);
    }

    /// Whether a process has a table in guest memory.
    pub(crate) fn has_table(&mut self, process: u32) -> bool {
        self.table(process).address.is_some()
    }

    /// Gives a process a table at this address of guest memory.
    pub(crate) fn give_table(&mut self, process: u32, address: usize) {
        let ids = self.ids as usize;
        let table = self.table(process);
        (table.address, table.entries) = (Some(address), vec![None; ids]);
    }

    /// Gives a process consecutive ids for these new queues. Returns the first id; `None` if the
    /// process's table has no room for them.
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

    /// Gives the process `to` an id for an existing queue of another process, with these rights.
    /// Returns the id; `None` if the table of `to` is full.
    pub(crate) fn grant(&mut self, number: usize, to: u32, may: [bool; 2]) -> Option<QueueId> {
        let table = self.table(to);
        let free = table.entries.iter().position(Option::is_none).filter(|_| table.given < MOST_GIVEN)?;
        let id = QueueId(table.given << INDEX_BITS | free as u32);
        table.given += 1;
        table.entries[free] = Some(Entry { id, number, rights: Rights { may, owns: false } });
        Some(id)
    }

    /// The index of a process's queue in the records, and what the process may do with the queue.
    pub(crate) fn find(&self, process: u32, id: QueueId) -> Option<(usize, Rights)> {
        self.entry(process, id).map(|entry| (entry.number, entry.rights))
    }

    /// The operating system's record of the queue with this index, if the queue still exists.
    pub(crate) fn queue(&mut self, number: usize) -> Option<&mut Queue> {
        self.queues[number].as_mut()
    }

    /// The queues with flows that a process made, each with its index in the records.
    pub(crate) fn flows_of(&self, process: u32) -> Vec<(usize, &Queue)> {
        let queues = self.queues.iter().enumerate().filter_map(|(number, queue)| Some((number, queue.as_ref()?)));
        queues.filter(|(_, queue)| queue.flows.is_some() && queue.domain == process).collect()
    }

    /// The owner's id of a queue.
    pub(crate) fn id_of(&self, number: usize) -> Option<(u32, QueueId)> {
        let process = self.queues[number].as_ref()?.domain;
        let mut entries = self.tables.get(process as usize)?.entries.iter().flatten();
        entries.find(|entry| entry.number == number && entry.rights.owns).map(|entry| (process, entry.id))
    }

    /// Whether a queue is being moved.
    pub(crate) fn is_moving(&self) -> bool {
        self.queues.iter().flatten().any(|queue| queue.moving)
    }

    /// Removes a queue from the records, all tables and all QTLBs. Returns its record, and the
    /// contexts other than `cpu` that had a translation of it cached and must be interrupted.
    pub(crate) fn remove(&mut self, number: usize, cpu: u32) -> (Option<Queue>, Vec<u32>) {
        let shot_down = self.forget(number, cpu, |_, _| true);
        (self.queues[number].take(), shot_down)
    }

    /// Removes a process's ids of a queue that the process did not create. Returns the contexts to
    /// interrupt, as [`Qimu::remove`] does; `None` if the process has no such id.
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

    /// Removes those entries of a queue from the tables for which `which` returns true, and their
    /// translations from the QTLBs. Returns the contexts other than `cpu` that had one cached.
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

    /// The counters, with their names.
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

/// For each core, all devices in the order of their hops from the core; of equally distant devices,
/// the lower number comes first.
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

/// The hops between two nodes of a mesh, torus or ring; 0 in every other topology.
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
