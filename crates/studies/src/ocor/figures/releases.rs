//! Where requests wait, and what changes if releases have a virtual network of their own: the
//! experiment behind the reason why marks in routers gain little.

use crate::kit::{over_draws, said};
use crate::ocor::account::Cause;
use crate::ocor::releases::{RELEASE_ARMS, RELEASE_PLACES, RELEASES, apart};
use crate::ocor::results::Results;
use crate::ocor::run::Figures;
use crate::ocor::values::{Pair, coh, roi, spinning};
use crate::page::Figure;
use baton_plot::Table;

/// The table of releases in a network of their own.
pub(super) fn table(crowd: &Results<'_>) -> Option<Figure> {
    let mut rows = Vec::new();
    for (places, _) in RELEASE_PLACES {
        for (arm, ..) in RELEASE_ARMS {
            let pairs = crowd.of(RELEASES, &apart(places, arm));
            if pairs.is_empty() {
                continue;
            }
            if arm == RELEASE_ARMS[0].0 {
                rows.push(row([places, "the chip without registers"], &pairs, |pair| pair.off));
            }
            rows.push(row([places, arm], &pairs, |pair| pair.on));
        }
    }
    let header = [
        "home's places",
        "arm",
        "overhead less by %",
        "time less by %",
        "more entered spinning, points",
        "of the overhead, queueing in the network, %",
        "queueing at the home, %",
    ];
    let table = Table {
        title: "Releases in a virtual network of their own".to_owned(),
        note: String::new(),
        header: header.map(str::to_owned).into(),
        rows,
    };
    (!table.rows.is_empty()).then(|| {
        Figure::from(table).noted(
            "Crowds with meetings, against the chip without registers and with as many places. Each arm but the first pays for the \
             registers. Routers order by the marks of tries where they heed them. With one place at a home all other requests wait in \
             the network, where marks can act. In a network of their own no try is in front of a release, in routers or before the home; \
             at the home it waits behind the tries that the home has taken in.",
        )
    })
}

fn row(name: [&str; 2], pairs: &[Pair<'_>], arm: for<'a> fn(&Pair<'a>) -> &'a Figures) -> Vec<String> {
    let is_base = pairs.first().is_some_and(|pair| std::ptr::eq(arm(pair), pair.off));
    let gains = [coh, roi, spinning].map(|value| if is_base { "-".to_owned() } else { said(over_draws(pairs, value)) });
    let queues = [Cause::QueueingInNetwork, Cause::QueueingAtHome]
        .map(|cause| said(over_draws(pairs, |pair| arm(pair).account.share(cause))));
    name.map(str::to_owned).into_iter().chain(gains).chain(queues).collect()
}
