//! The tables of a study's page.

use super::{cell, escape, number};
use crate::Findings;
use std::fmt::Write;

fn mark(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "<b class=yes>holds</b>",
        Some(false) => "<b class=no>does not hold</b>",
        None => "not judged",
    }
}

pub(super) fn summary(findings: &Findings) -> String {
    let count = |holds| findings.claims.iter().filter(|claim| claim.holds == holds).count();
    let falsifiers = findings.falsifiers.iter().filter(|f| f.holds == Some(true)).count();
    format!(
        "<p>{} claims and parts: {} hold, {} do not, {} are not judged. {falsifiers} of {} falsifiers came out as they must.</p>",
        findings.claims.len(),
        count(Some(true)),
        count(Some(false)),
        count(None),
        findings.falsifiers.len(),
    )
}

pub(super) fn claims(findings: &Findings) -> String {
    let mut out = String::from(
        "<h2>Claims</h2><table><tr><th>claim<th>what<th>paper<th>ours<th>95%<th>basis<th>verdict<th>rule; why",
    );
    for claim in &findings.claims {
        let name = if claim.part.is_empty() { claim.id.to_owned() } else { format!("{} {}", claim.id, claim.part) };
        let ends = claim.interval.map_or_else(|| "-".to_owned(), |[a, b]| format!("{} – {}", number(a), number(b)));
        let _ = write!(
            out,
            "<tr><td>{}<td>{} ({})<td class=n>{}<td class=n>{}<td class=n>{ends}<td>{}<td>{}<td>{}; {}",
            escape(&name),
            escape(&claim.what),
            escape(claim.unit),
            cell(claim.paper),
            cell(claim.ours),
            claim.basis.name(),
            mark(claim.holds),
            escape(&claim.rule),
            escape(&claim.why)
        );
    }
    out + "</table>"
}

pub(super) fn falsifiers(findings: &Findings) -> String {
    let mut out = String::from("<h2>Falsifiers</h2><table><tr><th>run<th>what must be seen<th>verdict<th>seen<th>why");
    for falsifier in &findings.falsifiers {
        let seen: Vec<String> =
            falsifier.figures.iter().map(|(name, value)| format!("{} {}", escape(name), number(*value))).collect();
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(falsifier.id),
            escape(&falsifier.what),
            mark(falsifier.holds),
            seen.join("<br>"),
            escape(&falsifier.why)
        );
    }
    out + "</table>"
}

pub(super) fn unspecified(findings: &Findings) -> String {
    let mut out = String::from(
        "<h2>What the paper leaves open</h2><table><tr><th>what<th>chosen<th>range<th>headline over that range<th>note",
    );
    for item in &findings.unspecified {
        let effect = item.effect.map_or_else(|| "-".to_owned(), |[a, b]| format!("{} – {}", number(a), number(b)));
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td class=n>{effect}<td>{}",
            escape(&item.what),
            escape(&item.chosen),
            escape(&item.range),
            escape(&item.note)
        );
    }
    out + "</table>"
}

pub(super) fn frozen(findings: &Findings) -> String {
    let f = &findings.frozen;
    format!(
        "<h2>Frozen</h2><p>Chip <code>{}</code>, profiles <code>{}</code>, rules <code>{}</code>, commit <code>{}</code>.</p>",
        escape(&f.chip),
        escape(&f.profiles),
        escape(&f.rules),
        escape(&f.commit)
    )
}
