//! The paper's figures, redrawn with our values alone. Figures 6, 7 and 8 and the tables of loads
//! and applications also show other software.
//!
//! | file | holds |
//! | --- | --- |
//! | `queues` | figures 6, 7, 8, 14 and 20, the requests in flight, the tornado |
//! | `devices` | figures 16 and 17: several devices, credits |
//! | `drawing` | lines, tables and their cells |
//! | `tables` | every load, applications, an item's time, ablations |

mod devices;
mod drawing;
mod queues;
mod tables;

use super::experiments::{CLOCKS, LATENCIES};
use super::loads::BULKS;
use super::results::Results;
use crate::page::Figure;
pub(in crate::caf) use queues::headline;

/// The figures for which there are runs.
pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let one = |bulk: usize| format!("1-1 bulk {bulk}");
    let bulks: Vec<String> = BULKS.map(|bulk| bulk.to_string()).into();
    let figures = [
        queues::tornado(results),
        queues::differences(results),
        queues::threads(results),
        queues::by(
            results,
            "Figure 7: one producer and consumer, over the ring",
            "bulk",
            "figure-7",
            &bulks,
            &BULKS.map(one),
        ),
        queues::pairs(results),
        queues::in_flight(results),
        queues::sensitivity(
            results,
            "Figure 14a: an item's cycles by the SRAM's latency",
            "ns",
            "SRAM latency",
            "figure-14a",
            &LATENCIES,
            50,
        ),
        queues::sensitivity(
            results,
            "Figure 14b: an item's cycles by the device's clock",
            "MHz",
            "device clock",
            "figure-14b",
            &CLOCKS,
            1000,
        ),
        devices::open_loop(results),
        Some(devices::mesh(results)),
        devices::weights(results),
        queues::prepush(results),
        tables::time(results),
        Some(tables::applications(results)),
        Some(tables::ablations(results)),
        Some(tables::loads(results)),
    ];
    figures.into_iter().flatten().filter(|figure| !is_empty(figure)).collect()
}

fn is_empty(figure: &Figure) -> bool {
    match &figure.drawing {
        crate::page::Drawing::Lines(lines) => lines.series.iter().all(|series| series.points.is_empty()),
        crate::page::Drawing::Table(table) => table.rows.is_empty(),
        _ => false,
    }
}
