//! Pictures for pages: SVG and tables as text. They go into one HTML file that needs neither
//! scripts nor a network, or each into a file of its own. Commands that draw a page (a sweep, a
//! study) pass figures in; how the figures look is decided here alone.
//!
//! | file | picture |
//! | --- | --- |
//! | [`lines`] | series over an axis |
//! | [`bars`] | rows of bars, with intervals and with reference values as marks |
//! | [`spans`] | rows of ranges around a value: a tornado |
//! | [`timeline`] | what each of several threads does over time |
//! | [`matrix`] | a value for each pair, as colours |
//! | [`choices`] | which of several names is best at each point of a plane |
//! | [`table`] | rows of text and numbers |
//! | [`mod@file`] | a picture as a file of its own, for a page that links it |
//! | [`axis`] | maps values to positions, with the ticks |
//!
//! Colours that a picture does not give itself come from [`STYLE`], light and dark by the reader's choice.

pub mod axis;
pub mod bars;
pub mod choices;
pub mod file;
pub mod lines;
pub mod look;
pub mod matrix;
pub mod spans;
pub mod table;
pub mod timeline;

pub use bars::{Bar, Bars};
pub use choices::{Choices, Chosen};
pub use file::file;
pub use lines::{Lines, Point, Series};
pub use look::{COLOURS, STYLE, colour, escape, number, short};
pub(crate) use look::{PALETTE, PARTS, width};
pub use matrix::Matrix;
pub use spans::{Span, Spans};
pub use table::Table;
pub use timeline::{Group, Lane, Piece, Timeline};
