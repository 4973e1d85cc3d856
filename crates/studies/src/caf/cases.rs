//! What is run beside the loads, as data: several devices on a mesh, credits, applications. Committed before the first gain of each was
//! computed; part of `frozen.rules`.

use super::apps::{App, By, Case};
use super::mesh;
use super::weights::Weights;

/// A case on the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnMesh {
    pub(super) devices: u32,
    pub(super) load: mesh::Load,
    pub(super) requests: u64,
    pub(super) seed: u64,
}

/// Devices of figure 16.
pub(super) const DEVICES: [u32; 4] = [1, 4, 8, 16];
/// Rates in percent of what the devices can serve together: a request each, each of their cycles.
pub(super) const PERCENT: [u64; 10] = [20, 40, 60, 70, 80, 85, 90, 95, 100, 120];
/// Cycles between two requests of a core where requests seldom meet: a twentieth of what one device can serve.
pub(super) const SELDOM: u64 = 2560;
/// Requests of a core under way in the closed loop.
pub(super) const CLOSED: [u64; 3] = [1, 4, 16];

/// Cycles between two requests of a core at a rate in percent: 64 cores, and a device's cycle is two of the core's.
pub(super) fn interval(devices: u32, percent: u64) -> u64 {
    (12_800 / (u64::from(devices) * percent)).max(1)
}

/// The cases on the mesh. A quick study has the ends.
pub(super) fn on_mesh(full: bool) -> Vec<OnMesh> {
    let mut all = Vec::new();
    for devices in DEVICES.into_iter().filter(|devices| full || [1, 16].contains(devices)) {
        for seed in 1..=if full { 3 } else { 1 } {
            let case = |load, requests| OnMesh { devices, load, requests, seed };
            all.push(case(mesh::Load::Open(SELDOM), 60));
            // Each has thousands of requests: one seed is enough for a curve.
            if full && seed == 1 {
                // As long at every number of devices, so that what saturates has the time to show it.
                let requests = 50 + 150 * u64::from(devices);
                // Beyond what devices can serve, few enough that none binds of what a core may have under way.
                let at = |percent: u64| {
                    let requests = if percent > 100 { requests.min(650) } else { requests };
                    case(mesh::Load::Open(interval(devices, percent)), requests)
                };
                all.extend(PERCENT.map(at));
                all.extend(CLOSED.map(|most| case(mesh::Load::Closed(most), 200)));
            }
        }
    }
    all
}

/// Work of a thread for a packet, or of a job: the paper's nops.
pub(super) const APP_NOPS: [u64; 6] = [0, 100, 200, 400, 1600, 6400];
/// Bulks of the applications.
pub(super) const APP_BULKS: [usize; 4] = [1, 2, 4, 8];
/// Workers, and rows of each, of the regression.
pub(super) const REGRESSIONS: [(u32, u32); 6] = [(4, 1), (4, 16), (8, 1), (8, 16), (16, 1), (16, 16)];
/// Producers and bulk where pairs of threads have queues of their own.
pub(super) const LANES: [(u32, usize); 4] = [(2, 1), (2, 8), (4, 8), (8, 8)];

/// The applications.
pub(super) fn applications(full: bool) -> Vec<Case> {
    let mut apps: Vec<App> = Vec::new();
    apps.extend(APP_BULKS.map(|bulk| App::Clusters { bulk, nops: 0 }));
    apps.extend(APP_NOPS[1..].iter().map(|nops| App::Clusters { bulk: 8, nops: *nops }));
    apps.extend(APP_BULKS.map(|bulk| App::Firewall { bulk }));
    apps.extend(APP_NOPS.map(|nops| App::Distributor { nops }));
    apps.extend(REGRESSIONS.map(|(workers, rows)| App::Regression { workers, rows }));
    apps.extend(LANES.map(|(pairs, bulk)| App::Pairs { pairs, bulk }));
    let quick = [
        App::Clusters { bulk: 1, nops: 0 },
        App::Clusters { bulk: 8, nops: 0 },
        App::Firewall { bulk: 8 },
        App::Distributor { nops: 100 },
        App::Regression { workers: 16, rows: 1 },
        App::Pairs { pairs: 8, bulk: 8 },
    ];
    apps.retain(|app| full || quick.contains(app));
    let mut all = Vec::new();
    for app in apps {
        let packets = matches!(app, App::Clusters { .. } | App::Firewall { .. } | App::Pairs { .. });
        for by in [By::Software, By::Lanes, By::Device, By::Prepush, By::Ideal] {
            // Without packets nothing is pushed. A quick study has no oracle arm, and no claim is
            // about pairs of threads alone.
            let ideal = full && !matches!(app, App::Pairs { .. });
            if by == By::Prepush && !packets || by == By::Ideal && !ideal {
                continue;
            }
            all.extend((1..=if full { 2 } else { 1 }).map(|seed| Case { app, by, window: None, seed }));
            let judged =
                ![By::Lanes, By::Ideal].contains(&by) && !matches!(app, App::Regression { .. } | App::Pairs { .. });
            if full && judged {
                all.extend(["smallest", "largest"].map(|window| Case { app, by, window: Some(window), seed: 1 }));
            }
        }
    }
    all
}

/// The weights of figure 17.
pub(super) const WEIGHTS: [[u32; 2]; 3] = [[1, 1], [1, 2], [1, 3]];

/// The cases with credits by weights; the last ones are without credits.
pub(super) fn weights(full: bool) -> Vec<Weights> {
    let mut all = Vec::new();
    let case = |weights, credits, entries, seed| Weights { weights, credits, entries, cycles: 400_000, seed };
    for seed in 1..=if full { 3 } else { 1 } {
        all.extend(WEIGHTS.map(|weights| case(weights, true, 16, seed)));
        if full {
            all.extend(WEIGHTS.map(|weights| case(weights, true, 64, seed)));
            all.push(case([1, 3], false, 16, seed));
        }
    }
    all
}
