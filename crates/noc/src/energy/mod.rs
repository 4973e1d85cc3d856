//! Energy and area: the network counts events, and a technology section, whose numbers name their
//! source, prices them.

mod area;
mod process;

pub use area::{Area, LinkArea};

use crate::config::Config;
use crate::error::{NocError, bad};
use crate::experiment::RunResult;
use baton_units::{Hertz, Picojoules};
use process::{BULK45, Shape};
use serde::{Deserialize, Serialize};

/// Prices of a router's events, and sizes of its parts. The prices of data-path events hold for
/// flits of `flit_bits` bits and scale linearly to other widths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Technology {
    /// Where the numbers come from.
    pub source: String,
    /// Width of a flit for which the prices hold, in bits.
    pub flit_bits: u32,
    /// Energy of writing one flit into a buffer.
    pub buffer_write: Picojoules,
    /// Energy of reading one flit from a buffer.
    pub buffer_read: Picojoules,
    /// Energy of virtual-channel and switch allocation for one flit.
    pub arbitration: Picojoules,
    /// Energy of one flit's crossing of the switch.
    pub crossbar: Picojoules,
    /// Energy of one flit's crossing of a link of one tile.
    pub link: Picojoules,
    /// Energy of the clock of one input port for one cycle, whether flits move or not.
    pub clock_port: Picojoules,
    /// Leakage energy of the place of one flit for one cycle. The registers of a port count as two
    /// places.
    pub leakage_place: Picojoules,
    /// The clock frequency for which `leakage_place` holds.
    pub frequency: Hertz,
    /// Length in mm of a tile, and so of a link of length 1.
    pub tile_mm: f64,
    /// Sizes from which areas are computed.
    pub area: AreaPrices,
}

/// Sizes of a router's parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaPrices {
    /// Area of one bit of a buffer or register, in µm².
    pub buffer_bit: f64,
    /// Area of one gate of an arbiter, in µm². An arbiter of n requesters has n² gates.
    pub arbiter_gate: f64,
    /// Pitch of the wires of switches and links, in µm.
    pub wire_pitch: f64,
}

impl Default for Technology {
    /// Prices of a 45 nm router like the reference's (five ports, 6 × 4 flits per port, 128 bits).
    /// They are derived in `process.rs` from a published technology model, not measured. Tiles of 1
    /// mm and a clock of 1 GHz are assumptions.
    fn default() -> Technology {
        let shape = Shape { ports: 5.0, vcs: 6.0, buffer: 4.0, bits: 128.0 };
        let frequency = 1_000_000_000;
        // Rounds to six decimals, because more would claim a precision that the derivation does not
        // have.
        let round = |v: f64| (v * 1e6).round() / 1e6;
        let pj = |v: f64| Picojoules(round(v));
        Technology {
            source: "derived, not measured: 45 nm, 1.0 V, 340 K, device and wire constants of DSENT's Bulk45LVT model \
                     (NOCS 2012), 5 ports, 6 x 4 flits a port, 128 bits, 1 mm tiles, 1 GHz; formulas in docs/reference/noc.md"
                .into(),
            flit_bits: 128,
            buffer_write: pj(BULK45.buffer_write(&shape)),
            buffer_read: pj(BULK45.buffer_read(&shape)),
            arbitration: pj(BULK45.arbitration(&shape)),
            crossbar: pj(BULK45.crossbar(&shape)),
            link: pj(BULK45.link_mm(&shape)),
            clock_port: pj(BULK45.clock_port(&shape)),
            leakage_place: pj(BULK45.leakage_place(&shape, frequency as f64)),
            frequency: Hertz(frequency),
            tile_mm: 1.0,
            area: AreaPrices {
                buffer_bit: round(BULK45.area_bit()),
                arbiter_gate: round(BULK45.area_gate()),
                wire_pitch: round(BULK45.pitch()),
            },
        }
    }
}

/// Energy of a run, by the event that spent it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    /// Energy of all buffer writes.
    pub buffer_write: Picojoules,
    /// Energy of all buffer reads.
    pub buffer_read: Picojoules,
    /// Energy of all virtual-channel and switch allocations.
    pub arbitration: Picojoules,
    /// Energy of all crossings of switches.
    pub crossbar: Picojoules,
    /// Energy of links between routers, in proportion to their lengths.
    pub link: Picojoules,
    /// Energy of the clocks of all routers.
    pub clock: Picojoules,
    /// Leakage of all routers.
    pub leakage: Picojoules,
    /// Sum of all of the above.
    pub total: Picojoules,
    /// Energy of each router with its clock and leakage, without links.
    pub by_router: Vec<Picojoules>,
    /// Energy of each link between routers.
    pub by_link: Vec<LinkEnergy>,
    /// Where the prices come from.
    pub source: String,
}

/// Energy of one link over a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkEnergy {
    /// Router at which the link begins.
    pub from: u32,
    /// Router at which the link ends.
    pub to: u32,
    /// Energy that the flits cost on the link's wires.
    pub energy: Picojoules,
}

/// A chip file; only its section `[technology]` is read here.
#[derive(Deserialize)]
struct ChipFile {
    technology: Technology,
}

impl Technology {
    /// Reads prices from TOML text: either a table of their own, or the section `[technology]` of a
    /// chip file. An error names `file`, the line and the key; for a value out of range, only the
    /// key.
    pub fn from_toml(file: &str, text: &str) -> Result<Technology, NocError> {
        let section = text.lines().any(|l| l.trim_start().starts_with("[technology"));
        let read = if section { toml::from_str(text).map(|c: ChipFile| c.technology) } else { toml::from_str(text) };
        let technology: Technology = read.map_err(|e| NocError::toml(file, text, &e))?;
        technology.validate()?;
        Ok(technology)
    }

    fn validate(&self) -> Result<(), NocError> {
        if !(1..=65536).contains(&self.flit_bits) {
            return Err(bad("technology.flit_bits", self.flit_bits, "1 to 65536"));
        }
        for (key, value) in [
            ("buffer_write", self.buffer_write.0),
            ("buffer_read", self.buffer_read.0),
            ("arbitration", self.arbitration.0),
            ("crossbar", self.crossbar.0),
            ("link", self.link.0),
            ("clock_port", self.clock_port.0),
            ("leakage_place", self.leakage_place.0),
            ("tile_mm", self.tile_mm),
            ("area.buffer_bit", self.area.buffer_bit),
            ("area.arbiter_gate", self.area.arbiter_gate),
            ("area.wire_pitch", self.area.wire_pitch),
        ] {
            if !(0.0..=1e12).contains(&value) {
                return Err(bad(&format!("technology.{key}"), value, "0 to 1e12"));
            }
        }
        Ok(())
    }

    /// Prices a run of `config` with flits of `flit_bits` bits. Every flit that passes a router is
    /// written, read, arbitrated and switched there once. Fails if the topology is invalid.
    pub fn price(&self, config: &Config, run: &RunResult, flit_bits: u32) -> Result<Energy, NocError> {
        let graph = config.topology.build()?;
        let width = f64::from(flit_bits) / f64::from(self.flit_bits.max(1));
        let places = f64::from(config.vcs) * f64::from(config.buffer) + f64::from(config.shared_buffer) + 2.0;
        let mut e = Energy { source: self.source.clone(), ..Energy::default() };
        let cycles = run.cycles as f64;
        for inputs in &graph.in_ports {
            let ports = f64::from(*inputs) * cycles * width;
            let (clock, leakage) = (ports * self.clock_port.0, ports * places * self.leakage_place.0);
            e.clock += Picojoules(clock);
            e.leakage += Picojoules(leakage);
            e.by_router.push(Picojoules(clock + leakage));
        }
        for l in run.links.iter().filter(|l| l.kind != "injection") {
            let n = l.flits as f64;
            let parts = [
                (&mut e.buffer_write, n * self.buffer_write.0 * width),
                (&mut e.buffer_read, n * self.buffer_read.0 * width),
                (&mut e.arbitration, n * self.arbitration.0),
                (&mut e.crossbar, n * self.crossbar.0 * width),
            ];
            for (sum, part) in parts {
                *sum += Picojoules(part);
                e.by_router[l.from as usize] += Picojoules(part);
            }
            if l.kind == "link" {
                let energy = Picojoules(n * f64::from(l.length) * self.link.0 * width);
                e.link += energy;
                e.by_link.push(LinkEnergy { from: l.from, to: l.to, energy });
            }
        }
        for part in [e.buffer_write, e.buffer_read, e.arbitration, e.crossbar, e.link, e.clock, e.leakage] {
            e.total += part;
        }
        Ok(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn parts_kinds_and_places_are_the_same_energy() {
        let experiment = Experiment { cycles: 2000, ..Experiment::default() };
        let run = experiment.run().unwrap();
        let t = Technology::default();
        let e = t.price(&experiment.network, &run, 64).unwrap();
        let routers: f64 = e.by_router.iter().map(|p| p.0).sum();
        let links: f64 = e.by_link.iter().map(|l| l.energy.0).sum();
        assert!((e.total.0 / (routers + links) - 1.0).abs() < 1e-9, "{e:?}");
        assert_eq!((e.by_router.len(), e.by_link.len()), (64, 2 * 2 * 7 * 8));
        // Each flit-hop is one write at the price of half the width, and 8·8·5 − 4·8 = 288 ports
        // are clocked each cycle.
        assert!((e.buffer_write.0 / (run.flit_hops as f64 * t.buffer_write.0 / 2.0) - 1.0).abs() < 1e-9);
        assert!((e.clock.0 / (288.0 * run.cycles as f64 * t.clock_port.0 / 2.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn area_grows_with_what_is_built() {
        let (t, config) = (Technology::default(), Config::default());
        let a = t.area(&config, 128).unwrap();
        assert!((a.routers / (a.buffers + a.crossbar + a.allocators + a.registers) - 1.0).abs() < 1e-9);
        // An inner router has five ports of 24 flits of 128 bits.
        let inner = a.by_router[9];
        let buffers = 5.0 * 24.0 * 128.0 * t.area.buffer_bit;
        assert!(inner > buffers && inner < 2.0 * buffers, "{inner}");
        let deep = t.area(&Config { buffer: 8, ..config.clone() }, 128).unwrap();
        assert!((deep.buffers / a.buffers - 2.0).abs() < 1e-9 && deep.crossbar == a.crossbar);
        // There are 224 links of 1 mm, each with 128 wires of 0.32 µm pitch.
        assert!((a.link_wires / (224.0 * 128.0 * 0.32 * 1000.0) - 1.0).abs() < 1e-9);
    }

    /// Compares with a router that was built: Salihundam et al., JSSC 46(4), 2011 (45 nm, five
    /// ports, 16 bytes, 640,000 transistors, 1.32 mm², 550 mW at 2 GHz and 1.1 V). The derived
    /// figures must be of the same order but smaller, because they include no synchronisers,
    /// margins or test logic.
    #[test]
    fn a_router_that_was_built_is_of_the_same_order() {
        let t = Technology::default();
        let a = t.area(&Config::default(), 128).unwrap();
        let part = a.by_router[9] / 1.32e6;
        assert!((0.15..1.0).contains(&part), "{part} of the area");
        // All five ports are busy each cycle.
        let flit = t.buffer_write.0 + t.buffer_read.0 + t.arbitration.0 + t.crossbar.0 + t.link.0;
        let idle = 5.0 * (t.clock_port.0 + 26.0 * t.leakage_place.0 / 2.0);
        let milliwatts = (5.0 * flit + idle) * 2.0 * 1.1f64.powi(2);
        assert!((0.25..1.0).contains(&(milliwatts / 550.0)), "{milliwatts} mW");
    }

    #[test]
    fn a_technology_file_is_checked() {
        let text = toml::to_string(&Technology::default()).unwrap();
        assert_eq!(Technology::from_toml("t.toml", &text).unwrap(), Technology::default());
        let chip = format!("name = \"a chip\"\n[technology]\n{}", text.replace("[area]", "[technology.area]"));
        assert_eq!(Technology::from_toml("chip.toml", &chip).unwrap(), Technology::default());
        let says = |text: String, what: &str| {
            let error = Technology::from_toml("t.toml", &text).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        says(text.replace("tile_mm = 1.0", "tile_mm = -1.0"), "`technology.tile_mm` = -1");
        says(text.replace("crossbar =", "crosbar ="), "t.toml:");
    }
}
