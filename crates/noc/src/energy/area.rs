//! Area of routers and links, from the same technology section as their energy.

use super::Technology;
use crate::config::Config;
use crate::error::NocError;
use serde::Serialize;

/// Silicon of routers and metal of links, in µm².
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Area {
    /// Flit buffers of all routers.
    pub buffers: f64,
    /// Switches.
    pub crossbar: f64,
    /// Allocators of virtual channels and switch.
    pub allocators: f64,
    /// Pipeline registers.
    pub registers: f64,
    /// All routers.
    pub routers: f64,
    /// Wires of all links, on their metal layer: not silicon.
    pub link_wires: f64,
    /// By router.
    pub by_router: Vec<f64>,
    /// Wires of each link between routers.
    pub by_link: Vec<LinkArea>,
    /// Where the numbers come from.
    pub source: String,
}

/// Wires of one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkArea {
    /// Upstream router.
    pub from: u32,
    /// Downstream router.
    pub to: u32,
    /// µm² of metal.
    pub wires: f64,
}

impl Technology {
    /// Area of a network with flits of `flit_bits`: of each input port its buffers and registers, of the switch a
    /// square of wires (inputs × outputs), of allocators a gate for each pair of requesters.
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
            // One arbiter a virtual channel of the outputs, over all inputs' channels; one an input over its channels;
            // one an output over the inputs.
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
