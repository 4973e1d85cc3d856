//! What would cure a standstill.

use super::{Scene, text};
use baton_trace::analysis::{Holding, Standstill, Stuck, WaitKind, Why};

/// The cures of a standstill, each once. The cures of circles come first.
pub(super) fn cures(scene: &mut Scene<'_, '_>, still: &Standstill) -> Vec<String> {
    let circles = still.circles.iter().map(|circle| {
        let threads: Vec<&Stuck> = circle.iter().filter_map(|n| still.threads.get(*n)).collect();
        of_circle(scene, still, &threads)
    });
    let mut cures: Vec<String> = circles.collect();
    let alone = |n: &usize| !still.circles.iter().any(|circle| circle.contains(n));
    for stuck in (0..still.threads.len()).filter(alone).map(|n| &still.threads[n]) {
        cures.extend(of_thread(scene, stuck));
    }
    let mut once: Vec<String> = Vec::new();
    for cure in cures {
        if !once.contains(&cure) {
            once.push(cure);
        }
    }
    once
}

fn of_circle(scene: &mut Scene<'_, '_>, still: &Standstill, circle: &[&Stuck]) -> String {
    if let [alone] = circle {
        return of_itself(scene, alone);
    }
    if let Some(stuck) = circle.iter().find(|stuck| stuck.why == Why::Join) {
        return before_join(scene, still, stuck);
    }
    if let Some(stuck) = circle.iter().find(|stuck| stuck.wait.kind == WaitKind::Condition) {
        let held = text::held_by(still, stuck.wait.thread);
        let locks = names(scene, &held);
        let place = scene.place(stuck.wait.thread, stuck.wait.site);
        return format!(
            "give up {locks} before the wait at the condition variable in {place}: the wake-up takes its mutex again"
        );
    }
    let held: Vec<Holding> = circle.iter().flat_map(|stuck| text::held_by(still, stuck.wait.thread)).collect();
    let locks = names(scene, &held);
    format!("take {locks} in one order in all threads, or take all of them at once with tries that give up")
}

/// The names of the held locks as a list, each name once.
fn names(scene: &Scene<'_, '_>, held: &[Holding]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for holding in held {
        let name = scene.lock_name(holding.lock);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { "the locks".to_owned() } else { crate::format::list(&names) }
}

fn of_itself(scene: &mut Scene<'_, '_>, stuck: &Stuck) -> String {
    let place = scene.place(stuck.wait.thread, stuck.wait.site);
    let at = if place.is_empty() { String::new() } else { format!(" in {place}") };
    let Why::Held(holders) = &stuck.why else { return format!("do not wait for the thread itself{at}") };
    let lock = holders.first().map_or("the lock", |h| scene.lock_name(h.lock));
    format!("do not take {lock} again{at}: the thread holds it; release it first, or pass on that it is held")
}

fn before_join(scene: &mut Scene<'_, '_>, still: &Standstill, stuck: &Stuck) -> String {
    let held = text::held_by(still, stuck.wait.thread);
    let locks = names(scene, &held);
    let place = scene.place(stuck.wait.thread, stuck.wait.site);
    let at = if place.is_empty() { String::new() } else { format!(" in {place}") };
    format!("release {locks} before the join{at}: the joined thread needs it to end")
}

fn of_thread(scene: &mut Scene<'_, '_>, stuck: &Stuck) -> Option<String> {
    let object = scene.waitable_name(stuck.wait.object).to_owned();
    Some(match &stuck.why {
        Why::Held(holders) => {
            let holder = holders.iter().find(|h| h.ended)?;
            let (lock, place) = (scene.lock_name(holder.lock).to_owned(), scene.place(holder.thread, holder.site));
            format!("release {lock}, taken at {place}, on every way out of that thread")
        }
        Why::Condition(signals) => match signals.last {
            Some(last) if text::is_lost(signals, last) => format!(
                "a signal is not kept: set a value under the mutex before {object} is signalled, and wait only while the value is \
                 not set"
            ),
            _ => format!(
                "signal {object} once more where the last thread that does so has done its work, or end the waiter's loop"
            ),
        },
        Why::Semaphore(_) => format!("post {object} once for each wait for it"),
        Why::Barrier { expected: Some(expected), .. } => {
            format!("let all {expected} threads come to {object}, or initialise it with the number that come")
        }
        Why::Barrier { .. } => format!("let all threads come to {object}"),
        _ => return None,
    })
}
