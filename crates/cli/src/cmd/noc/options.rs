//! The options that describe a network and its traffic, shared by all of `baton noc`.

use crate::chips;
use crate::error::{BadInput, Place};
use baton_noc::energy::Technology;
use baton_noc::experiment::Experiment;
use baton_noc::routing::RouteFile;
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::Flow;
use baton_noc::{Config, Header, NocError, Pipeline};
use std::path::{Path, PathBuf};

/// A network and its traffic. An option that is not given keeps the value in the file, or otherwise
/// that of the reference router.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// A TOML file with tables `network` and `traffic`, or a chip file, whose network is taken; options override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    pub(crate) load: LoadOptions,
    /// Packets of each class that an endpoint holds before it refuses more; 0 takes every flit at once.
    #[arg(long, value_name = "PACKETS")]
    endpoint_places: Option<u32>,
    /// Cycles that an endpoint takes for a packet before its place is free and its reply goes out.
    #[arg(long, value_name = "CYCLES")]
    endpoint_service: Option<u32>,
    /// Measured cycles; warm-up and drain come on top.
    #[arg(long)]
    cycles: Option<u64>,
    /// Seed of every random choice.
    #[arg(long)]
    seed: Option<u64>,
    /// A TOML file with prices of events and sizes, or a chip file with the section `technology`.
    #[arg(long, value_name = "FILE")]
    technology: Option<PathBuf>,
    /// Width of a flit in bits, for energy and area.
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=65536))]
    flit_bits: Option<u32>,
}

/// The network. The options of its endpoints stand behind those of the load.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct NetworkOptions {
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
    /// Who wins when several want the same (`baton list arbiters`).
    #[arg(long)]
    arbiter: Option<String>,
    /// Switch allocator: input-first, output-first, islip, wavefront.
    #[arg(long)]
    allocator: Option<String>,
    /// auto, xy, yx, o1turn, west-first, minimal-adaptive, valiant, table, up-down.
    #[arg(long)]
    routing: Option<String>,
    /// A TOML file with the table of `--routing table`; without one that is the shortest path.
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
    /// Run a routing that can deadlock.
    #[arg(long)]
    allow_deadlock: bool,
}

/// The traffic that its nodes send.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct LoadOptions {
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
    /// Flits of the reply to each packet; replies have a class of their own. Without it no node answers.
    #[arg(long, value_name = "FLITS")]
    reply: Option<u32>,
    /// Message class of the replies.
    #[arg(long, value_name = "CLASS")]
    reply_class: Option<u8>,
    /// Most packets of a node that may be under way, their replies included; 0 is no bound.
    #[arg(long, value_name = "PACKETS")]
    outstanding: Option<u32>,
    /// Packets of each node in all; the run lasts until the last of them, or its reply, has arrived.
    #[arg(long, value_name = "PACKETS")]
    batch: Option<u64>,
}

/// The values of options that are left out, then `text`: the end of the help of each `noc` command.
pub(crate) fn help(text: &str) -> String {
    let Experiment { network, traffic, cycles, seed, .. } = Experiment::default();
    let flow = traffic.into_iter().next().unwrap_or_default();
    let name = |value| match value {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    };
    format!(
        "Left out, without --config: the reference router. A mesh of 8x8, {} virtual channels of {} flits,\n\
         {}, arbiter {}, allocator {}, routing auto;\n\
         {} traffic, --rate {}, --packet {}, --cycles {cycles}, --seed {seed}, --flit-bits {FLIT_BITS}.\n\n{text}",
        network.vcs,
        network.buffer,
        name(serde_json::to_value(network.pipeline)),
        name(serde_json::to_value(network.arbiter)),
        name(serde_json::to_value(network.allocator)),
        name(serde_json::to_value(flow.pattern)),
        flow.rate,
        flow.packet,
    )
}

/// Width of a flit if the user gives none.
const FLIT_BITS: u32 = 128;

/// The options that `--compare` may vary.
pub(crate) const COMPARABLE: [&str; 16] = [
    "topology",
    "size",
    "pipeline",
    "arbiter",
    "allocator",
    "routing",
    "traffic",
    "concentration",
    "vcs",
    "buffer",
    "shared-buffer",
    "packet",
    "burst",
    "endpoint-places",
    "endpoint-service",
    "seed",
];

/// The experiment that a file describes: a file with the tables `network` and `traffic`, or a chip
/// file, whose network gets the default traffic.
fn configured(path: &Path) -> anyhow::Result<Experiment> {
    let (file, text) = (path.display().to_string(), read(path)?);
    let table = text.parse::<toml::Table>().unwrap_or_default();
    if table.contains_key("chip") || table.contains_key("base") {
        let chip = chips::text(path).and_then(|text| text.chip(None, &[])).map_err(chips::bad)?;
        let plan = chip.plan().ok_or_else(|| {
            BadInput::new(format!("{file}: this chip has no network (memory.model = \"{}\")", chip.model().name()))
        })?;
        return Ok(Experiment { network: plan.network.clone(), ..Experiment::default() });
    }
    let topology = table.get("network").and_then(|network| network.get("topology")).and_then(toml::Value::as_str);
    Experiment::from_toml(&file, &text).map_err(|error| match (&error, topology) {
        (NocError::Parse { line, .. }, Some(name)) => {
            let what = format!("{file}:{line}: `topology` is the text \"{name}\"; expected a table");
            let size = match name {
                "graph" => "kind = \"graph\", routers = 2, nodes = [0, 1], links = […]",
                "ring" | "crossbar" | "bus" => "kind = \"ring\", nodes = 8",
                _ => "kind = \"mesh\", size = [8, 8]",
            };
            BadInput::new(what).hint(format!("topology = {{ {size} }}")).into()
        }
        _ => input(error),
    })
}

/// Largest size of a network or traffic file that is read.
const MOST_BYTES: u64 = 64 << 20;

pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    baton_trace::files::read_text(path, MOST_BYTES)
        .map_err(|e| BadInput::new(format!("{}: {e}", path.display())).into())
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

impl Options {
    /// The experiment that the options describe.
    pub(crate) fn experiment(&self) -> anyhow::Result<Experiment> {
        let mut e = match &self.config {
            Some(path) => configured(path)?,
            None => Experiment::default(),
        };
        self.network.apply(&mut e.network)?;
        set(&mut e.network.endpoint_places, self.endpoint_places);
        set(&mut e.cycles, self.cycles);
        set(&mut e.endpoint_service, self.endpoint_service);
        set(&mut e.seed, self.seed);
        set(&mut e.network.seed, self.seed);
        if let Some(flow) = e.traffic.first_mut() {
            self.load.apply(flow)?;
            let classes_given = self.network.classes.is_some() || self.config.is_some();
            self.load.closed_loop(flow, &mut e.network, classes_given);
        }
        Ok(e)
    }

    /// Sets one option by its name, as `--name value` would; `--compare` uses this.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        fn number<T: std::str::FromStr>(name: &str, value: &str) -> anyhow::Result<Option<T>> {
            let bad = || BadInput::new(format!("`--compare {name}={value}`: expected a number"));
            Ok(Some(value.parse().map_err(|_| bad())?))
        }
        let text = || Some(value.to_owned());
        match name {
            "topology" => self.network.topology = text(),
            "size" => self.network.size = text(),
            "pipeline" => self.network.pipeline = text(),
            "arbiter" => self.network.arbiter = text(),
            "allocator" => self.network.allocator = text(),
            "routing" => self.network.routing = text(),
            "traffic" => self.load.traffic = text(),
            "concentration" => self.network.concentration = number(name, value)?,
            "vcs" => self.network.vcs = number(name, value)?,
            "buffer" => self.network.buffer = number(name, value)?,
            "shared-buffer" => self.network.shared_buffer = number(name, value)?,
            "packet" => self.load.packet = number(name, value)?,
            "burst" => self.load.burst = number(name, value)?,
            "endpoint-places" => self.endpoint_places = number(name, value)?,
            "endpoint-service" => self.endpoint_service = number(name, value)?,
            "seed" => self.seed = number(name, value)?,
            _ => return Err(BadInput::unknown("option to compare", name, COMPARABLE).into()),
        }
        Ok(())
    }

    /// The prices of events.
    pub(crate) fn technology(&self) -> anyhow::Result<Technology> {
        match &self.technology {
            None => Ok(Technology::default()),
            Some(path) => Technology::from_toml(&path.display().to_string(), &read(path)?).map_err(input),
        }
    }

    /// An error of the network as an error of the user's input, with the place in the file that it
    /// comes from.
    pub(crate) fn blame(&self, error: NocError) -> anyhow::Error {
        let placed = self.config.iter().chain(&self.network.graph).fold(error, |e, path| match read(path) {
            Ok(text) => e.in_file(&path.display().to_string(), &text),
            Err(_) => e,
        });
        input(placed)
    }

    /// Whether the options say which topology.
    pub(crate) fn names_topology(&self) -> bool {
        let NetworkOptions { graph, topology, size, .. } = &self.network;
        self.config.is_some() || graph.is_some() || topology.is_some() || size.is_some()
    }

    /// Width of a flit.
    pub(crate) fn flit_bits(&self) -> u32 {
        self.flit_bits.unwrap_or(FLIT_BITS)
    }
}

impl NetworkOptions {
    fn apply(&self, n: &mut Config) -> anyhow::Result<()> {
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
        if let Some(path) = &self.routes {
            n.routes = Some(RouteFile::from_toml(&path.display().to_string(), &read(path)?).map_err(input)?);
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
            // A size alone keeps the kind of topology that the file has.
            let of_file = match n.topology.name() {
                "graph" => "mesh",
                name => name,
            };
            let name = self.topology.as_deref().unwrap_or(of_file);
            let size = parse_size(self.size.as_deref().unwrap_or("8x8"))?;
            n.topology = TopologyConfig::named(name, size, self.concentration.unwrap_or(4)).map_err(input)?;
        }
        Ok(())
    }
}

impl LoadOptions {
    fn apply(&self, flow: &mut Flow) -> anyhow::Result<()> {
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
        Ok(())
    }

    /// Sets replies and bounds. `classes_given`: the user chose the number of classes, which is
    /// then not raised for replies.
    fn closed_loop(&self, flow: &mut Flow, network: &mut Config, classes_given: bool) {
        set(&mut flow.outstanding, self.outstanding);
        set(&mut flow.batch, self.batch);
        if self.reply.is_some() || self.reply_class.is_some() {
            let reply = flow.reply.get_or_insert_default();
            set(&mut reply.packet, self.reply);
            set(&mut reply.class, self.reply_class);
            if self.reply.is_some() && !classes_given {
                // Replies need a virtual network of their own.
                network.classes = network.classes.max(u32::from(reply.class) + 1);
            }
        }
        // Endpoints that refuse packets must still take those for which a node waits.
        if let Some(reply) = flow.reply
            && network.response_class == u32::MAX
        {
            network.response_class = reply.class.into();
        }
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

/// Turns an error of the network's input into bad input of the user.
pub(super) fn input(error: NocError) -> anyhow::Error {
    let place = match &error {
        NocError::Value { key, .. } => Place { key: Some(key.clone()), ..Place::default() },
        NocError::Parse { file, line, .. } => Place { file: Some(file.clone()), line: Some(*line), key: None },
        NocError::Trace { file, .. } => Place { file: Some(file.clone()), ..Place::default() },
        _ => Place::default(),
    };
    BadInput::new(error).at(place).into()
}
