//! The common form of every topology: routers, links and nodes.

/// The largest number of ports of a router, because port sets are bit masks of one word.
pub const MAX_PORTS: u32 = 64;

/// A directed link between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Router at which the link begins.
    pub from: u32,
    /// Output port of router `from`.
    pub from_port: u32,
    /// Router at which the link ends.
    pub to: u32,
    /// Input port of router `to`.
    pub to_port: u32,
    /// Length in tiles; the link's latency and energy are in proportion to it.
    pub length: u32,
}

/// Where a node is attached to the routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Router that takes the node's packets.
    pub from_router: u32,
    /// Input port of router `from_router`.
    pub in_port: u32,
    /// Router that delivers packets to the node.
    pub to_router: u32,
    /// Output port of router `to_router`.
    pub out_port: u32,
}

/// The positions of routers that form a grid, which dimension-order routings need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Whether rows and columns are closed to rings.
    pub wrap: bool,
    /// Whether each router is linked with all others of its row and column.
    pub full: bool,
    /// Number of nodes per router.
    pub concentration: u32,
    /// The output ports of each router toward +x, −x, +y, −y; [`NO_PORT`] at an edge. Empty if `full`.
    pub toward: Vec<[u32; 4]>,
}

impl Grid {
    /// Returns the number of routers on the longest of the shortest paths, both ends included.
    pub fn longest_path(&self) -> u32 {
        let across = |side: u32| match (self.full, self.wrap) {
            (true, _) => (side - 1).min(1),
            (false, true) => side / 2,
            (false, false) => side - 1,
        };
        1 + across(self.width) + across(self.height)
    }
}

/// Stands in [`Grid::toward`] for a port that does not exist.
pub const NO_PORT: u32 = u32::MAX;

/// A topology as routers, links and nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Number of routers; they are numbered from 0.
    pub routers: u32,
    /// Links, in the order in which they were added.
    pub links: Vec<Link>,
    /// Where each node is attached.
    pub nodes: Vec<Attach>,
    /// Number of input ports of each router.
    pub in_ports: Vec<u32>,
    /// Number of output ports of each router.
    pub out_ports: Vec<u32>,
    /// Positions of the routers, if they form a grid.
    pub grid: Option<Grid>,
}

/// Which link begins at each output port of each router, in one table that is fast to read.
#[derive(Clone, Debug)]
pub struct LinkAt {
    /// Link by router · ports + output port, or [`NO_LINK`].
    links: Vec<u32>,
    ports: usize,
}

/// Stands in the table for an output port at which no link begins.
const NO_LINK: u32 = u32::MAX;

impl LinkAt {
    /// Returns the number of the link at an output port, or `None` if the port leads to a node or
    /// does not exist.
    #[inline]
    pub fn get(&self, router: usize, port: usize) -> Option<usize> {
        if port >= self.ports {
            return None;
        }
        let link = self.links[router * self.ports + port];
        (link != NO_LINK).then_some(link as usize)
    }

    /// Yields the numbers of the links that begin at `router`, by port.
    pub fn of(&self, router: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.ports).filter_map(move |port| self.get(router, port))
    }
}

impl Graph {
    /// Creates a graph of routers without links or nodes.
    pub fn new(routers: u32) -> Graph {
        let none = vec![0; routers as usize];
        Graph { routers, links: vec![], nodes: vec![], in_ports: none.clone(), out_ports: none, grid: None }
    }

    /// Adds a directed link of `length` tiles from router `from` to router `to`. Returns its output
    /// port.
    pub fn link(&mut self, from: u32, to: u32, length: u32) -> u32 {
        let (from_port, to_port) = (self.out_ports[from as usize], self.in_ports[to as usize]);
        self.out_ports[from as usize] += 1;
        self.in_ports[to as usize] += 1;
        self.links.push(Link { from, from_port, to, to_port, length });
        from_port
    }

    /// Adds the next node, which sends its packets to `from_router` and receives them from
    /// `to_router`.
    pub fn attach(&mut self, from_router: u32, to_router: u32) {
        let (in_port, out_port) = (self.in_ports[from_router as usize], self.out_ports[to_router as usize]);
        self.in_ports[from_router as usize] += 1;
        self.out_ports[to_router as usize] += 1;
        self.nodes.push(Attach { from_router, in_port, to_router, out_port });
    }

    /// Builds the table of links by router and output port.
    pub fn link_at(&self) -> LinkAt {
        let ports = self.max_ports() as usize;
        let mut links = vec![NO_LINK; self.routers as usize * ports];
        for (i, l) in self.links.iter().enumerate() {
            links[l.from as usize * ports + l.from_port as usize] = i as u32;
        }
        LinkAt { links, ports }
    }

    /// The largest number of input or output ports of any router.
    pub fn max_ports(&self) -> u32 {
        self.in_ports.iter().chain(&self.out_ports).copied().max().unwrap_or(0)
    }
}
