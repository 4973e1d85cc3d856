//! Which home and which controller a line belongs to, and the node of each unit in the network.

use super::message::Unit;
use baton_chipfile::config::Chip;
use baton_chipfile::config::coherent::{Coherent, HomePlacement};
use baton_chipfile::config::plan::Plan;

/// The class whose messages a home may refuse for a while.
pub(super) const REQUESTS: u8 = 0;

/// The base-2 logarithm of the bytes in a page of guest memory; pages are placed by first touch.
const PAGE_SHIFT: u32 = 12;
/// A page that no core has touched.
const UNTOUCHED: u16 = u16::MAX;

/// Where units are, and how lines are spread over homes and controllers.
#[derive(Clone)]
pub(super) struct Map {
    cores: Vec<u32>,
    homes: Vec<u32>,
    controllers: Vec<u32>,
    devices: Vec<u32>,
    page_lines_shift: u32,
    cores_a_node: u32,
    homes_a_node: u32,
    controllers_a_node: u32,
    /// Number of consecutive lines that belong to one controller before the next controller's lines
    /// begin.
    stretch: u32,
}

/// By page, the NUMA node of the core that touched it first; empty where lines go round all homes.
#[derive(Clone, Debug)]
pub(super) struct Pages(Vec<u16>);

impl Map {
    pub(super) fn new(chip: &Chip, coherent: &Coherent, floor: Plan) -> Map {
        let (count, line_bytes) = (chip.core.count, chip.cache.line_bytes);
        let nodes = if places_by_touch(coherent) { chip.numa_nodes() } else { 1 };
        Map {
            cores: floor.cores,
            homes: floor.homes,
            controllers: floor.controllers,
            devices: floor.devices,
            page_lines_shift: PAGE_SHIFT.saturating_sub(line_bytes.trailing_zeros()),
            cores_a_node: count / nodes,
            homes_a_node: coherent.home.banks / nodes,
            controllers_a_node: coherent.dram.controllers / nodes,
            // The number is at least one line and at most 2^31, so that it fits the numbers of
            // lines; more would change nothing.
            stretch: (coherent.dram.interleave_bytes / u64::from(line_bytes)).clamp(1, 1 << 31) as u32,
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

    /// The home of a line.
    #[inline]
    pub(super) fn home(&self, line: u32, pages: &Pages) -> u32 {
        let n = self.homes_a_node;
        pages.numa_node(line, self) * n + line % n
    }

    /// Returns the line's number among the lines of its home.
    #[inline]
    pub(super) fn number_at_home(&self, line: u32) -> u32 {
        line / self.homes_a_node
    }

    /// The controller of a line.
    #[inline]
    pub(super) fn controller(&self, line: u32, pages: &Pages) -> u32 {
        let n = self.controllers_a_node;
        pages.numa_node(line, self) * n + line / self.stretch % n
    }

    /// Returns the line's number among the lines of its controller.
    #[inline]
    pub(super) fn number_at_controller(&self, line: u32) -> u32 {
        let turn = line / self.stretch;
        turn / self.controllers_a_node * self.stretch + line % self.stretch
    }
}

impl Pages {
    /// Guest memory of `lines` lines, with no page touched yet.
    pub(super) fn new(coherent: &Coherent, lines: usize, map: &Map) -> Pages {
        let pages = if places_by_touch(coherent) { (lines >> map.page_lines_shift) + 1 } else { 0 };
        Pages(vec![UNTOUCHED; pages])
    }

    /// Notes that `core` asks for a line: the line's page belongs to the core's NUMA node from now
    /// on, if no core has asked before.
    #[inline]
    pub(super) fn touch(&mut self, line: u32, core: u32, map: &Map) {
        if !self.0.is_empty() {
            let owner = &mut self.0[(line >> map.page_lines_shift) as usize];
            if *owner == UNTOUCHED {
                *owner = (core / map.cores_a_node) as u16;
            }
        }
    }

    #[inline]
    fn numa_node(&self, line: u32, map: &Map) -> u32 {
        match self.0.get((line >> map.page_lines_shift) as usize) {
            Some(&node) if node != UNTOUCHED => u32::from(node),
            _ => 0,
        }
    }
}

fn places_by_touch(coherent: &Coherent) -> bool {
    coherent.home.placement == HomePlacement::FirstTouch
}
