//! The reference curves, read from `tests/data`.
#![allow(dead_code, unreachable_pub, missing_docs)] // Each test and example uses a part of this module.

use baton_noc::Config;
use baton_noc::experiment::Experiment;
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::{Flow, Pattern};

/// One curve of the reference, BookSim2.
pub struct Curve {
    pub name: &'static str,
    pub side: u32,
    pub pattern: Pattern,
    pub packet: u32,
    /// The range of loads in which the reference saturates.
    pub saturation: (f64, f64),
    pub text: &'static str,
}

macro_rules! curve {
    ($name:literal, $side:literal, $pattern:ident, $packet:literal, $low:literal, $high:literal) => {
        Curve {
            name: $name,
            side: $side,
            pattern: Pattern::$pattern,
            packet: $packet,
            saturation: ($low, $high),
            text: include_str!(concat!("../data/", $name, ".csv")),
        }
    };
}

pub const CURVES: [Curve; 6] = [
    curve!("mesh4_uniform_1flit", 4, Uniform, 1, 0.80, 0.81),
    curve!("mesh8_uniform_1flit", 8, Uniform, 1, 0.430, 0.435),
    curve!("mesh8_uniform_8flit", 8, Uniform, 8, 0.044, 0.046),
    curve!("mesh8_transpose_1flit", 8, Transpose, 1, 0.140, 0.1425),
    curve!("mesh8_bitcomp_1flit", 8, Bitcomp, 1, 0.240, 0.245),
    curve!("mesh16_uniform_1flit", 16, Uniform, 1, 0.22, 0.23),
];

impl Curve {
    /// Returns the load and the mean packet latency of every settled point.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let numbers = |line: &str| -> Option<(f64, f64)> {
            let mut fields = line.split(',');
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        self.text.lines().filter_map(numbers).collect()
    }

    /// Returns the middle of the reference's saturation range.
    pub fn saturation_load(&self) -> f64 {
        (self.saturation.0 + self.saturation.1) / 2.0
    }

    /// Returns the experiment with the reference's configuration at a load.
    pub fn at(&self, rate: f64, cycles: u64, seed: u64) -> Experiment {
        let network = Config { topology: TopologyConfig::Mesh { size: [self.side; 2] }, seed, ..Config::default() };
        let flow = Flow { pattern: self.pattern, rate, packet: self.packet, ..Flow::default() };
        Experiment { network, traffic: vec![flow], cycles, seed, ..Experiment::default() }
    }
}
