//! The figures that workloads time of themselves, in cycles of the chip's clock.

use super::shape::{Field, Shape, Shaped};
use baton_chip::Chip;
use baton_workloads::Figure;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A workload's own figure as it is shown, in cycles of the chip's clock.
struct Timed {
    /// The workload's name of the figure, in nanoseconds.
    given: &'static str,
    name: &'static str,
    unit: &'static str,
    what: &'static str,
    /// Computes the figure from the workload's value and the cycles of a nanosecond.
    value: fn(f64, f64) -> f64,
}

const TIMED: [Timed; 23] = [
    Timed {
        given: "nanoseconds_a_load",
        name: "cycles_a_load",
        unit: "cycles per load",
        what: "How long a load takes (chase).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "nanoseconds_an_access",
        name: "cycles_an_access",
        unit: "cycles per access",
        what: "How long an access takes (read-mostly).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "nanoseconds_an_addition",
        name: "cycles_an_addition",
        unit: "cycles per addition",
        what: "How long an addition takes (false-sharing).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "bytes_a_nanosecond",
        name: "bytes_a_cycle",
        unit: "bytes per cycle",
        what: "How much the threads move, all together (stream).",
        value: |value, clock| value / clock,
    },
    Timed {
        given: "additions_a_nanosecond",
        name: "additions_a_kilocycle",
        unit: "additions per 1000 cycles",
        what: "How often the threads add, all together (hot-line).",
        value: |value, clock| 1000.0 * value / clock,
    },
    Timed {
        given: "nanoseconds_a_packet",
        name: "cycles_a_packet",
        unit: "cycles per packet",
        what: "The slowest thread's time, by packets sent (clusters, firewall).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "packets_allowed",
        name: "packets_allowed",
        unit: "packets",
        what: "Packets that passed (firewall).",
        value: |value, _| value,
    },
    Timed {
        given: "packets_denied",
        name: "packets_denied",
        unit: "packets",
        what: "Packets that were dropped unread (firewall).",
        value: |value, _| value,
    },
    Timed {
        given: "packets_inspected",
        name: "packets_inspected",
        unit: "packets",
        what: "Packets that were read whole, and dropped (firewall).",
        value: |value, _| value,
    },
    Timed {
        given: "packets_late",
        name: "packets_late",
        unit: "packets",
        what: "Packets that came behind a later one of their flow (firewall on a queue with flows).",
        value: |value, _| value,
    },
    Timed {
        given: "nanoseconds_a_job",
        name: "cycles_a_job",
        unit: "cycles per job",
        what: "The slowest thread's time, by jobs (distributor).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "nanoseconds_a_task",
        name: "cycles_a_task",
        unit: "cycles per task",
        what: "The slowest thread's time, by tasks (tasks).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "nanoseconds_a_message",
        name: "cycles_a_message",
        unit: "cycles per message",
        what: "The slowest thread's time, by pings and answers (actors).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "nanoseconds_an_item",
        name: "cycles_an_item",
        unit: "cycles per item",
        what: "The slowest thread's time, by packets (flows).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "median_nanoseconds",
        name: "median_cycles",
        unit: "cycles",
        what: "From a packet's sending until it is done, in the median (flows).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "p99_nanoseconds",
        name: "p99_cycles",
        unit: "cycles",
        what: "From a packet's sending until it is done, for 99% of the packets (flows).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "p999_nanoseconds",
        name: "p999_cycles",
        unit: "cycles",
        what: "From a packet's sending until it is done, for 99.9% of the packets (flows).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "fairness_of_flows",
        name: "fairness_of_flows",
        unit: "share",
        what: "Jain's index of the flows' mean times (flows).",
        value: |value, _| value,
    },
    Timed {
        given: "busiest_worker",
        name: "busiest_worker",
        unit: "multiple of the mean",
        what: "Jobs of the worker that did most (distributor, tasks).",
        value: |value, _| value,
    },
    Timed {
        given: "nanoseconds_an_iteration",
        name: "cycles_an_iteration",
        unit: "cycles per iteration",
        what: "The slowest thread's time, by steps (regression).",
        value: |value, clock| value * clock,
    },
    Timed {
        given: "loss_before",
        name: "loss_before",
        unit: "nats",
        what: "The mean loss of a row with weights of 0 (regression).",
        value: |value, _| value,
    },
    Timed {
        given: "loss_after",
        name: "loss_after",
        unit: "nats",
        what: "The same with the weights that were learnt (regression).",
        value: |value, _| value,
    },
    Timed {
        given: "accuracy",
        name: "accuracy",
        unit: "share",
        what: "Of the rows, those whose label the weights tell (regression).",
        value: |value, _| value,
    },
];

/// The figures that a workload timed of itself.
pub(super) struct Measured(BTreeMap<&'static str, f64>);

impl Measured {
    pub(super) fn new(figures: &[Figure], chip: &Chip) -> Measured {
        let cycles_a_nanosecond = chip.core.clock.0 as f64 * 1e-9;
        let shown = |figure: &Figure| match TIMED.iter().find(|timed| timed.given == figure.name) {
            Some(timed) => (timed.name, (timed.value)(figure.value, cycles_a_nanosecond)),
            None => (figure.name, figure.value),
        };
        Measured(figures.iter().map(shown).collect())
    }
}

impl Shaped for Measured {
    fn shape() -> Shape {
        let field =
            |&Timed { name, unit, what, .. }: &Timed| Field { name, unit, what, shape: Shape::Number, optional: true };
        Shape::Open(TIMED.iter().map(field).collect())
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}
