//! A timeline: one lane per thread, with pieces coloured by what the thread does.

use crate::axis::Axis;
use crate::{colour, escape, number, width};
use std::fmt::Write;

/// One piece of a lane: an activity from a begin to an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    pub from: f64,
    pub to: f64,
    /// The activity: an index into [`Timeline::kinds`].
    pub kind: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    pub name: String,
    /// The pieces, in the order of time.
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    pub title: String,
    /// The label of the time axis, with the unit.
    pub x: String,
    /// The end of the time axis, which begins at 0.
    pub end: f64,
    /// The activities that a thread can have. Time that no piece covers stays empty.
    pub kinds: Vec<String>,
    /// The lanes, in groups that are drawn below each other.
    pub groups: Vec<Group>,
}

/// Lanes that are drawn together under one title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub title: String,
    pub lanes: Vec<Lane>,
    /// A marked moment, with its name.
    pub mark: Option<(f64, String)>,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
const LANE: f64 = 11.0;
/// The gap between two lanes.
const GAP: f64 = 1.5;
const TOP: f64 = 30.0;
/// Room above each group for its title and the names of the marks.
const HEAD: f64 = 34.0;

impl Timeline {
    /// The timeline as SVG, or a sentence that says that there is no lane.
    pub fn svg(&self) -> String {
        if self.groups.iter().all(|group| group.lanes.is_empty()) {
            return "<p>No run has this figure.</p>".to_owned();
        }
        let x = Axis::linear(&[0.0, self.end.max(1.0) / 1.05], LEFT, WIDTH - RIGHT, true);
        let mut svg = self.legend();
        let mut y = TOP;
        // One path of many strokes per activity keeps the file small.
        let mut pieces = vec![String::new(); self.kinds.len()];
        for group in &self.groups {
            y = self.draw(group, y, &x, &mut svg, &mut pieces);
        }
        // The strokes lie below the marks.
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

    /// The legend of the activities, above the groups.
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

    /// Draws a group from the height `y` on: text and marks go into `svg`, the group's pieces into
    /// the strokes of their activities. Returns the height at which the next group begins.
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
                // Positions are rounded to whole pixels, so that hundreds of pieces stay a small
                // file.
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

/// The first activity is the normal one, so it gets a background colour.
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
        // The piece covers 10 to 100 of 100, over the width of the axis.
        let wide = WIDTH - LEFT - RIGHT;
        assert!(svg.contains(&format!("M{} 68.8H{}", LEFT + wide * 0.1, LEFT + wide)), "{svg}");
        assert!(Timeline::default().svg().contains("No run"));
    }
}
