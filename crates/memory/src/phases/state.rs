//! Which phases run where, and a memory of rates.

use super::held::Held;
use super::residence::Residence;
use super::solve::{Common, Running, Solved, solve};
use crate::base::thread::ThreadId;
use baton_chipfile::config::phases::SharedBy;
use baton_chipfile::config::prices::NodePrice;
use baton_chipfile::config::{Chip, CoresByKind, Private};
use baton_machine::Behaviour;
use baton_units::CoreId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One instruction, in the unit that counts the rest of a phase.
pub const INSTRUCTION: u64 = 1 << 40;
/// The most combinations of running phases that are remembered.
const MOST_KNOWN: usize = 1 << 14;

/// The phases of a thread.
#[derive(Clone, Debug, Default)]
struct OfThread {
    /// The behaviour of the current phase.
    phase: Option<usize>,
    /// The core on which the phase runs now.
    core: Option<usize>,
    /// The rest of the phase, in units, when it last came to a core, without what it had to fetch.
    left: u128,
    /// The node of each behaviour's pages.
    pages: BTreeMap<usize, usize>,
    residence: Residence,
}

/// A saved phase: its behaviour and its rest.
pub struct Phase(usize, u128);

/// The properties of a running phase on which its rate depends: domain, behaviour, clock, node of
/// the pages, cluster, kind of core.
type Alike = (usize, usize, u64, usize, usize, u32);

/// The chip's parameters of the coarse mode.
struct Chips {
    common: Common,
    kinds: CoresByKind,
    reference: u64,
    /// The prices by cluster and node.
    prices: Vec<Vec<NodePrice>>,
    by: SharedBy,
    per_cluster: usize,
    clusters_per_node: usize,
}

/// The phases of a run.
pub struct PhaseMemory {
    chip: Chips,
    behaviours: Vec<Arc<Behaviour>>,
    threads: Vec<OfThread>,
    /// For each core, the thread whose phase runs there, and what its private caches hold.
    running: Vec<Option<ThreadId>>,
    held: Vec<Held>,
    /// Solutions by the running phases; identical phases are grouped with their number.
    known: BTreeMap<Vec<(Alike, u32)>, Arc<Vec<Solved>>>,
    /// The solution for the running phases, and the index into it for each core.
    solved: Arc<Vec<Solved>>,
    place: Vec<usize>,
}

impl Chips {
    fn of(chip: &Chip) -> Result<Option<Chips>, String> {
        let (Some(keys), Some(coherent)) = (chip.phases, &chip.coherent) else { return Ok(None) };
        let prices = NodePrice::by_cluster(chip).map_err(|error| error.to_string())?;
        let (nodes, per_cluster) = (chip.numa_nodes() as usize, chip.core.per_cluster as usize);
        let line = f64::from(chip.cache.line_bytes);
        let domains = match keys.shared {
            SharedBy::Cores => chip.core.count as usize / per_cluster,
            SharedBy::Homes => nodes,
        };
        let banks = f64::from(coherent.home.banks) / domains as f64;
        let shared = coherent.shared.map_or(0.0, |shared| shared.bank.size_bytes as f64 / line * banks);
        let controllers = f64::from(coherent.dram.controllers) / nodes as f64;
        let dram = &coherent.dram;
        let service = line / dram.bytes_per_cycle / controllers;
        let link = f64::from(coherent.network.data_flits) * chip.core.clock.0 as f64 / coherent.network.clock.0 as f64;
        let open = dram.row_bytes as f64 / line * f64::from(dram.banks) * controllers;
        let saved = (dram.row_miss.0 - dram.row_hit.0) as f64;
        Ok(Some(Chips {
            common: Common {
                line,
                shared,
                service,
                link,
                open,
                saved,
                division: keys.division,
                queueing: keys.queueing,
            },
            kinds: CoresByKind::new(chip),
            reference: chip.core.clock.0,
            prices,
            by: keys.shared,
            per_cluster,
            clusters_per_node: chip.core.clusters_per_socket as usize,
        }))
    }

    fn node_of(&self, core: usize) -> usize {
        core / self.per_cluster / self.clusters_per_node
    }

    /// The shared level that serves a core's phase whose pages are on this node.
    fn domain(&self, core: usize, pages: usize) -> usize {
        match self.by {
            SharedBy::Cores => core / self.per_cluster,
            SharedBy::Homes => pages,
        }
    }

    fn alike(&self, core: usize, behaviour: usize, clock: u64, pages: usize) -> Alike {
        let kind = self.kinds.kind(CoreId(core as u32));
        (self.domain(core, pages), behaviour, clock, pages, core / self.per_cluster, kind)
    }

    fn phase<'a>(&self, behaviours: &'a [Arc<Behaviour>], alike: &Alike, count: u32) -> Running<'a> {
        let &(domain, behaviour, clock, node, cluster, kind) = alike;
        let Private { l1, l2 } = self.kinds.each_caches()[kind as usize];
        let outer = l2.unwrap_or(l1);
        let cycle = self.reference as f64 / clock as f64;
        // Private caches are looked up at the core's clock; everything behind them has its own.
        let lookup = (l1.latency.0 + l2.map_or(0, |l2| l2.latency.0)) as f64 * cycle;
        let bank_at = match self.by {
            SharedBy::Cores => cluster / self.clusters_per_node,
            SharedBy::Homes => node,
        };
        let prices = &self.prices[cluster];
        Running {
            count,
            behaviour: &behaviours[behaviour],
            cycle,
            width: f64::from(self.kinds.each()[kind as usize].width.max(1)),
            private: outer.size_bytes as f64 / self.common.line,
            mshrs: outer.mshrs,
            domain,
            node,
            lookup,
            first_level: l1.latency.0 as f64 * cycle,
            bank: lookup + prices[bank_at].bank.0 as f64,
            memory: lookup + prices[node].memory.0 as f64,
        }
    }
}

impl PhaseMemory {
    /// The phases of a chip in the coarse mode; `None` for other chips. An error comes from its
    /// network.
    pub fn of(chip: &Chip) -> Result<Option<Box<PhaseMemory>>, String> {
        let cores = chip.core.count as usize;
        let memory = Chips::of(chip)?.map(|chip| PhaseMemory {
            chip,
            behaviours: Vec::new(),
            threads: Vec::new(),
            running: vec![None; cores],
            held: vec![Held::default(); cores],
            known: BTreeMap::new(),
            solved: Arc::default(),
            place: vec![0; cores],
        });
        Ok(memory.map(Box::new))
    }

    /// Notes that a thread begins a phase of `units` units on this core.
    pub fn begin(&mut self, thread: ThreadId, core: CoreId, behaviour: &Arc<Behaviour>, units: u128) {
        let same = |known: &Arc<Behaviour>| Arc::ptr_eq(known, behaviour) || known == behaviour;
        let number = self.behaviours.iter().position(same).unwrap_or_else(|| {
            self.behaviours.push(behaviour.clone());
            self.behaviours.len() - 1
        });
        let nodes = self.chip.prices.first().map_or(1, Vec::len);
        let pages = behaviour.node.map_or(self.chip.node_of(core.0 as usize), |node| node as usize % nodes);
        if self.threads.len() <= thread as usize {
            self.threads.resize(thread as usize + 1, OfThread::default());
        }
        let of = &mut self.threads[thread as usize];
        (of.phase, of.left) = (Some(number), units);
        of.pages.entry(number).or_insert(pages);
    }

    /// Notes that the thread's phase is over, or abandoned.
    pub fn end(&mut self, thread: ThreadId) {
        if let Some(of) = self.threads.get_mut(thread as usize) {
            of.phase = None;
        }
    }

    /// Saves the thread's phase, which runs nowhere now, so that another one may begin.
    pub fn save(&mut self, thread: ThreadId) -> Option<Phase> {
        let of = self.threads.get_mut(thread as usize)?;
        of.phase.take().map(|phase| Phase(phase, of.left))
    }

    /// Restores a saved phase of the thread.
    pub fn restore(&mut self, thread: ThreadId, Phase(phase, left): Phase) {
        let of = &mut self.threads[thread as usize];
        (of.phase, of.left) = (Some(phase), left);
    }

    /// Whether the thread is in a phase.
    pub fn is_in(&self, thread: ThreadId) -> bool {
        self.threads.get(thread as usize).is_some_and(|of| of.phase.is_some())
    }

    /// The core on which the thread's phase runs now.
    pub fn core_of(&self, thread: ThreadId) -> Option<CoreId> {
        self.threads.get(thread as usize)?.core.map(|core| CoreId(core as u32))
    }

    /// The thread whose phase runs on a core now.
    pub fn on(&self, core: CoreId) -> Option<ThreadId> {
        self.running[core.0 as usize]
    }

    /// Puts the thread's phase on `core`. Returns the work left, without refills still owed on the
    /// old core.
    pub fn come(&mut self, thread: ThreadId, core: CoreId, units: u128) -> u128 {
        let of = &mut self.threads[thread as usize];
        (of.left, of.core) = (of.left.min(units), Some(core.0 as usize));
        self.running[core.0 as usize] = Some(thread);
        of.left
    }

    /// Notes that the thread's phase stops running.
    pub fn leave(&mut self, thread: ThreadId) {
        if let Some(core) = self.threads.get_mut(thread as usize).and_then(|of| of.core.take()) {
            self.running[core] = None;
        }
    }

    /// A core's running phase, and what its rate depends on.
    fn alike(&self, core: usize, clocks: &[u64]) -> Option<Alike> {
        let of = &self.threads[self.running[core]? as usize];
        let behaviour = of.phase?;
        Some(self.chip.alike(core, behaviour, clocks[core], of.pages[&behaviour]))
    }

    /// The rates of all running phases, in units per cycle of the reference, at these clocks of the
    /// cores.
    pub fn rates(&mut self, clocks: &[u64]) -> Vec<(CoreId, u64)> {
        let cores = 0..self.running.len();
        let mut running: Vec<(Alike, usize)> =
            cores.filter_map(|core| Some((self.alike(core, clocks)?, core))).collect();
        running.sort_unstable();
        let alike = || running.chunk_by(|(a, _), (b, _)| a == b);
        let key: Vec<(Alike, u32)> = alike().map(|all| (all[0].0, all.len() as u32)).collect();
        self.solved = match self.known.get(&key) {
            Some(solved) => solved.clone(),
            None => {
                let phase = |(alike, count): &(Alike, u32)| self.chip.phase(&self.behaviours, alike, *count);
                let phases: Vec<Running<'_>> = key.iter().map(phase).collect();
                let solved = Arc::new(solve(&phases, &self.chip.common));
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                }
                self.known.insert(key, solved.clone());
                solved
            }
        };
        let mut rates = Vec::with_capacity(running.len());
        for (place, all) in alike().enumerate() {
            // The rate is rounded up, so that a phase of a whole number of cycles takes no more.
            let rate = (INSTRUCTION as f64 / self.solved[place].cycles).ceil() as u64;
            for &(_, core) in all {
                self.place[core] = place;
                rates.push((CoreId(core as u32), rate));
            }
        }
        rates
    }

    /// The cycles that the thread, which has moved to this core, needs to fetch its data again, at
    /// the rates of the last solution.
    pub fn fetch(&mut self, core: CoreId, clocks: &[u64]) -> u64 {
        let at = core.0 as usize;
        let (Some(thread), Some(alike)) = (self.running[at], self.alike(at, clocks)) else { return 0 };
        let phase = self.chip.phase(&self.behaviours, &alike, 1);
        let solved = &self.solved[self.place[at]];
        let of = &mut self.threads[thread as usize];
        of.residence.come(phase.domain, alike.1, phase.behaviour.sets.len());
        let instructions = of.left as f64 / INSTRUCTION as f64;
        of.residence.fetch((thread, &mut self.held[at]), (&phase, solved), &self.chip.common, instructions)
    }
}
