//! The silicon area of routers and the wire area of links, computed from the same technology
//! section as their energy.

use super::Technology;
use crate::config::Config;
use crate::error::NocError;
use serde::Serialize;

/// The silicon area of routers and metal area of links, in µm².
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Area {
    /// Flit buffers of all routers.
    pub buffers: f64,
    /// Switches of all routers.
    pub crossbar: f64,
    /// Virtual-channel and switch allocators of all routers.
    pub allocators: f64,
    /// Pipeline registers of all routers.
    pub registers: f64,
    /// Sum of the silicon of all routers.
    pub routers: f64,
    /// Wires of all links, as area on their metal layer; no silicon.
    pub link_wires: f64,
    /// Silicon of each router.
    pub by_router: Vec<f64>,
    /// Wires of each link between routers.
    pub by_link: Vec<LinkArea>,
    /// Where the technology's numbers come from.
    pub source: String,
}

/// Metal area of the wires of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkArea {
    /// Router at which the link begins.
    pub from: u32,
    /// Router at which the link ends.
    pub to: u32,
    /// Metal area in µm².
    pub wires: f64,
}

impl Technology {
    /// Computes the area of a network with flits of `flit_bits` bits. Each input port has buffers
    /// and registers, a switch is a square of wires (inputs × outputs), and an allocator has one
    /// gate per pair of requesters. Fails if the topology is invalid.
    pub fn area(&self, config: &Config, flit_bits: u32) -> Result<Area, NocError> {
        let graph = config.topology.build()?;
        let bits = f64::from(flit_bits);
        let places = f64::from(config.vcs) * f64::from(config.buffer) + f64::from(config.shared_buffer);
        let vcs = f64::from(config.vcs);
        let mut a = Area { source: self.source.clone(), ..Area::default() };
        for (inputs, outputs) in graph.in_ports.iter().zip(&graph.out_ports) {
            let (i, o) = (f64::from(*inputs), f64::from(*outputs));
            let buffers = i * places * bits * self.area.buffer_bit;
            let crossbar = i * o * (bits * self.area.wire_pitch).powi(2);
            // Each virtual channel of an output has an arbiter over all channels of all inputs;
            // each input has one over its own channels; each output has one over the inputs.
            let gates = o * vcs * (i * vcs).powi(2) + i * vcs.powi(2) + o * i.powi(2);
            let allocators = gates * self.area.arbiter_gate;
            let registers = i * 2.0 * bits * self.area.buffer_bit;
            a.buffers += buffers;
            a.crossbar += crossbar;
            a.allocators += allocators;
            a.registers += registers;
            a.by_router.push(buffers + crossbar + allocators + registers);
        }
        for l in &graph.links {
            let wires = bits * self.area.wire_pitch * f64::from(l.length) * self.tile_mm * 1000.0;
            a.link_wires += wires;
            a.by_link.push(LinkArea { from: l.from, to: l.to, wires });
        }
        a.routers = a.by_router.iter().sum();
        Ok(a)
    }
}
