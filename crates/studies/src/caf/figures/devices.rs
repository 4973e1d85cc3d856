//! Figures of several devices, and of credits.

use super::drawing::{cell, of_mean, table};
use crate::Interval;
use crate::caf::cases::{CLOSED, DEVICES, WEIGHTS};
use crate::caf::results::{IN_DEVICE, Results};
use crate::page::Figure;
use baton_plot::{Lines, Point, Series};

pub(super) fn open_loop(results: &Results<'_>) -> Option<Figure> {
    let of = |devices: u32| {
        let curve = results.curve(devices);
        let points = curve.into_iter().map(|(rate, latency)| Point { x: rate, y: latency.mean, ends: latency.ends() });
        Series { name: format!("{devices} devices"), points: points.collect(), theirs: false }
    };
    let figure = Figure::from(Lines {
        title: "Figure 16a: a request's time by the rate, open loop".to_owned(),
        x: "requests in 1000 cycles, of 64 cores together".to_owned(),
        y: "cycles of a request".to_owned(),
        names: None,
        series: DEVICES.map(of).into(),
    });
    let note = "The time from a request's arrival to its answer: the network both ways, waiting, and the device. No core had as many \
        requests under way as device.outstanding allows; a run in which one has is refused.";
    Some(figure.named("figure-16a").noted(note))
}

pub(super) fn mesh(results: &Results<'_>) -> Figure {
    let row = |devices: &u32| {
        let [all, dequeues] = results.seldom(*devices)?;
        let closed = results.closed(*devices);
        let in_network = |of: Interval| cell(Some(of.mean - IN_DEVICE));
        let mut row =
            vec![devices.to_string(), in_network(all), in_network(dequeues), cell(results.sustained(*devices))];
        row.extend(CLOSED.map(|most| cell(closed.iter().find(|(at, _)| *at == most).map(|(_, rate)| rate.mean))));
        Some(row)
    };
    let header = [
        "devices",
        "a request in the network, cycles",
        "a dequeue",
        "rate at twice the least time",
        "closed loop, 1 under way",
        "4",
        "16",
    ];
    let note = "Rates are requests of all 64 cores in 1000 cycles. Time in the network is what a request takes where requests seldom meet, less \
                what the device itself takes.";
    table("Figure 16b: several devices at 64 cores", &header, DEVICES.iter().filter_map(row).collect()).noted(note)
}

pub(super) fn weights(results: &Results<'_>) -> Option<Figure> {
    let row = |weights: [u32; 2]| {
        let name = format!("{}:{}", weights[0], weights[1]);
        let of = |entries| of_mean(results.shares(weights, true, entries));
        vec![name, of(16), of(64)]
    };
    let rows = WEIGHTS.map(row).into();
    let header = ["weights", "second's throughput over the first's, 16 entries", "64 entries"];
    Some(table("Figure 17: credits by weights", &header, rows))
}
