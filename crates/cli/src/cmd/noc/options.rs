//! The options that describe a network and its traffic, shared by all of `baton noc`.

use super::input;
use crate::error::BadInput;
use anyhow::Context;
use baton_noc::energy::Technology;
use baton_noc::experiment::Experiment;
use baton_noc::topology::TopologyConfig;
use baton_noc::{Config, Header, Pipeline};
use std::path::{Path, PathBuf};

/// A network and its traffic. An option that is not given keeps what the file says, or else the reference router's.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// A TOML file with tables `network` and `traffic`; options override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// mesh, torus, ring, cmesh, flattened-butterfly, crossbar, bus; `graph` comes from a file.
    #[arg(long)]
    topology: Option<String>,
    /// Columns and rows of routers, or a number of nodes.
    #[arg(long, value_name = "WxH")]
    size: Option<String>,
    /// Nodes a router (cmesh, flattened-butterfly).
    #[arg(long)]
    concentration: Option<u32>,
    /// A TOML file with a graph's tables.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topology", "size"])]
    graph: Option<PathBuf>,
    /// Virtual channels a port, all classes together.
    #[arg(long)]
    vcs: Option<u32>,
    /// Flits of buffer a virtual channel.
    #[arg(long)]
    buffer: Option<u32>,
    /// Flits of buffer a port that its virtual channels share on top.
    #[arg(long)]
    shared_buffer: Option<u32>,
    /// Message classes, each with a virtual network of its own.
    #[arg(long)]
    classes: Option<u32>,
    /// speculative or nonspeculative.
    #[arg(long)]
    pipeline: Option<String>,
    /// round-robin, matrix, age, fixed, ocor.
    #[arg(long)]
    arbiter: Option<String>,
    /// Switch allocator: input-first, output-first, islip, wavefront.
    #[arg(long)]
    allocator: Option<String>,
    /// auto, xy, yx, o1turn, west-first, minimal-adaptive, valiant, table, up-down.
    #[arg(long)]
    routing: Option<String>,
    /// Run a routing that can deadlock.
    #[arg(long)]
    allow_deadlock: bool,
    /// uniform, transpose, bitcomp, bitrev, shuffle, tornado, neighbor, hotspot, randperm.
    #[arg(long)]
    traffic: Option<String>,
    /// Packets a node a cycle, 0 to 1.
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Flits a packet.
    #[arg(long)]
    packet: Option<u32>,
    /// Message class of the packets.
    #[arg(long)]
    class: Option<u8>,
    /// Mean length of a burst in cycles; 0 is Bernoulli.
    #[arg(long)]
    burst: Option<f64>,
    /// Packets a node a cycle inside a burst.
    #[arg(long)]
    burst_rate: Option<f64>,
    /// hotspot: share of packets to the hot nodes.
    #[arg(long)]
    hot_share: Option<f64>,
    /// hotspot: the hot nodes.
    #[arg(long, value_delimiter = ',')]
    hot_nodes: Vec<u32>,
    /// Measured cycles; warm-up and drain come on top.
    #[arg(long)]
    cycles: Option<u64>,
    /// Seed of every random choice.
    #[arg(long)]
    seed: Option<u64>,
    /// A TOML file with the prices of events, for energy.
    #[arg(long, value_name = "FILE")]
    technology: Option<PathBuf>,
    /// Width of a flit in bits, for energy.
    #[arg(long, value_name = "BITS")]
    flit_bits: Option<u32>,
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).map_err(|e| BadInput::new(format!("{}: {e}", path.display())).into())
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

impl Options {
    /// The experiment that they describe.
    pub(crate) fn experiment(&self) -> anyhow::Result<Experiment> {
        let mut e = match &self.config {
            Some(path) => Experiment::from_toml(&path.display().to_string(), &read(path)?).map_err(input)?,
            None => Experiment::default(),
        };
        self.network(&mut e.network)?;
        set(&mut e.cycles, self.cycles);
        set(&mut e.seed, self.seed);
        set(&mut e.network.seed, self.seed);
        if let Some(flow) = e.traffic.first_mut() {
            if let Some(name) = &self.traffic {
                flow.pattern = name.parse().map_err(input)?;
            }
            set(&mut flow.rate, self.rate);
            set(&mut flow.packet, self.packet);
            set(&mut flow.burst, self.burst);
            set(&mut flow.burst_rate, self.burst_rate);
            set(&mut flow.hot_share, self.hot_share);
            if !self.hot_nodes.is_empty() {
                flow.hot_nodes.clone_from(&self.hot_nodes);
            }
            if let Some(class) = self.class {
                flow.header = Header { class, ..flow.header };
            }
        }
        Ok(e)
    }

    fn network(&self, n: &mut Config) -> anyhow::Result<()> {
        self.topology(n)?;
        set(&mut n.vcs, self.vcs);
        set(&mut n.buffer, self.buffer);
        set(&mut n.shared_buffer, self.shared_buffer);
        set(&mut n.classes, self.classes);
        if let Some(name) = &self.pipeline {
            n.pipeline = match name.as_str() {
                "speculative" => Pipeline::Speculative,
                "nonspeculative" => Pipeline::Nonspeculative,
                _ => return Err(BadInput::unknown("pipeline", name, ["speculative", "nonspeculative"]).into()),
            };
        }
        if let Some(name) = &self.arbiter {
            n.arbiter = name.parse().map_err(input)?;
        }
        if let Some(name) = &self.allocator {
            n.allocator = name.parse().map_err(input)?;
        }
        if let Some(name) = &self.routing {
            n.routing = name.parse().map_err(input)?;
        }
        n.allow_deadlock |= self.allow_deadlock;
        Ok(())
    }

    fn topology(&self, n: &mut Config) -> anyhow::Result<()> {
        if let Some(path) = &self.graph {
            let file = path.display().to_string();
            n.topology = Config::from_toml(&file, &read(path)?).map_err(input)?.topology;
            return Ok(());
        }
        if self.topology.is_some() || self.size.is_some() || self.concentration.is_some() {
            let name = self.topology.as_deref().unwrap_or("mesh");
            let size = parse_size(self.size.as_deref().unwrap_or("8x8"))?;
            n.topology = TopologyConfig::named(name, size, self.concentration.unwrap_or(4)).map_err(input)?;
        }
        Ok(())
    }

    /// Prices of events.
    pub(crate) fn technology(&self) -> anyhow::Result<Technology> {
        match &self.technology {
            None => Ok(Technology::default()),
            Some(path) => {
                let text = read(path)?;
                toml::from_str(&text)
                    .map_err(|e| BadInput::new(format!("{}: {e}", path.display())))
                    .context("prices of events")
            }
        }
    }

    /// Whether they say which topology.
    pub(crate) fn names_topology(&self) -> bool {
        self.config.is_some() || self.graph.is_some() || self.topology.is_some() || self.size.is_some()
    }

    /// Width of a flit.
    pub(crate) fn flit_bits(&self) -> u32 {
        self.flit_bits.unwrap_or(128)
    }
}

fn parse_size(text: &str) -> anyhow::Result<[u32; 2]> {
    let bad = || BadInput::new(format!("`--size {text}`: expected columns x rows such as 8x8, or a number of nodes"));
    let number = |s: &str| s.parse::<u32>().map_err(|_| bad());
    Ok(match text.split_once('x') {
        Some((w, h)) => [number(w)?, number(h)?],
        None => [number(text)?, 1],
    })
}
