//! The tables of a study's page, which the HTML page and the Markdown page share.

use super::{cell, escape, number};
use crate::{Findings, Verdict};
use baton_plot::Table;

pub(super) fn summary(findings: &Findings) -> String {
    let count = |verdict| findings.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let unjudged = count(Verdict::NotJudged) + count(Verdict::NotComparable);
    let unshown = match count(Verdict::CannotShow) {
        0 => String::new(),
        some => format!(", {some} cannot be shown here"),
    };
    let falsifiers = findings.falsifiers.iter().filter(|f| f.holds == Some(true)).count();
    format!(
        "<p>{} claims and parts: {} hold, {} do not, of {} the interval cannot tell{unshown}, {unjudged} are not \
         judged. {falsifiers} of {} falsifiers came out as they must.</p>",
        findings.claims.len(),
        count(Verdict::Holds),
        count(Verdict::DoesNotHold),
        count(Verdict::CannotTell),
        findings.falsifiers.len(),
    )
}

/// Returns a table with its heading, for an HTML page; verdicts are coloured.
pub(super) fn html(table: &Table) -> String {
    let rows = table.html();
    let rows =
        rows.replace("<td>yes<td>", "<td><b class=yes>yes</b><td>").replace("<td>no<td>", "<td><b class=no>no</b><td>");
    format!("<h2>{}</h2>{rows}", escape(&table.title))
}

fn verdict(holds: Option<bool>) -> String {
    match holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "–",
    }
    .to_owned()
}

fn claim_verdict(of: Verdict) -> String {
    match of {
        Verdict::CannotTell | Verdict::CannotShow => of.name().to_owned(),
        _ => verdict(of.decided()),
    }
}

fn table(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> Table {
    let header = header.iter().map(|&name| name.to_owned()).collect();
    Table { title: title.to_owned(), header, rows, ..Table::default() }
}

/// Returns the table of the paper's claims and their verdicts.
pub(super) fn claims(findings: &Findings) -> Table {
    let row = |claim: &crate::Claim| {
        let part = if claim.part.is_empty() { String::new() } else { format!(": {}", claim.part) };
        vec![
            claim.id.to_owned(),
            format!("{}{part} ({})", claim.what, claim.unit),
            cell(claim.paper),
            cell(claim.ours),
            claim.interval.map_or_else(|| "-".to_owned(), |[a, b]| format!("{} to {}", number(a), number(b))),
            claim.basis.name().to_owned(),
            claim_verdict(claim.verdict),
            if claim.why.is_empty() { claim.rule.clone() } else { format!("{}; {}", claim.rule, claim.why) },
        ]
    };
    let header = ["claim", "what", "paper", "ours", "95% interval", "basis", "holds", "rule; why"];
    table("Claims", &header, findings.claims.iter().map(row).collect())
}

/// Returns the table of oracle arms; `None` if no claim has one.
pub(super) fn oracles(findings: &Findings) -> Option<Table> {
    let row = |claim: &crate::Claim| {
        let oracle = claim.oracle.as_ref()?;
        let part = if claim.part.is_empty() { String::new() } else { format!(": {}", claim.part) };
        Some(vec![
            format!("{}{part}", claim.id),
            oracle.arm.to_owned(),
            cell(claim.paper),
            cell(claim.ours),
            cell(oracle.ours),
            oracle.interval.map_or_else(|| "-".to_owned(), |[a, b]| format!("{} to {}", number(a), number(b))),
            oracle.verdict.name().to_owned(),
            claim.verdict.name().to_owned(),
        ])
    };
    let header = ["claim", "with", "paper", "ours", "ideal", "95% interval", "the ideal", "the claim"];
    let rows: Vec<Vec<String>> = findings.claims.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| table("Oracle arms: could the experiment show it?", &header, rows))
}

/// Returns the table of falsifiers: runs that would show that the study proves nothing.
pub(super) fn falsifiers(findings: &Findings) -> Table {
    let row = |falsifier: &crate::Falsifier| {
        let seen = falsifier.figures.iter().map(|(name, value)| format!("{name} {}", number(*value)));
        vec![
            falsifier.id.to_owned(),
            falsifier.what.clone(),
            verdict(falsifier.holds),
            seen.collect::<Vec<_>>().join("; "),
            falsifier.why.clone(),
        ]
    };
    let header = ["falsifier", "what must be seen", "holds", "figures", "why"];
    table("Falsifiers", &header, findings.falsifiers.iter().map(row).collect())
}

/// Returns the table of details that the paper leaves open, with the choices made.
pub(super) fn unspecified(findings: &Findings) -> Table {
    let row = |item: &crate::Unspecified| {
        let [least, greatest] = item.effect.map_or([None, None], |ends| ends.map(Some)).map(cell);
        // Figures that are equal to the last bit say that the choice never came into play.
        let idle = item.effect.is_some_and(|[least, greatest]| least == greatest);
        let note = format!("{}{}", item.note, if idle { "; not exercised: no choice changes it" } else { "" });
        vec![item.what.clone(), item.chosen.clone(), item.range.clone(), least, greatest, note]
    };
    let header = ["item", "chosen", "range", "least", "greatest", "of what"];
    table("What the paper leaves open", &header, findings.unspecified.iter().map(row).collect())
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
