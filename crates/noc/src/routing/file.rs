//! A routing table from a TOML file, which lists the routes that packets take in each router.
//!
//! ```toml
//! classes = 2              # classes of virtual channels that the routes name; 1 if left out
//! rest = "shortest"        # routes that are not written: the shortest path. Left out: all must be written
//!
//! [[route]]
//! at = 0                   # in this router
//! to = [2, 3]              # packets for these nodes
//! next = 1                 # go on to this router (the first link there) …
//! class = 1                # … on virtual channels of this class; 0 if left out
//!
//! [[route]]
//! at = 1
//! to = [2]
//! port = 0                 # or the output port, where two links lead to the same router
//! ```
//!
//! A packet that stands in its destination's own router is delivered there; that needs no route.

use super::graph;
use super::table::{NO_ROUTE, Routes, entry};
use crate::error::{NocError, bad};
use crate::topology::{Graph, LinkAt};
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// A routing table as a list of routes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteFile {
    /// Name of the file from which the table was read, for messages; empty if the table stands in
    /// the configuration itself.
    #[serde(default)]
    pub file: String,
    /// Number of classes of virtual channels that the routes may use.
    #[serde(default = "one")]
    pub classes: u32,
    /// What to do about pairs of router and node that no route covers.
    #[serde(default)]
    pub rest: Rest,
    /// The routes of the table.
    #[serde(default, rename = "route")]
    pub routes: Vec<Route>,
}

fn one() -> u32 {
    1
}

/// What to do about pairs of router and node that no route covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Reject the table if a packet may need the route.
    #[default]
    Missing,
    /// Take the shortest path; among equals, the lowest port.
    Shortest,
}

/// One or more routes out of one router.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Router in which the packets stand.
    pub at: u32,
    /// Destination nodes of the packets.
    pub to: Vec<u32>,
    /// Router to which the packets go next. Either this or `port` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// Output port through which the packets leave. Either this or `next` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// Class of the virtual channels that the packets use on the link.
    #[serde(default)]
    pub class: u32,
    /// Lines of the keys in the file: `at`, `to`, `next` or `port`, `class`.
    #[serde(skip)]
    lines: [u32; 4],
}

/// The TOML form of the table, in which each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default = "one")]
    classes: u32,
    #[serde(default)]
    rest: Rest,
    #[serde(default)]
    route: Vec<RawRoute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRoute {
    at: Spanned<u32>,
    to: Spanned<Vec<u32>>,
    next: Option<Spanned<u32>>,
    port: Option<Spanned<u32>>,
    class: Option<Spanned<u32>>,
}

impl RouteFile {
    /// Reads a routing table from TOML text. An error names `file`, the line
    /// and what is wrong there.
    pub fn from_toml(file: &str, text: &str) -> Result<RouteFile, NocError> {
        let raw: Raw = toml::from_str(text).map_err(|e| NocError::toml(file, text, &e))?;
        let line = |at: usize| text[..at.min(text.len())].matches('\n').count() as u32 + 1;
        let routes = raw.route.into_iter().map(|r| {
            let way = r.next.as_ref().or(r.port.as_ref());
            let lines = [
                line(r.at.span().start),
                line(r.to.span().start),
                line(way.map_or(r.at.span().start, |w| w.span().start)),
                line(r.class.as_ref().map_or(r.at.span().start, |c| c.span().start)),
            ];
            Route {
                at: r.at.into_inner(),
                to: r.to.into_inner(),
                next: r.next.map(Spanned::into_inner),
                port: r.port.map(Spanned::into_inner),
                class: r.class.map_or(0, Spanned::into_inner),
                lines,
            }
        });
        Ok(RouteFile { file: file.into(), classes: raw.classes, rest: raw.rest, routes: routes.collect() })
    }

    /// Returns the error for a key of route `i`; `key` is an index into `at`, `to`, `next` or
    /// `port`, `class`.
    fn fail(&self, i: usize, key: usize, value: impl ToString, expected: String) -> NocError {
        let route = &self.routes[i];
        let way = if route.next.is_some() { "next" } else { "port" };
        let name = format!("route[{i}].{}", ["at", "to", way, "class"][key]);
        if self.file.is_empty() {
            return bad(&format!("routes.{name}"), value, expected);
        }
        let message = format!("`{name}` = {}: expected {expected}", value.to_string());
        NocError::Parse { file: self.file.clone(), line: route.lines[key] as usize, message }
    }

    /// Returns the output port of route `i`.
    fn port(&self, i: usize, graph: &Graph, link_at: &LinkAt) -> Result<u32, NocError> {
        let route = &self.routes[i];
        let links = || link_at.of(route.at as usize).map(|l| graph.links[l]);
        let listed = |f: &dyn Fn(crate::topology::Link) -> u32| {
            let all: Vec<String> = links().map(|l| f(l).to_string()).collect();
            if all.is_empty() { "none, as this router has no links".to_owned() } else { all.join(", ") }
        };
        match (route.next, route.port) {
            (Some(next), None) => links().find(|l| l.to == next).map(|l| l.from_port).ok_or_else(|| {
                let expected = format!("a router that router {} has a link to: {}", route.at, listed(&|l| l.to));
                self.fail(i, 2, next, expected)
            }),
            (None, Some(port)) => links().find(|l| l.from_port == port).map(|l| l.from_port).ok_or_else(|| {
                let expected = format!("an output port of router {}: {}", route.at, listed(&|l| l.from_port));
                self.fail(i, 2, port, expected)
            }),
            _ => Err(self.fail(i, 0, route.at, "either `next` or `port` beside it".into())),
        }
    }
}

/// Fills `routes` from the file, and checks that every node is reached from every node.
pub(super) fn fill(routes: &mut Routes, graph: &Graph, file: &RouteFile) -> Result<(), NocError> {
    if !(1..=16).contains(&file.classes) {
        return Err(bad("routes.classes", file.classes, "1 to 16"));
    }
    routes.classes = file.classes as usize;
    if file.rest == Rest::Shortest {
        graph::shortest(routes, graph);
    }
    let (nodes, link_at) = (routes.nodes, graph.link_at());
    // For each entry, the route that wrote it.
    let mut by = vec![u32::MAX; routes.table.len()];
    for (i, route) in file.routes.iter().enumerate() {
        if route.at >= graph.routers {
            return Err(file.fail(i, 0, route.at, format!("a router from 0 to {}", graph.routers - 1)));
        }
        if route.class >= file.classes {
            return Err(file.fail(i, 3, route.class, format!("a class from 0 to {}", file.classes - 1)));
        }
        let port = file.port(i, graph, &link_at)?;
        for &to in &route.to {
            if to as usize >= nodes {
                return Err(file.fail(i, 1, to, format!("nodes from 0 to {}", nodes - 1)));
            }
            if graph.nodes[to as usize].to_router == route.at {
                let expected = format!("nodes of other routers: router {} delivers to node {to} itself", route.at);
                return Err(file.fail(i, 1, to, expected));
            }
            let slot = route.at as usize * nodes + to as usize;
            if by[slot] != u32::MAX {
                let expected = format!("a node that route[{}] does not have for this router already", by[slot]);
                return Err(file.fail(i, 1, to, expected));
            }
            (by[slot], routes.table[slot]) = (i as u32, entry(port, route.class));
        }
    }
    for (to, node) in graph.nodes.iter().enumerate() {
        routes.table[node.to_router as usize * nodes + to] = entry(node.out_port, 0);
    }
    follow(routes, graph, file, &by, &link_at)
}

/// Follows the table from every node to every node. Fails if a path ends early or circles.
fn follow(routes: &Routes, graph: &Graph, file: &RouteFile, by: &[u32], link_at: &LinkAt) -> Result<(), NocError> {
    let nodes = routes.nodes;
    let mut known = vec![usize::MAX; routes.routers];
    for (to, node) in graph.nodes.iter().enumerate() {
        for (from, source) in graph.nodes.iter().enumerate() {
            let (mut at, mut path, mut last) = (source.from_router as usize, vec![], u32::MAX);
            while known[at] != to && at != node.to_router as usize {
                let circles = path.contains(&at);
                path.push(at);
                let slot = at * nodes + to;
                let e = routes.table[slot];
                if e == NO_ROUTE || circles {
                    return Err(broken(file, last, from, to, &path, circles));
                }
                last = by[slot];
                let Some(link) = link_at.get(at, usize::from(e & 0xff)) else {
                    return Err(broken(file, last, from, to, &path, circles));
                };
                at = graph.links[link].to as usize;
            }
            path.into_iter().for_each(|r| known[r] = to);
        }
    }
    Ok(())
}

fn broken(file: &RouteFile, last: u32, from: usize, to: usize, path: &[usize], circles: bool) -> NocError {
    let way: Vec<String> = path.iter().map(|r| format!("router {r}")).collect();
    let (way, at) = (way.join(" -> "), path.last().copied().unwrap_or(0));
    let expected = if circles {
        format!("a way that does not circle; from node {from} to node {to}: {way}")
    } else {
        format!("a way that ends at its node; from node {from} to node {to}: {way}, which has no route for it")
    };
    if file.routes.get(last as usize).is_some() {
        return file.fail(last as usize, 1, to, expected);
    }
    if file.file.is_empty() {
        return bad("routes.route", format!("no route at router {at} for node {to}"), expected);
    }
    let message = format!("`route`: no route at router {at} for node {to}: expected {expected}");
    NocError::Parse { file: file.file.clone(), line: 1, message }
}
