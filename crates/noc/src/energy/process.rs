//! The default prices, derived number by number from a published 45 nm technology model; none is
//! measured.
//!
//! The device and wire constants are those of DSENT's `Bulk45LVT` (Sun et al., "DSENT — A tool
//! connecting emerging photonics with electronics for opto-electronic networks-on-chip modeling",
//! NOCS 2012; file `ext/dsent/tech/tech_models/Bulk45LVT.model` of gem5, commit c1aecc05). The
//! capacitance of a wire is the closed form in its `TechModel::calculateWireCapacitance`. The
//! energy of each router event is derived from these here, and each function says how. Conventions:
//!
//! - Data are random: from one flit to the next a wire changes with probability 1/2, and a change
//!   costs ½CV², so that a bit costs ¼CV² per event. A clock or select line rises and falls in each
//!   event and costs CV².
//! - Gates have the smallest size: an inverter has 0.16 µm (N) and 0.22 µm (P), by the ratio of the
//!   effective resistances (1.5 to 1.1), so that both transistors are equally strong.

/// Constants of a technology; lengths in µm, capacitances in fF, voltage in V.
pub(super) struct Process {
    vdd: f64,
    /// Pitch of contacted gates, in µm.
    gate_pitch: f64,
    /// Widths of the smallest N and P transistor.
    width: (f64, f64),
    /// The gate capacitance per µm of transistor width; `drain` is the drain capacitance per µm.
    gate: f64,
    drain: f64,
    /// Leakage of an N and a P transistor of the smallest width that are off, in nA at 300 K. `hot`
    /// is the factor at 340 K.
    off: (f64, f64),
    hot: f64,
    /// Height of a standard cell.
    cell_height: f64,
    /// Geometry of the wires inside cells; `between` is that of wires between cells. `k` is the
    /// dielectric constant and `height` the distance to the next layer.
    inside: Wire,
    between: Wire,
}

struct Wire {
    width: f64,
    spacing: f64,
    thickness: f64,
    height: f64,
    k: f64,
}

/// Constants of DSENT's `Bulk45LVT` at 1.0 V and 340 K.
pub(super) const BULK45: Process = Process {
    vdd: 1.0,
    gate_pitch: 0.200,
    width: (0.160, 0.160 * 1.5 / 1.1),
    gate: 1.0,
    drain: 0.6,
    // DSENT's `MinOffCurrent`. A subthreshold swing of 100 K per decade makes the factor
    // 10^(40/100).
    off: (100.0, 21.8),
    hot: 2.512,
    // 11 tracks of the first metal's pitch of 160 nm, times the overhead factor of 1.4.
    cell_height: 11.0 * 0.160 * 1.4,
    inside: Wire { width: 0.110, spacing: 0.110, thickness: 0.200, height: 0.170, k: 3.0 },
    between: Wire { width: 0.160, spacing: 0.160, thickness: 0.280, height: 0.250, k: 2.8 },
};

impl Wire {
    /// Capacitance in fF per µm of a wire with neighbours on both sides and planes above and below
    /// (DSENT's closed form).
    fn capacitance(&self) -> f64 {
        let Wire { width: w, spacing: s, thickness: t, height: h, k } = *self;
        let ground = w / h + 2.04 * (s / (s + 0.54 * h)).powf(1.77) * (t / (t + 4.53 * h)).powf(0.07);
        let near = 1.14 * (t / s) * (-4.0 * s / (s + 8.01 * h)).exp();
        let far =
            2.37 * (w / (w + 0.31 * s)).powf(0.28) * (h / (h + 8.96 * s)).powf(0.76) * (-2.0 * s / (s + 6.0 * h)).exp();
        2.0 * k * 8.85e-3 * (ground + near + far)
    }

    fn pitch(&self) -> f64 {
        self.width + self.spacing
    }
}

/// Shape of the router for which prices are derived: ports, virtual channels per port, flits per
/// virtual channel, bits per flit.
pub(super) struct Shape {
    pub(super) ports: f64,
    pub(super) vcs: f64,
    pub(super) buffer: f64,
    pub(super) bits: f64,
}

/// Widths in gate pitches: of a flip-flop of 24 transistors, diffusion breaks included; then of a
/// tri-state inverter and of a two-input gate.
const FLIP_FLOP: f64 = 14.0;
const TRI_STATE: f64 = 3.0;
const GATE: f64 = 3.0;
/// The part of the area that cells fill once they are placed and wired: the usual value for a dense
/// block.
const FILLED: f64 = 0.7;
/// Bits of state of a virtual channel beside its flits: pointers, credits, output port and output
/// channel.
const VC_STATE: f64 = 20.0;

impl Process {
    /// The input capacitance of an inverter, in fF.
    fn input(&self) -> f64 {
        (self.width.0 + self.width.1) * self.gate
    }

    /// The drain capacitance of an inverter, in fF.
    fn output(&self) -> f64 {
        (self.width.0 + self.width.1) * self.drain
    }

    /// Energy in pJ of a data event on `c` fF.
    fn data(&self, c: f64) -> f64 {
        0.25 * c * self.vdd * self.vdd * 1e-3
    }

    /// Energy in pJ of a clock or select event on `c` fF.
    fn pulse(&self, c: f64) -> f64 {
        c * self.vdd * self.vdd * 1e-3
    }

    fn cell(&self, pitches: f64) -> f64 {
        pitches * self.gate_pitch * self.cell_height
    }

    /// Capacitance in fF of a flip-flop's clock pin: four transmission gates, and two inverters
    /// that drive them.
    fn clock_pin(&self) -> f64 {
        4.0 * self.input() + 2.0 * (self.input() + self.output())
    }

    /// Capacitance in fF of the wire that joins one bit of all `places` flits of a port's buffer:
    /// one cell height per flit.
    fn column(&self, places: f64) -> f64 {
        places * self.cell_height * self.inside.capacitance()
    }

    /// Energy in pJ of writing a flit into an array of flip-flops. Each bit charges its column and
    /// the input pins on it, and two latches in the flip-flop, each with two inverters and the
    /// drains of a transmission gate. The clock pins of the written word are charged as well.
    pub(super) fn buffer_write(&self, s: &Shape) -> f64 {
        let places = s.vcs * s.buffer;
        let inside = 4.0 * (self.input() + self.output()) + 4.0 * self.output();
        s.bits * (self.data(self.column(places) + places * self.input() + inside) + self.pulse(self.clock_pin()))
    }

    /// Energy in pJ of reading a flit through tri-state inverters. Each bit charges its column with
    /// the inverters' drains; the select line of the word passes all bits and drives a gate pin in
    /// each.
    pub(super) fn buffer_read(&self, s: &Shape) -> f64 {
        let places = s.vcs * s.buffer;
        let column = self.column(places) + places * self.output();
        let select = (FLIP_FLOP + TRI_STATE) * self.gate_pitch * self.inside.capacitance() + 2.0 * self.input();
        s.bits * (self.data(column) + self.pulse(select))
    }

    /// Energy in pJ of a flit's crossing of a matrix of tri-state drivers of four times the
    /// smallest size. A bit charges an input wire past all outputs and an output wire past all
    /// inputs; each wire is as long as the other side is wide.
    pub(super) fn crossbar(&self, s: &Shape) -> f64 {
        let side = s.ports * s.bits * self.between.pitch();
        let drivers = 4.0 * s.ports * (self.input() + self.output());
        s.bits * self.data(2.0 * side * self.between.capacitance() + drivers)
    }

    /// Energy in pJ of virtual-channel allocation (one arbiter over the channels of all inputs) and
    /// switch allocation (one arbiter over a port's channels, one over the ports) of a flit. An
    /// arbiter of n requesters has n² gates of two inputs.
    pub(super) fn arbitration(&self, s: &Shape) -> f64 {
        let gates = (s.ports * s.vcs).powi(2) + s.vcs.powi(2) + s.ports.powi(2);
        self.data(gates * 2.0 * (self.input() + self.output()))
    }

    /// Energy in pJ of a flit's travel over one mm of link: wires and repeaters. Repeaters that
    /// minimize the delay add √(0.4/0.7) of the wire's capacitance: a length has
    /// `k = √(0.4RC / 0.7R₀C₀)` repeaters, and each is `h = √(R₀C / RC₀)` times the smallest.
    pub(super) fn link_mm(&self, s: &Shape) -> f64 {
        let wire = 1000.0 * self.between.capacitance();
        s.bits * self.data(wire * (1.0 + (0.4f64 / 0.7).sqrt()))
    }

    /// Bits of registers of a port that are clocked each cycle: two pipeline stages and the state
    /// of its virtual channels.
    fn registers(&self, s: &Shape) -> f64 {
        2.0 * s.bits + s.vcs * VC_STATE
    }

    /// Energy in pJ of a port's clock per cycle: the clock pins, and a clock tree with the same
    /// capacitance again.
    pub(super) fn clock_port(&self, s: &Shape) -> f64 {
        self.registers(s) * 2.0 * self.pulse(self.clock_pin())
    }

    /// Leakage of a register of one flit, in pJ per cycle at `hertz`. A flip-flop has ten stages
    /// with one transistor off in each; half of these are N, half P.
    pub(super) fn leakage_place(&self, s: &Shape, hertz: f64) -> f64 {
        let amperes = 10.0 * 0.5 * (self.off.0 + self.off.1) * 1e-9 * self.hot;
        s.bits * amperes * self.vdd / hertz * 1e12
    }

    /// Area in µm² of a buffered bit: one flip-flop and one tri-state inverter.
    pub(super) fn area_bit(&self) -> f64 {
        self.cell(FLIP_FLOP + TRI_STATE) / FILLED
    }

    /// Area in µm² of one gate of an arbiter.
    pub(super) fn area_gate(&self) -> f64 {
        self.cell(GATE) / FILLED
    }

    /// Pitch in µm of a wire between blocks.
    pub(super) fn pitch(&self) -> f64 {
        self.between.pitch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the derived numbers with those printed in the chapter on energy, so that the
    /// chapter cannot go out of date.
    #[test]
    fn derived_numbers_are_those_of_the_chapter() {
        let s = Shape { ports: 5.0, vcs: 6.0, buffer: 4.0, bits: 128.0 };
        let p = BULK45;
        let mut off = vec![];
        let mut near = |what: &str, got: f64, said: f64| {
            if (got / said - 1.0).abs() > 0.01 {
                off.push(format!("{what}: {got}"));
            }
        };
        near("wire between blocks, fF/mm", 1000.0 * p.between.capacitance(), 156.9);
        near("buffer write", p.buffer_write(&s), 1.070);
        near("buffer read", p.buffer_read(&s), 0.677);
        near("crossbar", p.crossbar(&s), 2.444);
        near("arbitration", p.arbitration(&s), 0.292);
        near("link of a mm", p.link_mm(&s), 8.82);
        near("clock of a port", p.clock_port(&s), 2.03);
        near("leakage of a place", p.leakage_place(&s, 1e9), 0.196);
        near("area of a bit", p.area_bit(), 11.97);
        assert!(off.is_empty(), "{off:?}");
    }
}
