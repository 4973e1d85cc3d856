//! Prints queues, and the stage of a pipeline that holds the others up.

use super::table::{Side, Table};
use super::text::{ROWS, Style, clip, plural, wrap};
use crate::format::{count, duration, is_kernels, list, percent, phrase};
use crate::model::{Queue, QueueSide, Report, SlowStage};
use baton_units::Nanos;

/// The table of queues, with a line for each side of a queue that waited.
pub(super) fn queues(report: &Report, style: Style) -> String {
    if report.queues.is_empty() {
        return String::new();
    }
    let columns = ["holds", "items", "items/s", "mean", "most", "full", "empty"].map(|name| (name, Side::Right));
    let mut table = Table::new("Queues", 26, &columns).with_whole_names();
    for queue in report.queues.iter().take(ROWS) {
        table.row(vec![
            queue.name.clone(),
            queue.capacity.map_or_else(|| "any".to_owned(), count),
            count(queue.takes.items),
            count(queue.items_per_s.round() as u64),
            format!("{:.1}", queue.mean_depth),
            count(queue.most_items),
            duration(queue.puts.waited_ns),
            duration(queue.takes.waited_ns),
        ]);
    }
    let mut out = table.render(style, report.queues.len().saturating_sub(ROWS));
    for queue in report.queues.iter().take(ROWS) {
        out += &waits(report, style, queue, &queue.puts, "full:", "blocked at");
        out += &waits(report, style, queue, &queue.takes, "empty:", "starved at");
        out += &elsewhere(style, queue);
    }
    if report.queues.iter().take(ROWS).any(|queue| is_kernels(&queue.name)) {
        let text = "of pipes, sockets and connections these are bytes; of an eventfd, what is added to its counter";
        out += &wrap(&style.bold("items:"), "items:", text);
    }
    if let Some(stage) = &report.slow_stage {
        out += &wrap(&style.warn("slow stage:"), "slow stage:", &slow_stage(report, stage));
    }
    out
}

/// The threads that waited at one side of a queue, and the places. Waits of less than a hundredth of the time are left out.
fn waits(report: &Report, style: Style, queue: &Queue, side: &QueueSide, head: &str, how: &str) -> String {
    if side.waited_ns.0 < report.totals.span_ns.0 / 100 || side.waited_ns == Nanos(0) {
        return String::new();
    }
    let users = side.threads.iter().filter(|user| user.waited_ns > Nanos(0));
    let threads: Vec<u32> = users.map(|user| user.thread).collect();
    let places: Vec<&str> = side.places.iter().take(2).map(|place| place.name.as_str()).collect();
    let text = format!(
        "{} {how} {} for {} in {}, in {}",
        names(report, &threads),
        phrase("queue", &queue.name),
        duration(side.waited_ns),
        plural(side.wait_ns.count.max(1) as usize, "wait"),
        list(&places),
    );
    wrap(&style.bold(head), head, &text)
}

/// Says that a side of a queue between processes is not in the recording.
fn elsewhere(style: Style, queue: &Queue) -> String {
    let does = match (queue.puts.elsewhere, queue.takes.elsewhere) {
        (false, false) => return String::new(),
        (true, false) => "puts items into",
        (false, true) => "takes items from",
        (true, true) => "uses both sides of",
    };
    let text = format!("a process that is not in the recording {does} {}", phrase("queue", &queue.name));
    wrap(&style.bold("elsewhere:"), "elsewhere:", &text)
}

/// What the slow stage does, and what it costs.
fn slow_stage(report: &Report, stage: &SlowStage) -> String {
    let queue = |number: &u32| {
        let queue = report.queues.get(*number as usize);
        queue.map_or_else(|| "a queue".to_owned(), |queue| phrase("queue", &queue.name))
    };
    let queues = |numbers: &[u32]| list(&numbers.iter().map(queue).collect::<Vec<_>>());
    let s = if stage.threads.len() == 1 { "s" } else { "" };
    let does = match (&stage.takes_from[..], &stage.puts_into[..]) {
        ([], puts) => format!("put{s} into {}", queues(puts)),
        (takes, []) => format!("take{s} from {}", queues(takes)),
        (takes, puts) => format!("take{s} from {} and put{s} into {}", queues(takes), queues(puts)),
    };
    let waits = [(stage.blocked_ns, "for room"), (stage.starved_ns, "for items")];
    let waits = waits.iter().filter(|(time, _)| *time > Nanos(0));
    let waits: Vec<String> = waits.map(|(time, what)| format!("{} {what}", duration(*time))).collect();
    let own = match stage.waiting_share {
        0.0 => "the stage never waited at a queue".to_owned(),
        share => format!("the stage waited at queues for {} of its time", percent(share)),
    };
    format!("{} {does}; others waited {}, and {own}", names(report, &stage.threads), list(&waits))
}

/// The names of threads; only the first two of many.
fn names(report: &Report, threads: &[u32]) -> String {
    let name = |thread: &u32| report.threads.get(*thread as usize).map_or("?", |thread| &thread.name);
    let mut names: Vec<String> = threads.iter().take(2).map(|thread| clip(name(thread), 24)).collect();
    if threads.len() > 2 {
        names.push(format!("{} more", threads.len() - 2));
    }
    list(&names)
}
