//! A prediction from the runs.

use super::outcomes::outcomes;
use super::prediction::{Check, Counts, Failed, Predicted, Prediction};
use super::{AllRan, Ask, recorded};
use crate::doubt::{self, Alone, MOST_ERROR, Spread};
use crate::error::PredictError;
use crate::program::Program;
use crate::ran::{Choice, Ran, RunError};
use baton_chip::Chip;
use baton_trace::Trace;
use baton_trace::disturbance::{disturbed, held_back};
use baton_units::Cycles;

/// The greatest share of not replayable events with which a prediction is still trustworthy.
pub const MOST_NOT_REPLAYABLE: f64 = 0.05;

/// Concludes the prediction from the runs.
///
/// # Errors
/// If no run ended well.
pub fn conclude(trace: &Trace, chip: &Chip, ask: &Ask, all: AllRan) -> Result<Prediction, PredictError> {
    let AllRan { cpus, check, check_failed, unexplained, program, notes, base: base_runs, rows } = all;
    // If no run ended well, the cause is the chip or the program, and there is no prediction.
    if let Some(Err(error)) = base_runs.first()
        && base_runs.iter().chain(&rows).all(Result::is_err)
    {
        return Err(error.clone().into());
    }
    let (name, own) = recorded(trace);
    let base = predicted(&own, true, &base_runs, chip, 0);
    let share = program.replayability.share();
    let mut reasons = reasons(&check, &program, share);
    if let Some(failed) = check_failed.or_else(|| base.failed.clone()) {
        reasons.push(format!("the replay of the recorded lock failed with {} seeds: {}", failed.seeds, failed.why));
    }
    reasons.extend(unexplained);
    reasons.extend(trace.meta.as_ref().and_then(disturbed));
    reasons.extend(trace.meta.as_ref().and_then(held_back));
    let alone = Alone::of(&ask.alone_ns, base.time_ns);
    reasons.extend(alone.as_ref().and_then(Alone::reason));
    let mut results = results(ask, chip, &own, base, &rows);
    if chip.name == doubt::THIS_HOST && ask.threads.is_none() {
        let error = doubt::worse(check.error, alone.as_ref());
        let of = |row: &Predicted| doubt::interval(row.time_ns, row.cut_off != 0, error, row.speedup);
        results.iter_mut().for_each(|row| row.interval_ns = (!row.by_seed_ns.is_empty()).then(|| of(row)));
    }
    let in_order = in_order(ask, &base_runs, &rows);
    let mut locks = program.locks.clone();
    locks.sort_by_key(|lock| (std::cmp::Reverse(lock.acquisitions), lock.address));
    Ok(Prediction {
        recorded_lock: name,
        recorded_wait: own.wait.to_string(),
        check,
        alone,
        trustworthy: reasons.is_empty(),
        reasons,
        replayability: program.replayability.clone(),
        not_replayable_share: share,
        probe: program.probe,
        cpus,
        threads: program.threads.len() as u32,
        locks,
        results,
        notes: ask.changes.iter().flat_map(|change| change.assumptions(&own)).chain(in_order).chain(notes).collect(),
    })
}

/// Returns sentences about the changes under which threads had to use queues in the recorded order.
fn in_order(ask: &Ask, base: &[Result<Ran, RunError>], ran: &[Result<Ran, RunError>]) -> Vec<String> {
    let each = ask.seeds.max(1) as usize * ask.variants.count();
    let of = |(name, ran): (&str, &[Result<Ran, RunError>])| {
        let count = ran.iter().flatten().filter(|ran| ran.in_order).count();
        (count != 0).then(|| {
            format!(
                "{name}: in {count} of {} runs the threads would have waited for ever in the order of their arrival; they \
                 used the queues in the recorded order",
                ran.len()
            )
        })
    };
    let changed = ask.changes.iter().map(|change| change.text.as_str()).zip(ran.chunks(each).skip(ask.choices.len()));
    [("the recorded queues", base)].into_iter().chain(changed).filter_map(of).collect()
}

/// Returns the recorded lock's row, then those of the arms, from their runs in the order asked.
fn results(ask: &Ask, chip: &Chip, own: &Choice, base: Predicted, ran: &[Result<Ran, RunError>]) -> Vec<Predicted> {
    let reference = base.time_ns.median;
    let mut results = vec![Predicted { speedup: 1.0, ..base }];
    let each = ask.seeds.max(1) as usize;
    let changed = ask.changes.iter().map(|change| {
        // The row of a change has the text with which the user asked for it as its name.
        let default = change.default.as_ref().unwrap_or(own);
        let queues = change.queues.first().map(|part| part.service.wait);
        let wait = change.barrier.as_ref().map(|meeting| meeting.wait).or(queues).unwrap_or(default.wait);
        Choice { lock: change.text.clone(), wait }
    });
    let named: Vec<Choice> = ask.choices.iter().cloned().chain(changed).collect();
    for (choice, ran) in named.iter().zip(ran.chunks(each * ask.variants.count())) {
        for (place, here) in ran.chunks(each).enumerate() {
            let first = ask.variants.compared_with(place).map(|first| &ran[first * each..][..each]);
            let variant = ask.variants.on(place, here, first);
            results.push(Predicted { variant, ..predicted(choice, false, here, chip, reference) });
        }
    }
    results
}

pub(super) fn check_of(program: &Program, chip: &Chip, ran: &[Result<Ran, RunError>]) -> Check {
    let ns = |cycles: Cycles| chip.core.clock.nanos(cycles).0;
    let measured_ns = ns(program.measured);
    let spread = |value: fn(&Ran) -> Cycles| Spread::of(ran.iter().flatten().map(|ran| ns(value(ran))).collect());
    let replayed_ns = spread(|ran| ran.time);
    let error = (replayed_ns.median as f64 - measured_ns as f64) / measured_ns.max(1) as f64;
    Check {
        measured_ns,
        replayed_ns,
        error,
        measured_concurrent_ns: ns(program.concurrent),
        replayed_concurrent_ns: spread(|ran| ran.concurrent),
    }
}

fn reasons(check: &Check, program: &Program, share: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    if check.error.abs() > MOST_ERROR {
        reasons.push(format!(
            "the replay of the recorded lock takes {:.1} ms, the recorded run took {:.1} ms ({:+.0}%; at most {:.0}% is trusted)",
            check.replayed_ns.median as f64 * 1e-6,
            check.measured_ns as f64 * 1e-6,
            check.error * 100.0,
            MOST_ERROR * 100.0,
        ));
    }
    if share > MOST_NOT_REPLAYABLE {
        let lost = &program.replayability;
        reasons.push(format!(
            "{:.1}% of the events cannot be replayed (at most {:.0}% is trusted): {} failed tries, {} waits without their \
             signal, {} waits that expired, {} acquisitions that share out work, {} lost events, {} threads from outside",
            share * 100.0,
            MOST_NOT_REPLAYABLE * 100.0,
            lost.failed_tries,
            lost.unmatched_waits,
            lost.expired_waits,
            lost.dynamic,
            lost.lost,
            lost.from_outside,
        ));
    }
    reasons
}

fn predicted(choice: &Choice, recorded: bool, ran: &[Result<Ran, RunError>], chip: &Chip, reference: u64) -> Predicted {
    let failed = Failed::of(ran);
    let ran: Vec<&Ran> = ran.iter().flatten().collect();
    let ns = |cycles: Cycles| chip.core.clock.nanos(cycles).0;
    let spread = |value: fn(&Ran) -> Cycles| Spread::of(ran.iter().map(|ran| ns(value(ran))).collect());
    let time_ns = spread(|ran| ran.time);
    let reference = if recorded { time_ns.median } else { reference };
    let speedup = if ran.is_empty() { 0.0 } else { reference as f64 / time_ns.median.max(1) as f64 };
    Predicted {
        lock: choice.lock.clone(),
        wait: choice.wait.to_string(),
        recorded,
        variant: None,
        failed,
        speedup,
        time_ns,
        interval_ns: None,
        far: !recorded && !ran.is_empty() && doubt::far(speedup),
        concurrent_ns: spread(|ran| ran.concurrent),
        blocked_ns: spread(|ran| ran.totals.blocked()),
        sections_ns: spread(|ran| ran.totals.sections),
        overhead_ns: spread(|ran| ran.totals.overhead),
        spin_ns: spread(|ran| ran.spin),
        ready_ns: spread(|ran| ran.ready),
        idle_ns: spread(|ran| ran.idle),
        counts: ran.first().map_or(Counts::default(), |ran| Counts {
            acquisitions: ran.totals.acquisitions,
            contended: ran.totals.contended,
        }),
        cut_off: ran.iter().filter(|ran| ran.cut_off).count() as u32,
        by_seed_ns: ran.iter().map(|ran| ns(ran.time)).collect(),
        outcomes: outcomes(ran.iter().map(|ran| (ns(ran.time), ran.cut_off)).collect(), reference),
    }
}
