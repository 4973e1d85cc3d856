//! The paper's figures, redrawn beside ours. Bars of the paper whose values are not in its text are
//! left out.
//!
//! | file | holds |
//! | --- | --- |
//! | `paper` | the values that the paper's text prints |
//! | `views` | claims by who heeds marks, by shape and by account |
//! | `shapes` | programs by shape, and which draws can show what is claimed |
//! | `programs` | figures 2, 11 to 14: a row a program |
//! | `window` | figure 10: what threads do in the first cycles of bodytrack's region |
//! | `trends` | figures 15 and 16, and the tornado |
//! | `starvation` | the longest waits, beside their bounds |
//! | `real` | real programs with the same lock on the same chip |
//! | `price` | what overhead consists of where the registers' price, not the network, changes it |
//! | `waking` | the figures at each price of waking |
//! | `releases` | releases in a virtual network of their own |
//! | `joint` | several open choices at once |
//! | `map` | where an order pays, and what to build |
//! | `hardware` | levels and places of a home's arbiter, with gates and area |
//! | `locks` | locks by networks, at several numbers of cores |

mod hardware;
mod joint;
mod locks;
mod map;
mod paper;
mod price;
mod programs;
mod real;
mod releases;
mod shapes;
mod starvation;
mod trends;
mod views;
mod waking;
mod window;

use super::real::RealPair;
use super::results::Results;
use crate::page::Figure;

pub(super) use joint::table as joint;
pub(super) use locks::Cell;
pub(super) use map::{Spot, recommendation};
pub(super) use programs::shown;
pub(super) use shapes::power;
pub(super) use starvation::judge as starvation;
pub(super) use views::all as views;

/// Every figure that there are runs for; `joint` is the table of sets of open choices.
pub(super) fn all(
    results: &Results<'_>,
    crowd: &Results<'_>,
    joint: Option<Figure>,
    real: &[RealPair<'_>],
    locks: &[Cell<'_>],
    map: &[Spot<'_>],
) -> Vec<Figure> {
    let mut figures = map::all(map);
    figures.extend(hardware::table(crowd));
    figures.extend(releases::table(crowd));
    figures.extend(shapes::table(results));
    figures.push(programs::baseline(results));
    figures.extend(programs::figure_2(results));
    figures.extend(window::figure_10(results));
    figures.extend(programs::rest(results));
    figures.extend(trends::all(results));
    figures.extend(trends::on_crowds(crowd));
    figures.extend(waking::table(results, crowd));
    figures.extend(joint);
    figures.extend(price::table(results));
    figures.extend(starvation::table(results));
    figures.extend(locks::all(locks));
    figures.extend(real::all(real));
    figures
}

#[cfg(test)]
pub(super) mod tests;
