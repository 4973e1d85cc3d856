//! What a topology is built into: routers, links and nodes.

/// Most ports a router may have: port sets are bit masks of one word.
pub const MAX_PORTS: u32 = 64;

/// A directed link between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Upstream router.
    pub from: u32,
    /// Its output port.
    pub from_port: u32,
    /// Downstream router.
    pub to: u32,
    /// Its input port.
    pub to_port: u32,
    /// Length in units of one tile; its latency and energy grow with it.
    pub length: u32,
}

/// Where a node hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Router that takes its packets.
    pub from_router: u32,
    /// Input port there.
    pub in_port: u32,
    /// Router that delivers to it.
    pub to_router: u32,
    /// Output port there.
    pub out_port: u32,
}

/// Where routers stand when they form a grid; dimension-order routings need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows and columns are closed to rings.
    pub wrap: bool,
    /// Each router is linked with its whole row and column.
    pub full: bool,
    /// Nodes a router.
    pub concentration: u32,
    /// Output port of each router toward +x, −x, +y, −y; `NO_PORT` at an edge. Empty when `full`.
    pub toward: Vec<[u32; 4]>,
}

/// No such port.
pub const NO_PORT: u32 = u32::MAX;

/// Routers, links and nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Number of routers.
    pub routers: u32,
    /// All links.
    pub links: Vec<Link>,
    /// All nodes.
    pub nodes: Vec<Attach>,
    /// Input ports of each router.
    pub in_ports: Vec<u32>,
    /// Output ports of each router.
    pub out_ports: Vec<u32>,
    /// Set where routers form a grid.
    pub grid: Option<Grid>,
}

/// Which link begins at each output port: of all routers in one table, as whole networks are walked by it.
#[derive(Clone, Debug)]
pub struct LinkAt {
    /// [router · ports + output port]
    links: Vec<u32>,
    ports: usize,
}

/// No link begins there.
const NO_LINK: u32 = u32::MAX;

impl LinkAt {
    /// The number of the link at an output port; `None`: it leads to a node, or there is no such port.
    #[inline]
    pub fn get(&self, router: usize, port: usize) -> Option<usize> {
        if port >= self.ports {
            return None;
        }
        let link = self.links[router * self.ports + port];
        (link != NO_LINK).then_some(link as usize)
    }

    /// The numbers of a router's links, by port.
    pub fn of(&self, router: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.ports).filter_map(move |port| self.get(router, port))
    }
}

impl Graph {
    /// A graph of unlinked routers.
    pub fn new(routers: u32) -> Graph {
        let none = vec![0; routers as usize];
        Graph { routers, links: vec![], nodes: vec![], in_ports: none.clone(), out_ports: none, grid: None }
    }

    /// Adds a directed link and gives its output port.
    pub fn link(&mut self, from: u32, to: u32, length: u32) -> u32 {
        let (from_port, to_port) = (self.out_ports[from as usize], self.in_ports[to as usize]);
        self.out_ports[from as usize] += 1;
        self.in_ports[to as usize] += 1;
        self.links.push(Link { from, from_port, to, to_port, length });
        from_port
    }

    /// Adds the next node: its packets enter at `from_router` and leave at `to_router`.
    pub fn attach(&mut self, from_router: u32, to_router: u32) {
        let (in_port, out_port) = (self.in_ports[from_router as usize], self.out_ports[to_router as usize]);
        self.in_ports[from_router as usize] += 1;
        self.out_ports[to_router as usize] += 1;
        self.nodes.push(Attach { from_router, in_port, to_router, out_port });
    }

    /// The links by router and output port.
    pub fn link_at(&self) -> LinkAt {
        let ports = self.max_ports() as usize;
        let mut links = vec![NO_LINK; self.routers as usize * ports];
        for (i, l) in self.links.iter().enumerate() {
            links[l.from as usize * ports + l.from_port as usize] = i as u32;
        }
        LinkAt { links, ports }
    }

    /// Most ports of any router, inputs and outputs alike.
    pub fn max_ports(&self) -> u32 {
        self.in_ports.iter().chain(&self.out_ports).copied().max().unwrap_or(0)
    }
}
