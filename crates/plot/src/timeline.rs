//! What each of several threads does over time: a lane a thread, pieces of it in the colour of what it does.

use crate::axis::Axis;
use crate::{colour, escape, number, width};
use std::fmt::Write;

/// A piece of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// When it begins.
    pub from: f64,
    /// When it ends.
    pub to: f64,
    /// What is done: a place in [`Timeline::kinds`].
    pub kind: usize,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
}

/// The picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// What stands over it.
    pub title: String,
    /// What the x axis is, with its unit.
    pub x: String,
    /// The axis goes from 0 to here.
    pub end: f64,
    /// What a thread may do; what no piece says is left empty.
    pub kinds: Vec<String>,
    /// Threads, in groups that are drawn below each other.
    pub groups: Vec<Group>,
}

/// Threads that are drawn together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// What stands over them.
    pub title: String,
    /// The threads.
    pub lanes: Vec<Lane>,
    /// A moment that is marked, with its name.
    pub mark: Option<(f64, String)>,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
const LANE: f64 = 11.0;
/// Between two lanes.
const GAP: f64 = 1.5;
const TOP: f64 = 30.0;
/// Above each group, for its title and the marks' names.
const HEAD: f64 = 34.0;

impl Timeline {
    /// As SVG; a sentence where there is no lane.
    pub fn svg(&self) -> String {
        if self.groups.iter().all(|group| group.lanes.is_empty()) {
            return "<p>No run has this figure.</p>".to_owned();
        }
        let x = Axis::linear(&[0.0, self.end.max(1.0) / 1.05], LEFT, WIDTH - RIGHT, true);
        let mut svg = self.legend();
        let mut y = TOP;
        // One line of many strokes a kind.
        let mut pieces = vec![String::new(); self.kinds.len()];
        for group in &self.groups {
            y = self.draw(group, y, &x, &mut svg, &mut pieces);
        }
        // Below the marks, which are in front.
        let strokes = pieces.iter().enumerate().filter(|(_, strokes)| !strokes.is_empty()).map(|(kind, strokes)| {
            format!("<path d=\"{strokes}\" stroke=\"{}\" stroke-width={} />", shade(kind), LANE - GAP)
        });
        let svg = strokes.collect::<String>() + &svg;
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=img aria-label=\"{}\">{svg}\
             <text x={:.1} y={:.1} text-anchor=middle>{}</text></svg>",
            y + 16.0,
            escape(&self.title),
            (LEFT + WIDTH - RIGHT) / 2.0,
            y + 8.0,
            escape(&self.x)
        )
    }

    /// The kinds with their colours, above the groups.
    fn legend(&self) -> String {
        let mut svg = String::new();
        let mut at = LEFT;
        for (kind, name) in self.kinds.iter().enumerate() {
            let _ = write!(
                svg,
                "<rect x={at:.1} y=5 width=11 height=11 fill=\"{}\" /><text x={:.1} y=15>{}</text>",
                shade(kind),
                at + 17.0,
                escape(name)
            );
            at += 36.0 + width(name);
        }
        svg
    }

    /// Draws a group from `y` on: text and marks into `svg`, its pieces into the strokes of their kinds. Gives where the next
    /// group begins.
    fn draw(&self, group: &Group, y: f64, x: &Axis, svg: &mut String, pieces: &mut [String]) -> f64 {
        let Group { title, lanes, mark } = group;
        let (top, bottom) = (y + HEAD, y + HEAD + LANE * lanes.len() as f64);
        let _ = write!(svg, "<text x={LEFT} y={:.1} font-weight=bold>{}</text>", y + 12.0, escape(title));
        for (i, lane) in lanes.iter().enumerate() {
            let lane_top = top + LANE * i as f64;
            let _ = write!(
                svg,
                "<text x={} y={:.1} text-anchor=end>{}</text>",
                LEFT - 6.0,
                lane_top + LANE - 2.0,
                escape(&lane.name)
            );
            let middle = lane_top + (LANE - GAP) / 2.0;
            for piece in &lane.pieces {
                let Some(strokes) = pieces.get_mut(piece.kind) else { continue };
                // In whole places of the picture, so that hundreds of pieces stay a small file.
                let [from, to] = [piece.from, piece.to].map(|at| x.at(at.clamp(0.0, self.end)).round());
                if to > from {
                    let _ = write!(strokes, "M{from} {middle:.1}H{to}");
                }
            }
        }
        for tick in x.ticks() {
            let place = x.at(tick);
            let _ = write!(
                svg,
                "<line class=grid x1={place:.1} x2={place:.1} y1={bottom:.1} y2={:.1} />\
                 <text class=dim x={place:.1} y={:.1} text-anchor=middle>{}</text>",
                bottom + 5.0,
                bottom + 18.0,
                number(tick)
            );
        }
        if let Some((moment, name)) = mark {
            let place = x.at(moment.clamp(0.0, self.end));
            let anchor = if place > (LEFT + WIDTH) / 2.0 { "end" } else { "start" };
            let _ = write!(
                svg,
                "<line class=whisker x1={place:.1} x2={place:.1} y1={:.1} y2={bottom:.1} stroke-dasharray=\"4 3\" />\
                 <text x={place:.1} y={:.1} text-anchor={anchor}>{}</text>",
                top - 4.0,
                top - 7.0,
                escape(name)
            );
        }
        bottom + 26.0
    }
}

/// The first kind is what a thread should do, and stays in the background.
fn shade(kind: usize) -> &'static str {
    if kind == 0 { "var(--soft)" } else { colour(kind) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_at_the_end() {
        let lane = Lane {
            name: "0".into(),
            pieces: vec![
                Piece { from: 0.0, to: 10.0, kind: 0 },
                Piece { from: 10.0, to: 200.0, kind: 1 },
                Piece { from: 200.0, to: 300.0, kind: 0 },
            ],
        };
        let timeline = Timeline {
            end: 100.0,
            kinds: vec!["works".into(), "waits".into()],
            groups: vec![Group { title: "before".into(), lanes: vec![lane], mark: Some((50.0, "half".into())) }],
            ..Timeline::default()
        };
        let svg = timeline.svg();
        let strokes = |kind| {
            svg.split_once(&format!("stroke=\"{}\"", shade(kind)))
                .unwrap()
                .0
                .rsplit("<path")
                .next()
                .unwrap()
                .matches('M')
                .count()
        };
        assert_eq!([0, 1].map(strokes), [1, 1], "the third begins behind the end");
        // 10 to 100 of 100, over the width of the axis.
        let wide = WIDTH - LEFT - RIGHT;
        assert!(svg.contains(&format!("M{} 68.8H{}", LEFT + wide * 0.1, LEFT + wide)), "{svg}");
        assert!(Timeline::default().svg().contains("No run"));
    }
}
