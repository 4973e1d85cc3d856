//! The pages of `baton noc`: one HTML file each, with pictures as SVG. They load nothing from the
//! internet.

mod curves;
mod document;
mod heat;

pub(crate) use curves::{Curve, curves, earlier, point};
pub(crate) use heat::{Map, map};
