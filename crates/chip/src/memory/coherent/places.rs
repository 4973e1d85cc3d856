//! Which home and which controller a line belongs to, and the node of each unit in the network.

use super::message::Unit;
use crate::config::Chip;
use crate::config::coherent::{Coherent, HomePlacement};
use crate::config::plan::Plan;

/// The class whose messages a home may refuse for a while.
pub(super) const REQUESTS: u8 = 0;

/// Pages of guest memory, for their placement by first touch.
const PAGE_SHIFT: u32 = 12;
/// A page that nobody has touched.
const UNTOUCHED: u16 = u16::MAX;

/// The places of units and lines.
pub(super) struct Places {
    cores: Vec<u32>,
    homes: Vec<u32>,
    controllers: Vec<u32>,
    devices: Vec<u32>,
    /// By page, who touched it first; empty where lines go round all homes.
    pages: Vec<u16>,
    page_lines_shift: u32,
    cores_a_node: u32,
    homes_a_node: u32,
    controllers_a_node: u32,
    /// Lines that go to one controller before the next one's turn.
    stretch: u32,
}

impl Places {
    pub(super) fn new(chip: &Chip, coherent: &Coherent, floor: Plan, lines: usize) -> Places {
        let (count, line_bytes) = (chip.core.count, chip.cache.line_bytes);
        let first_touch = coherent.home.placement == HomePlacement::FirstTouch;
        let nodes = if first_touch { chip.numa_nodes() } else { 1 };
        let page_lines_shift = PAGE_SHIFT.saturating_sub(line_bytes.trailing_zeros());
        Places {
            cores: floor.cores,
            homes: floor.homes,
            controllers: floor.controllers,
            devices: floor.devices,
            pages: vec![UNTOUCHED; if first_touch { (lines >> page_lines_shift) + 1 } else { 0 }],
            page_lines_shift,
            cores_a_node: count / nodes,
            homes_a_node: coherent.home.banks / nodes,
            controllers_a_node: coherent.dram.controllers / nodes,
            stretch: (coherent.dram.interleave_bytes / u64::from(line_bytes)).max(1) as u32,
        }
    }

    /// The network's node of a unit.
    #[inline]
    pub(super) fn node(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Core(core) => self.cores[core as usize],
            Unit::Home(home) => self.homes[home as usize],
            Unit::Controller(controller) => self.controllers[controller as usize],
            Unit::Device(device) => self.devices[device as usize],
        }
    }

    /// `core` asks for a line: its page belongs from now on to the core's NUMA node, if nobody asked before.
    #[inline]
    pub(super) fn touch(&mut self, line: u32, core: u32) {
        if !self.pages.is_empty() {
            let owner = &mut self.pages[(line >> self.page_lines_shift) as usize];
            if *owner == UNTOUCHED {
                *owner = (core / self.cores_a_node) as u16;
            }
        }
    }

    #[inline]
    fn numa_node(&self, line: u32) -> u32 {
        match self.pages.get((line >> self.page_lines_shift) as usize) {
            Some(&node) if node != UNTOUCHED => u32::from(node),
            _ => 0,
        }
    }

    /// The home of a line, and the line's number among those of that home.
    #[inline]
    pub(super) fn home(&self, line: u32) -> (u32, u32) {
        let n = self.homes_a_node;
        (self.numa_node(line) * n + line % n, line / n)
    }

    /// The controller of a line, and the line's number among those of that controller.
    #[inline]
    pub(super) fn controller(&self, line: u32) -> (u32, u32) {
        let n = self.controllers_a_node;
        let turn = line / self.stretch;
        (self.numa_node(line) * n + turn % n, turn / n * self.stretch + line % self.stretch)
    }
}
